/* Rules of convolutions. In comments g is the gradient of the output y = x * w. */
#include <string.h>

#include "gradient-windows.h"

/* --- the weight's gradient ---------------------------------------------------------------------------------------- */

/*
 * dw[:, :, i, j] = sum over n of g[n] (x at window position (i, j))[n]^T: a matrix product for each position of the window.
 * It is made in one of two forms; both leave pieces, rows of which, one below the other, are [positions, outputs, inputs].
 */
typedef struct
{
    const IfmWindows *windows;
    const char *g;                /* what a convolution's weight is multiplied with, window by window */
    gint64 n_images, n_positions; /* n_images: -1: free */
    gint64 n_groups, outputs, per_group;
    GPtrArray *pieces;
} Products;

/*
 * over_all_images: Channels of x last, those of g first: what a position sees is then copied in long runs, whatever the
 * stride, and one product goes over images and windows alike, with neither side transposed.
 */
static void over_all_images(IfmBack *back, const Products *of)
{
    const char *g = of->g;
    int order[IFM_MAX_RANK] = { 1, 0 }, rank = of->windows->n_space + 2;
    for (int i = 2; i < rank; i++)
        order[i] = i;
    if (of->n_images != 1)
        g = ifm_back_transpose(back, g, order, rank);
    const char *rows = ifm_back_reshape_dims(back, g, (gint64[]){ of->outputs, -1 }, 2);
    g_auto(IfmWindowView) view = ifm_window_view_rows(back, of->windows, of->per_group);
    for (gint64 i = 0; i < of->n_positions; i++)
    {
        const char *seen =
            ifm_back_reshape_dims(back, ifm_window_view_at(back, &view, i), (gint64[]){ -1, of->per_group }, 2);
        g_ptr_array_add(of->pieces, (gpointer)ifm_back_op(back, "MatMul", rows, seen, NULL));
    }
}

/* product_of_images: @seen: [N, groups, channels of a group, windows] of each of @n positions    @rows: g alike */
static const char *product_of_images(IfmBack *back, const Products *of, const char *rows, const GPtrArray *seen)
{
    const char *all = g_ptr_array_index(seen, 0);
    gint64 n = seen->len;
    if (n > 1)
        all = ifm_back_op_list(back, NULL, "Concat axis=2", seen);
    all = ifm_back_transpose(back, all, (int[]){ 0, 1, 3, 2 }, 4);
    const char *product = ifm_back_op(back, "MatMul", rows, all, NULL);
    if (of->n_images != 1)
        product = ifm_back_sum(back, product, (int[]){ 0 }, 1, FALSE);
    if (n > 1)
    {
        product = ifm_back_reshape_dims(back, product, (gint64[]){ of->outputs, n, of->per_group }, 3);
        product = ifm_back_transpose(back, product, (int[]){ 1, 0, 2 }, 3);
    }
    return ifm_back_reshape_dims(back, product, (gint64[]){ n * of->outputs, of->per_group }, 2);
}

#define ENOUGH_CHANNELS 64 /* for a matrix product to be fast */

/*
 * by_image: A product for each image and group, all as they lie, and the sum of those. Of few channels several positions go
 * into one product.
 */
static void by_image(IfmBack *back, const Products *of)
{
    gint64 n_joined = MAX(ENOUGH_CHANNELS / MAX(of->per_group * of->n_groups, 1), 1);
    g_autoptr(GPtrArray) seen = g_ptr_array_new();
    g_auto(IfmWindowView) view = ifm_window_view(back, of->windows, NULL);
    const char *rows = ifm_back_reshape_dims(back, of->g, (gint64[]){ 0, of->n_groups, of->outputs / of->n_groups, -1 }, 4);
    for (gint64 i = 0; i < of->n_positions; i++)
    {
        const char *at = ifm_window_view_at(back, &view, i);
        at = ifm_back_reshape_dims(back, at, (gint64[]){ 0, of->n_groups, of->per_group, -1 }, 4);
        g_ptr_array_add(seen, (gpointer)at);
        if (seen->len < n_joined && i < of->n_positions - 1)
            continue;
        g_ptr_array_add(of->pieces, (gpointer)product_of_images(back, of, rows, seen));
        g_ptr_array_set_size(seen, 0);
    }
}

#define FEW_CHANNELS 8 /* channels of x that lie last are copied so many at a time */

