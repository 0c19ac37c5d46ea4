/*
 * What is simulated is what runs: random plans on simulated devices, executed on a virtual clock, against the simulation of
 * the same plan: the same makespan, the same inferences at the same moments, the same waits.
 */
#include <math.h>

#include <base/fields.h>
#include <glib/gstdio.h>
#include <staged/staged.h>
#include <trace/trace.h>

#include "plan/costs-private.h"

#define NODES 1000
#define EDGES 4000
#define N_DEVICES 4
#define FEATURES 5
#define HIDDEN 3

/* ns a node and stage, as devices/four.csv has them in sums. */
static const int weights[N_DEVICES][7] = {
    { 10, 40, 20, 7, 3, 30, 5 }, { 12, 20, 30, 9, 4, 15, 6 }, { 15, 35, 18, 8, 5, 22, 4 }, { 9, 28, 26, 6, 2, 41, 7 }
};

/* devices/sharing.yaml: of the entries whose units are all busy the one with most of them, among equals the first. */
static const struct
{
    int device;
    guint32 busy;
    double factor;
} contention[] = { { 0, 2, 1.5 }, { 0, 4, 1.25 }, { 0, 6, 2 }, { 1, 1, 1.5 }, { 2, 3, 1.75 }, { 2, 8, 1.2 } };

static double factor_of(int device, guint32 busy)
{
    double factor = 1;
    int max = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(contention); i++)
    {
        int n = __builtin_popcount(contention[i].busy);
        if (contention[i].device != device || (contention[i].busy & ~busy) != 0 || n <= max)
            continue;
        max = n;
        factor = contention[i].factor;
    }
    return factor;
}

/* What static devices have models for: of tenths of the graph some fit but for the node that added edges end in (0.7 into
 * the third), or only just (0.5 into the second). */
static const IfmPlanSize static_sizes[] = { { 820, 3000 }, { 501, 2100 }, { 700, 2900 }, { 1000, 4000 }, { 250, 1000 } };

static void set_points(IfmCosts *costs, int device, int stage, guint32 busy, gboolean is_static)
{
    g_autoptr(GError) error = NULL;
    double each = weights[device][stage - 1] * factor_of(device, busy);
    IfmCostPoint points[G_N_ELEMENTS(static_sizes)] = { { 1, 4, each, 0 }, { NODES, EDGES, each * NODES, 0 } };
    for (gsize i = 0; is_static && i < G_N_ELEMENTS(static_sizes); i++)
        points[i] = (IfmCostPoint){ static_sizes[i].nodes, static_sizes[i].edges, each * (double)static_sizes[i].nodes, 0 };
    gsize n = is_static ? G_N_ELEMENTS(static_sizes) : 2;
    if (busy == 0)
        ifm_costs_set_points(costs, device, stage, stage, points, n, &error);
    else
        ifm_costs_set_busy_points(costs, device, stage, stage, busy, points, n, &error);
    g_assert_no_error(error);
}

/* devices/copying.yaml: B and D have memory of their own. Odd times, so that nothing that a block's thread has to choose
 * between happens at the same moment: which it sees first would be anybody's guess. */
static const IfmCostLink links[N_DEVICES] = { [1] = { 3137, 0.25 }, [3] = { 1411, 0.5 } };

/* What the pipeline copies there and back, of the ranges that plans are drawn of: x 20 bytes a node, whole where stage 1
 * reads it, edge_index 16 an edge, s, a and h 12 a node; and 4 a node that tell a model of any size how many there are,
 * where nothing else does. */
static const struct
{
    int first, last;
    IfmCostCrossing of;
    gboolean zeros;
} crossings[] = {
    { 1, 7, { .n_in = 3, .n_out = 1, .whole_per_node = 20, .in_per_node = 20, .in_per_edge = 16, .out_per_node = 12 } },
    { 1, 3, { .n_in = 2, .n_out = 1, .whole_per_node = 20, .in_per_edge = 16, .out_per_node = 12 }, TRUE },
    { 1, 5, { .n_in = 2, .n_out = 1, .whole_per_node = 20, .in_per_edge = 16, .out_per_node = 12 }, TRUE },
    { 4, 5, { .n_in = 2, .n_out = 1, .in_per_node = 12, .in_per_edge = 16, .out_per_node = 12 } },
    { 4, 7, { .n_in = 3, .n_out = 1, .in_per_node = 20 + 12, .in_per_edge = 16, .out_per_node = 12 } },
    { 6, 7, { .n_in = 2, .n_out = 1, .in_per_node = 20 + 12, .out_per_node = 12 } },
};

