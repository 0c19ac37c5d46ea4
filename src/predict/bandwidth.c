#include <base/statistics.h>
#include <float.h>
#include <math.h>

#include "predict-private.h"

/* Values shifted and scaled for the fit: the first is subtracted, and the rest is divided by a power of two that brings
 * the largest near 1. Both steps keep whole numbers exact, and no sum of squares can overflow. */
typedef struct
{
    const double *values;
    double first, scale, largest; /* value = first + scale * shifted; largest |value| */
    double mean;                  /* of the shifted */
} Shifted;

static gboolean shifted_init(Shifted *shifted, const char *what, const double *values, gsize n, GError **error)
{
    *shifted = (Shifted){ .values = values, .first = values[0], .scale = 1 };
    double reach = 0;
    for (gsize i = 0; i < n; i++)
    {
        if (!(fabs(values[i]) < 1e300))
            return ifm_error_refuse(error, "bandwidth fit: %s %zu of %zu is %g, not a finite number below 1e300", what,
                                    i + 1, n, values[i]);
        reach = fmax(reach, fabs(values[i] - values[0]));
        shifted->largest = fmax(shifted->largest, fabs(values[i]));
    }
    if (reach > 0)
    {
        int exponent;
        frexp(reach, &exponent);
        shifted->scale = ldexp(1, CLAMP(exponent, -1000, 1000));
    }
    for (gsize i = 0; i < n; i++)
        shifted->mean += (values[i] - values[0]) / shifted->scale;
    shifted->mean /= n;
    return TRUE;
}

static double centred(const Shifted *shifted, gsize i)
{
    return (shifted->values[i] - shifted->first) / shifted->scale - shifted->mean;
}

static double mean_of(const Shifted *shifted)
{
    return shifted->first + shifted->scale * shifted->mean;
}

/* Sum of products of the deviations. The second term removes what rounding left in the means. */
static double centred_products(const Shifted *a, const Shifted *b, gsize n)
{
    double products = 0, left_a = 0, left_b = 0;
    for (gsize i = 0; i < n; i++)
    {
        products += centred(a, i) * centred(b, i);
        left_a += centred(a, i);
        left_b += centred(b, i);
    }
    return products - left_a * left_b / n;
}

/* The largest sum of squares that rounding alone may leave for n values of this size. */
static double rounding_squares(double largest, gsize n)
{
    double each = 4 * DBL_EPSILON * largest;
    return n * each * each;
}

/* Fills all results from the line. scaled: slope and sums in shifted units. */
static void fill_line(IfmBandwidthFit *fit, const Shifted *x, const Shifted *y, double xx, double yy, double slope,
                      double level)
{
    gsize n = fit->n;
    double residuals = 0;
    for (gsize i = 0; i < n; i++)
    {
        double residual = centred(y, i) - slope * centred(x, i);
        residuals += residual * residual;
    }
    if (residuals <= rounding_squares(y->largest / y->scale + fabs(slope) * x->largest / x->scale, n))
        residuals = 0; /* the points lie on a line as exactly as doubles can express */
    fit->slope_ns_per_byte = slope * (y->scale / x->scale);
    fit->intercept_ns = mean_of(y) - fit->slope_ns_per_byte * mean_of(x);
    fit->r_squared = yy > 0 ? CLAMP(1 - residuals / yy, 0, 1) : 0;
    double deviation = sqrt(residuals / (n - 2));
    fit->residual_std_ns = deviation * y->scale;
    double t = ifm_student_quantile((1 + level) / 2, n - 2);
    double slope_half = t * deviation / sqrt(xx) * (y->scale / x->scale);
    double mean = mean_of(x) / x->scale;
    double intercept_half = t * fit->residual_std_ns * sqrt(1.0 / n + mean * mean / xx);
    fit->slope_interval = (IfmInterval){ fit->slope_ns_per_byte - slope_half, fit->slope_ns_per_byte + slope_half, level };
    fit->intercept_interval =
        (IfmInterval){ fit->intercept_ns - intercept_half, fit->intercept_ns + intercept_half, level };
}

void ifm_bandwidth_judge(IfmBandwidthFit *fit)
{
    const IfmInterval *slope = &fit->slope_interval;
    fit->identifiable = fit->slope_ns_per_byte > 0 && slope->lower > 0;
    fit->bytes_per_s = NAN;
    fit->bytes_per_s_interval = (IfmInterval){ NAN, NAN, slope->level };
    if (fit->identifiable)
    {
        fit->bytes_per_s = 1e9 / fit->slope_ns_per_byte;
        fit->bytes_per_s_interval = (IfmInterval){ 1e9 / slope->upper, 1e9 / slope->lower, slope->level };
    }
    else if (!(fit->slope_ns_per_byte > 0))
        g_snprintf(fit->why, sizeof(fit->why), "latency does not rise with the data: slope %.3g ns/B",
                   fit->slope_ns_per_byte);
    else
        g_snprintf(fit->why, sizeof(fit->why), "the slope's %.4g %% interval [%.3g, %.3g] ns/B holds 0", 100 * slope->level,
                   slope->lower, slope->upper);
}

gboolean ifm_fit_check(const char *fit, const char *points, const char *found, gsize n, double level, GError **error)
{
    return (n >= 3 && level > 0 && level < 1) ||
           ifm_error_refuse(error, "%s fit: %zu %s at level %g; %s with an interval takes 3 and a level between 0 and 1",
                            fit, n, points, level, found);
}

gboolean ifm_bandwidth_fit(const double *data_bytes, const double *latency_ns, gsize n, double level, IfmBandwidthFit *fit,
                           GError **error)
{
    *fit = (IfmBandwidthFit){ .n = n };
    if (!ifm_fit_check("bandwidth", "sizes", "a line", n, level, error))
        return FALSE;
    Shifted x, y;
    if (!shifted_init(&x, "data size", data_bytes, n, error) || !shifted_init(&y, "latency", latency_ns, n, error))
        return FALSE;
    double xx = centred_products(&x, &x, n), yy = centred_products(&y, &y, n);
    if (xx == 0)
        return ifm_error_refuse(error, "bandwidth fit: all %zu data sizes are %g bytes; a line takes two that differ", n,
                                x.first);
    if (yy <= rounding_squares(y.largest / y.scale, n))
        yy = 0;
    fill_line(fit, &x, &y, xx, yy, yy > 0 ? centred_products(&x, &y, n) / xx : 0, level);
    ifm_bandwidth_judge(fit);
    return TRUE;
}

const char *ifm_bandwidth_split(const IfmBandwidthFit *fit, double data_bytes, double total_ns, double *transfer_ns,
                                double *compute_ns)
{
    *transfer_ns = *compute_ns = NAN;
    if (!(isfinite(total_ns) && total_ns > 0 && isfinite(data_bytes) && data_bytes >= 0))
        return "there is no latency or no data size to split";
    if (!fit->identifiable)
        return fit->why;
    double transfer = data_bytes * fit->slope_ns_per_byte;
    if (transfer > total_ns)
        return "compute would be negative: the fitted bandwidth's transfer alone takes longer than the whole";
    *compute_ns = total_ns - transfer;
    *transfer_ns =
        total_ns -
        *compute_ns; /* equal to the transfer except for the last bit of the total, so that the two add up exactly */
    return NULL;
}
