/* A plan on a stream of batches, in the worker: its runs, one repetition after the other, and what is said meanwhile. */
#include <math.h>

#include <base/base.h>
#include <base/fields.h>
#include <store/store.h>
#include <trace/trace.h>

#include "pipeline-kind.h"

/* --- saying -------------------------------------------------------------------------------------------------------- */

/* How long it still takes, as the repetitions so far took; 0: not known. */
static gint64 left_ns(const WorkerPlan *self, gint64 now_ns)
{
    const IfmProtocol *protocol = &self->protocol;
    if (self->repetition == 0) /* none is done yet */
        return 0;
    if (protocol->runs == 0)
        return protocol->time_budget_ns > 0 ? MAX(protocol->time_budget_ns - (now_ns - self->running_ns), 0) : 0;
    const gint64 each_ns = (self->repetition_ns - self->running_ns) / (gint64)self->repetition;
    return MAX((gint64)(protocol->runs + 1 - self->repetition) * each_ns - (now_ns - self->repetition_ns), 0);
}

/* "repetition 2 of 3, batch 43 of 100" (transfer full) */
static char *place_of(const WorkerPlan *self, gsize n)
{
    GString *text = g_string_new(NULL);
    const gsize n_runs = self->protocol.runs;
    /* whether all batches of a repetition are the plan's own: none are of a bound, or to see what counting costs */
    const gboolean plain = !self->plan_case->bound && self->device_time != IFM_DEVICE_TIME_ON;
    if (self->repetition == 0)
        g_string_append(text, "warming up");
    else
        g_string_append_printf(text, "repetition %zu", self->repetition);
    if (self->repetition > 0 && n_runs > 0)
        g_string_append_printf(text, " of %zu", n_runs);
    if (plain)
        g_string_append_printf(text, ", batch %zu of %zu", n - self->n_before, self->plan_case->n_batches);
    else
        g_string_append_printf(text, ", %zu batches", n - self->n_before);
    return g_string_free(text, FALSE);
}

/* Called on the pipelines' own threads: at most four times a second one of them has something to say. */
static void beat(WorkerPlan *self, gsize n)
{
    const gint64 now_ns = ifm_time_coarse_ns();
    gint now = (gint)(now_ns / (250 * IFM_NS_PER_MS)), reported = g_atomic_int_get(&self->reported_s);
    if (now == reported || !g_atomic_int_compare_and_exchange(&self->reported_s, reported, now))
        return;
    g_autofree char *place = place_of(self, n);
    worker_say(self->worker, json_pack("{s:s,s:s,s:I,s:s,s:I,s:b}", "say", "beat", "phase", self->worker->phase, "n",
                                       (json_int_t)n, "place", place, "left_ns", (json_int_t)left_ns(self, now_ns),
                                       "at_most", self->protocol.runs == 0));
}

void worker_plan_report(const WorkerPlan *self, const char *what)
{
    gboolean runs = g_strcmp0(self->worker->phase, "running") == 0;
    worker_say(self->worker, json_pack("{s:s,s:s,s:I}", "say", "doing", "detail", what, "spare_ns",
                                       (json_int_t)(runs ? self->plan_case->watchdog_ns : 0)));
}

/* --- one run of a pipeline ------------------------------------------------------------------------------------------- */

static gboolean is_interrupted(const WorkerPlan *self)
{
    return g_atomic_int_get(&self->worker->interrupted) != 0;
}

/* Delivery: who verifies a run's outputs, and how. */
typedef struct
{
    WorkerPlan *self;
    gboolean verify, timed;
    const char *const *devices; /* that hand out: "CPU, GPU" */
} Delivery;

/* An IfmDelivered. */
static void delivered(const IfmBatch *batch, const IfmTensor *outputs, const GError *error, void *user)
{
    const Delivery *delivery = user;
    WorkerPlan *self = delivery->self;
    gint n = g_atomic_int_add(&self->n_delivered, 1) + 1;
    if (is_interrupted(self))
        g_atomic_int_set(&self->stop_solos, 1);
    if (delivery->verify && error == NULL)
        worker_plan_verify(self, batch, outputs, *delivery->devices, delivery->timed);
    beat(self, (gsize)n);
}

