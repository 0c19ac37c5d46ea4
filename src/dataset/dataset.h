/* Shared with other rooms: graphs, subgraphs, batches and positional encodings. */
#pragma once
#include <inferometer/common.h>

G_BEGIN_DECLS

/* --- dataset ------------------------------------------------------------------------------------------------------- */

/**
 * IfmGraph: one directed graph, or a batch of several (block-diagonal). Immutable after it is made.
 * An edge leads from its source to its destination. An undirected edge is two edges. Nodes are numbered from 0.
 */
typedef struct
{
    char *name; /* "uniform, 1000 nodes, 5000 edges, seed 1", or the file's base name */
    gint64 n_nodes, n_edges;
    gint64 *edge_index;        /* [2 x n_edges], row-major: the sources, then the destinations, as in PyTorch Geometric */
    gint64 n_graphs;           /* 1 for a single graph */
    gint64 *node_graph;        /* [n_nodes] the graph of each node, ascending; NULL where n_graphs is 1 */
    gint64 n_node_values;      /* attributes per node; 0: none */
    float *node_values;        /* [n_nodes x n_node_values], NULL where there are none */
    gboolean values_of_labels; /* node_values are one-hot node labels: the file has labels and no attributes */
    gint64 n_edge_values;
    float *edge_values; /* [n_edges x n_edge_values], NULL where there are none */
} IfmGraph;

void ifm_graph_free(IfmGraph *graph);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmGraph, ifm_graph_free)

/** Limits on a graph. More nodes or edges are IFM_ERROR_INVALID. */
#define IFM_GRAPH_MAX_NODES G_GINT64_CONSTANT(100000000)
#define IFM_GRAPH_MAX_EDGES G_GINT64_CONSTANT(400000000)

/* --- seeded random graphs ------------------------------------------------------------------------------------------ */

typedef enum
{
    IFM_GRAPH_UNIFORM,   /* every edge equally likely: G(n, m) of Erdos and Renyi */
    IFM_GRAPH_POWER_LAW, /* expected in- and out-degrees follow a power law, exponent 2.5: Chung and Lu 2002 */
} IfmGraphKind;

/**
 * ifm_graph_random: A graph of exactly @n_nodes nodes and @n_edges distinct edges without loops. The same arguments give
 * the same graph on every machine. Edges are in random order, as samplers deliver them. A graph that is too dense for a
 * power law gets its remaining edges uniformly: docs/graphs.md.
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID for more than n (n - 1) edges, or a count below 0 or beyond the
 * limits. NULL with IFM_ERROR_MEMORY.
 */
IfmGraph *ifm_graph_random(IfmGraphKind kind, gint64 n_nodes, gint64 n_edges, guint32 seed, GError **error);

/**
 * ifm_graph_synthetic: An undirected, uniformly random graph of @n_nodes nodes with @avg_degree neighbours on average.
 * Equals: n_edges = 2 round(n_nodes avg_degree / 2). Each edge is followed by its reverse; the pairs are in random order.
 * @feature_dim: values per node. They are normal (sums of twelve uniform numbers) with mean 0 and variance 1.
 * The same arguments give the same graph on every machine.
 * Returns: (transfer full) NULL with the errors of ifm_graph_random(). NULL with IFM_ERROR_INVALID where avg_degree is
 * below 0 or above n_nodes - 1, or feature_dim is below 0.
 */
IfmGraph *ifm_graph_synthetic(gint64 n_nodes, double avg_degree, gint64 feature_dim, guint32 seed, GError **error);

/* --- graphs from files --------------------------------------------------------------------------------------------- */

