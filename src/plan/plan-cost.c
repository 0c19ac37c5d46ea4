/* What a plan costs: the time of a batch that is alone, and the time each device is busy per batch of a full
 * pipeline. */
#include <base/base.h>
#include <math.h>
#include <string.h>

#include "plan-private.h"

/* A year. Longer times are not planned for, and the simulation cannot count them. */
#define MAX_NS 3.15e16

void ifm_plan_cost_clear(IfmPlanCost *cost)
{
    g_clear_pointer(&cost->alone, g_array_unref);
    g_clear_pointer(&cost->steady, g_array_unref);
    *cost = (IfmPlanCost){ 0 };
}

/* --- the host's part -------------------------------------------------------------------------------------------------- */

double cost_partition_ns(const IfmCosts *costs, int n_devices, gboolean first_split, double edges)
{
    if (n_devices < 2)
        return 0;
    double order_ns = first_split ? costs->partition_ns_per_edge * edges : 0;
    return costs->partition_fixed_ns + order_ns + costs->partition_excess_ns;
}

double cost_merge_ns(const IfmCosts *costs, int n_devices)
{
    return n_devices < 2 ? 0 : costs->merge_ns + costs->merge_excess_ns;
}

int cost_n_streams(const IfmCosts *costs, int device, const IfmPlanDevice *described)
{
    return described->device != NULL ? costs_streams_of(described->device) : costs->devices[device]->n_streams;
}

/* --- checking the plan against the model ------------------------------------------------------------------------------ */

char *costs_unknown_alias(const IfmCosts *costs, const char *alias)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (int d = 0; d < costs->n_devices; d++)
        g_ptr_array_add(names, (char *)costs->devices[d]->is.alias);
    g_ptr_array_add(names, NULL);
    g_autofree char *all = g_strjoinv(", ", (char **)names->pdata),
                    *hint = ifm_nearest_hint(alias, (const char *const *)names->pdata);
    return g_strdup_printf("(there are %s)%s", all, hint);
}

static gboolean check_block(const IfmCosts *costs, const IfmPlan *plan, const IfmPlanBlock *block, GError **error)
{
    for (gsize i = 0; i < block->n_devices; i++)
    {
        const char *alias = ifm_plan_device(plan, block->devices[i])->alias;
        int device = ifm_costs_find_device(costs, alias);
        if (device < 0)
        {
            g_autofree char *known = costs_unknown_alias(costs, alias);
            return ifm_error_refuse(error, "%s: no such device in the cost model %s", alias, known);
        }
        const char *why = ifm_costs_why_not(costs, device, block->first, block->last);
        if (why == NULL && block->n_devices > 1 && !costs->devices[device]->is.splits)
            why = "it takes no part in data parallelism";
        if (why != NULL)
            return ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s: stages %d to %d: %s", alias, block->first, block->last,
                                 why);
    }
    for (int stage = block->first; block->n_devices > 1 && stage <= block->last; stage++)
        if ((costs->no_split >> (stage - 1) & 1) != 0)
            return ifm_error_set(error, IFM_ERROR_UNSUPPORTED,
                                 "stage %d takes no part in data parallelism; one device is expected", stage);
    return TRUE;
}

gboolean cost_check_plan(const IfmCosts *costs, const IfmPlan *plan, GError **error)
{
    if (plan->model != NULL && costs->model != NULL && !g_str_equal(plan->model, costs->model))
        return ifm_error_refuse(error, "plan: of model \"%s\"; the costs are of \"%s\"", plan->model, costs->model);
    if (!ifm_plan_check_itself(plan, FALSE, "plan", error))
        return FALSE;
    const IfmPlanBlock *last = ifm_plan_block(plan, plan->blocks->len - 1);
    if (last->last > costs->n_stages)
        return ifm_error_refuse(error, "block %u: stages %d to %d; the costs are of %d stages", plan->blocks->len,
                                last->first, last->last, costs->n_stages);
    if (last->last < costs->n_stages)
        return ifm_error_refuse(error, "plan: stages %d to %d are in no block", last->last + 1, costs->n_stages);
    for (guint b = 0; b < plan->blocks->len; b++)
        if (!check_block(costs, plan, ifm_plan_block(plan, b), error))
            return ifm_error_prefix(error, "block %u: ", b + 1);
    return TRUE;
}

