/* cuDNN, the CUDA runtime, NVRTC and cuBLAS of a GPU whose memory is the processor's: what test-convolution-cuda and
 * test-stress open in their place. Kernels are compiled by the C compiler, run as one thread of one block, and so compute
 * what a GPU would. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convolution/cuda-private.h"
#include <math.h>

#define EXPORT __attribute__((visibility("default")))
#define X(type, name, parameters) EXPORT type name parameters;
CUDART_SYMBOLS(X)
CUDNN_SYMBOLS(X)
NVRTC_SYMBOLS(X)
CUBLAS_SYMBOLS(X)
#undef X

static int setting(const char *name, int usual)
{
    const char *value = g_getenv(name);
    return value != NULL ? atoi(value) : usual;
}

/* --- the CUDA runtime ---------------------------------------------------------------------------------------------------
 */

int cudaRuntimeGetVersion(int *version)
{
    *version = 13000;
    return 0;
}

int cudaGetDeviceCount(int *n)
{
    *n = setting("IFM_FAKE_GPUS", 1);
    return *n > 0 ? 0 : CUDA_NO_DEVICE;
}

int cudaSetDevice(int device)
{
    return device == 0 ? 0 : 101;
}

int cudaDeviceGetAttribute(int *value, int attribute, int device)
{
    *value = attribute == CUDA_ATTRIBUTE_MAJOR ? 9 : 0;
    return 0;
}

const char *cudaGetErrorString(int status)
{
    return status == CUDA_OUT_OF_MEMORY ? "out of memory"
           : status == CUDA_NO_DEVICE   ? "no CUDA-capable device is detected"
                                        : "invalid device ordinal";
}

int cudaGetLastError(void)
{
    return 0;
}

int cudaMalloc(void **at, size_t bytes)
{
    *at = bytes < (size_t)1 << 30 ? g_malloc(bytes) : NULL;
    return *at != NULL ? 0 : CUDA_OUT_OF_MEMORY;
}

int cudaFree(void *at)
{
    g_free(at);
    return 0;
}

int cudaMemset(void *at, int value, size_t bytes)
{
    memset(at, value, bytes);
    return 0;
}

/*
 * An event is the time of this device, to which all that is put on its stream adds: an algorithm of cuDNN's 100 and its
 * number, that of IFM_FAKE_BEST (GEMM) 4, in TF32 1 less or with IFM_FAKE_SLOW_TF32 1 more; the own direct kernel 200; a
 * product of cuBLAS's, and a copy where it is set, IFM_FAKE_PIECE (1);
 * what others put there between a copy with an event behind it and the next event IFM_FAKE_RUNTIME (50).
 */
typedef struct
{
    int time;
    gboolean is_copied, is_marked;
} Device;

/* One for the libraries of this file, which are three: they find it by the environment. */
static Device *device(void)
{
    static Device *found;
    g_autofree char *name = g_strdup_printf("IFM_FAKE_DEVICE_%d", (int)getpid());
    const char *at = g_getenv(name);
    if (found == NULL && at != NULL)
        found = (Device *)(gsize)g_ascii_strtoull(at, NULL, 10);
    if (found != NULL)
        return found;
    found = g_new0(Device, 1);
    g_autofree char *text = g_strdup_printf("%" G_GSIZE_FORMAT, (gsize)found);
    g_setenv(name, text, TRUE);
    return found;
}

static void pass(int time)
{
    Device *self = device();
    self->time += time;
    self->is_copied = self->is_marked = FALSE;
}

int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, void *stream)
{
    memcpy(to, from, MIN(bytes, (size_t)1 << 20)); /* what is larger is looked at by no test */
    device()->is_copied = TRUE;
    device()->time += setting("IFM_FAKE_PIECE", 0);
    return kind == CUDA_COPY_WITHIN_DEVICE || kind == CUDA_COPY_TO_DEVICE ? 0 : 21;
}

int cudaEventCreate(void **event)
{
    *event = g_new0(int, 1);
    return 0;
}

int cudaEventCreateWithFlags(void **event, unsigned flags)
{
    return flags == CUDA_EVENT_BLOCKING ? cudaEventCreate(event) : 1;
}

int cudaEventDestroy(void *event)
{
    g_free(event);
    return 0;
}

int cudaEventRecord(void *event, void *stream)
{
    Device *self = device();
    if (self->is_marked)
        self->time += setting("IFM_FAKE_RUNTIME", 50);
    self->is_marked = self->is_copied;
    self->is_copied = FALSE;
    *(int *)event = self->time;
    return 0;
}

