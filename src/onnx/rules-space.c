/* Operators that sample space anew: resizing, grids, regions, columns: shapes and costs. */
#include <math.h>
#include <string.h>

#include "operators.h"

/* --- resizing --------------------------------------------------------------------------------------------------------- */

/* Scales: one for each of @n axes. */
typedef struct
{
    double values[IFM_FACT_MAX_VALUES];
    int n;
} Scales;

/* read_scales: an attribute in Upsample's first version, then an input. Returns: FALSE where they are not known, or none.
 */
static gboolean read_scales(const IfmOperatorCall *call, gsize input, Scales *scales)
{
    const IfmTensorInfo *given = ifm_call_input(call, input);
    const Onnx__AttributeProto *attribute = ifm_onnx_attribute(call->node, "scales");
    scales->n = 0;
    if (given != NULL && given->values == IFM_VALUES_REALS)
    {
        scales->n = given->n_values;
        memcpy(scales->values, given->reals, sizeof scales->values);
    }
    else if (attribute != NULL && given == NULL)
    {
        gboolean is_real = attribute->n_floats > 0; /* runtimes' own Upsample has whole ones */
        scales->n = (int)MIN(is_real ? attribute->n_floats : attribute->n_ints, IFM_FACT_MAX_VALUES);
        for (int i = 0; i < scales->n; i++)
            scales->values[i] = is_real ? (double)attribute->floats[i] : (double)attribute->ints[i];
    }
    return scales->n > 0;
}

/* keep_aspect: one scale for all the axes, so that none is larger (smaller) than asked. */
static void keep_aspect(gboolean not_larger, const gint64 *sizes, int n, const int *axes, IfmTensorInfo *x)
{
    double scale = 0;
    for (int i = 0; i < n; i++)
    {
        double one = (double)sizes[i] / (double)MAX(x->dims[axes[i]], 1);
        if (i == 0 || (not_larger ? one < scale : one > scale))
            scale = one;
    }
    for (int i = 0; i < n; i++)
        x->dims[axes[i]] = (gint64)MIN(floor(scale * (double)x->dims[axes[i]] + 0.5), 0x1p57);
}

static gboolean apply_sizes(const IfmOperatorCall *call, const gint64 *sizes, int n, const int *axes, IfmTensorInfo *x,
                            GError **error)
{
    const char *policy = ifm_node_string(call->node, "keep_aspect_ratio_policy", "stretch");
    for (int i = 0; i < n; i++)
        if (sizes[i] < 0)
            return ifm_error_refuse(error, "sizes[%d] is %" G_GINT64_FORMAT, i, sizes[i]);
    if (!g_str_equal(policy, "stretch"))
        keep_aspect(g_str_equal(policy, "not_larger"), sizes, n, axes, x);
    else
        for (int i = 0; i < n; i++)
            x->dims[axes[i]] = sizes[i];
    return TRUE;
}

/* Runtimes multiply in single precision: so is it here, or a size on the edge comes out one off. */
static gboolean apply_scales(const Scales *scales, const int *axes, IfmTensorInfo *x, GError **error)
{
    for (int i = 0; i < scales->n; i++)
    {
        float scaled = (float)scales->values[i] * (float)x->dims[axes[i]];
        if (!(scales->values[i] > 0) || !(scaled < 0x1p57f))
            return ifm_error_refuse(error, "scales[%d] is %g", i, scales->values[i]);
        x->dims[axes[i]] = (gint64)scaled;
    }
    return TRUE;
}

/* resized_axes: all of them, or those of the attribute (since version 18). @n: how many sizes or scales there are. */
static gboolean resized_axes(const IfmOperatorCall *call, int n, int rank, int *axes, GError **error)
{
    gsize n_named;
    const gint64 *named = ifm_node_ints(call->node, "axes", &n_named);
    if (n != (named != NULL ? (int)MIN(n_named, G_MAXINT) : rank))
        return ifm_error_refuse(error, "%d sizes or scales for the %d axes of '%s'", n, rank, call->node->inputs[0]);
    return ifm_rule_place_axes(named, n, rank, axes, error);
}

