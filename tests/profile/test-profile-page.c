#include <math.h>
#include <string.h>

#include <document/document.h>
#include <kernel/kernel.h>
#include <profile/figures.h>
#include <profile/profile-page-private.h>
#include <profile/profile.h>

#include "document/document-check.h"
#include "document/golden.h"
#include "document/summary-line.h"

/* Four devices: two measured (one with nodes and books), one failed, one whose runtime is missing. */
typedef struct
{
    IfmCase *cases[3];
    IfmMeasurement *measurements[3];
    IfmResult results[4];
} Fixture;

static IfmCase *make_case(const char *device)
{
    IfmCase *made = ifm_case_new();
    ifm_record_set_text(&made->subject_kind, "model");
    ifm_record_set_text(&made->subject_name, "squeezenet");
    ifm_record_set_text(&made->device, device);
    ifm_record_set_json(&made->sizes, json_pack("{s:i}", "N", 8));
    ifm_record_set_json(&made->options, json_pack("{s:s}", "dtype", "f32"));
    ifm_case_seal(made);
    return made;
}

static IfmMeasurement *make_measurement(const IfmCase *of, const char *uid)
{
    IfmMeasurement *made = ifm_measurement_new();
    ifm_record_set_text(&made->uid, uid);
    ifm_record_set_text(&made->case_key, of->key);
    made->started_unix_ms = G_GINT64_CONSTANT(1700000000000);
    return made;
}

static void measure(IfmMeasurement *made, double median_ns, int n, gboolean with_p99)
{
    static const gint64 samples[] = { 5, 6, 7 };
    ifm_record_set_text(&made->stop_reason, "interval");
    g_array_append_vals(made->samples_ns, samples, G_N_ELEMENTS(samples));
    g_array_append_vals(made->warmup_ns, samples, 1);
    ifm_measurement_set_summary(made, &(IfmSummary){ .n = (gsize)n,
                                                     .mean = median_ns * 1.01,
                                                     .std = median_ns * 0.02,
                                                     .min = median_ns * 0.97,
                                                     .max = median_ns * 1.4,
                                                     .median = median_ns,
                                                     .p90 = median_ns * 1.1,
                                                     .p95 = median_ns * 1.2,
                                                     .p99 = with_p99 ? median_ns * 1.3 : (double)NAN,
                                                     .median_interval = { median_ns * 0.99, median_ns * 1.01, 0.95 },
                                                     .n_effective = NAN,
                                                     .drift_ratio = NAN,
                                                     .drift_p = NAN,
                                                     .n_outliers = 2 });
    ifm_record_set_json(&made->verification, json_pack("{s:s,s:s}", "status", "passed", "reference", "onnxruntime:CPU"));
}

static void add_node(IfmMeasurement *made, const char *name, const char *op_type, double median_ns)
{
    IfmNodeRow *node = g_new0(IfmNodeRow, 1);
    node->name = g_strdup(name);
    node->op_type = g_strdup(op_type);
    node->provider = g_strdup("CPU");
    node->implementation = g_strdup("");
    node->dtype = g_strdup("f32");
    node->median_ns = median_ns;
    node->start_ns = NAN;
    g_ptr_array_add(made->nodes, node);
}

static void add_breakdown(IfmMeasurement *made, int residual_ns)
{
    ifm_record_set_json(&made->breakdown,
                        json_pack("{s:s,s:s,s:i,s:i,s:i,s:i,s:n,s:i,s:f,s:{s:f,s:f,s:f}}", "status", "measured", "of",
                                  "the profiled run of median wall time", "n_runs", 30, "wall_ns", 2500000, "nodes_ns",
                                  2400000, "copies_ns", 60000, "gaps_ns", "residual_ns", residual_ns, "residual_bound_ns",
                                  66000.0, "slowdown", "ratio", 1.0625, "lower", 1.0, "upper", 1.125));
}

