/* Matrix products in stages: ports, metadata, weights, bytes and costs of all ten ranges, against what is written out here.
 */
#include <string.h>

#include "staged/staged-private.h"

#define NODES 7
#define FEATURES 5
#define HIDDEN 3

static const char *const names[] = { "x", "p", "q", "r", "y" }; /* what enters stage 1, and what each makes */

static const IfmStagedModel *matmul(void)
{
    g_autoptr(GError) error = NULL;
    const IfmStagedModel *staged = ifm_staged_find("matmul", &error);
    g_assert_no_error(error);
    return staged;
}

static IfmModel *build(int first, int last, gboolean dynamic, guint32 seed)
{
    g_autoptr(GError) error = NULL;
    IfmStageSizes sizes = { .nodes = dynamic ? 0 : NODES, .features = FEATURES, .hidden = HIDDEN };
    IfmModel *model = ifm_staged_build(matmul(), first, last, &sizes, IFM_SCATTER_MIXED, seed, &error);
    g_assert_no_error(error);
    return model;
}

static void check_port(const IfmModel *model, const IfmPort *port, const char *name, gint64 columns, gboolean dynamic)
{
    g_autofree char *split = g_strdup_printf("inferometer.split.%s", name);
    g_assert_cmpstr(port->name, ==, name);
    g_assert_cmpint(port->rank, ==, 2);
    g_assert_cmpint(port->dims[0], ==, dynamic ? -1 : NODES);
    if (dynamic)
        g_assert_cmpstr(port->dim_names[0], ==, "nodes");
    g_assert_cmpint(port->dims[1], ==, columns);
    g_assert_cmpstr(ifm_model_metadata(model, split), ==, "0");
}

static void check_costs(IfmModel *model, int first, int last)
{
    static const gint64 macs[] = { 0, NODES * FEATURES * HIDDEN, 8 * NODES * HIDDEN * HIDDEN, NODES * HIDDEN * HIDDEN,
                                   2 * NODES * HIDDEN * HIDDEN };
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(model, &(IfmDimBinding){ "nodes", NODES }, 1, &error);
    g_assert_no_error(error);
    IfmNodeCost total;
    gsize n_covered;
    gint64 expected = 0;
    for (int stage = first; stage <= last; stage++)
        expected += macs[stage];
    ifm_analysis_total(analysis, &total, &n_covered);
    g_assert_cmpuint(n_covered, ==, ifm_model_n_nodes(model));
    g_assert_cmpint(total.macs, ==, expected);
}

static void assert_weights_of_whole(const IfmModel *model, const IfmModel *whole, int first, int last)
{
    static const char *const weights[][3] = { { NULL }, { "W_1" }, { "W_2", "W_3" }, { "W_4" }, { "W_5", "W_6" } };
    for (int stage = 1; stage <= 4; stage++)
        for (int i = 0; weights[stage][i] != NULL; i++)
        {
            IfmTensor a, b;
            gboolean has = ifm_model_initializer(model, weights[stage][i], &a);
            g_assert_cmpint(has, ==, first <= stage && stage <= last);
            g_assert_true(ifm_model_initializer(whole, weights[stage][i], &b));
            if (has)
                g_assert_cmpmem(a.data, a.size_bytes, b.data, b.size_bytes);
        }
}

static void test_ranges(void)
{
    g_autoptr(IfmModel) whole = build(1, 4, FALSE, 1);
    g_assert_cmpuint(matmul()->n_stages, ==, 4);
    for (int first = 1; first <= 4; first++)
        for (int last = first; last <= 4; last++)
            for (int dynamic = 0; dynamic <= 1; dynamic++)
            {
                g_autoptr(IfmModel) model = build(first, last, dynamic, 1);
                g_autofree char *stages =
                    first == last ? g_strdup_printf("%d", first) : g_strdup_printf("%d-%d", first, last);
                g_assert_cmpuint(ifm_model_n_inputs(model), ==, 1);
                g_assert_cmpuint(ifm_model_n_outputs(model), ==, 1);
                check_port(model, ifm_model_input(model, 0), names[first - 1], first == 1 ? FEATURES : HIDDEN, dynamic);
                check_port(model, ifm_model_output(model, 0), names[last], HIDDEN, dynamic);
                g_assert_cmpstr(ifm_model_metadata(model, "inferometer.staged_model"), ==, "matmul");
                g_assert_cmpstr(ifm_model_metadata(model, "inferometer.stage"), ==, stages);
                g_assert_cmpstr(ifm_model_metadata(model, "inferometer.size.nodes"), ==, dynamic ? NULL : "7");
                assert_weights_of_whole(model, whole, first, last);
                if (dynamic)
                    check_costs(model, first, last);
            }
}

