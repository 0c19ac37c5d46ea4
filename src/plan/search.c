/* The traversal of the space of plans: branch and bound over beginnings of plans for the best one; all that none dominates
 * for the front. */
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
                double pace = fmax(choices->min_pace_ns, host + choices->min_copied_ns);
                ns = fmin(ns, sums ? choices->min_alone_ns + host + after : fmax(pace, after));
                j = fmin(j, choices->min_j + search->ahead_j[last + 1]);
            }
        }
        search->ahead_ns[first] = ns;
        search->ahead_j[first] = j;
    }
}

/* A lower bound of the objective for a beginning that continues from stage @next. A front has no bound: its beginnings are
 * continued stage by stage, in the order in which they were found, so that all that end with a stage are known before. */
static double value_of(const Search *search, const Worth *worth, int next)
{
    if (search->front != NULL)
        return (double)next * G_MAXUINT32 + search->labels->len;
    double longest = fmax(worth->cycle_ns, search->ahead_ns[next]);
    if (search->objective == IFM_OBJECTIVE_LATENCY)
        return worth->latency_ns + search->ahead_ns[next];
    if (search->objective == IFM_OBJECTIVE_THROUGHPUT)
        return longest;
    return worth->energy_j + search->ahead_j[next] + search->idle_w * longest * 1e-9;
}

/* Whether plans with this bound are no better than the best so far. */
static gboolean hopeless(const Search *search, double bound)
{
    return !(bound < search->best - SEARCH_ROUNDING * fabs(search->best)) && isfinite(search->best);
}

