#include <base/fields.h>

#include "runner-fixture.h"

/* What a case may say beside model and device: what it is recorded under, and what it is fed. */

static IfmCase *seal(Fixture *fixture, const IfmModelCase *model_case)
{
    g_autoptr(GError) error = NULL;
    IfmCase *sealed = ifm_runner_case(fixture->runner, &ifm_kind_model, model_case, &error);
    g_assert_no_error(error);
    return sealed;
}

static void refuses(Fixture *fixture, const IfmModelCase *model_case, IfmErrorCode code, const char *says)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_runner_case(fixture->runner, &ifm_kind_model, model_case, &error));
    g_assert_error(error, IFM_ERROR, (int)code);
    g_test_message("%s", error->message);
    g_assert_nonnull(strstr(error->message, says));
}

static char *sha256_of(const char *text)
{
    return g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
}

/* y = log(x) for x [N,3]: on seeded inputs, half of which are negative, no number. */
static void use_logarithm(Fixture *fixture)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("logarithm", 17);
    const char *const n[] = { "N", NULL };
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, (gint64[]){ -1, 3 }, n);
    ifm_model_builder_node(builder, "Log", "log", (const char *const[]){ "x", NULL }, (const char *const[]){ "y", NULL });
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, (gint64[]){ -1, 3 }, n);
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_model_save(model, fixture->model_path, NULL));
}

static char *save_x(const Fixture *fixture, const char *file, const char *port, gint64 n, float value)
{
    float values[30];
    for (gsize i = 0; i < G_N_ELEMENTS(values); i++)
        values[i] = value;
    IfmTensor tensor;
    g_autoptr(GError) error = NULL;
    char *path = g_build_filename(fixture->folder, file, NULL);
    g_assert_true(ifm_tensor_wrap(&tensor, IFM_DTYPE_F32, 2, (gint64[]){ n, 3 }, values, NULL));
    g_assert_true(ifm_tensor_file_save(path, &port, &tensor, 1, &error));
    return path;
}

static void drop(char **path)
{
    g_unlink(*path);
    g_clear_pointer(path, g_free);
}

/* The key of a case that asks for none of it, by the book (docs/formats.md): what is not asked for has no part in it. */
static void test_key_by_the_book(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    use_logarithm(&fixture);
    IfmModelCase model_case = case_on(&fixture, "simulated:faulty/well");
    static const IfmDimBinding bindings[] = { { "N", 4 } };
    model_case.model_name = "logarithm";
    model_case.bindings = bindings;
    model_case.n_bindings = 1;
    g_autoptr(IfmCase) sealed = seal(&fixture, &model_case);
    json_decref(sealed->environment); /* this machine's */
    sealed->environment = json_pack("{s:s}", "machine", "m");
    ifm_case_seal(sealed);
    g_autofree char *text =
        g_strdup_printf("{\"device\":\"simulated:faulty/"
                        "well\",\"environment\":{\"machine\":\"m\"},\"options\":{\"dtype\":\"f32\",\"nodes\":false,"
                        "\"protocol\":{\"runs\":20,"
                        "\"warmup\":2},\"seed\":7,\"threads\":0,\"vendor\":[],\"verify\":true},\"sizes\":{\"N\":4},"
                        "\"subject_digest\":\"%s\",\"subject_kind\":\"model\",\"subject_name\":\"logarithm\"}",
                        sealed->subject_digest);
    g_autofree char *key = sha256_of(text);
    g_assert_cmpstr(sealed->key, ==, key);
    fixture_clear(&fixture);
}

static void test_record(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    use_logarithm(&fixture);
    static const IfmDimBinding bindings[] = { { "N", 4 } }, sizes[] = { { "nodes", 3 }, { "edges", 9 } };
    IfmModelCase plain = case_on(&fixture, "simulated:faulty/well");
    plain.bindings = bindings;
    plain.n_bindings = 1;
    g_autoptr(IfmCase) before = seal(&fixture, &plain);
    char *path = save_x(&fixture, "inputs", "x", 4, 1), *copy = save_x(&fixture, "copy", "x", 4, 1);
    IfmModelCase stage = plain;
    stage.subject_kind = "stage";
    g_autoptr(IfmCase) of_stage = seal(&fixture, &stage);
    g_assert_cmpstr(of_stage->subject_kind, ==, "stage");
    g_assert_cmpstr(of_stage->key, !=, before->key);
    IfmModelCase sized = plain;
    sized.sizes = sizes;
    sized.n_sizes = 2;
    g_autoptr(IfmCase) of_size = seal(&fixture, &sized);
    g_autofree char *text = ifm_json_canonical(of_size->sizes);
    g_assert_cmpstr(text, ==, "{\"edges\":9,\"nodes\":3}");
    IfmModelCase free_shapes = plain;
    free_shapes.free_shapes = TRUE;
    g_autoptr(IfmCase) of_free = seal(&fixture, &free_shapes);
    g_assert_true(json_is_true(json_object_get(of_free->options, "free_shapes")));
    g_assert_null(json_object_get(before->options, "free_shapes"));
    g_assert_cmpstr(of_free->key, !=, before->key);
    IfmModelCase fed = plain;
    fed.inputs_path = path;
    g_autoptr(IfmCase) of_inputs = seal(&fixture, &fed);
    g_autoptr(IfmTensorFile) file = ifm_tensor_file_open(path, NULL);
    g_autofree char *digest = ifm_tensor_file_digest(file);
    g_assert_cmpstr(text_in(of_inputs->options, "inputs"), ==, digest);
    g_assert_cmpstr(of_inputs->key, !=, before->key);
    fed.inputs_path = copy; /* what it is, not where */
    fed.cache_dir = fixture.folder;
    g_autoptr(IfmCase) of_copy = seal(&fixture, &fed);
    g_assert_cmpstr(of_copy->key, ==, of_inputs->key);
    drop(&path);
    drop(&copy);
    fixture_clear(&fixture);
}

