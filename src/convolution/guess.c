/* Which algorithm a layer gets without measuring. */
#include "onednn-private.h"

/* Above this many outputs the packed or direct kernels read their inputs from nearer caches than indices do. */
#define FEW_OUTPUTS 196
/* With fewer input channels for an output, transforms cost more than the multiplications that they save. */
#define FEW_CHANNELS 16
/* Kernels of this many taps or more: spectra of tiles need fewer multiplications than Winograd's tiles would. */
#define MANY_TAPS 25

IfmConvAlgorithm ifm_conv_guess(const IfmConvShape *shape, const IfmConvOptions *options)
{
    const gboolean is_small = shape->out[0] * shape->out[1] <= FEW_OUTPUTS;
    const gboolean is_deep = shape->channels / shape->groups >= FEW_CHANNELS;
    const gboolean is_stride_1 = shape->stride[0] == 1 && shape->stride[1] == 1;
    const gboolean is_large = shape->kernel[0] * shape->kernel[1] >= MANY_TAPS;
    if (is_deep && ifm_conv_supports(shape, IFM_CONV_WINOGRAD, options, NULL))
        return IFM_CONV_WINOGRAD;
    if (is_deep && is_stride_1 && is_large && ifm_conv_supports(shape, IFM_CONV_FFT_TILING, options, NULL))
        return IFM_CONV_FFT_TILING;
    const gboolean has_direct = conv_onednn_check(NULL) && ifm_conv_supports(shape, IFM_CONV_DIRECT, options, NULL);
    return (is_small || !has_direct) && ifm_conv_supports(shape, IFM_CONV_IMPLICIT_PRECOMP_GEMM, options, NULL)
               ? IFM_CONV_IMPLICIT_PRECOMP_GEMM
               : IFM_CONV_DIRECT;
}
