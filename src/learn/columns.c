/* Columns of other names: what each column of ours is in a file of another collector. */
#include <math.h>
#include <string.h>

#include <base/base.h>

#include "learn-private.h"

/* Factor: of a product: a number, or a column of the file. Part: of a sum: factors, of which a text has the fields joined.
 */
typedef struct
{
    char *column; /* NULL: @number */
    double number;
} Factor;
typedef struct
{
    GArray *factors; /* Factor */
} Part;

/* Source: what a column of ours is. @literal: a text itself; NULL: @parts    @scale: to its unit */
typedef struct
{
    const IfmRecordField *field;
    char *literal;
    GArray *parts; /* Part */
    double scale;
} Source;

struct LearnColumns
{
    GArray *sources; /* Source */
};

static void factor_clear(gpointer data)
{
    g_free(((Factor *)data)->column);
}

static void part_clear(gpointer data)
{
    g_array_unref(((Part *)data)->factors);
}

static void source_clear(gpointer data)
{
    Source *source = data;
    g_free(source->literal);
    g_array_unref(source->parts);
}

void learn_columns_free(LearnColumns *columns)
{
    if (columns == NULL)
        return;
    g_array_unref(columns->sources);
    g_free(columns);
}

/* --- the list -----------------------------------------------------------------------------------------------------------
 */

/* Scanner: @at: in the text */
typedef struct
{
    const char *at;
    const IfmRecordField *fields;
    GError **error;
} Scanner;

static gboolean complain(const Scanner *scanner, const char *format, ...) G_GNUC_PRINTF(2, 3);

static gboolean complain(const Scanner *scanner, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    ifm_error_misuse(scanner->error, "--columns: %s", text);
    ifm_error_make_one_line(scanner->error);
    return FALSE;
}

static gboolean take(Scanner *scanner, char character)
{
    while (*scanner->at == ' ')
        scanner->at++;
    if (*scanner->at != character)
        return FALSE;
    scanner->at++;
    return TRUE;
}

/* (transfer full) up to the quote that ends it; NULL with an error */
static char *scan_quoted(Scanner *scanner, char quote)
{
    const char *end = strchr(scanner->at, quote);
    if (end == NULL || end == scanner->at)
    {
        complain(scanner, "%c%s: %s", quote, scanner->at, end == NULL ? "the quote is not closed" : "nothing is quoted");
        return NULL;
    }
    char *text = g_strndup(scanner->at, (gsize)(end - scanner->at));
    scanner->at = end + 1;
    return text;
}

