#pragma once
#include <inferometer/pipeline.h>
#include <inferometer/statistics.h>
#include <inferometer/store.h>

G_BEGIN_DECLS

/* --- the stopping rule ------------------------------------------------------------------------------------------------ */

/** IfmProtocol: when to stop. Fixed counts where @runs > 0, else the rule. */
typedef struct
{
    gsize warmup;    /* fixed: this many. Rule: at least this many, until the latency is steady */
    gsize runs;      /* fixed: exactly this many; 0: the rule below */
    double ci_ratio; /* target half-width of the median's interval / median: 0.01 */
    double level;    /* 0.95 */
    gsize least_runs, most_runs;
    /* for warm-up and runs together, of the rule alone: warm-up ends by a quarter of it, and no interval stops before a
     * 50th, so that short runs see slow changes, too; 0: none of that */
    gint64 time_budget_ns;
} IfmProtocol;

#define IFM_PROTOCOL_INIT                                                                                                  \
    ((IfmProtocol){ .warmup = 3,                                                                                           \
                    .ci_ratio = 0.01,                                                                                      \
                    .level = 0.95,                                                                                         \
                    .least_runs = 20,                                                                                      \
                    .most_runs = 20000,                                                                                    \
                    .time_budget_ns = 20 * G_GINT64_CONSTANT(1000000000) })

/** IFM_PROTOCOL_MOST_RUNS: more samples than this do not fit a record: a worker's message has 256 MiB for warm-up and runs.
 */
#define IFM_PROTOCOL_MOST_RUNS 5000000

/** ifm_protocol_check: for a case that a worker measures. Returns: FALSE with IFM_ERROR_INVALID naming the count. */
gboolean ifm_protocol_check(const IfmProtocol *protocol, GError **error);
/** ifm_protocol_to_json: what of it defines a case: the counts, or the rule with all that may end it. (transfer full) */
json_t *ifm_protocol_to_json(const IfmProtocol *protocol);

/** IfmStopper: the rule as an object: feed it samples, it says when to stop. Pure: no clock, no I/O. */
typedef struct IfmStopper IfmStopper;
IfmStopper *ifm_stopper_new(const IfmProtocol *protocol);
void ifm_stopper_free(IfmStopper *stopper);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmStopper, ifm_stopper_free)

typedef enum
{
    IFM_STOP_GO_ON = 0,
    IFM_STOP_FIXED,    /* the counts asked for are reached */
    IFM_STOP_INTERVAL, /* the interval is narrow enough */
    IFM_STOP_MOST_RUNS,
    IFM_STOP_TIME_BUDGET,
    IFM_STOP_INTERRUPTED, /* somebody asked; what was measured is kept */
} IfmStopReason;
const char *ifm_stop_reason_name(IfmStopReason reason);

/**
 * ifm_stopper_warm: One warm-up sample. Returns: TRUE once warm-up is over: the latency is steady (no trend and no step
 * between the halves of the last window), or fixed counts or a quarter of the budget are reached.
 */
gboolean ifm_stopper_warm(IfmStopper *stopper, gint64 sample_ns, gint64 elapsed_ns);
/** ifm_stopper_add: One measured sample. @elapsed_ns: since the first warm-up run began. */
IfmStopReason ifm_stopper_add(IfmStopper *stopper, gint64 sample_ns, gint64 elapsed_ns);
/** ifm_stopper_steady: whether warm-up ended because the latency was steady. */
gboolean ifm_stopper_steady(const IfmStopper *stopper);

/* --- a subject, measured in this process --------------------------------------------------------------------------------
 */

/**
 * IfmSubject: anything that can be run again and again. All slots but run may be NULL.
 * A C user measures a function of their own with this, ifm_measure_subject() and nothing else.
 */
typedef struct
{
    const char *name;
    IfmClock *clock; /* NULL: a real clock */
    /* run: once. The time is taken around this call: no allocation, logging or locking in it that is not the subject's. */
    gboolean (*run)(void *self, GError **error);
    /* invoke: runs @function on the thread where the loop should be timed, and waits. NULL: the caller's. */
    void (*invoke)(void *self, void (*function)(void *user), void *user);
    /* verify: outside timed regions: after the first run, about every second, and after the last. FALSE: a failed
     * measurement. */
    gboolean (*verify)(void *self, GError **error);
    void *self;
} IfmSubject;

typedef struct
{
    IfmProtocol protocol;
    /* (atomic) (optional) non-zero: finish now, keep what was measured. A run that heeds it, too, ends with
     * IFM_ERROR_CANCELLED: it is then none, and those before it stay. */
    const gint *interrupted;
    /* progress: (optional) called between runs, at most about 5 times a second. */
    void (*progress)(gsize n, double median_ns, double ci_ratio, void *user);
    void *progress_user;
} IfmMeasureOptions;

