/*
 * Which sizes the measured ones surround. A full grid of sizes has neighbours on both axes. Scattered sizes (each
 * number of nodes with its own number of edges) have not, but they still surround what lies between them: the convex
 * hull of the points, in logarithms of nodes and edges per node.
 */
#include <math.h>
#include <stdlib.h>

#include "plan-private.h"

typedef struct
{
    double x, y;
} Place;

static Place place_of(double nodes, double edges)
{
    return (Place){ log(nodes), log(edges / nodes) };
}

/* Above 0 if @c lies left of the line from @a to @b. */
static double side(Place a, Place b, Place c)
{
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

static int compare_places(const void *a, const void *b)
{
    const Place *p = a, *q = b;
    if (p->x != q->x)
        return p->x < q->x ? -1 : 1;
    return (p->y > q->y) - (p->y < q->y);
}

/* One half of the hull, from the first place to the last, in the order given. @hull: (out)    Returns: the number of
 * places, without the last. */
static gsize half_hull(const Place *places, gsize n, gboolean back, Place *hull)
{
    gsize kept = 0;
    for (gsize i = 0; i < n; i++)
    {
        Place next = places[back ? n - 1 - i : i];
        while (kept >= 2 && side(hull[kept - 2], hull[kept - 1], next) <= 0)
            kept--;
        hull[kept++] = next;
    }
    return kept - 1;
}

#define CLOSE 1e-6 /* shares of a size have its edges per node except for rounding */

static gboolean on_line(Place a, Place b, Place at)
{
    double length = hypot(b.x - a.x, b.y - a.y), along = (at.x - a.x) * (b.x - a.x) + (at.y - a.y) * (b.y - a.y);
    return fabs(side(a, b, at)) <= CLOSE * length && along >= -CLOSE * length && along <= length * (length + CLOSE);
}

gboolean costs_entry_surrounds(const CostEntry *entry, double nodes, double edges)
{
    g_autofree Place *places = g_new(Place, entry->n + 1), *hull = g_new(Place, 2 * entry->n + 1);
    Place at = place_of(nodes, edges);
    if (entry->n < 2)
        return FALSE;
    for (gsize i = 0; i < entry->n; i++)
        places[i] = place_of((double)entry->points[i].nodes, (double)entry->points[i].edges);
    qsort(places, entry->n, sizeof *places, compare_places);
    gsize n = half_hull(places, entry->n, FALSE, hull);
    n += half_hull(places, entry->n, TRUE, hull + n);
    if (n == 2)
        return on_line(hull[0], hull[1], at);
    for (gsize i = 0; i < n; i++)
    {
        Place a = hull[i], b = hull[(i + 1) % n];
        if (side(a, b, at) < -CLOSE * hypot(b.x - a.x, b.y - a.y))
            return FALSE;
    }
    return TRUE;
}

gboolean costs_entry_reports(const CostEntry *entry, double nodes, double edges)
{
    gboolean other_nodes = FALSE;
    for (gsize i = 0; i < entry->n; i++)
    {
        const IfmCostPoint *point = &entry->points[i];
        if ((double)point->nodes == nodes && (double)point->edges == edges)
            return TRUE;
        other_nodes = other_nodes || point->nodes != entry->points[0].nodes;
    }
    return entry->n > 1 && (other_nodes || (double)entry->points[0].nodes == nodes);
}

static char *sparse_text(const IfmCosts *costs, int device, const CostRange *range, double nodes, double edges)
{
    const CostEntry *entry = range->alone;
    const char *alias = costs->devices[device]->is.alias;
    g_autofree char *stages = range->first == range->last ? g_strdup_printf("stage %d", range->first)
                                                          : g_strdup_printf("stages %d to %d", range->first, range->last);
    g_autofree char *known =
        entry->n == 1 ? g_strdup_printf("one size measured (%" G_GINT64_FORMAT " nodes, %" G_GINT64_FORMAT " edges)",
                                        entry->points[0].nodes, entry->points[0].edges)
                      : g_strdup_printf("all sizes measured have %" G_GINT64_FORMAT " nodes", entry->points[0].nodes);
    return g_strdup_printf("table too sparse: %s: %s: %s, which says nothing about %.0f nodes, %.0f edges; measure a size "
                           "with other nodes",
                           alias, stages, known, nodes, edges);
}

char *costs_why_sparse(const IfmCosts *costs, int device, int first, int last, double nodes, double edges)
{
    int piece[IFM_COST_MAX_STAGES + 1];
    if (costs->devices[device]->is.form == IFM_PLAN_STATIC)
        return NULL;
    costs_pieces(costs, device, first, piece);
    for (int l = last; piece[last] != 0 && l >= first; l = piece[l] - 1)
    {
        const CostRange *range = costs_range(costs, device, piece[l], l);
        if (!costs_entry_reports(range->alone, nodes, edges))
            return sparse_text(costs, device, range, nodes, edges);
    }
    return NULL;
}

char *ifm_costs_why_sparse(const IfmCosts *costs, int device, double nodes, double edges)
{
    const CostRange *sparse = NULL;
    g_return_val_if_fail(device >= 0 && device < costs->n_devices, NULL);
    if (costs->devices[device]->is.form == IFM_PLAN_STATIC)
        return NULL;
    for (int first = 1; first <= costs->n_stages; first++)
        for (int last = first; last <= costs->n_stages; last++)
        {
            const CostRange *range = costs_range(costs, device, first, last);
            if (range == NULL || range->alone == NULL)
                continue;
            if (costs_entry_reports(range->alone, nodes, edges))
                return NULL;
            sparse = sparse != NULL ? sparse : range;
        }
    return sparse != NULL ? sparse_text(costs, device, sparse, nodes, edges) : NULL;
}
