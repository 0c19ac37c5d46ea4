
#include <math.h>
#include <stdarg.h>

#include "document-private.h"

/* Documents are built: sections, blocks, series. */

typedef struct
{
    gpointer data;
    GDestroyNotify destroy;
} Kept;

static void kept_free(Kept *kept)
{
    kept->destroy(kept->data);
    g_free(kept);
}

static void series_free(IfmSeries *series)
{
    g_array_unref(series->points);
    g_free(series);
}

static void block_free(IfmBlock *block)
{
    g_clear_pointer(&block->spans, g_array_unref);
    g_clear_pointer(&block->facts, g_array_unref);
    g_clear_pointer(&block->figure.series, g_ptr_array_unref);
    g_free(block);
}

static void section_free(IfmSection *section)
{
    g_ptr_array_unref(section->blocks);
    g_free(section);
}

IfmDocument *ifm_document_new(const char *kind, const char *title)
{
    IfmDocument *document = g_new0(IfmDocument, 1);
    document->sections = g_ptr_array_new_with_free_func((GDestroyNotify)section_free);
    document->texts = g_string_chunk_new(1024);
    document->kept = g_ptr_array_new_with_free_func((GDestroyNotify)kept_free);
    document->devices = g_ptr_array_new();
    document->kind = ifm_document_keep_text(document, kind);
    document->title = ifm_document_keep_text(document, title);
    return document;
}

void ifm_document_free(IfmDocument *document)
{
    if (document == NULL)
        return;
    g_ptr_array_unref(document->sections);
    g_ptr_array_unref(document->kept);
    g_ptr_array_unref(document->devices);
    ifm_document_summary_free(document->summary);
    g_string_chunk_free(document->texts);
    g_free(document);
}

gpointer ifm_document_keep(IfmDocument *document, gpointer data, GDestroyNotify destroy)
{
    Kept *kept = g_new(Kept, 1);
    *kept = (Kept){ data, destroy };
    g_ptr_array_add(document->kept, kept);
    return data;
}

const char *ifm_document_keep_text(IfmDocument *document, const char *text)
{
    return text != NULL ? g_string_chunk_insert_const(document->texts, text) : NULL;
}

void ifm_document_device(IfmDocument *document, const char *name)
{
    if (name != NULL && !g_ptr_array_find_with_equal_func(document->devices, name, g_str_equal, NULL))
        g_ptr_array_add(document->devices, (gpointer)ifm_document_keep_text(document, name));
}

const char *ifm_document_take_text(IfmDocument *document, char *text)
{
    g_autofree char *owned = text;
    return ifm_document_keep_text(document, owned);
}

static const char *format_text(IfmDocument *document, const char *format, va_list arguments)
{
    return ifm_document_take_text(document, g_strdup_vprintf(format, arguments));
}

/* --- sections ------------------------------------------------------------------------------------------------------- */

static IfmSection *add_section(IfmDocument *document, int level, const char *title, const char *rest)
{
    IfmSection *section = g_new0(IfmSection, 1);
    section->level = level;
    section->title = ifm_document_keep_text(document, title);
    section->rest = ifm_document_keep_text(document, rest);
    section->blocks = g_ptr_array_new_with_free_func((GDestroyNotify)block_free);
    g_ptr_array_add(document->sections, section);
    return section;
}

IfmSection *ifm_document_title(IfmDocument *document, const char *title, const char *rest)
{
    return add_section(document, 0, title, rest);
}

IfmSection *ifm_document_heading(IfmDocument *document, const char *title)
{
    return add_section(document, 1, title, NULL);
}

IfmSection *ifm_document_part(IfmDocument *document)
{
    return add_section(document, 1, NULL, NULL);
}

IfmSection *ifm_document_question(IfmDocument *document, const char *question, const char *format, ...)
{
    va_list arguments;
    IfmSection *section = ifm_document_part(document);
    section->question = ifm_document_keep_text(document, question);
    if (format == NULL)
        return section;
    va_start(arguments, format);
    section->answer = format_text(document, format, arguments);
    va_end(arguments);
    return section;
}

void ifm_document_close_from(IfmDocument *document, guint from)
{
    for (guint i = from; i < document->sections->len; i++)
    {
        IfmSection *section = document->sections->pdata[i];
        const IfmSection *next = i + 1 < document->sections->len ? document->sections->pdata[i + 1] : NULL;
        if (section->blocks->len > 0 || (next != NULL && next->title == NULL))
            section->closed = section->title != NULL ? section->title : section->closed;
    }
}

