/*
 * Simulated plans: makespans known to the nanosecond, the executor's rules written out as equations and checked on random
 * pipelines, contention worked out by hand, and what a timeline must add up to.
 */
#include <base/fields.h>
#include <math.h>
#include <string.h>
#include <trace/trace.h>

#include "plan/costs-private.h"

#define CLOSE(a, b) g_assert_cmpfloat_with_epsilon((a) / (b), 1, 1e-3)

/* --- cost models --------------------------------------------------------------------------------------------------------
 */

#define NODES 1000
#define EDGES 4000

static IfmCosts *costs_new(int n_stages, const char *const *aliases)
{
    g_autoptr(GError) error = NULL;
    IfmCosts *costs = ifm_costs_new("made", (gsize)n_stages);
    for (; *aliases != NULL; aliases++)
    {
        IfmCostDevice device = { .alias = *aliases, .splits = TRUE, .active_w = NAN, .idle_w = NAN };
        ifm_costs_add_device(costs, &device, &error);
        g_assert_no_error(error);
    }
    return costs;
}

/* Latency as nodes of the size: @ns for all of them, in proportion for a share. */
static void points_of(double ns, IfmCostPoint points[2])
{
    points[0] = (IfmCostPoint){ NODES / 1000, EDGES / 1000, ns / 1000, 0.01 };
    points[1] = (IfmCostPoint){ NODES, EDGES, ns, 0.01 };
}

static void set_latency(IfmCosts *costs, int device, int first, int last, double ns)
{
    g_autoptr(GError) error = NULL;
    IfmCostPoint points[2];
    points_of(ns, points);
    ifm_costs_set_points(costs, device, first, last, points, 2, &error);
    g_assert_no_error(error);
}

static void set_busy(IfmCosts *costs, int device, int first, int last, guint32 busy, double ns)
{
    g_autoptr(GError) error = NULL;
    IfmCostPoint points[2];
    points_of(ns, points);
    ifm_costs_set_busy_points(costs, device, first, last, busy, points, 2, &error);
    g_assert_no_error(error);
}

/* @blocks: [["A",…],[1,…],[…]] as JSON; all devices of the model are in the plan, in its order. */
static IfmPlan *plan_of(const IfmCosts *costs, const char *const *specs)
{
    IfmPlan *plan = ifm_plan_new("made");
    for (int i = 0; i < (int)ifm_costs_n_devices(costs); i++)
        ifm_plan_add_device(plan, ifm_costs_device(costs, i)->alias, specs != NULL ? specs[i] : NULL,
                            ifm_costs_device(costs, i)->form);
    return plan;
}

static void add_block(IfmPlan *plan, int first, int last, int n, const int *devices, const double *ratios)
{
    IfmPlanBlock block = { .first = first, .last = last, .n_devices = (gsize)n };
    memcpy(block.devices, devices, (gsize)n * sizeof *devices);
    memcpy(block.ratios, ratios, (gsize)n * sizeof *ratios);
    ifm_plan_add_block(plan, &block);
}

static void add_single(IfmPlan *plan, int first, int last, int device)
{
    add_block(plan, first, last, 1, &device, (double[]){ 1 });
}

static const IfmPlanSize whole = { NODES, EDGES };

static void simulate(const IfmCosts *costs, const IfmPlan *plan, gsize n_batches, int queue_depth, int block_depth,
                     IfmSimulation *simulation)
{
    g_autoptr(GError) error = NULL;
    IfmSimulateOptions options = { n_batches, &whole, 1, queue_depth, block_depth };
    ifm_plan_simulate(costs, plan, &options, simulation, &error);
    g_assert_no_error(error);
}

/* --- what a timeline tells ----------------------------------------------------------------------------------------------
 */

/* The event of a kind, batch and block (0: any); NULL where there is none. @n: (out) (optional) how many there are. */
static const IfmEvent *find_event(const IfmTrace *trace, IfmEventKind kind, gint32 batch, int block, gsize *n)
{
    const IfmEvent *found = NULL;
    gsize count = 0;
    for (gsize track = 0; track < ifm_trace_n_tracks(trace); track++)
    {
        gsize n_events;
        const IfmEvent *events = ifm_trace_events(trace, track, &n_events);
        for (gsize i = 0; i < n_events; i++)
            if (events[i].kind == kind && events[i].batch == batch && (block == 0 || events[i].block == block))
            {
                found = &events[i];
                count++;
            }
    }
    if (n != NULL)
        *n = count;
    return found;
}

