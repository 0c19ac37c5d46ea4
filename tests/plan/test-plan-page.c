#include <math.h>
#include <string.h>

#include <plan/plan-page.h>
#include <plan/plan.h>
#include <run/run.h>
#include <store/store.h>
#include <trace/trace.h>

#include "document/check-document.h"
#include "document/golden.h"
#include "document/summary-line.h"

/* --- a plan with known figures ---------------------------------------------------------------------------------------- */

#define MS 1e6

static IfmPlan *plan_of(int n_blocks)
{
    IfmPlan *plan = ifm_plan_new("graphsage");
    ifm_plan_add_device(plan, "CPU", "openvino:CPU@0", IFM_PLAN_DYNAMIC);
    ifm_plan_add_device(plan, "GPU", "openvino:GPU", IFM_PLAN_DYNAMIC);
    ifm_plan_add_device(plan, "NPU", "simulated:meteor-lake/NPU", IFM_PLAN_DYNAMIC);
    IfmPlanBlock whole = { .first = 1, .last = 7, .n_devices = 1, .devices = { 0 }, .ratios = { 1 } },
                 shared = { .first = 1, .last = 5, .n_devices = 2, .devices = { 0, 1 }, .ratios = { 0.4, 0.6 } },
                 last = { .first = 6, .last = 7, .n_devices = 1, .devices = { 2 }, .ratios = { 1 } };
    if (n_blocks == 1)
        ifm_plan_add_block(plan, &whole);
    else
    {
        ifm_plan_add_block(plan, &shared);
        ifm_plan_add_block(plan, &last);
    }
    return plan;
}

static void add_cost(GArray *costs, double partition_ms, double first_ms, double second_ms, double merge_ms)
{
    IfmBlockCost cost = { .partition_ns = partition_ms * MS,
                          .merge_ns = merge_ms * MS,
                          .total_ns = (partition_ms + fmax(first_ms, second_ms) + merge_ms) * MS,
                          .device_ns = { first_ms * MS, second_ms * MS } };
    g_array_append_val(costs, cost);
}

/* As the search would make it: two blocks, or one. */
static void cost_of(int n_blocks, IfmPlanCost *cost)
{
    *cost = (IfmPlanCost){ .latency_ns = n_blocks == 1 ? 30 * MS : 20 * MS,
                           .latency_spread_ratio = 0.02,
                           .cycle_ns = n_blocks == 1 ? 30 * MS : 12.5 * MS,
                           .cycle_spread_ratio = n_blocks == 1 ? 0.01 : 0.03,
                           .energy_j = NAN,
                           .origin = n_blocks == 1 ? IFM_COST_MEASURED : IFM_COST_SUMMED,
                           .busy_known = TRUE,
                           .bottleneck_block = 1,
                           .alone = g_array_new(FALSE, TRUE, sizeof(IfmBlockCost)),
                           .steady = g_array_new(FALSE, TRUE, sizeof(IfmBlockCost)) };
    add_cost(cost->alone, n_blocks == 1 ? 0 : 0.25, n_blocks == 1 ? 30 : 11, 11, n_blocks == 1 ? 0 : 0.5);
    add_cost(cost->steady, 0, n_blocks == 1 ? 30 : 12.5, 12.4, 0);
    if (n_blocks == 1)
        return;
    add_cost(cost->alone, 0, 8.25, 0, 0);
    add_cost(cost->steady, 0, 9, 0, 0);
}

typedef struct
{
    IfmCosts *costs;
    IfmPlanned planned;
    json_t *prediction;
    IfmPlanReport report;
} Fixture;

static json_t *make_prediction(void)
{
    return json_pack("{s:i,s:I,s:f,s:f,s:I,s:[{s:i,s:s,s:I,s:I,s:I,s:I},{s:i,s:s,s:I,s:I,s:I,s:I}],s:[{s:s,s:i,s:f},{s:s,"
                     "s:i,s:f},{s:s,s:i,s:f}]}",
                     "n_batches", 100, "makespan_ns", (json_int_t)1257500000, "makespan_spread_ratio", 0.031,
                     "throughput_per_s", 100 / 1.2575, "batch_latency_ns", (json_int_t)22500000, "blocks", "block", 1,
                     "devices", "CPU+GPU", "mean_ns", (json_int_t)12500000, "partition_ns", (json_int_t)250000, "device_ns",
                     (json_int_t)11750000, "merge_ns", (json_int_t)500000, "block", 2, "devices", "NPU", "mean_ns",
                     (json_int_t)9000000, "partition_ns", (json_int_t)0, "device_ns", (json_int_t)9000000, "merge_ns",
                     (json_int_t)0, "devices", "alias", "CPU", "stream", 0, "wall_utilisation", 0.9, "alias", "GPU",
                     "stream", 0, "wall_utilisation", 0.95, "alias", "NPU", "stream", 0, "wall_utilisation", 0.72);
}

static void set_up(Fixture *fixture, gconstpointer data)
{
    static const struct
    {
        const char *alias, *device;
    } devices[] = { { "CPU", "openvino:CPU@0" }, { "GPU", "openvino:GPU" }, { "NPU", "simulated:meteor-lake/NPU" } };
    fixture->costs = ifm_costs_new("graphsage", 7);
    for (gsize i = 0; i < G_N_ELEMENTS(devices); i++)
    {
        IfmCostDevice device = {
            .alias = devices[i].alias, .device = devices[i].device, .splits = TRUE, .active_w = NAN, .idle_w = NAN
        };
        g_assert_cmpint(ifm_costs_add_device(fixture->costs, &device, NULL), ==, (int)i);
        for (int stage = 1; stage <= 7; stage++)
            g_assert_true(ifm_costs_set_points(fixture->costs, (int)i, stage, stage,
                                               &(IfmCostPoint){ 5000, 10000, 4 * MS, 0.02 }, 1, NULL));
    }
    ifm_costs_forbid(fixture->costs, 2, 3, "the compiler has no ScatterND");
    ifm_costs_forbid(fixture->costs, 2, 4, "the compiler has no ScatterND");
    fixture->planned.answer = (IfmPlanAnswer){ .plan = plan_of(2),
                                               .best.plan = plan_of(2),
                                               .single.plan = plan_of(1),
                                               .optimal = TRUE,
                                               .lower_bound = 12.5 * MS,
                                               .n_ranges = 28,
                                               .n_ranges_known = 28,
                                               .n_subsets = 7,
                                               .n_structures = 1234,
                                               .n_visited = 99,
                                               .n_pruned = 45 };
    cost_of(2, &fixture->planned.answer.cost);
    cost_of(2, &fixture->planned.answer.best.cost);
    cost_of(1, &fixture->planned.answer.single.cost);
    fixture->prediction = make_prediction();
    fixture->planned.size = (IfmPlanSize){ 5000, 10000 };
    fixture->planned.prediction = fixture->prediction;
    fixture->report =
        (IfmPlanReport){ "gnn-plan", IFM_OBJECTIVE_THROUGHPUT, fixture->costs, &fixture->planned, "out/gnn-plan" };
}

