#include "sensor-private.h"
#include <base/fields.h>
#include <sensor/sensor.h>
#include <string.h>

/* "0.15 0.20 0.09 1/97 9169" */
static void set_load(json_t *snapshot, const char *root)
{
    g_autofree char *text = ifm_sensor_read(root, "proc/loadavg");
    g_auto(GStrv) words = ifm_sensor_words(text != NULL ? text : "");
    char *end = NULL;
    double load = words[0] != NULL ? g_ascii_strtod(words[0], &end) : 0;
    gboolean known = end != NULL && end != words[0] && *end == '\0';
    json_object_set_new(snapshot, "load_1min", known ? ifm_json_real(load) : json_null());
    gint64 running = 0;
    known = ifm_sensor_read_running(root, &running);
    json_object_set_new(snapshot, "running", ifm_sensor_int64_or_null(known, running));
}

/* One value per processor, sorted by number; null for a processor that is offline or has no value. */
static json_t *clocks_of_sysfs(const char *root)
{
    g_autoptr(GArray) processors = ifm_sensor_list(root, "sys/devices/system/cpu", "cpu");
    json_t *clocks = json_array();
    gboolean any = FALSE;
    for (guint i = 0; i < processors->len; i++)
    {
        gint64 khz = 0;
        gboolean known = ifm_sensor_read_int64(root, &khz, "sys/devices/system/cpu/cpu%d/cpufreq/scaling_cur_freq",
                                               g_array_index(processors, gint, i)) &&
                         khz > 0;
        json_array_append_new(clocks, known ? json_real((double)khz / 1000) : json_null());
        any |= known;
    }
    if (any)
        return clocks;
    json_decref(clocks);
    return NULL;
}

static json_t *clocks_of_cpuinfo(const char *root)
{
    g_autofree char *cpuinfo = ifm_sensor_read(root, "proc/cpuinfo");
    g_auto(GStrv) lines = g_strsplit(cpuinfo != NULL ? cpuinfo : "", "\n", -1);
    json_t *clocks = json_array();
    for (char **line = lines; *line != NULL; line++)
    {
        g_autofree char *value = ifm_sensor_field(*line, "cpu MHz");
        char *end = NULL;
        double mhz = value != NULL ? g_ascii_strtod(value, &end) : 0;
        if (value != NULL)
            json_array_append_new(clocks, *end == '\0' && mhz > 0 ? ifm_json_real(mhz) : json_null());
    }
    return ifm_sensor_or_null(clocks);
}

static void add_temperature(json_t *temperatures, const char *zone, gint64 millidegrees, gboolean peak_known, gint64 limit)
{
    if (millidegrees <= -273150 || millidegrees > 1000000) /* what broken sensors say */
        return;
    json_array_append_new(
        temperatures,
        json_pack("{s:o,s:f,s:o}", "zone", ifm_json_string(zone), "value", (double)millidegrees / 1000, "limit",
                  peak_known && limit > 0 && limit < 1000000 ? json_real((double)limit / 1000) : json_null()));
}

static gboolean critical_trip_point(const char *root, int zone, gint64 *limit)
{
    for (int i = 0; i < 16; i++)
    {
        g_autofree char *type = ifm_sensor_readf(root, "sys/class/thermal/thermal_zone%d/trip_point_%d_type", zone, i);
        if (type == NULL)
            return FALSE;
        if (g_str_equal(type, "critical"))
            return ifm_sensor_read_int64(root, limit, "sys/class/thermal/thermal_zone%d/trip_point_%d_temp", zone, i);
    }
    return FALSE;
}

static void add_thermal_zones(json_t *temperatures, const char *root)
{
    g_autoptr(GArray) zones = ifm_sensor_list(root, "sys/class/thermal", "thermal_zone");
    for (guint i = 0; i < zones->len; i++)
    {
        int zone = g_array_index(zones, gint, i);
        gint64 value = 0, limit = 0;
        if (!ifm_sensor_read_int64(root, &value, "sys/class/thermal/thermal_zone%d/temp", zone))
            continue;
        gboolean peak_known = critical_trip_point(root, zone, &limit);
        g_autofree char *type = ifm_sensor_readf(root, "sys/class/thermal/thermal_zone%d/type", zone);
        g_autofree char *name = type != NULL ? g_steal_pointer(&type) : g_strdup_printf("thermal_zone%d", zone);
        add_temperature(temperatures, name, value, peak_known, limit);
    }
}

