/* inferometer:Region: a node of a session, its constants and its runs. Whatever a model has, an error is a status. */
#include "ops.h"

#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct IfmOps
{
    OrtCustomOp operator; /* first: the runtime hands it back to the callbacks */
    const OrtApi *api;
    OrtCustomOpDomain *domain;
    IfmOpsOptions options;
};

/* Kernel: a node of a session. */
typedef struct
{
    const IfmOps *ops;
    const OrtApi *api;
    IfmRegion *region;
    char name[128];
    size_t n_values, n_outputs;
    int n_expected, n_found; /* threads: that it was tuned for, of the session */
    unsigned n_runs;
    pthread_mutex_t mutex; /* of n_found and n_runs */
} Kernel;

__attribute__((format(printf, 3, 4))) static OrtStatus *refuse(const Kernel *kernel, OrtErrorCode code, const char *format,
                                                               ...)
{
    char text[320], whole[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    snprintf(whole, sizeof(whole), "inferometer:Region \"%s\": %s", kernel->name, text);
    return kernel->api->CreateStatus(code, whole);
}

static OrtStatus *refuse_error(const Kernel *kernel, const IfmBlockedError *error)
{
    const OrtErrorCode code = error->code == IFM_BLOCKED_INVALID ? ORT_INVALID_ARGUMENT : ORT_FAIL;
    return refuse(kernel, code, "%s", error->text);
}

/* --- the session's threads -------------------------------------------------------------------------------------------- */

/* A runtime does not say how many threads a session has. A few tasks that wait for each other meet them. */
#define MEET_NS 1000000
#define MOST_TASKS 64
#define LAST_ASKED 64

typedef struct
{
    atomic_int n_threads;
    int n_processors;
    int64_t until_ns;
    uintptr_t id;
} Meeting;

static atomic_uintptr_t last_meeting;
static _Thread_local uintptr_t met; /* the last one of this thread */

static void meet(void *data, size_t index)
{
    Meeting *meeting = data;
    if (met != meeting->id)
        atomic_fetch_add(&meeting->n_threads, 1);
    met = meeting->id;
    while (atomic_load(&meeting->n_threads) < meeting->n_processors && ifm_blocked_now_ns() < meeting->until_ns)
        sched_yield();
}

/* More threads than processors compute nothing sooner. */
static int n_processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : MOST_TASKS;
}

static int count_threads(const OrtApi *api, const OrtKernelContext *context)
{
    Meeting meeting = { .n_processors = n_processors(), .until_ns = ifm_blocked_now_ns() + MEET_NS };
    meeting.id = atomic_fetch_add(&last_meeting, 1) + 1;
    OrtStatus *status = api->KernelContext_ParallelFor(context, meet, MOST_TASKS, 0, &meeting);
    if (status != NULL)
        api->ReleaseStatus(status);
    const int n_threads = atomic_load(&meeting.n_threads);
    return n_threads > 1 ? n_threads : 1;
}

/* Asked at runs 1, 2, 4, … 64 until there are as many as processors: a thread that sleeps, or whose processor is busy, may
 * come too late to one of them. Nobody waits for it. */
static void find_threads(Kernel *kernel, const OrtKernelContext *context)
{
    if (kernel->ops->options.n_threads > 0 || pthread_mutex_trylock(&kernel->mutex) != 0)
        return;
    const unsigned run = ++kernel->n_runs;
    if (run <= LAST_ASKED && (run & (run - 1)) == 0 && kernel->n_found < n_processors())
    {
        const int n_threads = count_threads(kernel->api, context);
        if (n_threads > kernel->n_found)
            ifm_region_set_threads(kernel->region, kernel->n_found = n_threads);
    }
    pthread_mutex_unlock(&kernel->mutex);
}

/* --- running ---------------------------------------------------------------------------------------------------------- */

/* Tensors: of one run. */
typedef struct
{
    int64_t (*shapes)[4];
    const float **inputs;
    float **outputs;
} Tensors;

static OrtStatus *read_inputs(const Kernel *kernel, const OrtKernelContext *context, const Tensors *tensors)
{
    for (size_t i = 0; i < kernel->n_values; i++)
    {
        const OrtValue *value = NULL;
        size_t rank = 0;
        IFM_OPS_TRY(kernel->api->KernelContext_GetInput(context, i, &value));
        if (value == NULL)
            return refuse(kernel, ORT_INVALID_ARGUMENT, "input %zu is missing", i);
        IFM_OPS_TRY(ifm_ops_shape(kernel->api, value, 4, tensors->shapes[i], &rank));
        if (rank != 4)
            return refuse(kernel, ORT_INVALID_ARGUMENT, "input %zu has rank %zu instead of 4", i, rank);
        /* the old interface has no function for const */
        IFM_OPS_TRY(kernel->api->GetTensorMutableData((OrtValue *)value, (void **)&tensors->inputs[i]));
    }
    return NULL;
}

