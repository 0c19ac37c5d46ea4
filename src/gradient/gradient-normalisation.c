/* Rules of normalisations and of softmax. In comments g is the gradient of the output y, m(.) a mean. */
#include "gradient-private.h"

static const char *root_inverse(IfmBack *back, IfmDtype dtype, const char *variance, double epsilon)
{
    const char *sum = ifm_back_add(back, variance, ifm_back_scalar(back, dtype, epsilon));
    return ifm_back_op(back, "Reciprocal", ifm_back_op(back, "Sqrt", sum, NULL), NULL);
}

/* --- batch normalisation ------------------------------------------------------------------------------------------------
 */

/* Norm: @axes: those that statistics are over    @shape_one: i64, of a channel's numbers beside the input: [1, C, 1 …] */
typedef struct
{
    const char *x, *scale, *bias;
    IfmBackShape shape;
    int axes[IFM_MAX_RANK], n_axes;
    double epsilon;
    gboolean is_training;
} Norm;

static gboolean read_norm(IfmBack *back, Norm *norm)
{
    *norm = (Norm){ .x = ifm_back_input(back, 0), .scale = ifm_back_input(back, 1), .bias = ifm_back_input(back, 2) };
    norm->epsilon = ifm_node_float(back->node, "epsilon", 1e-5);
    norm->is_training = ifm_node_int(back->node, "training_mode", 0) != 0;
    if (!ifm_back_shape(back, norm->x, &norm->shape))
        return FALSE;
    for (int i = 0; i < norm->shape.rank; i++)
        if (i != 1)
            norm->axes[norm->n_axes++] = i;
    return TRUE;
}

/* per_channel: [C] as [1, C, 1 …] */
static const char *per_channel(IfmBack *back, const Norm *norm, const char *value)
{
    gint64 dims[IFM_MAX_RANK];
    for (int i = 0; i < norm->shape.rank; i++)
        dims[i] = i == 1 ? -1 : 1;
    return ifm_back_reshape_dims(back, value, dims, MAX(norm->shape.rank, 2));
}

static const char *flat(IfmBack *back, const char *value)
{
    return ifm_back_reshape_dims(back, value, (gint64[]){ -1 }, 1);
}

static const char *mean(IfmBack *back, const Norm *norm, const char *value)
{
    const char *count = ifm_back_count(back, norm->shape.dtype, norm->x, norm->axes, norm->n_axes);
    return ifm_back_div(back, ifm_back_sum(back, value, norm->axes, norm->n_axes, TRUE), count);
}

/* running: next = old momentum + batch (1 - momentum), as output @output */
static void running(IfmBack *back, const Norm *norm, gsize output, const char *batch)
{
    if (ifm_back_output(back, output) == NULL)
        return;
    double momentum = ifm_node_float(back->node, "momentum", 0.9);
    const char *old =
        ifm_back_mul(back, ifm_back_input(back, output + 2), ifm_back_scalar(back, norm->shape.dtype, momentum));
    const char *share = ifm_back_mul(back, flat(back, batch), ifm_back_scalar(back, norm->shape.dtype, 1 - momentum));
    ifm_back_op_to(back, ifm_back_output(back, output), "Add", old, share, NULL);
}

/* No engine's release for inference runs the training form: it is written out, and what the rule needs is kept. */
gboolean ifm_forward_batch_normalization(IfmBack *back)
{
    Norm norm;
    if (ifm_node_int(back->node, "training_mode", 0) == 0)
        return FALSE;
    if (!read_norm(back, &norm))
        return TRUE;
    const char *average = mean(back, &norm, norm.x);
    const char *centred = ifm_back_sub(back, norm.x, average);
    const char *variance = mean(back, &norm, ifm_back_mul(back, centred, centred));
    const char *inverse = root_inverse(back, norm.shape.dtype, variance, norm.epsilon);
    const char *hat = ifm_back_mul(back, centred, inverse);
    ifm_back_keep(back, "inverse", inverse);
    ifm_back_keep(back, "hat", hat);
    ifm_back_op_to(back, ifm_back_output(back, 0), "Add", ifm_back_mul(back, hat, per_channel(back, &norm, norm.scale)),
                   per_channel(back, &norm, norm.bias), NULL);
    running(back, &norm, 1, average);
    running(back, &norm, 2, variance);
    return TRUE;
}

