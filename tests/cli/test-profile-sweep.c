#include <math.h>

#include <onnx/onnx.h>

#include "cli/harness.h"

/* How a model grows with one of its sizes, where the answer is known: on simulated devices whose time is their FLOP; and
 * what becomes of points that fail, of what is interrupted, and of lists that are none. */

static char *devices_folder;

static void set_up(Bench *bench, gconstpointer data)
{
    bench_init(bench, data);
    bench->devices = devices_folder;
}

static double number_at(const json_t *json, const char *key)
{
    const json_t *found = json_object_get(json, key);
    if (!json_is_number(found))
        g_error("%s is no number", key);
    return json_number_value(found);
}

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        g_error("%.17g is not within %g of %.17g", value, tolerance, expected);
}

/* That a point has no time, and why. */
static void assert_reason(const json_t *point, const char *part)
{
    const char *reason = json_string_value(json_object_get(point, "reason"));
    g_assert_true(json_is_null(json_object_get(point, "median_ns")));
    if (reason == NULL || strstr(reason, part) == NULL)
        g_error("expected a reason with \"%s\", got: %s", part, reason != NULL ? reason : "none");
}

static const json_t *device_at(const json_t *document, size_t row, size_t device)
{
    const json_t *found = json_array_get(json_object_get(document, "scaling"), row);
    return json_array_get(json_object_get(found, "devices"), device);
}

/* x [N, 32] times itself: 2 * 32 * N^2 FLOP. */
static void save_square(const Bench *bench)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = bench_path(bench, "square.onnx");
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("square", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, (gint64[]){ -1, 32 }, (const char *[]){ "N", NULL });
    ifm_model_builder_node(builder, "Transpose", "turn", (const char *[]){ "x", NULL }, (const char *[]){ "t", NULL });
    ifm_model_builder_node(builder, "MatMul", "times", (const char *[]){ "x", "t", NULL }, (const char *[]){ "y", NULL });
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, (gint64[]){ -1, -1 }, (const char *[]){ "N", "N" });
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_model_save(model, path, &error));
}

/* A device that answers at once from some size on: that is no time, and nothing follows from it. */
static void test_implausible(Bench *bench, gconstpointer data)
{
    static const char yaml[] =
        "description: is lost\nprovenance: invented\nunits:\n"
        "  U:\n    description: a unit\n    capabilities: [free-shapes]\n    latency:\n"
        "      source: table\n      table: {files: [lost.csv], axes: [N], latency: us, unit: 1 us}\n";
    static const char table[] = "N,us\n16,100\n32,400\n64,1600\n128,40\n";
    g_auto(Ended) ended = { 0 };
    save_square(bench);
    bench->devices = bench->folder;
    bench_write(bench, "lost.yaml", yaml, strlen(yaml));
    bench_write(bench, "lost.csv", table, strlen(table));
    run_line(bench, "profile square.onnx -q --runs 9 --dim N=16,32,64,128 --json - -d simulated:lost/U", &ended);
    assert_status(&ended, 0);
    json_auto_t *document = parse_output(&ended);
    const json_t *device = device_at(document, 0, 0), *points = json_object_get(device, "points");
    g_assert_true(json_is_null(json_object_get(json_array_get(points, 3), "median_ns")));
    const char *reason = json_string_value(json_object_get(json_array_get(points, 3), "reason"));
    g_assert_nonnull(reason);
    g_assert_true(g_str_has_prefix(reason, "implausible: 40.0 µs, but N 64, which is less work, took 1.60 ms"));
    assert_near(number_at(json_object_get(json_object_get(device, "fits"), "time"), "exponent"), 2, 1e-12);
}

/* --- known exponents -------------------------------------------------------------------------------------------------- */

static void test_square(Bench *bench, gconstpointer data)
{
    static const double sizes[] = { 16, 64, 128, 256 };
    g_auto(Ended) ended = { 0 };
    save_square(bench);
    run_line(bench,
             "profile square.onnx -q --runs 9 --dim N=16,64,128,256 --json - "
             "-d simulated:scaling/ARITHMETIC -d B=simulated:scaling/OVERHEAD",
             &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.err, ==, "");
    json_auto_t *document = parse_output(&ended);
    const json_t *first = device_at(document, 0, 0), *second = device_at(document, 0, 1);
    const json_t *fits = json_object_get(first, "fits"), *time = json_object_get(fits, "time");
    double best = 64.0 * 256 * 256 / (1e6 + 64.0 * 256 * 256);
    assert_near(number_at(time, "exponent"), 2, 1e-12);
    assert_near(number_at(time, "last"), 2, 1e-12);
    assert_near(number_at(json_object_get(time, "interval"), "upper"), 2, 1e-9);
    assert_near(number_at(json_object_get(fits, "flop"), "exponent"), 2, 1e-12);
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
    {
        const json_t *point = json_array_get(json_object_get(first, "points"), i);
        const json_t *slower = json_array_get(json_object_get(second, "points"), i);
        double flop = 64 * sizes[i] * sizes[i];
        g_assert_cmpfloat(number_at(point, "flop"), ==, flop);
        g_assert_cmpfloat(number_at(point, "median_ns"), ==, flop);
        g_assert_cmpfloat(number_at(point, "departure_ratio"), ==, 1);
        g_assert_true(json_is_false(json_object_get(point, "departs")));
        g_assert_cmpfloat(number_at(slower, "median_ns"), ==, 1e6 + flop);
        assert_near(number_at(slower, "departure_ratio"), (1e6 + flop) / flop * best, 1e-9);
        g_assert_cmpint(json_is_true(json_object_get(slower, "departs")), ==, sizes[i] < 200);
    }
    assert_near(number_at(json_object_get(json_object_get(second, "fits"), "time"), "last"),
                log((1e6 + 64.0 * 256 * 256) / (1e6 + 64.0 * 128 * 128)) / log(2), 1e-12);
    g_assert_cmpuint(json_array_size(json_object_get(document, "cases")), ==, 8);
}

