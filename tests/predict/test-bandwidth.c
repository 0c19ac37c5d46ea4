#include <base/statistics.h>

#include "published.h"

static void assert_near(double value, double expected, double tolerance)
{
    g_assert_cmpfloat_with_epsilon(value, expected, tolerance * fabs(expected));
}

static IfmBandwidthFit fit_of(const double *x, const double *y, gsize n)
{
    IfmBandwidthFit fit;
    g_autoptr(GError) error = NULL;
    gboolean fitted = ifm_bandwidth_fit(x, y, n, 0.95, &fit, &error);
    g_assert_no_error(error);
    g_assert_true(fitted);
    g_assert_cmpuint(fit.n, ==, n);
    g_assert_cmpint(fit.identifiable, ==, fit.why[0] == '\0');
    g_assert_cmpint(fit.identifiable, ==, !isnan(fit.bytes_per_s));
    g_assert_cmpint(fit.identifiable, ==, !isnan(fit.bytes_per_s_interval.lower));
    return fit;
}

/* Points on a line: no residual, so no width. */
static void test_exact(void)
{
    static const double x[] = { 1000, 7000, 2000, 4000 };
    double y[4];
    for (int i = 0; i < 4; i++)
        y[i] = 300 + 0.25 * x[i]; /* 4 GB/s */
    IfmBandwidthFit fit = fit_of(x, y, 4);
    g_assert_true(fit.identifiable);
    g_assert_cmpfloat(fit.slope_ns_per_byte, ==, 0.25);
    g_assert_cmpfloat(fit.slope_interval.lower, ==, 0.25);
    g_assert_cmpfloat(fit.slope_interval.upper, ==, 0.25);
    g_assert_cmpfloat(fit.intercept_ns, ==, 300);
    g_assert_cmpfloat(fit.intercept_interval.lower, ==, 300);
    g_assert_cmpfloat(fit.r_squared, ==, 1);
    g_assert_cmpfloat(fit.residual_std_ns, ==, 0);
    g_assert_cmpfloat(fit.bytes_per_s, ==, 4e9);
    g_assert_cmpfloat(fit.bytes_per_s_interval.lower, ==, 4e9);
    g_assert_cmpfloat(fit.bytes_per_s_interval.upper, ==, 4e9);
    g_assert_cmpfloat(fit.slope_interval.level, ==, 0.95);
    /* Also where neither the slope nor the sizes are whole in binary: what rounding leaves is no residual. */
    g_autoptr(GRand) random = g_rand_new_with_seed(5);
    for (int i = 0; i < 1000; i++)
    {
        double many_x[40], many_y[40];
        double slope = exp(g_rand_double_range(random, -10, 10)), intercept = g_rand_double_range(random, -1e6, 1e6);
        for (int j = 0; j < 40; j++)
        {
            many_x[j] = exp(g_rand_double_range(random, 0, 15));
            many_y[j] = intercept + slope * many_x[j];
        }
        fit = fit_of(many_x, many_y, 40);
        g_assert_cmpfloat(fit.residual_std_ns, ==, 0);
        g_assert_cmpfloat(fit.slope_interval.upper, ==, fit.slope_ns_per_byte);
        g_assert_cmpfloat(fit.r_squared, ==, 1);
    }
    for (int i = 0; i < 4; i++)
        y[i] = 1e6 / 3 + 0.1 * x[i];
    fit = fit_of(x, y, 4);
    assert_near(fit.slope_ns_per_byte, 0.1, 1e-12);
    assert_near(fit.intercept_ns, 1e6 / 3, 1e-12);
    /* A residual a thousand times that of rounding is one. */
    y[1] += 1e-6;
    fit = fit_of(x, y, 4);
    g_assert_cmpfloat(fit.residual_std_ns, >, 1e-8);
    g_assert_cmpfloat(fit.slope_interval.lower, <, fit.slope_ns_per_byte);
}

