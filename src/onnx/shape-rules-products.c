/* Shapes of products of matrices, of sums of products, of recurrent layers. */
#include <string.h>

#include "operators.h"

/* --- products ----------------------------------------------------------------------------------------------------- */

static gboolean fail_matmul(const IfmOperatorCall *call, const gsize *at, const IfmTensorInfo *a, const IfmTensorInfo *b,
                            GError **error)
{
    g_autofree char *shape_a = ifm_fact_shape(a), *shape_b = ifm_fact_shape(b);
    const char *name_a = call->node->inputs[at[0]], *name_b = call->node->inputs[at[1]];
    if (a->rank == 0 || b->rank == 0)
        return ifm_error_refuse(error, "'%s' %s and '%s' %s: a scalar has no matrix product", name_a, shape_a, name_b,
                                shape_b);
    return ifm_error_refuse(error, "'%s' %s has %" G_GINT64_FORMAT " columns, '%s' %s has %" G_GINT64_FORMAT " rows",
                            name_a, shape_a, a->dims[a->rank - 1], name_b, shape_b, b->dims[b->rank > 1 ? b->rank - 2 : 0]);
}

gboolean ifm_rule_matmul(const IfmOperatorCall *call, const gsize *at, const IfmTensorInfo *a, const IfmTensorInfo *b,
                         IfmDtype dtype, GError **error)
{
    call->outputs[0].dtype = dtype;
    if (a->rank < 0 || b->rank < 0)
        return TRUE;
    if (a->rank == 0 || b->rank == 0 || a->dims[a->rank - 1] != b->dims[b->rank > 1 ? b->rank - 2 : 0])
        return fail_matmul(call, at, a, b, error);
    /* The dimensions in front of the matrices are broadcast; a vector's own added dimension goes away again. */
    IfmTensorInfo out = *a, batch_b = *b;
    out.rank = MAX(a->rank - 2, 0);
    batch_b.rank = MAX(b->rank - 2, 0);
    if (!ifm_rule_broadcast(&out, &batch_b, error))
        return FALSE;
    if (out.rank + (a->rank > 1) + (b->rank > 1) > IFM_MAX_RANK)
        return ifm_error_refuse(error, "its output has more than %d dimensions", IFM_MAX_RANK);
    if (a->rank > 1)
        out.dims[out.rank++] = a->dims[a->rank - 2];
    if (b->rank > 1)
        out.dims[out.rank++] = b->dims[b->rank - 1];
    return ifm_call_make(call, 0, dtype, out.rank, out.dims);
}

gboolean ifm_shape_matmul(const IfmOperatorCall *call, GError **error)
{
    static const gsize at[] = { 0, 1 };
    return ifm_rule_matmul(call, at, &call->inputs[0], &call->inputs[1], call->inputs[0].dtype, error);
}

gboolean ifm_shape_matmul_integer(const IfmOperatorCall *call, GError **error)
{
    static const gsize at[] = { 0, 1 };
    return ifm_rule_matmul(call, at, &call->inputs[0], &call->inputs[1], IFM_DTYPE_I32, error);
}

/* a, its scale and zero point, b, its, the output's. */
gboolean ifm_shape_qlinear_matmul(const IfmOperatorCall *call, GError **error)
{
    static const gsize at[] = { 0, 3 };
    return ifm_rule_matmul(call, at, &call->inputs[0], &call->inputs[3], call->inputs[7].dtype, error);
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

/* --- recurrent layers --------------------------------------------------------------------------------------------- */

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
    for (gsize i = 0; i < node->n_outputs; i++)
        call->outputs[i].dtype = x->dtype;
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
    ifm_call_make(call, 0, x->dtype, 4, batch_first ? all_batch_first : all);
    for (gsize i = 1; i < MIN(node->n_outputs, 3); i++)
        ifm_call_make(call, i, x->dtype, 3, batch_first ? last_batch_first : last);
    return TRUE;
}
