/* room: predict */
#pragma once
#include <inferometer/scaling.h>

G_BEGIN_DECLS

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

G_END_DECLS
