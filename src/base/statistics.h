/* Shared with other rooms: intervals, grids, drift, and what is implausible. */
#pragma once
#include <inferometer/common.h>

G_BEGIN_DECLS

/* --- where a value was looked up ----------------------------------------------------------------------------------- */

#define IFM_GRID_MAX_AXES 8

/**
 * IfmGrid: values at points of a space with named axes, for interpolation. Immutable, so threads may share it.
 * The points need not fill a box. The interpolation is nested and one-dimensional: it takes the two coordinates of the
 * first axis nearest to the place, interpolates at each of them along the remaining axes, then between the two results.
 */
typedef struct IfmGrid IfmGrid;

/** IfmGridScale: how an axis or the value is scaled before it is interpolated linearly. */
typedef enum
{
    IFM_GRID_LINEAR,
    IFM_GRID_LOG, /* logarithm: all coordinates (or values) are above 0 */
} IfmGridScale;

/** IfmGridBeyond: the value outside the outermost points. */
typedef enum
{
    IFM_GRID_CLAMP,       /* the outermost value */
    IFM_GRID_EXTRAPOLATE, /* the line through the two outermost points; of one point its value */
} IfmGridBeyond;

typedef struct
{
    const char *name; /* "nodes" */
    IfmGridScale scale;
} IfmGridAxis;

/* Interpolation in a grid. */

/**
 * ifm_grid_at: The value at a place. Takes about 2^(n_axes - 1) binary searches.
 * Equals, on one axis between x0 and x1: t = (X - X0) / (X1 - X0), V = V0 + t * (V1 - V0). A capital is the number itself
 * on a linear scale and its logarithm on a logarithmic one.
 * @place: [n_axes]    @value, @origin: (out) (origin optional)
 * Returns: FALSE with IFM_ERROR_INVALID for a coordinate that is not finite, or 0 or less on a logarithmic axis.
 */
gboolean ifm_grid_at(const IfmGrid *grid, const double *place, IfmGridBeyond beyond, double *value, IfmGridOrigin *origin,
                     GError **error);

void ifm_grid_free(IfmGrid *grid);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmGrid, ifm_grid_free)

gsize ifm_grid_n_points(const IfmGrid *grid);

/**
 * ifm_grid_new:
 * @axes: [n_axes] in the order of nesting; copied    @points: [n_points * n_axes], any order    @values: [n_points]
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID for an empty grid, an infinite or NaN number, a number of 0 or less
 * on a logarithmic scale, or two points at the same place. The message names the point.
 */
IfmGrid *ifm_grid_new(const IfmGridAxis *axes, gsize n_axes, const double *points, const double *values, gsize n_points,
                      IfmGridScale value_scale, GError **error);

/**
 * ifm_grid_weights: The weight of each point at a place, to interpolate something other than the values.
 * Equals: scaled value = sum over points of weight x scaled value
 * @weights: [n_points] (out) sorted by the coordinates of the points, first axis first; their sum is 1
 * Returns: as ifm_grid_at().
 */
gboolean ifm_grid_weights(const IfmGrid *grid, const double *place, IfmGridBeyond beyond, double *weights,
                          IfmGridOrigin *origin, GError **error);

/* --- what is implausible ------------------------------------------------------------------------------------------- */

/** IFM_IMPLAUSIBLE: the code of a latency that others contradict: it is none. */
#define IFM_IMPLAUSIBLE "implausible"

/** IfmTimedWork: a latency and the work that took it. @work: [n_axes] amounts of work; @ns: NaN: none. @lower_ns,
 * @upper_ns: of its interval; @std_ns: of its runs; NaN: unknown */
typedef struct
{
    const double *work;
    double ns, lower_ns, upper_ns, std_ns;
} IfmTimedWork;

/** IfmPlausibility: whether others contradict a latency. */
typedef enum
{
    IFM_IS_PLAUSIBLE,
    IFM_IS_DOUBTFUL, /* it or the other one */
    IFM_IS_IMPLAUSIBLE,
} IfmPlausibility;

