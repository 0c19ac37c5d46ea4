/* Rules of operators that move elements without changing them. In comments g is the gradient of the output. */
#include "gradient-private.h"

/* Reshape, Flatten, Squeeze, Unsqueeze */
static void reshape_rule(IfmBack *back)
{
    if (ifm_back_wants(back, 0))
        ifm_back_give(back, 0, ifm_back_reshape(back, back->g, back->x));
}

static void transpose_rule(IfmBack *back)
{
    const int rank = ifm_back_shape(back, back->x).rank;
    gsize n;
    int inverse[IFM_MAX_RANK];
    const gint64 *order = ifm_node_ints(back->node, "perm", &n);
    for (int i = 0; i < rank; i++)
        inverse[order != NULL ? order[i] : rank - 1 - i] = i;
    ifm_back_give(back, 0, ifm_back_transpose(back, back->g, inverse, rank));
}

static void expand_rule(IfmBack *back)
{
    ifm_back_give_sum(back, 0, back->g, back->y);
}

/* sizes_along: i64 [number of tensors]: each one's size on an axis. */
static const char *sizes_along(IfmBack *back, const char *const *tensors, gsize n, int axis)
{
    g_autoptr(GPtrArray) sizes = g_ptr_array_new();
    g_autoptr(GArray) known = g_array_new(FALSE, FALSE, sizeof(gint64));
    for (gsize i = 0; i < n; i++)
    {
        const IfmBackShape shape = ifm_back_shape(back, tensors[i]);
        if (shape.rank > axis && shape.dims[axis] >= 0)
            g_array_append_val(known, shape.dims[axis]);
        g_ptr_array_add(sizes, (gpointer)tensors[i]);
    }
    if (known->len == n)
        return ifm_back_list(back, (const gint64 *)known->data, n);
    for (gsize i = 0; i < n; i++)
        sizes->pdata[i] = (gpointer)ifm_back_size_of(back, tensors[i], axis);
    return ifm_back_op_list(back, NULL, "Concat axis=0", sizes);
}

/* the parts of g */
static void concat_rule(IfmBack *back)
{
    gsize n = back->node->n_inputs;
    int axis = ifm_back_axis(back, 0, ifm_back_shape(back, back->y).rank);
    if (n == 1)
    {
        ifm_back_give(back, 0, back->g);
        return;
    }
    g_autofree const char **parts = g_new(const char *, n);
    const char *sizes = sizes_along(back, back->node->inputs, n, axis);
    parts[0] = ifm_back_op(back, "Split", back->g, sizes, NULL);
    ifm_back_int(back, "axis", axis);
    for (gsize i = 1; i < n; i++)
        parts[i] = ifm_back_more(back, i);
    for (gsize i = 0; i < n; i++)
        ifm_back_give(back, i, parts[i]);
}

/* The gradients of the parts, concatenated; zeros for parts that no node reads. */
static void split_rule(IfmBack *back)
{
    g_autoptr(GPtrArray) parts = g_ptr_array_new();
    int axis = ifm_back_axis(back, 0, ifm_back_shape(back, back->x).rank);
    for (gsize i = 0; i < back->node->n_outputs; i++)
    {
        const char *part = ifm_back_gradient(back, i);
        g_ptr_array_add(parts, (gpointer)(part != NULL ? part : ifm_back_zeros(back, back->node->outputs[i])));
    }
    const char *whole = ifm_back_op_list(back, NULL, "Concat", parts);
    ifm_back_int(back, "axis", axis);
    ifm_back_give(back, 0, whole);
}

/* --- blocks of space ---------------------------------------------------------------------------------------------- */

/* SpaceToDepth puts the places of a block before the channels, as DepthToSpace reads them in mode DCR; in CRD each
 * channel's places follow each other. */
