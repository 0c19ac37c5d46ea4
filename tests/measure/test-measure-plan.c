#include <math.h>

#include <trace/trace.h>

#include "plan-fixture.h"

#define DEVICES                                                                                                            \
    "'model': 'graphsage', 'devices': {'A': {'device': 'simulated:plans/A'}, 'B': {'device': 'simulated:plans/B'},"        \
    "'X': {'device': 'simulated:plans/X'}}}"

/* --- figures that are known exactly -------------------------------------------------------------------------------- */

typedef struct
{
    const char *name, *blocks;
    gint64 gap_ns, makespan_ns; /* of 20 batches */
    int n_blocks;
} Exact;

static const Exact exact[] = {
    { "one-device", "[[['A'],[1,2,3,4,5,6,7],[1.0]]]", 2 * MS, 20 * 2 * MS, 1 },
    { "two-blocks", "[[['A'],[1,2,3],[1.0]],[['B'],[4,5,6,7],[1.0]]]", 3 * MS, 2 * MS + 20 * 3 * MS, 2 },
    { "faster-last", "[[['B'],[1,2,3],[1.0]],[['A'],[4,5,6,7],[1.0]]]", 3 * MS, 20 * 3 * MS + 2 * MS, 2 },
    { "data-parallel", "[[['A','B'],[1,2,3,4,5,6,7],[0.5,0.5]]]", 3 * MS, 20 * 3 * MS, 1 },
};

static char *plan_with(const char *blocks, const char *devices)
{
    return g_strdup_printf("{'plan': %s, %s", blocks, devices);
}

static void test_exact(gconstpointer data)
{
    const Exact *row = data;
    Fixture fixture;
    g_auto(PlanText) text = { 0 };
    g_autofree char *plan = plan_with(row->blocks, DEVICES);
    fixture_init(&fixture, NULL);
    plan_text_init(&text, plan, 60, 300);
    g_autoptr(IfmMeasurement) measurement = measure_plan(&fixture, &text.plan_case);
    assert_ok(measurement);
    g_assert_cmpstr(measurement->stop_reason, ==, "fixed");
    assert_all(measurement->warmup_ns, row->gap_ns, 19);
    assert_all(measurement->samples_ns, row->gap_ns, 3 * 19);
    g_assert_cmpfloat(measurement->summary.mean, ==, (double)row->gap_ns);
    const json_t *reported = plan_of(measurement);
    g_assert_cmpuint(json_array_size(json_object_get(reported, "repetitions")), ==, 3);
    for (int r = 0; r < 3; r++)
    {
        g_autofree char *path = g_strdup_printf("repetitions.%d", r);
        const json_t *repetition = member(reported, path);
        g_assert_cmpfloat(number(repetition, "makespan_ns"), ==, (double)row->makespan_ns);
        g_assert_cmpfloat(number(repetition, "n_batches"), ==, 20);
        g_assert_cmpfloat_with_epsilon(number(repetition, "throughput_per_s"), 20e9 / (double)row->makespan_ns, 1e-9);
        g_assert_cmpfloat_with_epsilon(number(repetition, "rate_per_s"), 1e9 / (double)row->gap_ns, 1e-9);
        g_assert_cmpuint(json_array_size(member(repetition, "stages")), ==, row->n_blocks);
        g_assert_cmpfloat(number(repetition, "stages.0.n"), ==, 20);
    }
    g_assert_cmpfloat(number(reported, "makespan_ns.median"), ==, (double)row->makespan_ns);
    g_assert_cmpfloat(number(reported, "replans"), ==, 0);
    g_assert_true(json_is_null(json_object_get(reported, "bound")));
    g_assert_true(json_is_null(json_object_get(reported, "prediction")));
    g_assert_cmpstr(text_in(measurement->environment, "clock_kind"), ==, "virtual");
    g_assert_cmpstr(text_in(measurement->verification, "status"), ==, "not-applicable");
    fixture_clear(&fixture);
}

/* Of a block, the parts add up; of two blocks the slower is the bottleneck of every batch. */
static void test_stages(void)
{
    Fixture fixture;
    g_auto(PlanText) text = { 0 };
    g_autofree char *plan = plan_with(exact[1].blocks, DEVICES);
    fixture_init(&fixture, NULL);
    plan_text_init(&text, plan, 60, 300);
    g_autoptr(IfmMeasurement) measurement = measure_plan(&fixture, &text.plan_case);
    const json_t *stages = member(plan_of(measurement), "repetitions.1.stages");
    for (int b = 0; b < 2; b++)
    {
        const json_t *stage = json_array_get(stages, (gsize)b);
        g_assert_cmpfloat(number(stage, "block"), ==, b + 1);
        g_assert_cmpfloat_with_epsilon(number(stage, "partition_ns") + number(stage, "device_ns") +
                                           number(stage, "merge_ns"),
                                       number(stage, "mean_ns"), 1e-3);
    }
    g_assert_cmpfloat(number(stages, "0.first"), ==, 1);
    g_assert_cmpfloat(number(stages, "0.last"), ==, 3);
    g_assert_cmpfloat(number(stages, "0.device_wall_ns.A"), ==, 2 * MS);
    g_assert_cmpfloat(number(stages, "1.device_wall_ns.B"), ==, 3 * MS);
    /* however long its batches waited for their turn in the first */
    g_assert_cmpfloat(number(stages, "0.mean_ns"), ==, 2 * MS);
    g_assert_cmpfloat(number(stages, "1.mean_ns"), ==, 3 * MS);
    g_assert_cmpfloat(number(stages, "0.turn_ns"), ==, number(stages, "0.device_turn_ns.A"));
    g_assert_cmpfloat(number(stages, "1.turn_ns"), >, MS);
    g_assert_cmpfloat(number(stages, "0.n_bottleneck"), ==, 0);
    g_assert_cmpfloat(number(stages, "1.n_bottleneck"), ==, 20);
    fixture_clear(&fixture);
}

