#include <glib/gstdio.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "build-folders.h"
#include "fixture.h"
#include "folder.h"
#include "model-bytes.h"

/* What is true of one engine alone, of opening engines, and of what a machine lacks. */

static void assert_says(GError **error, int code, const char *says)
{
    g_assert_error(*error, IFM_ERROR, code);
    if (strstr((*error)->message, says) == NULL)
        g_error("'%s' should say '%s'", (*error)->message, says);
    g_assert_null(strchr((*error)->message, '\n'));
    g_clear_error(error);
}

/* --- opening -------------------------------------------------------------------------------------------------------------
 */

static void test_open(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    g_autoptr(IfmClock) virtual = ifm_clock_new_virtual(0);
    g_assert_true(g_strv_contains(ifm_engine_names(), "onnxruntime"));
    g_assert_true(g_strv_contains(ifm_engine_names(), "openvino"));
    g_assert_null(ifm_engine_open("openvion", clock, &error));
    g_test_message("%s", error->message);
    assert_says(&error, IFM_ERROR_INVALID, "did you mean \"openvino\"?");
    g_assert_null(ifm_engine_open("onnxruntime", virtual, &error));
    assert_says(&error, IFM_ERROR_INVALID, "virtual clock");
    for (guint bit = 0; bit < 32; bit++)
        g_assert_true((ifm_capability_name(1u << bit) != NULL) == (1u << bit <= IFM_PROFILE_MEANS));
    g_assert_cmpstr(ifm_capability_name(IFM_CAN_CORES), ==, "cores");
    g_assert_cmpstr(ifm_capability_name(IFM_CAN_SAVE_OPTIMISED), ==, "save-optimised");
    g_assert_cmpstr(ifm_capability_name(IFM_IS_SIMULATED), ==, "simulated");
    g_assert_cmpstr(ifm_capability_name(IFM_CAN_CACHE), ==, "cache");
    g_assert_cmpstr(ifm_capability_name(IFM_PROFILE_MEANS), ==, "profile-means");
    g_assert_null(ifm_capability_name(3));
}

static void check_devices(const char *name, const char *const *expected)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    g_autoptr(IfmEngine) engine = ifm_engine_open(name, clock, &error);
    if (engine == NULL)
    {
        g_test_skip(error->message);
        return;
    }
    g_assert_cmpstr(ifm_engine_info(engine).name, ==, name);
    g_assert_true(g_ascii_isdigit(ifm_engine_info(engine).version[0]));
    g_assert_true(g_file_test(ifm_engine_info(engine).library, G_FILE_TEST_EXISTS));
    g_autoptr(GPtrArray) devices = ifm_engine_devices(engine, &error);
    g_assert_no_error(error);
    for (; *expected != NULL; expected++)
    {
        const IfmDeviceInfo *found = NULL;
        for (guint i = 0; i < devices->len; i++)
        {
            const IfmDeviceInfo *info = devices->pdata[i];
            g_assert_true(info->available == (info->reason == NULL));
            g_assert_true(g_ascii_isgraph(*info->description));
            if (g_str_has_prefix(info->spec, *expected))
                found = info;
        }
        g_assert_nonnull(found); /* there, or listed as not available with the reason */
        g_test_message("%s (%s): %s", found->spec, found->description, found->available ? "available" : found->reason);
        g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(found->spec, &error);
        g_assert_no_error(error);
        g_assert_true(ifm_engine_probe_device(engine, spec, &error) == found->available);
        if (!found->available)
            assert_says(&error, IFM_ERROR_UNAVAILABLE, found->reason);
    }
    g_autoptr(IfmDeviceSpec) unknown = ifm_device_spec_parse("other:CPU", NULL);
    g_assert_false(ifm_engine_probe_device(engine, unknown, &error));
    assert_says(&error, IFM_ERROR_INVALID, "another engine");
}

static void test_devices_onnxruntime(void)
{
    check_devices("onnxruntime", (const char *[]){ "onnxruntime:CPU", "onnxruntime:CUDA", "onnxruntime:TensorRT", NULL });
}

/* A provider's library that lies with the runtime is loaded, and before it those that it needs by name. Where it does not
 * load the device is listed with the reason. */
