/* Shapes and costs against formulas written out here, and contradictions. */
#include <string.h>

#include <onnx/onnx.h>

#include "build-folders.h"

#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define DIMS(...) G_N_ELEMENTS(((gint64[]){ __VA_ARGS__ })), ((gint64[]){ __VA_ARGS__ })

/* one: a graph of one node that reads inputs "a", "b", "c" of the given shapes and makes "y". */
typedef struct
{
    IfmModelBuilder *builder;
    gsize node;
} One;

static One one(const char *op_type, int rank_a, const gint64 *a, int rank_b, const gint64 *b, int rank_c, const gint64 *c)
{
    One made = { ifm_model_builder_new("one", 17), 0 };
    const char *inputs[4] = { "a", NULL, NULL, NULL };
    ifm_model_builder_input(made.builder, "a", IFM_DTYPE_F32, rank_a, a, NULL);
    if (b != NULL)
        ifm_model_builder_input(made.builder, inputs[1] = "b", IFM_DTYPE_F32, rank_b, b, NULL);
    if (c != NULL)
        ifm_model_builder_input(made.builder, inputs[2] = "c", IFM_DTYPE_F32, rank_c, c, NULL);
    made.node = ifm_model_builder_node(made.builder, op_type, "it", inputs, NAMES("y"));
    return made;
}

static One unary(const char *op_type, int rank, const gint64 *dims)
{
    return one(op_type, rank, dims, 0, NULL, 0, NULL);
}

static One binary(const char *op_type, int rank_a, const gint64 *a, int rank_b, const gint64 *b)
{
    return one(op_type, rank_a, a, rank_b, b, 0, NULL);
}

/* constant: one more input, "s", with known integers. */
static void constant(One *made, const char *name, gsize n, const gint64 *values)
{
    IfmTensor tensor;
    const gint64 shape = (gint64)n;
    g_assert_true(ifm_tensor_wrap(&tensor, IFM_DTYPE_I64, 1, &shape, (void *)values, NULL));
    ifm_model_builder_weight(made->builder, name, &tensor);
}

static IfmAnalysis *analyse(One made, GError **error)
{
    g_autoptr(IfmModelBuilder) builder = made.builder;
    g_autoptr(GError) wrong = NULL;
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &wrong);
    g_assert_no_error(wrong);
    return ifm_model_analyse(model, NULL, 0, error);
}

/* expect: @rank -1: the shape of "y" is not known. */
static void expect(One made, int rank, const gint64 *shape, gint64 macs, gint64 flop)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmAnalysis) analysis = analyse(made, &error);
    IfmDtype dtype;
    int found;
    gint64 dims[IFM_MAX_RANK];
    g_assert_no_error(error);
    g_assert_cmpint(ifm_analysis_shape(analysis, "y", &dtype, &found, dims), ==, rank >= 0);
    if (rank < 0)
        return;
    g_assert_cmpint(found, ==, rank);
    for (int i = 0; i < rank; i++)
        g_assert_cmpint(dims[i], ==, shape[i]);
    const IfmNodeCost *cost = ifm_analysis_node_cost(analysis, 0);
    g_assert_true(cost->covered);
    g_assert_cmpint(cost->macs, ==, macs);
    g_assert_cmpint(cost->flop, ==, flop);
}

static void expect_refused(One made, const char *said)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmAnalysis) analysis = analyse(made, &error);
    g_assert_null(analysis);
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_true(g_str_has_prefix(error->message, "one: node 0 ("));
    if (strstr(error->message, said) == NULL)
        g_error("expected '%s' in: %s", said, error->message);
}

/* --- products ------------------------------------------------------------------------------------------------------- */

