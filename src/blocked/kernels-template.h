/* The kernels of one instruction set, for one block. Included by kernels-ISA.c with these defined:
 *   BLOCK: channels of a vector    PIXELS: of a whole tile    NAME(x): x with a suffix of its own    ISA: its name
 *   MAX_GROUP: of ConvKernels.max_group    GROUP_PIXELS: of its tiles
 * A vector is of GCC's vector types: where it is wider than a register, the compiler takes several. */

/* All functions that take or return a vector are inlined: no such value crosses an ABI. */
#pragma GCC diagnostic ignored "-Wpsabi"

typedef float NAME(vector) __attribute__((vector_size(BLOCK * sizeof(float)), aligned(4), may_alias));
#ifndef __AVX2__
typedef int32_t NAME(mask) __attribute__((vector_size(BLOCK * sizeof(int32_t))));
#endif
#define VECTOR NAME(vector)
#define LINE 16 /* floats of a line of the caches */

__attribute__((always_inline)) static inline VECTOR NAME(load)(const float *from)
{
    return *(const VECTOR *)from;
}

/* A NaN stays: of two operands that do not compare, the instructions give the second. */
__attribute__((always_inline)) static inline VECTOR NAME(bounded)(VECTOR value, float low, float high)
{
#if defined __AVX512F__ && BLOCK == 16
    return (VECTOR)_mm512_min_ps(_mm512_set1_ps(high), _mm512_max_ps(_mm512_set1_ps(low), (__m512)value));
#elif defined __AVX2__
    VECTOR bounded;
    for (int i = 0; i < BLOCK; i += 8)
    {
        const __m256 at_least = _mm256_max_ps(_mm256_set1_ps(low), _mm256_loadu_ps((const float *)&value + i));
        _mm256_storeu_ps((float *)&bounded + i, _mm256_min_ps(_mm256_set1_ps(high), at_least));
    }
    return bounded;
#else
    const VECTOR lows = low - (VECTOR){ 0 }, highs = high - (VECTOR){ 0 };
    const NAME(mask) below = value<lows, above = value> highs;
    return (VECTOR)(((NAME(mask))value & ~(below | above)) | ((NAME(mask))lows & below) | ((NAME(mask))highs & above));
#endif
}

__attribute__((always_inline)) static inline void NAME(begin)(const int n_pixels, const int vectors,
                                                              VECTOR sums[PIXELS][CONV_TILE_VECTORS], const float *out,
                                                              const ConvStore *store)
{
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++)
    {
        const VECTOR start = store->start != NULL ? NAME(load)(store->start + v * BLOCK) : (VECTOR){ 0 };
#pragma GCC unroll 28
        for (int p = 0; p < n_pixels; p++)
        {
            sums[p][v] = start;
            if (store->add)
                sums[p][v] += NAME(load)(out + (size_t)p * store->pixel_stride + (size_t)v * store->vector_stride);
        }
    }
}

__attribute__((always_inline)) static inline void
NAME(end)(const int n_pixels, const int vectors, VECTOR sums[PIXELS][CONV_TILE_VECTORS], float *out, const ConvStore *store)
{
    const bool is_bounded = store->low > -INFINITY || store->high < INFINITY;
#pragma GCC unroll 2
    for (int v = 0; v < vectors; v++)
#pragma GCC unroll 28
        for (int p = 0; p < n_pixels; p++)
        {
            const size_t at = (size_t)p * store->pixel_stride + (size_t)v * store->vector_stride;
            VECTOR value = sums[p][v];
            if (store->sum != NULL)
                value += NAME(load)(store->sum + at);
            *(VECTOR *)(out + at) = is_bounded ? NAME(bounded)(value, store->low, store->high) : value;
        }
}

/* Weights are read in the order in which they lie, and often from afar: those that are so far ahead are asked for. */
__attribute__((always_inline)) static inline void NAME(ask_ahead)(const float *weights, const int vectors)
{
#pragma GCC unroll 2
    for (int line = 0; line < vectors * BLOCK; line += LINE)
        __builtin_prefetch(weights + CONV_AHEAD + line);
}

__attribute__((always_inline)) static inline void NAME(product_of)(const int n_pixels, const int vectors, size_t depth,
                                                                   const float *weights, const float *rows,
                                                                   size_t row_stride, float *out, const ConvStore *store)
{
    VECTOR sums[PIXELS][CONV_TILE_VECTORS];
    NAME(begin)(n_pixels, vectors, sums, out, store);
    for (size_t k = 0; k < depth; k++, weights += vectors * BLOCK)
    {
        VECTOR weight[CONV_TILE_VECTORS];
        NAME(ask_ahead)(weights, vectors);
        for (int v = 0; v < vectors; v++)
            weight[v] = NAME(load)(weights + (size_t)v * BLOCK);
#pragma GCC unroll 14
        for (int p = 0; p < n_pixels; p++)
        {
            const VECTOR value = rows[(size_t)p * row_stride + k] - (VECTOR){ 0 };
            for (int v = 0; v < vectors; v++)
                sums[p][v] += weight[v] * value;
        }
    }
    NAME(end)(n_pixels, vectors, sums, out, store);
}