/* Alone A makes 500/s and B 333.3/s, and, as nothing slows them, the same at once; the plan is B's. */
static void test_bound(void)
{
    Fixture fixture;
    g_auto(PlanText) text = { 0 };
    g_autofree char *plan = plan_with(exact[1].blocks, DEVICES);
    fixture_init(&fixture, NULL);
    plan_text_init(&text, plan, 60, 300);
    text.plan_case.bound = TRUE;
    text.plan_case.repetitions = 4; /* every part has been the first then */
    g_autoptr(IfmMeasurement) measurement = measure_plan(&fixture, &text.plan_case);
    g_assert_cmpstr(measurement->reason, ==, "");
    const json_t *bound = json_object_get(plan_of(measurement), "bound");
    double a = 500, b = 1000.0 / 3;
    g_assert_cmpfloat_with_epsilon(number(bound, "solo.A"), a, 1e-9);
    g_assert_cmpfloat_with_epsilon(number(bound, "solo.B"), b, 1e-9);
    g_assert_cmpfloat_with_epsilon(number(bound, "together.A"), a, 1e-9);
    g_assert_cmpfloat_with_epsilon(number(bound, "together.B"), b, 1e-9);
    g_assert_cmpfloat_with_epsilon(number(bound, "gain"), (a + b) / a, 1e-9);
    g_assert_cmpfloat_with_epsilon(number(bound, "attained"), b / (a + b), 1e-9);
    g_assert_cmpfloat(number(bound, "figures.attained.n"), ==, 4);
    g_assert_cmpuint(json_object_size(json_object_get(bound, "left_out")), ==, 1); /* listed, and not here */
    g_assert_nonnull(strstr(text_in(json_object_get(bound, "left_out"), "X"), "simulated:plans/X"));
    g_assert_cmpfloat_with_epsilon(number(plan_of(measurement), "gap_ns.mean"), 3 * MS, 1e-6);
    g_assert_cmpfloat(number(plan_of(measurement), "gap_ns.n"), ==, 4 * 19);
    g_assert_cmpfloat_with_epsilon(number(plan_of(measurement), "gap_ns.mean_interval.lower"), 3 * MS, 1e-6);
    g_assert_cmpfloat(number(plan_of(measurement), "latency_ns.n"), ==, 4 * 20);
    for (int r = 0; r < 4; r++)
    {
        g_autofree char *path = g_strdup_printf("repetitions.%d.bound.attained", r);
        g_assert_cmpfloat_with_epsilon(number(plan_of(measurement), path), b / (a + b), 1e-9);
    }
    fixture_clear(&fixture);
}

/* A plan that leaves a device idle attains what it attains of both: with A alone 500 of 833.3; with nothing idle there is
 * nothing to attain. */
static void test_bound_idle(void)
{
    Fixture fixture;
    g_auto(PlanText) text = { 0 }, one = { 0 };
    fixture_init(&fixture, NULL);
    plan_text_init(&text,
                   "{'plan': [[['A'],[1,2,3,4,5,6,7],[1.0]]], 'model': 'graphsage', 'devices': "
                   "{'A': {'device': 'simulated:plans/A'}, 'B': {'device': 'simulated:plans/B'}}}",
                   60, 300);
    text.plan_case.bound = TRUE;
    g_autoptr(IfmMeasurement) measurement = measure_plan(&fixture, &text.plan_case);
    g_assert_cmpstr(measurement->reason, ==, "");
    const json_t *bound = json_object_get(plan_of(measurement), "bound");
    g_assert_cmpfloat_with_epsilon(number(bound, "together.B"), 1000.0 / 3, 1e-9);
    g_assert_cmpfloat_with_epsilon(number(bound, "gain"), 5.0 / 3, 1e-9);
    g_assert_cmpfloat_with_epsilon(number(bound, "attained"), 0.6, 1e-9);
    plan_text_init(&one,
                   "{'plan': [[['A'],[1,2,3,4,5,6,7],[1.0]]], 'model': 'graphsage', 'devices': "
                   "{'A': {'device': 'simulated:plans/A'}}}",
                   60, 300);
    one.plan_case.bound = TRUE;
    g_autoptr(IfmMeasurement) alone = measure_plan(&fixture, &one.plan_case);
    g_assert_cmpstr(alone->reason, ==, "");
    g_assert_true(json_is_null(json_object_get(plan_of(alone), "bound")));
    g_assert_cmpstr(text_in(plan_of(alone), "no_bound"), ==, "the plan has one device");
    fixture_clear(&fixture);
}

/* A device that cannot run the whole model has no part in the bound; where one alone is left there is none, and it
 * says why. */
