#include <dataset/dataset.h>
#include <math.h>
#include <string.h>

static IfmGraph *made(IfmGraphKind kind, gint64 n_nodes, gint64 n_edges, guint32 seed)
{
    g_autoptr(GError) error = NULL;
    IfmGraph *graph = ifm_graph_random(kind, n_nodes, n_edges, seed, &error);
    g_assert_no_error(error);
    g_assert_cmpint(graph->n_nodes, ==, n_nodes);
    g_assert_cmpint(graph->n_edges, ==, n_edges);
    g_assert_cmpint(graph->n_graphs, ==, 1);
    g_assert_null(graph->node_graph);
    g_assert_null(graph->node_values);
    g_assert_null(graph->edge_values);
    return graph;
}

static int by_value(const void *a, const void *b)
{
    gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;
    return (x > y) - (x < y);
}

/* Every edge inside the nodes, none a loop, none twice (found by sorting, not by a table as the generator has). */
static void assert_simple(const IfmGraph *graph)
{
    g_autofree gint64 *edges = g_new(gint64, graph->n_edges + 1);
    for (gint64 i = 0; i < graph->n_edges; i++)
    {
        gint64 source = graph->edge_index[i], destination = graph->edge_index[graph->n_edges + i];
        g_assert_true(source >= 0 && source < graph->n_nodes && destination >= 0 && destination < graph->n_nodes);
        g_assert_cmpint(source, !=, destination);
        edges[i] = source * graph->n_nodes + destination;
    }
    qsort(edges, (gsize)graph->n_edges, sizeof *edges, by_value);
    for (gint64 i = 1; i < graph->n_edges; i++)
        g_assert_cmpint(edges[i - 1], <, edges[i]);
}

static void test_counts(void)
{
    static const gint64 sizes[][2] = { { 0, 0 },         { 1, 0 },        { 2, 0 },        { 2, 1 },
                                       { 2, 2 },         { 3, 6 },        { 50, 1224 },    { 50, 1225 },
                                       { 50, 1226 },     { 50, 2449 },    { 50, 2450 },    { 1000, 1000 },
                                       { 1000, 10000 },  { 2000, 10000 }, { 5000, 10000 }, { 10000, 1 },
                                       { 10000, 10000 }, { 400, 159600 }, { 400, 140000 }, { 300, 60000 },
                                       { 20000, 200000 } };
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
        for (int kind = IFM_GRAPH_UNIFORM; kind <= IFM_GRAPH_POWER_LAW; kind++)
        {
            g_autoptr(IfmGraph) graph = made(kind, sizes[i][0], sizes[i][1], 3);
            assert_simple(graph);
        }
}

/* The digests come from another program: a Mersenne twister, exact cube roots, sets and lists in Python, written from the
 * description in docs/graphs.md. So a change in what a seed gives is noticed, and so is a machine that differs. */