/** IfmContradiction: @against: the case that shows it, with the greatest ratio; -1: nothing does */
typedef struct
{
    IfmPlausibility kind;
    gssize against;
} IfmContradiction;

/**
 * ifm_find_implausible: Latencies of the same thing on the same device, with the same options, that more work contradicts.
 * A case with no less work on any axis, and more on one, that takes a quarter of the time or less contradicts the other,
 * where their intervals, and their means with two standard deviations of their runs, are apart. Noise hardly does that: of
 * 1,131 published latencies of a laptop with standard deviations up to their means the largest such ratio is 3.7, and all
 * of the 36 that a lost device answered are beyond 4. Who of the two it is the others say:
 * - two larger cases or more contradict one smaller case, and each of them no other: the smaller one, which something
 *   slowed down
 * - else a larger case that contradicts several, or one that others contradict, too: what did not run takes no time
 * - of two that contradict each other alone that one with which more of the others disagree by a half: smaller ones that
 *   took longer than the larger one, larger ones that took less than the smaller one; of as many none: both are doubtful
 * @found: (out) [n]
 */
void ifm_find_implausible(const IfmTimedWork *cases, gsize n, gsize n_axes, IfmContradiction *found);

/* --- statistics ---------------------------------------------------------------------------------------------------- */

/** ifm_summary_compute: @samples: [n] in the order of measurement; n may be 0 (all NaN). @level: of the interval, 0.95. */
void ifm_summary_compute(const gint64 *samples, gsize n, double level, IfmSummary *summary);

/** ifm_quantile: The p-quantile of a sorted array, Hyndman-Fan type 7. @sorted: [n], n >= 1. @p: in [0, 1]. */
double ifm_quantile(const double *sorted, gsize n, double p);
/** ifm_quantile_of: That of values in any order. @values: [n]    Returns: NaN where n is 0. */
double ifm_quantile_of(const double *values, gsize n, double p);
/** ifm_quantile_of_array: of an array of double. */
double ifm_quantile_of_array(const GArray *values, double p);

/**
 * ifm_quantile_interval: The interval between two order statistics that holds the p-quantile with confidence @level or
 * more. The binomial ranks are those of @n_effective samples, scaled to n. So correlated samples widen the interval.
 * Returns: FALSE where n_effective is too small. The interval is then NaN.
 * Source: David & Nagaraja, Order Statistics, 7.1
 */
gboolean ifm_quantile_interval(const double *sorted, gsize n, double n_effective, double p, double level,
                               IfmInterval *interval);

/**
 * ifm_mean_interval: Student's interval of the mean, widened by autocorrelation.
 * Equals: mean +- t(n_effective - 1) std / sqrt(n_effective)
 * @series: [n] in order of measurement    @interval: (out) NaN where fewer than two samples are independent
 * Returns: the mean; NaN for n = 0.
 */
double ifm_mean_interval(const double *series, gsize n, double level, IfmInterval *interval);

/**
 * ifm_difference_interval: The interval of a - b from the intervals of a and b. Their samples are independent.
 * Equals: a - b - sqrt((a - lower_a)^2 + (upper_b - b)^2) to a - b + sqrt((upper_a - a)^2 + (b - lower_b)^2)
 * Returns: an interval of the level of @of_a; both ends NaN where any argument is.
 * Source: Zou and Donner, Construction of confidence limits about effect measures, Statistics in Medicine 27 (2008)
 */
IfmInterval ifm_difference_interval(double a, const IfmInterval *of_a, double b, const IfmInterval *of_b);

/** ifm_binomial_interval: The Clopper-Pearson interval of a proportion: @k successes of @n. */
IfmInterval ifm_binomial_interval(gsize k, gsize n, double level);

/* What the stopping rule and the fits need. */

