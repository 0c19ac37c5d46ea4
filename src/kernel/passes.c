#include <math.h>

#include "kernel-private.h"
#include <base/statistics.h>

/* How long passes take, and those that are the difference of two others. */

static const IfmTiming unknown = { NAN, NAN, NAN, { NAN, NAN, NAN } };

void ifm_timing_of(const IfmMeasurement *measurement, IfmTiming *timing)
{
    *timing = unknown;
    if (measurement == NULL || measurement->outcome != IFM_OUTCOME_OK)
        return;
    const IfmSummary *summary = &measurement->summary;
    *timing = (IfmTiming){ summary->mean, summary->std, summary->median, summary->median_interval };
}

gboolean ifm_timing_is_below(const IfmTiming *whole, const IfmTiming *part)
{
    double min = isfinite(part->interval.lower) ? part->interval.lower : part->median_ns;
    double max = isfinite(whole->interval.upper) ? whole->interval.upper : whole->median_ns;
    return max < min;
}

void ifm_pass_difference(const IfmMeasurement *part, const IfmMeasurement *whole, IfmPassDifference *difference)
{
    IfmTiming of_part, of_whole, *timing = &difference->timing;
    ifm_timing_of(part, &of_part);
    ifm_timing_of(whole, &of_whole);
    *difference = (IfmPassDifference){ 0 };
    *timing = (IfmTiming){
        of_whole.mean_ns - of_part.mean_ns, hypot(of_whole.std_ns, of_part.std_ns), of_whole.median_ns - of_part.median_ns,
        ifm_difference_interval(of_whole.median_ns, &of_whole.interval, of_part.median_ns, &of_part.interval)
    };
    difference->holds_zero = timing->interval.lower <= 0 && timing->interval.upper >= 0;
}
