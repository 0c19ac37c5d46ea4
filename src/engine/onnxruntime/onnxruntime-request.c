#include <string.h>

#include "onnxruntime-private.h"

/* A request gives tensors to ONNX Runtime without a copy, but for texts and where they are kept in a device's memory,
 * and infers, waiting or asynchronously. */

static OrtRequest *self_of(IfmRequest *request)
{
    return (OrtRequest *)request;
}

static const OrtApi *api_of(const IfmRequest *request)
{
    return ort_engine(request->compiled)->api;
}

/* Takes @status; its message is prefixed by the model and the device. */
static gboolean check(const IfmRequest *request, OrtStatus *status, GError **error)
{
    return ifm_ort_check(api_of(request), status, request->compiled->who, IFM_ERROR_FAILED, error);
}

/* Makes the memory of an output of known shape once, so that the runtime allocates none during an inference. Single numbers
 * it may allocate: exporters that saw a batch of 1 say so of what has a number for each sample. */
static gboolean make_output(IfmRequest *request, gsize index, GError **error)
{
    OrtRequest *self = self_of(request);
    const OrtApi *api = api_of(request);
    const IfmPort *port = request->compiled->outputs->pdata[index];
    OrtAllocator *allocator;
    self->is_kept[index] = ifm_port_is_fixed(port) && port->rank > 0 && !ifm_ort_keeps_tensors(request->compiled);
    return !self->is_kept[index] || (check(request, api->GetAllocatorWithDefaultOptions(&allocator), error) &&
                                     check(request,
                                           api->CreateTensorAsOrtValue(allocator, port->dims, (size_t)port->rank,
                                                                       ifm_ort_type(port->dtype), &self->outputs[index]),
                                           error));
}

gboolean ifm_ort_request_init(IfmRequest *request, GError **error)
{
    OrtRequest *self = self_of(request);
    guint n_outputs = request->compiled->outputs->len;
    self->inputs = g_new0(OrtValue *, request->compiled->inputs->len + 1);
    self->outputs = g_new0(OrtValue *, n_outputs + 1);
    self->is_kept = g_new0(gboolean, n_outputs + 1);
    if (!check(request, api_of(request)->CreateRunOptions(&self->run_options), error))
        return FALSE;
    for (guint i = 0; i < n_outputs; i++)
        if (!make_output(request, i, error))
            return FALSE;
    return TRUE;
}

static void release(const IfmRequest *request, OrtValue **value)
{
    if (*value != NULL)
        api_of(request)->ReleaseValue(*value);
    *value = NULL;
}

static void unbind(IfmRequest *request)
{
    OrtRequest *self = self_of(request);
    if (self->binding != NULL)
        api_of(request)->ReleaseIoBinding(self->binding);
    self->binding = NULL;
}

void ifm_ort_request_clear(IfmRequest *request)
{
    OrtRequest *self = self_of(request);
    unbind(request);
    for (guint i = 0; i < request->compiled->inputs->len; i++)
        release(request, &self->inputs[i]);
    for (guint i = 0; i < request->compiled->outputs->len; i++)
        release(request, &self->outputs[i]);
    if (self->run_options != NULL)
        api_of(request)->ReleaseRunOptions(self->run_options);
    g_free(self->inputs);
    g_free(self->outputs);
    g_free(self->is_kept);
    for (guint i = 0; self->texts != NULL && i < self->texts->len; i++)
        if (self->texts->pdata[i] != NULL)
            g_byte_array_unref(self->texts->pdata[i]);
    g_clear_pointer(&self->texts, g_ptr_array_unref);
}

/* Describes the caller's bytes to the runtime, without a copy. */
static gboolean wrap(IfmRequest *request, const IfmTensor *tensor, OrtValue **value, GError **error)
{
    static char nothing[64]; /* the runtime needs an address for an empty tensor, too */
    OrtValue *made = NULL;
    void *data = tensor->data != NULL ? tensor->data : nothing;
    if (!check(request,
               api_of(request)->CreateTensorWithDataAsOrtValue(ort_engine(request->compiled)->host, data,
                                                               tensor->size_bytes, tensor->shape, (size_t)tensor->rank,
                                                               ifm_ort_type(tensor->dtype), &made),
               error))
        return FALSE;
    release(request, value);
    *value = made;
    return TRUE;
}

