/*
 * "best": the fastest algorithm of each layer shape, measured within the model. One session has the operator for the first
 * layer of each shape, which changes its algorithm between two runs; another has the runtime's own kernels, whose times are
 * in the runtime's profile.
 */
#include "onnxruntime-conv.h"
#include "onnxruntime-rounds.h"

#define RUNTIME IFM_N_CONV_FIXED /* the candidate behind the others */
#define N_CANDIDATES (IFM_N_CONV_FIXED + 1)

typedef struct
{
    OrtCompiled *compiled;
    const OrtApi *api;
    const char *who;
    IfmModel *model;
    OrtSession *own, *runtime;
    GPtrArray *layers; /* OrtConvLayer*, all of the graph */
    OrtRounds rounds;  /* of those with candidates, which are their users */
    IfmTensor *inputs;
    OrtValue **values;
    GArray *counted; /* gboolean: whether a run of that session counts */
} Tuner;

static gboolean check(const Tuner *self, OrtStatus *status, GError **error)
{
    return ifm_ort_check(self->api, status, self->who, IFM_ERROR_FAILED, error);
}

/* --- running ---------------------------------------------------------------------------------------------------------- */

static gboolean make_inputs(Tuner *self, GError **error)
{
    const gsize n = ifm_model_n_inputs(self->model);
    OrtEngine *engine = ort_engine(&self->compiled->base);
    self->inputs = g_new0(IfmTensor, n + 1);
    self->values = g_new0(OrtValue *, n + 1);
    if (!ifm_model_make_inputs(self->model, NULL, 0, 1, self->inputs, error))
        return FALSE;
    for (gsize i = 0; i < n; i++)
    {
        const IfmTensor *tensor = &self->inputs[i];
        if (!check(self,
                   self->api->CreateTensorWithDataAsOrtValue(engine->host, tensor->data, tensor->size_bytes, tensor->shape,
                                                             (size_t)tensor->rank, ifm_ort_type(tensor->dtype),
                                                             &self->values[i]),
                   error))
            return FALSE;
    }
    return TRUE;
}

static gboolean run(const Tuner *self, OrtSession *session, GError **error)
{
    const gsize n_inputs = ifm_model_n_inputs(self->model), n_outputs = ifm_model_n_outputs(self->model);
    g_autofree const char **inputs = g_new0(const char *, n_inputs + 1), **outputs = g_new0(const char *, n_outputs + 1);
    g_autofree OrtValue **results = g_new0(OrtValue *, n_outputs + 1);
    for (gsize i = 0; i < n_inputs; i++)
        inputs[i] = ifm_model_input(self->model, i)->name;
    for (gsize i = 0; i < n_outputs; i++)
        outputs[i] = ifm_model_output(self->model, i)->name;
    const gboolean ok = check(
        self,
        self->api->Run(session, NULL, inputs, (const OrtValue *const *)self->values, n_inputs, outputs, n_outputs, results),
        error);
    for (gsize i = 0; i < n_outputs; i++)
        self->api->ReleaseValue(results[i]);
    return ok;
}

/* --- candidates ------------------------------------------------------------------------------------------------------- */

static void use(const OrtRoundsLayer *layer, int candidate, gpointer user)
{
    OrtConvLayer *of = layer->user;
    of->conv = of->candidates[candidate];
}

static gboolean run_own(gpointer user, GError **error)
{
    const Tuner *self = user;
    return run(self, self->own, error);
}

static double took(const OrtRoundsLayer *layer, gpointer user)
{
    return (double)((const OrtConvLayer *)layer->user)->ran_ns;
}

static gboolean run_runtime(gpointer user, GError **error)
{
    Tuner *self = user;
    for (int k = 0; k <= ORT_N_RUNS; k++)
    {
        const gboolean counts = k > 0;
        if (!run(self, self->runtime, error))
            return FALSE;
        g_array_append_val(self->counted, counts);
    }
    return TRUE;
}

/* --- the runtime's own kernels ---------------------------------------------------------------------------------------- */

static void take_profile(Tuner *self, const IfmEngineProfile *profile)
{
    g_autoptr(GHashTable) nodes = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < profile->nodes->len; i++)
    {
        IfmNodeTime *node = profile->nodes->pdata[i];
        g_hash_table_insert(nodes, node->name, node);
    }
    for (guint i = 0; i < self->rounds.layers->len; i++)
    {
        const OrtRoundsLayer *layer = self->rounds.layers->pdata[i];
        const IfmNodeTime *node = g_hash_table_lookup(nodes, ((const OrtConvLayer *)layer->user)->node);
        const double ns = node != NULL ? (double)node->duration_ns : 0;
        if (node != NULL)
            g_array_append_val(layer->times_ns[RUNTIME], ns);
    }
}

