/*
 * Networks that are one row of layers: AlexNet (Krizhevsky, One weird trick for parallelizing convolutional neural
 * networks, 2014) and VGG-16 (Simonyan and Zisserman, Very deep convolutional networks for large-scale image recognition,
 * 2014, configuration D), as torchvision has them. Dropout does nothing in evaluation and is left out there; it still has
 * a number in the names.
 */
#include "cnn-private.h"

#define HIDDEN 4096
#define DROPOUT 0.5

/* Row: a convolution and its rectifier; with 0 channels a pooling. */
typedef struct
{
    int channels, kernel, stride, pad;
} Row;

/* Layers: @rows: ends with a kernel of 0.    @pooled: the size of the image before the dense layers
 * @dense, @dropout: numbers of the three and the two, as torchvision counts them; each dropout stands before or behind a
 * dense layer and its rectifier */
typedef struct
{
    const Row *rows;
    int pooled;
    int dense[3], dropout[2];
} Layers;

static IfmFeatures emit_rows(IfmNet *net, const Row *row, IfmFeatures from)
{
    for (int number = 0; row->kernel > 0; row++)
    {
        const char *name = ifm_net_name(net, "features.%d", number++);
        if (row->channels == 0)
        {
            from = ifm_cnn_pool(net, from, name, (IfmPool){ "MaxPool", row->kernel, row->stride, row->pad, FALSE });
            continue;
        }
        from = ifm_cnn_conv(net, from, name, (IfmCnnConv){ row->channels, row->kernel, row->stride, row->pad }, TRUE);
        from = ifm_cnn_relu(net, from, ifm_net_name(net, "features.%d", number++));
    }
    return from;
}

static void emit(IfmNet *net, const void *data, IfmFeatures from)
{
    const Layers *layers = data;
    from = emit_rows(net, layers->rows, from);
    from = ifm_cnn_adaptive_average(net, from, "avgpool", layers->pooled);
    from = ifm_cnn_flatten(net, from, "flatten");
    for (int i = 0; i < 2; i++)
    {
        const char *dropout = ifm_net_name(net, "classifier.%d", layers->dropout[i]);
        gboolean before = layers->dropout[i] < layers->dense[i];
        if (before)
            from = ifm_cnn_dropout(net, from, dropout, DROPOUT, 2);
        from = ifm_cnn_dense(net, from, ifm_net_name(net, "classifier.%d", layers->dense[i]), HIDDEN);
        from = ifm_cnn_relu(net, from, ifm_net_name(net, "classifier.%d", layers->dense[i] + 1));
        if (!before)
            from = ifm_cnn_dropout(net, from, dropout, DROPOUT, 2);
    }
    ifm_cnn_scores(net, from, ifm_net_name(net, "classifier.%d", layers->dense[2]));
}

static const Row rows_alexnet[] = {
    { 64, 11, 4, 2 }, { 0, 3, 2, 0 },   { 192, 5, 1, 2 }, { 0, 3, 2, 0 }, { 384, 3, 1, 1 },
    { 256, 3, 1, 1 }, { 256, 3, 1, 1 }, { 0, 3, 2, 0 },   { 0 },
};

static const Row rows_vgg16[] = {
    { 64, 3, 1, 1 },
    { 64, 3, 1, 1 },
    { 0, 2, 2, 0 }, /**/
    { 128, 3, 1, 1 },
    { 128, 3, 1, 1 },
    { 0, 2, 2, 0 }, /**/
    { 256, 3, 1, 1 },
    { 256, 3, 1, 1 },
    { 256, 3, 1, 1 },
    { 0, 2, 2, 0 }, /**/
    { 512, 3, 1, 1 },
    { 512, 3, 1, 1 },
    { 512, 3, 1, 1 },
    { 0, 2, 2, 0 }, /**/
    { 512, 3, 1, 1 },
    { 512, 3, 1, 1 },
    { 512, 3, 1, 1 },
    { 0, 2, 2, 0 }, /**/
    { 0 },
};

static const Layers layers_alexnet = { rows_alexnet, 6, { 1, 4, 6 }, { 0, 3 } };
static const Layers layers_vgg16 = { rows_vgg16, 7, { 0, 3, 6 }, { 2, 5 } };
const IfmCnnArchitecture ifm_cnn_alexnet = { &layers_alexnet, emit };
const IfmCnnArchitecture ifm_cnn_vgg16 = { &layers_vgg16, emit };
