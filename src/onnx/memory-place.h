#pragma once
#include <glib.h>

G_BEGIN_DECLS

/* IfmMemorySpan: @bytes from step @first to step @last, both included. */
typedef struct
{
    gint64 bytes;
    gsize first, last;
} IfmMemorySpan;

/* Sizes come from a file: a sum that overflows becomes G_MAXINT64. */
static inline gint64 ifm_sum_up_to_max(gint64 a, gint64 b)
{
    return a > G_MAXINT64 - b ? G_MAXINT64 : a + b;
}

/* ifm_memory_peak: Equals: max over steps of the sum of bytes of the spans alive there
 * @spans: of IfmMemorySpan, bytes >= 0, within steps 0 to @n_steps - 1    @step: (out) the first step with the maximum */
gint64 ifm_memory_peak(const GArray *spans, gsize n_steps, gsize *step);

/*
 * ifm_memory_place: Places the spans so that no two overlap in time and address. It places the largest first (of equal ones
 * the one that begins first, then the first in @spans), each at the lowest free address. Returns: the highest end address,
 * which is at least the peak.
 */
gint64 ifm_memory_place(const GArray *spans, gsize n_steps);

G_END_DECLS
