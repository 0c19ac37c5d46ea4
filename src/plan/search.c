#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan-private.h"

#define MOST_VISITED 50000000
/* What differs by less is the same: sums in another order. */
#define ROUNDING 1e-12

const char *const *ifm_objective_words(void)
{
    static const char *const words[] = { "latency", "throughput", "energy", NULL };
    return words;
}

void ifm_plan_answer_clear(IfmPlanAnswer *answer)
{
    g_clear_pointer(&answer->plan, ifm_plan_free);
    g_clear_pointer(&answer->best, ifm_plan_free);
    g_clear_pointer(&answer->single, ifm_plan_free);
    ifm_plan_cost_clear(&answer->cost);
    ifm_plan_cost_clear(&answer->best_cost);
    ifm_plan_cost_clear(&answer->single_cost);
    *answer = (IfmPlanAnswer){ 0 };
}

/* --- the choices of one block -------------------------------------------------------------------------------------------
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

/* What is tried of one block. */
typedef struct
{
    const PlanCurve *curves[IFM_PLAN_MAX_DEVICES];
    double watts[IFM_PLAN_MAX_DEVICES];
    const PlanSpace *space;
    int devices[IFM_PLAN_MAX_DEVICES], first, last;
    int n, nth, wanted;
    gboolean energy, paces, copies;
    GArray *options;
    double *shares; /* (out) of the wanted one */
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
        costs_copies(trial->space->costs, trial->devices[i], trial->first, trial->last, trial->n,
                     trial->n > 1 ? shares[i] : 1, question->nodes, question->edges, &parts[i]);
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

/* Shares that make the devices finish together; or those of the grid. For energy, and where some of the devices' tensors
 * are copied, finishing together need not be best: the tenths beside it, and what balances devices and copies. */
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
            (trial.paces ? curve_table_pace : curve_table_get)(space->curves, at, first, last, busy & ~(1u << at));
        trial.copies = trial.copies || space->costs->devices[at]->copies;
        trial.watts[i] = trial.energy ? device->active_w - device->idle_w : 0;
    }
    return trial;
}

/* --- the search ---------------------------------------------------------------------------------------------------------
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

static Label *label_at(const Search *search, guint32 index)
{
    return &g_array_index(search->labels, Label, index - 1);
}

static const Choices *choices_of(Search *search, guint32 set, int first, int last)
{
    Choices *choices = &search->choices[set][(first - 1) * search->n + last - 1];
    if (choices->n >= 0)
        return choices;
    guint32 busy = search->objective == IFM_OBJECTIVE_LATENCY ? set : search->within;
    Trial trial = trial_of(search->space, set, first, last, busy);
    trial.options = g_array_new(FALSE, FALSE, sizeof(Option));
    try_all(search->space, &trial);
    choices->n = (int)trial.options->len;
    choices->least_ns = choices->least_copied_ns = choices->least_j = INFINITY;
    for (int i = 0; i < choices->n; i++)
    {
        const Option *option = &g_array_index(trial.options, Option, i);
        choices->least_ns = fmin(choices->least_ns, option->longest_ns);
        choices->least_copied_ns = fmin(choices->least_copied_ns, option->copied_ns);
        choices->least_j = fmin(choices->least_j, option->energy_j);
    }
    choices->options = (Option *)(void *)g_array_free(trial.options, FALSE);
    return choices;
}

static void forget_choices(Search *search)
{
    for (guint32 set = 0; set < 1u << search->costs->n_devices; set++)
    {
        for (int i = 0; search->choices[set] != NULL && i < search->n * search->n; i++)
            if (search->choices[set][i].n >= 0)
                g_free(search->choices[set][i].options);
        g_clear_pointer(&search->choices[set], g_free);
    }
}

static void make_room_for_choices(Search *search)
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

/* What is still to come from each stage on takes at least this: as though every device were free for every block. */
static void look_ahead(Search *search)
{
    gboolean sums = search->objective == IFM_OBJECTIVE_LATENCY;
    search->ahead_ns[search->n + 1] = search->ahead_j[search->n + 1] = 0;
    for (int first = search->n; first >= 1; first--)
    {
        double ns = INFINITY, j = INFINITY;
        for (guint32 set = search->within; set != 0; set = (set - 1) & search->within)
        {
            int n_devices = __builtin_popcount(set);
            double host = cost_partition_ns(search->costs, n_devices, FALSE, 0) + cost_merge_ns(search->costs, n_devices);
            for (guint64 runs = search->space->runs[set][first - 1]; runs != 0; runs &= runs - 1)
            {
                int last = __builtin_ctzll(runs) + 1;
                const Choices *choices = choices_of(search, set, first, last);
                double after = search->ahead_ns[last + 1];
                if (choices->n == 0)
                    continue;
                double pace = fmax(choices->least_ns, host + choices->least_copied_ns);
                ns = fmin(ns, sums ? choices->least_ns + host + after : fmax(pace, after));
                j = fmin(j, choices->least_j + search->ahead_j[last + 1]);
            }
        }
        search->ahead_ns[first] = ns;
        search->ahead_j[first] = j;
    }
}

