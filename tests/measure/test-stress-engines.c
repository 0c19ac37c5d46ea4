#include <math.h>

#include <base/fields.h>

#include "build-folders.h"
#include "runner-fixture.h"

/* Cases under a stressor, on a real runtime: what they record, and what makes another case of them. */

#define DEVICE "onnxruntime:CPU@0"

static IfmModelCase stressed_on(const Fixture *fixture, const char *kind, double level)
{
    IfmModelCase model_case = case_on(fixture, DEVICE);
    model_case.stress_kind = kind;
    model_case.stress_level = level;
    model_case.stress_cores = "0";
    model_case.observe_ns = 20000000;
    model_case.as_is = TRUE;
    return model_case;
}

static char *key_of(Fixture *fixture, const IfmModelCase *model_case)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCase) sealed = ifm_runner_case(fixture->runner, &ifm_kind_model, model_case, &error);
    g_assert_no_error(error);
    return g_strdup(sealed->key);
}

static void test_record(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    if (has_onnxruntime(&fixture))
        for (int i = 0; i < 2; i++) /* the second finds the stressor of the first */
        {
            const IfmModelCase model_case = stressed_on(&fixture, "gemm", 0.5);
            g_autoptr(IfmMeasurement) measurement = measure(&fixture, &model_case);
            assert_ok(measurement);
            const json_t *stress = json_object_get(measurement->environment, "stress");
            g_assert_cmpstr(ifm_member_text(stress, "kind"), ==, "gemm");
            g_assert_cmpfloat(ifm_member_number(stress, "asked"), ==, 0.5);
            g_assert_cmpfloat(ifm_member_number(stress, "achieved"), >=, 0); /* 0: it had no turn in so few runs */
            g_assert_cmpfloat(ifm_member_number(stress, "achieved_before"), >, 0);
            g_assert_cmpfloat(ifm_member_number(measurement->environment, "metrics.before.values.read_bytes_per_s"), >, 0);
            g_assert_nonnull(ifm_member(measurement->environment, "metrics.during.values"));
        }
    fixture_clear(&fixture);
}

/* On a GPU, here the stand-in of the tests. What its call fails with is the case's reason. */
static void test_gpu(void)
{
    Fixture fixture;
    g_setenv("IFM_CUDNN_LIBRARY", IFM_BUILD_DIR "/tests/convolution/libcudnn.so.9", TRUE);
    for (int i = 0; i < 2; i++)
    {
        fixture_init(&fixture, NULL);
        IfmModelCase model_case = stressed_on(&fixture, "gemm", 0.5);
        model_case.stress_cores = NULL;
        model_case.stress_device = "CUDA:0";
        g_setenv("IFM_FAKE_FAILING", i == 0 ? "0" : "1", TRUE);
        if (has_onnxruntime(&fixture))
        {
            g_autoptr(IfmMeasurement) measurement = measure(&fixture, &model_case);
            if (i == 0)
            {
                assert_ok(measurement);
                g_assert_cmpstr(ifm_member_text(measurement->environment, "stress.device"), ==, "CUDA:0");
                g_assert_cmpfloat(ifm_member_number(measurement->environment, "stress.achieved_before"), >, 0);
            }
            else
                g_assert_nonnull(strstr(measurement->reason, "cuBLAS: cublasSgemm: CUBLAS_STATUS_EXECUTION_FAILED (13)"));
        }
        fixture_clear(&fixture);
    }
    g_unsetenv("IFM_FAKE_FAILING");
    g_unsetenv("IFM_CUDNN_LIBRARY");
}

/* Beside a process that never leaves its core alone it is marked; while there is patience it is measured again. */
static void test_disturbed(void)
{
    static const struct
    {
        const char *wait_ms;
        gsize attempts;
    } cases[] = { { "0", 1 }, { "2000", 2 } };
    Fixture fixture;
    fixture_init(&fixture, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(cases) && has_onnxruntime(&fixture); i++)
    {
        g_setenv("IFM_IDLE_WAIT", cases[i].wait_ms, TRUE);
        Fixture own;
        fixture_init(&own, NULL);
        g_autoptr(IfmStressor) other =
            ifm_stressor_start(&(IfmStressOptions){ .kind = IFM_STRESS_GEMM, .intensity = 1, .cores = "0" }, NULL);
        g_assert_nonnull(other);
        IfmModelCase model_case = case_on(&own, DEVICE);
        model_case.verify = FALSE;
        model_case.protocol.runs = 40000;
        g_autoptr(IfmMeasurement) measurement = measure(&own, &model_case);
        assert_ok(measurement);
        g_assert_true(json_is_true(json_object_get(measurement->environment, "disturbed")));
        g_assert_nonnull(ifm_member_text(measurement->environment, "disturbed_why"));
        g_assert_true(ifm_measurement_is_disturbed(measurement));
        const double attempts = ifm_member_number(measurement->environment, "attempts");
        g_assert_cmpfloat(isnan(attempts) ? 1 : attempts, >=, cases[i].attempts);
        const json_t *runs = json_object_get(measurement->environment, "runs");
        g_assert_cmpstr(ifm_member_text(runs, "cpu"), ==, "thread");
        g_assert_cmpfloat(ifm_member_number(runs, "n_interrupted"), >, 0);
        ifm_stressor_free(g_steal_pointer(&other));
        fixture_clear(&own);
    }
    g_setenv("IFM_IDLE_WAIT", "0", TRUE);
    fixture_clear(&fixture);
}

