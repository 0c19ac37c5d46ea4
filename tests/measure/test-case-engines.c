
#include "measure/measure-private.h"
#include "runner-fixture.h"

/* Cases with free shapes, with inputs from a file and with a cache, on the real runtimes, where they are. */

static gboolean has_engine(Fixture *fixture, const char *engine)
{
    g_autoptr(GError) error = NULL;
    json_auto_t *answer = ifm_runner_devices(fixture->runner, engine, &error);
    if (answer == NULL)
        g_test_skip(error->message);
    return answer != NULL;
}

/* y [N,K] = log(x [N,K]) * w [K,K]; z = the same, as many rows as x has that are not zero: nobody knows before. */
static void use_logarithm(Fixture *fixture, gboolean counts)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("logarithm", 17);
    const char *const n[] = { "N", NULL }, *const m[] = { NULL, "M" };
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, (gint64[]){ -1, 8 }, n);
    ifm_model_builder_random_weight(builder, "w", 2, (gint64[]){ 8, 8 }, 1, 3);
    ifm_model_builder_node(builder, "Log", "log", (const char *const[]){ "x", NULL }, (const char *const[]){ "l", NULL });
    ifm_model_builder_node(builder, "MatMul", "product", (const char *const[]){ "l", "w", NULL },
                           (const char *const[]){ "y", NULL });
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, (gint64[]){ -1, 8 }, n);
    if (counts)
    {
        ifm_model_builder_node(builder, "NonZero", "places", (const char *const[]){ "x", NULL },
                               (const char *const[]){ "z", NULL });
        ifm_model_builder_output(builder, "z", IFM_DTYPE_I64, 2, (gint64[]){ 2, -1 }, m);
    }
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_model_save(model, fixture->model_path, NULL));
}

/* Element i is @first + i % 7. */
static char *save_x(const Fixture *fixture, const char *file, gint64 n, float first)
{
    float values[8 * 64];
    for (gsize i = 0; i < G_N_ELEMENTS(values); i++)
        values[i] = first + (float)(i % 7);
    IfmTensor tensor;
    const char *name = "x";
    char *path = g_build_filename(fixture->folder, file, NULL);
    g_assert_true(ifm_tensor_wrap(&tensor, IFM_DTYPE_F32, 2, (gint64[]){ n, 8 }, values, NULL));
    g_assert_true(ifm_tensor_file_save(path, &name, &tensor, 1, NULL));
    return path;
}

/* A simulated device that computes nothing gets inputs of the right shapes and no more, however large; one that computes
 * gets the seeded ones, byte by byte. */
static void test_inputs_read(void)
{
    static const char *const none[] = { "OUTPUTS=none", NULL }, *const computed[] = { "OUTPUTS=onnxruntime:CPU", NULL };
    static const IfmDimBinding bindings[] = { { "N", 16 } };
    Fixture fixture;
    fixture_init(&fixture, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmClock) clock = ifm_clock_new_virtual(0);
    g_autoptr(IfmEngine) engine = ifm_engine_open("simulated", clock, &error);
    use_logarithm(&fixture, FALSE);
    g_autoptr(IfmModel) model = ifm_model_open(fixture.model_path, &error);
    g_assert_no_error(error);
    IfmModelCase model_case = case_on(&fixture, "simulated:ideal/CPU");
    model_case.n_bindings = 1;
    model_case.free_shapes = TRUE;
    model_case.bindings = bindings;
    for (int computes = 0; computes < 2; computes++)
    {
        g_auto(IfmTensor) expected = IFM_TENSOR_INIT;
        g_assert_true(ifm_model_make_inputs(model, bindings, 1, model_case.seed, &expected, NULL));
        model_case.vendor = computes ? computed : none;
        g_autoptr(IfmModelSubject) subject =
            ifm_model_subject_new(engine, model, &model_case, IFM_COMPILE_MEASURED, &error);
        if (computes && g_error_matches(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE))
        {
            g_test_skip(error->message);
            break;
        }
        g_assert_no_error(error);
        const IfmTensor *x = &subject->inputs.tensors[0];
        g_assert_cmpuint(x->size_bytes, ==, 16 * 8 * sizeof(float));
        g_assert_cmpint(x->shape[0], ==, 16);
        if (computes)
            g_assert_cmpmem(x->data, x->size_bytes, expected.data, expected.size_bytes);
        for (gsize i = 0; !computes && i < x->size_bytes; i++)
            g_assert_cmpint(((const char *)x->data)[i], ==, 0);
    }
    fixture_clear(&fixture);
}

