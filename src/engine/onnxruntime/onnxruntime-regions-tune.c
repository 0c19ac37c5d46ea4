/* Which algorithm each convolution of a model's regions is the fastest with, measured within the model; then whether a
 * region by these is. */
#include <blocked/region.h>

#include "onnxruntime-regions.h"
#include "onnxruntime-rounds.h"

/* @outputs: of a Winograd tile    @level: the last one that has it */
static const struct
{
    IfmBlockedAlgorithm algorithm;
    int outputs;
    IfmTuneLevel level;
} candidates[] = {
    { IFM_BLOCKED_DIRECT, 0, IFM_TUNE_EXACT },
    { IFM_BLOCKED_IMPLICIT_GEMM, 0, IFM_TUNE_EXACT },
    { IFM_BLOCKED_IMPLICIT_PRECOMP_GEMM, 0, IFM_TUNE_EXACT },
    { IFM_BLOCKED_FFT, 0, IFM_TUNE_CLOSE },
    { IFM_BLOCKED_FFT_TILING, 0, IFM_TUNE_CLOSE },
    { IFM_BLOCKED_WINOGRAD, 2, IFM_TUNE_CLOSE },
    { IFM_BLOCKED_WINOGRAD, 4, IFM_TUNE_ALL },
    { IFM_BLOCKED_WINOGRAD, 6, IFM_TUNE_ALL },
    { IFM_BLOCKED_WINOGRAD_NONFUSED, 0, IFM_TUNE_ALL },
};

/* Layer: of a region, in a run that its node takes again and again. @rule: the candidate that the rule takes; -1: none of
 * them, then it is not tuned. @now: what it runs by */
typedef struct
{
    const char *node;
    IfmRegionRun *run;
    gsize index;
    int rule, now;
    char *implementations[G_N_ELEMENTS(candidates)]; /* NULL: it cannot do the layer */
} Layer;

typedef struct
{
    IfmRequest *request;
    const IfmTuning *tuning;
    OrtRounds rounds;
    GPtrArray *layers; /* Layer* */
} Tuner;

static void layer_free(gpointer data)
{
    Layer *layer = data;
    for (gsize i = 0; i < G_N_ELEMENTS(candidates); i++)
        g_free(layer->implementations[i]);
    g_free(layer);
}

/* --- candidates ------------------------------------------------------------------------------------------------------- */

static gboolean set(Layer *layer, int candidate)
{
    if (layer->now == candidate)
        return TRUE;
    if (!ifm_region_set(layer->run, layer->index, candidates[candidate].algorithm, candidates[candidate].outputs, NULL))
        return FALSE;
    layer->now = candidate;
    return TRUE;
}

/* All that can do the layer; one code path under two names is one candidate, the first. */
static void try_candidates(Layer *layer, IfmTuneLevel level, OrtRoundsLayer *times)
{
    const IfmRegionLayerRun before = ifm_region_layer(layer->run, layer->index);
    g_autofree char *rule = g_strdup(before.implementation);
    for (int i = 0; i < (int)G_N_ELEMENTS(candidates); i++)
    {
        if (candidates[i].level < level || ifm_region_is_hopeless(layer->run, layer->index, candidates[i].algorithm) ||
            !set(layer, i))
            continue;
        const char *implementation = ifm_region_layer(layer->run, layer->index).implementation;
        gboolean is_known = FALSE;
        for (int k = 0; k < i; k++)
            is_known |= g_strcmp0(layer->implementations[k], implementation) == 0;
        layer->implementations[i] = g_strdup(implementation);
        times->can[i] = !is_known;
        if (!is_known && g_str_equal(implementation, rule))
            layer->rule = i;
    }
}

static void collect(Tuner *self, const OrtRegion *node)
{
    IfmRegionRun *run = ifm_region_idle(node->region);
    for (gsize i = 0; run != NULL && i < ifm_region_n_layers(node->region); i++)
    {
        Layer *layer = g_new0(Layer, 1);
        *layer = (Layer){ .node = node->node, .run = run, .index = i, .rule = -1, .now = -1 };
        g_ptr_array_add(self->layers, layer);
        OrtRoundsLayer *times = ifm_ort_rounds_layer(&self->rounds, layer);
        try_candidates(layer, self->tuning->level, times);
        times->kept = layer->rule;
    }
}

/* --- rounds ----------------------------------------------------------------------------------------------------------- */

static void use(const OrtRoundsLayer *layer, int candidate, gpointer user)
{
    if (candidate >= 0)
        set(layer->user, candidate);
}

static gboolean run(gpointer user, GError **error)
{
    return ifm_ort_infer(((const Tuner *)user)->request, error);
}

