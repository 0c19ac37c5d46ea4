#pragma once
#include <inferometer/kernel-sample.h>
#include <inferometer/options.h>

IFM_BEGIN_DECLS

/*
 * Latencies of kernels learnt from measurements: samples, models of latency with their intervals, and how well they
 * predict. docs/learning.md has the method.
 */

/* --- samples -----------------------------------------------------------------------------------------------------------
 */

/** IfmLoadKind: the background load of a sample. IfmLoadCores: the cores it is on: none, those of the kernel, others. */
typedef enum
{
    IFM_LOAD_NONE,
    IFM_LOAD_GEMM,
    IFM_LOAD_COPY,
    IFM_LOAD_RANDOM,
    IFM_N_LOAD_KINDS,
} IfmLoadKind;
typedef enum
{
    IFM_LOAD_CORES_NONE,
    IFM_LOAD_CORES_SAME,
    IFM_LOAD_CORES_OTHER,
    IFM_N_LOAD_CORES,
} IfmLoadCores;

/**
 * IfmKernelSample: one visit of a kernel: measured once in a row, alone or beside a load. A number is NaN where it is
 * unknown.
 * @kernel_id: equal for visits of the same kernel    @op_type: "Conv_Add_Relu"    @configuration: the kernel that a sampled
 * shape was varied from; NULL: @kernel_id    @models, @families: those that the kernel is in, "resnet18;resnet50"; NULL:
 * none
 * @latency_ms: mean    @load_level: share of the time that the load asks for    @achieved_load: what it reached
 * @idle_ms: mean without load in the same visit    @machine, @runtime, @device, @level: what it was measured on, as
 * IfmLearnOptions has them; NULL: unknown    @metrics: [n_metrics of its samples] or NULL: all unknown
 */
typedef struct
{
    const char *kernel_id, *op_type, *input_shape, *configuration, *models, *families;
    double latency_ms, median_ms, std_ms, n, visit, threads;
    int load_kind, load_cores; /* IfmLoadKind, IfmLoadCores */
    double load_level, achieved_load, idle_ms, roofline_ms;
    IfmKernelFeatures features;
    double flop, input_bytes, weight_bytes, output_bytes;
    const char *machine, *runtime, *device, *level;
    const double *metrics;
} IfmKernelSample;

/** ifm_kernel_sample_init: Everything is unknown, NULL or without load. */
void ifm_kernel_sample_init(IfmKernelSample *sample);
/** ifm_kernel_sample_describe: What a record says: op_type, features, FLOP and bytes. @sample: borrows from @record */
void ifm_kernel_sample_describe(IfmKernelSample *sample, const IfmKernelRecord *record);

/** IfmSampleColumn: a column of a file of samples. @offset: in IfmKernelSample    @words: [n_words] of a CHOICE
 * @required: in the header and in each row    @minimum, @maximum: of a NUMBER    @help: what it is, with its unit */
typedef struct
{
    const char *name;
    gsize offset;
    enum
    {
        IFM_SAMPLE_TEXT,
        IFM_SAMPLE_NUMBER,
        IFM_SAMPLE_CHOICE,
    } type;
    const char *const *words;
    gsize n_words;
    gboolean required;
    double minimum, maximum;
    const char *help;
} IfmSampleColumn;
/** ifm_sample_columns: in the order of files; metrics follow Input_Shape. Ends with a row without a name. */
extern const IfmSampleColumn ifm_sample_columns[];

/** A metric's column is "metric:before:NAME" (the window before the kernel, which is learnt from) or "metric:during:NAME".
 */
#define IFM_SAMPLE_METRIC_PREFIX "metric:"
#define IFM_SAMPLE_BEFORE_PREFIX "metric:before:"

#define IFM_SAMPLES_MAX_ROWS 1000000
#define IFM_SAMPLES_MAX_METRICS 64

/** IfmKernelSamples: rows with the same metrics. */
typedef struct IfmKernelSamples IfmKernelSamples;
/** ifm_kernel_samples_new: @metrics: names of columns with their prefix, NULL-terminated, or NULL: none */
IfmKernelSamples *ifm_kernel_samples_new(const char *const *metrics);
void ifm_kernel_samples_free(IfmKernelSamples *samples);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmKernelSamples, ifm_kernel_samples_free)
/** ifm_kernel_samples_add: @sample: copied with its texts and metrics */
void ifm_kernel_samples_add(IfmKernelSamples *samples, const IfmKernelSample *sample);
gsize ifm_kernel_samples_n(const IfmKernelSamples *samples);
const IfmKernelSample *ifm_kernel_samples_at(const IfmKernelSamples *samples, gsize row);
/** ifm_kernel_samples_metrics: NULL-terminated, borrowed */
const char *const *ifm_kernel_samples_metrics(const IfmKernelSamples *samples);

