#pragma once
#include <inferometer/grid.h>
#include <inferometer/statistics.h>

IFM_BEGIN_DECLS

/* --- latency against data size ---------------------------------------------------------------------------------------- */

/**
 * IfmBandwidthFit: a straight line through latencies over data sizes. Its slope is read as a transfer, its intercept as
 * the rest. Compute grows with the size, too: the result is an estimate by regression, not a measurement of a transfer.
 */
typedef struct
{
    gsize n;
    double slope_ns_per_byte, intercept_ns;
    IfmInterval slope_interval, intercept_interval; /* Student's t, n - 2 degrees of freedom */
    double r_squared;                               /* 0 where the latencies do not vary */
    double residual_std_ns;                         /* with n - 2 degrees of freedom */
    gboolean identifiable;                          /* the slope and its whole interval are above 0 */
    char why[160];                                  /* if not identifiable, the reason in one line; else "" */
    double bytes_per_s;                             /* 1e9 / slope; NaN where not identifiable */
    IfmInterval bytes_per_s_interval;
} IfmBandwidthFit;

/**
 * ifm_bandwidth_fit: Fits a line by ordinary least squares.
 * Equals: latency_ns = intercept_ns + data_bytes / bandwidth
 * @data_bytes: [n]    @latency_ns: [n] medians of one case each    @level: of the intervals, 0.95
 * Returns: FALSE with IFM_ERROR_INVALID if n < 3, all sizes are equal, or a number is not finite. A slope <= 0 is not
 * an error: `identifiable` is FALSE.
 * Source: e.g. Draper & Smith, Applied Regression Analysis, 1.4
 */
gboolean ifm_bandwidth_fit(const double *data_bytes, const double *latency_ns, gsize n, double level, IfmBandwidthFit *fit,
                           GError **error);

/**
 * ifm_bandwidth_split: Splits one latency into transfer and compute.
 * Equals: transfer = data_bytes / bandwidth, compute = total - transfer; the two add up to the total exactly
 * @transfer_ns, @compute_ns: (out) both NaN if there is no split
 * Returns: NULL, or one line (borrowed from @fit or static) why there is no split: the bandwidth is not identifiable,
 * compute would be negative, or the total (above 0) or the data size (0 or above) is unknown.
 */
const char *ifm_bandwidth_split(const IfmBandwidthFit *fit, double data_bytes, double total_ns, double *transfer_ns,
                                double *compute_ns);

/**
 * ifm_link_fit: Fits the line of a link, a fixed cost and a bandwidth, by least squares of the relative errors. The
 * small copies, which determine the fixed cost, then count as much as the large ones, whose errors are larger in ns.
 * Equals: the minimum of the sum of ((intercept_ns + data_bytes / bandwidth) / latency_ns - 1)^2 with intercept_ns >= 0
 * @data_bytes, @latency_ns: [n], sizes 0 or more, latencies above 0
 * @fit: (out) residual_std_ns is for the weighted mean latency; r_squared is of the weighted sums
 * Returns, errors: as ifm_bandwidth_fit().
 */
gboolean ifm_link_fit(const double *data_bytes, const double *latency_ns, gsize n, double level, IfmBandwidthFit *fit,
                      GError **error);

/* --- growth by a power ------------------------------------------------------------------------------------------------ */

/**
 * IfmPowerFit: y as a power of x, y = factor x^exponent, by least squares of the logarithms.
 * @interval: of the exponent, Student's t with n - 2 degrees of freedom. It states how well one power fits, not how
 * precisely each y is known: a curve that bends has a wide interval.
 * @last: the exponent between the last two x alone, where a bending curve has nearly its final slope
 * @last_interval: from the intervals of those two y, taken as independent, and of their level; NaN without them
 */
typedef struct
{
    gsize n;
    double exponent, factor, r_squared;
    IfmInterval interval;
    double last;
    IfmInterval last_interval;
} IfmPowerFit;

/**
 * ifm_power_fit:
 * Equals: log y = log factor + exponent log x, least squares; last = log(y[n-1] / y[n-2]) / log(x[n-1] / x[n-2])
 * @x, @y: [n], above 0, x ascending    @y_interval: [n], each around its y, or NULL    @level: 0.95
 * Returns: FALSE with IFM_ERROR_INVALID where n < 3, x does not ascend, or a number is not finite or not above 0.
 */
gboolean ifm_power_fit(const double *x, const double *y, const IfmInterval *y_interval, gsize n, double level,
                       IfmPowerFit *fit, GError **error);

