/* A network that a study did not measure: what it takes by each algorithm, and which of them suits each layer. */
#include <math.h>
#include <string.h>

#include <base/base.h>
#include <base/statistics.h>
#include <engine/conv-layers.h>
#include <engine/engine.h>
#include <zoo/zoo.h>

#include "conv-learn.h"

/* --- the network --------------------------------------------------------------------------------------------------------
 */

/* (transfer full) IfmConvLayer*; NULL with an error */
static GPtrArray *layers_of(const IfmModel *model, const IfmAnalysis *analysis, GError **error)
{
    g_autoptr(GPtrArray) layers = ifm_conv_layers_new();
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        IfmConvLayer *layer = ifm_conv_layer_read(model, analysis, i);
        if (layer != NULL)
            g_ptr_array_add(layers, layer);
    }
    if (layers->len > 0)
        return g_steal_pointer(&layers);
    ifm_error_refuse(error, "%s has no convolution of two dimensions", ifm_model_name(model));
    return NULL;
}

/* The free sizes of an image are those of rows and columns of an input of rank 4. (transfer full) NULL with an error */
static char **dims_with_size(const IfmModel *model, const IfmModelOptions *options, gint64 size, GError **error)
{
    g_autoptr(GPtrArray) dims = g_ptr_array_new_with_free_func(g_free);
    gboolean found = FALSE;
    for (const char *const *dim = options != NULL ? options->dims : NULL; dim != NULL && *dim != NULL; dim++)
        g_ptr_array_add(dims, g_strdup(*dim));
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
    {
        const IfmPort *port = ifm_model_input(model, i);
        for (int k = 2; port->rank == 4 && k < 4; k++)
        {
            found |= port->dims[k] == size || port->dims[k] < 0;
            if (port->dims[k] >= 0 && port->dims[k] != size)
            {
                ifm_error_refuse(error, "%s takes images of %" G_GINT64_FORMAT " alone, not %" G_GINT64_FORMAT,
                                 ifm_model_name(model), port->dims[k], size);
                return NULL;
            }
            if (port->dims[k] < 0 && port->dim_names[k] != NULL)
                g_ptr_array_add(dims, g_strdup_printf("%s=%" G_GINT64_FORMAT, port->dim_names[k], size));
        }
    }
    if (!found)
    {
        ifm_error_refuse(error, "%s takes no image: --size is of one", ifm_model_name(model));
        return NULL;
    }
    g_ptr_array_add(dims, NULL);
    return (char **)g_ptr_array_free(g_steal_pointer(&dims), FALSE);
}

static gboolean open_at(const char *model, gint64 size, const IfmModelOptions *options, IfmModelSource *source,
                        GError **error)
{
    const IfmZooEntry *entry = ifm_model_source_entry(model);
    g_autofree char *sized = size > 0 && ifm_zoo_parameter(entry, "size") != NULL
                                 ? g_strdup_printf("%s,size=%" G_GINT64_FORMAT, model, size)
                                 : NULL;
    IfmModelRequest request = { .text = sized != NULL ? sized : model, .open = options, .seed = 1, .is_outline = TRUE };
    if (size == 0 || sized != NULL)
        return ifm_model_source_open(&request, source, error);
    g_autoptr(IfmModel) plain = ifm_model_open(model, error);
    g_auto(GStrv) dims = plain != NULL ? dims_with_size(plain, options, size, error) : NULL;
    IfmModelOptions with_size = options != NULL ? *options : (IfmModelOptions){ 0 };
    with_size.dims = (const char *const *)dims;
    request.open = &with_size;
    return dims != NULL && ifm_model_source_open(&request, source, error);
}

/* Subject: a network that is to be predicted. */
typedef struct
{
    GPtrArray *layers; /* IfmConvLayer* */
    double weights_bytes;
    ConvNetwork network;
} Subject;