/**
 * ifm_measure_subject: Warm-up, then runs until the protocol says stop.
 * @measurement: its warm-up, samples, summary, stop reason, outcome, verification and warnings are filled.
 * Returns: FALSE with the subject's own error (outcome FAILED, reason set, too: the record can be stored).
 */
gboolean ifm_measure_subject(const IfmSubject *subject, const IfmMeasureOptions *options, IfmMeasurement *measurement,
                             GError **error);

/**
 * ifm_measure_one_run: The record of one run that was timed elsewhere, for a subject of which a second run would be beyond
 * the protocol's time budget: one sample, no warm-up, stop reason "time-budget", with @why as a warning.
 * @run_ns: what the run took    @why: "computed once: …"
 */
void ifm_measure_one_run(gint64 run_ns, const IfmProtocol *protocol, const char *why, IfmMeasurement *measurement);

/** ifm_summary_to_json: NaN as null. (transfer full) */
json_t *ifm_summary_to_json(const IfmSummary *summary);

/* --- cases, measured in workers -----------------------------------------------------------------------------------------
 */

/** IfmLimits: what a case may take before its worker is ended; 0: no limit. */
typedef struct
{
    gint64 case_time_ns; /* the whole case */
    gint64 hang_ns;      /* one step: compile, or one run without progress (where a phase makes several steps without a word
                            in between, as attesting does, that many times this) */
    /* growth of the worker's resident memory over what it has with its runtime open and no model, the same point for every
     * case; what opening the runtime takes does not count */
    gint64 memory_bytes;
} IfmLimits;

#define IFM_LIMITS_INIT ((IfmLimits){ .hang_ns = 60 * G_GINT64_CONSTANT(1000000000) })

/** IfmLoadDevice: a device that works while another is measured: it infers @model_path again and again, with the case's own
 * sizes, inputs and seed, in the same worker. */
typedef struct
{
    const char *alias, *device, *model_path;
    const char *inputs_path; /* where its model is of another form, with inputs of its own; NULL: the case's */
    gboolean free_shapes;
} IfmLoadDevice;

/** IfmModelCase: all a worker needs to measure a model on a device. */
typedef struct
{
    const char *model_path;   /* an ONNX file */
    const char *model_name;   /* what people call it */
    const char *device;       /* device spec; with #N the latency is that of one stream while the N - 1 others infer too */
    const char *alias;        /* or NULL */
    const char *subject_kind; /* "stage"; NULL: "model" */
    const IfmDimBinding *bindings;
    gsize n_bindings;
    const IfmDimBinding *sizes; /* what the case is recorded under; NULL: the bindings */
    gsize n_sizes;
    gboolean free_shapes; /* compile with free dimensions left free: the bindings are the inputs' sizes alone */
    const char
        *inputs_path;      /* a tensor file (tensor-file.h): ports named in it get those, the others are seeded; or NULL */
    const char *cache_dir; /* folder where the device may keep compiled models; not part of the case's key; or NULL */
    IfmDtype dtype;
    int threads;
    const char *const *vendor; /* "KEY=VALUE", or NULL */
    guint32 seed;
    IfmProtocol protocol;
    gboolean profile; /* also a profiled twin: nodes and books */
    /* with @profile: a few runs of the twin, for the nodes' shares of the time alone: its books have no bound */
    gboolean profile_few;
    gboolean verify;   /* compare with the reference (onnxruntime:CPU, optimisation off) */
    double rtol, atol; /* of that comparison; 0, 0: by dtype */
    /* an output of several numbers of which some are off is right, too, where the root mean square of the differences is
     * within 10 rtol of the reference's: gradients jump where a rounding moves a rectifier or a maximum; or within rtol /
     * 1000 of that of the reference's largest output: what is 0 but for roundings */
    gboolean as_wholes;
    gboolean native_async;
    /* devices that are busy meanwhile, from before warm-up until after the last run; part of the case's key (load). How
     * many inferences each made, and that none failed, is in surroundings.load_beside; one that failed fails the case. */
    const IfmLoadDevice *load;
    gsize n_load;
} IfmModelCase;

/**
 * IfmRunner: runs cases one at a time, each device set in a worker process of its own, replaced when it dies.
 * Used and freed on the thread that made it, which must outlive it: the workers end with the thread that started them.
 * Simulated devices go by a virtual clock there, unless $IFM_SIMULATED_CLOCK is "real".
 */
typedef struct IfmRunner IfmRunner;

typedef struct
{
    IfmLimits limits;
    const gint *interrupted; /* as above */
    void (*progress)(const char *phase, gsize n, double median_ns, double ci_ratio, void *user);
    void *progress_user;
} IfmRunnerOptions;

