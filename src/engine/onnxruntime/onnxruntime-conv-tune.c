/*
 * "best": the fastest algorithm of each layer shape, measured within the model. One session has the operator for the first
 * layer of each shape, which changes its algorithm between two runs; another has the runtime's own kernels, whose times are
 * in the runtime's profile. The candidates take turns over several rounds, so that a slow spell of the machine meets all of
 * them, and each layer finds the caches as the layers before it leave them.
 */
#include <base/statistics.h>
#include <math.h>
#include <stdlib.h>

#include "onnxruntime-conv.h"

#define N_ROUNDS 6
#define N_RUNS 2 /* of a candidate in a round, after one that is not counted */
/* Times the layer's best so far: it is not tried again. A single round may have met a slow spell. */
#define HOPELESS_AT_ONCE 3
#define HOPELESS 1.5
#define MARGIN 0.98 /* of the runtime's time: what is not faster leaves the layer to the runtime */
#define RUNTIME IFM_N_CONV_FIXED
#define N_CANDIDATES (IFM_N_CONV_FIXED + 1)

/* Times: of one layer, ns, of each candidate. */
typedef struct
{
    OrtConvLayer *layer;
    GArray *times_ns[N_CANDIDATES]; /* double */
    gboolean is_hopeless[N_CANDIDATES];
} Times;

typedef struct
{
    OrtCompiled *compiled;
    const OrtApi *api;
    const char *who;
    IfmModel *model;
    OrtSession *own, *runtime;
    GPtrArray *layers; /* OrtConvLayer*, all of the graph */
    GPtrArray *times;  /* Times*, of those with candidates */
    IfmTensor *inputs;
    OrtValue **values;
    GArray *counted; /* gboolean: whether a run of that session counts */
} Tuner;

static gboolean check(const Tuner *self, OrtStatus *status, GError **error)
{
    return ifm_ort_check(self->api, status, self->who, IFM_ERROR_FAILED, error);
}

