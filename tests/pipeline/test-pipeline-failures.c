/* What becomes of a run when a device fails, hangs or is lost, and when the caller has enough. */
#include <math.h>

#include "fixture.h"
#include <trace/trace.h>

#define TWO_BLOCKS "[[[\"A\"],[1,2,3],[1]],[[\"B\"],[4,5,6,7],[1]]]"
#define PARALLEL "[[[\"A\",\"B\"],[1,2,3,4,5,6,7],[0.5,0.5]]]"

/* --- it stops ------------------------------------------------------------------------------------------------------------
 */

static void assert_failed(const Run *run, gint64 id)
{
    g_assert_cmpuint(run->delivered.failed->len, ==, 1);
    g_assert_cmpint(g_array_index(run->delivered.failed, gint64, 0), ==, id);
    g_assert_cmpuint(run->result.n_failed, ==, 1);
}

/* Run 4 loses the device: three batches left before, the fourth leaves with the error, nothing hangs. */
static void test_stops(void)
{
    static const char *const plans[] = {
        "A=simulated:line/LOSES-4,B=simulated:line/SEVEN",
        "A=simulated:line/TWO,B=simulated:line/LOSES-4",
    };
    static const char *const begins[] = { "block 1: A: ", "block 2: B: " };
    for (int i = 0; i < 2; i++)
    {
        Run run;
        run_init(&run);
        run.trace = run.options.trace = ifm_trace_new("test");
        run.options.trace_batches = 20;
        run_plan(&run, make_plan(plans[i], TWO_BLOCKS), 20);
        g_assert_false(run.ok);
        g_assert_error(run.error, IFM_ERROR, IFM_ERROR_LOST);
        g_assert_true(g_str_has_prefix(run.error->message, begins[i]));
        g_assert_nonnull(strstr(run.error->message, "the bus is gone"));
        assert_delivered(&run, 3);
        assert_failed(&run, 3);
        g_assert_cmpuint(run.result.lost, ==, 1u << i);
        g_assert_cmpstr(run.result.stopped, ==, run.error->message);
        g_assert_cmpint(run.result.left_ns[2], >, 0);
        g_assert_cmpint(run.result.left_ns[3], ==, -1);
        g_assert_cmpuint(ifm_trace_n_events(run.trace), >, 20);
        run_clear(&run);
    }
}

/* One of two devices at the same batch fails. */
static void test_stops_parallel(void)
{
    Run run;
    run_init(&run);
    run_plan(&run, make_plan("A=simulated:line/SEVEN,B=simulated:line/LOSES-4", PARALLEL), 20);
    g_assert_error(run.error, IFM_ERROR, IFM_ERROR_LOST);
    g_assert_true(g_str_has_prefix(run.error->message, "block 1: B: "));
    assert_delivered(&run, 3);
    assert_failed(&run, 3);
    run_clear(&run);
}

/* --- it goes on ----------------------------------------------------------------------------------------------------------
 */

/* Without what is lost: all stages on the first device that is left. */
typedef struct
{
    guint n_asked;
    guint32 lost;
    gboolean gives_up;
} Replanner;

static IfmPlan *replan(const IfmPlan *plan, guint32 lost, const GError *why, void *user)
{
    Replanner *replanner = user;
    g_assert_nonnull(why);
    replanner->n_asked++;
    replanner->lost = lost;
    if (replanner->gives_up)
        return NULL;
    for (guint i = 0; i < plan->devices->len; i++)
        if ((lost & 1u << i) == 0)
        {
            IfmPlan *next = ifm_plan_copy(plan);
            g_array_set_size(next->blocks, 0);
            ifm_plan_add_block(next, &(IfmPlanBlock){ 1, 7, 1, { (int)i }, { 1 } });
            return next;
        }
    return NULL;
}

