#include <string.h>

#include "read-private.h"

/* What the events of other programs are, by their categories and names. All others are IFM_EVENT_OTHER: work of a thread.
 */

static const struct
{
    const char *category;
    IfmEventKind kind;
} categories[] = {
    /* PyTorch's profiler (Kineto, also of ROCm), what a device's streams ran; older versions capitalise */
    { "kernel", IFM_EVENT_KERNEL },
    { "gpu_memcpy", IFM_EVENT_KERNEL },
    { "gpu_memset", IFM_EVENT_KERNEL },
    { "mtia_ccp_events", IFM_EVENT_KERNEL },
    { "Kernel", IFM_EVENT_KERNEL },
    { "Memcpy", IFM_EVENT_KERNEL },
    { "Memset", IFM_EVENT_KERNEL },
    { "gpu_kernel", IFM_EVENT_KERNEL }, /* converters of Nsight Systems' reports */
    { "cuda", IFM_EVENT_KERNEL },
    /* calls of a device's runtime */
    { "cuda_runtime", IFM_EVENT_LAUNCH },
    { "cuda_driver", IFM_EVENT_LAUNCH },
    { "hip_runtime", IFM_EVENT_LAUNCH },
    { "xpu_runtime", IFM_EVENT_LAUNCH },
    { "xpu_driver", IFM_EVENT_LAUNCH },
    { "mtia_runtime", IFM_EVENT_LAUNCH },
    { "privateuse1_runtime", IFM_EVENT_LAUNCH },
    { "privateuse1_driver", IFM_EVENT_LAUNCH },
    { "Runtime", IFM_EVENT_LAUNCH },
    { "cuda_api", IFM_EVENT_LAUNCH },
    /* no work: what a program or the profiler says of a time, and what streams wait for */
    { "user_annotation", IFM_EVENT_SPAN },
    { "gpu_user_annotation", IFM_EVENT_SPAN },
    { "python_function", IFM_EVENT_SPAN },
    { "Trace", IFM_EVENT_SPAN },
    { "overhead", IFM_EVENT_SPAN },
    { "cuda_sync", IFM_EVENT_SPAN },
    { "cuda_profiler_range", IFM_EVENT_SPAN },
    { "cpu_instant_event", IFM_EVENT_SPAN },
    { "external_correlation", IFM_EVENT_SPAN },
    { "nvtx", IFM_EVENT_SPAN },
    /* ONNX Runtime: a session's spans lie around its nodes */
    { "Session", IFM_EVENT_SPAN },
};

static const char *const span_names[] = { "ProfilerStep#", "PyTorch Profiler" };

/* ONNX Runtime: {"cat": "Node", "name": "conv1_kernel_time", "args": {"op_name": "Conv"}}; fences are no nodes. */
static gboolean is_fence(const IfmRawEvent *raw)
{
    return g_str_has_suffix(raw->name->str, "_fence_before") || g_str_has_suffix(raw->name->str, "_fence_after");
}

IfmEventKind ifm_raw_event_kind(const IfmRawEvent *raw)
{
    const char *category = raw->category->str;
    if (strchr("iIn", raw->phase) != NULL)
        return IFM_EVENT_SPAN;
    if (g_str_equal(category, "Node"))
        return is_fence(raw) ? IFM_EVENT_SPAN : raw->has_op ? IFM_EVENT_NODE : IFM_EVENT_OTHER;
    for (gsize i = 0; i < G_N_ELEMENTS(categories); i++)
        if (g_str_equal(categories[i].category, category))
            return categories[i].kind;
    for (gsize i = 0; i < G_N_ELEMENTS(span_names); i++)
        if (g_str_has_prefix(raw->name->str, span_names[i]))
            return IFM_EVENT_SPAN;
    return IFM_EVENT_OTHER;
}

gboolean ifm_raw_event_is_launch_flow(const IfmRawEvent *raw)
{
    static const char *const flows[] = { "ac2g", "async_cpu_to_gpu", "async_gpu", NULL };
    return raw->has_id && raw->has_ts && g_strv_contains(flows, raw->category->str);
}
