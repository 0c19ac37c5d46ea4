/* Latency models: trained on measured kernels, evaluated, and asked about models. */
#pragma once
#include <jansson.h>

#include <inferometer/kernels.h>
#include <inferometer/measure.h>

IFM_BEGIN_DECLS

/* --- samples ------------------------------------------------------------------------------------------------------- */

/** IfmKernelSamples: rows with the same metrics. */
typedef struct IfmKernelSamples IfmKernelSamples;

void ifm_kernel_samples_free(IfmKernelSamples *samples);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmKernelSamples, ifm_kernel_samples_free)

/**
 * ifm_kernel_samples_read: A CSV file with a header; columns in any order, further ones are ignored.
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID "FILE:LINE: …" for a required column or field that is missing, a
 * latency that is not above 0, a number outside of its column's range, a text for a number; IFM_ERROR_UNAVAILABLE where it
 * cannot be read.
 */
IfmKernelSamples *ifm_kernel_samples_read(const char *path, GError **error);

/** ifm_kernel_samples_append: Adds the rows of a second file; a metric that one of them lacks is unknown in its rows. */
void ifm_kernel_samples_append(IfmKernelSamples *samples, const IfmKernelSamples *more);

/* --- models -------------------------------------------------------------------------------------------------------- */

/** IfmLearnOptions: @allow_disturbed: learn from rows, too, beside which something else used the machine    @threads: of
 * the training; the outcome does not depend on it    @data: names of the data, for the model
 * @machine, @runtime, @device, @level: where the samples are from; NULL: what all samples that say it agree in
 * @interrupted: (nullable) ends it    @progress: (nullable) called between trainings */
typedef struct
{
    int method; /* IfmLearnMethod */
    gboolean allow_disturbed;
    gint64 seed, threads;
    const char *data, *machine, *runtime, *device, *level;
    const gint *interrupted;
    void (*progress)(const IfmProgress *now, void *user);
    void *user;
} IfmLearnOptions;

/** ifm_learn_options: the rows method, seed, threads and allow-disturbed. */
extern const IfmOption ifm_learn_options[];

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

/**
 * IfmLoadState: the load that a kernel will run beside.
 * @same, @other: share of the time that it asks for on the kernel's cores, and on others
 * @idle_ns: (NaN: predicted) the kernel's latency without load, where it is known
 * @metrics: (nullable) those of IfmLatencyModelInfo.metrics, before the kernel; NULL or a NaN: predicted without metrics
 * @kind: what the load does, 1 + IfmStressKind; 0: not known    @competitors: how many tasks compete for a core of the
 * kernel's while it is busy, less than 1 where these are tasks of half a weight; 0: one
 */
typedef struct
{
    double same, other, idle_ns;
    const double *metrics;
    int kind;
    double competitors;
} IfmLoadState;

/** IfmLearnNoise: how far visits of one kernel without load are apart, at the machine's median speed.
 * @mean, @median: of |a / b - 1| over pairs of visits; NaN without pairs. @small: below IFM_LEARN_SMALL_NS, @large: from
 * there on
 * @exponent: times go as what a read of memory got beside them, @read_bytes_per_s in the median visit, to it
 * @mean_as_measured: the mean without that. All three are 0 where times are as measured. */
typedef struct
{
    gint64 n_pairs;
    double mean, median, mean_small, mean_large;
    double mean_as_measured, exponent, read_bytes_per_s;
} IfmLearnNoise;

/** IfmLatencyModelInfo: what a model says of itself; all borrowed from it. @node_overhead_ns: of a node in a model, NaN
 * where it was not fitted    @features: IfmLearnFeature*    @operators: char*    @choices: IfmOperatorChoice*, of each
 * operator    @machines: those that it was learnt on,
 * their names first; none where it was one alone    @metrics: names, NULL-terminated
 * @errors: IfmLearnError*, empty where it was not evaluated */
