#pragma once
#include "plan-private.h"

/* What the three files of the search share. */

/* --- the choices of one block (search-choices.c) ---------------------------------------------------------------------- */

/* Shares of a block that may be in a best plan. @longest_ns: of its devices; for a batch alone, from partition to
 * merge. @copied_ns: copies by the block's thread per batch in steady state; 0 for a batch alone, where @longest_ns
 * contains them. @energy_j: beyond idling. @nth: index among the block's shares, in the order they are tried. */
typedef struct
{
    double longest_ns, copied_ns, energy_j;
    int nth;
} Option;

typedef struct
{
    int n; /* -1: not made yet */
    Option *options;
    double min_ns, min_copied_ns, min_j;
} Choices;

/* --- the search (search.c) -------------------------------------------------------------------------------------------- */

/* The beginning of a plan: stages up to @last on the devices @used. @set: the devices of its last block. */
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
    Choices *choices[1 << IFM_PLAN_MAX_DEVICES]; /* [set][(first - 1) * n + last - 1] */
    double ahead_ns[IFM_COST_MAX_STAGES + 2],
        ahead_j[IFM_COST_MAX_STAGES + 2]; /* [first stage left]: lower bounds of what is still to come */
    GArray *labels;                       /* Label */
    GArray *heap;                         /* guint32 */
    guint32 *states;                      /* first label of each */
    gsize n_states;
    gboolean counts_blocks;
    gint64 most_visited, n_visited, n_pruned;
    /* the best value so far, and a lower bound of all plans left out */
    double best, open_bound;
    SpaceBlock blocks[IFM_PLAN_MAX_DEVICES];
    int n_blocks;
} Search;

/* Values that differ by less are equal: they are sums in another order. */
#define SEARCH_ROUNDING 1e-12

/* search_choices: The choices of a block, made on first use. */
const Choices *search_choices(Search *search, guint32 set, int first, int last);
/* search_shares: @shares: (out) of a label's last block */
void search_shares(const Search *search, const Label *label, double *shares);
/* search_make_room: Before choices of this round are asked for. search_forget_choices: After the last. */
void search_make_room(Search *search);
void search_forget_choices(Search *search);

/* The value that the search minimises: ns, ns or J. */
double search_objective_of(const IfmPlanCost *cost, IfmObjective objective);
/* search_init: @answer: its single device is the best so far */
void search_init(Search *search, PlanSpace *space, const IfmPlanAnswer *answer);
void search_clear(Search *search);
/* search_all: Runs all rounds. Then @best and @blocks are the best plan's, and @open_bound is a lower bound of the
 * plans left out. */
void search_all(Search *search);
