/* Quantised operators that ONNX Runtime alone has: what its quantisers make. Definitions: its ContribOperators.md. */
#include "rewrite.h"

#include <string.h>

#define SLICE_OPSET 10 /* since which its starts and ends are inputs */

static gboolean are_single(const IfmRewriteScope *scope, const char *const *names, gsize n)
{
    const IfmBroadcast none = IFM_SPREAD_NONE;
    for (gsize i = 0; i < n; i++)
        if (!ifm_reference_can_spread(scope, names[i], &none))
            return FALSE;
    return TRUE;
}

/* --- weights of few bits ---------------------------------------------------------------------------------------------- */

/* Blocks: the weights of a MatMulNBits: @n outputs of @k inputs each, in @blocks blocks of @size */
typedef struct
{
    gint64 n, k, blocks, size;
    int bits;
} Blocks;

/* find_blocks: FALSE where the attributes and the weights do not fit each other. */
static gboolean find_blocks(const IfmRewriteScope *scope, const IfmNode *node, Blocks *blocks)
{
    gint64 numbers;
    *blocks = (Blocks){ .n = ifm_node_int(node, "N", 0),
                        .k = ifm_node_int(node, "K", 0),
                        .size = ifm_node_int(node, "block_size", 0),
                        .bits = (int)ifm_node_int(node, "bits", 4) };
    const gboolean is_known = blocks->bits == 2 || blocks->bits == 4 || blocks->bits == 8;
    if (!is_known || blocks->n < 1 || blocks->k < 1 || blocks->size < 8 || ifm_node_int(node, "weight_prepacked", 0) != 0 ||
        ifm_model_opset(scope->rewrite->source) < SLICE_OPSET)
        return FALSE;
    blocks->blocks = (blocks->k - 1) / blocks->size + 1;
    return !__builtin_mul_overflow(blocks->blocks, blocks->size, &numbers) &&
           !__builtin_mul_overflow(numbers, blocks->n, &numbers) && numbers % (8 / blocks->bits) == 0 &&
           ifm_rewrite_size(scope, node->inputs[1]) == numbers / (8 / blocks->bits);
}

/* up_to: the first @length of the last axis of a matrix */
static const char *up_to(IfmRewriteScope *scope, const char *x, gint64 length)
{
    const gint64 start = 0, axis = 1;
    IfmRewrite *rewrite = scope->rewrite;
    return ifm_exact(scope, "Slice", x, ifm_emit_list(rewrite, &start, 1), ifm_emit_list(rewrite, &length, 1),
                     ifm_emit_list(rewrite, &axis, 1), NULL);
}

/* zero_points: [n, blocks], f32; NULL where they are of a size that does not fit */
static const char *zero_points(IfmRewriteScope *scope, const char *name, const Blocks *blocks)
{
    const gint64 each = 8 / blocks->bits, padded = (blocks->blocks + each - 1) / each * each;
    const gint64 dims[] = { blocks->n, blocks->blocks }, padded_dims[] = { blocks->n, padded };
    if (ifm_rewrite_dtype(scope, name) != IFM_DTYPE_U8)
        return ifm_emit_reshape(scope, name, dims, 2);
    const char *z =
        ifm_emit_reshape(scope, ifm_emit_unpacked(scope, name, blocks->bits, FALSE, IFM_DTYPE_F32), padded_dims, 2);
    return padded != blocks->blocks ? up_to(scope, z, blocks->blocks) : z;
}

/* by_input: a number for each input of a matrix, of one for each block: by the index of its block, or in order */
static const char *by_input(IfmRewriteScope *scope, const char *x, const Blocks *blocks, const char *index)
{
    const gint64 column[] = { blocks->n, blocks->blocks, 1 };
    if (index == NULL)
        return ifm_emit_reshape(scope, x, column, 3);
    x = ifm_exact(scope, "Gather axis=1", x, index, NULL);
    return x;
}

static gboolean zero_points_fit(const IfmRewriteScope *scope, const char *zero, const Blocks *blocks)
{
    const gint64 each = 8 / blocks->bits, bytes = (blocks->blocks + each - 1) / each;
    if (zero == NULL)
        return TRUE;
    const int dtype = ifm_rewrite_dtype(scope, zero);
    return (dtype == IFM_DTYPE_U8 && ifm_rewrite_size(scope, zero) == blocks->n * bytes) ||
           (dtype == IFM_DTYPE_F32 && ifm_rewrite_size(scope, zero) == blocks->n * blocks->blocks);
}