int cudaEventSynchronize(void *event)
{
    return 0;
}

int cudaEventElapsedTime(float *ms, void *began, void *ended)
{
    *ms = (float)(*(int *)ended - *(int *)began);
    return 0;
}

int cudaLibraryLoadData(void **library, const void *code, int *jit_options, void **jit_values, unsigned n_jit, int *options,
                        void **values, unsigned n_options)
{
    *library = dlopen(code, RTLD_NOW | RTLD_LOCAL);
    g_autofree char *folder = g_path_get_dirname(code), *source = g_build_filename(folder, "kernels.c", NULL);
    unlink(code);
    unlink(source);
    rmdir(folder);
    return *library != NULL ? 0 : 200;
}

int cudaLibraryUnload(void *library)
{
    return dlclose(library);
}

int cudaLibraryGetKernel(void **kernel, void *library, const char *name)
{
    *kernel = dlsym(library, name);
    return *kernel != NULL ? 0 : 500;
}

int cudaLaunchKernel(const void *kernel, CudaDim grid, CudaDim block, void **arguments, size_t shared_bytes, void *stream)
{
    Dl_info info;
    if (dladdr(kernel, &info) == 0)
        return 98;
    const ConvCudaShape *shape = arguments[0];
    float *const *pointers[5];
    for (int i = 0; i < 3; i++)
        pointers[i] = arguments[1 + i];
    if (g_str_equal(info.dli_sname, "finish"))
    {
        void (*finish)(ConvCudaShape, const float *, const float *, float *);
        memcpy(&finish, &kernel, sizeof finish);
        finish(*shape, *pointers[0], *pointers[1], *pointers[2]);
        pass(1);
        return 0;
    }
    void (*direct)(ConvCudaShape, const float *, const float *, const float *, const float *, float *);
    memcpy(&direct, &kernel, sizeof direct);
    for (int i = 3; i < 5; i++)
        pointers[i] = arguments[1 + i];
    direct(*shape, *pointers[0], *pointers[1], *pointers[2], *pointers[3], *pointers[4]);
    pass(200);
    return 0;
}

/* --- NVRTC: a program's machine code is the path of a library -----------------------------------------------------------
 */

typedef struct
{
    char *source, *folder, *file;
} Program;

int nvrtcVersion(int *major, int *minor)
{
    *major = 13;
    *minor = 0;
    return 0;
}

const char *nvrtcGetErrorString(int status)
{
    return "NVRTC_ERROR_COMPILATION";
}

int nvrtcCreateProgram(void **program, const char *source, const char *name, int n_headers, const char *const *headers,
                       const char *const *names)
{
    Program *self = g_new0(Program, 1);
    self->source = g_strconcat("#include <math.h>\n"
                               "#define __device__\n"
                               "static const struct { unsigned x; } blockIdx = { 0 }, threadIdx = { 0 }, blockDim = { 1 }, "
                               "gridDim = { 1 };\n",
                               source, NULL);
    *program = self;
    return 0;
}

int nvrtcDestroyProgram(void **program)
{
    Program *self = *program;
    g_free(self->source);
    g_free(self->folder);
    g_free(self->file);
    g_free(self);
    return 0;
}

int nvrtcCompileProgram(void *program, int n_options, const char *const *options)
{
    Program *self = program;
    self->folder = g_dir_make_tmp("fake-cuda-XXXXXX", NULL);
    self->file = g_build_filename(self->folder, "kernels.so", NULL);
    g_autofree char *source = g_build_filename(self->folder, "kernels.c", NULL);
    const char *const command[] = { "cc", "-shared", "-fPIC", "-O1", "-o", self->file, source, "-lm", NULL };
    int status = -1;
    return g_file_set_contents(source, self->source, -1, NULL) &&
                   g_spawn_sync(NULL, (char **)command, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, &status, NULL) &&
                   status == 0
               ? 0
               : 6;
}

int nvrtcGetProgramLogSize(void *program, size_t *bytes)
{
    *bytes = 0;
    return 0;
}

int nvrtcGetProgramLog(void *program, char *log)
{
    return 0;
}

int nvrtcGetCUBINSize(void *program, size_t *bytes)
{
    *bytes = strlen(((Program *)program)->file) + 1;
    return 0;
}

int nvrtcGetCUBIN(void *program, char *cubin)
{
    strcpy(cubin, ((Program *)program)->file);
    return 0;
}

