/* The reference model of integer and quantised operators: equal to integer arithmetic, done here, and to the runtime's
 * quantisers to the last bit. */
#include <math.h>

#include "small-model.h"

#define K 4608 /* the largest sum of a ResNet: 512 channels of 3 x 3 */
#define ROWS 4
#define COLUMNS 16
#define SIDE 6
#define CHANNELS 512
#define FILTERS 8

static const gint64 opsets[] = { 10, 13, 17, 21 };

/* --- products ------------------------------------------------------------------------------------------------------- */

/* Zeros: the zero points of a test, one each or one a column (or filter). */
static const double zero_a = 3, zero_columns[COLUMNS] = { 0, 5, -7, 127, -128, 1, 2, 3, 4, -5, 6, 7, 8, 9, 10, -11 };

static gint64 product_at(const IfmTensor *a, const IfmTensor *b, gint64 row, gint64 column)
{
    gint64 sum = 0;
    for (gint64 k = 0; k < K; k++)
        sum += (integer_at(a, row * K + k) - (gint64)zero_a) *
               (integer_at(b, k * COLUMNS + column) - (gint64)zero_columns[column]);
    return sum;
}

static IfmModelBuilder *product_model(gint64 opset, const IfmTensor *b, IfmDtype output)
{
    IfmModelBuilder *builder = ifm_model_builder_new("product", opset);
    const gint64 shape[] = { ROWS, K }, made[] = { ROWS, COLUMNS };
    ifm_model_builder_input(builder, "a", IFM_DTYPE_U8, 2, shape, NULL);
    ifm_model_builder_weight(builder, "b", b);
    add_number(builder, "zero_a", IFM_DTYPE_U8, zero_a);
    add_numbers(builder, "zero_b", IFM_DTYPE_I8, zero_columns, COLUMNS);
    ifm_model_builder_output(builder, "y", output, 2, made, NULL);
    return builder;
}

/* With values over all of the type, and with all the largest: the sums that saturate or overflow first. */
static void test_matmul_integer(void)
{
    Fixture fixture;
    if (!fixture_open(&fixture, "onnxruntime:CPU"))
        return;
    for (gsize i = 0; i < 2 * G_N_ELEMENTS(opsets); i++)
    {
        const gint64 shape_a[] = { ROWS, K }, shape_b[] = { K, COLUMNS };
        g_auto(IfmTensor) a = draw(IFM_DTYPE_U8, 2, shape_a, 1, i % 2 == 1);
        g_auto(IfmTensor) b = draw(IFM_DTYPE_I8, 2, shape_b, 2, i % 2 == 1);
        IfmModelBuilder *builder = product_model(opsets[i / 2], &b, IFM_DTYPE_I32);
        const char *const inputs[] = { "a", "b", "zero_a", "zero_b", NULL }, *const outputs[] = { "y", NULL };
        ifm_model_builder_node(builder, "MatMulInteger", "", inputs, outputs);
        g_autoptr(IfmModel) reference = make_reference(finish(builder));
        g_auto(Answers) answers = run_model(&fixture, reference, &a);
        for (gint64 e = 0; e < ROWS * COLUMNS; e++)
            g_assert_cmpint(integer_at(&answers.tensors[0], e), ==, product_at(&a, &b, e / COLUMNS, e % COLUMNS));
    }
    fixture_close(&fixture);
}

/* requantised: One sum in the integers of the output, by the definition: rounded once, ties to even. */
static gint64 requantised(gint64 sum, double scale, double zero)
{
    return (gint64)CLAMP(nearbyint((double)sum * scale) + zero, 0, 255);
}