/* Texts are the runtime's own objects: it copies them. */
static gboolean copy_texts(IfmRequest *request, const IfmTensor *tensor, OrtValue **value, GError **error)
{
    const OrtApi *api = api_of(request);
    g_autofree const char **texts = ifm_tensor_texts(tensor);
    OrtAllocator *allocator;
    OrtValue *made = NULL;
    const gsize n = (gsize)ifm_tensor_n_elements(tensor);
    if (!check(request, api->GetAllocatorWithDefaultOptions(&allocator), error) ||
        !check(request,
               api->CreateTensorAsOrtValue(allocator, tensor->shape, (size_t)tensor->rank,
                                           ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING, &made),
               error))
        return FALSE;
    release(request, value);
    *value = made;
    return n == 0 || check(request, api->FillStringTensor(made, texts, n), error);
}

gboolean ifm_ort_set_input(IfmRequest *request, gsize port, const IfmTensor *tensor, GError **error)
{
    unbind(request);
    if (tensor->dtype == IFM_DTYPE_STRING)
        return copy_texts(request, tensor, &self_of(request)->inputs[port], error);
    return wrap(request, tensor, &self_of(request)->inputs[port], error);
}

gboolean ifm_ort_set_output(IfmRequest *request, gsize port, const IfmTensor *tensor, GError **error)
{
    OrtRequest *self = self_of(request);
    if (tensor == NULL)
    {
        release(request, &self->outputs[port]);
        return make_output(request, port, error);
    }
    self->is_kept[port] = TRUE;
    return wrap(request, tensor, &self->outputs[port], error);
}

/* The texts of an output, as a tensor of ours; they last until it is looked at again. */
static gboolean read_texts(IfmRequest *request, gsize port, int rank, const gint64 *shape, IfmTensor *tensor,
                           GError **error)
{
    const OrtApi *api = api_of(request);
    OrtRequest *self = self_of(request);
    OrtValue *value = self->outputs[port];
    size_t n = 0, n_bytes = 0;
    for (int axis = 0; axis < rank; axis++)
        n = (axis == 0 ? 1 : n) * (size_t)shape[axis];
    n = rank == 0 ? 1 : n;
    if (!check(request, api->GetStringTensorDataLength(value, &n_bytes), error))
        return FALSE;
    g_autofree char *bytes = g_malloc0(n_bytes + 1);
    g_autofree size_t *offsets = g_new0(size_t, n + 1);
    if (n > 0 && !check(request, api->GetStringTensorContent(value, bytes, n_bytes, offsets, n), error))
        return FALSE;
    GByteArray *texts = g_byte_array_sized_new((guint)(n_bytes + n + 1));
    offsets[n] = n_bytes;
    for (size_t i = 0; i < n; i++)
    {
        const size_t length = strnlen(bytes + offsets[i], offsets[i + 1] - offsets[i]);
        g_byte_array_append(texts, (const guint8 *)bytes + offsets[i], (guint)length);
        g_byte_array_append(texts, (const guint8 *)"", 1);
    }
    if (self->texts == NULL)
        self->texts = g_ptr_array_new();
    if (self->texts->len <= port)
        g_ptr_array_set_size(self->texts, (gint)port + 1);
    if (self->texts->pdata[port] != NULL)
        g_byte_array_unref(self->texts->pdata[port]);
    self->texts->pdata[port] = texts;
    return ifm_tensor_wrap_texts(tensor, rank, shape, texts->data, texts->len, error);
}

/* --- tensors in the device's memory ------------------------------------------------------------------------------- */

/* An output is made where it belongs; what is no tensor of numbers stays with the processor. */
static gboolean bind_outputs(IfmRequest *request, const OrtMemoryInfo *device, GError **error)
{
    const OrtApi *api = api_of(request);
    const OrtCompiled *compiled = (const OrtCompiled *)request->compiled;
    for (guint i = 0; i < compiled->base.outputs->len; i++)
    {
        const IfmDtype dtype = ((const IfmPort *)compiled->base.outputs->pdata[i])->dtype;
        const gboolean is_on_host = dtype == IFM_DTYPE_STRING || dtype == IFM_DTYPE_UNDEFINED;
        const OrtMemoryInfo *where = is_on_host ? ort_engine(request->compiled)->host : device;
        if (!check(request, api->BindOutputToDevice(self_of(request)->binding, compiled->output_names[i], where), error))
            return FALSE;
    }
    return TRUE;
}

