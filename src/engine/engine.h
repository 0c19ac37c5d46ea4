/* Shared with other rooms: models compiled for a device, requests, buffers and their times. */
#pragma once
#include <inferometer/engine.h>
#include <onnx/onnx.h>

G_BEGIN_DECLS

/* --- naming a device ----------------------------------------------------------------------------------------------- */

IfmDeviceSpec *ifm_device_spec_copy(const IfmDeviceSpec *spec);

/* --- engines and their devices ------------------------------------------------------------------------------------- */

/** IfmEngineCapability: what an engine or one of its devices can do. Callers test these bits instead of trying. */
typedef enum
{
    IFM_CAN_CORES = 1 << 0,          /* stays on the cores of its spec */
    IFM_CAN_STREAMS = 1 << 1,        /* several inferences at once */
    IFM_CAN_NATIVE_ASYNC = 1 << 2,   /* the runtime's own asynchrony (options.native_async) */
    IFM_CAN_CANCEL = 1 << 3,         /* ifm_request_cancel() ends a running inference early */
    IFM_CAN_PROFILE = 1 << 4,        /* per-node device time */
    IFM_CAN_NODE_STARTS = 1 << 5,    /* … with start times, so gaps between nodes are measured */
    IFM_CAN_MEMORY = 1 << 6,         /* allocator statistics */
    IFM_CAN_SAVE_OPTIMISED = 1 << 7, /* writes the optimised model as ONNX */
    IFM_CAN_FREE_SHAPES = 1 << 8,    /* shapes may differ from one inference to the next */
    IFM_CAN_SET_OUTPUT = 1 << 9,     /* writes into the caller's output memory */
    IFM_CAN_BUFFERS = 1 << 10,       /* memory of its own: buffer_alloc, copy, sync */
    IFM_CAN_CUSTOM_OPS = 1 << 11,    /* loads custom-operator libraries */
    /* computes the model. A device without this bit (a simulated one may lack it) reads no input. It writes at most the
     * first IFM_UNTRUE_OUTPUT_BYTES of an output, for its faults. */
    IFM_CAN_TRUE_OUTPUTS = 1 << 12,
    IFM_IS_SIMULATED = 1 << 13,
    IFM_CAN_CACHE = 1 << 14, /* keeps compiled models in a folder (options.cache_dir) */
    /* its profiles are means since it was compiled: an inference's own times are known if they are read after each */
    IFM_PROFILE_MEANS = 1 << 15,
} IfmEngineCapability;

#define IFM_UNTRUE_OUTPUT_BYTES 4096

typedef struct IfmCompiled IfmCompiled; /* a model compiled for a device; holds a reference on its model */
typedef struct IfmRequest IfmRequest;   /* one inference at a time */

/** IfmEngineInfo: borrowed from the engine. @version: the runtime's own version string. @library: the file that was opened;
 * "" for an engine without a library. @untested: that the version is outside those that were tested; NULL: it is not */
typedef struct
{
    const char *name, *version, *library, *untested;
    IfmClock *clock;
} IfmEngineInfo;
IfmEngineInfo ifm_engine_info(const IfmEngine *engine);

/* --- compiling ----------------------------------------------------------------------------------------------------- */

typedef struct
{
    IfmDtype dtype;                /* execution precision; default F32 */
    int threads;                   /* 0: as many as the spec has cores, else as this process may use */
    gboolean optimise;             /* graph optimisation; FALSE for the reference */
    gboolean keep_layout;          /* optimise without layouts of the runtime's own, such as blocked channels */
    gboolean keep_operators;       /* optimise without operators of the runtime's own: the graph is of no processor */
    gboolean profiling;            /* per-node times; slows the model down */
    gboolean native_async;         /* use the runtime's own asynchrony instead of the driver's threads */
    const IfmDimBinding *bindings; /* free dimensions to fix before compiling; the rest stay free */
    gsize n_bindings;
    const IfmDimBinding *sizes; /* named sizes of the inferences to come, for a simulated device's tables; or NULL */
    gsize n_sizes;
    const char *cache_dir;                  /* folder for compiled models, if the device has IFM_CAN_CACHE; or NULL */
    const char *save_optimised;             /* path, or NULL */
    gboolean save_outline;                  /* save_optimised without the large weights: for readers of the graph alone */
    const char *const *custom_op_libraries; /* NULL-terminated paths, or NULL */
    const char *const *vendor;              /* "KEY=VALUE" with the runtime's own keys, NULL-terminated, or NULL */
    /* convolution algorithms, NULL-terminated, or NULL: the runtime's own kernels. "winograd" for all layers,
     * "LAYER=direct" for one, "fallback=gemm" for those that the algorithm cannot do; "workspace=BYTES" */
    const char *const *convolutions;
    gboolean time_regions; /* for ifm_request_tune() */
    /* inputs and outputs stay in the device's own memory between inferences, so the latency is that of computing; it means
     * nothing where the device is not of IFM_DEVICE_NVIDIA */
    gboolean keep_tensors;
} IfmCompileOptions;

