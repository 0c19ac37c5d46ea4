/* Shapes of element-wise operators and of those that move or describe data. */
#include <stdlib.h>
#include <string.h>

#include "operators.h"

/* --- helpers -------------------------------------------------------------------------------------------------------- */

gboolean ifm_fact_n_elements(const IfmFact *fact, gint64 *n)
{
    gboolean empty = FALSE;
    *n = 1;
    for (int i = 0; i < fact->rank; i++)
    {
        empty = empty || fact->dims[i] == 0;
        if (fact->dims[i] < 0 || __builtin_mul_overflow(*n, MAX(fact->dims[i], 1), n) || *n > (gint64)1 << 56)
            return FALSE;
    }
    if (empty)
        *n = 0;
    return TRUE;
}

/* The values of a tensor of few integers, where @tensor is one. */
static void read_values(const IfmTensor *tensor, IfmFact *fact)
{
    gint64 n = ifm_tensor_n_elements(tensor);
    if ((tensor->dtype != IFM_DTYPE_I64 && tensor->dtype != IFM_DTYPE_I32) || n > IFM_FACT_MAX_INTS)
        return;
    fact->n_ints = (int)n;
    for (gint64 i = 0; i < n; i++)
    {
        gint32 narrow;
        if (tensor->dtype == IFM_DTYPE_I64)
            memcpy(&fact->ints[i], (const char *)tensor->data + i * 8, 8);
        else
        {
            memcpy(&narrow, (const char *)tensor->data + i * 4, 4);
            fact->ints[i] = narrow;
        }
    }
}

IfmFact ifm_fact_from_tensor(const Onnx__TensorProto *proto)
{
    IfmFact fact = IFM_FACT_UNKNOWN;
    g_auto(IfmTensor) tensor = IFM_TENSOR_INIT;
    fact.dtype = (IfmDtype)proto->data_type;
    fact.rank = (int)proto->n_dims;
    if (proto->n_dims > 0)
        memcpy(fact.dims, proto->dims, proto->n_dims * sizeof fact.dims[0]);
    if (ifm_onnx_tensor_wrap(proto, &tensor))
        read_values(&tensor, &fact);
    return fact;
}

gboolean ifm_rule_axis(gint64 axis, int rank, int most, int *normal, GError **error)
{
    if (axis < -(gint64)rank || axis >= most)
        return IFM_RULE_FAIL(error, "axis %" G_GINT64_FORMAT " is not within %d to %d", axis, -rank, most - 1);
    *normal = (int)(axis < 0 ? axis + rank : axis);
    return TRUE;
}

gboolean ifm_rule_broadcast(IfmFact *into, const IfmFact *fact, GError **error)
{
    IfmFact result = IFM_FACT_UNKNOWN;
    result.dtype = into->dtype;
    result.rank = MAX(into->rank, fact->rank);
    for (int back = 1; back <= result.rank; back++)
    {
        gint64 a = back <= into->rank ? into->dims[into->rank - back] : 1;
        gint64 b = back <= fact->rank ? fact->dims[fact->rank - back] : 1;
        if (a != b && a != 1 && b != 1)
        {
            g_autofree char *shape_a = ifm_shape_to_string(into->rank, into->dims);
            g_autofree char *shape_b = ifm_shape_to_string(fact->rank, fact->dims);
            return IFM_RULE_FAIL(error, "%s and %s do not broadcast", shape_a, shape_b);
        }
        result.dims[result.rank - back] = a == 1 ? b : a;
    }
    *into = result;
    return TRUE;
}

/* axes_of: the axes of an operator: from its second input in newer versions, from an attribute in older ones. Returns: -1
 * where they are given but not known, else how many there are. */
