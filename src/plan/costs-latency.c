/* How long a device takes for a block of stages at a size: between the measured points, and slower while others are
 * busy. */
#include <math.h>

#include "plan-private.h"

/* --- slow-down -------------------------------------------------------------------------------------------------------- */

/* Beyond the measured sizes the outermost slow-down is used: a line through two noisy ratios could lead anywhere. */
static gboolean ratio_of(const CostRange *range, IfmCostStatistic of, guint32 busy, double nodes, double edges,
                         double *ratio)
{
    const double place[] = { nodes, edges / nodes };
    for (guint i = 0; range != NULL && i < range->busy->len; i++)
    {
        const CostEntry *entry = range->busy->pdata[i];
        if (entry->busy == busy && entry->ratio[of] != NULL)
            return ifm_grid_at(entry->ratio[of], place, IFM_GRID_CLAMP, ratio, NULL, NULL);
    }
    return FALSE;
}

/* The slow-down by the set if it was measured, else the product by its members. @whole: (out) whether all of it was
 * measured */
static double ratio_by_members(const CostRange *range, IfmCostStatistic of, guint32 busy, double nodes, double edges,
                               gboolean *whole)
{
    double ratio, product = 1;
    *whole = TRUE;
    if (ratio_of(range, of, busy, nodes, edges, &ratio))
        return ratio;
    for (int d = 0; d < IFM_PLAN_MAX_DEVICES; d++)
    {
        if ((busy & 1u << d) == 0)
            continue;
        if (ratio_of(range, of, 1u << d, nodes, edges, &ratio))
            product *= ratio;
        else
            *whole = FALSE;
    }
    return product;
}

/* The mean of the slow-downs of a range's stages, weighted by their latencies. @whole: as above */
static double ratio_by_stages(const IfmCosts *costs, int device, const CostRange *range, IfmCostStatistic of, guint32 busy,
                              double nodes, double edges, gboolean *whole)
{
    double sum = 0, weights = 0;
    *whole = TRUE;
    for (int stage = range->first; stage <= range->last; stage++)
    {
        gboolean of_stage;
        double ns = 1;
        const CostRange *one = costs_range(costs, device, stage, stage);
        double ratio = ratio_by_members(one, of, busy, nodes, edges, &of_stage);
        if (one != NULL && one->alone != NULL)
            ns = costs_entry_at(one->alone, of, nodes, edges, NULL);
        else
            *whole = FALSE;
        *whole = *whole && of_stage;
        sum += ns * ratio;
        weights += ns;
    }
    return sum / weights;
}

double costs_slow_down(const IfmCosts *costs, int device, const CostRange *range, IfmCostStatistic of, guint32 busy,
                       double nodes, double edges, gboolean *known)
{
    gboolean by_members, by_stages = FALSE;
    if (busy == 0)
        return 1;
    if (!costs->has_busy)
    {
        *known = FALSE;
        return 1;
    }
    double ratio = ratio_by_members(range, of, busy, nodes, edges, &by_members);
    if (!by_members && range->first < range->last)
        ratio = ratio_by_stages(costs, device, range, of, busy, nodes, edges, &by_stages);
    *known = *known && (by_members || by_stages);
    return ratio;
}

/* --- latency ---------------------------------------------------------------------------------------------------------- */

static const IfmCostPoint *point_at(const CostEntry *entry, double nodes, double edges)
{
    for (gsize i = 0; i < entry->n; i++)
        if ((double)entry->points[i].nodes == nodes && (double)entry->points[i].edges == edges)
            return &entry->points[i];
    return NULL;
}

double costs_piece_ns(const IfmCosts *costs, int device, const CostRange *range, IfmCostStatistic of, double nodes,
                      double edges)
{
    gboolean known = costs->devices[device]->is.form == IFM_PLAN_STATIC ? point_at(range->alone, nodes, edges) != NULL
                                                                        : costs_entry_reports(range->alone, nodes, edges);
    return known ? costs_entry_at(range->alone, of, nodes, edges, NULL) : (double)NAN;
}

double costs_pad_ns(const IfmCosts *costs, int first, const IfmPlanSize *size, double nodes, double edges)
{
    if ((double)size->nodes == nodes && (double)size->edges == edges)
        return 0;
    return costs->pad_ns_per_byte * costs_cut_bytes(costs, first - 1, (double)size->nodes, (double)size->edges);
}

/* The relative error of a measured range: the spread of its points (@sampled), and the error of interpolation at a size
 * that is not one of them. An extrapolated latency without a known error has an unknown spread. If too few left-out points
 * lie between others to estimate the error of interpolation, all left-out points count. */
