/* Shared with other rooms: staged models, and the model of a range of their stages. */
#pragma once
#include <base/base.h>
#include <onnx/onnx.h>

G_BEGIN_DECLS

#define IFM_MAX_STAGES 16
#define IFM_STAGED_MAX_WIDTH G_GINT64_CONSTANT(65536) /* features, hidden */

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

/**
 * IfmStagedPort: an input of the model of a partition. @whole: all rows of the sources of the graph ("sources"), which all
 * partitions share; else the own rows ("nodes") or columns ("edges") of the partition.
 */
typedef struct
{
    const IfmBoundary *boundary; /* NULL: "zeros" */
    const char *name; /* the port: the name of the boundary; NAME.part for own rows where the whole is an input too */
    gboolean whole;
} IfmStagedPort;

/** ifm_staged_boundary: Returns: (transfer none) NULL for an unknown name. */
const IfmBoundary *ifm_staged_boundary(const IfmStagedModel *staged, const char *name);

/** ifm_boundary_shape: @shape: (out) [rank] 0 for a free size */
void ifm_boundary_shape(const IfmBoundary *boundary, const IfmStageSizes *sizes, gint64 *shape);

/** ifm_staged_stage_with: The first of the stages @first to @last that reads (or @makes) the boundary; 0: none does. */
int ifm_staged_stage_with(const IfmStagedModel *staged, int first, int last, const char *boundary, gboolean makes);

/** ifm_boundary_bytes: The bytes of the tensor; 0 where one of its sizes is free. */
gint64 ifm_boundary_bytes(const IfmBoundary *boundary, const IfmStageSizes *sizes);

/**
 * ifm_staged_inputs, ifm_staged_outputs: The boundaries that enter and leave the fused stages @first to @last: the ports of
 * ifm_staged_build().
 * @first, @last: a range that ifm_staged_build() accepts    Returns: (transfer container) const IfmBoundary *
 */
GPtrArray *ifm_staged_inputs(const IfmStagedModel *staged, int first, int last);
GPtrArray *ifm_staged_outputs(const IfmStagedModel *staged, int first, int last);

/** ifm_scatter_for: The fastest form on an engine ("openvino"), as bench/scatter measured it; for other engines the common
 * one. It is the fastest form on one thread. ONNX Runtime's ScatterND with add loses additions on several threads, so its
 * driver runs such models on one thread. That is still the fastest correct form (docs/stages.md). */
IfmScatter ifm_scatter_for(const char *engine);

/**
 * ifm_staged_build_part: Builds stages @first to @last for one partition of a graph, for data parallelism and ghost nodes.
 * Destinations are numbered from the first node of the partition; sources are rows of the whole graph. So the x of stage 1
 * is f32 [sources, features], with a dimension of its own. A range with other stages that read x by destination has it
 * again as "x.part" f32 [nodes, features]. The whole graph is the partition with sources = nodes and the same tensor for
 * both. The model computes the rows of the partition only. All else is as of ifm_staged_build(), with the same weights. For
 * a range that needs nothing whole, the model is the same.
 * @sources: 0: the free dimension "sources"
 * @ports: (out) (optional) (transfer full) IfmStagedPort, in the order of the inputs
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID, as ifm_staged_build()
 */
IfmModel *ifm_staged_build_part(const IfmStagedModel *staged, int first, int last, const IfmStageSizes *sizes,
                                gint64 sources, IfmScatter scatter, guint32 seed, GArray **ports, GError **error);

/** ifm_staged_io_bytes: The bytes that the fused stages @first to @last read and write: each input and output once, without
 * weights. @read, @written: (out) */
void ifm_staged_io_bytes(const IfmStagedModel *staged, int first, int last, const IfmStageSizes *sizes, gint64 *read,
                         gint64 *written);

G_END_DECLS
