#include <math.h>
#include <string.h>

#include <base/base.h>
#include <base/statistics.h>
#include <staged/staged.h>

#include "import.h"

/* Tables in CSV that were measured elsewhere: stages.csv and ranges.csv, and the points.csv of a study of points, whose
 * axes stand before the column "alias". Each is a table of columns. */

typedef enum
{
    TEXT, /* char *: NULL where the field is empty */
    INT,  /* int: a stage; unchanged where the field is empty */
    COUNT,
    NUMBER, /* NaN where the field is empty */
    NS,     /* a NUMBER that becomes ms */
} ColumnType;

/* Column: @at: of ImportRow    @max: of a COUNT, which begins at 1 */
typedef struct
{
    const char *name;
    gsize at;
    ColumnType type;
    gboolean required;
    gint64 max;
} Column;

#define MAX_COLUMNS 20
#define AT(member) G_STRUCT_OFFSET(ImportRow, member)

static const Column stage_columns[] = {
    { "device", AT(of.alias), TEXT, TRUE },
    { "stage", AT(of.stage), INT, TRUE },
    { "nodes", AT(of.nodes), COUNT, TRUE, IFM_GRAPH_MAX_NODES },
    { "edges", AT(of.edges), COUNT, TRUE, IFM_GRAPH_MAX_EDGES },
    { "latency_ms", AT(total_ms), NUMBER, TRUE },
    { "flag", AT(flag), TEXT, TRUE }, /* a misspelt "flag" would make latencies of failures */
    { "std_ms", AT(std_ms), NUMBER },
    { "compute_ms", AT(compute_ms), NUMBER },
    { "transfer_ms", AT(transfer_ms), NUMBER },
    { "last", AT(of.last), INT },
    { "busy", AT(of.busy), TEXT },
    { "simulated", AT(simulated), TEXT },
    { "error_code", AT(code), TEXT },
    { "mean_ms", AT(mean_ms), NUMBER },
    { "min_ms", AT(min_ms), NUMBER },
    { "max_ms", AT(max_ms), NUMBER },
    { "interval_lower_ms", AT(lower_ms), NUMBER },
    { "interval_upper_ms", AT(upper_ms), NUMBER },
    { NULL },
};

static const Column point_columns[] = {
    { "alias", AT(of.alias), TEXT, TRUE },  { "median_ns", AT(total_ms), NS, TRUE },
    { "outcome", AT(outcome), TEXT, TRUE }, { "reason", AT(flag), TEXT, TRUE },
    { "lower_ns", AT(lower_ms), NS },       { "upper_ns", AT(upper_ms), NS },
    { "level", AT(level), NUMBER },         { "mean_ns", AT(mean_ms), NS },
    { "std_ns", AT(std_ms), NS },           { "min_ns", AT(min_ms), NS },
    { "max_ns", AT(max_ms), NS },           { "items", AT(of.items), NUMBER },
    { "flop", AT(of.flop), NUMBER },        { "error_code", AT(code), TEXT },
    { "simulated", AT(simulated), TEXT },   { NULL },
};

/* Read: one file. @at: of each column; G_MAXSIZE: it is not there, and its fields are empty */
typedef struct
{
    ImportTable *table;
    const IfmCsv *csv;
    const Column *columns;
    gsize at[MAX_COLUMNS];
    gsize n_axes; /* columns before the first; 0: of stages */
} Read;

static gboolean find_columns(Read *read, GError **error)
{
    for (gsize i = 0; read->columns[i].name != NULL; i++)
    {
        const Column *column = &read->columns[i];
        if (ifm_csv_column(read->csv, column->name, &read->at[i], column->required ? error : NULL))
            continue;
        if (column->required)
            return FALSE;
        read->at[i] = G_MAXSIZE;
    }
    return TRUE;
}

static gboolean read_whole(const Read *read, gsize row, const Column *column, const char *text, gint64 *value,
                           GError **error)
{
    const gint64 max = column->max > 0 ? column->max : (gint64)read->table->staged->n_stages;
    return g_ascii_string_to_signed(text, 10, 1, max, value, NULL) ||
           ifm_error_refuse(error, "%s:%zu: %s: found \"%s\", expected a whole number from 1 to %" G_GINT64_FORMAT,
                            ifm_csv_name(read->csv), ifm_csv_line(read->csv, row), column->name, text, max);
}

static gboolean read_field(const Read *read, gsize i, gsize row, ImportRow *to, GError **error)
{
    const Column *column = &read->columns[i];
    const char *text = read->at[i] != G_MAXSIZE ? ifm_csv_text(read->csv, row, read->at[i]) : "";
    gint64 whole = 0;
    double *number = &G_STRUCT_MEMBER(double, to, column->at);
    if (*text == '\0' && (column->type == TEXT || !column->required || column->type >= NUMBER))
        return TRUE;
    switch (column->type)
    {
    case TEXT:
        G_STRUCT_MEMBER(char *, to, column->at) = g_strdup(text);
        return TRUE;
    case INT:
        return read_whole(read, row, column, text, &whole, error) &&
               ((G_STRUCT_MEMBER(int, to, column->at) = (int)whole), TRUE);
    case COUNT:
        return read_whole(read, row, column, text, &G_STRUCT_MEMBER(gint64, to, column->at), error);
    case NUMBER:
    case NS:
        break;
    }
    if (!ifm_csv_number(read->csv, row, read->at[i], number, error))
        return FALSE;
    *number /= column->type == NS ? 1e6 : 1;
    return TRUE;
}

