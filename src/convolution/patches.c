/* Patches of inputs as rows of a matrix. */
#include "convolution-private.h"

#include <string.h>

void conv_pack_patch(const IfmConvShape *shape, const float *input, gint64 y, gint64 x, float *row)
{
    const gint64 channels = shape->channels / shape->groups, block = shape->input_block, n_blocks = channels / block;
    const gsize block_stride = (gsize)(shape->in[0] * shape->in[1] * block);
    for (gint64 i = 0; i < shape->kernel[0]; i++)
    {
        const gint64 from_y = y * shape->stride[0] - shape->pads[0] + i * shape->dilation[0];
        for (gint64 j = 0; j < shape->kernel[1]; j++)
        {
            const gint64 from_x = x * shape->stride[1] - shape->pads[1] + j * shape->dilation[1];
            if (from_y < 0 || from_y >= shape->in[0] || from_x < 0 || from_x >= shape->in[1])
            {
                memset(row, 0, (gsize)channels * sizeof(float));
                row += channels;
                continue;
            }
            const float *from = input + (from_y * shape->in[1] + from_x) * block;
            for (gint64 b = 0; b < n_blocks; b++, row += block, from += block_stride)
                if (block == 1)
                    *row = *from;
                else
                    memcpy(row, from, (gsize)block * sizeof(float));
        }
    }
}
