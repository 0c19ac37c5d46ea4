/* One way to open a model, whichever verb names it: its sizes, inputs, functions and files. */
#include "harness.h"

#define QUICK " -q --runs 3 --warmup 1 --no-nodes --no-peak -p runtime -d onnxruntime:CPU"

/* Puts a file of tests/data/opened into the folder. */
static void put_as(const Bench *bench, const char *name, const char *as)
{
    g_autofree char *path = g_build_filename(IFM_SOURCE_DIR, "tests", "data", "opened", name, NULL), *bytes = NULL;
    gsize length;
    g_assert_true(g_file_get_contents(path, &bytes, &length, NULL));
    bench_write(bench, as, bytes, length);
}

static void put(const Bench *bench, const char *name)
{
    put_as(bench, name, name);
}

static void assert_page(const Bench *bench, const char *line, const char *part)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, line, &ended);
    assert_status(&ended, 0);
    if (strstr(ended.out, part) == NULL)
        g_error("%s: \"%s\" is not in %s", line, part, ended.out);
}

/* What a profile says of a model that nothing is run of. */
static void test_counted(Bench *bench, gconstpointer data)
{
    put(bench, "func_nested.onnx");
    put(bench, "loop_if.onnx");
    put(bench, "t_stft.onnx");
    put(bench, "t_stft.onnx.data");
    assert_page(bench, "profile func_nested.onnx --profile flops", "all 6 nodes are counted");
    assert_page(bench, "profile loop_if.onnx --profile flops", "how often it turns depends on values");
    /* a comparison and an addition at most, five times */
    assert_page(bench, "profile loop_if.onnx --profile flops --input trip=5 --input c0=1", "upper bound 10 FLOP");
    assert_page(bench, "profile loop_if.onnx --profile flops --input trip=7 --input c0=1", "upper bound 14 FLOP");
    assert_page(bench, "profile t_stft.onnx --profile flops", "not counted: STFT (1 node): no rule for this operator");
    g_autofree char *models = bench_path(bench, "out"); /* to look at it, nothing is written */
    g_assert_false(g_file_test(models, G_FILE_TEST_EXISTS));
}

static void test_huge(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    put(bench, "tiny.onnx");
    put(bench, "huge.npy");
    run_line(bench, "profile tiny.onnx --input x=huge.npy" QUICK, &ended);
    assert_complaint(&ended, 3, "huge.npy: f32 [9223372036854775807,9223372036854775807] is larger than any memory");
}

/* An engine gets a model without functions of its own; an empty cache is a size. */
static void test_run(Bench *bench, gconstpointer data)
{
    static const char *const devices[] = { "onnxruntime:CPU", "openvino:CPU" };
    put(bench, "func_nested.onnx");
    put(bench, "functions.onnx");
    put(bench, "kv_zero.onnx");
    for (gsize i = 0; i < G_N_ELEMENTS(devices); i++)
    {
        g_autofree char *quick = g_strdup_printf("-q --runs 3 --no-nodes --no-peak -p runtime -d %s", devices[i]);
        g_autofree char *nested = g_strdup_printf("profile func_nested.onnx %s", quick),
                        *functions = g_strdup_printf("profile functions.onnx --input c=1 %s", quick),
                        *zero = g_strdup_printf("profile kv_zero.onnx --dim P=0 %s", quick),
                        *any = g_strdup_printf("profile kv_zero.onnx --dim *=0 %s", quick);
        if (!bench_has_device(bench, devices[i], ""))
        {
            g_test_message("SKIP: no %s here", devices[i]);
            continue;
        }
        assert_page(bench, nested, "equal");
        assert_page(bench, functions, "equal");
        assert_page(bench, zero, "past f32 [1, 0, 16]");
        assert_page(bench, any, "past f32 [1, 0, 16]");
    }
}

/* Texts are read from a file of ONNX, and fed; nothing is made up. Of what cannot be fed, one line says what it is. */
static void test_texts(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *line;
        int status;
        const char *part;
    } refused[] = {
        { "profile string_in.onnx" QUICK, 3, "input 's' takes texts, which are not made up: --input s=FILE.pb feeds some" },
        { "profile string_in.onnx --input s=a" QUICK, 2, "\"a\" is no file, and texts are read from one (.pb)" },
        { "profile string_in.onnx --input s=huge.npy" QUICK, 3, "is larger than any memory" },
        { "profile tiny.onnx --input x=words.pb" QUICK, 3, "words.pb: string [5,1], but input 'x' takes f32 [1, 16]" },
    };
    put(bench, "string_in.onnx");
    put(bench, "words.pb");
    put(bench, "huge.npy");
    put(bench, "tiny.onnx");
    for (gsize i = 0; i < G_N_ELEMENTS(refused); i++)
    {
        g_auto(Ended) ended = { 0 };
        run_line(bench, refused[i].line, &ended);
        assert_complaint(&ended, refused[i].status, refused[i].part);
    }
    if (bench_needs_device(bench, "onnxruntime:CPU", ""))
        assert_page(bench, "profile string_in.onnx --input s=words.pb" QUICK, "equal");
}

