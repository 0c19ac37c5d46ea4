/* Times of what lies between two places of a stream, by CUDA's events: of layers of ours, and of the runtime's own. */
#include "cuda-private.h"
#include <base/base.h>

/* Events: of one run. */
typedef struct
{
    void *began, *ended;
} Events;

struct IfmConvCudaMarks
{
    const ConvCudaApi *api;
    GArray *runs; /* Events */
    void *began;  /* of a run that has no end yet; NULL */
};

static void destroy(const IfmConvCudaMarks *self, void *event)
{
    if (event != NULL)
        self->api->cudart->cudaEventDestroy(event);
}

IfmConvCudaMarks *ifm_conv_cuda_marks_new(const IfmConvCuda *cuda)
{
    IfmConvCudaMarks *self = g_new0(IfmConvCudaMarks, 1);
    self->api = cuda->api;
    self->runs = g_array_new(FALSE, FALSE, sizeof(Events));
    return self;
}

static void forget(IfmConvCudaMarks *self)
{
    for (guint i = 0; i < self->runs->len; i++)
    {
        destroy(self, g_array_index(self->runs, Events, i).began);
        destroy(self, g_array_index(self->runs, Events, i).ended);
    }
    g_array_set_size(self->runs, 0);
}

void ifm_conv_cuda_marks_free(IfmConvCudaMarks *self)
{
    if (self == NULL)
        return;
    forget(self);
    destroy(self, self->began);
    g_array_unref(self->runs);
    g_free(self);
}

static gboolean record(const IfmConvCudaMarks *self, void **event, void *stream, GError **error)
{
    return ifm_cuda_ok(self->api->cudart->cudaEventCreate(event), "cudaEventCreate", error) &&
           ifm_cuda_ok(self->api->cudart->cudaEventRecord(*event, stream), "cudaEventRecord", error);
}

static gboolean copy(const IfmConvCudaMarks *self, void *stream, const void *from, void *to, gsize bytes, GError **error)
{
    return to == NULL || bytes == 0 || to == from ||
           ifm_cuda_ok(self->api->cudart->cudaMemcpyAsync(to, from, bytes, CUDA_COPY_WITHIN_DEVICE, stream),
                       "cudaMemcpyAsync", error);
}

gboolean ifm_conv_cuda_marks_begin(IfmConvCudaMarks *self, void *stream, const void *from, void *to, gsize bytes,
                                   GError **error)
{
    destroy(self, g_steal_pointer(&self->began)); /* a run that failed before its end */
    return copy(self, stream, from, to, bytes, error) && record(self, &self->began, stream, error);
}

gboolean ifm_conv_cuda_marks_end(IfmConvCudaMarks *self, void *stream, const void *from, void *to, gsize bytes,
                                 GError **error)
{
    Events events = { g_steal_pointer(&self->began), NULL };
    const gboolean good = record(self, &events.ended, stream, error) && copy(self, stream, from, to, bytes, error);
    g_array_append_val(self->runs, events);
    return good;
}

GArray *ifm_conv_cuda_marks_times(IfmConvCudaMarks *self, GError **error)
{
    const ConvCudaApi *api = self->api;
    g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(double));
    gboolean good = TRUE;
    for (guint i = 0; good && i < self->runs->len; i++)
    {
        const Events *events = &g_array_index(self->runs, Events, i);
        float ms = 0;
        good = ifm_cuda_ok(api->cudart->cudaEventSynchronize(events->ended), "cudaEventSynchronize", error) &&
               ifm_cuda_ok(api->cudart->cudaEventElapsedTime(&ms, events->began, events->ended), "cudaEventElapsedTime",
                           error);
        const double time_ms = (double)ms;
        g_array_append_val(times, time_ms);
    }
    forget(self);
    return good ? g_steal_pointer(&times) : NULL;
}
