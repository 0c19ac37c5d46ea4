/* Rules of convolutions, and how windows lie. In comments g is the gradient of the output y = x * w. */
#include <string.h>

#include "gradient-windows.h"

/* --- windows ------------------------------------------------------------------------------------------------------------
 */

static void read_ints(const IfmNode *node, const char *attribute, gint64 fallback, gint64 *values, int n)
{
    gsize n_given;
    const gint64 *given = ifm_node_ints(node, attribute, &n_given);
    for (int i = 0; i < n; i++)
        values[i] = (gsize)i < n_given ? given[i] : fallback;
}

/* lay: Pads of one axis that auto_pad leaves to be computed, and what is left over at its end. */
static gboolean lay(IfmBack *back, IfmWindows *windows, int axis, const char *auto_pad)
{
    gint64 in = windows->in[axis], out = windows->out[axis], stride = windows->stride[axis];
    gint64 reach = (windows->kernel[axis] - 1) * windows->dilation[axis] + 1;
    gboolean is_same = g_str_has_prefix(auto_pad, "SAME");
    if (g_str_equal(auto_pad, "VALID"))
        windows->begin[axis] = windows->end[axis] = 0;
    windows->rest[axis] = windows->beyond[axis] = 0;
    if ((in < 0 || out < 0) && (stride != 1 || is_same))
    {
        ifm_back_fail(back, "axis %d of '%s' is free; a gradient of strides or of auto_pad needs its size (bind it)",
                      axis + 2, ifm_back_input(back, 0));
        return FALSE;
    }
    if (in < 0 || out < 0)
        return TRUE;
    gint64 total = MAX((out - 1) * stride + reach - in, 0);
    if (is_same)
    {
        windows->begin[axis] = g_str_equal(auto_pad, "SAME_UPPER") ? total / 2 : (total + 1) / 2;
        windows->end[axis] = total - windows->begin[axis];
    }
    gint64 left = in + windows->begin[axis] + windows->end[axis] - ((out - 1) * stride + reach);
    windows->rest[axis] = MAX(left, 0);
    windows->beyond[axis] = MAX(-left, 0);
    return TRUE;
}

gboolean ifm_windows_read(IfmBack *back, const gint64 *kernel, IfmWindows *windows)
{
    IfmBackShape x, y;
    gint64 pads[2 * IFM_MAX_SPACE];
    if (!ifm_back_shape(back, ifm_back_input(back, 0), &x) || !ifm_back_shape(back, ifm_back_output(back, 0), &y))
        return FALSE;
    if (x.rank < 3 || y.rank != x.rank)
    {
        ifm_back_fail(back, "its input has no axis for windows: no gradient rule");
        return FALSE;
    }
    int n = windows->n_space = x.rank - 2;
    memcpy(windows->in, x.dims + 2, (gsize)n * sizeof x.dims[0]);
    memcpy(windows->out, y.dims + 2, (gsize)n * sizeof y.dims[0]);
    read_ints(back->node, "kernel_shape", 1, windows->kernel, n);
    if (kernel != NULL)
        memcpy(windows->kernel, kernel, (gsize)n * sizeof kernel[0]);
    read_ints(back->node, "strides", 1, windows->stride, n);
    read_ints(back->node, "dilations", 1, windows->dilation, n);
    read_ints(back->node, "pads", 0, pads, 2 * n);
    memcpy(windows->begin, pads, (gsize)n * sizeof pads[0]);
    memcpy(windows->end, pads + n, (gsize)n * sizeof pads[0]);
    windows->group = ifm_node_int(back->node, "group", 1);
    const char *auto_pad = ifm_node_string(back->node, "auto_pad", "NOTSET");
    for (int i = 0; i < n; i++)
        if (!lay(back, windows, i, auto_pad))
            return FALSE;
    return TRUE;
}

gboolean ifm_windows_are_fixed(const IfmWindows *windows)
{
    for (int i = 0; i < windows->n_space; i++)
        if (windows->in[i] < 0 || windows->out[i] < 0)
            return FALSE;
    return TRUE;
}

void ifm_windows_pads(const IfmWindows *windows, gint64 *pads)
{
    for (int i = 0; i < windows->n_space; i++)
    {
        pads[i] = windows->begin[i];
        pads[windows->n_space + i] = windows->end[i] + windows->beyond[i];
    }
}

