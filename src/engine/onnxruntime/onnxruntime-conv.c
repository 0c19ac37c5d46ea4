/* inferometer:Conv, the custom operator. Inputs: the tensor, and the sum where there is one; on a GPU the tensor, weights,
 * bias and sum, as FusedConv has them. Attribute "layer": an index. */
#include <time.h>

#include "onnxruntime-conv.h"

struct OrtConvDomain
{
    OrtCustomOp operator; /* first: the runtime hands it back to the callbacks */
    const OrtApi *api;
    OrtCustomOpDomain *handle;
    GPtrArray *layers;
    OrtConvPlace place;
};

/* A node of a session. */
typedef struct
{
    const OrtApi *api;
    OrtConvLayer *layer;
    gboolean is_timed; /* on a GPU */
} Kernel;

#define TRY(call)                                                                                                          \
    do                                                                                                                     \
    {                                                                                                                      \
        OrtStatus *failed = (call);                                                                                        \
        if (failed != NULL)                                                                                                \
            return failed;                                                                                                 \
    } while (0)

/* --- running ---------------------------------------------------------------------------------------------------------- */

typedef struct
{
    const OrtApi *api;
    const OrtKernelContext *context;
} Session;

typedef struct
{
    void (*task)(void *data, gsize index);
    void *data;
} Task;

static void run_task(void *user, size_t index)
{
    const Task *task = user;
    task->task(task->data, index);
}

/* On the session's own threads. */
static void run_parallel(void *user, gsize n, void (*function)(void *data, gsize index), void *data)
{
    const Session *session = user;
    Task task = { function, data };
    OrtStatus *status = n > 1 ? session->api->KernelContext_ParallelFor(session->context, run_task, n, 0, &task) : NULL;
    if (n > 1 && status == NULL)
        return;
    session->api->ReleaseStatus(status);
    for (gsize i = 0; i < n; i++)
        function(data, i);
}

static OrtStatus *input_data(const Kernel *kernel, const OrtKernelContext *context, size_t index, const float **data)
{
    const OrtValue *value = NULL;
    TRY(kernel->api->KernelContext_GetInput(context, index, &value));
    return kernel->api->GetTensorData(value, (const void **)data);
}

/* The shape is checked: a session may be given another size than it was compiled for. */
static OrtStatus *check_shape(const Kernel *kernel, const OrtKernelContext *context, const IfmConvShape *shape)
{
    const OrtApi *api = kernel->api;
    const OrtValue *value = NULL;
    OrtTensorTypeAndShapeInfo *info = NULL;
    gint64 dims[4] = { 0 };
    TRY(api->KernelContext_GetInput(context, 0, &value));
    TRY(api->GetTensorTypeAndShape(value, &info));
    OrtStatus *status = api->GetDimensions(info, dims, G_N_ELEMENTS(dims));
    api->ReleaseTensorTypeAndShapeInfo(info);
    TRY(status);
    if (dims[0] == shape->batch && dims[1] == shape->channels && dims[2] == shape->in[0] && dims[3] == shape->in[1])
        return NULL;
    return api->CreateStatus(ORT_INVALID_ARGUMENT, "a convolution got an input of another shape than it was compiled for");
}

static OrtStatus *ORT_API_CALL compute(void *self, OrtKernelContext *context)
{
    const Kernel *kernel = self;
    const OrtApi *api = kernel->api;
    const IfmConvShape *shape = ifm_conv_shape(kernel->layer->conv);
    const gint64 dims[] = { shape->batch, shape->out_channels, shape->out[0], shape->out[1] };
    const float *input = NULL, *sum = NULL;
    size_t n_inputs = 0;
    OrtValue *value = NULL;
    float *output = NULL;
    TRY(check_shape(kernel, context, shape));
    TRY(input_data(kernel, context, 0, &input));
    TRY(api->KernelContext_GetInputCount(context, &n_inputs));
    if (n_inputs > 1)
        TRY(input_data(kernel, context, 1, &sum));
    TRY(api->KernelContext_GetOutput(context, 0, dims, G_N_ELEMENTS(dims), &value));
    if (value == NULL)
        return api->CreateStatus(ORT_INVALID_ARGUMENT, "a convolution has no output");
    TRY(api->GetTensorMutableData(value, (void **)&output));
    Session session = { api, context };
    ifm_conv_run(kernel->layer->conv, input, sum, output, run_parallel, &session);
    return NULL;
}

/* While "best" is found the operator takes its own time. */
static OrtStatus *ORT_API_CALL compute_timed(void *self, OrtKernelContext *context)
{
    const Kernel *kernel = self;
    struct timespec began, ended;
    if (kernel->layer->key == NULL)
        return compute(self, context);
    clock_gettime(CLOCK_MONOTONIC, &began);
    OrtStatus *status = compute(self, context);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    kernel->layer->ran_ns = (ended.tv_sec - began.tv_sec) * G_GINT64_CONSTANT(1000000000) + ended.tv_nsec - began.tv_nsec;
    return status;
}