/* Processor sensors outside the thermal zones: coretemp, k10temp. Sensors are numbered from 1, with gaps. */
static void add_hardware_monitors(json_t *temperatures, const char *root)
{
    g_autoptr(GArray) monitors = ifm_sensor_list(root, "sys/class/hwmon", "hwmon");
    for (guint i = 0; i < monitors->len; i++)
    {
        int monitor = g_array_index(monitors, gint, i);
        g_autofree char *name = ifm_sensor_readf(root, "sys/class/hwmon/hwmon%d/name", monitor);
        if (g_strcmp0(name, "coretemp") != 0 && g_strcmp0(name, "k10temp") != 0 && g_strcmp0(name, "zenpower") != 0)
            continue;
        for (int sensor = 1; sensor <= 64; sensor++)
        {
            gint64 value = 0, limit = 0;
            if (!ifm_sensor_read_int64(root, &value, "sys/class/hwmon/hwmon%d/temp%d_input", monitor, sensor))
                continue;
            gboolean known = ifm_sensor_read_int64(root, &limit, "sys/class/hwmon/hwmon%d/temp%d_crit", monitor, sensor);
            g_autofree char *label = ifm_sensor_readf(root, "sys/class/hwmon/hwmon%d/temp%d_label", monitor, sensor);
            g_autofree char *zone = label != NULL ? g_strdup_printf("%s %s", name, label) : g_strdup(name);
            add_temperature(temperatures, zone, value, known, limit);
        }
    }
}

static json_t *temperatures(const char *root)
{
    json_t *found = json_array();
    add_thermal_zones(found, root);
    add_hardware_monitors(found, root);
    return ifm_sensor_or_null(found);
}

/* Threads of a core, and processors of a package, share a counter. Each counter counts once. */
static void count_once(GHashTable *counters, char *key /* (transfer full) */, gint64 count)
{
    count = CLAMP(count, 0, G_GINT64_CONSTANT(1) << 48);
    gint64 *known = g_hash_table_lookup(counters, key);
    if (known == NULL)
    {
        g_hash_table_insert(counters, key, g_memdup2(&count, sizeof count));
        return;
    }
    *known = MAX(*known, count);
    g_free(key);
}

static json_t *sum_or_null(GHashTable *counters)
{
    gint64 sum = 0, *count;
    GHashTableIter iter;
    g_hash_table_iter_init(&iter, counters);
    while (g_hash_table_iter_next(&iter, NULL, (gpointer *)&count))
        sum += *count;
    return ifm_sensor_int64_or_null(g_hash_table_size(counters) > 0, sum);
}

static json_t *throttle_counts(const char *root)
{
    g_autoptr(GArray) processors = ifm_sensor_list(root, "sys/devices/system/cpu", "cpu");
    g_autoptr(GHashTable) cores = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_autoptr(GHashTable) packages = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    for (guint i = 0; i < processors->len; i++)
    {
        g_autofree char *folder = g_strdup_printf("sys/devices/system/cpu/cpu%d", g_array_index(processors, gint, i));
        gint64 count = 0, core = i, package = 0;
        ifm_sensor_read_int64(root, &core, "%s/topology/core_id", folder);
        ifm_sensor_read_int64(root, &package, "%s/topology/physical_package_id", folder);
        if (ifm_sensor_read_int64(root, &count, "%s/thermal_throttle/core_throttle_count", folder))
            count_once(cores, g_strdup_printf("%" G_GINT64_FORMAT "/%" G_GINT64_FORMAT, package, core), count);
        if (ifm_sensor_read_int64(root, &count, "%s/thermal_throttle/package_throttle_count", folder))
            count_once(packages, g_strdup_printf("%" G_GINT64_FORMAT, package), count);
    }
    if (g_hash_table_size(cores) == 0 && g_hash_table_size(packages) == 0)
        return json_null();
    return json_pack("{s:o,s:o}", "core", sum_or_null(cores), "package", sum_or_null(packages));
}