static void drop(char **path)
{
    g_unlink(*path);
    g_clear_pointer(path, g_free);
}

static gboolean gave_no_number(const IfmMeasurement *measurement)
{
    g_assert_cmpstr(measurement->reason, ==, "");
    g_assert_cmpstr(text_in(measurement->verification, "status"), ==, "passed");
    return json_is_true(json_object_get(measurement->verification, "reference_not_finite"));
}

/* The logarithm tells what it was fed: seeded inputs are negative here and there, these are as the file says. Device and
 * reference are fed the same, and other inputs have another reference, or one of the two would be found wrong. */
static void test_inputs(gconstpointer data)
{
    g_autofree char *device = g_strdup_printf("%s:CPU@0", (const char *)data);
    Fixture fixture;
    fixture_init(&fixture, NULL);
    if (has_engine(&fixture, data))
    {
        static const IfmDimBinding bindings[] = { { "N", 16 } };
        use_logarithm(&fixture, FALSE);
        IfmModelCase model_case = case_on(&fixture, device);
        model_case.bindings = bindings;
        model_case.n_bindings = 1;
        model_case.profile = TRUE;
        g_autoptr(IfmMeasurement) seeded = measure(&fixture, &model_case);
        g_assert_true(gave_no_number(seeded));
        char *positive = save_x(&fixture, "positive", 16, 1), *negative = save_x(&fixture, "negative", 16, -3);
        char *other = save_x(&fixture, "other", 16, 2);
        model_case.inputs_path = positive;
        g_autoptr(IfmMeasurement) right = measure(&fixture, &model_case);
        g_assert_false(gave_no_number(right));
        model_case.inputs_path = negative;
        g_autoptr(IfmMeasurement) nothing = measure(&fixture, &model_case);
        g_assert_true(gave_no_number(nothing));
        model_case.inputs_path = other;
        g_autoptr(IfmMeasurement) again = measure(&fixture, &model_case);
        g_assert_false(gave_no_number(again));
        drop(&positive);
        drop(&negative);
        drop(&other);
    }
    fixture_clear(&fixture);
}

/* One model file, its dimensions left free, at two sizes: attested, right, profiled. One output's shape depends on the
 * values that it is fed, so that no memory can be made for it beforehand. */
static void test_free_shapes(gconstpointer data)
{
    g_autofree char *device = g_strdup_printf("%s:CPU@0", (const char *)data);
    Fixture fixture;
    fixture_init(&fixture, NULL);
    if (has_engine(&fixture, data))
        for (gint64 n = 5; n < 60; n *= 10)
        {
            IfmDimBinding binding = { "N", n };
            use_logarithm(&fixture, TRUE);
            char *inputs = save_x(&fixture, "inputs", n, 1);
            IfmModelCase model_case = case_on(&fixture, device);
            model_case.bindings = &binding;
            model_case.n_bindings = 1;
            model_case.free_shapes = TRUE;
            model_case.profile = TRUE;
            model_case.inputs_path = inputs;
            g_autoptr(IfmMeasurement) measurement = measure(&fixture, &model_case);
            g_assert_false(gave_no_number(measurement));
            g_assert_cmpuint(measurement->samples_ns->len, ==, 20);
            g_assert_cmpuint(json_array_size(json_object_get(measurement->effective_config, "nodes")), >, 0);
            g_assert_cmpstr(text_in(measurement->breakdown, "status"), ==, "measured");
            drop(&inputs);
        }
    fixture_clear(&fixture);
}

/* Within the process: the dimensions are free as compiled, and what is known of the outputs lies in memory that is the
 * same in every run. */
