#include <base/base.h>
#include <base/statistics.h>
#include <dlfcn.h>
#include <glib/gstdio.h>
#include <math.h>
#include <sensor/sensor.h>
#include <string.h>

#include "build-folders.h"

#define MS 1000000LL
#define S (1000 * MS)

/* A virtual clock that this thread runs on, and a folder that is removed. */
typedef struct Bench
{
    IfmClock *clock;
    char *root;
} Bench;

static void set_up(Bench *bench, gconstpointer data)
{
    bench->clock = ifm_clock_new_virtual(7 * S);
    bench->root = g_dir_make_tmp("ifm-energy-XXXXXX", NULL);
    g_assert_nonnull(bench->root);
    ifm_clock_enter(bench->clock);
}

static void tear_down(Bench *bench, gconstpointer data)
{
    const char *arguments[] = { "rm", "-rf", bench->root, NULL };
    ifm_clock_leave(bench->clock);
    ifm_clock_unref(bench->clock);
    g_assert_true(g_spawn_sync(NULL, (char **)arguments, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL));
    g_free(bench->root);
}

/* Writes a file below the root, with the folders above it. */
static char *put(const Bench *bench, const char *relative, const char *text)
{
    char *path = g_build_filename(bench->root, relative, NULL);
    g_autofree char *folder = g_path_get_dirname(path);
    g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
    return path;
}

static void put_zone(const Bench *bench, const char *zone, const char *name, const char *energy)
{
    const char *files[][2] = { { "name", name }, { "energy_uj", energy }, { "max_energy_range_uj", "262143328850\n" } };
    for (gsize i = 0; i < G_N_ELEMENTS(files); i++)
    {
        g_autofree char *relative = g_build_filename("sys/class/powercap", zone, files[i][0], NULL);
        g_free(put(bench, relative, files[i][1]));
    }
}

static void sleep_for(const Bench *bench, gint64 duration_ns)
{
    ifm_clock_sleep_until_ns(bench->clock, ifm_clock_now_ns(bench->clock) + duration_ns);
}

static IfmEnergyMeter *open_meter(const Bench *bench, const char *name, const IfmEnergyOptions *options)
{
    g_autoptr(GError) error = NULL;
    IfmEnergyMeter *meter = ifm_energy_open(name, options, bench->clock, &error);
    g_assert_no_error(error);
    g_assert_nonnull(meter);
    return meter;
}

static void assert_refused(const Bench *bench, const char *name, const IfmEnergyOptions *options, int code,
                           const char *part)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_energy_open(name, options, bench->clock, &error));
    g_assert_error(error, IFM_ERROR, code);
    g_assert_null(strchr(error->message, '\n'));
    if (strstr(error->message, part) == NULL)
        g_error("\"%s\" does not say \"%s\"", error->message, part);
}

static void begin(IfmEnergyMeter *meter)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(ifm_energy_begin(meter, &error));
    g_assert_no_error(error);
}

static void end(IfmEnergyMeter *meter, const IfmEnergyResult *idle, IfmEnergyResult *result)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(ifm_energy_end(meter, idle, result, &error));
    g_assert_no_error(error);
}

static const IfmEnergyReading *reading_of(const IfmEnergyResult *result, const char *domain)
{
    for (gsize i = 0; i < result->n_readings; i++)
        if (strcmp(result->readings[i].domain, domain) == 0)
            return &result->readings[i];
    g_error("no domain %s", domain);
}

static void put_machine(const Bench *bench, int state)
{
    /* package 0 wraps: its counter is at 262143328850 - 1000000, then 2000000 above 0 */
    put_zone(bench, "intel-rapl:0", "package-0\n", state == 0 ? "262142328850\n" : "2000000\n");
    put_zone(bench, "intel-rapl:0:0", "core\n", state == 0 ? "100\n" : "1100100\n");
    put_zone(bench, "intel-rapl:0:1", "dram\n", state == 0 ? "500\n" : "700500\n");
    put_zone(bench, "intel-rapl:1", "package-1\n", state == 0 ? "0\n" : "4000000\n");
    put_zone(bench, "intel-rapl:2", "psys\n", state == 0 ? "0\n" : "9000000\n");
    put_zone(bench, "intel-rapl-mmio:0", "package-0\n", state == 0 ? "0\n" : "3000000\n");
}

