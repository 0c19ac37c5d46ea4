/* What a study of kernels comes to: a model of latency, and how it does on models that it never saw. */
#include <math.h>
#include <string.h>

#include <base/fields.h>
#include <learn/learn.h>

#include "kind-kernels.h"

/* Whole: a held-out model as it was measured under one load, over its visits. @model: index into the records    @is:
 * measured_ns: first their sum, then their mean */
typedef struct
{
    gsize model, n;
    IfmModelVerdict is;
} Whole;

/* --- what was measured --------------------------------------------------------------------------------------------------
 */

static gboolean read_held_out(const IfmStudyTables *points, IfmKernelsOutcome *outcome, GError **error)
{
    const json_t *list = ifm_member(points->definition, "held_out");
    for (gsize i = 0; i < json_array_size(list); i++)
    {
        IfmKernelRecords *records =
            ifm_kernel_records_from_json(json_object_get(json_array_get(list, i), "records"), "held_out[]", error);
        if (records == NULL)
            return FALSE;
        g_ptr_array_add(outcome->records, records);
    }
    return TRUE;
}

static gint compare_whole(gconstpointer a, gconstpointer b)
{
    const Whole *x = a, *y = b;
    if (x->model != y->model)
        return (x->model > y->model) - (x->model < y->model);
    if (x->is.threads != y->is.threads)
        return (x->is.threads > y->is.threads) - (x->is.threads < y->is.threads);
    if (x->is.kind != y->is.kind || x->is.cores != y->is.cores)
        return x->is.kind != y->is.kind ? x->is.kind - y->is.kind : x->is.cores - y->is.cores;
    return (x->is.level > y->is.level) - (x->is.level < y->is.level);
}

/* Visits of one model with one number of threads under one load are taken together. */
static GArray *list_whole(const IfmStudyTables *points)
{
    GArray *all = g_array_new(FALSE, FALSE, sizeof(Whole));
    for (guint i = 0; i < points->rows->len; i++)
    {
        const IfmStudyRow *point = points->rows->pdata[i];
        const gssize model = study_find_held_out(points, ifm_member_text(point->axes, "kernel"));
        if (model < 0 || point->reason != NULL)
            continue;
        const Whole one = { .model = (gsize)model,
                            .is = { .kind = study_load_kind_of(point),
                                    .cores = study_load_cores_of(point),
                                    .threads = study_threads_of(point),
                                    .level = (double)json_integer_value(json_object_get(point->axes, "level")) / 100 } };
        Whole *found = NULL;
        for (guint k = 0; k < all->len && found == NULL; k++)
            if (compare_whole(&one, &g_array_index(all, Whole, k)) == 0)
                found = &g_array_index(all, Whole, k);
        if (found == NULL)
        {
            g_array_append_val(all, one);
            found = &g_array_index(all, Whole, all->len - 1);
        }
        found->is.measured_ns += one.is.kind == IFM_LOAD_NONE ? point->median_ns : point->mean_ns;
        found->n++;
    }
    for (guint i = 0; i < all->len; i++)
        g_array_index(all, Whole, i).is.measured_ns /= (double)g_array_index(all, Whole, i).n;
    g_array_sort(all, compare_whole);
    return all;
}

/* --- predictions --------------------------------------------------------------------------------------------------------
 */

/* By all held-out models but one. */
static double overhead_without(const IfmKernelsOutcome *outcome, const GArray *whole, gssize without)
{
    g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(IfmWholeTime));
    for (guint i = 0; i < whole->len; i++)
    {
        const Whole *one = &g_array_index(whole, Whole, i);
        if (one->is.kind != IFM_LOAD_NONE || (gssize)one->model == without)
            continue;
        const IfmKernelRecords *records = outcome->records->pdata[one->model];
        g_autoptr(IfmModelPrediction) prediction = ifm_model_predict(outcome->model, records, (int)one->is.threads, NULL);
        const IfmWholeTime time = { one->is.measured_ns, prediction->latency_ns - prediction->overhead_ns,
                                    records->kernels->len };
        g_array_append_val(all, time);
    }
    return ifm_node_overhead((const IfmWholeTime *)(const void *)all->data, all->len);
}

