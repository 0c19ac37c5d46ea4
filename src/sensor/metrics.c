/* What a machine did over a window of time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/fields.h>
#include <sensor/sensor.h>

#include "sensor-private.h"

/* Counters: of one instant. @cpus: name -> CpuTime*    @stalled_us: by row of `pressures`; -1: there is none */
typedef struct
{
    gint64 busy, idle;
} CpuTime;

static const struct
{
    const char *file, *name;
} pressures[] = {
    { "proc/pressure/cpu", "pressure_cpu" },
    { "proc/pressure/memory", "pressure_memory" },
    { "proc/pressure/io", "pressure_io" },
};

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

/* "cpu0 10 0 5 100 2 0 0 0 0 0": user, nice, system, idle, iowait, irq, softirq, steal; guests are in user and nice. */
static gboolean read_line(const char *line, char **name, CpuTime *time)
{
    g_auto(GStrv) words = g_strsplit_set(line, " ", -1);
    gint64 values[8] = { 0 };
    int n = 0;
    for (char **word = words + 1; words[0] != NULL && *word != NULL && n < 8; word++)
        if (**word != '\0' && !ifm_sensor_parse_count(*word, &values[n++]))
            return FALSE;
    if (n < 4)
        return FALSE;
    *name = g_strdup(words[0]);
    time->idle = values[3] + values[4];
    time->busy = values[0] + values[1] + values[2] + values[5] + values[6] + values[7];
    return TRUE;
}

static GHashTable *read_cpus(const char *root)
{
    GHashTable *cpus = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_autofree char *text = ifm_sensor_read(root, "proc/stat");
    g_auto(GStrv) lines = g_strsplit(text != NULL ? text : "", "\n", -1);
    for (char **line = lines; *line != NULL && g_str_has_prefix(*line, "cpu"); line++)
    {
        char *name = NULL;
        CpuTime time;
        if (read_line(*line, &name, &time))
            g_hash_table_replace(cpus, name, g_memdup2(&time, sizeof time));
    }
    return cpus;
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345", us */
static gint64 read_stalled(const char *root, const char *file)
{
    g_autofree char *text = ifm_sensor_read(root, file);
    const char *total = text != NULL && g_str_has_prefix(text, "some ") ? strstr(text, "total=") : NULL;
    g_autofree char *digits = total != NULL ? g_strndup(total + 6, strspn(total + 6, "0123456789")) : NULL;
    gint64 value;
    return digits != NULL && ifm_sensor_parse_count(digits, &value) ? value : -1;
}

static void counters_read(Counters *counters, const char *root)
{
    counters->cpus = read_cpus(root);
    for (gsize i = 0; i < G_N_ELEMENTS(pressures); i++)
        counters->stalled_us[i] = read_stalled(root, pressures[i].file);
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
        const CpuTime *before = g_hash_table_lookup(begin->cpus, name->data),
                      *after = g_hash_table_lookup(end->cpus, name->data);
        const gint64 busy = before != NULL ? after->busy - before->busy : 0,
                     all = before != NULL ? busy + after->idle - before->idle : 0;
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
        if (window->begin.stalled_us[i] >= 0 && end.stalled_us[i] >= window->begin.stalled_us[i])
            json_object_set_new(values, pressures[i].name,
                                ifm_json_real((double)(end.stalled_us[i] - window->begin.stalled_us[i]) / span_us));
    json_t *json = json_object();
    json_object_set_new(json, "start_unix_ns", json_integer(window->begin.unix_us * 1000));
    json_object_set_new(json, "end_unix_ns", json_integer(end.unix_us * 1000));
    json_object_set_new(json, "values", values);
    g_hash_table_unref(window->begin.cpus);
    g_hash_table_unref(end.cpus);
    g_free(window->root);
    g_free(window);
    return json;
}

/* --- the probe ----------------------------------------------------------------------------------------------------------
 */

#define PROBE_BYTES ((gsize)8 << 20)
#define N_PROBES 3

static gint compare_doubles(gconstpointer a, gconstpointer b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double ifm_metrics_copy_rate(void)
{
    char *from = malloc(PROBE_BYTES), *to = malloc(PROBE_BYTES);
    double rates[N_PROBES] = { 0 };
    if (from != NULL && to != NULL)
    {
        memset(from, 1, PROBE_BYTES);
        memset(to, 2, PROBE_BYTES);
        for (int i = 0; i < N_PROBES; i++)
        {
            const gint64 began_us = g_get_monotonic_time();
            memcpy(to, from, PROBE_BYTES);
            __asm__ volatile("" : : "r"(to) : "memory");
            rates[i] = 2e6 * (double)PROBE_BYTES / (double)MAX(g_get_monotonic_time() - began_us, 1);
        }
        qsort(rates, N_PROBES, sizeof *rates, compare_doubles);
    }
    free(from);
    free(to);
    return rates[N_PROBES / 2] > 0 ? rates[N_PROBES / 2] : (double)NAN;
}
