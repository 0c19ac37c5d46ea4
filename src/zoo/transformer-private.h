#pragma once

#include "zoo-private.h"

G_BEGIN_DECLS

/* Shared by the files of the graph transformer: transformer.c (configuration), -layers.c (nodes), -inputs.c, -estimate.c.
 */

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

/* IfmTransformerPort: one input. @low, @high: seeded values are in [low, high). @distinct: they are all different */
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

/*
 * ifm_transformer_check: Whether the configuration is valid.
 * Returns: FALSE with IFM_ERROR_INVALID and the name of the parameter: "num_heads 3 does not divide hidden_dim 64",
 * "pe_dim 16: a graph of 12 nodes has 11 eigenvectors at most". Of several graphs the check takes the average size. Whether
 * the smallest graph is large enough is checked when its encoding is computed.
 */
gboolean ifm_transformer_check(const IfmTransformer *transformer, GError **error);

/* ifm_transformer_ports: IfmTransformerPort: the inputs that the configuration needs, in order. (transfer full) */
GArray *ifm_transformer_ports(const IfmTransformer *transformer);

/* ifm_transformer_is_padded: Whether attention reads graphs that are padded to one size.    ifm_transformer_pools: Whether
 * there is one prediction per graph of a batch. */
gboolean ifm_transformer_is_padded(const IfmTransformer *transformer);
gboolean ifm_transformer_pools(const IfmTransformer *transformer);
/* ifm_transformer_drops: Whether the model has masks. */
gboolean ifm_transformer_drops(const IfmTransformer *transformer);

G_END_DECLS
