#include "sensor-private.h"
#include <base/fields.h>
#include <sensor/sensor.h>
#include <string.h>

/* The machine is described as JSON from /proc and /sys; a process's memory and a thread's wait for a processor are read. */

#define GIB (G_GINT64_CONSTANT(1) << 30)

/* x86 names its model; ARM gives implementer and part numbers. */
static char *processor_name(const char *cpuinfo)
{
    char *name = ifm_sensor_field(cpuinfo, "model name");
    if (name != NULL && *name != '\0')
        return name;
    g_free(name);
    g_autofree char *implementer = ifm_sensor_field(cpuinfo, "CPU implementer");
    g_autofree char *part = ifm_sensor_field(cpuinfo, "CPU part");
    if (implementer == NULL || part == NULL)
        return NULL;
    return g_strdup_printf("implementer %s part %s", implementer, part);
}

/* /proc/cpuinfo has one paragraph per processor. Counts processors, cores and sockets. */
static void set_counts(json_t *machine, const char *cpuinfo)
{
    g_auto(GStrv) paragraphs = g_strsplit(cpuinfo, "\n\n", -1);
    g_autoptr(GHashTable) cores = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GHashTable) sockets = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    gint64 n = 0;
    for (char **paragraph = paragraphs; *paragraph != NULL; paragraph++)
    {
        g_autofree char *processor = ifm_sensor_field(*paragraph, "processor");
        g_autofree char *socket = ifm_sensor_field(*paragraph, "physical id");
        g_autofree char *core = ifm_sensor_field(*paragraph, "core id");
        if (processor == NULL)
            continue;
        n++;
        if (socket == NULL || core == NULL)
            continue;
        g_hash_table_add(cores, g_strdup_printf("%s/%s", socket, core));
        g_hash_table_add(sockets, g_steal_pointer(&socket));
    }
    json_object_set_new(machine, "logical_processors", ifm_sensor_int64_or_null(n > 0, n));
    gint64 n_cores = g_hash_table_size(cores), n_sockets = g_hash_table_size(sockets);
    json_object_set_new(machine, "cores", ifm_sensor_int64_or_null(n_cores > 0, n_cores));
    json_object_set_new(machine, "sockets", ifm_sensor_int64_or_null(n_sockets > 0, n_sockets));
}

/* The flag exists on x86 only. Elsewhere sysfs may name the hypervisor. */
static json_t *is_virtual(const char *root, const char *cpuinfo)
{
    g_autofree char *type = ifm_sensor_read(root, "sys/hypervisor/type");
    if (type != NULL && *type != '\0')
        return json_true();
    g_autofree char *flags = ifm_sensor_field(cpuinfo, "flags");
    if (flags == NULL)
        return json_null();
    g_auto(GStrv) words = g_strsplit(flags, " ", -1);
    return json_boolean(g_strv_contains((const char *const *)words, "hypervisor"));
}

static json_t *switch_or_null(const char *root, const char *relative, gboolean inverted)
{
    gint64 value = 0;
    if (!ifm_sensor_read_int64(root, &value, "%s", relative) || (value != 0 && value != 1))
        return json_null();
    return json_boolean((value == 1) != inverted);
}

static json_t *boost(const char *root)
{
    json_t *on = switch_or_null(root, "sys/devices/system/cpu/cpufreq/boost", FALSE);
    if (!json_is_null(on))
        return on;
    return switch_or_null(root, "sys/devices/system/cpu/intel_pstate/no_turbo", TRUE);
}

/* All different values of the processors: "performance", "performance,powersave". */
static char *over_processors(const char *root, const char *relative)
{
    g_autoptr(GArray) processors = ifm_sensor_list(root, "sys/devices/system/cpu", "cpu");
    g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < processors->len; i++)
    {
        char *text =
            ifm_sensor_readf(root, "sys/devices/system/cpu/cpu%d/%s", g_array_index(processors, gint, i), relative);
        if (text == NULL || *text == '\0' || g_ptr_array_find_with_equal_func(found, text, g_str_equal, NULL))
            g_free(text);
        else
            g_ptr_array_add(found, text);
    }
    g_ptr_array_add(found, NULL);
    return found->len > 1 ? g_strjoinv(",", (char **)found->pdata) : NULL;
}

