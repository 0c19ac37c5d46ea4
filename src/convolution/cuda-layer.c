/* A layer on a GPU: cuDNN's descriptors of it, the algorithm, its workspace, and the times of its runs. */
#include "cuda-private.h"
#include <base/base.h>

/* Of cuDNN; -1: the own kernel. cuDNN's enumerator of a direct convolution (3) has no implementation. */
static const int enumerators[IFM_N_CONV_FIXED] = {
    [IFM_CONV_DIRECT] = -1,
    [IFM_CONV_GEMM] = CUDNN_ALGO_GEMM,
    [IFM_CONV_IMPLICIT_GEMM] = CUDNN_ALGO_IMPLICIT_GEMM,
    [IFM_CONV_IMPLICIT_PRECOMP_GEMM] = CUDNN_ALGO_IMPLICIT_PRECOMP_GEMM,
    [IFM_CONV_FFT] = CUDNN_ALGO_FFT,
    [IFM_CONV_FFT_TILING] = CUDNN_ALGO_FFT_TILING,
    [IFM_CONV_WINOGRAD] = CUDNN_ALGO_WINOGRAD,
    [IFM_CONV_WINOGRAD_NONFUSED] = CUDNN_ALGO_WINOGRAD_NONFUSED,
};

struct IfmConvCudaLayer
{
    IfmConvCuda *cuda;
    IfmConvShape shape;
    ConvCudaShape kernel_shape;
    gsize max_workspace_bytes;
    IfmConvInfo info;
    gboolean is_exact;
    int math; /* of cuDNN */
    char *implementation;
    void *input, *filter, *convolution, *output; /* cuDNN's descriptors */
    IfmConvCudaMarks *marks;                     /* of timed runs */
};

static gsize n_inputs_of(const IfmConvShape *shape)
{
    return (gsize)(shape->batch * shape->channels * shape->in[0] * shape->in[1]);
}

static gsize n_outputs_of(const IfmConvShape *shape)
{
    return (gsize)(shape->batch * shape->out_channels * shape->out[0] * shape->out[1]);
}

static gsize n_weights_of(const IfmConvShape *shape)
{
    return (gsize)(shape->out_channels * (shape->channels / shape->groups) * shape->kernel[0] * shape->kernel[1]);
}

static gboolean refuse(GError **error, const char *why)
{
    return ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s", why);
}

/* --- what cuDNN says of it
 * ------------------------------------------------------------------------------------------------ */

static gboolean ok(const IfmConvCudaLayer *self, int status, const char *call, GError **error)
{
    return conv_cudnn_ok(self->cuda->api, status, call, error);
}

static gboolean set_math(IfmConvCudaLayer *self, int math, GError **error)
{
    self->math = math;
    return ok(self, self->cuda->api->cudnnSetConvolutionMathType(self->convolution, math), "cudnnSetConvolutionMathType",
              error);
}

