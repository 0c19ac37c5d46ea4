#pragma once
#include <inferometer/scaling-page.h>

#include "profile-private.h"

G_BEGIN_DECLS

/* ScalingPart: the points of a row on one device. */
typedef struct
{
    const IfmScalingRow *row;
    const IfmResult *device; /* NULL: no device was asked for, or tried */
    IfmScalingPoint *points; /* [row->n] */
    IfmScalingLine *lines;   /* [row->n] */
    IfmScaling *scaling;
} ScalingPart;
void ifm_scaling_part_free(ScalingPart *part);
/* ifm_scaling_parts: (transfer full) ScalingPart*, a device each. */
GPtrArray *ifm_scaling_parts(const IfmScalingRow *row);

G_END_DECLS
