#include <math.h>

#include <inferometer/json.h>

#include "report-private.h"

/* What a plan is expected to do, as a document: it is stored before the run begins, and what the run comes to is held
 * against it. */

static json_t *blocks_to_json(const IfmPlan *plan, const IfmTraceAnalysis *analysis)
{
    json_t *blocks = json_array();
    for (guint i = 0; i < analysis->stages->len; i++)
    {
        const IfmStageUse *use = &g_array_index(analysis->stages, IfmStageUse, i);
        g_autofree char *name = ifm_plan_block_name(plan, use->block);
        json_t *block = json_pack("{s:i,s:o,s:i,s:i}", "block", use->block, "devices", ifm_json_string(name), "first",
                                  use->first, "last", use->last);
        json_object_set_new(block, "mean_ns", ifm_json_real(use->mean_ns));
        json_object_set_new(block, "median_ns", ifm_json_real(use->median_ns));
        json_object_set_new(block, "partition_ns", ifm_json_real(use->partition_ns));
        json_object_set_new(block, "device_ns", ifm_json_real(use->device_ns));
        json_object_set_new(block, "merge_ns", ifm_json_real(use->merge_ns));
        json_object_set_new(block, "turn_ns", ifm_json_real(use->turn_ns));
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
        json_t *device = json_pack("{s:o,s:i}", "alias", ifm_json_string(use->info->device), "stream", use->info->stream);
        json_object_set_new(device, "wall_utilisation", ifm_json_real(use->wall_utilisation));
        json_object_set_new(device, "bubble_mean_ns", ifm_json_real(use->bubble_mean_ns));
        json_array_append_new(devices, device);
    }
    return devices;
}

json_t *ifm_prediction_to_json(const IfmPlan *plan, const IfmPlanCost *cost, const IfmSimulation *simulation,
                               gsize n_batches, GError **error)
{
    IfmTraceQuestion question = IFM_TRACE_QUESTION_INIT;
    g_autoptr(IfmTraceAnalysis) analysis = ifm_trace_analyse(simulation->trace, &question, error);
    if (analysis == NULL)
        return NULL;
    json_t *json = ifm_plan_cost_to_json(cost);
    json_object_set_new(json, "plan", ifm_plan_blocks_to_json(plan));
    json_object_set_new(json, "n_batches", json_integer((json_int_t)n_batches));
    json_object_set_new(json, "makespan_ns", json_integer(simulation->makespan_ns));
    json_object_set_new(json, "makespan_spread_ratio", ifm_json_real(simulation->makespan_spread_ratio));
    json_object_set_new(json, "throughput_per_s", ifm_json_real(simulation->throughput_per_s));
    json_object_set_new(json, "batch_latency_ns", ifm_json_real(simulation->latency_median_ns));
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
        json_object_set_new(total, "parts", parts = json_pack("[o]", first));
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

char *ifm_prediction_pilot_line(const json_t *prediction, double measured_ns)
{
    const json_t *pilot = json_object_get(prediction, "pilot"), *tables = json_object_get(pilot, "tables");
    const char *failed = ifm_member_text(pilot, "failed");
    gsize n = json_array_size(json_object_get(pilot, "rounds"));
    double by_tables_ns = ifm_member_number(tables, "makespan_ns");
    if (failed != NULL)
        return g_strdup_printf("none: %s; the prediction is by the study alone", failed);
    if (n == 0)
        return NULL;
    g_autofree char *told = ifm_format_duration(by_tables_ns), *off = ifm_format_ratio(measured_ns / by_tables_ns - 1);
    g_autoptr(IfmPlan) plan = ifm_plan_from_json(json_object_get(tables, "plan"), "prediction", NULL);
    g_autofree char *text = plan != NULL ? ifm_plan_to_text(plan) : g_strdup("its plan");
    g_autofree char *missed = isfinite(measured_ns) ? g_strdup_printf(", and the run was %s%s off that",
                                                                      measured_ns >= by_tables_ns ? "+" : "", off)
                                                    : g_strdup("");
    return g_strdup_printf("tried in %" G_GSIZE_FORMAT
                           " short run%s before the prediction; by the study alone %s would take "
                           "%s%s",
                           n, n == 1 ? "" : "s", text, told, missed);
}
