
#include "build-folders.h"
#include "cli/harness.h"
#include <onnx/onnx.h>

/* What `inferometer profile` tells of work that depends on values: an upper bound, said to be one, or nothing; never a
 * silent figure. */

#define CELLS 12 /* x is [3, 4] */

/* Parts of the fuzzers' model with control flow: x [3,4], and the first @n-th nodes of @op_types. */
static IfmModel *whole_model(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(IFM_SOURCE_DIR, "fuzz", "corpus", "onnx", "op-control.onnx", NULL);
    IfmModel *model = ifm_model_open(path, &error);
    g_assert_no_error(error);
    return model;
}

static const IfmNode *nth(const IfmModel *model, const char *op_type, int n)
{
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
        if (g_str_equal(ifm_model_node(model, i)->op_type, op_type) && n-- == 0)
            return ifm_model_node(model, i);
    g_error("no %s", op_type);
}

static void save(const Bench *bench, IfmModelBuilder *builder, const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = bench_path(bench, name);
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_model_save(model, path, &error));
}

/* x -> ReduceMax -> Cast -> If { Relu(x) } else { Softmax(x) }. */
static void save_if(const Bench *bench)
{
    g_autoptr(IfmModel) model = whole_model();
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("either", 17);
    const IfmNode *either = nth(model, "If", 1);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, (gint64[]){ 3, 4 }, NULL);
    ifm_model_builder_copy_node(builder, nth(model, "ReduceMax", 0));
    ifm_model_builder_copy_node(builder, nth(model, "Cast", 0));
    ifm_model_builder_copy_node(builder, either);
    ifm_model_builder_output(builder, either->outputs[0], IFM_DTYPE_F32, 2, (gint64[]){ 3, 4 }, NULL);
    save(bench, builder, "if.onnx");
}

/* The loop whose number of turns is an input. */
static void save_loop(const Bench *bench)
{
    g_autoptr(IfmModel) model = whole_model();
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("turns", 17);
    const IfmNode *loop = nth(model, "Loop", 0);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, (gint64[]){ 3, 4 }, NULL);
    ifm_model_builder_input(builder, loop->inputs[0], IFM_DTYPE_I64, 0, NULL, NULL);
    ifm_model_builder_copy_weight(builder, model, loop->inputs[1]);
    ifm_model_builder_copy_weight(builder, model, "w");
    ifm_model_builder_copy_node(builder, loop);
    ifm_model_builder_output(builder, loop->outputs[0], IFM_DTYPE_F32, 2, (gint64[]){ 3, 4 }, NULL);
    save(bench, builder, "loop.onnx");
}

/* ReduceMax reads 12 numbers; of the two branches Softmax costs most. */
#define MAX_FLOP (CELLS + 5 * CELLS)

static void test_if_alone(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    save_if(bench);
    run_line(bench, "profile if.onnx --profile flops", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "upper bound 72"));
    g_assert_nonnull(strstr(ended.out, "upper bound: it is unknown which branch of If"));
    run_line(bench, "profile if.onnx --profile flops --json -", &ended);
    assert_status(&ended, 0);
    json_auto_t *json = parse_output(&ended);
    const json_t *flops = json_object_get(json, "flops");
    g_assert_cmpstr(ifm_member_text(flops, "counted"), ==, "at most");
    g_assert_cmpfloat(ifm_member_number(flops, "total_flop"), ==, MAX_FLOP);
    /* the branch that is taken where that is known: nothing to be said */
    run_line(bench, "profile zoo:matmul --profile flops --json -", &ended);
    json_auto_t *plain = parse_output(&ended);
    g_assert_cmpstr(ifm_member_text(json_object_get(plain, "flops"), "counted"), ==, "exact");
}

/* From an upper bound follow no rate and no share of the limit. */
static void test_if_measured(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    if (!bench_has_device(bench, "onnxruntime:CPU", ""))
    {
        g_test_skip("no ONNX Runtime on this machine");
        return;
    }
    save_if(bench);
    run_line(bench, "profile if.onnx -q --runs 5 --warmup 1 -d onnxruntime:CPU --json r.json", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "upper bound 72"));
    g_assert_nonnull(strstr(ended.out, "it is unknown which branch of If"));
    g_autofree char *path = bench_path(bench, "r.json");
    g_autoptr(GError) error = NULL;
    json_auto_t *json = ifm_json_load(path, &error);
    g_assert_no_error(error);
    const json_t *entry = json_array_get(json_object_get(json, "cases"), 0), *row;
    const json_t *layers = json_object_get(entry, "layers");
    g_assert_true(json_is_null(json_object_get(entry, "attained_ratio")));
    g_assert_cmpfloat(ifm_member_number(layers, "n_upper_bounds"), ==, 1);
    gsize n = 0, i;
    json_array_foreach(json_object_get(layers, "rows"), i, row)
    {
        gboolean is_if = g_strcmp0(ifm_member_text(row, "op_type"), "If") == 0;
        n += is_if;
        if (!is_if)
            continue;
        g_assert_cmpstr(ifm_member_text(row, "counted"), ==, "at most");
        g_assert_cmpfloat(ifm_member_number(row, "flop"), ==, 5 * CELLS);
        g_assert_true(json_is_null(json_object_get(row, "flop_per_s")));
        g_assert_true(json_is_null(json_object_get(row, "attained_ratio")));
        g_assert_true(json_is_null(json_object_get(row, "intensity")));
    }
    g_assert_cmpuint(n, ==, 1);
}

/* How often it turns nobody knows: that is said, and there is no total, neither of one turn nor of none. */
static void test_loop(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    save_loop(bench);
    run_line(bench, "profile loop.onnx --profile flops --json r.json", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "not known; 0 of 1 node is counted"));
    g_assert_nonnull(strstr(ended.out, "Loop (1 node): how often it turns depends on values"));
    g_autofree char *path = bench_path(bench, "r.json");
    json_auto_t *json = ifm_json_load(path, NULL);
    const json_t *flops = json_object_get(json, "flops");
    g_assert_true(json_is_null(json_object_get(flops, "total_flop")));
    g_assert_true(json_is_null(json_object_get(flops, "total_macs")));
    g_assert_cmpfloat(ifm_member_number(flops, "covered_flop"), ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/profile-control/if", Bench, NULL, bench_init, test_if_alone, bench_clear);
    g_test_add("/profile-control/if-measured", Bench, NULL, bench_init, test_if_measured, bench_clear);
    g_test_add("/profile-control/loop", Bench, NULL, bench_init, test_loop, bench_clear);
    return g_test_run();
}
