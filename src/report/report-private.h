#pragma once
#include <inferometer/json.h>
#include <inferometer/report.h>

G_BEGIN_DECLS

#define MB 1048576.0 /* of the published formats */

/* ifm_format_column: The texts of one column of numbers, set so that values end, and units begin, below each other.
 * @numbers: [n], NaN where there is none (its text is then NULL). @texts: (out) [n] */
void ifm_format_column(IfmFieldKind kind, const double *numbers, gsize n, char **texts);

/* ifm_field_get: one cell; clear it with ifm_value_clear(). */
void ifm_field_get(const IfmField *field, const void *record, IfmValue *value);
void ifm_value_clear(IfmValue *value);

/* ifm_csv_append_header, ifm_csv_append_record: the lines of ifm_table_to_csv(), for more records than one would keep. */
void ifm_csv_append_header(GString *out, const IfmField *fields);
void ifm_csv_append_record(GString *out, const IfmField *fields, const void *record);

/* ifm_real_append: The shortest digits that read back as the same number; nothing where it is not finite. */
void ifm_real_append(GString *out, double real);

/* IfmScale: the common axis of a column of strips. */
typedef struct
{
    double low, high;
    gboolean logarithmic;
    gboolean clipped; /* some maximum lies beyond high */
} IfmScale;

/* ifm_scale_fit: @marks: [n] pointers to five marks each. FALSE where there is nothing to draw. */
gboolean ifm_scale_fit(IfmScale *scale, const double *const *marks, gsize n);
/* ifm_draw_strip: Appends exactly @width columns (colour codes aside). */
void ifm_draw_strip(GString *out, const IfmScale *scale, const double marks[5], int width, const IfmScreen *screen);
/* ifm_draw_axis: Appends the two ends of the scale, @width columns. */
void ifm_draw_axis(GString *out, const IfmScale *scale, int width, const IfmScreen *screen);

/* IfmPlotSeries: @y: [n] of its plot; what is not above 0 is not drawn. @utf8, @ascii: one column each */
typedef struct
{
    const char *utf8, *ascii;
    IfmTone tone;
    const double *y;
} IfmPlotSeries;

/* IfmPlot: durations over sizes. @names: [n] what the sizes are called, in ASCII */
typedef struct
{
    const double *x;
    const char *const *names;
    gsize n;
    const IfmPlotSeries *series; /* an earlier one stands before a later one */
    gsize n_series;
} IfmPlot;
/* ifm_draw_plot: Appends a plane of two logarithms. FALSE where fewer than two sizes have a point: nothing is drawn. */
gboolean ifm_draw_plot(GString *out, const IfmPlot *plot, const IfmScreen *screen);

/* ifm_tone_begin / ifm_tone_end: ANSI codes; "" without colour or for IFM_TONE_PLAIN. */
const char *ifm_tone_begin(const IfmScreen *screen, IfmTone tone);
const char *ifm_tone_end(const IfmScreen *screen, IfmTone tone);
const char *ifm_bold_begin(const IfmScreen *screen);
const char *ifm_bold_end(const IfmScreen *screen);

/* --- parts of pages ------------------------------------------------------------------------------------------------- */

/* ifm_page_spelt: Appends text in letters the screen has. */
void ifm_page_spelt(GString *out, const char *text, const IfmScreen *screen);
/* ifm_page_told: Appends "HEAD: text", in several lines where it is longer than the screen. */
void ifm_page_told(GString *out, const char *head, IfmTone tone, const char *text, const IfmScreen *screen);
/* ifm_page_table: Appends a table of the records. */
void ifm_page_table(GString *out, const IfmField *fields, const GPtrArray *records, const IfmScreen *screen);
/* ifm_page_heading: Appends an empty line and a bold one. ifm_page_wrapped: Appends a paragraph. */
void ifm_page_heading(GString *out, const char *text, const IfmScreen *screen);
void ifm_page_wrapped(GString *out, const char *text, const IfmScreen *screen);
/* ifm_page_title: Appends a paragraph that begins in bold. */
void ifm_page_title(GString *out, const char *title, const char *rest, const IfmScreen *screen);

/* --- plans and runs ------------------------------------------------------------------------------------------------- */

/* ifm_plan_block_name: "CPU+GPU" of block @number, from 1. (transfer full) */
char *ifm_plan_block_name(const IfmPlan *plan, int number);

/* --- studies -------------------------------------------------------------------------------------------------------- */

/* IfmRowState: what became of a row. */
typedef enum
{
    IFM_ROW_MEASURED,
    IFM_ROW_FAILED,
    IFM_ROW_SKIPPED, /* its device is not here, or was lost before */
    IFM_ROW_LEFT,    /* not tried yet */
    IFM_ROW_STATES,
} IfmRowState;
IfmRowState ifm_stage_row_state(const IfmStudyTables *tables, const IfmStageRow *row);
/* ifm_row_state_name: "measured", "failed", "skipped", "left". */
const char *ifm_row_state_name(IfmRowState state);
/* ifm_stage_row_listed: whether exports have a row for it: it was tried, or given up for its device. What an absent device
 * would have measured is told of once, with the device. */
gboolean ifm_stage_row_listed(const IfmStudyTables *tables, const IfmStageRow *row);
/* ifm_stage_row_count: ranges, too. @counts: (out) by state    @device: NULL for all    @phase: 0 for all */
void ifm_stage_row_count(const IfmStudyTables *tables, const IfmStudyDevice *device, int phase,
                         gsize counts[IFM_ROW_STATES]);
/* ifm_stage_row_reason: its reason without the device's name before it. */
const char *ifm_stage_row_reason(const IfmStageRow *row);

