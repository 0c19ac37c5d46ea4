#include <math.h>

#include <base/fields.h>

#include "cli/harness.h"

/* What `inferometer compare` says and leaves behind, on simulated devices whose latencies are known. */

#define MODEL "zoo:matmul,m=8,k=8,n=8"

static void set_up(Bench *bench, gconstpointer data)
{
    static char *devices;
    bench_init(bench, data);
    if (devices == NULL)
        devices = g_build_filename(g_getenv("IFM_TEST_DATA"), "measure", "devices", NULL);
    bench->devices = devices;
}

static json_t *compare(const Bench *bench, const char *options)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *line =
        g_strdup_printf("compare -q --json - --time-budget 0 --max-pairs 20 --rounds 2 " MODEL " " MODEL " %s", options);
    run_line(bench, line, &ended);
    assert_status(&ended, 0);
    return parse_output(&ended);
}

static const char *verdict_of(const json_t *document)
{
    return json_string_value(json_object_get(json_object_get(document, "comparison"), "verdict"));
}

static double ratio_of(const json_t *document)
{
    return json_number_value(json_object_get(json_object_get(document, "comparison"), "ratio"));
}

static const json_t *side_of(const json_t *document, int side, const char *record)
{
    return json_object_get(json_array_get(json_object_get(document, "sides"), (gsize)side), record);
}

static const char *device_of(const json_t *document, int side)
{
    return json_string_value(json_object_get(side_of(document, side, "case"), "device"));
}

static void test_verdicts(Bench *bench, gconstpointer data)
{
    json_auto_t *same = compare(bench, "-d simulated:compare/BASE");
    json_auto_t *slower = compare(bench, "-d simulated:compare/BASE --b-device simulated:compare/MORE");
    json_auto_t *faster = compare(bench, "--a-device simulated:compare/MORE --b-device simulated:compare/BASE");
    json_auto_t *within = compare(bench, "-d simulated:compare/BASE --b-device simulated:compare/MORE --margin 5%");
    g_assert_cmpstr(verdict_of(same), ==, "same");
    g_assert_cmpstr(verdict_of(slower), ==, "slower");
    g_assert_cmpstr(verdict_of(faster), ==, "faster");
    g_assert_cmpstr(verdict_of(within), ==, "same");
    g_assert_cmpfloat(ratio_of(same), ==, 1);
    g_assert_cmpfloat_with_epsilon(ratio_of(slower), 1.03, 1e-9);
    g_assert_cmpfloat_with_epsilon(ratio_of(faster), 1 / 1.03, 1e-9);
    g_assert_cmpstr(device_of(slower, 0), ==, "simulated:compare/BASE");
    g_assert_cmpstr(device_of(slower, 1), ==, "simulated:compare/MORE");
    g_assert_cmpstr(device_of(faster, 0), ==, "simulated:compare/MORE");
    assert_none_left(bench);
}

/* A build fails by what is sure alone: the whole interval. */
static void test_fail_if(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *options;
        int status;
        const char *part;
    } cases[] = {
        { "--fail-if slower", 1, "B is slower: at least 1.03 times A's time (--fail-if slower:1)" },
        { "--fail-if slower:1.02", 1, "at least 1.03 times" },
        { "--fail-if slower:1.05", 0, NULL },
        { "--fail-if slower:0.5", 2, "--fail-if: \"slower:0.5\" is not slower" },
        { "--fail-if faster", 2, "--fail-if: \"faster\" is not slower" },
    };
    g_auto(Ended) ended = { 0 };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autofree char *line = g_strconcat("compare small-cnn small-cnn -q -d simulated:compare/BASE --b-device "
                                            "simulated:compare/MORE --max-pairs 6 --rounds 2 ",
                                            cases[i].options, NULL);
        run_line(bench, line, &ended);
        assert_status(&ended, cases[i].status);
        if (cases[i].part != NULL)
            g_assert_nonnull(strstr(ended.err, cases[i].part));
    }
    run_line(bench,
             "compare small-cnn small-cnn -q --a-device simulated:compare/RIGHT --b-device simulated:compare/WRONG "
             "--max-pairs 6 --rounds 2 --fail-if slower",
             &ended);
    assert_status(&ended, 1);
    g_assert_nonnull(strstr(ended.err, "B: output probabilities is different: "));
    static const char wrong[] = "compare small-cnn small-cnn -q --a-device simulated:compare/RIGHT --b-device "
                                "simulated:compare/WRONG --max-pairs 6 --rounds 2 --no-verify --document out.json ";
    for (int fails = 0; fails < 2; fails++) /* without the reference each side is held against the other */
    {
        g_autofree char *line = g_strconcat(wrong, fails ? "--fail-if slower:1000" : "--all", NULL),
                        *path = bench_path(bench, "out.json");
        run_line(bench, line, &ended);
        assert_status(&ended, fails ? 1 : 0);
        g_assert_cmpint(strstr(ended.err, "the result is not to be trusted, and shows nothing: measure again (--fail-if "
                                          "slower:1000)") != NULL,
                        ==, fails);
        g_assert_nonnull(strstr(ended.out, "; their outputs differ; this is not to be trusted"));
        json_auto_t *document = json_load_file(path, 0, NULL);
        g_assert_cmpstr(ifm_member_text(document, "summary.trust.level"), ==, "bad");
    }
}

