#include "statistics-private.h"

#include <base/statistics.h>
#include <math.h>
#include <string.h>

/* These functions give the mean, quantiles and robust spread of samples, and draw normal deviates. */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double ifm_mean(const double *values, gsize n)
{
    double mean = 0;
    for (gsize i = 0; i < n; i++)
        mean += (values[i] - mean) / (double)(i + 1);
    return mean;
}

void ifm_sort_doubles(double *values, gsize n)
{
    if (n > 1)
        qsort(values, n, sizeof *values, compare_doubles);
}

double ifm_quantile(const double *sorted, gsize n, double p)
{
    g_return_val_if_fail(n > 0, NAN);
    double place = p * (n - 1);
    gsize below = MIN((gsize)place, n - 1), above = MIN(below + 1, n - 1);
    return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}

double ifm_quantile_of(const double *values, gsize n, double p)
{
    g_autofree double *sorted = g_memdup2(values, n * sizeof *values);
    ifm_sort_doubles(sorted, n);
    return n > 0 ? ifm_quantile(sorted, n, p) : (double)NAN;
}

double ifm_quantile_of_array(const GArray *values, double p)
{
    return ifm_quantile_of((const double *)(const void *)values->data, values->len, p);
}

gsize ifm_quantile_min_n(double p, double level)
{
    if (p <= 0)
        return 1;
    gsize n = MAX(1, (gsize)floor(log1p(-level) / log(p)));
    while (1 - pow(p, n) < level)
        n++;
    return n;
}

gboolean ifm_quantile_interval(const double *sorted, gsize n, double n_effective, double p, double level,
                               IfmInterval *interval)
{
    *interval = (IfmInterval){ NAN, NAN, level };
    gint64 trials = floor(MIN(n_effective, (double)n) + 1e-9);
    double tail = (1 - level) / 2;
    /* P(quantile < x(1)) = P(B = 0) and P(quantile > x(trials)) = P(B = trials) are the minimum that ranks can give. */
    if (trials < 1 || ifm_binomial_cdf(0, trials, p) > tail || 1 - ifm_binomial_cdf(trials - 1, trials, p) > tail)
        return FALSE;
    gint64 low = 1, high = trials; /* the largest rank r with P(B <= r - 1) <= tail */
    while (low < high)
    {
        gint64 middle = (low + high + 1) / 2;
        if (ifm_binomial_cdf(middle - 1, trials, p) <= tail)
            low = middle;
        else
            high = middle - 1;
    }
    gint64 lower = low;
    low = 1, high = trials; /* the smallest rank s with P(B >= s) <= tail */
    while (low < high)
    {
        gint64 middle = (low + high) / 2;
        if (1 - ifm_binomial_cdf(middle - 1, trials, p) <= tail)
            high = middle;
        else
            low = middle + 1;
    }
    gint64 upper = low;
    /* A count of `trials` becomes one of n by stretching it: rank r ends at count r - 1/2 (continuity), so does its image.
     */
    double stretch = (double)n / trials;
    interval->lower = sorted[MAX((gint64)floor((lower - 0.5) * stretch + 0.5 + 1e-9), 1) - 1];
    interval->upper = sorted[MIN((gint64)ceil((upper - 0.5) * stretch + 0.5 - 1e-9), (gint64)n) - 1];
    return TRUE;
}

/* --- summary ---------------------------------------------------------------------------------------------------------- */

/*
 * 1.4826 MAD. Where more than half of the samples are equal (a quantised clock) the MAD is 0 and would make an outlier of
 * all the rest: then the mean absolute deviation, 1.2533 of which is a Gaussian's sigma (Iglewicz & Hoaglin 1993).
 */
double ifm_robust_sigma(const double *sorted, gsize n, double *scratch)
{
    double median = ifm_quantile(sorted, n, 0.5), mean = 0;
    for (gsize i = 0; i < n; i++)
    {
        scratch[i] = fabs(sorted[i] - median);
        mean += scratch[i] / n;
    }
    ifm_sort_doubles(scratch, n);
    double mad = ifm_quantile(scratch, n, 0.5);
    return mad > 0 ? 1.4826 * mad : sqrt(M_PI / 2) * mean;
}

IfmInterval ifm_difference_interval(double a, const IfmInterval *of_a, double b, const IfmInterval *of_b)
{
    double below = hypot(a - of_a->lower, of_b->upper - b), above = hypot(of_a->upper - a, b - of_b->lower);
    if (!isfinite(below) || !isfinite(above))
        return (IfmInterval){ NAN, NAN, of_a->level };
    return (IfmInterval){ a - b - below, a - b + above, of_a->level };
}

/* 1 - u is in (0, 1], so the logarithm is finite. */
double ifm_normal_deviate(GRand *random)
{
    double u = g_rand_double(random), v = g_rand_double(random);
    return sqrt(-2 * log(1 - u)) * cos(2 * G_PI * v);
}