IfmRunner *ifm_runner_new(const IfmRunnerOptions *options);
/** ifm_runner_free: Ends every worker and waits for it. */
void ifm_runner_free(IfmRunner *runner);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmRunner, ifm_runner_free)

/**
 * ifm_runner_case: The sealed case record of a model case: checks the protocol, opens the model, checks bindings, asks a
 * worker for the engine's version. Errors: those of the protocol, the model and the device spec; IFM_ERROR_UNAVAILABLE
 * where the runtime is missing.
 */
IfmCase *ifm_runner_case(IfmRunner *runner, const IfmModelCase *model_case, GError **error);

/**
 * ifm_runner_measure: Measures it in a worker.
 * Returns: (transfer full) a measurement: OK, FAILED (refused, failed, crashed, hung, lost, out of memory, wrong output) or
 * SKIPPED (the device was lost earlier and still is), with its reason. NULL with IFM_ERROR_CANCELLED where interrupted
 * before there was a sample, or with IFM_ERROR_UNAVAILABLE where no worker can be started at all.
 */
IfmMeasurement *ifm_runner_measure(IfmRunner *runner, const IfmModelCase *model_case, const IfmCase *sealed,
                                   GError **error);

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

/** ifm_runner_link_case: The sealed record: subject kind "link", device "FROM>TO", sizes {"bytes"}. Errors: those of the
 * protocol and the specs; IFM_ERROR_INVALID for a size below 1; IFM_ERROR_UNAVAILABLE where a runtime is missing. */
IfmCase *ifm_runner_link_case(IfmRunner *runner, const IfmLinkCase *link_case, GError **error);
/**
 * ifm_runner_measure_link: In a worker that has both devices, the copies made on the receiving device's cores (where it has
 * none, the sender's). As ifm_runner_measure(). A simulated device together with a real one goes by the real clock.
 * surroundings.link = {"copies": 1 or 2, "shared": whether a pointer would do, since both compute in the host's memory or
 * are one device, "within_inference": [those of the two devices whose runtime moves the tensor once more within each
 * inference], "around_inference": [those to and from whose memory a pipeline copies itself, around each inference: what is
 * measured of them from host tensors holds these copies], "assumed": whether a simulated device's copy takes a time that
 * nobody measured}.
 */
IfmMeasurement *ifm_runner_measure_link(IfmRunner *runner, const IfmLinkCase *link_case, const IfmCase *sealed,
                                        GError **error);

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
     * IfmProtocol: from @least_repetitions on (0: 10, or @repetitions where they are fewer), in @time_budget_ns (0: no
     * limit; with the warm-up) */
    double ci_ratio;
    gsize least_repetitions;
    gint64 time_budget_ns;
    /* also, interleaved with each repetition: each device of the plans alone on whole batches, and all of them at once,
     * each on whole batches of its own: the bound that a plan's throughput is held against */
    gboolean bound;
} IfmPlanCase;

/** ifm_runner_plan_case: The sealed record: subject kind "plan", the model's name, device "SPEC+SPEC" and alias "CPU+GPU"
 * of the plans' blocks, sizes {"nodes", "edges" (of the largest graph), "batches"}. Prediction, trace and cache are no part
 * of its key. Depths and a watchdog of 0 are the pipeline's own, device_time NULL is "off". IFM_ERROR_INVALID for fewer
 * than 2 batches, a plan without a model or devices, one alias with two devices, and the errors of ifm_plan_from_json(). */
IfmCase *ifm_runner_plan_case(IfmRunner *runner, const IfmPlanCase *plan_case, GError **error);
/**
 * ifm_runner_measure_plan: samples_ns are the times between two batches leaving, from the first one's on; their summary's
 * mean is the cycle. surroundings.plan = {"repetitions": [{"makespan_ns", "n_batches", "latency": {percentiles}, "stages":
 * [...], …}], figures over repetitions, "bound": {"solo": {ALIAS: rate}, "together": {ALIAS: rate}, "gain", "attained", …}
 * or null, "prediction", "replans", "device_time_slow_down", "plans"}: docs/formats.md, and docs/measuring.md on the bound.
 * FAILED with the pipeline's reason; the trace so far is written in every case but that of a worker that crashed. A device
 * that it went on without and that does not answer is in surroundings.lost_devices. Interrupted, it keeps what it has.
 */
IfmMeasurement *ifm_runner_measure_plan(IfmRunner *runner, const IfmPlanCase *plan_case, const IfmCase *sealed,
                                        GError **error);

