/* Graphs in parts: who owns what, ghosts, values, and that a layer computed part by part is the whole graph's. */
#include <dataset/dataset.h>
#include <stdlib.h>
#include <string.h>

#include "build-folders.h"

static GPtrArray *partition(const IfmGraph *graph, gint64 n_parts, guint32 seed)
{
    g_autoptr(GError) error = NULL;
    GPtrArray *parts = ifm_graph_partition(graph, n_parts, seed, &error);
    g_assert_no_error(error);
    return parts;
}

static const IfmSubgraph *part_of(const GPtrArray *parts, guint i)
{
    return g_ptr_array_index(parts, i);
}

static gint64 source_of(const IfmGraph *graph, gint64 edge)
{
    return graph->edge_index[edge];
}

static gint64 destination_of(const IfmGraph *graph, gint64 edge)
{
    return graph->edge_index[graph->n_edges + edge];
}

/* --- what must be true of all parts ----------------------------------------------------------------------------------- */

/* Each node is own once. Returns: [n_nodes] the part it is own of. */
static gint64 *check_owners(const IfmGraph *graph, const GPtrArray *parts)
{
    gint64 *owner = g_new(gint64, MAX(graph->n_nodes, 1));
    for (gint64 node = 0; node < graph->n_nodes; node++)
        owner[node] = -1;
    for (guint p = 0; p < parts->len; p++)
    {
        const IfmSubgraph *part = part_of(parts, p);
        g_assert_cmpint(part->n_own, >=, 1);
        for (gint64 i = 0; i < part->n_own; i++)
        {
            g_assert_cmpint(owner[part->nodes[i]], ==, -1);
            g_assert_true(i == 0 || part->nodes[i] > part->nodes[i - 1]);
            owner[part->nodes[i]] = p;
        }
    }
    for (gint64 node = 0; node < graph->n_nodes; node++)
        g_assert_cmpint(owner[node], >=, 0);
    return owner;
}

/* The part's edges are the whole's into its own nodes, in their order, with their values. Ghosts are the sources of those
 * that are not its own, each once, ascending. */
static void check_part(const IfmGraph *graph, const IfmSubgraph *part, const gint64 *owner, gint64 number)
{
    g_autofree gboolean *begins = g_new0(gboolean, MAX(graph->n_nodes, 1));
    gint64 at = 0, n_ghosts = 0, width = graph->n_edge_values;
    for (gint64 edge = 0; edge < graph->n_edges; edge++)
    {
        if (owner[destination_of(graph, edge)] != number)
            continue;
        g_assert_cmpint(at, <, part->graph->n_edges);
        g_assert_cmpint(destination_of(part->graph, at), <, part->n_own);
        g_assert_cmpint(part->nodes[source_of(part->graph, at)], ==, source_of(graph, edge));
        g_assert_cmpint(part->nodes[destination_of(part->graph, at)], ==, destination_of(graph, edge));
        if (graph->edge_values != NULL)
            g_assert_cmpmem(part->graph->edge_values + at * width, sizeof(float) * (gsize)width,
                            graph->edge_values + edge * width, sizeof(float) * (gsize)width);
        begins[source_of(graph, edge)] = TRUE;
        at++;
    }
    g_assert_cmpint(part->graph->n_edges, ==, at);
    for (gint64 node = 0; node < graph->n_nodes; node++)
        if (begins[node] && owner[node] != number)
        {
            g_assert_cmpint(part->n_own + n_ghosts, <, part->graph->n_nodes);
            g_assert_cmpint(part->nodes[part->n_own + n_ghosts++], ==, node);
        }
    g_assert_cmpint(part->graph->n_nodes, ==, part->n_own + n_ghosts);
}

static void check_node_values(const IfmGraph *graph, const IfmSubgraph *part)
{
    gsize bytes = sizeof(float) * (gsize)graph->n_node_values;
    for (gint64 i = 0; i < part->graph->n_nodes && graph->node_values != NULL; i++)
        g_assert_cmpmem(part->graph->node_values + i * graph->n_node_values, bytes,
                        graph->node_values + part->nodes[i] * graph->n_node_values, bytes);
}