static void check_provider(const char *folder, gboolean has_needed)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    g_autofree char *runtime = g_build_filename(folder, "libonnxruntime.so", NULL);
    g_setenv("IFM_ONNXRUNTIME_LIBRARY", runtime, TRUE);
    g_autoptr(IfmEngine) first = ifm_engine_open("onnxruntime", clock, &error), second = NULL;
    g_assert_no_error(error);
    second = ifm_engine_open("onnxruntime", clock, &error); /* in the same environment */
    g_assert_no_error(error);
    IfmEngine *const engines[] = { first, second };
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse("onnxruntime:CUDA", NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(engines); i++)
    {
        IfmDeviceInfo *device = ifm_engine_find_device(engines[i], spec, &error);
        if (has_needed)
        {
            g_assert_no_error(error);
            g_assert_cmpstr(device->spec, ==, "onnxruntime:CUDA:0");
            g_assert_true(g_ascii_isgraph(*device->description));
        }
        else
        {
            g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
            g_assert_nonnull(strstr(error->message, "libonnxruntime_providers_cuda.so does not load: "));
            g_assert_nonnull(strstr(error->message, "libcurand.so.10 is not open"));
            g_clear_error(&error);
        }
        ifm_device_info_free(device);
    }
}

static void test_provider(gconstpointer has_needed)
{
    static const char *const names[] = { "libonnxruntime.so", "libonnxruntime_providers_cuda.so", "libcurand.so.10" };
    if (g_test_subprocess())
    {
        check_provider(g_getenv("IFM_TEST_FOLDER"), has_needed != NULL);
        return;
    }
    g_autofree char *runtime = ifm_path_runtime("onnxruntime");
    if (!g_path_is_absolute(runtime))
    {
        g_test_skip("no ONNX Runtime of setup/install");
        return;
    }
    const char *const files[] = { runtime, g_getenv("IFM_TEST_PROVIDER"), g_getenv("IFM_TEST_NEEDED") };
    g_autofree char *folder = g_dir_make_tmp("ifm-provider-XXXXXX", NULL);
    for (gsize i = 0; i < (has_needed != NULL ? 3 : 2); i++)
    {
        g_autofree char *link = g_build_filename(folder, names[i], NULL);
        g_assert_cmpint(symlink(files[i], link), ==, 0);
    }
    g_setenv("IFM_TEST_FOLDER", folder, TRUE);
    g_test_trap_subprocess(NULL, 0, (GTestSubprocessFlags)0);
    g_test_trap_assert_passed();
    remove_tree(folder);
}

/* A runtime of a version that was not tested is used, and says so. */
static void test_untested(void)
{
    if (g_test_subprocess())
    {
        g_autoptr(IfmClock) clock = ifm_clock_new_real();
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmEngine) engine = ifm_engine_open("onnxruntime", clock, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(ifm_engine_info(engine).version, ==, "1.999.0");
        g_assert_true(g_str_has_prefix(ifm_engine_info(engine).untested, "onnxruntime 1.999.0 is outside "));
        return;
    }
    g_autofree char *runtime = ifm_path_runtime("onnxruntime");
    if (!g_path_is_absolute(runtime))
    {
        g_test_skip("no ONNX Runtime of setup/install");
        return;
    }
    const char *named = g_getenv("IFM_ONNXRUNTIME_LIBRARY");
    g_autofree char *before = g_strdup(named);
    g_setenv("IFM_TEST_REAL", runtime, TRUE);
    g_setenv("IFM_ONNXRUNTIME_LIBRARY", g_getenv("IFM_TEST_FAKE_VERSION"), TRUE);
    g_test_trap_subprocess(NULL, 0, (GTestSubprocessFlags)0);
    g_unsetenv("IFM_ONNXRUNTIME_LIBRARY");
    if (before != NULL)
        g_setenv("IFM_ONNXRUNTIME_LIBRARY", before, TRUE);
    g_test_trap_assert_passed();
}

static void test_devices_openvino(void)
{
    check_devices("openvino", (const char *[]){ "openvino:CPU", "openvino:GPU", "openvino:NPU", NULL });
}

