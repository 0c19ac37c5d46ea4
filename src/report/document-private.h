#pragma once
#include <inferometer/trace.h>
#include <report/report.h>

G_BEGIN_DECLS

/* ifm_figure_kind_name: "bars", … */
const char *ifm_figure_kind_name(IfmFigureKind kind);

/* ifm_document_new: (transfer full) a document without sections. @kind, @title: copied, as all texts below are. */
IfmDocument *ifm_document_new(const char *kind, const char *title);

/* ifm_document_keep: @data is freed with the document, after all its blocks. @data: (transfer full)  Returns: @data */
gpointer ifm_document_keep(IfmDocument *document, gpointer data, GDestroyNotify destroy);

/* ifm_document_keep_text: (transfer none) a copy that lives as long as the document; NULL for NULL. */
const char *ifm_document_keep_text(IfmDocument *document, const char *text);

/* Sections: what is added afterwards goes into the last one begun. They may be changed through what is returned.
 * ifm_document_title: of a result, level 0. ifm_document_heading: level 1. ifm_document_part: without a title. @rest: or
 * NULL */
IfmSection *ifm_document_title(IfmDocument *document, const char *title, const char *rest);
IfmSection *ifm_document_heading(IfmDocument *document, const char *title);
IfmSection *ifm_document_part(IfmDocument *document);

/* ifm_document_detail: What is added from now on is a detail of that rank, and called so where it is left out; a warning
 * or a fault is none. @rank: 0: it is none    @called: copied; NULL with rank 0 */
void ifm_document_detail(IfmDocument *document, int rank, const char *called);

/* ifm_document_text: a paragraph. Returns: its block */
IfmBlock *ifm_document_text(IfmDocument *document, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* ifm_document_span: a further piece of the last block, which is a paragraph. */
void ifm_document_span(IfmDocument *document, IfmTone tone, gboolean strong, const char *format, ...) G_GNUC_PRINTF(4, 5);

/* ifm_document_note: "HEAD: text". ifm_document_warning: the same of the head "warning". */
void ifm_document_note(IfmDocument *document, const char *head, IfmTone tone, const char *format, ...) G_GNUC_PRINTF(4, 5);
void ifm_document_warning(IfmDocument *document, const char *format, ...) G_GNUC_PRINTF(2, 3);

/* ifm_document_fact: added to the last block where that has facts, else to a new one. Returns: its block */
IfmBlock *ifm_document_fact(IfmDocument *document, const char *name, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* ifm_document_table: @fields: borrowed    @records: (transfer full) what the getters read */
IfmBlock *ifm_document_table(IfmDocument *document, const char *key, const IfmField *fields, GPtrArray *records);

/* ifm_document_rows: the same of records that are the elements of an array. @rows: (transfer full) */
IfmBlock *ifm_document_rows(IfmDocument *document, const char *key, const IfmField *fields, GArray *rows);

/* ifm_document_figure: a figure without series; its axes are durations until they are set. (transfer none) */
IfmBlock *ifm_document_figure(IfmDocument *document, const char *key, IfmFigureKind kind, const char *title,
                              const char *sentence);
/* ifm_document_page_figure: the same, without a place on the screen, which shows tables of it. */
IfmBlock *ifm_document_page_figure(IfmDocument *document, const char *key, IfmFigureKind kind, const char *title,
                                   const char *sentence);

/* ifm_document_series: a further series of a figure, without points. @name, @group: or NULL    (transfer none) */
IfmSeries *ifm_document_series(IfmDocument *document, IfmBlock *figure, const char *name, const char *group);

/* ifm_document_point: @point: copied, with its label */
void ifm_document_point(IfmDocument *document, IfmSeries *series, const IfmPoint *point);

/* IfmPlotColumns: which columns of a table a figure shows, by their keys; lists end with NULL. */
typedef struct
{
    const char *const *series; /* texts that name a series, joined by blanks; NULL: one series */
    const char *const *label;  /* texts that name a point, joined by blanks; NULL: none */
    const char *x;             /* numbers; NULL: none */
    const char *const *y;      /* numbers; of several each is a series under its title */
    const char *half_width;    /* of the interval of y, as its ratio; NULL: none */
} IfmPlotColumns;

/* ifm_document_plot: a figure of a table's columns for renderers that plot: a terminal shows the table. A record without a
 * y has no point. @table: read now, not referred to    (transfer none) */
IfmBlock *ifm_document_plot(IfmDocument *document, const char *key, IfmFigureKind kind, const char *title,
                            const char *sentence, const IfmTable *table, const IfmPlotColumns *columns);

/* Predictions over measurements, a scatter: ifm_document_predicted: without points. ifm_document_predicted_point: into the
 * series of that name, unless it lacks one of the two. @point: x: measured, y: predicted, with its interval
 * ifm_document_diagonal: where both are the same, over all points; nothing where there are none. */
IfmBlock *ifm_document_predicted(IfmDocument *document, const char *key, const char *title);
void ifm_document_predicted_point(IfmDocument *document, IfmBlock *block, const char *name, const IfmPoint *point);
void ifm_document_diagonal(IfmDocument *document, IfmBlock *block, const char *name);

/* ifm_field_unit: the base unit of values of a kind: "ns", "bytes", "bytes/s", "ratio"; "" where there is none. */
const char *ifm_field_unit(IfmFieldKind kind);

/*
 * ifm_document_add_timeline: Adds a figure: time from left to right, a row for each device's stream, each block's host
 * (what it does, not what it waits for) and each thread of a foreign trace. A batch's number is the label of its
 * inferences. Several traces one below the other on one scale, each from its own beginning.
 * @question: the window, on the clock of each trace; NULL: all of each
 */
void ifm_document_add_timeline(IfmDocument *document, const IfmTrace *const *traces, gsize n_traces,
                               const IfmTraceQuestion *question);

G_END_DECLS