/* The same as people see it, with other parts of a profile than one model's; a row a point as CSV. */
static void test_page(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *csv_path = bench_path(bench, "x.csv"), *csv = NULL;
    save_square(bench);
    run_line(bench,
             "profile square.onnx --profile scaling --runs 9 --dim N=16,64,128 --csv x.csv "
             "-d A=simulated:scaling/ARITHMETIC",
             &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "scaling with N  A=simulated:scaling/ARITHMETIC\n"));
    g_assert_nonnull(strstr(ended.out, "\ntime           2.00      2.00 to 2.00   2.00"));
    g_assert_nonnull(strstr(ended.err, "] N 64: A=simulated:scaling/ARITHMETIC  ok\n"));
    g_assert_nonnull(strstr(ended.err, "[3/3] N 128: "));
    g_assert_true(g_file_get_contents(csv_path, &csv, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(csv, "\r\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 5);
    g_assert_true(g_str_has_prefix(lines[2], "N,64,simulated:scaling/ARITHMETIC,A,,,262144,"));
}

/* A size that a model of the zoo is built with, and one that it leaves free. */
static void test_zoo(Bench *bench, gconstpointer data)
{
    static const char *const models[] = { "zoo:matmul,k=32 --dim m=8,16,32", "zoo:matmul,k=32,m=0 --dim M=8,16,32" };
    for (gsize i = 0; i < G_N_ELEMENTS(models); i++)
    {
        g_auto(Ended) ended = { 0 };
        g_autofree char *line =
            g_strdup_printf("profile %s -q --runs 3 -o o%d -d simulated:scaling/ARITHMETIC --json -", models[i], (int)i);
        run_line(bench, line, &ended);
        assert_status(&ended, 0);
        json_auto_t *document = parse_output(&ended);
        const json_t *device = device_at(document, 0, 0);
        assert_near(number_at(json_object_get(json_object_get(device, "fits"), "time"), "exponent"), 1, 1e-12);
        for (size_t at = 0; at < 3; at++)
            g_assert_cmpfloat(number_at(json_array_get(json_object_get(device, "points"), at), "median_ns"), ==,
                              2.0 * 32 * 64 * (8 << at));
    }
}

/* The models' work alone: nothing is run, and no store made. */
static void test_flops(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *store = bench_path(bench, "out/profile/store.db");
    save_square(bench);
    run_line(bench, "profile square.onnx --profile flops --dim N=16,64,128 --json -", &ended);
    assert_status(&ended, 0);
    json_auto_t *document = parse_output(&ended);
    const json_t *device = device_at(document, 0, 0);
    g_assert_true(json_is_null(json_object_get(device, "device")));
    assert_near(number_at(json_object_get(json_object_get(device, "fits"), "flop"), "exponent"), 2, 1e-12);
    g_assert_false(g_file_test(store, G_FILE_TEST_EXISTS));
}

/* So it is with what is varied of a graph transformer: a table of FLOP and memory with their exponents, and no time. */
static void test_flops_of_presets(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *options;
        size_t n;
    } known[] = {
        { "--profile flops --scaling layers --num-nodes 40", 6 },
        { "--profile memory --scaling layers --num-nodes 40", 6 },
        { "--profile flops,memory --scaling heads --num-nodes 40", 4 },
        { "--profile flops --dim num_layers=1,2,4 --num-nodes 40", 3 },
    };
    g_auto(Ended) ended = { 0 };
    g_autofree char *store = bench_path(bench, "out/profile/store.db"), *inputs = bench_path(bench, "out/profile/inputs");
    for (size_t i = 0; i < G_N_ELEMENTS(known); i++)
    {
        g_autofree char *line = g_strdup_printf("profile graph_transformer %s --json -", known[i].options);
        g_test_message("%s", line);
        run_line(bench, line, &ended);
        assert_status(&ended, 0);
        g_assert_cmpstr(ended.err, ==, ""); /* no device is looked for */
        json_auto_t *document = parse_output(&ended);
        const json_t *device = device_at(document, 0, 0), *points = json_object_get(device, "points");
        g_assert_true(json_is_null(json_object_get(device, "device")));
        g_assert_cmpuint(json_array_size(points), ==, known[i].n);
        g_assert_cmpuint(json_array_size(json_object_get(document, "cases")), ==, 0);
        for (size_t at = 0; at < known[i].n; at++)
        {
            const json_t *point = json_array_get(points, at);
            g_assert_cmpfloat(number_at(point, "flop"), >, 0);
            g_assert_cmpfloat(number_at(point, "model_bytes"), >, 0);
            g_assert_true(json_is_null(json_object_get(point, "median_ns")));
            g_assert_true(json_is_null(json_object_get(point, "reason")));
        }
        g_assert_true(json_is_object(json_object_get(json_object_get(device, "fits"), "flop")));
        g_assert_true(json_is_object(json_object_get(json_object_get(device, "fits"), "bytes")));
        g_assert_true(json_is_null(json_object_get(json_object_get(device, "fits"), "time")));
    }
    g_assert_false(g_file_test(store, G_FILE_TEST_EXISTS));
    g_assert_false(g_file_test(inputs, G_FILE_TEST_EXISTS));
    run_line(bench, "profile graph_transformer --profile flops --scaling layers --num-nodes 40", &ended);
    assert_status(&ended, 0);
    const char *scaling = strstr(ended.out, "scaling with layers");
    g_assert_nonnull(scaling);
    g_assert_nonnull(strstr(scaling, "\nFLOP "));
    g_assert_nonnull(strstr(scaling, "\nmemory "));
    g_assert_null(strstr(scaling, "median"));
    g_assert_null(strstr(scaling, "GFLOP/s"));
    run_line(bench, "profile graph_transformer --profile flops --scaling layers -d simulated:scaling/ARITHMETIC", &ended);
    assert_complaint(&ended, 2, "of the model alone: no device is run for it");
}

/* --- points that fail ------------------------------------------------------------------------------------------------- */

static void test_failures(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench,
             "profile zoo:matmul,m=0 -q --runs 3 --dim M=8,16,32,64 --json - -d simulated:scaling/FAILS-LARGE "
             "-d simulated:scaling/ARITHMETIC",
             &ended);
    assert_status(&ended, 1);
    g_assert_nonnull(strstr(ended.err, "inferometer: 1 of 8 points failed\n"));
    json_auto_t *document = parse_output(&ended);
    const json_t *first = device_at(document, 0, 0), *points = json_object_get(first, "points");
    assert_reason(json_array_get(points, 3), "too many rows");
    g_assert_cmpstr(json_string_value(json_object_get(json_array_get(points, 3), "error_code")), ==, "failed");
    const json_t *time = json_object_get(json_object_get(first, "fits"), "time");
    g_assert_cmpfloat(number_at(time, "n"), ==, 3);
    assert_near(number_at(time, "exponent"), 1, 1e-12);
    const json_t *other = json_object_get(json_object_get(device_at(document, 0, 1), "fits"), "time");
    g_assert_cmpfloat(number_at(other, "n"), ==, 4);
    /* all of them fail: the reasons are all there is to tell, each once */
    run_line(bench, "profile zoo:matmul,m=0 -q --runs 3 --dim M=64,128 -d simulated:scaling/FAILS-LARGE", &ended);
    assert_complaint(&ended, 1, "too many rows");
    g_assert_cmpstr(ended.out, ==, "");
}

