#include <base/fields.h>
#include <glib/gstdio.h>
#include <math.h>
#include <sensor/sensor.h>
#include <string.h>

#include "folder.h"

/* Windows over a recorded /proc whose counters are known at both ends. */

typedef struct
{
    char *root;
} Machine;

static void put(const Machine *machine, const char *file, const char *text)
{
    g_autofree char *path = g_build_filename(machine->root, file, NULL), *folder = g_path_get_dirname(path);
    g_mkdir_with_parents(folder, 0755);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static void machine_init(Machine *machine)
{
    machine->root = g_dir_make_tmp("ifm-metrics-XXXXXX", NULL);
}

static void machine_clear(Machine *machine)
{
    static const char *const names[] = { "proc/pressure/cpu", "proc/pressure", "proc/stat", "proc/loadavg", "proc", "." };
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
    {
        g_autofree char *path = g_build_filename(machine->root, names[i], NULL);
        g_remove(path);
    }
    g_rmdir(machine->root);
    g_free(machine->root);
}

static void test_busy(void)
{
    Machine machine;
    machine_init(&machine);
    put(&machine, "proc/stat",
        "cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 50 0 50 400 0 0 0 0 0 0\ncpu1 50 0 50 400 0 0 0 0 0 0\nintr 5\n");
    put(&machine, "proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\nfull avg10=0 total=7\n");
    IfmMetricWindow *window = ifm_metrics_begin(machine.root);
    put(&machine, "proc/stat",
        "cpu  130 0 110 840 20 0 0 0 0 0\ncpu0 80 0 60 410 0 0 0 0 0 0\ncpu1 50 0 50 430 20 0 0 0 0 0\nintr 9\n");
    put(&machine, "proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=1000\n");
    json_auto_t *json = ifm_metrics_end(window);
    g_assert_cmpfloat(ifm_member_number(json, "values.busy"), ==, 0.4);
    g_assert_cmpfloat(ifm_member_number(json, "values.cpu0_busy"), ==, 0.8);
    g_assert_cmpfloat(ifm_member_number(json, "values.cpu1_busy"), ==, 0);
    g_assert_cmpfloat(ifm_member_number(json, "values.pressure_cpu"), ==, 0);
    g_assert_true(isnan(ifm_member_number(json, "values.pressure_io")));
    g_assert_cmpint(json_integer_value(json_object_get(json, "end_unix_ns")), >=,
                    json_integer_value(json_object_get(json, "start_unix_ns")));
    machine_clear(&machine);
}

/* What is broken, or goes backward, has no number; nothing is made up. */
static void test_broken(void)
{
    static const char *const after[] = { "", "cpu0\n", "cpu0 1 2 x 4\n", "cpu0 0 0 0 0\n",
                                         "cpu0 999999999999999999999 0 0 0\n" };
    for (gsize i = 0; i < G_N_ELEMENTS(after); i++)
    {
        Machine machine;
        machine_init(&machine);
        put(&machine, "proc/stat", "cpu0 50 0 50 400 0 0 0 0\n");
        put(&machine, "proc/pressure/cpu", "some avg10=0.00 total=\n");
        IfmMetricWindow *window = ifm_metrics_begin(machine.root);
        put(&machine, "proc/stat", after[i]);
        json_auto_t *json = ifm_metrics_end(window);
        g_assert_cmpuint(json_object_size(json_object_get(json, "values")), ==, 0);
        machine_clear(&machine);
    }
    json_auto_t *nothing = ifm_metrics_end(ifm_metrics_begin("/nonexistent"));
    g_assert_cmpuint(json_object_size(json_object_get(nothing, "values")), ==, 0);
}

/* Looks count the tasks that run, but for the one that looks; of what cannot be read there is nothing. */
static void test_look(void)
{
    static const struct
    {
        const char *text;
        double running;
    } rows[] = { { "0.15 0.20 0.09 4/97 9169\n", 3 },
                 { "0.15 0.20 0.09 0/97 9169\n", 0 },
                 { "0.15 0.20 0.09 many 9169\n", NAN },
                 { "0.15", NAN } };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        Machine machine;
        machine_init(&machine);
        put(&machine, "proc/loadavg", rows[i].text);
        json_auto_t *json = ifm_metrics_look(machine.root, 10 * G_GINT64_CONSTANT(1000000));
        const double running = ifm_member_number(json, "values.running");
        g_assert_true(isnan(rows[i].running) ? isnan(running) : running == rows[i].running);
        g_assert_cmpfloat(ifm_member_number(json, "values.read_bytes_per_s"), >, 0);
        g_assert_cmpfloat(ifm_member_number(json, "values.own"), >, 0);
        g_assert_cmpint(json_integer_value(json_object_get(json, "end_unix_ns")) -
                            json_integer_value(json_object_get(json, "start_unix_ns")),
                        >=, 9000000);
        machine_clear(&machine);
    }
}

#define STAT(pid, session, user, waited)                                                                                   \
    pid " (a b) R 1 " pid " " session " 0 -1 0 0 0 0 0 " user " 0 " waited " 0 20 0 1 0 0"

/* Where sessions have even shares, other sessions count once each, and processes of ours one by one; not who looks, nor who
 * hardly ran. Where tasks have them, nothing. */
static void test_groups(void)
{
    static const char *const files[] = { "proc/self/stat", "proc/1/stat", "proc/2/stat", "proc/3/stat",
                                         "proc/4/stat",    "proc/5/stat", "proc/6/stat" };
    static const char *const before[] = { STAT("1", "1", "5", "0"),  STAT("1", "1", "5", "0"), STAT("2", "1", "0", "0"),
                                          STAT("3", "1", "7", "0"),  STAT("4", "4", "0", "0"), STAT("5", "4", "0", "10"),
                                          STAT("6", "6", "100", "0") };
    static const char *const after[] = { STAT("1", "1", "90", "0"), STAT("1", "1", "90", "0"), STAT("2", "1", "30", "0"),
                                         STAT("3", "1", "30", "0"), STAT("4", "4", "20", "0"), STAT("5", "4", "0", "30"),
                                         STAT("6", "6", "101", "0") };
    const gint64 window_ns = G_GINT64_CONSTANT(300000000);
    Machine machine;
    machine_init(&machine);
    for (gsize i = 0; i < G_N_ELEMENTS(files); i++)
        put(&machine, files[i], before[i]);
    g_assert_null(ifm_metrics_groups(machine.root));
    put(&machine, "proc/sys/kernel/sched_autogroup_enabled", "1\n");
    json_auto_t *first = ifm_metrics_groups(machine.root);
    for (gsize i = 0; i < G_N_ELEMENTS(files); i++)
        put(&machine, files[i], after[i]);
    json_auto_t *second = ifm_metrics_groups(machine.root);
    g_assert_cmpfloat(ifm_metrics_n_groups(first, second, window_ns), ==, 3); /* 2, 3, and the session 4 */
    g_assert_cmpfloat(ifm_metrics_n_groups(first, first, window_ns), ==, 0);
    g_assert_true(isnan(ifm_metrics_n_groups(NULL, second, window_ns)));
    put(&machine, "proc/sys/kernel/sched_autogroup_enabled", "0\n");
    g_assert_null(ifm_metrics_groups(machine.root));
    remove_tree(machine.root);
    g_free(machine.root);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/metrics/busy", test_busy);
    g_test_add_func("/metrics/broken", test_broken);
    g_test_add_func("/metrics/look", test_look);
    g_test_add_func("/metrics/groups", test_groups);
    return g_test_run();
}
