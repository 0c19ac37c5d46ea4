/* The engines and their devices, and the tuned convolutions of ONNX Runtime. */
#pragma once
#include <inferometer/common.h>

IFM_BEGIN_DECLS

/* --- naming a device ----------------------------------------------------------------------------------------------- */

/**
 * IfmDeviceSpec: ENGINE:UNIT[:INDEX][@CORES][#STREAMS], parsed.
 * UNIT is a word, or MACHINE/UNIT for the simulated engine. CORES is a list of logical processors: "0", "0-3", "0,2-3".
 */
typedef struct
{
    char *text; /* canonical form: ranges shortened, no redundant parts */
    char *engine, *unit;
    int index;  /* -1: not given */
    int *cores; /* [n_cores], ascending; NULL: not given */
    gsize n_cores;
    int n_streams; /* 0: not given, which means 1 */
} IfmDeviceSpec;

/** ifm_device_spec_parse: Returns: (transfer full) NULL with IFM_ERROR_INVALID and the part that is wrong. */
IfmDeviceSpec *ifm_device_spec_parse(const char *text, GError **error);

void ifm_device_spec_free(IfmDeviceSpec *spec);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmDeviceSpec, ifm_device_spec_free)

/* --- engines and their devices ------------------------------------------------------------------------------------- */

typedef struct IfmEngine IfmEngine; /* an opened runtime */

/** ifm_engine_names: Returns: NULL-terminated names of the engines of this build, in the order of the registry. */
const char *const *ifm_engine_names(void);

/**
 * ifm_engine_open: Opens a runtime's library and checks its version. Libraries stay open until the process ends.
 * @clock: for the engine's waits and times; a virtual one only for the simulated engine
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID (unknown engine, with the nearest name) or IFM_ERROR_UNAVAILABLE
 * (where the library was looked for, and the loader's message).
 */
IfmEngine *ifm_engine_open(const char *name, IfmClock *clock, GError **error);
void ifm_engine_unref(IfmEngine *engine);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmEngine, ifm_engine_unref)

/** IfmLinkSource: where the time of a copy between host memory and a device comes from. */
typedef enum
{
    IFM_LINK_REAL,      /* a real copy */
    IFM_LINK_DESCRIBED, /* a simulated device's description: measured figures */
    IFM_LINK_ASSUMED,   /* a simulated device's description: assumed figures */
    IFM_LINK_UNKNOWN,   /* a simulated device without a description of its link: a copy takes no time */
} IfmLinkSource;

typedef struct
{
    char *spec;        /* "openvino:CPU", "onnxruntime:CUDA:0", "simulated:meteor-lake/GPU" */
    char *description; /* the hardware's name as the runtime reports it */
    guint32 capabilities;
    gboolean available; /* FALSE: known to the runtime, but unavailable */
    char *reason;       /* why it is unavailable; NULL if available */
    /* it does not compute in plain host memory. Without IFM_CAN_BUFFERS the runtime alone moves tensors there and back,
     * within each inference. */
    gboolean own_memory;
    /* the latency of an inference contains the transfers, whatever memory its tensors are in: copying them to its
     * memory as well would count that time twice (a simulated device's "in_latency") */
    gboolean transfers_in_latency;
    IfmLinkSource link_source;
    /* the peaks in the description of a simulated device, if it has a roofline; 0: unknown */
    double flop_per_s, bytes_per_s;
    gint64 memory_bytes; /* total memory of the device; 0: unknown */
} IfmDeviceInfo;
void ifm_device_info_free(IfmDeviceInfo *info);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmDeviceInfo, ifm_device_info_free)

/** ifm_engine_devices: Asks the runtime for its devices. Returns: (transfer full) IfmDeviceInfo*; NULL with an
 * error. */
GPtrArray *ifm_engine_devices(IfmEngine *engine, GError **error);

/** ifm_engine_find_device: The device that a spec names; its cores and streams do not matter. Returns: (transfer full)
 * NULL with IFM_ERROR_UNAVAILABLE if there is none (with the known ones), or if it is unavailable. */
IfmDeviceInfo *ifm_engine_find_device(IfmEngine *engine, const IfmDeviceSpec *spec, GError **error);

/* --- algorithms of convolution ------------------------------------------------------------------------------------- */

/**
 * IfmConvAlgorithm: how a convolution is computed. The fixed ones come first; IFM_CONV_GUESS and IFM_CONV_BEST choose one
 * of them. IFM_CONV_RUNTIME leaves a layer to the runtime's own kernel: a candidate of IFM_CONV_BEST.
 */
typedef enum
{
    IFM_CONV_DIRECT,
    IFM_CONV_GEMM,
    IFM_CONV_IMPLICIT_GEMM,
    IFM_CONV_IMPLICIT_PRECOMP_GEMM,
    IFM_CONV_FFT,
    IFM_CONV_FFT_TILING,
    IFM_CONV_WINOGRAD,
    IFM_CONV_WINOGRAD_NONFUSED,
    IFM_N_CONV_FIXED,
    IFM_CONV_GUESS = IFM_N_CONV_FIXED,
    IFM_CONV_BEST,
    IFM_CONV_RUNTIME,
    IFM_N_CONV_ALGORITHMS
} IfmConvAlgorithm;

/** ifm_conv_algorithm_name: "direct", "implicit_gemm", …: as options, files and tables have it. */
const char *ifm_conv_algorithm_name(IfmConvAlgorithm algorithm);

/** ifm_conv_algorithm_meaning: one sentence for lists of algorithms. */
const char *ifm_conv_algorithm_meaning(IfmConvAlgorithm algorithm);

/** ifm_conv_cuda_report: What convolutions on a GPU need, a line each: "found    cuDNN 9.28.1 (…)" or "missing  …", and
 * how to get it. @is_complete: (out) whether all is there    Returns: (transfer full) */
char *ifm_conv_cuda_report(gboolean *is_complete);

/* --- what "best" measured ------------------------------------------------------------------------------------------ */

/**
 * IfmConvTuned: the fastest algorithm of one layer shape, as measured within a model. The first four members are the key.
 * @processor: family, model, stepping, microcode, hypervisor, caches and the instruction set of the kernels; what a GPU is
 * @library: versions of the runtime, of oneDNN or cuDNN, and of this library    @shape: sizes, blocks, activation and
 * workspace limit in one text
 * @algorithm: on a GPU "gemm, FMA", too: in f32 where TF32 is allowed
 * @time_ns: of that algorithm    @runtime_ns: of the runtime's own kernel
 */
typedef struct
{
    char *processor, *library, *shape;
    int n_threads;
    char *algorithm;
    double time_ns, runtime_ns;
} IfmConvTuned;

/** ifm_conv_tuning_path: (transfer full) the user's tuning cache: $IFM_TUNING_CACHE, else convolutions.json in
 * $XDG_CACHE_HOME/inferometer (~/.cache/inferometer). */
char *ifm_conv_tuning_path(void);

/** ifm_conv_tuning_load: Returns: (transfer full) IfmConvTuned*, none where there is no such file; NULL with
 * IFM_ERROR_INVALID where the file is none of this kind. */
GPtrArray *ifm_conv_tuning_load(const char *path, GError **error);

/** ifm_conv_tuning_clear: Removes the file. Returns: TRUE where there is none, too. */
gboolean ifm_conv_tuning_clear(const char *path, GError **error);

IFM_END_DECLS
