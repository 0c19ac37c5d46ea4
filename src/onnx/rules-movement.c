/* Operators that move data: shapes and values. */
#include <string.h>

#include "operators.h"

static gint64 product(const gint64 *dims, int from, int to)
{
    gint64 total = 1; /* of part of a shape whose whole was checked: no overflow, unless it is empty */
    for (int i = from; i < to; i++)
        total *= dims[i];
    return total;
}

gboolean ifm_shape_flatten(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *x = &call->inputs[0];
    IfmTensorInfo *out = &call->outputs[0];
    int axis;
    if (!ifm_rule_axis(ifm_node_int(call->node, "axis", 1), x->rank, x->rank + 1, &axis, error))
        return FALSE;
    out->rank = 2;
    out->dims[0] = product(x->dims, 0, axis);
    out->dims[1] = product(x->dims, axis, x->rank);
    return TRUE;
}

/* A 0 copies the dimension of the input. One dimension of -1 takes the remaining elements. */
static gboolean reshape_to(const IfmOperatorCall *call, const gint64 *wanted, int n, GError **error)
{
    const IfmTensorInfo *x = &call->inputs[0];
    const gboolean allow_zero = ifm_node_int(call->node, "allowzero", 0) != 0;
    int guessed = -1;
    gint64 have, rest;
    IfmTensorInfo known = { .rank = n };
    for (int i = 0; i < n; i++)
    {
        if (wanted[i] < -1 || (wanted[i] == -1 && guessed >= 0) || (wanted[i] == 0 && !allow_zero && i >= x->rank))
            return ifm_error_refuse(error, "dimension %d of the new shape is %" G_GINT64_FORMAT, i, wanted[i]);
        known.dims[i] = wanted[i] == 0 && !allow_zero ? x->dims[i] : wanted[i] == -1 ? 1 : wanted[i];
        guessed = wanted[i] == -1 ? i : guessed;
    }
    if (!ifm_fact_n_elements(x, &have) || !ifm_fact_n_elements(&known, &rest))
        return ifm_error_refuse(error, "the new shape is larger than any memory");
    if (guessed >= 0 && rest > 0)
    {
        known.dims[guessed] = have / rest;
        rest *= have / rest;
    }
    if (have != rest)
    {
        g_autofree char *from = ifm_fact_shape(x), *to = ifm_shape_to_string(n, wanted);
        return ifm_error_refuse(error, "%" G_GINT64_FORMAT " elements %s cannot take the shape %s", have, from, to);
    }
    return ifm_call_shape(call, 0, n, known.dims);
}

gboolean ifm_shape_reshape(const IfmOperatorCall *call, GError **error)
{
    int n;
    const gint64 *wanted = ifm_rule_ints(call, 1, "shape", &n); /* an attribute before version 5 */
    if (wanted == NULL)
        return ifm_call_by_values(call);
    if (n > IFM_MAX_RANK)
        return ifm_error_refuse(error, "the new shape has %d dimensions, more than %d", n, IFM_MAX_RANK);
    if (reshape_to(call, wanted, n, error))
        return TRUE;
    g_prefix_error(error, "'%s': ", call->node->inputs[0]);
    return FALSE;
}

void ifm_values_same(const IfmOperatorCall *call)
{
    IfmTensorInfo *out = &call->outputs[0];
    if (!ifm_values_known(call, 1) || ifm_values_count(out) != call->inputs[0].n_values)
        return;
    memcpy(out->ints, call->inputs[0].ints, sizeof out->ints);
    ifm_values_done(call, call->inputs[0].values);
}

gboolean ifm_shape_transpose(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *x = &call->inputs[0];
    IfmTensorInfo *out = &call->outputs[0];
    int from[IFM_MAX_RANK];
    gsize n;
    const gint64 *perm = ifm_node_ints(call->node, "perm", &n);
    if (perm != NULL && n != (gsize)x->rank)
        return ifm_error_refuse(error, "perm has %zu axes, '%s' has %d", n, call->node->inputs[0], x->rank);
    if (!ifm_rule_place_axes(perm, x->rank, x->rank, from, error))
        return FALSE;
    out->rank = x->rank;
    for (int i = 0; i < x->rank; i++)
        out->dims[i] = x->dims[perm != NULL ? from[i] : x->rank - 1 - i];
    return TRUE;
}

