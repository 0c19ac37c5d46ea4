/* Products of matrices and recurrent layers: shapes and costs. */
#include <string.h>

#include "operators.h"

/* place_of_b: of the second matrix: behind the first one's scale and zero point where the product is quantised. */
static gsize place_of_b(const IfmNode *node)
{
    return node->op_type[0] == 'Q' ? 3 : 1;
}

/* turned: A matrix as it is multiplied: its first dimension moved behind the other batch dimensions (transBatch), then the
 * last two swapped (trans): attributes of FusedMatMul; Gemm has the second. */
static IfmTensorInfo turned(const IfmOperatorCall *call, gsize input)
{
    const IfmTensorInfo *x = &call->inputs[input];
    const gboolean is_a = input == 0;
    IfmTensorInfo result = *x;
    if (x->rank > 2 && ifm_node_int(call->node, is_a ? "transBatchA" : "transBatchB", 0) != 0)
    {
        memmove(result.dims, x->dims + 1, (gsize)(x->rank - 2) * sizeof x->dims[0]);
        result.dims[x->rank - 2] = x->dims[0];
    }
    if (x->rank > 1 && ifm_node_int(call->node, is_a ? "transA" : "transB", 0) != 0)
    {
        gint64 rows = result.dims[x->rank - 2];
        result.dims[x->rank - 2] = result.dims[x->rank - 1];
        result.dims[x->rank - 1] = rows;
    }
    return result;
}

static gboolean fail_matmul(const IfmOperatorCall *call, const IfmTensorInfo *a, const IfmTensorInfo *b, GError **error)
{
    g_autofree char *shape_a = ifm_fact_shape(a), *shape_b = ifm_fact_shape(b);
    const char *name_a = call->node->inputs[0], *name_b = call->node->inputs[place_of_b(call->node)];
    if (a->rank == 0 || b->rank == 0)
        return ifm_error_refuse(error, "'%s' %s and '%s' %s: a scalar has no matrix product", name_a, shape_a, name_b,
                                shape_b);
    return ifm_error_refuse(error, "'%s' %s has %" G_GINT64_FORMAT " columns, '%s' %s has %" G_GINT64_FORMAT " rows",
                            name_a, shape_a, a->dims[a->rank - 1], name_b, shape_b, b->dims[b->rank > 1 ? b->rank - 2 : 0]);
}

gboolean ifm_shape_matmul(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo a = turned(call, 0), b = turned(call, place_of_b(call->node));
    if (a.rank < 0 || b.rank < 0)
        return TRUE;
    if (a.rank == 0 || b.rank == 0 || a.dims[a.rank - 1] != b.dims[b.rank > 1 ? b.rank - 2 : 0])
        return fail_matmul(call, &a, &b, error);
    /* The dimensions in front of the matrices are broadcast; a vector's own added dimension goes away again. */
    IfmTensorInfo out = a, batch_b = b;
    out.rank = MAX(a.rank - 2, 0);
    batch_b.rank = MAX(b.rank - 2, 0);
    if (!ifm_rule_broadcast(&out, &batch_b, error) || !ifm_rule_check_rank(out.rank + (a.rank > 1) + (b.rank > 1), error))
        return FALSE;
    if (a.rank > 1)
        out.dims[out.rank++] = a.dims[a.rank - 2];
    if (b.rank > 1)
        out.dims[out.rank++] = b.dims[b.rank - 1];
    return ifm_call_shape(call, 0, out.rank, out.dims);
}

/* @factor: FLOP per output in addition to the products. */
gboolean ifm_cost_matmul(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    const IfmTensorInfo a = turned(call, 0);
    return ifm_fact_n_elements(&call->outputs[0], &cost->macs) && ifm_count_times(&cost->macs, a.dims[a.rank - 1]) &&
           ifm_cost_multiply_add(cost) && ifm_cost_per_output(call, factor + ifm_call_has_activation(call), cost);
}

