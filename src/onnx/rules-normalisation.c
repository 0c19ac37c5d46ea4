/* Normalisations: shapes and costs. */
#include <string.h>

#include "operators.h"

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

/* Statistics of the batch: mean, variance, normalise, scale, shift. Fixed statistics: one factor and one summand. */
gboolean ifm_cost_batch_normalization(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    return ifm_cost_per_output(call, ifm_node_int(call->node, "training_mode", 0) != 0 ? 5 : 2, cost);
}

/* The mean and the inverse deviation that it may make too keep the axes that it goes over, at 1. */
gboolean ifm_shape_layer_normalization(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *x = &call->inputs[0];
    gint64 dims[IFM_MAX_RANK];
    int axis;
    ifm_shape_same(call, error);
    if (!ifm_rule_own_axis(call, -1, &axis, error))
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
        ifm_call_make(call, i, ifm_rule_dtype(call, "stash_type", IFM_DTYPE_F32), x->rank, dims);
    return TRUE;
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
    return ifm_cost_per_output(call, factor + 1 + ifm_call_has(call, factor == 5 ? 4 : 3), cost);
}

/* Words [batch, length], segments, the tables of words, positions and segments, scale, bias. */
gboolean ifm_shape_embed_normalization(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *ids = &call->inputs[0], *words = ifm_call_input(call, 2);
    if (words == NULL)
        return ifm_error_refuse(error, "needs a third input, the table of words");
    if (call->node->n_outputs > 1)
        call->outputs[1].dtype = IFM_DTYPE_I32;
    if (ids->rank < 0 || words->rank < 0)
        return TRUE;
    if (!ifm_rule_rank(call, 0, 2, 2, error) || !ifm_rule_rank(call, 2, 2, 2, error))
        return FALSE;
    const gint64 dims[] = { ids->dims[0], ids->dims[1], words->dims[1] };
    ifm_call_shape(call, 0, 3, dims);
    ifm_call_shape(call, 1, 1, dims);
    return ifm_call_make(call, 2, words->dtype, 3, dims);
}

/* The sum of two or three embeddings, then a layer normalisation. */
gboolean ifm_cost_embed_normalization(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    return ifm_cost_per_output(call, 5 + 1 + ifm_call_has(call, 4), cost);
}

/* Square, sum over `size` channels, scale, add the bias, power, divide. */
gboolean ifm_cost_lrn(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    gint64 each = ifm_node_int(call->node, "size", 1);
    return each >= 1 && ifm_count_add(&each, 4) && ifm_cost_per_output(call, each, cost);
}
