#pragma once
#include <inferometer/error.h>

G_BEGIN_DECLS

#define IFM_GRID_MAX_AXES 8

/**
 * IfmGrid: values at points of a space with named axes, interpolated; immutable, so threads may share it.
 * The points need not fill a box: nested one-dimensional interpolation takes, on the first axis, the two nearest
 * coordinates around the one asked for, interpolates among the points of each on the remaining axes, then between the two.
 */
typedef struct IfmGrid IfmGrid;

/** IfmGridScale: what an axis or the value is linear in. */
typedef enum
{
    IFM_GRID_LINEAR,
    IFM_GRID_LOG, /* of the logarithm: all coordinates (or values) are above 0 */
} IfmGridScale;

/** IfmGridBeyond: what lies outside the outermost points. */
typedef enum
{
    IFM_GRID_CLAMP,       /* the outermost value */
    IFM_GRID_EXTRAPOLATE, /* the line through the two outermost points (one alone: its value) */
} IfmGridBeyond;

/** IfmGridOrigin: where a looked-up value comes from; the worst of the nested steps. */
typedef enum
{
    IFM_GRID_EXACT,        /* a point: its very value */
    IFM_GRID_INTERPOLATED, /* between points on every axis that was not met exactly */
    IFM_GRID_OUTSIDE,      /* clamped or extrapolated somewhere */
} IfmGridOrigin;

/** ifm_grid_origin_name: "exact", "interpolated", "outside". */
const char *ifm_grid_origin_name(IfmGridOrigin origin);

typedef struct
{
    const char *name; /* "nodes" */
    IfmGridScale scale;
} IfmGridAxis;

/**
 * ifm_grid_new:
 * @axes: [n_axes] in the order of nesting; copied    @points: [n_points * n_axes], any order    @values: [n_points]
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID for no point, an infinite or NaN number, a number not above 0 on a
 * logarithmic scale, or two points at one place; the message names the point.
 */
IfmGrid *ifm_grid_new(const IfmGridAxis *axes, gsize n_axes, const double *points, const double *values, gsize n_points,
                      IfmGridScale value_scale, GError **error);
void ifm_grid_free(IfmGrid *grid);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmGrid, ifm_grid_free)

gsize ifm_grid_n_axes(const IfmGrid *grid);
gsize ifm_grid_n_points(const IfmGrid *grid);
const char *ifm_grid_axis_name(const IfmGrid *grid, gsize axis);

/**
 * ifm_grid_at: The value at a place; 2^(n_axes - 1) binary searches.
 * Equals, on one axis between x0 and x1: t = (X - X0) / (X1 - X0), V = V0 + t * (V1 - V0), capitals being the number or
 * its logarithm, as the scale says.
 * @place: [n_axes]    @value, @origin: (out) (origin optional)
 * Returns: FALSE with IFM_ERROR_INVALID for a coordinate that is not finite, or not above 0 on a logarithmic axis.
 */
gboolean ifm_grid_at(const IfmGrid *grid, const double *place, IfmGridBeyond beyond, double *value, IfmGridOrigin *origin,
                     GError **error);

/**
 * ifm_grid_weights: How much each point counts at a place: what lies between points that have no number.
 * Equals: scaled value = sum over points of weight x scaled value
 * @weights: [n_points] (out) in the order of the points' coordinates, first axis first; they add up to 1
 * Returns: as ifm_grid_at().
 */
gboolean ifm_grid_weights(const IfmGrid *grid, const double *place, IfmGridBeyond beyond, double *weights,
                          IfmGridOrigin *origin, GError **error);

G_END_DECLS
