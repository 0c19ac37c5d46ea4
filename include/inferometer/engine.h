#pragma once
#include <inferometer/clock.h>
#include <inferometer/onnx.h>

G_BEGIN_DECLS

/* --- naming a device ------------------------------------------------------------------------------------------------ */

/**
 * IfmDeviceSpec: ENGINE:UNIT[:INDEX][@CORES][#STREAMS], parsed.
 * UNIT is a word, or MACHINE/UNIT for the simulated engine. CORES is a list of logical processors: "0", "0-3", "0,2-3".
 */
typedef struct
{
    char *text; /* canonical form: ranges shortened, no redundant parts */
    char *engine, *unit;
    int index;  /* -1 where none was given */
    int *cores; /* [n_cores], ascending; NULL where none were given */
    gsize n_cores;
    int n_streams; /* 0 where none was given (1 is meant) */
} IfmDeviceSpec;

/** ifm_device_spec_parse: Returns: (transfer full) NULL with IFM_ERROR_INVALID saying which part is wrong. */
IfmDeviceSpec *ifm_device_spec_parse(const char *text, GError **error);
/** ifm_alias_check: Returns: FALSE with IFM_ERROR_INVALID for what is no short name of a device: a letter, then letters,
 * digits,
 * - and _. */
gboolean ifm_alias_check(const char *alias, GError **error);
IfmDeviceSpec *ifm_device_spec_copy(const IfmDeviceSpec *spec);
void ifm_device_spec_free(IfmDeviceSpec *spec);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmDeviceSpec, ifm_device_spec_free)
/** ifm_cores_to_string: Returns: (transfer full) "0-2,5" of ascending core numbers. @cores: [n_cores] */
char *ifm_cores_to_string(const int *cores, gsize n_cores);
/** ifm_affinity_to_string: Returns: (transfer full) the cores that the calling thread may run on, so. */
char *ifm_affinity_to_string(void);

/* --- what can be there ------------------------------------------------------------------------------------------------ */

/** IfmEngineCapability: what an engine or one of its devices can do; what it cannot is data, never a surprise. */
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
    /* computes the model; a device without it (a simulated one may be) looks at no input, and of an output it writes
     * IFM_UNTRUE_OUTPUT_BYTES from the start at most: what its faults leave there */
    IFM_CAN_TRUE_OUTPUTS = 1 << 12,
    IFM_IS_SIMULATED = 1 << 13,
    IFM_CAN_CACHE = 1 << 14, /* keeps compiled models in a folder (options.cache_dir) */
} IfmEngineCapability;

#define IFM_UNTRUE_OUTPUT_BYTES 4096

/** ifm_capability_name: @bit: one of the above. Returns: "cores", …; NULL for no such bit. */
const char *ifm_capability_name(guint32 bit);

typedef struct IfmEngine IfmEngine;     /* an opened runtime */
typedef struct IfmCompiled IfmCompiled; /* a model made ready on a device; holds a reference on its model */
typedef struct IfmRequest IfmRequest;   /* one inference at a time */
typedef struct IfmBuffer IfmBuffer;     /* memory of a device */

/** ifm_engine_names: Returns: NULL-terminated names of the engines this build knows, in the order of the registry. */
const char *const *ifm_engine_names(void);
/** ifm_engine_name_check: Returns: FALSE with IFM_ERROR_INVALID, the names there are and the nearest, for any other. */
gboolean ifm_engine_name_check(const char *name, GError **error);

/**
 * ifm_engine_open: Opens a runtime's library and checks its version. Libraries stay open until the process ends.
 * @clock: what the engine's waits and times go by; virtual only for the simulated engine.
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID (no such engine; nearest named) or IFM_ERROR_UNAVAILABLE (where it
 * looked, what the loader said).
 */
