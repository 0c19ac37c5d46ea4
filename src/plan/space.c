/* The space of plans: sets of devices, and the blocks each set may run with their times. */
#include <math.h>
#include <string.h>

#include "plan-private.h"

int space_members(guint32 set, int *devices)
{
    int n = 0;
    for (int d = 0; d < IFM_PLAN_MAX_DEVICES; d++)
        if ((set & 1u << d) != 0)
            devices[n++] = d;
    return n;
}

/* --- what may be in a block ------------------------------------------------------------------------------------------- */

static void device_runs(PlanSpace *space, int device)
{
    const IfmCosts *costs = space->costs;
    int piece[IFM_COST_MAX_STAGES + 1];
    for (int first = 1; first <= costs->n_stages; first++)
    {
        guint64 *runs = &space->runs[1u << device][first - 1];
        costs_pieces(costs, device, first, piece);
        for (int last = first; last <= costs->n_stages; last++)
            *runs |= (guint64)(piece[last] != 0) << (last - 1);
    }
}

static void set_runs(PlanSpace *space, guint32 set)
{
    const IfmCosts *costs = space->costs;
    int devices[IFM_PLAN_MAX_DEVICES], n = space_members(set, devices);
    for (int i = 0; i < n; i++)
        if (!costs->devices[devices[i]]->is.splits || (space->question->no_split & 1u << devices[i]) != 0)
            return;
    for (int first = 1; first <= costs->n_stages; first++)
    {
        guint64 runs = 0;
        for (int last = first; last <= costs->n_stages && (costs->no_split >> (last - 1) & 1) == 0; last++)
            runs |= G_GUINT64_CONSTANT(1) << (last - 1);
        for (int i = 0; i < n; i++)
            runs &= space->runs[1u << devices[i]][first - 1];
        space->runs[set][first - 1] = runs;
    }
}

static gboolean check_question(const IfmCosts *costs, const IfmPlanQuestion *question, GError **error)
{
    if (!(isfinite(question->nodes) && question->nodes > 0 && isfinite(question->edges) && question->edges > 0))
        return ifm_error_refuse(error, "plan: %g nodes, %g edges: both must be above 0", question->nodes, question->edges);
    for (gsize i = 0; question->grid != NULL && i < question->n_grid; i++)
        if (!(question->grid[i] > 0 && question->grid[i] <= 1))
            return ifm_error_refuse(error, "plan: a share of %g in the grid; above 0, at most 1 is expected",
                                    question->grid[i]);
    for (int d = 0; question->objective == IFM_OBJECTIVE_ENERGY && d < costs->n_devices; d++)
    {
        const IfmCostDevice *device = &costs->devices[d]->is;
        if ((question->without & 1u << d) == 0 && !(isfinite(device->active_w) && isfinite(device->idle_w)))
            return ifm_error_set(
                error, IFM_ERROR_UNAVAILABLE,
                "plan: the least energy: device %s: its power is unknown; give its watts (--power %s=WATTS), or "
                "leave it out (--without %s)",
                device->alias, device->alias, device->alias);
    }
    return TRUE;
}

/* Finds a stage that no device can run, and why. */
static gboolean check_covered(const PlanSpace *space, GError **error)
{
    const IfmCosts *costs = space->costs;
    for (int stage = 1; stage <= costs->n_stages; stage++)
    {
        guint64 covered = 0;
        g_autoptr(GString) why = g_string_new("");
        for (int d = 0; d < costs->n_devices; d++)
        {
            if ((space->devices & 1u << d) == 0)
                continue;
            for (int first = 1; first <= stage; first++)
                covered |= space->runs[1u << d][first - 1] >> (stage - 1);
            const char *reason = ifm_costs_why_not(costs, d, stage, stage);
            g_string_append_printf(why, "; %s: %s", costs->devices[d]->is.alias, reason != NULL ? reason : "?");
        }
        if (covered != 0)
            continue;
        return ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "plan: no device can run stage %d%s", stage, why->str);
    }
    return TRUE;
}

gboolean space_init(PlanSpace *space, const IfmCosts *costs, const IfmPlanQuestion *question, GError **error)
{
    guint32 all = (1u << costs->n_devices) - 1;
    *space = (PlanSpace){ .costs = costs, .question = question, .devices = all & ~question->without };
    if (!check_question(costs, question, error))
        return FALSE;
    if (space->devices == 0)
        return ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "plan: no device is left to use");
    int n_devices = __builtin_popcount(space->devices);
    space->max_blocks = MIN(n_devices, costs->n_stages);
    if (question->max_blocks > 0)
        space->max_blocks = MIN(space->max_blocks, question->max_blocks);
    for (int d = 0; d < costs->n_devices; d++)
        if ((space->devices & 1u << d) != 0)
            device_runs(space, d);
    for (guint32 set = 1; set <= all; set++)
        if ((set & ~space->devices) == 0 && (set & (set - 1)) != 0)
            set_runs(space, set);
    if (!check_covered(space, error))
        return FALSE;
    space->curves = curve_table_new(costs, question->nodes, question->edges, question->sources, FALSE);
    return TRUE;
}

void space_clear(PlanSpace *space)
{
    g_clear_pointer(&space->curves, curve_table_free);
}