/* ifm_device_marked: "CPU", "NPU *": a simulated device's figures stand under a name with a mark. (transfer full) */
char *ifm_device_marked(const IfmStudyDevice *device);
/* ifm_stage_title: "3 REDUCE_SUM" (transfer full) */
char *ifm_stage_title(const IfmStudyTables *tables, int number);

/* Sections of pages, empty where there is nothing to tell. */
/* ifm_study_latencies: Stages by devices at the smallest (@sign -1; nothing where there is but one) or largest (1) size. */
void ifm_study_latencies(GString *out, const IfmStudyTables *tables, int sign, const IfmScreen *screen);
/* ifm_study_target: the half-width of an interval over its median that measuring aimed at. */
double ifm_study_target(const IfmStudyTables *tables);
/* ifm_stage_row_width: that half-width of a row; NaN where it has no interval. ifm_stage_row_mark: what it came to. */
double ifm_stage_row_width(const IfmStageRow *row);
IfmMark ifm_stage_row_mark(const IfmStudyTables *tables, const IfmStageRow *row);
/* ifm_study_precision_count: rows wider than aimed at, rows without an interval, and the widest half-width. */
void ifm_study_precision_count(const IfmStudyTables *tables, gsize *n_rough, gsize *n_unknown, double *widest);
/* ifm_study_mark_note: Appends a line that says what the marks stand for. @marks: by IfmMark, those to be told */
void ifm_study_mark_note(GString *out, const IfmStudyTables *tables, const gboolean marks[3], const IfmScreen *screen);
/* ifm_study_precision: Which latencies missed what was aimed at. */
void ifm_study_precision(GString *out, const IfmStudyTables *tables, const IfmScreen *screen);
/* ifm_study_has_stage: whether the study measures that stage at all. */
gboolean ifm_study_has_stage(const IfmStudyTables *tables, int stage);
/* ifm_study_contention: What devices lose beside others: in figures, and the @most largest losses. */
void ifm_study_contention(GString *out, const IfmStudyTables *tables, gsize most, const IfmScreen *screen);
/* ifm_study_ranges_csv: (transfer full) ranges, and what was measured beside others, as the columns of stages.csv and more.
 */
char *ifm_study_ranges_csv(const IfmStudyTables *tables);
/* ifm_study_count: rows and links, absent devices' apart.
 * @n_absent: (out) cases that nobody can measure here */
void ifm_study_count(const IfmStudyTables *tables, int phase, gsize counts[IFM_ROW_STATES], gsize *n_absent);
/* ifm_link_count: @counts: (out) cases of a link by state */
void ifm_link_count(const IfmLinkFit *link, gsize counts[IFM_ROW_STATES]);
/* ifm_study_lookup_errors: What leaving each size out came to. */
void ifm_study_lookup_errors(GString *out, const IfmStudyTables *tables, const IfmScreen *screen);
/* ifm_study_splits: Bandwidths and compute times. */
void ifm_study_splits(GString *out, const IfmStudyTables *tables, const IfmScreen *screen);
/* ifm_study_imported_bandwidth: (transfer none) "ALIAS_stageS" -> MB/s of a bandwidth_table.json that was read in; NULL:
 * none. */
const json_t *ifm_study_imported_bandwidth(const IfmStudyTables *tables);
/* ifm_study_failures: Appends what has no latency and why, alike cases told together. FALSE where there is none. */
gboolean ifm_study_failures(GString *out, const IfmStudyTables *tables, const IfmScreen *screen);

/* --- run-figures.c, run-lines.c, run-verdict.c ------------------------------------------------------------------------ */

/* What a run's document holds: the member surroundings.plan.KEY, its repetitions, the last of these; batches in one. */
const json_t *ifm_run_plan_member(const IfmRunStory *story, const char *key);
const json_t *ifm_run_repetitions(const IfmRunStory *story);
const json_t *ifm_run_last_repetition(const IfmRunStory *story);
double ifm_run_n_batches(const IfmRunStory *story);
/* ifm_run_over_repetitions: The median, and its interval where they are enough for one. @path: of a member in ns. */
double ifm_run_over_repetitions(const IfmRunStory *story, const char *path, IfmInterval *interval);
/* ifm_run_is_replanned: A device failed, perhaps while the run warmed up, and the run went on by another plan: what was
 * predicted is of the one that did not run to its end. ifm_run_prediction_of: what was predicted; NULL where replanned. */
gboolean ifm_run_is_replanned(const IfmRunStory *story);
const json_t *ifm_run_prediction_of(const IfmRunStory *story);
/* ifm_run_difference: measured / predicted - 1; ifm_run_get_difference: a field's getter of it, of an IfmRunFigure. */
double ifm_run_difference(const IfmRunFigure *figure);
void ifm_run_get_difference(const void *record, const void *user, IfmValue *value);

/** ifm_run_reason: borrowed: why it failed; NULL where it did not. */
const char *ifm_run_reason(const IfmRunStory *story);
/* ifm_run_line: one text, wrapped. ifm_run_lines: all but the verdict: bound, counters, replans, warnings. */
void ifm_run_line(GString *out, const char *text, int indent, const IfmScreen *screen);
void ifm_run_lines(GString *out, const IfmRunStory *story, const IfmScreen *screen);
/* ifm_run_outputs_word: what comparing the outputs came to. */
const char *ifm_run_outputs_word(const IfmRunStory *story, IfmTone *tone);
/* ifm_run_verdict: In one line what it came to. @figures: of ifm_run_figures() */
void ifm_run_verdict(GString *out, const IfmRunStory *story, const GPtrArray *figures, const IfmScreen *screen);

/* Of a prediction with a pilot: what became of it. @measured_ns: NaN where another plan ran in the end. (transfer full)
 * NULL where there was none. */
char *ifm_prediction_pilot_line(const json_t *prediction, double measured_ns);

G_END_DECLS
