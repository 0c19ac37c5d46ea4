#include <math.h>

#include <internal/json.h>

#include "kernel-private.h"

/* How long passes take, and backward, which is the difference of two of them. */

static const IfmTiming unknown = { NAN, NAN, NAN, { NAN, NAN, NAN } };

static IfmInterval interval_at(const json_t *json, const char *key)
{
    const json_t *interval = json_object_get(json, key);
    return (IfmInterval){ ifm_member_number(interval, "lower"), ifm_member_number(interval, "upper"),
                          ifm_member_number(interval, "level") };
}

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

/* @comparison: that of the two passes */
static void backward_of_rounds(const json_t *comparison, IfmBackward *backward)
{
    const json_t *rounds = json_object_get(comparison, "rounds"), *round;
    double mean = 0, squares = 0;
    gsize n = json_array_size(rounds), i;
    json_array_foreach(rounds, i, round)
    {
        double difference = ifm_member_number(round, "b_ns") - ifm_member_number(round, "a_ns"), off = difference - mean;
        mean += off / (double)(i + 1);
        squares += off * (difference - mean);
    }
    backward->timing =
        (IfmTiming){ mean, n > 1 ? sqrt(squares / (double)(n - 1)) : (double)NAN,
                     ifm_member_number(comparison, "difference_ns"), interval_at(comparison, "difference_interval") };
    backward->forward_ratio =
        ifm_member_number(comparison, "ratio") - 1; /* of the same rounds: what the machine did is in both */
    backward->paired = TRUE;
    backward->n_pairs = json_integer_value(json_object_get(comparison, "n_pairs"));
    backward->n_rounds = (gint64)n;
}

void ifm_backward_time(const IfmMeasurement *forward, const IfmMeasurement *training, const IfmMeasurement *interleaved,
                       IfmBackward *backward)
{
    const json_t *comparison = ifm_measurement_result(interleaved, "comparison");
    IfmTiming part, whole, *timing = &backward->timing;
    *backward = (IfmBackward){ 0 };
    if (isfinite(interval_at(comparison, "difference_interval").lower))
        backward_of_rounds(comparison, backward);
    else
    {
        ifm_timing_of(forward, &part);
        ifm_timing_of(training, &whole);
        *timing =
            (IfmTiming){ whole.mean_ns - part.mean_ns, hypot(whole.std_ns, part.std_ns), whole.median_ns - part.median_ns,
                         ifm_difference_interval(whole.median_ns, &whole.interval, part.median_ns, &part.interval) };
        backward->forward_ratio = timing->median_ns / part.median_ns;
    }
    backward->holds_zero = timing->interval.lower <= 0 && timing->interval.upper >= 0;
}