static void test_rapl(Bench *bench, gconstpointer data)
{
    IfmEnergyOptions options = { .root = bench->root };
    IfmEnergyResult result = { 0 };
    put_machine(bench, 0);
    g_autoptr(IfmEnergyMeter) meter = open_meter(bench, "rapl", &options);
    g_assert_true(ifm_energy_start(meter, 10 * MS, NULL));
    begin(meter);
    sleep_for(bench, S + 1);
    put_machine(bench, 1);
    end(meter, NULL, &result);
    g_assert_cmpint(result.duration_ns, ==, S + 1);
    g_assert_cmpuint(result.n_readings, ==, 5); /* without intel-rapl-mmio */
    g_assert_cmpfloat_with_epsilon(reading_of(&result, "package-0")->gross_j.value, 3.0, 1.5e-6);
    g_assert_cmpfloat_with_epsilon(reading_of(&result, "package-0/core")->gross_j.value, 1.1, 1e-12);
    g_assert_cmpfloat_with_epsilon(reading_of(&result, "package-0/dram")->gross_j.value, 0.7, 1e-12);
    g_assert_cmpfloat_with_epsilon(reading_of(&result, "psys")->gross_j.value, 9.0, 1e-12);
    g_assert_false(reading_of(&result, "psys")->in_total);
    g_assert_false(reading_of(&result, "package-0/core")->in_total);
    g_assert_cmpfloat_with_epsilon(result.gross_j.value, 3.0 + 0.7 + 4.0, 1.5e-6);
    g_assert_true(result.too_short);
    g_assert_nonnull(result.net_j.unavailable); /* no idle window */
    g_assert_true(isnan(result.net_j.value));
    ifm_energy_result_clear(&result);
}

/* Many small windows with wraps: the sum is exact to one step a wrap. */
static void test_rapl_wraps(Bench *bench, gconstpointer data)
{
    IfmEnergyOptions options = { .root = bench->root };
    const guint64 range = 262143328850, stride = 60000000000;
    guint64 counter = 0;
    put_machine(bench, 0);
    put_zone(bench, "intel-rapl:0", "package-0\n", "0\n");
    g_autoptr(IfmEnergyMeter) meter = open_meter(bench, "rapl", &options);
    g_assert_true(ifm_energy_start(meter, 10 * MS, NULL));
    begin(meter);
    for (int i = 0; i < 50; i++)
    {
        counter = (counter + stride) % (range + 1);
        g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT "\n", counter);
        put_zone(bench, "intel-rapl:0", "package-0\n", text);
        sleep_for(bench, 25 * MS);
    }
    IfmEnergyResult result = { 0 };
    end(meter, NULL, &result);
    g_assert_cmpfloat_with_epsilon(reading_of(&result, "package-0")->gross_j.value, 50 * 60000.0, 1e-6);
    g_assert_cmpuint(reading_of(&result, "package-0")->n_updates, ==, 50);
    ifm_energy_result_clear(&result);
}

static void test_rapl_vanishes(Bench *bench, gconstpointer data)
{
    IfmEnergyOptions options = { .root = bench->root };
    IfmEnergyResult result = { 0 };
    put_machine(bench, 0);
    g_autoptr(IfmEnergyMeter) meter = open_meter(bench, "rapl", &options);
    g_assert_true(ifm_energy_start(meter, 10 * MS, NULL));
    begin(meter);
    sleep_for(bench, 100 * MS + 1);
    put_machine(bench, 1);
    g_autofree char *path = g_build_filename(bench->root, "sys/class/powercap/intel-rapl:1/energy_uj", NULL);
    g_assert_cmpint(g_unlink(path), ==, 0);
    end(meter, NULL, &result);
    g_assert_cmpint(result.duration_ns, ==, 100 * MS + 1);
    g_assert_nonnull(strstr(result.gross_j.unavailable, path));
    g_assert_true(isnan(result.gross_j.value));
    g_assert_null(reading_of(&result, "package-0")->gross_j.unavailable);
    ifm_energy_result_clear(&result);
}