IfmSection *ifm_document_closed(IfmDocument *document, const char *format, ...)
{
    va_list arguments;
    IfmSection *section = ifm_document_part(document);
    va_start(arguments, format);
    section->closed = format_text(document, format, arguments);
    va_end(arguments);
    return section;
}

/* --- blocks --------------------------------------------------------------------------------------------------------- */

static GPtrArray *blocks_of(IfmDocument *document)
{
    if (document->sections->len == 0)
        ifm_document_part(document);
    return ((const IfmSection *)document->sections->pdata[document->sections->len - 1])->blocks;
}

static IfmBlock *last_block(IfmDocument *document)
{
    GPtrArray *blocks = blocks_of(document);
    return blocks->len > 0 ? blocks->pdata[blocks->len - 1] : NULL;
}

static IfmBlock *add_block(IfmDocument *document, IfmBlockKind kind)
{
    IfmBlock *block = g_new0(IfmBlock, 1);
    block->kind = kind;
    block->detail = document->detail;
    block->called = document->called;
    g_ptr_array_add(blocks_of(document), block);
    return block;
}

void ifm_document_detail(IfmDocument *document, int rank, const char *called)
{
    document->detail = rank;
    document->called = ifm_document_keep_text(document, called);
}

IfmBlock *ifm_document_text(IfmDocument *document, const char *format, ...)
{
    va_list arguments;
    IfmBlock *block = add_block(document, IFM_BLOCK_TEXT);
    IfmSpan span = { NULL, IFM_TONE_PLAIN, FALSE };
    va_start(arguments, format);
    span.text = format_text(document, format, arguments);
    va_end(arguments);
    block->spans = g_array_new(FALSE, FALSE, sizeof(IfmSpan));
    g_array_append_val(block->spans, span);
    return block;
}

void ifm_document_span(IfmDocument *document, IfmTone tone, gboolean strong, const char *format, ...)
{
    va_list arguments;
    IfmBlock *block = last_block(document);
    IfmSpan span = { NULL, tone, strong };
    g_return_if_fail(block != NULL && block->kind == IFM_BLOCK_TEXT);
    va_start(arguments, format);
    span.text = format_text(document, format, arguments);
    va_end(arguments);
    g_array_append_val(block->spans, span);
}

static void add_note(IfmDocument *document, const char *head, IfmTone tone, const char *format, va_list arguments)
{
    IfmBlock *block = add_block(document, IFM_BLOCK_NOTE);
    block->detail = tone == IFM_TONE_WARN || tone == IFM_TONE_BAD ? 0 : block->detail;
    block->head = (IfmSpan){ ifm_document_keep_text(document, head), tone, FALSE };
    block->text = format_text(document, format, arguments);
}

void ifm_document_note(IfmDocument *document, const char *head, IfmTone tone, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_note(document, head, tone, format, arguments);
    va_end(arguments);
}

void ifm_document_warning(IfmDocument *document, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_note(document, "warning", IFM_TONE_WARN, format, arguments);
    va_end(arguments);
}

IfmBlock *ifm_document_fact(IfmDocument *document, const char *name, const char *format, ...)
{
    va_list arguments;
    IfmBlock *block = last_block(document);
    IfmFact fact = { ifm_document_keep_text(document, name), NULL };
    if (block == NULL || block->kind != IFM_BLOCK_FACTS || block->detail != document->detail)
    {
        block = add_block(document, IFM_BLOCK_FACTS);
        block->facts = g_array_new(FALSE, FALSE, sizeof(IfmFact));
    }
    va_start(arguments, format);
    fact.text = format_text(document, format, arguments);
    va_end(arguments);
    g_array_append_val(block->facts, fact);
    return block;
}

IfmBlock *ifm_document_table(IfmDocument *document, const char *key, const IfmField *fields, GPtrArray *records)
{
    IfmBlock *block = add_block(document, IFM_BLOCK_TABLE);
    ifm_document_keep(document, records, (GDestroyNotify)g_ptr_array_unref);
    block->key = ifm_document_keep_text(document, key);
    block->table = ifm_table_of(fields, records);
    return block;
}

IfmBlock *ifm_document_rows(IfmDocument *document, const char *key, const IfmField *fields, GArray *rows)
{
    ifm_document_keep(document, rows, (GDestroyNotify)g_array_unref);
    return ifm_document_table(document, key, fields, ifm_pointers_to(rows));
}

IfmDocument *ifm_table_document(const char *key, const char *title, const char *rest, const IfmField *fields,
                                GPtrArray *records)
{
    IfmDocument *document = ifm_document_new(key, title);
    if (title != NULL)
        ifm_document_title(document, title, rest);
    ifm_document_part(document);
    ifm_document_table(document, key, fields, g_ptr_array_ref(records));
    return document;
}

