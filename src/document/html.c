#include <gio/gio.h>
#include <string.h>

#include <base/base.h>

#include "html.h"
#include "page-resource.h"
#include "summary.h"

/*
 * Documents as one page. All of it stands in the markup and can be read without a script: the first screen, texts, tables,
 * and each figure as SVG, drawn at two or three widths of which the style shows the one that fits. The script
 * (page/page.js) adds tips, sorting, filtering and saving. The page forbids itself any request, and any style or script but
 * its own (Content-Security-Policy with their hashes).
 */

#define MAX_POINTS 1000 /* of a figure whose data the page has */
#define MAX_EVENTS 600  /* the same of a timeline, whose script has them in a shorter form */
#define MAX_ROWS 40     /* of its data as a table; more are lines of CSV, a quarter as long */

/* --- text ------------------------------------------------------------------------------------------------------------- */

void ifm_html_append(GString *out, const char *text)
{
    if (text == NULL)
        return;
    g_autofree char *clean = ifm_format_clean(text), *escaped = g_markup_escape_text(clean, -1);
    g_string_append(out, escaped);
}

static void append_span(GString *out, const IfmSpan *span)
{
    const gboolean is_plain = span->tone == IFM_TONE_PLAIN && !span->strong;
    if (!is_plain)
        g_string_append_printf(out, "<span class=\"tone-%s%s\">", ifm_tone_name(span->tone), span->strong ? " strong" : "");
    ifm_html_append(out, span->text);
    g_string_append(out, is_plain ? "" : "</span>");
}

/* Place: where a block stands: @half: beside another. @devices: those of all the page, ifm_colour_of_device() */
typedef struct
{
    gboolean half;
    const GPtrArray *devices;
} Place;

/* --- figures ---------------------------------------------------------------------------------------------------------- */

/* A value in single quotes: JSON is full of double ones. @json: clean */
static void append_quoted(GString *out, const char *json)
{
    for (const char *c = json; *c != '\0'; c++)
        g_string_append(out, *c == '\'' ? "&#39;" : *c == '&' ? "&amp;" : *c == '<' ? "&lt;" : (const char[]){ *c, '\0' });
}

/* The drawings, and the tips of their marks as a list in JSON. */
static void append_drawings(GString *out, const IfmBlock *block, const Place *place)
{
    const IfmFigure *figure = &block->figure;
    g_autoptr(GPtrArray) tips = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GString) plots = g_string_new(NULL);
    for (const int *width = ifm_svg_widths(place->half); *width != 0; width++)
    {
        g_string_append_printf(plots, "<div class=\"v v%d\">", *width);
        ifm_svg_append(plots, figure, *width, tips, place->devices);
        g_string_append(plots, "</div>\n");
    }
    json_auto_t *list = json_array();
    for (guint i = 0; i < tips->len; i++)
        json_array_append_new(list, ifm_json_text(tips->pdata[i]));
    g_autofree char *text = json_dumps(list, JSON_COMPACT);
    g_string_append(out, " data-tips='");
    append_quoted(out, text);
    g_string_append(out, "'><h3>");
    ifm_html_append(out, figure->title);
    g_string_append(out, "</h3>\n<p class=\"sub\">");
    ifm_html_append(out, figure->sentence);
    g_string_append_printf(out, "</p>\n<div class=\"plots %s\">\n%s</div>\n<figcaption>", place->half ? "half" : "full",
                           plots->str);
    ifm_html_append(out, figure->caption);
    g_string_append(out, "</figcaption>\n");
    if (figure->kind != IFM_FIGURE_TIMELINE)
        return;
    g_string_append(out, "<script type=\"application/json\">");
    ifm_svg_append_timeline_data(out, figure);
    g_string_append(out, "</script>\n");
}

/* PointRow: a point of a figure as a record. */
typedef struct
{
    const IfmSeries *series;
    IfmPoint point;
} PointRow;

#define POINT(member) IFM_MEMBER(PointRow, point.member)

/* Behind the last letter that is no comma. */
static const char *last_cell(const char *line)
{
    const char *end = line + strlen(line);
    while (end > line && end[-1] == ',')
        end--;
    return end;
}