/* Of one position, the products of all images are summed faster than x and g are transposed, unless they are the larger. */
static gboolean is_by_image(const Products *of)
{
    double n_windows = 1;
    if (of->n_groups > 1 || of->per_group < FEW_CHANNELS)
        return TRUE;
    if (of->n_positions > 1)
        return FALSE;
    for (int i = 0; i < of->windows->n_space; i++)
        n_windows *= (double)of->windows->out[i];
    return of->n_images == 1 || !ifm_windows_are_fixed(of->windows) ||
           (double)of->outputs * (double)of->per_group <= (double)(of->outputs + of->per_group) * n_windows;
}

#define MAX_POSITIONS 4096 /* a handful of nodes for each: a kernel of 64 x 64 */

/* by_products: @g: one element for each window and output */
static void by_products(IfmBack *back, const IfmWindows *windows, const IfmBackShape *w, const char *g)
{
    const IfmBackShape x = ifm_back_shape(back, back->x);
    g_autoptr(GPtrArray) pieces = g_ptr_array_new();
    gint64 n_positions =
        ifm_windows_count(back, windows->kernel, windows->n_space, MAX_POSITIONS, "positions of a convolution's window");
    if (back->error != NULL)
        return;
    Products of = { windows, g, x.dims[0], n_positions, windows->group, w->dims[0], w->dims[1], pieces };
    if (is_by_image(&of))
        by_image(back, &of);
    else
        over_all_images(back, &of);
    const char *all = g_ptr_array_index(pieces, 0);
    if (pieces->len > 1)
        all = ifm_back_op_list(back, NULL, "Concat axis=0", pieces);
    if (n_positions > 1)
    {
        all = ifm_back_reshape_dims(back, all, (gint64[]){ n_positions, of.outputs, of.per_group }, 3);
        all = ifm_back_transpose(back, all, (int[]){ 1, 2, 0 }, 3);
    }
    ifm_back_give(back, 1, ifm_back_reshape(back, all, ifm_back_input(back, 1)));
}

/* --- the input's gradient ----------------------------------------------------------------------------------------- */

static const char *reversed(IfmBack *back, const char *value, const gint64 *axes, gsize n)
{
    gint64 starts[IFM_MAX_RANK], ends[IFM_MAX_RANK], steps[IFM_MAX_RANK];
    for (gsize i = 0; i < n; i++)
    {
        starts[i] = steps[i] = -1;
        ends[i] = G_MININT64 + 1;
    }
    return ifm_back_op(back, "Slice", value, ifm_back_list(back, starts, n), ifm_back_list(back, ends, n),
                       ifm_back_list(back, axes, n), ifm_back_list(back, steps, n), NULL);
}

/*
 * own_weight: The forward convolution's weight under another address. OpenVINO's CPU device keeps weights that it has laid
 * out anew by their address and layout; where a convolution and its transpose share a constant of as many channels in as
 * out, the one gets what was laid out for the other, and answers wrong (2026.4). Turned round twice it is folded into a
 * constant of its own; a Gather of all rows, or a Concat of two halves, is seen through.
 */
static const char *own_weight(IfmBack *back)
{
    const char *weight = ifm_back_input(back, 1);
    if (!ifm_back_is_constant(back, weight))
        return weight;
    return ifm_back_reversed(back, ifm_back_reversed(back, weight, 0), 0);
}

/* turned_weight: [inputs, outputs of a group, kernel backwards] */
static const char *turned_weight(IfmBack *back, const IfmWindows *windows, const IfmBackShape *w)
{
    gint64 axes[IFM_MAX_RANK], dims[IFM_MAX_RANK + 1] = { windows->group, w->dims[0] / windows->group, w->dims[1] };
    int order[IFM_MAX_RANK + 1] = { 0, 2, 1 };
    gsize n = 0;
    for (int i = 0; i < windows->n_space; i++)
    {
        dims[i + 3] = windows->kernel[i];
        order[i + 3] = i + 3;
        if (windows->kernel[i] > 1)
            axes[n++] = i + 2;
    }
    const char *weight = n > 0 ? reversed(back, ifm_back_input(back, 1), axes, n) : own_weight(back);
    weight = ifm_back_reshape_dims(back, weight, dims, w->rank + 1);
    weight = ifm_back_transpose(back, weight, order, w->rank + 1);
    dims[2] = dims[1];
    dims[1] = windows->group * w->dims[1];
    return ifm_back_reshape_dims(back, weight, dims + 1, w->rank);
}

/*
 * is_convolution: Where the stride is 1, x's gradient is a convolution of the padded g with the weight turned round, which
 * engines have faster than a transposed one. But the weight has to be known, or turning it takes longer; and what is padded
 * has to be little.
 */
