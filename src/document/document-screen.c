#include <math.h>
#include <string.h>

#include <base/base.h>

#include "document-private.h"
#include "summary.h"

/* Documents for a terminal. */

#define NAME_WIDTH 10 /* columns that names of facts take at least */

/* Where a text may not be broken it may not be in ASCII, either, which has no such blank. */
static void append_span(GString *line, const IfmSpan *span, const IfmScreen *screen)
{
    g_auto(GStrv) parts = g_strsplit(span->text, IFM_NO_BREAK, -1);
    for (char **part = parts; *part != NULL; part++)
    {
        char *spelt = ifm_format_spelt(*part, screen->utf8);
        g_free(*part);
        *part = spelt;
    }
    g_autofree char *text = g_strjoinv(IFM_NO_BREAK, parts);
    g_string_append_printf(line, "%s%s%s%s%s", span->strong ? ifm_bold_begin(screen) : "",
                           ifm_tone_begin(screen, span->tone), text, ifm_tone_end(screen, span->tone),
                           span->strong ? ifm_bold_end(screen) : "");
}

/* Lines of text: what is said after @head, if that is set. */
static void append_said(GString *out, const IfmSpan *head, const char *text, int indent, const IfmScreen *screen)
{
    const IfmSpan rest = { text != NULL ? text : "", IFM_TONE_PLAIN, FALSE };
    g_autoptr(GString) line = g_string_new(NULL);
    append_span(line, head, screen);
    append_span(line, &rest, screen);
    ifm_format_wrap(out, line->str, indent, 0, screen->width);
}

static void append_facts(GString *out, const IfmBlock *block, const IfmScreen *screen)
{
    int width = MAX(NAME_WIDTH, block->name_width);
    for (guint i = 0; i < block->facts->len; i++)
        width = MAX(width, ifm_text_width(g_array_index(block->facts, IfmFact, i).name) + 1);
    for (guint i = 0; i < block->facts->len; i++)
    {
        const IfmFact *fact = &g_array_index(block->facts, IfmFact, i);
        g_autofree char *name = ifm_format_spelt(fact->name, screen->utf8),
                        *text = ifm_format_spelt(fact->text, screen->utf8);
        g_autofree char *line = g_strdup_printf("%s%*s%s", name, MAX(width - ifm_text_width(name), 0), "", text);
        ifm_format_wrap(out, line, width, 0, screen->width);
    }
}

static void append_table(GString *out, const IfmTable *table, const IfmScreen *screen)
{
    g_autofree char *text = ifm_table_to_screen(table, screen);
    g_string_append(out, text);
}

/* View: how much of the documents is shown. @is_whole: all; else blocks of those ranks (bits), their tables without
 * details, and of those that may be cut so many rows more than the least. @most_rows: of the other tables, which are cut
 * only where nothing else helps. @left_out: what is left out is called so, in order */
typedef struct
{
    const IfmScreen *screen;
    gboolean is_whole;
    guint64 ranks;
    gsize more_rows, most_rows;
    GPtrArray *left_out;
} View;

static void leave_out(View *view, const char *called)
{
    if (called != NULL && !g_ptr_array_find_with_equal_func(view->left_out, called, g_str_equal, NULL))
        g_ptr_array_add(view->left_out, (gpointer)called);
}

static void append_records(GString *out, const IfmBlock *block, View *view)
{
    IfmTable table = block->table;
    gboolean left_out = FALSE;
    if (!view->is_whole)
        table.n_records =
            MIN(table.n_records, block->least_rows > 0 ? block->least_rows + view->more_rows : view->most_rows);
    g_autofree char *text = ifm_table_show(&table, view->screen, !view->is_whole, &left_out);
    g_string_append(out, text);
    if (table.n_records < block->table.n_records)
        g_string_append_printf(out, "(%zu more)\n", block->table.n_records - table.n_records);
    if (left_out || table.n_records < block->table.n_records)
        leave_out(view, block->called);
}

/* --- figures that are tables ------------------------------------------------------------------------------------------ */

