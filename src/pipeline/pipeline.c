/* The pipeline for its callers: made from a plan, run, and continued with another plan when a device is lost. */
#include <math.h>
#include <string.h>

#include "pipeline-private.h"

/* A plan for the same devices that uses none of the lost ones. */
static gboolean check_replanned(const IfmPlan *old, const IfmPlan *new, guint32 lost, GError **error)
{
    const char *wrong = NULL;
    if (new->devices->len != old->devices->len)
        wrong = "another number of devices";
    for (guint i = 0; wrong == NULL && i < new->blocks->len; i++)
        for (gsize k = 0; k < ifm_plan_block(new, i)->n_devices; k++)
            if ((lost & 1u << ifm_plan_block(new, i)->devices[k]) != 0)
                wrong = "a device that is lost";
    if (wrong != NULL)
        ifm_error_set(error, IFM_ERROR_FAILED, "replan: the plan it gave has %s", wrong);
    return wrong == NULL;
}

/* A line without the lost devices. A device that fails while its models are compiled is lost, too: another plan is asked
 * for. Returns: (transfer full) NULL with an error where there is none. */
static Line *new_line_without(IfmPipeline *pipeline, guint32 *lost, const GError *why, GError **error)
{
    const IfmPipelineOptions *options = &pipeline->options;
    const IfmPlan *plan = pipeline->plan;
    g_autoptr(GError) reason = g_error_copy(why);
    for (;;)
    {
        int device;
        GError *local = NULL;
        g_autoptr(IfmPlan) next = options->replan(plan, *lost, reason, options->replan_user);
        if (next == NULL)
        {
            g_propagate_error(error, g_steal_pointer(&reason));
            return NULL;
        }
        if (!check_replanned(plan, next, *lost, error))
            return NULL;
        Line *line = ifm_line_new(pipeline, next, &device, &local);
        if (line != NULL)
            return line;
        if (device < 0)
        {
            g_propagate_error(error, local);
            return NULL;
        }
        *lost |= 1u << device;
        g_clear_error(&reason);
        reason = local;
    }
}

static void set_plan(IfmPipeline *pipeline, const IfmPlan *plan)
{
    ifm_plan_free(pipeline->plan);
    pipeline->plan = ifm_plan_copy(plan);
}

IfmPipeline *ifm_pipeline_new(const IfmPlan *plan, const IfmPipelineOptions *options, GError **error)
{
    g_autoptr(IfmPipeline) pipeline = g_new0(IfmPipeline, 1);
    int device;
    pipeline->options = *options;
    pipeline->options.clock = options->clock != NULL ? ifm_clock_ref(options->clock) : ifm_clock_new_real();
    if (options->watchdog_ns <= 0)
        pipeline->options.watchdog_ns = IFM_PIPELINE_OPTIONS_INIT.watchdog_ns;
    pipeline->engines = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)ifm_engine_unref);
    pipeline->tracks = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    if (options->most_nodes < 1 || options->max_edges < 0)
    {
        ifm_error_refuse(error,
                         "pipeline: room for %" G_GINT64_FORMAT " nodes and %" G_GINT64_FORMAT
                         " edges; at least 1 and 0 are expected",
                         options->most_nodes, options->max_edges);
        return NULL;
    }
    g_autoptr(GError) why = NULL;
    pipeline->plan = ifm_plan_copy(plan);
    pipeline->line = ifm_line_new(pipeline, plan, &device, &why);
    if (pipeline->line != NULL)
        pipeline->line->is_given_ratios = TRUE;
    else if (device >= 0 && options->replan != NULL)
    {
        pipeline->refused = 1u << device;
        pipeline->line = new_line_without(pipeline, &pipeline->refused, why, error);
        if (pipeline->line != NULL)
            set_plan(pipeline, pipeline->line->plan);
    }
    else
        g_propagate_error(error, g_steal_pointer(&why));
    return pipeline->line != NULL ? g_steal_pointer(&pipeline) : NULL;
}

void ifm_pipeline_free(IfmPipeline *pipeline)
{
    if (pipeline == NULL)
        return;
    ifm_line_free(pipeline->line);
    ifm_plan_free(pipeline->plan);
    g_hash_table_unref(pipeline->engines);
    g_hash_table_unref(pipeline->tracks);
    ifm_clock_unref(pipeline->options.clock);
    g_free(pipeline);
}