/* The objective of a plan that begins so and can go on from stage @next. */
static double value_of(const Search *search, const Label *label, int next)
{
    double longest = fmax(label->longest_ns, search->ahead_ns[next]);
    switch (search->objective)
    {
    case IFM_OBJECTIVE_LATENCY:
        return label->sum_ns + search->ahead_ns[next];
    case IFM_OBJECTIVE_THROUGHPUT:
        return longest;
    case IFM_OBJECTIVE_ENERGY:
        break;
    }
    return label->energy_j + search->ahead_j[next] + search->idle_w * longest * 1e-9;
}

/* --- a heap of labels, the least bound on top ---------------------------------------------------------------------------
 */

static gboolean before(const Search *search, guint32 a, guint32 b)
{
    const Label *x = label_at(search, a), *y = label_at(search, b);
    return x->bound != y->bound ? x->bound < y->bound : x->last > y->last;
}

static void heap_push(Search *search, guint32 index)
{
    g_array_append_val(search->heap, index);
    guint32 *heap = (guint32 *)(void *)search->heap->data;
    for (guint at = search->heap->len - 1; at > 0 && before(search, heap[at], heap[(at - 1) / 2]); at = (at - 1) / 2)
    {
        guint32 swap = heap[at];
        heap[at] = heap[(at - 1) / 2];
        heap[(at - 1) / 2] = swap;
    }
}

static guint32 heap_pop(Search *search)
{
    guint32 *heap = (guint32 *)(void *)search->heap->data, top = heap[0];
    guint n = search->heap->len - 1;
    heap[0] = heap[n];
    g_array_set_size(search->heap, n);
    for (guint at = 0, least = 0;; at = least)
    {
        for (guint child = 2 * at + 1; child <= 2 * at + 2 && child < n; child++)
            if (before(search, heap[child], heap[least]))
                least = child;
        if (least == at)
            return top;
        guint32 swap = heap[at];
        heap[at] = heap[least];
        heap[least] = swap;
    }
}

/* --- going on -----------------------------------------------------------------------------------------------------------
 */

/* What a plan's further cost depends on. */
static gsize state_of(const Search *search, const Label *label)
{
    gsize state = (gsize)label->last * 2 + (gsize)label->split;
    if (search->counts_blocks)
        state = state * (search->space->most_blocks + 1) + label->blocks;
    return (state << search->costs->n_devices) + label->used;
}

static gboolean no_worse(const Search *search, const Label *a, const Label *b)
{
    switch (search->objective)
    {
    case IFM_OBJECTIVE_LATENCY:
        return a->sum_ns <= b->sum_ns;
    case IFM_OBJECTIVE_THROUGHPUT:
        return a->longest_ns <= b->longest_ns;
    case IFM_OBJECTIVE_ENERGY:
        break;
    }
    return a->energy_j <= b->energy_j && a->longest_ns <= b->longest_ns;
}

/* Whether another beginning of the same state makes this one needless; those that it makes needless go. */
static gboolean dominated(Search *search, const Label *label, guint32 *first)
{
    for (guint32 index = *first, *link = first; index != 0; index = *link)
    {
        Label *other = label_at(search, index);
        if (no_worse(search, other, label))
            return TRUE;
        if (no_worse(search, label, other))
        {
            other->dead = TRUE;
            *link = other->next;
        }
        else
            link = &other->next;
    }
    return FALSE;
}

