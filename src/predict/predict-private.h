#pragma once
#include <inferometer/predict.h>

G_BEGIN_DECLS

/** ifm_bandwidth_judge: Fills all that follows from the slope and its interval. */
void ifm_bandwidth_judge(IfmBandwidthFit *fit);

G_END_DECLS
