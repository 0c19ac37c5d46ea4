#pragma once
#include <jansson.h>

#include <inferometer/statistics.h>

IFM_BEGIN_DECLS

/* --- the records that rooms hand to each other ------------------------------------------------------------------------ */

/**
 * IfmCase: one thing to measure. @key is the SHA-256 (hex) of the canonical JSON of everything that defines it (all fields
 * here but @key, @model_path and @alias; empty ones are left out), so equal cases have equal keys on every machine.
 */
typedef struct
{
    char *key;
    char *subject_kind;   /* "model", "stage", "kernel", "plan", "callback" */
    char *subject_name;   /* what people call it */
    char *subject_digest; /* SHA-256 of the model's bytes, or "" */
    char *model_path;     /* where it was then; not part of the key */
    char *device;         /* canonical device spec */
    char *alias;          /* the study's short name for it, or ""; not part of the key */
    json_t *sizes;        /* object: dimension name -> integer */
    json_t *options;      /* object: dtype, threads, vendor options, protocol (ci or warmup and runs), seed */
    json_t *load;         /* object, or null: the background load */
    json_t *environment;  /* object: machine id and engine version: what makes the same case another one elsewhere */
} IfmCase;

IfmCase *ifm_case_new(void);
void ifm_case_free(IfmCase *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmCase, ifm_case_free)
/** ifm_case_seal: Computes @key from the other fields. */
void ifm_case_seal(IfmCase *self);
json_t *ifm_case_to_json(const IfmCase *self);
/** ifm_case_from_json: Returns: (transfer full) NULL with IFM_ERROR_INVALID for a missing or unknown key or one of another
 * type, or IFM_ERROR_CORRUPT where the case's key is not that of the other fields. */
IfmCase *ifm_case_from_json(const json_t *json, GError **error);

/** IfmOutcome: what became of a case. Anything but OK carries a code and a reason and no latency. */
typedef enum
{
    IFM_OUTCOME_OK,
    IFM_OUTCOME_FAILED,  /* tried; error_code and reason say what happened */
    IFM_OUTCOME_SKIPPED, /* not tried; the reason says why (no such device here, lost before) */
} IfmOutcome;

/** ifm_outcome_name: Returns: "ok", "failed" or "skipped": what stores and exports hold. */
const char *ifm_outcome_name(IfmOutcome outcome);

/** IfmNodeRow: one node of the profiled runs. */
typedef struct
{
    char *name, *op_type, *provider, *implementation, *dtype;
    double median_ns; /* over the profiled runs */
    double start_ns;  /* median start since the inference began; NaN where the runtime does not report it */
} IfmNodeRow;

/**
 * IfmMeasurement: a case's samples and what was observed with them. All times are ns on the measuring clock.
 * JSON members are objects or NULL; their keys are listed in docs/formats.md.
 */
typedef struct
{
    char *uid; /* random, unique: what merging goes by */
    char *case_key;
    gint64 started_unix_ms; /* wall calendar time */
    IfmOutcome outcome;
    char *error_code;         /* ifm_error_code_name(), "" where OK */
    char *reason;             /* one line, "" where OK */
    char *stop_reason;        /* "fixed", "interval", "max-runs", "time-budget", "interrupted" */
    GArray *warmup_ns;        /* gint64, in order */
    GArray *samples_ns;       /* gint64, in order: wall time of each run */
    GArray *profiled_ns;      /* gint64: wall time of each profiled run; empty where there was none */
    GPtrArray *nodes;         /* IfmNodeRow* */
    gboolean has_summary;     /* none of one that was refused: all of it is then NaN */
    IfmSummary summary;       /* over samples_ns; of figures that were measured elsewhere n is 0 */
    json_t *result;           /* what its kind of case comes to besides samples: see the kind, and docs/formats.md */
    json_t *environment;      /* runtime, machine, clock, load, temperature, build, warnings */
    json_t *effective_config; /* what really ran */
    json_t *verification;     /* against which reference, tolerance, worst difference; or why not */
    json_t *breakdown;        /* of the profiled run: wall, nodes, gaps, copies, residual, bound; slow-down */
    json_t *memory;           /* engine's allocator, process RSS */
} IfmMeasurement;

/** ifm_measurement_set_summary: @summary: NULL: none */
void ifm_measurement_set_summary(IfmMeasurement *self, const IfmSummary *summary);
/** ifm_measurement_result: (transfer none) a member of its result, or of a member of it ("bound.gain"); @path: NULL: all of
 * it. NULL where there is none; @self may be NULL, too. */
const json_t *ifm_measurement_result(const IfmMeasurement *self, const char *path);
/** ifm_summary_to_json: NaN as null. (transfer full) */
json_t *ifm_summary_to_json(const IfmSummary *summary);
/** ifm_summary_figure: by its name in JSON, "p90" or "median_interval.lower"; a flag is 0 or 1. NaN where it is not known,
 * as all that comes of single samples is where n is 0. */
