/* Shapes of convolutions and pools. */
#include <string.h>

#include "operators.h"

#define MAX_SPATIAL (IFM_MAX_RANK - 2)

/* Windows: how a kernel slides over the spatial dimensions. [n_spatial] each; pads: begins, then ends. */
typedef struct
{
    int n_spatial;
    gint64 kernel[MAX_SPATIAL], strides[MAX_SPATIAL], dilations[MAX_SPATIAL], pads[2 * MAX_SPATIAL];
    gboolean same; /* auto_pad SAME_UPPER or SAME_LOWER */
    gboolean ceil_mode;
} Windows;

void ifm_window_pads(const char *auto_pad, gint64 in, gint64 stride, gint64 reach, gint64 pads[2])
{
    if (g_str_equal(auto_pad, "VALID"))
        pads[0] = pads[1] = 0;
    if (!g_str_equal(auto_pad, "SAME_UPPER") && !g_str_equal(auto_pad, "SAME_LOWER"))
        return;
    const gint64 n_windows = in / stride + (in % stride != 0), total = MAX((n_windows - 1) * stride + reach - in, 0);
    pads[0] = g_str_equal(auto_pad, "SAME_UPPER") ? total / 2 : (total + 1) / 2;
    pads[1] = total - pads[0];
}

/* read_ints: an attribute of @n numbers, each at least @min; @values is left as it is where there is none. */
static gboolean read_ints(const IfmNode *node, const char *attribute, int n, gint64 min, gint64 *values, GError **error)
{
    gsize n_found;
    const gint64 *found = ifm_node_ints(node, attribute, &n_found);
    if (found == NULL)
        return TRUE;
    if (n_found != (gsize)n)
        return ifm_error_refuse(error, "%s has %" G_GSIZE_FORMAT " numbers, not %d", attribute, n_found, n);
    for (int i = 0; i < n; i++)
    {
        if (found[i] < min || found[i] > G_MAXINT32)
            return ifm_error_refuse(error, "%s[%d] is %" G_GINT64_FORMAT ", not within %" G_GINT64_FORMAT " to %d",
                                    attribute, i, found[i], min, G_MAXINT32);
        values[i] = found[i];
    }
    return TRUE;
}

static gboolean read_windows(const IfmNode *node, int n_spatial, Windows *windows, GError **error)
{
    const char *auto_pad = ifm_node_string(node, "auto_pad", "NOTSET");
    windows->n_spatial = n_spatial;
    windows->same = g_str_equal(auto_pad, "SAME_UPPER") || g_str_equal(auto_pad, "SAME_LOWER");
    windows->ceil_mode = ifm_node_int(node, "ceil_mode", 0) != 0;
    if (!windows->same && !g_str_equal(auto_pad, "VALID") && !g_str_equal(auto_pad, "NOTSET") && *auto_pad != '\0')
        return ifm_error_refuse(error, "auto_pad '%s' is none of NOTSET, SAME_UPPER, SAME_LOWER, VALID", auto_pad);
    for (int i = 0; i < n_spatial; i++)
        windows->strides[i] = windows->dilations[i] = 1;
    memset(windows->pads, 0, sizeof windows->pads);
    if (!read_ints(node, "strides", n_spatial, 1, windows->strides, error) ||
        !read_ints(node, "dilations", n_spatial, 1, windows->dilations, error) ||
        !read_ints(node, "pads", 2 * n_spatial, 0, windows->pads, error))
        return FALSE;
    if (windows->same || g_str_equal(auto_pad, "VALID"))
        memset(windows->pads, 0, sizeof windows->pads);
    return TRUE;
}

/*
 * count_windows: how many positions a kernel has along one axis.
 * Equals: floor((in + pads - reach) / stride) + 1, reach = dilation (kernel - 1) + 1;    SAME: ceil(in / stride)
 * With ceil_mode the division rounds up, but a window that would begin in the padding behind the input is left out.
 */
static gboolean count_windows(const Windows *windows, int axis, gint64 in, gint64 *out, GError **error)
{
    /* Each attribute is below 2^31 and @in below 2^56: nothing here overflows. */
    gint64 stride = windows->strides[axis], begin = windows->pads[axis];
    gint64 padded = in + begin + windows->pads[axis + windows->n_spatial];
    gint64 reach = windows->dilations[axis] * (windows->kernel[axis] - 1) + 1;
    if (windows->same)
    {
        *out = in / stride + (in % stride != 0);
        return TRUE;
    }
    if (reach > padded)
        return ifm_error_refuse(error,
                                "spatial dimension %d: the kernel reaches over %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
                                " padded positions",
                                axis, reach, padded);
    *out = (padded - reach) / stride + 1;
    if (windows->ceil_mode && (padded - reach) % stride != 0 && *out * stride < in + begin)
        (*out)++;
    return TRUE;
}