IFM_REFERENCE_RULE(matmul_n_bits)
{
    Blocks blocks;
    const char *zero = ifm_rewrite_input(node, 3), *index = ifm_rewrite_input(node, 4), *bias = ifm_rewrite_input(node, 5);
    if (!find_blocks(scope, node, &blocks) || !zero_points_fit(scope, zero, &blocks) ||
        ifm_rewrite_size(scope, node->inputs[2]) != blocks.n * blocks.blocks)
        return FALSE;
    const gint64 all = blocks.blocks * blocks.size, matrix[] = { blocks.n, all };
    const gint64 cube[] = { blocks.n, blocks.blocks, blocks.size }, of_scales[] = { blocks.n, blocks.blocks };
    const char *w = ifm_emit_unpacked(scope, node->inputs[1], blocks.bits, FALSE, IFM_DTYPE_F32);
    w = ifm_emit_reshape(scope, w, index == NULL ? cube : matrix, index == NULL ? 3 : 2);
    if (index != NULL && all != blocks.k)
        w = up_to(scope, w, blocks.k);
    const char *z = zero != NULL ? by_input(scope, zero_points(scope, zero, &blocks), &blocks, index)
                                 : ifm_emit_number(scope->rewrite, IFM_DTYPE_F32, 1 << (blocks.bits - 1));
    const char *s = by_input(scope, ifm_emit_reshape(scope, node->inputs[2], of_scales, 2), &blocks, index);
    w = ifm_rounded(scope, "Mul", ifm_exact(scope, "Sub", w, z, NULL), s, NULL);
    if (index == NULL)
        w = ifm_emit_reshape(scope, w, matrix, 2);
    if (index == NULL && all != blocks.k)
        w = up_to(scope, w, blocks.k);
    w = ifm_exact(scope, "Transpose perm=[1,0]", w, NULL);
    const char *y = ifm_rounded_to(scope, bias == NULL ? node->outputs[0] : NULL, "MatMul", node->inputs[0], w, NULL);
    if (bias != NULL)
        ifm_rounded_to(scope, node->outputs[0], "Add", y, bias, NULL);
    return TRUE;
}

/* --- products of integer matrices ------------------------------------------------------------------------------------- */

/* finish_real: An exact product in real numbers, f32. @bias: f32, or NULL */
static void finish_real(IfmRewriteScope *scope, const char *output, const char *y, const char *scale, const char *bias)
{
    y = ifm_rounded(scope, "Mul", y, scale, NULL);
    y = ifm_emit_cast(scope, bias == NULL ? output : NULL, y, IFM_DTYPE_F32);
    if (bias != NULL)
        ifm_rounded_to(scope, output, "Add", y, bias, NULL);
}

IFM_REFERENCE_RULE(matmul_to_float)
{
    const char *const *in = node->inputs; /* a, b, their scales */
    const char *zero_a = ifm_rewrite_input(node, 4), *names[] = { in[2], zero_a };
    if (!are_single(scope, names, G_N_ELEMENTS(names)))
        return FALSE;
    const char *y = ifm_reference_product(scope, in[0], zero_a, in[1], ifm_rewrite_input(node, 5));
    finish_real(scope, node->outputs[0], y, ifm_reference_scales(scope, in[2], in[3], NULL), ifm_rewrite_input(node, 6));
    return TRUE;
}

IFM_REFERENCE_RULE(dynamic_matmul)
{
    const char *const *in = node->inputs; /* a, b, its scale */
    const char *made[3];
    for (gsize i = 0; i < G_N_ELEMENTS(made); i++)
        made[i] = ifm_rewrite_name(scope->rewrite, "inferometer.quantised");
    ifm_reference_dynamic(scope, in[0], made);
    const char *y = ifm_reference_product(scope, made[0], made[2], in[1], ifm_rewrite_input(node, 3));
    finish_real(scope, node->outputs[0], y, ifm_reference_scales(scope, made[1], in[2], NULL), ifm_rewrite_input(node, 4));
    return TRUE;
}

