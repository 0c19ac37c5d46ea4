#include "statistics-private.h"

#include <base/statistics.h>
#include <math.h>

/* The continued fraction of the incomplete beta function, by Lentz's method. It converges fast for x < (a + 1) / (a + b +
 * 2). Source: DLMF 8.17.22 */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int m = 1; m < 100000; m++)
    {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        double step = 1;
        for (int half = 0; half < 2; half++)
        {
            double term = half == 0 ? even : odd;
            d = 1 + term * d;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = 1 + term / c;
            c = fabs(c) < tiny ? tiny : c;
            step = c * d;
            value *= step;
        }
        if (fabs(step - 1) < 1e-15)
            break;
    }
    return value;
}

/* lgamma() writes the global signgam, so it is not safe in threads. */
static double log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

/* The regularised incomplete beta function I_x(a, b). */
static double beta_regularised(double a, double b, double x)
{
    if (x <= 0 || x >= 1)
        return x <= 0 ? 0 : 1;
    double front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* The x with I_x(a, b) = p, by bisection: I is monotone, and speed does not matter here. */
static double beta_quantile(double a, double b, double p)
{
    double low = 0, high = 1;
    for (int i = 0; i < 200 && high - low > 1e-16 * high; i++)
    {
        double middle = low + (high - low) / 2;
        if (beta_regularised(a, b, middle) < p)
            low = middle;
        else
            high = middle;
    }
    return low + (high - low) / 2;
}

/* P(B <= k) for B binomial(n, p). */
double ifm_binomial_cdf(gint64 k, gint64 n, double p)
{
    if (k < 0 || k >= n)
        return k < 0 ? 0 : 1;
    return beta_regularised(n - k, k + 1, 1 - p);
}

IfmInterval ifm_binomial_interval(gsize k, gsize n, double level)
{
    g_return_val_if_fail(k <= n, ((IfmInterval){ NAN, NAN, level }));
    double tail = (1 - level) / 2;
    return (IfmInterval){
        .lower = k == 0 ? 0 : beta_quantile(k, n - k + 1, tail),
        .upper = k == n ? 1 : 1 - beta_quantile(n - k, k + 1, tail),
        .level = level,
    };
}

/* Two-sided p of Student's t. */
double ifm_student_p(double t, double freedom)
{
    if (isinf(t))
        return 0;
    return beta_regularised(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double ifm_student_quantile(double p, double freedom)
{
    if (!(p > 0 && p < 1 && freedom > 0 && isfinite(freedom)))
        return NAN;
    if (p == 0.5)
        return 0;
    /* x = freedom / (freedom + t^2) is beta(freedom / 2, 1/2) and 1 - x is beta(1/2, freedom / 2). The smaller one
     * is computed: the other is close to 1, so 1 minus it would have few digits. */
    double both = 2 * MIN(p, 1 - p), t;
    if (both < 0.5)
    {
        double x = beta_quantile(freedom / 2, 0.5, both);
        t = sqrt(freedom * (1 - x) / x);
    }
    else
    {
        double rest = beta_quantile(0.5, freedom / 2, 1 - both);
        t = sqrt(freedom * rest / (1 - rest));
    }
    return p < 0.5 ? -t : t;
}
