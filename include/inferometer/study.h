/* Studies: many cases from one YAML file, measured, continued, merged, looked up and submitted to a cluster. */
#pragma once
#include <jansson.h>

#include <inferometer/document.h>
#include <inferometer/measure.h>

IFM_BEGIN_DECLS

/* --- what is to be measured ---------------------------------------------------------------------------------------- */

typedef struct IfmStudy IfmStudy;

/** IfmStudyForm: of a device's models; static ones are measured in phase 2, so that what cannot run them costs nothing. */
typedef enum
{
    IFM_STUDY_DYNAMIC,
    IFM_STUDY_STATIC,
} IfmStudyForm;

/** IfmStudyDevice: an alias and what is behind it. */
typedef struct
{
    char *alias;  /* "NPU" */
    char *device; /* canonical spec: "simulated:meteor-lake/NPU" */
    IfmStudyForm form;
    int phase; /* 1: dynamic, 2: static */
    gboolean simulated;
    char *description;   /* the hardware's name; NULL until it was looked for, and where it is not here */
    char *reason;        /* why it is skipped; NULL where it is not */
    gboolean is_refused; /* … since a model, a size or an input of the study is wrong: no matter of the device */
    gboolean asked;      /* by ifm_study_set_device(): a unit that its engine does not know is a slip, not an absent one */
    guint32 not_stages;  /* bit s - 1: stage s was declared not to be for it; has no case, neither alone nor in a range */
    double peak_flop_per_s;  /* of a large matrix product, in studies that compare with it; 0: not known */
    double peak_bytes_per_s; /* of a triad over memory, there; 0: not known */
} IfmStudyDevice;

/** IfmStudyCase: one row of the span: a stage or a range of them on a device at a size, alone or while others do the same,
 * (@to set) a link between two, or (@axes set) a point of a kind without stages. */
typedef struct
{
    /* "NPU stage 3 REDUCE_SUM, 1000 nodes, 5000 edges", "CPU > NPU, 2000000 bytes",
     * "CPU stages 1-3, 1000 nodes, 5000 edges, with background load on GPU + NPU" */
    char *title;
    char *key; /* of its sealed case; NULL until sealed, and for a device that is not here */
    int phase; /* 1, 2; what takes several devices comes with the phase of the latest */
    char *alias, *to;
    int stage;           /* the first; 0: a link or a point */
    int last;            /* the last of a range, fused; equals stage where it is one */
    char *busy;          /* aliases of the devices that work meanwhile, sorted, with "+" between them; NULL: none */
    gint64 nodes, edges; /* of stages */
    gint64 bytes;        /* of a link */
    json_t *axes;        /* of a point: object: axis -> text or number; what tables lead with. Else NULL */
    double items;        /* of a point: what one inference takes in: images; 0: unknown */
    double flop;         /* of an inference; 0: unknown */
    char *refused;       /* why a point cannot even be tried; NULL */
} IfmStudyCase;

/**
 * ifm_study_open: Reads a study. @name: a path (with a slash or ".yaml"), or the name of a shipped one: "gnn-stages".
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID "FILE:LINE: ..." (nearest key or word named; a list of cases that
 * spans nothing; a size twice; a device whose spec is wrong) or IFM_ERROR_UNAVAILABLE naming the studies there are.
 */
IfmStudy *ifm_study_open(const char *name, GError **error);

void ifm_study_free(IfmStudy *study);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmStudy, ifm_study_free)

/** IfmStudyInfo: what its file says. All borrowed from the study; @devices until a device is set. @limits: for
 * IfmStudyOptions. @staged: NULL for a study of another kind than stages. */
typedef struct
{
    const char *name, *title;
    const IfmStagedModel *staged;
    const GPtrArray *devices; /* IfmStudyDevice* */
    const GPtrArray *sizes;   /* IfmStudySize* */
    const IfmProtocol *protocol;
    const IfmLimits *limits;
    gboolean spans_by_run; /* its cases are known only once a runtime was asked: ifm_study_cases() asks it */
} IfmStudyInfo;
IfmStudyInfo ifm_study_info(const IfmStudy *study);

/** ifm_study_names: the shipped ones. (transfer full) NULL-terminated, sorted. */
char **ifm_study_names(void);

/** ifm_study_set_device: "ALIAS=DEVICE": puts another device behind an alias, or adds one (static where its unit is an NPU,
 * else dynamic). FALSE with IFM_ERROR_INVALID: no alias, a wrong spec, an unknown engine. */
