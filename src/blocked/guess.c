/* Which algorithm a layer gets without measuring. */
#include "blocked-private.h"

/* Above this many outputs the packed or direct kernels read their inputs from nearer caches than indices do. */
#define FEW_OUTPUTS 196
/* With fewer input channels for an output, transforms cost more than the multiplications that they save. */
#define FEW_CHANNELS 16
/* The same in groups: transforms and weights of a group are for its own few channels and tiles alone. */
#define FEW_GROUP_CHANNELS 48
/* Kernels of this many taps or more: spectra of tiles need fewer multiplications than Winograd's tiles would. */
#define MANY_TAPS 25

IfmBlockedAlgorithm ifm_blocked_guess(const IfmBlockedShape *shape, const IfmBlockedOptions *options)
{
    const bool is_small = shape->out[0] * shape->out[1] <= FEW_OUTPUTS;
    const bool is_in_groups = shape->groups > 1;
    const bool is_deep = shape->channels / shape->groups >= (is_in_groups ? FEW_GROUP_CHANNELS : FEW_CHANNELS);
    const bool is_stride_1 = shape->stride[0] == 1 && shape->stride[1] == 1;
    const bool is_large = shape->kernel[0] * shape->kernel[1] >= MANY_TAPS;
    if (is_deep && ifm_blocked_supports(shape, IFM_BLOCKED_WINOGRAD, options, NULL))
        return IFM_BLOCKED_WINOGRAD;
    if (is_deep && is_stride_1 && is_large && ifm_blocked_supports(shape, IFM_BLOCKED_FFT_TILING, options, NULL))
        return IFM_BLOCKED_FFT_TILING;
    return is_small && !is_in_groups && ifm_blocked_supports(shape, IFM_BLOCKED_IMPLICIT_PRECOMP_GEMM, options, NULL)
               ? IFM_BLOCKED_IMPLICIT_PRECOMP_GEMM
               : IFM_BLOCKED_DIRECT;
}
