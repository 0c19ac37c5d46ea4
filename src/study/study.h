/* Shared with other rooms: the tables of a study. */
#pragma once
#include <jansson.h>

#include <inferometer/predict.h>
#include <inferometer/study.h>
#include <profile/tune.h>

G_BEGIN_DECLS

/* --- what is to be measured ---------------------------------------------------------------------------------------- */

/** IfmStudySize: a graph to measure on. @graph: "uniform", "power-law" or a path. */
typedef struct
{
    gint64 nodes, edges;
    char *graph;
} IfmStudySize;

/** ifm_study_open_set: The same, with keys of its file replaced. @settings: (nullable) NULL-terminated "KEY=VALUE", with
 * VALUE as the file would have it: "batch=[1, 2]", "level=quick". `kind` cannot be set. */
IfmStudy *ifm_study_open_set(const char *name, const char *const *settings, GError **error);

/* --- doing it ------------------------------------------------------------------------------------------------------ */

/** IfmStudyLock: the folder of a store, held by who measures there. The kernel lets go of it however a process ends.
 * ifm_study_lock_new: (transfer full) NULL with IFM_ERROR_UNAVAILABLE naming the process that holds it. */
typedef struct IfmStudyLock IfmStudyLock;

/* --- what came of it ----------------------------------------------------------------------------------------------- */

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

/** ifm_study_tables_implausible: how many rows of stages and ranges those are. ifm_study_tables_admit: takes them for
 * latencies all the same; the fits follow. */
gsize ifm_study_tables_implausible(const IfmStudyTables *tables);
void ifm_study_tables_admit(IfmStudyTables *tables);

/* --- study --------------------------------------------------------------------------------------------------------- */

/* The lock of a study, and words for its kinds. */

const char *ifm_study_form_name(IfmStudyForm form);

void ifm_study_lock_free(IfmStudyLock *lock);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmStudyLock, ifm_study_lock_free)

IfmStudyLock *ifm_study_lock_new(const char *folder, GError **error);

/** ifm_study_device_to_json: (transfer full) as the manifest has it. */
json_t *ifm_study_device_to_json(const IfmStudyDevice *device);

/** ifm_study_store_kind: (transfer full) of the study that a store holds; NULL with IFM_ERROR_INVALID where it holds none.
 */
char *ifm_study_store_kind(IfmStore *store, GError **error);

/** ifm_study_asked_devices: Where devices are no subject of the study (of kind conv-algorithms), those that were set take
 * the place of the file's. @dropped: (nullable) called for each device that goes */
void ifm_study_asked_devices(IfmStudy *study, void (*dropped)(const IfmStudyDevice *device, void *user), void *user);

/** ifm_combination_state: "running", "queued" or "missing" where cases have no result; else "failed", "unavailable",
 * "unsupported" (all of them) or "done". */
const char *ifm_combination_state(const IfmCombinationStatus *status);

/* --- convolutions between measured sizes --------------------------------------------------------------------------- */

/**
 * IfmConvPrediction: what a model takes with an algorithm on a device at a size, by the points of a study of kind
 * `conv-algorithms`. Texts are borrowed from the points.
 * @time_ns, @energy_j: of an inference; energy NaN where the study measured none
 * @lower_ns, @upper_ns: by @p95_ratio; NaN without it. At a size that was measured, all are as measured
 * @by_layers: the sum of each layer's own curve was closer, at the sizes left out, than the curve of the whole
 * @threads: that the points were measured with    @n_sizes: that were measured    @mean_ratio, @p95_ratio: |predicted /
 * measured - 1| of inner sizes left out one by one: the mean and the 95 % quantile (of fewer than 20 the most); NaN with
 * fewer than 3 sizes
 * @noise_ratio: half-width of the measured medians' intervals, the mean: what no prediction can undercut
 * @n_networks: of a network that was not measured: how many it is learnt from; the errors are those of each of them,
 * predicted from the others. 0: it was measured
 */
typedef struct
{
    const IfmStudyDevice *device;
    const char *algorithm;
    double time_ns, lower_ns, upper_ns, energy_j;
    IfmGridOrigin origin;
    gboolean by_layers;
    gsize n_sizes, n_networks;
    gint64 threads;
    double mean_ratio, p95_ratio, noise_ratio;
} IfmConvPrediction;

/** ifm_conv_measured: whether a study has points of a model. */
gboolean ifm_conv_measured(const IfmStudyTables *points, const char *model);

/**
 * ifm_conv_predict_network: Of a network that was not measured: each layer's time by its shape and algorithm, as learnt
 * from the layers of the study, and what goes with the data between them. An algorithm that was measured on no layer of
 * such a kind is left out; "best" takes the fastest for each layer.
 * @model: a file, or a model of the zoo    @size: height and width of the image; 0: as the model has it
 * @threads: 0: each number that the study measured with    @options: (nullable) its other sizes
 * Returns: (transfer full) IfmConvPrediction, by device, the fastest first. NULL with IFM_ERROR_INVALID: a study of another
 * kind, a model without convolutions, too few layers to learn from, a size that the model does not take, a number
 * of threads that was not measured.
 */
