/*
 * A plan that is tried before it is predicted: tables that are wrong about devices whose latencies are known exactly
 * (simulated, on a virtual clock) are put right by a pilot, shares and prediction alike.
 */
#include <math.h>

#include <inferometer/json.h>
#include <inferometer/plan.h>

#define NODES 1000
#define EDGES 4000

/* ns a node, all stages: devices/four.csv. */
#define TRUE_A 115.0
#define TRUE_B 96.0

/* One range of all stages on each of two devices; what the tables say of A and B, ns a node. */
static IfmCosts *costs_new(double a, double b)
{
    g_autoptr(GError) error = NULL;
    IfmCosts *costs = ifm_costs_new("graphsage", 7);
    const double each[] = { a, b };
    static const char *const aliases[] = { "A", "B" };
    for (int d = 0; d < 2; d++)
    {
        ifm_costs_add_device(costs, &(IfmCostDevice){ .alias = aliases[d], .splits = TRUE }, &error);
        g_assert_no_error(error);
        const IfmCostPoint points[] = { { 1, 4, each[d], 0 }, { NODES, EDGES, each[d] * NODES, 0 } };
        ifm_costs_set_points(costs, d, 1, 7, points, G_N_ELEMENTS(points), &error);
        g_assert_no_error(error);
    }
    return costs;
}

/* The machine that has the two, by its name; IfmPilotOptions.resolve. */
static gboolean resolve(IfmPlan *plan, void *user, GError **error)
{
    for (guint i = 0; i < plan->devices->len; i++)
    {
        IfmPlanDevice *device = plan->devices->pdata[i];
        g_free(device->device);
        device->device = g_strdup_printf("simulated:%s/%s", (const char *)user, device->alias);
    }
    return TRUE;
}

static const IfmPlanGraph graph = { .kind = "uniform", .nodes = NODES, .edges = EDGES, .seed = 1 };
static const IfmPlanSize size = { NODES, EDGES };

static IfmPlanCase case_like(void)
{
    return (IfmPlanCase){
        .graphs = &graph, .n_graphs = 1, .sizes = { .features = 5, .hidden = 3 }, .n_batches = 100, .seed = 1
    };
}

typedef struct
{
    IfmRunner *runner;
    IfmPlanCase like;
    IfmPlanQuestion question;
    IfmPilotOptions options;
    IfmPlanAnswer answer; /* by the tables */
} Trial;

static void trial_init(Trial *trial, const IfmCosts *costs, const char *machine)
{
    g_autoptr(GError) error = NULL;
    IfmRunnerOptions options = { .limits = IFM_LIMITS_INIT };
    *trial = (Trial){ .runner = ifm_runner_new(&options),
                      .like = case_like(),
                      .question = { .objective = IFM_OBJECTIVE_THROUGHPUT, .nodes = NODES, .edges = EDGES } };
    trial->options = (IfmPilotOptions){ .runner = trial->runner,
                                        .like = &trial->like,
                                        .sizes = &size,
                                        .n_sizes = 1,
                                        .budget_ns = 40000000, /* of a virtual clock: some hundred batches */
                                        .resolve = resolve,
                                        .user = (void *)machine };
    ifm_plan_search(costs, &trial->question, &trial->answer, &error);
    g_assert_no_error(error);
}

static void trial_clear(Trial *trial)
{
    ifm_runner_free(trial->runner);
    ifm_plan_answer_clear(&trial->answer);
}

static double simulated_ns(const IfmCosts *costs, const IfmPlan *plan, gsize n_batches)
{
    g_autoptr(GError) error = NULL;
    g_auto(IfmSimulation) simulation = { 0 };
    const IfmSimulateOptions options = { .n_batches = n_batches, .sizes = &size, .n_sizes = 1 };
    ifm_plan_simulate(costs, plan, &options, &simulation, &error);
    g_assert_no_error(error);
    return (double)simulation.makespan_ns;
}

static double run_ns(const Trial *trial, const IfmPlan *plan, gsize n_batches)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmPlan) resolved = ifm_plan_copy(plan);
    resolve(resolved, trial->options.user, NULL);
    json_auto_t *document = ifm_plan_to_json(resolved);
    const json_t *plans[] = { document };
    IfmPlanCase plan_case = trial->like;
    plan_case.plans = plans;
    plan_case.n_batches = n_batches;
    plan_case.repetitions = 1;
    g_autoptr(IfmCase) sealed = ifm_runner_plan_case(trial->runner, &plan_case, &error);
    g_assert_no_error(error);
    g_autoptr(IfmMeasurement) measurement = ifm_runner_measure_plan(trial->runner, &plan_case, sealed, &error);
    g_assert_no_error(error);
    g_assert_cmpint(measurement->outcome, ==, IFM_OUTCOME_OK);
    const json_t *plan_figures = json_object_get(measurement->surroundings, "plan");
    return json_number_value(
        json_object_get(json_array_get(json_object_get(plan_figures, "repetitions"), 0), "makespan_ns"));
}

static double share_of(const IfmPlan *plan, const char *alias)
{
    const IfmPlanBlock *block = &g_array_index(plan->blocks, IfmPlanBlock, 0);
    for (gsize d = 0; d < block->n_devices; d++)
        if (g_str_equal(((const IfmPlanDevice *)plan->devices->pdata[block->devices[d]])->alias, alias))
            return block->ratios[d];
    return 0;
}

/* Tables have A twice as fast as it is, so it gets too much; on "sharing", which they know nothing of, both slow each
 * other by half. */
