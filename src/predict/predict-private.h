#pragma once
#include <predict/predict.h>

G_BEGIN_DECLS

/** ifm_fit_check: Whether @n points are enough. @fit: "link"    @points: "sizes"    @found: "a line" */
gboolean ifm_fit_check(const char *fit, const char *points, const char *found, gsize n, double level, GError **error);
/** ifm_bandwidth_judge: Fills the results that follow from the slope and its interval. */
void ifm_bandwidth_judge(IfmBandwidthFit *fit);

/** ifm_lookup_check_points: FALSE with IFM_ERROR_INVALID for no point, a size or latency not above 0, or a size given
 * twice. */
gboolean ifm_lookup_check_points(const IfmLookupPoint *points, gsize n, GError **error);

G_END_DECLS
