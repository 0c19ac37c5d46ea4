/* The optimised graph of a model with its convolutions (in blocked channels; on a GPU in NCHW) replaced by
 * inferometer:Conv. */
#include <string.h>

#include "onnxruntime-conv.h"

static void kernel_free(OrtConvKernel *kernel)
{
    g_clear_pointer(&kernel->conv, ifm_conv_free);
    g_clear_pointer(&kernel->cuda, ifm_conv_cuda_layer_free);
}

static void layer_free(gpointer data)
{
    OrtConvLayer *layer = data;
    ifm_conv_layer_free(layer->record);
    if (layer->key == NULL)
        kernel_free(&layer->kernel);
    for (int i = 0; i < ORT_CONV_CANDIDATES; i++)
        kernel_free(&layer->candidates[i]);
    ifm_conv_cuda_marks_free(layer->marks);
    ifm_conv_tuned_free(layer->key);
    g_free(layer->node);
    g_free(layer);
}

GPtrArray *ifm_ort_conv_layers_new(void)
{
    return g_ptr_array_new_with_free_func(layer_free);
}

void ifm_ort_conv_graph_clear(OrtConvGraph *graph)
{
    g_clear_pointer(&graph->model, ifm_model_unref);
    g_clear_pointer(&graph->layers, g_ptr_array_unref);
}

GPtrArray *ifm_ort_conv_records(const GPtrArray *layers)
{
    GPtrArray *records = ifm_conv_layers_new();
    for (guint i = 0; i < layers->len; i++)
        g_ptr_array_add(records, ifm_conv_layer_copy(((const OrtConvLayer *)layers->pdata[i])->record));
    return records;
}

/* What a rewriting needs. */
typedef struct
{
    IfmModel *model;
    const IfmAnalysis *analysis;
    const OrtConvWish *wish;
    const IfmConvChoice *choice;
    GHashTable *names; /* IfmNode* of a convolution of the model -> what its layer is called */
    int block;
    guint n_tuned;       /* layers with candidates */
    GPtrArray *layers;   /* OrtConvLayer* */
    GHashTable *reasons; /* of refusals, static text */
    guint n_refused;
    IfmConvAlgorithm refusing; /* of the first refusal */
    gsize workspace_bytes;     /* that the layers refused for theirs would take at most */
} Rewriting;

/* The runtime's blocks: 16 channels where the processor has AVX-512, else 8. */
static int runtime_block(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("avx512f") ? 16 : 8;
#else
    return 8;
#endif
}

#define SUFFIX "_nchwc" /* which the runtime puts behind the name of a node */

/* The node's name in the record. NULL: it is no convolution of the model. */
static const char *layer_name(const Rewriting *self, const IfmNode *node)
{
    return g_hash_table_lookup(self->names, node);
}

/* (transfer full) */
static char *plain_name(const char *name)
{
    return g_strndup(name, strlen(name) - (g_str_has_suffix(name, SUFFIX) ? strlen(SUFFIX) : 0));
}

/* A layer has three names: its own, and the one in the runtime's graph with and without what the runtime puts behind it. */
static IfmConvAlgorithm asked_of(const Rewriting *self, const IfmNode *node)
{
    const char *given = ifm_ort_conv_graph_name(node);
    g_autofree char *plain = plain_name(given);
    const char *const names[] = { layer_name(self, node), given, plain };
    gpointer algorithm = NULL;
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        if (g_hash_table_lookup_extended(self->choice->layers, names[i], NULL, &algorithm))
            return (IfmConvAlgorithm)GPOINTER_TO_INT(algorithm);
    return self->choice->all;
}

static gboolean has_input(const IfmNode *node, gsize index)
{
    return node->n_inputs > index && node->inputs[index][0] != '\0';
}

/* --- what a node says ------------------------------------------------------------------------------------------------- */

static void read_ints(const IfmNode *node, const char *attribute, gint64 *values, gsize n, gint64 fallback)
{
    gsize n_found = 0;
    const gint64 *found = ifm_node_ints(node, attribute, &n_found);
    for (gsize i = 0; i < n; i++)
        values[i] = found != NULL && n_found == n ? found[i] : fallback;
}

