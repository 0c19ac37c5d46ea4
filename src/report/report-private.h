#pragma once
#include <inferometer/compare.h>
#include <inferometer/plan.h>
#include <trace/trace.h>

#include "document-private.h"

G_BEGIN_DECLS

#define MB 1048576.0 /* of the published formats */

/* ifm_format_column: The texts of one column of numbers, set so that values end, and units begin, below each other.
 * @numbers: [n], NaN where there is none (its text is then NULL). @texts: (out) [n] */
void ifm_format_column(IfmFieldKind kind, const double *numbers, gsize n, char **texts);

/* ifm_format_value: One number as a column of one row has it. (transfer full) "-" for NaN. */
char *ifm_format_value(IfmFieldKind kind, double number);

/* ifm_field_get: one cell; clear it with ifm_value_clear(). */
void ifm_field_get(const IfmField *field, const void *record, IfmValue *value);
void ifm_value_clear(IfmValue *value);

/* ifm_field_get_ms: a getter, as those of report.h: a double in ns, in ms. */
void ifm_field_get_ms(const void *record, const void *user, IfmValue *value);

/* ifm_csv_append_header, ifm_csv_append_record: the lines of ifm_table_to_csv(), for more records than one would keep. */
void ifm_csv_append_header(GString *out, const IfmField *fields);
void ifm_csv_append_record(GString *out, const IfmField *fields, const void *record);

/* ifm_document_shared_core: A warning where two devices take turns on a core: what was measured of each alone says nothing
 * of both at once. @devices: (nullable) their specs    @consequence: "and do not work at once" */
void ifm_document_shared_core(IfmDocument *document, const char *const aliases[2], const char *const devices[2],
                              const char *consequence);

/* ifm_pointers_to: (transfer full) to the elements of an array, as records of a table. */
GPtrArray *ifm_pointers_to(const GArray *array);
/* ifm_table_of: a table of these records, borrowed. */
IfmTable ifm_table_of(const IfmField *fields, const GPtrArray *records);
/* ifm_rows_to_json, ifm_rows_to_csv: of such a table. ifm_row_to_json: one object of it. (transfer full) */
json_t *ifm_rows_to_json(const IfmField *fields, const GPtrArray *records);
char *ifm_rows_to_csv(const IfmField *fields, const GPtrArray *records);
json_t *ifm_row_to_json(const IfmField *fields, const void *record);

/* ifm_real_append: The shortest digits that read back as the same number; nothing where it is not finite. */
void ifm_real_append(GString *out, double real);

/* IfmScale: the common axis of a column of strips. */
typedef struct
{
    double low, high;
    gboolean logarithmic;
    gboolean clipped;  /* some maximum lies beyond high */
    IfmFieldKind kind; /* of its values */
} IfmScale;

/* ifm_table_show: as ifm_table_to_screen(). @is_brief: columns that are details make no further block; @left_out: (inout)
 * nullable: set where some are left out. (transfer full) */
char *ifm_table_show(const IfmTable *table, const IfmScreen *screen, gboolean is_brief, gboolean *left_out);

/* ifm_scale_fit: @marks: [n] pointers to five marks each. FALSE where there is nothing to draw. */
gboolean ifm_scale_fit(IfmScale *scale, const double *const *marks, gsize n);
/* ifm_draw_strip: Appends exactly @width columns (colour codes aside). */
void ifm_draw_strip(GString *out, const IfmScale *scale, const double marks[5], int width, const IfmScreen *screen);
/* ifm_draw_axis: Appends the two ends of the scale, @width columns. */
void ifm_draw_axis(GString *out, const IfmScale *scale, int width, const IfmScreen *screen);

/* ifm_draw_paragraph: Appends text in letters that the screen has, in lines of its width. */
void ifm_draw_paragraph(GString *out, const char *text, const IfmScreen *screen);
/* ifm_draw_scatter: Appends a plane of points under its title and legend; nothing where no two points have a place.
 * ifm_draw_timeline: Appends a row a series, under the names of their groups, and the axis. */