static void keep_blocks(Search *search, const Label *label)
{
    search->n_blocks = label->blocks;
    for (int b = label->blocks - 1; b >= 0; b--)
    {
        SpaceBlock *block = &search->blocks[b];
        *block = (SpaceBlock){ .first = label->first, .last = label->last, .set = label->set };
        guint32 busy = search->objective == IFM_OBJECTIVE_LATENCY ? label->set : search->within;
        Trial trial = trial_of(search->space, label->set, label->first, label->last, busy);
        trial.wanted = label->nth;
        trial.shares = block->shares;
        try_all(search->space, &trial);
        label = b > 0 ? label_at(search, label->parent) : NULL;
    }
}

static void add_label(Search *search, const Label *label)
{
    search->n_visited++;
    if (!(label->bound < search->best - ROUNDING * fabs(search->best)) && isfinite(search->best))
    {
        search->n_pruned++;
        return;
    }
    if (label->last == search->n)
    {
        if (search->exact && label->used != search->within)
            return;
        search->best = label->bound;
        keep_blocks(search, label);
        return;
    }
    guint32 *first = &search->states[state_of(search, label)];
    if (dominated(search, label, first))
    {
        search->n_pruned++;
        return;
    }
    g_array_append_val(search->labels, *label);
    guint32 index = search->labels->len;
    label_at(search, index)->next = *first;
    *first = index;
    heap_push(search, index);
}

/* One more block for a beginning, or for nothing (@index 0). */
static void add_block(Search *search, guint32 index, guint32 set, int last)
{
    const Label from = index != 0 ? *label_at(search, index) : (Label){ 0 };
    const IfmPlanQuestion *question = search->space->question;
    int n_devices = __builtin_popcount(set), first = from.last + 1;
    const Choices *choices = choices_of(search, set, first, last);
    double host =
        cost_partition_ns(search->costs, n_devices, !from.split, question->edges) + cost_merge_ns(search->costs, n_devices);
    for (int i = 0; i < choices->n; i++)
    {
        const Option *option = &choices->options[i];
        Label label = { .sum_ns = from.sum_ns + host + option->longest_ns,
                        .longest_ns = fmax(from.longest_ns, fmax(host + option->copied_ns, option->longest_ns)),
                        .energy_j = from.energy_j + option->energy_j,
                        .parent = index,
                        .used = from.used | set,
                        .set = set,
                        .first = first,
                        .last = last,
                        .blocks = from.blocks + 1,
                        .nth = option->nth,
                        .split = from.split || n_devices > 1 };
        label.bound = value_of(search, &label, last + 1);
        add_label(search, &label);
    }
}

static void expand(Search *search, guint32 index)
{
    const Label from = index != 0 ? *label_at(search, index) : (Label){ 0 };
    guint32 open = search->within & ~from.used;
    gboolean final = from.blocks + 1 == search->space->most_blocks;
    for (guint32 set = open; set != 0; set = (set - 1) & open)
        for (guint64 runs = search->space->runs[set][from.last]; runs != 0; runs &= runs - 1)
        {
            int last = __builtin_ctzll(runs) + 1;
            guint32 left = open & ~set;
            if (last < search->n && (final || left == 0))
                continue;
            if (search->exact && last == search->n && left != 0)
                continue;
            add_block(search, index, set, last);
        }
}

/* One round: the devices of @within. Its bound, where it was cut short, goes into @open_bound. */
static void search_within(Search *search, guint32 within, gboolean exact)
{
    Label nothing = { 0 };
    int devices[IFM_PLAN_MAX_DEVICES], n = space_members(within, devices);
    search->within = within;
    search->exact = exact;
    search->idle_w = 0;
    for (int i = 0; i < n; i++)
        search->idle_w += search->costs->devices[devices[i]]->is.idle_w;
    if (search->costs->has_busy)
        forget_choices(search);
    make_room_for_choices(search);
    look_ahead(search);
    double bound = value_of(search, &nothing, 1);
    gboolean hopeless = !(bound < search->best - ROUNDING * fabs(search->best)) && isfinite(search->best);
    if (hopeless || !isfinite(bound))
    {
        search->n_pruned++;
        return;
    }
    g_array_set_size(search->labels, 0);
    g_array_set_size(search->heap, 0);
    memset(search->states, 0, search->n_states * sizeof *search->states);
    if (search->n_visited >= search->most_visited && isfinite(search->best))
    {
        search->open_bound = fmin(search->open_bound, bound);
        return;
    }
    expand(search, 0);
    while (search->heap->len > 0)
    {
        guint32 index = heap_pop(search);
        const Label *label = label_at(search, index);
        if (label->dead)
            continue;
        if (!(label->bound < search->best - ROUNDING * fabs(search->best)) && isfinite(search->best))
            break;
        if (search->n_visited >= search->most_visited && isfinite(search->best))
        {
            search->open_bound = fmin(search->open_bound, label->bound);
            break;
        }
        expand(search, index);
    }
}

