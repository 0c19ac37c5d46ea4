#include <base/statistics.h>
#include <float.h>
#include <math.h>

#include "predict-private.h"

/* Sums over the points, each weighted by 1 / latency^2, sizes in units of the largest. */
typedef struct
{
    double unit, weights, mean_x, mean_y, xx, xy, yy;
} Sums;

static double weight(double latency_ns)
{
    return 1 / (latency_ns * latency_ns);
}

static void sum_up(Sums *sums, const double *data_bytes, const double *latency_ns, gsize n)
{
    *sums = (Sums){ 0 };
    for (gsize i = 0; i < n; i++)
        sums->unit = fmax(sums->unit, data_bytes[i]);
    for (gsize i = 0; i < n; i++)
    {
        sums->weights += weight(latency_ns[i]);
        sums->mean_x += weight(latency_ns[i]) * data_bytes[i] / sums->unit;
        sums->mean_y += weight(latency_ns[i]) * latency_ns[i];
    }
    sums->mean_x /= sums->weights;
    sums->mean_y /= sums->weights;
    for (gsize i = 0; i < n; i++)
    {
        double x = data_bytes[i] / sums->unit - sums->mean_x, y = latency_ns[i] - sums->mean_y;
        sums->xx += weight(latency_ns[i]) * x * x;
        sums->xy += weight(latency_ns[i]) * x * y;
        sums->yy += weight(latency_ns[i]) * y * y;
    }
}

static gboolean check_points(const double *data_bytes, const double *latency_ns, gsize n, double level, GError **error)
{
    gboolean differ = FALSE;
    if (!ifm_fit_check("link", "sizes", "a line", n, level, error))
        return FALSE;
    for (gsize i = 0; i < n; i++)
    {
        if (!(data_bytes[i] >= 0 && data_bytes[i] < 1e100 && latency_ns[i] > 1e-100 && latency_ns[i] < 1e100))
            return ifm_error_refuse(error,
                                    "link fit: point %zu: %g bytes take %g ns; a size is 0 or more, a latency above 0",
                                    i + 1, data_bytes[i], latency_ns[i]);
        differ |= data_bytes[i] != data_bytes[0];
    }
    if (!differ)
        ifm_error_refuse(error, "link fit: all sizes are %g bytes; a line takes two that differ", data_bytes[0]);
    return differ;
}

/* No copy takes less than no time: of the lines that stand at 0 or above without data, the best goes through the origin
 * where the free one lies below it. @intercept_half: of the free line's interval: what of it is above 0 stays.
 * @yy: the latencies' weighted sum of squares about their mean */
static void fit_through_origin(const double *data_bytes, const double *latency_ns, gsize n, double level,
                               double intercept_half, double yy, IfmBandwidthFit *fit)
{
    double xx = 0, x_sum = 0, residuals = 0, weights = 0;
    for (gsize i = 0; i < n; i++)
    {
        double x = data_bytes[i] / latency_ns[i]; /* the latency itself is 1 */
        xx += x * x;
        x_sum += x;
        weights += weight(latency_ns[i]);
    }
    fit->slope_ns_per_byte = x_sum / xx;
    for (gsize i = 0; i < n; i++)
    {
        double residual = 1 - fit->slope_ns_per_byte * data_bytes[i] / latency_ns[i];
        residuals += residual * residual;
    }
    double spread = sqrt(residuals / (double)(n - 1)),
           half = ifm_student_quantile((1 + level) / 2, (double)(n - 1)) * spread / sqrt(xx);
    fit->slope_interval = (IfmInterval){ fit->slope_ns_per_byte - half, fit->slope_ns_per_byte + half, level };
    fit->intercept_interval = (IfmInterval){ 0, fmax(0, fit->intercept_ns + intercept_half), level };
    fit->intercept_ns = 0;
    fit->r_squared = yy > 0 ? CLAMP(1 - residuals / yy, 0, 1) : 0;
    fit->residual_std_ns = spread / sqrt(weights / (double)n);
    ifm_bandwidth_judge(fit);
}

gboolean ifm_link_fit(const double *data_bytes, const double *latency_ns, gsize n, double level, IfmBandwidthFit *fit,
                      GError **error)
{
    Sums sums;
    double residuals = 0;
    *fit = (IfmBandwidthFit){ .n = n };
    if (!check_points(data_bytes, latency_ns, n, level, error))
        return FALSE;
    sum_up(&sums, data_bytes, latency_ns, n);
    double slope = sums.xy / sums.xx;
    for (gsize i = 0; i < n; i++)
    {
        double residual = latency_ns[i] - sums.mean_y - slope * (data_bytes[i] / sums.unit - sums.mean_x);
        residuals += weight(latency_ns[i]) * residual * residual;
    }
    if (residuals <= n * pow(64 * DBL_EPSILON, 2))
        residuals = 0; /* on a line as exactly as doubles can express */
    double spread = sqrt(residuals / (double)(n - 2)), t = ifm_student_quantile((1 + level) / 2, (double)(n - 2));
    double slope_half = t * spread / sqrt(sums.xx) / sums.unit;
    double intercept_half = t * spread * sqrt(1 / sums.weights + sums.mean_x * sums.mean_x / sums.xx);
    fit->slope_ns_per_byte = slope / sums.unit;
    fit->intercept_ns = sums.mean_y - slope * sums.mean_x;
    fit->r_squared = sums.yy > 0 ? CLAMP(1 - residuals / sums.yy, 0, 1) : 0;
    fit->residual_std_ns = spread / sqrt(sums.weights / (double)n);
    if (fit->intercept_ns < 0)
    {
        fit_through_origin(data_bytes, latency_ns, n, level, intercept_half, sums.yy, fit);
        return TRUE;
    }
    fit->slope_interval = (IfmInterval){ fit->slope_ns_per_byte - slope_half, fit->slope_ns_per_byte + slope_half, level };
    fit->intercept_interval =
        (IfmInterval){ fit->intercept_ns - intercept_half, fit->intercept_ns + intercept_half, level };
    ifm_bandwidth_judge(fit);
    return TRUE;
}