/* dx = scale inverse (g - m(g) - hat m(g hat)): the sums are those of the bias and of the scale. */
static void by_batch(IfmBack *back, const Norm *norm)
{
    const char *g = ifm_back_gradient(back, 0), *hat = ifm_back_kept(back, "hat"),
               *inverse = ifm_back_kept(back, "inverse");
    const char *bias_sum = ifm_back_sum(back, g, norm->axes, norm->n_axes, TRUE);
    const char *scale_sum = ifm_back_sum(back, ifm_back_mul(back, g, hat), norm->axes, norm->n_axes, TRUE);
    ifm_back_give(back, 1, flat(back, scale_sum));
    ifm_back_give(back, 2, flat(back, bias_sum));
    if (!ifm_back_wants(back, 0))
        return;
    const char *count = ifm_back_count(back, norm->shape.dtype, norm->x, norm->axes, norm->n_axes);
    const char *factor = ifm_back_mul(back, per_channel(back, norm, norm->scale), inverse);
    const char *centred = ifm_back_sub(back, g, ifm_back_div(back, bias_sum, count));
    const char *along = ifm_back_mul(back, hat, ifm_back_div(back, scale_sum, count));
    ifm_back_give(back, 0, ifm_back_mul(back, factor, ifm_back_sub(back, centred, along)));
}

/* dx = g scale inverse, dscale = inverse sum(g (x - mean)), and by the fixed statistics themselves, where asked. */
static void by_fixed(IfmBack *back, const Norm *norm)
{
    const char *g = ifm_back_gradient(back, 0),
               *inverse = root_inverse(back, norm->shape.dtype, ifm_back_input(back, 4), norm->epsilon);
    const char *factor = ifm_back_mul(back, norm->scale, inverse), *sum = NULL, *along = NULL;
    if (ifm_back_wants(back, 0))
        ifm_back_give(back, 0, ifm_back_mul(back, g, per_channel(back, norm, factor)));
    if (ifm_back_wants(back, 2) || ifm_back_wants(back, 3))
        sum = ifm_back_sum(back, g, norm->axes, norm->n_axes, FALSE);
    if (ifm_back_wants(back, 1) || ifm_back_wants(back, 4))
    {
        const char *centred = ifm_back_sub(back, norm->x, per_channel(back, norm, ifm_back_input(back, 3)));
        const char *products = ifm_back_mul(back, g, centred);
        along = ifm_back_mul(back, inverse, ifm_back_sum(back, products, norm->axes, norm->n_axes, FALSE));
    }
    ifm_back_give(back, 1, along);
    ifm_back_give(back, 2, sum);
    if (ifm_back_wants(back, 3))
        ifm_back_give(back, 3, ifm_back_op(back, "Neg", ifm_back_mul(back, sum, factor), NULL));
    if (ifm_back_wants(back, 4))
    {
        const char *slope = ifm_back_mul(back, ifm_back_mul(back, factor, inverse), along);
        ifm_back_give(back, 4, ifm_back_mul(back, slope, ifm_back_scalar(back, norm->shape.dtype, -0.5)));
    }
}

IFM_GRADIENT_RULE(batch_normalization)
{
    Norm norm;
    if (!read_norm(back, &norm))
        return;
    if (norm.is_training)
        by_batch(back, &norm);
    else
        by_fixed(back, &norm);
}

/* --- layer normalisation ------------------------------------------------------------------------------------------------
 */

/* dx = inverse (h - m(h) - hat m(h hat)), h = g scale. The statistics are computed again: not every engine gives them out.
 */
IFM_GRADIENT_RULE(layer_normalization)
{
    Norm norm = { .x = ifm_back_input(back, 0) };
    const char *g = ifm_back_gradient(back, 0), *y = ifm_back_output(back, 0), *scale = ifm_back_input(back, 1);
    if (!ifm_back_shape(back, norm.x, &norm.shape))
        return;
    if (ifm_back_gradient(back, 1) != NULL || ifm_back_gradient(back, 2) != NULL)
        ifm_back_fail(back, "what depends on its mean or deviation has no gradient rule");
    for (int i = ifm_back_axis(back, -1, norm.shape.rank); i < norm.shape.rank; i++)
        norm.axes[norm.n_axes++] = i;
    const char *centred = ifm_back_sub(back, norm.x, mean(back, &norm, norm.x));
    const char *variance = mean(back, &norm, ifm_back_mul(back, centred, centred));
    const char *inverse = root_inverse(back, norm.shape.dtype, variance, ifm_node_float(back->node, "epsilon", 1e-5));
    const char *hat = ifm_back_mul(back, centred, inverse);
    if (ifm_back_wants(back, 0))
    {
        const char *h = ifm_back_mul(back, g, scale);
        const char *along = ifm_back_mul(back, hat, mean(back, &norm, ifm_back_mul(back, h, hat)));
        const char *rest = ifm_back_sub(back, ifm_back_sub(back, h, mean(back, &norm, h)), along);
        ifm_back_give(back, 0, ifm_back_mul(back, inverse, rest));
    }
    if (ifm_back_wants(back, 1))
        ifm_back_give_sum(back, 1, ifm_back_mul(back, g, hat), y);
    ifm_back_give_sum(back, 2, g, y);
}