static void test_rapl_bad(Bench *bench, gconstpointer data)
{
    IfmEnergyOptions options = { .root = bench->root };
    assert_refused(bench, "rapl", &options, IFM_ERROR_UNAVAILABLE, "no counter intel-rapl");
    g_free(put(bench, "proc/cpuinfo", "flags\t\t: fpu sse hypervisor\n"));
    assert_refused(bench, "rapl", &options, IFM_ERROR_UNAVAILABLE, "virtual machine");
    const char *garbage[] = { "",       "x\n", "-1\n", "1 2\n", "99999999999999999999\n", "\xff\xfe\n", "262143328851\n",
                              "a\nb\nc" };
    for (gsize i = 0; i < G_N_ELEMENTS(garbage); i++)
    {
        put_zone(bench, "intel-rapl:0", "package-0\n", garbage[i]);
        assert_refused(bench, "rapl", &options, IFM_ERROR_UNAVAILABLE, "intel-rapl:0/energy_uj");
    }
    assert_refused(bench, "rpal", &options, IFM_ERROR_INVALID, "\"rapl\"");
    put_machine(bench, 0);
    IfmEnergyResult result = { 0 };
    g_autoptr(IfmEnergyMeter) meter = open_meter(bench, "rapl", &options);
    g_assert_true(ifm_energy_start(meter, 10 * MS, NULL));
    begin(meter);
    sleep_for(bench, 100 * MS + 1);
    end(meter, NULL, &result);
    g_assert_cmpuint(result.n_readings, ==, 5);
    g_assert_cmpstr(result.readings[1].domain, ==, "package-0/core");
    ifm_energy_result_clear(&result);
    assert_refused(bench, "hwmon", &options, IFM_ERROR_UNAVAILABLE, "no device shows energy or power");
}

static void test_rapl_permission(Bench *bench, gconstpointer data)
{
    IfmEnergyOptions options = { .root = bench->root };
    put_zone(bench, "intel-rapl:0", "package-0\n", "1\n");
    g_autofree char *path = g_build_filename(bench->root, "sys/class/powercap/intel-rapl:0/energy_uj", NULL);
    g_assert_cmpint(g_chmod(path, 0), ==, 0);
    if (g_access(path, R_OK) == 0)
        g_test_skip("this user reads every file");
    else
        assert_refused(bench, "rapl", &options, IFM_ERROR_UNAVAILABLE, "Linux 5.10");
}

static void test_hwmon(Bench *bench, gconstpointer data)
{
    IfmEnergyOptions options = { .root = bench->root };
    IfmEnergyResult result = { 0 };
    g_free(put(bench, "sys/class/hwmon/hwmon3/name", "ina226\n"));
    g_free(put(bench, "sys/class/hwmon/hwmon3/power1_input", "5000000\n"));
    g_autoptr(IfmEnergyMeter) meter = open_meter(bench, "hwmon", &options);
    g_assert_true(ifm_energy_start(meter, 10 * MS, NULL));
    begin(meter);
    sleep_for(bench, 2 * S);
    end(meter, NULL, &result);
    g_assert_cmpfloat_with_epsilon(result.gross_j.value, 10.0, 1e-9);
    g_assert_nonnull(result.readings[0].counted_j.unavailable);
    ifm_energy_result_clear(&result);
}