static int axes_of(const IfmOperatorCall *call, gint64 *axes)
{
    gsize n;
    const gint64 *attribute = ifm_node_ints(call->node, "axes", &n);
    if (call->node->n_inputs > 1 && *call->node->inputs[1] != '\0')
    {
        const IfmFact *input = &call->inputs[1];
        if (input->n_ints > 0)
            memcpy(axes, input->ints, (gsize)MIN(input->n_ints, IFM_MAX_RANK) * sizeof *axes);
        return input->n_ints;
    }
    if (attribute == NULL)
        return 0;
    memcpy(axes, attribute, MIN(n, IFM_MAX_RANK) * sizeof *axes); /* more of them are refused, not read */
    return (int)MIN(n, G_MAXINT);
}

/* mark_axes: @marked: (out) [rank] which of the axes are named. */
static gboolean mark_axes(const gint64 *axes, int n, int rank, gboolean *marked, GError **error)
{
    memset(marked, 0, IFM_MAX_RANK * sizeof *marked);
    if (n > rank)
        return IFM_RULE_FAIL(error, "%d axes are named of only %d", n, rank);
    for (int i = 0; i < n; i++)
    {
        int axis;
        if (!ifm_rule_axis(axes[i], rank, rank, &axis, error))
            return FALSE;
        if (marked[axis])
            return IFM_RULE_FAIL(error, "axis %d is named twice", axis);
        marked[axis] = TRUE;
    }
    return TRUE;
}

/* --- element-wise --------------------------------------------------------------------------------------------------- */

gboolean ifm_shape_same(const IfmOperatorCall *call, GError **error)
{
    call->outputs[0] = call->inputs[0];
    if (!g_str_equal(call->node->op_type, "Identity"))
        call->outputs[0].n_ints = -1;
    return TRUE;
}

gboolean ifm_shape_dropout(const IfmOperatorCall *call, GError **error)
{
    ifm_shape_same(call, error);
    if (call->node->n_outputs > 1)
    {
        call->outputs[1] = call->outputs[0];
        if (call->opset >= 10) /* before, the mask was of the data's own type */
            call->outputs[1].dtype = IFM_DTYPE_BOOL;
    }
    return TRUE;
}

gboolean ifm_shape_cast(const IfmOperatorCall *call, GError **error)
{
    IfmFact *out = &call->outputs[0];
    *out = call->inputs[0];
    gint64 to = ifm_node_int(call->node, "to", 0);
    out->dtype = to > 0 && to < 64 ? (IfmDtype)to : IFM_DTYPE_UNDEFINED;
    if (out->dtype != IFM_DTYPE_I64 && out->dtype != IFM_DTYPE_I32)
        out->n_ints = -1;
    return TRUE;
}

/* broadcast_from: all inputs from @first on, broadcast together; unknown where one is. */
static gboolean broadcast_from(const IfmOperatorCall *call, gsize first, IfmFact *out, GError **error)
{
    IfmFact result = call->inputs[first];
    for (gsize i = first; i < call->node->n_inputs; i++)
        if (call->inputs[i].rank < 0)
            return TRUE;
    for (gsize i = first + 1; i < call->node->n_inputs; i++)
        if (!ifm_rule_broadcast(&result, &call->inputs[i], error))
        {
            g_prefix_error(error, "'%s': ", call->node->inputs[i]);
            return FALSE;
        }
    out->rank = result.rank;
    memcpy(out->dims, result.dims, sizeof out->dims);
    return TRUE;
}

gboolean ifm_shape_broadcast(const IfmOperatorCall *call, GError **error)
{
    call->outputs[0].dtype = call->inputs[0].dtype;
    if (call->opset >= 7)
        return broadcast_from(call, 0, &call->outputs[0], error);
    /* Before, only the second input was broadcast, along an axis of an attribute. */
    call->outputs[0].rank = call->inputs[0].rank;
    memcpy(call->outputs[0].dims, call->inputs[0].dims, sizeof call->inputs[0].dims);
    return TRUE;
}

gboolean ifm_shape_compare(const IfmOperatorCall *call, GError **error)
{
    gboolean ok = ifm_shape_broadcast(call, error);
    call->outputs[0].dtype = IFM_DTYPE_BOOL;
    return ok;
}