void ifm_draw_scatter(GString *out, const IfmFigure *figure, const IfmScreen *screen);
void ifm_draw_timeline(GString *out, const IfmFigure *figure, const IfmScreen *screen);

/* ifm_svg_append: A figure as SVG. @alone: a file of its own, on white; else a part of a page, in the page's colours. */
void ifm_svg_append(GString *out, const IfmFigure *figure, gboolean alone);

/* ifm_tone_name: "plain", "good", … ifm_mark_name: "rough", "unknown"; NULL for none. */
const char *ifm_tone_name(IfmTone tone);
const char *ifm_mark_name(IfmMark mark);
/* ifm_block_to_csv: (transfer full) a table or figure, as ifm_document_to_csv() has it. */
char *ifm_block_to_csv(const IfmBlock *block);

/* ifm_tone_begin / ifm_tone_end: ANSI codes; "" without colour or for IFM_TONE_PLAIN. */
const char *ifm_tone_begin(const IfmScreen *screen, IfmTone tone);
const char *ifm_tone_end(const IfmScreen *screen, IfmTone tone);
const char *ifm_bold_begin(const IfmScreen *screen);
const char *ifm_bold_end(const IfmScreen *screen);

/* --- results -------------------------------------------------------------------------------------------------------- */

/* ifm_fields_join: (transfer full) IfmField, zero-terminated: the columns of both. @first: or NULL */
GArray *ifm_fields_join(const IfmField *first, const IfmField *second);
/* ifm_fields_in: those of an array, for a table. */
const IfmField *ifm_fields_in(const GArray *fields);
/* ifm_json_text: (transfer full) a string; null for NULL. */
json_t *ifm_json_text(const char *text);
/* ifm_json_add_record: "case" and "measurement" of an object: each null for NULL. */
void ifm_json_add_record(json_t *json, const IfmCase *subject_case, const IfmMeasurement *measurement);
/* ifm_result_to_json: (transfer full) an entry of the document of cases. */
json_t *ifm_result_to_json(const IfmResult *result);

/* Details of a profile's page and of its scaling's, those that stay longest first. */
enum
{
    IFM_DETAIL_STARTS = 1, /* compile, first inference, peak memory, energy */
    IFM_DETAIL_GROWTH,
    IFM_DETAIL_KERNELS,
    IFM_DETAIL_GAINS,
    IFM_DETAIL_BREAKDOWN,
    IFM_DETAIL_PASSES, /* all passes of each point */
    IFM_DETAIL_FIGURES,
    IFM_DETAIL_ENCODING,
    IFM_DETAIL_GRAPH,
    IFM_DETAIL_FAMILIES,
    IFM_DETAIL_MEMORY,
    IFM_DETAIL_PEAKS,
    IFM_DETAIL_REMARKS, /* what only explains */
};

/* ifm_document_reasons: a section of why there are results without a latency. */
void ifm_document_reasons(IfmDocument *document, const IfmResult *results, gsize n);
/* Messages, each shown once with all that have it; alike are those that differ in their numbers alone. ifm_said_new:
 * (transfer full) an empty list. ifm_said_add: @who: identifies whose it is */
GPtrArray *ifm_said_new(void);
void ifm_said_add(GPtrArray *all, const char *text, const char *whose, const void *who);
/* ifm_said_add_warnings: those of a measurement. @measurement: borrowed, or NULL    @whose: what it is called    @who:
 * identifies it */
void ifm_said_add_warnings(GPtrArray *all, const IfmMeasurement *measurement, const char *whose, const void *who);
/* ifm_outputs_words: Returns: (transfer full) what comparing the outputs came to, and by how much, where "equal" does not
 * say all; NULL where it does, or nothing was compared. @verification: nullable */
