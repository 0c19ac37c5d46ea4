/* Convolutions and pools: shapes and costs. */
#include <string.h>

#include "operators.h"

#define MAX_SPATIAL (IFM_MAX_RANK - 2)
#define NCHWC "com.microsoft.nchwc" /* channels in blocks */

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
        return ifm_error_refuse(error, "%s has %zu numbers, not %d", attribute, n_found, n);
    for (int i = 0; i < n; i++)
    {
        if (found[i] < min || found[i] > G_MAXINT32)
            return ifm_error_refuse(error, "%s[%d] is %" G_GINT64_FORMAT ", not within %" G_GINT64_FORMAT " to %d",
                                    attribute, i, found[i], min, G_MAXINT32);
        values[i] = found[i];
    }
    return TRUE;
}

/* read_windows: @weights: of a convolution, which have the kernel's size, too; NULL: of a pool, 0 where it is missing */
static gboolean read_windows(const IfmNode *node, const IfmTensorInfo *weights, int n_spatial, Windows *windows,
                             GError **error)
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
    memset(windows->kernel, 0, sizeof windows->kernel);
    if (weights != NULL)
        memcpy(windows->kernel, weights->dims + 2, (gsize)n_spatial * sizeof windows->kernel[0]);
    if (!read_ints(node, "strides", n_spatial, 1, windows->strides, error) ||
        !read_ints(node, "dilations", n_spatial, 1, windows->dilations, error) ||
        !read_ints(node, "pads", 2 * n_spatial, 0, windows->pads, error) ||
        !read_ints(node, "kernel_shape", n_spatial, 1, windows->kernel, error))
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

/* --- channels last ---------------------------------------------------------------------------------------------------- */

/* channels_first: [N,...,C] as [N,C,...]; back again where @back. */
static IfmTensorInfo channels_first(const IfmTensorInfo *x, gboolean back)
{
    IfmTensorInfo result = *x;
    if (x->rank < 3)
        return result;
    const gsize n = (gsize)(x->rank - 2) * sizeof x->dims[0];
    memmove(result.dims + (back ? 1 : 2), x->dims + (back ? 2 : 1), n);
    result.dims[back ? x->rank - 1 : 1] = x->dims[back ? 1 : x->rank - 1];
    return result;
}

static gboolean has_channels_last(const IfmNode *node)
{
    return g_str_has_prefix(node->op_type, "Nhwc") || ifm_node_int(node, "channels_last", 0) != 0;
}

/* image: The first input, its channels first. */
static IfmTensorInfo image(const IfmOperatorCall *call)
{
    return has_channels_last(call->node) ? channels_first(&call->inputs[0], FALSE) : call->inputs[0];
}

/* give_image: The shape of the first output, as the node has its channels. */
static gboolean give_image(const IfmOperatorCall *call, const IfmTensorInfo *made)
{
    const IfmTensorInfo out = has_channels_last(call->node) ? channels_first(made, TRUE) : *made;
    return ifm_call_shape(call, 0, out.rank, out.dims);
}

/* --- convolutions ----------------------------------------------------------------------------------------------------- */

/* ConvAt: the inputs with weights and bias of a convolution. */
typedef struct
{
    gsize weights, bias;
} ConvAt;

static ConvAt conv_at(const IfmNode *node)
{
    if (g_str_equal(node->op_type, "QLinearConv")) /* x, its scale and zero point, the weights, theirs, the output's */
        return (ConvAt){ 3, 8 };
    if (g_str_equal(node->op_type, "DeformConv")) /* its offsets are before the bias */
        return (ConvAt){ 1, 3 };
    return (ConvAt){ 1, g_str_equal(node->op_type, "ConvInteger") ? G_MAXSIZE : 2 };
}

