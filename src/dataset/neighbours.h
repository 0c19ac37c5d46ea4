#pragma once
#include "dataset-private.h"

#include <metis.h>

G_BEGIN_DECLS

/** IfmNeighbours: a graph undirected, without loops, each pair of neighbours once (each in the other's list), weighing as
 * many edges as lead from either to the other. */
typedef struct
{
    idx_t *starts;     /* [n_nodes + 1] */
    idx_t *neighbours; /* [starts[n_nodes]] */
    idx_t *weights;    /* of the same */
} IfmNeighbours;

/** ifm_neighbours_init: Returns: FALSE with IFM_ERROR_UNSUPPORTED where METIS' numbers are too small, IFM_ERROR_MEMORY. */
gboolean ifm_neighbours_init(IfmNeighbours *list, const IfmGraph *graph, GError **error);
void ifm_neighbours_clear(IfmNeighbours *list);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmNeighbours, ifm_neighbours_clear)

/** METIS draws from the C library's rand(), which the whole process shares: one call at a time, or the seed means nothing.
 */
void ifm_metis_lock(void);
void ifm_metis_unlock(void);

G_END_DECLS