static void test_bound_without(void)
{
    Fixture fixture;
    g_auto(PlanText) text = { 0 };
    fixture_init(&fixture, NULL);
    plan_text_init(&text,
                   "{'plan': [[['X'],[1,2,3],[1.0]],[['A'],[4,5,6,7],[1.0]]], 'model': 'graphsage', 'devices': "
                   "{'X': {'device': 'simulated:plans/FIRST'}, 'A': {'device': 'simulated:plans/A'}}}",
                   60, 300);
    text.plan_case.bound = TRUE;
    g_autoptr(IfmMeasurement) measurement = measure_plan(&fixture, &text.plan_case);
    g_assert_cmpstr(measurement->reason, ==, "");
    g_assert_true(json_is_null(json_object_get(plan_of(measurement), "bound")));
    const char *why = text_in(plan_of(measurement), "no_bound");
    g_assert_nonnull(strstr(why, "fewer than two devices can run all stages alone; X: "));
    g_assert_nonnull(strstr(why, "all seven are too much"));
    fixture_clear(&fixture);
}

/* Where all is counted, the same runs uncounted in each repetition, too: of one block the first 30 of 120 batches are
 * compared, a quarter; of 20 the first 10; of 12 all, as the rest would be no more than what is under way. The samples are
 * those of the counted run alone.
 */
static void test_counted(void)
{
    static const struct
    {
        gsize n_batches, n_compared;
    } rows[] = { { 120, 30 }, { 20, 10 }, { 12, 12 } };
    Fixture fixture;
    fixture_init(&fixture, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_auto(PlanText) text = { 0 };
        plan_text_init(&text,
                       "{'plan': [[['X'],[1,2,3,4,5,6,7],[1.0]]], 'model': 'graphsage', 'devices': "
                       "{'X': {'device': 'simulated:plans/COUNTS'}}}",
                       60, 300);
        text.plan_case.device_time = "on";
        text.plan_case.n_batches = rows[i].n_batches;
        g_autoptr(IfmMeasurement) measurement = measure_plan(&fixture, &text.plan_case);
        g_assert_cmpstr(measurement->reason, ==, "");
        const json_t *cost = json_object_get(plan_of(measurement), "device_time_cost");
        g_assert_cmpfloat_with_epsilon(number(cost, "ratio"), 0.25, 1e-9);
        g_assert_cmpfloat_with_epsilon(number(cost, "interval.lower"), 0.25, 1e-6);
        g_assert_cmpfloat_with_epsilon(number(cost, "interval.upper"), 0.25, 1e-6);
        g_assert_cmpfloat(number(cost, "n_counted"), ==, 3 * (double)rows[i].n_compared);
        g_assert_cmpfloat(number(cost, "n_plain"), ==, 3 * (double)rows[i].n_compared);
        assert_all(measurement->samples_ns, 2500000, (guint)(3 * (rows[i].n_batches - 1)));
        g_assert_cmpuint(json_array_size(json_object_get(plan_of(measurement), "repetitions")), ==, 3);
    }
    fixture_clear(&fixture);
}

/* A device that fails brings another plan: there is nothing uncounted of that one. */
static void test_counted_replan(void)
{
    Fixture fixture;
    g_auto(PlanText) text = { 0 };
    fixture_init(&fixture, NULL);
    plan_text_init(&text,
                   "{'plan': [[['X'],[1,2,3],[1.0]],[['C'],[4,5,6,7],[1.0]]], 'model': 'graphsage', 'devices': "
                   "{'X': {'device': 'simulated:plans/COUNTS-LOSE'}, 'C': {'device': 'simulated:plans/COUNTS'}}}",
                   60, 300);
    json_auto_t *fallbacks = json_pack("{s:[[[s],[i,i,i,i,i,i,i],[f]]]}", "1", "C", 1, 2, 3, 4, 5, 6, 7, 1.0);
    text.plan_case.fallbacks = fallbacks;
    text.plan_case.device_time = "on";
    text.plan_case.n_batches = 30; /* its 25th inference is in the warm-up */
    g_autoptr(IfmMeasurement) measurement = measure_plan(&fixture, &text.plan_case);
    g_assert_cmpstr(measurement->reason, ==, "");
    const json_t *cost = json_object_get(plan_of(measurement), "device_time_cost");
    g_assert_true(json_is_null(json_object_get(cost, "ratio")));
    g_assert_cmpfloat(number(cost, "n_counted"), >, 0);
    g_assert_cmpfloat(number(cost, "n_plain"), ==, 0);
    g_assert_nonnull(strstr(text_in(cost, "why"), "another plan"));
    fixture_clear(&fixture);
}

/* Repetitions until the interval of their makespans is narrow; the most of them, or the time, where it does not get so. */
static void test_interval(void)
{
    static const struct
    {
        const char *unit;
        double ci_ratio;
        gint64 time_budget_ns;
        gsize max, min_run, max_run;
        const char *stop;
    } rows[] = {
        { "A", 0.05, 0, 50, 10, 20, "interval" },       /* no noise at all: soon after the least number */
        { "NOISY", 0.02, 0, 400, 10, 399, "interval" }, /* 20 batches: 4.5 % of a makespan */
        { "NOISY", 1e-5, 0, 12, 12, 12, "max-runs" },
        { "NOISY", 0.05, 5 * 40 * MS, 400, 10, 10, "time-budget" }, /* as many as promised, not five */
    };
    Fixture fixture;
    fixture_init(&fixture, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_auto(PlanText) text = { 0 };
        g_autofree char *plan = g_strdup_printf("{'plan': [[['N'],[1,2,3,4,5,6,7],[1.0]]], 'model': 'graphsage', "
                                                "'devices': {'N': {'device': 'simulated:plans/%s'}}}",
                                                rows[i].unit);
        plan_text_init(&text, plan, 60, 300);
        text.plan_case.repetitions = rows[i].max;
        text.plan_case.ci_ratio = rows[i].ci_ratio;
        text.plan_case.time_budget_ns = rows[i].time_budget_ns;
        g_autoptr(IfmMeasurement) measurement = measure_plan(&fixture, &text.plan_case);
        g_assert_cmpstr(measurement->reason, ==, "");
        g_assert_cmpstr(measurement->stop_reason, ==, rows[i].stop);
        const json_t *makespan = json_object_get(plan_of(measurement), "makespan_ns");
        g_assert_cmpfloat(number(makespan, "n"), >=, (double)rows[i].min_run);
        g_assert_cmpfloat(number(makespan, "n"), <=, (double)rows[i].max_run);
        if (g_str_equal(rows[i].stop, "interval"))
            g_assert_cmpfloat((number(makespan, "median_interval.upper") - number(makespan, "median_interval.lower")) / 2,
                              <=, rows[i].ci_ratio * number(makespan, "median"));
    }
    fixture_clear(&fixture);
}

