/* room: learn */
#pragma once
#include <inferometer/model-predict.h>

IFM_BEGIN_DECLS

/* Predictions against measurements: whole models and each of their kernels. */

/** IfmEvaluateOptions: @models: as of ifm_kernel_records_open(), NULL-terminated    @device: NULL: "onnxruntime:CPU@0"
 * @loads: "gemm:60%", "copy:other:30%", NULL-terminated, or NULL: idle alone    @kernels: also each distinct kernel
 * @interrupted: as of a runner    @measure: how a case is measured: ifm_campaign_ask(), with the campaign as its user,
 * keeps what it came to */
typedef struct
{
    const char *const *models;
    const char *device;
    int threads;
    const char *const *loads;
    gboolean kernels;
    IfmModelOptions open; /* how each model is opened */
    const gint *interrupted;
    IfmMeasureFunction measure;
    void *measure_user;
    void (*note)(const char *message, void *user); /* (nullable) */
    void *user;
} IfmEvaluateOptions;

/** IfmEvaluated: a model, or with @record a kernel of it (its first digest), @times: how often it is in the model. @load:
 * "idle", or as asked for. Times are medians when idle, means under load; measured_ns: NaN with @reason
 * @std_ns: of the measured runs    @asked, @achieved: share of the time of the load, NaN: idle    @same: on the same cores
 * @kernels_ns: of a whole model: of its kernels as measured each by itself, NaN: they were not
 * @unknown: operators that were not learnt from, @outside: what is outside of the training data, in words; NULL: nothing */
typedef struct
{
    char *model, *load, *reason, *unknown, *outside;
    const IfmKernelRecord *record; /* NULL: the whole model */
    gint64 times;
    double measured_ns, predicted_ns, low_ns, high_ns, std_ns, kernels_ns, asked, achieved;
    gboolean same;
} IfmEvaluated;

/** ifm_evaluated_why: (transfer full) Why a row has no latency, or is off by more than 10 % or outside of its interval, as
 * far as it can be shown: an operator or sizes that were not learnt, another load than asked for, the noise of the
 * measurement (a standard deviation of at least half of what it is off by), or that it is none of these. NULL: it is not.
 */
char *ifm_evaluated_why(const IfmEvaluated *row);

/** IfmEvaluation: @rows: IfmEvaluated*: whole models first    @records: IfmKernelRecords*, which rows borrow from
 * @warning: the latency model is of another machine or runtime; or NULL */
typedef struct
{
    GPtrArray *rows, *records;
    char *warning;
} IfmEvaluation;

/** ifm_evaluate: Returns: (transfer full) NULL with IFM_ERROR_USAGE (a load that is none), IFM_ERROR_INVALID (a model that
 * cannot be opened), IFM_ERROR_UNAVAILABLE (no such device), IFM_ERROR_CANCELLED. A case that fails is a row with its
 * reason. */
IfmEvaluation *ifm_evaluate(const IfmLatencyModel *model, const IfmEvaluateOptions *options, GError **error);
void ifm_evaluation_free(IfmEvaluation *evaluation);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmEvaluation, ifm_evaluation_free)

IFM_END_DECLS
