#pragma once
#include <inferometer/engine.h>

G_BEGIN_DECLS

/*
 * IfmDriver: what an engine is made of. One static const struct a driver, with designated initialisers, listed in the one
 * table of registry.c. The public functions of engine.h check arguments, state and capabilities, then call a slot: a slot
 * may rely on that. How to add one: docs/add-an-engine.md.
 *
 * Ownership: pointers passed in are borrowed for the call unless the slot says otherwise; what is returned belongs to the
 * caller. Threads: slots of one object are never called at the same time, except cancel. "executor" marks slots that the
 * public functions call on the stream's executing thread (executor.h).
 *
 * Objects are embedded: a driver allocates its own struct whose first member is IfmEngine, IfmCompiled or IfmRequest, and
 * fills the fields marked "driver".
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
};

struct IfmCompiled
{
    IfmEngine *engine; /* a reference */
    IfmModel *model;   /* a reference */
    IfmDeviceSpec *spec;
    IfmCompileOptions options; /* a deep copy */
    guint32 capabilities;      /* driver: of this device */
    gboolean from_cache;       /* driver, with IFM_CAN_CACHE: read from options.cache_dir instead of being compiled */
    GPtrArray *inputs;         /* driver: IfmPort* */
    GPtrArray *outputs;        /* driver: IfmPort* */
    GPtrArray *executors;      /* IfmExecutor*, one a stream, made before compile is called; empty with native_async */
    gint n_requests;           /* (atomic) requests not yet freed */
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
    guint32 capabilities; /* what any device of it may have */

    /* open: mandatory. Opens the library (RTLD_LOCAL), resolves the symbol table, checks the version, allocates. */
    IfmEngine *(*open)(IfmClock *clock, GError **error);
    /* close: mandatory. Frees the object; never closes the library. */
    void (*close)(IfmEngine *engine);
    /* devices: mandatory. Asks the runtime. Returns IfmDeviceInfo*. */
    GPtrArray *(*devices)(IfmEngine *engine, GError **error);
    /* probe_device: optional; without it a device is alive where `devices` lists it as available. */
    gboolean (*probe_device)(IfmEngine *engine, const IfmDeviceSpec *spec, GError **error);

    /* compile: mandatory, executor (stream 0). @compiled: the driver's struct, zeroed by compiled_size, common fields set.
     */
    gsize compiled_size;
    gboolean (*compile)(IfmCompiled *compiled, GError **error);
    /* compiled_clear: mandatory, executor (stream 0). Also called after a failed compile. Frees the driver's own fields. */
    void (*compiled_clear)(IfmCompiled *compiled);

    /* request_init / request_clear: mandatory. @request: zeroed by request_size, common fields set. */
    gsize request_size;
    gboolean (*request_init)(IfmRequest *request, GError **error);
    void (*request_clear)(IfmRequest *request);
    /* set_input: mandatory. The bytes stay valid until replaced or request_clear. */
    gboolean (*set_input)(IfmRequest *request, gsize port, const IfmTensor *tensor, GError **error);
    /* set_sizes: optional; without it nothing but shapes matters to the engine. */
    gboolean (*set_sizes)(IfmRequest *request, const IfmDimBinding *sizes, gsize n, GError **error);
    /* set_output: with IFM_CAN_SET_OUTPUT. @tensor NULL: the engine allocates again. */
    gboolean (*set_output)(IfmRequest *request, gsize port, const IfmTensor *tensor, GError **error);
    /* output: mandatory. Borrowed until the next infer. */
    gboolean (*output)(IfmRequest *request, gsize port, IfmTensor *tensor, GError **error);

    /* prepare: optional, executor. Called before the start time is taken: what must not be in an inference's time. */
    gboolean (*prepare)(IfmRequest *request, GError **error);
    /* infer: mandatory, executor. One synchronous inference. No allocation or logging of the driver's own on the way. */
    gboolean (*infer)(IfmRequest *request, GError **error);
    /* infer_async: with IFM_CAN_NATIVE_ASYNC. Returns at once; calls ifm_request_completed() exactly once, on any thread.
     */
    gboolean (*infer_async)(IfmRequest *request, GError **error);
    /* cancel: with IFM_CAN_CANCEL. Any thread, while infer runs. Its granularity is the driver's to document. */
    void (*cancel)(IfmRequest *request);
    /* cancel_clear: optional. Called before the inference that follows a cancel, which may have come too late to do
     * anything, so that it does not end the next one. Never together with cancel. */
    void (*cancel_clear)(IfmRequest *request);

    /* attest: optional. Fills dtype and nodes from one run of a profiled twin; attest.c counts threads and reads their
     * masks.
     */
    gboolean (*attest)(IfmCompiled *compiled, const IfmTensor *inputs, IfmAttest *attest, GError **error);
    /* profile: with IFM_CAN_PROFILE. Appends IfmEngineProfile* to @profiles, ifm_engine_profile_new(). */
    gboolean (*profile)(IfmCompiled *compiled, IfmRequest *request, GPtrArray *profiles, GError **error);
    /* parts: optional, executor (stream 0), options.profiling. Of each node of the runtime's the names of the model's
     * nodes, and whatever else, that went into it: char* -> GPtrArray of char*; NULL where that is not told. */
    GHashTable *(*parts)(IfmCompiled *compiled);
    /* memory: with IFM_CAN_MEMORY. @memory: IFM_ENGINE_MEMORY_INIT. */
    gboolean (*memory)(IfmCompiled *compiled, IfmEngineMemory *memory, GError **error);

    /* buffer_alloc, buffer_free, buffer_tensor, copy, sync: with IFM_CAN_BUFFERS. */
    IfmBuffer *(*buffer_alloc)(IfmEngine *engine, const IfmDeviceSpec *spec, gsize size_bytes, GError **error);
    void (*buffer_free)(IfmBuffer *buffer);
    gboolean (*buffer_tensor)(IfmBuffer *buffer, IfmTensor *tensor, GError **error);
    gboolean (*copy)(IfmEngine *engine, const IfmTensor *from, const IfmTensor *to, GError **error);
    gboolean (*sync)(IfmEngine *engine, GError **error);
    /* copy_host: optional; without it the bytes are just copied. Sizes are equal, both sides plain host memory. */
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

/* For the profile slot: (transfer full) an empty profile; nodes (IfmNodeTime*, g_new0) are freed with it. */
IfmEngineProfile *ifm_engine_profile_new(void);
void ifm_node_time_free(IfmNodeTime *node);

/* For the attest slot: (transfer full) a node added to @attest; strings are copied, NULL reads "". */
IfmNodeAttest *ifm_attest_add_node(IfmAttest *attest, const char *name, const char *op_type, const char *provider,
                                   const char *implementation, IfmDtype dtype);

/* ifm_attest_note: For the attest slot: one more thing that must be known of how it ran. @text: (transfer full) */
void ifm_attest_note(IfmAttest *attest, char *text);
/* ifm_compiled_twin: for attest: compiles the same model once more with profiling on and runs it once on stream 0.
 * @request: (out) (transfer full) the request that ran. Returns: (transfer full) NULL with an error. */
IfmCompiled *ifm_compiled_twin(IfmCompiled *compiled, const IfmTensor *inputs, IfmRequest **request, GError **error);

/* ifm_request_completed: for infer_async: stores the outcome, wakes the waiter, calls done. @error: (transfer full). */
void ifm_request_completed(IfmRequest *request, gint64 completed_ns, GError *error);

extern const IfmDriver ifm_driver_onnxruntime;
extern const IfmDriver ifm_driver_openvino;
extern const IfmDriver ifm_driver_simulated;

G_END_DECLS
