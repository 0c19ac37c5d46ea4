/*
 * What is simulated is what runs: random plans on simulated devices, executed on a virtual clock, against the simulation of
 * the same plan: the same makespan, the same inferences at the same moments, the same waits.
 */
#include <inferometer/json.h>
#include <inferometer/plan.h>

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
    int most = 0;
    for (gsize i = 0; i < G_N_ELEMENTS(contention); i++)
    {
        int n = __builtin_popcount(contention[i].busy);
        if (contention[i].device != device || (contention[i].busy & ~busy) != 0 || n <= most)
            continue;
        most = n;
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

/* @fixed: mask of the static devices */
static IfmCosts *costs_new(gboolean sharing, guint32 fixed)
{
    static const char *const aliases[] = { "A", "B", "C", "D" };
    g_autoptr(GError) error = NULL;
    IfmCosts *costs = ifm_costs_new("graphsage", 7);
    for (int d = 0; d < N_DEVICES; d++)
    {
        IfmCostDevice device = { .alias = aliases[d], .splits = TRUE };
        if ((fixed & 1u << d) != 0)
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
            for (guint32 busy = 0; busy < (sharing ? 1u << N_DEVICES : 1); busy++)
                if ((busy & 1u << d) == 0)
                    set_points(costs, d, stage, busy, (fixed >> d & 1) != 0);
    set_readers(costs);
    return costs;
}

/* --- plans --------------------------------------------------------------------------------------------------------------
 */

/* Shares in tenths, so that all latencies are whole nanoseconds. Devices are dealt out in random order; some have two
 * streams. */
static IfmPlan *draw_plan(GRand *random, gboolean sharing, guint32 fixed)
{
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
                               sharing ? "sharing" : "four", unit, g_rand_int_range(random, 0, 4) == 0 ? "#2" : "");
    g_string_append_printf(text, "}, \"plan\": %s}", blocks->str);
    g_autoptr(GError) error = NULL;
    json_auto_t *json = ifm_json_parse(text->str, text->len, "drawn", &error);
    g_assert_no_error(error);
    IfmPlan *plan = ifm_plan_from_json(json, "drawn", &error);
    g_assert_no_error(error);
    for (int d = 0; d < N_DEVICES; d++)
    {
        IfmPlanDevice *device = plan->devices->pdata[ifm_plan_find_device(plan, (const char[]){ (char)('A' + d), 0 })];
        if ((fixed & 1u << d) == 0)
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

static void draw_inputs(GRand *random, IfmTensor *inputs)
{
    g_assert_true(ifm_tensor_init(&inputs[0], IFM_DTYPE_F32, 2, (gint64[]){ NODES, FEATURES }, NULL));
    g_assert_true(ifm_tensor_init(&inputs[1], IFM_DTYPE_I64, 2, (gint64[]){ 2, EDGES }, NULL));
    g_assert_true(ifm_tensor_fill_random(&inputs[0], random, -1, 1, NULL));
    gint64 *sources = inputs[1].data, *destinations = sources + EDGES;
    for (int i = 0; i < EDGES; i++)
    {
        sources[i] = g_rand_int_range(random, 0, NODES);
        destinations[i] = i % NODES; /* as many into each node: a share's edges are in proportion to its nodes */
    }
}

static void run_plan(Run *run, const IfmPlan *plan, GRand *random, const IfmSimulateOptions *of)
{
    g_autoptr(GError) error = NULL;
    g_autofree IfmBatch *batches = g_new0(IfmBatch, of->n_batches);
    IfmPipelineOptions options = IFM_PIPELINE_OPTIONS_INIT;
    *run = (Run){ .clock = ifm_clock_new_virtual(1000000000), .trace = ifm_trace_new("run") };
    draw_inputs(random, run->inputs);
    for (gsize i = 0; i < of->n_batches; i++)
        batches[i] = (IfmBatch){ .id = (gint64)i, .nodes = NODES, .edges = EDGES, .inputs = run->inputs };
    options.clock = run->clock;
    options.trace = run->trace;
    options.trace_batches = of->n_batches;
    options.queue_depth = of->queue_depth;
    options.block_depth = of->block_depth;
    options.most_nodes = NODES;
    options.most_edges = EDGES;
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

static void compare_traces(const IfmTrace *a, const IfmTrace *b, gint64 start_ns, gint64 tolerance_ns)
{
    for (gsize track = 0; track < ifm_trace_n_tracks(a); track++)
    {
        gsize n;
        const IfmTrackInfo *info = ifm_trace_track_info(a, track);
        const IfmEvent *events = ifm_trace_events(a, track, &n);
        if (info->kind == IFM_TRACK_HOST)
            compare_waits(b, info, events, n, tolerance_ns);
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

static void compare(gboolean sharing, guint32 fixed, guint32 seed)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCosts) costs = costs_new(sharing, fixed);
    g_autoptr(IfmPlan) plan = draw_plan(random, sharing, fixed);
    g_auto(IfmSimulation) simulation = { 0 };
    const IfmPlanSize size = { NODES, EDGES };
    const gsize n = (gsize)g_rand_int_range(random, 1, 30);
    const IfmSimulateOptions options = { n, &size, 1, g_rand_int_range(random, 1, 4), g_rand_int_range(random, 1, 4) };
    /* a rate that changes leaves half a nanosecond to be rounded each time */
    const gint64 tolerance_ns = sharing ? 4 * (gint64)n : 0;
    Run run;
    ifm_plan_simulate(costs, plan, &options, &simulation, &error);
    g_assert_no_error(error);
    run_plan(&run, plan, random, &options);
    assert_near("makespan", simulation.makespan_ns, run.result.end_ns - run.result.start_ns, tolerance_ns);
    compare_traces(simulation.trace, run.trace, run.result.start_ns, tolerance_ns);
    run_clear(&run);
    if (!sharing)
        compare_pace(costs, plan);
}

static void test_exact(void)
{
    for (guint32 seed = 0; seed < 60; seed++)
        compare(FALSE, 0, seed);
}

static void test_sharing(void)
{
    for (guint32 seed = 0; seed < 60; seed++)
        compare(TRUE, 0, seed);
}

/* Parts are padded to the sizes that planning takes them for. */
static void test_static(void)
{
    for (guint32 seed = 0; seed < 60; seed++)
    {
        compare(FALSE, 1 + seed % 15, seed);
        compare(TRUE, 1 + seed % 15, seed);
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
    return g_test_run();
}