/* The minimum or maximum over the clocks of all processors, which differ in hybrid processors. */
static json_t *clock_mhz(const char *root, const char *file, gboolean highest)
{
    g_autoptr(GArray) processors = ifm_sensor_list(root, "sys/devices/system/cpu", "cpu");
    gint64 best = -1, khz = 0;
    for (guint i = 0; i < processors->len; i++)
        if (ifm_sensor_read_int64(root, &khz, "sys/devices/system/cpu/cpu%d/cpufreq/%s", g_array_index(processors, gint, i),
                                  file) &&
            khz > 0 && (best < 0 || (highest ? khz > best : khz < best)))
            best = khz;
    return best > 0 ? json_real((double)best / 1000) : json_null();
}

/* {"L1d": 32768, "L1i": …, "L2": …} of the first processor. */
static json_t *caches(const char *root)
{
    const char *folder = "sys/devices/system/cpu/cpu0/cache";
    g_autoptr(GArray) indices = ifm_sensor_list(root, folder, "index");
    json_t *found = json_object();
    for (guint i = 0; i < indices->len; i++)
    {
        int index = g_array_index(indices, gint, i);
        g_autofree char *type = ifm_sensor_readf(root, "%s/index%d/type", folder, index);
        g_autofree char *size = ifm_sensor_readf(root, "%s/index%d/size", folder, index);
        gint64 level = 0, kib = 0;
        if (type == NULL || size == NULL || !ifm_sensor_read_int64(root, &level, "%s/index%d/level", folder, index) ||
            !g_str_has_suffix(size, "K"))
            continue;
        size[strlen(size) - 1] = '\0';
        if (!ifm_sensor_parse_count(size, &kib))
            continue;
        const char *kind = g_str_equal(type, "Data") ? "d" : g_str_equal(type, "Instruction") ? "i" : "";
        g_autofree char *name = g_strdup_printf("L%" G_GINT64_FORMAT "%s", level, kind);
        json_object_set_new(found, name, json_integer(kib * 1024));
    }
    return ifm_sensor_or_null(found);
}

gint64 ifm_sensor_last_cache_bytes(const json_t *machine, int *level)
{
    static const char *const names[] = { "L4", "L3", "L2" };
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
    {
        const gint64 bytes = json_integer_value(json_object_get(json_object_get(machine, "caches_bytes"), names[i]));
        if (bytes <= 0)
            continue;
        if (level != NULL)
            *level = names[i][1] - '0';
        return bytes;
    }
    return 0;
}

/* The digest of the facts that identify a machine. Memory is in whole GiB: the kernel reserves a varying part. */
static json_t *identity(const json_t *machine)
{
    static const char *const facts[] = { "cpu",   "vendor",  "family",  "model", "stepping", "logical_processors",
                                         "cores", "sockets", "virtual", NULL };
    if (json_is_null(json_object_get(machine, "cpu")))
        return json_null();
    json_auto_t *stable = json_object();
    for (const char *const *fact = facts; *fact != NULL; fact++)
        json_object_set(stable, *fact, json_object_get(machine, *fact));
    const json_t *bytes = json_object_get(machine, "memory_bytes");
    if (json_is_integer(bytes))
        json_object_set_new(stable, "memory_gib", json_integer((json_integer_value(bytes) + GIB / 2) / GIB));
    g_autofree char *digest = ifm_json_digest(stable);
    return json_string(digest);
}

static void set_processor(json_t *machine, const char *root)
{
    static const char *const fields[][2] = { { "vendor", "vendor_id" },
                                             { "family", "cpu family" },
                                             { "model", "model" },
                                             { "stepping", "stepping" },
                                             { "microcode", "microcode" } };
    g_autofree char *cpuinfo = ifm_sensor_read(root, "proc/cpuinfo");
    const char *text = cpuinfo != NULL ? cpuinfo : "";
    g_autofree char *name = processor_name(text);
    json_object_set_new(machine, "cpu", ifm_json_some_string(name));
    for (gsize i = 0; i < G_N_ELEMENTS(fields); i++)
    {
        g_autofree char *value = ifm_sensor_field(text, fields[i][1]);
        json_object_set_new(machine, fields[i][0], ifm_json_some_string(value));
    }
    set_counts(machine, text);
    json_object_set_new(machine, "virtual", is_virtual(root, text));
}

