#include <math.h>
#include <string.h>

#include "plan/costs-private.h"

#define CLOSE(a, b) g_assert_cmpfloat_with_epsilon((a) / (b), 1, 1e-9)

/* Three stages; latencies proportional to the nodes: A takes 1, 2 and 3 ms for 1000, B twice that, C four times. Beside B
 * A takes 1.5 times as long, beside C twice, beside both 4 times; beside A B takes 1.25 times as long. */
static IfmCosts *known_costs(void)
{
    static const char *const names[] = { "A", "B", "C" };
    static const double times[] = { 1, 2, 4 };
    IfmCosts *costs = ifm_costs_new("chain", 3);
    for (int d = 0; d < 3; d++)
    {
        IfmCostDevice device = { .alias = names[d], .splits = TRUE, .active_w = 10 * (d + 1), .idle_w = d + 1 };
        ifm_costs_add_device(costs, &device, NULL);
    }
    for (int d = 0; d < 3; d++)
        for (int s = 1; s <= 3; s++)
        {
            const double ns = 1e6 * times[d] * s;
            const IfmCostPoint points[] = { { 100, 200, ns / 10, 0.02 }, { 1000, 2000, ns, 0.02 } };
            g_assert_true(ifm_costs_set_points(costs, d, s, s, points, 2, NULL));
            static const double slower[3][8] = { { 1, 0, 1.5, 0, 2, 0, 4 }, { 1, 1.25 }, { 1 } };
            for (guint32 busy = 1; busy < 8; busy++)
            {
                IfmCostPoint background[2];
                memcpy(background, points, sizeof points);
                background[0].latency_ns *= slower[d][busy];
                background[1].latency_ns *= slower[d][busy];
                if (slower[d][busy] > 0)
                    g_assert_true(ifm_costs_set_busy_points(costs, d, s, s, busy, background, 2, NULL));
            }
        }
    return costs;
}

/* By hand: the blocks are described as the plan file has them. */
static IfmPlan *blocks_of(int n_blocks, const IfmPlanBlock *blocks)
{
    static const char *const names[] = { "A", "B", "C" };
    IfmPlan *plan = ifm_plan_new("chain");
    for (int d = 0; d < 3; d++)
        ifm_plan_add_device(plan, names[d], "simulated:ideal/CPU", IFM_PLAN_DYNAMIC);
    for (int b = 0; b < n_blocks; b++)
        ifm_plan_add_block(plan, &blocks[b]);
    return plan;
}

static const IfmPlanBlock pipelined[] = { { 1, 2, 1, { 0 }, { 1 } }, { 3, 3, 1, { 1 }, { 1 } } };
static const IfmPlanBlock partitioned[] = { { 1, 2, 2, { 0, 1 }, { 0.6, 0.4 } }, { 3, 3, 1, { 2 }, { 1 } } };

static void price(const IfmCosts *costs, const IfmPlan *plan, IfmPlanCost *cost)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(ifm_plan_cost(costs, plan, 1000, 2000, cost, &error));
    g_assert_no_error(error);
}

