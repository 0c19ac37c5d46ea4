#pragma once
#include <inferometer/dataset.h>
#include <inferometer/estimate.h>
#include <inferometer/zoo.h>

G_BEGIN_DECLS

/*
 * Graph transformers of the zoo: attention over a graph's nodes, with message passing beside it where asked (the hybrid of
 * Rampášek et al. 2022, GPS). A layer is that of ifm_estimate_transformer(): a model of one graph with layer norm and a
 * prediction for the graph costs what that says, to the unit. Zoo names "graph_transformer" (no message passing unless
 * asked) and "gps" (gin unless asked); one builder.
 *
 * Nodes of the model are named "layers.3.attention.scores": the layer, then the part. ifm_transformer_part_of() tells the
 * part of any node, also of one that differentiation made of it ("backward.layers.3.attention.scores.MatMul").
 */

typedef enum
{
    IFM_ATTENTION_DENSE,  /* every node of a graph to every other of it */
    IFM_ATTENTION_SPARSE, /* along the edges: softmax over those that end in a node */
} IfmAttention;
/** ifm_attention_words: "dense", "sparse", NULL-terminated, in the order of the enumeration. */
const char *const *ifm_attention_words(void);

typedef enum
{
    IFM_NORM_LAYER,
    IFM_NORM_BATCH, /* over the nodes; by running statistics in the evaluation form */
} IfmNorm;
/** ifm_norm_words: "layer", "batch". */
const char *const *ifm_norm_words(void);

typedef enum
{
    IFM_HEAD_GRAPH, /* a prediction a graph, of the mean over its nodes */
    IFM_HEAD_NODE,  /* a prediction a node */
} IfmHead;
/** ifm_head_words: "graph", "node". */
const char *const *ifm_head_words(void);

/**
 * IfmTransformer: @sizes: those of the whole batch; its sparse_ratio is not read (see ifm_transformer_estimate()).
 * @num_graphs: above 1 dense attention pads each graph to @most_nodes rows, the nodes of the largest
 * @dropout: probability of the training form, 0 to below 1: after attention, message passing and both layers of the
 * feed-forward part. Each mask is an input, "mask.layers.0.attention" ([nodes, hidden_dim]; ".mpnn", ".ffn.hidden", which
 * is ffn_dim wide, ".ffn"): 0, or 1 / (1 - dropout).
 * @scatter: how sums over edges are written; the maximum of a softmax, and sums over a graph's nodes, are ScatterElements.
 * Where ONNX Runtime meets a ScatterND that adds it is run on one thread (ifm_scatter_for()): faster along the edges,
 * slower where dense attention is most of the work (ifm_transformer_scatter()): docs/transformers.md
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

/* What is meant where nobody says otherwise: in the zoo, in `profile`'s options, in estimates. Plain numbers, since help
 * spells them. Where nobody says how wide the feed-forward part is: twice hidden_dim. */
#define IFM_TRANSFORMER_USUAL_NODES 500
#define IFM_TRANSFORMER_USUAL_DEGREE 5 /* edges that end in a node, on average */
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

/** ifm_transformer_usual_edges: As many as ifm_graph_synthetic() makes of average degree IFM_TRANSFORMER_USUAL_DEGREE, each
 * direction one; of few nodes each has all others as neighbours. */
gint64 ifm_transformer_usual_edges(gint64 num_nodes);

/** ifm_transformer_scatter_words: "auto", and behind it IfmScatter's, in its order. */
const char *const *ifm_transformer_scatter_words(void);
/**
 * ifm_transformer_scatter: What the word at @word of ifm_transformer_scatter_words() means: auto is mixed with sparse
 * attention, elements with dense. What is fast along the edges has ONNX Runtime use one thread for all of the model: worth
 * it only where dense attention, which shares its work out among threads, is not most of it.
 */
IfmScatter ifm_transformer_scatter(int word, IfmAttention attention);

/**
 * ifm_transformer_from_settings: What ifm_zoo_build() would build of the same words: @name "graph_transformer" or "gps",
 * @settings "NAME=VALUE", NULL-terminated or NULL. IFM_ERROR_INVALID as ifm_zoo_build().
 */
gboolean ifm_transformer_from_settings(const char *name, const char *const *settings, IfmTransformer *transformer,
                                       GError **error);

/**
 * ifm_transformer_check: Whether there is such a model. IFM_ERROR_INVALID with the parameter's name: "num_heads 3 does not
 * divide hidden_dim 64", "pe_dim 16: a graph of 12 nodes has 11 eigenvectors at most" (of several graphs: one as large as
 * they are on average; whether the smallest is large enough is found when its encoding is computed).
 */
