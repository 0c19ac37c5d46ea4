#include "runner-fixture.h"

/* Whole and exact: what other devices' troubles must not change. */
static void assert_well(Fixture *fixture)
{
    IfmModelCase model_case = case_on(fixture, "simulated:faulty/well");
    g_autoptr(IfmMeasurement) measurement = measure(fixture, &model_case);
    g_assert_cmpstr(measurement->reason, ==, "");
    g_assert_cmpint(measurement->outcome, ==, IFM_OUTCOME_OK);
    g_assert_cmpuint(measurement->warmup_ns->len, ==, 2);
    g_assert_cmpuint(measurement->samples_ns->len, ==, 20);
    for (guint i = 0; i < 20; i++)
        g_assert_cmpint(g_array_index(measurement->samples_ns, gint64, i), ==, 2 * MS);
    g_assert_cmpstr(text_in(measurement->verification, "status"), ==, "not-applicable");
}

static void assert_fails(Fixture *fixture, const char *unit, const char *code, const char *reason)
{
    g_autofree char *device = g_strdup_printf("simulated:faulty/%s", unit);
    IfmModelCase model_case = case_on(fixture, device);
    g_autoptr(IfmMeasurement) measurement = measure(fixture, &model_case);
    g_test_message("%s: %s: %s", unit, measurement->error_code, measurement->reason);
    g_assert_cmpint(measurement->outcome, ==, IFM_OUTCOME_FAILED);
    g_assert_cmpstr(measurement->error_code, ==, code);
    if (strstr(measurement->reason, reason) == NULL)
        g_assert_cmpstr(measurement->reason, ==, reason);
    g_assert_null(strchr(measurement->reason, '\n'));
    g_assert_cmpuint(measurement->samples_ns->len, ==, 0);
    g_assert_false(measurement->has_summary);
}

/* Each fault costs its own case, and says why; the device beside it is measured whole before and after. */
static void test_fault(gconstpointer data)
{
    const char *const *row = data;
    Fixture fixture;
    IfmLimits limits = { .hang_ns = 1000 * MS, .memory_bytes = 100 << 20 };
    fixture_init(&fixture, &limits);
    assert_well(&fixture);
    assert_fails(&fixture, row[0], row[1], row[2]);
    assert_well(&fixture);
    fixture_clear(&fixture);
}

static const char *const faults[][3] = {
    { "refuse", "unsupported", "operator MatMul is not for me" },
    { "fail", "failed", "the queue is stuck" },
    { "hang", "timeout", "no sign of life for 1.00 s while running" },
    { "hang-compile", "timeout", "no sign of life for 1.00 s while compiling" },
    { "crash", "failed", "worker ended by SIGSEGV while running" },
    { "crash-compile", "failed", "worker ended by SIGABRT while compiling" },
    { "lose-reported", "lost", "simulated:faulty/lose-reported, matmul: device lost" },
    { "lose-silent", "lost", "the device is lost after the runs: " },
    { "memory", "memory", "out of memory" },
    { "swallow", "memory", "while running, the limit is 100.0 MiB" },
    { "nan", "failed", "is not finite: element" },
};

static void test_wrong(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    if (!has_onnxruntime(&fixture))
        g_test_skip("onnxruntime is unavailable to compute true outputs");
    else
    {
        IfmModelCase model_case = case_on(&fixture, "simulated:faulty/right");
        g_autoptr(IfmMeasurement) right = measure(&fixture, &model_case);
        g_assert_cmpstr(right->reason, ==, "");
        g_assert_cmpstr(text_in(right->verification, "status"), ==, "passed");
        g_assert_nonnull(text_in(right->verification, "reference"));
        assert_fails(&fixture, "wrong", "failed", " is different: ");
    }
    fixture_clear(&fixture);
}

static IfmMeasurement *measure_on(Fixture *fixture, const char *device)
{
    IfmModelCase model_case = case_on(fixture, device);
    return measure(fixture, &model_case);
}

/* A lost device is not tried again until it answers a probe; by whatever cores and streams it is asked for. */
static void test_stays_lost(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    g_autoptr(IfmMeasurement) first = measure_on(&fixture, "simulated:faulty/lose-reported");
    g_assert_cmpint(first->outcome, ==, IFM_OUTCOME_FAILED);
    g_autoptr(IfmMeasurement) second = measure_on(&fixture, "simulated:faulty/lose-reported:0");
    g_assert_cmpint(second->outcome, ==, IFM_OUTCOME_SKIPPED);
    g_assert_cmpstr(second->error_code, ==, "lost");
    g_assert_nonnull(strstr(second->reason, "lost earlier ("));
    g_assert_nonnull(strstr(second->reason, "still is"));
    assert_well(&fixture);
    g_autoptr(IfmMeasurement) third =
        measure_on(&fixture, "simulated:faulty/lose-reported"); /* it answers, then fails anew */
    g_assert_cmpint(third->outcome, ==, IFM_OUTCOME_FAILED);
    g_assert_cmpstr(third->error_code, ==, "lost");
    fixture_clear(&fixture);
}

