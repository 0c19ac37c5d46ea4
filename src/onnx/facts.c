/* The known facts of one tensor, and helpers of the rules. */
#include <string.h>

#include "operators.h"

gboolean ifm_fact_n_elements(const IfmTensorInfo *fact, gint64 *n)
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

gboolean ifm_fact_is_alike(const IfmTensorInfo *a, const IfmTensorInfo *b)
{
    return a->rank == b->rank && (a->rank <= 0 || memcmp(a->dims, b->dims, (gsize)a->rank * sizeof a->dims[0]) == 0);
}

gboolean ifm_fact_n_bytes(const IfmTensorInfo *fact, gint64 *n)
{
    guint bits = ifm_onnx_type_bits((gint)fact->dtype);
    if (fact->rank < 0 || bits == 0 || !ifm_fact_n_elements(fact, n))
        return FALSE;
    *n = bits < 8 ? (*n * bits + 7) / 8 : *n * (bits / 8); /* 2^56 elements of at most 16 bytes */
    return TRUE;
}

static void read_values(const IfmTensor *tensor, gint64 n, IfmTensorInfo *fact)
{
    gboolean is_real = tensor->dtype == IFM_DTYPE_F32 || tensor->dtype == IFM_DTYPE_F64;
    for (gint64 i = 0; i < n; i++)
    {
        const char *at = (const char *)tensor->data + i * (gint64)ifm_dtype_size_bytes(tensor->dtype);
        gint32 word;
        float single;
        switch (tensor->dtype)
        {
        case IFM_DTYPE_I64:
        case IFM_DTYPE_F64:
            memcpy(&fact->ints[i], at, 8); /* a real is as large */
            break;
        case IFM_DTYPE_I32:
            memcpy(&word, at, 4);
            fact->ints[i] = word;
            break;
        case IFM_DTYPE_F32:
            memcpy(&single, at, 4);
            fact->reals[i] = (double)single;
            break;
        case IFM_DTYPE_BOOL:
        case IFM_DTYPE_U8:
            fact->ints[i] = *(const guint8 *)at;
            break;
        case IFM_DTYPE_I8:
            fact->ints[i] = *(const gint8 *)at;
            break;
        default:
            return;
        }
    }
    fact->values = is_real ? IFM_VALUES_REALS : IFM_VALUES_INTS;
    fact->n_values = (int)n;
}

IfmTensorInfo ifm_fact_from_tensor(const Onnx__TensorProto *proto)
{
    IfmTensorInfo fact; /* most weights have no values to follow, so the array is not initialised */
    g_auto(IfmTensor) tensor = IFM_TENSOR_INIT;
    gint64 n;
    fact.dtype = (IfmDtype)proto->data_type;
    fact.rank = (int)proto->n_dims;
    fact.values = IFM_VALUES_UNKNOWN;
    fact.n_values = 0;
    if (proto->n_dims > 0)
        memcpy(fact.dims, proto->dims, proto->n_dims * sizeof fact.dims[0]);
    if (ifm_fact_n_elements(&fact, &n) && n <= IFM_FACT_MAX_VALUES && ifm_onnx_tensor_wrap(proto, &tensor))
        read_values(&tensor, n, &fact);
    return fact;
}

void ifm_fact_take_values(IfmTensorInfo *fact, const IfmTensor *tensor)
{
    gint64 n;
    if (ifm_fact_n_elements(fact, &n) && n <= IFM_FACT_MAX_VALUES)
        read_values(tensor, n, fact);
}

/* --- a call's tensors --------------------------------------------------------------------------------------------- */

gboolean ifm_call_has(const IfmOperatorCall *call, gsize input)
{
    return call->node->n_inputs > input && *call->node->inputs[input] != '\0';
}

const IfmTensorInfo *ifm_call_input(const IfmOperatorCall *call, gsize input)
{
    return ifm_call_has(call, input) ? &call->inputs[input] : NULL;
}

