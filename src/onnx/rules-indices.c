/* Operators that read or write by index: shapes, costs, values. */
#include <string.h>

#include "operators.h"

static gboolean fail_pair(GError **error, const IfmOperatorCall *call, gsize a, gsize b, const char *what)
{
    const IfmTensorInfo *one = &call->inputs[a], *other = &call->inputs[b];
    g_autofree char *shape_one = ifm_fact_shape(one);
    g_autofree char *shape_other = ifm_fact_shape(other);
    return ifm_error_refuse(error, "'%s' %s %s '%s' %s", call->node->inputs[a], shape_one, what, call->node->inputs[b],
                            shape_other);
}

gboolean ifm_shape_gather(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *data = &call->inputs[0], *indices = &call->inputs[1];
    IfmTensorInfo *out = &call->outputs[0];
    int axis;
    if (!ifm_rule_own_axis(call, 0, &axis, error) || !ifm_rule_check_rank(data->rank - 1 + indices->rank, error))
        return FALSE;
    out->rank = 0;
    for (int i = 0; i < axis; i++)
        out->dims[out->rank++] = data->dims[i];
    for (int i = 0; i < indices->rank; i++)
        out->dims[out->rank++] = indices->dims[i];
    for (int i = axis + 1; i < data->rank; i++)
        out->dims[out->rank++] = data->dims[i];
    return TRUE;
}

/* Indices may count from the end. */
void ifm_values_gather(const IfmOperatorCall *call)
{
    const IfmTensorInfo *data = &call->inputs[0], *indices = &call->inputs[1];
    if (!ifm_values_known(call, 2) || data->rank != 1 || indices->values != IFM_VALUES_INTS)
        return;
    for (int i = 0; i < indices->n_values; i++)
    {
        gint64 index = indices->ints[i] < 0 ? indices->ints[i] + data->n_values : indices->ints[i];
        if (index < 0 || index >= data->n_values)
            return;
        ifm_values_copy(call, i, data, (int)index);
    }
    ifm_values_done(call, data->values);
}

/* --- one index an element --------------------------------------------------------------------------------------------- */

/* fits_but_axis: Whether indices stay within the data on every axis but the one they index. */
static gboolean fits_but_axis(const IfmTensorInfo *data, const IfmTensorInfo *indices, int axis)
{
    gboolean fits = data->rank == indices->rank;
    for (int i = 0; fits && i < data->rank; i++)
        fits = i == axis || indices->dims[i] <= data->dims[i];
    return fits;
}

static gboolean check_elements(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *data = &call->inputs[0], *indices = &call->inputs[1];
    int axis;
    return ifm_rule_own_axis(call, 0, &axis, error) &&
           (fits_but_axis(data, indices, axis) || fail_pair(error, call, 1, 0, "does not index"));
}

gboolean ifm_shape_gather_elements(const IfmOperatorCall *call, GError **error)
{
    return check_elements(call, error) && ifm_call_shape(call, 0, call->inputs[1].rank, call->inputs[1].dims);
}

gboolean ifm_shape_scatter_elements(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *indices = &call->inputs[1], *updates = &call->inputs[2];
    ifm_shape_same(call, error);
    if (call->inputs[0].rank < 0 || indices->rank < 0)
        return TRUE;
    return check_elements(call, error) && (updates->rank < 0 || ifm_fact_is_alike(indices, updates) ||
                                           fail_pair(error, call, 2, 1, "is not of the shape of"));
}

/* A replacement is data movement. A reduction (add, multiply, compare) counts one FLOP per element of the updates. */
gboolean ifm_cost_scatter(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    if (g_str_equal(ifm_node_string(call->node, "reduction", "none"), "none"))
        return TRUE;
    return ifm_fact_n_elements(&call->inputs[2], &cost->flop) && ifm_count_times(&cost->flop, factor);
}

/* --- one index a slice ------------------------------------------------------------------------------------------------ */

/*
 * slices_of: What the indices of GatherND and ScatterND take from the data: all axes of the indices but the last, which
 * holds an index tuple, then the axes of the data that the tuple leaves.
 */
static gboolean slices_of(const IfmOperatorCall *call, int batch, IfmTensorInfo *slices, GError **error)
{
    const IfmTensorInfo *data = &call->inputs[0], *indices = &call->inputs[1];
    if (data->rank < 1 || indices->rank < 1 || batch < 0 || batch >= MIN(data->rank, indices->rank))
        return ifm_error_refuse(error, "'%s' and '%s' need more dimensions than %d", call->node->inputs[0],
                                call->node->inputs[1], MAX(batch, 0));
    gint64 tuple = indices->dims[indices->rank - 1];
    if (tuple > data->rank - batch)
        return fail_pair(error, call, 1, 0, "has longer index tuples than there are dimensions in");
    for (int i = 0; i < batch; i++)
        if (data->dims[i] != indices->dims[i])
            return fail_pair(error, call, 1, 0, "is not in as many batches as");
    int left = data->rank - batch - (int)tuple;
    if (!ifm_rule_check_rank(indices->rank - 1 + left, error))
        return FALSE;
    *slices = (IfmTensorInfo){ .dtype = data->dtype, .rank = indices->rank - 1 + left };
    memcpy(slices->dims, indices->dims, (gsize)(indices->rank - 1) * sizeof slices->dims[0]);
    memcpy(slices->dims + indices->rank - 1, data->dims + data->rank - left, (gsize)left * sizeof slices->dims[0]);
    return TRUE;
}

gboolean ifm_shape_gather_nd(const IfmOperatorCall *call, GError **error)
{
    gint64 batch = ifm_node_int(call->node, "batch_dims", 0);
    return slices_of(call, (int)CLAMP(batch, -1, IFM_MAX_RANK), &call->outputs[0], error);
}

gboolean ifm_shape_scatter_nd(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *updates = &call->inputs[2];
    IfmTensorInfo slices;
    ifm_shape_same(call, error);
    if (call->inputs[0].rank < 0 || call->inputs[1].rank < 0)
        return TRUE;
    if (!slices_of(call, 0, &slices, error))
        return FALSE;
    if (updates->rank < 0 || ifm_fact_is_alike(updates, &slices))
        return TRUE;
    g_autofree char *found = ifm_fact_shape(updates);
    g_autofree char *right = ifm_fact_shape(&slices);
    return ifm_error_refuse(error, "'%s' is %s, but '%s' indexes slices of '%s' that make %s", call->node->inputs[2], found,
                            call->node->inputs[1], call->node->inputs[0], right);
}
