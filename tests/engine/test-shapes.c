/* Inferred shapes against what ONNX Runtime really makes: whole models node by node, and graphs that it has optimised. */
#include <glib/gstdio.h>

#include "all-outputs.h"
#include "build-folders.h"

#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* --- whole models --------------------------------------------------------------------------------------------------- */

/* bind_free: every free dimension of the inputs. */
static GArray *bind_free(const IfmModel *model, gint64 value)
{
    GArray *bindings = g_array_new(FALSE, FALSE, sizeof(IfmDimBinding));
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
    {
        const IfmPort *port = ifm_model_input(model, i);
        for (int axis = 0; axis < port->rank; axis++)
        {
            gboolean seen = port->dim_names[axis] == NULL;
            for (guint k = 0; k < bindings->len && !seen; k++)
                seen = g_str_equal(g_array_index(bindings, IfmDimBinding, k).name, port->dim_names[axis]);
            IfmDimBinding binding = { port->dim_names[axis], value };
            if (!seen)
                g_array_append_val(bindings, binding);
        }
    }
    return bindings;
}

/* check_whole: every tensor that a node makes has a shape, and it is the one that the run made. */
static void check_whole(Fixture *fixture, IfmModel *plain, gint64 size)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GArray) bindings = bind_free(plain, size);
    const IfmDimBinding *bound = (const IfmDimBinding *)(void *)bindings->data;
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(plain, bound, bindings->len, &error);
    g_assert_no_error(error);
    g_autoptr(IfmModel) model = with_all_outputs(plain, analysis, NULL);
    g_auto(IfmCoverage) coverage = { 0 };
    ifm_analysis_coverage(analysis, &coverage);
    g_assert_cmpuint(coverage.n_covered, ==, coverage.n_nodes);
    compile_and_run(fixture, model, bound, bindings->len, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(compare_outputs(fixture, analysis, ifm_model_name(model)), ==,
                     ifm_compiled_info(fixture->compiled).n_outputs);
    g_assert_cmpuint(ifm_compiled_info(fixture->compiled).n_outputs, >=, ifm_model_n_nodes(model));
    fixture_drop(fixture);
}

/* Models of the onnx wheel, as exporters wrote them. */
static void test_light(void)
{
    Fixture fixture;
    g_autofree char *folder = g_build_filename(IFM_DEPS_DIR, "onnx", "light", NULL);
    g_autoptr(GDir) files = g_dir_open(folder, 0, NULL);
    if (files == NULL)
    {
        g_test_skip("the onnx wheel's light models are unavailable");
        return;
    }
    if (!fixture_open(&fixture, "onnxruntime:CPU"))
        return;
    for (const char *name = g_dir_read_name(files); name != NULL; name = g_dir_read_name(files))
    {
        g_autoptr(GError) error = NULL;
        g_autofree char *path = g_build_filename(folder, name, NULL);
        if (!g_str_has_suffix(name, ".onnx"))
            continue;
        g_autoptr(IfmModel) model = ifm_model_open(path, &error);
        g_assert_no_error(error);
        check_whole(&fixture, model, 1);
    }
    fixture_close(&fixture);
}

/* --- optimised graphs ----------------------------------------------------------------------------------------------- */

static void count(const IfmAnalysis *analysis, IfmNodeCost *total, IfmCoverage *coverage)
{
    gsize n_covered;
    ifm_analysis_total(analysis, total, &n_covered);
    ifm_analysis_coverage(analysis, coverage);
}

static gboolean has_node(const IfmModel *model, const char *domain, const char *op_type)
{
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *found = ifm_model_node(model, i);
        if (g_str_equal(found->domain, domain) && (op_type == NULL || g_str_equal(found->op_type, op_type)))
            return TRUE;
    }
    return FALSE;
}

/* optimised: the file that ONNX Runtime writes of the model as it runs it. */
static IfmModel *optimised(Fixture *fixture, IfmModel *model)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("inferometer-shapes-XXXXXX", &error);
    g_assert_no_error(error);
    g_autofree char *path = g_build_filename(folder, "optimised.onnx", NULL);
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.save_optimised = path;
    fixture_compile(fixture, ifm_model_ref(model), &options);
    fixture_drop(fixture);
    IfmModel *read = ifm_model_open(path, &error);
    g_assert_no_error(error);
    g_unlink(path);
    g_rmdir(folder);
    return read;
}

/* check_optimised: The graph that was fused is read, its shapes are known, and it multiplies as much as the one it came
 * from.
 */
