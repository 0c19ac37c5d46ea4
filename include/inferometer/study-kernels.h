/* room: study */
#pragma once
#include <inferometer/learn.h>
#include <inferometer/study.h>

IFM_BEGIN_DECLS

/**
 * ifm_study_kernel_samples: What a study of kind "kernels-under-load" measured, a sample a case with a latency, in the
 * order of its cases. The times are those of one copy of the ring. Metrics are those of the windows before and during a
 * case. Returns: (transfer full) NULL with IFM_ERROR_INVALID for a study of another kind, IFM_ERROR_CORRUPT where a kernel
 * of the study is not in its store.
 */
IfmKernelSamples *ifm_study_kernel_samples(const IfmStudyTables *points, GError **error);

/** IfmOperatorRow: the samples of one operator without load. @n_kernels, @n_visits: how many; the latencies are those of
 * the kernels' medians over their visits    @spread: mean of |a / b - 1| over pairs of visits of a kernel: the noise floor;
 * NaN where each was visited once */
typedef struct
{
    const char *op_type; /* borrowed from the samples */
    gint64 n_kernels, n_visits;
    double min_ns, median_ns, max_ns, spread;
} IfmOperatorRow;
/** IfmLoadRow: the samples beside one load, against the same kernels without it in the same visit. @achieved: mean share
 * that the load reached before them    @slow_down, @slow_down_90: median and 90th percentile of the ratio of the means */
typedef struct
{
    int kind, cores; /* IfmLoadKind, IfmLoadCores */
    gint64 n;
    double level, achieved, slow_down, slow_down_90;
} IfmLoadRow;
/** ifm_kernel_operator_rows, ifm_kernel_load_rows: (transfer full) of these structs, the operators with most kernels first,
 * loads by kind, cores and level. */
GArray *ifm_kernel_operator_rows(const IfmKernelSamples *samples);
GArray *ifm_kernel_load_rows(const IfmKernelSamples *samples);

/** IfmModelVerdict: a held-out model under one load, predicted from what was learnt of other models' kernels, against what
 * was measured: medians without load, means under it. @name, @records: borrowed from the outcome
 * @known_ratio: IfmModelPrediction has it    @node_overhead_ns: that it was predicted with: of the other held-out models */
typedef struct
{
    const char *name;
    int kind, cores; /* IfmLoadKind, IfmLoadCores */
    gint64 threads;
    double level, measured_ns, predicted_ns, low_ns, high_ns, known_ratio, node_overhead_ns;
} IfmModelVerdict;

/** IfmKernelsOutcome: what a study of kernels comes to. @samples: those of its kernels    @model: what is learnt from all
 * of them; NULL where nothing can be, and @why    @verdicts: IfmModelVerdict, models in the order of the study
 * @mape: mean of |predicted / measured - 1| without load; NaN without held-out models    @mape_loaded: under load */
typedef struct
{
    IfmKernelSamples *samples;
    IfmLatencyModel *model;
    char *why;
    GPtrArray *records; /* IfmKernelRecords* of the held-out models */
    GArray *verdicts;
    double mape, mape_loaded;
} IfmKernelsOutcome;
/** ifm_study_kernels_outcome: trains and predicts; the same points give the same. Returns: (transfer full) NULL as
 * ifm_study_kernel_samples(). */
IfmKernelsOutcome *ifm_study_kernels_outcome(const IfmStudyTables *points, GError **error);
void ifm_kernels_outcome_free(IfmKernelsOutcome *outcome);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmKernelsOutcome, ifm_kernels_outcome_free)

IFM_END_DECLS
