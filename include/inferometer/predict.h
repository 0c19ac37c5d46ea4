#pragma once
#include <inferometer/grid.h>
#include <inferometer/statistics.h>

G_BEGIN_DECLS

/* --- latency against data size ---------------------------------------------------------------------------------------- */

/**
 * IfmBandwidthFit: a straight line through latencies over data sizes, read as a transfer and the rest. Compute grows with
 * the size, too, so this is an estimate by regression and no measurement of a transfer.
 */
typedef struct
{
    gsize n;
    double slope_ns_per_byte, intercept_ns;
    IfmInterval slope_interval, intercept_interval; /* Student's t, n - 2 degrees of freedom */
    double r_squared;                               /* 0 where the latencies do not vary */
    double residual_std_ns;                         /* with n - 2 */
    gboolean identifiable;                          /* the slope and its whole interval are above 0 */
    char why[160];                                  /* one line where not identifiable, else "" */
    double bytes_per_s;                             /* 1e9 / slope; NaN where not identifiable */
    IfmInterval bytes_per_s_interval;
} IfmBandwidthFit;

/**
 * ifm_bandwidth_fit: Ordinary least squares.
 * Equals: latency_ns = intercept_ns + data_bytes / bandwidth
 * @data_bytes: [n]    @latency_ns: [n] medians of one case each    @level: of the intervals, 0.95
 * Returns: FALSE with IFM_ERROR_INVALID where n < 3, all sizes are equal, or a number is not finite. A slope <= 0 is no
 * error: `identifiable` is FALSE.
 * Source: e.g. Draper & Smith, Applied Regression Analysis, 1.4
 */
gboolean ifm_bandwidth_fit(const double *data_bytes, const double *latency_ns, gsize n, double level, IfmBandwidthFit *fit,
                           GError **error);

/**
 * ifm_bandwidth_split: One latency as transfer and compute.
 * Equals: transfer = data_bytes / bandwidth, compute = total - transfer; the two add up to the total exactly
 * @transfer_ns, @compute_ns: (out) NaN, both, where nothing can be said
 * Returns: NULL, or one line (borrowed from @fit or static) why there is no split: the bandwidth is not identifiable,
 * compute would be negative, or there is no total (above 0) or no data size (0 or above).
 */
const char *ifm_bandwidth_split(const IfmBandwidthFit *fit, double data_bytes, double total_ns, double *transfer_ns,
                                double *compute_ns);

/**
 * ifm_link_fit: The line of a link: a fixed cost and a bandwidth, by least squares of the relative errors, so that the
 * small copies, which tell the fixed cost, count as much as the large ones, whose errors are larger in ns. Equals: the
 * least sum of ((intercept_ns + data_bytes / bandwidth) / latency_ns - 1)^2
 * @data_bytes, @latency_ns: [n], sizes 0 or more, latencies above 0
 * @fit: (out) residual_std_ns is for the weighted mean latency; r_squared is of the weighted sums
 * Returns, errors: as ifm_bandwidth_fit().
 */
gboolean ifm_link_fit(const double *data_bytes, const double *latency_ns, gsize n, double level, IfmBandwidthFit *fit,
                      GError **error);

/* --- how something grows ------------------------------------------------------------------------------------------------
 */

/**
 * IfmPowerFit: y as a power of x, y = factor x^exponent, by least squares of the logarithms.
 * @interval: of the exponent, Student's t with n - 2 degrees of freedom. It says how well one power fits, not how well each
 * y is known: a curve that bends has a wide one.
 * @last: between the last two x alone, where a curve bends into what it will be; @last_interval: by the intervals of
 * those two y, taken as independent, and of their level; NaN where they were not given
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

/* --- latency at sizes never measured ---------------------------------------------------------------------------------- */

/** IfmLookup: latencies of one thing on one device over nodes and edges. Immutable: threads may share it. */
typedef struct IfmLookup IfmLookup;

typedef struct
{
    gint64 nodes, edges;
    double latency_ns;
} IfmLookupPoint;

/**
 * ifm_lookup_new: Interpolation linear between the logarithms of nodes, edges per node and latency (IfmGrid: nodes, then
 * edges per node). A latency that is a product of powers of nodes and edges comes out without error. Why edges per node:
 * docs/predicting.md.
 * @points: [n], any order
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID for no point, a size or latency not above 0, or a size given twice.
 */
IfmLookup *ifm_lookup_new(const IfmLookupPoint *points, gsize n, GError **error);
void ifm_lookup_free(IfmLookup *lookup);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmLookup, ifm_lookup_free)

