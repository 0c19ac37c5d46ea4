#include "cli/harness.h"

/* `inferometer profile --conv`: convolution algorithms, what the record and the page say of them, and refusals. */

#define MODEL "small-cnn"
#define DEVICE "onnxruntime:CPU"

static const json_t *at(const json_t *json, const char *path)
{
    g_auto(GStrv) keys = g_strsplit(path, ".", -1);
    for (char **key = keys; *key != NULL; key++)
        json = json_object_get(json, *key);
    return json;
}

static const json_t *first_case(const json_t *json)
{
    return json_array_get(json_object_get(json, "cases"), 0);
}

static const char *text_at(const json_t *json, const char *path)
{
    return json_string_value(at(json, path));
}

/* The record and the key of the case; the reference is right; times of nodes have the implementation. */
static void test_record(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    if (!bench_needs_device(bench, DEVICE, ""))
        return;
    run_line(bench,
             "profile -q " MODEL " -d " DEVICE " -t 1 --runs 3 --no-peak --conv implicit-gemm --json - --conv-fallback "
             "direct",
             &ended);
    assert_status(&ended, 0);
    json_auto_t *json = parse_output(&ended);
    const json_t *one = first_case(json), *layers = at(one, "measurement.effective_config.convolutions");
    g_assert_cmpuint(json_array_size(layers), ==, 2);
    g_assert_cmpstr(text_at(one, "measurement.verification.status"), ==, "passed");
    const json_t *asked = at(one, "case.options.convolutions");
    g_assert_cmpstr(json_string_value(json_array_get(asked, 0)), ==, "fallback=direct");
    g_assert_cmpstr(json_string_value(json_array_get(asked, 1)), ==, "implicit_gemm");
    for (gsize i = 0; i < json_array_size(layers); i++)
    {
        const json_t *layer = json_array_get(layers, i);
        g_assert_cmpstr(text_at(layer, "asked"), ==, "implicit_gemm");
        const char *algorithm = text_at(layer, "algorithm");
        g_assert_cmpstr(algorithm, ==, json_is_true(at(layer, "fell_back")) ? "direct" : "implicit_gemm");
        gsize k, n_found = 0;
        json_t *row;
        json_array_foreach(at(one, "layers.rows"), k,
                           row) if (g_strcmp0(text_at(row, "name"), text_at(layer, "layer")) == 0)
        {
            g_assert_cmpstr(text_at(row, "implementation"), ==, text_at(layer, "implementation"));
            n_found++;
        }
        g_assert_cmpuint(n_found, ==, 1);
    }
}

/* Without the option nothing of it is in the key or in the record. */
static void test_without(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    if (!bench_needs_device(bench, DEVICE, ""))
        return;
    run_line(bench, "profile -q " MODEL " -d " DEVICE " -t 1 --runs 3 --no-peak --no-nodes --json -", &ended);
    assert_status(&ended, 0);
    json_auto_t *json = parse_output(&ended);
    g_assert_null(at(first_case(json), "case.options.convolutions"));
    g_assert_null(at(first_case(json), "measurement.effective_config.convolutions"));
}

static void test_page(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    if (!bench_needs_device(bench, DEVICE, ""))
        return;
    run_line(bench, "profile -q " MODEL " -d " DEVICE " -t 1 --runs 3 --no-peak --no-nodes --conv guess", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "Convolutions of " DEVICE ": 2 layers:"));
    g_assert_nonnull(strstr(ended.out, "algorithm"));
    g_assert_null(strstr(ended.out, "guess")); /* it names the fixed one that it took */
}

/* Refused by layers: the case is in the store, as a failure. */
static void test_refused(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    if (!bench_needs_device(bench, DEVICE, ""))
        return;
    run_line(bench, "profile -q " MODEL " -d " DEVICE " -t 1 --runs 3 --no-peak --conv gemm --conv-workspace 1KiB", &ended);
    assert_complaint(&ended, 1,
                     "gemm cannot do 2 of 2 layers of small-cnn (workspace over the limit, a limit of 176 KiB would do)");
    run_line(bench, "store show out/profile/store.db", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "unsupported"));
}

