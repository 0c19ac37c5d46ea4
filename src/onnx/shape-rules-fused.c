/* Shapes and costs of the operators of optimised graphs; attention: attention-rules.c. */
#include <string.h>

#include "operators.h"

static gboolean plus_outputs(const IfmOperatorCall *call, gint64 each, IfmNodeCost *cost)
{
    gint64 n;
    return ifm_fact_n_elements(&call->outputs[0], &n) && !__builtin_mul_overflow(n, each, &n) &&
           !__builtin_add_overflow(cost->flop, n, &cost->flop);
}

static gboolean has_activation(const IfmNode *node)
{
    return *ifm_node_string(node, "activation", "") != '\0';
}

/* --- products ----------------------------------------------------------------------------------------------------- */

/* turned: A or B of FusedMatMul as it is multiplied: its first dimension moved behind the other batch dimensions
 * (transBatch), then the last two swapped (trans). */
static IfmTensorInfo turned(const IfmTensorInfo *x, gboolean batch, gboolean matrix)
{
    IfmTensorInfo result = *x;
    if (batch && x->rank > 2)
    {
        memmove(result.dims, x->dims + 1, (gsize)(x->rank - 2) * sizeof x->dims[0]);
        result.dims[x->rank - 2] = x->dims[0];
    }
    if (matrix && x->rank > 1)
    {
        gint64 rows = result.dims[x->rank - 2];
        result.dims[x->rank - 2] = result.dims[x->rank - 1];
        result.dims[x->rank - 1] = rows;
    }
    return result;
}

static IfmTensorInfo turned_input(const IfmOperatorCall *call, gsize input)
{
    gboolean is_a = input == 0;
    return turned(&call->inputs[input], ifm_node_int(call->node, is_a ? "transBatchA" : "transBatchB", 0) != 0,
                  ifm_node_int(call->node, is_a ? "transA" : "transB", 0) != 0);
}

gboolean ifm_shape_fused_matmul(const IfmOperatorCall *call, GError **error)
{
    static const gsize at[] = { 0, 1 };
    IfmTensorInfo a = turned_input(call, 0), b = turned_input(call, 1);
    return ifm_rule_matmul(call, at, &a, &b, a.dtype, error);
}

gboolean ifm_cost_fused_matmul(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    IfmTensorInfo a = turned_input(call, 0);
    return ifm_fact_n_elements(&call->outputs[0], &cost->macs) &&
           !__builtin_mul_overflow(cost->macs, a.dims[a.rank - 1], &cost->macs) &&
           !__builtin_mul_overflow(cost->macs, 2, &cost->flop) && plus_outputs(call, has_activation(call->node), cost);
}

gboolean ifm_cost_fused_gemm(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    return ifm_cost_gemm(call, 2, cost) && plus_outputs(call, has_activation(call->node), cost);
}

/* A product of integers as floats: DynamicQuantizeMatMul, MatMulIntegerToFloat. Their scales are the third input. */
gboolean ifm_shape_matmul_to_float(const IfmOperatorCall *call, GError **error)
{
    static const gsize at[] = { 0, 1 };
    return ifm_rule_matmul(call, at, &call->inputs[0], &call->inputs[1], call->inputs[2].dtype, error);
}

/* @factor: FLOP per output in addition to the products. */
gboolean ifm_cost_matmul_and(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    return ifm_cost_matmul(call, 0, cost) && plus_outputs(call, factor, cost);
}

/* Weights of few bits, [N, blocks, bytes], their matrix is [K, N]. */
gboolean ifm_shape_matmul_n_bits(const IfmOperatorCall *call, GError **error)
{
    IfmTensorInfo x = call->inputs[0];
    gint64 k = ifm_node_int(call->node, "K", -1), n = ifm_node_int(call->node, "N", -1);
    if (x.rank < 1 || x.dims[x.rank - 1] != k || n < 0)
    {
        g_autofree char *shape = ifm_fact_shape(&x);
        return ifm_error_refuse(error, "'%s' %s has not the %" G_GINT64_FORMAT " columns that K says",
                                call->node->inputs[0], shape, k);
    }
    x.dims[x.rank - 1] = n;
    return ifm_call_give(call, 0, &x);
}

