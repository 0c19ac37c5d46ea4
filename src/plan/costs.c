/* The cost model itself: its devices, the measured points of each block of stages, and which blocks a device cannot
 * run. */
#include <inferometer/engine.h>
#include <math.h>
#include <string.h>

#include "plan-private.h"

/* --- entries ---------------------------------------------------------------------------------------------------------- */

static void entry_free(gpointer data)
{
    CostEntry *entry = data;
    if (entry == NULL)
        return;
    for (gsize i = 0; i < entry->n; i++)
        g_free(entry->samples[i].relative);
    for (int of = 0; of < IFM_COST_N_STATISTICS; of++)
    {
        ifm_grid_free(entry->over_median[of]);
        ifm_grid_free(entry->spread[of]);
        ifm_grid_free(entry->ratio[of]);
    }
    g_free(entry->samples);
    g_free(entry->points);
    ifm_lookup_free(entry->lookup);
    ifm_trend_free(entry->trend);
    g_free(entry);
}

/* The minimum number of left-out points that need extrapolation to tell whether lookup or trend predicts them
 * better. */
#define MIN_TO_JUDGE 4

/* The trend's errors at those points where the lookup extrapolates, sorted. */
static GArray *errors_beyond(const IfmLookupPoint *points, gsize n, const GArray *misses)
{
    GArray *beyond = g_array_new(FALSE, FALSE, sizeof(double));
    g_autofree double *errors = g_new(double, n);
    if (!ifm_trend_leave_one_out(points, n, errors, NULL))
        return beyond;
    for (gsize i = 0; i < n; i++)
        if (g_array_index(misses, IfmLookupMiss, i).origin == IFM_GRID_OUTSIDE)
            g_array_append_val(beyond, errors[i]);
    ifm_sort_doubles((double *)(gpointer)beyond->data, beyond->len);
    return beyond;
}

/* The errors of an entry at sizes that are not points, and whether the lookup or the trend is used beyond the points. Each
 * has its own: where no left-out point lay between others, the lookup's errors at all of them stand for those between. */
static void judge_entry(CostEntry *entry, const IfmLookupPoint *points)
{
    IfmLookupError error;
    g_autoptr(GArray) misses = NULL;
    entry->miss_in = entry->miss_beyond = NAN;
    if (!ifm_lookup_leave_one_out(points, entry->n, &error, &misses, NULL))
        return;
    if (error.n_interpolated > 0)
        entry->miss_in = error.p90_ratio;
    const double between = entry->miss_in; /* NaN: not known */
    entry->miss_beyond = between;
    if (error.n_extrapolated > 0)
        entry->miss_beyond = fmax(between, error.extrapolated_max_ratio);
    if (isnan(between))
        entry->miss_in = entry->miss_beyond;
    if (error.n_extrapolated < MIN_TO_JUDGE)
        return;
    g_autoptr(GArray) beyond = errors_beyond(points, entry->n, misses);
    const double *sorted = (const double *)(gconstpointer)beyond->data;
    if (beyond->len == 0 || ifm_quantile(sorted, beyond->len, 0.5) >= error.extrapolated_median_ratio)
        return;
    entry->trend = ifm_trend_fit(points, entry->n, NULL);
    entry->miss_beyond = isnan(between) ? sorted[beyond->len - 1] : fmax(between, sorted[beyond->len - 1]);
}

double costs_entry_at(const CostEntry *entry, IfmCostStatistic of, double nodes, double edges, IfmGridOrigin *origin)
{
    const double place[] = { nodes, edges / nodes };
    double ns, over = 1;
    IfmGridOrigin found;
    if (!ifm_lookup_at(entry->lookup, nodes, edges, &ns, &found, NULL))
        return NAN;
    if (origin != NULL)
        *origin = found;
    if (entry->over_median[of] != NULL && !ifm_grid_at(entry->over_median[of], place, IFM_GRID_CLAMP, &over, NULL, NULL))
        over = 1;
    return over * (found == IFM_GRID_OUTSIDE && entry->trend != NULL ? ifm_trend_at(entry->trend, nodes, edges) : ns);
}