static void test_misuse(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *options, *message;
    } wrong[] = {
        { "--conv implicit_gem",
          "--conv: \"implicit_gem\" is not a convolution algorithm; did you mean \"implicit_gemm\"?" },
        { "--conv gemm --conv direct", "two algorithms for all layers, gemm and direct" },
        { "--conv-fallback direct", "--conv-fallback: no --conv is given" },
        { "--conv-workspace 1MiB", "--conv-workspace: no --conv is given" },
        { "--conv gemm --conv-fallback best", "--conv-fallback: convolutions: \"best\" is never refused" },
        { "--conv gemm --conv-workspace much", "--conv-workspace: " },
    };
    static const char *const algorithms[] = { "best", "direct --conv-fallback runtime" };
    g_auto(Ended) ended = { 0 };
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++)
    {
        g_autofree char *line = g_strdup_printf("profile -q " MODEL " -d " DEVICE " %s", wrong[i].options);
        run_line(bench, line, &ended);
        assert_complaint(&ended, 2, wrong[i].message);
    }
    if (bench_has_device(bench, DEVICE, ""))
        for (gsize i = 0; i < G_N_ELEMENTS(algorithms); i++)
        {
            g_autofree char *line =
                g_strdup_printf("profile -q matmul -d " DEVICE " --runs 3 --no-peak --conv %s", algorithms[i]);
            run_line(bench, line, &ended);
            assert_complaint(&ended, 1, DEVICE ": matmul has no convolutions to choose an algorithm for");
        }
    run_line(bench, "tune --clear --json rows.json", &ended);
    assert_complaint(&ended, 2, "one of them, not both");
    run_line(bench, "profile -q " MODEL " -d simulated:lab/FIXED --runs 3 --no-peak --conv direct", &ended);
    assert_complaint(&ended, 1,
                     "direct cannot do any layer of small-cnn (simulated:lab/FIXED describes no such algorithm)");
    run_line(bench, "profile -q " MODEL " -d openvino:CPU --runs 3 --no-peak --conv direct", &ended);
    assert_complaint(&ended, 1, "openvino:CPU: convolution algorithms run on onnxruntime:CPU and onnxruntime:CUDA alone");
}

/* "best" fills the cache, which `tune` shows and clears. */
static void test_tune(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    if (!bench_needs_device(bench, DEVICE, ""))
        return;
    g_autofree char *script =
        g_strdup_printf("export XDG_CACHE_HOME=\"$PWD/cache\"; \"$INFEROMETER\" tune && \"$INFEROMETER\" profile -q " MODEL
                        " -d " DEVICE " -t 1 --runs 3 --no-peak --no-nodes --conv best && \"$INFEROMETER\" tune --json "
                        "rows.json && \"$INFEROMETER\" tune --clear && \"$INFEROMETER\" tune --cache "
                        "cache/inferometer/convolutions.json");
    run_shell(bench, "/bin/sh", script, &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "layer shape"));
    const char *first = strstr(ended.out, "nothing is tuned yet");
    g_assert_nonnull(first);
    g_assert_nonnull(strstr(first + 1, "nothing is tuned yet"));
    g_autofree char *path = bench_path(bench, "rows.json");
    json_auto_t *json = ifm_json_load(path, NULL);
    /* two layer shapes; and the whole, where an algorithm of ours was chosen */
    const json_t *rows = json_object_get(json, "rows");
    gsize i;
    json_t *row;
    gboolean is_chosen = FALSE;
    json_array_foreach(rows, i, row) is_chosen |= i < 2 && g_strcmp0(text_at(row, "algorithm"), "runtime") != 0;
    g_assert_cmpuint(json_array_size(rows), ==, is_chosen ? 3 : 2);
    g_assert_cmpint(is_chosen, ==,
                    g_str_has_prefix(text_at(json_array_get(rows, json_array_size(rows) - 1), "shape"), "the whole: "));
}

/* An empty name of an instruction set is none, and one that is none is refused. */
static void test_isa(Bench *bench, gconstpointer data)
{
    static const char command[] = "\"$INFEROMETER\" profile -q " MODEL " -d " DEVICE
                                  " -t 1 --runs 3 --no-peak --no-nodes --conv implicit_gemm -o out";
    g_auto(Ended) ended = { 0 };
    if (!bench_needs_device(bench, DEVICE, ""))
        return;
    g_autofree char *empty = g_strconcat("IFM_CONV_ISA= ", command, NULL),
                    *wrong = g_strconcat("IFM_CONV_ISA=avx3 ", command, NULL);
    run_shell(bench, "/bin/sh", empty, &ended);
    assert_status(&ended, 0);
    run_shell(bench, "/bin/sh", wrong, &ended);
    assert_complaint(&ended, 3, "no instruction set \"avx3\": avx512, avx2 or portable is expected");
}

