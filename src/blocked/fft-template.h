/* Transforms of one instruction set, for vectors of one block of channels: a lane is a channel, so every operation of a
 * transform is one on whole vectors of the blocked layout. Included by kernels-template.h. A complex value is a vector of
 * real parts and one of imaginary parts; a buffer of them has the two next to each other. */

typedef struct
{
    VECTOR re, im;
} NAME(complex);

#define COMPLEX (2 * BLOCK) /* floats */

__attribute__((always_inline)) static inline void NAME(store)(float *to, VECTOR value)
{
    *(VECTOR *)to = value;
}

/* a - i b and a + i b */
__attribute__((always_inline)) static inline void NAME(turn)(NAME(complex) a, NAME(complex) b, NAME(complex) * minus,
                                                             NAME(complex) * plus)
{
    *minus = (NAME(complex)){ a.re + b.im, a.im - b.re };
    *plus = (NAME(complex)){ a.re - b.im, a.im + b.re };
}

#define SUM(a, b)                                                                                                          \
    (NAME(complex))                                                                                                        \
    {                                                                                                                      \
        (a).re + (b).re, (a).im + (b).im                                                                                   \
    }
#define DIFFERENCE(a, b)                                                                                                   \
    (NAME(complex))                                                                                                        \
    {                                                                                                                      \
        (a).re - (b).re, (a).im - (b).im                                                                                   \
    }
/* a + x b + y c of complex values and real constants */
#define MIX(a, x, b, y, c)                                                                                                 \
    (NAME(complex))                                                                                                        \
    {                                                                                                                      \
        (a).re + (x) * (b).re + (y) * (c).re, (a).im + (x) * (b).im + (y) * (c).im                                         \
    }

/* The discrete Fourier transform of 1 to 5 values, in place. */
__attribute__((always_inline)) static inline void NAME(butterfly)(const int radix, NAME(complex) a[5])
{
    if (radix == 2)
    {
        const NAME(complex) b = DIFFERENCE(a[0], a[1]);
        a[0] = SUM(a[0], a[1]);
        a[1] = b;
    }
    else if (radix == 3)
    {
        const NAME(complex) zero = { 0 }, sum = SUM(a[1], a[2]), difference = DIFFERENCE(a[1], a[2]);
        const NAME(complex) middle = MIX(a[0], -0.5F, sum, 0.0F, zero);
        a[0] = SUM(a[0], sum);
        NAME(turn)(middle, MIX(zero, 0.866025403784438647F, difference, 0.0F, zero), &a[1], &a[2]);
    }
    else if (radix == 4)
    {
        const NAME(complex) even = SUM(a[0], a[2]), odd = SUM(a[1], a[3]);
        const NAME(complex) b = DIFFERENCE(a[0], a[2]), c = DIFFERENCE(a[1], a[3]);
        a[0] = SUM(even, odd);
        a[2] = DIFFERENCE(even, odd);
        NAME(turn)(b, c, &a[1], &a[3]);
    }
    else if (radix == 5)
    {
        const float c1 = 0.309016994374947424F, c2 = -0.809016994374947424F;
        const float s1 = 0.951056516295153572F, s2 = 0.587785252292473129F;
        const NAME(complex) zero = { 0 }, outer = SUM(a[1], a[4]), inner = SUM(a[2], a[3]);
        const NAME(complex) b = DIFFERENCE(a[1], a[4]), c = DIFFERENCE(a[2], a[3]);
        const NAME(complex) first = MIX(a[0], c1, outer, c2, inner), second = MIX(a[0], c2, outer, c1, inner);
        a[0] = MIX(a[0], 1.0F, outer, 1.0F, inner);
        NAME(turn)(first, MIX(zero, s1, b, s2, c), &a[1], &a[4]);
        NAME(turn)(second, MIX(zero, s2, b, -s1, c), &a[2], &a[3]);
    }
}
#undef SUM
#undef DIFFERENCE
#undef MIX

/* One pass of Stockham's transform, whose outputs are in order: of sequences of radix * m values, `span` of them
 * interleaved. @re, @im: of the first input; the next is @stride floats further */
