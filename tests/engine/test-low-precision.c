/* The reference of operators of low precision in bodies, with packed integers, and of those that ONNX Runtime alone has,
 * against the runtime's own answers (tests/data/low-precision.py: weights of 7 bits, which no kernel saturates). */
#include <glib/gstdio.h>
#include <math.h>

#include "small-model.h"

static IfmModel *open_model(const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *file = g_strconcat(name, ".onnx", NULL);
    g_autofree char *path = g_build_filename(g_getenv("IFM_TEST_DATA"), "data", "low-precision", file, NULL);
    IfmModel *model = ifm_model_open(path, &error);
    g_assert_no_error(error);
    return model;
}

static double square(double value)
{
    return value * value;
}

/* check_output: Integers are equal but where two roundings met near a tie: one apart, in 2 % at most. Real numbers are
 * within
 * @tolerance of the output's root mean square. */
static void check_output(const char *name, const IfmTensor *answer, const IfmTensor *own, double tolerance)
{
    const gint64 n = ifm_tensor_n_elements(own);
    gint64 n_apart = 0;
    double squares = 0, largest = 0;
    g_assert_cmpint(answer->dtype, ==, own->dtype);
    g_assert_cmpint(ifm_tensor_n_elements(answer), ==, n);
    for (gint64 i = 0; i < n; i++)
    {
        const double a = ifm_tensor_get_double(answer, i), b = ifm_tensor_get_double(own, i);
        squares += square(b) / (double)n;
        largest = MAX(largest, fabs(a - b));
        n_apart += fabs(a - b) > 0 ? 1 : 0;
    }
    const gboolean is_real = ifm_dtype_is_float(own->dtype);
    g_assert_cmpfloat(squares, >, 0);
    if (is_real ? largest > tolerance * sqrt(squares) : largest > 1 || n_apart * 100 > 2 * n)
        g_error("%s: %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " differ, by up to %g; root mean square %g", name, n_apart,
                n, largest, sqrt(squares));
}

static void check(const char *name, double tolerance)
{
    Fixture fixture;
    g_autoptr(GError) error = NULL;
    if (!fixture_open(&fixture, "onnxruntime:CPU"))
        return;
    g_autoptr(IfmModel) model = open_model(name);
    const IfmDimBinding bindings[] = { { "N", 4 }, { "T", 5 } };
    const gsize n = ifm_model_n_inputs(model);
    g_autofree IfmTensor *inputs = g_new0(IfmTensor, n);
    ifm_model_make_inputs(model, bindings, G_N_ELEMENTS(bindings), 3, inputs, &error);
    g_assert_no_error(error);
    for (gsize i = 0; i < n; i++)
        if (inputs[i].dtype == IFM_DTYPE_BOOL) /* the branch with the operators */
            *(guint8 *)inputs[i].data = 1;
    g_auto(Answers) own = run_model(&fixture, model, inputs);
    g_autoptr(IfmModel) reference = make_reference(ifm_model_ref(model));
    g_auto(Answers) answers = run_model(&fixture, reference, inputs);
    for (gsize i = 0; i < own.n; i++)
        check_output(ifm_model_output(model, i)->name, &answers.tensors[i], &own.tensors[i], tolerance);
    for (gsize i = 0; i < n; i++)
        ifm_tensor_clear(&inputs[i]);
    fixture_close(&fixture);
}

static void test_half(void)
{
    check("half-in-bodies", 4e-3); /* the runtime rounds each step to 11 bits */
}

static void test_integers(void)
{
    check("integers-in-bodies", 1e-6);
}

static void test_four_bits(void)
{
    check("four-bits", 1e-6);
}

static void test_dynamic_lstm(void)
{
    check("dynamic-lstm", 1e-5);
}

static void test_fused(void)
{
    check("fused", 1e-5);
}

/* What a model's own functions call is rewritten, too. */
static void test_functions(void)
{
    check("functions", 1e-6);
}

/* --- weights outside of the model ------------------------------------------------------------------------------------- */

