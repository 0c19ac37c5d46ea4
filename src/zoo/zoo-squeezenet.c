/* SqueezeNet (Iandola et al., SqueezeNet: AlexNet-level accuracy with 50x fewer parameters, 2016), version 1.1 as
 * torchvision has it. */
#include "cnn-private.h"

#define DROPOUT 0.5

/* Fire: 1x1 to @squeeze channels, then 1x1 and 3x3 next to each other to @expand channels each. 0: a pooling stands there
 */
typedef struct
{
    int squeeze, expand;
} Fire;

#define N_PLACES 10 /* features.3 to features.12 */

static IfmFeatures active(IfmNet *net, IfmFeatures from, const char *name, IfmCnnConv conv)
{
    from = ifm_cnn_conv(net, from, name, conv, TRUE);
    return ifm_cnn_relu(net, from, ifm_net_name(net, "%s.relu", name));
}

static IfmFeatures fire_module(IfmNet *net, IfmFeatures from, const char *place, const Fire *fire)
{
    IfmFeatures parts[2];
    from = active(net, from, ifm_net_name(net, "%s.squeeze", place), (IfmCnnConv){ fire->squeeze, 1, 1, 0, 1 });
    parts[0] = active(net, from, ifm_net_name(net, "%s.expand1x1", place), (IfmCnnConv){ fire->expand, 1, 1, 0, 1 });
    parts[1] = active(net, from, ifm_net_name(net, "%s.expand3x3", place), (IfmCnnConv){ fire->expand, 3, 1, 1, 1 });
    return ifm_cnn_concat(net, parts, G_N_ELEMENTS(parts), place);
}

static void emit(IfmNet *net, const void *data, IfmFeatures from)
{
    const Fire *fires = data;
    const IfmPool pool = { "MaxPool", 3, 2, 0, TRUE };
    from = active(net, from, "features.0", (IfmCnnConv){ 64, 3, 2, 0, 1 });
    from = ifm_cnn_pool(net, from, "features.2", pool);
    for (int i = 0; i < N_PLACES; i++)
    {
        const char *place = ifm_net_name(net, "features.%d", i + 3);
        from = fires[i].squeeze > 0 ? fire_module(net, from, place, &fires[i]) : ifm_cnn_pool(net, from, place, pool);
    }
    from = ifm_cnn_dropout(net, from, "classifier.0", DROPOUT, 4);
    from = active(net, from, "classifier.1", (IfmCnnConv){ ifm_cnn_classes(net), 1, 1, 0, 1 });
    ifm_cnn_scores_of(net, from);
}

static const Fire fires[N_PLACES] = {
    { 16, 64 }, { 16, 64 },  { 0, 0 },    { 32, 128 }, { 32, 128 },
    { 0, 0 },   { 48, 192 }, { 48, 192 }, { 64, 256 }, { 64, 256 },
};
const IfmCnnArchitecture ifm_cnn_squeezenet = { fires, emit };
