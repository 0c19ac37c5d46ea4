#include <math.h>
#include <string.h>

#include <base/base.h>
#include <base/statistics.h>
#include <measure/kinds.h>

#include "conv-learn.h"

/* --- curves ------------------------------------------------------------------------------------------------------------
 */

/* Knot: of a curve in logarithms, ascending in x. */
typedef struct
{
    double x, y;
} Knot;

#define NO_KNOT G_MAXUINT

/* The curve at @x, as though knot @skip were not there. NaN with fewer than 2 others. */
static double curve_at(const GArray *curve, double x, guint skip)
{
    const Knot *left = NULL, *right = NULL;
    for (guint i = 0; i < curve->len; i++)
    {
        const Knot *knot = &g_array_index(curve, Knot, i);
        if (i == skip)
            continue;
        /* The last knot at or below x and the one after it; at either end the outermost two. */
        if (left == NULL || right->x <= x)
        {
            left = right;
            right = knot;
        }
    }
    if (left == NULL)
        return NAN;
    return left->y + (right->y - left->y) * (x - left->x) / (right->x - left->x);
}

static void curve_add(GArray *curve, double x, double y)
{
    const Knot knot = { log(x), log(y) };
    g_array_append_val(curve, knot);
}

/* --- a combination ------------------------------------------------------------------------------------------------------
 */

/* Combination: a model with an algorithm on a device. */
typedef struct
{
    GPtrArray *points; /* IfmConvPoint*, ascending in size */
    GArray *whole;     /* Knot: time of the inference */
    GArray *ratio;     /* Knot: that over the sum of its convolutions */
    GPtrArray *layers; /* GArray* of Knot: each convolution */
    GArray *power;     /* Knot: W */
    gboolean has_layers;
} Combination;

static void combination_clear(Combination *self)
{
    g_ptr_array_unref(self->points);
    g_array_unref(self->whole);
    g_array_unref(self->ratio);
    g_array_unref(self->power);
    g_ptr_array_unref(self->layers);
}

static int by_size(gconstpointer a, gconstpointer b)
{
    const IfmConvPoint *left = *(const IfmConvPoint *const *)a, *right = *(const IfmConvPoint *const *)b;
    return (left->input_size > right->input_size) - (left->input_size < right->input_size);
}

/* Whether every point has the time of every layer of the first. */
static gboolean have_layers(const GPtrArray *points)
{
    const IfmConvPoint *first = points->len > 0 ? points->pdata[0] : NULL;
    if (first == NULL || first->layers == NULL || first->layers->len == 0)
        return FALSE;
    for (guint i = 0; i < points->len; i++)
    {
        const IfmConvPoint *point = points->pdata[i];
        if (point->layers == NULL || point->layers->len != first->layers->len)
            return FALSE;
        for (guint k = 0; k < point->layers->len; k++)
            if (!(g_array_index(point->times_ns, double, k) > 0))
                return FALSE;
    }
    return TRUE;
}

static void combination_init(Combination *self, GPtrArray *points)
{
    self->points = points;
    g_ptr_array_sort(points, by_size);
    self->whole = g_array_new(FALSE, FALSE, sizeof(Knot));
    self->ratio = g_array_new(FALSE, FALSE, sizeof(Knot));
    self->power = g_array_new(FALSE, FALSE, sizeof(Knot));
    self->layers = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
    self->has_layers = have_layers(points);
    for (guint i = 0; i < points->len; i++)
    {
        const IfmConvPoint *point = points->pdata[i];
        const double x = (double)point->input_size, time_ns = point->point->median_ns;
        IfmModelEnergy energy;
        curve_add(self->whole, x, time_ns);
        if (ifm_model_energy(point->point->measurement, &energy) && energy.power_w > 0)
            curve_add(self->power, x, energy.power_w);
        if (!self->has_layers)
            continue;
        curve_add(self->ratio, x, time_ns / point->layers_ns);
        for (guint k = 0; k < point->layers->len; k++)
        {
            if (i == 0)
                g_ptr_array_add(self->layers, g_array_new(FALSE, FALSE, sizeof(Knot)));
            curve_add(self->layers->pdata[k], x, g_array_index(point->times_ns, double, k));
        }
    }
}