static void tear_down(Fixture *fixture, gconstpointer data)
{
    ifm_plan_answer_clear(&fixture->planned.answer);
    ifm_costs_free(fixture->costs);
    json_decref(fixture->prediction);
}

/* --- the answer ------------------------------------------------------------------------------------------------------- */

static void test_answer(Fixture *fixture, gconstpointer data)
{
    g_autofree char *page =
        ifm_document_show(ifm_plan_document(&fixture->report), &(IfmScreen){ .width = 100, .utf8 = TRUE });
    check_golden("plan-answer.txt", page);
    g_assert_cmpuint(check_document(ifm_plan_document(&fixture->report)), >, 0);
    g_assert_nonnull(strstr(page, "28 ranges of stages, 7 sets of devices, 1234 structures"));
    g_assert_nonnull(strstr(page, "optimal under this cost model"));
    g_assert_nonnull(strstr(page, "NPU not for stages 3, 4: the compiler has no ScatterND\n"));
    g_assert_nonnull(strstr(page, " promises 2.40 times the throughput of the best single device\n"));
    fixture->planned.answer.spread_unknown = TRUE;
    g_autofree char *unknown =
        ifm_document_show(ifm_plan_document(&fixture->report), &(IfmScreen){ .width = 200, .utf8 = TRUE });
    g_assert_nonnull(strstr(unknown, ": whether it gains is not known\n"));
    g_assert_true(strstr(unknown, " would make ") != NULL && strstr(unknown, " promises ") == NULL);
    fixture->report.objective = IFM_OBJECTIVE_LATENCY;
    g_autofree char *latency = summary_line(ifm_plan_document(&fixture->report));
    assert_line(latency,
                (const char *const[]){ " would take ", ": whether it gains is not known | Both are predicted", NULL });
}

/* A gain that nobody can be sure of: the single device is the plan, and the page says why. */
static void test_uncertain(Fixture *fixture, gconstpointer data)
{
    IfmPlanAnswer *answer = &fixture->planned.answer;
    ifm_plan_free(answer->plan);
    answer->plan = plan_of(1);
    ifm_plan_cost_clear(&answer->cost);
    cost_of(1, &answer->cost);
    answer->within_uncertainty = TRUE;
    answer->best.cost.cycle_ns = 29.5 * MS;
    answer->best.cost.cycle_spread_ratio = 0.05;
    g_autofree char *page = ifm_document_show(ifm_plan_document(&fixture->report), &(IfmScreen){ .width = 100 });
    g_autofree char *line = summary_line(ifm_plan_document(&fixture->report));
    assert_line(line, (const char *const[]){ "One device will do: ", "is not told apart from it | ", NULL });
    g_assert_true(g_str_is_ascii(page));
    answer->optimal = FALSE;
    answer->lower_bound = 25 * MS;
    answer->gap_ratio = 0.2;
    g_autofree char *open =
        ifm_document_show(ifm_plan_document(&fixture->report), &(IfmScreen){ .width = IFM_SCREEN_UNBOUNDED });
    g_assert_nonnull(
        strstr(open, "not proved optimal: no plan is below 25.0 ms by this cost model, which leaves a gap of 20.0 %"));
    answer->cost.origin = IFM_COST_EXTRAPOLATED;
    g_autofree char *guess =
        ifm_document_show(ifm_plan_document(&fixture->report), &(IfmScreen){ .width = IFM_SCREEN_UNBOUNDED });
    g_assert_nonnull(strstr(guess, "extrapolated: no measured sizes surround this one"));
}

/* Each way that a plan's verdict and its trust can fall. */
static void test_verdicts(Fixture *fixture, gconstpointer data)
{
    IfmPlanAnswer *answer = &fixture->planned.answer;
    static const struct
    {
        IfmCostOrigin origin;
        const char *words;
    } origins[] = { { IFM_COST_MEASURED, "good latencies were measured at this very size;" },
                    { IFM_COST_INTERPOLATED, "good latencies are interpolated between measured sizes;" },
                    { IFM_COST_SUMMED, "care latencies are sums of stages measured one by one;" },
                    { IFM_COST_EXTRAPOLATED, "care latencies are extrapolated: no measured sizes surround this one;" } };
    for (gsize i = 0; i < G_N_ELEMENTS(origins); i++)
    {
        answer->cost.origin = origins[i].origin;
        g_autofree char *line = summary_line(ifm_plan_document(&fixture->report));
        assert_line(line, (const char *const[]){ origins[i].words, "good optimal under this cost model;",
                                                 "care simulated: the figures of NPU come from a description",
                                                 "unchecked predicted from the tables; nothing was run;", NULL });
    }
    static const struct
    {
        IfmObjective objective;
        const char *verdict;
    } objectives[] = { { IFM_OBJECTIVE_THROUGHPUT, "promises 2.40 times the throughput of the best single device" },
                       { IFM_OBJECTIVE_LATENCY, "promises 0.667 times the latency of the best single device" },
                       { IFM_OBJECTIVE_ENERGY, "promises 0.500 times the energy of the best single device" } };
    answer->best.cost.energy_j = 1;
    answer->single.cost.energy_j = 2;
    for (gsize i = 0; i < G_N_ELEMENTS(objectives); i++)
    {
        fixture->report.objective = objectives[i].objective;
        g_autofree char *line = summary_line(ifm_plan_document(&fixture->report));
        assert_line(line, (const char *const[]){ objectives[i].verdict, NULL });
    }
    fixture->report.objective = IFM_OBJECTIVE_THROUGHPUT;
    answer->optimal = FALSE;
    fixture->planned.size = (IfmPlanSize){ 500000, 10000 };
    g_autofree char *far = summary_line(ifm_plan_document(&fixture->report));
    assert_line(far, (const char *const[]){ "; this is not to be trusted | ", "bad this size is more than 10 times beyond",
                                            "care not proved optimal under this cost model;", NULL });
    fixture->planned.size = (IfmPlanSize){ 5000, 10000 };
    ifm_plan_free(answer->best.plan);
    answer->best.plan = plan_of(1);
    g_autofree char *same = summary_line(ifm_plan_document(&fixture->report));
    assert_line(same, (const char *const[]){ "No plan is better than one device: CPU 1-7 | ", NULL });
    ifm_plan_free(answer->single.plan);
    answer->single.plan = NULL;
    g_autofree char *none = summary_line(ifm_plan_document(&fixture->report));
    assert_line(none, (const char *const[]){ "No device can run all stages; the best plan is ", NULL });
}