__attribute__((always_inline)) static inline void NAME(pass)(const int radix, const size_t m, const size_t span,
                                                             const float *twiddles, const float *re, const float *im,
                                                             size_t stride, float *out)
{
    for (size_t p = 0; p < m; p++)
        for (size_t q = 0; q < span; q++)
        {
            NAME(complex) a[5];
            for (int r = 0; r < radix; r++)
            {
                const size_t at = (q + span * (p + m * (size_t)r)) * stride;
                a[r] = (NAME(complex)){ NAME(load)(re + at), NAME(load)(im + at) };
            }
            NAME(butterfly)(radix, a);
            for (int r = 0; r < radix; r++)
            {
                float *to = out + (q + span * ((size_t)radix * p + (size_t)r)) * COMPLEX;
                if (p > 0 && r > 0)
                {
                    const float *w = twiddles + 2 * (p * (size_t)(radix - 1) + (size_t)(r - 1));
                    a[r] = (NAME(complex)){ a[r].re * w[0] - a[r].im * w[1], a[r].re * w[1] + a[r].im * w[0] };
                }
                NAME(store)(to, a[r].re);
                NAME(store)(to + BLOCK, a[r].im);
            }
        }
}

#define PASS(R)                                                                                                            \
    __attribute__((noinline)) static void NAME(pass_##R)(size_t m, size_t span, const float *twiddles, const float *re,    \
                                                         const float *im, size_t stride, float *out)                       \
    {                                                                                                                      \
        NAME(pass)(R, m, span, twiddles, re, im, stride, out);                                                             \
    }
PASS(1)
PASS(2)
PASS(3)
PASS(4)
PASS(5)
#undef PASS

/* The forward transform of a line. With re and im exchanged in inputs and outputs that is the inverse one, times n.
 * @buffers: two of n complex values    Returns: the outputs, in one of them */
__attribute__((always_inline)) static inline float *NAME(line)(const ConvFftLine *line, const float *re, const float *im,
                                                               size_t stride, float *buffers)
{
    static void (*const passes[])(size_t, size_t, const float *, const float *, const float *, size_t,
                                  float *) = { NULL, NAME(pass_1), NAME(pass_2), NAME(pass_3), NAME(pass_4), NAME(pass_5) };
    float *out = buffers, *other = buffers + (size_t)line->n * COMPLEX;
    const float *twiddles = line->twiddles;
    /* The lengths of tiles, with all loops unrolled. */
    if (line->n == 16 || line->n == 8)
    {
        if (line->n == 16)
        {
            NAME(pass)(4, 4, 1, twiddles, re, im, stride, out);
            NAME(pass)(4, 1, 4, twiddles, out, out + BLOCK, COMPLEX, other);
        }
        else
        {
            NAME(pass)(4, 2, 1, twiddles, re, im, stride, out);
            NAME(pass)(2, 1, 4, twiddles, out, out + BLOCK, COMPLEX, other);
        }
        return other;
    }
    size_t m = (size_t)line->n, span = 1;
    for (int i = 0; i < line->n_factors; i++)
    {
        const size_t radix = (size_t)line->factors[i];
        m /= radix;
        passes[radix](m, span, twiddles, re, im, stride, out);
        twiddles += 2 * m * (radix - 1);
        span *= radix;
        re = out;
        im = out + BLOCK;
        stride = COMPLEX;
        out = other;
        other = (float *)re;
    }
    return other;
}

/* Copies a row of the window with the zeros around it. */
__attribute__((always_inline)) static inline void NAME(copy_row)(const ConvWindow *window, int64_t n, int64_t y,
                                                                 float *copy)
{
    const bool is_inside = y >= window->first[0] && y < window->end[0];
    const int64_t first = is_inside ? window->first[1] : n, end = is_inside ? window->end[1] : n;
    const float *row = window->base + (is_inside ? window->offset + y * window->row_stride : 0);
    for (int64_t x = 0; x < first; x++)
        NAME(store)(copy + x * BLOCK, (VECTOR){ 0 });
    for (int64_t x = first; x < end; x++)
        NAME(store)(copy + x * BLOCK, NAME(load)(row + x * window->pixel_stride));
    for (int64_t x = end; x < n; x++)
        NAME(store)(copy + x * BLOCK, (VECTOR){ 0 });
}