/* A size of which there is no model: its own row. */
static void test_no_model(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, "profile matmul -q --runs 3 --dim m=8,16,2000000 --json - -d simulated:scaling/ARITHMETIC", &ended);
    assert_complaint(&ended, 1, "1 of 3 points have no model");
    json_auto_t *document = parse_output(&ended);
    const json_t *points = json_object_get(device_at(document, 0, 0), "points");
    assert_reason(json_array_get(points, 2), "m=2000000");
    g_assert_cmpfloat(number_at(json_array_get(points, 1), "median_ns"), ==, 2.0 * 64 * 64 * 16);
    run_line(bench, "profile matmul --dim m=2000000,3000000 -d simulated:scaling/ARITHMETIC", &ended);
    assert_complaint(&ended, 3, "m=2000000");
}

/* Interrupted while the third of four points hangs: what was measured stays, and is not measured again. */
static void test_interrupt(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_shell(bench, "sh",
              "\"$INFEROMETER\" profile zoo:matmul,m=0 --runs 3 --timeout 0 --dim M=8,16,64,128 "
              "-d simulated:scaling/HANGS-LARGE 2> log & pid=$!; "
              "until grep -q 'M 64: simulated:scaling/HANGS-LARGE  starts' log; do sleep 0.05; done; sleep 0.3; "
              "kill -TERM $pid; wait $pid; status=$?; cat log >&2; exit $status",
              &ended);
    assert_status(&ended, 143);
    g_assert_nonnull(strstr(ended.err, "inferometer: interrupted: 2 of 4 points were not measured; --resume"));
    g_assert_nonnull(strstr(ended.out, "scaling with M"));
    g_assert_nonnull(strstr(ended.out, "M 128: not measured"));
    run_line(bench,
             "profile zoo:matmul,m=0 --runs 3 --timeout 1s --resume --dim M=8,16,64,128 --json - "
             "-d simulated:scaling/HANGS-LARGE",
             &ended);
    assert_status(&ended, 1);
    g_assert_nonnull(strstr(ended.err, "M 8: simulated:scaling/HANGS-LARGE: measured before"));
    g_assert_nonnull(strstr(ended.err, "M 16: simulated:scaling/HANGS-LARGE: measured before"));
    json_auto_t *document = parse_output(&ended);
    const json_t *points = json_object_get(device_at(document, 0, 0), "points");
    g_assert_cmpfloat(number_at(json_array_get(points, 1), "median_ns"), ==, 2.0 * 64 * 64 * 16);
    assert_reason(json_array_get(points, 2), "no sign of life");
    assert_none_left(bench);
}

/* --- graph transformers ------------------------------------------------------------------------------------------------
 */

static double nodes_of(const json_t *document, size_t at)
{
    const json_t *found = json_object_get(json_array_get(json_object_get(document, "cases"), at), "case");
    return number_at(json_object_get(found, "sizes"), "nodes");
}

/* FLOP grow by as much a layer; time is FLOP, and attention's share of one that of the other. */
static void test_layers(Bench *bench, gconstpointer data)
{
    static const int layers[] = { 2, 4, 6, 8, 12, 16 };
    g_auto(Ended) ended = { 0 };
    run_line(bench, "profile graph_transformer -q --scaling layers --runs 3 -d simulated:scaling/TOLD --json -", &ended);
    assert_status(&ended, 0);
    json_auto_t *document = parse_output(&ended);
    const json_t *points = json_object_get(device_at(document, 0, 0), "points");
    g_assert_cmpuint(json_array_size(points), ==, G_N_ELEMENTS(layers));
    double first = number_at(json_array_get(points, 0), "flop"), a_layer = 0;
    a_layer = (number_at(json_array_get(points, 1), "flop") - first) / 2;
    g_assert_cmpfloat(a_layer, >, 0);
    for (size_t i = 0; i < G_N_ELEMENTS(layers); i++)
    {
        const json_t *point = json_array_get(points, i);
        g_assert_cmpfloat(number_at(point, "flop"), ==, first + (layers[i] - 2) * a_layer);
        g_assert_cmpfloat(number_at(point, "median_ns"), ==, number_at(point, "flop"));
        g_assert_cmpfloat(number_at(point, "attention_flop_ratio"), >, 0.5);
        g_assert_cmpfloat(number_at(point, "attention_flop_ratio"), <, 1);
        assert_near(number_at(point, "attention_time_ratio"), number_at(point, "attention_flop_ratio"), 1e-9);
        g_assert_cmpfloat(nodes_of(document, i), ==, 500);
    }
}

static const json_t *pass_at(const json_t *device, size_t i, const char *pass)
{
    const json_t *found = json_array_get(json_object_get(device, "passes"), i);
    g_assert_cmpstr(json_string_value(json_object_get(found, "pass")), ==, pass);
    return found;
}

#define STUDY                                                                                                              \
    "profile graph_transformer,num_layers=1,hidden_dim=16 -q --mode train --dim num_nodes=16,32,64 --runs 5 "              \
    "-d simulated:scaling/ARITHMETIC "

