#include <inferometer/onnx.h>

#include "cli/harness.h"

/* Whose work a runtime's layers do, told by the graph that the runtime made: on ONNX Runtime itself. */

static double number_at(const json_t *json, const char *key)
{
    const json_t *found = json_object_get(json, key);
    g_assert_true(json_is_number(found));
    return json_number_value(found);
}

static const json_t *first_case(const json_t *json)
{
    return json_array_get(json_object_get(json, "cases"), 0);
}

/* profile_layers: Returns: (transfer full) the document of a profile of @model. */
static json_t *profile_layers(const Bench *bench, const char *model)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *line = g_strdup_printf(
        "profile %s --profile layers,flops -q --runs 2 --warmup 1 --no-limit --no-verify -o o --json -", model);
    run_line(bench, line, &ended);
    assert_status(&ended, 0);
    return parse_output(&ended);
}

/* That the runtime's own graph told every layer, and as many MACs as the model has. */
static void check_told_by_graph(const json_t *json)
{
    const json_t *layers = json_object_get(first_case(json), "layers"), *row;
    size_t i;
    double macs = 0;
    g_assert_cmpstr(json_string_value(json_object_get(layers, "told_by")), ==, "the graph as the runtime optimised it");
    g_assert_true(json_is_null(json_object_get(layers, "why_names")));
    g_assert_cmpfloat(number_at(layers, "n_by_names"), ==, 0);
    json_array_foreach(json_object_get(layers, "rows"), i, row)
    {
        if (!json_is_number(json_object_get(row, "macs")))
            g_test_message("%s: not known", json_string_value(json_object_get(row, "name")));
        macs += number_at(row, "macs");
    }
    g_assert_cmpfloat(number_at(layers, "n_unknown"), ==, 0);
    g_assert_cmpfloat(macs, >=, number_at(json_object_get(json, "flops"), "total_macs"));
}

/* Weights in a file beside the model: the saved graph refers to them by a path that leads nowhere from where it lies. */
static void test_external(Bench *bench, gconstpointer data)
{
    if (!bench_needs_device(bench, "onnxruntime:CPU", ""))
        return;
    json_auto_t *json = profile_layers(bench, "resnet18,size=64");
    g_autofree char *weights = bench_path(bench, "o/models/resnet18.seed1.weights");
    g_assert_true(g_file_test(weights, G_FILE_TEST_EXISTS));
    check_told_by_graph(json);
}

/* 138 million weights: half a gigabyte, of which the saved graph has nothing. */
static void test_large(Bench *bench, gconstpointer data)
{
    if (!bench_needs_device(bench, "onnxruntime:CPU", ""))
        return;
    json_auto_t *json = profile_layers(bench, "vgg16,size=32");
    check_told_by_graph(json);
}

/* x -> Conv -> Relu -> Conv -> Relu -> Flatten -> MatMul -> MatMul, and none has a name. */
static void test_nameless(Bench *bench, gconstpointer data)
{
    static const gint64 x[] = { 1, 3, 16, 16 }, w1[] = { 32, 3, 3, 3 }, w2[] = { 32, 32, 3, 3 },
                        d1[] = { 32 * 12 * 12, 10 }, d2[] = { 10, 10 }, y[] = { 1, 10 };
    static const char *const nodes[][4] = { { "Conv", "x", "w1", "c1" },    { "Relu", "c1", NULL, "r1" },
                                            { "Conv", "r1", "w2", "c2" },   { "Relu", "c2", NULL, "r2" },
                                            { "Flatten", "r2", NULL, "f" }, { "MatMul", "f", "d1", "m" },
                                            { "MatMul", "m", "d2", "y" } };
    g_autoptr(GError) error = NULL;
    if (!bench_needs_device(bench, "onnxruntime:CPU", ""))
        return;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("nameless", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 4, x, NULL);
    ifm_model_builder_random_weight(builder, "w1", 4, w1, 1, 1);
    ifm_model_builder_random_weight(builder, "w2", 4, w2, 1, 1);
    ifm_model_builder_random_weight(builder, "d1", 2, d1, 1, 1);
    ifm_model_builder_random_weight(builder, "d2", 2, d2, 1, 1);
    for (gsize i = 0; i < G_N_ELEMENTS(nodes); i++)
        ifm_model_builder_node(builder, nodes[i][0], "", (const char *[]){ nodes[i][1], nodes[i][2], NULL },
                               (const char *[]){ nodes[i][3], NULL });
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, y, NULL);
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    g_autofree char *path = bench_path(bench, "nameless.onnx");
    g_assert_true(ifm_model_save(model, path, &error));
    json_auto_t *json = profile_layers(bench, "nameless.onnx");
    check_told_by_graph(json);
    /* the two products differ, and each row has its own */
    const json_t *row;
    size_t i;
    double products = 0, large = 0;
    json_array_foreach(json_object_get(json_object_get(first_case(json), "layers"), "rows"), i, row)
    {
        if (!g_str_equal(json_string_value(json_object_get(row, "op_type")), "MatMul"))
            continue;
        products++;
        large += number_at(row, "macs") == 32 * 12 * 12 * 10;
    }
    g_assert_cmpfloat(products, ==, 2);
    g_assert_cmpfloat(large, ==, 1);
}

#define N_LIGHT 9

/* The models of the onnx wheel, as exporters wrote them: counted whole, and hardly any of their time unknown. */
static void test_light(Bench *bench, gconstpointer data)
{
    g_autofree char *folder = g_build_filename(IFM_DEPS_DIR, "onnx", "light", NULL);
    g_autoptr(GDir) files = g_dir_open(folder, 0, NULL);
    gsize n = 0;
    if (files == NULL)
    {
        g_test_skip("the onnx wheel's light models are not here");
        return;
    }
    if (!bench_needs_device(bench, "onnxruntime:CPU", ""))
        return;
    for (const char *name = g_dir_read_name(files); name != NULL; name = g_dir_read_name(files))
    {
        if (!g_str_has_suffix(name, ".onnx"))
            continue;
        g_autofree char *path = g_build_filename(folder, name, NULL);
        json_auto_t *json = profile_layers(bench, path);
        const json_t *coverage = json_object_get(json_object_get(json, "flops"), "coverage");
        const json_t *layers = json_object_get(first_case(json), "layers");
        g_test_message("%s: %g of the time unknown", name, number_at(layers, "unknown_ratio"));
        g_assert_cmpfloat(number_at(coverage, "nodes_covered"), ==, number_at(coverage, "nodes"));
        g_assert_cmpfloat(number_at(coverage, "mac_nodes_covered"), ==, number_at(coverage, "mac_nodes"));
        g_assert_cmpfloat(number_at(coverage, "mac_nodes"), >, 0);
        g_assert_cmpfloat(number_at(layers, "unknown_ratio"), <, 0.01);
        n++;
    }
    g_assert_cmpuint(n, ==, N_LIGHT);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/profile-graph/external", Bench, NULL, bench_init, test_external, bench_clear);
    g_test_add("/profile-graph/large", Bench, NULL, bench_init, test_large, bench_clear);
    g_test_add("/profile-graph/nameless", Bench, NULL, bench_init, test_nameless, bench_clear);
    g_test_add("/profile-graph/light", Bench, NULL, bench_init, test_light, bench_clear);
    return g_test_run();
}
