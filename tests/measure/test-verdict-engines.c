#include <math.h>

#include <base/fields.h>

#include "runner-fixture.h"

/* What is said of outputs, on the real runtimes: of quantised models, of models that leave the output to chance, and of
 * arithmetic that is less precise than was asked for. No processor's instructions are asked for: where one makes a runtime
 * saturate, the verdict must say so. */

#define NAMES(...) ((const char *const[]){ __VA_ARGS__, NULL })

static const char *const devices[] = { "onnxruntime:CPU@0", "openvino:CPU@0" };

static gboolean has_engines(Fixture *fixture)
{
    for (gsize i = 0; i < G_N_ELEMENTS(devices); i++)
    {
        g_autoptr(GError) error = NULL;
        g_auto(GStrv) words = g_strsplit(devices[i], ":", 2);
        json_auto_t *answer = ifm_runner_devices(fixture->runner, words[0], &error);
        if (answer != NULL)
            continue;
        g_test_skip(error->message);
        return FALSE;
    }
    return TRUE;
}

static IfmMeasurement *measure_file(Fixture *fixture, const char *path, const char *device, int tolerance_runs)
{
    IfmModelCase model_case = case_on(fixture, device);
    model_case.model_path = path;
    model_case.protocol.warmup = 0;
    model_case.protocol.runs = 2;
    model_case.tolerance_runs = tolerance_runs;
    return measure(fixture, &model_case);
}

static char *data_file(const char *name)
{
    return g_build_filename(g_getenv("IFM_TEST_DATA"), "data", "quantised", name, NULL);
}

/* Equal; or different for a cause that is named, with the setting that cures it. */
static void assert_told(const IfmMeasurement *measurement, const char *agreement, const char *option)
{
    const json_t *verification = measurement->verification;
    g_test_message("%s %s", text_in(verification, "agreement"), measurement->reason);
    if (g_strcmp0(text_in(verification, "status"), "failed") == 0)
    {
        g_assert_cmpstr(text_in(verification, "agreement"), ==, "different");
        g_assert_cmpstr(ifm_member_text(verification, "cause.cured_by"), ==, option);
        g_assert_nonnull(strstr(measurement->reason, "; cause: "));
        g_assert_nonnull(strstr(measurement->reason, option));
        return;
    }
    assert_ok(measurement);
    g_assert_cmpstr(text_in(verification, "status"), ==, "passed");
    g_assert_cmpstr(text_in(verification, "agreement"), ==, agreement);
    g_assert_null(json_object_get(verification, "cause"));
}

/* Both runtimes saturate where the processor has no instruction for products of 8 bits. */
static const char *const precise[] = { "session.x64quantprecision=1", "LP_TRANSFORMS_MODE=NO" };

static void test_quantised(gconstpointer data)
{
    static const char *const agreements[][2] = { { "dynq.onnx", "equal" },
                                                 { "qdq_u8s8.onnx", "equal up to quantisation" } };
    const gsize row = GPOINTER_TO_SIZE(data);
    g_autofree char *path = data_file(agreements[row][0]);
    Fixture fixture;
    fixture_init(&fixture, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(devices) && has_engines(&fixture); i++)
    {
        g_autoptr(IfmMeasurement) measurement = measure_file(&fixture, path, devices[i], 0);
        const json_t *verification = measurement->verification;
        assert_told(measurement, agreements[row][1], precise[i]);
        g_assert_true(json_is_true(json_object_get(verification, "rewritten")));
        g_assert_cmpuint(json_array_size(json_object_get(verification, "kept")), ==, 0);
        g_assert_cmpint(json_integer_value(json_object_get(verification, "n_runs")), ==, 5);
    }
    fixture_clear(&fixture);
}