/**
 * ifm_drift_test: Tests whether the level of a series changes: along a line, by a step, or as a decaying transient.
 * Equals: 10 times the minimum p of 10 tests (Bonferroni). Nine are least-squares fits of shapes, each for
 * n_effective(residuals) samples. One compares the first tenth with the second half.
 * @series: [n] in order of measurement
 * @ratio: (out) change from the first to the last sample in the best shape / median, or, of a fall, / the level that it
 * fell from, where that is more
 * Returns: two-sided p of "no drift"; NaN, as @ratio, for n < 8.
 */
double ifm_drift_test(const double *series, gsize n, double *ratio);

/** ifm_effective_sample_size: The number of independent samples that determine the mean equally well: from 1 to n.
 * @series: [n] in order of measurement    Source: the initial monotone sequence estimate, Geyer 1992 */
double ifm_effective_sample_size(const double *series, gsize n);

/**
 * ifm_median_effective_size: The number of independent samples that determine the median equally well: from 1 to n.
 * Equals: n / (1 + 2 sum of autocorrelations of sign(x - median)); a conservative estimate where n is small
 * @series: [n] in order of measurement    @sorted: [n] the same values, sorted
 */
double ifm_median_effective_size(const double *series, const double *sorted, gsize n);

/**
 * ifm_series_steady: Whether a short series shows neither a trend nor a step between its halves. It decides when a warm-up
 * ends, and prefers FALSE in doubt. Takes O(n^2).
 * Equals: Mann-Kendall p >= 0.2 and Mann-Whitney p of the halves >= 0.2, or medians of the halves within @tolerance (a
 * ratio)
 * @series: [n] in order of measurement, n >= 2
 */
gboolean ifm_series_steady(const double *series, gsize n, double tolerance);

/**
 * ifm_student_quantile: The p-quantile of Student's t, with a relative error of at most 1e-9 up to a million degrees of
 * freedom.
 * @p: in (0, 1)    @freedom: above 0; need not be whole    Returns: NaN where either is out of range.
 */
double ifm_student_quantile(double p, double freedom);

/**
 * ifm_signed_rank_cut: How many of the sorted means of two each end of an interval leaves out.
 * Equals: the largest cut with 2 P(W <= cut) <= @error, W the sum of those ranks 1..n whose fair coin shows heads
 * @n: at most some 1000: takes O(n^3)    @cut: (out) -1 where n values cannot show it: 2^(1 - n) > @error
 * Returns: 2 P(W <= cut), what the cut costs of @error; 0 where it is -1.
 * Source: Wilcoxon's signed-rank distribution, exact; Hollander, Wolfe and Chicken, Nonparametric Statistical Methods, 3.1
 */
double ifm_signed_rank_cut(gsize n, double error, gint64 *cut);

/**
 * IfmPairedEstimate: @centre: the median of all means of two values, each with itself, too (Hodges & Lehmann 1963).
 * @lower, @upper: its interval, never beyond @least and @greatest, the values' own range; NaN where there are too few.
 * @error: what the interval costs. @correlation: of neighbours, without its bias; NaN where all are equal.
 * @widening: what the interval is widened by about its centre, sqrt((1 + r) / (1 - r)), r the correlation in 0..0.8
 */
typedef struct
{
    double centre, lower, upper;
    double error, correlation, widening;
    double least, greatest;
} IfmPairedEstimate;

/** ifm_paired_estimate: The centre of values that are symmetric about it, and an interval with that error at most.
 * @values: [n] in order of measurement; n may be 0 (all NaN) */
void ifm_paired_estimate(const double *values, gsize n, double error, IfmPairedEstimate *estimate);

/** ifm_normal_deviate: One deviate of the standard normal distribution, of two uniform ones. Source: Box and Muller 1958 */
double ifm_normal_deviate(GRand *random);

/** ifm_mean: exact where all are equal. @values: [n]; of none it is 0. */
double ifm_mean(const double *values, gsize n);

/** ifm_sort_doubles: Sorts ascending. @values: [n] without NaN; n may be 0. */
void ifm_sort_doubles(double *values, gsize n);

G_END_DECLS
