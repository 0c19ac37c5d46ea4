/* The own kernels for a GPU: a plain direct convolution, and what follows a convolution of cuDNN's. NVRTC compiles them. */
#include <base/base.h>
#include <string.h>

#include "cuda-private.h"
#include <math.h>

/* The kernels have these numbers. */
G_STATIC_ASSERT(IFM_BLOCKED_RELU == 1 && IFM_BLOCKED_CLIP == 2 && IFM_BLOCKED_LEAKY_RELU == 3 &&
                IFM_BLOCKED_HARD_SIGMOID == 4 && IFM_BLOCKED_SIGMOID == 5 && IFM_BLOCKED_TANH == 6 &&
                IFM_BLOCKED_SILU == 7 && IFM_BLOCKED_HARD_SWISH == 8 && IFM_BLOCKED_GELU == 9 &&
                IFM_BLOCKED_GELU_TANH == 10 && IFM_N_BLOCKED_ACTIVATIONS == 11);

/* It is C, too, so that a test runs it on the processor. */
static const char source[] =
    "#ifdef __cplusplus\n"
    "#define KERNEL extern \"C\" __global__\n"
    "#else\n"
    "#define KERNEL\n"
    "#endif\n"
    "\n"
    "struct Shape\n"
    "{\n"
    "    long long n_outputs;\n"
    "    int channels, group_channels, in_rows, in_columns;\n"
    "    int out_channels, group_out_channels, out_rows, out_columns;\n"
    "    int kernel_rows, kernel_columns, stride_rows, stride_columns;\n"
    "    int dilation_rows, dilation_columns, pad_top, pad_left;\n"
    "    int activation;\n"
    "    float alpha, beta;\n"
    "};\n"
    "\n"
    "static __device__ float activate(const struct Shape *s, float v)\n"
    "{\n"
    "    switch (s->activation)\n"
    "    {\n"
    "    case 1: return v < 0 ? 0 : v;\n"
    "    case 2: return v < s->alpha ? s->alpha : v > s->beta ? s->beta : v;\n"
    "    case 3: return v < 0 ? s->alpha * v : v;\n"
    "    case 4: v = s->alpha * v + s->beta; return v < 0 ? 0 : v > 1 ? 1 : v;\n"
    "    case 5: return 1 / (1 + expf(-v));\n"
    "    case 6: return tanhf(v);\n"
    "    case 7: return v / (1 + expf(-v));\n"
    "    case 8: return v <= -3 ? 0 : v >= 3 ? v : v * (v / 6 + 0.5f);\n"
    "    case 9: return 0.5f * v * (1 + erff(v * 0.707106781f));\n"
    "    case 10: return 0.5f * v * (1 + tanhf(v * (0.797884561f + 0.0356774081f * v * v)));\n"
    "    default: return v;\n"
    "    }\n"
    "}\n"
    "\n"
    "static __device__ float convolve(const struct Shape *s, const float *input, const float *weights, long long at)\n"
    "{\n"
    "    const int column = at % s->out_columns, row = at / s->out_columns % s->out_rows;\n"
    "    const int channel = at / s->out_columns / s->out_rows % s->out_channels;\n"
    "    const long long image = at / s->out_columns / s->out_rows / s->out_channels;\n"
    "    const int first = channel / s->group_out_channels * s->group_channels;\n"
    "    input += (image * s->channels + first) * s->in_rows * s->in_columns;\n"
    "    weights += (long long)channel * s->group_channels * s->kernel_rows * s->kernel_columns;\n"
    "    float total = 0;\n"
    "    for (int c = 0; c < s->group_channels; c++, input += (long long)s->in_rows * s->in_columns)\n"
    "        for (int i = 0; i < s->kernel_rows; i++)\n"
    "            for (int j = 0; j < s->kernel_columns; j++, weights++)\n"
    "            {\n"
    "                const int y = row * s->stride_rows - s->pad_top + i * s->dilation_rows;\n"
    "                const int x = column * s->stride_columns - s->pad_left + j * s->dilation_columns;\n"
    "                if (y >= 0 && y < s->in_rows && x >= 0 && x < s->in_columns)\n"
    "                    total = fmaf(input[(long long)y * s->in_columns + x], *weights, total);\n"
    "            }\n"
    "    return total;\n"
    "}\n"
    "\n"
    "static __device__ float end(const struct Shape *s, const float *bias, const float *sum, long long at, float v)\n"
    "{\n"
    "    if (bias)\n"
    "        v += bias[at / s->out_columns / s->out_rows % s->out_channels];\n"
    "    return activate(s, sum ? v + sum[at] : v);\n"
    "}\n"
    "\n"
    "KERNEL void direct(struct Shape s, const float *input, const float *weights, const float *bias,\n"
    "                                  const float *sum, float *output)\n"
    "{\n"
    "    for (long long at = blockIdx.x * (long long)blockDim.x + threadIdx.x; at < s.n_outputs;\n"
    "         at += gridDim.x * (long long)blockDim.x)\n"
    "        output[at] = end(&s, bias, sum, at, convolve(&s, input, weights, at));\n"
    "}\n"
    "\n"
    "KERNEL void finish(struct Shape s, const float *bias, const float *sum, float *output)\n"
    "{\n"
    "    for (long long at = blockIdx.x * (long long)blockDim.x + threadIdx.x; at < s.n_outputs;\n"
    "         at += gridDim.x * (long long)blockDim.x)\n"
    "        output[at] = end(&s, bias, sum, at, output[at]);\n"
    "}\n";

