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
    double n_effective;          /* n / (1 + 2 sum of autocorrelations), at most n */
    double drift_ratio;          /* robust slope over the whole series / median: -0.2 is "fell by a fifth" */
    double drift_p;              /* two-sided p of "no trend", corrected for autocorrelation */
    gboolean drifting;           /* flagged: significant at 0.001 and |drift_ratio| above 1 % */
    gsize n_outliers;            /* beyond median +- 5 robust sigmas (1.4826 MAD); never removed */
} IfmSummary;

/** ifm_summary_compute: @samples: [n] in the order taken; n may be 0 (all NaN). @level: of the interval, 0.95. */
void ifm_summary_compute(const gint64 *samples, gsize n, double level, IfmSummary *summary);

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

/** ifm_binomial_interval: Clopper-Pearson interval of a proportion. @k successes of @n. */
IfmInterval ifm_binomial_interval(gsize k, gsize n, double level);

G_END_DECLS
