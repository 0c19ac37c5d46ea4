/* room: base */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/** IFM_IMPLAUSIBLE: the code of a latency that others contradict: it is none. */
#define IFM_IMPLAUSIBLE "implausible"

/** IfmTimedWork: a latency and the work that took it. @work: [n_axes] amounts of work; @ns: NaN: none. @lower_ns,
 * @upper_ns: of its interval; @std_ns: of its runs; NaN: unknown */
typedef struct
{
    const double *work;
    double ns, lower_ns, upper_ns, std_ns;
} IfmTimedWork;

/** IfmPlausibility: whether others contradict a latency. */
typedef enum
{
    IFM_IS_PLAUSIBLE,
    IFM_IS_DOUBTFUL, /* it or the other one */
    IFM_IS_IMPLAUSIBLE,
} IfmPlausibility;

/** IfmContradiction: @against: the case that shows it, with the greatest ratio; -1: nothing does */
typedef struct
{
    IfmPlausibility kind;
    gssize against;
} IfmContradiction;

/**
 * ifm_find_implausible: Latencies of the same thing on the same device, with the same options, that more work contradicts.
 * A case with no less work on any axis, and more on one, that takes a quarter of the time or less contradicts the other,
 * where their intervals, and their means with two standard deviations of their runs, are apart. Noise hardly does that: of
 * 1,131 published latencies of a laptop with standard deviations up to their means the largest such ratio is 3.7, and all
 * of the 36 that a lost device answered are beyond 4. Who of the two it is the others say:
 * - two larger cases or more contradict one smaller case, and each of them no other: the smaller one, which something
 *   slowed down
 * - else a larger case that contradicts several, or one that others contradict, too: what did not run takes no time
 * - of two that contradict each other alone that one with which more of the others disagree by a half: smaller ones that
 *   took longer than the larger one, larger ones that took less than the smaller one; of as many none: both are doubtful
 * @found: (out) [n]
 */
void ifm_find_implausible(const IfmTimedWork *cases, gsize n, gsize n_axes, IfmContradiction *found);

G_END_DECLS
