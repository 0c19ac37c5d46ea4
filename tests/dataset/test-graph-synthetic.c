/* Undirected random graphs with features. */
#include <dataset/dataset.h>
#include <math.h>
#include <string.h>

static IfmGraph *made(gint64 n_nodes, double avg_degree, gint64 feature_dim, guint32 seed)
{
    g_autoptr(GError) error = NULL;
    IfmGraph *graph = ifm_graph_synthetic(n_nodes, avg_degree, feature_dim, seed, &error);
    g_assert_no_error(error);
    g_assert_cmpint(graph->n_nodes, ==, n_nodes);
    g_assert_cmpint(graph->n_node_values, ==, feature_dim);
    g_assert_cmpint(graph->n_graphs, ==, 1);
    g_assert_null(graph->node_graph);
    g_assert_null(graph->edge_values);
    g_assert_true(ifm_graph_check(graph, &error));
    return graph;
}

/* Each edge beside its reverse, none a loop, no pair twice. */
static void assert_undirected(const IfmGraph *graph)
{
    const gint64 *sources = graph->edge_index, *destinations = sources + graph->n_edges;
    g_autoptr(GHashTable) pairs = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    for (gint64 i = 0; i < graph->n_edges; i += 2)
    {
        g_assert_cmpint(sources[i], ==, destinations[i + 1]);
        g_assert_cmpint(destinations[i], ==, sources[i + 1]);
        g_assert_cmpint(sources[i], !=, destinations[i]);
        gint64 pair = MIN(sources[i], destinations[i]) * graph->n_nodes + MAX(sources[i], destinations[i]);
        g_assert_true(g_hash_table_add(pairs, g_memdup2(&pair, sizeof pair)));
    }
}

static void test_counts(void)
{
    static const struct
    {
        gint64 n_nodes;
        double avg_degree;
        gint64 n_edges;
    } cases[] = {
        { 0, 0, 0 },        { 1, 0, 0 },      { 2, 0, 0 },      { 2, 1, 2 },        { 3, 2, 6 },
        { 4, 3, 12 },       { 5, 4, 20 },     { 5, 1, 6 },      { 5, 0.9, 4 },      { 7, 2.5, 18 },
        { 10, 9, 90 },      { 11, 10, 110 },  { 100, 5, 500 },  { 101, 5, 506 },    { 500, 5, 2500 },
        { 5000, 5, 25000 }, { 64, 40, 2560 }, { 65, 50, 3250 }, { 1000, 0.1, 100 }, { 300, 299, 89700 },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(IfmGraph) graph = made(cases[i].n_nodes, cases[i].avg_degree, 0, 5);
        g_assert_cmpint(graph->n_edges, ==, cases[i].n_edges);
        g_assert_null(graph->node_values);
        assert_undirected(graph);
    }
}

/* Every pair of an even and of an odd number of nodes comes up as often as every other. */
static void test_equally_likely(void)
{
    const int n_seeds = 4000;
    for (gint64 n = 5; n <= 6; n++)
    {
        const gint64 n_pairs = n * (n - 1) / 2;
        int taken[36] = { 0 };
        for (int seed = 0; seed < n_seeds; seed++)
        {
            g_autoptr(IfmGraph) graph = made(n, 2, 0, (guint32)seed);
            for (gint64 i = 0; i < graph->n_edges; i++)
                taken[graph->edge_index[i] * n + graph->edge_index[graph->n_edges + i]]++;
        }
        const double chance = (double)n / (double)n_pairs; /* n pairs are taken */
        for (gint64 i = 0; i < n * n; i++)
            g_assert_cmpfloat_with_epsilon(taken[i], i / n == i % n ? 0 : n_seeds * chance,
                                           5 * sqrt(n_seeds * chance * (1 - chance)));
    }
}

static void test_seeds(void)
{
    g_autoptr(IfmGraph) one = made(200, 6, 4, 1), same = made(200, 6, 4, 1), other = made(200, 6, 4, 2);
    const gsize edges = sizeof(gint64) * 2 * (gsize)one->n_edges, values = sizeof(float) * 200 * 4;
    g_assert_cmpmem(one->edge_index, edges, same->edge_index, edges);
    g_assert_cmpmem(one->node_values, values, same->node_values, values);
    g_assert_true(memcmp(one->edge_index, other->edge_index, edges) != 0);
    g_assert_true(memcmp(one->node_values, other->node_values, values) != 0);
    g_assert_cmpstr(one->name, ==, "synthetic, 200 nodes, average degree 6, 4 features, seed 1");
}

