/*
 * "best": the fastest algorithm of each layer shape, measured within the model. One session has the operator for the
 * first layer of each shape, which changes its algorithm between two runs; another has the runtime's own kernels. On
 * the processor these have their times in the runtime's profile, and the operator takes its own; on a GPU, where nodes
 * return before their kernels have ended, both lie between events. Then, on the processor, the whole graph with these
 * choices and the runtime's own take turns.
 */

#include "onnxruntime-conv.h"
#include "onnxruntime-rounds.h"

#define RUNTIME ORT_CONV_CANDIDATES /* the candidate behind the others */
G_STATIC_ASSERT(RUNTIME < ORT_MAX_CANDIDATES);

/* Feed: a graph's inputs, for any session of it. */
typedef struct
{
    OrtCompiled *compiled;
    const OrtApi *api;
    const char *who;
    IfmModel *model;
    IfmTensor *inputs;
    OrtValue **values;
} Feed;

typedef struct
{
    Feed feed;
    OrtSession *own, *runtime;
    GPtrArray *layers; /* OrtConvLayer*, all of the graph */
    GPtrArray *marked; /* the same with marks around the runtime's kernels; NULL: on the processor */
    OrtRounds rounds;  /* of those with candidates, which are their users */
    GArray *counted;   /* gboolean: whether a run of that session counts */
    OrtConvDomain *domains[2];
} Tuner;

static gboolean check(const Feed *self, OrtStatus *status, GError **error)
{
    return ifm_ort_check(self->api, status, self->who, IFM_ERROR_FAILED, error);
}

/* --- running ---------------------------------------------------------------------------------------------------------- */

static gboolean make_inputs(Feed *self, GError **error)
{
    const IfmCompileOptions *options = &self->compiled->base.options;
    const gsize n = ifm_model_n_inputs(self->model);
    OrtEngine *engine = ort_engine(&self->compiled->base);
    self->inputs = g_new0(IfmTensor, n + 1);
    self->values = g_new0(OrtValue *, n + 1);
    if (!ifm_model_make_inputs(self->model, options->bindings, options->n_bindings, 1, self->inputs, error))
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

static void clear_inputs(Feed *self)
{
    for (gsize i = 0; self->values != NULL && i < ifm_model_n_inputs(self->model); i++)
    {
        self->api->ReleaseValue(self->values[i]);
        ifm_tensor_clear(&self->inputs[i]);
    }
    g_free(self->values);
    g_free(self->inputs);
}

static gboolean run(const Feed *self, OrtSession *session, GError **error)
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
    of->kernel = of->candidates[candidate];
}

static gboolean run_own(gpointer user, GError **error)
{
    const Tuner *self = user;
    return run(&self->feed, self->own, error);
}

static double took(const OrtRoundsLayer *layer, gpointer user)
{
    const OrtConvLayer *of = layer->user;
    return of->kernel.cuda != NULL ? ifm_ort_conv_cuda_last(of) : (double)of->ran_ns;
}

/* Of the last run. */
static void take_marks(const Tuner *self, gboolean counts)
{
    for (guint i = 0; i < self->rounds.layers->len; i++)
    {
        const OrtRoundsLayer *layer = self->rounds.layers->pdata[i];
        guint index = 0;
        const gboolean is_there = g_ptr_array_find(self->layers, layer->user, &index);
        const double ns = is_there ? ifm_ort_conv_cuda_last(self->marked->pdata[index]) : -1;
        if (counts && ns >= 0)
            g_array_append_val(layer->times_ns[RUNTIME], ns);
    }
}