/* --- the sum over blocks ---------------------------------------------------------------------------------------------- */

typedef struct
{
    const IfmCosts *costs;
    CurveTable *curves;
    const IfmPlan *plan;
    const CostBatch *batch;
    IfmPlanCost *cost;
} Sum;

double cost_held_nodes(const IfmCosts *costs, int device, gsize n_devices, double nodes, double sources)
{
    gboolean alone = n_devices == 1 && costs->devices[device]->is.form == IFM_PLAN_STATIC;
    return alone ? fmax(nodes, sources) : nodes;
}

/* The time of one device for its share of a block. @pace: the mean. @half_ns: (out) of its 95 % interval */
static gboolean device_time(const Sum *sum, const IfmPlanBlock *block, int device, double share, guint32 busy,
                            gboolean pace, double *ns, double *half_ns, GError **error)
{
    IfmCostLatency latency;
    gboolean whole = block->n_devices == 1;
    const PlanCurve *curve =
        curve_table_get(sum->curves, pace ? IFM_COST_MEAN : sum->costs->statistic, device, block->first, block->last, busy);
    double nodes = cost_held_nodes(sum->costs, device, block->n_devices, sum->batch->nodes, sum->batch->sources);
    if (whole)
        share = 1;
    *ns = whole ? curve->whole_ns : curve_at(curve, share);
    if (!ifm_costs_latency(sum->costs, device, block->first, block->last, share * nodes, share * sum->batch->edges, busy,
                           &latency, error))
        return FALSE;
    if (!isfinite(*ns))
        return ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s: a share of %g is more than its sizes hold",
                             sum->costs->devices[device]->is.alias, share);
    *half_ns = (pace ? latency.mean_spread_ratio : latency.spread_ratio) * *ns;
    sum->cost->origin = MAX(sum->cost->origin, latency.origin);
    sum->cost->busy_known = sum->cost->busy_known && latency.busy_known;
    if (latency.summed)
    {
        const CostDevice *on = sum->costs->devices[device];
        sum->cost->summed = TRUE;
        sum->cost->fused_least_ratio = fmin(sum->cost->fused_least_ratio, on->fused_least);
        sum->cost->fused_most_ratio = fmax(sum->cost->fused_most_ratio, on->fused_most);
    }
    return TRUE;
}

/* The number of batches that a device of a block works on at once. */
static int n_streams_at(const Sum *sum, const IfmPlanBlock *block, const int *devices, gsize at)
{
    return cost_n_streams(sum->costs, devices[at], sum->plan->devices->pdata[block->devices[at]]);
}

/* @pace: in steady state, where each stream has a batch. @longest_ns: of its devices; of a batch alone, from partition
 * to merge. @half_ns: how far the longest upper end of an interval lies above it */
