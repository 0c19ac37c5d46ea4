/* A custom-operator library for ONNX Runtime: inferometer.test::Thrice, y = 3 x. */
#include <onnxruntime_c_api.h>

#include <glib.h>

static const OrtApi *api;

/* The runtime calls back with statuses; a failure here is a failed test, which the wrong output shows. */
static void drop(OrtStatus *status)
{
    if (status != NULL)
        api->ReleaseStatus(status);
}

static void *create_kernel(const OrtCustomOp *op, const OrtApi *theirs, const OrtKernelInfo *info)
{
    return g_malloc(1);
}

static void destroy_kernel(void *kernel)
{
    g_free(kernel);
}

static void compute(void *kernel, OrtKernelContext *context)
{
    const OrtValue *input = NULL;
    OrtValue *output = NULL;
    OrtTensorTypeAndShapeInfo *info = NULL;
    int64_t dims[8];
    size_t rank = 0, n = 0;
    void *x = NULL, *y = NULL;
    drop(api->KernelContext_GetInput(context, 0, &input));
    drop(api->GetTensorTypeAndShape(input, &info));
    drop(api->GetDimensionsCount(info, &rank));
    drop(api->GetDimensions(info, dims, MIN(rank, G_N_ELEMENTS(dims))));
    drop(api->GetTensorShapeElementCount(info, &n));
    drop(api->KernelContext_GetOutput(context, 0, dims, rank, &output));
    drop(api->GetTensorMutableData((OrtValue *)input, &x));
    drop(api->GetTensorMutableData(output, &y));
    for (size_t i = 0; i < n; i++)
        ((float *)y)[i] = 3 * ((const float *)x)[i];
    api->ReleaseTensorTypeAndShapeInfo(info);
}

static const char *get_name(const OrtCustomOp *op)
{
    return "Thrice";
}

static const char *get_provider(const OrtCustomOp *op)
{
    return "CPUExecutionProvider";
}

static ONNXTensorElementDataType get_type(const OrtCustomOp *op, size_t index)
{
    return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
}

static size_t get_count(const OrtCustomOp *op)
{
    return 1;
}

static OrtCustomOpInputOutputCharacteristic get_characteristic(const OrtCustomOp *op, size_t index)
{
    return INPUT_OUTPUT_REQUIRED;
}

static OrtMemType get_memory_type(const OrtCustomOp *op, size_t index)
{
    return OrtMemTypeDefault;
}

static const OrtCustomOp thrice = {
    .version = 13, /* the fields that are set */
    .CreateKernel = create_kernel,
    .GetName = get_name,
    .GetExecutionProviderType = get_provider,
    .GetInputType = get_type,
    .GetInputTypeCount = get_count,
    .GetOutputType = get_type,
    .GetOutputTypeCount = get_count,
    .KernelCompute = compute,
    .KernelDestroy = destroy_kernel,
    .GetInputCharacteristic = get_characteristic,
    .GetOutputCharacteristic = get_characteristic,
    .GetInputMemoryType = get_memory_type,
};

OrtStatus *RegisterCustomOps(OrtSessionOptions *options, const OrtApiBase *base);

OrtStatus *RegisterCustomOps(OrtSessionOptions *options, const OrtApiBase *base)
{
    static OrtCustomOpDomain *domain; /* must outlive every session */
    api = base->GetApi(23);
    OrtStatus *status = NULL;
    if (domain == NULL)
    {
        status = api->CreateCustomOpDomain("inferometer.test", &domain);
        if (status == NULL)
            status = api->CustomOpDomain_Add(domain, &thrice);
    }
    return status != NULL ? status : api->AddCustomOpDomain(options, domain);
}
