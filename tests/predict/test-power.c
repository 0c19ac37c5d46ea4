#include <math.h>

#include <predict/predict.h>

/* An exponent and its interval. References are computed here, from the textbook's sums and a table of t. */

static IfmPowerFit fit_of(const double *x, const double *y, const IfmInterval *intervals, gsize n)
{
    IfmPowerFit fit;
    g_autoptr(GError) error = NULL;
    gboolean fitted = ifm_power_fit(x, y, intervals, n, 0.95, &fit, &error);
    g_assert_no_error(error);
    g_assert_true(fitted);
    g_assert_cmpuint(fit.n, ==, n);
    return fit;
}

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        g_error("%.17g is not within %g of %.17g", value, tolerance, expected);
}

/* Powers of two, whose logarithms are exact up to a common factor: no residual, so no width. */
static void test_exact(void)
{
    static const double x[] = { 1, 2, 4, 8, 16 };
    static const int exponents[] = { -2, 0, 1, 2, 3 };
    for (gsize e = 0; e < G_N_ELEMENTS(exponents); e++)
    {
        double y[5];
        for (int i = 0; i < 5; i++)
            y[i] = 3 * pow(x[i], exponents[e]);
        IfmPowerFit fit = fit_of(x, y, NULL, 5);
        assert_near(fit.exponent, exponents[e], 1e-14);
        assert_near(fit.factor, 3, 1e-13);
        assert_near(fit.last, exponents[e], 1e-14);
        assert_near(fit.interval.lower, fit.exponent, 0);
        assert_near(fit.interval.upper, fit.exponent, 0);
        g_assert_cmpfloat(fit.interval.level, ==, 0.95);
        g_assert_cmpfloat(fit.r_squared, ==, exponents[e] == 0 ? 0 : 1);
        g_assert_true(isnan(fit.last_interval.lower) && isnan(fit.last_interval.upper));
    }
}

/* Sizes and times as they are measured, powers that are no whole numbers. */
static void test_fractions(void)
{
    static const double x[] = { 100, 500, 1000, 2000, 5000 };
    for (double exponent = -1.75; exponent < 3; exponent += 0.35)
    {
        double y[5];
        for (int i = 0; i < 5; i++)
            y[i] = 1.7e4 * pow(x[i], exponent);
        IfmPowerFit fit = fit_of(x, y, NULL, 5);
        assert_near(fit.exponent, exponent, 1e-13);
        assert_near(fit.factor / 1.7e4, 1, 1e-12);
        assert_near(fit.last, exponent, 1e-13);
        assert_near(fit.interval.upper - fit.interval.lower, 0, 1e-12);
    }
}

/* y = a + b x^2: the last pair tells more of the end than the fit of all, whose interval is wide: it bends. */
static void test_bends(void)
{
    static const double x[] = { 100, 500, 1000, 2000, 5000 };
    double y[5];
    for (int i = 0; i < 5; i++)
        y[i] = 1e6 + x[i] * x[i];
    IfmPowerFit fit = fit_of(x, y, NULL, 5);
    assert_near(fit.last, log(26.0 / 5.0) / log(2.5), 1e-14);
    g_assert_cmpfloat(fit.exponent, <, fit.last);
    g_assert_cmpfloat(fit.interval.upper - fit.interval.lower, >, 0.5);
}

/* --- intervals -------------------------------------------------------------------------------------------------------- */

#define N_POINTS 6
static const double sizes[N_POINTS] = { 2, 4, 6, 8, 12, 16 };
static const double t_4 = 2.7764451051977987; /* the 0.975 quantile of Student's t with 4 degrees of freedom, from tables */

/* By the textbook's sums, in long double. */
static void reference_fit(const double *x, const double *y, long double *slope, long double *half)
{
    long double sx = 0, sy = 0, sxx = 0, sxy = 0, squares = 0;
    for (int i = 0; i < N_POINTS; i++)
    {
        long double a = logl((long double)x[i]), b = logl((long double)y[i]);
        sx += a, sy += b, sxx += a * a, sxy += a * b;
    }
    long double spread = sxx - sx * sx / N_POINTS;
    *slope = (sxy - sx * sy / N_POINTS) / spread;
    long double level = (sy - *slope * sx) / N_POINTS;
    for (int i = 0; i < N_POINTS; i++)
    {
        long double residual = logl((long double)y[i]) - level - *slope * logl((long double)x[i]);
        squares += residual * residual;
    }
    *half = t_4 * sqrtl(squares / (N_POINTS - 2) / spread);
}

/* Standard normal, by Box and Muller. */
static double normal(GRand *random)
{
    double u = 1 - g_rand_double(random), v = g_rand_double(random);
    return sqrt(-2 * log(u)) * cos(2 * G_PI * v);
}

#define N_DRAWS 4000
#define TRUE_EXPONENT 1.6

/* Each fit is the textbook's, and its interval holds the true exponent as often as it says: of 4000 draws 95 % within
 * three standard deviations of that count. */
static void test_interval(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(42);
    int n_held = 0;
    for (int draw = 0; draw < N_DRAWS; draw++)
    {
        double y[N_POINTS];
        long double slope, half;
        for (int i = 0; i < N_POINTS; i++)
            y[i] = 5 * pow(sizes[i], TRUE_EXPONENT) * exp(0.1 * normal(random));
        IfmPowerFit fit = fit_of(sizes, y, NULL, N_POINTS);
        reference_fit(sizes, y, &slope, &half);
        assert_near(fit.exponent, (double)slope, 1e-12);
        assert_near(fit.interval.upper, (double)(slope + half), 1e-11);
        assert_near(fit.interval.lower, (double)(slope - half), 1e-11);
        n_held += fit.interval.lower <= TRUE_EXPONENT && TRUE_EXPONENT <= fit.interval.upper;
    }
    double share = (double)n_held / N_DRAWS, deviation = sqrt(0.95 * 0.05 / N_DRAWS);
    g_test_message("held in %.2f %% of %d draws", 100 * share, N_DRAWS);
    assert_near(share, 0.95, 3 * deviation);
}