gboolean ifm_study_set_device(IfmStudy *study, const char *text, GError **error);
void ifm_study_set_protocol(IfmStudy *study, const IfmProtocol *protocol);

/** ifm_study_cases: the span, in the order it is measured: IfmStudyCase*, borrowed; good until a device is set. Sizes in
 * the file's order, at each the stages and then the ranges, at each the devices, at each alone and then under load by the
 * others: neighbours in time are those that get compared. A phase begins with its links. */
const GPtrArray *ifm_study_cases(IfmStudy *study);

/* --- doing it ------------------------------------------------------------------------------------------------------ */

typedef struct
{
    const char *folder;
    IfmLimits limits;
    gboolean retry;         /* also measure again what failed, and what a loss left untried twice */
    gint64 attempts;        /* at a case that fails, each committed; 0: one */
    gint64 time_budget_ns;  /* of the whole study: no case begins after it; 0: no limit */
    IfmCampaignOrder order; /* of the cases of a phase */
    const gint *interrupted;
    gsize shard, n_shards; /* part of the cases, as IfmCampaignOptions has it; 0 of 0: all */
    /* progress: at most about 5 times a second, and at the end of each case (ended: what it came to, else NULL). Its items'
     * tags are IfmStudyCase. */
    void (*progress)(const IfmCampaignProgress *progress, const IfmMeasurement *ended, void *user);
    /* phase_done: all of a phase's cases have ended; its tables are complete. FALSE ends the study with the error. */
    gboolean (*phase_done)(IfmStudy *study, IfmStore *store, int phase, void *user, GError **error);
    void *user;
} IfmStudyOptions;

/** ifm_study_options: the rows of IfmStudyOptions, from `retry` to `order`. */
extern const IfmOption ifm_study_options[];

/** ifm_study_export: Writes the models and inputs of every device, here or not. @n_models: (out) (optional) how many there
 * are. What is there already with the same bytes is left alone. */
gboolean ifm_study_export(IfmStudy *study, const char *folder, gsize *n_models, GError **error);

/**
 * ifm_study_measure: Looks for the devices; then, phase by phase, exports what those here need, seals the cases, writes the
 * manifest, measures what the store has not. A device that is not here, or whose models cannot be written or cases not be
 * sealed, is recorded as skipped, with the reason, in the manifest; what was measured on it earlier by the same protocol on
 * this machine stays. What failed is left as it is unless `retry`; what was skipped because its device was lost is tried
 * again in one later session in which the device answers a probe. One run at a time holds the store's folder.
 * Returns: FALSE with IFM_ERROR_CANCELLED where interrupted and IFM_ERROR_TIMEOUT where the time budget is spent (what was
 * measured is stored), IFM_ERROR_USAGE (a value that ifm_study_options refuses), IFM_ERROR_UNAVAILABLE (no worker, the
 * store cannot be written, another process measures there), IFM_ERROR_INVALID (the store of another study; a device that
 * was asked for whose engine knows no such unit; cores that are not there).
 */
gboolean ifm_study_measure(IfmStudy *study, IfmStore *store, const IfmStudyOptions *options, IfmCampaignProgress *result,
                           GError **error);

/* --- latency between measured sizes -------------------------------------------------------------------------------- */

/** IfmLookupError: leave-one-out errors over the points. Points that need extrapolation are counted apart. Quantiles
 * are of |error_ratio|; NaN without such a point. */
typedef struct
{
    gsize n_interpolated, n_extrapolated;
    double median_ratio, p90_ratio, max_ratio;                /* of the interpolated */
    double extrapolated_median_ratio, extrapolated_max_ratio; /* of the others */
} IfmLookupError;

/* --- latency against data size ------------------------------------------------------------------------------------- */

/**
 * IfmBandwidthFit: a straight line through latencies over data sizes. Its slope is read as a transfer, its intercept as
 * the rest. Compute grows with the size, too: the result is an estimate by regression, not a measurement of a transfer.
 */
typedef struct
{
    gsize n;
    double slope_ns_per_byte, intercept_ns;
    IfmInterval slope_interval, intercept_interval; /* Student's t, n - 2 degrees of freedom */
    double r_squared;                               /* 0 where the latencies do not vary */
    double residual_std_ns;                         /* with n - 2 degrees of freedom */
    gboolean identifiable;                          /* the slope and its whole interval are above 0 */
    char why[160];                                  /* if not identifiable, the reason in one line; else "" */
    double bytes_per_s;                             /* 1e9 / slope; NaN where not identifiable */
    IfmInterval bytes_per_s_interval;
} IfmBandwidthFit;