/* --- local response normalisation
 * ----------------------------------------------------------------------------------------- */

/* window_sum: over @size channels, @before of them before each: an average over [N, 1, C, rest], times the size. */
static const char *window_sum(IfmBack *back, const char *value, const IfmBackShape *shape, gint64 size, gint64 before)
{
    const char *x = ifm_back_input(back, 0);
    gint64 rest = ifm_back_n_elements(shape, 2, shape->rank), channels = shape->dims[1];
    const char *planes = ifm_back_reshape_dims(back, value, (gint64[]){ -1, 1, channels, rest }, 4);
    const char *average = ifm_back_op(back, "AveragePool", planes, NULL);
    ifm_back_ints(back, "kernel_shape", (gint64[]){ size, 1 }, 2);
    ifm_back_ints(back, "pads", (gint64[]){ before, 0, size - 1 - before, 0 }, 4);
    ifm_back_int(back, "count_include_pad", 1);
    average = ifm_back_reshape(back, average, x);
    return ifm_back_mul(back, average, ifm_back_scalar(back, shape->dtype, (double)size));
}

/* y = x d^-beta, d = bias + alpha / size sum(x^2): dx = g d^-beta - 2 alpha beta / size x sum'(g y / d), the window turned
 */
IFM_GRADIENT_RULE(lrn)
{
    const char *g = ifm_back_gradient(back, 0), *x = ifm_back_input(back, 0);
    gint64 size = ifm_node_int(back->node, "size", 1), before = (size - 1) / 2;
    double alpha = ifm_node_float(back->node, "alpha", 1e-4), beta = ifm_node_float(back->node, "beta", 0.75);
    IfmBackShape shape;
    if (!ifm_back_shape(back, x, &shape))
        return;
    if (ifm_back_n_elements(&shape, 1, shape.rank) < 1)
    {
        ifm_back_fail(back, "its gradient needs all but the batch of '%s' (bind them)", x);
        return;
    }
    const char *squares = window_sum(back, ifm_back_mul(back, x, x), &shape, size, before);
    const char *scaled = ifm_back_mul(back, squares, ifm_back_scalar(back, shape.dtype, alpha / (double)size));
    const char *d = ifm_back_add(back, scaled, ifm_back_scalar(back, shape.dtype, ifm_node_float(back->node, "bias", 1)));
    const char *power = ifm_back_op(back, "Pow", d, ifm_back_scalar(back, shape.dtype, -beta), NULL);
    const char *shares = ifm_back_div(back, ifm_back_mul(back, g, ifm_back_output(back, 0)), d);
    const char *turned = window_sum(back, shares, &shape, size, size - 1 - before);
    const char *along = ifm_back_mul(back, x, turned);
    along = ifm_back_mul(back, along, ifm_back_scalar(back, shape.dtype, 2 * alpha * beta / (double)size));
    ifm_back_give(back, 0, ifm_back_sub(back, ifm_back_mul(back, g, power), along));
}

/* --- softmax ------------------------------------------------------------------------------------------------------------
 */

static const char *sum_along(IfmBack *back, const char *value)
{
    IfmBackShape shape;
    if (!ifm_back_shape(back, ifm_back_output(back, 0), &shape))
        return value;
    int axis = ifm_back_axis(back, -1, shape.rank);
    return ifm_back_sum(back, value, &axis, 1, TRUE);
}

/* y (g - sum(g y)) */
IFM_GRADIENT_RULE(softmax)
{
    const char *g = ifm_back_gradient(back, 0), *y = ifm_back_output(back, 0);
    const char *sum = sum_along(back, ifm_back_mul(back, g, y));
    ifm_back_give(back, 0, ifm_back_mul(back, y, ifm_back_sub(back, g, sum)));
}

/* g - exp(y) sum(g) */
IFM_GRADIENT_RULE(log_softmax)
{
    const char *g = ifm_back_gradient(back, 0);
    const char *share = ifm_back_op(back, "Exp", ifm_back_output(back, 0), NULL);
    ifm_back_give(back, 0, ifm_back_sub(back, g, ifm_back_mul(back, share, sum_along(back, g))));
}
