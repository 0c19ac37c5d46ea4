/* Every plan of a question's space, one by one: for those who want to see what a search left behind. */
#include <math.h>
#include <string.h>

#include "plan-private.h"

/* More are no list that anybody reads. */
#define MAX_CANDIDATES 100000

/* The published program's shares of two devices. */
static const double published_shares[] = { 0.3, 0.5, 0.7 };

typedef struct
{
    PlanSpace *space;
    SpaceBlock blocks[IFM_PLAN_MAX_DEVICES];
    guint32 npus;
    GPtrArray *found; /* IfmPlanCandidate* */
    gboolean too_many;
} Listing;

void ifm_plan_candidate_free(IfmPlanCandidate *candidate)
{
    if (candidate == NULL)
        return;
    ifm_plan_free(candidate->plan);
    ifm_plan_cost_clear(&candidate->cost);
    g_free(candidate);
}

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
    const IfmPlanQuestion *question = listing->space->question;
    const CostBatch batch = { question->nodes, question->edges, question->sources };
    IfmPlanCandidate *candidate = g_new0(IfmPlanCandidate, 1);
    candidate->plan = space_plan(listing->space, listing->blocks, n_blocks);
    candidate->published = is_published(listing, n_blocks);
    if (plan_cost_on(listing->space->costs, listing->space->curves, candidate->plan, &batch, &candidate->cost, NULL))
        g_ptr_array_add(listing->found, candidate);
    else
        ifm_plan_candidate_free(candidate); /* no size of a static device holds its share */
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
    int n = __builtin_popcount(block->set);
    memset(block->shares, 0, sizeof block->shares);
    memcpy(block->shares, shares, (gsize)n * sizeof *shares);
    add_rest(adding->listing, adding->n_blocks + 1, adding->open & ~block->set);
}

/* Shares that finish together, alone and, where that is not the same, while all of them work; then those of the grid, else
 * the published ones. */
static void add_shares(Listing *listing, int n_blocks, guint32 open)
{
    const IfmPlanQuestion *question = listing->space->question;
    const SpaceBlock *block = &listing->blocks[n_blocks];
    Adding adding = { listing, n_blocks, open };
    int devices[IFM_PLAN_MAX_DEVICES], n = space_members(block->set, devices);
    double shares[2][IFM_PLAN_MAX_DEVICES] = { { 1 } };
    gboolean grid = question->grid != NULL && question->n_grid > 0;
    for (int pace = 0; pace < 2 && n > 1 && !grid; pace++)
    {
        const PlanCurve *curves[IFM_PLAN_MAX_DEVICES];
        for (int i = 0; i < n; i++)
            curves[i] = (pace ? curve_table_pace : curve_table_alone)(listing->space->curves, devices[i], block->first,
                                                                      block->last, block->set & ~(1u << devices[i]));
        gboolean known = isfinite(curve_split(curves, n, shares[pace])), same = pace == 1;
        for (int i = 0; i < n && same; i++)
            same = shares[0][i] == shares[1][i];
        if (known && !same)
            with_shares(shares[pace], &adding);
    }
    space_each_share(grid ? question->grid : published_shares, grid ? question->n_grid : G_N_ELEMENTS(published_shares), n,
                     with_shares, &adding);
}

static void add_rest(Listing *listing, int n_blocks, guint32 open)
{
    const PlanSpace *space = listing->space;
    int next = n_blocks > 0 ? listing->blocks[n_blocks - 1].last + 1 : 1, n_stages = space->costs->n_stages;
    if (next > n_stages)
    {
        listing->too_many = listing->found->len == MAX_CANDIDATES;
        if (!listing->too_many)
            add_candidate(listing, n_blocks);
        return;
    }
    if (n_blocks == space->max_blocks)
        return;
    for (guint32 set = open; set != 0 && !listing->too_many; set = (set - 1) & open)
        for (guint64 runs = space->runs[set][next - 1]; runs != 0 && !listing->too_many; runs &= runs - 1)
        {
            listing->blocks[n_blocks] = (SpaceBlock){ .first = next, .last = __builtin_ctzll(runs) + 1, .set = set };
            add_shares(listing, n_blocks, open);
        }
}

static double worth_of(const IfmPlanCandidate *candidate, IfmObjective objective)
{
    return objective == IFM_OBJECTIVE_LATENCY  ? candidate->cost.latency_ns
           : objective == IFM_OBJECTIVE_ENERGY ? candidate->cost.energy_j
                                               : candidate->cost.cycle_ns;
}

static gint compare_worth(gconstpointer a, gconstpointer b, gpointer user)
{
    const IfmObjective objective = *(const IfmObjective *)user;
    double x = worth_of(*(const IfmPlanCandidate *const *)a, objective),
           y = worth_of(*(const IfmPlanCandidate *const *)b, objective);
    return (x > y) - (x < y);
}

GPtrArray *ifm_plan_candidates(const IfmCosts *costs, const IfmPlanQuestion *question, GError **error)
{
    PlanSpace space;
    IfmObjective objective = question->objective;
    if (!space_init(&space, costs, question, error))
        return NULL;
    Listing listing = { .space = &space, .found = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_plan_candidate_free) };
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
