#include <base/base.h>
#include <engine/engine.h>
#include <engine/simulated/simulated-machine.h>
#include <glib/gstdio.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

/* Simulated units that slow each other, on a virtual clock: every time here follows by hand from devices/shared.yaml. */

#define US G_GINT64_CONSTANT(1000)
#define MS G_GINT64_CONSTANT(1000000)

#define NODES 10

/* x [nodes,4] -> MatMul -> y */
static IfmModel *new_model(const char *stage)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("tiny", 17);
    const char *const nodes_name[] = { "nodes", NULL };
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, (gint64[]){ -1, 4 }, nodes_name);
    ifm_model_builder_random_weight(builder, "w", 2, (gint64[]){ 4, 4 }, 1, 7);
    ifm_model_builder_node(builder, "MatMul", "product", (const char *const[]){ "x", "w", NULL },
                           (const char *const[]){ "y", NULL });
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, (gint64[]){ -1, 4 }, nodes_name);
    if (stage != NULL)
        ifm_model_builder_metadata(builder, "inferometer.stage", stage);
    IfmModel *model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    return model;
}

typedef struct
{
    IfmClock *clock;
    IfmEngine *engine;
    float *x;
} Bench;

static void bench_init(Bench *bench, IfmClock *clock /* (transfer full) */)
{
    g_autoptr(GError) error = NULL;
    bench->clock = clock;
    ifm_clock_enter(clock);
    bench->engine = ifm_engine_open("simulated", clock, &error);
    g_assert_no_error(error);
    bench->x = g_new0(float, 4 * NODES);
}

static void bench_clear(Bench *bench)
{
    ifm_engine_unref(bench->engine);
    ifm_clock_leave(bench->clock);
    ifm_clock_unref(bench->clock);
    g_free(bench->x);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Bench, bench_clear)

/* A unit with a model on it, ready to infer. */
typedef struct
{
    IfmModel *model;
    IfmCompiled *compiled;
    IfmRequest *request;
} Unit;

static void unit_clear(Unit *unit)
{
    ifm_request_free(unit->request);
    ifm_compiled_free(unit->compiled);
    ifm_model_unref(unit->model);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Unit, unit_clear)

static void unit_init(Unit *unit, Bench *bench, const char *device, const char *stage, gboolean profiling)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device, &error);
    g_assert_no_error(error);
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    IfmTensor x;
    options.profiling = profiling;
    unit->model = new_model(stage);
    unit->compiled = ifm_engine_compile(bench->engine, unit->model, spec, &options, &error);
    g_assert_no_error(error);
    unit->request = ifm_compiled_request(unit->compiled, 0, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_tensor_wrap(&x, IFM_DTYPE_F32, 2, (gint64[]){ NODES, 4 }, bench->x, NULL));
    g_assert_true(ifm_request_set_input(unit->request, 0, &x, NULL));
}

static void start(Unit *unit)
{
    g_autoptr(GError) error = NULL;
    ifm_request_start(unit->request, NULL, NULL, &error);
    g_assert_no_error(error);
}

static gint64 finish(Unit *unit)
{
    g_autoptr(GError) error = NULL;
    IfmRequestTimes times;
    ifm_request_wait(unit->request, IFM_CLOCK_NEVER, &error);
    g_assert_no_error(error);
    ifm_request_times(unit->request, &times);
    return times.completed_ns - times.started_ns;
}

static gint64 infer(Unit *unit)
{
    start(unit);
    return finish(unit);
}

/* --- what slows what -------------------------------------------------------------------------------------------------- */

static void test_alone(void)
{
    g_auto(Bench) bench;
    g_auto(Unit) a = { 0 };
    bench_init(&bench, ifm_clock_new_virtual(0));
    unit_init(&a, &bench, "simulated:shared/A", NULL, FALSE);
    for (int i = 0; i < 3; i++)
        g_assert_cmpint(infer(&a), ==, 10 * MS);
    g_assert_cmpint(ifm_clock_now_ns(bench.clock), ==, 30 * MS);
}

/* B's 4 ms take 8 beside A. By then A has done 8 / 1.5 of its 10 ms, and does the rest alone. */
static void test_remaining_work(void)
{
    g_auto(Bench) bench;
    g_auto(Unit) a = { 0 };
    g_auto(Unit) b = { 0 };
    bench_init(&bench, ifm_clock_new_virtual(0));
    unit_init(&a, &bench, "simulated:shared/A", NULL, FALSE);
    unit_init(&b, &bench, "simulated:shared/B", NULL, FALSE);
    start(&a);
    start(&b);
    g_assert_cmpint(finish(&b), ==, 8 * MS);
    g_assert_cmpint(finish(&a), ==, llround(8e6 + (10e6 - 8e6 / 1.5)));
    g_assert_cmpint(infer(&a), ==, 10 * MS); /* nothing of it is left */
    g_assert_cmpint(infer(&b), ==, 4 * MS);
}

