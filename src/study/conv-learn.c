/* What a network that was never measured takes with each convolution algorithm: layer times learnt from their shapes. */
#include <math.h>
#include <string.h>

#include <base/base.h>
#include <base/statistics.h>
#include <learn/learn.h>
#include <study/findings.h>
#include <zoo/zoo.h>

/* --- what a layer is ----------------------------------------------------------------------------------------------------
 */

/* Of one algorithm a class of kernels; underscores would part it. (transfer full) */
static char *class_of(const char *algorithm)
{
    g_auto(GStrv) words = g_strsplit(algorithm, "_", -1);
    g_autofree char *joined = g_strjoinv("", words);
    return g_strconcat("Conv_", joined, NULL);
}

/* Multiplications for one output. */
static double depth_of(const IfmConvLayer *layer)
{
    const gint64 channels = layer->in_channels / MAX(layer->groups, 1);
    return (double)(channels * layer->kernel_rows * layer->kernel_columns);
}

/* Outputs of one channel, of all images. */
static double pixels_of(const IfmConvLayer *layer)
{
    return (double)layer->macs / ((double)layer->out_channels * depth_of(layer));
}

static double output_bytes_of(const IfmConvLayer *layer)
{
    return sizeof(float) * pixels_of(layer) * (double)layer->out_channels;
}

static gboolean is_known(const IfmConvLayer *layer)
{
    return layer->macs > 0 && layer->groups > 0 && layer->in_channels >= layer->groups && layer->out_channels > 0;
}

static void describe(const IfmConvLayer *layer, const char *class, double threads, IfmKernelSample *sample)
{
    const double pixels = pixels_of(layer), stride = (double)(layer->stride_rows * layer->stride_columns);
    ifm_kernel_sample_init(sample);
    sample->op_type = class;
    sample->threads = threads;
    sample->flop = 2 * (double)layer->macs;
    sample->input_bytes = sizeof(float) * pixels * stride * (double)layer->in_channels;
    sample->weight_bytes = sizeof(float) * (double)layer->out_channels * depth_of(layer);
    sample->output_bytes = output_bytes_of(layer);
    sample->features = (IfmKernelFeatures){ .batch = 1,
                                            .channels = (double)layer->in_channels,
                                            .height = sqrt(pixels),
                                            .width = sqrt(pixels),
                                            .outputs = (double)layer->out_channels,
                                            .kernel_size = sqrt((double)(layer->kernel_rows * layer->kernel_columns)),
                                            .stride = sqrt(stride),
                                            .groups = (double)layer->groups,
                                            .dilation = (double)layer->dilation_rows,
                                            .m = pixels,
                                            .k = depth_of(layer),
                                            .n = (double)layer->out_channels };
}

/* What an algorithm can do or not, and does in its own way. (transfer full) */
static char *kind_of(const IfmConvLayer *layer, const char *class)
{
    const char *grouping = layer->groups == 1                                                            ? "dense"
                           : layer->groups == layer->in_channels && layer->groups == layer->out_channels ? "depthwise"
                                                                                                         : "grouped";
    return g_strdup_printf("%s %" G_GINT64_FORMAT "x%" G_GINT64_FORMAT " %" G_GINT64_FORMAT "x%" G_GINT64_FORMAT " %s %s",
                           class, layer->kernel_rows, layer->kernel_columns, layer->stride_rows, layer->stride_columns,
                           layer->dilation_rows > 1 || layer->dilation_columns > 1 ? "dilated" : "plain", grouping);
}

/* --- learning -----------------------------------------------------------------------------------------------------------
 */

#define N_TERMS 3

/* Network: what of a network is no convolution goes with the data between its layers, the weights of its products and the
 * number of its nodes. */
typedef struct
{
    double terms[N_TERMS];
} Network;

struct IfmConvLearned
{
    IfmLatencyModel *layers;
    double rest[N_TERMS];
    double threads;
    GHashTable *kinds; /* kind_of(): a set */
};

void ifm_conv_learned_free(IfmConvLearned *self)
{
    ifm_latency_model_free(self->layers);
    g_hash_table_unref(self->kinds);
    g_free(self);
}

