/*
 * A large graph in parts through a pipeline of real engines: METIS' subgraphs are the batches, their rows are put in their
 * places, and the result is the whole graph's, as a layer written out here in double precision has it.
 */
#include <base/fields.h>
#include <dataset/dataset.h>
#include <inferometer/engine.h>
#include <math.h>
#include <pipeline/pipeline.h>
#include <staged/staged.h>
#include <string.h>

#include "build-folders.h"

#define FEATURES 12
#define HIDDEN 8
#define RTOL 1e-4
#define ATOL 1e-5

/* --- the layer ----------------------------------------------------------------------------------------------------------
 */

static double *read_weight(const IfmModel *model, const char *name, gint64 n)
{
    IfmTensor tensor;
    double *values = g_new(double, n);
    g_assert_true(ifm_model_initializer(model, name, &tensor));
    g_assert_cmpint(ifm_tensor_n_elements(&tensor), ==, n);
    for (gint64 i = 0; i < n; i++)
    {
        float value;
        memcpy(&value, (const char *)tensor.data + 4 * i, sizeof value);
        values[i] = value;
    }
    return values;
}

/* to[rows x HIDDEN] += from[rows x depth] W */
static void add_product(const double *from, gint64 rows, int depth, const double *w, double *to)
{
    for (gint64 row = 0; row < rows; row++)
        for (int k = 0; k < depth; k++)
            for (int i = 0; i < HIDDEN; i++)
                to[row * HIDDEN + i] += from[row * depth + k] * w[k * HIDDEN + i];
}

/* The mean over the edges into a node of x W. (transfer full) */
static double *aggregate(const IfmGraph *graph, const double *message)
{
    double *mean = g_new0(double, graph->n_nodes *HIDDEN);
    g_autofree float *counts = g_new(float, graph->n_nodes);
    ifm_graph_in_degrees(graph, counts);
    for (gint64 edge = 0; edge < graph->n_edges; edge++)
        for (int i = 0; i < HIDDEN; i++)
            mean[graph->edge_index[graph->n_edges + edge] * HIDDEN + i] += message[graph->edge_index[edge] * HIDDEN + i];
    for (gint64 i = 0; i < graph->n_nodes * HIDDEN; i++)
        mean[i] /= fmax(counts[i / HIDDEN], 1);
    return mean;
}

static double *compute_layer(const IfmGraph *graph, const float *x)
{
    g_autoptr(GError) error = NULL;
    const IfmStageSizes sizes = { .features = FEATURES, .hidden = HIDDEN };
    g_autoptr(IfmModel) model =
        ifm_staged_build(ifm_staged_find("graphsage", NULL), 1, 7, &sizes, IFM_SCATTER_MIXED, 1, &error);
    g_assert_no_error(error);
    g_autofree double *w = read_weight(model, "W", FEATURES * HIDDEN), *w_l = read_weight(model, "W_l", HIDDEN * HIDDEN);
    g_autofree double *b = read_weight(model, "b", HIDDEN), *w_r = read_weight(model, "W_r", FEATURES * HIDDEN);
    g_autofree double *features = g_new(double, graph->n_nodes *FEATURES);
    g_autofree double *message = g_new0(double, graph->n_nodes *HIDDEN);
    double *h = g_new(double, graph->n_nodes *HIDDEN);
    for (gint64 i = 0; i < graph->n_nodes * FEATURES; i++)
        features[i] = x[i];
    for (gint64 i = 0; i < graph->n_nodes * HIDDEN; i++)
        h[i] = b[i % HIDDEN];
    add_product(features, graph->n_nodes, FEATURES, w, message);
    g_autofree double *mean = aggregate(graph, message);
    add_product(mean, graph->n_nodes, HIDDEN, w_l, h);
    add_product(features, graph->n_nodes, FEATURES, w_r, h);
    for (gint64 i = 0; i < graph->n_nodes * HIDDEN; i++)
        h[i] = fmax(h[i], 0);
    return h;
}

/* --- by parts -----------------------------------------------------------------------------------------------------------
 */

static IfmBatch batch_of(const IfmSubgraph *part, gint64 id, const float *x, IfmTensor *inputs)
{
    const IfmGraph *graph = part->graph;
    g_assert_true(ifm_tensor_init(&inputs[0], IFM_DTYPE_F32, 2, (gint64[]){ graph->n_nodes, FEATURES }, NULL));
    g_assert_true(ifm_tensor_init(&inputs[1], IFM_DTYPE_I64, 2, (gint64[]){ 2, graph->n_edges }, NULL));
    ifm_subgraph_take_rows(part, x, FEATURES * sizeof *x, inputs[0].data);
    memcpy(inputs[1].data, graph->edge_index, inputs[1].size_bytes);
    return (IfmBatch){ .id = id,
                       .nodes = graph->n_nodes,
                       .edges = graph->n_edges,
                       .n_own = part->n_own,
                       .inputs = inputs,
                       .user = (void *)part };
}

