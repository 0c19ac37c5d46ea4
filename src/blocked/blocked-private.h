#pragma once
#include "algorithm.h"
#include "region-kernels.h"

#ifndef MIN
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define CLAMP(x, low, high) MIN(MAX(x, low), high)
#endif

/* --- the code of one instruction set ---------------------------------------------------------------------------------- */

/* CONV_AHEAD: how many floats before they are used weights are asked for; at 4 KiB they come from any cache in time. */
#ifndef CONV_AHEAD
#define CONV_AHEAD 1024
#endif

/* ConvStore: how a tile is begun and stored. Output (p, v) of a tile, a vector of `block` channels, is at
 * out + p * pixel_stride + v * vector_stride; the same holds for sum. */
typedef struct
{
    const float *start; /* [vectors * block] added to each pixel, or NULL */
    bool add;           /* to what out holds, too */
    size_t pixel_stride, vector_stride;
    const float *sum;   /* of the tile's first output; NULL: none */
    float low, high;    /* bounds of what is stored */
    size_t line_stride; /* to the second row of a tile of two */
} ConvStore;

/* ConvFftLine: a transform of n complex values, by passes of radix 1 to 5. */
typedef struct
{
    int n, n_factors, factors[24];
    float *twiddles; /* [pass][p < m][1 <= r < radix][re, im] */
} ConvFftLine;

/* ConvFft: a transform of an image of real values. Its half spectrum is stored column after column; columns whose second
 * half mirrors the first are stored to the middle. */
typedef struct
{
    ConvFftLine line[2]; /* [0] down the rows, [1] along a row */
} ConvFft;

static inline bool conv_fft_mirrors(const ConvFft *fft, size_t column)
{
    return column == 0 || 2 * column == (size_t)fft->line[1].n;
}
static inline size_t conv_fft_column_size(const ConvFft *fft, size_t column)
{
    return conv_fft_mirrors(fft, column) ? (size_t)fft->line[0].n / 2 + 1 : (size_t)fft->line[0].n;
}
/* conv_fft_column: index of the first frequency of a column; of the column after the last: how many there are */
static inline size_t conv_fft_column(const ConvFft *fft, size_t column)
{
    const size_t n = (size_t)fft->line[0].n, mirrored = n / 2 + 1;
    return column == 0 ? 0 : mirrored + (column - 1) * n - (2 * (column - 1) == (size_t)fft->line[1].n ? n - mirrored : 0);
}

/* ConvFftForm: what is stored of a value a + ib of an input, or c + id of a weight, for the product (a + ib)(c - id):
 * of 4 real products, as two rows (a, b) and (b, -a) that are multiplied by (c, d): the real and the imaginary part;
 * of 3 real products:  p = (a + b) c,  q = a (c + d),  r = b (c - d);  the product is  p - r + i (p - q). */
typedef enum
{
    CONV_FFT_INPUTS_OF_4,
    CONV_FFT_WEIGHTS_OF_4,
    CONV_FFT_INPUTS_OF_3,
    CONV_FFT_WEIGHTS_OF_3
} ConvFftForm;

/* ConvWindow: a part of an image: (y, x) is at base + offset + y row_stride + x pixel_stride; outside of first to end are
 * zeros. */
typedef struct
{
    const float *base;
    int64_t offset, row_stride, pixel_stride, first[2], end[2];
} ConvWindow;

/* ConvSpan: the columns of a tile, from first to before end, whose tap is not in the padding. */
typedef struct
{
    int first, end;
} ConvSpan;

/* ConvReach: what the outputs of a tile, one row or two, read. Tap (i, j) of column p, of channel k of block b, is at
 * from + i row_stride + j column_stride + p pixel_stride + b block_stride + k, line_stride further for the second row.
 * @spans: [n_columns] of the kernel
 * @n_before, @n_rows, @n_after: product_rows: so many of the kernel's rows are read by the second row of outputs alone, by
 * all rows, by the first alone; grouped_rows: so many rows of inputs by the first alone, by all, by the second alone
 * @lag: by how many rows of the kernel the second row of outputs is behind the first
 * @lead, @excess: how many columns before and behind the image the tile reaches */
