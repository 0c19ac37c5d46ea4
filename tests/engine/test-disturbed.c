/* Disturbed models: the noise has the size that rounding has, each run draws anew, and exact arithmetic has none. */
#include <math.h>

#include "small-model.h"

#define N_RUNS 48
#define ROWS 6
#define COLUMNS 9
#define UNIT 0x1p-24

static IfmModel *disturb(IfmModel *model, guint32 seed, gsize *n)
{
    g_autoptr(GError) error = NULL;
    IfmDisturbance disturbance;
    ifm_disturbance_init(&disturbance, model);
    disturbance.seed = seed;
    IfmModel *made = ifm_model_disturbed(model, &disturbance, n, &error);
    g_assert_no_error(error);
    return made;
}

/* --- a sum of known length -------------------------------------------------------------------------------------------- */

static IfmModel *product_model(gint64 opset, gint64 k, const IfmTensor *w)
{
    const gint64 shape[] = { ROWS, k }, made[] = { ROWS, COLUMNS };
    const char *const inputs[] = { "x", "w", NULL }, *const outputs[] = { "y", NULL };
    IfmModelBuilder *builder = ifm_model_builder_new("product", opset);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, shape, NULL);
    ifm_model_builder_weight(builder, "w", w);
    ifm_model_builder_node(builder, "MatMul", "", inputs, outputs);
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, made, NULL);
    return finish(builder);
}

static double square(double value)
{
    return value * value;
}

/* expected: The variance of an element: each factor of x moves by up to 2 u sqrt(K) of itself, the sum by up to 2 u, both
 * uniformly, so by a third of that square. */
static double expected(const IfmTensor *x, const IfmTensor *w, gint64 k, gint64 element)
{
    double squares = 0, sum = 0;
    for (gint64 i = 0; i < k; i++)
    {
        const double term =
            ifm_tensor_get_double(x, element / COLUMNS * k + i) * ifm_tensor_get_double(w, i * COLUMNS + element % COLUMNS);
        squares += square(term);
        sum += term;
    }
    return (square(2 * UNIT) * (double)k * squares + square(2 * UNIT * sum)) / 3;
}

static void check_spread(Fixture *fixture, gint64 opset, gint64 k)
{
    const gint64 shape_x[] = { ROWS, k }, shape_w[] = { k, COLUMNS };
    g_auto(IfmTensor) x = new_tensor(IFM_DTYPE_F32, 2, shape_x), w = new_tensor(IFM_DTYPE_F32, 2, shape_w);
    g_autoptr(GRand) random = g_rand_new_with_seed((guint32)k);
    double seen = 0, wanted = 0;
    gsize n = 0, n_equal = 0;
    ifm_tensor_fill_random(&x, random, -1, 1, NULL);
    ifm_tensor_fill_random(&w, random, -1, 1, NULL);
    g_autoptr(IfmModel) model = product_model(opset, k, &w);
    g_autoptr(IfmModel) disturbed = disturb(model, 5, &n);
    g_assert_cmpuint(n, ==, 2);
    g_auto(Answers) plain = run_model(fixture, model, &x);
    session_open(fixture, disturbed);
    double last = NAN;
    for (int i = 0; i < N_RUNS; i++)
    {
        g_auto(Answers) answers = session_run(fixture, &x);
        for (gint64 e = 0; e < ROWS * COLUMNS; e++)
        {
            const double difference =
                ifm_tensor_get_double(&answers.tensors[0], e) - ifm_tensor_get_double(&plain.tensors[0], e);
            seen += square(difference) / N_RUNS;
            n_equal += e == 0 && fabs(difference - last) <= 0 ? 1 : 0;
            last = e == 0 ? difference : last;
        }
    }
    fixture_drop(fixture);
    for (gint64 e = 0; e < ROWS * COLUMNS; e++)
        wanted += expected(&x, &w, k, e);
    g_assert_cmpuint(n_equal, <, N_RUNS / 2); /* a few draws may round to the same number */
    /* 2,592 draws: their root mean square is within a few percent, and f32's own steps add some */
    g_assert_cmpfloat(sqrt(seen / wanted), >, 0.85);
    g_assert_cmpfloat(sqrt(seen / wanted), <, 1.2);
}

static void test_spread(void)
{
    Fixture fixture;
    if (!fixture_open(&fixture, "onnxruntime:CPU"))
        return;
    check_spread(&fixture, 17, 64);
    check_spread(&fixture, 17, 2304);
    check_spread(&fixture, 22, 64); /* the runtime has no RandomUniformLike of that opset */
    check_spread(&fixture, 22, 2304);
    fixture_close(&fixture);
}

