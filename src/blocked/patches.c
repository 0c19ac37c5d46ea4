/* Patches of inputs as rows of a matrix. */
#include "blocked-private.h"

#include <string.h>

void conv_pack_patch(const IfmBlockedShape *shape, const float *input, int64_t y, int64_t x, float *row)
{
    const int64_t channels = shape->channels / shape->groups, block = shape->input_block, n_blocks = channels / block;
    const size_t block_stride = (size_t)(shape->in[0] * shape->in[1] * block);
    for (int64_t i = 0; i < shape->kernel[0]; i++)
    {
        const int64_t from_y = y * shape->stride[0] - shape->pads[0] + i * shape->dilation[0];
        for (int64_t j = 0; j < shape->kernel[1]; j++)
        {
            const int64_t from_x = x * shape->stride[1] - shape->pads[1] + j * shape->dilation[1];
            if (from_y < 0 || from_y >= shape->in[0] || from_x < 0 || from_x >= shape->in[1])
            {
                memset(row, 0, (size_t)channels * sizeof(float));
                row += channels;
                continue;
            }
            const float *from = input + (from_y * shape->in[1] + from_x) * block;
            for (int64_t b = 0; b < n_blocks; b++, row += block, from += block_stride)
                if (block == 1)
                    *row = *from;
                else
                    memcpy(row, from, (size_t)block * sizeof(float));
        }
    }
}