static gboolean slide(const IfmTensorInfo *in, const Windows *windows, gint64 channels, IfmTensorInfo *out, GError **error)
{
    out->rank = in->rank;
    out->dims[0] = in->dims[0];
    out->dims[1] = channels;
    for (int i = 0; i < windows->n_spatial; i++)
        if (!count_windows(windows, i, in->dims[i + 2], &out->dims[i + 2], error))
        {
            out->rank = -1;
            return FALSE;
        }
    return TRUE;
}

static gboolean check_conv_weights(const IfmOperatorCall *call, const IfmConvAt *at, const IfmTensorInfo *x,
                                   const Windows *windows, GError **error)
{
    const IfmTensorInfo *w = &call->inputs[at->weights], *bias = ifm_call_input(call, at->bias);
    const char *name_w = call->node->inputs[at->weights];
    gint64 group = ifm_node_int(call->node, "group", 1), channels;
    if (group < 1 || w->dims[0] % group != 0 || __builtin_mul_overflow(w->dims[1], group, &channels) ||
        (channels != x->dims[1] && !at->is_blocked))
    {
        g_autofree char *shape_x = ifm_fact_shape(x), *shape_w = ifm_fact_shape(w);
        return ifm_error_refuse(error,
                                "'%s' %s does not fit '%s' %s in %" G_GINT64_FORMAT
                                " group(s): weights are [outputs,channels/group,...], outputs a multiple of group",
                                name_w, shape_w, call->node->inputs[0], shape_x, group);
    }
    for (int i = 0; i < windows->n_spatial; i++)
    {
        if (windows->kernel[i] == w->dims[i + 2] && windows->kernel[i] >= 1 && windows->kernel[i] <= G_MAXINT32)
            continue;
        g_autofree char *shape_w = ifm_fact_shape(w);
        return ifm_error_refuse(error, "kernel_shape[%d] is %" G_GINT64_FORMAT ", but '%s' is %s", i, windows->kernel[i],
                                name_w, shape_w);
    }
    if (bias == NULL || bias->rank < 0 || (bias->rank == 1 && bias->dims[0] == w->dims[0]))
        return TRUE;
    g_autofree char *shape_b = ifm_fact_shape(bias);
    return ifm_error_refuse(error, "bias '%s' is %s, not [%" G_GINT64_FORMAT "]", call->node->inputs[at->bias], shape_b,
                            w->dims[0]);
}

static gboolean check_conv_ranks(const IfmOperatorCall *call, gsize weights, GError **error)
{
    const IfmTensorInfo *x = &call->inputs[0], *w = &call->inputs[weights];
    if (x->rank >= 3 && w->rank == x->rank)
        return TRUE;
    g_autofree char *shape_x = ifm_fact_shape(x), *shape_w = ifm_fact_shape(w);
    return ifm_error_refuse(error, "'%s' %s and '%s' %s must have the same rank, 3 or more", call->node->inputs[0], shape_x,
                            call->node->inputs[weights], shape_w);
}

gboolean ifm_rule_conv(const IfmOperatorCall *call, const IfmConvAt *at, const IfmTensorInfo *x, GError **error)
{
    const IfmTensorInfo *w = &call->inputs[at->weights];
    Windows windows;
    call->outputs[0].dtype = at->dtype;
    if (x->rank < 0 || w->rank < 0)
        return TRUE;
    if (!check_conv_ranks(call, at->weights, error) || !read_windows(call->node, x->rank - 2, &windows, error))
        return FALSE;
    memcpy(windows.kernel, w->dims + 2, (gsize)windows.n_spatial * sizeof windows.kernel[0]);
    return read_ints(call->node, "kernel_shape", windows.n_spatial, 1, windows.kernel, error) &&
           check_conv_weights(call, at, x, &windows, error) && slide(x, &windows, w->dims[0], &call->outputs[0], error);
}

gboolean ifm_shape_conv(const IfmOperatorCall *call, GError **error)
{
    /* DeformConv has its offsets before the bias. */
    gboolean is_deformed = g_str_equal(call->node->op_type, "DeformConv");
    const IfmConvAt at = { 1, is_deformed ? 3 : 2, call->inputs[0].dtype, FALSE };
    return ifm_rule_conv(call, &at, &call->inputs[0], error);
}

gboolean ifm_shape_conv_integer(const IfmOperatorCall *call, GError **error)
{
    const IfmConvAt at = { 1, G_MAXSIZE, IFM_DTYPE_I32, FALSE };
    return ifm_rule_conv(call, &at, &call->inputs[0], error);
}

/* x, its scale and zero point, the weights, theirs, the output's, the bias. */
gboolean ifm_shape_qlinear_conv(const IfmOperatorCall *call, GError **error)
{
    const IfmConvAt at = { 3, 8, call->inputs[7].dtype, FALSE };
    return ifm_rule_conv(call, &at, &call->inputs[0], error);
}

/* --- transposed --------------------------------------------------------------------------------------------------- */

/*
 * unslide: the positions of which @windows would make @in.
 * Equals: stride (in - 1) + output_padding + reach - pads, reach = dilation (kernel - 1) + 1;    SAME: in * stride
 */