/* What is said for one side is that side's alone, and what is said for both is both's. */
static void test_sides(Bench *bench, gconstpointer data)
{
    json_auto_t *document = compare(bench, "-d simulated:compare/BASE --threads 2 --b-threads 3 --option SEED=5 --b-option "
                                           "NOISE=none");
    const json_t *options[] = { json_object_get(side_of(document, 0, "case"), "options"),
                                json_object_get(side_of(document, 1, "case"), "options") };
    g_assert_cmpint(json_integer_value(json_object_get(options[0], "threads")), ==, 2);
    g_assert_cmpint(json_integer_value(json_object_get(options[1], "threads")), ==, 3);
    g_assert_cmpuint(json_array_size(json_object_get(options[0], "vendor")), ==, 1);
    g_assert_cmpuint(json_array_size(json_object_get(options[1], "vendor")), ==, 2);
}

/* Both sides are in the store, whole, and one can be found from the other. */
static void test_stored(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    json_auto_t *document = compare(bench, "-d simulated:compare/BASE");
    const char *a = json_string_value(json_object_get(side_of(document, 0, "measurement"), "uid"));
    run_line(bench, "store check -q out/compare/store.db", &ended);
    assert_status(&ended, 0);
    run_line(bench, "store export --format json out/compare/store.db", &ended);
    assert_status(&ended, 0);
    json_auto_t *stored = parse_output(&ended);
    const json_t *cases = json_object_get(stored, "cases");
    g_assert_cmpuint(json_array_size(cases), ==, 2);
    gsize n_of_a = 0;
    for (gsize i = 0; i < 2; i++)
    {
        const json_t *measurement = json_object_get(json_array_get(cases, i), "measurement");
        const json_t *compared = json_object_get(measurement, "result");
        gboolean is_a = g_strcmp0(json_string_value(json_object_get(measurement, "uid")), a) == 0;
        n_of_a += is_a;
        g_assert_cmpstr(json_string_value(json_object_get(compared, "side")), ==, is_a ? "A" : "B");
        if (!is_a)
            g_assert_cmpstr(json_string_value(json_object_get(compared, "other")), ==, a);
    }
    g_assert_cmpuint(n_of_a, ==, 1);
}

static void test_different_models(Bench *bench, gconstpointer data)
{
    static const char remark[] = "A and B are different models";
    g_auto(Ended) ended = { 0 };
    run_line(bench, "compare matmul small-cnn -d simulated:ideal/GPU --max-pairs 6 --rounds 2", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.err, remark));
    run_line(bench, "compare matmul matmul -d simulated:ideal/GPU --max-pairs 6 --rounds 2", &ended);
    assert_status(&ended, 0);
    g_assert_null(strstr(ended.err, remark));
}