gboolean ifm_shape_where(const IfmOperatorCall *call, GError **error)
{
    call->outputs[0].dtype = call->node->n_inputs > 1 ? call->inputs[1].dtype : IFM_DTYPE_UNDEFINED;
    return broadcast_from(call, 0, &call->outputs[0], error);
}

gboolean ifm_shape_batch_normalization(const IfmOperatorCall *call, GError **error)
{
    const IfmFact *x = &call->inputs[0];
    for (gsize i = 1; i < call->node->n_inputs && x->rank >= 2; i++)
    {
        const IfmFact *fact = &call->inputs[i];
        if (fact->rank < 0 || (fact->rank == 1 && fact->dims[0] == x->dims[1]))
            continue;
        g_autofree char *shape = ifm_shape_to_string(fact->rank, fact->dims);
        return IFM_RULE_FAIL(error, "'%s' is %s, not [%" G_GINT64_FORMAT "], the channels of '%s'", call->node->inputs[i],
                             shape, x->dims[1], call->node->inputs[0]);
    }
    return ifm_shape_same(call, error);
}

/* --- reductions ----------------------------------------------------------------------------------------------------- */

gboolean ifm_shape_reduce(const IfmOperatorCall *call, GError **error)
{
    const IfmFact *x = &call->inputs[0];
    IfmFact *out = &call->outputs[0];
    gint64 axes[IFM_FACT_MAX_INTS];
    gboolean reduced[IFM_MAX_RANK], keep = ifm_node_int(call->node, "keepdims", 1) != 0;
    int n = axes_of(call, axes);
    out->dtype = x->dtype;
    if (x->rank < 0 || n < 0)
        return TRUE;
    if (!mark_axes(axes, n, x->rank, reduced, error))
        return FALSE;
    gboolean all = n == 0 && ifm_node_int(call->node, "noop_with_empty_axes", 0) == 0;
    out->rank = 0;
    for (int i = 0; i < x->rank; i++)
        if (!all && !reduced[i])
            out->dims[out->rank++] = x->dims[i];
        else if (keep)
            out->dims[out->rank++] = 1;
    return TRUE;
}

/* --- moving data ---------------------------------------------------------------------------------------------------- */

static gint64 product(const gint64 *dims, int from, int to)
{
    gint64 total = 1; /* of part of a shape whose whole was checked: no overflow, unless it is empty */
    for (int i = from; i < to; i++)
        total *= dims[i];
    return total;
}

gboolean ifm_shape_flatten(const IfmOperatorCall *call, GError **error)
{
    const IfmFact *x = &call->inputs[0];
    IfmFact *out = &call->outputs[0];
    int axis;
    out->dtype = x->dtype;
    if (x->rank < 0)
        return TRUE;
    if (!ifm_rule_axis(ifm_node_int(call->node, "axis", 1), x->rank, x->rank + 1, &axis, error))
        return FALSE;
    out->rank = 2;
    out->dims[0] = product(x->dims, 0, axis);
    out->dims[1] = product(x->dims, axis, x->rank);
    return TRUE;
}

/* wanted_shape: Reshape's: an input since opset 5, before that an attribute. Returns: NULL where it is not known. */
static const gint64 *wanted_shape(const IfmOperatorCall *call, gsize *n)
{
    if (call->node->n_inputs < 2)
        return ifm_node_ints(call->node, "shape", n);
    *n = call->inputs[1].n_ints >= 0 ? (gsize)call->inputs[1].n_ints : 0;
    return call->inputs[1].n_ints >= 0 ? call->inputs[1].ints : NULL;
}