/* PointRow: one bar or strip. */
typedef struct
{
    const IfmSeries *series;
    const IfmPoint *point;
    double largest; /* of all bars */
} PointRow;

static void get_y(const void *record, const void *user, IfmValue *value)
{
    const PointRow *row = record;
    ifm_value_set_real(value, row->point->y);
    value->mark = row->point->mark;
    value->tone = row->series->tone;
}

static void get_half_width(const void *record, const void *user, IfmValue *value)
{
    const IfmPoint *point = ((const PointRow *)record)->point;
    ifm_value_set_real(value, (point->upper - point->lower) / 2 / fabs(point->y));
}

static void get_bar(const void *record, const void *user, IfmValue *value)
{
    const PointRow *row = record;
    ifm_value_set_real(value, row->point->y / row->largest);
}

static void get_strip(const void *record, const void *user, IfmValue *value)
{
    const IfmPoint *point = ((const PointRow *)record)->point;
    ifm_value_set_interval(value, point->min, point->lower, point->y, point->upper, point->max);
}

/* A row a point: its numbers, and a bar or a strip. */
static void append_points(GString *out, const IfmFigure *figure, const IfmScreen *screen)
{
    gboolean strips = figure->kind == IFM_FIGURE_STRIPS;
    const char *title = figure->y.title != NULL ? figure->y.title : "";
    const IfmField fields[] = {
        { "series", "", IFM_FIELD_TEXT, IFM_MEMBER_VIA(PointRow, series, name), IFM_FIELD_HIDE_EMPTY | IFM_FIELD_KEY },
        { "label", figure->x.title != NULL ? figure->x.title : "", IFM_FIELD_TEXT, IFM_MEMBER_VIA(PointRow, point, label),
          IFM_FIELD_KEY },
        { "y", title, figure->y.kind, get_y },
        { "half_width_ratio", "±", IFM_FIELD_PRECISION, get_half_width, NULL, IFM_FIELD_HIDE_EMPTY },
        { "drawn", "", strips ? IFM_FIELD_INTERVAL : IFM_FIELD_BAR, strips ? get_strip : get_bar, .of = figure->y.kind },
        { NULL },
    };
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(g_free);
    double largest = 0;
    for (guint s = 0; s < figure->series->len; s++)
    {
        const IfmSeries *series = figure->series->pdata[s];
        for (guint i = 0; i < series->points->len; i++)
        {
            PointRow row = { series, &g_array_index(series->points, IfmPoint, i), NAN };
            largest = fmax(largest, row.point->y);
            g_ptr_array_add(rows, g_memdup2(&row, sizeof row));
        }
    }
    for (guint i = 0; i < rows->len; i++)
        ((PointRow *)rows->pdata[i])->largest = largest;
    append_table(out, &(IfmTable){ fields, (const void *const *)rows->pdata, rows->len }, screen);
}

/* @user: the column's label. */
static void get_cell(const void *record, const void *user, IfmValue *value)
{
    const IfmSeries *series = record;
    for (guint i = 0; i < series->points->len; i++)
    {
        const IfmPoint *point = &g_array_index(series->points, IfmPoint, i);
        if (g_strcmp0(point->label, user) != 0)
            continue;
        ifm_value_set_real(value, point->y);
        value->mark = point->mark;
    }
}

/* A row a series, a column a label. */
static void append_matrix(GString *out, const IfmFigure *figure, const IfmScreen *screen)
{
    g_autoptr(GArray) fields = g_array_new(TRUE, TRUE, sizeof(IfmField));
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    const IfmField name = { "series", figure->y.title != NULL ? figure->y.title : "", IFM_FIELD_TEXT,
                            IFM_MEMBER(IfmSeries, name) };
    g_array_append_val(fields, name);
    for (guint s = 0; s < figure->series->len; s++)
    {
        const GArray *points = ((const IfmSeries *)figure->series->pdata[s])->points;
        for (guint i = 0; i < points->len; i++)
        {
            const char *label = g_array_index(points, IfmPoint, i).label;
            IfmField field = { label, label, figure->y.kind, get_cell, label };
            if (label != NULL && g_hash_table_add(seen, (char *)label))
                g_array_append_val(fields, field);
        }
    }
    append_table(out, &(IfmTable){ ifm_fields_in(fields), (const void *const *)figure->series->pdata, figure->series->len },
                 screen);
}

