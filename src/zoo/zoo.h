/* Shared with other rooms: the table of models, graph transformers, and models by name. */
#pragma once
#include <base/base.h>
#include <dataset/dataset.h>
#include <onnx/estimate.h>
#include <onnx/onnx.h>
#include <staged/staged.h>

G_BEGIN_DECLS

/* --- the zoo ------------------------------------------------------------------------------------------------------- */

/** ifm_zoo_find: Returns: (transfer none) NULL with IFM_ERROR_INVALID, which gives the nearest name. */
const IfmZooEntry *ifm_zoo_find(const char *name, GError **error);

/** ifm_zoo_parameter: (transfer none) The parameter of that name; NULL: there is none. @entry: (nullable) NULL: the model
 * is a file */
const IfmZooParameter *ifm_zoo_parameter(const IfmZooEntry *entry, const char *name);

/** ifm_zoo_min_image: The side of the smallest image that all windows of a convolutional network fit, pixels; 0 of others.
 */
gint64 ifm_zoo_min_image(const IfmZooEntry *entry);

/** IfmImages: which images a convolutional network takes.
 * @entry: of the zoo; NULL: the rest is of a file    @own: the height that the file fixes; 0: any side that fits
 * @dims: names of its free heights and widths, borrowed from @model    @free_batch: whether its batch is free */
typedef struct
{
    const IfmZooEntry *entry;
    IfmModel *model;
    gint64 batch, own;
    GPtrArray *dims;
    gboolean free_batch;
    GHashTable *tried; /* of a file: side -> 1 where it fits, else 0 */
} IfmImages;

/** ifm_images_open: Those of an ONNX file, for batches of @batch. @self: to be cleared in any case
 * Returns: FALSE with the errors of ifm_model_open(), or IFM_ERROR_INVALID: it has no convolution, no image, another batch.
 */
gboolean ifm_images_open(IfmImages *self, const char *path, gint64 batch, GError **error);
void ifm_images_clear(IfmImages *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmImages, ifm_images_clear)

/** ifm_images_fit: Whether all windows of the graph fit an image of that side, and its shapes agree. FALSE with
 * IFM_ERROR_INVALID, which names the node. */
gboolean ifm_images_fit(const IfmImages *self, gint64 size, GError **error);

/** ifm_images_least: The smallest side that fits; 0: none up to @most does. */
gint64 ifm_images_least(const IfmImages *self, gint64 most);

/** ifm_zoo_outline: As ifm_zoo_build(), for who asks for shapes alone: large weights of a convolutional network have no
 * values. */
IfmModel *ifm_zoo_outline(const char *name, const char *const *settings, guint32 seed, GError **error);

#define IFM_ZOO_MAX_PARAMETERS 32

/** ifm_zoo_values: The values of the parameters of an entry: from @settings, else the defaults. @values: (out)
 * [IFM_ZOO_MAX_PARAMETERS]. Errors: of ifm_zoo_build(). */
gboolean ifm_zoo_values(const IfmZooEntry *entry, const char *const *settings, gint64 *values, GError **error);

/** ifm_attention_words: "dense", "sparse", NULL-terminated, in the order of the enumeration. */
const char *const *ifm_attention_words(void);

/** ifm_norm_words: "layer", "batch", NULL-terminated, in the order of the enumeration. */
const char *const *ifm_norm_words(void);

/** ifm_head_words: "graph", "node", NULL-terminated, in the order of the enumeration. */
const char *const *ifm_head_words(void);

/** ifm_transformer_usual_edges: The number of directed edges of ifm_graph_synthetic() with average degree
 * IFM_TRANSFORMER_USUAL_DEGREE. In a graph with too few nodes for that degree, all nodes are neighbours. */
gint64 ifm_transformer_usual_edges(gint64 num_nodes);

/** ifm_transformer_scatter_words: "auto", then the words of IfmScatter in its order. */
const char *const *ifm_transformer_scatter_words(void);

/* --- graph transformers -------------------------------------------------------------------------------------------- */

