/* Operators against formulas written out here: control flow by its branches, attention, what runtimes fuse, values
 * followed. */
#include <onnx/onnx.h>
#include <string.h>

#include "build-folders.h"

#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })

static IfmModel *seed(const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_strdup_printf("%s/fuzz/corpus/onnx/%s.onnx", IFM_SOURCE_DIR, name);
    IfmModel *model = ifm_model_open(path, &error);
    g_assert_no_error(error);
    return model;
}

static IfmAnalysis *analyse(IfmModel *model)
{
    g_autoptr(GError) error = NULL;
    IfmAnalysis *analysis = ifm_model_analyse(model, NULL, 0, &error);
    g_assert_no_error(error);
    return analysis;
}

/* nth: the number of the @n-th node of that operator. */
static gsize nth(const IfmModel *model, const char *op_type, int n)
{
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
        if (g_str_equal(ifm_model_node(model, i)->op_type, op_type) && n-- == 0)
            return i;
    g_error("no %s", op_type);
}

static void expect_cost(const IfmModel *model, const IfmAnalysis *analysis, gsize node, gint64 macs, gint64 flop)
{
    const IfmNodeCost *cost = ifm_analysis_node_cost(analysis, node);
    g_test_message("%s", ifm_model_node(model, node)->op_type);
    g_assert_true(cost->covered);
    g_assert_cmpint(cost->macs, ==, macs);
    g_assert_cmpint(cost->flop, ==, flop);
}

static void expect_shape(const IfmModel *model, const IfmAnalysis *analysis, gsize node, gsize output, const char *wanted)
{
    IfmDtype dtype;
    int rank;
    gint64 shape[IFM_MAX_RANK];
    g_assert_true(ifm_analysis_shape(analysis, ifm_model_node(model, node)->outputs[output], &dtype, &rank, shape));
    g_autofree char *found = ifm_shape_to_string(rank, shape);
    g_assert_cmpstr(found, ==, wanted);
}

/* x [3,4]. The loop turns 7 times; the scan goes over 3 rows; of the Ifs the first is known (3 > 2), the second is not. */
static void test_control(void)
{
    g_autoptr(IfmModel) model = seed("op-control");
    g_autoptr(IfmAnalysis) analysis = analyse(model);
    const gsize loop = nth(model, "Loop", 0), scan = nth(model, "Scan", 0);
    expect_cost(model, analysis, loop, 7 * 3 * 4 * 4, 7 * (2 * 3 * 4 * 4 + 12));
    expect_shape(model, analysis, loop, 0, "[3,4]");
    expect_shape(model, analysis, loop, 1, "[7,3,4]");
    expect_cost(model, analysis, scan, 0, 3 * (4 + 4));
    expect_shape(model, analysis, scan, 0, "[4]");
    expect_shape(model, analysis, scan, 1, "[4,3]");
    expect_cost(model, analysis, nth(model, "If", 0), 0, 12);     /* Relu, the one that is taken */
    expect_cost(model, analysis, nth(model, "If", 1), 0, 5 * 12); /* Softmax, which costs more than Relu: at most that */
    g_assert_false(ifm_analysis_node_cost(analysis, nth(model, "If", 0))->is_upper_bound);
    g_assert_true(ifm_analysis_node_cost(analysis, nth(model, "If", 1))->is_upper_bound);
    g_assert_false(ifm_analysis_node_cost(analysis, loop)->is_upper_bound);
    IfmNodeCost total;
    gsize n_covered;
    ifm_analysis_total(analysis, &total, &n_covered);
    g_assert_true(total.is_upper_bound);
    ifm_analysis_family_total(analysis, IFM_FAMILY_REDUCTION, &total, &n_covered);
    g_assert_false(total.is_upper_bound);
    expect_shape(model, analysis, nth(model, "If", 1), 0, "[3,4]");
    /* What a turn reads and writes: the condition; two matrices and their product; Relu's. */
    const IfmNodeCost *cost = ifm_analysis_node_cost(analysis, loop);
    g_assert_cmpint(cost->bytes_read, ==, 7 * (1 + 4 * (12 + 16) + 4 * 12));
    g_assert_cmpint(cost->bytes_written, ==, 7 * (1 + 4 * 12 + 4 * 12));
    g_assert_cmpint(cost->family, ==, IFM_FAMILY_CONTROL);
    g_auto(IfmCoverage) coverage = { 0 };
    ifm_analysis_coverage(analysis, &coverage);
    g_assert_cmpuint(coverage.n_covered, ==, coverage.n_nodes);
    g_assert_cmpuint(coverage.n_mac_nodes, ==, 1); /* the loop, for the product in it */
}

