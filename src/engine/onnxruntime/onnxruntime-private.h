#pragma once
#include <base/base.h>
#include <convolution/convolution.h>
#include <onnxruntime_c_api.h>
#include <stdatomic.h>

#include "../runtime-private.h"

G_BEGIN_DECLS

/* The driver of ONNX Runtime, from the bottom: onnxruntime-api.c (errors, types, devices found), onnxruntime-session.c
 * (sessions and ports), onnxruntime-request.c (inferring), onnxruntime-options.c and onnxruntime-profile.c (times of nodes,
 * the effective configuration), onnxruntime.c (the engine and the table of slots). */

#define IFM_ORT_NAME "onnxruntime"

/* A unit that the driver has a word for, the execution provider behind it, and the library that has it, in the folder of
 * the runtime's own; NULL: the runtime's own. */
typedef struct
{
    const char *unit, *provider, *library;
} OrtProvider;

#define IFM_ORT_N_PROVIDERS 5

typedef struct
{
    IfmEngine base;
    const OrtApi *api;
    OrtEnv *env;
    OrtMemoryInfo *host;                   /* plain host memory */
    char *unloadable[IFM_ORT_N_PROVIDERS]; /* why a provider's library does not load; NULL: it does, or there is none */
    GMutex tuning_lock;                    /* of the two below */
    IfmTemporary tuning;                   /* in place of the user's tuning cache, once that could not be written */
    char *tuning_trouble;                  /* why it could not; NULL: it could */
} OrtEngine;

typedef struct
{
    IfmCompiled base;
    OrtSession *session;
    guint n_sessions;   /* that there were: a later one may have the address of an earlier */
    char **input_names; /* [ports], in port order, as Run takes them */
    char **output_names;
    /* with options.convolutions: */
    IfmModel *conv_model;              /* the rewritten graph that the session runs */
    GPtrArray *conv_layers;            /* OrtConvLayer* */
    char *conv_note;                   /* why "best" left all to the runtime; NULL: it did not */
    struct OrtConvDomain *conv_domain; /* of the operator */
    struct IfmConvCuda *conv_cuda;     /* on a GPU */
    struct OrtRegions *regions;        /* of a model that has some: onnxruntime-regions.h */
    /* with options.profiling: */
    IfmTemporary profile_folder; /* removed with the compile */
    GPtrArray *pending;          /* IfmEngineProfile*: of a session that was replaced before its profile was asked for */
    gint64 events_per_run;       /* 0 until a profile was read */
    _Atomic gint64 events;       /* of this session, estimated */
    _Atomic int n_running;
    gboolean one_thread; /* per stream, although more were asked for: IFM_ORT_WHY_ONE_THREAD */
} OrtCompiled;

#define IFM_ORT_WHY_ONE_THREAD                                                                                             \
    "ran on one thread a stream, whatever was asked: ONNX Runtime's ScatterND loses additions on several"

typedef struct
{
    IfmRequest base;
    OrtRunOptions *run_options;
    OrtValue **inputs;
    OrtValue **outputs;
    /* where tensors stay on the device (ifm_ort_keeps_tensors()): */
    OrtIoBinding *binding; /* inputs as they were when it was made, in the device's memory; NULL: it is to be made */
    guint bound;           /* which of the compile's sessions it is of */
    GPtrArray *texts;      /* of outputs that are texts, by port: GByteArray*; NULL: none was looked at */
    gboolean *is_kept;     /* [outputs]: made before the inference (fixed shape, or the caller's memory) */
    /* stored before RunAsync() and loaded in its callback: the order between the two threads does not rest on what the
     * runtime does within */
    atomic_bool is_handed_over;
} OrtRequest;

static inline OrtEngine *ort_engine(const IfmCompiled *compiled)
{
    return (OrtEngine *)compiled->engine;
}

/** ifm_ort_check: Takes @status. Returns: TRUE if it is OK; FALSE with the runtime's message and one of our codes.
 * @refusal: the code if the message shows no other: IFM_ERROR_UNSUPPORTED while compiling, _FAILED while running. */
gboolean ifm_ort_check(const OrtApi *api, OrtStatus *status, const char *who, IfmErrorCode refusal, GError **error);