/* The first @n of those batches. @doing: (transfer full) what runs from now on; NULL: several at once */
static gboolean run_pipeline(IfmPipeline *pipeline, const GArray *batches, gsize n, char *doing, Delivery delivery,
                             IfmPipelineResult *result, GError **error)
{
    if (doing != NULL)
    {
        g_free(delivery.self->doing);
        delivery.self->doing = doing;
        worker_plan_report(delivery.self, doing);
    }
    return ifm_pipeline_run(pipeline, (const IfmBatch *)(const void *)batches->data, n, delivered, &delivery, result,
                            error);
}

/* What came of a run, also where it failed. @failure: (transfer full) of the run; NULL: it ended well */
static gboolean settle(WorkerPlan *self, GError *failure, GError **error)
{
    self->stuck |= g_error_matches(failure, IFM_ERROR, IFM_ERROR_TIMEOUT);
    return ifm_error_pass(error, failure) && ifm_error_pass(error, self->wrong != NULL ? g_error_copy(self->wrong) : NULL);
}

/* --- the plan, and the same without counters -------------------------------------------------------------------------- */

/* Of the bound: a rate needs fewer batches than a plan's run, but for a start. */
#define BOUND_SHARE 4
#define BOUND_MIN 10

/* So many of a stream's batches are enough for a rate. */
static gsize share_of(gsize n_batches)
{
    return MAX(MIN(n_batches, BOUND_MIN), n_batches / BOUND_SHARE);
}

static void note_lost(WorkerPlan *self, const IfmPipelineResult *result)
{
    for (guint i = 0; result->plan != NULL && i < result->plan->devices->len; i++)
    {
        WorkerSolo *solo = worker_plan_solo(self, ((const IfmPlanDevice *)result->plan->devices->pdata[i])->alias);
        if ((result->lost & (1u << i)) != 0 && solo != NULL)
            solo->failed = TRUE;
    }
}

/* So many batches from a run's first on are compared, counted with uncounted: of those that come after, the last have the
 * devices more and more to themselves. @n_run: (out) so many are run uncounted */
static gsize n_compared(const WorkerPlan *self, const WorkerGroup *group, gsize *n_run)
{
    gsize n = group->batches->len, share = share_of(n),
          under_way = group->plan->blocks->len * (gsize)(self->plan_case->queue_depth + self->plan_case->block_depth);
    gboolean part = self->device_time == IFM_DEVICE_TIME_ON && share + under_way < n;
    *n_run = part ? share + under_way : n;
    return part ? share : n;
}

/* Inferences of another plan are not to be compared with those of the first. */
static void note_counted(WorkerPlan *self, gsize index, const IfmPipelineResult *result)
{
    const WorkerGroup *group = self->groups->pdata[index];
    gsize n_run;
    worker_counted_add(self->counted, index + group->n_replanned * self->groups->len, result,
                       n_compared(self, group, &n_run));
}

static void drop_plain(WorkerGroup *group, const char *why)
{
    g_clear_pointer(&group->plain, ifm_pipeline_free);
    g_free(group->no_plain);
    group->no_plain = g_strdup(why);
}

static void note_replans(WorkerGroup *group, const IfmPipelineResult *result)
{
    group->n_replanned += result->n_replans > 0;
    if (result->n_replans > 0 && group->plain != NULL)
        drop_plain(group, "a device failed, and the run went on by another plan");
}

static gboolean run_group(WorkerPlan *self, gsize index, WorkerRepetition *repetition, GArray *samples, GError **error)
{
    WorkerGroup *group = self->groups->pdata[index];
    g_auto(IfmPipelineResult) result = { 0 };
    GError *failure = NULL;
    g_autoptr(GError) local = NULL;
    ifm_trace_forget_events(group->trace);
    gboolean ran =
        run_pipeline(group->pipeline, group->batches, group->batches->len, g_strconcat("on ", group->aliases, NULL),
                     (Delivery){ self, TRUE, repetition != NULL, (const char *const *)&group->last }, &result, &failure);
    note_lost(self, &result);
    note_replans(group, &result);
    if (!isnan(result.device_time_slow_down))
        self->slow_down = result.device_time_slow_down;
    if (ran && repetition != NULL)
    {
        worker_repetition_add(repetition, index, &result, samples);
        note_counted(self, index, &result);
    }
    else if (ran || g_error_matches(failure, IFM_ERROR, IFM_ERROR_CANCELLED))
        worker_gaps(&result, samples);
    settle(self, failure, &local);
    g_free(group->stopped);
    group->stopped = local != NULL ? g_strdup(local->message) : NULL;
    return ifm_error_pass(error, g_steal_pointer(&local));
}