/* Whether no more nodes may be visited; some plan is found first. */
static gboolean at_limit(const Search *search)
{
    return search->n_visited >= search->most_visited && (search->front != NULL || isfinite(search->best));
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

static gboolean no_worse(const Search *search, const Worth *a, const Worth *b)
{
    gboolean front = search->front != NULL;
    if (search->objective == IFM_OBJECTIVE_LATENCY && !front)
        return a->latency_ns <= b->latency_ns;
    return a->cycle_ns <= b->cycle_ns && (!front || a->latency_ns <= b->latency_ns) &&
           ((!front && search->objective == IFM_OBJECTIVE_THROUGHPUT) || a->energy_j <= b->energy_j);
}

/* Whether another beginning of the same state is no worse than this one. Removes beginnings that are no better than
 * this one. */
static gboolean dominated(Search *search, const Label *label, guint32 *first)
{
    for (guint32 index = *first, *link = first; index != 0; index = *link)
    {
        Label *other = label_at(search, index);
        if (no_worse(search, &other->worth, &label->worth))
            return TRUE;
        if (no_worse(search, &label->worth, &other->worth))
        {
            other->dead = TRUE;
            *link = other->next;
        }
        else
            link = &other->next;
    }
    return FALSE;
}

static Found found_of(const Search *search, const Label *label)
{
    Found found = { .worth = label->worth, .n_blocks = label->blocks };
    for (int b = label->blocks - 1; b >= 0; b--)
    {
        SpaceBlock *block = &found.blocks[b];
        *block = (SpaceBlock){ .first = label->first, .last = label->last, .set = label->set };
        memcpy(block->shares, label->option->shares, sizeof block->shares);
        label = b > 0 ? label_at(search, label->parent) : NULL;
    }
    return found;
}

static void add_to_front(Search *search, const Label *label)
{
    Found found = found_of(search, label);
    GArray *front = search->front;
    if (search->energy)
        found.worth.energy_j += search->idle_w * found.worth.cycle_ns * 1e-9;
    for (guint i = 0; i < front->len; i++)
        if (no_worse(search, &g_array_index(front, Found, i).worth, &found.worth))
            return;
    for (guint i = front->len; i > 0; i--)
        if (no_worse(search, &found.worth, &g_array_index(front, Found, i - 1).worth))
            g_array_remove_index_fast(front, i - 1);
    g_array_append_val(front, found);
}

static void add_whole(Search *search, const Label *label)
{
    if (search->exact && label->used != search->within)
        return;
    if (search->front != NULL)
    {
        add_to_front(search, label);
        return;
    }
    search->best = label->bound;
    search->found = found_of(search, label);
}

static void add_label(Search *search, const Label *label)
{
    search->n_visited++;
    if (hopeless(search, label->bound))
    {
        search->n_pruned++;
        return;
    }
    if (label->last == search->n)
    {
        add_whole(search, label);
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
        const Worth worth = { from.worth.latency_ns + host + option->alone_ns,
                              fmax(from.worth.cycle_ns, fmax(host + option->copied_ns, option->pace_ns)),
                              from.worth.energy_j + option->energy_j };
        const Label label = { .worth = worth,
                              .bound = value_of(search, &worth, last + 1),
                              .option = option,
                              .parent = index,
                              .used = from.used | set,
                              .set = set,
                              .first = first,
                              .last = last,
                              .blocks = from.blocks + 1,
                              .split = from.split || n_devices > 1 };
        add_label(search, &label);
    }
}

static void expand(Search *search, guint32 index)
{
    const Label from = index != 0 ? *label_at(search, index) : (Label){ 0 };
    SpaceStep step = { 0 };
    while (space_next(search->space, from.last, from.blocks, search->within & ~from.used, search->exact, &step))
        add_block(search, index, step.set, step.last);
}

/* One round: the devices of @within. If it is cut short, its bound goes into @open_bound. */
static void search_within(Search *search, guint32 within, gboolean exact)
{
    const Worth nothing = { 0 };
    int devices[IFM_PLAN_MAX_DEVICES], n = space_members(within, devices);
    search->within = within;
    search->exact = exact;
    search->idle_w = 0;
    for (int i = 0; i < n; i++)
        search->idle_w += search->costs->devices[devices[i]]->is.idle_w;
    if (search->costs->has_busy)
        search_forget_choices(search);
    if (search->front == NULL)
        look_ahead(search);
    double bound = value_of(search, &nothing, 1);
    if (hopeless(search, bound) || !isfinite(bound))
    {
        search->n_pruned++;
        return;
    }
    g_array_set_size(search->labels, 0);
    g_array_set_size(search->heap, 0);
    memset(search->states, 0, search->n_states * sizeof *search->states);
    for (guint32 index = 0; !at_limit(search);)
    {
        expand(search, index);
        do
        {
            if (search->heap->len == 0)
                return;
            index = heap_pop(search);
        } while (label_at(search, index)->dead);
        bound = label_at(search, index)->bound;
        if (hopeless(search, bound))
            return;
    }
    search->open_bound = fmin(search->open_bound, bound);
    search->cut_short = TRUE;
}

/* Throughput and energy depend on which devices work at all, since they slow each other: there is a round for each such
 * set. Smaller sets come first: of equally good plans the one with fewer devices is kept. */
void search_all(Search *search)
{
    guint32 all = search->space->devices;
    if (search->objective == IFM_OBJECTIVE_LATENCY && search->front == NULL)
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

static gboolean powers_known(const PlanSpace *space)
{
    for (int d = 0; d < space->costs->n_devices; d++)
    {
        const IfmCostDevice *is = &space->costs->devices[d]->is;
        if ((space->devices & 1u << d) != 0 && !(isfinite(is->active_w) && isfinite(is->idle_w)))
            return FALSE;
    }
    return TRUE;
}

void search_init(Search *search, PlanSpace *space, const IfmPlanAnswer *single)
{
    const IfmPlanQuestion *question = space->question;
    int n_devices = space->costs->n_devices;
    *search = (Search){ .space = space, .costs = space->costs, .objective = question->objective };
    search->front = single == NULL ? g_array_new(FALSE, FALSE, sizeof(Found)) : NULL;
    search->energy = single == NULL ? powers_known(space) : question->objective == IFM_OBJECTIVE_ENERGY;
    search->n = space->costs->n_stages;
    search->counts_blocks = space->max_blocks < MIN(__builtin_popcount(space->devices), search->n);
    search->most_visited = question->most_visited > 0 ? question->most_visited : MAX_VISITED;
    search->best = search->open_bound = INFINITY;
    search->labels = g_array_new(FALSE, FALSE, sizeof(Label));
    search->heap = g_array_new(FALSE, FALSE, sizeof(guint32));
    search->n_states = (gsize)(search->n + 1) * 2 * (search->counts_blocks ? space->max_blocks + 1 : 1) << n_devices;
    search->states = g_new0(guint32, search->n_states);
    if (single == NULL || single->single.plan == NULL)
        return;
    const IfmPlanBlock *block = ifm_plan_block(single->single.plan, 0);
    search->best = search_objective_of(&single->single.cost, question->objective);
    search->found = (Found){ .n_blocks = 1 };
    search->found.blocks[0] =
        (SpaceBlock){ .first = 1, .last = search->n, .set = 1u << block->devices[0], .shares = { 1 } };
}

void search_clear(Search *search)
{
    search_forget_choices(search);
    g_clear_pointer(&search->front, g_array_unref);
    g_array_unref(search->labels);
    g_array_unref(search->heap);
    g_free(search->states);
}
