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
    g_assert_cmpstr(of_file.out, ==, ended.out);

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
        { "kernels list " MODEL " --dim N=0", "--dim", 2 },
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
    g_test_add("/kernels-verb/refused", Bench, NULL, bench_init, test_refused, bench_clear);
    return g_test_run();
}