/* Lines of CSV, without the columns at the end that are empty. */
static void append_lines(GString *out, const IfmBlock *block)
{
    g_autofree char *csv = ifm_block_to_csv(block);
    g_auto(GStrv) lines = g_strsplit(csv, "\r\n", -1); /* the last is empty */
    gsize n_empty = G_MAXSIZE;
    for (char **line = lines + 1; **line != '\0'; line++)
        n_empty = MIN(n_empty, strlen(*line) - (gsize)(last_cell(*line) - *line));
    g_string_append(out, "<pre tabindex=\"0\" data-name=\"");
    ifm_html_append(out, block->key);
    g_string_append(out, "\">");
    for (gsize k = n_empty; k > 0; k--)
        for (char **line = lines; **line != '\0'; line++)
            *strrchr(*line, ',') = '\0';
    for (char **line = lines; **line != '\0'; line++)
    {
        ifm_html_append(out, *line);
        g_string_append_c(out, '\n');
    }
    g_string_append(out, "</pre>");
}

/* The data of a figure as a table, closed. */
static void append_data(GString *out, const IfmBlock *block, guint n_points, const Place *place)
{
    const IfmFigure *figure = &block->figure;
    const char *x = figure->x.title != NULL ? figure->x.title : "x", *y = figure->y.title != NULL ? figure->y.title : "y";
    const IfmField fields[] = {
        { "series", "series", IFM_FIELD_TEXT, IFM_MEMBER_VIA(PointRow, series, name), IFM_FIELD_HIDE_EMPTY },
        { "label", figure->x.own ? "point" : x, IFM_FIELD_TEXT, POINT(label), IFM_FIELD_HIDE_EMPTY },
        { "x", x, figure->x.kind, POINT(x), IFM_FIELD_HIDE_EMPTY },
        { "x_end", "to", figure->x.kind, POINT(x_end), IFM_FIELD_HIDE_EMPTY },
        { "y", y, figure->y.kind, POINT(y), IFM_FIELD_HIDE_EMPTY },
        { "lower", "95 % from", figure->y.kind, POINT(lower), IFM_FIELD_HIDE_EMPTY },
        { "upper", "to", figure->y.kind, POINT(upper), IFM_FIELD_HIDE_EMPTY },
        { NULL },
    };
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(g_free);
    for (guint s = 0; s < figure->series->len; s++)
    {
        const IfmSeries *series = figure->series->pdata[s];
        for (guint i = 0; i < series->points->len; i++)
        {
            const PointRow row = { series, g_array_index(series->points, IfmPoint, i) };
            g_ptr_array_add(rows, g_memdup2(&row, sizeof row));
        }
    }
    const IfmTable table = ifm_table_of(fields, rows);
    g_string_append_printf(out, "<details class=\"data\"><summary>Data: %u row%s</summary>\n", n_points,
                           ifm_plural(n_points));
    if (n_points > MAX_ROWS || figure->kind == IFM_FIGURE_TIMELINE)
        append_lines(out, block);
    else
        ifm_html_append_table(out, &table, block->key, figure->title, place->devices);
    g_string_append(out, "</details>\n");
}

static guint count_points(const IfmFigure *figure)
{
    guint n = 0;
    for (guint s = 0; s < figure->series->len; s++)
        n += ((const IfmSeries *)figure->series->pdata[s])->points->len;
    return n;
}

static void append_figure(GString *out, const IfmBlock *block, const Place *place)
{
    const guint n_points = count_points(&block->figure);
    if (n_points == 0)
        return;
    g_string_append(out, "<figure class=\"fig\" tabindex=\"0\" data-key=\"");
    ifm_html_append(out, block->key);
    g_string_append(out, "\"");
    if (block->figure.group != NULL)
    {
        g_string_append(out, " data-group=\"");
        ifm_html_append(out, block->figure.group);
        g_string_append(out, "\"");
    }
    append_drawings(out, block, place);
    if (n_points <= (block->figure.kind == IFM_FIGURE_TIMELINE ? MAX_EVENTS : MAX_POINTS))
        append_data(out, block, n_points, place);
    g_string_append(out, "</figure>\n");
}

/* --- blocks ----------------------------------------------------------------------------------------------------------- */