static double took(const OrtRoundsLayer *layer, gpointer user)
{
    const Layer *of = layer->user;
    return (double)ifm_region_layer(of->run, of->index).ran_ns;
}

static gboolean stopped(int round, gpointer user)
{
    const IfmTuning *tuning = ((const Tuner *)user)->tuning;
    const int n = tuning->plain != NULL ? 2 * ORT_N_ROUNDS : ORT_N_ROUNDS;
    return tuning->round != NULL && !tuning->round(round, n, tuning->user);
}

/* The rule's keeps the layer unless another is told apart from it. A layer without any candidate is as the rule has it. */
static int choose(const Layer *layer, const OrtRoundsLayer *times)
{
    const int fastest = ifm_ort_rounds_fastest(times, G_N_ELEMENTS(candidates));
    return layer->rule < 0 || ifm_ort_rounds_is_faster(times, fastest, layer->rule) ? fastest : layer->rule;
}

static void set_verdict(IfmTunedLayer *tuned, const GArray *verdicts)
{
    for (guint i = 0; i < verdicts->len; i++)
    {
        const OrtVerdict *verdict = &g_array_index(verdicts, OrtVerdict, i);
        if (!g_str_equal(verdict->node, tuned->node))
            continue;
        tuned->region_ns = verdict->region_ns;
        tuned->runtime_ns = verdict->runtime_ns;
        tuned->is_slower = verdict->is_slower;
    }
}

static void add_choice(const OrtRoundsLayer *times, const GArray *verdicts, GPtrArray *layers)
{
    const Layer *layer = times->user;
    const IfmRegionLayerRun now = ifm_region_layer(layer->run, layer->index);
    const int best = choose(layer, times);
    IfmTunedLayer *tuned = g_new0(IfmTunedLayer, 1);
    tuned->node = g_strdup(layer->node);
    tuned->index = (int)layer->index;
    tuned->layer = g_strdup(now.name);
    tuned->algorithm = best == layer->rule ? g_strdup("any") : NULL;
    if (tuned->algorithm == NULL)
        tuned->algorithm =
            g_strdup_printf(candidates[best].algorithm == IFM_BLOCKED_WINOGRAD ? "%s %d" : "%s",
                            ifm_blocked_algorithm_name(candidates[best].algorithm), candidates[best].outputs);
    tuned->implementation = g_strdup(best >= 0 ? layer->implementations[best] : now.implementation);
    tuned->time_ns = best >= 0 ? ifm_ort_rounds_time(times, best) : 0;
    tuned->rule_ns = layer->rule >= 0 ? ifm_ort_rounds_time(times, layer->rule) : 0;
    set_verdict(tuned, verdicts);
    g_ptr_array_add(layers, tuned);
}

/* Each layer runs by its choice from now on. */
static void take_choices(const OrtRounds *rounds)
{
    for (guint i = 0; i < rounds->layers->len; i++)
    {
        const OrtRoundsLayer *times = rounds->layers->pdata[i];
        use(times, choose(times->user, times), NULL);
    }
}

gboolean ifm_ort_tune(IfmCompiled *compiled, IfmRequest *request, const IfmTuning *tuning, GPtrArray *layers,
                      GError **error)
{
    const OrtCompiled *self = (const OrtCompiled *)compiled;
    g_autoptr(GPtrArray) own = g_ptr_array_new_with_free_func(layer_free);
    g_autoptr(GArray) verdicts = g_array_new(FALSE, FALSE, sizeof(OrtVerdict));
    Tuner tuner = {
        .request = request,
        .tuning = tuning,
        .layers = own,
        .rounds = { .n_candidates = G_N_ELEMENTS(candidates), .use = use, .run = run, .took = took, .stopped = stopped }
    };
    if (self->regions == NULL)
        return ifm_error_refuse(error, "%s: it has no region", compiled->who);
    if (!ifm_ort_infer(request, error))
        return FALSE;
    tuner.rounds.user = &tuner;
    ifm_ort_rounds_init(&tuner.rounds);
    for (guint i = 0; i < ifm_ort_regions(self)->len; i++)
        collect(&tuner, ifm_ort_regions(self)->pdata[i]);
    gboolean ok = ifm_ort_rounds_run(&tuner.rounds, error);
    take_choices(&tuner.rounds);
    if (ok && tuning->plain != NULL)
        ok = ifm_ort_regions_judge(self, request, tuning, verdicts, error);
    for (guint i = 0; ok && i < tuner.rounds.layers->len; i++)
        add_choice(tuner.rounds.layers->pdata[i], verdicts, layers);
    ifm_ort_rounds_clear(&tuner.rounds);
    return ok;
}