static void set_up(Fixture *fixture, gconstpointer data)
{
    static const char *const devices[] = { "onnxruntime:CPU@0", "openvino:CPU@1", "simulated:meteor-lake/NPU" };
    for (int i = 0; i < 3; i++)
    {
        fixture->cases[i] = make_case(devices[i]);
        fixture->measurements[i] = make_measurement(fixture->cases[i], (const char *[]){ "uid-0", "uid-1", "uid-2" }[i]);
        fixture->results[i] = (IfmResult){ .device = devices[i],
                                           .alias = i == 2 ? "NPU" : NULL,
                                           .subject_case = fixture->cases[i],
                                           .measurement = fixture->measurements[i] };
    }
    measure(fixture->measurements[0], 2345678, 412, TRUE);
    measure(fixture->measurements[1], 1234567, 24, FALSE);
    add_node(fixture->measurements[0], "fire2/relu", "Relu", 100000);
    add_node(fixture->measurements[0], "conv10", "Conv", 900000);
    add_node(fixture->measurements[0], "pool1", "MaxPool", 400000);
    add_node(fixture->measurements[0], "conv\033[2J1", "Conv", 600000);
    add_breakdown(fixture->measurements[0], 40000);
    ifm_record_set_json(&fixture->measurements[0]->environment,
                        json_pack("{s:[s,s]}", "warnings", "a debug build", "the latency drifts"));
    json_object_update_new(
        fixture->measurements[0]->environment,
        json_pack("{s:{s:i,s:b},s:i}", "compile", "time_ns", 12345678, "from_cache", 1, "first_inference_ns", 4100000));
    ifm_record_set_json(&fixture->measurements[0]->memory, json_pack("{s:{s:i,s:i}}", "process", "growth_compile_bytes",
                                                                     64 << 20, "growth_runs_bytes", 24 << 20));
    ifm_record_set_json(&fixture->measurements[1]->environment, json_pack("{s:[s]}", "warnings", "a debug build"));
    fixture->measurements[2]->outcome = IFM_OUTCOME_FAILED;
    ifm_record_set_text(&fixture->measurements[2]->error_code, "lost");
    ifm_record_set_text(&fixture->measurements[2]->reason, "the device was lost after 12 runs");
    fixture->results[3] = (IfmResult){ .device = "openvino:GPU", .code = "unavailable", .reason = "no such device" };
}

static void tear_down(Fixture *fixture, gconstpointer data)
{
    for (int i = 0; i < 3; i++)
    {
        ifm_case_free(fixture->cases[i]);
        ifm_measurement_free(fixture->measurements[i]);
    }
}

/* The page of the first @n devices, of nothing but what was measured. */
static char *page_of(const Fixture *fixture, gsize n, gsize n_layers, int width, gboolean utf8)
{
    IfmProfileDevice devices[4] = { 0 };
    for (gsize i = 0; i < n; i++)
        devices[i].result = fixture->results[i];
    IfmProfileReport report = { .parts = IFM_PROFILE_ALL, .devices = devices, .n_devices = n, .n_layers = n_layers };
    return ifm_document_show(ifm_profile_document(&report), &(IfmScreen){ .width = width, .utf8 = utf8 });
}

static void test_screen(Fixture *fixture, gconstpointer data)
{
    g_autofree char *page = page_of(fixture, 4, 2, 100, TRUE);
    check_golden("profile.txt", page);
    g_assert_null(strchr(page, '\033'));
    g_autofree char *wide = page_of(fixture, 4, 15, 200, FALSE);
    check_golden("profile-wide-ascii.txt", wide);
    g_assert_true(g_str_is_ascii(wide));
}

/* What rounds of the devices came to; @least: of the second device's time over the leader's, the first's. */
static json_t *rounds_of(const char *verdict, const char *stopped, int n_rounds, int n_led, double least)
{
    return json_pack("{s:s,s:s,s:i,s:i,s:i,s:[{s:s,s:f,s:f,s:f},{s:s,s:f,s:f,s:f}],s:[s]}", "verdict", verdict, "stopped",
                     stopped, "leader", 0, "n_rounds", n_rounds, "n_led", n_led, "sides", "name", "CPU", "ratio", 1.0,
                     "least_ratio", 1.0, "most_ratio", 1.0, "name", "GPU", "ratio", 1.1, "least_ratio", least, "most_ratio",
                     1.25, "notes", "others were busy");
}