/* Graphs whose plans differ in ratios share a pipeline; other plans run in a group of their own, one after the other. */
static void test_several_graphs(void)
{
    Fixture fixture;
    g_auto(PlanText) text = { 0 };
    g_autofree char *half = plan_with("[[['A','B'],[1,2,3,4,5,6,7],[0.5,0.5]]]", DEVICES);
    g_autofree char *more = plan_with("[[['A','B'],[1,2,3,4,5,6,7],[0.75,0.25]]]", DEVICES);
    g_autofree char *alone = plan_with("[[['A'],[1,2,3,4,5,6,7],[1.0]]]", DEVICES);
    fixture_init(&fixture, NULL);
    plan_text_init(&text, half, 60, 300);
    plan_text_add(&text, more, 80, 200);
    plan_text_add(&text, alone, 40, 100);
    text.plan_case.n_batches = 30;
    g_autoptr(IfmMeasurement) measurement = measure_plan(&fixture, &text.plan_case);
    g_assert_cmpstr(measurement->reason, ==, "");
    const json_t *reported = plan_of(measurement);
    g_assert_cmpuint(json_array_size(json_object_get(reported, "plans")), ==, 2);
    g_assert_cmpuint(measurement->samples_ns->len, ==, 3 * (19 + 9));
    g_assert_cmpfloat(number(reported, "repetitions.0.makespan_ns"), ==, 20 * 3 * MS + 10 * 2 * MS);
    g_assert_cmpfloat(number(reported, "repetitions.0.n_batches"), ==, 30);
    g_assert_cmpuint(json_array_size(member(reported, "repetitions.0.stages")), ==, 2);
    fixture_clear(&fixture);
}

/* Each part of a graph is a batch. */
static void test_parts(void)
{
    Fixture fixture;
    g_auto(PlanText) text = { 0 };
    g_autofree char *plan = plan_with(exact[3].blocks, DEVICES);
    fixture_init(&fixture, NULL);
    plan_text_init(&text, plan, 200, 600);
    text.graphs[0].parts = 4;
    g_autoptr(IfmMeasurement) measurement = measure_plan(&fixture, &text.plan_case);
    g_assert_cmpstr(measurement->reason, ==, "");
    assert_all(measurement->samples_ns, 3 * MS, 3 * 19);
    fixture_clear(&fixture);
}

/* --- the record ---------------------------------------------------------------------------------------------------- */

static char *key_of(Fixture *fixture, const IfmPlanCase *plan_case)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCase) sealed = ifm_runner_case(fixture->runner, &ifm_kind_pipeline, plan_case, &error);
    g_assert_no_error(error);
    return g_strdup(sealed->key);
}

static void test_record(void)
{
    Fixture fixture;
    g_autoptr(GError) error = NULL;
    g_auto(PlanText) text = { 0 };
    g_autofree char *plan = plan_with(exact[1].blocks, DEVICES);
    fixture_init(&fixture, NULL);
    plan_text_init(&text, plan, 60, 300);
    g_autoptr(IfmCase) sealed = ifm_runner_case(fixture.runner, &ifm_kind_pipeline, &text.plan_case, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(sealed->subject_kind, ==, "plan");
    g_assert_cmpstr(sealed->subject_name, ==, "graphsage");
    g_assert_cmpstr(sealed->device, ==, "simulated:plans/A+simulated:plans/B");
    g_assert_cmpstr(sealed->alias, ==, "A+B");
    g_assert_cmpfloat(number(sealed->sizes, "nodes"), ==, 60);
    g_assert_cmpfloat(number(sealed->sizes, "edges"), ==, 300);
    g_assert_cmpfloat(number(sealed->sizes, "batches"), ==, 20);
    g_assert_cmpstr(text_in(sealed->environment, "engine"), ==, "simulated");
    assert_key_holds(sealed);
    fixture_clear(&fixture);
}

/* Equal cases have equal keys, whatever was predicted and wherever the trace goes; what changes the run changes the key. */
static void test_keys(void)
{
    Fixture fixture;
    g_auto(PlanText) text = { 0 };
    g_auto(PlanText) ratio = { 0 };
    g_autofree char *plan = plan_with("[[['A','B'],[1,2,3,4,5,6,7],[0.5,0.5]]]", DEVICES);
    g_autofree char *other = plan_with("[[['A','B'],[1,2,3,4,5,6,7],[0.6,0.4]]]", DEVICES);
    fixture_init(&fixture, NULL);
    plan_text_init(&text, plan, 60, 300);
    plan_text_init(&ratio, other, 60, 300);
    g_autofree char *key = key_of(&fixture, &text.plan_case);
    json_auto_t *prediction = json_pack("{s:i}", "makespan_ns", 12345);
    IfmPlanCase same = text.plan_case;
    same.prediction = prediction;
    same.trace_path = "/tmp/elsewhere.json";
    same.cache_dir = "/tmp";
    g_autofree char *same_key = key_of(&fixture, &same);
    g_assert_cmpstr(same_key, ==, key);
    IfmPlanGraph seeded = text.graphs[0], partitioned = text.graphs[0];
    seeded.seed = 99;
    partitioned.parts = 2;
    IfmPlanCase cases[10];
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        cases[i] = text.plan_case;
    cases[0].n_batches = 21;
    cases[1].graphs = &seeded;
    cases[2].graphs = &partitioned;
    cases[3].bound = TRUE;
    cases[4].repetitions = 4;
    cases[5].sizes.hidden = 5;
    cases[6].device_time = "on";
    cases[7].plans = (const json_t *const *)ratio.plans;
    cases[8].ci_ratio = 0.05;
    cases[9].ci_ratio = 0.01;
    g_autofree char *wide = key_of(&fixture, &cases[8]), *narrow = key_of(&fixture, &cases[9]);
    g_assert_cmpstr(wide, !=, narrow);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autofree char *different = key_of(&fixture, &cases[i]);
        g_assert_cmpstr(different, !=, key);
    }
    fixture_clear(&fixture);
}

