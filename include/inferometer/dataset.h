#pragma once
#include <inferometer/tensor.h>

G_BEGIN_DECLS

/**
 * IfmGraph: one directed graph, or several side by side (block-diagonal); immutable after it is made.
 * An edge leads from its source to its destination; an undirected edge is two. Nodes are numbered from 0.
 */
typedef struct
{
    char *name; /* "uniform, 1000 nodes, 5000 edges, seed 1", or the file's base name */
    gint64 n_nodes, n_edges;
    gint64 *edge_index;   /* [2 x n_edges], row-major: the sources, then the destinations (as PyTorch Geometric has it) */
    gint64 n_graphs;      /* 1 where the source knows of one alone */
    gint64 *node_graph;   /* [n_nodes] the graph of each node, ascending; NULL where n_graphs is 1 */
    gint64 n_node_values; /* attributes a node; 0: none */
    float *node_values;   /* [n_nodes x n_node_values], NULL where there are none */
    gboolean values_of_labels; /* the nodes had labels and no attributes: those, one-hot */
    gint64 n_edge_values;
    float *edge_values; /* [n_edges x n_edge_values], NULL where there are none */
} IfmGraph;

void ifm_graph_free(IfmGraph *graph);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmGraph, ifm_graph_free)

/** What is read or made at most; more is IFM_ERROR_INVALID. */
#define IFM_GRAPH_MAX_NODES G_GINT64_CONSTANT(100000000)
#define IFM_GRAPH_MAX_EDGES G_GINT64_CONSTANT(400000000)

/* --- seeded random graphs --------------------------------------------------------------------------------------------- */

typedef enum
{
    IFM_GRAPH_UNIFORM,   /* every edge equally likely: G(n, m) of Erdos and Renyi */
    IFM_GRAPH_POWER_LAW, /* expected degrees fall as a power law, exponent 2.5, in and out alike: Chung and Lu 2002 */
} IfmGraphKind;

/** ifm_graph_kind_name: "uniform", "power-law". ifm_graph_kind_words: NULL-terminated, indexed by kind. */
const char *ifm_graph_kind_name(IfmGraphKind kind);
const char *const *ifm_graph_kind_words(void);

/**
 * ifm_graph_random: A graph of exactly @n_nodes nodes and @n_edges distinct edges without loops. The same arguments give
 * the same graph on every machine. Edges are in random order, as samplers deliver them. A power law gives way where a
 * graph is too dense for one: docs/graphs.md.
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID where so many distinct edges do not exist (n (n - 1) at most), or
 * for a count below 0 or beyond the limits; IFM_ERROR_MEMORY.
 */
IfmGraph *ifm_graph_random(IfmGraphKind kind, gint64 n_nodes, gint64 n_edges, guint32 seed, GError **error);

/**
 * ifm_graph_synthetic: An undirected random graph, each edge in both directions: @n_nodes nodes of @avg_degree neighbours
 * on average (edges: twice the nearest whole number to n_nodes avg_degree / 2), uniform, with @feature_dim values a node,
 * normal (sums of twelve uniform numbers), of mean 0 and variance 1. Same arguments, same graph on every machine. Edges in
 * random order, each beside its reverse.
 * Returns: (transfer full) NULL with the errors of ifm_graph_random(), or IFM_ERROR_INVALID where avg_degree is above
 * n_nodes - 1 or below 0, or feature_dim below 0.
 */
IfmGraph *ifm_graph_synthetic(gint64 n_nodes, double avg_degree, gint64 feature_dim, guint32 seed, GError **error);
/**
 * ifm_graph_synthetic_size: What that would be, before it is made.
 * @n_edges: (out)    @bytes: (out) the most that is held at once while it is made; G_MAXINT64 for more
 * Returns: FALSE with IFM_ERROR_INVALID as ifm_graph_synthetic().
 */
gboolean ifm_graph_synthetic_size(gint64 n_nodes, double avg_degree, gint64 feature_dim, gint64 *n_edges, gint64 *bytes,
                                  GError **error);

/* --- real ones -------------------------------------------------------------------------------------------------------- */