static void test_matmul(void)
{
    expect(binary("MatMul", DIMS(3, 5), DIMS(5, 7)), DIMS(3, 7), 3 * 5 * 7, 2 * 3 * 5 * 7);
    expect(binary("MatMul", DIMS(2, 1, 3, 5), DIMS(4, 5, 7)), DIMS(2, 4, 3, 7), 2 * 4 * 3 * 5 * 7, 2 * 2 * 4 * 3 * 5 * 7);
    expect(binary("MatMul", DIMS(5), DIMS(5, 7)), DIMS(7), 35, 70);
    expect(binary("MatMul", DIMS(3, 5), DIMS(5)), DIMS(3), 15, 30);
    expect(binary("MatMul", DIMS(5), DIMS(5)), 0, NULL, 5, 10);
    expect(binary("MatMul", DIMS(0, 5), DIMS(5, 7)), DIMS(0, 7), 0, 0);
    expect_refused(binary("MatMul", DIMS(3, 5), DIMS(4, 7)), "'a' [3,5] has 5 columns, 'b' [4,7] has 4 rows");
    expect_refused(binary("MatMul", DIMS(2, 3, 5), DIMS(3, 5, 7)), "[2] and [3] do not broadcast");
    expect_refused(binary("MatMul", 0, (gint64[]){ 0 }, DIMS(5)), "a scalar has no matrix product");
    expect_refused(binary("MatMul", DIMS(1LL << 40, 1), DIMS(1, 1LL << 40)), "larger than any memory");
}

static void test_gemm(void)
{
    expect(binary("Gemm", DIMS(3, 5), DIMS(5, 7)), DIMS(3, 7), 105, 210);
    expect(one("Gemm", DIMS(3, 5), DIMS(5, 7), DIMS(7)), DIMS(3, 7), 105, 210 + 21);
    One transposed = one("Gemm", DIMS(5, 3), DIMS(7, 5), DIMS(3, 1));
    ifm_model_builder_int(transposed.builder, transposed.node, "transA", 1);
    ifm_model_builder_int(transposed.builder, transposed.node, "transB", 1);
    expect(transposed, DIMS(3, 7), 105, 231);
    expect_refused(binary("Gemm", DIMS(3, 5), DIMS(7, 5)), "'a' [3,5] has 5 columns, 'b' [7,5] has 7 rows");
    expect_refused(binary("Gemm", DIMS(3, 5, 1), DIMS(5, 7)), "must both be matrices");
    expect_refused(one("Gemm", DIMS(3, 5), DIMS(5, 7), DIMS(3)), "[3,7] and [3] do not broadcast");
    expect_refused(one("Gemm", DIMS(3, 5), DIMS(5, 7), DIMS(2, 3, 7)), "'c' [2,3,7] does not broadcast to [3,7]");
}

/* --- windows -------------------------------------------------------------------------------------------------------- */

/* Window: one axis of a convolution or pool, and the attributes that describe it. */
typedef struct
{
    gint64 in, kernel, stride, dilation, begin, end;
} Window;

/* count_positions: by trying every start: the reference that the closed formula is held against. */
static gint64 count_positions(const Window *w, gboolean ceil_mode)
{
    gint64 n = 0, padded = w->in + w->begin + w->end, covered = padded;
    for (gint64 start = 0; start < padded; start += w->stride)
    {
        gint64 reached = start + w->dilation * (w->kernel - 1) + 1;
        if (reached <= padded)
        {
            n++;
            covered = reached;
        }
        else if (ceil_mode && covered < padded && start < w->in + w->begin)
        {
            /* One window may hang over the end, if it begins before the padding there and there is something left. */
            n++;
            break;
        }
    }
    return n;
}

static void set_windows(One *made, const Window *w, gboolean ceil_mode)
{
    ifm_model_builder_ints(made->builder, made->node, "strides", (gint64[]){ w[0].stride, w[1].stride }, 2);
    ifm_model_builder_ints(made->builder, made->node, "dilations", (gint64[]){ w[0].dilation, w[1].dilation }, 2);
    ifm_model_builder_ints(made->builder, made->node, "pads", (gint64[]){ w[0].begin, w[1].begin, w[0].end, w[1].end }, 4);
    if (ceil_mode)
        ifm_model_builder_int(made->builder, made->node, "ceil_mode", 1);
}

