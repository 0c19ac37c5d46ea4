/* The search for the best plan: branch and bound over beginnings of plans. */
#include <math.h>
#include <string.h>

#include "search-private.h"

#define MAX_VISITED 50000000

double search_objective_of(const IfmPlanCost *cost, IfmObjective objective)
{
    return objective == IFM_OBJECTIVE_LATENCY      ? cost->latency_ns
           : objective == IFM_OBJECTIVE_THROUGHPUT ? cost->cycle_ns
                                                   : cost->energy_j;
}

static Label *label_at(const Search *search, guint32 index)
{
    return &g_array_index(search->labels, Label, index - 1);
}

/* Lower bounds of what is still to come from each stage on: as if every device were free for every block. */
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
                const Choices *choices = search_choices(search, set, first, last);
                double after = search->ahead_ns[last + 1];
                if (choices->n == 0)
                    continue;
                double pace = fmax(choices->min_ns, host + choices->min_copied_ns);
                ns = fmin(ns, sums ? choices->min_ns + host + after : fmax(pace, after));
                j = fmin(j, choices->min_j + search->ahead_j[last + 1]);
            }
        }
        search->ahead_ns[first] = ns;
        search->ahead_j[first] = j;
    }
}

/* A lower bound of the objective for a beginning that continues from stage @next. */
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

/* --- a heap of labels, the least bound on top ------------------------------------------------------------------------- */

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
    for (guint at = 0, min = 0;; at = min)
    {
        for (guint child = 2 * at + 1; child <= 2 * at + 2 && child < n; child++)
            if (before(search, heap[child], heap[min]))
                min = child;
        if (min == at)
            return top;
        guint32 swap = heap[at];
        heap[at] = heap[min];
        heap[min] = swap;
    }
}

/* --- extending a beginning -------------------------------------------------------------------------------------------- */

/* All that the further cost of a plan depends on. */
static gsize state_of(const Search *search, const Label *label)
{
    gsize state = (gsize)label->last * 2 + (gsize)label->split;
    if (search->counts_blocks)
        state = state * (search->space->max_blocks + 1) + label->blocks;
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

/* Whether another beginning of the same state is no worse than this one. Removes beginnings that are no better than
 * this one. */
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
        search_shares(search, label, block->shares);
        label = b > 0 ? label_at(search, label->parent) : NULL;
    }
}

static void add_label(Search *search, const Label *label)
{
    search->n_visited++;
    if (!(label->bound < search->best - SEARCH_ROUNDING * fabs(search->best)) && isfinite(search->best))
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

/* Adds one more block to a beginning, or to nothing (@index 0). */
static void add_block(Search *search, guint32 index, guint32 set, int last)
{
    const Label from = index != 0 ? *label_at(search, index) : (Label){ 0 };
    const IfmPlanQuestion *question = search->space->question;
    int n_devices = __builtin_popcount(set), first = from.last + 1;
    const Choices *choices = search_choices(search, set, first, last);
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
    gboolean final = from.blocks + 1 == search->space->max_blocks;
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

/* One round: the devices of @within. If it is cut short, its bound goes into @open_bound. */
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
        search_forget_choices(search);
    search_make_room(search);
    look_ahead(search);
    double bound = value_of(search, &nothing, 1);
    gboolean hopeless = !(bound < search->best - SEARCH_ROUNDING * fabs(search->best)) && isfinite(search->best);
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
        if (!(label->bound < search->best - SEARCH_ROUNDING * fabs(search->best)) && isfinite(search->best))
            break;
        if (search->n_visited >= search->most_visited && isfinite(search->best))
        {
            search->open_bound = fmin(search->open_bound, label->bound);
            break;
        }
        expand(search, index);
    }
}

/* Throughput and energy depend on which devices work at all, since they slow each other: there is a round for each such
 * set. Smaller sets come first: of equally good plans the one with fewer devices is kept. */
void search_all(Search *search)
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

/* --- all of it -------------------------------------------------------------------------------------------------------- */

void search_init(Search *search, PlanSpace *space, const IfmPlanAnswer *answer)
{
    const IfmPlanQuestion *question = space->question;
    int n_devices = space->costs->n_devices;
    *search = (Search){ .space = space, .costs = space->costs, .objective = question->objective };
    search->n = space->costs->n_stages;
    search->counts_blocks = space->max_blocks < MIN(__builtin_popcount(space->devices), search->n);
    search->most_visited = question->most_visited > 0 ? question->most_visited : MAX_VISITED;
    search->best = search->open_bound = INFINITY;
    search->labels = g_array_new(FALSE, FALSE, sizeof(Label));
    search->heap = g_array_new(FALSE, FALSE, sizeof(guint32));
    search->n_states = (gsize)(search->n + 1) * 2 * (search->counts_blocks ? space->max_blocks + 1 : 1) << n_devices;
    search->states = g_new0(guint32, search->n_states);
    if (answer->single != NULL)
    {
        search->best = search_objective_of(&answer->single_cost, question->objective);
        const IfmPlanBlock *block = &g_array_index(answer->single->blocks, IfmPlanBlock, 0);
        search->n_blocks = 1;
        search->blocks[0] = (SpaceBlock){ .first = 1, .last = search->n, .set = 1u << block->devices[0], .shares = { 1 } };
    }
}

void search_clear(Search *search)
{
    search_forget_choices(search);
    g_array_unref(search->labels);
    g_array_unref(search->heap);
    g_free(search->states);
}