IfmEngine *ifm_engine_open(const char *name, IfmClock *clock, GError **error);
void ifm_engine_unref(IfmEngine *engine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmEngine, ifm_engine_unref)
const char *ifm_engine_name(const IfmEngine *engine);
/** ifm_engine_version: the runtime's own version string. */
const char *ifm_engine_version(const IfmEngine *engine);
/** ifm_engine_library: the file that was opened; "" where there is none. */
const char *ifm_engine_library(const IfmEngine *engine);
IfmClock *ifm_engine_clock(const IfmEngine *engine);

/** IfmLinkSource: where the time comes from that a copy between the host's memory and a device takes. */
typedef enum
{
    IFM_LINK_REAL,      /* it is a real copy */
    IFM_LINK_DESCRIBED, /* a simulated device's description: figures that were measured somewhere */
    IFM_LINK_ASSUMED,   /* … that nobody measured */
    IFM_LINK_UNKNOWN,   /* a simulated device whose description tells none: a copy takes no time there */
} IfmLinkSource;

typedef struct
{
    char *spec;        /* "openvino:CPU", "onnxruntime:CUDA:0", "simulated:meteor-lake/GPU" */
    char *description; /* the hardware's name as the runtime tells it */
    guint32 capabilities;
    gboolean available; /* FALSE: known to the runtime, but not here */
    char *reason;       /* why not; NULL where available */
    /* it does not compute in plain host memory: without IFM_CAN_BUFFERS the runtime alone moves tensors there and back,
     * within each inference */
    gboolean own_memory;
    /* the latency of an inference holds the transfers already, whatever memory its tensors are in: copying them to its
     * memory as well would count that time twice (a simulated device's "in_latency") */
    gboolean transfers_in_latency;
    IfmLinkSource link_source;
    /* what a simulated device is described to do at most, where it goes by a roofline; 0: nobody says */
    double flop_per_s, bytes_per_s;
    gint64 memory_bytes; /* the device's own memory, all of it; 0: nobody says */
} IfmDeviceInfo;
void ifm_device_info_free(IfmDeviceInfo *info);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmDeviceInfo, ifm_device_info_free)

/** ifm_engine_devices: Returns: (transfer full) IfmDeviceInfo*; found by asking the runtime. NULL with an error. */
GPtrArray *ifm_engine_devices(IfmEngine *engine, GError **error);
/** ifm_engine_find_device: The one of them that a spec means, whatever its cores and streams. Returns: (transfer full) NULL
 * with IFM_ERROR_UNAVAILABLE where there is none (those there are named) or it is listed as not available. */
IfmDeviceInfo *ifm_engine_find_device(IfmEngine *engine, const IfmDeviceSpec *spec, GError **error);

/**
 * ifm_engine_probe_device: Asks the device for a sign of life (the cheapest true answer it can give).
 * Returns: FALSE with IFM_ERROR_UNAVAILABLE or IFM_ERROR_LOST.
 */
gboolean ifm_engine_probe_device(IfmEngine *engine, const IfmDeviceSpec *spec, GError **error);

/* --- compiling -------------------------------------------------------------------------------------------------------- */

typedef struct
{
    IfmDtype dtype;                /* execution precision; F32 unless asked otherwise */
    int threads;                   /* 0: as many as the spec has cores, else as this process may use */
    gboolean optimise;             /* graph optimisation; FALSE for the reference */
    gboolean profiling;            /* per-node times; slows the model down */
    gboolean native_async;         /* use the runtime's own asynchrony instead of the driver's threads */
    const IfmDimBinding *bindings; /* free dimensions to fix before compiling; the rest stay free */
    gsize n_bindings;
    const IfmDimBinding *sizes; /* named sizes of what will be inferred, for a simulated device's tables; or NULL */
    gsize n_sizes;
    const char *cache_dir;                  /* folder for compiled models, used where the device can; or NULL */
    const char *save_optimised;             /* path, or NULL */
    gboolean save_outline;                  /* … without its large weights: for who reads the graph alone */
    const char *const *custom_op_libraries; /* NULL-terminated paths, or NULL */
    const char *const *vendor;              /* "KEY=VALUE" in the runtime's own words, NULL-terminated, or NULL */
} IfmCompileOptions;

