#include <math.h>

#include <onnx/onnx.h>

#include "cli/harness.h"

/* What `inferometer compare` says of B's outputs beside A's, against figures that are computed here. */

#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define QUICK " -d onnxruntime:CPU -q --no-verify --max-pairs 5 --rounds 2 --time-budget 1s"

enum
{
    SAMPLES = 3,
    IN = 4,
    OUT = 6,
};
#define X_SCALE 0.0207f
#define P_SCALE 0.5f
#define X_ZERO 128
#define P_ZERO 100

/* Of no ties of the quantisers. */
static const float inputs[SAMPLES][IN] = { { 0.31f, -0.72f, 1.13f, 0.05f },
                                           { -1.41f, 0.66f, 0.21f, 0.97f },
                                           { 2.17f, 1.03f, -0.37f, -0.58f } };

static float weight(int row, int column)
{
    return (float)((row * 5 + column * 3) % 7 - 3) * 0.23f;
}

/* --- the models ------------------------------------------------------------------------------------------------------- */

static void put_weight(IfmModelBuilder *builder, const char *name, IfmDtype dtype, int rank, const gint64 *shape,
                       const void *values)
{
    g_auto(IfmTensor) tensor = IFM_TENSOR_INIT;
    g_assert_true(ifm_tensor_init(&tensor, dtype, rank, shape, NULL));
    memcpy(tensor.data, values, tensor.size_bytes);
    ifm_model_builder_weight(builder, name, &tensor);
}

static void put_quantiser(IfmModelBuilder *builder, const char *tensor, const char *to, float scale, guint8 zero)
{
    g_autofree char *scale_name = g_strconcat(tensor, "_scale", NULL), *zero_name = g_strconcat(tensor, "_zero", NULL);
    g_autofree char *quantised = g_strconcat(tensor, "_u8", NULL);
    put_weight(builder, scale_name, IFM_DTYPE_F32, 0, NULL, &scale);
    put_weight(builder, zero_name, IFM_DTYPE_U8, 0, NULL, &zero);
    ifm_model_builder_node(builder, "QuantizeLinear", NULL, NAMES(tensor, scale_name, zero_name), NAMES(quantised));
    ifm_model_builder_node(builder, "DequantizeLinear", NULL, NAMES(quantised, scale_name, zero_name), NAMES(to));
}

/* y = Relu(x w), [1, IN] -> [1, OUT]; quantised at x and at the product. */
static void save_model(const Bench *bench, const char *name, const char *input, gboolean quantised)
{
    g_autoptr(GError) error = NULL;
    float weights[IN * OUT];
    IfmModelBuilder *builder = ifm_model_builder_new("two", 17);
    g_autoptr(IfmModelBuilder) owned = builder;
    for (int i = 0; i < IN * OUT; i++)
        weights[i] = weight(i / OUT, i % OUT);
    ifm_model_builder_input(builder, input, IFM_DTYPE_F32, 2, (gint64[]){ 1, IN }, NULL);
    put_weight(builder, "w", IFM_DTYPE_F32, 2, (gint64[]){ IN, OUT }, weights);
    if (quantised)
        put_quantiser(builder, input, "x_near", X_SCALE, X_ZERO);
    ifm_model_builder_node(builder, "MatMul", "product", NAMES(quantised ? "x_near" : input, "w"), NAMES("p"));
    if (quantised)
        put_quantiser(builder, "p", "p_near", P_SCALE, P_ZERO);
    ifm_model_builder_node(builder, "Relu", "act", NAMES(quantised ? "p_near" : "p"), NAMES("y"));
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, (gint64[]){ 1, OUT }, NULL);
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    g_autofree char *path = bench_path(bench, name);
    g_assert_true(ifm_model_save(model, path, &error));
}

static void save_batch(const Bench *bench, const char *name, int n)
{
    g_autofree char *text = g_strdup_printf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d)}\n", n, IN);
    g_autoptr(GByteArray) file = g_byte_array_new();
    const guint8 head[] = { 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (guint8)strlen(text), 0 };
    g_byte_array_append(file, head, sizeof head);
    g_byte_array_append(file, (const guint8 *)text, (guint)strlen(text));
    g_byte_array_append(file, (const guint8 *)inputs, (guint)(sizeof(float) * IN * (gsize)n));
    bench_write(bench, name, (const char *)file->data, file->len);
}

/* --- the figures ------------------------------------------------------------------------------------------------------ */

static double near_of(double value, double scale, int zero)
{
    return (CLAMP(rint(value / scale) + zero, 0, 255) - zero) * scale;
}

typedef struct
{
    double signal, noise, largest;
} Sums;

static void add(Sums *sums, double right, double found)
{
    sums->signal += right * right;
    sums->noise += (found - right) * (found - right);
    sums->largest = fmax(sums->largest, fabs(found - right));
}

static double decibels(const Sums *sums)
{
    return 10 * log10(sums->signal / sums->noise);
}

typedef struct
{
    Sums x, p, p_alone, y;
    int n_first_same;
} Figures;

