#pragma once
#include "plan-private.h"

/* The search's own: what its three files share. */

/* --- the choices of one block (search-choices.c) ------------------------------------------------------------------------
 */

/* Shares of a block that may be in a best plan. @longest_ns: of its devices; of a batch alone, from partition to merge.
 * @copied_ns: by the block's thread in the time of one batch; 0 for a batch alone, whose copies are in the former.
 * @energy_j: beyond idling. @nth: of the block's shares, in the order they are tried. */
typedef struct
{
    double longest_ns, copied_ns, energy_j;
    int nth;
} Option;

typedef struct
{
    int n; /* -1: not looked at yet */
    Option *options;
    double least_ns, least_copied_ns, least_j;
} Choices;

/* --- the search (search.c) ----------------------------------------------------------------------------------------------
 */

/* A plan's beginning: stages up to @last on the devices @used, the block before being @set's. */
typedef struct
{
    double sum_ns, longest_ns, energy_j, bound;
    guint32 parent, next; /* next of the same state; labels count from 1 */
    guint32 used, set;
    int first, last, blocks, nth;
    gboolean split, dead;
} Label;

typedef struct
{
    PlanSpace *space;
    const IfmCosts *costs;
    IfmObjective objective;
    int n;          /* stages */
    guint32 within; /* devices that this round may use; all of them where @exact */
    gboolean exact;
    double idle_w;
    Choices *choices[1 << IFM_PLAN_MAX_DEVICES];                                /* [set][(first - 1) * n + last - 1] */
    double ahead_ns[IFM_COST_MAX_STAGES + 2], ahead_j[IFM_COST_MAX_STAGES + 2]; /* [first stage left]: no less is to come */
    GArray *labels;                                                             /* Label */
    GArray *heap;                                                               /* guint32 */
    guint32 *states;                                                            /* first label of each */
    gsize n_states;
    gboolean counts_blocks;
    gint64 most_visited, n_visited, n_pruned;
    /* the best so far, and what no plan left out can be below */
    double best, open_bound;
    SpaceBlock blocks[IFM_PLAN_MAX_DEVICES];
    int n_blocks;
} Search;

/* What differs by less is the same: sums in another order. */
#define SEARCH_ROUNDING 1e-12

/* The choices of a block, made when they are first asked for. */
const Choices *search_choices(Search *search, guint32 set, int first, int last);
/* @shares: (out) of a label's last block */
void search_shares(const Search *search, const Label *label, double *shares);
/* Before choices of this round are asked for; and after the last. */
void search_make_room(Search *search);
void search_forget_choices(Search *search);

/* @answer: its single device is the best so far */
void search_init(Search *search, PlanSpace *space, const IfmPlanAnswer *answer);
void search_clear(Search *search);
/* All rounds: @best and @blocks are then the best plan's, @open_bound what none left out can be below. */
void search_all(Search *search);

/* --- the answer (search-answer.c) ---------------------------------------------------------------------------------------
 */

double search_objective_of(const IfmPlanCost *cost, IfmObjective objective);
