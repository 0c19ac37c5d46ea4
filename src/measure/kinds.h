/* Shared with other rooms: the kinds of cases and what each asks and answers. */
#pragma once
#include <jansson.h>

#include <dataset/dataset.h>
#include <inferometer/profile.h>

G_BEGIN_DECLS

/* --- a model ------------------------------------------------------------------------------------------------------- */

#define IFM_TOLERANCE_RUNS 5

/** IfmModelEnergy: what an inference of a model case with @energy used: joules with 95 % intervals, NaN where there are
 * none. Borrowed from the measurement.
 * @unavailable: why there is none; NULL where there is    @net_j: without what is used while nothing runs
 * @power_w: mean of the window, in which @n_runs ran    @idle_w: of a window before it, while nothing ran
 * @sampler_ratio: share of one processor that reading the counters took
 * @disagrees: counter and sampled power lie apart    @too_short: the window had too few updates of a counter
 */
typedef struct
{
    const char *source, *unavailable;
    gint64 n_runs, duration_ns;
    double gross_j, gross_lower_j, gross_upper_j;
    double net_j, net_lower_j, net_upper_j;
    double power_w, idle_w, sampler_ratio;
    gboolean disagrees, too_short;
} IfmModelEnergy;

/** ifm_model_energy: FALSE where none was asked for. @measurement: (nullable) */
gboolean ifm_model_energy(const IfmMeasurement *measurement, IfmModelEnergy *energy);

/** ifm_energy_source_check: whether a text names a source, as IfmModelCase.energy does. Returns: FALSE with IFM_ERROR_USAGE
 * where it names none; of a recording's file with IFM_ERROR_INVALID or IFM_ERROR_UNAVAILABLE */
gboolean ifm_energy_source_check(const char *text, GError **error);

/** ifm_model_convolutions: What ran of each convolution of a model case with @convolutions. @measurement: NULL: none
 * Returns: (transfer full) IfmConvLayer*, in the order of the graph; NULL where there is no such record. */
GPtrArray *ifm_model_convolutions(const IfmMeasurement *measurement);

/* --- a link between two devices ------------------------------------------------------------------------------------ */

/**
 * IfmLinkCase: moving a tensor from one device's memory to another's: what a pipeline pays to hand it over. A device with
 * memory of its own (IFM_CAN_BUFFERS) takes a copy from there to the host, or to there; two that share the host's memory
 * take one copy within it, which handing over a pointer saves. A device whose memory cannot be reached (own_memory without
 * IFM_CAN_BUFFERS) is handed tensors in host memory, too; what its runtime then moves is part of each inference's latency,
 * and not in here.
 */
typedef struct
{
    const char *from, *to; /* device specs */
    const char *from_alias, *to_alias;
    gint64 size_bytes;
    IfmProtocol protocol;
} IfmLinkCase;

/**
 * ifm_kind_link: IfmLinkCase. The sealed record: subject kind "link", device "FROM>TO", sizes {"bytes"}; IFM_ERROR_INVALID
 * for a size below 1. Measured in a worker that has both devices, the copies made on the receiving device's cores (where it
 * has none, the sender's). As ifm_runner_measure(). A simulated device together with a real one goes by the real clock.
 * Its result: {"copies": 1 or 2, "shared": whether a pointer would do, since both compute in the host's memory or
 * are one device, "within_inference": [those of the two devices whose runtime moves the tensor once more within each
 * inference], "around_inference": [those to and from whose memory a pipeline copies itself, around each inference: what is
 * measured of them from host tensors holds these copies], "assumed": whether a simulated device's copy takes a time that
 * was not measured}.
 */
extern const IfmCaseKind ifm_kind_link;

/** IfmLinkResult: of ifm_kind_link. The lists are of device specs, NULL-terminated; NULL where no device is in it. */
typedef struct
{
    int copies;
    gboolean shared, assumed;
    const char *const *within_inference, *const *around_inference;
    GPtrArray *lists; /* owns the lists; their texts are borrowed from the measurement */
} IfmLinkResult;

/** ifm_link_result: Clear it also where it returns FALSE: there is no result, or the measurement is of another kind. */
gboolean ifm_link_result(const IfmMeasurement *link, IfmLinkResult *result);
void ifm_link_result_clear(IfmLinkResult *result);

