#include <math.h>
#include <string.h>

#include <base/fields.h>

#include "document-private.h"

/* Records and tables are written as CSV and JSON by their lists of fields, each number with the digits that restore it. */

static const char *const mark_names[5] = { "min", "lower", "median", "upper", "max" };

void ifm_real_append(GString *out, double real)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    if (!isfinite(real))
        return;
    for (int digits = 15; digits <= 17; digits++)
    {
        char format[8];
        g_snprintf(format, sizeof format, "%%.%dg", digits);
        g_ascii_formatd(text, sizeof text, format, real);
        if (g_ascii_strtod(text, NULL) == real)
            break;
    }
    g_string_append(out, text);
}

static void append_interval(GString *out, const IfmValue *value)
{
    for (int mark = 0; mark < 5; mark++)
    {
        if (mark > 0)
            g_string_append_c(out, ',');
        if (value->present)
            ifm_real_append(out, value->marks[mark]);
    }
}

static void append_cell(GString *out, const IfmField *field, const void *record)
{
    IfmValue value;
    ifm_field_get(field, record, &value);
    if (field->kind == IFM_FIELD_INTERVAL)
        append_interval(out, &value);
    else if (value.present)
        switch (field->kind)
        {
        case IFM_FIELD_TEXT:
            ifm_csv_append(out, value.text);
            break;
        case IFM_FIELD_BOOLEAN:
            g_string_append(out, value.integer != 0 ? "true" : "false");
            break;
        case IFM_FIELD_INTEGER:
            g_string_append_printf(out, "%" G_GINT64_FORMAT, value.integer);
            break;
        default:
            ifm_real_append(out, value.real);
        }
    ifm_value_clear(&value);
}

static void append_header(GString *out, const IfmField *field)
{
    if (field->kind != IFM_FIELD_INTERVAL)
    {
        ifm_csv_append(out, field->key);
        return;
    }
    for (int mark = 0; mark < 5; mark++)
        g_string_append_printf(out, "%s%s_%s", mark > 0 ? "," : "", field->key, mark_names[mark]);
}

/* A header line where @record is NULL. */
static void append_line(GString *out, const IfmField *fields, const void *record)
{
    gboolean first = TRUE;
    for (const IfmField *field = fields; field->key != NULL; field++)
    {
        if ((field->flags & IFM_FIELD_NO_EXPORT) != 0)
            continue;
        if (!first)
            g_string_append_c(out, ',');
        first = FALSE;
        if (record == NULL)
            append_header(out, field);
        else
            append_cell(out, field, record);
    }
    g_string_append(out, "\r\n");
}

void ifm_csv_append_header(GString *out, const IfmField *fields)
{
    append_line(out, fields, NULL);
}

void ifm_csv_append_record(GString *out, const IfmField *fields, const void *record)
{
    append_line(out, fields, record);
}

char *ifm_table_to_csv(const IfmTable *table)
{
    GString *out = g_string_new(NULL);
    ifm_csv_append_header(out, table->fields);
    for (gsize row = 0; row < table->n_records; row++)
        ifm_csv_append_record(out, table->fields, table->records[row]);
    return g_string_free(out, FALSE);
}

/* json_real() refuses NaN and infinities: null. */
static json_t *real_to_json(double real)
{
    return isfinite(real) ? json_real(real) : json_null();
}

static json_t *cell_to_json(const IfmField *field, const IfmValue *value)
{
    if (!value->present)
        return json_null();
    switch (field->kind)
    {
    case IFM_FIELD_TEXT:
    {
        g_autofree char *valid = g_utf8_make_valid(value->text, -1);
        return json_string(valid);
    }
    case IFM_FIELD_BOOLEAN:
        return json_boolean(value->integer != 0);
    case IFM_FIELD_INTEGER:
        return json_integer(value->integer);
    case IFM_FIELD_INTERVAL:
    {
        json_t *marks = json_object();
        for (int mark = 0; mark < 5; mark++)
            json_object_set_new(marks, mark_names[mark], real_to_json(value->marks[mark]));
        return marks;
    }
    default:
        return real_to_json(value->real);
    }
}

json_t *ifm_row_to_json(const IfmField *fields, const void *record)
{
    json_t *object = json_object();
    for (const IfmField *field = fields; field->key != NULL; field++)
    {
        if ((field->flags & IFM_FIELD_NO_EXPORT) != 0)
            continue;
        IfmValue value;
        ifm_field_get(field, record, &value);
        json_object_set_new(object, field->key, cell_to_json(field, &value));
        ifm_value_clear(&value);
    }
    return object;
}

json_t *ifm_table_to_json(const IfmTable *table)
{
    json_t *rows = json_array();
    for (gsize row = 0; row < table->n_records; row++)
        json_array_append_new(rows, ifm_row_to_json(table->fields, table->records[row]));
    return rows;
}

GPtrArray *ifm_pointers_to(const GArray *array)
{
    GPtrArray *pointers = g_ptr_array_sized_new(array->len);
    for (guint i = 0; i < array->len; i++)
        g_ptr_array_add(pointers, array->data + (gsize)i * g_array_get_element_size((GArray *)array));
    return pointers;
}

IfmTable ifm_table_of(const IfmField *fields, const GPtrArray *records)
{
    return (IfmTable){ fields, (const void *const *)records->pdata, records->len };
}

json_t *ifm_rows_to_json(const IfmField *fields, const GPtrArray *records)
{
    const IfmTable table = ifm_table_of(fields, records);
    return ifm_table_to_json(&table);
}

char *ifm_rows_to_csv(const IfmField *fields, const GPtrArray *records)
{
    const IfmTable table = ifm_table_of(fields, records);
    return ifm_table_to_csv(&table);
}

GArray *ifm_fields_join(const IfmField *first, const IfmField *second)
{
    GArray *fields = g_array_new(TRUE, TRUE, sizeof(IfmField));
    for (const IfmField *field = first; field != NULL && field->key != NULL; field++)
        g_array_append_vals(fields, field, 1);
    for (const IfmField *field = second; field->key != NULL; field++)
        g_array_append_vals(fields, field, 1);
    return fields;
}

const IfmField *ifm_fields_in(const GArray *fields)
{
    return (const IfmField *)(const void *)fields->data;
}

json_t *ifm_json_begin(const char *format, int format_version)
{
    return json_pack("{s:{s:s,s:s,s:i}}", "inferometer", "version", IFM_VERSION, "format", format, "format_version",
                     format_version);
}

json_t *ifm_json_text(const char *text)
{
    return text != NULL ? ifm_json_string(text) : json_null();
}