/* The spectrum of rows y and y + 1 as the parts of complex values. */
__attribute__((always_inline)) static inline const float *NAME(two_rows)(const ConvFftLine *line, const ConvWindow *window,
                                                                         int64_t y, float *copies, float *buffers)
{
    const int64_t n = line->n;
    /* The processor foresees the lines of a row, but not where the next rows begin. */
    for (int64_t next = MAX(y + 2, window->first[0]); next < MIN(y + 4, window->end[0]); next++)
        for (int64_t x = window->first[1]; x < window->end[1]; x++)
            __builtin_prefetch(window->base + window->offset + next * window->row_stride + x * window->pixel_stride);
    if (y >= window->first[0] && y + 1 < window->end[0] && window->first[1] == 0 && window->end[1] == n)
    {
        const float *re = window->base + window->offset + y * window->row_stride;
        return NAME(line)(line, re, re + window->row_stride, (size_t)window->pixel_stride, buffers);
    }
    NAME(copy_row)(window, n, y, copies);
    NAME(copy_row)(window, n, y + 1, copies + n * BLOCK);
    return NAME(line)(line, copies, copies + n * BLOCK, BLOCK, buffers);
}

/* Stores a value of a spectrum in the parts that its products need. */
__attribute__((always_inline)) static inline void NAME(store_parts)(float *at, size_t stride, ConvFftForm form, VECTOR re,
                                                                    VECTOR im)
{
    switch (form)
    {
    case CONV_FFT_INPUTS_OF_4:
        NAME(store)(at + 2 * stride, im);
        NAME(store)(at + 3 * stride, -re);
        /* fallthrough */
    case CONV_FFT_WEIGHTS_OF_4:
        NAME(store)(at, re);
        NAME(store)(at + stride, im);
        break;
    case CONV_FFT_INPUTS_OF_3:
        NAME(store)(at, re + im);
        NAME(store)(at + stride, re);
        NAME(store)(at + 2 * stride, im);
        break;
    case CONV_FFT_WEIGHTS_OF_3:
        NAME(store)(at, re);
        NAME(store)(at + stride, re + im);
        NAME(store)(at + 2 * stride, re - im);
        break;
    }
}

static void NAME(fft_forward)(const ConvFft *fft, const ConvWindow *window, float *scratch, float *to,
                              size_t frequency_stride, size_t part_stride, ConvFftForm form)
{
    const size_t n_rows = (size_t)fft->line[0].n, n = (size_t)fft->line[1].n, n_columns = n / 2 + 1;
    float *half = scratch, *buffers = half + n_rows * n_columns * COMPLEX;
    float *copies = buffers + 2 * MAX(n_rows, n) * COMPLEX;
    /* Two real rows are the parts of one complex row; its spectrum is separated into theirs, times 2. */
    for (size_t y = 0; y < n_rows; y += 2)
    {
        if ((int64_t)y >= window->end[0] || (int64_t)y + 1 < window->first[0])
        {
            memset(half + y * n_columns * COMPLEX, 0, MIN(2, n_rows - y) * n_columns * COMPLEX * sizeof(float));
            continue;
        }
        const float *line = NAME(two_rows)(&fft->line[1], window, (int64_t)y, copies, buffers);
        for (size_t k = 0; k < n_columns; k++)
        {
            const float *z1 = line + k * COMPLEX, *z2 = line + (k > 0 ? n - k : 0) * COMPLEX;
            const VECTOR re1 = NAME(load)(z1), im1 = NAME(load)(z1 + BLOCK);
            const VECTOR re2 = NAME(load)(z2), im2 = NAME(load)(z2 + BLOCK);
            float *row = half + (y * n_columns + k) * COMPLEX;
            NAME(store)(row, re1 + re2);
            NAME(store)(row + BLOCK, im1 - im2);
            if (y + 1 == n_rows)
                continue;
            row += n_columns * COMPLEX;
            NAME(store)(row, im1 + im2);
            NAME(store)(row + BLOCK, re2 - re1);
        }
    }
    for (size_t k = 0; k < n_columns; k++)
    {
        const float *column = half + k * COMPLEX;
        const float *line = NAME(line)(&fft->line[0], column, column + BLOCK, n_columns * COMPLEX, buffers);
        float *at = to + conv_fft_column(fft, k) * frequency_stride;
        for (size_t f = 0; f < conv_fft_column_size(fft, k); f++, at += frequency_stride)
            NAME(store_parts)
        (at, part_stride, form, NAME(load)(line + f * COMPLEX), NAME(load)(line + f * COMPLEX + BLOCK));
    }
}