/* --- a pipeline's run ---------------------------------------------------------------------------------------------- */

/** IfmPlanGraph: a graph of the stream. @kind: "uniform", "power-law" or a path (nodes and edges may then be 0).
 * @parts: above 1: so many subgraphs of ifm_graph_partition(), each a batch, compared with their rows of the whole */
typedef struct
{
    const char *kind;
    gint64 nodes, edges;
    guint32 seed;
    gint64 parts;
} IfmPlanGraph;

/**
 * IfmPlanCase: a plan, run on a stream of batches in one worker that has all of its devices. Its batches are the graphs in
 * turn, features seeded, each graph's plan its own.
 * @plans: [n_graphs] JSON of the plan of each graph (pipeline.h); equal ones are compiled once
 */
typedef struct
{
    const json_t *const *plans;
    const IfmPlanGraph *graphs;
    gsize n_graphs;
    IfmStageSizes sizes; /* features, hidden */
    gsize n_batches;     /* a repetition; with several graphs they alternate in groups of equal plans */
    int queue_depth, block_depth;
    const char *device_time; /* "on", "off", "sampled" */
    gint64 watchdog_ns;
    gboolean verify;          /* every batch's outputs against those of the single-device reference */
    double rtol, atol;        /* 0, 0: by dtype */
    const json_t *fallbacks;  /* of ifm_plan_fallbacks(): plans for the devices left after a failure; NULL: stop */
    const json_t *prediction; /* kept with the case's measurement; made before the run, or NULL */
    const char *trace_path;   /* where the worker writes the trace of the last repetition, or NULL */
    const char *cache_dir;
    guint32 seed;
    gsize repetitions; /* at least 1; one more goes before, as warm-up. With a @ci_ratio so many at most */
    /* above 0: repetitions until half the interval of their median makespan is at most this part of it, by the rule of
     * IfmProtocol: from @min_repetitions on (0: 10, or @repetitions where they are fewer), in @time_budget_ns (0: no
     * limit; with the warm-up) */
    double ci_ratio;
    gsize min_repetitions;
    gint64 time_budget_ns;
    /* also, interleaved with each repetition: each device of the plans alone on whole batches, and all of them at once,
     * each on whole batches of its own: the bound that a plan's throughput is held against */
    gboolean bound;
} IfmPlanCase;

/** ifm_kind_pipeline: IfmPlanCase. The sealed record: subject kind "plan", the model's name, device "SPEC+SPEC" and alias
 * "CPU+GPU" of the plans' blocks, sizes {"nodes", "edges" (of the largest graph), "batches"}. Prediction, trace and cache
 * are no part of its key. Depths and a watchdog of 0 are the pipeline's own, device_time NULL is "off". IFM_ERROR_INVALID
 * for fewer than 2 batches, a plan without a model or devices, one alias with two devices, and the errors of
 * ifm_plan_from_json(). Measured: samples_ns are the times between two batches leaving, from the first one's on; their
 * summary's mean is the cycle. Its result: {"repetitions": [{"makespan_ns", "n_batches", "latency": {percentiles},
 * "stages":
 * [...], …}], figures over repetitions, "bound": {"solo": {ALIAS: rate}, "together": {ALIAS: rate}, "gain", "attained", …}
 * or null, "prediction", "replans", "device_time_slow_down", "plans"}: docs/formats.md, and docs/measuring.md on the bound.
 * FAILED with the pipeline's reason; the trace so far is written in every case but that of a worker that crashed. A device
 * that it went on without and that does not answer is in environment.lost_devices. Interrupted, it keeps what it has.
 */
extern const IfmCaseKind ifm_kind_pipeline;

/** IfmPlanRunResult: of ifm_kind_pipeline: medians over repetitions; NaN where there is none. What is not one figure is
 * borrowed from the measurement; NULL where there is none. */
typedef struct
{
    gsize n_repetitions, n_replans;
    double makespan_ns, throughput_per_s, rate_per_s, device_time_slow_down;
    double gain, attained; /* of the bound */
    const json_t *repetitions, *bound, *prediction, *plans;
} IfmPlanRunResult;

/** ifm_plan_run_result: Returns: FALSE where no repetition was whole, or it is of another kind. @measurement: NULL: none */
gboolean ifm_plan_run_result(const IfmMeasurement *measurement, IfmPlanRunResult *result);