/* Binding an input copies it to the memory of the nodes that read it. */
static gboolean bind(IfmRequest *request, GError **error)
{
    OrtRequest *self = self_of(request);
    OrtCompiled *compiled = (OrtCompiled *)request->compiled;
    const OrtApi *api = api_of(request);
    OrtMemoryInfo *own = NULL;
    const OrtMemoryInfo *device = ifm_ort_device_memory(compiled, &own, error);
    gboolean ok = device != NULL && check(request, api->CreateIoBinding(compiled->session, &self->binding), error);
    for (guint i = 0; ok && i < compiled->base.inputs->len; i++)
        ok = check(request, api->BindInput(self->binding, compiled->input_names[i], self->inputs[i]), error);
    ok = ok && bind_outputs(request, device, error) && check(request, api->SynchronizeBoundInputs(self->binding), error);
    api->ReleaseMemoryInfo(own);
    self->bound = compiled->n_sessions;
    if (!ok)
        unbind(request);
    return ok;
}

gboolean ifm_ort_request_prepare(IfmRequest *request, GError **error)
{
    OrtRequest *self = self_of(request);
    const OrtCompiled *compiled = (const OrtCompiled *)request->compiled;
    if (!ifm_ort_profile_prepare(request, error))
        return FALSE;
    if (!ifm_ort_keeps_tensors(request->compiled) || (self->binding != NULL && self->bound == compiled->n_sessions))
        return TRUE;
    unbind(request);
    return bind(request, error);
}

static gboolean check_rank(const IfmRequest *request, size_t rank, GError **error)
{
    return rank <= IFM_MAX_RANK || ifm_error_refuse(error, "%s: an output has %zu dimensions, more than %d",
                                                    request->compiled->who, rank, IFM_MAX_RANK);
}

/* A copy in the host's memory. (transfer full) */
static OrtValue *copy_to_host(IfmRequest *request, const OrtValue *value, GError **error)
{
    const OrtApi *api = api_of(request);
    OrtTensorTypeAndShapeInfo *info = NULL;
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    gint64 shape[IFM_MAX_RANK] = { 0 };
    size_t rank = 0;
    OrtAllocator *allocator = NULL;
    OrtValue *made = NULL;
    const gboolean ok = check(request, api->GetTensorTypeAndShape(value, &info), error) &&
                        check(request, api->GetTensorElementType(info, &type), error) &&
                        check(request, api->GetDimensionsCount(info, &rank), error) && check_rank(request, rank, error) &&
                        check(request, api->GetDimensions(info, shape, rank), error) &&
                        check(request, api->GetAllocatorWithDefaultOptions(&allocator), error) &&
                        check(request, api->CreateTensorAsOrtValue(allocator, shape, rank, type, &made), error) &&
                        check(request, api->CopyTensors(ort_engine(request->compiled)->env, &value, &made, NULL, 1), error);
    if (info != NULL)
        api->ReleaseTensorTypeAndShapeInfo(info);
    if (!ok)
        release(request, &made);
    return made;
}

static gboolean is_on_host(const IfmRequest *request, const OrtValue *value)
{
    const OrtApi *api = api_of(request);
    const OrtMemoryInfo *memory = NULL;
    OrtMemoryInfoDeviceType device = OrtMemoryInfoDeviceType_CPU;
    if (!check(request, api->GetTensorMemoryInfo(value, &memory), NULL))
        return TRUE; /* no tensor */
    api->MemoryInfoGetDeviceType(memory, &device);
    return device == OrtMemoryInfoDeviceType_CPU;
}

/* Brings an output of the last inference to the host, once. */
static gboolean fetch(IfmRequest *request, gsize port, GError **error)
{
    OrtRequest *self = self_of(request);
    const OrtApi *api = api_of(request);
    OrtAllocator *allocator = NULL;
    OrtValue **values = NULL;
    size_t n = 0;
    if (self->binding == NULL || self->outputs[port] != NULL)
        return TRUE;
    if (!check(request, api->GetAllocatorWithDefaultOptions(&allocator), error) ||
        !check(request, api->GetBoundOutputValues(self->binding, allocator, &values, &n), error))
        return FALSE;
    if (port < n && is_on_host(request, values[port]))
        self->outputs[port] = g_steal_pointer(&values[port]);
    else if (port < n)
        self->outputs[port] = copy_to_host(request, values[port], error);
    for (size_t i = 0; i < n; i++)
        release(request, &values[i]);
    if (values != NULL)
        check(request, api->AllocatorFree(allocator, values), NULL);
    return self->outputs[port] != NULL;
}

