#include <base/fields.h>
#include <glib/gstdio.h>
#include <math.h>
#include <sensor/sensor.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "build-folders.h"

static char *machine_root(const char *name)
{
    const char *tests = g_getenv("IFM_TEST_DATA");
    return g_build_filename(tests != NULL ? tests : IFM_SOURCE_DIR "/tests", "sensor", "machines", name, NULL);
}

static void assert_canonical(const json_t *json, const char *expected)
{
    g_assert_nonnull(json);
    g_autofree char *text = ifm_json_canonical(json);
    g_assert_cmpstr(text, ==, expected);
}

static void assert_member(const json_t *object, const char *key, const char *expected)
{
    assert_canonical(json_object_get(object, key), expected);
}

static void test_machine_laptop(void)
{
    g_autofree char *root = machine_root("laptop");
    json_auto_t *machine = ifm_sensor_machine(root);
    assert_member(machine, "cpu", "\"Intel(R) Core(TM) i5-7200U CPU @ 2.50GHz\"");
    assert_member(machine, "vendor", "\"GenuineIntel\"");
    assert_member(machine, "model", "\"142\"");
    assert_member(machine, "logical_processors", "4");
    assert_member(machine, "cores", "2");
    assert_member(machine, "sockets", "1");
    assert_member(machine, "memory_bytes", "16710098944");
    assert_member(machine, "kernel", "\"6.1.0-18-amd64\"");
    assert_member(machine, "governor", "\"powersave\"");
    assert_member(machine, "clock_driver", "\"intel_pstate\"");
    assert_member(machine, "clock_least_mhz", "400.0");
    assert_member(machine, "clock_most_mhz", "4200.0");
    assert_member(machine, "smt", "true");
    assert_member(machine, "virtual", "false");
    assert_member(machine, "boost", "true");
    assert_member(machine, "product", "\"Laptop 13\"");
    assert_member(machine, "isolated_processors", "null");
    assert_member(machine, "caches_bytes", "{\"L1d\":32768,\"L1i\":32768,\"L2\":262144,\"L3\":3145728}");
}

static void test_machine_others(void)
{
    g_autofree char *vm_root = machine_root("vm"), *board_root = machine_root("arm-board");
    json_auto_t *vm = ifm_sensor_machine(vm_root), *board = ifm_sensor_machine(board_root);
    assert_member(vm, "cpu", "\"AMD EPYC\"");
    assert_member(vm, "logical_processors", "2");
    assert_member(vm, "cores", "2");
    assert_member(vm, "virtual", "true");
    assert_member(vm, "smt", "false");
    assert_member(vm, "governor", "null");
    assert_member(vm, "boost", "null");
    assert_member(vm, "clock_most_mhz", "null");
    assert_member(board, "cpu", "\"implementer 0x41 part 0xd08\"");
    assert_member(board, "logical_processors", "4");
    assert_member(board, "cores", "null");
    assert_member(board, "virtual", "null");
    assert_member(board, "caches_bytes", "null");
    g_assert_true(json_is_string(json_object_get(board, "id")));
}

/* Copies a recorded machine to where it may be changed. */
static char *copy_machine(const char *name)
{
    g_autofree char *from = machine_root(name);
    char *to = g_dir_make_tmp("ifm-machine-XXXXXX", NULL);
    g_assert_nonnull(to);
    g_autofree char *tree = g_strconcat(from, "/.", NULL);
    const char *arguments[] = { "cp", "-r", tree, to, NULL };
    int status = -1;
    g_assert_true(g_spawn_sync(NULL, (char **)arguments, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, &status, NULL));
    g_assert_cmpint(status, ==, 0);
    return to;
}

static void remove_machine(char *root /* (transfer full) */)
{
    const char *arguments[] = { "rm", "-r", root, NULL };
    g_assert_true(g_spawn_sync(NULL, (char **)arguments, NULL, G_SPAWN_SEARCH_PATH, NULL, NULL, NULL, NULL, NULL, NULL));
    g_free(root);
}

static void rewrite(const char *root, const char *relative, const char *content)
{
    g_autofree char *path = g_build_filename(root, relative, NULL);
    g_assert_true(g_file_test(path, G_FILE_TEST_EXISTS));
    g_assert_true(g_file_set_contents_full(path, content, -1, G_FILE_SET_CONTENTS_NONE, 0666, NULL));
}

