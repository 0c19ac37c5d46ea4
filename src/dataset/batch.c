/* Several graphs side by side. */
#include "dataset-private.h"

#include <string.h>

/* A number of attributes in which a graph differs from the first one. */
static gboolean check_widths(const IfmGraph *const *graphs, gsize n, GError **error)
{
    for (gsize i = 1; i < n; i++)
    {
        gboolean is_nodes = graphs[i]->n_node_values != graphs[0]->n_node_values;
        if (!is_nodes && graphs[i]->n_edge_values == graphs[0]->n_edge_values)
            continue;
        return ifm_error_refuse(error,
                                "%s has %" G_GINT64_FORMAT " attributes %s, %s has %" G_GINT64_FORMAT
                                "; graphs of one batch have as many each",
                                graphs[i]->name, is_nodes ? graphs[i]->n_node_values : graphs[i]->n_edge_values,
                                is_nodes ? "a node" : "an edge", graphs[0]->name,
                                is_nodes ? graphs[0]->n_node_values : graphs[0]->n_edge_values);
    }
    return TRUE;
}

/* place: @graph from node @node, edge @edge and graph @index on. */
static void place(const IfmGraph *graph, gint64 node, gint64 edge, gint64 index, IfmGraph *batch)
{
    for (int row = 0; row < 2; row++)
        for (gint64 i = 0; i < graph->n_edges; i++)
            batch->edge_index[row * batch->n_edges + edge + i] = graph->edge_index[row * graph->n_edges + i] + node;
    for (gint64 i = 0; i < graph->n_nodes && batch->node_graph != NULL; i++)
        batch->node_graph[node + i] = index + (graph->node_graph != NULL ? graph->node_graph[i] : 0);
    if (batch->node_values != NULL && graph->n_nodes > 0)
        memcpy(batch->node_values + node * batch->n_node_values, graph->node_values,
               sizeof(float) * (gsize)(graph->n_nodes * batch->n_node_values));
    if (batch->edge_values != NULL && graph->n_edges > 0)
        memcpy(batch->edge_values + edge * batch->n_edge_values, graph->edge_values,
               sizeof(float) * (gsize)(graph->n_edges * batch->n_edge_values));
}

IfmGraph *ifm_graph_batch(const IfmGraph *const *graphs, gsize n, GError **error)
{
    gint64 n_nodes = 0, n_edges = 0, n_graphs = 0;
    if (n == 0)
    {
        ifm_error_refuse(error, "a batch of no graphs; one at least would be right");
        return NULL;
    }
    if (!check_widths(graphs, n, error))
        return NULL;
    for (gsize i = 0; i < n; i++)
    {
        n_nodes = MIN(n_nodes, IFM_GRAPH_MAX_NODES) + graphs[i]->n_nodes; /* too many stays too many */
        n_edges = MIN(n_edges, IFM_GRAPH_MAX_EDGES) + graphs[i]->n_edges;
        n_graphs += graphs[i]->n_graphs;
    }
    char *name =
        n == 1 ? g_strdup(graphs[0]->name)
               : g_strdup_printf("%s to %s, %" G_GINT64_FORMAT " graphs", graphs[0]->name, graphs[n - 1]->name, n_graphs);
    g_autoptr(IfmGraph) batch = ifm_graph_new_like(graphs[0], name, n_nodes, n_edges, error);
    if (batch == NULL || (n_graphs > 1 && (batch->node_graph = ifm_graph_allocate(n_nodes, sizeof(gint64), error)) == NULL))
        return NULL;
    batch->n_graphs = n_graphs;
    for (gsize i = 0, node = 0, edge = 0, index = 0; i < n; i++)
    {
        place(graphs[i], (gint64)node, (gint64)edge, (gint64)index, batch);
        node += (gsize)graphs[i]->n_nodes;
        edge += (gsize)graphs[i]->n_edges;
        index += (gsize)graphs[i]->n_graphs;
    }
    return g_steal_pointer(&batch);
}
