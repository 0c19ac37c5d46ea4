#include "dataset-private.h"

#include <string.h>

/* These functions allocate, check, split, pad and digest graphs. */

void ifm_graph_free(IfmGraph *graph)
{
    if (graph == NULL)
        return;
    g_free(graph->name);
    g_free(graph->edge_index);
    g_free(graph->node_graph);
    g_free(graph->node_values);
    g_free(graph->edge_values);
    g_free(graph);
}

void *ifm_graph_memory_error(gint64 n, gsize size, GError **error)
{
    ifm_error_set(error, IFM_ERROR_MEMORY, "no memory for %" G_GINT64_FORMAT " numbers of %zu bytes of a graph", n, size);
    return NULL;
}

void *ifm_graph_allocate(gint64 n, gsize size, GError **error)
{
    void *memory = g_try_malloc_n((gsize)MAX(n, 1), size);
    return memory != NULL ? memory : ifm_graph_memory_error(n, size, error);
}

static gboolean check_size(const char *name, const char *what, gint64 n, gint64 max, GError **error)
{
    return (n >= 0 && n <= max) ||
           ifm_error_refuse(error, "%s: %" G_GINT64_FORMAT " %s; a graph has 0 to %" G_GINT64_FORMAT, name, n, what, max);
}

gboolean ifm_graph_check_counts(const char *name, gint64 n_nodes, gint64 n_edges, GError **error)
{
    return check_size(name, "nodes", n_nodes, IFM_GRAPH_MAX_NODES, error) &&
           check_size(name, "edges", n_edges, IFM_GRAPH_MAX_EDGES, error);
}

IfmGraph *ifm_graph_new(char *name, gint64 n_nodes, gint64 n_edges, GError **error)
{
    g_autoptr(IfmGraph) graph = g_new0(IfmGraph, 1);
    graph->name = name;
    graph->n_nodes = n_nodes;
    graph->n_edges = n_edges;
    graph->n_graphs = 1;
    if (!ifm_graph_check_counts(name, n_nodes, n_edges, error))
        return NULL;
    graph->edge_index = ifm_graph_allocate(2 * n_edges, sizeof(gint64), error);
    return graph->edge_index != NULL ? g_steal_pointer(&graph) : NULL;
}

IfmGraph *ifm_graph_new_like(const IfmGraph *of, char *name, gint64 n_nodes, gint64 n_edges, GError **error)
{
    g_autoptr(IfmGraph) graph = ifm_graph_new(name, n_nodes, n_edges, error);
    if (graph == NULL)
        return NULL;
    graph->n_node_values = of->n_node_values;
    graph->values_of_labels = of->values_of_labels;
    graph->n_edge_values = of->n_edge_values;
    if (of->n_node_values > 0)
        graph->node_values = ifm_graph_allocate(n_nodes * of->n_node_values, sizeof(float), error);
    if (of->n_node_values > 0 && graph->node_values == NULL)
        return NULL;
    if (of->n_edge_values > 0)
        graph->edge_values = ifm_graph_allocate(n_edges * of->n_edge_values, sizeof(float), error);
    return of->n_edge_values == 0 || graph->edge_values != NULL ? g_steal_pointer(&graph) : NULL;
}

