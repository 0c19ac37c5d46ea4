/* What a region computes beside convolutions: functions of one instruction set for one block (region-template.h). */
#pragma once
#include <blocked/blocked.h>

/* ConvActivation: with alpha and beta as IfmBlockedActivation says. */
typedef struct
{
    IfmBlockedActivation kind;
    float alpha, beta;
} ConvActivation;

/* RegionPool: windows over planes. [0] rows, [1] columns; pads: top, left, bottom, right */
typedef struct
{
    int64_t in[2], out[2], kernel[2], stride[2], dilation[2], pads[4];
    bool includes_pad; /* an average counts the padding */
} RegionPool;

/* region_window: where the window of an output begins, and which of its taps are within the input. */
static inline int64_t region_window(const RegionPool *pool, int axis, int64_t out, int64_t *first, int64_t *end)
{
    const int64_t start = out * pool->stride[axis] - pool->pads[axis], step = pool->dilation[axis];
    const int64_t left = pool->in[axis] - start, fitting = left <= 0 ? 0 : step == 1 ? left : (left + step - 1) / step;
    *first = start >= 0 ? 0 : step == 1 ? -start : (-start + step - 1) / step;
    *end = fitting < pool->kernel[axis] ? fitting : pool->kernel[axis];
    return start;
}

/* region_divisor: how many taps of a window an average counts: those within the input, or within the padding, too. */
static inline int64_t region_divisor(const RegionPool *pool, int axis, int64_t out)
{
    int64_t first, end;
    const int64_t start = region_window(pool, axis, out, &first, &end);
    const int64_t padded = pool->in[axis] + pool->pads[axis + 2] - start;
    const int64_t n = !pool->includes_pad ? end - first : padded < pool->kernel[axis] ? padded : pool->kernel[axis];
    return n > 1 ? n : 1;
}

/* RegionBinary: a sum or product. [0], [1]: operands; those of one channel have it in the first lane, those of one pixel
 * are the same for all pixels of a row. */
typedef struct
{
    bool is_product, is_one_channel[2], is_one_pixel[2];
    ConvActivation activation;
} RegionBinary;

/* RegionKernels: sizes in vectors of a block of channels; a plane is [rows][columns][block]. Where not said otherwise, @to
 * may be what is read. */
typedef struct RegionKernels
{
    void (*activate)(const ConvActivation *activation, const float *from, float *to, size_t n_vectors);
    void (*binary)(const RegionBinary *binary, const float *a, const float *b, float *to, size_t n_pixels);
    /* scale: activation(from * by + plus); @by, @plus: one vector */
    void (*scale)(const ConvActivation *activation, const float *from, const float *by, const float *plus, float *to,
                  size_t n_pixels);
    /* max_pool, average_pool: row @out_y of the outputs of a plane, to another place */
    void (*max_pool)(const RegionPool *pool, const float *plane, int64_t out_y, float *to);
    void (*average_pool)(const RegionPool *pool, const float *plane, int64_t out_y, float *to);
    void (*mean)(const float *plane, size_t n_pixels, float *to);
    /* to_blocks: @n_channels planes in NCHW, @channel_stride apart, to one in blocks, whose other lanes become 0;
     * from_blocks: back */
    void (*to_blocks)(const float *from, size_t channel_stride, size_t n_channels, size_t n_pixels, float *to);
    void (*from_blocks)(const float *from, size_t n_pixels, float *to, size_t channel_stride, size_t n_channels);
} RegionKernels;
