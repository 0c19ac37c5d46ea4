#include <math.h>

#include "zoo-private.h"

enum
{
    BATCH,
    SIZE,
    CHANNELS,
    CLASSES,
};

const IfmZooParameter ifm_zoo_small_cnn_parameters[] = {
    [BATCH] = { "batch", 1, 0, 4096, "images; 0 leaves them free, as dimension N" },
    [SIZE] = { "size", 32, 2, 1024, "height and width of an image" },
    [CHANNELS] = { "channels", 16, 1, 1024, "channels of the first convolution; the second has twice as many" },
    [CLASSES] = { "classes", 10, 1, 65536, "outputs" },
    [CLASSES + 1] = { NULL },
};

/* convolution: 3x3 with padding, then Relu. Its weights suit Relu (He): the output has the variance of the input. */
static void convolution(IfmModelBuilder *builder, const char *name, const char *from, gint64 in, gint64 out, guint32 seed)
{
    g_autofree char *weight = g_strdup_printf("%s.weight", name);
    g_autofree char *bias = g_strdup_printf("%s.bias", name);
    g_autofree char *sum = g_strdup_printf("%s.sum", name);
    g_autofree char *relu = g_strdup_printf("%s.relu", name);
    ifm_model_builder_random_weight(builder, weight, 4, (gint64[]){ out, in, 3, 3 }, sqrt(6.0 / (9.0 * (double)in)), seed);
    ifm_model_builder_random_weight(builder, bias, 1, (gint64[]){ out }, 0.1, seed);
    gsize node = ifm_model_builder_node(builder, "Conv", name, IFM_ZOO_NAMES(from, weight, bias), IFM_ZOO_NAMES(sum));
    ifm_model_builder_ints(builder, node, "kernel_shape", (gint64[]){ 3, 3 }, 2);
    ifm_model_builder_ints(builder, node, "pads", (gint64[]){ 1, 1, 1, 1 }, 4);
    ifm_model_builder_node(builder, "Relu", relu, IFM_ZOO_NAMES(sum), IFM_ZOO_NAMES(relu));
}

IfmModel *ifm_zoo_small_cnn_build(const gint64 *values, guint32 seed, GError **error)
{
    gint64 batch = values[BATCH] > 0 ? values[BATCH] : -1, channels = values[CHANNELS], classes = values[CLASSES];
    const char *const names[] = { "N", NULL, NULL, NULL };
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("small-cnn", IFM_ZOO_OPSET);
    ifm_model_builder_input(builder, "image", IFM_DTYPE_F32, 4, (gint64[]){ batch, 3, values[SIZE], values[SIZE] }, names);
    ifm_model_builder_output(builder, "probabilities", IFM_DTYPE_F32, 2, (gint64[]){ batch, classes }, names);
    convolution(builder, "conv1", "image", 3, channels, seed);
    gsize pool = ifm_model_builder_node(builder, "MaxPool", "pool1", IFM_ZOO_NAMES("conv1.relu"), IFM_ZOO_NAMES("pool1"));
    ifm_model_builder_ints(builder, pool, "kernel_shape", (gint64[]){ 2, 2 }, 2);
    ifm_model_builder_ints(builder, pool, "strides", (gint64[]){ 2, 2 }, 2);
    convolution(builder, "conv2", "pool1", channels, 2 * channels, seed);
    ifm_model_builder_node(builder, "GlobalAveragePool", "pool2", IFM_ZOO_NAMES("conv2.relu"), IFM_ZOO_NAMES("pool2"));
    ifm_model_builder_node(builder, "Flatten", "flatten", IFM_ZOO_NAMES("pool2"), IFM_ZOO_NAMES("features"));
    ifm_model_builder_random_weight(builder, "dense.weight", 2, (gint64[]){ classes, 2 * channels },
                                    sqrt(3.0 / (2.0 * (double)channels)), seed);
    ifm_model_builder_random_weight(builder, "dense.bias", 1, (gint64[]){ classes }, 0.1, seed);
    gsize dense = ifm_model_builder_node(builder, "Gemm", "dense", IFM_ZOO_NAMES("features", "dense.weight", "dense.bias"),
                                         IFM_ZOO_NAMES("scores"));
    ifm_model_builder_int(builder, dense, "transB", 1);
    gsize softmax =
        ifm_model_builder_node(builder, "Softmax", "softmax", IFM_ZOO_NAMES("scores"), IFM_ZOO_NAMES("probabilities"));
    ifm_model_builder_int(builder, softmax, "axis", 1);
    return ifm_model_builder_finish(builder, error);
}