gboolean space_next(const PlanSpace *space, int done, int n_blocks, guint32 open, gboolean all, SpaceStep *step)
{
    gboolean final = n_blocks + 1 == space->max_blocks;
    if (n_blocks == space->max_blocks)
        return FALSE;
    for (;;)
    {
        while (step->runs == 0)
        {
            step->set = (step->set - 1) & open;
            if (step->set == 0)
                return FALSE;
            step->runs = space->runs[step->set][done];
        }
        step->last = __builtin_ctzll(step->runs) + 1;
        step->runs &= step->runs - 1;
        gboolean left = (open & ~step->set) != 0;
        if (step->last == space->costs->n_stages ? !(all && left) : left && !final)
            return TRUE;
    }
}

/* --- size of the space ------------------------------------------------------------------------------------------------ */

/* Counts plans without their shares, by what is left: [blocks left][first stage left - 1][devices used]. */
double space_n_structures(const PlanSpace *space)
{
    int n = space->costs->n_stages, n_sets = 1 << space->costs->n_devices;
    gsize layer = (gsize)(n + 1) * n_sets;
    g_autofree double *counts = g_new0(double, layer *(space->max_blocks + 1));
    for (int left = 0; left <= space->max_blocks; left++)
        for (int used = 0; used < n_sets; used++)
            counts[left * layer + (gsize)n * n_sets + used] = 1;
    for (int left = 1; left <= space->max_blocks; left++)
        for (int first = n; first >= 1; first--)
            for (guint32 used = 0; used < (guint32)n_sets; used++)
            {
                double *count = &counts[left * layer + (gsize)(first - 1) * n_sets + used];
                guint32 open = space->devices & ~used;
                for (guint32 set = open; set != 0; set = (set - 1) & open)
                    for (guint64 runs = space->runs[set][first - 1]; runs != 0; runs &= runs - 1)
                        *count += counts[(left - 1) * layer + (gsize)(__builtin_ctzll(runs) + 1) * n_sets + (used | set)];
            }
    return counts[space->max_blocks * layer];
}

gint64 space_n_ranges(const PlanSpace *space)
{
    gint64 n = 0;
    for (int first = 1; first <= space->costs->n_stages; first++)
    {
        guint64 runs = 0;
        for (int d = 0; d < space->costs->n_devices; d++)
            runs |= space->runs[1u << d][first - 1];
        n += __builtin_popcountll(runs);
    }
    return n;
}

/* --- shares of a grid ------------------------------------------------------------------------------------------------- */

typedef struct
{
    const double *grid;
    gsize n_grid;
    int n;
    double shares[IFM_PLAN_MAX_DEVICES];
    SpaceShares each;
    gpointer user;
} Shares;

static void share_rest(Shares *shares, int at, double left)
{
    for (gsize i = 0; i < shares->n_grid; i++)
    {
        double share = shares->grid[i];
        shares->shares[at] = share;
        if (at + 1 == shares->n && fabs(left - share) <= 1e-9)
            shares->each(shares->shares, shares->user);
        else if (at + 1 < shares->n && share < left)
            share_rest(shares, at + 1, left - share);
    }
}

void space_each_share(const double *grid, gsize n_grid, int n_devices, SpaceShares each, gpointer user)
{
    Shares shares = { .grid = grid, .n_grid = n_grid, .n = n_devices, .each = each, .user = user };
    if (n_devices == 1)
        each((const double[]){ 1 }, user);
    else
        share_rest(&shares, 0, 1);
}

/* --- a plan ----------------------------------------------------------------------------------------------------------- */

static IfmPlan *space_plan(const PlanSpace *space, const SpaceBlock *blocks, int n_blocks)
{
    IfmPlan *plan = ifm_plan_new(space->costs->model);
    int place[IFM_PLAN_MAX_DEVICES] = { 0 };
    for (int d = 0; d < space->costs->n_devices; d++)
    {
        const IfmCostDevice *device = &space->costs->devices[d]->is;
        if ((space->devices & 1u << d) == 0)
            continue;
        place[d] = ifm_plan_add_device(plan, device->alias, device->device, device->form);
        IfmPlanDevice *one = plan->devices->pdata[place[d]];
        one->sizes = g_memdup2(device->sizes, device->n_sizes * sizeof *device->sizes);
        one->n_sizes = device->n_sizes;
    }
    for (int b = 0; b < n_blocks; b++)
    {
        IfmPlanBlock block = { .first = blocks[b].first, .last = blocks[b].last };
        block.n_devices = (gsize)space_members(blocks[b].set, block.devices);
        memcpy(block.ratios, blocks[b].shares, sizeof block.ratios);
        for (gsize i = 0; i < block.n_devices; i++) /* the sizes that the run chooses from */
        {
            int d = block.devices[i];
            IfmPlanDevice *one = plan->devices->pdata[place[d]];
            one->n_sizes = costs_static_sizes(space->costs, d, block.first, block.last, one->sizes);
            block.devices[i] = place[d];
        }
        ifm_plan_add_block(plan, &block);
    }
    return plan;
}

gboolean space_choose(const PlanSpace *space, const SpaceBlock *blocks, int n_blocks, IfmPlanChoice *choice, GError **error)
{
    const IfmPlanQuestion *question = space->question;
    const CostBatch batch = { question->nodes, question->edges, question->sources };
    choice->plan = space_plan(space, blocks, n_blocks);
    return plan_cost_on(space->costs, space->curves, choice->plan, &batch, &choice->cost, error);
}
