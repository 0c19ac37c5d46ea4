/*
 * GoogLeNet (Szegedy et al., Going deeper with convolutions, 2014), as torchvision has it: batch normalisation after each
 * convolution, a 3x3 one where the paper has 5x5, and, in evaluation, no auxiliary heads.
 */
#include "cnn-private.h"

#define EPSILON 1e-3
#define DROPOUT 0.2

/*
 * Row: an Inception module, as the paper's table 1 lists its channels: 1x1; 1x1 before the 3x3, and that; 1x1 before the
 * 5x5, and that; 1x1 behind the pooling. A row with @pool has that pooling instead.
 */
typedef struct
{
    const char *name;
    int one, before_three, three, before_five, five, behind_pool;
    int pool; /* kernel; stride 2 */
} Row;

static const Row rows[] = {
    { "inception3a", 64, 96, 128, 16, 32, 32 },
    { "inception3b", 128, 128, 192, 32, 96, 64 },
    { "maxpool3", .pool = 3 },
    { "inception4a", 192, 96, 208, 16, 48, 64 },
    { "inception4b", 160, 112, 224, 24, 64, 64 },
    { "inception4c", 128, 128, 256, 24, 64, 64 },
    { "inception4d", 112, 144, 288, 32, 64, 64 },
    { "inception4e", 256, 160, 320, 32, 128, 128 },
    { "maxpool4", .pool = 2 },
    { "inception5a", 256, 160, 320, 32, 128, 128 },
    { "inception5b", 384, 192, 384, 48, 128, 128 },
    { NULL },
};

/* unit: convolution, normalisation, rectifier. @module: "inception3a."    @name: within it */
static IfmFeatures unit(IfmNet *net, IfmFeatures from, const char *module, const char *name, IfmCnnConv conv)
{
    from = ifm_cnn_conv(net, from, ifm_net_name(net, "%s%s.conv", module, name), conv, FALSE);
    from = ifm_cnn_norm(net, from, ifm_net_name(net, "%s%s.bn", module, name), EPSILON, 1);
    return ifm_cnn_relu(net, from, ifm_net_name(net, "%s%s.relu", module, name));
}

static IfmFeatures inception(IfmNet *net, const Row *row, IfmFeatures from)
{
    const char *module = ifm_net_name(net, "%s.", row->name);
    IfmFeatures branch[4];
    branch[0] = unit(net, from, module, "branch1", (IfmCnnConv){ row->one, 1, 1, 0 });
    branch[1] = unit(net, from, module, "branch2.0", (IfmCnnConv){ row->before_three, 1, 1, 0 });
    branch[1] = unit(net, branch[1], module, "branch2.1", (IfmCnnConv){ row->three, 3, 1, 1 });
    branch[2] = unit(net, from, module, "branch3.0", (IfmCnnConv){ row->before_five, 1, 1, 0 });
    branch[2] = unit(net, branch[2], module, "branch3.1", (IfmCnnConv){ row->five, 3, 1, 1 });
    branch[3] = ifm_cnn_pool(net, from, ifm_net_name(net, "%sbranch4.0", module), (IfmPool){ "MaxPool", 3, 1, 1, FALSE });
    branch[3] = unit(net, branch[3], module, "branch4.1", (IfmCnnConv){ row->behind_pool, 1, 1, 0 });
    return ifm_cnn_concat(net, branch, G_N_ELEMENTS(branch), row->name);
}

static void emit(IfmNet *net, const void *data, IfmFeatures from)
{
    from = unit(net, from, "", "conv1", (IfmCnnConv){ 64, 7, 2, 3 });
    from = ifm_cnn_pool(net, from, "maxpool1", (IfmPool){ "MaxPool", 3, 2, 0, TRUE });
    from = unit(net, from, "", "conv2", (IfmCnnConv){ 64, 1, 1, 0 });
    from = unit(net, from, "", "conv3", (IfmCnnConv){ 192, 3, 1, 1 });
    from = ifm_cnn_pool(net, from, "maxpool2", (IfmPool){ "MaxPool", 3, 2, 0, TRUE });
    for (const Row *row = data; row->name != NULL; row++)
        from = row->pool > 0 ? ifm_cnn_pool(net, from, row->name, (IfmPool){ "MaxPool", row->pool, 2, 0, TRUE })
                             : inception(net, row, from);
    ifm_cnn_pooled_scores(net, from, "fc", DROPOUT);
}

const IfmCnnArchitecture ifm_cnn_googlenet = { rows, emit };