/* Random convolutions in groups: macs = every output times the weights that it sums over. */
static void test_conv_random(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(3);
    int n_done = 0;
    while (n_done < 300)
    {
        Window w[2];
        gint64 batch = g_rand_int_range(random, 1, 4), group = g_rand_int_range(random, 1, 4);
        gint64 per_in = g_rand_int_range(random, 1, 5), per_out = g_rand_int_range(random, 1, 5), out[2];
        for (int i = 0; i < 2; i++)
        {
            w[i] =
                (Window){ g_rand_int_range(random, 1, 20), g_rand_int_range(random, 1, 6), g_rand_int_range(random, 1, 5),
                          g_rand_int_range(random, 1, 4),  g_rand_int_range(random, 0, 4), g_rand_int_range(random, 0, 4) };
            out[i] = count_positions(&w[i], FALSE);
        }
        if (out[0] == 0 || out[1] == 0)
            continue;
        One made = one("Conv", DIMS(batch, group * per_in, w[0].in, w[1].in),
                       DIMS(group * per_out, per_in, w[0].kernel, w[1].kernel), DIMS(group * per_out));
        set_windows(&made, w, FALSE);
        ifm_model_builder_int(made.builder, made.node, "group", group);
        gint64 outputs = batch * group * per_out * out[0] * out[1];
        gint64 macs = outputs * per_in * w[0].kernel * w[1].kernel;
        expect(made, DIMS(batch, group * per_out, out[0], out[1]), macs, 2 * macs + outputs);
        n_done++;
    }
}

static void test_pool_random(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(4);
    for (int n_done = 0; n_done < 300;)
    {
        Window w[2];
        gboolean ceil_mode = g_rand_boolean(random);
        gint64 out[2];
        for (int i = 0; i < 2; i++)
        {
            gint64 kernel = g_rand_int_range(random, 1, 6); /* padding is less than the kernel, as the standard asks */
            w[i] = (Window){ g_rand_int_range(random, 1, 20),
                             kernel,
                             g_rand_int_range(random, 1, 5),
                             g_rand_int_range(random, 1, 3),
                             g_rand_int_range(random, 0, (gint32)kernel),
                             g_rand_int_range(random, 0, (gint32)kernel) };
            out[i] = count_positions(&w[i], ceil_mode);
        }
        if (out[0] == 0 || out[1] == 0)
            continue;
        One made = unary("MaxPool", DIMS(2, 3, w[0].in, w[1].in));
        set_windows(&made, w, ceil_mode);
        ifm_model_builder_ints(made.builder, made.node, "kernel_shape", (gint64[]){ w[0].kernel, w[1].kernel }, 2);
        expect(made, DIMS(2, 3, out[0], out[1]), 0, 6 * out[0] * out[1] * w[0].kernel * w[1].kernel);
        n_done++;
    }
}

static void test_conv_padding(void)
{
    static const struct
    {
        const char *auto_pad;
        gint64 out[2];
    } cases[] = { { "NOTSET", { 3, 2 } }, { "VALID", { 3, 2 } }, { "SAME_UPPER", { 4, 3 } }, { "SAME_LOWER", { 4, 3 } } };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        /* 7x5 by 3x3, stride 2: (7-3)/2+1 = 3, (5-3)/2+1 = 2; the same: ceil(7/2) = 4, ceil(5/2) = 3 */
        One made = binary("Conv", DIMS(1, 2, 7, 5), DIMS(4, 2, 3, 3));
        ifm_model_builder_string(made.builder, made.node, "auto_pad", cases[i].auto_pad);
        ifm_model_builder_ints(made.builder, made.node, "strides", (gint64[]){ 2, 2 }, 2);
        gint64 macs = 4 * cases[i].out[0] * cases[i].out[1] * 2 * 9;
        expect(made, DIMS(1, 4, cases[i].out[0], cases[i].out[1]), macs, 2 * macs);
    }
    expect(binary("Conv", DIMS(1, 2, 10), DIMS(3, 2, 4)), DIMS(1, 3, 7), 3 * 7 * 8, 2 * 3 * 7 * 8);
    expect(binary("Conv", DIMS(1, 2, 4, 4, 4), DIMS(3, 2, 2, 2, 2)), DIMS(1, 3, 3, 3, 3), 81 * 16, 2 * 81 * 16);
}