/* --- one run ---------------------------------------------------------------------------------------------------------- */

void ifm_pipeline_result_clear(IfmPipelineResult *result)
{
    g_free(result->entered_ns);
    g_free(result->left_ns);
    g_free(result->times);
    ifm_plan_free(result->plan);
    g_free(result->stopped);
    *result = (IfmPipelineResult){ 0 };
}

typedef struct
{
    const IfmBatch *batches;
    gsize n_batches;
    IfmDelivered delivered;
    void *user;
    gsize next; /* the first that was not delivered */
} Run;

static gint64 *unknown_times(gsize n)
{
    gint64 *times = g_new(gint64, n + 1);
    for (gsize i = 0; i < n; i++)
        times[i] = -1;
    return times;
}

/* A line has its own arrays of times: its threads may write to them after the run ended. */
static void line_set_run(Line *line, const Run *run)
{
    gsize n = run->n_batches * (gsize)line->n_blocks;
    g_free(line->times);
    g_free(line->entered_ns);
    g_free(line->left_ns);
    line->input = run->batches;
    line->n_input = run->n_batches;
    line->delivered = run->delivered;
    line->user = run->user;
    line->times = g_new0(IfmBlockTimes, n + 1);
    for (gsize i = 0; i < n; i++)
        line->times[i].start_ns = -1;
    line->entered_ns = unknown_times(run->n_batches);
    line->left_ns = unknown_times(run->n_batches);
}

/* Copies the line's times of batches that it delivered or began. Threads of an abandoned line may still write: then
 * only those of delivered batches are copied. */
static void take_times(Line *line, const Run *run, IfmPipelineResult *result)
{
    gboolean abandoned = atomic_load(&line->abandoned) != 0;
    gsize end = abandoned ? run->next : run->n_batches;
    g_free(result->times);
    result->n_blocks = (gsize)line->n_blocks;
    result->times = g_new0(IfmBlockTimes, run->n_batches * result->n_blocks + 1);
    for (gsize i = 0; i < run->n_batches * result->n_blocks; i++)
        result->times[i].start_ns = -1;
    for (gsize i = line->first; i < end; i++)
    {
        memcpy(result->times + i * result->n_blocks, line->times + i * result->n_blocks,
               result->n_blocks * sizeof(IfmBlockTimes));
        if (result->entered_ns[i] < 0)
            result->entered_ns[i] = line->entered_ns[i];
        result->left_ns[i] = line->left_ns[i];
    }
}

/* Runs the line from the first batch that was not delivered. Returns: FALSE with the reason why it ended before the
 * last. */
static gboolean run_line(Line *line, Run *run, IfmPipelineResult *result, gboolean *is_devices, GError **error)
{
    GError *local = NULL;
    gboolean ok = ifm_line_run(line, run->next, &local);
    Block *last = &line->blocks[line->n_blocks - 1];
    ifm_condition_lock(last->inbox);
    run->next += line->n_delivered;
    ifm_condition_unlock(last->inbox);
    take_times(line, run, result);
    *is_devices = FALSE;
    ifm_condition_lock(line->ended);
    result->lost |= line->lost;
    if (ok && line->failure.error != NULL)
    {
        const Failure *failure = &line->failure;
        *is_devices = failure->is_devices;
        local = g_error_copy(failure->error);
    }
    else if (!ok)
        *is_devices = local->code == IFM_ERROR_TIMEOUT && line->lost != 0 && !line->is_stuck;
    ifm_condition_unlock(line->ended);
    return ifm_error_pass(error, local);
}

/* Delivers the batch that failed, with the error. */
static void deliver_failed(const Run *run, const GError *error, IfmPipelineResult *result)
{
    if (error->code == IFM_ERROR_CANCELLED || error->code == IFM_ERROR_TIMEOUT || run->next >= run->n_batches)
        return;
    result->n_failed = 1;
    if (run->delivered != NULL)
        run->delivered(&run->batches[run->next], NULL, error, run->user);
}

static gboolean replan(IfmPipeline *pipeline, const Run *run, IfmPipelineResult *result, GError **error)
{
    int device;
    g_autoptr(GError) why = g_steal_pointer(error);
    Line *line = new_line_without(pipeline, &result->lost, why, error);
    if (line == NULL)
        return FALSE;
    if (atomic_load(&pipeline->line->abandoned) == 0)
        ifm_line_free(pipeline->line);
    pipeline->line = line;
    set_plan(pipeline, line->plan);
    result->n_replans++;
    line_set_run(line, run);
    return ifm_line_check(line, run->batches + run->next, run->n_batches - run->next, &device, error);
}