static gboolean reshape_to(const IfmFact *x, const gint64 *wanted, int n, gboolean allow_zero, IfmFact *out, GError **error)
{
    int guessed = -1;
    gint64 have, rest;
    IfmFact known = { .rank = n };
    for (int i = 0; i < n; i++)
    {
        if (wanted[i] < -1 || (wanted[i] == -1 && guessed >= 0) || (wanted[i] == 0 && !allow_zero && i >= x->rank))
            return IFM_RULE_FAIL(error, "dimension %d of the new shape is %" G_GINT64_FORMAT, i, wanted[i]);
        known.dims[i] = wanted[i] == 0 && !allow_zero ? x->dims[i] : wanted[i] == -1 ? 1 : wanted[i];
        guessed = wanted[i] == -1 ? i : guessed;
    }
    if (!ifm_fact_n_elements(x, &have) || !ifm_fact_n_elements(&known, &rest))
        return IFM_RULE_FAIL(error, "the new shape is larger than any memory");
    if (guessed >= 0 && rest > 0)
    {
        known.dims[guessed] = have / rest;
        rest *= have / rest;
    }
    if (have != rest)
    {
        g_autofree char *from = ifm_shape_to_string(x->rank, x->dims), *to = ifm_shape_to_string(n, wanted);
        return IFM_RULE_FAIL(error, "%" G_GINT64_FORMAT " elements %s cannot take the shape %s", have, from, to);
    }
    out->rank = n;
    memcpy(out->dims, known.dims, sizeof out->dims);
    return TRUE;
}

gboolean ifm_shape_reshape(const IfmOperatorCall *call, GError **error)
{
    gsize n;
    const gint64 *wanted = wanted_shape(call, &n);
    call->outputs[0].dtype = call->inputs[0].dtype;
    if (wanted == NULL || call->inputs[0].rank < 0)
        return TRUE;
    if (n > IFM_MAX_RANK)
        return IFM_RULE_FAIL(error, "the new shape has %" G_GSIZE_FORMAT " dimensions, more than %d", n, IFM_MAX_RANK);
    if (!reshape_to(&call->inputs[0], wanted, (int)n, ifm_node_int(call->node, "allowzero", 0) != 0, &call->outputs[0],
                    error))
    {
        g_prefix_error(error, "'%s': ", call->node->inputs[0]);
        return FALSE;
    }
    return TRUE;
}

gboolean ifm_shape_transpose(const IfmOperatorCall *call, GError **error)
{
    const IfmFact *x = &call->inputs[0];
    IfmFact *out = &call->outputs[0];
    gboolean used[IFM_MAX_RANK];
    gsize n;
    const gint64 *perm = ifm_node_ints(call->node, "perm", &n);
    out->dtype = x->dtype;
    if (x->rank < 0)
        return TRUE;
    if (perm != NULL && n != (gsize)x->rank)
        return IFM_RULE_FAIL(error, "perm has %" G_GSIZE_FORMAT " axes, '%s' has %d", n, call->node->inputs[0], x->rank);
    if (perm != NULL && !mark_axes(perm, (int)n, x->rank, used, error))
        return FALSE;
    out->rank = x->rank;
    for (int i = 0; i < x->rank; i++)
    {
        gint64 from = perm != NULL ? perm[i] : x->rank - 1 - i;
        out->dims[i] = x->dims[from < 0 ? from + x->rank : from];
    }
    return TRUE;
}

static gboolean concat_dims(const IfmOperatorCall *call, int axis, IfmFact *out, GError **error)
{
    for (gsize i = 1; i < call->node->n_inputs; i++)
    {
        const IfmFact *next = &call->inputs[i];
        gboolean fits = next->rank == out->rank;
        for (int d = 0; fits && d < out->rank; d++)
            fits = d == axis || next->dims[d] == out->dims[d];
        if (!fits)
        {
            g_autofree char *a = ifm_shape_to_string(out->rank, out->dims),
                            *b = ifm_shape_to_string(next->rank, next->dims);
            return IFM_RULE_FAIL(error, "'%s' %s does not join %s on axis %d", call->node->inputs[i], b, a, axis);
        }
        out->dims[axis] += next->dims[axis]; /* each is at most 2^56, and the sum is checked by the caller */
        if (out->dims[axis] > (gint64)1 << 56)
            return IFM_RULE_FAIL(error, "the sum is larger than any memory");
    }
    return TRUE;
}