gboolean ifm_call_make(const IfmOperatorCall *call, gsize output, IfmDtype dtype, int rank, const gint64 *dims)
{
    if (call->node->n_outputs > output)
        call->outputs[output].dtype = dtype;
    return ifm_call_shape(call, output, rank, dims);
}

gboolean ifm_call_shape(const IfmOperatorCall *call, gsize output, int rank, const gint64 *dims)
{
    if (call->node->n_outputs <= output)
        return TRUE;
    IfmTensorInfo *out = &call->outputs[output];
    out->rank = rank;
    out->values = IFM_VALUES_UNKNOWN;
    if (rank > 0)
        memcpy(out->dims, dims, (gsize)rank * sizeof out->dims[0]);
    return TRUE;
}

/* --- helpers of rules --------------------------------------------------------------------------------------------- */

gboolean ifm_rule_axis(gint64 axis, int rank, int max, int *normal, GError **error)
{
    if (axis < -(gint64)rank || axis >= max)
        return ifm_error_refuse(error, "axis %" G_GINT64_FORMAT " is not within %d to %d", axis, -rank, max - 1);
    *normal = (int)(axis < 0 ? axis + rank : axis);
    return TRUE;
}

gboolean ifm_rule_own_axis(const IfmOperatorCall *call, gint64 fallback, int *normal, GError **error)
{
    const int rank = call->inputs[0].rank;
    return ifm_rule_axis(ifm_node_int(call->node, "axis", fallback), rank, rank, normal, error);
}

gboolean ifm_rule_check_rank(int rank, GError **error)
{
    return rank <= IFM_MAX_RANK || ifm_error_refuse(error, "its output has more than %d dimensions", IFM_MAX_RANK);
}

IfmDtype ifm_rule_dtype(const IfmOperatorCall *call, const char *attribute, IfmDtype fallback)
{
    gint64 type = ifm_node_int(call->node, attribute, 0);
    return type <= 0 ? fallback : type < 64 ? (IfmDtype)type : IFM_DTYPE_UNDEFINED;
}

gboolean ifm_rule_broadcast(IfmTensorInfo *into, const IfmTensorInfo *fact, GError **error)
{
    IfmTensorInfo result = IFM_FACT_UNKNOWN;
    result.dtype = into->dtype;
    result.rank = MAX(into->rank, fact->rank);
    for (int back = 1; back <= result.rank; back++)
    {
        gint64 a = back <= into->rank ? into->dims[into->rank - back] : 1;
        gint64 b = back <= fact->rank ? fact->dims[fact->rank - back] : 1;
        if (a != b && a != 1 && b != 1)
        {
            g_autofree char *shape_a = ifm_fact_shape(into);
            g_autofree char *shape_b = ifm_fact_shape(fact);
            return ifm_error_refuse(error, "%s and %s do not broadcast", shape_a, shape_b);
        }
        result.dims[result.rank - back] = a == 1 ? b : a;
    }
    *into = result;
    return TRUE;
}

gboolean ifm_rule_mark_axes(const gint64 *axes, int n, int rank, gboolean *marked, GError **error)
{
    memset(marked, 0, IFM_MAX_RANK * sizeof *marked);
    if (n > rank)
        return ifm_error_refuse(error, "%d axes are named of only %d", n, rank);
    for (int i = 0; i < n; i++)
    {
        int axis = 0;
        if (!ifm_rule_axis(axes[i], rank, rank, &axis, error))
            return FALSE;
        if (marked[axis])
            return ifm_error_refuse(error, "axis %d is named twice", axis);
        marked[axis] = TRUE;
    }
    return TRUE;
}

gboolean ifm_rule_place_axes(const gint64 *axes, int n, int rank, int *places, GError **error)
{
    gboolean marked[IFM_MAX_RANK];
    if (axes != NULL && !ifm_rule_mark_axes(axes, n, rank, marked, error))
        return FALSE;
    for (int i = 0; i < n; i++)
        places[i] = axes == NULL ? i : (int)axes[i] + (axes[i] < 0 ? rank : 0);
    return TRUE;
}