typedef enum
{
    IFM_GRAPH_FORMAT_AUTO, /* a folder: TUDataset; "%%MatrixMarket" at its head: that; else an edge list */
    /* "SOURCE DESTINATION [anything]" a line, parted by blanks, tabs or commas; # and % begin comments; numbered from 0.
     * "# Nodes: N Edges: E", as SNAP writes it, is believed and checked. */
    IFM_GRAPH_FORMAT_EDGE_LIST,
    /* coordinate matrices, square; entry (i, j) is an edge from i to j; symmetric ones give both directions, a diagonal
     * entry one loop; the values are checked, not kept. Source: math.nist.gov/MatrixMarket/formats.html */
    IFM_GRAPH_FORMAT_MATRIX_MARKET,
    /* a folder with NAME_A.txt and NAME_graph_indicator.txt, optionally NAME_node_attributes.txt, without which
     * NAME_node_labels.txt one-hot, and NAME_edge_attributes.txt; NAME_edge_labels.txt, NAME_graph_labels.txt and
     * NAME_graph_attributes.txt are checked, not kept. Source: chrsmrrs.github.io/datasets/docs/format */
    IFM_GRAPH_FORMAT_TUDATASET,
} IfmGraphFormat;

/**
 * ifm_graph_read:
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID: "FILE:LINE: " and what is wrong (an edge outside the nodes, a
 * truncated line, no number, a file with more or fewer lines than belong to it), or a file that a folder of a data set
 * lacks; IFM_ERROR_UNAVAILABLE (no such file or folder, or it cannot be read) or IFM_ERROR_MEMORY.
 */
IfmGraph *ifm_graph_read(const char *path, IfmGraphFormat format, GError **error);
/** ifm_graph_parse: an edge list or a Matrix Market file from memory. @name: what messages call it. */
IfmGraph *ifm_graph_parse(const char *text, gsize length, const char *name, IfmGraphFormat format, GError **error);

/* --- from graph to graph ---------------------------------------------------------------------------------------------- */

/** ifm_graph_part: Graph @index of several as a graph of its own, nodes renumbered from 0. (transfer full) */
IfmGraph *ifm_graph_part(const IfmGraph *graph, gint64 index);

/** ifm_graph_first: The first @n graphs of several, side by side as they were. (transfer full) NULL with IFM_ERROR_INVALID
 * where @n is below 1 or there are not so many; IFM_ERROR_MEMORY. */
IfmGraph *ifm_graph_first(const IfmGraph *graph, gint64 n, GError **error);

/**
 * ifm_graph_pad: The same graph with more nodes and edges, for a model of fixed sizes: added nodes have no edges but the
 * last one, the dummy, and all added edges lead from the dummy to itself. So no in-degree and no sum of a node that was
 * there changes. Added attributes are 0; of several graphs, the added nodes are one more.
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID where it does not fit: fewer nodes or edges than it has, or added
 * edges without an added node.
 */
IfmGraph *ifm_graph_pad(const IfmGraph *graph, gint64 n_nodes, gint64 n_edges, GError **error);

/**
 * IfmSubgraph: a part of a graph that can be computed by itself: its own nodes, all edges that end in them, and the ghosts:
 * nodes owned elsewhere in which those edges begin.
 * @graph: nodes 0 to n_own - 1 are its own, the ghosts follow; edges in the order they had
 * @nodes: [graph->n_nodes] what each was in the whole graph
 */
typedef struct
{
    IfmGraph *graph;
    gint64 n_own;
    gint64 *nodes;
} IfmSubgraph;
void ifm_subgraph_free(IfmSubgraph *subgraph);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmSubgraph, ifm_subgraph_free)
/** ifm_subgraph_take_rows: The rows of its nodes, ghosts too, out of the whole graph's. Equals: rows[i] = whole[nodes[i]]
 * @rows: [graph->n_nodes] of @row_bytes each (out) */
void ifm_subgraph_take_rows(const IfmSubgraph *subgraph, const void *whole, gsize row_bytes, void *rows);
/** ifm_subgraph_put_rows: The rows of its own nodes to their places in the whole graph's: all parts together fill it.
 * Equals: whole[nodes[i]] = rows[i], i < n_own */
void ifm_subgraph_put_rows(const IfmSubgraph *subgraph, const void *rows, gsize row_bytes, void *whole);

/**
 * ifm_graph_partition: Parts a graph into @n_parts subgraphs with few edges between them (METIS k-way on the undirected
 * graph, balanced by nodes and edges). Each node is some part's own, each edge in the part that owns its destination; own
 * nodes, ghosts and edges keep their order. The same arguments give the same parts. 1 part has all nodes and edges as they
 * were. A part is one graph, whatever it was a part of (n_graphs 1).
 * Returns: (transfer full) IfmSubgraph* [n_parts, empty ones left out]; NULL with IFM_ERROR_INVALID (fewer nodes than
 * parts, or what ifm_graph_check() says), IFM_ERROR_UNSUPPORTED where METIS' numbers are too small for it,
 * IFM_ERROR_FAILED with METIS' reason, or IFM_ERROR_MEMORY.
 */
GPtrArray *ifm_graph_partition(const IfmGraph *graph, gint64 n_parts, guint32 seed, GError **error);

