/* Plans by size: what is searched, found, chosen, written and read; and what to run when devices are lost. */
#include <base/fields.h>
#include <math.h>
#include <plan/plan.h>
#include <string.h>

/* --- a cost model -------------------------------------------------------------------------------------------------------
 */

/*
 * "matmul" has 4 stages. Two devices, each stage alone: A takes 1000 ns + 4 a node, B 20000 ns + 1 a node, and half of that
 * again for each 4 edges a node has. So A is best for small graphs, B for large ones, and both together in between.
 */
static double latency_of(int device, double nodes, double edges)
{
    double once = device == 0 ? 1000 : 20000, each = device == 0 ? 4 : 1;
    return once + each * nodes * (1 + edges / nodes / 8);
}

#define N_STAGES 4
static const IfmPlanSize all_sizes[] = { { 250, 1000 },   { 250, 2000 },   { 1000, 4000 },   { 1000, 8000 },
                                         { 4000, 16000 }, { 4000, 32000 }, { 16000, 64000 }, { 16000, 128000 } };

static IfmCosts *costs_new(int n_devices)
{
    static const char *const aliases[] = { "A", "B", "C" };
    static const char *const devices[] = { "onnxruntime:CPU", "openvino:CPU", "openvino:GPU" };
    g_autoptr(GError) error = NULL;
    IfmCosts *costs = ifm_costs_new("matmul", N_STAGES);
    for (int d = 0; d < n_devices; d++)
    {
        IfmCostDevice device = { .alias = aliases[d], .device = devices[d], .splits = TRUE, .active_w = 10, .idle_w = 1 };
        ifm_costs_add_device(costs, &device, &error);
        g_assert_no_error(error);
        for (int stage = 1; stage <= N_STAGES; stage++)
        {
            IfmCostPoint points[G_N_ELEMENTS(all_sizes)];
            for (gsize i = 0; i < G_N_ELEMENTS(all_sizes); i++)
                points[i] =
                    (IfmCostPoint){ all_sizes[i].nodes, all_sizes[i].edges,
                                    latency_of(MIN(d, 1), (double)all_sizes[i].nodes, (double)all_sizes[i].edges), 0.001 };
            ifm_costs_set_points(costs, d, stage, stage, points, G_N_ELEMENTS(all_sizes), &error);
            g_assert_no_error(error);
        }
    }
    return costs;
}

static IfmPlanTable *table_of(const IfmCosts *costs, const IfmPlanQuestion *question)
{
    g_autoptr(GError) error = NULL;
    IfmPlanTable *table = ifm_plan_table_new(costs, question, all_sizes, G_N_ELEMENTS(all_sizes), &error);
    g_assert_no_error(error);
    return table;
}