static void test_qlinear_matmul(void)
{
    Fixture fixture;
    double scales[COLUMNS];
    if (!fixture_open(&fixture, "onnxruntime:CPU"))
        return;
    for (int i = 0; i < COLUMNS; i++)
        scales[i] = (double)(float)(0.001 + 0.0001 * i);
    for (gsize i = 0; i < 2 * G_N_ELEMENTS(opsets); i++)
    {
        const gint64 shape_a[] = { ROWS, K }, shape_b[] = { K, COLUMNS };
        g_auto(IfmTensor) a = draw(IFM_DTYPE_U8, 2, shape_a, 3, i % 2 == 1);
        g_auto(IfmTensor) b = draw(IFM_DTYPE_I8, 2, shape_b, 4, i % 2 == 1);
        IfmModelBuilder *builder = product_model(opsets[i / 2], &b, IFM_DTYPE_U8);
        const char *const inputs[] = { "a", "sa", "zero_a", "b", "sb", "zero_b", "sy", "zy", NULL };
        const char *const outputs[] = { "y", NULL };
        add_number(builder, "sa", IFM_DTYPE_F32, 0.03125);
        add_numbers(builder, "sb", IFM_DTYPE_F32, scales, COLUMNS);
        add_number(builder, "sy", IFM_DTYPE_F32, i % 2 == 1 ? 256 : 1);
        add_number(builder, "zy", IFM_DTYPE_U8, 117);
        ifm_model_builder_node(builder, "QLinearMatMul", "", inputs, outputs);
        g_autoptr(IfmModel) reference = make_reference(finish(builder));
        g_auto(Answers) answers = run_model(&fixture, reference, &a);
        for (gint64 e = 0; e < ROWS * COLUMNS; e++)
        {
            const double scale = 0.03125 * scales[e % COLUMNS] / (i % 2 == 1 ? 256 : 1);
            const gint64 sum = product_at(&a, &b, e / COLUMNS, e % COLUMNS);
            g_assert_cmpint(integer_at(&answers.tensors[0], e), ==, requantised(sum, scale, 117));
        }
    }
    fixture_close(&fixture);
}

/* --- convolutions ----------------------------------------------------------------------------------------------------- */

static gint64 conv_at(const IfmTensor *x, const IfmTensor *w, gint64 filter, gint64 row, gint64 column)
{
    gint64 sum = 0;
    for (gint64 c = 0; c < CHANNELS; c++)
        for (gint64 i = 0; i < 9; i++)
        {
            const gint64 y = row + i / 3 - 1, z = column + i % 3 - 1; /* padded by one on each side */
            if (y < 0 || z < 0 || y >= SIDE || z >= SIDE)
                continue;
            sum += (integer_at(x, (c * SIDE + y) * SIDE + z) - (gint64)zero_a) *
                   (integer_at(w, (filter * CHANNELS + c) * 9 + i) - (gint64)zero_columns[filter]);
        }
    return sum;
}

typedef struct
{
    Fixture fixture;
    IfmTensor inputs[2]; /* x, w */
    gint64 opset;
    gboolean largest, constant; /* weights */
} ConvCase;

static IfmModelBuilder *conv_model(const ConvCase *conv, IfmDtype output)
{
    IfmModelBuilder *builder = ifm_model_builder_new("conv", conv->opset);
    const gint64 made[] = { 1, FILTERS, SIDE, SIDE };
    ifm_model_builder_input(builder, "x", IFM_DTYPE_U8, 4, conv->inputs[0].shape, NULL);
    if (conv->constant)
        ifm_model_builder_weight(builder, "w", &conv->inputs[1]);
    else
        ifm_model_builder_input(builder, "w", IFM_DTYPE_I8, 4, conv->inputs[1].shape, NULL);
    add_number(builder, "zx", IFM_DTYPE_U8, zero_a);
    add_numbers(builder, "zw", IFM_DTYPE_I8, zero_columns, FILTERS);
    ifm_model_builder_output(builder, "y", output, 4, made, NULL);
    return builder;
}

static void add_pads(IfmModelBuilder *builder, gsize node)
{
    const gint64 pads[] = { 1, 1, 1, 1 };
    ifm_model_builder_ints(builder, node, "pads", pads, G_N_ELEMENTS(pads));
}

