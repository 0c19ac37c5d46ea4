/* What a region computes beside convolutions, of one instruction set for one block. Included by kernels-template.h. */

typedef int32_t NAME(integers) __attribute__((vector_size(BLOCK * sizeof(int32_t)), aligned(4), may_alias));
#define INTEGERS NAME(integers)

/* --- activations ------------------------------------------------------------------------------------------------------ */

__attribute__((always_inline)) static inline VECTOR NAME(all)(float value)
{
    return value - (VECTOR){ 0 };
}

/* @mask: all bits of a lane or none */
__attribute__((always_inline)) static inline VECTOR NAME(select)(INTEGERS mask, VECTOR yes, VECTOR no)
{
    return (VECTOR)(((INTEGERS)yes & mask) | ((INTEGERS)no & ~mask));
}

__attribute__((always_inline)) static inline VECTOR NAME(abs)(VECTOR x)
{
    return (VECTOR)((INTEGERS)x & 0x7fffffff);
}

/* e^x = 2^n e^r, |r| <= log(2) / 2. Beyond what a float holds it is the nearest finite value. Relative error: 2e-7. */
__attribute__((always_inline)) static inline VECTOR NAME(exp)(VECTOR x)
{
    const VECTOR in = NAME(bounded)(x, -87.0F, 88.0F), shift = NAME(all)(0x1.8p23F);
    const VECTOR shifted = in * 0x1.715476p0F + shift, n = shifted - shift;
    const VECTOR r = in - n * 0x1.62e4p-1F + n * -0x1.7f7d1cp-20F;
    VECTOR sum = 0.00138367375F * r + 0.00837489869F;
    sum = sum * r + 0.0416682325F;
    sum = sum * r + 0.166664198F;
    sum = sum * r + 0.499999911F;
    sum = sum * r + 1.0F;
    sum = sum * r + 1.0F;
    return sum * (VECTOR)(((INTEGERS)shifted - 0x4b400000 + 127) << 23);
}

__attribute__((always_inline)) static inline VECTOR NAME(sigmoid)(VECTOR x)
{
    return 1.0F / (1.0F + NAME(exp)(-x));
}

/* A polynomial where 1 - 2 / (e^2|x| + 1) would lose digits. */
__attribute__((always_inline)) static inline VECTOR NAME(tanh)(VECTOR x)
{
    const VECTOR z = x * x, size = NAME(abs)(x);
    VECTOR sum = 0.00214753696F * z - 0.00818267372F;
    sum = sum * z + 0.0217029676F;
    sum = sum * z - 0.0539472029F;
    sum = sum * z + 0.133332103F;
    sum = sum * z - 0.333333313F;
    const VECTOR far = 1.0F - 2.0F / (NAME(exp)(2.0F * size) + 1.0F);
    const VECTOR far_signed = (VECTOR)((INTEGERS)far | ((INTEGERS)x & ~0x7fffffff));
    return NAME(select)((INTEGERS)(size < 0.625F), x + x * z * sum, far_signed);
}

/* x P(x^2) up to 1, 1 - e^-Q(|x|) above. Absolute error: 1e-7. */
__attribute__((always_inline)) static inline VECTOR NAME(erf)(VECTOR x)
{
    const VECTOR z = x * x, size = NAME(bounded)(NAME(abs)(x), 0, 4);
    VECTOR near = 7.8891193e-05F * z - 0.000802084105F;
    near = near * z + 0.00518953521F;
    near = near * z - 0.0268544443F;
    near = near * z + 0.112836003F;
    near = near * z - 0.37612626F;
    near = near * z + 1.12837911F;
    VECTOR far = 2.0909556e-05F * size - 0.000432303001F;
    far = far * size + 0.00416052714F;
    far = far * size - 0.0250914972F;
    far = far * size + 0.108236618F;
    far = far * size + 0.633386672F;
    far = far * size + 1.12949514F;
    far = 1.0F - NAME(exp)(0.000170552026F - far * size);
    far = (VECTOR)((INTEGERS)far | ((INTEGERS)x & ~0x7fffffff));
    return NAME(select)((INTEGERS)(size < 1.0F), near * x, far);
}