/* Why no algorithm of ours can compute a layer that the runtime can: as other refusals, IFM_ERROR_UNSUPPORTED. */
static gboolean cannot(const char *why, GError **error)
{
    return ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s", why);
}

/* The pads that auto_pad means are explicit in a shape. */
static void read_pads(const IfmNode *node, IfmConvShape *shape)
{
    read_ints(node, "pads", shape->pads, 4, 0);
    for (int i = 0; i < 2; i++)
    {
        const gint64 reach = (shape->kernel[i] - 1) * shape->dilation[i] + 1;
        gint64 pads[] = { shape->pads[i], shape->pads[i + 2] };
        ifm_window_pads(ifm_node_string(node, "auto_pad", "NOTSET"), shape->in[i], shape->stride[i], reach, pads);
        shape->pads[i] = pads[0];
        shape->pads[i + 2] = pads[1];
    }
}

/* That outputs, sum and weights are of the layer, also in a file that did not come from the runtime. */
static gboolean check_tensors(const Rewriting *self, const IfmNode *node, const IfmTensor *weights,
                              const IfmConvShape *shape, GError **error)
{
    const char *const names[] = { node->outputs[0], has_input(node, 3) ? node->inputs[3] : node->outputs[0] };
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
    {
        IfmDtype dtype;
        int rank = 0;
        gint64 dims[IFM_MAX_RANK];
        if (!ifm_analysis_shape(self->analysis, names[i], &dtype, &rank, dims) || rank != 4 || dims[0] != shape->batch ||
            dims[1] != shape->out_channels || dims[2] != shape->out[0] || dims[3] != shape->out[1])
            return cannot(i == 0 ? "an output of another shape" : "a sum of another shape", error);
    }
    return weights->shape[1] == shape->channels / shape->groups || cannot("weights of other channels", error);
}

static gboolean read_shape(const Rewriting *self, const IfmNode *node, const IfmTensor *weights, IfmConvShape *shape,
                           GError **error)
{
    IfmDtype dtype;
    int rank = 0;
    gint64 dims[IFM_MAX_RANK];
    if (!ifm_analysis_shape(self->analysis, node->inputs[0], &dtype, &rank, dims))
        return ifm_error_refuse(error, "%s: the size of its input is not known: convolution algorithms need fixed sizes",
                                layer_name(self, node));
    if (dtype != IFM_DTYPE_F32 || weights->dtype != IFM_DTYPE_F32)
        return cannot("not f32", error);
    if (rank != 4 || weights->rank != 4)
        return cannot("not of two dimensions", error);
    *shape = (IfmConvShape){ .batch = dims[0],
                             .channels = dims[1],
                             .out_channels = weights->shape[0],
                             .groups = ifm_node_int(node, "group", 1),
                             .in = { dims[2], dims[3] },
                             .kernel = { weights->shape[2], weights->shape[3] },
                             .block = self->block };
    shape->input_block = shape->channels < self->block ? 1 : self->block;
    read_ints(node, "strides", shape->stride, 2, 1);
    read_ints(node, "dilations", shape->dilation, 2, 1);
    read_pads(node, shape);
    return ifm_conv_shape_complete(shape, error) && check_tensors(self, node, weights, shape, error);
}

static gboolean read_activation(const IfmNode *node, IfmConvOptions *options, GError **error)
{
    static const struct
    {
        const char *name;
        IfmConvActivation activation;
        float alpha, beta; /* without activation_params */
    } activations[] = {
        { "", IFM_BLOCKED_IDENTITY, 0, 0 },
        { "Relu", IFM_BLOCKED_RELU, 0, 0 },
        { "Clip", IFM_BLOCKED_CLIP, 0, 0 },
        { "LeakyRelu", IFM_BLOCKED_LEAKY_RELU, 0.01F, 0 },
        { "Sigmoid", IFM_BLOCKED_SIGMOID, 0, 0 },
        { "Tanh", IFM_BLOCKED_TANH, 0, 0 },
        { "HardSigmoid", IFM_BLOCKED_HARD_SIGMOID, 0.2F, 0.5F },
    };
    const char *name = ifm_node_string(node, "activation", "");
    for (gsize i = 0; i < G_N_ELEMENTS(activations); i++)
        if (g_str_equal(name, activations[i].name))
        {
            gsize n = 0;
            const float *parameters = ifm_node_floats(node, "activation_params", &n);
            options->activation = activations[i].activation;
            options->alpha = n > 0 ? parameters[0] : activations[i].alpha;
            options->beta = n > 1 ? parameters[1] : activations[i].beta;
            return TRUE;
        }
    return cannot("an activation that is not known here", error);
}