static void times_free(gpointer data)
{
    Times *times = data;
    for (int i = 0; i < N_CANDIDATES; i++)
        g_array_unref(times->times_ns[i]);
    g_free(times);
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

/* Infinity: nothing was measured. */
static double quantile_of(const Times *times, int candidate, guint quarters)
{
    GArray *list = times->times_ns[candidate];
    if (list->len == 0)
        return INFINITY;
    ifm_sort_doubles((double *)(void *)list->data, list->len);
    return g_array_index(list, double, quarters * list->len / 4);
}

/* The lower quartile: other processes only ever make a run slower. */
static double time_of(const Times *times, int candidate)
{
    return quantile_of(times, candidate, 1);
}

static int fastest_own(const Times *times)
{
    int best = -1;
    for (int i = 0; i < IFM_N_CONV_FIXED; i++)
        if (times->layer->candidates[i] != NULL && (best < 0 || time_of(times, i) < time_of(times, best)))
            best = i;
    return best;
}

static gboolean can_run(const Times *times, int candidate)
{
    return times->layer->candidates[candidate] != NULL && !times->is_hopeless[candidate];
}

/* One algorithm in all layers that it can do; the others have the fastest one so far. */
static gboolean run_candidate(Tuner *self, int candidate, GError **error)
{
    gboolean is_wanted = FALSE;
    for (guint i = 0; i < self->times->len; i++)
    {
        const Times *times = self->times->pdata[i];
        const gboolean takes = can_run(times, candidate);
        is_wanted |= takes;
        times->layer->conv = times->layer->candidates[takes ? candidate : fastest_own(times)];
    }
    for (int k = 0; is_wanted && k <= N_RUNS; k++)
    {
        if (!run(self, self->own, error))
            return FALSE;
        for (guint i = 0; k > 0 && i < self->times->len; i++)
        {
            const Times *times = self->times->pdata[i];
            const double ns = (double)times->layer->ran_ns;
            if (can_run(times, candidate))
                g_array_append_val(times->times_ns[candidate], ns);
        }
    }
    return TRUE;
}

static gboolean run_runtime(Tuner *self, GError **error)
{
    for (int k = 0; k <= N_RUNS; k++)
    {
        const gboolean counts = k > 0;
        if (!run(self, self->runtime, error))
            return FALSE;
        g_array_append_val(self->counted, counts);
    }
    return TRUE;
}

static void drop_hopeless(Tuner *self, double hopeless)
{
    for (guint i = 0; i < self->times->len; i++)
    {
        Times *times = self->times->pdata[i];
        const double limit_ns = hopeless * time_of(times, fastest_own(times));
        for (int k = 0; k < IFM_N_CONV_FIXED; k++)
            times->is_hopeless[k] |= time_of(times, k) > limit_ns;
    }
}

static gboolean run_rounds(Tuner *self, GError **error)
{
    for (int round = 0; round < N_ROUNDS; round++)
    {
        for (int i = 0; i < IFM_N_CONV_FIXED; i++)
            if (!run_candidate(self, i, error))
                return FALSE;
        if (!run_runtime(self, error))
            return FALSE;
        drop_hopeless(self, round == 0 ? HOPELESS_AT_ONCE : HOPELESS);
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
    for (guint i = 0; i < self->times->len; i++)
    {
        const Times *times = self->times->pdata[i];
        const IfmNodeTime *node = g_hash_table_lookup(nodes, times->layer->record->layer);
        const double ns = node != NULL ? (double)node->duration_ns : 0;
        if (node != NULL)
            g_array_append_val(times->times_ns[RUNTIME], ns);
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

/* The runtime's kernel keeps a layer unless the fastest algorithm is told apart from it: by quartile and by median. */
static int choice_of(const Times *times)
{
    const int own = fastest_own(times);
    const gboolean is_faster = time_of(times, own) < MARGIN * time_of(times, RUNTIME) &&
                               quantile_of(times, own, 2) < quantile_of(times, RUNTIME, 2);
    return is_faster ? own : RUNTIME;
}

static void set_choice(const Times *times)
{
    IfmConvTuned *row = times->layer->key;
    const int best = choice_of(times);
    g_free(row->algorithm);
    row->algorithm = g_strdup(ifm_conv_algorithm_name(best == RUNTIME ? IFM_CONV_RUNTIME : (IfmConvAlgorithm)best));
    row->time_ns = time_of(times, best);
    row->runtime_ns = time_of(times, RUNTIME);
}

/* (transfer container) IfmConvTuned*, borrowed from the layers */
static GPtrArray *choose(const Tuner *self)
{
    GPtrArray *rows = g_ptr_array_new();
    for (guint i = 0; i < self->times->len; i++)
    {
        const Times *times = self->times->pdata[i];
        set_choice(times);
        g_ptr_array_add(rows, times->layer->key);
    }
    return rows;
}

static void collect_layers(Tuner *self)
{
    for (guint i = 0; i < self->layers->len; i++)
    {
        OrtConvLayer *layer = self->layers->pdata[i];
        if (layer->key == NULL || layer->conv == NULL)
            continue;
        Times *times = g_new0(Times, 1);
        times->layer = layer;
        for (int k = 0; k < N_CANDIDATES; k++)
            times->times_ns[k] = g_array_new(FALSE, FALSE, sizeof(double));
        g_ptr_array_add(self->times, times);
    }
}

static gboolean open_and_run(Tuner *self, IfmModel *graph, const char *file, OrtConvDomain *domain, GError **error)
{
    g_autofree char *prefix = g_strconcat(file, ".profile", NULL);
    self->own = ifm_ort_session_bare(self->compiled, graph, NULL, domain, NULL, error);
    self->runtime = self->own != NULL ? ifm_ort_session_bare(self->compiled, NULL, file, NULL, prefix, error) : NULL;
    return self->runtime != NULL && make_inputs(self, error) && run_rounds(self, error) && read_profile(self, error);
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
    g_ptr_array_unref(self->times);
    g_array_unref(self->counted);
}

gboolean ifm_ort_conv_tune(OrtCompiled *compiled, IfmModel *optimised, const char *file, const OrtConvWish *wish,
                           const char *path, GError **error)
{
    OrtConvWish all = *wish;
    GError *trouble = NULL;
    all.tune = TRUE;
    g_autoptr(GPtrArray) layers = ifm_ort_conv_layers_new();
    g_autoptr(IfmModel) graph = ifm_ort_conv_rewrite(optimised, &all, layers, &trouble);
    if (graph == NULL)
        return ifm_error_pass(error, trouble);
    g_autofree char *who = g_strdup_printf("%s: %s", compiled->base.spec->text, wish->model_name);
    const OrtApi *api = ort_engine(&compiled->base)->api;
    OrtConvDomain *domain = ifm_ort_conv_domain_new(api, layers, ORT_CONV_OF_CPU, who, error);
    if (domain == NULL)
        return FALSE;
    Tuner self = { .compiled = compiled,
                   .api = api,
                   .who = who,
                   .model = optimised,
                   .layers = layers,
                   .times = g_ptr_array_new_with_free_func(times_free),
                   .counted = g_array_new(FALSE, FALSE, sizeof(gboolean)) };
    collect_layers(&self);
    gboolean ok = open_and_run(&self, graph, file, domain, error);
    g_autoptr(GPtrArray) rows = ok ? choose(&self) : NULL;
    ok = ok && ifm_conv_tuning_add(path, rows, error);
    clear(&self);
    ifm_ort_conv_domain_free(domain);
    return ok;
}
