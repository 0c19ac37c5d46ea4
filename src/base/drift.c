#include "statistics-private.h"

#include <base/statistics.h>
#include <math.h>
#include <string.h>

/* These tests tell whether a series of samples drifts and whether it is steady. */

/*
 * Drift has a shape: a line, a step (clock, governor), or the approach to a steady state from the first runs on. Each is
 * fitted by least squares to the samples, as robust sigmas from the median cut at +-10, so that outliers weigh little but
 * a transient of many sigmas still more than a rank could say. The t of the fit is taken for as many samples as its
 * residuals are worth by their lag-1 correlation: on the residuals, since the drift itself would look like correlation and
 * hide. The best counts, its p multiplied by the number of those tried. Against Mann-Kendall it sees a transient of 5 in
 * 500 samples; what it finds and how often it errs: bench/steadiness. Source: contrasts shaped like the transient, the
 * variance from the later half: Schruben, Singh & Tierney (1983), Optimal Tests for Initialization Bias in Simulation
 * Output.
 */

/* @place: in the series, from 0 to 1. @where: of the step, or the e-fold of the transient. Each rises. */
static double shape_line(double place, double where)
{
    return place;
}

static double shape_step(double place, double where)
{
    return place >= where;
}

static double shape_transient(double place, double where)
{
    return -exp(-place / where);
}

static const struct
{
    double (*shape)(double place, double where);
    double where;
} shapes[] = {
    { shape_line, 0 },         { shape_step, 0.2 },       { shape_step, 0.35 },
    { shape_step, 0.5 },       { shape_step, 0.65 },      { shape_step, 0.8 },
    { shape_transient, 0.05 }, { shape_transient, 0.12 }, { shape_transient, 0.3 },
};

enum
{
    MIN_SAMPLES = 8,
    START_SAMPLES = 30, /* fewer have no first tenth */
    START_TENTHS = 5,
    CUT_SIGMAS = 10,
};

static double median_of(double *values, gsize n)
{
    ifm_sort_doubles(values, n);
    return ifm_quantile(values, n, 0.5);
}

/* Fits centred @values with the centred @shape; scratch is two times n. Returns: the p of "no such drift", or anything from
 * @best on where it is no less: correlation only raises it, so that it need not be looked at. */
static double fit_p(const double *values, const double *shape, gsize n, double best, double *scratch)
{
    double shape_square = 0, product = 0, rest = 0;
    for (gsize i = 0; i < n; i++)
    {
        shape_square += shape[i] * shape[i];
        product += shape[i] * values[i];
    }
    double slope = product / shape_square, *residuals = scratch, *sorted = scratch + n;
    for (gsize i = 0; i < n; i++)
    {
        residuals[i] = values[i] - slope * shape[i];
        rest += residuals[i] * residuals[i];
    }
    double p = ifm_student_p(slope * sqrt(shape_square * (n - 2) / rest), n - 2);
    if (p >= best)
        return p;
    memcpy(sorted, residuals, n * sizeof *sorted);
    ifm_sort_doubles(sorted, n);
    double persistence = ifm_persistence_bound(residuals, sorted, n);
    double worth = n * (1 - persistence) / (1 + persistence), freedom = MAX(worth - 2, 0.5);
    return ifm_student_p(slope * sqrt(shape_square * freedom / rest), freedom);
}

/* A rise is a share of the median, a fall one of what it fell from: so positive samples never fall by more than 1. */
static double relative(double change, double start, double median)
{
    return change / (change < 0 ? MAX(MAX(median, start), -change) : median);
}

/* How far the series goes from one end of the shape to the other: the difference between the medians of the samples in
 * its upper and its lower half, stretched to the whole. @shape: centred. @start: (out) the level at the first sample. */
static double amplitude(const double *series, const double *shape, gsize n, double *start, double *scratch)
{
    double middle = (shape[0] + shape[n - 1]) / 2, means[2] = { 0 }, medians[2];
    for (int upper = 0; upper < 2; upper++)
    {
        gsize count = 0;
        for (gsize i = 0; i < n; i++)
            if ((shape[i] > middle) == upper)
            {
                means[upper] += shape[i];
                scratch[count++] = series[i];
            }
        means[upper] /= count;
        medians[upper] = median_of(scratch, count);
    }
    double slope = (medians[1] - medians[0]) / (means[1] - means[0]);
    *start = medians[0] + slope * (shape[0] - means[0]);
    return slope * (shape[n - 1] - shape[0]);
}

/*
 * A transient of many sigmas loses its shape where it is cut. Such a one needs none: the median of the first tenth is
 * compared with the medians of the five tenths of the second half. Their spread is taken from themselves, and at least as
 * large as that of a median of so many samples as correlated as the second half's, of which it knows as little as its
 * samples' correlation lets it.
 */