static void test_replans(void)
{
    static const struct
    {
        const char *devices, *blocks;
        guint32 lost;
    } cases[] = {
        { "A=simulated:line/LOSES-4,B=simulated:line/SEVEN", TWO_BLOCKS, 1 },
        { "A=simulated:line/TWO,B=simulated:line/LOSES-4", TWO_BLOCKS, 2 },
        { "A=simulated:line/TWO,B=simulated:line/LOSES-4", PARALLEL, 2 },
        { "A=simulated:line/TWO,B=simulated:line/HANGS-4", TWO_BLOCKS, 2 },
        { "A=simulated:line/HANGS-4,B=simulated:line/TWO", PARALLEL, 1 },
        { "A=simulated:line/DEAF-4,B=simulated:line/TWO", TWO_BLOCKS, 1 },
        /* one of the plan's own devices is lost while it compiles: the run begins with the other plan */
        { "A=simulated:line/LOSES-COMPILING,B=simulated:line/TWO", TWO_BLOCKS, 1 },
        /* the first to take over is lost, too, while it compiles */
        { "A=simulated:line/LOSES-4,B=simulated:line/TWO,C=simulated:line/LOSES-COMPILING", TWO_BLOCKS, 1 },
        { "A=simulated:line/LOSES-4,C=simulated:line/LOSES-COMPILING,B=simulated:line/SEVEN", TWO_BLOCKS, 3 },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        Run run;
        Replanner replanner = { 0 };
        run_init(&run);
        run.options.watchdog_ns = 1000 * MS;
        run.options.replan = replan;
        run.options.replan_user = &replanner;
        run_plan(&run, make_plan(cases[i].devices, cases[i].blocks), 20);
        g_assert_no_error(run.error);
        assert_delivered(&run, 20);
        g_assert_cmpuint(run.delivered.failed->len, ==, 0);
        g_assert_cmpuint(run.result.n_replans, ==, 1);
        g_assert_cmpuint(run.result.lost, ==, cases[i].lost);
        g_assert_cmpuint(run.result.n_blocks, ==, 1);
        g_assert_cmpuint(run.result.plan->blocks->len, ==, 1);
        g_assert_cmpint(run.result.times[19].start_ns, >, 0);
        run_clear(&run);
    }
}

/* There is no other plan: the batch leaves with the error after all. */
static void test_gives_up(void)
{
    Run run;
    Replanner replanner = { .gives_up = TRUE };
    run_init(&run);
    run.options.replan = replan;
    run.options.replan_user = &replanner;
    run_plan(&run, make_plan("A=simulated:line/LOSES-4,B=simulated:line/SEVEN", TWO_BLOCKS), 20);
    g_assert_error(run.error, IFM_ERROR, IFM_ERROR_LOST);
    g_assert_cmpuint(replanner.n_asked, ==, 1);
    assert_delivered(&run, 3);
    assert_failed(&run, 3);
    run_clear(&run);
}

/* --- the watchdog --------------------------------------------------------------------------------------------------------
 */

static void check_watchdog(const char *devices, const char *blocks, gsize n_delivered, const char *message)
{
    Run run;
    run_init(&run);
    run.options.watchdog_ns = 1000 * MS;
    run.options.queue_depth = 1;
    run.options.block_depth = 1;
    run_plan(&run, make_plan(devices, blocks), 20);
    g_assert_error(run.error, IFM_ERROR, IFM_ERROR_TIMEOUT);
    g_assert_cmpstr(run.error->message, ==, message);
    assert_delivered(&run, n_delivered);
    g_assert_cmpuint(run.delivered.failed->len, ==, 0);
    g_assert_cmpuint(run.result.n_failed, ==, 0);
    run_clear(&run);
}