static gboolean describe(IfmConvCudaLayer *self, GError **error)
{
    const ConvCudaApi *api = self->cuda->api;
    const IfmConvShape *s = &self->shape;
    const gint64 *in = s->in, *out = s->out, *kernel = s->kernel;
    return ok(self, api->cudnnCreateTensorDescriptor(&self->input), "cudnnCreateTensorDescriptor", error) &&
           ok(self, api->cudnnCreateTensorDescriptor(&self->output), "cudnnCreateTensorDescriptor", error) &&
           ok(self, api->cudnnCreateFilterDescriptor(&self->filter), "cudnnCreateFilterDescriptor", error) &&
           ok(self, api->cudnnCreateConvolutionDescriptor(&self->convolution), "cudnnCreateConvolutionDescriptor", error) &&
           ok(self,
              api->cudnnSetTensor4dDescriptor(self->input, CUDNN_NCHW, CUDNN_FLOAT, (int)s->batch, (int)s->channels,
                                              (int)in[0], (int)in[1]),
              "cudnnSetTensor4dDescriptor", error) &&
           ok(self,
              api->cudnnSetTensor4dDescriptor(self->output, CUDNN_NCHW, CUDNN_FLOAT, (int)s->batch, (int)s->out_channels,
                                              (int)out[0], (int)out[1]),
              "cudnnSetTensor4dDescriptor", error) &&
           ok(self,
              api->cudnnSetFilter4dDescriptor(self->filter, CUDNN_FLOAT, CUDNN_NCHW, (int)s->out_channels,
                                              (int)(s->channels / s->groups), (int)kernel[0], (int)kernel[1]),
              "cudnnSetFilter4dDescriptor", error) &&
           ok(self,
              api->cudnnSetConvolution2dDescriptor(self->convolution, (int)s->pads[0], (int)s->pads[1], (int)s->stride[0],
                                                   (int)s->stride[1], (int)s->dilation[0], (int)s->dilation[1],
                                                   CUDNN_CROSS_CORRELATION_MODE, CUDNN_FLOAT),
              "cudnnSetConvolution2dDescriptor", error) &&
           ok(self, api->cudnnSetConvolutionGroupCount(self->convolution, (int)s->groups), "cudnnSetConvolutionGroupCount",
              error) &&
           set_math(self, self->cuda->allows_tf32 && !self->is_exact ? CUDNN_DEFAULT_MATH : CUDNN_FMA, error);
}

static gboolean is_3x3(const IfmConvShape *shape)
{
    return shape->kernel[0] == 3 && shape->kernel[1] == 3;
}

/* What the published rules of cuDNN name, in a few words, where cuDNN itself only says that it cannot. */
static gboolean refuse_shape(const IfmConvShape *shape, IfmConvAlgorithm algorithm, GError **error)
{
    g_autofree char *why = NULL;
    if (shape->dilation[0] != 1 || shape->dilation[1] != 1)
        why = g_strdup("dilation");
    else if (shape->stride[0] != 1 || shape->stride[1] != 1)
        why = g_strdup_printf("stride %" G_GINT64_FORMAT, MAX(shape->stride[0], shape->stride[1]));
    else if ((algorithm == IFM_CONV_WINOGRAD || algorithm == IFM_CONV_WINOGRAD_NONFUSED) && !is_3x3(shape))
        why = g_strdup_printf("%" G_GINT64_FORMAT "x%" G_GINT64_FORMAT, shape->kernel[0], shape->kernel[1]);
    return refuse(error, why != NULL ? why : "cuDNN has no kernel for it on this GPU");
}

static gboolean set_fixed(IfmConvCudaLayer *self, IfmConvAlgorithm algorithm, GError **error)
{
    const ConvCudaApi *api = self->cuda->api;
    size_t bytes = 0;
    g_autoptr(GError) local = NULL;
    if (!ok(self,
            api->cudnnGetConvolutionForwardWorkspaceSize(self->cuda->handle, self->input, self->filter, self->convolution,
                                                         self->output, enumerators[algorithm], &bytes),
            "cudnnGetConvolutionForwardWorkspaceSize", &local))
    {
        if (g_error_matches(local, IFM_ERROR, IFM_ERROR_UNSUPPORTED))
            return refuse_shape(&self->shape, algorithm, error);
        return ifm_error_pass(error, g_steal_pointer(&local));
    }
    if (bytes > self->max_workspace_bytes)
        return refuse(error, "workspace over the limit");
    self->info.algorithm = algorithm;
    self->info.workspace_bytes = bytes;
    return TRUE;
}

/* Winograd's transforms of a 5x5 kernel lose three digits of f32 (3.5e-3 of the largest output were seen). */
gboolean ifm_conv_cuda_is_choice(const IfmConvShape *shape, IfmConvAlgorithm algorithm)
{
    return is_3x3(shape) || (algorithm != IFM_CONV_WINOGRAD && algorithm != IFM_CONV_WINOGRAD_NONFUSED);
}