static const char *transposed(IfmRewriteScope *scope, const char *x, gint64 is_transposed)
{
    return is_transposed != 0 ? ifm_exact(scope, "Transpose perm=[1,0]", x, NULL) : x;
}

IFM_REFERENCE_RULE(q_gemm)
{
    const char *const *in = node->inputs; /* a, its scale and zero point, b, those */
    const char *bias = ifm_rewrite_input(node, 6), *step = ifm_rewrite_input(node, 7), *zero = ifm_rewrite_input(node, 8);
    const char *names[] = { in[1], in[2], step, zero };
    const double alpha = ifm_node_float(node, "alpha", 1);
    if (!are_single(scope, names, G_N_ELEMENTS(names)))
        return FALSE;
    const char *a = transposed(scope, in[0], ifm_node_int(node, "transA", 0));
    const char *b = transposed(scope, in[3], ifm_node_int(node, "transB", 0));
    const char *y = ifm_reference_product(scope, a, in[2], b, in[5]);
    if (bias != NULL) /* in the same units as the products */
        y = ifm_exact(scope, "Add", y, ifm_emit_cast(scope, NULL, bias, IFM_DTYPE_F64), NULL);
    const char *scale = ifm_reference_scales(scope, in[1], in[4], step);
    scale = ifm_exact(scope, "Mul", scale, ifm_emit_number(scope->rewrite, IFM_DTYPE_F64, alpha), NULL);
    if (step == NULL)
    {
        finish_real(scope, node->outputs[0], y, scale, NULL);
        return TRUE;
    }
    const int dtype = zero != NULL ? ifm_rewrite_dtype(scope, zero) : ifm_rewrite_dtype(scope, in[0]);
    zero = zero != NULL ? ifm_emit_cast(scope, NULL, zero, IFM_DTYPE_F64) : NULL;
    ifm_reference_quantised(scope, node->outputs[0], ifm_rounded(scope, "Mul", y, scale, NULL), zero, IFM_DTYPE_F64, dtype);
    return TRUE;
}

IFM_REFERENCE_RULE(q_attention)
{
    const char *const *in = node->inputs; /* x, w, the bias, their scales */
    const char *zero_x = ifm_rewrite_input(node, 6), *zero_w = ifm_rewrite_input(node, 7);
    const char *mask = ifm_rewrite_input(node, 5), *past = ifm_rewrite_input(node, 8);
    const char *present = ifm_rewrite_output(node, 1), *names[] = { in[3], zero_x };
    const IfmBroadcast columns = { .axis = 1, .rank = 2, .length = -1 };
    if (!are_single(scope, names, G_N_ELEMENTS(names)) || !ifm_reference_can_spread(scope, zero_w, &columns))
        return FALSE;
    const char *x = ifm_reference_real(scope, NULL, in[0], in[3], zero_x);
    const char *w = ifm_reference_centred(scope, in[1], zero_w, IFM_DTYPE_F32, &columns);
    w = ifm_rounded(scope, "Mul", w, in[4], NULL);
    ifm_rounded_to(scope, node->outputs[0], "Attention", x, w, in[2], mask != NULL ? mask : "", past != NULL ? past : "",
                   NULL);
    ifm_emit_attributes(scope, node, NULL);
    ifm_emit_domain(scope, node->domain);
    if (present != NULL)
        ifm_emit_output(scope, present);
    return TRUE;
}

/* --- other operators: computed on the real numbers, and quantised again ----------------------------------------------- */

IFM_REFERENCE_RULE(q_binary)
{
    const char *in[8]; /* a, its scale and zero point, b, those, the output's */
    for (gsize i = 0; i < G_N_ELEMENTS(in); i++)
        in[i] = ifm_rewrite_input(node, i);
    const char *names[] = { in[1], in[2], in[4], in[5], in[6], in[7] };
    if (!are_single(scope, names, G_N_ELEMENTS(names)))
        return FALSE;
    const char *a = ifm_reference_real(scope, NULL, in[0], in[1], in[2]);
    const char *b = ifm_reference_real(scope, NULL, in[3], in[4], in[5]);
    const char *y = ifm_rounded(scope, g_str_equal(node->op_type, "QLinearAdd") ? "Add" : "Mul", a, b, NULL);
    ifm_reference_quantise(scope, node->outputs[0], y, in[6], in[7], ifm_rewrite_dtype(scope, in[0]));
    return TRUE;
}