static void set_gain(IfmPlanAnswer *answer, double cycle_ms, gboolean within, gboolean unknown)
{
    answer->best.cost.cycle_ns = cycle_ms * MS;
    answer->within_uncertainty = within;
    answer->spread_unknown = unknown;
}

/* Plans of several sizes have one headline: the least and the greatest gain, each with what is known of it. */
static void test_sizes(Fixture *fixture, gconstpointer data)
{
    IfmPlanned first = fixture->planned, second = fixture->planned;
    IfmPlanReport reports[] = { fixture->report, fixture->report };
    reports[0].planned = &first;
    reports[1].planned = &second;
    second.size = (IfmPlanSize){ 1000, 2000 };
    ifm_plan_choose_figures(reports, 2);
    set_gain(&first.answer, 12.5, FALSE, FALSE);
    set_gain(&second.answer, 25, TRUE, FALSE);
    second.answer.optimal = FALSE;
    g_autofree char *line = summary_line(ifm_plans_document(reports, 2));
    assert_line(
        line, (const char *const[]){ "The best plan promises 1.20 times the throughput of one device at 1000 nodes, "
                                     "2000 edges (not told apart) to 2.40 times at 5000 nodes, 10000 edges (told "
                                     "apart) | The gain's interval is above 1 at 1 of 2 sizes | care:",
                                     "care at 1 of 2 sizes: not proved optimal under this cost model;",
                                     "good at 1 of 2 sizes: optimal under this cost model;",
                                     "--size 5000,10000 --bound --verify;", "least gain 1.20 times the throughput", NULL });
    set_gain(&first.answer, 12.5, FALSE, TRUE);
    g_autofree char *unknown = summary_line(ifm_plans_document(reports, 2));
    assert_line(unknown,
                (const char *const[]){ "The best plan would have 1.20 times",
                                       "to 2.40 times at 5000 nodes, 10000 edges (without an interval) | ", NULL });
    set_gain(&first.answer, 29, TRUE, FALSE);
    g_autofree char *single = summary_line(ifm_plans_document(reports, 2));
    assert_line(single, (const char *const[]){ "One device will do at all 2 sizes | One device is the answer", NULL });
    IfmPlan *alone = first.answer.single.plan;
    first.answer.single.plan = second.answer.single.plan = NULL;
    g_autofree char *none = summary_line(ifm_plans_document(reports, 2));
    assert_line(none, (const char *const[]){ "No device can run all stages at any of 2 sizes | ", "!least gain", NULL });
    first.answer.single.plan = second.answer.single.plan = alone;
    for (gsize objective = 0; objective < 3; objective++)
    {
        reports[0].objective = reports[1].objective = (IfmObjective)objective;
        g_assert_cmpuint(check_document(ifm_plans_document(reports, 2)), >, 0);
    }
}

/* A short screen has a row of each size, and says what it leaves out. */
static void test_sizes_shown(Fixture *fixture, gconstpointer data)
{
    enum
    {
        N = 15,
    };
    IfmPlanned planned[N];
    IfmPlanReport reports[N];
    IfmDocument *documents[N + 1];
    for (gsize i = 0; i < N; i++)
    {
        planned[i] = fixture->planned;
        planned[i].size = (IfmPlanSize){ 1000 + (gint64)i, 10000 };
        reports[i] = fixture->report;
        reports[i].planned = &planned[i];
    }
    ifm_plan_choose_figures(reports, N);
    documents[0] = ifm_plans_document(reports, N);
    for (gsize i = 0; i < N; i++)
        documents[i + 1] = ifm_plan_document(&reports[i]);
    IfmScreen screen = { .width = 80, .utf8 = TRUE, .lines = 40 };
    g_autofree char *brief = ifm_documents_to_screen((const IfmDocument *const *)documents, N + 1, &screen);
    screen.lines = 0;
    g_autofree char *whole = ifm_documents_to_screen((const IfmDocument *const *)documents, N + 1, &screen);
    for (gsize i = 0; i < N; i++)
    {
        g_autofree char *size = ifm_plan_size_title(&planned[i].size);
        g_assert_true(strstr(brief, size) != NULL && strstr(whole, size) != NULL);
        ifm_document_free(documents[i + 1]);
    }
    ifm_document_free(documents[0]);
    g_assert_nonnull(strstr(brief, "\nmore with --all: each plan's blocks"));
    g_assert_null(strstr(brief, "searched"));
    g_assert_nonnull(strstr(whole, "searched"));
    g_assert_null(strstr(whole, "--all"));
}

/* What fusing may change of a sum: the range of ratios where ranges were measured; else that there is no interval. */
static void test_fusing(Fixture *fixture, gconstpointer data)
{
    IfmScreen screen = { .width = IFM_SCREEN_UNBOUNDED };
    g_autofree char *apart = ifm_document_show(ifm_plan_document(&fixture->report), &screen);
    g_assert_null(strstr(apart, "were measured as one"));
    fixture->planned.answer.cost.summed = TRUE;
    fixture->planned.answer.cost.fused_least_ratio = fixture->planned.answer.cost.fused_most_ratio = NAN;
    json_object_set_new(fixture->prediction, "makespan_spread_ratio", json_null());
    g_autofree char *unknown = ifm_document_show(ifm_plan_document(&fixture->report), &screen);
    g_assert_nonnull(strstr(unknown, "what running stages as one saves was not measured"));
    g_assert_nonnull(strstr(unknown, ", no interval, "));
    fixture->planned.answer.cost.fused_least_ratio = 0.21;
    fixture->planned.answer.cost.fused_most_ratio = 0.5;
    g_autofree char *known = ifm_document_show(ifm_plan_document(&fixture->report), &screen);
    g_assert_nonnull(strstr(known, "ranges that were measured as one took 0.21 to 0.5 times the sum of their stages"));
}

