#include <glib/gstdio.h>
#include <sensor/sensor.h>
#include <signal.h>
#include <stress/stress.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "http-server.h"

/* A real Prometheus that scrapes a real node exporter and a recorded DCGM exporter, all on loopback. */

#define LOOK_US 200000
#define N_LOOKS 150 /* half a minute */

typedef struct
{
    char *folder, *url;
    GPid exporter, prometheus;
    HttpServer dcgm;
} Bench;

static void die_with_us(gpointer data)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static GPid spawn(const char *const *words)
{
    GPid pid = 0;
    g_autoptr(GError) error = NULL;
    g_spawn_async(NULL, (char **)words, NULL,
                  G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL | G_SPAWN_STDERR_TO_DEV_NULL,
                  die_with_us, NULL, &pid, &error);
    g_assert_no_error(error);
    return pid;
}

/* As the exporter of a GPU says it. */
static char *recorded(const char *path, const char *form, void *user)
{
    return g_strdup("# TYPE DCGM_FI_PROF_GR_ENGINE_ACTIVE gauge\n"
                    "DCGM_FI_PROF_GR_ENGINE_ACTIVE{gpu=\"0\",UUID=\"GPU-1\",modelName=\"NVIDIA L40S\"} 0.5\n"
                    "# TYPE DCGM_FI_PROF_DRAM_ACTIVE gauge\n"
                    "DCGM_FI_PROF_DRAM_ACTIVE{gpu=\"0\",UUID=\"GPU-1\",modelName=\"NVIDIA L40S\"} 0.25\n"
                    "# TYPE DCGM_FI_DEV_GPU_UTIL gauge\n"
                    "DCGM_FI_DEV_GPU_UTIL{gpu=\"0\",UUID=\"GPU-1\",modelName=\"NVIDIA L40S\"} 75\n");
}

static const char *lacking(void)
{
    static const char *const programs[] = { "prometheus", "prometheus-node-exporter" };
    for (gsize i = 0; i < G_N_ELEMENTS(programs); i++)
    {
        g_autofree char *path = g_find_program_in_path(programs[i]);
        if (path == NULL)
            return programs[i];
    }
    return NULL;
}

static void bench_init(Bench *bench)
{
    *bench = (Bench){ .folder = g_dir_make_tmp("ifm-prometheus-XXXXXX", NULL), .dcgm = { .answer = recorded } };
    http_start(&bench->dcgm);
    const guint16 node = free_port(), server = free_port();
    g_autofree char *config = g_build_filename(bench->folder, "prometheus.yml", NULL),
                    *data = g_build_filename(bench->folder, "data", NULL),
                    *text = g_strdup_printf("global: {scrape_interval: 1s, scrape_timeout: 900ms}\nscrape_configs:\n"
                                            "  - {job_name: node, static_configs: [{targets: ['127.0.0.1:%d']}]}\n"
                                            "  - {job_name: dcgm, static_configs: [{targets: ['127.0.0.1:%d']}]}\n",
                                            node, bench->dcgm.port),
                    *listen_node = g_strdup_printf("--web.listen-address=127.0.0.1:%d", node),
                    *listen = g_strdup_printf("--web.listen-address=127.0.0.1:%d", server),
                    *file = g_strdup_printf("--config.file=%s", config),
                    *path = g_strdup_printf("--storage.tsdb.path=%s", data);
    g_assert_true(g_file_set_contents(config, text, -1, NULL));
    bench->url = g_strdup_printf("http://127.0.0.1:%d", server);
    bench->exporter = spawn((const char *const[]){ "prometheus-node-exporter", listen_node, "--collector.disable-defaults",
                                                   "--collector.cpu", "--collector.loadavg", NULL });
    bench->prometheus = spawn((const char *const[]){ "prometheus", file, path, listen, "--log.level=error", NULL });
}

