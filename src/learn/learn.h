/* Shared with other rooms: samples of kernels and models of their latency. */
#pragma once
#include <jansson.h>

#include <inferometer/predict.h>
#include <kernel/kernel.h>
#include <sensor/sensor.h>

G_BEGIN_DECLS

/* --- samples ------------------------------------------------------------------------------------------------------- */

/**
 * IfmMachineFeatures: a machine in numbers, so that what was learnt on others serves it. NaN: unknown.
 * @flop_per_s: peak    @bytes_per_s: of memory    @cache_bytes, @cache_bytes_per_s: of the last level of cache, which all
 * cores share    @cores: that share the work of a kernel (of a GPU: multiprocessors)    @clock_hz: of a core
 */
typedef struct
{
    double flop_per_s, bytes_per_s, cache_bytes, cache_bytes_per_s, cores, clock_hz;
} IfmMachineFeatures;

/** IfmMachine: @name: as the column Machine of samples has it */
typedef struct
{
    char *name;
    IfmMachineFeatures features;
} IfmMachine;

/** ifm_machine_read: A description in YAML or JSON: docs/learning.md, "Machines". Returns: (transfer full) NULL with
 * IFM_ERROR_INVALID "FILE:LINE: …" (a key that is missing or unknown, a number out of its range), or IFM_ERROR_UNAVAILABLE.
 */
IfmMachine *ifm_machine_read(const char *path, GError **error);
void ifm_machine_free(IfmMachine *machine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmMachine, ifm_machine_free)

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
 * @ring_bytes: of the copies that a run visits in turn, @working_set_bytes: of the model that these stand for,
 * @cache_bytes: of the last-level cache
 * @latency_ms: mean    @cpu_ms: processor time, median    @undisturbed_ms: median of the runs that were not interrupted,
 * @interrupted: how many were    @disturbed: 1: something else used the machine meanwhile    @load_level: share of the time
 * that the load asks for    @achieved_load: what it reached
 * @idle_ms: mean without load in the same visit    @machine, @runtime, @device, @level: what it was measured on, as
 * IfmLearnOptions has them; NULL: unknown    @place: the machine in numbers    @metrics: [n_metrics of its samples] or
 * NULL: all unknown
 */
typedef struct
{
    const char *kernel_id, *op_type, *input_shape, *configuration, *models, *families;
    double latency_ms, median_ms, std_ms, n, cpu_ms, undisturbed_ms, interrupted, disturbed, visit, threads;
    int load_kind, load_cores; /* IfmLoadKind, IfmLoadCores */
    double load_level, achieved_load, idle_ms, roofline_ms;
    IfmKernelFeatures features;
    double flop, input_bytes, weight_bytes, output_bytes, ring_bytes, working_set_bytes, cache_bytes;
    const char *machine, *runtime, *device, *level;
    IfmMachineFeatures place;
    const double *metrics;
} IfmKernelSample;

/** ifm_kernel_sample_init: Everything is unknown, NULL or without load. */
void ifm_kernel_sample_init(IfmKernelSample *sample);

/** ifm_kernel_sample_describe: What a record says: op_type, features, FLOP and bytes. @sample: borrows from @record */
void ifm_kernel_sample_describe(IfmKernelSample *sample, const IfmKernelRecord *record);

/** A metric's column is "metric:before:NAME" (the window before the kernel, which is learnt from) or "metric:during:NAME",
 * of which what a read got at its end alone is used. */
#define IFM_SAMPLE_METRIC_PREFIX "metric:"
#define IFM_SAMPLE_BEFORE_PREFIX "metric:before:"
#define IFM_SAMPLE_DURING_PREFIX "metric:during:"

#define IFM_SAMPLES_MAX_ROWS 1000000
#define IFM_SAMPLES_MAX_METRICS 64

/** ifm_kernel_samples_new: @metrics: names of columns with their prefix, NULL-terminated, or NULL: none */
IfmKernelSamples *ifm_kernel_samples_new(const char *const *metrics);

/** ifm_kernel_samples_add: @sample: copied with its texts and metrics */
void ifm_kernel_samples_add(IfmKernelSamples *samples, const IfmKernelSample *sample);
gsize ifm_kernel_samples_n(const IfmKernelSamples *samples);
const IfmKernelSample *ifm_kernel_samples_at(const IfmKernelSamples *samples, gsize row);

