/* Functions of a model's own. The numbers that inlined models give were compared with what ONNX Runtime, which inlines by
 * itself, gives of the files as they are: equal to the bit. */
#include <onnx/onnx.h>
#include <string.h>

#include "build-folders.h"

static IfmModel *open_data(const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(IFM_SOURCE_DIR, "tests", "data", "opened", name, NULL);
    IfmModel *model = ifm_model_open(path, &error);
    g_assert_no_error(error);
    return model;
}

static IfmModel *inline_all(const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = open_data(name);
    IfmModel *inlined = NULL;
    g_assert_true(ifm_model_inline_functions(model, &inlined, &error));
    g_assert_no_error(error);
    g_assert_cmpstr(ifm_model_name(inlined), ==, ifm_model_name(model));
    g_assert_cmpuint(ifm_model_n_outputs(inlined), ==, ifm_model_n_outputs(model));
    return inlined;
}

static const IfmNode *find(const IfmModel *model, const char *op_type, guint n)
{
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
        if (g_str_equal(ifm_model_node(model, i)->op_type, op_type) && n-- == 0)
            return ifm_model_node(model, i);
    g_error("no %s", op_type);
}

/* x [4, 16] by [16, 32] and [32, 8], each with an Add and a LeakyRelu of the call's slope. */
static void test_nested(void)
{
    g_autoptr(IfmModel) model = inline_all("func_nested.onnx");
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(model, NULL, 0, &error);
    IfmNodeCost total;
    gsize n_covered;
    g_assert_no_error(error);
    ifm_analysis_total(analysis, &total, &n_covered);
    g_assert_cmpuint(ifm_model_n_nodes(model), ==, 6);
    g_assert_cmpuint(n_covered, ==, 6);
    g_assert_cmpint(total.macs, ==, 4 * 16 * 32 + 4 * 32 * 8);
    g_assert_cmpint(total.flop, ==, 2 * total.macs + 2 * 4 * 32 + 2 * 4 * 8);
    g_assert_cmpfloat_with_epsilon(ifm_node_float(find(model, "LeakyRelu", 0), "alpha", 0), 0.2, 1e-6);
    g_assert_cmpfloat_with_epsilon(ifm_node_float(find(model, "LeakyRelu", 1), "alpha", 0), 0.1, 1e-6);
}

/* An attribute that is given, and one that has its default; an input that is left out; a function in a branch; one whose
 * loop reads what it was given. */
static void test_all_kinds(void)
{
    g_autoptr(IfmModel) model = inline_all("functions.onnx");
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(model, NULL, 0, &error);
    g_auto(IfmCoverage) coverage = { 0 };
    g_assert_no_error(error);
    ifm_analysis_coverage(analysis, &coverage);
    g_assert_cmpuint(coverage.n_nodes, ==, 12);
    g_assert_cmpuint(coverage.n_covered, ==, 12);
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
        g_assert_cmpstr(ifm_model_node(model, i)->domain, ==, "");
    g_assert_cmpfloat_with_epsilon(ifm_node_float(find(model, "LeakyRelu", 0), "alpha", 0), 0.5, 1e-6);
    g_assert_cmpfloat_with_epsilon(ifm_node_float(find(model, "LeakyRelu", 1), "alpha", 0), 0.25, 1e-6);
    const IfmNode *sum = find(model, "Sum", 1);
    g_assert_cmpstr(sum->inputs[0], ==, find(model, "MatMul", 1)->outputs[0]);
    /* the branch multiplies [2, 3] by [3, 3], too */
    const IfmNodeCost *branch = NULL;
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
        if (g_str_equal(ifm_model_node(model, i)->op_type, "If"))
            branch = ifm_analysis_node_cost(analysis, i);
    g_assert_nonnull(branch);
    g_assert_cmpint(branch->macs, ==, 2 * 3 * 3);
}

static void test_refused(void)
{
    static const struct
    {
        const char *name, *part;
    } cases[] = { { "functions-endless.onnx", "function A: calls go deeper than 32 functions: does it call itself?" },
                  { "functions-many.onnx", "its calls make more than 200000 nodes" } };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmModel) model = open_data(cases[i].name), inlined = NULL;
        g_assert_false(ifm_model_inline_functions(model, &inlined, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_nonnull(strstr(error->message, cases[i].part));
        g_assert_null(inlined);
    }
}

static void test_none(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = open_data("tiny.onnx"), inlined = NULL;
    g_assert_true(ifm_model_inline_functions(model, &inlined, &error));
    g_assert_null(inlined);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/onnx/functions/nested", test_nested);
    g_test_add_func("/onnx/functions/all-kinds", test_all_kinds);
    g_test_add_func("/onnx/functions/refused", test_refused);
    g_test_add_func("/onnx/functions/none", test_none);
    return g_test_run();
}
