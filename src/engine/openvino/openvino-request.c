#include <base/base.h>
#include <string.h>

#include "openvino-private.h"

/* Requests of OpenVINO take the caller's tensors without a copy, run alone or asynchronously, and report profiles and
 * the effective configuration. */

#define US 1000

static OvRequest *self_of(IfmRequest *request)
{
    return (OvRequest *)request;
}

static OvCompiled *compiled_of(const IfmRequest *request)
{
    return (OvCompiled *)request->compiled;
}

static const OvApi *api_of(const IfmRequest *request)
{
    return &ov_engine(request->compiled)->api;
}

static gboolean check(const IfmRequest *request, ov_status_e status, GError **error)
{
    return ifm_ov_check(api_of(request), status, request->compiled->who, IFM_ERROR_FAILED, error);
}

/* --- asynchrony ------------------------------------------------------------------------------------------------------- */

/* On the collector: the runtime's callback has returned or is about to, so this does not wait for an inference. */
static void collect(void *user)
{
    IfmRequest *request = user;
    GError *error = NULL;
    if (check(request, api_of(request)->ov_infer_request_wait(self_of(request)->request), &error))
        compiled_of(request)->n_inferences++;
    ifm_request_completed(request, self_of(request)->completed_ns, error);
}

/* On a thread of the runtime. The callback has no outcome, and asking for it here would wait for this very call. */
static void called_back(void *user)
{
    IfmRequest *request = user;
    OvRequest *self = self_of(request);
    atomic_load_explicit(&self->is_handed_over, memory_order_acquire);
    self->completed_ns = ifm_clock_now_ns(request->compiled->engine->clock);
    self->collect = (IfmJob){ .function = collect, .user = request };
    ifm_executor_post(compiled_of(request)->collector, &self->collect);
}

/* --- requests --------------------------------------------------------------------------------------------------------- */

gboolean ifm_ov_request_init(IfmRequest *request, GError **error)
{
    OvRequest *self = self_of(request);
    const OvApi *api = api_of(request);
    self->own_outputs = g_new0(ov_tensor_t *, request->compiled->outputs->len + 1);
    self->fetched = g_new0(ov_tensor_t *, request->compiled->outputs->len + 1);
    if (!check(request, api->ov_compiled_model_create_infer_request(compiled_of(request)->model, &self->request), error))
        return FALSE;
    self->callback = (ov_callback_t){ called_back, request };
    return !request->compiled->options.native_async ||
           check(request, api->ov_infer_request_set_callback(self->request, &self->callback), error);
}

static void drop(const IfmRequest *request, ov_tensor_t **tensor)
{
    if (*tensor != NULL)
        api_of(request)->ov_tensor_free(*tensor);
    *tensor = NULL;
}

void ifm_ov_request_clear(IfmRequest *request)
{
    OvRequest *self = self_of(request);
    for (guint i = 0; i < request->compiled->outputs->len; i++)
    {
        drop(request, &self->own_outputs[i]);
        drop(request, &self->fetched[i]);
    }
    if (self->request != NULL)
        api_of(request)->ov_infer_request_free(self->request);
    g_free(self->own_outputs);
    g_free(self->fetched);
}

/* Gives the caller's bytes to a port, without a copy. */
static gboolean set_port(IfmRequest *request, const ov_output_const_port_t *port, const IfmTensor *tensor, GError **error)
{
    static char nothing[64]; /* the runtime needs an address for an empty tensor, too */
    const OvApi *api = api_of(request);
    ov_tensor_t *native = NULL;
    ov_shape_t shape = { tensor->rank, (int64_t *)tensor->shape };
    void *data = tensor->data != NULL ? tensor->data : nothing;
    gboolean ok =
        check(request, api->ov_tensor_create_from_host_ptr(ifm_ov_type(tensor->dtype), shape, data, &native), error) &&
        check(request, api->ov_infer_request_set_tensor_by_const_port(self_of(request)->request, port, native), error);
    drop(request, &native); /* the request holds its own reference */
    return ok;
}

gboolean ifm_ov_set_input(IfmRequest *request, gsize port, const IfmTensor *tensor, GError **error)
{
    return set_port(request, compiled_of(request)->input_ports->pdata[port], tensor, error);
}

gboolean ifm_ov_set_output(IfmRequest *request, gsize port, const IfmTensor *tensor, GError **error)
{
    OvRequest *self = self_of(request);
    const OvApi *api = api_of(request);
    const ov_output_const_port_t *native = compiled_of(request)->output_ports->pdata[port];
    drop(request, &self->fetched[port]);
    if (tensor == NULL)
        return self->own_outputs[port] == NULL ||
               check(request,
                     api->ov_infer_request_set_tensor_by_const_port(self->request, native, self->own_outputs[port]), error);
    if (self->own_outputs[port] == NULL &&
        !check(request, api->ov_infer_request_get_tensor_by_const_port(self->request, native, &self->own_outputs[port]),
               error))
        return FALSE;
    return set_port(request, native, tensor, error);
}

/* The C API reports the shape of a scalar, which has no dimensions, as an invalid parameter. */
static gboolean shape_of(IfmRequest *request, const ov_tensor_t *tensor, ov_shape_t *shape, GError **error)
{
    ov_status_e status = api_of(request)->ov_tensor_get_shape(tensor, shape);
    if (status != INVALID_C_PARAM)
        return check(request, status, error);
    *shape = (ov_shape_t){ 0 };
    return TRUE;
}

