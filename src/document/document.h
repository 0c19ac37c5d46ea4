/* Shared with other rooms: documents, figures and fields. */
#pragma once
#include <math.h>

#include <inferometer/document.h>

G_BEGIN_DECLS

/* --- documents ----------------------------------------------------------------------------------------------------- */

/** IfmFact: a name and what is said under it. @name: "" where the fact goes on with the one before. */
typedef struct
{
    const char *name, *text;
} IfmFact;

/* --- figures ------------------------------------------------------------------------------------------------------- */

/** IfmPoint: NaN: there is none. @label: NULL: none. @mark: how well y is known. */
typedef struct
{
    double x, x_end, y;
    double lower, upper; /* a confidence interval of y */
    double min, max;     /* of all values that y is the median of */
    double id;           /* of a timeline: whose event it is, such as a batch's number; what has one id can be followed */
    const char *label;
    IfmMark mark;
    double size;      /* of a scatter: what the area of its mark is in proportion to, such as time */
    const char *text; /* said at its mark, in its cell or segment; NULL: nothing, or its value where there is room */
} IfmPoint;
#define IFM_POINT_INIT                                                                                                     \
    {                                                                                                                      \
        NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NULL, IFM_MARK_NONE, NAN, NULL                                             \
    }

/** IfmSeries: @name: NULL: there is but one. @group: of a timeline: series of one group stand together under its name;
 * NULL: there are no groups. There a series without a name begins a group, which may have no other. @joined: of a scatter:
 * a line through its points, in their order. @no_screen: of a timeline: it explains others, such as why a device is idle:
 * it is drawn in the row of the series before it where that has the same name and group. @category: 1 + the place of a
 * timeline's kind of events whose colour it has in a stack, too; 0: none. */
typedef struct
{
    const char *name, *group;
    IfmTone tone;
    gboolean joined, no_screen;
    int category;
    GArray *points; /* IfmPoint */
} IfmSeries;

/** ifm_table_to_csv: RFC 4180 with a header line; numbers in full and in base units, whatever the locale. (transfer full)
 */
char *ifm_table_to_csv(const IfmTable *table);

void ifm_value_set_boolean(IfmValue *value, gboolean yes);

/* --- a document under construction --------------------------------------------------------------------------------- */

/** ifm_figure_kind_name: "bars", … */
const char *ifm_figure_kind_name(IfmFigureKind kind);

/** ifm_document_new: (transfer full) a document without sections. @kind, @title: copied, as all texts below are. */
IfmDocument *ifm_document_new(const char *kind, const char *title);

/** ifm_document_keep: @data is freed with the document, after all its blocks. @data: (transfer full)  Returns: @data */
gpointer ifm_document_keep(IfmDocument *document, gpointer data, GDestroyNotify destroy);

/** ifm_document_keep_text: (transfer none) a copy that lives as long as the document; NULL for NULL. */
const char *ifm_document_keep_text(IfmDocument *document, const char *text);
/** ifm_document_take_text: the same, and @text is freed. @text: (transfer full) */
const char *ifm_document_take_text(IfmDocument *document, char *text);

/** ifm_document_device: A device, or a side of a comparison: the next colour is its own wherever it is named. @name: NULL:
 * none */
void ifm_document_device(IfmDocument *document, const char *name);

/* Sections: what is added afterwards goes into the last one begun. They may be changed through what is returned.
 * ifm_document_title: of a result, level 0. ifm_document_heading: level 1. ifm_document_part: without a title. @rest: or
 * NULL */
IfmSection *ifm_document_title(IfmDocument *document, const char *title, const char *rest);
IfmSection *ifm_document_heading(IfmDocument *document, const char *title);
IfmSection *ifm_document_part(IfmDocument *document);

/* Sections of a page, which on a terminal are parts: ifm_document_question: headed by a question, "Which device?", that it
 * begins by answering; the parts that follow belong to it. @format: the answer, one or two sentences; NULL: none
 * ifm_document_closed: what is shown on demand, under a few words: "OpenVINO: 24 kernels". */
