/* inferometer:Conv, the custom operator. Inputs: the tensor, and the sum where there is one; on a GPU the tensor,
 * weights, bias and sum, as FusedConv has them. Attribute "layer": an index. On a GPU inferometer:Mark, too: inputs are
 * the tensor, which goes on as it is, and what else has to be there before. Attributes "layer" and "is_end". */
#include <ops/ops.h>

#include "onnxruntime-conv.h"

/* Operator: @table: first: the runtime hands it back to the callbacks @domain: that it is of */
typedef struct
{
    OrtCustomOp table;
    OrtConvDomain *domain;
} Operator;

struct OrtConvDomain
{
    const OrtApi *api;
    OrtCustomOpDomain *handle;
    GPtrArray *layers;
    OrtConvPlace place;
    Operator conv, mark;
};

/* A node of a session. */
typedef struct
{
    const OrtApi *api;
    OrtConvLayer *layer;
    gboolean is_timed; /* on a GPU */
    gboolean is_end;   /* of a mark */
} Kernel;

/* --- running ---------------------------------------------------------------------------------------------------------- */

static OrtStatus *input_data(const Kernel *kernel, const OrtKernelContext *context, size_t index, const float **data)
{
    const OrtValue *value = NULL;
    IFM_OPS_TRY(kernel->api->KernelContext_GetInput(context, index, &value));
    return kernel->api->GetTensorData(value, (const void **)data);
}

/* The shape is checked: a session may be given another size than it was compiled for. */
static OrtStatus *check_shape(const Kernel *kernel, const OrtKernelContext *context, const IfmConvShape *shape)
{
    const OrtApi *api = kernel->api;
    const OrtValue *value = NULL;
    gint64 dims[4] = { 0 };
    size_t rank = 0;
    IFM_OPS_TRY(api->KernelContext_GetInput(context, 0, &value));
    IFM_OPS_TRY(ifm_ops_shape(api, value, G_N_ELEMENTS(dims), dims, &rank));
    if (dims[0] == shape->batch && dims[1] == shape->channels && dims[2] == shape->in[0] && dims[3] == shape->in[1])
        return NULL;
    return api->CreateStatus(ORT_INVALID_ARGUMENT, "a convolution got an input of another shape than it was compiled for");
}

static OrtStatus *ORT_API_CALL compute(void *self, OrtKernelContext *context)
{
    const Kernel *kernel = self;
    const OrtApi *api = kernel->api;
    const IfmConvShape *shape = ifm_conv_shape(kernel->layer->kernel.conv);
    const gint64 dims[] = { shape->batch, shape->out_channels, shape->out[0], shape->out[1] };
    const float *input = NULL, *sum = NULL;
    size_t n_inputs = 0;
    OrtValue *value = NULL;
    float *output = NULL;
    IFM_OPS_TRY(check_shape(kernel, context, shape));
    IFM_OPS_TRY(input_data(kernel, context, 0, &input));
    IFM_OPS_TRY(api->KernelContext_GetInputCount(context, &n_inputs));
    if (n_inputs > 1)
        IFM_OPS_TRY(input_data(kernel, context, 1, &sum));
    IFM_OPS_TRY(api->KernelContext_GetOutput(context, 0, dims, G_N_ELEMENTS(dims), &value));
    if (value == NULL)
        return api->CreateStatus(ORT_INVALID_ARGUMENT, "a convolution has no output");
    IFM_OPS_TRY(api->GetTensorMutableData(value, (void **)&output));
    IfmOpsRun session = { api, context };
    ifm_conv_run(kernel->layer->kernel.conv, input, sum, output, ifm_ops_parallel, &session);
    return NULL;
}

/* While "best" is found the operator takes its own time. */
static OrtStatus *ORT_API_CALL compute_timed(void *self, OrtKernelContext *context)
{
    const Kernel *kernel = self;
    if (kernel->layer->key == NULL)
        return compute(self, context);
    const gint64 began_ns = ifm_blocked_now_ns();
    OrtStatus *status = compute(self, context);
    kernel->layer->ran_ns = ifm_blocked_now_ns() - began_ns;
    return status;
}

static OrtStatus *ORT_API_CALL compute_on_cuda(void *self, OrtKernelContext *context)
{
    const Kernel *kernel = self;
    OrtStatus *status = check_shape(kernel, context, ifm_conv_cuda_layer_shape(kernel->layer->kernel.cuda));
    return status != NULL ? status : ifm_ort_conv_cuda_run(kernel->api, kernel->layer, context, kernel->is_timed);
}

static OrtStatus *ORT_API_CALL compute_mark(void *self, OrtKernelContext *context)
{
    const Kernel *kernel = self;
    return ifm_ort_conv_cuda_mark(kernel->api, kernel->layer, context, kernel->is_end);
}

/* --- the operators ------------------------------------------------------------------------------------------------ */

static const OrtConvDomain *domain_of(const OrtCustomOp *operator)
{
    return ((const Operator *)operator)->domain;
}