/* The same words for every verb that takes a model. */
static void test_verbs(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *line, *part;
    } cases[] = {
        { "kernels list kv_zero.onnx --dim P=4", "P=4" },
        { "kernels list kv_zero.onnx --dim *=3", "P=3" },
        { "kernels list squeezenet,size=64 --batch 2", "N=2" },
        { "kernels list func_nested.onnx --input x=0.5", "exact" },
        { "kernels run kv_zero.onnx --dim *=0 --runs 2 --input x=0.5", "kv_zero.onnx" },
        { "compare kv_zero.onnx kv_zero.onnx --dim *=2 --input x=0..1 --max-pairs 5 --time-budget 2s -q", "model kv_zero" },
        { "compare squeezenet,size=32 squeezenet,size=32 --batch 2 --max-pairs 5 --time-budget 2s -q --json -",
          "\"N\": 2" },
    };
    static const struct
    {
        const char *line;
        int status;
        const char *part;
    } refused[] = {
        { "kernels list kv_zero.onnx", 3, "1 dimension of its inputs is free: add --dim P=SIZE" },
        { "kernels list kv_zero.onnx --dim Q=1", 3, "no input has a free dimension 'Q'" },
        { "kernels list kv_zero.onnx --dim P", 2, "is not NAME=SIZE" },
        { "kernels run kv_zero.onnx --dim P", 2, "is not NAME=SIZE" },
        { "kernels list tiny.onnx --input x=huge.npy", 3, "is larger than any memory" },
        { "kernels list tiny.onnx --input q=1", 3, "has no input 'q'" },
        { "kernels list functions-endless.onnx", 3, "does it call itself" },
        { "profile functions-endless.onnx -q", 3, "does it call itself" },
        { "predict kv_zero.onnx --dim P --with none.json", 4, "none.json" },
    };
    put(bench, "kv_zero.onnx");
    put(bench, "tiny.onnx");
    put(bench, "huge.npy");
    put(bench, "func_nested.onnx");
    put(bench, "functions-endless.onnx");
    for (gsize i = 0; i < G_N_ELEMENTS(refused); i++)
    {
        g_auto(Ended) ended = { 0 };
        run_line(bench, refused[i].line, &ended);
        assert_complaint(&ended, refused[i].status, refused[i].part);
    }
    const gboolean can_run = bench_needs_device(bench, "onnxruntime:CPU", "");
    for (gsize i = 0; can_run && i < G_N_ELEMENTS(cases); i++)
        assert_page(bench, cases[i].line, cases[i].part);
}

/* Studies open models as the verbs do: all free dimensions at once, what inputs are fed, models that are measured whole. */
static void test_studies(Bench *bench, gconstpointer data)
{
    static const char points[] =
        "title: points\nkind: profile\nmodels: [kv_zero.onnx]\ndims: [{name: \"*\", sizes: [0, 2]}]\n"
        "inputs: [\"x=0.5\"]\ndevices: {A: {device: \"onnxruntime:CPU\"}}\n"
        "protocol: {warmup: 1, runs: 2}\n";
    static const char kernels[] =
        "title: kernels\nkind: kernels-under-load\nmodels: [kv_zero.onnx]\nheld_out: [./other.onnx]\ndims: [\"P=3\"]\n"
        "inputs: [\"x=0..1\"]\nshapes: 1\nloaded: 0\nvisits: 1\ndevices: {A: {device: \"onnxruntime:CPU@0\"}}\n"
        "protocol: {warmup: 1, runs: 2}\n";
    static const char wrong[] = "title: wrong\nkind: kernels-under-load\nmodels: [kv_zero.onnx]\ndims: [\"Q=3\"]\n"
                                "devices: {A: {device: \"onnxruntime:CPU@0\"}}\n";
    g_auto(Ended) ended = { 0 };
    if (!bench_needs_device(bench, "onnxruntime:CPU", ""))
        return;
    put(bench, "kv_zero.onnx");
    put_as(bench, "kv_zero.onnx", "other.onnx");
    bench_write(bench, "points.yaml", points, strlen(points));
    bench_write(bench, "kernels.yaml", kernels, strlen(kernels));
    bench_write(bench, "wrong.yaml", wrong, strlen(wrong));
    assert_page(bench, "study run points.yaml", "2 cases: 2 measured, 0 failed");
    g_autofree char *path = bench_path(bench, "out/points/points.csv"), *csv = NULL;
    g_assert_true(g_file_get_contents(path, &csv, NULL, NULL));
    g_assert_nonnull(strstr(csv, "kv_zero.onnx,0,A,"));
    g_assert_nonnull(strstr(csv, "kv_zero.onnx,2,A,"));
    assert_page(bench, "study run kernels.yaml", "0 failed");
    run_line(bench, "study run wrong.yaml", &ended);
    assert_complaint(&ended, 3, "its models cannot be written: kv_zero: no input has a free dimension 'Q' (free: P)");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/model-open/counted", Bench, NULL, bench_init, test_counted, bench_clear);
    g_test_add("/model-open/huge", Bench, NULL, bench_init, test_huge, bench_clear);
    g_test_add("/model-open/run", Bench, NULL, bench_init, test_run, bench_clear);
    g_test_add("/model-open/texts", Bench, NULL, bench_init, test_texts, bench_clear);
    g_test_add("/model-open/verbs", Bench, NULL, bench_init, test_verbs, bench_clear);
    g_test_add("/model-open/studies", Bench, NULL, bench_init, test_studies, bench_clear);
    return g_test_run();
}