static void test_page(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench,
             "compare " MODEL " " MODEL " -d simulated:compare/BASE --b-device simulated:compare/MORE --time-budget 0 "
             "--max-pairs 20 --rounds 2 --csv rounds.csv",
             &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "\nB is 3.000 % slower than A [3.000, 3.000]\n"));
    g_assert_nonnull(strstr(ended.out, "1.00 ms"));
    g_assert_nonnull(strstr(ended.out, "1.03 ms"));
    g_assert_nonnull(strstr(ended.out, "8 pairs of processes, 16 rounds"));
    g_autofree char *path = bench_path(bench, "rounds.csv");
    g_autofree char *csv = NULL;
    g_assert_true(g_file_get_contents(path, &csv, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(csv, "\r\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 18);
    run_line(bench, "compare " MODEL " " MODEL " -d simulated:compare/BASE --time-budget 0 --max-pairs 20 --rounds 2",
             &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.err, "A and B are one and the same: what differs is chance"));
}

/* What there is by then is told, and that it is not all. Tried again, longer each time, where no pair was whole yet. */
static void test_interrupted(Bench *bench, gconstpointer data)
{
    gboolean reported = FALSE;
    for (gulong wait_us = 250000; !reported && wait_us < 60000000; wait_us *= 2)
    {
        g_autofree char *out = NULL, *err = NULL;
        g_autoptr(GSubprocess) process =
            start_line(bench, "compare " MODEL " " MODEL " -d simulated:compare/NOISY --margin 0% --time-budget 0 "
                              "--max-pairs 1000 --rounds 2");
        g_usleep(wait_us);
        g_subprocess_send_signal(process, SIGINT);
        g_assert_true(g_subprocess_communicate_utf8(process, NULL, NULL, &out, &err, NULL));
        g_test_message("%s", err);
        g_assert_cmpint(status_of(process), ==, 128 + SIGINT);
        reported = strstr(out, "pairs of processes, ") != NULL || strstr(out, "pair of processes, ") != NULL;
        g_assert_cmpint(strstr(err, "interrupted: this is what ") != NULL, ==, reported);
        g_assert_cmpint(strstr(err, "interrupted before there was a result") != NULL, ==, !reported);
    }
    g_assert_true(reported);
    assert_none_left(bench);
}

static void test_wrong(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *options;
        int status;
        const char *said;
    } rows[] = {
        { MODEL, 2, "needs" },
        { MODEL " " MODEL " --b-dtype f33", 2, "--b-dtype" },
        { MODEL " " MODEL " --margin 2", 2, "--margin" },
        { MODEL " " MODEL " --max-pairs 1", 2, "from 2" },
        { MODEL " " MODEL " --json - --csv -", 2, "standard output" },
        { MODEL " " MODEL " --a-dim N=1", 3, "A: " },
        { "zoo:nothing " MODEL, 3, "A: " },
        { MODEL " nothing.onnx", 4, "B: nothing.onnx" },
        { MODEL " " MODEL " --b-device nothing:CPU", 3, "--b-device nothing:CPU: unknown engine" },
        { MODEL " " MODEL " -d simulated:compare/BASE --b-device simulated:compare/NOBODY", 4, "B: " },
        { MODEL " " MODEL " -d simulated:compare/BASE --a-runtime x.so", 3, "A: " },
        { MODEL " " MODEL " -d simulated:compare/BASE --b-device simulated:compare/REFUSES", 1, "B: " },
        { MODEL " " MODEL " -d simulated:compare/BASE --b-device simulated:compare/CRASHES --time-budget 0 --rounds 8", 1,
          "B: worker ended by" },
    };
    for (gsize row = 0; row < G_N_ELEMENTS(rows); row++)
    {
        g_auto(Ended) ended = { 0 };
        g_autofree char *line = g_strdup_printf("compare -q %s", rows[row].options);
        run_line(bench, line, &ended);
        g_test_message("%s: %d %s", line, ended.status, ended.err);
        g_assert_cmpint(ended.status, ==, rows[row].status);
        g_assert_nonnull(strstr(ended.err, rows[row].said));
        g_assert_cmpstr(ended.out, ==, "");
    }
    assert_none_left(bench);
}

/* The message speaks of what was said on the command line, not of how the worker came to know it. */
static void test_runtime(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    if (!bench_has_device(bench, "onnxruntime:CPU", ""))
    {
        g_test_skip("no ONNX Runtime on this machine");
        return;
    }
    run_line(bench, "compare -q " MODEL " " MODEL " -d onnxruntime:CPU --b-runtime nowhere.so", &ended);
    assert_complaint(&ended, 4, "nowhere.so: ");
    g_assert_nonnull(strstr(ended.err, "B: "));
    g_assert_nonnull(strstr(ended.err, "(set by --b-runtime)"));
    g_assert_null(strstr(ended.err, "IFM_"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/compare-verb/different-models", Bench, NULL, bench_init, test_different_models, bench_clear);
    g_test_add("/compare-verb/verdicts", Bench, NULL, set_up, test_verdicts, bench_clear);
    g_test_add("/compare-verb/fail-if", Bench, NULL, set_up, test_fail_if, bench_clear);
    g_test_add("/compare-verb/sides", Bench, NULL, set_up, test_sides, bench_clear);
    g_test_add("/compare-verb/stored", Bench, NULL, set_up, test_stored, bench_clear);
    g_test_add("/compare-verb/page", Bench, NULL, set_up, test_page, bench_clear);
    g_test_add("/compare-verb/runtime", Bench, NULL, bench_init, test_runtime, bench_clear);
    g_test_add("/compare-verb/interrupted", Bench, NULL, set_up, test_interrupted, bench_clear);
    g_test_add("/compare-verb/wrong", Bench, NULL, set_up, test_wrong, bench_clear);
    return g_test_run();
}