/* Nothing moves where all axes but one are 1. */
void ifm_values_transpose(const IfmOperatorCall *call)
{
    int n_long = 0;
    for (int i = 0; i < call->inputs[0].rank; i++)
        n_long += call->inputs[0].dims[i] != 1;
    if (n_long <= 1)
        ifm_values_same(call);
}

/* concat_dims: @step: from one input to the next */
static gboolean concat_dims(const IfmOperatorCall *call, gsize first, gsize step, int axis, IfmTensorInfo *out,
                            GError **error)
{
    for (gsize i = first; i < call->node->n_inputs; i += step)
    {
        const IfmTensorInfo *next = &call->inputs[i];
        gboolean fits = next->rank == out->rank;
        for (int d = 0; fits && d < out->rank; d++)
            fits = d == axis || next->dims[d] == out->dims[d];
        if (!fits)
        {
            g_autofree char *a = ifm_fact_shape(out), *b = ifm_fact_shape(next);
            return ifm_error_refuse(error, "'%s' %s does not join %s on axis %d", call->node->inputs[i], b, a, axis);
        }
        out->dims[axis] += next->dims[axis]; /* each is at most 2^56, and the sum is checked by the caller */
        if (out->dims[axis] > (gint64)1 << 56)
            return ifm_error_refuse(error, "the sum is larger than any memory");
    }
    return TRUE;
}

/* QLinearConcat: the output's scale and zero point, then a tensor, its scale and zero point for each that is joined. */
gboolean ifm_shape_concat(const IfmOperatorCall *call, GError **error)
{
    const gboolean is_quantised = g_str_equal(call->node->op_type, "QLinearConcat");
    const gsize first = is_quantised ? 2 : 0, step = is_quantised ? 3 : 1;
    IfmTensorInfo result = call->inputs[first];
    int axis;
    for (gsize i = first; i < call->node->n_inputs; i += step)
        if (call->inputs[i].rank < 0)
            return TRUE;
    return ifm_rule_axis(ifm_node_int(call->node, "axis", !is_quantised), result.rank, result.rank, &axis, error) &&
           concat_dims(call, first + step, step, axis, &result, error) && ifm_call_give(call, 0, &result);
}

void ifm_values_concat(const IfmOperatorCall *call)
{
    int n = 0;
    if (!ifm_values_known(call, call->node->n_inputs) || call->outputs[0].rank != 1)
        return;
    for (gsize i = 0; i < call->node->n_inputs; i++)
    {
        if (call->inputs[i].values != call->inputs[0].values)
            return;
        for (int k = 0; k < call->inputs[i].n_values && n < IFM_FACT_MAX_VALUES; k++)
            ifm_values_copy(call, n++, &call->inputs[i], k);
    }
    ifm_values_done(call, call->inputs[0].values);
}

gboolean ifm_shape_squeeze(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *x = &call->inputs[0];
    gboolean marked[IFM_MAX_RANK];
    int n;
    const gint64 *axes = ifm_rule_ints(call, 1, "axes", &n);
    if (!ifm_rule_mark_axes(axes, n, x->rank, marked, error))
        return FALSE;
    IfmTensorInfo result = *x;
    result.rank = 0;
    for (int i = 0; i < x->rank; i++)
    {
        if (marked[i] && x->dims[i] != 1)
            return ifm_error_refuse(error, "'%s': axis %d is %" G_GINT64_FORMAT ", not 1", call->node->inputs[0], i,
                                    x->dims[i]);
        if (n > 0 ? !marked[i] : x->dims[i] != 1)
            result.dims[result.rank++] = x->dims[i];
    }
    return ifm_call_give(call, 0, &result);
}

