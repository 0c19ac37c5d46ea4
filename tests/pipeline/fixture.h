#pragma once
#include <string.h>

#include <base/base.h>
#include <base/fields.h>
#include <pipeline/pipeline.h>

/* What the tests of pipelines share: a plan in short, batches of random graphs, a run on a virtual clock. */

#define MS G_GINT64_CONSTANT(1000000)
#define US G_GINT64_CONSTANT(1000)
#define FEATURES 5
#define HIDDEN 3
#define MAX_DEVICES 8

/* "A=simulated:line/TWO,B=..." and the blocks. */
static inline IfmPlan *make_plan(const char *devices, const char *blocks)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GString) text = g_string_new("{\"model\": \"graphsage\", \"devices\": {");
    g_auto(GStrv) list = g_strsplit(devices, ",", -1);
    for (gsize i = 0; list[i] != NULL; i++)
    {
        g_auto(GStrv) pair = g_strsplit(list[i], "=", 2);
        g_string_append_printf(text, "%s\"%s\": {\"device\": \"%s\"}", i > 0 ? "," : "", pair[0], pair[1]);
    }
    g_string_append_printf(text, "}, \"plan\": %s}", blocks);
    json_t *json = ifm_json_parse(text->str, text->len, "test", &error);
    g_assert_no_error(error);
    IfmPlan *plan = ifm_plan_from_json(json, "test", &error);
    g_assert_no_error(error);
    json_decref(json);
    return plan;
}

/* Graph: the inputs of one batch. */
typedef struct
{
    IfmTensor inputs[2];
    gint64 nodes, n_own, edges;
} Graph;

static inline void graph_init(Graph *graph, GRand *random, gint64 nodes, gint64 n_own, gint64 edges)
{
    g_assert_true(ifm_tensor_init(&graph->inputs[0], IFM_DTYPE_F32, 2, (gint64[]){ nodes, FEATURES }, NULL));
    g_assert_true(ifm_tensor_init(&graph->inputs[1], IFM_DTYPE_I64, 2, (gint64[]){ 2, edges }, NULL));
    g_assert_true(ifm_tensor_fill_random(&graph->inputs[0], random, -1, 1, NULL));
    gint64 *edge_index = graph->inputs[1].data;
    for (gint64 i = 0; i < edges; i++)
    {
        edge_index[i] = g_rand_int_range(random, 0, (gint32)nodes);
        edge_index[edges + i] = g_rand_int_range(random, 0, (gint32)n_own);
    }
    graph->nodes = nodes;
    graph->n_own = n_own;
    graph->edges = edges;
}

static inline void graph_clear(Graph *graph)
{
    ifm_tensor_clear(&graph->inputs[0]);
    ifm_tensor_clear(&graph->inputs[1]);
}

static inline IfmBatch *make_batches(const Graph *graphs, gsize n_graphs, gsize n)
{
    IfmBatch *batches = g_new0(IfmBatch, n);
    for (gsize i = 0; i < n; i++)
    {
        const Graph *graph = &graphs[i % n_graphs];
        batches[i] = (IfmBatch){ .id = (gint64)i,
                                 .nodes = graph->nodes,
                                 .edges = graph->edges,
                                 .n_own = graph->n_own == graph->nodes ? 0 : graph->n_own,
                                 .inputs = graph->inputs };
    }
    return batches;
}

/* What came out, in the order it came. */
typedef struct
{
    GArray *ids;    /* gint64 */
    GArray *failed; /* gint64 */
} Delivered;

static inline void note_delivered(const IfmBatch *batch, const IfmTensor *outputs, const GError *error, void *user)
{
    Delivered *delivered = user;
    g_array_append_val(error != NULL ? delivered->failed : delivered->ids, batch->id);
    g_assert_cmpint(outputs == NULL, ==, error != NULL);
}

static inline IfmPipelineOptions make_options(IfmClock *clock)
{
    IfmPipelineOptions options = IFM_PIPELINE_OPTIONS_INIT;
    options.clock = clock;
    options.most_nodes = 1000;
    options.max_edges = 4000;
    options.sizes = (IfmStageSizes){ .features = FEATURES, .hidden = HIDDEN };
    return options;
}

