#include <math.h>
#include <onnx/onnx.h>

#include "cli/harness.h"

/* The verbs of kernels, from a model of the zoo to files of records and back. */

#define MODEL "resnet18,size=64"

static void run_with_cache(const Bench *bench, const char *line, Ended *ended)
{
    g_autofree char *whole = g_strdup_printf("%s --cache kept", line);
    run_line(bench, whole, ended);
}

static void test_walk(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 }, of_file = { 0 };
    if (!bench_needs_device(bench, "onnxruntime:CPU", ""))
        return;
    run_with_cache(bench, "kernels list " MODEL, &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.err, ==, "");
    g_assert_nonnull(strstr(ended.out, "Conv_Add_Relu"));
    run_with_cache(bench, "kernels export " MODEL " -o records.json --graph graph.onnx", &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.out, ==, "");

    run_line(bench, "kernels list records.json --json -", &of_file);
    run_with_cache(bench, "kernels list " MODEL " --json -", &ended);
    assert_status(&of_file, 0);
    assert_status(&ended, 0);
    json_auto_t *from_file = parse_output(&of_file), *from_model = parse_output(&ended);
    json_object_del(from_file, "summary"); /* which has the command */
    json_object_del(from_model, "summary");
    g_assert_true(json_equal(from_file, from_model));

    run_line(bench, "kernels show records.json Conv_Add_Relu --json shown.json", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "com.microsoft.nchwc.Conv"));
    run_line(bench, "kernels show records.json Conv_Ad", &ended);
    assert_complaint(&ended, 3, "resnet18,size=64 has no kernel \"Conv_Ad\"");
    run_line(bench, "kernels dag records.json -o -", &ended);
    assert_status(&ended, 0);
    json_auto_t *dag = parse_output(&ended);
    g_assert_cmpuint(json_array_size(json_object_get(dag, "kernels")), >, 20);

    run_line(bench, "kernels extract records.json --graph graph.onnx --kernel Conv_Add_Relu -o alone", &ended);
    assert_status(&ended, 0);
    g_auto(GStrv) files = g_strsplit(g_strchomp(ended.out), "\n", -1);
    g_assert_cmpuint(g_strv_length(files), ==, 4); /* one for each number of channels */
    for (char **file = files; *file != NULL; file++)
    {
        g_autofree char *path = g_build_filename(bench->folder, "alone", *file, NULL);
        g_assert_true(g_str_has_prefix(*file, "Conv_Add_Relu_1x") && g_str_has_suffix(*file, ".onnx"));
        g_assert_true(g_file_test(path, G_FILE_TEST_IS_REGULAR));
    }
    run_line(bench, "kernels extract records.json --kernel Conv_Add_Relu --ring -o ring", &ended);
    assert_status(&ended, 0);
    g_autofree char *measured =
        g_strdup_printf("kernels run alone/%s ring/%s --warmup 1 --runs 5 --json -", files[0], files[0]);
    run_line(bench, measured, &ended);
    assert_status(&ended, 0);
    json_auto_t *times = parse_output(&ended);
    g_assert_cmpint(json_integer_value(json_object_get(json_array_get(times, 0), "n_copies")), ==, 1);
    g_assert_cmpint(json_integer_value(json_object_get(json_array_get(times, 1), "n_copies")), >, 1);
    g_assert_cmpfloat(json_number_value(json_object_get(json_array_get(times, 1), "median_ns")), >, 0);
    run_line(bench, "kernels extract records.json --kernel Softmax -o none", &ended);
    assert_complaint(&ended, 1, "no kernel of that name");
    run_with_cache(bench, "kernels extract resnet18,size=96 --graph graph.onnx -o other", &ended); /* the same weights */
    assert_status(&ended, 0);
    run_with_cache(bench, "kernels extract vit,size=32,layers=1 --graph graph.onnx -o other", &ended);
    assert_complaint(&ended, 3, "graph: not the optimised graph of vit,size=32,layers=1: the weight");

    run_with_cache(bench, "kernels list graph.onnx", &ended); /* what is optimised is not a model as written */
    assert_complaint(&ended, 3, "the graph that a runtime optimised; the model as written is expected");
    assert_none_left(bench);
}