/** ifm_kernel_samples_metrics: NULL-terminated, borrowed */
const char *const *ifm_kernel_samples_metrics(const IfmKernelSamples *samples);

/** ifm_kernel_samples_place: Describes the machine of the rows that are of @machine. Returns: how many these are. */
gsize ifm_kernel_samples_place(IfmKernelSamples *samples, const IfmMachine *machine);

/**
 * ifm_kernel_samples_read_as: A table with columns of other names, as another collector writes it.
 * @columns: "op=name,shape=b*h,latency_us=time,FLOP=2*b*h": a column of ours, or op (OpType), shape (Input_Shape), or a
 * time in another unit (…_ns, _us, _ms, _s), and what it is in the file: for a number a sum of products of its columns and
 * of numbers; for a text a column, columns with * between (their texts with an x between), or a 'text' itself. A column's
 * name that has other characters than letters, digits, _ and . is in "quotes". Columns that are not named are not read.
 * Kernel_ID, where it is not named, is made of the operator and all sizes. NULL: as ifm_kernel_samples_read()
 * Returns: (transfer full) NULL with IFM_ERROR_USAGE, "--columns: …", for a text that is no such list; else the errors of
 * ifm_kernel_samples_read().
 */
IfmKernelSamples *ifm_kernel_samples_read_as(const char *path, const char *columns, GError **error);

/** ifm_kernel_samples_to_csv: (transfer full) with all columns, numbers in full, empty where they are unknown. */
char *ifm_kernel_samples_to_csv(const IfmKernelSamples *samples);

/* --- models -------------------------------------------------------------------------------------------------------- */

typedef enum
{
    IFM_LEARN_CHOSEN,  /* for each operator what predicts it best in cross-validation, lines included */
    IFM_LEARN_BOOSTED, /* trees, each on what the ones before it left */
    IFM_LEARN_FOREST,  /* the mean of many deep trees, each on a part of rows and features */
    IFM_N_LEARN_METHODS,
} IfmLearnMethod;

/** ifm_learn_method_words: "chosen", "boosted", "forest", NULL-terminated. */
const char *const *ifm_learn_method_words(void);

/** IFM_LEARN_SMALL_NS: kernels are reported, and their intervals calibrated, below and from here on by themselves. */
#define IFM_LEARN_SMALL_NS 20000.0

/** IFM_LEARN_COVERAGE: the share of latencies that an interval is to hold. */
#define IFM_LEARN_COVERAGE 0.9

/** IFM_LEARN_FOLDS: of cross-validation, by configuration. */
#define IFM_LEARN_FOLDS 5

/** IFM_LEARN_OPERATOR_CASES: an operator with so many cases is reported by itself; it is chosen for by itself from 20. */
#define IFM_LEARN_OPERATOR_CASES 30
#define IFM_LEARN_OPERATOR_PREFIX "operator " /* of the part of an IfmLearnError */

/** IfmOperatorChoice: how the latency of an operator without load is predicted. @group: that it was chosen for: the
 * operator, "other Conv", "others"    @first, @second: the mean of the logarithms of two ways; of one where they are equal
 * @far_first, @far_second: the same for kernels that are far from those that were learnt from
 * @n: cases of the group    @mape, @linear: mean errors of the choice and of a line for each operator, in cross-validation
 * over configurations and, where there are enough, families: a case counts once in each; NaN: it was not compared */
typedef struct
{
    char *name, *group;
    int first, second, far_first, far_second; /* LearnWay */
    gint64 n;
    double mape, linear;
} IfmOperatorChoice;

/** ifm_operator_choice_text: (transfer full) "smooth", "boosted and forest"    @far: of kernels that are far */
char *ifm_operator_choice_text(const IfmOperatorChoice *choice, gboolean far);

json_t *ifm_latency_model_to_json(const IfmLatencyModel *model);
IfmLatencyModel *ifm_latency_model_from_json(const json_t *json, const char *where, GError **error);