gboolean ifm_shape_unsqueeze(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *x = &call->inputs[0];
    gboolean added[IFM_MAX_RANK];
    int n, from = 0;
    const gint64 *axes = ifm_rule_ints(call, 1, "axes", &n);
    if (!ifm_rule_check_rank(MIN(n, IFM_MAX_RANK + 1) + x->rank, error) ||
        !ifm_rule_mark_axes(axes, n, x->rank + n, added, error))
        return FALSE;
    IfmTensorInfo result = *x;
    result.rank = x->rank + n;
    for (int i = 0; i < result.rank; i++)
        result.dims[i] = added[i] ? 1 : x->dims[from++];
    return ifm_call_give(call, 0, &result);
}

/* Both shapes broadcast: a 1 in the wanted shape keeps the dimension of the input. */
gboolean ifm_shape_expand(const IfmOperatorCall *call, GError **error)
{
    IfmTensorInfo result = call->inputs[0], wanted = { .rank = call->inputs[1].n_values };
    if (!ifm_rule_dims(call, 1, wanted.dims, error))
        return FALSE;
    if (!ifm_rule_broadcast(&result, &wanted, error))
    {
        g_prefix_error(error, "'%s': ", call->node->inputs[0]);
        return FALSE;
    }
    return ifm_call_give(call, 0, &result);
}

void ifm_values_expand(const IfmOperatorCall *call)
{
    if (!ifm_values_known(call, 1))
        return;
    for (int i = 0; i < (int)ifm_values_count(&call->outputs[0]); i++)
        ifm_values_copy(call, i, &call->inputs[0], ifm_values_broadcast(&call->inputs[0], &call->outputs[0], i));
    ifm_values_done(call, call->inputs[0].values);
}

/* --- parts ------------------------------------------------------------------------------------------------------------ */

/* Bounds: The ranges that Slice takes. */
typedef struct
{
    const gint64 *starts, *ends, *steps, *axes;
    int n;
} Bounds;

/* read_bounds: inputs since version 10, attributes before. Returns: FALSE where they are not known. */
static gboolean read_bounds(const IfmOperatorCall *call, Bounds *bounds, int *n_each)
{
    gboolean has_inputs = call->node->n_inputs > 1;
    bounds->starts = ifm_rule_ints(call, 1, "starts", &n_each[0]);
    bounds->ends = ifm_rule_ints(call, 2, "ends", &n_each[1]);
    bounds->axes = ifm_rule_ints(call, 3, has_inputs ? NULL : "axes", &n_each[2]);
    bounds->steps = ifm_rule_ints(call, 4, NULL, &n_each[3]);
    bounds->n = n_each[0];
    return bounds->starts != NULL && bounds->ends != NULL;
}

/* slice_length: how many elements start, start + step, ... there are before end, all clamped to the axis as NumPy does. */
static gint64 slice_length(gint64 length, gint64 start, gint64 end, gint64 step)
{
    start += start < 0 && start >= -length ? length : 0;
    end += end < 0 && end >= -length ? length : 0;
    start = CLAMP(start, 0, step > 0 ? length : MAX(length - 1, 0));
    end = CLAMP(end, step > 0 ? 0 : -1, step > 0 ? length : length - 1);
    gint64 span = step > 0 ? end - start : start - end;
    guint64 stride = step > 0 ? (guint64)step : 0 - (guint64)step;
    return span <= 0 || length == 0 ? 0 : (gint64)(((guint64)span - 1) / stride + 1);
}

gboolean ifm_shape_slice(const IfmOperatorCall *call, GError **error)
{
    IfmTensorInfo x = call->inputs[0];
    Bounds bounds;
    int n_each[4], axes[IFM_MAX_RANK];
    if (!read_bounds(call, &bounds, n_each))
        return ifm_call_by_values(call);
    if (n_each[1] != bounds.n || bounds.n > x.rank || (bounds.axes != NULL && n_each[2] != bounds.n) ||
        (bounds.steps != NULL && n_each[3] != bounds.n))
        return ifm_error_refuse(error,
                                "starts, ends, axes and steps are not as many as each other, or more than the %d axes of "
                                "'%s'",
                                x.rank, call->node->inputs[0]);
    if (!ifm_rule_place_axes(bounds.axes, bounds.n, x.rank, axes, error))
        return FALSE;
    for (int i = 0; i < bounds.n; i++)
    {
        gint64 step = bounds.steps != NULL ? bounds.steps[i] : 1;
        if (step == 0)
            return ifm_error_refuse(error, "steps[%d] is 0", i);
        x.dims[axes[i]] = slice_length(x.dims[axes[i]], bounds.starts[i], bounds.ends[i], step);
    }
    return ifm_call_give(call, 0, &x);
}

