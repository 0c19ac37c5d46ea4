#include <math.h>
#include <string.h>

#include "plan-private.h"

#define MAX_VISITED 50000000

/* The criteria of a plan; less is better. @energy_j: beyond idling until the plan is complete; 0 if the power of a
 * device is unknown. */
typedef struct
{
    double latency_ns, cycle_ns, energy_j;
} Worth;

typedef struct
{
    Worth worth;
    guint32 parent; /* labels count from 1 */
    guint32 used, set;
    int first, last, blocks;
    gboolean split, dead;
    double shares[IFM_PLAN_MAX_DEVICES];
} Label;

typedef struct
{
    Worth worth;
    int n_blocks;
    SpaceBlock blocks[IFM_PLAN_MAX_DEVICES];
} Found;

typedef struct
{
    PlanSpace *space;
    const IfmCosts *costs;
    guint32 within;
    gboolean energy;
    double idle_w;
    GArray *labels;                  /* Label */
    GArray *at[IFM_COST_MAX_STAGES]; /* guint32: labels of this round by their last stage */
    GArray *found;                   /* Found: plans that no other beats */
    gint64 n_visited, most_visited;
    gboolean cut_short;
    const Label *from; /* of the current block */
    guint32 from_index, set;
    int first, last;
} Front;

static gboolean no_worse(const Worth *a, const Worth *b)
{
    return a->latency_ns <= b->latency_ns && a->cycle_ns <= b->cycle_ns && a->energy_j <= b->energy_j;
}

/* --- adding a plan ---------------------------------------------------------------------------------------------------- */

static Worth whole_worth(const Front *front, const Worth *worth)
{
    Worth whole = *worth;
    if (front->energy)
        whole.energy_j += front->idle_w * whole.cycle_ns * 1e-9;
    return whole;
}

static gboolean beaten(const Front *front, const Worth *worth)
{
    for (guint i = 0; i < front->found->len; i++)
        if (no_worse(&g_array_index(front->found, Found, i).worth, worth))
            return TRUE;
    return FALSE;
}

static void keep_found(Front *front, const Label *label)
{
    Found found = { .worth = whole_worth(front, &label->worth), .n_blocks = label->blocks };
    if (label->used != front->within || beaten(front, &found.worth))
        return;
    for (guint i = front->found->len; i > 0; i--)
        if (no_worse(&found.worth, &g_array_index(front->found, Found, i - 1).worth))
            g_array_remove_index_fast(front->found, i - 1);
    for (int b = label->blocks - 1; b >= 0; b--)
    {
        found.blocks[b] = (SpaceBlock){ .first = label->first, .last = label->last, .set = label->set };
        memcpy(found.blocks[b].shares, label->shares, sizeof label->shares);
        label = b > 0 ? &g_array_index(front->labels, Label, label->parent - 1) : NULL;
    }
    g_array_append_val(front->found, found);
}

static void keep_label(Front *front, const Label *label)
{
    GArray *bucket = front->at[label->last];
    for (guint i = bucket->len; i > 0; i--)
    {
        Label *other = &g_array_index(front->labels, Label, g_array_index(bucket, guint32, i - 1) - 1);
        if (label->used != other->used || label->split != other->split || label->blocks != other->blocks)
            continue;
        if (no_worse(&other->worth, &label->worth))
            return;
        if (no_worse(&label->worth, &other->worth))
            g_array_remove_index_fast(bucket, i - 1);
    }
    g_array_append_val(front->labels, *label);
    guint32 index = front->labels->len;
    g_array_append_val(bucket, index);
}

/* --- adding a block --------------------------------------------------------------------------------------------------- */

typedef const PlanCurve *(*CurveOf)(CurveTable *table, int device, int first, int last, guint32 busy);

/* @parts: (out) [of the block's devices] */
static double longest_of(const Front *front, const double *shares, CurveOf curve_of, guint32 busy, CostPart *parts,
                         double *energy_j)
{
    int devices[IFM_PLAN_MAX_DEVICES], n = space_members(front->set, devices);
    const IfmPlanQuestion *question = front->space->question;
    double longest = 0;
    for (int i = 0; i < n; i++)
    {
        const IfmCostDevice *is = &front->costs->devices[devices[i]]->is;
        const PlanCurve *curve =
            curve_of(front->space->curves, devices[i], front->first, front->last, busy & ~(1u << devices[i]));
        double ns = n == 1 ? curve->whole_ns : curve_at(curve, shares[i]);
        longest = fmax(longest, ns);
        costs_copies(front->costs, devices[i], front->first, front->last, n, n == 1 ? 1 : shares[i],
                     cost_held_nodes(front->costs, devices[i], (gsize)n, question->nodes, question->sources),
                     question->edges, &parts[i]);
        parts[i].ns = ns;
        *energy_j += (is->active_w - is->idle_w) * ns * 1e-9;
    }
    return longest;
}

