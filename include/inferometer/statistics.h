/* room: base */
#pragma once
#include <inferometer/error.h>

IFM_BEGIN_DECLS

/** IfmInterval: a confidence interval. Both ends are NaN where the data do not allow one. */
typedef struct
{
    double lower, upper, level;
} IfmInterval;

/**
 * IfmSummary: statistics of n samples of one quantity, in the unit of the samples (ns for latencies).
 * A quantile p is NaN with fewer samples than the smallest n with 1 - p^n >= level: no sample is then an upper bound of it.
 */
typedef struct
{
    gsize n;
    double mean, std, min, max; /* std with n - 1 */
    double median, p90, p95, p99;
    IfmInterval median_interval; /* distribution-free, widened by autocorrelation */
    double n_effective;          /* for the median: ifm_median_effective_size() */
    double drift_ratio; /* change from first to last sample / median, of a fall / the level that it fell from, if that is
                         * more; see ifm_drift_test(): -0.2 is a fall by a fifth, and -1 the least */
    double drift_p;     /* two-sided p of "no drift", corrected for autocorrelation; NaN below 8 samples */
    gboolean drifting;  /* flagged: drift_p < 0.001 and |drift_ratio| > 1 %, or < 0.01 and > 10 % */
    gsize n_outliers;   /* beyond median +- 5 robust sigmas (1.4826 MAD); never removed */
} IfmSummary;

/** ifm_summary_compute: @samples: [n] in the order of measurement; n may be 0 (all NaN). @level: of the interval, 0.95. */
void ifm_summary_compute(const gint64 *samples, gsize n, double level, IfmSummary *summary);

/** ifm_quantile: The p-quantile of a sorted array, Hyndman-Fan type 7. @sorted: [n], n >= 1. @p: in [0, 1]. */
double ifm_quantile(const double *sorted, gsize n, double p);

/**
 * ifm_quantile_interval: The interval between two order statistics that holds the p-quantile with confidence @level or
 * more. The binomial ranks are those of @n_effective samples, scaled to n. So correlated samples widen the interval.
 * Returns: FALSE where n_effective is too small. The interval is then NaN.
 * Source: David & Nagaraja, Order Statistics, 7.1
 */
gboolean ifm_quantile_interval(const double *sorted, gsize n, double n_effective, double p, double level,
                               IfmInterval *interval);

/**
 * ifm_mean_interval: Student's interval of the mean, widened by autocorrelation.
 * Equals: mean +- t(n_effective - 1) std / sqrt(n_effective)
 * @series: [n] in order of measurement    @interval: (out) NaN where fewer than two samples are independent
 * Returns: the mean; NaN for n = 0.
 */
double ifm_mean_interval(const double *series, gsize n, double level, IfmInterval *interval);

/**
 * ifm_difference_interval: The interval of a - b from the intervals of a and b. Their samples are independent.
 * Equals: a - b - sqrt((a - lower_a)^2 + (upper_b - b)^2) to a - b + sqrt((upper_a - a)^2 + (b - lower_b)^2)
 * Returns: an interval of the level of @of_a; both ends NaN where any argument is.
 * Source: Zou and Donner, Construction of confidence limits about effect measures, Statistics in Medicine 27 (2008)
 */
IfmInterval ifm_difference_interval(double a, const IfmInterval *of_a, double b, const IfmInterval *of_b);

/** ifm_binomial_interval: The Clopper-Pearson interval of a proportion: @k successes of @n. */
IfmInterval ifm_binomial_interval(gsize k, gsize n, double level);

IFM_END_DECLS
