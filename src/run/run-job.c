/* A stream of batches: what is known of it and what became of it. */
#include "run-private.h"

void run_job_free(RunJob *job)
{
    g_free(job->title);
    g_array_unref(job->graphs);
    g_array_unref(job->sizes);
    g_ptr_array_unref(job->batches);
    g_ptr_array_unref(job->sources);
    g_ptr_array_unref(job->plans);
    g_ptr_array_unref(job->documents);
    g_string_free(job->origins, TRUE);
    g_clear_pointer(&job->prediction, json_decref);
    g_clear_pointer(&job->fallbacks, json_decref);
    g_ptr_array_unref(job->simulated);
    g_clear_pointer(&job->sealed, ifm_case_free);
    g_clear_pointer(&job->measurement, ifm_measurement_free);
    g_clear_pointer(&job->recorded, g_ptr_array_unref);
    g_clear_pointer(&job->analysis, ifm_trace_analysis_free);
    g_clear_error(&job->error);
    g_free(job);
}

RunJob *run_job_new(IfmRunSet *set, char *title)
{
    RunJob *job = g_new0(RunJob, 1);
    job->set = set;
    job->title = title;
    job->graphs = g_array_new(FALSE, TRUE, sizeof(IfmPlanGraph));
    job->sizes = g_array_new(FALSE, FALSE, sizeof(IfmPlanSize));
    job->batches = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    job->sources = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    job->plans = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_plan_free);
    job->documents = g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
    job->origins = g_string_new(NULL);
    job->simulated = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_trace_free);
    return job;
}

/* What it failed with; NULL where it did not, or was not tried. */
static const char *code_of(const RunJob *job)
{
    if (job->measurement != NULL)
        return job->measurement->outcome == IFM_OUTCOME_OK ? NULL : job->measurement->error_code;
    return job->error != NULL ? ifm_error_code_name(job->error->code) : NULL;
}

const IfmPlanSize *run_job_size(const RunJob *job, guint graph)
{
    return &g_array_index(job->sizes, IfmPlanSize, graph);
}

IfmSimulateOptions run_job_stream(const RunJob *job, guint graph)
{
    const IfmRunOptions *options = &job->set->options;
    const GArray *batches = job->batches->pdata[graph], *sources = job->sources->pdata[graph];
    return (IfmSimulateOptions){ .n_batches = (gsize)options->batches,
                                 .sizes = (const IfmPlanSize *)(const void *)batches->data,
                                 .n_sizes = batches->len,
                                 .queue_depth = (int)options->queue_depth,
                                 .block_depth = (int)options->block_depth,
                                 .sources = (const gint64 *)(const void *)sources->data };
}

static IfmRunReport report_of(const RunJob *job)
{
    return (IfmRunReport){
        .title = job->title,
        .plan = job->plans->len == 1 ? job->plans->pdata[0] : NULL,
        .origin = job->origins->len > 0 ? job->origins->str : NULL,
        .prediction = job->prediction,
        .subject_case = job->sealed,
        .measurement = job->measurement,
        .trace = job->recorded != NULL ? job->recorded->pdata[0] : NULL,
        .analysis = job->analysis,
        .code = code_of(job),
        .reason = job->error != NULL ? job->error->message : NULL,
        .simulated = job->simulated,
        .recorded = job->recorded,
    };
}

void run_set_list_runs(IfmRunSet *set)
{
    g_array_set_size(set->runs, set->jobs->len);
    for (guint i = 0; i < set->jobs->len; i++)
        g_array_index(set->runs, IfmRunReport, i) = report_of(set->jobs->pdata[i]);
}
