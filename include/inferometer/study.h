#pragma once
#include <inferometer/campaign.h>
#include <inferometer/options.h>
#include <inferometer/predict.h>
#include <inferometer/zoo.h>

IFM_BEGIN_DECLS

/*
 * A study: many cases from one YAML file. It is exported (models and inputs as files), measured (case by case, each
 * committed before the next), analysed (tables). All that later steps need is in its folder's store: the measurements, and
 * the document "study", the manifest: what was spanned, with the key of each case.
 *
 *     FOLDER/store.db
 *     FOLDER/models/ALIAS/stageS.onnx                 dynamic: any nodes and edges
 *     FOLDER/models/ALIAS/stageS-nN-eE.onnx           static
 *     FOLDER/models/ALIAS/stagesA-B.onnx              a range, fused; static ones with -nN-eE
 *     FOLDER/inputs/nN-eE.tensors                     the graph of a size, as tensors named for ports
 *     FOLDER/cache/                                   compiled models
 */

/* --- what is to be measured ------------------------------------------------------------------------------------------- */

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

/** IfmStudySize: a graph to measure on. @graph: "uniform", "power-law" or a path. */
typedef struct
{
    gint64 nodes, edges;
    char *graph;
} IfmStudySize;

/** IfmStudyCase: one row of the span: a stage or a range of them on a device at a size, alone or while others do the same,
 * or (@to set) a link between two. */
typedef struct
{
    /* "NPU stage 3 REDUCE_SUM, 1000 nodes, 5000 edges", "CPU > NPU, 2000000 bytes",
     * "CPU stages 1-3, 1000 nodes, 5000 edges, with background load on GPU + NPU" */
    char *title;
    char *key; /* of its sealed case; NULL until sealed, and for a device that is not here */
    int phase; /* 1, 2; what takes several devices comes with the phase of the latest */
    char *alias, *to;
    int stage;           /* the first; 0: a link */
    int last;            /* the last of a range, fused; equals stage where it is one */
    char **busy;         /* aliases of the devices that work meanwhile, sorted, NULL-terminated; NULL: none */
    gint64 nodes, edges; /* 0: a link */
    gint64 bytes;        /* of a link */
} IfmStudyCase;

/**
 * ifm_study_open: Reads a study. @name: a path (with a slash or ".yaml"), or the name of a shipped one: "gnn-stages".
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID "FILE:LINE: ..." (nearest key or word named; a list of cases that
 * spans nothing; a size twice; a device whose spec is wrong) or IFM_ERROR_UNAVAILABLE naming the studies there are.
 */
IfmStudy *ifm_study_open(const char *name, GError **error);
/** ifm_study_open_set: The same, with keys of its file replaced. @settings: (nullable) NULL-terminated "KEY=VALUE", with
 * VALUE as the file would have it: "batch=[1, 2]", "level=quick". `kind` cannot be set. */
IfmStudy *ifm_study_open_set(const char *name, const char *const *settings, GError **error);
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

/* --- doing it --------------------------------------------------------------------------------------------------------- */

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
/** IfmStudyLock: the folder of a store, held by who measures there. The kernel lets go of it however a process ends.
 * ifm_study_lock_new: (transfer full) NULL with IFM_ERROR_UNAVAILABLE naming the process that holds it. */
typedef struct IfmStudyLock IfmStudyLock;

/* --- what came of it -------------------------------------------------------------------------------------------------- */

/** IfmStudyRow: a case of a study and what it came to: a stage, or a range of stages fused, on a device at one size, alone
 * or while others are busy; of a kind without stages a point, led by its axes. Times are ns, NaN where there are none. */
typedef struct
{
    const IfmStudyDevice *device;
    int phase;
    char *key;                   /* NULL where it was never sealed */
    IfmMeasurement *measurement; /* NULL where it was never tried, see @reason */
    char *code, *reason;         /* why there is no latency; NULL where there is one */
    char *doubt;                 /* it contradicts that of another size, and which of the two is wrong is not known; NULL */
    double median_ns;            /* of an imported row, what its table says */
    double mean_ns, std_ns, min_ns, max_ns;
    IfmInterval interval; /* of the median */
    gint64 n;             /* runs; 0 of an imported row */

    int stage, last; /* 0: a point. last equals stage where it is one */
    guint32 busy;    /* mask over the tables' devices; 0: alone */
    gint64 nodes, edges;
    gint64 table_bytes;               /* the data size the tables count: IfmStage.table_bytes */
    gint64 read_bytes, written_bytes; /* really, without weights */
    double transfer_ns, compute_ns;   /* by the bandwidth fit; both or neither */
    const char *split_why;            /* why neither; NULL where both */

    char *title;                    /* of a point; else NULL */
    json_t *axes;                   /* object: axis -> text or number: {"model": "resnet50", "batch": 4}; else NULL */
    double items, flop;             /* of one inference, of all streams together; NaN: unknown */
    double items_per_s, flop_per_s; /* NaN: unknown */
} IfmStudyRow;

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

