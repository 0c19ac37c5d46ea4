/* Operators that make data: constants, ranges, random numbers, shapes of tensors: shapes and values. */
#include <math.h>
#include <string.h>

#include "operators.h"

static void make_ints(IfmTensorInfo *out, int rank, const gint64 *values, gsize n)
{
    *out = (IfmTensorInfo){ .dtype = IFM_DTYPE_I64, .rank = rank, .dims = { (gint64)n } };
    if (n > IFM_FACT_MAX_VALUES)
        return;
    out->values = IFM_VALUES_INTS;
    out->n_values = (int)n;
    if (n > 0)
        memcpy(out->ints, values, n * sizeof out->ints[0]);
}

gboolean ifm_shape_constant(const IfmOperatorCall *call, GError **error)
{
    IfmTensorInfo *out = &call->outputs[0];
    const Onnx__AttributeProto *value = ifm_onnx_attribute(call->node, "value");
    const Onnx__AttributeProto *one = ifm_onnx_attribute(call->node, "value_int");
    const Onnx__AttributeProto *many = ifm_onnx_attribute(call->node, "value_ints");
    const Onnx__AttributeProto *real = ifm_onnx_attribute(call->node, "value_float");
    const Onnx__AttributeProto *reals = ifm_onnx_attribute(call->node, "value_floats");
    if (value != NULL && value->t != NULL)
        *out = ifm_fact_from_tensor(value->t);
    else if (one != NULL)
        make_ints(out, 0, &one->i, 1);
    else if (many != NULL)
        make_ints(out, 1, many->ints, many->n_ints);
    else if (real != NULL)
        *out = (IfmTensorInfo){
            .dtype = IFM_DTYPE_F32, .values = IFM_VALUES_REALS, .n_values = 1, .reals = { (double)real->f }
        };
    else if (reals != NULL)
    {
        *out = (IfmTensorInfo){ .dtype = IFM_DTYPE_F32, .rank = 1, .dims = { (gint64)reals->n_floats } };
        out->values = reals->n_floats <= IFM_FACT_MAX_VALUES ? IFM_VALUES_REALS : IFM_VALUES_UNKNOWN;
        out->n_values = (int)MIN(reals->n_floats, IFM_FACT_MAX_VALUES);
        for (int i = 0; i < out->n_values; i++)
            out->reals[i] = (double)reals->floats[i];
    }
    else
        *call->why = "it holds neither numbers nor a tensor";
    return TRUE;
}

/* fill: every value the first of @from. */
static void fill(IfmTensorInfo *out, const IfmTensorInfo *from)
{
    gint64 n;
    if (!ifm_fact_n_elements(out, &n) || n > IFM_FACT_MAX_VALUES || from->n_values != 1)
        return;
    for (gint64 i = 0; i < n; i++)
        memcpy(&out->ints[i], &from->ints[0], sizeof out->ints[0]); /* a real is as large */
    out->values = from->values;
    out->n_values = (int)n;
}

gboolean ifm_shape_constant_of_shape(const IfmOperatorCall *call, GError **error)
{
    const Onnx__AttributeProto *value = ifm_onnx_attribute(call->node, "value");
    IfmTensorInfo with = { .dtype = IFM_DTYPE_F32, .values = IFM_VALUES_REALS, .n_values = 1 };
    gint64 dims[IFM_MAX_RANK];
    if (value != NULL && value->t != NULL)
        with = ifm_fact_from_tensor(value->t);
    call->outputs[0].dtype = with.dtype;
    if (ifm_fact_ints(&call->inputs[0]) == NULL)
        return ifm_call_by_values(call);
    if (!ifm_rule_dims(call, 0, dims, error))
        return FALSE;
    ifm_call_shape(call, 0, call->inputs[0].n_values, dims);
    fill(&call->outputs[0], &with);
    return TRUE;
}