static void test_watchdog(void)
{
    /* cancellable: all is joined */
    check_watchdog("A=simulated:line/HANGS-4,B=simulated:line/TWO", TWO_BLOCKS, 3,
                   "no batch got on for 1.000 s: block 1: A (simulated:line/HANGS-4) has had batch 3 for 1.002 s; block 2: "
                   "waits for block 1");
    check_watchdog(
        "A=simulated:line/TWO,B=simulated:line/HANGS-4", TWO_BLOCKS, 3,
        "no batch got on for 1.000 s: block 1: the queue to block 2 is full; block 2: B (simulated:line/HANGS-4) "
        "has had batch 3 for 1.004 s");
    check_watchdog("A=simulated:line/TWO,B=simulated:line/HANGS-4", PARALLEL, 3,
                   "no batch got on for 1.000 s: block 1: B (simulated:line/HANGS-4) has had batch 3 for 1.002 s");
    /* deaf: the call comes back all the same */
    check_watchdog("A=simulated:line/DEAF-4,B=simulated:line/TWO", TWO_BLOCKS, 3,
                   "no batch got on for 1.000 s: block 1: A (simulated:line/DEAF-4) has had batch 3 for 1.002 s; block 2: "
                   "waits for block 1");
}

/* An inference that was never answered is in the trace up to the end; what came before it is, too. */
static void check_unanswered(const char *device)
{
    Run run;
    g_autofree char *devices = g_strdup_printf("A=simulated:line/%s,B=simulated:line/TWO", device);
    run_init(&run);
    run.options.watchdog_ns = 1000 * MS;
    run.trace = run.options.trace = ifm_trace_new("test");
    run.options.trace_batches = 20;
    run_plan(&run, make_plan(devices, TWO_BLOCKS), 20);
    g_assert_error(run.error, IFM_ERROR, IFM_ERROR_TIMEOUT);
    gsize n = 0, n_failed = 0, n_infer = 0;
    for (gsize t = 0; t < ifm_trace_n_tracks(run.trace); t++)
    {
        const IfmEvent *events = ifm_trace_events(run.trace, t, &n);
        const IfmTrackInfo *info = ifm_trace_track_info(run.trace, t);
        for (gsize i = 0; i < n && g_strcmp0(info->device, "A") == 0; i++)
        {
            n_infer++;
            g_assert_cmpint(events[i].failed, ==, events[i].batch >= 3);
            n_failed += events[i].failed && events[i].duration_ns > 0;
            g_assert_true(events[i].batch != 3 || events[i].duration_ns >= 1000 * MS);
        }
    }
    g_assert_cmpuint(n_infer, >=, 4);
    g_assert_cmpuint(n_failed, ==, 1); /* the fifth was handed over behind it, and never began */
    run_clear(&run);
}

static void test_unanswered(void)
{
    check_unanswered("HANGS-4");
    check_unanswered("DEAF-4");
}

static void check_short_watchdog(gint64 watchdog_ns, const char *begin)
{
    Run run;
    run_init(&run);
    run.options.watchdog_ns = watchdog_ns;
    run_plan(&run, make_plan("A=simulated:line/HANGS-4,B=simulated:line/TWO", TWO_BLOCKS), 20);
    g_assert_error(run.error, IFM_ERROR, IFM_ERROR_TIMEOUT);
    if (!g_str_has_prefix(run.error->message, begin))
        g_error("%s", run.error->message);
    run_clear(&run);
}

/* A time is told in a unit in which it is not 0. */
static void test_units(void)
{
    check_short_watchdog(1, "no batch got on for 1 ns: ");
    check_short_watchdog(2500, "no batch got on for 2.500 us: ");
    check_short_watchdog(5 * MS, "no batch got on for 5.000 ms: ");
}

static void note_compiling(int block, const char *alias, gboolean ended, void *user)
{
    g_string_append_printf(user, "%s%d %s ", ended ? "/" : "", block, alias);
}

