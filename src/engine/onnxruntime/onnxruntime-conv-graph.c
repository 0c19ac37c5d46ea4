/* The optimised graph of a model with its convolutions in blocked channels replaced by inferometer:Conv. */
#include <string.h>

#include <internal/onnx.h>

#include "onnxruntime-conv.h"

#define NCHWC "com.microsoft.nchwc"

void ifm_ort_conv_layer_free(OrtConvLayer *layer)
{
    g_free(layer->name);
    ifm_conv_free(layer->conv);
    g_free(layer);
}

/* What a rewriting needs. */
typedef struct
{
    IfmModel *model;
    const IfmAnalysis *analysis;
    const IfmConvChoice *choice;
    int n_threads, block;
    GPtrArray *layers;   /* OrtConvLayer* */
    GHashTable *reasons; /* of refusals, static text */
    guint n_refused, n_layers;
    IfmConvAlgorithm refusing; /* of the first refusal */
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

static gboolean is_blocked_conv(const IfmNode *node)
{
    return g_str_equal(node->domain, NCHWC) && g_str_equal(node->op_type, "Conv");
}

static const char *layer_name(const IfmNode *node)
{
    return node->name[0] != '\0' ? node->name : node->outputs[0];
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

static gboolean read_shape(const Rewriting *self, const IfmNode *node, const IfmTensor *weights, IfmConvShape *shape,
                           GError **error)
{
    IfmDtype dtype;
    int rank = 0;
    gint64 dims[IFM_MAX_RANK];
    if (!ifm_analysis_shape(self->analysis, node->inputs[0], &dtype, &rank, dims) || rank != 4 || weights->rank != 4 ||
        dtype != IFM_DTYPE_F32 || weights->dtype != IFM_DTYPE_F32)
        return ifm_error_refuse(error,
                                "%s: the size of its input is not known, or it is not f32: convolution algorithms need "
                                "fixed sizes",
                                layer_name(node));
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
    read_ints(node, "pads", shape->pads, 4, 0);
    return ifm_conv_shape_complete(shape, error);
}

static gboolean read_activation(const IfmNode *node, IfmConvOptions *options, GError **error)
{
    static const struct
    {
        const char *name;
        IfmConvActivation activation;
        float alpha, beta; /* without activation_params */
    } activations[] = {
        { "", IFM_CONV_IDENTITY, 0, 0 },
        { "Relu", IFM_CONV_RELU, 0, 0 },
        { "Clip", IFM_CONV_CLIP, 0, 0 },
        { "LeakyRelu", IFM_CONV_LEAKY_RELU, 0.01F, 0 },
        { "Sigmoid", IFM_CONV_SIGMOID, 0, 0 },
        { "Tanh", IFM_CONV_TANH, 0, 0 },
        { "HardSigmoid", IFM_CONV_HARD_SIGMOID, 0.2F, 0.5F },
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
    return ifm_error_refuse(error, "%s: the activation \"%s\" is not known here", layer_name(node), name);
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

static void note_refusal(Rewriting *self, IfmConvAlgorithm algorithm, const char *why)
{
    if (self->n_refused++ == 0)
        self->refusing = algorithm;
    g_hash_table_add(self->reasons, (gpointer)g_intern_string(why));
}

/* Makes the layer by the algorithm, or by the fallback. @layer->conv stays NULL where both refuse; that is noted. */
static gboolean make_layer(Rewriting *self, const IfmConvShape *shape, IfmConvOptions *options, const float *weights,
                           const float *bias, OrtConvLayer *layer, GError **error)
{
    g_autoptr(GError) local = NULL;
    layer->conv = ifm_conv_new(shape, layer->asked, options, weights, bias, &local);
    if (layer->conv != NULL)
        return TRUE;
    if (!g_error_matches(local, IFM_ERROR, IFM_ERROR_UNSUPPORTED))
    {
        g_propagate_prefixed_error(error, g_steal_pointer(&local), "%s: ", layer->name);
        return FALSE;
    }
    if (self->choice->fallback == IFM_N_CONV_ALGORITHMS)
    {
        const char *why = NULL;
        ifm_conv_supports(shape, layer->asked, options, &why);
        note_refusal(self, layer->asked, why != NULL ? why : local->message);
        return TRUE;
    }
    layer->fell_back = TRUE;
    layer->conv = self->choice->fallback == IFM_CONV_RUNTIME
                      ? NULL
                      : ifm_conv_new(shape, self->choice->fallback, options, weights, bias, error);
    return layer->conv != NULL || self->choice->fallback == IFM_CONV_RUNTIME;
}

static gboolean read_layer(Rewriting *self, const IfmNode *node, OrtConvLayer *layer, GError **error)
{
    IfmTensor weights, bias = { 0 };
    IfmConvShape shape = { .groups = 1 };
    IfmConvOptions options = { .n_threads = self->n_threads,
                               .max_workspace_bytes = self->choice->max_workspace_bytes,
                               .has_sum = has_input(node, 3) };
    if (!ifm_model_initializer(self->model, node->inputs[1], &weights) ||
        (has_input(node, 2) && !ifm_model_initializer(self->model, node->inputs[2], &bias)))
        return ifm_error_refuse(error, "%s: its weights are no constants", layer->name);
    if (!read_shape(self, node, &weights, &shape, error) || !read_activation(node, &options, error))
        return FALSE;
    g_autofree float *plain = plain_weights(&shape, weights.data);
    return make_layer(self, &shape, &options, plain, bias.data, layer, error);
}

static gboolean copy_node(Rewriting *self, IfmModelBuilder *builder, const IfmNode *node, GError **error)
{
    const IfmConvAlgorithm asked =
        is_blocked_conv(node) ? ifm_conv_choice_of(self->choice, layer_name(node)) : IFM_CONV_RUNTIME;
    self->n_layers += is_blocked_conv(node);
    if (asked == IFM_CONV_RUNTIME)
    {
        ifm_model_builder_copy_node(builder, node);
        return TRUE;
    }
    OrtConvLayer *layer = g_new0(OrtConvLayer, 1);
    layer->name = g_strdup(layer_name(node));
    layer->asked = asked;
    g_ptr_array_add(self->layers, layer);
    if (!read_layer(self, node, layer, error))
        return FALSE;
    if (layer->conv == NULL)
    {
        ifm_model_builder_copy_node(builder, node);
        return TRUE;
    }
    const char *inputs[] = { node->inputs[0], has_input(node, 3) ? node->inputs[3] : NULL, NULL };
    const char *outputs[] = { node->outputs[0], NULL };
    const gsize index = ifm_model_builder_node(builder, "Conv", layer->name, inputs, outputs);
    ifm_model_builder_domain(builder, index, "inferometer", 1);
    ifm_model_builder_int(builder, index, "layer", self->layers->len - 1);
    return TRUE;
}

/* --- the graph -------------------------------------------------------------------------------------------------------- */

static gboolean check_names(const Rewriting *self, GError **error)
{
    GHashTableIter iter;
    gpointer name;
    g_hash_table_iter_init(&iter, self->choice->layers);
    while (g_hash_table_iter_next(&iter, &name, NULL))
    {
        gboolean is_there = FALSE;
        for (gsize i = 0; i < ifm_model_n_nodes(self->model); i++)
            is_there |= is_blocked_conv(ifm_model_node(self->model, i)) &&
                        g_str_equal(layer_name(ifm_model_node(self->model, i)), name);
        if (!is_there)
            return ifm_error_refuse(error, "\"%s\" is no convolution of the optimised graph", (const char *)name);
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

static void copy_ports(IfmModelBuilder *builder, const IfmModel *model)
{
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
    {
        const IfmPort *port = ifm_model_input(model, i);
        ifm_model_builder_input(builder, port->name, port->dtype, port->rank, port->dims,
                                (const char *const *)port->dim_names);
    }
    for (gsize i = 0; i < ifm_model_n_outputs(model); i++)
    {
        const IfmPort *port = ifm_model_output(model, i);
        ifm_model_builder_output(builder, port->name, port->dtype, port->rank, port->dims,
                                 (const char *const *)port->dim_names);
    }
}

static gboolean refuse(const Rewriting *self, const char *model_name, GError **error)
{
    g_autoptr(GList) reasons = g_list_sort(g_hash_table_get_keys(self->reasons), (GCompareFunc)strcmp);
    g_autoptr(GString) text = g_string_new(NULL);
    for (const GList *reason = reasons; reason != NULL; reason = reason->next)
        g_string_append_printf(text, "%s%s", text->len > 0 ? ", " : "", (const char *)reason->data);
    g_set_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED, "%s cannot do %u of %u layers of %s (%s)",
                ifm_conv_algorithm_name(self->refusing), self->n_refused, self->n_layers, model_name, text->str);
    return FALSE;
}

static IfmModel *build(Rewriting *self, const char *model_name, GError **error)
{
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("convolutions", ifm_model_opset(self->model));
    g_autoptr(GHashTable) replaced = g_hash_table_new(g_str_hash, g_str_equal);
    copy_ports(builder, self->model);
    ifm_model_builder_copy_context(builder, self->model);
    for (gsize i = 0; i < ifm_model_n_nodes(self->model); i++)
    {
        const IfmNode *node = ifm_model_node(self->model, i);
        const guint n_before = self->layers->len;
        if (!copy_node(self, builder, node, error))
            return NULL;
        const gboolean is_replaced =
            self->layers->len > n_before &&
            ((const OrtConvLayer *)g_ptr_array_index(self->layers, self->layers->len - 1))->conv != NULL;
        /* Weights and bias belong to one node each in the runtime's graph; where they do not, the copy stays. */
        for (gsize input = 1; is_replaced && input <= 2 && input < node->n_inputs; input++)
            if (ifm_model_consumers(self->model, node->inputs[input])->len == 1)
                g_hash_table_add(replaced, (gpointer)node->inputs[input]);
    }
    if (self->n_refused > 0)
    {
        refuse(self, model_name, error);
        return NULL;
    }
    copy_weights(builder, self->model, replaced);
    return ifm_model_builder_finish(builder, error);
}

IfmModel *ifm_ort_conv_rewrite(IfmModel *optimised, const char *model_name, const IfmConvChoice *choice, int n_threads,
                               GPtrArray *layers, GError **error)
{
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(optimised, NULL, 0, error);
    if (analysis == NULL)
        return NULL;
    g_autoptr(GHashTable) reasons = g_hash_table_new(g_str_hash, g_str_equal);
    Rewriting self = { .model = optimised,
                       .analysis = analysis,
                       .choice = choice,
                       .n_threads = n_threads,
                       .block = runtime_block(),
                       .layers = layers,
                       .reasons = reasons };
    return check_names(&self, error) ? build(&self, model_name, error) : NULL;
}
