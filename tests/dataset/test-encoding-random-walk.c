/* Random-walk encodings against exact chances and against powers of the dense matrix. */
#include <dataset/dataset.h>
#include <math.h>
#include <string.h>

/* @edges: [2 x n_edges] */
static IfmGraph *make(gint64 n_nodes, gint64 n_edges, const gint64 *edges)
{
    IfmGraph *graph = g_new0(IfmGraph, 1);
    graph->name = g_strdup("made");
    graph->n_nodes = n_nodes;
    graph->n_edges = n_edges;
    graph->n_graphs = 1;
    graph->edge_index = g_memdup2(edges, sizeof *edges * 2 * (gsize)n_edges);
    return graph;
}

static IfmEncoding *encode(const IfmGraph *graph, gint64 dim)
{
    g_autoptr(GError) error = NULL;
    IfmEncoding *encoding = ifm_encoding_random_walk(graph, dim, NULL, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpint(encoding->n_nodes, ==, graph->n_nodes);
    g_assert_cmpint(encoding->dim, ==, dim);
    g_assert_null(encoding->eigenvalues);
    return encoding;
}

/* Chances that floats hold exactly. */
static void test_exact(void)
{
    /* a cycle of 4, undirected: 1/2 of being back after every even number of steps */
    static const gint64 cycle[] = { 0, 1, 1, 2, 2, 3, 3, 0, 1, 0, 2, 1, 3, 2, 0, 3 };
    g_autoptr(IfmGraph) four = make(4, 8, cycle);
    g_autoptr(IfmEncoding) of_four = encode(four, 9);
    for (gint64 i = 0; i < 4; i++)
        for (gint64 k = 0; k < 9; k++)
            g_assert_cmpfloat(of_four->values[i * 9 + k], ==, k % 2 == 1 ? 0.5 : 0);

    /* one way round 3, with a loop at 0, twice an edge 1 -> 2 and one way out of 2 that ends at 3 */
    static const gint64 odd[] = { 0, 0, 1, 1, 2, 2, /**/ 0, 1, 2, 2, 0, 3 };
    g_autoptr(IfmGraph) ring = make(4, 6, odd);
    g_autoptr(IfmEncoding) of_ring = encode(ring, 4);
    /* P: 0 -> 0, 1 by 1/2; 1 -> 2 by 1; 2 -> 0, 3 by 1/2; so 3 steps round: 1/4 */
    static const float chances[] = { 0.5F, 0.25F, 0.125F + 0.25F, 0.0625F + 0.25F, 0, 0, 0.25F, 0.125F,
                                     0,    0,     0.25F,          0.125F,          0, 0, 0,     0 };
    g_assert_cmpmem(of_ring->values, sizeof chances, chances, sizeof chances);
    g_assert_cmpuint(of_ring->notes->len, ==, 1);
    g_assert_cmpstr(of_ring->notes->pdata[0], ==, "1 node that no edge leaves: a walk ends there");
}

/* The k-th power's diagonal, by multiplying n x n. */
static void check_against_dense(const IfmGraph *graph, gint64 dim)
{
    gint64 n = graph->n_nodes;
    g_autoptr(IfmEncoding) encoding = encode(graph, dim);
    g_autofree double *step = g_new0(double, n *n), *power = g_new0(double, n *n), *product = g_new(double, n *n);
    for (gint64 i = 0; i < graph->n_edges; i++)
        step[graph->edge_index[i] * n + graph->edge_index[graph->n_edges + i]]++;
    for (gint64 i = 0; i < n; i++)
    {
        double sum = 0;
        for (gint64 k = 0; k < n; k++)
            sum += step[i * n + k];
        for (gint64 k = 0; k < n && sum > 0; k++)
            step[i * n + k] /= sum;
        power[i * n + i] = 1;
    }
    for (gint64 k = 0; k < dim; k++)
    {
        memset(product, 0, sizeof *product * (gsize)(n * n));
        for (gint64 i = 0; i < n; i++)
            for (gint64 of = 0; of < n; of++)
                for (gint64 to = 0; to < n && power[i * n + of] != 0; to++)
                    product[i * n + to] += power[i * n + of] * step[of * n + to];
        memcpy(power, product, sizeof *power * (gsize)(n * n));
        for (gint64 i = 0; i < n; i++)
            g_assert_cmpfloat(fabs((double)encoding->values[i * dim + k] - power[i * n + i]), <=, 1e-7 * power[i * n + i]);
    }
}

/* Directed graphs, sparse ones with ends and dense ones, of numbers of nodes that fill a block and that do not. */
static void test_powers(void)
{
    static const gint64 sizes[] = { 1, 2, 7, 8, 9, 40, 101 };
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
        for (guint32 seed = 1; seed <= 3; seed++)
        {
            gint64 n = sizes[i], max = n * (n - 1);
            g_autoptr(IfmGraph) thin = ifm_graph_random(IFM_GRAPH_UNIFORM, n, MIN(max, n), seed, NULL);
            g_autoptr(IfmGraph) thick = ifm_graph_random(IFM_GRAPH_POWER_LAW, n, MIN(max, 6 * n), seed, NULL);
            check_against_dense(thin, 11);
            check_against_dense(thick, 16);
            check_against_dense(thick, 1);
        }
}

static void test_batch(void)
{
    g_autoptr(IfmGraph) a = ifm_graph_random(IFM_GRAPH_UNIFORM, 13, 60, 1, NULL);
    g_autoptr(IfmGraph) b = ifm_graph_random(IFM_GRAPH_UNIFORM, 22, 50, 2, NULL);
    const IfmGraph *const graphs[] = { a, b };
    g_autoptr(IfmGraph) both = ifm_graph_batch(graphs, 2, NULL);
    g_autoptr(IfmEncoding) of_a = encode(a, 6), of_b = encode(b, 6), of_both = encode(both, 6);
    for (gint64 i = 0; i < 35 * 6; i++) /* sums are added up in another order where a block has other nodes */
    {
        double alone = (double)(i < 13 * 6 ? of_a->values[i] : of_b->values[i - 13 * 6]);
        g_assert_cmpfloat(fabs((double)of_both->values[i] - alone), <=, 1e-7 * alone);
    }
    g_autoptr(IfmEncoding) again = encode(both, 6);
    g_assert_cmpmem(of_both->values, sizeof(float) * 35 * 6, again->values, sizeof(float) * 35 * 6);
}

/* Watcher: Gives up when it is asked for the @max-th time; 0: never. */
typedef struct
{
    guint n, max;
    double last_ratio;
} Watcher;

static gboolean watch(double done_ratio, void *user)
{
    Watcher *watcher = user;
    g_assert_cmpfloat(done_ratio, >=, watcher->last_ratio);
    g_assert_cmpfloat(done_ratio, <, 1);
    watcher->last_ratio = done_ratio;
    return ++watcher->n != watcher->max;
}

static void test_watched(void)
{
    g_autoptr(IfmGraph) graph = ifm_graph_synthetic(600, 5, 0, 1, NULL);
    g_autoptr(IfmEncoding) alone = encode(graph, 16);
    Watcher whole = { 0 }, some = { .max = 3 };
    g_autoptr(IfmEncoding) watched = ifm_encoding_random_walk(graph, 16, watch, &whole, NULL);
    g_assert_cmpmem(watched->values, sizeof(float) * 600 * 16, alone->values, sizeof(float) * 600 * 16);
    g_assert_cmpuint(whole.n, >, 10);
    g_assert_cmpfloat(whole.last_ratio, >, 0.5);
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_encoding_random_walk(graph, 16, watch, &some, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_CANCELLED);
    g_assert_cmpuint(some.n, ==, 3);
}

static void test_refused(void)
{
    static const gint64 edges[] = { 0, 5 };
    g_autoptr(IfmGraph) none = make(0, 0, edges), outside = make(3, 1, edges);
    static const char *const messages[] = { "made: no nodes to encode",
                                            "made: an encoding of dimension 0; 1 to 10000 would be right",
                                            "made: edge 0, from node 0 to 5, is outside its 3 nodes (numbered from 0)" };
    for (int i = 0; i < 3; i++)
    {
        g_autoptr(GError) error = NULL;
        g_assert_null(ifm_encoding_random_walk(i == 0 ? none : outside, i == 1 ? 0 : 4, NULL, NULL, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_cmpstr(error->message, ==, messages[i]);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/encoding-random-walk/exact", test_exact);
    g_test_add_func("/encoding-random-walk/powers", test_powers);
    g_test_add_func("/encoding-random-walk/batch", test_batch);
    g_test_add_func("/encoding-random-walk/watched", test_watched);
    g_test_add_func("/encoding-random-walk/refused", test_refused);
    return g_test_run();
}
