#include "runner-fixture.h"
#include <measure/kinds.h>

#define US G_GINT64_CONSTANT(1000)

static IfmLinkCase link_of(const char *from, const char *to, gint64 size_bytes)
{
    IfmLinkCase link_case = { .from = from, .to = to, .size_bytes = size_bytes, .protocol = IFM_PROTOCOL_INIT };
    link_case.protocol.warmup = 2;
    link_case.protocol.runs = 20;
    return link_case;
}

static IfmMeasurement *measure_link(Fixture *fixture, const IfmLinkCase *link_case)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCase) sealed = ifm_runner_case(fixture->runner, &ifm_kind_link, link_case, &error);
    g_assert_no_error(error);
    IfmMeasurement *measurement = ifm_runner_measure(fixture->runner, &ifm_kind_link, link_case, sealed, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(measurement->case_key, ==, sealed->key);
    return measurement;
}

/* --- what it costs, to the nanosecond ------------------------------------------------------------------------------- */

typedef struct
{
    const char *from, *to;
    gint64 size_bytes, expected_ns;
    int copies;
    gboolean shared, assumed;
    const char *around; /* whose tensors a pipeline copies itself; NULL: of neither */
} Exact;

/* fixed + bytes / bytes_per_s, by hand, of each copy that the way takes. */
static const Exact exact[] = {
    { "HOST", "GPU", 1000000, 10 * US + 250 * US, 1, FALSE, TRUE },
    { "BARE", "GPU", 1000000, 10 * US + 250 * US, 1, FALSE, TRUE },
    { "GPU", "HOST", 1000000, 10 * US + 250 * US, 1, FALSE, TRUE },
    { "NPU", "HOST", 500000, 20 * US + 250 * US, 1, FALSE, FALSE },
    { "GPU", "NPU", 400000, 10 * US + 100 * US + 20 * US + 200 * US, 2, FALSE, TRUE },
    { "NPU", "GPU", 400000, 10 * US + 100 * US + 20 * US + 200 * US, 2, FALSE, TRUE },
    { "HOST", "APART", 1000000, 10 * US + 250 * US, 1, FALSE, FALSE, "APART" },
    { "APART", "HOST", 1000000, 10 * US + 250 * US, 1, FALSE, FALSE, "APART" },
    { "APART", "NPU", 400000, 10 * US + 100 * US + 20 * US + 200 * US, 2, FALSE, FALSE, "APART" },
    { "HOST", "HOST", 1000000, 1 * US + 100 * US, 1, TRUE, FALSE },
    { "BARE", "HOST", 7, 1 * US + 1, 1, TRUE, FALSE },
    { "HOST", "NPU", 1, 20 * US + 1, 1, FALSE, FALSE },                 /* half a nanosecond, rounded */
    { "GPU", "GPU", 1000000, 2 * (10 * US + 250 * US), 1, TRUE, TRUE }, /* it prices a copy within by both ways */
};

static void test_exact(gconstpointer data)
{
    const Exact *row = data;
    g_autofree char *from = g_strconcat("simulated:links/", row->from, NULL);
    g_autofree char *to = g_strconcat("simulated:links/", row->to, NULL);
    g_autofree char *device = g_strdup_printf("%s>%s", from, to);
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmLinkCase link_case = link_of(from, to, row->size_bytes);
    g_autoptr(IfmMeasurement) measurement = measure_link(&fixture, &link_case);
    g_assert_cmpstr(measurement->reason, ==, "");
    g_assert_cmpint(measurement->outcome, ==, IFM_OUTCOME_OK);
    g_assert_cmpuint(measurement->warmup_ns->len, ==, 2);
    g_assert_cmpuint(measurement->samples_ns->len, ==, 20);
    for (guint i = 0; i < 20; i++)
        g_assert_cmpint(g_array_index(measurement->samples_ns, gint64, i), ==, row->expected_ns);
    g_assert_cmpfloat(measurement->summary.median, ==, (double)row->expected_ns);
    const json_t *link = ifm_measurement_result(measurement, NULL);
    g_assert_cmpint(json_integer_value(json_object_get(link, "copies")), ==, row->copies);
    g_assert_true(json_is_true(json_object_get(link, "shared")) == row->shared);
    g_assert_true(json_is_true(json_object_get(link, "assumed")) == row->assumed);
    g_assert_cmpuint(json_array_size(json_object_get(link, "within_inference")), ==, 0);
    const json_t *around = json_object_get(link, "around_inference");
    g_assert_cmpuint(json_array_size(around), ==, row->around != NULL ? 1 : 0);
    g_autofree char *of = row->around != NULL ? g_strconcat("simulated:links/", row->around, NULL) : NULL;
    g_assert_cmpstr(json_string_value(json_array_get(around, 0)), ==, of);
    g_assert_cmpstr(text_in(measurement->environment, "device"), ==, device);
    g_assert_cmpstr(text_in(measurement->environment, "clock_kind"), ==, "virtual");
    g_assert_cmpstr(text_in(json_object_get(measurement->environment, "runtime"), "engine"), ==, "simulated");
    g_assert_true(json_is_object(json_object_get(measurement->environment, "machine")));
    g_assert_cmpstr(text_in(measurement->verification, "status"), ==, "passed");
    g_assert_cmpint(json_integer_value(json_object_get(measurement->verification, "n_checks")), >=, 2);
    fixture_clear(&fixture);
}

