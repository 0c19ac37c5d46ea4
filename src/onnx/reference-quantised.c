/* Quantised operators of the default domain as arithmetic on the integer values. */
#include "rewrite.h"

#include <math.h>

/* --- integer types ------------------------------------------------------------------------------------------------ */

static const struct
{
    int dtype, low, high;
} limits[] = {
    { ONNX__TENSOR_PROTO__DATA_TYPE__UINT8, 0, G_MAXUINT8 },
    { ONNX__TENSOR_PROTO__DATA_TYPE__INT8, G_MININT8, G_MAXINT8 },
    { ONNX__TENSOR_PROTO__DATA_TYPE__UINT16, 0, G_MAXUINT16 },
    { ONNX__TENSOR_PROTO__DATA_TYPE__INT16, G_MININT16, G_MAXINT16 },
    { ONNX__TENSOR_PROTO__DATA_TYPE__UINT4, 0, 15 },
    { ONNX__TENSOR_PROTO__DATA_TYPE__INT4, -8, 7 },
    { ONNX__TENSOR_PROTO__DATA_TYPE__UINT2, 0, 3 },
    { ONNX__TENSOR_PROTO__DATA_TYPE__INT2, -2, 1 },
};

static gboolean find_limits(int dtype, int *low, int *high)
{
    for (gsize i = 0; i < G_N_ELEMENTS(limits); i++)
        if (limits[i].dtype == dtype)
        {
            *low = limits[i].low;
            *high = limits[i].high;
            return TRUE;
        }
    return FALSE;
}

gboolean ifm_reference_is_integer(int dtype)
{
    int low, high;
    return find_limits(dtype, &low, &high);
}

int ifm_reference_zero_dtype(const IfmRewriteScope *scope, const char *zero)
{
    return zero != NULL ? ifm_rewrite_dtype(scope, zero) : IFM_DTYPE_U8;
}

/* stored_as: the type of a tensor of whole bytes that holds the values */
static int stored_as(int dtype, int low)
{
    if (ifm_onnx_type_bits(dtype) >= 8)
        return dtype;
    return low < 0 ? IFM_DTYPE_I8 : IFM_DTYPE_U8;
}

/* --- scales and zero points --------------------------------------------------------------------------------------- */

#define MAX_BLOCKED (1 << 24) /* elements along an axis whose blocks are written out one by one */

gboolean ifm_reference_can_spread(const IfmRewriteScope *scope, const char *name, const IfmBroadcast *spread)
{
    gint64 dims[IFM_MAX_RANK];
    const int rank = name != NULL ? ifm_rewrite_rank(scope, name, dims) : 0;
    if (rank == 0 || (rank == 1 && dims[0] == 1 && spread->block == 0))
        return TRUE;
    if (rank < 0 || spread->rank < 1)
        return FALSE;
    if (spread->block == 0)
        return rank == 1;
    const gint64 n = spread->axis < rank ? dims[spread->axis] : -1;
    return rank == spread->rank && n > 0 && spread->length > 0 && spread->length <= MAX_BLOCKED &&
           (spread->length + spread->block - 1) / spread->block == n;
}

/* repeat: each element of @axis for a whole block, the last one for what is left. */
static const char *repeat(IfmRewriteScope *scope, const char *value, const IfmBroadcast *spread)
{
    g_autofree gint64 *index = g_new(gint64, (gsize)spread->length);
    for (gint64 i = 0; i < spread->length; i++)
        index[i] = i / spread->block;
    const char *repeated =
        ifm_exact(scope, "Gather", value, ifm_emit_list(scope->rewrite, index, (gsize)spread->length), NULL);
    ifm_emit_int(scope, "axis", spread->axis);
    return repeated;
}

const char *ifm_reference_spread(IfmRewriteScope *scope, const char *value, const char *name, const IfmBroadcast *spread)
{
    gint64 dims[IFM_MAX_RANK];
    const int rank = ifm_rewrite_rank(scope, name, dims);
    if (spread->block > 0)
        return repeat(scope, value, spread);
    if (rank == 0)
        return value;
    if (spread->rank < 1) /* one element, which must not give a scalar a rank */
        return ifm_emit_reshape(scope, value, NULL, 0);
    for (int i = 0; i < spread->rank; i++)
        dims[i] = i == spread->axis && ifm_rewrite_size(scope, name) != 1 ? -1 : 1;
    return spread->axis == spread->rank - 1 ? value : ifm_emit_reshape(scope, value, dims, (gsize)spread->rank);
}