static void test_same_everywhere(void)
{
    static const struct
    {
        IfmGraphKind kind;
        gint64 n_nodes, n_edges;
        guint32 seed;
        const char *digest, *name;
    } cases[] = {
        { IFM_GRAPH_UNIFORM, 1000, 10000, 1, "4ba8bfa56dc499f7d2d215aad629158e2722c289caeb555e2250049edc238237",
          "uniform, 1000 nodes, 10000 edges, seed 1" },
        { IFM_GRAPH_POWER_LAW, 1000, 10000, 1, "dda1f90e0485d365a9ce4971ed0dc2a4633278239515ffdff3aaf98febf6914b",
          "power-law, 1000 nodes, 10000 edges, seed 1" },
        { IFM_GRAPH_UNIFORM, 60, 2000, 7, "b20ce992fb1015c648fa048bf65bc7701712183938b24b6375d7c36130ac91fc",
          "uniform, 60 nodes, 2000 edges, seed 7" },
        { IFM_GRAPH_POWER_LAW, 60, 3000, 7, "a3903e1661ed4c260ee6a8a305c8858f7ac813de1b9d9e88cc44860034aba916",
          "power-law, 60 nodes, 3000 edges, seed 7" },
        { IFM_GRAPH_POWER_LAW, 60, 3540, 7, "cc62aef593bff109bd8d2642d893fa0e7481af351b6a06541bce1715e2fd13ec",
          "power-law, 60 nodes, 3540 edges, seed 7" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(IfmGraph) graph = made(cases[i].kind, cases[i].n_nodes, cases[i].n_edges, cases[i].seed);
        for (gint64 k = 0; k < 2 * graph->n_edges; k++)
            graph->edge_index[k] = GINT64_TO_LE(graph->edge_index[k]);
        g_autofree char *digest = g_compute_checksum_for_data(G_CHECKSUM_SHA256, (guchar *)graph->edge_index,
                                                              2 * sizeof(gint64) * (gsize)graph->n_edges);
        g_assert_cmpstr(digest, ==, cases[i].digest);
        g_assert_cmpstr(graph->name, ==, cases[i].name);
    }
}

static void test_seeds(void)
{
    for (int kind = IFM_GRAPH_UNIFORM; kind <= IFM_GRAPH_POWER_LAW; kind++)
    {
        g_autoptr(IfmGraph) a = made(kind, 2000, 5000, 1), again = made(kind, 2000, 5000, 1), b = made(kind, 2000, 5000, 2);
        g_assert_cmpmem(a->edge_index, 80000, again->edge_index, 80000);
        gint64 n_equal = 0;
        for (gint64 i = 0; i < 10000; i++)
            n_equal += a->edge_index[i] == b->edge_index[i];
        g_assert_cmpint(n_equal, <, 100); /* of 10,000 numbers below 2,000 some are equal by chance */
    }
}

/* Over 20,000 seeds, each of the 20 edges of 5 nodes is taken in n_edges / 20 of the graphs, and comes first in 1 / 20 of
 * them, within 5 standard deviations. */
static void assert_equally_likely(IfmGraphKind kind, gint64 n_edges)
{
    const int n_seeds = 20000;
    int taken[25] = { 0 }, first[25] = { 0 };
    for (int seed = 0; seed < n_seeds; seed++)
    {
        g_autoptr(IfmGraph) graph = made(kind, 5, n_edges, (guint32)seed);
        for (gint64 i = 0; i < n_edges; i++)
            taken[graph->edge_index[i] * 5 + graph->edge_index[n_edges + i]]++;
        first[graph->edge_index[0] * 5 + graph->edge_index[n_edges]]++;
    }
    double chance = (double)n_edges / 20;
    for (int edge = 0; edge < 25; edge++)
    {
        double real = edge % 6 != 0; /* 0, 6, 12, ... are the loops */
        g_assert_cmpfloat_with_epsilon(taken[edge], real * n_seeds * chance,
                                       5 * sqrt(n_seeds * chance * (1 - chance)) + 1e-9);
        g_assert_cmpfloat_with_epsilon(first[edge], real * n_seeds / 20, 5 * sqrt(n_seeds * 0.05 * 0.95));
    }
}

static void test_equally_likely(void)
{
    assert_equally_likely(IFM_GRAPH_UNIFORM, 1);
    assert_equally_likely(IFM_GRAPH_UNIFORM, 7);
    assert_equally_likely(IFM_GRAPH_UNIFORM, 10);
    assert_equally_likely(IFM_GRAPH_UNIFORM, 15);
    assert_equally_likely(IFM_GRAPH_UNIFORM, 20);
    assert_equally_likely(IFM_GRAPH_POWER_LAW, 15); /* over all seeds, no node is the heavy one */
    assert_equally_likely(IFM_GRAPH_POWER_LAW, 20);
}

static void count_degrees(const IfmGraph *graph, int row, double *degrees)
{
    memset(degrees, 0, sizeof *degrees * (gsize)graph->n_nodes);
    for (gint64 i = 0; i < graph->n_edges; i++)
        degrees[graph->edge_index[row * graph->n_edges + i]]++;
}

static int falling(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

static double correlation(const double *x, const double *y, gint64 n)
{
    double sx = 0, sy = 0, sxx = 0, syy = 0, sxy = 0;
    for (gint64 i = 0; i < n; i++)
    {
        sx += x[i];
        sy += y[i];
        sxx += x[i] * x[i];
        syy += y[i] * y[i];
        sxy += x[i] * y[i];
    }
    return (sxy - sx * sy / (double)n) / sqrt((sxx - sx * sx / (double)n) * (syy - sy * sy / (double)n));
}

#define N_NODES 20000
#define N_EDGES 400000

/* power_law_degrees: what Chung and Lu's model expects, by its formula in floating point: n_edges * w / sum(w) with
 * w = (k + k0)^(-2/3) and the least k0 that lets the heaviest pair have one edge. */
static void power_law_degrees(double *expected)
{
    double sum = 0;
    int k0 = 0;
    do
    {
        k0++;
        sum = 0;
        for (int k = 0; k < N_NODES; k++)
            sum += expected[k] = pow(k + k0, -2.0 / 3);
    } while (N_EDGES * expected[0] * expected[0] > sum * sum);
    for (int k = 0; k < N_NODES; k++)
        expected[k] *= N_EDGES / sum;
}

static void test_power_law(void)
{
    g_autoptr(IfmGraph) graph = made(IFM_GRAPH_POWER_LAW, N_NODES, N_EDGES, 5);
    g_autofree double *out = g_new(double, N_NODES), *in = g_new(double, N_NODES), *expected = g_new(double, N_NODES);
    count_degrees(graph, 0, out);
    count_degrees(graph, 1, in);
    g_assert_cmpfloat(correlation(out, in, N_NODES), >, 0.9);
    power_law_degrees(expected);
    double *rows[] = { out, in };
    for (int row = 0; row < 2; row++)
    {
        qsort(rows[row], N_NODES, sizeof(double), falling);
        double sum = 0, sum_expected = 0;
        for (int k = 0, next = 20; k < N_NODES; k++)
        {
            sum += rows[row][k];
            sum_expected += expected[k];
            if (k + 1 != next)
                continue;
            /* the heaviest 20, 200, 2000 and all together; edges drawn twice take a little from the heaviest */
            g_assert_cmpfloat_with_epsilon(sum / sum_expected, 1, 0.08);
            next *= 10;
        }
    }
    /* far above Poisson's: for a mean of 20, more than 70 comes up once in 10^17 */
    g_assert_cmpfloat(in[0], >, 400);
    g_assert_cmpfloat(in[20], >, 250);
}

static void test_uniform_degrees(void)
{
    g_autoptr(IfmGraph) graph = made(IFM_GRAPH_UNIFORM, N_NODES, N_EDGES, 5);
    g_autofree double *out = g_new(double, N_NODES), *in = g_new(double, N_NODES);
    count_degrees(graph, 0, out);
    count_degrees(graph, 1, in);
    g_assert_cmpfloat(fabs(correlation(out, in, N_NODES)), <, 5 / sqrt(N_NODES));
    double squares = 0;
    for (int i = 0; i < N_NODES; i++)
    {
        g_assert_cmpfloat(in[i], <, 70);
        squares += (in[i] - 20) * (in[i] - 20);
    }
    /* Poisson's variance is its mean, 20; that of the estimate is about 2 * 20^2 / n */
    g_assert_cmpfloat_with_epsilon(squares / N_NODES, 20, 5 * 20 * sqrt(2.0 / N_NODES));
}

static void test_refused(void)
{
    static const struct
    {
        IfmGraphKind kind;
        gint64 n_nodes, n_edges;
        const char *message;
    } cases[] = {
        { IFM_GRAPH_UNIFORM, 10, 91, "uniform, 10 nodes, 91 edges, seed 1: 10 nodes have 90 distinct edges at most" },
        { IFM_GRAPH_POWER_LAW, 1, 1, "power-law, 1 nodes, 1 edges, seed 1: 1 nodes have 0 distinct edges at most" },
        { IFM_GRAPH_UNIFORM, 0, 1, "uniform, 0 nodes, 1 edges, seed 1: 0 nodes have 0 distinct edges at most" },
        { IFM_GRAPH_UNIFORM, -1, 1, "uniform, -1 nodes, 1 edges, seed 1: -1 nodes; a graph has 0 to 100000000" },
        { IFM_GRAPH_UNIFORM, 10, -1, "uniform, 10 nodes, -1 edges, seed 1: -1 edges; a graph has 0 to 400000000" },
        { IFM_GRAPH_UNIFORM, 100000001, 1,
          "uniform, 100000001 nodes, 1 edges, seed 1: 100000001 nodes; a graph has 0 to 100000000" },
        { IFM_GRAPH_UNIFORM, G_MAXINT64, G_MAXINT64,
          "uniform, 9223372036854775807 nodes, 9223372036854775807 edges, seed 1: 9223372036854775807 nodes; a graph has 0 "
          "to 100000000" },
        { IFM_GRAPH_UNIFORM, 100000, 400000001,
          "uniform, 100000 nodes, 400000001 edges, seed 1: 400000001 edges; a graph has 0 to 400000000" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(GError) error = NULL;
        g_assert_null(ifm_graph_random(cases[i].kind, cases[i].n_nodes, cases[i].n_edges, 1, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_cmpstr(error->message, ==, cases[i].message);
    }
}

static void test_kinds(void)
{
    g_assert_cmpstr(ifm_graph_kind_words()[IFM_GRAPH_POWER_LAW], ==, "power-law");
    g_assert_cmpstr(ifm_graph_kind_words()[IFM_GRAPH_UNIFORM], ==, "uniform");
    g_assert_cmpuint(g_strv_length((char **)ifm_graph_kind_words()), ==, 2);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/graph-random/counts", test_counts);
    g_test_add_func("/graph-random/same-everywhere", test_same_everywhere);
    g_test_add_func("/graph-random/seeds", test_seeds);
    g_test_add_func("/graph-random/equally-likely", test_equally_likely);
    g_test_add_func("/graph-random/power-law", test_power_law);
    g_test_add_func("/graph-random/uniform-degrees", test_uniform_degrees);
    g_test_add_func("/graph-random/refused", test_refused);
    g_test_add_func("/graph-random/kinds", test_kinds);
    return g_test_run();
}
