#pragma once
#include <inferometer/format.h>
#include <inferometer/result.h>
#include <inferometer/run.h>

IFM_BEGIN_DECLS

/* --- one table, three printers ------------------------------------------------------------------------------------ */

/** IfmFieldKind: what a field's values are; decides how each printer writes them. Exports are always in base units. */
typedef enum
{
    IFM_FIELD_TEXT,      /* screen: left-aligned, may be shortened with an ellipsis where the table does not fit */
    IFM_FIELD_BOOLEAN,   /* screen: yes, no */
    IFM_FIELD_INTEGER,   /* screen: right-aligned */
    IFM_FIELD_REAL,      /* screen: four significant digits */
    IFM_FIELD_DURATION,  /* ns; screen: four significant digits and their unit (ns, us, ms, s); 0 has none */
    IFM_FIELD_BYTES,     /* screen: B, KiB, MiB, GiB */
    IFM_FIELD_RATE,      /* bytes/s; screen: three significant digits in MB/s, MB = 2^20 bytes, which the title says */
    IFM_FIELD_RATIO,     /* 0.25; screen: 25.0 % */
    IFM_FIELD_BAR,       /* 0 to 1; screen: a bar of that length */
    IFM_FIELD_PRECISION, /* half an interval over the value: 0.25; screen: 25.0 %, "no interval" where it is no precision,
                            ifm_is_precision() */
    IFM_FIELD_INTERVAL,  /* five marks in ns; screen: drawn on one scale for all rows; exports: KEY_min … KEY_max */
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
    IFM_MARK_UNKNOWN, /* "?": it is unknown how well */
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

typedef enum
{
    IFM_FIELD_NO_EXPORT = 1 << 0, /* on screen alone */
    IFM_FIELD_NO_SCREEN = 1 << 1, /* in exports alone */
    IFM_FIELD_BREAK =
        1 << 2, /* where the table is too wide for the screen, a new block begins here rather than elsewhere */
    IFM_FIELD_HIDE_EMPTY = 1 << 3, /* not on screen where no record has a value */
    IFM_FIELD_WHOLE = 1 << 4,      /* a name: never shortened where it fits the screen by itself */
    IFM_FIELD_FOLD = 1 << 5,       /* on screen stated once, above the table, where all of several records have the same */
    IFM_FIELD_KEY = 1 << 6,        /* of the first fields: identifies a record; leads every block */
    IFM_FIELD_DETAIL = 1 << 7,     /* where a document is shortened to a screen's lines, not worth a further block */
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
    int min_width;   /* of a screen that has room for it, columns; 0: any */
    IfmFieldKind of; /* INTERVAL: what its marks are; 0: durations */
} IfmField;

/** Getters of one member of a record that is a struct, at the offset @user: IFM_FIELD_AT(STRUCT, MEMBER).
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

/** IfmScreen: where text goes. @lines: a document that is longer leaves out details, the least important first, and says
 * which; what is no detail is never left out. 0: all is shown. */
typedef struct
{
    int width;       /* columns */
    gboolean colour; /* a terminal that takes ANSI colours */
    gboolean utf8;   /* FALSE: strips, bars and ellipses in ASCII */
    int lines;
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
/** ifm_json_begin: Returns: (transfer full) {"inferometer": {"version", "format", "format_version"}}: how a file begins. */
json_t *ifm_json_begin(const char *format, int format_version);

/* --- drawing ------------------------------------------------------------------------------------------------------ */

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

/** Published formats, docs/formats.md: times in ms, MB = 2^20 bytes, keys "NODES,EDGES,ALIAS,STAGE" and "ALIAS_stageS".
 * Each has a key "_metadata" more: the devices behind the aliases, the study, how each figure was got. What cannot be said
 * is null. (transfer full) */
json_t *ifm_study_lookup_json(const IfmStudyTables *tables);

/** ifm_study_write: lookup_table.json, bandwidth_table.json, raw_measurements.json, checkpoint_cpugpu.json,
 * checkpoint_npu.json, profiling_report.txt and stages.csv into @folder, each in one step. */
gboolean ifm_study_write(const IfmStudyTables *tables, const char *folder, GError **error);

/* --- traces ------------------------------------------------------------------------------------------------------- */

/** ifm_trace_events_to_csv: One row an event, with a header line, as a data frame reads it: times in ns, empty where there
 * is none. @traces: [n_traces]; their numbers, from 0, are the first column. (transfer full) */
char *ifm_trace_events_to_csv(const IfmTrace *const *traces, gsize n_traces);
/** ifm_trace_differences_to_json: (transfer full) [{"key", "unit", "a", "b", "ratio"}]. @differences: of ifm_trace_diff()
 */
json_t *ifm_trace_differences_to_json(const GPtrArray *differences);

/* --- plans and runs ----------------------------------------------------------------------------------------------- */

/** ifm_run_to_json: {"inferometer": {…, "format": "runs"}, "runs": [{"title", "plan", "prediction", "figures", "case",
 * "measurement", "trace"}]} (transfer full) */
json_t *ifm_run_to_json(const IfmRunReport *reports, gsize n);
/** ifm_run_batches_to_csv: A row a run and batch: the time in each block, the cycle, its bottleneck. (transfer full) */
char *ifm_run_batches_to_csv(const IfmRunReport *reports, gsize n);

IFM_END_DECLS