gint64 ifm_windows_count(IfmBack *back, const gint64 *sizes, int n, gint64 most, const char *what)
{
    gint64 product = 1;
    for (int i = 0; i < n; i++)
    {
        if (sizes[i] > most / MAX(product, 1))
        {
            ifm_back_fail(back, "more than %" G_GINT64_FORMAT " %s: no gradient rule", most, what);
            return -1;
        }
        product *= MAX(sizes[i], 0);
    }
    return product;
}

static gboolean any(const gint64 *values, int n, gint64 but)
{
    for (int i = 0; i < n; i++)
        if (values[i] != but)
            return TRUE;
    return FALSE;
}

const char *ifm_windows_spread(IfmBack *back, const IfmWindows *windows, const char *value, const char *weight,
                               gint64 group)
{
    gint64 pads[2 * IFM_MAX_SPACE];
    gsize n = (gsize)windows->n_space;
    ifm_windows_pads(windows, pads);
    const char *spread = ifm_back_op(back, "ConvTranspose", value, weight, NULL);
    ifm_back_ints(back, "kernel_shape", windows->kernel, n);
    ifm_back_ints(back, "strides", windows->stride, n);
    ifm_back_ints(back, "dilations", windows->dilation, n);
    ifm_back_ints(back, "pads", pads, 2 * n);
    ifm_back_int(back, "group", group);
    if (any(windows->rest, windows->n_space, 0))
        ifm_back_ints(back, "output_padding", windows->rest, n);
    return spread;
}

/* --- the weight's gradient ----------------------------------------------------------------------------------------------
 */

/*
 * by_products: dw[:, :, i, j] = sum over n of g[n] (x at window position (i, j))[n]^T: for each position of the window a
 * strided slice of the padded input and a matrix product.
 */
typedef struct
{
    const IfmWindows *windows;
    const char *rows;   /* g as [N, group, M / group, positions] */
    const char *padded; /* x */
    gint64 n_groups, per_group;
} Products;

static const char *pad_input(IfmBack *back, const IfmWindows *windows)
{
    gint64 pads[2 * IFM_MAX_RANK] = { 0 };
    int rank = windows->n_space + 2;
    const char *x = ifm_back_input(back, 0);
    for (int i = 0; i < windows->n_space; i++)
    {
        pads[2 + i] = windows->begin[i];
        pads[rank + 2 + i] = windows->end[i];
    }
    return any(pads, 2 * rank, 0) ? ifm_back_op(back, "Pad", x, ifm_back_list(back, pads, 2 * (gsize)rank), NULL) : x;
}

/* ends_of: where the slice of each axis ends; a free one (its stride is 1) as far behind its start as the output is long.
 */
static const char *ends_of(IfmBack *back, const IfmWindows *windows, const gint64 *starts)
{
    gint64 ends[IFM_MAX_SPACE];
    const char *y = ifm_back_output(back, 0);
    g_autoptr(GPtrArray) parts = g_ptr_array_new();
    for (int i = 0; i < windows->n_space; i++)
        ends[i] = starts[i] + (windows->out[i] - 1) * windows->stride[i] + 1;
    if (ifm_windows_are_fixed(windows))
        return ifm_back_list(back, ends, (gsize)windows->n_space);
    for (int i = 0; i < windows->n_space; i++)
    {
        const char *end = ifm_back_number(back, windows->out[i] >= 0 ? ends[i] : starts[i]);
        if (windows->out[i] < 0)
            end = ifm_back_add(back, ifm_back_size_of(back, y, i + 2), end);
        g_ptr_array_add(parts, (gpointer)end);
    }
    const char *list = ifm_back_op_list(back, NULL, "Concat", parts);
    ifm_back_int(back, "axis", 0);
    return list;
}

/* at_position: @position: index into the window, row-major    Returns: [N, group, C / group, outputs of a channel] */
static const char *at_position(IfmBack *back, const Products *of, gint64 position)
{
    const IfmWindows *windows = of->windows;
    gint64 starts[IFM_MAX_SPACE], axes[IFM_MAX_SPACE];
    gsize n = (gsize)windows->n_space;
    gboolean is_whole = TRUE;
    for (gsize i = n; i-- > 0; position /= windows->kernel[i])
    {
        axes[i] = (gint64)i + 2;
        starts[i] = position % windows->kernel[i] * windows->dilation[i];
        is_whole = is_whole && windows->kernel[i] == 1 && windows->stride[i] == 1;
    }
    const char *slice = of->padded;
    if (!is_whole)
        slice = ifm_back_op(back, "Slice", slice, ifm_back_list(back, starts, n), ends_of(back, windows, starts),
                            ifm_back_list(back, axes, n), ifm_back_list(back, windows->stride, n), NULL);
    return ifm_back_reshape_dims(back, slice, (gint64[]){ 0, of->n_groups, of->per_group, -1 }, 4);
}