static void check_parts(const IfmGraph *graph, const GPtrArray *parts)
{
    g_autofree gint64 *owner = check_owners(graph, parts);
    gint64 n_edges = 0;
    for (guint p = 0; p < parts->len; p++)
    {
        const IfmSubgraph *part = part_of(parts, p);
        g_assert_true(ifm_graph_check(part->graph, NULL));
        check_part(graph, part, owner, p);
        check_node_values(graph, part);
        n_edges += part->graph->n_edges;
    }
    g_assert_cmpint(n_edges, ==, graph->n_edges);
}

static void assert_same_parts(const GPtrArray *a, const GPtrArray *b)
{
    g_assert_cmpuint(a->len, ==, b->len);
    for (guint p = 0; p < a->len; p++)
    {
        const IfmSubgraph *x = part_of(a, p), *y = part_of(b, p);
        g_assert_cmpint(x->n_own, ==, y->n_own);
        g_assert_cmpmem(x->nodes, sizeof(gint64) * (gsize)x->graph->n_nodes, y->nodes,
                        sizeof(gint64) * (gsize)y->graph->n_nodes);
        g_assert_cmpmem(x->graph->edge_index, 2 * sizeof(gint64) * (gsize)x->graph->n_edges, y->graph->edge_index,
                        2 * sizeof(gint64) * (gsize)y->graph->n_edges);
    }
}

/* --- graphs ----------------------------------------------------------------------------------------------------------- */

static IfmGraph *graph_of(gint64 n_nodes, gint64 n_edges, const gint64 (*edges)[2])
{
    IfmGraph *graph = g_new0(IfmGraph, 1);
    graph->name = g_strdup("made");
    graph->n_nodes = n_nodes;
    graph->n_edges = n_edges;
    graph->n_graphs = 1;
    graph->edge_index = g_new(gint64, MAX(2 * n_edges, 1));
    for (gint64 i = 0; i < n_edges; i++)
    {
        graph->edge_index[i] = edges[i][0];
        graph->edge_index[n_edges + i] = edges[i][1];
    }
    return graph;
}

static IfmGraph *random_graph(IfmGraphKind kind, gint64 n_nodes, gint64 n_edges, guint32 seed)
{
    g_autoptr(GError) error = NULL;
    IfmGraph *graph = ifm_graph_random(kind, n_nodes, n_edges, seed, &error);
    g_assert_no_error(error);
    for (gint64 i = 0; i < n_edges; i++) /* some loops, some edges twice, all of which must be kept */
        if (i % 10 == 3)
            graph->edge_index[n_edges + i] = graph->edge_index[i];
        else if (i % 10 == 7)
        {
            graph->edge_index[i] = graph->edge_index[i - 1];
            graph->edge_index[n_edges + i] = graph->edge_index[n_edges + i - 1];
        }
    return graph;
}

/* --- tests ------------------------------------------------------------------------------------------------------------ */

/* Two cliques of five, the odd and the even numbers, with one edge from 1 to 0: there is one best way to part them. */
static void test_cliques(void)
{
    gint64 edges[41][2];
    int n = 0;
    for (int i = 0; i < 10; i++)
        for (int j = i % 2; j < 10; j += 2)
            if (i != j)
            {
                edges[n][0] = i;
                edges[n++][1] = j;
            }
    edges[n][0] = 1;
    edges[n++][1] = 0;
    g_assert_cmpint(n, ==, G_N_ELEMENTS(edges));
    g_autoptr(IfmGraph) graph = graph_of(10, n, (const gint64(*)[2])edges);
    for (guint32 seed = 0; seed < 5; seed++)
    {
        g_autoptr(GPtrArray) parts = partition(graph, 2, seed);
        check_parts(graph, parts);
        g_assert_cmpuint(parts->len, ==, 2);
        for (guint p = 0; p < 2; p++)
        {
            const IfmSubgraph *part = part_of(parts, p);
            gboolean even = part->nodes[0] == 0;
            g_assert_cmpint(part->n_own, ==, 5);
            g_assert_cmpint(part->graph->n_edges, ==, even ? 21 : 20);
            g_assert_cmpint(part->graph->n_nodes, ==, even ? 6 : 5);
            for (int i = 0; i < 5; i++)
                g_assert_cmpint(part->nodes[i] % 2, ==, even ? 0 : 1);
            if (even)
                g_assert_cmpint(part->nodes[5], ==, 1);
        }
    }
}

