/*
 * The rule of Resize by nearest elements and linear interpolation. Along each axis the output is M x, M [out, in] a matrix
 * of shares; its input gets M^T g. Copies of whole numbers of elements, as Upsample makes them, are sums of blocks instead.
 */
#include <math.h>
#include <string.h>

#include "gradient-private.h"

#define MAX_SHARES (1 << 24) /* elements of one matrix */

/* Axis: one that is resized. @scale: out / in, as the operator has it */
typedef struct
{
    int axis;
    gint64 in, out;
    float scale;
} Axis;

typedef struct
{
    const char *mode, *transform, *nearest;
    gint64 axes[IFM_MAX_RANK];
    gsize n_axes;
    float scales[IFM_MAX_RANK]; /* [n_axes] 0: those of the sizes */
} Resizing;

/* --- what the node says --------------------------------------------------------------------------------------------- */

static gboolean is_one_of(const char *word, const char *const *words)
{
    return g_strv_contains(words, word);
}

static gboolean check_form(IfmBack *back, const Resizing *of)
{
    static const char *const modes[] = { "nearest", "linear", NULL };
    static const char *const transforms[] = { "half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", NULL };
    const char *policy = ifm_node_string(back->node, "keep_aspect_ratio_policy", "stretch");
    if (!is_one_of(of->mode, modes))
        ifm_back_fail(back, "mode %s: no gradient rule", of->mode);
    else if (!is_one_of(of->transform, transforms))
        ifm_back_fail(back, "coordinate_transformation_mode %s: no gradient rule", of->transform);
    else if (ifm_node_int(back->node, "antialias", 0) != 0)
        ifm_back_fail(back, "antialias: no gradient rule");
    else if (!g_str_equal(policy, "stretch"))
        ifm_back_fail(back, "keep_aspect_ratio_policy %s: no gradient rule", policy);
    return back->error == NULL;
}

/* read_scales: Those that are a weight; others are what the sizes make them. */
static void read_scales(IfmBack *back, Resizing *of)
{
    IfmTensor scales;
    const char *name = ifm_back_input(back, 2);
    if (name == NULL || !ifm_model_weight(back->model, name, &scales) ||
        ifm_tensor_n_elements(&scales) != (gint64)of->n_axes)
        return;
    for (gsize i = 0; i < of->n_axes; i++)
        of->scales[i] = (float)ifm_tensor_get_double(&scales, (gint64)i);
}

static gboolean read_resizing(IfmBack *back, int rank, Resizing *of)
{
    gsize n = 0;
    const gint64 *given = ifm_node_ints(back->node, "axes", &n);
    *of = (Resizing){ ifm_node_string(back->node, "mode", "nearest"),
                      ifm_node_string(back->node, "coordinate_transformation_mode", "half_pixel"),
                      ifm_node_string(back->node, "nearest_mode", "round_prefer_floor") };
    of->n_axes = given != NULL ? MIN(n, IFM_MAX_RANK) : (gsize)rank;
    for (gsize i = 0; i < of->n_axes; i++)
    {
        of->axes[i] = given == NULL ? (gint64)i : given[i] < 0 ? given[i] + rank : given[i];
        if (of->axes[i] < 0 || of->axes[i] >= rank)
            ifm_back_fail(back, "axis %" G_GINT64_FORMAT " of a tensor of %d", of->axes[i], rank);
    }
    read_scales(back, of);
    return back->error == NULL && check_form(back, of);
}

/* --- shares ----------------------------------------------------------------------------------------------------------- */

/* place_of: where the output's element lies among the input's; in single precision, as the engines compute it. */
static float place_of(const Resizing *of, const Axis *axis, gint64 element)
{
    float x = (float)element;
    if (g_str_equal(of->transform, "asymmetric"))
        return x / axis->scale;
    if (g_str_equal(of->transform, "align_corners"))
        return axis->out == 1 ? 0 : x * (float)(axis->in - 1) / (float)(axis->out - 1);
    if (g_str_equal(of->transform, "pytorch_half_pixel") && axis->out == 1)
        return 0;
    return (x + 0.5f) / axis->scale - 0.5f;
}

static gint64 nearest_to(const Resizing *of, float place)
{
    if (g_str_equal(of->nearest, "floor"))
        return (gint64)floorf(place);
    if (g_str_equal(of->nearest, "ceil"))
        return (gint64)ceilf(place);
    if (g_str_equal(of->nearest, "round_prefer_ceil"))
        return (gint64)floorf(place + 0.5f);
    return (gint64)ceilf(place - 0.5f);
}

