/*
 * A plan that is tried before it is predicted: tables that are wrong about devices whose latencies are known exactly
 * (simulated, on a virtual clock) are put right by a pilot, shares and prediction alike.
 */
#include <math.h>

#include <measure/measure.h>
#include <store/store.h>

#include "plan/plan-private.h"

#define NODES 1000
#define EDGES 4000

/* ns a node, all stages: devices/four.csv. */
#define TRUE_A 115.0
#define TRUE_B 96.0

/* One range of all stages on each of two devices; what the tables say of A and B, ns a node. */
static IfmCosts *costs_new_spread(double a, double b, double spread_ratio)
{
    g_autoptr(GError) error = NULL;
    IfmCosts *costs = ifm_costs_new("graphsage", 7);
    const double each[] = { a, b };
    static const char *const aliases[] = { "A", "B" };
    for (int d = 0; d < 2; d++)
    {
        ifm_costs_add_device(costs, &(IfmCostDevice){ .alias = aliases[d], .splits = TRUE }, &error);
        g_assert_no_error(error);
        const IfmCostPoint points[] = { { 1, 4, each[d], spread_ratio }, { NODES, EDGES, each[d] * NODES, spread_ratio } };
        ifm_costs_set_points(costs, d, 1, 7, points, G_N_ELEMENTS(points), &error);
        g_assert_no_error(error);
    }
    return costs;
}

