#include <base/fields.h>

#include "document-private.h"
#include "summary.h"

/* Documents for programs: JSON and CSV. */

/* --- points ----------------------------------------------------------------------------------------------------------- */

/* PointRow: a point of a figure as a record. */
typedef struct
{
    const IfmSeries *series;
    IfmPoint point;
} PointRow;

const char *ifm_mark_name(IfmMark mark)
{
    static const char *const names[] = {
        [IFM_MARK_NONE] = NULL, [IFM_MARK_ROUGH] = "rough", [IFM_MARK_UNKNOWN] = "unknown"
    };
    return names[mark];
}

static void get_mark(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ifm_mark_name(((const PointRow *)record)->point.mark));
}

#define POINT(member) IFM_MEMBER(PointRow, point.member)

const IfmField ifm_point_fields[] = {
    { "group", NULL, IFM_FIELD_TEXT, IFM_MEMBER_VIA(PointRow, series, group) },
    { "series", NULL, IFM_FIELD_TEXT, IFM_MEMBER_VIA(PointRow, series, name) },
    { "label", NULL, IFM_FIELD_TEXT, POINT(label) },
    { "x", NULL, IFM_FIELD_REAL, POINT(x) },
    { "x_end", NULL, IFM_FIELD_REAL, POINT(x_end) },
    { "y", NULL, IFM_FIELD_REAL, POINT(y) },
    { "lower", NULL, IFM_FIELD_REAL, POINT(lower) },
    { "upper", NULL, IFM_FIELD_REAL, POINT(upper) },
    { "min", NULL, IFM_FIELD_REAL, POINT(min) },
    { "max", NULL, IFM_FIELD_REAL, POINT(max) },
    { "mark", NULL, IFM_FIELD_TEXT, get_mark },
    { NULL },
};

/* (transfer full) PointRow* */
static GPtrArray *points_of(const IfmSeries *series)
{
    GPtrArray *rows = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < series->points->len; i++)
    {
        PointRow row = { series, g_array_index(series->points, IfmPoint, i) };
        g_ptr_array_add(rows, g_memdup2(&row, sizeof row));
    }
    return rows;
}

/* --- JSON ------------------------------------------------------------------------------------------------------------- */

const char *ifm_tone_name(IfmTone tone)
{
    static const char *const names[] = { "plain", "good", "warn", "bad", "dim" };
    return names[tone];
}

static json_t *axis_to_json(const IfmAxis *axis)
{
    json_t *json =
        json_pack("{s:o,s:s,s:b}", "title", ifm_json_text(axis->title), "unit",
                  axis->unit != NULL ? axis->unit : ifm_field_unit(axis->kind), "logarithmic", axis->logarithmic);
    json_t *categories = axis->categories != NULL ? json_array() : NULL;
    for (const char *const *name = axis->categories; name != NULL && *name != NULL; name++)
        json_array_append_new(categories, ifm_json_string(*name));
    if (categories != NULL)
        json_object_set_new(json, "categories", categories);
    return json;
}

/* What a point has not is left out. */
static json_t *points_to_json(const IfmSeries *series)
{
    g_autoptr(GPtrArray) rows = points_of(series);
    json_t *points = ifm_rows_to_json(ifm_point_fields + POINT_KEYS, rows);
    for (gsize i = 0; i < json_array_size(points); i++)
    {
        void *next;
        const char *key;
        json_t *point = json_array_get(points, i), *value;
        json_object_foreach_safe(point, next, key, value) if (json_is_null(value)) json_object_del(point, key);
    }
    return points;
}

static void figure_to_json(json_t *json, const IfmFigure *figure)
{
    json_t *all = json_array();
    for (guint s = 0; s < figure->series->len; s++)
    {
        const IfmSeries *series = figure->series->pdata[s];
        json_array_append_new(all, json_pack("{s:o,s:o,s:s,s:o}", "name", ifm_json_text(series->name), "group",
                                             ifm_json_text(series->group), "tone", ifm_tone_name(series->tone), "points",
                                             points_to_json(series)));
    }
    json_object_set_new(json, "figure", json_string(ifm_figure_kind_name(figure->kind)));
    json_object_set_new(json, "title", ifm_json_text(figure->title));
    json_object_set_new(json, "sentence", ifm_json_text(figure->sentence));
    json_object_set_new(json, "x", axis_to_json(&figure->x));
    json_object_set_new(json, "y", axis_to_json(&figure->y));
    json_object_set_new(json, "series", all);
}

static void table_to_json(json_t *json, const IfmTable *table)
{
    json_t *columns = json_array(), *marks = json_array();
    for (const IfmField *field = table->fields; field->key != NULL; field++)
    {
        if ((field->flags & IFM_FIELD_NO_EXPORT) != 0)
            continue;
        json_array_append_new(
            columns,
            json_pack("{s:o,s:o,s:s}", "key", ifm_json_string(field->key), "title", ifm_json_text(field->title), "unit",
                      ifm_field_unit(field->kind == IFM_FIELD_INTERVAL && field->of != 0 ? field->of : field->kind)));
        for (gsize row = 0; row < table->n_records; row++)
        {
            IfmValue value;
            ifm_field_get(field, table->records[row], &value);
            if (value.present && value.mark != IFM_MARK_NONE)
                json_array_append_new(marks, json_pack("{s:i,s:o,s:s}", "row", (int)row, "column",
                                                       ifm_json_string(field->key), "mark", ifm_mark_name(value.mark)));
            ifm_value_clear(&value);
        }
    }
    json_object_set_new(json, "columns", columns);
    json_object_set_new(json, "rows", ifm_table_to_json(table));
    json_object_set_new(json, "marks", marks);
}

