/* Winograd's transforms of one instruction set, for vectors of one block. Included by kernels-template.h. */

/* Values of the polynomial with coefficients d, at all points. */
__attribute__((always_inline)) static inline void NAME(to_points)(const int pairs, const VECTOR d[WINOGRAD_MAX_SIDE],
                                                                  VECTOR at[WINOGRAD_MAX_SIDE])
{
    const WinogradPoints *points = &winograd_points[pairs - 1];
    VECTOR zero = points->all[0] * d[0], infinity = points->all[0] * d[1];
#pragma GCC unroll 4
    for (int k = 1; k <= pairs; k++)
    {
        zero += points->all[k] * d[2 * k];
        infinity += points->all[k] * d[2 * k + 1];
    }
    at[0] = zero;
    at[2 * pairs + 1] = infinity;
#pragma GCC unroll 4
    for (int i = 0; i < pairs; i++)
    {
        VECTOR even = points->without[i][0] * d[2], odd = points->without[i][0] * d[1];
#pragma GCC unroll 4
        for (int k = 1; k < pairs; k++)
        {
            even += points->without[i][k] * d[2 * k + 2];
            odd += points->without[i][k] * d[2 * k + 1];
        }
        at[2 * i + 1] = even + points->points[i] * odd;
        at[2 * i + 2] = even - points->points[i] * odd;
    }
}

/* The outputs from the products at all points. */
__attribute__((always_inline)) static inline void NAME(from_points)(const int pairs, const VECTOR at[WINOGRAD_MAX_SIDE],
                                                                    VECTOR outputs[2 * WINOGRAD_MAX_PAIRS])
{
    const WinogradPoints *points = &winograd_points[pairs - 1];
    outputs[0] = at[0];
#pragma GCC unroll 8
    for (int k = 1; k < 2 * pairs; k++)
        outputs[k] = k + 1 < 2 * pairs ? (VECTOR){ 0 } : at[2 * pairs + 1];
#pragma GCC unroll 4
    for (int i = 0; i < pairs; i++)
    {
        const VECTOR sum = at[2 * i + 1] + at[2 * i + 2], difference = at[2 * i + 1] - at[2 * i + 2];
        float power = 1;
#pragma GCC unroll 8
        for (int k = 0; k < 2 * pairs; k++, power *= points->points[i])
            outputs[k] += power * (k % 2 == 0 ? sum : difference);
    }
}

/* What a tile reads where that reaches over the image, or where channels are not in blocks. */
static void NAME(fill_patch)(const IfmBlockedShape *shape, const float *input, int64_t n_channels, int64_t y, int64_t x,
                             int64_t side, float *patch)
{
    const size_t channel_stride = (size_t)(shape->in[0] * shape->in[1]);
    for (int64_t i = y; i < y + side; i++)
        for (int64_t j = x; j < x + side; j++, patch += BLOCK)
        {
            const bool is_inside = i >= 0 && i < shape->in[0] && j >= 0 && j < shape->in[1];
            const float *from = is_inside ? input + (i * shape->in[1] + j) * shape->input_block : NULL;
            *(VECTOR *)patch = is_inside && shape->input_block == BLOCK ? NAME(load)(from) : (VECTOR){ 0 };
            for (int64_t c = 0; is_inside && shape->input_block == 1 && c < MIN(n_channels, BLOCK); c++)
                patch[c] = from[(size_t)c * channel_stride];
        }
}

