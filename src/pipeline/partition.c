/* The partition of a batch: which device has which nodes and edges. */
#include <math.h>
#include <string.h>

#include "pipeline-private.h"

/* Equals: the number of cuts that are not above the destination, by comparisons without a branch. */
static inline gsize share_of(gint64 destination, const gint64 *cuts, gsize n_cuts)
{
    gsize share = 0;
    for (gsize i = 0; i < n_cuts; i++)
        share += destination >= cuts[i];
    return share;
}

static gboolean refuse_edge(const gint64 *destinations, gint64 edge, gint64 n_nodes, GError **error)
{
    return ifm_error_refuse(
        error, "edge %" G_GINT64_FORMAT " ends in node %" G_GINT64_FORMAT "; 0 to %" G_GINT64_FORMAT " are expected", edge,
        destinations[edge], n_nodes - 1);
}

static gint64 first_wrong(const gint64 *destinations, gint64 n_edges, gint64 n_nodes)
{
    for (gint64 i = 0; i < n_edges; i++)
        if ((guint64)destinations[i] >= (guint64)n_nodes)
            return i;
    return -1;
}

/* The columns up to the end of each share, into @ends. Returns: the first edge without a share; -1. Two shares, the
 * usual case, need no look-up. */
static gint64 count(const gint64 *destinations, gint64 n_edges, const gint64 *cuts, gsize n_cuts, gint64 *ends)
{
    guint64 max = (guint64)cuts[n_cuts - 1];
    gboolean wrong = FALSE;
    memset(ends, 0, n_cuts * sizeof *ends);
    if (n_cuts == 2)
    {
        gint64 n_low = 0, cut = cuts[0];
        for (gint64 i = 0; i < n_edges; i++)
        {
            wrong |= (guint64)destinations[i] >= max;
            n_low += destinations[i] < cut;
        }
        ends[0] = n_low;
        ends[1] = n_edges;
        return wrong ? first_wrong(destinations, n_edges, (gint64)max) : -1;
    }
    for (gint64 i = 0; i < n_edges; i++)
    {
        if (G_UNLIKELY((guint64)destinations[i] >= max))
            return i;
        ends[share_of(destinations[i], cuts, n_cuts)]++;
    }
    for (gsize i = 1; i < n_cuts; i++)
        ends[i] += ends[i - 1];
    return -1;
}

/* Keeps both places to write to in registers. */
static void order_two(const gint64 *edge_index, gint64 n_edges, gint64 cut, gint64 n_low, gint64 *ordered)
{
    const gint64 *sources = edge_index, *destinations = edge_index + n_edges;
    gint64 low = 0, high = n_low;
    for (gint64 i = 0; i < n_edges; i++)
    {
        gint64 is_low = destinations[i] < cut, to = is_low ? low : high;
        ordered[to] = sources[i];
        ordered[n_edges + to] = destinations[i];
        low += is_low;
        high += 1 - is_low;
    }
}

gboolean ifm_partition_edges(const gint64 *edge_index, gint64 n_edges, const gint64 *cuts, gsize n_cuts, gint64 *ordered,
                             gint64 *ends, GError **error)
{
    const gint64 *sources = edge_index, *destinations = edge_index + n_edges;
    gint64 wrong = count(destinations, n_edges, cuts, n_cuts, ends);
    if (wrong >= 0)
        return refuse_edge(destinations, wrong, cuts[n_cuts - 1], error);
    if (n_cuts == 2)
    {
        order_two(edge_index, n_edges, cuts[0], ends[0], ordered);
        return TRUE;
    }
    gint64 next[IFM_MAX_CUTS] = { 0 };
    g_assert(n_cuts <= IFM_MAX_CUTS);
    memcpy(next + 1, ends, (n_cuts - 1) * sizeof *next);
    for (gint64 i = 0; i < n_edges; i++)
    {
        gint64 to = next[share_of(destinations[i], cuts, n_cuts)]++;
        ordered[to] = sources[i];
        ordered[n_edges + to] = destinations[i];
    }
    return TRUE;
}

