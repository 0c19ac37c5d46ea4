#include <unistd.h>

#include <base/base.h>
#include <base/fields.h>
#include <store/store.h>

#include "../worker-private.h"

/* Everything a plan case holds while it is measured. */
typedef struct
{
    Worker *worker;
    IfmPlanTask task;
    IfmPlanSubject *subject;
    IfmClock *clock; /* borrowed */
    gint reported_s; /* atomic: the coarse second (quarters of it) of the last beat */
    /* Where the repetitions are; set between them. @repetition: 0: warming up; @n_before: batches out before it began */
    gsize repetition, n_before;
    gint64 running_ns, repetition_ns; /* on the coarse clock: since when they run, and this one */
    gboolean reported_lost;
    IfmStopReason stop;
} Run;

void worker_pipeline_drop(Worker *worker)
{
    Run *run = worker->state;
    if (run == NULL)
        return;
    g_clear_pointer(&run->subject, ifm_plan_subject_free);
    ifm_plan_task_clear(&run->task);
    g_clear_pointer(&worker->state, g_free);
}

/* --- saying -------------------------------------------------------------------------------------------------------- */

/* Whether all batches of a repetition are the plan's own: none are of a bound, or to see what counting costs. */
static gboolean are_plain(const Run *run)
{
    return !run->task.plan_case->bound && run->task.device_time != IFM_DEVICE_TIME_ON;
}

/* How long it still takes, as the repetitions so far took; -1: not known. */
static gint64 left_ns(const Run *run, gint64 now_ns)
{
    const IfmProtocol *protocol = &run->task.protocol;
    if (run->repetition == 0) /* none is done yet */
        return -1;
    if (protocol->runs == 0)
        return protocol->time_budget_ns > 0 ? MAX(protocol->time_budget_ns - (now_ns - run->running_ns), 0) : -1;
    const gint64 each_ns = (run->repetition_ns - run->running_ns) / (gint64)run->repetition;
    return MAX((gint64)(protocol->runs + 1 - run->repetition) * each_ns - (now_ns - run->repetition_ns), 0);
}