/*
 * Graph transformers of the zoo: attention over the nodes of a graph, optionally with parallel message passing (the hybrid
 * of Rampášek et al. 2022, GPS). A layer is that of ifm_estimate_transformer(). For one graph with layer norm and a
 * prediction for the graph, the cost of the model equals that estimate exactly. The zoo has two names with one builder:
 * "graph_transformer" (default: no message passing) and "gps" (default: gin).
 *
 * A node of the model is named by layer and part: "layers.3.attention.scores". In a backward
 * pass the name has a prefix: "backward.layers.3.attention.scores.MatMul".
 */

typedef enum
{
    IFM_ATTENTION_DENSE,  /* each node of a graph to all nodes of the graph */
    IFM_ATTENTION_SPARSE, /* along the edges: softmax over the edges that end in a node */
} IfmAttention;

/**
 * ifm_transformer_scatter: The form for a word of ifm_transformer_scatter_words(). Auto is mixed for sparse attention and
 * elements for dense attention. The form that is fast along the edges limits ONNX Runtime to one thread for the whole
 * model. That does not pay where dense attention, which uses several threads, is most of the work.
 * @word: index in ifm_transformer_scatter_words()
 */
IfmScatter ifm_transformer_scatter(int word, IfmAttention attention);

typedef enum
{
    IFM_HEAD_GRAPH, /* one prediction per graph, from the mean over its nodes */
    IFM_HEAD_NODE,  /* one prediction per node */
} IfmHead;

typedef enum
{
    IFM_NORM_LAYER,
    IFM_NORM_BATCH, /* over the nodes; the evaluation form uses running statistics */
} IfmNorm;

/**
 * IfmTransformer: a configuration. @sizes: those of the whole batch; its sparse_ratio is ignored, see
 * ifm_transformer_estimate().
 * @num_graphs: above 1, dense attention pads each graph to @most_nodes rows, the number of nodes of the largest graph
 * @dropout: probability in the training form, 0 to below 1. It applies after attention, message passing and both layers of
 * the feed-forward part. Each mask is an input, 0 or 1 / (1 - dropout): "mask.layers.0.attention", ".mpnn" and ".ffn"
 * [nodes, hidden_dim], ".ffn.hidden" [nodes, ffn_dim].
 * @scatter: the form of sums over edges. The maximum of a softmax, and sums over the nodes of a graph, are ScatterElements.
 * ONNX Runtime runs a model with a ScatterND that adds on one thread. That is faster along the edges,
 * and slower where dense attention is most of the work (docs/transformers.md).
 */
typedef struct
{
    IfmTransformerSizes sizes;
    gint64 num_graphs, most_nodes;
    IfmAttention attention;
    IfmNorm norm;
    IfmHead head;
    gboolean training;
    double dropout;
    IfmScatter scatter;
} IfmTransformer;

/** ifm_transformer_input_bytes: The bytes of all inputs, with the masks. Returns: FALSE with IFM_ERROR_INVALID for an
 * invalid configuration, or a sum above 63 bits. */
gboolean ifm_transformer_input_bytes(const IfmTransformer *transformer, gint64 *bytes, GError **error);

/** ifm_transformer_attention_bytes: ifm_estimate_attention_bytes() of one layer. Dense attention counts all graphs of a
 * batch, each padded to the largest. Sparse attention counts the edges. */
gboolean ifm_transformer_attention_bytes(const IfmTransformer *transformer, gboolean with_softmax, gint64 *bytes,
                                         GError **error);

/** ifm_transformer_part_of: Returns: "attention", "ffn", "mpnn", "norm", "head", or "input" (also the indices that layers
 * share); in a training step also "loss" and "update" (of the weights). NULL for a node of another model. */
const char *ifm_transformer_part_of(const char *node_name);

/* --- models by name ------------------------------------------------------------------------------------------------ */

#define IFM_ZOO_PREFIX "zoo:"

/**
 * IfmModelRequest: a model as a user names it, and how it is to be opened.
 * @text: a file, or a model of the zoo with its settings: "resnet18,batch=8", "zoo:vit". A file stands before a name of the
 * zoo.
 * @open: (nullable)    @seed: of inputs that are random numbers of a range, and of a zoo model's weights
 * @folder: what is made goes below it, into models/ and inputs/; NULL: into a temporary folder that goes with the source
 * @is_run: an engine is to run it: its path has a file that engines accept, and inputs that are given have one
 * @is_outline: shapes alone are asked for: a model of the zoo is made in memory, without the values of large weights
 * @training: a model of the zoo in its training form, where it has one
 * @written: (nullable) paths of models of the zoo that were written before; added to
 * @note: (nullable) with @user
 */