/* B begins when A has done 6 of its 10 ms: 4 are left, at two thirds of the speed. */
static void test_begin_meanwhile(void)
{
    g_auto(Bench) bench;
    g_auto(Unit) a = { 0 };
    g_auto(Unit) b = { 0 };
    bench_init(&bench, ifm_clock_new_virtual(0));
    unit_init(&a, &bench, "simulated:shared/A", NULL, FALSE);
    unit_init(&b, &bench, "simulated:shared/B", NULL, FALSE);
    start(&a);
    ifm_clock_sleep_until_ns(bench.clock, 6 * MS);
    start(&b);
    g_assert_cmpint(finish(&a), ==, 12 * MS);
    g_assert_cmpint(finish(&b), ==, 7 * MS); /* 6 ms beside A are 3 ms of its work, then 1 ms alone */
}

/* C alone slows nothing; with B it makes the set that slows A most. A entry for less than what is busy stands in. */
static void test_sets(void)
{
    g_auto(Bench) bench;
    g_auto(Unit) a = { 0 };
    g_auto(Unit) b = { 0 };
    g_auto(Unit) c = { 0 };
    bench_init(&bench, ifm_clock_new_virtual(0));
    unit_init(&a, &bench, "simulated:shared/A", NULL, FALSE);
    unit_init(&b, &bench, "simulated:shared/B", NULL, FALSE);
    unit_init(&c, &bench, "simulated:shared/C", NULL, FALSE);
    start(&a);
    start(&c);
    g_assert_cmpint(finish(&c), ==, 1 * MS);
    g_assert_cmpint(finish(&a), ==, 10 * MS);
    start(&a);
    start(&b);
    start(&c);
    g_assert_cmpint(finish(&c), ==, 1 * MS);
    g_assert_cmpint(finish(&b), ==, 8 * MS); /* {A, C} is not listed: {A} is */
    /* 1 ms at 2.5, 7 ms at 1.5, the rest alone */
    g_assert_cmpint(finish(&a), ==, llround(8e6 + (10e6 - 1e6 / 2.5 - 7e6 / 1.5)));
}

static void test_stages(void)
{
    g_auto(Bench) bench;
    bench_init(&bench, ifm_clock_new_virtual(0));
    static const struct
    {
        const char *stage;
        double factor;
    } cases[] = { { "7", 3 }, { "6-7", 1.5 }, { NULL, 1.5 } };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_auto(Unit) a = { 0 };
        g_auto(Unit) b = { 0 };
        unit_init(&a, &bench, "simulated:shared/A", cases[i].stage, FALSE);
        unit_init(&b, &bench, "simulated:shared/B", NULL, FALSE);
        start(&a);
        start(&b);
        g_assert_cmpint(finish(&b), ==, 8 * MS);
        g_assert_cmpint(finish(&a), ==, llround(8e6 + (10e6 - 8e6 / cases[i].factor)));
    }
}

/* Two streams of one unit do not slow each other; only what other units do counts. */
static void test_streams(void)
{
    g_auto(Bench) bench;
    g_auto(Unit) a = { 0 };
    bench_init(&bench, ifm_clock_new_virtual(0));
    unit_init(&a, &bench, "simulated:shared/A#2", NULL, FALSE);
    Unit second = { .request = ifm_compiled_request(a.compiled, 1, NULL) };
    IfmTensor x;
    g_assert_true(ifm_tensor_wrap(&x, IFM_DTYPE_F32, 2, (gint64[]){ NODES, 4 }, bench.x, NULL));
    g_assert_true(ifm_request_set_input(second.request, 0, &x, NULL));
    start(&a);
    start(&second);
    g_assert_cmpint(finish(&a), ==, 10 * MS);
    g_assert_cmpint(finish(&second), ==, 10 * MS);
    ifm_request_free(second.request);
}

