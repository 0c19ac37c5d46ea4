/* What an analysis is about: what is covered, why the rest is not, what a run told, what can be trained. */
#include <onnx/onnx.h>
#include <string.h>

#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })

static IfmModel *finish(IfmModelBuilder *builder)
{
    g_autoptr(GError) error = NULL;
    IfmModel *model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    ifm_model_builder_free(builder);
    return model;
}

/* mixed: a product; what nobody knows; two that follow from it; what depends on values; a sequence. */
static IfmModel *mixed(void)
{
    IfmModelBuilder *builder = ifm_model_builder_new("mixed", 17);
    ifm_model_builder_input(builder, "a", IFM_DTYPE_F32, 2, (gint64[]){ 3, 5 }, NULL);
    ifm_model_builder_random_weight(builder, "w", 2, (gint64[]){ 5, 7 }, 1, 1);
    ifm_model_builder_node(builder, "MatMul", "m", NAMES("a", "w"), NAMES("b"));
    ifm_model_builder_node(builder, "NoSuchOperator", "n", NAMES("b"), NAMES("c"));
    ifm_model_builder_node(builder, "MatMul", "m2", NAMES("c", "w"), NAMES("d"));
    ifm_model_builder_node(builder, "Relu", "r", NAMES("d"), NAMES("e"));
    ifm_model_builder_node(builder, "NonZero", "z", NAMES("a"), NAMES("f"));
    ifm_model_builder_node(builder, "NonZero", "z2", NAMES("b"), NAMES("g"));
    ifm_model_builder_node(builder, "SequenceConstruct", "s", NAMES("a"), NAMES("h"));
    return finish(builder);
}

static void expect_lines(const IfmCoverage *coverage, const char *const *lines)
{
    guint n = g_strv_length((char **)(gpointer)lines);
    g_assert_cmpuint(coverage->missing->len, ==, n);
    for (guint i = 0; i < n; i++)
        g_assert_cmpstr(g_ptr_array_index(coverage->missing, i), ==, lines[i]);
}

static void test_coverage(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = mixed();
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(model, NULL, 0, &error);
    g_assert_no_error(error);
    g_auto(IfmCoverage) coverage = { 0 };
    ifm_analysis_coverage(analysis, &coverage);
    g_assert_cmpuint(coverage.n_nodes, ==, 7);
    g_assert_cmpuint(coverage.n_covered, ==, 1);
    g_assert_cmpuint(coverage.n_mac_nodes, ==, 3); /* two products, and who knows what NoSuchOperator does */
    g_assert_cmpuint(coverage.n_mac_covered, ==, 1);
    g_assert_cmpuint(coverage.n_observed, ==, 0);
    expect_lines(&coverage, NAMES("NoSuchOperator (1 node): no rule for this operator",
                                  "MatMul (1 node): the shape of an input is not known",
                                  "Relu (1 node): the shape of an input is not known",
                                  "NonZero (2 nodes): its shape depends on values",
                                  "SequenceConstruct (1 node): it works on sequences, which have no one shape"));
}

/* With the shapes of a run everything has a cost but what has no rule, and what depends on more than shapes. */
static void test_observed(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = mixed();
    const IfmObservedShape seen[] = { { "b", IFM_DTYPE_F32, 2, { 3, 7 } },
                                      { "c", IFM_DTYPE_F32, 2, { 4, 5 } },
                                      { "f", IFM_DTYPE_I64, 2, { 2, 11 } },
                                      { "g", IFM_DTYPE_I64, 2, { 2, 13 } },
                                      { "nobody", IFM_DTYPE_F32, 1, { 1 } } };
    g_autoptr(IfmAnalysis) analysis =
        ifm_model_analyse_with(model, NULL, 0, &(IfmKnown){ .observed = seen, .n_observed = G_N_ELEMENTS(seen) }, &error);
    g_assert_no_error(error);
    g_auto(IfmCoverage) coverage = { 0 };
    ifm_analysis_coverage(analysis, &coverage);
    g_assert_cmpuint(coverage.n_covered, ==, 5);
    g_assert_cmpuint(coverage.n_mac_covered, ==, 2);
    g_assert_cmpuint(coverage.n_observed, ==, 3); /* c, f, g; b was known */
    expect_lines(&coverage, NAMES("NoSuchOperator (1 node): no rule for this operator",
                                  "SequenceConstruct (1 node): it works on sequences, which have no one shape"));
    g_assert_cmpint(ifm_analysis_node_cost(analysis, 2)->macs, ==, 4 * 5 * 7);
    IfmDtype dtype;
    int rank;
    gint64 shape[IFM_MAX_RANK];
    g_assert_true(ifm_analysis_shape(analysis, "e", &dtype, &rank, shape));
    g_assert_cmpint(rank, ==, 2);
    g_assert_cmpint(shape[0], ==, 4);
    g_assert_cmpint(shape[1], ==, 7);
}