/* One seed gives one sequence of draws, another another. */
static void test_seeds(void)
{
    Fixture fixture;
    const gint64 shape_x[] = { ROWS, 100 }, shape_w[] = { 100, COLUMNS };
    if (!fixture_open(&fixture, "onnxruntime:CPU"))
        return;
    g_auto(IfmTensor) x = new_tensor(IFM_DTYPE_F32, 2, shape_x), w = new_tensor(IFM_DTYPE_F32, 2, shape_w);
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    ifm_tensor_fill_random(&x, random, -1, 1, NULL);
    ifm_tensor_fill_random(&w, random, -1, 1, NULL);
    g_autoptr(IfmModel) model = product_model(17, 100, &w);
    Answers answers[3];
    for (guint32 i = 0; i < 3; i++)
    {
        gsize n;
        g_autoptr(IfmModel) disturbed = disturb(model, i < 2 ? 1 : 2, &n);
        answers[i] = run_model(&fixture, disturbed, &x);
    }
    const IfmTensor *first = &answers[0].tensors[0], *second = &answers[1].tensors[0], *third = &answers[2].tensors[0];
    assert_same(first, second);
    g_assert_cmpint(memcmp(first->data, third->data, first->size_bytes), !=, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(answers); i++)
        answers_clear(&answers[i]);
    fixture_close(&fixture);
}

/* --- what is exact ---------------------------------------------------------------------------------------------------- */

/* Integers, and what follows from a shape or from constants, have no noise; a model of them alone comes back as it is. */
static void test_exact(void)
{
    static const gint64 shape[] = { 4, 64 }, shape_w[] = { 64, 8 }, made[] = { 4, 8 };
    gsize n = 1;
    Fixture fixture;
    if (!fixture_open(&fixture, "onnxruntime:CPU"))
        return;
    const char *const product[] = { "a", "b", "za", NULL }, *const sums[] = { "sums", NULL };
    const char *const sums_in[] = { "sums", NULL }, *const size[] = { "size", NULL }, *const size_in[] = { "size", NULL };
    const char *const real[] = { "real", NULL }, *const root_in[] = { "real", "s", NULL }, *const root[] = { "root", NULL };
    IfmModelBuilder *builder = ifm_model_builder_new("integers", 17);
    ifm_model_builder_input(builder, "a", IFM_DTYPE_U8, 2, shape, NULL);
    add_weight(builder, "b", draw(IFM_DTYPE_I8, 2, shape_w, 2, FALSE));
    add_number(builder, "za", IFM_DTYPE_U8, 7);
    add_number(builder, "s", IFM_DTYPE_F32, 0.3);
    ifm_model_builder_node(builder, "MatMulInteger", "", product, sums);
    ifm_model_builder_node(builder, "Size", "", sums_in, size);
    ifm_model_builder_int(builder, ifm_model_builder_node(builder, "Cast", "", size_in, real), "to", IFM_DTYPE_F32);
    ifm_model_builder_node(builder, "Mul", "", root_in, root);
    ifm_model_builder_output(builder, "sums", IFM_DTYPE_I32, 2, made, NULL);
    ifm_model_builder_output(builder, "root", IFM_DTYPE_F32, 0, NULL, NULL);
    g_autoptr(IfmModel) model = finish(builder);
    g_autoptr(IfmModel) reference = make_reference(ifm_model_ref(model));
    g_autoptr(IfmModel) disturbed = disturb(reference, 1, &n);
    g_assert_cmpuint(n, ==, 0);
    g_assert_true(disturbed == reference);
    g_auto(IfmTensor) a = draw(IFM_DTYPE_U8, 2, shape, 1, FALSE);
    g_auto(Answers) own = run_model(&fixture, model, &a), answers = run_model(&fixture, disturbed, &a);
    for (gsize i = 0; i < own.n; i++)
        assert_same(&own.tensors[i], &answers.tensors[i]);
    fixture_close(&fixture);
}

/* Weights that are unpacked by nodes are constants: the product has noise before and behind it, the unpacking has none. */
static void test_constants(void)
{
    static const gint64 shape[] = { 4, 64 }, shape_w[] = { 64, 8 }, made[] = { 4, 8 };
    gsize n = 0;
    const char *const dequantise[] = { "w", "s", "z", NULL }, *const real[] = { "real", NULL };
    const char *const product[] = { "x", "real", NULL }, *const y[] = { "y", NULL };
    IfmModelBuilder *builder = ifm_model_builder_new("constants", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, shape, NULL);
    add_weight(builder, "w", draw(IFM_DTYPE_I8, 2, shape_w, 2, FALSE));
    add_number(builder, "s", IFM_DTYPE_F32, 0.3);
    add_number(builder, "z", IFM_DTYPE_I8, 3);
    ifm_model_builder_node(builder, "DequantizeLinear", "", dequantise, real);
    ifm_model_builder_node(builder, "MatMul", "", product, y);
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, made, NULL);
    g_autoptr(IfmModel) reference = make_reference(finish(builder));
    g_autoptr(IfmModel) disturbed = disturb(reference, 1, &n);
    g_assert_cmpuint(n, ==, 2);
}

