/* A plan as a subject, run: one repetition after the other. */
#include <math.h>
#include <trace/trace.h>

#include "subject-plan-private.h"

static void note_lost(IfmPlanSubject *self, const IfmPipelineResult *result)
{
    for (guint i = 0; result->plan != NULL && i < result->plan->devices->len; i++)
    {
        IfmPlanSolo *solo = ifm_plan_subject_solo(self, ((const IfmPlanDevice *)result->plan->devices->pdata[i])->alias);
        if ((result->lost & (1u << i)) != 0 && solo != NULL)
            solo->failed = TRUE;
    }
}

/* So many batches from a run's first on are compared, counted with uncounted: of those that come after, the last have the
 * devices more and more to themselves. @n_run: (out) so many are run uncounted */
static gsize n_compared(const IfmPlanSubject *self, const IfmPlanGroup *group, gsize *n_run)
{
    gsize n = group->batches->len, share = ifm_plan_subject_share(n),
          under_way =
              group->plan->blocks->len * (gsize)(self->task->plan_case->queue_depth + self->task->plan_case->block_depth);
    gboolean part = self->task->device_time == IFM_DEVICE_TIME_ON && share + under_way < n;
    *n_run = part ? share + under_way : n;
    return part ? share : n;
}

/* Inferences of another plan are not to be compared with those of the first. */
static void note_counted(IfmPlanSubject *self, gsize index, const IfmPipelineResult *result)
{
    const IfmPlanGroup *group = self->groups->pdata[index];
    gsize n_run;
    ifm_plan_counted_add(self->counted, index + group->n_replanned * self->groups->len, result,
                         n_compared(self, group, &n_run));
}

/* @why: (transfer full) */
static void drop_plain(IfmPlanGroup *group, char *why)
{
    g_clear_pointer(&group->plain, ifm_pipeline_free);
    g_free(group->no_plain);
    group->no_plain = why;
}

static void note_replans(IfmPlanGroup *group, const IfmPipelineResult *result)
{
    if (result->n_replans == 0)
        return;
    group->n_replanned++;
    if (group->plain != NULL)
        drop_plain(group, g_strdup("a device failed, and the run went on by another plan"));
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
    note_replans(group, &result);
    if (!isnan(result.device_time_slow_down))
        self->slow_down = result.device_time_slow_down;
    if (ran && repetition != NULL)
    {
        ifm_plan_repetition_add(repetition, index, &result, samples);
        note_counted(self, index, &result);
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

/* --- the same without counters ------------------------------------------------------------------------------------- */

static gboolean has_plain(const IfmPlanSubject *self)
{
    return self->task->device_time == IFM_DEVICE_TIME_ON;
}

/* It only measures what counting costs: if it fails, that stays unknown, and the plan itself may still run. */
static gboolean run_plain_group(IfmPlanSubject *self, gsize index, gboolean warm_up, GError **error)
{
    IfmPlanGroup *group = self->groups->pdata[index];
    IfmPlanDelivery delivery = { self, TRUE, !warm_up, (const char *const *)&group->last };
    g_auto(IfmPipelineResult) result = { 0 };
    GError *failure = NULL;
    gsize n;
    if (group->plain == NULL)
        return TRUE;
    n_compared(self, group, &n);
    ifm_plan_subject_set_doing(self, g_strdup_printf("on %s, not counting", group->aliases));
    gboolean ran = ifm_pipeline_run(group->plain, (const IfmBatch *)(const void *)group->batches->data, n,
                                    ifm_plan_subject_delivered, &delivery, &result, &failure);
    gboolean ends = g_error_matches(failure, IFM_ERROR, IFM_ERROR_TIMEOUT) || ifm_plan_subject_is_interrupted(self);
    if (!ran && !ends)
    {
        drop_plain(group, g_strdup(failure->message));
        g_clear_error(&failure);
        return TRUE;
    }
    if (ran && !warm_up)
        note_counted(self, index, &result);
    return ifm_plan_subject_settle(self, ran, failure, error);
}

static gboolean run_plain(IfmPlanSubject *self, gboolean warm_up, GError **error)
{
    for (guint g = 0; g < self->groups->len; g++)
        if (!run_plain_group(self, g, warm_up, error))
            return FALSE;
    return TRUE;
}

/* --- repetitions --------------------------------------------------------------------------------------------------- */

/* Its parts: the plan, the same without counters, each device alone, all at once. */
static gsize n_parts_of(const IfmPlanSubject *self)
{
    return 1 + (has_plain(self) ? 1 : 0) + (ifm_plan_subject_has_bound(self) ? self->n_devices + 1 : 0);
}

static gboolean run_part(IfmPlanSubject *self, gsize part, IfmPlanRepetition *repetition, GArray *samples, GError **error)
{
    gsize n_solos = ifm_plan_subject_has_bound(self) ? self->n_devices : 0, n_parts = n_parts_of(self);
    if (part < n_solos)
        return ifm_plan_subject_run_solo(self, part, repetition, error);
    if (part == n_parts - 1)
        return run_plan(self, repetition, samples, error);
    if (has_plain(self) && part == n_parts - 2)
        return run_plain(self, repetition == NULL, error);
    return ifm_plan_subject_run_together(self, repetition, error);
}

gboolean ifm_plan_subject_repeat(IfmPlanSubject *self, gboolean warm_up, GArray *samples, GError **error)
{
    IfmPlanRepetition repetition;
    gsize n_parts = n_parts_of(self);
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
