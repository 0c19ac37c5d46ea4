#pragma once
#include <engine/engine.h>

G_BEGIN_DECLS

/*
 * IfmDriver: an engine. One static const struct per driver, with designated initialisers, listed in the table of
 * registry.c. The public functions of engine.h check arguments, state and capabilities before they call a slot: a slot
 * may rely on that. How to add one: docs/add-an-engine.md.
 *
 * Ownership: pointers passed in are borrowed for the call unless the slot states otherwise. What is returned belongs to
 * the caller. Threads: slots of one object are never called at the same time, except cancel. "executor" marks slots
 * that the public functions call on the stream's executing thread (engine-private.h).
 *
 * Objects are embedded: a driver allocates its own struct, whose first member is IfmEngine, IfmCompiled or IfmRequest,
 * and fills the fields marked "driver".
 */
typedef struct IfmDriver IfmDriver;
typedef struct IfmExecutor IfmExecutor;

struct IfmEngine
{
    const IfmDriver *driver;
    gatomicrefcount references;
    IfmClock *clock;
    char *version; /* driver */
    char *library; /* driver */
    char *untested;
};

struct IfmCompiled
{
    IfmEngine *engine; /* a reference */
    IfmModel *model;   /* a reference */
    IfmDeviceSpec *spec;
    char *who;                 /* "SPEC: MODEL", as messages begin */
    IfmCompileOptions options; /* a deep copy */
    guint32 capabilities;      /* driver: of this device */
    gboolean from_cache;       /* driver, with IFM_CAN_CACHE: read from options.cache_dir instead of being compiled */
    GPtrArray *inputs;         /* driver: IfmPort* */
    GPtrArray *outputs;        /* driver: IfmPort* */
    GPtrArray *executors;      /* IfmExecutor*, one per stream, made before compile is called; empty with native_async */
    gint n_requests;           /* (atomic) requests not yet freed */
    gint64 n_profiled;         /* with IFM_PROFILE_MEANS: the inferences that were ever profiled, when last read */
    GArray *profiled_ns;       /* gint64: … and each node's time in all of them; NULL before */
};

typedef struct IfmRequestState IfmRequestState; /* request.c: condition, error, times */

struct IfmRequest
{
    IfmCompiled *compiled;
    int stream;
    IfmRequestState *state;
};

struct IfmDriver
{
    const char *name;     /* mandatory: "onnxruntime" */
    const char *summary;  /* mandatory: one line for people */
    guint32 capabilities; /* that a device of this driver may have */

    /* open: mandatory. Opens the library (RTLD_LOCAL), resolves the symbol table, checks the version, allocates. */
    IfmEngine *(*open)(IfmClock *clock, GError **error);
    /* close: mandatory. Frees the object; never closes the library. */
    void (*close)(IfmEngine *engine);
    /* devices: mandatory. Asks the runtime. Returns IfmDeviceInfo*. */
    GPtrArray *(*devices)(IfmEngine *engine, GError **error);
    /* probe_device: optional. Without it a device answers if `devices` lists it as available. */
    gboolean (*probe_device)(IfmEngine *engine, const IfmDeviceSpec *spec, GError **error);

    /* compile: mandatory, executor (stream 0). @compiled: the driver's struct of compiled_size bytes, zeroed, with the
     * common fields set. */
    gsize compiled_size;
    gboolean (*compile)(IfmCompiled *compiled, GError **error);
    /* compiled_clear: mandatory, executor (stream 0). Also called after a failed compile. Frees the driver's own fields. */
    void (*compiled_clear)(IfmCompiled *compiled);

    /* request_init / request_clear: mandatory. @request: request_size bytes, zeroed, with the common fields set. */
    gsize request_size;
    gboolean (*request_init)(IfmRequest *request, GError **error);
    void (*request_clear)(IfmRequest *request);
    /* set_input: mandatory. The bytes stay valid until replaced or request_clear. */
    gboolean (*set_input)(IfmRequest *request, gsize port, const IfmTensor *tensor, GError **error);
    /* set_sizes: optional. Without it only shapes matter to the engine. */
    gboolean (*set_sizes)(IfmRequest *request, const IfmDimBinding *sizes, gsize n, GError **error);
    /* set_output: with IFM_CAN_SET_OUTPUT. @tensor: NULL: the engine allocates the output again. */
    gboolean (*set_output)(IfmRequest *request, gsize port, const IfmTensor *tensor, GError **error);
    /* output: mandatory. Borrowed until the next infer. */
    gboolean (*output)(IfmRequest *request, gsize port, IfmTensor *tensor, GError **error);