/* A perceptron of twelve layers, each dynamically quantised: one rounding in it moves all that follows. */
static void save_perceptron(const char *path)
{
    const gint64 weight_shape[] = { 128, 128 }, rows[] = { 16, 128 };
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("perceptron", 17);
    g_autoptr(GRand) random = g_rand_new_with_seed(5);
    g_autoptr(GError) error = NULL;
    ifm_model_builder_input(builder, "x0", IFM_DTYPE_F32, 2, rows, NULL);
    for (int layer = 0; layer < 12; layer++)
    {
        static const char *const words[] = { "x", "q", "s", "z", "w", "m", "c", "t", "u", "d", "g" };
        char *n[G_N_ELEMENTS(words)];
        for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
            n[i] = g_strdup_printf("%s%d", words[i], layer);
        g_autofree char *next = layer == 11 ? g_strdup("y") : g_strdup_printf("x%d", layer + 1);
        g_auto(IfmTensor) weights = IFM_TENSOR_INIT, scale = IFM_TENSOR_INIT;
        g_assert_true(ifm_tensor_init(&weights, IFM_DTYPE_I8, 2, weight_shape, NULL) &&
                      ifm_tensor_fill_random(&weights, random, -127, 128, NULL) &&
                      ifm_tensor_init(&scale, IFM_DTYPE_F32, 0, NULL, NULL));
        *(float *)scale.data = 1.0F / 480;
        ifm_model_builder_weight(builder, n[4], &weights);
        ifm_model_builder_weight(builder, n[7], &scale);
        ifm_model_builder_node(builder, "DynamicQuantizeLinear", NULL, NAMES(n[0]), NAMES(n[1], n[2], n[3]));
        ifm_model_builder_node(builder, "MatMulInteger", NULL, NAMES(n[1], n[4], n[3]), NAMES(n[5]));
        gsize cast = ifm_model_builder_node(builder, "Cast", NULL, NAMES(n[5]), NAMES(n[6]));
        ifm_model_builder_int(builder, cast, "to", IFM_DTYPE_F32);
        ifm_model_builder_node(builder, "Mul", NULL, NAMES(n[2], n[7]), NAMES(n[8]));
        ifm_model_builder_node(builder, "Mul", NULL, NAMES(n[6], n[8]), NAMES(n[9]));
        ifm_model_builder_node(builder, "Sigmoid", NULL, NAMES(n[9]), NAMES(n[10]));
        ifm_model_builder_node(builder, "Mul", NULL, NAMES(n[9], n[10]), NAMES(next));
        for (gsize i = 0; i < G_N_ELEMENTS(words); i++)
            g_free(n[i]);
    }
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, rows, NULL);
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_model_save(model, path, NULL));
}

static void test_dynamic(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    save_perceptron(fixture.model_path);
    for (gsize i = 0; i < G_N_ELEMENTS(devices) && has_engines(&fixture); i++)
    {
        g_autoptr(IfmMeasurement) measurement = measure_file(&fixture, fixture.model_path, devices[i], 0);
        const json_t *output = json_array_get(json_object_get(measurement->verification, "outputs"), 0);
        assert_told(measurement, "equal up to quantisation", precise[i]);
        const double own = ifm_member_number(output, "reference_db");
        g_assert_cmpfloat(own, >, 20);
        g_assert_cmpfloat(own, <, 60);
        if (measurement->outcome == IFM_OUTCOME_OK)
            g_assert_cmpfloat(ifm_member_number(output, "accuracy.cosine"), >, 0.99);
    }
    fixture_clear(&fixture);
}

/* OpenVINO quantises what meets weights of four bits where the processor makes that fast: then the verdict names it. The
 * product itself is its own reference. */
static void test_four_bits(void)
{
    g_autofree char *path = data_file("matmul-int4.onnx");
    Fixture fixture;
    fixture_init(&fixture, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(devices) && has_engines(&fixture); i++)
    {
        g_autoptr(IfmMeasurement) measurement = measure_file(&fixture, path, devices[i], 0);
        assert_told(measurement, "equal",
                    i == 0 ? "session.qdq_matmulnbits_accuracy_level=1" : "DYNAMIC_QUANTIZATION_GROUP_SIZE=0");
    }
    fixture_clear(&fixture);
}

/* (x + 1e9) - 1e9 has no digit of x left: whatever a device makes of it, it is not wrong. */
static void save_cancelling(const char *path)
{
    const gint64 shape[] = { 4, 64 };
    float large = 1e9F, small = -1e9F;
    IfmTensor number;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("cancelling", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, shape, NULL);
    g_assert_true(ifm_tensor_wrap(&number, IFM_DTYPE_F32, 0, NULL, &large, NULL));
    ifm_model_builder_weight(builder, "large", &number);
    g_assert_true(ifm_tensor_wrap(&number, IFM_DTYPE_F32, 0, NULL, &small, NULL));
    ifm_model_builder_weight(builder, "small", &number);
    ifm_model_builder_node(builder, "Exp", NULL, NAMES("x"), NAMES("e"));
    ifm_model_builder_node(builder, "Add", NULL, NAMES("e", "large"), NAMES("sum"));
    ifm_model_builder_node(builder, "Add", NULL, NAMES("sum", "small"), NAMES("y"));
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, shape, NULL);
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, NULL);
    g_assert_true(ifm_model_save(model, path, NULL));
}