static OrtStatus *make_outputs(const Kernel *kernel, OrtKernelContext *context, const IfmRegionRun *run,
                               const Tensors *tensors)
{
    for (size_t i = 0; i < kernel->n_outputs; i++)
    {
        int64_t shape[4];
        OrtValue *value = NULL;
        ifm_region_output_shape(run, i, shape);
        IFM_OPS_TRY(kernel->api->KernelContext_GetOutput(context, i, shape, 4, &value));
        if (value == NULL)
            return refuse(kernel, ORT_INVALID_ARGUMENT, "output %zu has no name", i);
        IFM_OPS_TRY(kernel->api->GetTensorMutableData(value, (void **)&tensors->outputs[i]));
    }
    return NULL;
}

static OrtStatus *run_tensors(Kernel *kernel, OrtKernelContext *context, const Tensors *tensors)
{
    IfmBlockedError error = { IFM_BLOCKED_OK };
    IfmOpsRun session = { kernel->api, context };
    IFM_OPS_TRY(read_inputs(kernel, context, tensors));
    find_threads(kernel, context);
    IfmRegionRun *run = ifm_region_take(kernel->region, (const int64_t(*)[4])tensors->shapes, &error);
    if (run == NULL)
        return refuse_error(kernel, &error);
    OrtStatus *status = make_outputs(kernel, context, run, tensors);
    if (status == NULL)
        ifm_region_run(run, tensors->inputs, tensors->outputs, ifm_ops_parallel, &session);
    ifm_region_give_back(kernel->region, run);
    return status;
}

static OrtStatus *ORT_API_CALL compute(void *self, OrtKernelContext *context)
{
    Kernel *kernel = self;
    const size_t of_input = sizeof(int64_t[4]) + sizeof(float *), of_output = sizeof(float *);
    char *memory = malloc(kernel->n_values * of_input + kernel->n_outputs * of_output + 1);
    if (memory == NULL)
        return refuse(kernel, ORT_FAIL, "no memory for a run");
    Tensors tensors = { .shapes = (int64_t(*)[4])(void *)memory };
    tensors.inputs = (const float **)(void *)(memory + kernel->n_values * sizeof(int64_t[4]));
    tensors.outputs = (float **)(void *)(tensors.inputs + kernel->n_values);
    OrtStatus *status = run_tensors(kernel, context, &tensors);
    free(memory);
    return status;
}

/* --- a node ----------------------------------------------------------------------------------------------------------- */

static void read_name(Kernel *kernel, const OrtKernelInfo *info)
{
    size_t size = sizeof(kernel->name);
    OrtStatus *status = kernel->api->KernelInfo_GetNodeName(info, kernel->name, &size);
    if (status == NULL)
        return;
    kernel->api->ReleaseStatus(status); /* a long one */
    snprintf(kernel->name, sizeof(kernel->name), "?");
}

/* Takes the runtime's status, which does not always name the attribute. */
static OrtStatus *refuse_attribute(const Kernel *kernel, OrtStatus *status, const char *what)
{
    kernel->api->ReleaseStatus(status);
    return refuse(kernel, ORT_INVALID_ARGUMENT, "it has no attribute %s", what);
}

/* @program: freed by the caller */
static OrtStatus *read_program(const Kernel *kernel, const OrtKernelInfo *info, char **program)
{
    size_t size = 0;
    OrtStatus *status = kernel->api->KernelInfoGetAttribute_string(info, "program", NULL, &size);
    if (status != NULL)
        return refuse_attribute(kernel, status, "\"program\" of text");
    *program = calloc(1, size + 1);
    if (*program == NULL)
        return refuse(kernel, ORT_FAIL, "no memory for its program");
    IFM_OPS_TRY(kernel->api->KernelInfoGetAttribute_string(info, "program", *program, &size));
    return strlen(*program) + 1 == size ? NULL : refuse(kernel, ORT_INVALID_ARGUMENT, "its program has a NUL");
}