/* The runtime's order of weights, [O / b][I / b][rows][columns][b of I][b of O], or without the blocks of I where there are
 * fewer channels than a block, as ONNX has them. */
static float *plain_weights(const IfmConvShape *shape, const char *blocked)
{
    const gint64 channels = shape->channels / shape->groups, block = shape->block;
    const gint64 in_block = channels >= block ? block : 1, n_taps = shape->kernel[0] * shape->kernel[1];
    float *plain = g_new(float, (gsize)(shape->out_channels * channels * n_taps));
    for (gint64 o = 0; o < shape->out_channels; o += block)
        for (gint64 c = 0; c < channels; c += in_block)
            for (gint64 tap = 0; tap < n_taps; tap++)
                for (gint64 i = 0; i < in_block; i++)
                    for (gint64 j = 0; j < block; j++, blocked += sizeof(float))
                        memcpy(&plain[((o + j) * channels + c + i) * n_taps + tap], blocked, sizeof(float));
    return plain;
}

/* --- a layer ---------------------------------------------------------------------------------------------------------- */

static void set_text(char **member, const char *text)
{
    g_free(*member);
    *member = g_strdup(text);
}

/* The record of a layer that the runtime's own kernel computes. */
static void leave_to_runtime(OrtConvLayer *layer, const IfmNode *node)
{
    set_text(&layer->record->algorithm, ifm_conv_algorithm_name(IFM_CONV_RUNTIME));
    g_free(layer->record->implementation);
    layer->record->implementation =
        g_strdup_printf("ONNX Runtime %s%s%s", node->domain, *node->domain != '\0' ? "." : "", node->op_type);
}

static void record_shape(IfmConvLayer *record, const IfmConvShape *shape)
{
    record->in_channels = shape->channels;
    record->out_channels = shape->out_channels;
    record->kernel_rows = shape->kernel[0];
    record->kernel_columns = shape->kernel[1];
    record->macs = ifm_conv_shape_macs(shape);
    record->groups = shape->groups;
    record->stride_rows = shape->stride[0];
    record->stride_columns = shape->stride[1];
    record->dilation_rows = shape->dilation[0];
    record->dilation_columns = shape->dilation[1];
    record->batch = shape->batch;
    record->out_rows = shape->out[0];
    record->out_columns = shape->out[1];
}

static void note_refusal(Rewriting *self, IfmConvAlgorithm algorithm, const char *why)
{
    if (self->n_refused++ == 0)
        self->refusing = algorithm;
    g_hash_table_add(self->reasons, (gpointer)g_intern_string(why));
}

/* What a node's attributes and weights say of a layer. */
typedef struct
{
    IfmConvShape shape;
    IfmConvOptions options;
    const char *blocked; /* the weights as the runtime orders them */
    float *weights;      /* as ONNX has them; made where an algorithm needs them */
    const float *bias;
    gboolean is_exact; /* "best" chose products of f32 where TF32 is allowed */
} LayerParts;

