/* The answer of a search: the plan, whether a single device is as good by the same prediction that is shown of it, and how
 * certain it is. */
#include <math.h>

#include "search-private.h"

void ifm_plan_choice_clear(IfmPlanChoice *choice)
{
    g_clear_pointer(&choice->plan, ifm_plan_free);
    ifm_plan_cost_clear(&choice->cost);
    *choice = (IfmPlanChoice){ 0 };
}

void ifm_plan_answer_clear(IfmPlanAnswer *answer)
{
    g_clear_pointer(&answer->plan, ifm_plan_free);
    ifm_plan_cost_clear(&answer->cost);
    ifm_plan_choice_clear(&answer->best);
    ifm_plan_choice_clear(&answer->single);
    *answer = (IfmPlanAnswer){ 0 };
}

/* --- the best plan or the single device ------------------------------------------------------------------------------- */

static void answer_take(IfmPlanAnswer *answer, const IfmPlanChoice *choice)
{
    g_clear_pointer(&answer->plan, ifm_plan_free);
    ifm_plan_cost_clear(&answer->cost);
    answer->plan = ifm_plan_copy(choice->plan);
    answer->cost = choice->cost;
    g_array_ref(answer->cost.alone);
    g_array_ref(answer->cost.steady);
}

/* Takes the single device unless the best plan gains more than the uncertainty of both. @best_half, @single_half: of their
 * intervals; NaN: unknown */
static void answer_decide(IfmPlanAnswer *answer, double gain, double best_half, double single_half)
{
    double doubt = hypot(isnan(best_half) ? 0 : best_half, isnan(single_half) ? 0 : single_half);
    answer->within_uncertainty = gain <= doubt;
    answer->spread_unknown = isnan(best_half) || isnan(single_half);
    answer_take(answer, answer->within_uncertainty ? &answer->single : &answer->best);
}

/* Half of the interval of the objective; NaN if it is unknown. Energy is time x power, and power has no error here. */
static double half_of(const IfmPlanCost *cost, IfmObjective objective)
{
    double ratio = objective == IFM_OBJECTIVE_LATENCY ? cost->latency_spread_ratio : cost->cycle_spread_ratio;
    return ratio * search_objective_of(cost, objective);
}

static void decide(IfmPlanAnswer *answer, IfmObjective objective)
{
    const IfmPlanCost *best = &answer->best.cost, *single = &answer->single.cost;
    guint n_devices = 0;
    for (guint b = 0; b < answer->best.plan->blocks->len; b++)
        n_devices += (guint)ifm_plan_block(answer->best.plan, b)->n_devices;
    if (answer->single.plan != NULL && n_devices > 1)
        answer_decide(answer, search_objective_of(single, objective) - search_objective_of(best, objective),
                      half_of(best, objective), half_of(single, objective));
    else
        answer_take(answer, &answer->best);
}

gboolean ifm_plan_foresee(const IfmCosts *costs, const IfmPlan *plan, const IfmSimulateOptions *options,
                          IfmPlanForecast *forecast, GError **error)
{
    g_auto(IfmSimulation) simulation = { 0 };
    *forecast = (IfmPlanForecast){ NAN, NAN };
    if (!ifm_plan_simulate(costs, plan, options, &simulation, error))
        return FALSE;
    *forecast =
        (IfmPlanForecast){ (double)simulation.makespan_ns / (double)options->n_batches, simulation.makespan_spread_ratio };
    return TRUE;
}

