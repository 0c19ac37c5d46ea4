#pragma once
#include <inferometer/plan.h>

G_BEGIN_DECLS

/* --- one table, three printers ------------------------------------------------------------------------------------ */

/** IfmFieldKind: what a field's values are; decides how each printer writes them. Exports are always in base units. */
typedef enum
{
    IFM_FIELD_TEXT,     /* screen: left-aligned, may be shortened with an ellipsis where the table does not fit */
    IFM_FIELD_BOOLEAN,  /* screen: yes, no */
    IFM_FIELD_INTEGER,  /* screen: right-aligned */
    IFM_FIELD_REAL,     /* screen: four significant digits */
    IFM_FIELD_DURATION, /* ns; screen: four significant digits and their unit (ns, us, ms, s); 0 has none */
    IFM_FIELD_BYTES,    /* screen: B, KiB, MiB, GiB */
    IFM_FIELD_RATE,     /* bytes/s; screen: three significant digits in MB/s, MB = 2^20 bytes, which the title says */
    IFM_FIELD_RATIO,    /* 0.25; screen: 25.0 % */
    IFM_FIELD_BAR,      /* 0 to 1; screen: a bar of that length */
    IFM_FIELD_INTERVAL, /* five marks in ns; screen: drawn on one scale for all rows; exports: KEY_min … KEY_max */
} IfmFieldKind;

/** IfmTone: how a cell of text is coloured where there is colour. */
typedef enum
{
    IFM_TONE_PLAIN,
    IFM_TONE_GOOD,
    IFM_TONE_WARN,
    IFM_TONE_BAD,
    IFM_TONE_DIM,
} IfmTone;

/** IfmMark: what stands before a figure on screen. */
typedef enum
{
    IFM_MARK_NONE,
    IFM_MARK_ROUGH,   /* "~": known less well than was aimed at */
    IFM_MARK_UNKNOWN, /* "?": nobody knows how well */
} IfmMark;

/** IfmValue: one cell. Not present until one of the setters below was called. */
typedef struct
{
    gboolean present;
    const char *text;
    char *owned; /* freed by the printer */
    gint64 integer;
    double real;
    double marks[5]; /* min, lower, middle, upper, max */
    IfmTone tone;    /* may be set directly, as may */
    IfmMark mark;    /* of figures */
} IfmValue;

/** Setters. NULL, NaN and infinities stay "not present": "-" on screen, empty in CSV, null in JSON. */
void ifm_value_set_text(IfmValue *value, const char *text);
/** ifm_value_take_text: @text: (transfer full) */
void ifm_value_take_text(IfmValue *value, char *text);
void ifm_value_set_integer(IfmValue *value, gint64 integer);
void ifm_value_set_boolean(IfmValue *value, gboolean yes);
void ifm_value_set_real(IfmValue *value, double real);
/** ifm_value_set_interval: @min, @max, @lower, @upper: NaN where there is none. Present where there is a median or an
 * interval. */
void ifm_value_set_interval(IfmValue *value, double min, double lower, double middle, double upper, double max);

typedef enum
{
    IFM_FIELD_NO_EXPORT = 1 << 0, /* on screen alone */
    IFM_FIELD_NO_SCREEN = 1 << 1, /* in exports alone */
    IFM_FIELD_BREAK =
        1 << 2, /* where the table is too wide for the screen, a new block begins here rather than elsewhere */
    IFM_FIELD_HIDE_EMPTY = 1 << 3, /* not on screen where no record has a value */
    IFM_FIELD_WHOLE = 1 << 4,      /* a name: never shortened where it fits the screen by itself */
    IFM_FIELD_FOLD = 1 << 5,       /* on screen told once, above the table, where several records have all the same */
    IFM_FIELD_KEY = 1 << 6,        /* of the first fields: tells a record from the others; leads every block */
} IfmFieldFlags;