typedef enum
{
    IFM_GRAPH_FORMAT_AUTO, /* a folder: TUDataset; a file that begins with "%%MatrixMarket": that; else an edge list */
    /* lines "SOURCE DESTINATION [anything]", separated by blanks, tabs or commas; # and % begin comments; nodes are
     * numbered from 0. SNAP's comment "# Nodes: N Edges: E" gives the sizes, which are checked. */
    IFM_GRAPH_FORMAT_EDGE_LIST,
    /* square coordinate matrices. Entry (i, j) is an edge from i to j. A symmetric matrix gives both directions; a diagonal
     * entry gives one loop. The values are checked and dropped. Source: math.nist.gov/MatrixMarket/formats.html */
    IFM_GRAPH_FORMAT_MATRIX_MARKET,
    /* a folder with NAME_A.txt and NAME_graph_indicator.txt. Node values are NAME_node_attributes.txt, or
     * NAME_node_labels.txt as one-hot; edge values are NAME_edge_attributes.txt. All three are optional.
     * NAME_edge_labels.txt, NAME_graph_labels.txt and NAME_graph_attributes.txt are checked and dropped. Source:
     * chrsmrrs.github.io/datasets/docs/format */
    IFM_GRAPH_FORMAT_TUDATASET,
} IfmGraphFormat;

/**
 * ifm_graph_read: Reads a graph from a file or folder.
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID, "FILE:LINE: ...": an edge outside the nodes, a truncated line, a
 * field that is not a number, too many or too few lines, or a missing file of a data set. NULL with IFM_ERROR_UNAVAILABLE
 * (no such file or folder, no permission) or IFM_ERROR_MEMORY.
 */
IfmGraph *ifm_graph_read(const char *path, IfmGraphFormat format, GError **error);

/* --- graphs from graphs -------------------------------------------------------------------------------------------- */

/** ifm_graph_part: Graph @index of a batch as a graph of its own; its nodes are renumbered from 0. (transfer full) */
IfmGraph *ifm_graph_part(const IfmGraph *graph, gint64 index);

/**
 * ifm_graph_pad: The graph with added nodes and edges, for a model of fixed sizes. All added edges lead from the last node
 * to itself; the other added nodes have no edges. So the in-degrees and sums of the original nodes do not change. Added
 * attributes are 0. In a batch the added nodes are one more graph.
 * @n_nodes, @n_edges: the sizes of the result
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID for sizes below those of the graph, or added edges without an added
 * node.
 */
IfmGraph *ifm_graph_pad(const IfmGraph *graph, gint64 n_nodes, gint64 n_edges, GError **error);

/**
 * IfmSubgraph: a partition of a graph that can be computed alone. It holds its own nodes, all edges that end in them, and
 * the ghosts: the sources of those edges that other partitions own.
 * @graph: nodes 0 to n_own - 1 are its own; the ghosts follow. The edges keep their order.
 * @nodes: [graph->n_nodes] the numbers of the nodes in the whole graph
 */
typedef struct
{
    IfmGraph *graph;
    gint64 n_own;
    gint64 *nodes;
} IfmSubgraph;
void ifm_subgraph_free(IfmSubgraph *subgraph);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmSubgraph, ifm_subgraph_free)

/** ifm_subgraph_take_rows: Copies the rows of its nodes and ghosts out of the rows of the whole graph.
 * Equals: rows[i] = whole[nodes[i]]
 * @whole: [n_nodes of the whole graph] rows of @row_bytes    @rows: (out) [graph->n_nodes] */
void ifm_subgraph_take_rows(const IfmSubgraph *subgraph, const void *whole, gsize row_bytes, void *rows);

/** ifm_subgraph_put_rows: Copies the rows of its own nodes into the rows of the whole graph. All partitions together fill
 * them. Equals: whole[nodes[i]] = rows[i], i < n_own */
void ifm_subgraph_put_rows(const IfmSubgraph *subgraph, const void *rows, gsize row_bytes, void *whole);

/**
 * ifm_graph_partition: Partitions a graph into @n_parts subgraphs with few edges between them: METIS k-way on the
 * undirected graph, balanced by nodes and edges. Each node belongs to one partition. Each edge is in the partition that
 * owns its destination. Own nodes, ghosts and edges keep their order. The same arguments give the same partitions. A single
 * partition equals the graph. A partition of a batch is one graph (n_graphs 1). Returns: (transfer full) IfmSubgraph* [at
 * most n_parts]; empty partitions are left out. NULL with IFM_ERROR_INVALID (fewer nodes than partitions, an
 * edge whose end is not a node), IFM_ERROR_UNSUPPORTED (the graph exceeds METIS' integers), IFM_ERROR_FAILED with METIS'
 * reason, or IFM_ERROR_MEMORY.
 */