/** ifm_lookup_at: @origin: (out) (optional) IFM_GRID_OUTSIDE: extrapolated, a guess. FALSE with IFM_ERROR_INVALID for a
 * size not above 0. */
gboolean ifm_lookup_at(const IfmLookup *lookup, double nodes, double edges, double *latency_ns, IfmGridOrigin *origin,
                       GError **error);

/** IfmLookupMiss: a point predicted from all others. */
typedef struct
{
    IfmLookupPoint point;
    double predicted_ns;
    double error_ratio; /* predicted / measured - 1 */
    IfmGridOrigin origin;
} IfmLookupMiss;

/** IfmLookupError: leave-one-out over the points; points that only extrapolation reaches are counted apart. Quantiles are
 * of |error_ratio|; NaN where there is no such point. */
typedef struct
{
    gsize n_interpolated, n_extrapolated;
    double median_ratio, p90_ratio, max_ratio;                /* of the interpolated */
    double extrapolated_median_ratio, extrapolated_max_ratio; /* of the others */
} IfmLookupError;

/** ifm_lookup_leave_one_out: @misses: (out) (optional) (transfer full) IfmLookupMiss, in the order of @points. FALSE with
 * IFM_ERROR_INVALID for fewer than 3 points, and as ifm_lookup_new(). */
gboolean ifm_lookup_leave_one_out(const IfmLookupPoint *points, gsize n, IfmLookupError *summary, GArray **misses,
                                  GError **error);

/* --- beyond what was measured ------------------------------------------------------------------------------------------
 */

/**
 * IfmTrend: latency as a fixed cost, one a node and one an edge, none of them below 0, and near each measured point as far
 * off it as that was. For sizes that no table surrounds: where points are scattered, the line through the two outermost may
 * run anywhere. Immutable.
 */
typedef struct IfmTrend IfmTrend;

/**
 * ifm_trend_fit: Equals: latency_ns = fixed + per_node x nodes + per_edge x edges, by the least sum of squared relative
 * errors, coefficients 0 or above.
 * @points: [n]    Returns: (transfer full) NULL with IFM_ERROR_INVALID as ifm_lookup_new().
 */
IfmTrend *ifm_trend_fit(const IfmLookupPoint *points, gsize n, GError **error);
void ifm_trend_free(IfmTrend *trend);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmTrend, ifm_trend_free)
/** ifm_trend_coefficients: @coefficients: (out) [3] ns, ns a node, ns an edge */
void ifm_trend_coefficients(const IfmTrend *trend, double *coefficients);
/** ifm_trend_at: The plane there times how far the points are off it, averaged by 1 / distance^2 in logarithms of nodes and
 * edges per node (Shepard); at a point its very latency. Sizes above 0. */
double ifm_trend_at(const IfmTrend *trend, double nodes, double edges);
/** ifm_trend_leave_one_out: |predicted / measured - 1| of each point from a trend through all others. @errors: (out) [n]
 * FALSE with IFM_ERROR_INVALID for fewer than 3 points, and as ifm_lookup_new(). */
gboolean ifm_trend_leave_one_out(const IfmLookupPoint *points, gsize n, double *errors, GError **error);

/* --- the machine's limit ----------------------------------------------------------------------------------------------
 */

/** IfmRoofline: what a device can at most, as it was measured. Source: Williams, Waterman, Patterson, Roofline, 2009 */
typedef struct
{
    double flop_per_s;  /* of a large matrix product, same threads and dtype */
    double bytes_per_s; /* of a triad that no cache holds, counted as read + written */
} IfmRoofline;

/** IfmRoofBound: which of the two limits a piece of work meets first. */
typedef enum
{
    IFM_BOUND_COMPUTE,
    IFM_BOUND_MEMORY,
    IFM_BOUND_NEITHER, /* no work is known of it */
} IfmRoofBound;

/**
 * IfmRoofPlace: one piece of work under the roofline.
 * Equals: least_ns = max(flop / flop_per_s, bytes / bytes_per_s), attained = least_ns / measured_ns. Above 1 where caches
 * hold what the bytes count, or the algorithm does with fewer FLOP (Winograd): said, not cut off.
 */
typedef struct
{
    IfmRoofBound bound;
    double intensity; /* FLOP a byte; NaN without bytes */
    double least_ns;
    double attained;  /* NaN where nothing was measured */
    double excess_ns; /* measured - least, 0 or more: what could be gained there */
} IfmRoofPlace;

void ifm_roofline_place(const IfmRoofline *roofline, double flop, double bytes, double measured_ns, IfmRoofPlace *place);

G_END_DECLS
