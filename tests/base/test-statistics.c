#include "base/statistics-private.h"
#include <base/statistics.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void assert_near(double value, double expected, double tolerance)
{
    g_assert_cmpfloat_with_epsilon(value, expected, tolerance * fabs(expected));
}

/* A small seeded generator: sums of twelve uniforms are Gaussian enough for what is tested with them. */
static double uniform(guint64 *state)
{
    *state = *state * G_GUINT64_CONSTANT(6364136223846793005) + G_GUINT64_CONSTANT(1442695040888963407);
    return ((*state >> 11) + 0.5) * 0x1p-53;
}

static double gaussian(guint64 *state)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += uniform(state);
    return sum;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sides of 3, 4, 5: which end of the one goes with which of the other shows in the result. */
static void test_difference_interval(void)
{
    IfmInterval a = { 7, 22, 0.95 }, b = { -4, 8, 0.95 };
    IfmInterval of = ifm_difference_interval(10, &a, 4, &b); /* below: 3 and 4; above: 12 and 8 */
    g_assert_cmpfloat(of.lower, ==, 6 - 5);
    assert_near(of.upper, 6 + 14.422205101855956, 1e-12);
    g_assert_cmpfloat(of.level, ==, 0.95);
    IfmInterval wide = { -INFINITY, 8, 0.95 }, unknown = { NAN, NAN, 0.95 };
    g_assert_true(isnan(ifm_difference_interval(10, &a, 4, &wide).lower));
    g_assert_true(isnan(ifm_difference_interval(10, &a, 4, &unknown).upper));
    g_assert_true(isnan(ifm_difference_interval(10, &unknown, 4, &b).lower));
}

/* Computed with 40 decimal digits from sums of exact binomial terms; rows 5 and 6 are printed, with four digits, in
 * Newcombe (1998), Two-sided confidence intervals for the single proportion, table I. */
static void test_binomial_interval(void)
{
    static const struct
    {
        gsize k, n;
        double level, lower, upper;
    } rows[] = {
        { 0, 10, 0.95, 0, 0.308497107818761 },
        { 1, 10, 0.95, 0.002528578544462, 0.445016117028195 },
        { 5, 10, 0.95, 0.187086028447399, 0.812913971552601 },
        { 10, 10, 0.95, 0.691502892181239, 1 },
        { 81, 263, 0.95, 0.252736745585271, 0.367621922601351 },
        { 15, 148, 0.95, 0.057844010083449, 0.161650490349479 },
        { 3, 20, 0.99, 0.017642637954195, 0.449465406739486 },
        { 4750, 5000, 0.95, 0.943591086757821, 0.955876756020000 },
        { 1, 5000, 0.95, 0.000005063548777, 0.001113819380334 },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        IfmInterval interval = ifm_binomial_interval(rows[i].k, rows[i].n, rows[i].level);
        g_assert_cmpfloat_with_epsilon(interval.lower, rows[i].lower, 1e-12);
        g_assert_cmpfloat_with_epsilon(interval.upper, rows[i].upper, 1e-12);
        g_assert_cmpfloat(interval.level, ==, rows[i].level);
    }
    IfmInterval nothing = ifm_binomial_interval(0, 0, 0.95);
    g_assert_cmpfloat(nothing.lower, ==, 0);
    g_assert_cmpfloat(nothing.upper, ==, 1);
    IfmInterval large = ifm_binomial_interval(500000, 1000000, 0.95); /* the normal limit: 0.5 +- 1.959964 * 0.0005 */
    assert_near(large.lower, 0.5 - 0.000979982, 2e-6);
    for (gsize k = 1; k <= 30; k++) /* more successes: both ends rise */
    {
        IfmInterval less = ifm_binomial_interval(k - 1, 30, 0.9), more = ifm_binomial_interval(k, 30, 0.9);
        g_assert_cmpfloat(less.lower, <, more.lower);
        g_assert_cmpfloat(less.upper, <, more.upper);
    }
}