/* Of one axis; its length is the output's already. */
void ifm_values_slice(const IfmOperatorCall *call)
{
    const IfmTensorInfo *x = &call->inputs[0];
    int n;
    if (!ifm_values_known(call, 1) || x->rank != 1)
        return;
    const gint64 *starts = ifm_rule_ints(call, 1, "starts", &n), *steps = ifm_rule_ints(call, 4, NULL, &n);
    gint64 step = steps != NULL ? steps[0] : 1, length = x->n_values;
    if (starts == NULL)
        return;
    gint64 start = starts[0] < 0 ? starts[0] + length : starts[0];
    start = CLAMP(start, 0, step > 0 ? length : MAX(length - 1, 0));
    for (gint64 i = 0; i < ifm_values_count(&call->outputs[0]); i++)
        ifm_values_copy(call, (int)i, x, (int)(start + (i == 0 ? 0 : i * step))); /* within, as the length was counted so */
    ifm_values_done(call, x->values);
}

/* split_evenly: into as many parts as there are outputs, the last one smaller where they do not come out even. */
static gboolean split_evenly(const IfmOperatorCall *call, IfmTensorInfo *x, int axis)
{
    gint64 n = MAX((gint64)call->node->n_outputs, 1), length = x->dims[axis];
    gint64 each = length / n + (length % n != 0);
    for (gint64 i = 0; i < n; i++)
    {
        x->dims[axis] = CLAMP(length - i * each, 0, each);
        ifm_call_shape(call, (gsize)i, x->rank, x->dims);
    }
    return TRUE;
}

gboolean ifm_shape_split(const IfmOperatorCall *call, GError **error)
{
    IfmTensorInfo x = call->inputs[0];
    int axis, n;
    const gint64 *sizes = ifm_rule_ints(call, 1, "split", &n); /* an input since version 13 */
    if (!ifm_rule_own_axis(call, 0, &axis, error))
        return FALSE;
    if (sizes == NULL)
        return split_evenly(call, &x, axis);
    gint64 sum = 0, length = x.dims[axis];
    gboolean fits = (gsize)n == call->node->n_outputs;
    for (int i = 0; fits && i < n; i++)
    {
        fits = sizes[i] >= 0 && sizes[i] <= length - sum;
        sum += fits ? sizes[i] : 0;
        x.dims[axis] = sizes[i];
        ifm_call_shape(call, (gsize)i, x.rank, x.dims);
    }
    if (fits && sum == length)
        return TRUE;
    return ifm_error_refuse(
        error, "its %d sizes do not add up to the %" G_GINT64_FORMAT " of axis %d in '%s', one for each output", n, length,
        axis, call->node->inputs[0]);
}

/* pads_of: [2 * n]: an attribute before version 11 ("paddings" in the first), an input since. */
static const gint64 *pads_of(const IfmOperatorCall *call, int *n)
{
    const gint64 *pads = ifm_rule_ints(call, 1, "pads", n);
    return pads != NULL || ifm_call_has(call, 1) ? pads : ifm_rule_ints(call, 1, "paddings", n);
}

