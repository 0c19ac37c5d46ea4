/* Times of layers by one algorithm: a line through its work, corrected by a smooth function of the layer's sizes. */
#include <math.h>

#include <base/base.h>

#include "conv-learn.h"

/* Of so many layers the matrix of the smooth function is made: time goes with the cube of it. */
#define MOST_SAMPLES 600
/* Fewer layers than this, or of fewer networks, tell nothing of how well layers are predicted that were left out. */
#define LEAST_SAMPLES 8
#define LEAST_MODELS 3

struct ConvCurve
{
    char *algorithm;
    double weights[CONV_N_TERMS];
    IfmSmooth *smooth; /* NULL: the line alone is closer */
};

void conv_curve_free(ConvCurve *self)
{
    g_free(self->algorithm);
    ifm_smooth_free(self->smooth);
    g_free(self);
}

static double line_ns(const ConvCurve *self, const IfmConvLayer *layer, double weights_bytes)
{
    double terms[CONV_N_TERMS], sum_ns = 0;
    conv_work(layer, weights_bytes, self->algorithm, terms);
    for (gsize i = 0; i < CONV_N_TERMS; i++)
        sum_ns += self->weights[i] * terms[i];
    return sum_ns;
}

double conv_curve_ns(const ConvCurve *self, const IfmConvLayer *layer, double weights_bytes)
{
    double place[CONV_N_PLACES];
    conv_place(layer, weights_bytes, place);
    return line_ns(self, layer, weights_bytes) * (self->smooth != NULL ? exp(ifm_smooth_at(self->smooth, place)) : 1);
}

static void fit_line(ConvCurve *self, const ConvSample *samples, gsize n)
{
    g_autofree double *terms = g_new(double, n *CONV_N_TERMS), *times = g_new(double, n);
    for (gsize i = 0; i < n; i++)
    {
        conv_work(samples[i].layer, samples[i].weights_bytes, self->algorithm, terms + i * CONV_N_TERMS);
        times[i] = samples[i].time_ns;
    }
    ifm_fit_line(terms, times, n, CONV_N_TERMS, self->weights);
}

/* --- what the line leaves -----------------------------------------------------------------------------------------------
 */

/* Rest: logarithms of times over the line's. @groups: of a network */
typedef struct
{
    IfmSmoothPoints points;
    double *x, *y;
    guint *groups;
    guint n_models;
} Rest;

static void rest_clear(Rest *rest)
{
    g_free(rest->x);
    g_free(rest->y);
    g_free(rest->groups);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Rest, rest_clear)

static void rest_init(Rest *rest, const ConvCurve *self, const ConvSample *samples, gsize n)
{
    g_autoptr(GHashTable) numbers = g_hash_table_new(g_str_hash, g_str_equal);
    const gsize step = (n + MOST_SAMPLES - 1) / MOST_SAMPLES;
    gsize n_taken = 0;
    *rest = (Rest){ .x = g_new(double, n *CONV_N_PLACES), .y = g_new(double, n), .groups = g_new(guint, n) };
    for (gsize i = 0; i < n; i += step, n_taken++)
    {
        const ConvSample *sample = &samples[i];
        conv_place(sample->layer, sample->weights_bytes, rest->x + n_taken * CONV_N_PLACES);
        rest->y[n_taken] = log(sample->time_ns / line_ns(self, sample->layer, sample->weights_bytes));
        if (!g_hash_table_contains(numbers, sample->model))
            g_hash_table_insert(numbers, (gpointer)sample->model, GUINT_TO_POINTER(g_hash_table_size(numbers)));
        rest->groups[n_taken] = GPOINTER_TO_UINT(g_hash_table_lookup(numbers, sample->model));
    }
    rest->n_models = g_hash_table_size(numbers);
    rest->points = (IfmSmoothPoints){ rest->x, rest->y, rest->groups, n_taken, CONV_N_PLACES };
}

/* The mean error of layers of networks that were left out. @left_out: NULL: of the line alone */
static double error_of(const Rest *rest, const double *left_out)
{
    double sum = 0;
    for (gsize i = 0; i < rest->points.n; i++)
        sum += fabs(exp((left_out != NULL ? left_out[i] : 0) - rest->y[i]) - 1);
    return sum / (double)rest->points.n;
}

/* The reach, in doublings of a size, and the noise that networks that are left out are predicted best with. */
static void fit_smooth(ConvCurve *self, const ConvSample *samples, gsize n)
{
    static const double reaches[] = { 2, 4, 8 }, noises[] = { 0.03, 0.1, 0.5, 2 };
    g_auto(Rest) rest = { 0 };
    rest_init(&rest, self, samples, n);
    if (rest.n_models < LEAST_MODELS || rest.points.n < LEAST_SAMPLES)
        return;
    g_autofree double *left_out = g_new(double, n);
    double least = error_of(&rest, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(reaches) * G_N_ELEMENTS(noises); i++)
    {
        IfmSmooth *smooth =
            ifm_smooth_new(&rest.points, reaches[i % G_N_ELEMENTS(reaches)], noises[i / G_N_ELEMENTS(reaches)], left_out);
        const double error = smooth != NULL ? error_of(&rest, left_out) : (double)INFINITY;
        if (error < least)
        {
            least = error;
            IfmSmooth *worse = self->smooth;
            self->smooth = smooth;
            smooth = worse;
        }
        ifm_smooth_free(smooth);
    }
}

ConvCurve *conv_curve_new(const ConvSample *samples, gsize n, const char *algorithm)
{
    ConvCurve *self = g_new0(ConvCurve, 1);
    self->algorithm = g_strdup(algorithm);
    fit_line(self, samples, n);
    fit_smooth(self, samples, n);
    return self;
}
