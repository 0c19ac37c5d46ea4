#include <base/statistics.h>
#include <math.h>

#include "predict-private.h"

/* Sizes are kept as nodes and edges per node. Tables have different edges for each number of nodes, but often the same
 * few degrees. Between two numbers of nodes, equal degrees are measured points, while equal numbers of edges are not.
 * In logarithms the change of axes is linear, so that power laws stay straight. */
struct IfmLookup
{
    IfmGrid *grid;
    double low[2], high[2]; /* of nodes, and of edges per node */
};

static gboolean check_point(const IfmLookupPoint *point, gsize number, GError **error)
{
    return (point->nodes > 0 && point->edges > 0 && isfinite(point->latency_ns) && point->latency_ns > 0) ||
           ifm_error_refuse(error,
                            "lookup: point %zu: %" G_GINT64_FORMAT " nodes, %" G_GINT64_FORMAT
                            " edges, %g ns: all three must be above 0",
                            number, point->nodes, point->edges, point->latency_ns);
}

static guint point_hash(gconstpointer key)
{
    const IfmLookupPoint *point = key;
    return g_int64_hash(&point->nodes) * 31 + g_int64_hash(&point->edges);
}

static gboolean point_equal(gconstpointer a, gconstpointer b)
{
    const IfmLookupPoint *x = a, *y = b;
    return x->nodes == y->nodes && x->edges == y->edges;
}

gboolean ifm_lookup_check_points(const IfmLookupPoint *points, gsize n, GError **error)
{
    if (n < 1 || n > G_MAXINT)
        return ifm_error_refuse(error, "lookup: %zu points; it takes 1 to %d", n, G_MAXINT);
    g_autoptr(GHashTable) seen = g_hash_table_new(point_hash, point_equal);
    for (gsize i = 0; i < n; i++)
    {
        if (!check_point(&points[i], i + 1, error))
            return FALSE;
        if (g_hash_table_add(seen, (gpointer)&points[i]))
            continue;
        return ifm_error_refuse(error,
                                "lookup: point %zu: %" G_GINT64_FORMAT " nodes, %" G_GINT64_FORMAT
                                " edges were given before; a size may stand once",
                                i + 1, points[i].nodes, points[i].edges);
    }
    return TRUE;
}

/* @skip: the point to leave out; n: none */
static IfmLookup *lookup_without(const IfmLookupPoint *points, gsize n, gsize skip, GError **error)
{
    static const IfmGridAxis axes[] = { { "nodes", IFM_GRID_LOG }, { "edges per node", IFM_GRID_LOG } };
    g_autofree double *places = g_new(double, 2 * n);
    g_autofree double *values = g_new(double, n);
    gsize kept = 0;
    for (gsize i = 0; i < n; i++)
        if (i != skip)
        {
            places[2 * kept] = points[i].nodes;
            places[2 * kept + 1] = (double)points[i].edges / points[i].nodes;
            values[kept++] = points[i].latency_ns;
        }
    IfmGrid *grid = ifm_grid_new(axes, G_N_ELEMENTS(axes), places, values, kept, IFM_GRID_LOG, error);
    if (grid == NULL)
        return NULL;
    IfmLookup *lookup = g_new(IfmLookup, 1);
    lookup->grid = grid;
    for (gsize axis = 0; axis < 2; axis++)
    {
        lookup->low[axis] = lookup->high[axis] = places[axis];
        for (gsize i = 1; i < kept; i++)
        {
            lookup->low[axis] = fmin(lookup->low[axis], places[2 * i + axis]);
            lookup->high[axis] = fmax(lookup->high[axis], places[2 * i + axis]);
        }
    }
    return lookup;
}

IfmLookup *ifm_lookup_new(const IfmLookupPoint *points, gsize n, GError **error)
{
    return ifm_lookup_check_points(points, n, error) ? lookup_without(points, n, n, error) : NULL;
}

void ifm_lookup_free(IfmLookup *lookup)
{
    if (lookup == NULL)
        return;
    ifm_grid_free(lookup->grid);
    g_free(lookup);
}

gboolean ifm_lookup_at(const IfmLookup *lookup, double nodes, double edges, double *latency_ns, IfmGridOrigin *origin,
                       GError **error)
{
    if (!(isfinite(nodes) && nodes > 0 && isfinite(edges) && edges > 0))
        return ifm_error_refuse(error, "lookup: %g nodes, %g edges: both must be above 0", nodes, edges);
    const double place[] = { nodes, edges / nodes };
    return ifm_grid_at(lookup->grid, place, IFM_GRID_EXTRAPOLATE, latency_ns, origin, error);
}

double ifm_lookup_decades_outside(const IfmLookup *lookup, double nodes, double edges)
{
    const double place[] = { nodes, edges / nodes };
    double decades = 0;
    for (gsize axis = 0; axis < 2; axis++)
        decades = fmax(decades, fmax(log10(place[axis] / lookup->high[axis]), log10(lookup->low[axis] / place[axis])));
    return decades;
}

/* The absolute errors of one kind, sorted. */
static GArray *sorted_errors(GArray *misses, gboolean extrapolated)
{
    GArray *errors = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < misses->len; i++)
    {
        const IfmLookupMiss *miss = &g_array_index(misses, IfmLookupMiss, i);
        double error = fabs(miss->error_ratio);
        if ((miss->origin == IFM_GRID_OUTSIDE) == extrapolated)
            g_array_append_val(errors, error);
    }
    ifm_sort_doubles((double *)(gpointer)errors->data, errors->len);
    return errors;
}

static double quantile_of(const GArray *sorted, double p)
{
    return sorted->len > 0 ? ifm_quantile((const double *)(gconstpointer)sorted->data, sorted->len, p) : NAN;
}

static void summarise(GArray *misses, IfmLookupError *summary)
{
    g_autoptr(GArray) within = sorted_errors(misses, FALSE), beyond = sorted_errors(misses, TRUE);
    *summary = (IfmLookupError){
        .n_interpolated = within->len,
        .n_extrapolated = beyond->len,
        .median_ratio = quantile_of(within, 0.5),
        .p90_ratio = quantile_of(within, 0.9),
        .max_ratio = quantile_of(within, 1),
        .extrapolated_median_ratio = quantile_of(beyond, 0.5),
        .extrapolated_max_ratio = quantile_of(beyond, 1),
    };
}

gboolean ifm_lookup_leave_one_out(const IfmLookupPoint *points, gsize n, IfmLookupError *summary, GArray **misses,
                                  GError **error)
{
    if (n < 3)
        return ifm_error_refuse(error, "lookup: %zu points; leaving one out takes 3 and more", n);
    if (!ifm_lookup_check_points(points, n, error))
        return FALSE;
    g_autoptr(GArray) all = g_array_sized_new(FALSE, FALSE, sizeof(IfmLookupMiss), n);
    for (gsize i = 0; i < n; i++)
    {
        IfmLookupMiss miss = { .point = points[i] };
        g_autoptr(IfmLookup) others = lookup_without(points, n, i, error);
        if (others == NULL ||
            !ifm_lookup_at(others, points[i].nodes, points[i].edges, &miss.predicted_ns, &miss.origin, error))
            return FALSE;
        miss.error_ratio = miss.predicted_ns / points[i].latency_ns - 1;
        g_array_append_val(all, miss);
    }
    summarise(all, summary);
    if (misses != NULL)
        *misses = g_steal_pointer(&all);
    return TRUE;
}