static void add_block(const double *shares, gpointer user)
{
    Front *front = user;
    const IfmPlanQuestion *question = front->space->question;
    int n_devices = __builtin_popcount(front->set), n = front->costs->n_stages;
    double unused = 0, energy_j = 0;
    Label label = *front->from;
    if (++front->n_visited > front->most_visited)
    {
        front->cut_short = TRUE;
        return;
    }
    CostPart parts[IFM_PLAN_MAX_DEVICES];
    double steady = longest_of(front, shares, curve_table_pace, front->within, parts, &energy_j);
    double alone = longest_of(front, shares, curve_table_alone, front->set, parts, &unused);
    double host =
        cost_partition_ns(front->costs, n_devices, !label.split, question->edges) + cost_merge_ns(front->costs, n_devices);
    if (!isfinite(alone) || !isfinite(steady))
        return;
    label.worth.latency_ns += host + costs_span_ns(parts, n_devices);
    label.worth.cycle_ns = fmax(label.worth.cycle_ns, fmax(host + costs_copied_ns(parts, n_devices), steady));
    label.worth.energy_j += front->energy ? energy_j : 0;
    label.parent = front->from_index;
    label.used |= front->set;
    label.set = front->set;
    label.first = front->first;
    label.last = front->last;
    label.blocks++;
    label.split = label.split || n_devices > 1;
    memset(label.shares, 0, sizeof label.shares);
    memcpy(label.shares, shares, (gsize)n_devices * sizeof *shares);
    if (label.last == n)
        keep_found(front, &label);
    else
        keep_label(front, &label);
}

static void try_copying(Front *front, const int *devices, int n, const PlanCurve *const *alone,
                        const PlanCurve *const *paces)
{
    const IfmPlanQuestion *question = front->space->question;
    const double merge_ns = cost_merge_ns(front->costs, n),
                 host_ns[] = { cost_partition_ns(front->costs, n, FALSE, question->edges) + merge_ns,
                               cost_partition_ns(front->costs, n, TRUE, question->edges) + merge_ns };
    costs_each_copying_split(front->costs, devices, n, front->first, front->last, question->nodes, question->edges, alone,
                             paces, host_ns, G_N_ELEMENTS(host_ns), add_block, front);
}

/* Tries the shares that make the devices finish together while the block alone works, and while all of the plan
 * does. */
static void try_shares(Front *front)
{
    const IfmPlanQuestion *question = front->space->question;
    const PlanCurve *curves[2][IFM_PLAN_MAX_DEVICES];
    int devices[IFM_PLAN_MAX_DEVICES], n = space_members(front->set, devices);
    const guint32 busy[] = { front->set, front->within };
    double shares[IFM_PLAN_MAX_DEVICES] = { 1 };
    if (n == 1 || (question->grid != NULL && question->n_grid > 0))
    {
        space_each_share(question->grid, question->n_grid, n, add_block, front);
        return;
    }
    gboolean two = (front->costs->has_busy && front->set != front->within) || front->costs->statistic != IFM_COST_MEAN,
             copies = FALSE;
    for (int i = 0; i < n; i++)
    {
        const CostDevice *device = front->costs->devices[devices[i]];
        two = two || device->n_streams > 1;
        copies = copies || device->copies;
    }
    for (gsize k = 0; k < (two || copies ? 2 : 1); k++)
    {
        for (int i = 0; i < n; i++)
            curves[k][i] = (k == 0 ? curve_table_alone : curve_table_pace)(front->space->curves, devices[i], front->first,
                                                                           front->last, busy[k] & ~(1u << devices[i]));
        if (isfinite(curve_split(curves[k], n, shares)))
            add_block(shares, front);
    }
    if (copies)
        try_copying(front, devices, n, curves[0], curves[1]);
}

static void expand(Front *front, guint32 index)
{
    const Label from = index != 0 ? g_array_index(front->labels, Label, index - 1) : (Label){ 0 };
    guint32 open = front->within & ~from.used;
    gboolean final = from.blocks + 1 == front->space->max_blocks;
    front->from = &from;
    front->from_index = index;
    front->first = from.last + 1;
    for (front->set = open; front->set != 0; front->set = (front->set - 1) & open)
        for (guint64 runs = front->space->runs[front->set][from.last]; runs != 0; runs &= runs - 1)
        {
            gboolean whole = open == front->set;
            front->last = __builtin_ctzll(runs) + 1;
            if (front->last == front->costs->n_stages ? whole : !whole && !final)
                try_shares(front);
        }
    front->from = NULL; /* it points to a local variable */
}

