/* What a stressor does on a GPU while it is busy, and for how long by the GPU's own clock. */
#include <base/cuda.h>

#include "stress-private.h"

/* Products grow in steps until one takes this long, which is when their matrices fill the GPU. */
#define STEP_ORDER 512
#define MAX_ORDER 4096
#define FILLS_NS 5e5
/* A copy is between buffers as large as this, or so many times the last cache. */
#define COPY_BYTES ((gsize)256 << 20)
#define L2_TIMES 4
/* How long a piece is timed before it counts: the GPU's clock rises meanwhile. */
#define WARM_NS 1e7
#define MIN_WARM 3
#define MAX_WARM 1000
#define MAX_PIECES 256

struct StressGpu
{
    const IfmCudart *cudart;
    const IfmCublas *cublas; /* NULL: it copies */
    void *handle;            /* cublasHandle_t */
    void *began, *ended;     /* events */
    void *a, *b, *c;         /* a product: [MAX_ORDER][MAX_ORDER]; a copy: from a to b, of @bytes */
    int order;
    gsize bytes;
    double piece_ns;
};

static gboolean cublas_ok(const StressGpu *self, int status, const char *call, GError **error)
{
    return status == 0 || ifm_error_set(error, status == CUBLAS_ALLOCATION_FAILED ? IFM_ERROR_MEMORY : IFM_ERROR_FAILED,
                                        "cuBLAS: %s: %s (%d)", call, self->cublas->cublasGetStatusString(status), status);
}

static gboolean launch(const StressGpu *self, GError **error)
{
    const float one = 1, zero = 0;
    const int order = self->order, plain = CUBLAS_NOT_TRANSPOSED;
    if (self->cublas == NULL)
        return ifm_cuda_ok(self->cudart->cudaMemcpyAsync(self->b, self->a, self->bytes, CUDA_COPY_WITHIN_DEVICE, NULL),
                           "cudaMemcpyAsync", error);
    return cublas_ok(self,
                     self->cublas->cublasSgemm_v2(self->handle, plain, plain, order, order, order, &one, self->a, order,
                                                  self->b, order, &zero, self->c, order),
                     "cublasSgemm", error);
}

/* Several pieces at once leave the GPU no gap between them. */
gboolean stress_gpu_run(StressGpu *self, double want_ns, StressDone *done, GError **error)
{
    const IfmCudart *cudart = self->cudart;
    const int n = (int)CLAMP(want_ns / self->piece_ns + 0.5, 1, MAX_PIECES);
    const double order = self->order, work = self->cublas != NULL ? 2 * order * order * order : 2 * (double)self->bytes;
    float ms = 0;
    if (!ifm_cuda_ok(cudart->cudaEventRecord(self->began, NULL), "cudaEventRecord", error))
        return FALSE;
    for (int i = 0; i < n; i++)
        if (!launch(self, error))
            return FALSE;
    if (!ifm_cuda_ok(cudart->cudaEventRecord(self->ended, NULL), "cudaEventRecord", error) ||
        !ifm_cuda_ok(cudart->cudaEventSynchronize(self->ended), "cudaEventSynchronize", error) ||
        !ifm_cuda_ok(cudart->cudaEventElapsedTime(&ms, self->began, self->ended), "cudaEventElapsedTime", error))
        return FALSE;
    *done = (StressDone){ .busy_ns = (gint64)((double)ms * 1e6), .work = (gint64)(n * work) };
    self->piece_ns = MAX(0.75 * self->piece_ns + 0.25 * (double)ms * 1e6 / n, 1e3);
    return TRUE;
}

/* The fastest piece, the first aside, which also loads its kernel. */
static gboolean time_piece(StressGpu *self, GError **error)
{
    double best_ns = G_MAXDOUBLE, busy_ns = 0;
    for (int i = 0; i <= MIN_WARM || (busy_ns < WARM_NS && i <= MAX_WARM); i++)
    {
        StressDone done;
        self->piece_ns = G_MAXDOUBLE; /* one at a time */
        if (!stress_gpu_run(self, 0, &done, error))
            return FALSE;
        if (i == 0)
            continue;
        best_ns = MIN(best_ns, (double)done.busy_ns);
        busy_ns += (double)done.busy_ns;
    }
    self->piece_ns = MAX(best_ns, 1e3);
    return TRUE;
}