static void set_copies(IfmCosts *costs)
{
    for (int d = 0; d < N_DEVICES; d++)
        if (links[d].fixed_ns > 0)
            ifm_costs_set_link(costs, d, &links[d], &links[d]);
    for (gsize i = 0; i < G_N_ELEMENTS(crossings); i++)
    {
        IfmCostCrossing crossing = crossings[i].of;
        ifm_costs_set_crossing(costs, IFM_PLAN_STATIC, crossings[i].first, crossings[i].last, &crossing);
        crossing.n_in += crossings[i].zeros;
        crossing.in_per_node += crossings[i].zeros ? 4 : 0;
        ifm_costs_set_crossing(costs, IFM_PLAN_DYNAMIC, crossings[i].first, crossings[i].last, &crossing);
    }
}

/* A block none of whose stages reads edge_index needs no node for added edges. */
static void set_readers(IfmCosts *costs)
{
    const IfmStagedModel *staged = ifm_staged_find("graphsage", NULL);
    for (int stage = 1; stage <= 7; stage++)
    {
        gboolean reads = FALSE;
        for (gsize i = 0; staged->stages[stage - 1].inputs[i] != NULL; i++)
            reads = reads || g_str_equal(staged->stages[stage - 1].inputs[i], "edge_index");
        ifm_costs_set_reads_edges(costs, stage, reads);
    }
}

/* What a comparison is of. @fixed: mask of the static devices */
typedef struct
{
    gboolean sharing, copying;
    guint32 fixed;
} Kind;

static IfmCosts *costs_new(const Kind *kind)
{
    static const char *const aliases[] = { "A", "B", "C", "D" };
    g_autoptr(GError) error = NULL;
    IfmCosts *costs = ifm_costs_new("graphsage", 7);
    for (int d = 0; d < N_DEVICES; d++)
    {
        IfmCostDevice device = { .alias = aliases[d], .splits = TRUE };
        if ((kind->fixed & 1u << d) != 0)
        {
            device.form = IFM_PLAN_STATIC;
            device.sizes = static_sizes;
            device.n_sizes = G_N_ELEMENTS(static_sizes);
        }
        ifm_costs_add_device(costs, &device, &error);
        g_assert_no_error(error);
    }
    for (int d = 0; d < N_DEVICES; d++)
        for (int stage = 1; stage <= 7; stage++)
            for (guint32 busy = 0; busy < (kind->sharing ? 1u << N_DEVICES : 1); busy++)
                if ((busy & 1u << d) == 0)
                    set_points(costs, d, stage, busy, (kind->fixed >> d & 1) != 0);
    set_readers(costs);
    if (kind->copying)
        set_copies(costs);
    return costs;
}

/* --- plans --------------------------------------------------------------------------------------------------------------
 */

/* Shares in tenths, so that all latencies are whole nanoseconds. Devices are dealt out in random order; some have two
 * streams. */