static void test_pipeline(void)
{
    g_autoptr(IfmCosts) costs = known_costs();
    g_autoptr(IfmPlan) plan = blocks_of(2, pipelined);
    g_auto(IfmPlanCost) cost = { 0 };
    price(costs, plan, &cost);
    /* alone: 1 + 2 ms on A, then 6 ms on B. Both busy: 3 x 1.5 and 6 x 1.25 */
    CLOSE(cost.latency_ns, 9e6);
    CLOSE(cost.cycle_ns, 7.5e6);
    g_assert_cmpint(cost.bottleneck_block, ==, 2);
    g_assert_true(cost.busy_known);
    g_assert_cmpint(cost.origin, ==, IFM_COST_SUMMED);
    /* 9 W more than idle for 4.5 ms, 18 W for 7.5 ms, 3 W idle for the cycle */
    CLOSE(cost.energy_j, 9 * 4.5e-3 + 18 * 7.5e-3 + 3 * 7.5e-3);
    CLOSE(g_array_index(cost.alone, IfmBlockCost, 0).total_ns, 3e6);
    CLOSE(g_array_index(cost.steady, IfmBlockCost, 0).device_ns[0], 4.5e6);
    /* A's stages were measured one by one alone: what fusing them saves, nobody knows */
    g_assert_true(cost.summed && isnan(cost.fused_least_ratio) && isnan(cost.fused_most_ratio));
    g_assert_true(isnan(cost.latency_spread_ratio) && isnan(cost.cycle_spread_ratio));
    ifm_plan_cost_clear(&cost);
    const IfmCostPoint fused[] = { { 100, 200, 1.25e5, 0.02 }, { 1000, 2000, 2.5e6, 0.02 } };
    g_assert_true(ifm_costs_set_points(costs, 0, 2, 3, fused, 2, NULL)); /* of 0.5 and 5 ms: a quarter, and half */
    price(costs, plan, &cost);
    CLOSE(cost.fused_least_ratio, 0.25);
    CLOSE(cost.fused_most_ratio, 0.5);
    /* half-widths: of A's two stages 0.02 and 0.04 ms, and three quarters of their 3 ms for fusing; of B's 0.12 */
    CLOSE(cost.latency_spread_ratio, sqrt(0.02 * 0.02 + 0.04 * 0.04 + 2.25 * 2.25 + 0.12 * 0.12) / 9);
    CLOSE(cost.cycle_spread_ratio, 4.5 * (1 + hypot(hypot(0.02, 0.04) / 3, 0.75)) / 7.5 - 1);
}

static void test_parallel(void)
{
    g_autoptr(IfmCosts) costs = known_costs();
    g_autoptr(IfmPlan) plan = blocks_of(2, partitioned);
    g_auto(IfmPlanCost) cost = { 0 };
    ifm_costs_set_host(costs, 1e5, 50, 2e5, 0);
    price(costs, plan, &cost);
    const IfmBlockCost *alone = &g_array_index(cost.alone, IfmBlockCost, 0);
    const IfmBlockCost *steady = &g_array_index(cost.steady, IfmBlockCost, 0);
    CLOSE(alone->partition_ns, 1e5 + 50 * 2000);
    CLOSE(alone->merge_ns, 2e5);
    CLOSE(alone->device_ns[0], 0.6 * 3e6 * 1.5);
    CLOSE(alone->device_ns[1], 0.4 * 6e6 * 1.25);
    CLOSE(alone->total_ns, 2e5 + 3e6 + 2e5);
    /* C makes A slower than B alone does; nobody knows what it does to B, or they to C */
    CLOSE(steady->device_ns[0], 0.6 * 3e6 * 4);
    CLOSE(steady->device_ns[1], 0.4 * 6e6 * 1.25);
    CLOSE(cost.latency_ns, 3.4e6 + 12e6);
    CLOSE(cost.cycle_ns, 12e6);
    g_assert_cmpint(cost.bottleneck_block, ==, 2);
    g_assert_false(cost.busy_known);
    CLOSE(cost.energy_j, 9 * 7.2e-3 + 18 * 3e-3 + 27 * 12e-3 + 6 * 12e-3);
}

/* The host's work of a block bounds the cycle, too. */
static void test_host(void)
{
    g_autoptr(IfmCosts) costs = known_costs();
    g_autoptr(IfmPlan) plan = blocks_of(2, partitioned);
    g_auto(IfmPlanCost) cost = { 0 };
    ifm_costs_set_host(costs, 15e6, 0, 5e6, 0);
    price(costs, plan, &cost);
    CLOSE(cost.cycle_ns, 20e6);
    g_assert_cmpint(cost.bottleneck_block, ==, 1);
}

/* B and C have memory of their own. To B two tensors go, one whole, of the others 400 nodes and 800 edges; meanwhile A is
 * at its part. When both are done B's comes back. */
