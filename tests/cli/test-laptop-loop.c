#include "cli/study-harness.h"

/*
 * The whole loop on the shipped simulated laptop: measured by a study, planned by its tables, run by the plan, on a virtual
 * clock. Its seeds are fixed: the same figures each time. The sizes are three of its table's, so that what the study looks
 * up between them is what the device does between them.
 */

#define STUDY(cpu, gpu, npu)                                                                                               \
    "title: A laptop\n"                                                                                                    \
    "subject: {model: graphsage, features: 4, hidden: 4}\n"                                                                \
    "sizes:\n"                                                                                                             \
    "  - {nodes: 5000, edges: [25000]}\n"                                                                                  \
    "  - {nodes: 10000, edges: [50000]}\n"                                                                                 \
    "  - {nodes: 20000, edges: [100000]}\n"                                                                                \
    "devices:\n"                                                                                                           \
    "  CPU: {device: simulated:" cpu "}\n"                                                                                 \
    "  GPU: {device: simulated:" gpu "}\n"                                                                                 \
    "  NPU: {device: simulated:" npu "}\n"                                                                                 \
    "protocol: {warmup: 1, runs: 60}\n"                                                                                    \
    "links: {measure: false}\n"
#define SHIPPED STUDY("meteor-lake/CPU", "meteor-lake/GPU", "meteor-lake/NPU")
#define STILL STUDY("still-lake/CPU", "still-lake/GPU", "still-lake/NPU")

static double figure(const json_t *run, const char *key, const char *which)
{
    gsize i;
    json_t *row;
    json_array_foreach(json_object_get(run, "figures"), i, row)
    {
        if (g_str_equal(text_of(row, "figure"), key))
            return json_number_value(json_object_get(row, which));
    }
    g_error("no figure %s", key);
}

static void check_close(const json_t *run, double tolerance)
{
    static const char *const figures[] = { "makespan", "throughput" };
    for (gsize i = 0; i < G_N_ELEMENTS(figures); i++)
    {
        double predicted = figure(run, figures[i], "predicted"), measured = figure(run, figures[i], "measured");
        g_test_message("%s: predicted %g, measured %g", figures[i], predicted, measured);
        g_assert_cmpfloat(predicted, >, 0);
        g_assert_cmpfloat_with_epsilon(measured / predicted, 1, tolerance);
    }
}

static void run_and_check(const Bench *bench, const char *options, double tolerance)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *line = g_strdup_printf("run ./out -q --batches 100 --repetitions 1 --json - %s", options);
    run_line(bench, line, &ended);
    assert_status(&ended, 0);
    json_auto_t *json = parse_output(&ended);
    const json_t *run = json_array_get(json_object_get(json, "runs"), 0);
    g_test_message("%s: %s", options, text_of(run, "title"));
    check_close(run, tolerance);
}

static void measure(const Bench *bench, const char *study)
{
    g_auto(Ended) ended = { 0 };
    write_text(bench, "laptop.yaml", study);
    run_line(bench, "study run ./laptop.yaml -q -o out", &ended);
    assert_status(&ended, 1);
    /* the NPU refuses stages 3 and 4, and stage 2 is marked in the published table: 3 sizes each */
    g_assert_nonnull(strstr(ended.err, "9 of 63 cases have no latency"));
}

/* Latencies scatter as published, by a fifth at these sizes, to one side more than to the other: a run goes by their mean
 * where the study has the median, and of two devices the later one counts. */
static void test_shipped(Bench *bench, gconstpointer data)
{
    measure(bench, SHIPPED);
    run_and_check(bench, "--size 20000,100000 --objective throughput", 0.1);
    run_and_check(bench, "--size 20000,100000 --objective latency", 0.1);
    run_and_check(bench, "--size 10000,50000 --use CPU", 0.1);
    run_and_check(bench, "--size 10000,50000 --use GPU", 0.1);
}

/* The same without scatter: nothing is left between predicted and measured but rounding, and what the host does. */
static void test_still(Bench *bench, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *shipped = g_build_filename(g_getenv("IFM_DATA_DIR"), "devices", "meteor-lake.yaml", NULL),
                    *text = NULL;
    g_autofree char *tables = g_build_filename(g_getenv("IFM_DATA_DIR"), "data", NULL);
    g_autofree char *copy = bench_path(bench, "still-lake.yaml");
    g_file_get_contents(shipped, &text, NULL, &error);
    g_assert_no_error(error);
    g_autoptr(GString) still = g_string_new(text);
    g_assert_cmpuint(g_string_replace(still, "noise: {kind: lognormal, from_table: true}", "noise: {kind: none}", 0), ==,
                     3);
    g_string_replace(still, "../data", tables, 0);
    g_assert_true(g_file_set_contents(copy, still->str, -1, NULL));
    bench->devices = bench->folder;
    measure(bench, STILL);
    run_and_check(bench, "--size 20000,100000 --objective throughput", 0.01);
    run_and_check(bench, "--size 20000,100000 --objective latency", 0.01);
    run_and_check(bench, "--size 10000,50000 --use CPU", 0.01);
    /* parts cost their own nodes and edges, however many ghosts they need */
    run_and_check(bench, "--size 20000,100000 --use CPU --partitions 3", 0.03);
    run_and_check(bench, "--size 20000,100000 --use CPU --use GPU --partitions 2", 0.03);
    /* a block a device, at the sizes that were measured: exact, but for the first batch's way in and the last one's out */
    write_text(bench, "plan.json", "[[[\"CPU\"],[1,2],[1]],[[\"GPU\"],[3,4],[1]],[[\"NPU\"],[5,6,7],[1]]]");
    run_and_check(bench, "--size 5000,25000 --plan plan.json", 0.01);
    run_and_check(bench, "--size 20000,100000 --plan plan.json", 0.01);
    /* a part's ghosts have to fit into the NPU's model, too, which is what takes longest then */
    run_and_check(bench, "--size 10000,50000 --plan plan.json --partitions 3", 0.03);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/laptop-loop/shipped", Bench, NULL, bench_init, test_shipped, bench_clear);
    g_test_add("/laptop-loop/still", Bench, NULL, bench_init, test_still, bench_clear);
    return g_test_run();
}
