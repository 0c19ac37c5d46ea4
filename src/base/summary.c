/* The summary of a series of samples, by the quantiles, the correlation and the drift of which it is made. */
#include <base/statistics.h>
#include <math.h>

#include "statistics-private.h"

static void summarise_moments(const double *series, gsize n, IfmSummary *summary)
{
    double mean = 0, squares = 0;
    for (gsize i = 0; i < n; i++) /* Welford: exact for equal samples, no overflow */
    {
        double off = series[i] - mean;
        mean += off / (i + 1);
        squares += off * (series[i] - mean);
    }
    summary->mean = mean;
    summary->std = n > 1 ? sqrt(squares / (n - 1)) : NAN;
}

/*
 * The floor of the quantiles counts samples, not effective ones: n_effective is about the middle of the distribution, and
 * what is in the tail (an interrupt, another process) is not correlated as the middle is. So the floor is needed, not
 * sufficient: independent samples would have to be as many.
 */
static double quantile_or_refusal(const double *sorted, gsize n, double p, double level)
{
    return n >= ifm_quantile_min_n(p, level) ? ifm_quantile(sorted, n, p) : NAN;
}

static gsize count_outliers(const double *sorted, gsize n, double median, double reach)
{
    gsize count = 0;
    for (gsize i = 0; i < n; i++)
        count += fabs(sorted[i] - median) > reach;
    return count;
}

void ifm_summary_compute(const gint64 *samples, gsize n, double level, IfmSummary *summary)
{
    *summary = (IfmSummary){
        .n = n,
        .mean = NAN,
        .std = NAN,
        .min = NAN,
        .max = NAN,
        .median = NAN,
        .p90 = NAN,
        .p95 = NAN,
        .p99 = NAN,
        .median_interval = { NAN, NAN, level },
        .n_effective = NAN,
        .drift_ratio = NAN,
        .drift_p = NAN,
    };
    if (n == 0)
        return;
    g_autofree double *room = g_new(double, 3 * n);
    double *series = room, *sorted = room + n, *scratch = room + 2 * n;
    for (gsize i = 0; i < n; i++)
        series[i] = sorted[i] = samples[i];
    ifm_sort_doubles(sorted, n);
    summarise_moments(series, n, summary);
    summary->min = sorted[0];
    summary->max = sorted[n - 1];
    summary->median = ifm_quantile(sorted, n, 0.5);
    summary->p90 = quantile_or_refusal(sorted, n, 0.90, level);
    summary->p95 = quantile_or_refusal(sorted, n, 0.95, level);
    summary->p99 = quantile_or_refusal(sorted, n, 0.99, level);
    summary->n_effective = ifm_median_effective_size(series, sorted, n);
    ifm_quantile_interval(sorted, n, summary->n_effective, 0.5, level, &summary->median_interval);
    summary->drift_p = ifm_drift_test(series, n, &summary->drift_ratio);
    double drift = fabs(summary->drift_ratio);
    summary->drifting = (summary->drift_p < 0.001 && drift > 0.01) || (summary->drift_p < 0.01 && drift > 0.1);
    summary->n_outliers = count_outliers(sorted, n, summary->median, 5 * ifm_robust_sigma(sorted, n, scratch));
}

double ifm_mean_interval(const double *series, gsize n, double level, IfmInterval *interval)
{
    double mean = 0, squares = 0;
    *interval = (IfmInterval){ NAN, NAN, level };
    for (gsize i = 0; i < n; i++)
        mean += series[i] / (double)n;
    for (gsize i = 0; i < n; i++)
        squares += (series[i] - mean) * (series[i] - mean);
    double n_effective = n > 1 ? ifm_effective_sample_size(series, n) : 1;
    if (n_effective < 2)
        return n > 0 ? mean : (double)NAN;
    double half = ifm_student_quantile(0.5 + level / 2, n_effective - 1) * sqrt(squares / (double)(n - 1) / n_effective);
    interval->lower = mean - half;
    interval->upper = mean + half;
    return mean;
}