void ifm_partition_part(const gint64 *ordered, gint64 n_edges, gint64 low, gint64 high, gint64 first, gint64 *part)
{
    gint64 n = high - low;
    const gint64 *destinations = ordered + n_edges + low;
    memcpy(part, ordered + low, (gsize)n * sizeof *part);
    for (gint64 i = 0; i < n; i++)
        part[n + i] = destinations[i] - first;
}

/* --- one batch -------------------------------------------------------------------------------------------------------- */

static const double *block_ratios(const InFlight *flight, const Block *block)
{
    const double *ratios = flight->ratios;
    for (int i = 0; ratios != NULL && i < block->index; i++)
        ratios += block->line->blocks[i].n_replicas;
    return ratios != NULL ? ratios : block->plan->ratios;
}

/* The nodes up to the end of the share of @place. */
static gint64 cut_after(const InFlight *flight, const Block *block, gsize place)
{
    const double *ratios = block_ratios(flight, block);
    double sum = 0;
    for (gsize i = 0; i <= place; i++)
        sum += ratios[i];
    return place + 1 == block->n_replicas ? flight->n_own
                                          : CLAMP((gint64)llround(sum * (double)flight->n_own), 0, flight->n_own);
}

void ifm_flight_share(const InFlight *flight, const Replica *replica, gint64 *low, gint64 *high)
{
    *low = replica->place > 0 ? cut_after(flight, replica->block, (gsize)replica->place - 1) : 0;
    *high = cut_after(flight, replica->block, (gsize)replica->place);
}

static void add_cut(InFlight *flight, gint64 cut)
{
    gsize at = 0;
    while (at < flight->n_cuts && flight->cuts[at] < cut)
        at++;
    if (cut <= 0 || (at < flight->n_cuts && flight->cuts[at] == cut))
        return;
    memmove(flight->cuts + at + 1, flight->cuts + at, (flight->n_cuts - at) * sizeof flight->cuts[0]);
    flight->cuts[at] = cut;
    flight->n_cuts++;
}

void ifm_flight_init(InFlight *flight, const Line *line, const IfmBatch *batch)
{
    *flight = (InFlight){ .batch = batch, .n_own = batch->n_own > 0 ? batch->n_own : batch->nodes };
    flight->ratios = line->is_given_ratios ? batch->ratios : NULL;
    for (int i = 0; i < line->n_blocks; i++)
        for (gsize place = 0; place + 1 < line->blocks[i].n_replicas; place++)
            add_cut(flight, cut_after(flight, &line->blocks[i], place));
    add_cut(flight, flight->n_own);
    flight->ends[flight->n_cuts - 1] = batch->edges;
    for (gsize i = 0; i < line->n_crossings && line->edge_index != NULL; i++)
        if (line->crossings[i].boundary == line->edge_index)
            flight->edge_index = batch->inputs[line->crossings[i].input];
    flight->edge_index.release = NULL;
}

gint64 ifm_flight_edges_below(const InFlight *flight, gint64 cut)
{
    gint64 ends = 0;
    for (gsize i = 0; i < flight->n_cuts && flight->cuts[i] <= cut; i++)
        ends = flight->ends[i];
    return ends;
}

gboolean ifm_flight_order(InFlight *flight, Line *line, gboolean count_only, GError **error)
{
    gint64 n_edges = flight->batch->edges;
    const gint64 *edge_index = flight->edge_index.data;
    if (line->edge_index == NULL)
        return TRUE;
    if (count_only)
    {
        gint64 wrong = count(edge_index + n_edges, n_edges, flight->cuts, flight->n_cuts, flight->ends);
        return wrong < 0 || refuse_edge(edge_index + n_edges, wrong, flight->n_own, error);
    }
    if (!line->parts_edges || flight->n_cuts == 1)
        return TRUE;
    gint64 *ordered = line->ordered[flight->seq % (gint64)line->n_flights].data;
    flight->edge_index.data = ordered;
    return ifm_partition_edges(edge_index, n_edges, flight->cuts, flight->n_cuts, ordered, flight->ends, error);
}
