/*
 * To place a tensor, one needs the addresses that are taken at any step of its life. A search over all placed tensors is
 * quadratic. So a segment tree over the steps holds sets of addresses. Each stretch of steps has the set that is taken
 * throughout it and the set that is taken at some step of it. Adjacent ranges of a set are merged, so sets stay short.
 */
#include <string.h>

#include "memory-place.h"

/* This placement gives every tensor an address that is free throughout its life, and finds the peak of memory. */

/* --- sets of addresses -------------------------------------------------------------------------------------------- */

typedef struct
{
    gint64 begin, end;
} Range;

/* RangeSet: ascending ranges with gaps between them. */
typedef struct
{
    Range *ranges;
    guint n, room;
} RangeSet;

/* first_ending_after: The index of the first range that ends after @address. */
static guint first_ending_after(const RangeSet *set, gint64 address)
{
    guint low = 0, high = set->n;
    while (low < high)
    {
        guint middle = low + (high - low) / 2;
        if (set->ranges[middle].end > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void insert(RangeSet *set, gint64 begin, gint64 end)
{
    guint first = first_ending_after(set, begin - 1),
          past = first; /* a range that ends where this one begins is extended */
    for (; past < set->n && set->ranges[past].begin <= end; past++)
    {
        begin = MIN(begin, set->ranges[past].begin);
        end = MAX(end, set->ranges[past].end);
    }
    if (set->n == set->room)
    {
        set->room = MAX(2 * set->room, 2);
        set->ranges = g_renew(Range, set->ranges, set->room);
    }
    memmove(&set->ranges[first + 1], &set->ranges[past], (set->n - past) * sizeof(Range));
    set->ranges[first] = (Range){ begin, end };
    set->n = set->n - (past - first) + 1;
}

/* taken_until: Returns: the end of the first range that overlaps [begin, end); @begin where none does. */
static gint64 taken_until(const RangeSet *set, gint64 begin, gint64 end)
{
    guint first = first_ending_after(set, begin);
    return first < set->n && set->ranges[first].begin < end ? set->ranges[first].end : begin;
}

/* --- the tree ----------------------------------------------------------------------------------------------------- */

/* Tree: @throughout, @sometime: [2 n_leaves] the sets of each stretch. 1 is all steps; 2 i and 2 i + 1 are the halves of i.
 */
typedef struct
{
    RangeSet *throughout, *sometime;
    gsize n_leaves;
} Tree;

static void tree_init(Tree *tree, gsize n_steps)
{
    tree->n_leaves = 1;
    while (tree->n_leaves < n_steps)
        tree->n_leaves *= 2;
    tree->throughout = g_new0(RangeSet, 2 * tree->n_leaves);
    tree->sometime = g_new0(RangeSet, 2 * tree->n_leaves);
}

static void tree_clear(Tree *tree)
{
    for (gsize i = 0; i < 2 * tree->n_leaves; i++)
    {
        g_free(tree->throughout[i].ranges);
        g_free(tree->sometime[i].ranges);
    }
    g_free(tree->throughout);
    g_free(tree->sometime);
}

/* Stretch: node @number of the tree, steps @begin to @end - 1. */
typedef struct
{
    gsize number, begin, end;
} Stretch;

static Stretch half(Stretch whole, gboolean upper)
{
    gsize middle = whole.begin + (whole.end - whole.begin) / 2;
    return upper ? (Stretch){ 2 * whole.number + 1, middle, whole.end }
                 : (Stretch){ 2 * whole.number, whole.begin, middle };
}

static gboolean meets(Stretch stretch, const IfmMemorySpan *span)
{
    return stretch.begin <= span->last && span->first < stretch.end;
}

static gboolean within(Stretch stretch, const IfmMemorySpan *span)
{
    return span->first <= stretch.begin && stretch.end <= span->last + 1;
}

static void take(Tree *tree, Stretch stretch, const IfmMemorySpan *span, Range range)
{
    if (!meets(stretch, span))
        return;
    insert(&tree->sometime[stretch.number], range.begin, range.end);
    if (within(stretch, span))
    {
        insert(&tree->throughout[stretch.number], range.begin, range.end);
        return;
    }
    take(tree, half(stretch, FALSE), span, range);
    take(tree, half(stretch, TRUE), span, range);
}

/* look_at: Adds the sets whose union is taken at some step of the span. */
static void look_at(const Tree *tree, Stretch stretch, const IfmMemorySpan *span, GPtrArray *sets)
{
    if (!meets(stretch, span))
        return;
    gboolean whole = within(stretch, span);
    RangeSet *set = whole ? &tree->sometime[stretch.number] : &tree->throughout[stretch.number];
    if (set->n > 0)
        g_ptr_array_add(sets, set);
    if (whole)
        return;
    look_at(tree, half(stretch, FALSE), span, sets);
    look_at(tree, half(stretch, TRUE), span, sets);
}

/* lowest_free: The lowest address from which @bytes are free in all sets. */
static gint64 lowest_free(const GPtrArray *sets, gint64 bytes)
{
    gint64 address = 0, before;
    do
    {
        before = address;
        for (guint i = 0; i < sets->len; i++)
            address = taken_until(g_ptr_array_index(sets, i), address, ifm_sum_up_to_max(address, bytes));
    } while (address != before);
    return address;
}

/* --- placing ------------------------------------------------------------------------------------------------------ */

/* by_size: All spans are in one array, so their addresses give their order. */
static int by_size(const void *a, const void *b)
{
    const IfmMemorySpan *one = *(const IfmMemorySpan *const *)a, *other = *(const IfmMemorySpan *const *)b;
    if (one->bytes != other->bytes)
        return one->bytes > other->bytes ? -1 : 1;
    if (one->first != other->first)
        return one->first < other->first ? -1 : 1;
    return one < other ? -1 : one > other;
}

gint64 ifm_memory_place(const GArray *spans, gsize n_steps)
{
    g_autoptr(GPtrArray) order = g_ptr_array_sized_new(spans->len), sets = g_ptr_array_new();
    for (guint i = 0; i < spans->len; i++)
        g_ptr_array_add(order, &g_array_index(spans, IfmMemorySpan, i));
    g_ptr_array_sort(order, by_size);
    Tree tree;
    tree_init(&tree, n_steps);
    const Stretch all = { 1, 0, tree.n_leaves };
    gint64 top = 0;
    for (guint i = 0; i < order->len; i++)
    {
        const IfmMemorySpan *span = g_ptr_array_index(order, i);
        if (span->bytes == 0) /* none of the rest has any bytes */
            break;
        g_ptr_array_set_size(sets, 0);
        look_at(&tree, all, span, sets);
        gint64 begin = lowest_free(sets, span->bytes), end = ifm_sum_up_to_max(begin, span->bytes);
        take(&tree, all, span, (Range){ begin, end });
        top = MAX(top, end);
    }
    tree_clear(&tree);
    return top;
}

gint64 ifm_memory_peak(const GArray *spans, gsize n_steps, gsize *step)
{
    g_autofree __int128 *change = g_new0(__int128, n_steps + 1); /* a sum of 64-bit sizes may overflow */
    for (guint i = 0; i < spans->len; i++)
    {
        const IfmMemorySpan *span = &g_array_index(spans, IfmMemorySpan, i);
        change[span->first] += span->bytes;
        change[span->last + 1] -= span->bytes;
    }
    __int128 alive = 0, peak = 0;
    *step = 0;
    for (gsize i = 0; i < n_steps; i++)
    {
        alive += change[i];
        if (alive > peak)
        {
            peak = alive;
            *step = i;
        }
    }
    return peak > G_MAXINT64 ? G_MAXINT64 : (gint64)peak;
}