/* Of a training every pass is told at each point: time is FLOP, of the difference, too. */
static void test_passes(Bench *bench, gconstpointer data)
{
    static const char *const passes[] = { "forward", "backward", "training_pass", "update", "training_step" };
    g_auto(Ended) ended = { 0 };
    run_line(bench, STUDY "--json - --csv x.csv", &ended);
    assert_status(&ended, 0);
    json_auto_t *document = parse_output(&ended);
    const json_t *device = device_at(document, 0, 0);
    double times[G_N_ELEMENTS(passes)][3];
    g_assert_cmpuint(json_array_size(json_object_get(device, "passes")), ==, G_N_ELEMENTS(passes));
    for (size_t k = 0; k < G_N_ELEMENTS(passes); k++)
    {
        const json_t *pass = pass_at(device, k, passes[k]), *fits = json_object_get(pass, "fits");
        for (size_t i = 0; i < 3; i++)
        {
            const json_t *point = json_array_get(json_object_get(pass, "points"), i);
            times[k][i] = number_at(point, "median_ns");
            g_assert_cmpfloat(times[k][i], >, 0);
            assert_near(times[k][i], number_at(point, "flop"), 1e-6); /* backward is forward's time a ratio's part */
        }
        assert_near(number_at(json_object_get(fits, "time"), "exponent"),
                    number_at(json_object_get(fits, "flop"), "exponent"), 1e-12);
        g_assert_true(g_str_equal(passes[k], "update") ||
                      number_at(json_object_get(fits, "time"), "exponent") > 1); /* of weights alone */
    }
    for (size_t i = 0; i < 3; i++)
    {
        const json_t *forward = json_array_get(json_object_get(pass_at(device, 0, "forward"), "points"), i);
        const json_t *step = json_array_get(json_object_get(device, "points"), i);
        double scores = 4.0 * 4 * (16 << i) * (16 << i); /* of 4 heads */
        g_assert_cmpfloat(number_at(forward, "attention_estimated_bytes"), ==, scores);
        g_assert_cmpfloat(number_at(step, "attention_estimated_bytes"), ==, 2 * scores); /* and their softmax */
        g_assert_cmpfloat(number_at(step, "attention_planned_bytes"), >=, 2 * scores);
        assert_near(times[1][i], times[2][i] - times[0][i], 1e-6);
        g_assert_cmpfloat(times[3][i], >, 0);
        assert_near(times[4][i], times[2][i] + times[3][i], 1e-6);
    }
    g_assert_cmpuint(json_array_size(json_object_get(document, "cases")), ==, 9); /* backward is run by nobody */
    g_autofree char *csv_path = bench_path(bench, "x.csv"), *csv = NULL;
    g_assert_true(g_file_get_contents(csv_path, &csv, NULL, NULL));
    g_auto(GStrv) lines = g_strsplit(csv, "\r\n", -1);
    g_assert_cmpuint(g_strv_length(lines), ==, 1 + 3 * G_N_ELEMENTS(passes) + 1);
    run_line(bench, STUDY "--resume --all", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "scaling of the training step with num_nodes"));
    g_assert_nonnull(strstr(ended.out, "\nforward: time "));
    g_assert_nonnull(strstr(ended.out, "\nbackward: time "));
    g_assert_nonnull(strstr(ended.out, "\ntraining step: FLOP "));
    /* without a device the work of each */
    run_line(bench,
             "profile graph_transformer,num_layers=1,hidden_dim=16 -q --mode train --dim num_nodes=16,32,64 -p flops",
             &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "GFLOP: forward"));
    g_assert_null(strstr(ended.out, "95 % from"));
}

/* Where runs scatter, too, and where they are few: all passes of all points are of the same rounds. */
static void test_passes_add_up(Bench *bench, gconstpointer data)
{
    static const char *const figures[] = { "median_ns", "mean_ns" };
    for (int runs = 4; runs <= 12; runs += 8)
    {
        g_auto(Ended) ended = { 0 };
        g_autofree char *line = g_strdup_printf(
            "profile small-cnn -q --mode train --dim batch=1,2 --runs %d -d simulated:scaling/NOISY --json -", runs);
        run_line(bench, line, &ended);
        assert_status(&ended, 0);
        json_auto_t *document = parse_output(&ended);
        const json_t *passes = json_object_get(device_at(document, 0, 0), "passes");
        for (size_t i = 0; i < 2; i++)
            for (size_t k = 0; k < G_N_ELEMENTS(figures); k++)
            {
                double times[5];
                for (size_t pass = 0; pass < G_N_ELEMENTS(times); pass++)
                {
                    const json_t *found = json_array_get(passes, pass);
                    const json_t *point = json_array_get(json_object_get(found, "points"), i);
                    times[pass] = number_at(point, figures[k]);
                    g_assert_cmpfloat(number_at(point, "n_rounds"), ==, MIN(runs, 6));
                }
                assert_near(times[0] + times[1], times[2], 1e-3);
                assert_near(times[2] + times[3], times[4], 1e-3);
            }
    }
}

/* What attention takes by the closed form, 4 bytes for each head and pair of nodes, beside what its nodes have alive; and
 * what an encoding takes. */
static void test_memory(Bench *bench, gconstpointer data)
{
    static const int sizes[] = { 32, 64, 128 };
    g_auto(Ended) ended = { 0 };
    run_line(bench,
             "profile graph_transformer,num_layers=2,hidden_dim=16,num_heads=2,pe=rwse:4 -q "
             "--dim num_nodes=32,64,128 --runs 3 -d simulated:scaling/ARITHMETIC --json -",
             &ended);
    assert_status(&ended, 0);
    json_auto_t *document = parse_output(&ended);
    const json_t *device = device_at(document, 0, 0), *points = json_object_get(device, "points");
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
    {
        const json_t *point = json_array_get(points, i);
        double estimated = 4.0 * 2 * sizes[i] * sizes[i], encoding = 4.0 * sizes[i] * 4;
        g_assert_cmpfloat(number_at(point, "attention_estimated_bytes"), ==, estimated);
        g_assert_cmpfloat(number_at(point, "attention_planned_bytes"), >=, estimated);
        g_assert_cmpfloat(number_at(point, "attention_planned_bytes"), <=, number_at(point, "model_bytes"));
        g_assert_cmpfloat(number_at(point, "encoding_estimated_bytes"), ==, encoding);
        g_assert_cmpfloat(number_at(point, "encoding_held_bytes"), >=, encoding);
        g_assert_cmpfloat(number_at(point, "encoding_held_bytes"), <, encoding + 64);
    }
    const json_t *fit = json_object_get(json_object_get(device, "fits"), "attention_bytes");
    g_assert_cmpfloat(number_at(fit, "last"), >, 1.5);
    run_line(bench,
             "profile graph_transformer,num_layers=2,hidden_dim=16,num_heads=2,pe=rwse:4 -q "
             "--dim num_nodes=32,64,128 --runs 3 -d simulated:scaling/ARITHMETIC --all",
             &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "attention: estimated"));
    g_assert_true(g_regex_match_simple("  encoding\\n", ended.out, 0, 0)); /* held, too, but for a rounding */
    g_assert_nonnull(strstr(ended.out, "\nattention's memory "));
}

