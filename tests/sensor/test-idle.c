#include <math.h>
#include <pthread.h>

#include <glib/gstdio.h>

#include <base/base.h>
#include <base/fields.h>
#include <sensor/sensor.h>

#include "folder.h"

/* Waiting for idle cores, on a /proc that a thread writes by a virtual clock; and what disturbs a measurement. */

#define MS G_GINT64_CONSTANT(1000000)
#define TICK_NS (10 * MS)
#define PATIENCE_NS (10000 * MS)

/* Machine: two processors whose busy time a schedule says. @others, @own: share of processor 0, and of 1, that others and
 * this process use from @since on */
typedef struct
{
    gint64 since_ms;
    double others[2], own;
} Phase;

typedef struct
{
    char *root;
    IfmClock *clock;
    const Phase *phases;
    gsize n_phases;
    pthread_t thread;
    gint stop;
    double busy[2], own, total;
} Machine;

static void write_file(const Machine *machine, const char *relative, const char *text)
{
    g_autofree char *path = g_build_filename(machine->root, relative, NULL), *folder = g_path_get_dirname(path);
    g_mkdir_with_parents(folder, 0700);
    g_assert_true(g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_NONE, 0600, NULL)); /* not to the disk */
}

static void write_counters(const Machine *machine)
{
    GString *text = g_string_new(NULL);
    for (int i = 0; i < 2; i++)
        g_string_append_printf(text, "cpu%d %.0f 0 0 %.0f 0 0 0 0 0 0\n", i, machine->busy[i],
                               machine->total - machine->busy[i]);
    write_file(machine, "proc/stat", text->str);
    g_string_free(text, TRUE);
    g_autofree char *self = g_strdup_printf("77 (a test) R 1 77 77 0 -1 0 0 0 0 0 %.0f 0 0 0 20 0 1 0 0", machine->own);
    write_file(machine, "proc/self/stat", self);
}

static void *machine_main(void *user)
{
    Machine *machine = user;
    const gint64 began_ns = ifm_clock_now_ns(machine->clock);
    gint64 now_ns = began_ns + TICK_NS / 2;
    while (g_atomic_int_get(&machine->stop) == 0)
    {
        ifm_clock_sleep_until_ns(machine->clock, now_ns);
        const Phase *phase = machine->phases;
        for (gsize i = 1; i < machine->n_phases && now_ns - began_ns >= machine->phases[i].since_ms * MS; i++)
            phase = &machine->phases[i];
        machine->total++;
        machine->own += phase->own;
        machine->busy[0] += phase->others[0] + phase->own;
        machine->busy[1] += phase->others[1];
        write_counters(machine);
        now_ns += TICK_NS;
    }
    ifm_clock_leave(machine->clock);
    return NULL;
}

static void machine_start(Machine *machine, const Phase *phases, gsize n_phases)
{
    *machine = (Machine){ .root = g_dir_make_tmp("idle-test-XXXXXX", NULL),
                          .clock = ifm_clock_new_virtual(1000 * MS),
                          .phases = phases,
                          .n_phases = n_phases };
    write_counters(machine);
    ifm_clock_enter(machine->clock); /* this thread */
    ifm_clock_enter(machine->clock); /* the other, before it runs */
    g_assert_cmpint(pthread_create(&machine->thread, NULL, machine_main, machine), ==, 0);
}

static void machine_end(Machine *machine)
{
    g_atomic_int_set(&machine->stop, 1);
    ifm_clock_leave(machine->clock);
    pthread_join(machine->thread, NULL);
    ifm_clock_unref(machine->clock);
    remove_tree(machine->root);
    g_free(machine->root);
}

static void assert_within(gint64 ns, gint64 low_ms, gint64 high_ms)
{
    g_assert_cmpint(ns, >=, low_ms * MS);
    g_assert_cmpint(ns, <=, high_ms * MS);
}

static void pass(const Machine *machine, gint64 ms)
{
    ifm_clock_sleep_until_ns(machine->clock, ifm_clock_now_ns(machine->clock) + ms * MS);
}

static const int first = 0;

/* A first look needs a window; cases that follow each other need no wait; after a pause a window again. */
static void test_idle(void)
{
    static const Phase phases[] = { { 0, { 0.02, 0.5 }, 0 } }; /* the other core is no concern */
    Machine machine;
    machine_start(&machine, phases, G_N_ELEMENTS(phases));
    g_autoptr(IfmIdleGate) gate = ifm_idle_gate_new(machine.root, machine.clock, PATIENCE_NS);
    assert_within(ifm_idle_gate_wait(gate, &first, 1, NULL), 250, 300);
    for (int i = 0; i < 30; i++)
    {
        pass(&machine, 130);
        assert_within(ifm_idle_gate_wait(gate, &first, 1, NULL), 0, i == 0 ? 130 : 0);
    }
    pass(&machine, 5000);
    assert_within(ifm_idle_gate_wait(gate, &first, 1, NULL), 250, 300);
    g_assert_true(ifm_idle_gate_is_patient(gate));
    machine_end(&machine);
}

/* What this process uses is none of others'; what others use of any core counts where all are asked about. */
static void test_own(void)
{
    static const Phase own[] = { { 0, { 0.03, 0 }, 0.9 } }, others[] = { { 0, { 0, 0.9 }, 0 } };
    Machine machine;
    machine_start(&machine, own, 1);
    g_autoptr(IfmIdleGate) gate = ifm_idle_gate_new(machine.root, machine.clock, PATIENCE_NS);
    assert_within(ifm_idle_gate_wait(gate, &first, 1, NULL), 250, 300);
    machine_end(&machine);
    machine_start(&machine, others, 1);
    g_autoptr(IfmIdleGate) all = ifm_idle_gate_new(machine.root, machine.clock, PATIENCE_NS);
    assert_within(ifm_idle_gate_wait(all, NULL, 0, NULL), 5000, 5300);
    machine_end(&machine);
}