/* It only measures what counting costs: if it fails, that stays unknown, and the plan itself may still run. */
static gboolean run_plain_group(WorkerPlan *self, gsize index, WorkerRepetition *repetition, GArray *samples,
                                GError **error)
{
    WorkerGroup *group = self->groups->pdata[index];
    g_auto(IfmPipelineResult) result = { 0 };
    GError *failure = NULL;
    gsize n;
    if (group->plain == NULL)
        return TRUE;
    n_compared(self, group, &n);
    gboolean ran =
        run_pipeline(group->plain, group->batches, n, g_strdup_printf("on %s, not counting", group->aliases),
                     (Delivery){ self, TRUE, repetition != NULL, (const char *const *)&group->last }, &result, &failure);
    gboolean ends = g_error_matches(failure, IFM_ERROR, IFM_ERROR_TIMEOUT) || is_interrupted(self);
    if (!ran && !ends)
    {
        drop_plain(group, failure->message);
        g_clear_error(&failure);
        return TRUE;
    }
    if (ran && repetition != NULL)
        note_counted(self, index, &result);
    return settle(self, failure, error);
}

/* --- the bound: each device alone, and all of them at once -------------------------------------------------------------
 */

/* A device that is faster than another has that many times as many batches at most, so that both are at it till the end. */
#define MAX_TIMES 100

/* @times: so many times as many as one device alone is given */
static GArray *solo_batches(const WorkerPlan *self, double times)
{
    gsize n = (gsize)ceil((double)share_of(self->plan_case->n_batches) * CLAMP(times, 1, MAX_TIMES));
    GArray *batches = g_array_sized_new(FALSE, FALSE, sizeof(IfmBatch), (guint)n);
    for (gsize i = 0; i < n; i++)
    {
        IfmBatch batch;
        worker_plan_batch(self, i, &batch);
        batch.ratios = NULL;
        g_array_append_val(batches, batch);
    }
    return batches;
}

/* A device that fails by itself has no part in the bound any more; one that never answers ends the case. */
static gboolean settle_solo(WorkerPlan *self, WorkerSolo *solo, GError *failure /* (transfer full) */, GError **error)
{
    gboolean stuck = g_error_matches(failure, IFM_ERROR, IFM_ERROR_TIMEOUT);
    if (stuck || (g_error_matches(failure, IFM_ERROR, IFM_ERROR_CANCELLED) && is_interrupted(self)))
    {
        self->stuck |= stuck;
        g_propagate_prefixed_error(error, failure, "%s alone: ", solo->device->alias);
        return FALSE;
    }
    solo->why = g_strdup(failure->message);
    g_error_free(failure);
    return TRUE;
}

/* One device alone. @repetition: NULL: to warm up */
static gboolean run_solo(WorkerPlan *self, gsize device, WorkerRepetition *repetition, GError **error)
{
    WorkerSolo *solo = &self->solos[device];
    g_autoptr(GArray) batches = solo_batches(self, 1);
    g_auto(IfmPipelineResult) result = { 0 };
    GError *failure = NULL;
    if (!worker_solo_has_part(solo))
        return TRUE;
    g_atomic_int_set(&self->stop_solos, 0);
    if (!run_pipeline(solo->pipeline, batches, batches->len, g_strdup_printf("on %s alone", solo->device->alias),
                      (Delivery){ self, repetition == NULL, FALSE, (const char *const *)&solo->device->alias }, &result,
                      &failure))
        return settle_solo(self, solo, failure, error);
    WorkerRate rate = { 0 };
    worker_rate_add(&rate, &result, IFM_CLOCK_NEVER);
    if (!isnan(worker_rate(&rate)))
        solo->rate = worker_rate(&rate);
    if (repetition != NULL)
        repetition->solo[device] = worker_rate(&rate);
    return settle(self, NULL, error);
}

typedef struct
{
    WorkerPlan *self;
    WorkerSolo *solo;
    GArray *batches;
    IfmPipelineResult result;
    GError *failure;
    gboolean ran;
    pthread_t thread;
} Lane;