char *ifm_outputs_words(const json_t *verification);

/* ifm_document_warnings: a section of them. @n_all: a warning of so many is shown without their names */
void ifm_document_warnings(IfmDocument *document, const GPtrArray *all, guint n_all);
/* ifm_document_said: a note of each, under the names of those that have it. */
void ifm_document_said(IfmDocument *document, const GPtrArray *all, IfmTone tone);

/* IfmLoadPrediction: of a model under a load, in words. */
typedef struct
{
    const char *model, *load;
    double predicted_ns;
} IfmLoadPrediction;
/* ifm_document_alike: Loads of one model with one prediction look like a mistake: a note says why. @predictions:
 * IfmLoadPrediction */
void ifm_document_alike(IfmDocument *document, const GArray *predictions);

/* --- traces --------------------------------------------------------------------------------------------------------- */

/* ifm_track_name: "CPU stream 0", or the thread's name. (transfer full) */
char *ifm_track_name(const IfmTrackInfo *info);

/* --- runs ----------------------------------------------------------------------------------------------------------- */

/* ifm_run_get_difference: a field's getter of ifm_run_difference(), of an IfmRunFigure. */
void ifm_run_get_difference(const void *record, const void *user, IfmValue *value);

/* ifm_run_reason: borrowed: why it failed; NULL where it did not. */
const char *ifm_run_reason(const IfmRunReport *report);

/* ifm_value_set_interval: @min, @max, @lower, @upper: NaN where there is none. Present where there is a median or an
 * interval. */
void ifm_value_set_interval(IfmValue *value, double min, double lower, double middle, double upper, double max);

/* Field tables; the records they read: */
extern const IfmField ifm_result_fields[]; /* IfmResult: what one profile shows */
extern const IfmField ifm_record_fields[]; /* IfmResult: what a store holds */
extern const IfmField ifm_sample_fields[]; /* IfmSampleRow */

extern const IfmField ifm_stage_row_fields[]; /* IfmStudyRow */
extern const IfmField ifm_stage_fit_fields[]; /* IfmStageFit */
extern const IfmField ifm_link_fit_fields[];  /* IfmLinkFit */

/* ifm_study_bandwidth_json: bandwidth_table.json, with the conventions of ifm_study_lookup_json(). (transfer full) */
json_t *ifm_study_bandwidth_json(const IfmStudyTables *tables);

/* ifm_study_raw_json: every row with its samples, failures as such. @phase: 0: all */
json_t *ifm_study_raw_json(const IfmStudyTables *tables, int phase);

/* ifm_study_warning: one line of how many latencies are known less well than was aimed at; NULL where none is. (transfer
 * full) */
char *ifm_study_warning(const IfmStudyTables *tables);

/* IfmPlanLine: a plan, for comparing. @gain_ratio: of the objective, over the single device; NaN */
typedef struct
{
    const char *which;
    const IfmPlanChoice *choice;
    double gain_ratio;
} IfmPlanLine;
extern const IfmField ifm_plan_line_fields[]; /* IfmPlanLine */

extern const IfmField ifm_run_figure_fields[]; /* IfmRunFigure */

/* ifm_study_points_to_json: (transfer full) docs/formats.md, "study points". ifm_study_points_to_csv: a row a point. */
json_t *ifm_study_points_to_json(const IfmStudyTables *points);
char *ifm_study_points_to_csv(const IfmStudyTables *points);

/* ifm_comparison_sentence: "B is 3.1 % slower than A [2.7, 3.6]": shares of A's time, or multiples of it where it is twice
 * or half that. (transfer full) */
char *ifm_comparison_sentence(const IfmComparison *comparison);

/* ifm_study_document: (transfer full) borrows @tables. @folder: of a summary: where its files are, or NULL */
IfmDocument *ifm_study_document(const IfmStudyTables *tables, IfmStudyPage page, const char *folder);

G_END_DECLS