#define MOST_POSITIONS 4096 /* a handful of nodes for each: a kernel of 64 x 64 */

static void by_products(IfmBack *back, const IfmWindows *windows, const IfmBackShape *w)
{
    gint64 n_positions =
        ifm_windows_count(back, windows->kernel, windows->n_space, MOST_POSITIONS, "positions of a convolution's window");
    if (n_positions < 0)
        return;
    gint64 n_groups = windows->group, outputs = w->dims[0], per_group = w->dims[1];
    Products of = { windows, NULL, pad_input(back, windows), n_groups, per_group };
    of.rows = ifm_back_reshape_dims(back, ifm_back_gradient(back, 0), (gint64[]){ 0, n_groups, outputs / n_groups, -1 }, 4);
    g_autoptr(GPtrArray) parts = g_ptr_array_new();
    for (gint64 i = 0; i < n_positions; i++)
    {
        const char *columns = at_position(back, &of, i);
        columns = ifm_back_transpose(back, columns, (int[]){ 0, 1, 3, 2 }, 4);
        const char *product = ifm_back_op(back, "MatMul", of.rows, columns, NULL);
        product = ifm_back_sum(back, product, (int[]){ 0 }, 1, FALSE);
        g_ptr_array_add(parts, (gpointer)ifm_back_reshape_dims(back, product, (gint64[]){ outputs, per_group, 1 }, 3));
    }
    const char *all = g_ptr_array_index(parts, 0);
    if (n_positions > 1)
    {
        all = ifm_back_op_list(back, NULL, "Concat", parts);
        ifm_back_int(back, "axis", 2);
    }
    ifm_back_give(back, 1, ifm_back_reshape(back, all, ifm_back_input(back, 1)));
}

/*
 * own_weight: The forward convolution's weight under another address. OpenVINO's CPU device keeps weights that it has laid
 * out anew by their address and layout; where a convolution and its transpose share a constant of as many channels in as
 * out, the one gets what was laid out for the other, and answers wrong (2026.4). Turned round twice it is folded into a
 * constant of its own; a Gather of all rows, or a Concat of two halves, is seen through.
 */
static const char *own_weight(IfmBack *back)
{
    const char *weight = ifm_back_input(back, 1), *first = ifm_back_number(back, -1);
    if (!ifm_back_is_constant(back, weight))
        return weight;
    for (int turn = 0; turn < 2; turn++)
        weight = ifm_back_op(back, "Slice", weight, first, ifm_back_number(back, G_MININT64 + 1), ifm_back_number(back, 0),
                             first, NULL);
    return weight;
}

IFM_GRADIENT_RULE(conv)
{
    const char *g = ifm_back_gradient(back, 0), *y = ifm_back_output(back, 0);
    int axes[IFM_MAX_RANK];
    IfmBackShape w;
    IfmWindows windows;
    if (!ifm_back_shape(back, ifm_back_input(back, 1), &w))
        return;
    if (ifm_back_n_elements(&w, 0, w.rank) < 1)
    {
        ifm_back_fail(back, "weight '%s' has a free dimension, or none", ifm_back_input(back, 1));
        return;
    }
    if (!ifm_windows_read(back, w.dims + 2, &windows))
        return;
    if (ifm_back_wants(back, 0))
        ifm_back_give(back, 0, ifm_windows_spread(back, &windows, g, own_weight(back), windows.group));
    if (ifm_back_wants(back, 1))
        by_products(back, &windows, &w);
    for (int i = 0; i < w.rank - 1; i++)
        axes[i] = i == 0 ? 0 : i + 1;
    if (ifm_back_wants(back, 2) && ifm_back_dtype(back, y) != IFM_DTYPE_UNDEFINED)
        ifm_back_give(back, 2, ifm_back_sum(back, g, axes, w.rank - 1, FALSE));
}
