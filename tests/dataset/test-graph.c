/* From graph to graph: parts, padding, in-degrees, the check. */
#include <dataset/dataset.h>
#include <string.h>

/* Two graphs of 2 and 3 nodes: 0 -> 1; 2 -> 3, 4 -> 3, 3 -> 3; 1 attribute a node, 2 an edge. */
static IfmGraph *two_graphs(void)
{
    static const gint64 edges[] = { 2, 0, 4, 3, 3, 1, 3, 3 }, of[] = { 0, 0, 1, 1, 1 };
    static const float nodes[] = { 10, 11, 12, 13, 14 }, values[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    IfmGraph *graph = g_new0(IfmGraph, 1);
    graph->name = g_strdup("two");
    graph->n_nodes = 5;
    graph->n_edges = 4;
    graph->edge_index = g_memdup2(edges, sizeof edges);
    graph->n_graphs = 2;
    graph->node_graph = g_memdup2(of, sizeof of);
    graph->n_node_values = 1;
    graph->node_values = g_memdup2(nodes, sizeof nodes);
    graph->n_edge_values = 2;
    graph->edge_values = g_memdup2(values, sizeof values);
    return graph;
}

static void test_part(void)
{
    static const gint64 first_edges[] = { 0, 1 }, second_edges[] = { 0, 2, 1, 1, 1, 1 };
    static const float second_nodes[] = { 12, 13, 14 }, second_values[] = { 1, 2, 5, 6, 7, 8 };
    g_autoptr(IfmGraph) graph = two_graphs(), first = ifm_graph_part(graph, 0), second = ifm_graph_part(graph, 1);
    g_assert_cmpstr(first->name, ==, "two[0]");
    g_assert_cmpint(first->n_nodes, ==, 2);
    g_assert_cmpint(first->n_edges, ==, 1);
    g_assert_cmpint(first->n_graphs, ==, 1);
    g_assert_null(first->node_graph);
    g_assert_cmpmem(first->edge_index, sizeof first_edges, first_edges, sizeof first_edges);
    g_assert_cmpfloat(first->node_values[1], ==, 11);
    g_assert_cmpfloat(first->edge_values[0], ==, 3);
    g_assert_cmpfloat(first->edge_values[1], ==, 4);
    g_assert_cmpint(second->n_nodes, ==, 3);
    g_assert_cmpint(second->n_edges, ==, 3);
    g_assert_cmpmem(second->edge_index, sizeof second_edges, second_edges, sizeof second_edges);
    g_assert_cmpmem(second->node_values, sizeof second_nodes, second_nodes, sizeof second_nodes);
    g_assert_cmpmem(second->edge_values, sizeof second_values, second_values, sizeof second_values);
    g_autoptr(IfmGraph) again = ifm_graph_part(second, 0); /* of one, the whole */
    g_assert_cmpmem(again->edge_index, sizeof second_edges, second_edges, sizeof second_edges);
    g_assert_cmpint(again->n_nodes, ==, 3);
}

static void test_pad(void)
{
    static const gint64 sources[] = { 2, 0, 4, 3, 7, 7, 7 }, destinations[] = { 3, 1, 3, 3, 7, 7, 7 };
    static const gint64 of[] = { 0, 0, 1, 1, 1, 2, 2, 2 };
    static const float nodes[] = { 10, 11, 12, 13, 14, 0, 0, 0 };
    static const float values[] = { 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0 };
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmGraph) graph = two_graphs(), padded = ifm_graph_pad(graph, 8, 7, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(padded->name, ==, "two, padded to 8 nodes, 7 edges");
    g_assert_cmpint(padded->n_nodes, ==, 8);
    g_assert_cmpint(padded->n_edges, ==, 7);
    g_assert_cmpint(padded->n_graphs, ==, 3);
    g_assert_cmpmem(padded->edge_index, sizeof sources, sources, sizeof sources);
    g_assert_cmpmem(padded->edge_index + 7, sizeof destinations, destinations, sizeof destinations);
    g_assert_cmpmem(padded->node_graph, sizeof of, of, sizeof of);
    g_assert_cmpmem(padded->node_values, sizeof nodes, nodes, sizeof nodes);
    g_assert_cmpmem(padded->edge_values, sizeof values, values, sizeof values);
}

/* Neither an in-degree nor a sum of whole numbers over the edges changes for any node that was there. */
static void test_pad_keeps_sums(void)
{
    for (int kind = IFM_GRAPH_UNIFORM; kind <= IFM_GRAPH_POWER_LAW; kind++)
    {
        g_autoptr(IfmGraph) graph = ifm_graph_random(kind, 700, 3000, 2, NULL);
        g_autoptr(IfmGraph) padded = ifm_graph_pad(graph, 1000, 5000, NULL);
        float before[700], after[1000];
        gint64 sum_before[700] = { 0 }, sum_after[1000] = { 0 };
        ifm_graph_in_degrees(graph, before);
        ifm_graph_in_degrees(padded, after);
        g_assert_cmpmem(before, sizeof before, after, sizeof before);
        g_assert_cmpfloat(after[999], ==, 2000);
        for (int i = 700; i < 999; i++)
            g_assert_cmpfloat(after[i], ==, 0);
        for (int i = 0; i < 3000; i++)
            sum_before[graph->edge_index[3000 + i]] += 1 + graph->edge_index[i];
        for (int i = 0; i < 5000; i++)
            sum_after[padded->edge_index[5000 + i]] += 1 + padded->edge_index[i];
        g_assert_cmpmem(sum_before, sizeof sum_before, sum_after, sizeof sum_before);
        g_assert_null(padded->node_graph);
        g_assert_cmpint(padded->n_graphs, ==, 1);
    }
}

static void test_pad_same(void)
{
    g_autoptr(IfmGraph) graph = two_graphs(), padded = ifm_graph_pad(graph, 5, 4, NULL);
    g_assert_cmpint(padded->n_graphs, ==, 2);
    g_assert_cmpmem(padded->edge_index, 8 * sizeof(gint64), graph->edge_index, 8 * sizeof(gint64));
    g_autoptr(IfmGraph) more_nodes = ifm_graph_pad(graph, 6, 4, NULL); /* a node without an edge */
    float degrees[6];
    ifm_graph_in_degrees(more_nodes, degrees);
    g_assert_cmpfloat(degrees[5], ==, 0);
}

static void test_pad_refused(void)
{
    static const struct
    {
        gint64 n_nodes, n_edges;
        const char *message;
    } cases[] = {
        { 4, 9, "two: 5 nodes and 4 edges cannot be padded to 4 nodes and 9 edges: fewer nodes than it has" },
        { 9, 3, "two: 5 nodes and 4 edges cannot be padded to 9 nodes and 3 edges: fewer edges than it has" },
        { 5, 5,
          "two: 5 nodes and 4 edges cannot be padded to 5 nodes and 5 edges: added edges need an added node, which they "
          "lead to" },
        { G_MAXINT64, 4,
          "two, padded to 9223372036854775807 nodes, 4 edges: 9223372036854775807 nodes; a graph has 0 to "
          "100000000" },
        { 6, G_MAXINT64,
          "two, padded to 6 nodes, 9223372036854775807 edges: 9223372036854775807 edges; a graph has 0 to "
          "400000000" },
    };
    g_autoptr(IfmGraph) graph = two_graphs();
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(GError) error = NULL;
        g_assert_null(ifm_graph_pad(graph, cases[i].n_nodes, cases[i].n_edges, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_cmpstr(error->message, ==, cases[i].message);
    }
}

static void test_in_degrees(void)
{
    g_autoptr(IfmGraph) graph = two_graphs();
    static const float expected[] = { 0, 1, 0, 3, 0 };
    float degrees[5] = { 9, 9, 9, 9, 9 };
    ifm_graph_in_degrees(graph, degrees);
    g_assert_cmpmem(degrees, sizeof degrees, expected, sizeof expected);
}

/* Adding 1 to a float ends at 2^24; the dummy node of a large static model gets more edges than that. */
static void test_in_degree_above_2_24(void)
{
    IfmGraph graph = { .n_nodes = 1, .n_edges = (1 << 24) + 2, .n_graphs = 1 };
    graph.edge_index = g_new0(gint64, 2 * graph.n_edges);
    float degree;
    ifm_graph_in_degrees(&graph, &degree);
    g_assert_cmpfloat(degree, ==, 16777218.0F);
    g_free(graph.edge_index);
}

static void test_check(void)
{
    g_autoptr(IfmGraph) graph = two_graphs();
    g_autoptr(GError) error = NULL;
    g_assert_true(ifm_graph_check(graph, &error));
    graph->edge_index[4 + 3] = 5;
    g_assert_false(ifm_graph_check(graph, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpstr(error->message, ==, "two: edge 3, from node 3 to 5, is outside its 5 nodes (numbered from 0)");
    g_clear_error(&error);
    graph->edge_index[1] = -1;
    g_assert_false(ifm_graph_check(graph, &error));
    g_assert_cmpstr(error->message, ==, "two: edge 1, from node -1 to 1, is outside its 5 nodes (numbered from 0)");
}

/* Batched and taken apart again, graphs are what they were: attributes, edges, whichever were several before. */
static void test_batch(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmGraph) two = two_graphs(), one = ifm_graph_part(two, 1), padded = ifm_graph_pad(one, 5, 3, NULL);
    const IfmGraph *const graphs[] = { one, two, padded };
    g_autoptr(IfmGraph) batch = ifm_graph_batch(graphs, 3, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(batch->name, ==, "two[1] to two[1], padded to 5 nodes, 3 edges, 4 graphs");
    static const gint64 of[] = { 0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3 };
    static const gint64 edges[] = { 0, 2, 1, 5, 3, 7, 6, 8, 10, 9, /**/ 1, 1, 1, 6, 4, 6, 6, 9, 9, 9 };
    g_assert_cmpint(batch->n_graphs, ==, 4);
    g_assert_cmpint(batch->n_nodes, ==, 13);
    g_assert_cmpint(batch->n_edges, ==, 10);
    g_assert_cmpmem(batch->node_graph, sizeof of, of, sizeof of);
    g_assert_cmpmem(batch->edge_index, sizeof edges, edges, sizeof edges);
    const IfmGraph *const were[] = { one, NULL, one, padded };
    for (gint64 i = 0; i < 4; i++)
    {
        g_autoptr(IfmGraph) part = ifm_graph_part(batch, i), first = ifm_graph_part(two, 0);
        const IfmGraph *was = were[i] != NULL ? were[i] : first;
        gsize n_nodes = (gsize)was->n_nodes, n_edges = (gsize)was->n_edges;
        g_assert_cmpmem(part->edge_index, 16 * (gsize)part->n_edges, was->edge_index, 16 * n_edges);
        g_assert_cmpmem(part->node_values, 4 * (gsize)part->n_nodes, was->node_values, 4 * n_nodes);
        g_assert_cmpmem(part->edge_values, 8 * (gsize)part->n_edges, was->edge_values, 8 * n_edges);
    }
    g_autoptr(IfmGraph) single = ifm_graph_batch(&graphs[0], 1, NULL);
    g_assert_null(single->node_graph);
    g_assert_cmpstr(single->name, ==, "two[1]");
}

static void test_batch_refused(void)
{
    g_autoptr(IfmGraph) two = two_graphs(), other = ifm_graph_part(two, 0), wide = two_graphs();
    const IfmGraph *graphs[] = { two, other };
    g_autoptr(GError) none = NULL, nodes = NULL, edges = NULL, large = NULL;
    g_assert_null(ifm_graph_batch(graphs, 0, &none));
    g_assert_error(none, IFM_ERROR, IFM_ERROR_INVALID);
    g_clear_pointer(&other->node_values, g_free);
    other->n_node_values = 0;
    g_assert_null(ifm_graph_batch(graphs, 2, &nodes));
    g_assert_error(nodes, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpstr(nodes->message, ==, "two[0] has 0 attributes a node, two has 1; graphs of one batch have as many each");
    wide->n_edge_values = 1; /* rows half as long, in the same room */
    graphs[1] = wide;
    g_assert_null(ifm_graph_batch(graphs, 2, &edges));
    g_assert_cmpstr(edges->message, ==, "two has 1 attributes an edge, two has 2; graphs of one batch have as many each");
    IfmGraph huge = { .name = (char *)"huge", .n_nodes = IFM_GRAPH_MAX_NODES, .n_graphs = 1 };
    const IfmGraph *const many[] = { &huge, &huge };
    g_assert_null(ifm_graph_batch(many, 2, &large));
    g_assert_error(large, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpstr(large->message, ==, "huge to huge, 2 graphs: 200000000 nodes; a graph has 0 to 100000000");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/graph/part", test_part);
    g_test_add_func("/graph/pad", test_pad);
    g_test_add_func("/graph/pad-keeps-sums", test_pad_keeps_sums);
    g_test_add_func("/graph/pad-same", test_pad_same);
    g_test_add_func("/graph/pad-refused", test_pad_refused);
    g_test_add_func("/graph/in-degrees", test_in_degrees);
    g_test_add_func("/graph/in-degree-above-2-24", test_in_degree_above_2_24);
    g_test_add_func("/graph/check", test_check);
    g_test_add_func("/graph/batch", test_batch);
    g_test_add_func("/graph/batch-refused", test_batch_refused);
    return g_test_run();
}
