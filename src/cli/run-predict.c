/* What is predicted of a stream before it runs. */
#include <inferometer/json.h>

#include "run-set.h"

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
static gboolean predict_group(RunSet *set, const Arguments *arguments, RunJob *job, guint first, GError **error)
{
    g_autoptr(GArray) sizes = g_array_new(FALSE, FALSE, sizeof(IfmPlanSize)),
                      sources = g_array_new(FALSE, FALSE, sizeof(gint64));
    IfmSimulateOptions options = { .queue_depth = (int)cli_integer(arguments, "queue-depth"),
                                   .block_depth = (int)cli_integer(arguments, "block-depth") };
    for (guint i = first; i < job->graphs->len; i++)
        if (json_equal(job->documents->pdata[i], job->documents->pdata[first]))
        {
            const GArray *batches = job->batches->pdata[i], *of = job->sources->pdata[i];
            g_array_append_vals(sizes, batches->data, batches->len);
            g_array_append_vals(sources, of->data, of->len);
            options.n_batches += share_of(job, (gsize)cli_integer(arguments, "batches"), i);
        }
    IfmTrace *trace = NULL;
    if (options.n_batches == 0)
        return TRUE;
    options.sizes = (const IfmPlanSize *)(const void *)sizes->data;
    options.n_sizes = sizes->len;
    options.sources = (const gint64 *)(const void *)sources->data;
    json_t *part = plan_predict(set->ground.costs, job->plans->pdata[first], &options, &trace, error);
    if (part == NULL)
    {
        g_autofree char *name = run_set_name_of_plan(set, arguments, &g_array_index(job->sizes, IfmPlanSize, first));
        g_prefix_error(error, "%s: ", name);
        return FALSE;
    }
    g_ptr_array_add(job->simulated, trace);
    ifm_prediction_add(job->prediction, part);
    return TRUE;
}

/* A plan's file may bring the prediction along; it holds for the batches it was made for. */
static void take_given_prediction(const RunSet *set, const Arguments *arguments, RunJob *job)
{
    const json_t *entry = run_set_entry_for(set, &g_array_index(job->sizes, IfmPlanSize, 0), NULL);
    const json_t *prediction = json_is_object(entry) ? json_object_get(entry, "prediction") : NULL;
    const json_t *size = json_array_get(json_is_object(entry) ? json_object_get(entry, "sizes") : NULL, 0);
    if (json_is_object(prediction) &&
        json_integer_value(json_object_get(prediction, "n_batches")) == cli_integer(arguments, "batches") &&
        json_integer_value(json_array_get(size, 0)) == g_array_index(job->sizes, IfmPlanSize, 0).nodes &&
        json_integer_value(json_array_get(size, 1)) == g_array_index(job->sizes, IfmPlanSize, 0).edges)
        job->prediction = json_deep_copy(prediction);
}

gboolean run_set_predict(RunSet *set, const Arguments *arguments, RunJob *job, GError **error)
{
    if (set->ground.costs == NULL)
    {
        if (set->given != NULL && job->graphs->len == 1)
            take_given_prediction(set, arguments, job);
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
        if (earlier == i && !predict_group(set, arguments, job, i, error))
            return FALSE;
    }
    if (!g_str_equal(cli_text(arguments, "on-failure"), "replan"))
        return TRUE;
    IfmPlanQuestion question = run_set_question(set, job, 0);
    job->fallbacks = ifm_plan_fallbacks(set->ground.costs, job->plans->pdata[0], &question, error);
    return job->fallbacks != NULL;
}