/* What the user says goes before what a preset is varied with; the axis's own value before what the user says. */
static void test_settings(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench,
             "profile graph_transformer -q --scaling heads --num-nodes 20 --hidden-dim 12 --num-heads 3 --runs 3 "
             "-d simulated:scaling/ARITHMETIC --json -",
             &ended);
    assert_complaint(&ended, 1, "1 of 4 points have no model");
    json_auto_t *document = parse_output(&ended);
    const json_t *points = json_object_get(device_at(document, 0, 0), "points");
    g_assert_cmpuint(json_array_size(points), ==, 4);
    assert_reason(json_array_get(points, 3), "num_heads 8 does not divide hidden_dim 12");
    g_assert_cmpfloat(number_at(json_array_get(points, 0), "flop"), <, number_at(json_array_get(points, 2), "flop"));
    for (size_t i = 0; i < 3; i++)
        g_assert_cmpfloat(nodes_of(document, i), ==, 20);
    /* a graph that is read has the nodes it has, but where those are varied */
    run_line(bench,
             "profile graph_transformer -q --scaling nodes --dataset peptides --num-graphs 2 --num-layers 1 "
             "--runs 3 -d simulated:scaling/ARITHMETIC --json -",
             &ended);
    assert_status(&ended, 0);
    json_auto_t *varied = parse_output(&ended);
    static const double sizes[] = { 100, 500, 1000, 2000, 5000 };
    for (size_t i = 0; i < G_N_ELEMENTS(sizes); i++)
        g_assert_cmpfloat(nodes_of(varied, i), ==, sizes[i]);
    const json_t *fit = json_object_get(json_object_get(device_at(varied, 0, 0), "fits"), "flop");
    g_assert_cmpfloat(number_at(fit, "last"), >, 1.9);
    run_line(bench,
             "profile graph_transformer,attention=sparse -q --scaling nodes --num-layers 1 --runs 3 "
             "-d simulated:scaling/ARITHMETIC --json -",
             &ended);
    assert_status(&ended, 0);
    json_auto_t *sparse = parse_output(&ended);
    fit = json_object_get(json_object_get(device_at(sparse, 0, 0), "fits"), "flop");
    assert_near(number_at(fit, "exponent"), 1, 0.01);
}

static void assert_values(const json_t *document, const char *const *values)
{
    const json_t *points = json_object_get(device_at(document, 0, 0), "points");
    g_assert_cmpuint(json_array_size(points), ==, g_strv_length((char **)values));
    for (size_t i = 0; values[i] != NULL; i++)
    {
        const json_t *point = json_array_get(points, i);
        g_assert_cmpstr(json_string_value(json_object_get(point, "value")), ==, values[i]);
        g_assert_true(json_is_null(json_object_get(point, "reason")));
        g_assert_cmpfloat(number_at(point, "min_ns"), <=, number_at(point, "median_ns"));
        g_assert_cmpfloat(number_at(point, "max_ns"), >=, number_at(point, "median_ns"));
        g_assert_cmpfloat(number_at(point, "mean_ns"), >, 0);
        g_assert_cmpfloat(number_at(point, "std_ns"), >=, 0);
    }
}

/* Points are compared by processes that take turns; what is in the store is not measured again. */
static void test_rounds(Bench *bench, gconstpointer data)
{
#define ROWS "profile zoo:matmul,m=0 --dim M=8,16,64 -d simulated:scaling/ARITHMETIC --json - "
    static const struct
    {
        const char *options;
        gboolean rounds, measured;
    } known[] = { { "--runs 12", TRUE, TRUE }, { "--runs 12 --resume", TRUE, FALSE }, { "--runs 5", FALSE, FALSE } };
    for (size_t k = 0; k < G_N_ELEMENTS(known); k++)
    {
        g_auto(Ended) ended = { 0 };
        g_autofree char *line = g_strconcat(ROWS, known[k].options, NULL);
        run_line(bench, line, &ended);
        assert_status(&ended, 0);
        g_assert_true((strstr(ended.err, "all points in rounds  starts") != NULL) == known[k].measured);
        json_auto_t *document = parse_output(&ended);
        const json_t *points = json_object_get(device_at(document, 0, 0), "points");
        g_assert_cmpuint(json_array_size(points), ==, 3);
        for (size_t i = 0; i < 3; i++)
        {
            const json_t *point = json_array_get(points, i);
            g_assert_cmpfloat(number_at(point, "n_rounds"), ==, known[k].rounds ? 6 : 0);
            g_assert_true(json_is_false(json_object_get(point, "disturbed")));
            g_assert_true(json_is_number(json_object_get(point, "median_lower_ns")) == known[k].rounds);
            if (known[k].rounds)
                g_assert_cmpfloat(number_at(point, "least_ns"), ==, number_at(point, "most_ns"));
        }
    }
}

/* Words are varied as sizes are, and what is asked for of an axis is one of its points. */
static void test_words(Bench *bench, gconstpointer data)
{
#define SMALL "graph_transformer --num-layers 1 --num-nodes 20 --runs 3 -q -d simulated:scaling/ARITHMETIC --json - "
    static const struct
    {
        const char *line, *values[7];
    } known[] = {
        { "--dim pe=none,lap:4", { "none", "lap:4", NULL } },
        { "--dim attention=dense,sparse", { "dense", "sparse", NULL } },
        { "--pe lap:4 --scaling pe", { "none", "lap:16", "rwse:16", "lap:4", NULL } },
        { "--pe lap --pe-dim 4 --scaling pe", { "none", "lap:16", "rwse:16", "lap:4", NULL } },
        { "--pe lap:16 --scaling pe", { "none", "lap:16", "rwse:16", NULL } },
        { "--hidden-dim 48 --scaling hidden", { "32", "64", "128", "256", NULL } },
    };
    for (size_t i = 0; i < G_N_ELEMENTS(known); i++)
    {
        g_auto(Ended) ended = { 0 };
        g_autofree char *line = g_strconcat("profile " SMALL, known[i].line, NULL);
        run_line(bench, line, &ended);
        assert_status(&ended, 0);
        json_auto_t *document = parse_output(&ended);
        assert_values(document, known[i].values);
    }
    g_auto(Ended) twice = { 0 };
    run_line(bench, "profile " SMALL "--dim pe=none,none", &twice);
    assert_status(&twice, 2);
    g_assert_nonnull(strstr(twice.err, "none is given twice"));
    run_line(bench, "profile " SMALL "--dim pe=none,lapp:4", &twice);
    assert_status(&twice, 2);
    g_assert_nonnull(strstr(twice.err, "did you mean \"lap\"?"));
}