static void end(GPid pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void remove_all(const char *path)
{
    GDir *folder = g_dir_open(path, 0, NULL);
    for (const char *name; folder != NULL && (name = g_dir_read_name(folder)) != NULL;)
    {
        g_autofree char *inside = g_build_filename(path, name, NULL);
        remove_all(inside);
    }
    g_clear_pointer(&folder, g_dir_close);
    g_remove(path);
}

static void bench_clear(Bench *bench)
{
    end(bench->prometheus);
    end(bench->exporter);
    http_stop(&bench->dcgm);
    remove_all(bench->folder);
    g_free(bench->folder);
    g_free(bench->url);
}

/* Seconds that core 0 was idle since the machine started, by the kernel itself. */
static double idle_seconds(void)
{
    g_autofree char *text = NULL;
    g_assert_true(g_file_get_contents("/proc/stat", &text, NULL, NULL));
    const char *line = strstr(text, "cpu0 ");
    g_auto(GStrv) words = g_strsplit(line, " ", 6); /* cpu0 user nice system idle */
    return g_ascii_strtod(words[4], NULL) / (double)sysconf(_SC_CLK_TCK);
}

/* Looks until core 0 is as busy as is wanted, or, where other processes keep it busier than that, as busy as the kernel
 * said in the 5 s before. Returns: how busy it was at last; -1: it never was. */
static double await_busy(const Bench *bench, double low, double high)
{
    const int core = 0;
    double idle[25], times[25]; /* of the last looks */
    for (gsize look = 0; look < N_LOOKS; look++)
    {
        double same, other;
        const gsize at = look % G_N_ELEMENTS(idle);
        const double now = (double)g_get_monotonic_time() / 1e6, idle_now = idle_seconds(),
                     by_kernel = look < G_N_ELEMENTS(idle) ? 0 : 1 - (idle_now - idle[at]) / (now - times[at]);
        idle[at] = idle_now;
        times[at] = now;
        if (ifm_prometheus_busy(bench->url, &core, 1, G_GINT64_CONSTANT(2000000000), &same, &other, NULL) && same >= low &&
            (same <= high || (by_kernel > high && same <= by_kernel + 0.1)))
        {
            if (same > high)
                g_test_message("other processes keep core 0 busy: %.2f, and %.2f by the kernel", same, by_kernel);
            return same;
        }
        g_usleep(LOOK_US);
    }
    return -1;
}

static gboolean await_metric(const Bench *bench, const char *query, IfmPrometheusWindow *window)
{
    for (int look = 0; look < N_LOOKS; look++)
    {
        const gint64 now_ns = g_get_real_time() * 1000;
        if (ifm_prometheus_window(bench->url, query, now_ns - G_GINT64_CONSTANT(3000000000), now_ns, 1000000000, window,
                                  NULL))
            return TRUE;
        g_usleep(LOOK_US);
    }
    return FALSE;
}

/* Busy follows a stressor that starts and stops. The other core may be busy with anything, and this one, too. */
static void test_follows(void)
{
    Bench bench;
    IfmPrometheusWindow window;
    if (lacking() != NULL)
    {
        g_autofree char *why = g_strdup_printf("%s is not installed", lacking());
        g_test_skip(why);
        return;
    }
    bench_init(&bench);
    const double before = await_busy(&bench, 0, 1);
    g_autoptr(IfmStressor) stressor = ifm_stressor_start(&(IfmStressOptions){ IFM_STRESS_GEMM, 1, "0" }, NULL);
    g_assert_nonnull(stressor);
    const double busy = await_busy(&bench, 0.9, 1);
    ifm_stressor_set(stressor, 0);
    const double after = await_busy(&bench, 0, 0.85);
    const gboolean has_gpu = await_metric(&bench, "gpu_engine_active", &window);
    const double engine = window.mean;
    const gboolean has_memory = await_metric(&bench, "gpu_memory_active", &window);
    const double memory = window.mean;
    const gboolean has_util = await_metric(&bench, "gpu_util", &window);
    g_autoptr(GError) error = NULL;
    const gint64 now_ns = g_get_real_time() * 1000;
    const gboolean found =
        ifm_prometheus_window(bench.url, "gpu_sm_active", now_ns - 2000000000, now_ns, 1000000000, &window, &error);
    g_autoptr(GError) bad = NULL;
    const gboolean answered =
        ifm_prometheus_window(bench.url, "rate(node_load1", now_ns - 2000000000, now_ns, 1000000000, &window, &bad);
    bench_clear(&bench); /* whatever is found, nothing stays */
    g_assert_cmpfloat(before, >=, 0);
    g_assert_cmpfloat(busy, >=, 0.9);
    g_assert_cmpfloat(after, >=, 0);
    g_assert_true(has_gpu && has_memory && has_util);
    g_assert_cmpfloat(memory, ==, 0.25);
    g_assert_cmpfloat(engine, ==, 0.5);
    g_assert_false(found);
    g_assert_nonnull(strstr(error->message, "did you mean \"DCGM_FI_PROF_DRAM_ACTIVE\"?"));
    g_assert_false(answered);
    g_assert_nonnull(strstr(bad->message, "parse error"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/prometheus-server/follows", test_follows);
    return g_test_run();
}