/** IfmDeviceTrait: what a kind of device is, whether this machine has one or not. */
typedef enum
{
    IFM_DEVICE_ELSEWHERE = 1 << 0, /* not the processor computes: a call returns early, or a thread waits */
    IFM_DEVICE_NVIDIA = 1 << 1,    /* a GPU whose memory CUDA reaches: options.keep_tensors is heeded */
    IFM_DEVICE_FUSES = 1 << 2,     /* optimises also where options.optimise is FALSE: equal nodes may become one */
} IfmDeviceTrait;

/** ifm_device_traits: @engine, @unit: as of IfmDeviceSpec    Returns: IfmDeviceTrait; 0 of what is not known */
guint32 ifm_device_traits(const char *engine, const char *unit);

#define IFM_COMPILE_OPTIONS_INIT ((IfmCompileOptions){ .dtype = IFM_DTYPE_F32, .optimise = TRUE })

/**
 * ifm_engine_compile: @model: kept by reference. @options: copied.
 * Returns: (transfer full) NULL with IFM_ERROR_UNSUPPORTED (the runtime's refusal, or a missing capability),
 * IFM_ERROR_UNAVAILABLE (no such device), IFM_ERROR_INVALID (cores that do not exist), IFM_ERROR_MEMORY,
 * IFM_ERROR_LOST.
 */
IfmCompiled *ifm_engine_compile(IfmEngine *engine, IfmModel *model, const IfmDeviceSpec *spec,
                                const IfmCompileOptions *options, GError **error);
void ifm_compiled_free(IfmCompiled *compiled);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmCompiled, ifm_compiled_free)

/** IfmCompiledInfo: @from_cache: it was read from options.cache_dir instead of being compiled. */
typedef struct
{
    guint32 capabilities;
    gboolean from_cache;
    gsize n_inputs, n_outputs;
} IfmCompiledInfo;
IfmCompiledInfo ifm_compiled_info(const IfmCompiled *compiled);

/** Ports as the runtime reports them after compiling; borrowed. */
const IfmPort *ifm_compiled_input(const IfmCompiled *compiled, gsize index);
const IfmPort *ifm_compiled_output(const IfmCompiled *compiled, gsize index);

/**
 * ifm_compiled_invoke: Runs @function on the executing thread of a stream and waits for it. Within @function
 * ifm_request_start() infers on that thread and returns when done: a loop timed there contains no hand-over. With
 * native asynchrony there is no such thread, and @function runs on the caller's.
 */
void ifm_compiled_invoke(IfmCompiled *compiled, int stream, void (*function)(void *user), void *user);

/** IfmNodeConfig: the effective configuration of one node. */
typedef struct
{
    char *name, *op_type, *provider, *implementation; /* "" if the runtime does not report it */
    /* of a product of integers the type of its first factor; else the lowest floating-point type of its tensors, or the
     * type of what it made; UNDEFINED if the runtime does not report it */
    IfmDtype dtype;
    /* what it computed in: "f32", "u8s8" (the two factors of integer products), "f32, int4 weights"; "" where it only moves
     * or casts data, and if the runtime does not report it */
    char *arithmetic;
} IfmNodeConfig;

/** IfmEffectiveConfig: the effective configuration of a compile, as the runtime and the kernel report it, not as the
 * options asked. */
typedef struct
{
    /* the lowest precision that any node computed in; of products of integers alone their first factor's; UNDEFINED if the
     * runtime does not report it */
    IfmDtype dtype;
    IfmDtype written; /* the precision that the model is written in */
    gboolean is_own;  /* @dtype is one that the model itself names: ifm_model_names_dtype() */
    int n_threads;    /* threads in /proc/self/task that took processor time while it ran, with the executing thread */
    int n_streams;    /* as the runtime reports it, else the number of executing threads */
    char *cores;      /* the affinity mask of those threads, "0-3" */
    gint64 first_ns;  /* the first inference after the compile, by the host's clock; 0: not on record */
    GPtrArray *nodes; /* IfmNodeConfig*; from one profiled run */
    GPtrArray *convolutions; /* IfmConvLayer*, in the order of the graph; NULL without options.convolutions */
    GPtrArray *notes;        /* char*: what else is to be known of how it ran; NULL: nothing */
    const char *
        why_one_thread; /* static: why the driver used one thread a stream although more were asked for; NULL: it did not */
} IfmEffectiveConfig;