static void concat_values(const IfmOperatorCall *call, IfmFact *out)
{
    int n = 0;
    for (gsize i = 0; i < call->node->n_inputs; i++)
    {
        int more = call->inputs[i].n_ints;
        if (more < 0 || n + more > IFM_FACT_MAX_INTS)
            return;
        memcpy(out->ints + n, call->inputs[i].ints, (gsize)more * sizeof out->ints[0]);
        n += more;
    }
    out->n_ints = n;
}

gboolean ifm_shape_concat(const IfmOperatorCall *call, GError **error)
{
    IfmFact result = call->inputs[0];
    int axis;
    call->outputs[0].dtype = result.dtype;
    for (gsize i = 0; i < call->node->n_inputs; i++)
        if (call->inputs[i].rank < 0)
            return TRUE;
    if (!ifm_rule_axis(ifm_node_int(call->node, "axis", 1), result.rank, result.rank, &axis, error) ||
        !concat_dims(call, axis, &result, error))
        return FALSE;
    result.n_ints = -1;
    if (result.rank == 1)
        concat_values(call, &result);
    call->outputs[0] = result;
    return TRUE;
}

gboolean ifm_shape_squeeze(const IfmOperatorCall *call, GError **error)
{
    const IfmFact *x = &call->inputs[0];
    IfmFact *out = &call->outputs[0];
    gint64 axes[IFM_FACT_MAX_INTS];
    gboolean marked[IFM_MAX_RANK];
    int n = axes_of(call, axes);
    out->dtype = x->dtype;
    if (x->rank < 0 || n < 0)
        return TRUE;
    if (!mark_axes(axes, n, x->rank, marked, error))
        return FALSE;
    IfmFact result = *x;
    result.rank = 0;
    for (int i = 0; i < x->rank; i++)
    {
        if (marked[i] && x->dims[i] != 1)
            return IFM_RULE_FAIL(error, "'%s': axis %d is %" G_GINT64_FORMAT ", not 1", call->node->inputs[0], i,
                                 x->dims[i]);
        if (n > 0 ? !marked[i] : x->dims[i] != 1)
            result.dims[result.rank++] = x->dims[i];
    }
    *out = result;
    return TRUE;
}

gboolean ifm_shape_unsqueeze(const IfmOperatorCall *call, GError **error)
{
    const IfmFact *x = &call->inputs[0];
    IfmFact *out = &call->outputs[0];
    gint64 axes[IFM_FACT_MAX_INTS];
    gboolean added[IFM_MAX_RANK];
    int n = axes_of(call, axes), from = 0;
    out->dtype = x->dtype;
    if (x->rank < 0 || n < 0)
        return TRUE;
    if (n > IFM_MAX_RANK - x->rank)
        return IFM_RULE_FAIL(error, "its output has more than %d dimensions", IFM_MAX_RANK);
    if (!mark_axes(axes, n, x->rank + n, added, error))
        return FALSE;
    IfmFact result = *x;
    result.rank = x->rank + n;
    for (int i = 0; i < result.rank; i++)
        result.dims[i] = added[i] ? 1 : x->dims[from++];
    *out = result;
    return TRUE;
}

/* gather_values: the values of few integers, where data and indices are known; indices may count from the end. */
static void gather_values(const IfmFact *data, const IfmFact *indices, IfmFact *out)
{
    if (data->rank != 1 || data->n_ints < 0 || indices->n_ints < 0)
        return;
    for (int i = 0; i < indices->n_ints; i++)
    {
        gint64 index = indices->ints[i] < 0 ? indices->ints[i] + data->n_ints : indices->ints[i];
        if (index < 0 || index >= data->n_ints)
            return;
        out->ints[i] = data->ints[index];
    }
    out->n_ints = indices->n_ints;
}

