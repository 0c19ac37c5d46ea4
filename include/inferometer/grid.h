/* room: base */
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

IFM_END_DECLS
