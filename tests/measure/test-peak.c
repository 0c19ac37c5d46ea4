#include <sched.h>

#include "runner-fixture.h"

#include "folder.h"
#include "measure/measure-private.h"

static IfmPeakCase limit_of(const char *device)
{
    return (IfmPeakCase){ .device = device, .dtype = IFM_DTYPE_F32, .time_budget_ns = 2000 * MS };
}

static IfmMeasurement *measure_limit(Fixture *fixture, const IfmPeakCase *peak_case)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCase) sealed = ifm_runner_case(fixture->runner, &ifm_kind_peak, peak_case, &error);
    g_assert_no_error(error);
    IfmMeasurement *measurement = ifm_runner_measure(fixture->runner, &ifm_kind_peak, peak_case, sealed, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(measurement->case_key, ==, sealed->key);
    return measurement;
}

static double number_in(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static void assert_interval(const json_t *object, const char *key, double lower, double upper)
{
    const json_t *interval = json_object_get(object, key);
    g_assert_cmpuint(json_array_size(interval), ==, 2);
    g_assert_cmpfloat(json_number_value(json_array_get(interval, 0)), ==, lower);
    g_assert_cmpfloat(json_number_value(json_array_get(interval, 1)), ==, upper);
}

/* --- simulated devices -------------------------------------------------------------------------------------------- */

typedef struct
{
    const char *unit;
    double flop_per_s, bytes_per_s;
} Described;

static const Described described[] = { { "ROOF", 100e9, 20e9 }, { "BESIDE", 3e12, 100e9 } };

/* What the description says, exactly. */
static void test_described(gconstpointer data)
{
    const Described *row = data;
    g_autofree char *device = g_strconcat("simulated:limits/", row->unit, NULL);
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmPeakCase peak_case = limit_of(device);
    g_autoptr(IfmMeasurement) measurement = measure_limit(&fixture, &peak_case);
    g_assert_cmpstr(measurement->reason, ==, "");
    g_assert_cmpint(measurement->outcome, ==, IFM_OUTCOME_OK);
    g_assert_cmpstr(measurement->stop_reason, ==, "described");
    g_assert_cmpuint(measurement->samples_ns->len, ==, 0);
    const json_t *peak = ifm_measurement_result(measurement, NULL);
    g_assert_cmpstr(text_in(peak, "source"), ==, "described");
    g_assert_cmpfloat(number_in(peak, "flop_per_s"), ==, row->flop_per_s);
    g_assert_cmpfloat(number_in(peak, "bytes_per_s"), ==, row->bytes_per_s);
    assert_interval(peak, "flop_interval", row->flop_per_s, row->flop_per_s);
    assert_interval(peak, "bytes_interval", row->bytes_per_s, row->bytes_per_s);
    g_assert_cmpuint(json_array_size(json_object_get(peak, "products")), ==, 0);
    g_assert_cmpstr(text_in(json_object_get(measurement->environment, "runtime"), "engine"), ==, "simulated");
    fixture_clear(&fixture);
}

typedef struct
{
    const char *unit;
    IfmDtype dtype;
    IfmOutcome outcome;
    const char *code, *part;
} Refused;

static const Refused refused[] = {
    { "FIXED", IFM_DTYPE_F32, IFM_OUTCOME_FAILED, "unsupported", "limits/FIXED: has no peak: it is described without" },
    { "TABLE", IFM_DTYPE_F32, IFM_OUTCOME_FAILED, "unsupported", "knows the latencies of stages alone" },
    { "FIXED", IFM_DTYPE_F16, IFM_OUTCOME_FAILED, "unsupported", "does not execute in f16" },
    { "CRASH", IFM_DTYPE_F32, IFM_OUTCOME_FAILED, "failed", "worker ended by SIGSEGV" },
    { "LOST", IFM_DTYPE_F32, IFM_OUTCOME_FAILED, "lost", "limits/LOST" },
    { "NOTHING", IFM_DTYPE_F32, IFM_OUTCOME_SKIPPED, "unavailable", "simulated:limits/NOTHING: no such device" },
};

/* A failed measurement with its reason; the next one is measured whole. */
static void test_refused(gconstpointer data)
{
    const Refused *row = data;
    g_autofree char *device = g_strconcat("simulated:limits/", row->unit, NULL);
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmPeakCase peak_case = limit_of(device), next = limit_of("simulated:limits/ROOF");
    peak_case.dtype = row->dtype;
    g_autoptr(IfmMeasurement) measurement = measure_limit(&fixture, &peak_case);
    g_assert_cmpint(measurement->outcome, ==, row->outcome);
    g_assert_cmpstr(measurement->error_code, ==, row->code);
    if (strstr(measurement->reason, row->part) == NULL)
        g_assert_cmpstr(measurement->reason, ==, row->part);
    g_assert_cmpuint(measurement->samples_ns->len, ==, 0);
    g_assert_null(ifm_measurement_result(measurement, NULL));
    g_autoptr(IfmMeasurement) well = measure_limit(&fixture, &next);
    g_assert_cmpstr(well->reason, ==, "");
    fixture_clear(&fixture);
}

/* --- the record ----------------------------------------------------------------------------------------------------- */

static void test_record(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    g_autoptr(GError) error = NULL;
    IfmPeakCase peak_case = limit_of("simulated:limits/ROOF:0@1,0#2");
    peak_case.threads = 2;
    g_autoptr(IfmCase) sealed = ifm_runner_case(fixture.runner, &ifm_kind_peak, &peak_case, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(sealed->subject_kind, ==, "peak");
    g_assert_cmpstr(sealed->subject_name, ==, "peak");
    g_assert_cmpstr(sealed->model_path, ==, "");
    g_assert_cmpstr(sealed->device, ==, "simulated:limits/ROOF:0@0-1"); /* streams share one limit */
    g_assert_cmpstr(text_in(sealed->options, "dtype"), ==, "f32");
    g_assert_cmpint(json_integer_value(json_object_get(sealed->options, "threads")), ==, 2);
    g_assert_cmpstr(text_in(sealed->environment, "engine"), ==, "simulated");
    g_assert_nonnull(text_in(sealed->environment, "engine_version"));
    g_assert_true(json_is_string(json_object_get(sealed->environment, "machine")));
    IfmPeakCase same[] = { peak_case, peak_case, peak_case };
    same[0].time_budget_ns = 0; /* how long it may take is not what it is */
    same[1].alias = "CPU";
    same[2].dtype = IFM_DTYPE_UNDEFINED;
    for (gsize i = 0; i < G_N_ELEMENTS(same); i++)
    {
        g_autoptr(IfmCase) one = ifm_runner_case(fixture.runner, &ifm_kind_peak, &same[i], &error);
        g_assert_no_error(error);
        g_assert_cmpstr(one->key, ==, sealed->key);
    }
    IfmPeakCase other[] = { peak_case, peak_case, peak_case };
    other[0].threads = 1;
    other[1].dtype = IFM_DTYPE_F64;
    other[2].device = "simulated:limits/ROOF:0@0";
    for (gsize i = 0; i < G_N_ELEMENTS(other); i++)
    {
        g_autoptr(IfmCase) one = ifm_runner_case(fixture.runner, &ifm_kind_peak, &other[i], &error);
        g_assert_no_error(error);
        g_assert_cmpstr(one->key, !=, sealed->key);
    }
    fixture_clear(&fixture);
}

/* Measured once, found from then on, whatever budget is asked with. */
static void test_stored(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(fixture.folder, "limits.db", NULL);
    IfmPeakCase peak_case = limit_of("simulated:limits/ROOF"), again = peak_case;
    again.time_budget_ns = 1;
    g_autoptr(IfmCase) sealed = ifm_runner_case(fixture.runner, &ifm_kind_peak, &peak_case, &error);
    g_autoptr(IfmMeasurement) measurement = measure_limit(&fixture, &peak_case);
    g_autoptr(IfmStore) store = ifm_store_open(path, IFM_STORE_SHARD, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_store_commit(store, sealed, measurement, &error));
    g_assert_true(ifm_store_check(store, &error));
    g_autoptr(IfmCase) asked = ifm_runner_case(fixture.runner, &ifm_kind_peak, &again, &error);
    g_autoptr(IfmMeasurement) latest = ifm_store_latest(store, asked->key, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(latest->uid, ==, measurement->uid);
    g_assert_cmpfloat(number_in(ifm_measurement_result(latest, NULL), "flop_per_s"), ==, 100e9);
    g_clear_pointer(&store, ifm_store_close);
    g_unlink(path);
    fixture_clear(&fixture);
}

/* A limit as if it had been measured: figures to within nothing, while others used that much of the processors. */
static IfmMeasurement *limit_like(Fixture *fixture, double flop_per_s, double bytes_per_s, double others_ratio)
{
    IfmPeakCase peak_case = limit_of("simulated:limits/ROOF");
    IfmMeasurement *peak = measure_limit(fixture, &peak_case);
    ifm_record_set_json(&peak->result, json_pack("{s:s,s:f,s:[f,f],s:f,s:[f,f]}", "source", "measured", "flop_per_s",
                                                 flop_per_s, "flop_interval", flop_per_s, flop_per_s, "bytes_per_s",
                                                 bytes_per_s, "bytes_interval", bytes_per_s, bytes_per_s));
    json_object_set_new(peak->environment, "others_ratio", json_real(others_ratio));
    return peak;
}

typedef struct
{
    double flop_per_s, bytes_per_s, others_ratio;
    gboolean counts;
} Next;

/* One after the other; the first is in doubt. */
static const Next nexts[] = {
    { 100e9, 20e9, 0.5, TRUE },  { 90e9, 20e9, 0.3, FALSE }, { 100e9, 19e9, 0.3, FALSE }, { 110e9, 20e9, 0.3, TRUE },
    { 100e9, 20e9, 0.3, FALSE }, { 50e9, 10e9, 0.05, TRUE }, { 40e9, 10e9, 0.3, FALSE },  { 60e9, 10e9, 0.3, TRUE },
};

/* What lost is not what the next look into the store finds. */
static void test_better_kept(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(fixture.folder, "limits.db", NULL), *best = NULL;
    IfmPeakCase peak_case = limit_of("simulated:limits/ROOF");
    g_autoptr(IfmCase) sealed = ifm_runner_case(fixture.runner, &ifm_kind_peak, &peak_case, &error);
    g_autoptr(IfmStore) store = ifm_store_open(path, IFM_STORE_SHARD, &error);
    g_assert_no_error(error);
    for (gsize i = 0; i < G_N_ELEMENTS(nexts); i++)
    {
        g_autoptr(IfmMeasurement) before = ifm_store_latest(store, sealed->key, &error);
        g_autoptr(IfmMeasurement) peak =
            limit_like(&fixture, nexts[i].flop_per_s, nexts[i].bytes_per_s, nexts[i].others_ratio);
        g_autofree char *doubt = ifm_peak_doubt(peak);
        g_assert_cmpint(doubt != NULL, ==, nexts[i].others_ratio > 0.1);
        gboolean counts = ifm_peak_counts(peak, before);
        if (counts && ifm_peak_is_measured(peak))
            g_assert_true(ifm_store_commit(store, sealed, peak, &error));
        g_assert_no_error(error);
        g_assert_cmpint(counts, ==, nexts[i].counts);
        if (counts)
        {
            g_free(best);
            best = g_strdup(peak->uid);
        }
        g_autoptr(IfmMeasurement) latest = ifm_store_latest(store, sealed->key, &error);
        g_assert_cmpstr(latest->uid, ==, best);
    }
    g_clear_pointer(&store, ifm_store_close);
    g_unlink(path);
    fixture_clear(&fixture);
}

static char *key_of(Fixture *fixture, const char *device)
{
    g_autoptr(GError) error = NULL;
    IfmPeakCase peak_case = limit_of(device);
    g_autoptr(IfmCase) sealed = ifm_runner_case(fixture->runner, &ifm_kind_peak, &peak_case, &error);
    g_assert_no_error(error);
    return g_strdup(sealed->key);
}

/* A process that is kept to one processor asks for another limit, but of a device with cores of its own. */
static void test_processors(void)
{
    static const char free_device[] = "simulated:limits/ROOF", own_cores[] = "simulated:limits/ROOF:0@0";
    cpu_set_t all, one;
    int first = 0;
    g_assert_cmpint(sched_getaffinity(0, sizeof all, &all), ==, 0);
    if (CPU_COUNT(&all) < 2)
    {
        g_test_skip("this process may use one processor alone");
        return;
    }
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    Fixture fixture;
    fixture_init(&fixture, NULL);
    g_autofree char *whole = key_of(&fixture, free_device), *pinned = key_of(&fixture, own_cores);
    g_assert_cmpint(sched_setaffinity(0, sizeof one, &one), ==, 0);
    g_autofree char *kept = key_of(&fixture, free_device), *still = key_of(&fixture, own_cores);
    g_assert_cmpint(sched_setaffinity(0, sizeof all, &all), ==, 0);
    g_autofree char *again = key_of(&fixture, free_device);
    g_assert_cmpstr(kept, !=, whole);
    g_assert_cmpstr(again, ==, whole);
    g_assert_cmpstr(still, ==, pinned);
    fixture_clear(&fixture);
}

static void test_wrong_case(void)
{
    Fixture fixture;
    fixture_init(&fixture, NULL);
    IfmPeakCase cases[] = { limit_of("simulated:"), limit_of("nonsense:CPU"), limit_of("simulated:limits/ROOF"),
                            limit_of("simulated:limits/ROOF"), limit_of("simulated:limits/ROOF") };
    cases[2].dtype = IFM_DTYPE_I8;
    cases[3].threads = -1;
    cases[4].time_budget_ns = -1;
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(GError) error = NULL;
        g_assert_null(ifm_runner_case(fixture.runner, &ifm_kind_peak, &cases[i], &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    }
    fixture_clear(&fixture);
}

/* --- interruption --------------------------------------------------------------------------------------------------- */

static void interrupt_at_work(const IfmProgress *now, void *user)
{
    if (g_str_equal(now->phase, "running"))
        g_atomic_int_set((gint *)user, 1);
}

/* Half a limit is none. */
static void test_interrupted(void)
{
    gint interrupted = 0;
    g_autoptr(GError) error = NULL;
    IfmRunnerOptions options = { .interrupted = &interrupted,
                                 .progress = interrupt_at_work,
                                 .progress_user = &interrupted };
    g_autoptr(IfmRunner) runner = ifm_runner_new(&options);
    IfmPeakCase peak_case = limit_of("simulated:limits/FIXED");
    g_autoptr(IfmCase) sealed = ifm_runner_case(runner, &ifm_kind_peak, &peak_case, &error);
    g_assert_no_error(error);
    g_assert_null(ifm_runner_measure(runner, &ifm_kind_peak, &peak_case, sealed, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_CANCELLED);
}

/* --- the triad ------------------------------------------------------------------------------------------------------ */

typedef struct
{
    IfmDtype dtype, executed;
    int n_threads;
    gsize array_bytes;
    double bytes; /* 3 arrays of whole elements */
} Triad;

static const Triad triads[] = {
    { IFM_DTYPE_F32, IFM_DTYPE_F32, 1, 4096, 3 * 4096 },  { IFM_DTYPE_F64, IFM_DTYPE_F64, 1, 8200, 3 * 8200 },
    { IFM_DTYPE_F32, IFM_DTYPE_F32, 3, 1003, 3 * 1000 },  { IFM_DTYPE_F64, IFM_DTYPE_F64, 2, 65536, 3 * 65536 },
    { IFM_DTYPE_BF16, IFM_DTYPE_F32, 2, 4096, 3 * 4096 }, /* bytes are bytes */
};

/* Every element is computed, in every thread's share, and one that is wrong is found. */
static void test_triad(gconstpointer data)
{
    const Triad *row = data;
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmTriadSubject) triad = ifm_triad_subject_new(row->dtype, row->n_threads, row->array_bytes, &error);
    g_assert_no_error(error);
    g_assert_cmpfloat(ifm_triad_subject_bytes(triad), ==, row->bytes);
    g_assert_cmpint(ifm_triad_subject_dtype(triad), ==, row->executed);
    const IfmTensor *a = ifm_triad_subject_result(triad);
    gint64 n = ifm_tensor_n_elements(a);
    g_assert_cmpint(n, ==, (gint64)(row->array_bytes / ifm_dtype_size_bytes(row->executed)));
    IfmSubject slots = ifm_triad_subject_slots(triad);
    for (int times = 0; times < 3; times++)
    {
        g_assert_true(slots.run(slots.self, &error));
        for (gint64 i = 0; i < n; i++) /* b and c written out here once more */
            g_assert_cmpfloat(ifm_tensor_get_double(a, i), ==, (double)(i % 1024) + 3 * (double)(i / 8 % 512));
        g_assert_true(slots.verify(slots.self, &error));
        g_assert_no_error(error);
        g_assert_cmpfloat(ifm_tensor_get_double(a, n - 1), ==, -1); /* wiped, so that an old result is none */
    }
    g_assert_true(slots.run(slots.self, &error));
    memset((char *)a->data + a->size_bytes - 1, 0x7a, 1);
    g_assert_false(slots.verify(slots.self, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_FAILED);
    g_autofree char *place = g_strdup_printf("triad: element %" G_GINT64_FORMAT " is ", n - 1);
    g_assert_true(g_str_has_prefix(error->message, place));
}

#define MIB ((gsize)1 << 20)

static void test_triad_size(void)
{
    g_assert_cmpuint(ifm_triad_array_bytes(32 * MIB, 0), ==, 128 * MIB);
    g_assert_cmpuint(ifm_triad_array_bytes(32 * MIB, (gint64)(1000 * MIB)), ==, 128 * MIB);
    g_assert_cmpuint(ifm_triad_array_bytes(32 * MIB, (gint64)(300 * MIB)), ==, 100 * MIB); /* three of them */
    g_assert_cmpuint(ifm_triad_array_bytes(1 * MIB, 0), ==, 64 * MIB);
    g_assert_cmpuint(ifm_triad_array_bytes(96 * MIB, 0), ==, 256 * MIB);
    g_assert_cmpuint(ifm_triad_array_bytes(300 * MIB, (gint64)(3 * 1024 * MIB)), ==, 400 * MIB); /* the three together */
    g_assert_cmpuint(ifm_triad_array_bytes(300 * MIB, (gint64)(300 * MIB)), ==, 100 * MIB);
    g_assert_cmpuint(ifm_triad_array_bytes(32 * MIB, 1), ==, MIB);
}

static void write_file(const char *root, const char *relative, const char *text)
{
    g_autofree char *path = g_build_filename(root, relative, NULL);
    g_autofree char *folder = g_path_get_dirname(path);
    g_mkdir_with_parents(folder, 0700);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

typedef struct
{
    int processors;
    const char *l2, *l2_shared, *l3, *l3_shared; /* NULL: not told */
    gsize expected;
} Caches;

static const Caches caches[] = {
    { 16, "1024K", "0-1", "32768K", "0-7", 2 * 32 * MIB }, /* two of them */
    { 16, "1024K", "0,8", "32768K", "0-3,8-11", 2 * 32 * MIB },
    { 2, "1024K", "0", "32768K", "0-1", 32 * MIB },
    { 4, "512K", "0", NULL, NULL, 4 * 512 * 1024 }, /* no third level */
    { 4, NULL, NULL, NULL, NULL, 32 * MIB },        /* assumed */
};

static void write_cache(const char *root, int index, const char *size, const char *shared)
{
    static const char *const files[] = { "type", "level", "size", "shared_cpu_list" };
    g_autofree char *level = g_strdup_printf("%d\n", index);
    const char *texts[] = { "Unified\n", level, size, shared };
    for (gsize i = 0; size != NULL && i < G_N_ELEMENTS(files); i++)
    {
        g_autofree char *path = g_strdup_printf("sys/devices/system/cpu/cpu0/cache/index%d/%s", index, files[i]);
        write_file(root, path, texts[i]);
    }
}

static void test_caches(gconstpointer data)
{
    const Caches *row = data;
    g_autofree char *root = g_dir_make_tmp("caches-XXXXXX", NULL);
    g_autoptr(GString) cpuinfo = g_string_new(NULL);
    for (int i = 0; i < row->processors; i++)
        g_string_append_printf(cpuinfo, "processor\t: %d\nmodel name\t: Test\n\n", i);
    write_file(root, "proc/cpuinfo", cpuinfo->str);
    write_cache(root, 2, row->l2, row->l2_shared);
    write_cache(root, 3, row->l3, row->l3_shared);
    g_assert_cmpuint(ifm_triad_cache_bytes(root), ==, row->expected);
    remove_tree(root);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_autofree char *devices = g_build_filename(g_getenv("G_TEST_SRCDIR"), "measure", "devices", NULL);
    g_setenv("IFM_DEVICES_DIR", devices, TRUE);
    for (gsize i = 0; i < G_N_ELEMENTS(described); i++)
    {
        g_autofree char *path = g_strdup_printf("/limit/described/%s", described[i].unit);
        g_test_add_data_func(path, &described[i], test_described);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(refused); i++)
    {
        g_autofree char *path = g_strdup_printf("/limit/refused/%d-%s", (int)i, refused[i].unit);
        g_test_add_data_func(path, &refused[i], test_refused);
    }
    g_test_add_func("/limit/record", test_record);
    g_test_add_func("/limit/stored", test_stored);
    g_test_add_func("/limit/better-kept", test_better_kept);
    g_test_add_func("/limit/processors", test_processors);
    g_test_add_func("/limit/wrong-case", test_wrong_case);
    g_test_add_func("/limit/interrupted", test_interrupted);
    for (gsize i = 0; i < G_N_ELEMENTS(triads); i++)
    {
        g_autofree char *path = g_strdup_printf("/limit/triad/%d", (int)i);
        g_test_add_data_func(path, &triads[i], test_triad);
    }
    g_test_add_func("/limit/triad-size", test_triad_size);
    for (gsize i = 0; i < G_N_ELEMENTS(caches); i++)
    {
        g_autofree char *path = g_strdup_printf("/limit/caches/%d", (int)i);
        g_test_add_data_func(path, &caches[i], test_caches);
    }
    return g_test_run();
}
