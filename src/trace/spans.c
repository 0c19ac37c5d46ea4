#include "analyse-private.h"

#include <string.h>

/* --- sorting ---------------------------------------------------------------------------------------------------------- */

static void merge(const IfmKeyed *a, const IfmKeyed *a_end, const IfmKeyed *b, const IfmKeyed *b_end, IfmKeyed *out)
{
    while (a < a_end && b < b_end)
        *out++ = b->key < a->key ? *b++ : *a++;
    memcpy(out, a, (gsize)(a_end - a) * sizeof *a);
    memcpy(out + (a_end - a), b, (gsize)(b_end - b) * sizeof *b);
}

/* Where the ascending runs begin, and @n behind the last. */
static GArray *find_runs(const IfmKeyed *items, gsize n)
{
    GArray *runs = g_array_new(FALSE, FALSE, sizeof(gsize));
    for (gsize i = 0; i < n; i++)
        if (i == 0 || items[i].key < items[i - 1].key)
            g_array_append_val(runs, i);
    g_array_append_val(runs, n);
    return runs;
}

/* Natural merge sort: recorded tracks are a few long runs, for which nothing is faster. */
void ifm_keyed_sort(void *base, gsize n)
{
    IfmKeyed *items = base;
    g_autoptr(GArray) runs = find_runs(items, n);
    if (runs->len <= 2)
        return;
    IfmKeyed *scratch = g_new(IfmKeyed, n), *from = items, *to = scratch;
    while (runs->len > 2)
    {
        const gsize *at = (const gsize *)(void *)runs->data;
        guint n_runs = runs->len - 1, kept = 0;
        for (guint i = 0; i < n_runs; i += 2)
        {
            gsize begin = at[i], middle = at[i + 1], end = i + 2 <= n_runs ? at[i + 2] : middle;
            merge(from + begin, from + middle, from + middle, from + end, to + begin);
            ((gsize *)(void *)runs->data)[kept++] = begin;
        }
        ((gsize *)(void *)runs->data)[kept++] = n;
        g_array_set_size(runs, kept);
        IfmKeyed *swap = from;
        from = to;
        to = swap;
    }
    if (from != items)
        memcpy(items, from, n * sizeof *items);
    g_free(scratch);
}

#define DIGIT_BITS 11
#define N_DIGITS (1 << DIGIT_BITS)

void ifm_times_sort(gint64 *times, gsize n)
{
    gint64 most = 0;
    for (gsize i = 0; i < n; i++)
        most |= times[i];
    gint64 *scratch = g_new(gint64, n), *from = times, *to = scratch;
    for (int shift = 0; shift < 63 && most >> shift != 0; shift += DIGIT_BITS)
    {
        gsize places[N_DIGITS] = { 0 }, sum = 0;
        for (gsize i = 0; i < n; i++)
            places[from[i] >> shift & (N_DIGITS - 1)]++;
        for (int digit = 0; digit < N_DIGITS; digit++)
        {
            gsize count = places[digit];
            places[digit] = sum;
            sum += count;
        }
        for (gsize i = 0; i < n; i++)
            to[places[from[i] >> shift & (N_DIGITS - 1)]++] = from[i];
        gint64 *swap = from;
        from = to;
        to = swap;
    }
    if (from != times)
        memcpy(times, from, n * sizeof *times);
    g_free(scratch);
}

/* --- spans ------------------------------------------------------------------------------------------------------------ */

GArray *ifm_spans_new(void)
{
    G_STATIC_ASSERT(sizeof(IfmSpan) == sizeof(IfmKeyed));
    return g_array_new(FALSE, FALSE, sizeof(IfmSpan));
}

void ifm_spans_add(GArray *spans, gint64 start, gint64 end, const IfmSpan *window)
{
    IfmSpan span = { MAX(start, window->start), MIN(end, window->end) };
    if (span.start >= span.end)
        return;
    IfmSpan *last = spans->len > 0 ? &g_array_index(spans, IfmSpan, spans->len - 1) : NULL;
    if (last != NULL && span.start >= last->start && span.start <= last->end)
        last->end = MAX(last->end, span.end);
    else
        g_array_append_val(spans, span);
}

void ifm_spans_unite(GArray *spans)
{
    IfmSpan *all = (IfmSpan *)(void *)spans->data;
    guint kept = 0;
    ifm_keyed_sort(all, spans->len);
    for (guint i = 0; i < spans->len; i++)
        if (kept > 0 && all[i].start <= all[kept - 1].end)
            all[kept - 1].end = MAX(all[kept - 1].end, all[i].end);
        else
            all[kept++] = all[i];
    g_array_set_size(spans, kept);
}

gint64 ifm_spans_total(const GArray *spans)
{
    gint64 total = 0;
    for (guint i = 0; i < spans->len; i++)
        total += g_array_index(spans, IfmSpan, i).end - g_array_index(spans, IfmSpan, i).start;
    return total;
}

/* The first span from @from on that ends after @at: doubling steps, as most searches end where the last one did. */
static guint find_after(const IfmSpan *spans, guint n, guint from, gint64 at)
{
    guint step = 1, low = from;
    while (low + step < n && spans[low + step].end <= at)
    {
        low += step;
        step *= 2;
    }
    guint high = MIN(low + step, n);
    while (low < high)
    {
        guint middle = low + (high - low) / 2;
        if (spans[middle].end <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Sums of the lengths before each span. */
static gint64 *sum_before(const IfmSpan *spans, guint n)
{
    gint64 *sums = g_new(gint64, (gsize)n + 1);
    sums[0] = 0;
    for (guint i = 0; i < n; i++)
        sums[i + 1] = sums[i] + spans[i].end - spans[i].start;
    return sums;
}

void ifm_lengths_init(IfmLengths *lengths, const GArray *spans)
{
    lengths->spans = (const IfmSpan *)(const void *)spans->data;
    lengths->n = spans->len;
    lengths->before = sum_before(lengths->spans, spans->len);
}

void ifm_lengths_clear(IfmLengths *lengths)
{
    g_clear_pointer(&lengths->before, g_free);
}

static gint64 length_until(const IfmLengths *lengths, guint *from, gint64 at)
{
    *from = find_after(lengths->spans, lengths->n, *from, at);
    gint64 part = *from < lengths->n ? MAX(at - lengths->spans[*from].start, 0) : 0;
    return lengths->before[*from] + part;
}

gint64 ifm_lengths_common(const IfmLengths *lengths, const GArray *spans)
{
    gint64 common = 0;
    guint from = 0;
    for (guint i = 0; i < spans->len; i++)
    {
        const IfmSpan *span = &g_array_index(spans, IfmSpan, i);
        common -= length_until(lengths, &from, span->start);
        common += length_until(lengths, &from, span->end);
    }
    return common;
}