/* The inverse of a column of a spectrum; what mirrors its first half is not stored. */
__attribute__((always_inline)) static inline const float *NAME(inverse_column)(const ConvFft *fft, size_t k,
                                                                               const float *from, size_t frequency_stride,
                                                                               size_t part_stride, ConvFftForm form,
                                                                               float *copy, float *buffers)
{
    const size_t n = (size_t)fft->line[0].n, n_stored = conv_fft_column_size(fft, k);
    const size_t n_next = 2 * k < (size_t)fft->line[1].n - 1 ? conv_fft_column_size(fft, k + 1) : 0;
    from += conv_fft_column(fft, k) * frequency_stride;
    for (size_t f = 0; f < n_next; f++)
        for (size_t part = 0; part < (form == CONV_FFT_INPUTS_OF_3 ? 3 : 2); part++)
            __builtin_prefetch(from + (n_stored + f) * frequency_stride + part * part_stride);
    for (size_t f = 0; f < n_stored; f++, from += frequency_stride)
    {
        VECTOR re = NAME(load)(from), im = NAME(load)(from + part_stride);
        if (form == CONV_FFT_INPUTS_OF_3)
        {
            im = re - im;
            re -= NAME(load)(from + 2 * part_stride);
        }
        NAME(store)(copy + f * COMPLEX, re);
        NAME(store)(copy + f * COMPLEX + BLOCK, im);
    }
    for (size_t f = n_stored; f < n; f++)
    {
        NAME(store)(copy + f * COMPLEX, NAME(load)(copy + (n - f) * COMPLEX));
        NAME(store)(copy + f * COMPLEX + BLOCK, -NAME(load)(copy + (n - f) * COMPLEX + BLOCK));
    }
    return NAME(line)(&fft->line[0], copy + BLOCK, copy, COMPLEX, buffers);
}

/* Stores a part of a complex row: a real row. */
__attribute__((always_inline)) static inline void NAME(store_row)(const float *line, int64_t n, float *out, size_t at,
                                                                  const ConvStore *store)
{
    const VECTOR start = NAME(load)(store->start);
    for (int64_t x = 0; x < n; x++, at += store->pixel_stride)
    {
        VECTOR value = NAME(load)(line + x * COMPLEX) + start;
        if (store->sum != NULL)
            value += NAME(load)(store->sum + at);
        NAME(store)(out + at, NAME(bounded)(value, store->low, store->high));
    }
}

static void NAME(fft_inverse)(const ConvFft *fft, const float *from, size_t frequency_stride, size_t part_stride,
                              ConvFftForm form, float *scratch, const int64_t size[2], float *out, size_t row_stride,
                              const ConvStore *store)
{
    const size_t n_rows = (size_t)fft->line[0].n, n = (size_t)fft->line[1].n, n_columns = n / 2 + 1;
    float *half = scratch, *buffers = half + n_rows * n_columns * COMPLEX;
    float *copy = buffers + 2 * MAX(n_rows, n) * COMPLEX;
    for (size_t k = 0; k < n_columns; k++)
    {
        const float *line = NAME(inverse_column)(fft, k, from, frequency_stride, part_stride, form, copy, buffers);
        for (size_t y = 0; y < (size_t)size[0]; y++)
        {
            float *to = half + (y * n_columns + k) * COMPLEX;
            NAME(store)(to, NAME(load)(line + y * COMPLEX + BLOCK));
            NAME(store)(to + BLOCK, NAME(load)(line + y * COMPLEX));
        }
    }
    /* Two real rows again as the parts of one complex row. */
    for (size_t y = 0; y < (size_t)size[0]; y += 2)
    {
        const bool is_last = y + 1 == (size_t)size[0];
        for (size_t k = 0; k < n_columns; k++)
        {
            const float *a = half + (y * n_columns + k) * COMPLEX, *b = is_last ? a : a + n_columns * COMPLEX;
            const VECTOR re1 = NAME(load)(a), im1 = NAME(load)(a + BLOCK), re2 = NAME(load)(b), im2 = NAME(load)(b + BLOCK);
            float *z = copy + k * COMPLEX, *mirrored = copy + (n - k) * COMPLEX;
            if (k == 0 || 2 * k == n)
            {
                NAME(store)(z, re1);
                NAME(store)(z + BLOCK, re2);
                continue;
            }
            NAME(store)(z, re1 - im2);
            NAME(store)(z + BLOCK, im1 + re2);
            NAME(store)(mirrored, re1 + im2);
            NAME(store)(mirrored + BLOCK, re2 - im1);
        }
        const float *line = NAME(line)(&fft->line[1], copy + BLOCK, copy, COMPLEX, buffers);
        NAME(store_row)(line + BLOCK, size[1], out, y * row_stride, store);
        if (!is_last)
            NAME(store_row)(line, size[1], out, (y + 1) * row_stride, store);
    }
}

#undef COMPLEX