static void test_recorded(Bench *bench, gconstpointer data)
{
    g_autoptr(GString) text = g_string_new("time_s,domain,energy_uj,power_w\n");
    for (int i = 0; i <= 400; i++)
        g_string_append_printf(text, "%.2f,soc,%d,\n%.2f,gpu,,%d\n", i * 0.01, i * 20000, i * 0.01, 4);
    g_autofree char *path = put(bench, "run.csv", text->str);
    IfmEnergyOptions options = { .recording = path };
    IfmEnergyResult idle = { 0 }, result = { 0 };
    g_autoptr(IfmEnergyMeter) meter = open_meter(bench, "recorded", &options);
    g_assert_true(ifm_energy_start(meter, 5 * MS, NULL));
    g_assert_cmpint(ifm_energy_window_ns(meter), ==, 0);
    sleep_for(bench, 500 * MS + 1);
    gint64 window_ns = ifm_energy_window_ns(meter);
    g_assert_cmpint(ABS(window_ns - 210 * MS), <=, 5 * MS);
    begin(meter);
    sleep_for(bench, S);
    end(meter, NULL, &idle);
    begin(meter);
    sleep_for(bench, S);
    end(meter, &idle, &result);
    g_assert_false(result.too_short);
    g_assert_cmpfloat_with_epsilon(reading_of(&result, "soc")->gross_j.value, 2.0, 1e-9);
    g_assert_cmpfloat_with_epsilon(reading_of(&result, "gpu")->gross_j.value, 4.0, 1e-9);
    g_assert_cmpfloat_with_epsilon(result.gross_j.value, 6.0, 1e-9);
    g_assert_cmpfloat_with_epsilon(result.net_j.value, 0.0, 1e-9);
    g_assert_cmpfloat(result.net_j.interval.upper, >, 0);
    ifm_energy_result_clear(&result);
    begin(meter);
    sleep_for(bench, 5 * S); /* past the last row */
    end(meter, NULL, &result);
    g_assert_nonnull(strstr(result.gross_j.unavailable, "no row after"));
    g_assert_cmpint(result.duration_ns, ==, 5 * S);
    ifm_energy_result_clear(&result);
    ifm_energy_result_clear(&idle);
}

static void test_recorded_bad(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *text, *reason;
    } rows[] = {
        { "", "run.csv" },
        { "time_s,domain,energy_uj\n0,a,1\n", "power_w" },
        { "time_s,domain,energy_uj,power_w\n", "without rows" },
        { "time_s,domain,energy_uj,power_w\n0,a,x,\n", "run.csv:2" },
        { "time_s,domain,energy_uj,power_w\n0,a,1.5,\n", "not whole" },
        { "time_s,domain,energy_uj,power_w\n0,a,-1,\n", "run.csv:2" },
        { "time_s,domain,energy_uj,power_w\n0,a,,\n", "neither" },
        { "time_s,domain,energy_uj,power_w\n,a,1,\n", "time_s" },
        { "time_s,domain,energy_uj,power_w\n0,,1,\n", "no name" },
        { "time_s,domain,energy_uj,power_w\n1,a,1,\n1,a,2,\n", "run.csv:3" },
        { "time_s,domain,energy_uj,power_w\n0,a,5,\n1,a,2,\n", "falls" },
        { "time_s,domain,energy_uj,power_w\n0,a,5,\n1,a,,3\n", "some rows" },
        { "time_s,domain,energy_uj,power_w\n1e300,a,5,\n", "run.csv:2" },
        { "time_s,domain,energy_uj,power_w\nnan,a,5,\n", "run.csv:2" },
        { "time_s,domain,energy_uj,power_w\n0,\"a\nb\",5,\n", "one line" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autofree char *path = put(bench, "run.csv", rows[i].text);
        IfmEnergyOptions options = { .recording = path };
        assert_refused(bench, "recorded", &options, IFM_ERROR_INVALID, rows[i].reason);
    }
    IfmEnergyOptions none = { .recording = "/nowhere/run.csv" };
    assert_refused(bench, "recorded", &none, IFM_ERROR_UNAVAILABLE, "/nowhere/run.csv");
}

#define N_SERIES 1000