/* Values at an entry's points, over nodes and edges per node. NULL where one of them is NaN. */
static IfmGrid *grid_of(const IfmCostPoint *points, gsize n, const double *values, IfmGridScale scale)
{
    static const IfmGridAxis axes[] = { { "nodes", IFM_GRID_LOG }, { "edges per node", IFM_GRID_LOG } };
    g_autofree double *places = g_new(double, 2 * n);
    for (gsize i = 0; i < n; i++)
    {
        places[2 * i] = (double)points[i].nodes;
        places[2 * i + 1] = (double)points[i].edges / (double)points[i].nodes;
    }
    return ifm_grid_new(axes, G_N_ELEMENTS(axes), places, values, n, scale, NULL);
}

static CostEntry *entry_new(guint32 busy, const IfmCostPoint *points, gsize n, GError **error)
{
    g_autofree IfmLookupPoint *bare = g_new(IfmLookupPoint, n + 1);
    for (gsize i = 0; i < n; i++)
        bare[i] = (IfmLookupPoint){ points[i].nodes, points[i].edges, points[i].latency_ns };
    IfmLookup *lookup = ifm_lookup_new(bare, n, error);
    if (lookup == NULL)
        return NULL;
    CostEntry *entry = g_new0(CostEntry, 1);
    *entry = (CostEntry){ .busy = busy, .points = g_memdup2(points, n * sizeof *points), .n = n, .lookup = lookup };
    judge_entry(entry, bare);
    entry->samples = g_new0(CostSamples, n + 1);
    g_autofree double *values = g_new(double, (n + 1) * IFM_COST_N_STATISTICS),
                      *ratios = g_new(double, (n + 1) * IFM_COST_N_STATISTICS), *over = g_new(double, n + 1),
                      *spreads = g_new(double, n + 1);
    for (gsize i = 0; i < n; i++)
    {
        entry->samples[i] = costs_samples_of(&points[i]);
        entry->points[i].samples_ns = NULL; /* the caller's */
        costs_point_statistics(&points[i], &values[i * IFM_COST_N_STATISTICS], &ratios[i * IFM_COST_N_STATISTICS]);
    }
    for (gsize of = 0; of < IFM_COST_N_STATISTICS; of++)
    {
        gboolean differs = FALSE;
        for (gsize i = 0; i < n; i++)
        {
            over[i] = values[i * IFM_COST_N_STATISTICS + of] / points[i].latency_ns;
            spreads[i] = ratios[i * IFM_COST_N_STATISTICS + of];
            differs |= over[i] != 1;
        }
        entry->over_median[of] = differs ? grid_of(points, n, over, IFM_GRID_LOG) : NULL;
        entry->spread[of] = grid_of(points, n, spreads, IFM_GRID_LINEAR);
    }
    return entry;
}

static void range_free(CostRange *range)
{
    if (range == NULL)
        return;
    entry_free(range->alone);
    g_ptr_array_unref(range->busy);
    g_free(range);
}

/* --- the model -------------------------------------------------------------------------------------------------------- */

IfmCosts *ifm_costs_new(const char *model, gsize n_stages)
{
    g_return_val_if_fail(n_stages >= 1 && n_stages <= IFM_COST_MAX_STAGES, NULL);
    IfmCosts *costs = g_new0(IfmCosts, 1);
    costs->model = g_strdup(model);
    costs->n_stages = (int)n_stages;
    costs->corrections = g_array_new(FALSE, FALSE, sizeof(CostCorrection));
    return costs;
}

static void device_free(CostDevice *device)
{
    for (int first = 0; first < IFM_COST_MAX_STAGES; first++)
    {
        g_free(device->why[first]);
        for (int last = first; last < IFM_COST_MAX_STAGES; last++)
            range_free(device->ranges[first][last]);
    }
    g_free((char *)device->is.alias);
    g_free((char *)device->is.device);
    g_free(device->sizes);
    g_free(device);
}

static void free_crossings(IfmCosts *costs)
{
    for (int form = 0; form < 2; form++)
        for (int first = 0; first < costs->n_stages; first++)
            for (int last = first; last < costs->n_stages; last++)
                g_free(costs->crossings[form][first][last]);
}