IFM_REFERENCE_RULE(q_where)
{
    const char *const *in = node->inputs; /* the condition, x, its scale and zero point, y, those, the output's */
    if (!are_single(scope, &in[2], 2) || !are_single(scope, &in[5], 4))
        return FALSE;
    const char *x = ifm_reference_real(scope, NULL, in[1], in[2], in[3]);
    const char *y = ifm_reference_real(scope, NULL, in[4], in[5], in[6]);
    y = ifm_exact(scope, "Where", in[0], x, y, NULL);
    ifm_reference_quantise(scope, node->outputs[0], y, in[7], in[8], ifm_rewrite_dtype(scope, in[1]));
    return TRUE;
}

IFM_REFERENCE_RULE(q_concat)
{
    const char *const *in = node->inputs; /* the output's scale and zero point, each input with those */
    g_autoptr(GPtrArray) parts = g_ptr_array_new();
    if (node->n_inputs % 3 != 2 || !are_single(scope, in, 2))
        return FALSE;
    for (gsize i = 2; i < node->n_inputs; i += 3)
        if (!are_single(scope, &in[i + 1], 2))
            return FALSE;
    for (gsize i = 2; i < node->n_inputs; i += 3)
        g_ptr_array_add(parts, (gpointer)ifm_reference_real(scope, NULL, in[i], in[i + 1], in[i + 2]));
    const char *y = ifm_exact(scope, "Concat", parts->pdata[0], NULL);
    for (guint i = 1; i < parts->len; i++)
        ifm_emit_input(scope, parts->pdata[i]);
    ifm_emit_attributes(scope, node, NULL);
    ifm_reference_quantise(scope, node->outputs[0], y, in[0], in[1], ifm_rewrite_dtype(scope, in[1]));
    return TRUE;
}

#define SOFTMAX_OPSET 13     /* since which it is over one axis, before over all from it on */
#define REDUCE_AXES_OPSET 18 /* since which they are an input */

/* means_the_same: Whether an operator of one opset is the model's. */
static gboolean means_the_same(const IfmRewriteScope *scope, const IfmNode *node)
{
    gint64 dims[IFM_MAX_RANK];
    const gint64 own = ifm_node_int(node, "opset", 1), opset = ifm_model_opset(scope->rewrite->source);
    if (!g_str_equal(node->op_type, "QLinearSoftmax") || (own < SOFTMAX_OPSET) == (opset < SOFTMAX_OPSET))
        return TRUE;
    const gint64 axis = ifm_node_int(node, "axis", 0);
    const int rank = ifm_rewrite_rank(scope, node->inputs[0], dims);
    return axis == -1 || (rank > 0 && axis == rank - 1); /* the last axis is the same in both */
}

IFM_REFERENCE_RULE(q_unary)
{
    static const char *const own[] = { "channels_last", "opset", NULL }, *const with_axes[] = { "axes", NULL };
    const char *in[5]; /* x, its scale and zero point, the output's */
    for (gsize i = 0; i < G_N_ELEMENTS(in); i++)
        in[i] = ifm_rewrite_input(node, i);
    if (ifm_node_int(node, "channels_last", 0) != 0 || !are_single(scope, &in[1], 4) || !means_the_same(scope, node))
        return FALSE;
    gsize n_axes = 0;
    const gint64 *axes = ifm_node_ints(node, "axes", &n_axes);
    const gboolean as_input = axes != NULL && ifm_model_opset(scope->rewrite->source) >= REDUCE_AXES_OPSET;
    const char *y = ifm_reference_real(scope, NULL, in[0], in[1], in[2]);
    y = ifm_rounded(scope, node->op_type + strlen("QLinear"), y, NULL);
    ifm_emit_attributes(scope, node, as_input ? with_axes : own);
    if (as_input)
        ifm_emit_input(scope, ifm_emit_list(scope->rewrite, axes, n_axes));
    ifm_reference_quantise(scope, node->outputs[0], y, in[3], in[4], ifm_rewrite_dtype(scope, in[0]));
    return TRUE;
}
