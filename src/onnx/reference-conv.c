/* ConvInteger and QLinearConv as convolutions of f32 whose sums are all exact. Runtimes have no convolution in f64. */
#include "rewrite.h"

#include <math.h>

#define EXACT_SUM 0x1p24 /* f32 has every integer up to there */
#define MAX_SLICES 16    /* of an activation of 8 bits; more are one bit each, of nothing */

/* Slices: an activation as sum(part[i] 2^(i bits)): all parts but the last are below 2^bits, the last keeps the sign. */
typedef struct
{
    int n, bits;
} Slices;

/* find_slices: The fewest with exact sums. @range: the largest magnitude of the activation    @weights: the largest sum of
 * the magnitudes of the weights of an output. FALSE: there are none. */
static gboolean find_slices(double range, double weights, Slices *slices)
{
    const int bits = (int)ceil(log2(range + 1));
    for (int n = 1; n <= MIN(bits, MAX_SLICES); n++)
    {
        const int each = (bits + n - 1) / n;
        const double last = ceil(range / exp2(each * (n - 1)));
        *slices = (Slices){ n, each };
        if ((n == 1 ? range : MAX(exp2(each) - 1, last)) * weights < EXACT_SUM)
            return TRUE;
    }
    return FALSE;
}

/* Conv: the inputs of an integer convolution. @rank: of its tensors */
typedef struct
{
    const char *x, *zero_x, *w, *zero_w;
    int rank;
    Slices slices;
} Conv;

static double largest(int dtype)
{
    return dtype == IFM_DTYPE_U8 || dtype == IFM_DTYPE_I8 ? G_MAXUINT8 : G_MAXUINT16;
}

/* sum_weights: The largest sum of magnitudes over an output's weights; of weights that are not constant what it may be.
 * Returns: -1 where not even their number is known. */
static double sum_weights(const IfmRewriteScope *scope, const Conv *conv, const gint64 *dims)
{
    g_auto(IfmTensor) w = IFM_TENSOR_INIT, zero = IFM_TENSOR_INIT;
    gint64 each = 1;
    for (int i = 1; i < conv->rank; i++)
        if (dims[i] < 0 || __builtin_mul_overflow(each, dims[i], &each))
            return -1;
    const gboolean is_known =
        ifm_rewrite_tensor(scope, conv->w, &w) && (conv->zero_w == NULL || ifm_rewrite_tensor(scope, conv->zero_w, &zero));
    if (!is_known)
        return (double)each * largest(ifm_rewrite_dtype(scope, conv->w));
    double most = 0;
    const gint64 n_zeros = conv->zero_w != NULL ? ifm_tensor_n_elements(&zero) : 0;
    for (gint64 o = 0; o < dims[0]; o++)
    {
        const double z = n_zeros > 0 ? ifm_tensor_get_double(&zero, n_zeros > 1 ? o : 0) : 0;
        double sum = 0;
        for (gint64 i = 0; i < each; i++)
            sum += fabs(ifm_tensor_get_double(&w, o * each + i) - z);
        most = MAX(most, sum);
    }
    return most;
}

/* prepare: Whether the convolution can be written exactly. */
static gboolean prepare(const IfmRewriteScope *scope, const IfmNode *node, Conv *conv)
{
    gint64 dims[IFM_MAX_RANK];
    conv->rank = ifm_rewrite_rank(scope, conv->w, dims);
    const IfmBroadcast outputs = { .axis = 0, .rank = conv->rank, .length = -1 }, none = IFM_SPREAD_NONE;
    const gint64 n_zeros = conv->zero_w != NULL ? ifm_rewrite_size(scope, conv->zero_w) : 1;
    if (conv->rank < 3 || ifm_node_int(node, "channels_last", 0) != 0 || (n_zeros != 1 && n_zeros != dims[0]) ||
        !ifm_reference_can_spread(scope, conv->zero_x, &none) || !ifm_reference_can_spread(scope, conv->zero_w, &outputs))
        return FALSE;
    const double weights = sum_weights(scope, conv, dims);
    return weights >= 0 && find_slices(largest(ifm_rewrite_dtype(scope, conv->x)), weights, &conv->slices);
}

