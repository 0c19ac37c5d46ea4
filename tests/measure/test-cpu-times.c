#include <math.h>
#include <string.h>

#include <base/fields.h>

#include "measure/measure-private.h"

/* Whose time a run's processor time is, and which runs were interrupted, from readings that are planted. */

#define MS G_GINT64_CONSTANT(1000000)

/* Batch: what passed between two readings. */
typedef struct
{
    gsize n;
    gint64 wall, thread, process, interrupted, waits; /* times in ms */
} Batch;

typedef struct
{
    const char *name;
    int n_threads;  /* -1: another device than the processor computes */
    gint64 delayed; /* ms, in 40 ms and a thread; -1: not known */
    Batch batches[4];
    const char *cpu;                  /* NULL: not known */
    double cpu_median, calm, waited;  /* ms; NaN: null */
    const char *cpu_ns, *interrupted; /* as JSON */
    gboolean is_elsewhere;
} Row;

static const Row rows[] = {
    { "one thread",
      1,
      0,
      { { 1, 10, 10, 10, 0, 0 }, { 1, 12, 12, 12, 0, 0 } },
      "thread",
      11,
      11,
      0,
      "[10000000,12000000]",
      "[]" },
    { "its number is not known", 0, -1, { { 1, 10, 10, 10, 0, 0 } }, "thread", 10, 10, 0, "[10000000]", "[]" },
    { "interrupted",
      1,
      9,
      { { 1, 10, 10, 10, 0, 0 }, { 1, 20, 11, 11, 2, 0 }, { 1, 10, 9, 9, 0, 0 } },
      "thread",
      10,
      10,
      0.25,
      "[10000000,11000000,9000000]",
      "[1]" },
    { "always interrupted",
      1,
      20,
      { { 1, 20, 10, 10, 5, 0 }, { 1, 20, 10, 10, 5, 0 } },
      "thread",
      10,
      NAN,
      0.5,
      "[10000000,10000000]",
      "[0,1]" },
    { "waits between the runs",
      1,
      20,
      { { 1, 10, 10, 10, 0, 0 }, { 1, 10, 10, 10, 0, 0 } },
      "thread",
      10,
      10,
      0.5,
      "[10000000,10000000]",
      "[]" },
    { "batches",
      1,
      0,
      { { 3, 30, 30, 30, 0, 0 }, { 2, 30, 24, 24, 1, 0 } },
      "thread",
      10,
      10,
      0.1,
      "[10000000,10000000,10000000,12000000,12000000]",
      "[3,4]" },
    /* a runtime's own thread computes, and the calling one sleeps until it has */
    { "on another thread",
      1,
      0,
      { { 1, 10, 0, 10, 0, 1 }, { 1, 20, 0, 10, 1, 1 } },
      "process",
      10,
      10,
      1.0 / 3,
      "[10000000,10000000]",
      "[1]" },
    { "another, of unknown number", 0, 0, { { 1, 10, 0, 10, 0, 1 } }, NULL, NAN, 10, NAN, "[]", "[]" },
    { "several threads", 2, 5, { { 1, 10, 10, 20, 0, 0 }, { 1, 15, 15, 30, 1, 0 } }, NULL, NAN, 10, 0.1, "[]", "[1]" },
    { "several, and no count of waiting", 2, -1, { { 1, 10, 10, 20, 0, 0 } }, NULL, NAN, 10, NAN, "[]", "[]" },
    { "several, which wait longer than all of it", 2, 35, { { 1, 10, 10, 20, 0, 0 } }, NULL, NAN, 10, 1, "[]", "[]" },
    { "a pool that spins", 1, 0, { { 1, 10, 10, 20, 0, 0 } }, NULL, NAN, 10, 0, "[]", "[]" },
    { "a device for which the thread spins", 1, 4, { { 1, 10, 10, 10, 0, 0 } }, NULL, NAN, 10, 0.4, "[]", "[]", TRUE },
    { "a device", 1, 0, { { 1, 10, 1, 1, 0, 1 }, { 1, 10, 1, 1, 0, 1 } }, NULL, NAN, 10, 0, "[]", "[]" },
};

static void assert_number(const json_t *json, const char *key, double expected)
{
    const double found = ifm_member_number(json, key);
    if (isnan(expected))
        g_assert_true(isnan(found));
    else
        g_assert_cmpfloat_with_epsilon(found, expected, 1e-9 * MAX(expected, 1));
}

static void assert_list(const json_t *json, const char *key, const char *expected)
{
    g_autofree char *text = json_dumps(json_object_get(json, key), JSON_COMPACT);
    g_assert_cmpstr(text, ==, expected);
}

