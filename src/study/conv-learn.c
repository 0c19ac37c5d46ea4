/* What a network that was never measured takes with each convolution algorithm: layer times learnt from their shapes. */
#include <math.h>
#include <string.h>

#include <base/base.h>
#include <base/statistics.h>
#include <engine/engine.h>

#include "conv-learn.h"

/* --- what it is learnt for ----------------------------------------------------------------------------------------------
 */

gboolean conv_has_layers(const IfmConvPoint *point)
{
    return point->point->reason == NULL && point->layers != NULL && point->layers->len > 0;
}

gint64 conv_threads(const IfmConvPoint *point)
{
    const json_t *asked = json_object_get(point->point->axes, "threads");
    const IfmMeasurement *measurement = point->point->measurement;
    const json_t *seen = measurement != NULL ? json_object_get(measurement->effective_config, "n_threads") : NULL;
    const char *device = point->point->device->device;
    g_autoptr(IfmDeviceSpec) spec = device != NULL ? ifm_device_spec_parse(device, NULL) : NULL;
    if (json_integer_value(asked) > 0)
        return json_integer_value(asked);
    if (spec != NULL && spec->n_cores > 0)
        return (gint64)spec->n_cores;
    return MAX(json_integer_value(seen), 1);
}

static void add_setting(GArray *settings, const IfmConvPoint *point)
{
    const IfmConvSetting setting = { point->point->device, conv_threads(point) };
    for (guint i = 0; i < settings->len; i++)
    {
        const IfmConvSetting *other = &g_array_index(settings, IfmConvSetting, i);
        if (other->device == setting.device && other->threads == setting.threads)
            return;
    }
    g_array_append_val(settings, setting);
}

GArray *ifm_conv_settings(const IfmConvFindings *findings)
{
    GArray *settings = g_array_new(FALSE, FALSE, sizeof(IfmConvSetting));
    for (guint i = 0; i < findings->points->len; i++)
        if (((const IfmConvPoint *)findings->points->pdata[i])->point->reason == NULL)
            add_setting(settings, findings->points->pdata[i]);
    return settings;
}

/* "1 on CPU, 4 on BIG" (transfer full) */
static char *say_settings(const GArray *settings)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < settings->len; i++)
    {
        const IfmConvSetting *setting = &g_array_index(settings, IfmConvSetting, i);
        g_string_append_printf(text, "%s%" G_GINT64_FORMAT " on %s", i > 0 ? ", " : "", setting->threads,
                               setting->device->alias);
    }
    return g_string_free(text, FALSE);
}

GArray *conv_settings(const IfmConvFindings *findings, gint64 threads, const char *name, GError **error)
{
    g_autoptr(GArray) all = ifm_conv_settings(findings);
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(IfmConvSetting));
    g_autofree char *there = say_settings(all);
    for (guint i = 0; i < all->len; i++)
        if (threads == 0 || g_array_index(all, IfmConvSetting, i).threads == threads)
            g_array_append_val(found, g_array_index(all, IfmConvSetting, i));
    if (found->len > 0)
        return g_steal_pointer(&found);
    if (all->len == 0)
        ifm_error_refuse(error, "%s: nothing was measured: there is nothing to learn from", name);
    else
        ifm_error_refuse(error, "%s: nothing was measured with %" G_GINT64_FORMAT " thread%s (threads: %s)", name, threads,
                         ifm_plural((gsize)threads), there);
    return NULL;
}

gboolean conv_is_used(const ConvLearning *self, const IfmConvPoint *point, const char *without)
{
    return point->point->device == self->setting->device && conv_has_layers(point) &&
           g_strcmp0(point->model, without) != 0 && conv_threads(point) == self->setting->threads;
}

GPtrArray *conv_models(const ConvLearning *self)
{
    GPtrArray *models = g_ptr_array_new();
    for (guint i = 0; i < self->findings->points->len; i++)
    {
        const IfmConvPoint *point = self->findings->points->pdata[i];
        if (conv_is_used(self, point, NULL) && !g_ptr_array_find_with_equal_func(models, point->model, g_str_equal, NULL))
            g_ptr_array_add(models, (gpointer)point->model);
    }
    return models;
}

/* --- layers -------------------------------------------------------------------------------------------------------------
 */

struct IfmConvLearned
{
    GHashTable *curves; /* class_of() -> ConvCurve* */
    GHashTable *kinds;  /* conv_kind() of the class's algorithm and implementer: a set */
    ConvRest rest;
};

void ifm_conv_learned_free(IfmConvLearned *self)
{
    g_hash_table_unref(self->curves);
    g_hash_table_unref(self->kinds);
    g_free(self);
}

/* "direct of oneDNN" is another program than our own of that name, and has times of its own. */
#define LIBRARY " of oneDNN"

