#pragma once
#include "zoo-private.h"
#include <math.h>

G_BEGIN_DECLS

/* Shared by the convolutional networks, in cnn.c. An architecture is a table of layers and a function that emits them. */

/* IfmFeatures: a tensor [batch, channels, height, width] between two layers. */
typedef struct
{
    const char *name; /* the network's */
    gint64 channels, height, width;
} IfmFeatures;

/*
 * IfmCnnArchitecture: @layers: a table in the format of @emit. The last call of @emit is ifm_cnn_scores(). Weights have the
 * names of torchvision's state_dict. Their order does not depend on size or batch, so all models share one file of weights.
 */
typedef struct
{
    const void *layers;
    void (*emit)(IfmNet *net, const void *layers, IfmFeatures image);
} IfmCnnArchitecture;
extern const IfmCnnArchitecture ifm_cnn_alexnet, ifm_cnn_densenet121, ifm_cnn_googlenet, ifm_cnn_mobilenet_v2,
    ifm_cnn_resnet18, ifm_cnn_resnet50, ifm_cnn_resnet152, ifm_cnn_squeezenet, ifm_cnn_vgg16;

/* Parameters of every architecture, and the function that builds what an entry is of; and without values of its weights.
 */
extern const IfmZooParameter ifm_cnn_parameters[];
IfmZooBuild ifm_cnn_build, ifm_cnn_outline;

/* ifm_cnn_fits: Whether all windows of the network fit an image of that side. FALSE with IFM_ERROR_INVALID */
gboolean ifm_cnn_fits(const IfmZooEntry *entry, gint64 size, GError **error);

/* IfmCnnConv: @groups: 0: 1 */
typedef struct
{
    gint64 channels; /* out */
    int kernel, stride, pad;
    gint64 groups;
} IfmCnnConv;

/* Each function adds one node @name with its weights. Returns: the output of the node. */
IfmFeatures ifm_cnn_conv(IfmNet *net, IfmFeatures from, const char *name, IfmCnnConv conv, gboolean bias);
/* @gain: the mean of its scale: below 1 for a branch whose output is added to a stream many times */
IfmFeatures ifm_cnn_norm(IfmNet *net, IfmFeatures from, const char *name, double epsilon, double gain);
IfmFeatures ifm_cnn_relu(IfmNet *net, IfmFeatures from, const char *name);
/* ifm_cnn_relu6: A rectifier that ends at 6: a Clip. */
IfmFeatures ifm_cnn_relu6(IfmNet *net, IfmFeatures from, const char *name);
IfmFeatures ifm_cnn_add(IfmNet *net, IfmFeatures a, IfmFeatures b, const char *name);
/* @parts: [n], of equal height and width */
IfmFeatures ifm_cnn_concat(IfmNet *net, const IfmFeatures *parts, gsize n, const char *name);

typedef struct
{
    const char *op_type; /* "MaxPool", "AveragePool" */
    int kernel, stride, pad;
    gboolean ceil; /* a window that extends over the end counts */
} IfmPool;
IfmFeatures ifm_cnn_pool(IfmNet *net, IfmFeatures from, const char *name, IfmPool pool);

/* ifm_cnn_adaptive_average: Pools any input to @size x @size: position i is the mean of rows floor(i h / size) to
 * ceil((i + 1) h / size) - 1; the same for columns. It adds no node for an identity, and several where one pooling cannot.
 */
IfmFeatures ifm_cnn_adaptive_average(IfmNet *net, IfmFeatures from, const char *name, gint64 size);

/* ifm_cnn_global_average: The result is [batch, channels, 1, 1]; the node is "avgpool". */
IfmFeatures ifm_cnn_global_average(IfmNet *net, IfmFeatures from);
/* ifm_cnn_flatten, _dense: The result is [batch, channels x height x width], with height and width 1. */
IfmFeatures ifm_cnn_flatten(IfmNet *net, IfmFeatures from, const char *name);
IfmFeatures ifm_cnn_dense(IfmNet *net, IfmFeatures from, const char *name, gint64 outputs);
/* ifm_cnn_scores: The last dense layer. It makes the output. */
void ifm_cnn_scores(IfmNet *net, IfmFeatures from, const char *name);
/* ifm_cnn_scores_of: Scores of a network that ends in a convolution to ifm_cnn_classes() channels: their global average. */
void ifm_cnn_scores_of(IfmNet *net, IfmFeatures from);
gint64 ifm_cnn_classes(const IfmNet *net);
/* ifm_cnn_dropout: In the training form only. The input "chance.NAME" decides which elements it drops.
 * @rank: 2 for a flat tensor, 4 before flattening */
IfmFeatures ifm_cnn_dropout(IfmNet *net, IfmFeatures from, const char *name, double ratio, int rank);
/* ifm_cnn_pooled_scores: Global average, flatten, ifm_cnn_scores(). @dropout: before the last layer; 0: none */
void ifm_cnn_pooled_scores(IfmNet *net, IfmFeatures from, const char *name, double dropout);

G_END_DECLS