/* Batch 2, length 5, width 16 in 4 heads of 4; a past of 3 where there is one. */
static void test_fused(void)
{
    g_autoptr(IfmModel) model = seed("op-fused");
    g_autoptr(IfmAnalysis) analysis = analyse(model);
    const gint64 projected = 2 * 5 * 16 * 48, scores = 2 * 4 * 5 * 8, own_scores = 2 * 4 * 5 * 5;
    const gsize attention = nth(model, "Attention", 0), grouped = nth(model, "GroupQueryAttention", 0);
    expect_cost(model, analysis, attention, projected + scores * (4 + 4), 2 * (projected + scores * 8) + 5 * scores);
    expect_shape(model, analysis, attention, 0, "[2,5,16]");
    expect_shape(model, analysis, attention, 1, "[2,2,4,8,4]");
    expect_cost(model, analysis, nth(model, "MultiHeadAttention", 0), own_scores * 8, 16 * own_scores + 5 * own_scores);
    expect_cost(model, analysis, grouped, scores * 8, 16 * scores + 5 * scores);
    expect_shape(model, analysis, grouped, 0, "[2,5,16]");
    expect_shape(model, analysis, grouped, 1, "[2,2,8,4]");
    expect_cost(model, analysis, nth(model, "SkipLayerNormalization", 0), 0, (5 + 1) * 160);
    expect_cost(model, analysis, nth(model, "EmbedLayerNormalization", 0), 0, (5 + 1) * 160);
    expect_cost(model, analysis, nth(model, "FusedMatMul", 0), 2 * 5 * 5 * 16, 2 * 2 * 5 * 5 * 16);
    expect_cost(model, analysis, nth(model, "FusedGemm", 0), 60, 120 + 15 + 15); /* bias, activation */
    expect_cost(model, analysis, nth(model, "BiasGelu", 0), 0, (4 + 1) * 160);
    /* [1,16,6,6] in blocks: a product for each position; bias, sum, activation. */
    expect_cost(model, analysis, nth(model, "Conv", 0), 576 * 16, 2 * 576 * 16 + 3 * 576);
    expect_shape(model, analysis, nth(model, "ReorderOutput", 0), 0, "[1,10,1,1]");
    expect_cost(model, analysis, nth(model, "FusedConv", 0), 4 * 36 * 16, 2 * 4 * 36 * 16 + 4 * 36);
    expect_shape(model, analysis, nth(model, "NhwcFusedConv", 0), 0, "[1,3,3,6]");
    expect_cost(model, analysis, nth(model, "NhwcFusedConv", 0), 54 * 36, 2 * 54 * 36);
}

static void test_quantised(void)
{
    g_autoptr(IfmModel) model = seed("op-quantised");
    g_autoptr(IfmAnalysis) analysis = analyse(model);
    expect_cost(model, analysis, nth(model, "QLinearConv", 0), 64 * 18, 2 * 64 * 18 + 2 * 64);
    expect_cost(model, analysis, nth(model, "ConvInteger", 0), 64 * 18, 2 * 64 * 18);
    expect_cost(model, analysis, nth(model, "MatMulInteger", 0), 60 * 6, 2 * 60 * 6);
    expect_cost(model, analysis, nth(model, "QLinearMatMul", 0), 60 * 6, 2 * 60 * 6 + 2 * 60);
    expect_cost(model, analysis, nth(model, "QGemm", 0), 42 * 5, 2 * 42 * 5 + 2 * 42); /* a zero point is no bias */
    expect_cost(model, analysis, nth(model, "QGemm", 1), 42 * 5, 2 * 42 * 5 + 42 + 2 * 42);
    /* 5 steps, 2 directions, batch 2, 4 units: gates of 3 inputs and 4 units; no bias. */
    const gint64 units = 5 * 2 * 2 * 4;
    expect_cost(model, analysis, nth(model, "LSTM", 0), units * 4 * 7, 2 * units * 4 * 7 + units * (4 + 5));
    expect_cost(model, analysis, nth(model, "GRU", 0), units * 3 * 7, 2 * units * 3 * 7 + units * (3 + 5));
    expect_cost(model, analysis, nth(model, "RNN", 0), units * 7, 2 * units * 7 + units);
    expect_shape(model, analysis, nth(model, "LSTM", 0), 0, "[5,2,2,4]");
    expect_shape(model, analysis, nth(model, "LSTM", 0), 1, "[2,2,4]");
}