static void check_conv_integer(ConvCase *conv)
{
    const char *const inputs[] = { "x", "w", "zx", "zw", NULL }, *const outputs[] = { "y", NULL };
    IfmModelBuilder *builder = conv_model(conv, IFM_DTYPE_I32);
    add_pads(builder, ifm_model_builder_node(builder, "ConvInteger", "", inputs, outputs));
    g_autoptr(IfmModel) reference = make_reference(finish(builder));
    g_auto(Answers) answers = run_model(&conv->fixture, reference, conv->inputs);
    for (gint64 e = 0; e < FILTERS * SIDE * SIDE; e++)
        g_assert_cmpint(integer_at(&answers.tensors[0], e), ==,
                        conv_at(&conv->inputs[0], &conv->inputs[1], e / (SIDE * SIDE), e / SIDE % SIDE, e % SIDE));
}

static void check_qlinear_conv(ConvCase *conv)
{
    const char *const inputs[] = { "x", "sx", "zx", "w", "sw", "zw", "sy", "zy", "bias", NULL };
    const char *const outputs[] = { "y", NULL };
    const double step = conv->largest ? 64 : 1;
    double scales[FILTERS], bias[FILTERS];
    for (int i = 0; i < FILTERS; i++)
    {
        scales[i] = (double)(float)(0.002 + 0.0003 * i);
        bias[i] = 9999.0 * i - 20000;
    }
    IfmModelBuilder *builder = conv_model(conv, IFM_DTYPE_U8);
    add_number(builder, "sx", IFM_DTYPE_F32, 0.015625);
    add_numbers(builder, "sw", IFM_DTYPE_F32, scales, FILTERS);
    add_number(builder, "sy", IFM_DTYPE_F32, step);
    add_number(builder, "zy", IFM_DTYPE_U8, 101);
    add_numbers(builder, "bias", IFM_DTYPE_I32, bias, FILTERS);
    add_pads(builder, ifm_model_builder_node(builder, "QLinearConv", "", inputs, outputs));
    g_autoptr(IfmModel) reference = make_reference(finish(builder));
    g_auto(Answers) answers = run_model(&conv->fixture, reference, conv->inputs);
    for (gint64 e = 0; e < FILTERS * SIDE * SIDE; e++)
    {
        const gint64 f = e / (SIDE * SIDE);
        const gint64 sum = conv_at(&conv->inputs[0], &conv->inputs[1], f, e / SIDE % SIDE, e % SIDE) + (gint64)bias[f];
        g_assert_cmpint(integer_at(&answers.tensors[0], e), ==, requantised(sum, 0.015625 * scales[f] / step, 101));
    }
}

static void test_convolutions(void)
{
    const gint64 shape_x[] = { 1, CHANNELS, SIDE, SIDE }, shape_w[] = { FILTERS, CHANNELS, 3, 3 };
    ConvCase conv;
    if (!fixture_open(&conv.fixture, "onnxruntime:CPU"))
        return;
    for (gsize i = 0; i < 4 * G_N_ELEMENTS(opsets); i++)
    {
        conv.opset = opsets[i / 4];
        conv.largest = i % 2 == 1;
        conv.constant = i / 2 % 2 == 1;
        conv.inputs[0] = draw(IFM_DTYPE_U8, 4, shape_x, 5, conv.largest);
        conv.inputs[1] = draw(IFM_DTYPE_I8, 4, shape_w, 6, conv.largest);
        check_conv_integer(&conv);
        check_qlinear_conv(&conv);
        ifm_tensor_clear(&conv.inputs[0]);
        ifm_tensor_clear(&conv.inputs[1]);
    }
    fixture_close(&conv.fixture);
}

/* --- quantisers ------------------------------------------------------------------------------------------------------- */

#define N_TIES 600
#define N_VALUES 3000