static IfmModel *check_optimised(Fixture *fixture, IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) fused = optimised(fixture, model);
    g_autoptr(IfmAnalysis) before = ifm_model_analyse(model, bindings, n_bindings, &error);
    g_assert_no_error(error);
    g_autoptr(IfmAnalysis) after = ifm_model_analyse(fused, bindings, n_bindings, &error);
    g_assert_no_error(error);
    IfmNodeCost one, other;
    g_auto(IfmCoverage) coverage = { 0 }, coverage_fused = { 0 };
    count(before, &one, &coverage);
    count(after, &other, &coverage_fused);
    for (guint i = 0; i < coverage_fused.missing->len; i++)
        g_test_message("%s", (const char *)g_ptr_array_index(coverage_fused.missing, i));
    g_assert_cmpuint(coverage.n_covered, ==, coverage.n_nodes);
    g_assert_cmpuint(coverage_fused.n_covered, ==, coverage_fused.n_nodes);
    g_assert_cmpuint(coverage_fused.n_nodes, <, coverage.n_nodes);
    g_assert_cmpint(other.macs, ==, one.macs);
    return g_steal_pointer(&fused);
}

/* add: a node of one output; the names are its own. */
static gsize add(IfmModelBuilder *builder, const char *op_type, const char *output, const char *const *inputs)
{
    return ifm_model_builder_node(builder, op_type, output, inputs, NAMES(output));
}

static void add_conv(IfmModelBuilder *builder, const char *from, const char *to, gint64 in, gint64 out, gint64 group)
{
    g_autofree char *weights = g_strconcat(to, ".w", NULL), *bias = g_strconcat(to, ".b", NULL);
    ifm_model_builder_random_weight(builder, weights, 4, (gint64[]){ out, in / group, 3, 3 }, 0.1, 1);
    ifm_model_builder_random_weight(builder, bias, 1, &out, 0.1, 1);
    gsize index = add(builder, "Conv", to, NAMES(from, weights, bias));
    ifm_model_builder_ints(builder, index, "pads", (gint64[]){ 1, 1, 1, 1 }, 4);
    ifm_model_builder_int(builder, index, "group", group);
}

/* A residual block, a depthwise convolution, pools: channels come in whole blocks, or the runtime would fill them up. */
static void test_optimised_cnn(void)
{
    Fixture fixture;
    if (!fixture_open(&fixture, "onnxruntime:CPU"))
        return;
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("cnn", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 4, (gint64[]){ 2, 3, 32, 32 }, NULL);
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, (gint64[]){ 2, 10 }, NULL);
    add_conv(builder, "x", "c1", 3, 32, 1);
    add(builder, "Relu", "r1", NAMES("c1"));
    gsize pool = add(builder, "MaxPool", "p1", NAMES("r1"));
    ifm_model_builder_ints(builder, pool, "kernel_shape", (gint64[]){ 2, 2 }, 2);
    ifm_model_builder_ints(builder, pool, "strides", (gint64[]){ 2, 2 }, 2);
    add_conv(builder, "p1", "c2", 32, 32, 1);
    add(builder, "Add", "a2", NAMES("c2", "p1"));
    add(builder, "Relu", "r2", NAMES("a2"));
    add_conv(builder, "r2", "c3", 32, 32, 32);
    add(builder, "Relu", "r3", NAMES("c3"));
    add(builder, "GlobalAveragePool", "g", NAMES("r3"));
    add(builder, "Flatten", "f", NAMES("g"));
    ifm_model_builder_random_weight(builder, "w", 2, (gint64[]){ 32, 10 }, 0.1, 1);
    ifm_model_builder_random_weight(builder, "b", 1, (gint64[]){ 10 }, 0.1, 1);
    add(builder, "Gemm", "y", NAMES("f", "w", "b"));
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    g_autoptr(IfmModel) fused = check_optimised(&fixture, model, NULL, 0);
    if (!has_node(fused, "com.microsoft.nchwc", NULL) && !has_node(fused, "com.microsoft", "FusedConv"))
        g_test_skip("ONNX Runtime neither blocks channels nor fuses convolutions on this processor");
    fixture_close(&fixture);
}

static void add_dense(IfmModelBuilder *builder, const char *from, const char *to, gint64 in, gint64 out)
{
    g_autofree char *weights = g_strconcat(to, ".w", NULL), *bias = g_strconcat(to, ".b", NULL);
    g_autofree char *product = g_strconcat(to, ".m", NULL);
    ifm_model_builder_random_weight(builder, weights, 2, (gint64[]){ in, out }, 0.1, 1);
    ifm_model_builder_random_weight(builder, bias, 1, &out, 0.1, 1);
    add(builder, "MatMul", product, NAMES(from, weights));
    add(builder, "Add", to, NAMES(bias, product));
}

