/*
 * Residual networks (He et al., Deep residual learning for image recognition, 2015), as torchvision has them: of a
 * bottleneck the 3x3 convolution has the stride ("v1.5"), not the first 1x1 one.
 */
#include "cnn-private.h"

#define N_STAGES 4
#define EPSILON 1e-5
/* The branch's share of the stream: with 1 the variance doubled in each of ResNet-152's fifty blocks. */
#define BRANCH_GAIN 0.2

typedef struct
{
    int blocks[N_STAGES];
    gboolean bottleneck; /* 1x1, 3x3, 1x1 of four times the channels; else 3x3, 3x3 */
} Layers;

/* normed: A convolution without bias, its normalisation, and a rectifier unless @gain says that it is a branch's end. */
static IfmFeatures normed(IfmNet *net, IfmFeatures from, const char *block, int number, IfmCnnConv conv, gboolean last)
{
    from = ifm_cnn_conv(net, from, ifm_net_name(net, "%sconv%d", block, number), conv, FALSE);
    from = ifm_cnn_norm(net, from, ifm_net_name(net, "%sbn%d", block, number), EPSILON, last ? BRANCH_GAIN : 1);
    return last ? from : ifm_cnn_relu(net, from, ifm_net_name(net, "%srelu%d", block, number));
}

/* residual_block: @width: channels of its 3x3 convolutions    @block: "layer1.0." */
static IfmFeatures residual_block(IfmNet *net, const Layers *layers, IfmFeatures from, const char *block, gint64 width,
                                  int stride)
{
    gint64 channels = layers->bottleneck ? 4 * width : width;
    IfmFeatures branch = from, straight = from;
    if (layers->bottleneck)
    {
        branch = normed(net, branch, block, 1, (IfmCnnConv){ width, 1, 1, 0 }, FALSE);
        branch = normed(net, branch, block, 2, (IfmCnnConv){ width, 3, stride, 1 }, FALSE);
        branch = normed(net, branch, block, 3, (IfmCnnConv){ channels, 1, 1, 0 }, TRUE);
    }
    else
    {
        branch = normed(net, branch, block, 1, (IfmCnnConv){ width, 3, stride, 1 }, FALSE);
        branch = normed(net, branch, block, 2, (IfmCnnConv){ channels, 3, 1, 1 }, TRUE);
    }
    if (stride != 1 || from.channels != channels)
    {
        IfmCnnConv shortcut = { channels, 1, stride, 0 };
        straight = ifm_cnn_conv(net, from, ifm_net_name(net, "%sdownsample.0", block), shortcut, FALSE);
        straight = ifm_cnn_norm(net, straight, ifm_net_name(net, "%sdownsample.1", block), EPSILON, 1);
    }
    from = ifm_cnn_add(net, branch, straight, ifm_net_name(net, "%sadd", block));
    return ifm_cnn_relu(net, from, ifm_net_name(net, "%srelu", block));
}

static void emit(IfmNet *net, const void *data, IfmFeatures from)
{
    const Layers *layers = data;
    from = normed(net, from, "", 1, (IfmCnnConv){ 64, 7, 2, 3 }, FALSE);
    from = ifm_cnn_pool(net, from, "maxpool", (IfmPool){ "MaxPool", 3, 2, 1, FALSE });
    for (int stage = 0; stage < N_STAGES; stage++)
        for (int block = 0; block < layers->blocks[stage]; block++)
        {
            const char *name = ifm_net_name(net, "layer%d.%d.", stage + 1, block);
            from = residual_block(net, layers, from, name, (gint64)64 << stage, stage > 0 && block == 0 ? 2 : 1);
        }
    ifm_cnn_pooled_scores(net, from, "fc", 0);
}

static const Layers layers18 = { { 2, 2, 2, 2 }, FALSE };
static const Layers layers50 = { { 3, 4, 6, 3 }, TRUE };
static const Layers layers152 = { { 3, 8, 36, 3 }, TRUE };
const IfmCnnArchitecture ifm_cnn_resnet18 = { &layers18, emit };
const IfmCnnArchitecture ifm_cnn_resnet50 = { &layers50, emit };
const IfmCnnArchitecture ifm_cnn_resnet152 = { &layers152, emit };