/* Whether contention was measured is told of plans that have any. */
static void test_contention(Fixture *fixture, gconstpointer data)
{
    g_autofree char *known = summary_line(ifm_plan_document(&fixture->report));
    g_assert_nonnull(strstr(known, "how the devices slow each other was measured"));
    fixture->planned.answer.cost.busy_known = FALSE;
    g_autofree char *unknown = summary_line(ifm_plan_document(&fixture->report));
    g_assert_nonnull(strstr(unknown, "how the devices slow each other was not measured"));
}

/* What is written is a plan that can be read, with its certificate beside it. */
static void test_answer_json(Fixture *fixture, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    json_auto_t *json = ifm_plan_answer_to_json(&fixture->report);
    g_autoptr(IfmPlan) plan = ifm_plan_from_json(json, "test", &error);
    g_assert_no_error(error);
    g_assert_true(ifm_plan_same_shape(plan, fixture->planned.answer.plan));
    g_assert_cmpfloat(g_array_index(plan->blocks, IfmPlanBlock, 0).ratios[1], ==, 0.6);
    const json_t *certificate = json_object_get(json, "certificate"), *single = json_object_get(json, "single");
    g_assert_true(json_is_true(json_object_get(certificate, "optimal")));
    g_assert_cmpint(json_integer_value(json_object_get(certificate, "n_ranges")), ==, 28);
    g_assert_cmpfloat(json_number_value(json_object_get(single, "cycle_ns")), ==, 30 * MS);
    g_assert_true(json_is_null(json_object_get(single, "energy_j")));
    json_auto_t *sizes = json_pack("[[i,i]]", 5000, 10000);
    g_assert_true(json_equal(sizes, json_object_get(json, "sizes")));
    g_assert_true(json_equal(fixture->prediction, json_object_get(json, "prediction")));
}

static void test_widths(Fixture *fixture, gconstpointer data)
{
    for (int width = 60; width <= 140; width += 8)
    {
        IfmScreen screen = { .width = width, .utf8 = width % 16 == 0 };
        g_autofree char *page = ifm_document_show(ifm_plan_document(&fixture->report), &screen);
        g_auto(GStrv) lines = g_strsplit(page, "\n", -1);
        for (char **line = lines; *line != NULL; line++)
            g_assert_cmpint(ifm_text_width(*line), <=, width);
        g_assert_true(screen.utf8 || g_str_is_ascii(page));
    }
}

/* --- the run ---------------------------------------------------------------------------------------------------------- */

static IfmTraceAnalysis *make_analysis(const IfmTrackInfo *infos, gsize n)
{
    IfmTraceAnalysis *analysis = g_new0(IfmTraceAnalysis, 1);
    const gint64 times[] = { 13000000, 9000000, 12000000, 15000000, -1, -1 };
    const gint64 interleaved[] = { 0, 0, 4000000, 7000000, -1, -1 };
    const gint32 ids[] = { 0, 1, 2 };
    analysis->tracks = g_array_new(FALSE, TRUE, sizeof(IfmTrackUse));
    analysis->stages = g_array_new(FALSE, TRUE, sizeof(IfmStageUse));
    analysis->batch_stage_ns = g_array_new(FALSE, FALSE, sizeof(gint64));
    analysis->batch_turn_ns = g_array_new(FALSE, FALSE, sizeof(gint64));
    analysis->batch_ids = g_array_new(FALSE, FALSE, sizeof(gint32));
    analysis->critical_path = g_array_new(FALSE, FALSE, sizeof(IfmPathStep));
    analysis->warnings = g_ptr_array_new_with_free_func(g_free);
    for (gsize i = 0; i < n; i++)
    {
        IfmTrackUse use = { .info = &infos[i], .wall_utilisation = 0.9 - 0.1 * (double)i };
        g_array_append_val(analysis->tracks, use);
    }
    IfmStageUse stages[] = { { .block = 1,
                               .first = 1,
                               .last = 5,
                               .mean_ns = 12.75 * MS,
                               .partition_ns = 0.5 * MS,
                               .device_ns = 11.75 * MS,
                               .merge_ns = 0.5 * MS,
                               .turn_ns = 3.5 * MS },
                             { .block = 2, .first = 6, .last = 7, .mean_ns = 9 * MS, .device_ns = 9 * MS } };
    g_array_append_vals(analysis->stages, stages, G_N_ELEMENTS(stages));
    g_array_append_vals(analysis->batch_stage_ns, times, G_N_ELEMENTS(times));
    g_array_append_vals(analysis->batch_turn_ns, interleaved, G_N_ELEMENTS(interleaved));
    g_array_append_vals(analysis->batch_ids, ids, G_N_ELEMENTS(ids));
    analysis->n_batches = G_N_ELEMENTS(ids);
    return analysis;
}