/* One device, several that fail, none, and the passes of a training with and without rounds. */
static void test_verdicts(Fixture *fixture, gconstpointer data)
{
    IfmProfileDevice devices[2] = { { .result = fixture->results[0] }, { .result = fixture->results[3] } };
    IfmProfileReport report = { .parts = IFM_PROFILE_RUNTIME, .devices = devices, .n_devices = 1, .source = "m.onnx" };
    g_autofree char *one = summary_line(ifm_profile_document(&report));
    assert_line(one, (const char *const[]){ "An inference takes 2.35 ms on onnxruntime:CPU@0 | 2.32 to 2.37 ms with 95 % "
                                            "confidence, 426 a second, one at a time",
                                            NULL });
    devices[0].result = fixture->results[2];
    g_autofree char *lost = summary_line(ifm_profile_document(&report));
    assert_line(lost, (const char *const[]){ "NPU gave no latency: ", "lost", NULL });
    report.n_devices = 2;
    g_autofree char *all_lost = summary_line(ifm_profile_document(&report));
    assert_line(all_lost, (const char *const[]){ "NPU gave no latency: nor did any other device", NULL });
    /* forward on its own took 1.23 ms, the training pass 2.35 ms */
    IfmProfileDevice forward_device = { .result = fixture->results[1] };
    devices[0].result = fixture->results[0];
    forward_device.result.device = devices[0].result.device;
    report.n_devices = 1;
    const IfmProfileReport forward = { .parts = IFM_PROFILE_RUNTIME, .devices = &forward_device, .n_devices = 1 };
    IfmProfileMode mode = { .asked = IFM_PASS_TRAINING,
                            .passes = { [IFM_PASS_FORWARD] = &forward, [IFM_PASS_TRAINING] = &report },
                            .loss = "mse" };
    report.mode = &mode;
    g_autofree char *training = summary_line(ifm_profile_document(&report));
    assert_line(training, (const char *const[]){
                              "A training pass takes 2.35 ms on onnxruntime:CPU@0 | forward 53 % (1.23 ms, 1.22 to "
                              "1.25 ms), backward 47 % (1.11 ms, ",
                              "care each pass was measured by itself", NULL });
    devices[0].result.measurement = fixture->measurements[1];
    forward_device.result.measurement = fixture->measurements[0];
    g_autofree char *impossible = summary_line(ifm_profile_document(&report));
    assert_line(impossible,
                (const char *const[]){ "; this is not to be trusted",
                                       "the training pass takes 1.11 ms less than the forward alone: they do not add up",
                                       "bad the training pass took less time than the forward, a part of it", NULL });
}

/* "fastest" is said of one that leads all of enough rounds, and of no other; what disturbed them stands beside it. */
static void test_headline(Fixture *fixture, gconstpointer data)
{
    static const struct
    {
        const char *verdict, *stopped;
        int n_rounds, n_led;
        double least;
        const char *wanted[3];
    } cases[] = {
        { "fastest",
          "rounds",
          6,
          6,
          1.05,
          { "CPU is the fastest: GPU took 1.10 times its time | ",
            "GPU takes 1.05 to 1.25 times the time of CPU in 6 rounds" } },
        { "not told apart", "another led", 3, 2, 0.9, { "CPU and GPU are not told apart | ", "of which CPU led 2 | " } },
        { "led all", "time-budget", 3, 3, 1.05, { "CPU and GPU are not told apart | ", "compare" } },
    };
    IfmProfileDevice devices[2] = { 0 };
    for (gsize i = 0; i < 2; i++)
        devices[i].result = fixture->results[i];
    IfmProfileReport report = { .parts = IFM_PROFILE_RUNTIME, .devices = devices, .n_devices = 2, .source = "m.onnx" };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(IfmMeasurement) rounds = ifm_measurement_new();
        ifm_record_set_json(&rounds->result, json_pack("{s:o}", "rounds",
                                                       rounds_of(cases[i].verdict, cases[i].stopped, cases[i].n_rounds,
                                                                 cases[i].n_led, cases[i].least)));
        report.rounds = rounds;
        g_autofree char *line = summary_line(ifm_profile_document(&report));
        assert_line(line, cases[i].wanted);
        assert_line(line, (const char *const[]){ "care in the rounds: others were busy;",
                                                 i == 0 ? "!compare m.onnx" : "compare m.onnx", NULL });
        json_auto_t *json = ifm_profile_to_json(&report);
        g_assert_cmpstr(json_string_value(json_object_get(json_object_get(json, "rounds"), "verdict")), ==,
                        cases[i].verdict);
    }
    report.rounds = NULL; /* one process of each: two intervals that do not overlap prove nothing */
    report.why_not_rounds = "CPU: lost";
    g_autofree char *line = summary_line(ifm_profile_document(&report));
    assert_line(line, (const char *const[]){
                          "!fastest", "in this run, which does not tell them apart | ", "by one process of each",
                          "unchecked the devices were not compared in rounds of fresh processes: CPU: lost;", NULL });
    for (gsize i = 0; i < 4; i++) /* that it led, or that none did, is said as long as nothing speaks against it */
    {
        g_autoptr(IfmMeasurement) rounds = ifm_measurement_new();
        ifm_record_set_json(&rounds->result,
                            json_pack("{s:o}", "rounds",
                                      rounds_of(i < 2 ? "fastest" : "not told apart", "rounds", 6, i < 2 ? 6 : 4, 1.05)));
        report.rounds = rounds;
        ifm_measurement_set_summary(fixture->measurements[0],
                                    &(IfmSummary){ .n = 40, .median = 1e6, .drifting = i % 2 > 0, .drift_ratio = 0.3 });
        g_autoptr(IfmDocument) document = ifm_profile_document(&report);
        g_assert_cmpstr(document->summary->trust, ==,
                        i == 0   ? "it led all 6 rounds"
                        : i == 2 ? "only a device that leads all of 6 rounds is called the fastest"
                                 : NULL);
    }
}

