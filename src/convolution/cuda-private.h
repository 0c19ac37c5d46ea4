#pragma once
#include <base/cuda.h>
#include <math.h>

#include "convolution-private.h"

/* What of cuDNN 9 and of NVRTC is used, as base/cuda.h has the CUDA runtime. */

enum
{
    CUDA_TF32_CAPABILITY = 80,
    CUDNN_NOT_INITIALIZED = 1001,
    CUDNN_NOT_SUPPORTED = 3000, /* and what follows, up to 3999 */
    CUDNN_DEVICE_ALLOCATION_FAILED = 4004,
    CUDNN_FLOAT = 0,
    CUDNN_NCHW = 0,
    CUDNN_CROSS_CORRELATION_MODE = 1,
    CUDNN_DEFAULT_MATH = 0, /* of f32: TF32 where the GPU has it, from compute capability 8.0 on */
    CUDNN_TENSOR_OP = 1,    /* the same; with conversion to f16, which is never taken: 2 */
    CUDNN_FMA = 3,
    CUDNN_ALGO_IMPLICIT_GEMM = 0,
    CUDNN_ALGO_IMPLICIT_PRECOMP_GEMM = 1,
    CUDNN_ALGO_GEMM = 2,
    CUDNN_ALGO_FFT = 4,
    CUDNN_ALGO_FFT_TILING = 5,
    CUDNN_ALGO_WINOGRAD = 6,
    CUDNN_ALGO_WINOGRAD_NONFUSED = 7,
    CUDNN_N_ALGOS = 8,
};

/* CudnnPerformance: what cuDNN says of one algorithm for a layer. */
typedef struct
{
    int algorithm, status;
    float time_ms;
    size_t workspace_bytes;
    int determinism, math;
    int reserved[3];
} CudnnPerformance;

/* X(type of the result, name, parameters) */
#define CUDNN_SYMBOLS(X)                                                                                                   \
    X(size_t, cudnnGetVersion, (void))                                                                                     \
    X(const char *, cudnnGetErrorString, (int status))                                                                     \
    X(int, cudnnCreate, (void **handle))                                                                                   \
    X(int, cudnnDestroy, (void *handle))                                                                                   \
    X(int, cudnnSetStream, (void *handle, void *stream))                                                                   \
    X(int, cudnnCreateTensorDescriptor, (void **tensor))                                                                   \
    X(int, cudnnDestroyTensorDescriptor, (void *tensor))                                                                   \
    X(int, cudnnSetTensor4dDescriptor, (void *tensor, int layout, int type, int n, int c, int h, int w))                   \
    X(int, cudnnCreateFilterDescriptor, (void **filter))                                                                   \
    X(int, cudnnDestroyFilterDescriptor, (void *filter))                                                                   \
    X(int, cudnnSetFilter4dDescriptor, (void *filter, int type, int layout, int k, int c, int h, int w))                   \
    X(int, cudnnCreateConvolutionDescriptor, (void **convolution))                                                         \
    X(int, cudnnDestroyConvolutionDescriptor, (void *convolution))                                                         \
    X(int, cudnnSetConvolution2dDescriptor,                                                                                \
      (void *convolution, int pad_h, int pad_w, int stride_h, int stride_w, int dilation_h, int dilation_w, int mode,      \
       int type))                                                                                                          \
    X(int, cudnnSetConvolutionGroupCount, (void *convolution, int groups))                                                 \
    X(int, cudnnSetConvolutionMathType, (void *convolution, int math))                                                     \
    X(int, cudnnGetConvolutionForwardWorkspaceSize,                                                                        \
      (void *handle, void *x, void *w, void *convolution, void *y, int algorithm, size_t *bytes))                          \
    X(int, cudnnGetConvolutionForwardAlgorithm_v7,                                                                         \
      (void *handle, void *x, void *w, void *convolution, void *y, int n_wanted, int *n_found, CudnnPerformance *found))   \
    X(int, cudnnConvolutionForward,                                                                                        \
      (void *handle, const void *alpha, void *x, const void *x_data, void *w, const void *w_data, void *convolution,       \
       int algorithm, void *workspace, size_t workspace_bytes, const void *beta, void *y, void *y_data))