/* (transfer full) NULL with an error */
static char *scan_name(Scanner *scanner)
{
    if (take(scanner, '"'))
        return scan_quoted(scanner, '"');
    const gsize length = strspn(scanner->at, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_.");
    if (length == 0)
    {
        complain(scanner, "found \"%s\", expected a column of the file", scanner->at);
        return NULL;
    }
    char *name = g_strndup(scanner->at, length);
    scanner->at += length;
    return name;
}

static gboolean scan_factor(Scanner *scanner, GArray *factors)
{
    Factor factor = { NULL, 1 };
    while (*scanner->at == ' ')
        scanner->at++;
    if (g_ascii_isdigit(*scanner->at))
    {
        char *end = NULL;
        factor.number = g_ascii_strtod(scanner->at, &end);
        scanner->at = end;
        if (g_ascii_isalnum(*end) || *end == '_' || !isfinite(factor.number))
            return complain(scanner,
                            "found \"%s\" after a number; a column whose name begins with a digit is in \"quotes\"", end);
    }
    else if ((factor.column = scan_name(scanner)) == NULL)
        return FALSE;
    g_array_append_val(factors, factor);
    return TRUE;
}

static gboolean scan_parts(Scanner *scanner, GArray *parts)
{
    do
    {
        Part part = { g_array_new(FALSE, FALSE, sizeof(Factor)) };
        g_array_set_clear_func(part.factors, factor_clear);
        g_array_append_val(parts, part);
        do
            if (!scan_factor(scanner, part.factors))
                return FALSE;
        while (take(scanner, '*'));
    } while (take(scanner, '+'));
    return TRUE;
}

static const struct
{
    const char *alias, *name;
} aliases[] = {
    { "op", "OpType" }, { "shape", "Input_Shape" }, { "latency", "Latency" }, { "median", "Median" }, { "std", "Std" }
};
static const struct
{
    const char *suffix;
    double ms;
} units[] = { { "_ns", 1e-6 }, { "_us", 1e-3 }, { "_ms", 1 }, { "_s", 1e3 } };

static const IfmRecordField *find_field(const IfmRecordField *fields, const char *name)
{
    while (fields->name != NULL && !g_str_equal(fields->name, name))
        fields++;
    return fields->name != NULL ? fields : NULL;
}

/* A time of ours is in ms. @name: in another unit, or an alias    @scale: (out) to ours */
static const IfmRecordField *find_target(const IfmRecordField *fields, const char *name, double *scale)
{
    const IfmRecordField *field = find_field(fields, name);
    *scale = 1;
    for (gsize k = 0; field == NULL && k < G_N_ELEMENTS(aliases); k++)
        if (g_str_equal(name, aliases[k].alias))
            field = find_field(fields, aliases[k].name);
    for (gsize i = 0; field == NULL && i < G_N_ELEMENTS(units); i++)
    {
        if (!g_str_has_suffix(name, units[i].suffix))
            continue;
        g_autofree char *stem = g_strndup(name, strlen(name) - strlen(units[i].suffix));
        for (gsize k = 0; k < G_N_ELEMENTS(aliases); k++)
            if (g_str_equal(stem, aliases[k].alias))
            {
                g_free(stem);
                stem = g_strdup(aliases[k].name);
            }
        g_autofree char *in_ms = g_strconcat(stem, "_ms", NULL);
        field = find_field(fields, in_ms);
        *scale = units[i].ms;
    }
    return field;
}

static gboolean check_source(const Scanner *scanner, const LearnColumns *columns, const Source *source)
{
    const gboolean is_number = source->field->type == IFM_RECORD_DOUBLE;
    if (is_number ? source->literal != NULL : source->parts->len > 1)
        return complain(scanner, "%s is a %s", source->field->name,
                        is_number ? "number: a 'text' is none" : "text: a column, several with * between, or a 'text'");
    for (guint i = 0; i < columns->sources->len; i++)
        if (g_array_index(columns->sources, Source, i).field == source->field)
            return complain(scanner, "%s is named twice", source->field->name);
    return TRUE;
}

static gboolean scan_source(Scanner *scanner, LearnColumns *columns)
{
    Source source = { .parts = g_array_new(FALSE, FALSE, sizeof(Part)) };
    g_array_set_clear_func(source.parts, part_clear);
    g_autofree char *name = scan_name(scanner);
    gboolean good = name != NULL;
    if (good && (source.field = find_target(scanner->fields, name, &source.scale)) == NULL)
        good = complain(scanner, "\"%s\" is no column of samples, nor op, shape or latency_us", name);
    if (good && !take(scanner, '='))
        good = complain(scanner, "%s: expected = and what it is in the file", name);
    if (good && take(scanner, '\''))
        good = (source.literal = scan_quoted(scanner, '\'')) != NULL;
    else
        good = good && scan_parts(scanner, source.parts);
    good = good && check_source(scanner, columns, &source);
    if (good)
        g_array_append_val(columns->sources, source);
    else
        source_clear(&source);
    return good;
}

LearnColumns *learn_columns_parse(const char *text, const IfmRecordField *fields, GError **error)
{
    g_autoptr(LearnColumns) columns = g_new0(LearnColumns, 1);
    Scanner scanner = { text, fields, error };
    columns->sources = g_array_new(FALSE, FALSE, sizeof(Source));
    g_array_set_clear_func(columns->sources, source_clear);
    do
        if (!scan_source(&scanner, columns))
            return NULL;
    while (take(&scanner, ','));
    if (*scanner.at != '\0')
    {
        complain(&scanner, "found \"%s\", expected a comma, + or *", scanner.at);
        return NULL;
    }
    return g_steal_pointer(&columns);
}

/* --- fields of a file ---------------------------------------------------------------------------------------------------
 */

static const Source *source_of(const LearnColumns *columns, const char *name)
{
    for (guint i = 0; i < columns->sources->len; i++)
    {
        const Source *source = &g_array_index(columns->sources, Source, i);
        if (g_str_equal(source->field->name, name))
            return source;
    }
    return NULL;
}

gboolean learn_columns_has(const LearnColumns *columns, const char *name)
{
    return source_of(columns, name) != NULL;
}

static const GArray *factors_of(const Source *source, guint part)
{
    return g_array_index(source->parts, Part, part).factors;
}

gboolean learn_columns_check(const LearnColumns *columns, const IfmCsv *csv, GError **error)
{
    gsize column;
    for (guint i = 0; i < columns->sources->len; i++)
    {
        const Source *source = &g_array_index(columns->sources, Source, i);
        for (guint k = 0; k < source->parts->len; k++)
            for (guint j = 0; j < factors_of(source, k)->len; j++)
            {
                const Factor *factor = &g_array_index(factors_of(source, k), Factor, j);
                if (factor->column != NULL && !ifm_csv_column(csv, factor->column, &column, error))
                    return FALSE;
            }
    }
    return TRUE;
}

/* A field of the file, whose column is known to be there. */
static const char *field_at(const IfmCsv *csv, gsize row, const char *name, gsize *column)
{
    const gboolean found = ifm_csv_column(csv, name, column, NULL);
    g_assert(found);
    return ifm_csv_text(csv, row, *column);
}

char *learn_columns_text(const LearnColumns *columns, const IfmCsv *csv, gsize row, const char *name)
{
    const Source *source = source_of(columns, name);
    g_autoptr(GString) text = g_string_new(NULL);
    if (source == NULL || source->literal != NULL)
        return source != NULL ? g_strdup(source->literal) : NULL;
    for (guint i = 0; i < factors_of(source, 0)->len; i++)
    {
        const Factor *factor = &g_array_index(factors_of(source, 0), Factor, i);
        char number[G_ASCII_DTOSTR_BUF_SIZE];
        gsize column;
        g_string_append_printf(text, "%s%s", i > 0 ? "x" : "",
                               factor->column != NULL ? field_at(csv, row, factor->column, &column)
                                                      : g_ascii_formatd(number, sizeof number, "%g", factor->number));
    }
    return text->len > 0 ? g_string_free(g_steal_pointer(&text), FALSE) : NULL;
}

gboolean learn_columns_number(const LearnColumns *columns, const IfmCsv *csv, gsize row, const char *name, double *value,
                              GError **error)
{
    const Source *source = source_of(columns, name);
    *value = source != NULL ? 0 : (double)NAN;
    for (guint k = 0; source != NULL && k < source->parts->len; k++)
    {
        double product = source->scale;
        for (guint i = 0; i < factors_of(source, k)->len; i++)
        {
            const Factor *factor = &g_array_index(factors_of(source, k), Factor, i);
            double number = factor->number;
            gsize column;
            if (factor->column != NULL && *field_at(csv, row, factor->column, &column) == '\0')
                number = (double)NAN;
            else if (factor->column != NULL && !ifm_csv_number(csv, row, column, &number, error))
                return FALSE;
            product *= number;
        }
        *value += product;
    }
    return TRUE;
}
