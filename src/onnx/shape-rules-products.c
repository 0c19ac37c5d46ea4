/* Shapes of MatMul, Gemm, Conv and the pools. */
#include <string.h>

#include "operators.h"

#define MAX_SPATIAL (IFM_MAX_RANK - 2)

/* --- products ------------------------------------------------------------------------------------------------------- */

gboolean ifm_shape_matmul(const IfmOperatorCall *call, GError **error)
{
    IfmFact a = call->inputs[0], b = call->inputs[1], *out = &call->outputs[0];
    out->dtype = a.dtype;
    if (a.rank < 0 || b.rank < 0)
        return TRUE;
    g_autofree char *shape_a = ifm_shape_to_string(a.rank, a.dims), *shape_b = ifm_shape_to_string(b.rank, b.dims);
    if (a.rank == 0 || b.rank == 0)
        return IFM_RULE_FAIL(error, "'%s' %s and '%s' %s: a scalar has no matrix product", call->node->inputs[0], shape_a,
                             call->node->inputs[1], shape_b);
    gint64 inner_a = a.dims[a.rank - 1], inner_b = b.dims[b.rank > 1 ? b.rank - 2 : 0];
    if (inner_a != inner_b)
        return IFM_RULE_FAIL(error, "'%s' %s has %" G_GINT64_FORMAT " columns, '%s' %s has %" G_GINT64_FORMAT " rows",
                             call->node->inputs[0], shape_a, inner_a, call->node->inputs[1], shape_b, inner_b);
    /* The dimensions in front of the matrices are broadcast; a vector's own added dimension goes away again. */
    IfmFact batch = a, batch_b = b;
    batch.rank = MAX(a.rank - 2, 0);
    batch_b.rank = MAX(b.rank - 2, 0);
    if (!ifm_rule_broadcast(&batch, &batch_b, error))
        return FALSE;
    if (batch.rank + (a.rank > 1) + (b.rank > 1) > IFM_MAX_RANK)
        return IFM_RULE_FAIL(error, "its output has more than %d dimensions", IFM_MAX_RANK);
    out->rank = batch.rank;
    memcpy(out->dims, batch.dims, sizeof out->dims);
    if (a.rank > 1)
        out->dims[out->rank++] = a.dims[a.rank - 2];
    if (b.rank > 1)
        out->dims[out->rank++] = b.dims[b.rank - 1];
    return TRUE;
}

gboolean ifm_shape_gemm(const IfmOperatorCall *call, GError **error)
{
    const IfmFact *a = &call->inputs[0], *b = &call->inputs[1];
    IfmFact *out = &call->outputs[0];
    const char *const *names = call->node->inputs;
    out->dtype = a->dtype;
    if (a->rank < 0 || b->rank < 0)
        return TRUE;
    g_autofree char *shape_a = ifm_shape_to_string(a->rank, a->dims), *shape_b = ifm_shape_to_string(b->rank, b->dims);
    if (a->rank != 2 || b->rank != 2)
        return IFM_RULE_FAIL(error, "'%s' %s and '%s' %s must both be matrices", names[0], shape_a, names[1], shape_b);
    gboolean trans_a = ifm_node_int(call->node, "transA", 0) != 0, trans_b = ifm_node_int(call->node, "transB", 0) != 0;
    gint64 inner_a = a->dims[trans_a ? 0 : 1], inner_b = b->dims[trans_b ? 1 : 0];
    if (inner_a != inner_b)
        return IFM_RULE_FAIL(error, "'%s' %s%s has %" G_GINT64_FORMAT " columns, '%s' %s%s has %" G_GINT64_FORMAT " rows",
                             names[0], shape_a, trans_a ? " transposed" : "", inner_a, names[1], shape_b,
                             trans_b ? " transposed" : "", inner_b);
    out->rank = 2;
    out->dims[0] = a->dims[trans_a ? 1 : 0];
    out->dims[1] = b->dims[trans_b ? 0 : 1];
    if (call->node->n_inputs < 3 || call->inputs[2].rank < 0)
        return TRUE;
    IfmFact sum = *out;
    if (!ifm_rule_broadcast(&sum, &call->inputs[2], error))
        return FALSE;
    if (sum.rank == 2 && sum.dims[0] == out->dims[0] && sum.dims[1] == out->dims[1])
        return TRUE;
    g_autofree char *shape_c = ifm_shape_to_string(call->inputs[2].rank, call->inputs[2].dims);
    g_autofree char *shape = ifm_shape_to_string(2, out->dims);
    return IFM_RULE_FAIL(error, "'%s' %s does not broadcast to %s", names[2], shape_c, shape);
}

/* --- windows -------------------------------------------------------------------------------------------------------- */

/* Windows: how a kernel slides over the spatial dimensions. [n_spatial] each; pads: begins, then ends. */
typedef struct
{
    int n_spatial;
    gint64 kernel[MAX_SPATIAL], strides[MAX_SPATIAL], dilations[MAX_SPATIAL], pads[2 * MAX_SPATIAL];
    gboolean same; /* auto_pad SAME_UPPER or SAME_LOWER */
    gboolean ceil_mode;
} Windows;