IfmDtype ifm_ort_dtype(ONNXTensorElementDataType type);
ONNXTensorElementDataType ifm_ort_type(IfmDtype dtype);

/** ifm_ort_providers: ends with NULL. A device of another provider is named by that provider. A row without a device is
 * listed as unavailable. */
extern const OrtProvider ifm_ort_providers[];
/** ifm_ort_load_providers: Loads the providers' libraries that lie with the runtime's. Without that it lists no device of
 * theirs. What does not load is noted in @unloadable. @file: the runtime's library */
void ifm_ort_load_providers(OrtEngine *engine, const char *file);
/** ifm_ort_unit: Returns: (transfer full) the unit that a provider stands for, "CPU". */
char *ifm_ort_unit(const char *provider);
/** ifm_ort_find_device: Returns: device @nth (from 0) that the runtime finds for a unit; NULL where there are fewer. */
const OrtEpDevice *ifm_ort_find_device(OrtEngine *engine, const char *unit, int nth, GError **error);

/** ifm_ort_session_open: Makes the session, or makes it again. On the executing thread, whose mask the pool inherits. */
gboolean ifm_ort_session_open(OrtCompiled *compiled, GError **error);
/** ifm_ort_session_ports: Fills the compile's ports and their names from the session. */
gboolean ifm_ort_session_ports(OrtCompiled *compiled, GError **error);

/** ifm_ort_keeps_tensors: Whether inputs stay in the device's memory from one inference to the next, and outputs until
 * they are looked at: on a GPU, in a compile with convolution algorithms or options.keep_tensors, whose inferences are
 * compared by what is computed. */
gboolean ifm_ort_keeps_tensors(const IfmCompiled *compiled);
/** ifm_ort_device_memory: The memory of the accelerator, as its plug-in describes it, else by the name that a built-in
 * provider gives it. @own: (out) what is to be released; NULL: nothing Returns: (transfer none) NULL with an error */
const OrtMemoryInfo *ifm_ort_device_memory(OrtCompiled *compiled, OrtMemoryInfo **own, GError **error);

gboolean ifm_ort_request_init(IfmRequest *request, GError **error);
void ifm_ort_request_clear(IfmRequest *request);
gboolean ifm_ort_set_input(IfmRequest *request, gsize port, const IfmTensor *tensor, GError **error);
gboolean ifm_ort_set_output(IfmRequest *request, gsize port, const IfmTensor *tensor, GError **error);
gboolean ifm_ort_output(IfmRequest *request, gsize port, IfmTensor *tensor, GError **error);
gboolean ifm_ort_infer(IfmRequest *request, GError **error);
gboolean ifm_ort_infer_async(IfmRequest *request, GError **error);
void ifm_ort_cancel(IfmRequest *request);
void ifm_ort_cancel_clear(IfmRequest *request);

/** ifm_ort_request_prepare: The session that is there, and tensors bound to it; executor, untimed. */
gboolean ifm_ort_request_prepare(IfmRequest *request, GError **error);
/** ifm_ort_profile_prepare: Replaces a profiled session whose profile is about to be full; executor, untimed. */
gboolean ifm_ort_profile_prepare(IfmRequest *request, GError **error);
gboolean ifm_ort_profile(IfmCompiled *compiled, IfmRequest *request, GPtrArray *profiles, GError **error);
gboolean ifm_ort_effective_config(IfmCompiled *compiled, const IfmTensor *inputs, IfmEffectiveConfig *effective_config,
                                  GError **error);
/** ifm_ort_note_options: Notes the options with the runtime's own keys that it cannot know. (onnxruntime-options.c) */
void ifm_ort_note_options(const OrtCompiled *compiled, IfmEffectiveConfig *effective_config);
/** ifm_ort_profile_clear: Removes the folder and what is in it. */
void ifm_ort_profile_clear(OrtCompiled *compiled);

/** ifm_ort_profile_end: Ends the profile of a session and reads it: as ifm_ort_profile_read(). */
gboolean ifm_ort_profile_end(const OrtApi *api, OrtSession *session, const char *who, GPtrArray *profiles,
                             IfmEffectiveConfig *effective_config, gint64 *n_events, GError **error);

G_END_DECLS
