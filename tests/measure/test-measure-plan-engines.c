
#include "plan-fixture.h"

/* Plans on the real runtimes, where they are: every batch's outputs against the reference. Nothing here depends on how fast
 * they are. */

#define REAL                                                                                                               \
    "'model': 'graphsage', 'devices': {'ORT': {'device': 'onnxruntime:CPU@0'}, 'CPU': {'device': 'openvino:CPU@1'}}}"

static gboolean is_here(Fixture *fixture, const char *device)
{
    g_autoptr(GError) error = NULL;
    if (ifm_runner_find_device(fixture->runner, device, NULL, &error))
        return TRUE;
    g_test_skip(error->message);
    return FALSE;
}

typedef struct
{
    const char *name, *blocks;
    gint64 parts;
    const char *device_time;
} Real;

static const Real real[] = {
    { "two-blocks", "[[['ORT'],[1,2,3],[1.0]],[['CPU'],[4,5,6,7],[1.0]]]", 0, "off" },
    { "data-parallel", "[[['CPU','ORT'],[1,2,3,4,5,6,7],[0.6,0.4]]]", 0, "off" },
    { "data-parallel-first", "[[['CPU','ORT'],[1,2,3,4],[0.3,0.7]],[['NEXT'],[5,6,7],[1.0]]]", 0, "off" },
    { "device-time", "[[['CPU','ORT'],[1,2,3,4,5,6,7],[0.5,0.5]]]", 0, "on" },
    { "parts", "[[['CPU','ORT'],[1,2,3,4,5,6,7],[0.5,0.5]]]", 3, "off" },
};

static void test_real(gconstpointer data)
{
    const Real *row = data;
    Fixture fixture;
    fixture_init(&fixture, NULL);
    g_auto(PlanText) text = { 0 };
    g_autofree char *plan = g_strdup_printf(
        "{'plan': %s, 'model': 'graphsage', 'devices': {'ORT': {'device': 'onnxruntime:CPU@0'}, 'CPU': {'device': "
        "'openvino:CPU@1'}, 'NEXT': {'device': 'onnxruntime:CPU@1'}}}",
        row->blocks);
    if (is_here(&fixture, "onnxruntime:CPU@0") && is_here(&fixture, "openvino:CPU@1"))
    {
        plan_text_init(&text, plan, 1000, 5000);
        text.plan_case.sizes = (IfmStageSizes){ .features = 96, .hidden = 64 };
        text.plan_case.n_batches = 12;
        text.plan_case.repetitions = 1;
        text.plan_case.device_time = row->device_time;
        text.graphs[0].parts = row->parts;
        g_autoptr(IfmMeasurement) measurement = measure_plan(&fixture, &text.plan_case);
        g_assert_cmpstr(measurement->reason, ==, "");
        g_assert_cmpstr(text_in(measurement->verification, "status"), ==, "passed");
        /* every batch, of warm-up and after, and where counters are read the same without them: so short a run is not cut
         */
        g_assert_cmpfloat(number(measurement->verification, "n_checks"), ==, g_str_equal(row->device_time, "on") ? 48 : 24);
        g_assert_cmpstr(text_in(measurement->verification, "reference"), !=, NULL);
        g_assert_cmpuint(measurement->samples_ns->len, ==, 11);
        g_assert_cmpstr(text_in(measurement->environment, "clock_kind"), ==, "real");
        g_assert_cmpfloat(number(plan_of(measurement), "repetitions.0.makespan_ns"), >, 0);
        g_assert_cmpfloat(number(plan_of(measurement), "repetitions.0.stages.0.n"), ==, 12);
    }
    fixture_clear(&fixture);
}