/* A ring in which each node has an edge to the next and three to itself, and some pairs have five edges: those are kept
 * together. */
static void test_weights(void)
{
    gint64 edges[40][2];
    int n = 0;
    for (int i = 0; i < 12; i++)
        for (int times = i % 3 == 2 ? 1 : 4; times > 0; times--, n++)
        {
            edges[n][0] = i;
            edges[n][1] = (i + 1) % 12;
        }
    for (int i = 0; i < 4; i++, n++)
        edges[n][0] = edges[n][1] = 3 * i;
    g_assert_cmpint(n, ==, G_N_ELEMENTS(edges));
    g_autoptr(IfmGraph) graph = graph_of(12, n, (const gint64(*)[2])edges);
    g_autoptr(GPtrArray) parts = partition(graph, 2, 1);
    check_parts(graph, parts);
    for (guint p = 0; p < 2; p++)
    {
        g_assert_cmpint(part_of(parts, p)->n_own, ==, 6);
        g_assert_cmpint(part_of(parts, p)->graph->n_nodes, ==, 7);
        g_assert_cmpint(part_of(parts, p)->nodes[0] % 3, ==, 0); /* cut where single edges are */
    }
}

static void test_random(void)
{
    static const gint64 sizes[][2] = { { 50, 0 }, { 50, 20 }, { 300, 900 }, { 1000, 20000 } };
    static const gint64 n_parts[] = { 1, 2, 3, 8, 50 };
    for (int kind = IFM_GRAPH_UNIFORM; kind <= IFM_GRAPH_POWER_LAW; kind++)
        for (gsize s = 0; s < G_N_ELEMENTS(sizes); s++)
            for (gsize k = 0; k < G_N_ELEMENTS(n_parts); k++)
            {
                g_autoptr(IfmGraph) graph = random_graph((IfmGraphKind)kind, sizes[s][0], sizes[s][1], 3);
                g_autoptr(GPtrArray) parts = partition(graph, n_parts[k], 5);
                g_assert_true(parts->len >= 1 && parts->len <= n_parts[k]);
                check_parts(graph, parts);
            }
}

/* Real molecules: few bonds are cut, and each part has its share of the nodes and of the edges. */
static void test_peptides(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmGraph) graph = ifm_graph_read(IFM_SOURCE_DIR "/data/peptides", IFM_GRAPH_FORMAT_AUTO, &error);
    g_assert_no_error(error);
    g_assert_true(graph->node_values != NULL && graph->edge_values != NULL);
    g_autoptr(GPtrArray) parts = partition(graph, 6, 1);
    gint64 n_ghosts = 0;
    check_parts(graph, parts);
    g_assert_cmpuint(parts->len, ==, 6);
    for (guint p = 0; p < 6; p++)
    {
        const IfmSubgraph *part = part_of(parts, p);
        g_autofree char *name = g_strdup_printf("peptides, part %u", p + 1);
        g_assert_cmpstr(part->graph->name, ==, name);
        g_assert_cmpint(part->n_own * 6, <, graph->n_nodes * 5 / 4);
        g_assert_cmpint(part->graph->n_edges * 6, <, graph->n_edges * 5 / 4);
        g_assert_cmpint(part->graph->n_graphs, ==, 1);
        n_ghosts += part->graph->n_nodes - part->n_own;
    }
    /* dealt out by chance, 5 of 6 edges would begin elsewhere */
    g_assert_cmpint(n_ghosts, <, graph->n_nodes / 20);
}

