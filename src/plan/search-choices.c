/* The choices of one block in the search for a plan: the shares of its devices that may be in a best plan. */
#include <math.h>
#include <string.h>

#include "search-private.h"

void trial_init(SearchTrial *trial, const PlanSpace *space, const SpaceBlock *block, guint32 alone_busy, guint32 pace_busy)
{
    *trial = (SearchTrial){ .space = space, .first = block->first, .last = block->last };
    trial->n = space_members(block->set, trial->devices);
    for (int i = 0; i < trial->n; i++)
    {
        int at = trial->devices[i];
        guint32 others = ~(1u << at);
        if (alone_busy != 0)
            trial->alone[i] = curve_table_alone(space->curves, at, block->first, block->last, alone_busy & others);
        if (pace_busy != 0)
            trial->paces[i] = curve_table_pace(space->curves, at, block->first, block->last, pace_busy & others);
        trial->copies = trial->copies || space->costs->devices[at]->copies;
    }
}

void trial_each_together(const SearchTrial *trial, SpaceShares each, gpointer user)
{
    const PlanCurve *const *const curves[] = { trial->alone, trial->paces };
    double shares[2][IFM_PLAN_MAX_DEVICES] = { { 0 } };
    for (gsize k = 0; k < G_N_ELEMENTS(curves); k++)
        if (curves[k][0] != NULL && isfinite(curve_split(curves[k], trial->n, shares[k])) &&
            (k == 0 || memcmp(shares[0], shares[1], (gsize)trial->n * sizeof shares[0][0]) != 0))
            each(shares[k], user);
}

void trial_each_tenth(const SearchTrial *trial, SpaceShares each, gpointer user)
{
    static const double tenths[] = { 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9 };
    space_each_share(tenths, G_N_ELEMENTS(tenths), trial->n, each, user);
}

/* --- choices of a search ---------------------------------------------------------------------------------------------- */

typedef struct
{
    SearchTrial trial;
    double watts[IFM_PLAN_MAX_DEVICES];
    GArray *options;
} Choosing;

static gboolean no_dearer(const Option *a, const Option *b)
{
    return a->alone_ns <= b->alone_ns && a->pace_ns <= b->pace_ns && a->copied_ns <= b->copied_ns &&
           a->energy_j <= b->energy_j;
}

static void take_option(GArray *options, const Option *option)
{
    for (guint i = 0; i < options->len;)
    {
        const Option *other = &g_array_index(options, Option, i);
        if (no_dearer(other, option))
            return;
        if (no_dearer(option, other))
            g_array_remove_index_fast(options, i);
        else
            i++;
    }
    g_array_append_val(options, *option);
}

static double time_of(const SearchTrial *trial, const PlanCurve *curve, double share)
{
    return trial->n == 1 ? curve->whole_ns : curve_at(curve, share);
}

static void add_copies(const SearchTrial *trial, Option *option)
{
    CostPart parts[IFM_PLAN_MAX_DEVICES] = { 0 };
    const IfmPlanQuestion *question = trial->space->question;
    const IfmCosts *costs = trial->space->costs;
    for (int i = 0; i < trial->n; i++)
    {
        costs_copies(costs, trial->devices[i], trial->first, trial->last, trial->n, option->shares[i],
                     cost_held_nodes(costs, trial->devices[i], (gsize)trial->n, question->nodes, question->sources),
                     question->edges, &parts[i]);
        if (trial->alone[0] != NULL)
            parts[i].ns = time_of(trial, trial->alone[i], option->shares[i]);
    }
    if (trial->alone[0] != NULL)
        option->alone_ns = costs_span_ns(parts, trial->n);
    if (trial->paces[0] != NULL)
        option->copied_ns = costs_copied_ns(parts, trial->n);
}

static void try_shares(const double *shares, gpointer user)
{
    Choosing *self = user;
    const SearchTrial *trial = &self->trial;
    Option option = { 0 };
    for (int i = 0; i < trial->n; i++)
    {
        option.shares[i] = shares[i];
        if (trial->alone[0] != NULL)
            option.alone_ns = fmax(option.alone_ns, time_of(trial, trial->alone[i], shares[i]));
        if (trial->paces[0] == NULL)
            continue;
        double ns = time_of(trial, trial->paces[i], shares[i]);
        option.pace_ns = fmax(option.pace_ns, ns);
        option.energy_j += self->watts[i] * ns * 1e-9;
    }
    if (!isfinite(option.alone_ns) || !isfinite(option.pace_ns))
        return;
    if (trial->copies)
        add_copies(trial, &option);
    take_option(self->options, &option);
}

/* Tries the shares that make the devices finish together, or those of the grid. For energy, and for devices that copy
 * tensors, other shares may be better: the tenths, and those that balance devices and copies, are tried, too. */
static void try_all(const Search *search, Choosing *self)
{
    const IfmPlanQuestion *question = search->space->question;
    if (self->trial.n == 1 || (question->grid != NULL && question->n_grid > 0))
    {
        space_each_share(question->grid, question->n_grid, self->trial.n, try_shares, self);
        return;
    }
    trial_each_together(&self->trial, try_shares, self);
    if (self->trial.copies)
        trial_each_copying(&self->trial, try_shares, self);
    else if (search->energy && search->front == NULL)
        trial_each_tenth(&self->trial, try_shares, self);
}

const Choices *search_choices(Search *search, guint32 set, int first, int last)
{
    if (search->choices[set] == NULL)
        search->choices[set] = g_new0(Choices, (gsize)search->n * search->n);
    Choices *choices = &search->choices[set][(first - 1) * search->n + last - 1];
    if (choices->made)
        return choices;
    gboolean front = search->front != NULL, alone = search->objective == IFM_OBJECTIVE_LATENCY;
    const SpaceBlock block = { .first = first, .last = last, .set = set };
    Choosing self = { .options = g_array_new(FALSE, FALSE, sizeof(Option)) };
    trial_init(&self.trial, search->space, &block, alone || front ? set : 0, !alone || front ? search->within : 0);
    for (int i = 0; i < self.trial.n && search->energy; i++)
    {
        const IfmCostDevice *device = &search->costs->devices[self.trial.devices[i]]->is;
        self.watts[i] = device->active_w - device->idle_w;
    }
    try_all(search, &self);
    choices->made = TRUE;
    choices->n = (int)self.options->len;
    choices->min_alone_ns = choices->min_pace_ns = choices->min_copied_ns = choices->min_j = INFINITY;
    for (int i = 0; i < choices->n; i++)
    {
        const Option *option = &g_array_index(self.options, Option, i);
        choices->min_alone_ns = fmin(choices->min_alone_ns, option->alone_ns);
        choices->min_pace_ns = fmin(choices->min_pace_ns, option->pace_ns);
        choices->min_copied_ns = fmin(choices->min_copied_ns, option->copied_ns);
        choices->min_j = fmin(choices->min_j, option->energy_j);
    }
    choices->options = (Option *)(void *)g_array_free(self.options, FALSE);
    return choices;
}

void search_forget_choices(Search *search)
{
    for (guint32 set = 0; set < 1u << search->costs->n_devices; set++)
    {
        for (int i = 0; search->choices[set] != NULL && i < search->n * search->n; i++)
            g_free(search->choices[set][i].options);
        g_clear_pointer(&search->choices[set], g_free);
    }
}