static gint64 sum_of(const IfmTrace *trace, IfmEventKind kind, int block)
{
    gint64 sum = 0;
    for (gsize track = 0; track < ifm_trace_n_tracks(trace); track++)
    {
        gsize n_events;
        const IfmEvent *events = ifm_trace_events(trace, track, &n_events);
        for (gsize i = 0; i < n_events; i++)
            if (events[i].kind == kind && (block == 0 || events[i].block == block))
                sum += events[i].duration_ns;
    }
    return sum;
}

/* Every batch once, in its order; no two inferences at once on a stream; what must lie within lies within. */
static void check_timeline(const IfmSimulation *simulation, const IfmPlan *plan, gint32 n_batches)
{
    const IfmTrace *trace = simulation->trace;
    gint64 left_ns = 0;
    g_assert_cmpuint(ifm_trace_n_dropped(trace), ==, 0);
    for (gsize track = 0; track < ifm_trace_n_tracks(trace); track++)
    {
        gsize n;
        gint64 end_ns = 0;
        gint32 batch = -1;
        const IfmEvent *events = ifm_trace_events(trace, track, &n);
        for (gsize i = 0; i < n && ifm_trace_track_info(trace, track)->kind == IFM_TRACK_DEVICE; i++)
        {
            g_assert_cmpint(events[i].start_ns, >=, end_ns);
            g_assert_cmpint(events[i].batch, >, batch);
            batch = events[i].batch;
            end_ns = events[i].start_ns + events[i].duration_ns;
        }
    }
    for (gint32 batch = 0; batch < n_batches; batch++)
    {
        gsize n;
        const IfmEvent *all = find_event(trace, IFM_EVENT_BATCH, batch, 0, &n);
        gint64 at_ns = all->start_ns;
        g_assert_cmpuint(n, ==, 1);
        for (int block = 1; block <= (int)plan->blocks->len; block++)
        {
            const IfmEvent *in = find_event(trace, IFM_EVENT_BLOCK, batch, block, &n);
            g_assert_cmpuint(n, ==, 1);
            const IfmEvent *queue = find_event(trace, IFM_EVENT_QUEUE, batch, block, &n);
            g_assert_cmpuint(n, ==, block > 1);
            if (queue != NULL)
            {
                g_assert_cmpint(queue->start_ns, >=, at_ns);
                g_assert_cmpint(queue->start_ns + queue->duration_ns, ==, in->start_ns);
            }
            at_ns = in->start_ns + in->duration_ns;
        }
        g_assert_cmpint(all->start_ns + all->duration_ns, >=, at_ns);
        g_assert_cmpint(all->start_ns + all->duration_ns, >=, left_ns);
        left_ns = all->start_ns + all->duration_ns;
    }
    g_assert_cmpint(simulation->makespan_ns, ==, left_ns);
}

/* --- known makespans ----------------------------------------------------------------------------------------------------
 */

static void test_known(void)
{
    g_autoptr(IfmCosts) costs = costs_new(2, (const char *[]){ "A", "B", NULL });
    set_latency(costs, 0, 1, 2, 10000);
    set_latency(costs, 0, 1, 1, 3000);
    set_latency(costs, 1, 2, 2, 7001);
    g_autoptr(IfmPlan) single = plan_of(costs, NULL), chain = plan_of(costs, NULL);
    add_single(single, 1, 2, 0);
    add_single(chain, 1, 1, 0);
    add_single(chain, 2, 2, 1);
    for (int depth = 0; depth <= 3; depth++)
    {
        g_auto(IfmSimulation) one = { 0 }, two = { 0 };
        simulate(costs, single, 17, depth, depth, &one);
        g_assert_cmpint(one.makespan_ns, ==, 17 * 10000);
        g_assert_cmpfloat_with_epsilon(one.throughput_per_s, 1e9 / 10000, 1e-6);
        g_assert_cmpfloat_with_epsilon(one.makespan_spread_ratio, 0.01, 1e-9);
        check_timeline(&one, single, 17);
        simulate(costs, chain, 17, depth, depth, &two);
        g_assert_cmpint(two.makespan_ns, ==, 3000 + 17 * 7001);
        check_timeline(&two, chain, 17);
    }
    /* one at a time, a batch takes its two stages; taken ahead, it waits for its turn */
    g_auto(IfmSimulation) alone = { 0 };
    simulate(costs, single, 9, 1, 1, &alone);
    g_assert_cmpfloat(alone.latency_median_ns, ==, 10000);
    ifm_simulation_clear(&alone);
    simulate(costs, single, 9, 1, 2, &alone);
    g_assert_cmpfloat(alone.latency_median_ns, ==, 20000);
}