static void test_undetermined(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    save_cancelling(fixture.model_path);
    for (gsize i = 0; i < G_N_ELEMENTS(devices) && has_engines(&fixture); i++)
    {
        g_autoptr(IfmMeasurement) measurement = measure_file(&fixture, fixture.model_path, devices[i], 0);
        assert_ok(measurement);
        g_assert_cmpstr(text_in(measurement->verification, "status"), ==, "undetermined");
        g_assert_cmpstr(text_in(measurement->verification, "agreement"), ==, "undetermined");
    }
    fixture_clear(&fixture);
}

/* Outputs that follow from random numbers are neither right nor wrong, and said to; the others are compared. */
static void test_drawn(void)
{
    g_autofree char *path = g_build_filename(g_getenv("IFM_TEST_DATA"), "data", "draws.onnx", NULL);
    Fixture fixture;
    fixture_init(&fixture, NULL);
    if (has_engines(&fixture))
    {
        g_autoptr(IfmMeasurement) measurement = measure_file(&fixture, path, devices[0], 0);
        const json_t *verification = measurement->verification, *draws = json_object_get(verification, "draws"), *output;
        gsize i;
        assert_ok(measurement);
        g_assert_cmpstr(text_in(verification, "status"), ==, "undetermined");
        g_assert_cmpstr(text_in(draws, "dropped"), ==, "Dropout");
        g_assert_cmpstr(text_in(draws, "called"), ==, "RandomUniformLike");
        g_assert_null(json_object_get(draws, "plain"));
        json_array_foreach(json_object_get(verification, "outputs"), i, output)
        {
            g_assert_cmpstr(text_in(output, "agreement"), ==, "equal");
            g_assert_null(json_object_get(draws, text_in(output, "port")));
        }
        g_assert_cmpuint(json_array_size(json_object_get(verification, "outputs")), ==, 11 - json_object_size(draws));
    }
    fixture_clear(&fixture);
}

/* Of the second input of CastLike the type alone is read: OpenVINO drops it, and is fed the other. */
static void test_unread_input(void)
{
    static const gint64 shape[] = { 4, 8 };
    Fixture fixture;
    fixture_init(&fixture, NULL);
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("unread", 17);
    ifm_model_builder_input(builder, "like", IFM_DTYPE_F64, 2, shape, NULL);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, shape, NULL);
    ifm_model_builder_node(builder, "CastLike", NULL, NAMES("x", "like"), NAMES("c"));
    ifm_model_builder_node(builder, "Neg", NULL, NAMES("c"), NAMES("y"));
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F64, 2, shape, NULL);
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, NULL);
    g_assert_true(ifm_model_save(model, fixture.model_path, NULL));
    for (gsize i = 0; i < G_N_ELEMENTS(devices) && has_engines(&fixture); i++)
    {
        g_autoptr(IfmMeasurement) measurement = measure_file(&fixture, fixture.model_path, devices[i], 0);
        assert_ok(measurement);
        g_assert_cmpstr(text_in(measurement->verification, "agreement"), ==, "equal");
    }
    fixture_clear(&fixture);
}

/* A file says of an output that it is one number, as it was of a batch of 1: of 4 there are 4. */
static void test_number_for_each(void)
{
    static const gint64 shape[] = { -1, 1 };
    static const char *const names[] = { "N", NULL };
    const IfmDimBinding binding = { "N", 4 };
    Fixture fixture;
    fixture_init(&fixture, NULL);
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("scores", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, shape, names);
    ifm_model_builder_node(builder, "Squeeze", NULL, NAMES("x"), NAMES("each"));
    ifm_model_builder_node(builder, "Neg", NULL, NAMES("each"), NAMES("y"));
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 0, NULL, NULL);
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, NULL);
    g_assert_true(ifm_model_save(model, fixture.model_path, NULL));
    if (has_engines(&fixture))
    {
        IfmModelCase model_case = case_on(&fixture, devices[0]);
        model_case.bindings = &binding;
        model_case.n_bindings = 1;
        g_autoptr(IfmMeasurement) measurement = measure(&fixture, &model_case);
        assert_ok(measurement);
        g_assert_cmpstr(text_in(measurement->verification, "agreement"), ==, "equal");
    }
    fixture_clear(&fixture);
}