static IfmPlan *draw_plan(GRand *random, const Kind *kind)
{
    static const char *const machines[2][2] = { { "four", "sharing" }, { "copying", "copying-sharing" } };
    static const int ends[][4] = { { 7 }, { 3, 7 }, { 5, 7 }, { 3, 5, 7 } };
    const int *end = ends[g_rand_int_range(random, 0, G_N_ELEMENTS(ends))];
    char order[] = "ABCD";
    int next = 0, left = 4, first = 1, blocks_left = 0;
    for (int i = 3; i > 0; i--)
    {
        int j = g_rand_int_range(random, 0, i + 1);
        char swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    while (end[blocks_left] != 7)
        blocks_left++;
    g_autoptr(GString) blocks = g_string_new("[");
    for (;; end++, blocks_left--)
    {
        int n = g_rand_int_range(random, 1, MIN(3, left - blocks_left + 1)), tenths = g_rand_int_range(random, 1, 10);
        g_string_append(blocks, "[[");
        for (int i = 0; i < n; i++)
            g_string_append_printf(blocks, "%s\"%c\"", i > 0 ? "," : "", order[next++]);
        g_string_append(blocks, "],[");
        for (int stage = first; stage <= *end; stage++)
            g_string_append_printf(blocks, "%s%d", stage > first ? "," : "", stage);
        if (n == 1)
            g_string_append(blocks, "],[1.0]]");
        else
            g_string_append_printf(blocks, "],[0.%d,0.%d]]", tenths, 10 - tenths);
        left -= n;
        first = *end + 1;
        if (*end == 7)
            break;
        g_string_append(blocks, ",");
    }
    g_string_append(blocks, "]");
    g_autoptr(GString) text = g_string_new("{\"model\": \"graphsage\", \"devices\": {");
    for (char unit = 'A'; unit <= 'D'; unit++)
        g_string_append_printf(text, "%s\"%c\": {\"device\": \"simulated:%s/%c%s\"}", unit > 'A' ? "," : "", unit,
                               machines[kind->copying][kind->sharing], unit,
                               g_rand_int_range(random, 0, 4) == 0 ? "#2" : "");
    g_string_append_printf(text, "}, \"plan\": %s}", blocks->str);
    g_autoptr(GError) error = NULL;
    json_auto_t *json = ifm_json_parse(text->str, text->len, "drawn", &error);
    g_assert_no_error(error);
    IfmPlan *plan = ifm_plan_from_json(json, "drawn", &error);
    g_assert_no_error(error);
    for (int d = 0; d < N_DEVICES; d++)
    {
        IfmPlanDevice *device = plan->devices->pdata[ifm_plan_find_device(plan, (const char[]){ (char)('A' + d), 0 })];
        if ((kind->fixed & 1u << d) == 0)
            continue;
        device->form = IFM_PLAN_STATIC;
        device->sizes = g_memdup2(static_sizes, sizeof static_sizes);
        device->n_sizes = G_N_ELEMENTS(static_sizes);
    }
    return plan;
}

/* --- running ------------------------------------------------------------------------------------------------------------
 */

/* Run: batches of one random graph through a plan, on a virtual clock. */
typedef struct
{
    IfmClock *clock;
    IfmTensor inputs[2]; /* x, edge_index */
    IfmTrace *trace;
    IfmPipelineResult result;
} Run;

static void draw_inputs(GRand *random, const IfmPlanSize *size, gint64 n_sources, IfmTensor *inputs)
{
    g_assert_true(ifm_tensor_init(&inputs[0], IFM_DTYPE_F32, 2, (gint64[]){ n_sources, FEATURES }, NULL));
    g_assert_true(ifm_tensor_init(&inputs[1], IFM_DTYPE_I64, 2, (gint64[]){ 2, size->edges }, NULL));
    g_assert_true(ifm_tensor_fill_random(&inputs[0], random, -1, 1, NULL));
    gint64 *sources = inputs[1].data, *destinations = sources + size->edges;
    for (gint64 i = 0; i < size->edges; i++)
    {
        sources[i] = g_rand_int_range(random, 0, (gint32)n_sources);
        destinations[i] = i % size->nodes; /* as many into each node: a share's edges are in proportion to its nodes */
    }
}

static void run_plan(Run *run, const IfmPlan *plan, GRand *random, const IfmSimulateOptions *of)
{
    g_autoptr(GError) error = NULL;
    g_autofree IfmBatch *batches = g_new0(IfmBatch, of->n_batches);
    IfmPipelineOptions options = IFM_PIPELINE_OPTIONS_INIT;
    *run = (Run){ .clock = ifm_clock_new_virtual(1000000000), .trace = ifm_trace_new("run") };
    const IfmPlanSize *size = &of->sizes[0];
    gint64 n_sources = of->sources != NULL ? of->sources[0] : size->nodes;
    draw_inputs(random, size, n_sources, run->inputs);
    for (gsize i = 0; i < of->n_batches; i++)
        batches[i] = (IfmBatch){
            .id = (gint64)i, .nodes = n_sources, .edges = size->edges, .n_own = size->nodes, .inputs = run->inputs
        };
    options.clock = run->clock;
    options.trace = run->trace;
    options.trace_batches = of->n_batches;
    options.queue_depth = of->queue_depth;
    options.block_depth = of->block_depth;
    options.most_nodes = n_sources;
    options.max_edges = size->edges;
    options.sizes = (IfmStageSizes){ .features = FEATURES, .hidden = HIDDEN };
    ifm_clock_enter(run->clock);
    g_autoptr(IfmPipeline) pipeline = ifm_pipeline_new(plan, &options, &error);
    g_assert_no_error(error);
    ifm_pipeline_run(pipeline, batches, of->n_batches, NULL, NULL, &run->result, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(run->result.n_delivered, ==, of->n_batches);
}

static void run_clear(Run *run)
{
    ifm_clock_leave(run->clock);
    ifm_pipeline_result_clear(&run->result);
    ifm_trace_free(run->trace);
    ifm_tensor_clear(&run->inputs[0]);
    ifm_tensor_clear(&run->inputs[1]);
    ifm_clock_unref(run->clock);
}

/* --- comparing ----------------------------------------------------------------------------------------------------------
 */

/* The track that bears the same name; NULL. */
static const IfmEvent *same_track(const IfmTrace *trace, const IfmTrackInfo *like, gsize *n)
{
    for (gsize track = 0; track < ifm_trace_n_tracks(trace); track++)
    {
        const IfmTrackInfo *info = ifm_trace_track_info(trace, track);
        if (info->kind == like->kind && info->stream == like->stream && g_strcmp0(info->device, like->device) == 0 &&
            (like->kind == IFM_TRACK_DEVICE || g_str_equal(info->thread, like->thread)))
            return ifm_trace_events(trace, track, n);
    }
    g_error("the run has no track like '%s'", like->thread);
}

static void assert_near(const char *what, gint64 simulated, gint64 run, gint64 tolerance_ns)
{
    if (ABS(simulated - run) > tolerance_ns)
        g_error("%s: simulated %" G_GINT64_FORMAT ", run %" G_GINT64_FORMAT, what, simulated, run);
}

/* What was recorded on a device, on its way, or in a queue: event by event. */
static void compare_events(const IfmTrace *a, const IfmTrace *b, const IfmTrackInfo *info, const IfmEvent *x, gsize n,
                           gint64 start_ns, gint64 tolerance_ns)
{
    gsize m;
    const IfmEvent *y = same_track(b, info, &m);
    g_assert_cmpuint(n, ==, m);
    for (gsize i = 0; i < n; i++)
    {
        g_assert_cmpint(x[i].kind, ==, y[i].kind);
        g_assert_cmpint(x[i].batch, ==, y[i].batch);
        g_assert_cmpint(x[i].block, ==, y[i].block);
        g_assert_cmpint(x[i].first, ==, y[i].first);
        g_assert_cmpint(x[i].last, ==, y[i].last);
        g_assert_cmpstr(ifm_trace_text(a, x[i].name), ==, ifm_trace_text(b, y[i].name));
        assert_near(info->thread, x[i].start_ns, y[i].start_ns - start_ns, tolerance_ns);
        assert_near(info->thread, x[i].duration_ns, y[i].duration_ns, tolerance_ns);
    }
}

/* Waits that began before the block took its last batch: whether one after that was for another that never comes is up to
 * which thread of the pipeline gets to know first that there is none. */
static gint64 sum_of(const IfmEvent *events, gsize n, IfmEventKind kind)
{
    gint64 sum = 0, last_ns = 0;
    for (gsize i = 0; i < n; i++)
        if (events[i].kind == IFM_EVENT_PARTITION)
            last_ns = MAX(last_ns, events[i].start_ns);
    for (gsize i = 0; i < n; i++)
        sum += events[i].kind == kind && events[i].start_ns < last_ns ? events[i].duration_ns : 0;
    return sum;
}

/* How long a block's thread waited for what. It may have been waited for in several pieces. */
static void compare_waits(const IfmTrace *b, const IfmTrackInfo *info, const IfmEvent *x, gsize n, gint64 tolerance_ns)
{
    gsize m;
    const IfmEvent *y = same_track(b, info, &m);
    assert_near("waits for input", sum_of(x, n, IFM_EVENT_WAIT_INPUT), sum_of(y, m, IFM_EVENT_WAIT_INPUT), tolerance_ns);
    assert_near("waits for room", sum_of(x, n, IFM_EVENT_WAIT_OUTPUT), sum_of(y, m, IFM_EVENT_WAIT_OUTPUT), tolerance_ns);
}

/* Copies to devices and back, each after the other; those within the host's memory, to pad parts and to cut off what was
 * padded, take no time. @at: (inout) where to look from */
static const IfmEvent *next_copy(const IfmEvent *events, gsize n, gsize *at)
{
    while (*at < n && (events[*at].kind != IFM_EVENT_COPY || events[*at].duration_ns == 0))
        ++*at;
    return *at < n ? &events[(*at)++] : NULL;
}

static void compare_copies(const IfmTrace *a, const IfmTrace *b, const IfmTrackInfo *info, const IfmEvent *x, gsize n,
                           gint64 start_ns, gint64 tolerance_ns)
{
    gsize m, i = 0, k = 0;
    const IfmEvent *y = same_track(b, info, &m), *simulated, *run;
    while ((simulated = next_copy(x, n, &i)) != NULL)
    {
        run = next_copy(y, m, &k);
        g_assert_nonnull(run);
        g_assert_cmpint(simulated->batch, ==, run->batch);
        g_assert_cmpint(simulated->bytes, ==, run->bytes);
        g_assert_cmpstr(ifm_trace_text(a, simulated->name), ==, ifm_trace_text(b, run->name));
        assert_near("a copy", simulated->start_ns, run->start_ns - start_ns, tolerance_ns);
        assert_near("a copy's time", simulated->duration_ns, run->duration_ns, tolerance_ns);
    }
    g_assert_null(next_copy(y, m, &k));
}

static void compare_traces(const IfmTrace *a, const IfmTrace *b, gint64 start_ns, gint64 tolerance_ns)
{
    for (gsize track = 0; track < ifm_trace_n_tracks(a); track++)
    {
        gsize n;
        const IfmTrackInfo *info = ifm_trace_track_info(a, track);
        const IfmEvent *events = ifm_trace_events(a, track, &n);
        if (info->kind == IFM_TRACK_HOST)
        {
            compare_waits(b, info, events, n, tolerance_ns);
            compare_copies(a, b, info, events, n, start_ns, tolerance_ns);
        }
        else
            compare_events(a, b, info, events, n, start_ns, tolerance_ns);
    }
}

/* Far into a run batches leave at the pace of the plan's cost, where nothing slows anything and parts are handed over
 * ahead. */
static void compare_pace(const IfmCosts *costs, const IfmPlan *plan)
{
    const IfmPlanSize size = { NODES, EDGES };
    const gsize periods[] = { 240, 480 }; /* of all numbers of streams */
    g_auto(IfmPlanCost) cost = { 0 };
    g_autoptr(GError) error = NULL;
    gint64 makespans[2];
    for (gsize i = 0; i < G_N_ELEMENTS(periods); i++)
    {
        g_auto(IfmSimulation) simulation = { 0 };
        const IfmSimulateOptions options = { periods[i], &size, 1, 2, 2 };
        ifm_plan_simulate(costs, plan, &options, &simulation, &error);
        g_assert_no_error(error);
        makespans[i] = simulation.makespan_ns;
    }
    ifm_plan_cost(costs, plan, NODES, EDGES, &cost, &error);
    g_assert_no_error(error);
    double steady_ns = (double)(makespans[1] - makespans[0]) / (double)(periods[1] - periods[0]);
    g_assert_cmpfloat_with_epsilon(cost.cycle_ns / steady_ns, 1, 1e-6);
}

static void compare(const Kind *kind, guint32 seed)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCosts) costs = costs_new(kind);
    g_autoptr(IfmPlan) plan = draw_plan(random, kind);
    g_auto(IfmSimulation) simulation = { 0 };
    const IfmPlanSize size = { NODES, EDGES };
    const gsize n = (gsize)g_rand_int_range(random, 1, 30);
    const IfmSimulateOptions options = { n, &size, 1, g_rand_int_range(random, 1, 4), g_rand_int_range(random, 1, 4) };
    /* a rate that changes leaves half a nanosecond to be rounded each time */
    const gint64 tolerance_ns = kind->sharing ? 4 * (gint64)n : 0;
    Run run;
    ifm_plan_simulate(costs, plan, &options, &simulation, &error);
    g_assert_no_error(error);
    run_plan(&run, plan, random, &options);
    assert_near("makespan", simulation.makespan_ns, run.result.end_ns - run.result.start_ns, tolerance_ns);
    compare_traces(simulation.trace, run.trace, run.result.start_ns, tolerance_ns);
    run_clear(&run);
    if (!kind->sharing)
        compare_pace(costs, plan);
}