static const char *library_of(const IfmConvLayer *layer)
{
    return g_str_has_prefix(layer->implementation, "oneDNN") ? LIBRARY : "";
}

/* (transfer full) "direct depthwise", "direct of oneDNN dense" */
static char *class_of(const IfmConvLayer *layer, const char *algorithm, const char *library)
{
    return g_strconcat(algorithm, library, " ", conv_grouping(layer), NULL);
}

/* (transfer full) layers of one shape in a network, whatever ran them, are one. */
static char *shape_of(const IfmConvLayer *layer, const char *model)
{
    return g_strdup_printf("%s %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %" G_GINT64_FORMAT "x%" G_GINT64_FORMAT
                           " %" G_GINT64_FORMAT " %" G_GINT64_FORMAT "x%" G_GINT64_FORMAT " %" G_GINT64_FORMAT
                           "x%" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %" G_GINT64_FORMAT,
                           model, layer->in_channels, layer->out_channels, layer->kernel_rows, layer->kernel_columns,
                           layer->groups, layer->stride_rows, layer->stride_columns, layer->dilation_rows,
                           layer->dilation_columns, layer->batch, layer->macs);
}

/* Shape: layers of one, of one network, by one program. */
typedef struct
{
    const IfmConvLayer *layer;
    const char *model;
    double weights_bytes;
    GArray *times_ns;
} Shape;

static void shape_free(gpointer data)
{
    g_array_unref(((Shape *)data)->times_ns);
    g_free(data);
}

/* Class: shapes by one program. */
typedef struct
{
    char *algorithm;
    GHashTable *by_text; /* -> Shape*, borrowed */
    GPtrArray *shapes;
} Class;

static void class_free(gpointer data)
{
    Class *class = data;
    g_free(class->algorithm);
    g_hash_table_unref(class->by_text);
    g_ptr_array_unref(class->shapes);
    g_free(class);
}

static Class *class_for(GHashTable *classes, const IfmConvLayer *layer)
{
    char *name = class_of(layer, layer->algorithm, library_of(layer));
    Class *class = g_hash_table_lookup(classes, name);
    if (class != NULL)
    {
        g_free(name);
        return class;
    }
    class = g_new(Class, 1);
    *class = (Class){ .algorithm = g_strdup(layer->algorithm),
                      .by_text = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                      .shapes = g_ptr_array_new_with_free_func(shape_free) };
    g_hash_table_insert(classes, name, class);
    return class;
}

static void add_layer(Class *class, const IfmConvLayer *layer, double time_ns, const IfmConvPoint *point,
                      double weights_bytes)
{
    char *text = shape_of(layer, point->model);
    Shape *shape = g_hash_table_lookup(class->by_text, text);
    if (shape == NULL)
    {
        shape = g_new(Shape, 1);
        *shape = (Shape){ layer, point->model, weights_bytes, g_array_new(FALSE, FALSE, sizeof(double)) };
        g_ptr_array_add(class->shapes, shape);
        g_hash_table_insert(class->by_text, g_steal_pointer(&text), shape);
    }
    g_array_append_val(shape->times_ns, time_ns);
    g_free(text);
}

static void add_point(GHashTable *classes, GHashTable *kinds, const IfmConvPoint *point)
{
    const double weights_bytes = ifm_conv_weights_bytes(point->layers);
    for (guint i = 0; i < point->layers->len; i++)
    {
        const IfmConvLayer *layer = point->layers->pdata[i];
        const double time_ns = g_array_index(point->times_ns, double, i);
        if (!conv_is_known(layer) || !(time_ns > 0))
            continue;
        g_autofree char *name = g_strconcat(layer->algorithm, library_of(layer), NULL);
        g_hash_table_add(kinds, conv_kind(layer, name));
        add_layer(class_for(classes, layer), layer, time_ns, point, weights_bytes);
    }
}

static ConvCurve *curve_of(const Class *class)
{
    g_autofree ConvSample *samples = g_new(ConvSample, class->shapes->len);
    for (guint i = 0; i < class->shapes->len; i++)
    {
        const Shape *shape = class->shapes->pdata[i];
        double *times_ns = (double *)(void *)shape->times_ns->data;
        ifm_sort_doubles(times_ns, shape->times_ns->len);
        samples[i] = (ConvSample){ shape->layer, shape->weights_bytes, ifm_quantile(times_ns, shape->times_ns->len, 0.5),
                                   shape->model };
    }
    return conv_curve_new(samples, class->shapes->len, class->algorithm);
}