static Figures figures_of(void)
{
    Figures figures = { 0 };
    for (int sample = 0; sample < SAMPLES; sample++)
    {
        double a[OUT], b[OUT];
        int first_a = 0, first_b = 0;
        for (int i = 0; i < IN; i++)
            add(&figures.x, (double)inputs[sample][i], near_of((double)inputs[sample][i], (double)X_SCALE, X_ZERO));
        for (int k = 0; k < OUT; k++)
        {
            double p = 0, before = 0;
            for (int i = 0; i < IN; i++)
            {
                p += (double)inputs[sample][i] * (double)weight(i, k);
                before += near_of((double)inputs[sample][i], (double)X_SCALE, X_ZERO) * (double)weight(i, k);
            }
            const double after = near_of(before, (double)P_SCALE, P_ZERO);
            add(&figures.p, p, after);
            add(&figures.p_alone, before, after);
            a[k] = fmax(p, 0);
            b[k] = fmax(after, 0);
            add(&figures.y, a[k], b[k]);
            first_a = a[k] > a[first_a] ? k : first_a;
            first_b = b[k] > b[first_b] ? k : first_b;
        }
        figures.n_first_same += first_a == first_b;
    }
    return figures;
}

/* --- the tests -------------------------------------------------------------------------------------------------------- */

static json_t *accuracy_of(Bench *bench, const char *line)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *whole = g_strconcat("compare ", line, QUICK " --json -", NULL);
    run_line(bench, whole, &ended);
    assert_status(&ended, 0);
    json_auto_t *document = parse_output(&ended);
    json_t *accuracy = json_object_get(json_object_get(document, "comparison"), "accuracy");
    const json_t *stored =
        ifm_member(json_array_get(json_object_get(document, "sides"), 1), "measurement.result.comparison.accuracy");
    g_assert_true(accuracy == NULL || json_equal(accuracy, (json_t *)stored));
    return accuracy != NULL ? json_incref(accuracy) : NULL;
}

static const json_t *layer_of(const json_t *accuracy, const char *name)
{
    gsize i;
    json_t *layer;
    json_array_foreach(json_object_get(accuracy, "layers"), i,
                       layer) if (g_strcmp0(ifm_member_text(layer, "layer"), name) == 0) return layer;
    return NULL;
}

#define DB 0.01

static void test_figures(Bench *bench, gconstpointer data)
{
    const Figures right = figures_of();
    if (!bench_has_device(bench, "onnxruntime:CPU", ""))
        return;
    save_model(bench, "a.onnx", "x", FALSE);
    save_model(bench, "b.onnx", "x", TRUE);
    save_batch(bench, "batch.npy", SAMPLES);
    json_auto_t *accuracy = accuracy_of(bench, "a.onnx b.onnx --input x=batch.npy --layer-loss 5");
    const json_t *y = json_array_get(json_object_get(accuracy, "outputs"), 0);
    g_assert_cmpint((int)ifm_member_number(accuracy, "n_samples"), ==, SAMPLES);
    g_assert_cmpstr(ifm_member_text(accuracy, "samples"), ==, "given");
    g_assert_cmpstr(ifm_member_text(y, "output"), ==, "y");
    g_assert_cmpfloat_with_epsilon(ifm_member_number(y, "sqnr_db"), decibels(&right.y), DB);
    g_assert_cmpfloat_with_epsilon(ifm_member_number(y, "max_difference"), right.y.largest, 1e-5);
    g_assert_cmpfloat_with_epsilon(ifm_member_number(y, "top1"), (double)right.n_first_same / SAMPLES, 1e-12);
    const json_t *x = layer_of(accuracy, "x"), *p = layer_of(accuracy, "product"), *act = layer_of(accuracy, "act");
    g_assert_cmpstr(ifm_member_text(x, "op_type"), ==, "input");
    g_assert_cmpfloat_with_epsilon(ifm_member_number(x, "sqnr_db"), decibels(&right.x), DB);
    g_assert_cmpfloat_with_epsilon(ifm_member_number(p, "sqnr_db"), decibels(&right.p), DB);
    g_assert_cmpfloat_with_epsilon(ifm_member_number(p, "quantisation_db"), decibels(&right.p_alone), DB);
    g_assert_cmpstr(ifm_member_text(p, "tensor_of_b"), ==, "p_near");
    g_assert_cmpfloat_with_epsilon(ifm_member_number(act, "sqnr_db"), decibels(&right.y), DB);
    /* The Relu makes good what it makes good of the product. */
    const double kept = fmax(decibels(&right.p), decibels(&right.y));
    g_assert_cmpfloat_with_epsilon(ifm_member_number(p, "loss_db"), decibels(&right.x) - kept, 2 * DB);
    g_assert_cmpfloat(decibels(&right.x) - kept, >, 5); /* or the test would show nothing */
    g_assert_cmpstr(ifm_member_text(accuracy, "first"), ==, "product");
}

