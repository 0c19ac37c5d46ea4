#include <math.h>

#include "zoo-private.h"

/* The model `small-cnn` classifies images by two convolutions, a dense layer and a softmax. */

typedef struct
{
    gint64 batch, size, channels, classes;
} Parameters;

const IfmZooParameter ifm_zoo_small_cnn_parameters[] = {
    { "batch", 1, 0, 4096, "images; 0 leaves them free, as dimension N" },
    { "size", 32, 2, 1024, "height and width of an image" },
    { "channels", 16, 1, 1024, "channels of the first convolution; the second has twice as many" },
    { "classes", 10, 1, 65536, "outputs" },
    { NULL },
};

/* convolution: 3x3 with padding, then Relu. Its weights suit Relu (He): the output has the variance of the input. */
static const char *convolution(IfmNet *net, const char *name, const char *from, gint64 in, gint64 out)
{
    const char *weight = ifm_net_name(net, "%s.weight", name), *bias = ifm_net_name(net, "%s.bias", name);
    const char *sum = ifm_net_name(net, "%s.sum", name), *relu = ifm_net_name(net, "%s.relu", name);
    ifm_model_builder_random_weight(net->builder, weight, 4, (gint64[]){ out, in, 3, 3 }, sqrt(6.0 / (9.0 * (double)in)),
                                    net->seed);
    ifm_model_builder_random_weight(net->builder, bias, 1, &out, 0.1, net->seed);
    ifm_model_builder_node(net->builder, "Conv kernel_shape=[3,3] pads=[1,1,1,1]", name, IFM_ZOO_NAMES(from, weight, bias),
                           IFM_ZOO_NAMES(sum));
    return ifm_net_op(net, relu, "Relu", sum, NULL);
}

IfmModel *ifm_zoo_small_cnn_build(const IfmZooEntry *entry, const gint64 *values, guint32 seed, GError **error)
{
    const Parameters *at = (const void *)values;
    const gint64 batch = at->batch > 0 ? at->batch : -1, channels = at->channels, classes = at->classes;
    const char *const names[] = { "N", NULL, NULL, NULL };
    g_auto(IfmNet) net = { 0 };
    ifm_net_init(&net, entry->name, IFM_ZOO_OPSET, seed, NULL);
    ifm_model_builder_input(net.builder, "image", IFM_DTYPE_F32, 4, (gint64[]){ batch, 3, at->size, at->size }, names);
    ifm_model_builder_output(net.builder, "probabilities", IFM_DTYPE_F32, 2, (gint64[]){ batch, classes }, names);
    const char *x = convolution(&net, "conv1", "image", 3, channels);
    x = ifm_net_op(&net, "pool1", "MaxPool kernel_shape=[2,2] strides=[2,2]", x, NULL);
    x = convolution(&net, "conv2", x, channels, 2 * channels);
    x = ifm_net_op(&net, "pool2", "GlobalAveragePool", x, NULL);
    ifm_model_builder_node(net.builder, "Flatten", "flatten", IFM_ZOO_NAMES(x), IFM_ZOO_NAMES("features"));
    ifm_model_builder_random_weight(net.builder, "dense.weight", 2, (gint64[]){ classes, 2 * channels },
                                    sqrt(3.0 / (2.0 * (double)channels)), seed);
    ifm_model_builder_random_weight(net.builder, "dense.bias", 1, &classes, 0.1, seed);
    ifm_model_builder_node(net.builder, "Gemm transB=1", "dense", IFM_ZOO_NAMES("features", "dense.weight", "dense.bias"),
                           IFM_ZOO_NAMES("scores"));
    ifm_model_builder_node(net.builder, "Softmax axis=1", "softmax", IFM_ZOO_NAMES("scores"),
                           IFM_ZOO_NAMES("probabilities"));
    return ifm_net_finish(&net, error);
}
