/* Direct convolution of one instruction set: tiles of one row of outputs or two. Included by kernels-template.h. */

/* Calls TAP(first, end) for the columns of a tile whose tap is in the image: what is common as constants, so that no pixel
 * is asked about where the products are. */
#define AT_EDGES(span, TAP)                                                                                                \
    do                                                                                                                     \
    {                                                                                                                      \
        if ((span).first == 0 && (span).end == width)                                                                      \
            TAP(0, width);                                                                                                 \
        else if ((span).first == 1 && (span).end == width)                                                                 \
            TAP(1, width);                                                                                                 \
        else if ((span).first == 0 && (span).end == width - 1)                                                             \
            TAP(0, width - 1);                                                                                             \
        else if ((span).first == 2 && (span).end == width)                                                                 \
            TAP(2, width);                                                                                                 \
        else if ((span).first == 0 && (span).end == width - 2)                                                             \
            TAP(0, width - 2);                                                                                             \
        else if ((span).first < (span).end)                                                                                \
            TAP((span).first, (span).end);                                                                                 \
    } while (0)

/* Sums of a tile: those of the first row, then those of the second. */
#define SUMS VECTOR sums[2 * PIXELS][CONV_TILE_VECTORS]

__attribute__((always_inline)) static inline void NAME(end_lines)(const int lines, const int width, const int vectors, SUMS,
                                                                  float *out, const ConvStore *store)
{
    NAME(end)(width, vectors, sums, out, store);
    if (lines == 1)
        return;
    ConvStore second = *store;
    if (store->sum != NULL)
        second.sum += store->line_stride;
    NAME(end)(width, vectors, sums + width, out + store->line_stride, &second);
}

/* One tap of the tile's rows from begin to before stop, in the columns from first on. */
__attribute__((always_inline)) static inline void NAME(tap_of)(const int width, const int vectors, const int begin,
                                                               const int stop, const int first, const int end,
                                                               const ConvReach *reach, size_t pixel_stride, size_t depth,
                                                               const float *weights, const float *from, SUMS)
{
    for (size_t b = 0; b < reach->n_blocks; b++, from += reach->block_stride)
        for (size_t k = 0; k < depth; k++, weights += vectors * BLOCK)
        {
            VECTOR weight[CONV_TILE_VECTORS];
            NAME(ask_ahead)(weights, vectors);
            for (int v = 0; v < vectors; v++)
                weight[v] = NAME(load)(weights + (size_t)v * BLOCK);
#pragma GCC unroll 2
            for (int line = begin; line < stop; line++)
#pragma GCC unroll 14
                for (int p = 0; p < width; p++)
                    if (p >= first && p < end)
                    {
                        const float *at = (line > 0 ? from + reach->line_stride : from) + (size_t)p * pixel_stride + k;
                        const VECTOR value = *at - (VECTOR){ 0 };
                        for (int v = 0; v < vectors; v++)
                            sums[line * width + p][v] += weight[v] * value;
                    }
        }
}

/* n of the kernel's rows. */
__attribute__((always_inline)) static inline void NAME(taps_of)(const int width, const int vectors, const int begin,
                                                                const int stop, int64_t n, const ConvReach *reach,
                                                                size_t pixel_stride, size_t depth, const float **weights,
                                                                const float **from, SUMS)
{
    const size_t step = reach->n_blocks * depth * (size_t)(vectors * BLOCK);
    for (int64_t i = 0; i < n; i++, *from += reach->row_stride)
        for (int64_t j = 0; j < reach->n_columns; j++, *weights += step)
        {
            const ConvSpan span = reach->spans[j];
            const float *at = *from + j * reach->column_stride;
#define TAP(first, end)                                                                                                    \
    NAME(tap_of)(width, vectors, begin, stop, first, end, reach, pixel_stride, depth, *weights, at, sums)
            AT_EDGES(span, TAP);
#undef TAP
        }
}

__attribute__((always_inline)) static inline void NAME(rows_of)(const int lines, const int width, const int vectors,
                                                                size_t pixel_stride, size_t depth, const ConvReach *reach,
                                                                const float *weights, float *out, const ConvStore *store)
{
    SUMS;
    const float *from = reach->from;
    NAME(begin)(lines * width, vectors, sums, out, store);
    if (lines == 2)
        NAME(taps_of)(width, vectors, 1, 2, reach->n_before, reach, pixel_stride, depth, &weights, &from, sums);
    NAME(taps_of)(width, vectors, 0, lines, reach->n_rows, reach, pixel_stride, depth, &weights, &from, sums);
    if (lines == 2)
        NAME(taps_of)(width, vectors, 0, 1, reach->n_after, reach, pixel_stride, depth, &weights, &from, sums);
    NAME(end_lines)(lines, width, vectors, sums, out, store);
}