gboolean ifm_ort_output(IfmRequest *request, gsize port, IfmTensor *tensor, GError **error)
{
    const OrtApi *api = api_of(request);
    *tensor = IFM_TENSOR_INIT;
    if (((const IfmPort *)request->compiled->outputs->pdata[port])->dtype == IFM_DTYPE_UNDEFINED)
        return TRUE; /* no tensor */
    if (!fetch(request, port, error))
        return FALSE;
    OrtValue *value = self_of(request)->outputs[port];
    OrtTensorTypeAndShapeInfo *info = NULL;
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    gint64 shape[IFM_MAX_RANK] = { 0 };
    size_t rank = 0;
    void *data = NULL;
    gboolean ok = check(request, api->GetTensorTypeAndShape(value, &info), error) &&
                  check(request, api->GetTensorElementType(info, &type), error) &&
                  check(request, api->GetDimensionsCount(info, &rank), error) && check_rank(request, rank, error) &&
                  check(request, api->GetDimensions(info, shape, rank), error) &&
                  (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING
                       ? read_texts(request, port, (int)rank, shape, tensor, error)
                       : check(request, api->GetTensorMutableData(value, &data), error) &&
                             ifm_tensor_wrap(tensor, ifm_ort_dtype(type), (int)rank, shape, data, error));
    if (info != NULL)
        api->ReleaseTensorTypeAndShapeInfo(info);
    return ok;
}

/* --- inferring -------------------------------------------------------------------------------------------------------- */

/* The runtime allocates outputs of free shape; those of the last inference are freed first. */
static void drop_outputs(IfmRequest *request)
{
    OrtRequest *self = self_of(request);
    for (guint i = 0; i < request->compiled->outputs->len; i++)
        if (!self->is_kept[i])
            release(request, &self->outputs[i]);
}

gboolean ifm_ort_infer(IfmRequest *request, GError **error)
{
    OrtRequest *self = self_of(request);
    OrtCompiled *compiled = (OrtCompiled *)request->compiled;
    drop_outputs(request);
    if (compiled->base.options.profiling)
        atomic_fetch_add(&compiled->n_running, 1);
    OrtStatus *status =
        self->binding != NULL
            ? api_of(request)->RunWithBinding(compiled->session, self->run_options, self->binding)
            : api_of(request)->Run(compiled->session, self->run_options, (const char *const *)compiled->input_names,
                                   (const OrtValue *const *)self->inputs, compiled->base.inputs->len,
                                   (const char *const *)compiled->output_names, compiled->base.outputs->len, self->outputs);
    if (compiled->base.options.profiling)
        atomic_fetch_sub(&compiled->n_running, 1);
    return check(request, status, error);
}

static void async_done(void *user, OrtValue **outputs, size_t n_outputs, OrtStatus *status)
{
    IfmRequest *request = user;
    atomic_load_explicit(&((OrtRequest *)user)->is_handed_over, memory_order_acquire);
    gint64 completed_ns = ifm_clock_now_ns(request->compiled->engine->clock);
    GError *error = NULL;
    check(request, status, &error);
    ifm_request_completed(request, completed_ns, error);
}

gboolean ifm_ort_infer_async(IfmRequest *request, GError **error)
{
    OrtRequest *self = self_of(request);
    OrtCompiled *compiled = (OrtCompiled *)request->compiled;
    drop_outputs(request);
    atomic_store_explicit(&self->is_handed_over, true, memory_order_release);
    return check(request,
                 api_of(request)->RunAsync(compiled->session, self->run_options, (const char *const *)compiled->input_names,
                                           (const OrtValue *const *)self->inputs, compiled->base.inputs->len,
                                           (const char *const *)compiled->output_names, compiled->base.outputs->len,
                                           self->outputs, async_done, request),
                 error);
}

/* The flag is read between nodes: a running node is finished first. */
void ifm_ort_cancel(IfmRequest *request)
{
    check(request, api_of(request)->RunOptionsSetTerminate(self_of(request)->run_options), NULL);
}

void ifm_ort_cancel_clear(IfmRequest *request)
{
    check(request, api_of(request)->RunOptionsUnsetTerminate(self_of(request)->run_options), NULL);
}