/* The parts of every batch in every block add up, and lie in it. */
static inline void assert_times_add_up(const IfmPipelineResult *result)
{
    for (gsize i = 0; i < result->n_batches; i++)
    {
        gint64 end_ns = result->entered_ns[i];
        for (gsize b = 0; b < result->n_blocks && result->left_ns[i] >= 0; b++)
        {
            const IfmBlockTimes *times = &result->times[i * result->n_blocks + b];
            if (times->start_ns < 0)
                continue;
            g_assert_cmpint(times->partition_ns, >=, 0);
            g_assert_cmpint(times->turn_ns, >=, 0);
            g_assert_cmpint(times->device_ns, >=, 0);
            g_assert_cmpint(times->merge_ns, >=, 0);
            g_assert_cmpint(times->partition_ns + times->device_ns + times->merge_ns, ==, times->total_ns);
            g_assert_cmpint(times->start_ns, >=, end_ns);
            end_ns = times->start_ns + times->total_ns + times->turn_ns;
            for (gsize k = 0; k < IFM_PLAN_MAX_DEVICES; k++)
                g_assert_cmpint(times->device_wall_ns[k], <=, times->total_ns + times->turn_ns);
        }
        if (result->left_ns[i] >= 0)
            g_assert_cmpint(end_ns, <=, result->left_ns[i]);
    }
}

/* Runs @n batches of one small graph through a plan on a virtual clock. @result: the caller clears it. */
typedef struct
{
    IfmClock *clock;
    Graph graph;
    Delivered delivered;
    IfmPipelineOptions options;
    IfmTrace *trace;
    gboolean ok;
    GError *error;
    IfmPipelineResult result;
} Run;

static inline void run_init_clock(Run *run, IfmClock *clock /* (transfer full) */)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(3);
    *run = (Run){ .clock = clock };
    graph_init(&run->graph, random, 1000, 1000, 4000);
    run->delivered.ids = g_array_new(FALSE, FALSE, sizeof(gint64));
    run->delivered.failed = g_array_new(FALSE, FALSE, sizeof(gint64));
    run->options = make_options(run->clock);
    ifm_clock_enter(run->clock);
}

static inline void run_init(Run *run)
{
    run_init_clock(run, ifm_clock_new_virtual(1000 * MS));
}

static inline void run_batches(Run *run, IfmPlan *plan /* (transfer full) */, const IfmBatch *batches, gsize n)
{
    g_autoptr(IfmPipeline) pipeline = ifm_pipeline_new(plan, &run->options, &run->error);
    if (pipeline != NULL)
        run->ok = ifm_pipeline_run(pipeline, batches, n, note_delivered, &run->delivered, &run->result, &run->error);
    ifm_plan_free(plan);
    assert_times_add_up(&run->result);
}

static inline void run_plan(Run *run, IfmPlan *plan /* (transfer full) */, gsize n)
{
    g_autofree IfmBatch *batches = make_batches(&run->graph, 1, n);
    run_batches(run, plan, batches, n);
}

static inline void run_clear(Run *run)
{
    ifm_clock_leave(run->clock);
    ifm_pipeline_result_clear(&run->result);
    g_clear_error(&run->error);
    g_clear_pointer(&run->trace, ifm_trace_free);
    graph_clear(&run->graph);
    g_array_unref(run->delivered.ids);
    g_array_unref(run->delivered.failed);
    ifm_clock_unref(run->clock);
}

/* Batches 0 to n - 1 left, each once, in this order. */
static inline void assert_delivered(const Run *run, gsize n)
{
    g_assert_cmpuint(run->delivered.ids->len, ==, n);
    for (gsize i = 0; i < n; i++)
        g_assert_cmpint(g_array_index(run->delivered.ids, gint64, i), ==, (gint64)i);
    g_assert_cmpuint(run->result.n_delivered, ==, n);
}

static inline gint64 makespan_ns(const Run *run)
{
    return run->result.end_ns - run->result.start_ns;
}

static inline void use_devices(void)
{
    g_autofree char *folder = g_test_build_filename(G_TEST_DIST, "pipeline", "devices", NULL);
    g_setenv("IFM_DEVICES_DIR", folder, TRUE);
}