static void test_exact(void)
{
    for (guint32 seed = 0; seed < 60; seed++)
        compare(&(Kind){ FALSE }, seed);
}

static void test_sharing(void)
{
    for (guint32 seed = 0; seed < 60; seed++)
        compare(&(Kind){ .sharing = TRUE }, seed);
}

/* Parts are padded to the sizes that planning takes them for. */
static void test_static(void)
{
    for (guint32 seed = 0; seed < 60; seed++)
    {
        compare(&(Kind){ .fixed = 1 + seed % 15 }, seed);
        compare(&(Kind){ .sharing = TRUE, .fixed = 1 + seed % 15 }, seed);
    }
}

/* The first inference of a device. */
static gint64 inference_ns(const IfmTrace *trace, const char *alias)
{
    gsize n;
    const IfmEvent *events = same_track(trace, &(IfmTrackInfo){ .kind = IFM_TRACK_DEVICE, .device = (char *)alias }, &n);
    for (gsize i = 0; i < n; i++)
        if (events[i].kind == IFM_EVENT_INFER)
            return events[i].duration_ns;
    g_error("no inference on %s", alias);
}

/* A part of a graph: some nodes of its own, and ghosts that are sources alone. A static device that has a block to itself
 * takes the size that holds them all, which is what the executor compiles; one that shares a block that of its share. A
 * takes 115 ns a node of its model, for stages 1-3 70; B 96, and 34 for stages 4-7. */
