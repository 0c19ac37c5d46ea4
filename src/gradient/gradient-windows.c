/* The positions of the windows of convolutions and poolings, and the elements that they read. */
#include <string.h>

#include "gradient-windows.h"

static void read_ints(const IfmNode *node, const char *attribute, gint64 fallback, gint64 *values, int n)
{
    gsize n_given;
    const gint64 *given = ifm_node_ints(node, attribute, &n_given);
    for (int i = 0; i < n; i++)
        values[i] = (gsize)i < n_given ? given[i] : fallback;
}

/* lay: Computes the pads of one axis for auto_pad, and the elements left over at its end. */
static gboolean lay(IfmBack *back, IfmWindows *windows, int axis, const char *auto_pad)
{
    gint64 in = windows->in[axis], out = windows->out[axis], stride = windows->stride[axis];
    gint64 reach = (windows->kernel[axis] - 1) * windows->dilation[axis] + 1;
    gboolean is_same = g_str_has_prefix(auto_pad, "SAME");
    windows->rest[axis] = windows->beyond[axis] = 0;
    if ((in < 0 || out < 0) && (stride != 1 || is_same))
    {
        ifm_back_fail(back, "axis %d of '%s' is free; a gradient of strides or of auto_pad needs its size (bind it)",
                      axis + 2, back->x);
        return FALSE;
    }
    gint64 pads[] = { windows->begin[axis], windows->end[axis] };
    ifm_window_pads(auto_pad, in, stride, reach, pads);
    windows->begin[axis] = pads[0];
    windows->end[axis] = pads[1];
    if (in < 0 || out < 0)
        return TRUE;
    gint64 left = in + windows->begin[axis] + windows->end[axis] - ((out - 1) * stride + reach);
    windows->rest[axis] = MAX(left, 0);
    windows->beyond[axis] = MAX(-left, 0);
    return TRUE;
}

/* read_windows: Sizes and attributes. @seen: what they lie on    @counted: there is one for each of its elements */
static gboolean read_windows(IfmBack *back, const gint64 *kernel, const char *seen, const char *counted,
                             IfmWindows *windows)
{
    const IfmBackShape x = ifm_back_shape(back, seen), y = ifm_back_shape(back, counted);
    gint64 pads[2 * IFM_MAX_SPACE];
    windows->seen = seen;
    windows->counted = counted;
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
    return TRUE;
}

gboolean ifm_windows_read(IfmBack *back, const gint64 *kernel, IfmWindows *windows)
{
    if (!read_windows(back, kernel, back->x, back->y, windows))
        return FALSE;
    const char *auto_pad = ifm_node_string(back->node, "auto_pad", "NOTSET");
    for (int i = 0; i < windows->n_space; i++)
        if (!lay(back, windows, i, auto_pad))
            return FALSE;
    return TRUE;
}

gboolean ifm_windows_read_transposed(IfmBack *back, const gint64 *kernel, IfmWindows *windows)
{
    gsize n_shape;
    const char *auto_pad = ifm_node_string(back->node, "auto_pad", "NOTSET");
    if (!read_windows(back, kernel, back->y, back->x, windows))
        return FALSE;
    if (g_str_has_prefix(auto_pad, "SAME") || ifm_node_ints(back->node, "output_shape", &n_shape) != NULL)
    {
        ifm_back_fail(back, "auto_pad or output_shape: no gradient rule");
        return FALSE;
    }
    windows->seen = back->g;
    read_ints(back->node, "output_padding", 0, windows->rest, windows->n_space);
    for (int i = 0; i < windows->n_space; i++)
    {
        if (g_str_equal(auto_pad, "VALID"))
            windows->begin[i] = windows->end[i] = 0;
        windows->beyond[i] = 0;
        if (windows->rest[i] >= windows->stride[i])
            ifm_back_fail(back, "output_padding of a stride or more: no gradient rule");
        else if (windows->stride[i] != 1 && (windows->in[i] < 0 || windows->out[i] < 0))
            ifm_back_fail(back, "axis %d of '%s' is free; a gradient of strides needs its size (bind it)", i + 2,
                          windows->counted);
    }
    return back->error == NULL;
}

gboolean ifm_windows_are_fixed(const IfmWindows *windows)
{
    for (int i = 0; i < windows->n_space; i++)
        if (windows->in[i] < 0 || windows->out[i] < 0)
            return FALSE;
    return TRUE;
}

/* write_pads: As the attribute "pads" has them. @pads: (out) [2 n_space] */
static void write_pads(const IfmWindows *windows, gint64 *pads)
{
    for (int i = 0; i < windows->n_space; i++)
    {
        pads[i] = windows->begin[i];
        pads[windows->n_space + i] = windows->end[i] + windows->beyond[i];
    }
}