/* Those of one copy: a simulated device takes the time it is described with, whatever the model. */
static void test_run(Bench *bench, gconstpointer data)
{
    static const char *const files[] = { "plain.onnx", "ring.onnx" };
    g_auto(Ended) ended = { 0 };
    double median_ns[G_N_ELEMENTS(files)];
    for (gsize i = 0; i < G_N_ELEMENTS(files); i++)
    {
        g_autoptr(GError) error = NULL;
        g_autofree char *path = bench_path(bench, files[i]);
        g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("relu", 17);
        const gint64 dims[] = { 1, 8 };
        ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, dims, NULL);
        ifm_model_builder_node(builder, "Relu", "relu", (const char *const[]){ "x", NULL },
                               (const char *const[]){ "y", NULL });
        ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, dims, NULL);
        if (i == 1)
            ifm_model_builder_metadata(builder, "inferometer.copies", "4");
        g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
        g_assert_no_error(error);
        g_assert_true(ifm_model_save(model, path, &error));
    }
    run_line(bench, "kernels run plain.onnx ring.onnx missing.onnx -d simulated:lab/FIXED --runs 7 --no-warmup --json -",
             &ended);
    assert_status(&ended, 1);
    json_auto_t *rows = parse_output(&ended);
    g_assert_cmpuint(json_array_size(rows), ==, 3);
    for (gsize i = 0; i < G_N_ELEMENTS(files); i++)
    {
        const json_t *row = json_array_get(rows, i);
        const char *start = json_string_value(json_object_get(row, "start"));
        const char *end = json_string_value(json_object_get(row, "end"));
        median_ns[i] = json_number_value(json_object_get(row, "median_ns"));
        g_assert_cmpint(json_integer_value(json_object_get(row, "n_runs")), ==, 7);
        g_assert_cmpint(json_integer_value(json_object_get(row, "n_copies")), ==, i == 0 ? 1 : 4);
        g_assert_true(g_regex_match_simple("^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$", start, 0, 0));
        g_assert_cmpstr(start, <=, end);
    }
    g_assert_cmpfloat(median_ns[0], >, 0);
    g_assert_cmpfloat_with_epsilon(median_ns[1] * 4, median_ns[0], median_ns[0] * 1e-6);
    const char *reason = json_string_value(json_object_get(json_array_get(rows, 2), "reason"));
    g_assert_nonnull(strstr(reason, "missing.onnx"));

    /* what it measured is in its store: with --resume only what is missing is measured */
    g_auto(Ended) before = { 0 }, after = { 0 };
    run_line(bench, "store export out/kernels/store.db --format csv -o -", &before);
    assert_status(&before, 0);
    g_assert_nonnull(strstr(before.out, "ring"));
    run_line(bench, "kernels run plain.onnx ring.onnx -d simulated:lab/FIXED --runs 7 --no-warmup --resume --json -",
             &ended);
    assert_status(&ended, 0);
    json_auto_t *resumed = parse_output(&ended);
    g_assert_true(json_equal(json_array_get(resumed, 0), json_array_get(rows, 0)));
    g_assert_true(json_equal(json_array_get(resumed, 1), json_array_get(rows, 1)));
    run_line(bench, "store export out/kernels/store.db --format csv -o -", &after);
    g_assert_cmpstr(after.out, ==, before.out);

    static const char *const lines[] = { " INFO inferometer .* begins: kernels run plain\\.onnx missing\\.onnx",
                                         " INFO plain\\.onnx on simulated:lab/FIXED: begins$",
                                         " INFO plain\\.onnx on simulated:lab/FIXED: measured$",
                                         " INFO missing\\.onnx on simulated:lab/FIXED: .*missing\\.onnx",
                                         " INFO ends after .* with status 1$" };
    g_autofree char *log = bench_path(bench, "run.log"), *logged = NULL;
    bench_write(bench, "run.log", "kept\n", 5);
    run_line(bench, "kernels run plain.onnx missing.onnx -q -d simulated:lab/FIXED --runs 3 --log run.log", &ended);
    assert_status(&ended, 1);
    g_assert_true(g_file_get_contents(log, &logged, NULL, NULL));
    g_assert_true(g_str_has_prefix(logged, "kept\n"));
    for (gsize i = 0; i < G_N_ELEMENTS(lines); i++)
    {
        g_autofree char *whole = g_strconcat("^\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z", lines[i], NULL);
        g_assert_true(g_regex_match_simple(whole, logged, G_REGEX_MULTILINE, 0));
    }
    run_line(bench, "kernels run plain.onnx -d simulated:lab/FIXED --log /no/such/run.log", &ended);
    assert_complaint(&ended, 2, "--log: /no/such/run.log: cannot be written");
    run_line(bench, "kernels run plain.onnx -d simulated:lab/FIXED --log plain.onnx", &ended);
    g_assert_cmpint(ended.status, ==, 2);
    run_line(bench, "kernels run plain.onnx -d simulated:lab/FIXED --runs 0", &ended);
    assert_complaint(&ended, 2, "--runs");
    run_line(bench, "kernels run plain.onnx -d simulated:lab/FIXED --warmup 3 --no-warmup", &ended);
    assert_complaint(&ended, 2, "--warmup and --no-warmup");
    assert_none_left(bench);
}