/* Each batch a size of its own: they come in turn. */
static void test_sizes(void)
{
    g_autoptr(GError) error = NULL;
    g_auto(IfmSimulation) simulation = { 0 };
    const IfmPlanSize sizes[] = { { NODES, EDGES }, { NODES / 2, EDGES / 2 }, { NODES / 10, EDGES / 10 } };
    IfmSimulateOptions options = { 7, sizes, 3, 0, 0 };
    g_autoptr(IfmCosts) costs = costs_new(1, (const char *[]){ "A", NULL });
    set_latency(costs, 0, 1, 1, 10000);
    g_autoptr(IfmPlan) plan = plan_of(costs, NULL);
    add_single(plan, 1, 1, 0);
    g_assert_true(ifm_plan_simulate(costs, plan, &options, &simulation, &error));
    g_assert_cmpint(simulation.makespan_ns, ==, 3 * 10000 + 2 * 5000 + 2 * 1000);
    check_timeline(&simulation, plan, 7);
}

/* Two streams are two servers: pairs of batches pass together. */
static void test_streams(void)
{
    g_auto(IfmSimulation) simulation = { 0 };
    gsize n;
    g_autoptr(IfmCosts) costs = costs_new(1, (const char *[]){ "A", NULL });
    set_latency(costs, 0, 1, 1, 10000);
    g_autoptr(IfmPlan) plan = plan_of(costs, (const char *[]){ "openvino:CPU#2", NULL });
    add_single(plan, 1, 1, 0);
    simulate(costs, plan, 8, 0, 1, &simulation);
    g_assert_cmpint(simulation.makespan_ns, ==, 4 * 10000);
    ifm_trace_events(simulation.trace, 0, &n);
    g_assert_cmpuint(n, ==, 4);
    g_assert_cmpstr(ifm_trace_track_info(simulation.trace, 1)->thread, ==, "A (openvino:CPU#2) stream 1");
    check_timeline(&simulation, plan, 8);
}

/* Host work, one batch at a time: part, hand over, compute, merge, hand back; its parts add up. What is not copied begins
 * before what is. */
static void test_host(void)
{
    g_auto(IfmSimulation) simulation = { 0 };
    g_autoptr(IfmCosts) costs = costs_new(1, (const char *[]){ "A", "B", NULL });
    set_latency(costs, 0, 1, 1, 10000);
    set_latency(costs, 1, 1, 1, 10000);
    /* 4000 bytes in, whole; 6000 and 3000 out */
    ifm_costs_set_crossing(
        costs, IFM_PLAN_DYNAMIC, 1, 1,
        &(IfmCostCrossing){ .n_in = 1, .n_out = 2, .whole_per_node = 4, .out_per_node = 8, .out_per_edge = 1 });
    ifm_costs_set_link(costs, 1, &(IfmCostLink){ 100, 0.5 }, &(IfmCostLink){ 200, 0.25 });
    ifm_costs_set_host(costs, 50, 0.25, 70, 0);
    g_autoptr(IfmPlan) plan = plan_of(costs, NULL);
    add_block(plan, 1, 1, 2, (int[]){ 0, 1 }, (double[]){ 0.25, 0.75 });
    simulate(costs, plan, 4, 1, 1, &simulation);
    const gint64 in = 100 + 2000, part = 50 + 1000, device = 7500, merge = 70, out = 2 * 200 + 2250;
    g_assert_cmpint(simulation.makespan_ns, ==, 4 * (in + part + device + merge + out));
    g_assert_cmpint(sum_of(simulation.trace, IFM_EVENT_COPY, 1), ==, 4 * (in + out));
    g_assert_cmpint(sum_of(simulation.trace, IFM_EVENT_PARTITION, 1), ==, 4 * (in + part));
    g_assert_cmpint(sum_of(simulation.trace, IFM_EVENT_MERGE, 1), ==, 4 * (merge + out));
    g_assert_cmpint(sum_of(simulation.trace, IFM_EVENT_INFER, 1), ==, 4 * (2500 + 7500));
    g_assert_cmpint(sum_of(simulation.trace, IFM_EVENT_BLOCK, 1), ==, simulation.makespan_ns);
    g_assert_cmpint(find_event(simulation.trace, IFM_EVENT_COPY, 2, 1, NULL)->bytes, ==, 9000);
    check_timeline(&simulation, plan, 4);
    /* a second batch within: its host work passes while the devices have the first */
    g_auto(IfmSimulation) deep = { 0 };
    simulate(costs, plan, 4, 1, 2, &deep);
    g_assert_cmpint(deep.makespan_ns, <, simulation.makespan_ns);
    g_assert_cmpint(deep.makespan_ns, >=, 4 * device + in + part + merge + out);
    check_timeline(&deep, plan, 4);
}