/* One window of a simulated source with a random phase. Returns: whether the true energy is in the interval. */
static void run_series(const Bench *bench, guint64 seed, gsize *n_counted, gsize *n_sampled, double *half_ratio)
{
    IfmEnergySimulated simulated = { .seed = seed,
                                     .power_w = 20 + (double)(seed % 7) * 10,
                                     .drift_w_per_s = (double)(seed % 5) - 2,
                                     .noise_w = 1,
                                     .gauge_noise_w = 2,
                                     .update_period_ns = 100 * MS,
                                     .step_uj = 61,
                                     .range_uj = 61 * 400000 };
    IfmEnergyOptions options = { .simulated = &simulated };
    IfmEnergyResult result = { 0 };
    g_autoptr(GRand) chance = g_rand_new_with_seed((guint32)seed);
    gint64 opened_ns = ifm_clock_now_ns(bench->clock);
    g_autoptr(IfmEnergyMeter) meter = open_meter(bench, "simulated", &options);
    g_assert_true(ifm_energy_start(meter, 25 * MS, NULL));
    while (ifm_energy_window_ns(meter) == 0)
        sleep_for(bench, 100 * MS);
    sleep_for(bench, g_rand_int_range(chance, 0, 100000000));
    begin(meter);
    gint64 from_ns = ifm_clock_now_ns(bench->clock) - opened_ns;
    sleep_for(bench, ifm_energy_window_ns(meter) + g_rand_int_range(chance, 0, 100000000));
    gint64 to_ns = ifm_clock_now_ns(bench->clock) - opened_ns;
    end(meter, NULL, &result);
    double truth_j = ifm_energy_simulated_j(&simulated, to_ns) - ifm_energy_simulated_j(&simulated, from_ns);
    const IfmEnergyReading *reading = &result.readings[0];
    g_assert_false(result.too_short);
    g_assert_null(result.gross_j.unavailable);
    *n_counted += truth_j >= result.gross_j.interval.lower && truth_j <= result.gross_j.interval.upper;
    *n_sampled += truth_j >= reading->sampled_j.interval.lower && truth_j <= reading->sampled_j.interval.upper;
    *half_ratio = MAX(*half_ratio, (result.gross_j.interval.upper - truth_j) / truth_j);
    ifm_energy_result_clear(&result);
}

static void test_coverage(Bench *bench, gconstpointer data)
{
    gsize n_counted = 0, n_sampled = 0;
    double half_ratio = 0;
    for (guint64 seed = 0; seed < N_SERIES; seed++)
        run_series(bench, seed, &n_counted, &n_sampled, &half_ratio);
    g_test_message("in the interval: counter %zu, samples %zu of %d; upper end at most %.1f %% above the truth", n_counted,
                   n_sampled, N_SERIES, half_ratio * 100);
    g_assert_cmpfloat(ifm_binomial_interval(n_counted, N_SERIES, 0.95).upper, >=, 0.95);
    g_assert_cmpfloat(ifm_binomial_interval(n_sampled, N_SERIES, 0.95).upper, >=, 0.95);
    g_assert_cmpfloat(half_ratio, <, 0.15);
}

static void test_disagreement(Bench *bench, gconstpointer data)
{
    for (int biased = 0; biased <= 1; biased++)
    {
        IfmEnergySimulated simulated = { .seed = 3,
                                         .power_w = 50,
                                         .gauge_bias_w = biased ? 10 : 0,
                                         .update_period_ns = 10 * MS,
                                         .step_uj = 1,
                                         .vanishes_after_ns = 3 * S };
        IfmEnergyOptions options = { .simulated = &simulated };
        IfmEnergyResult result = { 0 };
        g_autoptr(IfmEnergyMeter) meter = open_meter(bench, "simulated", &options);
        g_assert_false(ifm_energy_begin(meter, NULL));
        g_assert_true(ifm_energy_start(meter, 2 * MS, NULL));
        g_assert_false(ifm_energy_start(meter, 2 * MS, NULL));
        g_assert_false(ifm_energy_end(meter, NULL, &result, NULL));
        begin(meter);
        g_assert_false(ifm_energy_begin(meter, NULL));
        sleep_for(bench, S);
        end(meter, NULL, &result);
        g_assert_cmpint(result.readings[0].disagrees, ==, biased);
        g_assert_cmpint(result.sampler_cpu_ns, >, 0);
        ifm_energy_result_clear(&result);
        begin(meter);
        sleep_for(bench, 4 * S);
        end(meter, NULL, &result);
        g_assert_cmpstr(result.gross_j.unavailable, ==, "simulated: the source vanished");
        g_assert_cmpint(result.duration_ns, ==, 4 * S);
        ifm_energy_result_clear(&result);
    }
}

