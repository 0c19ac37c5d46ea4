#pragma once
#include "zoo-private.h"

G_BEGIN_DECLS

/* What the convolutional networks share: cnn.c. An architecture is a table of its layers and a function that emits them. */

/* IfmFeatures: a tensor [batch, channels, height, width] on its way through a network. */
typedef struct
{
    const char *name; /* the network's */
    gint64 channels, height, width;
} IfmFeatures;

typedef struct IfmCnn IfmCnn;

/*
 * IfmCnnArchitecture: @layers: as its @emit knows them. What it emits ends in ifm_cnn_scores(). Weights are named as
 * torchvision's state_dict names them, and added in an order that no size or batch changes: one file of weights serves all.
 */
typedef struct
{
    const char *name; /* the zoo's: "resnet18" */
    const void *layers;
    void (*emit)(IfmCnn *cnn, const void *layers, IfmFeatures image);
} IfmCnnArchitecture;

/* Parameters of every architecture, and the function that an entry's build calls. */
extern const IfmZooParameter ifm_cnn_parameters[];
IfmModel *ifm_cnn_build(const IfmCnnArchitecture *architecture, const gint64 *values, guint32 seed, GError **error);

/* ifm_cnn_name: Returns: printf's result, the network's own. */
const char *ifm_cnn_name(IfmCnn *cnn, const char *format, ...) G_GNUC_PRINTF(2, 3);

typedef struct
{
    gint64 channels; /* out */
    int kernel, stride, pad;
} IfmConv;

/* Each adds one node (and its weights), named @name, and returns what the node makes. */
IfmFeatures ifm_cnn_conv(IfmCnn *cnn, IfmFeatures from, const char *name, IfmConv conv, gboolean bias);
/* @gain: about which its scale lies: below 1 where what it makes is added to a stream again and again */
IfmFeatures ifm_cnn_norm(IfmCnn *cnn, IfmFeatures from, const char *name, double epsilon, double gain);
IfmFeatures ifm_cnn_relu(IfmCnn *cnn, IfmFeatures from, const char *name);
IfmFeatures ifm_cnn_add(IfmCnn *cnn, IfmFeatures a, IfmFeatures b, const char *name);
/* @parts: [n], of equal height and width */
IfmFeatures ifm_cnn_concat(IfmCnn *cnn, const IfmFeatures *parts, gsize n, const char *name);

typedef struct
{
    const char *op_type; /* "MaxPool", "AveragePool" */
    int kernel, stride, pad;
    gboolean ceil; /* a window that reaches over the end counts */
} IfmPool;
IfmFeatures ifm_cnn_pool(IfmCnn *cnn, IfmFeatures from, const char *name, IfmPool pool);

/* ifm_cnn_adaptive_average: To @size x @size, whatever comes: position i is the mean of rows floor(i h / size) to
 * ceil((i + 1) h / size) - 1, columns alike. No node where that is the identity; several where no one pooling does it. */
IfmFeatures ifm_cnn_adaptive_average(IfmCnn *cnn, IfmFeatures from, const char *name, gint64 size);

/* ifm_cnn_flatten, _dense: [batch, channels x height x width] from here on: height and width are 1. */
IfmFeatures ifm_cnn_flatten(IfmCnn *cnn, IfmFeatures from, const char *name);
IfmFeatures ifm_cnn_dense(IfmCnn *cnn, IfmFeatures from, const char *name, gint64 outputs);
/* ifm_cnn_scores: The last dense layer, @name, which makes the output. */
void ifm_cnn_scores(IfmCnn *cnn, IfmFeatures from, const char *name);
/* ifm_cnn_dropout: Of a flat tensor. In the training form alone: an input "chance.NAME" tells which elements it drops. */
IfmFeatures ifm_cnn_dropout(IfmCnn *cnn, IfmFeatures from, const char *name, double ratio);
/* ifm_cnn_pooled_scores: Global average, flattened, then ifm_cnn_scores(). @dropout: before the last layer; 0: none */
void ifm_cnn_pooled_scores(IfmCnn *cnn, IfmFeatures from, const char *name, double dropout);

G_END_DECLS