/* --- depthwise -------------------------------------------------------------------------------------------------------- */

/* A kernel of n columns without dilation. @lead, @excess: columns before and behind the image that the tile reads */
__attribute__((always_inline)) static inline void NAME(window_of)(const int width, const int n, const int stride,
                                                                  const int lead, const int excess, const ConvReach *reach,
                                                                  const float *weights, const float *from, SUMS)
{
    for (int64_t i = 0; i < reach->n_rows; i++, from += reach->row_stride, weights += n * BLOCK)
#pragma GCC unroll 5
        for (int j = 0; j < n; j++)
        {
            const VECTOR weight = NAME(load)(weights + j * BLOCK);
            const int first = lead > j ? (lead - j + stride - 1) / stride : 0, over = j - (n - 1 - excess);
            const int end = width - (over > 0 ? (over + stride - 1) / stride : 0);
#pragma GCC unroll 14
            for (int p = 0; p < width; p++)
                if (p >= first && p < end)
                    sums[p][0] += weight * NAME(load)(from + (p * stride + j) * BLOCK);
        }
}

__attribute__((always_inline)) static inline void NAME(tap_of_column)(const int width, const int first, const int end,
                                                                      size_t pixel_stride, VECTOR weight, const float *from,
                                                                      SUMS)
{
#pragma GCC unroll 14
    for (int p = 0; p < width; p++)
        if (p >= first && p < end)
            sums[p][0] += weight * NAME(load)(from + (size_t)p * pixel_stride);
}

/* Any kernel, column by column. */
__attribute__((always_inline)) static inline void NAME(columns_of)(const int width, const ConvReach *reach,
                                                                   const float *weights, const float *row, SUMS)
{
    for (int64_t j = 0; j < reach->n_columns; j++, weights += BLOCK)
    {
        const ConvSpan span = reach->spans[j];
        const float *from = row + j * reach->column_stride;
        for (int64_t i = 0; i < reach->n_rows; i++, from += reach->row_stride)
        {
            const VECTOR weight = NAME(load)(weights + i * reach->n_columns * BLOCK);
#define TAP(first, end) NAME(tap_of_column)(width, first, end, reach->pixel_stride, weight, from, sums)
            AT_EDGES(span, TAP);
#undef TAP
        }
    }
}

/* The windows that networks have, padded by half of the kernel or not. */
#define WINDOW(N, STRIDE, LEAD, EXCESS)                                                                                    \
    if (reach->lead == LEAD && reach->excess == EXCESS)                                                                    \
        NAME(window_of)(width, N, STRIDE, LEAD, EXCESS, reach, weights, from, sums);                                       \
    else
#define WINDOWS(N, STRIDE, LEAD, EXCESS)                                                                                   \
    if (reach->n_columns == N && reach->pixel_stride == STRIDE * BLOCK && reach->column_stride == BLOCK)                   \
    {                                                                                                                      \
        WINDOW(N, STRIDE, 0, 0)                                                                                            \
        WINDOW(N, STRIDE, LEAD, 0)                                                                                         \
        WINDOW(N, STRIDE, 0, EXCESS) WINDOW(N, STRIDE, LEAD, EXCESS) NAME(columns_of)(width, reach, weights, from, sums);  \
    }                                                                                                                      \
    else

/* @lines rows of outputs that read the same rows of the kernel. */
__attribute__((always_inline)) static inline void NAME(depthwise_of)(int lines, const int width, const ConvReach *reach,
                                                                     const float *weights, float *out,
                                                                     const ConvStore *store)
{
    const float *from = reach->from;
    ConvStore row = *store;
    for (int line = 0; line < lines; line++, from += reach->line_stride, out += row.line_stride)
    {
        SUMS;
        NAME(begin)(width, 1, sums, out, &row);
#pragma GCC unroll 14
        for (int p = 0; p < width; p++) /* of the row that the next row of outputs is the first to read */
            __builtin_prefetch(from + reach->n_rows * reach->row_stride + (size_t)p * reach->pixel_stride);
        WINDOWS(3, 1, 1, 1)
        WINDOWS(3, 2, 1, 1)
        WINDOWS(5, 1, 2, 2)
        WINDOWS(5, 2, 2, 1)
        NAME(columns_of)(width, reach, weights, from, sums);
        NAME(end)(width, 1, sums, out, &row);
        if (row.sum != NULL)
            row.sum += row.line_stride;
    }
}
#undef WINDOWS
#undef WINDOW