/* As in fake-nvml.c. */
typedef struct FakeNvml
{
    unsigned long long energy_mj;
    unsigned power_mw, instant_mw;
    int counter_result, instant_result, power_result, init_result;
} FakeNvml;

static void test_nvml(Bench *bench, gconstpointer data)
{
    const char *library = IFM_BUILD_DIR "/tests/sensor/libnvidia-ml.so.1";
    void *handle = dlopen(library, RTLD_NOW);
    g_assert_nonnull(handle);
    FakeNvml *fake = dlsym(handle, "fake_nvml");
    g_assert_nonnull(fake);
    IfmEnergyOptions options = { .nvml_library = library, .cuda_library = library, .cuda_device = 1 };
    IfmEnergyResult result = { 0 };
    *fake = (FakeNvml){ .energy_mj = 1000, .instant_mw = 250000, .power_mw = 100000 };
    IfmEnergyMeter *meter = open_meter(bench, "nvml", &options);
    g_assert_true(ifm_energy_start(meter, 10 * MS, NULL));
    begin(meter);
    sleep_for(bench, S + 1);
    fake->energy_mj = 251000;
    end(meter, NULL, &result);
    g_assert_cmpfloat_with_epsilon(result.gross_j.value, 250, 1e-9);
    g_assert_cmpfloat_with_epsilon(result.readings[0].sampled_j.value, 250, 1e-5);
    ifm_energy_result_clear(&result);
    begin(meter);
    fake->counter_result = 15;
    sleep_for(bench, S);
    end(meter, NULL, &result);
    g_assert_nonnull(strstr(result.gross_j.unavailable, "GPU is lost"));
    ifm_energy_result_clear(&result);
    ifm_energy_close(meter);
    fake->instant_result = 3; /* neither counter nor POWER_INSTANT: nvmlDeviceGetPowerUsage */
    meter = open_meter(bench, "nvml", &options);
    g_assert_true(ifm_energy_start(meter, 10 * MS, NULL));
    begin(meter);
    sleep_for(bench, S);
    end(meter, NULL, &result);
    g_assert_cmpfloat_with_epsilon(result.gross_j.value, 100, 1e-9);
    ifm_energy_result_clear(&result);
    ifm_energy_close(meter);
    fake->power_result = 3;
    assert_refused(bench, "nvml", &options, IFM_ERROR_UNAVAILABLE, "neither total energy nor power");
    options.cuda_device = 0;
    assert_refused(bench, "nvml", &options, IFM_ERROR_UNAVAILABLE, "0000:66:00.0");
    options.cuda_device = 2;
    assert_refused(bench, "nvml", &options, IFM_ERROR_UNAVAILABLE, "CUDA has no GPU 2");
    options.cuda_library = "/nowhere/libcuda.so.1";
    assert_refused(bench, "nvml", &options, IFM_ERROR_UNAVAILABLE, "/nowhere/libcuda.so.1");
    options.nvml_library = "/nowhere/libnvidia-ml.so.1";
    assert_refused(bench, "nvml", &options, IFM_ERROR_UNAVAILABLE, "/nowhere/libnvidia-ml.so.1");
    dlclose(handle);
}

#define ADD(name, function) g_test_add("/energy/" name, Bench, NULL, set_up, function, tear_down)

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    ADD("rapl", test_rapl);
    ADD("rapl/wraps", test_rapl_wraps);
    ADD("rapl/vanishes", test_rapl_vanishes);
    ADD("rapl/bad", test_rapl_bad);
    ADD("rapl/permission", test_rapl_permission);
    ADD("hwmon", test_hwmon);
    ADD("recorded", test_recorded);
    ADD("recorded/bad", test_recorded_bad);
    ADD("coverage", test_coverage);
    ADD("disagreement", test_disagreement);
    ADD("nvml", test_nvml);
    return g_test_run();
}