__attribute__((always_inline)) static inline void NAME(indirect_of)(const int n_pixels, const int vectors, size_t n_taps,
                                                                    size_t n_blocks, size_t depth, const float *weights,
                                                                    const float *const *taps, size_t tap_stride,
                                                                    size_t block_stride, const float *zero, float *out,
                                                                    const ConvStore *store)
{
    VECTOR sums[PIXELS][CONV_TILE_VECTORS];
    NAME(begin)(n_pixels, vectors, sums, out, store);
    for (size_t t = 0; t < n_taps; t++)
    {
        const float *rows[PIXELS];
        size_t step[PIXELS];
        for (int p = 0; p < n_pixels; p++)
        {
            rows[p] = taps[t * tap_stride + (size_t)p];
            step[p] = rows[p] == zero ? 0 : block_stride;
        }
        for (size_t b = 0; b < n_blocks; b++)
        {
            for (size_t k = 0; k < depth; k++)
            {
                VECTOR weight[CONV_TILE_VECTORS];
                NAME(ask_ahead)(weights, vectors);
                for (int v = 0; v < vectors; v++)
                    weight[v] = NAME(load)(weights + (size_t)v * BLOCK);
                weights += vectors * BLOCK;
#pragma GCC unroll 14
                for (int p = 0; p < n_pixels; p++)
                {
                    const VECTOR value = rows[p][k] - (VECTOR){ 0 };
                    for (int v = 0; v < vectors; v++)
                        sums[p][v] += weight[v] * value;
                }
            }
            for (int p = 0; p < n_pixels; p++)
                rows[p] += step[p];
        }
    }
    NAME(end)(n_pixels, vectors, sums, out, store);
}

/* One function for each size of a tile, so that its sums stay in registers. */
#define TILE(P)                                                                                                            \
    __attribute__((noinline)) static void NAME(product_##P)(int vectors, size_t depth, const float *weights,               \
                                                            const float *rows, size_t row_stride, float *out,              \
                                                            const ConvStore *store)                                        \
    {                                                                                                                      \
        if (vectors == 2)                                                                                                  \
            NAME(product_of)(P, 2, depth, weights, rows, row_stride, out, store);                                          \
        else                                                                                                               \
            NAME(product_of)(P, 1, depth, weights, rows, row_stride, out, store);                                          \
    }                                                                                                                      \
    __attribute__((noinline)) static void NAME(indirect_##P)(                                                              \
        int vectors, size_t n_taps, size_t n_blocks, size_t depth, const float *weights, const float *const *taps,         \
        size_t tap_stride, size_t block_stride, const float *zero, float *out, const ConvStore *store)                     \
    {                                                                                                                      \
        if (vectors == 2)                                                                                                  \
            NAME(indirect_of)                                                                                              \
        (P, 2, n_taps, n_blocks, depth, weights, taps, tap_stride, block_stride, zero, out, store);                        \
        else NAME(indirect_of)(P, 1, n_taps, n_blocks, depth, weights, taps, tap_stride, block_stride, zero, out, store);  \
    }
#if PIXELS == 2
#define EACH_TILE(F) F(1), F(2)
#define MAKE_TILES TILE(1) TILE(2)
#elif PIXELS == 3
#define EACH_TILE(F) F(1), F(2), F(3)
#define MAKE_TILES TILE(1) TILE(2) TILE(3)
#elif PIXELS == 6
#define EACH_TILE(F) F(1), F(2), F(3), F(4), F(5), F(6)
#define MAKE_TILES TILE(1) TILE(2) TILE(3) TILE(4) TILE(5) TILE(6)
#else
#define EACH_TILE(F) F(1), F(2), F(3), F(4), F(5), F(6), F(7), F(8), F(9), F(10), F(11), F(12), F(13), F(14)
#define MAKE_TILES                                                                                                         \
    TILE(1) TILE(2) TILE(3) TILE(4) TILE(5) TILE(6) TILE(7) TILE(8) TILE(9) TILE(10) TILE(11) TILE(12) TILE(13) TILE(14)
#endif
MAKE_TILES
#undef TILE

static void NAME(product)(int n_pixels, int vectors, size_t depth, const float *weights, const float *rows,
                          size_t row_stride, float *out, const ConvStore *store)
{
#define ROW(P) NAME(product_##P)
    static void (*const tiles[])(int, size_t, const float *, const float *, size_t, float *,
                                 const ConvStore *) = { EACH_TILE(ROW) };
#undef ROW
    tiles[n_pixels - 1](vectors, depth, weights, rows, row_stride, out, store);
}

static void NAME(product_indirect)(int n_pixels, int vectors, size_t n_taps, size_t n_blocks, size_t depth,
                                   const float *weights, const float *const *taps, size_t tap_stride, size_t block_stride,
                                   const float *zero, float *out, const ConvStore *store)
{
#define ROW(P) NAME(indirect_##P)
    static void (*const tiles[])(int, size_t, size_t, size_t, const float *, const float *const *, size_t, size_t,
                                 const float *, float *, const ConvStore *) = { EACH_TILE(ROW) };
#undef ROW
    tiles[n_pixels - 1](vectors, n_taps, n_blocks, depth, weights, taps, tap_stride, block_stride, zero, out, store);
}

#include "fft-template.h"
#include "region-template.h"
#include "rows-template.h"
#include "winograd-template.h"

const ConvKernels NAME(conv_kernels) = {
    .isa = ISA,
    .block = BLOCK,
    .pixels = PIXELS,
    .max_group = MAX_GROUP,
    .group_pixels = GROUP_PIXELS,
    .product = NAME(product),
    .product_indirect = NAME(product_indirect),
    .product_rows = NAME(product_rows),
    .grouped_rows = NAME(grouped_rows),
    .fft_forward = NAME(fft_forward),
    .fft_inverse = NAME(fft_inverse),
    .winograd_input = NAME(winograd_input),
    .winograd_output = NAME(winograd_output),
    .region = &NAME(region_kernels),
};

#undef EACH_TILE
#undef MAKE_TILES
#undef VECTOR
#undef LINE
#undef BLOCK
#undef PIXELS
#undef MAX_GROUP
#undef GROUP_PIXELS
#undef NAME