/* The first to end stops the others: from then on they would not all be at it. */
static void *lane_main(void *data)
{
    Lane *lane = data;
    lane->ran = run_pipeline(lane->solo->pipeline, lane->batches, lane->batches->len, NULL, (Delivery){ lane->self },
                             &lane->result, &lane->failure);
    g_atomic_int_set(&lane->self->stop_solos, 1);
    ifm_clock_leave(lane->self->clock);
    return NULL;
}

static void run_lanes(WorkerPlan *self, Lane *lanes, gsize n)
{
    g_atomic_int_set(&self->stop_solos, 0);
    for (gsize i = 0; i < n; i++)
    {
        ifm_clock_enter(self->clock); /* for the thread, before it runs */
        if (pthread_create(&lanes[i].thread, NULL, lane_main, &lanes[i]) != 0)
            g_error("no thread for %s", lanes[i].solo->device->alias);
    }
    ifm_clock_leave(self->clock); /* a join is no wait of the clock's */
    for (gsize i = 0; i < n; i++)
        pthread_join(lanes[i].thread, NULL);
    ifm_clock_enter(self->clock);
}

/* Of one that had fewer than two out by then: what it had, since it began. */
static double rate_until(const IfmPipelineResult *result, gint64 until_ns)
{
    WorkerRate rate = { 0 };
    gsize n = 0;
    worker_rate_add(&rate, result, until_ns);
    for (gsize i = 0; i < result->n_batches; i++)
        n += result->left_ns[i] >= 0 && result->left_ns[i] <= until_ns;
    return rate.n > 0 ? worker_rate(&rate) : (double)n * 1e9 / (double)MAX(until_ns - result->start_ns, 1);
}

static gboolean settle_lanes(WorkerPlan *self, Lane *lanes, gsize n, WorkerRepetition *repetition, GError **error)
{
    /* when the first of them had its last batch out; IFM_CLOCK_NEVER where none came that far */
    gint64 until_ns = IFM_CLOCK_NEVER;
    for (gsize i = 0; i < n; i++)
        if (lanes[i].ran)
            until_ns = MIN(until_ns, lanes[i].result.end_ns);
    gboolean well = until_ns != IFM_CLOCK_NEVER, go_on = TRUE;
    for (gsize i = 0; i < n; i++)
    {
        gboolean stopped = g_error_matches(lanes[i].failure, IFM_ERROR, IFM_ERROR_CANCELLED) && !is_interrupted(self);
        well = well && (lanes[i].ran || stopped);
        if (!lanes[i].ran && !stopped && go_on)
            go_on = settle_solo(self, lanes[i].solo, g_steal_pointer(&lanes[i].failure), error);
        g_clear_error(&lanes[i].failure);
    }
    for (gsize i = 0; well && repetition != NULL && i < n; i++)
        repetition->together[lanes[i].solo - self->solos] = rate_until(&lanes[i].result, until_ns);
    return go_on;
}

/* All devices at once, each alone. */
static gboolean run_together(WorkerPlan *self, WorkerRepetition *repetition, GError **error)
{
    Lane lanes[IFM_PLAN_MAX_DEVICES] = { 0 };
    double min = INFINITY;
    gsize n = 0;
    g_autoptr(GString) names = g_string_new("on ");
    for (gsize d = 0; d < self->n_devices; d++)
        if (worker_solo_has_part(&self->solos[d]))
            min = MIN(min, self->solos[d].rate);
    for (gsize d = 0; d < self->n_devices; d++)
    {
        WorkerSolo *solo = &self->solos[d];
        if (!worker_solo_has_part(solo))
            continue;
        g_string_append_printf(names, "%s%s", n > 0 ? ", " : "", solo->device->alias);
        lanes[n++] = (Lane){ .self = self, .solo = solo, .batches = solo_batches(self, min > 0 ? solo->rate / min : 1) };
    }
    g_free(self->doing);
    self->doing = g_strconcat(names->str, " at once, each alone", NULL);
    worker_plan_report(self, self->doing);
    run_lanes(self, lanes, n);
    gboolean go_on = settle_lanes(self, lanes, n, repetition, error);
    for (gsize i = 0; i < n; i++)
    {
        ifm_pipeline_result_clear(&lanes[i].result);
        g_array_unref(lanes[i].batches);
    }
    return go_on;
}

/* --- repetitions --------------------------------------------------------------------------------------------------- */