static void add_verdict(IfmKernelsOutcome *outcome, const GArray *whole, const Whole *one)
{
    const IfmKernelRecords *records = outcome->records->pdata[one->model];
    IfmModelVerdict verdict = one->is;
    const IfmLoadState load = { .same = verdict.cores == IFM_LOAD_CORES_SAME ? verdict.level : 0,
                                .other = verdict.cores == IFM_LOAD_CORES_OTHER ? verdict.level : 0,
                                .idle_ns = (double)NAN,
                                .kind = verdict.kind };
    verdict.node_overhead_ns = overhead_without(outcome, whole, (gssize)one->model);
    ifm_latency_model_set_overhead(outcome->model, verdict.node_overhead_ns);
    g_autoptr(IfmModelPrediction) prediction = ifm_model_predict(outcome->model, records, (int)verdict.threads, &load);
    verdict.name = records->model;
    verdict.predicted_ns = prediction->latency_ns;
    verdict.low_ns = prediction->low_ns;
    verdict.high_ns = prediction->high_ns;
    verdict.known_ratio = prediction->known_ratio;
    g_array_append_val(outcome->verdicts, verdict);
}

static double mape_of(const GArray *verdicts, gboolean loaded)
{
    double sum = 0;
    gsize n = 0;
    for (guint i = 0; i < verdicts->len; i++)
    {
        const IfmModelVerdict *verdict = &g_array_index(verdicts, IfmModelVerdict, i);
        if ((verdict->kind != IFM_LOAD_NONE) != loaded)
            continue;
        sum += fabs(verdict->predicted_ns / verdict->measured_ns - 1);
        n++;
    }
    return n > 0 ? sum / (double)n : (double)NAN;
}

static void learn(IfmKernelsOutcome *outcome, const IfmStudyTables *points)
{
    g_autoptr(GError) trouble = NULL;
    const IfmLearnOptions options = { .seed = 1, .threads = 1, .data = points->name };
    outcome->model = ifm_learn_train(outcome->samples, &options, &trouble);
    if (outcome->model == NULL)
    {
        outcome->why = g_strdup(trouble->message);
        return;
    }
    outcome->warning = ifm_latency_model_warning(outcome->model, NULL, NULL);
    g_autoptr(GArray) whole = list_whole(points);
    for (guint i = 0; i < whole->len; i++)
        add_verdict(outcome, whole, &g_array_index(whole, Whole, i));
    ifm_latency_model_set_overhead(outcome->model, overhead_without(outcome, whole, -1));
}

IfmKernelsOutcome *ifm_study_kernels_outcome(const IfmStudyTables *points, GError **error)
{
    g_autoptr(IfmKernelsOutcome) outcome = g_new0(IfmKernelsOutcome, 1);
    outcome->records = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_kernel_records_free);
    outcome->verdicts = g_array_new(FALSE, FALSE, sizeof(IfmModelVerdict));
    outcome->samples = ifm_study_kernel_samples(points, error);
    if (outcome->samples == NULL || !read_held_out(points, outcome, error))
        return NULL;
    learn(outcome, points);
    outcome->mape = mape_of(outcome->verdicts, FALSE);
    outcome->mape_loaded = mape_of(outcome->verdicts, TRUE);
    return g_steal_pointer(&outcome);
}

void ifm_kernels_outcome_free(IfmKernelsOutcome *outcome)
{
    if (outcome == NULL)
        return;
    ifm_kernel_samples_free(outcome->samples);
    ifm_latency_model_free(outcome->model);
    g_free(outcome->why);
    g_free(outcome->warning);
    if (outcome->records != NULL)
        g_ptr_array_unref(outcome->records);
    if (outcome->verdicts != NULL)
        g_array_unref(outcome->verdicts);
    g_free(outcome);
}
