/* A convolution of a model as the record of what ran has it, by the model alone. */
#include <engine/conv-layers.h>

static void read_pair(const IfmNode *node, const char *attribute, gint64 *rows, gint64 *columns)
{
    gsize n = 0;
    const gint64 *found = ifm_node_ints(node, attribute, &n);
    *rows = n == 2 ? found[0] : 1;
    *columns = n == 2 ? found[1] : 1;
}

/* Whether a tensor's shape is known and has two dimensions behind images and channels. */
static gboolean has_shape(const IfmAnalysis *analysis, const char *tensor, gint64 *shape)
{
    IfmDtype dtype;
    int rank = 0;
    return ifm_analysis_shape(analysis, tensor, &dtype, &rank, shape) && rank == 4;
}

IfmConvLayer *ifm_conv_layer_read(const IfmModel *model, const IfmAnalysis *analysis, gsize index)
{
    const IfmNode *node = ifm_model_node(model, index);
    gint64 in[IFM_MAX_RANK], weights[IFM_MAX_RANK], out[IFM_MAX_RANK];
    if (!g_str_equal(node->op_type, "Conv") || node->n_inputs < 2 || !has_shape(analysis, node->inputs[0], in) ||
        !has_shape(analysis, node->inputs[1], weights) || !has_shape(analysis, node->outputs[0], out))
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
    layer->batch = out[0];
    layer->out_rows = out[2];
    layer->out_columns = out[3];
    read_pair(node, "strides", &layer->stride_rows, &layer->stride_columns);
    read_pair(node, "dilations", &layer->dilation_rows, &layer->dilation_columns);
    return layer;
}
