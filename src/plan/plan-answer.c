#include <base/fields.h>
#include <math.h>

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

static json_t *choice_to_json(const IfmPlanChoice *choice)
{
    const IfmPlanForecast *forecast = &choice->forecast;
    if (choice->plan == NULL)
        return json_null();
    json_t *json = ifm_plan_cost_to_json(&choice->cost);
    json_object_set_new(json, "plan", ifm_plan_blocks_to_json(choice->plan));
    gboolean known = forecast->cycle_ns > 0;
    json_object_set_new(json, "predicted_cycle_ns", ifm_json_real(known ? forecast->cycle_ns : (double)NAN));
    json_object_set_new(json, "predicted_cycle_spread_ratio", ifm_json_real(known ? forecast->spread_ratio : (double)NAN));
    return json;
}

static const IfmRecordField certificate_fields[] = {
    { IFM_RECORD(FLAG, IfmPlanAnswer, optimal) },        { IFM_RECORD(FLAG, IfmPlanAnswer, within_uncertainty) },
    { IFM_RECORD(FLAG, IfmPlanAnswer, spread_unknown) }, { IFM_RECORD(INT64, IfmPlanAnswer, n_ranges) },
    { IFM_RECORD(INT64, IfmPlanAnswer, n_subsets) },     { IFM_RECORD(INT64, IfmPlanAnswer, n_visited) },
    { IFM_RECORD(INT64, IfmPlanAnswer, n_pruned) },      { IFM_RECORD(INT64, IfmPlanAnswer, n_ranges_known) },
    { IFM_RECORD(DOUBLE, IfmPlanAnswer, n_structures) }, { IFM_RECORD(DOUBLE, IfmPlanAnswer, lower_bound) },
    { IFM_RECORD(DOUBLE, IfmPlanAnswer, gap_ratio) },    { NULL },
};

json_t *ifm_plan_answer_to_json(const IfmPlanReport *report)
{
    const IfmPlanned *planned = report->planned;
    const IfmPlanAnswer *answer = &planned->answer;
    const IfmPlanSize *size = &planned->size;
    json_t *json = ifm_plan_to_json(answer->plan);
    json_object_set_new(json, "sizes", json_pack("[[II]]", (json_int_t)size->nodes, (json_int_t)size->edges));
    json_object_set_new(json, "objective", json_string(ifm_objective_words()[report->objective]));
    json_object_set_new(json, "cost", ifm_plan_cost_to_json(&answer->cost));
    json_object_set_new(json, "costs",
                        ifm_costs_to_json(report->costs, answer->plan, (double)size->nodes, (double)size->edges));
    json_object_set_new(json, "n_implausible",
                        json_integer(report->costs != NULL ? (json_int_t)ifm_costs_n_implausible(report->costs) : 0));
    json_object_set_new(json, "certificate", ifm_record_to_json(answer, certificate_fields));
    json_object_set_new(json, "best", choice_to_json(&answer->best));
    json_object_set_new(json, "single", choice_to_json(&answer->single));
    if (planned->other.plan != NULL)
        json_object_set_new(json, "given", choice_to_json(&planned->other));
    json_object_set_new(json, "prediction",
                        planned->prediction != NULL ? json_deep_copy(planned->prediction) : json_null());
    return json;
}

/* --- all that was found ----------------------------------------------------------------------------------------------- */

IfmPlanReport ifm_plan_report(const IfmPlanResult *result, const IfmPlanned *planned)
{
    const IfmPlanContext *context = &result->context;
    return (IfmPlanReport){ context->tables->name, context->question.objective,
                            context->costs,        planned,
                            context->place.folder, context->tables };
}

static const IfmRecordField pareto_fields[] = {
    { IFM_RECORD(DOUBLE, IfmPlanCost, latency_ns) },
    { IFM_RECORD(DOUBLE, IfmPlanCost, cycle_ns) },
    { IFM_RECORD(DOUBLE, IfmPlanCost, energy_j) },
    { NULL },
};

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
        const IfmPlanChoice *answer = planned->pareto->pdata[i];
        json_t *one = json_object();
        json_object_set_new(one, "plan", ifm_plan_blocks_to_json(answer->plan));
        json_object_update_new(one, ifm_record_to_json(&answer->cost, pareto_fields));
        json_array_append_new(pareto, one);
    }
    if (pareto != NULL)
        json_object_set_new(json, "pareto", pareto);
    return json;
}

json_t *ifm_plan_result_to_json(const IfmPlanResult *result)
{
    gboolean single = result->planned->len == 1;
    json_t *json = single ? planned_to_json(result, result->planned->pdata[0]) : json_object();
    json_object_set_new(json, "format", json_string(single ? "plan" : "plans"));
    json_object_set_new(json, "format_version", json_integer(1));
    if (single)
        return json;
    json_t *plans = json_array();
    for (guint i = 0; i < result->planned->len; i++)
        json_array_append_new(plans, planned_to_json(result, result->planned->pdata[i]));
    json_object_set_new(json, "plans", plans);
    return json;
}
