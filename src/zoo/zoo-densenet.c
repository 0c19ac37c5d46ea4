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
static IfmFeatures active(IfmNet *net, IfmFeatures from, const char *place, const char *which)
{
    from = ifm_cnn_norm(net, from, ifm_net_name(net, "%snorm%s", place, which), EPSILON, 1);
    return ifm_cnn_relu(net, from, ifm_net_name(net, "%srelu%s", place, which));
}

/* dense_block: Each layer reads the input of the block and the outputs of all layers before it. */
static IfmFeatures dense_block(IfmNet *net, IfmFeatures from, int number, int n_layers)
{
    IfmFeatures made[MAX_LAYERS + 1] = { from }, all = from;
    g_assert(n_layers <= MAX_LAYERS);
    for (int layer = 1; layer <= n_layers; layer++)
    {
        const char *place = ifm_net_name(net, "features.denseblock%d.denselayer%d.", number, layer);
        IfmFeatures from_all = active(net, all, place, "1");
        from_all =
            ifm_cnn_conv(net, from_all, ifm_net_name(net, "%sconv1", place), (IfmCnnConv){ BOTTLENECK, 1, 1, 0 }, FALSE);
        from_all = active(net, from_all, place, "2");
        made[layer] =
            ifm_cnn_conv(net, from_all, ifm_net_name(net, "%sconv2", place), (IfmCnnConv){ GROWTH, 3, 1, 1 }, FALSE);
        const char *name =
            layer < n_layers ? ifm_net_name(net, "%sconcat", place) : ifm_net_name(net, "features.denseblock%d", number);
        all = ifm_cnn_concat(net, made, (gsize)layer + 1, name);
    }
    return all;
}

/* transition: Half the channels, a quarter of the area. */
static IfmFeatures transition(IfmNet *net, IfmFeatures from, int number)
{
    const char *place = ifm_net_name(net, "features.transition%d.", number);
    from = active(net, from, place, "");
    from = ifm_cnn_conv(net, from, ifm_net_name(net, "%sconv", place), (IfmCnnConv){ from.channels / 2, 1, 1, 0 }, FALSE);
    return ifm_cnn_pool(net, from, ifm_net_name(net, "%spool", place), (IfmPool){ "AveragePool", 2, 2, 0, FALSE });
}

static void emit(IfmNet *net, const void *data, IfmFeatures from)
{
    const Layers *layers = data;
    from = ifm_cnn_conv(net, from, "features.conv0", (IfmCnnConv){ FIRST, 7, 2, 3 }, FALSE);
    from = active(net, from, "features.", "0");
    from = ifm_cnn_pool(net, from, "features.pool0", (IfmPool){ "MaxPool", 3, 2, 1, FALSE });
    for (int block = 1; block <= N_BLOCKS; block++)
    {
        from = dense_block(net, from, block, layers->n_layers[block - 1]);
        from = block < N_BLOCKS ? transition(net, from, block) : active(net, from, "features.", "5");
    }
    ifm_cnn_pooled_scores(net, from, "classifier", 0);
}

static const Layers layers121 = { { 6, 12, 24, 16 } };
const IfmCnnArchitecture ifm_cnn_densenet121 = { &layers121, emit };