/* @made: (out) */
static OrtStatus *make_kernel(const OrtCustomOp *operator, const OrtApi * api, const OrtKernelInfo *info, Kernel **made)
{
    const OrtConvDomain *self = domain_of(operator);
    gint64 layer = -1;
    IFM_OPS_TRY(api->KernelInfoGetAttribute_int64(info, "layer", &layer));
    if (layer < 0 || layer >= (gint64)self->layers->len)
        return api->CreateStatus(ORT_INVALID_ARGUMENT, "inferometer: no such layer");
    *made = g_new0(Kernel, 1);
    (*made)->api = api;
    (*made)->layer = g_ptr_array_index(self->layers, (guint)layer);
    (*made)->is_timed = self->place == ORT_CONV_OF_CUDA_TIMED;
    return NULL;
}

static OrtStatus *ORT_API_CALL create_kernel(const OrtCustomOp *operator, const OrtApi * api, const OrtKernelInfo *info,
                                             void **kernel)
{
    return make_kernel(operator, api, info, (Kernel **)kernel);
}

static OrtStatus *ORT_API_CALL create_mark(const OrtCustomOp *operator, const OrtApi * api, const OrtKernelInfo *info,
                                           void **kernel)
{
    gint64 is_end = 0;
    IFM_OPS_TRY(api->KernelInfoGetAttribute_int64(info, "is_end", &is_end));
    IFM_OPS_TRY(make_kernel(operator, api, info, (Kernel **)kernel));
    (*(Kernel **)kernel)->is_end = is_end != 0;
    return NULL;
}

static void ORT_API_CALL destroy_kernel(void *kernel)
{
    g_free(kernel);
}

static const char *ORT_API_CALL conv_name(const OrtCustomOp *operator)
{
    return "Conv";
}

static const char *ORT_API_CALL mark_name(const OrtCustomOp *operator)
{
    return "Mark";
}

static const char *ORT_API_CALL on_cuda(const OrtCustomOp *operator)
{
    return "CUDAExecutionProvider";
}

static gboolean is_on_cuda(const OrtCustomOp *operator)
{
    return domain_of(operator)->place != ORT_CONV_OF_CPU;
}

static size_t ORT_API_CALL n_inputs(const OrtCustomOp *operator)
{
    return is_on_cuda(operator) ? 4 : 2;
}

static size_t ORT_API_CALL two_inputs(const OrtCustomOp *operator)
{
    return 2;
}

static OrtCustomOpInputOutputCharacteristic ORT_API_CALL input_characteristic(const OrtCustomOp *operator, size_t index)
{
    const size_t n_required = is_on_cuda(operator) ? 2 : 1;
    return index < n_required ? INPUT_OUTPUT_REQUIRED : INPUT_OUTPUT_OPTIONAL;
}

static OrtCustomOpInputOutputCharacteristic ORT_API_CALL first_required(const OrtCustomOp *operator, size_t index)
{
    return index == 0 ? INPUT_OUTPUT_REQUIRED : INPUT_OUTPUT_OPTIONAL;
}

static OrtCustomOpInputOutputCharacteristic ORT_API_CALL output_characteristic(const OrtCustomOp *operator, size_t index)
{
    return INPUT_OUTPUT_REQUIRED;
}

static void init_operator(OrtConvDomain *self, Operator *operator)
{
    ifm_ops_operator_init(&operator->table);
    operator->domain = self;
    operator->table.GetOutputCharacteristic = output_characteristic;
    operator->table.KernelDestroy = destroy_kernel;
    if (self->place != ORT_CONV_OF_CPU)
        operator->table.GetExecutionProviderType = on_cuda;
}

static void init_operators(OrtConvDomain *self)
{
    init_operator(self, &self->conv);
    self->conv.table.GetName = conv_name;
    self->conv.table.GetInputTypeCount = n_inputs;
    self->conv.table.GetInputCharacteristic = input_characteristic;
    self->conv.table.CreateKernelV2 = create_kernel;
    self->conv.table.KernelComputeV2 = self->place == ORT_CONV_OF_CPU ? compute_timed : compute_on_cuda;
    init_operator(self, &self->mark);
    self->mark.table.GetName = mark_name;
    self->mark.table.GetInputTypeCount = two_inputs;
    self->mark.table.GetInputCharacteristic = first_required;
    self->mark.table.CreateKernelV2 = create_mark;
    self->mark.table.KernelComputeV2 = compute_mark;
}

OrtConvDomain *ifm_ort_conv_domain_new(const OrtApi *api, GPtrArray *layers, OrtConvPlace place, const char *who,
                                       GError **error)
{
    OrtConvDomain *self = g_new0(OrtConvDomain, 1);
    self->api = api;
    self->layers = layers;
    self->place = place;
    init_operators(self);
    if (ifm_ort_check(api, api->CreateCustomOpDomain("inferometer", &self->handle), who, IFM_ERROR_UNSUPPORTED, error) &&
        ifm_ort_check(api, api->CustomOpDomain_Add(self->handle, &self->conv.table), who, IFM_ERROR_UNSUPPORTED, error) &&
        (place == ORT_CONV_OF_CPU ||
         ifm_ort_check(api, api->CustomOpDomain_Add(self->handle, &self->mark.table), who, IFM_ERROR_UNSUPPORTED, error)))
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
