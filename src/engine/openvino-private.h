#pragma once
#include <openvino/c/openvino.h>
#include <stdatomic.h>

#include "runtime-private.h"

G_BEGIN_DECLS

/* The driver of OpenVINO, on its C API: openvino.c (the engine, devices, compiling), openvino-request.c (inferring,
 * profiles, attest). */

/* Every function of the library that is used, once: the table's fields and the look-up by name both come from this list. */
#define OV_SYMBOLS(X)                                                                                                      \
    X(ov_get_openvino_version)                                                                                             \
    X(ov_version_free)                                                                                                     \
    X(ov_get_last_err_msg)                                                                                                 \
    X(ov_get_error_info)                                                                                                   \
    X(ov_free)                                                                                                             \
    X(ov_core_create)                                                                                                      \
    X(ov_core_free)                                                                                                        \
    X(ov_core_get_available_devices)                                                                                       \
    X(ov_available_devices_free)                                                                                           \
    X(ov_core_get_property)                                                                                                \
    X(ov_core_read_model)                                                                                                  \
    X(ov_core_read_model_from_memory_buffer)                                                                               \
    X(ov_core_compile_model)                                                                                               \
    X(ov_model_free)                                                                                                       \
    X(ov_model_inputs_size)                                                                                                \
    X(ov_model_const_input_by_index)                                                                                       \
    X(ov_model_const_input_by_name)                                                                                        \
    X(ov_model_reshape_input_by_name)                                                                                      \
    X(ov_compiled_model_free)                                                                                              \
    X(ov_compiled_model_inputs_size)                                                                                       \
    X(ov_compiled_model_outputs_size)                                                                                      \
    X(ov_compiled_model_input_by_index)                                                                                    \
    X(ov_compiled_model_input_by_name)                                                                                     \
    X(ov_compiled_model_output_by_index)                                                                                   \
    X(ov_compiled_model_output_by_name)                                                                                    \
    X(ov_compiled_model_get_property)                                                                                      \
    X(ov_compiled_model_export_model)                                                                                      \
    X(ov_compiled_model_create_infer_request)                                                                              \
    X(ov_output_const_port_free)                                                                                           \
    X(ov_port_get_any_name)                                                                                                \
    X(ov_port_get_partial_shape)                                                                                           \
    X(ov_port_get_element_type)                                                                                            \
    X(ov_partial_shape_create)                                                                                             \
    X(ov_partial_shape_free)                                                                                               \
    X(ov_shape_free)                                                                                                       \
    X(ov_tensor_create_from_host_ptr)                                                                                      \
    X(ov_tensor_get_shape)                                                                                                 \
    X(ov_tensor_get_element_type)                                                                                          \
    X(ov_tensor_data)                                                                                                      \
    X(ov_tensor_free)                                                                                                      \
    X(ov_infer_request_free)                                                                                               \
    X(ov_infer_request_set_tensor_by_const_port)                                                                           \
    X(ov_infer_request_get_tensor_by_const_port)                                                                           \
    X(ov_infer_request_infer)                                                                                              \
    X(ov_infer_request_start_async)                                                                                        \
    X(ov_infer_request_set_callback)                                                                                       \
    X(ov_infer_request_wait)                                                                                               \
    X(ov_infer_request_cancel)                                                                                             \
    X(ov_infer_request_get_profiling_info)                                                                                 \
    X(ov_profiling_info_list_free)

typedef struct
{
#define OV_FIELD(name) __typeof__(name) *name;
    OV_SYMBOLS(OV_FIELD)
#undef OV_FIELD
} OvApi;

typedef struct
{
    IfmEngine base;
    OvApi api;
    ov_core_t *core;
    char *pool_cores; /* "0-3": the process's when the runtime was opened */
} OvEngine;

typedef struct
{
    IfmCompiled base;
    ov_compiled_model_t *model;
    GPtrArray *input_ports, *output_ports; /* ov_output_const_port_t*, in port order */
    /* The runtime keeps a node's running mean over all inferences, and nothing else. */
    _Atomic gint64 n_inferences; /* ever */
    gint64 n_read;               /* … when the means were last read */
    GArray *sums_us;             /* gint64 a node, as of then */
    gboolean tells_parts;        /* it can be exported in plain words */
    IfmExecutor *collector;      /* with native asynchrony: asks for outcomes, which callbacks do not tell */
} OvCompiled;