static void test_no_such_device(void)
{
    g_autoptr(GError) error = NULL;
    static const char *const engines[] = { "onnxruntime", "openvino" };
    for (gsize i = 0; i < G_N_ELEMENTS(engines); i++)
    {
        Fixture fixture;
        g_autofree char *device = g_strconcat(engines[i], ":CPU", NULL);
        if (!fixture_open(&fixture, device))
            continue;
        g_autoptr(IfmModel) model = zoo("matmul", "");
        IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
        static const struct
        {
            const char *device;
            int code;
            const char *says;
        } wrong[] = {
            { ":XPU", IFM_ERROR_UNAVAILABLE, "no such device" },
            { ":CPU:1", IFM_ERROR_UNAVAILABLE, "no such device" },
            { ":CPU@0,1023", IFM_ERROR_INVALID, "0,1023" },
        };
        for (gsize k = 0; k < G_N_ELEMENTS(wrong); k++)
        {
            g_autofree char *text = g_strconcat(engines[i], wrong[k].device, NULL);
            g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(text, NULL);
            g_assert_null(ifm_engine_compile(fixture.engine, model, spec, &options, &error));
            g_assert_true(wrong[k].code == IFM_ERROR_INVALID || g_str_has_prefix(error->message, spec->text));
            assert_says(&error, wrong[k].code, wrong[k].says);
        }
        fixture_close(&fixture);
    }
}

/* --- in a process of its own
 * ----------------------------------------------------------------------------------------------- */

/* Opens an engine and prints the error's code and message, or "ok". */
static int child(const char *engine_name)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    g_autoptr(IfmEngine) engine = ifm_engine_open(engine_name, clock, &error);
    if (engine == NULL)
    {
        g_print("%s: %s\n", ifm_error_code_name(error->code), error->message);
        return 0;
    }
    g_autofree char *device = g_strconcat(engine_name, ":CPU", NULL);
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device, NULL);
    g_autoptr(IfmModel) model = zoo("matmul", "");
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    g_autoptr(IfmCompiled) compiled = ifm_engine_compile(engine, model, spec, &options, &error);
    g_autoptr(IfmRequest) request = ifm_compiled_request(compiled, 0, &error);
    g_auto(IfmTensor) input = make_input(model, NULL, 0, 1);
    set_input(request, &input);
    run(request);
    g_print("ok\n");
    return 0;
}

static char *run_child(const char *engine_name, const char *variable, const char *value)
{
    g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
    g_auto(GStrv) environment = g_get_environ();
    g_autoptr(GError) error = NULL;
    char *output = NULL;
    int status = 0;
    environment = g_environ_setenv(environment, variable, value, TRUE);
    environment = g_environ_unsetenv(environment, "ORT_DISABLE_TELEMETRY"); /* the driver itself must see to it */
    g_spawn_sync(NULL, (char *[]){ self, (char *)"--child", (char *)engine_name, NULL }, environment,
                 G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &output, NULL, &status, &error);
    g_assert_no_error(error);
    g_assert_true(g_spawn_check_wait_status(status, NULL));
    return output;
}

static const struct
{
    const char *engine, *variable;
} runtimes[] = { { "onnxruntime", "IFM_ONNXRUNTIME_LIBRARY" }, { "openvino", "IFM_OPENVINO_LIBRARY" } };

/* Without a runtime: unavailable, in one line that says where it looked and how to say otherwise. */
static void test_missing_runtime(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(runtimes); i++)
    {
        static const char *const paths[] = { "/nonexistent/lib.so", "/etc/passwd", "libm.so.6" };
        for (gsize k = 0; k < G_N_ELEMENTS(paths); k++)
        {
            g_autofree char *output = run_child(runtimes[i].engine, runtimes[i].variable, paths[k]);
            g_test_message("%s", g_strchomp(output));
            g_assert_true(g_str_has_prefix(output, "unavailable: "));
            g_autofree char *set_by = g_strdup_printf("(set by %s)", runtimes[i].variable);
            const char *path = strstr(output, k == 2 ? "libm" : paths[k]);
            g_assert_true(g_str_has_suffix(output, set_by));
            g_assert_nonnull(path);
            g_assert_null(strstr(path + 1, k == 2 ? "libm" : paths[k])); /* named once */
            g_assert_null(strchr(output, '\n'));
        }
    }
}

static guint count_files(const char *folder)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    guint n = 0;
    while (dir != NULL && g_dir_read_name(dir) != NULL)
        n++;
    return n;
}

