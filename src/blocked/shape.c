/* Shapes of convolutional layers. */
#include "blocked-private.h"

#include <inttypes.h>

/* Sizes above this make products of sizes overflow. */
#define MAX_SIZE (1 << 24)

static bool check_channels(const IfmBlockedShape *shape, IfmBlockedError *error)
{
    if (shape->channels % shape->groups != 0 || shape->out_channels % shape->groups != 0)
        return ifm_blocked_fail(error, IFM_BLOCKED_INVALID,
                                "convolution: %" PRId64 " to %" PRId64 " channels cannot be divided into %" PRId64
                                " groups",
                                shape->channels, shape->out_channels, shape->groups);
    if (shape->out_channels % shape->block != 0 || (shape->input_block != 1 && shape->channels % shape->block != 0))
        return ifm_blocked_fail(error, IFM_BLOCKED_INVALID,
                                "convolution: %" PRId64 " to %" PRId64 " channels are no multiples of the block of %d",
                                shape->channels, shape->out_channels, shape->block);
    return true;
}

bool ifm_blocked_shape_complete(IfmBlockedShape *shape, IfmBlockedError *error)
{
    if ((shape->block != 1 && shape->block != 8 && shape->block != 16) ||
        (shape->input_block != 1 && shape->input_block != shape->block))
        return ifm_blocked_fail(error, IFM_BLOCKED_INVALID,
                                "convolution: blocks of %d and %d channels: 8 or 16 is expected, and the same or 1 for "
                                "the input",
                                shape->block, shape->input_block);
    const int64_t sizes[] = { shape->batch,     shape->channels,  shape->out_channels, shape->groups,
                              shape->in[0],     shape->in[1],     shape->kernel[0],    shape->kernel[1],
                              shape->stride[0], shape->stride[1], shape->dilation[0],  shape->dilation[1] };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i] < 1 || sizes[i] > MAX_SIZE)
            return ifm_blocked_fail(error, IFM_BLOCKED_INVALID, "convolution: a size of %" PRId64 ": 1 to %d is expected",
                                    sizes[i], MAX_SIZE);
    if (!check_channels(shape, error))
        return false;
    for (int i = 0; i < 2; i++)
    {
        const int64_t reach = (shape->kernel[i] - 1) * shape->dilation[i] + 1;
        if (shape->pads[i] < 0 || shape->pads[i + 2] < 0 || shape->pads[i] > MAX_SIZE || shape->pads[i + 2] > MAX_SIZE)
            return ifm_blocked_fail(error, IFM_BLOCKED_INVALID, "convolution: a padding below 0 or above %d", MAX_SIZE);
        const int64_t padded = shape->in[i] + shape->pads[i] + shape->pads[i + 2];
        if (padded < reach)
            return ifm_blocked_fail(error, IFM_BLOCKED_INVALID,
                                    "convolution: a kernel that reaches over %" PRId64 " of %" PRId64 " padded inputs",
                                    reach, padded);
        shape->out[i] = (padded - reach) / shape->stride[i] + 1;
    }
    return true;
}

int64_t ifm_blocked_shape_macs(const IfmBlockedShape *shape)
{
    return shape->batch * shape->out_channels * shape->out[0] * shape->out[1] * (int64_t)conv_depth(shape);
}

bool conv_supports_groups(const ConvAlgorithm *algorithm, const IfmBlockedShape *shape, const IfmBlockedOptions *options,
                          IfmBlockedError *why)
{
    if (shape->groups == 1)
        return true;
    if (shape->channels == shape->groups)
        return conv_refuse(why, "depthwise");
    return (shape->input_block != 1 && shape->channels / shape->groups % shape->block == 0 &&
            shape->out_channels / shape->groups % shape->block == 0) ||
           conv_refuse(why, "groups of fewer channels than a block");
}