typedef struct
{
    const char *text;
    const IfmModelOptions *open;
    guint32 seed;
    const char *folder;
    gboolean is_run, is_outline, training;
    GHashTable *written;
    IfmNote note;
    void *user;
} IfmModelRequest;

/**
 * IfmModelSource: an opened model.
 * @path: the file that an engine reads; NULL: an outline of the zoo    @source: what a user would call it: the file as
 * named, or "zoo:NAME,…"
 * @feed: sizes of all free dimensions, and inputs that are given
 * @inputs_path: a file of tensors with those; NULL: all inputs are seeded, or @is_run was FALSE
 * @samples_path: the same of the samples of a batch; NULL: there are none
 */
typedef struct
{
    IfmModel *model;
    char *path, *source;
    IfmModelFeed feed;
    char *inputs_path;
    char *samples_path;
    IfmTemporary scratch;
} IfmModelSource;

/**
 * ifm_model_source_open: Opens a model. Functions of the model are inlined; data outside of its folder are copied where
 * that is allowed.
 * @source: (out) to be cleared where it is TRUE
 * Returns: FALSE with IFM_ERROR_USAGE, IFM_ERROR_INVALID, IFM_ERROR_UNAVAILABLE, IFM_ERROR_MEMORY, one line each.
 */
gboolean ifm_model_source_open(const IfmModelRequest *request, IfmModelSource *source, GError **error);
void ifm_model_source_clear(IfmModelSource *source);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmModelSource, ifm_model_source_clear)

/** ifm_model_source_entry: The model of the zoo that a text means; NULL: a file, or nothing. */
const IfmZooEntry *ifm_model_source_entry(const char *text);

/* The defaults of the zoo, of the options of `profile` and of estimates. They are plain numbers, since help texts contain
 * them. The default width of the feed-forward part is twice hidden_dim. */
#define IFM_TRANSFORMER_USUAL_NODES 500
#define IFM_TRANSFORMER_USUAL_DEGREE 5 /* average number of edges that end in a node */
#define IFM_TRANSFORMER_USUAL_FEATURES 16
#define IFM_TRANSFORMER_USUAL_HIDDEN 64
#define IFM_TRANSFORMER_USUAL_LAYERS 4
#define IFM_TRANSFORMER_USUAL_HEADS 4
#define IFM_TRANSFORMER_USUAL_PE 16
#define IFM_TRANSFORMER_USUAL_OUTPUTS 1
#define IFM_TRANSFORMER_USUAL_DROPOUT 10 /* percent */

#define IFM_TRANSFORMER_INIT                                                                                               \
    ((IfmTransformer){ .sizes = { .num_nodes = IFM_TRANSFORMER_USUAL_NODES,                                                \
                                  .num_edges = IFM_TRANSFORMER_USUAL_NODES * IFM_TRANSFORMER_USUAL_DEGREE,                 \
                                  .feature_dim = IFM_TRANSFORMER_USUAL_FEATURES,                                           \
                                  .hidden_dim = IFM_TRANSFORMER_USUAL_HIDDEN,                                              \
                                  .num_layers = IFM_TRANSFORMER_USUAL_LAYERS,                                              \
                                  .num_heads = IFM_TRANSFORMER_USUAL_HEADS,                                                \
                                  .ffn_dim = 2 * IFM_TRANSFORMER_USUAL_HIDDEN,                                             \
                                  .pe_dim = IFM_TRANSFORMER_USUAL_PE,                                                      \
                                  .num_outputs = IFM_TRANSFORMER_USUAL_OUTPUTS,                                            \
                                  .sparse_ratio = 1 },                                                                     \
                       .num_graphs = 1,                                                                                    \
                       .dropout = IFM_TRANSFORMER_USUAL_DROPOUT / 100.0,                                                   \
                       .scatter = IFM_SCATTER_ELEMENTS })

