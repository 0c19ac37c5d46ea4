#include <math.h>

#include <base/base.h>

#include "runner-fixture.h"

/* Comparing on real runtimes, where they are. Nothing here depends on how fast they are. */

static IfmCompareProtocol short_protocol(void)
{
    IfmCompareProtocol protocol = IFM_COMPARE_PROTOCOL_INIT;
    protocol.time_budget_ns = 0;
    protocol.min_pairs = protocol.max_pairs = 2;
    protocol.rounds = 2;
    return protocol;
}

static gboolean is_here(Fixture *fixture, const char *device)
{
    g_autoptr(GError) error = NULL;
    if (ifm_runner_find_device(fixture->runner, device, NULL, &error))
        return TRUE;
    g_test_skip(error->message);
    return FALSE;
}

static gboolean has_note(const IfmComparison *comparison, const char *part)
{
    for (guint i = 0; i < comparison->notes->len; i++)
        if (strstr(comparison->notes->pdata[i], part) != NULL)
            return TRUE;
    return FALSE;
}

static const char *library_of(const IfmComparison *comparison, int side)
{
    json_t *environment = comparison->measurements[side]->environment;
    return text_in(json_object_get(environment, "runtime"), "library");
}

/* Each side was attested and verified, and its outputs are those of the other. */
static void test_real(gconstpointer data)
{
    const char *device = data;
    Fixture fixture;
    fixture_init(&fixture, NULL);
    if (is_here(&fixture, device))
    {
        g_autoptr(GError) error = NULL;
        g_auto(IfmComparison) comparison = { 0 };
        IfmCompareProtocol protocol = short_protocol();
        IfmModelCase cases[2] = { case_on(&fixture, "onnxruntime:CPU"), case_on(&fixture, device) };
        IfmCompareSide sides[2] = { { .kind = &ifm_kind_model, .spec = &cases[0] },
                                    { .kind = &ifm_kind_model, .spec = &cases[1] } };
        g_assert_true(ifm_runner_compare(fixture.runner, sides, &protocol, 1, &comparison, &error));
        g_assert_no_error(error);
        g_assert_cmpfloat(comparison.ratio, >, 0);
        g_assert_cmpfloat(comparison.a_ns, >, 0);
        g_assert_cmpuint(comparison.rounds->len, ==, 4);
        g_assert_false(has_note(&comparison, "outputs"));
        for (int side = 0; side < 2; side++)
        {
            const IfmMeasurement *measurement = comparison.measurements[side];
            g_assert_cmpstr(text_in(measurement->verification, "status"), ==, "passed");
            g_assert_cmpstr(text_in(measurement->environment, "clock_kind"), ==, "real");
            g_assert_nonnull(measurement->effective_config);
            g_assert_cmpuint(measurement->samples_ns->len, >=, 4);
        }
    }
    fixture_clear(&fixture);
}

/* Another library for one side alone: the same one by another name. */
static void test_runtime(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    if (is_here(&fixture, "onnxruntime:CPU"))
    {
        g_autoptr(GError) error = NULL;
        g_auto(IfmComparison) comparison = { 0 };
        IfmCompareProtocol protocol = short_protocol();
        g_autofree char *library = ifm_path_runtime("onnxruntime");
        g_autofree char *other = g_build_filename(fixture.folder, "another-library.so", NULL);
        g_assert_cmpint(symlink(library, other), ==, 0);
        IfmModelCase cases[2] = { case_on(&fixture, "onnxruntime:CPU"), case_on(&fixture, "onnxruntime:CPU") };
        IfmCompareSide sides[2] = { { .kind = &ifm_kind_model, .spec = &cases[0] },
                                    { .kind = &ifm_kind_model, .spec = &cases[1], .runtime = other } };
        g_assert_true(ifm_runner_compare(fixture.runner, sides, &protocol, 1, &comparison, &error));
        g_assert_no_error(error);
        g_assert_cmpstr(library_of(&comparison, 0), !=, other);
        g_assert_cmpstr(library_of(&comparison, 1), ==, other);
        g_unlink(other);
    }
    fixture_clear(&fixture);
}

/* Where nobody compares with the reference, the sides are still compared with each other; where somebody does, a wrong side
 * is an error. */
