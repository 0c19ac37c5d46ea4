#include "analyse-private.h"

#include <string.h>

/* Times, and items with a key, are sorted; spans of time are collected, united and added up. */

/* --- sorting ---------------------------------------------------------------------------------------------------------- */

static void merge(const IfmKeyed *a, const IfmKeyed *a_end, const IfmKeyed *b, const IfmKeyed *b_end, IfmKeyed *out)
{
    while (a < a_end && b < b_end)
        *out++ = b->key < a->key ? *b++ : *a++;
    memcpy(out, a, (gsize)(a_end - a) * sizeof *a);
    memcpy(out + (a_end - a), b, (gsize)(b_end - b) * sizeof *b);
}

/* The starts of the ascending runs, and @n after the last. */
static GArray *find_runs(const IfmKeyed *items, gsize n)
{
    GArray *runs = g_array_new(FALSE, FALSE, sizeof(gsize));
    for (gsize i = 0; i < n; i++)
        if (i == 0 || items[i].key < items[i - 1].key)
            g_array_append_val(runs, i);
    g_array_append_val(runs, n);
    return runs;
}

/* Natural merge sort: recorded tracks are a few long runs, for which it is the fastest. */
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
    gint64 max = 0;
    for (gsize i = 0; i < n; i++)
        max |= times[i];
    gint64 *scratch = g_new(gint64, n), *from = times, *to = scratch;
    for (int shift = 0; shift < 63 && max >> shift != 0; shift += DIGIT_BITS)
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

IfmTimeRange *ifm_spans_grow(IfmSpans *spans, gsize expected)
{
    spans->room = spans->room > 0 ? 2 * spans->room : CLAMP(expected, 16, 1 << 18);
    return spans->all = g_renew(IfmTimeRange, spans->all, spans->room);
}

void ifm_spans_clear(IfmSpans *spans)
{
    g_free(spans->all);
    *spans = (IfmSpans){ 0 };
}

void ifm_spans_unite(IfmSpans *spans)
{
    G_STATIC_ASSERT(sizeof(IfmTimeRange) == sizeof(IfmKeyed));
    IfmTimeRange *all = spans->all;
    gsize kept = 1, apart = 1;
    while (apart < spans->n && all[apart].start > all[apart - 1].end)
        apart++;
    if (apart >= spans->n)
        return;
    ifm_keyed_sort(all, spans->n);
    for (gsize i = 1; i < spans->n; i++)
        if (all[i].start <= all[kept - 1].end)
            all[kept - 1].end = MAX(all[kept - 1].end, all[i].end);
        else
            all[kept++] = all[i];
    spans->n = kept;
}

gint64 ifm_spans_total(const IfmSpans *spans)
{
    gint64 total = 0;
    for (gsize i = 0; i < spans->n; i++)
        total += spans->all[i].end - spans->all[i].start;
    return total;
}
