#include <math.h>
#include <sched.h>

#include <inferometer/engine.h>
#include <staged/staged.h>

#include "build-folders.h"
#include "runner-fixture.h"

/* The runner on the real runtimes, where they are. Nothing here depends on how fast they are. */

static gboolean has_engine(Fixture *fixture, const char *engine)
{
    g_autoptr(GError) error = NULL;
    json_auto_t *answer = ifm_runner_devices(fixture->runner, engine, &error);
    if (answer == NULL)
        g_test_skip(error->message);
    return answer != NULL;
}

static void use_model(Fixture *fixture, const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = ifm_zoo_build(name, NULL, 1, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_model_save(model, fixture->model_path, &error));
}

static double number(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static void check_breakdown(const IfmMeasurement *measurement)
{
    const json_t *breakdown = measurement->breakdown;
    g_assert_cmpstr(text_in(breakdown, "status"), ==, "measured");
    double gaps = number(breakdown, "gaps_ns"), overlap = number(breakdown, "overlap_ns");
    double sum = number(breakdown, "nodes_ns") + number(breakdown, "copies_ns") + (isnan(gaps) ? 0 : gaps) -
                 (isnan(overlap) ? 0 : overlap) + number(breakdown, "residual_ns");
    g_assert_cmpfloat(number(breakdown, "wall_ns"), ==, sum); /* to the nanosecond: no part of it is a guess */
    g_assert_cmpfloat(number(breakdown, "nodes_ns"), >, 0);
    g_assert_cmpfloat(number(breakdown, "resolution_bound_ns"), >, 0);
    g_assert_cmpfloat(number(breakdown, "call_bound_ns"), >, 0);
    g_assert_cmpfloat(number(json_object_get(breakdown, "slowdown"), "ratio"), >, 0);
    g_assert_cmpuint(measurement->nodes->len, >, 0);
    g_assert_cmpuint(measurement->profiled_ns->len, ==, (guint)number(breakdown, "n_runs"));
}

/* A whole measurement: right by the reference, attested, with its books, and with what it took of memory. */
static void test_whole(gconstpointer data)
{
    const char *engine = data;
    g_autofree char *device = g_strdup_printf("%s:CPU@0", engine);
    Fixture fixture;
    fixture_init(&fixture, NULL);
    if (has_engine(&fixture, engine))
    {
        use_model(&fixture, "small-cnn");
        IfmModelCase model_case = case_on(&fixture, device);
        model_case.profile = TRUE;
        g_autoptr(IfmMeasurement) measurement = measure(&fixture, &model_case);
        g_assert_cmpstr(measurement->reason, ==, "");
        g_assert_cmpuint(measurement->samples_ns->len, ==, 20);
        g_assert_cmpstr(text_in(measurement->verification, "status"), ==, "passed");
        g_assert_nonnull(text_in(measurement->verification, "reference"));
        g_assert_cmpfloat(number(json_object_get(measurement->verification, "worst"), "share_of_tolerance"), <=, 1);
        g_assert_cmpstr(text_in(measurement->effective_config, "cores"), ==, "0");
        g_assert_cmpstr(text_in(measurement->effective_config, "dtype"), ==, "f32");
        g_assert_cmpstr(text_in(json_object_get(measurement->environment, "runtime"), "engine"), ==, engine);
        g_assert_cmpfloat(number(json_object_get(measurement->memory, "process"), "peak_runs_bytes"), >, 0);
        check_breakdown(measurement);
    }
    fixture_clear(&fixture);
}

/* Where many additions meet in one row, ONNX Runtime on several threads loses some: the reference must not. The sums by one
 * pinned thread are right, so that a reference that is not would fail them. */
static void test_reference_sums(void)
{
    const IfmStageSizes sizes = { .nodes = 50, .edges = 20000, .features = 4, .hidden = 256 };
    Fixture fixture;
    fixture_init(&fixture, NULL);
    for (guint32 seed = 1; seed <= 10 && has_engine(&fixture, "onnxruntime"); seed++)
    {
        g_autoptr(GError) error = NULL;
        const IfmStagedModel *staged = ifm_staged_find("graphsage", &error);
        g_autoptr(IfmModel) model = ifm_staged_build(staged, 3, 3, &sizes, IFM_SCATTER_ND, seed, &error);
        g_assert_no_error(error);
        g_assert_true(ifm_model_save(model, fixture.model_path, &error));
        IfmModelCase model_case = case_on(&fixture, "onnxruntime:CPU@0");
        model_case.seed = seed;
        model_case.protocol.runs = 2;
        g_autoptr(IfmMeasurement) measurement = measure(&fixture, &model_case);
        g_assert_cmpstr(measurement->reason, ==, "");
        g_assert_cmpstr(text_in(measurement->verification, "status"), ==, "passed");
    }
    fixture_clear(&fixture);
}

/* Whatever threads a runtime starts, and from wherever, they keep to the device's cores. */
static void test_many_threads(gconstpointer data)
{
    const char *device = data;
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device, NULL);
    Fixture fixture;
    fixture_init(&fixture, NULL);
    cpu_set_t mask;
    gboolean has_cores = sched_getaffinity(0, sizeof mask, &mask) == 0;
    for (gsize i = 0; i < spec->n_cores; i++)
        has_cores &= CPU_ISSET((gsize)spec->cores[i], &mask) != 0;
    if (!has_cores)
        g_test_skip("not all of those cores are here");
    else if (has_engine(&fixture, spec->engine))
    {
        use_model(&fixture, "small-cnn");
        IfmModelCase model_case = case_on(&fixture, device);
        model_case.threads = 4;
        model_case.profile = TRUE;
        g_autoptr(IfmMeasurement) measurement = measure(&fixture, &model_case);
        g_assert_cmpstr(measurement->reason, ==, "");
        g_assert_cmpstr(text_in(measurement->effective_config, "cores"), ==, strchr(device, '@') + 1);
        g_assert_cmpfloat(number(measurement->effective_config, "n_threads"), <=, 4);
        check_breakdown(measurement);
    }
    fixture_clear(&fixture);
}

