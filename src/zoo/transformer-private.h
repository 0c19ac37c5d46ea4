#pragma once
#include <inferometer/transformer.h>

#include "zoo-private.h"

G_BEGIN_DECLS

/* What the graph transformer's files share: transformer.c (what it is), -layers.c (its nodes), -inputs.c, -estimate.c. */

typedef enum
{
    IFM_TRANSFORMER_X,
    IFM_TRANSFORMER_PE,
    IFM_TRANSFORMER_EDGES,
    IFM_TRANSFORMER_COEFFICIENTS,
    IFM_TRANSFORMER_DEGREES,
    IFM_TRANSFORMER_BIAS,
    IFM_TRANSFORMER_PLACES,
    IFM_TRANSFORMER_NODE_GRAPH,
    IFM_TRANSFORMER_WEIGHTS,
    IFM_TRANSFORMER_MASK,
} IfmTransformerPortKind;

/* IfmTransformerPort: one input. @low, @high: what seeded values are drawn from, the upper not among them. @distinct: none
 * of them twice */
typedef struct
{
    IfmTransformerPortKind kind;
    char *name;
    IfmDtype dtype;
    int rank;
    gint64 dims[4];
    double low, high;
    gboolean distinct;
} IfmTransformerPort;

/* ifm_transformer_ports: IfmTransformerPort: the inputs that the configuration needs, in order. (transfer full) */
GArray *ifm_transformer_ports(const IfmTransformer *transformer);

/* ifm_transformer_reads_edges: whether any layer does.    ifm_transformer_is_padded: whether attention goes over graphs
 * padded to one size.    ifm_transformer_pools: whether a prediction a graph has several graphs to tell apart */
gboolean ifm_transformer_reads_edges(const IfmTransformer *transformer);
gboolean ifm_transformer_is_padded(const IfmTransformer *transformer);
gboolean ifm_transformer_pools(const IfmTransformer *transformer);
/* ifm_transformer_drops: whether it has masks. */
gboolean ifm_transformer_drops(const IfmTransformer *transformer);

G_END_DECLS
