/* Reductions, and losses: shapes. */
#include "operators.h"

/* reduce_axes: The first input without the axes marked, or with 1 in their place. */
static gboolean reduce_axes(const IfmOperatorCall *call, const gboolean *reduced)
{
    const IfmTensorInfo *x = &call->inputs[0];
    gboolean keep = ifm_node_int(call->node, "keepdims", 1) != 0;
    gint64 dims[IFM_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < x->rank; i++)
        if (!reduced[i])
            dims[rank++] = x->dims[i];
        else if (keep)
            dims[rank++] = 1;
    return ifm_call_shape(call, 0, rank, dims);
}

gboolean ifm_shape_reduce(const IfmOperatorCall *call, GError **error)
{
    const int rank = call->inputs[0].rank;
    gboolean reduced[IFM_MAX_RANK];
    int n;
    const gint64 *axes = ifm_rule_ints(call, 1, "axes", &n);
    if (!ifm_rule_mark_axes(axes, n, rank, reduced, error))
        return FALSE;
    gboolean all = n == 0 && ifm_node_int(call->node, "noop_with_empty_axes", 0) == 0;
    for (int i = 0; all && i < rank; i++)
        reduced[i] = TRUE;
    return reduce_axes(call, reduced);
}

gboolean ifm_shape_arg(const IfmOperatorCall *call, GError **error)
{
    gboolean reduced[IFM_MAX_RANK] = { FALSE };
    int axis;
    if (!ifm_rule_own_axis(call, 0, &axis, error))
        return FALSE;
    reduced[axis] = TRUE;
    return reduce_axes(call, reduced);
}

gboolean ifm_shape_top_k(const IfmOperatorCall *call, GError **error)
{
    IfmTensorInfo x = call->inputs[0];
    const IfmTensorInfo *given = ifm_call_input(call, 1);
    int axis;
    if (given != NULL && given->n_values != 1)
        return ifm_call_by_values(call);
    const gint64 k = given != NULL ? given->ints[0] : ifm_node_int(call->node, "k", -1);
    if (!ifm_rule_own_axis(call, -1, &axis, error))
        return FALSE;
    if (k < 0 || k > x.dims[axis])
        return ifm_error_refuse(error, "k is %" G_GINT64_FORMAT ", but axis %d of '%s' is %" G_GINT64_FORMAT, k, axis,
                                call->node->inputs[0], x.dims[axis]);
    x.dims[axis] = k;
    ifm_call_shape(call, 1, x.rank, x.dims);
    return ifm_call_shape(call, 0, x.rank, x.dims);
}

gboolean ifm_shape_loss(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *scores = &call->inputs[0], *labels = &call->inputs[1];
    gboolean is_each = g_str_equal(ifm_node_string(call->node, "reduction", "mean"), "none");
    ifm_call_make(call, 0, scores->dtype, is_each ? labels->rank : 0, labels->dims);
    return ifm_call_give(call, 1, scores); /* the logarithms of the probabilities */
}