static void test_same_again(void)
{
    g_autoptr(IfmGraph) graph = random_graph(IFM_GRAPH_UNIFORM, 400, 2000, 1);
    g_autoptr(GPtrArray) first = partition(graph, 4, 7);
    srand(99); /* METIS draws from here: what others draw must not matter */
    (void)rand();
    g_autoptr(GPtrArray) second = partition(graph, 4, 7);
    assert_same_parts(first, second);
    gboolean differs = FALSE;
    for (guint32 seed = 8; seed < 20 && !differs; seed++)
    {
        g_autoptr(GPtrArray) other = partition(graph, 4, seed);
        differs = part_of(other, 0)->n_own != part_of(first, 0)->n_own ||
                  memcmp(part_of(other, 0)->nodes, part_of(first, 0)->nodes,
                         sizeof(gint64) * (gsize)part_of(first, 0)->n_own) != 0;
    }
    g_assert_true(differs);
}

/* One part is all of it, as it was; without an edge between two nodes the parts are as large as each other, in order. */
static void test_plain(void)
{
    g_autoptr(IfmGraph) graph = random_graph(IFM_GRAPH_UNIFORM, 30, 90, 2);
    g_autoptr(GPtrArray) one = partition(graph, 1, 0);
    g_assert_cmpuint(one->len, ==, 1);
    g_assert_cmpint(part_of(one, 0)->n_own, ==, 30);
    g_assert_cmpint(part_of(one, 0)->graph->n_nodes, ==, 30);
    g_assert_cmpmem(part_of(one, 0)->graph->edge_index, 2 * 90 * sizeof(gint64), graph->edge_index,
                    2 * 90 * sizeof(gint64));
    static const gint64 loops[][2] = { { 3, 3 }, { 10, 10 }, { 3, 3 } };
    g_autoptr(IfmGraph) apart = graph_of(11, 3, loops);
    g_autoptr(GPtrArray) three = partition(apart, 3, 0);
    check_parts(apart, three);
    g_assert_cmpuint(three->len, ==, 3);
    g_assert_cmpint(part_of(three, 0)->n_own, ==, 4);
    g_assert_cmpint(part_of(three, 1)->nodes[0], ==, 4);
    g_assert_cmpint(part_of(three, 1)->n_own, ==, 4);
    g_assert_cmpint(part_of(three, 2)->n_own, ==, 3);
}

static void assert_refused(const IfmGraph *graph, gint64 n_parts, const char *said)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_graph_partition(graph, n_parts, 0, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    if (strstr(error->message, said) == NULL)
        g_error("expected '%s' in: %s", said, error->message);
}

static void test_refused(void)
{
    static const gint64 outside[][2] = { { 0, 1 }, { 2, 5 } };
    g_autoptr(IfmGraph) graph = random_graph(IFM_GRAPH_UNIFORM, 5, 8, 2);
    assert_refused(graph, 6, "cannot be partitioned into 6 parts: 1 to 5");
    assert_refused(graph, 0, "cannot be partitioned into 0 parts");
    assert_refused(graph, -3, "cannot be partitioned into -3 parts");
    g_autoptr(IfmGraph) wrong = graph_of(4, 2, outside);
    assert_refused(wrong, 2, "edge 1, from node 2 to 5");
    /* refused before anything is read: there are no such edges */
    IfmGraph none = { .name = (char *)"none", .n_nodes = 0, .n_graphs = 1 };
    assert_refused(&none, 1, "none: cannot be partitioned into 1 parts");
}

/* --- a layer by parts ------------------------------------------------------------------------------------------------- */

enum
{
    WIDTH = 4,
};

/* GraphSAGE in whole numbers, so that not a bit may differ: sum of x W over the edges, times max(count, 1), plus x V;
 * rows of the first @n_own nodes. */
