/*
 * The libFuzzer target of the graph readers, and (compiled into tests/dataset/test-fuzz-graph.c) the same entry for the
 * corpus. Bytes with a form feed in them are the files of a TUDataset, parted by it; all others are read as an edge list
 * and as a Matrix Market file. Whatever they are, the readers must come back, an error must be one line, and a graph must
 * be what its header promises.
 */
#include <math.h>

#include "../src/dataset/dataset-private.h"
#include "fuzz.h"

static void check_values(const float *values, gint64 n, gint64 width)
{
    must((values != NULL) == (width > 0));
    for (gint64 i = 0; i < n * width; i++)
        must(isfinite(values[i]));
}

/* The parts have all nodes and all edges, and each is a graph. */
static void check_parts(const IfmGraph *graph)
{
    gint64 n_nodes = 0, n_edges = 0;
    if (graph->n_graphs > 100)
        return;
    for (gint64 i = 0; i < graph->n_graphs; i++)
    {
        g_autoptr(IfmGraph) part = ifm_graph_part(graph, i);
        must(ifm_graph_check(part, NULL));
        n_nodes += part->n_nodes;
        n_edges += part->n_edges;
    }
    must(n_nodes == graph->n_nodes && n_edges == graph->n_edges);
}

static void check_padding(const IfmGraph *graph)
{
    g_autoptr(IfmGraph) padded = ifm_graph_pad(graph, graph->n_nodes + 2, graph->n_edges + 3, NULL);
    must(padded != NULL && ifm_graph_check(padded, NULL));
    g_autofree float *before = g_new(float, graph->n_nodes + 1), *after = g_new(float, padded->n_nodes);
    double sum = 0;
    ifm_graph_in_degrees(graph, before);
    ifm_graph_in_degrees(padded, after);
    must(memcmp(before, after, sizeof(float) * (gsize)graph->n_nodes) == 0);
    for (gint64 i = 0; i < graph->n_nodes; i++)
        sum += before[i];
    must(sum == graph->n_edges && after[graph->n_nodes] == 0 && after[graph->n_nodes + 1] == 3);
}

/* check: takes what a reader returned. */
static void check(IfmGraph *made, GError *error)
{
    g_autoptr(IfmGraph) graph = made;
    must((graph == NULL) == (error != NULL));
    if (graph == NULL)
    {
        must(error->code == IFM_ERROR_INVALID);
        must_be_line(error);
        return;
    }
    must(graph->n_nodes >= 0 && graph->n_nodes <= IFM_GRAPH_MAX_NODES && ifm_graph_check(graph, NULL));
    must(graph->n_graphs >= 1 && (graph->node_graph != NULL) == (graph->n_graphs > 1));
    for (gint64 i = 1; i < graph->n_nodes && graph->node_graph != NULL; i++)
        must(graph->node_graph[i] >= graph->node_graph[i - 1] && graph->node_graph[i] < graph->n_graphs);
    check_values(graph->node_values, graph->n_nodes, graph->n_node_values);
    check_values(graph->edge_values, graph->n_edges, graph->n_edge_values);
    check_parts(graph);
    if (graph->n_nodes < 10000) /* a few bytes can name a node of a hundred million */
        check_padding(graph);
}

/* Each part is copied to a place of just its size, so that ASan sees its end. */
static void run_tudataset(const char *data, gsize size)
{
    static const char *const names[IFM_TU_N_FILES] = { "A",           "indicator",   "nodes",        "edges",
                                                       "node-labels", "edge-labels", "graph-values", "graph-labels" };
    char *bytes[IFM_TU_N_FILES] = { NULL };
    gsize lengths[IFM_TU_N_FILES] = { 0 };
    GError *error = NULL;
    const char *end = data + size;
    for (int i = 0; i < IFM_TU_N_FILES && data <= end; i++)
    {
        const char *part_end = i + 1 < IFM_TU_N_FILES ? memchr(data, '\f', (gsize)(end - data)) : NULL;
        lengths[i] = (gsize)((part_end != NULL ? part_end : end) - data);
        bytes[i] = g_malloc(MAX(lengths[i], 1));
        memcpy(bytes[i], data, lengths[i]);
        data += lengths[i] + 1;
    }
    IfmGraph *graph = ifm_tudataset_parse((const char *const *)bytes, lengths, names, "input", &error);
    check(graph, error);
    for (int i = 0; i < IFM_TU_N_FILES; i++)
        g_free(bytes[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *copy = g_malloc(MAX(size, 1));
    if (size > 0)
        memcpy(copy, data, size);
    if (memchr(copy, '\f', size) != NULL)
    {
        run_tudataset(copy, size);
        return 0;
    }
    for (int format = IFM_GRAPH_FORMAT_AUTO; format <= IFM_GRAPH_FORMAT_MATRIX_MARKET; format++)
    {
        GError *error = NULL;
        IfmGraph *graph = ifm_graph_parse(copy, size, "input", (IfmGraphFormat)format, &error);
        check(graph, error);
    }
    return 0;
}