static const char *convolve(IfmRewriteScope *scope, const IfmNode *node, const char *x, const char *w)
{
    static const char *const own[] = { "channels_last", NULL };
    const char *y = ifm_exact(scope, "Conv", x, w, NULL);
    ifm_emit_attributes(scope, node, own);
    return ifm_emit_cast(scope, NULL, y, IFM_DTYPE_F64);
}

/* sum: the whole convolution, f64. Padding adds zeros, as it must: what is padded is the zero point. */
static const char *sum(IfmRewriteScope *scope, const IfmNode *node, const Conv *conv)
{
    IfmRewrite *rewrite = scope->rewrite;
    const IfmBroadcast outputs = { .axis = 0, .rank = conv->rank, .length = -1 }, none = IFM_SPREAD_NONE;
    const char *rest = ifm_reference_centred(scope, conv->x, conv->zero_x, IFM_DTYPE_F32, &none), *total = NULL;
    const char *w = ifm_reference_centred(scope, conv->w, conv->zero_w, IFM_DTYPE_F32, &outputs);
    const char *down = ifm_emit_number(rewrite, IFM_DTYPE_F32, exp2(-conv->slices.bits));
    const char *up = ifm_emit_number(rewrite, IFM_DTYPE_F32, exp2(conv->slices.bits));
    for (int i = 0; i < conv->slices.n; i++)
    {
        const char *part = rest;
        if (i + 1 < conv->slices.n)
        {
            const char *above = ifm_exact(scope, "Floor", ifm_exact(scope, "Mul", rest, down, NULL), NULL);
            part = ifm_exact(scope, "Sub", rest, ifm_exact(scope, "Mul", above, up, NULL), NULL);
            rest = above;
        }
        const char *y = convolve(scope, node, part, w);
        if (i > 0)
            y = ifm_exact(scope, "Mul", y, ifm_emit_number(rewrite, IFM_DTYPE_F64, exp2(i * conv->slices.bits)), NULL);
        total = total != NULL ? ifm_exact(scope, "Add", total, y, NULL) : y;
    }
    return total;
}

IFM_REFERENCE_RULE(conv_integer)
{
    Conv conv = { .x = node->inputs[0],
                  .w = node->inputs[1],
                  .zero_x = ifm_rewrite_input(node, 2),
                  .zero_w = ifm_rewrite_input(node, 3) };
    if (!prepare(scope, node, &conv))
        return FALSE;
    ifm_emit_cast(scope, node->outputs[0], sum(scope, node, &conv), IFM_DTYPE_I32);
    return TRUE;
}

/* along_channels: What belongs to the outputs' channels, f64. */
static const char *along_channels(IfmRewriteScope *scope, const char *name, int rank)
{
    const IfmBroadcast channels = { .axis = 1, .rank = rank, .length = -1 };
    return ifm_reference_spread(scope, name, name, &channels);
}

IFM_REFERENCE_RULE(qlinear_conv)
{
    const char *const *in = node->inputs; /* x, its scale and zero point, w, those, y's, the bias */
    Conv conv = { .x = in[0], .zero_x = ifm_rewrite_input(node, 2), .w = in[3], .zero_w = ifm_rewrite_input(node, 5) };
    const char *bias = ifm_rewrite_input(node, 8), *zero = ifm_rewrite_input(node, 7);
    const int dtype = ifm_reference_zero_dtype(scope, zero);
    const IfmBroadcast channels = { .axis = 1, .rank = 4, .length = -1 };
    if (!ifm_reference_is_integer(dtype) || !ifm_reference_can_spread(scope, in[4], &channels) ||
        !ifm_reference_can_spread(scope, bias, &channels) || !prepare(scope, node, &conv))
        return FALSE;
    const char *y = sum(scope, node, &conv);
    if (bias != NULL)
        y = ifm_exact(scope, "Add", y, ifm_emit_cast(scope, NULL, along_channels(scope, bias, conv.rank), IFM_DTYPE_F64),
                      NULL);
    const char *scale = ifm_reference_scales(scope, in[1], along_channels(scope, in[4], conv.rank), in[6]);
    y = ifm_rounded(scope, "Mul", y, scale, NULL);
    zero = zero != NULL ? ifm_emit_cast(scope, NULL, zero, IFM_DTYPE_F64) : NULL;
    ifm_reference_quantised(scope, node->outputs[0], y, zero, IFM_DTYPE_F64, dtype);
    return TRUE;
}
