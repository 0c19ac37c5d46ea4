/* Pipelines on real runtimes: whatever the plan, the outputs are those of the whole model on one device. */
#include <engine/engine.h>
#include <sched.h>
#include <staged/staged.h>
#include <trace/trace.h>

#include "fixture.h"

#define RTOL 1e-4
#define ATOL 1e-5
#define N_GRAPHS 4

typedef struct
{
    Graph graphs[N_GRAPHS];
    IfmTensor references[N_GRAPHS]; /* h of their own nodes */
} Truth;

/* Whether the runtime and the core are here; the test is skipped with the reason where not. */
static gboolean have(const char *device)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device, &error);
    g_assert_no_error(error);
    g_autoptr(IfmEngine) engine = ifm_engine_open(spec->engine, clock, &error);
    cpu_set_t mask;
    gboolean has_cores = sched_getaffinity(0, sizeof mask, &mask) == 0;
    for (gsize i = 0; i < spec->n_cores; i++)
        has_cores &= CPU_ISSET(spec->cores[i], &mask) != 0;
    if (engine != NULL && has_cores && ifm_engine_probe_device(engine, spec, &error))
        return TRUE;
    g_autofree char *cores = g_strdup_printf("%s: this process may not use that core", device);
    g_test_skip(error != NULL ? error->message : cores);
    return FALSE;
}

/* The whole graph by the whole model on ONNX Runtime, optimisation off; of a graph with ghosts its own rows. */
static IfmTensor reference(const Graph *graph)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    g_autoptr(IfmEngine) engine = ifm_engine_open("onnxruntime", clock, &error);
    g_assert_no_error(error);
    IfmStageSizes sizes = { .features = FEATURES, .hidden = HIDDEN };
    const IfmStagedModel *staged = ifm_staged_find("graphsage", &error);
    g_autoptr(IfmModel) model = ifm_staged_build(staged, 1, 7, &sizes, IFM_SCATTER_ELEMENTS, 1, &error);
    g_assert_no_error(error);
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse("onnxruntime:CPU", &error);
    IfmCompileOptions options = IFM_COMPILE_OPTIONS_INIT;
    options.optimise = FALSE;
    options.threads = 1;
    g_autoptr(IfmCompiled) compiled = ifm_engine_compile(engine, model, spec, &options, &error);
    g_assert_no_error(error);
    IfmRequest *request = ifm_compiled_request(compiled, 0, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_request_set_input(request, 0, &graph->inputs[0], &error));
    g_assert_true(ifm_request_set_input(request, 1, &graph->inputs[1], &error));
    g_assert_true(ifm_request_start(request, NULL, NULL, &error));
    g_assert_true(ifm_request_wait(request, IFM_CLOCK_NEVER, &error));
    IfmTensor output, copy;
    g_assert_true(ifm_request_output(request, 0, &output, &error));
    g_assert_true(ifm_tensor_init(&copy, IFM_DTYPE_F32, 2, (gint64[]){ graph->n_own, HIDDEN }, &error));
    memcpy(copy.data, output.data, copy.size_bytes);
    ifm_request_free(request);
    return copy;
}

/* One with ghosts, one whose last nodes have no edge into them. */
static void truth_init(Truth *truth)
{
    static const gint64 sizes[N_GRAPHS][3] = { { 200, 200, 900 }, { 31, 31, 40 }, { 150, 90, 700 }, { 300, 300, 1500 } };
    g_autoptr(GRand) random = g_rand_new_with_seed(23);
    for (int i = 0; i < N_GRAPHS; i++)
    {
        graph_init(&truth->graphs[i], random, sizes[i][0], sizes[i][1], sizes[i][2]);
        gint64 *destinations = (gint64 *)truth->graphs[i].inputs[1].data + sizes[i][2];
        for (gint64 k = 0; k < sizes[i][2] && i == 3; k++)
            destinations[k] %= 250;
        truth->references[i] = reference(&truth->graphs[i]);
    }
}

static void truth_clear(Truth *truth)
{
    for (int i = 0; i < N_GRAPHS; i++)
    {
        graph_clear(&truth->graphs[i]);
        ifm_tensor_clear(&truth->references[i]);
    }
}

typedef struct
{
    const Truth *truth;
    gint64 next;
    const char *what;
} Check;