/* P(|T| <= t) for whole degrees of freedom, as a finite sum. Source: Abramowitz & Stegun 26.7.3, 26.7.4 */
static long double student_within(double t, int freedom)
{
    long double theta = atanl(t / sqrtl(freedom)), square = freedom / (freedom + (long double)t * t);
    long double term = freedom % 2 == 0 ? 1 : sqrtl(square), sum = 0;
    for (int k = freedom % 2 == 0 ? 1 : 2; k < freedom; k += 2)
    {
        sum += term;
        term *= square * k / (k + 1);
    }
    return freedom % 2 == 0 ? sinl(theta) * sum : 2 / acosl(-1) * (theta + sinl(theta) * sum);
}

/* Printed in Fisher & Yates, Statistical Tables, table III, and in every table since. */
static void test_student_table(void)
{
    static const int freedoms[] = { 1, 2, 3, 4, 5, 7, 10, 13, 20, 30, 60, 120 };
    static const double ps[] = { 0.75, 0.9, 0.95, 0.975, 0.99, 0.995, 0.9995 };
    static const double table[][7] = {
        { 1.000, 3.078, 6.314, 12.706, 31.821, 63.657, 636.619 }, { 0.816, 1.886, 2.920, 4.303, 6.965, 9.925, 31.599 },
        { 0.765, 1.638, 2.353, 3.182, 4.541, 5.841, 12.924 },     { 0.741, 1.533, 2.132, 2.776, 3.747, 4.604, 8.610 },
        { 0.727, 1.476, 2.015, 2.571, 3.365, 4.032, 6.869 },      { 0.711, 1.415, 1.895, 2.365, 2.998, 3.499, 5.408 },
        { 0.700, 1.372, 1.812, 2.228, 2.764, 3.169, 4.587 },      { 0.694, 1.350, 1.771, 2.160, 2.650, 3.012, 4.221 },
        { 0.687, 1.325, 1.725, 2.086, 2.528, 2.845, 3.850 },      { 0.683, 1.310, 1.697, 2.042, 2.457, 2.750, 3.646 },
        { 0.679, 1.296, 1.671, 2.000, 2.390, 2.660, 3.460 },      { 0.677, 1.289, 1.658, 1.980, 2.358, 2.617, 3.373 },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(freedoms); i++)
        for (gsize j = 0; j < G_N_ELEMENTS(ps); j++)
        {
            double t = ifm_student_quantile(ps[j], freedoms[i]);
            g_assert_cmpfloat_with_epsilon(t, table[i][j], 0.00051);
            g_assert_cmpfloat_with_epsilon(ifm_student_quantile(1 - ps[j], freedoms[i]), -t, 1e-9 * t);
        }
}

static void test_student_exact(void)
{
    static const double ps[] = { 1e-12, 1e-6, 0.001, 0.025, 0.2, 0.25, 0.3, 0.4999, 0.5001, 0.6, 0.75, 0.9, 0.975, 0.9999 };
    static const int freedoms[] = { 3, 5, 6, 9, 53, 100, 999, 10000, 1000000 };
    for (gsize i = 0; i < G_N_ELEMENTS(ps); i++)
    {
        double p = ps[i], product = 4 * p * (1 - p), sign = p < 0.5 ? -1 : 1;
        long double within = fabsl(2 * (long double)p - 1);
        /* 1, 2 and 4 degrees of freedom have closed forms. */
        assert_near(ifm_student_quantile(p, 1), -1 / tan(G_PI * p), 1e-9);
        assert_near(ifm_student_quantile(p, 2), sign * within * sqrt(2 / product), 1e-9);
        double q = cos(acos(sqrt(product)) / 3) / sqrt(product);
        if (within > 0.1) /* else q - 1 has too few digits */
            assert_near(ifm_student_quantile(p, 4), sign * 2 * sqrt(q - 1), 1e-9);
        for (gsize j = 0; j < G_N_ELEMENTS(freedoms); j++)
        {
            double t = ifm_student_quantile(p, freedoms[j]);
            g_assert_cmpfloat(t * sign, >, 0);
            /* Between P at a t less by 1e-9 and at one more by it, but for what the sum itself loses. */
            long double slack = freedoms[j] < 1000 ? 1e-17L : 1e-13L;
            g_assert_true(student_within(fabs(t) * (1 - 1e-9), freedoms[j]) - slack <= within);
            g_assert_true(student_within(fabs(t) * (1 + 1e-9), freedoms[j]) + slack >= within);
        }
    }
    g_assert_cmpfloat(ifm_student_quantile(0.5, 7), ==, 0);
    g_assert_cmpfloat_with_epsilon(ifm_student_quantile(0.975, 1e6), 1.959964 + (1.959964 + 7.529111) / 4e6, 1e-6);
    for (double freedom = 1; freedom < 20; freedom += 0.25) /* between whole ones: between their values */
        g_assert_cmpfloat(ifm_student_quantile(0.9, freedom + 0.25), <, ifm_student_quantile(0.9, freedom));
    g_assert_true(isnan(ifm_student_quantile(0, 3)));
    g_assert_true(isnan(ifm_student_quantile(1, 3)));
    g_assert_true(isnan(ifm_student_quantile(NAN, 3)));
    g_assert_true(isnan(ifm_student_quantile(0.9, 0)));
    g_assert_true(isnan(ifm_student_quantile(0.9, INFINITY)));
}