static gboolean is_zero(const IfmRewriteScope *scope, const char *name)
{
    g_auto(IfmTensor) tensor = IFM_TENSOR_INIT;
    if (name == NULL)
        return TRUE;
    if (!ifm_rewrite_tensor(scope, name, &tensor))
        return FALSE;
    for (gint64 i = 0; i < ifm_tensor_n_elements(&tensor); i++)
        if (fpclassify(ifm_tensor_get_double(&tensor, i)) != FP_ZERO)
            return FALSE;
    return TRUE;
}

const char *ifm_reference_centred(IfmRewriteScope *scope, const char *x, const char *zero, IfmDtype to,
                                  const IfmBroadcast *spread)
{
    const char *y = ifm_emit_cast(scope, NULL, x, to);
    if (is_zero(scope, zero))
        return y;
    const char *z = ifm_emit_cast(scope, NULL, zero, to);
    return ifm_exact(scope, "Sub", y, ifm_reference_spread(scope, z, zero, spread), NULL);
}

/* --- rounding ----------------------------------------------------------------------------------------------------- */

#define ROUND_OPSET 11

/* bounded: between two numbers */
static const char *bounded(IfmRewriteScope *scope, const char *x, IfmDtype dtype, double low, double high)
{
    x = ifm_exact(scope, "Max", x, ifm_emit_number(scope->rewrite, dtype, low), NULL);
    return ifm_exact(scope, "Min", x, ifm_emit_number(scope->rewrite, dtype, high), NULL);
}

/* rounded: to the nearest integer, ties to even. Before Round: the sum with 1.5 2^(p - 1), p bits of precision, has no
 * room for a fraction, so that adding it rounds. What is too large for that is beyond every integer type, and stays so. */
static const char *rounded(IfmRewriteScope *scope, const char *x, IfmDtype dtype)
{
    if (ifm_model_opset(scope->rewrite->source) >= ROUND_OPSET)
        return ifm_exact(scope, "Round", x, NULL);
    const char *magic = ifm_emit_number(scope->rewrite, dtype, dtype == IFM_DTYPE_F32 ? 0x1.8p23 : 0x1.8p52);
    return ifm_exact(scope, "Sub", ifm_exact(scope, "Add", x, magic, NULL), magic, NULL);
}

void ifm_reference_quantised(IfmRewriteScope *scope, const char *output, const char *y, const char *zero, IfmDtype in,
                             int dtype)
{
    int low = 0, high = G_MAXUINT8;
    find_limits(dtype, &low, &high);
    y = rounded(scope, y, in);
    if (zero != NULL)
        y = ifm_exact(scope, "Add", y, zero, NULL);
    ifm_emit_cast(scope, output, bounded(scope, y, in, low, high), stored_as(dtype, low));
}

void ifm_reference_quantise(IfmRewriteScope *scope, const char *output, const char *x, const char *scale, const char *zero,
                            int dtype)
{
    const char *y = ifm_rounded(scope, "Div", x, scale, NULL);
    const char *z = is_zero(scope, zero) ? NULL : ifm_emit_cast(scope, NULL, zero, IFM_DTYPE_F32);
    ifm_reference_quantised(scope, output, y, z, IFM_DTYPE_F32, dtype);
}

const char *ifm_reference_real(IfmRewriteScope *scope, const char *output, const char *x, const char *scale,
                               const char *zero)
{
    const IfmBroadcast none = IFM_SPREAD_NONE;
    return ifm_rounded_to(scope, output, "Mul", ifm_reference_centred(scope, x, zero, IFM_DTYPE_F32, &none), scale, NULL);
}

/* --- QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear ------------------------------------------------------ */