static void sort_busy(IfmStudyCase *of)
{
    g_auto(GStrv) others = of->busy != NULL ? g_strsplit(of->busy, "+", -1) : NULL;
    if (others == NULL)
        return;
    qsort(others, g_strv_length(others), sizeof *others, ifm_compare_texts);
    g_free(of->busy);
    of->busy = g_strjoinv("+", others);
}

/* A number where the text is one, as the axis had it. */
static json_t *value_of(const char *text)
{
    gint64 number;
    return g_ascii_string_to_signed(text, 10, G_MININT64, G_MAXINT64, &number, NULL) ? json_integer(number)
                                                                                     : ifm_json_string(text);
}

static void take_axes(const Read *read, gsize row, IfmStudyCase *of)
{
    of->axes = json_object();
    for (gsize axis = 0; axis < read->n_axes; axis++)
        json_object_set_new(of->axes, json_string_value(json_array_get(read->table->axes, axis)),
                            value_of(ifm_csv_text(read->csv, row, axis)));
}

/* A latency has no reason and no code. */
static gboolean take_outcome(ImportRow *row, GError **error)
{
    static const char *const failures[] = { "failed", "refused", IFM_IMPLAUSIBLE, NULL };
    const char *outcome = row->outcome != NULL ? row->outcome : "";
    if (g_strv_contains(failures, outcome))
    {
        row->flag = row->flag != NULL ? row->flag : g_strdup("");
        return TRUE;
    }
    g_clear_pointer(&row->flag, g_free);
    g_clear_pointer(&row->code, g_free);
    return g_str_equal(outcome, "measured") ||
           ifm_error_refuse(error,
                            "%s: outcome: found \"%s\", expected measured, failed, refused, implausible, skipped or left",
                            row->place, outcome);
}

static gboolean read_row(const Read *read, gsize i, GError **error)
{
    static const char *const left_out[] = { "left", "skipped", NULL }; /* not measured there either */
    const char *file = ifm_csv_name(read->csv);
    g_autoptr(ImportRow) row = import_row_new(file, g_strdup_printf("%s:%zu", file, ifm_csv_line(read->csv, i)));
    for (gsize column = 0; read->columns[column].name != NULL; column++)
        if (!read_field(read, column, i, row, error))
            return FALSE;
    if (row->outcome != NULL && g_strv_contains(left_out, row->outcome))
    {
        read->table->n_read++;
        read->table->n_left_out++;
        return TRUE;
    }
    row->of.alias = row->of.alias != NULL ? row->of.alias : g_strdup("");
    row->of.last = MAX(row->of.last, row->of.last == 0 ? row->of.stage : 0);
    sort_busy(&row->of);
    if (read->n_axes > 0)
        take_axes(read, i, &row->of);
    else if (!isnan(row->lower_ms))
        row->level = IMPORT_LEVEL;
    if (read->n_axes > 0 && !take_outcome(row, error))
        return FALSE;
    if (g_strcmp0(row->simulated, "true") == 0)
        g_hash_table_add(read->table->simulated, g_strdup(row->of.alias));
    return import_add(read->table, g_steal_pointer(&row), read->columns == point_columns ? "median_ns" : "latency_ms",
                      error);
}

/* "dim_NAME" is NAME: a column that would have the name of a figure. */
static gboolean read_axes(Read *read, GError **error)
{
    json_t *axes = json_array();
    g_autofree char *where = g_strdup_printf("%s:1", ifm_csv_name(read->csv));
    read->n_axes = read->at[0];
    for (gsize i = 0; i < read->n_axes; i++)
    {
        const char *name = ifm_csv_header(read->csv, i);
        json_array_append_new(axes, ifm_json_string(g_str_has_prefix(name, "dim_") ? name + strlen("dim_") : name));
    }
    if (read->n_axes > 0)
        return import_take_axes(read->table, axes, where, error);
    json_decref(axes);
    return ifm_error_refuse(error, "%s: no axis: expected columns such as model and batch before \"alias\"", where);
}

gboolean import_csv(ImportTable *table, const char *path, GError **error)
{
    gsize column;
    g_autoptr(IfmCsv) csv = ifm_csv_open(path, error);
    if (csv == NULL)
        return FALSE;
    const gboolean points = ifm_csv_column(csv, "alias", &column, NULL) && ifm_csv_column(csv, "median_ns", &column, NULL);
    Read read = { table, csv, points ? point_columns : stage_columns, { 0 }, 0 };
    if (!find_columns(&read, error) || (points && !read_axes(&read, error)))
        return FALSE;
    for (gsize i = 0; i < ifm_csv_n_rows(csv); i++)
        if (!read_row(&read, i, error))
            return FALSE;
    return TRUE;
}
