#include <math.h>
#include <string.h>

#include "meteor-lake.h"
#include "plan/costs-private.h"
#include <study/study.h>

#define CLOSE(a, b) g_assert_cmpfloat_with_epsilon((a) / (b), 1, 1e-9)

static int add_device(IfmCosts *costs, const char *alias, const IfmPlanSize *sizes, gsize n_sizes)
{
    g_autoptr(GError) error = NULL;
    IfmCostDevice device = { .alias = alias,
                             .device = "simulated:ideal/CPU",
                             .form = sizes != NULL ? IFM_PLAN_STATIC : IFM_PLAN_DYNAMIC,
                             .sizes = sizes,
                             .n_sizes = n_sizes,
                             .splits = TRUE,
                             .active_w = NAN,
                             .idle_w = NAN };
    int index = ifm_costs_add_device(costs, &device, &error);
    g_assert_no_error(error);
    return index;
}

/* A power law: scale x nodes, at two sizes; what lies between and beyond is known exactly. */
static void set_linear(IfmCosts *costs, int device, int first, int last, guint32 busy, double per_node)
{
    g_autoptr(GError) error = NULL;
    const IfmCostPoint points[] = { { 1000, 2000, 1000 * per_node, 0.01 }, { 4000, 8000, 4000 * per_node, 0.01 } };
    if (busy == 0)
        ifm_costs_set_points(costs, device, first, last, points, 2, &error);
    else
        ifm_costs_set_busy_points(costs, device, first, last, busy, points, 2, &error);
    g_assert_no_error(error);
}

static IfmCostLatency at(const IfmCosts *costs, int device, int first, int last, double nodes, guint32 busy)
{
    g_autoptr(GError) error = NULL;
    IfmCostLatency latency;
    ifm_costs_latency(costs, device, first, last, nodes, 2 * nodes, busy, &latency, &error);
    g_assert_no_error(error);
    return latency;
}

static void test_ranges(void)
{
    g_autoptr(IfmCosts) costs = ifm_costs_new("chain", 4);
    int cpu = add_device(costs, "CPU", NULL, 0);
    for (int s = 1; s <= 4; s++)
        set_linear(costs, cpu, s, s, 0, s);
    CLOSE(at(costs, cpu, 2, 2, 1000, 0).latency_ns, 2000.0);
    g_assert_cmpint(at(costs, cpu, 2, 2, 1000, 0).origin, ==, IFM_COST_MEASURED);
    CLOSE(at(costs, cpu, 2, 2, 2500.5, 0).latency_ns, 5001.0);
    g_assert_cmpint(at(costs, cpu, 2, 2, 2500.5, 0).origin, ==, IFM_COST_INTERPOLATED);
    CLOSE(at(costs, cpu, 2, 2, 100, 0).latency_ns, 200.0);
    g_assert_cmpint(at(costs, cpu, 2, 2, 100, 0).origin, ==, IFM_COST_EXTRAPOLATED);
    g_assert_true(isnan(at(costs, cpu, 2, 2, 100, 0).spread_ratio));
    CLOSE(at(costs, cpu, 1, 4, 1000, 0).latency_ns, 10000.0);
    g_assert_cmpint(at(costs, cpu, 1, 4, 1000, 0).origin, ==, IFM_COST_SUMMED);
    /* what fusing saves is not known, and no interval claims that it were */
    g_assert_true(at(costs, cpu, 1, 4, 1000, 0).summed);
    g_assert_true(isnan(at(costs, cpu, 1, 4, 1000, 0).spread_ratio));
    g_assert_true(isnan(at(costs, cpu, 1, 4, 1000, 0).mean_spread_ratio));
    g_assert_false(at(costs, cpu, 2, 2, 1000, 0).summed);
    set_linear(costs, cpu, 2, 3, 0, 4.5);
    CLOSE(at(costs, cpu, 1, 4, 1000, 0).latency_ns, 1000 * (1 + 4.5 + 4));
    /* three independent half-widths of 1 % of 1, 4.5 and 4, and a range that took 0.9 of its stages when it was fused */
    CLOSE(at(costs, cpu, 1, 4, 1000, 0).spread_ratio, hypot(0.01 * sqrt(1 + 4.5 * 4.5 + 16) / 9.5, 0.1));
    g_assert_false(at(costs, cpu, 2, 3, 1000, 0).summed);
    set_linear(costs, cpu, 1, 2, 0, 0.75); /* another took a quarter */
    g_assert_true(at(costs, cpu, 1, 3, 1000, 0).summed);
    CLOSE(at(costs, cpu, 1, 3, 1000, 0).spread_ratio, hypot(0.01 * sqrt(1 + 4.5 * 4.5) / 5.5, 0.75));
    ifm_costs_correct(costs, cpu, 1, 3, 0, 1, 0.02); /* a run of the fused range has shown it */
    g_assert_false(at(costs, cpu, 1, 3, 1000, 0).summed);
    CLOSE(at(costs, cpu, 1, 3, 1000, 0).spread_ratio, 0.02);
    ifm_costs_forget_corrections(costs);
    CLOSE(at(costs, cpu, 2, 3, 1000, 0).latency_ns, 4500.0);
    g_assert_cmpint(at(costs, cpu, 2, 3, 1000, 0).origin, ==, IFM_COST_MEASURED);
    set_linear(costs, cpu, 1, 4, 0, 8);
    CLOSE(at(costs, cpu, 1, 4, 1000, 0).latency_ns, 8000.0);
}