/* A preset is of a seeded graph, whatever graph the model as it is is on; a list of sizes is of that one. */
static void test_dataset(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench,
             "profile graph_transformer,num_layers=1 --scaling heads --dataset peptides --num-graphs 2 --runs 3 "
             "--profile runtime,scaling -d simulated:scaling/ARITHMETIC --json -",
             &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.err, "the presets of a scaling are of seeded graphs"));
    json_auto_t *document = parse_output(&ended);
    double own = nodes_of(document, 0);
    g_assert_cmpfloat(own, !=, 500);
    g_assert_cmpuint(json_array_size(json_object_get(document, "cases")), ==, 5);
    for (size_t i = 1; i < 5; i++)
        g_assert_cmpfloat(nodes_of(document, i), ==, 500);
    run_line(bench,
             "profile graph_transformer --dim num_layers=1,2 --dataset peptides --num-graphs 2 --runs 3 "
             "-d simulated:scaling/ARITHMETIC --json -",
             &ended);
    assert_status(&ended, 0);
    g_assert_null(strstr(ended.err, "presets"));
    json_auto_t *listed = parse_output(&ended);
    for (size_t i = 0; i < 2; i++)
        g_assert_cmpfloat(nodes_of(listed, i), ==, own);
}

/* What comes is told before it begins; a model that is at several points is measured at the first of them. */
static void test_reported_before(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench,
             "profile gps --scaling heads,layers --num-nodes 24 --hidden-dim 16 --pe rwse:4 --time-budget 2s "
             "-d simulated:scaling/ARITHMETIC --json -",
             &ended);
    assert_status(&ended, 0);
    const char *reported =
        strstr(ended.err, "20 cases are to be measured, for 2.00 s at most each (--time-budget), 40.0 s");
    g_assert_nonnull(reported);
    g_assert_true(reported < strstr(ended.err, "heads 1: "));
    g_assert_nonnull(strstr(ended.err, "layers 4: simulated:scaling/ARITHMETIC: measured before"));
    json_auto_t *document = parse_output(&ended);
    const json_t *heads = json_object_get(device_at(document, 0, 0), "points");
    const json_t *layers = json_object_get(device_at(document, 1, 0), "points");
    g_assert_true(json_equal(json_object_get(json_array_get(heads, 2), "case_key"),
                             json_object_get(json_array_get(layers, 1), "case_key")));
    double first = number_at(json_array_get(heads, 0), "encoding_ns"); /* of one graph: once */
    for (size_t i = 1; i < 4; i++)
        g_assert_cmpfloat(number_at(json_array_get(heads, i), "encoding_ns"), ==, first);
    g_assert_cmpfloat(number_at(json_array_get(layers, 5), "encoding_ns"), ==, first);
    run_line(bench, "profile zoo:matmul,m=0 --runs 3 --dim M=8,16 -d simulated:scaling/ARITHMETIC", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.err, "inferometer: 2 cases of 3 runs each are to be measured\n"));
}

/* What is said beside the model's name gives way to what is varied as an option does, and nothing else of it. */
static void test_beside_the_name(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *model, *axis;
        size_t n;
        double nodes; /* 0: as varied */
    } known[] = {
        { "graph_transformer,num_layers=3,num_nodes=20", "layers", 6, 20 },
        { "zoo:gps,num_nodes=20,pe=rwse,pe_dim=4,num_layers=1", "pe", 4, 20 },
        { "graph_transformer,dataset=peptides,num_graphs=2,num_layers=1,attention=sparse", "nodes", 5, 0 },
        { "graph_transformer,hidden_dim=16,num_layers=1,num_nodes=20", "heads", 4, 20 },
    };
    static const double sizes[] = { 100, 500, 1000, 2000, 5000 };
    for (size_t k = 0; k < G_N_ELEMENTS(known); k++)
    {
        g_auto(Ended) ended = { 0 };
        g_autofree char *line = g_strdup_printf(
            "profile %s -q --scaling %s --runs 3 -d simulated:scaling/ARITHMETIC --json -", known[k].model, known[k].axis);
        g_test_message("%s", line);
        run_line(bench, line, &ended);
        assert_status(&ended, 0);
        json_auto_t *document = parse_output(&ended);
        const json_t *points = json_object_get(device_at(document, 0, 0), "points");
        g_assert_cmpuint(json_array_size(points), ==, known[k].n);
        for (size_t i = 0; i < known[k].n; i++)
            g_assert_cmpfloat(nodes_of(document, i), ==, known[k].nodes > 0 ? known[k].nodes : sizes[i]);
        if (k == 0)
            g_assert_cmpfloat(number_at(json_array_get(points, 1), "flop"), >,
                              number_at(json_array_get(points, 0), "flop"));
    }
}

/* Interrupted at a point without an encoding: those of the others are not begun. */
static void test_interrupted_encodings(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_shell(bench, "sh",
              "\"$INFEROMETER\" profile gps --num-nodes 64 --num-layers 1 --runs 3 --timeout 0 --scaling pe "
              "-d simulated:scaling/HANGS 2> log & pid=$!; "
              "until grep -q 'pe none: simulated:scaling/HANGS  starts' log; do sleep 0.05; done; sleep 0.3; "
              "kill -TERM $pid; wait $pid; status=$?; cat log >&2; exit $status",
              &ended);
    assert_status(&ended, 143);
    g_assert_null(strstr(ended.err, "encoding lap:16"));
    g_assert_null(strstr(ended.err, "encoding rwse:16"));
    assert_none_left(bench);
}