gboolean ifm_shape_shape(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *x = &call->inputs[0];
    gint64 start = ifm_node_int(call->node, "start", 0), end = ifm_node_int(call->node, "end", x->rank);
    start = CLAMP(start < 0 ? start + x->rank : start, 0, x->rank);
    end = CLAMP(end < 0 ? end + x->rank : end, start, x->rank);
    make_ints(&call->outputs[0], 1, x->dims + start, (gsize)(end - start));
    return TRUE;
}

gboolean ifm_shape_size(const IfmOperatorCall *call, GError **error)
{
    gint64 n;
    ifm_call_shape(call, 0, 0, NULL);
    if (call->inputs[0].rank >= 0 && ifm_fact_n_elements(&call->inputs[0], &n))
        make_ints(&call->outputs[0], 0, &n, 1);
    return TRUE;
}

/* range_length: max(ceil((limit - start) / delta), 0). FALSE where it is more than any memory. */
static gboolean range_length(const IfmTensorInfo *start, const IfmTensorInfo *limit, const IfmTensorInfo *delta, gint64 *n)
{
    if (start->values == IFM_VALUES_REALS)
    {
        double length = ceil((limit->reals[0] - start->reals[0]) / delta->reals[0]);
        *n = length >= 1 && length < 0x1p56 ? (gint64)length : 0;
        return length < 0x1p56;
    }
    const gint64 step = delta->ints[0];
    gint64 span;
    if (__builtin_sub_overflow(limit->ints[0], start->ints[0], &span) || step == G_MININT64)
        return FALSE;
    *n = (span > 0) == (step > 0) && span != 0 ? span / step + (span % step != 0) : 0;
    return TRUE;
}

gboolean ifm_shape_range(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *in = call->inputs;
    gint64 n;
    for (gsize i = 0; i < 3; i++)
        if (in[i].values == IFM_VALUES_UNKNOWN || in[i].n_values != 1 || in[i].values != in[0].values)
            return ifm_call_by_values(call);
    if (in[2].values == IFM_VALUES_REALS ? !(in[2].reals[0] < 0 || in[2].reals[0] > 0) : in[2].ints[0] == 0)
        return ifm_error_refuse(error, "'%s' is 0: it never gets anywhere", call->node->inputs[2]);
    if (!range_length(&in[0], &in[1], &in[2], &n))
        return ifm_error_refuse(error, "it is longer than any memory");
    return ifm_call_shape(call, 0, 1, &n);
}

void ifm_values_range(const IfmOperatorCall *call)
{
    gint64 n = ifm_values_count(&call->outputs[0]);
    if (call->inputs[0].values != IFM_VALUES_INTS)
        return;
    for (gint64 i = 0; i < n; i++)
        call->outputs[0].ints[i] = call->inputs[0].ints[0] + i * call->inputs[2].ints[0];
    ifm_values_done(call, IFM_VALUES_INTS);
}

gboolean ifm_shape_random(const IfmOperatorCall *call, GError **error)
{
    gsize n;
    const gint64 *shape = ifm_node_ints(call->node, "shape", &n);
    if (n > IFM_MAX_RANK)
        return ifm_error_refuse(error, "its shape has %zu dimensions, more than %d", n, IFM_MAX_RANK);
    for (gsize i = 0; i < n; i++)
        if (shape[i] < 0)
            return ifm_error_refuse(error, "shape[%d] is %" G_GINT64_FORMAT, (int)i, shape[i]);
    return ifm_call_make(call, 0, ifm_rule_dtype(call, "dtype", IFM_DTYPE_F32), (int)n, shape);
}

gboolean ifm_shape_multinomial(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *x = &call->inputs[0];
    gint64 dtype = ifm_node_int(call->node, "dtype", IFM_DTYPE_I32), n = ifm_node_int(call->node, "sample_size", 1);
    if (!ifm_rule_rank(call, 0, 2, 2, error))
        return FALSE;
    if (n < 0)
        return ifm_error_refuse(error, "sample_size is %" G_GINT64_FORMAT, n);
    return ifm_call_make(call, 0, dtype == IFM_DTYPE_I64 ? IFM_DTYPE_I64 : IFM_DTYPE_I32, x->rank < 0 ? -1 : 2,
                         (gint64[]){ x->dims[0], n });
}

