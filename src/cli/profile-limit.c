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

/* A figure to within a tenth, on a machine that was left alone: what else was running lowers a limit, and nothing raises
 * it.
 */
#define MOST_OTHERS 0.1
#define MOST_WIDTH 0.2

static gboolean is_wide(const json_t *told, const char *value, const char *interval)
{
    const json_t *ends = json_object_get(told, interval);
    const json_t *lower = json_array_get(ends, 0), *upper = json_array_get(ends, 1);
    return !json_is_number(lower) || !json_is_number(upper) ||
           json_number_value(upper) - json_number_value(lower) >
               MOST_WIDTH * json_number_value(json_object_get(told, value));
}

/* Why a measured limit may be too low. (transfer full) NULL where nothing speaks for that. */
static char *doubt_of(const IfmMeasurement *limit)
{
    const json_t *told = json_object_get(limit->surroundings, "limit"),
                 *others = json_object_get(limit->surroundings, "others_ratio");
    if (!is_measured(limit))
        return NULL;
    if (json_is_number(others) && json_number_value(others) > MOST_OTHERS)
        return g_strdup_printf("other processes used %.0f %% of the processors then", 100 * json_number_value(others));
    if (is_wide(told, "flop_per_s", "flop_interval") || is_wide(told, "bytes_per_s", "bytes_interval"))
        return g_strdup("its runs scattered by more than a tenth");
    return NULL;
}

static double flop_of(const IfmMeasurement *limit)
{
    return json_number_value(json_object_get(json_object_get(limit->surroundings, "limit"), "flop_per_s"));
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
    {
        target->limit = g_steal_pointer(&limit);
        target->limit_stored = FALSE;
    }
}

/* An earlier one in doubt is measured again. One that is not in doubt takes its place, whatever it says; of two in doubt
 * the higher is nearer. */
static void measure_again(Target *target, const IfmLimitCase *limit_case, const IfmCase *sealed, const LimitPlace *place,
                          GError **store_error)
{
    IfmMeasurement *before = g_steal_pointer(&target->limit);
    g_autofree char *why = place->new_limit ? g_strdup("a new one was asked for") : doubt_of(before);
    cli_note("limit of %s: measured again: %s", target->spec->text, why);
    measure_limit(target, limit_case, sealed, place, store_error);
    g_autofree char *doubt = target->limit != NULL ? doubt_of(target->limit) : g_strdup("failed");
    if (target->limit == NULL || (doubt != NULL && flop_of(before) > flop_of(target->limit)))
    {
        ifm_measurement_free(target->limit);
        target->limit = g_steal_pointer(&before);
        target->limit_stored = TRUE;
        g_clear_pointer(&target->no_limit, g_free);
    }
    ifm_measurement_free(before);
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
    g_autofree char *doubt = target->limit != NULL ? doubt_of(target->limit) : NULL;
    if (trouble == NULL && target->limit == NULL)
        measure_limit(target, &limit_case, sealed, place, &trouble);
    else if (trouble == NULL && (doubt != NULL || place->new_limit))
        measure_again(target, &limit_case, sealed, place, &trouble);
    if (target->limit != NULL)
        target->limit_doubt = doubt_of(target->limit);
    if (trouble == NULL)
        return TRUE;
    g_propagate_error(store_error, trouble);
    return FALSE;
}