/* --- positional encodings --------------------------------------------------------------------------------------------- */

/** The most numbers a node. */
#define IFM_ENCODING_MAX_DIM 10000

/**
 * IfmEncoding: numbers that tell each node where it is. @values: f32 [n_nodes x dim], row-major.
 * @eigenvalues: f64 [n_graphs x dim] of the Laplacian's, ascending; NULL otherwise
 * @notes: char*, lines for a person: components, nodes without edges, repeated eigenvalues, how it was solved
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
 * ifm_encoding_laplacian: Of each graph by itself, the eigenvectors of I - D^-1/2 A D^-1/2 of its smallest eigenvalues but
 * the first zero, which says nothing; norm 1. A is undirected: an edge in either direction, or in both, or repeated, counts
 * once, loops do not count. ARPACK; dense LAPACK for graphs of few nodes. The same graph gives the same numbers.
 * Several components: as many zeros; all but one are kept, their vectors telling the components apart. Nodes without edges
 * have 0 in the vectors of all others (D^-1/2 is 0 there: their own eigenvalue is 1). Signs: the entry largest in magnitude
 * (of equal ones the first) is above 0. Repeated eigenvalues: the basis of their space that docs/graphs.md defines, where
 * all of it is within @dim; else which of it is arbitrary, and said so in notes.
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID where dim is below 1, a graph has no dim + 1 nodes (which graph, how
 * many it has), or an edge leads from graph to graph; IFM_ERROR_FAILED where ARPACK does not converge; IFM_ERROR_MEMORY.
 * Source: Dwivedi and Bresson 2020
 */
IfmEncoding *ifm_encoding_laplacian(const IfmGraph *graph, gint64 dim, GError **error);
/** ifm_encoding_laplacian_check: Whether graphs and edges are such, before anything is computed; IFM_ERROR_INVALID as
 * above. */
gboolean ifm_encoding_laplacian_check(const IfmGraph *graph, gint64 dim, GError **error);
/**
 * ifm_encoding_random_walk: the probability that a random walk along the edges, as they are directed, repeated and looped,
 * is back at its first node after 1 to dim steps. A walk ends at a node that no edge leaves.
 * Equals: values[i][k] = (P^(k + 1))[i][i], P[i][j] = edges from i to j / edges from i
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID where dim is below 1 or there are no nodes; IFM_ERROR_MEMORY.
 * Source: Dwivedi et al. 2022
 */
IfmEncoding *ifm_encoding_random_walk(const IfmGraph *graph, gint64 dim, GError **error);

/**
 * IfmEncodingWatch: who waits for an encoding, asked between its steps on the thread that computes, some hundred times a
 * second or more: it shall not take long. A step is a multiplication of the eigensolver or a step of a walk; a component
 * that LAPACK solves densely is one step, too, which for thousands of nodes takes long.
 * @done_ratio: which share of the nodes is done, 0 to 1; Laplacian: counted by whole graphs
 * Returns: FALSE: give up
 */
typedef gboolean (*IfmEncodingWatch)(double done_ratio, void *user);
/** ifm_encoding_laplacian_watched, ifm_encoding_random_walk_watched: As those without, asking @watch (NULL: nobody) whether
 * to go on. Returns: where it said FALSE, NULL with IFM_ERROR_CANCELLED. */
IfmEncoding *ifm_encoding_laplacian_watched(const IfmGraph *graph, gint64 dim, IfmEncodingWatch watch, void *user,
                                            GError **error);
IfmEncoding *ifm_encoding_random_walk_watched(const IfmGraph *graph, gint64 dim, IfmEncodingWatch watch, void *user,
                                              GError **error);

/** ifm_graph_batch: Several graphs side by side, block-diagonal, nodes renumbered; each may be several itself. @graphs: [n]
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID where n is 0, numbers of attributes differ, or it would be too
 * large; IFM_ERROR_MEMORY. */
IfmGraph *ifm_graph_batch(const IfmGraph *const *graphs, gsize n, GError **error);

/** ifm_graph_in_degrees: edges that end in each node. @degrees: [n_nodes] */
void ifm_graph_in_degrees(const IfmGraph *graph, float *degrees);
/** ifm_graph_digest: (transfer full) SHA-256 in hex of its nodes and edges, in their order, and, of several graphs, of
 * which each node is. */
char *ifm_graph_digest(const IfmGraph *graph);
/** ifm_graph_check: whether every edge is inside the nodes. IFM_ERROR_INVALID names the first that is not. */
gboolean ifm_graph_check(const IfmGraph *graph, GError **error);

G_END_DECLS