/* values_and_ties: drawn ones, all halves of a step from -150 to 150, and numbers beyond all integer types */
static IfmTensor values_and_ties(double step)
{
    const gint64 n = N_VALUES;
    g_autoptr(GRand) random = g_rand_new_with_seed(8);
    IfmTensor tensor = new_tensor(IFM_DTYPE_F32, 1, &n);
    float *values = tensor.data;
    ifm_tensor_fill_random(&tensor, random, -3, 3, NULL);
    for (int i = 0; i < N_TIES; i++)
        values[i] = (float)((i - N_TIES / 2) * 0.5 * step);
    values[N_TIES] = 1e9F;
    values[N_TIES + 1] = -1e9F;
    values[N_TIES + 2] = HUGE_VALF;
    return tensor;
}

/* check_equal: The runtime's own kernels and the reference give the same bytes. */
static void check_equal(Fixture *fixture, IfmModel *model /* (transfer full) */, const IfmTensor *input)
{
    g_auto(Answers) own = run_model(fixture, model, input);
    g_autoptr(IfmModel) reference = make_reference(model);
    g_auto(Answers) answers = run_model(fixture, reference, input);
    g_assert_cmpuint(own.n, ==, answers.n);
    for (gsize i = 0; i < own.n; i++)
        assert_same(&answers.tensors[i], &own.tensors[i]);
}

static void test_quantisers(void)
{
    static const IfmDtype types[] = { IFM_DTYPE_U8, IFM_DTYPE_I8, IFM_DTYPE_U16, IFM_DTYPE_I16 };
    Fixture fixture;
    if (!fixture_open(&fixture, "onnxruntime:CPU"))
        return;
    const gint64 n = N_VALUES;
    g_auto(IfmTensor) x = values_and_ties(0.015625);
    for (gsize i = 0; i < G_N_ELEMENTS(opsets) * G_N_ELEMENTS(types); i++)
    {
        const gint64 opset = opsets[i / G_N_ELEMENTS(types)];
        const IfmDtype dtype = types[i % G_N_ELEMENTS(types)];
        if (opset < 21 && ifm_dtype_size_bytes(dtype) > 1)
            continue;
        IfmModelBuilder *builder = ifm_model_builder_new("quantiser", opset);
        const char *const inputs[] = { "x", "s", "z", NULL }, *const q[] = { "q", NULL };
        const char *const back[] = { "q", "s", "z", NULL }, *const y[] = { "y", NULL };
        ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 1, &n, NULL);
        add_number(builder, "s", IFM_DTYPE_F32, 0.015625);
        add_number(builder, "z", dtype, 5);
        ifm_model_builder_node(builder, "QuantizeLinear", "", inputs, q);
        ifm_model_builder_node(builder, "DequantizeLinear", "", back, y);
        ifm_model_builder_output(builder, "q", dtype, 1, &n, NULL);
        ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 1, &n, NULL);
        check_equal(&fixture, finish(builder), &x);
    }
    fixture_close(&fixture);
}