/* NIST StRD, Norris: 36 observations, lower level of difficulty; certified values to 15 digits. */
static void test_norris(void)
{
    static const double y[] = { 0.1, 338.8, 118.1, 888.0, 9.2,   228.1, 668.5, 998.5, 449.1, 778.9, 559.2, 0.3,
                                0.1, 778.1, 668.8, 339.3, 448.9, 10.8,  557.7, 228.3, 998.0, 888.8, 119.6, 0.3,
                                0.6, 557.6, 339.3, 888.0, 998.5, 778.9, 10.2,  117.6, 228.9, 668.4, 449.2, 0.2 };
    static const double x[] = { 0.2, 337.4, 118.2, 884.6, 10.1,  226.5, 666.3, 996.3, 448.6, 777.0, 558.2, 0.4,
                                0.6, 775.5, 666.9, 338.0, 447.5, 11.6,  556.0, 228.1, 995.8, 887.6, 120.2, 0.3,
                                0.3, 556.8, 339.1, 887.2, 999.0, 779.0, 11.1,  118.3, 229.2, 669.1, 448.9, 0.5 };
    IfmBandwidthFit fit = fit_of(x, y, 36);
    assert_near(fit.intercept_ns, -0.262323073774029, 1e-12);
    assert_near(fit.slope_ns_per_byte, 1.00211681802045, 1e-13);
    assert_near(fit.residual_std_ns, 0.884796396144373, 1e-13);
    assert_near(fit.r_squared, 0.999993745883712, 1e-14);
    double t = 2.0322445; /* the 0.975 quantile for 34 degrees of freedom */
    assert_near(fit.slope_interval.upper - fit.slope_ns_per_byte, t * 0.429796848199937e-03, 1e-7);
    assert_near(fit.slope_ns_per_byte - fit.slope_interval.lower, t * 0.429796848199937e-03, 1e-7);
    assert_near(fit.intercept_interval.upper - fit.intercept_ns, t * 0.232818234301152, 1e-7);
    g_assert_true(fit.identifiable);
    assert_near(fit.bytes_per_s, 1e9 / 1.00211681802045, 1e-13);
    g_assert_cmpfloat(fit.bytes_per_s_interval.lower, <, fit.bytes_per_s);
    g_assert_cmpfloat(fit.bytes_per_s_interval.upper, >, fit.bytes_per_s);
    assert_near(fit.bytes_per_s_interval.lower, 1e9 / fit.slope_interval.upper, 1e-15);

    /* Far from the origin nothing is lost but the digits that the numbers themselves lose. */
    double far_x[36], far_y[36];
    for (int i = 0; i < 36; i++)
        far_x[i] = 10 * x[i] + 1e9, far_y[i] = 10 * y[i] + 1e10; /* whole numbers */
    for (int i = 0; i < 36; i++)
        far_x[i] = round(far_x[i]), far_y[i] = round(far_y[i]);
    fit = fit_of(far_x, far_y, 36);
    assert_near(fit.slope_ns_per_byte, 1.00211681802045, 1e-13);
    assert_near(fit.residual_std_ns, 8.84796396144373, 1e-12);
    /* Nor is anything at the ends of what a double holds. */
    for (int i = 0; i < 36; i++)
        far_x[i] = 1e290 * x[i], far_y[i] = 1e-200 * y[i];
    fit = fit_of(far_x, far_y, 36);
    assert_near(fit.r_squared, 0.999993745883712, 1e-13);
}