/* Its parts: each device alone, all at once, the plan without counters, the plan. */
static gsize n_parts_of(const WorkerPlan *self)
{
    return 1 + (self->device_time == IFM_DEVICE_TIME_ON) + (worker_plan_has_bound(self) ? self->n_devices + 1 : 0);
}

static gboolean run_part(WorkerPlan *self, gsize part, WorkerRepetition *repetition, GArray *samples, GError **error)
{
    const gsize n_solos = worker_plan_has_bound(self) ? self->n_devices : 0, n_parts = n_parts_of(self);
    const gboolean is_plain = self->device_time == IFM_DEVICE_TIME_ON && part == n_parts - 2;
    if (part < n_solos)
        return run_solo(self, part, repetition, error);
    if (part < n_parts - 1 && !is_plain)
        return run_together(self, repetition, error);
    for (guint g = 0; g < self->groups->len; g++)
        if (!(is_plain ? run_plain_group : run_group)(self, g, repetition, samples, error))
            return FALSE;
    return TRUE;
}

/* One repetition: all batches through the plan, and, of a bound, each device alone and all at once; where all is counted,
 * some batches uncounted; in an order that turns. @number: 0: warming up: its figures are kept nowhere; every output is
 * compared whole    @samples: gint64: gaps between departures are added */
static gboolean run_repetition(WorkerPlan *self, gsize number, GArray *samples, GError **error)
{
    WorkerRepetition repetition;
    const gsize n_parts = n_parts_of(self);
    worker_repetition_init(&repetition);
    self->repetition = number;
    self->n_before = (gsize)g_atomic_int_get(&self->n_delivered);
    self->repetition_ns = ifm_time_coarse_ns();
    if (number == 0)
        self->running_ns = self->repetition_ns;
    gboolean ran = TRUE;
    for (gsize i = 0; ran && i < n_parts; i++)
        ran = run_part(self, (self->turn + i) % n_parts, number == 0 ? NULL : &repetition, samples, error);
    self->turn++; /* so that none is always the first, or after the same one's heat */
    if (ran && number > 0)
    {
        worker_repetition_finish(&repetition);
        g_array_append_val(self->repetitions, repetition);
    }
    else
        worker_repetition_clear(&repetition);
    return ran;
}

static void report_plan(WorkerPlan *self)
{
    ifm_record_set_json(&self->worker->measurement->result, worker_plan_describe(self));
}

/* Interrupted, what was measured until then is kept, if it is one repetition at least. A repetition is the rule's sample:
 * its makespan. @stop: (out) why it ended */
static gboolean repeat(WorkerPlan *self, IfmStopReason *stop, GError **error)
{
    IfmMeasurement *measurement = self->worker->measurement;
    g_autoptr(IfmStopper) stopper = ifm_stopper_new(&self->protocol);
    gint64 began_ns = ifm_clock_now_ns(self->clock);
    *stop = IFM_STOP_GO_ON;
    worker_enter_phase(self->worker, "running");
    gboolean ran = run_repetition(self, 0, measurement->warmup_ns, error);
    for (gsize number = 1; ran && *stop == IFM_STOP_GO_ON; number++)
    {
        ran = run_repetition(self, number, measurement->samples_ns, error);
        report_plan(self);
        if (!ran) /* of one that was broken off there is nothing to keep */
            break;
        worker_send_draft(self->worker);
        *stop = ifm_stopper_add(stopper, g_array_index(self->repetitions, WorkerRepetition, number - 1).makespan_ns,
                                ifm_clock_now_ns(self->clock) - began_ns);
    }
    if (!ran)
        *stop = IFM_STOP_INTERRUPTED;
    return ran;
}

/* --- the case in hand ------------------------------------------------------------------------------------------------ */

/* A lost device may have answered at once, and anything: all must still be there after the last batch. One that the run
 * went on without is reported as lost, and is no failure. */
static gboolean still_there(WorkerPlan *self, GError **error)
{
    g_autoptr(GPtrArray) devices = worker_plan_devices(self), failed = g_ptr_array_new();
    for (gsize d = 0; d < self->n_devices; d++)
        if (self->solos[d].failed)
            g_ptr_array_add(failed, self->solos[d].device->device);
    return worker_all_there(self->worker, devices, failed, "batches", error);
}

