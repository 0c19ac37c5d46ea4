#include <inferometer/planning.h>
#include <internal/pipeline.h>

#include <internal/json.h>

#include "costs-private.h"

/* A plan that was found, as a document: with what it costs, how much was searched, and what it was held against. */

const char *ifm_costs_why_never(const IfmCosts *costs, int device, int stage)
{
    for (int first = 1; first <= stage; first++)
        for (int last = stage; last <= (int)ifm_costs_n_stages(costs); last++)
            if (ifm_costs_why_not(costs, device, first, last) == NULL)
                return NULL;
    return ifm_costs_why_not(costs, device, stage, stage);
}

static json_t *choice_to_json(const IfmPlan *plan, const IfmPlanCost *cost)
{
    if (plan == NULL)
        return json_null();
    json_t *json = ifm_plan_cost_to_json(cost);
    json_object_set_new(json, "plan", ifm_plan_blocks_to_json(plan));
    return json;
}

static json_t *certificate_to_json(const IfmPlanAnswer *answer)
{
    json_t *json = json_pack("{s:b,s:b,s:b,s:I,s:I,s:I,s:I}", "optimal", answer->optimal, "within_uncertainty",
                             answer->within_uncertainty, "spread_unknown", answer->spread_unknown, "n_ranges",
                             (json_int_t)answer->n_ranges, "n_subsets", (json_int_t)answer->n_subsets, "n_visited",
                             (json_int_t)answer->n_visited, "n_pruned", (json_int_t)answer->n_pruned);
    json_object_set_new(json, "n_ranges_known", json_integer((json_int_t)answer->n_ranges_known));
    json_object_set_new(json, "n_structures", ifm_json_real(answer->n_structures));
    json_object_set_new(json, "lower_bound", ifm_json_real(answer->lower_bound));
    json_object_set_new(json, "gap_ratio", ifm_json_real(answer->gap_ratio));
    return json;
}

json_t *ifm_plan_answer_to_json(const IfmPlanReport *report)
{
    const IfmPlanAnswer *answer = report->answer;
    json_t *json = ifm_plan_to_json(answer->plan);
    json_object_set_new(json, "sizes", json_pack("[[I,I]]", (json_int_t)report->nodes, (json_int_t)report->edges));
    json_object_set_new(json, "objective", json_string(ifm_objective_words()[report->objective]));
    json_object_set_new(json, "cost", ifm_plan_cost_to_json(&answer->cost));
    json_object_set_new(json, "certificate", certificate_to_json(answer));
    json_object_set_new(json, "best", choice_to_json(answer->best, &answer->best_cost));
    json_object_set_new(json, "single", choice_to_json(answer->single, &answer->single_cost));
    if (report->other != NULL)
        json_object_set_new(json, "given", choice_to_json(report->other, report->other_cost));
    json_object_set_new(json, "prediction", report->prediction != NULL ? json_deep_copy(report->prediction) : json_null());
    return json;
}

/* --- all that was found ----------------------------------------------------------------------------------------------- */

IfmPlanReport ifm_plan_report(const IfmPlanResult *result, const IfmPlanned *planned)
{
    const IfmPlanContext *context = &result->context;
    return (IfmPlanReport){
        .model = context->tables->name,
        .nodes = planned->size.nodes,
        .edges = planned->size.edges,
        .objective = context->question.objective,
        .costs = context->costs,
        .answer = &planned->answer,
        .prediction = planned->prediction,
        .other = planned->other,
        .other_cost = planned->other != NULL ? &planned->other_cost : NULL,
        .pareto = planned->pareto,
    };
}

/* With what a run needs to know of the model. */
static json_t *planned_to_json(const IfmPlanResult *result, const IfmPlanned *planned)
{
    const IfmStageSizes *sizes = &result->context.tables->sizes;
    IfmPlanReport report = ifm_plan_report(result, planned);
    json_t *json = ifm_plan_answer_to_json(&report);
    json_object_set_new(json, "features", json_integer(sizes->features));
    json_object_set_new(json, "hidden", json_integer(sizes->hidden));
    json_t *pareto = planned->pareto != NULL ? json_array() : NULL;
    for (guint i = 0; pareto != NULL && i < planned->pareto->len; i++)
    {
        const IfmPlanAnswer *answer = planned->pareto->pdata[i];
        json_t *one = json_pack("{s:o}", "plan", ifm_plan_blocks_to_json(answer->plan));
        json_object_set_new(one, "latency_ns", ifm_json_real(answer->cost.latency_ns));
        json_object_set_new(one, "cycle_ns", ifm_json_real(answer->cost.cycle_ns));
        json_object_set_new(one, "energy_j", ifm_json_real(answer->cost.energy_j));
        json_array_append_new(pareto, one);
    }
    if (pareto != NULL)
        json_object_set_new(json, "pareto", pareto);
    return json;
}

json_t *ifm_plan_result_to_json(const IfmPlanResult *result)
{
    json_t *plans = json_array();
    for (guint i = 0; i < result->planned->len; i++)
        json_array_append_new(plans, planned_to_json(result, result->planned->pdata[i]));
    if (result->planned->len != 1)
        return json_pack("{s:s,s:i,s:o}", "format", "plans", "format_version", 1, "plans", plans);
    json_t *one = json_incref(json_array_get(plans, 0));
    json_decref(plans);
    json_object_set_new(one, "format", json_string("plan"));
    json_object_set_new(one, "format_version", json_integer(1));
    return one;
}