IfmSection *ifm_document_question(IfmDocument *document, const char *question, const char *format, ...) G_GNUC_PRINTF(3, 4);
IfmSection *ifm_document_closed(IfmDocument *document, const char *format, ...) G_GNUC_PRINTF(2, 3);

/** ifm_document_close_from: On a page, sections with a title from number @from on, and those without one that follow each,
 * are shown on demand, under their title. */
void ifm_document_close_from(IfmDocument *document, guint from);

/** ifm_document_detail: What is added from now on is a detail of that rank, and called so where it is left out; a warning
 * or a fault is none. @rank: 0: it is none    @called: copied; NULL with rank 0 */
void ifm_document_detail(IfmDocument *document, int rank, const char *called);

/** ifm_document_text: a paragraph. Returns: its block */
IfmBlock *ifm_document_text(IfmDocument *document, const char *format, ...) G_GNUC_PRINTF(2, 3);

/** ifm_document_span: a further piece of the last block, which is a paragraph. */
void ifm_document_span(IfmDocument *document, IfmTone tone, gboolean strong, const char *format, ...) G_GNUC_PRINTF(4, 5);

/** ifm_document_note: "HEAD: text". ifm_document_warning: the same of the head "warning". */
void ifm_document_note(IfmDocument *document, const char *head, IfmTone tone, const char *format, ...) G_GNUC_PRINTF(4, 5);
void ifm_document_warning(IfmDocument *document, const char *format, ...) G_GNUC_PRINTF(2, 3);

/** ifm_document_fact: added to the last block where that has facts, else to a new one. Returns: its block */
IfmBlock *ifm_document_fact(IfmDocument *document, const char *name, const char *format, ...) G_GNUC_PRINTF(3, 4);

/** ifm_document_table: @fields: borrowed    @records: (transfer full) what the getters read */
IfmBlock *ifm_document_table(IfmDocument *document, const char *key, const IfmField *fields, GPtrArray *records);

/** ifm_document_rows: the same of records that are the elements of an array. @rows: (transfer full) */
IfmBlock *ifm_document_rows(IfmDocument *document, const char *key, const IfmField *fields, GArray *rows);

/** ifm_document_figure: a figure without series; its axes are durations until they are set. (transfer none) */
IfmBlock *ifm_document_figure(IfmDocument *document, const char *key, IfmFigureKind kind, const char *title,
                              const char *sentence);
/** ifm_document_page_figure: the same, without a place on the screen, which shows tables of it. */
IfmBlock *ifm_document_page_figure(IfmDocument *document, const char *key, IfmFigureKind kind, const char *title,
                                   const char *sentence);

/** ifm_document_series: a further series of a figure, without points. @name, @group: or NULL    (transfer none) */
IfmSeries *ifm_document_series(IfmDocument *document, IfmBlock *figure, const char *name, const char *group);

/** ifm_document_series_named: The one of that name, or a further one. (transfer none) */
IfmSeries *ifm_document_series_named(IfmDocument *document, IfmBlock *figure, const char *name);

/** ifm_document_point: @point: copied, with its label */
void ifm_document_point(IfmDocument *document, IfmSeries *series, const IfmPoint *point);
/* The same of a point that has but a label, NULL: none, an x, NaN: none, and a y; and of one with an interval of y. */
void ifm_document_point_at(IfmDocument *document, IfmSeries *series, const char *label, double x, double y);
void ifm_document_point_within(IfmDocument *document, IfmSeries *series, const char *label, double x, double y,
                               double lower, double upper);

/* ifm_axis: of values in the base unit, over the range that the points have. ifm_axis_of_ratio: of ratios, with a line
 * at 1.
 * @reference_words: what stands at the line, or NULL */
IfmAxis ifm_axis(const char *title, IfmFieldKind kind);
IfmAxis ifm_axis_of_ratio(const char *title, gboolean logarithmic, const char *reference_words);

/** IfmPlotColumns: which columns of a table a figure shows, by their keys; lists end with NULL. */
typedef struct
{
    const char *const *series; /* texts that name a series, joined by blanks; NULL: one series */
    const char *const *label;  /* texts that name a point, joined by blanks; NULL: none */
    const char *x;             /* numbers; NULL: none */
    const char *const *y;      /* numbers; of several each is a series under its title */
    const char *half_width;    /* of the interval of y, as its ratio; NULL: none */
} IfmPlotColumns;