static void stitch(const IfmBatch *batch, const IfmTensor *outputs, const GError *error, void *user)
{
    const IfmSubgraph *part = batch->user;
    g_assert_no_error(error);
    g_assert_cmpint(outputs[0].shape[0], ==, part->n_own);
    ifm_subgraph_put_rows(part, outputs[0].data, HIDDEN * sizeof(float), user);
}

/* Runs all parts. @h: [n_nodes x HIDDEN] (out) */
static void run_parts(const IfmGraph *graph, const IfmPlan *plan, const GPtrArray *parts, const float *x, float *h)
{
    g_autoptr(GError) error = NULL;
    g_autofree IfmBatch *batches = g_new0(IfmBatch, parts->len);
    g_autofree IfmTensor *inputs = g_new0(IfmTensor, 2 * parts->len);
    g_auto(IfmPipelineResult) result = { 0 };
    IfmPipelineOptions options = IFM_PIPELINE_OPTIONS_INIT;
    options.most_nodes = graph->n_nodes;
    options.max_edges = graph->n_edges;
    options.sizes = (IfmStageSizes){ .features = FEATURES, .hidden = HIDDEN };
    for (guint i = 0; i < parts->len; i++)
        batches[i] = batch_of(g_ptr_array_index(parts, i), i, x, &inputs[2 * i]);
    g_autoptr(IfmPipeline) pipeline = ifm_pipeline_new(plan, &options, &error);
    g_assert_no_error(error);
    ifm_pipeline_run(pipeline, batches, parts->len, stitch, h, &result, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(result.n_delivered, ==, parts->len);
    for (guint i = 0; i < 2 * parts->len; i++)
        ifm_tensor_clear(&inputs[i]);
}

static IfmPlan *make_plan(const char *blocks)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *text =
        g_strdup_printf("{\"model\": \"graphsage\", \"devices\": {\"ORT\": {\"device\": \"onnxruntime:CPU\"},"
                        " \"OV\": {\"device\": \"openvino:CPU\"}}, \"plan\": %s}",
                        blocks);
    json_auto_t *json = ifm_json_parse(text, strlen(text), "plan", &error);
    g_assert_no_error(error);
    IfmPlan *plan = ifm_plan_from_json(json, "plan", &error);
    g_assert_no_error(error);
    return plan;
}

static gboolean has_engine(const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    IfmEngine *engine = ifm_engine_open(name, clock, &error);
    if (engine != NULL)
    {
        ifm_engine_unref(engine);
        return TRUE;
    }
    g_test_skip(error->message);
    return FALSE;
}

static void check_graph(const IfmGraph *graph, gint64 n_parts, const IfmPlan *plan)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GRand) random = g_rand_new_with_seed(8);
    g_autofree float *x = g_new(float, graph->n_nodes *FEATURES), *h = g_new(float, graph->n_nodes *HIDDEN);
    for (gint64 i = 0; i < graph->n_nodes * FEATURES; i++)
        x[i] = (float)g_rand_double_range(random, -1, 1);
    for (gint64 i = 0; i < graph->n_nodes * HIDDEN; i++)
        h[i] = -1; /* no row of a layer is below 0 */
    g_autofree double *right = compute_layer(graph, x);
    g_autoptr(GPtrArray) parts = ifm_graph_partition(graph, n_parts, 2, &error);
    g_assert_no_error(error);
    run_parts(graph, plan, parts, x, h);
    for (gint64 i = 0; i < graph->n_nodes * HIDDEN; i++)
        if (!(fabs(h[i] - right[i]) <= ATOL + RTOL * fabs(right[i])))
            g_error("%s in %d parts: node %d, column %d: %g, should be %g", graph->name, (int)n_parts, (int)(i / HIDDEN),
                    (int)(i % HIDDEN), h[i], right[i]);
}

/* The engines one after the other, and side by side: each part parted once more between them. */
static const char *const plans[] = { "[[[\"ORT\"],[1,2,3],[1.0]],[[\"OV\"],[4,5,6,7],[1.0]]]",
                                     "[[[\"ORT\",\"OV\"],[1,2,3,4,5,6,7],[0.4,0.6]]]" };

static void test_parts(void)
{
    g_autoptr(GError) error = NULL;
    if (!has_engine("onnxruntime") || !has_engine("openvino"))
        return;
    g_autoptr(IfmGraph) power = ifm_graph_random(IFM_GRAPH_POWER_LAW, 600, 3000, 3, &error);
    g_assert_no_error(error);
    g_autoptr(IfmGraph) peptides = ifm_graph_read(IFM_SOURCE_DIR "/data/peptides", IFM_GRAPH_FORMAT_AUTO, &error);
    g_assert_no_error(error);
    for (gsize i = 0; i < G_N_ELEMENTS(plans); i++)
    {
        g_autoptr(IfmPlan) plan = make_plan(plans[i]);
        check_graph(power, 1, plan);
        check_graph(power, 7, plan);
        check_graph(peptides, 5, plan);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/large-graph/parts", test_parts);
    return g_test_run();
}