static IfmMeasurement *make_measurement(void)
{
    IfmMeasurement *measurement = ifm_measurement_new();
    json_t *repetitions = json_array();
    const gint64 makespans[] = { 1300000000, 1250000000, 1280000000 };
    for (gsize i = 0; i < G_N_ELEMENTS(makespans); i++)
    {
        /* the second repetition is the mean of all, the others are a hundredth off */
        const double part = 0.99 + 0.01 * (double)i, batch_ns = (double)makespans[i] / 100;
        json_t *stages = json_pack(
            "[{s:i,s:i,s:i,s:i,s:f,s:f,s:f,s:f,s:f,s:{s:f,s:f}},{s:i,s:i,s:i,s:i,s:f,s:f,s:f,s:f,s:f,s:{s:f}}]", "block", 1,
            "first", 1, "last", 5, "n", 100, "mean_ns", part * 12.75 * MS, "partition_ns", part * 0.5 * MS, "device_ns",
            part * 11.75 * MS, "merge_ns", part * 0.5 * MS, "turn_ns", part * 3.5 * MS, "device_wall_ns", "CPU",
            0.9 * part * batch_ns, "GPU", 0.8 * part * batch_ns, "block", 2, "first", 6, "last", 7, "n", 100, "mean_ns",
            part * 9.0 * MS, "partition_ns", 0.0, "device_ns", part * 9.0 * MS, "merge_ns", 0.0, "turn_ns", 0.0,
            "device_wall_ns", "NPU", 0.7 * part * batch_ns);
        json_array_append_new(repetitions, json_pack("{s:I,s:i,s:{s:i},s:o}", "makespan_ns", (json_int_t)makespans[i],
                                                     "n_batches", 100, "latency", "p50_ns", 24000000, "stages", stages));
    }
    ifm_record_set_json(&measurement->result,
                        json_pack("{s:o,s:{s:{s:f,s:f},s:{s:f,s:f},s:f,s:f},s:i,s:f}", "repetitions", repetitions, "bound",
                                  "solo", "CPU", 33.3, "GPU", 44.4, "together", "CPU", 30.0, "GPU", 40.0, "gain", 1.58,
                                  "attained", 0.96, "replans", 0, "device_time_slow_down", 0.015));
    json_t *plan = measurement->result;
    json_object_set_new(plan, "device_time_cost",
                        json_pack("{s:f,s:{s:f,s:f,s:f},s:i,s:i,s:n}", "ratio", 0.015, "interval", "lower", 0.01, "upper",
                                  0.02, "level", 0.95, "n_counted", 18, "n_plain", 282, "why"));
    /* 297 gaps of three repetitions: 99 in each, whose mean is within 0.1 ms: the makespan within 9.9 ms of 1280 */
    json_object_set_new(plan, "gap_ns",
                        json_pack("{s:i,s:f,s:{s:f,s:f,s:f}}", "n", 297, "mean", 12.8e6, "mean_interval", "lower", 12.7e6,
                                  "upper", 12.9e6, "level", 0.95));
    json_object_set_new(plan, "latency_ns",
                        json_pack("{s:f,s:{s:f,s:f,s:f}}", "median", 24e6, "median_interval", "lower", 23.88e6, "upper",
                                  24.12e6, "level", 0.95));
    ifm_record_set_json(&measurement->verification, json_pack("{s:s}", "status", "passed"));
    return measurement;
}

static const IfmTrackInfo tracks[] = {
    { .kind = IFM_TRACK_DEVICE, .device = (char *)"CPU", .thread = (char *)"CPU stream 0" },
    { .kind = IFM_TRACK_DEVICE, .device = (char *)"GPU", .thread = (char *)"GPU stream 0" },
    { .kind = IFM_TRACK_DEVICE, .device = (char *)"NPU", .thread = (char *)"NPU stream 0" },
    { .kind = IFM_TRACK_HOST, .thread = (char *)"block 1 host" },
};

static const IfmRunFigure *find_figure(const GPtrArray *figures, const char *key)
{
    for (guint i = 0; i < figures->len; i++)
        if (g_str_equal(((const IfmRunFigure *)figures->pdata[i])->key, key))
            return figures->pdata[i];
    g_error("no figure \"%s\"", key);
}

/* What became of the fixture's plan. All borrowed. */
static IfmRunReport run_of(const Fixture *fixture, const IfmMeasurement *measurement, const IfmTraceAnalysis *analysis)
{
    return (IfmRunReport){ .title = "5000 nodes, 10000 edges",
                           .plan = fixture->planned.answer.plan,
                           .prediction = fixture->prediction,
                           .measurement = measurement,
                           .analysis = analysis };
}

/* Each figure is what the documents say: 1280 ms is the middle of three, 100 batches in it 78.125 a second. */
static void test_figures(Fixture *fixture, gconstpointer data)
{
    g_autoptr(IfmMeasurement) measurement = make_measurement();
    g_autoptr(IfmTraceAnalysis) analysis = make_analysis(tracks, G_N_ELEMENTS(tracks));
    IfmRunReport report = run_of(fixture, measurement, analysis);
    g_autoptr(GPtrArray) figures = ifm_run_figures(&report);
    const IfmRunFigure *makespan = find_figure(figures, "makespan"), *throughput = find_figure(figures, "throughput"),
                       *block = find_figure(figures, "block 1 CPU+GPU 1-5"),
                       *gpu = find_figure(figures, "GPU wall utilisation");
    g_assert_cmpfloat(makespan->predicted, ==, 1257500000);
    g_assert_cmpfloat(makespan->interval.lower, ==, 1270100000);
    g_assert_cmpfloat(makespan->interval.upper, ==, 1289900000);
    g_assert_cmpfloat_with_epsilon(throughput->interval.lower, 100 / 1.2899, 1e-9);
    g_assert_cmpfloat_with_epsilon(throughput->interval.upper, 100 / 1.2701, 1e-9);
    g_assert_cmpfloat(find_figure(figures, "batch latency, median")->interval.upper, ==, 24.12e6);
    g_assert_cmpfloat(makespan->measured, ==, 1280000000);
    g_assert_cmpfloat(throughput->measured, ==, 78.125);
    g_assert_cmpfloat(block->predicted, ==, 12500000);
    g_assert_cmpfloat(block->measured, ==, 12750000);
    g_assert_cmpfloat(gpu->predicted, ==, 0.95);
    g_assert_cmpfloat(gpu->measured, ==, 0.8);
    for (guint i = 0; i < figures->len; i++) /* the host's track is no device */
        g_assert_null(strstr(((const IfmRunFigure *)figures->pdata[i])->key, "host"));
    g_autofree char *page = ifm_document_show(ifm_run_document(&report, 1), &(IfmScreen){ .width = 100, .utf8 = TRUE });
    check_golden("run.txt", page);
    g_assert_nonnull(strstr(page, "The prediction was right to 2 %: the run took 1.28"));
    g_assert_null(strstr(page, "more than this plan"));
    /* a device that makes more alone than the plan does, and a prediction that was surer than it should have been */
    json_t *solo = json_object_get(json_object_get(measurement->result, "bound"), "solo");
    json_object_set_new(solo, "GPU", json_real(90));
    json_object_set_new(json_object_get(measurement->result, "bound"), "attained", json_real(1.34));
    json_t *plan = measurement->result;
    json_object_set_new(plan, "rate_per_s", json_pack("{s:f}", "median", 91.0)); /* filling is in the makespan alone */
    g_autofree char *filling = ifm_document_show(ifm_run_document(&report, 1), &(IfmScreen){ .width = 300 });
    g_assert_null(strstr(filling, "more than this plan"));
    json_object_set_new(plan, "rate_per_s", json_pack("{s:f}", "median", 89.0));
    json_object_set_new(fixture->prediction, "makespan_spread_ratio", json_real(0.01));
    g_autofree char *beaten = ifm_document_show(ifm_run_document(&report, 1), &(IfmScreen){ .width = 300 });
    g_assert_nonnull(strstr(beaten, "whose interval is 1.24 to 1.27"));
    g_assert_nonnull(strstr(beaten, "GPU alone made 90.0 batches a second, more than this plan"));
    g_assert_nonnull(strstr(beaten, "the run took less than its bound"));
    /* a plan on that very device is not slower than itself */
    json_t *repetitions = json_object_get(plan, "repetitions");
    json_object_set_new(json_array_get(repetitions, json_array_size(repetitions) - 1), "plan", json_string("GPU 1-7"));
    g_autofree char *itself = ifm_document_show(ifm_run_document(&report, 1), &(IfmScreen){ .width = 300 });
    g_assert_null(strstr(itself, "more than this plan"));
}