static void layer_parts_clear(LayerParts *parts)
{
    g_free(parts->weights);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(LayerParts, layer_parts_clear)

/* The runtime's kernel computes the layer. Where a fixed algorithm was asked for that is noted: it fell back, or without a
 * fallback it is refused. */
static void refuse_layer(Rewriting *self, IfmConvAlgorithm asked, OrtConvLayer *layer, const char *why)
{
    layer->record->fell_back = self->choice->fallback != IFM_N_CONV_ALGORITHMS && asked < IFM_N_CONV_FIXED;
    if (asked < IFM_N_CONV_FIXED && !layer->record->fell_back && !self->wish->tune)
        note_refusal(self, asked, why);
}

static gboolean try_algorithm(const Rewriting *self, IfmConvAlgorithm algorithm, gboolean is_exact, const LayerParts *parts,
                              OrtConvKernel *kernel, GError **error)
{
    if (self->wish->cuda != NULL) /* weights stay inputs of the node */
        kernel->cuda =
            ifm_conv_cuda_layer_new(self->wish->cuda, &parts->shape, algorithm, is_exact, &parts->options, error);
    else
        kernel->conv = ifm_conv_new(&parts->shape, algorithm, &parts->options, parts->weights, parts->bias, error);
    return ort_conv_runs(kernel);
}

static IfmConvInfo info_of(const OrtConvKernel *kernel)
{
    return kernel->cuda != NULL ? ifm_conv_cuda_layer_info(kernel->cuda) : ifm_conv_info(kernel->conv);
}

static const char *reason_of(Rewriting *self, IfmConvAlgorithm asked, const LayerParts *parts, const GError *refusal)
{
    const char *why = NULL;
    if (self->wish->cuda == NULL && asked < IFM_N_CONV_FIXED)
    {
        ifm_conv_supports(&parts->shape, asked, &parts->options, &why);
        self->workspace_bytes = MAX(self->workspace_bytes, ifm_conv_workspace(&parts->shape, asked, &parts->options));
    }
    return why != NULL ? why : refusal->message;
}

/* Makes the layer by the algorithm, else by the fallback. Where they cannot do it the chain ends at the runtime's kernel.
 */
static gboolean make_layer(Rewriting *self, IfmConvAlgorithm asked, const LayerParts *parts, OrtConvLayer *layer,
                           GError **error)
{
    const IfmConvAlgorithm fallback = self->choice->fallback;
    g_autoptr(GError) refusal = NULL, local = NULL;
    if (try_algorithm(self, asked, parts->is_exact, parts, &layer->kernel, &refusal))
        return TRUE;
    const gboolean is_refused =
        g_error_matches(refusal, IFM_ERROR, IFM_ERROR_UNSUPPORTED) ||
        (asked == IFM_CONV_GUESS && g_error_matches(refusal, IFM_ERROR, IFM_ERROR_UNAVAILABLE)); /* no oneDNN */
    if (is_refused && fallback < IFM_CONV_RUNTIME && try_algorithm(self, fallback, FALSE, parts, &layer->kernel, &local))
    {
        layer->record->fell_back = TRUE;
        return TRUE;
    }
    if (is_refused && (local == NULL || g_error_matches(local, IFM_ERROR, IFM_ERROR_UNSUPPORTED) ||
                       g_error_matches(local, IFM_ERROR, IFM_ERROR_UNAVAILABLE)))
    {
        refuse_layer(self, asked, layer, reason_of(self, asked, parts, refusal));
        return TRUE;
    }
    g_propagate_prefixed_error(error, is_refused ? g_steal_pointer(&local) : g_steal_pointer(&refusal),
                               "%s: ", layer->record->layer);
    return FALSE;
}

static gboolean read_layer(Rewriting *self, const IfmNode *node, LayerParts *parts, OrtConvLayer *layer, GError **error)
{
    IfmTensor weights, bias = { 0 };
    *parts = (LayerParts){ .shape.groups = 1,
                           .options = { .n_threads = self->wish->n_threads,
                                        .max_workspace_bytes = self->choice->max_workspace_bytes,
                                        .max_isa = ifm_blocked_max_isa(),
                                        .has_sum = has_input(node, 3) } };
    if (!ifm_model_initializer(self->model, node->inputs[1], &weights) ||
        (has_input(node, 2) && !ifm_model_initializer(self->model, node->inputs[2], &bias)))
        return cannot("weights that are no constants", error);
    if (!read_shape(self, node, &weights, &parts->shape, error) || !read_activation(node, &parts->options, error))
        return FALSE;
    record_shape(layer->record, &parts->shape);
    parts->blocked = weights.data;
    parts->bias = bias.data;
    return TRUE;
}

/* Two labels with one code path are none of two candidates. */
static gboolean check_candidates(const OrtConvLayer *layer, GError **error)
{
    for (int a = 0; a < ORT_CONV_CANDIDATES; a++)
        for (int b = 0; b < a; b++)
        {
            const OrtConvKernel *one = &layer->candidates[a], *other = &layer->candidates[b];
            if (ort_conv_runs(one) && ort_conv_runs(other) &&
                g_str_equal(info_of(one).implementation, info_of(other).implementation))
                return ifm_error_set(error, IFM_ERROR_FAILED, "%s: %s and %s are one implementation (%s)",
                                     layer->record->layer, ifm_conv_algorithm_name(info_of(other).algorithm),
                                     ifm_conv_algorithm_name(info_of(one).algorithm), info_of(one).implementation);
        }
    return TRUE;
}

/* What is no candidate of "best" although it can do a layer. @index: of the candidates */
static gboolean is_left_out(const Rewriting *self, const LayerParts *parts, int index)
{
    const IfmConvAlgorithm algorithm = (IfmConvAlgorithm)(index % IFM_N_CONV_FIXED);
    const gboolean is_second = index >= IFM_N_CONV_FIXED;
    if (self->wish->cuda == NULL)
        return is_second || ifm_conv_is_hopeless(&parts->shape, algorithm, &parts->options);
    return !ifm_conv_cuda_is_choice(&parts->shape, algorithm) ||
           (is_second && (algorithm == IFM_CONV_DIRECT || !ifm_conv_cuda_allows_tf32(self->wish->cuda)));
}

static gboolean is_refusal(const GError *error)
{
    return g_error_matches(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED) ||
           g_error_matches(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE) || g_error_matches(error, IFM_ERROR, IFM_ERROR_MEMORY);
}

/* All algorithms that can do the layer on this machine. */
static gboolean make_candidates(Rewriting *self, const LayerParts *parts, OrtConvLayer *layer, GError **error)
{
    for (int i = 0; i < ORT_CONV_CANDIDATES; i++)
    {
        g_autoptr(GError) local = NULL;
        OrtConvKernel *made = &layer->candidates[i];
        if (is_left_out(self, parts, i))
            continue;
        if (!try_algorithm(self, (IfmConvAlgorithm)(i % IFM_N_CONV_FIXED), i >= IFM_N_CONV_FIXED, parts, made, &local) &&
            !is_refusal(local))
        {
            g_propagate_prefixed_error(error, g_steal_pointer(&local), "%s: ", layer->record->layer);
            return FALSE;
        }
        if (!ort_conv_runs(&layer->kernel))
            layer->kernel = *made;
    }
    self->n_tuned += ort_conv_runs(&layer->kernel);
    return check_candidates(layer, error);
}

/* Whether a layer before it is tuned for the same key. */
static gboolean is_tuned_already(const Rewriting *self, const IfmConvTuned *key)
{
    for (guint i = 0; i < self->layers->len; i++)
    {
        const OrtConvLayer *layer = self->layers->pdata[i];
        if (layer->key != NULL && g_str_equal(layer->key->shape, key->shape))
            return TRUE;
    }
    return FALSE;
}

/* What "best" is for the layer: a fixed algorithm, or the runtime's kernel. While tuning, the first layer of each unknown
 * shape gets its candidates. */
static gboolean resolve_best(Rewriting *self, LayerParts *parts, OrtConvLayer *layer, IfmConvAlgorithm *algorithm,
                             GError **error)
{
    const OrtConvWish *wish = self->wish;
    *algorithm = IFM_CONV_RUNTIME;
    if (wish->leave_best)
        return TRUE;
    IfmConvTuned *key = wish->cuda != NULL
                            ? ifm_conv_cuda_tuned_key(wish->cuda, &parts->shape, &parts->options, wish->runtime)
                            : ifm_conv_tuned_key(&parts->shape, &parts->options, wish->runtime);
    const IfmConvTuned *found = ifm_conv_tuned_find(wish->tuned, key);
    if (found == NULL && wish->tune && !is_tuned_already(self, key))
    {
        layer->key = key;
        if (wish->cuda == NULL)
            parts->weights = plain_weights(&parts->shape, parts->blocked);
        return make_candidates(self, parts, layer, error);
    }
    ifm_conv_tuned_free(key);
    return found == NULL || wish->tune || ifm_conv_tuned_parse(found, algorithm, &parts->is_exact, error);
}

static gboolean fill_layer(Rewriting *self, const IfmNode *node, IfmConvAlgorithm asked, OrtConvLayer *layer,
                           GError **error)
{
    g_auto(LayerParts) parts = { 0 };
    g_autoptr(GError) trouble = NULL;
    const gboolean is_read = read_layer(self, node, &parts, layer, &trouble);
    if (asked == IFM_CONV_RUNTIME) /* what it computes makes no difference then */
        return TRUE;
    if (!is_read && g_error_matches(trouble, IFM_ERROR, IFM_ERROR_UNSUPPORTED))
    {
        refuse_layer(self, asked, layer, trouble->message);
        return TRUE;
    }
    if (!is_read)
        return ifm_error_pass(error, g_steal_pointer(&trouble));
    if (asked == IFM_CONV_BEST && !resolve_best(self, &parts, layer, &asked, error))
        return FALSE;
    if (asked == IFM_CONV_RUNTIME || self->wish->tune)
        return TRUE;
    if (self->wish->cuda == NULL)
        parts.weights = plain_weights(&parts.shape, parts.blocked);
    if (!make_layer(self, asked, &parts, layer, error))
        return FALSE;
    if (!ort_conv_runs(&layer->kernel))
        return TRUE;
    const IfmConvInfo info = info_of(&layer->kernel);
    set_text(&layer->record->algorithm, ifm_conv_algorithm_name(info.algorithm));
    set_text(&layer->record->implementation, info.implementation);
    layer->record->workspace_bytes = (gint64)info.workspace_bytes;
    return TRUE;
}

/* Adds the layer of a convolution. */
static gboolean add_layer(Rewriting *self, const IfmNode *node, OrtConvLayer **added, GError **error)
{
    const IfmConvAlgorithm asked = asked_of(self, node);
    OrtConvLayer *layer = g_new0(OrtConvLayer, 1);
    layer->record = ifm_conv_layer_new();
    set_text(&layer->record->layer, layer_name(self, node));
    layer->node = g_strdup(node->name);
    set_text(&layer->record->asked, ifm_conv_algorithm_name(asked));
    g_ptr_array_add(self->layers, layer);
    *added = layer;
    leave_to_runtime(layer, node);
    const gboolean is_on_cuda = self->wish->cuda != NULL, is_blocked = ifm_ort_is_blocked_conv(node);
    const char *why = ifm_ort_is_integer_conv(node) ? "not f32"
                      : !is_blocked && !is_on_cuda  ? "kept in NCHW by the runtime"
                      : is_blocked && is_on_cuda    ? "left to the processor by the runtime"
                                                    : NULL;
    if (why != NULL)
    {
        refuse_layer(self, asked, layer, why);
        return TRUE;
    }
    return fill_layer(self, node, asked, layer, error);
}

/* --- nodes ------------------------------------------------------------------------------------------------------------ */

/* Whether the runtime's own kernel of a layer is to be timed, which takes its tensors to be f32. */
static gboolean is_marked(const Rewriting *self, const IfmNode *node)
{
    IfmDtype dtype;
    int rank = 0;
    gint64 dims[IFM_MAX_RANK];
    return self->wish->marks && self->wish->cuda != NULL && !ifm_ort_is_integer_conv(node) &&
           ifm_analysis_shape(self->analysis, node->inputs[0], &dtype, &rank, dims) && dtype == IFM_DTYPE_F32;
}

/* inferometer:Mark. @after: what else is there by then; NULL */
static void add_mark(const Rewriting *self, IfmModelBuilder *builder, const char *from, const char *after, const char *to,
                     gboolean is_end)
{
    const char *inputs[] = { from, after, NULL }, *outputs[] = { to, NULL };
    const gsize index = ifm_model_builder_node(builder, "Mark", NULL, inputs, outputs);
    ifm_model_builder_domain(builder, index, "inferometer", 1);
    ifm_model_builder_int(builder, index, "layer", self->layers->len - 1);
    ifm_model_builder_int(builder, index, "is_end", is_end);
}

/* The runtime's own kernel between two marks: nothing else has to be computed between them. */
static void copy_marked(const Rewriting *self, IfmModelBuilder *builder, const IfmNode *node, OrtConvLayer *layer)
{
    g_autofree char *begun = g_strconcat(node->outputs[0], "/began", NULL),
                    *ended = g_strconcat(node->outputs[0], "/ended", NULL);
    g_autoptr(GHashTable) tensors = g_hash_table_new(g_str_hash, g_str_equal);
    layer->marks = ifm_conv_cuda_marks_new(self->wish->cuda);
    g_hash_table_insert(tensors, (gpointer)node->inputs[0], begun);
    g_hash_table_insert(tensors, (gpointer)node->outputs[0], ended);
    add_mark(self, builder, node->inputs[0], has_input(node, 3) ? node->inputs[3] : NULL, begun, FALSE);
    ifm_model_builder_copy_node_as(builder, node, layer->record->layer, tensors);
    add_mark(self, builder, ended, NULL, node->outputs[0], TRUE);
}

static void add_own(const Rewriting *self, IfmModelBuilder *builder, const IfmNode *node, const OrtConvLayer *layer)
{
    const char *sum = has_input(node, 3) ? node->inputs[3] : NULL;
    const char *blocked_inputs[] = { node->inputs[0], sum, NULL };
    const char *plain_inputs[] = { node->inputs[0], node->inputs[1],
                                   has_input(node, 2) ? node->inputs[2] : (sum != NULL ? "" : NULL), sum, NULL };
    const char *const *inputs = layer->kernel.cuda != NULL ? plain_inputs : blocked_inputs;
    const char *outputs[] = { node->outputs[0], NULL };
    const gsize index = ifm_model_builder_node(builder, "Conv", layer->record->layer, inputs, outputs);
    ifm_model_builder_domain(builder, index, "inferometer", 1);
    ifm_model_builder_int(builder, index, "layer", self->layers->len - 1);
}

/* @is_replaced: (out) the node is one of this operator now */
static gboolean copy_node(Rewriting *self, IfmModelBuilder *builder, const IfmNode *node, gboolean *is_replaced,
                          GError **error)
{
    OrtConvLayer *layer = NULL;
    if (layer_name(self, node) != NULL && !add_layer(self, node, &layer, error))
        return FALSE;
    *is_replaced = layer != NULL && ort_conv_runs(&layer->kernel);
    if (*is_replaced)
        add_own(self, builder, node, layer);
    else if (layer != NULL && is_marked(self, node))
        copy_marked(self, builder, node, layer);
    else
        ifm_model_builder_copy_node_as(builder, node, layer != NULL ? layer->record->layer : node->name, NULL);
    return TRUE;
}

/* --- the graph -------------------------------------------------------------------------------------------------------- */

/* That the layers that the options name are there. */
static gboolean check_names(const Rewriting *self, GError **error)
{
    g_autoptr(GPtrArray) known = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GList) asked = g_hash_table_get_keys(self->choice->layers), nodes = g_hash_table_get_keys(self->names);
    for (const GList *node = nodes; node != NULL; node = node->next)
    {
        const char *given = ifm_ort_conv_graph_name(node->data);
        g_ptr_array_add(known, g_strdup(layer_name(self, node->data)));
        g_ptr_array_add(known, g_strdup(given));
        g_ptr_array_add(known, plain_name(given));
    }
    g_ptr_array_add(known, NULL);
    for (const GList *name = asked; name != NULL; name = name->next)
        if (!g_strv_contains((const char *const *)known->pdata, name->data))
        {
            g_autofree char *hint = ifm_nearest_hint(name->data, (const char *const *)known->pdata);
            return ifm_error_refuse(error, "\"%s\" is no convolution of the optimised graph%s", (const char *)name->data,
                                    hint);
        }
    return TRUE;
}