static double piece_spread(const CostEntry *entry, IfmCostStatistic of, double nodes, double edges, IfmGridOrigin origin,
                           double *sampled)
{
    const double place[] = { nodes, edges / nodes };
    double spread = NAN, miss = origin == IFM_GRID_INTERPOLATED ? entry->miss_in : entry->miss_beyond;
    if (entry->spread[of] != NULL && !ifm_grid_at(entry->spread[of], place, IFM_GRID_CLAMP, &spread, NULL, NULL))
        spread = NAN;
    *sampled = spread;
    if (origin == IFM_GRID_EXACT)
        return spread;
    if (isnan(miss) && origin == IFM_GRID_INTERPOLATED)
        return spread;
    return isnan(spread) ? miss : hypot(spread, miss);
}

/* Scattered sizes have no neighbours on every axis, so that the lookup reports OUTSIDE for a size among them. Lookup
 * and trend both use points on all sides of such a size, and their error is that of left-out points: it counts as
 * interpolated. */
static IfmCostOrigin origin_of(const CostEntry *entry, double nodes, double edges, IfmGridOrigin origin)
{
    return origin == IFM_GRID_EXACT                     ? IFM_COST_MEASURED
           : origin == IFM_GRID_INTERPOLATED            ? IFM_COST_INTERPOLATED
           : costs_entry_surrounds(entry, nodes, edges) ? IFM_COST_INTERPOLATED
                                                        : IFM_COST_EXTRAPOLATED;
}

/* What fusing changes is no part of a sum: it may lie as far from it as any range that was measured as one. Unknown where
 * none was. */
static void widen_sum(const CostDevice *device, IfmCostLatency *latency)
{
    double fusing = fmax(1 - device->fused_least, device->fused_most - 1);
    latency->spread_ratio = isnan(fusing) ? (double)NAN : hypot(latency->spread_ratio, fmax(fusing, 0));
    latency->mean_spread_ratio = isnan(fusing) ? (double)NAN : hypot(latency->mean_spread_ratio, fmax(fusing, 0));
}

/* The sum of all pieces at a size. FALSE if a static device has no model of that size. */
static gboolean sum_pieces(const IfmCosts *costs, int device, int first, int last, double nodes, double edges, guint32 busy,
                           IfmCostLatency *latency)
{
    int piece[IFM_COST_MAX_STAGES + 1], starts[IFM_COST_MAX_STAGES], n = 0;
    double squares[2] = { 0 }, sampled_squares = 0, sampled;
    const IfmCostStatistic asked[2] = { costs->statistic, IFM_COST_MEAN };
    double *ns_of[2] = { &latency->latency_ns, &latency->mean_ns };
    *latency = (IfmCostLatency){ .busy_known = TRUE };
    costs_pieces(costs, device, first, piece);
    for (int l = last; l >= first; l = piece[l] - 1)
        starts[n++] = l;
    while (n-- > 0)
    {
        const CostRange *range = costs_range(costs, device, piece[starts[n]], starts[n]);
        IfmGridOrigin origin = IFM_GRID_EXACT;
        if (isnan(costs_entry_at(range->alone, IFM_COST_MEDIAN, nodes, edges, &origin)))
            return FALSE;
        for (int k = 0; k < 2; k++)
        {
            double ns = costs_piece_ns(costs, device, range, asked[k], nodes, edges);
            if (isnan(ns))
                return FALSE;
            ns *= costs_slow_down(costs, device, range, asked[k], busy, nodes, edges, &latency->busy_known);
            *ns_of[k] += ns;
            double half = ns * piece_spread(range->alone, asked[k], nodes, edges, origin, &sampled);
            squares[k] += half * half;
            sampled_squares += k == 1 ? ns * sampled * ns * sampled : 0;
        }
        latency->origin = MAX(latency->origin, origin_of(range->alone, nodes, edges, origin));
        if (range->last - range->first < last - first)
        {
            latency->origin = MAX(latency->origin, IFM_COST_SUMMED);
            latency->summed = TRUE;
        }
    }
    latency->spread_ratio = sqrt(squares[0]) / latency->latency_ns;
    latency->mean_spread_ratio = sqrt(squares[1]) / latency->mean_ns;
    latency->mean_sampled_ratio = sqrt(sampled_squares) / latency->mean_ns;
    const CostCorrection *shown = costs_correction(costs, device, first, last, busy);
    if (shown != NULL)
    {
        latency->latency_ns *= shown->factor;
        latency->mean_ns *= shown->factor;
        latency->spread_ratio = latency->mean_spread_ratio = latency->mean_sampled_ratio = shown->spread_ratio;
        latency->busy_known = TRUE;
        latency->summed = FALSE;
    }
    else if (latency->summed)
        widen_sum(costs->devices[device], latency);
    return TRUE;
}