static void check_batch(const IfmBatch *batch, const IfmTensor *outputs, const GError *error, void *user)
{
    Check *check = user;
    IfmTensorDifference worst;
    g_assert_no_error(error);
    g_assert_cmpint(batch->id, ==, check->next++);
    if (!ifm_tensor_compare(&outputs[0], &check->truth->references[batch->id % N_GRAPHS], RTOL, ATOL, &worst))
        g_error("%s, batch %" G_GINT64_FORMAT ": %" G_GINT64_FORMAT " elements differ, worst %" G_GINT64_FORMAT
                ": %g, reference %g",
                check->what, batch->id, worst.n_different, worst.worst_index, worst.worst_value, worst.worst_reference);
}

static void check_options(const Truth *truth, IfmPlan *plan /* (transfer full) */, const IfmPipelineOptions *options,
                          const char *what)
{
    enum
    {
        N = 24
    };
    g_autoptr(GError) error = NULL;
    g_auto(IfmPipelineResult) result = { 0 };
    g_autofree IfmBatch *batches = make_batches(truth->graphs, N_GRAPHS, N);
    Check check = { truth, 0, what };
    g_autoptr(IfmPipeline) pipeline = ifm_pipeline_new(plan, options, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_pipeline_run(pipeline, batches, N, check_batch, &check, &result, &error));
    g_assert_no_error(error);
    g_assert_cmpint(check.next, ==, N);
    assert_times_add_up(&result);
    ifm_plan_free(plan);
}

static void check_plan(const Truth *truth, const char *devices, const char *blocks)
{
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    IfmPipelineOptions options = make_options(clock);
    options.most_nodes = 300;
    options.max_edges = 1500;
    for (int depth = 1; depth <= 2; depth++)
    {
        options.block_depth = options.queue_depth = depth;
        check_options(truth, make_plan(devices, blocks), &options, blocks);
    }
}

#define BOTH "A=onnxruntime:CPU@0,B=openvino:CPU@1"
#define FOUR "A=onnxruntime:CPU@0,B=openvino:CPU@1,C=onnxruntime:CPU@1,D=openvino:CPU@0"

static void test_single(void)
{
    if (!have("onnxruntime:CPU@0") || !have("openvino:CPU@1"))
        return;
    Truth truth;
    truth_init(&truth);
    check_plan(&truth, BOTH, "[[[\"A\"],[1,2,3,4,5,6,7],[1]]]");
    check_plan(&truth, BOTH, "[[[\"B\"],[1,2,3,4,5,6,7],[1]]]");
    truth_clear(&truth);
}

/* Cut behind every stage, either device first. */
static void test_two_blocks(void)
{
    if (!have("onnxruntime:CPU@0") || !have("openvino:CPU@1"))
        return;
    Truth truth;
    truth_init(&truth);
    for (int cut = 1; cut < 7; cut++)
        for (int order = 0; order < 2; order++)
        {
            g_autoptr(GString) first = g_string_new("1"), second = g_string_new(NULL);
            for (int stage = 2; stage <= 7; stage++)
                g_string_append_printf(stage <= cut ? first : second, "%s%d", stage == cut + 1 ? "" : ",", stage);
            g_autofree char *blocks = g_strdup_printf("[[[\"%s\"],[%s],[1]],[[\"%s\"],[%s],[1]]]", order == 0 ? "A" : "B",
                                                      first->str, order == 0 ? "B" : "A", second->str);
            check_plan(&truth, BOTH, blocks);
        }
    truth_clear(&truth);
}

static void test_parallel(void)
{
    if (!have("onnxruntime:CPU@0") || !have("openvino:CPU@1"))
        return;
    Truth truth;
    truth_init(&truth);
    check_plan(&truth, BOTH, "[[[\"A\",\"B\"],[1,2,3,4,5,6,7],[0.5,0.5]]]");
    check_plan(&truth, BOTH, "[[[\"B\",\"A\"],[1,2,3,4,5,6,7],[0.13,0.87]]]");
    /* in the middle, between others */
    check_plan(&truth, FOUR, "[[[\"A\"],[1,2],[1]],[[\"B\",\"C\"],[3,4,5],[0.4,0.6]],[[\"D\"],[6,7],[1]]]");
    check_plan(&truth, FOUR, "[[[\"A\",\"D\"],[1,2,3],[0.3,0.7]],[[\"B\",\"C\"],[4,5,6,7],[0.55,0.45]]]");
    check_plan(&truth, FOUR, "[[[\"A\",\"B\",\"C\",\"D\"],[1,2,3,4,5,6,7],[0.1,0.2,0.3,0.4]]]");
    truth_clear(&truth);
}