static json_t *cpu_jiffies(const char *root)
{
    g_autofree char *text = ifm_sensor_read(root, "proc/stat");
    g_auto(GStrv) lines = g_strsplit(text != NULL ? text : "", "\n", -1);
    json_t *processors = json_array();
    for (char **line = lines; *line != NULL; line++)
    {
        g_autofree char *name = NULL;
        SensorCpu cpu;
        gint64 number;
        if (g_str_has_prefix(*line, "cpu") && ifm_sensor_parse_cpu(*line, &name, &cpu) &&
            ifm_sensor_parse_count(name + strlen("cpu"), &number))
            json_array_append_new(processors, json_pack("{s:I,s:I,s:I,s:I}", "cpu", (json_int_t)number, "busy",
                                                        (json_int_t)(cpu.total - cpu.idle - cpu.steal), "steal",
                                                        (json_int_t)cpu.steal, "total", (json_int_t)cpu.total));
    }
    return ifm_sensor_or_null(processors);
}

typedef struct
{
    gint64 pid, parent, session;
    gint64 own, waited; /* jiffies of the process; of its children that ended and were waited for */
} ProcessTimes;

/* /proc/PID/stat. The command in parentheses may contain any text, so fields are counted after the last ")". */
static gboolean parse_process(const char *text, ProcessTimes *times)
{
    const char *behind = text != NULL ? strrchr(text, ')') : NULL;
    if (behind == NULL)
        return FALSE;
    g_auto(GStrv) words = ifm_sensor_words(behind + 1); /* words[0] is field 3, the state */
    g_autofree char *pid = g_strndup(text, strcspn(text, " "));
    gint64 user, system, waited_user, waited_system;
    if (g_strv_length(words) < 15 || !ifm_sensor_parse_count(pid, &times->pid) ||
        !ifm_sensor_parse_count(words[1], &times->parent) || !ifm_sensor_parse_count(words[3], &times->session) ||
        !ifm_sensor_parse_count(words[11], &user) || !ifm_sensor_parse_count(words[12], &system) ||
        !ifm_sensor_parse_count(words[13], &waited_user) || !ifm_sensor_parse_count(words[14], &waited_system))
        return FALSE;
    times->own = user + system;
    times->waited = waited_user + waited_system;
    return TRUE;
}

/* (transfer full) ProcessTimes */
static GArray *list_processes(const char *root)
{
    g_autoptr(GArray) pids = ifm_sensor_list(root, "proc", "");
    GArray *processes = g_array_new(FALSE, FALSE, sizeof(ProcessTimes));
    for (guint i = 0; i < pids->len; i++)
    {
        ProcessTimes times;
        g_autofree char *stat = ifm_sensor_readf(root, "proc/%d/stat", g_array_index(pids, gint, i));
        if (parse_process(stat, &times))
            g_array_append_val(processes, times);
    }
    return processes;
}

json_t *ifm_metrics_groups(const char *root)
{
    const char *folder = root != NULL ? root : "/";
    gint64 enabled = 0;
    ProcessTimes self;
    g_autofree char *text = ifm_sensor_read(folder, "proc/self/stat");
    if (!ifm_sensor_read_int64(folder, &enabled, "proc/sys/kernel/sched_autogroup_enabled") || enabled != 1 ||
        !parse_process(text, &self))
        return NULL;
    g_autoptr(GArray) processes = list_processes(folder);
    json_t *groups = json_object();
    for (guint i = 0; i < processes->len; i++)
    {
        const ProcessTimes *times = &g_array_index(processes, ProcessTimes, i);
        const gboolean is_ours = times->session == self.session;
        if (times->pid == self.pid)
            continue;
        g_autofree char *key =
            g_strdup_printf("%s %" G_GINT64_FORMAT, is_ours ? "process" : "session", is_ours ? times->pid : times->session);
        const gint64 sum = json_integer_value(json_object_get(groups, key)) + times->own + times->waited;
        json_object_set_new(groups, key, json_integer(sum));
    }
    return groups;
}