static OrtStatus *ORT_API_CALL compute_on_cuda(void *self, OrtKernelContext *context)
{
    const Kernel *kernel = self;
    OrtStatus *status = check_shape(kernel, context, ifm_conv_cuda_layer_shape(kernel->layer->cuda));
    return status != NULL ? status : ifm_ort_conv_cuda_run(kernel->api, kernel->layer, context, kernel->is_timed);
}

/* --- the operator ----------------------------------------------------------------------------------------------------- */

static OrtStatus *ORT_API_CALL create_kernel(const OrtCustomOp *operator, const OrtApi * api, const OrtKernelInfo *info,
                                             void **kernel)
{
    const OrtConvDomain *self = (const OrtConvDomain *)operator;
    gint64 layer = -1;
    TRY(api->KernelInfoGetAttribute_int64(info, "layer", &layer));
    if (layer < 0 || layer >= (gint64)self->layers->len)
        return api->CreateStatus(ORT_INVALID_ARGUMENT, "inferometer:Conv: no such layer");
    Kernel *made = g_new0(Kernel, 1);
    made->api = api;
    made->layer = g_ptr_array_index(self->layers, (guint)layer);
    made->is_timed = self->place == ORT_CONV_OF_CUDA_TIMED;
    *kernel = made;
    return NULL;
}

static void ORT_API_CALL destroy_kernel(void *kernel)
{
    g_free(kernel);
}

static const char *ORT_API_CALL operator_name(const OrtCustomOp *operator)
{
    return "Conv";
}

static gboolean is_on_cuda(const OrtCustomOp *operator)
{
    return ((const OrtConvDomain *)operator)->place != ORT_CONV_OF_CPU;
}

static const char *ORT_API_CALL operator_provider(const OrtCustomOp *operator)
{
    return is_on_cuda(operator) ? "CUDAExecutionProvider" : "CPUExecutionProvider";
}

static ONNXTensorElementDataType ORT_API_CALL operator_type(const OrtCustomOp *operator, size_t index)
{
    return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
}

static size_t ORT_API_CALL n_inputs(const OrtCustomOp *operator)
{
    return is_on_cuda(operator) ? 4 : 2;
}

static size_t ORT_API_CALL n_outputs(const OrtCustomOp *operator)
{
    return 1;
}

static OrtCustomOpInputOutputCharacteristic ORT_API_CALL input_characteristic(const OrtCustomOp *operator, size_t index)
{
    const size_t n_required = is_on_cuda(operator) ? 2 : 1;
    return index < n_required ? INPUT_OUTPUT_REQUIRED : INPUT_OUTPUT_OPTIONAL;
}

static OrtCustomOpInputOutputCharacteristic ORT_API_CALL output_characteristic(const OrtCustomOp *operator, size_t index)
{
    return INPUT_OUTPUT_REQUIRED;
}

static OrtMemType ORT_API_CALL memory_type(const OrtCustomOp *operator, size_t index)
{
    return OrtMemTypeDefault;
}

static int ORT_API_CALL one(const OrtCustomOp *operator)
{
    return 1;
}

static int ORT_API_CALL last_version(const OrtCustomOp *operator)
{
    return G_MAXINT;
}

OrtConvDomain *ifm_ort_conv_domain_new(const OrtApi *api, GPtrArray *layers, OrtConvPlace place, const char *who,
                                       GError **error)
{
    OrtConvDomain *self = g_new0(OrtConvDomain, 1);
    self->api = api;
    self->layers = layers;
    self->place = place;
    self->operator=(OrtCustomOp){
        .version = ORT_API_VERSION,
        .GetName = operator_name,
        .GetExecutionProviderType = operator_provider,
        .GetInputType = operator_type,
        .GetInputTypeCount = n_inputs,
        .GetOutputType = operator_type,
        .GetOutputTypeCount = n_outputs,
        .KernelDestroy = destroy_kernel,
        .GetInputCharacteristic = input_characteristic,
        .GetOutputCharacteristic = output_characteristic,
        .GetInputMemoryType = memory_type,
        .GetVariadicInputMinArity = one,
        .GetVariadicInputHomogeneity = one,
        .GetVariadicOutputMinArity = one,
        .GetVariadicOutputHomogeneity = one,
        .CreateKernelV2 = create_kernel,
        .KernelComputeV2 = place == ORT_CONV_OF_CPU ? compute_timed : compute_on_cuda,
        .GetStartVersion = one,
        .GetEndVersion = last_version,
    };
    if (ifm_ort_check(api, api->CreateCustomOpDomain("inferometer", &self->handle), who, IFM_ERROR_UNSUPPORTED, error) &&
        ifm_ort_check(api, api->CustomOpDomain_Add(self->handle, &self->operator), who, IFM_ERROR_UNSUPPORTED, error))
        return self;
    ifm_ort_conv_domain_free(self);
    return NULL;
}

void ifm_ort_conv_domain_free(OrtConvDomain *self)
{
    if (self == NULL)
        return;
    if (self->handle != NULL)
        self->api->ReleaseCustomOpDomain(self->handle);
    g_free(self);
}

OrtCustomOpDomain *ifm_ort_conv_domain_handle(OrtConvDomain *self)
{
    return self->handle;
}