static void test_case_time(void)
{
    Fixture fixture;
    IfmLimits limits = { .case_time_ns = 700 * MS };
    fixture_init(&fixture, &limits);
    assert_fails(&fixture, "hang", "timeout", "not done within the case's limit of 700 ms (was running)");
    fixture_clear(&fixture);
}

/* As many runs as were promised do not fit into the time of a case: it has failed, and says so. */
static void test_promise(void)
{
    Fixture fixture;
    IfmLimits limits = { .case_time_ns = 5000 * MS };
    g_setenv("IFM_SIMULATED_CLOCK", "real", TRUE);
    fixture_init(&fixture, &limits);
    IfmModelCase model_case = case_on(&fixture, "simulated:faulty/slow");
    model_case.protocol = IFM_PROTOCOL_INIT;
    model_case.protocol.warmup = 1;
    model_case.protocol.min_runs = 1000;
    model_case.protocol.time_budget_ns = 100 * MS;
    g_autoptr(IfmMeasurement) measurement = measure(&fixture, &model_case);
    g_assert_cmpint(measurement->outcome, ==, IFM_OUTCOME_FAILED);
    g_assert_cmpstr(measurement->error_code, ==, "timeout");
    g_assert_true(g_pattern_match_simple(
        "* of the least 1000 runs: not done within the case's limit of 5.00 s (was running)", measurement->reason));
    g_assert_cmpuint(measurement->samples_ns->len, ==, 0);
    g_unsetenv("IFM_SIMULATED_CLOCK");
    fixture_clear(&fixture);
}

/* Slow is not hung: each run is well within the limit, though attesting, warming up and measuring are not. */
static void test_slow(void)
{
    Fixture fixture;
    IfmLimits limits = { .hang_ns = 1000 * MS };
    g_setenv("IFM_SIMULATED_CLOCK", "real", TRUE);
    fixture_init(&fixture, &limits);
    IfmModelCase model_case = case_on(&fixture, "simulated:faulty/slow");
    model_case.protocol.runs = 5;
    g_autoptr(IfmMeasurement) measurement = measure(&fixture, &model_case);
    g_assert_cmpstr(measurement->reason, ==, "");
    g_assert_cmpuint(measurement->samples_ns->len, ==, 5);
    g_unsetenv("IFM_SIMULATED_CLOCK");
    fixture_clear(&fixture);
}

/* What is asked of a hung worker in vain: to stop. */
static gpointer interrupt_soon(gpointer data)
{
    g_usleep(400000);
    g_atomic_int_set((gint *)data, 1);
    return NULL;
}

static void test_interrupt_hung(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmModelCase model_case = case_on(&fixture, "simulated:faulty/hang-compile");
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCase) sealed = ifm_runner_case(fixture.runner, &ifm_kind_model, &model_case, &error);
    g_assert_no_error(error);
    GThread *thread = g_thread_new("interrupt", interrupt_soon, &fixture.interrupted);
    g_assert_null(ifm_runner_measure(fixture.runner, &ifm_kind_model, &model_case, sealed, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_CANCELLED);
    g_thread_join(thread);
    g_clear_error(&error);
    g_assert_null(
        ifm_runner_measure(fixture.runner, &ifm_kind_model, &model_case, sealed, &error)); /* nor is another begun */
    g_assert_error(error, IFM_ERROR, IFM_ERROR_CANCELLED);
    g_autoptr(GArray) children = children_of(getpid());
    g_assert_cmpuint(children->len, ==, 0);
    fixture_clear(&fixture);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_autofree char *devices = g_build_filename(g_getenv("G_TEST_SRCDIR"), "measure", "devices", NULL);
    g_setenv("IFM_DEVICES_DIR", devices, TRUE);
    for (gsize i = 0; i < G_N_ELEMENTS(faults); i++)
    {
        g_autofree char *path = g_strdup_printf("/runner/fault/%s", faults[i][0]);
        g_test_add_data_func(path, faults[i], test_fault);
    }
    g_test_add_func("/runner/fault/wrong", test_wrong);
    g_test_add_func("/runner/stays-lost", test_stays_lost);
    g_test_add_func("/runner/slow", test_slow);
    g_test_add_func("/runner/case-time", test_case_time);
    g_test_add_func("/runner/promise", test_promise);
    g_test_add_func("/runner/interrupt-hung", test_interrupt_hung);
    return g_test_run();
}