static void add_ints(IfmModelBuilder *builder, const char *name, gsize n, const gint64 *values)
{
    IfmTensor tensor;
    g_assert_true(ifm_tensor_wrap(&tensor, IFM_DTYPE_I64, 1, &(gint64){ (gint64)n }, (void *)values, NULL));
    ifm_model_builder_weight(builder, name, &tensor);
}

static void add_number(IfmModelBuilder *builder, const char *name, float value)
{
    IfmTensor tensor;
    g_assert_true(ifm_tensor_wrap(&tensor, IFM_DTYPE_F32, 0, NULL, &value, NULL));
    ifm_model_builder_weight(builder, name, &tensor);
}

static void add_norm(IfmModelBuilder *builder, const char *from, const char *to, gint64 width)
{
    g_autofree char *scale = g_strconcat(to, ".s", NULL), *bias = g_strconcat(to, ".b", NULL);
    ifm_model_builder_random_weight(builder, scale, 1, &width, 0.1, 1);
    ifm_model_builder_random_weight(builder, bias, 1, &width, 0.1, 1);
    add(builder, "LayerNormalization", to, NAMES(from, scale, bias));
}

static void add_heads(IfmModelBuilder *builder, const char *from, const char *to, gint64 width, const gint64 *perm)
{
    g_autofree char *dense = g_strconcat(to, ".d", NULL), *split = g_strconcat(to, ".r", NULL);
    add_dense(builder, from, dense, width, width);
    add(builder, "Reshape", split, NAMES(dense, "heads"));
    gsize index = add(builder, "Transpose", to, NAMES(split));
    ifm_model_builder_ints(builder, index, "perm", perm, 4);
}

/* A layer of a transformer as exporters write it: attention in heads, skips, GELU by Erf; two layers, so that all patterns
 * that the runtime looks for are there. */
static void test_optimised_transformer(void)
{
    const gint64 width = 64, length = 12;
    Fixture fixture;
    if (!fixture_open(&fixture, "onnxruntime:CPU"))
        return;
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("transformer", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 3, (gint64[]){ 2, length, width }, NULL);
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 3, (gint64[]){ 2, length, width }, NULL);
    add_ints(builder, "heads", 4, (gint64[]){ 0, 0, 4, 16 });
    add_ints(builder, "joined", 3, (gint64[]){ 0, 0, 64 });
    add_number(builder, "four", 4);
    add_number(builder, "root2", 1.4142135f);
    add_number(builder, "one", 1);
    add_number(builder, "half", 0.5f);
    add_norm(builder, "x", "n0", width);
    add_heads(builder, "n0", "q", width, (gint64[]){ 0, 2, 1, 3 });
    add_heads(builder, "n0", "k", width, (gint64[]){ 0, 2, 3, 1 });
    add_heads(builder, "n0", "v", width, (gint64[]){ 0, 2, 1, 3 });
    add(builder, "MatMul", "qk", NAMES("q", "k"));
    add(builder, "Div", "scores", NAMES("qk", "four"));
    ifm_model_builder_int(builder, add(builder, "Softmax", "p", NAMES("scores")), "axis", -1);
    add(builder, "MatMul", "pv", NAMES("p", "v"));
    gsize back = add(builder, "Transpose", "t", NAMES("pv"));
    ifm_model_builder_ints(builder, back, "perm", (gint64[]){ 0, 2, 1, 3 }, 4);
    add(builder, "Reshape", "o", NAMES("t", "joined"));
    add_dense(builder, "o", "od", width, width);
    add(builder, "Add", "s1", NAMES("od", "n0"));
    add_norm(builder, "s1", "n1", width);
    add_dense(builder, "n1", "h", width, 4 * width);
    add(builder, "Div", "g1", NAMES("h", "root2"));
    add(builder, "Erf", "g2", NAMES("g1"));
    add(builder, "Add", "g3", NAMES("g2", "one"));
    add(builder, "Mul", "g4", NAMES("h", "g3"));
    add(builder, "Mul", "g5", NAMES("g4", "half"));
    add_dense(builder, "g5", "fd", 4 * width, width);
    add(builder, "Add", "s2", NAMES("fd", "n1"));
    add_norm(builder, "s2", "y", width);
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    g_autoptr(IfmModel) fused = check_optimised(&fixture, model, NULL, 0);
    g_assert_true(has_node(fused, "com.microsoft", "SkipLayerNormalization"));
    fixture_close(&fixture);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/engine/shapes/light", test_light);
    g_test_add_func("/engine/shapes/optimised/cnn", test_optimised_cnn);
    g_test_add_func("/engine/shapes/optimised/transformer", test_optimised_transformer);
    return g_test_run();
}