/* Who compiles what is told before and after. */
static void test_compiling(void)
{
    Run run;
    g_autoptr(GString) reported = g_string_new(NULL);
    run_init(&run);
    run.options.compiling = note_compiling;
    run.options.compiling_user = reported;
    run_plan(&run, make_plan("A=simulated:line/SEVEN,B=simulated:line/TWO", TWO_BLOCKS), 2);
    g_assert_no_error(run.error);
    g_assert_cmpstr(reported->str, ==, "1 A /1 A 2 B /2 B ");
    run_clear(&run);
}

/* A caller that keeps a batch too long is told of, too. It comes back in the end, so that everything is joined. */
static void keep(const IfmBatch *batch, const IfmTensor *outputs, const GError *error, void *user)
{
    Run *run = user;
    if (batch->id == 2)
        ifm_clock_sleep_until_ns(run->clock, ifm_clock_now_ns(run->clock) + 1500 * MS);
}

static void test_caller_keeps(void)
{
    Run run;
    run_init(&run);
    run.options.watchdog_ns = 1000 * MS;
    g_autofree IfmBatch *batches = make_batches(&run.graph, 1, 5);
    g_autoptr(IfmPlan) plan = make_plan("A=simulated:line/TWO,B=simulated:line/TWO-TOO", PARALLEL);
    g_autoptr(IfmPipeline) pipeline = ifm_pipeline_new(plan, &run.options, &run.error);
    g_assert_no_error(run.error);
    g_assert_false(ifm_pipeline_run(pipeline, batches, 5, keep, &run, &run.result, &run.error));
    g_assert_error(run.error, IFM_ERROR, IFM_ERROR_TIMEOUT);
    g_assert_nonnull(strstr(run.error->message, "block 1: the caller has had a batch handed to it for 1.002 s"));
    g_assert_cmpuint(run.result.n_delivered, ==, 3);
    g_clear_pointer(&pipeline, ifm_pipeline_free);
    run_clear(&run);
}

/* A pipeline whose device never came back does not run again; another one of other devices does. */
static void test_after_deaf(void)
{
    Run run;
    run_init(&run);
    run.options.watchdog_ns = 1000 * MS;
    g_autofree IfmBatch *batches = make_batches(&run.graph, 1, 5);
    g_autoptr(IfmPlan) plan = make_plan("A=simulated:line/DEAF-4", "[[[\"A\"],[1,2,3,4,5,6,7],[1]]]");
    g_autoptr(IfmPipeline) pipeline = ifm_pipeline_new(plan, &run.options, &run.error);
    g_assert_false(ifm_pipeline_run(pipeline, batches, 5, NULL, NULL, &run.result, &run.error));
    g_assert_error(run.error, IFM_ERROR, IFM_ERROR_TIMEOUT);
    g_clear_error(&run.error);
    ifm_pipeline_result_clear(&run.result);
    g_assert_false(ifm_pipeline_run(pipeline, batches, 5, NULL, NULL, &run.result, &run.error));
    g_assert_error(run.error, IFM_ERROR, IFM_ERROR_LOST);
    g_clear_error(&run.error);
    ifm_pipeline_result_clear(&run.result);
    g_clear_pointer(&pipeline, ifm_pipeline_free);
    run_plan(&run, make_plan("A=simulated:line/TWO", "[[[\"A\"],[1,2,3,4,5,6,7],[1]]]"), 3);
    g_assert_no_error(run.error);
    run_clear(&run);
}

/* --- the caller has enough
 * ------------------------------------------------------------------------------------------------ */

static gint interrupted;

static void interrupt_at_5(const IfmBatch *batch, const IfmTensor *outputs, const GError *error, void *user)
{
    note_delivered(batch, outputs, error, user);
    if (batch->id == 5)
        g_atomic_int_set(&interrupted, 1);
}

