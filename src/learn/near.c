/* How far a kernel is from those that were learnt from. */
#include <math.h>
#include <string.h>

#include <base/base.h>

#include "learn-private.h"

#define UNIT 64.0 /* places are kept in such parts of a doubling */
#define MOST_DOUBLINGS 100

static double doublings(double size)
{
    return size > 0 ? log2(1 + size) : 0;
}

/* Of the last size of a place alone. */
static double doublings_if_known(double size)
{
    return size > 0 ? log2(1 + size) : -1 / UNIT;
}

/* What makes another program of it counts as several doublings. */
void learn_fill_place(const IfmKernelSample *sample, double *place, gsize n)
{
    const IfmKernelFeatures *shape = &sample->features;
    const double all[LEARN_N_PLACES] = {
        doublings(shape->batch),
        doublings(shape->channels),
        doublings(shape->height),
        doublings(shape->width),
        doublings(shape->outputs),
        doublings(shape->kernel_size),
        2 * doublings(shape->stride),
        2 * doublings(shape->dilation),
        doublings(shape->m),
        doublings(shape->k),
        doublings(shape->n),
        doublings(learn_flop(sample)),
        doublings(learn_bytes(sample)),
        doublings(sample->weight_bytes),
        doublings(sample->threads),
        doublings(shape->inputs),
        doublings(shape->reduced),
        doublings(shape->run),
        shape->layout > 0 ? 4 * shape->layout : 0,
        4 * learn_is_depthwise(sample),
        doublings_if_known(learn_held(sample)),
    };
    memcpy(place, all, n * sizeof *all);
}

static void add_place(LearnPlaces *places, const LearnCase *one)
{
    double place[LEARN_N_PLACES];
    learn_fill_place(&one->sample, place, LEARN_N_PLACES);
    for (gsize k = 0; k < LEARN_N_PLACES; k++)
    {
        const gint64 part = llround(UNIT * fmin(place[k], MOST_DOUBLINGS));
        g_array_append_val(places->x, part);
    }
}

void learn_fit_places(IfmLatencyModel *model, const LearnCases *cases, const gboolean *use)
{
    g_autofree const LearnCase **of = g_new(const LearnCase *, cases->cases->len + 1);
    for (guint i = 0; model->machines->len == 0 && i < model->operators->len; i++)
    {
        const gsize n = learn_list_cases(cases, use, model->operators->pdata[i], of);
        LearnPlaces *places = g_new0(LearnPlaces, 1);
        *places =
            (LearnPlaces){ g_strdup(model->operators->pdata[i]), (gint64)n, g_array_new(FALSE, FALSE, sizeof(gint64)) };
        for (gsize k = 0; k < n; k++)
            if (learn_is_kept(k, n))
                add_place(places, of[k]);
        g_ptr_array_add(model->places, places);
    }
}

double learn_distance(const IfmLatencyModel *model, const char *op_type, const IfmKernelSample *sample)
{
    double place[LEARN_N_PLACES], least = (double)INFINITY;
    const gssize at = learn_operator_at(model, op_type);
    if (model->places->len == 0)
        return 0;
    if (at < 0)
        return (double)INFINITY;
    const GArray *x = ((const LearnPlaces *)model->places->pdata[at])->x;
    learn_fill_place(sample, place, LEARN_N_PLACES);
    for (guint i = 0; i + LEARN_N_PLACES <= x->len; i += LEARN_N_PLACES)
    {
        double sum = 0;
        for (guint k = 0; k < LEARN_N_PLACES && sum < least; k++)
        {
            const gint64 part = g_array_index(x, gint64, i + k);
            const double apart = place[k] < 0 || part < 0 ? 0 : place[k] - (double)part / UNIT;
            sum += apart * apart;
        }
        least = fmin(least, sum);
    }
    return sqrt(least);
}

const char *learn_relative(const IfmLatencyModel *model, const char *op_type)
{
    const LearnPlaces *most = NULL;
    for (guint i = 0; i < model->places->len; i++)
    {
        const LearnPlaces *one = model->places->pdata[i];
        if (learn_begin_alike(one->name, op_type) && (most == NULL || one->n > most->n))
            most = one;
    }
    return most != NULL ? most->name : NULL;
}

gboolean learn_places_check(const IfmLatencyModel *model, const char *where, GError **error)
{
    if (model->places->len != 0 && model->places->len != model->operators->len)
        return ifm_error_refuse(error, "%s.places: %u, expected none or one for each of %u operators", where,
                                model->places->len, model->operators->len);
    for (guint i = 0; i < model->places->len; i++)
    {
        const LearnPlaces *one = model->places->pdata[i];
        if (!g_str_equal(one->name, model->operators->pdata[i]))
            return ifm_error_refuse(error, "%s.places[%u]: found \"%s\", expected \"%s\"", where, i, one->name,
                                    (const char *)model->operators->pdata[i]);
        if (one->x->len == 0 || one->x->len % LEARN_N_PLACES != 0 || one->x->len / LEARN_N_PLACES > LEARN_MOST_PLACES)
            return ifm_error_refuse(error, "%s.places[%u].x: %u numbers, expected %d for each of up to %d kernels", where,
                                    i, one->x->len, LEARN_N_PLACES, LEARN_MOST_PLACES);
    }
    return TRUE;
}