static void test_quantile(void)
{
    static const double sorted[] = { 1, 2, 4, 8, 16 }; /* R: quantile(c(1, 2, 4, 8, 16), c(...)) */
    assert_near(ifm_quantile(sorted, 5, 0), 1, 1e-15);
    assert_near(ifm_quantile(sorted, 5, 0.1), 1.4, 1e-15);
    assert_near(ifm_quantile(sorted, 5, 0.5), 4, 1e-15);
    assert_near(ifm_quantile(sorted, 5, 0.9), 12.8, 1e-15);
    assert_near(ifm_quantile(sorted, 5, 1), 16, 1e-15);
    assert_near(ifm_quantile(sorted, 4, 0.5), 3, 1e-15);
    assert_near(ifm_quantile(sorted, 1, 0.7), 1, 1e-15);
}

static void test_quantile_min_n(void)
{
    g_assert_cmpuint(ifm_quantile_min_n(0.90, 0.95), ==, 29);
    g_assert_cmpuint(ifm_quantile_min_n(0.95, 0.95), ==, 59);
    g_assert_cmpuint(ifm_quantile_min_n(0.99, 0.95), ==, 299);
    g_assert_cmpuint(ifm_quantile_min_n(0.5, 0.9375), ==, 4); /* 1 - 1/16, exactly */
    g_assert_cmpuint(ifm_quantile_min_n(0, 0.95), ==, 1);
    for (int i = 1; i < 200; i++)
    {
        double p = i / 200.0;
        gsize n = 1;
        for (double power = p; 1 - power < 0.95; power *= p)
            n++;
        g_assert_cmpuint(ifm_quantile_min_n(p, 0.95), ==, n);
    }
}

/* P(B <= k), B binomial(n, p), by the recurrence of its terms. */
static double binomial_cdf(int k, int n, double p)
{
    double term = pow(1 - p, n), sum = 0;
    for (int i = 0; i <= k; i++)
    {
        sum += term;
        term *= (double)(n - i) / (i + 1) * p / (1 - p);
    }
    return sum;
}

/* The ranks are those that the exact binomial allows, and the next ones inwards would not be. */
static void test_quantile_interval_ranks(void)
{
    double sorted[200];
    for (int i = 0; i < 200; i++)
        sorted[i] = i + 1;
    static const double ps[] = { 0.25, 0.5, 0.9 };
    for (gsize j = 0; j < G_N_ELEMENTS(ps); j++)
        for (int n = 1; n <= 200; n++)
        {
            IfmInterval interval;
            gboolean given = ifm_quantile_interval(sorted, n, n, ps[j], 0.95, &interval);
            gboolean possible = pow(1 - ps[j], n) <= 0.025 && pow(ps[j], n) <= 0.025;
            g_assert_cmpint(given, ==, possible);
            if (!given)
            {
                g_assert_true(isnan(interval.lower) && isnan(interval.upper));
                continue;
            }
            int lower = interval.lower, upper = interval.upper;
            g_assert_cmpfloat(binomial_cdf(lower - 1, n, ps[j]), <=, 0.025);
            g_assert_cmpfloat(binomial_cdf(lower, n, ps[j]), >, 0.025);
            g_assert_cmpfloat(1 - binomial_cdf(upper - 1, n, ps[j]), <=, 0.025);
            g_assert_cmpfloat(1 - binomial_cdf(upper - 2, n, ps[j]), >, 0.025);
        }
    IfmInterval twenty; /* printed in every table of the sign test: the 6th and the 15th of 20 */
    g_assert_true(ifm_quantile_interval(sorted, 20, 20, 0.5, 0.95, &twenty));
    g_assert_cmpfloat(twenty.lower, ==, 6);
    g_assert_cmpfloat(twenty.upper, ==, 15);
}