/* --- what came of it ----------------------------------------------------------------------------------------------- */

/** IfmStageFit: one stage on one device over all sizes. */
typedef struct
{
    const IfmStudyDevice *device;
    int stage;
    gboolean fitted; /* else @why: too few sizes */
    char *why;
    IfmBandwidthFit bandwidth; /* over table_bytes */
    gsize n_rows, n_split;     /* rows with a latency; of these, rows with a split */
    gboolean has_lookup;       /* @lookup_error stands */
    IfmLookupError lookup_error;
} IfmStageFit;

/** IfmStudyTables: a study, read from its store alone: everything that pages, exports and a planner need. */
typedef struct
{
    char *name, *title, *kind;
    const IfmStagedModel *staged; /* NULL: of a kind without stages, which has no ranges, fits and links */
    IfmStageSizes sizes;          /* features, hidden */
    GPtrArray *axes;              /* char*: names of those of points, in the order of the file */
    json_t *definition;           /* what the study's file says of its axes, as the manifest has it */
    gboolean imported;
    json_t *bandwidth;   /* "ALIAS_stageS" -> MB/s of a bandwidth_table.json that was imported; NULL: none */
    GPtrArray *devices;  /* IfmStudyDevice* */
    GPtrArray *rows;     /* IfmStudyRow*, in the order of the manifest: single stages alone, or points */
    GPtrArray *ranges;   /* IfmStudyRow*: ranges of several stages, and whatever was measured while others were busy */
    GPtrArray *fits;     /* IfmStageFit*, by device, then stage */
    GPtrArray *links;    /* IfmLinkFit* */
    gint64 spent_ns;     /* measuring, all sessions together */
    gint64 last_unix_ms; /* when the newest measurement began; 0 where there is none */
} IfmStudyTables;

/** ifm_study_tables: Latencies that those of other sizes contradict are none: their rows have the code "implausible" and
 * the reason, and keep what was measured. Of two that contradict each other alone both count, with their doubt.
 * @study: (nullable) over its span as it is now: a size that is new since the last run has rows that were never tried, one
 * that is gone has none. Devices that the last run was asked for stay, and are set in @study. NULL: over that of the last
 * run    Returns: (transfer full) NULL with IFM_ERROR_INVALID (a store that holds no study, or another), or
 * IFM_ERROR_CORRUPT. */
IfmStudyTables *ifm_study_tables(IfmStudy *study, IfmStore *store, GError **error);
/** ifm_study_tables_check_stages: FALSE with IFM_ERROR_INVALID for a study of points. @store: what it was read from */
gboolean ifm_study_tables_check_stages(const IfmStudyTables *tables, IfmStore *store, GError **error);
void ifm_study_tables_free(IfmStudyTables *tables);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmStudyTables, ifm_study_tables_free)

/** IfmLookup: latencies of one thing on one device over nodes and edges. Immutable: threads may share it. */
typedef struct IfmLookup IfmLookup;

/** ifm_study_tables_lookup: (transfer full) a device's stage as a function of sizes; NULL with IFM_ERROR_INVALID for an
 * unknown alias or a stage without a latency. */
IfmLookup *ifm_study_tables_lookup(const IfmStudyTables *tables, const char *alias, int stage, GError **error);

/** IfmStudyImported: rows of files that were read, and what became of them: the other counts add up to the first.
 * @n_there: the store had them    @n_repeated: another row of the files is the same case    @n_left_out: points that were
 * not measured there either */
typedef struct
{
    gsize n_read, n_imported, n_there, n_repeated, n_left_out;
} IfmStudyImported;

/**
 * ifm_study_import: Reads tables measured elsewhere into a store, as a study of their own: lookup_table.json,
 * raw_measurements.json, checkpoint_*.json, bandwidth_table.json (kept next to the fits), or CSV with the columns device,
 * stage, nodes, edges, latency_ms, std_ms, compute_ms, transfer_ms, flag. A total must be above 0; compute, transfer and
 * std may be null; a row with a flag comes in as failed, with the flag as its reason. Our own files say what they are of
 * (features, hidden, which devices are simulated), and that is kept. The points.csv of a study of points comes in as such
 * a study; its rows that were not measured are left out.
 * @paths: NULL-terminated    @sizes: features and hidden of what was measured; 0: what the files say, else what the store
 * says, else 500 and 256    @replace: a row takes the place of one that is there, in the store or an earlier file; else two
 * that differ are an error    @counts: (out) (optional)
 * Returns: FALSE with IFM_ERROR_INVALID "FILE: KEY: ..." or "FILE:LINE: ...", and nothing is changed; also where the store
 * is another study's, the name that of a shipped study, or files contradict @sizes or each other.
 */