/* They stay outside: the reference names the same file, and is saved and run with it. */
static void test_outside(void)
{
    Fixture fixture;
    g_autoptr(GError) error = NULL;
    const gint64 shape[] = { 3, 80 }, shape_w[] = { 80, 64 }, made[] = { 3, 64 };
    const char *const x[] = { "x", NULL }, *const q[] = { "q", "s", "z", NULL }, *const back[] = { "real", NULL };
    const char *const product[] = { "real", "w", NULL }, *const y[] = { "y", NULL };
    if (!fixture_open(&fixture, "onnxruntime:CPU"))
        return;
    IfmModelBuilder *builder = ifm_model_builder_new("outside", 17);
    ifm_model_builder_external(builder, "outside.weights");
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, shape, NULL);
    ifm_model_builder_drawn_weight(builder, "w", 2, shape_w, -1, 1, 3);
    ifm_model_builder_node(builder, "DynamicQuantizeLinear", "", x, q);
    ifm_model_builder_node(builder, "DequantizeLinear", "", q, back);
    ifm_model_builder_node(builder, "MatMul", "", product, y);
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, made, NULL);
    g_autoptr(IfmModel) model = finish(builder);
    g_autoptr(IfmModel) reference = make_reference(ifm_model_ref(model));
    g_auto(IfmTensor) input = new_tensor(IFM_DTYPE_F32, 2, shape);
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    ifm_tensor_fill_random(&input, random, -1, 1, NULL);
    g_auto(Answers) own = run_model(&fixture, model, &input), answers = run_model(&fixture, reference, &input);
    assert_same(&own.tensors[0], &answers.tensors[0]);
    g_autofree char *folder = g_dir_make_tmp("outside-XXXXXX", &error);
    g_assert_no_error(error);
    g_autofree char *path = g_build_filename(folder, "reference.onnx", NULL);
    g_autofree char *weights = g_build_filename(folder, "outside.weights", NULL);
    ifm_model_save(reference, path, &error);
    g_assert_no_error(error);
    g_autoptr(IfmModel) opened = ifm_model_open(path, &error);
    g_assert_no_error(error);
    g_auto(Answers) again = run_model(&fixture, opened, &input);
    assert_same(&own.tensors[0], &again.tensors[0]);
    g_assert_cmpint(g_unlink(path), ==, 0);
    g_assert_cmpint(g_unlink(weights), ==, 0);
    g_assert_cmpint(g_rmdir(folder), ==, 0);
    fixture_close(&fixture);
}

/* --- bf16, of which the runtime has hardly a kernel ------------------------------------------------------------------- */

#define ROWS 3
#define SIZE 40
#define COLUMNS 5

static double brain(guint16 bits)
{
    const guint32 wide = (guint32)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return (double)value;
}

static void test_brain(void)
{
    Fixture fixture;
    const gint64 shape[] = { ROWS, SIZE }, shape_w[] = { SIZE, COLUMNS }, made[] = { ROWS, COLUMNS };
    const char *const product[] = { "x", "w", NULL }, *const y[] = { "y", NULL }, *const to_y[] = { "yb", NULL };
    const char *const to_x[] = { "real", NULL }, *const x_out[] = { "x", NULL };
    if (!fixture_open(&fixture, "onnxruntime:CPU"))
        return;
    g_auto(IfmTensor) x = new_tensor(IFM_DTYPE_F32, 2, shape), w = new_tensor(IFM_DTYPE_BF16, 2, shape_w);
    g_autoptr(GRand) random = g_rand_new_with_seed(4);
    ifm_tensor_fill_random(&x, random, -1, 1, NULL);
    for (int i = 0; i < SIZE * COLUMNS; i++) /* of either sign, from 1/4 to 1 */
        ((guint16 *)w.data)[i] = (guint16)((i % 2) << 15 | (0x3e80 + g_rand_int_range(random, 0, 0x100)));
    IfmModelBuilder *builder = ifm_model_builder_new("brain", 17);
    const char *const to_brain[] = { "yb", NULL };
    ifm_model_builder_input(builder, "real", IFM_DTYPE_F32, 2, shape, NULL);
    ifm_model_builder_weight(builder, "w", &w);
    ifm_model_builder_int(builder, ifm_model_builder_node(builder, "Cast", "", to_x, x_out), "to", IFM_DTYPE_BF16);
    ifm_model_builder_node(builder, "MatMul", "", product, to_brain);
    ifm_model_builder_int(builder, ifm_model_builder_node(builder, "Cast", "", to_y, y), "to", IFM_DTYPE_F32);
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, made, NULL);
    g_autoptr(IfmModel) reference = make_reference(finish(builder));
    g_auto(Answers) answers = run_model(&fixture, reference, &x);
    for (gint64 e = 0; e < ROWS * COLUMNS; e++)
    {
        double sum = 0;
        for (gint64 k = 0; k < SIZE; k++)
            sum +=
                ifm_tensor_get_double(&x, e / COLUMNS * SIZE + k) * brain(((guint16 *)w.data)[k * COLUMNS + e % COLUMNS]);
        g_assert_cmpfloat(fabs(ifm_tensor_get_double(&answers.tensors[0], e) - sum), <, 1e-5);
    }
    fixture_close(&fixture);
}

