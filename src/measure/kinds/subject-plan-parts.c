/* A plan as a subject: what its other files share. They stand on this one, and none on another but that what is run needs
 * the bound's runs. */
#include "subject-plan-private.h"

/* --- devices -------------------------------------------------------------------------------------------------------- */

/* "CPU, GPU": those of blocks @first to the last, each once. (transfer full) */
char *ifm_plan_aliases_from(const IfmPlan *plan, guint first)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (guint b = first; b < plan->blocks->len; b++)
    {
        const IfmPlanBlock *block = &g_array_index(plan->blocks, IfmPlanBlock, b);
        for (gsize d = 0; d < block->n_devices; d++)
            g_ptr_array_add(names, ((const IfmPlanDevice *)plan->devices->pdata[block->devices[d]])->alias);
    }
    g_ptr_array_add(names, NULL);
    return g_strjoinv(", ", (char **)names->pdata);
}

IfmPlanSolo *ifm_plan_subject_solo(IfmPlanSubject *self, const char *alias)
{
    for (gsize d = 0; d < self->n_devices; d++)
        if (g_str_equal(self->solos[d].device->alias, alias))
            return &self->solos[d];
    return NULL;
}

gboolean ifm_plan_solo_has_part(const IfmPlanSolo *solo)
{
    return solo->pipeline != NULL && solo->why == NULL && !solo->failed;
}

gboolean ifm_plan_subject_has_bound(const IfmPlanSubject *self)
{
    return self->task->plan_case->bound && self->n_devices > 1;
}

/* --- a run ----------------------------------------------------------------------------------------------------------- */

/* Of the bound: a rate needs fewer batches than a plan's run, but for a start. */
#define BOUND_SHARE 4
#define BOUND_MIN 10

gsize ifm_plan_subject_share(gsize n_batches)
{
    return MAX(MIN(n_batches, BOUND_MIN), n_batches / BOUND_SHARE);
}

gboolean ifm_plan_subject_is_interrupted(const IfmPlanSubject *self)
{
    return self->watch.interrupted != NULL && g_atomic_int_get(self->watch.interrupted) != 0;
}

gsize ifm_plan_subject_n_delivered(const IfmPlanSubject *self)
{
    return (gsize)g_atomic_int_get(&self->n_delivered);
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

void ifm_plan_subject_report(const IfmPlanSubject *self, const char *what)
{
    if (self->watch.doing != NULL)
        self->watch.doing(what, self->watch.user);
}

/* @what: (transfer full) what runs from now on */
void ifm_plan_subject_set_doing(IfmPlanSubject *self, char *what)
{
    g_free(self->doing);
    self->doing = what;
    ifm_plan_subject_report(self, what);
}