/* Of what is varied alone the FLOP tell: those of an estimate of the same width and the same features. */
static void test_hidden(Bench *bench, gconstpointer data)
{
    static const int widths[] = { 32, 64, 128, 256 };
    g_auto(Ended) ended = { 0 };
    run_line(bench,
             "profile graph_transformer -q --scaling hidden --num-nodes 40 --num-layers 1 --runs 3 "
             "-d simulated:scaling/ARITHMETIC --json -",
             &ended);
    assert_status(&ended, 0);
    json_auto_t *document = parse_output(&ended);
    const json_t *points = json_object_get(device_at(document, 0, 0), "points");
    for (size_t i = 0; i < G_N_ELEMENTS(widths); i++)
    {
        g_autofree char *line = g_strdup_printf("profile --estimate transformer --num-nodes 40 --num-layers 1 "
                                                "--feature-dim 16 --hidden-dim %d --json -",
                                                widths[i]);
        run_line(bench, line, &ended);
        assert_status(&ended, 0);
        json_auto_t *estimate = parse_output(&ended);
        const json_t *parts = json_object_get(estimate, "parts");
        g_assert_cmpfloat(number_at(json_array_get(points, i), "flop"), ==,
                          number_at(json_array_get(parts, json_array_size(parts) - 1), "flop"));
    }
}

/* Words: costs of encodings in place of exponents; beside the model as it is, where other parts are asked for. */
static void test_encodings(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench,
             "profile graph_transformer -q --profile flops,scaling --scaling pe --num-nodes 40 --num-layers 1 "
             "--runs 3 -d simulated:scaling/ARITHMETIC --json -",
             &ended);
    assert_status(&ended, 0); /* the model as it is has no use for a device */
    json_auto_t *alone = parse_output(&ended);
    g_assert_nonnull(json_object_get(alone, "flops"));
    g_assert_cmpuint(json_array_size(json_object_get(alone, "cases")), ==, 3);
    run_line(bench,
             "profile graph_transformer -q --profile runtime,flops,scaling --scaling pe --num-nodes 40 "
             "--num-layers 1 --runs 3 -d simulated:scaling/ARITHMETIC --json -",
             &ended);
    assert_status(&ended, 0);
    json_auto_t *document = parse_output(&ended);
    const json_t *device = device_at(document, 0, 0), *points = json_object_get(device, "points");
    g_assert_true(json_is_null(json_object_get(json_array_get(points, 0), "encoding_ns")));
    g_assert_cmpfloat(number_at(json_array_get(points, 1), "encoding_ns"), >, 0);
    g_assert_cmpfloat(number_at(json_array_get(points, 2), "encoding_ns"), >, 0);
    g_assert_cmpstr(json_string_value(json_object_get(device, "why")), ==, "words have no exponent");
    g_assert_nonnull(json_object_get(document, "model_info"));
    g_assert_cmpuint(json_array_size(json_object_get(document, "cases")), ==, 4);
}

static const struct
{
    const char *options;
    int status;
    const char *part;
} bad_axes[] = {
    { "--scaling node", 2, "\"node\" is nothing to vary (there are nodes, layers, pe, hidden, heads)" },
    { "--scaling nodes,nodes", 2, "--scaling: nodes is given twice" },
    { "--scaling ,", 2, "--scaling: \",\" has an empty entry" },
    { "--scaling nodes --dim num_nodes=5,6", 2, "one of them says what is varied" },
    { "--scaling nodes --mpnn gim", 2, "gim" },
    { "--scaling heads --hidden-dim 7 --num-nodes 0", 2, "--num-nodes" },
};

static void test_bad_axes(Bench *bench, gconstpointer data)
{
    for (gsize i = 0; i < G_N_ELEMENTS(bad_axes); i++)
    {
        g_auto(Ended) ended = { 0 };
        g_autofree char *line = g_strdup_printf("profile graph_transformer %s", bad_axes[i].options);
        run_line(bench, line, &ended);
        assert_complaint(&ended, bad_axes[i].status, bad_axes[i].part);
    }
}

/* --- what is no list -------------------------------------------------------------------------------------------------- */

static const struct
{
    const char *options;
    int status;
    const char *part;
} refusals[] = {
    { "--dim M=", 2, "\"M=\" is not NAME=SIZE" },
    { "--dim M=5,3", 2, "--dim M=5,3: 3 is not above 5: the sizes of a list ascend" },
    { "--dim M=5,5", 2, "5 is not above 5" },
    { "--dim M=5,", 2, "--dim M=5,: \"\" is no size (a whole number, 1 or more)" },
    { "--dim M=,5", 2, "\"\" is no size" },
    { "--dim M=0,5", 2, "\"0\" is no size" },
    { "--dim M=5,x", 2, "\"x\" is no size" },
    { "--dim M=5,-6", 2, "\"-6\" is no size" },
    { "--dim M=5,99999999999999999999", 2, "\"99999999999999999999\" is no size" },
    { "--dim =5,6", 2, "\"=5,6\" is not NAME=SIZE,SIZE" },
    { "--dim M=5,6 --dim K=1,2", 2, "--dim M=5,6 and --dim K=1,2: one dimension at a time" },
    { "--dim M=5,6 --dim M=7", 2, "M is given twice" },
    { "--dim Q=5,6", 3, "no input has a free dimension 'Q' (free: M)" },
    { "--dim M=5,6 --profile layers", 2, "--profile layers: of one model" },
    { "--dim M=5,6 --profile scaling,flop", 2, "--profile: \"flop\" is none of runtime, memory" },
    { "--dim M=5 --profile scaling", 2, "--profile scaling: of what?" },
    { "--dim M=5 --scaling nodes", 2, "--scaling: of the zoo's graph_transformer and gps" },
    { "--dim M=5,6 --scaling nodes", 2, "--scaling nodes and --dim M=5,6" },
    { "--dim k=5,6", 2, "zoo:matmul,m=0,k=8 and --dim k=5,6: k is given twice" },
    { "--dim M=5,6 -d nonsense:CPU", 3, "unknown engine" },
    { "--dim M=5,6 --profile flops -d simulated:scaling/ARITHMETIC", 2, "of the model alone" },
};

