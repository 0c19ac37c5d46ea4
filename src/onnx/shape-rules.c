/* Shapes of element-wise operators, of normalisations, of quantisation and of reductions. */
#include <string.h>

#include "operators.h"

/* --- element-wise ------------------------------------------------------------------------------------------------- */

gboolean ifm_shape_same(const IfmOperatorCall *call, GError **error)
{
    return ifm_call_give(call, 0, &call->inputs[0]);
}

gboolean ifm_shape_same_bool(const IfmOperatorCall *call, GError **error)
{
    return ifm_call_make(call, 0, IFM_DTYPE_BOOL, call->inputs[0].rank, call->inputs[0].dims);
}

/* type_named: the type that an attribute names; @fallback where there is none. */
static IfmDtype type_named(const IfmNode *node, const char *attribute, IfmDtype fallback)
{
    gint64 type = ifm_node_int(node, attribute, 0);
    return type <= 0 ? fallback : type < 64 ? (IfmDtype)type : IFM_DTYPE_UNDEFINED;
}

gboolean ifm_shape_cast(const IfmOperatorCall *call, GError **error)
{
    return ifm_call_make(call, 0, type_named(call->node, "to", IFM_DTYPE_UNDEFINED), call->inputs[0].rank,
                         call->inputs[0].dims);
}

gboolean ifm_shape_cast_like(const IfmOperatorCall *call, GError **error)
{
    return ifm_call_make(call, 0, call->inputs[1].dtype, call->inputs[0].rank, call->inputs[0].dims);
}

/* The input's shape, of the type that the attribute names where it does. */
gboolean ifm_shape_like(const IfmOperatorCall *call, GError **error)
{
    return ifm_call_make(call, 0, type_named(call->node, "dtype", call->inputs[0].dtype), call->inputs[0].rank,
                         call->inputs[0].dims);
}

gboolean ifm_shape_dropout(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *x = &call->inputs[0];
    ifm_call_give(call, 0, x);
    /* Before version 10 the mask was of the data's own type. */
    return ifm_call_make(call, 1, call->opset >= 10 ? IFM_DTYPE_BOOL : x->dtype, x->rank, x->dims);
}

/* broadcast_all: all inputs, broadcast together; unknown where one is. */
static gboolean broadcast_all(const IfmOperatorCall *call, IfmDtype dtype, GError **error)
{
    IfmTensorInfo result = call->inputs[0];
    call->outputs[0].dtype = dtype;
    for (gsize i = 0; i < call->node->n_inputs; i++)
        if (call->inputs[i].rank < 0)
            return TRUE;
    for (gsize i = 1; i < call->node->n_inputs; i++)
        if (!ifm_rule_broadcast(&result, &call->inputs[i], error))
        {
            g_prefix_error(error, "'%s': ", call->node->inputs[i]);
            return FALSE;
        }
    return ifm_call_make(call, 0, dtype, result.rank, result.dims);
}

gboolean ifm_shape_broadcast(const IfmOperatorCall *call, GError **error)
{
    if (call->opset >= 7)
        return broadcast_all(call, call->inputs[0].dtype, error);
    return ifm_shape_same(call, error); /* before, only the second input was broadcast, along an axis of an attribute */
}

gboolean ifm_shape_compare(const IfmOperatorCall *call, GError **error)
{
    if (call->opset >= 7)
        return broadcast_all(call, IFM_DTYPE_BOOL, error);
    return ifm_shape_same_bool(call, error);
}

gboolean ifm_shape_where(const IfmOperatorCall *call, GError **error)
{
    return broadcast_all(call, call->inputs[1].dtype, error);
}

/* --- normalisation ------------------------------------------------------------------------------------------------ */

gboolean ifm_shape_batch_normalization(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *x = &call->inputs[0];
    for (gsize i = 1; i < call->node->n_inputs && x->rank >= 2; i++)
    {
        const IfmTensorInfo *fact = &call->inputs[i];
        if (fact->rank < 0 || (fact->rank == 1 && fact->dims[0] == x->dims[1]))
            continue;
        g_autofree char *shape = ifm_fact_shape(fact);
        return ifm_error_refuse(error, "'%s' is %s, not [%" G_GINT64_FORMAT "], the channels of '%s'",
                                call->node->inputs[i], shape, x->dims[1], call->node->inputs[0]);
    }
    for (gsize i = 1; i < call->node->n_outputs; i++) /* in training: what the statistics became */
        ifm_call_give(call, i, &call->inputs[3]);
    return ifm_shape_same(call, error);
}

/* The mean and the inverse deviation that it may make too keep the axes that it goes over, at 1. */
gboolean ifm_shape_layer_normalization(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *x = &call->inputs[0];
    gint64 dims[IFM_MAX_RANK];
    int axis;
    ifm_shape_same(call, error);
    if (x->rank < 0)
        return TRUE;
    if (!ifm_rule_axis(ifm_node_int(call->node, "axis", -1), x->rank, x->rank, &axis, error))
        return FALSE;
    for (gsize i = 1; i < MIN(call->node->n_inputs, 3); i++)
    {
        IfmTensorInfo scaled = *x;
        if (!ifm_call_has(call, i) || call->inputs[i].rank < 0)
            continue;
        if (ifm_rule_broadcast(&scaled, &call->inputs[i], NULL) && scaled.rank == x->rank &&
            memcmp(scaled.dims, x->dims, (gsize)x->rank * sizeof x->dims[0]) == 0)
            continue;
        g_autofree char *shape = ifm_fact_shape(&call->inputs[i]);
        g_autofree char *shape_x = ifm_fact_shape(x);
        return ifm_error_refuse(error, "'%s' %s does not broadcast to '%s' %s", call->node->inputs[i], shape,
                                call->node->inputs[0], shape_x);
    }
    for (int i = 0; i < x->rank; i++)
        dims[i] = i < axis ? x->dims[i] : 1;
    for (gsize i = 1; i < MIN(call->node->n_outputs, 3); i++)
        ifm_call_make(call, i, type_named(call->node, "stash_type", IFM_DTYPE_F32), x->rank, dims);
    return TRUE;
}

