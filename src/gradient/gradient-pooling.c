/* Rules of poolings. In comments g is the gradient of the output. */
#include <string.h>

#include "gradient-windows.h"

/* --- maximum ------------------------------------------------------------------------------------------------------------
 */

/* Where each maximum was found is the operator's second output, an index into the whole input: asked of the forward node.
 */
gboolean ifm_forward_max_pool(IfmBack *back)
{
    if (!back->is_live || ifm_back_output(back, 1) != NULL || ifm_back_output(back, 0) == NULL)
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
    const char *size =
        n >= 0 ? ifm_back_number(back, n)
               : ifm_back_reshape_dims(back, ifm_back_op(back, "Size", ifm_back_input(back, 0), NULL), (gint64[]){ 1 }, 1);
    const char *zeros = ifm_back_op(back, "ConstantOfShape", size, NULL);
    return x->dtype == IFM_DTYPE_F32 ? zeros : ifm_back_cast(back, zeros, x->dtype);
}

/* g, scattered to where the maxima were */
IFM_GRADIENT_RULE(max_pool)
{
    IfmWindows windows;
    IfmBackShape x;
    const char *indices = ifm_back_output(back, 1) != NULL ? ifm_back_output(back, 1) : ifm_back_kept(back, "indices");
    if (!ifm_back_shape(back, ifm_back_input(back, 0), &x) || !ifm_windows_read(back, NULL, &windows))
        return;
    if (ifm_node_int(back->node, "storage_order", 0) != 0)
    {
        ifm_back_fail(back, "storage_order 1: no gradient rule");
        return;
    }
    const char *flat_indices = ifm_back_reshape_dims(back, indices, (gint64[]){ -1 }, 1);
    const char *flat = ifm_back_reshape_dims(back, ifm_back_gradient(back, 0), (gint64[]){ -1 }, 1);
    const char *scattered = ifm_back_op(back, "ScatterElements", flat_zeros(back, &x), flat_indices, flat, NULL);
    ifm_back_int(back, "axis", 0);
    if (windows_overlap(&windows))
        ifm_model_builder_string(back->builder, back->last, "reduction", "add");
    ifm_back_give(back, 0, ifm_back_reshape(back, scattered, ifm_back_input(back, 0)));
}

/* --- average ------------------------------------------------------------------------------------------------------------
 */

#define MOST_ELEMENTS (1 << 24) /* of a constant that an average's gradient carries */

/* how_many: Equals: number of i in [0, n) with first + i step < end */
static gint64 how_many(gint64 n, gint64 first, gint64 step, gint64 end)
{
    return first >= end ? 0 : MIN(n, (end - first - 1) / step + 1);
}

/* count_on_axis: how many elements of window @at count on one axis. */
static gint64 count_on_axis(const IfmWindows *windows, int axis, gint64 at, gboolean with_pads)
{
    gint64 first = at * windows->stride[axis] - windows->begin[axis], step = windows->dilation[axis];
    gint64 least = with_pads ? -windows->begin[axis] : 0;
    gint64 end = windows->in[axis] + (with_pads ? windows->end[axis] : 0);
    return how_many(windows->kernel[axis], first, step, end) - how_many(windows->kernel[axis], first, step, least);
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
                      ifm_back_input(back, 0));
        return "";
    }
    gint64 n = ifm_windows_count(back, windows->out, windows->n_space, MOST_ELEMENTS, "windows with padding in a channel");
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
IFM_GRADIENT_RULE(average_pool)
{
    IfmWindows windows;
    gint64 shape[IFM_MAX_RANK] = { 1, 1 };
    IfmDtype dtype = ifm_back_dtype(back, ifm_back_input(back, 0));
    if (!ifm_windows_read(back, NULL, &windows))
        return;
    if (!ifm_windows_are_fixed(&windows))
    {
        ifm_back_fail(back, "its gradient needs the height and width of '%s' (bind them)", ifm_back_input(back, 0));
        return;
    }
    gint64 n = ifm_windows_count(back, windows.kernel, windows.n_space, MOST_ELEMENTS, "elements in a window");
    if (n < 0)
        return;
    memcpy(shape + 2, windows.kernel, (gsize)windows.n_space * sizeof shape[0]);
    g_autofree double *ones = g_new(double, n);
    for (gint64 i = 0; i < n; i++)
        ones[i] = 1;
    gboolean with_pads = ifm_node_int(back->node, "count_include_pad", 0) != 0;
    const char *share = ifm_back_mul(back, ifm_back_gradient(back, 0), shares(back, &windows, dtype, with_pads));
    const char *one_by_one = images(back, share, windows.out, windows.n_space);
    const char *weight = ifm_back_values(back, dtype, windows.n_space + 2, shape, ones);
    const char *spread = ifm_windows_spread(back, &windows, one_by_one, weight, 1);
    ifm_back_give(back, 0, ifm_back_reshape(back, spread, ifm_back_input(back, 0)));
}

IFM_GRADIENT_RULE(global_average_pool)
{
    const char *x = ifm_back_input(back, 0);
    int axes[IFM_MAX_RANK];
    IfmBackShape shape;
    if (!ifm_back_shape(back, x, &shape))
        return;
    for (int i = 2; i < shape.rank; i++)
        axes[i - 2] = i;
    const char *share = ifm_back_share(back, ifm_back_gradient(back, 0), x, axes, MAX(shape.rank - 2, 0));
    ifm_back_give(back, 0, ifm_back_expand(back, share, x));
}
