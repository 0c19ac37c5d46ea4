/* What is predicted of a stream before it runs. */
#include <measure/measure.h>
#include <plan/plan.h>
#include <run/run.h>

#include "run-private.h"

/* How many of a stream's batches are graph @index's: they come in turn, a graph's parts one after the other. */
static gsize share_of(const RunJob *job, gsize n_batches, guint index)
{
    gsize before = 0, all = 0, own = ((const GArray *)job->batches->pdata[index])->len;
    for (guint i = 0; i < job->batches->len; i++)
    {
        before += i < index ? ((const GArray *)job->batches->pdata[i])->len : 0;
        all += ((const GArray *)job->batches->pdata[i])->len;
    }
    if (all == 0)
        return 0;
    gsize rest = n_batches % all;
    return n_batches / all * own + (rest > before ? MIN(rest - before, own) : 0);
}

/* One group: the graphs with the plan of graph @first. */
static gboolean predict_group(RunJob *job, guint first, GError **error)
{
    const IfmRunSet *set = job->set;
    g_autoptr(GArray) sizes = g_array_new(FALSE, FALSE, sizeof(IfmPlanSize)),
                      sources = g_array_new(FALSE, FALSE, sizeof(gint64));
    IfmSimulateOptions options = run_job_stream(job, first);
    options.n_batches = 0;
    for (guint i = first; i < job->graphs->len; i++)
        if (json_equal(job->documents->pdata[i], job->documents->pdata[first]))
        {
            const GArray *batches = job->batches->pdata[i], *of = job->sources->pdata[i];
            g_array_append_vals(sizes, batches->data, batches->len);
            g_array_append_vals(sources, of->data, of->len);
            options.n_batches += share_of(job, (gsize)set->options.batches, i);
        }
    IfmTrace *trace = NULL;
    if (options.n_batches == 0)
        return TRUE;
    options.sizes = (const IfmPlanSize *)(const void *)sizes->data;
    options.n_sizes = sizes->len;
    options.sources = (const gint64 *)(const void *)sources->data;
    json_t *part = ifm_plan_predict(set->context.costs, job->plans->pdata[first], &options, &trace, error);
    if (part == NULL)
    {
        g_autofree char *name = run_job_name_of_plan(job, first);
        g_prefix_error(error, "%s: ", name);
        return FALSE;
    }
    ifm_plan_name_stream(trace, job->title);
    g_ptr_array_add(job->simulated, trace);
    ifm_prediction_add(job->prediction, part);
    return TRUE;
}

/* A plan's file may bring the prediction along; it holds for the batches it was made for. */
static void take_given_prediction(RunJob *job)
{
    const IfmPlanSize *size = run_job_size(job, 0);
    const json_t *entry = run_set_entry_for(job->set, size, NULL), *prediction = json_object_get(entry, "prediction");
    const IfmPlanSize of = run_plan_file_size(entry, 0);
    if (json_is_object(prediction) &&
        json_integer_value(json_object_get(prediction, "n_batches")) == job->set->options.batches &&
        of.nodes == size->nodes && of.edges == size->edges)
        job->prediction = json_deep_copy(prediction);
}

gboolean run_job_predict(RunJob *job, GError **error)
{
    const IfmRunSet *set = job->set;
    if (set->context.costs == NULL)
    {
        if (set->given != NULL && job->graphs->len == 1)
            take_given_prediction(job);
        return TRUE;
    }
    g_clear_pointer(&job->prediction, json_decref);
    g_clear_pointer(&job->fallbacks, json_decref);
    g_ptr_array_set_size(job->simulated, 0);
    job->prediction = json_object();
    for (guint i = 0; i < job->graphs->len; i++)
    {
        guint earlier = 0;
        while (earlier < i && !json_equal(job->documents->pdata[earlier], job->documents->pdata[i]))
            earlier++;
        if (earlier == i && !predict_group(job, i, error))
            return FALSE;
    }
    if (set->options.on_failure != IFM_RUN_REPLAN)
        return TRUE;
    IfmPlanQuestion question = run_job_question(job, 0);
    job->fallbacks = ifm_plan_fallbacks(set->context.costs, job->plans->pdata[0], &question, error);
    return job->fallbacks != NULL;
}

gboolean run_job_take_plan(RunJob *job, IfmPlan *plan, GError **error)
{
    g_ptr_array_set_size(job->plans, 0);
    g_ptr_array_set_size(job->documents, 0);
    return run_job_add_plan(job, 0, plan, error) && run_job_predict(job, error);
}

/* --- unavailable devices -----------------------------------------------------------------------------------------------
 */

/* Leaves the unavailable devices of a plan out of what is planned with. Returns: whether there was one. */
static gboolean drop_missing(RunJob *job, const IfmPlan *plan, IfmRunner *runner)
{
    IfmRunSet *set = job->set;
    guint32 before = set->context.question.without;
    for (guint i = 0; i < plan->devices->len; i++)
    {
        const IfmPlanDevice *device = plan->devices->pdata[i];
        int at = ifm_costs_find_device(set->context.costs, device->alias);
        g_autoptr(GError) why = NULL;
        if (at < 0 || !run_plan_uses(plan, (int)i) || ifm_runner_find_device(runner, device->device, NULL, &why) ||
            (why->code != IFM_ERROR_UNAVAILABLE && why->code != IFM_ERROR_LOST))
            continue;
        set->context.question.without |= 1u << at;
        g_string_append_printf(job->origins, "%swithout %s: %s", job->origins->len > 0 ? "; " : "", device->alias,
                               why->message);
    }
    return set->context.question.without != before;
}

gboolean run_job_replan_missing(RunJob *job, IfmRunner *runner, GError **error)
{
    const IfmRunSet *set = job->set;
    if (set->options.on_failure != IFM_RUN_REPLAN || set->context.costs == NULL || job->graphs->len != 1)
        return TRUE;
    while (drop_missing(job, job->plans->pdata[0], runner))
    {
        g_auto(IfmPlanAnswer) answer = { 0 };
        IfmPlanQuestion question = run_job_question(job, 0);
        if (!ifm_plan_search(set->context.costs, &question, &answer, NULL))
            return TRUE; /* no other plan: the run itself has the reason */
        if (!run_job_take_plan(job, g_steal_pointer(&answer.plan), error))
            return FALSE;
    }
    return TRUE;
}