/* A static device takes the next size, and the host pads: 600 of 1000 nodes to a model of 800. */
static void test_padding(void)
{
    g_autoptr(GError) error = NULL;
    g_auto(IfmSimulation) simulation = { 0 };
    static const IfmPlanSize sizes[] = { { 100, 400 }, { 800, 3200 }, { 1000, 4000 } };
    static const IfmCostPoint points[] = { { 100, 400, 1000, 0 }, { 800, 3200, 5000, 0 }, { 1000, 4000, 6000, 0 } };
    g_autoptr(IfmCosts) costs = costs_new(1, (const char *[]){ "A", NULL });
    IfmCostDevice npu = { .alias = "NPU", .form = IFM_PLAN_STATIC, .sizes = sizes, .n_sizes = 3, .splits = TRUE };
    g_assert_cmpint(ifm_costs_add_device(costs, &npu, &error), ==, 1);
    set_latency(costs, 0, 1, 1, 10000);
    g_assert_true(ifm_costs_set_points(costs, 1, 1, 1, points, 3, &error));
    ifm_costs_set_cut(costs, 0, 2, 0); /* 1600 bytes for 800 nodes */
    ifm_costs_set_host(costs, 0, 0, 0, 0.25);
    g_autoptr(IfmPlan) plan = plan_of(costs, NULL);
    add_block(plan, 1, 1, 2, (int[]){ 0, 1 }, (double[]){ 0.4, 0.6 });
    simulate(costs, plan, 3, 1, 1, &simulation);
    g_assert_cmpint(simulation.makespan_ns, ==, 3 * (400 + 5000));
    const IfmEvent *pad = find_event(simulation.trace, IFM_EVENT_COPY, 1, 1, NULL);
    g_assert_cmpint(pad->duration_ns, ==, 400);
    g_assert_cmpint(pad->bytes, ==, 1600);
    g_assert_cmpstr(ifm_trace_text(simulation.trace, pad->name), ==, "pad");
    check_timeline(&simulation, plan, 3);
    /* a share that is a size of its own is not padded */
    g_autoptr(IfmPlan) exact = plan_of(costs, NULL);
    add_single(exact, 1, 1, 1);
    g_auto(IfmSimulation) plain = { 0 };
    simulate(costs, exact, 3, 1, 1, &plain);
    g_assert_cmpint(plain.makespan_ns, ==, 3 * 6000);
    g_assert_null(find_event(plain.trace, IFM_EVENT_COPY, 1, 1, NULL));
}

/* --- the rules as equations ---------------------------------------------------------------------------------------------
 */

enum
{
    MAX_BLOCKS = 4,
    MAX_LANES = 2,
    MAX_BATCHES = 40,
};

typedef struct
{
    int n_blocks, n_lanes[MAX_BLOCKS];
    gint64 ns[MAX_BLOCKS][MAX_LANES]; /* of a lane's share */
} Chain;

/*
 * Without host work a pipeline is these equations, b a block, n a batch:
 *   taken(b, n) = max(pushed(b - 1, n), pushed(b, n - depth), taken(b, n - 1))
 *   done(b, l, n) = max(taken(b, n), done(b, l, n - 1)) + ns(b, l)
 *   pushed(b, n) = max(over l of done(b, l, n), pushed(b, n - 1), taken(b + 1, n - queue_depth))
 */
static gint64 chain_makespan(const Chain *chain, int n_batches, int queue_depth, int depth)
{
    static gint64 taken[MAX_BLOCKS + 1][MAX_BATCHES], pushed[MAX_BLOCKS + 1][MAX_BATCHES];
    static gint64 done[MAX_BLOCKS][MAX_LANES][MAX_BATCHES];
    for (int n = 0; n < n_batches; n++)
        for (int b = 0; b < chain->n_blocks; b++)
        {
            gint64 take = b > 0 ? pushed[b - 1][n] : 0, push = 0;
            take = MAX(take, n >= depth ? pushed[b][n - depth] : 0);
            take = MAX(take, n > 0 ? taken[b][n - 1] : 0);
            taken[b][n] = take;
            for (int l = 0; l < chain->n_lanes[b]; l++)
            {
                done[b][l][n] = MAX(take, n > 0 ? done[b][l][n - 1] : 0) + chain->ns[b][l];
                push = MAX(push, done[b][l][n]);
            }
            push = MAX(push, n > 0 ? pushed[b][n - 1] : 0);
            if (b + 1 < chain->n_blocks && n >= queue_depth)
                push = MAX(push, taken[b + 1][n - queue_depth]);
            pushed[b][n] = push;
        }
    return pushed[chain->n_blocks - 1][n_batches - 1];
}