static void append_facts(GString *out, const IfmBlock *block)
{
    g_string_append(out, "<dl>");
    for (guint i = 0; i < block->facts->len; i++)
    {
        const IfmFact *fact = &g_array_index(block->facts, IfmFact, i);
        g_string_append(out, "<dt>");
        ifm_html_append(out, fact->name);
        g_string_append(out, "</dt><dd>");
        ifm_html_append(out, fact->text);
        g_string_append(out, "</dd>\n");
    }
    g_string_append(out, "</dl>\n");
}

/* A table, or as much of it as a page has. */
static void append_rows(GString *out, const IfmBlock *block, const GPtrArray *devices)
{
    IfmTable table = block->table;
    const gsize n = table.n_records;
    table.n_records = block->page_rows > 0 ? MIN(n, block->page_rows) : n;
    ifm_html_append_table(out, &table, block->key, block->called != NULL ? block->called : block->key, devices);
    if (table.n_records < n)
        g_string_append_printf(out, "<p class=\"left-out\">%zu more rows are in what --document writes.</p>\n",
                               n - table.n_records);
}

static void append_block(GString *out, const IfmBlock *block, const Place *place)
{
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
        ifm_html_append(out, block->text);
        g_string_append(out, "</p>\n");
        break;
    case IFM_BLOCK_FACTS:
        append_facts(out, block);
        break;
    case IFM_BLOCK_TABLE:
        append_rows(out, block, place->devices);
        break;
    case IFM_BLOCK_FIGURE:
        append_figure(out, block, place);
        break;
    }
}

static gboolean is_half(const GPtrArray *blocks, guint i)
{
    const IfmBlock *block = i < blocks->len ? blocks->pdata[i] : NULL;
    return block != NULL && block->kind == IFM_BLOCK_FIGURE && block->figure.half && block->figure.group == NULL &&
           count_points(&block->figure) > 0;
}

/* Two figures of half the width next to each other stand side by side; one alone takes it all. */
static void append_blocks(GString *out, const GPtrArray *blocks, const GPtrArray *devices)
{
    for (guint i = 0; i < blocks->len; i++)
    {
        const IfmBlock *block = blocks->pdata[i];
        const gboolean is_pair = is_half(blocks, i) && is_half(blocks, i + 1);
        if (block->no_screen && block->kind != IFM_BLOCK_FIGURE)
            continue;
        g_string_append(out, is_pair ? "<div class=\"g2\">\n" : "");
        append_block(out, block, &(Place){ is_pair, devices });
        if (is_pair)
            append_block(out, blocks->pdata[++i], &(Place){ is_pair, devices });
        g_string_append(out, is_pair ? "</div>\n" : "");
    }
}

/* --- sections --------------------------------------------------------------------------------------------------------- */

/* A title alone says nothing below a summary, which has said what the document is of. */
static gboolean is_shown(const IfmDocument *document, guint i)
{
    const GPtrArray *sections = document->sections;
    const gboolean said = i == 0 && ifm_document_has_subject(document);
    const IfmSection *section = sections->pdata[i], *next = i + 1 < sections->len ? sections->pdata[i + 1] : NULL;
    if (section->question != NULL && next != NULL && next->question == NULL && !(next->title != NULL && next->level == 0) &&
        is_shown(document, i + 1))
        return TRUE; /* it heads what follows */
    return section->blocks->len > 0 || section->answer != NULL || section->closed != NULL ||
           (section->title != NULL && section->level == 0 && !said);
}

/* What heads the sections below the page's h1 that its navigation leads to; NULL: nothing. */
static const char *head_of(const IfmSection *section)
{
    return section->question != NULL ? section->question : section->level == 0 ? section->title : NULL;
}

static void append_lead(GString *out, const char *text)
{
    if (text == NULL || *text == '\0')
        return;
    g_string_append(out, "<p class=\"lead\">");
    ifm_html_append(out, text + strspn(text, " ,:"));
    g_string_append(out, "</p>\n");
}

static void append_heading(GString *out, const IfmSection *section)
{
    const char *head = head_of(section) != NULL ? head_of(section) : section->title;
    const int level = section->question != NULL ? 0 : section->level;
    if (head == NULL)
        return;
    g_string_append_printf(out, "<h%d>", 2 + level);
    ifm_html_append(out, head);
    g_string_append_printf(out, "</h%d>\n", 2 + level);
    append_lead(out, section->answer != NULL ? section->answer : section->rest);
}