static One conv_with(const char *attribute, gint64 a, gint64 b, gsize n)
{
    One made = binary("Conv", DIMS(1, 4, 8, 8), DIMS(6, 4, 3, 3));
    ifm_model_builder_ints(made.builder, made.node, attribute, (gint64[]){ a, b, 0, 0 }, n);
    return made;
}

static void test_conv_refused(void)
{
    expect_refused(binary("Conv", DIMS(1, 3, 8, 8), DIMS(6, 4, 3, 3)), "'b' [6,4,3,3] does not fit 'a' [1,3,8,8]");
    expect_refused(binary("Conv", DIMS(1, 4, 8), DIMS(6, 4, 3, 3)), "must have the same rank");
    expect_refused(binary("Conv", DIMS(1, 4, 2, 8), DIMS(6, 4, 3, 3)),
                   "spatial dimension 0: the kernel reaches over 3 of 2 padded positions");
    expect_refused(one("Conv", DIMS(1, 4, 8, 8), DIMS(6, 4, 3, 3), DIMS(5)), "bias 'c' is [5], not [6]");
    expect_refused(conv_with("kernel_shape", 3, 5, 2), "kernel_shape[1] is 5, but 'b' is [6,4,3,3]");
    expect_refused(conv_with("strides", 0, 1, 2), "strides[0] is 0");
    expect_refused(conv_with("strides", 1, 1, 1), "strides has 1 numbers, not 2");
    expect_refused(conv_with("pads", -1, 0, 4), "pads[0] is -1");
    expect_refused(conv_with("dilations", 1, G_MAXINT64, 2), "dilations[1]");
    One group = binary("Conv", DIMS(1, 4, 8, 8), DIMS(5, 2, 3, 3));
    ifm_model_builder_int(group.builder, group.node, "group", 2);
    expect_refused(group, "in 2 group(s)");
    One pad = binary("Conv", DIMS(1, 4, 8, 8), DIMS(6, 4, 3, 3));
    ifm_model_builder_string(pad.builder, pad.node, "auto_pad", "SAME");
    expect_refused(pad, "auto_pad 'SAME' is none of");
    expect_refused(unary("MaxPool", DIMS(1, 4, 8, 8)), "kernel_shape is missing");
    expect_refused(unary("Conv", DIMS(1, 4, 8, 8)), "needs 2 input(s)");
}

/* --- the rest ------------------------------------------------------------------------------------------------------- */

static void test_elementwise(void)
{
    expect(unary("Relu", DIMS(2, 3)), DIMS(2, 3), 0, 6);
    expect(unary("Softmax", DIMS(2, 3)), DIMS(2, 3), 0, 30);
    expect(binary("Add", DIMS(2, 1, 3), DIMS(4, 1)), DIMS(2, 4, 3), 0, 24);
    expect(one("Sum", DIMS(2, 3), DIMS(3), DIMS(1, 1)), DIMS(2, 3), 0, 12);
    expect(unary("GlobalAveragePool", DIMS(2, 3, 4, 5)), DIMS(2, 3, 1, 1), 0, 120);
    expect(unary("Flatten", DIMS(2, 3, 4, 5)), DIMS(2, 60), 0, 0);
    expect(unary("Transpose", DIMS(2, 3, 4)), DIMS(4, 3, 2), 0, 0);
    expect(unary("NoSuchOperator", DIMS(2, 3)), -1, NULL, 0, 0);
    expect_refused(binary("Add", DIMS(2, 3), DIMS(2)), "'b': [2,3] and [2] do not broadcast");
    One flat = unary("Flatten", DIMS(2, 3));
    ifm_model_builder_int(flat.builder, flat.node, "axis", 3);
    expect_refused(flat, "axis 3 is not within -2 to 2");
    One perm = unary("Transpose", DIMS(2, 3));
    ifm_model_builder_ints(perm.builder, perm.node, "perm", (gint64[]){ 1, 1 }, 2);
    expect_refused(perm, "axis 1 is named twice");
    One joined = binary("Concat", DIMS(2, 3, 4), DIMS(2, 5, 4));
    ifm_model_builder_int(joined.builder, joined.node, "axis", -2);
    expect(joined, DIMS(2, 8, 4), 0, 0);
    One unjoined = binary("Concat", DIMS(2, 3, 4), DIMS(2, 5, 4));
    ifm_model_builder_int(unjoined.builder, unjoined.node, "axis", 0);
    expect_refused(unjoined, "'b' [2,5,4] does not join [2,3,4] on axis 0");
}