static void depth_to_space_rule(IfmBack *back)
{
    const gint64 block = ifm_node_int(back->node, "blocksize", 1), places = block * block;
    const char *depth = ifm_back_op(back, "SpaceToDepth", back->g, NULL);
    ifm_back_int(back, "blocksize", block);
    if (!g_str_equal(ifm_node_string(back->node, "mode", "DCR"), "DCR"))
    {
        const IfmBackShape y = ifm_back_shape(back, back->y);
        if (y.dims[1] < 0)
            ifm_back_fail(back, "mode CRD needs a fixed number of channels");
        g_autofree gint64 *order = g_new(gint64, (gsize)(MAX(y.dims[1], 0) * places + 1));
        for (gint64 i = 0; i < y.dims[1] * places; i++)
            order[i] = i % places * y.dims[1] + i / places;
        depth = ifm_back_op(back, "Gather axis=1", depth, ifm_back_list(back, order, (gsize)(MAX(y.dims[1], 0) * places)),
                            NULL);
    }
    ifm_back_give(back, 0, depth);
}

static void space_to_depth_rule(IfmBack *back)
{
    const char *space = ifm_back_op(back, "DepthToSpace", back->g, NULL);
    ifm_back_int(back, "blocksize", ifm_node_int(back->node, "blocksize", 1));
    ifm_back_give(back, 0, space);
}

/* --- slices ------------------------------------------------------------------------------------------------------ */

/* SliceAxis: one axis of a slice: @step: 1 or more, once a slice backwards has been turned */
typedef struct
{
    gint64 axis, start, step;
} SliceAxis;

/* read_slice: @axes: (out) [IFM_MAX_RANK]. Ends are known by the output's size. */
static gboolean read_slice(IfmBack *back, const IfmBackShape *x, SliceAxis *axes, gsize *n)
{
    gint64 starts[IFM_ANALYSIS_MAX_INTS], numbers[IFM_ANALYSIS_MAX_INTS], steps[IFM_ANALYSIS_MAX_INTS];
    gsize n_axes, n_steps;
    gboolean has_axes = ifm_back_input(back, 3) != NULL, has_steps = ifm_back_input(back, 4) != NULL;
    if (!ifm_back_known_ints(back, ifm_back_input(back, 1), starts, n) ||
        (has_axes && !ifm_back_known_ints(back, ifm_back_input(back, 3), numbers, &n_axes)) ||
        (has_steps && !ifm_back_known_ints(back, ifm_back_input(back, 4), steps, &n_steps)))
    {
        ifm_back_fail(back, "its starts, axes or steps are not known before it runs");
        return FALSE;
    }
    for (gsize i = 0; i < *n; i++)
    {
        SliceAxis axis = { has_axes ? numbers[i] : (gint64)i, starts[i], has_steps ? steps[i] : 1 };
        axis.axis += axis.axis < 0 ? x->rank : 0;
        gint64 size = axis.axis >= 0 && axis.axis < x->rank ? x->dims[axis.axis] : -1;
        if (axis.start < 0 || axis.step < 0)
        {
            if (size < 0)
            {
                ifm_back_fail(back, "a start counted from the end, or a step backwards, of a free dimension: bind it");
                return FALSE;
            }
            axis.start = CLAMP(axis.start < 0 ? axis.start + size : axis.start, 0, axis.step < 0 ? size - 1 : size);
        }
        axes[i] = axis;
    }
    return TRUE;
}

/* pad_axis: @value with @before zeros before it and as many behind as @tensor's axis wants. @n: elements that @value has
 * there, a name of i64 [1] */
static const char *pad_axis(IfmBack *back, const char *value, int rank, int axis, gint64 before, const char *behind)
{
    gint64 zeros[IFM_MAX_RANK] = { 0 };
    g_autoptr(GPtrArray) parts = g_ptr_array_new();
    zeros[axis] = before;
    g_ptr_array_add(parts, (gpointer)ifm_back_list(back, zeros, (gsize)rank));
    zeros[axis] = 0;
    if (axis > 0)
        g_ptr_array_add(parts, (gpointer)ifm_back_list(back, zeros, (gsize)axis));
    g_ptr_array_add(parts, (gpointer)behind);
    if (axis < rank - 1)
        g_ptr_array_add(parts, (gpointer)ifm_back_list(back, zeros, (gsize)(rank - 1 - axis)));
    const char *pads = ifm_back_op_list(back, NULL, "Concat axis=0", parts);
    return ifm_back_op(back, "Pad", value, pads, NULL);
}