static void test_streams(void)
{
    if (!have("onnxruntime:CPU@0") || !have("openvino:CPU@1"))
        return;
    Truth truth;
    truth_init(&truth);
    check_plan(&truth, "A=onnxruntime:CPU@0#2,B=openvino:CPU@1#2", "[[[\"A\"],[1,2,3],[1]],[[\"B\"],[4,5,6,7],[1]]]");
    check_plan(&truth, "A=onnxruntime:CPU@0#3,B=openvino:CPU@1", "[[[\"A\",\"B\"],[1,2,3,4,5,6,7],[0.5,0.5]]]");
    truth_clear(&truth);
}

/* @means: its runtime reports means alone */
static void check_below_wall(const IfmBlockTimes *times, gboolean means)
{
    double wall_ns = (double)times->device_wall_ns[0];
    g_assert_cmpfloat((double)times->device_time_ns[0], <=, wall_ns * (means ? 1 + IFM_DEVICE_TIME_MAX_ERROR_RATIO : 1));
}

/* Counters on each inference, and on some: known where they should be, below the wall time, and the outputs are the same.
 */
static void check_counters(const Truth *truth, const char *devices, IfmDeviceTime how)
{
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    g_autoptr(GError) error = NULL;
    g_auto(IfmPipelineResult) result = { 0 };
    IfmPipelineOptions options = make_options(clock);
    options.device_time = how;
    options.sample_every = 4;
    g_autofree IfmBatch *batches = make_batches(truth->graphs, N_GRAPHS, 40);
    Check check = { truth, 0, devices };
    g_autoptr(IfmPlan) plan = make_plan(devices, "[[[\"A\"],[1,2,3],[1]],[[\"B\"],[4,5,6,7],[1]]]");
    g_autoptr(IfmPipeline) pipeline = ifm_pipeline_new(plan, &options, &error);
    g_assert_no_error(error);
    for (int again = 0; again < 2; again++)
    {
        gsize known[2] = { 0 };
        check.next = 0;
        ifm_pipeline_result_clear(&result);
        g_assert_true(ifm_pipeline_run(pipeline, batches, 40, check_batch, &check, &result, &error));
        for (gsize i = 0; i < 80; i++)
        {
            gint64 device_ns = result.times[i].device_time_ns[0];
            known[i % 2] += device_ns != -1; /* of such small graphs, what OpenVINO's means say soon becomes too coarse */
            g_assert_true(i % 2 == 1 || device_ns != IFM_DEVICE_TIME_COARSE);
            check_below_wall(&result.times[i], i % 2 == 1);
        }
        g_assert_cmpuint(known[0], ==, how == IFM_DEVICE_TIME_ON ? 40 : 10);
        g_assert_cmpuint(known[1], ==, how == IFM_DEVICE_TIME_ON ? 40 : 10);
    }
    g_assert_cmpint(result.device_time_slow_down == result.device_time_slow_down, ==, how == IFM_DEVICE_TIME_SAMPLED);
}

static void test_counters(void)
{
    if (!have("onnxruntime:CPU@0") || !have("openvino:CPU@1"))
        return;
    Truth truth;
    truth_init(&truth);
    check_counters(&truth, BOTH, IFM_DEVICE_TIME_ON);
    check_counters(&truth, BOTH, IFM_DEVICE_TIME_SAMPLED);
    truth_clear(&truth);
}