/* --- figures -------------------------------------------------------------------------------------------------------- */

const char *ifm_figure_kind_name(IfmFigureKind kind)
{
    static const char *const names[IFM_N_FIGURE_KINDS] = { "bars",     "strips", "scatter", "lines",
                                                           "timeline", "matrix", "stacked", "icicle" };
    return names[kind];
}

const char *ifm_field_unit(IfmFieldKind kind)
{
    static const char *const units[] = {
        [IFM_FIELD_DURATION] = "ns",    [IFM_FIELD_INTERVAL] = "ns", [IFM_FIELD_BYTES] = "bytes",
        [IFM_FIELD_RATE] = "bytes/s",   [IFM_FIELD_RATIO] = "ratio", [IFM_FIELD_BAR] = "ratio",
        [IFM_FIELD_PRECISION] = "ratio"
    };
    return (gsize)kind < G_N_ELEMENTS(units) && units[kind] != NULL ? units[kind] : "";
}

IfmAxis ifm_axis(const char *title, IfmFieldKind kind)
{
    return (IfmAxis){ .title = title, .kind = kind, .low = (double)NAN, .high = (double)NAN };
}

IfmAxis ifm_axis_of_ratio(const char *title, gboolean logarithmic, const char *reference_words)
{
    return (IfmAxis){ title, NULL,  IFM_FIELD_REAL, logarithmic, (double)NAN,    (double)NAN,
                      NULL,  FALSE, TRUE,           1,           reference_words };
}

IfmBlock *ifm_document_figure(IfmDocument *document, const char *key, IfmFigureKind kind, const char *title,
                              const char *sentence)
{
    IfmBlock *block = add_block(document, IFM_BLOCK_FIGURE);
    block->key = ifm_document_keep_text(document, key);
    block->figure = (IfmFigure){
        .kind = kind,
        .title = ifm_document_keep_text(document, title),
        .sentence = ifm_document_keep_text(document, sentence),
        .x = ifm_axis(NULL, IFM_FIELD_DURATION),
        .y = ifm_axis(NULL, IFM_FIELD_DURATION),
        .series = g_ptr_array_new_with_free_func((GDestroyNotify)series_free),
    };
    return block;
}

IfmBlock *ifm_document_page_figure(IfmDocument *document, const char *key, IfmFigureKind kind, const char *title,
                                   const char *sentence)
{
    IfmBlock *block = ifm_document_figure(document, key, kind, title, sentence);
    block->no_screen = TRUE;
    return block;
}

IfmSeries *ifm_document_series(IfmDocument *document, IfmBlock *figure, const char *name, const char *group)
{
    IfmSeries *series = g_new0(IfmSeries, 1);
    series->name = ifm_document_keep_text(document, name);
    series->group = ifm_document_keep_text(document, group);
    series->points = g_array_new(FALSE, FALSE, sizeof(IfmPoint));
    g_ptr_array_add(figure->figure.series, series);
    return series;
}

IfmSeries *ifm_document_series_named(IfmDocument *document, IfmBlock *figure, const char *name)
{
    for (guint i = 0; i < figure->figure.series->len; i++)
        if (g_strcmp0(((const IfmSeries *)figure->figure.series->pdata[i])->name, name) == 0)
            return figure->figure.series->pdata[i];
    return ifm_document_series(document, figure, name, NULL);
}

void ifm_document_point(IfmDocument *document, IfmSeries *series, const IfmPoint *point)
{
    IfmPoint copy = *point;
    copy.label = ifm_document_keep_text(document, point->label);
    copy.text = ifm_document_keep_text(document, point->text);
    g_array_append_val(series->points, copy);
}

void ifm_document_point_within(IfmDocument *document, IfmSeries *series, const char *label, double x, double y,
                               double lower, double upper)
{
    IfmPoint point = IFM_POINT_INIT;
    point.label = label;
    point.x = x;
    point.y = y;
    point.lower = lower;
    point.upper = upper;
    ifm_document_point(document, series, &point);
}

void ifm_document_point_at(IfmDocument *document, IfmSeries *series, const char *label, double x, double y)
{
    ifm_document_point_within(document, series, label, x, y, NAN, NAN);
}

const IfmBlock *ifm_document_find(const IfmDocument *document, const char *key)
{
    for (guint s = 0; s < document->sections->len; s++)
    {
        const GPtrArray *blocks = ((const IfmSection *)document->sections->pdata[s])->blocks;
        for (guint i = 0; i < blocks->len; i++)
            if (g_strcmp0(((const IfmBlock *)blocks->pdata[i])->key, key) == 0)
                return blocks->pdata[i];
    }
    return NULL;
}