/* Initializers that a node still reads. */
static void copy_weights(IfmModelBuilder *builder, const IfmModel *model, GHashTable *replaced)
{
    for (gsize i = 0; i < ifm_model_n_initializers(model); i++)
    {
        const char *name = ifm_model_initializer_name(model, i);
        if (!g_hash_table_contains(replaced, name))
            ifm_model_builder_copy_weight(builder, model, name);
    }
}

/* NULL. A zoo's model goes without its settings. */
static IfmModel *refuse(const Rewriting *self, GError **error)
{
    const char *model_name = ifm_model_name(self->wish->model);
    g_autoptr(GList) reasons = g_list_sort(g_hash_table_get_keys(self->reasons), (GCompareFunc)strcmp);
    g_autoptr(GString) text = g_string_new(NULL);
    for (const GList *reason = reasons; reason != NULL; reason = reason->next)
        g_string_append_printf(text, "%s%s", text->len > 0 ? ", " : "", (const char *)reason->data);
    /* In whole units, rounded up: what is said does. */
    const gboolean is_large = self->workspace_bytes >= 1 << 20;
    const gsize unit = is_large ? 1 << 20 : 1 << 10, units = (self->workspace_bytes + unit - 1) / unit;
    g_autofree char *enough =
        units > 0 ? g_strdup_printf(", a limit of %zu %s would do", units, is_large ? "MiB" : "KiB") : g_strdup("");
    ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s cannot do %u of %u layers of %.*s (%s%s)",
                  ifm_conv_algorithm_name(self->refusing), self->n_refused, self->layers->len,
                  (int)strcspn(model_name, ","), model_name, text->str, enough);
    return NULL;
}