/* Transfers slow down with the rest, and a profile tells the device's share of what it really took. */
static void test_transfers(void)
{
    g_auto(Bench) bench;
    g_auto(Unit) linked = { 0 };
    g_auto(Unit) b = { 0 };
    g_autoptr(GError) error = NULL;
    bench_init(&bench, ifm_clock_new_virtual(0));
    unit_init(&linked, &bench, "simulated:shared/LINKED", NULL, TRUE);
    unit_init(&b, &bench, "simulated:shared/B", NULL, FALSE);
    gint64 alone_ns = infer(&linked); /* 1 ms, and twice 1 us and what 160 bytes take: less than a nanosecond */
    g_assert_cmpint(alone_ns, ==, 1002 * US);
    start(&b);
    g_assert_cmpint(infer(&linked), ==, 2 * alone_ns);
    finish(&b);
    g_autoptr(GPtrArray) profiles = ifm_compiled_profile(linked.compiled, linked.request, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(profiles->len, ==, 2);
    g_assert_cmpint(((const IfmEngineProfile *)profiles->pdata[0])->inside_ns, ==, 1 * MS);
    g_assert_cmpint(((const IfmEngineProfile *)profiles->pdata[1])->inside_ns, ==, 2 * MS);
}

/* --- what ends early -------------------------------------------------------------------------------------------------- */

/* B is cancelled at 3 ms: A goes on alone from there. */
static void test_cancel(void)
{
    g_auto(Bench) bench;
    g_auto(Unit) a = { 0 };
    g_auto(Unit) b = { 0 };
    g_autoptr(GError) error = NULL;
    bench_init(&bench, ifm_clock_new_virtual(0));
    unit_init(&a, &bench, "simulated:shared/A", NULL, FALSE);
    unit_init(&b, &bench, "simulated:shared/B", NULL, FALSE);
    start(&a);
    start(&b);
    ifm_clock_sleep_until_ns(bench.clock, 3 * MS);
    g_assert_true(ifm_request_cancel(b.request, NULL));
    g_assert_false(ifm_request_wait(b.request, IFM_CLOCK_NEVER, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_CANCELLED);
    g_assert_cmpint(ifm_clock_now_ns(bench.clock), ==, 3 * MS);
    g_assert_cmpint(finish(&a), ==, 11 * MS); /* 3 ms at 1.5 are 2 of its 10 */
}

/* An inference that fails leaves nobody busy behind it. */
static void test_failure(void)
{
    g_auto(Bench) bench;
    g_auto(Unit) failing = { 0 };
    g_auto(Unit) b = { 0 };
    g_autoptr(GError) error = NULL;
    bench_init(&bench, ifm_clock_new_virtual(0));
    unit_init(&failing, &bench, "simulated:shared/FAILING", NULL, FALSE);
    unit_init(&b, &bench, "simulated:shared/B", NULL, FALSE);
    g_assert_cmpint(infer(&failing), ==, 6 * MS);
    start(&b);
    start(&failing);
    g_assert_false(ifm_request_wait(failing.request, IFM_CLOCK_NEVER, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_FAILED);
    g_assert_cmpint(finish(&b), ==, 4 * MS);
    g_assert_cmpint(infer(&failing), ==, 6 * MS);
}

/* --- many at once ----------------------------------------------------------------------------------------------------- */

#define ROUNDS 200

typedef struct
{
    Unit *unit;
    gint64 latency_ns[ROUNDS];
    pthread_t thread;
    Bench *bench;
} Loop;

static void *loop_main(void *data)
{
    Loop *loop = data;
    for (int i = 0; i < ROUNDS; i++)
        loop->latency_ns[i] = infer(loop->unit);
    ifm_clock_leave(loop->bench->clock);
    return NULL;
}

/* Back to back on three threads: whoever ends and begins at one moment leaves no gap, however the threads take turns. */
static void test_loops(void)
{
    g_auto(Bench) bench;
    g_auto(Unit) a = { 0 };
    g_auto(Unit) b = { 0 };
    g_auto(Unit) c = { 0 };
    bench_init(&bench, ifm_clock_new_virtual(0));
    unit_init(&a, &bench, "simulated:shared/A", NULL, FALSE);
    unit_init(&b, &bench, "simulated:shared/B", NULL, FALSE);
    unit_init(&c, &bench, "simulated:shared/C", NULL, FALSE);
    Loop loops[] = { { .unit = &a, .bench = &bench }, { .unit = &b, .bench = &bench }, { .unit = &c, .bench = &bench } };
    for (gsize i = 0; i < G_N_ELEMENTS(loops); i++)
        ifm_clock_enter(bench.clock);
    for (gsize i = 0; i < G_N_ELEMENTS(loops); i++)
        g_assert_cmpint(pthread_create(&loops[i].thread, NULL, loop_main, &loops[i]), ==, 0);
    ifm_clock_leave(bench.clock);
    for (gsize i = 0; i < G_N_ELEMENTS(loops); i++)
        pthread_join(loops[i].thread, NULL);
    ifm_clock_enter(bench.clock);
    for (int i = 0; i < ROUNDS; i++)
    {
        g_assert_cmpint(loops[1].latency_ns[i], ==, 8 * MS);
        g_assert_cmpint(loops[2].latency_ns[i], ==, 1 * MS);
        if (25 * (i + 1) <= ROUNDS) /* C, and so {B, C}, is busy for its 200 ms */
            g_assert_cmpint(loops[0].latency_ns[i], ==, 25 * MS);
    }
    g_assert_cmpint(loops[0].latency_ns[9], ==, 15 * MS); /* C has ended, B has not */
    g_assert_cmpint(loops[0].latency_ns[ROUNDS - 1], ==, 10 * MS);
}

/* On a real clock an inference takes no less than its share of the machine: B is busy all along. */
static void test_real_clock(void)
{
    g_auto(Bench) bench;
    g_auto(Unit) a = { 0 };
    g_auto(Unit) b = { 0 };
    bench_init(&bench, ifm_clock_new_real());
    unit_init(&a, &bench, "simulated:shared/A", "7", FALSE);
    unit_init(&b, &bench, "simulated:shared/B", NULL, FALSE);
    start(&a);
    gint64 b_ns = infer(&b);
    gint64 a_ns = finish(&a);
    g_assert_cmpint(b_ns, >=, 4 * MS);
    g_assert_cmpint(a_ns, >=, 10 * MS);
}

/* --- descriptions ----------------------------------------------------------------------------------------------------- */

static void refuse(const char *contention, const char *says)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("contention-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "machine.yaml", NULL);
    g_autofree char *text = g_strdup_printf("description: d\nprovenance: p\nunits:\n"
                                            "  A:\n    description: a\n    latency: {source: fixed, fixed: 1 ms}\n"
                                            "    contention: [%s]\n"
                                            "  B:\n    description: b\n    latency: {source: fixed, fixed: 1 ms}\n",
                                            contention);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
    g_autoptr(MachineDescription) machine = machine_read(path, &error);
    g_assert_null(machine);
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    if (strstr(error->message, says) == NULL || strstr(error->message, ":7: ") == NULL)
        g_error("\"%s\" does not say \"%s\" of line 7", error->message, says);
    g_unlink(path);
    g_rmdir(folder);
}

static void test_bad_descriptions(void)
{
    refuse("{load: [X], factor: 2}", "no unit \"X\"");
    refuse("{load: [A], factor: 2}", "A is the unit itself");
    refuse("{load: [B], factor: 0.5}", "factor");
    refuse("{load: [], factor: 2}", "load");
    refuse("{factor: 2}", "load");
}

/* The machine that plans are tried on: with its third unit at work, too, less gets done. */
static void test_third_unit_harms(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(g_getenv("IFM_TEST_DATA"), "engine", "devices", "contention.yaml", NULL);
    g_autoptr(MachineDescription) machine = machine_read(path, &error);
    g_assert_no_error(error);
    double rates[8] = { 0 }, speed[] = { 1, 1, 0.5 };
    g_assert_cmpuint(machine->units->len, ==, 3);
    for (guint busy = 1; busy < 8; busy++)
        for (guint i = 0; i < 3; i++)
        {
            const UnitDescription *unit = machine->units->pdata[i];
            double factor = 1;
            guint max = 0;
            for (guint k = 0; (busy >> i & 1) != 0 && k < unit->contention->len; k++)
            {
                const ContentionDescription *entry = unit->contention->pdata[k];
                guint mask = 0;
                for (guint b = 0; b < entry->busy->len; b++)
                    for (guint u = 0; u < 3; u++)
                        if (g_str_equal(entry->busy->pdata[b],
                                        ((const UnitDescription *)machine->units->pdata[u])->place.name))
                            mask |= 1u << u;
                if ((mask & ~busy) == 0 && entry->busy->len > max)
                {
                    max = entry->busy->len;
                    factor = entry->factor;
                }
            }
            rates[busy] += (busy >> i & 1) != 0 ? speed[i] / factor : 0;
        }
    for (guint busy = 1; busy < 8; busy++)
        g_assert_cmpfloat(rates[busy], <=, rates[3]);
    g_assert_cmpfloat(rates[7], <, 0.8 * rates[3]);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_autofree char *devices = g_build_filename(g_getenv("IFM_TEST_DATA"), "engine", "devices", NULL);
    g_setenv("IFM_DEVICES_DIR", devices, TRUE);
    g_test_add_func("/contention/alone", test_alone);
    g_test_add_func("/contention/remaining-work", test_remaining_work);
    g_test_add_func("/contention/begin-meanwhile", test_begin_meanwhile);
    g_test_add_func("/contention/sets", test_sets);
    g_test_add_func("/contention/stages", test_stages);
    g_test_add_func("/contention/streams", test_streams);
    g_test_add_func("/contention/transfers", test_transfers);
    g_test_add_func("/contention/cancel", test_cancel);
    g_test_add_func("/contention/failure", test_failure);
    g_test_add_func("/contention/loops", test_loops);
    g_test_add_func("/contention/real-clock", test_real_clock);
    g_test_add_func("/contention/bad-descriptions", test_bad_descriptions);
    g_test_add_func("/contention/third-unit-harms", test_third_unit_harms);
    return g_test_run();
}