double ifm_summary_figure(const IfmSummary *summary, const char *name);

/** ifm_measurement_new: an OK one without samples, with a uid of its own, started now. */
IfmMeasurement *ifm_measurement_new(void);
void ifm_measurement_free(IfmMeasurement *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmMeasurement, ifm_measurement_free)
/** Whole and exact both ways: workers send measurements so, and `--json` prints them so. (What can be no JSON is not: text
 * that is not UTF-8 gets replacement characters, minus zero becomes zero.) A missing or unknown key, or one of another
 * type, is IFM_ERROR_INVALID with its place. */
json_t *ifm_measurement_to_json(const IfmMeasurement *self);
IfmMeasurement *ifm_measurement_from_json(const json_t *json, GError **error);
void ifm_node_row_free(IfmNodeRow *row);

/** ifm_record_set_text: Replaces a text of a record by a copy. @text: (optional) NULL becomes "" */
void ifm_record_set_text(char **field, const char *text);
/** ifm_record_set_json: Replaces an object of a record. @json: (transfer full) (optional) NULL is none */
void ifm_record_set_json(json_t **field, json_t *json);

/* --- the store -------------------------------------------------------------------------------------------------------- */

/** IfmStore: one SQLite file. Not for several threads at once; several processes may share a file (one writes at a time).
 */
typedef struct IfmStore IfmStore;

typedef enum
{
    IFM_STORE_READ,    /* must exist; its content is not changed; one in a folder without write permission is read, too */
    IFM_STORE_WRITE,   /* created (folders too) where it does not exist */
    IFM_STORE_SHARD,   /* WRITE with a rollback journal, for network file systems */
    IFM_STORE_SCRATCH, /* a new private one that is removed when it is closed: nothing waits for the disk */
} IfmStoreMode;

/**
 * ifm_store_open:
 * Returns: (transfer full) NULL with IFM_ERROR_UNAVAILABLE (no such file, read-only, locked by another process for longer
 * than 10 s), IFM_ERROR_CORRUPT or IFM_ERROR_INVALID (written by a newer version: says which; a SQLite file that is no
 * store, or no SQLite file; a scratch store where there is a file already).
 */
IfmStore *ifm_store_open(const char *path, IfmStoreMode mode, GError **error);
/** ifm_store_close: A store that this open made, and that nothing was committed to or merged into by anybody, is removed;
 * a document counts as content. A scratch store always is. */
void ifm_store_close(IfmStore *store);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmStore, ifm_store_close)

/** ifm_store_commit: Adds the case (if new) and the measurement, whole or not at all, on disk when it returns (but of a
 * scratch store). Adding the same uid twice changes nothing. Errors: IFM_ERROR_UNAVAILABLE (disk full, read-only, locked);
 * the store is as before. */
gboolean ifm_store_commit(IfmStore *store, const IfmCase *subject_case, const IfmMeasurement *measurement, GError **error);

/** ifm_store_case: Returns: (transfer full) the case of a key; NULL without @error where nothing of it was committed. */
IfmCase *ifm_store_case(IfmStore *store, const char *case_key, GError **error);

/** ifm_store_latest: Returns: (transfer full) the newest OK measurement of a case; NULL without @error where there is none.
 */
IfmMeasurement *ifm_store_latest(IfmStore *store, const char *case_key, GError **error);

/** ifm_store_last: Returns: (transfer full) what a case came to: its newest OK measurement, or where it has none the newest
 * of any outcome; NULL without @error where it was never tried. */
IfmMeasurement *ifm_store_last(IfmStore *store, const char *case_key, GError **error);

/** IfmStoreVisitor: Return FALSE to end early. Both records are borrowed. @measurement has its raw samples. It must not
 * call into the store. */
typedef gboolean (*IfmStoreVisitor)(const IfmCase *subject_case, const IfmMeasurement *measurement, void *user);
/** ifm_store_each: Visits every measurement, by case key, then start time. What others commit meanwhile is not seen. */
gboolean ifm_store_each(IfmStore *store, IfmStoreVisitor visit, void *user, GError **error);

/**
 * ifm_store_merge: Adds what @from has and @store has not (by uid), in one transaction. IFM_ERROR_CORRUPT, and nothing is
 * changed, where both have a uid and it is not the same measurement, or where @from holds one that is not whole.
 * @n_added: (out) (optional)
 */
gboolean ifm_store_merge(IfmStore *store, IfmStore *from, gsize *n_added, GError **error);

/** ifm_store_check: Runs SQLite's integrity and foreign-key checks and that every measurement and every document is whole.
 * IFM_ERROR_CORRUPT. */
gboolean ifm_store_check(IfmStore *store, GError **error);

IFM_END_DECLS