GPtrArray *ifm_graph_partition(const IfmGraph *graph, gint64 n_parts, guint32 seed, GError **error);

/* --- positional encodings ------------------------------------------------------------------------------------------ */

/** The maximum dimension: numbers per node. */
#define IFM_ENCODING_MAX_DIM 10000

/**
 * IfmEncoding: a positional encoding.
 * @values: f32 [n_nodes x dim], row-major
 * @eigenvalues: f64 [n_graphs x dim] of the Laplacian, ascending; NULL for a random walk
 * @notes: char*, lines for the user: components, nodes without edges, repeated eigenvalues, the solver
 */
typedef struct
{
    gint64 n_nodes, dim;
    float *values;
    double *eigenvalues;
    GPtrArray *notes;
} IfmEncoding;
void ifm_encoding_free(IfmEncoding *encoding);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmEncoding, ifm_encoding_free)

/**
 * IfmEncodingWatch: a callback of a caller that waits for an encoding. The computing thread calls it between steps, a
 * hundred times a second or more, so it must be fast. A step is one multiplication of the eigensolver or one step of a
 * walk. A component that LAPACK solves densely is one step, which takes long for thousands of nodes.
 * @done_ratio: the share of nodes that are done, 0 to 1. For the Laplacian it counts whole graphs.
 * Returns: FALSE to cancel
 */
typedef gboolean (*IfmEncodingWatch)(double done_ratio, void *user);

/**
 * ifm_encoding_laplacian: For each graph, the eigenvectors of I - D^-1/2 A D^-1/2 with the smallest eigenvalues, without
 * the first (its eigenvalue is 0). Their norm is 1. A is undirected: an edge in one or both directions, or a repeated one,
 * counts once; loops do not count. The solver is ARPACK, or dense LAPACK for graphs of few nodes. The same graph gives the
 * same numbers. Components: c components give c eigenvalues of 0; c - 1 are kept, and their vectors distinguish the
 * components. Nodes without edges: D^-1/2 is 0, so their eigenvalue is 1 and they are 0 in all other vectors. Signs: the
 * entry of largest magnitude is positive; the first of equal ones counts. Repeated eigenvalues: docs/graphs.md defines the
 * basis of their space, if the whole space is within @dim. Otherwise the choice is arbitrary and @notes says so.
 * @watch: (nullable) with @user
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID where @dim is below 1, a graph has dim nodes or fewer (the message
 * gives graph and number), or an edge connects two graphs of the batch; IFM_ERROR_FAILED where ARPACK does not converge,
 * IFM_ERROR_CANCELLED where @watch returned FALSE, or IFM_ERROR_MEMORY.
 * Source: Dwivedi and Bresson 2020
 */
IfmEncoding *ifm_encoding_laplacian(const IfmGraph *graph, gint64 dim, IfmEncodingWatch watch, void *user, GError **error);

/**
 * ifm_encoding_random_walk: The probability that a random walk is back at its first node after 1 to dim steps. It walks
 * along the edges in their direction; repeated edges and loops count. A walk ends at a node without outgoing edges. Equals:
 * values[i][k] = (P^(k + 1))[i][i], P[i][j] = edges from i to j / edges from i
 * @watch: (nullable) with @user
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID where dim is below 1 or the graph is empty, IFM_ERROR_CANCELLED
 * where
 * @watch returned FALSE, or IFM_ERROR_MEMORY.
 * Source: Dwivedi et al. 2022
 */
IfmEncoding *ifm_encoding_random_walk(const IfmGraph *graph, gint64 dim, IfmEncodingWatch watch, void *user,
                                      GError **error);

/** ifm_graph_batch: A batch of several graphs, block-diagonal; nodes are renumbered. Each may be a batch itself. @graphs:
 * [n] Returns: (transfer full) NULL with IFM_ERROR_INVALID where n is 0, the numbers of attributes differ, or the batch
 * exceeds the limits; IFM_ERROR_MEMORY. */
IfmGraph *ifm_graph_batch(const IfmGraph *const *graphs, gsize n, GError **error);

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