static void test_interrupted(void)
{
    Run run;
    run_init(&run);
    run.options.interrupted = &interrupted;
    g_atomic_int_set(&interrupted, 0);
    g_autofree IfmBatch *batches = make_batches(&run.graph, 1, 1000);
    g_autoptr(IfmPlan) plan = make_plan("A=simulated:line/TWO,B=simulated:line/SEVEN", TWO_BLOCKS);
    g_autoptr(IfmPipeline) pipeline = ifm_pipeline_new(plan, &run.options, &run.error);
    g_assert_no_error(run.error);
    g_assert_false(ifm_pipeline_run(pipeline, batches, 1000, interrupt_at_5, &run.delivered, &run.result, &run.error));
    g_assert_error(run.error, IFM_ERROR, IFM_ERROR_CANCELLED);
    /* it is looked at every 50 ms: not at once, but long before the end */
    g_assert_cmpuint(run.result.n_delivered, >=, 6);
    g_assert_cmpuint(run.result.n_delivered, <, 20);
    assert_delivered(&run, run.result.n_delivered);
    g_atomic_int_set(&interrupted, 0);
    g_clear_pointer(&pipeline, ifm_pipeline_free);
    run_clear(&run);
}

/* --- many
 * ------------------------------------------------------------------------------------------------------------------ */

/* When each device began and ended each of its inferences: in the order of the batches, none twice; but each new plan takes
 * up again what was not delivered. */
static void assert_in_order(const IfmTrace *trace, gsize n_replans)
{
    for (gsize t = 0; t < ifm_trace_n_tracks(trace); t++)
    {
        gsize n;
        const IfmEvent *events = ifm_trace_events(trace, t, &n);
        const IfmTrackInfo *info = ifm_trace_track_info(trace, t);
        gsize n_back = 0;
        for (gsize i = 1; i < n && info->kind == IFM_TRACK_DEVICE; i++)
        {
            gint64 end_ns = events[i - 1].start_ns + events[i - 1].duration_ns;
            g_assert_cmpint(events[i].start_ns, >=, end_ns);
            n_back += events[i].batch <= events[i - 1].batch;
        }
        g_assert_cmpuint(n_back, <=, n_replans);
    }
    g_assert_cmpuint(ifm_trace_n_dropped(trace), ==, 0);
}

/* The second failure leaves four blocks without two devices: what is left takes their stages. */
static IfmPlan *close_ranks(const IfmPlan *plan, guint32 lost, const GError *why, void *user)
{
    guint *n_asked = user;
    IfmPlan *next = ifm_plan_copy(plan);
    int first = 1;
    g_array_set_size(next->blocks, 0);
    (*n_asked)++;
    for (guint i = 0; i < plan->blocks->len; i++)
    {
        const IfmPlanBlock *old = &g_array_index(plan->blocks, IfmPlanBlock, i);
        IfmPlanBlock block = { .first = first, .last = old->last };
        for (gsize k = 0; k < old->n_devices; k++)
            if ((lost & 1u << old->devices[k]) == 0)
                block.devices[block.n_devices++] = old->devices[k];
        for (gsize k = 0; k < block.n_devices; k++)
            block.ratios[k] = 1.0 / (double)block.n_devices;
        if (block.n_devices == 0)
            continue;
        ifm_plan_add_block(next, &block);
        first = old->last + 1;
    }
    g_array_index(next->blocks, IfmPlanBlock, next->blocks->len - 1).last = 7;
    return next;
}

