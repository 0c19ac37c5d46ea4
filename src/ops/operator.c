/* What all operators of the domain have alike: a table of callbacks, shapes, and the session's threads. */
#include "ops.h"

/* --- the session's threads -------------------------------------------------------------------------------------------- */

typedef struct
{
    void (*task)(void *data, size_t index);
    void *data;
} Task;

static void run_task(void *user, size_t index)
{
    const Task *task = user;
    task->task(task->data, index);
}

void ifm_ops_parallel(void *run, size_t n, void (*function)(void *data, size_t index), void *data)
{
    const IfmOpsRun *of = run;
    Task task = { function, data };
    OrtStatus *status = n > 1 ? of->api->KernelContext_ParallelFor(of->context, run_task, n, 0, &task) : NULL;
    if (n > 1 && status == NULL)
        return;
    if (status != NULL)
        of->api->ReleaseStatus(status);
    for (size_t i = 0; i < n; i++)
        function(data, i);
}

/* --- shapes ----------------------------------------------------------------------------------------------------------- */

OrtStatus *ifm_ops_shape(const OrtApi *api, const OrtValue *value, size_t n, int64_t *shape, size_t *rank)
{
    OrtTensorTypeAndShapeInfo *info = NULL;
    IFM_OPS_TRY(api->GetTensorTypeAndShape(value, &info));
    OrtStatus *status = api->GetDimensionsCount(info, rank);
    if (status == NULL && *rank <= n)
        status = api->GetDimensions(info, shape, *rank);
    api->ReleaseTensorTypeAndShapeInfo(info);
    return status;
}

/* --- the table -------------------------------------------------------------------------------------------------------- */

static const char *ORT_API_CALL on_processor(const OrtCustomOp *operator)
{
    return "CPUExecutionProvider";
}

static ONNXTensorElementDataType ORT_API_CALL of_f32(const OrtCustomOp *operator, size_t index)
{
    return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
}

static size_t ORT_API_CALL one_type(const OrtCustomOp *operator)
{
    return 1;
}

static OrtCustomOpInputOutputCharacteristic ORT_API_CALL variadic(const OrtCustomOp *operator, size_t index)
{
    return INPUT_OUTPUT_VARIADIC;
}

static OrtMemType ORT_API_CALL default_memory(const OrtCustomOp *operator, size_t index)
{
    return OrtMemTypeDefault;
}

static int ORT_API_CALL one(const OrtCustomOp *operator)
{
    return 1;
}

void ifm_ops_operator_init(OrtCustomOp *operator)
{
    *operator=(OrtCustomOp){ .version = IFM_OPS_API_VERSION,
                             .GetExecutionProviderType = on_processor,
                             .GetInputType = of_f32,
                             .GetInputTypeCount = one_type,
                             .GetOutputType = of_f32,
                             .GetOutputTypeCount = one_type,
                             .GetInputCharacteristic = variadic,
                             .GetOutputCharacteristic = variadic,
                             .GetInputMemoryType = default_memory,
                             .GetVariadicInputMinArity = one,
                             .GetVariadicInputHomogeneity = one,
                             .GetVariadicOutputMinArity = one,
                             .GetVariadicOutputHomogeneity = one,
                             .GetStartVersion = one,
                             .GetEndVersion = one };
}