static guint count_lines(const char *text)
{
    guint n = 0;
    for (; *text != '\0'; text++)
        n += *text == '\n';
    return n;
}

/* A folder with broken files: each is a row and a line, the others are there, and only files that were written are named.
 */
static void test_half_broken(Bench *bench, gconstpointer data)
{
    static const char *const lines[] = { "kernels list many --json out.json --html out.html",
                                         "kernels extract many -o made --json out.json --html out.html" };
    g_auto(Ended) ended = { 0 };
    if (!bench_needs_device(bench, "onnxruntime:CPU", ""))
        return;
    g_autofree char *folder = bench_path(bench, "many");
    g_assert_cmpint(g_mkdir(folder, 0755), ==, 0);
    run_line(bench, "zoo export small-cnn size=16 -o many/good.onnx", &ended);
    assert_status(&ended, 0);
    run_with_cache(bench, "kernels export many/good.onnx -o many/records.json", &ended);
    assert_status(&ended, 0);
    bench_write(bench, "many/bad.onnx", "no model", 8);
    bench_write(bench, "many/bad.json", "{\"kernel_records\": 1, \"kernels\": [", 36);
    bench_write(bench, "many/config.json", "{}", 2);
    for (gsize i = 0; i < G_N_ELEMENTS(lines); i++)
    {
        g_autofree char *page = bench_path(bench, "out.html"), *html = NULL;
        run_with_cache(bench, lines[i], &ended);
        assert_status(&ended, 1);
        g_assert_cmpuint(count_lines(ended.err), ==, 2);
        g_assert_nonnull(strstr(ended.err, "inferometer: many/bad.json"));
        g_assert_nonnull(strstr(ended.err, "inferometer: many/bad.onnx"));
        g_assert_true(g_file_get_contents(page, &html, NULL, NULL));
        g_assert_nonnull(strstr(html, "</html>"));
    }
    g_auto(GStrv) files = g_strsplit(g_strchomp(ended.out), "\n", -1);
    g_assert_cmpuint(g_strv_length(files), >, 3);
    for (char **file = files; *file != NULL; file++)
    {
        g_autofree char *path = g_build_filename(bench->folder, "made", *file, NULL);
        g_assert_true(g_file_test(path, G_FILE_TEST_IS_REGULAR));
    }
    run_with_cache(bench, "kernels list many --json -", &ended);
    assert_status(&ended, 1);
    json_auto_t *json = parse_output(&ended);
    g_autofree char *text = json_dumps(json, 0);
    g_assert_nonnull(strstr(text, "many/bad.onnx"));
    /* a folder of kernels: each is what it was extracted as */
    run_with_cache(bench, "kernels list made --json -", &ended);
    assert_status(&ended, 0);
    for (char **file = files; *file != NULL; file++)
    {
        const char *digits = strrchr(*file, '-') + 1;
        g_autofree char *digest = g_strndup(digits, 8);
        g_assert_nonnull(strstr(ended.out, digest));
    }
    run_line(bench, "kernels run made many -d simulated:ideal/GPU --runs 3 --no-warmup --json -", &ended);
    assert_status(&ended, 1);
    json_auto_t *rows = parse_output(&ended);
    g_assert_cmpuint(json_array_size(rows), ==, g_strv_length(files) + 2); /* records are no models to run */
    run_with_cache(bench, "kernels list many/bad.onnx many/bad.json", &ended);
    assert_status(&ended, 3);
    g_assert_cmpuint(count_lines(ended.err), ==, 2);
    run_with_cache(bench, "kernels list many/bad.onnx", &ended);
    assert_complaint(&ended, 3, "many/bad.onnx");
    assert_none_left(bench);
}

/* Ended meanwhile, it says so by its status and leaves nothing. */
static void test_interrupted(Bench *bench, gconstpointer data)
{
    static const char *const lines[] = { "kernels list resnet152 vgg16 --no-cache --cache kept",
                                         "kernels extract resnet152 vgg16 -o made --no-cache --cache kept" };
    if (!bench_needs_device(bench, "onnxruntime:CPU", ""))
        return;
    for (gsize i = 0; i < G_N_ELEMENTS(lines); i++)
    {
        g_autofree char *made = bench_path(bench, "made");
        g_autoptr(GSubprocess) process = start_line(bench, lines[i]);
        while (count_marked(bench) < 2) /* itself and its worker */
            g_usleep(10000);
        g_subprocess_send_signal(process, SIGTERM);
        g_subprocess_wait(process, NULL, NULL);
        g_assert_cmpint(status_of(process), ==, 128 + SIGTERM);
        g_assert_false(g_file_test(made, G_FILE_TEST_EXISTS));
        assert_none_left(bench);
    }
}