static const char *pad_fixed(IfmBack *back, const char *value, int rank, int axis, gint64 before, gint64 behind)
{
    gint64 pads[2 * IFM_MAX_RANK] = { 0 };
    pads[axis] = before;
    pads[rank + axis] = behind;
    return before == 0 && behind == 0 ? value
                                      : ifm_back_op(back, "Pad", value, ifm_back_list(back, pads, 2 * (gsize)rank), NULL);
}

/* spread: puts @step - 1 zeros behind each element of an axis: [.., n, ..] as [.., n, 1, ..], padded, as [.., n step, ..].
 * @dims: [rank] of @value, all fixed but at most one */
static const char *spread(IfmBack *back, const char *value, gint64 *dims, int rank, int axis, gint64 step)
{
    gint64 apart[IFM_MAX_RANK + 1];
    for (int i = 0; i <= rank; i++)
        apart[i] = i <= axis ? dims[i] : i == axis + 1 ? 1 : dims[i - 1];
    value = ifm_back_reshape_dims(back, value, apart, rank + 1);
    value = pad_fixed(back, value, rank + 1, axis + 1, 0, step - 1);
    dims[axis] *= step;
    return ifm_back_reshape_dims(back, value, dims, rank);
}

/* unslice_axis: @y: the shape of @value, changed with it */
static const char *unslice_axis(IfmBack *back, const char *value, const IfmBackShape *x, IfmBackShape *y, SliceAxis at)
{
    int axis = (int)at.axis;
    gint64 in = x->dims[axis], out = y->dims[axis];
    if (at.step == 1 && (in < 0 || out < 0))
    {
        const char *input = back->x, *output = back->y;
        const char *more = ifm_back_sub(back, ifm_back_size_of(back, input, axis), ifm_back_size_of(back, output, axis));
        value = pad_axis(back, value, x->rank, axis, at.start, ifm_back_sub(back, more, ifm_back_number(back, at.start)));
        y->dims[axis] = in;
        return value;
    }
    if (in < 0 || out < 0 || (llabs(at.step) != 1 && ifm_back_n_sized(y, -1) > 1))
    {
        ifm_back_fail(back, "a step of %" G_GINT64_FORMAT " needs the sizes of '%s' (bind them)", at.step, back->x);
        return value;
    }
    if (at.step < 0)
    {
        value = ifm_back_reversed(back, value, axis);
        at.step = -at.step;
        at.start -= (out - 1) * at.step;
    }
    if (at.step > 1 && out > 0)
        value = spread(back, value, y->dims, y->rank, axis, at.step);
    gint64 behind = in - at.start - y->dims[axis];
    y->dims[axis] = in;
    if (behind >= 0)
        return pad_fixed(back, value, x->rank, axis, at.start, behind);
    value = pad_fixed(back, value, x->rank, axis, at.start, 0); /* zeros spread beyond the end */
    return ifm_back_op(back, "Slice", value, ifm_back_number(back, 0), ifm_back_number(back, in),
                       ifm_back_number(back, axis), NULL);
}

/* g among zeros */
static void slice_rule(IfmBack *back)
{
    SliceAxis axes[IFM_ANALYSIS_MAX_INTS];
    const IfmBackShape x = ifm_back_shape(back, back->x);
    IfmBackShape y = ifm_back_shape(back, back->y);
    gsize n;
    const char *value = back->g;
    if (back->error != NULL || !read_slice(back, &x, axes, &n))
        return;
    for (gsize i = 0; i < n && back->error == NULL; i++)
        value = unslice_axis(back, value, &x, &y, axes[i]);
    ifm_back_give(back, 0, value);
}

const IfmGradientRule ifm_gradients_movement[] = {
    { "Concat", concat_rule },
    { "DepthToSpace", depth_to_space_rule },
    { "Expand", expand_rule },
    { "Flatten", reshape_rule },
    { "Reshape", reshape_rule },
    { "Slice", slice_rule },
    { "SpaceToDepth", space_to_depth_rule },
    { "Split", split_rule },
    { "Squeeze", reshape_rule },
    { "Transpose", transpose_rule },
    { "Unsqueeze", reshape_rule },
    { NULL },
};