/* --- compiling ----------------------------------------------------------------------------------------------------------
 */

static gboolean refuse(const ConvCudaApi *api, void *program, int status, GError **error)
{
    size_t bytes = 0;
    g_autofree char *log = NULL;
    if (api->nvrtcGetProgramLogSize(program, &bytes) == 0 && bytes > 1)
    {
        log = g_malloc0(bytes + 1);
        api->nvrtcGetProgramLog(program, log);
        log[strcspn(log, "\n")] = '\0';
    }
    return ifm_error_set(error, IFM_ERROR_FAILED, "NVRTC: %s (%d)%s%s", api->nvrtcGetErrorString(status), status,
                         log != NULL ? ": " : "", log != NULL ? log : "");
}

static GBytes *read_code(const ConvCudaApi *api, void *program, gboolean is_machine_code, GError **error)
{
    size_t bytes = 0;
    int status = is_machine_code ? api->nvrtcGetCUBINSize(program, &bytes) : api->nvrtcGetPTXSize(program, &bytes);
    g_autofree char *code = g_malloc0(bytes + 1);
    if (status == 0)
        status = is_machine_code ? api->nvrtcGetCUBIN(program, code) : api->nvrtcGetPTX(program, code);
    return status == 0 || refuse(api, program, status, error) ? g_bytes_new_take(g_steal_pointer(&code), bytes) : NULL;
}

GBytes *conv_cuda_compile(const ConvCudaApi *api, const char *target, GError **error)
{
    g_autofree char *architecture = g_strconcat("--gpu-architecture=", target, NULL);
    const char *const options[] = { architecture, "--std=c++14" };
    void *program = NULL;
    GBytes *code = NULL;
    int status = api->nvrtcCreateProgram(&program, source, "convolution.cu", 0, NULL, NULL);
    if (status == 0)
        status = api->nvrtcCompileProgram(program, (int)G_N_ELEMENTS(options), options);
    if (status == 0)
        code = read_code(api, program, g_str_has_prefix(target, "sm_"), error);
    else
        refuse(api, program, status, error);
    if (program != NULL)
        api->nvrtcDestroyProgram(&program);
    return code;
}

gboolean conv_cuda_kernels_load(IfmConvCuda *cuda, GError **error)
{
    const ConvCudaApi *api = cuda->api;
    g_autofree char *target = g_strdup_printf("sm_%d", cuda->capability);
    g_autoptr(GBytes) code = conv_cuda_compile(api, target, error);
    return code != NULL &&
           ifm_cuda_ok(
               api->cudart->cudaLibraryLoadData(&cuda->library, g_bytes_get_data(code, NULL), NULL, NULL, 0, NULL, NULL, 0),
               "cudaLibraryLoadData", error) &&
           ifm_cuda_ok(api->cudart->cudaLibraryGetKernel(&cuda->direct, cuda->library, "direct"), "cudaLibraryGetKernel",
                       error) &&
           ifm_cuda_ok(api->cudart->cudaLibraryGetKernel(&cuda->finish, cuda->library, "finish"), "cudaLibraryGetKernel",
                       error);
}

/* --- running ------------------------------------------------------------------------------------------------------------
 */

#define N_THREADS 256
#define MAX_BLOCKS (1 << 20)

static gboolean launch(const IfmConvCuda *cuda, const void *kernel, void *stream, const ConvCudaShape *shape,
                       void **arguments, GError **error)
{
    const CudaDim block = { N_THREADS, 1, 1 };
    const CudaDim grid = { (unsigned)MIN((shape->n_outputs + N_THREADS - 1) / N_THREADS, MAX_BLOCKS), 1, 1 };
    return ifm_cuda_ok(cuda->api->cudart->cudaLaunchKernel(kernel, grid, block, arguments, 0, stream), "cudaLaunchKernel",
                       error);
}

gboolean conv_cuda_direct(const IfmConvCuda *cuda, void *stream, const ConvCudaShape *shape, const float *input,
                          const float *weights, const float *bias, const float *sum, float *output, GError **error)
{
    void *arguments[] = { (void *)shape, &input, &weights, &bias, &sum, &output };
    return launch(cuda, cuda->direct, stream, shape, arguments, error);
}

gboolean conv_cuda_finish(const IfmConvCuda *cuda, void *stream, const ConvCudaShape *shape, const float *bias,
                          const float *sum, float *output, GError **error)
{
    void *arguments[] = { (void *)shape, &bias, &sum, &output };
    return launch(cuda, cuda->finish, stream, shape, arguments, error);
}