/* --- numbers and their quantised form ----------------------------------------------------------------------------- */

/* The output's type is the zero point's, else the attribute's (since version 21), else u8. */
gboolean ifm_shape_quantize(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *x = &call->inputs[0], *zero = ifm_call_input(call, 2);
    gint64 named = ifm_node_int(call->node, "output_dtype", 0);
    IfmDtype dtype = zero != NULL ? zero->dtype : named > 0 && named < 64 ? (IfmDtype)named : IFM_DTYPE_U8;
    return ifm_call_make(call, 0, dtype, x->rank, x->dims);
}

gboolean ifm_shape_dynamic_quantize(const IfmOperatorCall *call, GError **error)
{
    ifm_call_make(call, 0, IFM_DTYPE_U8, call->inputs[0].rank, call->inputs[0].dims);
    ifm_call_make(call, 1, IFM_DTYPE_F32, 0, NULL);
    return ifm_call_make(call, 2, IFM_DTYPE_U8, 0, NULL);
}

/* --- reductions --------------------------------------------------------------------------------------------------- */

/* reduce_axes: @x without the axes named, or with 1 in their place. */
static void reduce_axes(const IfmOperatorCall *call, const gboolean *reduced, IfmDtype dtype)
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
    ifm_call_make(call, 0, dtype, rank, dims);
}

gboolean ifm_shape_reduce(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *x = &call->inputs[0];
    gint64 axes[IFM_FACT_MAX_VALUES];
    gboolean reduced[IFM_MAX_RANK];
    int n = ifm_rule_axes(call, 1, axes);
    if (n < 0)
        return ifm_call_by_values(call);
    if (!ifm_rule_mark_axes(axes, n, x->rank, reduced, error))
        return FALSE;
    gboolean all = n == 0 && ifm_node_int(call->node, "noop_with_empty_axes", 0) == 0;
    for (int i = 0; all && i < x->rank; i++)
        reduced[i] = TRUE;
    reduce_axes(call, reduced, x->dtype);
    return TRUE;
}

gboolean ifm_shape_arg(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *x = &call->inputs[0];
    gboolean reduced[IFM_MAX_RANK] = { FALSE };
    int axis;
    call->outputs[0].dtype = IFM_DTYPE_I64;
    if (x->rank < 0)
        return TRUE;
    if (!ifm_rule_axis(ifm_node_int(call->node, "axis", 0), x->rank, x->rank, &axis, error))
        return FALSE;
    reduced[axis] = TRUE;
    reduce_axes(call, reduced, IFM_DTYPE_I64);
    return TRUE;
}

gboolean ifm_shape_top_k(const IfmOperatorCall *call, GError **error)
{
    IfmTensorInfo x = call->inputs[0];
    const IfmTensorInfo *given = ifm_call_input(call, 1);
    gint64 k = ifm_node_int(call->node, "k", -1);
    int axis;
    call->outputs[0].dtype = x.dtype;
    if (call->node->n_outputs > 1)
        call->outputs[1].dtype = IFM_DTYPE_I64;
    if (x.rank < 0)
        return TRUE;
    if (given != NULL && (ifm_fact_ints(given) == NULL || given->n_values != 1))
    {
        return ifm_call_by_values(call);
    }
    k = given != NULL ? given->ints[0] : k;
    if (!ifm_rule_axis(ifm_node_int(call->node, "axis", -1), x.rank, x.rank, &axis, error))
        return FALSE;
    if (k < 0 || k > x.dims[axis])
        return ifm_error_refuse(error, "k is %" G_GINT64_FORMAT ", but axis %d of '%s' is %" G_GINT64_FORMAT, k, axis,
                                call->node->inputs[0], x.dims[axis]);
    x.dims[axis] = k;
    ifm_call_give(call, 0, &x);
    return ifm_call_make(call, 1, IFM_DTYPE_I64, x.rank, x.dims);
}

gboolean ifm_shape_det(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *x = &call->inputs[0];
    if (!ifm_rule_rank(call, 0, 2, IFM_MAX_RANK, error))
        return FALSE;
    return ifm_call_make(call, 0, x->dtype, x->rank < 0 ? -1 : x->rank - 2, x->dims);
}

gboolean ifm_shape_loss(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *scores = &call->inputs[0], *labels = &call->inputs[1];
    gboolean is_each = g_str_equal(ifm_node_string(call->node, "reduction", "mean"), "none");
    ifm_call_make(call, 0, scores->dtype, is_each ? labels->rank : 0, labels->dims);
    return ifm_call_give(call, 1, scores); /* the logarithms of the probabilities */
}