static OrtStatus *read_constant(const Kernel *kernel, const OrtKernelInfo *info, size_t input, IfmRegionConstant *constant)
{
    const OrtApi *api = kernel->api;
    const OrtValue *value = NULL;
    OrtTensorTypeAndShapeInfo *shape = NULL;
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    int is_constant = 0;
    size_t rank = 0;
    IFM_OPS_TRY(api->KernelInfoGetConstantInput_tensor(info, input, &is_constant, &value));
    if (!is_constant || value == NULL)
        return refuse(kernel, ORT_INVALID_ARGUMENT, "input %zu is no constant", input);
    IFM_OPS_TRY(api->GetTensorTypeAndShape(value, &shape));
    OrtStatus *status = api->GetTensorElementType(shape, &type);
    api->ReleaseTensorTypeAndShapeInfo(shape);
    IFM_OPS_TRY(status);
    if (type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT)
        return refuse(kernel, ORT_INVALID_ARGUMENT, "input %zu is not of f32", input);
    IFM_OPS_TRY(ifm_ops_shape(kernel->api, value, 4, constant->shape, &rank));
    if (rank < 1 || rank > 4)
        return refuse(kernel, ORT_INVALID_ARGUMENT, "input %zu has rank %zu instead of 1 to 4", input, rank);
    constant->rank = (int)rank;
    /* The session keeps its initializers. */
    return api->GetTensorMutableData((OrtValue *)value, (void **)&constant->data);
}

static OrtStatus *make_region(Kernel *kernel, const char *program, const IfmRegionConstant *constants, size_t n_constants)
{
    const IfmRegionOptions options = { .max_isa = kernel->ops->options.max_isa,
                                       .n_threads = kernel->n_expected,
                                       .is_timed = kernel->ops->options.is_timed };
    IfmBlockedError error = { IFM_BLOCKED_OK };
    kernel->region = ifm_region_new(program, constants, n_constants, &options, &error);
    if (kernel->region == NULL)
        return refuse_error(kernel, &error);
    if (ifm_region_n_inputs(kernel->region) != kernel->n_values)
        return refuse(kernel, ORT_INVALID_ARGUMENT, "its program has %zu inputs, n_values says %zu",
                      ifm_region_n_inputs(kernel->region), kernel->n_values);
    if (ifm_region_n_outputs(kernel->region) != kernel->n_outputs)
        return refuse(kernel, ORT_INVALID_ARGUMENT, "its program has %zu outputs, the node %zu",
                      ifm_region_n_outputs(kernel->region), kernel->n_outputs);
    return NULL;
}

static OrtStatus *read_constants(Kernel *kernel, const OrtKernelInfo *info, const char *program)
{
    size_t n_inputs = 0;
    int64_t n_values = 0;
    OrtStatus *failed = kernel->api->KernelInfoGetAttribute_int64(info, "n_values", &n_values);
    if (failed != NULL)
        return refuse_attribute(kernel, failed, "\"n_values\" of a whole number");
    IFM_OPS_TRY(kernel->api->KernelInfo_GetInputCount(info, &n_inputs));
    IFM_OPS_TRY(kernel->api->KernelInfo_GetOutputCount(info, &kernel->n_outputs));
    if (n_values < 1 || n_values > (int64_t)n_inputs)
        return refuse(kernel, ORT_INVALID_ARGUMENT, "n_values is %lld of %zu inputs", (long long)n_values, n_inputs);
    kernel->n_values = (size_t)n_values;
    const size_t n = n_inputs - kernel->n_values;
    IfmRegionConstant *constants = calloc(n + 1, sizeof(*constants));
    OrtStatus *status = NULL;
    if (constants == NULL)
        return refuse(kernel, ORT_FAIL, "no memory for its constants");
    for (size_t i = 0; i < n && status == NULL; i++)
        status = read_constant(kernel, info, kernel->n_values + i, &constants[i]);
    if (status == NULL)
        status = make_region(kernel, program, constants, n);
    free(constants);
    return status;
}

/* Missing: 1. */
static void read_threads(Kernel *kernel, const OrtKernelInfo *info)
{
    int64_t n_threads = 1;
    OrtStatus *status = kernel->api->KernelInfoGetAttribute_int64(info, "threads", &n_threads);
    if (status != NULL)
        kernel->api->ReleaseStatus(status);
    if (kernel->ops->options.n_threads > 0)
        n_threads = kernel->ops->options.n_threads;
    kernel->n_expected = n_threads >= 1 && n_threads <= MOST_TASKS ? (int)n_threads : 1;
}