/* The whole of it with its bound: figures that are there, and books that add up. */
static void test_real_bound(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    g_auto(PlanText) text = { 0 };
    if (is_here(&fixture, "onnxruntime:CPU@0") && is_here(&fixture, "openvino:CPU@1"))
    {
        plan_text_init(&text, "{'plan': [[['CPU','ORT'],[1,2,3,4,5,6,7],[0.5,0.5]]], " REAL, 1000, 5000);
        text.plan_case.sizes = (IfmStageSizes){ .features = 96, .hidden = 64 };
        text.plan_case.bound = TRUE;
        text.plan_case.repetitions = 2;
        g_autoptr(IfmMeasurement) measurement = measure_plan(&fixture, &text.plan_case);
        g_assert_cmpstr(measurement->reason, ==, "");
        g_assert_cmpstr(text_in(measurement->verification, "status"), ==, "passed");
        for (int r = 0; r < 2; r++)
        {
            g_autofree char *path = g_strdup_printf("repetitions.%d", r);
            const json_t *one = member(plan_of(measurement), path);
            double best = MAX(number(one, "bound.solo.CPU"), number(one, "bound.solo.ORT"));
            double sum = number(one, "bound.together.CPU") + number(one, "bound.together.ORT");
            g_assert_cmpfloat_with_epsilon(number(one, "bound.gain"), sum / best, 1e-9);
            g_assert_cmpfloat_with_epsilon(number(one, "bound.attained"), number(one, "rate_per_s") / sum, 1e-9);
        }
    }
    fixture_clear(&fixture);
}

/* A wrong number is found, whichever batch it is in: its fourth run is in warm-up where that has six, and in the first
 * timed repetition where it has two. */
static void test_wrong(gconstpointer data)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    g_auto(PlanText) text = { 0 };
    if (has_onnxruntime(&fixture))
    {
        plan_text_init(&text,
                       "{'plan': [[['X'],[1,2,3,4,5,6,7],[1.0]]], 'model': 'graphsage', 'devices': "
                       "{'X': {'device': 'simulated:plans/WRONG'}}}",
                       100, 400);
        text.plan_case.n_batches = (gsize)GPOINTER_TO_UINT(data);
        g_autoptr(IfmMeasurement) measurement = measure_plan(&fixture, &text.plan_case);
        g_assert_cmpint(measurement->outcome, ==, IFM_OUTCOME_FAILED);
        if (strstr(measurement->reason, "output h is different") == NULL)
            g_assert_cmpstr(measurement->reason, ==, "output h is different");
        g_assert_cmpstr(text_in(measurement->verification, "status"), ==, "failed");
        text.plan_case.verify = FALSE;
        g_autoptr(IfmMeasurement) unverified = measure_plan(&fixture, &text.plan_case);
        g_assert_cmpstr(unverified->reason, ==, "");
        g_assert_cmpstr(text_in(unverified->verification, "status"), ==, "not-asked");
    }
    else
        g_test_skip("no ONNX Runtime here");
    fixture_clear(&fixture);
}

static void test_right(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    g_auto(PlanText) text = { 0 };
    if (has_onnxruntime(&fixture))
    {
        plan_text_init(&text,
                       "{'plan': [[['X'],[1,2,3,4,5,6,7],[1.0]]], 'model': 'graphsage', 'devices': "
                       "{'X': {'device': 'simulated:plans/RIGHT'}}}",
                       100, 400);
        text.graphs[0].parts = 3;
        g_autoptr(IfmMeasurement) measurement = measure_plan(&fixture, &text.plan_case);
        g_assert_cmpstr(measurement->reason, ==, "");
        g_assert_cmpstr(text_in(measurement->verification, "status"), ==, "passed");
        g_assert_cmpfloat(number(plan_of(measurement), "repetitions.0.makespan_ns"), ==, 20 * 2 * MS);
    }
    else
        g_test_skip("no ONNX Runtime here");
    fixture_clear(&fixture);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_autofree char *devices = g_build_filename(g_getenv("G_TEST_SRCDIR"), "measure", "devices", NULL);
    g_setenv("IFM_DEVICES_DIR", devices, TRUE);
    for (gsize i = 0; i < G_N_ELEMENTS(real); i++)
    {
        g_autofree char *path = g_strconcat("/plan/real/", real[i].name, NULL);
        g_test_add_data_func(path, &real[i], test_real);
    }
    g_test_add_func("/plan/real/bound", test_real_bound);
    g_test_add_data_func("/plan/wrong/in-warm-up", GUINT_TO_POINTER(6), test_wrong);
    g_test_add_data_func("/plan/wrong/in-a-timed-run", GUINT_TO_POINTER(2), test_wrong);
    g_test_add_func("/plan/right", test_right);
    return g_test_run();
}
