/* room: learn */
#pragma once
#include <inferometer/kernel-records.h>
#include <inferometer/learn.h>

IFM_BEGIN_DECLS

/* The latency of a whole model from its kernels. */

/** IfmPredictedKernel: @record: borrowed    @moves: it only gives data another shape, and costs a node's overhead alone */
typedef struct
{
    const IfmKernelRecord *record;
    IfmPredictedLatency predicted;
    gboolean moves;
} IfmPredictedKernel;

/**
 * IfmModelPrediction: of one inference.
 * Equals: latency_ns = sum over kernels + overhead_ns; overhead_ns = n_kernels * node overhead / (1 - min(load, 1/2)) of
 * the load on the same cores, as it is work of the processor; critical_ns: over the longest path of kernels that
 * wait for each other: a lower bound, which a runtime that runs one kernel at a time does not reach.
 * @low_ns, @high_ns: kernels of one operator are taken to be wrong together, different operators independently
 * @known_ratio: share of the time that is of operators and ranges which the model learnt    @n_unknown: kernels that are
 * not
 * @kernels: IfmPredictedKernel, in the order of the records
 */
typedef struct
{
    GArray *kernels;
    double latency_ns, low_ns, high_ns, overhead_ns, critical_ns, known_ratio;
    gsize n_unknown;
} IfmModelPrediction;

/** ifm_model_predict: @threads: of the runtime    @load: NULL: idle    Returns: (transfer full) borrows from @records */
IfmModelPrediction *ifm_model_predict(const IfmLatencyModel *model, const IfmKernelRecords *records, int threads,
                                      const IfmLoadState *load);
void ifm_model_prediction_free(IfmModelPrediction *prediction);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmModelPrediction, ifm_model_prediction_free)

/** ifm_load_state_parse: "0.6" or "60%": of the kernel's own cores; "other:60%": of others; both with a comma between;
 * "idle". Returns: FALSE with IFM_ERROR_INVALID. @metrics of the state is NULL. */
gboolean ifm_load_state_parse(const char *text, IfmLoadState *load, GError **error);
/** ifm_load_state_live: What the machine does now, over a window of @window_ns. @cores: of the device that the model is to
 * run on, NULL or empty: all */
void ifm_load_state_live(const int *cores, gsize n_cores, gint64 window_ns, IfmLoadState *load);

IFM_END_DECLS
