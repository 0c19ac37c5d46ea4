/* What a machine did over a window of time. */
#include <math.h>
#include <string.h>
#include <time.h>

#include <base/fields.h>
#include <base/statistics.h>
#include <sensor/sensor.h>

#include "sensor-private.h"

static const char *const pressures[] = { "cpu", "memory", "io" };

/* Counters: of one instant. @cpus: name -> SensorCpu*    @stalled_us: by row of `pressures`; -1: there is none */
typedef struct
{
    GHashTable *cpus;
    gint64 stalled_us[G_N_ELEMENTS(pressures)];
    gint64 monotonic_us, unix_us;
} Counters;

struct IfmMetricWindow
{
    char *root;
    Counters begin;
};

static GHashTable *read_cpus(const char *root)
{
    GHashTable *cpus = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_autofree char *text = ifm_sensor_read(root, "proc/stat");
    g_auto(GStrv) lines = g_strsplit(text != NULL ? text : "", "\n", -1);
    for (char **line = lines; *line != NULL && g_str_has_prefix(*line, "cpu"); line++)
    {
        char *name = NULL;
        SensorCpu cpu;
        if (ifm_sensor_parse_cpu(*line, &name, &cpu))
            g_hash_table_replace(cpus, name, g_memdup2(&cpu, sizeof cpu));
    }
    return cpus;
}

static void counters_read(Counters *counters, const char *root)
{
    counters->cpus = read_cpus(root);
    for (gsize i = 0; i < G_N_ELEMENTS(pressures); i++)
        if (!ifm_sensor_read_pressure(root, pressures[i], &counters->stalled_us[i]))
            counters->stalled_us[i] = -1;
    counters->monotonic_us = g_get_monotonic_time();
    counters->unix_us = g_get_real_time();
}

IfmMetricWindow *ifm_metrics_begin(const char *root)
{
    IfmMetricWindow *window = g_new0(IfmMetricWindow, 1);
    window->root = g_strdup(root != NULL ? root : "/");
    counters_read(&window->begin, window->root);
    return window;
}

static gint compare_names(gconstpointer a, gconstpointer b)
{
    const char *x = a, *y = b;
    const gsize n = strlen(x), m = strlen(y);
    return n != m ? (n > m) - (n < m) : strcmp(x, y); /* cpu2 before cpu10 */
}

static void add_cpus(json_t *values, const Counters *begin, const Counters *end)
{
    g_autoptr(GList) names = g_list_sort(g_hash_table_get_keys(end->cpus), compare_names);
    for (const GList *name = names; name != NULL; name = name->next)
    {
        const SensorCpu *before = g_hash_table_lookup(begin->cpus, name->data),
                        *after = g_hash_table_lookup(end->cpus, name->data);
        const gint64 all = before != NULL ? after->total - before->total : 0,
                     busy = before != NULL ? all - (after->idle - before->idle) : 0;
        g_autofree char *key = g_str_equal(name->data, "cpu") ? g_strdup("busy") : g_strconcat(name->data, "_busy", NULL);
        if (all > 0 && busy >= 0 && busy <= all)
            json_object_set_new(values, key, ifm_json_real((double)busy / (double)all));
    }
}

json_t *ifm_metrics_end(IfmMetricWindow *window)
{
    Counters end;
    json_t *values = json_object();
    counters_read(&end, window->root);
    const double span_us = (double)MAX(end.monotonic_us - window->begin.monotonic_us, 1);
    add_cpus(values, &window->begin, &end);
    for (gsize i = 0; i < G_N_ELEMENTS(pressures); i++)
    {
        g_autofree char *key = g_strconcat("pressure_", pressures[i], NULL);
        if (window->begin.stalled_us[i] >= 0 && end.stalled_us[i] >= window->begin.stalled_us[i])
            json_object_set_new(values, key,
                                ifm_json_real((double)(end.stalled_us[i] - window->begin.stalled_us[i]) / span_us));
    }
    json_t *json = json_pack("{s:I,s:I,s:o}", "start_unix_ns", (json_int_t)window->begin.unix_us * 1000, "end_unix_ns",
                             (json_int_t)end.unix_us * 1000, "values", values);
    g_hash_table_unref(window->begin.cpus);
    g_hash_table_unref(end.cpus);
    g_free(window->root);
    g_free(window);
    return json;
}

