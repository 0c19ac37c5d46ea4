/* Inverted residuals (Sandler et al., MobileNetV2: inverted residuals and linear bottlenecks, 2018), as torchvision has
 * them. */
#include "cnn-private.h"

#define EPSILON 1e-5
#define FIRST 32
#define LAST 1280
#define DROPOUT 0.2
/* The branch's share of the stream it is added to: keeps the stream's size through ten sums. */
#define BRANCH_GAIN 0.3

/* Stage: @repeat blocks of @channels out; their inner convolution has @expand times the channels in. @stride: of the first
 * block; 0 repeats end the table */
typedef struct
{
    int expand, channels, repeat, stride;
} Stage;

/* normed: A convolution without bias and its normalisation. */
static IfmFeatures normed(IfmNet *net, IfmFeatures from, const char *name, const char *norm, IfmCnnConv conv, double gain)
{
    from = ifm_cnn_conv(net, from, name, conv, FALSE);
    return ifm_cnn_norm(net, from, norm, EPSILON, gain);
}

/* active: PLACE.0 convolves, PLACE.1 normalises, PLACE.2 rectifies. */
static IfmFeatures active(IfmNet *net, IfmFeatures from, const char *place, IfmCnnConv conv)
{
    from = normed(net, from, ifm_net_name(net, "%s.0", place), ifm_net_name(net, "%s.1", place), conv, 1);
    return ifm_cnn_relu6(net, from, ifm_net_name(net, "%s.2", place));
}

/* block: Expands 1x1, convolves each channel by itself 3x3, and projects 1x1 without a rectifier. A block that keeps the
 * shape is added to its input. */
static IfmFeatures block(IfmNet *net, IfmFeatures from, int number, const Stage *stage, int stride)
{
    const gint64 inner = from.channels * stage->expand;
    const gboolean is_sum = stride == 1 && from.channels == stage->channels;
    IfmFeatures branch = from;
    int part = 0;
    if (stage->expand != 1)
        branch = active(net, branch, ifm_net_name(net, "features.%d.conv.%d", number, part++),
                        (IfmCnnConv){ inner, 1, 1, 0, 1 });
    branch = active(net, branch, ifm_net_name(net, "features.%d.conv.%d", number, part++),
                    (IfmCnnConv){ inner, 3, stride, 1, inner });
    branch = normed(net, branch, ifm_net_name(net, "features.%d.conv.%d", number, part),
                    ifm_net_name(net, "features.%d.conv.%d", number, part + 1), (IfmCnnConv){ stage->channels, 1, 1, 0, 1 },
                    is_sum ? BRANCH_GAIN : 1);
    return is_sum ? ifm_cnn_add(net, from, branch, ifm_net_name(net, "features.%d.add", number)) : branch;
}

static void emit(IfmNet *net, const void *data, IfmFeatures from)
{
    int number = 0;
    from = active(net, from, ifm_net_name(net, "features.%d", number++), (IfmCnnConv){ FIRST, 3, 2, 1, 1 });
    for (const Stage *stage = data; stage->repeat > 0; stage++)
        for (int i = 0; i < stage->repeat; i++)
            from = block(net, from, number++, stage, i == 0 ? stage->stride : 1);
    from = active(net, from, ifm_net_name(net, "features.%d", number), (IfmCnnConv){ LAST, 1, 1, 0, 1 });
    ifm_cnn_pooled_scores(net, from, "classifier.1", DROPOUT);
}

static const Stage stages[] = {
    { 1, 16, 1, 1 }, { 6, 24, 2, 2 },  { 6, 32, 3, 2 },  { 6, 64, 4, 2 },
    { 6, 96, 3, 1 }, { 6, 160, 3, 2 }, { 6, 320, 1, 1 }, { 0 },
};
const IfmCnnArchitecture ifm_cnn_mobilenet_v2 = { stages, emit };
