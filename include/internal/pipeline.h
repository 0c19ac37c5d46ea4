#pragma once
#include <inferometer/pipeline.h>

G_BEGIN_DECLS

/* Parts of plans that searching and predicting need. */

/**
 * ifm_partition_edges: Orders the columns of an edge_index by the shares that their destinations are in, and keeps
 * their order within a share.
 * @cuts: [n_cuts] ascending destinations where a share ends (the last is the number of destinations)
 * @ordered: [2 x n_edges] (out) destinations unchanged    @ends: [n_cuts] (out) columns up to the end of each share
 * Returns: FALSE with IFM_ERROR_INVALID and the edge whose destination is not below the last cut.
 */
gboolean ifm_partition_edges(const gint64 *edge_index, gint64 n_edges, const gint64 *cuts, gsize n_cuts, gint64 *ordered,
                             gint64 *ends, GError **error);

/** ifm_plan_block_name: "CPU+GPU" of block @number, from 1; "" for one that it has not. (transfer full) */
char *ifm_plan_block_name(const IfmPlan *plan, int number);

json_t *ifm_plan_blocks_to_json(const IfmPlan *plan);

/**
 * ifm_plan_static_size: The size that a static device takes for a share: of those that hold the share the one with the
 * fewest nodes + edges, of equal ones the first. A size holds the share's nodes and edges; where edges have to be
 * added, it also needs one more node, in which they end. Planning and running take the same size.
 * @nodes: of a block of one device: all nodes of the batch    @reads_edges: the block's stages have an edge_index
 * Returns: (borrowed) one of @sizes; NULL if none holds the share.
 */
const IfmPlanSize *ifm_plan_static_size(const IfmPlanSize *sizes, gsize n_sizes, double nodes, double edges,
                                        gboolean reads_edges);

G_END_DECLS
