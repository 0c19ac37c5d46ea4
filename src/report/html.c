#include <math.h>
#include <string.h>

#include <gio/gio.h>

#include <base/fields.h>

#include "page-resource.h"
#include "report-private.h"

/*
 * Documents as one page. Everything is in the page's markup and can be read without a script: texts, tables, and each
 * figure as a picture. The script (page/page.js) then makes tables sort and filter, and draws each figure again with
 * Plotly, which the page carries packed. A figure's and a table's data stand next to it as JSON. The page forbids itself
 * any request (Content-Security-Policy).
 */

#define LONG_TEXT 36 /* bytes: what is longer may be broken into lines */

/* --- text ------------------------------------------------------------------------------------------------------------- */

static void append_escaped(GString *out, const char *text)
{
    g_autofree char *clean = ifm_format_clean(text), *escaped = g_markup_escape_text(clean, -1);
    g_string_append(out, escaped);
}

/* A JSON text that may stand in a <script>: there "</script" and "<!--" would end or change it. */
static void append_json_text(GString *out, const char *text)
{
    json_auto_t *json = ifm_json_string(text);
    g_autofree char *spelt = json_dumps(json, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
    for (const char *c = spelt; *c != '\0'; c++)
        if (*c == '<')
            g_string_append(out, "\\u003c");
        else
            g_string_append_c(out, *c);
}

static void append_span(GString *out, const IfmSpan *span)
{
    g_string_append_printf(out, "<span class=\"%s%s\">", ifm_tone_name(span->tone), span->strong ? " strong" : "");
    append_escaped(out, span->text);
    g_string_append(out, "</span>");
}

/* --- tables ----------------------------------------------------------------------------------------------------------- */

/* Column: what a page shows of one field: its cells, their numbers to sort by. */
typedef struct
{
    const IfmField *field;
    IfmValue *values; /* [n] */
    char **texts;     /* [n] */
    IfmScale scale;   /* of intervals */
    gsize n;
} Column;

static void column_free(Column *column)
{
    for (gsize i = 0; i < column->n; i++)
    {
        ifm_value_clear(&column->values[i]);
        g_free(column->texts[i]);
    }
    g_free(column->values);
    g_free(column->texts);
    g_free(column);
}

static void format_column(Column *column)
{
    const IfmField *field = column->field;
    g_autofree double *numbers = g_new(double, column->n + 1);
    g_autoptr(GPtrArray) marks = g_ptr_array_new();
    for (gsize i = 0; i < column->n; i++)
    {
        numbers[i] = column->values[i].present ? column->values[i].real : NAN;
        if (column->values[i].present)
            g_ptr_array_add(marks, column->values[i].marks);
    }
    column->scale.kind = field->of != 0 ? field->of : IFM_FIELD_DURATION;
    if (field->kind == IFM_FIELD_INTERVAL)
        ifm_scale_fit(&column->scale, (const double *const *)marks->pdata, marks->len);
    else if (field->kind != IFM_FIELD_TEXT && field->kind != IFM_FIELD_BOOLEAN && field->kind != IFM_FIELD_BAR)
        ifm_format_column(field->kind, numbers, column->n, column->texts);
}

/* NULL where the field is not to be shown. */
static Column *column_new(const IfmTable *table, const IfmField *field)
{
    gboolean any = FALSE;
    if ((field->flags & IFM_FIELD_NO_SCREEN) != 0)
        return NULL;
    Column *column = g_new0(Column, 1);
    column->field = field;
    column->n = table->n_records;
    column->values = g_new0(IfmValue, column->n + 1);
    column->texts = g_new0(char *, column->n + 1);
    for (gsize i = 0; i < column->n; i++)
    {
        ifm_field_get(field, table->records[i], &column->values[i]);
        any |= column->values[i].present;
    }
    if (!any && (field->flags & IFM_FIELD_HIDE_EMPTY) != 0)
    {
        column_free(column);
        return NULL;
    }
    format_column(column);
    return column;
}

/* The strip of a terminal as a small picture. */
static void append_strip(GString *out, const Column *column, const double marks[5])
{
    const IfmScale *scale = &column->scale;
    double at[5];
    for (int i = 0; i < 5; i++)
    {
        double share = scale->logarithmic ? log(marks[i] / scale->low) / log(scale->high / scale->low)
                                          : (marks[i] - scale->low) / (scale->high - scale->low);
        at[i] = isfinite(share) ? 2 + 116 * CLAMP(share, 0, 1) : NAN;
    }
    g_string_append(out, "<svg class=\"strip\" width=\"120\" height=\"14\" aria-hidden=\"true\">");
    if (isfinite(at[0]) && isfinite(at[4]))
        g_string_append_printf(out, "<path d=\"M%.1f,7H%.1f\" stroke-width=\"1\"/>", at[0], at[4]);
    if (isfinite(at[1]) && isfinite(at[3]))
        g_string_append_printf(out, "<path d=\"M%.1f,7H%.1f\" stroke-width=\"6\" opacity=\".5\"/>", at[1], at[3]);
    if (isfinite(at[2]))
        g_string_append_printf(out, "<path d=\"M%.1f,1V13\" stroke-width=\"2\"/>", at[2]);
    g_string_append(out, "</svg>");
}

static void append_cell(GString *out, const Column *column, gsize row)
{
    static const char *const marks[] = { [IFM_MARK_NONE] = "", [IFM_MARK_ROUGH] = "~", [IFM_MARK_UNKNOWN] = "?" };
    const IfmValue *value = &column->values[row];
    IfmFieldKind kind = column->field->kind;
    gboolean is_text = kind == IFM_FIELD_TEXT || kind == IFM_FIELD_BOOLEAN;
    gboolean is_long = kind == IFM_FIELD_TEXT && value->present && strlen(value->text) > LONG_TEXT;
    g_string_append_printf(out, "<td class=\"%s%s%s\"", is_text ? "" : "number ", is_long ? "long " : "",
                           ifm_tone_name(value->present ? value->tone : IFM_TONE_DIM));
    if (value->present && !is_text)
    {
        g_string_append(out, " data-v=\"");
        ifm_real_append(out, kind == IFM_FIELD_INTERVAL ? value->marks[2] : value->real);
        g_string_append_c(out, '"');
    }
    g_string_append_c(out, '>');
    if (!value->present)
        g_string_append(out, "–");
    else if (kind == IFM_FIELD_INTERVAL)
        append_strip(out, column, value->marks);
    else if (kind == IFM_FIELD_BAR)
        g_string_append_printf(out, "<span class=\"bar\" style=\"width:%.1f%%\"></span>", 100 * CLAMP(value->real, 0, 1));
    else if (is_text)
        append_escaped(out, kind == IFM_FIELD_TEXT ? value->text : value->integer != 0 ? "yes" : "no");
    else
    {
        g_string_append(out, marks[value->mark]);
        append_escaped(out, g_strstrip(column->texts[row]));
    }
    g_string_append(out, "</td>");
}

static void append_data(GString *out, const char *text)
{
    g_string_append(out, "<script type=\"application/json\" class=\"csv\">");
    append_json_text(out, text);
    g_string_append(out, "</script>\n");
}

static void append_table(GString *out, const IfmBlock *block)
{
    const IfmTable *table = &block->table;
    g_autoptr(GPtrArray) columns = g_ptr_array_new_with_free_func((GDestroyNotify)column_free);
    g_autofree char *csv = ifm_block_to_csv(block);
    for (const IfmField *field = table->fields; field->key != NULL; field++)
    {
        Column *column = column_new(table, field);
        if (column != NULL)
            g_ptr_array_add(columns, column);
    }
    g_string_append(out, "<div class=\"table\" data-key=\"");
    append_escaped(out, block->key);
    g_string_append(out, "\"><div class=\"scroll\" tabindex=\"0\"><table><thead><tr>");
    for (guint i = 0; i < columns->len; i++)
    {
        const IfmField *field = ((const Column *)columns->pdata[i])->field;
        gboolean is_text = field->kind == IFM_FIELD_TEXT || field->kind == IFM_FIELD_BOOLEAN;
        g_string_append_printf(out, "<th scope=\"col\" class=\"%s\">", is_text ? "" : "number");
        append_escaped(out, field->title != NULL ? field->title : field->key);
        g_string_append(out, "</th>");
    }
    g_string_append(out, "</tr></thead><tbody>\n");
    for (gsize row = 0; row < table->n_records; row++)
    {
        g_string_append(out, "<tr>");
        for (guint i = 0; i < columns->len; i++)
            append_cell(out, columns->pdata[i], row);
        g_string_append(out, "</tr>\n");
    }
    g_string_append(out, "</tbody></table></div>");
    append_data(out, csv);
    g_string_append(out, "</div>\n");
}

/* --- figures ---------------------------------------------------------------------------------------------------------- */

static void append_axis(GString *out, const char *name, const IfmAxis *axis)
{
    static const char *const kinds[] = {
        [IFM_FIELD_INTEGER] = "integer", [IFM_FIELD_REAL] = "real", [IFM_FIELD_DURATION] = "duration",
        [IFM_FIELD_BYTES] = "bytes",     [IFM_FIELD_RATE] = "rate", [IFM_FIELD_RATIO] = "ratio"
    };
    const char *kind = axis->kind < G_N_ELEMENTS(kinds) ? kinds[axis->kind] : NULL;
    g_string_append_printf(out, "\"%s\":{\"title\":", name);
    append_json_text(out, axis->title != NULL ? axis->title : "");
    g_string_append(out, ",\"unit\":");
    append_json_text(out, axis->unit != NULL ? axis->unit : "");
    for (const char *const *name = axis->categories; name != NULL && *name != NULL; name++)
    {
        g_string_append(out, name == axis->categories ? ",\"categories\":[" : ",");
        append_json_text(out, *name);
        g_string_append(out, name[1] == NULL ? "]" : "");
    }
    g_string_append_printf(out, ",\"kind\":\"%s\",\"log\":%s},", kind != NULL ? kind : "real",
                           axis->logarithmic ? "true" : "false");
}

/* One member of all points as an array; nothing where no point has it. Spans are long lists of large numbers: @steps gives
 * each as what it adds to the one before. */
static void append_numbers(GString *out, const IfmSeries *series, const char *name, gsize offset, gboolean steps)
{
    gboolean any = FALSE;
    double before = 0;
    for (guint i = 0; i < series->points->len && !any; i++)
        any = isfinite(G_STRUCT_MEMBER(double, &g_array_index(series->points, IfmPoint, i), offset));
    if (!any)
        return;
    g_string_append_printf(out, ",\"%s\":[", name);
    for (guint i = 0; i < series->points->len; i++)
    {
        const IfmPoint *point = &g_array_index(series->points, IfmPoint, i);
        double value = G_STRUCT_MEMBER(double, point, offset);
        if (steps && offset == G_STRUCT_OFFSET(IfmPoint, x_end))
            before = point->x;
        g_string_append(out, i > 0 ? "," : "");
        if (isfinite(value))
            ifm_real_append(out, steps ? value - before : value);
        else
            g_string_append(out, "null");
        before = isfinite(value) ? value : before;
    }
    g_string_append_c(out, ']');
}

/* Texts of points, each once, and which of them each point has; -1: none. */
static void append_texts(GString *out, const IfmSeries *series, const char *name, gsize offset)
{
    g_autoptr(GHashTable) known = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GString) texts = g_string_new(NULL), places = g_string_new(NULL);
    for (guint i = 0; i < series->points->len; i++)
    {
        const char *text = G_STRUCT_MEMBER(const char *, &g_array_index(series->points, IfmPoint, i), offset);
        if (text != NULL && !g_hash_table_contains(known, text))
        {
            g_string_append(texts, texts->len > 0 ? "," : "");
            append_json_text(texts, text);
            g_hash_table_insert(known, (char *)text, GUINT_TO_POINTER(g_hash_table_size(known)));
        }
        int place = text != NULL ? (int)GPOINTER_TO_UINT(g_hash_table_lookup(known, text)) : -1;
        g_string_append_printf(places, "%s%d", i > 0 ? "," : "", place);
    }
    if (texts->len > 0)
        g_string_append_printf(out, ",\"%ss\":[%s],\"%s\":[%s]", name, texts->str, name, places->str);
}