gboolean ifm_study_import(const char *const *paths, const char *name, const IfmStageSizes *sizes, gboolean replace,
                          IfmStore *store, IfmStudyImported *counts, GError **error);

/* --- where a study is kept ----------------------------------------------------------------------------------------- */

/** IfmStudyPlace: what a name of a study means, and where its results are. */
typedef struct
{
    IfmStudy *study; /* NULL where only its results are there: imported ones, or a folder was named */
    char *folder, *store_path;
    const char *const
        *settings; /* (nullable) borrowed; for ifm_study_open_set(), to be set before ifm_study_place_init() */
    char *missing; /* the first part of @folder that was not there; NULL where all of it was */
} IfmStudyPlace;

/**
 * ifm_study_place_init: For what needs the study itself. Nothing is made.
 * @name: a shipped study's name, its file, or a folder with results of a shipped one
 * @folder: (nullable) where its results are or will be; without it the folder that was named, else out/NAME
 * Returns: FALSE with the errors of ifm_study_open(), or IFM_ERROR_INVALID for a folder without results of a shipped study.
 */
gboolean ifm_study_place_init(IfmStudyPlace *place, const char *name, const char *folder, GError **error);

/** ifm_study_place_find: For what needs the results alone: any folder with results, or the name of one in out/, will do,
 * too. */
gboolean ifm_study_place_find(IfmStudyPlace *place, const char *name, const char *folder, GError **error);
void ifm_study_place_clear(IfmStudyPlace *place);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmStudyPlace, ifm_study_place_clear)

/** ifm_study_place_set_folder: @folder: (transfer full) */
void ifm_study_place_set_folder(IfmStudyPlace *place, char *folder);

/** ifm_study_place_tidy: Removes the folders that were made on the way to nothing: those without anything in them. */
void ifm_study_place_tidy(const IfmStudyPlace *place);

/** ifm_study_place_open: the store that is there already; NULL with an error also where it is another study's. */
IfmStore *ifm_study_place_open(const IfmStudyPlace *place, IfmStoreMode mode, GError **error);

/** ifm_study_place_check: FALSE with an error where a store that is there already is not this study's; none is fine. */
gboolean ifm_study_place_check(const IfmStudyPlace *place, GError **error);

/** ifm_study_place_begun: whether a store holds a study. */
gboolean ifm_study_place_begun(IfmStore *store);

/* --- on a cluster -------------------------------------------------------------------------------------------------- */

/*
 * A study on a cluster: a job array of Slurm, whose tasks are the study's shards (IfmStudyOptions.shard). All is in the
 * study's folder, which every node must see under the same path:
 *
 *     FOLDER/shard-I-of-N.out                    what task I printed
 *     FOLDER/cluster/submission.json             what was submitted: shards, jobs
 *     FOLDER/cluster/job.sh                      the script of the last job array
 *     FOLDER/cluster/shard-I-of-N/store.db       the store of shard I
 *
 * The stores are the truth: the queue only states where a task runs or why it waits. No accounting database is needed.
 */

/** IfmClusterOptions: what a job array is submitted with. */
typedef struct
{
    gboolean slurm;      /* names the scheduler; needed for a first submission */
    gint64 n_shards;     /* IFM_OPTION_UNSET: those of the first submission */
    gboolean missing;    /* submits the shards that have cases without a result and no task in the queue */
    gboolean dry_run;    /* writes the script and submits nothing */
    const char *cluster; /* YAML file that describes the cluster; see docs/cluster.md */
    const char *gpu;     /* a name under `gpus` of that file: partition, constraint and gres of such nodes */
    const char *partition;
    const char *constraint;
    const char *gres;
    const char *account;
    const char *qos;
    gint64 time_ns;           /* limit of a task; IFM_OPTION_UNSET: the partition's */
    gint64 memory_bytes;      /* of a node; IFM_OPTION_UNSET: the partition's */
    gint64 cpus_per_task;     /* IFM_OPTION_UNSET: 1 */
    gboolean exclusive;       /* no other job on the node */
    const char *const *extra; /* further options of sbatch, "--reservation=bench" */
    const char *program;      /* the command on the nodes; NULL: that of the cluster's file, else this one */
    /* Not rows. @study: what `inferometer study run` calls the study: a shipped name or a file. @arguments: its further
     * words, such as "--runs", "50"; with `missing` they are added to those of the first submission. */
    const char *study;
    const char *const *arguments;
} IfmClusterOptions;