static gboolean block_cost(const Sum *sum, const IfmPlanBlock *block, const int *devices, guint32 busy, gboolean pace,
                           IfmBlockCost *cost, double *longest_ns, double *half_ns, GError **error)
{
    CostPart parts[IFM_PLAN_MAX_DEVICES] = { 0 }, uppers[IFM_PLAN_MAX_DEVICES] = { 0 };
    double pace_ns = 0, upper_pace_ns = 0;
    gboolean unknown = FALSE;
    for (gsize i = 0; i < block->n_devices; i++)
    {
        double half = 0, *ns = &cost->device_ns[i];
        int n_streams = pace ? n_streams_at(sum, block, devices, i) : 1;
        if (!device_time(sum, block, devices[i], block->ratios[i], busy & ~(1u << devices[i]), pace, ns, &half, error))
            return FALSE;
        double nodes = cost_held_nodes(sum->costs, devices[i], block->n_devices, sum->batch->nodes, sum->batch->sources);
        costs_copies(sum->costs, devices[i], block->first, block->last, (int)block->n_devices,
                     block->n_devices > 1 ? block->ratios[i] : 1, nodes, sum->batch->edges, &parts[i]);
        parts[i].ns = *ns;
        uppers[i] = parts[i];
        uppers[i].ns += half;
        pace_ns = fmax(pace_ns, *ns / n_streams);
        upper_pace_ns = fmax(upper_pace_ns, (*ns + half) / n_streams);
        unknown = unknown || isnan(half);
    }
    double span_ns = costs_span_ns(parts, (int)block->n_devices);
    double upper_ns = pace ? upper_pace_ns : costs_span_ns(uppers, (int)block->n_devices);
    *longest_ns = pace ? pace_ns : span_ns;
    *half_ns = unknown ? (double)NAN : upper_ns - *longest_ns;
    cost->handover_ns = costs_copied_ns(parts, (int)block->n_devices);
    cost->total_ns = cost->partition_ns + span_ns + cost->merge_ns;
    return TRUE;
}

/* @devices: (out) those of a block, as indices of the model    Returns: their mask */
static guint32 find_devices(const IfmCosts *costs, const IfmPlan *plan, const IfmPlanBlock *block, int *devices)
{
    guint32 mask = 0;
    for (gsize i = 0; i < block->n_devices; i++)
    {
        devices[i] = ifm_costs_find_device(costs, ifm_plan_device(plan, block->devices[i])->alias);
        mask |= 1u << devices[i];
    }
    return mask;
}

static void add_energy(const Sum *sum, const IfmPlanBlock *block, const int *devices, const IfmBlockCost *steady,
                       double *busy_j, double *idle_w)
{
    for (gsize i = 0; i < block->n_devices; i++)
    {
        const IfmCostDevice *device = &sum->costs->devices[devices[i]]->is;
        *busy_j += (device->active_w - device->idle_w) * steady->device_ns[i] / n_streams_at(sum, block, devices, i) * 1e-9;
        *idle_w += device->idle_w;
    }
}

static gboolean add_up(const Sum *sum, GError **error)
{
    const IfmPlan *plan = sum->plan;
    IfmPlanCost *cost = sum->cost;
    gboolean split = FALSE;
    double squares = 0, cycle_upper = 0, busy_j = 0, idle_w = 0;
    int devices[IFM_PLAN_MAX_DEVICES];
    guint32 used = 0;
    for (guint b = 0; b < plan->blocks->len; b++)
        used |= find_devices(sum->costs, plan, ifm_plan_block(plan, b), devices);
    for (guint b = 0; b < plan->blocks->len; b++)
    {
        const IfmPlanBlock *block = ifm_plan_block(plan, b);
        guint32 set = find_devices(sum->costs, plan, block, devices);
        IfmBlockCost alone = { 0 }, steady;
        double longest = 0, half = 0;
        alone.partition_ns = cost_partition_ns(sum->costs, (int)block->n_devices, !split, sum->batch->edges);
        alone.merge_ns = cost_merge_ns(sum->costs, (int)block->n_devices);
        steady = alone;
        if (!block_cost(sum, block, devices, set, FALSE, &alone, &longest, &half, error))
            return ifm_error_prefix(error, "block %u: ", b + 1);
        cost->latency_ns += alone.total_ns;
        squares += half * half;
        if (!block_cost(sum, block, devices, used, TRUE, &steady, &longest, &half, error))
            return ifm_error_prefix(error, "block %u: ", b + 1);
        double bound = fmax(longest, steady.handover_ns + steady.partition_ns + steady.merge_ns);
        if (bound > cost->cycle_ns)
        {
            cost->cycle_ns = bound;
            cost->bottleneck_block = (int)b + 1;
        }
        cycle_upper = isnan(half) || isnan(cycle_upper) ? (double)NAN : fmax(cycle_upper, fmax(bound, longest + half));
        add_energy(sum, block, devices, &steady, &busy_j, &idle_w);
        g_array_append_val(cost->alone, alone);
        g_array_append_val(cost->steady, steady);
        split = split || block->n_devices > 1;
    }
    cost->latency_spread_ratio = sqrt(squares) / cost->latency_ns;
    cost->cycle_spread_ratio = cycle_upper / cost->cycle_ns - 1;
    cost->energy_j = busy_j + idle_w * cost->cycle_ns * 1e-9;
    return TRUE;
}

