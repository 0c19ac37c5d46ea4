/* Shared with other rooms: fits of lines and trends, lookup tables. */
#pragma once
#include <inferometer/study.h>

G_BEGIN_DECLS

/* --- latency against data size ------------------------------------------------------------------------------------- */

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

/* --- growth by a power --------------------------------------------------------------------------------------------- */

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

/* --- latency between measured sizes -------------------------------------------------------------------------------- */

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

/** IfmLookupMiss: a point predicted from all others. */
typedef struct
{
    IfmLookupPoint point;
    double predicted_ns;
    double error_ratio; /* predicted / measured - 1 */
    IfmGridOrigin origin;
} IfmLookupMiss;

/** ifm_lookup_leave_one_out: Predicts each point from all others. @misses: (out) (optional) (transfer full)
 * IfmLookupMiss, in the order of @points
 * Returns: FALSE with IFM_ERROR_INVALID for fewer than 3 points, and as ifm_lookup_new(). */
gboolean ifm_lookup_leave_one_out(const IfmLookupPoint *points, gsize n, IfmLookupError *summary, GArray **misses,
                                  GError **error);

/* --- beyond the measured sizes ------------------------------------------------------------------------------------- */

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

/* --- scaling ------------------------------------------------------------------------------------------------------- */

/*
 * How a model's time, memory and work grow with one thing about it: nodes of a graph, layers, width, a free dimension. A
 * scaling is a row of points, each a model of its own that is profiled as any other (`profile --profile scaling`); here is
 * what is varied by default, and what is read out of the points.
 */

/** IfmScalingPreset: one thing of a zoo's graph transformer to vary. @values: words, NULL-terminated, in order.
 * @settings: what else is set while it is varied, "NAME=VALUE", NULL-terminated; what a user sets goes before it. */
typedef struct
{
    const char *axis; /* "nodes", "layers", "pe", "hidden", "heads" */
    const char *help;
    const char *option; /* whose value it is: "num-nodes" */
    const char *const *values, *const *settings;
} IfmScalingPreset;

/** ifm_scaling_presets: nodes 100 500 1000 2000 5000 at average degree 5; layers 2 4 6 8 12 16 at 500 nodes; pe none,
 * lap:16 and rwse:16; hidden 32 64 128 256; heads 1 2 4 8. Returns: the table, its last row with a NULL axis. */
const IfmScalingPreset *ifm_scaling_presets(void);

/** IfmScalingPoint: one point on one device. What is not known is NaN (time, bytes) or -1 (flop). */
typedef struct
{
    const char *value;                      /* "1000", "lap:16"; borrowed */
    double x;                               /* the number; NaN of a word */
    double time_ns;                         /* the median */
    double mean_ns, std_ns, min_ns, max_ns; /* of the runs; NaN: not known */
    gsize n_rounds;                         /* time_ns is of so many processes in rounds with the other points; 0: of one */
    double least_ns, most_ns;               /* the least and the greatest median of these */
    gboolean disturbed;   /* they lie further apart than IFM_SCALING_DISTURBED: nothing is concluded from the time */
    IfmInterval interval; /* its */
    const char *reason;   /* why there is no time; NULL where there is one; borrowed */
    gboolean implausible; /* that is why: another point contradicts the time that was measured */
    const char *doubt; /* another point contradicts the time, and which of the two is wrong is not known; NULL; borrowed */
    gint64 flop;
    double bytes;           /* what the model's shapes need: parameters and the most activations alive at once */
    double process_bytes;   /* how far the process that ran it grew: NaN if it was not measured */
    double allocator_bytes; /* the most that the runtime's allocator held: NaN if it does not report it */
    double energy_j, energy_lower_j, energy_upper_j;           /* of an inference; NaN: not measured */
    const char *no_energy;                                     /* why it was asked for and there is none; NULL; borrowed */
    double attention_flop_ratio, attention_time_ratio;         /* shares; NaN where the model has no such part, as are: */
    double attention_estimated_bytes, attention_planned_bytes; /* what attention takes: by the closed form, by the shapes */
    double encoding_ns;                                        /* computing the positional encoding, once; NaN: none */
    double encoding_estimated_bytes, encoding_held_bytes;      /* its storage; NaN: none, or not held */
} IfmScalingPoint;

/** IFM_SCALING_DISTURBED: of the processes of a point, the greatest median over the least, above which something else than
 * the point was measured. */
#define IFM_SCALING_DISTURBED 1.25

/** IFM_SCALING_DEPARTS: time over what the FLOP predict, above which it is said to depart. */
#define IFM_SCALING_DEPARTS 1.25

/** IfmDeparture: whether a point's time departs from what its FLOP predict. Not known where its time, or no point's, has an
 * interval. */
typedef enum
{
    IFM_DEPARTURE_UNKNOWN = 0,
    IFM_DEPARTS_NOT,
    IFM_DEPARTS,
} IfmDeparture;

/**
 * IfmScaling: what the points of one device come to. @points: borrowed.
 * @n_bare: points with a time and no interval of it: of a run or two
 * @bare_fitted: whether the fit of the time has them in it, too, since fewer than 3 others have a time
 * @max_flop_per_s: the rate that the points attain: of those whose time has an interval the highest FLOP / its upper end,
 * which the point @max_at has; NaN where there is none
 * @departures: [n] time over what the FLOP take at that rate; NaN without a time
 * @departs: [n] whether that is above IFM_SCALING_DEPARTS with the whole interval of its time: something but the FLOP took
 * the time
 * @attention: of attention_planned_bytes
 */
typedef struct
{
    const IfmScalingPoint *points;
    gsize n;
    gboolean has_time, has_flop, has_bytes, has_attention; /* whether the fit stands; of the time else why below */
    IfmPowerFit time, flop, bytes, attention;
    char *why; /* why there is no fit of the time: "2 points have a time: 3 are needed"; NULL */
    gsize n_bare;
    gboolean bare_fitted;
    double *departures;
    IfmDeparture *departs;
    double max_flop_per_s;
    gsize max_at;
} IfmScaling;

/* How a scaling is read from its points. */

/** ifm_scaling_new: @points: [n], ascending where they have numbers. Points without a number or a time, or of one that is
 * not above 0 (a difference may be), are left out of the fits, not of the rest; so are from the time's those without an
 * interval, where 3 others have one; what does not depend on the device (FLOP,
 * bytes) is fitted over all that have it. Returns: (transfer full) */
IfmScaling *ifm_scaling_new(const IfmScalingPoint *points, gsize n);

void ifm_scaling_free(IfmScaling *scaling);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmScaling, ifm_scaling_free)

/** ifm_scaling_preset: NULL with IFM_ERROR_INVALID naming the nearest. */
const IfmScalingPreset *ifm_scaling_preset(const char *axis, GError **error);

/** ifm_lookup_decades_outside: How far a size lies beyond the points, in nodes or in edges per node, whichever is more: 1:
 * ten times; 0: within them. Both sizes are above 0. */
double ifm_lookup_decades_outside(const IfmLookup *lookup, double nodes, double edges);

G_END_DECLS