static gboolean read_profile(Tuner *self, GError **error)
{
    g_autoptr(GPtrArray) profiles = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_engine_profile_free);
    gint64 n_events = 0;
    const gboolean ok = ifm_ort_profile_end(self->api, self->runtime, self->who, profiles, NULL, &n_events, error);
    for (guint i = 0; i < profiles->len && i < self->counted->len; i++)
        if (g_array_index(self->counted, gboolean, i))
            take_profile(self, profiles->pdata[i]);
    return ok;
}

/* --- what came of it -------------------------------------------------------------------------------------------------- */

/* The runtime's kernel keeps a layer unless the fastest algorithm is told apart from it. */
static void set_choice(const OrtRoundsLayer *layer)
{
    IfmConvTuned *row = ((OrtConvLayer *)layer->user)->key;
    const int own = ifm_ort_rounds_fastest(layer, IFM_N_CONV_FIXED);
    const int best = ifm_ort_rounds_is_faster(layer, own, RUNTIME) ? own : RUNTIME;
    g_free(row->algorithm);
    row->algorithm = g_strdup(ifm_conv_algorithm_name(best == RUNTIME ? IFM_CONV_RUNTIME : (IfmConvAlgorithm)best));
    row->time_ns = ifm_ort_rounds_time(layer, best);
    row->runtime_ns = ifm_ort_rounds_time(layer, RUNTIME);
}

/* The rows go to @found. */
static void choose(const Tuner *self, GPtrArray *found)
{
    for (guint i = 0; i < self->rounds.layers->len; i++)
    {
        const OrtRoundsLayer *layer = self->rounds.layers->pdata[i];
        OrtConvLayer *of = layer->user;
        set_choice(layer);
        of->conv = NULL; /* a candidate, which the layer frees as such */
        g_ptr_array_add(found, g_steal_pointer(&of->key));
    }
}

static void collect_layers(Tuner *self)
{
    for (guint i = 0; i < self->layers->len; i++)
    {
        OrtConvLayer *of = self->layers->pdata[i];
        if (of->key == NULL || of->conv == NULL)
            continue;
        OrtRoundsLayer *layer = ifm_ort_rounds_layer(&self->rounds, of);
        for (int k = 0; k < IFM_N_CONV_FIXED; k++)
            layer->can[k] = of->candidates[k] != NULL;
    }
}

static gboolean open_and_run(Tuner *self, IfmModel *graph, const char *file, OrtConvDomain *domain, GError **error)
{
    g_autofree char *prefix = g_strconcat(file, ".profile", NULL);
    self->own = ifm_ort_session_bare(self->compiled, graph, NULL, domain, NULL, error);
    self->runtime = self->own != NULL ? ifm_ort_session_bare(self->compiled, NULL, file, NULL, prefix, error) : NULL;
    return self->runtime != NULL && make_inputs(self, error) && ifm_ort_rounds_run(&self->rounds, error) &&
           read_profile(self, error);
}

static void clear(Tuner *self)
{
    for (gsize i = 0; self->values != NULL && i < ifm_model_n_inputs(self->model); i++)
    {
        self->api->ReleaseValue(self->values[i]);
        ifm_tensor_clear(&self->inputs[i]);
    }
    g_free(self->values);
    g_free(self->inputs);
    if (self->own != NULL)
        self->api->ReleaseSession(self->own);
    if (self->runtime != NULL)
        self->api->ReleaseSession(self->runtime);
    ifm_ort_rounds_clear(&self->rounds);
    g_array_unref(self->counted);
}

gboolean ifm_ort_conv_tune(OrtCompiled *compiled, IfmModel *optimised, const char *file, const OrtConvWish *wish,
                           GPtrArray *found, GError **error)
{
    OrtConvWish all = *wish;
    GError *trouble = NULL;
    all.tune = TRUE;
    g_autoptr(GPtrArray) layers = ifm_ort_conv_layers_new();
    g_autoptr(IfmModel) graph = ifm_ort_conv_rewrite(optimised, &all, layers, &trouble);
    if (graph == NULL)
        return ifm_error_pass(error, trouble);
    g_autofree char *who = g_strdup_printf("%s: %s", compiled->base.spec->text, ifm_model_name(wish->model));
    const OrtApi *api = ort_engine(&compiled->base)->api;
    OrtConvDomain *domain = ifm_ort_conv_domain_new(api, layers, ORT_CONV_OF_CPU, who, error);
    if (domain == NULL)
        return FALSE;
    Tuner self = {
        .compiled = compiled,
        .api = api,
        .who = who,
        .model = optimised,
        .layers = layers,
        .rounds = { .n_candidates = IFM_N_CONV_FIXED, .use = use, .run = run_own, .took = took, .rest = run_runtime },
        .counted = g_array_new(FALSE, FALSE, sizeof(gboolean))
    };
    self.rounds.user = &self;
    ifm_ort_rounds_init(&self.rounds);
    collect_layers(&self);
    const gboolean ok = open_and_run(&self, graph, file, domain, error);
    if (ok)
        choose(&self, found);
    clear(&self);
    ifm_ort_conv_domain_free(domain);
    return ok;
}