/* a, its scale and zero point, b, its, c, the output's: floats where it has none. */
gboolean ifm_shape_q_gemm(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *zero = ifm_call_input(call, 8);
    const gboolean trans_a = ifm_node_int(call->node, "transA", 0) != 0,
                   trans_b = ifm_node_int(call->node, "transB", 0) != 0;
    static const gsize at[] = { 0, 3 };
    IfmTensorInfo a = turned(&call->inputs[0], FALSE, trans_a), b = turned(&call->inputs[3], FALSE, trans_b);
    return ifm_rule_rank(call, 0, 2, 2, error) && ifm_rule_rank(call, 3, 2, 2, error) &&
           ifm_rule_matmul(call, at, &a, &b, zero != NULL ? zero->dtype : call->inputs[1].dtype, error);
}

gboolean ifm_cost_q_gemm(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    return ifm_cost_gemm(call, 6, cost) && plus_outputs(call, 2, cost); /* scaled and shifted */
}

/* --- convolutions ------------------------------------------------------------------------------------------------- */

/* The sum comes as an input behind the bias, the activation as an attribute. */
gboolean ifm_cost_fused_conv(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    return ifm_cost_conv(call, 0, cost) && plus_outputs(call, ifm_call_has(call, 3) + has_activation(call->node), cost);
}

/* channels_first: [N,...,C] as [N,C,...]; back again where @back. */
static IfmTensorInfo channels_first(const IfmTensorInfo *x, gboolean back)
{
    IfmTensorInfo result = *x;
    if (x->rank < 3)
        return result;
    const gsize n = (gsize)(x->rank - 2) * sizeof x->dims[0];
    memmove(result.dims + (back ? 1 : 2), x->dims + (back ? 2 : 1), n);
    result.dims[back ? x->rank - 1 : 1] = x->dims[back ? 1 : x->rank - 1];
    return result;
}

static gboolean conv_channels_last(const IfmOperatorCall *call, const IfmConvAt *at, GError **error)
{
    IfmTensorInfo x = channels_first(&call->inputs[0], FALSE);
    if (!ifm_rule_conv(call, at, &x, error))
        return FALSE;
    if (call->outputs[0].rank >= 0)
        call->outputs[0] = channels_first(&call->outputs[0], TRUE);
    return TRUE;
}

gboolean ifm_shape_nhwc_conv(const IfmOperatorCall *call, GError **error)
{
    const IfmConvAt at = { 1, 2, call->inputs[0].dtype, FALSE };
    return conv_channels_last(call, &at, error);
}

gboolean ifm_shape_fused_qlinear_conv(const IfmOperatorCall *call, GError **error)
{
    const IfmConvAt at = { 3, 8, call->inputs[7].dtype, FALSE };
    if (ifm_node_int(call->node, "channels_last", 0) == 0)
        return ifm_shape_qlinear_conv(call, error);
    return conv_channels_last(call, &at, error);
}

/* Channels come filled up to whole blocks: those of the weights say how many there are. */
gboolean ifm_shape_nchwc_conv(const IfmOperatorCall *call, GError **error)
{
    const IfmConvAt at = { 1, 2, call->inputs[0].dtype, TRUE };
    return ifm_rule_conv(call, &at, &call->inputs[0], error);
}

#define NCHWC "com.microsoft.nchwc"
#define MAX_BETWEEN 8 /* nodes that keep the channels, up to the convolution that shows their number */

/* conv_channels: The number of channels that a convolution in blocks reads, by its weights; 0 where it is unknown. */
static gint64 conv_channels(const IfmScope *scope, const IfmNode *node)
{
    const IfmTensorInfo *weights = node->n_inputs > 1 ? ifm_scope_fact(scope, node->inputs[1]) : NULL;
    gint64 group = ifm_node_int(node, "group", 1), channels;
    if (weights == NULL || weights->rank < 3 || group < 1 || __builtin_mul_overflow(weights->dims[1], group, &channels))
        return 0;
    return channels;
}

/* channels_read: how many channels the first reader of a tensor in blocks that has weights takes it for; 0 for none. */
static gint64 channels_read(const IfmScope *scope, const char *tensor, int depth)
{
    const IfmModel *model = ifm_scope_model(scope);
    const GArray *readers = model != NULL ? ifm_model_consumers(model, tensor) : NULL;
    gint64 channels = 0;
    for (guint i = 0; readers != NULL && i < readers->len && channels == 0; i++)
    {
        const IfmNode *node = ifm_model_node(model, g_array_index(readers, gsize, i));
        if (!g_str_equal(node->domain, NCHWC) || node->n_inputs == 0 || !g_str_equal(node->inputs[0], tensor))
            continue;
        if (g_str_equal(node->op_type, "Conv"))
            channels = conv_channels(scope, node);
        else if (depth < MAX_BETWEEN && strstr(node->op_type, "Pool") != NULL && node->n_outputs > 0)
            channels = channels_read(scope, node->outputs[0], depth + 1);
    }
    return channels;
}