gboolean ifm_plan_settle(const IfmCosts *costs, IfmObjective objective, const IfmSimulateOptions *options,
                         IfmPlanAnswer *answer, GError **error)
{
    IfmPlanForecast *best = &answer->best.forecast, *single = &answer->single.forecast;
    *single = (IfmPlanForecast){ NAN, NAN };
    if (!ifm_plan_foresee(costs, answer->best.plan, options, best, error) ||
        (answer->single.plan != NULL && !ifm_plan_foresee(costs, answer->single.plan, options, single, error)))
        return FALSE;
    if (objective == IFM_OBJECTIVE_THROUGHPUT && answer->single.plan != NULL &&
        !ifm_plan_same_shape(answer->best.plan, answer->single.plan))
        answer_decide(answer, single->cycle_ns - best->cycle_ns, best->spread_ratio * best->cycle_ns,
                      single->spread_ratio * single->cycle_ns);
    return TRUE;
}

/* --- the search ------------------------------------------------------------------------------------------------------- */

static void find_single(PlanSpace *space, IfmPlanAnswer *answer)
{
    const IfmObjective objective = space->question->objective;
    int n = space->costs->n_stages;
    for (int d = 0; d < space->costs->n_devices; d++)
    {
        const SpaceBlock block = { .first = 1, .last = n, .set = 1u << d, .shares = { 1 } };
        g_auto(IfmPlanChoice) choice = { 0 };
        if ((space->devices & 1u << d) == 0 || (space->runs[1u << d][0] >> (n - 1) & 1) == 0 ||
            !space_choose(space, &block, 1, &choice, NULL) ||
            (answer->single.plan != NULL &&
             search_objective_of(&choice.cost, objective) >= search_objective_of(&answer->single.cost, objective)))
            continue;
        const IfmPlanChoice before = answer->single;
        answer->single = choice;
        choice = before;
    }
}

static void certify(IfmPlanAnswer *answer, const Search *search)
{
    double value = search_objective_of(&answer->best.cost, search->objective);
    answer->optimal = !(search->open_bound < search->best);
    answer->lower_bound = answer->optimal ? value : fmin(search->open_bound, value);
    answer->gap_ratio = answer->optimal ? 0 : value / answer->lower_bound - 1;
    answer->n_visited = search->n_visited;
    answer->n_pruned = search->n_pruned;
}

static void report_nothing_found(const PlanSpace *space, GError **error)
{
    const IfmPlanQuestion *question = space->question;
    g_autofree char *sparse = NULL;
    for (int d = 0; d < space->costs->n_devices && sparse == NULL; d++)
        if ((space->devices & 1u << d) != 0)
            sparse = ifm_costs_why_sparse(space->costs, d, question->nodes, question->edges);
    if (sparse != NULL)
        ifm_error_refuse(error, "%s", sparse);
    else
        ifm_error_set(error, IFM_ERROR_UNSUPPORTED,
                      "plan: every stage has a device, but no plan of at most %d blocks, each device in one, covers stages "
                      "1 to %d at %.0f nodes, %.0f edges",
                      space->max_blocks, space->costs->n_stages, question->nodes, question->edges);
}

gboolean ifm_plan_search(const IfmCosts *costs, const IfmPlanQuestion *question, IfmPlanAnswer *answer, GError **error)
{
    g_autofree PlanSpace *space = g_new(PlanSpace, 1);
    g_autofree Search *search = g_new(Search, 1);
    *answer = (IfmPlanAnswer){ 0 };
    if (!space_init(space, costs, question, error))
        return FALSE;
    answer->n_ranges = (gint64)costs->n_stages * (costs->n_stages + 1) / 2;
    answer->n_subsets = ((gint64)1 << __builtin_popcount(space->devices)) - 1;
    answer->n_ranges_known = space_n_ranges(space);
    answer->n_structures = space_n_structures(space);
    find_single(space, answer);
    search_init(search, space, answer);
    search_all(search);
    gboolean found = search->found.n_blocks > 0;
    if (found)
        found = space_choose(space, search->found.blocks, search->found.n_blocks, &answer->best, error);
    else
        report_nothing_found(space, error);
    if (found)
    {
        decide(answer, question->objective);
        certify(answer, search);
    }
    else
        ifm_plan_answer_clear(answer);
    search_clear(search);
    space_clear(space);
    return found;
}