/* --- looking ----------------------------------------------------------------------------------------------------------
 */

/* Not a multiple of the kernel's tick, by which loads may go. */
#define LOOK_US 2900

#define PART_BYTES ((gsize)8 << 20)
#define N_PARTS 8
#define N_READS 2

/* Once for all: what others drive out of the caches is what is to be seen. NULL: there is no memory for it */
static const guint64 *read_memory(void)
{
    static gsize memory;
    if (g_once_init_enter(&memory))
    {
        guint64 *bytes = g_try_malloc(N_PARTS * PART_BYTES);
        if (bytes != NULL)
            memset(bytes, 1, N_PARTS * PART_BYTES);
        g_once_init_leave(&memory, bytes != NULL ? (gsize)bytes : 1);
    }
    return memory != 1 ? (const guint64 *)memory : NULL;
}

/* Returns: bytes a second */
static double read_part(const guint64 *part)
{
    const gint64 began_us = g_get_monotonic_time();
    guint64 sum = 0;
    for (gsize i = 0; i < PART_BYTES / sizeof *part; i++)
        sum += part[i];
    __asm__ volatile("" : : "r"(sum) : "memory");
    return 1e6 * (double)PART_BYTES / (double)MAX(g_get_monotonic_time() - began_us, 1);
}

static double read_rate(void)
{
    const guint64 *memory = read_memory();
    double rates[N_PARTS], log_sum = 0;
    if (memory == NULL)
        return (double)NAN;
    for (int k = 0; k < N_READS; k++)
    {
        for (gsize i = 0; i < N_PARTS; i++)
            rates[i] = read_part(memory + i * (PART_BYTES / sizeof *memory));
        ifm_sort_doubles(rates, N_PARTS);
        log_sum += log(ifm_quantile(rates, N_PARTS, 0.5));
    }
    return exp(log_sum / N_READS);
}

#define JIFFY_NS 1e7
#define LEAST_USE 0.1

double ifm_metrics_n_groups(const json_t *before, const json_t *after, gint64 window_ns)
{
    double n = 0;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)after, key, value)
    {
        const json_t *then = json_object_get(before, key);
        const gint64 used = json_integer_value(value) - json_integer_value(then);
        n += then != NULL && (double)used * JIFFY_NS >= LEAST_USE * (double)window_ns;
    }
    return before != NULL && after != NULL ? n : (double)NAN;
}

/* Sleeps. Returns: the mean number of tasks that ran or waited meanwhile, without this one; NaN: not known */
static double watch_running(const char *root, gint64 window_us)
{
    const gint64 end_us = g_get_monotonic_time() + window_us;
    double sum = 0, n = 0;
    for (gint64 left_us = window_us; left_us > 0; left_us = end_us - g_get_monotonic_time())
    {
        gint64 running;
        g_usleep((gulong)MIN(left_us, LOOK_US));
        if (!ifm_sensor_read_running(root, &running))
            continue;
        sum += (double)MAX(running - 1, 0);
        n++;
    }
    return n > 0 ? sum / n : (double)NAN;
}

static double own_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

void ifm_metrics_add_read(json_t *window)
{
    json_object_set_new(json_object_get(window, "values"), IFM_METRIC_READ_RATE, ifm_json_real(read_rate()));
}

json_t *ifm_metrics_look(const char *root, gint64 window_ns)
{
    read_memory(); /* filled before the window, where it counts neither as busy nor as own */
    const double began_ns = own_ns();
    IfmMetricWindow *window = ifm_metrics_begin(root);
    const double running = watch_running(window->root, window_ns / 1000);
    const double own = (own_ns() - began_ns) / (double)MAX(window_ns, 1);
    json_t *json = ifm_metrics_end(window), *values = json_object_get(json, "values");
    if (isfinite(running))
        json_object_set_new(values, "running", ifm_json_real(running));
    json_object_set_new(values, "own", ifm_json_real(own));
    ifm_metrics_add_read(json);
    return json;
}