/* Draper & Smith, Applied Regression Analysis, chapter 1: steam used against temperature; the answers are printed there. */
static void test_falling(void)
{
    static const double x[] = { 35.3, 29.7, 30.8, 58.8, 61.4, 71.3, 74.4, 76.7, 70.7, 57.5, 46.4, 28.9, 28.1,
                                39.1, 46.8, 48.5, 59.3, 70.0, 70.0, 74.5, 72.1, 58.1, 44.6, 33.4, 28.6 };
    static const double y[] = { 10.98, 11.13, 12.51, 8.40,  9.27, 8.73, 6.36, 8.50, 7.82, 9.14, 8.24,  12.19, 11.88,
                                9.57,  10.94, 9.58,  10.09, 8.11, 6.83, 8.88, 7.68, 8.47, 8.86, 10.36, 11.08 };
    IfmBandwidthFit fit = fit_of(x, y, 25);
    g_assert_cmpfloat_with_epsilon(fit.slope_ns_per_byte, -0.079829, 5e-7);
    g_assert_cmpfloat_with_epsilon(fit.intercept_ns, 13.6230, 5e-5);
    g_assert_cmpfloat_with_epsilon(fit.r_squared, 0.7144, 5e-5);
    g_assert_cmpfloat_with_epsilon(fit.slope_interval.lower, -0.1016, 1e-4);
    g_assert_cmpfloat_with_epsilon(fit.slope_interval.upper, -0.0581, 1e-4);
    g_assert_false(fit.identifiable);
    g_assert_cmpstr(fit.why, ==, "latency does not rise with the data: slope -0.0798 ns/B");
    double transfer, compute;
    g_assert_cmpstr(ifm_bandwidth_split(&fit, 50, 9, &transfer, &compute), ==, fit.why);
    g_assert_true(isnan(transfer) && isnan(compute));
}

static void test_not_identifiable(void)
{
    /* By hand: mean 3.8; sums of squares and products 10, 20.8 and 5; slope 0.5, which explains 2.5 of the 20.8. */
    static const double x[] = { 1, 2, 3, 4, 5 }, y[] = { 4, 1, 6, 2, 6 };
    IfmBandwidthFit fit = fit_of(x, y, 5);
    assert_near(fit.slope_ns_per_byte, 0.5, 1e-15);
    double half = 3.182446305 * sqrt((20.8 - 2.5) / 3 / 10);
    assert_near(fit.slope_interval.lower, 0.5 - half, 1e-8);
    assert_near(fit.slope_interval.upper, 0.5 + half, 1e-8);
    assert_near(fit.r_squared, 2.5 / 20.8, 1e-14);
    g_assert_false(fit.identifiable);
    g_assert_cmpstr(fit.why, ==, "the slope's 95 % interval [-1.99, 2.99] ns/B holds 0");
    /* The half-width is 0.781 t: 0.60 at 50 %, 0.33 at 30 %, where the slope is told. */
    g_assert_true(ifm_bandwidth_fit(x, y, 5, 0.5, &fit, NULL));
    g_assert_false(fit.identifiable);
    g_assert_true(ifm_bandwidth_fit(x, y, 5, 0.3, &fit, NULL));
    g_assert_true(fit.identifiable);

    static const double level[] = { 0.1, 0.1, 0.1, 0.1, 0.1 };
    fit = fit_of(x, level, 5);
    g_assert_false(fit.identifiable);
    g_assert_cmpfloat(fit.slope_ns_per_byte, ==, 0);
    g_assert_cmpfloat(fit.r_squared, ==, 0);
    g_assert_cmpfloat(fit.intercept_ns, ==, 0.1);
    g_assert_cmpstr(fit.why, ==, "latency does not rise with the data: slope 0 ns/B");
}