/** IfmLinkFit: one link. @points: of its rows. */
typedef struct
{
    const IfmStudyDevice *from, *to;
    gsize n, n_failed, n_skipped, n_left; /* sizes measured; of the others, what became of them */
    double *bytes, *median_ns;            /* [n] */
    gboolean fitted, shared, assumed;
    gboolean within_inference; /* of an end, host memory alone was copied: its runtime moves the rest in each inference */
    int n_copies;              /* 1, or 2 through the host's memory; 0 if unknown */
    /* whether a pipeline copies to this end's memory and back itself, around each inference: what was measured of the
     * device from host tensors then holds these copies */
    gboolean from_around, to_around;
    char *why;                 /* why not fitted */
    IfmBandwidthFit bandwidth; /* intercept: the fixed cost */
} IfmLinkFit;

/** IfmStudyTables: a study, read from its store alone: everything that pages, exports and a planner need. */
typedef struct
{
    char *name, *title, *kind;
    const IfmStagedModel *staged; /* NULL: of a kind without stages, which has no ranges, fits and links */
    IfmStageSizes sizes;          /* features, hidden */
    GPtrArray *axes;              /* char*: names of those of points, in the order of the file */
    json_t *manifest;
    gboolean imported;
    GPtrArray *devices;  /* IfmStudyDevice* */
    GPtrArray *rows;     /* IfmStudyRow*, in the order of the manifest: single stages alone, or points */
    GPtrArray *ranges;   /* IfmStudyRow*: ranges of several stages, and whatever was measured while others were busy */
    GPtrArray *fits;     /* IfmStageFit*, by device, then stage */
    GPtrArray *links;    /* IfmLinkFit* */
    gint64 spent_ns;     /* measuring, all sessions together */
    gint64 last_unix_ms; /* when the newest measurement began; 0 where there is none */
} IfmStudyTables;

/** ifm_study_tables: Latencies that those of other sizes contradict are none: their rows have the code "implausible" and
 * the reason, and keep what was measured. Of two that contradict each other alone both count, with their doubt. Returns:
 * (transfer full) NULL with IFM_ERROR_INVALID (a store that holds no study), or IFM_ERROR_CORRUPT. */
IfmStudyTables *ifm_study_tables(IfmStore *store, GError **error);
/** ifm_study_tables_of: The same over a study's span as it is now: a size that is new since the last run has rows that were
 * never tried, one that is gone has none. Devices that the last run was asked for stay, and are set in @study. Also
 * IFM_ERROR_INVALID where the store is another study's. */
IfmStudyTables *ifm_study_tables_of(IfmStudy *study, IfmStore *store, GError **error);
/** ifm_study_tables_implausible: how many rows of stages and ranges those are. ifm_study_tables_admit: takes them for
 * latencies all the same; the fits follow. */
gsize ifm_study_tables_implausible(const IfmStudyTables *tables);
void ifm_study_tables_admit(IfmStudyTables *tables);
void ifm_study_tables_free(IfmStudyTables *tables);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmStudyTables, ifm_study_tables_free)
/** ifm_study_tables_lookup: (transfer full) a device's stage as a function of sizes; NULL with IFM_ERROR_INVALID for an
 * unknown alias or a stage without a latency. */
IfmLookup *ifm_study_tables_lookup(const IfmStudyTables *tables, const char *alias, int stage, GError **error);

/** ifm_study_points: @study: (optional) over its span as it is now, as ifm_study_tables_of() does it; NULL: over that of
 * the last run. Returns: (transfer full) NULL as ifm_study_tables(), also with IFM_ERROR_INVALID for a study of stages. */
IfmStudyTables *ifm_study_points(IfmStudy *study, IfmStore *store, GError **error);

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

IFM_END_DECLS
