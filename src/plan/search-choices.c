/* The choices of one block in the search for a plan: the shares of its devices that may be in a best plan. */
#include <math.h>
#include <string.h>

#include "search-private.h"

/* One block for which shares are tried. */
typedef struct
{
    const PlanCurve *curves[IFM_PLAN_MAX_DEVICES];
    double watts[IFM_PLAN_MAX_DEVICES];
    const PlanSpace *space;
    int devices[IFM_PLAN_MAX_DEVICES], first, last;
    int n, nth, wanted;
    gboolean energy, paces, copies;
    GArray *options;
    double *shares; /* (out) of the one wanted */
} Trial;

static gboolean no_dearer(const Trial *trial, const Option *a, const Option *b)
{
    return a->longest_ns <= b->longest_ns && a->copied_ns <= b->copied_ns && (!trial->energy || a->energy_j <= b->energy_j);
}

static void take_option(Trial *trial, const Option *option)
{
    for (guint i = 0; i < trial->options->len;)
    {
        const Option *other = &g_array_index(trial->options, Option, i);
        if (no_dearer(trial, other, option))
            return;
        if (no_dearer(trial, option, other))
            g_array_remove_index_fast(trial->options, i);
        else
            i++;
    }
    g_array_append_val(trial->options, *option);
}

static void add_copies(const Trial *trial, const double *shares, CostPart *parts, Option *option)
{
    const IfmPlanQuestion *question = trial->space->question;
    for (int i = 0; i < trial->n; i++)
        costs_copies(
            trial->space->costs, trial->devices[i], trial->first, trial->last, trial->n, trial->n > 1 ? shares[i] : 1,
            cost_held_nodes(trial->space->costs, trial->devices[i], (gsize)trial->n, question->nodes, question->sources),
            question->edges, &parts[i]);
    if (trial->paces)
        option->copied_ns = costs_copied_ns(parts, trial->n);
    else
        option->longest_ns = costs_span_ns(parts, trial->n);
}

static void try_shares(const double *shares, gpointer user)
{
    Trial *trial = user;
    Option option = { .nth = trial->nth++ };
    if (option.nth == trial->wanted)
        memcpy(trial->shares, shares, (gsize)trial->n * sizeof *shares);
    if (trial->wanted >= 0 || trial->options == NULL)
        return;
    CostPart parts[IFM_PLAN_MAX_DEVICES] = { 0 };
    for (int i = 0; i < trial->n; i++)
    {
        double ns = trial->n == 1 ? trial->curves[i]->whole_ns : curve_at(trial->curves[i], shares[i]);
        if (!isfinite(ns))
            return;
        option.longest_ns = fmax(option.longest_ns, ns);
        option.energy_j += trial->watts[i] * ns * 1e-9;
        parts[i].ns = ns;
    }
    if (trial->copies)
        add_copies(trial, shares, parts, &option);
    take_option(trial, &option);
}

static void try_copying(const PlanSpace *space, Trial *trial)
{
    const IfmPlanQuestion *question = space->question;
    const double merge_ns = cost_merge_ns(space->costs, trial->n),
                 host_ns[] = { cost_partition_ns(space->costs, trial->n, FALSE, question->edges) + merge_ns,
                               cost_partition_ns(space->costs, trial->n, TRUE, question->edges) + merge_ns };
    costs_each_copying_split(space->costs, trial->devices, trial->n, trial->first, trial->last, question->nodes,
                             question->edges, trial->paces ? NULL : trial->curves, trial->paces ? trial->curves : NULL,
                             host_ns, G_N_ELEMENTS(host_ns), try_shares, trial);
}

/* Tries the shares that make the devices finish together, or those of the grid. For energy, and for devices that copy
 * tensors, other shares may be better: the tenths, and those that balance devices and copies, are tried, too. */