void ifm_costs_free(IfmCosts *costs)
{
    if (costs == NULL)
        return;
    for (int i = 0; i < costs->n_devices; i++)
        device_free(costs->devices[i]);
    free_crossings(costs);
    g_array_unref(costs->corrections);
    g_free(costs->model);
    g_free(costs);
}

int costs_streams_of(const char *device)
{
    g_autoptr(IfmDeviceSpec) spec = device != NULL ? ifm_device_spec_parse(device, NULL) : NULL;
    return spec != NULL ? MAX(spec->n_streams, 1) : 1;
}

int ifm_costs_add_device(IfmCosts *costs, const IfmCostDevice *device, GError **error)
{
    if (ifm_costs_find_device(costs, device->alias) >= 0)
    {
        ifm_error_refuse(error, "costs: device \"%s\" twice; an alias stands for one device", device->alias);
        return -1;
    }
    if (costs->n_devices == IFM_PLAN_MAX_DEVICES)
    {
        ifm_error_refuse(error, "costs: device \"%s\" is one too many; a plan has at most %d", device->alias,
                         IFM_PLAN_MAX_DEVICES);
        return -1;
    }
    CostDevice *one = g_new0(CostDevice, 1);
    one->is = *device;
    one->is.alias = g_strdup(device->alias);
    one->is.device = g_strdup(device->device);
    one->sizes = g_memdup2(device->sizes, device->n_sizes * sizeof *device->sizes);
    one->is.sizes = one->sizes;
    one->n_streams = costs_streams_of(device->device);
    one->fused_least = one->fused_most = NAN;
    costs->devices[costs->n_devices] = one;
    return costs->n_devices++;
}

/* --- ranges and what they are made of --------------------------------------------------------------------------------- */

CostRange *costs_range(const IfmCosts *costs, int device, int first, int last)
{
    return costs->devices[device]->ranges[first - 1][last - 1];
}

void costs_pieces(const IfmCosts *costs, int device, int first, int *piece)
{
    int fewest[IFM_COST_MAX_STAGES + 1] = { 0 };
    const CostDevice *on = costs->devices[device];
    for (int last = first; last <= costs->n_stages; last++)
    {
        piece[last] = 0;
        fewest[last] = G_MAXINT;
        if (on->why[last - 1] != NULL) /* no range goes past it either */
        {
            for (int l = last; l <= costs->n_stages; l++)
                piece[l] = 0;
            return;
        }
        for (int start = first; start <= last;
             start++) /* the longest last piece first: it is taken where numbers are equal */
        {
            const CostRange *range = costs_range(costs, device, start, last);
            int before = start == first ? 0 : fewest[start - 1];
            if (range == NULL || range->alone == NULL || before == G_MAXINT || before + 1 >= fewest[last])
                continue;
            fewest[last] = before + 1;
            piece[last] = start;
        }
    }
}

/* The latency of @range alone; the sum of its pieces if it was not measured as one. NaN: unknown. */
static double alone_ns(const IfmCosts *costs, int device, const CostRange *range, IfmCostStatistic of, double nodes,
                       double edges)
{
    int piece[IFM_COST_MAX_STAGES + 1];
    double sum = 0;
    if (range->alone != NULL)
        return costs_entry_at(range->alone, of, nodes, edges, NULL);
    costs_pieces(costs, device, range->first, piece);
    for (int last = range->last; last >= range->first; last = piece[last] - 1)
    {
        if (piece[last] == 0)
            return NAN;
        sum += costs_entry_at(costs_range(costs, device, piece[last], last)->alone, of, nodes, edges, NULL);
    }
    return sum;
}