/* It waits until the other one ends, and its patience is whole again. */
static void test_ends(void)
{
    static const Phase phases[] = { { 0, { 1, 0 }, 0 }, { 3000, { 0, 0 }, 0 }, { 6000, { 0.3, 0 }, 0 } };
    Machine machine;
    machine_start(&machine, phases, G_N_ELEMENTS(phases));
    g_autoptr(IfmIdleGate) gate = ifm_idle_gate_new(machine.root, machine.clock, PATIENCE_NS);
    assert_within(ifm_idle_gate_wait(gate, &first, 1, NULL), 3000, 3500);
    pass(&machine, 3500);
    assert_within(ifm_idle_gate_wait(gate, &first, 1, NULL), 5000, 5300);
    machine_end(&machine);
}

/* On a machine that is never idle it stops waiting: half of its patience, the other half, and no more. */
static void test_never(void)
{
    static const Phase phases[] = { { 0, { 0.5, 0 }, 0 } };
    Machine machine;
    machine_start(&machine, phases, 1);
    g_autoptr(IfmIdleGate) gate = ifm_idle_gate_new(machine.root, machine.clock, PATIENCE_NS),
                           none = ifm_idle_gate_new(machine.root, machine.clock, 0);
    gint stop = 1;
    g_assert_cmpint(ifm_idle_gate_wait(none, &first, 1, NULL), ==, 0);
    g_assert_false(ifm_idle_gate_is_patient(none));
    g_assert_cmpint(ifm_idle_gate_wait(gate, &first, 1, &stop), ==, 0); /* interrupted */
    assert_within(ifm_idle_gate_wait(gate, &first, 1, NULL), 5000, 5300);
    g_assert_true(ifm_idle_gate_is_patient(gate));
    assert_within(ifm_idle_gate_wait(gate, &first, 1, NULL), 4000, 5300);
    g_assert_false(ifm_idle_gate_is_patient(gate));
    g_assert_cmpint(ifm_idle_gate_wait(gate, &first, 1, NULL), ==, 0);
    ifm_idle_gate_renew(gate); /* a measurement was not disturbed */
    assert_within(ifm_idle_gate_wait(gate, &first, 1, NULL), 5000, 5300);
    ifm_idle_gate_renew(none);
    g_assert_false(ifm_idle_gate_is_patient(none));
    machine_end(&machine);
}

/* Nothing is known of the machine: nothing is waited for but the window. */
static void test_unknown(void)
{
    g_autoptr(IfmClock) clock = ifm_clock_new_virtual(1);
    ifm_clock_enter(clock);
    g_autoptr(IfmIdleGate) gate = ifm_idle_gate_new("/nowhere", clock, PATIENCE_NS);
    assert_within(ifm_idle_gate_wait(gate, &first, 1, NULL), 250, 250);
    ifm_clock_leave(clock);
}

/* --- what disturbs ------------------------------------------------------------------------------------------------------
 */

static const struct
{
    const char *environment;
    gboolean loaded;
    double level;
    const char *why;
} disturbances[] = {
    { "{}", FALSE, NAN, NULL },
    { "{\"others_ratio\": null}", FALSE, NAN, NULL },
    { "{\"others_ratio\": 0.05}", FALSE, 0.5, NULL },
    { "{\"others_ratio\": 0.2}", FALSE, 2, "other processes used 20 % of the processors" },
    /* what happens on other cores is not what happens on these */
    { "{\"others_ratio\": 0.2, \"cores_others_ratio\": 0.01}", FALSE, 0.1, NULL },
    { "{\"others_ratio\": 0.2, \"cores_others_ratio\": 0.4}", FALSE, 4, "other processes used 40 % of the cores" },
    { "{\"steal_ratio\": 0.2, \"cores_others_ratio\": 0.01}", FALSE, 4, "the hypervisor took 20 % of the processors" },
    { "{\"throttled_ratio\": 0.1}", FALSE, 2, "the control group's quota held tasks up for 10 % of the time" },
    { "{\"others_ratio\": 0.0, \"runs\": {\"waited_ratio\": 0.5}}", FALSE, 10,
      "the measurement waited 50 % of the time for a processor" },
    { "{\"others_ratio\": 0.0, \"runs\": {\"waited_ratio\": 0.5}}", TRUE, 0, NULL }, /* beside a load they do */
};

static void test_disturbance(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(disturbances); i++)
    {
        json_auto_t *environment = json_loads(disturbances[i].environment, 0, NULL);
        g_autofree char *why = NULL;
        const double level = ifm_sensor_disturbance(environment, disturbances[i].loaded, &why);
        if (isnan(disturbances[i].level))
            g_assert_true(isnan(level));
        else
            g_assert_cmpfloat_with_epsilon(level, disturbances[i].level, 1e-9);
        g_assert_cmpstr(why, ==, disturbances[i].why);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/idle/idle", test_idle);
    g_test_add_func("/idle/own", test_own);
    g_test_add_func("/idle/ends", test_ends);
    g_test_add_func("/idle/never", test_never);
    g_test_add_func("/idle/unknown", test_unknown);
    g_test_add_func("/idle/disturbance", test_disturbance);
    return g_test_run();
}