/* Throughput and energy depend on which devices work at all, since they slow each other: a round for each such set. The
 * smaller ones first: of plans that are equally good the one of fewer devices stands. */
static void search_all(Search *search)
{
    guint32 all = search->space->devices;
    if (search->objective == IFM_OBJECTIVE_LATENCY)
    {
        search_within(search, all, FALSE);
        return;
    }
    for (int size = 1; size <= __builtin_popcount(all); size++)
        for (guint32 within = all; within != 0; within = (within - 1) & all)
            if (__builtin_popcount(within) == size)
                search_within(search, within, TRUE);
}

/* --- the answer ---------------------------------------------------------------------------------------------------------
 */

static double objective_of(const IfmPlanCost *cost, IfmObjective objective)
{
    return objective == IFM_OBJECTIVE_LATENCY      ? cost->latency_ns
           : objective == IFM_OBJECTIVE_THROUGHPUT ? cost->cycle_ns
                                                   : cost->energy_j;
}

static gboolean is_unknown(const IfmPlanCost *cost, IfmObjective objective)
{
    return isnan(objective == IFM_OBJECTIVE_LATENCY ? cost->latency_spread_ratio : cost->cycle_spread_ratio);
}

/* The half of its interval; an unknown one is none. Energy is time by power, and power is taken for known. */
static double half_of(const IfmPlanCost *cost, IfmObjective objective)
{
    double ratio = objective == IFM_OBJECTIVE_LATENCY ? cost->latency_spread_ratio : cost->cycle_spread_ratio;
    return isnan(ratio) ? 0 : ratio * objective_of(cost, objective);
}

static void find_single(PlanSpace *space, IfmPlanAnswer *answer)
{
    const IfmPlanQuestion *question = space->question;
    int n = space->costs->n_stages;
    for (int d = 0; d < space->costs->n_devices; d++)
    {
        const SpaceBlock block = { .first = 1, .last = n, .set = 1u << d, .shares = { 1 } };
        if ((space->runs[1u << d][0] >> (n - 1) & 1) == 0)
            continue;
        g_autoptr(IfmPlan) plan = space_plan(space, &block, 1);
        g_auto(IfmPlanCost) cost = { 0 };
        if (!plan_cost_on(space->costs, space->curves, plan, question->nodes, question->edges, &cost, NULL))
            continue;
        if (answer->single != NULL &&
            objective_of(&cost, question->objective) >= objective_of(&answer->single_cost, question->objective))
            continue;
        ifm_plan_cost_clear(&answer->single_cost);
        g_clear_pointer(&answer->single, ifm_plan_free);
        answer->single = g_steal_pointer(&plan);
        answer->single_cost = cost;
        cost = (IfmPlanCost){ 0 };
    }
}

static void copy_cost(IfmPlanCost *to, const IfmPlanCost *from)
{
    *to = *from;
    to->alone = g_array_ref(from->alone);
    to->steady = g_array_ref(from->steady);
}

static void decide(IfmPlanAnswer *answer, IfmObjective objective)
{
    guint n_devices = 0;
    for (guint b = 0; b < answer->best->blocks->len; b++)
        n_devices += (guint)g_array_index(answer->best->blocks, IfmPlanBlock, b).n_devices;
    if (answer->single != NULL && n_devices > 1)
    {
        double gain = objective_of(&answer->single_cost, objective) - objective_of(&answer->best_cost, objective);
        double doubt = hypot(half_of(&answer->single_cost, objective), half_of(&answer->best_cost, objective));
        answer->within_uncertainty = gain <= doubt;
        answer->spread_unknown = is_unknown(&answer->single_cost, objective) || is_unknown(&answer->best_cost, objective);
    }
    answer->plan = ifm_plan_copy(answer->within_uncertainty ? answer->single : answer->best);
    copy_cost(&answer->cost, answer->within_uncertainty ? &answer->single_cost : &answer->best_cost);
}