static void test_parts(void)
{
    static const struct
    {
        const char *blocks;
        IfmPlanSize own;
        gint64 sources, a_ns, b_ns;
    } rows[] = {
        { "[[[\"A\"],[1,2,3,4,5,6,7],[1]]]", { 400, 1600 }, 690, 115 * 700, 0 },
        { "[[[\"A\"],[1,2,3,4,5,6,7],[1]]]", { 240, 960 }, 700, 115 * 820, 0 }, /* edges are added: a node more */
        { "[[[\"A\"],[1,2,3,4,5,6,7],[1]]]", { 500, 2000 }, 500, 115 * 501, 0 },
        { "[[[\"A\"],[1,2,3],[1]],[[\"B\"],[4,5,6,7],[1]]]", { 400, 1600 }, 690, 70 * 700, 34 * 700 },
        { "[[[\"A\",\"B\"],[1,2,3,4,5,6,7],[0.5,0.5]]]", { 400, 1600 }, 690, 115 * 250, 96 * 250 },
    };
    g_autoptr(IfmCosts) costs = costs_new(&(Kind){ .fixed = 3 });
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autoptr(GRand) random = g_rand_new_with_seed(1);
        g_autoptr(GError) error = NULL;
        g_autofree char *text = g_strdup_printf("{\"model\": \"graphsage\", \"devices\": {\"A\": {\"device\": "
                                                "\"simulated:four/A\"}, \"B\": {\"device\": \"simulated:four/B\"}}, "
                                                "\"plan\": %s}",
                                                rows[i].blocks);
        json_auto_t *json = ifm_json_parse(text, strlen(text), "parts", &error);
        g_assert_no_error(error);
        g_autoptr(IfmPlan) plan = ifm_plan_from_json(json, "parts", &error);
        g_assert_no_error(error);
        for (guint d = 0; d < plan->devices->len; d++)
        {
            IfmPlanDevice *device = plan->devices->pdata[d];
            device->form = IFM_PLAN_STATIC;
            device->sizes = g_memdup2(static_sizes, sizeof static_sizes);
            device->n_sizes = G_N_ELEMENTS(static_sizes);
        }
        const IfmSimulateOptions options = { 5, &rows[i].own, 1, 2, 2, &rows[i].sources };
        g_auto(IfmSimulation) simulation = { 0 };
        g_auto(IfmPlanCost) cost = { 0 };
        Run run;
        ifm_plan_simulate(costs, plan, &options, &simulation, &error);
        g_assert_no_error(error);
        ifm_plan_cost_with_sources(costs, plan, (double)rows[i].own.nodes, (double)rows[i].own.edges,
                                   (double)rows[i].sources, &cost, &error);
        g_assert_no_error(error);
        run_plan(&run, plan, random, &options);
        compare_traces(simulation.trace, run.trace, run.result.start_ns, 0);
        g_assert_cmpint(inference_ns(run.trace, "A"), ==, rows[i].a_ns);
        g_assert_cmpint(inference_ns(simulation.trace, "A"), ==, rows[i].a_ns);
        g_assert_cmpfloat(g_array_index(cost.alone, IfmBlockCost, 0).device_ns[0], ==, (double)rows[i].a_ns);
        if (rows[i].b_ns > 0)
            g_assert_cmpint(inference_ns(run.trace, "B"), ==, rows[i].b_ns);
        run_clear(&run);
    }
}