/* The exponent at the large end: each y known to within a normal error of its own, of which 1.96 standard deviations are
 * its interval, one of them lopsided in what they are given in. */
static void test_last_interval(void)
{
    static const double spread[N_POINTS] = { 0.5, 0.5, 0.5, 0.5, 0.01, 0.03 };
    g_autoptr(GRand) random = g_rand_new_with_seed(7);
    int n_held = 0;
    for (int draw = 0; draw < N_DRAWS; draw++)
    {
        double y[N_POINTS];
        IfmInterval intervals[N_POINTS];
        for (int i = 0; i < N_POINTS; i++)
        {
            y[i] = 5 * pow(sizes[i], TRUE_EXPONENT) * exp(spread[i] * normal(random));
            double factor = exp(1.959963984540054 * spread[i]);
            intervals[i] = (IfmInterval){ y[i] / factor, y[i] * factor, 0.95 };
        }
        IfmPowerFit fit = fit_of(sizes, y, intervals, N_POINTS);
        double run = log(sizes[5] / sizes[4]), half = 1.959963984540054 * sqrt(0.01 * 0.01 + 0.03 * 0.03) / run;
        assert_near(fit.last, log(y[5] / y[4]) / run, 1e-12);
        assert_near(fit.last_interval.upper, fit.last + half, 1e-11);
        assert_near(fit.last_interval.lower, fit.last - half, 1e-11);
        n_held += fit.last_interval.lower <= TRUE_EXPONENT && TRUE_EXPONENT <= fit.last_interval.upper;
    }
    double share = (double)n_held / N_DRAWS;
    g_test_message("held in %.2f %% of %d draws", 100 * share, N_DRAWS);
    assert_near(share, 0.95, 3 * sqrt(0.95 * 0.05 / N_DRAWS));
}

/* Lopsided intervals move each end by those ends that push it: by hand. */
static void test_lopsided(void)
{
    static const double x[] = { 1, 2, 4 }, y[] = { 1, 2, 8 };
    static const IfmInterval intervals[] = { { 1, 1, 0.95 }, { 1, 2, 0.9 }, { 8, 16, 0.9 } };
    IfmPowerFit fit = fit_of(x, y, intervals, 3);
    assert_near(fit.last, 2, 1e-15);
    assert_near(fit.last_interval.upper, 2 + sqrt(2), 1e-14); /* up by the upper end's doubling and the lower's halving */
    assert_near(fit.last_interval.lower, 2, 1e-14);
    g_assert_cmpfloat(fit.last_interval.level, ==, 0.9);
    IfmInterval unknown[] = { { 1, 1, 0.95 }, { NAN, NAN, 0.95 }, { 8, 16, 0.95 } };
    fit = fit_of(x, y, unknown, 3);
    g_assert_true(isnan(fit.last_interval.lower) && isnan(fit.last_interval.upper));
}

/* --- what is no power ------------------------------------------------------------------------------------------------- */

static void assert_refused(const double *x, const double *y, gsize n, double level, const char *message)
{
    IfmPowerFit fit;
    g_autoptr(GError) error = NULL;
    g_assert_false(ifm_power_fit(x, y, NULL, n, level, &fit, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_cmpstr(error->message, ==, message);
}

static void test_refusals(void)
{
    static const double good[] = { 1, 2, 3 }, level[] = { 1, 2, 2 }, falls[] = { 3, 2, 1 }, zero[] = { 0, 1, 2 };
    const double below[] = { 1, -2, 3 }, nothing[] = { 1, 2, NAN }, endless[] = { 1, 2, INFINITY };
    assert_refused(good, good, 2, 0.95,
                   "power fit: 2 points at level 0.95; an exponent with an interval takes 3 and a level between 0 and 1");
    assert_refused(good, good, 3, 1,
                   "power fit: 3 points at level 1; an exponent with an interval takes 3 and a level between 0 and 1");
    assert_refused(level, good, 3, 0.95, "power fit: x 3 of 3 is 2, not above the one before it");
    assert_refused(falls, good, 3, 0.95, "power fit: x 2 of 3 is 2, not above the one before it");
    assert_refused(zero, good, 3, 0.95, "power fit: x 1 of 3 is 0, not a finite number above 0");
    assert_refused(good, below, 3, 0.95, "power fit: y 2 of 3 is -2, not a finite number above 0");
    assert_refused(good, nothing, 3, 0.95, "power fit: y 3 of 3 is nan, not a finite number above 0");
    assert_refused(good, endless, 3, 0.95, "power fit: y 3 of 3 is inf, not a finite number above 0");
    static const double huge[] = { 1e15, 1e15 + 1, 1e16 }; /* whose logarithms no double tells apart */
    assert_refused(huge, good, 3, 0.95, "power fit: x 2 of 3 is 1e+15, not above the one before it");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/power/exact", test_exact);
    g_test_add_func("/power/fractions", test_fractions);
    g_test_add_func("/power/bends", test_bends);
    g_test_add_func("/power/interval", test_interval);
    g_test_add_func("/power/last-interval", test_last_interval);
    g_test_add_func("/power/lopsided", test_lopsided);
    g_test_add_func("/power/refusals", test_refusals);
    return g_test_run();
}