/* first_value: of an input, whole; FALSE where it is not known. */
static gboolean first_value(const IfmTensorInfo *fact, gint64 *value)
{
    if (fact->n_values < 1 || fact->values == IFM_VALUES_UNKNOWN)
        return FALSE;
    if (fact->values == IFM_VALUES_REALS && !(fabs(fact->reals[0]) < 0x1p56))
        return FALSE;
    *value = fact->values == IFM_VALUES_REALS ? (gint64)fact->reals[0] : fact->ints[0];
    return TRUE;
}

gboolean ifm_shape_one_hot(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *indices = &call->inputs[0];
    gint64 depth, dims[IFM_MAX_RANK];
    int axis;
    if (!first_value(&call->inputs[1], &depth))
        return ifm_call_by_values(call);
    if (!ifm_rule_check_rank(indices->rank + 1, error) ||
        !ifm_rule_axis(ifm_node_int(call->node, "axis", -1), indices->rank + 1, indices->rank + 1, &axis, error))
        return FALSE;
    if (depth < 0)
        return ifm_error_refuse(error, "'%s' is %" G_GINT64_FORMAT, call->node->inputs[1], depth);
    for (int i = 0, from = 0; i <= indices->rank; i++)
        dims[i] = i == axis ? depth : indices->dims[from++];
    return ifm_call_shape(call, 0, indices->rank + 1, dims);
}

/* HannWindow and the like: as many numbers as the input says. */
gboolean ifm_shape_window(const IfmOperatorCall *call, GError **error)
{
    gint64 n;
    call->outputs[0].dtype = ifm_rule_dtype(call, "output_datatype", IFM_DTYPE_F32);
    if (!first_value(&call->inputs[0], &n))
        return ifm_call_by_values(call);
    if (n < 0)
        return ifm_error_refuse(error, "'%s' is %" G_GINT64_FORMAT, call->node->inputs[0], n);
    return ifm_call_shape(call, 0, 1, &n);
}

/* --- as many as the values say ---------------------------------------------------------------------------------------- */

static gboolean is_true(const IfmTensorInfo *fact, int i)
{
    return fact->values == IFM_VALUES_REALS ? fact->reals[i] < 0 || fact->reals[i] > 0 : fact->ints[i] != 0;
}

static int count_true(const IfmTensorInfo *fact)
{
    int n = 0;
    for (int i = 0; i < fact->n_values; i++)
        n += is_true(fact, i);
    return n;
}

/* Known where its input is: exporters number things with NonZero(ConstantOfShape(n)). */
gboolean ifm_shape_non_zero(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *x = &call->inputs[0];
    IfmTensorInfo *out = &call->outputs[0];
    if (x->values == IFM_VALUES_UNKNOWN)
        return ifm_call_by_values(call);
    ifm_call_shape(call, 0, 2, (gint64[]){ MAX(x->rank, 1), count_true(x) });
    if (x->rank != 1)
        return TRUE;
    out->values = IFM_VALUES_INTS;
    for (int i = 0; i < x->n_values; i++)
        if (is_true(x, i))
            out->ints[out->n_values++] = i;
    return TRUE;
}

gboolean ifm_shape_compress(const IfmOperatorCall *call, GError **error)
{
    IfmTensorInfo x = call->inputs[0];
    gboolean has_axis = ifm_onnx_attribute(call->node, "axis") != NULL;
    int axis = 0;
    if (call->inputs[1].values == IFM_VALUES_UNKNOWN)
        return ifm_call_by_values(call);
    if (has_axis && !ifm_rule_own_axis(call, 0, &axis, error))
        return FALSE;
    x.rank = has_axis ? x.rank : 1;
    x.dims[axis] = count_true(&call->inputs[1]);
    return ifm_call_give(call, 0, &x);
}

/* Unique, NonMaxSuppression: nothing can be said before they ran. */
gboolean ifm_shape_by_values(const IfmOperatorCall *call, GError **error)
{
    return ifm_call_by_values(call);
}