/* Shapes that the graph computes from shapes, as exporters write them. x [3,4]. */
static void test_values(void)
{
    g_autoptr(IfmModel) model = seed("op-parts");
    g_autoptr(IfmAnalysis) analysis = analyse(model);
    expect_shape(model, analysis, nth(model, "Reshape", 0), 0, "[3,4]"); /* (floor(3 / 2) * 3) mod 4 = 3 */
    expect_shape(model, analysis, nth(model, "Range", 0), 0, "[1]");
    expect_shape(model, analysis, nth(model, "Expand", 0), 0, "[3,4]");
    expect_shape(model, analysis, nth(model, "NonZero", 0), 0, "[1,2]");
    expect_shape(model, analysis, nth(model, "Compress", 0), 0, "[2,4]");
    expect_shape(model, analysis, nth(model, "Slice", 0), 0, "[3,2]");
    expect_cost(model, analysis, nth(model, "Einsum", 0), 3 * 4 * 5, 2 * 3 * 4 * 5);
    expect_cost(model, analysis, nth(model, "Einsum", 1), 3 * 4, 2 * 3 * 4);
}

/* Every seed that holds many operators is analysed whole but for what depends on values. */
static void test_space(void)
{
    g_autoptr(IfmModel) model = seed("op-space");
    g_autoptr(IfmAnalysis) analysis = analyse(model);
    g_auto(IfmCoverage) coverage = { 0 };
    ifm_analysis_coverage(analysis, &coverage);
    g_assert_cmpuint(coverage.missing->len, ==, 1);
    g_assert_cmpstr(g_ptr_array_index(coverage.missing, 0), ==, "MaxRoiPool (1 node): its operations depend on values");
    expect_cost(model, analysis, nth(model, "ConvTranspose", 0), 4 * 36 * 18, 2 * 4 * 36 * 18);
    expect_shape(model, analysis, nth(model, "ConvTranspose", 0), 0, "[1,2,12,12]");
    expect_cost(model, analysis, nth(model, "LayerNormalization", 0), 0, 5 * 144);
    expect_cost(model, analysis, nth(model, "Resize", 0), 0, 2 * 4 * 4 * 12 * 9); /* two axes: four neighbours */
    expect_shape(model, analysis, nth(model, "Resize", 2), 0, "[1,4,3,3]");       /* no larger than [3,9], one scale */
}

/* The standard's own attention (version 23), written by the builder: heads apart; more queries' heads than keys'. */
static void test_standard_attention(void)
{
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("attention", 23);
    ifm_model_builder_input(builder, "q", IFM_DTYPE_F32, 4, (gint64[]){ 2, 6, 5, 8 }, NULL);
    ifm_model_builder_input(builder, "k", IFM_DTYPE_F32, 4, (gint64[]){ 2, 3, 7, 8 }, NULL);
    ifm_model_builder_input(builder, "v", IFM_DTYPE_F32, 4, (gint64[]){ 2, 3, 7, 9 }, NULL);
    ifm_model_builder_node(builder, "Attention", NULL, NAMES("q", "k", "v"), NAMES("y"));
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    g_autoptr(IfmAnalysis) analysis = analyse(model);
    const gint64 scores = 2 * 6 * 5 * 7;
    expect_cost(model, analysis, 0, scores * (8 + 9), 2 * scores * 17 + 5 * scores);
    expect_shape(model, analysis, 0, 0, "[2,6,5,9]");
}