/** IfmField: one column. @key: its name in exports, stable. @get: reads it from a record. @user: handed to get. */
typedef struct
{
    const char *key;
    const char *title; /* on screen */
    IfmFieldKind kind;
    void (*get)(const void *record, const void *user, IfmValue *value);
    const void *user;
    guint flags;
} IfmField;

/** Getters of one member of a record that is a struct, which @user tells: IFM_FIELD_AT(STRUCT, MEMBER).
 * A const char *; the same, but "" is "not present", too; a gint64; a gsize; a double. */
void ifm_field_get_text(const void *record, const void *user, IfmValue *value);
void ifm_field_get_some_text(const void *record, const void *user, IfmValue *value);
void ifm_field_get_integer(const void *record, const void *user, IfmValue *value);
void ifm_field_get_count(const void *record, const void *user, IfmValue *value);
void ifm_field_get_real(const void *record, const void *user, IfmValue *value);
#define IFM_FIELD_AT(type, member) GSIZE_TO_POINTER(G_STRUCT_OFFSET(type, member))

/** IfmTable: @fields: its last row has a NULL key. @records: [n_records], whatever the getters understand. */
typedef struct
{
    const IfmField *fields;
    const void *const *records;
    gsize n_records;
} IfmTable;

/** IFM_SCREEN_UNBOUNDED: a width for what is read by programs or scrolled sideways: nothing is cut, wrapped or parted. */
#define IFM_SCREEN_UNBOUNDED 1000000

/** IfmScreen: where text goes. */
typedef struct
{
    int width;       /* columns */
    gboolean colour; /* a terminal that takes ANSI colours */
    gboolean utf8;   /* FALSE: strips, bars and ellipses in ASCII */
} IfmScreen;

/** ifm_screen_detect: The terminal's width, or IFM_SCREEN_UNBOUNDED where @fd is none (COLUMNS overrides both). Colour on a
 * terminal alone, and not with NO_COLOR set or TERM=dumb. UTF-8 as the locale says. */
IfmScreen ifm_screen_detect(int fd);

/** ifm_table_to_screen: Aligned columns; a table too wide goes on in further blocks that repeat the first column, and those
 * after it that are keys. Control characters and broken UTF-8 in values are escaped. (transfer full) */
char *ifm_table_to_screen(const IfmTable *table, const IfmScreen *screen);
/** ifm_table_to_csv: RFC 4180 with a header line; numbers in full and in base units, whatever the locale. (transfer full)
 */
char *ifm_table_to_csv(const IfmTable *table);
/** ifm_table_to_json: An array with one object a record. (transfer full) */
json_t *ifm_table_to_json(const IfmTable *table);

/* --- numbers for people ------------------------------------------------------------------------------------------- */

/** ifm_format_duration: "1.234 ms": four significant digits, a unit that keeps them short; "-" for NaN. (transfer full) */
char *ifm_format_duration(double ns);
/** ifm_format_ratio: 0.0123 gives "1.23 %". (transfer full) */
char *ifm_format_ratio(double ratio);
/** ifm_format_bytes: 2097152 gives "2.00 MiB". (transfer full) */
char *ifm_format_bytes(double bytes);
/** ifm_format_rate: of bytes/s, 2097152 gives "2.00": MB/s, MB = 2^20 bytes as in the published tables. (transfer full) */
char *ifm_format_rate(double bytes_per_s);
/** ifm_format_clean: text from outside made harmless on a terminal: control characters as \xHH, UTF-8 mended. (transfer
 * full) */
char *ifm_format_clean(const char *text);
/** ifm_format_spelt: clean text in letters that the screen has: ASCII where not UTF-8. (transfer full) */
char *ifm_format_spelt(const char *text, gboolean utf8);
/** ifm_text_width: columns a UTF-8 text takes on a terminal. */
int ifm_text_width(const char *text);
/** IFM_NO_BREAK: a blank where ifm_format_wrap() breaks no line. */
#define IFM_NO_BREAK "\u00a0"
/** ifm_format_wrap: Appends @text broken at blanks into lines of @width columns (colour codes take none), each after the
 * first indented, and a newline. @at: the column where the first begins. */