static json_t *own_jiffies(const char *root)
{
    ProcessTimes self;
    g_autofree char *text = ifm_sensor_read(root, "proc/self/stat");
    if (!parse_process(text, &self))
        return json_null();
    g_autoptr(GArray) processes = list_processes(root);
    gint64 sum = self.own + self.waited;
    g_autoptr(GHashTable) family = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
    g_hash_table_add(family, g_memdup2(&self.pid, sizeof self.pid));
    for (gboolean grown = TRUE;
         grown;) /* a child may have a smaller number than its parent, so repeat until there is no new one */
    {
        grown = FALSE;
        for (guint i = 0; i < processes->len; i++)
        {
            const ProcessTimes *times = &g_array_index(processes, ProcessTimes, i);
            if (!g_hash_table_contains(family, &times->parent) || g_hash_table_contains(family, &times->pid))
                continue;
            g_hash_table_add(family, g_memdup2(&times->pid, sizeof times->pid));
            sum += times->own + times->waited;
            grown = TRUE;
        }
    }
    return json_integer(sum);
}

/* G_MAXINT64: unknown. */
static gint64 left_of_machine(const char *root)
{
    gint64 bytes = 0, left = ifm_sensor_group_memory_left(root);
    return ifm_sensor_read_kib(root, "proc/meminfo", "MemAvailable", &bytes) ? MIN(bytes, left) : left;
}

/* "Max address space         4294967296           unlimited            bytes": what `ulimit -v` leaves. */
static gint64 left_of_address_space(const char *root)
{
    static const char key[] = "Max address space ";
    g_autofree char *text = ifm_sensor_read(root, "proc/self/limits");
    const char *line = text != NULL ? strstr(text, key) : NULL;
    g_auto(GStrv) words = ifm_sensor_words(line != NULL ? line + strlen(key) : "");
    gint64 limit, taken = 0;
    if (words[0] == NULL || !ifm_sensor_parse_count(words[0], &limit) || /* "unlimited" is not a number */
        !ifm_sensor_read_kib(root, "proc/self/status", "VmSize", &taken))
        return G_MAXINT64;
    return MAX(limit - taken, 0);
}

gint64 ifm_sensor_free_bytes(const char *root)
{
    return MIN(left_of_machine(root), left_of_address_space(root));
}

static json_t *pressure(const char *root)
{
    static const char *const kinds[] = { "cpu", "memory", "io" };
    json_t *found = json_object();
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
    {
        gint64 us = 0;
        g_autofree char *key = g_strdup_printf("%s_some_us", kinds[i]);
        const gboolean known = ifm_sensor_read_pressure(root, kinds[i], &us);
        json_object_set_new(found, key, ifm_sensor_int64_or_null(known, us));
    }
    return found;
}

json_t *ifm_sensor_jiffies(const char *root)
{
    return json_pack("{s:o,s:o}", "cpu_jiffies", cpu_jiffies(root), "own_jiffies", own_jiffies(root));
}

json_t *ifm_sensor_snapshot(const char *root)
{
    json_t *snapshot = json_object(), *clocks = clocks_of_sysfs(root);
    json_object_set_new(snapshot, "unix_ms", json_integer(g_get_real_time() / 1000));
    set_load(snapshot, root);
    gint64 available = left_of_machine(root);
    json_object_update_new(snapshot,
                           json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "clock_mhz",
                                     clocks != NULL ? clocks : clocks_of_cpuinfo(root), "temperature_c", temperatures(root),
                                     "throttle_counts", throttle_counts(root), "cpu_jiffies", cpu_jiffies(root),
                                     "own_jiffies", own_jiffies(root), "memory_available_bytes",
                                     ifm_sensor_int64_or_null(available < G_MAXINT64, available), "pressure",
                                     pressure(root), "cpu_quotas", ifm_sensor_cpu_quotas(root)));
    return snapshot;
}