static IfmPlan *find(IfmPlanTable *table, const IfmCosts *costs, double nodes, double edges, IfmPlanOrigin expected)
{
    g_autoptr(GError) error = NULL;
    IfmPlanOrigin origin;
    IfmPlan *plan = ifm_plan_table_find(table, costs, nodes, edges, &origin, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(ifm_plan_origin_name(origin), ==, ifm_plan_origin_name(expected));
    return plan;
}

/* The very plan, ratios to the last bit. */
static void assert_same_plan(const IfmPlan *a, const IfmPlan *b)
{
    json_auto_t *x = ifm_plan_to_json(a), *y = ifm_plan_to_json(b);
    g_autofree char *s = ifm_json_canonical(x), *t = ifm_json_canonical(y);
    g_assert_cmpstr(s, ==, t);
}

static IfmPlan *searched(const IfmCosts *costs, IfmPlanQuestion question, double nodes, double edges, double *cycle_ns)
{
    g_autoptr(GError) error = NULL;
    g_auto(IfmPlanAnswer) answer = { 0 };
    question.nodes = nodes;
    question.edges = edges;
    ifm_plan_search(costs, &question, &answer, &error);
    g_assert_no_error(error);
    if (cycle_ns != NULL)
        *cycle_ns = answer.cost.cycle_ns;
    return ifm_plan_copy(answer.plan);
}

/* --- tables -------------------------------------------------------------------------------------------------------------
 */

static void test_rows(void)
{
    const IfmPlanQuestion question = { .objective = IFM_OBJECTIVE_THROUGHPUT };
    g_autoptr(IfmCosts) costs = costs_new(2);
    g_autoptr(IfmPlanTable) table = table_of(costs, &question);
    gint64 before = 0;
    g_assert_cmpuint(ifm_plan_table_n(table), ==, G_N_ELEMENTS(all_sizes));
    for (gsize i = 0; i < G_N_ELEMENTS(all_sizes); i++)
    {
        IfmPlanSize size;
        const IfmPlanCost *cost;
        double cycle_ns;
        const IfmPlan *row = ifm_plan_table_row(table, i, &size, &cost);
        g_autoptr(IfmPlan) right = searched(costs, question, (double)size.nodes, (double)size.edges, &cycle_ns);
        g_autoptr(IfmPlan) found = find(table, NULL, (double)size.nodes, (double)size.edges, IFM_PLAN_EXACT);
        assert_same_plan(row, right);
        assert_same_plan(found, right);
        g_assert_cmpfloat(cost->cycle_ns, ==, cycle_ns);
        g_assert_cmpint(size.nodes * 1000000 + size.edges, >, before);
        before = size.nodes * 1000000 + size.edges;
    }
    IfmPlanSize past;
    g_assert_null(ifm_plan_table_row(table, G_N_ELEMENTS(all_sizes), &past, NULL));
}

/* In the middle of four rows whose plans differ in their ratios alone: the mean of the four. */
static void test_interpolated(void)
{
    const IfmPlanQuestion question = { .objective = IFM_OBJECTIVE_LATENCY, .max_blocks = 1 };
    const double nodes = 8000, edges = 8000 * sqrt(4 * 8);
    g_autoptr(IfmCosts) costs = costs_new(2);
    g_autoptr(IfmPlanTable) table = table_of(costs, &question);
    g_autoptr(IfmPlan) plan = find(table, NULL, nodes, edges, IFM_PLAN_INTERPOLATED);
    const IfmPlanBlock *block = &g_array_index(plan->blocks, IfmPlanBlock, 0);
    double mean[2] = { 0, 0 }, min = 1, max = 0;
    for (gsize i = 4; i < 8; i++)
    {
        IfmPlanSize size;
        const IfmPlan *row = ifm_plan_table_row(table, i, &size, NULL);
        const IfmPlanBlock *of = &g_array_index(row->blocks, IfmPlanBlock, 0);
        g_assert_true(ifm_plan_same_shape(row, plan));
        g_assert_cmpuint(of->n_devices, ==, 2);
        for (int d = 0; d < 2; d++)
            mean[d] += of->ratios[d] / 4;
        min = MIN(min, of->ratios[0]);
        max = MAX(max, of->ratios[0]);
    }
    g_assert_cmpfloat(max - min, >, 0.01);
    for (int d = 0; d < 2; d++)
        g_assert_cmpfloat_with_epsilon(block->ratios[d], mean[d], 1e-9);
    g_assert_cmpfloat_with_epsilon(block->ratios[0] + block->ratios[1], 1, 1e-12);
    g_assert_cmpuint(ifm_plan_table_n(table), ==, G_N_ELEMENTS(all_sizes));
}

/* Two rows, A's and B's, and nothing else: the choice is the cheaper one, and each is chosen somewhere. */
static void test_chosen(void)
{
    const IfmPlanQuestion question = { .objective = IFM_OBJECTIVE_LATENCY, .max_blocks = 1, .no_split = 3 };
    const IfmPlanSize two[] = { { 1000, 4000 }, { 16000, 64000 } };
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCosts) costs = costs_new(2);
    g_autoptr(IfmPlanTable) table = ifm_plan_table_new(costs, &question, two, 2, &error);
    g_assert_no_error(error);
    gboolean seen[2] = { FALSE, FALSE };
    for (double nodes = 1500; nodes < 16000; nodes += 500)
    {
        g_auto(IfmPlanCost) cost = { 0 }, best = { 0 };
        g_autoptr(IfmPlan) plan = find(table, costs, nodes, 4 * nodes, IFM_PLAN_CHOSEN);
        g_autoptr(IfmPlan) right = searched(costs, question, nodes, 4 * nodes, NULL);
        seen[g_array_index(plan->blocks, IfmPlanBlock, 0).devices[0]] = TRUE;
        g_assert_true(ifm_plan_cost(costs, plan, nodes, 4 * nodes, &cost, NULL));
        g_assert_true(ifm_plan_cost(costs, right, nodes, 4 * nodes, &best, NULL));
        g_assert_cmpfloat(cost.latency_ns, <=, best.latency_ns * (1 + 1e-12));
    }
    g_assert_true(seen[0] && seen[1]);
    /* without costs nobody can say which is cheaper: the nearer row's */
    g_autoptr(IfmPlan) nearer = find(table, NULL, 1500, 6000, IFM_PLAN_CHOSEN);
    g_assert_cmpint(g_array_index(nearer->blocks, IfmPlanBlock, 0).devices[0], ==, 0);
    g_autoptr(IfmPlan) other = find(table, NULL, 15000, 60000, IFM_PLAN_CHOSEN);
    g_assert_cmpint(g_array_index(other->blocks, IfmPlanBlock, 0).devices[0], ==, 1);
}