/* spread_of: How scale and zero point lie along input 0. FALSE: not known, or not in a way that can be written. */
static gboolean spread_of(const IfmRewriteScope *scope, const IfmNode *node, IfmBroadcast *spread)
{
    gint64 dims[IFM_MAX_RANK];
    *spread = (IfmBroadcast){ .rank = ifm_rewrite_rank(scope, node->inputs[0], dims), .length = -1 };
    const gint64 axis = ifm_node_int(node, "axis", 1);
    spread->axis = (int)(axis < 0 ? axis + spread->rank : axis);
    spread->block = ifm_node_int(node, "block_size", 0);
    if (spread->rank >= 1 && spread->axis >= 0 && spread->axis < spread->rank)
        spread->length = dims[spread->axis];
    else
        spread->rank = -1;
    if (spread->length > 0) /* one block may be longer than the axis */
        spread->block = MIN(spread->block, spread->length);
    return spread->block >= 0 && ifm_reference_can_spread(scope, node->inputs[1], spread) &&
           ifm_reference_can_spread(scope, ifm_rewrite_input(node, 2), spread);
}

IFM_REFERENCE_RULE(quantize)
{
    IfmBroadcast spread;
    const char *zero = ifm_rewrite_input(node, 2);
    const int dtype = zero != NULL ? ifm_rewrite_dtype(scope, zero) : (int)ifm_node_int(node, "output_dtype", IFM_DTYPE_U8);
    if (!ifm_reference_is_integer(dtype) || !spread_of(scope, node, &spread))
        return FALSE;
    const char *scale = ifm_reference_spread(scope, node->inputs[1], node->inputs[1], &spread);
    const char *y = ifm_rounded(scope, "Div", node->inputs[0], scale, NULL);
    if (is_zero(scope, zero))
        zero = NULL;
    else
        zero = ifm_reference_spread(scope, ifm_emit_cast(scope, NULL, zero, IFM_DTYPE_F32), zero, &spread);
    ifm_reference_quantised(scope, node->outputs[0], y, zero, IFM_DTYPE_F32, dtype);
    return TRUE;
}

IFM_REFERENCE_RULE(dequantize)
{
    IfmBroadcast spread;
    const int dtype = ifm_rewrite_dtype(scope, node->inputs[0]);
    if ((dtype != IFM_DTYPE_I32 && !ifm_reference_is_integer(dtype)) || !spread_of(scope, node, &spread))
        return FALSE;
    const char *x = ifm_reference_centred(scope, node->inputs[0], ifm_rewrite_input(node, 2), IFM_DTYPE_F32, &spread);
    const char *scale = ifm_reference_spread(scope, node->inputs[1], node->inputs[1], &spread);
    ifm_rounded_to(scope, node->outputs[0], "Mul", x, scale, NULL);
    return TRUE;
}

void ifm_reference_dynamic(IfmRewriteScope *scope, const char *x, const char *const *outputs)
{
    IfmRewrite *rewrite = scope->rewrite;
    const char *zero = ifm_emit_number(rewrite, IFM_DTYPE_F32, 0), *one = ifm_emit_number(rewrite, IFM_DTYPE_F32, 1);
    const char *highest = ifm_emit_number(rewrite, IFM_DTYPE_F32, G_MAXUINT8);
    for (int i = 1; i < 3; i++)
        g_hash_table_add(rewrite->scalars, (gpointer)g_string_chunk_insert_const(rewrite->strings, outputs[i]));
    const char *low = ifm_exact(scope, "ReduceMin keepdims=0", x, NULL);
    low = ifm_exact(scope, "Min", low, zero, NULL);
    const char *high = ifm_exact(scope, "ReduceMax keepdims=0", x, NULL);
    high = ifm_exact(scope, "Max", high, zero, NULL);
    const char *range = ifm_exact(scope, "Sub", high, low, NULL);
    /* All zeros have a range of 0 and a scale of 1: 1 - sign(range) is 1 there and 0 elsewhere. */
    const char *if_none = ifm_exact(scope, "Sub", one, ifm_exact(scope, "Sign", range, NULL), NULL);
    const char *step = ifm_rounded(scope, "Div", range, highest, NULL);
    const char *scale = ifm_exact_to(scope, outputs[1], "Add", step, if_none, NULL);
    const char *below = ifm_rounded(scope, "Div", ifm_exact(scope, "Sub", zero, low, NULL), scale, NULL);
    const char *z = bounded(scope, rounded(scope, below, IFM_DTYPE_F32), IFM_DTYPE_F32, 0, G_MAXUINT8);
    ifm_emit_cast(scope, outputs[2], z, IFM_DTYPE_U8);
    ifm_reference_quantised(scope, outputs[0], ifm_rounded(scope, "Div", x, scale, NULL), z, IFM_DTYPE_F32, IFM_DTYPE_U8);
}