#define IFM_COMPILE_OPTIONS_INIT ((IfmCompileOptions){ .dtype = IFM_DTYPE_F32, .optimise = TRUE })

/**
 * ifm_engine_compile: @model: kept by reference. @options: copied.
 * Returns: (transfer full) NULL with IFM_ERROR_UNSUPPORTED (the runtime refuses, in its own words; or a capability asked
 * for is missing), IFM_ERROR_UNAVAILABLE (no such device), IFM_ERROR_INVALID (cores that do not exist), IFM_ERROR_MEMORY,
 * IFM_ERROR_LOST.
 */
IfmCompiled *ifm_engine_compile(IfmEngine *engine, IfmModel *model, const IfmDeviceSpec *spec,
                                const IfmCompileOptions *options, GError **error);
void ifm_compiled_free(IfmCompiled *compiled);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmCompiled, ifm_compiled_free)

guint32 ifm_compiled_capabilities(const IfmCompiled *compiled);
/** ifm_compiled_from_cache: whether it was read from options.cache_dir instead of being compiled. */
gboolean ifm_compiled_from_cache(const IfmCompiled *compiled);
/** Ports as the runtime sees them after compiling; borrowed. */
gsize ifm_compiled_n_inputs(const IfmCompiled *compiled);
const IfmPort *ifm_compiled_input(const IfmCompiled *compiled, gsize index);
gsize ifm_compiled_n_outputs(const IfmCompiled *compiled);
const IfmPort *ifm_compiled_output(const IfmCompiled *compiled, gsize index);

/**
 * ifm_compiled_invoke: Runs @function on the thread that executes stream @stream and waits for it. Within it
 * ifm_request_start() infers on that very thread and returns when done, so a loop timed there has no hand-over in it.
 * With native asynchrony there is no such thread: @function then runs on the caller's.
 */
void ifm_compiled_invoke(IfmCompiled *compiled, int stream, void (*function)(void *user), void *user);

/** IfmNodeAttest: one node as it really ran. */
typedef struct
{
    char *name, *op_type, *provider, *implementation; /* "" where the runtime does not tell */
    IfmDtype dtype;                                   /* UNDEFINED where it does not tell */
} IfmNodeAttest;

/** IfmAttest: what really runs, asked of the runtime and the kernel, not of the options. */
typedef struct
{
    IfmDtype dtype;   /* the lowest precision any node ran in; UNDEFINED where the runtime does not tell */
    int n_threads;    /* threads in /proc/self/task that took processor time while it ran, the executing thread included */
    int n_streams;    /* as the runtime tells it, else the executing threads there are */
    char *cores;      /* the affinity mask of those threads, "0-3" */
    GPtrArray *nodes; /* IfmNodeAttest*; from one run of a profiled twin */
    GPtrArray *notes; /* char*: what else must be known of how it ran; NULL: nothing */
    const char *why_one_thread; /* static: why the driver took one thread a stream, whatever was asked; NULL: it did not */
} IfmAttest;

/**
 * ifm_compiled_attest: Compiles a profiled twin, runs it once with @inputs and reports.
 * @inputs: [n inputs] borrowed    Returns: (transfer full) NULL with an error.
 */
IfmAttest *ifm_compiled_attest(IfmCompiled *compiled, const IfmTensor *inputs, GError **error);
/** ifm_attest_check: Returns: FALSE with IFM_ERROR_FAILED where what ran is not what was asked (dtype, more threads,
 * streams, cores). */
gboolean ifm_attest_check(const IfmAttest *attest, const IfmDeviceSpec *spec, const IfmCompileOptions *options,
                          GError **error);
/** ifm_attest_warnings: what is no failure, but must be known: an untold precision, threads that did not work. Returns:
 * (transfer full) NULL-terminated lines. */
char **ifm_attest_warnings(const IfmAttest *attest, const IfmDeviceSpec *spec, const IfmCompileOptions *options);
void ifm_attest_free(IfmAttest *attest);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmAttest, ifm_attest_free)

/* --- inferring -------------------------------------------------------------------------------------------------------- */