/* A sequence is made and not read: the tensor beside it is compared. */
static void test_listed(void)
{
    g_autofree char *path = g_build_filename(g_getenv("IFM_TEST_DATA"), "data", "listed.onnx", NULL);
    Fixture fixture;
    fixture_init(&fixture, NULL);
    if (has_engines(&fixture))
    {
        g_autoptr(IfmMeasurement) measurement = measure_file(&fixture, path, devices[0], 0);
        assert_ok(measurement);
        g_assert_cmpstr(text_in(measurement->verification, "agreement"), ==, "equal");
        g_assert_cmpint(json_integer_value(json_object_get(measurement->verification, "n_not_compared")), >, 0);
    }
    fixture_clear(&fixture);
}

/* The runtime writes the new mean of a batch normalisation that trains over the one that it was fed: each run of the
 * reference is fed anew. */
static void save_normalisation(const char *path)
{
    static const char *const statistics[] = { "scale", "bias", "mean", "variance" };
    const gint64 shape[] = { 8, 4, 6, 6 }, channels[] = { 4 };
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("normalisation", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 4, shape, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(statistics); i++)
        ifm_model_builder_input(builder, statistics[i], IFM_DTYPE_F32, 1, channels, NULL);
    ifm_model_builder_metadata(builder, "inferometer.range.variance", "1 2");
    const gsize node = ifm_model_builder_node(builder, "BatchNormalization", NULL,
                                              NAMES("x", "scale", "bias", "mean", "variance"), NAMES("y", "m", "v"));
    ifm_model_builder_int(builder, node, "training_mode", 1);
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 4, shape, NULL);
    ifm_model_builder_output(builder, "m", IFM_DTYPE_F32, 1, channels, NULL);
    ifm_model_builder_output(builder, "v", IFM_DTYPE_F32, 1, channels, NULL);
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, NULL);
    g_assert_true(ifm_model_save(model, path, NULL));
}

static void test_fed_anew(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    save_normalisation(fixture.model_path);
    if (has_engines(&fixture))
    {
        g_autoptr(IfmMeasurement) measurement = measure_file(&fixture, fixture.model_path, devices[0], 0);
        const json_t *outputs = json_object_get(measurement->verification, "outputs"), *output;
        gsize i;
        assert_ok(measurement);
        g_assert_cmpuint(json_array_size(outputs), ==, 3);
        json_array_foreach(outputs, i, output)
        {
            g_assert_cmpstr(text_in(output, "agreement"), ==, "equal");
            g_assert_cmpfloat(ifm_member_number(output, "reference_db"), >, 100);
        }
    }
    fixture_clear(&fixture);
}

/* Without disturbed runs, or with a tolerance of the user's own, that rules. */
static void test_fixed(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    if (has_engines(&fixture))
    {
        g_autoptr(IfmMeasurement) by_precision = measure_file(&fixture, fixture.model_path, "onnxruntime:CPU@0", -1);
        assert_ok(by_precision);
        g_assert_cmpstr(text_in(by_precision->verification, "tolerance"), ==, "by precision");
        g_assert_cmpstr(text_in(by_precision->verification, "agreement"), ==, "equal");
        g_assert_cmpint(json_integer_value(json_object_get(by_precision->verification, "n_runs")), ==, 0);
        IfmModelCase model_case = case_on(&fixture, "onnxruntime:CPU@0");
        model_case.rtol = 0.5;
        g_autoptr(IfmMeasurement) given = measure(&fixture, &model_case);
        assert_ok(given);
        g_assert_cmpstr(text_in(given->verification, "tolerance"), ==, "as given");
        g_assert_cmpfloat(ifm_member_number(given->verification, "rtol"), ==, 0.5);
    }
    fixture_clear(&fixture);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/verdict/dynq", GSIZE_TO_POINTER(0), test_quantised);
    g_test_add_data_func("/verdict/qdq", GSIZE_TO_POINTER(1), test_quantised);
    g_test_add_func("/verdict/dynamic", test_dynamic);
    g_test_add_func("/verdict/four-bits", test_four_bits);
    g_test_add_func("/verdict/undetermined", test_undetermined);
    g_test_add_func("/verdict/drawn", test_drawn);
    g_test_add_func("/verdict/listed", test_listed);
    g_test_add_func("/verdict/number-for-each", test_number_for_each);
    g_test_add_func("/verdict/unread-input", test_unread_input);
    g_test_add_func("/verdict/fed-anew", test_fed_anew);
    g_test_add_func("/verdict/fixed", test_fixed);
    return g_test_run();
}