gboolean ifm_shape_resize(const IfmOperatorCall *call, GError **error)
{
    IfmTensorInfo x = call->inputs[0];
    gboolean has_roi = g_str_equal(call->node->op_type, "Resize") && call->opset >= 11;
    Scales scales;
    int axes[IFM_MAX_RANK], n = 0;
    const gint64 *sizes = has_roi ? ifm_rule_ints(call, 3, NULL, &n) : NULL;
    gboolean has_scales = read_scales(call, has_roi ? 2 : 1, &scales);
    if (sizes == NULL && !has_scales)
        return ifm_call_by_values(call);
    if (!resized_axes(call, sizes != NULL ? n : scales.n, x.rank, axes, error) ||
        !(sizes != NULL ? apply_sizes(call, sizes, n, axes, &x, error) : apply_scales(&scales, axes, &x, error)))
        return FALSE;
    return ifm_call_give(call, 0, &x);
}

/* taps: The number of elements in one interpolation: 2 (linear) or 4 (cubic) along each of @n_axes. */
static gboolean interpolate(const IfmOperatorCall *call, const char *mode, int n_axes, IfmNodeCost *cost)
{
    gint64 each = *mode == 'n' ? 0 : 2, taps = strstr(mode, "cubic") != NULL ? 4 : 2;
    for (int i = 0; i < n_axes; i++)
        if (!ifm_count_times(&each, taps))
            return FALSE;
    return ifm_cost_per_output(call, each, cost);
}

gboolean ifm_cost_resize(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    int n = 0;
    for (int i = 0; i < call->outputs[0].rank; i++)
        n += call->outputs[0].dims[i] != call->inputs[0].dims[i];
    return interpolate(call, ifm_node_string(call->node, "mode", "nearest"), n, cost);
}

/* --- points and regions ----------------------------------------------------------------------------------------------- */

gboolean ifm_shape_grid_sample(const IfmOperatorCall *call, GError **error)
{
    IfmTensorInfo x = call->inputs[0];
    const IfmTensorInfo *grid = &call->inputs[1];
    if (!ifm_rule_rank(call, 0, 3, IFM_MAX_RANK, error))
        return FALSE;
    if (grid->rank != x.rank || grid->dims[0] != x.dims[0] || grid->dims[grid->rank - 1] != x.rank - 2)
    {
        g_autofree char *shape = ifm_fact_shape(&x), *points = ifm_fact_shape(grid);
        return ifm_error_refuse(error, "'%s' %s is no grid of points in '%s' %s", call->node->inputs[1], points,
                                call->node->inputs[0], shape);
    }
    memcpy(x.dims + 2, grid->dims + 1, (gsize)(x.rank - 2) * sizeof x.dims[0]);
    return ifm_call_give(call, 0, &x);
}

gboolean ifm_cost_grid_sample(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    return interpolate(call, ifm_node_string(call->node, "mode", "linear"), call->inputs[0].rank - 2, cost);
}

/* RoiAlign, MaxRoiPool: [regions, channels, height, width]. */
gboolean ifm_shape_roi(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *x = &call->inputs[0], *rois = &call->inputs[1];
    gsize n;
    const gint64 *pooled = ifm_node_ints(call->node, "pooled_shape", &n);
    gint64 height = ifm_node_int(call->node, "output_height", 1), width = ifm_node_int(call->node, "output_width", 1);
    if (!ifm_rule_rank(call, 0, 4, 4, error) || !ifm_rule_rank(call, 1, 2, 2, error))
        return FALSE;
    if (pooled != NULL && n == 2)
    {
        height = pooled[0];
        width = pooled[1];
    }
    if (height < 0 || width < 0)
        return ifm_error_refuse(error, "a region is to become %" G_GINT64_FORMAT " by %" G_GINT64_FORMAT, height, width);
    return ifm_call_shape(call, 0, 4, (gint64[]){ rois->dims[0], x->dims[1], height, width });
}