/* Beyond the table: searched once, and kept; without costs the nearest row's. */
static void test_searched(void)
{
    const IfmPlanQuestion question = { .objective = IFM_OBJECTIVE_THROUGHPUT };
    g_autoptr(IfmCosts) costs = costs_new(2);
    g_autoptr(IfmPlanTable) table = table_of(costs, &question);
    g_autoptr(IfmPlan) nearest = find(table, NULL, 40000, 200000, IFM_PLAN_CHOSEN);
    g_autoptr(IfmPlan) last = find(table, NULL, 16000, 64000, IFM_PLAN_EXACT);
    assert_same_plan(nearest, last);
    g_assert_cmpuint(ifm_plan_table_n(table), ==, 8);
    g_autoptr(IfmPlan) now = find(table, costs, 40000, 200000, IFM_PLAN_SEARCHED);
    g_autoptr(IfmPlan) right = searched(costs, question, 40000, 200000, NULL);
    assert_same_plan(now, right);
    g_assert_cmpuint(ifm_plan_table_n(table), ==, 9);
    g_autoptr(IfmPlan) again = find(table, costs, 40000, 200000, IFM_PLAN_EXACT);
    assert_same_plan(again, right);
    /* what was asked with stays: a table of single devices searches for single devices */
    const IfmPlanQuestion restricted = { .objective = IFM_OBJECTIVE_THROUGHPUT, .without = 2 };
    g_autoptr(IfmPlanTable) of_a = table_of(costs, &restricted);
    g_autoptr(IfmPlan) plan = find(of_a, costs, 40000, 200000, IFM_PLAN_SEARCHED);
    g_autofree char *text = ifm_plan_to_text(plan);
    g_assert_null(strchr(text, 'B'));
}