/* Bytes of the weights of a model's products. */
static double product_bytes_in(IfmModel *model)
{
    double bytes = 0;
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *node = ifm_model_node(model, i);
        IfmTensor weights;
        const gboolean is_product = g_str_equal(node->op_type, "Gemm") || g_str_equal(node->op_type, "MatMul");
        if (is_product && node->n_inputs > 1 && ifm_model_initializer(model, node->inputs[1], &weights))
            bytes += (double)weights.size_bytes;
    }
    return bytes;
}

/* The same of a measured model, whose sizes make no difference; NaN: it cannot be opened any more. */
static double product_bytes_of(const char *model)
{
    const IfmModelRequest request = { .text = model, .seed = 1 };
    g_auto(IfmModelSource) source = { 0 };
    return ifm_model_source_open(&request, &source, NULL) ? product_bytes_in(source.model) : (double)NAN;
}

static Network network_of(const GPtrArray *layers, double product_bytes)
{
    Network network = { .terms = { 0, product_bytes, (double)layers->len } };
    for (guint i = 0; i < layers->len; i++)
        if (is_known(layers->pdata[i]))
            network.terms[0] += output_bytes_of(layers->pdata[i]);
    return network;
}

/* Learning: the points of one device. @product_bytes: model -> double*, of all devices: find_product_bytes() */
typedef struct
{
    const IfmConvFindings *findings;
    const IfmStudyDevice *device;
    GHashTable *product_bytes;
} Learning;

static gboolean has_layers(const IfmConvPoint *point)
{
    return point->point->reason == NULL && point->layers != NULL && point->layers->len > 0;
}

static gboolean is_used(const Learning *self, const IfmConvPoint *point, const char *without)
{
    return point->point->device == self->device && has_layers(point) && g_strcmp0(point->model, without) != 0;
}

/* (transfer full) the models of its device: const char* */
static GPtrArray *models_of(const Learning *self)
{
    GPtrArray *models = g_ptr_array_new();
    for (guint i = 0; i < self->findings->points->len; i++)
    {
        const IfmConvPoint *point = self->findings->points->pdata[i];
        if (is_used(self, point, NULL) && !g_ptr_array_find_with_equal_func(models, point->model, g_str_equal, NULL))
            g_ptr_array_add(models, (gpointer)point->model);
    }
    return models;
}

static double threads_of(const IfmConvPoint *point)
{
    const json_t *threads = json_object_get(point->point->axes, "threads");
    return json_is_integer(threads) ? (double)json_integer_value(threads) : 1;
}

static void add_samples(IfmKernelSamples *samples, IfmConvLearned *learned, const IfmConvPoint *point)
{
    for (guint i = 0; i < point->layers->len; i++)
    {
        const IfmConvLayer *layer = point->layers->pdata[i];
        const double time_ns = g_array_index(point->times_ns, double, i);
        if (!is_known(layer) || !(time_ns > 0))
            continue;
        g_autofree char *class = class_of(layer->algorithm),
                        *shape = g_strdup_printf(
                            "%" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %" G_GINT64_FORMAT "x%" G_GINT64_FORMAT
                            " %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %" G_GINT64_FORMAT " %.0f",
                            layer->in_channels, layer->out_channels, layer->kernel_rows, layer->kernel_columns,
                            layer->groups, layer->stride_rows, layer->dilation_rows, pixels_of(layer)),
                        *id = g_strconcat(class, " ", shape, NULL);
        IfmKernelSample sample;
        describe(layer, class, learned->threads, &sample);
        sample.kernel_id = id;
        sample.configuration = shape;
        sample.models = point->model;
        sample.latency_ms = sample.median_ms = time_ns / 1e6;
        ifm_kernel_samples_add(samples, &sample);
        g_hash_table_add(learned->kinds, kind_of(layer, class));
    }
}

/* @weights: (out) zeros where nothing is known */
static void fit_rest(const Learning *self, const char *without, double weights[N_TERMS])
{
    g_autoptr(GArray) terms = g_array_new(FALSE, FALSE, sizeof(double)), rests = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < self->findings->points->len; i++)
    {
        const IfmConvPoint *point = self->findings->points->pdata[i];
        const double *bytes = g_hash_table_lookup(self->product_bytes, point->model);
        const double rest_ns = point->point->median_ns - point->layers_ns;
        if (!is_used(self, point, without) || bytes == NULL || isnan(*bytes) || !(rest_ns > 0))
            continue;
        const Network network = network_of(point->layers, *bytes);
        g_array_append_vals(terms, network.terms, N_TERMS);
        g_array_append_val(rests, rest_ns);
    }
    for (gsize i = 0; i < N_TERMS; i++)
        weights[i] = 0;
    if (rests->len > 0)
        ifm_fit_line((const double *)(const void *)terms->data, (const double *)(const void *)rests->data, rests->len,
                     N_TERMS, weights);
}