/* RoiAlign: four neighbours per sample, then the mean of the samples. An adaptive number of samples depends on the regions.
 */
gboolean ifm_cost_roi(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    gint64 samples = ifm_node_int(call->node, "sampling_ratio", 0), each = 9;
    if (samples >= 1)
        return ifm_count_times(&each, samples) && ifm_count_times(&each, samples) && ifm_cost_per_output(call, each, cost);
    return ifm_cost_by_values(call, factor, cost);
}

/* --- back to space ---------------------------------------------------------------------------------------------------- */

/* Equals: stride (in - 1) + kernel - pads for each spatial dimension, where no output shape is given */
gboolean ifm_shape_max_unpool(const IfmOperatorCall *call, GError **error)
{
    IfmTensorInfo x = call->inputs[0];
    const IfmTensorInfo *given = ifm_call_input(call, 2);
    gint64 dims[IFM_MAX_RANK];
    gsize n, n_strides, n_pads;
    const gint64 *kernel = ifm_node_ints(call->node, "kernel_shape", &n);
    const gint64 *strides = ifm_node_ints(call->node, "strides", &n_strides);
    const gint64 *pads = ifm_node_ints(call->node, "pads", &n_pads);
    if (given != NULL)
        return ifm_rule_dims(call, 2, dims, error) && ifm_call_shape(call, 0, given->n_values, dims);
    gboolean fits =
        x.rank >= 3 && n == (gsize)x.rank - 2 && (strides == NULL || n_strides == n) && (pads == NULL || n_pads == 2 * n);
    for (gsize i = 0; fits && i < n; i++)
    {
        gint64 stride = strides != NULL ? strides[i] : 1, begin = pads != NULL ? pads[i] : 0;
        gint64 end = pads != NULL ? pads[i + n] : 0;
        fits = stride >= 1 && stride <= G_MAXINT32 && kernel[i] >= 1 && kernel[i] <= G_MAXINT32 && begin >= 0 &&
               begin <= G_MAXINT32 && end >= 0 && end <= G_MAXINT32 && x.dims[i + 2] <= G_MAXINT32;
        if (fits)
            x.dims[i + 2] = stride * (x.dims[i + 2] - 1) + kernel[i] - begin - end;
        fits = fits && x.dims[i + 2] >= 0;
    }
    if (!fits)
        return ifm_error_refuse(error, "kernel_shape, strides and pads do not fit '%s'", call->node->inputs[0]);
    return ifm_call_give(call, 0, &x);
}

/* [N, C * product(block), positions] becomes [N, C, image...]. */
gboolean ifm_shape_col2im(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *x = &call->inputs[0], *image = &call->inputs[1], *block = &call->inputs[2];
    gint64 dims[IFM_MAX_RANK], blocks[IFM_MAX_RANK], each = 1;
    if (!ifm_rule_rank(call, 0, 3, 3, error) || !ifm_rule_dims(call, 1, dims, error) ||
        !ifm_rule_dims(call, 2, blocks, error))
        return FALSE;
    gboolean fits = image->n_values == block->n_values && image->n_values + 2 <= IFM_MAX_RANK;
    for (int i = 0; fits && i < block->n_values; i++)
        fits = !__builtin_mul_overflow(each, blocks[i], &each);
    if (!fits || each < 1 || x->dims[1] % each != 0)
        return ifm_error_refuse(error, "'%s' and '%s' do not fit '%s'", call->node->inputs[1], call->node->inputs[2],
                                call->node->inputs[0]);
    memmove(dims + 2, dims, (gsize)image->n_values * sizeof dims[0]);
    dims[0] = x->dims[0];
    dims[1] = x->dims[1] / each;
    return ifm_call_shape(call, 0, image->n_values + 2, dims);
}