/* "repetition 2 of 3, batch 43 of 100, 12 s left" (transfer full) */
static char *place_of(const Run *run, gsize n, gint64 now_ns)
{
    GString *text = g_string_new(NULL);
    const gsize n_runs = run->task.protocol.runs, n_batches = run->task.plan_case->n_batches;
    const gint64 left = left_ns(run, now_ns);
    if (run->repetition == 0)
        g_string_append(text, "warming up");
    else if (n_runs > 0)
        g_string_append_printf(text, "repetition %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT, run->repetition, n_runs);
    else
        g_string_append_printf(text, "repetition %" G_GSIZE_FORMAT, run->repetition);
    if (are_plain(run))
        g_string_append_printf(text, ", batch %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT, n - run->n_before, n_batches);
    else
        g_string_append_printf(text, ", %" G_GSIZE_FORMAT " batches", n - run->n_before);
    if (left >= 0)
        g_string_append_printf(text, ", %s%" G_GINT64_FORMAT " s left", n_runs > 0 ? "" : "at most ",
                               (left + IFM_NS_PER_S - 1) / IFM_NS_PER_S);
    return g_string_free(text, FALSE);
}

/* Called on the pipelines' own threads: at most four times a second one of them has something to say. */
static void beat(gsize n, void *user)
{
    Run *run = user;
    const gint64 now_ns = ifm_time_coarse_ns();
    gint now = (gint)(now_ns / (250 * IFM_NS_PER_MS)), reported = g_atomic_int_get(&run->reported_s);
    if (now == reported || !g_atomic_int_compare_and_exchange(&run->reported_s, reported, now))
        return;
    g_autofree char *place = place_of(run, n, now_ns);
    worker_say(run->worker, json_pack("{s:s,s:s,s:I,s:s}", "say", "beat", "phase", run->worker->phase, "n", (json_int_t)n,
                                      "place", place));
}

/* Between two repetitions, when no pipeline runs. */
static void begin_repetition(Run *run, gsize repetition)
{
    const gint64 now_ns = ifm_time_coarse_ns();
    run->repetition = repetition;
    run->n_before = ifm_plan_subject_n_delivered(run->subject);
    run->repetition_ns = now_ns;
    if (repetition == 0)
        run->running_ns = now_ns;
}

/* What kind of step the phase is at, and with which devices: who ends this process, or finds it dead, can tell. The
 * pipelines have a watchdog of their own, which knows more and so should report first. */
static void report_doing(const char *what, void *user)
{
    const Run *run = user;
    gboolean runs = g_strcmp0(run->worker->phase, "running") == 0;
    worker_say(run->worker, json_pack("{s:s,s:s,s:I}", "say", "doing", "detail", what, "spare_ns",
                                      (json_int_t)(runs ? run->task.plan_case->watchdog_ns : 0)));
}

static gboolean probe(const Run *run, const char *device, GError **error)
{
    g_autoptr(IfmDeviceSpec) spec = NULL;
    IfmEngine *engine = worker_open_device(run->worker, device, &spec, error);
    return engine != NULL && ifm_engine_probe_device(engine, spec, error);
}

/* A lost device may have answered at once, and anything: all must still be there after the last batch. One that the run
 * went on without is reported as lost, and is no failure. */
static gboolean still_there(Run *run, GError **error)
{
    g_autoptr(GPtrArray) devices = ifm_plan_subject_devices(run->subject);
    g_autoptr(GPtrArray) failed = ifm_plan_subject_failed_devices(run->subject);
    g_autoptr(GError) loss = NULL;
    json_t *lost = json_array();
    worker_enter_phase(run->worker, "probing the devices");
    for (guint i = 0; i < devices->len; i++)
    {
        g_autoptr(GError) failure = NULL;
        if (probe(run, devices->pdata[i], &failure))
            continue;
        json_array_append_new(lost, ifm_json_string(devices->pdata[i]));
        if (loss == NULL && !g_ptr_array_find_with_equal_func(failed, devices->pdata[i], g_str_equal, NULL))
            g_set_error(&loss, IFM_ERROR, IFM_ERROR_LOST, "the device is lost after the batches: %s", failure->message);
    }
    if (json_array_size(lost) > 0)
    {
        run->reported_lost = TRUE;
        worker_say(run->worker, json_pack("{s:s,s:O}", "say", "lost", "devices", lost));
    }
    json_decref(lost);
    if (loss == NULL)
        return TRUE;
    g_propagate_error(error, g_steal_pointer(&loss));
    return FALSE;
}

static void report_plan(Run *run)
{
    ifm_record_set_json(&run->worker->measurement->result, ifm_plan_subject_describe(run->subject));
}

/* --- measuring ----------------------------------------------------------------------------------------------------- */

/* Devices that are all simulated go by a virtual clock; one that is real makes all go by the real one. */
static IfmClock *clock_for(const Run *run)
{
    gboolean real = g_strcmp0(g_getenv("IFM_SIMULATED_CLOCK"), "real") == 0;
    for (guint p = 0; p < run->task.plans->len; p++)
    {
        const IfmPlan *plan = run->task.plans->pdata[p];
        for (guint d = 0; d < plan->devices->len; d++)
            real |= !worker_is_simulated(((const IfmPlanDevice *)plan->devices->pdata[d])->device);
    }
    return real ? run->worker->real_clock : run->worker->virtual_clock;
}

static void describe_environment(const Run *run)
{
    json_t *runtimes = json_array(), *devices = json_array();
    GHashTableIter iter;
    gpointer engine;
    g_hash_table_iter_init(&iter, run->worker->engines);
    while (g_hash_table_iter_next(&iter, NULL, &engine))
        json_array_append_new(runtimes, worker_engine_to_json(engine));
    g_autoptr(GPtrArray) specs = ifm_plan_subject_devices(run->subject);
    for (guint i = 0; i < specs->len; i++)
        json_array_append_new(devices, ifm_json_string(specs->pdata[i]));
    json_object_update_new(run->worker->measurement->environment,
                           json_pack("{s:o,s:o,s:s,s:s}", "runtimes", runtimes, "devices", devices, "dtype",
                                     ifm_dtype_name(IFM_DTYPE_F32), "device_time", run->task.plan_case->device_time));
}

static gboolean prepare(Run *run, GError **error)
{
    Worker *worker = run->worker;
    IfmPlanWatch watch = { &worker->interrupted, beat, report_doing, run };
    worker_report_base(worker);
    if (!worker_go_on(worker, "making the batches", 1, error))
        return FALSE;
    run->subject = ifm_plan_subject_new(&run->task, run->clock, &watch, error);
    if (run->subject == NULL)
        return FALSE;
    describe_environment(run);
    if (!worker_go_on(worker, "compiling", 1, error))
        return FALSE;
    gboolean compiled = ifm_plan_subject_compile(run->subject, error);
    worker_note_rss(worker, "after_compile_bytes");
    return compiled;
}

/* Interrupted, what was measured until then is kept, if it is one repetition at least. A repetition is the rule's sample:
 * its makespan. */
static gboolean repeat(Run *run, GError **error)
{
    IfmMeasurement *measurement = run->worker->measurement;
    g_autoptr(IfmStopper) stopper = ifm_stopper_new(&run->task.protocol);
    gint64 began_ns = ifm_clock_now_ns(run->clock);
    worker_enter_phase(run->worker, "running");
    begin_repetition(run, 0);
    gboolean ran = ifm_plan_subject_repeat(run->subject, TRUE, measurement->warmup_ns, error);
    for (gsize repetition = 1; ran && run->stop == IFM_STOP_GO_ON; repetition++)
    {
        begin_repetition(run, repetition);
        ran = ifm_plan_subject_repeat(run->subject, FALSE, measurement->samples_ns, error);
        report_plan(run);
        if (!ran) /* of one that was broken off there is nothing to keep */
            break;
        worker_send_draft(run->worker);
        run->stop =
            ifm_stopper_add(stopper, ifm_plan_subject_makespan_ns(run->subject), ifm_clock_now_ns(run->clock) - began_ns);
    }
    if (!ran)
        run->stop = IFM_STOP_INTERRUPTED;
    return ran;
}

static void write_trace(Run *run)
{
    g_autoptr(GError) error = NULL;
    if (!ifm_plan_subject_write_trace(run->subject, &error))
        ifm_measurement_warn(run->worker->measurement, "the trace was not written: %s", error->message);
}

static void warn_of_replans(const Run *run)
{
    g_autoptr(GPtrArray) lines = ifm_plan_subject_replans(run->subject);
    for (guint i = 0; i < lines->len; i++)
        ifm_measurement_warn(run->worker->measurement, "%s", (const char *)lines->pdata[i]);
}

static void conclude(Run *run)
{
    IfmMeasurement *measurement = run->worker->measurement;
    ifm_record_set_text(&measurement->stop_reason, ifm_stop_reason_name(run->stop));
    IfmSummary summary = ifm_measurement_summarise(measurement, 0.95);
    if (summary.drifting)
        ifm_measurement_warn(measurement, "the time between batches drifts: %+.1f %% over the series",
                             100 * summary.drift_ratio);
    worker_note_rss(run->worker, "after_runs_bytes");
}

static gboolean run_plan(Run *run, GError **error)
{
    IfmMeasurement *measurement = run->worker->measurement;
    g_autoptr(GError) failure = NULL;
    gboolean ran = repeat(run, &failure);
    write_trace(run);
    report_plan(run);
    warn_of_replans(run);
    gboolean cancelled = g_error_matches(failure, IFM_ERROR, IFM_ERROR_CANCELLED);
    gboolean silent = g_error_matches(failure, IFM_ERROR, IFM_ERROR_TIMEOUT); /* it would not answer a probe either */
    ifm_record_set_json(&measurement->verification, ifm_plan_subject_verification(run->subject));
    g_autoptr(GError) loss = NULL;
    gboolean there = silent || cancelled || still_there(run, &loss);
    if (!there && !g_error_matches(failure, IFM_ERROR, IFM_ERROR_LOST)) /* that says more than what it answered then */
    {
        g_propagate_error(error, g_steal_pointer(&loss));
        return FALSE;
    }
    if (!ran && !(cancelled && ifm_plan_subject_n_repetitions(run->subject) > 0))
    {
        g_propagate_error(error, g_steal_pointer(&failure));
        return FALSE;
    }
    conclude(run);
    return TRUE;
}

/* --- as a subject: a run is one repetition, all its batches ------------------------------------------------------------
 */

static gboolean run_once(void *self, GError **error)
{
    g_autoptr(GArray) gaps_ns = g_array_new(FALSE, FALSE, sizeof(gint64));
    return ifm_plan_subject_repeat(((const Run *)self)->subject, TRUE, gaps_ns, error);
}

IfmSubject worker_pipeline_subject(Worker *worker)
{
    Run *run = worker->state;
    return (IfmSubject){ .name = "pipeline", .clock = run->clock, .run = run_once, .self = run };
}

gboolean worker_pipeline_still_there(Worker *worker, GError **error)
{
    Run *run = worker->state;
    report_plan(run);
    ifm_record_set_json(&worker->measurement->verification, ifm_plan_subject_verification(run->subject));
    return still_there(run, error);
}

gboolean worker_pipeline_prepare(Worker *worker, const json_t *request, GError **error)
{
    Run *run = worker->state = g_new0(Run, 1);
    run->worker = worker;
    worker->measurement->environment = json_pack("{s:[]}", "warnings");
    if (!ifm_plan_task_init(&run->task, worker->spec.data, json_object_get(request, "made"), error))
        return FALSE;
    run->clock = clock_for(run);
    ifm_measurement_describe_build(worker->measurement, run->clock);
    return prepare(run, error);
}

gboolean worker_pipeline_run(Worker *worker, const json_t *request, GError **error)
{
    const json_t *verification = json_object_get(request, "verification");
    if (!run_plan(worker->state, error))
        return FALSE;
    if (verification != NULL) /* why there is no reference */
        json_object_update(worker->measurement->verification, (json_t *)verification);
    return TRUE;
}