static gboolean allocate(const StressGpu *self, void **at, gsize bytes, const void *values, GError **error)
{
    const IfmCudart *cudart = self->cudart;
    return ifm_cuda_ok(cudart->cudaMalloc(at, bytes), "cudaMalloc", error) &&
           (values != NULL ? ifm_cuda_ok(cudart->cudaMemcpyAsync(*at, values, bytes, CUDA_COPY_TO_DEVICE, NULL),
                                         "cudaMemcpyAsync", error)
                           : ifm_cuda_ok(cudart->cudaMemset(*at, 0x5a, bytes), "cudaMemset", error));
}

/* Of random values: zeros would draw less power, and so run at another clock. */
static gboolean prepare_products(StressGpu *self, GError **error)
{
    const gsize n = (gsize)MAX_ORDER * MAX_ORDER, bytes = n * sizeof(float);
    g_autofree float *values = g_new(float, n);
    guint32 state = 2463534242U;
    for (gsize i = 0; i < n; i++)
    {
        state = state * 1664525U + 1013904223U;
        values[i] = (float)(state >> 8) / (float)(1 << 24) - 0.5F;
    }
    self->cublas = ifm_cublas(error);
    if (self->cublas == NULL || !cublas_ok(self, self->cublas->cublasCreate_v2(&self->handle), "cublasCreate", error) ||
        !allocate(self, &self->a, bytes, values, error) || !allocate(self, &self->b, bytes, values, error) ||
        !allocate(self, &self->c, bytes, NULL, error))
        return FALSE;
    while (self->order < MAX_ORDER && self->piece_ns < FILLS_NS)
    {
        self->order += STEP_ORDER;
        if (!time_piece(self, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean prepare_copies(StressGpu *self, int device, GError **error)
{
    int l2_bytes = 0;
    if (!ifm_cuda_ok(self->cudart->cudaDeviceGetAttribute(&l2_bytes, CUDA_ATTRIBUTE_L2_BYTES, device),
                     "cudaDeviceGetAttribute", error))
        return FALSE;
    self->bytes = MAX(COPY_BYTES, (gsize)MAX(l2_bytes, 0) * L2_TIMES);
    return allocate(self, &self->a, self->bytes, NULL, error) && allocate(self, &self->b, self->bytes, NULL, error) &&
           time_piece(self, error);
}

static gboolean find_gpu(const IfmCudart *cudart, int device, GError **error)
{
    int n = 0;
    const int status = cudart->cudaGetDeviceCount(&n);
    if (status != 0 || n <= 0)
        return ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "CUDA: there is no GPU: %s (%d)",
                             cudart->cudaGetErrorString(status), status);
    return device < n ||
           ifm_error_refuse(error, "there is no CUDA:%d: this machine has %d GPU%s", device, n, ifm_plural((gsize)n));
}

StressGpu *stress_gpu_new(IfmStressKind kind, int device, GError **error)
{
    const IfmCudart *cudart = ifm_cudart(error);
    if (cudart == NULL || !find_gpu(cudart, device, error) ||
        !ifm_cuda_ok(cudart->cudaSetDevice(device), "cudaSetDevice", error))
        return NULL;
    StressGpu *self = g_new0(StressGpu, 1);
    self->cudart = cudart;
    if (ifm_cuda_ok(cudart->cudaEventCreateWithFlags(&self->began, CUDA_EVENT_BLOCKING), "cudaEventCreateWithFlags",
                    error) &&
        ifm_cuda_ok(cudart->cudaEventCreateWithFlags(&self->ended, CUDA_EVENT_BLOCKING), "cudaEventCreateWithFlags",
                    error) &&
        (kind == IFM_STRESS_GEMM ? prepare_products(self, error) : prepare_copies(self, device, error)))
        return self;
    g_free(self); /* its process ends */
    return NULL;
}