gboolean ifm_transformer_check(const IfmTransformer *transformer, GError **error);

/**
 * ifm_transformer_build: Its inputs, those that the configuration needs, in this order:
 *     x f32 [nodes, feature_dim], pe f32 [nodes, pe_dim], edge_index i64 [2, edges] (message passing, sparse attention),
 *     coefficients f32 [edges + nodes, 1] (gcn: of the edges, then of each node to itself), degrees f32 [nodes, 1] (sage:
 *     at least 1),
 *     bias f32 [graphs, 1, 1, most_nodes], places i64 [nodes] (dense attention of several graphs: 0 or, where a row is no
 *     node's, a large negative number; the row of each node, none twice),
 *     node_graph i64 [nodes], weights f32 [graphs, 1] (1 / nodes; a prediction a graph of several), then the masks.
 * Output: "y" f32 [graphs or nodes, num_outputs]. Same configuration and seed, same bytes; both forms of one seed have the
 * same weights. Metadata inferometer.range.PORT of each, so that seeded inputs are valid. Without layers there are none
 * of the inputs that layers read, without edges there is no edge_index. No engine for inference runs batch norm's training
 * form as it stands: ifm_gradient_backward() and ifm_gradient_training_step() write it out. Returns: (transfer full) NULL
 * with the errors of ifm_transformer_check().
 */
IfmModel *ifm_transformer_build(const IfmTransformer *transformer, guint32 seed, GError **error);

/**
 * ifm_transformer_inputs: Its inputs for a graph, as a tensor file (tensor-file.h). x is the graph's node_values (their
 * number is feature_dim), or, where it has none, seeded; masks are seeded, drawn one after the other. Coefficients are
 * those of Kipf and Welling 2017: 1 / sqrt((edges into source + 1) (edges into destination + 1)).
 * @encoding: of pe_dim numbers; NULL where pe is none    Same arguments, same bytes.
 * Returns: FALSE with IFM_ERROR_INVALID where the graph or the encoding is not of the model's sizes; those of the file.
 */
gboolean ifm_transformer_inputs(const IfmTransformer *transformer, const IfmGraph *graph, const IfmEncoding *encoding,
                                guint32 seed, const char *path, GError **error);

/** ifm_transformer_input_bytes: What all its inputs take, masks among them. IFM_ERROR_INVALID as ifm_transformer_check(),
 * or where that is more than 63 bits. */
gboolean ifm_transformer_input_bytes(const IfmTransformer *transformer, gint64 *bytes, GError **error);

/** ifm_transformer_for_graph: Puts a graph's sizes (nodes, edges, graphs, most_nodes, and feature_dim where it has values)
 * into @transformer. */
void ifm_transformer_for_graph(IfmTransformer *transformer, const IfmGraph *graph);

/**
 * ifm_transformer_estimate: What the evaluation form costs, of every configuration, by parts: ifm_estimate_transformer()
 * with what padding, several graphs, sparse attention, batch norm and a prediction a node change. FLOP equal the graph's
 * own count, MACs where attention is dense (along edges scores are products and sums, not a matrix product).
 * Equals, where it differs; s = graphs most_nodes^2 dense, edges sparse; p padded: dense attention of several graphs:
 *   attention  a layer: 4 linear(n, d, d); macs + 2 s d; flop + 6 s h, + s h where p (the bias); bytes + 4 graphs
 *              most_nodes + 8 n where p, + 16 edges where sparse
 *   norm       batch: flop 2 n d in place of 5 n d (the training form counts 5, by the batch's statistics); bytes + 8 d
 *              (running statistics); parameters the same
 *   head       graph, of several: flop + n d (sum) + graphs d (times the weights), linear(graphs, d, num_outputs);
 *              bytes + 8 n + 4 graphs; node: linear(n, d, num_outputs)
 *   encoding   of several graphs: graphs times that of one of their average size
 */
gboolean ifm_transformer_estimate(const IfmTransformer *transformer, IfmTransformerEstimate *estimate, GError **error);

/** ifm_transformer_part_of: "attention", "ffn", "mpnn", "norm", "input" (also what layers share: indices made ready),
 * "head"; of a training step "loss" and "update" (of the weights), too; NULL: a name of no transformer's node. */
const char *ifm_transformer_part_of(const char *node_name);

G_END_DECLS