static void draw_chain(GRand *random, Chain *chain, IfmCosts **costs, IfmPlan **plan)
{
    static const char *const aliases[] = { "A", "B", "C", "D", "E", "F", "G", "H", NULL };
    chain->n_blocks = g_rand_int_range(random, 1, MAX_BLOCKS + 1);
    *costs = costs_new(chain->n_blocks, aliases);
    *plan = plan_of(*costs, NULL);
    for (int b = 0, device = 0; b < chain->n_blocks; b++)
    {
        int n = chain->n_lanes[b] = g_rand_int_range(random, 1, MAX_LANES + 1), devices[MAX_LANES];
        double ratios[MAX_LANES] = { 1 };
        if (n == 2)
        {
            ratios[0] = g_rand_int_range(random, 1, 10) / 10.0;
            ratios[1] = 1 - ratios[0];
        }
        for (int l = 0; l < n; l++)
        {
            double ns = 10 * g_rand_int_range(random, 1, 1000);
            set_latency(*costs, device, b + 1, b + 1, ns);
            chain->ns[b][l] = llround(ns * ratios[l]);
            devices[l] = device++;
        }
        add_block(*plan, b + 1, b + 1, n, devices, ratios);
    }
}

static void test_equations(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(31);
    for (int i = 0; i < 1000; i++)
    {
        Chain chain = { 0 };
        g_autoptr(IfmCosts) costs = NULL;
        g_autoptr(IfmPlan) plan = NULL;
        g_auto(IfmSimulation) simulation = { 0 };
        int n = g_rand_int_range(random, 1, MAX_BATCHES + 1), queue = g_rand_int_range(random, 1, 4);
        int depth = g_rand_int_range(random, 1, 4);
        draw_chain(random, &chain, &costs, &plan);
        simulate(costs, plan, (gsize)n, queue, depth, &simulation);
        g_assert_cmpint(simulation.makespan_ns, ==, chain_makespan(&chain, n, queue, depth));
        if (i % 10 == 0)
            check_timeline(&simulation, plan, n);
        for (int b = 0; b < chain.n_blocks; b++)
        {
            gint64 work = 0;
            for (int l = 0; l < chain.n_lanes[b]; l++)
                work += n * chain.ns[b][l];
            g_assert_cmpint(sum_of(simulation.trace, IFM_EVENT_INFER, b + 1), ==, work);
        }
    }
}

/* A slow block holds up those before it: why is told. 1 us a batch before 10 us, one batch in the queue, one in a block. */
static void test_waits(void)
{
    g_auto(IfmSimulation) simulation = { 0 };
    g_autoptr(IfmCosts) costs = costs_new(2, (const char *[]){ "A", "B", NULL });
    set_latency(costs, 0, 1, 1, 1000);
    set_latency(costs, 1, 2, 2, 10000);
    g_autoptr(IfmPlan) plan = plan_of(costs, NULL);
    add_single(plan, 1, 1, 0);
    add_single(plan, 2, 2, 1);
    simulate(costs, plan, 5, 1, 1, &simulation);
    g_assert_cmpint(simulation.makespan_ns, ==, 51000);
    /* batch 0: 0-1; 1: 1-2; 2: 2-3, held until block 2 takes 1 at 11; 3: 11-12, held until 21; 4: 21-22, held until 31 */
    g_assert_cmpint(sum_of(simulation.trace, IFM_EVENT_WAIT_OUTPUT, 1), ==, 8000 + 9000 + 9000);
    g_assert_cmpint(sum_of(simulation.trace, IFM_EVENT_WAIT_INPUT, 2), ==, 1000);
    g_assert_cmpint(sum_of(simulation.trace, IFM_EVENT_QUEUE, 2), ==, (11 - 2 + 21 - 11 + 31 - 21 + 41 - 31) * 1000);
    check_timeline(&simulation, plan, 5);
    g_autoptr(GError) error = NULL;
    const IfmTraceQuestion question = IFM_TRACE_QUESTION_INIT;
    g_autoptr(IfmTraceAnalysis) analysis = ifm_trace_analyse(simulation.trace, &question, &error);
    g_assert_no_error(error);
    g_assert_cmpint(analysis->bottleneck_block, ==, 2);
    g_assert_cmpuint(analysis->n_batches, ==, 5);
    g_assert_cmpint(analysis->busy_ns, ==, 5 * 11000);
}

/* --- contention ---------------------------------------------------------------------------------------------------------
 */

/* A and B are 1.5 times as slow beside each other. Two batches: A has the first alone, 0-10; then both work, until 25; then
 * B has the second alone, until 35. */