/* One value of an activation that is a constant where this is inlined. */
__attribute__((always_inline)) static inline VECTOR NAME(activated)(IfmBlockedActivation kind, float alpha, float beta,
                                                                    VECTOR x)
{
    switch (kind)
    {
    case IFM_BLOCKED_RELU:
        return NAME(bounded)(x, 0, INFINITY);
    case IFM_BLOCKED_CLIP:
        return NAME(bounded)(x, alpha, beta);
    case IFM_BLOCKED_LEAKY_RELU:
        return NAME(select)((INTEGERS)(x < 0.0F), alpha * x, x);
    case IFM_BLOCKED_HARD_SIGMOID:
        return NAME(bounded)(alpha * x + beta, 0, 1);
    case IFM_BLOCKED_SIGMOID:
        return NAME(sigmoid)(x);
    case IFM_BLOCKED_TANH:
        return NAME(tanh)(x);
    case IFM_BLOCKED_SILU:
        return x * NAME(sigmoid)(x);
    case IFM_BLOCKED_HARD_SWISH:
        return x * NAME(bounded)(x * (1.0F / 6) + 0.5F, 0, 1);
    case IFM_BLOCKED_GELU:
        return 0.5F * x * (1.0F + NAME(erf)(x * 0.707106781F));
    case IFM_BLOCKED_GELU_TANH:
        return 0.5F * x * (1.0F + NAME(tanh)(x * (0.797884561F + 0.0356774081F * x * x)));
    default:
        return x;
    }
}

/* EACH_ACTIVATION: F(kind) with the kind of @activation as a constant. */
#define EACH_ACTIVATION(F)                                                                                                 \
    switch (activation->kind)                                                                                              \
    {                                                                                                                      \
    case IFM_BLOCKED_RELU:                                                                                                 \
        F(IFM_BLOCKED_RELU)                                                                                                \
    case IFM_BLOCKED_CLIP:                                                                                                 \
        F(IFM_BLOCKED_CLIP)                                                                                                \
    case IFM_BLOCKED_LEAKY_RELU:                                                                                           \
        F(IFM_BLOCKED_LEAKY_RELU)                                                                                          \
    case IFM_BLOCKED_HARD_SIGMOID:                                                                                         \
        F(IFM_BLOCKED_HARD_SIGMOID)                                                                                        \
    case IFM_BLOCKED_SIGMOID:                                                                                              \
        F(IFM_BLOCKED_SIGMOID)                                                                                             \
    case IFM_BLOCKED_TANH:                                                                                                 \
        F(IFM_BLOCKED_TANH)                                                                                                \
    case IFM_BLOCKED_SILU:                                                                                                 \
        F(IFM_BLOCKED_SILU)                                                                                                \
    case IFM_BLOCKED_HARD_SWISH:                                                                                           \
        F(IFM_BLOCKED_HARD_SWISH)                                                                                          \
    case IFM_BLOCKED_GELU:                                                                                                 \
        F(IFM_BLOCKED_GELU)                                                                                                \
    case IFM_BLOCKED_GELU_TANH:                                                                                            \
        F(IFM_BLOCKED_GELU_TANH)                                                                                           \
    default:                                                                                                               \
        break;                                                                                                             \
    }

static void NAME(activate)(const ConvActivation *activation, const float *from, float *to, size_t n_vectors)
{
    const float alpha = activation->alpha, beta = activation->beta;
    const size_t n = n_vectors * BLOCK;
#define ACTIVATE(KIND)                                                                                                     \
    for (size_t i = 0; i < n; i += BLOCK)                                                                                  \
        *(VECTOR *)(to + i) = NAME(activated)(KIND, alpha, beta, NAME(load)(from + i));                                    \
    return;
    EACH_ACTIVATION(ACTIVATE)
#undef ACTIVATE
    if (to != from)
        memcpy(to, from, n * sizeof(float));
}