static gboolean check_conv_weights(const IfmOperatorCall *call, const ConvAt *at, const IfmTensorInfo *x,
                                   const Windows *windows, GError **error)
{
    const IfmTensorInfo *w = &call->inputs[at->weights], *bias = ifm_call_input(call, at->bias);
    const char *name_w = call->node->inputs[at->weights];
    gint64 group = ifm_node_int(call->node, "group", 1), channels;
    const gboolean is_blocked = g_str_equal(call->node->domain, NCHWC); /* channels may be filled up to whole blocks */
    if (group < 1 || w->dims[0] % group != 0 || __builtin_mul_overflow(w->dims[1], group, &channels) ||
        (channels != x->dims[1] && !is_blocked))
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

gboolean ifm_shape_conv(const IfmOperatorCall *call, GError **error)
{
    const ConvAt at = conv_at(call->node);
    const IfmTensorInfo x = image(call), *w = &call->inputs[at.weights];
    IfmTensorInfo out;
    Windows windows;
    if (x.rank < 0 || w->rank < 0)
        return TRUE;
    return check_conv_ranks(call, at.weights, error) && read_windows(call->node, w, x.rank - 2, &windows, error) &&
           check_conv_weights(call, &at, &x, &windows, error) && slide(&x, &windows, w->dims[0], &out, error) &&
           give_image(call, &out);
}

/* Each output element is a sum over the channels of its group and the kernel, which is one output of the weights.
 * @factor: FLOP per output in addition to the products and the bias */
gboolean ifm_cost_conv(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    const ConvAt at = conv_at(call->node);
    const IfmTensorInfo *weights = &call->inputs[at.weights];
    return ifm_fact_n_elements(&call->outputs[0], &cost->macs) &&
           ifm_count_times_all(&cost->macs, weights->dims + 1, (gsize)weights->rank - 1) && ifm_cost_multiply_add(cost) &&
           ifm_cost_per_output(call, factor + ifm_call_has(call, at.bias), cost);
}

/* The sum comes as an input behind the bias, the activation as an attribute. */
gboolean ifm_cost_fused_conv(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    return ifm_cost_conv(call, ifm_call_has(call, 3) + ifm_call_has_activation(call), cost);
}

/* In addition to the products: the input of each weight is interpolated from four values (two axes), 2 FLOP each. */
gboolean ifm_cost_deform_conv(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    const IfmTensorInfo *offsets = &call->inputs[2];
    gint64 n;
    if (!ifm_cost_conv(call, 0, cost) || !ifm_fact_n_elements(offsets, &n))
        return FALSE;
    /* An offset has two numbers for each position of the kernel. It applies to all channels of its group. */
    gint64 each = call->inputs[0].dims[1] / MAX(ifm_node_int(call->node, "offset_group", 1), 1);
    return ifm_count_times(&n, each) && ifm_count_times(&n, 4) && ifm_count_add(&cost->flop, n);
}

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
    if (!check_conv_ranks(call, 1, error) || !read_windows(call->node, w, x->rank - 2, &windows, error))
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
    return unslide(call, &windows, x, dims, error) && ifm_call_shape(call, 0, x->rank, dims);
}

/* Each input element contributes to the outputs of its group under the kernel. */
gboolean ifm_cost_conv_transpose(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    const IfmTensorInfo *weights = &call->inputs[1];
    return ifm_fact_n_elements(&call->inputs[0], &cost->macs) &&
           ifm_count_times_all(&cost->macs, weights->dims + 1, (gsize)weights->rank - 1) && ifm_cost_multiply_add(cost) &&
           ifm_cost_per_output(call, ifm_call_has(call, 2), cost);
}

/* --- pools ------------------------------------------------------------------------------------------------------------ */

/* The second output of MaxPool, its indices, has the shape of the first. */
gboolean ifm_shape_pool(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo x = image(call);
    IfmTensorInfo out;
    Windows windows;
    if (!ifm_rule_rank(call, 0, 3, IFM_MAX_RANK, error) || !read_windows(call->node, NULL, x.rank - 2, &windows, error))
        return FALSE;
    if (windows.kernel[0] == 0)
        return ifm_error_refuse(error, "kernel_shape is missing");
    return slide(&x, &windows, x.dims[1], &out, error) && give_image(call, &out) &&
           ifm_call_shape(call, 1, out.rank, out.dims);
}

gboolean ifm_cost_pool(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    gsize n;
    const gint64 *kernel = ifm_node_ints(call->node, "kernel_shape", &n);
    return ifm_cost_per_output(call, factor, cost) && ifm_count_times_all(&cost->flop, kernel, n);
}

gboolean ifm_shape_global_pool(const IfmOperatorCall *call, GError **error)
{
    IfmTensorInfo x = image(call);
    if (!ifm_rule_rank(call, 0, 3, IFM_MAX_RANK, error))
        return FALSE;
    for (int i = 2; i < x.rank; i++)
        x.dims[i] = 1;
    return give_image(call, &x);
}

/* --- channels in blocks ----------------------------------------------------------------------------------------------- */

#define MAX_BETWEEN 8 /* nodes that keep the channels, up to the convolution that shows their number */