/* --- the peak of a device ------------------------------------------------------------------------------------------ */

/**
 * IfmPeakCase: what a device can at most: a matrix product and a triad.
 * The product: square MatMuls of growing size through the device's own engine, the best rate counts. The triad
 * (a = b + s c, arrays that no cache holds): on a device that computes in host memory by plain loops on its cores, as many
 * threads as it has; on another through its engine. A simulated device gives the peak in its description.
 */
typedef struct
{
    const char *device;    /* spec; its streams make no difference and are left out of the record */
    const char *alias;     /* or NULL */
    IfmDtype dtype;        /* f32 (UNDEFINED: that), f64, f16 or bf16 */
    int threads;           /* as of a model case */
    gint64 time_budget_ns; /* 0: IFM_PEAK_BUDGET_NS */
} IfmPeakCase;
#define IFM_PEAK_BUDGET_NS (20 * G_GINT64_CONSTANT(1000000000))

/** ifm_kind_peak: IfmPeakCase. The sealed record: subject kind and name "peak". Its key has machine, engine version,
 * device, dtype and threads, and of a device without cores of its own how many processors this process may use, so that a
 * peak is measured once a machine and looked up from then on. IFM_ERROR_INVALID for another dtype, threads below 0, a
 * budget below 0. Its result: {"flop_per_s", "flop_interval": [lower, upper], "bytes_per_s", "bytes_interval", "products":
 * [{"size", "flop_per_s"}], "triad_bytes", "caches": [{"level", "bytes", "bytes_per_s", "n"}], "threads", "source":
 * "measured" | "described", …}: docs/formats.md. samples_ns are those of the best product; there are none of a described
 * one. As ifm_runner_measure(), but that half a peak is none: interrupted, it is NULL with IFM_ERROR_CANCELLED. */
extern const IfmCaseKind ifm_kind_peak;
#define IFM_PEAK_MAX_CACHES 3

/** IfmPeakResult: of ifm_kind_peak. @described: from the description of a simulated device, not measured */
typedef struct
{
    double flop_per_s, bytes_per_s;
    IfmInterval flop_interval, bytes_interval; /* their level is that of the summary */
    /* of the same triad in caches, from the innermost: what they hold for the device's cores, and how fast; not slower than
     * the one behind them */
    struct
    {
        double bytes, bytes_per_s;
    } caches[IFM_PEAK_MAX_CACHES];
    gsize n_caches;
    gboolean described;
} IfmPeakResult;

/** ifm_peak_result: Returns: FALSE, and NaN in @result, where there is none: it failed, or is of another kind. @peak: NULL:
 * none either */
gboolean ifm_peak_result(const IfmMeasurement *peak, IfmPeakResult *result);

/* --- in this process ----------------------------------------------------------------------------------------------- */

/** IFM_HOST_DEVICE: the device of a case that is measured in this process. */
#define IFM_HOST_DEVICE "host:CPU"

/**
 * IfmCallbackCase: a function of the program's own. The function is no part of the key: @name, @version and @sizes
 * distinguish one from another.
 */
typedef struct
{
    const char *name; /* NULL: the subject's */
    IfmSubject subject;
    const char *version; /* of what is measured, since a function has no digest; or NULL */
    const IfmDimBinding *sizes;
    gsize n_sizes;
    IfmProtocol protocol;
} IfmCallbackCase;

/** ifm_kind_callback: IfmCallbackCase. The sealed record: subject kind "callback", device "host:CPU". Measured in this
 * process, on the thread that asks. IFM_ERROR_INVALID for one without a name or a function. */
extern const IfmCaseKind ifm_kind_callback;

/**
 * IfmEncodingCase: computing a positional encoding of a graph.
 * @known: (optional) what computing it gave before; each run has to give the same. Where @known_ns, what that took, is not
 * below the time budget of a protocol with the rule, it is the case's one run; @known_seen: snapshots (sensor.h) around it
 * @watch: (optional) asked within a run, as the runner's interruption and its limit of a case's time are
 */
typedef struct
{
    const IfmGraph *graph;
    IfmPositionalEncoding encoding; /* but none */
    gint64 dim;
    IfmProtocol protocol;
    const IfmEncoding *known;
    gint64 known_ns;
    const json_t *known_seen[2];
    IfmEncodingWatch watch;
    void *watch_user;
    const char *case_time_said, *time_budget_said; /* how messages call those times, "5 s (--case-timeout)"; or NULL */
} IfmEncodingCase;