/* --- weights of few bits, against arithmetic done here ---------------------------------------------------------------- */

/* Bits: the weights of a MatMulNBits: 50 inputs in blocks of 16, of which the last is cut off. */
#define BLOCK 16
#define INPUTS 50
#define N_BLOCKS 4
#define OUTPUTS 6

static int number_at(const guint8 *bytes, gint64 index, int bits)
{
    const gint64 bit = index * bits;
    return bytes[bit / 8] >> bit % 8 & ((1 << bits) - 1);
}

static void check_bits(Fixture *fixture, int bits, gboolean has_zeros)
{
    const gint64 shape[] = { ROWS, INPUTS }, made[] = { ROWS, OUTPUTS };
    const gint64 packed[] = { OUTPUTS, N_BLOCKS, BLOCK * bits / 8 }, n_scales = OUTPUTS * N_BLOCKS;
    const gint64 n_zeros = OUTPUTS * ((N_BLOCKS * bits + 7) / 8);
    const char *const inputs[] = { "x", "w", "s", has_zeros ? "z" : NULL, NULL }, *const outputs[] = { "y", NULL };
    g_autoptr(GRand) random = g_rand_new_with_seed((guint32)bits);
    g_auto(IfmTensor) x = new_tensor(IFM_DTYPE_F32, 2, shape), s = new_tensor(IFM_DTYPE_F32, 1, &n_scales);
    g_auto(IfmTensor) w = draw(IFM_DTYPE_U8, 3, packed, 1, FALSE), z = draw(IFM_DTYPE_U8, 1, &n_zeros, 2, FALSE);
    ifm_tensor_fill_random(&x, random, -1, 1, NULL);
    ifm_tensor_fill_random(&s, random, 0.01, 0.02, NULL);
    IfmModelBuilder *builder = ifm_model_builder_new("bits", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, shape, NULL);
    ifm_model_builder_weight(builder, "w", &w);
    ifm_model_builder_weight(builder, "s", &s);
    if (has_zeros)
        ifm_model_builder_weight(builder, "z", &z);
    const gsize node = ifm_model_builder_node(builder, "MatMulNBits", "", inputs, outputs);
    ifm_model_builder_domain(builder, node, "com.microsoft", 1);
    ifm_model_builder_int(builder, node, "K", INPUTS);
    ifm_model_builder_int(builder, node, "N", OUTPUTS);
    ifm_model_builder_int(builder, node, "bits", bits);
    ifm_model_builder_int(builder, node, "block_size", BLOCK);
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, made, NULL);
    g_autoptr(IfmModel) reference = make_reference(finish(builder));
    g_auto(Answers) answers = run_model(fixture, reference, &x);
    for (gint64 e = 0; e < ROWS * OUTPUTS; e++)
    {
        double sum = 0;
        for (gint64 k = 0; k < INPUTS; k++)
        {
            const gint64 output = e % OUTPUTS, block = k / BLOCK;
            const int weight = number_at(w.data, (output * N_BLOCKS + block) * BLOCK + k % BLOCK, bits);
            const guint8 *zeros = (const guint8 *)z.data + output * (n_zeros / OUTPUTS);
            const int zero = has_zeros ? number_at(zeros, block, bits) : 1 << (bits - 1);
            sum += ifm_tensor_get_double(&x, e / OUTPUTS * INPUTS + k) * (weight - zero) *
                   ifm_tensor_get_double(&s, output * N_BLOCKS + block);
        }
        g_assert_cmpfloat(fabs(ifm_tensor_get_double(&answers.tensors[0], e) - sum), <, 1e-6 * (1 << bits));
    }
}