/* conv_channels: The number of channels that a convolution in blocks reads, by its weights; 0 where it is unknown. */
static gint64 conv_channels(const IfmScope *scope, const IfmNode *node)
{
    const IfmTensorInfo *weights = node->n_inputs > 1 ? ifm_scope_fact(scope, node->inputs[1]) : NULL;
    gint64 group = ifm_node_int(node, "group", 1), channels;
    if (weights == NULL || weights->rank < 3 || group < 1 || __builtin_mul_overflow(weights->dims[1], group, &channels))
        return 0;
    return channels;
}

/* channels_read: how many channels the first reader of a tensor in blocks that has weights takes it for; 0 for none. */
static gint64 channels_read(const IfmScope *scope, const char *tensor, int depth)
{
    const IfmModel *model = ifm_scope_model(scope);
    const GArray *readers = model != NULL ? ifm_model_consumers(model, tensor) : NULL;
    gint64 channels = 0;
    for (guint i = 0; readers != NULL && i < readers->len && channels == 0; i++)
    {
        const IfmNode *node = ifm_model_node(model, g_array_index(readers, gsize, i));
        if (!g_str_equal(node->domain, NCHWC) || node->n_inputs == 0 || !g_str_equal(node->inputs[0], tensor))
            continue;
        if (g_str_equal(node->op_type, "Conv"))
            channels = conv_channels(scope, node);
        else if (depth < MAX_BETWEEN && strstr(node->op_type, "Pool") != NULL && node->n_outputs > 0)
            channels = channels_read(scope, node->outputs[0], depth + 1);
    }
    return channels;
}

/* has_blocks_of_8: whether a convolution in blocks makes channels that would fill none of 16: a graph has blocks of one
 * kind. */
static gboolean has_blocks_of_8(const IfmScope *scope)
{
    const IfmModel *model = ifm_scope_model(scope);
    for (gsize i = 0; model != NULL && i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *node = ifm_model_node(model, i);
        const IfmTensorInfo *weights = node->n_inputs > 1 ? ifm_scope_fact(scope, node->inputs[1]) : NULL;
        if (g_str_equal(node->domain, NCHWC) && g_str_equal(node->op_type, "Conv") && weights != NULL &&
            weights->rank > 0 && weights->dims[0] % 16 == 8)
            return TRUE;
    }
    return FALSE;
}

/* channels_filled: The number of channels of @x in blocks. A multiple of 16 has full blocks. For other numbers the weights
 * of the next convolution show it, or those of another one show that the blocks are of 8. Returns: 0 where it is unknown.
 */
static gint64 channels_filled(const IfmOperatorCall *call, const IfmTensorInfo *x)
{
    if (x->dims[1] % 16 == 0)
        return x->dims[1];
    gint64 read = channels_read(call->scope, call->node->outputs[0], 0);
    if (read == 0 && x->dims[1] > 0 && x->dims[1] <= G_MAXINT64 - 8 && has_blocks_of_8(call->scope))
        return (x->dims[1] + 7) / 8 * 8;
    return read;
}

/* Blocks are of 8 or 16 channels, as the machine's registers are wide. */
gboolean ifm_shape_reorder_input(const IfmOperatorCall *call, GError **error)
{
    IfmTensorInfo x = image(call);
    if (!ifm_rule_rank(call, 0, 3, IFM_MAX_RANK, error))
        return FALSE;
    gint64 filled = channels_filled(call, &x);
    if (filled < x.dims[1] || filled - x.dims[1] >= 16 || filled % 8 != 0)
        *call->why = "how many channels fill a block depends on the machine that it was optimised for";
    else
    {
        x.dims[1] = filled;
        ifm_call_give(call, 0, &x);
    }
    return TRUE;
}

gboolean ifm_shape_reorder_output(const IfmOperatorCall *call, GError **error)
{
    IfmTensorInfo x = call->inputs[0];
    gint64 channels = ifm_node_int(call->node, "channels", -1);
    if (!ifm_rule_rank(call, 0, 3, IFM_MAX_RANK, error))
        return FALSE;
    if (channels < 0 || channels > x.dims[1])
        return ifm_error_refuse(error, "channels is %" G_GINT64_FORMAT ", '%s' has %" G_GINT64_FORMAT, channels,
                                call->node->inputs[0], x.dims[1]);
    x.dims[1] = channels;
    return give_image(call, &x);
}
