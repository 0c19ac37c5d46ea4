/* inferometer:Conv and inferometer:Mark on the CUDA provider: their tensors and its stream, and the times of layers. */
#include <ops/ops.h>

#include "onnxruntime-conv.h"

/* An input of the node; NULL where there is none. */
static OrtStatus *read_input(const OrtApi *api, const OrtKernelContext *context, size_t index, const float **data)
{
    size_t n = 0;
    const OrtValue *value = NULL;
    OrtStatus *status = api->KernelContext_GetInputCount(context, &n);
    *data = NULL;
    if (status == NULL && index < n)
        status = api->KernelContext_GetInput(context, index, &value);
    return status == NULL && value != NULL ? api->GetTensorData(value, (const void **)data) : status;
}

OrtStatus *ifm_ort_conv_cuda_run(const OrtApi *api, OrtConvLayer *layer, OrtKernelContext *context, gboolean timed)
{
    const IfmConvShape *shape = ifm_conv_cuda_layer_shape(layer->kernel.cuda);
    const gint64 dims[] = { shape->batch, shape->out_channels, shape->out[0], shape->out[1] };
    const float *inputs[4]; /* tensor, weights, bias, sum */
    OrtValue *value = NULL;
    float *output = NULL;
    void *stream = NULL;
    OrtStatus *status = api->KernelContext_GetGPUComputeStream(context, &stream);
    for (size_t i = 0; status == NULL && i < G_N_ELEMENTS(inputs); i++)
        status = read_input(api, context, i, &inputs[i]);
    if (status == NULL)
        status = api->KernelContext_GetOutput(context, 0, dims, G_N_ELEMENTS(dims), &value);
    if (status == NULL && value == NULL)
        status = api->CreateStatus(ORT_INVALID_ARGUMENT, "a convolution has no output");
    if (status == NULL)
        status = api->GetTensorMutableData(value, (void **)&output);
    if (status != NULL)
        return status;
    g_autoptr(GError) error = NULL;
    if (ifm_conv_cuda_layer_run(layer->kernel.cuda, stream, inputs[0], inputs[1], inputs[2], inputs[3], output, timed,
                                &error))
        return NULL;
    return api->CreateStatus(ORT_FAIL, error->message);
}

OrtStatus *ifm_ort_conv_cuda_mark(const OrtApi *api, OrtConvLayer *layer, OrtKernelContext *context, gboolean is_end)
{
    gint64 shape[IFM_MAX_RANK] = { 0 };
    size_t rank = 0;
    gsize bytes = sizeof(float);
    const OrtValue *from = NULL;
    OrtValue *to = NULL;
    const float *input = NULL;
    float *output = NULL;
    void *stream = NULL;
    g_autoptr(GError) error = NULL;
    IFM_OPS_TRY(api->KernelContext_GetInput(context, 0, &from));
    IFM_OPS_TRY(ifm_ops_shape(api, from, G_N_ELEMENTS(shape), shape, &rank));
    if (rank > G_N_ELEMENTS(shape))
        return api->CreateStatus(ORT_INVALID_ARGUMENT, "inferometer:Mark: a tensor of a higher rank");
    for (size_t i = 0; i < rank; i++)
        bytes *= (gsize)shape[i];
    IFM_OPS_TRY(api->GetTensorData(from, (const void **)&input));
    IFM_OPS_TRY(api->KernelContext_GetOutput(context, 0, shape, rank, &to));
    IFM_OPS_TRY(api->GetTensorMutableData(to, (void **)&output));
    IFM_OPS_TRY(api->KernelContext_GetGPUComputeStream(context, &stream));
    if ((is_end ? ifm_conv_cuda_marks_end : ifm_conv_cuda_marks_begin)(layer->marks, stream, input, output, bytes, &error))
        return NULL;
    return api->CreateStatus(ORT_FAIL, error->message);
}

/* NULL without an error: nothing of the layer is timed. (transfer full) */
static GArray *times_of(const OrtConvLayer *layer, GError **error)
{
    return layer->kernel.cuda != NULL ? ifm_conv_cuda_layer_times(layer->kernel.cuda, error)
           : layer->marks != NULL     ? ifm_conv_cuda_marks_times(layer->marks, error)
                                      : NULL;
}

double ifm_ort_conv_cuda_last(const OrtConvLayer *layer)
{
    g_autoptr(GArray) times_ms = times_of(layer, NULL);
    return times_ms != NULL && times_ms->len > 0 ? g_array_index(times_ms, double, times_ms->len - 1) * 1e6 : -1;
}

/* The profile of the runtime has the processor's times, in which kernels are started: none of them is kept. */
static void forget_times(GPtrArray *profiles, guint first)
{
    for (guint i = first; i < profiles->len; i++)
    {
        const GPtrArray *nodes = ((const IfmEngineProfile *)profiles->pdata[i])->nodes;
        for (guint k = 0; k < nodes->len; k++)
        {
            IfmNodeTime *node = nodes->pdata[k];
            node->start_ns = node->duration_ns = -1;
        }
    }
}

static void drop_timeless(GPtrArray *profiles, guint first)
{
    for (guint i = first; i < profiles->len; i++)
    {
        GPtrArray *nodes = ((const IfmEngineProfile *)profiles->pdata[i])->nodes;
        for (guint k = nodes->len; k > 0; k--)
            if (((const IfmNodeTime *)nodes->pdata[k - 1])->duration_ns < 0)
                g_ptr_array_remove_index(nodes, k - 1);
    }
}

/* @times_ms: one for each profile from @first */
static void set_times(const OrtConvLayer *layer, const GArray *times_ms, GPtrArray *profiles, guint first)
{
    for (guint i = 0; i < times_ms->len; i++)
    {
        const GPtrArray *nodes = ((const IfmEngineProfile *)profiles->pdata[first + i])->nodes;
        for (guint k = 0; k < nodes->len; k++)
        {
            IfmNodeTime *node = nodes->pdata[k];
            if (g_str_equal(node->name, layer->record->layer))
                node->duration_ns = (gint64)(g_array_index(times_ms, double, i) * 1e6);
        }
    }
}

gboolean ifm_ort_conv_cuda_times(const GPtrArray *layers, GPtrArray *profiles, guint first, GError **error)
{
    forget_times(profiles, first);
    for (guint i = 0; layers != NULL && i < layers->len; i++)
    {
        const OrtConvLayer *layer = layers->pdata[i];
        g_autoptr(GError) local = NULL;
        g_autoptr(GArray) times_ms = times_of(layer, &local);
        if (local != NULL)
            return ifm_error_pass(error, g_steal_pointer(&local));
        if (times_ms == NULL)
            continue;
        if (times_ms->len == profiles->len - first) /* else a run ended early, and the times are of no known run */
            set_times(layer, times_ms, profiles, first);
    }
    drop_timeless(profiles, first);
    return TRUE;
}
