/* The answer of a search: the plan, whether a single device is as good, and how certain it is. */
#include <math.h>

#include "search-private.h"

void ifm_plan_answer_clear(IfmPlanAnswer *answer)
{
    g_clear_pointer(&answer->plan, ifm_plan_free);
    g_clear_pointer(&answer->best, ifm_plan_free);
    g_clear_pointer(&answer->single, ifm_plan_free);
    ifm_plan_cost_clear(&answer->cost);
    ifm_plan_cost_clear(&answer->best_cost);
    ifm_plan_cost_clear(&answer->single_cost);
    *answer = (IfmPlanAnswer){ 0 };
}

void answer_take(IfmPlanAnswer *answer, gboolean single)
{
    g_clear_pointer(&answer->plan, ifm_plan_free);
    ifm_plan_cost_clear(&answer->cost);
    answer->plan = ifm_plan_copy(single ? answer->single : answer->best);
    answer->cost = single ? answer->single_cost : answer->best_cost;
    g_array_ref(answer->cost.alone);
    g_array_ref(answer->cost.steady);
}

static gboolean is_unknown(const IfmPlanCost *cost, IfmObjective objective)
{
    return isnan(objective == IFM_OBJECTIVE_LATENCY ? cost->latency_spread_ratio : cost->cycle_spread_ratio);
}

/* Half of the interval of the objective; 0 if it is unknown. Energy is time x power, and power has no error here. */
static double half_of(const IfmPlanCost *cost, IfmObjective objective)
{
    double ratio = objective == IFM_OBJECTIVE_LATENCY ? cost->latency_spread_ratio : cost->cycle_spread_ratio;
    return isnan(ratio) ? 0 : ratio * search_objective_of(cost, objective);
}

static void find_single(PlanSpace *space, IfmPlanAnswer *answer)
{
    const IfmPlanQuestion *question = space->question;
    const CostBatch batch = { question->nodes, question->edges, question->sources };
    int n = space->costs->n_stages;
    for (int d = 0; d < space->costs->n_devices; d++)
    {
        const SpaceBlock block = { .first = 1, .last = n, .set = 1u << d, .shares = { 1 } };
        if ((space->devices & 1u << d) == 0 || (space->runs[1u << d][0] >> (n - 1) & 1) == 0)
            continue;
        g_autoptr(IfmPlan) plan = space_plan(space, &block, 1);
        g_auto(IfmPlanCost) cost = { 0 };
        if (!plan_cost_on(space->costs, space->curves, plan, &batch, &cost, NULL))
            continue;
        if (answer->single != NULL && search_objective_of(&cost, question->objective) >=
                                          search_objective_of(&answer->single_cost, question->objective))
            continue;
        ifm_plan_cost_clear(&answer->single_cost);
        g_clear_pointer(&answer->single, ifm_plan_free);
        answer->single = g_steal_pointer(&plan);
        answer->single_cost = cost;
        cost = (IfmPlanCost){ 0 };
    }
}

static void decide(IfmPlanAnswer *answer, IfmObjective objective)
{
    guint n_devices = 0;
    for (guint b = 0; b < answer->best->blocks->len; b++)
        n_devices += (guint)ifm_plan_block(answer->best, b)->n_devices;
    if (answer->single != NULL && n_devices > 1)
    {
        double gain =
            search_objective_of(&answer->single_cost, objective) - search_objective_of(&answer->best_cost, objective);
        double doubt = hypot(half_of(&answer->single_cost, objective), half_of(&answer->best_cost, objective));
        answer->within_uncertainty = gain <= doubt;
        answer->spread_unknown = is_unknown(&answer->single_cost, objective) || is_unknown(&answer->best_cost, objective);
    }
    answer_take(answer, answer->within_uncertainty);
}

static void certify(IfmPlanAnswer *answer, const Search *search)
{
    double value = search_objective_of(&answer->best_cost, search->objective);
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
    {
        const CostBatch batch = { question->nodes, question->edges, question->sources };
        answer->best = space_plan(space, search->found.blocks, search->found.n_blocks);
        found = plan_cost_on(costs, space->curves, answer->best, &batch, &answer->best_cost, error);
    }
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