/* Three runs' median of 1280 ms, devices that made 30 and 40 a second at once: whether what was predicted of the devices
 * missed as the makespan did. */
static void test_machine(Fixture *fixture, gconstpointer data)
{
    static const struct
    {
        double makespan_ms, cpu, gpu;
        const char *part;
    } rows[] = {
        { 1160, 33, 44, "the machine moved: its devices alone made 9 % less than predicted" },
        { 1400, 27, 36, "the machine moved: its devices alone made 11 % more than predicted" },
        { 1160, 30, 40, NULL },  /* the bound is as predicted: the plan is what missed */
        { 1160, 27, 36, NULL },  /* it moved the other way */
        { 1160, 60, 80, NULL },  /* by far more than the plan */
        { 1250, 33, 44, NULL },  /* the prediction was met */
        { 1160, 33, NAN, NULL }, /* of one device nothing was predicted */
    };
    g_autoptr(IfmMeasurement) measurement = make_measurement();
    g_autoptr(IfmTraceAnalysis) analysis = make_analysis(tracks, G_N_ELEMENTS(tracks));
    IfmRunReport report = run_of(fixture, measurement, analysis);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        json_t *together = json_pack("{s:f}", "CPU", rows[i].cpu);
        if (isfinite(rows[i].gpu))
            json_object_set_new(together, "GPU", json_real(rows[i].gpu));
        json_object_set_new(fixture->prediction, "makespan_ns", json_real(rows[i].makespan_ms * 1e6));
        json_object_set_new(fixture->prediction, "together", together);
        g_autofree char *page = ifm_document_show(ifm_run_document(&report, 1), &(IfmScreen){ .width = 400 });
        const char *found = strstr(page, rows[i].part != NULL ? rows[i].part : "the machine moved");
        if ((found != NULL) != (rows[i].part != NULL))
            g_error("row %u: %s", (guint)i, page);
    }
    json_object_set_new(fixture->prediction, "together", json_pack("{s:f,s:f}", "CPU", 33.0, "GPU", 44.0));
    g_autofree char *page = ifm_document_show(ifm_run_document(&report, 1), &(IfmScreen){ .width = 400 });
    g_assert_nonnull(strstr(page, "CPU 30.0/s, GPU 40.0/s (predicted CPU 33.0/s, GPU 44.0/s): 1.58 times"));
    /* the bound of each repetition, next to it: above it surely, and not told apart from it */
    static const struct
    {
        double attained, apart;
        const char *part;
    } bounds[] = {
        { 1.32, 0.01, "share of the bound 132 % 130 % to 134 %, of its devices" },
        { 1.01, 0.02, "share of the bound 101 % 96 % to 106 %, of its devices" },
        { 0.8, 0.01, "share of the bound 80 % 78 % to 82 %, of its devices" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(bounds); i++)
    {
        json_t *plan = measurement->result, *repetitions = json_object_get(plan, "repetitions");
        json_object_set_new(json_object_get(plan, "bound"), "attained", json_real(bounds[i].attained));
        for (gsize r = 0; r < 3; r++)
            json_object_set_new(json_array_get(repetitions, r), "bound",
                                json_pack("{s:f}", "attained", bounds[i].attained + ((double)r - 1) * bounds[i].apart));
        g_autofree char *told = summary_line(ifm_run_document(&report, 1));
        assert_line(told, (const char *const[]){ bounds[i].part, NULL });
    }
}

/* Each way that a run's verdict can fall: it took 1280 ms. */
static void test_run_verdicts(Fixture *fixture, gconstpointer data)
{
    static const struct
    {
        double makespan_ms, spread;
        const char *verdict;
    } rows[] = {
        { 1280, 0.03, "The prediction was right to 0 %: the run took 1.28 s" },
        { 1000, 0.3, "The run was 28 % longer than predicted, within the prediction's interval" },
        { 1600, 0.3, "The run was 20 % shorter than predicted, within the prediction's interval" },
        { 1000, 0.9, "The run was 28 % longer than predicted; the prediction was too wide to be wrong" },
        { 1000, 0.03, "The run was 28 % longer than predicted | " },
    };
    g_autoptr(IfmMeasurement) measurement = make_measurement();
    g_autoptr(IfmTraceAnalysis) analysis = make_analysis(tracks, G_N_ELEMENTS(tracks));
    IfmRunReport report = run_of(fixture, measurement, analysis);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        json_object_set_new(fixture->prediction, "makespan_ns", json_real(rows[i].makespan_ms * 1e6));
        json_object_set_new(fixture->prediction, "makespan_spread_ratio", json_real(rows[i].spread));
        g_autofree char *line = summary_line(ifm_run_document(&report, 1));
        assert_line(line, (const char *const[]){ rows[i].verdict, NULL });
    }
    report.prediction = NULL;
    g_autofree char *none = summary_line(ifm_run_document(&report, 1));
    assert_line(none, (const char *const[]){ "The run took 1.28 s; nothing was predicted", NULL });
    measurement->outcome = IFM_OUTCOME_FAILED;
    ifm_record_set_text(&measurement->error_code, "lost");
    ifm_record_set_text(&measurement->reason, "device lost");
    report.code = "lost";
    g_autofree char *failed = summary_line(ifm_run_document(&report, 1));
    assert_line(failed, (const char *const[]){ "The run failed: device lost", NULL });
}

