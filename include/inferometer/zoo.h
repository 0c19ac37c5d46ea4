#pragma once
#include <inferometer/onnx.h>

IFM_BEGIN_DECLS

/** IfmZooParameter: one parameter of a zoo model. @words: NULL: the value is a number; else it is the index of one of these
 * words, NULL-terminated, and @max is the last index. */
typedef struct
{
    const char *name; /* "m", "batch" */
    gint64 fallback, min, max;
    const char *help;
    const char *const *(*words)(void);
} IfmZooParameter;

/** IfmZooEntry: one row of the table of the zoo. @parameters: ends with a NULL name. @min_image: of a
 * convolutional network, whose parameter "size" is the side of an image: the smallest one that it takes, pixels; 0 of
 * others. */
typedef struct
{
    const char *name; /* "matmul", "small-cnn" */
    const char *help;
    const IfmZooParameter *parameters;
    gint64 min_image;
    /* @values: [parameters], in the order of the table, from min to max. */
    IfmModel *(*build)(const gint64 *values, guint32 seed, GError **error);
} IfmZooEntry;

/** ifm_zoo_entries: Returns: (transfer none) the table; it ends with a NULL name. */
const IfmZooEntry *ifm_zoo_entries(void);
/** ifm_zoo_find: Returns: (transfer none) NULL with IFM_ERROR_INVALID, which gives the nearest name. */
const IfmZooEntry *ifm_zoo_find(const char *name, GError **error);
/**
 * ifm_zoo_build: Builds a model. The same settings and seed give the same bytes.
 * @settings: "NAME=VALUE", NULL-terminated, or NULL
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID for an unknown parameter (with the nearest name) or a value out of
 * range.
 */
IfmModel *ifm_zoo_build(const char *name, const char *const *settings, guint32 seed, GError **error);

/* --- models in stages --------------------------------------------------------------------------------------------- */

#define IFM_MAX_STAGES 16

/** IfmStageSizes: the sizes that determine the tensors of a staged model. */
typedef struct
{
    gint64 nodes, edges; /* of the graph; 0: the free dimensions "nodes" and "edges" */
    gint64 features;     /* input values per node */
    gint64 hidden;       /* output values per node */
} IfmStageSizes;

/**
 * IfmBoundary: a tensor that enters the staged model, passes between its stages, or leaves it.
 * @dims: [rank] words: "nodes", "edges", "features", "hidden" or a number
 * @split_axis: the axis along which a partition of the graph splits the tensor (nodes by destination, edges with their
 * destination). -1: each partition needs the whole tensor. IfmStage.whole_input is an exception for one stage.
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
    /* the input that each partition of the graph needs whole, since any node may be the source of an edge; NULL: none */
    const char *whole_input;
    /* bytes of the inputs of this stage, features and index, as the published tables count them; NULL: not in the tables */
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

/** ifm_staged_find: Returns: (transfer none) NULL with IFM_ERROR_INVALID, which gives the nearest name. */
const IfmStagedModel *ifm_staged_find(const char *name, GError **error);

/** IfmScatter: the ONNX form of a reduction over the edges. The forms compute the same with different speed. */
typedef enum
{
    IFM_SCATTER_ND,       /* ScatterND, reduction add */
    IFM_SCATTER_ELEMENTS, /* ScatterElements, reduction add, with the index repeated over the row */
    IFM_SCATTER_MIXED,    /* ScatterND for rows, ScatterElements for single numbers */
} IfmScatter;

/**
 * ifm_staged_build: Builds stages @first to @last, fused, as one model. One seed gives the same weights in both forms and
 * in all ranges. Ports: the inputs are the boundaries that a stage of the range reads and none makes. The outputs
 * are made in the range and read by a later stage, or are outputs of the staged model. Both are in the order of the table.
 * A range that sums over the edges with a free number of nodes, and without an input that has the nodes in its shape, has a
 * last input "zeros" f32 [nodes]: a zero for each node. It gives the number of nodes and is the start value of the counts.
 * Metadata: inferometer.stage ("3", "3-5"), inferometer.staged_model, inferometer.split.PORT (the axis). With fixed sizes
 * also inferometer.size.nodes, inferometer.size.edges and inferometer.range.edge_index. Returns: (transfer full) NULL with
 * IFM_ERROR_INVALID for an invalid range or size.
 */
IfmModel *ifm_staged_build(const IfmStagedModel *staged, int first, int last, const IfmStageSizes *sizes,
                           IfmScatter scatter, guint32 seed, GError **error);

IFM_END_DECLS