/* --- latency between measured sizes ----------------------------------------------------------------------------------- */

/** IfmLookup: latencies of one thing on one device over nodes and edges. Immutable: threads may share it. */
typedef struct IfmLookup IfmLookup;

typedef struct
{
    gint64 nodes, edges;
    double latency_ns;
} IfmLookupPoint;

/**
 * ifm_lookup_new: Interpolates linearly between the logarithms of nodes, edges per node and latency (IfmGrid: nodes,
 * then edges per node). A latency that is a product of powers of nodes and edges is met exactly. Why edges per node:
 * docs/predicting.md.
 * @points: [n], any order
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID for no point, a size or latency not above 0, or a size given
 * twice.
 */
IfmLookup *ifm_lookup_new(const IfmLookupPoint *points, gsize n, GError **error);
void ifm_lookup_free(IfmLookup *lookup);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmLookup, ifm_lookup_free)

/** ifm_lookup_at: @latency_ns: (out)    @origin: (out) (optional) IFM_GRID_OUTSIDE: extrapolated, a guess
 * Returns: FALSE with IFM_ERROR_INVALID for a size not above 0. */
gboolean ifm_lookup_at(const IfmLookup *lookup, double nodes, double edges, double *latency_ns, IfmGridOrigin *origin,
                       GError **error);

/** ifm_lookup_decades_outside: How far a size lies beyond the points, in nodes or in edges per node, whichever is more: 1:
 * ten times; 0: within them. Both sizes are above 0. */
double ifm_lookup_decades_outside(const IfmLookup *lookup, double nodes, double edges);

/** IfmLookupMiss: a point predicted from all others. */
typedef struct
{
    IfmLookupPoint point;
    double predicted_ns;
    double error_ratio; /* predicted / measured - 1 */
    IfmGridOrigin origin;
} IfmLookupMiss;

/** IfmLookupError: leave-one-out errors over the points. Points that need extrapolation are counted apart. Quantiles
 * are of |error_ratio|; NaN without such a point. */
typedef struct
{
    gsize n_interpolated, n_extrapolated;
    double median_ratio, p90_ratio, max_ratio;                /* of the interpolated */
    double extrapolated_median_ratio, extrapolated_max_ratio; /* of the others */
} IfmLookupError;

/** ifm_lookup_leave_one_out: Predicts each point from all others. @misses: (out) (optional) (transfer full)
 * IfmLookupMiss, in the order of @points
 * Returns: FALSE with IFM_ERROR_INVALID for fewer than 3 points, and as ifm_lookup_new(). */
gboolean ifm_lookup_leave_one_out(const IfmLookupPoint *points, gsize n, IfmLookupError *summary, GArray **misses,
                                  GError **error);

/* --- beyond the measured sizes ---------------------------------------------------------------------------------------- */

/**
 * IfmTrend: latency as a plane: a fixed cost, a cost per node and a cost per edge, none below 0. Near a measured point
 * the prediction is scaled by the plane's error at that point. It serves sizes that no measured points surround: where
 * points are scattered, a line through the two outermost ones may lead anywhere. Immutable.
 */
typedef struct IfmTrend IfmTrend;

/**
 * ifm_trend_fit: Fits the plane.
 * Equals: latency_ns = fixed + per_node x nodes + per_edge x edges, by the minimum sum of squared relative errors, with
 * coefficients of 0 or above
 * @points: [n]    Returns: (transfer full) NULL with IFM_ERROR_INVALID as ifm_lookup_new().
 */
IfmTrend *ifm_trend_fit(const IfmLookupPoint *points, gsize n, GError **error);
void ifm_trend_free(IfmTrend *trend);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmTrend, ifm_trend_free)
/** ifm_trend_at: The plane's value times the ratio of measured to plane at the points, averaged by 1 / distance^2 in
 * the logarithms of nodes and edges per node (Shepard). At a point it is the measured latency. Sizes above 0. */
double ifm_trend_at(const IfmTrend *trend, double nodes, double edges);
/** ifm_trend_coefficients: Of the plane. @coefficients: (out) [3] ns, ns a node, ns an edge */
void ifm_trend_coefficients(const IfmTrend *trend, double *coefficients);
/** ifm_trend_leave_one_out: @errors: (out) [n] |predicted / measured - 1| of each point from a trend through all others
 * Returns: FALSE with IFM_ERROR_INVALID for fewer than 3 points, and as ifm_lookup_new(). */
gboolean ifm_trend_leave_one_out(const IfmLookupPoint *points, gsize n, double *errors, GError **error);

IFM_END_DECLS