/* Nothing appears under the user's home: no telemetry, no device identity, no cache. */
static void test_home_stays_empty(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(runtimes); i++)
    {
        Fixture fixture;
        g_autofree char *device = g_strconcat(runtimes[i].engine, ":CPU", NULL);
        if (!fixture_open(&fixture, device))
            continue;
        fixture_close(&fixture);
        g_autofree char *home = g_dir_make_tmp("inferometer-home-XXXXXX", NULL);
        g_autofree char *output = run_child(runtimes[i].engine, "HOME", home);
        g_assert_cmpstr(output, ==, "ok\n");
        g_assert_cmpuint(count_files(home), ==, 0);
        g_assert_cmpint(g_rmdir(home), ==, 0);
    }
}

/* --- options -------------------------------------------------------------------------------------------------------------
 */

static void expect_refusal(Fixture *fixture, IfmModel *model, const IfmCompileOptions *options, int code, const char *says)
{
    g_autoptr(GError) error = NULL;
    IfmCompiled *compiled = ifm_engine_compile(fixture->engine, model, fixture->spec, options, &error);
    g_assert_null(compiled);
    g_test_message("%s", error->message);
    assert_says(&error, code, says);
}

static void test_openvino_options(void)
{
    Fixture fixture;
    if (!fixture_open(&fixture, "openvino:CPU@0"))
        return;
    g_autoptr(IfmModel) model = zoo("small-cnn", "");
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.optimise = FALSE;
    expect_refusal(&fixture, model, &options, IFM_ERROR_UNSUPPORTED, "no way to leave out graph optimisation");
    options.optimise = TRUE;
    options.save_optimised = "/tmp/never-written.onnx";
    expect_refusal(&fixture, model, &options, IFM_ERROR_UNSUPPORTED, "save-optimised");
    options.save_optimised = NULL;
    options.vendor = (const char *[]){ "NO_SUCH_PROPERTY=1", NULL };
    expect_refusal(&fixture, model, &options, IFM_ERROR_UNSUPPORTED, "Unsupported property NO_SUCH_PROPERTY");
    options.vendor = (const char *[]){ "NUM_STREAMS", NULL };
    expect_refusal(&fixture, model, &options, IFM_ERROR_INVALID, "KEY=VALUE");
    options.vendor = (const char *[]){ "CPU_DENORMALS_OPTIMIZATION=YES", "EXECUTION_MODE_HINT=ACCURACY", NULL };
    fixture_compile(&fixture, ifm_model_ref(model), &options);
    g_auto(IfmTensor) x = make_input(model, NULL, 0, 1);
    run_and_compare(&fixture, &x);
    fixture_close(&fixture);
}

/* Where the processor has bf16, OpenVINO would use it unasked: asked for f32 it must not, asked for bf16 it must. */
static void test_openvino_bf16(void)
{
    Fixture fixture;
    if (!fixture_open(&fixture, "openvino:CPU@0"))
        return;
    g_autoptr(GPtrArray) devices = ifm_engine_devices(fixture.engine, NULL);
    gboolean has_bf16 = strstr(((IfmDeviceInfo *)devices->pdata[0])->description, "BF16") != NULL;
    g_autoptr(IfmModel) model = zoo("small-cnn", "size=64 channels=32");
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    g_autoptr(GError) error = NULL;
    options.dtype = IFM_DTYPE_BF16;
    if (!has_bf16)
    {
        expect_refusal(&fixture, model, &options, IFM_ERROR_UNSUPPORTED, "bf16 was asked for");
        fixture_close(&fixture);
        return;
    }
    fixture_compile(&fixture, ifm_model_ref(model), &options);
    g_auto(IfmTensor) x = make_input(model, NULL, 0, 1);
    g_autoptr(IfmEffectiveConfig) effective_config = ifm_compiled_effective_config(fixture.compiled, &x, &error);
    g_assert_no_error(error);
    g_assert_cmpint(effective_config->dtype, ==, IFM_DTYPE_BF16);
    ifm_effective_config_check(effective_config, fixture.spec, &options, &error);
    g_assert_no_error(error);
    options.dtype = IFM_DTYPE_F32;
    g_assert_false(ifm_effective_config_check(effective_config, fixture.spec, &options, &error));
    assert_says(&error, IFM_ERROR_FAILED, "f32 was asked for, bf16 is what ran");
    fixture_close(&fixture);
}