static void test_prediction(void)
{
    Fixture fixture;
    g_auto(PlanText) text = { 0 };
    g_autofree char *plan = plan_with(exact[1].blocks, DEVICES);
    fixture_init(&fixture, NULL);
    plan_text_init(&text, plan, 60, 300);
    json_auto_t *prediction = json_pack("{s:i,s:[i]}", "makespan_ns", 62000000, "blocks", 1);
    text.plan_case.prediction = prediction;
    g_autoptr(IfmMeasurement) measurement = measure_plan(&fixture, &text.plan_case);
    g_assert_true(json_equal(json_object_get(plan_of(measurement), "prediction"), prediction));
    fixture_clear(&fixture);
}

typedef struct
{
    const char *name, *plan, *part;
    gsize n_batches;
    const char *device_time;
    double ci_ratio;
} Refused;

static const Refused refused[] = {
    { "no-devices", "[[['A'],[1,2,3,4,5,6,7],[1.0]]]", "names no model", 20, NULL },
    { "no-spec", "{'plan': [[['A'],[1,2,3,4,5,6,7],[1.0]]], 'model': 'graphsage', 'devices': {'A': {}}}",
      "A: no device is named behind it", 20, NULL },
    { "missing-stage",
      "{'plan': [[['A'],[1,2,3,4,5,6],[1.0]]], 'model': 'graphsage', 'devices': {'A': {'device': 'simulated:plans/A'}}}",
      "plan:", 20, NULL },
    { "one-batch",
      "{'plan': [[['A'],[1,2,3,4,5,6,7],[1.0]]], 'model': 'graphsage', 'devices': {'A': {'device': 'simulated:plans/A'}}}",
      "batches: found 1, expected 2", 1, NULL },
    { "interval",
      "{'plan': [[['A'],[1,2,3,4,5,6,7],[1.0]]], 'model': 'graphsage', 'devices': {'A': {'device': 'simulated:plans/A'}}}",
      "interval: found 2, expected 0 to 1", 20, NULL, 2 },
    { "device-time",
      "{'plan': [[['A'],[1,2,3,4,5,6,7],[1.0]]], 'model': 'graphsage', 'devices': {'A': {'device': 'simulated:plans/A'}}}",
      "found \"maybe\", expected on, off or sampled", 20, "maybe" },
};

static void test_refused(gconstpointer data)
{
    const Refused *row = data;
    g_autoptr(GError) error = NULL;
    Fixture fixture;
    g_auto(PlanText) text = { 0 };
    fixture_init(&fixture, NULL);
    plan_text_init(&text, row->plan, 60, 300);
    text.plan_case.n_batches = row->n_batches;
    text.plan_case.device_time = row->device_time;
    text.plan_case.ci_ratio = row->ci_ratio;
    g_assert_null(ifm_runner_case(fixture.runner, &ifm_kind_pipeline, &text.plan_case, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    if (strstr(error->message, row->part) == NULL)
        g_assert_cmpstr(error->message, ==, row->part);
    fixture_clear(&fixture);
}

/* One alias, two devices: the bound could not tell them apart. */
static void test_two_behind_one_alias(void)
{
    g_autoptr(GError) error = NULL;
    Fixture fixture;
    g_auto(PlanText) text = { 0 };
    fixture_init(&fixture, NULL);
    const char *format = "{'plan': [[['A'],[1,2,3,4,5,6,7],[1.0]]], 'model': 'graphsage', 'devices': "
                         "{'A': {'device': 'simulated:plans/%s'}}}";
    g_autofree char *first = g_strdup_printf(format, "A"); /* NOLINT: the formats are above */
    g_autofree char *second = g_strdup_printf(format, "B");
    plan_text_init(&text, first, 60, 300);
    plan_text_add(&text, second, 60, 300);
    g_assert_null(ifm_runner_case(fixture.runner, &ifm_kind_pipeline, &text.plan_case, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "A: found simulated:plans/B, another graph's plan has simulated:plans/A"));
    fixture_clear(&fixture);
}

/* --- failures ------------------------------------------------------------------------------------------------------ */

static char *plan_on(const char *unit)
{
    return g_strdup_printf("{'plan': [[['X'],[1,2,3],[1.0]],[['B'],[4,5,6,7],[1.0]]], 'model': 'graphsage', 'devices': "
                           "{'X': {'device': 'simulated:plans/%s'}, 'B': {'device': 'simulated:plans/B'}}}",
                           unit);
}

/* @stopped: a part of why the run ended, which the trace says too */
static gsize n_events_in(const char *path, const char *stopped)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) traces = ifm_trace_read(path, NULL, &error);
    g_assert_no_error(error);
    gsize n = 0;
    for (guint i = 0; i < traces->len; i++)
    {
        const char *reported = json_string_value(json_object_get(ifm_trace_meta(traces->pdata[i]), "stopped"));
        g_assert_cmpint(reported != NULL && strstr(reported, stopped) != NULL, ==, stopped != NULL);
        n += ifm_trace_n_events(traces->pdata[i]);
    }
    return n;
}