static gboolean unslide(const IfmOperatorCall *call, const Windows *windows, const IfmTensorInfo *x, gint64 *dims,
                        GError **error)
{
    gint64 more[MAX_SPATIAL] = { 0 }, wanted[MAX_SPATIAL];
    int n = windows->n_spatial;
    memset(wanted, 0xff, sizeof wanted); /* -1: not said */
    if (!read_ints(call->node, "output_padding", n, 0, more, error))
        return FALSE;
    gsize n_wanted;
    const gint64 *shape = ifm_node_ints(call->node, "output_shape", &n_wanted);
    if (shape != NULL && n_wanted == (gsize)n + 2) /* some writers give the batch and the channels, too */
        memcpy(wanted, shape + 2, (gsize)n * sizeof wanted[0]);
    else if (!read_ints(call->node, "output_shape", n, 0, wanted, error))
        return FALSE;
    for (int i = 0; i < n; i++)
    {
        /* Below 2^31 each but @in, which is below 2^56: the caller refuses what comes out too large. */
        gint64 in = MIN(x->dims[i + 2], (gint64)1 << 31), reach = windows->dilations[i] * (windows->kernel[i] - 1) + 1;
        dims[i + 2] = windows->strides[i] * (in - 1) + more[i] + reach - windows->pads[i] - windows->pads[i + n];
        if (windows->same)
            dims[i + 2] = in * windows->strides[i];
        if (wanted[i] >= 0)
            dims[i + 2] = wanted[i];
        if (dims[i + 2] < 0 || in == (gint64)1 << 31)
            return ifm_error_refuse(error, "spatial dimension %d comes out as %" G_GINT64_FORMAT, i, dims[i + 2]);
    }
    return TRUE;
}

/* Weights are [channels, outputs / group, ...]. */
gboolean ifm_shape_conv_transpose(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *x = &call->inputs[0], *w = &call->inputs[1], *bias = ifm_call_input(call, 2);
    Windows windows;
    gint64 group = ifm_node_int(call->node, "group", 1), dims[IFM_MAX_RANK];
    if (!check_conv_ranks(call, 1, error) || !read_windows(call->node, x->rank - 2, &windows, error))
        return FALSE;
    memcpy(windows.kernel, w->dims + 2, (gsize)windows.n_spatial * sizeof windows.kernel[0]);
    if (!read_ints(call->node, "kernel_shape", windows.n_spatial, 1, windows.kernel, error))
        return FALSE;
    dims[0] = x->dims[0];
    gboolean fits = group >= 1 && w->dims[0] == x->dims[1] && w->dims[0] % group == 0 &&
                    !__builtin_mul_overflow(w->dims[1], group, &dims[1]);
    for (int i = 0; fits && i < windows.n_spatial; i++)
        fits = windows.kernel[i] == w->dims[i + 2] && windows.kernel[i] <= G_MAXINT32;
    fits = fits && (bias == NULL || bias->rank < 0 || (bias->rank == 1 && bias->dims[0] == dims[1]));
    if (!fits)
    {
        g_autofree char *shape_x = ifm_fact_shape(x), *shape_w = ifm_fact_shape(w);
        return ifm_error_refuse(error,
                                "'%s' %s, its kernel_shape or its bias does not fit '%s' %s in %" G_GINT64_FORMAT
                                " group(s): weights are [channels,outputs/group,...]",
                                call->node->inputs[1], shape_w, call->node->inputs[0], shape_x, group);
    }
    if (!unslide(call, &windows, x, dims, error))
        return FALSE;
    return ifm_call_make(call, 0, x->dtype, x->rank, dims);
}

/* --- pools -------------------------------------------------------------------------------------------------------- */

gboolean ifm_shape_pool(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *x = &call->inputs[0];
    Windows windows = { 0 };
    if (call->node->n_outputs > 1) /* MaxPool's indices */
        call->outputs[1].dtype = IFM_DTYPE_I64;
    call->outputs[0].dtype = x->dtype;
    if (x->rank < 0)
        return TRUE;
    if (!ifm_rule_rank(call, 0, 3, IFM_MAX_RANK, error))
        return FALSE;
    if (!read_windows(call->node, x->rank - 2, &windows, error) ||
        !read_ints(call->node, "kernel_shape", windows.n_spatial, 1, windows.kernel, error))
        return FALSE;
    if (windows.kernel[0] == 0)
        return ifm_error_refuse(error, "kernel_shape is missing");
    if (!slide(x, &windows, x->dims[1], &call->outputs[0], error))
        return FALSE;
    return ifm_call_make(call, 1, IFM_DTYPE_I64, x->rank, call->outputs[0].dims);
}

gboolean ifm_shape_global_pool(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *x = &call->inputs[0];
    IfmTensorInfo *out = &call->outputs[0];
    if (!ifm_rule_rank(call, 0, 3, IFM_MAX_RANK, error))
        return FALSE;
    out->rank = x->rank;
    for (int i = 0; i < x->rank; i++)
        out->dims[i] = i < 2 ? x->dims[i] : 1;
    return TRUE;
}