static void test_quantile_interval_widened(void)
{
    double sorted[240];
    for (int i = 0; i < 240; i++)
        sorted[i] = i + 1;
    IfmInterval interval;
    /* Worth 6: ranks 1 and 6 of 6, counts 0.5 and 5.5, stretched by 10 to 5 and 55 of 60: ranks 5 and 56. */
    g_assert_true(ifm_quantile_interval(sorted, 60, 6.9, 0.5, 0.95, &interval));
    g_assert_cmpfloat(interval.lower, ==, 5);
    g_assert_cmpfloat(interval.upper, ==, 56);
    g_assert_false(ifm_quantile_interval(sorted, 60, 5.99, 0.5, 0.95, &interval));
    g_assert_true(isnan(interval.lower) && isnan(interval.upper));
    /* Symmetric about the middle, never narrower than what n samples give, and about sqrt(n / n_effective) wider. */
    g_assert_true(ifm_quantile_interval(sorted, 240, 240, 0.5, 0.95, &interval));
    double min = interval.upper - interval.lower;
    for (double effective = 6; effective <= 300; effective += 0.5)
    {
        g_assert_true(ifm_quantile_interval(sorted, 240, effective, 0.5, 0.95, &interval));
        g_assert_cmpfloat(interval.lower + interval.upper, ==, 241);
        double ratio = (interval.upper - interval.lower) / min / sqrt(240 / MIN(floor(effective), 240));
        g_assert_cmpfloat(interval.upper - interval.lower, >=, min);
        g_assert_cmpfloat(ratio, >, 0.95);
        g_assert_cmpfloat(ratio, <, 1.35);
    }
}

static void test_mean_interval(void)
{
    /* 0 and 1 in turn are worth all of their hundred: std = sqrt(0.25 x 100 / 99), t of 99 degrees is 1.984217 (tables). */
    double alternating[100];
    IfmInterval interval;
    for (int i = 0; i < 100; i++)
        alternating[i] = i % 2;
    assert_near(ifm_mean_interval(alternating, 100, 0.95, &interval), 0.5, 1e-14);
    double half = 1.984217 * sqrt(0.25 * 100 / 99) / 10;
    assert_near(interval.lower, 0.5 - half, 1e-6);
    assert_near(interval.upper, 0.5 + half, 1e-6);
    /* a line of five is worth 5 / 1.8 = 2.78 samples: wider than five independent ones, t(4) = 2.776 */
    static const double line[] = { 1, 2, 3, 4, 5 };
    assert_near(ifm_mean_interval(line, 5, 0.95, &interval), 3, 1e-14);
    g_assert_cmpfloat(interval.upper - 3, >, 2.776 * sqrt(2.5 / 5));
    static const double equal[] = { 7, 7, 7 };
    ifm_mean_interval(equal, 3, 0.95, &interval);
    g_assert_cmpfloat(interval.lower, ==, 7);
    g_assert_cmpfloat(interval.upper, ==, 7);
    assert_near(ifm_mean_interval(line, 1, 0.95, &interval), 1, 1e-14);
    g_assert_true(isnan(interval.lower));
    g_assert_true(isnan(ifm_mean_interval(NULL, 0, 0.95, &interval)));
}

static void test_effective_by_hand(void)
{
    /* Sums of lagged products 4, 1, -2, -1: pairs 5, -3; time 2 * 5 / 4 - 1 = 1.5. */
    static const double blocks[] = { 1, 1, -1, -1 };
    assert_near(ifm_effective_sample_size(blocks, 4), 4 / 1.5, 1e-14);
    /* 10, 4, -1, -4, -4: pairs 14, -5; time 1.8. */
    static const double line[] = { 1, 2, 3, 4, 5 };
    assert_near(ifm_effective_sample_size(line, 5), 5 / 1.8, 1e-14);
    double alternating[100], equal[100];
    for (int i = 0; i < 100; i++)
    {
        alternating[i] = i % 2;
        equal[i] = 0.1; /* no sum of which is exact */
    }
    g_assert_cmpfloat(ifm_effective_sample_size(alternating, 100), ==, 100);
    g_assert_cmpfloat(ifm_effective_sample_size(equal, 100), ==, 100);
    g_assert_cmpfloat(ifm_median_effective_size(equal, equal, 100), ==, 100);
    g_assert_cmpfloat(ifm_effective_sample_size(line, 1), ==, 1);
}