gboolean ifm_shape_pad(const IfmOperatorCall *call, GError **error)
{
    IfmTensorInfo x = call->inputs[0];
    int n, n_axes, at[IFM_MAX_RANK];
    const gint64 *pads = pads_of(call, &n), *axes = ifm_rule_ints(call, 3, NULL, &n_axes);
    if (pads == NULL)
        return ifm_call_by_values(call);
    n_axes = axes != NULL ? n_axes : x.rank;
    if (!ifm_rule_place_axes(axes, n_axes, x.rank, at, error))
        return FALSE;
    if (n != 2 * n_axes)
        return ifm_error_refuse(error, "%d numbers of padding for %d axes, not two for each", n, n_axes);
    for (int i = 0; i < n_axes; i++)
    {
        const gint64 max = (gint64)1 << 56;
        const int axis = at[i];
        if (pads[i] < -max || pads[i] > max || pads[i + n_axes] < -max || pads[i + n_axes] > max ||
            x.dims[axis] + pads[i] + pads[i + n_axes] < 0)
            return ifm_error_refuse(error,
                                    "axis %d of '%s' is %" G_GINT64_FORMAT ": padding of %" G_GINT64_FORMAT
                                    " and %" G_GINT64_FORMAT " is not possible",
                                    axis, call->node->inputs[0], x.dims[axis], pads[i], pads[i + n_axes]);
        x.dims[axis] += pads[i] + pads[i + n_axes];
    }
    return ifm_call_give(call, 0, &x);
}

gboolean ifm_shape_tile(const IfmOperatorCall *call, GError **error)
{
    IfmTensorInfo x = call->inputs[0];
    int n;
    const gint64 *repeats = ifm_rule_ints(call, 1, NULL, &n);
    if (repeats == NULL)
        return ifm_call_by_values(call);
    if (n != x.rank)
        return ifm_error_refuse(error, "'%s' has %d numbers, not one for each of the %d axes of '%s'",
                                call->node->inputs[1], n, x.rank, call->node->inputs[0]);
    for (int i = 0; i < n; i++)
        if (repeats[i] < 0 || __builtin_mul_overflow(x.dims[i], repeats[i], &x.dims[i]))
            return ifm_error_refuse(error, "'%s': axis %d is to be repeated %" G_GINT64_FORMAT " times",
                                    call->node->inputs[1], i, repeats[i]);
    return ifm_call_give(call, 0, &x);
}

/* --- blocks of space -------------------------------------------------------------------------------------------------- */

/* DepthToSpace, SpaceToDepth: blocks of channels become blocks of space, or the reverse. */
gboolean ifm_shape_space_blocks(const IfmOperatorCall *call, GError **error)
{
    IfmTensorInfo x = call->inputs[0];
    gint64 block = ifm_node_int(call->node, "blocksize", 0);
    gboolean to_space = g_str_equal(call->node->op_type, "DepthToSpace"), fits = block >= 1 && block <= G_MAXINT16;
    if (!ifm_rule_rank(call, 0, 4, 4, error))
        return FALSE;
    fits = fits && (to_space ? x.dims[1] % (block * block) == 0
                             : x.dims[2] % block == 0 && x.dims[3] % block == 0 &&
                                   !__builtin_mul_overflow(x.dims[1], block * block, &x.dims[1]));
    if (!fits)
    {
        g_autofree char *shape = ifm_shape_to_string(4, call->inputs[0].dims);
        return ifm_error_refuse(error, "'%s' %s does not divide into blocks of %" G_GINT64_FORMAT, call->node->inputs[0],
                                shape, block);
    }
    if (to_space)
        x.dims[1] /= block * block;
    for (int i = 2; i < 4; i++)
        x.dims[i] = to_space ? x.dims[i] * block : x.dims[i] / block; /* below 2^56 and 2^15 */
    return ifm_call_give(call, 0, &x);
}

gboolean ifm_shape_center_crop_pad(const IfmOperatorCall *call, GError **error)
{
    IfmTensorInfo x = call->inputs[0];
    gint64 wanted[IFM_MAX_RANK];
    int at[IFM_MAX_RANK];
    gsize n;
    const gint64 *axes = ifm_node_ints(call->node, "axes", &n);
    n = axes != NULL ? n : (gsize)x.rank;
    if (!ifm_rule_dims(call, 1, wanted, error) || !ifm_rule_place_axes(axes, (int)MIN(n, G_MAXINT), x.rank, at, error))
        return FALSE;
    if (n != (gsize)call->inputs[1].n_values)
        return ifm_error_refuse(error, "'%s' has %d numbers for %d axes", call->node->inputs[1], call->inputs[1].n_values,
                                (int)n);
    for (gsize i = 0; i < n; i++)
        x.dims[at[i]] = wanted[i];
    return ifm_call_give(call, 0, &x);
}