/* Each input element is multiplied with each weight of its channel; the bias is added once for each output. */
static void test_transposed_bias(void)
{
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("transposed", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 4, (gint64[]){ 1, 3, 4, 4 }, NULL);
    ifm_model_builder_random_weight(builder, "w", 4, (gint64[]){ 3, 2, 2, 2 }, 1, 1);
    ifm_model_builder_random_weight(builder, "b", 1, (gint64[]){ 2 }, 1, 1);
    ifm_model_builder_node(builder, "ConvTranspose", NULL, NAMES("x", "w", "b"), NAMES("y"));
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    g_autoptr(IfmAnalysis) analysis = analyse(model);
    expect_shape(model, analysis, 0, 0, "[1,2,5,5]");
    expect_cost(model, analysis, 0, 3 * 16 * 8, 2 * 3 * 16 * 8 + 2 * 25);
}

/* What training does more: x [2,3,4,5] is normalised by its own statistics; an element is multiplied with its mask. */
static void test_training(void)
{
    const gint64 n = 2 * 3 * 4 * 5;
    const guint8 yes = 1, no = 0;
    const float half = 0.5F;
    const char *const norm[] = { "x", "scale", "bias", "mean", "variance", NULL };
    IfmTensor tensor;
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("training", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 4, (gint64[]){ 2, 3, 4, 5 }, NULL);
    ifm_model_builder_input(builder, "flag", IFM_DTYPE_BOOL, 0, NULL, NULL);
    for (gsize i = 1; norm[i] != NULL; i++)
        ifm_model_builder_random_weight(builder, norm[i], 1, (gint64[]){ 3 }, 1, 1);
    g_assert_true(ifm_tensor_wrap(&tensor, IFM_DTYPE_BOOL, 0, NULL, (void *)&yes, NULL));
    ifm_model_builder_weight(builder, "yes", &tensor);
    g_assert_true(ifm_tensor_wrap(&tensor, IFM_DTYPE_BOOL, 0, NULL, (void *)&no, NULL));
    ifm_model_builder_weight(builder, "no", &tensor);
    g_assert_true(ifm_tensor_wrap(&tensor, IFM_DTYPE_F32, 0, NULL, (void *)&half, NULL));
    ifm_model_builder_weight(builder, "half", &tensor);
    ifm_model_builder_node(builder, "BatchNormalization", NULL, norm, NAMES("fixed"));
    gsize trained = ifm_model_builder_node(builder, "BatchNormalization", NULL, norm, NAMES("by batch", "m", "v"));
    ifm_model_builder_int(builder, trained, "training_mode", 1);
    ifm_model_builder_node(builder, "Dropout", NULL, NAMES("x"), NAMES("d0"));
    ifm_model_builder_node(builder, "Dropout", NULL, NAMES("x", "half", "no"), NAMES("d1"));
    ifm_model_builder_node(builder, "Dropout", NULL, NAMES("x", "half", "yes"), NAMES("d2"));
    ifm_model_builder_node(builder, "Dropout", NULL, NAMES("x", "half", "flag"), NAMES("d3"));
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    g_autoptr(IfmAnalysis) analysis = analyse(model);
    expect_cost(model, analysis, nth(model, "BatchNormalization", 0), 0, 2 * n);
    expect_cost(model, analysis, nth(model, "BatchNormalization", 1), 0, 5 * n);
    for (int i = 0; i < 4; i++)
    {
        const gsize node = nth(model, "Dropout", i);
        expect_cost(model, analysis, node, 0, i < 2 ? 0 : n);
        g_assert_cmpint(ifm_analysis_node_cost(analysis, node)->is_upper_bound, ==, i == 3);
    }
}

/* --- contradictions ------------------------------------------------------------------------------------------------- */