/* Free sizes of a file are filled as profile fills them, by every verb and with the same words. */
static void test_free_sizes(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *options;
        int status;
        const char *said;
    } rows[] = {
        { "--batch 3", 0, "N=3" },
        { "--dim N=4", 0, "N=4" },
        { "--dim *=2", 0, "N=2" },
        { "--input image=0..1 --dim N=5", 0, "N=5" },
        { "--dim M=4", 3, "M" },
        { "--dim N", 2, "\"N\" is not NAME=SIZE" },
        { "--input none=1", 3, "none" },
        { "--input image=a..b", 2, "no number and no range" },
        { "--batch 3 --dim N=4", 2, "--batch and --dim N: the size of one dimension is given twice" },
    };
    g_auto(Ended) ended = { 0 }, of_profile = { 0 };
    if (!bench_needs_device(bench, "onnxruntime:CPU", ""))
        return;
    run_line(bench, "zoo export small-cnn batch=0 size=16 -o free.onnx", &ended);
    assert_status(&ended, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autofree char *list = g_strdup_printf("kernels list free.onnx %s --json -", rows[i].options),
                        *extract = g_strdup_printf("kernels extract free.onnx %s -o made-%zu", rows[i].options, i),
                        *dag = g_strdup_printf("kernels dag free.onnx %s -o dag.json", rows[i].options),
                        *show = g_strdup_printf("kernels show free.onnx %s Gemm", rows[i].options),
                        *export = g_strdup_printf("kernels export free.onnx %s -o -", rows[i].options),
                        *run = g_strdup_printf("kernels run free.onnx %s -d simulated:ideal/GPU --runs 2 --json -",
                                               rows[i].options),
                        *profile = g_strdup_printf("profile free.onnx %s -d simulated:ideal/GPU --runs 2 --json -",
                                                   rows[i].options);
        const char *const lines[] = { list, extract, dag, show, export };
        run_line(bench, profile, &of_profile);
        assert_status(&of_profile, rows[i].status);
        for (gsize k = 0; k < G_N_ELEMENTS(lines); k++)
        {
            run_with_cache(bench, lines[k], &ended);
            assert_status(&ended, rows[i].status);
            if (rows[i].status == 0 && k == 0)
                g_assert_nonnull(strstr(ended.out, rows[i].said));
            if (rows[i].status != 0)
                assert_complaint(&ended, rows[i].status, rows[i].said);
        }
        run_line(bench, run, &ended);
        g_assert_cmpint(ended.status == 0, ==, rows[i].status == 0); /* a file that fails is a row */
    }
    run_with_cache(bench, "kernels export free.onnx --batch 2 -o two.json", &ended);
    assert_status(&ended, 0);
    run_with_cache(bench, "kernels list two.json --batch 3", &ended);
    assert_complaint(&ended, 3, "two.json: records have the sizes of their export");
    assert_none_left(bench);
}

static void test_refused(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *line, *part;
        int status;
    } rows[] = {
        { "kernels list no-such", "no-such: no such file, nor in the zoo", 3 },
        { "kernels list no-such.onnx", "no-such.onnx", 4 },
        { "kernels list no-such.json", "no-such.json", 4 },
        { "kernels list broken.json", "broken.json:1:", 3 },
        { "kernels list " MODEL " -d none:CPU", "unknown engine \"none\"", 3 },
        { "kernels list " MODEL " --dim N=x", "--dim", 2 },
        { "kernels export " MODEL " -o /no/such/file.json", "/no/such/file.json", 4 },
    };
    g_auto(Ended) ended = { 0 };
    bench_write(bench, "broken.json", "{\"kernel_records\": 1", 20);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        run_with_cache(bench, rows[i].line, &ended);
        assert_complaint(&ended, rows[i].status, rows[i].part);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/kernels-verb/walk", Bench, NULL, bench_init, test_walk, bench_clear);
    g_test_add("/kernels-verb/run", Bench, NULL, bench_init, test_run, bench_clear);
    g_test_add("/kernels-verb/half-broken", Bench, NULL, bench_init, test_half_broken, bench_clear);
    g_test_add("/kernels-verb/interrupted", Bench, NULL, bench_init, test_interrupted, bench_clear);
    g_test_add("/kernels-verb/free-sizes", Bench, NULL, bench_init, test_free_sizes, bench_clear);
    g_test_add("/kernels-verb/refused", Bench, NULL, bench_init, test_refused, bench_clear);
    return g_test_run();
}
