/* room: base */
#pragma once
#include <inferometer/statistics.h>

G_BEGIN_DECLS

/* What the stopping rule and the fits need. */

/**
 * ifm_drift_test: Tests whether the level of a series changes: along a line, by a step, or as a decaying transient.
 * Equals: 10 times the minimum p of 10 tests (Bonferroni). Nine are least-squares fits of shapes, each for
 * n_effective(residuals) samples. One compares the first tenth with the second half.
 * @series: [n] in order of measurement
 * @ratio: (out) change from the first to the last sample in the best shape / median, or, of a fall, / the level that it
 * fell from, where that is more
 * Returns: two-sided p of "no drift"; NaN, as @ratio, for n < 8.
 */
double ifm_drift_test(const double *series, gsize n, double *ratio);

/** ifm_effective_sample_size: The number of independent samples that determine the mean equally well: from 1 to n.
 * @series: [n] in order of measurement    Source: the initial monotone sequence estimate, Geyer 1992 */
double ifm_effective_sample_size(const double *series, gsize n);

/**
 * ifm_median_effective_size: The number of independent samples that determine the median equally well: from 1 to n.
 * Equals: n / (1 + 2 sum of autocorrelations of sign(x - median)); a conservative estimate where n is small
 * @series: [n] in order of measurement    @sorted: [n] the same values, sorted
 */
double ifm_median_effective_size(const double *series, const double *sorted, gsize n);

/**
 * ifm_series_steady: Whether a short series shows neither a trend nor a step between its halves. It decides when a warm-up
 * ends, and prefers FALSE in doubt. Takes O(n^2).
 * Equals: Mann-Kendall p >= 0.2 and Mann-Whitney p of the halves >= 0.2, or medians of the halves within @tolerance (a
 * ratio)
 * @series: [n] in order of measurement, n >= 2
 */
gboolean ifm_series_steady(const double *series, gsize n, double tolerance);

/**
 * ifm_student_quantile: The p-quantile of Student's t, with a relative error of at most 1e-9 up to a million degrees of
 * freedom.
 * @p: in (0, 1)    @freedom: above 0; need not be whole    Returns: NaN where either is out of range.
 */
double ifm_student_quantile(double p, double freedom);

/**
 * ifm_signed_rank_cut: How many of the sorted means of two each end of an interval leaves out.
 * Equals: the largest cut with 2 P(W <= cut) <= @error, W the sum of those ranks 1..n whose fair coin shows heads
 * @n: at most some 1000: takes O(n^3)    @cut: (out) -1 where n values cannot show it: 2^(1 - n) > @error
 * Returns: 2 P(W <= cut), what the cut costs of @error; 0 where it is -1.
 * Source: Wilcoxon's signed-rank distribution, exact; Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3.1
 */
double ifm_signed_rank_cut(gsize n, double error, gint64 *cut);

/**
 * IfmPairedEstimate: @centre: the median of all means of two values, each with itself, too (Hodges & Lehmann 1963).
 * @lower, @upper: its interval, never beyond @least and @greatest, the values' own range; NaN where there are too few.
 * @error: what the interval costs. @correlation: of neighbours, without its bias; NaN where all are equal.
 * @widening: what the interval is widened by about its centre, sqrt((1 + r) / (1 - r)), r the correlation in 0..0.8
 */
typedef struct
{
    double centre, lower, upper;
    double error, correlation, widening;
    double least, greatest;
} IfmPairedEstimate;

/** ifm_paired_estimate: The centre of values that are symmetric about it, and an interval with that error at most.
 * @values: [n] in order of measurement; n may be 0 (all NaN) */
void ifm_paired_estimate(const double *values, gsize n, double error, IfmPairedEstimate *estimate);

/** ifm_normal_deviate: One deviate of the standard normal distribution, of two uniform ones. Source: Box and Muller 1958 */
double ifm_normal_deviate(GRand *random);

/** ifm_mean: exact where all are equal. @values: [n]; of none it is 0. */
double ifm_mean(const double *values, gsize n);

/** ifm_sort_doubles: Sorts ascending. @values: [n] without NaN; n may be 0. */
void ifm_sort_doubles(double *values, gsize n);

G_END_DECLS