static void expect_contradiction(const IfmObservedShape *seen, const char *message)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = mixed();
    g_autoptr(IfmAnalysis) analysis =
        ifm_model_analyse_with(model, NULL, 0, &(IfmKnown){ .observed = seen, .n_observed = 1 }, &error);
    g_assert_null(analysis);
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpstr(error->message, ==, message);
}

static void test_observed_contradicts(void)
{
    expect_contradiction(&(IfmObservedShape){ "b", IFM_DTYPE_F32, 2, { 3, 8 } },
                         "mixed: node 0 (MatMul 'm'): 'b' comes out as [3,7], but a run had [3,8]");
    expect_contradiction(&(IfmObservedShape){ "a", IFM_DTYPE_F32, 1, { 3 } },
                         "mixed: 'a' comes out as [3,5], but a run had [3]");
    expect_contradiction(&(IfmObservedShape){ "c", IFM_DTYPE_F32, 2, { 4, 6 } },
                         "mixed: node 2 (MatMul 'm2'): 'c' [4,6] has 6 columns, 'w' [5,7] has 5 rows");
    expect_contradiction(&(IfmObservedShape){ "c", IFM_DTYPE_F32, 99, { 4 } },
                         "mixed: what a run reported for 'c' is not a shape");
    expect_contradiction(&(IfmObservedShape){ "c", IFM_DTYPE_F32, 1, { -1 } },
                         "mixed: what a run reported for 'c' is not a shape");
}

static void test_families(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = mixed();
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(model, NULL, 0, &error);
    g_assert_no_error(error);
    IfmNodeCost total, all;
    gsize n_covered, n_all, n_sum = 0;
    gint64 flop = 0;
    ifm_analysis_family_total(analysis, IFM_FAMILY_PRODUCT, &total, &n_covered);
    g_assert_cmpint(total.macs, ==, 3 * 5 * 7);
    g_assert_cmpuint(n_covered, ==, 1);
    g_assert_false(total.covered); /* the other product is not */
    ifm_analysis_total(analysis, &all, &n_all);
    for (IfmNodeFamily family = 0; family < IFM_N_FAMILIES; family++)
    {
        ifm_analysis_family_total(analysis, family, &total, &n_covered);
        flop += total.flop;
        n_sum += n_covered;
        g_assert_cmpint(strlen(ifm_family_name(family)), >, 0);
    }
    g_assert_cmpint(flop, ==, all.flop);
    g_assert_cmpuint(n_sum, ==, n_all);
    g_assert_cmpint(ifm_analysis_node_cost(analysis, 3)->family, ==, IFM_FAMILY_ACTIVATION); /* known, though not covered */
    g_assert_cmpuint(g_strv_length((char **)(gpointer)ifm_cost_conventions()), >, 10);
}

/* The running statistics of a batch normalisation are numbers of the model, but none that training changes by its gradient.
 */
static void test_trainable(void)
{
    IfmModelBuilder *builder = ifm_model_builder_new("trainable", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 4, (gint64[]){ 1, 3, 8, 8 }, NULL);
    ifm_model_builder_random_weight(builder, "w", 4, (gint64[]){ 6, 3, 3, 3 }, 1, 1);
    for (const char *const *name = NAMES("scale", "bias", "mean", "variance"); *name != NULL; name++)
        ifm_model_builder_random_weight(builder, *name, 1, (gint64[]){ 6 }, 1, 1);
    ifm_model_builder_node(builder, "Conv", NULL, NAMES("x", "w"), NAMES("c"));
    ifm_model_builder_node(builder, "Identity", NULL, NAMES("mean"), NAMES("same mean"));
    ifm_model_builder_node(builder, "BatchNormalization", NULL, NAMES("c", "scale", "bias", "same mean", "variance"),
                           NAMES("y"));
    ifm_model_builder_random_weight(builder, "factor", 0, NULL, 1, 1); /* as exporters write an attention's scale */
    ifm_model_builder_node(builder, "Mul", NULL, NAMES("y", "factor"), NAMES("z"));
    g_autoptr(IfmModel) model = finish(builder);
    g_assert_cmpint(ifm_model_n_parameters(model), ==, 6 * 3 * 9 + 4 * 6 + 1);
    g_assert_cmpint(ifm_model_n_trainable(model), ==, 6 * 3 * 9 + 2 * 6);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/onnx/coverage/missing", test_coverage);
    g_test_add_func("/onnx/coverage/observed", test_observed);
    g_test_add_func("/onnx/coverage/observed-contradicts", test_observed_contradicts);
    g_test_add_func("/onnx/coverage/families", test_families);
    g_test_add_func("/onnx/coverage/trainable", test_trainable);
    return g_test_run();
}