static IfmConvLearned *learn(const Learning *self, const char *without, GError **error)
{
    g_autoptr(IfmKernelSamples) samples = ifm_kernel_samples_new(NULL);
    g_autoptr(IfmConvLearned) learned = g_new0(IfmConvLearned, 1);
    const IfmLearnOptions options = { .seed = 1, .threads = 1, .data = "study" };
    learned->kinds = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (guint i = 0; i < self->findings->points->len; i++)
    {
        const IfmConvPoint *point = self->findings->points->pdata[i];
        if (!is_used(self, point, without))
            continue;
        learned->threads = threads_of(point);
        add_samples(samples, learned, point);
    }
    if (ifm_kernel_samples_n(samples) == 0)
    {
        ifm_error_refuse(error, "%s: no convolution of its was measured: there is nothing to learn from",
                         self->device->alias);
        return NULL;
    }
    learned->layers = ifm_learn_train(samples, &options, error);
    if (learned->layers == NULL)
        return NULL;
    fit_rest(self, without, learned->rest);
    return g_steal_pointer(&learned);
}

/* Opens each model once. (transfer full) */
static GHashTable *find_product_bytes(const IfmConvFindings *findings)
{
    GHashTable *product_bytes = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    for (guint i = 0; i < findings->points->len; i++)
    {
        const IfmConvPoint *point = findings->points->pdata[i];
        if (!has_layers(point) || g_hash_table_contains(product_bytes, point->model))
            continue;
        const double bytes = product_bytes_of(point->model);
        g_hash_table_insert(product_bytes, (gpointer)point->model, g_memdup2(&bytes, sizeof bytes));
    }
    return product_bytes;
}

IfmConvLearned *ifm_conv_learn(const IfmConvFindings *findings, const IfmStudyDevice *device, const char *without,
                               GError **error)
{
    g_autoptr(GHashTable) product_bytes = find_product_bytes(findings);
    const Learning self = { findings, device, product_bytes };
    return learn(&self, without, error);
}

/* --- predicting ---------------------------------------------------------------------------------------------------------
 */

double ifm_conv_learned_layer(const IfmConvLearned *self, const IfmConvLayer *layer, const char *algorithm)
{
    g_autofree char *class = class_of(algorithm), *kind = is_known(layer) ? kind_of(layer, class) : NULL;
    IfmKernelSample sample;
    IfmPredictedLatency predicted;
    if (kind == NULL || !g_hash_table_contains(self->kinds, kind))
        return NAN;
    describe(layer, class, self->threads, &sample);
    ifm_latency_model_predict(self->layers, &sample, NULL, &predicted);
    return predicted.latency_ns;
}

static double rest_ns(const IfmConvLearned *self, const Network *network)
{
    double sum_ns = 0;
    for (gsize i = 0; i < N_TERMS; i++)
        sum_ns += self->rest[i] * network->terms[i];
    return sum_ns;
}

static double point_ns(const IfmConvLearned *self, const IfmConvPoint *point, double product_bytes)
{
    const Network network = network_of(point->layers, product_bytes);
    double sum_ns = rest_ns(self, &network);
    for (guint i = 0; i < point->layers->len; i++)
        sum_ns += ifm_conv_learned_layer(self, point->layers->pdata[i],
                                         ((const IfmConvLayer *)point->layers->pdata[i])->algorithm);
    return sum_ns;
}

#define LEAST_NETWORKS 3

static GArray *find_errors(const Learning *self)
{
    GArray *errors = g_array_new(FALSE, FALSE, sizeof(double));
    g_autoptr(GPtrArray) models = models_of(self);
    for (guint i = 0; models->len >= LEAST_NETWORKS && i < models->len; i++)
    {
        g_autoptr(IfmConvLearned) others = learn(self, models->pdata[i], NULL);
        const double product_bytes = *(const double *)g_hash_table_lookup(self->product_bytes, models->pdata[i]);
        for (guint k = 0; others != NULL && k < self->findings->points->len; k++)
        {
            const IfmConvPoint *point = self->findings->points->pdata[k];
            if (!is_used(self, point, NULL) || !g_str_equal(point->model, models->pdata[i]))
                continue;
            const double error = fabs(point_ns(others, point, product_bytes) / point->point->median_ns - 1);
            if (isfinite(error))
                g_array_append_val(errors, error);
        }
    }
    return errors;
}

