#pragma once
#include <onnxruntime_c_api.h>
#include <stdatomic.h>

#include "runtime-private.h"

G_BEGIN_DECLS

/* The driver of ONNX Runtime: onnxruntime.c (the engine, sessions), onnxruntime-request.c (inferring),
 * onnxruntime-profile.c (per-node times, attest). */

typedef struct
{
    IfmEngine base;
    const OrtApi *api;
    OrtEnv *env;
    OrtMemoryInfo *host; /* plain host memory */
} OrtEngine;

typedef struct
{
    IfmCompiled base;
    OrtSession *session;
    char **input_names; /* [ports], in port order, as Run takes them */
    char **output_names;
    /* with options.profiling: */
    char *profile_folder;  /* private; removed with the compile */
    GPtrArray *pending;    /* IfmEngineProfile*: read from a session that was replaced before anybody asked */
    gint64 events_per_run; /* 0 until a profile was read */
    _Atomic gint64 events; /* of this session, as guessed */
    _Atomic int n_running;
    gboolean one_thread; /* a stream, though more were asked for: IFM_ORT_WHY_ONE_THREAD */
} OrtCompiled;

#define IFM_ORT_WHY_ONE_THREAD                                                                                             \
    "ran on one thread a stream, whatever was asked: ONNX Runtime's ScatterND loses additions on several"

typedef struct
{
    IfmRequest base;
    OrtRunOptions *run_options;
    OrtValue **inputs;
    OrtValue **outputs;
    gboolean *is_kept; /* [outputs]: made before the inference (fixed shape, or the caller's memory) */
} OrtRequest;

static inline OrtEngine *ort_engine(const IfmCompiled *compiled)
{
    return (OrtEngine *)compiled->engine;
}

/** ifm_ort_check: Takes @status. Returns: TRUE where it is OK; FALSE with the runtime's words, translated.
 * @refusal: the code where nothing more is known: IFM_ERROR_UNSUPPORTED while compiling, _FAILED while running. */
gboolean ifm_ort_check(const OrtApi *api, OrtStatus *status, const char *who, IfmErrorCode refusal, GError **error);

/** ifm_ort_session_open: (Re)makes the session; on the executing thread, whose mask the pool inherits. */
gboolean ifm_ort_session_open(OrtCompiled *compiled, GError **error);

IfmDtype ifm_ort_dtype(ONNXTensorElementDataType type);
ONNXTensorElementDataType ifm_ort_type(IfmDtype dtype);

gboolean ifm_ort_request_init(IfmRequest *request, GError **error);
void ifm_ort_request_clear(IfmRequest *request);
gboolean ifm_ort_set_input(IfmRequest *request, gsize port, const IfmTensor *tensor, GError **error);
gboolean ifm_ort_set_output(IfmRequest *request, gsize port, const IfmTensor *tensor, GError **error);
gboolean ifm_ort_output(IfmRequest *request, gsize port, IfmTensor *tensor, GError **error);
gboolean ifm_ort_infer(IfmRequest *request, GError **error);
gboolean ifm_ort_infer_async(IfmRequest *request, GError **error);
void ifm_ort_cancel(IfmRequest *request);
void ifm_ort_cancel_clear(IfmRequest *request);

/** ifm_ort_profile_prepare: Replaces a profiled session whose profile is about to be full; executor, untimed. */
gboolean ifm_ort_profile_prepare(IfmRequest *request, GError **error);
gboolean ifm_ort_profile(IfmCompiled *compiled, IfmRequest *request, GPtrArray *profiles, GError **error);
gboolean ifm_ort_attest(IfmCompiled *compiled, const IfmTensor *inputs, IfmAttest *attest, GError **error);
/** ifm_ort_note_options: Of options in the runtime's own words: which it cannot know. (onnxruntime-options.c) */
void ifm_ort_note_options(const OrtCompiled *compiled, IfmAttest *attest);
/** ifm_ort_profile_clear: Removes the folder and what is in it. */
void ifm_ort_profile_clear(OrtCompiled *compiled);

G_END_DECLS