typedef struct
{
    const float *from;
    int64_t row_stride, column_stride;
    size_t pixel_stride, block_stride, line_stride, n_blocks, depth; /* depth: channels of a block */
    int64_t n_before, n_rows, n_after, n_columns, lag;
    const ConvSpan *spans;
    int lead, excess;
} ConvReach;

/* ConvKernels: functions of one instruction set for one block. All weights are panels [k][vectors][block]. */
typedef struct ConvKernels
{
    const char *isa;
    int block, pixels;           /* pixels: of a whole tile */
    int max_group, group_pixels; /* of grouped_rows: groups of 2, 4, … channels, and then columns of a tile */
    /* product: n_pixels <= pixels, vectors 1 or 2. out[p][v] = sum over k < depth of weights[k][v] rows[p * row_stride + k]
     */
    void (*product)(int n_pixels, int vectors, size_t depth, const float *weights, const float *rows, size_t row_stride,
                    float *out, const ConvStore *store);
    /* product_indirect: rows are found by pointers: of tap t and pixel p at taps[t * tap_stride + p], for each of n_blocks
     * blocks of depth floats; the next block is block_stride floats further, but not where the pointer is @zero. */
    void (*product_indirect)(int n_pixels, int vectors, size_t n_taps, size_t n_blocks, size_t depth, const float *weights,
                             const float *const *taps, size_t tap_stride, size_t block_stride, const float *zero,
                             float *out, const ConvStore *store);
    /* product_rows: the same for a tile that reads rows of the image in place: @lines rows of @width outputs. Two rows
     * are of one vector, with stride 1. */
    void (*product_rows)(int lines, int width, int vectors, const ConvReach *reach, const float *weights, float *out,
                         const ConvStore *store);
    /* grouped_rows: a vector of channels, each of which reads the @group inputs of its group; weights:
     * [tap][other][block], where lane i has the weight of input i ^ other. Of @reach no blocks. Depthwise, with a group of
     * 1, it takes any number of rows that read the same rows of the kernel. */
    void (*grouped_rows)(int lines, int width, int group, const ConvReach *reach, const float *weights, float *out,
                         const ConvStore *store);
    /* fft_forward: the half spectrum of a window, times 2, in the parts of @form. Part i of frequency f is at
     * to + f * frequency_stride + i * part_stride. */
    void (*fft_forward)(const ConvFft *fft, const ConvWindow *window, float *scratch, float *to, size_t frequency_stride,
                        size_t part_stride, ConvFftForm form);
    /* fft_inverse: the first size[0] x size[1] values of what has a half spectrum, times the number of values, from the
     * outputs of products with inputs of @form. @store: start, sum, pixel_stride, low, high */
    void (*fft_inverse)(const ConvFft *fft, const float *from, size_t frequency_stride, size_t part_stride,
                        ConvFftForm form, float *scratch, const int64_t size[2], float *out, size_t row_stride,
                        const ConvStore *store);
    /* winograd_input: the transform of the inputs of one tile, from (y, x) on, for all channels. Point i of channel c goes
     * to @to + i * point_stride + c; where channels are no whole blocks, zeros follow. @input: of the image and group */
    void (*winograd_input)(int pairs, const IfmBlockedShape *shape, const float *input, int64_t n_channels, int64_t y,
                           int64_t x, float *to, size_t point_stride);
    /* winograd_output: the inverse, of @vectors vectors of channels: size[0] x size[1] outputs of the tile. @store: start,
     * pixel_stride, vector_stride, sum, low, high */
    void (*winograd_output)(int pairs, const float *from, size_t point_stride, int vectors, const int64_t size[2],
                            float *out, size_t row_stride, const ConvStore *store);
    const RegionKernels *region;
} ConvKernels;

/* conv_kernels: the best of this processor for that block, or no better than max_isa (NULL: any). NULL where there is none.
 */
const ConvKernels *conv_kernels(int block, const char *max_isa);
extern const ConvKernels conv_kernels_avx512_16, conv_kernels_avx2_16, conv_kernels_avx2_8, conv_kernels_portable_16,
    conv_kernels_portable_8;

/* --- the own algorithms ----------------------------------------------------------------------------------------------- */

extern const ConvAlgorithm conv_rows, conv_implicit_gemm, conv_implicit_precomp_gemm, conv_fft, conv_fft_tiling,
    conv_winograd, conv_winograd_nonfused;