static One with_constant(const char *op_type, int rank, const gint64 *dims, gsize n, const gint64 *values)
{
    One made = { ifm_model_builder_new("one", 17), 0 };
    ifm_model_builder_input(made.builder, "a", IFM_DTYPE_F32, rank, dims, NULL);
    constant(&made, "s", n, values);
    made.node = ifm_model_builder_node(made.builder, op_type, "it", NAMES("a", "s"), NAMES("y"));
    return made;
}

static void test_constants(void)
{
    expect(with_constant("Reshape", DIMS(2, 3, 4), 2, (gint64[]){ 0, -1 }), DIMS(2, 12), 0, 0);
    expect(with_constant("Reshape", DIMS(1, 1), 0, (gint64[]){ 0 }), 0, NULL, 0, 0); /* to a scalar */
    expect_refused(with_constant("Reshape", DIMS(2, 3), 2, (gint64[]){ 4, -1 }), "6 elements [2,3] cannot take");
    expect_refused(with_constant("Reshape", DIMS(2, 3), 2, (gint64[]){ -1, -1 }), "dimension 1 of the new shape is -1");
    expect(with_constant("Unsqueeze", DIMS(2, 3), 2, (gint64[]){ 0, -1 }), DIMS(1, 2, 3, 1), 0, 0);
    expect(with_constant("Squeeze", DIMS(2, 1, 3), 1, (gint64[]){ 1 }), DIMS(2, 3), 0, 0);
    expect_refused(with_constant("Squeeze", DIMS(2, 1, 3), 1, (gint64[]){ 0 }), "axis 0 is 2, not 1");
    expect(with_constant("ReduceSum", DIMS(2, 3, 4), 1, (gint64[]){ 1 }), DIMS(2, 1, 4), 0, 24);
    expect(with_constant("Gather", DIMS(9, 3), 4, (gint64[]){ 0, 1, 2, 3 }), DIMS(4, 3), 0, 0);
}

static One scatter(const char *op_type, const char *reduction, int rank_a, const gint64 *a, int rank_b, const gint64 *b,
                   int rank_c, const gint64 *c)
{
    One made = one(op_type, rank_a, a, rank_b, b, rank_c, c);
    if (reduction != NULL)
        ifm_model_builder_string(made.builder, made.node, "reduction", reduction);
    return made;
}

static One on_axis(One made, gint64 axis)
{
    ifm_model_builder_int(made.builder, made.node, "axis", axis);
    return made;
}

