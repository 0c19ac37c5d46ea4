/* What kernels are predicted to take by those of other configurations. */
#include <math.h>

#include "learn-private.h"

/* @use: (out) [cases] which are learnt from while a fold is left out */
static void choose(const LearnCases *cases, const int *folds, int fold, IfmLearnChoice may, gpointer user, gboolean *use)
{
    for (guint i = 0; i < cases->cases->len; i++)
        use[i] = folds[i] != fold && (may == NULL || may(&learn_case(cases, i)->sample, user));
}

static gboolean leave_out(const LearnCases *cases, const int *folds, int fold, const gboolean *use,
                          const IfmLearnOptions *options, GArray *all, GError **error)
{
    g_autoptr(IfmLatencyModel) model = learn_fit(cases, use, options, FALSE, TRUE, error);
    if (model == NULL)
        return FALSE;
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
    return TRUE;
}

GArray *ifm_learn_left_out(const IfmKernelSamples *samples, const IfmLearnOptions *options, IfmLearnChoice may,
                           gpointer user, GError **error)
{
    g_auto(LearnCases) cases = { 0 };
    if (!learn_cases_init(&cases, samples, options, error) || !learn_cases_check(&cases, error))
        return NULL;
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(IfmLearnLeftOut));
    g_autofree int *folds = learn_cases_folds(&cases, options->seed);
    g_autofree gboolean *use = g_new(gboolean, cases.cases->len + 1);
    for (int fold = 0; fold < IFM_LEARN_FOLDS; fold++)
    {
        choose(&cases, folds, fold, may, user, use);
        if (!leave_out(&cases, folds, fold, use, options, all, error))
            return NULL;
    }
    return g_steal_pointer(&all);
}