/* What of cuDNN's arithmetics is allowed. A GPU without TF32 multiplies f32 as f32 by each but the one that converts. */
static gboolean is_allowed(const IfmConvCuda *cuda, int math)
{
    return math == CUDNN_FMA || ((math == CUDNN_DEFAULT_MATH || math == CUDNN_TENSOR_OP) &&
                                 (cuda->allows_tf32 || cuda->capability < CUDA_TF32_CAPABILITY));
}

/* The first that can run as it is allowed within the limit; they are in order of their times. */
static gboolean take_first(IfmConvCudaLayer *self, const CudnnPerformance *found, int n_found, GError **error)
{
    for (int i = 0; i < n_found; i++)
        for (int k = 0; k < IFM_N_CONV_FIXED; k++)
            if (found[i].status == 0 && is_allowed(self->cuda, found[i].math) &&
                ifm_conv_cuda_is_choice(&self->shape, (IfmConvAlgorithm)k) &&
                found[i].workspace_bytes <= self->max_workspace_bytes && found[i].algorithm == enumerators[k])
                return set_math(self, found[i].math, error) && set_fixed(self, (IfmConvAlgorithm)k, error);
    return refuse(error, "cuDNN has no kernel for it on this GPU");
}

#define MAX_FOUND (2 * CUDNN_N_ALGOS) /* each with two arithmetics */

static gboolean set_guess(IfmConvCudaLayer *self, GError **error)
{
    CudnnPerformance found[MAX_FOUND];
    int n = 0;
    return ok(self,
              self->cuda->api->cudnnGetConvolutionForwardAlgorithm_v7(
                  self->cuda->handle, self->input, self->filter, self->convolution, self->output, MAX_FOUND, &n, found),
              "cudnnGetConvolutionForwardAlgorithm_v7", error) &&
           take_first(self, found, n, error);
}

/* Buffers: of a run on zeros. */
typedef struct
{
    void *input, *weights, *output, *workspace;
    gsize workspace_bytes;
} Buffers;

static gboolean buffers_init(const IfmConvCudaLayer *self, gsize workspace_bytes, Buffers *buffers, GError **error)
{
    const ConvCudaApi *api = self->cuda->api;
    const struct
    {
        void **at;
        gsize bytes;
    } parts[] = { { &buffers->input, n_inputs_of(&self->shape) * sizeof(float) },
                  { &buffers->weights, n_weights_of(&self->shape) * sizeof(float) },
                  { &buffers->output, n_outputs_of(&self->shape) * sizeof(float) },
                  { &buffers->workspace, workspace_bytes } };
    *buffers = (Buffers){ .workspace_bytes = workspace_bytes };
    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
        if (parts[i].bytes > 0 &&
            !(ifm_cuda_ok(api->cudart->cudaMalloc(parts[i].at, parts[i].bytes), "cudaMalloc", error) &&
              ifm_cuda_ok(api->cudart->cudaMemset(*parts[i].at, 0, parts[i].bytes), "cudaMemset", error)))
            return FALSE;
    return TRUE;
}

static void buffers_clear(const IfmConvCudaLayer *self, Buffers *buffers)
{
    void *const parts[] = { buffers->input, buffers->weights, buffers->output, buffers->workspace };
    for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
        self->cuda->api->cudart->cudaFree(parts[i]);
}

/* cuDNN says only at a run of some layers that it cannot do them: a layer that was made can run. */
static gboolean try_run(IfmConvCudaLayer *self, GError **error)
{
    Buffers buffers;
    const float one = 1, zero = 0;
    g_autoptr(GError) local = NULL;
    const gboolean good = buffers_init(self, self->info.workspace_bytes, &buffers, error) &&
                          ok(self,
                             self->cuda->api->cudnnConvolutionForward(
                                 self->cuda->handle, &one, self->input, buffers.input, self->filter, buffers.weights,
                                 self->convolution, enumerators[self->info.algorithm], buffers.workspace,
                                 buffers.workspace_bytes, &zero, self->output, buffers.output),
                             "cudnnConvolutionForward", &local);
    buffers_clear(self, &buffers);
    if (local == NULL)
        return good;
    return g_error_matches(local, IFM_ERROR, IFM_ERROR_UNSUPPORTED)
               ? refuse_shape(&self->shape, self->info.algorithm, error)
               : ifm_error_pass(error, g_steal_pointer(&local));
}

