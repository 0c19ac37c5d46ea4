/* Which plan is the answer, by the same prediction that is shown of it: one simulation each of the best plan and of the
 * best single device. */
#include <math.h>

#include "costs-private.h"
#include "plan-private.h"

gboolean ifm_plan_foresee(const IfmCosts *costs, const IfmPlan *plan, const IfmSimulateOptions *options,
                          IfmPlanForecast *forecast, GError **error)
{
    g_auto(IfmSimulation) simulation = { 0 };
    g_autoptr(IfmPlan) named = ifm_plan_copy(plan);
    *forecast = (IfmPlanForecast){ NAN, NAN };
    if (named->model == NULL) /* bare blocks */
        named->model = g_strdup(costs->model);
    if (!ifm_plan_simulate(costs, named, options, &simulation, error))
        return FALSE;
    *forecast =
        (IfmPlanForecast){ (double)simulation.makespan_ns / (double)options->n_batches, simulation.makespan_spread_ratio };
    return TRUE;
}

/* Half the interval of a cycle, ns; 0 where it is unknown. */
static double half_of(const IfmPlanForecast *forecast)
{
    return isnan(forecast->spread_ratio) ? 0 : forecast->spread_ratio * forecast->cycle_ns;
}

gboolean ifm_plan_settle(const IfmCosts *costs, IfmObjective objective, const IfmSimulateOptions *options,
                         IfmPlanAnswer *answer, GError **error)
{
    IfmPlanForecast *best = &answer->best_forecast, *single = &answer->single_forecast;
    *single = (IfmPlanForecast){ NAN, NAN };
    if (!ifm_plan_foresee(costs, answer->best, options, best, error) ||
        (answer->single != NULL && !ifm_plan_foresee(costs, answer->single, options, single, error)))
        return FALSE;
    if (objective != IFM_OBJECTIVE_THROUGHPUT || answer->single == NULL ||
        ifm_plan_same_shape(answer->best, answer->single))
        return TRUE;
    answer->within_uncertainty = single->cycle_ns - best->cycle_ns <= hypot(half_of(single), half_of(best));
    answer->spread_unknown = isnan(single->spread_ratio) || isnan(best->spread_ratio);
    answer_take(answer, answer->within_uncertainty);
    return TRUE;
}