GArray *ifm_conv_learned_errors(const IfmConvFindings *findings, const IfmStudyDevice *device)
{
    g_autoptr(GHashTable) product_bytes = find_product_bytes(findings);
    const Learning self = { findings, device, product_bytes };
    return find_errors(&self);
}

/* --- a network ----------------------------------------------------------------------------------------------------------
 */

static void read_pair(const IfmNode *node, const char *attribute, gint64 *rows, gint64 *columns)
{
    gsize n = 0;
    const gint64 *found = ifm_node_ints(node, attribute, &n);
    *rows = n == 2 ? found[0] : 1;
    *columns = n == 2 ? found[1] : 1;
}

/* (transfer full) NULL: not of two dimensions, or its sizes are not known */
static IfmConvLayer *layer_of(const IfmModel *model, const IfmAnalysis *analysis, gsize index)
{
    const IfmNode *node = ifm_model_node(model, index);
    IfmDtype dtype;
    int rank = 0, weights_rank = 0;
    gint64 in[IFM_MAX_RANK], weights[IFM_MAX_RANK];
    if (!g_str_equal(node->op_type, "Conv") || node->n_inputs < 2 ||
        !ifm_analysis_shape(analysis, node->inputs[0], &dtype, &rank, in) || rank != 4 ||
        !ifm_analysis_shape(analysis, node->inputs[1], &dtype, &weights_rank, weights) || weights_rank != 4)
        return NULL;
    IfmConvLayer *layer = ifm_conv_layer_new();
    g_free(layer->layer);
    layer->layer = g_strdup(node->name[0] != '\0' ? node->name : node->outputs[0]);
    layer->in_channels = in[1];
    layer->out_channels = weights[0];
    layer->kernel_rows = weights[2];
    layer->kernel_columns = weights[3];
    layer->groups = ifm_node_int(node, "group", 1);
    layer->macs = ifm_analysis_node_cost(analysis, index)->macs;
    read_pair(node, "strides", &layer->stride_rows, &layer->stride_columns);
    read_pair(node, "dilations", &layer->dilation_rows, &layer->dilation_columns);
    return layer;
}

/* (transfer full) IfmConvLayer*; NULL with an error */
static GPtrArray *layers_of(const IfmModelSource *source, GError **error)
{
    const IfmDimBinding *bindings = (const IfmDimBinding *)(const void *)source->feed.bindings->data;
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(source->model, bindings, source->feed.bindings->len, error);
    g_autoptr(GPtrArray) layers = ifm_conv_layers_new();
    if (analysis == NULL)
        return NULL;
    for (gsize i = 0; i < ifm_model_n_nodes(source->model); i++)
    {
        IfmConvLayer *layer = layer_of(source->model, analysis, i);
        if (layer != NULL)
            g_ptr_array_add(layers, layer);
    }
    if (layers->len > 0)
        return g_steal_pointer(&layers);
    ifm_error_refuse(error, "%s has no convolution of two dimensions", ifm_model_name(source->model));
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
    IfmModelRequest request = { .text = sized != NULL ? sized : model, .open = options, .seed = 1 };
    if (size == 0 || sized != NULL)
        return ifm_model_source_open(&request, source, error);
    g_autoptr(IfmModel) plain = ifm_model_open(model, error);
    g_auto(GStrv) dims = plain != NULL ? dims_with_size(plain, options, size, error) : NULL;
    IfmModelOptions with_size = options != NULL ? *options : (IfmModelOptions){ 0 };
    with_size.dims = (const char *const *)dims;
    request.open = &with_size;
    return dims != NULL && ifm_model_source_open(&request, source, error);
}

/* What a layer takes by an algorithm, ns: by the fastest for "best"; where the algorithm cannot do it, by what ran instead
 * in the study. NaN: that is not known. @names: const char* */
