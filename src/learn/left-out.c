/* What kernels are predicted to take by those of other configurations. */
#include <math.h>

#include "learn-private.h"

/* @model: of the other folds */
static void leave_out(const LearnCases *cases, const int *folds, int fold, const IfmLatencyModel *model, GArray *all)
{
    for (guint i = 0; i < cases->cases->len; i++)
    {
        const LearnCase *one = learn_case(cases, i);
        IfmPredictedLatency predicted;
        if (folds[i] != fold || one->loaded)
            continue;
        ifm_latency_model_predict(model, &one->sample, NULL, &predicted);
        const IfmLearnLeftOut row = { one->sample.kernel_id, one->sample.op_type, one->sample.models != NULL,
                                      one->latency_ns, predicted.latency_ns };
        g_array_append_val(all, row);
    }
}

GArray *ifm_learn_left_out(const IfmKernelSamples *samples, const IfmLearnOptions *options, IfmLearnChoice may,
                           gpointer user, GError **error)
{
    g_auto(LearnCases) cases = { 0 };
    if (!learn_cases_init(&cases, samples, options, error) || !learn_cases_check(&cases, error))
        return NULL;
    IfmLatencyModel *models[IFM_LEARN_FOLDS];
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(IfmLearnLeftOut));
    g_autofree int *folds = learn_cases_folds(&cases, options->seed);
    g_autofree gboolean *use = g_new(gboolean, cases.cases->len + 1);
    for (guint i = 0; i < cases.cases->len; i++)
        use[i] = may == NULL || may(&learn_case(&cases, i)->sample, user);
    const gboolean good = learn_fit_folds(&cases, folds, use, options, models, error);
    for (int fold = 0; fold < IFM_LEARN_FOLDS; fold++)
    {
        if (good)
            leave_out(&cases, folds, fold, models[fold], all);
        ifm_latency_model_free(models[fold]);
    }
    return good ? g_steal_pointer(&all) : NULL;
}
