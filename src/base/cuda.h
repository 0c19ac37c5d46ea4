/* Shared with other rooms: the CUDA runtime and cuBLAS, opened at run time. Their headers are not needed to build: the
 * values and types below are those of their binary interfaces, and a test compares them with the headers where these are
 * installed. */
#pragma once
#include <base/base.h>

G_BEGIN_DECLS

enum
{
    CUDA_OUT_OF_MEMORY = 2,
    CUDA_NO_DEVICE = 100,
    CUDA_COPY_TO_DEVICE = 1,
    CUDA_COPY_WITHIN_DEVICE = 3,
    CUDA_EVENT_BLOCKING = 1, /* who waits for it sleeps */
    CUDA_ATTRIBUTE_MULTIPROCESSORS = 16,
    CUDA_ATTRIBUTE_L2_BYTES = 38,
    CUDA_ATTRIBUTE_MAJOR = 75,
    CUDA_ATTRIBUTE_MINOR = 76,
    CUBLAS_NOT_TRANSPOSED = 0,
    CUBLAS_ALLOCATION_FAILED = 3,
};

typedef struct
{
    unsigned x, y, z;
} CudaDim;

/* X(type of the result, name, parameters) */
#define CUDART_SYMBOLS(X)                                                                                                  \
    X(int, cudaRuntimeGetVersion, (int *version))                                                                          \
    X(int, cudaGetDeviceCount, (int *n))                                                                                   \
    X(int, cudaSetDevice, (int device))                                                                                    \
    X(int, cudaDeviceGetAttribute, (int *value, int attribute, int device))                                                \
    X(const char *, cudaGetErrorString, (int status))                                                                      \
    X(int, cudaGetLastError, (void))                                                                                       \
    X(int, cudaMalloc, (void **at, size_t bytes))                                                                          \
    X(int, cudaFree, (void *at))                                                                                           \
    X(int, cudaMemset, (void *at, int value, size_t bytes))                                                                \
    X(int, cudaMemcpyAsync, (void *to, const void *from, size_t bytes, int kind, void *stream))                            \
    X(int, cudaEventCreate, (void **event))                                                                                \
    X(int, cudaEventCreateWithFlags, (void **event, unsigned flags))                                                       \
    X(int, cudaEventDestroy, (void *event))                                                                                \
    X(int, cudaEventRecord, (void *event, void *stream))                                                                   \
    X(int, cudaEventSynchronize, (void *event))                                                                            \
    X(int, cudaEventElapsedTime, (float *ms, void *began, void *ended))                                                    \
    X(int, cudaLibraryLoadData,                                                                                            \
      (void **library, const void *code, int *jit_options, void **jit_values, unsigned n_jit, int *options, void **values, \
       unsigned n_options))                                                                                                \
    X(int, cudaLibraryUnload, (void *library))                                                                             \
    X(int, cudaLibraryGetKernel, (void **kernel, void *library, const char *name))                                         \
    X(int, cudaLaunchKernel,                                                                                               \
      (const void *kernel, CudaDim grid, CudaDim block, void **arguments, size_t shared_bytes, void *stream))
#define CUBLAS_SYMBOLS(X)                                                                                                  \
    X(const char *, cublasGetStatusString, (int status))                                                                   \
    X(int, cublasCreate_v2, (void **handle))                                                                               \
    X(int, cublasSgemm_v2,                                                                                                 \
      (void *handle, int transposes_a, int transposes_b, int m, int n, int k, const float *alpha, const float *a, int lda, \
       const float *b, int ldb, const float *beta, float *c, int ldc))

/* IfmCudart: the table of symbols.    @version: 13050    @file: "libcudart.so.13" */
typedef struct
{
#define X(type, name, parameters) type(*name) parameters;
    CUDART_SYMBOLS(X)
#undef X
    int version;
    const char *file;
} IfmCudart;

/* IfmCublas: the table of symbols. */
typedef struct
{
#define X(type, name, parameters) type(*name) parameters;
    CUBLAS_SYMBOLS(X)
#undef X
} IfmCublas;

/* IfmCudaSymbol: where a table has it. Lists end with a NULL. */
typedef struct
{
    const char *name;
    gsize offset;
} IfmCudaSymbol;

/* ifm_cuda_fill: Opens a library of a CUDA release and reads its symbols. Looked for with cuDNN's file, which another
 * library may have open already, and where the loader finds it. @file: "libnvrtc.so.13", or a path
 * Returns: FALSE with IFM_ERROR_UNAVAILABLE and how to get it. */
gboolean ifm_cuda_fill(void *table, const char *file, const IfmCudaSymbol *symbols, GError **error);

/* ifm_cudart: The CUDA runtime, 13 or else 12, opened at the first call. ifm_cublas: the cuBLAS of its release.
 * Returns: NULL with IFM_ERROR_UNAVAILABLE and how to get it. */
const IfmCudart *ifm_cudart(GError **error);
const IfmCublas *ifm_cublas(GError **error);

/* ifm_cuda_ok: @call: the function of the CUDA runtime that returned @status    FALSE with one line and our code. */
gboolean ifm_cuda_ok(int status, const char *call, GError **error);

G_END_DECLS