/**
 * ifm_kernel_samples_read: A CSV file with a header; columns in any order, further ones are ignored.
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID "FILE:LINE: …" for a required column or field that is missing, a
 * latency that is not above 0, a number outside of its column's range, a text for a number; IFM_ERROR_UNAVAILABLE where it
 * cannot be read.
 */
IfmKernelSamples *ifm_kernel_samples_read(const char *path, GError **error);
/** ifm_kernel_samples_append: Adds the rows of a second file; a metric that one of them lacks is unknown in its rows. */
void ifm_kernel_samples_append(IfmKernelSamples *samples, const IfmKernelSamples *more);
/** ifm_kernel_samples_to_csv: (transfer full) with all columns, numbers in full, empty where they are unknown. */
char *ifm_kernel_samples_to_csv(const IfmKernelSamples *samples);

/* --- models ------------------------------------------------------------------------------------------------------------
 */

typedef enum
{
    IFM_LEARN_BOOSTED, /* trees, each on what the ones before it left */
    IFM_LEARN_FOREST,  /* the mean of many deep trees, each on a part of rows and features */
    IFM_N_LEARN_METHODS,
} IfmLearnMethod;
/** ifm_learn_method_words: "boosted", "forest", NULL-terminated. */
const char *const *ifm_learn_method_words(void);

/** IfmLearnOptions: @threads: of the training; the outcome does not depend on it    @data: names of the data, for the model
 * @machine, @runtime, @device, @level: where the samples are from; NULL: what all samples that say it agree in
 * @interrupted: (nullable) ends it */
typedef struct
{
    int method; /* IfmLearnMethod */
    gint64 seed, threads;
    const char *data, *machine, *runtime, *device, *level;
    const gint *interrupted;
} IfmLearnOptions;
/** ifm_learn_options: the rows method, seed and threads. */
extern const IfmOption ifm_learn_options[];

/** IFM_LEARN_SMALL_NS: kernels are reported, and their intervals calibrated, below and from here on by themselves. */
#define IFM_LEARN_SMALL_NS 20000.0
/** IFM_LEARN_COVERAGE: the share of latencies that an interval is to hold. */
#define IFM_LEARN_COVERAGE 0.9
/** IFM_LEARN_FOLDS: of cross-validation, by configuration. */
#define IFM_LEARN_FOLDS 5

/** IfmLatencyModel: immutable: threads may share it. */
typedef struct IfmLatencyModel IfmLatencyModel;

/**
 * ifm_learn_train: Learns the latency without load, and where there are rows with load the slow-down.
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID: fewer configurations without load than folds, kernels of one class
 * alone (one OpType, from which no other follows), or latencies so far apart that no file could hold what is learnt;
 * IFM_ERROR_CANCELLED.
 */
IfmLatencyModel *ifm_learn_train(const IfmKernelSamples *samples, const IfmLearnOptions *options, GError **error);
void ifm_latency_model_free(IfmLatencyModel *model);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmLatencyModel, ifm_latency_model_free)

/** ifm_latency_model_read: Returns: (transfer full) NULL with IFM_ERROR_INVALID and one line: cut off, of another version,
 * or with trees that are none.    ifm_latency_model_write: atomically; FALSE with IFM_ERROR_INVALID where it could not be
 * read again */
IfmLatencyModel *ifm_latency_model_read(const char *path, GError **error);
gboolean ifm_latency_model_write(const IfmLatencyModel *model, const char *path, GError **error);
json_t *ifm_latency_model_to_json(const IfmLatencyModel *model);
IfmLatencyModel *ifm_latency_model_from_json(const json_t *json, const char *where, GError **error);

/**
 * IfmLoadState: the load that a kernel will run beside.
 * @same, @other: share of the time that it asks for on the kernel's cores, and on others
 * @idle_ns: (NaN: predicted) the kernel's latency without load, where it is known
 * @metrics: (nullable) those of IfmLatencyModelInfo.metrics, before the kernel; NULL or a NaN: predicted without metrics
 */
typedef struct
{
    double same, other, idle_ns;
    const double *metrics;
} IfmLoadState;

/** IfmPredictedLatency: @latency_ns: at idle the typical (median) one, under load the mean of several runs
 * @low_ns, @high_ns: hold it with probability IFM_LEARN_COVERAGE, of loads of the kinds that were trained on; they are
 * calibrated without metrics    @roofline_ns: of the peaks found in the training data
 * @known: the operator was in the training data; else the roofline is scaled    @in_range: all features are in the ranges
 * of the training data    @load_learned: the slow-down is learnt, or there is no load; else it is time-sharing alone */