/* What needs a plane or a scale of time is drawn on pages and in pictures alone. */
static void append_figure(GString *out, const IfmFigure *figure, const IfmScreen *screen)
{
    void (*const append)(GString *, const IfmFigure *, const IfmScreen *) =
        figure->kind == IFM_FIGURE_MATRIX                                      ? append_matrix
        : figure->kind == IFM_FIGURE_BARS || figure->kind == IFM_FIGURE_STRIPS ? append_points
                                                                               : NULL;
    if (append == NULL || figure->series->len == 0)
        return;
    ifm_draw_paragraph(out, figure->title, screen);
    append(out, figure, screen);
}

/* --- sections --------------------------------------------------------------------------------------------------------- */

static void append_block(GString *out, const IfmBlock *block, View *view)
{
    const IfmScreen *screen = view->screen;
    if (block->no_screen)
        return;
    if (!view->is_whole && (view->ranks >> block->detail & 1) == 0)
    {
        leave_out(view, block->called);
        return;
    }
    switch (block->kind)
    {
    case IFM_BLOCK_TEXT:
    {
        g_autoptr(GString) line = g_string_new(NULL);
        for (guint i = 0; i < block->spans->len; i++)
            append_span(line, &g_array_index(block->spans, IfmSpan, i), screen);
        ifm_format_wrap(out, line->str, block->indent, 0, screen->width);
        break;
    }
    case IFM_BLOCK_NOTE:
    {
        g_autofree char *text = g_strconcat(": ", block->text, NULL);
        append_said(out, &block->head, text, 2, screen);
        break;
    }
    case IFM_BLOCK_FACTS:
        append_facts(out, block, screen);
        break;
    case IFM_BLOCK_TABLE:
        append_records(out, block, view);
        break;
    case IFM_BLOCK_FIGURE:
        append_figure(out, &block->figure, screen);
        break;
    }
}

static void append_document(GString *out, const IfmDocument *document, View *view)
{
    const gsize begin = out->len;
    if (!view->is_whole && document->summary != NULL && document->summary->called != NULL)
    {
        leave_out(view, document->summary->called);
        return;
    }
    if (document->summary != NULL && document->summary->verdict != NULL && begin > 0)
        g_string_append_c(out, '\n');
    if (document->summary != NULL)
        ifm_document_summary_show(out, document->summary, view->screen);
    for (guint s = 0; s < document->sections->len; s++)
    {
        const IfmSection *section = document->sections->pdata[s];
        const IfmSpan title = { section->title, IFM_TONE_PLAIN, TRUE };
        g_autoptr(GString) body = g_string_new(NULL);
        for (guint i = 0; i < section->blocks->len; i++)
            append_block(body, section->blocks->pdata[i], view);
        /* the summary has said already what it is of */
        const char *heading = s == 0 && section->level == 0 && ifm_document_has_subject(document) ? NULL : section->title;
        if (body->len == 0 && (heading == NULL || section->level > 0))
            continue;
        g_string_append(out, (out->len > begin && !section->joined) || (begin > 0 && out->len == begin) ? "\n" : "");
        if (heading != NULL)
            append_said(out, &title, section->rest, section->level > 0 ? 2 : 0, view->screen);
        g_string_append_len(out, body->str, (gssize)body->len);
    }
}

/* (transfer full) */
static GString *show_all(const IfmDocument *const *documents, gsize n, View *view)
{
    GString *out = g_string_new(NULL);
    g_ptr_array_set_size(view->left_out, 0);
    for (gsize i = 0; i < n; i++)
        append_document(out, documents[i], view);
    if (view->left_out->len == 0)
        return out;
    g_ptr_array_add(view->left_out, NULL);
    g_autofree char *names = g_strjoinv(", ", (char **)view->left_out->pdata),
                    *line = g_strdup_printf("more with --all: %s", names);
    g_string_append_c(out, '\n');
    ifm_format_wrap(out, line, 2, 0, view->screen->width);
    return out;
}

