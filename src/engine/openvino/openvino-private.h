#pragma once
#include <openvino/c/openvino.h>
#include <stdatomic.h>

#include "../runtime-private.h"

G_BEGIN_DECLS

/* The driver of OpenVINO, on its C API: openvino-api.c (errors, types), openvino-request.c (inferring, profiles, the
 * effective configuration), openvino-cache.c, openvino-parts.c, openvino.c (the engine, devices, compiling). */

/* Every function of the library that is used, once: both the table's fields and the look-up by name are made from this
 * list. */
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
    char *pool_cores; /* "0-3": of the process when the runtime was opened */
} OvEngine;

typedef struct
{
    IfmCompiled base;
    ov_compiled_model_t *model;
    GPtrArray *input_ports, *output_ports; /* ov_output_const_port_t*, in port order */
    _Atomic gint64 n_inferences;           /* ever: the runtime keeps a node's mean over all of them */
    const char *precision;                 /* static: the hint that was stated */
    gboolean reports_parts;                /* its graph can be exported as plain text */
    IfmExecutor *collector;                /* with native asynchrony: asks for outcomes, which callbacks do not report */
} OvCompiled;

typedef struct
{
    IfmRequest base;
    ov_infer_request_t *request;
    ov_tensor_t **own_outputs; /* [outputs]: allocated by the runtime, to be restored after the caller's */
    ov_tensor_t **fetched;     /* [outputs]: held for ifm_request_output() */
    ov_callback_t callback;
    IfmJob collect;
    gint64 completed_ns;
    /* stored before the asynchronous start and loaded in the callback: the order between the two threads does not rest
     * on what the runtime does within */
    atomic_bool is_handed_over;
} OvRequest;

static inline OvEngine *ov_engine(const IfmCompiled *compiled)
{
    return (OvEngine *)compiled->engine;
}

/** ifm_ov_check: Returns: TRUE if @status is OK; FALSE with the runtime's message and one of our codes. @refusal: the
 * code if the message shows no other: IFM_ERROR_UNSUPPORTED while compiling, _FAILED while running. */
gboolean ifm_ov_check(const OvApi *api, ov_status_e status, const char *who, IfmErrorCode refusal, GError **error);

/* --- openvino-cache.c: a folder where a compile is kept --------------------------------------------------------------- */

typedef struct
{
    char *folder; /* NULL: none */
    int lock_fd;
} OvCache;

typedef enum
{
    OV_CACHE_READ,    /* the model came from the cache */
    OV_CACHE_WRITTEN, /* it was compiled, and OpenVINO wrote it to the cache */
    OV_CACHE_FAILED,  /* the files there cannot be used */
} OvCacheEnd;

/** ifm_ov_cache_name: Returns: (transfer full) the folder's name, a hash of all that defines the compile; NULL if the
 * model's file cannot be read any more. @properties: [n] keys and values */
char *ifm_ov_cache_name(const IfmCompiled *compiled, const char *device, const char *hardware,
                        const char *const *properties, gsize n);
/** ifm_ov_cache_enter: Locks the folder @name in @parent and removes damaged files. Returns: FALSE if the folder cannot
 * be used: compile without it. */
gboolean ifm_ov_cache_enter(OvCache *cache, const char *parent, const char *name);
void ifm_ov_cache_leave(OvCache *cache, OvCacheEnd end);

/* --- openvino-parts.c: the model's nodes in a node of the runtime ----------------------------------------------------- */

/** ifm_ov_open_callbacks: For property CACHE_ENCRYPTION_CALLBACKS: an export stays plain text. */
extern const ov_encryption_callbacks ifm_ov_open_callbacks;
/** ifm_ov_parts: The driver's slot. */
GHashTable *ifm_ov_parts(IfmCompiled *compiled);
/** ifm_ov_parts_read: Reads the text of an exported graph. Returns: (transfer full) as ifm_compiled_parts(); NULL if it
 * is not such a text. */
GHashTable *ifm_ov_parts_read(const char *text, gsize n);
/** ifm_ov_graph: (transfer full) the graph as XML; NULL where the runtime does not export it. */
GString *ifm_ov_graph(IfmCompiled *compiled);

/* --- openvino-arithmetic.c: what a node computes in ------------------------------------------------------------------- */

/** ifm_ov_factors_read: Reads the text of an exported graph. Returns: (transfer full) layer -> "u8s8", the integers that it
 * multiplies, or "int4 weights". */
GHashTable *ifm_ov_factors_read(const char *text, gsize n);
/** ifm_ov_implementation_dtype: Of "jit_avx512_bf16" bf16; UNDEFINED where its last word is no type. */
IfmDtype ifm_ov_implementation_dtype(const char *implementation);
/** ifm_ov_arithmetic: (transfer full) of a node with its dtype. @factors: (optional) of the graph */
char *ifm_ov_arithmetic(const IfmNodeConfig *node, const GHashTable *factors);

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
gboolean ifm_ov_effective_config(IfmCompiled *compiled, const IfmTensor *inputs, IfmEffectiveConfig *effective_config,
                                 GError **error);

/** ifm_ov_attribute: Of an element of the graph's XML. Returns: NULL: none. @keys, @values: NULL-terminated */
const char *ifm_ov_attribute(const char *key, const char **keys, const char **values);

G_END_DECLS
