#include <base/fields.h>
#include <trace/trace.h>

#include <math.h>

#include "plan-private.h"

/* What a plan is expected to do, as a document: it is stored before the run begins, and what the run comes to is held
 * against it. */

static const IfmRecordField block_fields[] = {
    { IFM_RECORD(INT, IfmStageUse, first) },
    { IFM_RECORD(INT, IfmStageUse, last) },
    { IFM_RECORD(DOUBLE, IfmStageUse, mean_ns) },
    { IFM_RECORD(DOUBLE, IfmStageUse, median_ns) },
    { IFM_RECORD(DOUBLE, IfmStageUse, partition_ns) },
    { IFM_RECORD(DOUBLE, IfmStageUse, device_ns) },
    { IFM_RECORD(DOUBLE, IfmStageUse, merge_ns) },
    { IFM_RECORD(DOUBLE, IfmStageUse, turn_ns) },
    { NULL },
};

static const IfmRecordField device_fields[] = {
    { IFM_RECORD(DOUBLE, IfmTrackUse, wall_utilisation) },
    { IFM_RECORD(DOUBLE, IfmTrackUse, bubble_mean_ns) },
    { NULL },
};

static const IfmRecordField simulation_fields[] = {
    { IFM_RECORD(INT64, IfmSimulation, makespan_ns) },
    { IFM_RECORD(DOUBLE, IfmSimulation, makespan_spread_ratio) },
    { IFM_RECORD(DOUBLE, IfmSimulation, throughput_per_s) },
    { .name = "batch_latency_ns", .offset = offsetof(IfmSimulation, latency_median_ns), .type = IFM_RECORD_DOUBLE },
    { NULL },
};

static json_t *blocks_to_json(const IfmPlan *plan, const IfmTraceAnalysis *analysis)
{
    json_t *blocks = json_array();
    for (guint i = 0; i < analysis->stages->len; i++)
    {
        const IfmStageUse *use = &g_array_index(analysis->stages, IfmStageUse, i);
        g_autofree char *name = ifm_plan_block_name(plan, use->block);
        json_t *block = json_pack("{s:i,s:o}", "block", (int)use->block, "devices", ifm_json_string(name));
        json_object_update_new(block, ifm_record_to_json(use, block_fields));
        json_array_append_new(blocks, block);
    }
    return blocks;
}

static json_t *devices_to_json(const IfmTraceAnalysis *analysis)
{
    json_t *devices = json_array();
    for (guint i = 0; i < analysis->tracks->len; i++)
    {
        const IfmTrackUse *use = &g_array_index(analysis->tracks, IfmTrackUse, i);
        if (use->info->kind != IFM_TRACK_DEVICE)
            continue;
        json_t *device =
            json_pack("{s:o,s:i}", "alias", ifm_json_string(use->info->device), "stream", (int)use->info->stream);
        json_object_update_new(device, ifm_record_to_json(use, device_fields));
        json_array_append_new(devices, device);
    }
    return devices;
}

/* Its cost, and what simulating it came to, blocks and devices as the analysis of that trace has them: docs/formats.md.
 * (transfer full) NULL with the errors of ifm_trace_analyse(). */
static json_t *prediction_to_json(const IfmPlan *plan, const IfmPlanCost *cost, const IfmSimulation *simulation,
                                  gsize n_batches, GError **error)
{
    IfmTraceQuestion question = IFM_TRACE_QUESTION_INIT;
    g_autoptr(IfmTraceAnalysis) analysis = ifm_trace_analyse(simulation->trace, &question, error);
    if (analysis == NULL)
        return NULL;
    json_t *json = ifm_plan_cost_to_json(cost);
    json_object_set_new(json, "plan", ifm_plan_blocks_to_json(plan));
    json_object_set_new(json, "n_batches", json_integer((json_int_t)n_batches));
    json_object_update_new(json, ifm_record_to_json(simulation, simulation_fields));
    json_object_set_new(json, "cycle_ns", ifm_json_real((double)simulation->makespan_ns / (double)n_batches));
    json_object_set_new(json, "cycle_spread_ratio", ifm_json_real(simulation->makespan_spread_ratio));
    json_object_set_new(json, "blocks", blocks_to_json(plan, analysis));
    json_object_set_new(json, "devices", devices_to_json(analysis));
    return json;
}

static double with_part(const json_t *total, const json_t *part, const char *key)
{
    double before = ifm_member_number(total, key);
    return (isnan(before) ? 0 : before) + ifm_member_number(part, key);
}

void ifm_prediction_add(json_t *total, json_t *part)
{
    double makespan_ns = with_part(total, part, "makespan_ns"), n = with_part(total, part, "n_batches");
    if (json_object_size(total) == 0) /* of one plan all of it stands */
    {
        json_object_update(total, part);
        json_decref(part);
        return;
    }
    json_t *parts = json_object_get(total, "parts");
    if (parts == NULL)
    {
        json_t *first = json_copy(total);
        json_object_clear(total);
        json_object_set_new(total, "parts", parts = json_array());
        json_array_append_new(parts, first);
    }
    json_array_append_new(parts, part);
    double spread_ns = 0;
    for (gsize i = 0; i < json_array_size(parts); i++)
        spread_ns += ifm_member_number(json_array_get(parts, i), "makespan_spread_ratio") *
                     ifm_member_number(json_array_get(parts, i), "makespan_ns");
    json_object_set_new(total, "n_batches", json_integer((json_int_t)n));
    json_object_set_new(total, "makespan_ns", json_integer((json_int_t)makespan_ns));
    json_object_set_new(total, "makespan_spread_ratio", ifm_json_real(spread_ns / makespan_ns));
    json_object_set_new(total, "throughput_per_s", ifm_json_real(n * 1e9 / makespan_ns));
}

/* Batches a second of each of the plan's devices on whole batches of its own while all of them work, as a run measures them
 * for its bound; those that cannot run all stages have none. */
static void add_bound(const IfmCosts *costs, const IfmPlan *plan, const IfmSimulateOptions *options, json_t *prediction)
{
    json_t *together = json_object();
    for (guint i = 0; i < plan->devices->len; i++)
    {
        double rate = ifm_plan_together(costs, plan, (int)i, options->sizes, options->n_sizes);
        if (isfinite(rate))
            json_object_set_new(together, ifm_plan_device(plan, (int)i)->alias, json_real(rate));
    }
    json_object_set_new(prediction, "together", together);
}

json_t *ifm_plan_predict(const IfmCosts *costs, const IfmPlan *plan, const IfmSimulateOptions *options, IfmTrace **trace,
                         GError **error)
{
    g_auto(IfmPlanCost) cost = { 0 };
    g_auto(IfmSimulation) simulation = { 0 };
    const IfmPlanSize *first = &options->sizes[0];
    if (!ifm_plan_cost_with_sources(costs, plan, (double)first->nodes, (double)first->edges,
                                    options->sources != NULL ? (double)options->sources[0] : 0, &cost, error) ||
        !ifm_plan_simulate(costs, plan, options, &simulation, error))
        return NULL;
    json_t *prediction = prediction_to_json(plan, &cost, &simulation, options->n_batches, error);
    if (prediction == NULL)
        return NULL;
    add_bound(costs, plan, options, prediction);
    if (trace != NULL)
        *trace = g_steal_pointer(&simulation.trace);
    return prediction;
}

void ifm_plan_name_stream(IfmTrace *trace, const char *stream)
{
    ifm_trace_add_meta(trace, "stream", ifm_json_string(stream));
}