/* Where the cache cannot be written, as below a file, "best" works without one and says so once; nothing is left. */
static void test_no_cache(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    if (!bench_needs_device(bench, DEVICE, ""))
        return;
    run_shell(bench, "/bin/sh",
              "echo > home; unset XDG_CACHE_HOME IFM_TUNING_CACHE; HOME=\"$PWD/home\" \"$INFEROMETER\" profile -q " MODEL
              " -d " DEVICE " -t 1 --runs 3 --no-peak --no-nodes --conv best -o out",
              &ended);
    assert_status(&ended, 0);
    g_autoptr(GRegex) blanks = g_regex_new("\\s+", 0, 0, NULL);
    g_autofree char *text = g_regex_replace_literal(blanks, ended.out, -1, 0, " ", 0, NULL);
    static const char said[] = "home/.cache/inferometer/convolutions.json: Not a directory: what best measured is not kept";
    const char *first = strstr(text, said);
    g_assert_nonnull(first);
    g_assert_null(strstr(first + strlen(said), "is not kept"));
    g_assert_nonnull(strstr(ended.out, "Convolutions of " DEVICE ": 2 layers:"));
}

/* A file that is no cache is refused, and stays. */
static void test_tune_refusal(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    bench_write(bench, "other.json", "[]", 2);
    run_line(bench, "tune --cache other.json", &ended);
    assert_complaint(&ended, 3, "other.json");
}

/* A model is written where it is told apart as faster, and else the exit status says that there is none. */
static void test_tune_model(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *path = bench_path(bench, "tuned.onnx");
    static const struct
    {
        const char *line;
        int status;
        const char *complaint;
    } refused[] = {
        { "tune small-cnn", 2, "needs -o FILE" },
        { "tune small-cnn --list -o tuned.onnx", 2, "--list is of the cache: it takes no model" },
        { "tune small-cnn --cache none.json", 2, "--cache is of the cache: it takes no model" },
        { "tune -o tuned.onnx", 2, "--out is of tuning a model: name one" },
        { "tune --dim N=1 --json -", 2, "--dim is of tuning a model: name one" },
        { "tune --show plain.onnx --threads 1", 2, "--threads is of tuning a model: name one" },
        { "tune --show plain.onnx --clear", 2, "--clear" },
        { "tune small-cnn --show tuned.onnx", 2, "--show FILE looks at a tuned model" },
        { "tune matmul -o tuned.onnx", 3, "has no convolution" },
        { "tune small-cnn -o no/folder/tuned.onnx", 4, "cannot be written" },
        { "tune --show plain.onnx", 3, "plain.onnx is not tuned" },
    };
    run_line(bench, "zoo export small-cnn size=32 -o plain.onnx", &ended);
    for (gsize i = 0; i < G_N_ELEMENTS(refused); i++)
    {
        run_line(bench, refused[i].line, &ended);
        assert_complaint(&ended, refused[i].status, refused[i].complaint);
        g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
    }
    if (!bench_needs_device(bench, DEVICE, ""))
        return;
    run_line(bench, "tune plain.onnx -d " DEVICE " -t 1 --time-budget 2s -q -o tuned.onnx --json tuned.json", &ended);
    g_assert_cmpint(ended.status, ==, g_file_test(path, G_FILE_TEST_EXISTS) ? 0 : 1);
    g_autofree char *file = bench_path(bench, "tuned.json");
    json_auto_t *json = ifm_json_load(file, NULL);
    g_assert_cmpuint(json_array_size(json_object_get(json, "layers")), ==, 2);
    g_assert_true(json_is_string(json_object_get(json, "written")) == (ended.status == 0));
    if (ended.status == 0)
        run_line(bench, "tune --show tuned.onnx", &ended);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/profile-conv/record", Bench, NULL, bench_init, test_record, bench_clear);
    g_test_add("/profile-conv/without", Bench, NULL, bench_init, test_without, bench_clear);
    g_test_add("/profile-conv/page", Bench, NULL, bench_init, test_page, bench_clear);
    g_test_add("/profile-conv/refused", Bench, NULL, bench_init, test_refused, bench_clear);
    g_test_add("/profile-conv/isa", Bench, NULL, bench_init, test_isa, bench_clear);
    g_test_add("/profile-conv/tune", Bench, NULL, bench_init, test_tune, bench_clear);
    g_test_add("/profile-conv/tune-model", Bench, NULL, bench_init, test_tune_model, bench_clear);
    g_test_add("/profile-conv/tune-refusal", Bench, NULL, bench_init, test_tune_refusal, bench_clear);
    g_test_add("/profile-conv/no-cache", Bench, NULL, bench_init, test_no_cache, bench_clear);
    g_test_add("/profile-conv/misuse", Bench, NULL, bench_init, test_misuse, bench_clear);
    return g_test_run();
}