static double layer_by(const IfmConvLearned *learned, const IfmConvLayer *layer, const char *algorithm,
                       const char *fallback, const GPtrArray *names)
{
    double least = NAN;
    if (!g_str_equal(algorithm, ifm_conv_algorithm_name(IFM_CONV_BEST)))
    {
        const double asked = ifm_conv_learned_layer(learned, layer, algorithm);
        return isnan(asked) && fallback != NULL ? ifm_conv_learned_layer(learned, layer, fallback) : asked;
    }
    for (guint i = 0; i < names->len; i++)
        least = fmin(least, ifm_conv_learned_layer(learned, layer, names->pdata[i]));
    return least;
}

/* The names of a device's points; what ran where an algorithm could not: const char*, or NULL, in the same order. */
static void find_names(const Learning *self, GPtrArray *names, GPtrArray *fallbacks)
{
    for (guint i = 0; i < self->findings->points->len; i++)
    {
        const IfmConvPoint *point = self->findings->points->pdata[i];
        guint at = 0;
        if (!is_used(self, point, NULL))
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

static gsize n_networks_of(const Learning *self)
{
    g_autoptr(GHashTable) models = g_hash_table_new(g_str_hash, g_str_equal);
    for (guint i = 0; i < self->findings->points->len; i++)
    {
        const IfmConvPoint *point = self->findings->points->pdata[i];
        if (point->point->device == self->device && point->point->reason == NULL)
            g_hash_table_add(models, (gpointer)point->model);
    }
    return g_hash_table_size(models);
}

static gboolean predict_on(const Learning *self, const GPtrArray *layers, double product_bytes, GArray *predictions,
                           GError **error)
{
    g_autoptr(IfmConvLearned) learned = learn(self, NULL, error);
    if (learned == NULL)
        return FALSE;
    g_autoptr(GArray) errors = find_errors(self);
    g_autoptr(GPtrArray) names = g_ptr_array_new(), fallbacks = g_ptr_array_new();
    const Network network = network_of(layers, product_bytes);
    double sum = 0;
    find_names(self, names, fallbacks);
    for (guint i = 0; i < errors->len; i++)
        sum += g_array_index(errors, double, i);
    ifm_sort_doubles((double *)(void *)errors->data, errors->len);
    IfmConvPrediction prediction = {
        .device = self->device,
        .origin = IFM_GRID_INTERPOLATED,
        .by_layers = TRUE,
        .n_networks = n_networks_of(self),
        .noise_ratio = NAN,
        .energy_j = NAN,
        .mean_ratio = errors->len > 0 ? sum / errors->len : (double)NAN,
        .p95_ratio = errors->len > 0 ? ifm_quantile((double *)(void *)errors->data, errors->len, 0.95) : (double)NAN,
    };
    for (guint i = 0; i < names->len; i++)
    {
        double time_ns = rest_ns(learned, &network);
        for (guint k = 0; k < layers->len; k++)
            time_ns += layer_by(learned, layers->pdata[k], names->pdata[i], fallbacks->pdata[i], names);
        prediction.algorithm = names->pdata[i];
        prediction.time_ns = time_ns;
        prediction.lower_ns = time_ns / (1 + prediction.p95_ratio);
        prediction.upper_ns = time_ns * (1 + prediction.p95_ratio);
        if (isfinite(time_ns))
            g_array_append_val(predictions, prediction);
    }
    return TRUE;
}

GArray *ifm_conv_predict_network(const IfmStudyTables *points, const char *model, gint64 size,
                                 const IfmModelOptions *options, GError **error)
{
    g_auto(IfmModelSource) source = { 0 };
    if (!ifm_conv_predict_check(points, error) || !open_at(model, size, options, &source, error))
        return NULL;
    g_autoptr(GPtrArray) layers = layers_of(&source, error);
    if (layers == NULL)
        return NULL;
    g_autoptr(IfmConvFindings) findings = ifm_conv_findings(points);
    g_autoptr(GArray) predictions = g_array_new(FALSE, FALSE, sizeof(IfmConvPrediction));
    g_autoptr(GHashTable) product_bytes = find_product_bytes(findings);
    for (guint i = 0; i < points->devices->len; i++)
    {
        const Learning self = { findings, points->devices->pdata[i], product_bytes };
        if (n_networks_of(&self) > 0 && !predict_on(&self, layers, product_bytes_in(source.model), predictions, error))
            return NULL;
    }
    if (predictions->len > 0)
        return ifm_conv_predictions_sort(g_steal_pointer(&predictions));
    ifm_error_refuse(error, "%s: it has a layer of a kind that %s measured with no algorithm", model, points->name);
    return NULL;
}