/* has_blocks_of_8: whether a convolution in blocks makes channels that would fill none of 16: a graph has blocks of one
 * kind. */
static gboolean has_blocks_of_8(const IfmScope *scope)
{
    const IfmModel *model = ifm_scope_model(scope);
    for (gsize i = 0; model != NULL && i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *node = ifm_model_node(model, i);
        const IfmTensorInfo *weights = node->n_inputs > 1 ? ifm_scope_fact(scope, node->inputs[1]) : NULL;
        if (g_str_equal(node->domain, NCHWC) && g_str_equal(node->op_type, "Conv") && weights != NULL &&
            weights->rank > 0 && weights->dims[0] % 16 == 8)
            return TRUE;
    }
    return FALSE;
}

/* channels_filled: The number of channels of @x in blocks. A multiple of 16 has full blocks. For other numbers the weights
 * of the next convolution show it, or those of another one show that the blocks are of 8. Returns: 0 where it is unknown.
 */
static gint64 channels_filled(const IfmOperatorCall *call, const IfmTensorInfo *x)
{
    if (x->dims[1] % 16 == 0)
        return x->dims[1];
    gint64 read = channels_read(call->scope, call->node->outputs[0], 0);
    if (read == 0 && x->dims[1] > 0 && x->dims[1] <= G_MAXINT64 - 8 && has_blocks_of_8(call->scope))
        return (x->dims[1] + 7) / 8 * 8;
    return read;
}

/* Blocks are of 8 or 16 channels, as the machine's registers are wide. */
gboolean ifm_shape_reorder_input(const IfmOperatorCall *call, GError **error)
{
    IfmTensorInfo x = call->inputs[0];
    if (!ifm_rule_rank(call, 0, 3, IFM_MAX_RANK, error))
        return FALSE;
    if (ifm_node_int(call->node, "channels_last", 0) != 0)
        x = channels_first(&x, FALSE);
    gint64 filled = channels_filled(call, &x);
    if (filled < x.dims[1] || filled - x.dims[1] >= 16 || filled % 8 != 0)
        *call->why = "how many channels fill a block depends on the machine that it was optimised for";
    else
    {
        x.dims[1] = filled;
        ifm_call_give(call, 0, &x);
    }
    return TRUE;
}

gboolean ifm_shape_reorder_output(const IfmOperatorCall *call, GError **error)
{
    IfmTensorInfo x = call->inputs[0];
    gint64 channels = ifm_node_int(call->node, "channels", -1);
    if (!ifm_rule_rank(call, 0, 3, IFM_MAX_RANK, error))
        return FALSE;
    if (channels < 0 || channels > x.dims[1])
        return ifm_error_refuse(error, "channels is %" G_GINT64_FORMAT ", '%s' has %" G_GINT64_FORMAT, channels,
                                call->node->inputs[0], x.dims[1]);
    x.dims[1] = channels;
    if (ifm_node_int(call->node, "channels_last", 0) != 0)
        x = channels_first(&x, TRUE);
    return ifm_call_give(call, 0, &x);
}

/* Pools over bytes: the type is that of the input. */
gboolean ifm_shape_qlinear_pool(const IfmOperatorCall *call, GError **error)
{
    gboolean is_last = ifm_node_int(call->node, "channels_last", 0) != 0;
    IfmTensorInfo x = is_last ? channels_first(&call->inputs[0], FALSE) : call->inputs[0];
    IfmOperatorCall inner = *call;
    inner.inputs = &x; /* a pool reads its first input alone */
    gboolean is_global = g_str_has_prefix(call->node->op_type, "QLinearGlobal");
    if (!(is_global ? ifm_shape_global_pool : ifm_shape_pool)(&inner, error))
        return FALSE;
    if (is_last && call->outputs[0].rank >= 0)
        call->outputs[0] = channels_first(&call->outputs[0], TRUE);
    return TRUE;
}

/* --- element-wise and normalisation ------------------------------------------------------------------------------- */

