/* Rounds of candidates within a network: see the header. */
#include "onnxruntime-rounds.h"

#include <base/base.h>
#include <base/statistics.h>
#include <math.h>

/* Times the layer's best so far: it is not tried again. A single round may have met a slow spell. */
#define HOPELESS_AT_ONCE 3
#define HOPELESS 1.5
#define MARGIN 0.98

static void layer_free(gpointer data)
{
    OrtRoundsLayer *layer = data;
    for (int i = 0; i < ORT_MAX_CANDIDATES; i++)
        g_array_unref(layer->times_ns[i]);
    g_free(layer);
}

void ifm_ort_rounds_init(OrtRounds *rounds)
{
    rounds->layers = g_ptr_array_new_with_free_func(layer_free);
}

void ifm_ort_rounds_clear(OrtRounds *rounds)
{
    g_clear_pointer(&rounds->layers, g_ptr_array_unref);
}

OrtRoundsLayer *ifm_ort_rounds_layer(OrtRounds *rounds, gpointer user)
{
    OrtRoundsLayer *layer = g_new0(OrtRoundsLayer, 1);
    for (int i = 0; i < ORT_MAX_CANDIDATES; i++)
        layer->times_ns[i] = g_array_new(FALSE, FALSE, sizeof(double));
    layer->kept = -1;
    layer->user = user;
    g_ptr_array_add(rounds->layers, layer);
    return layer;
}

static double quantile_of(const OrtRoundsLayer *layer, int candidate, guint quarters)
{
    GArray *list = layer->times_ns[candidate];
    if (list->len == 0)
        return INFINITY;
    ifm_sort_doubles((double *)(void *)list->data, list->len);
    return g_array_index(list, double, quarters * list->len / 4);
}

double ifm_ort_rounds_time(const OrtRoundsLayer *layer, int candidate)
{
    return quantile_of(layer, candidate, 1);
}

int ifm_ort_rounds_fastest(const OrtRoundsLayer *layer, int n_candidates)
{
    int best = -1;
    for (int i = 0; i < n_candidates; i++)
        if (layer->can[i] && (best < 0 || ifm_ort_rounds_time(layer, i) < ifm_ort_rounds_time(layer, best)))
            best = i;
    return best;
}

gboolean ifm_ort_rounds_is_faster(const OrtRoundsLayer *layer, int one, int other)
{
    return ifm_ort_rounds_time(layer, one) < MARGIN * ifm_ort_rounds_time(layer, other) &&
           quantile_of(layer, one, 2) < quantile_of(layer, other, 2);
}

/* One candidate in all layers that it can do; the others have the fastest one so far. */
static gboolean run_candidate(OrtRounds *self, int candidate, GError **error)
{
    gboolean is_wanted = FALSE;
    for (guint i = 0; i < self->layers->len; i++)
    {
        const OrtRoundsLayer *layer = self->layers->pdata[i];
        is_wanted |= layer->can[candidate] && !layer->is_hopeless[candidate];
    }
    for (guint i = 0; is_wanted && i < self->layers->len; i++)
    {
        const OrtRoundsLayer *layer = self->layers->pdata[i];
        const gboolean takes = layer->can[candidate] && !layer->is_hopeless[candidate];
        self->use(layer, takes ? candidate : ifm_ort_rounds_fastest(layer, self->n_candidates), self->user);
    }
    for (int k = 0; is_wanted && k <= ORT_N_RUNS; k++)
    {
        if (!self->run(self->user, error))
            return FALSE;
        for (guint i = 0; k > 0 && i < self->layers->len; i++)
        {
            const OrtRoundsLayer *layer = self->layers->pdata[i];
            const double ns = self->took(layer, self->user);
            if (ns >= 0 && layer->can[candidate] && !layer->is_hopeless[candidate])
                g_array_append_val(layer->times_ns[candidate], ns);
        }
    }
    return TRUE;
}

static void drop_hopeless(OrtRounds *self, double hopeless)
{
    for (guint i = 0; i < self->layers->len; i++)
    {
        OrtRoundsLayer *layer = self->layers->pdata[i];
        const int fastest = ifm_ort_rounds_fastest(layer, self->n_candidates);
        for (int k = 0; fastest >= 0 && k < self->n_candidates; k++)
            layer->is_hopeless[k] |=
                k != layer->kept && ifm_ort_rounds_time(layer, k) > hopeless * ifm_ort_rounds_time(layer, fastest);
    }
}

gboolean ifm_ort_rounds_run(OrtRounds *rounds, GError **error)
{
    for (int round = 0; round < ORT_N_ROUNDS; round++)
    {
        if (rounds->stopped != NULL && rounds->stopped(round, rounds->user))
            return ifm_error_set(error, IFM_ERROR_CANCELLED, "interrupted");
        for (int i = 0; i < rounds->n_candidates; i++)
            if (!run_candidate(rounds, i, error))
                return FALSE;
        if (rounds->rest != NULL && !rounds->rest(rounds->user, error))
            return FALSE;
        drop_hopeless(rounds, round == 0 ? HOPELESS_AT_ONCE : HOPELESS);
    }
    return TRUE;
}