/* write_shares: @shares: [out, in] zeros */
static void write_shares(const Resizing *of, const Axis *axis, double *shares)
{
    gint64 last = axis->in - 1;
    for (gint64 i = 0; i < axis->out; i++, shares += axis->in)
    {
        float place = place_of(of, axis, i);
        if (g_str_equal(of->mode, "nearest"))
        {
            shares[CLAMP(nearest_to(of, place), 0, last)] = 1;
            continue;
        }
        place = CLAMP(place, 0, (float)last);
        gint64 low = (gint64)floorf(place), high = MIN(low + 1, last);
        double share = (double)(place - (float)low);
        shares[low] += 1 - share;
        shares[high] += share;
    }
}

/* is_blocks: Whether each element is copied as often as the others, one after the other. */
static gboolean is_blocks(const Axis *axis, const double *shares)
{
    if (axis->out % axis->in != 0)
        return FALSE;
    for (gint64 i = 0; i < axis->out; i++)
        if (shares[i * axis->in + i / (axis->out / axis->in)] != 1)
            return FALSE;
    return TRUE;
}

/* --- the rule ------------------------------------------------------------------------------------------------------- */

/* sum_blocks: [.., out, ..] as [.., in, times, ..]. @dims: of @value, changed with it; one more may be free */
static const char *sum_blocks(IfmBack *back, const char *value, IfmBackShape *dims, const Axis *axis)
{
    gint64 apart[IFM_MAX_RANK + 1];
    const int times = axis->axis + 1;
    for (int i = 0; i <= dims->rank; i++)
        apart[i] = i < axis->axis ? dims->dims[i] : i == axis->axis ? axis->in : dims->dims[i - 1];
    apart[times] = axis->out / axis->in;
    value = ifm_back_reshape_dims(back, value, apart, dims->rank + 1);
    return ifm_back_sum(back, value, &times, 1, FALSE);
}

/* multiply: M^T along the axis. */
static const char *multiply(IfmBack *back, const char *value, const IfmBackShape *dims, const Axis *axis,
                            const double *shares)
{
    int order[IFM_MAX_RANK], last = dims->rank - 1;
    const char *matrix = ifm_back_values(back, dims->dtype, 2, (gint64[]){ axis->out, axis->in }, shares);
    for (int i = 0; i <= last; i++)
        order[i] = i;
    order[axis->axis] = last;
    order[last] = axis->axis;
    if (axis->axis == last)
        return ifm_back_op(back, "MatMul", value, matrix, NULL);
    value = ifm_back_op(back, "MatMul", ifm_back_transpose(back, value, order, last + 1), matrix, NULL);
    return ifm_back_transpose(back, value, order, last + 1);
}

static const char *along(IfmBack *back, const char *value, const Resizing *of, const Axis *axis, IfmBackShape *dims)
{
    if (axis->in < 1 || axis->out < 1 || axis->in > MAX_SHARES / axis->out)
    {
        ifm_back_fail(back,
                      axis->in < 0 || axis->out < 0 ? "axis %d of '%s' is free; a gradient needs its size (bind it)"
                                                    : "axis %d of '%s' is too long, or empty: no gradient rule",
                      axis->axis, back->x);
        return value;
    }
    g_autofree double *shares = g_new0(double, (gsize)(axis->in * axis->out));
    write_shares(of, axis, shares);
    gboolean in_blocks = ifm_back_n_sized(dims, -1) <= 1 && dims->rank < IFM_MAX_RANK && is_blocks(axis, shares);
    value = in_blocks ? sum_blocks(back, value, dims, axis) : multiply(back, value, dims, axis, shares);
    dims->dims[axis->axis] = axis->in;
    return value;
}

static void resize_rule(IfmBack *back)
{
    const IfmBackShape x = ifm_back_shape(back, back->x);
    IfmBackShape y = ifm_back_shape(back, back->y);
    Resizing of;
    const char *value = back->g;
    if (back->error != NULL || !read_resizing(back, x.rank, &of))
        return;
    for (gsize i = of.n_axes; i-- > 0 && back->error == NULL;)
    {
        Axis axis = { (int)of.axes[i], x.dims[of.axes[i]], y.dims[of.axes[i]], of.scales[i] };
        if (axis.scale == 1 || (axis.scale == 0 && ifm_back_same_size(back, back->x, back->y, axis.axis)))
            continue;
        if (axis.scale == 0 && axis.in > 0)
            axis.scale = (float)axis.out / (float)axis.in;
        value = along(back, value, &of, &axis, &y);
    }
    ifm_back_give(back, 0, value);
}

const IfmGradientRule ifm_gradients_resize[] = {
    { "Resize", resize_rule },
    { NULL },
};