static void check_put_right(const char *machine, double a, double b)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCosts) costs = costs_new(0.5 * TRUE_A, TRUE_B);
    g_autoptr(GArray) rounds = NULL;
    Trial trial;
    trial_init(&trial, costs, machine);
    double before_ns = simulated_ns(costs, trial.answer.plan, 60);
    g_assert_cmpfloat_with_epsilon(share_of(trial.answer.plan, "A"), TRUE_B / (0.5 * TRUE_A + TRUE_B), 0.002);
    g_autoptr(IfmPlan) plan = ifm_plan_pilot(costs, &trial.question, trial.answer.plan, &trial.options, &rounds, &error);
    g_assert_no_error(error);
    g_assert_cmpfloat_with_epsilon(share_of(plan, "A"), b / (a + b), 0.015);
    double predicted_ns = simulated_ns(costs, plan, 60), measured_ns = run_ns(&trial, plan, 60);
    g_assert_cmpfloat_with_epsilon(predicted_ns / measured_ns, 1, 0.015);
    for (guint i = 0; i < rounds->len; i++)
    {
        const IfmPilotRound *round = &g_array_index(rounds, IfmPilotRound, i);
        g_autofree char *text = ifm_plan_to_text(round->plan);
        g_test_message("%s, %u batches: predicted %.0f ns, measured %.0f ns", text, (guint)round->n_batches,
                       round->predicted_ns, round->measured_ns);
    }
    g_assert_cmpuint(rounds->len, >=, 2); /* the plan by the tables, and the one that it led to */
    const IfmPilotRound *first = &g_array_index(rounds, IfmPilotRound, 0),
                        *last = &g_array_index(rounds, IfmPilotRound, rounds->len - 1);
    g_assert_true(ifm_plan_same_shape(first->plan, trial.answer.plan));
    g_assert_cmpfloat(fabs(first->predicted_ns / first->measured_ns - 1), >, 0.1);
    g_assert_cmpfloat(fabs(last->predicted_ns / last->measured_ns - 1), <, 0.05);
    g_assert_cmpfloat(last->measured_ns / (double)last->n_batches, <, first->measured_ns / (double)first->n_batches);
    ifm_costs_forget_corrections(costs);
    g_assert_cmpfloat(simulated_ns(costs, trial.answer.plan, 60), ==, before_ns);
    trial_clear(&trial);
}

static void test_wrong_tables(void)
{
    check_put_right("four", TRUE_A, TRUE_B);
}

static void test_unknown_contention(void)
{
    check_put_right("sharing", 1.5 * TRUE_A, 1.5 * TRUE_B);
}

/* A plan that was given stays; what is said of it is put right. */
static void test_kept_plan(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCosts) costs = costs_new(0.5 * TRUE_A, TRUE_B);
    g_autoptr(GArray) rounds = NULL;
    Trial trial;
    trial_init(&trial, costs, "four");
    trial.options.keep_plan = TRUE;
    g_autoptr(IfmPlan) plan = ifm_plan_pilot(costs, &trial.question, trial.answer.plan, &trial.options, &rounds, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(rounds->len, ==, 1);
    g_assert_cmpfloat(share_of(plan, "A"), ==, share_of(trial.answer.plan, "A"));
    g_assert_cmpfloat_with_epsilon(simulated_ns(costs, plan, 60) / run_ns(&trial, plan, 60), 1, 0.01);
    trial_clear(&trial);
}

/* Tables that are right stay right. */
static void test_right_tables(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCosts) costs = costs_new(TRUE_A, TRUE_B);
    g_autoptr(GArray) rounds = NULL;
    Trial trial;
    trial_init(&trial, costs, "four");
    double by_tables_ns = simulated_ns(costs, trial.answer.plan, 60);
    g_autoptr(IfmPlan) plan = ifm_plan_pilot(costs, &trial.question, trial.answer.plan, &trial.options, &rounds, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(rounds->len, ==, 1);
    g_assert_cmpfloat_with_epsilon(share_of(plan, "A"), share_of(trial.answer.plan, "A"), 0.01);
    g_assert_cmpfloat_with_epsilon(simulated_ns(costs, plan, 60) / by_tables_ns, 1, 0.01);
    trial_clear(&trial);
}

/* A pilot that fails says so, and leaves the costs as the tables have them. */
static void test_failing(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCosts) costs = costs_new(TRUE_A, TRUE_B);
    g_autoptr(GArray) rounds = NULL;
    Trial trial;
    trial_init(&trial, costs, "four");
    double before_ns = simulated_ns(costs, trial.answer.plan, 60);
    ifm_costs_correct(costs, 0, 1, 7, 2, 3, 0.1);
    g_assert_cmpfloat(simulated_ns(costs, trial.answer.plan, 60), >, 1.5 * before_ns);
    trial.options.user = "none-of-this-name";
    IfmPlan *plan = ifm_plan_pilot(costs, &trial.question, trial.answer.plan, &trial.options, &rounds, &error);
    g_assert_null(plan);
    g_assert_nonnull(error);
    g_assert_null(rounds);
    g_assert_cmpfloat(simulated_ns(costs, trial.answer.plan, 60), ==, before_ns);
    trial_clear(&trial);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_autofree char *folder = g_test_build_filename(G_TEST_DIST, "plan", "devices", NULL);
    g_setenv("IFM_DEVICES_DIR", folder, TRUE);
    g_test_add_func("/pilot/wrong-tables", test_wrong_tables);
    g_test_add_func("/pilot/unknown-contention", test_unknown_contention);
    g_test_add_func("/pilot/kept-plan", test_kept_plan);
    g_test_add_func("/pilot/right-tables", test_right_tables);
    g_test_add_func("/pilot/failing", test_failing);
    return g_test_run();
}