void ifm_format_wrap(GString *out, const char *text, int indent, int at, int width);
/** ifm_format_bar: A bar of @width columns filled to @ratio. (transfer full) */
char *ifm_format_bar(double ratio, int width, gboolean utf8);

/**
 * ifm_output_write: Writes all of it, or nothing: a file is replaced in one step once its bytes are on disk. What is no
 * regular file (a pipe, a device) is written to as it is; "-" is standard output.
 * Returns: FALSE with IFM_ERROR_UNAVAILABLE naming the file; IFM_ERROR_CANCELLED where a pipe's reader has gone.
 */
gboolean ifm_output_write(const char *path, const char *text, gsize length, GError **error);
/** ifm_output_write_json: the same for a document, indented, with a final newline. Reals keep all their digits. */
gboolean ifm_output_write_json(const char *path, const json_t *json, GError **error);

/* --- measurements ------------------------------------------------------------------------------------------------- */

/**
 * IfmResult: what became of one device: a case and its measurement, or why there is neither.
 * All borrowed. @subject_case, @measurement: NULL where it did not get that far; @code and @reason then say why.
 */
typedef struct
{
    const char *device, *alias;
    const IfmCase *subject_case;
    const IfmMeasurement *measurement;
    const char *code, *reason; /* NULL where measured */
    gboolean resumed;          /* from the store, not measured now */
} IfmResult;

/** ifm_result_reason: Returns: one line why there is no latency; NULL where there is one. */
const char *ifm_result_reason(const IfmResult *result);
/** ifm_result_code: Returns: the error code's name; NULL where there is a latency. */
const char *ifm_result_code(const IfmResult *result);

/** ifm_result_ending: Returns: in a word what the tables show: why measuring ended, or what went wrong instead. */
const char *ifm_result_ending(const IfmResult *result);

/** ifm_result_line: "DEVICE: why not"; only where there is no latency. (transfer full) */
char *ifm_result_line(const IfmResult *result);

/** Field tables; the records they read: */
extern const IfmField ifm_result_fields[]; /* IfmResult: what one profile shows */
extern const IfmField ifm_record_fields[]; /* IfmResult: what a store holds */
extern const IfmField ifm_sample_fields[]; /* IfmSampleRow */

/** IfmSampleRow: @index counts within its kind from 0. @kind: "warmup", "run", "profiled". */
typedef struct
{
    const IfmResult *result;
    const char *kind;
    gsize index;
    gint64 time_ns;
} IfmSampleRow;

/** ifm_records_to_screen: What a store holds: a row a measurement, and the reasons of what failed. (transfer full) */
char *ifm_records_to_screen(const IfmResult *results, gsize n_results, const IfmScreen *screen);
/** ifm_results_to_csv: one row a result. (transfer full) */
char *ifm_results_to_csv(const IfmResult *results, gsize n_results);
/** ifm_results_to_json: {"inferometer": {"version", "format": "cases", "format_version": 1}, "cases": […]}: whole
 * records. (transfer full) */
json_t *ifm_results_to_json(const IfmResult *results, gsize n_results);
/** ifm_samples_to_csv: one row a sample, warm-up included. (transfer full) */
char *ifm_samples_to_csv(const IfmResult *results, gsize n_results);

/* --- studies ------------------------------------------------------------------------------------------------------ */

extern const IfmField ifm_stage_row_fields[]; /* IfmStageRow */
extern const IfmField ifm_stage_fit_fields[]; /* IfmStageFit */
extern const IfmField ifm_link_fit_fields[];  /* IfmLinkFit */

