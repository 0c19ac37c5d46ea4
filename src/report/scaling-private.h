#pragma once
#include <inferometer/scaling-page.h>

#include "profile-private.h"

G_BEGIN_DECLS

/* ifm_scaling_mode: that of a row's points; NULL: the model as it is. What it says of passes is the point's own. */
const IfmProfileMode *ifm_scaling_mode(const IfmScalingRow *row);

/* ScalingPart: the points of a row on one device: of the pass that was asked for, and with a mode of each. */
typedef struct ScalingPart ScalingPart;
struct ScalingPart
{
    const IfmScalingRow *row;
    const IfmResult *device; /* NULL: no device was asked for, or tried */
    int kind;                /* IfmPassKind, IFM_PASS_BACKWARD; without a mode -1 */
    IfmScalingPoint *points; /* [row->n] */
    IfmScalingLine *lines;   /* [row->n] */
    IfmScaling *scaling;
    GPtrArray *passes; /* ScalingPart*, in the order of ifm_pass_order, this one among them; empty without a mode; of one in
                          such a list NULL, but of this one */
};
void ifm_scaling_part_free(ScalingPart *part);
/* ifm_scaling_parts: (transfer full) ScalingPart*, a device each. */
GPtrArray *ifm_scaling_parts(const IfmScalingRow *row);
/* ifm_scaling_has_numbers: whether what is varied are numbers. */
gboolean ifm_scaling_has_numbers(const ScalingPart *part);
/* ifm_scaling_axis_field: The first column of a table whose records begin with an IfmScalingLine. */
IfmField ifm_scaling_axis_field(const ScalingPart *part);

/* Tables beside that of the points; nothing where there is nothing to tell. */
/* ifm_scaling_passes: what each pass of a mode took. */
void ifm_scaling_passes(GString *out, const ScalingPart *part, const IfmScreen *screen);
/* ifm_scaling_has_memory: whether there is such a table: of graph transformers. ifm_scaling_memory: that. */
gboolean ifm_scaling_has_memory(const ScalingPart *part);
void ifm_scaling_memory(GString *out, const ScalingPart *part, const IfmScreen *screen);

G_END_DECLS
