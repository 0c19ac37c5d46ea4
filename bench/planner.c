/*
 * How long the planner takes: one question from nothing but the cost model, its tabulation included, beside trying all
 * plans of the restricted, published space (blocks at most two, shares 0.3 : 0.7, 0.5 : 0.5 or 0.7 : 0.3, the last device
 * alone), each priced by ifm_plan_cost(): interleaved, the median of the rounds. The whole space of 60 stages on 4 devices
 * cannot be tried (its structures are counted); the restricted one can. Fails where the search is not done, or its plan
 * costs more than the best of those.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <base/statistics.h>

#include "bench.h"
#include "plan/costs-private.h"

#define MAX_ROUNDS 15

typedef struct
{
    const char *title;
    int stages, devices;
    gboolean loaded; /* slow-downs by every set of devices */
    int rounds;
} Case;

static void give_up(const char *what, const GError *error)
{
    fprintf(stderr, "planner: %s: %s\n", what, error != NULL ? error->message : "failed");
    exit(1);
}

/* --- a cost model -------------------------------------------------------------------------------------------------------
 */

static const gint64 sizes_nodes[] = { 1000, 5000, 10000, 50000, 100000 };

/* @scale: of its latency, ns */
static void set_stage(IfmCosts *costs, int device, int stage, guint32 busy, double scale)
{
    IfmCostPoint points[15];
    g_autoptr(GError) error = NULL;
    gsize n = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(sizes_nodes); i++)
        for (int degree = 2; degree <= 10; degree += 4, n++)
            points[n] = (IfmCostPoint){ sizes_nodes[i], sizes_nodes[i] * degree,
                                        scale * pow((double)sizes_nodes[i], 0.9) * (1 + 0.1 * degree), 0.01 };
    gboolean good = busy == 0 ? ifm_costs_set_points(costs, device, stage, stage, points, n, &error)
                              : ifm_costs_set_busy_points(costs, device, stage, stage, busy, points, n, &error);
    if (!good)
        give_up("points", error);
}

static IfmCosts *make_costs(const Case *one)
{
    static const char *const names[] = { "CPU", "GPU", "NPU", "ORT" };
    g_autoptr(GRand) random = g_rand_new_with_seed(7);
    g_autoptr(GError) error = NULL;
    IfmCosts *costs = ifm_costs_new("bench", (gsize)one->stages);
    for (int d = 0; d < one->devices; d++)
    {
        IfmCostDevice device = {
            .alias = names[d], .device = "simulated:ideal/CPU", .splits = TRUE, .active_w = 10 + d, .idle_w = 1
        };
        if (ifm_costs_add_device(costs, &device, &error) < 0)
            give_up("device", error);
    }
    for (int d = 0; d < one->devices; d++)
        for (int stage = 1; stage <= one->stages; stage++)
        {
            double scale = g_rand_double_range(random, 20, 500);
            set_stage(costs, d, stage, 0, scale);
            for (guint32 busy = 1; one->loaded && busy < 1u << one->devices; busy++)
                if ((busy & 1u << d) == 0)
                    set_stage(costs, d, stage, busy, scale * (1 + 0.3 * __builtin_popcount(busy)));
        }
    ifm_costs_set_host(costs, 20000, 1, 20000, 0.1);
    return costs;
}

/* --- trying all of the restricted space ---------------------------------------------------------------------------------
 */

typedef struct
{
    const IfmCosts *costs;
    IfmPlan *plan;
    IfmObjective objective;
    double best;
    gint64 n;
} Trying;

static double value_of(const IfmPlanCost *cost, IfmObjective objective)
{
    return objective == IFM_OBJECTIVE_LATENCY      ? cost->latency_ns
           : objective == IFM_OBJECTIVE_THROUGHPUT ? cost->cycle_ns
                                                   : cost->energy_j;
}

static void price(Trying *trying)
{
    g_auto(IfmPlanCost) cost = { 0 };
    g_autoptr(GError) error = NULL;
    if (!ifm_plan_cost(trying->costs, trying->plan, 20000, 100000, &cost, &error))
        give_up("price", error);
    trying->best = fmin(trying->best, value_of(&cost, trying->objective));
    trying->n++;
}

