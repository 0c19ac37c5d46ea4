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

/* A described limit is no measurement: it is asked again each time, and costs nothing. */
static gboolean is_measured(const IfmMeasurement *limit)
{
    const json_t *told = json_object_get(limit->surroundings, "limit");
    const char *source = json_string_value(json_object_get(told, "source"));
    return limit->outcome == IFM_OUTCOME_OK && g_strcmp0(source, "described") != 0;
}

static void measure_limit(Target *target, const IfmLimitCase *limit_case, const IfmCase *sealed, const LimitPlace *place,
                          GError **store_error)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *label = g_strdup_printf("limit of %s", target->spec->text);
    progress_again(place->progress, label);
    g_autoptr(IfmMeasurement) limit = ifm_runner_measure_limit(place->runner, limit_case, sealed, &error);
    gboolean good = limit != NULL && limit->outcome == IFM_OUTCOME_OK;
    if (good && is_measured(limit) && !ifm_store_commit(place->store, sealed, limit, store_error))
        good = FALSE;
    progress_end(place->progress, good ? "ok" : "not known");
    if (!good)
        target->no_limit = g_strdup(limit != NULL ? limit->reason : error != NULL ? error->message : "not stored");
    else
        target->limit = g_steal_pointer(&limit);
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
    if (trouble == NULL && target->limit == NULL)
        measure_limit(target, &limit_case, sealed, place, &trouble);
    if (trouble == NULL)
        return TRUE;
    g_propagate_error(store_error, trouble);
    return FALSE;
}