static gboolean is_busy(const IfmMeasurement *measurement)
{
    gboolean busy = FALSE;
    gsize i;
    json_t *warning;
    json_array_foreach(json_object_get(measurement->environment, "warnings"), i, warning) busy |=
        strstr(json_string_value(warning), "other processes") != NULL;
    return busy;
}

/* A preempted thread is neither node nor gap, so one try of several must balance; where other processes were seen to use
 * the processors during each, that tells nothing. */
static void test_balance(gconstpointer data)
{
    static const char *const settings[] = { "m=512", "k=1024", "n=1024", NULL }; /* 1 GFLOP: some milliseconds */
    g_autofree char *device = g_strdup_printf("%s:CPU@0", (const char *)data);
    Fixture fixture;
    fixture_init(&fixture, NULL);
    if (has_engine(&fixture, data))
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmModel) model = ifm_zoo_build("matmul", settings, 1, &error);
        g_assert_no_error(error);
        g_assert_true(ifm_model_save(model, fixture.model_path, &error));
        gboolean balanced = FALSE, always_busy = TRUE;
        for (int attempt = 0; attempt < 5 && !balanced; attempt++)
        {
            IfmModelCase model_case = case_on(&fixture, device);
            model_case.profile = TRUE;
            g_autoptr(IfmMeasurement) measurement = measure(&fixture, &model_case);
            g_assert_cmpstr(measurement->reason, ==, "");
            check_breakdown(measurement);
            g_test_message("wall %.0f ns, residual %.0f ns, bound %.0f ns", number(measurement->breakdown, "wall_ns"),
                           number(measurement->breakdown, "residual_ns"),
                           number(measurement->breakdown, "residual_bound_ns"));
            g_assert_cmpfloat(number(measurement->breakdown, "wall_ns"), >=, 1e6);
            balanced = json_is_true(json_object_get(measurement->breakdown, "within_bound"));
            if (json_is_null(
                    json_object_get(measurement->breakdown, "gaps_ns"))) /* nor is a mean of runs free of what hit one */
                balanced |=
                    fabs(number(measurement->breakdown, "residual_ns")) <= number(measurement->breakdown, "wall_ns") / 50;
            always_busy &= is_busy(measurement);
        }
        if (!balanced && always_busy)
            g_test_skip("other processes used the processors all the time");
        else
            g_assert_true(balanced);
    }
    fixture_clear(&fixture);
}

/* ONNX Runtime and OpenVINO in one study, in turns: each has its own worker, and the reference one more. */
static void test_in_turns(void)
{
    static const char *const devices[] = { "onnxruntime:CPU@0", "openvino:CPU@0", "onnxruntime:CPU@0", "openvino:CPU@0" };
    Fixture fixture;
    fixture_init(&fixture, NULL);
    if (has_engine(&fixture, "onnxruntime") && has_engine(&fixture, "openvino"))
    {
        for (gsize i = 0; i < G_N_ELEMENTS(devices); i++)
        {
            IfmModelCase model_case = case_on(&fixture, devices[i]);
            g_autoptr(IfmMeasurement) measurement = measure(&fixture, &model_case);
            g_assert_cmpstr(measurement->reason, ==, "");
        }
        g_autoptr(GArray) children = children_of(getpid());
        g_assert_cmpuint(children->len, ==, 3);
    }
    fixture_clear(&fixture);
}

static gboolean has_avx512(void)
{
    g_autofree char *cpuinfo = NULL;
    return g_file_get_contents("/proc/cpuinfo", &cpuinfo, NULL, NULL) && strstr(cpuinfo, " avx512f ") != NULL;
}