/* OpenVINO's time of each inference is its own, whatever the means are: two sizes by turns, one ten times the other. */
static void test_own_times(void)
{
    enum
    {
        N = 12
    };
    if (!have("openvino:CPU@1"))
        return;
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    g_autoptr(GError) error = NULL;
    g_autoptr(GRand) random = g_rand_new_with_seed(5);
    g_auto(IfmPipelineResult) result = { 0 };
    Graph graphs[2];
    graph_init(&graphs[0], random, 20000, 20000, 60000);
    graph_init(&graphs[1], random, 200000, 200000, 600000);
    IfmPipelineOptions options = make_options(clock);
    options.most_nodes = 200000;
    options.max_edges = 600000;
    options.device_time = IFM_DEVICE_TIME_ON;
    g_autofree IfmBatch *batches = make_batches(graphs, 2, N);
    g_autoptr(IfmPlan) plan = make_plan("A=openvino:CPU@1", "[[[\"A\"],[1,2,3,4,5,6,7],[1]]]");
    g_autoptr(IfmPipeline) pipeline = ifm_pipeline_new(plan, &options, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_pipeline_run(pipeline, batches, N, NULL, NULL, &result, &error));
    gint64 least_ns = G_MAXINT64, most_ns = 0;
    for (gsize i = 0; i < N; i++)
    {
        gint64 device_ns = result.times[i].device_time_ns[0];
        g_test_message("wall %" G_GINT64_FORMAT ", device %" G_GINT64_FORMAT, result.times[i].device_wall_ns[0], device_ns);
        g_assert_cmpint(device_ns, !=, -1);
        check_below_wall(&result.times[i], TRUE);
        if (i % 2 == 1 && device_ns >= 0)
            least_ns = MIN(least_ns, device_ns);
        else if (i % 2 == 0)
            most_ns = MAX(most_ns, i > 0 ? device_ns : 0);
    }
    g_assert_cmpint(least_ns, >, 2 * most_ns); /* the large ones, against the small ones after the first */
    graph_clear(&graphs[0]);
    graph_clear(&graphs[1]);
}

/* The runtime's own nodes are named in the trace so that the analysis knows those that only convert or move: OpenVINO
 * puts a Convert before what it takes 64-bit indices with. */
static void test_marshalling(void)
{
    if (!have("openvino:CPU@1"))
        return;
    Run run;
    g_autoptr(GRand) random = g_rand_new_with_seed(5);
    run_init_clock(&run, ifm_clock_new_real());
    graph_clear(&run.graph);
    graph_init(&run.graph, random, 100000, 100000, 300000); /* long enough for times in whole microseconds */
    run.options.most_nodes = 100000;
    run.options.max_edges = 300000;
    run.trace = run.options.trace = ifm_trace_new("test");
    run.options.trace_batches = 8;
    run.options.device_time = IFM_DEVICE_TIME_ON;
    run_plan(&run, make_plan("A=openvino:CPU@1", "[[[\"A\"],[1,2,3,4,5,6,7],[1]]]"), 8);
    g_assert_no_error(run.error);
    gint64 converts_ns = 0, nodes_ns = 0;
    gsize n, n_converts = 0;
    for (gsize t = 0; t < ifm_trace_n_tracks(run.trace); t++)
    {
        const IfmEvent *events = ifm_trace_events(run.trace, t, &n);
        for (gsize i = 0; i < n; i++)
        {
            const char *name = ifm_trace_text(run.trace, events[i].name);
            if (events[i].kind != IFM_EVENT_NODE)
                continue;
            nodes_ns += events[i].duration_ns;
            if (!g_str_has_prefix(name, "Convert ") && !g_str_has_prefix(name, "Reorder "))
                continue;
            converts_ns += events[i].duration_ns;
            n_converts++;
        }
    }
    g_assert_cmpuint(n_converts, >=, 8);
    g_autoptr(IfmTraceAnalysis) analysis = ifm_trace_analyse(run.trace, NULL, &run.error);
    g_assert_no_error(run.error);
    const IfmTrackUse *use = &g_array_index(analysis->tracks, IfmTrackUse, 0);
    g_assert_cmpint(use->marshalling_ns, ==, converts_ns);
    g_assert_cmpint(use->node_ns, ==, nodes_ns);
    run_clear(&run);
}

/* --- simulated devices that compute
 * ---------------------------------------------------------------------------------------- */

static void make_static(IfmPlan *plan, const char *alias, const IfmPlanSize *sizes, gsize n)
{
    IfmPlanDevice *device = plan->devices->pdata[ifm_plan_find_device(plan, alias)];
    device->form = IFM_PLAN_STATIC;
    g_free(device->sizes);
    device->sizes = g_memdup2(sizes, n * sizeof *sizes);
    device->n_sizes = n;
}