static gboolean run_runtime(gpointer user, GError **error)
{
    Tuner *self = user;
    for (int k = 0; k <= ORT_N_RUNS; k++)
    {
        const gboolean counts = k > 0;
        if (!run(&self->feed, self->runtime, error))
            return FALSE;
        if (self->marked != NULL)
            take_marks(self, counts);
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
    const gboolean ok =
        ifm_ort_profile_end(self->feed.api, self->runtime, self->feed.who, profiles, NULL, &n_events, error);
    for (guint i = 0; i < profiles->len && i < self->counted->len; i++)
        if (g_array_index(self->counted, gboolean, i))
            take_profile(self, profiles->pdata[i]);
    return ok;
}

/* --- what came of it -------------------------------------------------------------------------------------------------- */

/* The runtime's kernel keeps a layer unless the fastest algorithm is told apart from it; also where it was never timed. */
static void set_choice(const OrtRoundsLayer *layer)
{
    IfmConvTuned *row = ((OrtConvLayer *)layer->user)->key;
    const int own = ifm_ort_rounds_fastest(layer, ORT_CONV_CANDIDATES);
    const gboolean is_timed = layer->times_ns[RUNTIME]->len > 0;
    const int best = is_timed && ifm_ort_rounds_is_faster(layer, own, RUNTIME) ? own : RUNTIME;
    g_free(row->algorithm);
    row->algorithm = ifm_conv_tuned_name(best == RUNTIME ? IFM_CONV_RUNTIME : (IfmConvAlgorithm)(best % IFM_N_CONV_FIXED),
                                         best != RUNTIME && best >= IFM_N_CONV_FIXED);
    row->time_ns = best != RUNTIME || is_timed ? ifm_ort_rounds_time(layer, best) : 0;
    row->runtime_ns = is_timed ? ifm_ort_rounds_time(layer, RUNTIME) : 0;
}

/* The rows go to @found. */
static void choose(const Tuner *self, GPtrArray *found)
{
    for (guint i = 0; i < self->rounds.layers->len; i++)
    {
        const OrtRoundsLayer *layer = self->rounds.layers->pdata[i];
        OrtConvLayer *of = layer->user;
        set_choice(layer);
        of->kernel = (OrtConvKernel){ 0 }; /* a candidate, which the layer frees as such */
        g_ptr_array_add(found, g_steal_pointer(&of->key));
    }
}

static void collect_layers(Tuner *self)
{
    for (guint i = 0; i < self->layers->len; i++)
    {
        OrtConvLayer *of = self->layers->pdata[i];
        if (of->key == NULL || !ort_conv_runs(&of->kernel))
            continue;
        OrtRoundsLayer *layer = ifm_ort_rounds_layer(&self->rounds, of);
        for (int k = 0; k < ORT_CONV_CANDIDATES; k++)
            layer->can[k] = ort_conv_runs(&of->candidates[k]);
    }
}

/* @graph: with the operator @marked: with the runtime's kernels, timed; NULL: on the processor */
static gboolean open_and_run(Tuner *self, IfmModel *graph, IfmModel *marked, const char *file, GError **error)
{
    g_autofree char *prefix = g_strconcat(file, ".profile", NULL);
    self->own = ifm_ort_session_bare(self->feed.compiled, graph, NULL, self->domains[0], NULL, error);
    if (self->own != NULL)
        self->runtime = marked != NULL
                            ? ifm_ort_session_bare(self->feed.compiled, marked, NULL, self->domains[1], NULL, error)
                            : ifm_ort_session_bare(self->feed.compiled, NULL, file, NULL, prefix, error);
    return self->runtime != NULL && make_inputs(&self->feed, error) && ifm_ort_rounds_run(&self->rounds, error) &&
           (marked != NULL || read_profile(self, error));
}

static void clear(Tuner *self)
{
    clear_inputs(&self->feed);
    if (self->own != NULL)
        self->feed.api->ReleaseSession(self->own);
    if (self->runtime != NULL)
        self->feed.api->ReleaseSession(self->runtime);
    for (gsize i = 0; i < G_N_ELEMENTS(self->domains); i++)
        ifm_ort_conv_domain_free(self->domains[i]); /* its sessions have ended */
    ifm_ort_rounds_clear(&self->rounds);
    g_array_unref(self->counted);
}

/* Both graphs have the same layers in the same order. (transfer full) NULL without an error: on the processor */
static IfmModel *mark_runtime(const OrtConvWish *wish, IfmModel *optimised, GPtrArray *layers, GError **error)
{
    g_auto(IfmConvChoice) runtime = { 0 };
    OrtConvWish marked = *wish;
    marked.choice = &runtime;
    marked.marks = TRUE;
    if (wish->cuda == NULL || !ifm_conv_choice_init(&runtime, NULL, error))
        return NULL;
    return ifm_ort_conv_rewrite(optimised, &marked, layers, error);
}

static gboolean tune(Tuner *self, IfmModel *graph, IfmModel *marked, const char *file, GError **error)
{
    const OrtConvPlace place = marked != NULL ? ORT_CONV_OF_CUDA_TIMED : ORT_CONV_OF_CPU;
    GPtrArray *const layers[] = { self->layers, self->marked };
    self->rounds.user = self;
    ifm_ort_rounds_init(&self->rounds);
    collect_layers(self);
    for (int i = 0; i < 2 && layers[i] != NULL; i++)
        if ((self->domains[i] = ifm_ort_conv_domain_new(self->feed.api, layers[i], place, self->feed.who, error)) == NULL)
            return FALSE;
    return open_and_run(self, graph, marked, file, error);
}

gboolean ifm_ort_conv_tune(OrtCompiled *compiled, IfmModel *optimised, const char *file, const OrtConvWish *wish,
                           GPtrArray *found, GError **error)
{
    OrtConvWish all = *wish;
    GError *trouble = NULL;
    all.tune = TRUE;
    all.marks = FALSE;
    g_autoptr(GPtrArray) layers = ifm_ort_conv_layers_new(), others = ifm_ort_conv_layers_new();
    g_autoptr(IfmModel) graph = ifm_ort_conv_rewrite(optimised, &all, layers, &trouble);
    g_autoptr(IfmModel) marked = graph != NULL ? mark_runtime(wish, optimised, others, &trouble) : NULL;
    if (graph == NULL || trouble != NULL)
        return ifm_error_pass(error, trouble);
    g_autofree char *who = g_strdup_printf("%s: %s", compiled->base.spec->text, ifm_model_name(wish->model));
    Tuner self = {
        .feed = { .compiled = compiled, .api = ort_engine(&compiled->base)->api, .who = who, .model = optimised },
        .layers = layers,
        .marked = marked != NULL ? others : NULL,
        .rounds = { .n_candidates = ORT_CONV_CANDIDATES, .use = use, .run = run_own, .took = took, .rest = run_runtime },
        .counted = g_array_new(FALSE, FALSE, sizeof(gboolean))
    };
    const gboolean ok = tune(&self, graph, marked, file, error);
    if (ok)
        choose(&self, found);
    clear(&self);
    return ok;
}

/* --- the whole -------------------------------------------------------------------------------------------------------- */

/* Whole: the graph with what "best" chose, and what runs where that is no gain: the model as the runtime has it, or, where
 * other layers are chosen by name, the graph with the runtime's kernels in place of what "best" chose. */
enum
{
    CHOSEN,
    OF_RUNTIME,
    N_WHOLES
};

static gboolean is_chosen(const OrtConvLayer *layer)
{
    return layer->kernel.conv != NULL && g_str_equal(layer->record->asked, ifm_conv_algorithm_name(IFM_CONV_BEST));
}

static void say_layer(GString *text, const IfmConvLayer *layer)
{
    const gint64 numbers[] = { layer->in_channels, layer->out_channels, layer->kernel_rows,    layer->kernel_columns,
                               layer->groups,      layer->stride_rows,  layer->stride_columns, layer->macs };
    g_string_append_printf(text, "%s %s", layer->asked, layer->algorithm);
    for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
        g_string_append_printf(text, " %" G_GINT64_FORMAT, numbers[i]);
    g_string_append_c(text, '\n');
}

IfmConvTuned *ifm_ort_conv_whole_key(const OrtConvGraph *graph, const OrtConvWish *wish)
{
    const IfmConvOptions options = { .n_threads = wish->n_threads, .max_isa = ifm_blocked_max_isa() };
    const IfmConv *first = NULL;
    g_autoptr(GString) text = g_string_new("beside the model as it is\n");
    guint n_chosen = 0;
    for (guint i = 0; i < graph->layers->len; i++)
    {
        const OrtConvLayer *layer = graph->layers->pdata[i];
        say_layer(text, layer->record);
        n_chosen += is_chosen(layer);
        if (first == NULL && is_chosen(layer))
            first = layer->kernel.conv;
    }
    if (first == NULL)
        return NULL;
    for (gsize i = 0; i < ifm_model_n_nodes(graph->model); i++)
        g_string_append_printf(text, "%s\n", ifm_model_node(graph->model, i)->op_type);
    g_autofree char *digest = g_compute_checksum_for_string(G_CHECKSUM_SHA256, text->str, -1);
    IfmConvTuned *key = ifm_conv_tuned_key(ifm_conv_shape(first), &options, wish->runtime);
    g_free(key->shape);
    key->shape = g_strdup_printf("the whole: %u of %u chosen, graph %.16s", n_chosen, graph->layers->len, digest);
    return key;
}

typedef struct
{
    Feed feed;
    OrtConvDomain *domains[N_WHOLES];
    OrtSession *sessions[N_WHOLES];
    OrtRounds rounds; /* of one layer: the whole */
    int now;
    gint64 ran_ns;
} Whole;

static void use_whole(const OrtRoundsLayer *layer, int candidate, gpointer user)
{
    ((Whole *)user)->now = candidate;
}

static gboolean run_whole(gpointer user, GError **error)
{
    Whole *self = user;
    const gint64 began_ns = ifm_blocked_now_ns();
    const gboolean ok = run(&self->feed, self->sessions[self->now], error);
    self->ran_ns = ifm_blocked_now_ns() - began_ns;
    return ok;
}

static double whole_took(const OrtRoundsLayer *layer, gpointer user)
{
    return (double)((const Whole *)user)->ran_ns;
}

static gboolean open_wholes(Whole *self, const OrtConvGraph *const graphs[N_WHOLES], GError **error)
{
    if (graphs[OF_RUNTIME] == NULL &&
        (self->sessions[OF_RUNTIME] = ifm_ort_session_plain(self->feed.compiled, error)) == NULL)
        return FALSE;
    for (int i = 0; i < N_WHOLES; i++)
    {
        if (graphs[i] == NULL)
            continue;
        self->domains[i] =
            ifm_ort_conv_domain_new(self->feed.api, graphs[i]->layers, ORT_CONV_OF_CPU, self->feed.who, error);
        if (self->domains[i] != NULL)
            self->sessions[i] =
                ifm_ort_session_bare(self->feed.compiled, graphs[i]->model, NULL, self->domains[i], NULL, error);
        if (self->sessions[i] == NULL)
            return FALSE;
    }
    return TRUE;
}

static void whole_clear(Whole *self)
{
    clear_inputs(&self->feed);
    for (int i = 0; i < N_WHOLES; i++)
    {
        if (self->sessions[i] != NULL)
            self->feed.api->ReleaseSession(self->sessions[i]);
        ifm_ort_conv_domain_free(self->domains[i]);
    }
    ifm_ort_rounds_clear(&self->rounds);
}

gboolean ifm_ort_conv_compare(OrtCompiled *compiled, const OrtConvGraph *chosen, const OrtConvGraph *of_runtime,
                              IfmConvTuned *row, GError **error)
{
    const OrtConvGraph *const graphs[] = { chosen, of_runtime };
    Whole self = { .feed = { .compiled = compiled,
                             .api = ort_engine(&compiled->base)->api,
                             .who = compiled->base.who,
                             .model = chosen->model },
                   .rounds = { .n_candidates = N_WHOLES, .use = use_whole, .run = run_whole, .took = whole_took } };
    self.rounds.user = &self;
    ifm_ort_rounds_init(&self.rounds);
    OrtRoundsLayer *whole = ifm_ort_rounds_layer(&self.rounds, NULL);
    whole->can[CHOSEN] = whole->can[OF_RUNTIME] = TRUE;
    whole->kept = OF_RUNTIME;
    const gboolean ok =
        open_wholes(&self, graphs, error) && make_inputs(&self.feed, error) && ifm_ort_rounds_run(&self.rounds, error);
    if (ok)
    {
        const gboolean is_faster = ifm_ort_rounds_is_faster(whole, CHOSEN, OF_RUNTIME);
        g_free(row->algorithm);
        row->algorithm = g_strdup(ifm_conv_algorithm_name(is_faster ? IFM_CONV_BEST : IFM_CONV_RUNTIME));
        row->time_ns = ifm_ort_rounds_time(whole, CHOSEN);
        row->runtime_ns = ifm_ort_rounds_time(whole, OF_RUNTIME);
    }
    whole_clear(&self);
    return ok;
}