static void append_series(GString *out, const IfmFigure *figure, const IfmSeries *series)
{
    static const struct
    {
        const char *name;
        gsize offset;
    } numbers[] = {
        { "x", G_STRUCT_OFFSET(IfmPoint, x) },         { "x_end", G_STRUCT_OFFSET(IfmPoint, x_end) },
        { "y", G_STRUCT_OFFSET(IfmPoint, y) },         { "lower", G_STRUCT_OFFSET(IfmPoint, lower) },
        { "upper", G_STRUCT_OFFSET(IfmPoint, upper) }, { "min", G_STRUCT_OFFSET(IfmPoint, min) },
        { "max", G_STRUCT_OFFSET(IfmPoint, max) },     { "id", G_STRUCT_OFFSET(IfmPoint, id) },
    };
    g_string_append(out, "{\"name\":");
    append_json_text(out, series->name != NULL ? series->name : "");
    g_string_append(out, ",\"group\":");
    append_json_text(out, series->group != NULL ? series->group : "");
    g_string_append_printf(out, ",\"tone\":\"%s\",\"joined\":%s,\"n\":%u", ifm_tone_name(series->tone),
                           series->joined ? "true" : "false", series->points->len);
    for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
        append_numbers(out, series, numbers[i].name, numbers[i].offset, figure->kind == IFM_FIGURE_TIMELINE && i < 2);
    append_texts(out, series, "label", G_STRUCT_OFFSET(IfmPoint, label));
    g_string_append_c(out, '}');
}