/* NULL. Nothing could be chosen, and a figure that says so of an algorithm would be none of it. */
static IfmModel *refuse_empty(const Rewriting *self, GError **error)
{
    const char *model_name = ifm_model_name(self->wish->model);
    ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%.*s has no convolutions to choose an algorithm for",
                  (int)strcspn(model_name, ","), model_name);
    return NULL;
}

static IfmModel *build(Rewriting *self, GError **error)
{
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("convolutions", ifm_model_opset(self->model));
    g_autoptr(GHashTable) replaced = g_hash_table_new(g_str_hash, g_str_equal);
    ifm_model_builder_copy_inputs(builder, self->model);
    ifm_model_builder_copy_outputs(builder, self->model);
    ifm_model_builder_copy_context(builder, self->model);
    for (gsize i = 0; i < ifm_model_n_nodes(self->model); i++)
    {
        const IfmNode *node = ifm_model_node(self->model, i);
        gboolean is_replaced = FALSE;
        if (!copy_node(self, builder, node, &is_replaced, error))
            return NULL;
        /* Weights and bias belong to one node each in the runtime's graph; where they do not, the copy stays. */
        for (gsize input = 1; is_replaced && self->wish->cuda == NULL && input <= 2; input++)
            if (has_input(node, input) && ifm_model_consumers(self->model, node->inputs[input])->len == 1)
                g_hash_table_add(replaced, (gpointer)node->inputs[input]);
    }
    if (self->wish->tune && self->n_tuned == 0)
        return NULL;
    if (self->layers->len == 0)
        return refuse_empty(self, error);
    if (self->n_refused > 0)
        return refuse(self, error);
    copy_weights(builder, self->model, replaced);
    return ifm_model_builder_finish(builder, error);
}

IfmModel *ifm_ort_conv_rewrite(IfmModel *optimised, const OrtConvWish *wish, GPtrArray *layers, GError **error)
{
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(optimised, wish->bindings, wish->n_bindings, error);
    if (analysis == NULL)
        return NULL;
    g_autoptr(GHashTable) reasons = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GHashTable) names = ifm_ort_conv_names(wish->model, optimised);
    Rewriting self = { .model = optimised,
                       .analysis = analysis,
                       .wish = wish,
                       .choice = wish->choice,
                       .names = names,
                       .block = wish->cuda != NULL ? 1 : runtime_block(),
                       .layers = layers,
                       .reasons = reasons };
    return check_names(&self, error) ? build(&self, error) : NULL;
}
