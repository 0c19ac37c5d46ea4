#pragma once
#include <inferometer/dataset.h>

G_BEGIN_DECLS

/** ifm_graph_kind_words: "uniform", "power-law", NULL-terminated, indexed by kind. */
const char *const *ifm_graph_kind_words(void);

/**
 * ifm_graph_synthetic_size: The size of the graph that ifm_graph_synthetic() would make.
 * @n_edges: (out)    @bytes: (out) the peak memory while the graph is made; at most G_MAXINT64
 * Returns: FALSE with IFM_ERROR_INVALID as ifm_graph_synthetic().
 */
gboolean ifm_graph_synthetic_size(gint64 n_nodes, double avg_degree, gint64 feature_dim, gint64 *n_edges, gint64 *bytes,
                                  GError **error);

/** ifm_graph_parse: Reads an edge list or a Matrix Market file in memory. @name: the file name that messages begin with.
 * (transfer full) Errors of ifm_graph_read(). */
IfmGraph *ifm_graph_parse(const char *text, gsize length, const char *name, IfmGraphFormat format, GError **error);

/** ifm_graph_first: The first @n graphs of a batch, as a batch. (transfer full) NULL with IFM_ERROR_INVALID where @n is
 * below 1 or above n_graphs, or IFM_ERROR_MEMORY. */
IfmGraph *ifm_graph_first(const IfmGraph *graph, gint64 n, GError **error);

/** ifm_encoding_laplacian_check: Whether the encoding exists. FALSE with the IFM_ERROR_INVALID of ifm_encoding_laplacian().
 */
gboolean ifm_encoding_laplacian_check(const IfmGraph *graph, gint64 dim, GError **error);

/** ifm_graph_in_degrees: The number of edges that end in each node. @degrees: (out) [n_nodes] */
void ifm_graph_in_degrees(const IfmGraph *graph, float *degrees);

/** ifm_graph_digest: (transfer full) SHA-256 in hex of the number of nodes and the edges in their order; of a batch also of
 * the graph of each node. */
char *ifm_graph_digest(const IfmGraph *graph);

/** ifm_graph_check: Whether both ends of every edge are nodes. FALSE with IFM_ERROR_INVALID, which names the first edge
 * that is wrong. */
gboolean ifm_graph_check(const IfmGraph *graph, GError **error);

G_END_DECLS