/* The same sequence in the plainest way. */
static double plain_effective(const double *series, int n)
{
    double mean = 0, total = 0, last = INFINITY, variance = 0;
    for (int i = 0; i < n; i++)
        mean += series[i] / n;
    for (int lag = 0; lag + 1 < n; lag += 2)
    {
        double pair = 0;
        for (int part = lag; part <= lag + 1; part++)
            for (int i = part; i < n; i++)
                pair += (series[i] - mean) * (series[i - part] - mean);
        for (int i = 0; lag == 0 && i < n; i++)
            variance += (series[i] - mean) * (series[i] - mean);
        if (pair <= 0)
            break;
        last = MIN(last, pair);
        total += last;
    }
    return CLAMP(n / (2 * total / variance - 1), 1, n);
}

/* Series whose correlation reaches far beyond what is summed directly, of lengths around powers of two. */
static void test_effective_long(void)
{
    static const int lengths[] = { 255, 256, 257, 1000, 1023 };
    guint64 seed = 5;
    for (gsize j = 0; j < G_N_ELEMENTS(lengths); j++)
    {
        int n = lengths[j];
        double line[1023], walk[1023], scaled[1023];
        for (int i = 0; i < n; i++)
        {
            line[i] = i;
            walk[i] = (i > 0 ? 0.99 * walk[i - 1] : 0) + gaussian(&seed);
            scaled[i] = 1e6 + 1000 * walk[i];
        }
        assert_near(ifm_effective_sample_size(line, n), plain_effective(line, n), 1e-9);
        assert_near(ifm_effective_sample_size(walk, n), plain_effective(walk, n), 1e-9);
        assert_near(ifm_effective_sample_size(scaled, n), plain_effective(walk, n), 1e-6);
    }
}

static void autoregressive(double *series, int n, double phi, guint64 *seed)
{
    double level = gaussian(seed);
    for (int i = 0; i < n; i++)
    {
        series[i] = level;
        level = phi * level + sqrt(1 - phi * phi) * gaussian(seed);
    }
}

/* A Gaussian AR(1) series has sign correlations 2 / pi asin(phi^k): the limit is known. */
static void test_median_effective_limit(void)
{
    enum
    {
        N = 20000
    };
    static const double phis[] = { 0, 0.5, 0.9 };
    g_autofree double *series = g_new(double, N), *sorted = g_new(double, N);
    guint64 seed = 17;
    for (gsize j = 0; j < G_N_ELEMENTS(phis); j++)
    {
        double time = 1;
        for (double power = phis[j]; power > 1e-9; power *= phis[j])
            time += 4 / G_PI * asin(power);
        autoregressive(series, N, phis[j], &seed);
        memcpy(sorted, series, N * sizeof *series);
        qsort(sorted, N, sizeof *sorted, compare_doubles);
        double effective = ifm_median_effective_size(series, sorted, N);
        g_assert_cmpfloat(effective, <, 1.1 * N / time);
        g_assert_cmpfloat(effective, >, 0.75 * N / time); /* it errs to this side */
    }
}