json_t *ifm_sensor_machine(const char *root)
{
    const char *recorded = g_getenv("IFM_MACHINE_ROOT");
    if (root == NULL)
        root = recorded != NULL && *recorded != '\0' ? recorded : "/";
    g_autofree char *kernel = ifm_sensor_read(root, "proc/sys/kernel/osrelease");
    g_autofree char *product = ifm_sensor_read(root, "sys/class/dmi/id/product_name");
    g_autofree char *governor = over_processors(root, "cpufreq/scaling_governor");
    g_autofree char *driver = over_processors(root, "cpufreq/scaling_driver");
    g_autofree char *isolated = ifm_sensor_read(root, "sys/devices/system/cpu/isolated");
    gint64 memory_bytes = 0;
    gboolean memory_known = ifm_sensor_read_kib(root, "proc/meminfo", "MemTotal", &memory_bytes);

    json_t *machine = json_object();
    json_object_set_new(machine, "id", json_null());
    set_processor(machine, root);
    json_object_set_new(machine, "memory_bytes", ifm_sensor_int64_or_null(memory_known, memory_bytes));
    json_object_set_new(machine, "caches_bytes", caches(root));
    json_object_set_new(machine, "product", ifm_json_some_string(product));
    json_object_set_new(machine, "kernel", ifm_json_some_string(kernel));
    json_object_set_new(machine, "governor", ifm_json_some_string(governor));
    json_object_set_new(machine, "clock_driver", ifm_json_some_string(driver));
    json_object_set_new(machine, "clock_least_mhz", clock_mhz(root, "cpuinfo_min_freq", FALSE));
    json_object_set_new(machine, "clock_most_mhz", clock_mhz(root, "cpuinfo_max_freq", TRUE));
    json_object_set_new(machine, "smt", switch_or_null(root, "sys/devices/system/cpu/smt/active", FALSE));
    json_object_set_new(machine, "boost", boost(root));
    json_object_set_new(machine, "isolated_processors", ifm_json_some_string(isolated));
    json_object_set_new(machine, "id", identity(machine));
    return machine;
}

static gint64 status_bytes(const char *root, int pid, const char *key)
{
    g_autofree char *file = pid > 0 ? g_strdup_printf("proc/%d/status", pid) : g_strdup("proc/self/status");
    gint64 bytes = -1;
    ifm_sensor_read_kib(root, file, key, &bytes);
    return bytes;
}

gint64 ifm_sensor_rss_bytes(const char *root, int pid)
{
    return status_bytes(root, pid, "VmRSS");
}

gint64 ifm_sensor_peak_rss_bytes(const char *root, int pid)
{
    return status_bytes(root, pid, "VmHWM");
}

/* "TIME WAIT SLICES": ns, ns, a count. @text: (transfer full) (nullable)    Returns: the second; -1: there is none. */
static gint64 parse_wait(char *text)
{
    g_autofree char *owned = text;
    g_auto(GStrv) words = owned != NULL ? g_strsplit(owned, " ", -1) : NULL;
    gint64 ns;
    return words != NULL && g_strv_length(words) == 3 && ifm_sensor_parse_int64(words[1], &ns) && ns >= 0 ? ns : -1;
}

gint64 ifm_sensor_wait_ns(const char *root)
{
    return parse_wait(ifm_sensor_read(root, "proc/thread-self/schedstat"));
}

gint64 ifm_sensor_process_wait_ns(const char *root)
{
    g_autoptr(GArray) tasks = ifm_sensor_list(root, "proc/self/task", "");
    gint64 sum_ns = -1;
    for (guint i = 0; i < tasks->len; i++)
    {
        const gint64 ns = parse_wait(ifm_sensor_readf(root, "proc/self/task/%d/schedstat", g_array_index(tasks, gint, i)));
        sum_ns = ns >= 0 ? MAX(sum_ns, 0) + ns : sum_ns;
    }
    return sum_ns;
}