int ifm_count_lines(const GString *text)
{
    int n = 0;
    for (gsize i = 0; i < text->len; i++)
        n += text->str[i] == '\n';
    return n;
}

static int most_detail(const IfmDocument *const *documents, gsize n)
{
    int most = 0;
    for (gsize d = 0; d < n; d++)
        for (guint s = 0; s < documents[d]->sections->len; s++)
        {
            const GPtrArray *blocks = ((const IfmSection *)documents[d]->sections->pdata[s])->blocks;
            for (guint i = 0; i < blocks->len; i++)
                most = MAX(most, ((const IfmBlock *)blocks->pdata[i])->detail);
        }
    return most;
}

#define MAX_MORE_ROWS 100 /* more than a screen has anyway */

/* Whether the view has no more lines than the screen; then @out is what it shows. */
static gboolean take_if_fits(const IfmDocument *const *documents, gsize n, View *view, GString **out)
{
    GString *more = show_all(documents, n, view);
    const gboolean fits = ifm_count_lines(more) <= view->screen->lines;
    g_string_free(fits ? *out : more, TRUE);
    *out = fits ? more : *out;
    return fits;
}

#define LEAST_LINES                                                                                                        \
    20 /* a screen with fewer has no room for verdict, warnings and what comes next, and gets them all the same */

/* Where it is too long without any details, all tables are cut, and at last the end. */
static void cut(const IfmDocument *const *documents, gsize n, View *view, GString **out)
{
    static const gsize most_rows[] = { 30, 20, 15, 10, 8, 6, 5, 4, 3 };
    for (gsize i = 0; i < G_N_ELEMENTS(most_rows); i++)
    {
        view->most_rows = most_rows[i];
        if (take_if_fits(documents, n, view, out))
            return;
    }
    g_string_free(*out, TRUE);
    *out = show_all(documents, n, view);
    const int kept = view->screen->lines - 1, n_lines = ifm_count_lines(*out);
    const char *end = (*out)->str;
    for (int i = 0; i < kept; i++)
        end = strchr(end, '\n') + 1;
    g_string_truncate(*out, (gsize)(end - (*out)->str));
    g_string_append_printf(*out, "(%d more lines with --all)\n", n_lines - kept);
}

/* Of the ranks of details, in order, each that fits with the fewest rows, then as many rows as fit. */
char *ifm_documents_to_screen(const IfmDocument *const *documents, gsize n, const IfmScreen *screen)
{
    g_autoptr(GPtrArray) left_out = g_ptr_array_new();
    View view = { screen, TRUE, .most_rows = G_MAXSIZE, .left_out = left_out };
    GString *out = show_all(documents, n, &view);
    if (screen->lines == 0 || ifm_count_lines(out) <= screen->lines)
        return g_string_free(out, FALSE);
    view.is_whole = FALSE;
    const int most = most_detail(documents, n);
    g_assert(most < 64);
    g_string_free(out, TRUE);
    view.ranks = 1;
    out = show_all(documents, n, &view);
    if (ifm_count_lines(out) > screen->lines && screen->lines >= LEAST_LINES)
    {
        cut(documents, n, &view, &out);
        return g_string_free(out, FALSE);
    }
    for (int rank = 1; rank <= most; rank++)
    {
        view.ranks |= (guint64)1 << rank;
        if (!take_if_fits(documents, n, &view, &out))
            view.ranks &= ~((guint64)1 << rank);
    }
    do
        view.more_rows++;
    while (view.more_rows <= MAX_MORE_ROWS && take_if_fits(documents, n, &view, &out));
    return g_string_free(out, FALSE);
}

char *ifm_document_to_screen(const IfmDocument *document, const IfmScreen *screen)
{
    return ifm_documents_to_screen(&document, 1, screen);
}

char *ifm_document_show(IfmDocument *document, const IfmScreen *screen)
{
    char *text = ifm_document_to_screen(document, screen);
    ifm_document_free(document);
    return text;
}