static void test_contention(void)
{
    g_auto(IfmSimulation) simulation = { 0 };
    g_autoptr(IfmCosts) costs = costs_new(2, (const char *[]){ "A", "B", NULL });
    set_latency(costs, 0, 1, 1, 10000);
    set_latency(costs, 1, 2, 2, 10000);
    set_busy(costs, 0, 1, 1, 2, 15000);
    set_busy(costs, 1, 2, 2, 1, 15000);
    g_autoptr(IfmPlan) plan = plan_of(costs, NULL);
    add_single(plan, 1, 1, 0);
    add_single(plan, 2, 2, 1);
    simulate(costs, plan, 1, 0, 0, &simulation);
    g_assert_cmpint(simulation.makespan_ns, ==, 20000);
    ifm_simulation_clear(&simulation);
    simulate(costs, plan, 2, 0, 0, &simulation);
    g_assert_cmpint(simulation.makespan_ns, ==, 35000);
    ifm_simulation_clear(&simulation);
    simulate(costs, plan, 20, 0, 0, &simulation);
    g_assert_cmpint(simulation.makespan_ns, ==, 10000 + 19 * 15000 + 10000);
    check_timeline(&simulation, plan, 20);
}

/* What is left goes on at another rate: beside B, which takes 4, A does 2 of its 10, and the other 8 alone: 22. */
static void test_changing_rate(void)
{
    g_auto(IfmSimulation) simulation = { 0 };
    g_autoptr(IfmCosts) costs = costs_new(2, (const char *[]){ "A", "B", NULL });
    set_latency(costs, 0, 1, 1, 10000);
    set_latency(costs, 1, 2, 2, 4000);
    set_busy(costs, 0, 1, 1, 2, 20000);
    set_busy(costs, 1, 2, 2, 1, 4000);
    g_autoptr(IfmPlan) plan = plan_of(costs, NULL);
    add_single(plan, 1, 1, 0);
    add_single(plan, 2, 2, 1);
    simulate(costs, plan, 3, 0, 0, &simulation);
    /* A: 0-10, 10-22, 22-34; B: 10-14, 22-26, 34-38 */
    g_assert_cmpint(simulation.makespan_ns, ==, 38000);
    const IfmEvent *second = find_event(simulation.trace, IFM_EVENT_INFER, 1, 1, NULL);
    g_assert_cmpint(second->start_ns, ==, 10000);
    g_assert_cmpint(second->duration_ns, ==, 12000);
    check_timeline(&simulation, plan, 3);
}

/* A third device takes a fifth of the work and makes the two others 1.5 times as slow. */
static void test_third_device(void)
{
    g_auto(IfmSimulation) two = { 0 }, three = { 0 };
    g_autoptr(IfmCosts) costs = costs_new(1, (const char *[]){ "A", "B", "C", NULL });
    for (int device = 0; device < 3; device++)
    {
        set_latency(costs, device, 1, 1, device < 2 ? 10000 : 20000);
        for (guint32 busy = 1; busy < 8; busy++)
            if ((busy & 1u << device) == 0)
                set_busy(costs, device, 1, 1, busy, device == 2 ? 20000 : (busy & 4) != 0 ? 15000 : 10000);
    }
    g_autoptr(IfmPlan) with_two = plan_of(costs, NULL), with_three = plan_of(costs, NULL);
    add_block(with_two, 1, 1, 2, (int[]){ 0, 1 }, (double[]){ 0.5, 0.5 });
    add_block(with_three, 1, 1, 3, (int[]){ 0, 1, 2 }, (double[]){ 0.4, 0.4, 0.2 });
    simulate(costs, with_two, 10, 0, 1, &two);
    simulate(costs, with_three, 10, 0, 1, &three);
    g_assert_cmpint(two.makespan_ns, ==, 10 * 5000);
    /* C takes 4; the others do 4 / 1.5 meanwhile, and what is left of their 4 alone */
    g_assert_cmpint(three.makespan_ns, ==, 10 * (4000 + llround(4000 - 4000 / 1.5)));
    check_timeline(&three, with_three, 10);
}

/* --- the rest -----------------------------------------------------------------------------------------------------------
 */

static void test_same_again(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(5);
    Chain chain = { 0 };
    g_autoptr(IfmCosts) costs = NULL;
    g_autoptr(IfmPlan) plan = NULL;
    g_auto(IfmSimulation) a = { 0 }, b = { 0 };
    draw_chain(random, &chain, &costs, &plan);
    simulate(costs, plan, 30, 0, 0, &a);
    simulate(costs, plan, 30, 0, 0, &b);
    g_assert_cmpuint(ifm_trace_n_tracks(a.trace), ==, ifm_trace_n_tracks(b.trace));
    for (gsize track = 0; track < ifm_trace_n_tracks(a.trace); track++)
    {
        gsize n, m;
        const IfmEvent *x = ifm_trace_events(a.trace, track, &n), *y = ifm_trace_events(b.trace, track, &m);
        g_assert_cmpmem(x, n * sizeof *x, y, m * sizeof *y);
    }
}