/* Inputs of which the fault is known, in a file. */
static char *save_noise(const Fixture *fixture, const char *model_path)
{
    g_autoptr(IfmModel) model = ifm_model_open(model_path, NULL);
    const IfmPort *port = ifm_model_input(model, 0);
    char *path = g_build_filename(fixture->folder, "noise", NULL);
    g_auto(IfmTensor) noise = IFM_TENSOR_INIT;
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    g_assert_true(ifm_tensor_init(&noise, port->dtype, port->rank, port->dims, NULL) &&
                  ifm_tensor_fill_random(&noise, random, -1, 1, NULL) &&
                  ifm_tensor_file_save(path, (const char *const[]){ port->name }, &noise, 1, NULL));
    return path;
}

/* A model that a runtime is known to answer wrongly, by its kernels for AVX-512, must come out failed, with the place. */
static void test_wrong_runtime(void)
{
    g_autofree char *path = g_build_filename(IFM_DEPS_DIR, "onnx", "light", "light_squeezenet.onnx", NULL);
    Fixture fixture;
    fixture_init(&fixture, NULL);
    if (!g_file_test(path, G_FILE_TEST_EXISTS))
        g_test_skip("the light models are unavailable");
    else if (has_engine(&fixture, "openvino") && has_engine(&fixture, "onnxruntime"))
    {
        IfmModelCase model_case = case_on(&fixture, "openvino:CPU@0");
        g_autofree char *noise = save_noise(&fixture, path);
        model_case.model_path = path;
        model_case.inputs_path = noise;
        model_case.tolerance_runs = -1; /* its logits are huge and equal: a rounding moves them all */
        g_autoptr(IfmMeasurement) wrong = measure(&fixture, &model_case);
        const char *version = text_in(json_object_get(wrong->environment, "runtime"), "version");
        if (!g_str_has_prefix(version, "2026.4") || !has_avx512())
            g_test_skip("known of OpenVINO 2026.4 alone, with AVX-512");
        else
        {
            g_assert_cmpint(wrong->outcome, ==, IFM_OUTCOME_FAILED);
            g_assert_cmpstr(wrong->error_code, ==, "failed");
            g_assert_nonnull(strstr(wrong->reason, "output softmaxout_1 is different: "));
            g_assert_cmpstr(text_in(wrong->verification, "status"), ==, "failed");
        }
        model_case.device = "onnxruntime:CPU@0";
        model_case.protocol.runs = 5;
        g_autoptr(IfmMeasurement) right = measure(&fixture, &model_case);
        g_assert_cmpstr(right->reason, ==, "");
        g_unlink(noise);
    }
    fixture_clear(&fixture);
}

/* A device or a dtype that a runtime does not have is told in its own words, and is no latency. */
static void test_absent(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    if (has_engine(&fixture, "openvino"))
    {
        IfmModelCase model_case = case_on(&fixture, "openvino:XPU");
        g_autoptr(IfmMeasurement) measurement = measure(&fixture, &model_case);
        g_test_message("%s", measurement->reason);
        g_assert_cmpint(measurement->outcome, ==, IFM_OUTCOME_SKIPPED);
        g_assert_cmpstr(measurement->error_code, ==, "unavailable");
    }
    fixture_clear(&fixture);
}

static void test_missing_runtime(void)
{
    Fixture fixture;
    g_setenv("IFM_OPENVINO_LIBRARY", "/nowhere/libopenvino_c.so", TRUE);
    fixture_init(&fixture, NULL);
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_runner_devices(fixture.runner, "openvino", &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    g_assert_nonnull(strstr(error->message, "/nowhere/libopenvino_c.so"));
    g_unsetenv("IFM_OPENVINO_LIBRARY");
    fixture_clear(&fixture);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_data_func("/runner-engines/whole/onnxruntime", "onnxruntime", test_whole);
    g_test_add_data_func("/runner-engines/whole/openvino", "openvino", test_whole);
    g_test_add_data_func("/runner-engines/balance/onnxruntime", "onnxruntime", test_balance);
    g_test_add_data_func("/runner-engines/balance/openvino", "openvino", test_balance);
    static const char *const many[] = { "onnxruntime:CPU@0", "onnxruntime:CPU@0-1", "openvino:CPU@1", "openvino:CPU@0-1" };
    for (gsize i = 0; i < G_N_ELEMENTS(many); i++)
    {
        g_autofree char *path = g_strdup_printf("/runner-engines/many-threads/%s", many[i]);
        g_test_add_data_func(path, many[i], test_many_threads);
    }
    g_test_add_func("/runner-engines/reference-sums", test_reference_sums);
    g_test_add_func("/runner-engines/in-turns", test_in_turns);
    g_test_add_func("/runner-engines/wrong-runtime", test_wrong_runtime);
    g_test_add_func("/runner-engines/absent", test_absent);
    g_test_add_func("/runner-engines/missing-runtime", test_missing_runtime);
    return g_test_run();
}