#if MAX_GROUP > 1
/* --- groups within a vector ------------------------------------------------------------------------------------------- */

/* Lane i has what lane i ^ other has. */
__attribute__((always_inline)) static inline VECTOR NAME(exchanged)(VECTOR value, const int other)
{
#if defined __AVX512F__ && BLOCK == 16
    const __m512 halves = (other & 4) != 0 ? _mm512_shuffle_f32x4((__m512)value, (__m512)value, 0xb1) : (__m512)value;
    return (other & 3) == 0   ? (VECTOR)halves
           : (other & 3) == 1 ? (VECTOR)_mm512_permute_ps(halves, 0xb1)
           : (other & 3) == 2 ? (VECTOR)_mm512_permute_ps(halves, 0x4e)
                              : (VECTOR)_mm512_permute_ps(halves, 0x1b);
#elif defined __AVX2__ && BLOCK == 8
    return (other & 3) == 0   ? value
           : (other & 3) == 1 ? (VECTOR)_mm256_permute_ps((__m256)value, 0xb1)
           : (other & 3) == 2 ? (VECTOR)_mm256_permute_ps((__m256)value, 0x4e)
                              : (VECTOR)_mm256_permute_ps((__m256)value, 0x1b);
#else
    return value;
#endif
}

/* n of the rows of inputs that a column of the kernel reads: by the first row of outputs, by the second, or by both. */
__attribute__((always_inline)) static inline void NAME(inputs_of)(const int group, const int width, const bool is_of_first,
                                                                  const bool is_of_second, const int first, const int end,
                                                                  int64_t n, size_t pixel_stride, const ConvReach *reach,
                                                                  const float *weights, const float *from, SUMS)
{
    const int64_t row_weights = reach->n_columns * group * BLOCK;
    for (int64_t i = 0; i < n; i++, from += reach->row_stride, weights += row_weights)
    {
        const float *second = weights - reach->lag * row_weights;
#pragma GCC unroll 14
        for (int p = 0; p < width; p++)
            if (p >= first && p < end)
            {
                const VECTOR value = NAME(load)(from + (size_t)p * pixel_stride);
#pragma GCC unroll 8
                for (int other = 0; other < group; other++)
                {
                    const VECTOR exchanged = NAME(exchanged)(value, other);
                    if (is_of_first)
                        sums[p][0] += exchanged * NAME(load)(weights + (size_t)other * BLOCK);
                    if (is_of_second)
                        sums[width + p][0] += exchanged * NAME(load)(second + (size_t)other * BLOCK);
                }
            }
    }
}

__attribute__((always_inline)) static inline void NAME(column_of)(const int group, const int lines, const int width,
                                                                  const int first, const int end, size_t pixel_stride,
                                                                  const ConvReach *reach, const float *weights,
                                                                  const float *from, SUMS)
{
    const int64_t row_weights = reach->n_columns * group * BLOCK, last = reach->n_before + reach->n_rows;
    if (lines == 2)
        NAME(inputs_of)(group, width, true, false, first, end, reach->n_before, pixel_stride, reach, weights, from, sums);
    NAME(inputs_of)
    (group, width, true, lines == 2, first, end, reach->n_rows, pixel_stride, reach,
     weights + reach->n_before * row_weights, from + reach->n_before * reach->row_stride, sums);
    if (lines == 2)
        NAME(inputs_of)
    (group, width, false, true, first, end, reach->n_after, pixel_stride, reach, weights + last * row_weights,
     from + last * reach->row_stride, sums);
}

