/* room: study */
#pragma once
#include <inferometer/grid.h>
#include <inferometer/study.h>

IFM_BEGIN_DECLS

/**
 * IfmConvPrediction: what a model takes with an algorithm on a device at a size, by the points of a study of kind
 * `conv-algorithms`. Texts are borrowed from the points.
 * @time_ns, @energy_j: of an inference; energy NaN where the study measured none
 * @lower_ns, @upper_ns: by @p95_ratio; NaN without it. At a size that was measured, all are as measured
 * @by_layers: the sum of each layer's own curve was closer, at the sizes left out, than the curve of the whole
 * @n_sizes: that were measured    @mean_ratio, @p95_ratio: |predicted / measured - 1| of inner sizes left out one by one:
 * the mean and the 95 % quantile (of fewer than 20 the most); NaN with fewer than 3 sizes
 * @noise_ratio: half-width of the measured medians' intervals, the mean: what no prediction can undercut
 */
typedef struct
{
    const IfmStudyDevice *device;
    const char *algorithm;
    double time_ns, lower_ns, upper_ns, energy_j;
    IfmGridOrigin origin;
    gboolean by_layers;
    gsize n_sizes;
    double mean_ratio, p95_ratio, noise_ratio;
} IfmConvPrediction;

/**
 * ifm_conv_predict: Interpolates linearly between the logarithms of size and time: of the whole inference, or of each
 * convolution and of the ratio of the whole to their sum. Beyond the measured sizes the last two are followed, which is a
 * guess. Power is interpolated alike.
 * @model: as the study names it    @size: height and width of the image
 * Returns: (transfer full) IfmConvPrediction, by device, the fastest first. NULL with IFM_ERROR_INVALID: a study of another
 * kind, a model that is none of its (the nearest named), no algorithm with 2 sizes.
 */
GArray *ifm_conv_predict(const IfmStudyTables *points, const char *model, gint64 size, GError **error);

IFM_END_DECLS