/* Reading and writing by index: an addition for each element that is added, none for one that is moved. */
static void test_indices(void)
{
    expect(scatter("ScatterND", "add", DIMS(9, 3), DIMS(4, 1), DIMS(4, 3)), DIMS(9, 3), 0, 12);
    expect(scatter("ScatterND", NULL, DIMS(9, 3), DIMS(4, 1), DIMS(4, 3)), DIMS(9, 3), 0, 0);
    expect(scatter("ScatterND", "mul", DIMS(9, 3), DIMS(5, 4, 2), DIMS(5, 4)), DIMS(9, 3), 0, 20);
    expect(scatter("ScatterND", "add", DIMS(9), DIMS(0, 1), DIMS(0)), DIMS(9), 0, 0);
    expect_refused(scatter("ScatterND", "add", DIMS(9, 3), DIMS(4, 1), DIMS(4, 2)),
                   "'c' is [4,2], but 'b' indexes slices of 'a' that make [4,3]");
    expect_refused(scatter("ScatterND", "add", DIMS(9, 3), DIMS(4), DIMS(4, 3)),
                   "'b' [4] has longer index tuples than there are dimensions in 'a' [9,3]");
    expect_refused(scatter("ScatterND", "add", 0, (gint64[]){ 0 }, DIMS(4, 1), DIMS(4)), "need more dimensions than 0");
    expect(scatter("ScatterElements", "add", DIMS(9, 3), DIMS(4, 3), DIMS(4, 3)), DIMS(9, 3), 0, 12);
    expect(on_axis(scatter("ScatterElements", "none", DIMS(9, 3), DIMS(9, 7), DIMS(9, 7)), -1), DIMS(9, 3), 0, 0);
    expect_refused(scatter("ScatterElements", "add", DIMS(9, 3), DIMS(4, 5), DIMS(4, 5)),
                   "'b' [4,5] does not index 'a' [9,3]");
    expect_refused(scatter("ScatterElements", "add", DIMS(9, 3), DIMS(4, 3), DIMS(4, 1)),
                   "'c' [4,1] is not of the shape of 'b' [4,3]");
    expect_refused(on_axis(scatter("ScatterElements", "add", DIMS(9), DIMS(4), DIMS(4)), 1), "axis 1 is not within");
    expect_refused(binary("ScatterND", DIMS(9), DIMS(4, 1)), "needs 3 input(s)");
    expect(binary("GatherElements", DIMS(9, 3), DIMS(20, 2)), DIMS(20, 2), 0, 0);
    expect_refused(on_axis(binary("GatherElements", DIMS(9, 3), DIMS(20, 2)), 1), "'b' [20,2] does not index 'a' [9,3]");
    expect(binary("GatherND", DIMS(9, 3, 2), DIMS(4, 1)), DIMS(4, 3, 2), 0, 0);
    expect(binary("GatherND", DIMS(9, 3, 2), DIMS(5, 4, 3)), DIMS(5, 4), 0, 0);
    One batches = binary("GatherND", DIMS(9, 3, 2), DIMS(9, 4, 1));
    ifm_model_builder_int(batches.builder, batches.node, "batch_dims", 1);
    expect(batches, DIMS(9, 4, 2), 0, 0);
    One unequal = binary("GatherND", DIMS(9, 3, 2), DIMS(8, 4, 1));
    ifm_model_builder_int(unequal.builder, unequal.node, "batch_dims", 1);
    expect_refused(unequal, "'b' [8,4,1] is not in as many batches as 'a' [9,3,2]");
    One deep = binary("GatherND", DIMS(9, 3, 2), DIMS(9, 4, 1));
    ifm_model_builder_int(deep.builder, deep.node, "batch_dims", G_MAXINT64);
    expect_refused(deep, "need more dimensions than");
    expect(with_constant("Expand", DIMS(4, 1), 2, (gint64[]){ 1, 7 }), DIMS(4, 7), 0, 0);
    expect(with_constant("Expand", DIMS(4, 1), 3, (gint64[]){ 2, 4, 3 }), DIMS(2, 4, 3), 0, 0);
    expect(with_constant("Expand", DIMS(4, 5), 1, (gint64[]){ 1 }), DIMS(4, 5), 0, 0);
    expect_refused(with_constant("Expand", DIMS(4, 5), 1, (gint64[]){ 3 }), "'a': [4,5] and [3] do not broadcast");
    expect_refused(with_constant("Expand", DIMS(4, 5), 1, (gint64[]){ -1 }), "'s': dimension 0 is -1");
}