/* Static models get parts padded to one of their sizes: what was added changes nothing. */
static void test_static(void)
{
    static const IfmPlanSize sizes[] = { { 20, 60 }, { 60, 300 }, { 160, 800 }, { 320, 1600 } };
    static const char *const blocks[] = {
        "[[[\"S\"],[1,2,3,4,5,6,7],[1]]]",
        "[[[\"S\"],[1],[1]],[[\"T\"],[2,3,4,5,6,7],[1]]]",
        "[[[\"S\"],[1,2],[1]],[[\"T\"],[3],[1]],[[\"U\"],[4,5,6,7],[1]]]",
        "[[[\"S\"],[1,2,3],[1]],[[\"T\"],[4],[1]],[[\"U\"],[5,6,7],[1]]]",
        "[[[\"S\",\"A\"],[1,2,3,4,5,6,7],[0.5,0.5]]]",
        "[[[\"A\",\"S\"],[1,2,3,4,5,6,7],[0.37,0.63]]]",
        "[[[\"A\"],[1,2],[1]],[[\"S\",\"T\"],[3,4,5],[0.4,0.6]],[[\"U\"],[6,7],[1]]]",
    };
    static const char *const kinds[] = { "TRUE-STATIC", "TRUE-STATIC-OWN" };
    if (!have("onnxruntime:CPU"))
        return;
    Truth truth;
    truth_init(&truth);
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    IfmPipelineOptions options = make_options(clock);
    options.most_nodes = 300;
    options.max_edges = 1500;
    for (gsize i = 0; i < G_N_ELEMENTS(blocks); i++)
        for (gsize kind = 0; kind < G_N_ELEMENTS(kinds); kind++)
        {
            g_autofree char *devices =
                g_strdup_printf("A=simulated:line/TRUE,S=simulated:line/%s,T=simulated:line/%s-TOO,U=simulated:line/%s",
                                kinds[kind], kinds[kind], kinds[1 - kind]);
            IfmPlan *plan = make_plan(devices, blocks[i]);
            make_static(plan, "S", sizes, G_N_ELEMENTS(sizes));
            make_static(plan, "T", sizes, G_N_ELEMENTS(sizes));
            make_static(plan, "U", sizes, G_N_ELEMENTS(sizes));
            check_options(&truth, plan, &options, blocks[i]);
        }
    /* none of its sizes is large enough */
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmPlan) plan = make_plan("S=simulated:line/TRUE-STATIC", blocks[0]);
    make_static(plan, "S", sizes, 3);
    g_assert_null(ifm_pipeline_new(plan, &options, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED);
    g_assert_cmpstr(error->message, ==,
                    "block 1: S: none of its 3 static sizes holds 300 nodes and 1500 edges, with a node more "
                    "where edges have to be added");
    truth_clear(&truth);
}

/* Memory of its own: copied there and back. */
static void test_own_memory(void)
{
    if (!have("onnxruntime:CPU"))
        return;
    Truth truth;
    truth_init(&truth);
    check_plan(&truth, "A=simulated:line/TRUE,O=simulated:line/TRUE-OWN",
               "[[[\"A\"],[1,2,3],[1]],[[\"O\"],[4,5,6,7],[1]]]");
    check_plan(&truth, "A=simulated:line/TRUE,O=simulated:line/TRUE-OWN", "[[[\"O\",\"A\"],[1,2,3,4,5,6,7],[0.6,0.4]]]");
    truth_clear(&truth);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    use_devices();
    g_test_add_func("/pipeline-engines/single", test_single);
    g_test_add_func("/pipeline-engines/two-blocks", test_two_blocks);
    g_test_add_func("/pipeline-engines/parallel", test_parallel);
    g_test_add_func("/pipeline-engines/streams", test_streams);
    g_test_add_func("/pipeline-engines/counters", test_counters);
    g_test_add_func("/pipeline-engines/own-times", test_own_times);
    g_test_add_func("/pipeline-engines/marshalling", test_marshalling);
    g_test_add_func("/pipeline-engines/static", test_static);
    g_test_add_func("/pipeline-engines/own-memory", test_own_memory);
    return g_test_run();
}