/* a, its scale and zero point, b, its, the output's. */
gboolean ifm_shape_qlinear_binary(const IfmOperatorCall *call, GError **error)
{
    IfmTensorInfo result = call->inputs[0];
    call->outputs[0].dtype = result.dtype;
    if (result.rank < 0 || call->inputs[3].rank < 0)
        return TRUE;
    if (!ifm_rule_broadcast(&result, &call->inputs[3], error))
        return FALSE;
    return ifm_call_give(call, 0, &result);
}

/* The output's scale and zero point, then a tensor, its scale and zero point for each that is joined. */
gboolean ifm_shape_qlinear_concat(const IfmOperatorCall *call, GError **error)
{
    IfmTensorInfo result = call->inputs[2];
    int axis;
    call->outputs[0].dtype = result.dtype;
    for (gsize i = 2; i < call->node->n_inputs; i += 3)
        if (call->inputs[i].rank < 0)
            return TRUE;
    if (!ifm_rule_axis(ifm_node_int(call->node, "axis", 0), result.rank, result.rank, &axis, error))
        return FALSE;
    for (gsize i = 5; i < call->node->n_inputs; i += 3)
    {
        const IfmTensorInfo *next = &call->inputs[i];
        if (next->rank != result.rank || __builtin_add_overflow(result.dims[axis], next->dims[axis], &result.dims[axis]))
            return ifm_error_refuse(error, "'%s' does not join '%s'", call->node->inputs[i], call->node->inputs[2]);
    }
    return ifm_call_give(call, 0, &result);
}

/* @factor per element, and 1 for the sum with a second or third input (BiasGelu, FastGelu, BiasAdd). */
gboolean ifm_cost_biased(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    return plus_outputs(call, factor + ifm_call_has(call, 1) + ifm_call_has(call, 2), cost);
}

gboolean ifm_shape_half(const IfmOperatorCall *call, GError **error)
{
    IfmTensorInfo x = call->inputs[0];
    if (x.rank > 0)
        x.dims[x.rank - 1] /= 2;
    return ifm_call_give(call, 0, &x);
}

/* Input, skip, scale, bias of the normalisation, bias of the sum; the fourth output, if there is one, is the sum. */
gboolean ifm_shape_skip_normalization(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *x = &call->inputs[0], *skip = &call->inputs[1];
    gint64 dims[IFM_MAX_RANK];
    IfmTensorInfo sum = *x;
    ifm_call_give(call, 0, x);
    ifm_call_give(call, 3, x);
    if (x->rank < 1)
        return TRUE;
    if (skip->rank >= 0 && !ifm_rule_broadcast(&sum, skip, error))
        return FALSE;
    memcpy(dims, x->dims, sizeof dims);
    dims[x->rank - 1] = 1;
    ifm_call_make(call, 1, IFM_DTYPE_F32, x->rank, dims);
    return ifm_call_make(call, 2, IFM_DTYPE_F32, x->rank, dims);
}

/* The last input of either form is the bias of the sum: of the simplified one the fourth, else the fifth. */
gboolean ifm_cost_skip_normalization(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    return plus_outputs(call, factor + 1 + ifm_call_has(call, factor == 5 ? 4 : 3), cost);
}

/* Words [batch, length], segments, the tables of words, positions and segments, scale, bias. */
gboolean ifm_shape_embed_normalization(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *ids = &call->inputs[0], *words = ifm_call_input(call, 2);
    if (words == NULL)
        return ifm_error_refuse(error, "needs a third input, the table of words");
    call->outputs[0].dtype = words->dtype;
    if (call->node->n_outputs > 1)
        call->outputs[1].dtype = IFM_DTYPE_I32;
    if (ids->rank < 0 || words->rank < 0)
        return TRUE;
    if (!ifm_rule_rank(call, 0, 2, 2, error) || !ifm_rule_rank(call, 2, 2, 2, error))
        return FALSE;
    const gint64 dims[] = { ids->dims[0], ids->dims[1], words->dims[1] };
    ifm_call_make(call, 0, words->dtype, 3, dims);
    ifm_call_make(call, 1, IFM_DTYPE_I32, 1, dims);
    return ifm_call_make(call, 2, words->dtype, 3, dims);
}

/* The sum of two or three embeddings, then a layer normalisation. */
gboolean ifm_cost_embed_normalization(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    return plus_outputs(call, 5 + 1 + ifm_call_has(call, 4), cost);
}