IFM_REFERENCE_RULE(dynamic_quantize)
{
    const char *outputs[3];
    for (gsize i = 0; i < G_N_ELEMENTS(outputs); i++)
    {
        const char *output = ifm_rewrite_output(node, i);
        outputs[i] = output != NULL ? output : ifm_rewrite_name(scope->rewrite, "inferometer");
    }
    ifm_reference_dynamic(scope, node->inputs[0], outputs);
    return TRUE;
}

/* --- products of matrices ----------------------------------------------------------------------------------------- */

/* In f64 each product of two numbers of 9 bits, and each sum of fewer than 2^35 of them, is exact. */

/* by_row: What belongs to the rows of the first matrix: in rank 1 one number a row; of the matrix's rank it broadcasts. */
static const char *by_row(IfmRewriteScope *scope, const char *value, const char *name)
{
    gint64 dims[IFM_MAX_RANK];
    const IfmBroadcast rows = { .axis = 0, .rank = 2, .length = -1 }, none = IFM_SPREAD_NONE;
    if (ifm_rewrite_rank(scope, name, dims) != 1)
        return value;
    return ifm_reference_spread(scope, value, name, dims[0] == 1 ? &none : &rows);
}

/* product_side: a matrix without its zero point, f64 */
static const char *product_side(IfmRewriteScope *scope, const char *x, const char *zero, gboolean is_first)
{
    const char *y = ifm_emit_cast(scope, NULL, x, IFM_DTYPE_F64);
    if (is_zero(scope, zero))
        return y;
    const char *z = ifm_emit_cast(scope, NULL, zero, IFM_DTYPE_F64);
    return ifm_exact(scope, "Sub", y, is_first ? by_row(scope, z, zero) : z, NULL);
}

static gboolean has_known_rank(const IfmRewriteScope *scope, const char *name)
{
    gint64 dims[IFM_MAX_RANK];
    return name == NULL || ifm_rewrite_rank(scope, name, dims) >= 0;
}

const char *ifm_reference_product(IfmRewriteScope *scope, const char *a, const char *zero_a, const char *b,
                                  const char *zero_b)
{
    a = product_side(scope, a, zero_a, TRUE);
    return ifm_exact(scope, "MatMul", a, product_side(scope, b, zero_b, FALSE), NULL);
}

IFM_REFERENCE_RULE(matmul_integer)
{
    const char *const *in = node->inputs, *zero_a = ifm_rewrite_input(node, 2);
    if (!has_known_rank(scope, zero_a))
        return FALSE;
    const char *y = ifm_reference_product(scope, in[0], zero_a, in[1], ifm_rewrite_input(node, 3));
    ifm_emit_cast(scope, node->outputs[0], y, IFM_DTYPE_I32);
    return TRUE;
}

const char *ifm_reference_scales(IfmRewriteScope *scope, const char *a, const char *b, const char *by)
{
    const char *scale = ifm_emit_cast(scope, NULL, a, IFM_DTYPE_F64);
    scale = ifm_exact(scope, "Mul", scale, ifm_emit_cast(scope, NULL, b, IFM_DTYPE_F64), NULL);
    return by != NULL ? ifm_exact(scope, "Div", scale, ifm_emit_cast(scope, NULL, by, IFM_DTYPE_F64), NULL) : scale;
}

IFM_REFERENCE_RULE(qlinear_matmul)
{
    const char *const *in = node->inputs; /* a, its scale and zero point, b, those, y's */
    const int dtype = ifm_rewrite_dtype(scope, in[7]);
    if (!ifm_reference_is_integer(dtype) || !has_known_rank(scope, in[1]) || !has_known_rank(scope, in[2]) ||
        ifm_rewrite_size(scope, in[6]) > 1)
        return FALSE;
    const char *y = ifm_reference_product(scope, in[0], in[2], in[3], in[5]);
    const char *scale = ifm_reference_scales(scope, by_row(scope, in[1], in[1]), in[4], in[6]);
    const char *zero = ifm_emit_cast(scope, NULL, in[7], IFM_DTYPE_F64);
    ifm_reference_quantised(scope, node->outputs[0], ifm_rounded(scope, "Mul", y, scale, NULL), zero, IFM_DTYPE_F64, dtype);
    return TRUE;
}