static void assert_refused(const IfmCosts *costs, const IfmPlan *plan, const IfmSimulateOptions *options, IfmErrorCode code,
                           const char *said)
{
    g_autoptr(GError) error = NULL;
    g_auto(IfmSimulation) simulation = { 0 };
    g_assert_false(ifm_plan_simulate(costs, plan, options, &simulation, &error));
    g_assert_error(error, IFM_ERROR, (gint)code);
    if (strstr(error->message, said) == NULL)
        g_error("expected '%s' in: %s", said, error->message);
    g_assert_null(simulation.trace);
}

static void set_wide(IfmCosts *costs, int device, int first, int last, guint32 busy, double ns)
{
    const IfmCostPoint points[] = { { NODES / 1000, EDGES / 1000, ns / 1000, 0.1 }, { NODES, EDGES, ns, 0.1 } };
    g_assert_true(busy == 0 ? ifm_costs_set_points(costs, device, first, last, points, 2, NULL)
                            : ifm_costs_set_busy_points(costs, device, first, last, busy, points, 2, NULL));
}

/* B works for a short while of A's cycle and slows A only then. With both busy throughout A would take 18 ms a batch, and
 * the gain over A's 20 ms alone would be within the uncertainty; what is predicted of the plan is half of that, and the
 * choice, the gain and the throughput are all of that one prediction. */
static void test_settle(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCosts) costs = costs_new(2, (const char *const[]){ "A", "B", NULL });
    set_wide(costs, 0, 1, 1, 0, 10e6);
    set_wide(costs, 0, 2, 2, 0, 10e6);
    set_wide(costs, 0, 1, 2, 0, 20e6);
    set_wide(costs, 0, 1, 1, 2, 18e6);
    set_wide(costs, 1, 2, 2, 0, 1e6);
    set_wide(costs, 1, 2, 2, 1, 1e6);
    ifm_costs_forbid(costs, 1, 1, "not here");
    g_auto(IfmPlanAnswer) answer = { 0 };
    IfmPlanQuestion question = { .objective = IFM_OBJECTIVE_THROUGHPUT, .nodes = NODES, .edges = EDGES, .max_blocks = 2 };
    g_assert_true(ifm_plan_search(costs, &question, &answer, &error));
    CLOSE(answer.best.cost.cycle_ns, 18e6);
    CLOSE(answer.single.cost.cycle_ns, 20e6);
    g_assert_true(answer.within_uncertainty);
    g_assert_true(ifm_plan_same_shape(answer.plan, answer.single.plan));
    const IfmSimulateOptions options = { .n_batches = 200, .sizes = &whole, .n_sizes = 1 };
    g_assert_true(ifm_plan_settle(costs, question.objective, &options, &answer, &error));
    g_assert_no_error(error);
    CLOSE(answer.single.forecast.cycle_ns, 20e6);
    g_assert_cmpfloat(answer.best.forecast.cycle_ns, <, 11e6);
    g_assert_false(answer.within_uncertainty);
    g_assert_true(ifm_plan_same_shape(answer.plan, answer.best.plan));
    CLOSE(answer.cost.cycle_ns, 18e6);
    json_auto_t *prediction = ifm_plan_predict(costs, answer.plan, &options, NULL, &error);
    g_assert_no_error(error);
    CLOSE(ifm_member_number(prediction, "cycle_ns"), answer.best.forecast.cycle_ns);
    CLOSE(ifm_member_number(prediction, "throughput_per_s"), 1e9 / answer.best.forecast.cycle_ns);
}

static void test_refused(void)
{
    const IfmSimulateOptions good = { 1, &whole, 1, 0, 0 }, none = { 0, &whole, 1, 0, 0 }, less = { 1, &whole, 1, -1, 0 };
    g_autoptr(IfmCosts) costs = costs_new(2, (const char *[]){ "A", "B", NULL });
    set_latency(costs, 0, 1, 2, 1000);
    g_autoptr(IfmPlan) plan = plan_of(costs, NULL), half = plan_of(costs, NULL), wrong = plan_of(costs, NULL);
    g_autoptr(IfmPlan) stranger = ifm_plan_new("made");
    add_single(plan, 1, 2, 0);
    add_single(half, 1, 1, 0);
    add_single(wrong, 1, 2, 1);
    ifm_plan_add_device(stranger, "Z", NULL, IFM_PLAN_DYNAMIC);
    add_single(stranger, 1, 2, 0);
    assert_refused(costs, plan, &none, IFM_ERROR_INVALID, "0 batches of 1 sizes");
    assert_refused(costs, plan, &less, IFM_ERROR_INVALID, "queue depth -1");
    assert_refused(costs, half, &good, IFM_ERROR_INVALID, "stages 2 to 2 are in no block");
    assert_refused(costs, wrong, &good, IFM_ERROR_UNSUPPORTED, "block 1: B: ");
    assert_refused(costs, stranger, &good, IFM_ERROR_INVALID,
                   "block 1: Z: no such device in the cost model (there are A, B)");
}