static void compute_layer(const IfmGraph *graph, gint64 n_own, const gint32 *x, gint32 *h)
{
    static const gint32 w[WIDTH][WIDTH] = { { 1, -2, 3, 0 }, { 2, 5, -1, 4 }, { -3, 1, 1, 2 }, { 0, 2, -4, 1 } };
    static const gint32 v[WIDTH][WIDTH] = { { 2, 1, 0, -1 }, { -2, 3, 1, 1 }, { 4, 0, -1, 2 }, { 1, 1, 1, -3 } };
    for (gint64 node = 0; node < n_own; node++)
    {
        gint32 sum[WIDTH] = { 0 }, count = 0;
        for (gint64 edge = 0; edge < graph->n_edges; edge++)
            if (destination_of(graph, edge) == node)
            {
                count++;
                for (int i = 0; i < WIDTH; i++)
                    for (int k = 0; k < WIDTH; k++)
                        sum[i] += x[source_of(graph, edge) * WIDTH + k] * w[k][i];
            }
        for (int i = 0; i < WIDTH; i++)
        {
            gint32 own = 0;
            for (int k = 0; k < WIDTH; k++)
                own += x[node * WIDTH + k] * v[k][i];
            h[node * WIDTH + i] = MAX(sum[i] * MAX(count, 1) + own, 0);
        }
    }
}

static void check_stitched(const IfmGraph *graph, gint64 n_parts)
{
    const gsize row = WIDTH * sizeof(gint32);
    g_autoptr(GRand) random = g_rand_new_with_seed(23);
    g_autofree gint32 *x = g_new(gint32, graph->n_nodes * WIDTH), *whole = g_new0(gint32, graph->n_nodes * WIDTH);
    g_autofree gint32 *stitched = g_new(gint32, graph->n_nodes * WIDTH);
    for (gint64 i = 0; i < graph->n_nodes * WIDTH; i++)
    {
        x[i] = g_rand_int_range(random, -50, 51);
        stitched[i] = -1; /* no row of a layer is below 0 */
    }
    compute_layer(graph, graph->n_nodes, x, whole);
    g_autoptr(GPtrArray) parts = partition(graph, n_parts, 4);
    for (guint p = 0; p < parts->len; p++)
    {
        const IfmSubgraph *part = part_of(parts, p);
        g_autofree gint32 *part_x = g_new(gint32, part->graph->n_nodes * WIDTH);
        g_autofree gint32 *part_h = g_new0(gint32, part->graph->n_nodes * WIDTH);
        ifm_subgraph_take_rows(part, x, row, part_x);
        compute_layer(part->graph, part->n_own, part_x, part_h);
        ifm_subgraph_put_rows(part, part_h, row, stitched);
    }
    g_assert_cmpmem(stitched, row * (gsize)graph->n_nodes, whole, row * (gsize)graph->n_nodes);
}

static void test_stitched(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmGraph) peptides = ifm_graph_read(IFM_SOURCE_DIR "/data/peptides", IFM_GRAPH_FORMAT_AUTO, &error);
    g_assert_no_error(error);
    g_autoptr(IfmGraph) molecule = ifm_graph_part(peptides, 0);
    g_autoptr(IfmGraph) uniform = random_graph(IFM_GRAPH_UNIFORM, 120, 700, 6);
    g_autoptr(IfmGraph) power = random_graph(IFM_GRAPH_POWER_LAW, 200, 900, 6);
    for (gint64 n_parts = 1; n_parts <= 9; n_parts += 4)
    {
        check_stitched(molecule, n_parts);
        check_stitched(uniform, n_parts);
        check_stitched(power, n_parts);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/partition/cliques", test_cliques);
    g_test_add_func("/partition/weights", test_weights);
    g_test_add_func("/partition/random", test_random);
    g_test_add_func("/partition/peptides", test_peptides);
    g_test_add_func("/partition/same-again", test_same_again);
    g_test_add_func("/partition/plain", test_plain);
    g_test_add_func("/partition/refused", test_refused);
    g_test_add_func("/partition/stitched", test_stitched);
    return g_test_run();
}