/* --- the record ----------------------------------------------------------------------------------------------------- */

static void test_record(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    g_autoptr(GError) error = NULL;
    IfmLinkCase link_case = link_of("simulated:links/HOST:0@1,0", "simulated:links/GPU", 4096), other = link_case;
    g_autoptr(IfmCase) sealed = ifm_runner_case(fixture.runner, &ifm_kind_link, &link_case, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(sealed->subject_kind, ==, "link");
    g_assert_cmpstr(sealed->subject_name, ==, "link");
    g_assert_cmpstr(sealed->subject_digest, ==, "");
    g_assert_cmpstr(sealed->model_path, ==, "");
    g_assert_cmpstr(sealed->device, ==, "simulated:links/HOST:0@0-1>simulated:links/GPU");
    g_assert_cmpstr(sealed->alias, ==, "");
    g_assert_cmpint(json_integer_value(json_object_get(sealed->sizes, "bytes")), ==, 4096);
    g_assert_cmpint(json_integer_value(json_object_get(json_object_get(sealed->options, "protocol"), "runs")), ==, 20);
    g_assert_cmpstr(text_in(sealed->environment, "engine"), ==, "simulated");
    g_assert_cmpstr(text_in(sealed->environment, "sender_engine"), ==, "simulated");
    other.from_alias = "CPU"; /* what people call it, not what it is */
    g_autoptr(IfmCase) named = ifm_runner_case(fixture.runner, &ifm_kind_link, &other, &error);
    g_assert_cmpstr(named->alias, ==, "CPU>simulated:links/GPU");
    g_assert_cmpstr(named->key, ==, sealed->key);
    IfmLinkCase different[] = { link_of("simulated:links/HOST@0-1", "simulated:links/GPU", 4097),
                                link_of("simulated:links/GPU", "simulated:links/HOST:0@0-1", 4096),
                                link_of("simulated:links/HOST@0", "simulated:links/GPU", 4096) };
    for (gsize i = 0; i < G_N_ELEMENTS(different); i++)
    {
        g_autoptr(IfmCase) one = ifm_runner_case(fixture.runner, &ifm_kind_link, &different[i], &error);
        g_assert_cmpstr(one->key, !=, sealed->key);
    }
    assert_key_holds(sealed);
    fixture_clear(&fixture);
}

/* A store takes it whole. */
static void test_stored(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(fixture.folder, "links.db", NULL);
    IfmLinkCase link_case = link_of("simulated:links/HOST", "simulated:links/GPU", 4096);
    g_autoptr(IfmCase) sealed = ifm_runner_case(fixture.runner, &ifm_kind_link, &link_case, &error);
    g_autoptr(IfmMeasurement) measurement = measure_link(&fixture, &link_case);
    g_autoptr(IfmStore) store = ifm_store_open(path, IFM_STORE_SHARD, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_store_commit(store, sealed, measurement, &error));
    g_assert_true(ifm_store_check(store, &error));
    g_autoptr(IfmMeasurement) last = ifm_store_last(store, sealed->key, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(last->uid, ==, measurement->uid);
    g_clear_pointer(&store, ifm_store_close);
    g_unlink(path);
    fixture_clear(&fixture);
}

static void test_wrong_case(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmLinkCase cases[] = { link_of("simulated:", "simulated:links/GPU", 1),
                            link_of("simulated:links/GPU", "x", 1),
                            link_of("simulated:links/HOST", "nonsense:GPU", 1),
                            link_of("simulated:links/HOST", "simulated:links/GPU", 0),
                            link_of("simulated:links/HOST", "simulated:links/GPU", -1),
                            link_of("simulated:links/HOST", "simulated:links/GPU", G_MAXINT64) };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(GError) error = NULL;
        g_assert_null(ifm_runner_case(fixture.runner, &ifm_kind_link, &cases[i], &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    }
    fixture_clear(&fixture);
}

/* --- failures ------------------------------------------------------------------------------------------------------- */

typedef struct
{
    const char *from, *to;
    gint64 size_bytes;
    IfmOutcome outcome;
    const char *code, *part;
} Refused;

static const Refused refused[] = {
    { "HOST", "BARE", 1000, IFM_OUTCOME_FAILED, "unsupported", "simulated:links/BARE: what a copy takes is not known" },
    { "UNLINKED", "HOST", 1000, IFM_OUTCOME_FAILED, "unsupported", "links/UNLINKED: what a copy takes is not known" },
    { "GPU", "UNLINKED", 1000, IFM_OUTCOME_FAILED, "unsupported", "links/UNLINKED: what a copy takes is not known" },
    { "HOST", "NPU", 1000001, IFM_OUTCOME_FAILED, "memory", "simulated:links/NPU: no 1000001 bytes left" },
    { "HOST", "NOTHING", 1000, IFM_OUTCOME_SKIPPED, "unavailable", "simulated:links/NOTHING: no such device" },
};

/* A failed measurement with its reason; the same worker measures the next one whole. */
static void test_refused(gconstpointer data)
{
    const Refused *row = data;
    g_autofree char *from = g_strconcat("simulated:links/", row->from, NULL);
    g_autofree char *to = g_strconcat("simulated:links/", row->to, NULL);
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmLinkCase link_case = link_of(from, to, row->size_bytes);
    g_autoptr(IfmMeasurement) measurement = measure_link(&fixture, &link_case);
    g_assert_cmpint(measurement->outcome, ==, row->outcome);
    g_assert_cmpstr(measurement->error_code, ==, row->code);
    if (strstr(measurement->reason, row->part) == NULL)
        g_assert_cmpstr(measurement->reason, ==, row->part);
    g_assert_cmpuint(measurement->samples_ns->len, ==, 0);
    if (g_str_equal(row->code, "memory"))
    {
        link_case.size_bytes = 1000000; /* nothing was kept of the one that was refused */
        g_autoptr(IfmMeasurement) fits = measure_link(&fixture, &link_case);
        g_assert_cmpstr(fits->reason, ==, "");
    }
    fixture_clear(&fixture);
}

static void remove_files(const char *path)
{
    g_autoptr(GDir) folder = g_dir_open(path, 0, NULL);
    const char *name;
    while ((name = g_dir_read_name(folder)) != NULL)
    {
        g_autofree char *file = g_build_filename(path, name, NULL);
        g_unlink(file);
    }
    g_rmdir(path);
}

/* A device that is lost under way: the one that is, and not its partner, is not tried again. */
static void test_lost(gconstpointer data)
{
    const char *unit = data;
    g_autofree char *device = g_strconcat("simulated:links/", unit, NULL);
    g_autofree char *states = g_dir_make_tmp("lost-XXXXXX", NULL);
    g_setenv("IFM_SIMULATED_STATE_DIR", states, TRUE);
    Fixture fixture, other;
    fixture_init(&other, NULL);
    IfmModelCase loses = case_on(&other, device);
    g_autoptr(IfmMeasurement) loss = measure(&other, &loses);
    g_assert_cmpstr(loss->error_code, ==, "lost");
    fixture_clear(&other);
    fixture_init(&fixture, NULL); /* knows nothing of that */
    IfmLinkCase link_case = link_of(device, "simulated:links/GPU", 1000);
    g_autoptr(IfmMeasurement) first = measure_link(&fixture, &link_case);
    g_assert_cmpint(first->outcome, ==, IFM_OUTCOME_FAILED);
    g_assert_cmpstr(first->error_code, ==, "lost");
    g_assert_nonnull(strstr(first->reason, device));
    g_assert_cmpuint(first->samples_ns->len, ==, 0);
    g_autoptr(IfmMeasurement) second = measure_link(&fixture, &link_case);
    g_assert_cmpint(second->outcome, ==, IFM_OUTCOME_SKIPPED);
    g_assert_nonnull(strstr(second->reason, "lost earlier ("));
    IfmLinkCase background = link_of("simulated:links/HOST", "simulated:links/GPU", 1000);
    g_autoptr(IfmMeasurement) well = measure_link(&fixture, &background);
    g_assert_cmpstr(well->reason, ==, "");
    g_unsetenv("IFM_SIMULATED_STATE_DIR");
    fixture_clear(&fixture);
    remove_files(states);
}

/* --- interruption --------------------------------------------------------------------------------------------------- */

static void interrupt_now(const IfmProgress *now, void *user)
{
    if (now->n > 0)
        g_atomic_int_set((gint *)user, 1);
}

/* What was measured until then is kept. */
static void test_interrupted(void)
{
    gint interrupted = 0;
    g_autoptr(GError) error = NULL;
    IfmRunnerOptions options = { .interrupted = &interrupted, .progress = interrupt_now, .progress_user = &interrupted };
    g_autoptr(IfmRunner) runner = ifm_runner_new(&options);
    /* Large, so that few copies are made until then, and the worker has summed them up within the time it is given. */
    IfmLinkCase link_case = link_of("simulated:links/HOST", "simulated:links/GPU", 4000000);
    link_case.protocol.runs = IFM_PROTOCOL_MAX_RUNS;
    g_autoptr(IfmCase) sealed = ifm_runner_case(runner, &ifm_kind_link, &link_case, &error);
    g_assert_no_error(error);
    g_autoptr(IfmMeasurement) measurement = ifm_runner_measure(runner, &ifm_kind_link, &link_case, sealed, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(measurement->reason, ==, "");
    g_assert_cmpint(measurement->outcome, ==, IFM_OUTCOME_OK);
    g_assert_cmpstr(measurement->stop_reason, ==, "interrupted");
    g_assert_cmpuint(measurement->samples_ns->len, >, 0);
    g_assert_cmpuint(measurement->samples_ns->len, <, IFM_PROTOCOL_MAX_RUNS);
    g_assert_null(ifm_runner_measure(runner, &ifm_kind_link, &link_case, sealed, &error)); /* nor is another begun */
    g_assert_error(error, IFM_ERROR, IFM_ERROR_CANCELLED);
}

/* --- workers -------------------------------------------------------------------------------------------------------- */

/* One link's worker at a time: each has two runtimes open. */
static void test_one_worker(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    static const char *const units[] = { "simulated:links/HOST", "simulated:links/GPU", "simulated:links/NPU" };
    g_autoptr(GArray) before = NULL, after = NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(units); i++)
        for (gsize k = 0; k < G_N_ELEMENTS(units); k++)
        {
            IfmLinkCase link_case = link_of(units[i], units[k], 100);
            g_autoptr(IfmMeasurement) measurement = measure_link(&fixture, &link_case);
            g_assert_cmpstr(measurement->reason, ==, "");
            if (before == NULL)
                before = children_of(getpid());
        }
    after = children_of(getpid());
    g_assert_cmpuint(after->len, ==, before->len);
    fixture_clear(&fixture);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_autofree char *devices = g_build_filename(g_getenv("G_TEST_SRCDIR"), "measure", "devices", NULL);
    g_setenv("IFM_DEVICES_DIR", devices, TRUE);
    for (gsize i = 0; i < G_N_ELEMENTS(exact); i++)
    {
        g_autofree char *path = g_strdup_printf("/link/exact/%s-%s-%d", exact[i].from, exact[i].to, (int)i);
        g_test_add_data_func(path, &exact[i], test_exact);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(refused); i++)
    {
        g_autofree char *path = g_strdup_printf("/link/refused/%s-%s", refused[i].from, refused[i].to);
        g_test_add_data_func(path, &refused[i], test_refused);
    }
    g_test_add_func("/link/record", test_record);
    g_test_add_func("/link/stored", test_stored);
    g_test_add_func("/link/wrong-case", test_wrong_case);
    g_test_add_data_func("/link/lost/reported", "REPORTED", test_lost);
    g_test_add_data_func("/link/lost/silent", "SILENT", test_lost);
    g_test_add_func("/link/interrupted", test_interrupted);
    g_test_add_func("/link/one-worker", test_one_worker);
    return g_test_run();
}
