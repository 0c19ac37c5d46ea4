#include "study-fixture.h"

#include <study/study.h>

/* Two real engines, each on a core of its own, alone and beside each other. */

static IfmStudy *study_on(const Fixture *fixture, int a_core, int b_core)
{
    g_autofree char *text =
        g_strdup_printf("title: two engines\n"
                        "subject: {model: graphsage, features: 16, hidden: 8, stages: [2], ranges: [1-7]}\n"
                        "sizes: [{nodes: 60, edges: [200]}]\n"
                        "devices: {OV: {device: \"openvino:CPU@%d\"}, ORT: {device: \"onnxruntime:CPU@%d\"}}\n"
                        "protocol: {warmup: 2, runs: 20}\n"
                        "links: {measure: false}\n"
                        "contention: {measure: true}\n",
                        a_core, b_core);
    return study_of(fixture, text);
}

static gboolean run(const Fixture *fixture, IfmStudy *study)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_build_filename(fixture->folder, "out", NULL);
    IfmStudyOptions options = { .folder = folder, .limits = IFM_LIMITS_INIT };
    if (!ifm_study_measure(study, fixture->store, &options, NULL, &error))
    {
        g_test_message("%s", error->message);
        return FALSE;
    }
    return TRUE;
}

static gboolean all_here(const IfmStudyTables *tables)
{
    for (guint i = 0; i < tables->devices->len; i++)
        if (((const IfmStudyDevice *)tables->devices->pdata[i])->reason != NULL)
            return FALSE;
    return TRUE;
}

static gboolean warns_of_cores(const IfmMeasurement *measurement)
{
    gsize i;
    json_t *warning;
    json_array_foreach(json_object_get(measurement->environment, "warnings"), i, warning)
    {
        if (strstr(json_string_value(warning), "share core") != NULL)
            return TRUE;
    }
    return FALSE;
}

static void check_busy_row(const IfmStudyRow *row, gboolean shared)
{
    const json_t *background = json_array_get(json_object_get(row->measurement->environment, "background_load"), 0);
    g_assert_cmpint(json_integer_value(json_object_get(background, "n_inferences")), >=, 1);
    g_assert_cmpint(json_integer_value(json_object_get(background, "n_failed")), ==, 0);
    g_assert_cmpint(json_integer_value(json_object_get(background, "span_ns")), >, 0);
    g_assert_cmpstr(json_string_value(json_object_get(row->measurement->verification, "status")), ==, "passed");
    /* each on the cores it named, by the kernel's word */
    const char *attested = json_string_value(json_object_get(row->measurement->effective_config, "cores"));
    const char *other = json_string_value(json_object_get(json_object_get(background, "effective_config"), "cores"));
    g_assert_cmpstr(strchr(row->device->device, '@') + 1, ==, attested);
    g_assert_cmpstr(strchr(json_string_value(json_object_get(background, "device")), '@') + 1, ==, other);
    g_assert_cmpint(warns_of_cores(row->measurement), ==, shared);
}

static void check(int a_core, int b_core)
{
    Fixture fixture;
    fixture_init(&fixture);
    fixture_open_store(&fixture, "out/store.db");
    g_autoptr(IfmStudy) study = study_on(&fixture, a_core, b_core);
    gboolean ran = run(&fixture, study);
    g_autoptr(IfmStudyTables) tables = ran ? tables_of(fixture.store) : NULL;
    if (tables == NULL || !all_here(tables))
    {
        g_test_skip("not both engines, or not two cores, are here");
        fixture_clear(&fixture);
        return;
    }
    guint n_busy = 0;
    for (guint i = 0; i < tables->ranges->len; i++)
    {
        const IfmStudyRow *row = tables->ranges->pdata[i];
        g_assert_cmpstr(row->reason, ==, NULL);
        g_assert_cmpint(row->n, ==, 20);
        if (row->busy == 0)
            continue;
        n_busy++;
        check_busy_row(row, a_core == b_core);
    }
    g_assert_cmpuint(n_busy, ==, 4);
    fixture_clear(&fixture);
}

static void test_own_cores(void)
{
    check(1, 0);
}

static void test_one_core(void)
{
    check(0, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/contention-engines/own-cores", test_own_cores);
    g_test_add_func("/contention-engines/one-core", test_one_core);
    return g_test_run();
}