/* Where processes took turns, all figures that are compared are of them, whatever the first process of each took. */
static void test_one_source(Fixture *fixture, gconstpointer data)
{
    IfmProfileDevice devices[2] = { { .result = fixture->results[0] }, { .result = fixture->results[1] } };
    devices[0].result.alias = "CPU";
    devices[1].result.alias = "GPU";
    IfmProfileReport report = { .parts = IFM_PROFILE_RUNTIME, .devices = devices, .n_devices = 2, .source = "m.onnx" };
    json_t *json = rounds_of("fastest", "rounds", 6, 6, 1.05), *list = json_array();
    for (int round = 0; round < 6; round++) /* the first process of CPU took 2.35 ms, that of GPU 1.23 ms */
        json_array_append_new(list, json_pack("{s:[f,f]}", "median_ns", 1.5e6 + round * 1e4, 1.65e6 + round * 1e4));
    json_object_set_new(json, "rounds", list);
    json_object_set_new(json, "level", json_real(0.95));
    g_autoptr(IfmMeasurement) rounds = ifm_measurement_new();
    ifm_record_set_json(&rounds->result, json_pack("{s:o}", "rounds", json));
    report.rounds = rounds;
    g_assert_true(ifm_profile_fastest(&report) == &devices[0]);
    g_autofree char *line = summary_line(ifm_profile_document(&report));
    assert_line(line, (const char *const[]){ "CPU is the fastest", "1.52 ms and 1.68 ms an inference;",
                                             "CPU, latency 1.52 ms 1.50 to 1.55 ms", "GPU, latency 1.68 ms", "!2.35 ms",
                                             "!1.23 ms", NULL });
    g_autofree char *page = ifm_document_show(ifm_profile_document(&report), &(IfmScreen){ .width = 120, .utf8 = TRUE });
    assert_line(page, (const char *const[]){ "median  range, 95 % interval", "first process", "its runs", " 1.52 ms  ",
                                             " 2.35 ms  ", "of each device's first process", NULL });
    report.rounds = NULL;
    g_assert_true(ifm_profile_fastest(&report) == &devices[1]);
    g_autofree char *alone = ifm_document_show(ifm_profile_document(&report), &(IfmScreen){ .width = 120, .utf8 = TRUE });
    assert_line(alone, (const char *const[]){ "median  range, 95 % interval", "!first process", " 2.35 ms  ", NULL });
    report.interrupted = TRUE;
    g_autofree char *so_far = summary_line(ifm_profile_document(&report));
    assert_line(so_far, (const char *const[]){ "So far: GPU took less time than CPU in this run", NULL });
}