__attribute__((always_inline)) static inline void NAME(input_of)(const int pairs, const IfmBlockedShape *shape,
                                                                 const float *input, int64_t n_channels, int64_t y,
                                                                 int64_t x, float *to, size_t point_stride)
{
    const int side = 2 * pairs + 2;
    const size_t in_pixels = (size_t)(shape->in[0] * shape->in[1]);
    const bool is_plain =
        shape->input_block == BLOCK && y >= 0 && x >= 0 && y + side <= shape->in[0] && x + side <= shape->in[1];
    float patch[WINOGRAD_MAX_SIDE * WINOGRAD_MAX_SIDE * BLOCK] __attribute__((aligned(64)));
    VECTOR half[WINOGRAD_MAX_SIDE * WINOGRAD_MAX_SIDE] __attribute__((aligned(64)));
    for (int64_t c = 0; c < n_channels; c += BLOCK, input += in_pixels * BLOCK)
    {
        const float *from = patch;
        size_t row_stride = (size_t)side * BLOCK;
        if (is_plain)
        {
            from = input + (size_t)(y * shape->in[1] + x) * BLOCK;
            row_stride = (size_t)shape->in[1] * BLOCK;
        }
        else
            NAME(fill_patch)(shape, input, n_channels - c, y, x, side, patch);
        VECTOR values[WINOGRAD_MAX_SIDE], at[WINOGRAD_MAX_SIDE];
        for (int j = 0; j < side; j++)
        {
#pragma GCC unroll 8
            for (int i = 0; i < side; i++)
                values[i] = NAME(load)(from + (size_t)i * row_stride + j * BLOCK);
            NAME(to_points)(pairs, values, at);
#pragma GCC unroll 8
            for (int i = 0; i < side; i++)
                half[i * side + j] = at[i];
        }
        for (int i = 0; i < side; i++)
        {
#pragma GCC unroll 8
            for (int j = 0; j < side; j++)
                values[j] = half[i * side + j];
            NAME(to_points)(pairs, values, at);
#pragma GCC unroll 8
            for (int j = 0; j < side; j++)
                *(VECTOR *)(to + (size_t)(i * side + j) * point_stride + c) = at[j];
        }
    }
}

__attribute__((always_inline)) static inline void NAME(output_of)(const int pairs, const float *from, size_t point_stride,
                                                                  int vectors, const int64_t size[2], float *out,
                                                                  size_t row_stride, const ConvStore *store)
{
    const int side = 2 * pairs + 2;
    VECTOR half[2 * WINOGRAD_MAX_PAIRS * WINOGRAD_MAX_SIDE] __attribute__((aligned(64)));
    for (int v = 0; v < vectors; v++)
    {
        const VECTOR bias = NAME(load)(store->start + v * BLOCK);
        VECTOR at[WINOGRAD_MAX_SIDE], outputs[2 * WINOGRAD_MAX_PAIRS];
        for (int j = 0; j < side; j++)
        {
#pragma GCC unroll 8
            for (int i = 0; i < side; i++)
                at[i] = NAME(load)(from + (size_t)(i * side + j) * point_stride + v * BLOCK);
            NAME(from_points)(pairs, at, outputs);
#pragma GCC unroll 8
            for (int i = 0; i < 2 * pairs; i++)
                half[i * side + j] = outputs[i];
        }
        for (int64_t i = 0; i < size[0]; i++)
        {
#pragma GCC unroll 8
            for (int j = 0; j < side; j++)
                at[j] = half[i * side + j];
            NAME(from_points)(pairs, at, outputs);
#pragma GCC unroll 8
            for (int j = 0; j < 2 * pairs; j++)
                if (j < size[1])
                {
                    const size_t to =
                        (size_t)i * row_stride + (size_t)j * store->pixel_stride + (size_t)v * store->vector_stride;
                    VECTOR value = outputs[j] + bias;
                    if (store->sum != NULL)
                        value += NAME(load)(store->sum + to);
                    *(VECTOR *)(out + to) = NAME(bounded)(value, store->low, store->high);
                }
        }
    }
}

static void NAME(winograd_input)(int pairs, const IfmBlockedShape *shape, const float *input, int64_t n_channels, int64_t y,
                                 int64_t x, float *to, size_t point_stride)
{
    if (pairs == 1)
        NAME(input_of)(1, shape, input, n_channels, y, x, to, point_stride);
    else if (pairs == 2)
        NAME(input_of)(2, shape, input, n_channels, y, x, to, point_stride);
    else
        NAME(input_of)(3, shape, input, n_channels, y, x, to, point_stride);
}

static void NAME(winograd_output)(int pairs, const float *from, size_t point_stride, int vectors, const int64_t size[2],
                                  float *out, size_t row_stride, const ConvStore *store)
{
    if (pairs == 1)
        NAME(output_of)(1, from, point_stride, vectors, size, out, row_stride, store);
    else if (pairs == 2)
        NAME(output_of)(2, from, point_stride, vectors, size, out, row_stride, store);
    else
        NAME(output_of)(3, from, point_stride, vectors, size, out, row_stride, store);
}
