/*
 * What parting a batch costs: putting the edges in the order of their destinations' shares (ifm_partition_edges()), and in
 * a real pipeline of one block of two devices all that the host does for a batch (partition, merge), against one memcpy()
 * of the same bytes, the edge_index. Interleaved, medians of rounds. The devices are simulated ones that take 200 us and
 * compute nothing, so that what is left of a batch is the host's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <base/base.h>
#include <base/fields.h>
#include <pipeline/pipeline.h>

#include "bench.h"

enum
{
    ROUNDS = 400,
    FEATURES = 500,
    HIDDEN = 256,
};

static const char description[] =
    "description: for a bench\nprovenance: invented\nunits:\n"
    "  A: {description: d, capabilities: [free-shapes, set-output], latency: {source: fixed, fixed: 200 us}}\n"
    "  B: {description: d, capabilities: [free-shapes, set-output], latency: {source: fixed, fixed: 200 us}}\n";

static void give_up(const GError *error)
{
    fprintf(stderr, "pipeline-partition: %s\n", error->message);
    exit(1);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, gsize n)
{
    qsort(values, n, sizeof *values, ascending);
    return values[n / 2];
}

static IfmPipeline *make_pipeline(IfmClock *clock, gint64 nodes, gint64 edges)
{
    static const char plan_text[] = "{\"model\": \"graphsage\", \"plan\": [[[\"A\",\"B\"],[1,2,3,4,5,6,7],[0.4,0.6]]], "
                                    "\"devices\": {\"A\": {\"device\": \"simulated:bench/A\"}, \"B\": {\"device\": "
                                    "\"simulated:bench/B\"}}}";
    GError *error = NULL;
    json_t *json = ifm_json_parse(plan_text, strlen(plan_text), "bench", &error);
    g_autoptr(IfmPlan) plan = json != NULL ? ifm_plan_from_json(json, "bench", &error) : NULL;
    json_decref(json);
    IfmPipelineOptions options = IFM_PIPELINE_OPTIONS_INIT;
    options.clock = clock;
    options.most_nodes = nodes;
    options.max_edges = edges;
    options.sizes = (IfmStageSizes){ .features = FEATURES, .hidden = HIDDEN };
    IfmPipeline *pipeline = plan != NULL ? ifm_pipeline_new(plan, &options, &error) : NULL;
    if (pipeline == NULL)
        give_up(error);
    return pipeline;
}

static void bench(gint64 nodes, gint64 edges)
{
    static double copies[ROUNDS], orders[ROUNDS], partitions[ROUNDS], merges[ROUNDS], ratios[ROUNDS], hosts[ROUNDS];
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    g_autoptr(GRand) random = g_rand_new_with_seed(1);
    GError *error = NULL;
    g_auto(IfmTensor) x = IFM_TENSOR_INIT, edge_index = IFM_TENSOR_INIT, other = IFM_TENSOR_INIT;
    if (!ifm_tensor_init(&x, IFM_DTYPE_F32, 2, (gint64[]){ nodes, FEATURES }, &error) ||
        !ifm_tensor_init(&edge_index, IFM_DTYPE_I64, 2, (gint64[]){ 2, edges }, &error) ||
        !ifm_tensor_init(&other, IFM_DTYPE_I64, 2, (gint64[]){ 2, edges }, &error))
        give_up(error);
    for (gint64 i = 0; i < 2 * edges; i++)
        ((gint64 *)edge_index.data)[i] = g_rand_int_range(random, 0, (gint32)nodes);
    IfmTensor inputs[] = { x, edge_index };
    g_autoptr(IfmPipeline) pipeline = make_pipeline(clock, nodes, edges);
    const gint64 cuts[] = { nodes * 2 / 5, nodes };
    const int n_rounds = bench_rounds(ROUNDS, 20);
    for (int i = 0; i < n_rounds; i++)
    {
        gint64 ends[2], start_ns = ifm_clock_now_ns(clock);
        memcpy(other.data, edge_index.data, edge_index.size_bytes);
        gint64 copied_ns = ifm_clock_now_ns(clock);
        if (!ifm_partition_edges(edge_index.data, edges, cuts, 2, other.data, ends, &error))
            give_up(error);
        gint64 ordered_ns = ifm_clock_now_ns(clock);
        g_auto(IfmPipelineResult) result = { 0 };
        IfmBatch batch = { .nodes = nodes, .edges = edges, .inputs = inputs };
        if (!ifm_pipeline_run(pipeline, &batch, 1, NULL, NULL, &result, &error))
            give_up(error);
        copies[i] = (double)(copied_ns - start_ns);
        orders[i] = (double)(ordered_ns - copied_ns);
        partitions[i] = (double)result.times[0].partition_ns;
        merges[i] = (double)result.times[0].merge_ns;
        ratios[i] = orders[i] / copies[i];
        hosts[i] = (partitions[i] + merges[i]) / copies[i];
    }
    double copy = median(copies, n_rounds);
    printf("%7" G_GINT64_FORMAT " nodes %8" G_GINT64_FORMAT " edges: memcpy %8.1f us (%.1f GB/s)  order edges %8.1f us  "
           "partition %8.1f us  merge %6.1f us   order / memcpy %5.2f   (partition + merge) / memcpy %5.2f\n",
           nodes, edges, copy / 1e3, (double)edge_index.size_bytes / copy, median(orders, n_rounds) / 1e3,
           median(partitions, n_rounds) / 1e3, median(merges, n_rounds) / 1e3, median(ratios, n_rounds),
           median(hosts, n_rounds));
}

int main(void)
{
    GError *error = NULL;
    g_autofree char *folder = g_dir_make_tmp("ifm-bench-XXXXXX", &error);
    if (folder == NULL)
        give_up(error);
    g_autofree char *path = g_build_filename(folder, "bench.yaml", NULL);
    if (!g_file_set_contents(path, description, -1, &error))
        give_up(error);
    g_setenv("IFM_DEVICES_DIR", folder, TRUE);
    bench(5000, 10000);
    bench(10000, 50000);
    bench(3000, 30000);
    bench(100000, 1000000);
    remove(path);
    remove(folder);
    return 0;
}