static void rebuild_ratio(const IfmCosts *costs, int device, const CostRange *range, CostEntry *entry)
{
    g_autofree double *values = g_new(double, entry->n);
    for (int of = 0; of < IFM_COST_N_STATISTICS; of++)
    {
        for (gsize i = 0; i < entry->n; i++)
        {
            double nodes = (double)entry->points[i].nodes, edges = (double)entry->points[i].edges;
            values[i] = costs_entry_at(entry, (IfmCostStatistic)of, nodes, edges, NULL) /
                        alone_ns(costs, device, range, (IfmCostStatistic)of, nodes, edges);
        }
        g_clear_pointer(&entry->ratio[of], ifm_grid_free);
        entry->ratio[of] = grid_of(entry->points, entry->n, values, IFM_GRID_LOG);
    }
}

/* Called after each new latency: the caller may set those alone and those under load in any order. */
static void rebuild_ratios(IfmCosts *costs, int device, int first, int last)
{
    if (!costs->has_busy)
        return;
    for (int f = 1; f <= last; f++)
        for (int l = MAX(f, first); l <= costs->n_stages; l++)
        {
            CostRange *range = costs_range(costs, device, f, l);
            for (guint i = 0; range != NULL && i < range->busy->len; i++)
                rebuild_ratio(costs, device, range, range->busy->pdata[i]);
        }
}

/* What fusing changes on a device: each range that was measured as one, at each of its sizes, against its stages. */
static void rebuild_fused(const IfmCosts *costs, int device)
{
    CostDevice *on = costs->devices[device];
    on->fused_least = on->fused_most = NAN;
    for (int f = 1; f <= costs->n_stages; f++)
        for (int l = f + 1; l <= costs->n_stages; l++)
        {
            const CostRange *range = costs_range(costs, device, f, l);
            for (gsize i = 0; range != NULL && range->alone != NULL && i < range->alone->n; i++)
            {
                const IfmCostPoint *point = &range->alone->points[i];
                double nodes = (double)point->nodes, edges = (double)point->edges, sum = 0;
                for (int stage = f; stage <= l; stage++)
                {
                    const CostRange *one = costs_range(costs, device, stage, stage);
                    sum += one != NULL && one->alone != NULL
                               ? costs_piece_ns(costs, device, one, IFM_COST_MEDIAN, nodes, edges)
                               : (double)NAN;
                }
                if (isnan(sum))
                    continue;
                double ratio = costs_entry_at(range->alone, IFM_COST_MEDIAN, nodes, edges, NULL) / sum;
                on->fused_least = fmin(on->fused_least, ratio); /* of NaN and a number: that */
                on->fused_most = fmax(on->fused_most, ratio);
            }
        }
}

/* --- setting latencies ------------------------------------------------------------------------------------------------ */

static gboolean check_range(const IfmCosts *costs, int device, int first, int last, GError **error)
{
    return (device >= 0 && device < costs->n_devices && first >= 1 && first <= last && last <= costs->n_stages) ||
           ifm_error_refuse(error, "costs: device %d, stages %d to %d; there are %d devices (from 0) and stages 1 to %d",
                            device, first, last, costs->n_devices, costs->n_stages);
}

static CostRange *range_needed(IfmCosts *costs, int device, int first, int last)
{
    CostRange **range = &costs->devices[device]->ranges[first - 1][last - 1];
    if (*range == NULL)
    {
        *range = g_new0(CostRange, 1);
        (*range)->first = first;
        (*range)->last = last;
        (*range)->busy = g_ptr_array_new_with_free_func(entry_free);
    }
    return *range;
}

gboolean ifm_costs_set_points(IfmCosts *costs, int device, int first, int last, const IfmCostPoint *points, gsize n,
                              GError **error)
{
    if (!check_range(costs, device, first, last, error))
        return FALSE;
    CostEntry *entry = entry_new(0, points, n, error);
    if (entry == NULL)
        return FALSE;
    CostRange *range = range_needed(costs, device, first, last);
    entry_free(range->alone);
    range->alone = entry;
    rebuild_ratios(costs, device, first, last);
    rebuild_fused(costs, device);
    return TRUE;
}