static void test_summary_by_hand(void)
{
    static const gint64 samples[] = { 30, 10, 50, 20, 40 };
    IfmSummary summary;
    ifm_summary_compute(samples, 5, 0.95, &summary);
    g_assert_cmpuint(summary.n, ==, 5);
    assert_near(summary.mean, 30, 1e-15);
    assert_near(summary.std, sqrt(250), 1e-15);
    g_assert_cmpfloat(summary.min, ==, 10);
    g_assert_cmpfloat(summary.max, ==, 50);
    g_assert_cmpfloat(summary.median, ==, 30);
    g_assert_cmpuint(summary.n_outliers, ==, 0);
    g_assert_true(isnan(summary.median_interval.lower)); /* 5 samples cannot bound a median at 95 % */
    g_assert_true(isnan(summary.p90) && isnan(summary.drift_p) && isnan(summary.drift_ratio));
    g_assert_false(summary.drifting);

    ifm_summary_compute(NULL, 0, 0.95, &summary);
    g_assert_cmpuint(summary.n, ==, 0);
    const double nothing[] = { summary.mean,
                               summary.std,
                               summary.min,
                               summary.max,
                               summary.median,
                               summary.p90,
                               summary.p95,
                               summary.p99,
                               summary.median_interval.lower,
                               summary.median_interval.upper,
                               summary.n_effective,
                               summary.drift_ratio,
                               summary.drift_p };
    for (gsize i = 0; i < G_N_ELEMENTS(nothing); i++)
        g_assert_true(isnan(nothing[i]));
    g_assert_false(summary.drifting);

    ifm_summary_compute(samples, 1, 0.95, &summary);
    g_assert_cmpfloat(summary.mean, ==, 30);
    g_assert_cmpfloat(summary.median, ==, 30);
    g_assert_cmpfloat(summary.n_effective, ==, 1);
    g_assert_true(isnan(summary.std));
}

static void test_summary_equal(void)
{
    gint64 samples[300];
    for (int i = 0; i < 300; i++)
        samples[i] = G_GINT64_CONSTANT(4000000000000001); /* their sum has no exact double */
    IfmSummary summary;
    ifm_summary_compute(samples, 300, 0.95, &summary);
    g_assert_cmpfloat(summary.mean, ==, 4000000000000001.0);
    g_assert_cmpfloat(summary.std, ==, 0);
    g_assert_cmpfloat(summary.n_effective, ==, 300);
    g_assert_cmpfloat(summary.median_interval.lower, ==, 4000000000000001.0);
    g_assert_cmpfloat(summary.median_interval.upper, ==, 4000000000000001.0);
    g_assert_cmpfloat(summary.drift_p, ==, 1);
    g_assert_cmpfloat(summary.drift_ratio, ==, 0);
    g_assert_cmpuint(summary.n_outliers, ==, 0);
    g_assert_false(summary.drifting);
}

static void test_summary_refusals(void)
{
    static const gsize floors[] = { 29, 59, 299 };
    gint64 samples[299];
    for (int i = 0; i < 299; i++)
        samples[i] = 1000 + i * 7919 % 299;
    for (int j = 0; j < 3; j++)
        for (gsize n = floors[j] - 1; n <= floors[j]; n++)
        {
            IfmSummary summary;
            ifm_summary_compute(samples, n, 0.95, &summary);
            const double quantiles[] = { summary.p90, summary.p95, summary.p99 };
            for (int k = 0; k < 3; k++)
                g_assert_cmpint(isnan(quantiles[k]) != 0, ==, n < floors[k]);
        }
}

static void test_summary_outliers(void)
{
    gint64 samples[50];
    IfmSummary summary;
    /* Deviations -2 ... 2 equally often: MAD 1, so 5 sigmas are 7.413. */
    for (int i = 0; i < 50; i++)
        samples[i] = 1000 + i % 5 - 2;
    samples[0] = 1007;
    ifm_summary_compute(samples, 50, 0.95, &summary);
    g_assert_cmpuint(summary.n_outliers, ==, 0);
    samples[0] = 1008, samples[5] = 992, samples[7] = 100000;
    ifm_summary_compute(samples, 50, 0.95, &summary);
    g_assert_cmpuint(summary.n_outliers, ==, 3);
    g_assert_cmpuint(summary.n, ==, 50);
    g_assert_cmpfloat(summary.max, ==, 100000); /* counted, not removed */

    /* A clock of 100 ns ticks: MAD 0, yet the next ticks are no outliers, and a hiccup is. */
    for (int i = 0; i < 50; i++)
        samples[i] = i % 10 < 6 ? 1000 : i % 10 < 9 ? 1100 : 1200;
    ifm_summary_compute(samples, 50, 0.95, &summary);
    g_assert_cmpuint(summary.n_outliers, ==, 0);
    samples[30] = 50000;
    ifm_summary_compute(samples, 50, 0.95, &summary);
    g_assert_cmpuint(summary.n_outliers, ==, 1);
    for (int i = 0; i < 50; i++)
        samples[i] = i == 20 ? 1500 : 1000;
    ifm_summary_compute(samples, 50, 0.95, &summary);
    g_assert_cmpuint(summary.n_outliers, ==, 1);
}