typedef struct
{
    const char *method, *data, *machine, *runtime, *device, *level;
    gint64 seed, n_rows, n_kernels, n_configurations, n_loaded, n_trees;
    gint64 n_dropped; /* rows under load that were left out: their kernels have no latency without; 0 of a file */
    /* rows beside which something else used the machine: that were left out; that it learnt from */
    gint64 n_left_out, n_disturbed;
    double node_overhead_ns;
    IfmLearnNoise noise;
    const GPtrArray *features, *load_features, *operators, *choices, *errors, *machines;
    const char *const *metrics;
} IfmLatencyModelInfo;
void ifm_latency_model_info(const IfmLatencyModel *model, IfmLatencyModelInfo *info);

/** ifm_latency_model_warning: (transfer full) one line, "; " between what it says: that the machine that is predicted for
 * is outside of those that the model was learnt on, that the model is of another machine, of another runtime, that it was
 * learnt from disturbed rows, or that such were left out; NULL where nothing of this is so.
 * @machine, @runtime: here; NULL or "": unknown */
char *ifm_latency_model_warning(const IfmLatencyModel *model, const char *machine, const char *runtime);

/* --- how well ------------------------------------------------------------------------------------------------------ */

/** ifm_learn_evaluate: All protocols that the samples allow, each beside its baselines. Returns: (transfer full)
 * IfmLearnError*; NULL with the errors of ifm_learn_train(). */
GPtrArray *ifm_learn_evaluate(const IfmKernelSamples *samples, const IfmLearnOptions *options, GError **error);

/** ifm_latency_model_set_errors: for its file. @errors: copied */
void ifm_latency_model_set_errors(IfmLatencyModel *model, const GPtrArray *errors);

/* --- evaluating ---------------------------------------------------------------------------------------------------- */

/* Predictions against measurements: whole models and each of their kernels. */

/** IfmEvaluateOptions: @models: models, extracted kernels, records and folders of such, NULL-terminated: of records and
 * kernels only kernels are measured, as there is no model    @device: NULL: "onnxruntime:CPU@0"
 * @loads: "gemm:60%", "copy:other:30%", NULL-terminated, or NULL: idle alone    @kernels: also each distinct kernel
 * @interrupted: as of a runner    @measure: how a case is measured: ifm_campaign_ask(), with the campaign as its user,
 * keeps what it came to */
typedef struct
{
    const char *const *models;
    const char *device;
    int threads;
    const char *const *loads;
    gboolean kernels;
    IfmModelOptions open; /* how each model is opened */
    const gint *interrupted;
    IfmMeasureFunction measure;
    void *measure_user;
    void (*note)(const char *message, void *user); /* (nullable) */
    /* (nullable) which model is opened; when all are, how many cases will be measured */
    void (*progress)(const IfmProgress *now, void *user);
    void *user;
} IfmEvaluateOptions;

/** IfmEvaluation: @rows: IfmEvaluated*: whole models first    @records: IfmKernelRecords*, which rows borrow from; of what
 * could not be opened they have the reason    @warning: the latency model is of another machine or runtime; or NULL
 * @n_dropped: kernels that cannot be measured alone, and have no row; @why_dropped: why the first cannot; or NULL */
typedef struct
{
    GPtrArray *rows, *records;
    char *warning;
    gint64 n_dropped;
    char *why_dropped;
} IfmEvaluation;

/** ifm_evaluate: Returns: (transfer full) NULL with IFM_ERROR_USAGE (a load or a size that is none), IFM_ERROR_UNAVAILABLE
 * (no such device), IFM_ERROR_CANCELLED. A model that cannot be opened and a case that fails are rows with their reason. */
IfmEvaluation *ifm_evaluate(const IfmLatencyModel *model, const IfmEvaluateOptions *options, GError **error);
void ifm_evaluation_free(IfmEvaluation *evaluation);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmEvaluation, ifm_evaluation_free)

/* --- predicting a model -------------------------------------------------------------------------------------------- */

/**
 * IfmModelPrediction: of one inference.
 * Equals: latency_ns = sum over kernels + overhead_ns; overhead_ns = n_kernels * node overhead / share of the cores that
 * the load on the same cores leaves, as it is work of the processor; critical_ns: over the longest path of kernels that
 * wait for each other: a lower bound, which a runtime that runs one kernel at a time does not reach.
 * @low_ns, @high_ns: kernels of one operator are taken to be wrong together, different operators independently
 * @known_ratio: share of the time that is of operators and ranges which the model learnt, at least: at the beginning
 * of their intervals, and others at the end of theirs    @n_unknown: kernels that are not
 * @kernels: IfmPredictedKernel, in the order of the records
 */
