/* Staged models as rows of the zoo: any range of their stages is a model. */
#include <dataset/dataset.h>

#include "zoo-private.h"

typedef struct
{
    gint64 nodes, edges, features, hidden, first, last, scatter;
} Graphsage;

const IfmZooParameter ifm_zoo_graphsage_parameters[] = {
    { "nodes", 1000, 0, IFM_GRAPH_MAX_NODES, "of the graph; 0 leaves them free, as dimension nodes" },
    { "edges", 5000, 0, IFM_GRAPH_MAX_EDGES, "of the graph; 0 leaves them free, as dimension edges" },
    { "features", 500, 1, IFM_STAGED_MAX_WIDTH, "numbers a node goes in with" },
    { "hidden", 256, 1, IFM_STAGED_MAX_WIDTH, "numbers a node comes out with" },
    { "first", 1, 1, 7, "the first stage" },
    { "last", 7, 1, 7, "the last stage; all in between become one model" },
    { "scatter", IFM_SCATTER_MIXED, IFM_SCATTER_ND, IFM_SCATTER_MIXED,
      "sums over edges: 0 ScatterND, 1 ScatterElements, 2 rows by the first, single numbers by the second" },
    { NULL },
};

IfmModel *ifm_zoo_graphsage_build(const IfmZooEntry *entry, const gint64 *values, guint32 seed, GError **error)
{
    const Graphsage *at = (const void *)values;
    IfmStageSizes sizes = { at->nodes, at->edges, at->features, at->hidden };
    return ifm_staged_build(ifm_staged_find("graphsage", NULL), (int)at->first, (int)at->last, &sizes,
                            (IfmScatter)at->scatter, seed, error);
}

typedef struct
{
    gint64 nodes, features, hidden, first, last;
} Matmul;

const IfmZooParameter ifm_zoo_matmul_stages_parameters[] = {
    { "nodes", 1000, 0, IFM_GRAPH_MAX_NODES, "rows; 0 leaves them free, as dimension nodes" },
    { "features", 256, 1, IFM_STAGED_MAX_WIDTH, "columns a row goes in with" },
    { "hidden", 256, 1, IFM_STAGED_MAX_WIDTH, "columns it comes out with" },
    { "first", 1, 1, 4, "the first stage" },
    { "last", 4, 1, 4, "the last stage; all in between become one model" },
    { NULL },
};

IfmModel *ifm_zoo_matmul_stages_build(const IfmZooEntry *entry, const gint64 *values, guint32 seed, GError **error)
{
    const Matmul *at = (const void *)values;
    IfmStageSizes sizes = { .nodes = at->nodes, .features = at->features, .hidden = at->hidden };
    return ifm_staged_build(ifm_staged_find("matmul", NULL), (int)at->first, (int)at->last, &sizes, IFM_SCATTER_MIXED, seed,
                            error);
}
