/* Lists of plans instead of the best one: those that no other beats, and all of a question's space. */
#include <math.h>
#include <plan/plan.h>
#include <string.h>

#include "search-private.h"

/* More are no list that anybody reads. */
#define MAX_CANDIDATES 100000

/* The published program's shares of two devices. */
static const double published_shares[] = { 0.3, 0.5, 0.7 };

static void choice_free(gpointer data)
{
    ifm_plan_choice_clear(data);
    g_free(data);
}

/* NULL if it cannot be costed. */
static IfmPlanChoice *candidate_of(const PlanSpace *space, const SpaceBlock *blocks, int n_blocks, GError **error)
{
    IfmPlanChoice *candidate = g_new0(IfmPlanChoice, 1);
    if (!space_choose(space, blocks, n_blocks, candidate, error))
        g_clear_pointer(&candidate, choice_free);
    return candidate;
}

/* --- plans that no other beats ---------------------------------------------------------------------------------------- */

static gint compare_found(gconstpointer a, gconstpointer b)
{
    const Found *x = a, *y = b;
    return (x->worth.latency_ns > y->worth.latency_ns) - (x->worth.latency_ns < y->worth.latency_ns);
}

static GPtrArray *front_of(Search *search, GError **error)
{
    g_autoptr(GPtrArray) plans = g_ptr_array_new_with_free_func(choice_free);
    g_array_sort(search->front, compare_found);
    for (guint i = 0; i < search->front->len; i++)
    {
        const Found *found = &g_array_index(search->front, Found, i);
        IfmPlanChoice *candidate = candidate_of(search->space, found->blocks, found->n_blocks, error);
        if (candidate == NULL)
            return NULL;
        g_ptr_array_add(plans, candidate);
    }
    if (plans->len > 0)
        return g_steal_pointer(&plans);
    ifm_error_set(error, IFM_ERROR_UNSUPPORTED,
                  "plan: no plan of at most %d blocks, each device in one, covers stages 1 to %d%s",
                  search->space->max_blocks, search->n, search->cut_short ? ", of those that were looked at" : "");
    return NULL;
}

GPtrArray *ifm_plan_pareto(const IfmCosts *costs, const IfmPlanQuestion *question, gboolean *complete, GError **error)
{
    g_autofree PlanSpace *space = g_new(PlanSpace, 1);
    g_autofree Search *search = g_new(Search, 1);
    if (!space_init(space, costs, question, error))
        return NULL;
    search_init(search, space, NULL);
    search_all(search);
    GPtrArray *plans = front_of(search, error);
    if (complete != NULL)
        *complete = !search->cut_short;
    search_clear(search);
    space_clear(space);
    return plans;
}

/* --- all plans -------------------------------------------------------------------------------------------------------- */

typedef struct
{
    PlanSpace *space;
    SpaceBlock blocks[IFM_PLAN_MAX_DEVICES];
    guint32 npus;
    GPtrArray *found; /* IfmPlanChoice* */
    gboolean too_many;
} Listing;

static gboolean is_published_share(const SpaceBlock *block)
{
    for (gsize i = 0; i < G_N_ELEMENTS(published_shares); i++)
        if (block->shares[0] == published_shares[i])
            return TRUE;
    return FALSE;
}

/* One or two blocks, of single devices or of two without an NPU. */
static gboolean is_published(const Listing *listing, int n_blocks)
{
    gboolean within = n_blocks <= 2;
    for (int b = 0; b < n_blocks; b++)
    {
        const SpaceBlock *block = &listing->blocks[b];
        int n = __builtin_popcount(block->set);
        within = within && (n == 1 || (n == 2 && (block->set & listing->npus) == 0 && is_published_share(block)));
    }
    return within;
}

static void add_candidate(Listing *listing, int n_blocks)
{
    IfmPlanChoice *candidate = candidate_of(listing->space, listing->blocks, n_blocks, NULL);
    if (candidate == NULL)
        return;
    candidate->published = is_published(listing, n_blocks);
    g_ptr_array_add(listing->found, candidate);
}

static void add_rest(Listing *listing, int n_blocks, guint32 open);

typedef struct
{
    Listing *listing;
    int n_blocks;
    guint32 open;
} Adding;

static void with_shares(const double *shares, gpointer user)
{
    const Adding *adding = user;
    SpaceBlock *block = &adding->listing->blocks[adding->n_blocks];
    memset(block->shares, 0, sizeof block->shares);
    memcpy(block->shares, shares, (gsize)__builtin_popcount(block->set) * sizeof *shares);
    add_rest(adding->listing, adding->n_blocks + 1, adding->open & ~block->set);
}

/* Shares that finish together, alone and, where that is not the same, while all of them work; then those of the grid, else
 * the published ones. */
static void add_shares(Listing *listing, int n_blocks, guint32 open)
{
    const IfmPlanQuestion *question = listing->space->question;
    const SpaceBlock *block = &listing->blocks[n_blocks];
    Adding adding = { listing, n_blocks, open };
    gboolean grid = question->grid != NULL && question->n_grid > 0;
    if (__builtin_popcount(block->set) > 1 && !grid)
    {
        SearchTrial trial;
        trial_init(&trial, listing->space, block, block->set, block->set);
        trial_each_together(&trial, with_shares, &adding);
    }
    space_each_share(grid ? question->grid : published_shares, grid ? question->n_grid : G_N_ELEMENTS(published_shares),
                     __builtin_popcount(block->set), with_shares, &adding);
}

static void add_rest(Listing *listing, int n_blocks, guint32 open)
{
    int done = n_blocks > 0 ? listing->blocks[n_blocks - 1].last : 0;
    if (done == listing->space->costs->n_stages)
    {
        listing->too_many = listing->found->len == MAX_CANDIDATES;
        if (!listing->too_many)
            add_candidate(listing, n_blocks);
        return;
    }
    SpaceStep step = { 0 };
    while (!listing->too_many && space_next(listing->space, done, n_blocks, open, FALSE, &step))
    {
        listing->blocks[n_blocks] = (SpaceBlock){ .first = done + 1, .last = step.last, .set = step.set };
        add_shares(listing, n_blocks, open);
    }
}

static gint compare_worth(gconstpointer a, gconstpointer b, gpointer user)
{
    const IfmObjective objective = *(const IfmObjective *)user;
    double x = search_objective_of(&(*(const IfmPlanChoice *const *)a)->cost, objective),
           y = search_objective_of(&(*(const IfmPlanChoice *const *)b)->cost, objective);
    return (x > y) - (x < y);
}

GPtrArray *ifm_plan_candidates(const IfmCosts *costs, const IfmPlanQuestion *question, GError **error)
{
    PlanSpace space;
    IfmObjective objective = question->objective;
    if (!space_init(&space, costs, question, error))
        return NULL;
    Listing listing = { .space = &space, .found = g_ptr_array_new_with_free_func(choice_free) };
    listing.npus = costs_npus(costs);
    add_rest(&listing, 0, space.devices);
    if (listing.too_many)
    {
        ifm_error_refuse(error, "plan: more than %d candidates; --use, --without, --max-blocks or --grid make them fewer",
                         MAX_CANDIDATES);
        g_clear_pointer(&listing.found, g_ptr_array_unref);
    }
    else
        g_ptr_array_sort_with_data(listing.found, compare_worth, &objective);
    space_clear(&space);
    return listing.found;
}
