#pragma once
#include <kernel/aligned.h>

#include "figures.h"

G_BEGIN_DECLS

/* What the figures of a profile show, as their titles say it: each function is one rule, with a sentence for each way that
 * it can fall. None has a comparative word without an interval that excludes the contrary; of gains and losses both sums
 * are given. All are (transfer full). @names: what devices are called */

/* ifm_rounds_rival: The side that is nearest to the leader, by its ratio; NULL: there is none. (transfer none) */
const json_t *ifm_rounds_rival(const json_t *rounds);

/* ifm_finding_times: @rounds: NULL: there were none    @half_width: of one device's median, a ratio; NaN: no interval */
char *ifm_finding_times(const char *const *names, gsize n, const json_t *rounds, double half_width);
/* ifm_finding_apart: of the medians of two devices. @scatter_ns: from the least to the greatest process of that which
 * scatters most; NaN: there is one process of each. Where @rounds name a fastest device it is that they show; or NULL */
char *ifm_finding_apart(double difference_ns, double scatter_ns, const json_t *rounds);
/* ifm_finding_drift: @drifts: [n] what the summary says; NaN: not known    @drifting: [n] */
char *ifm_finding_drift(const char *const *names, gsize n, const double *drifts, const gboolean *drifting);
/* ifm_finding_share: what takes most of the kernels' time. @parts: [n] its name on each device    @shares: [n] */
char *ifm_finding_share(const char *const *names, gsize n, const char *const *parts, const double *shares);
/* ifm_finding_layers, ifm_finding_gains: of IfmAlignedRow, of two devices. */
char *ifm_finding_layers(const char *const names[2], const GArray *rows);
char *ifm_finding_gains(const char *const names[2], const GArray *rows);
/* ifm_finding_bounds: shares of the kernels' time below the two roofs; what is left has no place below either. @n_above:
 * kernels above their roof */
char *ifm_finding_bounds(double arithmetic, double memory, gsize n_above);
/* ifm_finding_excess: @excess_ns: [n] of each kernel, the most first */
char *ifm_finding_excess(const double *excess_ns, gsize n);
/* ifm_finding_breakdown: @shares: [n] of the kernels in the wall time of a profiled run; NaN: not known */
char *ifm_finding_breakdown(const char *const *names, gsize n, const double *shares);
/* ifm_finding_passes: of one device. @update: NULL: there is no step */
char *ifm_finding_passes(const char *name, const IfmTiming *forward, const IfmPassDifference *backward,
                         const IfmPassDifference *update);
/* ifm_growth_is_known: whether the exponent's interval leaves out 0 and is narrow enough to tell linear growth from that of
 * a square. Without an interval it is what the fit says. */
gboolean ifm_growth_is_known(const IfmPowerFit *fit);
/* ifm_finding_growth: how the time grows with an axis, and where it departs from the FLOP. @departs_at: the value of the
 * first point that does, or NULL    @n_unknown: of points of which that is not known, of @n */
char *ifm_finding_growth(const char *axis, const IfmScaling *scaling, const char *departs_at, gsize n_unknown, gsize n);
/* ifm_finding_alive: @where: NULL: not known */
char *ifm_finding_alive(double peak_bytes, const char *where);

G_END_DECLS