static void test_page(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    if (!bench_has_device(bench, "onnxruntime:CPU", ""))
        return;
    save_model(bench, "a.onnx", "x", FALSE);
    save_model(bench, "b.onnx", "x", TRUE);
    save_batch(bench, "batch.npy", SAMPLES);
    run_line(bench, "compare a.onnx b.onnx --layer-loss 5 --input x=batch.npy" QUICK, &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "over 3 given samples"));
    g_assert_nonnull(strstr(ended.out, "the first layer that loses over 5 dB is product"));
    run_line(bench, "compare a.onnx b.onnx --layer-loss 90 --samples 2" QUICK, &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "over 2 generated samples"));
    g_assert_nonnull(strstr(ended.out, "no layer loses over 90 dB"));
    run_line(bench, "compare a.onnx a.onnx" QUICK, &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "B's outputs equal A's in every element"));
    run_line(bench, "compare a.onnx b.onnx --no-accuracy" QUICK, &ended);
    assert_status(&ended, 0);
    g_assert_null(strstr(ended.out, "generated samples"));
}

/* Three of one operator, one after the other. */
static void save_unary(const Bench *bench, const char *name, IfmDtype dtype, const char *op_type, const char *node)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("unary", 17);
    ifm_model_builder_input(builder, "x", dtype, 2, (gint64[]){ 3, 500 }, NULL);
    g_autofree char *first = g_strconcat(node, ".1", NULL), *second = g_strconcat(node, ".2", NULL);
    ifm_model_builder_node(builder, op_type, first, NAMES("x"), NAMES(first));
    ifm_model_builder_node(builder, op_type, second, NAMES(first), NAMES(second));
    ifm_model_builder_node(builder, op_type, node, NAMES(second), NAMES("y"));
    ifm_model_builder_output(builder, "y", dtype, 2, (gint64[]){ 3, 500 }, NULL);
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    g_autofree char *path = bench_path(bench, name);
    g_assert_true(ifm_model_save(model, path, &error));
}

/* A model in half precision is fed what the other is, rounded: of uniform numbers the ratio is about 74 dB. */
static void test_half(Bench *bench, gconstpointer data)
{
    if (!bench_has_device(bench, "onnxruntime:CPU", ""))
        return;
    save_unary(bench, "a.onnx", IFM_DTYPE_F32, "Relu", "act");
    save_unary(bench, "b.onnx", IFM_DTYPE_F16, "Relu", "act");
    json_auto_t *accuracy = accuracy_of(bench, "a.onnx b.onnx");
    const json_t *y = json_array_get(json_object_get(accuracy, "outputs"), 0);
    g_assert_null(ifm_member_text(accuracy, "why"));
    g_assert_cmpfloat(ifm_member_number(y, "sqnr_db"), >, 70);
    g_assert_cmpfloat(ifm_member_number(y, "sqnr_db"), <, 78);
    g_assert_cmpint((int)ifm_member_number(y, "n_elements"), ==, 8 * 3 * 500);
}

/* What cannot be compared says why, and the times stand. */
static void test_none(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    if (!bench_has_device(bench, "onnxruntime:CPU", ""))
        return;
    save_model(bench, "a.onnx", "x", FALSE);
    save_model(bench, "other.onnx", "z", FALSE);
    save_batch(bench, "batch.npy", 2);
    json_auto_t *accuracy = accuracy_of(bench, "a.onnx other.onnx");
    g_assert_cmpstr(ifm_member_text(accuracy, "why"), ==, "the inputs of the models have different names");
    /* What is no batch of samples for profile is none. */
    run_line(bench, "profile a.onnx --input x=batch.npy -q --runs 2 -d onnxruntime:CPU", &ended);
    assert_complaint(&ended, 3, "batch.npy: f32 [2,4], but input 'x' takes f32 [1, 4]");
}

/* Two that do not compute the same are no pair of which the one is less accurate; a layer that went wrong is. */
static void test_unlike(Bench *bench, gconstpointer data)
{
    static const char doubt[] = "A and B are different models";
    g_auto(Ended) ended = { 0 };
    if (!bench_has_device(bench, "onnxruntime:CPU", ""))
        return;
    save_unary(bench, "a.onnx", IFM_DTYPE_F32, "Relu", "act");
    save_unary(bench, "unlike.onnx", IFM_DTYPE_F32, "Neg", "other");
    save_unary(bench, "wrong.onnx", IFM_DTYPE_F32, "Neg", "act");
    run_line(bench, "compare a.onnx unlike.onnx" QUICK, &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, doubt));
    run_line(bench, "compare a.onnx wrong.onnx" QUICK, &ended);
    assert_status(&ended, 0);
    g_assert_null(strstr(ended.out, doubt));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/compare-accuracy/figures", Bench, NULL, bench_init, test_figures, bench_clear);
    g_test_add("/compare-accuracy/page", Bench, NULL, bench_init, test_page, bench_clear);
    g_test_add("/compare-accuracy/half", Bench, NULL, bench_init, test_half, bench_clear);
    g_test_add("/compare-accuracy/unlike", Bench, NULL, bench_init, test_unlike, bench_clear);
    g_test_add("/compare-accuracy/none", Bench, NULL, bench_init, test_none, bench_clear);
    return g_test_run();
}