/** ifm_kind_encoding: IfmEncodingCase. The sealed record: subject kind "encoding", device "host:CPU", sizes {"nodes",
 * "edges", "graphs"}; its key has the graph's digest. Measured in this process, on the thread that asks. IFM_ERROR_INVALID
 * for no graph or no encoding; FAILED with the encoding's own error, IFM_ERROR_TIMEOUT beyond the limit of a case's time,
 * or where two runs give other numbers. */
extern const IfmCaseKind ifm_kind_encoding;

/* --- kinds of cases ------------------------------------------------------------------------------------------------ */

/* What a profile asks of its cases. */

/** IfmObservedShapes: @shapes: IfmObservedShape, whose names are borrowed from @names. */
typedef struct
{
    GArray *shapes;
    json_t *names;
} IfmObservedShapes;
void ifm_observed_shapes_clear(IfmObservedShapes *observed);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmObservedShapes, ifm_observed_shapes_clear)

/** ifm_runner_observe: What shapes the model's tensors had in one run, unoptimised, for ifm_model_analyse_with(); of what
 * the runtime does not report there is none. Errors: those of compiling and inferring; IFM_ERROR_UNSUPPORTED where
 * the runtime reports no shapes. */
gboolean ifm_runner_observe(IfmRunner *runner, const IfmModelCase *model_case, IfmObservedShapes *observed, GError **error);

/** ifm_runner_nodes: What nodes a runtime makes of a case's model, and of which of the model's each is (breakdown.parts):
 * some runs that are no measurement of it. @version: (out) (transfer full) of the runtime    Returns: (transfer full) a
 * record with nodes alone, without any where the runtime does not report them; NULL with the errors of compiling and
 * inferring. */
IfmMeasurement *ifm_runner_nodes(IfmRunner *runner, const IfmModelCase *model_case, char **version, GError **error);

/** ifm_runner_tune: What a model with regions runs its convolutions best by, as ifm_request_tune() measures it. @level:
 * IfmTuneLevel    @plain: file of the same model without regions; beside it the graph is written that the runtime makes of
 * it
 * Returns: (transfer full) IfmTunedLayer*; NULL with its errors */
GPtrArray *ifm_runner_tune(IfmRunner *runner, const IfmModelCase *model_case, int level, const char *plain, GError **error);

/** IfmOptimisedFile: a graph to write. @keep_layout, @keep_operators: IfmCompileOptions has them; with keep_operators free
 * dimensions stay free    @outline: without its large weights */
typedef struct
{
    const char *path;
    gboolean keep_layout, outline, keep_operators;
} IfmOptimisedFile;

/** ifm_runner_optimise: Has the runtime of a case optimise its model for its device, and writes the graphs that result.
 * @version: (out) (optional) (transfer full) of the runtime    Errors: those of compiling; IFM_ERROR_UNSUPPORTED where a
 * runtime cannot save its graph. */
gboolean ifm_runner_optimise(IfmRunner *runner, const IfmModelCase *model_case, const IfmOptimisedFile *files, gsize n,
                             char **version, GError **error);

/**
 * ifm_peak_counts: Which of two peaks of one case counts from now on: the new one if it is not in doubt, else the higher
 * one (by the product of FLOP/s and bytes/s), since other load lowers a peak and nothing raises it. If the one that counts
 * is committed, the latest in a store is the one that counts.
 * @before: what the store has; NULL: none    Returns: whether it is @peak
 */
gboolean ifm_peak_counts(const IfmMeasurement *peak, const IfmMeasurement *before);

/** ifm_peak_doubt: Why a measured limit may be too low. (transfer full) NULL where nothing speaks for that. */
char *ifm_peak_doubt(const IfmMeasurement *peak);

/** ifm_peak_is_measured: FALSE for one that failed, and for the described peak of a simulated device, which costs nothing
 * to ask for again. */
gboolean ifm_peak_is_measured(const IfmMeasurement *peak);

/** ifm_devices_share_core: The first core that two devices, by their specs, are both pinned to: they take turns there,
 * which is another thing than working at once. -1: none, or one of them is simulated. */
int ifm_devices_share_core(const char *a, const char *b);

G_END_DECLS