static void try_all(const PlanSpace *space, Trial *trial)
{
    static const double tenths[] = { 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9 };
    const IfmPlanQuestion *question = space->question;
    double shares[IFM_PLAN_MAX_DEVICES] = { 1 };
    if (trial->n > 1 && question->grid != NULL && question->n_grid > 0)
    {
        space_each_share(question->grid, question->n_grid, trial->n, try_shares, trial);
        return;
    }
    if (trial->n > 1 && !isfinite(curve_split(trial->curves, trial->n, shares)))
        return;
    try_shares(shares, trial);
    if (trial->n > 1 && trial->copies)
        try_copying(space, trial);
    else if (trial->n > 1 && trial->energy)
        space_each_share(tenths, G_N_ELEMENTS(tenths), trial->n, try_shares, trial);
}

static Trial trial_of(const PlanSpace *space, guint32 set, int first, int last, guint32 busy)
{
    Trial trial = { .wanted = -1,
                    .energy = space->question->objective == IFM_OBJECTIVE_ENERGY,
                    .paces = space->question->objective != IFM_OBJECTIVE_LATENCY,
                    .space = space,
                    .first = first,
                    .last = last };
    trial.n = space_members(set, trial.devices);
    for (int i = 0; i < trial.n; i++)
    {
        int at = trial.devices[i];
        const IfmCostDevice *device = &space->costs->devices[at]->is;
        trial.curves[i] =
            (trial.paces ? curve_table_pace : curve_table_alone)(space->curves, at, first, last, busy & ~(1u << at));
        trial.copies = trial.copies || space->costs->devices[at]->copies;
        trial.watts[i] = trial.energy ? device->active_w - device->idle_w : 0;
    }
    return trial;
}

/* --- choices of a search ---------------------------------------------------------------------------------------------- */

const Choices *search_choices(Search *search, guint32 set, int first, int last)
{
    Choices *choices = &search->choices[set][(first - 1) * search->n + last - 1];
    if (choices->n >= 0)
        return choices;
    guint32 busy = search->objective == IFM_OBJECTIVE_LATENCY ? set : search->within;
    Trial trial = trial_of(search->space, set, first, last, busy);
    trial.options = g_array_new(FALSE, FALSE, sizeof(Option));
    try_all(search->space, &trial);
    choices->n = (int)trial.options->len;
    choices->min_ns = choices->min_copied_ns = choices->min_j = INFINITY;
    for (int i = 0; i < choices->n; i++)
    {
        const Option *option = &g_array_index(trial.options, Option, i);
        choices->min_ns = fmin(choices->min_ns, option->longest_ns);
        choices->min_copied_ns = fmin(choices->min_copied_ns, option->copied_ns);
        choices->min_j = fmin(choices->min_j, option->energy_j);
    }
    choices->options = (Option *)(void *)g_array_free(trial.options, FALSE);
    return choices;
}

void search_forget_choices(Search *search)
{
    for (guint32 set = 0; set < 1u << search->costs->n_devices; set++)
    {
        for (int i = 0; search->choices[set] != NULL && i < search->n * search->n; i++)
            if (search->choices[set][i].n >= 0)
                g_free(search->choices[set][i].options);
        g_clear_pointer(&search->choices[set], g_free);
    }
}

void search_make_room(Search *search)
{
    for (guint32 set = search->within; set != 0; set = (set - 1) & search->within)
    {
        if (search->choices[set] != NULL)
            continue;
        search->choices[set] = g_new0(Choices, (gsize)search->n * search->n);
        for (int i = 0; i < search->n * search->n; i++)
            search->choices[set][i].n = -1;
    }
}

void search_shares(const Search *search, const Label *label, double *shares)
{
    guint32 busy = search->objective == IFM_OBJECTIVE_LATENCY ? label->set : search->within;
    Trial trial = trial_of(search->space, label->set, label->first, label->last, busy);
    trial.wanted = label->nth;
    trial.shares = shares;
    try_all(search->space, &trial);
}