/** ifm_cluster_options: the rows, from `slurm` to `program`. */
extern const IfmOption ifm_cluster_options[];

/** IfmClusterJob: a job array that was submitted. */
typedef struct
{
    char *id;       /* NULL: nothing was submitted */
    char *script;   /* the path of its script */
    gsize n_tasks;  /* 0: there was nothing to submit */
    gsize n_shards; /* of the study */
} IfmClusterJob;
void ifm_cluster_job_clear(IfmClusterJob *job);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmClusterJob, ifm_cluster_job_clear)

/**
 * ifm_cluster_submit: Writes the script of a job array and submits it with `sbatch --parsable`.
 * @study: with its devices set; NULL with `missing` alone    @folder: the study's
 * Returns: FALSE with IFM_ERROR_USAGE (a value that the rows refuse), IFM_ERROR_INVALID (more shards than cases; a
 * partition, constraint or GPU that the cluster's file does not have; a study that was submitted already),
 * IFM_ERROR_UNAVAILABLE (no Slurm; another process submits the study), IFM_ERROR_FAILED with the line of an sbatch that
 * refused. Nothing is recorded then.
 */
gboolean ifm_cluster_submit(IfmStudy *study, const char *folder, const IfmClusterOptions *options, IfmClusterJob *job,
                            GError **error);

/** IfmCaseCounts: cases with a latency, whose algorithm does not support the model, failed, of devices that were not there,
 * and without any result. */
typedef struct
{
    gint64 n_cases, n_done, n_unsupported, n_failed, n_unavailable, n_missing;
} IfmCaseCounts;

/** IfmCombinationStatus: the cases of one combination, such as a model with an algorithm, over all sizes and shards. */
typedef struct
{
    char *name;                /* "CPU resnet18, winograd" */
    gsize n_queued, n_running; /* of the missing ones, those of shards that have a task in the queue */
    IfmCaseCounts counts;
} IfmCombinationStatus;

/** IfmShardStatus: one shard: its task in the queue, and its store. */
typedef struct
{
    gsize number;
    char *state; /* "running", "queued", …: its task's; without one "done", "failed", "missing", "unavailable" */
    char *where; /* the node it runs on, or why it waits; NULL */
    char *job;   /* "12_3"; NULL where no task is in the queue */
    char *log;   /* path of what its tasks printed */
    char *why;   /* why its store cannot be read; NULL where it can, or is not there yet */
    gboolean queued;
    IfmCaseCounts counts;
} IfmShardStatus;

/** IfmClusterStatus: all shards of a submission. */
typedef struct
{
    char *name;              /* the study's */
    GPtrArray *shards;       /* IfmShardStatus* */
    GPtrArray *combinations; /* IfmCombinationStatus*, in the order of the cases; none before a shard has a store, and in
                              * studies of stages */
    char *queue_unknown;     /* why the queue could not be asked, one line; NULL where it was */
} IfmClusterStatus;

/** ifm_cluster_is_submitted: whether a study's folder holds a submission. */
gboolean ifm_cluster_is_submitted(const char *folder);

/** ifm_cluster_status: (transfer full) NULL with an error where the submission cannot be read. */
IfmClusterStatus *ifm_cluster_status(const char *folder, GError **error);
void ifm_cluster_status_free(IfmClusterStatus *status);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmClusterStatus, ifm_cluster_status_free)

/** IfmStudyMerge: what a merge came to. */
typedef struct
{
    gsize n_shards; /* merged: those with a store */
    gsize n_of;     /* how many the study was divided into */
    gsize n_cases, n_done, n_missing;
} IfmStudyMerge;