/* A part: it goes on in the section before it, which may be closed. */
static gboolean is_part(const GPtrArray *sections, guint i)
{
    const IfmSection *section = i < sections->len ? sections->pdata[i] : NULL;
    return section != NULL && section->title == NULL && section->question == NULL && section->closed == NULL;
}

/* Returns: the number of the next section */
static guint append_section(GString *out, const GPtrArray *sections, gsize number, guint at, const GPtrArray *devices)
{
    const IfmSection *section = sections->pdata[at];
    g_string_append_printf(out, "<section class=\"in%s\" id=\"s%zu-%u\">\n",
                           head_of(section) != NULL ? ""
                           : section->title != NULL ? " joined"
                                                    : " part",
                           number, at);
    if (section->closed == NULL || head_of(section) != NULL)
        append_heading(out, section);
    if (section->closed != NULL)
    {
        g_string_append(out, "<details class=\"closed\"><summary>");
        ifm_html_append(out, section->closed);
        g_string_append(out, "</summary>\n");
    }
    append_blocks(out, section->blocks, devices);
    for (at++; section->closed != NULL && is_part(sections, at); at++)
        append_blocks(out, ((const IfmSection *)sections->pdata[at])->blocks, devices);
    g_string_append(out, section->closed != NULL ? "</details></section>\n" : "</section>\n");
    return at;
}

static void append_document(GString *out, const IfmDocument *document, gsize number, const GPtrArray *devices)
{
    g_string_append(out, "<article>\n");
    if (document->summary != NULL && document->summary->verdict != NULL)
        ifm_html_append_hero(out, document, number == 0, devices);
    for (guint s = 0; s < document->sections->len;)
        s = is_shown(document, s) ? append_section(out, document->sections, number, s, devices) : s + 1;
    g_string_append(out, "</article>\n");
}

#define MAX_LINKS 9 /* of a bar that is one line high */

/* What the bar leads to: of each document its heads, or its title alone. (transfer full) "s0-1" -> text, in that order;
 * NULL: two documents have the same head */
static GPtrArray *links_of(const IfmDocument *const *documents, gsize n, gboolean titles)
{
    g_autoptr(GPtrArray) links = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GHashTable) owners = g_hash_table_new(g_str_hash, g_str_equal);
    for (gsize d = 0; d < n; d++)
        for (guint s = 0, n_of = 0; s < documents[d]->sections->len; s++)
        {
            const char *head = head_of(documents[d]->sections->pdata[s]);
            if (head == NULL || !is_shown(documents[d], s) || (titles && n_of++ > 0))
                continue;
            const gpointer owner = g_hash_table_lookup(owners, head);
            if (!titles && owner != NULL && owner != documents[d])
                return NULL;
            g_hash_table_insert(owners, (gpointer)head, (gpointer)documents[d]);
            g_ptr_array_add(links, g_strdup_printf("s%zu-%u", d, s));
            g_ptr_array_add(links, g_strdup(titles ? documents[d]->title : head));
        }
    return g_steal_pointer(&links);
}

static void append_contents(GString *out, const IfmDocument *const *documents, gsize n)
{
    g_autoptr(GPtrArray) heads = links_of(documents, n, FALSE),
                         titles = heads == NULL ? links_of(documents, n, TRUE) : NULL;
    const GPtrArray *links = heads != NULL ? heads : titles;
    g_string_append(out, "<nav aria-label=\"Sections\">\n");
    for (guint i = 0; i < MIN(links->len, 2 * MAX_LINKS); i += 2)
    {
        g_string_append_printf(out, "<a href=\"#%s\">", (const char *)links->pdata[i]);
        ifm_html_append(out, links->pdata[i + 1]);
        g_string_append(out, "</a>\n");
    }
    g_string_append(out, "</nav>\n");
}

/* --- the page --------------------------------------------------------------------------------------------------------- */

static void append_resource(GString *out, const char *name)
{
    gsize length;
    g_autofree char *path = g_strconcat("/inferometer/page/", name, NULL);
    g_autoptr(GBytes) bytes = g_resource_lookup_data(ifm_page_get_resource(), path, G_RESOURCE_LOOKUP_FLAGS_NONE, NULL);
    g_assert(bytes != NULL); /* the build put it there */
    const char *text = g_bytes_get_data(bytes, &length);
    g_string_append_len(out, text, (gssize)length);
}

