/* Rules of poolings. In comments g is the gradient of the output. */
#include <math.h>
#include <string.h>

#include "gradient-windows.h"

/* --- maximum ------------------------------------------------------------------------------------------------------ */

/*
 * Where each maximum was is found out by comparing what all windows have at one of their positions with what they had
 * at those before. Indices, the operator's second output, are far slower on OpenVINO, whose one with indices is a reference
 * implementation, and a little on ONNX Runtime. Large windows, those that are many positions, have them all the same.
 */
#define MAX_COMPARED 25
#define MAX_WHOLE (1 << 24) /* whole numbers up to here are exact in single precision */

static gboolean is_compared(const IfmWindows *windows)
{
    gint64 n_positions = 1, n_inputs = 1;
    for (int i = 0; i < windows->n_space; i++)
    {
        if (windows->in[i] < 0 || windows->out[i] < 0 || windows->kernel[i] > MAX_COMPARED / n_positions ||
            windows->in[i] > MAX_WHOLE / n_inputs)
            return FALSE;
        n_positions *= MAX(windows->kernel[i], 1);
        n_inputs *= MAX(windows->in[i], 1);
    }
    return n_positions > 1;
}

static gboolean forward_max_pool(IfmBack *back)
{
    IfmWindows windows;
    if (!back->is_live || ifm_back_output(back, 1) != NULL || back->y == NULL)
        return FALSE;
    if (!ifm_windows_read(back, NULL, &windows) || is_compared(&windows))
        return FALSE;
    back->last = ifm_model_builder_copy_node(back->builder, back->node);
    ifm_back_keep(back, "indices", ifm_back_more(back, 1));
    return TRUE;
}

static gboolean windows_overlap(const IfmWindows *windows)
{
    for (int i = 0; i < windows->n_space; i++)
        if (windows->stride[i] < (windows->kernel[i] - 1) * windows->dilation[i] + 1)
            return TRUE;
    return FALSE;
}

/* flat_zeros: as many as the input has elements. */
static const char *flat_zeros(IfmBack *back, const IfmBackShape *x)
{
    gint64 n = ifm_back_n_elements(x, 0, x->rank);
    const char *size = n >= 0 ? ifm_back_number(back, n)
                              : ifm_back_reshape_dims(back, ifm_back_op(back, "Size", back->x, NULL), (gint64[]){ 1 }, 1);
    const char *zeros = ifm_back_op(back, "ConstantOfShape", size, NULL);
    return x->dtype == IFM_DTYPE_F32 ? zeros : ifm_back_cast(back, zeros, x->dtype);
}

/* scatter: gives g, at @indices along @axis of @zeros, all of them shaped as @dims. */
static void scatter(IfmBack *back, const IfmWindows *windows, const char *zeros, const char *indices, const gint64 *dims,
                    int rank)
{
    const char *g = ifm_back_reshape_dims(back, back->g, dims, rank);
    indices = ifm_back_reshape_dims(back, indices, dims, rank);
    const char *scattered = ifm_back_op(back, "ScatterElements", zeros, indices, g, NULL);
    ifm_back_int(back, "axis", rank - 1);
    if (windows_overlap(windows))
        ifm_model_builder_string(back->builder, back->last, "reduction", "add");
    ifm_back_give(back, 0, ifm_back_reshape(back, scattered, back->x));
}

/* pitch_of: how far apart neighbours on one axis are in a channel. */
static gint64 pitch_of(const IfmWindows *windows, int axis)
{
    gint64 pitch = 1;
    for (int i = axis + 1; i < windows->n_space; i++)
        pitch *= windows->in[i];
    return pitch;
}

/* first_inside: of the positions of window @at on one axis, relative to where it begins. */
static gint64 first_inside(const IfmWindows *windows, int axis, gint64 at)
{
    gint64 begin = at * windows->stride[axis] - windows->begin[axis], first = begin;
    for (gint64 i = 1; first < 0 && i < windows->kernel[axis]; i++)
        first += windows->dilation[axis];
    return CLAMP(first, 0, windows->in[axis] - 1) - begin;
}

/*
 * of_windows: f32 [1, 1, out …]: of each window where it begins in its channel, or how far behind that the first element is
 * that is not padding.
 */
