#pragma once
#include "plan-private.h"

/* The one traversal of the space of plans (search.c), for the best plan (search-answer.c) and for those that no other beats
 * (candidates.c); and the choices of a block (search-choices.c). */

/* --- the choices of one block (search-choices.c) ---------------------------------------------------------------------- */

/* SearchTrial: one block for which shares are tried. @alone: curves for a batch alone; @paces: in steady state; the first
 * is NULL where they are not asked for */
typedef struct
{
    const PlanSpace *space;
    int devices[IFM_PLAN_MAX_DEVICES], n, first, last;
    const PlanCurve *alone[IFM_PLAN_MAX_DEVICES], *paces[IFM_PLAN_MAX_DEVICES];
    gboolean copies;
} SearchTrial;

/* trial_init: @alone_busy, @pace_busy: the devices that work meanwhile; 0: these curves are not asked for */
void trial_init(SearchTrial *trial, const PlanSpace *space, const SpaceBlock *block, guint32 alone_busy, guint32 pace_busy);
/* trial_each_together: The shares with which all devices finish together, alone and, where these are others, in steady
 * state. */
void trial_each_together(const SearchTrial *trial, SpaceShares each, gpointer user);
void trial_each_tenth(const SearchTrial *trial, SpaceShares each, gpointer user);
/* trial_each_copying: The shares worth trying for a block some of whose devices copy, besides those that make all devices
 * finish together: those that finish together with their copies in, those where the host's work and copies take as long as
 * the slowest device, and all tenths (split-copies.c). */
void trial_each_copying(const SearchTrial *trial, SpaceShares each, gpointer user);

/* Shares of a block that may be in a best plan. @alone_ns: of a batch alone, from partition to merge. @pace_ns: of the
 * devices, and @copied_ns: copies by the block's thread, per batch in steady state. @energy_j: beyond idling. What is not
 * asked for is 0. */
typedef struct
{
    double alone_ns, pace_ns, copied_ns, energy_j, shares[IFM_PLAN_MAX_DEVICES];
} Option;

typedef struct
{
    gboolean made;
    int n;
    Option *options;
    double min_alone_ns, min_pace_ns, min_copied_ns, min_j;
} Choices;

/* --- the search (search.c) -------------------------------------------------------------------------------------------- */

/* The criteria of a plan, or of the beginning of one; less is better. @energy_j: of a beginning: beyond idling; 0 if it
 * is not asked for */
typedef struct
{
    double latency_ns, cycle_ns, energy_j;
} Worth;

/* The beginning of a plan: stages up to @last on the devices @used. @set: the devices of its last block, with the shares
 * of @option. */
typedef struct
{
    Worth worth;
    double bound;
    const Option *option;
    guint32 parent, next; /* next of the same state; labels count from 1 */
    guint32 used, set;
    int first, last, blocks;
    gboolean split, dead;
} Label;

/* A plan that was found. */
typedef struct
{
    Worth worth;
    int n_blocks; /* 0: none */
    SpaceBlock blocks[IFM_PLAN_MAX_DEVICES];
} Found;

typedef struct
{
    PlanSpace *space;
    const IfmCosts *costs;
    IfmObjective objective;
    GArray *front;  /* Found: plans that no other beats; NULL: only the best by the objective is searched for */
    int n;          /* stages */
    guint32 within; /* devices that this round may use; all of them where @exact */
    gboolean exact, energy;
    double idle_w;
    Choices *choices[1 << IFM_PLAN_MAX_DEVICES]; /* [set][(first - 1) * n + last - 1] */
    double ahead_ns[IFM_COST_MAX_STAGES + 2],
        ahead_j[IFM_COST_MAX_STAGES + 2]; /* [first stage left]: lower bounds of what is still to come */
    GArray *labels;                       /* Label */
    GArray *heap;                         /* guint32 */
    guint32 *states;                      /* first label of each */
    gsize n_states;
    gboolean counts_blocks, cut_short;
    gint64 most_visited, n_visited, n_pruned;
    /* the best value so far, and a lower bound of all plans left out */
    double best, open_bound;
    Found found; /* the best plan */
} Search;

/* Values that differ by less are equal: they are sums in another order. */
#define SEARCH_ROUNDING 1e-12

/* search_choices: The choices of a block, made on first use. */
const Choices *search_choices(Search *search, guint32 set, int first, int last);
void search_forget_choices(Search *search);

/* search_init: @single: its single device is the best so far; NULL: the front is searched for */
void search_init(Search *search, PlanSpace *space, const IfmPlanAnswer *single);
void search_clear(Search *search);
/* search_all: Runs all rounds. Then @found is the best plan, and @open_bound is a lower bound of the plans left out; or
 * @front is complete unless @cut_short. */
void search_all(Search *search);
