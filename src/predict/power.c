#include <math.h>

#include "predict-private.h"

/* A power is a line through the logarithms: the fit is ifm_bandwidth_fit(). */

static gboolean refuse(GError **error, const char *what, gsize i, gsize n, double value, const char *right)
{
    return ifm_error_refuse(error, "power fit: %s %zu of %zu is %g, not %s", what, i + 1, n, value, right);
}

static gboolean take_logarithms(const char *what, const double *values, gsize n, double *logarithms, GError **error)
{
    for (gsize i = 0; i < n; i++)
    {
        if (!(isfinite(values[i]) && values[i] > 0))
            return refuse(error, what, i, n, values[i], "a finite number above 0");
        logarithms[i] = log(values[i]);
    }
    return TRUE;
}

/*
 * The interval of a difference from those of its two terms. Each end is off by the root of the sum of squares of how
 * far the ends that move it are off. Source: Zou & Donner, Statistics in Medicine 27, 2008 (MOVER).
 */
static IfmInterval interval_between(const double *y, const IfmInterval *of, double difference, double run)
{
    double rise = hypot(log(of[1].upper / y[1]), log(y[0] / of[0].lower));
    double fall = hypot(log(y[1] / of[1].lower), log(of[0].upper / y[0]));
    if (!isfinite(rise) || !isfinite(fall))
        return (IfmInterval){ NAN, NAN, of[1].level };
    return (IfmInterval){ (difference - fall) / run, (difference + rise) / run, of[1].level };
}

gboolean ifm_power_fit(const double *x, const double *y, const IfmInterval *y_interval, gsize n, double level,
                       IfmPowerFit *fit, GError **error)
{
    *fit = (IfmPowerFit){ .n = n };
    if (!ifm_fit_check("power", "points", "an exponent", n, level, error))
        return FALSE;
    g_autofree double *log_x = g_new0(double, n), *log_y = g_new0(double, n);
    if (!take_logarithms("x", x, n, log_x, error) || !take_logarithms("y", y, n, log_y, error))
        return FALSE;
    for (gsize i = 1; i < n; i++)
        if (!(log_x[i] > log_x[i - 1]))
            return refuse(error, "x", i, n, x[i], "above the one before it");
    IfmBandwidthFit line;
    if (!ifm_bandwidth_fit(log_x, log_y, n, level, &line, error))
        return FALSE;
    fit->exponent = line.slope_ns_per_byte;
    fit->interval = line.slope_interval;
    fit->factor = exp(line.intercept_ns);
    fit->r_squared = line.r_squared;
    double run = log_x[n - 1] - log_x[n - 2], difference = log_y[n - 1] - log_y[n - 2];
    fit->last = difference / run;
    fit->last_interval = (IfmInterval){ NAN, NAN, level };
    if (y_interval != NULL)
        fit->last_interval = interval_between(y + n - 2, y_interval + n - 2, difference, run);
    return TRUE;
}
