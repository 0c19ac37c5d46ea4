#pragma once
#include <glib.h>

G_BEGIN_DECLS

/** ifm_binomial_cdf: P(B <= k) for B binomial(n, p). */
double ifm_binomial_cdf(gint64 k, gint64 n, double p);

/**
 * ifm_quantile_min_n: The smallest number of independent samples whose maximum is an upper bound of the p-quantile with
 * confidence @level.
 * Equals: the smallest n with 1 - p^n >= level
 */
gsize ifm_quantile_min_n(double p, double level);

/** ifm_student_p: two-sided p of Student's t; @freedom need not be whole. */
double ifm_student_p(double t, double freedom);

/** ifm_series_centre: Takes the mean from each value. */
void ifm_series_centre(double *values, gsize n);

/**
 * ifm_autocorrelation_time: n / ifm_effective_sample_size() without its limits; may be below 1.
 * @centred: [n] the series without its mean. @lags: how many lags the estimate used.
 * Returns: 1 where n < 4 or nothing varies.
 */
double ifm_autocorrelation_time(const double *centred, gsize n, gsize *lags);

/**
 * ifm_persistence_bound: the lag-1 correlation of the ranks, as that of a Gaussian AR(1) process, plus one standard error.
 * @sorted: the same values, sorted. Returns: in [0, 0.99].
 */
double ifm_persistence_bound(const double *series, const double *sorted, gsize n);

/** ifm_robust_sigma: 1.4826 MAD, or where that is 0, 1.2533 mean absolute deviations. @scratch: room for n. */
double ifm_robust_sigma(const double *sorted, gsize n, double *scratch);

G_END_DECLS
