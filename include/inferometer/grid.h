#pragma once
#include <inferometer/error.h>

IFM_BEGIN_DECLS

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

/** IfmGridOrigin: the source of a looked-up value: the worst of the nested steps. */
typedef enum
{
    IFM_GRID_EXACT,        /* the value of a point */
    IFM_GRID_INTERPOLATED, /* between points on at least one axis, exact on the others */
    IFM_GRID_OUTSIDE,      /* clamped or extrapolated on at least one axis */
} IfmGridOrigin;

typedef struct
{
    const char *name; /* "nodes" */
    IfmGridScale scale;
} IfmGridAxis;

/**
 * ifm_grid_new:
 * @axes: [n_axes] in the order of nesting; copied    @points: [n_points * n_axes], any order    @values: [n_points]
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID for an empty grid, an infinite or NaN number, a number of 0 or less
 * on a logarithmic scale, or two points at the same place. The message names the point.
 */
IfmGrid *ifm_grid_new(const IfmGridAxis *axes, gsize n_axes, const double *points, const double *values, gsize n_points,
                      IfmGridScale value_scale, GError **error);
void ifm_grid_free(IfmGrid *grid);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmGrid, ifm_grid_free)

gsize ifm_grid_n_points(const IfmGrid *grid);

/**
 * ifm_grid_at: The value at a place. Takes about 2^(n_axes - 1) binary searches.
 * Equals, on one axis between x0 and x1: t = (X - X0) / (X1 - X0), V = V0 + t * (V1 - V0). A capital is the number itself
 * on a linear scale and its logarithm on a logarithmic one.
 * @place: [n_axes]    @value, @origin: (out) (origin optional)
 * Returns: FALSE with IFM_ERROR_INVALID for a coordinate that is not finite, or 0 or less on a logarithmic axis.
 */
gboolean ifm_grid_at(const IfmGrid *grid, const double *place, IfmGridBeyond beyond, double *value, IfmGridOrigin *origin,
                     GError **error);

/**
 * ifm_grid_weights: The weight of each point at a place, to interpolate something other than the values.
 * Equals: scaled value = sum over points of weight x scaled value
 * @weights: [n_points] (out) sorted by the coordinates of the points, first axis first; their sum is 1
 * Returns: as ifm_grid_at().
 */
gboolean ifm_grid_weights(const IfmGrid *grid, const double *place, IfmGridBeyond beyond, double *weights,
                          IfmGridOrigin *origin, GError **error);

IFM_END_DECLS