typedef struct
{
    IfmRequest base;
    ov_infer_request_t *request;
    ov_tensor_t **own_outputs; /* [outputs]: those the runtime made, to be given back after the caller's */
    ov_tensor_t **fetched;     /* [outputs]: held for ifm_request_output() */
    ov_callback_t callback;
    IfmJob collect;
    gint64 completed_ns;
} OvRequest;

static inline OvEngine *ov_engine(const IfmCompiled *compiled)
{
    return (OvEngine *)compiled->engine;
}

/** ifm_ov_check: Returns: TRUE where @status is OK; FALSE with the runtime's words, translated.
 * @refusal: the code where nothing more is known: IFM_ERROR_UNSUPPORTED while compiling, _FAILED while running. */
gboolean ifm_ov_check(const OvApi *api, ov_status_e status, const char *who, IfmErrorCode refusal, GError **error);

/* --- openvino-cache.c: a folder where a compile is kept ----------------------------------------------------------------
 */

typedef struct
{
    char *folder; /* NULL: none */
    int lock_fd;
} OvCache;

typedef enum
{
    OV_CACHE_READ,    /* the model came from there */
    OV_CACHE_WRITTEN, /* it was compiled, and OpenVINO has put it there */
    OV_CACHE_FAILED,  /* whatever is there is of no use */
} OvCacheEnd;

/** ifm_ov_cache_name: Returns: (transfer full) the folder's name, of all that makes the compile what it is; NULL where the
 * model's file cannot be read any more. @properties: [n] keys and values */
char *ifm_ov_cache_name(const IfmCompiled *compiled, const char *device, const char *hardware,
                        const char *const *properties, gsize n);
/** ifm_ov_cache_enter: Takes the folder @name in @parent, and sees to it that nothing damaged is in there.
 * Returns: FALSE where there is none to be had: compile without. */
gboolean ifm_ov_cache_enter(OvCache *cache, const char *parent, const char *name);
void ifm_ov_cache_leave(OvCache *cache, OvCacheEnd end);

/* --- openvino-parts.c: what a node of the runtime's was made of --------------------------------------------------------
 */

/** ifm_ov_open_callbacks: for property CACHE_ENCRYPTION_CALLBACKS: what is exported stays plain text. */
extern const ov_encryption_callbacks ifm_ov_open_callbacks;
/** ifm_ov_parts: the driver's slot. */
GHashTable *ifm_ov_parts(IfmCompiled *compiled);
/** ifm_ov_parts_read: of the text of an exported graph. Returns: (transfer full) as ifm_compiled_parts(); NULL where it is
 * no such text. */
GHashTable *ifm_ov_parts_read(const char *text, gsize n);

IfmDtype ifm_ov_dtype(ov_element_type_e type);
ov_element_type_e ifm_ov_type(IfmDtype dtype);

gboolean ifm_ov_request_init(IfmRequest *request, GError **error);
void ifm_ov_request_clear(IfmRequest *request);
gboolean ifm_ov_set_input(IfmRequest *request, gsize port, const IfmTensor *tensor, GError **error);
gboolean ifm_ov_set_output(IfmRequest *request, gsize port, const IfmTensor *tensor, GError **error);
gboolean ifm_ov_output(IfmRequest *request, gsize port, IfmTensor *tensor, GError **error);
gboolean ifm_ov_infer(IfmRequest *request, GError **error);
gboolean ifm_ov_infer_async(IfmRequest *request, GError **error);
void ifm_ov_cancel(IfmRequest *request);
gboolean ifm_ov_profile(IfmCompiled *compiled, IfmRequest *request, GPtrArray *profiles, GError **error);
gboolean ifm_ov_attest(IfmCompiled *compiled, const IfmTensor *inputs, IfmAttest *attest, GError **error);

G_END_DECLS