static void test_several(Fixture *fixture, gconstpointer data)
{
    g_autoptr(IfmMeasurement) measurement = make_measurement(), failed = ifm_measurement_new();
    failed->outcome = IFM_OUTCOME_FAILED;
    ifm_record_set_text(&failed->error_code, "lost");
    ifm_record_set_text(&failed->reason, "block 1: GPU: batch 17: device lost");
    IfmRunReport reports[] = {
        { .title = "5000 nodes, 10000 edges",
          .plan = fixture->planned.answer.plan,
          .prediction = fixture->prediction,
          .measurement = measurement },
        { .title = "3000 nodes, 30000 edges",
          .plan = fixture->planned.answer.single.plan,
          .measurement = failed,
          .code = "lost" },
    };
    g_autofree char *page = ifm_document_show(ifm_run_document(reports, 2), &(IfmScreen){ .width = 80 });
    g_assert_cmpuint(check_document(ifm_run_document(reports, 2)), >, 0);
    check_golden("runs-ascii.txt", page);
    g_assert_true(g_str_is_ascii(page));
    g_assert_nonnull(strstr(page, "failed: block 1: GPU: batch 17: device lost\n"));
    json_auto_t *json = ifm_run_to_json(reports, 2);
    const json_t *runs = json_object_get(json, "runs"), *first = json_array_get(runs, 0);
    g_assert_cmpuint(json_array_size(runs), ==, 2);
    g_assert_cmpstr(json_string_value(json_object_get(json_array_get(runs, 1), "error_code")), ==, "lost");
    const json_t *makespan = json_array_get(json_object_get(first, "figures"), 0);
    g_assert_cmpfloat(json_number_value(json_object_get(makespan, "measured")), ==, 1280000000);
    g_assert_cmpstr(json_string_value(json_object_get(makespan, "unit")), ==, "ns");
}

/* A row a batch, the longest block marked; one that never got to a block has no time there. */
static void test_batches(Fixture *fixture, gconstpointer data)
{
    g_autoptr(IfmTraceAnalysis) analysis = make_analysis(tracks, G_N_ELEMENTS(tracks));
    IfmRunReport report = { .title = "run", .plan = fixture->planned.answer.plan, .analysis = analysis };
    g_autofree char *csv = ifm_run_batches_to_csv(&report, 1);
    g_assert_cmpstr(csv, ==,
                    "run,batch,block_1_ns,block_2_ns,block_1_turn_ns,block_2_turn_ns,cycle_ns,bottleneck_block\r\n"
                    "run,0,13000000,9000000,0,0,13000000,1\r\n"
                    "run,1,12000000,15000000,4000000,7000000,15000000,2\r\n"
                    "run,2,,,,,,\r\n");
}

/* Streams of several plans: makespans add up, and how sure they are, too. */
static void test_parts(void)
{
    json_auto_t *total = json_object();
    ifm_prediction_add(total, json_pack("{s:i,s:I,s:f,s:f}", "n_batches", 10, "makespan_ns", (json_int_t)1000000000,
                                        "makespan_spread_ratio", 0.1, "throughput_per_s", 10.0));
    g_assert_cmpfloat(json_number_value(json_object_get(total, "makespan_ns")), ==, 1e9);
    g_assert_null(json_object_get(total, "parts"));
    ifm_prediction_add(total, json_pack("{s:i,s:I,s:f,s:f}", "n_batches", 20, "makespan_ns", (json_int_t)3000000000,
                                        "makespan_spread_ratio", 0.02, "throughput_per_s", 6.67));
    g_assert_cmpuint(json_array_size(json_object_get(total, "parts")), ==, 2);
    g_assert_cmpint(json_integer_value(json_object_get(total, "n_batches")), ==, 30);
    g_assert_cmpfloat(json_number_value(json_object_get(total, "makespan_ns")), ==, 4e9);
    g_assert_cmpfloat(json_number_value(json_object_get(total, "throughput_per_s")), ==, 7.5);
    g_assert_cmpfloat_with_epsilon(json_number_value(json_object_get(total, "makespan_spread_ratio")), 0.04, 1e-12);
    ifm_prediction_add(total, json_pack("{s:i,s:I,s:f,s:f}", "n_batches", 10, "makespan_ns", (json_int_t)1000000000,
                                        "makespan_spread_ratio", 0.0, "throughput_per_s", 10.0));
    g_assert_cmpuint(json_array_size(json_object_get(total, "parts")), ==, 3);
    g_assert_cmpint(json_integer_value(json_object_get(total, "n_batches")), ==, 40);
}

/* What was predicted is of the plan that broke off: nothing is compared with it, and the page says which plan ran. */
static void test_replanned(Fixture *fixture, gconstpointer data)
{
    g_autoptr(IfmMeasurement) measurement = make_measurement();
    g_autoptr(IfmTraceAnalysis) analysis = make_analysis(tracks, G_N_ELEMENTS(tracks));
    json_t *plan = measurement->result, *repetitions = json_object_get(plan, "repetitions"),
           *last = json_array_get(repetitions, json_array_size(repetitions) - 1);
    json_object_set_new(plan, "replans", json_integer(1));
    json_object_set_new(last, "plan", json_string("GPU 1-7"));
    json_object_set_new(last, "stages",
                        json_pack("[{s:i,s:i,s:i,s:i,s:f,s:{s:f}}]", "block", 1, "first", 1, "last", 5, "n", 100, "mean_ns",
                                  12e6, "device_wall_ns", "GPU", 1e6));
    IfmRunReport report = run_of(fixture, measurement, analysis);
    g_autoptr(GPtrArray) figures = ifm_run_figures(&report);
    for (guint i = 0; i < figures->len; i++)
        g_assert_true(isnan(((const IfmRunFigure *)figures->pdata[i])->predicted));
    g_assert_cmpfloat(find_figure(figures, "block 1 GPU 1-5")->measured, >, 0);
    IfmScreen screen = { .width = 300, .utf8 = TRUE };
    g_autofree char *page = ifm_document_show(ifm_run_document(&report, 1), &screen);
    g_assert_nonnull(strstr(page, "in the end ran GPU 1-7"));
    g_assert_nonnull(strstr(page, "predicted a makespan of 1.26 s, of the plan that did not run to its end: not compared"));
    g_assert_nonnull(strstr(page, "what was predicted is of another plan than ran"));
    g_assert_null(strstr(page, "than predicted"));
}