static gboolean is_convolution(const IfmBack *back, const IfmWindows *windows)
{
    if (!ifm_back_is_constant(back, ifm_back_input(back, 1)) || windows->n_space + 3 > IFM_MAX_RANK)
        return FALSE;
    for (int i = 0; i < windows->n_space; i++)
    {
        gint64 reach = (windows->kernel[i] - 1) * windows->dilation[i], out = windows->out[i];
        gint64 padded = reach - windows->begin[i] - windows->end[i];
        if (windows->stride[i] != 1 || windows->begin[i] > reach || windows->end[i] > reach || padded > MAX(out, 0) / 8)
            return FALSE;
    }
    return TRUE;
}

static const char *input_gradient(IfmBack *back, const IfmWindows *windows, const IfmBackShape *w)
{
    gint64 pads[2 * IFM_MAX_SPACE];
    const char *g = back->g;
    int n = windows->n_space;
    if (!is_convolution(back, windows))
        return ifm_windows_spread(back, windows, g, own_weight(back), windows->group);
    for (int i = 0; i < n; i++)
    {
        gint64 reach = (windows->kernel[i] - 1) * windows->dilation[i];
        pads[i] = reach - windows->begin[i];
        pads[n + i] = reach - windows->end[i];
    }
    const char *gradient = ifm_back_op(back, "Conv", g, turned_weight(back, windows, w), NULL);
    ifm_back_ints(back, "kernel_shape", windows->kernel, (gsize)n);
    ifm_back_ints(back, "dilations", windows->dilation, (gsize)n);
    ifm_back_ints(back, "pads", pads, 2 * (gsize)n);
    ifm_back_int(back, "group", windows->group);
    return gradient;
}

/* --- the rule ----------------------------------------------------------------------------------------------------- */

/* read_weight: [channels, channels of a group, kernel], all fixed */
static IfmBackShape read_weight(IfmBack *back)
{
    const IfmBackShape w = ifm_back_shape(back, ifm_back_input(back, 1));
    if (ifm_back_n_elements(&w, 0, w.rank) < 1)
        ifm_back_fail(back, "weight '%s' has a free dimension, or none", ifm_back_input(back, 1));
    return w;
}

/* give_bias: The sum over images and space. */
static void give_bias(IfmBack *back, int rank)
{
    int axes[IFM_MAX_RANK];
    for (int i = 0; i < rank - 1; i++)
        axes[i] = i == 0 ? 0 : i + 1;
    if (ifm_back_wants(back, 2))
        ifm_back_give(back, 2, ifm_back_sum(back, back->g, axes, rank - 1, FALSE));
}

static void conv_rule(IfmBack *back)
{
    const IfmBackShape w = read_weight(back);
    IfmWindows windows;
    if (back->error != NULL || !ifm_windows_read(back, w.dims + 2, &windows))
        return;
    if (ifm_back_wants(back, 0))
        ifm_back_give(back, 0, input_gradient(back, &windows, &w));
    if (ifm_back_wants(back, 1))
        by_products(back, &windows, &w, back->g);
    give_bias(back, w.rank);
}

/* A ConvTranspose is what a convolution's input gets: its own input gets a Conv of g by the same weight, and its weight is
 * that convolution's, with g for the input and x for the gradient. */
static void conv_transpose_rule(IfmBack *back)
{
    const IfmBackShape w = read_weight(back);
    IfmWindows windows;
    gint64 pads[2 * IFM_MAX_SPACE];
    if (back->error != NULL || !ifm_windows_read_transposed(back, w.dims + 2, &windows))
        return;
    gsize n = (gsize)windows.n_space;
    memcpy(pads, windows.begin, n * sizeof pads[0]);
    memcpy(pads + n, windows.end, n * sizeof pads[0]);
    if (ifm_back_wants(back, 0))
    {
        const char *gradient = ifm_back_op(back, "Conv", windows.seen, own_weight(back), NULL);
        ifm_back_ints(back, "kernel_shape", windows.kernel, n);
        ifm_back_ints(back, "strides", windows.stride, n);
        ifm_back_ints(back, "dilations", windows.dilation, n);
        ifm_back_ints(back, "pads", pads, 2 * n);
        ifm_back_int(back, "group", windows.group);
        ifm_back_give(back, 0, gradient);
    }
    if (ifm_back_wants(back, 1))
        by_products(back, &windows, &w, back->x);
    give_bias(back, w.rank);
}

const IfmGradientRule ifm_gradients_convolution[] = {
    { "Conv", conv_rule },
    { "ConvTranspose", conv_transpose_rule },
    { NULL },
};