gboolean ifm_shape_gemm(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *a = &call->inputs[0], *b = &call->inputs[1];
    IfmTensorInfo *out = &call->outputs[0];
    const char *const *names = call->node->inputs;
    g_autofree char *shape_a = ifm_fact_shape(a), *shape_b = ifm_fact_shape(b);
    if (a->rank != 2 || b->rank != 2)
        return ifm_error_refuse(error, "'%s' %s and '%s' %s must both be matrices", names[0], shape_a, names[1], shape_b);
    gboolean trans_a = ifm_node_int(call->node, "transA", 0) != 0, trans_b = ifm_node_int(call->node, "transB", 0) != 0;
    gint64 inner_a = a->dims[trans_a ? 0 : 1], inner_b = b->dims[trans_b ? 1 : 0];
    if (inner_a != inner_b)
        return ifm_error_refuse(
            error, "'%s' %s%s has %" G_GINT64_FORMAT " columns, '%s' %s%s has %" G_GINT64_FORMAT " rows", names[0], shape_a,
            trans_a ? " transposed" : "", inner_a, names[1], shape_b, trans_b ? " transposed" : "", inner_b);
    out->rank = 2;
    out->dims[0] = a->dims[trans_a ? 1 : 0];
    out->dims[1] = b->dims[trans_b ? 0 : 1];
    if (!ifm_call_has(call, 2) || call->inputs[2].rank < 0)
        return TRUE;
    IfmTensorInfo sum = *out;
    if (!ifm_rule_broadcast(&sum, &call->inputs[2], error))
        return FALSE;
    if (sum.rank == 2 && sum.dims[0] == out->dims[0] && sum.dims[1] == out->dims[1])
        return TRUE;
    g_autofree char *shape_c = ifm_fact_shape(&call->inputs[2]);
    g_autofree char *shape = ifm_shape_to_string(2, out->dims);
    return ifm_error_refuse(error, "'%s' %s does not broadcast to %s", names[2], shape_c, shape);
}

/* @factor: which input is the bias. */
gboolean ifm_cost_gemm(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    const IfmTensorInfo a = turned(call, 0);
    return ifm_fact_n_elements(&call->outputs[0], &cost->macs) && ifm_count_times(&cost->macs, a.dims[1]) &&
           ifm_cost_multiply_add(cost) &&
           ifm_cost_per_output(call, ifm_call_has(call, (gsize)factor) + ifm_call_has_activation(call), cost);
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
    if (zero != NULL)
        call->outputs[0].dtype = zero->dtype;
    return ifm_rule_rank(call, 0, 2, 2, error) && ifm_rule_rank(call, 3, 2, 2, error) && ifm_shape_matmul(call, error);
}

gboolean ifm_cost_q_gemm(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    return ifm_cost_gemm(call, 6, cost) && ifm_cost_per_output(call, 2, cost); /* scaled and shifted */
}

gboolean ifm_shape_det(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *x = &call->inputs[0];
    if (!ifm_rule_rank(call, 0, 2, IFM_MAX_RANK, error))
        return FALSE;
    return ifm_call_shape(call, 0, x->rank < 0 ? -1 : x->rank - 2, x->dims);
}

/* By elimination: n^3 / 3 multiply-adds. */
gboolean ifm_cost_det(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    const IfmTensorInfo *x = &call->inputs[0];
    gint64 n = x->dims[x->rank - 1];
    return ifm_fact_n_elements(x, &cost->macs) && ifm_count_times(&cost->macs, n) &&
           (cost->macs /= 3, ifm_cost_multiply_add(cost));
}

/* size is [N,C,H,W] or [N,C,D,H,W]; the grid has a point for each position, of as many coordinates as there are axes. */
gboolean ifm_shape_affine_grid(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *size = &call->inputs[1];
    gint64 dims[IFM_MAX_RANK], grid[5];
    if (!ifm_rule_dims(call, 1, dims, error))
        return FALSE;
    if (size->n_values != 4 && size->n_values != 5)
        return ifm_error_refuse(error, "'%s' has %d numbers, not 4 or 5", call->node->inputs[1], size->n_values);
    int n_axes = size->n_values - 2;
    grid[0] = dims[0];
    memcpy(grid + 1, dims + 2, (gsize)n_axes * sizeof grid[0]);
    grid[n_axes + 1] = n_axes;
    return ifm_call_shape(call, 0, n_axes + 2, grid);
}