static double time_at(const Combination *self, gboolean by_layers, double size, guint skip)
{
    const double x = log(size);
    double sum_ns = 0;
    if (!by_layers)
        return exp(curve_at(self->whole, x, skip));
    for (guint k = 0; k < self->layers->len; k++)
        sum_ns += exp(curve_at(self->layers->pdata[k], x, skip));
    return sum_ns * exp(curve_at(self->ratio, x, skip));
}

/* Of the inner sizes, each predicted from all others. @mean, @p95: (out) NaN where there is none */
static void leave_out(const Combination *self, gboolean by_layers, double *mean, double *p95)
{
    g_autofree double *errors = g_new(double, self->points->len + 1);
    gsize n = 0;
    double sum = 0;
    for (guint i = 1; i + 1 < self->points->len; i++)
    {
        const IfmConvPoint *point = self->points->pdata[i];
        errors[n] = fabs(time_at(self, by_layers, (double)point->input_size, i) / point->point->median_ns - 1);
        sum += errors[n++];
    }
    ifm_sort_doubles(errors, n);
    *mean = n > 0 ? sum / (double)n : (double)NAN;
    *p95 = n == 0 ? (double)NAN : n < 20 ? errors[n - 1] : ifm_quantile(errors, n, 0.95);
}

static double noise_of(const Combination *self)
{
    double sum = 0;
    for (guint i = 0; i < self->points->len; i++)
    {
        const IfmStudyRow *point = ((const IfmConvPoint *)self->points->pdata[i])->point;
        sum += (point->interval.upper - point->interval.lower) / 2 / point->median_ns;
    }
    return sum / (double)self->points->len;
}

static IfmConvPrediction predict(const Combination *self, gint64 size)
{
    const IfmConvPoint *first = self->points->pdata[0], *last = self->points->pdata[self->points->len - 1],
                       *measured = NULL;
    for (guint i = 0; measured == NULL && i < self->points->len; i++)
        if (((const IfmConvPoint *)self->points->pdata[i])->input_size == size)
            measured = self->points->pdata[i];
    IfmConvPrediction prediction = { .device = first->point->device,
                                     .algorithm = first->algorithm,
                                     .threads = conv_threads(first),
                                     .origin = measured != NULL ? IFM_GRID_EXACT
                                               : size < first->input_size || size > last->input_size
                                                   ? IFM_GRID_OUTSIDE
                                                   : IFM_GRID_INTERPOLATED,
                                     .n_sizes = self->points->len,
                                     .noise_ratio = noise_of(self),
                                     .energy_j = NAN };
    leave_out(self, FALSE, &prediction.mean_ratio, &prediction.p95_ratio);
    if (self->has_layers)
    {
        double mean, p95;
        leave_out(self, TRUE, &mean, &p95);
        prediction.by_layers = mean < prediction.mean_ratio;
        if (prediction.by_layers)
        {
            prediction.mean_ratio = mean;
            prediction.p95_ratio = p95;
        }
    }
    prediction.time_ns = time_at(self, prediction.by_layers, (double)size, NO_KNOT);
    prediction.lower_ns = prediction.time_ns / (1 + prediction.p95_ratio);
    prediction.upper_ns = prediction.time_ns * (1 + prediction.p95_ratio);
    const double power_w = exp(curve_at(self->power, log((double)size), NO_KNOT));
    prediction.energy_j = power_w * prediction.time_ns / 1e9;
    if (measured != NULL)
    {
        prediction.time_ns = measured->point->median_ns;
        prediction.lower_ns = measured->point->interval.lower;
        prediction.upper_ns = measured->point->interval.upper;
        prediction.energy_j = measured->energy_j;
    }
    return prediction;
}

