#include "runner-fixture.h"

/* Cases with a load beside them. */

static IfmLoadDevice load_on(const Fixture *fixture, const char *device)
{
    return (IfmLoadDevice){ .alias = "LOAD", .device = device, .model_path = fixture->model_path };
}

/* @load: [n] */
static IfmModelCase case_beside(const Fixture *fixture, const char *device, const IfmLoadDevice *load, gsize n)
{
    IfmModelCase model_case = case_on(fixture, device);
    model_case.load = load;
    model_case.n_load = n;
    return model_case;
}

static char *key_of(Fixture *fixture, const IfmModelCase *model_case)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCase) sealed = ifm_runner_case(fixture->runner, &ifm_kind_model, model_case, &error);
    g_assert_no_error(error);
    return g_strdup(sealed->key);
}

static const json_t *background(const IfmMeasurement *measurement, gsize index)
{
    return json_array_get(json_object_get(measurement->environment, "background_load"), index);
}

static gint64 count_in(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

/* --- what defines a case ---------------------------------------------------------------------------------------------- */

static void test_key(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmModelCase alone = case_on(&fixture, "simulated:contended/main"), one = alone, other = alone, both = alone;
    IfmLoadDevice beside_it = load_on(&fixture, "simulated:contended/beside");
    IfmLoadDevice third = load_on(&fixture, "simulated:contended/third");
    IfmLoadDevice forth[] = { beside_it, third }, back[] = { third, beside_it };
    one.load = &beside_it;
    other.load = &third;
    one.n_load = other.n_load = 1;
    both.load = forth;
    both.n_load = 2;
    g_auto(GStrv) keys = g_new0(char *, 5);
    const IfmModelCase *const cases[] = { &alone, &one, &other, &both };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        keys[i] = key_of(&fixture, cases[i]);
    for (gsize i = 0; i < 4; i++)
        for (gsize k = 0; k < i; k++)
            g_assert_cmpstr(keys[i], !=, keys[k]);
    both.load = back; /* a set has no order */
    g_autofree char *same = key_of(&fixture, &both);
    g_assert_cmpstr(same, ==, keys[3]);
    beside_it.alias = "GPU"; /* what people call it */
    g_autofree char *named = key_of(&fixture, &one);
    g_assert_cmpstr(named, ==, keys[1]);
    g_autofree char *path = g_build_filename(fixture.folder, "other.onnx", NULL);
    g_autoptr(IfmModel) model = ifm_zoo_build("matmul", NULL, 2, NULL);
    g_assert_true(ifm_model_save(model, path, NULL));
    beside_it.model_path = path; /* another load is another case */
    g_autofree char *another = key_of(&fixture, &one);
    g_assert_cmpstr(another, !=, keys[1]);
    static const struct
    {
        const char *device;
        gboolean keeps, holds; /* tensors, and several copies of a kernel */
    } places[] = { { "simulated:contended/main", FALSE, TRUE },
                   { "onnxruntime:CPU", FALSE, TRUE },
                   { "openvino:CPU", FALSE, TRUE },
                   { "openvino:GPU", FALSE, FALSE },
                   { "onnxruntime:CUDA:0", TRUE, TRUE },
                   { "onnxruntime:TensorRT", TRUE, FALSE } };
    for (gsize i = 0; i < G_N_ELEMENTS(places); i++) /* what a device does not heed is no part of a case */
    {
        g_autoptr(GError) error = NULL;
        IfmModelCase plain = case_on(&fixture, places[i].device), kept = plain, copied = plain;
        kept.keep_tensors = TRUE;
        copied.n_copies = 2;
        g_autofree char *plain_key = key_of(&fixture, &plain), *kept_key = key_of(&fixture, &kept);
        g_assert_true(g_str_equal(kept_key, plain_key) == !places[i].keeps);
        g_autoptr(IfmCase) sealed = ifm_runner_case(fixture.runner, &ifm_kind_model, &copied, &error);
        g_assert_true((sealed != NULL) == places[i].holds);
        g_assert_true(places[i].holds || g_error_matches(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED));
    }
    g_unlink(path);
    for (gsize i = 1; i < 4; i++)
        g_free(g_steal_pointer(&keys[i]));
    fixture_clear(&fixture);
}

/* The record holds what of the load defines it, sorted. */
static void test_record(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    g_autoptr(GError) error = NULL;
    IfmModelCase model_case = case_on(&fixture, "simulated:contended/main");
    IfmLoadDevice loads[] = { load_on(&fixture, "simulated:contended/third"),
                              load_on(&fixture, "simulated:contended/beside") };
    model_case.load = loads;
    model_case.n_load = 2;
    g_autoptr(IfmCase) sealed = ifm_runner_case(fixture.runner, &ifm_kind_model, &model_case, &error);
    g_assert_no_error(error);
    const json_t *devices = json_object_get(sealed->load, "devices");
    g_assert_cmpuint(json_array_size(devices), ==, 2);
    g_assert_cmpstr(text_in(json_array_get(devices, 0), "device"), ==, "simulated:contended/beside");
    g_assert_cmpstr(text_in(json_array_get(devices, 1), "device"), ==, "simulated:contended/third");
    g_assert_cmpstr(text_in(json_array_get(devices, 1), "model"), ==, sealed->subject_digest);
    g_assert_cmpstr(text_in(json_array_get(devices, 1), "engine_version"), ==, IFM_VERSION);
    assert_key_holds(sealed);
    fixture_clear(&fixture);
}

static void test_errors(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmLoadDevice bad[] = { load_on(&fixture, "simulated:"),
                            load_on(&fixture, "nonsense:CPU"),
                            { .device = "simulated:contended/third", .model_path = "/nowhere/model.onnx" } };
    const int codes[] = { IFM_ERROR_INVALID, IFM_ERROR_INVALID, IFM_ERROR_UNAVAILABLE };
    for (gsize i = 0; i < G_N_ELEMENTS(bad); i++)
    {
        g_autoptr(GError) error = NULL;
        IfmModelCase model_case = case_beside(&fixture, "simulated:contended/main", &bad[i], 1);
        g_assert_null(ifm_runner_case(fixture.runner, &ifm_kind_model, &model_case, &error));
        g_assert_error(error, IFM_ERROR, codes[i]);
        g_assert_nonnull(strstr(error->message, "load "));
    }
    fixture_clear(&fixture);
}

/* --- in virtual time -------------------------------------------------------------------------------------------------- */

/* The load is busy before the first run and after the last: every run is slowed, and by how much is known. */
static void test_slow_down(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmModelCase model_case = case_on(&fixture, "simulated:contended/main");
    IfmLoadDevice loads[] = { load_on(&fixture, "simulated:contended/beside"),
                              load_on(&fixture, "simulated:contended/third") };
    g_autoptr(IfmMeasurement) alone = measure(&fixture, &model_case);
    assert_ok(alone);
    assert_all(alone->samples_ns, 3 * MS, 20);
    g_assert_null(json_object_get(alone->environment, "background_load"));
    model_case.load = loads;
    model_case.n_load = 1;
    g_autoptr(IfmMeasurement) one = measure(&fixture, &model_case);
    assert_ok(one);
    assert_all(one->warmup_ns, 4500 * MS / 1000, 2);
    assert_all(one->samples_ns, 4500 * MS / 1000, 20);
    /* 22 runs of 4.5 ms, at 2 ms an inference but for the first, which had the machine to itself; the last one ends alone
     */
    g_assert_cmpint(count_in(background(one, 0), "n_inferences"), ==, 1 + (22 * 4500 + 1999) / 2000);
    g_assert_cmpint(count_in(background(one, 0), "n_failed"), ==, 0);
    g_assert_cmpstr(text_in(background(one, 0), "alias"), ==, "LOAD");
    g_assert_cmpstr(text_in(background(one, 0), "device"), ==, "simulated:contended/beside");
    g_assert_cmpint(count_in(background(one, 0), "span_ns"), >=, 1 * MS + 99 * MS);
    model_case.n_load = 2;
    g_autoptr(IfmMeasurement) both = measure(&fixture, &model_case);
    assert_ok(both);
    assert_all(both->samples_ns, 7500 * MS / 1000, 20);
    g_assert_cmpuint(json_array_size(json_object_get(both->environment, "background_load")), ==, 2);
    model_case.load = &loads[1];
    model_case.n_load = 1;
    g_autoptr(IfmMeasurement) other = measure(&fixture, &model_case);
    assert_all(other->samples_ns, 3750 * MS / 1000, 20);
    fixture_clear(&fixture);
}

/* The same worker serves the set, whoever of it is measured. */
static void test_one_worker_a_set(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmLoadDevice load = load_on(&fixture, "simulated:contended/beside");
    IfmModelCase model_case = case_beside(&fixture, "simulated:contended/main", &load, 1);
    g_autoptr(IfmMeasurement) first = measure(&fixture, &model_case);
    assert_ok(first);
    model_case.device = "simulated:contended/beside";
    g_autofree char *key = key_of(&fixture, &model_case); /* starts whatever is asked for the record */
    g_autoptr(GArray) before = children_of(getpid());
    load.device = "simulated:contended/main";
    g_autoptr(IfmMeasurement) second = measure(&fixture, &model_case);
    assert_ok(second);
    assert_all(second->samples_ns, 2 * MS, 20);
    g_autoptr(GArray) after = children_of(getpid());
    g_assert_cmpuint(before->len, ==, after->len);
    fixture_clear(&fixture);
}

/* Also a load of several streams, and one on the very device that is measured. */
static void test_streams(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmLoadDevice load = load_on(&fixture, "simulated:contended/beside#2");
    IfmModelCase model_case = case_beside(&fixture, "simulated:contended/main", &load, 1);
    g_autoptr(IfmMeasurement) measurement = measure(&fixture, &model_case);
    assert_ok(measurement);
    assert_all(measurement->samples_ns, 4500 * MS / 1000, 20);
    load.device = "simulated:contended/main";
    g_autoptr(IfmMeasurement) itself = measure(&fixture, &model_case);
    assert_ok(itself);
    assert_all(itself->samples_ns, 3 * MS, 20); /* streams of one unit do not slow each other there */
    fixture_clear(&fixture);
}

static void test_profile(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmLoadDevice load = load_on(&fixture, "simulated:contended/beside");
    IfmModelCase model_case = case_beside(&fixture, "simulated:contended/main", &load, 1);
    model_case.profile = TRUE;
    g_autoptr(IfmMeasurement) measurement = measure(&fixture, &model_case);
    assert_ok(measurement);
    g_assert_cmpuint(measurement->profiled_ns->len, >, 0); /* the load is still there */
    for (guint i = 0; i < measurement->profiled_ns->len; i++)
        g_assert_cmpint(g_array_index(measurement->profiled_ns, gint64, i), ==, 4500 * MS / 1000);
    fixture_clear(&fixture);
}

/* --- a load that fails ------------------------------------------------------------------------------------------------ */

/* faulty/X does what X says in its fifteenth run: whatever was measured beside it is none. */
static void test_failing_loads(void)
{
    static const struct
    {
        const char *device, *code, *says;
    } cases[] = {
        { "simulated:faulty/fail", "failed", "load LOAD: " },
        { "simulated:faulty/refuse", "unsupported", "operator MatMul is not for me" },
        { "simulated:faulty/lose-silent", "lost", "load LOAD: " },
        { "simulated:faulty/nan", "failed", "load LOAD: " },
        { "simulated:faulty/memory", "memory", "load LOAD: " },
        { "simulated:faulty/crash", "failed", "SIGSEGV" },
        { "simulated:faulty/nowhere", "unavailable", "load LOAD: " },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        Fixture fixture;
        fixture_init(&fixture, NULL);
        IfmLoadDevice load = load_on(&fixture, cases[i].device);
        IfmModelCase model_case = case_beside(&fixture, "simulated:faulty/slow", &load, 1);
        g_autoptr(IfmMeasurement) measurement = measure(&fixture, &model_case);
        g_test_message("%s: %s: %s", cases[i].device, measurement->error_code, measurement->reason);
        gboolean absent = g_str_equal(cases[i].code, "unavailable");
        g_assert_cmpint(measurement->outcome, ==, absent ? IFM_OUTCOME_SKIPPED : IFM_OUTCOME_FAILED);
        g_assert_cmpstr(measurement->error_code, ==, cases[i].code);
        g_assert_nonnull(strstr(measurement->reason, cases[i].says));
        g_assert_cmpuint(measurement->samples_ns->len, ==, 0);
        model_case.n_load = 0; /* the measured device is as well as before */
        g_autoptr(IfmMeasurement) alone = measure(&fixture, &model_case);
        assert_ok(alone);
        fixture_clear(&fixture);
    }
}

static void test_hanging_load(void)
{
    Fixture fixture;
    IfmLimits limits = { .hang_ns = 2000 * MS };
    fixture_init(&fixture, &limits);
    IfmLoadDevice load = load_on(&fixture, "simulated:faulty/hang");
    IfmModelCase model_case = case_beside(&fixture, "simulated:faulty/slow", &load, 1);
    g_autoptr(IfmMeasurement) measurement = measure(&fixture, &model_case);
    g_assert_cmpint(measurement->outcome, ==, IFM_OUTCOME_FAILED);
    g_assert_cmpstr(measurement->error_code, ==, "timeout");
    fixture_clear(&fixture);
}

/* Which of the two was lost is known, and the other goes on; the lost one is not tried again. */
static void test_lost_load(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmLoadDevice load = load_on(&fixture, "simulated:faulty/lose-silent");
    IfmModelCase model_case = case_beside(&fixture, "simulated:faulty/slow", &load, 1);
    g_autoptr(IfmMeasurement) lost = measure(&fixture, &model_case);
    const json_t *devices = json_object_get(lost->environment, "lost_devices");
    g_assert_cmpuint(json_array_size(devices), ==, 1);
    g_assert_cmpstr(json_string_value(json_array_get(devices, 0)), ==, "simulated:faulty/lose-silent");
    fixture_clear(&fixture);
}

/* The measured device is lost while a load works: that is what the record says. */
static void test_lost_beside_load(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmLoadDevice load = load_on(&fixture, "simulated:faulty/well");
    IfmModelCase model_case = case_beside(&fixture, "simulated:faulty/lose-silent", &load, 1);
    g_autoptr(IfmMeasurement) lost = measure(&fixture, &model_case);
    g_assert_cmpstr(lost->error_code, ==, "lost");
    g_assert_null(strstr(lost->reason, "load "));
    const json_t *devices = json_object_get(lost->environment, "lost_devices");
    g_assert_cmpstr(json_string_value(json_array_get(devices, 0)), ==, "simulated:faulty/lose-silent");
    fixture_clear(&fixture);
}

/* A model that is replaced between the case and its measurement loads nothing under the old one's name. */
static void test_changed_load(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(fixture.folder, "load.onnx", NULL);
    g_autoptr(IfmModel) model = ifm_zoo_build("matmul", NULL, 3, NULL);
    g_assert_true(ifm_model_save(model, path, NULL));
    IfmModelCase model_case = case_on(&fixture, "simulated:contended/main");
    IfmLoadDevice load = load_on(&fixture, "simulated:contended/beside");
    load.model_path = path;
    model_case.load = &load;
    model_case.n_load = 1;
    g_autoptr(IfmCase) sealed = ifm_runner_case(fixture.runner, &ifm_kind_model, &model_case, &error);
    g_assert_no_error(error);
    g_autoptr(IfmModel) other = ifm_zoo_build("matmul", NULL, 4, NULL);
    g_assert_true(ifm_model_save(other, path, NULL));
    g_autoptr(IfmMeasurement) measurement =
        ifm_runner_measure(fixture.runner, &ifm_kind_model, &model_case, sealed, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(measurement->error_code, ==, "invalid");
    g_assert_nonnull(strstr(measurement->reason, "changed since"));
    g_unlink(path);
    fixture_clear(&fixture);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_autofree char *devices = g_build_filename(g_getenv("IFM_TEST_DATA"), "measure", "devices", NULL);
    g_setenv("IFM_DEVICES_DIR", devices, TRUE);
    g_test_add_func("/load/key", test_key);
    g_test_add_func("/load/record", test_record);
    g_test_add_func("/load/errors", test_errors);
    g_test_add_func("/load/slow-down", test_slow_down);
    g_test_add_func("/load/one-worker-a-set", test_one_worker_a_set);
    g_test_add_func("/load/streams", test_streams);
    g_test_add_func("/load/profile", test_profile);
    g_test_add_func("/load/failing", test_failing_loads);
    g_test_add_func("/load/hanging", test_hanging_load);
    g_test_add_func("/load/lost", test_lost_load);
    g_test_add_func("/load/lost-beside", test_lost_beside_load);
    g_test_add_func("/load/changed", test_changed_load);
    return g_test_run();
}