gboolean ifm_costs_set_busy_points(IfmCosts *costs, int device, int first, int last, guint32 busy,
                                   const IfmCostPoint *points, gsize n, GError **error)
{
    if (!check_range(costs, device, first, last, error))
        return FALSE;
    if (busy == 0 || (busy & 1u << device) != 0 || busy >> costs->n_devices != 0)
        return ifm_error_refuse(
            error,
            "costs: %s with background load on the devices of mask %#x; a mask of other devices of the %d is expected",
            costs->devices[device]->is.alias, busy, costs->n_devices);
    CostEntry *entry = entry_new(busy, points, n, error);
    if (entry == NULL)
        return FALSE;
    CostRange *range = range_needed(costs, device, first, last);
    for (guint i = 0; i < range->busy->len; i++)
        if (((CostEntry *)range->busy->pdata[i])->busy == busy)
        {
            g_ptr_array_remove_index(range->busy, i);
            break;
        }
    g_ptr_array_add(range->busy, entry);
    costs->has_busy = TRUE;
    rebuild_ratios(costs, device, first, last);
    return TRUE;
}

void ifm_costs_forbid(IfmCosts *costs, int device, int stage, const char *why)
{
    g_return_if_fail(check_range(costs, device, stage, stage, NULL));
    char **old = &costs->devices[device]->why[stage - 1];
    g_free(*old);
    *old = g_strdup(why);
}

void ifm_costs_forbid_split(IfmCosts *costs, int stage)
{
    g_return_if_fail(stage >= 1 && stage <= costs->n_stages);
    costs->no_split |= G_GUINT64_CONSTANT(1) << (stage - 1);
}

void ifm_costs_set_reads_edges(IfmCosts *costs, int stage, gboolean reads)
{
    g_return_if_fail(stage >= 1 && stage <= costs->n_stages);
    guint64 bit = G_GUINT64_CONSTANT(1) << (stage - 1);
    costs->no_edges = reads ? costs->no_edges & ~bit : costs->no_edges | bit;
}

static void widen(const CostRange *range, IfmPlanSize *min, IfmPlanSize *max)
{
    const CostEntry *entry = range != NULL ? range->alone : NULL;
    for (gsize i = 0; entry != NULL && i < entry->n; i++)
    {
        *min = (IfmPlanSize){ MIN(min->nodes, entry->points[i].nodes), MIN(min->edges, entry->points[i].edges) };
        *max = (IfmPlanSize){ MAX(max->nodes, entry->points[i].nodes), MAX(max->edges, entry->points[i].edges) };
    }
}

void ifm_costs_sizes(const IfmCosts *costs, IfmPlanSize *min, IfmPlanSize *max)
{
    *min = (IfmPlanSize){ G_MAXINT64, G_MAXINT64 };
    *max = (IfmPlanSize){ 0, 0 };
    for (int d = 0; d < costs->n_devices; d++)
        for (int first = 1; first <= costs->n_stages; first++)
            for (int last = first; last <= costs->n_stages; last++)
                widen(costs_range(costs, d, first, last), min, max);
}

void ifm_costs_set_statistic(IfmCosts *costs, IfmCostStatistic statistic)
{
    costs->statistic = statistic;
}

void ifm_costs_set_power(IfmCosts *costs, int device, double active_w, double idle_w)
{
    g_return_if_fail(device >= 0 && device < costs->n_devices);
    costs->devices[device]->is.active_w = active_w;
    costs->devices[device]->is.idle_w = idle_w;
}

void ifm_costs_set_cut(IfmCosts *costs, int stage, double per_node, double per_edge)
{
    g_return_if_fail(stage >= 0 && stage <= costs->n_stages);
    costs->cuts[stage].per_node = per_node;
    costs->cuts[stage].per_edge = per_edge;
}

void ifm_costs_set_link(IfmCosts *costs, int device, const IfmCostLink *in, const IfmCostLink *out)
{
    g_return_if_fail(device >= 0 && device < costs->n_devices);
    CostDevice *of = costs->devices[device];
    of->copies = TRUE;
    of->in = *in;
    of->out = *out;
}

void ifm_costs_set_crossing(IfmCosts *costs, IfmPlanForm form, int first, int last, const IfmCostCrossing *crossing)
{
    g_return_if_fail(first >= 1 && first <= last && last <= costs->n_stages);
    IfmCostCrossing **slot = &costs->crossings[form == IFM_PLAN_STATIC][first - 1][last - 1];
    g_free(*slot);
    *slot = g_memdup2(crossing, sizeof *crossing);
}

