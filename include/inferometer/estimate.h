#pragma once
#include <inferometer/onnx.h>

G_BEGIN_DECLS

/*
 * What a layer costs before there is a model: closed forms, by the conventions of ifm_cost_conventions(). A graph of the
 * same configuration counts the same, MACs, FLOP and parameters to the unit (tests/onnx/test-estimate.c has those graphs).
 * In the formulas: n nodes, e edges, d hidden_dim, h heads; linear(r, i, o) is ifm_estimate_linear() with a bias; flop is
 * always 2 macs and what is added. Whatever belongs to the graph and not to a layer (degrees, normalising coefficients)
 * is computed once and comes in as data: it is not counted.
 * Sizes are counts; those below 0, and sums that do not fit 63 bits, are IFM_ERROR_INVALID with the parameter's name.
 */

/**
 * IfmEstimate: @parameters: elements of weights, biases, scales.
 * @bytes: of what a layer reads and writes: activations in and out (f32), indices (i64) and parameters (f32), each once, as
 * though all that lies between stayed in the processor: the least that has to move. Of a whole made of layers: their sum.
 */
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
/** ifm_positional_encoding_words: "none", "lap", "rwse", NULL-terminated, in the order of the enumeration. */
const char *const *ifm_positional_encoding_words(void);

/** ifm_estimate_linear: Of @rows rows: y = x W + b.
 * Equals: macs = rows in out; flop + rows out where @bias; parameters = in out + out where @bias */
gboolean ifm_estimate_linear(gint64 rows, gint64 in, gint64 out, gboolean bias, IfmEstimate *estimate, GError **error);

/**
 * ifm_estimate_attention: Multi-head self-attention with its four projections (q, k, v, output); all heads together have
 * width d, so @hidden_dim is a multiple of @num_heads. s = sparse_ratio n^2, rounded, scores are computed a head.
 * Equals: 4 linear(n, d, d); macs + s d (scores) + s d (values); flop + s h (scaling) + 5 s h (softmax)
 * @sparse_ratio: 0 to 1: 1 is dense, num_edges / num_nodes^2 sparse to the edges
 */
gboolean ifm_estimate_attention(gint64 num_nodes, gint64 hidden_dim, gint64 num_heads, double sparse_ratio,
                                IfmEstimate *estimate, GError **error);

/**
 * ifm_estimate_message_passing: One layer, d wide in and out, without activation or normalisation behind it.
 * Equals:
 *   none  nothing
 *   gin   y = W2 relu(W1 ((1 + eps) x + sum over edges of x[source]) + b1) + b2:
 *         flop + e d (sum) + n d (times 1 + eps) + n d (add) + n d (relu), 2 linear(n, d, d); parameters + 1 (eps)
 *   gcn   y = (sum over edges, each node's with itself too, of c x[source]) W + b; c, one number an edge, comes in:
 *         flop + (e + n) d (times c) + (e + n) d (sum), linear(n, d, d)
 *   sage  y = W1 (sum over edges of x[source] / degree) + b + W2 x; the degrees, one number a node, come in:
 *         flop + e d (sum) + n d (divide) + n d (add), linear(n, d, d), the same without bias
 * @num_edges: directed: an edge that goes both ways counts twice
 */
gboolean ifm_estimate_message_passing(IfmMessagePassing kind, gint64 num_nodes, gint64 num_edges, gint64 hidden_dim,
                                      IfmEstimate *estimate, GError **error);

/** ifm_estimate_feed_forward: Two linear layers with GELU between them, f = ffn_dim.
 * Equals: linear(n, d, f), flop + 4 n f, linear(n, f, d) */
gboolean ifm_estimate_feed_forward(gint64 num_nodes, gint64 hidden_dim, gint64 ffn_dim, IfmEstimate *estimate,
                                   GError **error);

/**
 * ifm_estimate_encoding: Computing the encoding once, not the layer that reads it; p = pe_dim.
 * Equals:
 *   none  nothing
 *   lap   by Lanczos, k = min(n, p + 1) vectors (the first, known beforehand, is dropped) out of m = min(n, 2 k + 1): for
 *         each of the m a sparse product (e macs, n flop to subtract), orthogonalisation against itself and all before it
 *         (2 n macs each), its length (n macs) and n divisions; then the vectors out of the basis (n m k macs):
 *         macs = m e + n m (m + 1) + m n + n m k; flop + 2 m n
 *         A lower bound: it goes once through the basis, and real solvers restart until they converge.
 *   rwse  p products of the walk's sparse matrix with a dense [n, n], beginning with the identity:
 *         macs = p e n; flop + e (dividing by the degrees)
 */
gboolean ifm_estimate_encoding(IfmPositionalEncoding kind, gint64 num_nodes, gint64 num_edges, gint64 pe_dim,
                               IfmEstimate *estimate, GError **error);

/** IfmTransformerSizes: a graph transformer; @sparse_ratio: as of ifm_estimate_attention(). @pe_dim: read only where there
 * is an encoding. */
typedef struct
{
    gint64 num_nodes, num_edges, feature_dim, hidden_dim, num_layers, num_heads, ffn_dim, pe_dim, num_outputs;
    double sparse_ratio;
    IfmMessagePassing mpnn;
    IfmPositionalEncoding pe;
} IfmTransformerSizes;

/** IfmTransformerEstimate: the whole and its parts; they add up. */
typedef struct
{
    IfmEstimate total, input, mpnn, attention, ffn, norm, head; /* forward, without computing the encoding */
    IfmEstimate encoding;                                       /* once, not in total */
} IfmTransformerEstimate;

/**
 * ifm_estimate_transformer: Forward, of one graph, one prediction for the whole graph. A layer takes x to
 *     a = norm(x + attention(x)), with message passing a = a + norm(x + message_passing(x)), then norm(a + feed_forward(a))
 * Equals:
 *   input  linear(n, feature_dim + pe_dim, d): the encoding stands beside the features
 *   mpnn, attention, ffn   num_layers times one layer's
 *   norm   num_layers times: layer normalisations (5 n d, 2 d parameters each) and additions of n d: 2 and 2, with message
 *          passing 3 and 4; bytes: by each normalisation with the addition before it, and by the addition that joins the
 *          two branches, two read and one written
 *   head   n d (mean over the nodes), linear(1, d, num_outputs)
 */
gboolean ifm_estimate_transformer(const IfmTransformerSizes *sizes, IfmTransformerEstimate *estimate, GError **error);

/** ifm_estimate_attention_bytes: The score matrices of one layer, f32. Equals: 4 h s, s = sparse_ratio n^2, rounded; twice
 * that where @with_softmax keeps the scores beside their softmax, as a training pass does. */
gboolean ifm_estimate_attention_bytes(gint64 num_nodes, gint64 num_heads, double sparse_ratio, gboolean with_softmax,
                                      gint64 *bytes, GError **error);

/** IfmEncodingStorage: bytes, f32, indices i64. @node: [nodes, dim]. @relative_dense: [nodes, nodes, dim].
 * @relative_sparse: [edges, dim] and the two indices of each edge. */
typedef struct
{
    gint64 node, relative_dense, relative_sparse;
} IfmEncodingStorage;
/** ifm_estimate_encoding_storage: Equals: 4 n dim; 4 n^2 dim; 4 e dim + 16 e */
gboolean ifm_estimate_encoding_storage(gint64 num_nodes, gint64 num_edges, gint64 dim, IfmEncodingStorage *storage,
                                       GError **error);

G_END_DECLS