/* Settings of the runtime's own that overrule what was asked for: what really runs is noticed. */
static void check_overruled(const char *device, const char *setting, IfmCompileOptions *options, const char *says)
{
    Fixture fixture;
    g_autoptr(GError) error = NULL;
    if (!fixture_open(&fixture, device))
        return;
    options->vendor = (const char *[]){ setting, NULL };
    fixture_compile(&fixture, zoo("matmul", "m=256 k=512 n=512 layers=4"), options);
    g_auto(IfmTensor) x = make_input(fixture.model, NULL, 0, 1);
    g_autoptr(IfmEffectiveConfig) effective_config = ifm_compiled_effective_config(fixture.compiled, &x, &error);
    g_assert_no_error(error);
    g_assert_false(ifm_effective_config_check(effective_config, fixture.spec, options, &error));
    assert_says(&error, IFM_ERROR_FAILED, says);
    fixture_close(&fixture);
}

static gboolean has_bf16(void)
{
    Fixture fixture;
    if (!fixture_open(&fixture, "openvino:CPU"))
        return FALSE;
    g_autoptr(GPtrArray) devices = ifm_engine_devices(fixture.engine, NULL);
    gboolean has = strstr(((IfmDeviceInfo *)devices->pdata[0])->description, "BF16") != NULL;
    fixture_close(&fixture);
    return has;
}

static void test_other_precision(void)
{
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    if (has_bf16())
        check_overruled("openvino:CPU", "INFERENCE_PRECISION_HINT=bf16", &options, "f32 was asked for, bf16 is what ran");
    else
        g_test_skip("no OpenVINO with bf16 arithmetic here");
}

static void test_other_threads(void)
{
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.threads = 1;
    if (g_get_num_processors() > 1)
        check_overruled("openvino:CPU", "INFERENCE_NUM_THREADS=2", &options, "1 thread was asked for, 2 ran");
    else
        g_test_skip("a second thread takes a second processor");
}

static void test_onnxruntime_options(void)
{
    Fixture fixture;
    if (!fixture_open(&fixture, "onnxruntime:CPU@0"))
        return;
    g_autoptr(IfmModel) model = zoo("small-cnn", "");
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.dtype = IFM_DTYPE_BF16;
    expect_refusal(&fixture, model, &options, IFM_ERROR_UNSUPPORTED, "computes in the types a model is written in");
    options.dtype = IFM_DTYPE_F32;
    options.vendor = (const char *[]){ "session.intra_op_thread_affinities=nonsense", NULL };
    options.threads = 2;
    expect_refusal(&fixture, model, &options, IFM_ERROR_UNSUPPORTED, "onnxruntime:CPU@0: ");
    options.vendor = NULL;
    options.threads = 0;
    options.custom_op_libraries = (const char *[]){ "/nonexistent/custom.so", NULL };
    expect_refusal(&fixture, model, &options, IFM_ERROR_UNSUPPORTED, "/nonexistent/custom.so");
    options.custom_op_libraries = NULL;
    options.save_optimised = "/nonexistent/folder/model.onnx";
    expect_refusal(&fixture, model, &options, IFM_ERROR_UNSUPPORTED, "/nonexistent/folder/model.onnx");
    fixture_close(&fixture);
    g_assert_true(fixture_open(&fixture, "onnxruntime:CPU"));
    options.save_optimised = NULL;
    options.native_async = TRUE;
    options.threads = 1;
    expect_refusal(&fixture, model, &options, IFM_ERROR_UNSUPPORTED, "thread pool");
    fixture_close(&fixture);
}