/* Along an axis, and in blocks of which the last one is cut off. */
static void test_axes(void)
{
    static const struct
    {
        gint64 opset, axis, block, n_scales;
    } cases[] = { { 13, 1, 0, 5 }, { 17, -2, 0, 5 }, { 21, 1, 3, 3 * 2 * 7 }, { 21, 2, 4, 3 * 5 * 2 } };
    Fixture fixture;
    const gint64 shape[] = { 3, 5, 7 };
    if (!fixture_open(&fixture, "onnxruntime:CPU"))
        return;
    g_auto(IfmTensor) x = new_tensor(IFM_DTYPE_F32, 3, shape);
    g_autoptr(GRand) random = g_rand_new_with_seed(9);
    ifm_tensor_fill_random(&x, random, -3, 3, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        const gint64 blocks[] = { 3, cases[i].axis == 1 ? 2 : 5, cases[i].axis == 1 ? 7 : 2 };
        const gboolean is_blocked = cases[i].block > 0;
        IfmModelBuilder *builder = ifm_model_builder_new("axes", cases[i].opset);
        IfmTensor scale = new_tensor(IFM_DTYPE_F32, is_blocked ? 3 : 1, is_blocked ? blocks : &cases[i].n_scales);
        IfmTensor zero = new_tensor(IFM_DTYPE_I8, is_blocked ? 3 : 1, is_blocked ? blocks : &cases[i].n_scales);
        g_assert_cmpint(ifm_tensor_n_elements(&scale), ==, cases[i].n_scales);
        ifm_tensor_fill_random(&scale, random, 0.01, 0.03, NULL);
        ifm_tensor_fill_random(&zero, random, -9, 9, NULL);
        add_weight(builder, "s", scale);
        add_weight(builder, "z", zero);
        const char *const inputs[] = { "x", "s", "z", NULL }, *const q[] = { "q", NULL };
        const char *const back[] = { "q", "s", "z", NULL }, *const y[] = { "y", NULL };
        ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 3, shape, NULL);
        for (int k = 0; k < 2; k++)
        {
            const gsize node = ifm_model_builder_node(builder, k == 0 ? "QuantizeLinear" : "DequantizeLinear", "",
                                                      k == 0 ? inputs : back, k == 0 ? q : y);
            ifm_model_builder_int(builder, node, "axis", cases[i].axis);
            if (is_blocked)
                ifm_model_builder_int(builder, node, "block_size", cases[i].block);
        }
        ifm_model_builder_output(builder, "q", IFM_DTYPE_I8, 3, shape, NULL);
        ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 3, shape, NULL);
        check_equal(&fixture, finish(builder), &x);
    }
    fixture_close(&fixture);
}

/* Drawn values; zeros, whose range is empty; and negative ones alone. */
static void test_dynamic(void)
{
    Fixture fixture;
    if (!fixture_open(&fixture, "onnxruntime:CPU"))
        return;
    for (int i = 0; i < 3; i++)
    {
        const gint64 n = N_VALUES;
        g_autoptr(GRand) random = g_rand_new_with_seed(10);
        g_auto(IfmTensor) x = new_tensor(IFM_DTYPE_F32, 1, &n);
        if (i != 1)
            ifm_tensor_fill_random(&x, random, -3, i == 0 ? 5 : -1, NULL);
        IfmModelBuilder *builder = ifm_model_builder_new("dynamic", 13);
        const char *const inputs[] = { "x", NULL }, *const outputs[] = { "y", "s", "z", NULL };
        ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 1, &n, NULL);
        ifm_model_builder_node(builder, "DynamicQuantizeLinear", "", inputs, outputs);
        ifm_model_builder_output(builder, "y", IFM_DTYPE_U8, 1, &n, NULL);
        ifm_model_builder_output(builder, "s", IFM_DTYPE_F32, 0, NULL, NULL);
        ifm_model_builder_output(builder, "z", IFM_DTYPE_U8, 0, NULL, NULL);
        check_equal(&fixture, finish(builder), &x);
    }
    fixture_close(&fixture);
}

/* A model without low precision is its own reference. */
static void test_nothing(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) kept = NULL;
    g_autoptr(IfmModel) model = zoo("matmul", "m=3 k=4 n=5");
    g_autoptr(IfmModel) reference = ifm_model_reference(model, &kept, &error);
    g_assert_no_error(error);
    g_assert_true(reference == model);
    g_assert_cmpuint(kept->len, ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/reference/matmul-integer", test_matmul_integer);
    g_test_add_func("/reference/qlinear-matmul", test_qlinear_matmul);
    g_test_add_func("/reference/convolutions", test_convolutions);
    g_test_add_func("/reference/quantisers", test_quantisers);
    g_test_add_func("/reference/axes", test_axes);
    g_test_add_func("/reference/dynamic", test_dynamic);
    g_test_add_func("/reference/nothing", test_nothing);
    return g_test_run();
}