static void check_many(IfmClock *clock, gsize N)
{
    Run run;
    guint n_asked = 0;
    run_init_clock(&run, clock);
    run.trace = run.options.trace = ifm_trace_new("many");
    run.options.trace_batches = N;
    run.options.queue_depth = 3;
    run.options.replan = close_ranks;
    run.options.replan_user = &n_asked;
    g_autoptr(GRand) random = g_rand_new_with_seed(17);
    Graph graphs[7];
    for (int i = 0; i < 7; i++)
    {
        gint64 nodes = g_rand_int_range(random, 20, 60), own = i % 2 == 0 ? nodes : nodes - 7;
        graph_init(&graphs[i], random, nodes, own, g_rand_int_range(random, 30, 200));
    }
    g_autofree IfmBatch *batches = make_batches(graphs, 7, N);
    run_batches(&run,
                make_plan("A=simulated:line/NOISY-A,B=simulated:line/NOISY-B,C=simulated:line/NOISY-C#2,"
                          "D=simulated:line/FAILS-2500,E=simulated:line/LOSES-1700,F=simulated:line/NOISY-D",
                          "[[[\"A\",\"E\"],[1,2],[0.4,0.6]],[[\"B\"],[3,4],[1]],[[\"C\",\"D\"],[5,6],[0.5,0.5]],[[\"F\"],"
                          "[7],[1]]]"),
                batches, N);
    g_assert_no_error(run.error);
    assert_delivered(&run, N);
    g_assert_cmpuint(run.delivered.failed->len, ==, 0);
    g_assert_cmpuint(n_asked, ==, 2);
    g_assert_cmpuint(run.result.n_replans, ==, 2);
    g_assert_cmpuint(run.result.lost, ==, 1u << 3 | 1u << 4);
    assert_in_order(run.trace, run.result.n_replans);
    for (gsize i = 1; i < N; i++)
    {
        g_assert_cmpint(run.result.left_ns[i], >=, run.result.left_ns[i - 1]);
        g_assert_cmpint(run.result.entered_ns[i], >=, 0);
    }
    for (int i = 0; i < 7; i++)
        graph_clear(&graphs[i]);
    run_clear(&run);
}

static void test_many(void)
{
    check_many(ifm_clock_new_virtual(0), 10000);
}

/* On a real clock every condition has a lock of its own, and threads meet as they come. */
static void test_many_real(void)
{
    check_many(ifm_clock_new_real(), 4500);
}

/* A device that never answers, and one that is cancelled, on a real clock. */
static void test_hangs_real(void)
{
    static const char *const devices[] = { "A=simulated:line/TWO,B=simulated:line/HANGS-4",
                                           "A=simulated:line/TWO,B=simulated:line/DEAF-4" };
    for (int i = 0; i < 2; i++)
        for (int replans = 0; replans < 2; replans++)
        {
            Run run;
            Replanner replanner = { 0 };
            run_init_clock(&run, ifm_clock_new_real());
            run.options.watchdog_ns = 300 * MS;
            run.options.replan = replans ? replan : NULL;
            run.options.replan_user = &replanner;
            run_plan(&run, make_plan(devices[i], TWO_BLOCKS), 20);
            if (replans)
                g_assert_no_error(run.error);
            else
                g_assert_error(run.error, IFM_ERROR, IFM_ERROR_TIMEOUT);
            assert_delivered(&run, replans ? 20 : 3);
            run_clear(&run);
        }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    use_devices();
    g_test_add_func("/pipeline-failures/stops", test_stops);
    g_test_add_func("/pipeline-failures/stops-parallel", test_stops_parallel);
    g_test_add_func("/pipeline-failures/replans", test_replans);
    g_test_add_func("/pipeline-failures/gives-up", test_gives_up);
    g_test_add_func("/pipeline-failures/watchdog", test_watchdog);
    g_test_add_func("/pipeline-failures/unanswered", test_unanswered);
    g_test_add_func("/pipeline-failures/units", test_units);
    g_test_add_func("/pipeline-failures/compiling", test_compiling);
    g_test_add_func("/pipeline-failures/caller-keeps", test_caller_keeps);
    g_test_add_func("/pipeline-failures/after-deaf", test_after_deaf);
    g_test_add_func("/pipeline-failures/interrupted", test_interrupted);
    g_test_add_func("/pipeline-failures/many", test_many);
    g_test_add_func("/pipeline-failures/many-real", test_many_real);
    g_test_add_func("/pipeline-failures/hangs-real", test_hangs_real);
    return g_test_run();
}