gboolean plan_cost_on(const IfmCosts *costs, CurveTable *curves, const IfmPlan *plan, const CostBatch *batch,
                      IfmPlanCost *cost, GError **error)
{
    *cost = (IfmPlanCost){ .busy_known = TRUE,
                           .fused_least_ratio = NAN,
                           .fused_most_ratio = NAN,
                           .alone = g_array_new(FALSE, FALSE, sizeof(IfmBlockCost)),
                           .steady = g_array_new(FALSE, FALSE, sizeof(IfmBlockCost)) };
    const Sum sum = { costs, curves, plan, batch, cost };
    if (add_up(&sum, error))
        return TRUE;
    ifm_plan_cost_clear(cost);
    return FALSE;
}

gboolean ifm_plan_cost(const IfmCosts *costs, const IfmPlan *plan, double nodes, double edges, IfmPlanCost *cost,
                       GError **error)
{
    return ifm_plan_cost_with_sources(costs, plan, nodes, edges, 0, cost, error);
}

gboolean ifm_plan_cost_with_sources(const IfmCosts *costs, const IfmPlan *plan, double nodes, double edges, double sources,
                                    IfmPlanCost *cost, GError **error)
{
    const CostBatch batch = { nodes, edges, sources };
    *cost = (IfmPlanCost){ 0 };
    if (!(isfinite(nodes) && nodes > 0 && isfinite(edges) && edges > 0))
        return ifm_error_refuse(error, "plan: %g nodes, %g edges: both must be above 0", nodes, edges);
    if (!cost_check_plan(costs, plan, error))
        return FALSE;
    g_autoptr(CurveTable) curves = curve_table_new(costs, nodes, edges, sources, TRUE);
    if (!plan_cost_on(costs, curves, plan, &batch, cost, error))
        return FALSE;
    if (isfinite(cost->latency_ns) && cost->latency_ns < MAX_NS)
        return TRUE;
    IfmPlanSize min, max;
    ifm_costs_sizes(costs, &min, &max);
    ifm_plan_cost_clear(cost);
    return ifm_error_refuse(error,
                            "%.0f nodes, %.0f edges: beyond the measured sizes (%" G_GINT64_FORMAT " to %" G_GINT64_FORMAT
                            " nodes, %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT
                            " edges), where their prediction exceeds a year",
                            nodes, edges, min.nodes, max.nodes, min.edges, max.edges);
}

/* Each stream has a whole batch of its own. */
double ifm_plan_together(const IfmCosts *costs, const IfmPlan *plan, int device, const IfmPlanSize *sizes, gsize n_sizes)
{
    const IfmPlanDevice *described = plan->devices->pdata[device];
    int own = ifm_costs_find_device(costs, described->alias);
    guint32 others = 0;
    double sum_ns = 0;
    for (guint i = 0; i < plan->devices->len; i++)
    {
        int other = ifm_costs_find_device(costs, ifm_plan_device(plan, (int)i)->alias);
        others |= other >= 0 && other != own ? 1u << other : 0;
    }
    for (gsize i = 0; own >= 0 && i < n_sizes; i++)
    {
        IfmCostLatency latency;
        if (!ifm_costs_latency(costs, own, 1, costs->n_stages, (double)sizes[i].nodes, (double)sizes[i].edges, others,
                               &latency, NULL))
            return NAN;
        sum_ns += latency.mean_ns;
    }
    return own >= 0 && n_sizes > 0 ? cost_n_streams(costs, own, described) * 1e9 * (double)n_sizes / sum_ns : (double)NAN;
}