/* The search knows, too: by its own nodes a part would fit a static device's sizes, with its ghosts it does not. */
static void test_parts_searched(void)
{
    g_autoptr(IfmCosts) costs = costs_new(&(Kind){ .fixed = 2 });
    g_autoptr(GError) error = NULL;
    IfmPlanQuestion question = {
        .objective = IFM_OBJECTIVE_LATENCY, .nodes = 900, .edges = 3500, .max_blocks = 1, .without = 12, .no_split = 3
    };
    for (int ghosts = 0; ghosts <= 1; ghosts++)
    {
        g_auto(IfmPlanAnswer) answer = { 0 };
        question.sources = ghosts ? 1100 : 0;
        g_assert_true(ifm_plan_search(costs, &question, &answer, &error));
        g_autofree char *text = ifm_plan_to_text(answer.best.plan);
        g_assert_cmpstr(text, ==, ghosts ? "A 1-7" : "B 1-7"); /* 96 x 1000 ns against 115 x 900 */
    }
}

/* Two of the devices have memory of their own, to which the pipeline copies while others compute. */
static void test_copying(void)
{
    for (guint32 seed = 0; seed < 60; seed++)
    {
        compare(&(Kind){ .copying = TRUE }, seed);
        compare(&(Kind){ .copying = TRUE, .sharing = TRUE }, seed);
        compare(&(Kind){ .copying = TRUE, .fixed = 1 + seed % 15 }, seed);
    }
}