/* A step that takes less than its passes is drawn whole, and is not said to be their sum. */
static void test_apart(Fixture *fixture, gconstpointer data)
{
    for (int apart = 0; apart < 2; apart++)
    {
        IfmProfileDevice whole = { .result = fixture->results[1 - apart] }, part = { .result = fixture->results[apart] };
        whole.result.alias = part.result.alias = "CPU";
        part.result.device = whole.result.device;
        IfmProfileReport report = { .parts = IFM_PROFILE_RUNTIME, .devices = &whole, .n_devices = 1 };
        const IfmProfileReport forward = { .parts = IFM_PROFILE_RUNTIME, .devices = &part, .n_devices = 1 };
        IfmProfileMode mode = { .asked = IFM_PASS_TRAINING,
                                .passes = { [IFM_PASS_FORWARD] = &forward, [IFM_PASS_TRAINING] = &report },
                                .loss = "mse" };
        whole.result.measurement = fixture->measurements[apart];
        part.result.measurement = fixture->measurements[1 - apart];
        report.mode = &mode;
        g_autoptr(IfmDocument) document = ifm_profile_document(&report);
        const IfmFigure *figure = &check_document(document, "pass-times")->figure;
        g_assert_true((strstr(figure->sentence, "which add up to the training pass") != NULL) == (apart == 0));
        g_assert_true((strstr(figure->sentence, "the passes do not add up") != NULL) == (apart == 1));
        g_assert_true((strstr(figure->title, "do not add up") != NULL) == (apart == 1));
        g_assert_cmpuint(figure->series->len, ==, apart == 0 ? 2 : 1);
    }
}

