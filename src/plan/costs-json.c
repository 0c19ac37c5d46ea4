/* What a plan's cost is computed from, so that others can compute it again: docs/formats.md, docs/planning.md. */
#include <base/fields.h>
#include <math.h>

#include "plan-private.h"

typedef struct
{
    const IfmCosts *costs;
    const IfmPlan *plan;
    CurveTable *curves;
    CostBatch batch;
    guint32 used; /* devices of the plan, by the cost model's indices */
} Telling;

static json_t *numbers(const double *values, gsize n)
{
    json_t *json = json_array();
    for (gsize i = 0; i < n; i++)
        json_array_append_new(json, ifm_json_real(values[i]));
    return json;
}

static json_t *aliases_of(const IfmCosts *costs, guint32 mask)
{
    json_t *json = json_array();
    for (int d = 0; d < costs->n_devices; d++)
        if ((mask & 1u << d) != 0)
            json_array_append_new(json, ifm_json_string(costs->devices[d]->is.alias));
    return json;
}

static json_t *host_to_json(const IfmCosts *costs)
{
    return json_pack(
        "{s:o,s:o,s:o,s:o}", "partition_fixed_ns", ifm_json_real(costs->partition_fixed_ns + costs->partition_excess_ns),
        "partition_ns_per_edge", ifm_json_real(costs->partition_ns_per_edge), "merge_ns",
        ifm_json_real(costs->merge_ns + costs->merge_excess_ns), "pad_ns_per_byte", ifm_json_real(costs->pad_ns_per_byte));
}

static json_t *curve_to_json(const PlanCurve *curve)
{
    return json_pack("{s:o,s:o,s:o}", "shares", numbers(curve->share, (gsize)curve->n), "ns",
                     numbers(curve->ns, (gsize)curve->n), "whole_ns", ifm_json_real(curve->whole_ns));
}

/* Points in rows of nodes, edges, and the figure of each statistic. */
static json_t *points_to_json(const CostEntry *entry)
{
    json_t *points = json_array();
    for (gsize i = 0; i < entry->n; i++)
    {
        double nodes = (double)entry->points[i].nodes, edges = (double)entry->points[i].edges,
               row[2 + IFM_COST_N_STATISTICS] = { nodes, edges };
        for (int of = 0; of < IFM_COST_N_STATISTICS; of++)
            row[2 + of] = costs_entry_at(entry, (IfmCostStatistic)of, nodes, edges, NULL);
        json_array_append_new(points, numbers(row, G_N_ELEMENTS(row)));
    }
    return points;
}

static json_t *entry_to_json(const IfmCosts *costs, const CostEntry *entry)
{
    double plane[3];
    if (entry->trend != NULL)
        ifm_trend_coefficients(entry->trend, plane);
    return json_pack("{s:o,s:o,s:o}", "busy", aliases_of(costs, entry->busy), "points", points_to_json(entry), "trend",
                     entry->trend != NULL ? numbers(plane, G_N_ELEMENTS(plane)) : json_null());
}

/* The measured ranges that make up a block's stages on a device, alone and under load. */
static json_t *ranges_to_json(const Telling *telling, int device, const IfmPlanBlock *block)
{
    int piece[IFM_COST_MAX_STAGES + 1];
    json_t *ranges = json_array();
    costs_pieces(telling->costs, device, block->first, piece);
    for (int last = block->last; last >= block->first && piece[last] != 0; last = piece[last] - 1)
    {
        const CostRange *range = costs_range(telling->costs, device, piece[last], last);
        json_t *json = json_pack("{s:i,s:i}", "first", range->first, "last", range->last), *entries = json_array();
        json_array_append_new(entries, entry_to_json(telling->costs, range->alone));
        for (guint i = 0; i < range->busy->len; i++)
            json_array_append_new(entries, entry_to_json(telling->costs, range->busy->pdata[i]));
        json_object_set_new(json, "latencies", entries);
        json_array_insert_new(ranges, 0, json);
    }
    return ranges;
}

static json_t *part_to_json(const Telling *telling, const IfmPlanBlock *block, gsize at, guint32 set)
{
    const IfmCosts *costs = telling->costs;
    const IfmPlanDevice *described = telling->plan->devices->pdata[block->devices[at]];
    int device = ifm_costs_find_device(costs, described->alias);
    guint32 own = 1u << device;
    const CostCorrection *shown = costs_correction(costs, device, block->first, block->last, telling->used & ~own);
    const PlanCurve *alone = curve_table_alone(telling->curves, device, block->first, block->last, set & ~own),
                    *steady = curve_table_get(telling->curves, IFM_COST_MEAN, device, block->first, block->last,
                                              telling->used & ~own);
    double nodes = cost_held_nodes(costs, device, block->n_devices, telling->batch.nodes, telling->batch.sources);
    CostPart copies = { 0 };
    costs_copies(costs, device, block->first, block->last, (int)block->n_devices,
                 block->n_devices > 1 ? block->ratios[at] : 1, nodes, telling->batch.edges, &copies);
    return json_pack("{s:o,s:f,s:i,s:b,s:f,s:f,s:o,s:o,s:o,s:o,s:o,s:o}", "alias", ifm_json_string(described->alias),
                     "share", block->ratios[at], "n_streams", cost_n_streams(costs, device, described), "copies",
                     copies.copies, "copy_in_ns", copies.in_ns, "copy_out_ns", copies.out_ns, "busy_alone",
                     aliases_of(costs, set & ~own), "busy_steady", aliases_of(costs, telling->used & ~own), "alone",
                     curve_to_json(alone), "steady", curve_to_json(steady), "correction",
                     ifm_json_real(shown != NULL ? shown->factor : 1), "ranges", ranges_to_json(telling, device, block));
}

static guint32 set_of(const Telling *telling, const IfmPlanBlock *block)
{
    guint32 set = 0;
    for (gsize i = 0; i < block->n_devices; i++)
    {
        const IfmPlanDevice *device = telling->plan->devices->pdata[block->devices[i]];
        int at = ifm_costs_find_device(telling->costs, device->alias);
        set |= at >= 0 ? 1u << at : 0;
    }
    return set;
}

json_t *ifm_costs_to_json(const IfmCosts *costs, const IfmPlan *plan, double nodes, double edges)
{
    g_autoptr(CurveTable) curves = curve_table_new(costs, nodes, edges, 0, TRUE);
    Telling telling = { costs, plan, curves, { nodes, edges, 0 }, 0 };
    json_t *blocks = json_array();
    for (guint b = 0; b < plan->blocks->len; b++)
        telling.used |= set_of(&telling, ifm_plan_block(plan, b));
    for (guint b = 0; b < plan->blocks->len; b++)
    {
        const IfmPlanBlock *block = ifm_plan_block(plan, b);
        guint32 set = set_of(&telling, block);
        json_t *parts = json_array();
        for (gsize i = 0; i < block->n_devices; i++)
            json_array_append_new(parts, part_to_json(&telling, block, i, set));
        json_array_append_new(blocks, json_pack("{s:i,s:i,s:i,s:o}", "block", (int)b + 1, "first", block->first, "last",
                                                block->last, "devices", parts));
    }
    return json_pack("{s:s,s:o,s:o}", "statistic", ifm_cost_statistic_words()[costs->statistic], "host",
                     host_to_json(costs), "blocks", blocks);
}