/** ifm_compiled_request: @stream: 0 … n_streams - 1. Returns: (transfer full) NULL with IFM_ERROR_MEMORY or _FAILED. */
IfmRequest *ifm_compiled_request(IfmCompiled *compiled, int stream, GError **error);
/** ifm_request_free: Waits for a running inference first. */
void ifm_request_free(IfmRequest *request);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmRequest, ifm_request_free)

/** ifm_request_set_input: @tensor's bytes are borrowed until replaced or the request is freed: no copy where memory is
 * shared. */
gboolean ifm_request_set_input(IfmRequest *request, gsize port, const IfmTensor *tensor, GError **error);
/** ifm_request_set_sizes: Tells named sizes ("nodes", "edges") of the next inferences, as `sizes` of the compile does of
 * all: for a simulated device's table, where no input's shape tells them. Other engines take no notice. */
gboolean ifm_request_set_sizes(IfmRequest *request, const IfmDimBinding *sizes, gsize n, GError **error);
/** ifm_request_set_output: the same for an output; needs IFM_CAN_SET_OUTPUT. NULL gives it back to the engine. */
gboolean ifm_request_set_output(IfmRequest *request, gsize port, const IfmTensor *tensor, GError **error);
/** ifm_request_output: Describes an output of the last inference; borrowed until the next start. */
gboolean ifm_request_output(IfmRequest *request, gsize port, IfmTensor *tensor, GError **error);

/**
 * IfmDone: called once an inference, on the stream's executing thread (with native asynchrony: on a thread of the
 * runtime's), after the completion time was taken. It must not call into the request but for ifm_request_times().
 * @error: NULL where it went well; borrowed.
 */
typedef void (*IfmDone)(IfmRequest *request, const GError *error, void *user);

/** ifm_request_start: @done: NULL where nobody needs to know. FALSE with IFM_ERROR_INVALID while one is running. */
gboolean ifm_request_start(IfmRequest *request, IfmDone done, void *user, GError **error);
/**
 * ifm_request_wait: Waits for the inference that was started.
 * @timeout_ns: IFM_CLOCK_NEVER for no limit
 * Returns: FALSE with IFM_ERROR_TIMEOUT (it goes on: wait again, cancel, or end the process), IFM_ERROR_LOST, _MEMORY,
 * _CANCELLED or _FAILED.
 */
gboolean ifm_request_wait(IfmRequest *request, gint64 timeout_ns, GError **error);
/** ifm_request_cancel: Asks; the wait then returns IFM_ERROR_CANCELLED or a result. FALSE with IFM_ERROR_UNSUPPORTED. */
gboolean ifm_request_cancel(IfmRequest *request, GError **error);

/** IfmRequestTimes: of the last inference, on the engine's clock. */
typedef struct
{
    gint64 queued_ns, started_ns, completed_ns;
} IfmRequestTimes;
void ifm_request_times(const IfmRequest *request, IfmRequestTimes *times);

/* --- looking inside --------------------------------------------------------------------------------------------------- */

/** IfmNodeOutput: what a tensor that a node made was like. @dtype: UNDEFINED for one that IfmTensor has not. */
typedef struct
{
    IfmDtype dtype;
    int rank;
    gint64 shape[IFM_MAX_RANK];
} IfmNodeOutput;

/** IfmNodeTime: @outputs: IfmNodeOutput, in order, without optional ones left out; NULL where the runtime does not tell. */
typedef struct
{
    char *name, *op_type, *provider, *implementation;
    gint64 start_ns; /* since the inference began; -1 where the runtime does not tell */
    gint64 duration_ns;
    GArray *outputs;
} IfmNodeTime;

/** IfmEngineProfile: the per-node device time of one inference of a profiled compile, or the mean of several. */
typedef struct
{
    GPtrArray *nodes;     /* IfmNodeTime*, in the order of execution where known */
    gint64 resolution_ns; /* of each time above: 1000 where whole microseconds are reported */
    gint64 inside_ns;     /* the runtime's own figure for the whole inference; -1 where it has none */
    gint64 n_inferences;  /* 1, or how many the times are the mean of, where the runtime tells nothing finer (OpenVINO) */
} IfmEngineProfile;
void ifm_engine_profile_free(IfmEngineProfile *profile);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmEngineProfile, ifm_engine_profile_free)