/* --- all of them --------------------------------------------------------------------------------------------------------
 */

gboolean ifm_conv_measured(const IfmStudyTables *points, const char *model)
{
    for (guint i = 0; i < points->rows->len; i++)
    {
        const IfmStudyRow *row = points->rows->pdata[i];
        if (g_strcmp0(json_string_value(json_object_get(row->axes, "model")), model) == 0)
            return TRUE;
    }
    return FALSE;
}

static gboolean check_model(const IfmConvFindings *findings, const char *model, GError **error)
{
    g_autoptr(GPtrArray) models = g_ptr_array_new();
    for (guint i = 0; i < findings->points->len; i++)
    {
        const IfmConvPoint *point = findings->points->pdata[i];
        if (g_str_equal(point->model, model))
            return TRUE;
        if (!g_ptr_array_find_with_equal_func(models, point->model, g_str_equal, NULL))
            g_ptr_array_add(models, (gpointer)point->model);
    }
    g_ptr_array_add(models, NULL);
    g_autofree char *all = g_strjoinv(", ", (char **)models->pdata),
                    *hint = ifm_nearest_hint(model, (const char *const *)models->pdata);
    return ifm_error_refuse(error, "the study has no model \"%s\" (there are %s)%s", model, all, hint);
}

static int by_time(gconstpointer a, gconstpointer b)
{
    const IfmConvPrediction *left = a, *right = b;
    int order = strcmp(left->device->alias, right->device->alias);
    order = order != 0 ? order : (left->threads > right->threads) - (left->threads < right->threads);
    return order != 0 ? order : (left->time_ns > right->time_ns) - (left->time_ns < right->time_ns);
}

/* (transfer full) Those that have a latency. @threads: 0: of any number */
static GPtrArray *measured_of(const IfmConvCombination *combination, gint64 threads)
{
    GPtrArray *points = g_ptr_array_new();
    for (guint i = 0; i < combination->points->len; i++)
    {
        const IfmConvPoint *point = combination->points->pdata[i];
        if (point->point->reason == NULL && (threads == 0 || conv_threads(point) == threads))
            g_ptr_array_add(points, combination->points->pdata[i]);
    }
    return points;
}

gboolean ifm_conv_predict_check(const IfmStudyTables *points, GError **error)
{
    return g_str_equal(points->kind, "conv-algorithms") ||
           ifm_error_refuse(error, "%s is of kind %s: predictions are of kind conv-algorithms", points->name, points->kind);
}

GArray *ifm_conv_predictions_sort(GArray *predictions)
{
    g_array_sort(predictions, by_time);
    return predictions;
}

GArray *ifm_conv_predict(const IfmStudyTables *points, const char *model, gint64 size, gint64 threads, GError **error)
{
    if (!ifm_conv_predict_check(points, error))
        return NULL;
    g_autoptr(IfmConvFindings) findings = ifm_conv_findings(points);
    g_autoptr(GArray) settings =
        check_model(findings, model, error) ? conv_settings(findings, threads, points->name, error) : NULL;
    if (settings == NULL)
        return NULL;
    g_autoptr(GArray) predictions = g_array_new(FALSE, FALSE, sizeof(IfmConvPrediction));
    for (guint i = 0; i < findings->combinations->len; i++)
    {
        const IfmConvCombination *of = &g_array_index(findings->combinations, IfmConvCombination, i);
        Combination combination = { 0 };
        if (!g_str_equal(of->model, model))
            continue;
        combination_init(&combination, measured_of(of, threads));
        if (combination.points->len >= 2)
        {
            const IfmConvPrediction prediction = predict(&combination, size);
            g_array_append_val(predictions, prediction);
        }
        combination_clear(&combination);
    }
    if (predictions->len > 0)
        return ifm_conv_predictions_sort(g_steal_pointer(&predictions));
    ifm_error_refuse(error, "%s: no algorithm was measured at 2 sizes or more; \"study run %s --level quick\" measures 10",
                     model, points->name);
    return NULL;
}