typedef struct
{
    const char *unit;
    IfmOutcome outcome;
    const char *code, *part;
    gboolean has_trace;
} Failing;

static const Failing failing[] = {
    { "FAIL", IFM_OUTCOME_FAILED, "failed", "the queue is stuck", TRUE },
    { "LOSE", IFM_OUTCOME_FAILED, "lost", "X", TRUE },
    { "SILENT", IFM_OUTCOME_FAILED, "lost", "the device is lost after the batches", TRUE },
    { "HANG", IFM_OUTCOME_FAILED, "timeout", "X", TRUE },
    { "NAN", IFM_OUTCOME_FAILED, "failed", "batch 4, handed out by X: output h is not finite", TRUE },
    { "CRASH", IFM_OUTCOME_FAILED, "failed", "SIGSEGV while running on X, B", FALSE }, /* nobody is left to write it */
    { "CRASH-COMPILING", IFM_OUTCOME_FAILED, "failed", "SIGABRT while compiling block 1 for X", FALSE },
    { "NOTHING", IFM_OUTCOME_SKIPPED, "unavailable", "simulated:plans/NOTHING: no such device", FALSE },
};

/* A record with its reason, what was predicted, and the trace so far; what comes after is measured as if nothing had been.
 */
static void test_failing(gconstpointer data)
{
    const Failing *row = data;
    Fixture fixture;
    g_auto(PlanText) text = { 0 };
    g_auto(PlanText) good = { 0 };
    g_autofree char *plan = plan_on(row->unit), *other = plan_with(exact[1].blocks, DEVICES);
    json_auto_t *prediction = json_pack("{s:i}", "makespan_ns", 1);
    fixture_init(&fixture, NULL);
    g_autofree char *trace = g_build_filename(fixture.folder, "trace.json.gz", NULL);
    plan_text_init(&text, plan, 60, 300);
    plan_text_init(&good, other, 60, 300);
    text.plan_case.trace_path = trace;
    text.plan_case.prediction = prediction;
    if (g_str_equal(row->unit, "NAN")) /* the outputs that count are the last block's */
    {
        plan_text_clear(&text);
        plan_text_init(&text,
                       "{'plan': [[['X'],[1,2,3,4,5,6,7],[1.0]]], 'model': 'graphsage', 'devices': "
                       "{'X': {'device': 'simulated:plans/NAN'}}}",
                       60, 300);
        text.plan_case.trace_path = trace;
        text.plan_case.prediction = prediction;
    }
    g_autoptr(IfmMeasurement) measurement = measure_plan(&fixture, &text.plan_case);
    g_assert_cmpint(measurement->outcome, ==, row->outcome);
    g_assert_cmpstr(measurement->error_code, ==, row->code);
    if (strstr(measurement->reason, row->part) == NULL)
        g_assert_cmpstr(measurement->reason, ==, row->part);
    g_assert_cmpuint(measurement->samples_ns->len, ==, 0);
    g_assert_true(json_equal(json_object_get(plan_of(measurement), "prediction"), prediction));
    g_assert_true(g_file_test(trace, G_FILE_TEST_EXISTS) == row->has_trace);
    if (row->has_trace)
        g_assert_cmpuint(n_events_in(trace, g_str_equal(row->unit, "SILENT") ? NULL : row->part), >, 0);
    g_unlink(trace);
    g_autoptr(IfmMeasurement) after = measure_plan(&fixture, &good.plan_case);
    g_assert_cmpstr(after->reason, ==, "");
    assert_all(after->samples_ns, 3 * MS, 3 * 19);
    fixture_clear(&fixture);
}

/* One that was lost is not tried again until it answers a probe. */
static void test_lost_is_remembered(void)
{
    Fixture fixture;
    g_auto(PlanText) text = { 0 };
    g_autofree char *plan = plan_on("LOSE");
    fixture_init(&fixture, NULL);
    plan_text_init(&text, plan, 60, 300);
    g_autoptr(IfmMeasurement) measurement = measure_plan(&fixture, &text.plan_case);
    g_assert_cmpstr(measurement->error_code, ==, "lost");
    g_autoptr(IfmMeasurement) again = measure_plan(&fixture, &text.plan_case);
    g_assert_cmpint(again->outcome, ==, IFM_OUTCOME_SKIPPED);
    g_assert_nonnull(strstr(again->reason, "lost earlier"));
    fixture_clear(&fixture);
}

