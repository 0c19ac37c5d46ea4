/* Edges in the order of their destinations' shares. */
#include <pipeline/pipeline.h>

static void assert_ordered(const gint64 *edge_index, gint64 n_edges, const gint64 *cuts, gsize n_cuts)
{
    g_autoptr(GError) error = NULL;
    g_autofree gint64 *ordered = g_new(gint64, 2 * n_edges + 1);
    g_autofree gint64 *ends = g_new(gint64, n_cuts);
    g_assert_true(ifm_partition_edges(edge_index, n_edges, cuts, n_cuts, ordered, ends, &error));
    g_assert_no_error(error);
    gint64 at = 0, low = 0;
    for (gsize share = 0; share < n_cuts; share++) /* naive: each share's edges in one pass of its own */
    {
        for (gint64 i = 0; i < n_edges; i++)
            if (edge_index[n_edges + i] >= low && edge_index[n_edges + i] < cuts[share])
            {
                g_assert_cmpint(ordered[at], ==, edge_index[i]);
                g_assert_cmpint(ordered[n_edges + at], ==, edge_index[n_edges + i]);
                at++;
            }
        g_assert_cmpint(ends[share], ==, at);
        low = cuts[share];
    }
    g_assert_cmpint(at, ==, n_edges);
}

static void test_known(void)
{
    const gint64 edge_index[] = { 9, 8, 7, 6, 5, 4, 0, 3, 1, 3, 2, 0 };
    const gint64 cuts[] = { 1, 3, 4 };
    gint64 ordered[12], ends[3];
    g_assert_true(ifm_partition_edges(edge_index, 6, cuts, 3, ordered, ends, NULL));
    const gint64 right[] = { 9, 4, 7, 5, 8, 6, 0, 0, 1, 2, 3, 3 }, right_ends[] = { 2, 4, 6 };
    g_assert_cmpmem(ordered, sizeof ordered, right, sizeof right);
    g_assert_cmpmem(ends, sizeof ends, right_ends, sizeof right_ends);
}

/* Shares that are empty, cuts that are equal, as many cuts as there are nodes, no edges. */
static void test_random(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(11);
    for (int i = 0; i < 3000; i++)
    {
        gint64 nodes = g_rand_int_range(random, 1, 200), n_edges = g_rand_int_range(random, 0, 300);
        gsize n_cuts = (gsize)g_rand_int_range(random, 1, IFM_PLAN_MAX_DEVICES + 2);
        g_autofree gint64 *edge_index = g_new(gint64, 2 * n_edges + 1);
        g_autofree gint64 *cuts = g_new(gint64, n_cuts);
        for (gint64 k = 0; k < 2 * n_edges; k++)
            edge_index[k] = g_rand_int_range(random, 0, (gint32)nodes);
        for (gsize k = 0; k < n_cuts; k++)
        {
            gint64 min = k > 0 ? cuts[k - 1] : 0;
            cuts[k] = k + 1 == n_cuts ? nodes : g_rand_int_range(random, (gint32)min, (gint32)nodes + 1);
        }
        assert_ordered(edge_index, n_edges, cuts, n_cuts);
    }
}

static void test_refused(void)
{
    gint64 ordered[6], ends[2];
    const gint64 cuts[] = { 2, 5 }, beyond[] = { 0, 1, 2, 4, 5, 0 }, below[] = { 0, 1, 2, 4, 3, -1 };
    g_autoptr(GError) error = NULL;
    g_assert_false(ifm_partition_edges(beyond, 3, cuts, 2, ordered, ends, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpstr(error->message, ==, "edge 1 ends in node 5; 0 to 4 are expected");
    g_clear_error(&error);
    g_assert_false(ifm_partition_edges(below, 3, cuts, 2, ordered, ends, &error));
    g_assert_cmpstr(error->message, ==, "edge 2 ends in node -1; 0 to 4 are expected");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/partition-edges/known", test_known);
    g_test_add_func("/partition-edges/random", test_random);
    g_test_add_func("/partition-edges/refused", test_refused);
    return g_test_run();
}