/** IfmPredictedLatency: @latency_ns: at idle the typical (median) one, under load the mean of several runs
 * @low_ns, @high_ns: hold it with probability IFM_LEARN_COVERAGE, of loads of the kinds that were trained on; they are
 * calibrated by what is known of the load: its share, its kind, or metrics    @roofline_ns: of the peaks found in the
 * training data
 * @known: the operator was in the training data; else it is predicted as one that begins alike, or the roofline is scaled
 * @in_range: all features are in the ranges
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

/** ifm_load_state_await: ifm_load_state_prometheus() of a server that may not have scraped twice yet: as
 * ifm_prometheus_await_load(). @wait: NULL: it does not wait */
gboolean ifm_load_state_await(const char *url, const int *cores, gsize n_cores, gint64 window_ns,
                              const IfmPrometheusWait *wait, IfmLoadState *load, GError **error);

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

/**
 * ifm_latency_model_place: Predictions from here on are for this machine, which need not be among those that were learnt
 * from. @machine: (nullable) copied; NULL: that of the model, where it was learnt on one alone
 * Returns: FALSE with IFM_ERROR_INVALID: NULL for a model of several machines, or a machine for one that was learnt on one
 * alone, which knows nothing of others.
 */
gboolean ifm_latency_model_place(IfmLatencyModel *model, const IfmMachine *machine, GError **error);

/** ifm_latency_model_find_machine: (transfer none) one of those that were learnt from, by its name; NULL: none is. */
const IfmMachine *ifm_latency_model_find_machine(const IfmLatencyModel *model, const char *name);

/** ifm_latency_model_outside_machines: (transfer full) What of the machine that is predicted for is outside of those that
 * were learnt from: "flop_per_s 6.7e+13, learnt from 5.7e+12 to 1.9e+13"; NULL: nothing is. */
char *ifm_latency_model_outside_machines(const IfmLatencyModel *model);

/** ifm_latency_model_set_overhead: What a node costs beside its kernel, once fitted to whole models. */
void ifm_latency_model_set_overhead(IfmLatencyModel *model, double node_overhead_ns);

/* --- how well ------------------------------------------------------------------------------------------------------ */

/**
 * IfmLearnError: errors of one way to predict under one protocol, on rows that it was not trained on.
 * @protocol: "held-out configurations", "family unseen, its exact shapes", "family unseen, all its shapes",
 * "level unseen, same cores", …    @method: that of the model, "chosen"; a baseline: "flop", "roofline", "linear", "idle"
 * (the load is ignored), "time-sharing"; the model where the kind of load is not known: "share alone", and with metrics
 * instead: "metrics"    @part: "all", ">= 20 us", "< 20 us", "family NAME", "models" (sums over each model's kernels),
 * "operator NAME" of IFM_LEARN_OPERATOR_CASES or more
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

/** IfmLearnLeftOut: a kernel without load, by what was learnt from kernels of other configurations. @kernel_id, @op_type:
 * borrowed from the samples    @of_model: it is one of a model, not of other sizes */
typedef struct
{
    const char *kernel_id, *op_type;
    gboolean of_model;
    double measured_ns, predicted_ns;
} IfmLearnLeftOut;

/** IfmLearnChoice: whether a kernel may be learnt from. */
typedef gboolean (*IfmLearnChoice)(const IfmKernelSample *sample, gpointer user);

/** ifm_learn_left_out: By cross-validation over configurations, each operator in the way that is best of it
 * there; the same samples give the same. @may: NULL: all
 * Returns: (transfer full) IfmLearnLeftOut, of all kernels whoever may be learnt from; NULL with the errors of
 * ifm_learn_train(). */
GArray *ifm_learn_left_out(const IfmKernelSamples *samples, const IfmLearnOptions *options, IfmLearnChoice may,
                           gpointer user, GError **error);

/* --- evaluating ---------------------------------------------------------------------------------------------------- */

/** IfmEvaluated: a model, or with @record a kernel of it (its first digest), @times: how often it is in the model. @load:
 * "idle", or as asked for. Times are medians when idle, means under load; measured_ns: NaN with @reason
 * @std_ns: of the measured runs    @asked, @achieved: share of the time of the load, NaN: idle    @same: on the same cores
 * @kernels_ns: of a whole model: of its kernels as measured each by itself, NaN: they were not
 * @unknown: operators that were not learnt from, @outside: what is outside of the training data, in words; NULL: nothing */
typedef struct
{
    char *model, *load, *reason, *unknown, *outside;
    const IfmKernelRecords *records; /* (nullable) those of the model */
    const IfmKernelRecord *record;   /* NULL: the whole model */
    gint64 times;
    double measured_ns, predicted_ns, low_ns, high_ns, std_ns, kernels_ns, asked, achieved;
    gboolean same;
} IfmEvaluated;