/* Runs of which one in ten takes 3.5 times as long as the others: median 800, mean 1000, 95th percentile 2800. In units of
 * @ns: the mean of the whole size. */
static void set_skewed(IfmCosts *costs, int device, int first, int last, double ns)
{
    enum
    {
        N_SAMPLES = 400
    };
    double samples[2][N_SAMPLES];
    IfmCostPoint points[2];
    points_of(0.8 * ns, points);
    for (int p = 0; p < 2; p++)
    {
        for (int i = 0; i < N_SAMPLES; i++) /* 7 and 10 have no common divisor: slow runs are scattered, each tenth one */
            samples[p][i] = points[p].latency_ns * ((7 * i + i / 10) % 10 == 0 ? 3.5 : 1);
        points[p].samples_ns = samples[p];
        points[p].n_samples = N_SAMPLES;
    }
    g_assert_true(ifm_costs_set_points(costs, device, first, last, points, 2, NULL));
}

/* Makespan, cycle and throughput follow means; the latency of one batch is what is asked for. */
static void test_skewed(void)
{
    g_autoptr(IfmCosts) costs = costs_new(2, (const char *[]){ "A", "B", NULL });
    g_autoptr(IfmPlan) plan = plan_of(costs, NULL), shared = plan_of(costs, NULL);
    g_autoptr(GError) error = NULL;
    set_skewed(costs, 0, 1, 2, 1000);
    set_skewed(costs, 1, 1, 2, 1000);
    add_single(plan, 1, 2, 0);
    add_block(shared, 1, 2, 2, (int[]){ 0, 1 }, (double[]){ 0.5, 0.5 });
    static const double latencies[] = { 800, 1000, 2800 };
    for (int of = 0; of < IFM_COST_N_STATISTICS; of++)
    {
        g_auto(IfmPlanCost) cost = { 0 };
        ifm_costs_set_statistic(costs, (IfmCostStatistic)of);
        g_assert_true(ifm_plan_cost(costs, plan, NODES, EDGES, &cost, &error));
        g_assert_cmpfloat_with_epsilon(cost.latency_ns, latencies[of], 1e-6);
        g_assert_cmpfloat_with_epsilon(cost.cycle_ns, 1000, 1e-6);
        g_assert_cmpfloat(cost.cycle_spread_ratio, >, 0.03); /* of 400 runs with a deviation of 0.6 of the mean: 0.06 */
        g_assert_cmpfloat(cost.cycle_spread_ratio, <, 0.09);
    }
    g_auto(IfmSimulation) alone = { 0 }, together = { 0 };
    simulate(costs, plan, 2000, 2, 2, &alone);
    g_assert_cmpfloat(fabs((double)alone.makespan_ns / 2000e3 - 1), <, 0.02);
    g_assert_cmpfloat(fabs(2000e3 / (double)alone.makespan_ns - 1), <, alone.makespan_spread_ratio);
    g_assert_cmpfloat(alone.makespan_spread_ratio, <, 0.12);
    g_assert_cmpfloat_with_epsilon(alone.throughput_per_s, 2000e9 / (double)alone.makespan_ns, 1);
    /* Halves of it on two devices: a block that may run two batches ahead waits for the later one now and then: longer than
     * either's mean, shorter than the mean of the later of two, which is 0.8 + 2 x 0.19 */
    simulate(costs, shared, 2000, 2, 2, &together);
    g_assert_cmpfloat((double)together.makespan_ns, >, 1.03 * 1000e3);
    g_assert_cmpfloat((double)together.makespan_ns, <, 1.18 * 1000e3 * 1.02);
    g_assert_cmpfloat(together.makespan_spread_ratio, >, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/plan-simulate/known", test_known);
    g_test_add_func("/plan-simulate/sizes", test_sizes);
    g_test_add_func("/plan-simulate/streams", test_streams);
    g_test_add_func("/plan-simulate/host", test_host);
    g_test_add_func("/plan-simulate/padding", test_padding);
    g_test_add_func("/plan-simulate/equations", test_equations);
    g_test_add_func("/plan-simulate/waits", test_waits);
    g_test_add_func("/plan-simulate/contention", test_contention);
    g_test_add_func("/plan-simulate/changing-rate", test_changing_rate);
    g_test_add_func("/plan-simulate/third-device", test_third_device);
    g_test_add_func("/plan-simulate/same-again", test_same_again);
    g_test_add_func("/plan-simulate/skewed", test_skewed);
    g_test_add_func("/plan-simulate/settle", test_settle);
    g_test_add_func("/plan-simulate/refused", test_refused);
    return g_test_run();
}
