#pragma once
#include <glib.h>

G_BEGIN_DECLS

/*
 * Which of several candidates each layer of a network is the fastest with, measured within the network: a loop over one
 * layer finds its data in the caches, which a layer of a network does not. The candidates take turns over some rounds, so
 * that a slow spell of the machine meets all of them. Other processes only ever make a run slower: a candidate counts with
 * its lower quartile.
 */
#define ORT_MAX_CANDIDATES 20

/** OrtRoundsLayer: @times_ns: double, of each candidate    @can: those that can do the layer    @is_hopeless: those that
 * are not tried again    @kept: one that is tried to the end, since the others are measured by it; -1: none
 * @user: what the layer is to the caller */
typedef struct
{
    GArray *times_ns[ORT_MAX_CANDIDATES];
    gboolean can[ORT_MAX_CANDIDATES], is_hopeless[ORT_MAX_CANDIDATES];
    int kept;
    gpointer user;
} OrtRoundsLayer;

/**
 * OrtRounds: @layers: OrtRoundsLayer*    @n_candidates: that take turns in each layer
 * @use: has a layer run by a candidate from the next run on    @run: the network once    @took: what the layer took in the
 * last run, ns    @rest: (nullable) what else takes its turn in each round
 * @stopped: (nullable) asked before each round    @user: of these
 */
typedef struct
{
    GPtrArray *layers;
    int n_candidates;
    void (*use)(const OrtRoundsLayer *layer, int candidate, gpointer user);
    gboolean (*run)(gpointer user, GError **error);
    double (*took)(const OrtRoundsLayer *layer, gpointer user);
    gboolean (*rest)(gpointer user, GError **error);
    gboolean (*stopped)(int round, gpointer user);
    gpointer user;
} OrtRounds;

#define ORT_N_ROUNDS 6
#define ORT_N_RUNS 2 /* of a candidate in a round, after one that is not counted */

/** ifm_ort_rounds_layer: Adds a layer of no candidates. Returns: (transfer none) */
OrtRoundsLayer *ifm_ort_rounds_layer(OrtRounds *rounds, gpointer user);
void ifm_ort_rounds_init(OrtRounds *rounds);
void ifm_ort_rounds_clear(OrtRounds *rounds);

/** ifm_ort_rounds_run: All rounds. Returns: FALSE with an error, IFM_ERROR_CANCELLED where it was stopped. */
gboolean ifm_ort_rounds_run(OrtRounds *rounds, GError **error);

/** ifm_ort_rounds_time: the lower quartile; infinity where nothing was measured */
double ifm_ort_rounds_time(const OrtRoundsLayer *layer, int candidate);
/** ifm_ort_rounds_fastest: Returns: of the first @n_candidates; -1: none can do the layer */
int ifm_ort_rounds_fastest(const OrtRoundsLayer *layer, int n_candidates);
/** ifm_ort_rounds_is_faster: Whether one is told apart from another: 2 % faster by lower quartiles, and faster by medians.
 */
gboolean ifm_ort_rounds_is_faster(const OrtRoundsLayer *layer, int one, int other);

G_END_DECLS