/* Moments of a normal distribution, and how much of it lies beyond one and two deviations. */
static void test_features(void)
{
    g_autoptr(IfmGraph) graph = made(20000, 1, 5, 9);
    const double n = 20000 * 5;
    double moments[5] = { 0 };
    int beyond[2] = { 0 };
    for (int i = 0; i < 20000 * 5; i++)
    {
        double value = (double)graph->node_values[i];
        for (int power = 1; power <= 4; power++)
            moments[power] += pow(value, power) / n;
        beyond[0] += fabs(value) > 1;
        beyond[1] += fabs(value) > 2;
    }
    g_assert_cmpfloat_with_epsilon(moments[1], 0, 5 / sqrt(n));
    g_assert_cmpfloat_with_epsilon(moments[2], 1, 5 * sqrt(2 / n));
    g_assert_cmpfloat_with_epsilon(moments[3], 0, 5 * sqrt(15 / n));
    g_assert_cmpfloat_with_epsilon(moments[4], 2.9, 5 * sqrt(96 / n)); /* the normal's is 3; a sum of twelve has 2.9 */
    g_assert_cmpfloat_with_epsilon(beyond[0] / n, 0.3173, 0.01);
    g_assert_cmpfloat_with_epsilon(beyond[1] / n, 0.0455, 0.005);
}

/* Known before it is made: its edges, and what making it holds, the table of pairs or the features beside the edges. */
static void test_size(void)
{
    static const struct
    {
        gint64 n_nodes;
        double avg_degree;
        gint64 feature_dim, bytes;
    } cases[] = {
        { 0, 0, 4, 16 * 8 },
        { 1000, 5, 0, 16 * 5000 + 8 * 8192 }, /* 2500 pairs, at most half of the table full */
        { 1000, 5, 100, 16 * 5000 + 4 * 1000 * 100 },
        { 100000000, 4, 1, 16 * G_GINT64_CONSTANT(400000000) + 8 * (G_GINT64_CONSTANT(1) << 29) },
        { 100000000, 0, G_MAXINT64, G_MAXINT64 },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        gint64 n_edges, bytes;
        g_autoptr(GError) error = NULL;
        g_assert_true(ifm_graph_synthetic_size(cases[i].n_nodes, cases[i].avg_degree, cases[i].feature_dim, &n_edges,
                                               &bytes, &error));
        g_assert_no_error(error);
        g_assert_cmpint(bytes, ==, cases[i].bytes);
        if (cases[i].n_nodes > 1000)
            continue;
        g_autoptr(IfmGraph) graph = made(cases[i].n_nodes, cases[i].avg_degree, cases[i].feature_dim, 1);
        g_assert_cmpint(n_edges, ==, graph->n_edges);
    }
}

static void test_refused(void)
{
    static const struct
    {
        gint64 n_nodes;
        double avg_degree;
        gint64 feature_dim;
        const char *said;
    } cases[] = {
        { 10, 9.5, 1, "synthetic, 10 nodes, average degree 9.5, 1 features: of 10 nodes each has 0 to 9 neighbours" },
        { 10, -1, 1, "synthetic, 10 nodes, average degree -1, 1 features: of 10 nodes each has 0 to 9 neighbours" },
        { 10, (double)NAN, 1,
          "synthetic, 10 nodes, average degree nan, 1 features: of 10 nodes each has 0 to 9 neighbours" },
        { 0, 1, 1, "synthetic, 0 nodes, average degree 1, 1 features: of 0 nodes each has 0 to 0 neighbours" },
        { 10, 1, -1, "synthetic, 10 nodes, average degree 1, -1 features: 0 features or more" },
        { -1, 0, 1, "synthetic, -1 nodes, average degree 0, 1 features: -1 nodes; a graph has 0 to 100000000" },
        { 100000000, 99999999, 0,
          "synthetic, 100000000 nodes, average degree 1e+08, 0 features: 800000000 edges; a graph has 0 to "
          "400000000" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(GError) error = NULL;
        g_assert_null(ifm_graph_synthetic(cases[i].n_nodes, cases[i].avg_degree, cases[i].feature_dim, 1, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_cmpstr(error->message, ==, cases[i].said);
    }
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_graph_synthetic(1000, 1, G_MAXINT64, 1, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_MEMORY);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/graph-synthetic/counts", test_counts);
    g_test_add_func("/graph-synthetic/equally-likely", test_equally_likely);
    g_test_add_func("/graph-synthetic/seeds", test_seeds);
    g_test_add_func("/graph-synthetic/features", test_features);
    g_test_add_func("/graph-synthetic/size", test_size);
    g_test_add_func("/graph-synthetic/refused", test_refused);
    return g_test_run();
}