/**
 * ifm_compiled_effective_config: Compiles the model a second time with profiling on, runs it once with @inputs and reports.
 * @inputs: [n inputs] borrowed    Returns: (transfer full) NULL with an error.
 */
IfmEffectiveConfig *ifm_compiled_effective_config(IfmCompiled *compiled, const IfmTensor *inputs, GError **error);
void ifm_effective_config_free(IfmEffectiveConfig *effective_config);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmEffectiveConfig, ifm_effective_config_free)

/* --- inferring ----------------------------------------------------------------------------------------------------- */

/** ifm_compiled_request: @stream: 0 … n_streams - 1. Returns: (transfer full) NULL with IFM_ERROR_MEMORY or _FAILED. */
IfmRequest *ifm_compiled_request(IfmCompiled *compiled, int stream, GError **error);

/** ifm_request_free: Waits for a running inference first. */
void ifm_request_free(IfmRequest *request);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmRequest, ifm_request_free)

/** ifm_request_set_input: The bytes of @tensor are borrowed until replaced or until the request is freed: there is no
 * copy if memory is shared. */
gboolean ifm_request_set_input(IfmRequest *request, gsize port, const IfmTensor *tensor, GError **error);

/** ifm_request_set_output: The same for an output; needs IFM_CAN_SET_OUTPUT. NULL: the engine allocates it again. */
gboolean ifm_request_set_output(IfmRequest *request, gsize port, const IfmTensor *tensor, GError **error);

/** ifm_request_output: Describes an output of the last inference; borrowed until the next start. */
gboolean ifm_request_output(IfmRequest *request, gsize port, IfmTensor *tensor, GError **error);

/**
 * IfmDone: Called once per inference, on the stream's executing thread (with native asynchrony: on a thread of the
 * runtime), after the completion time was taken. It must not call into the request but for ifm_request_times().
 * @error: NULL for success; borrowed.
 */
typedef void (*IfmDone)(IfmRequest *request, const GError *error, void *user);

/** ifm_request_start: @done: (optional) called at the end. FALSE with IFM_ERROR_INVALID while one is running. */
gboolean ifm_request_start(IfmRequest *request, IfmDone done, void *user, GError **error);

/**
 * ifm_request_wait: Waits for the inference that was started.
 * @timeout_ns: IFM_CLOCK_NEVER: without a timeout
 * Returns: FALSE with IFM_ERROR_TIMEOUT (it goes on: wait again, cancel, or end the process), IFM_ERROR_LOST, _MEMORY,
 * _CANCELLED or _FAILED.
 */
gboolean ifm_request_wait(IfmRequest *request, gint64 timeout_ns, GError **error);

/** ifm_request_cancel: Asks the inference to end. The wait then returns IFM_ERROR_CANCELLED or a result. FALSE with
 * IFM_ERROR_UNSUPPORTED. */
gboolean ifm_request_cancel(IfmRequest *request, GError **error);

/** IfmRequestTimes: of the last inference, on the engine's clock. */
typedef struct
{
    gint64 queued_ns, started_ns, completed_ns;
} IfmRequestTimes;
void ifm_request_times(const IfmRequest *request, IfmRequestTimes *times);

/* --- profiles and memory ------------------------------------------------------------------------------------------- */

/** IfmNodeOutput: the type and shape of a tensor that a node made. @dtype: UNDEFINED for a type that IfmTensor
 * lacks. */
typedef struct
{
    IfmDtype dtype;
    int rank;
    gint64 shape[IFM_MAX_RANK];
} IfmNodeOutput;

/** IfmNodeTime: @outputs: IfmNodeOutput, in order, without optional ones left out; NULL if the runtime does not report
 * them. */
typedef struct
{
    char *name, *op_type, *provider, *implementation;
    gint64 start_ns; /* since the inference began; -1 if the runtime does not report it */
    gint64 duration_ns;
    GArray *outputs;
} IfmNodeTime;

