
#include "runner-fixture.h"

static void assert_not_found(Fixture *fixture, const char *device, int code, const char *part)
{
    g_autoptr(GError) error = NULL;
    char *description = NULL;
    g_assert_false(ifm_runner_find_device(fixture->runner, device, &description, &error));
    g_assert_error(error, IFM_ERROR, code);
    g_assert_null(description);
    if (strstr(error->message, part) == NULL)
        g_error("\"%s\" is not in \"%s\"", part, error->message);
    g_assert_null(strchr(error->message, '\n'));
    g_autoptr(GArray) children = children_of(getpid());
    g_assert_cmpuint(children->len, ==, 0); /* no worker is kept for what is not there */
}

/* Whatever cores and streams it is asked for with. */
static void test_found(void)
{
    static const char *const devices[] = { "simulated:faulty/well", "simulated:faulty/well:0#2",
                                           "simulated:faulty/well@0" };
    Fixture fixture;
    fixture_init(&fixture, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(devices); i++)
    {
        g_autoptr(GError) error = NULL;
        g_autofree char *description = NULL;
        g_assert_true(ifm_runner_find_device(fixture.runner, devices[i], &description, &error));
        g_assert_no_error(error);
        g_assert_cmpstr(description, ==, "never fails");
    }
    g_assert_true(ifm_runner_find_device(fixture.runner, devices[0], NULL, NULL));
    fixture_clear(&fixture);
}

static void test_absent(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    assert_not_found(&fixture, "simulated:faulty/nothing@0", IFM_ERROR_UNAVAILABLE, "simulated:faulty/well");
    assert_not_found(&fixture, "simulated:nowhere/CPU", IFM_ERROR_UNAVAILABLE, "no such device");
    assert_not_found(&fixture, "simulated:", IFM_ERROR_INVALID, "unit");
    assert_not_found(&fixture, "nonsense:CPU", IFM_ERROR_INVALID, "unknown engine");
    g_setenv("IFM_ONNXRUNTIME_LIBRARY", "/nowhere/libonnxruntime.so", TRUE);
    assert_not_found(&fixture, "onnxruntime:CPU", IFM_ERROR_UNAVAILABLE, "/nowhere/libonnxruntime.so");
    g_unsetenv("IFM_ONNXRUNTIME_LIBRARY");
    fixture_clear(&fixture);
}

static IfmMeasurement *measure_on(Fixture *fixture, const char *device)
{
    IfmModelCase model_case = case_on(fixture, device);
    return measure(fixture, &model_case);
}

/* Finding is a probe: a device that does not answer it is lost from then on, one that does is not any more. */
static void test_lost(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    g_autoptr(IfmMeasurement) first = measure_on(&fixture, "simulated:faulty/lose-reported");
    g_assert_cmpstr(first->error_code, ==, "lost");
    assert_not_found(&fixture, "simulated:faulty/lose-reported", IFM_ERROR_LOST, "does not answer the probe");
    g_autofree char *description = NULL; /* the second probe brings it back */
    g_assert_true(ifm_runner_find_device(fixture.runner, "simulated:faulty/lose-reported", &description, NULL));
    g_autoptr(IfmMeasurement) second = measure_on(&fixture, "simulated:faulty/lose-reported");
    g_assert_cmpint(second->outcome, ==, IFM_OUTCOME_FAILED); /* tried: lost anew in its fifteenth run, not skipped */
    fixture_clear(&fixture);
}

/* A loss that an earlier runner saw: where the device still does not answer it is skipped, where it does it is measured. */
static void test_set_lost(void)
{
    g_autofree char *states = g_dir_make_tmp("lost-XXXXXX", NULL);
    g_setenv("IFM_SIMULATED_STATE_DIR", states, TRUE);
    Fixture earlier, later;
    fixture_init(&earlier, NULL);
    g_autoptr(IfmMeasurement) loss = measure_on(&earlier, "simulated:faulty/lose-silent");
    g_assert_cmpstr(loss->error_code, ==, "lost");
    fixture_clear(&earlier);
    fixture_init(&later, NULL);
    ifm_runner_set_lost(later.runner, "simulated:faulty/lose-silent", "gone since yesterday");
    ifm_runner_set_lost(later.runner, "simulated:faulty/well@0", "gone since yesterday");
    ifm_runner_set_lost(later.runner, "no device", "gone since yesterday");
    g_autoptr(IfmMeasurement) skipped = measure_on(&later, "simulated:faulty/lose-silent");
    g_assert_cmpint(skipped->outcome, ==, IFM_OUTCOME_SKIPPED);
    g_assert_cmpstr(skipped->error_code, ==, "lost");
    g_assert_nonnull(strstr(skipped->reason, "lost earlier (gone since yesterday) and still is: "));
    g_autoptr(IfmMeasurement) well = measure_on(&later, "simulated:faulty/well");
    g_assert_cmpint(well->outcome, ==, IFM_OUTCOME_OK);
    fixture_clear(&later);
    g_unsetenv("IFM_SIMULATED_STATE_DIR");
    g_autoptr(GDir) folder = g_dir_open(states, 0, NULL);
    const char *name;
    while ((name = g_dir_read_name(folder)) != NULL)
    {
        g_autofree char *path = g_build_filename(states, name, NULL);
        g_unlink(path);
    }
    g_rmdir(states);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_autofree char *devices = g_build_filename(g_getenv("G_TEST_SRCDIR"), "measure", "devices", NULL);
    g_setenv("IFM_DEVICES_DIR", devices, TRUE);
    g_test_add_func("/find-device/found", test_found);
    g_test_add_func("/find-device/absent", test_absent);
    g_test_add_func("/find-device/lost", test_lost);
    g_test_add_func("/find-device/set-lost", test_set_lost);
    return g_test_run();
}