/* The optimised model is a model, and computes the same; it is another one: the two convolutions took in their Relu. */
static void test_save_optimised(void)
{
    Fixture fixture;
    if (!fixture_open(&fixture, "onnxruntime:CPU@0"))
        return;
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("inferometer-test-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "optimised.onnx", NULL);
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.save_optimised = path;
    fixture_compile(&fixture, zoo("small-cnn", ""), &options);
    g_auto(IfmTensor) x = make_input(fixture.model, NULL, 0, 1);
    g_auto(IfmTensor) reference = reference_output(fixture.model, &x);
    gsize n_nodes = ifm_model_n_nodes(fixture.model);
    fixture_drop(&fixture);
    IfmModel *optimised = ifm_model_open(path, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(ifm_model_n_nodes(optimised), !=, n_nodes);
    for (gsize i = 0; i < ifm_model_n_nodes(optimised); i++)
        g_assert_cmpstr(ifm_model_node(optimised, i)->op_type, !=, "Relu");
    fixture_compile(&fixture, optimised, NULL);
    set_input(fixture.request, &x);
    run(fixture.request);
    g_auto(IfmTensor) y = copy_output(fixture.request);
    assert_equal(&y, &reference);
    fixture_close(&fixture);
    g_assert_cmpint(g_unlink(path), ==, 0);
    g_assert_cmpint(g_rmdir(folder), ==, 0);
}

static GByteArray *operator_set(const char *domain, guint8 version)
{
    GByteArray *set = g_byte_array_new();
    put_text(set, 1, domain);
    put_number(set, 2, version);
    return set;
}

/* A model of one node, inferometer.test::Thrice: the builder has no word for other domains. */
static IfmModel *thrice_model(void)
{
    GByteArray *node = g_byte_array_new(), *graph = g_byte_array_new(), *proto = g_byte_array_new();
    g_autoptr(GError) error = NULL;
    put_text(node, 1, "x");
    put_text(node, 2, "y");
    put_text(node, 4, "Thrice");
    put_text(node, 7, "inferometer.test");
    put_message(graph, 1, node);
    put_text(graph, 2, "thrice");
    put_message(graph, 11, bytes_port("x", 5));
    put_message(graph, 12, bytes_port("y", 5));
    put_number(proto, 1, 8); /* IR version */
    put_message(proto, 7, graph);
    put_message(proto, 8, operator_set("", 17));
    put_message(proto, 8, operator_set("inferometer.test", 1));
    g_autoptr(GBytes) bytes = g_byte_array_free_to_bytes(proto);
    IfmModel *model = ifm_model_parse(bytes, "thrice", &error);
    g_assert_no_error(error);
    return model;
}

static void test_custom_ops(void)
{
    Fixture fixture;
    const char *library = g_getenv("IFM_TEST_CUSTOM_OP");
    if (library == NULL || !g_file_test(library, G_FILE_TEST_EXISTS))
    {
        g_test_skip("IFM_TEST_CUSTOM_OP does not name the library built for this test");
        return;
    }
    if (!fixture_open(&fixture, "onnxruntime:CPU@0"))
        return;
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    g_autoptr(IfmModel) model = thrice_model();
    expect_refusal(&fixture, model, &options, IFM_ERROR_UNSUPPORTED, "Thrice");
    options.custom_op_libraries = (const char *[]){ library, NULL };
    fixture_compile(&fixture, g_steal_pointer(&model), &options);
    float x[] = { 1, -2, 0.5, 1000, 0 };
    IfmTensor input, output;
    g_assert_true(ifm_tensor_wrap(&input, IFM_DTYPE_F32, 1, (gint64[]){ 5 }, x, NULL));
    set_input(fixture.request, &input);
    run(fixture.request);
    g_assert_true(ifm_request_output(fixture.request, 0, &output, NULL));
    for (int i = 0; i < 5; i++)
        g_assert_cmpfloat(((const float *)output.data)[i], ==, 3 * x[i]);
    fixture_close(&fixture);
}

/* --- profiles ------------------------------------------------------------------------------------------------------------
 */

enum
{
    N_RUNS = 1500,
    N_LAYERS = 64
};

static void run_many(void *user)
{
    for (int i = 0; i < N_RUNS; i++)
        run(user);
}

/* More inferences than a session's profile holds: every one is there all the same, whole. */
static void test_long_profile(void)
{
    Fixture fixture;
    if (!fixture_open(&fixture, "onnxruntime:CPU@0"))
        return;
    g_autoptr(GError) error = NULL;
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.profiling = TRUE;
    fixture_compile(&fixture, zoo("matmul", "m=1 k=2 n=2 layers=64"), &options);
    g_auto(IfmTensor) x = make_input(fixture.model, NULL, 0, 1);
    set_input(fixture.request, &x);
    ifm_compiled_invoke(fixture.compiled, 0, run_many, fixture.request);
    g_autoptr(GPtrArray) profiles = ifm_compiled_profile(fixture.compiled, fixture.request, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(profiles->len, ==, N_RUNS);
    for (guint i = 0; i < profiles->len; i++)
        g_assert_cmpuint(((IfmEngineProfile *)profiles->pdata[i])->nodes->len, ==, N_LAYERS);
    run(fixture.request);
    fixture_close(&fixture);
    g_assert_cmpuint(count_files(g_get_tmp_dir()), ==, 0); /* this program's own: see main() */
}

/* --- what the verification is for
 * ------------------------------------------------------------------------------------------ */

static gboolean runs_avx512(IfmCompiled *compiled, const IfmTensor *input)
{
    g_autoptr(IfmEffectiveConfig) effective_config = ifm_compiled_effective_config(compiled, input, NULL);
    for (guint i = 0; effective_config != NULL && i < effective_config->nodes->len; i++)
        if (strstr(((IfmNodeConfig *)effective_config->nodes->pdata[i])->implementation, "avx512") != NULL)
            return TRUE;
    return FALSE;
}

/*
 * The onnx package's light squeezenet has constant weights, and 1000 equal logits of 4.9e9 before its Softmax, where one
 * unit in the last place is 512. OpenVINO's AVX-512 kernels work on blocks of 16 channels and sum up the last 8 of the
 * 1000 in another order: their logits come out 1024 lower, and Softmax makes of it 1/992 for the others and 0 for them. So
 * neither engine computes wrongly, but a comparison with the reference has to see it.
 */
static void test_squeezenet(void)
{
    Fixture fixture;
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(IFM_DEPS_DIR, "onnx", "light", "light_squeezenet.onnx", NULL);
    if (!g_file_test(path, G_FILE_TEST_EXISTS))
    {
        g_test_skip("the light models of the onnx package are not there");
        return;
    }
    if (!fixture_open(&fixture, "openvino:CPU@0"))
        return;
    IfmModel *model = ifm_model_open(path, &error);
    g_assert_no_error(error);
    fixture_compile(&fixture, model, NULL);
    g_auto(IfmTensor) x = make_input(model, NULL, 0, 1);
    g_auto(IfmTensor) reference = reference_output(model, &x);
    set_input(fixture.request, &x);
    run(fixture.request);
    g_auto(IfmTensor) output = copy_output(fixture.request);
    IfmTensorDifference worst;
    gboolean is_equal = ifm_tensor_compare(&output, &reference, RTOL, ATOL, &worst);
    g_test_message("%" G_GINT64_FORMAT " of 1000 differ; [0] %g, [999] %g; the reference %g", worst.n_different,
                   ifm_tensor_get_double(&output, 0), ifm_tensor_get_double(&output, 999),
                   ifm_tensor_get_double(&reference, 0));
    for (int i = 0; i < 1000; i++)
        g_assert_cmpfloat_with_epsilon(ifm_tensor_get_double(&reference, i), 1e-3, 1e-8);
    if (!g_str_has_prefix(ifm_engine_info(fixture.engine).version, "2026.4") || !runs_avx512(fixture.compiled, &x))
        g_test_skip("known of OpenVINO 2026.4 on processors with AVX-512 alone");
    else
    {
        g_assert_false(is_equal);
        g_assert_cmpint(worst.n_different, ==, 8);
        for (int i = 0; i < 1000; i++)
            g_assert_cmpfloat_with_epsilon(ifm_tensor_get_double(&output, i), i < 992 ? 1.0 / 992 : 0, 1e-8);
    }
    fixture_close(&fixture);
}

/* Pool threads would leave the device's cores: that is refused, not done. */
static void test_pool_cores(void)
{
    Fixture fixture;
    if (!fixture_open(&fixture, "openvino:CPU@1"))
        return;
    cpu_set_t mask;
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    g_autoptr(IfmModel) model = zoo("matmul", "");
    options.threads = 2;
    g_assert_cmpint(sched_getaffinity(0, sizeof mask, &mask), ==, 0);
    if (CPU_COUNT(&mask) > 1)
        expect_refusal(&fixture, model, &options, IFM_ERROR_UNSUPPORTED, "taskset");
    else
        g_test_skip("this process has one core alone");
    options.threads = 1; /* the executing thread works alone, and is on its core */
    fixture_compile(&fixture, g_steal_pointer(&model), &options);
    fixture_close(&fixture);
}

/* What the runtime made of the streams, not what was asked for, is attested. */
static void test_effective_config_streams(void)
{
    Fixture fixture;
    if (!fixture_open(&fixture, "openvino:CPU"))
        return;
    g_autoptr(GError) error = NULL;
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.threads = 2;
    options.vendor = (const char *[]){ "NUM_STREAMS=2", NULL };
    fixture_compile(&fixture, zoo("matmul", ""), &options);
    g_auto(IfmTensor) x = make_input(fixture.model, NULL, 0, 1);
    g_autoptr(IfmEffectiveConfig) effective_config = ifm_compiled_effective_config(fixture.compiled, &x, &error);
    g_assert_no_error(error);
    g_assert_cmpint(effective_config->n_streams, ==, 2);
    g_assert_false(ifm_effective_config_check(effective_config, fixture.spec, &options, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_FAILED);
    g_assert_nonnull(strstr(error->message, "1 stream was asked for, the runtime made 2"));
    fixture_close(&fixture);
}

/* A precision that the runtime does not tell is said, and so are threads that did not work. */
static void test_effective_config_warnings(void)
{
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse("openvino:CPU", NULL);
    IfmEffectiveConfig effective_config = { .dtype = IFM_DTYPE_UNDEFINED, .n_threads = 1, .n_streams = 1 };
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.threads = 3;
    g_auto(GStrv) two = ifm_effective_config_warnings(&effective_config, spec, &options);
    g_assert_cmpuint(g_strv_length(two), ==, 2);
    g_assert_nonnull(strstr(two[0], "does not report the precision"));
    g_assert_nonnull(strstr(two[1], "3 threads were asked for, 1 took processor time"));
    effective_config.dtype = IFM_DTYPE_F32;
    effective_config.n_threads = 3;
    g_auto(GStrv) none = ifm_effective_config_warnings(&effective_config, spec, &options);
    g_assert_cmpuint(g_strv_length(none), ==, 0);
}

int main(int argc, char **argv)
{
    if (argc == 3 && g_str_equal(argv[1], "--child"))
        return child(argv[2]);
    char temporary[] = "/tmp/inferometer-test-XXXXXX";
    if (mkdtemp(temporary) == NULL || !g_setenv("TMPDIR", temporary, TRUE))
        return 1;
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/engine/open", test_open);
    g_test_add_func("/engine/devices/onnxruntime", test_devices_onnxruntime);
    g_test_add_data_func("/engine/devices/provider", "with what it needs", test_provider);
    g_test_add_data_func("/engine/devices/provider-not-loading", NULL, test_provider);
    g_test_add_func("/engine/devices/untested", test_untested);
    g_test_add_func("/engine/devices/openvino", test_devices_openvino);
    g_test_add_func("/engine/no-such-device", test_no_such_device);
    g_test_add_func("/engine/missing-runtime", test_missing_runtime);
    g_test_add_func("/engine/home-stays-empty", test_home_stays_empty);
    g_test_add_func("/engine/openvino/options", test_openvino_options);
    g_test_add_func("/engine/openvino/bf16", test_openvino_bf16);
    g_test_add_func("/engine/openvino/other-precision", test_other_precision);
    g_test_add_func("/engine/openvino/other-threads", test_other_threads);
    g_test_add_func("/engine/onnxruntime/options", test_onnxruntime_options);
    g_test_add_func("/engine/onnxruntime/save-optimised", test_save_optimised);
    g_test_add_func("/engine/onnxruntime/custom-ops", test_custom_ops);
    g_test_add_func("/engine/onnxruntime/long-profile", test_long_profile);
    g_test_add_func("/engine/squeezenet", test_squeezenet);
    g_test_add_func("/engine/openvino/pool-cores", test_pool_cores);
    g_test_add_func("/engine/openvino/streams", test_effective_config_streams);
    g_test_add_func("/engine/attest-warnings", test_effective_config_warnings);
    int status = g_test_run();
    return g_rmdir(temporary) == 0 ? status : 1;
}