static double start_p(const double *series, gsize n, double *change, double *start, double *scratch)
{
    gsize n_rest = n - n / 2, tenth = n_rest / START_TENTHS;
    double *sorted = scratch, *deviations = scratch + n, medians[START_TENTHS], mean = 0, square = 0;
    for (gsize i = 0; i < START_TENTHS; i++)
    {
        memcpy(sorted, series + n - (i + 1) * tenth, tenth * sizeof *series);
        medians[i] = median_of(sorted, tenth);
        mean += medians[i] / START_TENTHS;
    }
    for (gsize i = 0; i < START_TENTHS; i++)
        square += (medians[i] - mean) * (medians[i] - mean) / (START_TENTHS - 1);
    memcpy(sorted, series, tenth * sizeof *series);
    *start = median_of(sorted, tenth);
    *change = mean - *start;
    memcpy(sorted, series + n / 2, n_rest * sizeof *series);
    ifm_sort_doubles(sorted, n_rest);
    double deciles = ifm_quantile(sorted, n_rest, 0.9) - ifm_quantile(sorted, n_rest, 0.1);
    double sigma = MAX(ifm_robust_sigma(sorted, n_rest, deviations), deciles / 2.563); /* two levels have a small MAD */
    double persistence = ifm_persistence_bound(series + n / 2, sorted, n_rest), power = persistence * persistence;
    double time = (1 + persistence) / (1 - persistence);
    square = MAX(square, sigma * sigma * MIN(M_PI_2 * time / tenth, 1)) * (1 + 1.0 / START_TENTHS);
    /* Bartlett: so many independent samples tell a variance as well. */
    double freedom = CLAMP(n_rest * (1 - power) / (1 + power) - 1, 0.5, START_TENTHS - 1);
    return *change == 0 ? 1 : ifm_student_p(*change / sqrt(square), freedom);
}

double ifm_drift_test(const double *series, gsize n, double *ratio)
{
    *ratio = n < MIN_SAMPLES ? NAN : 0;
    if (n < MIN_SAMPLES)
        return NAN;
    g_autofree double *room = g_new(double, 4 * n);
    double *values = room, *shape = room + n, *scratch = room + 2 * n, best = 2, start = 0;
    memcpy(scratch, series, n * sizeof *series);
    double median = median_of(scratch, n), sigma = ifm_robust_sigma(scratch, n, values);
    if (sigma <= 0)
        return 1;
    for (gsize i = 0; i < n; i++)
        values[i] = CLAMP((series[i] - median) / sigma, -CUT_SIGMAS, CUT_SIGMAS);
    ifm_series_centre(values, n);
    for (gsize s = 0; s < G_N_ELEMENTS(shapes); s++)
    {
        for (gsize i = 0; i < n; i++)
            shape[i] = shapes[s].shape((i + 0.5) / n, shapes[s].where);
        ifm_series_centre(shape, n);
        double p = fit_p(values, shape, n, best, scratch);
        if (p < best)
        {
            best = p;
            double change = amplitude(series, shape, n, &start, scratch);
            *ratio = relative(change, start, median);
        }
    }
    double change = 0, p = n >= START_SAMPLES ? start_p(series, n, &change, &start, scratch) : 1;
    if (p < best)
    {
        best = p;
        *ratio = relative(change, start, median);
    }
    gsize n_fits = G_N_ELEMENTS(shapes) + 1;
    return MIN(best * n_fits, 1);
}

/* --- steadiness ------------------------------------------------------------------------------------------------------- */

/* Two-sided p of a statistic with a known mean and variance, by its normal limit with the correction for continuity. */
static double normal_p(double off, double variance)
{
    double z = (fabs(off) - 1) / sqrt(variance);
    return z <= 0 ? 1 : erfc(z * M_SQRT1_2);
}

/* The sum of the signs of the differences of pairs: of each with all later ones, or across, with the last @n_last. */
static double sum_of_signs(const double *series, gsize n_first, gsize n, gsize n_last)
{
    double score = 0;
    for (gsize i = 0; i < n_first; i++)
        for (gsize j = MAX(i + 1, n - n_last); j < n; j++)
            score += (series[j] > series[i]) - (series[j] < series[i]);
    return score;
}

/* Mann-Kendall: the sign of the difference of every pair. */
static double trend_p(const double *series, gsize n)
{
    return normal_p(sum_of_signs(series, n, n, n), n * (n - 1.0) * (2 * n + 5) / 18);
}

/* Mann-Whitney between the halves, as the sum of signs of all pairs across. */
static double step_p(const double *series, gsize n)
{
    gsize half = n / 2;
    return normal_p(sum_of_signs(series, half, n, half), half * half * (2 * half + 1.0) / 3);
}

/*
 * Uncorrected for autocorrelation, and at 0.2: to be wrong here costs a steady subject a few runs more (10 to 13 on
 * average, up to phi = 0.9), while a correction cannot be told from ten samples and lets a plain approach to
 * the steady state pass as correlated noise: it ended warm-up 3.3 % above the level where this ends at 0.5 %
 * (bench/steadiness).
 */
static const double steady_p = 0.2;

gboolean ifm_series_steady(const double *series, gsize n, double tolerance)
{
    gsize half = n / 2;
    g_return_val_if_fail(half > 0, FALSE);
    g_autofree double *scratch = g_memdup2(series, n * sizeof *series);
    double before = median_of(scratch, half);
    double after = median_of(scratch + n - half, half);
    return fabs(after - before) <= tolerance * fabs(before) ||
           (trend_p(series, n) >= steady_p && step_p(series, n) >= steady_p);
}
