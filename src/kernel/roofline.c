#include <math.h>

#include "kernel-private.h"

/* A roofline, made of measured peaks, gives the least time that work takes and tells what bounds it. */

gboolean ifm_roofline_of(const IfmMeasurement *peak, IfmRoofline *roofline)
{
    IfmPeakResult result;
    ifm_peak_result(peak, &result);
    *roofline = (IfmRoofline){ .flop_per_s = result.flop_per_s, .bytes_per_s = result.bytes_per_s };
    roofline->n_caches = result.n_caches;
    for (gsize i = 0; i < result.n_caches; i++)
    {
        roofline->caches[i].bytes = result.caches[i].bytes;
        roofline->caches[i].bytes_per_s = result.caches[i].bytes_per_s;
    }
    return roofline->flop_per_s > 0 && roofline->bytes_per_s > 0;
}

static IfmRoofBound bound_of(double compute_ns, double memory_ns)
{
    if (compute_ns <= 0 && memory_ns <= 0)
        return IFM_BOUND_NEITHER;
    return compute_ns >= memory_ns ? IFM_BOUND_COMPUTE : IFM_BOUND_MEMORY;
}

/* No work takes no time, even under an unknown peak. Other work under an unknown peak takes an unknown time. */
static double time_of(double amount, double per_s)
{
    if (!(amount > 0))
        return 0;
    return per_s > 0 ? 1e9 * amount / per_s : (double)NAN;
}

/* Of the innermost that holds so much. */
static double bandwidth_for(const IfmRoofline *roofline, double bytes)
{
    for (gsize i = 0; i < roofline->n_caches; i++)
        if (bytes <= roofline->caches[i].bytes && roofline->caches[i].bytes_per_s > 0)
            return roofline->caches[i].bytes_per_s;
    return roofline->bytes_per_s;
}

void ifm_roofline_place(const IfmRoofline *roofline, double flop, double bytes, double measured_ns, IfmRoofPlace *place)
{
    double compute_ns = time_of(flop, roofline->flop_per_s), memory_ns = time_of(bytes, bandwidth_for(roofline, bytes));
    gboolean known = !isnan(compute_ns) && !isnan(memory_ns);
    *place = (IfmRoofPlace){ .bound = IFM_BOUND_NEITHER, .attained = NAN, .excess_ns = NAN };
    place->intensity = bytes > 0 ? MAX(flop, 0) / bytes : (double)NAN;
    place->min_ns = known ? MAX(compute_ns, memory_ns) : (double)NAN;
    if (known)
        place->bound = bound_of(compute_ns, memory_ns);
    if (!(measured_ns > 0) || !known)
        return;
    place->attained = place->min_ns / measured_ns;
    place->excess_ns = MAX(measured_ns - place->min_ns, 0);
}
