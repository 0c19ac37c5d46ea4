/* Shared with other rooms: closed forms of the work of layers. */
#pragma once
#include <inferometer/profile.h>

G_BEGIN_DECLS

/*
 * The cost of a layer without a model: closed forms, with the conventions of ifm_cost_conventions(). An ONNX graph of the
 * same configuration has exactly the same MACs, FLOP and parameters (tests/onnx/test-estimate.c has those graphs).
 * In the formulas: n nodes, e edges, d hidden_dim, h heads. linear(r, i, o) is ifm_estimate_linear() with a bias. flop is
 * 2 macs plus the terms given. Data of the graph (degrees, normalising coefficients) are inputs that are computed once:
 * they are not counted. All functions return FALSE with IFM_ERROR_INVALID and the name of the parameter for a size below 0
 * or a sum above 63 bits.
 */

/**
 * IfmEstimate: @parameters: elements of weights, biases, scales.
 * @bytes: the bytes that a layer reads and writes: input and output activations (f32), indices (i64) and parameters (f32),
 * each once. Intermediate results are not counted, so this is the minimum traffic. For a model, the sum over its layers.
 */
typedef struct
{
    gint64 macs, flop, parameters, bytes;
} IfmEstimate;

/** ifm_estimate_count: *total += a b c. Sizes come from users: where that does not fit, @too_large becomes TRUE. */
void ifm_estimate_count(gboolean *too_large, gint64 *total, gint64 a, gint64 b, gint64 c);
/** ifm_estimate_add: All of the total += times each. */
void ifm_estimate_add(gboolean *too_large, IfmEstimate *total, const IfmEstimate *each, gint64 times);

/** ifm_estimate_linear: y = x W + b with x [rows, in], W [in, out].
 * Equals: macs = rows in out; flop + rows out where @bias; parameters = in out + out where @bias */
gboolean ifm_estimate_linear(gint64 rows, gint64 in, gint64 out, gboolean bias, IfmEstimate *estimate, GError **error);

/**
 * ifm_estimate_attention: Multi-head self-attention with its four projections (q, k, v, output). All heads together have
 * width d, so @hidden_dim is a multiple of @num_heads. Each head computes s = sparse_ratio n^2 scores, rounded.
 * Equals: 4 linear(n, d, d); macs + s d (scores) + s d (values); flop + s h (scaling) + 5 s h (softmax)
 * @sparse_ratio: 0 to 1. 1 is dense; num_edges / num_nodes^2 is attention along the edges.
 */
gboolean ifm_estimate_attention(gint64 num_nodes, gint64 hidden_dim, gint64 num_heads, double sparse_ratio,
                                IfmEstimate *estimate, GError **error);

/**
 * ifm_estimate_message_passing: One layer of width d, without a following activation or normalisation.
 * Equals:
 *   none  nothing
 *   gin   y = W2 relu(W1 ((1 + eps) x + sum over edges of x[source]) + b1) + b2:
 *         flop + e d (sum) + n d (times 1 + eps) + n d (add) + n d (relu), 2 linear(n, d, d); parameters + 1 (eps)
 *   gcn   y = (sum over edges, with one from each node to itself, of c x[source]) W + b; c [e + n] is an input:
 *         flop + (e + n) d (times c) + (e + n) d (sum), linear(n, d, d)
 *   sage  y = W1 (sum over edges of x[source] / degree) + b + W2 x; the degrees [n] are an input:
 *         flop + e d (sum) + n d (divide) + n d (add), linear(n, d, d), linear(n, d, d) without bias
 * @num_edges: directed; an undirected edge counts twice
 */
gboolean ifm_estimate_message_passing(IfmMessagePassing kind, gint64 num_nodes, gint64 num_edges, gint64 hidden_dim,
                                      IfmEstimate *estimate, GError **error);

/** ifm_estimate_feed_forward: Two linear layers with a GELU between them, f = ffn_dim.
 * Equals: linear(n, d, f), flop + 4 n f, linear(n, f, d) */
gboolean ifm_estimate_feed_forward(gint64 num_nodes, gint64 hidden_dim, gint64 ffn_dim, IfmEstimate *estimate,
                                   GError **error);

/**
 * ifm_estimate_encoding: One computation of the encoding, without the layer that reads it; p = pe_dim.
 * Equals:
 *   none  nothing
 *   lap   Lanczos: k = min(n, p + 1) vectors (the first is known and dropped) from a basis of m = min(n, 2 k + 1). Each of
 *         the m takes a sparse product (e macs, n flop to subtract), orthogonalisation against itself and the previous ones
 *         (2 n macs each), its norm (n macs) and n divisions. The vectors from the basis take n m k macs:
 *         macs = m e + n m (m + 1) + m n + n m k; flop + 2 m n
 *         This is a lower bound: it builds the basis once, and real solvers restart until they converge.
 *   rwse  p products of the sparse matrix of the walk with a dense [n, n] matrix, first the identity:
 *         macs = p e n; flop + e (dividing by the degrees)
 */
gboolean ifm_estimate_encoding(IfmPositionalEncoding kind, gint64 num_nodes, gint64 num_edges, gint64 pe_dim,
                               IfmEstimate *estimate, GError **error);

/** IfmTransformerEstimate: the total and its parts. The total is their sum. */
typedef struct
{
    IfmEstimate total, input, mpnn, attention, ffn, norm, head; /* forward, without the computation of the encoding */
    IfmEstimate encoding;                                       /* one computation, not in total */
} IfmTransformerEstimate;

/**
 * ifm_estimate_transformer: The forward pass for one graph with one prediction. A layer maps x to
 *     a = norm(x + attention(x)), with message passing a = a + norm(x + message_passing(x)), then norm(a + feed_forward(a))
 * Equals:
 *   input  linear(n, feature_dim + pe_dim, d): features and encoding, concatenated
 *   mpnn, attention, ffn   num_layers times the cost of one layer
 *   norm   num_layers times 2 layer normalisations (5 n d, 2 d parameters each) and 2 additions (n d each); with message
 *          passing 3 and 4. bytes: each normalisation with its addition, and the addition that joins the two branches,
 * reads two tensors and writes one head   n d (mean over the nodes), linear(1, d, num_outputs)
 */
gboolean ifm_estimate_transformer(const IfmTransformerSizes *sizes, IfmTransformerEstimate *estimate, GError **error);

G_END_DECLS