static void test_refused(void)
{
    g_autoptr(GError) error = NULL;
    IfmPlanOrigin origin;
    const IfmPlanQuestion question = { .objective = IFM_OBJECTIVE_LATENCY };
    const IfmPlanSize twice[] = { { 1000, 4000 }, { 250, 1000 }, { 1000, 4000 } };
    g_autoptr(IfmCosts) costs = costs_new(2), other = ifm_costs_new("graphsage", 7);
    g_assert_null(ifm_plan_table_new(costs, &question, twice, 3, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "1000 nodes, 4000 edges: twice"));
    g_clear_error(&error);
    g_assert_null(ifm_plan_table_new(costs, &question, twice, 0, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_clear_error(&error);
    g_autoptr(IfmPlanTable) table = table_of(costs, &question);
    g_assert_null(ifm_plan_table_find(table, NULL, 0, 10, &origin, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_clear_error(&error);
    g_assert_null(ifm_plan_table_find(table, NULL, NAN, 10, &origin, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_clear_error(&error);
    g_assert_null(ifm_plan_table_find(table, other, 1000, 4000, &origin, &error));
    g_assert_nonnull(strstr(error->message, "plans of matmul, a cost model of graphsage"));
}

/* --- documents ----------------------------------------------------------------------------------------------------------
 */

static json_t *document(void)
{
    const double grid[] = { 0.25, 0.5, 0.75 };
    const IfmPlanQuestion question = {
        .objective = IFM_OBJECTIVE_THROUGHPUT, .grid = grid, .n_grid = 3, .max_blocks = 2, .no_split = 4
    };
    g_autoptr(IfmCosts) costs = costs_new(3);
    g_autoptr(IfmPlanTable) table = table_of(costs, &question);
    return ifm_plan_table_to_json(table);
}

static void test_json(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCosts) costs = costs_new(3);
    json_auto_t *json = document();
    g_autoptr(IfmPlanTable) table = ifm_plan_table_from_json(json, "t", &error);
    g_assert_no_error(error);
    json_auto_t *again = ifm_plan_table_to_json(table);
    g_autofree char *a = ifm_json_canonical(json), *b = ifm_json_canonical(again);
    g_assert_cmpstr(a, ==, b);
    g_assert_cmpuint(ifm_plan_table_n(table), ==, 8);
    g_assert_cmpstr(json_string_value(json_object_get(json, "objective")), ==, "throughput");
    /* and it goes on as the one that was written would have: the same question */
    const double grid[] = { 0.25, 0.5, 0.75 };
    const IfmPlanQuestion question = {
        .objective = IFM_OBJECTIVE_THROUGHPUT, .grid = grid, .n_grid = 3, .max_blocks = 2, .no_split = 4
    };
    g_autoptr(IfmPlan) right = searched(costs, question, 50000, 300000, NULL);
    g_autoptr(IfmPlan) found = find(table, costs, 50000, 300000, IFM_PLAN_SEARCHED);
    assert_same_plan(found, right);
}

/* Replaces the value at a path ("plans.1.nodes"; NULL: takes it away) and reads the document. */
static void assert_bad(const char *path, const char *value, const char *said)
{
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) steps = g_strsplit(path, ".", -1);
    json_auto_t *json = document();
    json_t *at = json;
    guint last = g_strv_length(steps) - 1;
    for (guint i = 0; i < last; i++)
        at = json_is_array(at) ? json_array_get(at, (gsize)g_ascii_strtoll(steps[i], NULL, 10))
                               : json_object_get(at, steps[i]);
    g_assert_nonnull(at);
    json_t *replacement = value != NULL ? json_loads(value, JSON_DECODE_ANY, NULL) : NULL;
    if (value == NULL)
        json_object_del(at, steps[last]);
    else if (json_is_array(at))
        json_array_set_new(at, (gsize)g_ascii_strtoll(steps[last], NULL, 10), replacement);
    else
        json_object_set_new(at, steps[last], replacement);
    g_autoptr(IfmPlanTable) table = ifm_plan_table_from_json(json, "table.json", &error);
    g_assert_null(table);
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    if (strstr(error->message, said) == NULL)
        g_error("%s = %s: expected '%s' in: %s", path, value, said, error->message);
}

static void test_bad_json(void)
{
    static const char *const cases[][3] = {
        { "format", "\"plan\"", "table.json.format: found \"plan\"" },
        { "format_version", "2", "table.json.format_version: found 2, 1 to 1" },
        { "objective", "\"latencie\"", "did you mean \"latency\"" },
        { "objective", NULL, "table.json" },
        { "more", "1", "more" },
        { "plans", "[]", "table.json.plans: found 0" },
        { "plans.1.nodes", "0", "table.json.plans[1].nodes: found 0" },
        { "plans.1.nodes", "\"x\"", "table.json.plans[1].nodes" },
        { "plans.1.edges", "1000", "table.json.plans[1]: 250 nodes, 1000 edges: twice" },
        { "plans.2.plan", "[[[\"A\"],[1,2],[1.0]]]", "table.json.plans[2]" },
        { "plans.2.plan", "[[[\"Z\"],[1,2,3,4],[1.0]]]", "Z" },
        { "plans.2.plan", "[[[\"A\"],[1,2],[1.0]],[[\"A\"],[3,4],[1.0]]]", "table.json.plans[2]" },
        { "plans.3.latency_ns", "-1", "table.json.plans[3].latency_ns: found -1" },
        { "plans.3.latency_ns", "null", "table.json.plans[3].latency_ns" },
        { "plans.3.origin", "\"guessed\"", "table.json.plans[3].origin: found \"guessed\", expected \"measured\"" },
        { "plans.3.busy_known", "1", "table.json.plans[3].busy_known" },
        { "plans.4", "7", "table.json.plans[4]" },
        { "question.grid.1", "1.5", "table.json.question.grid[1]" },
        { "question.no_split.0", "3", "table.json.question.no_split[0]" },
        { "question.max_blocks", "-1", "table.json.question: max_blocks: found -1" },
        { "question", NULL, "question" },
        { "devices", "[]", "table.json.devices" },
        { "model", "\"matmull\"", "table.json.plans[0]" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        assert_bad(cases[i][0], cases[i][1], cases[i][2]);
    g_autoptr(GError) error = NULL;
    json_auto_t *array = json_array();
    g_assert_null(ifm_plan_table_from_json(array, "table.json", &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
}

/* --- fallbacks ----------------------------------------------------------------------------------------------------------
 */

static guint32 used_by(const IfmPlan *plan)
{
    guint32 used = 0;
    for (guint b = 0; b < plan->blocks->len; b++)
        for (gsize d = 0; d < g_array_index(plan->blocks, IfmPlanBlock, b).n_devices; d++)
            used |= 1u << g_array_index(plan->blocks, IfmPlanBlock, b).devices[d];
    return used;
}

/* The plan lists the devices in another order than the cost model, and lacks one of them. Stage 3 is for A and C alone. */
static void test_fallbacks(void)
{
    const IfmPlanQuestion question = { .objective = IFM_OBJECTIVE_THROUGHPUT, .nodes = 16000, .edges = 64000 };
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCosts) costs = costs_new(3);
    ifm_costs_forbid(costs, 1, 3, "it does not compile");
    g_autoptr(IfmPlan) plan = ifm_plan_new("matmul");
    ifm_plan_add_device(plan, "B", "onnxruntime:CPU", IFM_PLAN_DYNAMIC);
    ifm_plan_add_device(plan, "A", "openvino:CPU", IFM_PLAN_DYNAMIC);
    ifm_plan_add_block(plan, &(IfmPlanBlock){ 1, 4, 1, { 1 }, { 1 } });
    json_auto_t *fallbacks = ifm_plan_fallbacks(costs, plan, &question, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(json_object_size(fallbacks), ==, 1); /* without A nobody has stage 3 */
    g_autoptr(IfmPlan) without_b = ifm_plan_from_json(json_object_get(fallbacks, "1"), "1", &error);
    g_assert_no_error(error);
    g_assert_cmpuint(used_by(without_b), ==, 2);
    g_assert_cmpuint(without_b->devices->len, ==, 2);
    g_assert_cmpstr(((IfmPlanDevice *)g_ptr_array_index(without_b->devices, 0))->alias, ==, "B");
    g_autoptr(IfmPlan) unknown = ifm_plan_new("graphsage");
    g_assert_null(ifm_plan_fallbacks(costs, unknown, &question, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
}

/* Every set of three devices that leaves some: the plan that a search without them finds. */
static void test_all_fallbacks(void)
{
    const IfmPlanQuestion question = { .objective = IFM_OBJECTIVE_LATENCY, .nodes = 16000, .edges = 64000 };
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCosts) costs = costs_new(3);
    g_autoptr(IfmPlan) plan = searched(costs, question, 16000, 64000, NULL);
    json_auto_t *fallbacks = ifm_plan_fallbacks(costs, plan, &question, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(json_object_size(fallbacks), ==, 6);
    for (guint32 lost = 1; lost < 7; lost++)
    {
        g_autofree char *key = g_strdup_printf("%u", lost);
        IfmPlanQuestion left = question;
        left.without = lost;
        g_autoptr(IfmPlan) right = searched(costs, left, 16000, 64000, NULL);
        g_autoptr(IfmPlan) found = ifm_plan_from_json(json_object_get(fallbacks, key), key, &error);
        g_assert_no_error(error);
        g_assert_cmpuint(used_by(found) & lost, ==, 0);
        /* its devices stay those of the plan that it takes the place of; a search without one does not list it */
        json_auto_t *a = ifm_plan_to_json(found), *b = ifm_plan_to_json(right);
        g_assert_true(json_equal(json_object_get(a, "plan"), json_object_get(b, "plan")));
        g_assert_cmpuint(found->devices->len, ==, 3);
        g_assert_cmpuint(right->devices->len, ==, 3 - (guint)__builtin_popcount(lost));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/plan-table/rows", test_rows);
    g_test_add_func("/plan-table/interpolated", test_interpolated);
    g_test_add_func("/plan-table/chosen", test_chosen);
    g_test_add_func("/plan-table/searched", test_searched);
    g_test_add_func("/plan-table/refused", test_refused);
    g_test_add_func("/plan-table/json", test_json);
    g_test_add_func("/plan-table/bad-json", test_bad_json);
    g_test_add_func("/plan-table/fallbacks", test_fallbacks);
    g_test_add_func("/plan-table/all-fallbacks", test_all_fallbacks);
    return g_test_run();
}