gboolean ifm_rule_dims(const IfmOperatorCall *call, gsize input, gint64 *dims, GError **error)
{
    const IfmTensorInfo *shape = &call->inputs[input];
    if (shape->n_values > IFM_MAX_RANK)
        return ifm_error_refuse(error, "'%s' has %d dimensions, more than %d", call->node->inputs[input], shape->n_values,
                                IFM_MAX_RANK);
    for (int i = 0; i < shape->n_values; i++)
    {
        dims[i] = shape->ints[i];
        if (dims[i] < 0)
            return ifm_error_refuse(error, "'%s': dimension %d is %" G_GINT64_FORMAT, call->node->inputs[input], i,
                                    dims[i]);
    }
    return TRUE;
}

const gint64 *ifm_rule_ints(const IfmOperatorCall *call, gsize input, const char *attribute, int *n)
{
    const IfmTensorInfo *given = ifm_call_input(call, input);
    gsize n_found = 0;
    const gint64 *found = NULL;
    if (given != NULL)
    {
        found = ifm_fact_ints(given);
        n_found = found != NULL ? (gsize)given->n_values : 0;
    }
    else if (attribute != NULL)
        found = ifm_node_ints(call->node, attribute, &n_found);
    *n = (int)MIN(n_found, G_MAXINT);
    return found;
}

gboolean ifm_rule_rank(const IfmOperatorCall *call, gsize input, int min, int max, GError **error)
{
    const IfmTensorInfo *fact = &call->inputs[input];
    if (fact->rank < 0 || (fact->rank >= min && fact->rank <= max))
        return TRUE;
    g_autofree char *shape = ifm_fact_shape(fact);
    if (max >= IFM_MAX_RANK)
        return ifm_error_refuse(error, "'%s' %s must have a rank of %d or more", call->node->inputs[input], shape, min);
    if (min == max)
        return ifm_error_refuse(error, "'%s' %s must have a rank of %d", call->node->inputs[input], shape, min);
    return ifm_error_refuse(error, "'%s' %s must have a rank of %d to %d", call->node->inputs[input], shape, min, max);
}

/* --- helpers of value rules --------------------------------------------------------------------------------------- */

gboolean ifm_values_known(const IfmOperatorCall *call, gsize n)
{
    for (gsize i = 0; i < n; i++)
        if (call->inputs[i].rank < 0 || call->inputs[i].values == IFM_VALUES_UNKNOWN)
            return FALSE;
    return TRUE;
}

gint64 ifm_values_count(const IfmTensorInfo *fact)
{
    gint64 n = 0;
    return ifm_fact_n_elements(fact, &n) ? n : 0;
}

void ifm_values_done(const IfmOperatorCall *call, IfmValueKind kind)
{
    call->outputs[0].values = kind;
    call->outputs[0].n_values = (int)ifm_values_count(&call->outputs[0]);
}

void ifm_values_copy(const IfmOperatorCall *call, int to, const IfmTensorInfo *from, int index)
{
    memcpy(&call->outputs[0].ints[to], &from->ints[index], sizeof from->ints[0]); /* a real is as large */
}

int ifm_values_broadcast(const IfmTensorInfo *fact, const IfmTensorInfo *out, gint64 index)
{
    gint64 at = 0, stride = 1;
    for (int back = 1; back <= out->rank; back++)
    {
        gint64 position = index % MAX(out->dims[out->rank - back], 1);
        index /= MAX(out->dims[out->rank - back], 1);
        if (back > fact->rank)
            continue;
        gint64 size = fact->dims[fact->rank - back];
        at += size == 1 ? 0 : position * stride;
        stride *= size;
    }
    return (int)at;
}