static void round_within(Front *front, guint32 within)
{
    int devices[IFM_PLAN_MAX_DEVICES], n = space_members(within, devices);
    front->within = within;
    front->idle_w = 0;
    for (int i = 0; i < n; i++)
        front->idle_w += front->costs->devices[devices[i]]->is.idle_w;
    g_array_set_size(front->labels, 0);
    expand(front, 0);
    for (int stage = 1; stage < front->costs->n_stages; stage++)
    {
        for (guint i = 0; i < front->at[stage]->len && !front->cut_short; i++)
            expand(front, g_array_index(front->at[stage], guint32, i));
        g_array_set_size(front->at[stage], 0);
    }
}

/* --- the set ---------------------------------------------------------------------------------------------------------- */

static void answer_free(gpointer data)
{
    ifm_plan_answer_clear(data);
    g_free(data);
}

static gint compare_found(gconstpointer a, gconstpointer b)
{
    const Found *x = a, *y = b;
    return (x->worth.latency_ns > y->worth.latency_ns) - (x->worth.latency_ns < y->worth.latency_ns);
}

static gboolean add_answer(const Front *front, GPtrArray *answers, const Found *found, GError **error)
{
    const IfmPlanQuestion *question = front->space->question;
    IfmPlanAnswer *answer = g_new0(IfmPlanAnswer, 1);
    g_ptr_array_add(answers, answer);
    answer->plan = space_plan(front->space, found->blocks, found->n_blocks);
    answer->best = ifm_plan_copy(answer->plan);
    answer->optimal = !front->cut_short;
    answer->n_visited = front->n_visited;
    answer->n_ranges = (gint64)front->costs->n_stages * (front->costs->n_stages + 1) / 2;
    answer->n_subsets = ((gint64)1 << __builtin_popcount(front->space->devices)) - 1;
    answer->n_structures = space_n_structures(front->space);
    const CostBatch batch = { question->nodes, question->edges, question->sources };
    return plan_cost_on(front->costs, front->space->curves, answer->plan, &batch, &answer->cost, error) &&
           plan_cost_on(front->costs, front->space->curves, answer->best, &batch, &answer->best_cost, error);
}

static GPtrArray *answers_of(Front *front, GError **error)
{
    g_autoptr(GPtrArray) answers = g_ptr_array_new_with_free_func(answer_free);
    g_array_sort(front->found, compare_found);
    if (front->found->len == 0)
    {
        ifm_error_set(
            error, IFM_ERROR_UNSUPPORTED, "plan: no plan of at most %d blocks, each device in one, covers stages 1 to %d%s",
            front->space->max_blocks, front->costs->n_stages, front->cut_short ? ", of those that were looked at" : "");
        return NULL;
    }
    for (guint i = 0; i < front->found->len; i++)
        if (!add_answer(front, answers, &g_array_index(front->found, Found, i), error))
            return NULL;
    return g_steal_pointer(&answers);
}

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

GPtrArray *ifm_plan_pareto(const IfmCosts *costs, const IfmPlanQuestion *question, GError **error)
{
    g_autofree PlanSpace *space = g_new(PlanSpace, 1);
    if (!space_init(space, costs, question, error))
        return NULL;
    Front front = { .space = space, .costs = costs, .energy = powers_known(space) };
    front.most_visited = question->most_visited > 0 ? question->most_visited : MAX_VISITED;
    front.labels = g_array_new(FALSE, FALSE, sizeof(Label));
    front.found = g_array_new(FALSE, FALSE, sizeof(Found));
    for (int stage = 0; stage < costs->n_stages; stage++)
        front.at[stage] = g_array_new(FALSE, FALSE, sizeof(guint32));
    for (int size = 1; size <= __builtin_popcount(space->devices); size++)
        for (guint32 within = space->devices; within != 0; within = (within - 1) & space->devices)
            if (__builtin_popcount(within) == size)
                round_within(&front, within);
    GPtrArray *answers = answers_of(&front, error);
    for (int stage = 0; stage < costs->n_stages; stage++)
        g_array_unref(front.at[stage]);
    g_array_unref(front.labels);
    g_array_unref(front.found);
    space_clear(space);
    return answers;
}