/* refused: one node that reads "x" [3,4] and integers "a", "b", ... must be refused with these words, in one line. */
static void refused(const char *op_type, const char *said, gsize n_outputs, const gint64 *attribute, const char *name,
                    const char *const *lists)
{
    static const char *const names[] = { "x", "a", "b", "c", "d" }, *const outputs[] = { "y", "y1", "y2" };
    const char *inputs[6] = { "x" }, *made[4] = { NULL };
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("bad", 18);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, (gint64[]){ 3, 4 }, NULL);
    for (gsize i = 0; lists[i] != NULL; i++)
    {
        gint64 values[8];
        IfmTensor tensor;
        gint64 n = 0;
        g_auto(GStrv) words = g_strsplit(lists[i], " ", -1);
        for (; words[n] != NULL; n++)
            values[n] = g_ascii_strtoll(words[n], NULL, 10);
        g_assert_true(ifm_tensor_wrap(&tensor, IFM_DTYPE_I64, 1, &n, values, NULL));
        ifm_model_builder_weight(builder, inputs[i + 1] = names[i + 1], &tensor);
    }
    for (gsize i = 0; i < n_outputs; i++)
        made[i] = outputs[i];
    gsize node = ifm_model_builder_node(builder, op_type, "it", inputs, made);
    if (name != NULL)
        ifm_model_builder_int(builder, node, name, *attribute);
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(model, NULL, 0, &error);
    g_assert_null(analysis);
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_null(strchr(error->message, '\n'));
    if (!g_str_has_prefix(error->message, "bad: node 0 (") || strstr(error->message, said) == NULL)
        g_error("expected '%s' in: %s", said, error->message);
}

static void test_refused(void)
{
    const gint64 nine = 9;
    refused("Slice", "steps[0] is 0", 1, NULL, NULL, NAMES("0", "9", "0", "0"));
    refused("Slice", "not as many as each other", 1, NULL, NULL, NAMES("0 1", "9", "0"));
    refused("Slice", "axis 0 is named twice", 1, NULL, NULL, NAMES("0 1", "9 9", "0 -2"));
    refused("Pad", "axis 0 of 'x' is 3: padding of -2 and -2 is not possible", 1, NULL, NULL, NAMES("-2 0 -2 0"));
    refused("Pad", "3 numbers of padding for 2 axes", 1, NULL, NULL, NAMES("1 1 1"));
    refused("Split", "do not add up to the 3 of axis 0", 2, NULL, NULL, NAMES("1 1"));
    refused("Tile", "has 1 numbers, not one for each of the 2 axes", 1, NULL, NULL, NAMES("2"));
    refused("Tile", "is to be repeated -1 times", 1, NULL, NULL, NAMES("2 -1"));
    refused("Tile", "'y': shape [3458764513820540928,4] is larger than any memory", 1, NULL, NULL,
            NAMES("1152921504606846976 1"));
    refused("TopK", "k is 5, but axis 1 of 'x' is 4", 2, NULL, NULL, NAMES("5"));
    refused("ArgMax", "axis 9 is not within -2 to 1", 1, &nine, "axis", NAMES(NULL));
    refused("DepthToSpace", "'x' [3,4] must have a rank of 4", 1, &nine, "blocksize", NAMES(NULL));
    refused("LayerNormalization", "'a' [3] does not broadcast to 'x' [3,4]", 1, NULL, NULL, NAMES("1 2 3"));
    refused("LSTM", "must have a rank of 3", 1, NULL, NULL, NAMES("1", "1"));
    refused("Einsum", "'x' [3,4] is not what '' says", 1, &nine, "equation", NAMES(NULL));
    refused("If", "else_branch: it has no else_branch", 1, NULL, NULL, NAMES(NULL));
    refused("Loop", "it has no body", 1, NULL, NULL, NAMES(NULL));
    refused("Scan", "it has no body", 1, NULL, NULL, NAMES(NULL));
}

/* All operators that ONNX's own domain ever had, of the onnx package 1.23: none is called unknown; where there is no rule,
 * the work is not counted and nothing is refused. A name of the list that is in no table fails. */