/** IfmEngineProfile: the per-node device time of one inference of a profiled compile, or the mean of several. */
typedef struct
{
    GPtrArray *nodes;     /* IfmNodeTime*, in the order of execution where known */
    gint64 resolution_ns; /* of each time above: 1000 where whole microseconds are reported; more where a time is the
                             difference of means */
    gint64 inside_ns;     /* the runtime's own figure for the whole inference; -1 without one */
    gint64 n_inferences;  /* 1, or how many inferences the times are the mean of (IFM_PROFILE_MEANS) */
} IfmEngineProfile;
void ifm_engine_profile_free(IfmEngineProfile *profile);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmEngineProfile, ifm_engine_profile_free)

/**
 * ifm_compiled_profile: The profiles of the inferences of a compile with options.profiling since the last call, oldest
 * first. A runtime that reports by session (ONNX Runtime) ends its profile here and begins another: call it after a
 * batch of runs, not within one, and while no other stream infers. Call it once after warm-up to leave that out.
 * @request: whose inferences
 * Returns: (transfer full) IfmEngineProfile*, one per inference (ONNX Runtime), or one with the mean of all since the
 * last call (IFM_PROFILE_MEANS: OpenVINO); none without an inference. NULL with IFM_ERROR_UNSUPPORTED.
 */
GPtrArray *ifm_compiled_profile(IfmCompiled *compiled, IfmRequest *request, GError **error);

/** IfmTunedLayer: what a convolution of a region runs best by, measured within the model. @node, @index: of the region and
 * of the convolution in its program    @algorithm: "any", the rule's, unless another is told apart from it, or the
 * rule's was not to be tried: "winograd 4"    @time_ns, @rule_ns: of that, and of the rule's; 0: it was not measured
 * @region_ns, @runtime_ns: of all that its region computes, and of the runtime's own kernels for the same; 0: not measured
 * @is_slower: the region is told apart from the runtime's own as slower */
typedef struct
{
    char *node, *layer, *algorithm, *implementation;
    int index;
    double time_ns, rule_ns, region_ns, runtime_ns;
    gboolean is_slower;
} IfmTunedLayer;

/** ifm_tuned_layers_to_json, _from_json: (transfer full) of IfmTunedLayer*; the second NULL with IFM_ERROR_INVALID. */
json_t *ifm_tuned_layers_to_json(const GPtrArray *layers);
GPtrArray *ifm_tuned_layers_from_json(const json_t *json, GError **error);

/** IfmTuning: @level: which algorithms are tried: IFM_TUNE_ALL; IFM_TUNE_CLOSE: without those whose transforms amplify
 * rounding by more than a digit; IFM_TUNE_EXACT: without transforms
 * @plain: of the same model without regions, compiled with options.profiling and options.save_optimised; NULL: regions are
 * not compared with the runtime's own    @round: told before each round of @n; FALSE: no more */
typedef enum
{
    IFM_TUNE_ALL,
    IFM_TUNE_CLOSE,
    IFM_TUNE_EXACT,
    IFM_N_TUNE_LEVELS
} IfmTuneLevel;
typedef struct
{
    IfmTuneLevel level;
    IfmRequest *plain;
    gboolean (*round)(int round, int n, void *user);
    void *user;
} IfmTuning;

/** ifm_request_tune: Measures the algorithms of a model with regions that was compiled with options.time_regions, whose
 * inputs are set: they take turns within the model over several rounds. Then the regions and the runtime's own kernels do.
 * Returns: (transfer full) IfmTunedLayer*; NULL with IFM_ERROR_UNSUPPORTED (no engine for it), IFM_ERROR_CANCELLED. */
GPtrArray *ifm_request_tune(IfmRequest *request, const IfmTuning *tuning, GError **error);

/**
 * IfmEngineMemory: allocator statistics, bytes; -1 for one that the runtime does not report.
 * @in_use_bytes, @peak_bytes, @reserved_bytes: of the allocator of host memory (a simulated device's: of all its
 * memory)
 * @device_…: of a device's own memory; -1 without such memory
 */
typedef struct
{
    gint64 in_use_bytes, peak_bytes, reserved_bytes;
    gint64 device_in_use_bytes, device_peak_bytes, device_reserved_bytes;
} IfmEngineMemory;
#define IFM_ENGINE_MEMORY_INIT ((IfmEngineMemory){ -1, -1, -1, -1, -1, -1 })

/** ifm_compiled_memory: Returns: FALSE with IFM_ERROR_UNSUPPORTED. */
gboolean ifm_compiled_memory(IfmCompiled *compiled, IfmEngineMemory *memory, GError **error);

/* --- engines ------------------------------------------------------------------------------------------------------- */

/* How devices, cores and effective configurations are checked and written. */