/** Published formats, docs/formats.md: times in ms, MB = 2^20 bytes, keys "NODES,EDGES,ALIAS,STAGE" and "ALIAS_stageS".
 * Each has a key "_metadata" more: the devices behind the aliases, the study, how each figure was got. What cannot be said
 * is null. (transfer full) */
json_t *ifm_study_lookup_json(const IfmStudyTables *tables);
json_t *ifm_study_bandwidth_json(const IfmStudyTables *tables);
/** ifm_study_raw_json: every row with its samples, failures as such. @phase: 0: all */
json_t *ifm_study_raw_json(const IfmStudyTables *tables, int phase);

/** ifm_study_report: The whole story as text: configuration, devices, latencies, bandwidths, compute per stage and device,
 * links, lookup errors, what failed and why, time spent. (transfer full) */
char *ifm_study_report(const IfmStudyTables *tables, const IfmScreen *screen);
/** ifm_study_to_screen: What one wants to see first: devices, a table of stages by device at the largest size, what failed,
 * where the files are. (transfer full) */
char *ifm_study_to_screen(const IfmStudyTables *tables, const char *folder, const IfmScreen *screen);
/** ifm_study_warning: one line of how many latencies are known less well than was aimed at; NULL where none is. (transfer
 * full) */
char *ifm_study_warning(const IfmStudyTables *tables);
/** ifm_study_status_to_screen: For each device: done, failed, skipped, left. (transfer full) */
char *ifm_study_status_to_screen(const IfmStudyTables *tables, const IfmScreen *screen);

/** ifm_study_write: lookup_table.json, bandwidth_table.json, raw_measurements.json, checkpoint_cpugpu.json,
 * checkpoint_npu.json, profiling_report.txt and stages.csv into @folder, each in one step. */
gboolean ifm_study_write(const IfmStudyTables *tables, const char *folder, GError **error);

/* --- traces ------------------------------------------------------------------------------------------------------- */

/** ifm_trace_to_screen: What happened, as one wants it first: how fast, what each device did and why it was idle, the
 * blocks with the bottleneck marked, latencies, the critical path of a batch. (transfer full) */
char *ifm_trace_to_screen(const IfmTrace *trace, const IfmTraceAnalysis *analysis, const IfmScreen *screen);
/** ifm_trace_diff_to_screen: @differences: of ifm_trace_diff(). @a, @b: what the two are called. (transfer full) */
char *ifm_trace_diff_to_screen(const GPtrArray *differences, const char *a, const char *b, const IfmScreen *screen);
/** ifm_trace_events_to_csv: One row an event, with a header line, as a data frame reads it: times in ns, empty where there
 * is none. @traces: [n_traces]; their numbers, from 0, are the first column. (transfer full) */
char *ifm_trace_events_to_csv(const IfmTrace *const *traces, gsize n_traces);
/**
 * ifm_trace_timeline: For a terminal: time from left to right, a row for each device's stream, each block's host (what it
 * does, not what it waits for) and each thread of a foreign trace. A cell is filled as far as the track was busy in it; a
 * batch's number stands in an inference that has room for it. Several traces one below the other on one scale, each from
 * its own beginning.
 * @question: the window, on the clock of each trace; NULL: all of each    Returns: (transfer full)
 */
char *ifm_trace_timeline(const IfmTrace *const *traces, gsize n_traces, const IfmTraceQuestion *question,
                         const IfmScreen *screen);
/* --- plans and runs ----------------------------------------------------------------------------------------------- */

/**
 * ifm_prediction_to_json: What a plan is expected to do: its cost, and what simulating it came to, blocks and devices as
 * the analysis of that trace has them. Keys: docs/formats.md. (transfer full) NULL with the errors of ifm_trace_analyse().
 * @plan, @cost: of the simulated plan
 */
json_t *ifm_prediction_to_json(const IfmPlan *plan, const IfmPlanCost *cost, const IfmSimulation *simulation,
                               gsize n_batches, GError **error);