static void test_inputs_refused(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    use_logarithm(&fixture);
    static const IfmDimBinding bindings[] = { { "N", 4 } };
    IfmModelCase model_case = case_on(&fixture, "simulated:faulty/well");
    model_case.bindings = bindings;
    model_case.n_bindings = 1;
    char *path = save_x(&fixture, "inputs", "x", 5, 1);
    model_case.inputs_path = path;
    refuses(&fixture, &model_case, IFM_ERROR_INVALID, "input 'x' is f32 [5,3], expected f32 [4,3]");
    gint64 places[12] = { 0 };
    IfmTensor tensor;
    const char *name = "x";
    g_assert_true(ifm_tensor_wrap(&tensor, IFM_DTYPE_I64, 2, (gint64[]){ 4, 3 }, places, NULL));
    g_assert_true(ifm_tensor_file_save(path, &name, &tensor, 1, NULL));
    refuses(&fixture, &model_case, IFM_ERROR_INVALID, "input 'x' is i64 [4,3], expected f32 [4,3]");
    g_assert_true(g_file_set_contents(path, "IFMTENS\n but no more", -1, NULL));
    refuses(&fixture, &model_case, IFM_ERROR_CORRUPT, path);
    g_unlink(path);
    refuses(&fixture, &model_case, IFM_ERROR_UNAVAILABLE, path);
    g_free(path);
    path = save_x(&fixture, "inputs", "unheard-of", 9, 1); /* no port of this model's */
    model_case.inputs_path = path;
    g_autoptr(IfmMeasurement) measurement = measure(&fixture, &model_case);
    g_assert_cmpint(measurement->outcome, ==, IFM_OUTCOME_OK);
    drop(&path);
    fixture_clear(&fixture);
}

/* Like a model, inputs that are others by now are not measured under the old ones' name. */
static void test_changed_inputs(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    use_logarithm(&fixture);
    static const IfmDimBinding bindings[] = { { "N", 4 } };
    IfmModelCase model_case = case_on(&fixture, "simulated:faulty/well");
    char *path = save_x(&fixture, "inputs", "x", 4, 1);
    model_case.bindings = bindings;
    model_case.n_bindings = 1;
    model_case.inputs_path = path;
    g_autoptr(IfmCase) sealed = seal(&fixture, &model_case);
    g_free(save_x(&fixture, "inputs", "x", 4, 2));
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmMeasurement) measurement =
        ifm_runner_measure(fixture.runner, &ifm_kind_model, &model_case, sealed, &error);
    g_assert_no_error(error);
    g_assert_cmpint(measurement->outcome, ==, IFM_OUTCOME_FAILED);
    g_assert_nonnull(strstr(measurement->reason, "inputs: changed since"));
    drop(&path);
    fixture_clear(&fixture);
}

/* What compiling took is in the record; a device without a cache says nothing of one. */
static void test_compile_time(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmModelCase model_case = case_on(&fixture, "simulated:faulty/well");
    model_case.cache_dir = fixture.folder;
    g_autoptr(IfmMeasurement) measurement = measure(&fixture, &model_case);
    const json_t *compile = json_object_get(measurement->environment, "compile");
    g_assert_cmpint(json_integer_value(json_object_get(compile, "time_ns")), >=, 0);
    g_assert_true(json_is_integer(json_object_get(compile, "time_ns")));
    g_assert_true(json_is_null(json_object_get(compile, "from_cache")));
    g_autoptr(GDir) folder = g_dir_open(fixture.folder, 0, NULL);
    g_assert_cmpstr(g_dir_read_name(folder), ==, "matmul.onnx"); /* and puts nothing there */
    g_assert_null(g_dir_read_name(folder));
    model_case = case_on(&fixture, "simulated:faulty/refuse");
    g_autoptr(IfmMeasurement) refused = measure(&fixture, &model_case);
    g_assert_null(json_object_get(refused->environment, "compile"));
    fixture_clear(&fixture);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_autofree char *devices = g_build_filename(g_getenv("G_TEST_SRCDIR"), "measure", "devices", NULL);
    g_setenv("IFM_DEVICES_DIR", devices, TRUE);
    g_test_add_func("/case/key-by-the-book", test_key_by_the_book);
    g_test_add_func("/case/record", test_record);
    g_test_add_func("/case/inputs-refused", test_inputs_refused);
    g_test_add_func("/case/changed-inputs", test_changed_inputs);
    g_test_add_func("/case/compile-time", test_compile_time);
    return g_test_run();
}