/* After a sum or product of a row: activations that are bounds are applied on the way. */
__attribute__((always_inline)) static inline void NAME(bounds_of)(const ConvActivation *activation, float *low, float *high)
{
    const bool is_clip = activation->kind == IFM_BLOCKED_CLIP;
    *low = is_clip ? activation->alpha : activation->kind == IFM_BLOCKED_RELU ? 0 : -INFINITY;
    *high = is_clip ? activation->beta : INFINITY;
}

static void NAME(finish)(const ConvActivation *activation, float *to, size_t n_vectors)
{
    if (activation->kind > IFM_BLOCKED_CLIP)
        NAME(activate)(activation, to, to, n_vectors);
}

/* --- sums and products ------------------------------------------------------------------------------------------------ */

__attribute__((always_inline)) static inline VECTOR NAME(operand)(const float *from, bool is_one_channel)
{
    return is_one_channel ? NAME(all)(*from) : NAME(load)(from);
}

__attribute__((always_inline)) static inline void NAME(combine)(const RegionBinary *binary, const bool is_product,
                                                                const bool is_plain, const float *a, const float *b,
                                                                float *to, size_t n_pixels)
{
    const bool one_a = !is_plain && binary->is_one_channel[0], one_b = !is_plain && binary->is_one_channel[1];
    const size_t step_a = !is_plain && binary->is_one_pixel[0] ? 0 : BLOCK;
    const size_t step_b = !is_plain && binary->is_one_pixel[1] ? 0 : BLOCK;
    float low, high;
    NAME(bounds_of)(&binary->activation, &low, &high);
    for (size_t i = 0; i < n_pixels; i++)
    {
        const VECTOR left = NAME(operand)(a + i * step_a, one_a), right = NAME(operand)(b + i * step_b, one_b);
        VECTOR result;
        if (is_product)
            result = left * right;
        else
            result = left + right;
        *(VECTOR *)(to + i * BLOCK) = NAME(bounded)(result, low, high);
    }
}

static void NAME(binary)(const RegionBinary *binary, const float *a, const float *b, float *to, size_t n_pixels)
{
    const bool is_plain =
        !binary->is_one_channel[0] && !binary->is_one_channel[1] && !binary->is_one_pixel[0] && !binary->is_one_pixel[1];
    if (binary->is_product && is_plain)
        NAME(combine)(binary, true, true, a, b, to, n_pixels);
    else if (is_plain)
        NAME(combine)(binary, false, true, a, b, to, n_pixels);
    else
        NAME(combine)(binary, binary->is_product, false, a, b, to, n_pixels);
    NAME(finish)(&binary->activation, to, n_pixels);
}

static void NAME(scale)(const ConvActivation *activation, const float *from, const float *by, const float *plus, float *to,
                        size_t n_pixels)
{
    const VECTOR factor = NAME(load)(by), term = NAME(load)(plus);
    float low, high;
    NAME(bounds_of)(activation, &low, &high);
    for (size_t i = 0; i < n_pixels * BLOCK; i += BLOCK)
        *(VECTOR *)(to + i) = NAME(bounded)(NAME(load)(from + i) * factor + term, low, high);
    NAME(finish)(activation, to, n_pixels);
}

/* --- pooling ---------------------------------------------------------------------------------------------------------- */

/* The greater; @sum where @value is a NaN. */
__attribute__((always_inline)) static inline VECTOR NAME(greater)(VECTOR value, VECTOR sum)
{
#if defined __AVX512F__ && BLOCK == 16
    return (VECTOR)_mm512_max_ps((__m512)value, (__m512)sum);
#elif defined __AVX2__
    VECTOR greater;
    for (int i = 0; i < BLOCK; i += 8)
        _mm256_storeu_ps((float *)&greater + i, _mm256_max_ps(_mm256_loadu_ps((const float *)&value + i),
                                                              _mm256_loadu_ps((const float *)&sum + i)));
    return greater;
#else
    return NAME(select)((INTEGERS)(value > sum), value, sum);
#endif
}