static void append_figure(GString *out, const IfmBlock *block)
{
    const IfmFigure *figure = &block->figure;
    guint n_points = 0;
    for (guint s = 0; s < figure->series->len; s++)
        n_points += ((const IfmSeries *)figure->series->pdata[s])->points->len;
    if (n_points == 0)
        return;
    g_string_append(out, "<figure data-key=\"");
    append_escaped(out, block->key);
    if (figure->group != NULL)
    {
        g_string_append(out, "\" data-group=\"");
        append_escaped(out, figure->group);
    }
    g_string_append(out, "\">\n<div class=\"plot\"></div>");
    ifm_svg_append(out, figure, FALSE);
    g_string_append(out, "<figcaption>");
    append_escaped(out, figure->sentence != NULL ? figure->sentence : "");
    g_string_append_printf(out,
                           "</figcaption><script type=\"application/json\" class=\"data\">{\"figure\":\"%s\",\"title\":",
                           ifm_figure_kind_name(figure->kind));
    append_json_text(out, figure->title);
    g_string_append_c(out, ',');
    append_axis(out, "x", &figure->x);
    append_axis(out, "y", &figure->y);
    g_string_append(out, "\"series\":[");
    for (guint s = 0; s < figure->series->len; s++)
    {
        g_string_append(out, s > 0 ? ",\n" : "\n");
        append_series(out, figure, figure->series->pdata[s]);
    }
    g_string_append(out, "]}</script></figure>\n");
}

