#pragma once
#include "dataset-private.h"

#include <metis.h>

G_BEGIN_DECLS

/** IfmNeighbours: the undirected form of a graph, without loops and repetitions. Each of two neighbours is once in the list
 * of the other. The weight of a pair is its number of edges in both directions. */
typedef struct
{
    idx_t *starts;     /* [n_nodes + 1] */
    idx_t *neighbours; /* [starts[n_nodes]] */
    idx_t *weights;    /* [starts[n_nodes]] */
} IfmNeighbours;

/** ifm_neighbours_init: Returns: FALSE with IFM_ERROR_UNSUPPORTED (the graph exceeds METIS' integers) or IFM_ERROR_MEMORY.
 */
gboolean ifm_neighbours_init(IfmNeighbours *list, const IfmGraph *graph, GError **error);
void ifm_neighbours_clear(IfmNeighbours *list);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmNeighbours, ifm_neighbours_clear)

/** METIS uses rand() of the C library, which the whole process shares. So only one call may run at a time; otherwise the
 * seed has no effect. */
void ifm_metis_lock(void);
void ifm_metis_unlock(void);

G_END_DECLS