/* A point with k coordinates is the product of a [k, k + 1] matrix and a vector [k + 1]. */
gboolean ifm_cost_affine_grid(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    const IfmTensorInfo *out = &call->outputs[0];
    return ifm_fact_n_elements(out, &cost->macs) && ifm_count_times(&cost->macs, out->dims[out->rank - 1] + 1) &&
           ifm_cost_multiply_add(cost);
}

/* --- recurrent layers ------------------------------------------------------------------------------------------------- */

static gboolean fail_recurrent(const IfmOperatorCall *call, gsize weight, gint64 rows, gint64 columns, GError **error)
{
    g_autofree char *shape = ifm_fact_shape(&call->inputs[weight]);
    return ifm_error_refuse(error, "'%s' is %s, not [directions,%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT "]",
                            call->node->inputs[weight], shape, rows, columns);
}

/* check_recurrent: W is [directions, gates * hidden, inputs], R [directions, gates * hidden, hidden]. */
static gboolean check_recurrent(const IfmOperatorCall *call, gint64 directions, gint64 rows, gint64 hidden, GError **error)
{
    const gint64 columns[] = { 0, call->inputs[0].dims[2], hidden };
    for (gsize i = 1; i <= 2; i++)
    {
        const IfmTensorInfo *weight = &call->inputs[i];
        if (weight->rank >= 0 && (weight->rank != 3 || weight->dims[0] != directions || weight->dims[1] != rows ||
                                  weight->dims[2] != columns[i]))
            return fail_recurrent(call, i, rows, columns[i], error);
    }
    return TRUE;
}

gboolean ifm_shape_recurrent(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *x = &call->inputs[0], *r = &call->inputs[2];
    const IfmNode *node = call->node;
    gboolean batch_first = ifm_node_int(node, "layout", 0) != 0;
    gint64 directions = g_str_equal(ifm_node_string(node, "direction", "forward"), "bidirectional") ? 2 : 1;
    if (x->rank < 0 || r->rank < 0)
        return TRUE;
    if (!ifm_rule_rank(call, 0, 3, 3, error) || !ifm_rule_rank(call, 2, 3, 3, error))
        return FALSE;
    gint64 hidden = ifm_node_int(node, "hidden_size", r->dims[2]), rows;
    if (hidden < 0 || __builtin_mul_overflow(hidden, call->row->factor, &rows))
        return ifm_error_refuse(error, "hidden_size is %" G_GINT64_FORMAT, hidden);
    if (!check_recurrent(call, directions, rows, hidden, error))
        return FALSE;
    gint64 steps = x->dims[batch_first ? 1 : 0], batch = x->dims[batch_first ? 0 : 1];
    const gint64 all[] = { steps, directions, batch, hidden }, all_batch_first[] = { batch, steps, directions, hidden };
    const gint64 last[] = { directions, batch, hidden }, last_batch_first[] = { batch, directions, hidden };
    ifm_call_shape(call, 0, 4, batch_first ? all_batch_first : all);
    for (gsize i = 1; i < MIN(node->n_outputs, 3); i++)
        ifm_call_shape(call, i, 3, batch_first ? last_batch_first : last);
    return TRUE;
}

/*
 * @factor: gates (LSTM 4, GRU 3, RNN 1). For each step, direction and element of the batch: the products of the weights of
 * the gates with the input and the state. Then for each unit: a bias and a function per gate, and the new state. The new
 * state takes 5 FLOP for LSTM (f c + i g, o tanh(c)) and 5 for GRU ((1 - z) h + z s, r h).
 */
gboolean ifm_cost_recurrent(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    const IfmTensorInfo *x = &call->inputs[0], *r = &call->inputs[2];
    gint64 units = x->dims[0], update = factor > 1 ? 5 : 0; /* steps and batch, in either order */
    if (!ifm_count_times(&units, x->dims[1]) || !ifm_count_times(&units, r->dims[0]) ||
        !ifm_count_times(&units, r->dims[2]))
        return FALSE;
    cost->macs = units;
    gint64 inner = x->dims[2], extra = units;
    return ifm_count_add(&inner, r->dims[2]) && ifm_count_times(&cost->macs, inner) &&
           ifm_count_times(&cost->macs, factor) &&
           ifm_count_times(&extra, factor * (ifm_call_has(call, 3) ? 2 : 1) + update) && ifm_cost_multiply_add(cost) &&
           ifm_count_add(&cost->flop, extra);
}