static void test_outputs_differ(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    if (is_here(&fixture, "onnxruntime:CPU"))
    {
        g_autoptr(GError) error = NULL;
        g_auto(IfmComparison) comparison = { 0 };
        g_auto(IfmComparison) none = { 0 };
        IfmCompareProtocol protocol = short_protocol();
        IfmModelCase cases[2] = { case_on(&fixture, "simulated:compare/RIGHT"),
                                  case_on(&fixture, "simulated:compare/WRONG") };
        IfmCompareSide sides[2] = { { .kind = &ifm_kind_model, .spec = &cases[0] },
                                    { .kind = &ifm_kind_model, .spec = &cases[1] } };
        g_assert_false(ifm_runner_compare(fixture.runner, sides, &protocol, 1, &none, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_FAILED);
        g_assert_true(g_str_has_prefix(error->message, "B: "));
        g_assert_true(none.is_b_wrong);
        g_clear_error(&error);
        cases[0].verify = cases[1].verify = FALSE;
        g_assert_true(ifm_runner_compare(fixture.runner, sides, &protocol, 1, &comparison, &error));
        g_assert_no_error(error);
        g_assert_true(has_note(&comparison, "differ from those of"));
        g_assert_cmpfloat(comparison.ratio, ==, 1);
    }
    fixture_clear(&fixture);
}

/* A worker in front of the worker: the third that is started, that of the reference, comes a second late. */
static char *slow_worker(const Fixture *fixture, const char *count)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *worker = ifm_path_worker(&error);
    g_assert_no_error(error);
    char *path = g_build_filename(fixture->folder, "slow-worker", NULL);
    g_autofree char *script = g_strdup_printf("#!/bin/sh\nprintf x >>'%s'\n[ $(wc -c <'%s') -ne 3 ] || sleep 1\n"
                                              "exec '%s' \"$@\"\n",
                                              count, count, worker);
    g_assert_true(g_file_set_contents(path, script, -1, &error));
    g_assert_cmpint(g_chmod(path, 0700), ==, 0);
    return path;
}

/* What is right is computed once, and is none of what pairs take. */
static void test_checks_not_counted(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    if (is_here(&fixture, "onnxruntime:CPU"))
    {
        g_autoptr(GError) error = NULL;
        g_auto(IfmComparison) comparison = { 0 };
        IfmCompareProtocol protocol = short_protocol();
        IfmModelCase cases[2] = { case_on(&fixture, "simulated:compare/RIGHT"),
                                  case_on(&fixture, "simulated:compare/RIGHT") };
        IfmCompareSide sides[2] = { { .kind = &ifm_kind_model, .spec = &cases[0] },
                                    { .kind = &ifm_kind_model, .spec = &cases[1] } };
        g_autofree char *count = g_build_filename(fixture.folder, "count", NULL), *started = NULL;
        g_autofree char *slow = slow_worker(&fixture, count), *before = g_strdup(g_getenv("IFM_WORKER"));
        g_setenv("IFM_WORKER", slow, TRUE);
        gint64 began_us = g_get_monotonic_time();
        gboolean compared = ifm_runner_compare(fixture.runner, sides, &protocol, 1, &comparison, &error);
        gint64 whole_ns = 1000 * (g_get_monotonic_time() - began_us);
        if (before != NULL)
            g_setenv("IFM_WORKER", before, TRUE);
        else
            g_unsetenv("IFM_WORKER");
        g_assert_no_error(error);
        g_assert_true(compared);
        g_assert_true(g_file_get_contents(count, &started, NULL, NULL));
        g_assert_cmpstr(started, ==, "xxxxx"); /* A, B, the reference, and the second pair */
        g_assert_cmpint(comparison.elapsed_ns, <=, whole_ns - 1000 * MS);
        g_unlink(count);
        g_unlink(slow);
    }
    fixture_clear(&fixture);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_autofree char *devices = g_test_build_filename(G_TEST_DIST, "measure", "devices", NULL);
    g_setenv("IFM_DEVICES_DIR", devices, TRUE);
    g_test_add_data_func("/compare/real/onnxruntime", "onnxruntime:CPU", test_real);
    g_test_add_data_func("/compare/real/openvino", "openvino:CPU", test_real);
    g_test_add_func("/compare/runtime", test_runtime);
    g_test_add_func("/compare/outputs-differ", test_outputs_differ);
    g_test_add_func("/compare/checks-not-counted", test_checks_not_counted);
    return g_test_run();
}