/** ifm_document_plot: a figure of a table's columns for renderers that plot: a terminal shows the table. A record without a
 * y has no point. @table: read now, not referred to    (transfer none) */
IfmBlock *ifm_document_plot(IfmDocument *document, const char *key, IfmFigureKind kind, const char *title,
                            const char *sentence, const IfmTable *table, const IfmPlotColumns *columns);

/* Predictions over measurements, a scatter: ifm_document_predicted: without points. ifm_document_predicted_point: into the
 * series of that name, unless it lacks one of the two
 * ifm_document_diagonal: where both are the same, over all points; nothing where there are none. */
IfmBlock *ifm_document_predicted(IfmDocument *document, const char *key, const char *title);
void ifm_document_predicted_point(IfmDocument *document, IfmBlock *block, const char *name, const char *label,
                                  double measured_ns, double predicted_ns, double lower_ns, double upper_ns);
void ifm_document_diagonal(IfmDocument *document, IfmBlock *block, const char *name);

/** ifm_document_schema: (transfer full) the JSON Schema of what ifm_document_to_json() writes. */
json_t *ifm_document_schema(void);

/** ifm_field_unit: the base unit of values of a kind: "ns", "bytes", "bytes/s", "ratio"; "" where there is none. */
const char *ifm_field_unit(IfmFieldKind kind);

/* --- values and rows ------------------------------------------------------------------------------------------------ */

/** ifm_format_column: The texts of one column of numbers, set so that values end, and units begin, below each other.
 * @numbers: [n], NaN where there is none (its text is then NULL). @texts: (out) [n] */
void ifm_format_column(IfmFieldKind kind, const double *numbers, gsize n, char **texts);

/** ifm_format_value: One number as a column of one row has it. (transfer full) "-" for NaN. */
char *ifm_format_value(IfmFieldKind kind, double number);

/** ifm_field_get: one cell; clear it with ifm_value_clear(). */
void ifm_field_get(const IfmField *field, const void *record, IfmValue *value);
void ifm_value_clear(IfmValue *value);

/** ifm_field_get_ms: a getter, as those of report.h: a double in ns, in ms. */
void ifm_field_get_ms(const void *record, const void *user, IfmValue *value);

/** ifm_csv_append_header, ifm_csv_append_record: the lines of ifm_table_to_csv(), for more records than one would keep. */
void ifm_csv_append_header(GString *out, const IfmField *fields);
void ifm_csv_append_record(GString *out, const IfmField *fields, const void *record);

/** ifm_value_set_interval: @min, @max, @lower, @upper: NaN where there is none. Present where there is a median or an
 * interval. */
void ifm_value_set_interval(IfmValue *value, double min, double lower, double middle, double upper, double max);

/** ifm_pointers_to: (transfer full) to the elements of an array, as records of a table. */
GPtrArray *ifm_pointers_to(const GArray *array);
/** ifm_table_of: a table of these records, borrowed. */
IfmTable ifm_table_of(const IfmField *fields, const GPtrArray *records);
/** ifm_rows_to_json, ifm_rows_to_csv: of such a table. ifm_row_to_json: one object of it. (transfer full) */
json_t *ifm_rows_to_json(const IfmField *fields, const GPtrArray *records);
char *ifm_rows_to_csv(const IfmField *fields, const GPtrArray *records);
json_t *ifm_row_to_json(const IfmField *fields, const void *record);

/** ifm_real_append: The shortest digits that read back as the same number; nothing where it is not finite. */
void ifm_real_append(GString *out, double real);

/** ifm_fields_join: (transfer full) IfmField, zero-terminated: the columns of both. @first: or NULL */
GArray *ifm_fields_join(const IfmField *first, const IfmField *second);
/** ifm_fields_in: those of an array, for a table. */
const IfmField *ifm_fields_in(const GArray *fields);
/** ifm_json_text: (transfer full) a string; null for NULL. */
json_t *ifm_json_text(const char *text);
G_END_DECLS
