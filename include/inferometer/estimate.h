#pragma once
#include <inferometer/onnx.h>

G_BEGIN_DECLS

/*
 * What a layer costs before there is a model: closed forms, by the conventions of ifm_cost_conventions(). A graph of the
 * zoo of the same configuration counts the same (tests/zoo). Sizes are counts; counts below 0, and products that do not fit
 * 63 bits, are IFM_ERROR_INVALID with the parameter's name.
 */

/** IfmEstimate: @parameters: weights and biases. @bytes: of activations in and out and of parameters, each once, f32. */
typedef struct
{
    gint64 macs, flop, parameters, bytes;
} IfmEstimate;

typedef enum
{
    IFM_MESSAGE_NONE,
    IFM_MESSAGE_GIN,
    IFM_MESSAGE_GCN,
    IFM_MESSAGE_SAGE,
} IfmMessagePassing;
/** ifm_message_passing_words: "none", "gin", "gcn", "sage", NULL-terminated, in the order of the enumeration. */
const char *const *ifm_message_passing_words(void);

typedef enum
{
    IFM_ENCODING_NONE,
    IFM_ENCODING_LAPLACIAN,   /* the first eigenvectors of the normalised Laplacian */
    IFM_ENCODING_RANDOM_WALK, /* return probabilities of 1 to dim steps */
} IfmPositionalEncoding;
/** ifm_positional_encoding_words: "none", "lap", "rwse", NULL-terminated. */
const char *const *ifm_positional_encoding_words(void);

/** IfmTransformerSizes: a graph transformer. @sparse_ratio: of attention, the share of the num_nodes^2 scores that are
 * computed: 1 is dense, num_edges / num_nodes^2 sparse to the edges. */
typedef struct
{
    gint64 num_nodes, num_edges, feature_dim, hidden_dim, num_layers, num_heads, ffn_dim, pe_dim, num_outputs;
    double sparse_ratio;
    IfmMessagePassing mpnn;
    IfmPositionalEncoding pe;
} IfmTransformerSizes;

/** Linear of @rows rows. Equals: flop = 2 rows in out + rows out where @bias */
gboolean ifm_estimate_linear(gint64 rows, gint64 in, gint64 out, gboolean bias, IfmEstimate *estimate, GError **error);
/** Multi-head attention with its four projections: q, k, v, output. Equals: 4 linear(n, d, d) + scores 2 s d + scaling s h
 * + softmax 5 s h + values 2 s d, s = sparse_ratio n^2, h heads (all heads together have width d). */
gboolean ifm_estimate_attention(gint64 num_nodes, gint64 hidden_dim, gint64 num_heads, double sparse_ratio,
                                IfmEstimate *estimate, GError **error);
gboolean ifm_estimate_message_passing(IfmMessagePassing kind, gint64 num_nodes, gint64 num_edges, gint64 hidden_dim,
                                      IfmEstimate *estimate, GError **error);
/** Two linear layers with GELU (4 an element) between them. */
gboolean ifm_estimate_feed_forward(gint64 num_nodes, gint64 hidden_dim, gint64 ffn_dim, IfmEstimate *estimate,
                                   GError **error);
/** Computing the encoding once, by the method that `dataset` uses, not the layer that reads it: Laplacian by Lanczos
 * (an estimate: @pe_dim + 1 vectors, sparse products and orthogonalisation), random walk by pe_dim sparse x dense products.
 */
gboolean ifm_estimate_encoding(IfmPositionalEncoding kind, gint64 num_nodes, gint64 num_edges, gint64 pe_dim,
                               IfmEstimate *estimate, GError **error);

/** IfmTransformerEstimate: the whole and its parts; they add up. */
typedef struct
{
    IfmEstimate total, input, mpnn, attention, ffn, norm, head; /* forward, without computing the encoding */
    IfmEstimate encoding;                                       /* once, not in total */
} IfmTransformerEstimate;
gboolean ifm_estimate_transformer(const IfmTransformerSizes *sizes, IfmTransformerEstimate *estimate, GError **error);

/** ifm_estimate_attention_bytes: The score matrices of one layer, f32. Equals: 4 num_heads sparse_ratio num_nodes^2; twice
 * that where @with_softmax keeps the scores beside their softmax, as a training pass does. */
gboolean ifm_estimate_attention_bytes(gint64 num_nodes, gint64 num_heads, double sparse_ratio, gboolean with_softmax,
                                      gint64 *bytes, GError **error);

/** IfmEncodingStorage: bytes, f32, indices i64. @node: [nodes, dim]. @relative_dense: [nodes, nodes, dim].
 * @relative_sparse: [edges, dim] and the two indices of each edge. */
typedef struct
{
    gint64 node, relative_dense, relative_sparse;
} IfmEncodingStorage;
gboolean ifm_estimate_encoding_storage(gint64 num_nodes, gint64 num_edges, gint64 dim, IfmEncodingStorage *storage,
                                       GError **error);

G_END_DECLS
