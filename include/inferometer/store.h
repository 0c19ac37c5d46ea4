/* The SQLite file that keeps every measurement, and the results that are read from it. */
#pragma once
#include <jansson.h>

#include <inferometer/common.h>

IFM_BEGIN_DECLS

/* --- records ------------------------------------------------------------------------------------------------------- */

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

void ifm_case_free(IfmCase *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmCase, ifm_case_free)

/** IfmOutcome: what became of a case. Anything but OK carries a code and a reason and no latency. */
typedef enum
{
    IFM_OUTCOME_OK,
    IFM_OUTCOME_FAILED,  /* tried; error_code and reason say what happened */
    IFM_OUTCOME_SKIPPED, /* not tried; the reason says why (no such device here, lost before) */
} IfmOutcome;

/** ifm_outcome_name: Returns: "ok", "failed" or "skipped": what stores and exports hold. */
const char *ifm_outcome_name(IfmOutcome outcome);

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

/** ifm_summary_to_json: NaN as null. (transfer full) */
json_t *ifm_summary_to_json(const IfmSummary *summary);

/** ifm_measurement_new: an OK one without samples, with a uid of its own, started now. */
IfmMeasurement *ifm_measurement_new(void);
void ifm_measurement_free(IfmMeasurement *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmMeasurement, ifm_measurement_free)

/* --- the store ----------------------------------------------------------------------------------------------------- */

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

/** ifm_store_latest: Returns: (transfer full) the newest OK measurement of a case; NULL without @error where there is none.
 */
IfmMeasurement *ifm_store_latest(IfmStore *store, const char *case_key, GError **error);

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

/* --- results ------------------------------------------------------------------------------------------------------- */

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

/* --- what stores hold ---------------------------------------------------------------------------------------------- */

/* What stores hold, and how several differ. */

/** IfmStoredResults: measurements of stores with their cases, kept after the stores are closed. */
typedef struct IfmStoredResults IfmStoredResults;

/** ifm_stored_results_new: (transfer full) without any. @with_samples: keep runs and nodes, not the summaries alone */
IfmStoredResults *ifm_stored_results_new(gboolean with_samples);
void ifm_stored_results_free(IfmStoredResults *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmStoredResults, ifm_stored_results_free)

/** ifm_stored_results_add: all measurements of a store. FALSE with the errors of ifm_store_each(). */
gboolean ifm_stored_results_add(IfmStoredResults *self, IfmStore *store, GError **error);

/** ifm_stored_results: (transfer none) [n] in the order of their starts. */
const IfmResult *ifm_stored_results(const IfmStoredResults *self, gsize *n);

/** IfmReportedStore: @name: what it is called on the page. Both borrowed; the store stays open while the documents are. */
typedef struct
{
    const char *name;
    IfmStore *store;
} IfmReportedStore;

/**
 * ifm_stores_documents: An overview of the stores: what each holds, on which machines it was measured; of several also each
 * case that the first and another one have, with its change and whether the intervals tell the two apart. Cases are the
 * same where kind, name, device, sizes, options and load are, whatever the machine, the runtime's version and the protocol.
 * Then what each store holds: the report of its study, or its measurements.
 * Returns: (transfer full) IfmDocument*, the overview first. NULL with the errors of ifm_store_each() and of a study whose
 * records are not whole.
 */
GPtrArray *ifm_stores_documents(const IfmReportedStore *stores, gsize n, GError **error);

/* --- measurements -------------------------------------------------------------------------------------------------- */

/** ifm_results_to_csv: one row a result. (transfer full) */
char *ifm_results_to_csv(const IfmResult *results, gsize n_results);

/** ifm_results_to_json: {"inferometer": {"version", "format": "cases", "format_version": 1}, "cases": […]}: whole
 * records. (transfer full) */
json_t *ifm_results_to_json(const IfmResult *results, gsize n_results);

/** ifm_samples_to_csv: one row a sample, warm-up included. (transfer full) */
char *ifm_samples_to_csv(const IfmResult *results, gsize n_results);

IFM_END_DECLS