static void describe_environment(const WorkerPlan *self)
{
    json_t *runtimes = json_array(), *devices = json_array();
    GHashTableIter iter;
    gpointer engine;
    g_hash_table_iter_init(&iter, self->worker->engines);
    while (g_hash_table_iter_next(&iter, NULL, &engine))
        json_array_append_new(runtimes, worker_engine_to_json(engine));
    g_autoptr(GPtrArray) specs = worker_plan_devices(self);
    for (guint i = 0; i < specs->len; i++)
        json_array_append_new(devices, ifm_json_string(specs->pdata[i]));
    json_object_update_new(self->worker->measurement->environment,
                           json_pack("{s:o,s:o,s:s,s:s}", "runtimes", runtimes, "devices", devices, "dtype",
                                     ifm_dtype_name(IFM_DTYPE_F32), "device_time", self->plan_case->device_time));
}

static void conclude(WorkerPlan *self, IfmStopReason stop)
{
    IfmMeasurement *measurement = self->worker->measurement;
    ifm_record_set_text(&measurement->stop_reason, ifm_stop_reason_name(stop));
    IfmSummary summary = ifm_measurement_summarise(measurement, 0.95);
    if (summary.drifting)
        ifm_measurement_warn(measurement, "the time between batches drifts: %+.1f %% over the series",
                             100 * summary.drift_ratio);
    worker_note_rss(self->worker, "after_runs_bytes");
}

static void set_verification(WorkerPlan *self)
{
    ifm_record_set_json(
        &self->worker->measurement->verification,
        ifm_verification_to_json(&self->verdict, self->wrong != NULL, self->compared ? &self->tolerance : NULL));
}

static gboolean run_plan(WorkerPlan *self, GError **error)
{
    IfmMeasurement *measurement = self->worker->measurement;
    g_autoptr(GError) failure = NULL, unwritten = NULL, loss = NULL;
    IfmStopReason stop;
    gboolean ran = repeat(self, &stop, &failure);
    if (!worker_plan_write_trace(self, &unwritten))
        ifm_measurement_warn(measurement, "the trace was not written: %s", unwritten->message);
    report_plan(self);
    for (guint i = 0; i < self->replans->len; i++)
        ifm_measurement_warn(measurement, "%s", (const char *)self->replans->pdata[i]);
    gboolean cancelled = g_error_matches(failure, IFM_ERROR, IFM_ERROR_CANCELLED);
    gboolean silent = g_error_matches(failure, IFM_ERROR, IFM_ERROR_TIMEOUT); /* it would not answer a probe either */
    set_verification(self);
    gboolean there = silent || cancelled || still_there(self, &loss);
    if (!there && !g_error_matches(failure, IFM_ERROR, IFM_ERROR_LOST)) /* that says more than what it answered then */
        return ifm_error_pass(error, g_steal_pointer(&loss));
    if (!ran && !(cancelled && self->repetitions->len > 0))
        return ifm_error_pass(error, g_steal_pointer(&failure));
    conclude(self, stop);
    return TRUE;
}

/* As a subject: a run is one repetition, all its batches. */
static gboolean run_once(void *self, GError **error)
{
    g_autoptr(GArray) gaps_ns = g_array_new(FALSE, FALSE, sizeof(gint64));
    return run_repetition(self, 0, gaps_ns, error);
}

IfmSubject worker_pipeline_subject(Worker *worker)
{
    WorkerPlan *self = worker->state;
    return (IfmSubject){ .name = "pipeline", .clock = self->clock, .run = run_once, .self = self };
}

gboolean worker_pipeline_still_there(Worker *worker, GError **error)
{
    report_plan(worker->state);
    set_verification(worker->state);
    return still_there(worker->state, error);
}

gboolean worker_pipeline_prepare(Worker *worker, const json_t *request, GError **error)
{
    WorkerPlan *self = worker->state = g_new0(WorkerPlan, 1);
    self->worker = worker;
    if (!worker_plan_make(self, request, error))
        return FALSE;
    describe_environment(self);
    if (!worker_go_on(worker, "compiling", 1, error))
        return FALSE;
    gboolean compiled = worker_plan_compile(self, error);
    worker_note_rss(worker, "after_compile_bytes");
    return compiled;
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

void worker_pipeline_drop(Worker *worker)
{
    worker_plan_free(g_steal_pointer(&worker->state));
}