/**
 * ifm_compiled_profile: The profiles of the inferences of a compile with options.profiling since the last call, oldest
 * first. A runtime that reports by session (ONNX Runtime) ends its profile here and begins another: call it after a batch
 * of runs, not in one, and while no other stream infers. Call it once after warm-up, too, to leave that out.
 * @request: whose inferences
 * Returns: (transfer full) IfmEngineProfile*, one an inference (ONNX Runtime), or one for all of them that holds their mean
 * (OpenVINO, which keeps nothing but a running mean); none where there was no inference. NULL with IFM_ERROR_UNSUPPORTED.
 */
GPtrArray *ifm_compiled_profile(IfmCompiled *compiled, IfmRequest *request, GError **error);

/**
 * ifm_compiled_parts: Which of the model's nodes each node of a compile with options.profiling was made of, where the
 * runtime tells that of its graph (OpenVINO's CPU does). Names of tensors may be among them, and of nodes that left nothing
 * but a constant in it.
 * Returns: (transfer full) name, as in profiles (char*) -> GPtrArray of names (char*); NULL where nothing is told.
 */
GHashTable *ifm_compiled_parts(IfmCompiled *compiled);

/**
 * IfmEngineMemory: allocator statistics, bytes; -1 where the runtime does not tell that one.
 * @in_use_bytes, @peak_bytes, @reserved_bytes: of the allocator of host memory (a simulated device's: of all it has)
 * @device_…: of a device's own memory; -1 where it has none
 */
typedef struct
{
    gint64 in_use_bytes, peak_bytes, reserved_bytes;
    gint64 device_in_use_bytes, device_peak_bytes, device_reserved_bytes;
} IfmEngineMemory;
#define IFM_ENGINE_MEMORY_INIT ((IfmEngineMemory){ -1, -1, -1, -1, -1, -1 })
/** ifm_compiled_memory: Returns: FALSE with IFM_ERROR_UNSUPPORTED. */
gboolean ifm_compiled_memory(IfmCompiled *compiled, IfmEngineMemory *memory, GError **error);

/* --- memory of a device ----------------------------------------------------------------------------------------------- */

/** ifm_engine_buffer_alloc: Returns: (transfer full) NULL with IFM_ERROR_UNSUPPORTED, _UNAVAILABLE or _MEMORY. */
IfmBuffer *ifm_engine_buffer_alloc(IfmEngine *engine, const IfmDeviceSpec *spec, gsize size_bytes, GError **error);
void ifm_buffer_free(IfmBuffer *buffer);
/** ifm_buffer_tensor: Describes the buffer as a tensor (memory kind DEVICE or PINNED), for set_input and set_output. */
gboolean ifm_buffer_tensor(IfmBuffer *buffer, IfmDtype dtype, int rank, const gint64 *shape, IfmTensor *tensor,
                           GError **error);
/** ifm_engine_copy: Queues a copy between two tensors of equal size of which at least one is the device's. */
gboolean ifm_engine_copy(IfmEngine *engine, const IfmTensor *from, const IfmTensor *to, GError **error);
/** ifm_engine_sync: Waits until every copy that this thread queued is done. */
gboolean ifm_engine_sync(IfmEngine *engine, GError **error);
/** ifm_engine_copy_host: A copy within host memory, done when it returns, as device @spec would make it of a tensor that it
 * is handed: a real engine's in the time that it takes, a simulated one's in the time that its link is described with.
 * IFM_ERROR_UNSUPPORTED where it is described with none. */
gboolean ifm_engine_copy_host(IfmEngine *engine, const IfmDeviceSpec *spec, const IfmTensor *from, const IfmTensor *to,
                              GError **error);

G_END_DECLS
