/* The executor on simulated devices and a virtual clock: everything takes exactly as long as it must. */
#include <math.h>
#include <trace/trace.h>

#include "fixture.h"

#define ONE_BLOCK "[[[\"A\"],[1,2,3,4,5,6,7],[1]]]"
#define TWO_BLOCKS "[[[\"A\"],[1,2,3],[1]],[[\"B\"],[4,5,6,7],[1]]]"
#define PARALLEL "[[[\"A\",\"B\"],[1,2,3,4,5,6,7],[0.5,0.5]]]"

static void test_single(void)
{
    Run run;
    run_init(&run);
    run_plan(&run, make_plan("A=simulated:line/TWO", ONE_BLOCK), 10);
    g_assert_no_error(run.error);
    assert_delivered(&run, 10);
    g_assert_cmpint(makespan_ns(&run), ==, 20 * MS);
    g_assert_cmpint(run.result.start_ns, ==, 1000 * MS);
    for (gsize i = 0; i < 10; i++)
        g_assert_cmpint(run.result.left_ns[i], ==, 1000 * MS + ((gint64)i + 1) * 2 * MS);
    g_assert_true(isnan(run.result.device_time_slow_down));
    g_assert_null(run.result.stopped);
    run_clear(&run);
}

/* The first block's time once, then the second, the longer, sets the pace; the other way round likewise. */
static void test_two_blocks(void)
{
    static const struct
    {
        const char *devices;
        gint64 first_ns, pace_ns, last_ns;
    } cases[] = {
        { "A=simulated:line/TWO,B=simulated:line/THREE", 2 * MS, 3 * MS, 0 },
        { "A=simulated:line/THREE,B=simulated:line/TWO", 0, 3 * MS, 2 * MS },
        { "A=simulated:line/TWO,B=simulated:line/SEVEN", 2 * MS, 7 * MS, 0 },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        for (int depth = 1; depth <= 3; depth++)
        {
            Run run;
            run_init(&run);
            run.options.queue_depth = depth;
            run.options.block_depth = 4 - depth;
            run_plan(&run, make_plan(cases[i].devices, TWO_BLOCKS), 100);
            g_assert_no_error(run.error);
            assert_delivered(&run, 100);
            g_assert_cmpint(makespan_ns(&run), ==, cases[i].first_ns + 100 * cases[i].pace_ns + cases[i].last_ns);
            run_clear(&run);
        }
}

/* A slow second block holds the first back: no more batches are on their way than blocks and queue have room for. */
static void test_back_pressure(void)
{
    Run run;
    run_init(&run);
    run.options.queue_depth = 2;
    run.options.block_depth = 1;
    run_plan(&run, make_plan("A=simulated:line/TWO,B=simulated:line/SEVEN", TWO_BLOCKS), 50);
    g_assert_no_error(run.error);
    gsize max = 0;
    for (gsize i = 0; i < 50; i++)
    {
        gsize on_the_way = 0;
        for (gsize k = 0; k <= i; k++)
            on_the_way += run.result.left_ns[k] > run.result.entered_ns[i];
        max = MAX(max, on_the_way);
    }
    g_assert_cmpuint(max, ==, 1 + 2 + 1); /* in the first, in the queue, in the second */
    /* in the long run a batch enters when one leaves */
    for (gsize i = 10; i < 50; i++)
        g_assert_cmpint(run.result.entered_ns[i] - run.result.entered_ns[i - 1], ==, 7 * MS);
    run_clear(&run);
}

/* Shares by turns 250 and 750 nodes of 1000, 1 us a node. One batch at a time: the larger share each time. Two: the device
 * that is done goes on, and every two batches take 1 ms. */
static void test_parallel(void)
{
    static const double few_many[] = { 0.25, 0.75 }, many_few[] = { 0.75, 0.25 };
    for (int depth = 1; depth <= 2; depth++)
    {
        Run run;
        run_init(&run);
        run.options.block_depth = depth;
        g_autofree IfmBatch *batches = make_batches(&run.graph, 1, 100);
        for (gsize i = 0; i < 100; i++)
            batches[i].ratios = i % 2 == 0 ? few_many : many_few;
        run_batches(&run, make_plan("A=simulated:line/LINEAR-A,B=simulated:line/LINEAR-B", PARALLEL), batches, 100);
        g_assert_no_error(run.error);
        assert_delivered(&run, 100);
        g_assert_cmpint(makespan_ns(&run), ==, depth == 1 ? 100 * 750 * US : 100 * 500 * US);
        for (gsize i = 0; i < 100; i++)
        {
            const IfmBlockTimes *times = &run.result.times[i];
            g_assert_cmpint(times->device_wall_ns[i % 2 == 0 ? 0 : 1], ==, 250 * US);
            g_assert_cmpint(times->device_wall_ns[i % 2 == 0 ? 1 : 0], ==, 750 * US);
            if (depth == 1)
                g_assert_cmpint(times->total_ns, ==, 750 * US);
            if (depth == 1 || i == 0)
                g_assert_cmpint(times->device_turn_ns[0], ==, 0);
        }
        run_clear(&run);
    }
}

/* The wait for the device's turn is no part of what a batch costs its block. With room for two, a batch enters when the
 * last begins on the device: it waits 7 ms for its turn; the first finds the device free. */
static void test_turn(void)
{
    Run run;
    run_init(&run);
    run_plan(&run, make_plan("A=simulated:line/SEVEN", ONE_BLOCK), 20);
    g_assert_no_error(run.error);
    for (gsize i = 0; i < 20; i++)
    {
        const IfmBlockTimes *times = &run.result.times[i];
        gint64 turn_ns = i == 0 ? 0 : 7 * MS;
        g_assert_cmpint(times->total_ns, ==, 7 * MS);
        g_assert_cmpint(times->device_ns, ==, 7 * MS);
        g_assert_cmpint(times->turn_ns, ==, turn_ns);
        g_assert_cmpint(times->device_turn_ns[0], ==, turn_ns);
        g_assert_cmpint(run.result.left_ns[i] - times->start_ns, ==, 7 * MS + turn_ns);
    }
    run_clear(&run);
}

/* How many edges of a graph end below node @below. */
static gint64 edges_below(const Graph *graph, gint64 below)
{
    const gint64 *destinations = (const gint64 *)graph->inputs[1].data + graph->edges;
    gint64 n = 0;
    for (gint64 i = 0; i < graph->edges; i++)
        n += destinations[i] < below;
    return n;
}

/* Two graphs in turn through a block of two devices that take 1 us a node, or an edge, of their part: whatever stages they
 * run, and so whether or not any of their inputs shows how large it is. */
static void check_part_sizes(const char *blocks, gsize block, gboolean by_edges)
{
    Run run;
    Graph graphs[2];
    g_autoptr(GRand) random = g_rand_new_with_seed(11);
    run_init(&run);
    graph_init(&graphs[0], random, 1000, 1000, 3000);
    graph_init(&graphs[1], random, 400, 400, 2000);
    g_autofree IfmBatch *batches = make_batches(graphs, 2, 6);
    run_batches(&run,
                make_plan(by_edges ? "A=simulated:line/EDGES-A,B=simulated:line/EDGES-B,C=simulated:line/TWO"
                                   : "A=simulated:line/LINEAR-A,B=simulated:line/LINEAR-B,C=simulated:line/TWO",
                          blocks),
                batches, 6);
    g_assert_no_error(run.error);
    assert_delivered(&run, 6);
    for (gsize i = 0; i < 6; i++)
    {
        const Graph *graph = &graphs[i % 2];
        const IfmBlockTimes *times = &run.result.times[i * run.result.n_blocks + block];
        gint64 cut = by_edges ? edges_below(graph, graph->nodes / 4) : graph->nodes / 4;
        g_assert_cmpint(times->device_wall_ns[0], ==, cut * US);
        g_assert_cmpint(times->device_wall_ns[1], ==, ((by_edges ? graph->edges : graph->nodes) - cut) * US);
    }
    graph_clear(&graphs[0]);
    graph_clear(&graphs[1]);
    run_clear(&run);
}

static void test_part_sizes(void)
{
    static const struct
    {
        const char *blocks;
        gsize block; /* the one of A and B */
    } cases[] = {
        { "[[[\"A\",\"B\"],[1],[0.25,0.75]],[[\"C\"],[2,3,4,5,6,7],[1]]]", 0 },
        { "[[[\"A\",\"B\"],[1,2],[0.25,0.75]],[[\"C\"],[3,4,5,6,7],[1]]]", 0 },
        { "[[[\"C\"],[1],[1]],[[\"A\",\"B\"],[2,3,4,5,6,7],[0.25,0.75]]]", 1 },
        { "[[[\"C\"],[1,2,3,4],[1]],[[\"A\",\"B\"],[5,6,7],[0.25,0.75]]]", 1 },
        { "[[[\"A\",\"B\"],[1,2,3,4,5,6,7],[0.25,0.75]]]", 0 },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
        for (int by_edges = 0; by_edges <= 1; by_edges++)
            check_part_sizes(cases[i].blocks, cases[i].block, by_edges);
}

/* A device of the plan that gets no node of a batch does nothing for it. */
static void test_empty_share(void)
{
    static const double all_or_nothing[] = { 1, 0 };
    Run run;
    run_init(&run);
    g_autofree IfmBatch *batches = make_batches(&run.graph, 1, 10);
    for (gsize i = 0; i < 10; i++)
        batches[i].ratios = all_or_nothing;
    run_batches(&run, make_plan("A=simulated:line/LINEAR-A,B=simulated:line/SEVEN", PARALLEL), batches, 10);
    g_assert_no_error(run.error);
    assert_delivered(&run, 10);
    g_assert_cmpint(makespan_ns(&run), ==, 10 * MS);
    g_assert_cmpint(run.result.times[3].device_wall_ns[1], ==, 0);
    run_clear(&run);
}

/* Two streams take two batches at once. */
static void test_streams(void)
{
    Run run;
    run_init(&run);
    run_plan(&run, make_plan("A=simulated:line/SEVEN#2", ONE_BLOCK), 20);
    g_assert_no_error(run.error);
    assert_delivered(&run, 20);
    g_assert_cmpint(makespan_ns(&run), ==, 10 * 7 * MS);
    run_clear(&run);
    run_init(&run);
    run_plan(&run, make_plan("A=simulated:line/SEVEN#3,B=simulated:line/TWO", TWO_BLOCKS), 30);
    g_assert_no_error(run.error);
    assert_delivered(&run, 30);
    g_assert_cmpint(makespan_ns(&run), ==, 10 * 7 * MS + 3 * 2 * MS); /* the last three leave one by one */
    run_clear(&run);
}

/* What is not shared is copied, by the link's rate, and that is in partition and merge; where the latency holds it, not. */
static void test_own_memory(void)
{
    Run run;
    run_init(&run);
    run.options.block_depth = 1;
    run_plan(&run, make_plan("A=simulated:line/OWN-MEMORY", ONE_BLOCK), 5);
    g_assert_no_error(run.error);
    assert_delivered(&run, 5);
    /* x whole and x by destination, edge_index; h back */
    gint64 x = 1000 * FEATURES * 4, edges = 2 * 4000 * 8, h = 1000 * HIDDEN * 4;
    for (gsize i = 0; i < 5; i++)
    {
        const IfmBlockTimes *times = &run.result.times[i];
        g_assert_cmpint(times->copy_bytes, ==, 2 * x + edges + h);
        g_assert_cmpint(times->partition_ns, ==, 3 * 100 * US + 2 * x + edges); /* a byte a ns */
        g_assert_cmpint(times->device_ns, ==, MS);
        g_assert_cmpint(times->merge_ns, ==, 100 * US + h);
    }
    run_clear(&run);
    run_init(&run);
    run_plan(&run, make_plan("A=simulated:line/IN-LATENCY", ONE_BLOCK), 5);
    g_assert_no_error(run.error);
    g_assert_cmpint(makespan_ns(&run), ==, 5 * MS);
    g_assert_cmpint(run.result.times[0].copy_bytes, ==, 0);
    run_clear(&run);
}

/* Again and again, by one pipeline. */
static void test_again(void)
{
    Run run;
    run_init(&run);
    g_autofree IfmBatch *batches = make_batches(&run.graph, 1, 20);
    g_autoptr(IfmPlan) plan = make_plan("A=simulated:line/TWO,B=simulated:line/THREE", TWO_BLOCKS);
    g_autoptr(IfmPipeline) pipeline = ifm_pipeline_new(plan, &run.options, &run.error);
    g_assert_no_error(run.error);
    for (gsize n = 1; n <= 20; n++)
    {
        g_array_set_size(run.delivered.ids, 0);
        ifm_pipeline_result_clear(&run.result);
        g_assert_true(ifm_pipeline_run(pipeline, batches, n, note_delivered, &run.delivered, &run.result, &run.error));
        assert_delivered(&run, n);
        g_assert_cmpint(makespan_ns(&run), ==, 2 * MS + (gint64)n * 3 * MS);
    }
    g_clear_pointer(&pipeline, ifm_pipeline_free);
    run_clear(&run);
}

/* --- the trace ----------------------------------------------------------------------------------------------------------
 */

typedef struct
{
    gsize n[IFM_N_EVENT_KINDS];
    gint64 ns[IFM_N_EVENT_KINDS];
} Tally;

/* Events of a block (0: of all), and that no two slices of a device or host track overlap but for those inside others. */
static Tally tally(const IfmTrace *trace, guint block)
{
    Tally tally = { 0 };
    for (gsize t = 0; t < ifm_trace_n_tracks(trace); t++)
    {
        gsize n;
        const IfmEvent *events = ifm_trace_events(trace, t, &n);
        const IfmTrackInfo *info = ifm_trace_track_info(trace, t);
        for (gsize i = 0; i < n; i++)
        {
            for (gsize k = 0; k < i && info->kind != IFM_TRACK_QUEUE; k++)
            {
                gint64 a = events[k].start_ns, a_end = a + events[k].duration_ns;
                gint64 b = events[i].start_ns, b_end = b + events[i].duration_ns;
                gboolean apart = a_end <= b || b_end <= a,
                         inside = (a <= b && b_end <= a_end) || (b <= a && a_end <= b_end);
                gboolean nests = info->kind == IFM_TRACK_HOST || events[i].kind == IFM_EVENT_NODE;
                g_assert_true(apart || (inside && nests));
            }
            if (block != 0 && events[i].block != block)
                continue;
            tally.n[events[i].kind]++;
            tally.ns[events[i].kind] += events[i].duration_ns;
        }
    }
    return tally;
}

static void test_trace(void)
{
    Run run;
    run_init(&run);
    run.trace = run.options.trace = ifm_trace_new("test");
    run.options.trace_batches = 50;
    run.options.queue_depth = 1;
    run.options.block_depth = 1;
    run_plan(&run, make_plan("A=simulated:line/TWO,B=simulated:line/SEVEN", TWO_BLOCKS), 50);
    g_assert_no_error(run.error);
    Tally all = tally(run.trace, 0), first = tally(run.trace, 1), second = tally(run.trace, 2);
    g_assert_cmpuint(ifm_trace_n_dropped(run.trace), ==, 0);
    g_assert_cmpuint(all.n[IFM_EVENT_BATCH], ==, 50);
    g_assert_cmpuint(all.n[IFM_EVENT_QUEUE], ==, 50);
    g_assert_cmpuint(first.n[IFM_EVENT_INFER], ==, 50);
    g_assert_cmpint(first.ns[IFM_EVENT_INFER], ==, 50 * 2 * MS);
    g_assert_cmpint(second.ns[IFM_EVENT_INFER], ==, 50 * 7 * MS);
    g_assert_cmpuint(first.n[IFM_EVENT_BLOCK], ==, 50);
    g_assert_cmpuint(first.n[IFM_EVENT_PARTITION], ==, 50);
    g_assert_cmpuint(second.n[IFM_EVENT_MERGE], ==, 50);
    g_assert_cmpint(first.ns[IFM_EVENT_WAIT_INPUT], ==, 0);
    /* the second waits for its first batch alone; the first is done with batch n (from the third on) 7 ms after the last,
     * 2 of which it worked */
    g_assert_cmpint(second.ns[IFM_EVENT_WAIT_INPUT], ==, 2 * MS);
    gint64 waited = 0; /* by hand: batch 2 is ready at 6 and goes when the queue is free at 9, and so on */
    for (int i = 2; i < 50; i++)
        waited += i == 2 ? 3 * MS : 5 * MS;
    g_assert_cmpint(first.ns[IFM_EVENT_WAIT_OUTPUT], ==, waited);
    gint64 latency_ns = 0;
    for (gsize i = 0; i < 50; i++)
        latency_ns += run.result.left_ns[i] - run.result.entered_ns[i];
    g_assert_cmpint(all.ns[IFM_EVENT_BATCH], ==, latency_ns);
    g_assert_cmpstr(json_string_value(json_object_get(ifm_trace_meta(run.trace), "device_time")), ==, "off");
    run_clear(&run);
}

/* --- device times -------------------------------------------------------------------------------------------------------
 */

static void check_device_time(IfmDeviceTime how, const char *devices, gsize n, gsize known, gint64 wall_ns,
                              gint64 device_ns, double slow_down)
{
    Run run;
    run_init(&run);
    run.trace = run.options.trace = ifm_trace_new("test");
    run.options.trace_batches = n;
    run.options.device_time = how;
    run.options.sample_every = 10;
    run_plan(&run, make_plan(devices, ONE_BLOCK), n);
    g_assert_no_error(run.error);
    assert_delivered(&run, n);
    gsize found = 0;
    for (gsize i = 0; i < n; i++)
        if (run.result.times[i].device_time_ns[0] >= 0)
        {
            g_assert_cmpint(run.result.times[i].device_wall_ns[0], ==, wall_ns);
            g_assert_cmpint(ABS(run.result.times[i].device_time_ns[0] - device_ns), <=, 30); /* nodes are cut to a ns */
            found++;
        }
        else
            g_assert_cmpint(run.result.times[i].device_wall_ns[0], ==, 3 * MS);
    g_assert_cmpuint(found, ==, known);
    gsize n_events = 0, n_known = 0, n_overheads = 0;
    gint64 nodes_ns = 0;
    for (gsize t = 0; t < ifm_trace_n_tracks(run.trace); t++)
    {
        gsize n_here;
        const IfmEvent *events = ifm_trace_events(run.trace, t, &n_here);
        for (gsize i = 0; i < n_here; i++)
        {
            n_events += events[i].kind == IFM_EVENT_INFER;
            n_known += events[i].kind == IFM_EVENT_INFER && events[i].device_ns >= 0;
            nodes_ns += events[i].kind == IFM_EVENT_NODE ? events[i].duration_ns : 0;
            if (events[i].overhead_ns < 0)
                continue;
            g_assert_cmpint(events[i].device_ns, >=, 0); /* nothing else was counted */
            g_assert_cmpint(events[i].overhead_ns, ==, 750 * US);
            n_overheads++;
        }
    }
    g_assert_cmpuint(n_events, ==, n);
    g_assert_cmpuint(n_known, ==, known);
    g_assert_cmpuint(n_overheads, ==, isnan(slow_down) ? 0 : known - 1); /* the first is cold */
    /* of the first 64 the trace has the nodes, too */
    g_assert_cmpint(ABS(nodes_ns - (gint64)MIN(known, 64) * device_ns), <=, 64 * 30);
    if (isnan(slow_down))
        g_assert_true(isnan(run.result.device_time_slow_down));
    else
        g_assert_cmpfloat(fabs(run.result.device_time_slow_down - slow_down), <, 1e-9);
    if (n <= 100)
        tally(run.trace, 0);
    run_clear(&run);
}

static gsize count_nodes(const IfmTrace *trace)
{
    gsize n = 0, n_here;
    for (gsize t = 0; t < ifm_trace_n_tracks(trace); t++)
    {
        const IfmEvent *events = ifm_trace_events(trace, t, &n_here);
        for (gsize i = 0; i < n_here; i++)
            n += events[i].kind == IFM_EVENT_NODE;
    }
    return n;
}

/* A run to warm up, whose events are forgotten, takes none of the room that the nodes of the next one have. */
static void test_nodes_again(void)
{
    Run run;
    run_init(&run);
    run.trace = run.options.trace = ifm_trace_new("test");
    run.options.trace_batches = 100;
    run.options.device_time = IFM_DEVICE_TIME_ON;
    g_autoptr(IfmPlan) plan = make_plan("A=simulated:line/THREE", ONE_BLOCK);
    g_autoptr(IfmPipeline) pipeline = ifm_pipeline_new(plan, &run.options, &run.error);
    g_assert_no_error(run.error);
    g_autofree IfmBatch *batches = make_batches(&run.graph, 1, 100);
    gsize first = 0;
    for (int i = 0; i < 2; i++)
    {
        ifm_trace_forget_events(run.trace);
        ifm_pipeline_result_clear(&run.result);
        ifm_pipeline_run(pipeline, batches, 100, note_delivered, &run.delivered, &run.result, &run.error);
        g_assert_no_error(run.error);
        gsize n = count_nodes(run.trace);
        g_assert_cmpuint(n, >=, 64); /* of 64 inferences, one at least each */
        g_assert_cmpuint(n % 64, ==, 0);
        first = i == 0 ? n : first;
        g_assert_cmpuint(n, ==, first);
        g_assert_cmpuint(ifm_trace_n_dropped(run.trace), ==, 0);
    }
    ifm_pipeline_result_clear(&run.result);
    run_clear(&run);
}

/* The trace's event of each batch's inference. Returns: how many nodes the trace has of one. */
static gsize find_inferences(const IfmTrace *trace, const IfmEvent **inferences)
{
    gsize n_here, n_nodes = 0;
    gint32 batch = -1;
    for (gsize t = 0; t < ifm_trace_n_tracks(trace); t++)
    {
        const IfmEvent *events = ifm_trace_events(trace, t, &n_here);
        for (gsize i = 0; i < n_here; i++)
        {
            if (events[i].kind == IFM_EVENT_INFER)
                inferences[events[i].batch] = &events[i];
            if (events[i].kind == IFM_EVENT_NODE && batch < 0)
                batch = events[i].batch;
            n_nodes += events[i].kind == IFM_EVENT_NODE && events[i].batch == batch;
        }
    }
    return n_nodes;
}

/* Where a runtime reports means since the compile alone, an inference has its own time, as long as the means are fine
 * enough for it, and else none. Its counted inferences before the run's first: @before. Returns: how many have a time. */
static gsize check_means(const Run *run, gsize n, gsize before, gsize every)
{
    const IfmEvent *inferences[200];
    gsize n_nodes = find_inferences(run->trace, inferences), n_known = 0, n_counted = before, n_coarse = 0;
    g_assert_cmpuint(n_nodes, >, 1);
    for (gsize i = 0; i < n; i++)
    {
        const IfmBlockTimes *times = &run->result.times[i];
        gint64 wall_ns = times->device_wall_ns[0], device_ns = times->device_time_ns[0];
        g_assert_cmpint(inferences[i]->device_ns, ==, MAX(device_ns, -1));
        if (device_ns == -1 && every > 1) /* not sampled */
            continue;
        gint64 error_ns = (gint64)(2 * ++n_counted - 1) * US * (gint64)n_nodes;
        g_assert_true((device_ns == IFM_DEVICE_TIME_COARSE) == ((double)error_ns >= 0.05 * (double)wall_ns));
        n_coarse += device_ns == IFM_DEVICE_TIME_COARSE;
        if (device_ns < 0)
            continue;
        n_known++;
        g_assert_cmpint(ABS(device_ns - wall_ns), <=, error_ns);
    }
    g_assert_cmpuint(n_counted - before, ==, n / every);
    g_assert_cmpint(json_integer_value(json_object_get(ifm_trace_meta(run->trace), "device_time_left_out")), ==, n_coarse);
    return n_known;
}

static void check_runs_of_means(IfmDeviceTime how, gsize every, gboolean renews)
{
    enum
    {
        N = 200
    };
    Run run;
    run_init(&run);
    run.trace = run.options.trace = ifm_trace_new("test");
    run.options.trace_batches = N;
    run.options.device_time = how;
    run.options.sample_every = (int)every;
    g_autoptr(IfmPlan) plan = make_plan("A=simulated:line/MEANS", ONE_BLOCK);
    g_autoptr(IfmPipeline) pipeline = ifm_pipeline_new(plan, &run.options, &run.error);
    g_assert_no_error(run.error);
    g_autofree IfmBatch *batches = make_batches(&run.graph, 1, N);
    for (int i = 0; i < 2; i++)
    {
        ifm_trace_forget_events(run.trace);
        ifm_pipeline_result_clear(&run.result);
        ifm_pipeline_run(pipeline, batches, N, note_delivered, &run.delivered, &run.result, &run.error);
        g_assert_no_error(run.error);
        /* what has become too coarse begins anew, with an inference to warm up */
        gsize known = check_means(&run, N, i == 0 ? 0 : renews ? 1 : N / every, every);
        g_assert_cmpuint(known, >=, 10);
        g_assert_true((known < N / every) == renews);
    }
    ifm_pipeline_result_clear(&run.result);
    run_clear(&run);
}

static void test_means(void)
{
    check_runs_of_means(IFM_DEVICE_TIME_ON, 1, TRUE);
    check_runs_of_means(IFM_DEVICE_TIME_SAMPLED, 4, TRUE);
    check_runs_of_means(IFM_DEVICE_TIME_SAMPLED, 20, FALSE);
}

static void test_device_time(void)
{
    /* the device's profile slows it by a quarter */
    check_device_time(IFM_DEVICE_TIME_OFF, "A=simulated:line/THREE", 40, 0, 0, 0, NAN);
    check_device_time(IFM_DEVICE_TIME_ON, "A=simulated:line/THREE", 40, 40, 3750 * US, 3750 * US, NAN);
    check_device_time(IFM_DEVICE_TIME_SAMPLED, "A=simulated:line/THREE", 40, 4, 3750 * US, 3750 * US, 0.25);
    /* more than the driver keeps: they are fetched on the way */
    check_device_time(IFM_DEVICE_TIME_ON, "A=simulated:line/THREE", 9000, 9000, 3750 * US, 3750 * US, NAN);
    check_device_time(IFM_DEVICE_TIME_ON, "A=simulated:line/THREE#2", 41, 41, 3750 * US, 3750 * US, NAN);
    /* a device without counters */
    Run run;
    run_init(&run);
    run.options.device_time = IFM_DEVICE_TIME_ON;
    run_plan(&run, make_plan("A=simulated:line/SEVEN", ONE_BLOCK), 3);
    g_assert_no_error(run.error);
    g_assert_cmpint(run.result.times[1].device_time_ns[0], ==, -1);
    run_clear(&run);
}

/* --- bad input ----------------------------------------------------------------------------------------------------------
 */

static void assert_new_refused(const char *devices, const char *blocks, int code, const char *begins)
{
    Run run;
    run_init(&run);
    g_autoptr(IfmPlan) plan = make_plan(devices, blocks);
    g_assert_null(ifm_pipeline_new(plan, &run.options, &run.error));
    g_assert_error(run.error, IFM_ERROR, code);
    if (!g_str_has_prefix(run.error->message, begins))
        g_error("'%s' does not begin with '%s'", run.error->message, begins);
    run_clear(&run);
}

static void test_refused(void)
{
    assert_new_refused("A=simulated:line/TWO,B=simulated:line/REFUSES", TWO_BLOCKS, IFM_ERROR_UNSUPPORTED, "block 2: B: ");
    assert_new_refused("A=simulated:line/TWO,B=simulated:line/NONE", TWO_BLOCKS, IFM_ERROR_UNAVAILABLE, "block 2: B: ");
    assert_new_refused("A=simulated:line/TWO,B=simulat:line", TWO_BLOCKS, IFM_ERROR_INVALID, "block 2: B: ");
    Run run;
    run_init(&run);
    g_autoptr(IfmPlan) plan = make_plan("A=simulated:line/TWO", ONE_BLOCK);
    g_free(((IfmPlanDevice *)plan->devices->pdata[0])->device);
    ((IfmPlanDevice *)plan->devices->pdata[0])->device = NULL;
    g_assert_null(ifm_pipeline_new(plan, &run.options, &run.error));
    g_assert_cmpstr(run.error->message, ==,
                    "block 1: A: the plan does not say which device that is; \"devices\": {\"A\": {\"device\": "
                    "\"openvino:CPU\"}} is expected");
    run_clear(&run);
}

static void assert_batch_refused(void (*spoil)(IfmBatch *batch, Graph *graph), const char *message)
{
    Run run;
    run_init(&run);
    g_autofree IfmBatch *batches = make_batches(&run.graph, 1, 3);
    spoil(&batches[2], &run.graph);
    run_batches(&run, make_plan("A=simulated:line/TWO,B=simulated:line/THREE", PARALLEL), batches, 3);
    g_assert_error(run.error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpstr(run.error->message, ==, message);
    g_assert_cmpuint(run.result.n_delivered, ==, 0);
    g_assert_cmpuint(run.delivered.ids->len, ==, 0);
    run_clear(&run);
}

static void too_many_nodes(IfmBatch *batch, Graph *graph)
{
    batch->nodes = 1001;
}
static void wrong_shape(IfmBatch *batch, Graph *graph)
{
    batch->edges = 3999;
}
static IfmTensor spoilt[2];
static void wrong_destination(IfmBatch *batch, Graph *graph)
{
    ((gint64 *)graph->inputs[1].data)[4000 + 17] = 1000;
    memcpy(spoilt, graph->inputs, sizeof spoilt);
    batch->inputs = spoilt;
}
static void wrong_source(IfmBatch *batch, Graph *graph)
{
    ((gint64 *)graph->inputs[1].data)[3] = -1;
    memcpy(spoilt, graph->inputs, sizeof spoilt);
    batch->inputs = spoilt;
}
static void source_behind_the_last(IfmBatch *batch, Graph *graph)
{
    ((gint64 *)graph->inputs[1].data)[3] = batch->nodes;
    memcpy(spoilt, graph->inputs, sizeof spoilt);
    batch->inputs = spoilt;
}
static void wrong_ratios(IfmBatch *batch, Graph *graph)
{
    static const double ratios[] = { 0.5, 0.4 };
    batch->ratios = ratios;
}

static void test_bad_batches(void)
{
    assert_batch_refused(too_many_nodes,
                         "batch 2: 1001 nodes (0 its own), 4000 edges; 1 to 1000 and 0 to 4000 are expected");
    assert_batch_refused(wrong_shape,
                         "batch 2: 'edge_index' is i64[2,4000]; contiguous i64[2,3999] in host memory is expected");
    assert_batch_refused(wrong_ratios, "batch 2: its ratios of block 1 add up to 0.9; 1 is expected, none below 0");
    /* these spoil all batches' graph, the first is named */
    assert_batch_refused(wrong_destination, "batch 0: edge 17 ends in node 1000; 0 to 999 are expected");
    assert_batch_refused(wrong_source, "batch 0: edge 3 begins in node -1; 0 to 999 are expected");
    assert_batch_refused(source_behind_the_last, "batch 0: edge 3 begins in node 1000; 0 to 999 are expected");
}

static void test_no_batches(void)
{
    Run run;
    run_init(&run);
    run_plan(&run, make_plan("A=simulated:line/TWO", ONE_BLOCK), 0);
    g_assert_no_error(run.error);
    g_assert_true(run.ok);
    g_assert_cmpuint(run.result.n_delivered, ==, 0);
    run_clear(&run);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    use_devices();
    g_test_add_func("/pipeline/single", test_single);
    g_test_add_func("/pipeline/two-blocks", test_two_blocks);
    g_test_add_func("/pipeline/back-pressure", test_back_pressure);
    g_test_add_func("/pipeline/parallel", test_parallel);
    g_test_add_func("/pipeline/part-sizes", test_part_sizes);
    g_test_add_func("/pipeline/turn", test_turn);
    g_test_add_func("/pipeline/empty-share", test_empty_share);
    g_test_add_func("/pipeline/streams", test_streams);
    g_test_add_func("/pipeline/own-memory", test_own_memory);
    g_test_add_func("/pipeline/again", test_again);
    g_test_add_func("/pipeline/trace", test_trace);
    g_test_add_func("/pipeline/device-time", test_device_time);
    g_test_add_func("/pipeline/device-time/means", test_means);
    g_test_add_func("/pipeline/nodes-again", test_nodes_again);
    g_test_add_func("/pipeline/refused", test_refused);
    g_test_add_func("/pipeline/bad-batches", test_bad_batches);
    g_test_add_func("/pipeline/no-batches", test_no_batches);
    return g_test_run();
}