GArray *ifm_conv_predict_network(const IfmStudyTables *points, const char *model, gint64 size, gint64 threads,
                                 const IfmModelOptions *options, GError **error);

/**
 * ifm_conv_choose: Of each convolution of a graph the algorithm of regions (profile/tune.h) that is predicted to be the
 * fastest: learnt from what a study measured on onnxruntime:CPU with so many threads.
 * @user: IfmStudyTables*    Returns: as IfmTunePredictor.predict, whose function it is. NULL with IFM_ERROR_INVALID: a
 * study of another kind, nothing measured with so many threads, no convolution
 */
GPtrArray *ifm_conv_choose(gpointer user, IfmModel *graph, const IfmDimBinding *bindings, gsize n_bindings, int n_threads,
                           IfmTuneLevel level, GError **error);

/* --- study kernels ------------------------------------------------------------------------------------------------- */

/**
 * ifm_study_kernel_samples: What a study of kind "kernels-under-load" measured, a sample a case with a latency, in the
 * order of its cases. The times are those of one copy of the ring. Metrics are those of the windows before and during a
 * case. Returns: (transfer full) NULL with IFM_ERROR_INVALID for a study of another kind, IFM_ERROR_CORRUPT where a kernel
 * of the study is not in its store.
 */
IfmKernelSamples *ifm_study_kernel_samples(const IfmStudyTables *points, GError **error);

/** IfmOperatorRow: the samples of one operator without load. @n_kernels, @n_visits: how many; the latencies are those of
 * the kernels' medians over their visits    @spread: mean of |a / b - 1| over pairs of visits of a kernel: the noise floor;
 * NaN where each was visited once */
typedef struct
{
    const char *op_type; /* borrowed from the samples */
    gint64 n_kernels, n_visits;
    double min_ns, median_ns, max_ns, spread;
} IfmOperatorRow;

/** IfmRoundRow: what the kernels until a round of a study teach. @n_kernels: until it    @most: the operator that most of
 * its own are of; borrowed from the samples; NULL: none    @mape, @weighted: IfmLearnError, of the models' own kernels,
 * each predicted from other configurations; these are the same in all rounds    @change: of @mape since the first row, with
 * its 95 % interval, kernel by kernel; NaN in that row */
typedef struct
{
    gint64 round, n_kernels;
    const char *most;
    double mape, weighted, change;
    IfmInterval change_interval;
} IfmRoundRow;

/** ifm_kernel_round_rows: (transfer full) IfmRoundRow, in order; none of a study of one round, or where nothing can be
 * learnt. NULL with another error of ifm_learn_left_out(). @samples: of the points */
GArray *ifm_kernel_round_rows(const IfmStudyTables *points, const IfmKernelSamples *samples, GError **error);

/** IfmLoadRow: the samples beside one load, against the same kernels without it in the same visit. @achieved: mean share
 * that the load reached before them    @slow_down, @slow_down_90: median and 90th percentile of the ratio of the means */
typedef struct
{
    int kind, cores; /* IfmLoadKind, IfmLoadCores */
    gint64 n;
    double level, achieved, slow_down, slow_down_90;
} IfmLoadRow;

/** ifm_kernel_operator_rows, ifm_kernel_load_rows: (transfer full) of these structs, the operators with most kernels first,
 * loads by kind, cores and level. */
GArray *ifm_kernel_operator_rows(const IfmKernelSamples *samples);
GArray *ifm_kernel_load_rows(const IfmKernelSamples *samples);

/** IfmModelVerdict: a held-out model under one load, predicted from what was learnt of other models' kernels, against what
 * was measured: medians without load, means under it. @name, @records: borrowed from the outcome
 * @known_ratio: IfmModelPrediction has it    @node_overhead_ns: that it was predicted with: of the other held-out models */
typedef struct
{
    const char *name;
    int kind, cores; /* IfmLoadKind, IfmLoadCores */
    gint64 threads;
    double level, measured_ns, predicted_ns, low_ns, high_ns, known_ratio, node_overhead_ns;
} IfmModelVerdict;

/** IfmKernelsOutcome: what a study of kernels comes to. @samples: those of its kernels    @model: what is learnt from all
 * of them; NULL where nothing can be, and @why    @warning: ifm_latency_model_warning() of it    @verdicts:
 * IfmModelVerdict, models in the order of the study
 * @mape: mean of |predicted / measured - 1| without load; NaN without held-out models    @mape_loaded: under load */
typedef struct
{
    IfmKernelSamples *samples;
    IfmLatencyModel *model;
    char *why, *warning;
    GPtrArray *records; /* IfmKernelRecords* of the held-out models */
    GArray *verdicts;
    double mape, mape_loaded;
} IfmKernelsOutcome;

/** ifm_study_kernels_outcome: trains and predicts; the same points give the same. Returns: (transfer full) NULL as
 * ifm_study_kernel_samples(). */
IfmKernelsOutcome *ifm_study_kernels_outcome(const IfmStudyTables *points, GError **error);
void ifm_kernels_outcome_free(IfmKernelsOutcome *outcome);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmKernelsOutcome, ifm_kernels_outcome_free)

G_END_DECLS