/* The small CNN layer by layer, batch bound; every byte counted once. */
static void test_small_cnn(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = ifm_zoo_build("small-cnn", NAMES("batch=0", "size=20", "channels=4"), 1, &error);
    g_autoptr(IfmAnalysis) unbound = ifm_model_analyse(model, NULL, 0, &error);
    g_assert_null(unbound);
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_clear_error(&error);
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(model, &(IfmDimBinding){ "N", 3 }, 1, &error);
    g_assert_no_error(error);
    const gint64 conv1 = 3 * 4 * 400 * 27, conv2 = 3 * 8 * 100 * 36, dense = 3 * 8 * 10;
    const gint64 relu1 = 3 * 4 * 400, relu2 = 3 * 8 * 100;
    IfmNodeCost total;
    gsize n_covered;
    ifm_analysis_total(analysis, &total, &n_covered);
    g_assert_cmpuint(n_covered, ==, ifm_model_n_nodes(model));
    g_assert_true(total.covered);
    g_assert_cmpint(total.macs, ==, conv1 + conv2 + dense);
    g_assert_cmpint(total.flop, ==,
                    2 * (conv1 + conv2 + dense) + relu1 /* bias */ + relu1 + relu1 /* MaxPool: a quarter, 4 each */ +
                        relu2 + relu2 + relu2 /* GlobalAveragePool */ + 30 /* bias */ + 5 * 30);
    const IfmNodeCost *first = ifm_analysis_node_cost(analysis, 0);
    g_assert_cmpint(first->bytes_read, ==, 4 * (3 * 3 * 400 + 4 * 27 + 4));
    g_assert_cmpint(first->bytes_written, ==, 4 * 3 * 4 * 400);
    IfmDtype dtype;
    int rank;
    gint64 shape[IFM_MAX_RANK];
    g_assert_true(ifm_analysis_shape(analysis, "probabilities", &dtype, &rank, shape));
    g_assert_cmpint(shape[0], ==, 3);
    g_assert_cmpint(dtype, ==, IFM_DTYPE_F32);
}

/* A tensor that is read twice counts once. */
static void test_bytes(void)
{
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("bytes", 17);
    ifm_model_builder_input(builder, "a", IFM_DTYPE_F64, 1, (gint64[]){ 10 }, NULL);
    ifm_model_builder_node(builder, "Mul", NULL, NAMES("a", "a"), NAMES("y"));
    ifm_model_builder_node(builder, "NoSuchOperator", NULL, NAMES("y"), NAMES("z"));
    ifm_model_builder_node(builder, "Relu", NULL, NAMES("z"), NAMES("w"));
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, NULL);
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(model, NULL, 0, NULL);
    g_assert_cmpint(ifm_analysis_node_cost(analysis, 0)->bytes_read, ==, 80);
    g_assert_cmpint(ifm_analysis_node_cost(analysis, 0)->bytes_written, ==, 80);
    IfmNodeCost total;
    gsize n_covered;
    ifm_analysis_total(analysis, &total, &n_covered);
    g_assert_cmpuint(n_covered, ==, 1); /* neither the unknown operator nor what follows from it */
    g_assert_false(total.covered);
    g_assert_cmpint(total.flop, ==, 10);
    g_assert_false(ifm_analysis_node_cost(analysis, 2)->covered);
}

/* What the model declares is held against what comes out, and used where nothing does. */
static void test_declared(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) wrong = ifm_model_builder_new("declared", 17);
    ifm_model_builder_input(wrong, "a", IFM_DTYPE_F32, 2, (gint64[]){ 2, 3 }, NULL);
    ifm_model_builder_output(wrong, "y", IFM_DTYPE_F32, 2, (gint64[]){ 2, 4 }, NULL);
    ifm_model_builder_node(wrong, "Relu", "r", NAMES("a"), NAMES("y"));
    g_autoptr(IfmModel) model = ifm_model_builder_finish(wrong, &error);
    g_assert_no_error(error);
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(model, NULL, 0, &error);
    g_assert_no_error(error); /* runtimes warn of it and run: so it is noted, and what comes out holds */
    IfmDtype dtype;
    int rank;
    gint64 shape[IFM_MAX_RANK];
    gsize n_contradicted;
    g_assert_cmpstr(ifm_analysis_contradiction(analysis, &n_contradicted), ==,
                    "'y' comes out as [2,3], but the model declares [2,4]");
    g_assert_cmpuint(n_contradicted, ==, 1);
    g_assert_true(ifm_analysis_shape(analysis, "y", &dtype, &rank, shape));
    g_assert_cmpint(shape[1], ==, 3);

    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("declared", 17);
    ifm_model_builder_input(builder, "a", IFM_DTYPE_F32, 2, (gint64[]){ -1, 3 }, (const char *[]){ "N", NULL });
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, (gint64[]){ -1, 4 }, (const char *[]){ "N", NULL });
    ifm_model_builder_node(builder, "NoSuchOperator", "r", NAMES("a"), NAMES("y"));
    g_autoptr(IfmModel) unknown = ifm_model_builder_finish(builder, &error);
    g_autoptr(IfmAnalysis) reported = ifm_model_analyse(unknown, &(IfmDimBinding){ "N", 5 }, 1, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_analysis_shape(reported, "y", &dtype, &rank, shape));
    g_assert_cmpint(shape[0], ==, 5);
    g_assert_cmpint(shape[1], ==, 4);
}