/* --- from a study -------------------------------------------------------------------------------------------------------
 */

/* A works in the host's memory, B does not. @links, @contention: whether those were measured. */
static IfmCosts *costs_of_study(const char *machine, gboolean links, gboolean contention)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("plan-run-XXXXXX", &error),
                    *yaml = g_build_filename(folder, "copies.yaml", NULL), *db = g_build_filename(folder, "store.db", NULL);
    g_autofree char *text =
        g_strdup_printf("title: Copies\n"
                        "subject: {model: graphsage, features: %d, hidden: %d, stages: [1], "
                        "ranges: [1-7, 1-3, 4-7]}\n"
                        "sizes:\n"
                        "  - {nodes: 1000, edges: [4000]}\n"
                        "  - {nodes: 600, edges: [2400]}\n"
                        "  - {nodes: 400, edges: [1600]}\n"
                        "devices:\n"
                        "  A: {device: simulated:%s/A}\n"
                        "  B: {device: simulated:%s/B}\n"
                        "protocol: {warmup: 1, runs: 5}\n"
                        "links: {measure: %s}\n"
                        "contention: {measure: %s}\n",
                        FEATURES, HIDDEN, machine, machine, links ? "true" : "false", contention ? "true" : "false");
    g_assert_true(g_file_set_contents(yaml, text, -1, NULL));
    g_autoptr(IfmStudy) study = ifm_study_open(yaml, &error);
    g_assert_no_error(error);
    IfmStore *store = ifm_store_open(db, IFM_STORE_WRITE, &error);
    g_assert_no_error(error);
    const IfmStudyOptions options = { .folder = folder, .limits = *ifm_study_info(study).limits };
    IfmCampaignProgress progress;
    ifm_study_measure(study, store, &options, &progress, &error);
    g_assert_no_error(error);
    g_autoptr(IfmStudyTables) tables = ifm_study_tables(NULL, store, &error);
    g_assert_no_error(error);
    IfmCosts *costs = ifm_costs_from_tables(tables, NULL, &error);
    g_assert_no_error(error);
    ifm_store_close(store);
    g_autofree char *quoted = g_shell_quote(folder), *remove = g_strdup_printf("rm -r %s", quoted);
    g_assert_true(g_spawn_command_line_sync(remove, NULL, NULL, NULL, NULL));
    return costs;
}

static IfmPlan *plan_of(const char *blocks)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text = g_strdup_printf("{\"model\": \"graphsage\", \"plan\": %s, \"devices\": {"
                                            "\"A\": {\"device\": \"simulated:copying/A\"}, "
                                            "\"B\": {\"device\": \"simulated:copying/B\"}}}",
                                            blocks);
    json_auto_t *json = ifm_json_parse(text, strlen(text), "written", &error);
    g_assert_no_error(error);
    IfmPlan *plan = ifm_plan_from_json(json, "written", &error);
    g_assert_no_error(error);
    return plan;
}

static gint64 attained_ns(const IfmPlan *plan, gsize n_batches)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    const IfmPlanSize size = { NODES, EDGES };
    const IfmSimulateOptions options = { n_batches, &size, 1, 2, 2 };
    Run run;
    run_plan(&run, plan, random, &options);
    gint64 ns = run.result.end_ns - run.result.start_ns;
    run_clear(&run);
    return ns;
}

/* What a study measured from host tensors predicts what a run attains that copies beside its inferences: the cycle, a batch
 * alone, the makespan. The tolerance: a line was fitted through the copies, whole nanoseconds. */
