/* What a plan is held against: each of its devices alone, and all of them at once. */
#include <math.h>

#include "subject-plan-private.h"
#include <base/base.h>
#include <pthread.h>

/* A device that is faster than another has that many times as many batches at most, so that both are at it till the end. */
#define MAX_TIMES 100

/* @times: so many times as many as one device alone is given */
static GArray *solo_batches(const IfmPlanSubject *self, double times)
{
    gsize n = (gsize)ceil((double)ifm_plan_subject_share(self->task->plan_case->n_batches) * CLAMP(times, 1, MAX_TIMES));
    GArray *batches = g_array_sized_new(FALSE, FALSE, sizeof(IfmBatch), (guint)n);
    for (gsize i = 0; i < n; i++)
    {
        IfmBatch batch;
        ifm_plan_batches_get(self->batches, i, &batch);
        batch.ratios = NULL;
        g_array_append_val(batches, batch);
    }
    return batches;
}

/* A device that fails by itself has no part in the bound any more; one that never answers ends the case. */
static gboolean settle_solo(IfmPlanSubject *self, IfmPlanSolo *solo, GError *failure /* (transfer full) */, GError **error)
{
    gboolean stuck = g_error_matches(failure, IFM_ERROR, IFM_ERROR_TIMEOUT);
    if (stuck || (g_error_matches(failure, IFM_ERROR, IFM_ERROR_CANCELLED) && ifm_plan_subject_is_interrupted(self)))
    {
        self->stuck |= stuck;
        g_propagate_prefixed_error(error, failure, "%s alone: ", solo->device->alias);
        return FALSE;
    }
    solo->why = g_strdup(failure->message);
    g_error_free(failure);
    return TRUE;
}

gboolean ifm_plan_subject_run_solo(IfmPlanSubject *self, gsize device, IfmPlanRepetition *repetition, GError **error)
{
    IfmPlanSolo *solo = &self->solos[device];
    IfmPlanDelivery delivery = { self, repetition == NULL, FALSE, (const char *const *)&solo->device->alias };
    g_autoptr(GArray) batches = solo_batches(self, 1);
    g_auto(IfmPipelineResult) result = { 0 };
    GError *failure = NULL;
    if (!ifm_plan_solo_has_part(solo))
        return TRUE;
    g_atomic_int_set(&self->stop_solos, 0);
    ifm_plan_subject_set_doing(self, g_strdup_printf("on %s alone", solo->device->alias));
    gboolean ran = ifm_pipeline_run(solo->pipeline, (const IfmBatch *)(const void *)batches->data, batches->len,
                                    ifm_plan_subject_delivered, &delivery, &result, &failure);
    if (!ran)
        return settle_solo(self, solo, failure, error);
    IfmPlanRate rate = { 0 };
    ifm_plan_rate_add(&rate, &result, IFM_CLOCK_NEVER);
    if (!isnan(ifm_plan_rate(&rate)))
        solo->rate = ifm_plan_rate(&rate);
    if (repetition != NULL)
        repetition->solo[device] = ifm_plan_rate(&rate);
    return ifm_plan_subject_settle(self, TRUE, NULL, error);
}

typedef struct
{
    IfmPlanSubject *self;
    IfmPlanSolo *solo;
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
    IfmPlanDelivery delivery = { lane->self, FALSE, FALSE, NULL };
    lane->ran = ifm_pipeline_run(lane->solo->pipeline, (const IfmBatch *)(const void *)lane->batches->data,
                                 lane->batches->len, ifm_plan_subject_delivered, &delivery, &lane->result, &lane->failure);
    g_atomic_int_set(&lane->self->stop_solos, 1);
    ifm_clock_leave(lane->self->clock);
    return NULL;
}

static void run_lanes(IfmPlanSubject *self, Lane *lanes, gsize n)
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

/* When the first of them had its last batch out; IFM_CLOCK_NEVER where none came that far. */
static gint64 end_of_first(const Lane *lanes, gsize n)
{
    gint64 until_ns = IFM_CLOCK_NEVER;
    for (gsize i = 0; i < n; i++)
        if (lanes[i].ran)
            until_ns = MIN(until_ns, lanes[i].result.end_ns);
    return until_ns;
}

/* Of one that had fewer than two out by then: what it had, since it began. */
static double rate_until(const IfmPipelineResult *result, gint64 until_ns)
{
    IfmPlanRate rate = { 0 };
    gsize n = 0;
    ifm_plan_rate_add(&rate, result, until_ns);
    for (gsize i = 0; i < result->n_batches; i++)
        n += result->left_ns[i] >= 0 && result->left_ns[i] <= until_ns;
    return rate.n > 0 ? ifm_plan_rate(&rate) : (double)n * 1e9 / (double)MAX(until_ns - result->start_ns, 1);
}

static gboolean settle_lanes(IfmPlanSubject *self, Lane *lanes, gsize n, IfmPlanRepetition *repetition, GError **error)
{
    gint64 until_ns = end_of_first(lanes, n);
    gboolean well = until_ns != IFM_CLOCK_NEVER, go_on = TRUE;
    for (gsize i = 0; i < n; i++)
    {
        gboolean stopped =
            g_error_matches(lanes[i].failure, IFM_ERROR, IFM_ERROR_CANCELLED) && !ifm_plan_subject_is_interrupted(self);
        well = well && (lanes[i].ran || stopped);
        if (lanes[i].ran || stopped)
            g_clear_error(&lanes[i].failure);
        else if (go_on)
            go_on = settle_solo(self, lanes[i].solo, g_steal_pointer(&lanes[i].failure), error);
        else
            g_clear_error(&lanes[i].failure);
    }
    for (gsize i = 0; well && repetition != NULL && i < n; i++)
    {
        repetition->together[lanes[i].solo - self->solos] = rate_until(&lanes[i].result, until_ns);
    }
    return go_on;
}

gboolean ifm_plan_subject_run_together(IfmPlanSubject *self, IfmPlanRepetition *repetition, GError **error)
{
    Lane lanes[IFM_PLAN_MAX_DEVICES] = { 0 };
    double min = INFINITY;
    gsize n = 0;
    for (gsize d = 0; d < self->n_devices; d++)
        if (ifm_plan_solo_has_part(&self->solos[d]))
            min = MIN(min, self->solos[d].rate);
    for (gsize d = 0; d < self->n_devices; d++)
        if (ifm_plan_solo_has_part(&self->solos[d]))
            lanes[n++] = (Lane){ .self = self,
                                 .solo = &self->solos[d],
                                 .batches = solo_batches(self, min > 0 ? self->solos[d].rate / min : 1) };
    g_autoptr(GString) names = g_string_new("on ");
    for (gsize i = 0; i < n; i++)
        g_string_append_printf(names, "%s%s", i > 0 ? ", " : "", lanes[i].solo->device->alias);
    ifm_plan_subject_set_doing(self, g_strconcat(names->str, " at once, each alone", NULL));
    run_lanes(self, lanes, n);
    gboolean go_on = settle_lanes(self, lanes, n, repetition, error);
    for (gsize i = 0; i < n; i++)
    {
        ifm_pipeline_result_clear(&lanes[i].result);
        g_array_unref(lanes[i].batches);
    }
    return go_on;
}