double costs_cut_bytes(const IfmCosts *costs, int stage, double nodes, double edges)
{
    return costs->cuts[stage].per_node * nodes + costs->cuts[stage].per_edge * edges;
}

void ifm_costs_set_host(IfmCosts *costs, double partition_fixed_ns, double partition_ns_per_edge, double merge_fixed_ns,
                        double pad_ns_per_byte)
{
    costs->partition_fixed_ns = partition_fixed_ns;
    costs->partition_ns_per_edge = partition_ns_per_edge;
    costs->merge_ns = merge_fixed_ns;
    costs->pad_ns_per_byte = pad_ns_per_byte;
}

/* How well a correction of the device fits a range and mask, 1 to 3. */
static int closeness(const CostCorrection *correction, int first, int last, guint32 busy)
{
    return correction->first != first || correction->last != last ? 1 : correction->busy != busy ? 2 : 3;
}

const CostCorrection *costs_correction(const IfmCosts *costs, int device, int first, int last, guint32 busy)
{
    const CostCorrection *closest = NULL;
    for (guint i = 0; i < costs->corrections->len; i++)
    {
        const CostCorrection *correction = &g_array_index(costs->corrections, CostCorrection, i);
        if (correction->device == device &&
            (closest == NULL || closeness(correction, first, last, busy) >= closeness(closest, first, last, busy)))
            closest = correction;
    }
    return closest;
}

void ifm_costs_correct(IfmCosts *costs, int device, int first, int last, guint32 busy, double factor, double spread_ratio)
{
    g_return_if_fail(check_range(costs, device, first, last, NULL) && factor > 0 && isfinite(factor));
    busy &= ~(1u << device);
    CostCorrection correction = { device, first, last, busy, factor, spread_ratio };
    for (guint i = 0; i < costs->corrections->len; i++)
    {
        const CostCorrection *known = &g_array_index(costs->corrections, CostCorrection, i);
        if (known->device == device && closeness(known, first, last, busy) == 3)
            g_array_remove_index(costs->corrections, i--);
    }
    g_array_append_val(costs->corrections, correction);
    costs->has_busy = costs->has_busy || busy != 0;
}

void ifm_costs_correct_host(IfmCosts *costs, double partition_excess_ns, double merge_excess_ns)
{
    costs->partition_excess_ns = fmax(0, partition_excess_ns);
    costs->merge_excess_ns = fmax(0, merge_excess_ns);
}

void ifm_costs_forget_corrections(IfmCosts *costs)
{
    g_array_set_size(costs->corrections, 0);
    ifm_costs_correct_host(costs, 0, 0);
}

gsize ifm_costs_n_devices(const IfmCosts *costs)
{
    return (gsize)costs->n_devices;
}

const IfmCostDevice *ifm_costs_device(const IfmCosts *costs, int device)
{
    g_return_val_if_fail(device >= 0 && device < costs->n_devices, NULL);
    return &costs->devices[device]->is;
}

int ifm_costs_find_device(const IfmCosts *costs, const char *alias)
{
    for (int d = 0; d < costs->n_devices; d++)
        if (g_strcmp0(costs->devices[d]->is.alias, alias) == 0)
            return d;
    return -1;
}

gsize ifm_costs_n_implausible(const IfmCosts *costs)
{
    return costs->n_implausible;
}

gsize ifm_costs_n_stages(const IfmCosts *costs)
{
    return (gsize)costs->n_stages;
}

const char *ifm_costs_why_not(const IfmCosts *costs, int device, int first, int last)
{
    int piece[IFM_COST_MAX_STAGES + 1];
    if (!check_range(costs, device, first, last, NULL))
        return "there is no such device or range of stages";
    for (int stage = first; stage <= last; stage++)
        if (costs->devices[device]->why[stage - 1] != NULL)
            return costs->devices[device]->why[stage - 1];
    costs_pieces(costs, device, first, piece);
    return piece[last] != 0 ? NULL : "no latency was measured of a part of these stages";
}