typedef struct
{
    GArray *kernels;
    double latency_ns, low_ns, high_ns, overhead_ns, critical_ns, known_ratio;
    gsize n_unknown;
} IfmModelPrediction;

/** ifm_model_predict: @threads: of the runtime    @load: NULL: idle    Returns: (transfer full) borrows from @records */
IfmModelPrediction *ifm_model_predict(const IfmLatencyModel *model, const IfmKernelRecords *records, int threads,
                                      const IfmLoadState *load);
void ifm_model_prediction_free(IfmModelPrediction *prediction);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmModelPrediction, ifm_model_prediction_free)

/** ifm_load_state_parse: "0.6" or "60%": of the kernel's own cores; "other:60%": of others; both with a comma between;
 * "idle". Returns: FALSE with IFM_ERROR_INVALID. @metrics of the state is NULL. */
gboolean ifm_load_state_parse(const char *text, IfmLoadState *load, GError **error);

/**
 * ifm_load_state_live: What the machine does now, over a window of @window_ns, without what the calling process does, by
 * the same looks as the rows that a model learns from: how busy the cores are, how many tasks compete for them, and the
 * metrics that @model was learnt with.
 * @cores: of the device that the model is to run on, NULL or empty: all    @load: (out) borrows what is returned
 * Returns: (transfer full) (nullable) the metrics; NULL: it was learnt without any, or one cannot be had here, such as a
 * query of Prometheus: the prediction then does without
 */
double *ifm_load_state_live(const IfmLatencyModel *model, const int *cores, gsize n_cores, gint64 window_ns,
                            IfmLoadState *load);

/**
 * ifm_load_state_prometheus: The same of the last @window_ns, or of the last two scrapes where these are farther apart, by
 * what a server has of node exporter: busy processors, and how many tasks compete for them: by node_procs_running, no more
 * than node_pressure_cpu_waiting_seconds_total allows, or by either alone; one where it has neither. Without metrics, which
 * no exporter has. @url: with "#HOST:PORT", all of it is of that machine
 * Returns: FALSE with the errors of ifm_prometheus_busy()
 */
gboolean ifm_load_state_prometheus(const char *url, const int *cores, gsize n_cores, gint64 window_ns, IfmLoadState *load,
                                   GError **error);

/* --- pages of latency models --------------------------------------------------------------------------------------- */

/** ifm_train_document: (transfer full) borrows @model: what it learnt from, and its errors beside baselines and noise.
 * @features: with a table of what the trees see */
IfmDocument *ifm_train_document(const IfmLatencyModel *model, gboolean features);

/* --- pages of predictions ------------------------------------------------------------------------------------------ */

/** IfmPredictReport: all borrowed. @prediction: NULL of a model that could not be opened    @load: in words, "idle", "60 %
 * on the same cores"    @measured_ns: NaN: not measured
 * @warning: of the latency model, or NULL    @place: what the latency model says of the machine that it predicts for, where
 * that is not this one; NULL: it is this one */
typedef struct
{
    const IfmKernelRecords *records;
    const IfmModelPrediction *prediction;
    const char *load, *warning;
    double measured_ns;
    const IfmLatencyModelInfo *place;
} IfmPredictReport;

/** ifm_predict_document: (transfer full) of each model its latency with its interval, what is known of it, and its kernels
 * by operator and by share. Borrows @reports: [n] */
IfmDocument *ifm_predict_document(const IfmPredictReport *reports, gsize n);

/** ifm_predictions_to_json: (transfer full) the same with every kernel: docs/formats.md, "A prediction of kernels". */
json_t *ifm_predictions_to_json(const IfmPredictReport *reports, gsize n);

/** ifm_evaluation_document: (transfer full) whole models, kernels by how far they are off, and a figure of predicted over
 * measured. Borrows @evaluation. */
IfmDocument *ifm_evaluation_document(const IfmEvaluation *evaluation);

IFM_END_DECLS