/* The first node of graph @index and of all after it. */
static gint64 first_node(const IfmGraph *graph, gint64 index)
{
    gint64 low = 0, high = graph->n_nodes;
    while (low < high)
    {
        gint64 middle = low + (high - low) / 2;
        if (graph->node_graph[middle] < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Rows @begin on, @n of them, into @copy, which has room for @room; the rest is 0. @rows, @copy: (nullable) */
static void copy_rows(const float *rows, gint64 begin, gint64 n, gint64 room, gint64 width, float *copy)
{
    if (rows == NULL || copy == NULL)
        return;
    memcpy(copy, rows + begin * width, sizeof *rows * (gsize)(n * width));
    memset(copy + n * width, 0, sizeof *rows * (gsize)((room - n) * width));
}

/* The edges whose source is in [@begin, @begin + @part->n_nodes), with their values. */
static void copy_edges_within(const IfmGraph *graph, gint64 begin, IfmGraph *part)
{
    gint64 at = 0, width = graph->n_edge_values;
    for (gint64 i = 0; i < graph->n_edges; i++)
    {
        gint64 source = graph->edge_index[i] - begin;
        if (source < 0 || source >= part->n_nodes)
            continue;
        part->edge_index[at] = source;
        part->edge_index[part->n_edges + at] = graph->edge_index[graph->n_edges + i] - begin;
        if (part->edge_values != NULL)
            memcpy(part->edge_values + at * width, graph->edge_values + i * width, sizeof(float) * (gsize)width);
        at++;
    }
}

/* take_nodes: Nodes @begin to @end - 1 with the edges among them, as one graph. @name: (transfer full) */
static IfmGraph *take_nodes(const IfmGraph *graph, gint64 begin, gint64 end, char *name, GError **error)
{
    gint64 n_edges = 0;
    for (gint64 i = 0; i < graph->n_edges; i++)
        n_edges += graph->edge_index[i] >= begin && graph->edge_index[i] < end;
    IfmGraph *part = ifm_graph_new_like(graph, name, end - begin, n_edges, error);
    if (part == NULL)
        return NULL;
    copy_edges_within(graph, begin, part);
    copy_rows(graph->node_values, begin, part->n_nodes, part->n_nodes, part->n_node_values, part->node_values);
    return part;
}

IfmGraph *ifm_graph_part(const IfmGraph *graph, gint64 index)
{
    g_return_val_if_fail(index >= 0 && index < graph->n_graphs, NULL);
    gint64 begin = graph->node_graph != NULL ? first_node(graph, index) : 0;
    gint64 end = graph->node_graph != NULL ? first_node(graph, index + 1) : graph->n_nodes;
    char *name = g_strdup_printf("%s[%" G_GINT64_FORMAT "]", graph->name, index);
    IfmGraph *part = take_nodes(graph, begin, end, name, NULL);
    if (part == NULL)
        g_error("no memory for a part of %s", graph->name);
    return part;
}

IfmGraph *ifm_graph_first(const IfmGraph *graph, gint64 n, GError **error)
{
    if (n < 1 || n > graph->n_graphs)
    {
        ifm_error_refuse(error,
                         "%s: the first %" G_GINT64_FORMAT " of its graphs; 1 to %" G_GINT64_FORMAT " would be right",
                         graph->name, n, graph->n_graphs);
        return NULL;
    }
    char *name = n < graph->n_graphs ? g_strdup_printf("%s, the first %" G_GINT64_FORMAT " graphs", graph->name, n)
                                     : g_strdup(graph->name);
    gint64 end = graph->node_graph != NULL ? first_node(graph, n) : graph->n_nodes;
    g_autoptr(IfmGraph) first = take_nodes(graph, 0, end, name, error);
    if (first == NULL)
        return NULL;
    first->n_graphs = n;
    if (n > 1 && (first->node_graph = ifm_graph_allocate(end, sizeof(gint64), error)) == NULL)
        return NULL;
    if (n > 1 && graph->node_graph != NULL)
        memcpy(first->node_graph, graph->node_graph, sizeof(gint64) * (gsize)end);
    return g_steal_pointer(&first);
}

static gboolean check_room(const IfmGraph *graph, gint64 n_nodes, gint64 n_edges, GError **error)
{
    const char *fault = NULL;
    if (n_nodes < graph->n_nodes)
        fault = "fewer nodes than it has";
    else if (n_edges < graph->n_edges)
        fault = "fewer edges than it has";
    else if (n_edges > graph->n_edges && n_nodes == graph->n_nodes)
        fault = "added edges need an added node, which they lead to";
    return fault == NULL ||
           ifm_error_refuse(error,
                            "%s: %" G_GINT64_FORMAT " nodes and %" G_GINT64_FORMAT
                            " edges cannot be padded to %" G_GINT64_FORMAT " nodes and %" G_GINT64_FORMAT " edges: %s",
                            graph->name, graph->n_nodes, graph->n_edges, n_nodes, n_edges, fault);
}

static gboolean pad_node_graph(const IfmGraph *graph, IfmGraph *padded, GError **error)
{
    padded->n_graphs = graph->n_graphs;
    if (graph->node_graph == NULL)
        return TRUE;
    padded->n_graphs += padded->n_nodes > graph->n_nodes;
    padded->node_graph = ifm_graph_allocate(padded->n_nodes, sizeof(gint64), error);
    if (padded->node_graph == NULL)
        return FALSE;
    memcpy(padded->node_graph, graph->node_graph, sizeof(gint64) * (gsize)graph->n_nodes);
    for (gint64 i = graph->n_nodes; i < padded->n_nodes; i++)
        padded->node_graph[i] = graph->n_graphs;
    return TRUE;
}

IfmGraph *ifm_graph_pad(const IfmGraph *graph, gint64 n_nodes, gint64 n_edges, GError **error)
{
    if (!check_room(graph, n_nodes, n_edges, error))
        return NULL;
    char *name = g_strdup_printf("%s, padded to %" G_GINT64_FORMAT " nodes, %" G_GINT64_FORMAT " edges", graph->name,
                                 n_nodes, n_edges);
    g_autoptr(IfmGraph) padded = ifm_graph_new_like(graph, name, n_nodes, n_edges, error);
    if (padded == NULL || !pad_node_graph(graph, padded, error))
        return NULL;
    for (int row = 0; row < 2; row++)
    {
        gint64 *to = padded->edge_index + row * n_edges;
        memcpy(to, graph->edge_index + row * graph->n_edges, sizeof *to * (gsize)graph->n_edges);
        for (gint64 i = graph->n_edges; i < n_edges; i++)
            to[i] = n_nodes - 1;
    }
    copy_rows(graph->node_values, 0, graph->n_nodes, n_nodes, graph->n_node_values, padded->node_values);
    copy_rows(graph->edge_values, 0, graph->n_edges, n_edges, graph->n_edge_values, padded->edge_values);
    return g_steal_pointer(&padded);
}

void ifm_graph_in_degrees(const IfmGraph *graph, float *degrees)
{
    /* counted as whole numbers in the same place: a float stops at 2^24 when 1 is added to it */
    guint32 *counts = (guint32 *)(void *)degrees;
    memset(counts, 0, sizeof *counts * (gsize)graph->n_nodes);
    for (gint64 i = 0; i < graph->n_edges; i++)
        counts[graph->edge_index[graph->n_edges + i]]++;
    for (gint64 node = 0; node < graph->n_nodes; node++)
        degrees[node] = (float)counts[node];
}

gboolean ifm_graph_check(const IfmGraph *graph, GError **error)
{
    for (gint64 i = 0; i < graph->n_edges; i++)
    {
        gint64 source = graph->edge_index[i], destination = graph->edge_index[graph->n_edges + i];
        if (source >= 0 && source < graph->n_nodes && destination >= 0 && destination < graph->n_nodes)
            continue;
        return ifm_error_refuse(error,
                                "%s: edge %" G_GINT64_FORMAT ", from node %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT
                                ", is outside its %" G_GINT64_FORMAT " nodes (numbered from 0)",
                                graph->name, i, source, destination, graph->n_nodes);
    }
    return TRUE;
}

static void digest_numbers(GChecksum *checksum, const gint64 *numbers, gint64 n)
{
    const gint64 max = (gint64)1 << 27; /* the call counts its bytes in gssize */
    for (gint64 done = 0; done < n; done += MIN(n - done, max))
        g_checksum_update(checksum, (const guchar *)(numbers + done), (gssize)(MIN(n - done, max) * 8));
}

char *ifm_graph_digest(const IfmGraph *graph)
{
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    const gint64 counts[] = { graph->n_nodes, graph->n_edges };
    digest_numbers(checksum, counts, G_N_ELEMENTS(counts));
    digest_numbers(checksum, graph->edge_index, 2 * graph->n_edges);
    if (graph->node_graph != NULL)
        digest_numbers(checksum, graph->node_graph, graph->n_nodes);
    return g_strdup(g_checksum_get_string(checksum));
}