/* A kernel that is faster than the measured peak allows is said with its number, and what could not be checked, too. */
static void test_kernels(Fixture *fixture, gconstpointer data)
{
    static const struct
    {
        double attained[3];
        gboolean has_peak;
        const char *wanted;
    } cases[] = {
        { { 0.9, 1.04, 0.2 }, TRUE, "good no kernel of B is faster than the measured peak allows;" },
        { { 0.9, 1.06, NAN },
          TRUE,
          "care kernels of B are implausible: 1 of 2 is faster than the measured peak allows, conv10 reaches 106 % of "
          "it;" },
        { { 1.2, 1.06, 3 },
          TRUE,
          "care kernels of B are implausible: 3 of 3 are faster than the measured peak allows, pool1 reaches 300 % of "
          "it;" },
        { { NAN, NAN, NAN }, TRUE, "unchecked kernels of B were not held against a peak: their work is not known;" },
        { { NAN, NAN, NAN }, FALSE, "unchecked kernels of B were not held against a peak: none was measured;" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        IfmKernel kernels[3] = { 0 };
        g_autoptr(IfmMeasurement) peak = ifm_measurement_new();
        g_autoptr(GPtrArray) rows = g_ptr_array_new();
        ifm_record_set_json(&peak->result, json_pack("{s:f,s:f}", "flop_per_s", 1e9, "bytes_per_s", 1e9));
        for (gsize k = 0; k < G_N_ELEMENTS(kernels); k++)
        {
            kernels[k].node = fixture->measurements[0]->nodes->pdata[k];
            kernels[k].place.attained = cases[i].attained[k];
            g_ptr_array_add(rows, &kernels[k]);
        }
        IfmDocument *document = ifm_document_new("profile", "title");
        ifm_document_verdict(document, "A verdict");
        ifm_profile_check_kernels(document, &(IfmKernels){ .rows = rows }, cases[i].has_peak ? peak : NULL, "B");
        g_autofree char *line = summary_line(document);
        assert_line(line, (const char *const[]){ cases[i].wanted, NULL });
    }
    IfmDocument *none = ifm_document_new("profile", "title");
    ifm_document_verdict(none, "A verdict");
    ifm_profile_check_kernels(none, NULL, NULL, NULL);
    g_autofree char *line = summary_line(none);
    assert_line(line, (const char *const[]){ "!kernel", NULL });
}

/* What the terminal has no room for is there as data: each device's time with its interval, and what a run was spent on. */
static void test_document(Fixture *fixture, gconstpointer data)
{
    IfmProfileDevice devices[4] = { 0 };
    for (gsize i = 0; i < 4; i++)
        devices[i].result = fixture->results[i];
    const IfmProfileReport report = { .parts = IFM_PROFILE_ALL, .devices = devices, .n_devices = 4, .n_layers = 2 };
    g_autoptr(IfmDocument) document = ifm_profile_document(&report);
    const IfmFigure *times = &check_document(document, "times")->figure;
    g_assert_cmpint(times->kind, ==, IFM_FIGURE_STRIPS);
    const GArray *points = ((const IfmSeries *)times->series->pdata[0])->points;
    g_assert_cmpuint(times->series->len, ==, 2); /* the others have no time */
    const IfmPoint *first = &g_array_index(points, IfmPoint, 0);
    g_assert_cmpstr(first->label, ==, "onnxruntime:CPU@0");
    g_assert_cmpfloat(first->y, ==, 2345678);
    g_assert_true(first->min <= first->lower && first->lower <= first->y && first->y <= first->upper);
    const IfmFigure *breakdown = &check_document(document, "breakdown")->figure;
    double sum_ns = 0;
    for (guint s = 0; s < breakdown->series->len; s++)
    {
        points = ((const IfmSeries *)breakdown->series->pdata[s])->points;
        for (guint i = 0; i < points->len; i++)
            sum_ns += g_array_index(points, IfmPoint, i).y;
    }
    g_assert_cmpfloat(sum_ns, ==, 2500000);                                          /* the wall time */
    g_assert_cmpuint(check_document(document, "kernels-1")->table.n_records, ==, 3); /* two, and the others together */
}

/* What is said of profiling's cost follows from the interval of its ratio; a resolution is said where it is known. */
static void test_slowdown(Fixture *fixture, gconstpointer data)
{
    static const struct
    {
        double lower, upper;
        const char *line;
    } cases[] = {
        { 1.0, 1.04, "(1.00 to 1.04) times as long\n" },
        { 1.0, 1.5, "(1.00 to 1.50) times as long: too unsure to say what profiling costs\n" },
        { 1.5, 2.5,
          "(1.50 to 2.50) times as long: the kernels' times include the cost of profiling, short kernels most of all\n" },
    };
    json_t *breakdown = fixture->measurements[0]->breakdown;
    json_object_set_new(breakdown, "resolution_ns", json_integer(1000));
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        json_object_set_new(breakdown, "slowdown",
                            json_pack("{s:f,s:f,s:f}", "ratio", 1.25, "lower", cases[i].lower, "upper", cases[i].upper));
        g_autofree char *page = page_of(fixture, 1, 2, IFM_SCREEN_UNBOUNDED, FALSE);
        g_assert_nonnull(strstr(page, cases[i].line));
        g_assert_nonnull(strstr(page, "kernels by median, which sum to 2.00 ms\n"));
        g_assert_nonnull(strstr(page, "\neach kernel's time is known to within 1.00 us\n"));
    }
}

/* Where a runtime tells means alone, that is what the page says. */
static void test_means(Fixture *fixture, gconstpointer data)
{
    IfmMeasurement *measurement = fixture->measurements[0];
    json_object_set_new(measurement->breakdown, "of", json_string("the mean of the profiled runs"));
    g_autofree char *page = page_of(fixture, 1, 2, IFM_SCREEN_UNBOUNDED, FALSE);
    g_assert_nonnull(strstr(page, "kernels by mean, which sum to 2.00 ms\n"));
    g_assert_nonnull(strstr(page, "  mean   share "));
    g_assert_nonnull(strstr(page, "\ntime breakdown, mean of 30 profiled runs: wall 2.50 ms = nodes 2.40 ms"));
}

/* No line is wider than the screen, and what has a device's name has all of it. */
static void test_widths(Fixture *fixture, gconstpointer data)
{
    add_breakdown(fixture->measurements[0], 40000);
    for (int width = 60; width <= 130; width += 7)
    {
        g_autofree char *page = page_of(fixture, 4, 2, width, TRUE);
        g_autofree char *records =
            ifm_document_show(ifm_records_document(fixture->results, 3), &(IfmScreen){ .width = width, .utf8 = TRUE });
        for (int i = 0; i < 2; i++)
        {
            g_auto(GStrv) lines = g_strsplit(i == 0 ? page : records, "\n", -1);
            for (char **line = lines; *line != NULL; line++)
                g_assert_cmpint(ifm_text_width(*line), <=, width);
        }
        g_assert_nonnull(strstr(page, "NPU=simulated:meteor-lake/NPU"));
        g_assert_nonnull(strstr(records, "simulated:meteor-lake/NPU"));
    }
}