#define NVRTC_SYMBOLS(X)                                                                                                   \
    X(int, nvrtcVersion, (int *major, int *minor))                                                                         \
    X(const char *, nvrtcGetErrorString, (int status))                                                                     \
    X(int, nvrtcCreateProgram,                                                                                             \
      (void **program, const char *source, const char *name, int n_headers, const char *const *headers,                    \
       const char *const *names))                                                                                          \
    X(int, nvrtcDestroyProgram, (void **program))                                                                          \
    X(int, nvrtcCompileProgram, (void *program, int n_options, const char *const *options))                                \
    X(int, nvrtcGetProgramLogSize, (void *program, size_t *bytes))                                                         \
    X(int, nvrtcGetProgramLog, (void *program, char *log))                                                                 \
    X(int, nvrtcGetPTXSize, (void *program, size_t *bytes))                                                                \
    X(int, nvrtcGetPTX, (void *program, char *ptx))                                                                        \
    X(int, nvrtcGetCUBINSize, (void *program, size_t *bytes))                                                              \
    X(int, nvrtcGetCUBIN, (void *program, char *cubin))

/* ConvCudaApi: the tables of symbols. */
typedef struct
{
#define X(type, name, parameters) type(*name) parameters;
    CUDNN_SYMBOLS(X)
    NVRTC_SYMBOLS(X)
#undef X
    const IfmCudart *cudart;
    char *nvrtc_file, *cudnn_file;
} ConvCudaApi;

/* conv_cuda_api: opens the libraries at the first call. Returns: NULL with IFM_ERROR_UNAVAILABLE and how to get them. */
const ConvCudaApi *conv_cuda_api(GError **error);
/* conv_cuda_check_gpu: whether the CUDA runtime still has the GPU. @capability: 70 for 7.0 */
gboolean conv_cuda_check_gpu(int cuda_version, int capability, GError **error);
/* conv_cudnn_ok: as ifm_cuda_ok(). */
gboolean conv_cudnn_ok(const ConvCudaApi *api, int status, const char *call, GError **error);

struct IfmConvCuda
{
    const ConvCudaApi *api;
    int device, capability, n_multiprocessors, l2_bytes;
    gboolean allows_tf32; /* and the GPU has it */
    void *handle;         /* cudnnHandle_t */
    void *library;        /* cudaLibrary_t: the own kernels */
    void *direct, *finish;
    void *workspace; /* as large as the largest layer needs */
    gsize workspace_bytes;
};

/* ConvCudaShape: what the own kernels need to know of a layer; they have the same struct. Channels of input and output are
 * of one group where they are named so. */
typedef struct
{
    long long n_outputs;
    int channels, group_channels, in_rows, in_columns;
    int out_channels, group_out_channels, out_rows, out_columns;
    int kernel_rows, kernel_columns, stride_rows, stride_columns, dilation_rows, dilation_columns, pad_top, pad_left;
    int activation; /* IfmConvActivation */
    float alpha, beta;
} ConvCudaShape;

/* conv_cuda_compile: the own kernels through NVRTC. No GPU is needed.
 * @target: "sm_90": machine code; "compute_75": PTX */
GBytes *conv_cuda_compile(const ConvCudaApi *api, const char *target, GError **error);
/* conv_cuda_kernels_load: compiles them for the GPU and loads them. */
gboolean conv_cuda_kernels_load(IfmConvCuda *cuda, GError **error);
/* conv_cuda_direct: output = activation(convolution(input) + bias + sum). conv_cuda_finish: output = activation(output +
 * bias
 * + sum), for what cuDNN left there. */
gboolean conv_cuda_direct(const IfmConvCuda *cuda, void *stream, const ConvCudaShape *shape, const float *input,
                          const float *weights, const float *bias, const float *sum, float *output, GError **error);
gboolean conv_cuda_finish(const IfmConvCuda *cuda, void *stream, const ConvCudaShape *shape, const float *bias,
                          const float *sum, float *output, GError **error);