/* --- documents -------------------------------------------------------------------------------------------------------- */

static void append_facts(GString *out, const IfmBlock *block)
{
    g_string_append(out, "<dl>");
    for (guint i = 0; i < block->facts->len; i++)
    {
        const IfmFact *fact = &g_array_index(block->facts, IfmFact, i);
        g_string_append(out, "<dt>");
        append_escaped(out, fact->name);
        g_string_append(out, "</dt><dd>");
        append_escaped(out, fact->text);
        g_string_append(out, "</dd>");
    }
    g_string_append(out, "</dl>\n");
}

static void append_block(GString *out, const IfmBlock *block)
{
    if (block->no_screen && block->kind != IFM_BLOCK_FIGURE)
        return;
    switch (block->kind)
    {
    case IFM_BLOCK_TEXT:
        g_string_append(out, "<p>");
        for (guint i = 0; i < block->spans->len; i++)
            append_span(out, &g_array_index(block->spans, IfmSpan, i));
        g_string_append(out, "</p>\n");
        break;
    case IFM_BLOCK_NOTE:
        g_string_append_printf(out, "<p class=\"note %s-note\">", ifm_tone_name(block->head.tone));
        append_span(out, &(IfmSpan){ block->head.text, block->head.tone, TRUE });
        g_string_append(out, ": ");
        append_escaped(out, block->text);
        g_string_append(out, "</p>\n");
        break;
    case IFM_BLOCK_FACTS:
        append_facts(out, block);
        break;
    case IFM_BLOCK_TABLE:
        append_table(out, block);
        break;
    case IFM_BLOCK_FIGURE:
        append_figure(out, block);
        break;
    }
}

static void append_heading(GString *out, const IfmSection *section, gsize document, guint number)
{
    int level = 2 + section->level;
    g_string_append_printf(out, "<h%d id=\"s%zu-%u\">", level, document, number);
    append_escaped(out, section->title);
    g_string_append_printf(out, "</h%d>\n", level);
    if (section->rest == NULL || *section->rest == '\0')
        return;
    g_string_append(out, "<p class=\"lead\">");
    append_escaped(out, g_str_has_prefix(section->rest, " ") ? section->rest + 1 : section->rest);
    g_string_append(out, "</p>\n");
}

static gboolean is_shown(const IfmSection *section)
{
    return section->blocks->len > 0 || (section->title != NULL && section->level == 0);
}

static void append_document(GString *out, const IfmDocument *document, gsize number)
{
    g_string_append(out, "<article>\n");
    for (guint s = 0; s < document->sections->len; s++)
    {
        const IfmSection *section = document->sections->pdata[s];
        if (!is_shown(section))
            continue;
        g_string_append(out, "<section>\n");
        if (section->title != NULL)
            append_heading(out, section, number, s);
        for (guint i = 0; i < section->blocks->len; i++)
            append_block(out, section->blocks->pdata[i]);
        g_string_append(out, "</section>\n");
    }
    g_string_append(out, "</article>\n");
}