static void test_refusals(Bench *bench, gconstpointer data)
{
    g_autofree char *store = bench_path(bench, "out/profile/store.db");
    for (gsize i = 0; i < G_N_ELEMENTS(refusals); i++)
    {
        g_auto(Ended) ended = { 0 };
        g_autofree char *line = g_strdup_printf("profile zoo:matmul,m=0,k=8 %s", refusals[i].options);
        run_line(bench, line, &ended);
        assert_complaint(&ended, refusals[i].status, refusals[i].part);
        g_assert_cmpstr(ended.out, ==, "");
    }
    g_assert_false(g_file_test(store, G_FILE_TEST_EXISTS));
}

/* --- a real engine ---------------------------------------------------------------------------------------------------- */

/* Of three calm points there is an exponent with an interval; of fewer none, and that is said. */
static void assert_fit_of_three(const json_t *device)
{
    const json_t *points = json_object_get(device, "points"),
                 *time = json_object_get(json_object_get(device, "fits"), "time");
    int n_calm = 0;
    for (size_t i = 0; i < 3; i++)
        n_calm += json_is_false(json_object_get(json_array_get(points, i), "disturbed"));
    if (n_calm < 3)
    {
        g_autofree char *why = g_strdup_printf("%d point%s a time that nothing disturbed: 3 are needed", n_calm,
                                               n_calm == 1 ? " has" : "s have");
        g_test_message("the machine disturbed %d of 3 points, twice", 3 - n_calm);
        g_assert_true(json_is_null(time));
        g_assert_cmpstr(json_string_value(json_object_get(device, "why")), ==, why);
        return;
    }
    g_assert_true(json_is_null(json_object_get(device, "why")));
    g_assert_cmpfloat(number_at(json_object_get(time, "interval"), "lower"), <=, number_at(time, "exponent"));
    g_assert_cmpfloat(number_at(json_object_get(time, "interval"), "upper"), >=, number_at(time, "exponent"));
}

static void test_real(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    if (!bench_needs_device(bench, "onnxruntime:CPU", ""))
        return;
    save_square(bench);
    run_line(bench, "profile square.onnx -q --runs 20 --dim N=16,64,256 --json - -d onnxruntime:CPU", &ended);
    assert_status(&ended, 0);
    json_auto_t *document = parse_output(&ended);
    const json_t *device = device_at(document, 0, 0), *points = json_object_get(device, "points");
    for (size_t i = 0; i < 3; i++)
    {
        const json_t *point = json_array_get(points, i), *made = json_array_get(json_object_get(document, "cases"), i);
        g_assert_cmpfloat(number_at(point, "flop"), ==, 64 * pow(16, 2) * (1 << (4 * i)));
        g_assert_cmpfloat(number_at(point, "median_ns"), >, 0);
        g_assert_cmpfloat(number_at(point, "flop_per_s"), >, 0);
        /* in a process of its own: not less than what is alive at once */
        g_assert_cmpfloat(number_at(point, "process_bytes"), >=, number_at(point, "model_bytes"));
        g_assert_cmpfloat(number_at(point, "allocator_bytes"), >=, 0); /* it tells */
        g_assert_cmpstr(json_string_value(json_object_get(json_object_get(made, "case"), "key")), ==,
                        json_string_value(json_object_get(point, "case_key")));
    }
    assert_fit_of_three(device);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    devices_folder = g_build_filename(g_getenv("IFM_TEST_DATA"), "cli", "devices", NULL);
    g_test_add("/profile-sweep/square", Bench, NULL, set_up, test_square, bench_clear);
    g_test_add("/profile-sweep/implausible", Bench, NULL, set_up, test_implausible, bench_clear);
    g_test_add("/profile-sweep/page", Bench, NULL, set_up, test_page, bench_clear);
    g_test_add("/profile-sweep/zoo", Bench, NULL, set_up, test_zoo, bench_clear);
    g_test_add("/profile-sweep/flops", Bench, NULL, set_up, test_flops, bench_clear);
    g_test_add("/profile-sweep/flops-of-presets", Bench, NULL, set_up, test_flops_of_presets, bench_clear);
    g_test_add("/profile-sweep/failures", Bench, NULL, set_up, test_failures, bench_clear);
    g_test_add("/profile-sweep/no-model", Bench, NULL, set_up, test_no_model, bench_clear);
    g_test_add("/profile-sweep/interrupt", Bench, NULL, set_up, test_interrupt, bench_clear);
    g_test_add("/profile-sweep/layers", Bench, NULL, set_up, test_layers, bench_clear);
    g_test_add("/profile-sweep/passes", Bench, NULL, set_up, test_passes, bench_clear);
    g_test_add("/profile-sweep/passes-add-up", Bench, NULL, set_up, test_passes_add_up, bench_clear);
    g_test_add("/profile-sweep/memory", Bench, NULL, set_up, test_memory, bench_clear);
    g_test_add("/profile-sweep/settings", Bench, NULL, set_up, test_settings, bench_clear);
    g_test_add("/profile-sweep/dataset", Bench, NULL, set_up, test_dataset, bench_clear);
    g_test_add("/profile-sweep/rounds", Bench, NULL, set_up, test_rounds, bench_clear);
    g_test_add("/profile-sweep/words", Bench, NULL, set_up, test_words, bench_clear);
    g_test_add("/profile-sweep/told-before", Bench, NULL, set_up, test_reported_before, bench_clear);
    g_test_add("/profile-sweep/beside-the-name", Bench, NULL, set_up, test_beside_the_name, bench_clear);
    g_test_add("/profile-sweep/interrupted-encodings", Bench, NULL, set_up, test_interrupted_encodings, bench_clear);
    g_test_add("/profile-sweep/hidden", Bench, NULL, set_up, test_hidden, bench_clear);
    g_test_add("/profile-sweep/encodings", Bench, NULL, set_up, test_encodings, bench_clear);
    g_test_add("/profile-sweep/bad-axes", Bench, NULL, set_up, test_bad_axes, bench_clear);
    g_test_add("/profile-sweep/refusals", Bench, NULL, set_up, test_refusals, bench_clear);
    g_test_add("/profile-sweep/real", Bench, NULL, set_up, test_real, bench_clear);
    int status = g_test_run();
    g_free(devices_folder);
    return status;
}