/* "'sha256-…'" (transfer full) */
static char *hash_of(const GString *text)
{
    guint8 digest[32];
    gsize length = sizeof digest;
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    g_checksum_update(checksum, (const guchar *)text->str, (gssize)text->len);
    g_checksum_get_digest(checksum, digest, &length);
    g_autofree char *spelt = g_base64_encode(digest, length);
    return g_strdup_printf("'sha256-%s'", spelt);
}

/* Those of all documents, each once, in order. (transfer container) */
static GPtrArray *devices_of(const IfmDocument *const *documents, gsize n)
{
    GPtrArray *devices = g_ptr_array_new();
    for (gsize d = 0; d < n; d++)
        for (guint i = 0; i < documents[d]->devices->len; i++)
            if (!g_ptr_array_find_with_equal_func(devices, documents[d]->devices->pdata[i], g_str_equal, NULL))
                g_ptr_array_add(devices, documents[d]->devices->pdata[i]);
    return devices;
}

char *ifm_documents_to_html(const IfmDocument *const *documents, gsize n, const char *title)
{
    GString *out = g_string_sized_new(1 << 18);
    g_autoptr(GString) style = g_string_new(NULL), script = g_string_new(NULL), patterns = g_string_new(NULL);
    g_autoptr(GPtrArray) devices = devices_of(documents, n);
    ifm_colours_append_css(style, FALSE);
    append_resource(style, "page.css");
    append_resource(script, "page.js");
    ifm_svg_append_patterns(patterns);
    g_autofree char *style_hash = hash_of(style), *script_hash = hash_of(script);
    g_string_append_printf(out,
                           "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                           "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src %s; "
                           "script-src %s; img-src data:; base-uri 'none'; form-action 'none'\">\n"
                           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                           "<meta name=\"generator\" content=\"Inferometer " IFM_VERSION
                           "\">\n<link rel=\"icon\" href=\"data:,\">\n<title>",
                           style_hash, script_hash);
    ifm_html_append(out, title);
    g_string_append_printf(
        out,
        "</title>\n<style>%s</style>\n</head>\n<body>\n<svg class=\"patterns\" aria-hidden=\"true\">%s</svg>"
        "<a class=\"skip\" href=\"#main\">To the findings</a>\n<header class=\"bar\"><div class=\"in\"><span "
        "class=\"brand\">Inferometer</span>"
        "<span class=\"kind\">",
        style->str, patterns->str);
    ifm_html_append(out, n > 0 ? documents[0]->kind : title);
    g_string_append(out, "</span>\n");
    append_contents(out, documents, n);
    g_string_append(out, "<button type=\"button\" class=\"theme\" aria-label=\"Switch between light and dark\">◐</button>"
                         "</div></header>\n<main id=\"main\">\n");
    if (n == 0 || documents[0]->summary == NULL || documents[0]->summary->verdict == NULL)
    {
        g_string_append(out, "<div class=\"hero in\"><h1>");
        ifm_html_append(out, title);
        g_string_append(out, "</h1></div>\n");
    }
    for (gsize d = 0; d < n; d++)
        append_document(out, documents[d], d, devices);
    g_string_append_printf(out,
                           "</main>\n<footer class=\"in\"><p>Made by Inferometer " IFM_VERSION
                           ". One file, no network.</p></footer>\n<div id=\"tip\" role=\"status\" "
                           "aria-live=\"polite\"></div>\n<script>%s</script>\n</body>\n</html>\n",
                           script->str);
    return g_string_free(out, FALSE);
}

/* --- pictures --------------------------------------------------------------------------------------------------------- */

char *ifm_document_to_svg(const IfmDocument *document, const char *key)
{
    const IfmBlock *block = ifm_document_find(document, key);
    if (block == NULL || block->kind != IFM_BLOCK_FIGURE)
        return NULL;
    g_autofree char *source = ifm_document_summary_source(document->summary);
    GString *out = g_string_new(NULL);
    ifm_svg_append_alone(out, &block->figure, source, document->devices);
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