/* Of an input as the model fixes it. Returns: false where a size is free or the model does not say it */
static bool read_size(const Kernel *kernel, const OrtKernelInfo *info, size_t input, int64_t shape[4])
{
    const OrtApi *api = kernel->api;
    OrtTypeInfo *type = NULL;
    const OrtTensorTypeAndShapeInfo *tensor = NULL;
    size_t rank = 0;
    OrtStatus *status = api->KernelInfo_GetInputTypeInfo(info, input, &type);
    if (status == NULL)
        status = api->CastTypeInfoToTensorInfo(type, &tensor);
    if (status == NULL && tensor != NULL)
        status = api->GetDimensionsCount(tensor, &rank);
    if (status == NULL && rank == 4)
        status = api->GetDimensions(tensor, shape, rank);
    bool is_fixed = status == NULL && rank == 4;
    for (size_t i = 0; i < rank && is_fixed; i++)
        is_fixed = shape[i] > 0;
    if (status != NULL)
        api->ReleaseStatus(status);
    if (type != NULL)
        api->ReleaseTypeInfo(type);
    return is_fixed;
}

/* Where all sizes are fixed the first run finds its layers made. What cannot be made here the run will say, if it is of
 * such sizes. */
static void make_ready(const Kernel *kernel, const OrtKernelInfo *info)
{
    int64_t(*shapes)[4] = calloc(kernel->n_values, sizeof(*shapes));
    bool is_fixed = shapes != NULL;
    for (size_t i = 0; i < kernel->n_values && is_fixed; i++)
        is_fixed = read_size(kernel, info, i, shapes[i]);
    IfmRegionRun *run = is_fixed ? ifm_region_take(kernel->region, (const int64_t(*)[4])shapes, NULL) : NULL;
    if (run != NULL)
        ifm_region_give_back(kernel->region, run);
    free(shapes);
}

static OrtStatus *make_kernel(Kernel *kernel, const OrtKernelInfo *info)
{
    char *program = NULL;
    read_name(kernel, info);
    read_threads(kernel, info);
    OrtStatus *status = read_program(kernel, info, &program);
    if (status == NULL)
        status = read_constants(kernel, info, program);
    if (status == NULL)
        make_ready(kernel, info);
    free(program);
    return status;
}

static void ORT_API_CALL destroy_kernel(void *self)
{
    Kernel *kernel = self;
    const IfmOpsOptions *options = &kernel->ops->options;
    if (options->freed != NULL && kernel->region != NULL)
        options->freed(options->user, kernel->region);
    ifm_region_free(kernel->region);
    pthread_mutex_destroy(&kernel->mutex);
    free(kernel);
}

static OrtStatus *ORT_API_CALL create_kernel(const OrtCustomOp *operator, const OrtApi * api, const OrtKernelInfo *info,
                                             void **made)
{
    const IfmOps *ops = (const IfmOps *)operator;
    Kernel *kernel = calloc(1, sizeof(*kernel));
    if (kernel == NULL)
        return api->CreateStatus(ORT_FAIL, "inferometer:Region: no memory for a node");
    kernel->ops = ops;
    kernel->api = ops->api;
    pthread_mutex_init(&kernel->mutex, NULL);
    OrtStatus *status = make_kernel(kernel, info);
    if (status == NULL && ops->options.made != NULL)
        ops->options.made(ops->options.user, kernel->name, kernel->region);
    if (status == NULL)
        *made = kernel;
    else
        destroy_kernel(kernel);
    return status;
}

/* --- the operator ----------------------------------------------------------------------------------------------------- */

static const char *ORT_API_CALL operator_name(const OrtCustomOp *operator)
{
    return "Region";
}

IfmOps *ifm_ops_new(const OrtApi *api, const IfmOpsOptions *options, OrtStatus **status)
{
    IfmOps *ops = calloc(1, sizeof(*ops));
    *status = NULL;
    if (ops == NULL)
        return NULL;
    ifm_ops_operator_init(&ops->operator);
    ops->operator.GetName = operator_name;
    ops->operator.CreateKernelV2 = create_kernel;
    ops->operator.KernelComputeV2 = compute;
    ops->operator.KernelDestroy = destroy_kernel;
    ops->api = api;
    if (options != NULL)
        ops->options = *options;
    *status = api->CreateCustomOpDomain("inferometer", &ops->domain);
    if (*status == NULL)
        *status = api->CustomOpDomain_Add(ops->domain, &ops->operator);
    if (*status == NULL)
        return ops;
    ifm_ops_free(ops);
    return NULL;
}

void ifm_ops_free(IfmOps *ops)
{
    if (ops == NULL)
        return;
    if (ops->domain != NULL)
        ops->api->ReleaseCustomOpDomain(ops->domain);
    free(ops);
}

OrtCustomOpDomain *ifm_ops_domain(IfmOps *ops)
{
    return ops->domain;
}