/** ifm_affinity_to_string: Returns: (transfer full) the cores that the calling thread may run on, "0-2,5". */
char *ifm_affinity_to_string(void);

/** ifm_alias_check: Returns: FALSE with IFM_ERROR_INVALID if a text is not a short name of a device: a letter, then
 * letters, digits, - and _. */
gboolean ifm_alias_check(const char *alias, GError **error);

/** ifm_capability_name: @bit: one of the above. Returns: "cores", …; NULL for any other value. */
const char *ifm_capability_name(guint32 bit);

/** ifm_cores_to_string: Returns: (transfer full) "0-2,5" of ascending core numbers. @cores: [n_cores] */
char *ifm_cores_to_string(const int *cores, gsize n_cores);

/** ifm_engine_name_check: Returns: FALSE with IFM_ERROR_INVALID for an unknown name, with the known ones and the
 * nearest. */
gboolean ifm_engine_name_check(const char *name, GError **error);

/**
 * ifm_compiled_parts: Which of the model's nodes each node of a compile with options.profiling was made of, if the
 * runtime reports it of its graph (OpenVINO's CPU does). The names of tensors may be among them, and those of nodes of
 * which only a constant is left.
 * Returns: (transfer full) name, as in profiles (char*) -> GPtrArray of names (char*); NULL if the runtime does not
 * report it.
 */
GHashTable *ifm_compiled_parts(IfmCompiled *compiled);

/** ifm_effective_config_check: Where the model's own precision was asked for, a higher one will do.
 * Returns: FALSE with IFM_ERROR_FAILED if the effective configuration is not the requested one (dtype, more threads,
 * streams, cores). */
gboolean ifm_effective_config_check(const IfmEffectiveConfig *effective_config, const IfmDeviceSpec *spec,
                                    const IfmCompileOptions *options, GError **error);

/** ifm_effective_config_warnings: What is not a failure but has to be known: an unreported precision, threads that did not
 * work. Returns: (transfer full) NULL-terminated lines. */
char **ifm_effective_config_warnings(const IfmEffectiveConfig *effective_config, const IfmDeviceSpec *spec,
                                     const IfmCompileOptions *options);

/** ifm_engine_copy_host: Copies within host memory as device @spec would copy a tensor that it is given; the copy is
 * done on return. A real engine takes the real time, a simulated one the time in the description of its link.
 * IFM_ERROR_UNSUPPORTED without such a description. */
gboolean ifm_engine_copy_host(IfmEngine *engine, const IfmDeviceSpec *spec, const IfmTensor *from, const IfmTensor *to,
                              GError **error);

/**
 * ifm_engine_probe_device: Checks that the device answers, by the cheapest call that shows it.
 * Returns: FALSE with IFM_ERROR_UNAVAILABLE or IFM_ERROR_LOST.
 */
gboolean ifm_engine_probe_device(IfmEngine *engine, const IfmDeviceSpec *spec, GError **error);

/** ifm_request_set_sizes: Sets named sizes ("nodes", "edges") of the next inferences, as `sizes` of the compile sets
 * those of all. For a simulated device's table if no input's shape shows them. Other engines ignore them. */
gboolean ifm_request_set_sizes(IfmRequest *request, const IfmDimBinding *sizes, gsize n, GError **error);

/* --- buffers ------------------------------------------------------------------------------------------------------- */

/** IfmBuffer: memory of a device. */
typedef struct IfmBuffer IfmBuffer;

/** ifm_engine_buffer_alloc: Returns: (transfer full) NULL with IFM_ERROR_UNSUPPORTED, _UNAVAILABLE or _MEMORY. */
IfmBuffer *ifm_engine_buffer_alloc(IfmEngine *engine, const IfmDeviceSpec *spec, gsize size_bytes, GError **error);
void ifm_buffer_free(IfmBuffer *buffer);

/** ifm_buffer_tensor: Describes the buffer as a tensor (memory kind DEVICE or PINNED), for set_input and set_output. */
gboolean ifm_buffer_tensor(IfmBuffer *buffer, IfmDtype dtype, int rank, const gint64 *shape, IfmTensor *tensor,
                           GError **error);

/** ifm_engine_copy: Queues a copy between two tensors of equal size, of which at least one is in the device's
 * memory. */
gboolean ifm_engine_copy(IfmEngine *engine, const IfmTensor *from, const IfmTensor *to, GError **error);

/** ifm_engine_sync: Waits until every copy that this thread queued is done. */
gboolean ifm_engine_sync(IfmEngine *engine, GError **error);

G_END_DECLS