static void append_contents(GString *out, const IfmDocument *const *documents, gsize n)
{
    g_string_append(out, "<nav aria-label=\"Contents\"><ul>\n");
    for (gsize d = 0; d < n; d++)
        for (guint s = 0; s < documents[d]->sections->len; s++)
        {
            const IfmSection *section = documents[d]->sections->pdata[s];
            if (section->title == NULL || !is_shown(section))
                continue;
            g_string_append_printf(out, "<li class=\"level%d\"><a href=\"#s%zu-%u\">", section->level, d, s);
            append_escaped(out, section->title);
            g_string_append(out, "</a></li>\n");
        }
    g_string_append(out, "</ul></nav>\n");
}

/* --- the page --------------------------------------------------------------------------------------------------------- */

/* (transfer full) a file that was built into the library */
static GBytes *resource(const char *name)
{
    g_autofree char *path = g_strconcat("/inferometer/page/", name, NULL);
    GBytes *bytes = g_resource_lookup_data(ifm_page_get_resource(), path, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
    g_assert(bytes != NULL); /* the build put it there */
    return bytes;
}

static void append_resource(GString *out, const char *name)
{
    gsize length;
    g_autoptr(GBytes) bytes = resource(name);
    const char *text = g_bytes_get_data(bytes, &length);
    g_string_append_len(out, text, (gssize)length);
}

char *ifm_documents_to_html(const IfmDocument *const *documents, gsize n, const char *title)
{
    gsize length;
    GString *out = g_string_sized_new(4 << 20);
    g_autoptr(GBytes) packed = resource("plotly.min.js.gz");
    const guchar *data = g_bytes_get_data(packed, &length);
    g_autofree char *plotly = g_base64_encode(data, length);
    g_string_append(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
        "style-src 'unsafe-inline'; img-src data: blob:\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"generator\" content=\"Inferometer " IFM_VERSION "\">\n<link rel=\"icon\" href=\"data:,\">\n<title>");
    append_escaped(out, title);
    g_string_append(out, "</title>\n<style>\n");
    append_resource(out, "page.css");
    g_string_append(out, "</style>\n</head>\n<body>\n<header><h1>");
    append_escaped(out, title);
    g_string_append(out, "</h1></header>\n");
    append_contents(out, documents, n);
    g_string_append(out, "<main>\n");
    for (gsize d = 0; d < n; d++)
        append_document(out, documents[d], d);
    g_string_append(out, "</main>\n<footer><p>Made by Inferometer " IFM_VERSION
                         ". Figures are drawn by Plotly.js.</p><details><summary>Licence of Plotly.js</summary><pre>");
    g_autoptr(GBytes) licence = resource("plotly-licence.txt");
    const char *text = g_bytes_get_data(licence, &length);
    g_autofree char *terms = g_strndup(text, length), *escaped = g_markup_escape_text(terms, -1);
    g_string_append(out, escaped);
    g_string_append_printf(
        out, "</pre></details></footer>\n<script type=\"text/plain\" id=\"plotly\">%s</script>\n<script>\n", plotly);
    append_resource(out, "page.js");
    g_string_append(out, "</script>\n</body>\n</html>\n");
    return g_string_free(out, FALSE);
}

/* --- pictures --------------------------------------------------------------------------------------------------------- */

char *ifm_document_to_svg(const IfmDocument *document, const char *key)
{
    const IfmBlock *block = ifm_document_find(document, key);
    if (block == NULL || block->kind != IFM_BLOCK_FIGURE)
        return NULL;
    GString *out = g_string_new(NULL);
    ifm_svg_append(out, &block->figure, TRUE);
    return g_string_free(out, FALSE);
}

GStrv ifm_document_figures(const IfmDocument *document)
{
    GPtrArray *keys = g_ptr_array_new();
    for (guint s = 0; s < document->sections->len; s++)
    {
        const GPtrArray *blocks = ((const IfmSection *)document->sections->pdata[s])->blocks;
        for (guint i = 0; i < blocks->len; i++)
        {
            const IfmBlock *block = blocks->pdata[i];
            if (block->kind == IFM_BLOCK_FIGURE && block->figure.series->len > 0)
                g_ptr_array_add(keys, g_strdup(block->key));
        }
    }
    g_ptr_array_add(keys, NULL);
    return (GStrv)g_ptr_array_free(keys, FALSE);
}