/* One output of a window whose taps are all given by @first and @end. */
__attribute__((always_inline)) static inline VECTOR NAME(pooled)(const RegionPool *pool, const bool is_max,
                                                                 const float *plane, int64_t y, int64_t x,
                                                                 const int64_t first[2], const int64_t end[2])
{
    VECTOR sum = NAME(all)(is_max ? -FLT_MAX : 0);
    for (int64_t i = first[0]; i < end[0]; i++)
    {
        const float *row = plane + ((y + i * pool->dilation[0]) * pool->in[1] + x) * BLOCK;
        for (int64_t j = first[1]; j < end[1]; j++)
        {
            const VECTOR value = NAME(load)(row + j * pool->dilation[1] * BLOCK);
            if (is_max)
                sum = NAME(greater)(value, sum);
            else
                sum += value;
        }
    }
    return sum;
}

/* A row of outputs of one block of channels. */
__attribute__((always_inline)) static inline void NAME(pool_row)(const RegionPool *pool, const bool is_max,
                                                                 const float *plane, int64_t out_y, float *to)
{
    int64_t first[2], end[2];
    const int64_t y = region_window(pool, 0, out_y, &first[0], &end[0]), rows = region_divisor(pool, 0, out_y);
    for (int64_t out_x = 0; out_x < pool->out[1]; out_x++)
    {
        const int64_t x = region_window(pool, 1, out_x, &first[1], &end[1]);
        const float factor = is_max ? 1 : 1.0F / (float)(rows * region_divisor(pool, 1, out_x));
        *(VECTOR *)(to + out_x * BLOCK) = NAME(pooled)(pool, is_max, plane, y, x, first, end) * factor;
    }
}

static void NAME(max_pool)(const RegionPool *pool, const float *plane, int64_t out_y, float *to)
{
    NAME(pool_row)(pool, true, plane, out_y, to);
}

static void NAME(average_pool)(const RegionPool *pool, const float *plane, int64_t out_y, float *to)
{
    NAME(pool_row)(pool, false, plane, out_y, to);
}

/* Sums of rows of 64 pixels first: rounding grows with their number, not with that of all pixels. */
static void NAME(mean)(const float *plane, size_t n_pixels, float *to)
{
    VECTOR whole = { 0 };
    for (size_t first = 0; first < n_pixels; first += 64)
    {
        VECTOR part = { 0 };
        for (size_t i = first; i < first + 64 && i < n_pixels; i++)
            part += NAME(load)(plane + i * BLOCK);
        whole += part;
    }
    *(VECTOR *)to = whole * (1.0F / (float)n_pixels);
}

/* --- layouts ---------------------------------------------------------------------------------------------------------- */

/* By squares of pixels and channels, which stay in registers or the nearest cache. Lanes without a channel get 0. */
static void NAME(to_blocks)(const float *from, size_t channel_stride, size_t n_channels, size_t n_pixels, float *to)
{
    for (size_t first = 0; first < n_pixels; first += BLOCK)
    {
        const size_t n = n_pixels - first < BLOCK ? n_pixels - first : BLOCK;
        float square[BLOCK][BLOCK] = { { 0 } };
        for (size_t c = 0; c < n_channels; c++)
            for (size_t p = 0; p < n; p++)
                square[p][c] = from[c * channel_stride + first + p];
        memcpy(to + first * BLOCK, square, n * BLOCK * sizeof(float));
    }
}

static void NAME(from_blocks)(const float *from, size_t n_pixels, float *to, size_t channel_stride, size_t n_channels)
{
    for (size_t first = 0; first < n_pixels; first += BLOCK)
    {
        const size_t n = n_pixels - first < BLOCK ? n_pixels - first : BLOCK;
        for (size_t c = 0; c < n_channels; c++)
            for (size_t p = 0; p < n; p++)
                to[c * channel_stride + first + p] = from[(first + p) * BLOCK + c];
    }
}

static const RegionKernels NAME(region_kernels) = {
    .activate = NAME(activate),
    .binary = NAME(binary),
    .scale = NAME(scale),
    .max_pool = NAME(max_pool),
    .average_pool = NAME(average_pool),
    .mean = NAME(mean),
    .to_blocks = NAME(to_blocks),
    .from_blocks = NAME(from_blocks),
};

#undef EACH_ACTIVATION
#undef INTEGERS