__attribute__((always_inline)) static inline void NAME(grouped_of)(const int group, const int lines, const int width,
                                                                   size_t pixel_stride, const ConvReach *reach,
                                                                   const float *weights, float *out, const ConvStore *store)
{
    SUMS;
    NAME(begin)(lines * width, 1, sums, out, store);
    for (int64_t j = 0; j < reach->n_columns; j++, weights += group * BLOCK)
    {
        const ConvSpan span = reach->spans[j];
        const float *from = reach->from + j * reach->column_stride;
#define TAP(first, end) NAME(column_of)(group, lines, width, first, end, pixel_stride, reach, weights, from, sums)
        if (span.first == 0 && span.end == width)
            TAP(0, width);
        else
            TAP(span.first, span.end);
#undef TAP
    }
    NAME(end_lines)(lines, width, 1, sums, out, store);
}
#endif

/* --- a function for each size of a tile ------------------------------------------------------------------------------- */

/* Where strides are the common ones, a pixel's place is a constant. */
#define ROWS(P)                                                                                                            \
    if (vectors == 2 && reach->depth == BLOCK && reach->pixel_stride == BLOCK)                                             \
        NAME(rows_of)(1, P, 2, BLOCK, BLOCK, reach, weights, out, store);                                                  \
    else if (vectors == 2 && reach->depth == 1 && reach->pixel_stride == 2)                                                \
        NAME(rows_of)(1, P, 2, 2, 1, reach, weights, out, store);                                                          \
    else if (vectors == 2 && reach->depth == 1 && reach->pixel_stride == 4)                                                \
        NAME(rows_of)(1, P, 2, 4, 1, reach, weights, out, store);                                                          \
    else if (vectors == 2)                                                                                                 \
        NAME(rows_of)(1, P, 2, reach->pixel_stride, reach->depth, reach, weights, out, store);                             \
    else if (lines == 2)                                                                                                   \
        NAME(rows_of)(2, P, 1, BLOCK, reach->depth, reach, weights, out, store);                                           \
    else if (reach->pixel_stride == BLOCK)                                                                                 \
        NAME(rows_of)(1, P, 1, BLOCK, reach->depth, reach, weights, out, store);                                           \
    else                                                                                                                   \
        NAME(rows_of)(1, P, 1, reach->pixel_stride, reach->depth, reach, weights, out, store);
#if MAX_GROUP > 1
#define GROUPED(GROUP, P)                                                                                                  \
    if (group == GROUP && GROUP <= MAX_GROUP && P <= GROUP_PIXELS)                                                         \
    {                                                                                                                      \
        if (lines == 2)                                                                                                    \
            NAME(grouped_of)(GROUP, 2, P, reach->pixel_stride, reach, weights, out, store);                                \
        else                                                                                                               \
            NAME(grouped_of)(GROUP, 1, P, reach->pixel_stride, reach, weights, out, store);                                \
    }                                                                                                                      \
    else
#else
#define GROUPED(GROUP, P)
#endif
#define TILE(P)                                                                                                            \
    __attribute__((noinline)) static void NAME(rows_##P)(int lines, int vectors, const ConvReach *reach,                   \
                                                         const float *weights, float *out, const ConvStore *store)         \
    {                                                                                                                      \
        ROWS(P)                                                                                                            \
    }                                                                                                                      \
    __attribute__((noinline)) static void NAME(grouped_##P)(int lines, int group, const ConvReach *reach,                  \
                                                            const float *weights, float *out, const ConvStore *store)      \
    {                                                                                                                      \
        GROUPED(2, P)                                                                                                      \
        GROUPED(4, P)                                                                                                      \
        GROUPED(8, P)                                                                                                      \
        NAME(depthwise_of)(lines, P, reach, weights, out, store);                                                          \
    }
MAKE_TILES
#undef TILE
#undef GROUPED
#undef ROWS
#undef SUMS
#undef AT_EDGES

static void NAME(product_rows)(int lines, int width, int vectors, const ConvReach *reach, const float *weights, float *out,
                               const ConvStore *store)
{
#define ROW(P) NAME(rows_##P)
    static void (*const tiles[])(int, int, const ConvReach *, const float *, float *,
                                 const ConvStore *) = { EACH_TILE(ROW) };
#undef ROW
    tiles[width - 1](lines, vectors, reach, weights, out, store);
}

static void NAME(grouped_rows)(int lines, int width, int group, const ConvReach *reach, const float *weights, float *out,
                               const ConvStore *store)
{
#define ROW(P) NAME(grouped_##P)
    static void (*const tiles[])(int, int, const ConvReach *, const float *, float *,
                                 const ConvStore *) = { EACH_TILE(ROW) };
#undef ROW
    tiles[width - 1](lines, group, reach, weights, out, store);
}