static gsize count_coarse(const IfmPipelineResult *result)
{
    gsize n = 0;
    for (gsize i = 0; result->times != NULL && i < result->n_batches * result->n_blocks; i++)
        for (gsize d = 0; result->times[i].start_ns >= 0 && d < IFM_PLAN_MAX_DEVICES; d++)
            n += result->times[i].device_time_ns[d] == IFM_DEVICE_TIME_COARSE;
    return n;
}

static void set_meta(const IfmPipeline *pipeline, const IfmPipelineResult *result)
{
    static const char *const words[] = { "off", "on", "sampled" };
    if (pipeline->options.trace == NULL)
        return;
    json_t *meta = json_deep_copy(ifm_trace_meta(pipeline->options.trace));
    json_object_set_new(meta, "device_time", json_string(words[pipeline->options.device_time]));
    json_object_set_new(meta, "device_time_slow_down_ratio",
                        isnan(result->device_time_slow_down) ? json_null() : json_real(result->device_time_slow_down));
    if (pipeline->options.device_time != IFM_DEVICE_TIME_OFF)
        json_object_set_new(meta, "device_time_left_out", json_integer((json_int_t)count_coarse(result)));
    json_object_set_new(meta, "plan", ifm_plan_to_json(pipeline->plan));
    ifm_trace_set_meta(pipeline->options.trace, meta);
    g_autofree char *text = result->n_replans > 0 ? ifm_plan_to_text(pipeline->plan) : NULL;
    if (text != NULL)
        ifm_trace_set_name(pipeline->options.trace, text);
}

static void finish(IfmPipeline *pipeline, const Run *run, IfmPipelineResult *result, const GError *error)
{
    Line *line = pipeline->line;
    gboolean abandoned = atomic_load(&line->abandoned) != 0;
    result->n_delivered = run->next;
    result->end_ns = ifm_clock_now_ns(pipeline->options.clock);
    for (gsize i = 0; i < run->n_batches; i++)
    {
        if (result->entered_ns[i] >= 0 && (result->start_ns < 0 || result->entered_ns[i] < result->start_ns))
            result->start_ns = result->entered_ns[i];
    }
    if (run->next > 0 && run->next == run->n_batches)
        result->end_ns = result->left_ns[run->next - 1];
    result->plan = ifm_plan_copy(pipeline->plan);
    result->device_time_slow_down = abandoned ? NAN : ifm_line_slow_down(line);
    result->stopped = error != NULL ? g_strdup(error->message) : NULL;
    if (!abandoned)
        set_meta(pipeline, result);
    else
        pipeline->line = NULL; /* never freed: threads may come back to it */
}

gboolean ifm_pipeline_run(IfmPipeline *pipeline, const IfmBatch *batches, gsize n_batches, IfmDelivered delivered,
                          void *user, IfmPipelineResult *result, GError **error)
{
    Run run = { batches, n_batches, delivered, user, 0 };
    GError *local = NULL;
    int device;
    gboolean is_devices = FALSE, done;
    *result = (IfmPipelineResult){ .n_batches = n_batches, .start_ns = -1, .device_time_slow_down = NAN };
    result->entered_ns = unknown_times(n_batches);
    result->left_ns = unknown_times(n_batches);
    result->n_replans = (gsize)(pipeline->refused != 0);
    result->lost = pipeline->refused;
    pipeline->refused = 0;
    if (pipeline->line == NULL)
        return ifm_error_set(error, IFM_ERROR_LOST,
                             "pipeline: a device never answered in an earlier run; start a new process");
    line_set_run(pipeline->line, &run);
    if (!ifm_line_check(pipeline->line, batches, n_batches, &device, error))
    {
        take_times(pipeline->line, &run, result);
        result->plan = ifm_plan_copy(pipeline->plan);
        return FALSE;
    }
    while (!(done = run_line(pipeline->line, &run, result, &is_devices, &local)) && is_devices &&
           pipeline->options.replan != NULL)
        if (!replan(pipeline, &run, result, &local))
            break;
    if (!done)
        deliver_failed(&run, local, result);
    finish(pipeline, &run, result, local);
    if (!done)
        g_propagate_error(error, local);
    return done;
}