/**
 * ifm_transformer_from_settings: The configuration that ifm_zoo_build() would build.
 * @name: "graph_transformer" or "gps"    @settings: "NAME=VALUE", NULL-terminated, or NULL    @transformer: (out)
 * Returns: FALSE with the errors of ifm_zoo_build().
 */
gboolean ifm_transformer_from_settings(const char *name, const char *const *settings, IfmTransformer *transformer,
                                       GError **error);

/**
 * ifm_transformer_build: Builds the model. Its inputs are those that the configuration needs, in this order:
 *     x f32 [nodes, feature_dim]
 *     pe f32 [nodes, pe_dim]
 *     edge_index i64 [2, edges]: for message passing or sparse attention
 *     coefficients f32 [edges + nodes, 1]: for gcn; of the edges, then of each node to itself
 *     degrees f32 [nodes, 1]: for sage; at least 1
 *     bias f32 [graphs, 1, 1, most_nodes]: for dense attention of several graphs; 0, or a large negative number for padding
 *     places i64 [nodes]: for dense attention of several graphs; the padded row of each node, all different
 *     node_graph i64 [nodes], weights f32 [graphs, 1]: for a prediction per graph of several; 1 / nodes
 *     the masks
 * Output: "y" f32 [graphs or nodes, num_outputs]. Without layers there are no inputs that only layers read. Without edges
 * there is no edge_index. Metadata inferometer.range.PORT makes seeded inputs valid.
 * The same configuration and seed give the same bytes. Both forms of one seed have the same weights. Inference engines do
 * not run the training form of batch norm; ifm_gradient_backward() and ifm_gradient_training_step() write it out. Returns:
 * (transfer full) NULL with IFM_ERROR_INVALID and the name of the parameter that is wrong: "num_heads 3 does not divide
 * hidden_dim 64".
 */
IfmModel *ifm_transformer_build(const IfmTransformer *transformer, guint32 seed, GError **error);

/**
 * ifm_transformer_inputs: Writes the inputs of the model for a graph into a tensor file (tensor-file.h). x is the
 * node_values of the graph [n_nodes, feature_dim]; without node_values it is seeded. Masks are seeded from one generator,
 * in order. Coefficients are those of Kipf and Welling 2017: 1 / sqrt((edges into source + 1) (edges into destination +
 * 1)). The same arguments give the same bytes.
 * @encoding: (nullable) of dimension pe_dim; NULL where pe is none
 * Returns: FALSE with IFM_ERROR_INVALID where graph or encoding do not have the sizes of the model, or the errors of
 * ifm_tensor_file_save().
 */
gboolean ifm_transformer_inputs(const IfmTransformer *transformer, const IfmGraph *graph, const IfmEncoding *encoding,
                                guint32 seed, const char *path, GError **error);

/** ifm_transformer_for_graph: Sets the sizes of @transformer to those of a graph: nodes, edges, graphs, most_nodes, and
 * feature_dim where the graph has node_values. */
void ifm_transformer_for_graph(IfmTransformer *transformer, const IfmGraph *graph);

/**
 * ifm_transformer_estimate: The cost of the evaluation form by parts, for every configuration: ifm_estimate_transformer()
 * with the changes by padding, batches, sparse attention, batch norm and predictions per node. FLOP equal those of the ONNX
 * graph. MACs do so with dense attention (scores along edges are products and sums there, not a matrix product). Equals,
 * where it differs: s = graphs most_nodes^2 (dense) or edges (sparse); p (padded): dense attention of several graphs
 *   attention  a layer: 4 linear(n, d, d); macs + 2 s d; flop + 6 s h, + s h where p (the bias); bytes + 4 graphs
 *              most_nodes + 8 n where p, + 16 edges where sparse
 *   norm       batch: flop 2 n d in place of 5 n d (the training form counts 5, by the batch's statistics); bytes + 8 d
 *              (running statistics); parameters the same
 *   head       graph, of several: flop + n d (sum) + graphs d (times the weights), linear(graphs, d, num_outputs);
 *              bytes + 8 n + 4 graphs; node: linear(n, d, num_outputs)
 *   encoding   of several graphs: graphs times that of one of their average size
 */
gboolean ifm_transformer_estimate(const IfmTransformer *transformer, IfmTransformerEstimate *estimate, GError **error);

G_END_DECLS