static char *id_of(const char *root)
{
    json_auto_t *machine = ifm_sensor_machine(root);
    return g_strdup(json_string_value(json_object_get(machine, "id")));
}

/* The identity survives what changes between two boots and tells machines apart. */
static void test_machine_id(void)
{
    g_autofree char *laptop = machine_root("laptop"), *hot = machine_root("laptop-hot"), *vm = machine_root("vm");
    g_autofree char *id = id_of(laptop), *id_hot = id_of(hot), *id_vm = id_of(vm);
    g_assert_cmpuint(strlen(id), ==, 64);
    g_assert_cmpstr(id, ==, id_hot);
    g_assert_cmpstr(id, !=, id_vm);
    char *copy = copy_machine("laptop");
    rewrite(copy, "proc/sys/kernel/osrelease", "6.9.0\n");
    rewrite(copy, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
    rewrite(copy, "proc/meminfo", "MemTotal:       16318000 kB\n");
    g_autofree char *id_rebooted = id_of(copy);
    g_assert_cmpstr(id, ==, id_rebooted);
    json_auto_t *machine = ifm_sensor_machine(copy);
    assert_member(machine, "governor", "\"performance,powersave\"");
    rewrite(copy, "proc/meminfo", "MemTotal:       32636912 kB\n");
    g_autofree char *id_more_memory = id_of(copy);
    g_assert_cmpstr(id, !=, id_more_memory);
    remove_machine(copy);
    g_assert_null(id_of("/nonexistent"));
}

static void test_snapshot_laptop(void)
{
    g_autofree char *root = machine_root("laptop");
    json_auto_t *snapshot = ifm_sensor_snapshot(root);
    g_assert_cmpint(json_integer_value(json_object_get(snapshot, "unix_ms")), >, 0);
    assert_member(snapshot, "load_1min", "0.14999999999999999");
    assert_member(snapshot, "running", "1");
    assert_member(snapshot, "clock_mhz", "[4200.0,800.0,800.0,800.0]");
    assert_member(snapshot, "throttle_counts", "{\"core\":6,\"package\":7}"); /* 5 + 1; one package */
    assert_member(snapshot, "memory_available_bytes", "8388608000");
    assert_member(snapshot, "pressure", "{\"cpu_some_us\":4846057,\"io_some_us\":77,\"memory_some_us\":2000}");
    /* itself 60, its child 105 + 3, that one's child 7; neither its parent nor strangers */
    assert_member(snapshot, "own_jiffies", "175");
    const json_t *temperatures = json_object_get(snapshot, "temperature_c");
    g_assert_cmpuint(json_array_size(temperatures), ==, 5);
    assert_canonical(json_array_get(temperatures, 0), "{\"limit\":null,\"value\":45.0,\"zone\":\"acpitz\"}");
    assert_canonical(json_array_get(temperatures, 1), "{\"limit\":105.0,\"value\":51.0,\"zone\":\"x86_pkg_temp\"}");
    assert_canonical(json_array_get(temperatures, 2),
                     "{\"limit\":100.0,\"value\":51.0,\"zone\":\"coretemp Package id 0\"}");
    const json_t *jiffies = json_object_get(snapshot, "cpu_jiffies");
    g_assert_cmpuint(json_array_size(jiffies), ==, 4);
    assert_canonical(json_array_get(jiffies, 3), "{\"busy\":1500,\"cpu\":3,\"steal\":0,\"total\":10020}");
}

static void test_snapshot_others(void)
{
    g_autofree char *vm_root = machine_root("vm"), *board_root = machine_root("arm-board");
    json_auto_t *vm = ifm_sensor_snapshot(vm_root), *board = ifm_sensor_snapshot(board_root);
    assert_member(vm, "clock_mhz", "[2596.1439999999998,2596.1439999999998]");
    assert_member(vm, "temperature_c", "null");
    assert_member(vm, "throttle_counts", "null");
    assert_member(board, "clock_mhz", "null");
    assert_member(board, "cpu_jiffies", "null");
    assert_member(board, "own_jiffies", "null");
    assert_member(board, "load_1min", "null");
    assert_member(board, "memory_available_bytes", "null");
    assert_member(board, "temperature_c", "[{\"limit\":null,\"value\":91.5,\"zone\":\"cpu-thermal\"}]");
}

static void assert_warnings(const json_t *environment, const char *const *expected)
{
    const json_t *warnings = json_object_get(environment, "warnings");
    gsize n = 0;
    for (; expected[n] != NULL; n++)
        g_assert_cmpstr(json_string_value(json_array_get(warnings, n)), ==, expected[n]);
    g_assert_cmpuint(json_array_size(warnings), ==, n);
}

/* One event counts; none, and a counter that was set back, do not. */
static void test_environment_throttled(void)
{
    static const struct
    {
        int before, after;
        const char *warnings[2];
    } counts[] = { { 5, 6, { "the processor throttled 1 times for heat or power (core)" } },
                   { 5, 5, { NULL } },
                   { 5, 4, { NULL } } };
    g_autofree char *root = machine_root("vm");
    json_auto_t *machine = ifm_sensor_machine(root);
    for (gsize i = 0; i < G_N_ELEMENTS(counts); i++)
    {
        json_auto_t *before = json_pack("{s:{s:i}}", "throttle_counts", "core", counts[i].before);
        json_auto_t *after = json_pack("{s:{s:i}}", "throttle_counts", "core", counts[i].after);
        json_auto_t *environment = ifm_sensor_environment(machine, before, after, NULL, 0);
        assert_warnings(environment, counts[i].warnings);
    }
}

static void test_environment_hot(void)
{
    g_autofree char *root = machine_root("laptop"), *hot_root = machine_root("laptop-hot");
    json_auto_t *machine = ifm_sensor_machine(root), *before = ifm_sensor_snapshot(root);
    json_auto_t *after = ifm_sensor_snapshot(hot_root);
    json_object_set_new(before, "unix_ms", json_integer(1000000));
    json_object_set_new(after, "unix_ms", json_integer(1010000));
    json_auto_t *environment = ifm_sensor_environment(machine, before, after, NULL, 0);
    const char *const governor =
        "the clock governor is powersave: the clock follows the load (performance keeps it steady)";
    const char *const expected[] = { "the processor clock fell by 50 % meanwhile (4200 MHz to 2100 MHz)",
                                     governor,
                                     "the processor throttled 7 times for heat or power (core)",
                                     "the processor throttled 13 times for heat or power (package)",
                                     "hot: coretemp Package id 0 reads 97 C of at most 100",
                                     "other processes used 8 % of the processors",
                                     "only 300 MiB of memory were left: the system may have been paging",
                                     "tasks waited for memory during 50 % of the time",
                                     NULL };
    assert_warnings(environment, expected);
    g_assert_cmpfloat(json_real_value(json_object_get(environment, "others_ratio")), ==, 32.0 / 400);
    g_assert_cmpfloat(json_real_value(json_object_get(environment, "steal_ratio")), ==, 0);
    g_assert_true(json_equal(json_object_get(environment, "machine"), machine));
    g_assert_true(json_equal(json_object_get(environment, "before"), before));
    g_assert_true(json_equal(json_object_get(environment, "after"), after));
}

/* Nothing happened: nothing is warned of, and too few jiffies give no share. */
static void test_environment_quiet(void)
{
    static const char *const none[] = { NULL };
    g_autofree char *root = machine_root("vm");
    json_auto_t *machine = ifm_sensor_machine(root), *snapshot = ifm_sensor_snapshot(root);
    json_auto_t *environment = ifm_sensor_environment(machine, snapshot, snapshot, NULL, 0);
    assert_warnings(environment, none);
    assert_member(environment, "others_ratio", "null");
    assert_member(environment, "steal_ratio", "null");
    json_auto_t *nothing = ifm_sensor_environment(NULL, NULL, NULL, NULL, 0);
    assert_warnings(nothing, none);
    assert_member(nothing, "machine", "null");
}

static json_t *with_jiffies(const json_t *snapshot, gint64 busy, gint64 steal, gint64 idle, gint64 own)
{
    json_t *changed = json_deep_copy(snapshot);
    json_object_set_new(changed, "own_jiffies", json_integer(own));
    json_object_set_new(changed, "cpu_jiffies",
                        json_pack("[{s:i,s:I,s:I,s:I},{s:i,s:i,s:i,s:i}]", "cpu", 0, "busy", (json_int_t)busy, "steal",
                                  (json_int_t)steal, "total", (json_int_t)busy + steal + idle, "cpu", 5, "busy", 0, "steal",
                                  0, "total", 0));
    return changed;
}

static void test_environment_steal(void)
{
    g_autofree char *root = machine_root("vm");
    json_auto_t *snapshot = ifm_sensor_snapshot(root);
    json_auto_t *before = with_jiffies(snapshot, 1000, 0, 1000, 50);
    json_auto_t *after = with_jiffies(snapshot, 1080, 15, 1005, 130); /* 80 busy, all of them ours; 15 of 100 stolen */
    json_auto_t *environment = ifm_sensor_environment(NULL, before, after, NULL, 0);
    const char *const expected[] = { "the hypervisor took away 15 % of the processors (steal time)", NULL };
    assert_warnings(environment, expected);
    assert_member(environment, "others_ratio", "0.0");
    /* counters that went back (a processor was off meanwhile) are left out */
    json_auto_t *backwards = ifm_sensor_environment(NULL, after, before, NULL, 0);
    assert_member(backwards, "others_ratio", "null");
}

/* @machine: recorded twice, the second time as "MACHINE-throttled", a second later */
static json_t *throttled_environment(const char *machine)
{
    g_autofree char *again = g_strconcat(machine, "-throttled", NULL);
    g_autofree char *root = machine_root(machine), *later = machine_root(again);
    json_auto_t *before = ifm_sensor_snapshot(root), *after = ifm_sensor_snapshot(later);
    json_object_set_new(before, "unix_ms", json_integer(1000));
    json_object_set_new(after, "unix_ms", json_integer(2000));
    return ifm_sensor_environment(NULL, before, after, NULL, 0);
}

/* A quota of processor time that was used up takes the processor away, as a hypervisor does. */
static void test_environment_quota(void)
{
    json_auto_t *two = throttled_environment("container"), *one = throttled_environment("container-v1");
    const char *const of_two[] = {
        "the control group's quota of 1.5 processors was used up 12 times: its tasks waited during "
        "50 % of the time",
        NULL
    };
    const char *const of_one[] = {
        "the control group's quota of 0.5 processors was used up 20 times: its tasks waited during "
        "100 % of the time",
        NULL
    };
    assert_warnings(two, of_two);
    assert_warnings(one, of_one);
    assert_member(two, "throttled_ratio", "0.5");
    assert_member(one, "throttled_ratio", "1.0");
    json_t *quotas = json_object_get(json_object_get(two, "before"), "cpu_quotas");
    assert_canonical(quotas, "[{\"group\":\"/pod\",\"processors\":1.5,\"throttled\":40,\"throttled_us\":900000}]");
    /* what did not have to wait is not disturbed */
    const char *const none[] = { NULL };
    json_auto_t *same =
        ifm_sensor_environment(NULL, json_object_get(two, "before"), json_object_get(two, "before"), NULL, 0);
    assert_warnings(same, none);
    g_autofree char *vm = machine_root("vm");
    json_auto_t *free_one = ifm_sensor_snapshot(vm);
    assert_member(free_one, "cpu_quotas", "[]");
    json_auto_t *unlimited = ifm_sensor_environment(NULL, free_one, free_one, NULL, 0);
    assert_member(unlimited, "throttled_ratio", "null");
}

static void test_rss(void)
{
    g_autofree char *root = machine_root("laptop");
    g_assert_cmpint(ifm_sensor_rss_bytes(root, 0), ==, 20480 * 1024);
    g_assert_cmpint(ifm_sensor_peak_rss_bytes(root, 0), ==, 24680 * 1024);
    g_assert_cmpint(ifm_sensor_rss_bytes(root, 4243), ==, 131072 * 1024);
    g_assert_cmpint(ifm_sensor_peak_rss_bytes(root, 4243), ==, 262144 * 1024);
    g_assert_cmpint(ifm_sensor_rss_bytes(root, 12345), ==, -1);
}

/* This very machine: what we allocate and touch shows, what we compute shows. */
static void test_live(void)
{
    gint64 before = ifm_sensor_rss_bytes("/", 0);
    if (before < 0)
    {
        g_test_skip("no /proc/self/status here");
        return;
    }
    g_assert_cmpint(ifm_sensor_rss_bytes("/", getpid()), >, 0);
    gsize size = (gsize)64 << 20;
    char *block = g_malloc(size);
    for (gsize i = 0; i < size; i += 4096)
        ((volatile char *)block)[i] = (char)i;
    g_assert_cmpint(ifm_sensor_rss_bytes("/", 0), >=, before + ((gint64)48 << 20));
    g_assert_cmpint(ifm_sensor_peak_rss_bytes("/", 0), >=, before + ((gint64)48 << 20));
    g_free(block);
    json_auto_t *first = ifm_sensor_snapshot("/");
    volatile double sum = 0;
    clock_t start = clock();
    while (clock() - start < CLOCKS_PER_SEC / 10)
        sum = sum + sqrt(sum + 1);
    json_auto_t *second = ifm_sensor_snapshot("/");
    gint64 own = json_integer_value(json_object_get(second, "own_jiffies")) -
                 json_integer_value(json_object_get(first, "own_jiffies"));
    g_assert_cmpint(own, >=, sysconf(_SC_CLK_TCK) / 20); /* a tenth of a second of processor time; half for coarse ticks */
}

/* Every file in turn, and all at once, replaced by what no kernel writes: keys stay, values are right or null. */
static void check_keys(const char *root)
{
    static const char *const facts[] = { "id",           "cpu",    "logical_processors", "cores",
                                         "memory_bytes", "kernel", "governor",           "smt",
                                         "virtual",      "boost" };
    static const char *const readings[] = { "unix_ms",         "load_1min",   "running",     "clock_mhz",
                                            "temperature_c",   "cpu_jiffies", "own_jiffies", "memory_available_bytes",
                                            "throttle_counts", "pressure" };
    json_auto_t *machine = ifm_sensor_machine(root), *snapshot = ifm_sensor_snapshot(root);
    json_auto_t *environment = ifm_sensor_environment(machine, snapshot, snapshot, NULL, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(facts); i++)
        g_assert_nonnull(json_object_get(machine, facts[i]));
    for (gsize i = 0; i < G_N_ELEMENTS(readings); i++)
        g_assert_nonnull(json_object_get(snapshot, readings[i]));
    g_assert_true(json_is_array(json_object_get(environment, "warnings")));
    const json_t *cores = json_object_get(machine, "cores"), *memory = json_object_get(machine, "memory_bytes");
    g_assert_true(json_is_null(cores) || json_integer_value(cores) > 0);
    g_assert_true(json_is_null(memory) || json_integer_value(memory) >= 0);
    g_assert_cmpint(ifm_sensor_rss_bytes(root, 0), >=, -1);
}

static void list_files(const char *folder, GPtrArray *files)
{
    GDir *dir = g_dir_open(folder, 0, NULL);
    for (const char *name; (name = g_dir_read_name(dir)) != NULL;)
    {
        char *path = g_build_filename(folder, name, NULL);
        if (!g_file_test(path, G_FILE_TEST_IS_DIR))
        {
            g_ptr_array_add(files, path);
            continue;
        }
        list_files(path, files);
        g_free(path);
    }
    g_dir_close(dir);
}

static void test_broken(void)
{
    g_autofree char *huge = g_strnfill(5 << 20, '7');
    const char *const junk[] = {
        "",
        "\xff\xfe\x80",
        "-1\n",
        "99999999999999999999999999\n",
        "cpu0\ncpu1 9223372036854775807 9223372036854775807 9223372036854775807 1\ncpu2 x y z w\ncpu",
        "1 (x) S",
        "1 () S 1 99999999999999999999 1",
        "some total=",
        "MemTotal: -5 kB\nMemTotal\nVmRSS: 9999999999999999 kB\nMemAvailable:\n",
        "processor:\n\nprocessor\nflags\n\n:\n\n\n",
        "1.5e400 1 1 /\n",
        "nan inf 0x10 1/1\n",
        huge
    };
    char *root = copy_machine("laptop");
    g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(g_free);
    list_files(root, files);
    g_assert_cmpuint(files->len, >, 50);
    for (guint i = 0; i < files->len; i++)
    {
        g_autofree char *good = NULL;
        gsize length = 0;
        g_assert_true(g_file_get_contents(files->pdata[i], &good, &length, NULL));
        g_assert_true(g_file_set_contents_full(files->pdata[i], junk[i % (G_N_ELEMENTS(junk) - 1)], -1,
                                               G_FILE_SET_CONTENTS_NONE, 0666, NULL));
        check_keys(root);
        g_assert_true(
            g_file_set_contents_full(files->pdata[i], good, (gssize)length, G_FILE_SET_CONTENTS_NONE, 0666, NULL));
    }
    for (gsize j = 0; j < G_N_ELEMENTS(junk); j++)
    {
        for (guint i = 0; i < files->len; i++)
            if (junk[j] != huge || g_str_has_suffix(files->pdata[i], "info") || g_str_has_suffix(files->pdata[i], "stat"))
                g_assert_true(g_file_set_contents_full(files->pdata[i], junk[j], -1, G_FILE_SET_CONTENTS_NONE, 0666, NULL));
        check_keys(root);
    }
    for (guint i = 0; i < files->len; i++) /* folders where files should be */
    {
        g_assert_cmpint(g_remove(files->pdata[i]), ==, 0);
        g_assert_cmpint(g_mkdir(files->pdata[i], 0777), ==, 0);
    }
    check_keys(root);
    json_auto_t *machine = ifm_sensor_machine(root);
    assert_member(machine, "cpu", "null");
    assert_member(machine, "id", "null");
    remove_machine(root);
}

/* docs/formats.md names every key, at every depth but the caches' names. */
static void assert_documented(const json_t *json, const char *formats)
{
    const char *key;
    json_t *value;
    gsize i;
    json_array_foreach((json_t *)json, i, value)
    {
        assert_documented(value, formats);
    }
    json_object_foreach((json_t *)json, key, value)
    {
        g_autofree char *quoted = g_strdup_printf("`%s`", key);
        if (strstr(formats, quoted) == NULL)
            g_error("docs/formats.md does not name %s", quoted);
        if (!g_str_equal(key, "caches_bytes"))
            assert_documented(value, formats);
    }
}

static void test_documented(void)
{
    g_autofree char *root = machine_root("laptop"), *formats = NULL;
    g_assert_true(g_file_get_contents(IFM_SOURCE_DIR "/docs/formats.md", &formats, NULL, NULL));
    json_auto_t *machine = ifm_sensor_machine(root), *snapshot = ifm_sensor_snapshot(root);
    json_auto_t *environment = ifm_sensor_environment(machine, snapshot, snapshot, NULL, 0);
    assert_documented(environment, formats);
}

static void put(const char *root, const char *relative, const char *text)
{
    g_autofree char *path = g_build_filename(root, relative, NULL), *folder = g_path_get_dirname(path);
    g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static gint64 available(const char *root)
{
    json_auto_t *snapshot = ifm_sensor_snapshot(root);
    const json_t *value = json_object_get(snapshot, "memory_available_bytes");
    return json_is_integer(value) ? json_integer_value(value) : -1;
}

/* A control group, or one around it, may leave less than the machine has. What the kernel can drop is not held. */
static void test_groups(void)
{
    g_autofree char *root = g_dir_make_tmp("ifm-groups-XXXXXX", NULL);
    put(root, "proc/meminfo", "MemTotal: 2000000 kB\nMemAvailable: 1000000 kB\n");
    g_assert_cmpint(available(root), ==, 1024000000);
    put(root, "proc/self/cgroup", "0::/job/step\n");
    put(root, "sys/fs/cgroup/job/step/memory.max", "max\n");
    put(root, "sys/fs/cgroup/job/step/memory.current", "1000\n");
    g_assert_cmpint(available(root), ==, 1024000000);
    put(root, "sys/fs/cgroup/job/memory.max", "600000000\n");
    put(root, "sys/fs/cgroup/job/memory.current", "500000000\n");
    g_assert_cmpint(available(root), ==, 100000000);
    put(root, "sys/fs/cgroup/job/memory.stat", "anon 400000000\ninactive_file 50000000\n");
    g_assert_cmpint(available(root), ==, 150000000);
    put(root, "sys/fs/cgroup/job/memory.max", "400000000\n"); /* lowered below what is held */
    g_assert_cmpint(available(root), ==, 0);
    put(root, "proc/self/cgroup", "7:cpu,cpuacct:/job\n4:memory:/old\n");
    put(root, "sys/fs/cgroup/memory/old/memory.limit_in_bytes", "9223372036854771712\n");
    put(root, "sys/fs/cgroup/memory/old/memory.usage_in_bytes", "1000\n");
    g_assert_cmpint(available(root), ==, 1024000000);
    put(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "300000000\n"); /* as a container sees its own */
    put(root, "sys/fs/cgroup/memory/memory.usage_in_bytes", "100000000\n");
    g_assert_cmpint(available(root), ==, 200000000);
}

/* What the process may get is also bounded by its address space, which is no trait of the machine. */
static void test_free(void)
{
#define LIMITS(address_space)                                                                                              \
    "Limit                     Soft Limit           Hard Limit           Units     \n"                                     \
    "Max data size             1000                 unlimited            bytes     \n"                                     \
    "Max address space         " address_space "           unlimited            bytes     \n"                              \
    "Max file locks            5                    5                    locks     \n"
    g_autofree char *root = g_dir_make_tmp("ifm-free-XXXXXX", NULL);
    g_assert_cmpint(ifm_sensor_free_bytes(root), ==, G_MAXINT64);
    put(root, "proc/meminfo", "MemTotal: 2000000 kB\nMemAvailable: 1000000 kB\n");
    g_assert_cmpint(ifm_sensor_free_bytes(root), ==, 1024000000);
    put(root, "proc/self/limits", LIMITS("unlimited"));
    put(root, "proc/self/status", "Name:\tx\nVmSize:\t  100000 kB\n");
    g_assert_cmpint(ifm_sensor_free_bytes(root), ==, 1024000000);
    put(root, "proc/self/limits", LIMITS("512000000"));
    g_assert_cmpint(ifm_sensor_free_bytes(root), ==, 512000000 - 102400000);
    g_assert_cmpint(available(root), ==, 1024000000);
    put(root, "proc/self/limits", LIMITS("1000")); /* lowered below what is taken */
    g_assert_cmpint(ifm_sensor_free_bytes(root), ==, 0);
    put(root, "proc/self/limits", LIMITS("many"));
    g_assert_cmpint(ifm_sensor_free_bytes(root), ==, 1024000000);
}

static void test_wait(void)
{
    static const char *const wrong[] = { "1 -2 3", "1 2", "1 x 3", "" };
    g_autofree char *root = g_dir_make_tmp("ifm-wait-XXXXXX", NULL);
    g_assert_cmpint(ifm_sensor_wait_ns(root), ==, -1);
    put(root, "proc/thread-self/schedstat", "81 4711 9\n");
    g_assert_cmpint(ifm_sensor_wait_ns(root), ==, 4711);
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++)
    {
        put(root, "proc/thread-self/schedstat", wrong[i]);
        g_assert_cmpint(ifm_sensor_wait_ns(root), ==, -1);
    }
    gint64 before_ns = ifm_sensor_wait_ns("/"); /* of this very thread: it only grows */
    g_assert_cmpint(ifm_sensor_wait_ns("/"), >=, before_ns);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/sensor/machine/laptop", test_machine_laptop);
    g_test_add_func("/sensor/machine/others", test_machine_others);
    g_test_add_func("/sensor/machine/id", test_machine_id);
    g_test_add_func("/sensor/snapshot/laptop", test_snapshot_laptop);
    g_test_add_func("/sensor/snapshot/others", test_snapshot_others);
    g_test_add_func("/sensor/environment/hot", test_environment_hot);
    g_test_add_func("/sensor/environment/throttled-once", test_environment_throttled);
    g_test_add_func("/sensor/environment/quiet", test_environment_quiet);
    g_test_add_func("/sensor/environment/steal", test_environment_steal);
    g_test_add_func("/sensor/environment/quota", test_environment_quota);
    g_test_add_func("/sensor/groups", test_groups);
    g_test_add_func("/sensor/free", test_free);
    g_test_add_func("/sensor/rss", test_rss);
    g_test_add_func("/sensor/wait", test_wait);
    g_test_add_func("/sensor/live", test_live);
    g_test_add_func("/sensor/broken", test_broken);
    g_test_add_func("/sensor/documented", test_documented);
    return g_test_run();
}