/** ifm_prediction_add: One stream, run plan after plan: its makespan is the sum of theirs. @total: an object, empty at
 * first    @part: (transfer full) of ifm_prediction_to_json() */
void ifm_prediction_add(json_t *total, json_t *part);

/** IfmPlanStory: what was found at one size. All borrowed. @prediction: of answer->plan, or NULL. @other: a plan that was
 * given to be compared, with its cost; or NULL */
typedef struct
{
    const char *model;
    gint64 nodes, edges;
    IfmObjective objective;
    const IfmCosts *costs;
    const IfmPlanAnswer *answer;
    const json_t *prediction;
    const IfmPlan *other;
    const IfmPlanCost *other_cost;
} IfmPlanStory;

/** ifm_plan_answer_to_screen: The plan, block by block; the best single device beside it; what was searched and how sure
 * it is. (transfer full) */
char *ifm_plan_answer_to_screen(const IfmPlanStory *story, const IfmScreen *screen);
/** ifm_plan_answer_to_json: ifm_plan_to_json() of the plan with "sizes", "objective", "cost", "certificate", "best",
 * "single", "prediction" beside it; ifm_plan_from_json() reads it. (transfer full) */
json_t *ifm_plan_answer_to_json(const IfmPlanStory *story);
/** ifm_plan_pareto_to_screen: @answers: of ifm_plan_pareto(). (transfer full) */
char *ifm_plan_pareto_to_screen(const GPtrArray *answers, const IfmScreen *screen);

/** IfmPlanLine: a plan and its cost, for comparing. @gain_ratio: of the objective, over the single device; NaN */
typedef struct
{
    const char *which; /* "plan", "best", "single", "given" */
    const IfmPlan *plan;
    const IfmPlanCost *cost;
    double gain_ratio;
} IfmPlanLine;
extern const IfmField ifm_plan_line_fields[]; /* IfmPlanLine */

/** IfmRunStory: a plan's run beside what was predicted. All borrowed. @title: "5000 nodes, 10000 edges". @prediction,
 * @trace and @analysis (of the last repetition): or NULL. @code, @reason: where there is no measurement */
typedef struct
{
    const char *title;
    const char *origin; /* how the plan came about, or NULL */
    const IfmPlan *plan;
    const json_t *prediction;
    const IfmCase *subject_case;
    const IfmMeasurement *measurement;
    const IfmTrace *trace;
    const IfmTraceAnalysis *analysis;
    const char *code, *reason;
} IfmRunStory;

/** IfmRunFigure: one figure, predicted and measured. @unit: "ns", "1/s", "ratio". @interval: of the measured, over
 * repetitions. NaN: not known. */
typedef struct
{
    char *key;
    const char *unit;
    double predicted, measured;
    IfmInterval interval;
} IfmRunFigure;
extern const IfmField ifm_run_figure_fields[]; /* IfmRunFigure */

/** ifm_run_has_figures: whether a repetition came to its end: else its reason is all there is to tell. */
gboolean ifm_run_has_figures(const IfmRunStory *story);
/** ifm_run_figures: (transfer full) IfmRunFigure*: makespan, throughput, batch latency, cycle, each block, each device. */
GPtrArray *ifm_run_figures(const IfmRunStory *story);
/** ifm_run_to_screen: Each run, and where there are several all of them in one table at the end. (transfer full) */
char *ifm_run_to_screen(const IfmRunStory *stories, gsize n, const IfmScreen *screen);
/** ifm_run_to_json: {"inferometer": {…, "format": "runs"}, "runs": [{"title", "plan", "prediction", "figures", "case",
 * "measurement", "trace"}]} (transfer full) */
json_t *ifm_run_to_json(const IfmRunStory *stories, gsize n);
/** ifm_run_batches_to_csv: A row a run and batch: the time in each block, the cycle, its bottleneck. (transfer full) */
char *ifm_run_batches_to_csv(const IfmRunStory *stories, gsize n);

G_END_DECLS