static void test_copies(void)
{
    static const IfmCostCrossing two = {
        .n_in = 2, .n_out = 1, .whole_per_node = 100, .in_per_node = 50, .in_per_edge = 10, .out_per_node = 30
    };
    static const IfmCostCrossing one = { .n_in = 1, .n_out = 1, .in_per_node = 20, .out_per_node = 10 };
    g_autoptr(IfmCosts) costs = known_costs();
    g_autoptr(IfmPlan) plan = blocks_of(2, partitioned);
    g_auto(IfmPlanCost) cost = { 0 }, bound = { 0 };
    ifm_costs_set_crossing(costs, IFM_PLAN_DYNAMIC, 1, 2, &two);
    ifm_costs_set_crossing(costs, IFM_PLAN_DYNAMIC, 3, 3, &one);
    ifm_costs_set_link(costs, 1, &(IfmCostLink){ 1e5, 1 }, &(IfmCostLink){ 2e5, 2 });
    ifm_costs_set_link(costs, 2, &(IfmCostLink){ 3e5, 3 }, &(IfmCostLink){ 7e5, 2 });
    price(costs, plan, &cost);
    const double in_b = 2e5 + 100000 + 20000 + 8000, out_b = 2e5 + 2 * 12000, in_c = 3e5 + 60000, out_c = 7e5 + 20000;
    CLOSE(g_array_index(cost.alone, IfmBlockCost, 0).handover_ns, in_b + out_b);
    CLOSE(g_array_index(cost.alone, IfmBlockCost, 0).total_ns, in_b + 3e6 + out_b); /* A takes 2.7 ms */
    CLOSE(g_array_index(cost.steady, IfmBlockCost, 1).handover_ns, in_c + out_c);
    CLOSE(cost.latency_ns, in_b + 3e6 + out_b + in_c + 12e6 + out_c);
    CLOSE(cost.cycle_ns, 12e6); /* C computes one batch while its thread copies others */
    g_assert_cmpint(cost.bottleneck_block, ==, 2);
    /* copies that take longer than all devices; A, whose part needs none, has long ended when B begins */
    ifm_costs_set_link(costs, 1, &(IfmCostLink){ 10e6, 0 }, &(IfmCostLink){ 2e6, 0 });
    price(costs, plan, &bound);
    CLOSE(bound.cycle_ns, 22e6);
    g_assert_cmpint(bound.bottleneck_block, ==, 1);
    CLOSE(bound.latency_ns, 20e6 + 3e6 + 2e6 + in_c + 12e6 + out_c);
}

static void refuse(const IfmCosts *costs, IfmPlan *plan, IfmErrorCode code, const char *message)
{
    g_auto(IfmPlanCost) cost = { 0 };
    g_autoptr(GError) error = NULL;
    g_assert_false(ifm_plan_cost(costs, plan, 1000, 2000, &cost, &error));
    g_assert_error(error, IFM_ERROR, (gint)code);
    if (strstr(error->message, message) == NULL)
        g_error("\"%s\" does not tell \"%s\"", error->message, message);
    ifm_plan_free(plan);
}

static void test_refusals(void)
{
    g_autoptr(IfmCosts) costs = known_costs();
    IfmPlanBlock blocks[2];
    memcpy(blocks, partitioned, sizeof blocks);
    blocks[1].devices[0] = 0;
    refuse(costs, blocks_of(2, blocks), IFM_ERROR_INVALID, "block 2: device 'A' is in block 1 already");
    blocks[1].devices[0] = 2;
    blocks[0].ratios[0] = 0.5;
    refuse(costs, blocks_of(2, blocks), IFM_ERROR_INVALID, "block 1: its ratios add up to 0.9");
    refuse(costs, blocks_of(1, pipelined), IFM_ERROR_INVALID, "stages 3 to 3 are in no block");
    refuse(costs, blocks_of(1, &pipelined[1]), IFM_ERROR_INVALID, "block 1: stages 3 to 3, but 1 is the next one");
    refuse(costs, ifm_plan_new("another"), IFM_ERROR_INVALID, "of model \"another\"");
    ifm_costs_forbid(costs, 2, 3, "no driver");
    refuse(costs, blocks_of(2, partitioned), IFM_ERROR_UNSUPPORTED, "block 2: C: stages 3 to 3: no driver");
    ifm_costs_forbid_split(costs, 2);
    refuse(costs, blocks_of(2, partitioned), IFM_ERROR_UNSUPPORTED, "block 1: stage 2 takes no part in data parallelism");
}

