#pragma once
#include <inferometer/onnx.h>

G_BEGIN_DECLS

/** IfmZooParameter: one number, or choice, a zoo model can be built with. @words: NULL: a number; else the value is the
 * index of one of these words, NULL-terminated, of which @most is the last. */
typedef struct
{
    const char *name; /* "m", "batch" */
    gint64 fallback, least, most;
    const char *help;
    const char *const *(*words)(void);
} IfmZooParameter;

/** IfmZooEntry: one row of the zoo's table. @parameters: ends with a NULL name. */
typedef struct
{
    const char *name; /* "matmul", "small-cnn" */
    const char *help;
    const IfmZooParameter *parameters;
    /** @values: [parameters], in table order, already checked against least and most. */
    IfmModel *(*build)(const gint64 *values, guint32 seed, GError **error);
} IfmZooEntry;

/** ifm_zoo_entries: Returns: the table, its last row with a NULL name. */
const IfmZooEntry *ifm_zoo_entries(void);
/** ifm_zoo_find: Returns: NULL with IFM_ERROR_INVALID naming the nearest name there is. */
const IfmZooEntry *ifm_zoo_find(const char *name, GError **error);
/**
 * ifm_zoo_build: @settings: "NAME=VALUE", NULL-terminated (or NULL). Same settings and seed, same bytes.
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID for a parameter unknown (nearest named) or out of its range.
 */
IfmModel *ifm_zoo_build(const char *name, const char *const *settings, guint32 seed, GError **error);

/* --- models in stages ---------------------------------------------------------------------------------------------------
 */

#define IFM_MAX_STAGES 16

/** IfmStageSizes: what a staged model's tensors are measured in. */
typedef struct
{
    gint64 nodes, edges; /* of the graph; 0: free, as dimensions "nodes" and "edges" */
    gint64 features;     /* of a node, in */
    gint64 hidden;       /* of a node, out */
} IfmStageSizes;

/**
 * IfmBoundary: a tensor that enters the staged model, passes between its stages, or leaves it.
 * @dims: [rank] words: "nodes", "edges", "features", "hidden" or a number
 * @split_axis: the axis along which parts of the graph (by destination node, edges with their destination) part it; -1:
 * every part needs all of it. A stage may need all of one that others part: see ifm_staged_split_axis().
 */
typedef struct
{
    const char *name;
    IfmDtype dtype;
    int rank;
    const char *dims[2];
    int split_axis;
} IfmBoundary;

/** IfmStage: @inputs, @outputs: names of boundaries, NULL-terminated. */
typedef struct
{
    int number;       /* from 1 */
    const char *name; /* "GATHER" */
    const char *formula;
    const char *inputs[4], *outputs[3];
    /* an input that each part of the graph needs whole, because any node may be the source of any edge; NULL: none */
    const char *whole_input;
    /* the data size that the tables count: this stage's inputs, features and index, bytes; NULL: no table has it */
    gint64 (*table_bytes)(const IfmStageSizes *sizes);
} IfmStage;

/** IfmStagedModel: @stages: [n_stages]; @boundaries: [n_boundaries]. */
typedef struct
{
    const char *name; /* "graphsage" */
    const IfmStage *stages;
    gsize n_stages;
    const IfmBoundary *boundaries;
    gsize n_boundaries;
} IfmStagedModel;

/** ifm_staged_find: Returns: NULL with IFM_ERROR_INVALID naming the nearest there is. */
const IfmStagedModel *ifm_staged_find(const char *name, GError **error);
/** ifm_staged_boundary: Returns: NULL where there is none of that name. */
const IfmBoundary *ifm_staged_boundary(const IfmStagedModel *staged, const char *name);
/** ifm_boundary_bytes: of one such tensor; 0 where a size it is measured in is free. */
gint64 ifm_boundary_bytes(const IfmBoundary *boundary, const IfmStageSizes *sizes);
/** ifm_staged_split_axis: Equals: the boundary's split axis; -1 where one of the stages @first to @last needs all of it. */
int ifm_staged_split_axis(const IfmStagedModel *staged, int first, int last, const char *boundary);