static json_t *block_to_json(const IfmBlock *block)
{
    static const char *const kinds[] = { "text", "note", "facts", "table", "figure" };
    json_t *json = json_pack("{s:s}", "kind", kinds[block->kind]);
    if (block->key != NULL)
        json_object_set_new(json, "key", ifm_json_string(block->key));
    switch (block->kind)
    {
    case IFM_BLOCK_TEXT:
    {
        g_autoptr(GString) text = g_string_new(NULL);
        for (guint i = 0; i < block->spans->len; i++)
            g_string_append(text, g_array_index(block->spans, IfmSpan, i).text);
        json_object_set_new(json, "text", ifm_json_string(text->str));
        break;
    }
    case IFM_BLOCK_NOTE:
        json_object_set_new(json, "head", ifm_json_string(block->head.text));
        json_object_set_new(json, "tone", json_string(ifm_tone_name(block->head.tone)));
        json_object_set_new(json, "text", ifm_json_string(block->text));
        break;
    case IFM_BLOCK_FACTS:
    {
        json_t *facts = json_array();
        for (guint i = 0; i < block->facts->len; i++)
        {
            const IfmFact *fact = &g_array_index(block->facts, IfmFact, i);
            json_array_append_new(
                facts, json_pack("{s:o,s:o}", "name", ifm_json_string(fact->name), "text", ifm_json_string(fact->text)));
        }
        json_object_set_new(json, "facts", facts);
        break;
    }
    case IFM_BLOCK_TABLE:
        table_to_json(json, &block->table);
        break;
    case IFM_BLOCK_FIGURE:
        figure_to_json(json, &block->figure);
        break;
    }
    return json;
}

json_t *ifm_document_to_json(const IfmDocument *document)
{
    json_t *sections = json_array();
    for (guint s = 0; s < document->sections->len; s++)
    {
        const IfmSection *section = document->sections->pdata[s];
        json_t *blocks = json_array();
        for (guint i = 0; i < section->blocks->len; i++)
            json_array_append_new(blocks, block_to_json(section->blocks->pdata[i]));
        if (section->blocks->len == 0 && section->answer == NULL && (section->title == NULL || section->level > 0))
            json_decref(blocks);
        else
            json_array_append_new(sections, json_pack("{s:o,s:o,s:i,s:o,s:o,s:o}", "title", ifm_json_text(section->title),
                                                      "rest", ifm_json_text(section->rest), "level", section->level,
                                                      "question", ifm_json_text(section->question), "answer",
                                                      ifm_json_text(section->answer), "blocks", blocks));
    }
    json_t *json = ifm_json_begin("document", 1);
    json_object_set_new(json, "of", ifm_json_string(document->kind));
    json_object_set_new(json, "title", ifm_json_string(document->title));
    json_t *summary = ifm_document_summary_to_json(document);
    json_object_set_new(json, "summary", summary != NULL ? summary : json_null());
    json_t *devices = json_array();
    for (guint i = 0; i < document->devices->len; i++)
        json_array_append_new(devices, ifm_json_text(document->devices->pdata[i]));
    json_object_set_new(json, "devices", devices);
    json_object_set_new(json, "sections", sections);
    return json;
}

/* --- CSV -------------------------------------------------------------------------------------------------------------- */

static void append_csv(GString *out, const IfmBlock *block)
{
    const IfmTable *table = &block->table;
    const GPtrArray *series = block->figure.series;
    ifm_csv_append_header(out, block->kind == IFM_BLOCK_TABLE ? table->fields : ifm_point_fields);
    for (gsize row = 0; row < table->n_records; row++)
        ifm_csv_append_record(out, table->fields, table->records[row]);
    for (guint s = 0; series != NULL && s < series->len; s++)
    {
        g_autoptr(GPtrArray) rows = points_of(series->pdata[s]);
        for (guint i = 0; i < rows->len; i++)
            ifm_csv_append_record(out, ifm_point_fields, rows->pdata[i]);
    }
}

char *ifm_block_to_csv(const IfmBlock *block)
{
    GString *out = g_string_new(NULL);
    append_csv(out, block);
    return g_string_free(out, FALSE);
}

char *ifm_document_to_csv(const IfmDocument *document, const char *key)
{
    const IfmBlock *one = key != NULL ? ifm_document_find(document, key) : NULL;
    if (key != NULL)
        return one != NULL ? ifm_block_to_csv(one) : NULL;
    GString *out = g_string_new(NULL);
    for (guint s = 0; s < document->sections->len; s++)
    {
        const GPtrArray *blocks = ((const IfmSection *)document->sections->pdata[s])->blocks;
        for (guint i = 0; i < blocks->len; i++)
        {
            const IfmBlock *block = blocks->pdata[i];
            if (block->key == NULL)
                continue;
            g_string_append_printf(out, "%s%s\r\n", out->len > 0 ? "\r\n" : "", block->key);
            append_csv(out, block);
        }
    }
    return g_string_free(out, FALSE);
}