static void test_study(void)
{
    static const char *const plans[] = { "[[[\"B\"],[1,2,3,4,5,6,7],[1]]]",
                                         "[[[\"A\"],[1,2,3],[1]],[[\"B\"],[4,5,6,7],[1]]]",
                                         "[[[\"B\"],[1,2,3],[1]],[[\"A\"],[4,5,6,7],[1]]]",
                                         "[[[\"A\",\"B\"],[1,2,3,4,5,6,7],[0.6,0.4]]]",
                                         "[[[\"B\",\"A\"],[1,2,3,4,5,6,7],[0.6,0.4]]]" };
    const double tolerance = 1e-4;
    const gsize n = 40;
    g_autoptr(IfmCosts) costs = costs_of_study("copying", TRUE, FALSE), unlinked = costs_of_study("copying", FALSE, FALSE);
    for (gsize i = 0; i < G_N_ELEMENTS(plans); i++)
    {
        g_autoptr(IfmPlan) plan = plan_of(plans[i]);
        g_autoptr(GError) error = NULL;
        g_auto(IfmPlanCost) cost = { 0 }, before = { 0 };
        g_auto(IfmSimulation) simulation = { 0 };
        const IfmPlanSize size = { NODES, EDGES };
        const IfmSimulateOptions options = { n, &size, 1, 2, 2 };
        ifm_plan_cost(costs, plan, NODES, EDGES, &cost, &error);
        g_assert_no_error(error);
        ifm_plan_simulate(costs, plan, &options, &simulation, &error);
        g_assert_no_error(error);
        gint64 once = attained_ns(plan, n), twice = attained_ns(plan, 2 * n);
        double cycle_ns = (double)(twice - once) / (double)n;
        g_assert_cmpfloat_with_epsilon(cost.cycle_ns / cycle_ns, 1, tolerance);
        g_assert_cmpfloat_with_epsilon(cost.latency_ns / (double)attained_ns(plan, 1), 1, tolerance);
        g_assert_cmpfloat_with_epsilon((double)simulation.makespan_ns / (double)once, 1, tolerance);
        /* without links the copies are in B's latency, and nothing passes beside them */
        ifm_plan_cost(unlinked, plan, NODES, EDGES, &before, &error);
        g_assert_no_error(error);
        g_assert_cmpfloat(g_array_index(before.alone, IfmBlockCost, 0).handover_ns, ==, 0);
        g_test_message("%s: cycle %.0f ns, predicted %.0f, without links %.0f", plans[i], cycle_ns, cost.cycle_ns,
                       before.cycle_ns);
    }
    /* x and edge_index once, h back, from and to host tensors, beside 110 us of B's own */
    IfmCostLatency latency;
    double held_ns = 3 * links[1].fixed_ns + links[1].ns_per_byte * (20 * NODES + 16 * EDGES + 12 * NODES), own_ns = 0;
    for (int stage = 0; stage < 7; stage++)
        own_ns += weights[1][stage] * NODES;
    g_assert_true(ifm_costs_latency(costs, 1, 1, 7, NODES, EDGES, 0, &latency, NULL));
    g_assert_cmpfloat_with_epsilon(latency.latency_ns / own_ns, 1, tolerance);
    g_assert_true(ifm_costs_latency(unlinked, 1, 1, 7, NODES, EDGES, 0, &latency, NULL));
    g_assert_cmpfloat_with_epsilon(latency.latency_ns / (own_ns + held_ns), 1, tolerance);
}

/* Beside a busy device inference and copies were slower together: by as much each is. */
static void test_study_sharing(void)
{
    g_autoptr(IfmCosts) costs = costs_of_study("copying-sharing", TRUE, TRUE);
    for (int device = 0; device < 2; device++)
    {
        IfmCostLatency alone, background;
        g_assert_true(ifm_costs_latency(costs, device, 1, 7, NODES, EDGES, 0, &alone, NULL));
        g_assert_true(ifm_costs_latency(costs, device, 1, 7, NODES, EDGES, 1u << (1 - device), &background, NULL));
        g_assert_true(background.busy_known);
        g_assert_cmpfloat_with_epsilon(background.latency_ns / alone.latency_ns, factor_of(device, 1u << (1 - device)),
                                       1e-4);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_autofree char *folder = g_test_build_filename(G_TEST_DIST, "plan", "devices", NULL);
    g_setenv("IFM_DEVICES_DIR", folder, TRUE);
    g_test_add_func("/plan-run/exact", test_exact);
    g_test_add_func("/plan-run/sharing", test_sharing);
    g_test_add_func("/plan-run/static", test_static);
    g_test_add_func("/plan-run/parts", test_parts);
    g_test_add_func("/plan-run/parts-searched", test_parts_searched);
    g_test_add_func("/plan-run/copying", test_copying);
    g_test_add_func("/plan-run/study", test_study);
    g_test_add_func("/plan-run/study-sharing", test_study_sharing);
    return g_test_run();
}