static void test_refused(void)
{
    static const double x[] = { 1, 2, 3 }, y[] = { 1, 2, 4 }, same[] = { 5, 5, 5 };
    static const double broken[] = { 1, NAN, 3 }, endless[] = { 1, 2, INFINITY };
    static const struct
    {
        const double *x, *y;
        gsize n;
        double level;
        const char *message;
    } cases[] = {
        { x, y, 2, 0.95,
          "bandwidth fit: 2 sizes at level 0.95; a line with an interval takes 3 and a level between 0 and 1" },
        { x, y, 0, 0.95,
          "bandwidth fit: 0 sizes at level 0.95; a line with an interval takes 3 and a level between 0 and 1" },
        { x, y, 3, 1, "bandwidth fit: 3 sizes at level 1; a line with an interval takes 3 and a level between 0 and 1" },
        { same, y, 3, 0.95, "bandwidth fit: all 3 data sizes are 5 bytes; a line takes two that differ" },
        { broken, y, 3, 0.95, "bandwidth fit: data size 2 of 3 is nan, not a finite number below 1e300" },
        { x, broken, 3, 0.95, "bandwidth fit: latency 2 of 3 is nan, not a finite number below 1e300" },
        { x, endless, 3, 0.95, "bandwidth fit: latency 3 of 3 is inf, not a finite number below 1e300" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        IfmBandwidthFit fit;
        g_autoptr(GError) error = NULL;
        g_assert_false(ifm_bandwidth_fit(cases[i].x, cases[i].y, cases[i].n, cases[i].level, &fit, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_cmpstr(error->message, ==, cases[i].message);
        g_assert_false(fit.identifiable);
    }
}

static void test_split(void)
{
    static const double x[] = { 1000, 2000, 3000 }, y[] = { 300, 400, 500 };
    IfmBandwidthFit fit = fit_of(x, y, 3);
    double transfer, compute;
    g_assert_null(ifm_bandwidth_split(&fit, 2000, 450, &transfer, &compute));
    assert_near(transfer, 200, 1e-14);
    assert_near(compute, 250, 1e-14);
    g_assert_null(ifm_bandwidth_split(&fit, 0, 450, &transfer, &compute)); /* no data, no transfer */
    g_assert_cmpfloat(transfer, ==, 0);
    g_assert_cmpfloat(compute, ==, 450);
    const char *why = ifm_bandwidth_split(&fit, 5000, 499, &transfer, &compute);
    g_assert_nonnull(strstr(why, "compute would be negative"));
    g_assert_true(isnan(transfer) && isnan(compute));
    static const double wrong[][2] = { { 1000, NAN }, { 1000, 0 }, { NAN, 400 }, { -1, 400 }, { 1000, INFINITY } };
    for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++)
    {
        transfer = compute = 1;
        g_assert_nonnull(ifm_bandwidth_split(&fit, wrong[i][0], wrong[i][1], &transfer, &compute));
        g_assert_true(isnan(transfer) && isnan(compute));
    }
    /* The parts add up to the last bit, whatever they are. */
    static const double skew[] = { 300, 417.3, 499.9 };
    fit = fit_of(x, skew, 3);
    fit.identifiable = TRUE;
    g_autoptr(GRand) random = g_rand_new_with_seed(11);
    int n_split = 0;
    for (int i = 0; i < 100000; i++)
    {
        double bytes = exp(g_rand_double_range(random, 0, 20)), total = exp(g_rand_double_range(random, 0, 20));
        if (ifm_bandwidth_split(&fit, bytes, total, &transfer, &compute) != NULL)
            continue;
        n_split++;
        volatile double sum = transfer + compute;
        g_assert_cmpfloat(sum, ==, total);
        g_assert_cmpfloat_with_epsilon(transfer, bytes * fit.slope_ns_per_byte, 1e-15 * total);
        g_assert_cmpfloat(transfer, >=, 0);
        g_assert_cmpfloat(compute, >=, 0);
    }
    g_assert_cmpint(n_split, >, 30000);
}

/* --- the published 55-size table ---------------------------------------------------------------------------------------
 */

/* What the tables count as a stage's data: float32 features and messages of width 500, int64 indices. */
static double table_bytes(int stage, const IfmLookupPoint *point)
{
    double n = point->nodes, e = point->edges, width = PUBLISHED_WIDTH * 4, index = 2 * e * 8;
    const double bytes[] = { n * width + index, e * width + index, e * width + index, n * width + index,
                             n * width + n * 4, n * width,         n * width };
    return bytes[stage - 1];
}

/* The same line in the plainest way: normal equations, not centred, in a wider number. */
static void plain_fit(const double *x, const double *y, gsize n, double *slope, double *intercept, double *slope_error)
{
    long double sx = 0, sy = 0, sxx = 0, sxy = 0, residuals = 0;
    for (gsize i = 0; i < n; i++)
        sx += x[i], sy += y[i], sxx += (long double)x[i] * x[i], sxy += (long double)x[i] * y[i];
    long double b = (n * sxy - sx * sy) / (n * sxx - sx * sx), a = (sy - b * sx) / n;
    for (gsize i = 0; i < n; i++)
        residuals += (y[i] - a - b * x[i]) * (y[i] - a - b * x[i]);
    *slope = b, *intercept = a;
    *slope_error = sqrtl(residuals / (n - 2) / (sxx - sx * sx / n));
}

typedef struct
{
    int n_fits, n_identifiable, n_rows, n_identifiable_rows, n_split, n_flagged;
} Tally;

static void check_published(const char *device, int stage, Tally *tally)
{
    Published published = published_read("large-55-sizes.csv", device, stage);
    tally->n_flagged += published.n_flagged;
    tally->n_rows += published.n;
    if (published.n < 3)
    {
        g_test_message("%s stage %d: %" G_GSIZE_FORMAT " latencies, %" G_GSIZE_FORMAT " flagged rows", device, stage,
                       published.n, published.n_flagged);
        return;
    }
    double x[PUBLISHED_MAX], y[PUBLISHED_MAX], slope, intercept, slope_error;
    for (gsize i = 0; i < published.n; i++)
        x[i] = table_bytes(stage, &published.points[i]), y[i] = published.points[i].latency_ns;
    IfmBandwidthFit fit = fit_of(x, y, published.n);
    plain_fit(x, y, published.n, &slope, &intercept, &slope_error);
    assert_near(fit.slope_ns_per_byte, slope, 1e-9);
    g_assert_cmpfloat_with_epsilon(fit.intercept_ns, intercept, 1e-9 * fabs(intercept) + 1e-6);
    double half = ifm_student_quantile(0.975, published.n - 2) * slope_error;
    assert_near(fit.slope_interval.upper - fit.slope_interval.lower, 2 * half, 1e-9);
    g_assert_cmpint(fit.identifiable, ==, slope - half > 0);
    tally->n_fits++;
    tally->n_identifiable += fit.identifiable;
    int n_split = 0;
    for (gsize i = 0; i < published.n; i++)
    {
        double transfer, compute;
        const char *why = ifm_bandwidth_split(&fit, x[i], y[i], &transfer, &compute);
        gboolean possible = fit.identifiable && x[i] * slope <= y[i];
        g_assert_cmpint(why == NULL, ==, possible);
        n_split += possible;
    }
    tally->n_identifiable_rows += fit.identifiable ? published.n : 0;
    tally->n_split += n_split;
    g_test_message("| %s | %d | %" G_GSIZE_FORMAT " | %.3g | %.3g to %.3g | %.2f | %.1f | %s | %d |", device, stage,
                   published.n, fit.bytes_per_s / 1e9, fit.bytes_per_s_interval.lower / 1e9,
                   fit.bytes_per_s_interval.upper / 1e9, fit.r_squared, fit.intercept_ns / 1e6, fit.why, n_split);
}

static void test_published(void)
{
    g_test_message("| device | stage | sizes | GB/s | 95 %% interval | R squared | intercept, ms | why not | rows split |");
    Tally tally = { 0 };
    for (gsize i = 0; i < G_N_ELEMENTS(published_devices); i++)
        for (int stage = 1; stage <= PUBLISHED_STAGES; stage++)
            check_published(published_devices[i], stage, &tally);
    g_test_message(
        "%d fits, %d identifiable; %d latencies and %d flagged rows; %d rows of identifiable fits, %d of them split",
        tally.n_fits, tally.n_identifiable, tally.n_rows, tally.n_flagged, tally.n_identifiable_rows, tally.n_split);
    g_assert_cmpint(tally.n_flagged, ==, 180 + 19); /* data/meteor-lake/README.md */
    g_assert_cmpint(tally.n_rows + tally.n_flagged, ==, 1045);
}

/* A link's line: relative errors, so that small copies count. */
static void test_link(void)
{
    static const double x[] = { 0, 1, 2 }, y[] = { 1, 2, 4 };
    IfmBandwidthFit fit;
    /* By hand, with the weights 1, 1/4 and 1/16: mean size 2/7, mean latency 4/3, products 0.5, squares 11/28. */
    g_assert_true(ifm_link_fit(x, y, 3, 0.95, &fit, NULL));
    assert_near(fit.slope_ns_per_byte, 14.0 / 11, 1e-14);
    assert_near(fit.intercept_ns, 32.0 / 33, 1e-14);
    double residuals =
        pow(1 - 32.0 / 33, 2) + pow(2 - 32.0 / 33 - 14.0 / 11, 2) / 4 + pow(4 - 32.0 / 33 - 28.0 / 11, 2) / 16;
    assert_near(fit.r_squared, 1 - residuals / (1.0 / 9 + 4.0 / 36 + 64.0 / 9 / 16), 1e-13);
    double t = 12.70620474; /* the 0.975 quantile for 1 degree of freedom */
    assert_near(fit.slope_interval.upper - fit.slope_ns_per_byte, t * sqrt(residuals / (11.0 / 28)), 1e-8);
    g_assert_false(fit.identifiable);

    /* A copy that gets slower where the cache ends: the plain line makes its fixed cost negative, this one does not. */
    static const double bytes[] = { 4e3, 16e3, 64e3, 256e3, 1e6, 4e6, 16e6 };
    double copy[7];
    for (int i = 0; i < 7; i++)
        copy[i] = 200 + bytes[i] * (bytes[i] > 2e6 ? 0.12 : 0.05);
    IfmBandwidthFit plain = fit_of(bytes, copy, 7);
    g_assert_cmpfloat(plain.intercept_ns, <, -1000);
    g_assert_true(ifm_link_fit(bytes, copy, 7, 0.95, &fit, NULL));
    g_assert_cmpfloat(fit.intercept_ns, >, 0);
    g_assert_cmpfloat(fit.intercept_ns, <, 400);

    /* On a line it is the line. */
    for (int i = 0; i < 7; i++)
        copy[i] = 30000 + bytes[i] * 0.1;
    g_assert_true(ifm_link_fit(bytes, copy, 7, 0.95, &fit, NULL));
    assert_near(fit.intercept_ns, 30000, 1e-12);
    assert_near(fit.slope_ns_per_byte, 0.1, 1e-12);
    g_assert_cmpfloat(fit.slope_interval.lower, ==, fit.slope_ns_per_byte);

    /* No copy takes less than no time: by hand, the slope is the sum of x / y over the sum of (x / y)^2. */
    static const double sizes[] = { 1, 2, 3 }, steep[] = { 1, 3, 5 };
    g_assert_true(ifm_link_fit(sizes, steep, 3, 0.95, &fit, NULL));
    g_assert_cmpfloat(fit.intercept_ns, ==, 0);
    assert_near(fit.slope_ns_per_byte, (1 + 2.0 / 3 + 3.0 / 5) / (1 + 4.0 / 9 + 9.0 / 25), 1e-14);
    g_assert_cmpfloat(fit.intercept_interval.lower, ==, 0);
    g_assert_cmpfloat(fit.intercept_interval.upper, >=, 0);
    g_assert_cmpfloat(fit.slope_interval.lower, <, fit.slope_ns_per_byte);

    static const double equal[] = { 5, 5, 5 }, nothing[] = { 1, 0, 4 }, not_a_number[] = { 1, NAN, 4 };
    g_assert_false(ifm_link_fit(x, y, 2, 0.95, &fit, NULL));
    g_assert_false(ifm_link_fit(equal, y, 3, 0.95, &fit, NULL));
    g_assert_false(ifm_link_fit(x, nothing, 3, 0.95, &fit, NULL));
    g_assert_false(ifm_link_fit(x, not_a_number, 3, 0.95, &fit, NULL));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/bandwidth/exact", test_exact);
    g_test_add_func("/bandwidth/norris", test_norris);
    g_test_add_func("/bandwidth/falling", test_falling);
    g_test_add_func("/bandwidth/not-identifiable", test_not_identifiable);
    g_test_add_func("/bandwidth/refused", test_refused);
    g_test_add_func("/bandwidth/split", test_split);
    g_test_add_func("/bandwidth/published", test_published);
    g_test_add_func("/bandwidth/link", test_link);
    return g_test_run();
}