static void test_row(gconstpointer data)
{
    const Row *row = data;
    g_autoptr(IfmCpuTimes) times = ifm_cpu_times_new(4);
    g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(gint64));
    IfmCpuReading begin = { 7 * MS, 9 * MS, 3, 5 }; /* what was before does not count */
    for (gsize i = 0; i < G_N_ELEMENTS(row->batches) && row->batches[i].n > 0; i++)
    {
        const Batch *batch = &row->batches[i];
        const gint64 run_ns = batch->wall * MS / (gint64)batch->n;
        const IfmCpuReading end = { begin.thread_ns + batch->thread * MS, begin.process_ns + batch->process * MS,
                                    begin.n_interrupted + batch->interrupted, begin.n_waits + batch->waits };
        for (gsize k = 0; k < batch->n; k++)
            g_array_append_val(samples, run_ns);
        ifm_cpu_times_add(times, &begin, &end, batch->wall * MS, batch->n);
        begin = end;
    }
    const IfmCpuDelay before = { 5 * MS, row->delayed < 0 ? -1 : 7 * MS, row->delayed < 0 ? -1 : 11 * MS };
    const IfmCpuDelay after = { 45 * MS, row->delayed < 0 ? -1 : (7 + row->delayed) * MS,
                                row->delayed < 0 ? -1 : (11 + row->delayed) * MS };
    ifm_cpu_times_set_delay(times, &before, &after);
    json_auto_t *json = ifm_cpu_times_to_json(times, samples, row->n_threads, row->is_elsewhere);
    g_assert_cmpstr(ifm_member_text(json, "cpu"), ==, row->cpu);
    g_assert_cmpint(ifm_member_text(json, "why") != NULL, ==, row->cpu == NULL);
    assert_number(json, "cpu_median_ns", row->cpu_median * MS);
    assert_number(json, "undisturbed_median_ns", row->calm * MS);
    assert_number(json, "waited_ratio", row->waited);
    assert_list(json, "cpu_ns", row->cpu_ns);
    assert_list(json, "interrupted", row->interrupted);
    assert_number(json, "n_interrupted", (double)json_array_size(json_object_get(json, "interrupted")));
}

/* So many that they are not listed: the figures are of all the same. */
static void test_many(void)
{
    enum
    {
        N = 100001
    };
    g_autoptr(IfmCpuTimes) times = ifm_cpu_times_new(1);
    g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(gint64));
    const IfmCpuReading begin = { 0 }, end = { MS, MS, 0, 0 };
    for (gsize i = 0; i < N; i++)
    {
        const gint64 run_ns = MS;
        g_array_append_val(samples, run_ns);
        ifm_cpu_times_add(times, &begin, &end, MS, 1);
    }
    json_auto_t *json = ifm_cpu_times_to_json(times, samples, 1, FALSE);
    assert_number(json, "cpu_median_ns", MS);
    assert_list(json, "cpu_ns", "[]");
}

/* --- read from the kernel ---------------------------------------------------------------------------------------------
 */

static gboolean spin(void *self, GError **error)
{
    volatile double *sum = self;
    for (int i = 0; i < 20000; i++)
        *sum += i;
    return TRUE;
}

static gboolean sleep_a_while(void *self, GError **error)
{
    g_usleep(2000);
    return TRUE;
}

static IfmMeasurement *measure(gboolean (*run)(void *self, GError **error), gsize runs)
{
    double sum = 0;
    const IfmSubject subject = { .name = "work", .run = run, .self = &sum };
    IfmMeasureOptions options = { .protocol = IFM_PROTOCOL_INIT };
    options.protocol.runs = runs;
    IfmMeasurement *measurement = ifm_measurement_new();
    g_assert_true(ifm_measure_subject(&subject, &options, measurement, NULL));
    g_assert_cmpuint(measurement->samples_ns->len, ==, runs);
    return measurement;
}

/* What computes has processor time, one a run, and less of it than there was time; what sleeps has none. */
static void test_kernel(void)
{
    g_autoptr(IfmMeasurement) busy = measure(spin, 50), idle = measure(sleep_a_while, 20);
    const json_t *runs = json_object_get(busy->environment, "runs"), *cpu_ns = json_object_get(runs, "cpu_ns");
    double wall_ns = 0, sum_ns = 0;
    g_assert_cmpstr(ifm_member_text(runs, "cpu"), ==, "thread");
    g_assert_cmpuint(json_array_size(cpu_ns), ==, 50);
    for (gsize i = 0; i < 50; i++)
    {
        wall_ns += (double)g_array_index(busy->samples_ns, gint64, i);
        sum_ns += (double)json_integer_value(json_array_get(cpu_ns, i));
    }
    g_assert_cmpfloat(sum_ns, >, 0);
    g_assert_cmpfloat(sum_ns, <, 1.5 * wall_ns); /* the clock's own time is in it */
    runs = json_object_get(idle->environment, "runs");
    g_assert_null(ifm_member_text(runs, "cpu"));
    g_assert_nonnull(ifm_member_text(runs, "why"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autofree char *path = g_strdup_printf("/cpu-times/%s", rows[i].name);
        g_test_add_data_func(path, &rows[i], test_row);
    }
    g_test_add_func("/cpu-times/many", test_many);
    g_test_add_func("/cpu-times/kernel", test_kernel);
    return g_test_run();
}