gint64 ifm_windows_count(IfmBack *back, const gint64 *sizes, int n, gint64 max, const char *what)
{
    gint64 product = 1;
    for (int i = 0; i < n; i++)
    {
        if (sizes[i] > max / MAX(product, 1))
        {
            ifm_back_fail(back, "more than %" G_GINT64_FORMAT " %s: no gradient rule", max, what);
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
    write_pads(windows, pads);
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

/* --- elements that they read, by position ------------------------------------------------------------------------- */

/* padded: @value: the input, whose spatial axes begin at @axis. */
static const char *padded(IfmBack *back, const IfmWindows *windows, const char *value, int axis, const char *fill)
{
    gint64 around[2 * IFM_MAX_SPACE], pads[2 * IFM_MAX_RANK] = { 0 };
    int n = windows->n_space, rank = n + 2;
    write_pads(windows, around);
    for (int i = 0; i < n; i++)
    {
        pads[axis + i] = around[i];
        pads[rank + axis + i] = around[n + i];
    }
    if (!any(pads, 2 * rank, 0))
        return value;
    return ifm_back_op(back, "Pad", value, ifm_back_list(back, pads, 2 * (gsize)rank), fill, NULL);
}

/* Every other column, say, is slow to pick out: where several positions share them, that is done once for all. */
IfmWindowView ifm_window_view(IfmBack *back, const IfmWindows *windows, const char *fill)
{
    IfmWindowView view = { windows, padded(back, windows, windows->seen, 2, fill), 2, 1, NULL };
    int last = windows->n_space - 1;
    double n_positions = 1, n_picked = (double)MIN(windows->stride[last], windows->kernel[last]);
    for (int i = 0; i <= last; i++)
    {
        n_positions *= (double)windows->kernel[i];
        n_picked *= i < last ? (double)windows->stride[i] : 1;
    }
    if (windows->stride[last] > 1 && n_positions > n_picked)
        view.columns = g_new0(const char *, windows->kernel[last]);
    return view;
}

/*
 * Without strides a row of the image is one run of numbers, and made one axis: OpenVINO takes four for channels first and
 * lays what it slices out anew, twice.
 */
IfmWindowView ifm_window_view_rows(IfmBack *back, const IfmWindows *windows, gint64 n_channels)
{
    IfmWindowView view = { windows, NULL, 1, 1, NULL };
    gint64 dims[IFM_MAX_RANK] = { -1 };
    int order[IFM_MAX_RANK] = { 0 }, n = windows->n_space;
    for (int i = 0; i < n; i++)
    {
        order[i + 1] = i + 2;
        dims[i + 1] = windows->begin[i] + windows->in[i] + windows->end[i];
    }
    order[n + 1] = 1;
    view.padded = ifm_back_transpose(back, windows->seen, order, n + 2);
    view.padded = padded(back, windows, view.padded, 1, NULL);
    if (windows->stride[n - 1] != 1 || !ifm_windows_are_fixed(windows))
        return view;
    view.width = n_channels;
    dims[n] *= n_channels;
    view.padded = ifm_back_reshape_dims(back, view.padded, dims, n + 1);
    return view;
}

void ifm_window_view_clear(IfmWindowView *view)
{
    g_free(view->columns);
}

/* column_of: the columns that the window's position @at on the last axis reads, and others that it does not. */
static const char *column_of(IfmBack *back, IfmWindowView *view, gint64 at)
{
    const IfmWindows *windows = view->windows;
    int last = windows->n_space - 1;
    gint64 stride = windows->stride[last], dilation = windows->dilation[last], first = at * dilation % stride, same = 0;
    gint64 end = windows->begin[last] + windows->in[last] + windows->end[last] + windows->beyond[last];
    while (same * dilation % stride != first)
        same++;
    if (view->columns[same] == NULL)
        view->columns[same] =
            ifm_back_op(back, "Slice", view->padded, ifm_back_number(back, first), ifm_back_number(back, end),
                        ifm_back_number(back, view->axis + last), ifm_back_number(back, stride), NULL);
    return view->columns[same];
}

/* ends_of: where the slice of each axis ends; a free one (its step is 1) as far behind its start as the output is long. */
static const char *ends_of(IfmBack *back, const IfmWindowView *view, const gint64 *starts, const gint64 *steps)
{
    const IfmWindows *windows = view->windows;
    gint64 ends[IFM_MAX_SPACE];
    int last = windows->n_space - 1;
    g_autoptr(GPtrArray) parts = g_ptr_array_new();
    for (int i = 0; i < windows->n_space; i++)
        ends[i] = starts[i] + (windows->out[i] - 1) * steps[i] + 1;
    ends[last] += windows->out[last] * (view->width - 1);
    if (ifm_windows_are_fixed(windows))
        return ifm_back_list(back, ends, (gsize)windows->n_space);
    for (int i = 0; i < windows->n_space; i++)
    {
        const char *end = ifm_back_number(back, windows->out[i] >= 0 ? ends[i] : starts[i]);
        if (windows->out[i] < 0)
            end = ifm_back_add(back, ifm_back_size_of(back, windows->counted, i + 2), end);
        g_ptr_array_add(parts, (gpointer)end);
    }
    return ifm_back_op_list(back, NULL, "Concat axis=0", parts);
}

const char *ifm_window_view_at(IfmBack *back, IfmWindowView *view, gint64 position)
{
    const IfmWindows *windows = view->windows;
    gint64 starts[IFM_MAX_SPACE] = { 0 }, steps[IFM_MAX_SPACE] = { 0 }, axes[IFM_MAX_SPACE];
    gsize n = (gsize)windows->n_space, last = n - 1;
    const char *value = view->padded;
    if (!any(windows->kernel, windows->n_space, 1) && !any(windows->stride, windows->n_space, 1))
        return value;
    if (view->columns != NULL)
        value = column_of(back, view, position % windows->kernel[last]);
    for (gsize i = n; i-- > 0; position /= windows->kernel[i])
    {
        axes[i] = (gint64)i + view->axis;
        starts[i] = position % windows->kernel[i] * windows->dilation[i];
        steps[i] = windows->stride[i];
    }
    starts[last] *= view->width;
    if (view->columns != NULL)
    {
        starts[last] /= steps[last];
        steps[last] = 1;
    }
    return ifm_back_op(back, "Slice", value, ifm_back_list(back, starts, n), ends_of(back, view, starts, steps),
                       ifm_back_list(back, axes, n), ifm_back_list(back, steps, n), NULL);
}