static const char *of_windows(IfmBack *back, const IfmWindows *windows, gboolean is_begin)
{
    const char *sum = NULL;
    for (int axis = 0; axis < windows->n_space; axis++)
    {
        gint64 shape[IFM_MAX_RANK], n = windows->out[axis];
        g_autofree double *values = g_new(double, n + 1);
        for (int i = 0; i < windows->n_space + 2; i++)
            shape[i] = i == axis + 2 ? n : 1;
        for (gint64 at = 0; at < n; at++)
            values[at] = (double)(pitch_of(windows, axis) * (is_begin ? at * windows->stride[axis] - windows->begin[axis]
                                                                      : first_inside(windows, axis, at)));
        const char *term = ifm_back_values(back, IFM_DTYPE_F32, windows->n_space + 2, shape, values);
        sum = sum == NULL ? term : ifm_back_add(back, sum, term);
    }
    return sum;
}

/* offset_of: @position: index into the window, row-major    Returns: how far behind the window's beginning it is */
static double offset_of(const IfmWindows *windows, gint64 position)
{
    gint64 offset = 0;
    for (int i = windows->n_space; i-- > 0; position /= windows->kernel[i])
        offset += position % windows->kernel[i] * windows->dilation[i] * pitch_of(windows, i);
    return (double)offset;
}

/*
 * compared: i64 [N, C, out …]: where in its channel each maximum is. Equal ones: the first, as what follows has to be more.
 * Padding is never more; where nothing else is either, it is the first element that is not padding. The maxima themselves
 * are not asked, which an engine may have rounded.
 */
static const char *compared(IfmBack *back, const IfmWindows *windows, IfmDtype dtype)
{
    gint64 n_positions = 1;
    const char *min = ifm_back_scalar(back, dtype, -INFINITY);
    g_auto(IfmWindowView) view = ifm_window_view(back, windows, min);
    gboolean is_padded = view.padded != back->x;
    for (int i = 0; i < windows->n_space; i++)
        n_positions *= windows->kernel[i];
    const char *offset = is_padded ? of_windows(back, windows, FALSE) : ifm_back_scalar(back, IFM_DTYPE_F32, 0);
    const char *max = is_padded ? min : ifm_window_view_at(back, &view, 0);
    for (gint64 i = is_padded ? 0 : 1; i < n_positions; i++)
    {
        const char *seen = ifm_window_view_at(back, &view, i), *is_more = ifm_back_op(back, "Greater", seen, max, NULL);
        const char *here = ifm_back_scalar(back, IFM_DTYPE_F32, offset_of(windows, i));
        offset = ifm_back_op(back, "Where", is_more, here, offset, NULL);
        if (i < n_positions - 1)
            max = i == 0 ? seen : ifm_back_op(back, "Max", max, seen, NULL);
    }
    return ifm_back_cast(back, ifm_back_add(back, offset, of_windows(back, windows, TRUE)), IFM_DTYPE_I64);
}

/* g, scattered to where the maxima were: within each channel, or by an index into the whole input */
static void max_pool_rule(IfmBack *back)
{
    IfmWindows windows;
    const IfmBackShape x = ifm_back_shape(back, back->x);
    const char *indices = ifm_back_output(back, 1) != NULL ? ifm_back_output(back, 1) : ifm_back_kept(back, "indices");
    if (!ifm_windows_read(back, NULL, &windows))
        return;
    if (indices == NULL)
    {
        gint64 n_in = 1, n_out = 1;
        for (int i = 0; i < windows.n_space; i++)
        {
            n_in *= windows.in[i];
            n_out *= windows.out[i];
        }
        const char *zeros = ifm_back_reshape_dims(back, flat_zeros(back, &x), (gint64[]){ -1, n_in }, 2);
        scatter(back, &windows, zeros, compared(back, &windows, x.dtype), (gint64[]){ -1, n_out }, 2);
    }
    else if (ifm_node_int(back->node, "storage_order", 0) != 0)
        ifm_back_fail(back, "storage_order 1: no gradient rule");
    else
        scatter(back, &windows, flat_zeros(back, &x), indices, (gint64[]){ -1 }, 1);
}

/* --- average ------------------------------------------------------------------------------------------------------ */

#define MAX_ELEMENTS (1 << 24) /* of a constant that an average's gradient carries */

/* how_many: Equals: number of i in [0, n) with first + i step < end */
static gint64 how_many(gint64 n, gint64 first, gint64 step, gint64 end)
{
    return first >= end ? 0 : MIN(n, (end - first - 1) / step + 1);
}