/* A quantiser's division has noise, its rounding and zero point have none: every answer is a whole number, and only an
 * element within the noise of a tie may move, by one. */
static void test_quantiser(void)
{
    const gint64 n_values = 4000;
    gsize n = 0, n_moved = 0;
    Fixture fixture;
    if (!fixture_open(&fixture, "onnxruntime:CPU"))
        return;
    const char *const inputs[] = { "x", "s", "z", NULL }, *const outputs[] = { "y", NULL };
    IfmModelBuilder *builder = ifm_model_builder_new("quantiser", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 1, &n_values, NULL);
    add_number(builder, "s", IFM_DTYPE_F32, 0.5);
    add_number(builder, "z", IFM_DTYPE_U8, 117);
    ifm_model_builder_node(builder, "QuantizeLinear", "", inputs, outputs);
    ifm_model_builder_output(builder, "y", IFM_DTYPE_U8, 1, &n_values, NULL);
    g_autoptr(IfmModel) reference = make_reference(finish(builder));
    g_autoptr(IfmModel) disturbed = disturb(reference, 1, &n);
    g_assert_cmpuint(n, ==, 1);
    g_auto(IfmTensor) x = new_tensor(IFM_DTYPE_F32, 1, &n_values);
    for (gint64 i = 0; i < n_values; i++) /* steps of 1 / 100: a tie each 50 */
        ((float *)x.data)[i] = (float)(i - n_values / 2) / 200;
    g_auto(Answers) plain = run_model(&fixture, reference, &x), answers = run_model(&fixture, disturbed, &x);
    for (gint64 i = 0; i < n_values; i++)
    {
        const gint64 moved = integer_at(&answers.tensors[0], i) - integer_at(&plain.tensors[0], i);
        g_assert_true(moved == 0 || ((i - n_values / 2) % 100 != 0 && (i - n_values / 2) % 50 == 0 && ABS(moved) == 1));
        n_moved += moved != 0 ? 1 : 0;
    }
    g_assert_cmpuint(n_moved, >, 4); /* of 40 ties about half */
    fixture_close(&fixture);
}

/* --- what a model is judged by ---------------------------------------------------------------------------------------- */

static void check_init(IfmModelBuilder *builder /* (transfer full) */, double roundoff, double factor)
{
    IfmDisturbance disturbance;
    g_autoptr(IfmModel) model = finish(builder);
    ifm_disturbance_init(&disturbance, model);
    g_assert_cmpfloat(disturbance.roundoff, ==, roundoff);
    g_assert_cmpfloat(disturbance.factor, ==, factor);
}

static IfmModelBuilder *unary(const char *op_type, IfmDtype from, IfmDtype to)
{
    const gint64 n = 5;
    const char *const inputs[] = { "x", NULL }, *const outputs[] = { "y", NULL };
    IfmModelBuilder *builder = ifm_model_builder_new("unary", 17);
    ifm_model_builder_input(builder, "x", from, 1, &n, NULL);
    const gsize node = ifm_model_builder_node(builder, op_type, "", inputs, outputs);
    if (g_str_equal(op_type, "Cast"))
        ifm_model_builder_int(builder, node, "to", to);
    ifm_model_builder_output(builder, "y", to, 1, &n, NULL);
    return builder;
}

static void test_init(void)
{
    check_init(unary("Relu", IFM_DTYPE_F32, IFM_DTYPE_F32), 0x1p-24, 1);
    check_init(unary("Relu", IFM_DTYPE_F16, IFM_DTYPE_F16), 0x1p-11, 1);
    check_init(unary("Cast", IFM_DTYPE_F32, IFM_DTYPE_BF16), 0x1p-8, 1);
    IfmModelBuilder *builder = ifm_model_builder_new("quantiser", 17);
    const gint64 n = 5;
    const char *const inputs[] = { "x", NULL }, *const outputs[] = { "y", "s", "z", NULL };
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 1, &n, NULL);
    ifm_model_builder_node(builder, "DynamicQuantizeLinear", "", inputs, outputs);
    ifm_model_builder_output(builder, "y", IFM_DTYPE_U8, 1, &n, NULL);
    check_init(builder, 0x1p-24, IFM_DISTURBANCE_QUANTISED);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/disturbed/spread", test_spread);
    g_test_add_func("/disturbed/seeds", test_seeds);
    g_test_add_func("/disturbed/exact", test_exact);
    g_test_add_func("/disturbed/constants", test_constants);
    g_test_add_func("/disturbed/quantiser", test_quantiser);
    g_test_add_func("/disturbed/init", test_init);
    return g_test_run();
}