typedef struct
{
    double latency_ns, low_ns, high_ns, idle_ns, roofline_ns;
    gboolean known, in_range, load_learned;
} IfmPredictedLatency;

/** ifm_latency_model_predict: Allocates nothing. @kernel: op_type, threads, features, FLOP and bytes    @load: NULL: idle
 */
void ifm_latency_model_predict(const IfmLatencyModel *model, const IfmKernelSample *kernel, const IfmLoadState *load,
                               IfmPredictedLatency *predicted);

/** ifm_latency_model_outside: (transfer full) which feature of a kernel, or of the load beside it, is farthest outside of
 * the training data: "channels 2048, learnt from 16 to 512"; NULL where none is. @load: NULL: idle */
char *ifm_latency_model_outside(const IfmLatencyModel *model, const IfmKernelSample *kernel, const IfmLoadState *load);

/** IfmLearnFeature: a number that the trees see. @importance: share of the gain of all splits; NaN in a model from a file
 * that lacks it    @min, @max: in the training data */
typedef struct
{
    char *name;
    double min, max, importance;
} IfmLearnFeature;

/** IfmLearnNoise: how far visits of one kernel without load are apart. @mean, @median: of |a / b - 1| over pairs of visits;
 * NaN without pairs. @small: below IFM_LEARN_SMALL_NS, @large: from there on */
typedef struct
{
    gint64 n_pairs;
    double mean, median, mean_small, mean_large;
} IfmLearnNoise;

/** IfmLatencyModelInfo: what a model says of itself; all borrowed from it. @node_overhead_ns: of a node in a model, NaN
 * where it was not fitted    @features: IfmLearnFeature*    @operators: char*    @metrics: names, NULL-terminated
 * @errors: IfmLearnError*, empty where it was not evaluated */
typedef struct
{
    const char *method, *data, *machine, *runtime, *device, *level;
    gint64 seed, n_rows, n_kernels, n_configurations, n_loaded, n_trees;
    gint64 n_dropped; /* rows under load that were left out: their kernels have no latency without; 0 of a file */
    double node_overhead_ns;
    IfmLearnNoise noise;
    const GPtrArray *features, *load_features, *operators, *errors;
    const char *const *metrics;
} IfmLatencyModelInfo;
void ifm_latency_model_info(const IfmLatencyModel *model, IfmLatencyModelInfo *info);
/** ifm_latency_model_set_overhead: What a node costs beside its kernel, once fitted to whole models. */
void ifm_latency_model_set_overhead(IfmLatencyModel *model, double node_overhead_ns);
/** ifm_latency_model_warning: (transfer full) one line where the model is of another machine or runtime; NULL where not.
 * @machine, @runtime: here; NULL: unknown */
char *ifm_latency_model_warning(const IfmLatencyModel *model, const char *machine, const char *runtime);

/* --- how well -----------------------------------------------------------------------------------------------------------
 */

/**
 * IfmLearnError: errors of one way to predict under one protocol, on rows that it was not trained on.
 * @protocol: "held-out configurations", "family unseen, its exact shapes", "family unseen, all its shapes",
 * "level unseen, same cores", …    @method: "boosted" or "forest"; a baseline: "flop", "roofline", "linear", "idle" (the
 * load is ignored), "time-sharing"; "metrics": trees that see metrics, too    @part: "all", ">= 20 us", "< 20 us", "family
 * NAME", "models" (sums over each model's kernels)
 * @mape, @median, @within: mean and median of |predicted / measured - 1|, share of rows where that is at most 10 %
 * @weighted: sum |predicted - measured| / sum measured    @covered: share of rows within their interval; NaN of a baseline
 * @noise: floor of these rows: mean difference of two visits; NaN where it is unknown
 */
typedef struct
{
    char *protocol, *method, *part;
    gint64 n, n_covered;
    double mape, median, weighted, within, covered, noise;
} IfmLearnError;

/** ifm_learn_evaluate: All protocols that the samples allow, each beside its baselines. Returns: (transfer full)
 * IfmLearnError*; NULL with the errors of ifm_learn_train(). */
GPtrArray *ifm_learn_evaluate(const IfmKernelSamples *samples, const IfmLearnOptions *options, GError **error);
/** ifm_latency_model_set_errors: for its file. @errors: copied */
void ifm_latency_model_set_errors(IfmLatencyModel *model, const GPtrArray *errors);

IFM_END_DECLS
