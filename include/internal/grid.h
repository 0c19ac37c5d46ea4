/* room: base */
#pragma once
#include <inferometer/grid.h>

G_BEGIN_DECLS

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

G_END_DECLS