static void test_bits(void)
{
    Fixture fixture;
    if (!fixture_open(&fixture, "onnxruntime:CPU"))
        return;
    for (int bits = 2; bits <= 8; bits *= 2)
    {
        check_bits(&fixture, bits, FALSE);
        check_bits(&fixture, bits, TRUE);
    }
    fixture_close(&fixture);
}

/* A node that lacks an input which its rule relies on is no rule's, and ends nothing. */
static void test_too_few(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) kept = NULL;
    const gint64 n = 4;
    const char *const inputs[] = { "x", "s", NULL }, *const outputs[] = { "y", NULL };
    IfmModelBuilder *builder = ifm_model_builder_new("few", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_U8, 1, &n, NULL);
    add_number(builder, "s", IFM_DTYPE_F32, 0.5);
    ifm_model_builder_node(builder, "QLinearConv", "", inputs, outputs);
    ifm_model_builder_output(builder, "y", IFM_DTYPE_U8, 1, &n, NULL);
    g_autoptr(IfmModel) model = finish(builder);
    g_autoptr(IfmModel) reference = ifm_model_reference(model, &kept, &error);
    g_assert_no_error(error);
    g_assert_true(reference == model);
    g_assert_cmpstr(kept->pdata[0], ==, "QLinearConv");
}

/* What cannot be rewritten stays, and is named. */
static void test_kept(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) kept = NULL;
    const gint64 shape[] = { 1, 4, 4, 3 }, made[] = { 1, 1, 1, 3 };
    const char *const inputs[] = { "x", "s", "z", "s", "z", NULL }, *const outputs[] = { "y", NULL };
    IfmModelBuilder *builder = ifm_model_builder_new("kept", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_U8, 4, shape, NULL);
    add_number(builder, "s", IFM_DTYPE_F32, 0.5);
    add_number(builder, "z", IFM_DTYPE_U8, 3);
    const gsize node = ifm_model_builder_node(builder, "QLinearGlobalAveragePool", "", inputs, outputs);
    ifm_model_builder_domain(builder, node, "com.microsoft", 1);
    ifm_model_builder_int(builder, node, "channels_last", 1);
    ifm_model_builder_output(builder, "y", IFM_DTYPE_U8, 4, made, NULL);
    g_autoptr(IfmModel) model = finish(builder);
    g_autoptr(IfmModel) reference = ifm_model_reference(model, &kept, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(kept->len, ==, 1);
    g_assert_cmpstr(kept->pdata[0], ==, "QLinearGlobalAveragePool");
    g_assert_true(reference == model);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/low-precision/half", test_half);
    g_test_add_func("/low-precision/integers", test_integers);
    g_test_add_func("/low-precision/four-bits", test_four_bits);
    g_test_add_func("/low-precision/dynamic-lstm", test_dynamic_lstm);
    g_test_add_func("/low-precision/fused", test_fused);
    g_test_add_func("/low-precision/functions", test_functions);
    g_test_add_func("/low-precision/outside", test_outside);
    g_test_add_func("/low-precision/brain", test_brain);
    g_test_add_func("/low-precision/bits", test_bits);
    g_test_add_func("/low-precision/too-few", test_too_few);
    g_test_add_func("/low-precision/kept", test_kept);
    return g_test_run();
}