static void test_given_outputs(gconstpointer data)
{
    g_autofree char *device = g_strdup_printf("%s:CPU", (const char *)data);
    Fixture fixture;
    fixture_init(&fixture, NULL);
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    g_autoptr(IfmEngine) engine = ifm_engine_open(data, clock, &error);
    if (engine == NULL)
        g_test_skip(error->message);
    else
    {
        static const IfmDimBinding bindings[] = { { "N", 16 } };
        use_logarithm(&fixture, TRUE);
        g_autoptr(IfmModel) model = ifm_model_open(fixture.model_path, &error);
        IfmModelCase model_case = case_on(&fixture, device);
        model_case.bindings = bindings;
        model_case.n_bindings = 1;
        model_case.free_shapes = TRUE;
        model_case.threads = 1;
        g_autoptr(IfmModelSubject) subject =
            ifm_model_subject_new(engine, model, &model_case, IFM_COMPILE_MEASURED, &error);
        g_assert_no_error(error);
        const IfmCompiled *compiled = subject->compiled;
        g_assert_cmpint(ifm_compiled_input(compiled, 0)->dims[0], ==, -1);
        g_assert_cmpint(ifm_compiled_output(compiled, 0)->dims[0], ==, -1);
        g_assert_cmpuint(ifm_model_subject_io_bytes(subject), ==, 2 * 16 * 8 * sizeof(float)); /* x and y, not z */
        IfmSubject slots = ifm_model_subject_slots(subject);
        void *first = NULL;
        for (int i = 0; i < 3; i++)
        {
            IfmTensor y, z;
            slots.run(slots.self, &error);
            g_assert_no_error(error);
            g_assert_true(ifm_request_output(subject->requests[0], 0, &y, &error));
            g_assert_true(ifm_request_output(subject->requests[0], 1, &z, &error));
            g_assert_cmpint(y.shape[0], ==, 16);
            g_assert_cmpint(z.shape[1], >, 0);
            g_assert_true(i == 0 || y.data == first);
            first = y.data;
        }
    }
    fixture_clear(&fixture);
}

/* The record says whether a compile was read; what was read is attested, verified and profiled like any other. */
static void test_cache(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    if (has_engine(&fixture, "openvino"))
    {
        g_autofree char *folder = g_build_filename(fixture.folder, "cache", NULL);
        IfmModelCase model_case = case_on(&fixture, "openvino:CPU@0");
        model_case.profile = TRUE;
        g_autoptr(IfmMeasurement) without = measure(&fixture, &model_case);
        const json_t *compile = json_object_get(without->environment, "compile");
        g_assert_true(json_is_null(json_object_get(compile, "from_cache")));
        g_assert_cmpint(json_integer_value(json_object_get(compile, "time_ns")), >, 0);
        model_case.cache_dir = folder;
        for (int i = 0; i < 2; i++)
        {
            g_autoptr(IfmMeasurement) measurement = measure(&fixture, &model_case);
            g_assert_cmpstr(measurement->case_key, ==, without->case_key);
            g_assert_cmpstr(measurement->reason, ==, "");
            g_assert_cmpstr(text_in(measurement->verification, "status"), ==, "passed");
            g_assert_cmpstr(text_in(measurement->breakdown, "status"), ==, "measured");
            json_t *read = json_object_get(json_object_get(measurement->environment, "compile"), "from_cache");
            g_assert_true(json_is_boolean(read));
            g_assert_cmpint(json_is_true(read), ==, i);
        }
        const char *arguments[] = { "rm", "-r", folder, NULL };
        g_assert_true(
            g_spawn_sync(NULL, (char **)arguments, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL));
    }
    fixture_clear(&fixture);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/case-engines/inputs/onnxruntime", "onnxruntime", test_inputs);
    g_test_add_data_func("/case-engines/inputs/openvino", "openvino", test_inputs);
    g_test_add_data_func("/case-engines/free-shapes/onnxruntime", "onnxruntime", test_free_shapes);
    g_test_add_data_func("/case-engines/free-shapes/openvino", "openvino", test_free_shapes);
    g_test_add_data_func("/case-engines/given-outputs/onnxruntime", "onnxruntime", test_given_outputs);
    g_test_add_data_func("/case-engines/given-outputs/openvino", "openvino", test_given_outputs);
    g_test_add_func("/case-engines/inputs-read", test_inputs_read);
    g_test_add_func("/case-engines/cache", test_cache);
    return g_test_run();
}
