/* Which algorithm a layer gets without measuring. */
#include "convolution-private.h"

/* Above this many outputs the packed or direct kernels read their inputs from nearer caches than indices do. */
#define FEW_OUTPUTS 196

IfmConvAlgorithm ifm_conv_guess(const IfmConvShape *shape, const IfmConvOptions *options)
{
    const gboolean is_small = shape->out[0] * shape->out[1] <= FEW_OUTPUTS;
    return is_small && ifm_conv_supports(shape, IFM_CONV_IMPLICIT_PRECOMP_GEMM, options, NULL)
               ? IFM_CONV_IMPLICIT_PRECOMP_GEMM
               : IFM_CONV_DIRECT;
}