static void check_title(char *title /* (transfer full) */, const char *expected)
{
    g_autofree char *own = title;
    g_assert_cmpstr(own, ==, expected);
}

/* Each way the rules of titles can fall. */
/* CPU for the first @n stages of seven, GPU for the others. */
static IfmPlan *cut_at(int n)
{
    json_auto_t *first = json_array(), *second = json_array();
    for (int stage = 1; stage <= 7; stage++)
        json_array_append_new(stage <= n ? first : second, json_integer(stage));
    json_auto_t *json = json_pack("[[[s],O,[f]],[[s],O,[f]]]", "CPU", first, 1.0, "GPU", second, 1.0);
    IfmPlan *plan = ifm_plan_from_json(json, "plan", NULL);
    g_assert_nonnull(plan);
    return plan;
}

/* On a page of many sizes each plan is drawn once, and six at most; a page of one size has its figures. */
static void test_drawn(Fixture *fixture, gconstpointer data)
{
    static const int cuts[] = { 1, 1, 2, 1, 3, 4, 5, 6, 2 };
    static const gboolean drawn[] = { TRUE, FALSE, TRUE, FALSE, TRUE, TRUE, TRUE, TRUE, FALSE };
    enum
    {
        N = G_N_ELEMENTS(cuts)
    };
    IfmPlanned planned[N + 1] = { 0 };
    IfmPlanReport reports[N + 1] = { 0 };
    for (gsize i = 0; i <= N; i++)
    {
        planned[i].answer.plan = i < N ? cut_at(cuts[i]) : plan_of(1);
        reports[i].planned = &planned[i];
    }
    ifm_plan_choose_figures(reports, N + 1);
    for (gsize i = 0; i < N; i++)
        g_assert_cmpint(reports[i].no_figures, ==, !drawn[i]);
    g_assert_true(reports[N].no_figures); /* the seventh */
    for (gsize i = 0; i <= N; i++)
        ifm_plan_free(planned[i].answer.plan);
    for (int without = 0; without < 2; without++)
    {
        fixture->report.no_figures = without;
        g_autoptr(IfmDocument) document = ifm_plan_document(&fixture->report);
        g_assert_cmpint(ifm_document_find(document, "front") == NULL, ==, without);
        const char *answer = NULL;
        for (guint i = 0; i < document->sections->len && answer == NULL; i++)
            answer = ((const IfmSection *)document->sections->pdata[i])->answer;
        g_assert_cmpint(
            g_str_has_suffix(answer, "cost model. Its figures are on a page of this size alone: --size 5000,10000."), ==,
            without);
    }
}

static void test_titles(void)
{
    check_title(ifm_front_title(3, 20, 20, TRUE), "One device is the answer: 20.0 batches/s");
    check_title(ifm_front_title(3, 50, NAN, FALSE), "The chosen plan promises 50.0 batches/s; no device does it alone");
    check_title(ifm_front_title(0, 50, 20, FALSE), "The chosen plan promises 50.0 batches/s, one device 20.0");
    check_title(ifm_front_title(4, 50, 20, FALSE),
                "The chosen plan promises 50.0 batches/s, one device 20.0; 4 plans trade throughput for latency");
    check_title(ifm_gains_title(5, 5, 0, 5), "One device is the answer at all 5 sizes");
    check_title(ifm_gains_title(5, 0, 0, 1), "How certain the gain is, is known at none of 5 sizes");
    check_title(ifm_gains_title(5, 5, 0, 1), "At none of 5 sizes is the gain's interval above 1");
    check_title(ifm_gains_title(5, 5, 3, 1), "The gain's interval is above 1 at 3 of 5 sizes");
    check_title(ifm_gains_title(5, 5, 5, 0), "The gain's interval is above 1 at all 5 sizes");
    g_assert_true(ifm_run_is_independent("makespan") && ifm_run_is_independent("block 1 CPU 1-3"));
    g_assert_true(ifm_run_is_independent("  (wait for its turn)"));
    g_assert_false(ifm_run_is_independent("throughput") || ifm_run_is_independent("  devices"));
    check_title(ifm_run_ratios_title("figures", 5, 0, 0, 0, NULL, 1),
                "How far figures are from their predictions is not known: none has an interval");
    check_title(ifm_run_ratios_title("figures", 5, 4, 0, 0, NULL, 1), "None of 5 figures is surely off its prediction");
    check_title(
        ifm_run_ratios_title("makespans", 5, 4, 2, 1, "merge", 1.5),
        "2 of 5 makespans are surely above their prediction, 1 below; the largest sure error is that of merge, 1.50 "
        "times as predicted");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/plan-page/answer", Fixture, NULL, set_up, test_answer, tear_down);
    g_test_add("/plan-page/uncertain", Fixture, NULL, set_up, test_uncertain, tear_down);
    g_test_add("/plan-page/sizes", Fixture, NULL, set_up, test_sizes, tear_down);
    g_test_add("/plan-page/sizes-shown", Fixture, NULL, set_up, test_sizes_shown, tear_down);
    g_test_add("/plan-page/run-verdicts", Fixture, NULL, set_up, test_run_verdicts, tear_down);
    g_test_add("/plan-page/verdicts", Fixture, NULL, set_up, test_verdicts, tear_down);
    g_test_add("/plan-page/contention", Fixture, NULL, set_up, test_contention, tear_down);
    g_test_add("/plan-page/fusing", Fixture, NULL, set_up, test_fusing, tear_down);
    g_test_add("/plan-page/json", Fixture, NULL, set_up, test_answer_json, tear_down);
    g_test_add("/plan-page/widths", Fixture, NULL, set_up, test_widths, tear_down);
    g_test_add("/plan-page/figures", Fixture, NULL, set_up, test_figures, tear_down);
    g_test_add("/plan-page/machine", Fixture, NULL, set_up, test_machine, tear_down);
    g_test_add("/plan-page/replanned", Fixture, NULL, set_up, test_replanned, tear_down);
    g_test_add("/plan-page/several", Fixture, NULL, set_up, test_several, tear_down);
    g_test_add("/plan-page/batches", Fixture, NULL, set_up, test_batches, tear_down);
    g_test_add_func("/plan-page/parts", test_parts);
    g_test_add_func("/plan-page/titles", test_titles);
    g_test_add("/plan-page/drawn", Fixture, NULL, set_up, test_drawn, tear_down);
    return g_test_run();
}