/* With plans for those that are left the run goes on, no batch lost, and says so. */
static void test_replan(void)
{
    Fixture fixture;
    g_auto(PlanText) text = { 0 };
    g_autofree char *plan = plan_on("LOSE");
    fixture_init(&fixture, NULL);
    plan_text_init(&text, plan, 60, 300);
    json_auto_t *fallbacks = json_pack("{s:[[[s],[i,i,i,i,i,i,i],[f]]]}", "1", "B", 1, 2, 3, 4, 5, 6, 7, 1.0);
    text.plan_case.fallbacks = fallbacks;
    g_autoptr(IfmMeasurement) measurement = measure_plan(&fixture, &text.plan_case);
    assert_ok(measurement);
    const json_t *reported = plan_of(measurement);
    g_assert_cmpfloat(number(reported, "replans"), ==, 1);
    g_assert_cmpfloat(number(reported, "repetitions.0.replans"), ==, 1); /* its 25th run is in the first after warm-up */
    g_assert_cmpfloat(number(reported, "repetitions.0.n_batches"), ==, 20);
    g_assert_cmpstr(text_in(member(reported, "repetitions.2"), "plan"), ==, "B 1-7");
    g_assert_cmpfloat(number(reported, "repetitions.2.makespan_ns"), ==, 20 * 3 * MS);
    const json_t *lost = json_object_get(measurement->environment, "lost_devices");
    g_assert_cmpuint(json_array_size(lost), ==, 1);
    g_assert_cmpstr(json_string_value(json_array_get(lost, 0)), ==, "simulated:plans/LOSE");
    g_assert_cmpuint(json_array_size(json_object_get(measurement->environment, "warnings")), >=, 1);
    g_autoptr(IfmMeasurement) again = measure_plan(&fixture, &text.plan_case);
    g_assert_cmpint(again->outcome, ==, IFM_OUTCOME_SKIPPED); /* a case is its plan, not what is left of it */
    fixture_clear(&fixture);
}

static void test_memory_limit(void)
{
    IfmLimits limits = IFM_LIMITS_INIT;
    Fixture fixture;
    g_auto(PlanText) text = { 0 };
    g_autofree char *plan = plan_on("SWALLOW");
    limits.memory_bytes = 128 << 20;
    fixture_init(&fixture, &limits);
    plan_text_init(&text, plan, 60, 300);
    g_autoptr(IfmMeasurement) measurement = measure_plan(&fixture, &text.plan_case);
    g_assert_cmpint(measurement->outcome, ==, IFM_OUTCOME_FAILED);
    g_assert_cmpstr(measurement->error_code, ==, "memory");
    fixture_clear(&fixture);
}

/* The watchdog is for batches: a compile that never ends is ended by the hang limit, which names block and device. */
static void test_hang_compiling(void)
{
    IfmLimits limits = IFM_LIMITS_INIT;
    Fixture fixture;
    g_auto(PlanText) text = { 0 };
    g_autofree char *plan = plan_on("HANG-COMPILING");
    limits.hang_ns = 1000 * MS;
    fixture_init(&fixture, &limits);
    plan_text_init(&text, plan, 60, 300);
    g_autoptr(IfmMeasurement) measurement = measure_plan(&fixture, &text.plan_case);
    g_assert_cmpstr(measurement->error_code, ==, "timeout");
    g_assert_cmpstr(measurement->reason, ==, "no sign of life for 1.00 s while compiling block 1 for X");
    fixture_clear(&fixture);
}

static void *interrupt_soon(void *data)
{
    g_usleep(700000);
    g_atomic_int_set((gint *)data, 1);
    return NULL;
}

/* What was measured until then is kept, if it is one repetition at least. */
static void check_interrupted(gsize n_batches, gsize repetitions)
{
    Fixture fixture;
    g_auto(PlanText) text = { 0 };
    g_autofree char *plan = plan_with(exact[1].blocks, DEVICES);
    g_setenv("IFM_SIMULATED_CLOCK", "real", TRUE);
    fixture_init(&fixture, NULL);
    plan_text_init(&text, plan, 60, 300);
    text.plan_case.n_batches = n_batches;
    text.plan_case.repetitions = repetitions;
    GThread *thread = g_thread_new("interrupt", interrupt_soon, &fixture.interrupted);
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCase) sealed = ifm_runner_case(fixture.runner, &ifm_kind_pipeline, &text.plan_case, &error);
    g_assert_no_error(error);
    g_autoptr(IfmMeasurement) measurement =
        ifm_runner_measure(fixture.runner, &ifm_kind_pipeline, &text.plan_case, sealed, &error);
    g_thread_join(thread);
    if (measurement == NULL) /* a machine so slow that nothing was measured yet */
        g_assert_error(error, IFM_ERROR, IFM_ERROR_CANCELLED);
    else
    {
        g_assert_cmpstr(measurement->reason, ==, "");
        g_assert_cmpstr(measurement->stop_reason, ==, "interrupted");
        g_assert_cmpuint(measurement->samples_ns->len, >, 0);
        g_assert_cmpuint(measurement->samples_ns->len, <, (n_batches - 1) * repetitions);
        g_assert_cmpuint(json_array_size(json_object_get(plan_of(measurement), "repetitions")), >=, 1);
    }
    g_unsetenv("IFM_SIMULATED_CLOCK");
    fixture_clear(&fixture);
}