/* The wheel's models: every node is covered, and the multiplications are those of the architectures' own tables. */
static void test_light(void)
{
    /* AlexNet on 224 pixels: its convolutions make 54, 26 and 12 pixels; the second, fourth and fifth are in two groups. */
    gint64 alexnet = 54 * 54 * 96 * 3 * 121 + 26 * 26 * 256 * 48 * 25 + 12 * 12 * 384 * 256 * 9;
    alexnet += 12 * 12 * 9 * (384 * 192 + 256 * 192) + 9216 * 4096 + 4096 * 4096 + 4096 * 1000;
    /* VGG: two, two, four, four and four 3x3 convolutions at 224, 112, 56, 28 and 14 pixels. */
    const gint64 nine = 9;
    gint64 vgg = nine * 224 * 224 * (3 * 64 + 64 * 64) + nine * 112 * 112 * (64 * 128 + 128 * 128);
    vgg += nine * 56 * 56 * (128 * 256 + 3 * 256 * 256) + nine * 28 * 28 * (256 * 512 + 3 * 512 * 512);
    vgg += nine * 14 * 14 * 4 * 512 * 512 + 25088 * 4096 + 4096 * 4096 + 4096 * 1000;
    const struct
    {
        const char *name;
        gint64 macs;
    } models[] = { { "light_bvlc_alexnet", alexnet }, { "light_vgg19", vgg } };
    for (gsize i = 0; i < G_N_ELEMENTS(models); i++)
    {
        g_autoptr(GError) error = NULL;
        g_autofree char *path = g_strdup_printf("%s/onnx/light/%s.onnx", IFM_DEPS_DIR, models[i].name);
        if (!g_file_test(path, G_FILE_TEST_EXISTS))
        {
            g_test_skip("the onnx wheel's light models are unavailable");
            return;
        }
        g_autoptr(IfmModel) model = ifm_model_open(path, &error);
        g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(model, NULL, 0, &error);
        g_assert_no_error(error);
        IfmNodeCost total;
        gsize n_covered;
        ifm_analysis_total(analysis, &total, &n_covered);
        g_assert_true(total.covered);
        g_assert_cmpint(total.macs, ==, models[i].macs);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/onnx/analysis/matmul", test_matmul);
    g_test_add_func("/onnx/analysis/gemm", test_gemm);
    g_test_add_func("/onnx/analysis/conv-random", test_conv_random);
    g_test_add_func("/onnx/analysis/pool-random", test_pool_random);
    g_test_add_func("/onnx/analysis/conv-padding", test_conv_padding);
    g_test_add_func("/onnx/analysis/conv-refused", test_conv_refused);
    g_test_add_func("/onnx/analysis/elementwise", test_elementwise);
    g_test_add_func("/onnx/analysis/constants", test_constants);
    g_test_add_func("/onnx/analysis/indices", test_indices);
    g_test_add_func("/onnx/analysis/small-cnn", test_small_cnn);
    g_test_add_func("/onnx/analysis/bytes", test_bytes);
    g_test_add_func("/onnx/analysis/declared", test_declared);
    g_test_add_func("/onnx/analysis/light", test_light);
    return g_test_run();
}