/* read_ints: an attribute of @n numbers, each at least @least; @values is left as it is where there is none. */
static gboolean read_ints(const IfmNode *node, const char *attribute, int n, gint64 least, gint64 *values, GError **error)
{
    gsize n_found;
    const gint64 *found = ifm_node_ints(node, attribute, &n_found);
    if (found == NULL)
        return TRUE;
    if (n_found != (gsize)n)
        return IFM_RULE_FAIL(error, "%s has %" G_GSIZE_FORMAT " numbers, not %d", attribute, n_found, n);
    for (int i = 0; i < n; i++)
    {
        if (found[i] < least || found[i] > G_MAXINT32)
            return IFM_RULE_FAIL(error, "%s[%d] is %" G_GINT64_FORMAT ", not within %" G_GINT64_FORMAT " to %d", attribute,
                                 i, found[i], least, G_MAXINT32);
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
        return IFM_RULE_FAIL(error, "auto_pad '%s' is none of NOTSET, SAME_UPPER, SAME_LOWER, VALID", auto_pad);
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
        return IFM_RULE_FAIL(error,
                             "spatial dimension %d: the kernel reaches over %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
                             " padded positions",
                             axis, reach, padded);
    *out = (padded - reach) / stride + 1;
    if (windows->ceil_mode && (padded - reach) % stride != 0 && *out * stride < in + begin)
        (*out)++;
    return TRUE;
}

static gboolean slide(const IfmFact *in, const Windows *windows, gint64 channels, IfmFact *out, GError **error)
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

static gboolean check_conv_weights(const IfmOperatorCall *call, const Windows *windows, GError **error)
{
    const IfmFact *x = &call->inputs[0], *w = &call->inputs[1];
    const char *const *names = call->node->inputs;
    gint64 group = ifm_node_int(call->node, "group", 1), channels;
    g_autofree char *shape_x = ifm_shape_to_string(x->rank, x->dims), *shape_w = ifm_shape_to_string(w->rank, w->dims);
    if (group < 1 || w->dims[0] % group != 0 || __builtin_mul_overflow(w->dims[1], group, &channels) ||
        channels != x->dims[1])
        return IFM_RULE_FAIL(error,
                             "'%s' %s does not fit '%s' %s in %" G_GINT64_FORMAT
                             " group(s): weights are [outputs,channels/group,...], outputs a multiple of group",
                             names[1], shape_w, names[0], shape_x, group);
    for (int i = 0; i < windows->n_spatial; i++)
        if (windows->kernel[i] != w->dims[i + 2] || windows->kernel[i] < 1 || windows->kernel[i] > G_MAXINT32)
            return IFM_RULE_FAIL(error, "kernel_shape[%d] is %" G_GINT64_FORMAT ", but '%s' is %s", i, windows->kernel[i],
                                 names[1], shape_w);
    if (call->node->n_inputs < 3 || call->inputs[2].rank < 0 ||
        (call->inputs[2].rank == 1 && call->inputs[2].dims[0] == w->dims[0]))
        return TRUE;
    g_autofree char *shape_b = ifm_shape_to_string(call->inputs[2].rank, call->inputs[2].dims);
    return IFM_RULE_FAIL(error, "bias '%s' is %s, not [%" G_GINT64_FORMAT "]", names[2], shape_b, w->dims[0]);
}

gboolean ifm_shape_conv(const IfmOperatorCall *call, GError **error)
{
    const IfmFact *x = &call->inputs[0], *w = &call->inputs[1];
    Windows windows;
    call->outputs[0].dtype = x->dtype;
    if (x->rank < 0 || w->rank < 0)
        return TRUE;
    if (x->rank < 3 || w->rank != x->rank)
    {
        g_autofree char *shape_x = ifm_shape_to_string(x->rank, x->dims), *shape_w = ifm_shape_to_string(w->rank, w->dims);
        return IFM_RULE_FAIL(error, "'%s' %s and '%s' %s must have the same rank, 3 or more", call->node->inputs[0],
                             shape_x, call->node->inputs[1], shape_w);
    }
    if (!read_windows(call->node, x->rank - 2, &windows, error))
        return FALSE;
    memcpy(windows.kernel, w->dims + 2, (gsize)windows.n_spatial * sizeof windows.kernel[0]);
    return read_ints(call->node, "kernel_shape", windows.n_spatial, 1, windows.kernel, error) &&
           check_conv_weights(call, &windows, error) && slide(x, &windows, w->dims[0], &call->outputs[0], error);
}

gboolean ifm_shape_pool(const IfmOperatorCall *call, GError **error)
{
    const IfmFact *x = &call->inputs[0];
    Windows windows = { 0 };
    call->outputs[0].dtype = x->dtype;
    if (x->rank < 0)
        return TRUE;
    if (x->rank < 3)
    {
        g_autofree char *shape = ifm_shape_to_string(x->rank, x->dims);
        return IFM_RULE_FAIL(error, "'%s' %s must have a rank of 3 or more", call->node->inputs[0], shape);
    }
    if (!read_windows(call->node, x->rank - 2, &windows, error) ||
        !read_ints(call->node, "kernel_shape", windows.n_spatial, 1, windows.kernel, error))
        return FALSE;
    if (windows.kernel[0] == 0)
        return IFM_RULE_FAIL(error, "kernel_shape is missing");
    if (!slide(x, &windows, x->dims[1], &call->outputs[0], error))
        return FALSE;
    if (call->node->n_outputs > 1) /* MaxPool's indices */
    {
        call->outputs[1] = call->outputs[0];
        call->outputs[1].dtype = IFM_DTYPE_I64;
    }
    return TRUE;
}

gboolean ifm_shape_global_pool(const IfmOperatorCall *call, GError **error)
{
    const IfmFact *x = &call->inputs[0];
    IfmFact *out = &call->outputs[0];
    out->dtype = x->dtype;
    if (x->rank < 0)
        return TRUE;
    if (x->rank < 3)
    {
        g_autofree char *shape = ifm_shape_to_string(x->rank, x->dims);
        return IFM_RULE_FAIL(error, "'%s' %s must have a rank of 3 or more", call->node->inputs[0], shape);
    }
    out->rank = x->rank;
    for (int i = 0; i < x->rank; i++)
        out->dims[i] = i < 2 ? x->dims[i] : 1;
    return TRUE;
}