static void test_seed(void)
{
    g_autoptr(IfmModel) one = build(1, 4, FALSE, 1), same = build(1, 4, FALSE, 1), other = build(1, 4, FALSE, 2);
    g_assert_cmpstr(ifm_model_digest(one, NULL), ==, ifm_model_digest(same, NULL));
    g_assert_cmpstr(ifm_model_digest(one, NULL), !=, ifm_model_digest(other, NULL));
}

/* 1000 rows of 500, 256 wide: x is 2,000,000 bytes, each of the others 1,024,000. */
static void test_bytes(void)
{
    const IfmStageSizes sizes = { .nodes = 1000, .features = 500, .hidden = 256 };
    for (int first = 1; first <= 4; first++)
    {
        gint64 read, written, in = first == 1 ? 2000000 : 1024000;
        g_assert_cmpint(matmul()->stages[first - 1].number, ==, first);
        g_assert_cmpint(matmul()->stages[first - 1].table_bytes(&sizes), ==, in);
        for (int last = first; last <= 4; last++)
        {
            ifm_staged_io_bytes(matmul(), first, last, &sizes, &read, &written);
            g_assert_cmpint(read, ==, in);
            g_assert_cmpint(written, ==, 1024000);
            g_assert_cmpint(ifm_staged_split_axis(matmul(), first, last, names[first - 1]), ==, 0);
        }
    }
}

/* Nothing is needed whole, so a part's model is a range's. */
static void test_part(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) ports = NULL;
    const IfmStageSizes sizes = { .nodes = NODES, .features = FEATURES, .hidden = HIDDEN };
    g_autoptr(IfmModel) part = ifm_staged_build_part(matmul(), 1, 2, &sizes, 99, IFM_SCATTER_MIXED, 1, &ports, &error);
    g_assert_no_error(error);
    g_autoptr(IfmModel) range = build(1, 2, FALSE, 1);
    g_assert_cmpstr(ifm_model_digest(part, NULL), ==, ifm_model_digest(range, NULL));
    g_assert_cmpuint(ports->len, ==, 1);
    g_assert_false(g_array_index(ports, IfmStagedPort, 0).whole);
    g_assert_cmpstr(g_array_index(ports, IfmStagedPort, 0).name, ==, "x");
}

/* The zoo's row builds the same. */
static void test_zoo_row(void)
{
    g_autoptr(GError) error = NULL;
    static const char *const settings[] = { "nodes=7", "features=5", "hidden=3", "first=2", "last=3", NULL };
    g_autoptr(IfmModel) row = ifm_zoo_build("staged-matmul", settings, 1, &error);
    g_assert_no_error(error);
    g_autoptr(IfmModel) direct = build(2, 3, FALSE, 1);
    g_assert_cmpstr(ifm_model_digest(row, NULL), ==, ifm_model_digest(direct, NULL));
}

static void test_refused(void)
{
    const IfmStageSizes sizes = { .nodes = NODES, .features = FEATURES, .hidden = HIDDEN };
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_staged_build(matmul(), 2, 5, &sizes, IFM_SCATTER_MIXED, 1, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "matmul: stages 2 to 5 are no range of its stages 1 to 4"));
    g_clear_error(&error);
    g_assert_null(ifm_staged_find("matmull", &error));
    g_assert_nonnull(strstr(error->message, "did you mean \"matmul\""));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/staged/matmul-stages/ranges", test_ranges);
    g_test_add_func("/staged/matmul-stages/seed", test_seed);
    g_test_add_func("/staged/matmul-stages/bytes", test_bytes);
    g_test_add_func("/staged/matmul-stages/part", test_part);
    g_test_add_func("/staged/matmul-stages/zoo-row", test_zoo_row);
    g_test_add_func("/staged/matmul-stages/refused", test_refused);
    return g_test_run();
}
