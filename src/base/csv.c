#include "base-private.h"
#include <base/base.h>
#include <base/fields.h>
#include <math.h>
#include <string.h>

/* This reader takes a CSV file whole and checks it: every row has as many fields as the header. */

struct IfmCsv
{
    char *name;
    GStringChunk *fields_text;
    GPtrArray *fields; /* const char*: records one after the other, the header first */
    GArray *lines;     /* gsize: where each record begins, the header first */
    gsize n_columns;
};

typedef struct
{
    IfmCsv *csv;
    const char *at, *end;
    gsize line;
    GString *field;
} Reader;

/* Past the line break at the reader, if there is one. */
static gboolean skip_line_break(Reader *reader)
{
    if (reader->at < reader->end && *reader->at == '\n')
        reader->at++;
    else if (reader->end - reader->at >= 2 && reader->at[0] == '\r' && reader->at[1] == '\n')
        reader->at += 2;
    else
        return FALSE;
    reader->line++;
    return TRUE;
}

static gboolean read_quoted(Reader *reader, GError **error)
{
    gsize opened = reader->line;
    reader->at++;
    for (;; reader->at++)
    {
        if (reader->at == reader->end)
            return ifm_error_at(error, reader->csv->name, opened, "a quoted field is not closed");
        if (*reader->at == '"')
        {
            if (reader->end - reader->at < 2 || reader->at[1] != '"')
                break;
            reader->at++;
        }
        reader->line += *reader->at == '\n';
        g_string_append_c(reader->field, *reader->at);
    }
    reader->at++;
    if (reader->at < reader->end && *reader->at != ',' && *reader->at != '\n' && *reader->at != '\r')
        return ifm_error_at(error, reader->csv->name, reader->line,
                            "text follows a closing quote; a quote inside a field is doubled");
    return TRUE;
}

static gboolean read_plain(Reader *reader, GError **error)
{
    while (reader->at < reader->end && *reader->at != ',' && *reader->at != '\n' && *reader->at != '\r')
    {
        if (*reader->at == '"')
            return ifm_error_at(error, reader->csv->name, reader->line,
                                "a quote inside a field that does not begin with one");
        g_string_append_c(reader->field, *reader->at++);
    }
    return TRUE;
}

/* One record into the fields. */
static gboolean read_record(Reader *reader, GError **error)
{
    IfmCsv *csv = reader->csv;
    gsize line = reader->line, first = csv->fields->len;
    g_array_append_val(csv->lines, line);
    for (;;)
    {
        g_string_truncate(reader->field, 0);
        gboolean quoted = reader->at < reader->end && *reader->at == '"';
        if (!(quoted ? read_quoted(reader, error) : read_plain(reader, error)))
            return FALSE;
        g_ptr_array_add(csv->fields,
                        g_string_chunk_insert_len(csv->fields_text, reader->field->str, (gssize)reader->field->len));
        if (reader->at == reader->end || skip_line_break(reader))
            break;
        if (*reader->at != ',')
            return ifm_error_at(error, reader->csv->name, reader->line, "a carriage return without a line feed");
        reader->at++;
    }
    gsize n = csv->fields->len - first;
    if (csv->n_columns == 0)
        csv->n_columns = n;
    if (n != csv->n_columns)
        return ifm_error_at(error, reader->csv->name, line, "%zu fields, but the header names %zu columns", n,
                            csv->n_columns);
    return TRUE;
}

static gboolean check_header(const Reader *reader, GError **error)
{
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (gsize k = 0; k < reader->csv->n_columns; k++)
    {
        char *name = g_ptr_array_index(reader->csv->fields, k);
        if (*name == '\0')
            return ifm_error_at(error, reader->csv->name, 1, "column %zu has no name", k + 1);
        if (!g_hash_table_add(seen, name))
            return ifm_error_at(error, reader->csv->name, 1, "column \"%s\" is named twice", name);
    }
    return TRUE;
}

static gboolean check_bytes(const Reader *reader, GError **error)
{
    const char *bad = NULL;
    if (reader->at == reader->end)
        return ifm_error_at(error, reader->csv->name, 1, "the file is empty; its first line would name the columns");
    if (g_utf8_validate_len(reader->at, (gsize)(reader->end - reader->at), &bad))
        return TRUE;
    gsize line = 1;
    for (const char *c = reader->at; c < bad; c++)
        line += *c == '\n';
    return ifm_error_at(error, reader->csv->name, line, "not UTF-8 text");
}