/** ifm_evaluated_why: (transfer full) Why a row has no latency, or is off by more than 10 % or outside of its interval, as
 * far as it can be shown: an operator or sizes that were not learnt, another load than asked for, the noise of the
 * measurement (a standard deviation of at least half of what it is off by), or that it is none of these. NULL: it is not.
 */
char *ifm_evaluated_why(const IfmEvaluated *row);

/* --- lines --------------------------------------------------------------------------------------------------------- */

#define IFM_LINE_MAX_TERMS 8

/** ifm_fit_line: Weights of the terms, none below 0, by least squares of relative errors.
 * @terms: [n x n_terms], n_terms up to IFM_LINE_MAX_TERMS    @y: [n], above 0    @weights: (out) [n_terms] */
void ifm_fit_line(const double *terms, const double *y, gsize n, gsize n_terms, double *weights);

/* --- smooth functions ---------------------------------------------------------------------------------------------- */

/** IfmSmooth: a smooth function through scattered points, which goes back to 0 far from all of them. */
typedef struct IfmSmooth IfmSmooth;

/** IfmSmoothPoints: @x: [n x n_columns], scaled so that a step of 1 counts alike in all columns    @y: [n], around 0
 * @groups: [n] what is left out together; used with @left_out alone */
typedef struct
{
    const double *x, *y;
    const guint *groups;
    gsize n, n_columns;
} IfmSmoothPoints;

/**
 * ifm_smooth_new: The mean of a Gaussian process with Matérn's kernel of 3/2.
 * Equals: y(x) = sum w[i] k(x, x[i]), (K + noise I) w = y, k(a, b) = (1 + d) exp(-d), d = sqrt(3) |a - b| / reach
 * @noise: above 0: the variance of a single y over that of the function
 * @left_out: (out) (nullable) [n] of each point the value without its group
 * Returns: (transfer full) NULL where the points are no numbers
 * Source: Rasmussen and Williams, Gaussian Processes for Machine Learning, 2.2, 4.2, 5.4
 */
IfmSmooth *ifm_smooth_new(const IfmSmoothPoints *points, double reach, double noise, double *left_out);
void ifm_smooth_free(IfmSmooth *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmSmooth, ifm_smooth_free)

/** ifm_smooth_at: @x: [n_columns] */
double ifm_smooth_at(const IfmSmooth *self, const double *x);

/* --- predicting a model -------------------------------------------------------------------------------------------- */

/* The latency of a whole model from its kernels. */

/** IfmLatencySum: of kernels, with its interval: kernels of one operator are taken to be wrong together, different
 * operators independently. ifm_latency_sum_add: @times: how often the kernel is run    ifm_latency_sum_end: Returns: ns */
typedef struct IfmLatencySum IfmLatencySum;
IfmLatencySum *ifm_latency_sum_new(void);
void ifm_latency_sum_free(IfmLatencySum *sum);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmLatencySum, ifm_latency_sum_free)
void ifm_latency_sum_add(IfmLatencySum *sum, const char *operator_name, const IfmPredictedLatency *predicted, double times);
double ifm_latency_sum_end(const IfmLatencySum *sum, double *low_ns, double *high_ns);

/** IfmWholeTime: a model as it was measured, and the latencies of its kernels alone. */
typedef struct
{
    double measured_ns, kernels_ns;
    gsize n_kernels;
} IfmWholeTime;

/**
 * ifm_node_overhead: What a node costs beside its kernel, ns: by which sums over kernels are off least. In a ring of copies
 * a node has what it runs and what it reads of its own at hand, in a model it follows others.
 * Equals: the o of 0 to 2 us with the least sum over all models of |kernels_ns + o n_kernels - measured_ns| / measured_ns
 * @models: [n]    Returns: 0 of none
 */
double ifm_node_overhead(const IfmWholeTime *models, gsize n);

/** IfmPredictedKernel: @record: borrowed    @moves: it only gives data another shape, and costs a node's overhead alone */
typedef struct
{
    const IfmKernelRecord *record;
    IfmPredictedLatency predicted;
    gboolean moves;
} IfmPredictedKernel;

G_END_DECLS