/* --- making it
 * ------------------------------------------------------------------------------------------------------------ */

static gboolean choose(IfmConvCudaLayer *self, IfmConvAlgorithm algorithm, GError **error)
{
    if (algorithm == IFM_CONV_DIRECT)
    {
        self->info.algorithm = algorithm;
        return TRUE;
    }
    if (self->shape.pads[0] != self->shape.pads[2] || self->shape.pads[1] != self->shape.pads[3])
        return refuse(error, "asymmetric padding");
    if (!describe(self, error))
        return FALSE;
    return (algorithm == IFM_CONV_GUESS ? set_guess(self, error) : set_fixed(self, algorithm, error)) &&
           try_run(self, error);
}

static gboolean grow_workspace(IfmConvCuda *cuda, gsize bytes, GError **error)
{
    if (bytes <= cuda->workspace_bytes)
        return TRUE;
    cuda->api->cudart->cudaFree(cuda->workspace); /* waits for what still uses it */
    cuda->workspace = NULL;
    cuda->workspace_bytes = 0;
    if (!ifm_cuda_ok(cuda->api->cudart->cudaMalloc(&cuda->workspace, bytes), "cudaMalloc", error))
        return FALSE;
    cuda->workspace_bytes = bytes;
    return TRUE;
}

static void set_kernel_shape(IfmConvCudaLayer *self, const IfmConvOptions *options)
{
    const IfmConvShape *s = &self->shape;
    self->kernel_shape = (ConvCudaShape){
        .n_outputs = (long long)n_outputs_of(s),
        .channels = (int)s->channels,
        .group_channels = (int)(s->channels / s->groups),
        .in_rows = (int)s->in[0],
        .in_columns = (int)s->in[1],
        .out_channels = (int)s->out_channels,
        .group_out_channels = (int)(s->out_channels / s->groups),
        .out_rows = (int)s->out[0],
        .out_columns = (int)s->out[1],
        .kernel_rows = (int)s->kernel[0],
        .kernel_columns = (int)s->kernel[1],
        .stride_rows = (int)s->stride[0],
        .stride_columns = (int)s->stride[1],
        .dilation_rows = (int)s->dilation[0],
        .dilation_columns = (int)s->dilation[1],
        .pad_top = (int)s->pads[0],
        .pad_left = (int)s->pads[1],
        .activation = (int)options->activation,
        .alpha = options->alpha,
        .beta = options->beta,
    };
}

static void name_implementation(IfmConvCudaLayer *self)
{
    const gsize version = self->cuda->api->cudnnGetVersion();
    const int enumerator = enumerators[self->info.algorithm];
    self->implementation =
        enumerator < 0
            ? g_strdup_printf("own direct kernel, sm_%d", self->cuda->capability)
            : g_strdup_printf("cuDNN %zu.%zu.%zu forward algorithm %d, %s, sm_%d", version / 10000, version / 100 % 100,
                              version % 100, enumerator,
                              self->math != CUDNN_FMA && self->cuda->allows_tf32 ? "TF32" : "FMA", self->cuda->capability);
    self->info.implementation = self->implementation;
    self->info.weights_bytes = n_weights_of(&self->shape) * sizeof(float);
}