static IfmCosts *costs_new(double a, double b)
{
    return costs_new_spread(a, b, 0);
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

/* An IfmMeasureFunction that keeps nothing. @user: the runner */
static IfmMeasurement *measure_now(const char *title, const IfmCaseKind *kind, const void *spec, void *user, GError **error)
{
    g_autoptr(IfmCase) sealed = ifm_runner_case(user, kind, spec, error);
    return sealed != NULL ? ifm_runner_measure(user, kind, spec, sealed, error) : NULL;
}

static void trial_init(Trial *trial, const IfmCosts *costs, const char *machine)
{
    g_autoptr(GError) error = NULL;
    IfmRunnerOptions options = { .limits = IFM_LIMITS_INIT };
    *trial = (Trial){ .runner = ifm_runner_new(&options),
                      .like = case_like(),
                      .question = { .objective = IFM_OBJECTIVE_THROUGHPUT, .nodes = NODES, .edges = EDGES } };
    trial->options = (IfmPilotOptions){ .measure = measure_now,
                                        .measure_user = trial->runner,
                                        .like = &trial->like,
                                        .stream = { .sizes = &size, .n_sizes = 1 },
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
    g_autoptr(IfmMeasurement) measurement = measure_now("run", &ifm_kind_pipeline, &plan_case, trial->runner, &error);
    g_assert_no_error(error);
    g_assert_cmpint(measurement->outcome, ==, IFM_OUTCOME_OK);
    const json_t *plan_figures = ifm_measurement_result(measurement, NULL);
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
    g_assert_cmpuint(rounds->len, ==, 2); /* and once more */
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
    g_assert_cmpuint(rounds->len, ==, 2);
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

/* --- learning from figures that are written down here ------------------------------------------------------------------
 */

typedef struct
{
    double makespan_ns, wall_a_ns, wall_b_ns, partition_ns, merge_ns;
} Seen;

static json_t *repetitions_of(const Seen *seen, gsize n)
{
    json_t *list = json_array();
    for (gsize i = 0; i < n; i++)
        json_array_append_new(list, json_pack("{s:f,s:f,s:[{s:f,s:f,s:{s:f,s:f}}]}", "makespan_ns", seen[i].makespan_ns,
                                              "rate_per_s", 20e9 / seen[i].makespan_ns, "stages", "partition_ns",
                                              seen[i].partition_ns, "merge_ns", seen[i].merge_ns, "device_wall_ns", "A",
                                              seen[i].wall_a_ns, "B", seen[i].wall_b_ns));
    return list;
}

/* Both devices take half of each batch; tables right or wrong as the test says. */
typedef struct
{
    IfmCosts *costs;
    IfmPlan *plan;
    PilotRun run;
} Lesson;

static void lesson_init(Lesson *lesson, double spread_ratio, const IfmPlanSize *sizes, gsize n_sizes)
{
    g_autoptr(GError) error = NULL;
    lesson->costs = costs_new_spread(TRUE_A, TRUE_B, spread_ratio);
    json_auto_t *blocks = json_pack("[[[s,s],[i,i,i,i,i,i,i],[f,f]]]", "A", "B", 1, 2, 3, 4, 5, 6, 7, 0.5, 0.5);
    lesson->plan = ifm_plan_from_json(blocks, "half", &error);
    g_assert_no_error(error);
    g_free(lesson->plan->model);
    lesson->plan->model = g_strdup("graphsage");
    lesson->run = (PilotRun){ lesson->costs, lesson->plan, { 20, sizes, n_sizes } };
}

static void lesson_clear(Lesson *lesson)
{
    ifm_costs_free(lesson->costs);
    ifm_plan_free(lesson->plan);
}

static double lesson_simulated_ns(const Lesson *lesson)
{
    double makespan_ns;
    g_assert_true(pilot_simulate(&lesson->run, 20, &makespan_ns, NULL));
    return makespan_ns;
}

static double latency_of(const Lesson *lesson, int device, guint32 busy)
{
    g_autoptr(GError) error = NULL;
    IfmCostLatency latency;
    ifm_costs_latency(lesson->costs, device, 1, 7, NODES / 2, EDGES / 2, busy, &latency, &error);
    g_assert_no_error(error);
    return latency.latency_ns;
}

static void learn(const Lesson *lesson, const Seen *seen, gsize n, IfmPilotRound *figures)
{
    json_auto_t *repetitions = repetitions_of(seen, n);
    g_assert_true(pilot_learn(&lesson->run, repetitions, figures));
}

/* The first block's partition and merge, as a plan's cost has them. */
static void check_host(const Lesson *lesson, double partition_ns, double merge_ns)
{
    g_autoptr(GError) error = NULL;
    g_auto(IfmPlanCost) cost = { 0 };
    ifm_plan_cost(lesson->costs, lesson->plan, NODES, EDGES, &cost, &error);
    g_assert_no_error(error);
    g_assert_cmpfloat_with_epsilon(g_array_index(cost.alone, IfmBlockCost, 0).partition_ns, partition_ns, 0.01);
    g_assert_cmpfloat_with_epsilon(g_array_index(cost.alone, IfmBlockCost, 0).merge_ns, merge_ns, 0.01);
}

/* Walls as the tables have them; parting and merging take what nobody knew. */
static void test_host(void)
{
    Lesson lesson;
    IfmPilotRound figures;
    lesson_init(&lesson, 0, &size, 1);
    ifm_costs_set_host(lesson.costs, 1000, 0.5, 200, 0);
    const Seen seen = { lesson_simulated_ns(&lesson), TRUE_A * NODES / 2, TRUE_B * NODES / 2, 9000, 4200 };
    learn(&lesson, &seen, 1, &figures);
    check_host(&lesson, 9000, 4200);
    lesson_clear(&lesson);
}

/* Copies to a device's memory are known, and no excess of parting and merging. */
static void test_copies(void)
{
    static const IfmCostCrossing crossing = { .n_in = 1, .n_out = 1, .in_per_node = 8, .out_per_node = 4 };
    Lesson lesson;
    IfmPilotRound figures;
    lesson_init(&lesson, 0, &size, 1);
    ifm_costs_set_crossing(lesson.costs, IFM_PLAN_DYNAMIC, 1, 7, &crossing);
    ifm_costs_set_link(lesson.costs, 1, &(IfmCostLink){ 500, 1 }, &(IfmCostLink){ 300, 2 });
    const double in_ns = 500 + 8.0 * NODES / 2, out_ns = 300 + 2 * 4.0 * NODES / 2;
    const Seen seen = { lesson_simulated_ns(&lesson), TRUE_A * NODES / 2, TRUE_B * NODES / 2, in_ns + 100, out_ns + 70 };
    learn(&lesson, &seen, 1, &figures);
    check_host(&lesson, 100, 70);
    lesson_clear(&lesson);
}

/* All parts are as the tables say, and still the whole takes a third more: the devices are charged with it. */
static void test_rest(void)
{
    Lesson lesson;
    IfmPilotRound figures;
    lesson_init(&lesson, 0, &size, 1);
    const double makespan_ns = 1.3 * lesson_simulated_ns(&lesson);
    const Seen seen = { makespan_ns, TRUE_A * NODES / 2, TRUE_B * NODES / 2, 0, 0 };
    learn(&lesson, &seen, 1, &figures);
    g_assert_cmpfloat_with_epsilon(lesson_simulated_ns(&lesson) / makespan_ns, 1, 1e-6);
    g_assert_cmpfloat(figures.measured_ns, ==, makespan_ns);
    g_assert_cmpfloat_with_epsilon(figures.pace_ns, makespan_ns / 20, 1e-3);
    lesson_clear(&lesson);
}

/* Batches of two sizes in turn: what a device took on average is held against the average of both. */
static void test_sizes(void)
{
    static const IfmPlanSize both[] = { { NODES, EDGES }, { NODES / 2, EDGES / 2 } };
    Lesson lesson;
    IfmPilotRound figures;
    lesson_init(&lesson, 0, both, G_N_ELEMENTS(both));
    const double share = (NODES + NODES / 2.0) / 2 / 2, makespan_ns = 2 * lesson_simulated_ns(&lesson);
    const Seen seen = { makespan_ns, 2 * TRUE_A * share, 2 * TRUE_B * share, 0, 0 };
    learn(&lesson, &seen, 1, &figures);
    g_assert_cmpfloat_with_epsilon(latency_of(&lesson, 0, 2) / (2 * TRUE_A * NODES / 2), 1, 1e-6);
    g_assert_cmpfloat_with_epsilon(latency_of(&lesson, 1, 1) / (2 * TRUE_B * NODES / 2), 1, 1e-6);
    lesson_clear(&lesson);
}

/* Tables to within 2 %. Three repetitions that agree on a third more are believed, nearly so where they nearly agree; one
 * of three that was disturbed does not move them, and where all disagree the tables stand. */
static void test_weights(void)
{
    static const struct
    {
        double factors[3], min, max;
    } rows[] = {
        { { 1.3, 1.3, 1.3 }, 1.299, 1.301 },
        { { 1.31, 1.3, 1.29 }, 1.28, 1.3 },
        { { 1.0, 1.0, 8.0 }, 0.999, 1.001 },
        { { 0.5, 1.6, 3.0 }, 1.0, 1.01 },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        Lesson lesson;
        IfmPilotRound figures;
        Seen seen[3];
        lesson_init(&lesson, 0.02, &size, 1);
        const double by_tables_ns = lesson_simulated_ns(&lesson);
        for (gsize r = 0; r < G_N_ELEMENTS(seen); r++)
        {
            double factor = rows[i].factors[r];
            seen[r] = (Seen){ factor * by_tables_ns, factor * TRUE_A * NODES / 2, factor * TRUE_B * NODES / 2, 0, 0 };
        }
        learn(&lesson, seen, G_N_ELEMENTS(seen), &figures);
        double factor = latency_of(&lesson, 0, 2) / (TRUE_A * NODES / 2);
        g_test_message("row %u: factor %.4f", (guint)i, factor);
        g_assert_cmpfloat(factor, >=, rows[i].min);
        g_assert_cmpfloat(factor, <=, rows[i].max);
        lesson_clear(&lesson);
    }
}

/* Tables so rough that no gain is sure: both are run, and what they show decides. */
static void test_doubt(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCosts) costs = costs_new_spread(TRUE_A, TRUE_B, 0.9);
    g_autoptr(GArray) rounds = NULL;
    Trial trial;
    trial_init(&trial, costs, "four");
    g_assert_true(trial.answer.within_uncertainty);
    g_assert_cmpuint(g_array_index(trial.answer.plan->blocks, IfmPlanBlock, 0).n_devices, ==, 1);
    g_autoptr(IfmPlan) plan = ifm_plan_pilot(costs, &trial.question, trial.answer.plan, &trial.options, &rounds, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(rounds->len, >=, 2);
    g_assert_cmpuint(g_array_index(plan->blocks, IfmPlanBlock, 0).n_devices, ==, 2);
    g_assert_cmpfloat_with_epsilon(simulated_ns(costs, plan, 60) / run_ns(&trial, plan, 60), 1, 0.015);
    trial_clear(&trial);
}

/* --- how far a run may be off ------------------------------------------------------------------------------------------
 */

/* Of each round what it was predicted to take and took. Student's quantiles are those of any table. */
static void test_drift_ratio(void)
{
    static const struct
    {
        gsize n;
        double misses[3]; /* measured / predicted, of plans seen before */
        double t;
    } rows[] = { { 0, { 0 }, 2.7764 }, { 1, { 1 }, 2.5706 }, { 1, { 1.08 }, 2.5706 }, { 3, { 0.9, 1.2, 1 }, 2.3646 } };
    double before = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autoptr(GArray) rounds = g_array_new(FALSE, TRUE, sizeof(IfmPilotRound));
        IfmPilotRound first = { .predicted_ns = 100, .measured_ns = 300 }; /* wrong tables: no drift */
        double squares = 4 * 0.05 * 0.05, n = 4 + (double)rows[i].n;
        g_array_append_val(rounds, first);
        for (gsize r = 0; r < rows[i].n; r++)
        {
            IfmPilotRound round = { .predicted_ns = 200, .measured_ns = 200 * rows[i].misses[r], .again = TRUE };
            g_array_append_val(rounds, round);
            squares += pow(log(rows[i].misses[r]), 2);
        }
        double ratio = ifm_pilot_drift_ratio(rounds);
        g_assert_cmpfloat_with_epsilon(ratio, rows[i].t * sqrt(squares / n), 1e-4);
        g_assert_true(i < 2 || ratio > before); /* the further apart the looks, the wider */
        before = ratio;
    }
}

/* A machine that moves: its second look, and all later ones, find everything 8 % slower. */
typedef struct
{
    int looks;
} Moving;

static gboolean resolve_moving(IfmPlan *plan, void *user, GError **error)
{
    Moving *moving = user;
    return resolve(plan, (void *)(moving->looks++ == 0 ? "four" : "slower"), error);
}

/* Each look by itself is exact to the nanosecond, and the machine may move back as it moved before: what is stated has to
 * hold that. */
static void test_moving(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCosts) costs = costs_new(TRUE_A, TRUE_B);
    g_autoptr(GArray) rounds = NULL;
    Moving moving = { 0 };
    Trial trial;
    trial_init(&trial, costs, "four");
    trial.options.keep_plan = TRUE;
    trial.options.resolve = resolve_moving;
    trial.options.user = &moving;
    g_autoptr(IfmPlan) plan = ifm_plan_pilot(costs, &trial.question, trial.answer.plan, &trial.options, &rounds, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(rounds->len, ==, 2);
    const IfmPilotRound *last = &g_array_index(rounds, IfmPilotRound, 1);
    g_assert_true(last->again);
    g_assert_cmpfloat_with_epsilon(last->measured_ns / last->predicted_ns, 1.08, 0.005);
    g_assert_cmpfloat(last->spread_ratio, <, 0.001);
    trial.options.user = (void *)"four"; /* it moved back */
    double predicted_ns = simulated_ns(costs, plan, 60), measured_ns = run_ns(&trial, plan, 60),
           drift = ifm_pilot_drift_ratio(rounds);
    g_test_message("predicted %.0f ns +- %.1f %%, measured %.0f ns", predicted_ns, 100 * drift, measured_ns);
    g_assert_cmpfloat(fabs(measured_ns / predicted_ns - 1), >, 0.05);
    g_assert_cmpfloat(fabs(measured_ns / predicted_ns - 1), <, drift);
    g_assert_cmpfloat_with_epsilon(drift, 2.5706 * sqrt((4 * 0.05 * 0.05 + pow(log(1.08), 2)) / 5), 0.005);
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
    g_test_add_func("/pilot/doubt", test_doubt);
    g_test_add_func("/pilot/host", test_host);
    g_test_add_func("/pilot/copies", test_copies);
    g_test_add_func("/pilot/rest", test_rest);
    g_test_add_func("/pilot/sizes", test_sizes);
    g_test_add_func("/pilot/weights", test_weights);
    g_test_add_func("/pilot/drift-ratio", test_drift_ratio);
    g_test_add_func("/pilot/moving", test_moving);
    return g_test_run();
}