/* A store's reasons stand below its table, each once; what is the same everywhere is told once above it. */
static void test_records(Fixture *fixture, gconstpointer data)
{
    IfmResult results[4] = { fixture->results[0], fixture->results[1], fixture->results[2], fixture->results[2] };
    g_autofree char *page = ifm_document_show(ifm_records_document(results, 4), &(IfmScreen){ .width = 80 });
    g_assert_true(g_str_has_prefix(page, "subject squeezenet, sizes N=8, dtype f32\n\ndevice "));
    g_assert_true(g_str_has_suffix(page, "\n\nNPU: the device was lost after 12 runs (2 times)\n"));
}

/* A residual of over 2 % says why, or that nothing does: never nothing. */
static void assert_residual_says(Fixture *fixture, double call_bound_ns, const char *said)
{
    json_object_set_new(fixture->measurements[0]->breakdown, "call_bound_ns", json_real(call_bound_ns));
    g_autofree char *page = page_of(fixture, 1, 0, 200, FALSE);
    g_autofree char *line = g_strdelimit(g_strdup(page), "\n", ' '); /* it may be wrapped */
    g_autofree char *whole = g_strconcat("the residual is over 2 %", said, NULL);
    g_assert_nonnull(strstr(line, whole));
}

/* A residual beyond its bound is said so, and no nodes are shown where none are asked for. */
static void test_breakdown(Fixture *fixture, gconstpointer data)
{
    add_breakdown(fixture->measurements[0], -70000);
    g_autofree char *page = page_of(fixture, 1, 0, 100, FALSE);
    g_autofree char *line = g_strdelimit(g_strdup(page), "\n", ' '); /* it may be wrapped */
    g_assert_nonnull(strstr(line, "- residual 70.0 us "));
    g_assert_nonnull(strstr(line, "(2.80 %, beyond its bound of 66.0 us)"));
    g_assert_null(strstr(page, "fire2/relu"));
    json_object_set_new(fixture->measurements[0]->breakdown, "why", json_string("no bound is known"));
    g_autofree char *unbounded = page_of(fixture, 1, 0, 200, FALSE);
    g_assert_nonnull(strstr(unbounded, "- residual 70.0 us (2.80 %, no bound)\n"));
    assert_residual_says(fixture, 0, ", and nothing that is measured of this device explains it");
    assert_residual_says(fixture, 90e3, ": a call besides its nodes takes up to 90.0 us, as measured on this device");
    assert_residual_says(fixture, 3e6, ", and what was measured of its causes may take longer than the run itself");
}