/* What this machine takes is not known; that it takes something, that more edges take longer, and that it is set, is. */
static void test_measured_host(void)
{
    const IfmPlanSize sizes[] = { { 1000, 30000 }, { 5000, 300000 } };
    g_autoptr(IfmCosts) costs = known_costs();
    g_autoptr(IfmPlan) plan = blocks_of(2, partitioned);
    g_autoptr(GError) error = NULL;
    g_auto(IfmPlanCost) few = { 0 }, many = { 0 };
    g_assert_true(ifm_costs_measure_host(costs, sizes, G_N_ELEMENTS(sizes), &error));
    g_assert_no_error(error);
    g_assert_true(ifm_plan_cost(costs, plan, 1000, 30000, &few, &error));
    g_assert_true(ifm_plan_cost(costs, plan, 1000, 300000, &many, &error));
    g_assert_cmpfloat(g_array_index(few.alone, IfmBlockCost, 0).partition_ns, >, 0);
    g_assert_cmpfloat(g_array_index(few.alone, IfmBlockCost, 0).merge_ns, >, 0);
    g_assert_cmpfloat(g_array_index(many.alone, IfmBlockCost, 0).partition_ns, >,
                      g_array_index(few.alone, IfmBlockCost, 0).partition_ns);
    g_assert_cmpfloat(g_array_index(many.alone, IfmBlockCost, 1).partition_ns, ==, 0);
    g_assert_false(ifm_costs_measure_host(costs, sizes, 0, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
}

/* 1000 nodes take 40 days; what that tells of 100000 is no plan of anybody's. */
static void test_beyond(void)
{
    g_autoptr(IfmCosts) costs = ifm_costs_new("chain", 1);
    g_autoptr(GError) error = NULL;
    IfmCostDevice device = { .alias = "A", .splits = TRUE };
    const IfmCostPoint points[] = { { 100, 200, 3.5e14, 0.02 }, { 1000, 2000, 3.5e15, 0.02 } };
    const IfmPlanBlock block = { 1, 1, 1, { 0 }, { 1 } };
    g_auto(IfmPlanCost) cost = { 0 };
    g_autoptr(IfmPlan) plan = ifm_plan_new("chain");
    ifm_costs_add_device(costs, &device, NULL);
    g_assert_true(ifm_costs_set_points(costs, 0, 1, 1, points, 2, &error));
    ifm_plan_add_device(plan, "A", "simulated:ideal/CPU", IFM_PLAN_DYNAMIC);
    ifm_plan_add_block(plan, &block);
    g_assert_true(ifm_plan_cost(costs, plan, 1000, 2000, &cost, &error));
    ifm_plan_cost_clear(&cost);
    g_assert_false(ifm_plan_cost(costs, plan, 100000, 200000, &cost, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpstr(error->message, ==,
                    "100000 nodes, 200000 edges: beyond the measured sizes (100 to 1000 nodes, 200 to 2000 edges), where "
                    "their prediction exceeds a year");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/plan-cost/pipeline", test_pipeline);
    g_test_add_func("/plan-cost/parallel", test_parallel);
    g_test_add_func("/plan-cost/host", test_host);
    g_test_add_func("/plan-cost/copies", test_copies);
    g_test_add_func("/plan-cost/refusals", test_refusals);
    g_test_add_func("/plan-cost/beyond", test_beyond);
    g_test_add_func("/plan-cost/measured-host", test_measured_host);
    return g_test_run();
}