static void test_interrupted(void)
{
    check_interrupted(5, 100000);
    check_interrupted(120, 3); /* within the first repetition, or the one to warm up */
}

/* The last repetition's, whole: as many batches left as entered. */
static void test_trace(void)
{
    Fixture fixture;
    g_autoptr(GError) error = NULL;
    g_auto(PlanText) text = { 0 };
    g_autofree char *plan = plan_with(exact[1].blocks, DEVICES);
    fixture_init(&fixture, NULL);
    g_autofree char *path = g_build_filename(fixture.folder, "trace.json", NULL);
    plan_text_init(&text, plan, 60, 300);
    text.plan_case.trace_path = path;
    g_autoptr(IfmMeasurement) measurement = measure_plan(&fixture, &text.plan_case);
    g_assert_cmpstr(measurement->reason, ==, "");
    g_autoptr(GPtrArray) traces = ifm_trace_read(path, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(traces->len, ==, 1);
    IfmTraceQuestion question = IFM_TRACE_QUESTION_INIT;
    g_autoptr(IfmTraceAnalysis) analysis = ifm_trace_analyse(traces->pdata[0], &question, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(analysis->n_batches, ==, 20);
    g_assert_cmpuint(analysis->n_devices, ==, 2);
    g_assert_cmpuint(analysis->n_dropped, ==, 0);
    g_assert_cmpint(analysis->window_ns, ==, 62 * MS);
    g_assert_cmpint(analysis->busy_ns, ==, 20 * (2 + 3) * MS);
    g_unlink(path);
    fixture_clear(&fixture);
}

/* --- two of them ------------------------------------------------------------------------------------------------------ */

/* A run of a comparison is a repetition: the makespan of its 20 batches, 40 ms and 62 ms. */
static void test_compare(void)
{
    Fixture fixture;
    g_autoptr(GError) error = NULL;
    g_auto(IfmComparison) comparison = { 0 };
    g_auto(PlanText) one = { 0 };
    g_auto(PlanText) other = { 0 };
    g_autofree char *one_plan = plan_with(exact[0].blocks, DEVICES), *other_plan = plan_with(exact[1].blocks, DEVICES);
    IfmCompareProtocol protocol = IFM_COMPARE_PROTOCOL_INIT;
    protocol.time_budget_ns = 0;
    protocol.max_pairs = 20;
    protocol.rounds = 4;
    fixture_init(&fixture, NULL);
    plan_text_init(&one, one_plan, 60, 300);
    plan_text_init(&other, other_plan, 60, 300);
    const IfmCompareSide sides[] = { { .kind = &ifm_kind_pipeline, .spec = &one.plan_case },
                                     { .kind = &ifm_kind_pipeline, .spec = &other.plan_case } };
    g_assert_true(ifm_runner_compare(fixture.runner, sides, &protocol, 1, &comparison, &error));
    g_assert_no_error(error);
    g_assert_cmpint(comparison.verdict, ==, IFM_VERDICT_SLOWER);
    g_assert_cmpfloat_with_epsilon(comparison.ratio, (double)exact[1].makespan_ns / (double)exact[0].makespan_ns, 1e-9);
    for (gsize side = 0; side < 2; side++)
        g_assert_cmpuint(comparison.measurements[side]->samples_ns->len, ==, 32);
    fixture_clear(&fixture);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_autofree char *devices = g_build_filename(g_getenv("G_TEST_SRCDIR"), "measure", "devices", NULL);
    g_setenv("IFM_DEVICES_DIR", devices, TRUE);
    g_test_add_func("/plan/compare", test_compare);
    for (gsize i = 0; i < G_N_ELEMENTS(exact); i++)
    {
        g_autofree char *path = g_strconcat("/plan/exact/", exact[i].name, NULL);
        g_test_add_data_func(path, &exact[i], test_exact);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(refused); i++)
    {
        g_autofree char *path = g_strconcat("/plan/refused/", refused[i].name, NULL);
        g_test_add_data_func(path, &refused[i], test_refused);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(failing); i++)
    {
        g_autofree char *path = g_strconcat("/plan/failing/", failing[i].unit, NULL);
        g_test_add_data_func(path, &failing[i], test_failing);
    }
    g_test_add_func("/plan/stages", test_stages);
    g_test_add_func("/plan/bound", test_bound);
    g_test_add_func("/plan/bound-idle", test_bound_idle);
    g_test_add_func("/plan/bound-without", test_bound_without);
    g_test_add_func("/plan/counted", test_counted);
    g_test_add_func("/plan/counted-replan", test_counted_replan);
    g_test_add_func("/plan/interval", test_interval);
    g_test_add_func("/plan/several-graphs", test_several_graphs);
    g_test_add_func("/plan/parts", test_parts);
    g_test_add_func("/plan/record", test_record);
    g_test_add_func("/plan/keys", test_keys);
    g_test_add_func("/plan/prediction", test_prediction);
    g_test_add_func("/plan/two-behind-one-alias", test_two_behind_one_alias);
    g_test_add_func("/plan/lost-is-remembered", test_lost_is_remembered);
    g_test_add_func("/plan/replan", test_replan);
    g_test_add_func("/plan/memory-limit", test_memory_limit);
    g_test_add_func("/plan/hang-compiling", test_hang_compiling);
    g_test_add_func("/plan/interrupted", test_interrupted);
    g_test_add_func("/plan/trace", test_trace);
    return g_test_run();
}