static void test_csv(Fixture *fixture, gconstpointer data)
{
    g_autofree char *csv = ifm_results_to_csv(fixture->results, 4), *samples = ifm_samples_to_csv(fixture->results, 4);
    g_auto(GStrv) lines = g_strsplit(csv, "\r\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 6); /* head, four rows, what follows the last line's end */
    guint n_columns = 0;
    for (char **line = lines; **line != '\0'; line++)
    {
        g_auto(GStrv) cells = g_strsplit(*line, ",", -1); /* no cell here holds a comma */
        if (n_columns == 0)
            n_columns = g_strv_length(cells);
        g_assert_cmpuint(g_strv_length(cells), ==, n_columns);
    }
    g_assert_true(g_str_has_prefix(lines[1], "onnxruntime:CPU@0,,squeezenet,N=8,f32,ok,,,2345678,"));
    g_assert_true(g_str_has_prefix(lines[3], "simulated:meteor-lake/NPU,NPU,squeezenet,N=8,f32,failed,lost,"));
    g_assert_true(g_str_has_prefix(lines[4], "openvino:GPU,,,,,failed,unavailable,no such device,,"));
    g_auto(GStrv) rows = g_strsplit(samples, "\r\n", -1);
    g_assert_cmpuint(g_strv_length(rows), ==, 1 + 2 * 4 + 1);
    g_assert_true(g_str_has_suffix(rows[1], ",uid-0,onnxruntime:CPU@0,warmup,0,5"));
    g_assert_true(g_str_has_suffix(rows[8], ",uid-1,openvino:CPU@1,run,2,7"));
}

static void test_json(Fixture *fixture, gconstpointer data)
{
    json_auto_t *json = ifm_results_to_json(fixture->results, 4);
    const json_t *head = json_object_get(json, "inferometer"), *cases = json_object_get(json, "cases");
    g_assert_cmpint(json_integer_value(json_object_get(head, "format_version")), ==, 2);
    g_assert_cmpuint(json_array_size(cases), ==, 4);
    const json_t *first = json_array_get(cases, 0), *missing = json_array_get(cases, 3);
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmMeasurement) back = ifm_measurement_from_json(json_object_get(first, "measurement"), &error);
    g_assert_no_error(error);
    g_assert_cmpuint(back->samples_ns->len, ==, 3);
    g_assert_cmpuint(back->nodes->len, ==, 4);
    g_autoptr(IfmCase) back_case = ifm_case_from_json(json_object_get(first, "case"), &error);
    g_assert_no_error(error);
    g_assert_cmpstr(back_case->key, ==, fixture->cases[0]->key);
    g_assert_true(json_is_null(json_object_get(missing, "measurement")));
    g_assert_cmpstr(json_string_value(json_object_get(missing, "error_code")), ==, "unavailable");
    g_assert_cmpstr(json_string_value(json_object_get(first, "reason")), ==, ""); /* as in the record */
    g_assert_cmpstr(json_string_value(json_object_get(first, "error_code")), ==, "");
}

static void test_shares(Fixture *fixture, gconstpointer data)
{
    g_autoptr(IfmKernels) kernels = ifm_kernels_new(fixture->measurements[0], NULL, NULL, NULL);
    double sum = 0;
    for (guint i = 0; i < kernels->rows->len; i++)
    {
        const IfmKernel *kernel = kernels->rows->pdata[i];
        sum += kernel->share_ratio;
        if (i > 0)
            g_assert_cmpfloat(kernel->share_ratio, <=, ((const IfmKernel *)kernels->rows->pdata[i - 1])->share_ratio);
    }
    g_assert_cmpfloat_with_epsilon(sum, 1, 1e-12);
    g_assert_cmpfloat(kernels->nodes_ns, ==, 2000000);
    const IfmKernel *first = kernels->rows->pdata[0];
    g_assert_cmpstr(first->node->name, ==, "conv10");
    g_assert_cmpfloat(first->share_ratio, ==, 0.45);
    g_assert_false(first->known);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/profile-page/screen", Fixture, NULL, set_up, test_screen, tear_down);
    g_test_add("/profile-page/means", Fixture, NULL, set_up, test_means, tear_down);
    g_test_add("/profile-page/widths", Fixture, NULL, set_up, test_widths, tear_down);
    g_test_add("/profile-page/verdicts", Fixture, NULL, set_up, test_verdicts, tear_down);
    g_test_add("/profile-page/kernels", Fixture, NULL, set_up, test_kernels, tear_down);
    g_test_add("/profile-page/headline", Fixture, NULL, set_up, test_headline, tear_down);
    g_test_add("/profile-page/one-source", Fixture, NULL, set_up, test_one_source, tear_down);
    g_test_add("/profile-page/apart", Fixture, NULL, set_up, test_apart, tear_down);
    g_test_add("/profile-page/document", Fixture, NULL, set_up, test_document, tear_down);
    g_test_add("/profile-page/slowdown", Fixture, NULL, set_up, test_slowdown, tear_down);
    g_test_add("/profile-page/records", Fixture, NULL, set_up, test_records, tear_down);
    g_test_add("/profile-page/time_breakdown", Fixture, NULL, set_up, test_breakdown, tear_down);
    g_test_add("/profile-page/csv", Fixture, NULL, set_up, test_csv, tear_down);
    g_test_add("/profile-page/json", Fixture, NULL, set_up, test_json, tear_down);
    g_test_add("/profile-page/shares", Fixture, NULL, set_up, test_shares, tear_down);
    return g_test_run();
}