typedef enum
{
    LEVEL,
    APPROACH, /* 534 ms falls to 430 within the first dozen of runs */
    LINE,
    STEP,
} Course;

static IfmSummary summary_of(Course course, int n, double noise_ratio, double phi, guint64 seed)
{
    g_autofree double *noise = g_new(double, n);
    g_autofree gint64 *samples = g_new(gint64, n);
    autoregressive(noise, n, phi, &seed);
    for (int i = 0; i < n; i++)
    {
        double level = course == APPROACH ? 430 + 104 * exp(-i / 4.0)
                       : course == LINE   ? 430 * (1 + 0.1 * i / (n - 1))
                       : course == STEP   ? (i < n / 2 ? 430 : 400)
                                          : 430;
        samples[i] = 1e6 * level * (1 + noise_ratio * noise[i]);
    }
    IfmSummary summary;
    ifm_summary_compute(samples, n, 0.95, &summary);
    return summary;
}

static void test_drift(void)
{
    for (guint64 seed = 1; seed <= 20; seed++)
    {
        IfmSummary approach = summary_of(APPROACH, 50, 0.01, 0, seed);
        g_assert_true(approach.drifting);
        g_assert_cmpfloat(approach.drift_ratio, <, -0.12);
        g_assert_cmpfloat(approach.drift_ratio, >, -0.36);
        IfmSummary line = summary_of(LINE, 100, 0.01, 0.3, seed);
        g_assert_true(line.drifting);
        assert_near(line.drift_ratio, 0.1 / 1.05, 0.25);
        IfmSummary step = summary_of(STEP, 60, 0.01, 0, seed);
        g_assert_true(step.drifting);
        assert_near(step.drift_ratio, -30 / 415.0, 0.25);
    }
}

static void test_drift_not_flagged(void)
{
    static const struct
    {
        int n;
        double noise, phi;
    } kinds[] = { { 20, 0.02, 0 }, { 50, 0.02, 0 }, { 50, 0.02, 0.5 }, { 200, 0.05, 0.9 }, { 1000, 0.02, 0.9 } };
    for (gsize k = 0; k < G_N_ELEMENTS(kinds); k++)
    {
        int alarms = 0;
        for (guint64 seed = 1; seed <= 100; seed++)
            alarms += summary_of(LEVEL, kinds[k].n, kinds[k].noise, kinds[k].phi, seed).drifting;
        g_assert_cmpint(alarms, <=, 2); /* at a rate of 0.3 % three in a hundred have a chance of 0.3 % */
    }
    /* Significant and harmless: 0.5 % along 400 samples with hardly any noise. */
    gint64 samples[400];
    for (int i = 0; i < 400; i++)
        samples[i] = 1000000 + 12 * i + i * 7919 % 40;
    IfmSummary summary;
    ifm_summary_compute(samples, 400, 0.95, &summary);
    g_assert_cmpfloat(summary.drift_p, <, 1e-6);
    assert_near(summary.drift_ratio, 4800 / 1002400.0, 0.1);
    g_assert_false(summary.drifting);
}