static void subject_clear(Subject *subject)
{
    g_clear_pointer(&subject->layers, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Subject, subject_clear)

static gboolean subject_init(Subject *subject, const char *model, gint64 size, const IfmModelOptions *options,
                             GError **error)
{
    g_auto(IfmModelSource) source = { 0 };
    if (!open_at(model, size, options, &source, error))
        return FALSE;
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(
        source.model, (const IfmDimBinding *)(const void *)source.feed.bindings->data, source.feed.bindings->len, error);
    subject->layers = analysis != NULL ? layers_of(source.model, analysis, error) : NULL;
    if (subject->layers == NULL)
        return FALSE;
    subject->weights_bytes = ifm_conv_weights_bytes(subject->layers);
    conv_network_of_model(&subject->network, source.model, analysis, subject->layers);
    return TRUE;
}

void conv_network_again(ConvNetwork *network, const IfmConvPoint *point)
{
    const IfmConvLayer *first = point->layers->pdata[0];
    const IfmZooEntry *entry = ifm_model_source_entry(point->model);
    g_autofree char *text = ifm_zoo_parameter(entry, "batch") != NULL && first->batch > 1
                                ? g_strdup_printf("%s,batch=%" G_GINT64_FORMAT, point->model, first->batch)
                                : g_strdup(point->model);
    g_auto(Subject) subject = { 0 };
    if (entry != NULL && subject_init(&subject, text, point->input_size, NULL, NULL))
        *network = subject.network;
    else
        conv_network_of_point(network, point);
}

/* --- predicting ---------------------------------------------------------------------------------------------------------
 */

/* What a layer takes by an algorithm, ns: by the fastest for "best"; where the algorithm cannot do it, by what ran instead
 * in the study. NaN: that is not known. @names: const char* */
static double layer_by(const IfmConvLearned *learned, const Subject *subject, const IfmConvLayer *layer,
                       const char *algorithm, const char *fallback, const GPtrArray *names)
{
    const double weights_bytes = subject->weights_bytes;
    double least = NAN;
    if (!g_str_equal(algorithm, ifm_conv_algorithm_name(IFM_CONV_BEST)))
    {
        const double asked = ifm_conv_learned_layer(learned, layer, weights_bytes, algorithm);
        return isnan(asked) && fallback != NULL ? ifm_conv_learned_layer(learned, layer, weights_bytes, fallback) : asked;
    }
    for (guint i = 0; i < names->len; i++)
        least = fmin(least, ifm_conv_learned_layer(learned, layer, weights_bytes, names->pdata[i]));
    return least;
}

/* The names of a setting's points; what ran where an algorithm could not: const char*, or NULL, in the same order. */
static void find_names(const ConvLearning *self, GPtrArray *names, GPtrArray *fallbacks)
{
    for (guint i = 0; i < self->findings->points->len; i++)
    {
        const IfmConvPoint *point = self->findings->points->pdata[i];
        guint at = 0;
        if (!conv_is_used(self, point, NULL))
            continue;
        if (!g_ptr_array_find_with_equal_func(names, point->algorithm, g_str_equal, &at))
        {
            at = names->len;
            g_ptr_array_add(names, (gpointer)point->algorithm);
            g_ptr_array_add(fallbacks, NULL);
        }
        for (guint k = 0; fallbacks->pdata[at] == NULL && k < point->layers->len; k++)
            if (((const IfmConvLayer *)point->layers->pdata[k])->fell_back)
                fallbacks->pdata[at] = ((IfmConvLayer *)point->layers->pdata[k])->algorithm;
    }
}

/* Its errors are those of networks that were left out. */
static IfmConvPrediction prediction_of(const ConvLearning *self)
{
    g_autoptr(GArray) errors = conv_errors(self);
    g_autoptr(GPtrArray) models = conv_models(self);
    double sum = 0, *values = (double *)(void *)errors->data;
    for (guint i = 0; i < errors->len; i++)
        sum += values[i];
    ifm_sort_doubles(values, errors->len);
    return (IfmConvPrediction){
        .device = self->setting->device,
        .threads = self->setting->threads,
        .origin = IFM_GRID_INTERPOLATED,
        .by_layers = TRUE,
        .n_networks = models->len,
        .noise_ratio = NAN,
        .energy_j = NAN,
        .mean_ratio = errors->len > 0 ? sum / errors->len : (double)NAN,
        .p95_ratio = errors->len > 0 ? ifm_quantile(values, errors->len, 0.95) : (double)NAN,
    };
}

static gboolean predict_in(const ConvLearning *self, const Subject *subject, GArray *predictions, GError **error)
{
    g_autoptr(IfmConvLearned) learned = conv_learn(self, NULL, error);
    if (learned == NULL)
        return FALSE;
    g_autoptr(GPtrArray) names = g_ptr_array_new(), fallbacks = g_ptr_array_new();
    IfmConvPrediction prediction = prediction_of(self);
    find_names(self, names, fallbacks);
    for (guint i = 0; i < names->len; i++)
    {
        double time_ns = conv_rest_ns(conv_rest(learned), &subject->network);
        for (guint k = 0; k < subject->layers->len; k++)
            time_ns += layer_by(learned, subject, subject->layers->pdata[k], names->pdata[i], fallbacks->pdata[i], names);
        prediction.algorithm = names->pdata[i];
        prediction.time_ns = time_ns;
        prediction.lower_ns = time_ns / (1 + prediction.p95_ratio);
        prediction.upper_ns = time_ns * (1 + prediction.p95_ratio);
        if (isfinite(time_ns))
            g_array_append_val(predictions, prediction);
    }
    return TRUE;
}

GArray *ifm_conv_predict_network(const IfmStudyTables *points, const char *model, gint64 size, gint64 threads,
                                 const IfmModelOptions *options, GError **error)
{
    g_auto(Subject) subject = { 0 };
    if (!ifm_conv_predict_check(points, error))
        return NULL;
    g_autoptr(IfmConvFindings) findings = ifm_conv_findings(points);
    g_autoptr(GArray) settings = conv_settings(findings, threads, points->name, error);
    if (settings == NULL || !subject_init(&subject, model, size, options, error))
        return NULL;
    g_autoptr(GArray) predictions = g_array_new(FALSE, FALSE, sizeof(IfmConvPrediction));
    for (guint i = 0; i < settings->len; i++)
    {
        const ConvLearning self = { findings, &g_array_index(settings, IfmConvSetting, i) };
        if (!predict_in(&self, &subject, predictions, error))
            return NULL;
    }
    if (predictions->len > 0)
        return ifm_conv_predictions_sort(g_steal_pointer(&predictions));
    ifm_error_refuse(error, "%s: it has a layer of a kind that %s measured with no algorithm", model, points->name);
    return NULL;
}

/* --- choosing -----------------------------------------------------------------------------------------------------------
 */

/* Algorithms that regions have, and the last level that tries them. */
static const struct
{
    IfmConvAlgorithm algorithm;
    IfmTuneLevel level;
} candidates[] = {
    { IFM_CONV_DIRECT, IFM_TUNE_EXACT },
    { IFM_CONV_IMPLICIT_GEMM, IFM_TUNE_EXACT },
    { IFM_CONV_IMPLICIT_PRECOMP_GEMM, IFM_TUNE_EXACT },
    { IFM_CONV_FFT, IFM_TUNE_CLOSE },
    { IFM_CONV_FFT_TILING, IFM_TUNE_CLOSE },
    { IFM_CONV_WINOGRAD, IFM_TUNE_ALL },
    { IFM_CONV_WINOGRAD_NONFUSED, IFM_TUNE_ALL },
};

static void choose(const IfmConvLearned *learned, const IfmConvLayer *layer, double weights_bytes, IfmTuneLevel level,
                   GPtrArray *choices)
{
    const char *fastest = NULL;
    double least_ns = (double)INFINITY;
    for (gsize i = 0; i < G_N_ELEMENTS(candidates); i++)
    {
        const char *name = ifm_conv_algorithm_name(candidates[i].algorithm);
        const double time_ns =
            candidates[i].level >= level ? conv_own_layer(learned, layer, weights_bytes, name) : (double)NAN;
        if (!(time_ns < least_ns))
            continue;
        least_ns = time_ns;
        fastest = name;
    }
    if (fastest == NULL)
        return;
    IfmTunePrediction *choice = g_new(IfmTunePrediction, 1);
    *choice = (IfmTunePrediction){ g_strdup(layer->layer), g_strdup(fastest), least_ns };
    g_ptr_array_add(choices, choice);
}

/* The setting that a model on the processor runs in. NULL with an error */
static const IfmConvSetting *setting_here(const GArray *settings, const char *name, int n_threads, GError **error)
{
    for (guint i = 0; i < settings->len; i++)
    {
        const IfmConvSetting *setting = &g_array_index(settings, IfmConvSetting, i);
        g_autoptr(IfmDeviceSpec) spec =
            setting->device->device != NULL ? ifm_device_spec_parse(setting->device->device, NULL) : NULL;
        if (spec != NULL && g_str_equal(spec->engine, "onnxruntime") && g_str_equal(spec->unit, "CPU"))
            return setting;
    }
    ifm_error_refuse(error, "%s: nothing was measured on onnxruntime:CPU with %d thread%s", name, n_threads,
                     ifm_plural((gsize)n_threads));
    return NULL;
}

GPtrArray *ifm_conv_choose(gpointer user, IfmModel *graph, const IfmDimBinding *bindings, gsize n_bindings, int n_threads,
                           IfmTuneLevel level, GError **error)
{
    const IfmStudyTables *points = user;
    if (!ifm_conv_predict_check(points, error))
        return NULL;
    g_autoptr(IfmConvFindings) findings = ifm_conv_findings(points);
    g_autoptr(GArray) settings = conv_settings(findings, n_threads, points->name, error);
    const IfmConvSetting *setting = settings != NULL ? setting_here(settings, points->name, n_threads, error) : NULL;
    g_autoptr(IfmAnalysis) analysis = setting != NULL ? ifm_model_analyse(graph, bindings, n_bindings, error) : NULL;
    g_autoptr(GPtrArray) layers = analysis != NULL ? layers_of(graph, analysis, error) : NULL;
    const ConvLearning learning = { findings, setting };
    g_autoptr(IfmConvLearned) learned = layers != NULL ? conv_learn(&learning, NULL, error) : NULL;
    GPtrArray *choices = learned != NULL ? ifm_tune_predictions_new() : NULL;
    for (guint i = 0; choices != NULL && i < layers->len; i++)
        choose(learned, layers->pdata[i], ifm_conv_weights_bytes(layers), level, choices);
    return choices;
}
