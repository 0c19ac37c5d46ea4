/* Densely connected networks (Huang et al., Densely connected convolutional networks, 2016), as torchvision has them. */
#include "cnn-private.h"

#define N_BLOCKS 4
#define MAX_LAYERS 24 /* of a block */
#define EPSILON 1e-5
#define FIRST 64
#define GROWTH 32               /* channels that a layer adds */
#define BOTTLENECK (4 * GROWTH) /* channels between its two convolutions */

typedef struct
{
    int n_layers[N_BLOCKS];
} Layers;

/* active: normalisation and rectifier, which stand before a convolution here. @place: "features.transition1."
 * @which: "1" of "norm1"; "" where there is but one */
static IfmFeatures active(IfmCnn *cnn, IfmFeatures from, const char *place, const char *which)
{
    from = ifm_cnn_norm(cnn, from, ifm_cnn_name(cnn, "%snorm%s", place, which), EPSILON, 1);
    return ifm_cnn_relu(cnn, from, ifm_cnn_name(cnn, "%srelu%s", place, which));
}

/* dense_block: Each layer reads the input of the block and the outputs of all layers before it. */
static IfmFeatures dense_block(IfmCnn *cnn, IfmFeatures from, int number, int n_layers)
{
    IfmFeatures made[MAX_LAYERS + 1] = { from }, all = from;
    g_assert(n_layers <= MAX_LAYERS);
    for (int layer = 1; layer <= n_layers; layer++)
    {
        const char *place = ifm_cnn_name(cnn, "features.denseblock%d.denselayer%d.", number, layer);
        IfmFeatures from_all = active(cnn, all, place, "1");
        from_all =
            ifm_cnn_conv(cnn, from_all, ifm_cnn_name(cnn, "%sconv1", place), (IfmConv){ BOTTLENECK, 1, 1, 0 }, FALSE);
        from_all = active(cnn, from_all, place, "2");
        made[layer] = ifm_cnn_conv(cnn, from_all, ifm_cnn_name(cnn, "%sconv2", place), (IfmConv){ GROWTH, 3, 1, 1 }, FALSE);
        const char *name =
            layer < n_layers ? ifm_cnn_name(cnn, "%sconcat", place) : ifm_cnn_name(cnn, "features.denseblock%d", number);
        all = ifm_cnn_concat(cnn, made, (gsize)layer + 1, name);
    }
    return all;
}

/* transition: Half the channels, a quarter of the area. */
static IfmFeatures transition(IfmCnn *cnn, IfmFeatures from, int number)
{
    const char *place = ifm_cnn_name(cnn, "features.transition%d.", number);
    from = active(cnn, from, place, "");
    from = ifm_cnn_conv(cnn, from, ifm_cnn_name(cnn, "%sconv", place), (IfmConv){ from.channels / 2, 1, 1, 0 }, FALSE);
    return ifm_cnn_pool(cnn, from, ifm_cnn_name(cnn, "%spool", place), (IfmPool){ "AveragePool", 2, 2, 0, FALSE });
}

static void emit(IfmCnn *cnn, const void *data, IfmFeatures from)
{
    const Layers *layers = data;
    from = ifm_cnn_conv(cnn, from, "features.conv0", (IfmConv){ FIRST, 7, 2, 3 }, FALSE);
    from = active(cnn, from, "features.", "0");
    from = ifm_cnn_pool(cnn, from, "features.pool0", (IfmPool){ "MaxPool", 3, 2, 1, FALSE });
    for (int block = 1; block <= N_BLOCKS; block++)
    {
        from = dense_block(cnn, from, block, layers->n_layers[block - 1]);
        from = block < N_BLOCKS ? transition(cnn, from, block) : active(cnn, from, "features.", "5");
    }
    ifm_cnn_pooled_scores(cnn, from, "classifier", 0);
}

IfmModel *ifm_zoo_densenet121_build(const gint64 *values, guint32 seed, GError **error)
{
    static const Layers layers121 = { { 6, 12, 24, 16 } };
    static const IfmCnnArchitecture densenet121 = { "densenet121", &layers121, emit };
    return ifm_cnn_build(&densenet121, values, seed, error);
}
