#include "profile.h"

/*
 * The limit of a target's device: from the store where this machine's was measured before, with the same runtime, precision
 * and threads; else measured once and kept there.
 */

#define LIMIT_BUDGET_NS (10 * G_GINT64_CONSTANT(1000000000))

static IfmLimitCase limit_case_of(const ProfilePlan *plan, const Target *target)
{
    return (IfmLimitCase){ .device = target->spec->text,
                           .alias = target->alias,
                           .dtype = plan->base.dtype,
                           .threads = plan->base.threads,
                           .time_budget_ns = LIMIT_BUDGET_NS };
}

/* What counts from then on is the target's: the one that it has already, or the new one. */
static void measure_limit(Target *target, const IfmLimitCase *limit_case, const IfmCase *sealed, const LimitPlace *place,
                          GError **store_error)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *label = g_strdup_printf("limit of %s", target->spec->text);
    progress_again(place->progress, label);
    g_autoptr(IfmMeasurement) limit = ifm_runner_measure_limit(place->runner, limit_case, sealed, &error);
    gboolean good = limit != NULL && limit->outcome == IFM_OUTCOME_OK, counts = FALSE;
    if (good)
        good = ifm_limit_store(place->store, sealed, limit, target->limit, &counts, store_error);
    progress_end(place->progress, good ? "ok" : "not known");
    if (counts)
    {
        ifm_measurement_free(target->limit);
        target->limit = g_steal_pointer(&limit);
        target->limit_stored = FALSE;
    }
    else if (target->limit == NULL)
        target->no_limit = g_strdup(limit != NULL ? limit->reason : error != NULL ? error->message : "not stored");
}

gboolean profile_find_limit(const ProfilePlan *plan, Target *target, const LimitPlace *place, GError **store_error)
{
    g_autoptr(GError) error = NULL;
    GError *trouble = NULL;
    IfmLimitCase limit_case = limit_case_of(plan, target);
    g_autoptr(IfmCase) sealed = ifm_runner_limit_case(place->runner, &limit_case, &error);
    if (sealed == NULL)
    {
        target->no_limit = g_strdup(error->message);
        return TRUE;
    }
    target->limit = ifm_store_latest(place->store, sealed->key, &trouble);
    target->limit_stored = target->limit != NULL;
    g_autofree char *doubt = target->limit != NULL ? ifm_limit_doubt(target->limit) : NULL;
    if (target->limit != NULL && (doubt != NULL || place->new_limit))
        cli_note("limit of %s: measured again: %s", target->spec->text,
                 place->new_limit ? "a new one was asked for" : doubt);
    if (trouble == NULL && (target->limit == NULL || doubt != NULL || place->new_limit))
        measure_limit(target, &limit_case, sealed, place, &trouble);
    if (target->limit != NULL)
        target->limit_doubt = ifm_limit_doubt(target->limit);
    if (trouble == NULL)
        return TRUE;
    g_propagate_error(store_error, trouble);
    return FALSE;
}