/**
 * ifm_staged_inputs, ifm_staged_outputs: The boundaries that enter and leave stages @first to @last, fused: those that they
 * read and none of them makes, and those that they make and a later stage reads, or the last stage leaves; both in the
 * table's order. Returns: (transfer container) const IfmBoundary *. @first, @last: a range that ifm_staged_build() takes
 */
GPtrArray *ifm_staged_inputs(const IfmStagedModel *staged, int first, int last);
GPtrArray *ifm_staged_outputs(const IfmStagedModel *staged, int first, int last);

/** IfmScatter: how a reduction over the edges is written in ONNX; equal in what it computes, not in speed. */
typedef enum
{
    IFM_SCATTER_ND,       /* ScatterND, reduction add */
    IFM_SCATTER_ELEMENTS, /* ScatterElements, reduction add, the index spread over the row */
    IFM_SCATTER_MIXED,    /* rows as ScatterND, single numbers as ScatterElements */
} IfmScatter;
/** ifm_scatter_for: the fastest one on an engine ("openvino"), as bench/scatter measured it; for one that was not measured
 * what the others take. On one thread: where ONNX Runtime may use several, its driver runs what has a ScatterND that adds
 * on one, since several lose additions; that is still the fastest right way (docs/stages.md). */
IfmScatter ifm_scatter_for(const char *engine);

/**
 * ifm_staged_build: Stages @first to @last, fused, as one model. Both forms and all ranges of one seed have the same
 * weights.
 * Its ports are ifm_staged_inputs() and ifm_staged_outputs(), and, where a range sums over the edges, its number of nodes
 * is free and no input has the nodes in its shape, "zeros" f32[nodes] as its last input: a zero for each node, which tells
 * how many there are and is what counting begins with. Metadata: inferometer.stage ("3", "3-5"), inferometer.staged_model,
 * inferometer.split.PORT (the axis), and, of fixed sizes, inferometer.size.nodes, inferometer.size.edges and
 * inferometer.range.edge_index.
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID for a range or a size that is none.
 */
IfmModel *ifm_staged_build(const IfmStagedModel *staged, int first, int last, const IfmStageSizes *sizes,
                           IfmScatter scatter, guint32 seed, GError **error);

/**
 * IfmStagedPort: an input of a part's model. @whole: all rows of the graph's sources ("sources"), which every part shares;
 * else the part's own rows ("nodes") or columns ("edges").
 */
typedef struct
{
    const IfmBoundary *boundary; /* NULL: "zeros" */
    const char *name;            /* the port: the boundary's name, or NAME.part where the boundary comes whole, too */
    gboolean whole;
} IfmStagedPort;

/**
 * ifm_staged_build_part: Stages @first to @last of one part of a graph, as data parallelism and ghost nodes need it: its
 * destinations are counted from its own first node, its sources are rows of the whole. So stage 1's x is f32 [sources,
 * features], a dimension of its own, and a range whose other stages read x by destination, too, has it a second time, as
 * "x.part" f32 [nodes, features]. A whole graph is the part with sources = nodes and both the same tensor. Every row it
 * computes is one that is wanted. Otherwise as ifm_staged_build(), the same weights; a range that needs nothing whole is
 * the same model.
 * @sources: 0: free, as dimension "sources"
 * @ports: (out) (optional) (transfer full) IfmStagedPort, in the order of its inputs
 */
IfmModel *ifm_staged_build_part(const IfmStagedModel *staged, int first, int last, const IfmStageSizes *sizes,
                                gint64 sources, IfmScatter scatter, guint32 seed, GArray **ports, GError **error);

/** ifm_staged_io_bytes: What stages @first to @last, fused, really read and write: inputs and outputs, each once, without
 * weights. @read, @written: (out) */
void ifm_staged_io_bytes(const IfmStagedModel *staged, int first, int last, const IfmStageSizes *sizes, gint64 *read,
                         gint64 *written);

G_END_DECLS