IfmCsv *ifm_csv_parse(const char *text, gsize length, const char *name, GError **error)
{
    g_autoptr(IfmCsv) csv = g_new0(IfmCsv, 1);
    csv->name = g_strdup(name);
    csv->fields_text = g_string_chunk_new(4096);
    csv->fields = g_ptr_array_new();
    csv->lines = g_array_new(FALSE, FALSE, sizeof(gsize));
    Reader reader = { csv, text, text + length, 1, NULL };
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) /* the mark that spreadsheets put first */
        reader.at += 3;
    if (!check_bytes(&reader, error))
        return NULL;
    reader.field = g_string_new(NULL);
    gboolean good = read_record(&reader, error) && check_header(&reader, error);
    while (good && reader.at < reader.end)
        good = read_record(&reader, error);
    g_string_free(reader.field, TRUE);
    return good ? g_steal_pointer(&csv) : NULL;
}

IfmCsv *ifm_csv_open(const char *path, GError **error)
{
    g_autoptr(GMappedFile) file = NULL;
    g_autoptr(GError) local = NULL;
    file = g_mapped_file_new(path, FALSE, &local);
    if (file == NULL)
    {
        ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: %s", path, local->message);
        return NULL;
    }
    if (g_mapped_file_get_length(file) > IFM_CSV_MAX_BYTES)
    {
        ifm_error_refuse(error, "%s: larger than %d MiB", path, IFM_CSV_MAX_BYTES >> 20);
        return NULL;
    }
    const char *text = g_mapped_file_get_contents(file); /* NULL where empty */
    return ifm_csv_parse(text != NULL ? text : "", g_mapped_file_get_length(file), path, error);
}

void ifm_csv_free(IfmCsv *csv)
{
    if (csv == NULL)
        return;
    g_free(csv->name);
    g_string_chunk_free(csv->fields_text);
    g_ptr_array_unref(csv->fields);
    g_array_unref(csv->lines);
    g_free(csv);
}

const char *ifm_csv_name(const IfmCsv *csv)
{
    return csv->name;
}

gsize ifm_csv_n_rows(const IfmCsv *csv)
{
    return csv->lines->len - 1;
}

gboolean ifm_csv_column(const IfmCsv *csv, const char *name, gsize *column, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (gsize k = 0; k < csv->n_columns; k++)
    {
        g_ptr_array_add(names, g_ptr_array_index(csv->fields, k));
        if (!g_str_equal(g_ptr_array_index(names, k), name))
            continue;
        *column = k;
        return TRUE;
    }
    g_ptr_array_add(names, NULL);
    const gboolean semicolons = csv->n_columns == 1 && strchr(g_ptr_array_index(names, 0), ';') != NULL;
    g_autofree char *hint = semicolons ? g_strdup(": fields are parted by semicolons, commas are expected")
                                       : ifm_nearest_hint(name, (const char *const *)names->pdata);
    return ifm_error_refuse(error, "%s:1: no column \"%s\"%s", csv->name, name, hint);
}

const char *ifm_csv_header(const IfmCsv *csv, gsize column)
{
    return column < csv->n_columns ? csv->fields->pdata[column] : NULL;
}

gsize ifm_csv_line(const IfmCsv *csv, gsize row)
{
    g_return_val_if_fail(row < ifm_csv_n_rows(csv), 0);
    return g_array_index(csv->lines, gsize, row + 1);
}

const char *ifm_csv_text(const IfmCsv *csv, gsize row, gsize column)
{
    g_return_val_if_fail(row < ifm_csv_n_rows(csv) && column < csv->n_columns, "");
    return g_ptr_array_index(csv->fields, (row + 1) * csv->n_columns + column);
}

gboolean ifm_csv_number(const IfmCsv *csv, gsize row, gsize column, double *value, GError **error)
{
    const char *text = ifm_csv_text(csv, row, column);
    *value = ifm_number_of(text);
    return isfinite(*value) ||
           ifm_error_refuse(error, "%s:%zu: %s: \"%s\" is not a number", csv->name, ifm_csv_line(csv, row),
                            (char *)g_ptr_array_index(csv->fields, column), text);
}

void ifm_csv_append(GString *out, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL)
    {
        g_string_append(out, text);
        return;
    }
    g_string_append_c(out, '"');
    for (const char *at = text; *at != '\0'; at++)
    {
        if (*at == '"')
            g_string_append_c(out, '"');
        g_string_append_c(out, *at);
    }
    g_string_append_c(out, '"');
}