static void test_key(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    if (has_onnxruntime(&fixture))
    {
        IfmModelCase cases[] = { case_on(&fixture, DEVICE), stressed_on(&fixture, "gemm", 0.5),
                                 stressed_on(&fixture, "copy", 0.5), stressed_on(&fixture, "gemm", 0.6),
                                 stressed_on(&fixture, "gemm", 0.5) };
        cases[4].stress_cores = NULL;
        cases[4].stress_device = "CUDA:0";
        g_autoptr(GHashTable) keys = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
            g_assert_true(g_hash_table_add(keys, key_of(&fixture, &cases[i])));
    }
    fixture_clear(&fixture);
}

static void assert_refused(Fixture *fixture, const IfmModelCase *model_case, const char *part)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCase) sealed = ifm_runner_case(fixture->runner, &ifm_kind_model, model_case, &error);
    g_assert_null(sealed);
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, part));
}

static void test_refused(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmModelCase model_case = stressed_on(&fixture, "gemm", 0.5);
    model_case.device = "simulated:faulty/well";
    assert_refused(&fixture, &model_case, "is simulated");
    if (has_onnxruntime(&fixture))
    {
        model_case = stressed_on(&fixture, "gem", 0.5);
        assert_refused(&fixture, &model_case, "did you mean \"gemm\"?");
        model_case = stressed_on(&fixture, "gemm", 1.5);
        assert_refused(&fixture, &model_case, "a level of 1.5");
    }
    fixture_clear(&fixture);
}

/* A kernel as a record: a ring of copies, made where it is measured. Two seeds or numbers of copies are two cases. */
static void test_kernel(void)
{
    static const char text[] =
        "{\"name\": \"MatMul\", \"node\": \"n\", \"op_type\": \"MatMul\", \"domain\": \"\", \"digest\": \"ab12cd34ef\","
        "\"attributes\": {}, \"inputs\": [{\"name\": \"x\", \"dtype\": \"f32\", \"constant\": false, \"dims\": [4, 8], "
        "\"values\": [], \"number\": null}, {\"name\": \"w\", \"dtype\": \"f32\", \"constant\": true, \"dims\": [8, 16], "
        "\"values\": [], \"number\": null}], \"outputs\": [{\"name\": \"y\", \"dtype\": \"f32\", \"constant\": false, "
        "\"dims\": [4, 16], \"values\": [], \"number\": null}], \"flop\": 1024, \"opset\": 17, \"input_bytes\": 128, "
        "\"weight_bytes\": 512, \"output_bytes\": 256, \"coverage\": \"exact\", \"covers\": [], \"depends\": []}";
    Fixture fixture;
    g_autoptr(GError) error = NULL;
    json_auto_t *kernel = ifm_json_parse(text, strlen(text), "kernel", &error);
    g_assert_no_error(error);
    fixture_init(&fixture, NULL);
    IfmModelCase model_case = case_on(&fixture, DEVICE);
    model_case.model_path = NULL;
    model_case.model_name = NULL;
    model_case.bindings = NULL;
    model_case.n_bindings = 0;
    model_case.kernel = kernel;
    model_case.n_copies = 3;
    if (has_onnxruntime(&fixture))
    {
        g_autoptr(IfmMeasurement) measurement = measure(&fixture, &model_case);
        assert_ok(measurement);
        g_autoptr(IfmCase) sealed = ifm_runner_case(fixture.runner, &ifm_kind_model, &model_case, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(sealed->subject_kind, ==, "kernel");
        g_assert_cmpstr(sealed->subject_name, ==, "MatMul_4x8-ab12cd34");
        g_assert_cmpstr(sealed->subject_digest, ==, "ab12cd34ef");
        model_case.n_copies = 4;
        g_autofree char *other = key_of(&fixture, &model_case);
        g_assert_cmpstr(other, !=, sealed->key);
        json_object_set_new(kernel, "digest", json_string("not hex"));
        assert_refused(&fixture, &model_case, "kernel: needs a name, a digest");
    }
    fixture_clear(&fixture);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/stressed/record", test_record);
    g_test_add_func("/stressed/gpu", test_gpu);
    g_test_add_func("/stressed/disturbed", test_disturbed);
    g_test_add_func("/stressed/key", test_key);
    g_test_add_func("/stressed/refused", test_refused);
    g_test_add_func("/stressed/kernel", test_kernel);
    return g_test_run();
}