/* One size tells of itself alone, sizes of one number of nodes of that number; a plan takes the device where they tell, and
 * the other one where they do not. */
static void test_one_size(void)
{
    const IfmCostPoint one[] = { { 1000, 2000, 1e6, 0.01 } };
    const IfmCostPoint level[] = { { 1000, 2000, 1e6, 0.01 }, { 1000, 4000, 2e6, 0.01 } };
    g_autoptr(IfmCosts) costs = ifm_costs_new("chain", 1);
    g_autoptr(GError) error = NULL;
    g_auto(IfmPlanAnswer) answer = { 0 };
    IfmCostLatency latency;
    int a = add_device(costs, "A", NULL, 0);
    g_assert_true(ifm_costs_set_points(costs, a, 1, 1, one, 1, &error));
    CLOSE(at(costs, a, 1, 1, 1000, 0).latency_ns, 1e6);
    g_assert_null(ifm_costs_why_sparse(costs, a, 1000, 2000));
    g_assert_false(ifm_costs_latency(costs, a, 1, 1, 2000, 4000, 0, &latency, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpstr(
        error->message, ==,
        "table too sparse: A: stage 1: one size measured (1000 nodes, 2000 edges), which says nothing about 2000 "
        "nodes, 4000 edges; measure a size with other nodes");
    g_clear_error(&error);
    IfmPlanQuestion question = { .objective = IFM_OBJECTIVE_THROUGHPUT, .nodes = 50000, .edges = 100000 };
    g_assert_false(ifm_plan_search(costs, &question, &answer, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "table too sparse: A: stage 1: one size measured"));
    g_clear_error(&error);
    int b = add_device(costs, "B", NULL, 0);
    set_linear(costs, b, 1, 1, 0, 1500);
    question.nodes = 1000, question.edges = 2000; /* A's shares are unknown, the whole of it is not */
    g_assert_true(ifm_plan_search(costs, &question, &answer, &error));
    CLOSE(answer.best.cost.cycle_ns, 1e6);
    ifm_plan_answer_clear(&answer);
    question.nodes = 2000, question.edges = 4000;
    g_assert_true(ifm_plan_search(costs, &question, &answer, &error));
    CLOSE(answer.best.cost.cycle_ns, 3e6);
    g_assert_true(ifm_costs_set_points(costs, a, 1, 1, level, 2, &error));
    g_assert_false(ifm_costs_latency(costs, a, 1, 1, 2000, 4000, 0, &latency, &error));
    g_assert_nonnull(strstr(error->message, "all sizes measured have 1000 nodes, which says nothing about 2000 nodes"));
    g_assert_true(ifm_costs_latency(costs, a, 1, 1, 1000, 3000, 0, &latency, NULL));
    g_assert_cmpint(latency.origin, ==, IFM_COST_INTERPOLATED);
}

/* Each number of nodes with edges of its own, 5 ns a node and 3 an edge: the sizes surround shares of the larger ones. */
static void test_scattered(void)
{
    static const gint64 sizes[][2] = { { 1200, 12000 }, { 2000, 4000 },  { 3000, 30000 },
                                       { 4000, 20000 }, { 5000, 10000 }, { 10000, 50000 } };
    static const struct
    {
        double nodes, edges;
        IfmCostOrigin origin;
    } known[] = {
        { 2450, 4900, IFM_COST_INTERPOLATED },    /* between 2000 and 5000 nodes, at their edges a node: on the hull */
        { 1500, 15000, IFM_COST_INTERPOLATED },   /* the other side */
        { 4900, 24500, IFM_COST_INTERPOLATED },   /* well within */
        { 5000, 10000, IFM_COST_MEASURED },       /* a point */
        { 1900, 3800, IFM_COST_EXTRAPOLATED },    /* below them */
        { 4900, 9000, IFM_COST_EXTRAPOLATED },    /* fewer edges a node than any */
        { 20000, 100000, IFM_COST_EXTRAPOLATED }, /* above */
    };
    IfmCostPoint points[G_N_ELEMENTS(sizes)];
    g_autoptr(IfmCosts) costs = ifm_costs_new("chain", 1);
    g_autoptr(GError) error = NULL;
    int a = add_device(costs, "A", NULL, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
        points[i] = (IfmCostPoint){ sizes[i][0], sizes[i][1], 5.0 * (double)sizes[i][0] + 3.0 * (double)sizes[i][1], 0.01 };
    g_assert_true(ifm_costs_set_points(costs, a, 1, 1, points, G_N_ELEMENTS(points), &error));
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    {
        IfmCostLatency latency;
        g_assert_true(ifm_costs_latency(costs, a, 1, 1, known[i].nodes, known[i].edges, 0, &latency, &error));
        CLOSE(latency.latency_ns, 5 * known[i].nodes + 3 * known[i].edges);
        g_assert_cmpint(latency.origin, ==, known[i].origin);
        g_assert_cmpfloat(latency.spread_ratio, >=, 0.0099);
    }
}

/* Where no left-out point lies between others, what is looked up between points has the lookup's errors, not those of the
 * trend, which fits these points exactly. */
static void test_own_error(void)
{
    static const double sizes[][2] = { { 1000, 2000 },  { 1000, 10000 }, { 2000, 6000 },   { 2000, 22000 },
                                       { 5000, 12500 }, { 5000, 60000 }, { 10000, 22000 }, { 10000, 90000 } };
    IfmCostPoint points[G_N_ELEMENTS(sizes)];
    g_autoptr(IfmCosts) costs = ifm_costs_new("chain", 1);
    g_autoptr(GError) error = NULL;
    IfmCostLatency latency;
    int a = add_device(costs, "A", NULL, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
        points[i] =
            (IfmCostPoint){ (gint64)sizes[i][0], (gint64)sizes[i][1], 1e5 + 5 * sizes[i][0] + 30 * sizes[i][1], 1e-6 };
    g_assert_true(ifm_costs_set_points(costs, a, 1, 1, points, G_N_ELEMENTS(points), &error));
    g_assert_true(ifm_costs_latency(costs, a, 1, 1, 3000, 15000, 0, &latency, &error));
    const double truth = 1e5 + 5 * 3000.0 + 30 * 15000.0, off = fabs(latency.latency_ns / truth - 1);
    g_test_message("off by %g, stated %g", off, latency.spread_ratio);
    g_assert_cmpint(latency.origin, ==, IFM_COST_INTERPOLATED);
    g_assert_cmpfloat(off, >, 1e-4);
    g_assert_cmpfloat(off, <=, latency.spread_ratio);
}

/* Three sizes are too few to judge a trend by; what they surround lies between them all the same. */
static void test_surrounded(void)
{
    static const IfmCostPoint points[] = { { 1000, 2000, 1e6, 0.01 },
                                           { 4000, 40000, 8e6, 0.01 },
                                           { 8000, 16000, 8e6, 0.01 } };
    g_autoptr(IfmCosts) costs = ifm_costs_new("chain", 1);
    g_autoptr(GError) error = NULL;
    IfmCostLatency latency;
    int a = add_device(costs, "A", NULL, 0);
    g_assert_true(ifm_costs_set_points(costs, a, 1, 1, points, G_N_ELEMENTS(points), &error));
    g_assert_true(ifm_costs_latency(costs, a, 1, 1, 4000, 16000, 0, &latency, &error));
    g_assert_cmpint(latency.origin, ==, IFM_COST_INTERPOLATED);
    g_assert_true(ifm_costs_latency(costs, a, 1, 1, 4000, 7000, 0, &latency, &error)); /* fewer edges a node than any */
    g_assert_cmpint(latency.origin, ==, IFM_COST_EXTRAPOLATED);
    g_assert_true(ifm_costs_latency(costs, a, 1, 1, 16000, 64000, 0, &latency, &error));
    g_assert_cmpint(latency.origin, ==, IFM_COST_EXTRAPOLATED);
}

static void test_busy(void)
{
    g_autoptr(IfmCosts) costs = ifm_costs_new("chain", 2);
    int a = add_device(costs, "A", NULL, 0), b = add_device(costs, "B", NULL, 0), c = add_device(costs, "C", NULL, 0);
    guint32 with_b = 1u << b, with_c = 1u << c;
    set_linear(costs, a, 1, 1, with_b, 1.5); /* before what it is measured against */
    set_linear(costs, a, 1, 1, 0, 1);
    set_linear(costs, a, 2, 2, 0, 3);
    CLOSE(at(costs, a, 1, 1, 2000, with_b).latency_ns, 3000.0);
    g_assert_true(at(costs, a, 1, 1, 2000, with_b).busy_known);
    CLOSE(at(costs, a, 1, 1, 2000, with_c).latency_ns, 2000.0);
    g_assert_false(at(costs, a, 1, 1, 2000, with_c).busy_known);
    CLOSE(at(costs, a, 1, 2, 2000, with_b).latency_ns, 2000 * (1.5 + 3));
    g_assert_false(at(costs, a, 1, 2, 2000, with_b).busy_known);
    set_linear(costs, a, 1, 1, with_c, 1.2);
    CLOSE(at(costs, a, 1, 1, 2000, with_b | with_c).latency_ns, 2000 * 1.5 * 1.2);
    set_linear(costs, a, 1, 1, with_b | with_c, 5); /* a third one that makes it worse than both */
    CLOSE(at(costs, a, 1, 1, 2000, with_b | with_c).latency_ns, 10000.0);
    /* a range that was measured fused, but not under load: its stages' slow-downs by latency */
    set_linear(costs, a, 2, 2, with_b, 3.3);
    set_linear(costs, a, 1, 2, 0, 3.5);
    CLOSE(at(costs, a, 1, 2, 2000, with_b).latency_ns, 2000 * 3.5 * (1 * 1.5 + 3 * 1.1) / 4);
    g_assert_true(at(costs, a, 1, 2, 2000, with_b).busy_known);
    set_linear(costs, a, 1, 2, with_b, 7);
    CLOSE(at(costs, a, 1, 2, 2000, with_b).latency_ns, 14000.0);
    g_assert_true(at(costs, a, 1, 1, 2000, 1u << a).busy_known); /* itself is none of the others */
    CLOSE(at(costs, a, 1, 1, 2000, 1u << a).latency_ns, 2000.0);
}

static void test_static(void)
{
    static const IfmPlanSize sizes[] = { { 1000, 2000 }, { 2000, 9000 }, { 3000, 6000 } };
    const IfmCostPoint points[] = { { 1000, 2000, 1e6, NAN }, { 2000, 9000, 5e6, NAN }, { 3000, 6000, 3e6, NAN } };
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCosts) costs = ifm_costs_new("chain", 1);
    IfmCostLatency latency;
    int npu = add_device(costs, "NPU", sizes, G_N_ELEMENTS(sizes));
    g_assert_true(ifm_costs_set_points(costs, npu, 1, 1, points, 3, &error));
    ifm_costs_set_cut(costs, 0, 100, 10);
    ifm_costs_set_host(costs, 0, 0, 0, 2);
    CLOSE(at(costs, npu, 1, 1, 1000, 0).latency_ns, 1e6); /* as it is: no copy */
    g_assert_cmpint(at(costs, npu, 1, 1, 1000, 0).origin, ==, IFM_COST_MEASURED);
    /* 1500 and 3000 fit the second size and the third, whose nodes and edges are fewer: 300,000 + 60,000 bytes at 2 ns */
    CLOSE(at(costs, npu, 1, 1, 1500, 0).latency_ns, 3e6 + 720000);
    CLOSE(at(costs, npu, 1, 1, 999, 0).latency_ns, 1e6 + 2 * (100 * 1000 + 10 * 2000));
    /* 1999 edges and one that is added: it needs a node to end in, unless no edges are read */
    CLOSE(at(costs, npu, 1, 1, 999.5, 0).latency_ns, 3e6 + 720000);
    ifm_costs_set_reads_edges(costs, 1, FALSE);
    CLOSE(at(costs, npu, 1, 1, 999.5, 0).latency_ns, 1e6 + 2 * (100 * 1000 + 10 * 2000));
    ifm_costs_set_reads_edges(costs, 1, TRUE);
    g_assert_false(ifm_costs_latency(costs, npu, 1, 1, 3000, 5999, 0, &latency, NULL));
    g_assert_true(ifm_costs_latency(costs, npu, 1, 1, 2999, 5999, 0, &latency, NULL));
    CLOSE(latency.latency_ns, 3e6 + 720000);
    g_assert_false(ifm_costs_latency(costs, npu, 1, 1, 3001, 6000, 0, &latency, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED);
    g_assert_nonnull(strstr(error->message, "NPU: stages 1 to 1: 3001 nodes, 6000 edges"));
}

static void test_refusals(void)
{
    const IfmCostPoint twice[] = { { 10, 10, 1, 0 }, { 10, 10, 2, 0 } };
    g_autoptr(IfmCosts) costs = ifm_costs_new("chain", 3);
    int a = add_device(costs, "A", NULL, 0);
    IfmCostDevice again = { .alias = "A", .device = "x", .splits = TRUE };
    IfmCostLatency latency;
    g_autoptr(GError) error = NULL;
    g_assert_cmpint(ifm_costs_add_device(costs, &again, &error), ==, -1);
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_clear_error(&error);
    g_assert_false(ifm_costs_set_points(costs, a, 1, 1, twice, 2, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_clear_error(&error);
    g_assert_false(ifm_costs_set_points(costs, a, 2, 4, twice, 1, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_clear_error(&error);
    g_assert_false(ifm_costs_set_busy_points(costs, a, 1, 1, 1u << a, twice, 1, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_clear_error(&error);
    set_linear(costs, a, 1, 1, 0, 1);
    set_linear(costs, a, 2, 3, 0, 1);
    g_assert_null(ifm_costs_why_not(costs, a, 1, 3));
    g_assert_nonnull(ifm_costs_why_not(costs, a, 2, 2));
    ifm_costs_forbid(costs, a, 3, "its compiler refuses ScatterND");
    g_assert_cmpstr(ifm_costs_why_not(costs, a, 1, 3), ==, "its compiler refuses ScatterND");
    g_assert_null(ifm_costs_why_not(costs, a, 1, 1));
    g_assert_false(ifm_costs_latency(costs, a, 1, 3, 10, 10, 0, &latency, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED);
    g_clear_error(&error);
    g_assert_false(ifm_costs_latency(costs, a, 1, 1, 0, 10, 0, &latency, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
}

/* --- from tables --------------------------------------------------------------------------------------------------------
 */

static void test_tables(void)
{
    Imported imported;
    g_autoptr(GError) error = NULL;
    import(&imported, "large-55-sizes.csv");
    g_autoptr(IfmCosts) costs = ifm_costs_from_tables(imported.tables, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(ifm_costs_n_devices(costs), ==, 3);
    g_assert_cmpuint(ifm_costs_n_stages(costs), ==, 7);
    double sum = 0;
    gsize n_npu = 0;
    for (guint i = 0; i < imported.tables->rows->len; i++)
    {
        const IfmStudyRow *row = imported.tables->rows->pdata[i];
        if (g_str_equal(row->device->alias, "CPU") && row->nodes == 5000 && row->edges == 25000)
            sum += row->median_ns;
        n_npu += g_str_equal(row->device->alias, "NPU") && row->stage == 5 && row->reason == NULL;
    }
    IfmCostLatency latency;
    int cpu = -1, npu = -1;
    for (int d = 0; d < 3; d++)
    {
        cpu = g_str_equal(ifm_costs_device(costs, d)->alias, "CPU") ? d : cpu;
        npu = g_str_equal(ifm_costs_device(costs, d)->alias, "NPU") ? d : npu;
    }
    g_assert_true(ifm_costs_latency(costs, cpu, 1, 7, 5000, 25000, 0, &latency, &error));
    CLOSE(latency.latency_ns, sum);
    g_assert_cmpint(latency.origin, ==, IFM_COST_SUMMED);
    g_assert_cmpint(ifm_costs_device(costs, npu)->form, ==, IFM_PLAN_STATIC);
    g_assert_cmpuint(ifm_costs_device(costs, npu)->n_sizes, ==, n_npu);
    /* flagged at every size; not in the table at all */
    g_assert_nonnull(strstr(ifm_costs_why_not(costs, npu, 2, 2), "stage 2 failed"));
    g_assert_nonnull(strstr(ifm_costs_why_not(costs, npu, 3, 3), "stage 3 has no latency"));
    g_assert_null(ifm_costs_why_not(costs, npu, 5, 7));
    g_assert_null(ifm_costs_from_tables(imported.tables, (const char *[]){ "CPU", "TPU", NULL }, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "TPU"));
    g_clear_error(&error);
    g_autoptr(IfmCosts) one = ifm_costs_from_tables(imported.tables, (const char *[]){ "GPU", NULL }, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(ifm_costs_n_devices(one), ==, 1);
    imported_clear(&imported);
}

/* What was never tried is told, and what was measured of ranges and under load is taken. */
static void test_sparse(void)
{
    Imported imported;
    g_autoptr(GError) error = NULL;
    import(&imported, "protocol-15-sizes.csv");
    IfmStudyTables *tables = imported.tables;
    tables->imported = FALSE;
    g_assert_null(ifm_costs_from_tables(tables, NULL, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "table too sparse: device NPU has not a single latency of stage 3"));
    g_clear_error(&error);
    const IfmStudyDevice *cpu = NULL;
    guint gpu_at = 0;
    for (guint i = 0; i < tables->devices->len; i++)
    {
        const IfmStudyDevice *device = tables->devices->pdata[i];
        cpu = g_str_equal(device->alias, "CPU") ? device : cpu;
        gpu_at = g_str_equal(device->alias, "GPU") ? i : gpu_at;
    }
    IfmStudyRow fused = { .device = cpu,
                          .stage = 1,
                          .last = 7,
                          .nodes = 1000,
                          .edges = 2000,
                          .median_ns = 7e6,
                          .interval = { 6.9e6, 7.1e6, 0.95 } };
    IfmStudyRow loaded = fused;
    loaded.busy = 1u << gpu_at;
    loaded.median_ns = 8.4e6;
    g_ptr_array_add(tables->ranges, g_memdup2(&loaded, sizeof loaded));
    g_ptr_array_add(tables->ranges, g_memdup2(&fused, sizeof fused));
    g_autoptr(IfmCosts) costs = ifm_costs_from_tables(tables, (const char *[]){ "GPU", "CPU", NULL }, &error);
    g_assert_no_error(error);
    IfmCostLatency latency;
    g_assert_true(ifm_costs_latency(costs, 1, 1, 7, 1000, 2000, 0, &latency, &error));
    CLOSE(latency.latency_ns, 7e6);
    g_assert_cmpint(latency.origin, ==, IFM_COST_MEASURED);
    CLOSE(latency.spread_ratio, 1.0 / 70);
    g_assert_true(ifm_costs_latency(costs, 1, 1, 7, 1000, 2000, 1, &latency, &error)); /* GPU is the first here */
    CLOSE(latency.latency_ns, 8.4e6);
    g_assert_true(latency.busy_known);
    imported_clear(&imported);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/costs/ranges", test_ranges);
    g_test_add_func("/costs/one-size", test_one_size);
    g_test_add_func("/costs/scattered", test_scattered);
    g_test_add_func("/costs/surrounded", test_surrounded);
    g_test_add_func("/costs/own-error", test_own_error);
    g_test_add_func("/costs/busy", test_busy);
    g_test_add_func("/costs/static", test_static);
    g_test_add_func("/costs/refusals", test_refusals);
    g_test_add_func("/costs/tables", test_tables);
    g_test_add_func("/costs/sparse", test_sparse);
    return g_test_run();
}
