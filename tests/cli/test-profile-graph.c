#include <onnx/onnx.h>

#include "cli/layers-harness.h"

/* Whose work a runtime's layers do, told by the graph that the runtime made: on ONNX Runtime itself. Models of
 * hundreds of megabytes: test-profile-large.c. */

/* Weights in a file beside the model: the saved graph refers to them by a path that leads nowhere from where it lies. */
static void test_external(Bench *bench, gconstpointer data)
{
    if (!bench_needs_device(bench, "onnxruntime:CPU", ""))
        return;
    json_auto_t *json = profile_layers(bench, "", "resnet18,size=64");
    g_autofree char *weights = bench_path(bench, "o/models/resnet18.seed1.weights");
    g_assert_true(g_file_test(weights, G_FILE_TEST_EXISTS));
    check_reported_by_graph(json);
    /* nor are these 45 MB written again: no file may grow beyond 4 MiB */
    json_auto_t *bounded = profile_layers(bench, "ulimit -f 8192; ", "resnet18,size=64");
    check_reported_by_graph(bounded);
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
    json_auto_t *json = profile_layers(bench, "", "nameless.onnx");
    check_reported_by_graph(json);
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

int main(int argc, char **argv)
{
    static const char *const light[] = { "densenet121", "inception_v1", "inception_v2",
                                         "resnet50",    "shufflenet",   "squeezenet" };
    g_test_init(&argc, &argv, NULL);
    g_test_add("/profile-graph/external", Bench, NULL, bench_init, test_external, bench_clear);
    g_test_add("/profile-graph/nameless", Bench, NULL, bench_init, test_nameless, bench_clear);
    for (gsize i = 0; i < G_N_ELEMENTS(light); i++)
        add_light(light[i]);
    return g_test_run();
}