gboolean ifm_shape_gather(const IfmOperatorCall *call, GError **error)
{
    const IfmFact *data = &call->inputs[0], *indices = &call->inputs[1];
    IfmFact *out = &call->outputs[0];
    int axis;
    out->dtype = data->dtype;
    if (data->rank < 0 || indices->rank < 0)
        return TRUE;
    if (!ifm_rule_axis(ifm_node_int(call->node, "axis", 0), data->rank, data->rank, &axis, error))
        return FALSE;
    if (data->rank - 1 + indices->rank > IFM_MAX_RANK)
        return IFM_RULE_FAIL(error, "its output has more than %d dimensions", IFM_MAX_RANK);
    out->rank = 0;
    for (int i = 0; i < axis; i++)
        out->dims[out->rank++] = data->dims[i];
    for (int i = 0; i < indices->rank; i++)
        out->dims[out->rank++] = indices->dims[i];
    for (int i = axis + 1; i < data->rank; i++)
        out->dims[out->rank++] = data->dims[i];
    gather_values(data, indices, out);
    return TRUE;
}

/* --- making data ---------------------------------------------------------------------------------------------------- */

gboolean ifm_shape_constant(const IfmOperatorCall *call, GError **error)
{
    IfmFact *out = &call->outputs[0];
    const Onnx__AttributeProto *value = ifm_onnx_attribute(call->node, "value");
    const Onnx__AttributeProto *one = ifm_onnx_attribute(call->node, "value_int");
    const Onnx__AttributeProto *many = ifm_onnx_attribute(call->node, "value_ints");
    if (value != NULL && value->t != NULL)
        *out = ifm_fact_from_tensor(value->t);
    else if (one != NULL)
        *out = (IfmFact){ .dtype = IFM_DTYPE_I64, .n_ints = 1, .ints = { one->i } };
    else if (many != NULL)
    {
        *out = (IfmFact){ .dtype = IFM_DTYPE_I64, .rank = 1, .dims = { (gint64)many->n_ints }, .n_ints = -1 };
        if (many->n_ints <= IFM_FACT_MAX_INTS)
        {
            out->n_ints = (int)many->n_ints;
            if (many->n_ints > 0)
                memcpy(out->ints, many->ints, many->n_ints * sizeof out->ints[0]);
        }
    }
    else if (ifm_onnx_attribute(call->node, "value_float") != NULL)
        *out = (IfmFact){ .dtype = IFM_DTYPE_F32, .n_ints = -1 };
    return TRUE;
}

gboolean ifm_shape_constant_of_shape(const IfmOperatorCall *call, GError **error)
{
    const IfmFact *shape = &call->inputs[0];
    IfmFact *out = &call->outputs[0];
    const Onnx__AttributeProto *value = ifm_onnx_attribute(call->node, "value");
    out->dtype = value != NULL && value->t != NULL ? (IfmDtype)value->t->data_type : IFM_DTYPE_F32;
    if (shape->n_ints < 0)
        return TRUE;
    if (shape->n_ints > IFM_MAX_RANK)
        return IFM_RULE_FAIL(error, "'%s' has %d dimensions, more than %d", call->node->inputs[0], shape->n_ints,
                             IFM_MAX_RANK);
    for (int i = 0; i < shape->n_ints; i++)
        if (shape->ints[i] < 0)
            return IFM_RULE_FAIL(error, "'%s': dimension %d is %" G_GINT64_FORMAT, call->node->inputs[0], i,
                                 shape->ints[i]);
    out->rank = shape->n_ints;
    memcpy(out->dims, shape->ints, (gsize)shape->n_ints * sizeof out->dims[0]);
    return TRUE;
}

gboolean ifm_shape_shape(const IfmOperatorCall *call, GError **error)
{
    const IfmFact *x = &call->inputs[0];
    IfmFact *out = &call->outputs[0];
    out->dtype = IFM_DTYPE_I64;
    if (x->rank < 0)
        return TRUE;
    gint64 start = ifm_node_int(call->node, "start", 0), end = ifm_node_int(call->node, "end", x->rank);
    start = CLAMP(start < 0 ? start + x->rank : start, 0, x->rank);
    end = CLAMP(end < 0 ? end + x->rank : end, start, x->rank);
    out->rank = 1;
    out->dims[0] = end - start;
    out->n_ints = (int)(end - start);
    memcpy(out->ints, x->dims + start, (gsize)(end - start) * sizeof out->ints[0]);
    return TRUE;
}
