/* Which regions are slower than the runtime's own kernels for the same nodes: the model with regions and the one without
 * take turns. A region counts from its inputs to its outputs with all borders; the runtime's kernels, whose times are in
 * its profile, with the reorders that it puts at theirs. What the runtime spends between its kernels is not counted. */
#include <blocked/region.h>
#include <regions/regions.h>
#include <string.h>

#include "onnxruntime-regions.h"
#include "onnxruntime-rounds.h"

enum
{
    REGION,
    RUNTIME
};

/* Judged: a region, in a run that its node takes again and again. @nodes: names of those of the runtime's graph that
 * compute the same; NULL: they are not known, then it is not judged */
typedef struct
{
    const char *node;
    IfmRegionRun *run;
    GHashTable *nodes;
} Judged;

typedef struct
{
    IfmRequest *request;
    const IfmTuning *tuning;
    OrtRounds rounds; /* of Judged */
} Judge;

static void judged_free(gpointer data)
{
    Judged *judged = data;
    g_clear_pointer(&judged->nodes, g_hash_table_unref);
    g_free(judged);
}

/* --- the runtime's nodes ---------------------------------------------------------------------------------------------- */

static gboolean is_graph_input(const IfmModel *graph, const char *tensor)
{
    for (gsize i = 0; i < ifm_model_n_inputs(graph); i++)
        if (g_str_equal(ifm_model_input(graph, i)->name, tensor))
            return TRUE;
    return FALSE;
}

/* Back from the region's outputs to its inputs: the runtime has fused nodes and put reorders between them, but a tensor
 * that another node reads keeps its name. @names: (inout) of the nodes on the way    Returns: how many are convolutions, or
 * G_MAXUINT where one has no name, or the way leads past the region's inputs to one of the graph. */
static guint walk(const IfmModel *graph, GPtrArray *tensors, GHashTable *ends, GHashTable *names)
{
    guint n_convs = 0;
    while (tensors->len > 0)
    {
        const char *tensor = g_ptr_array_steal_index_fast(tensors, tensors->len - 1);
        const gboolean is_end = g_hash_table_contains(ends, tensor);
        const gssize at = is_end ? -1 : ifm_model_producer(graph, tensor);
        const IfmNode *node = at >= 0 ? ifm_model_node(graph, (gsize)at) : NULL;
        if ((node != NULL && *node->name == '\0') || (!is_end && is_graph_input(graph, tensor)))
            return G_MAXUINT;
        if (node == NULL || g_hash_table_contains(names, node->name))
            continue;
        g_hash_table_add(names, g_strdup(node->name));
        n_convs += strstr(node->op_type, "Conv") != NULL;
        for (gsize i = 0; i < node->n_inputs; i++)
            g_ptr_array_add(tensors, (gpointer)node->inputs[i]);
    }
    return n_convs;
}

/* NULL where they cannot be told from others: a border that went into a fusion shows by convolutions too many or too few.
 * (transfer full) */
static GHashTable *find_nodes(const IfmModel *graph, const IfmNode *node, gsize n_layers)
{
    g_autoptr(GHashTable) ends = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autoptr(GPtrArray) tensors = g_ptr_array_new();
    const gsize n_values = (gsize)CLAMP(ifm_node_int(node, "n_values", 0), 0, (gint64)node->n_inputs);
    for (gsize i = 0; i < n_values; i++)
        g_hash_table_add(ends, (gpointer)node->inputs[i]);
    for (gsize i = 0; i < node->n_outputs; i++)
    {
        if (ifm_model_producer(graph, node->outputs[i]) < 0)
            return NULL;
        g_ptr_array_add(tensors, (gpointer)node->outputs[i]);
    }
    return walk(graph, tensors, ends, names) == n_layers ? g_steal_pointer(&names) : NULL;
}

static const IfmNode *node_of(const IfmModel *model, const char *name)
{
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
        if (g_str_equal(ifm_model_node(model, i)->name, name))
            return ifm_model_node(model, i);
    return NULL;
}

/* --- rounds ----------------------------------------------------------------------------------------------------------- */

static void use(const OrtRoundsLayer *layer, int candidate, gpointer user)
{
}

static gboolean run(gpointer user, GError **error)
{
    return ifm_ort_infer(((const Judge *)user)->request, error);
}

static double took(const OrtRoundsLayer *layer, gpointer user)
{
    return (double)ifm_region_ran_ns(((const Judged *)layer->user)->run);
}

