/* room: base */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

/** IFM_IMPLAUSIBLE: the code of a latency that others contradict: it is none. */
#define IFM_IMPLAUSIBLE "implausible"

/** IfmTimedWork: a latency and the work that took it. @work: [n_axes] amounts of work; @ns: NaN: none. @lower_ns,
 * @upper_ns: of its interval; NaN: unknown */
typedef struct
{
    const double *work;
    double ns, lower_ns, upper_ns;
} IfmTimedWork;

/**
 * ifm_find_implausible: Latencies of the same thing on the same device, with the same options, that more work contradicts.
 * A case with no less work on any axis, and more on one, that takes a third of the time or less (a quarter, where one of
 * the two has no interval) contradicts the other; their intervals do not overlap. Noise does not do that: of 1,131
 * published latencies of a laptop with standard deviations up to their means the largest such ratio is 3.7, and all of the
 * 36 that a lost device answered are beyond 4. The larger case is implausible: what did not run takes no time. But where
 * three larger cases or more contradict one smaller case, and each of them no other, it is the smaller one, which something
 * slowed down.
 * @against: (out) [n] the case that shows it, with the greatest ratio; -1: nothing does
 */
void ifm_find_implausible(const IfmTimedWork *cases, gsize n, gsize n_axes, gssize *against);

G_END_DECLS