/**
 * IfmLimitCase: what a device can at most: a matrix product and a triad.
 * The product: square MatMuls of growing size through the device's own engine, the best rate counts. The triad
 * (a = b + s c, arrays that no cache holds): on a device that computes in host memory by plain loops on its cores, as many
 * threads as it has; on another through its engine. A simulated device tells the limits it is described with.
 */
typedef struct
{
    const char *device;    /* spec; its streams make no difference and are left out of the record */
    const char *alias;     /* or NULL */
    IfmDtype dtype;        /* f32 (UNDEFINED: that), f64, f16 or bf16 */
    int threads;           /* as of a model case */
    gint64 time_budget_ns; /* 0: IFM_LIMIT_BUDGET_NS */
} IfmLimitCase;
#define IFM_LIMIT_BUDGET_NS (20 * G_GINT64_CONSTANT(1000000000))

/** ifm_runner_limit_case: The sealed record: subject kind "limit". Its key has machine, engine version, device, dtype and
 * threads, and of a device without cores of its own how many processors this process may use, so that a limit is measured
 * once a machine and looked up from then on. IFM_ERROR_INVALID for another dtype, threads below 0, a budget below 0. */
IfmCase *ifm_runner_limit_case(IfmRunner *runner, const IfmLimitCase *limit_case, GError **error);
/** ifm_runner_measure_limit: surroundings.limit = {"flop_per_s", "flop_interval": [lower, upper], "bytes_per_s",
 * "bytes_interval", "products": [{"size", "flop_per_s"}], "triad_bytes", "threads", "source": "measured" | "described", …}:
 * docs/formats.md. samples_ns are those of the best product; there are none of a described one. As ifm_runner_measure(),
 * but that half a limit is none: interrupted, it is NULL with IFM_ERROR_CANCELLED. */
IfmMeasurement *ifm_runner_measure_limit(IfmRunner *runner, const IfmLimitCase *limit_case, const IfmCase *sealed,
                                         GError **error);
/** ifm_limit_doubt: Why a measured limit may be too low. (transfer full) NULL where nothing speaks for that. */
char *ifm_limit_doubt(const IfmMeasurement *limit);
/**
 * ifm_limit_store: Which of two limits of one case counts from now on: the new one where it is not in doubt, else the
 * higher (by the product of FLOP/s and bytes/s), since what else ran lowers a limit and nothing raises it. It is committed
 * where it counts and was measured: so the latest in the store is the one that counts.
 * @before: what the store has; NULL: none    @counts: (out) whether it is @limit
 */
gboolean ifm_limit_store(IfmStore *store, const IfmCase *sealed, const IfmMeasurement *limit, const IfmMeasurement *before,
                         gboolean *counts, GError **error);

/** IfmObservedShapes: @shapes: IfmObservedShape, whose names are borrowed from @names. */
typedef struct
{
    GArray *shapes;
    json_t *names;
} IfmObservedShapes;
void ifm_observed_shapes_clear(IfmObservedShapes *observed);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmObservedShapes, ifm_observed_shapes_clear)

/** ifm_runner_observe: What shapes the model's tensors had in one run, unoptimised, for ifm_model_analyse_with(); of what
 * the runtime does not tell by itself there is none. Errors: those of compiling and inferring; IFM_ERROR_UNSUPPORTED where
 * the runtime tells no shapes. */
gboolean ifm_runner_observe(IfmRunner *runner, const IfmModelCase *model_case, IfmObservedShapes *observed, GError **error);

/** ifm_runner_find_device: Whether a device is here and answers, whatever cores and streams it is named with.
 * @description: (out) (optional) (transfer full) the hardware's name. Returns: FALSE with IFM_ERROR_UNAVAILABLE (no
 * runtime, no such device), IFM_ERROR_LOST (as if ifm_runner_set_lost() had been called), that of a wrong spec, or that of
 * a worker that ended over it. */
gboolean ifm_runner_find_device(IfmRunner *runner, const char *device, char **description, GError **error);
/** ifm_runner_set_lost: Says that a device was lost earlier, before this runner was made: it is tried again only once it
 * answers a probe. No effect where @device is no device spec. */
void ifm_runner_set_lost(IfmRunner *runner, const char *device, const char *why);

/** ifm_runner_devices: What one engine has, asked in a worker. Returns: (transfer full) {"engine", "version", "library",
 * "devices": [{"spec", "description", "capabilities": [...], "available", "reason"}]}; NULL with the reason. */
json_t *ifm_runner_devices(IfmRunner *runner, const char *engine, GError **error);

/**
 * ifm_worker_main: the worker program: serves requests on @fd until it closes. Call it before there is a second thread.
 * @device: (optional) whose cores all threads of the process shall keep to
 * Returns: the exit status.
 */
int ifm_worker_main(int fd, const char *device);

G_END_DECLS