int nvrtcGetPTXSize(void *program, size_t *bytes)
{
    return nvrtcGetCUBINSize(program, bytes);
}

int nvrtcGetPTX(void *program, char *ptx)
{
    return nvrtcGetCUBIN(program, ptx);
}

/* --- cuDNN: a descriptor is an array of what it was set to
 * ----------------------------------------------------------------- */

#define N_NUMBERS 12

static int create(void **descriptor)
{
    *descriptor = g_new0(int, N_NUMBERS);
    return 0;
}

static int destroy(void *descriptor)
{
    g_free(descriptor);
    return 0;
}

size_t cudnnGetVersion(void)
{
    return 91234;
}

const char *cudnnGetErrorString(int status)
{
    return status == CUDNN_NOT_SUPPORTED ? "CUDNN_STATUS_NOT_SUPPORTED" : "CUDNN_STATUS_BAD_PARAM";
}

int cudnnCreate(void **handle)
{
    return create(handle);
}

int cudnnDestroy(void *handle)
{
    return destroy(handle);
}

int cudnnSetStream(void *handle, void *stream)
{
    return 0;
}

int cudnnCreateTensorDescriptor(void **tensor)
{
    return create(tensor);
}

int cudnnDestroyTensorDescriptor(void *tensor)
{
    return destroy(tensor);
}

static int set_four(int *numbers, int layout, int type, int a, int b, int c, int d)
{
    const int given[] = { a, b, c, d };
    memcpy(numbers, given, sizeof given);
    return layout == CUDNN_NCHW && type == CUDNN_FLOAT ? 0 : 2000;
}

int cudnnSetTensor4dDescriptor(void *tensor, int layout, int type, int n, int c, int h, int w)
{
    return set_four(tensor, layout, type, n, c, h, w);
}

int cudnnCreateFilterDescriptor(void **filter)
{
    return create(filter);
}

int cudnnDestroyFilterDescriptor(void *filter)
{
    return destroy(filter);
}

int cudnnSetFilter4dDescriptor(void *filter, int type, int layout, int k, int c, int h, int w)
{
    return set_four(filter, layout, type, k, c, h, w);
}

int cudnnCreateConvolutionDescriptor(void **convolution)
{
    return create(convolution);
}

int cudnnDestroyConvolutionDescriptor(void *convolution)
{
    return destroy(convolution);
}

enum
{
    PAD = 0,
    STRIDE = 2,
    DILATION = 4,
    GROUPS = 6,
    MATH = 7
};

int cudnnSetConvolution2dDescriptor(void *convolution, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h,
                                    int dilation_w, int mode, int type)
{
    const int given[] = { pad_h, pad_w, stride_h, stride_w, dilation_h, dilation_w };
    memcpy(convolution, given, sizeof given);
    return mode == CUDNN_CROSS_CORRELATION_MODE && type == CUDNN_FLOAT ? 0 : 2000;
}

int cudnnSetConvolutionGroupCount(void *convolution, int groups)
{
    ((int *)convolution)[GROUPS] = groups;
    return 0;
}

int cudnnSetConvolutionMathType(void *convolution, int math)
{
    ((int *)convolution)[MATH] = math;
    return 0;
}

int cudnnGetConvolutionForwardWorkspaceSize(void *handle, void *x, void *w, void *convolution, void *y, int algorithm,
                                            size_t *bytes)
{
    const int *numbers = convolution, *filter = w;
    const gboolean is_plain = numbers[STRIDE] == 1 && numbers[STRIDE + 1] == 1 && numbers[DILATION] == 1;
    const gboolean is_3x3 = filter[2] == 3 && filter[3] == 3;
    if ((algorithm >= CUDNN_ALGO_FFT && !is_plain) || (algorithm >= CUDNN_ALGO_WINOGRAD && !is_3x3))
        return CUDNN_NOT_SUPPORTED;
    *bytes = (size_t)(1000 * algorithm);
    return algorithm == 3 ? CUDNN_NOT_SUPPORTED : 0;
}

/* All that could be first is not to be taken: one that failed, one that converts to f16, one in TF32 where f32 is asked
 * for, one over the limit. */
