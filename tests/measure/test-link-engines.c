#include <measure/kinds.h>
#include <sched.h>

#include "runner-fixture.h"

/* Links between the real runtimes' devices, where they are. Nothing here depends on how fast they are. */

typedef struct
{
    const char *from, *to;
    gint64 size_bytes;
    const char *cores; /* that the copies must be made on; NULL: any */
    gboolean assumed;
} Real;

static const Real links[] = {
    { "onnxruntime:CPU", "openvino:CPU", 1 << 20, NULL, FALSE },
    { "openvino:CPU@0", "onnxruntime:CPU", 12345, "0", FALSE },
    { "openvino:CPU", "openvino:CPU@0", 1, "0", FALSE },
    { "simulated:meteor-lake/CPU", "onnxruntime:CPU", 4096, NULL, FALSE }, /* the receiver's copy, which is a real one */
    { "onnxruntime:CPU", "simulated:meteor-lake/GPU", 4096, NULL, TRUE },
    { "simulated:meteor-lake/NPU", "onnxruntime:CPU", 4096, NULL, TRUE },
};

static gboolean is_here(Fixture *fixture, const char *device)
{
    g_autoptr(GError) error = NULL;
    if (ifm_runner_find_device(fixture->runner, device, NULL, &error))
        return TRUE;
    g_test_skip(error->message);
    return FALSE;
}

static gboolean may_use_core_0(void)
{
    cpu_set_t mask;
    return sched_getaffinity(0, sizeof mask, &mask) == 0 && CPU_ISSET(0, &mask);
}

/* Real time passes, by one clock for both, and every byte arrives. */
static void test_real(gconstpointer data)
{
    const Real *row = data;
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmLinkCase link_case = { .from = row->from, .to = row->to, .size_bytes = row->size_bytes };
    link_case.protocol = IFM_PROTOCOL_INIT;
    link_case.protocol.runs = 50;
    if (row->cores != NULL && !may_use_core_0())
        g_test_skip("this process may not use core 0");
    else if (is_here(&fixture, row->from) && is_here(&fixture, row->to))
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmCase) sealed = ifm_runner_case(fixture.runner, &ifm_kind_link, &link_case, &error);
        g_assert_no_error(error);
        g_autoptr(IfmMeasurement) measurement =
            ifm_runner_measure(fixture.runner, &ifm_kind_link, &link_case, sealed, &error);
        g_assert_no_error(error);
        g_assert_cmpstr(measurement->reason, ==, "");
        g_assert_cmpuint(measurement->samples_ns->len, ==, 50);
        g_assert_cmpfloat(measurement->summary.median, >, 0);
        g_assert_cmpstr(text_in(measurement->environment, "clock_kind"), ==, "real");
        g_assert_cmpstr(text_in(measurement->verification, "status"), ==, "passed");
        const json_t *link = ifm_measurement_result(measurement, NULL);
        g_assert_true(json_is_true(json_object_get(link, "assumed")) == row->assumed);
        g_assert_true(json_is_true(json_object_get(link, "shared")) == !row->assumed);
        if (row->cores != NULL)
            g_assert_cmpstr(text_in(measurement->effective_config, "cores"), ==, row->cores);
        if (row->assumed) /* the description's time, of the one copy: 20 GB/s and 10 or 20 us */
            g_assert_cmpfloat(measurement->summary.min, >=, 10000);
    }
    fixture_clear(&fixture);
}

/* Cores that there are not: a failure with its reason, no copy made elsewhere. */
static void test_no_such_cores(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    if (is_here(&fixture, "onnxruntime:CPU"))
    {
        g_autoptr(GError) error = NULL;
        IfmLinkCase link_case = { .from = "onnxruntime:CPU", .to = "onnxruntime:CPU@1000", .size_bytes = 100 };
        link_case.protocol = IFM_PROTOCOL_INIT;
        g_autoptr(IfmCase) sealed = ifm_runner_case(fixture.runner, &ifm_kind_link, &link_case, &error);
        g_autoptr(IfmMeasurement) measurement =
            ifm_runner_measure(fixture.runner, &ifm_kind_link, &link_case, sealed, &error);
        g_assert_no_error(error);
        g_assert_cmpint(measurement->outcome, ==, IFM_OUTCOME_FAILED);
        g_assert_nonnull(strstr(measurement->reason, "cores 1000 were asked for"));
    }
    fixture_clear(&fixture);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(links); i++)
    {
        g_autofree char *path = g_strdup_printf("/link-engines/%d", (int)i);
        g_test_add_data_func(path, &links[i], test_real);
    }
    g_test_add_func("/link-engines/no-such-cores", test_no_such_cores);
    return g_test_run();
}