/**
 * ifm_study_merge: Puts the stores of a study's shards into FOLDER/store.db, in one transaction. Each case comes from the
 * shard that it belongs to; a case that FOLDER/store.db has already is not added again. Merging twice changes nothing.
 * @study: (nullable) whose shards they must be
 * @shards: (nullable) their folders, NULL-terminated; NULL: those of the submission in @folder
 * Returns: FALSE with IFM_ERROR_INVALID (shards of different studies or divisions, of different versions of the program or
 * of the store's schema; a store that is no shard's; the store of another study in @folder), IFM_ERROR_UNAVAILABLE (no
 * shard has a store), IFM_ERROR_CORRUPT. FOLDER/store.db is then unchanged.
 */
gboolean ifm_study_merge(IfmStudy *study, const char *folder, const char *const *shards, IfmStudyMerge *merge,
                         GError **error);

/* --- pages of studies ---------------------------------------------------------------------------------------------- */

/* What a study of any kind came to, as its files and pages: tables of stages, or points. */

/** IfmStudyResults: @warning: one line, or NULL. @n_refused: how many cases of devices that are
 * here could not even be tried. @n_incapable: how many ended because their algorithm cannot do
 * a layer: they count as done. @reasons: the file that says why a case has no latency: "profiling_report.txt". */
typedef struct
{
    IfmStudyTables *tables;
    char *warning;
    gsize n_refused, n_incapable;
    const char *reasons;
} IfmStudyResults;

/** ifm_study_results: @study: (optional) over its span as it is now; NULL: over that of the last run.
 * Returns: (transfer full) NULL as ifm_study_tables(). */
IfmStudyResults *ifm_study_results(IfmStudy *study, IfmStore *store, GError **error);
void ifm_study_results_free(IfmStudyResults *results);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmStudyResults, ifm_study_results_free)

/** ifm_study_results_write: The files of its kind into a folder: ifm_study_write(), or points.csv and points.json, each
 * whole or as it was. */
gboolean ifm_study_results_write(const IfmStudyResults *results, const char *folder, GError **error);

/** ifm_study_results_to_json, ifm_study_results_to_csv: (transfer full) a row a case, as points.csv or stages.csv has them;
 * in JSON below what was studied, on which devices. */
json_t *ifm_study_results_to_json(const IfmStudyResults *results);
char *ifm_study_results_to_csv(const IfmStudyResults *results);

/** ifm_study_results_document: (transfer full) borrows @results. Points have no report: theirs is the summary. @folder: of
 * a summary: where its files are, or NULL */
IfmDocument *ifm_study_results_document(const IfmStudyResults *results, IfmStudyPage page, const char *folder);

/* --- convolutions between measured sizes --------------------------------------------------------------------------- */

/**
 * ifm_conv_predict: Interpolates linearly between the logarithms of size and time: of the whole inference, or of each
 * convolution and of the ratio of the whole to their sum. Beyond the measured sizes the last two are followed, which is a
 * guess. Power is interpolated alike.
 * @model: as the study names it    @size: height and width of the image    @threads: 0: as the study measured
 * Returns: (transfer full) IfmConvPrediction, by device, the fastest first. NULL with IFM_ERROR_INVALID: a study of another
 * kind, a model that is none of its (the nearest named), no algorithm with 2 sizes, another number of threads.
 */
GArray *ifm_conv_predict(const IfmStudyTables *points, const char *model, gint64 size, gint64 threads, GError **error);

/** ifm_lookup_at: @latency_ns: (out)    @origin: (out) (optional) IFM_GRID_OUTSIDE: extrapolated, a guess
 * Returns: FALSE with IFM_ERROR_INVALID for a size not above 0. */
gboolean ifm_lookup_at(const IfmLookup *lookup, double nodes, double edges, double *latency_ns, IfmGridOrigin *origin,
                       GError **error);

/* --- pages of predictions ------------------------------------------------------------------------------------------ */

/** ifm_conv_prediction_document: (transfer full) a table of the predictions, "predictions", and of each device the
 * algorithm to take. Borrows @predictions: of ifm_conv_predict(), of @model and @size */
IfmDocument *ifm_conv_prediction_document(const GArray *predictions, const char *model, gint64 size);

/* --- studies ------------------------------------------------------------------------------------------------------- */

/** Published formats, docs/formats.md: times in ms, MB = 2^20 bytes, keys "NODES,EDGES,ALIAS,STAGE" and "ALIAS_stageS".
 * Each has a key "_metadata" more: the devices behind the aliases, the study, how each figure was got. What cannot be said
 * is null. (transfer full) */
json_t *ifm_study_lookup_json(const IfmStudyTables *tables);

IFM_END_DECLS