/* --- sizes of static devices ------------------------------------------------------------------------------------------ */

gboolean costs_reads_edges(const IfmCosts *costs, int first, int last)
{
    for (int stage = first; stage <= last; stage++)
        if ((costs->no_edges >> (stage - 1) & 1) == 0)
            return TRUE;
    return FALSE;
}

gsize costs_static_sizes(const IfmCosts *costs, int device, int first, int last, IfmPlanSize *sizes)
{
    const IfmCostDevice *is = &costs->devices[device]->is;
    int piece[IFM_COST_MAX_STAGES + 1];
    gsize n = 0;
    costs_pieces(costs, device, first, piece);
    for (gsize i = 0; i < is->n_sizes; i++)
    {
        gboolean known = piece[last] != 0;
        for (int l = last; known && l >= first; l = piece[l] - 1)
            known = point_at(costs_range(costs, device, piece[l], l)->alone, (double)is->sizes[i].nodes,
                             (double)is->sizes[i].edges) != NULL;
        if (known)
            sizes[n++] = is->sizes[i];
    }
    return n;
}

/* A share is computed from whole numbers: this restores them. */
static double snap(double value)
{
    return fabs(value - round(value)) <= 1e-9 * value ? round(value) : value;
}

gboolean costs_static_size(const IfmCosts *costs, int device, int first, int last, double nodes, double edges,
                           IfmPlanSize *size)
{
    g_autofree IfmPlanSize *sizes = g_new(IfmPlanSize, costs->devices[device]->is.n_sizes + 1);
    gsize n = costs_static_sizes(costs, device, first, last, sizes);
    const IfmPlanSize *best =
        ifm_plan_static_size(sizes, n, snap(nodes), snap(edges), costs_reads_edges(costs, first, last));
    if (best != NULL)
        *size = *best;
    return best != NULL;
}

static gboolean static_latency(const IfmCosts *costs, int device, int first, int last, double nodes, double edges,
                               guint32 busy, IfmCostLatency *latency, GError **error)
{
    IfmPlanSize size;
    if (!costs_static_size(costs, device, first, last, nodes, edges, &size) ||
        !sum_pieces(costs, device, first, last, (double)size.nodes, (double)size.edges, busy, latency))
        return ifm_error_set(
            error, IFM_ERROR_UNSUPPORTED,
            "%s: stages %d to %d: %.0f nodes, %.0f edges: none of its %zu static sizes holds that%s; measure one that does",
            costs->devices[device]->is.alias, first, last, nodes, edges, costs->devices[device]->is.n_sizes,
            costs_reads_edges(costs, first, last) ? " (with a node more where edges have to be added)" : "");
    double pad_ns = costs_pad_ns(costs, first, &size, snap(nodes), snap(edges));
    latency->spread_ratio *= latency->latency_ns / (latency->latency_ns + pad_ns);
    latency->mean_spread_ratio *= latency->mean_ns / (latency->mean_ns + pad_ns);
    latency->mean_sampled_ratio *= latency->mean_ns / (latency->mean_ns + pad_ns);
    latency->latency_ns += pad_ns;
    latency->mean_ns += pad_ns;
    return TRUE;
}

gboolean ifm_costs_latency(const IfmCosts *costs, int device, int first, int last, double nodes, double edges, guint32 busy,
                           IfmCostLatency *latency, GError **error)
{
    if (!(isfinite(nodes) && nodes > 0 && isfinite(edges) && edges > 0))
        return ifm_error_refuse(error, "costs: %g nodes, %g edges: both must be above 0", nodes, edges);
    const char *why = ifm_costs_why_not(costs, device, first, last);
    if (why != NULL)
        return ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "device %s: stages %d to %d: %s",
                             device >= 0 && device < costs->n_devices ? costs->devices[device]->is.alias : "?", first, last,
                             why);
    if (costs->devices[device]->is.form == IFM_PLAN_STATIC)
        return static_latency(costs, device, first, last, nodes, edges, busy & ~(1u << device), latency, error);
    if (sum_pieces(costs, device, first, last, nodes, edges, busy & ~(1u << device), latency))
        return TRUE;
    g_autofree char *sparse = costs_why_sparse(costs, device, first, last, nodes, edges);
    if (sparse != NULL)
        ifm_error_refuse(error, "%s", sparse);
    else
        ifm_error_refuse(error, "%s: %g nodes, %g edges: beyond any latency", costs->devices[device]->is.alias, nodes,
                         edges);
    return FALSE;
}