gboolean ifm_ov_output(IfmRequest *request, gsize port, IfmTensor *tensor, GError **error)
{
    OvRequest *self = self_of(request);
    const OvApi *api = api_of(request);
    ov_shape_t shape = { 0 };
    ov_element_type_e type = DYNAMIC;
    void *data = NULL;
    drop(request, &self->fetched[port]);
    ov_tensor_t **native = &self->fetched[port];
    if (!check(request,
               api->ov_infer_request_get_tensor_by_const_port(self->request,
                                                              compiled_of(request)->output_ports->pdata[port], native),
               error) ||
        !shape_of(request, *native, &shape, error))
        return FALSE;
    gboolean ok = check(request, api->ov_tensor_get_element_type(*native, &type), error) &&
                  check(request, api->ov_tensor_data(*native, &data), error) &&
                  ifm_tensor_wrap(tensor, ifm_ov_dtype(type), (int)shape.rank, shape.dims, data, error);
    if (shape.dims != NULL)
        api->ov_shape_free(&shape);
    return ok;
}

gboolean ifm_ov_infer(IfmRequest *request, GError **error)
{
    if (!check(request, api_of(request)->ov_infer_request_infer(self_of(request)->request), error))
        return FALSE;
    compiled_of(request)->n_inferences++;
    return TRUE;
}

gboolean ifm_ov_infer_async(IfmRequest *request, GError **error)
{
    atomic_store_explicit(&self_of(request)->is_handed_over, true, memory_order_release);
    return check(request, api_of(request)->ov_infer_request_start_async(self_of(request)->request), error);
}

/* The flag is read between nodes. */
void ifm_ov_cancel(IfmRequest *request)
{
    check(request, api_of(request)->ov_infer_request_cancel(self_of(request)->request), NULL);
}

/* --- profiles --------------------------------------------------------------------------------------------------------- */

/* For a node the runtime reports the mean since the model was compiled, truncated to whole microseconds. */
gboolean ifm_ov_profile(IfmCompiled *compiled, IfmRequest *request, GPtrArray *profiles, GError **error)
{
    ov_profiling_info_list_t list = { 0 };
    gint64 n = ((OvCompiled *)compiled)->n_inferences;
    if (n == compiled->n_profiled)
        return TRUE;
    if (!check(request, api_of(request)->ov_infer_request_get_profiling_info(self_of(request)->request, &list), error))
        return FALSE;
    IfmEngineProfile *profile = ifm_engine_profile_new();
    profile->n_inferences = n;
    profile->resolution_ns = US;
    for (size_t i = 0; i < list.size; i++)
    {
        const ov_profiling_info_t *info = &list.profiling_infos[i];
        IfmNodeTime *node = g_new0(IfmNodeTime, 1);
        node->name = g_strdup(info->node_name);
        node->op_type = g_strdup(info->node_type);
        node->provider = g_strdup("");
        node->implementation = g_strdup(info->exec_type);
        node->start_ns = -1;
        node->duration_ns = info->status == EXECUTED ? info->real_time * US : -1;
        g_ptr_array_add(profile->nodes, node);
    }
    g_ptr_array_add(profiles, profile);
    api_of(request)->ov_profiling_info_list_free(&list);
    return TRUE;
}

/* Of the model itself, since the profiled run has one stream. A device without this property keeps its count. */
static void read_streams(const OvCompiled *self, IfmEffectiveConfig *effective_config)
{
    const OvApi *api = &ov_engine(&self->base)->api;
    char *value = NULL;
    if (api->ov_compiled_model_get_property(self->model, "NUM_STREAMS", &value) != OK)
        return;
    gint64 n = g_ascii_strtoll(value, NULL, 10);
    if (n > 0)
        effective_config->n_streams = (int)MIN(n, G_MAXINT);
    api->ov_free(value);
}

gboolean ifm_ov_effective_config(IfmCompiled *compiled, const IfmTensor *inputs, IfmEffectiveConfig *effective_config,
                                 GError **error)
{
    read_streams((const OvCompiled *)compiled, effective_config);
    IfmRequest *request = NULL;
    IfmCompiled *profiled = ifm_compiled_again(compiled, inputs, NULL, &request, error);
    if (profiled == NULL)
        return FALSE;
    g_autoptr(GString) graph = ifm_ov_graph(profiled);
    g_autoptr(GHashTable) factors = graph != NULL ? ifm_ov_factors_read(graph->str, graph->len) : NULL;
    g_autoptr(GPtrArray) profiles = ifm_compiled_profile(profiled, request, error);
    for (guint i = 0; profiles != NULL && i < profiles->len; i++)
    {
        const IfmEngineProfile *profile = profiles->pdata[i];
        for (guint k = 0; k < profile->nodes->len; k++)
        {
            const IfmNodeTime *node = profile->nodes->pdata[k];
            IfmNodeConfig *config =
                ifm_effective_config_add_node(effective_config, node->name, node->op_type, "", node->implementation,
                                              ifm_ov_implementation_dtype(node->implementation));
            g_free(config->arithmetic);
            config->arithmetic = ifm_ov_arithmetic(config, factors);
        }
    }
    ifm_request_free(request);
    ifm_compiled_free(profiled);
    return profiles != NULL;
}
