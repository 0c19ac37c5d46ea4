#pragma once
#include <inferometer/error.h>

G_BEGIN_DECLS

/** IfmInterval: a confidence interval; both ends NaN where it cannot be given. */
typedef struct
{
    double lower, upper, level;
} IfmInterval;

/**
 * IfmSummary: what n samples of one quantity say. Units are those of the samples (ns for latencies).
 * A quantile that too few samples can bound is refused: NaN, see ifm_quantile_least_n().
 */
typedef struct
{
    gsize n;
    double mean, std, min, max; /* std with n - 1 */
    double median, p90, p95, p99;
    IfmInterval median_interval; /* distribution-free, widened by autocorrelation */
    double n_effective;          /* for the median: ifm_median_effective_size() */
    double drift_ratio; /* change from first to last sample / median, ifm_drift_test(): -0.2 is "fell by a fifth" */
    double drift_p;     /* two-sided p of "no drift", corrected for autocorrelation; NaN below 8 samples */
    gboolean drifting;  /* flagged: drift_p < 0.001 and |drift_ratio| > 1 %, or < 0.01 and > 10 % */
    gsize n_outliers;   /* beyond median +- 5 robust sigmas (1.4826 MAD); never removed */
} IfmSummary;

/** ifm_summary_compute: @samples: [n] in the order taken; n may be 0 (all NaN). @level: of the interval, 0.95. */
void ifm_summary_compute(const gint64 *samples, gsize n, double level, IfmSummary *summary);

/** ifm_sort_doubles: ascending. @values: [n] without NaN; n may be 0. */
void ifm_sort_doubles(double *values, gsize n);

/** ifm_quantile: Hyndman-Fan type 7 of a sorted array. @sorted: [n], n >= 1. @p: in [0, 1]. */
double ifm_quantile(const double *sorted, gsize n, double p);

/**
 * ifm_quantile_least_n: Returns: the fewest independent samples whose largest bounds the p-quantile from above with
 * confidence @level.   Equals: smallest n with 1 - p^n >= level
 */
gsize ifm_quantile_least_n(double p, double level);

/**
 * ifm_quantile_interval: the interval between two order statistics that holds the p-quantile with at least @level.
 * The binomial ranks are taken for @n_effective samples and scaled to n, so correlated samples widen it.
 * Returns: FALSE where n_effective is too small (the interval is then NaN).
 * Source: David & Nagaraja, Order Statistics, 7.1
 */
gboolean ifm_quantile_interval(const double *sorted, gsize n, double n_effective, double p, double level,
                               IfmInterval *interval);

/** ifm_effective_sample_size: initial monotone sequence estimate (Geyer 1992). @series: [n] in order. At most n, at
 * least 1. */
double ifm_effective_sample_size(const double *series, gsize n);

/**
 * ifm_mean_interval: Student's interval of the mean, widened by autocorrelation.
 * Equals: mean +- t(n_effective - 1) std / sqrt(n_effective)
 * @series: [n] in order. @interval: NaN where fewer than two are independent. Returns: the mean; NaN for n = 0.
 */
double ifm_mean_interval(const double *series, gsize n, double level, IfmInterval *interval);

/**
 * ifm_median_effective_size: how many independent samples would tell the median as well: at most n, at least 1.
 * Equals: n / (1 + 2 sum of autocorrelations of sign(x - median)), on the safe side where n is small.
 * @series: [n] in order. @sorted: [n] the same, sorted.
 */
double ifm_median_effective_size(const double *series, const double *sorted, gsize n);

/**
 * ifm_drift_test: whether the level of a series changes: along a line, by a step, or as a transient that dies away.
 * Equals: the least p of least-squares fits of 9 shapes, each for n_effective(residuals) samples, and of a comparison of
 * the first tenth with the second half; times 10, since that many were tried.
 * @series: [n] in order. @ratio: (out) change from the first to the last sample in the best shape / median.
 * Returns: two-sided p of "no drift"; NaN, as @ratio, for n < 8.
 */
double ifm_drift_test(const double *series, gsize n, double *ratio);

/**
 * ifm_series_steady: whether a short series shows neither a trend nor a step between its halves. For the end of a
 * warm-up: it rather says FALSE; O(n^2).
 * Equals: Mann-Kendall p >= 0.2 and Mann-Whitney p of the halves >= 0.2, or their medians within @tolerance (a ratio).
 * @series: [n] in order, n >= 2.
 */
gboolean ifm_series_steady(const double *series, gsize n, double tolerance);

/**
 * ifm_difference_interval: Of a - b, from the intervals of both, which are of independent samples.
 * Equals: a - b - sqrt((a - lower_a)^2 + (upper_b - b)^2) to a - b + sqrt((upper_a - a)^2 + (b - lower_b)^2)
 * Returns: of @of_a's level; both ends NaN where anything it stands on is.
 * Source: Zou and Donner, Construction of confidence limits about effect measures, Statistics in Medicine 27 (2008)
 */
IfmInterval ifm_difference_interval(double a, const IfmInterval *of_a, double b, const IfmInterval *of_b);

/** ifm_binomial_interval: Clopper-Pearson interval of a proportion. @k successes of @n. */
IfmInterval ifm_binomial_interval(gsize k, gsize n, double level);

/**
 * ifm_student_quantile: the p-quantile of Student's t, to a relative 1e-9 for up to a million degrees of freedom.
 * @p: in (0, 1)    @freedom: above 0; need not be whole    Returns: NaN where either is outside.
 */
double ifm_student_quantile(double p, double freedom);

G_END_DECLS
