#pragma once
#include <glib.h>

G_BEGIN_DECLS

/* IfmMemorySpan: so many bytes from one step to another, both included. */
typedef struct
{
    gint64 bytes;
    gsize first, last;
} IfmMemorySpan;

/* Sizes come from a file: what does not fit stays at G_MAXINT64. */
static inline gint64 ifm_sum_up_to_most(gint64 a, gint64 b)
{
    return a > G_MAXINT64 - b ? G_MAXINT64 : a + b;
}

/* ifm_memory_peak: Equals: max over steps of the sum of bytes of the spans alive there; *step is the first that has it.
 * @spans: of IfmMemorySpan, bytes >= 0, within 0 to @n_steps - 1 */
gint64 ifm_memory_peak(const GArray *spans, gsize n_steps, gsize *step);

/*
 * ifm_memory_place: Gives every span addresses that no other has at the same time, largest first (of equals the one that
 * begins first, then the one named first), each as low as it fits between those that were placed before.
 * Returns: the end of the highest. It is the peak or more.
 */
gint64 ifm_memory_place(const GArray *spans, gsize n_steps);

G_END_DECLS
