/* A plan as a subject, run: one repetition after the other. */
#include <math.h>

#include "subject-plan-private.h"

gboolean ifm_plan_subject_is_interrupted(const IfmPlanSubject *self)
{
    return self->watch.interrupted != NULL && g_atomic_int_get(self->watch.interrupted) != 0;
}

/* An IfmDelivered. */
void ifm_plan_subject_delivered(const IfmBatch *batch, const IfmTensor *outputs, const GError *error, void *user)
{
    const IfmPlanDelivery *delivery = user;
    IfmPlanSubject *self = delivery->self;
    gint n = g_atomic_int_add(&self->n_delivered, 1) + 1;
    if (ifm_plan_subject_is_interrupted(self))
        g_atomic_int_set(&self->stop_solos, 1);
    if (delivery->verify && error == NULL)
        ifm_plan_batches_verify(self->batches, batch, outputs, *delivery->devices, delivery->timed);
    if (self->watch.delivered != NULL)
        self->watch.delivered((gsize)n, self->watch.user);
}

static void note_lost(IfmPlanSubject *self, const IfmPipelineResult *result)
{
    for (guint i = 0; result->plan != NULL && i < result->plan->devices->len; i++)
    {
        IfmPlanSolo *solo = ifm_plan_subject_solo(self, ((const IfmPlanDevice *)result->plan->devices->pdata[i])->alias);
        if ((result->lost & (1u << i)) != 0 && solo != NULL)
            solo->failed = TRUE;
    }
}

/* What came of a run, also where it failed. */
gboolean ifm_plan_subject_settle(IfmPlanSubject *self, gboolean ran, GError *failure /* (transfer full) */, GError **error)
{
    const GError *wrong = ifm_plan_batches_failure(self->batches);
    self->stuck |= g_error_matches(failure, IFM_ERROR, IFM_ERROR_TIMEOUT);
    if (!ran)
        g_propagate_error(error, failure);
    else if (wrong != NULL)
        g_propagate_error(error, g_error_copy(wrong));
    return ran && wrong == NULL;
}

static gboolean run_group(IfmPlanSubject *self, gsize index, IfmPlanRepetition *repetition, GArray *samples, GError **error)
{
    IfmPlanGroup *group = self->groups->pdata[index];
    IfmPlanDelivery delivery = { self, TRUE, repetition != NULL, (const char *const *)&group->last };
    g_auto(IfmPipelineResult) result = { 0 };
    GError *failure = NULL;
    ifm_trace_forget_events(group->trace);
    ifm_plan_subject_set_doing(self, g_strconcat("on ", group->aliases, NULL));
    gboolean ran = ifm_pipeline_run(group->pipeline, (const IfmBatch *)(const void *)group->batches->data,
                                    group->batches->len, ifm_plan_subject_delivered, &delivery, &result, &failure);
    note_lost(self, &result);
    if (!isnan(result.device_time_slow_down))
        self->slow_down = result.device_time_slow_down;
    if (ran && repetition != NULL)
    {
        ifm_plan_repetition_add(repetition, index, &result, samples);
        ifm_plan_counted_add(self->counted, index, &result);
    }
    else if (ran || g_error_matches(failure, IFM_ERROR, IFM_ERROR_CANCELLED))
        ifm_plan_gaps(&result, samples);
    g_autoptr(GError) local = NULL;
    gboolean well = ifm_plan_subject_settle(self, ran, failure, &local);
    g_free(group->stopped);
    group->stopped = local != NULL ? g_strdup(local->message) : NULL;
    if (!well)
        g_propagate_error(error, g_steal_pointer(&local));
    return well;
}

static gboolean run_plan(IfmPlanSubject *self, IfmPlanRepetition *repetition, GArray *samples, GError **error)
{
    for (guint g = 0; g < self->groups->len; g++)
        if (!run_group(self, g, repetition, samples, error))
            return FALSE;
    return TRUE;
}

/* --- repetitions --------------------------------------------------------------------------------------------------- */

/* Its parts: first each device alone, then all at once, then the plan. */
static gboolean run_part(IfmPlanSubject *self, gsize part, IfmPlanRepetition *repetition, GArray *samples, GError **error)
{
    gsize n_solos = ifm_plan_subject_has_bound(self) ? self->n_devices : 0;
    return part < n_solos                                        ? ifm_plan_subject_run_solo(self, part, repetition, error)
           : part == n_solos && ifm_plan_subject_has_bound(self) ? ifm_plan_subject_run_together(self, repetition, error)
                                                                 : run_plan(self, repetition, samples, error);
}

gboolean ifm_plan_subject_repeat(IfmPlanSubject *self, gboolean warm_up, GArray *samples, GError **error)
{
    IfmPlanRepetition repetition;
    gsize n_parts = ifm_plan_subject_has_bound(self) ? self->n_devices + 2 : 1;
    ifm_plan_repetition_init(&repetition);
    gboolean ran = TRUE;
    for (gsize i = 0; ran && i < n_parts; i++)
        ran = run_part(self, (self->turn + i) % n_parts, warm_up ? NULL : &repetition, samples, error);
    self->turn++; /* so that none is always the first, or after the same one's heat */
    if (ran && !warm_up)
        g_array_append_val(self->repetitions, repetition);
    else
        ifm_plan_repetition_clear(&repetition);
    return ran;
}