static void test_steady(void)
{
    static const double line[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, mixed[] = { 5, 1, 4, 2, 3, 3, 2, 4, 1, 5 };
    static const double step[] = { 3, 1, 2, 1, 3, 8, 9, 7, 8, 9 }, valley[] = { 9, 7, 5, 3, 1, 2, 4, 6, 8, 10 };
    static const double close[] = { 1000, 1001, 1002, 1003, 1004, 1005 };
    g_assert_false(ifm_series_steady(line, 10, 0.01));
    g_assert_true(ifm_series_steady(line, 10, 2)); /* 3 and 8: within twice of 3 */
    g_assert_true(ifm_series_steady(mixed, 10, 0));
    g_assert_false(ifm_series_steady(step, 10, 0.01));
    g_assert_true(ifm_series_steady(valley, 10, 0));     /* neither: the approach and its mirror */
    g_assert_false(ifm_series_steady(close, 6, 0.0025)); /* 1001 and 1004 */
    g_assert_true(ifm_series_steady(close, 6, 0.0031));
    g_assert_true(ifm_series_steady(line, 2, 1));
}

/* What is statistical is in bench/stopping-rule; this is to notice when it breaks. */
static void test_coverage_smoke(void)
{
    static const double phis[] = { 0, 0.5 };
    for (int j = 0; j < 2; j++)
    {
        int covered = 0;
        for (guint64 seed = 1; seed <= 400; seed++)
        {
            IfmSummary summary = summary_of(LEVEL, 100, 0.05, phis[j], seed * 977);
            covered += summary.median_interval.lower <= 430e6 && summary.median_interval.upper >= 430e6;
            g_assert_cmpfloat(summary.median_interval.lower, <=, summary.median);
            g_assert_cmpfloat(summary.median_interval.upper, >=, summary.median);
        }
        g_assert_cmpint(covered, >=, 372); /* 93 % */
    }
}

static void test_sort(void)
{
    double values[] = { 3, -0.5, INFINITY, 3, -INFINITY, 1e-300, 2 };
    const double sorted[] = { -INFINITY, -0.5, 1e-300, 2, 3, 3, INFINITY };
    ifm_sort_doubles(values, G_N_ELEMENTS(values));
    g_assert_cmpmem(values, sizeof values, sorted, sizeof sorted);
    ifm_sort_doubles(NULL, 0);
}

/* Nothing falls by more than all of it: a step, a line and a transient from levels above twice the median. */
static void test_falls(void)
{
    gint64 step[60], line[60], transient[60];
    for (int i = 0; i < 60; i++)
    {
        step[i] = (i < 20 ? 25000 : 10000) + 100 * (i * 7 % 11);
        line[i] = 60000 - 990 * i + 100 * (i * 7 % 11);
        transient[i] = 10000 + (gint64)(30000 * exp(-i / 6.0)) + 100 * (i * 7 % 11);
    }
    gint64 *const series[] = { step, line, transient };
    for (gsize kind = 0; kind < G_N_ELEMENTS(series); kind++)
    {
        IfmSummary summary;
        ifm_summary_compute(series[kind], 60, 0.95, &summary);
        g_test_message("%" G_GSIZE_FORMAT ": %.3f", kind, summary.drift_ratio);
        g_assert_true(summary.drifting);
        g_assert_cmpfloat(summary.drift_ratio, >=, -1);
        g_assert_cmpfloat(summary.drift_ratio, <, -0.5);
        if (kind == 0)
            assert_near(summary.drift_ratio, -15000 / 25500.0, 0.05);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/statistics/sort", test_sort);
    g_test_add_func("/statistics/binomial-interval", test_binomial_interval);
    g_test_add_func("/statistics/difference-interval", test_difference_interval);
    g_test_add_func("/statistics/student/table", test_student_table);
    g_test_add_func("/statistics/student/exact", test_student_exact);
    g_test_add_func("/statistics/quantile", test_quantile);
    g_test_add_func("/statistics/quantile/least-n", test_quantile_min_n);
    g_test_add_func("/statistics/quantile-interval/ranks", test_quantile_interval_ranks);
    g_test_add_func("/statistics/quantile-interval/widened", test_quantile_interval_widened);
    g_test_add_func("/statistics/effective/by-hand", test_effective_by_hand);
    g_test_add_func("/statistics/effective/mean-interval", test_mean_interval);
    g_test_add_func("/statistics/effective/long", test_effective_long);
    g_test_add_func("/statistics/effective/limit", test_median_effective_limit);
    g_test_add_func("/statistics/summary/by-hand", test_summary_by_hand);
    g_test_add_func("/statistics/summary/equal", test_summary_equal);
    g_test_add_func("/statistics/summary/refusals", test_summary_refusals);
    g_test_add_func("/statistics/summary/outliers", test_summary_outliers);
    g_test_add_func("/statistics/drift/flagged", test_drift);
    g_test_add_func("/statistics/drift/not-flagged", test_drift_not_flagged);
    g_test_add_func("/statistics/steady", test_steady);
    g_test_add_func("/statistics/coverage", test_coverage_smoke);
    g_test_add_func("/statistics/falls", test_falls);
    return g_test_run();
}