/* Each set of one device, or of two that are not the last; then the rest of the stages. */
static void try_blocks(Trying *trying, int first, guint32 used)
{
    int n = (int)ifm_costs_n_stages(trying->costs), m = (int)ifm_costs_n_devices(trying->costs);
    gboolean final = trying->plan->blocks->len == 1;
    for (int last = final ? n : first; last <= n; last++)
        for (int a = 0; a < m; a++)
            for (int b = a; b < (a < m - 1 ? m - 1 : m); b++)
                for (int share = 3; share <= (a == b ? 3 : 7); share += 2)
                {
                    guint32 set = 1u << a | 1u << b;
                    if ((set & used) != 0)
                        continue;
                    IfmPlanBlock block = { .first = first, .last = last, .n_devices = a == b ? 1 : 2, .devices = { a, b } };
                    block.ratios[0] = a == b ? 1 : share / 10.0;
                    block.ratios[1] = 1 - block.ratios[0];
                    ifm_plan_add_block(trying->plan, &block);
                    if (last == n)
                        price(trying);
                    else
                        try_blocks(trying, last + 1, used | set);
                    g_array_set_size(trying->plan->blocks, trying->plan->blocks->len - 1);
                }
}

static double try_all(const IfmCosts *costs, IfmObjective objective, gint64 *n)
{
    g_autoptr(IfmPlan) plan = ifm_plan_new("bench");
    for (gsize d = 0; d < ifm_costs_n_devices(costs); d++)
        ifm_plan_add_device(plan, ifm_costs_device(costs, (int)d)->alias, NULL, IFM_PLAN_DYNAMIC);
    Trying trying = { .costs = costs, .plan = plan, .objective = objective, .best = INFINITY };
    try_blocks(&trying, 1, 0);
    *n = trying.n;
    return trying.best;
}

/* --- the comparison -----------------------------------------------------------------------------------------------------
 */

static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *values, int n)
{
    qsort(values, (gsize)n, sizeof *values, compare_numbers);
    return ifm_quantile(values, (gsize)n, 0.5);
}

static gboolean compare(const Case *one, IfmObjective objective)
{
    const int n_rounds = bench_rounds(one->rounds, 1);
    g_autoptr(IfmCosts) costs = make_costs(one);
    double search_ms[MAX_ROUNDS], tried_ms[MAX_ROUNDS], found = 0, tried = 0, n_structures = 0;
    gint64 n_tried = 0, n_visited = 0;
    gboolean optimal = TRUE;
    for (int round = 0; round < n_rounds; round++)
    {
        g_auto(IfmPlanAnswer) answer = { 0 };
        g_autoptr(GError) error = NULL;
        IfmPlanQuestion question = { .objective = objective, .nodes = 20000, .edges = 100000 };
        gint64 start = g_get_monotonic_time();
        if (!ifm_plan_search(costs, &question, &answer, &error))
            give_up("search", error);
        search_ms[round] = (double)(g_get_monotonic_time() - start) / 1000;
        found = value_of(&answer.best.cost, objective);
        optimal = optimal && answer.optimal;
        n_visited = answer.n_visited;
        n_structures = answer.n_structures;
        start = g_get_monotonic_time();
        tried = try_all(costs, objective, &n_tried);
        tried_ms[round] = (double)(g_get_monotonic_time() - start) / 1000;
    }
    printf("%-34s %-10s search %9.3f ms (%" G_GINT64_FORMAT
           " visited of %.3g structures%s)   restricted space, all %" G_GINT64_FORMAT
           " plans tried %9.3f ms; its best costs %.3f x\n",
           one->title, ifm_objective_words()[objective], median_of(search_ms, n_rounds), n_visited, n_structures,
           optimal ? "" : ", not done", n_tried, median_of(tried_ms, n_rounds), tried / found);
    return optimal && found <= tried * (1 + 1e-9);
}

int main(void)
{
    static const Case cases[] = { { "7 stages x 3 devices", 7, 3, FALSE, MAX_ROUNDS },
                                  { "7 stages x 3 devices, under load", 7, 3, TRUE, MAX_ROUNDS },
                                  { "60 stages x 4 devices", 60, 4, FALSE, 3 },
                                  { "60 stages x 4 devices, under load", 60, 4, TRUE, 3 } };
    gboolean good = TRUE;
    for (gsize i = 0; i < (bench_is_quick() ? 1 : G_N_ELEMENTS(cases)); i++)
        for (int objective = IFM_OBJECTIVE_LATENCY; objective <= IFM_OBJECTIVE_ENERGY; objective++)
            good = compare(&cases[i], (IfmObjective)objective) && good;
    return bench_status(good);
}