IfmConvCudaLayer *ifm_conv_cuda_layer_new(IfmConvCuda *cuda, const IfmConvShape *shape, IfmConvAlgorithm algorithm,
                                          gboolean is_exact, const IfmConvOptions *options, GError **error)
{
    const IfmConvOptions defaults = { 0 };
    IfmConvCudaLayer *self = g_new0(IfmConvCudaLayer, 1);
    options = options != NULL ? options : &defaults;
    self->cuda = cuda;
    self->shape = *shape;
    self->is_exact = is_exact;
    self->max_workspace_bytes = options->max_workspace_bytes != 0 ? options->max_workspace_bytes : IFM_CONV_WORKSPACE_BYTES;
    self->marks = ifm_conv_cuda_marks_new(cuda);
    if (ifm_conv_shape_complete(&self->shape, error) &&
        ifm_cuda_ok(cuda->api->cudart->cudaSetDevice(cuda->device), "cudaSetDevice", error) &&
        choose(self, algorithm, error) && grow_workspace(cuda, self->info.workspace_bytes, error))
    {
        set_kernel_shape(self, options);
        name_implementation(self);
        return self;
    }
    ifm_conv_cuda_layer_free(self);
    return NULL;
}

void ifm_conv_cuda_layer_free(IfmConvCudaLayer *self)
{
    if (self == NULL)
        return;
    const ConvCudaApi *api = self->cuda->api;
    ifm_conv_cuda_marks_free(self->marks);
    if (self->input != NULL)
        api->cudnnDestroyTensorDescriptor(self->input);
    if (self->output != NULL)
        api->cudnnDestroyTensorDescriptor(self->output);
    if (self->filter != NULL)
        api->cudnnDestroyFilterDescriptor(self->filter);
    if (self->convolution != NULL)
        api->cudnnDestroyConvolutionDescriptor(self->convolution);
    g_free(self->implementation);
    g_free(self);
}

IfmConvInfo ifm_conv_cuda_layer_info(const IfmConvCudaLayer *self)
{
    return self->info;
}

const IfmConvShape *ifm_conv_cuda_layer_shape(const IfmConvCudaLayer *self)
{
    return &self->shape;
}

/* --- running
 * -------------------------------------------------------------------------------------------------------------- */

static gboolean forward(const IfmConvCudaLayer *self, void *stream, const float *input, const float *weights,
                        const float *bias, const float *sum, float *output, GError **error)
{
    const IfmConvCuda *cuda = self->cuda;
    const float one = 1, zero = 0;
    if (self->info.algorithm == IFM_CONV_DIRECT)
        return conv_cuda_direct(cuda, stream, &self->kernel_shape, input, weights, bias, sum, output, error);
    return ok(self, cuda->api->cudnnSetStream(cuda->handle, stream), "cudnnSetStream", error) &&
           ok(self,
              cuda->api->cudnnConvolutionForward(cuda->handle, &one, self->input, input, self->filter, weights,
                                                 self->convolution, enumerators[self->info.algorithm], cuda->workspace,
                                                 cuda->workspace_bytes, &zero, self->output, output),
              "cudnnConvolutionForward", error) &&
           ((bias == NULL && sum == NULL && self->kernel_shape.activation == IFM_BLOCKED_IDENTITY) ||
            conv_cuda_finish(cuda, stream, &self->kernel_shape, bias, sum, output, error));
}

gboolean ifm_conv_cuda_layer_run(IfmConvCudaLayer *self, void *stream, const float *input, const float *weights,
                                 const float *bias, const float *sum, float *output, gboolean timed, GError **error)
{
    if (!timed)
        return forward(self, stream, input, weights, bias, sum, output, error);
    return ifm_conv_cuda_marks_begin(self->marks, stream, NULL, NULL, 0, error) &&
           forward(self, stream, input, weights, bias, sum, output, error) &&
           ifm_conv_cuda_marks_end(self->marks, stream, NULL, NULL, 0, error);
}

GArray *ifm_conv_cuda_layer_times(IfmConvCudaLayer *self, GError **error)
{
    return ifm_conv_cuda_marks_times(self->marks, error);
}