IfmConvLearned *conv_learn(const ConvLearning *self, const char *without, GError **error)
{
    g_autoptr(GHashTable) classes = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, class_free);
    IfmConvLearned *learned = g_new0(IfmConvLearned, 1);
    GHashTableIter iter;
    gpointer name, class;
    learned->kinds = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    learned->curves = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)conv_curve_free);
    for (guint i = 0; i < self->findings->points->len; i++)
        if (conv_is_used(self, self->findings->points->pdata[i], without))
            add_point(classes, learned->kinds, self->findings->points->pdata[i]);
    g_hash_table_iter_init(&iter, classes);
    while (g_hash_table_iter_next(&iter, &name, &class))
        g_hash_table_insert(learned->curves, g_strdup(name), curve_of(class));
    conv_rest_learn(&learned->rest, self, without);
    if (g_hash_table_size(learned->curves) > 0)
        return learned;
    ifm_error_refuse(error, "%s: no convolution of its was measured: there is nothing to learn from",
                     self->setting->device->alias);
    ifm_conv_learned_free(learned);
    return NULL;
}

IfmConvLearned *ifm_conv_learn(const IfmConvFindings *findings, const IfmConvSetting *setting, const char *without,
                               GError **error)
{
    const ConvLearning self = { findings, setting };
    return conv_learn(&self, without, error);
}

/* --- what a layer takes -------------------------------------------------------------------------------------------------
 */

/* By one program; NaN: it did no such layer. */
static double layer_of(const IfmConvLearned *self, const IfmConvLayer *layer, double weights_bytes, const char *algorithm,
                       const char *library)
{
    g_autofree char *class = class_of(layer, algorithm, library), *name = g_strconcat(algorithm, library, NULL),
                    *kind = conv_kind(layer, name);
    const ConvCurve *curve = g_hash_table_lookup(self->curves, class);
    return curve != NULL && g_hash_table_contains(self->kinds, kind) ? conv_curve_ns(curve, layer, weights_bytes)
                                                                     : (double)NAN;
}

double ifm_conv_learned_layer(const IfmConvLearned *self, const IfmConvLayer *layer, double weights_bytes,
                              const char *algorithm)
{
    if (!conv_is_known(layer))
        return (double)NAN;
    const double by_library = layer_of(self, layer, weights_bytes, algorithm, LIBRARY);
    return isnan(by_library) ? layer_of(self, layer, weights_bytes, algorithm, "") : by_library;
}

double conv_own_layer(const IfmConvLearned *self, const IfmConvLayer *layer, double weights_bytes, const char *algorithm)
{
    if (!conv_is_known(layer))
        return (double)NAN;
    const double own = layer_of(self, layer, weights_bytes, algorithm, "");
    return isnan(own) ? layer_of(self, layer, weights_bytes, algorithm, LIBRARY) : own;
}

const ConvRest *conv_rest(const IfmConvLearned *self)
{
    return &self->rest;
}

/* --- how well -----------------------------------------------------------------------------------------------------------
 */

static double point_ns(const IfmConvLearned *self, const IfmConvPoint *point, const ConvNetwork *network)
{
    const double weights_bytes = ifm_conv_weights_bytes(point->layers);
    double sum_ns = conv_rest_ns(&self->rest, network);
    for (guint i = 0; i < point->layers->len; i++)
        sum_ns += ifm_conv_learned_layer(self, point->layers->pdata[i], weights_bytes,
                                         ((const IfmConvLayer *)point->layers->pdata[i])->algorithm);
    return sum_ns;
}

/* Its points follow each other size by size: what is not of the algorithm is found once for each. */
static void add_errors(const ConvLearning *self, const char *model, GArray *errors)
{
    g_autoptr(IfmConvLearned) others = conv_learn(self, model, NULL);
    gint64 size = -1;
    ConvNetwork network;
    for (guint k = 0; others != NULL && k < self->findings->points->len; k++)
    {
        const IfmConvPoint *point = self->findings->points->pdata[k];
        if (!conv_is_used(self, point, NULL) || !g_str_equal(point->model, model))
            continue;
        if (size != point->input_size)
            conv_network_again(&network, point);
        size = point->input_size;
        const double error = fabs(point_ns(others, point, &network) / point->point->median_ns - 1);
        if (isfinite(error))
            g_array_append_val(errors, error);
    }
}

GArray *conv_errors(const ConvLearning *self)
{
    GArray *errors = g_array_new(FALSE, FALSE, sizeof(double));
    g_autoptr(GPtrArray) models = conv_models(self);
    for (guint i = 0; models->len >= IFM_CONV_LEAST_NETWORKS && i < models->len; i++)
        add_errors(self, models->pdata[i], errors);
    return errors;
}

GArray *ifm_conv_learned_errors(const IfmConvFindings *findings, const IfmConvSetting *setting)
{
    const ConvLearning self = { findings, setting };
    return conv_errors(&self);
}