static void rank(CudnnPerformance *found, int *n_found, int algorithm)
{
    const CudnnPerformance ranked[] = { { CUDNN_ALGO_WINOGRAD, CUDNN_NOT_SUPPORTED, -1, 0, 0, CUDNN_FMA, { 0 } },
                                        { CUDNN_ALGO_IMPLICIT_GEMM, 0, 0.5F, 0, 0, 2, { 0 } },
                                        { CUDNN_ALGO_IMPLICIT_GEMM, 0, 1, 0, 0, CUDNN_TENSOR_OP, { 0 } },
                                        { CUDNN_ALGO_FFT, 0, 2, (size_t)1 << 40, 0, CUDNN_FMA, { 0 } },
                                        { algorithm, 0, 3, (size_t)(1000 * algorithm), 0, CUDNN_FMA, { 0 } } };
    memcpy(found, ranked, sizeof ranked);
    *n_found = (int)G_N_ELEMENTS(ranked);
}

int cudnnGetConvolutionForwardAlgorithm_v7(void *handle, void *x, void *w, void *convolution, void *y, int n_wanted,
                                           int *n_found, CudnnPerformance *found)
{
    rank(found, n_found, CUDNN_ALGO_IMPLICIT_PRECOMP_GEMM);
    return n_wanted == 2 * CUDNN_N_ALGOS ? 0 : 2000;
}

int cudnnConvolutionForward(void *handle, const void *alpha, void *x, const void *x_data, void *w, const void *w_data,
                            void *convolution, int algorithm, void *workspace, size_t workspace_bytes, const void *beta,
                            void *y, void *y_data)
{
    const int *in = x, *filter = w, *numbers = convolution, *out = y;
    const float *input = x_data, *weights = w_data;
    float *output = y_data;
    size_t needed = 0;
    if (algorithm == CUDNN_ALGO_FFT && filter[2] == 1) /* what only a run tells */
        return CUDNN_NOT_SUPPORTED;
    if (cudnnGetConvolutionForwardWorkspaceSize(handle, x, w, convolution, y, algorithm, &needed) != 0 ||
        workspace_bytes < needed ||
        (numbers[MATH] != CUDNN_FMA && numbers[MATH] != CUDNN_TENSOR_OP && g_getenv("IFM_FAKE_TF32") == NULL) ||
        *(const float *)alpha != 1 || *(const float *)beta != 0)
        return 2000;
    pass((algorithm == setting("IFM_FAKE_BEST", CUDNN_ALGO_GEMM) ? 4 : 100 + algorithm) +
         (numbers[MATH] == CUDNN_FMA         ? 0
          : setting("IFM_FAKE_SLOW_TF32", 0) ? 1
                                             : -1));
    for (int at = 0; at < out[0] * out[1] * out[2] * out[3]; at++)
    {
        const int column = at % out[3], row = at / out[3] % out[2], k = at / out[3] / out[2] % out[1];
        const int image = at / out[3] / out[2] / out[1], first = k / (out[1] / numbers[GROUPS]) * filter[1];
        double total = 0;
        for (int tap = 0; tap < filter[1] * filter[2] * filter[3]; tap++)
        {
            const int c = tap / filter[3] / filter[2];
            const int from_y = row * numbers[STRIDE] - numbers[PAD] + tap / filter[3] % filter[2] * numbers[DILATION];
            const int from_x = column * numbers[STRIDE + 1] - numbers[PAD + 1] + tap % filter[3] * numbers[DILATION + 1];
            if (from_y >= 0 && from_y < in[2] && from_x >= 0 && from_x < in[3])
                total += (double)input[((image * in[1] + first + c) * in[2] + from_y) * in[3] + from_x] *
                         (double)weights[k * filter[1] * filter[2] * filter[3] + tap];
        }
        output[at] = (float)total;
    }
    return 0;
}

/* --- cuBLAS: products are not computed ----------------------------------------------------------------------------------
 */

const char *cublasGetStatusString(int status)
{
    return "CUBLAS_STATUS_EXECUTION_FAILED";
}

int cublasCreate_v2(void **handle)
{
    return create(handle);
}

/* The product number IFM_FAKE_FAILING fails; 0: none does. */
int cublasSgemm_v2(void *handle, int transposes_a, int transposes_b, int m, int n, int k, const float *alpha,
                   const float *a, int lda, const float *b, int ldb, const float *beta, float *c, int ldc)
{
    static int n_products;
    if (m != n || m != k || lda != m || ldb != m || ldc != m || *alpha != 1 || *beta != 0)
        return 7;
    if (++n_products == setting("IFM_FAKE_FAILING", 0))
        return 13;
    c[0] = a[0] * b[0];
    c[(size_t)m * (size_t)m - 1] = a[(size_t)m * (size_t)m - 1] * b[(size_t)m * (size_t)m - 1];
    pass(setting("IFM_FAKE_PIECE", 1));
    return 0;
}