/* count_on_axis: how many elements of window @at count on one axis. */
static gint64 count_on_axis(const IfmWindows *windows, int axis, gint64 at, gboolean with_pads)
{
    gint64 first = at * windows->stride[axis] - windows->begin[axis], step = windows->dilation[axis];
    gint64 min = with_pads ? -windows->begin[axis] : 0;
    gint64 end = windows->in[axis] + (with_pads ? windows->end[axis] : 0);
    return how_many(windows->kernel[axis], first, step, end) - how_many(windows->kernel[axis], first, step, min);
}

/* shares: 1 / (elements that count) of each window, [1, 1, out …]: where all have the same, a scalar. */
static const char *shares(IfmBack *back, const IfmWindows *windows, IfmDtype dtype, gboolean with_pads)
{
    gint64 shape[IFM_MAX_RANK] = { 1, 1 }, n_kernel = 1;
    gboolean is_plain = TRUE;
    for (int i = 0; i < windows->n_space; i++)
    {
        is_plain = is_plain && windows->beyond[i] == 0 && (with_pads || (windows->begin[i] == 0 && windows->end[i] == 0));
        n_kernel *= windows->kernel[i];
        shape[2 + i] = windows->out[i];
    }
    if (is_plain)
        return ifm_back_scalar(back, dtype, 1 / (double)n_kernel);
    if (!ifm_windows_are_fixed(windows))
    {
        ifm_back_fail(back, "a gradient of averages without the padding needs the height and width of '%s' (bind them)",
                      back->x);
        return "";
    }
    gint64 n = ifm_windows_count(back, windows->out, windows->n_space, MAX_ELEMENTS, "windows with padding in a channel");
    if (n < 0)
        return "";
    g_autofree double *values = g_new(double, n + 1);
    for (gint64 at = 0; at < n; at++)
    {
        gint64 rest = at, count = 1;
        for (int i = windows->n_space; i-- > 0; rest /= windows->out[i])
            count *= count_on_axis(windows, i, rest % windows->out[i], with_pads);
        values[at] = 1 / (double)MAX(count, 1);
    }
    return ifm_back_values(back, dtype, windows->n_space + 2, shape, values);
}

/* images: [N C, 1, space …]: a window goes over each channel by itself. FALSE: failed */
static const char *images(IfmBack *back, const char *value, const gint64 *space, int n_space)
{
    gint64 dims[IFM_MAX_RANK] = { -1, 1 };
    for (int i = 0; i < n_space; i++)
        dims[2 + i] = space[i];
    return ifm_back_reshape_dims(back, value, dims, n_space + 2);
}

/* g / count, spread over each window */
static void average_pool_rule(IfmBack *back)
{
    IfmWindows windows;
    gint64 shape[IFM_MAX_RANK] = { 1, 1 };
    IfmDtype dtype = ifm_back_dtype(back, back->x);
    if (!ifm_windows_read(back, NULL, &windows))
        return;
    if (!ifm_windows_are_fixed(&windows))
    {
        ifm_back_fail(back, "its gradient needs the height and width of '%s' (bind them)", back->x);
        return;
    }
    gint64 n = ifm_windows_count(back, windows.kernel, windows.n_space, MAX_ELEMENTS, "elements in a window");
    if (n < 0)
        return;
    memcpy(shape + 2, windows.kernel, (gsize)windows.n_space * sizeof shape[0]);
    g_autofree double *ones = g_new(double, n);
    for (gint64 i = 0; i < n; i++)
        ones[i] = 1;
    gboolean with_pads = ifm_node_int(back->node, "count_include_pad", 0) != 0;
    const char *share = ifm_back_mul(back, back->g, shares(back, &windows, dtype, with_pads));
    const char *one_by_one = images(back, share, windows.out, windows.n_space);
    const char *weight = ifm_back_values(back, dtype, windows.n_space + 2, shape, ones);
    const char *spread = ifm_windows_spread(back, &windows, one_by_one, weight, 1);
    ifm_back_give(back, 0, ifm_back_reshape(back, spread, back->x));
}

static void global_average_pool_rule(IfmBack *back)
{
    const int rank = ifm_back_shape(back, back->x).rank;
    int axes[IFM_MAX_RANK];
    for (int i = 2; i < rank; i++)
        axes[i - 2] = i;
    const char *share = ifm_back_share(back, back->g, back->x, axes, MAX(rank - 2, 0));
    ifm_back_give(back, 0, ifm_back_expand(back, share, back->x));
}

const IfmGradientRule ifm_gradients_pooling[] = {
    { "AveragePool", average_pool_rule },
    { "GlobalAveragePool", global_average_pool_rule },
    { "MaxPool", max_pool_rule, forward_max_pool },
    { NULL },
};