    /* prepare: optional, executor. Called before the start time is taken, for work outside an inference's time. */
    gboolean (*prepare)(IfmRequest *request, GError **error);
    /* infer: mandatory, executor. One synchronous inference. The driver itself neither allocates nor logs during it. */
    gboolean (*infer)(IfmRequest *request, GError **error);
    /* infer_async: with IFM_CAN_NATIVE_ASYNC. Returns at once; calls ifm_request_completed() exactly once, on any thread.
     */
    gboolean (*infer_async)(IfmRequest *request, GError **error);
    /* cancel: with IFM_CAN_CANCEL. Any thread, while infer runs. The driver documents its granularity. */
    void (*cancel)(IfmRequest *request);
    /* cancel_clear: optional. Called before the inference that follows a cancel, so that a cancel that came too late
     * does not end it. Never at the same time as cancel. */
    void (*cancel_clear)(IfmRequest *request);

    /* effective_config: optional. Fills dtype and nodes from one profiled run; effective-config.c counts threads and
     * reads their masks. */
    gboolean (*effective_config)(IfmCompiled *compiled, const IfmTensor *inputs, IfmEffectiveConfig *effective_config,
                                 GError **error);
    /* profile: with IFM_CAN_PROFILE. Appends IfmEngineProfile* to @profiles, ifm_engine_profile_new(). With
     * IFM_PROFILE_MEANS it is one with the means, cut to resolution_ns, of all n_inferences since it was compiled: the
     * same nodes in the same order each time, duration_ns -1 for one that never ran. */
    gboolean (*profile)(IfmCompiled *compiled, IfmRequest *request, GPtrArray *profiles, GError **error);
    /* tune: optional, executor (stream 0), options.time_regions: as ifm_request_tune(), which has looked at the model.
     * @layers: IfmTunedLayer* are added */
    gboolean (*tune)(IfmCompiled *compiled, IfmRequest *request, const IfmTuning *tuning, GPtrArray *layers,
                     GError **error);
    /* parts: optional, executor (stream 0), options.profiling. For each node of the runtime the names of the model's
     * nodes, and of other things, that went into it: char* -> GPtrArray of char*. NULL if the runtime does not report
     * it. */
    GHashTable *(*parts)(IfmCompiled *compiled);
    /* memory: with IFM_CAN_MEMORY. @memory: IFM_ENGINE_MEMORY_INIT. */
    gboolean (*memory)(IfmCompiled *compiled, IfmEngineMemory *memory, GError **error);

    /* buffer_alloc, buffer_free, buffer_tensor, copy, sync: with IFM_CAN_BUFFERS. */
    IfmBuffer *(*buffer_alloc)(IfmEngine *engine, const IfmDeviceSpec *spec, gsize size_bytes, GError **error);
    void (*buffer_free)(IfmBuffer *buffer);
    gboolean (*buffer_tensor)(IfmBuffer *buffer, IfmTensor *tensor, GError **error);
    gboolean (*copy)(IfmEngine *engine, const IfmTensor *from, const IfmTensor *to, GError **error);
    gboolean (*sync)(IfmEngine *engine, GError **error);
    /* copy_host: optional. Without it the bytes are copied. Sizes are equal, both sides plain host memory. */
    gboolean (*copy_host)(IfmEngine *engine, const IfmDeviceSpec *spec, const IfmTensor *from, const IfmTensor *to,
                          GError **error);
};

struct IfmBuffer
{
    IfmEngine *engine; /* a reference */
    gsize size_bytes;
};

/* ifm_driver_table: Returns: the drivers of this build, NULL-terminated (registry.c). */
const IfmDriver *const *ifm_driver_table(void);

/* ifm_engine_profile_new: For the profile slot. Returns: (transfer full) an empty profile; its nodes (IfmNodeTime*,
 * g_new0) are freed with it. */
IfmEngineProfile *ifm_engine_profile_new(void);
void ifm_node_time_free(IfmNodeTime *node);

/* ifm_effective_config_add_node: For the effective_config slot. Returns: (borrowed) a node added to @effective_config;
 * strings are copied, NULL becomes "". Its arithmetic is the name of @dtype, where that is a floating-point type and the
 * operator does not only move data; a driver that knows better replaces it. */
IfmNodeConfig *ifm_effective_config_add_node(IfmEffectiveConfig *effective_config, const char *name, const char *op_type,
                                             const char *provider, const char *implementation, IfmDtype dtype);

/* ifm_effective_config_note: For the effective_config slot: adds a fact about how the model ran. @text: (transfer full) */
void ifm_effective_config_note(IfmEffectiveConfig *effective_config, char *text);
/* ifm_compiled_again: For the effective_config slot: compiles the same model a second time with profiling on and runs it
 * once on stream 0.
 * @save: where the runtime saves the graph that runs, without large weights; or NULL
 * @request: (out) (transfer full) the request that ran. Returns: (transfer full) NULL with an error. */
IfmCompiled *ifm_compiled_again(IfmCompiled *compiled, const IfmTensor *inputs, const char *save, IfmRequest **request,
                                GError **error);

/* ifm_request_completed: For infer_async: stores the outcome, wakes the waiter, calls done. @error: (transfer full). */
void ifm_request_completed(IfmRequest *request, gint64 completed_ns, GError *error);

extern const IfmDriver ifm_driver_onnxruntime;
extern const IfmDriver ifm_driver_openvino;
extern const IfmDriver ifm_driver_simulated;

G_END_DECLS
