/* Shapes of convolutional layers. */
#include "convolution-private.h"

/* Sizes above this make products of sizes overflow. */
#define MAX_SIZE (1 << 24)

static gboolean check_channels(const IfmConvShape *shape, GError **error)
{
    if (shape->channels % shape->groups != 0 || shape->out_channels % shape->groups != 0)
        return ifm_error_refuse(error,
                                "convolution: %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT
                                " channels cannot be divided into %" G_GINT64_FORMAT " groups",
                                shape->channels, shape->out_channels, shape->groups);
    if (shape->out_channels % shape->block != 0 || (shape->input_block != 1 && shape->channels % shape->block != 0))
        return ifm_error_refuse(
            error, "convolution: %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT " channels are no multiples of the block of %d",
            shape->channels, shape->out_channels, shape->block);
    return TRUE;
}

gboolean ifm_conv_shape_complete(IfmConvShape *shape, GError **error)
{
    if ((shape->block != 1 && shape->block != 8 && shape->block != 16) ||
        (shape->input_block != 1 && shape->input_block != shape->block))
        return ifm_error_refuse(error,
                                "convolution: blocks of %d and %d channels: 8 or 16 is expected, and the same or 1 for "
                                "the input",
                                shape->block, shape->input_block);
    const gint64 sizes[] = { shape->batch,     shape->channels,  shape->out_channels, shape->groups,
                             shape->in[0],     shape->in[1],     shape->kernel[0],    shape->kernel[1],
                             shape->stride[0], shape->stride[1], shape->dilation[0],  shape->dilation[1] };
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
        if (sizes[i] < 1 || sizes[i] > MAX_SIZE)
            return ifm_error_refuse(error, "convolution: a size of %" G_GINT64_FORMAT ": 1 to %d is expected", sizes[i],
                                    MAX_SIZE);
    if (!check_channels(shape, error))
        return FALSE;
    for (int i = 0; i < 2; i++)
    {
        const gint64 reach = (shape->kernel[i] - 1) * shape->dilation[i] + 1;
        if (shape->pads[i] < 0 || shape->pads[i + 2] < 0 || shape->pads[i] > MAX_SIZE || shape->pads[i + 2] > MAX_SIZE)
            return ifm_error_refuse(error, "convolution: a padding below 0 or above %d", MAX_SIZE);
        const gint64 padded = shape->in[i] + shape->pads[i] + shape->pads[i + 2];
        if (padded < reach)
            return ifm_error_refuse(
                error, "convolution: a kernel that reaches over %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " padded inputs",
                reach, padded);
        shape->out[i] = (padded - reach) / shape->stride[i] + 1;
    }
    return TRUE;
}

gint64 ifm_conv_shape_macs(const IfmConvShape *shape)
{
    return shape->batch * shape->out_channels * shape->out[0] * shape->out[1] * (gint64)conv_depth(shape);
}

const char *conv_refuses_groups(const ConvAlgorithm *algorithm, const IfmConvShape *shape, const IfmConvOptions *options)
{
    if (shape->groups == 1)
        return NULL;
    if (shape->channels == shape->groups)
        return "depthwise";
    return shape->input_block == 1 || shape->channels / shape->groups % shape->block != 0 ||
                   shape->out_channels / shape->groups % shape->block != 0
               ? "groups of fewer channels than a block"
               : NULL;
}