static gboolean run_plain(gpointer user, GError **error)
{
    IfmRequest *plain = ((const Judge *)user)->tuning->plain;
    for (int k = 0; k <= ORT_N_RUNS; k++)
        if (!ifm_request_start(plain, NULL, NULL, error) || !ifm_request_wait(plain, IFM_CLOCK_NEVER, error))
            return FALSE;
    return TRUE;
}

static gboolean stopped(int round, gpointer user)
{
    const IfmTuning *tuning = ((const Judge *)user)->tuning;
    return tuning->round != NULL && !tuning->round(ORT_N_ROUNDS + round, 2 * ORT_N_ROUNDS, tuning->user);
}

static void take_profile(const OrtRoundsLayer *layer, const IfmEngineProfile *profile)
{
    const Judged *judged = layer->user;
    double ns = 0;
    for (guint i = 0; judged->nodes != NULL && i < profile->nodes->len; i++)
    {
        const IfmNodeTime *node = profile->nodes->pdata[i];
        ns += g_hash_table_contains(judged->nodes, node->name) ? (double)node->duration_ns : 0;
    }
    if (ns > 0)
        g_array_append_val(layer->times_ns[RUNTIME], ns);
}

/* The last runs are those of the rounds, of which the first of each is not counted. */
static gboolean read_profiles(const Judge *self, GError **error)
{
    IfmRequest *plain = self->tuning->plain;
    g_autoptr(GPtrArray) profiles = ifm_compiled_profile(plain->compiled, plain, error);
    const guint n = ORT_N_ROUNDS * (ORT_N_RUNS + 1), before = profiles != NULL && profiles->len > n ? profiles->len - n : 0;
    for (guint i = before; profiles != NULL && i < profiles->len; i++)
        for (guint k = 0; (i - before) % (ORT_N_RUNS + 1) > 0 && k < self->rounds.layers->len; k++)
            take_profile(self->rounds.layers->pdata[k], profiles->pdata[i]);
    return profiles != NULL;
}

/* --- all of it -------------------------------------------------------------------------------------------------------- */

static void collect(Judge *self, const IfmModel *graph, const OrtRegion *region, GPtrArray *all)
{
    const IfmNode *node = node_of(self->request->compiled->model, region->node);
    Judged *judged = g_new0(Judged, 1);
    *judged = (Judged){ .node = region->node, .run = ifm_region_idle(region->region) };
    g_ptr_array_add(all, judged);
    if (judged->run == NULL || node == NULL)
        return;
    judged->nodes = find_nodes(graph, node, ifm_region_n_layers(region->region));
    OrtRoundsLayer *layer = ifm_ort_rounds_layer(&self->rounds, judged);
    layer->can[REGION] = TRUE;
    layer->kept = REGION;
}

static double time_of(const OrtRoundsLayer *layer, int side)
{
    return layer->times_ns[side]->len > 0 ? ifm_ort_rounds_time(layer, side) : 0;
}

gboolean ifm_ort_regions_judge(const OrtCompiled *compiled, IfmRequest *request, const IfmTuning *tuning, GArray *verdicts,
                               GError **error)
{
    g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(judged_free);
    g_autoptr(IfmModel) graph = ifm_model_open_outline(tuning->plain->compiled->options.save_optimised, error);
    if (graph == NULL)
        return FALSE;
    Judge self = { .request = request,
                   .tuning = tuning,
                   .rounds = {
                       .n_candidates = 1, .use = use, .run = run, .took = took, .rest = run_plain, .stopped = stopped } };
    self.rounds.user = &self;
    ifm_ort_rounds_init(&self.rounds);
    for (guint i = 0; i < ifm_ort_regions(compiled)->len; i++)
        collect(&self, graph, ifm_ort_regions(compiled)->pdata[i], all);
    const gboolean ok = ifm_ort_rounds_run(&self.rounds, error) && read_profiles(&self, error);
    for (guint i = 0; ok && i < self.rounds.layers->len; i++)
    {
        const OrtRoundsLayer *layer = self.rounds.layers->pdata[i];
        const OrtVerdict verdict = { ((const Judged *)layer->user)->node, time_of(layer, REGION), time_of(layer, RUNTIME),
                                     ifm_ort_rounds_is_faster(layer, RUNTIME, REGION) };
        g_array_append_val(verdicts, verdict);
    }
    ifm_ort_rounds_clear(&self.rounds);
    return ok;
}
