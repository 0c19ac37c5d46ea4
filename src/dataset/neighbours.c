/* A graph undirected, as METIS and the Laplacian take it. */
#include "neighbours.h"

#include <string.h>

void ifm_neighbours_clear(IfmNeighbours *list)
{
    g_clear_pointer(&list->starts, g_free);
    g_clear_pointer(&list->neighbours, g_free);
    g_clear_pointer(&list->weights, g_free);
}

/* METIS counts entries and adds weights up in idx_t, which is 32 or 64 bits wide as the library was built. */
static gboolean check_idx(const IfmGraph *graph, GError **error)
{
    if (graph->n_nodes < IDX_MAX && graph->n_edges <= IDX_MAX / 2)
        return TRUE;
    return ifm_error_set(error, IFM_ERROR_UNSUPPORTED,
                         "%s: %" G_GINT64_FORMAT " nodes and %" G_GINT64_FORMAT
                         " edges are more than METIS, which counts with %d bits here, can hold: %" G_GINT64_FORMAT
                         " edges at most",
                         graph->name, graph->n_nodes, graph->n_edges, IDXTYPEWIDTH, (gint64)IDX_MAX / 2);
}

/* list_pairs: Both ends of each edge in the other's list, as often as there are edges. */
static void list_pairs(const IfmGraph *graph, IfmNeighbours *list)
{
    const gint64 *sources = graph->edge_index, *destinations = sources + graph->n_edges;
    memset(list->starts, 0, sizeof *list->starts * (gsize)(graph->n_nodes + 1));
    for (gint64 i = 0; i < graph->n_edges; i++)
        if (sources[i] != destinations[i])
        {
            list->starts[sources[i]]++;
            list->starts[destinations[i]]++;
        }
    idx_t sum = 0;
    for (gint64 node = 0; node <= graph->n_nodes; node++)
        list->starts[node] = sum += list->starts[node];
    /* filled from the end of each list, so that starts are starts when all are in */
    for (gint64 i = graph->n_edges - 1; i >= 0; i--)
        if (sources[i] != destinations[i])
        {
            list->neighbours[--list->starts[sources[i]]] = (idx_t)destinations[i];
            list->neighbours[--list->starts[destinations[i]]] = (idx_t)sources[i];
        }
}

/* merge_pairs: Equal neighbours of a node become one that weighs their number; @last: [n_nodes] room. */
static void merge_pairs(gint64 n_nodes, IfmNeighbours *list, idx_t *last)
{
    idx_t at = 0;
    for (gint64 node = 0; node < n_nodes; node++)
        last[node] = -1;
    for (gint64 node = 0; node < n_nodes; node++)
    {
        idx_t begin = at, from = list->starts[node], end = list->starts[node + 1];
        list->starts[node] = begin;
        for (; from < end; from++)
        {
            idx_t other = list->neighbours[from];
            if (last[other] >= begin)
            {
                list->weights[last[other]]++;
                continue;
            }
            last[other] = at;
            list->neighbours[at] = other;
            list->weights[at++] = 1;
        }
    }
    list->starts[n_nodes] = at;
}

gboolean ifm_neighbours_init(IfmNeighbours *list, const IfmGraph *graph, GError **error)
{
    g_autofree idx_t *last = NULL;
    if (!check_idx(graph, error) || (list->starts = ifm_graph_allocate(graph->n_nodes + 1, sizeof(idx_t), error)) == NULL ||
        (list->neighbours = ifm_graph_allocate(2 * graph->n_edges, sizeof(idx_t), error)) == NULL ||
        (list->weights = ifm_graph_allocate(2 * graph->n_edges, sizeof(idx_t), error)) == NULL ||
        (last = ifm_graph_allocate(graph->n_nodes, sizeof(idx_t), error)) == NULL)
        return FALSE;
    list_pairs(graph, list);
    merge_pairs(graph->n_nodes, list, last);
    return TRUE;
}

static GMutex metis;

void ifm_metis_lock(void)
{
    g_mutex_lock(&metis);
}

void ifm_metis_unlock(void)
{
    g_mutex_unlock(&metis);
}