static void certify(IfmPlanAnswer *answer, const Search *search)
{
    double value = objective_of(&answer->best_cost, search->objective);
    answer->optimal = !(search->open_bound < search->best);
    answer->lower_bound = answer->optimal ? value : fmin(search->open_bound, value);
    answer->gap_ratio = answer->optimal ? 0 : value / answer->lower_bound - 1;
    answer->n_visited = search->n_visited;
    answer->n_pruned = search->n_pruned;
}

static void search_init(Search *search, PlanSpace *space, const IfmPlanAnswer *answer)
{
    const IfmPlanQuestion *question = space->question;
    int n_devices = space->costs->n_devices;
    *search = (Search){ .space = space, .costs = space->costs, .objective = question->objective };
    search->n = space->costs->n_stages;
    search->counts_blocks = space->most_blocks < MIN(__builtin_popcount(space->devices), search->n);
    search->most_visited = question->most_visited > 0 ? question->most_visited : MOST_VISITED;
    search->best = search->open_bound = INFINITY;
    search->labels = g_array_new(FALSE, FALSE, sizeof(Label));
    search->heap = g_array_new(FALSE, FALSE, sizeof(guint32));
    search->n_states = (gsize)(search->n + 1) * 2 * (search->counts_blocks ? space->most_blocks + 1 : 1) << n_devices;
    search->states = g_new0(guint32, search->n_states);
    if (answer->single != NULL)
    {
        search->best = objective_of(&answer->single_cost, question->objective);
        const IfmPlanBlock *block = &g_array_index(answer->single->blocks, IfmPlanBlock, 0);
        search->n_blocks = 1;
        search->blocks[0] = (SpaceBlock){ .first = 1, .last = search->n, .set = 1u << block->devices[0], .shares = { 1 } };
    }
}

static void search_clear(Search *search)
{
    forget_choices(search);
    g_array_unref(search->labels);
    g_array_unref(search->heap);
    g_free(search->states);
}

static void tell_nothing_found(const PlanSpace *space, GError **error)
{
    const IfmPlanQuestion *question = space->question;
    g_autofree char *sparse = NULL;
    for (int d = 0; d < space->costs->n_devices && sparse == NULL; d++)
        if ((space->devices & 1u << d) != 0)
            sparse = ifm_costs_why_sparse(space->costs, d, question->nodes, question->edges);
    if (sparse != NULL)
        g_set_error_literal(error, IFM_ERROR, IFM_ERROR_INVALID, sparse);
    else
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED,
                    "plan: every stage has a device, but no plan of at most %d blocks, each device in one, covers stages "
                    "1 to %d at %.0f nodes, %.0f edges",
                    space->most_blocks, space->costs->n_stages, question->nodes, question->edges);
}

gboolean ifm_plan_search(const IfmCosts *costs, const IfmPlanQuestion *question, IfmPlanAnswer *answer, GError **error)
{
    g_autofree PlanSpace *space = g_new(PlanSpace, 1);
    g_autofree Search *search = g_new(Search, 1);
    *answer = (IfmPlanAnswer){ 0 };
    if (!space_init(space, costs, question, error))
        return FALSE;
    answer->n_ranges = (gint64)costs->n_stages * (costs->n_stages + 1) / 2;
    answer->n_subsets = ((gint64)1 << __builtin_popcount(space->devices)) - 1;
    answer->n_ranges_known = space_n_ranges(space);
    answer->n_structures = space_n_structures(space);
    find_single(space, answer);
    search_init(search, space, answer);
    search_all(search);
    gboolean found = search->n_blocks > 0;
    if (found)
    {
        answer->best = space_plan(space, search->blocks, search->n_blocks);
        found =
            plan_cost_on(costs, space->curves, answer->best, question->nodes, question->edges, &answer->best_cost, error);
    }
    else
        tell_nothing_found(space, error);
    if (found)
    {
        decide(answer, question->objective);
        certify(answer, search);
    }
    else
        ifm_plan_answer_clear(answer);
    search_clear(search);
    space_clear(space);
    return found;
}
