/* room: kernel */
#pragma once
#include <inferometer/kernel.h>

G_BEGIN_DECLS

/* What profile and report need of kernels, and no user of the library does. */

/** ifm_cost_is_exact: whether a rate may follow from a cost: it is known, and no upper bound. */
static inline gboolean ifm_cost_is_exact(const IfmNodeCost *cost)
{
    return cost->covered && !cost->is_upper_bound;
}

/** ifm_layer_name: what a node of a model is called; a nameless one by what it makes. Borrowed from @node. */
const char *ifm_layer_name(const IfmNode *node);
/** ifm_attention_alive_bytes: the most that attention's nodes have made and that is still to be read, by the shapes.
 * Returns: bytes; -1 where a shape is not known. */
gint64 ifm_attention_alive_bytes(const IfmModel *model, const IfmAnalysis *analysis);
/** ifm_timing_is_below: whether @whole took less time than @part, as surely as their intervals say, where they have any:
 * where one pass holds the other, the machine changed between the two measurements. */
gboolean ifm_timing_is_below(const IfmTiming *whole, const IfmTiming *part);

G_END_DECLS