static void test_all_known(void)
{
    static const char names[] =
        "Abs Acos Acosh Add AffineGrid And ArgMax ArgMin Asin Asinh Atan Atanh Attention AveragePool BatchNormalization "
        "Bernoulli BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor BlackmanWindow Cast CastLike "
        "CausalConvWithState Ceil Celu CenterCropPad Clip Col2Im Compress Concat ConcatFromSequence Constant "
        "ConstantOfShape Conv ConvInteger ConvTranspose Cos Cosh CumProd CumSum DFT DeformConv DepthToSpace "
        "DequantizeLinear Det Div Dropout DynamicQuantizeLinear Einsum Elu Equal Erf Exp Expand EyeLike Flatten Floor "
        "GRU Gather GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool Greater "
        "GreaterOrEqual GridSample GroupNormalization HammingWindow HannWindow HardSigmoid HardSwish Hardmax Identity "
        "If ImageDecoder InstanceNormalization IsInf IsNaN LRN LSTM LayerNormalization LeakyRelu Less LessOrEqual "
        "LinearAttention Log LogSoftmax Loop LpNormalization LpPool MatMul MatMulInteger Max MaxPool MaxRoiPool "
        "MaxUnpool Mean MeanVarianceNormalization MelWeightMatrix Min Mish Mod Mul Multinomial Neg "
        "NegativeLogLikelihoodLoss NonMaxSuppression NonZero Not OneHot Optional OptionalGetElement OptionalHasElement "
        "Or PRelu Pad Pow QLinearConv QLinearMatMul QuantizeLinear RMSNormalization RNN RandomNormal RandomNormalLike "
        "RandomUniform RandomUniformLike Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax "
        "ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare RegexFullMatch Relu Reshape Resize ReverseSequence "
        "RoiAlign RotaryEmbedding Round STFT Scan Scatter ScatterElements ScatterND Selu SequenceAt SequenceConstruct "
        "SequenceEmpty SequenceErase SequenceInsert SequenceLength SequenceMap Shape Shrink Sigmoid Sign Sin Sinh Size "
        "Slice Softmax SoftmaxCrossEntropyLoss Softplus Softsign SpaceToDepth Split SplitToSequence Sqrt Squeeze "
        "StringConcat StringNormalizer StringSplit Sub Sum SwiGLU Swish Tan Tanh TensorScatter TfIdfVectorizer "
        "ThresholdedRelu Tile TopK Transpose Trilu Unique Unsqueeze Upsample Where Xor";
    g_auto(GStrv) all = g_strsplit(names, " ", -1);
    for (char **name = all; *name != NULL; name++)
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("one", 28);
        ifm_model_builder_node(builder, *name, "only", NAMES(NULL), NAMES("y"));
        ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, -1, NULL, NULL);
        g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
        g_assert_no_error(error);
        g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(model, NULL, 0, &error);
        if (analysis == NULL) /* a rule misses the inputs */
            continue;
        if (!ifm_analysis_knows_operator(analysis, 0))
            g_error("%s is in no table", *name);
    }
}

/* What transforms signals has no rule: its work is unknown, and so is the total. */
static void test_no_rule(void)
{
    static const char *const names[] = { "DFT", "STFT", "MelWeightMatrix", "LinearAttention" };
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("one", 28);
        ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 1, (gint64[]){ 8 }, NULL);
        ifm_model_builder_node(builder, names[i], "only", NAMES("x"), NAMES("y"));
        ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, -1, NULL, NULL);
        g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
        g_assert_no_error(error);
        g_autoptr(IfmAnalysis) analysis = analyse(model);
        g_auto(IfmCoverage) coverage = { 0 };
        ifm_analysis_coverage(analysis, &coverage);
        g_assert_cmpuint(coverage.n_covered, ==, 0);
        g_assert_cmpuint(coverage.n_mac_nodes, ==, 1);
        g_autofree char *line = g_strdup_printf("%s (1 node): no rule for this operator", names[i]);
        g_assert_cmpstr(coverage.missing->pdata[0], ==, line);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/onnx/operators/control", test_control);
    g_test_add_func("/onnx/operators/fused", test_fused);
    g_test_add_func("/onnx/operators/quantised", test_quantised);
    g_test_add_func("/onnx/operators/values", test_values);
    g_test_add_func("/onnx/operators/space", test_space);
    g_test_add_func("/onnx/operators/standard-attention", test_standard_attention);
    g_test_add_func("/onnx/transposed-bias", test_transposed_bias);
    g_test_add_func("/onnx/operators/training", test_training);
    g_test_add_func("/onnx/operators/refused", test_refused);
    g_test_add_func("/onnx/operators/all-known", test_all_known);
    g_test_add_func("/onnx/operators/no-rule", test_no_rule);
    return g_test_run();
}
