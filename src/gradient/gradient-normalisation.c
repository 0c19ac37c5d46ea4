/* Rules of normalisations and of softmax. In comments g is the gradient of the output y, m(.) a mean. */
#include "gradient-private.h"

/* --- batch normalisation ------------------------------------------------------------------------------------------ */

/*
 * Norm: @axes: those that statistics are over
 * @wide: the type that all is computed in: sums of many overflow half precision
 * @x, @g: the input and the gradient of the output, as @wide
 */
typedef struct
{
    const char *x, *g;
    IfmBackShape shape;
    IfmDtype wide;
    int axes[IFM_MAX_RANK], n_axes;
} Norm;

static gboolean read_norm(IfmBack *back, Norm *norm)
{
    *norm = (Norm){ .shape = ifm_back_shape(back, back->x) };
    norm->wide = ifm_back_wide(norm->shape.dtype);
    norm->x = ifm_back_as(back, back->x, norm->shape.dtype, norm->wide);
    norm->g = back->g != NULL ? ifm_back_as(back, back->g, norm->shape.dtype, norm->wide) : NULL;
    return back->error == NULL;
}

/* widened: An input other than the first. It may have a type of its own. */
static const char *widened(IfmBack *back, const Norm *norm, gsize input)
{
    const char *value = ifm_back_input(back, input);
    return ifm_back_as(back, value, ifm_back_dtype(back, value), norm->wide);
}

/* give: the other way round. */
static void give(IfmBack *back, const Norm *norm, gsize input, const char *gradient)
{
    if (ifm_back_wants(back, input))
        ifm_back_give(back, input,
                      ifm_back_as(back, gradient, norm->wide, ifm_back_dtype(back, ifm_back_input(back, input))));
}

/* refuses_statistics: Refuses a node with outputs other than its result. */
static gboolean refuses_statistics(IfmBack *back)
{
    for (gsize i = 1; i < back->node->n_outputs; i++)
        if (ifm_back_gradient(back, i) != NULL)
        {
            ifm_back_fail(back, "what depends on its statistics has no gradient rule");
            return TRUE;
        }
    return FALSE;
}

static gboolean read_channels(IfmBack *back, Norm *norm)
{
    if (!read_norm(back, norm))
        return FALSE;
    if (norm->shape.rank < 2)
    {
        ifm_back_fail(back, "its input has no axis of channels: no gradient rule");
        return FALSE;
    }
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
    return ifm_back_reshape_dims(back, value, dims, norm->shape.rank);
}

static const char *flat(IfmBack *back, const char *value)
{
    return ifm_back_reshape_dims(back, value, (gint64[]){ -1 }, 1);
}

static const char *mean(IfmBack *back, const Norm *norm, const char *value)
{
    const char *count = ifm_back_count(back, norm->wide, back->x, norm->axes, norm->n_axes);
    return ifm_back_div(back, ifm_back_sum(back, value, norm->axes, norm->n_axes, TRUE), count);
}

static const char *root_inverse(IfmBack *back, const Norm *norm, const char *variance)
{
    return ifm_back_formula_in(back, norm->wide, "Reciprocal(Sqrt(v + epsilon:1e-5))", "v", variance, NULL);
}

/* Own: what x comes to by its mean and variance over the axes. @hat: (x - average) inverse */
typedef struct
{
    const char *average, *variance, *inverse, *hat;
} Own;

static Own normalise(IfmBack *back, const Norm *norm)
{
    Own own = { .average = mean(back, norm, norm->x) };
    const char *centred = ifm_back_sub(back, norm->x, own.average);
    own.variance = mean(back, norm, ifm_back_mul(back, centred, centred));
    own.inverse = root_inverse(back, norm, own.variance);
    own.hat = ifm_back_mul(back, centred, own.inverse);
    return own;
}

/* put: a + b as output @output of the node that is written out. */
static void put(IfmBack *back, const Norm *norm, gsize output, const char *a, const char *b)
{
    const char *name = ifm_back_output(back, output);
    IfmDtype dtype = ifm_back_dtype(back, name);
    if (dtype == norm->wide)
    {
        ifm_back_op_to(back, name, "Add", a, b, NULL);
        return;
    }
    ifm_back_op_to(back, name, "Cast", ifm_back_add(back, a, b), NULL);
    ifm_back_int(back, "to", dtype);
}

/* running: next = old momentum + batch (1 - momentum), as output @output */
static void running(IfmBack *back, const Norm *norm, gsize output, const char *batch)
{
    if (ifm_back_output(back, output) == NULL)
        return;
    double momentum = ifm_node_float(back->node, "momentum", 0.9);
    const char *old = ifm_back_mul(back, widened(back, norm, output + 2), ifm_back_scalar(back, norm->wide, momentum));
    const char *share = ifm_back_mul(back, flat(back, batch), ifm_back_scalar(back, norm->wide, 1 - momentum));
    put(back, norm, output, old, share);
}

/* Inference engines do not run the training form. It is written out, and the tensors that the rule needs are kept. */
static gboolean forward_batch_normalization(IfmBack *back)
{
    Norm norm;
    if (ifm_node_int(back->node, "training_mode", 0) == 0)
        return FALSE;
    if (!read_channels(back, &norm))
        return TRUE;
    const Own own = normalise(back, &norm);
    ifm_back_keep(back, "inverse", own.inverse);
    ifm_back_keep(back, "hat", own.hat);
    put(back, &norm, 0, ifm_back_mul(back, own.hat, per_channel(back, &norm, widened(back, &norm, 1))),
        per_channel(back, &norm, widened(back, &norm, 2)));
    running(back, &norm, 1, own.average);
    running(back, &norm, 2, own.variance);
    return TRUE;
}

/* dx = scale inverse (g - m(g) - hat m(g hat)): the sums are those of the bias and of the scale. */
static void by_batch(IfmBack *back, const Norm *norm)
{
    const char *hat = ifm_back_kept(back, "hat"), *inverse = ifm_back_kept(back, "inverse");
    const char *bias_sum = ifm_back_sum(back, norm->g, norm->axes, norm->n_axes, TRUE);
    const char *scale_sum = ifm_back_sum(back, ifm_back_mul(back, norm->g, hat), norm->axes, norm->n_axes, TRUE);
    give(back, norm, 1, flat(back, scale_sum));
    give(back, norm, 2, flat(back, bias_sum));
    if (!ifm_back_wants(back, 0))
        return;
    const char *count = ifm_back_count(back, norm->wide, back->x, norm->axes, norm->n_axes);
    const char *scale = per_channel(back, norm, widened(back, norm, 1));
    give(back, norm, 0,
         ifm_back_formula(back, "scale * inverse * (g - bias / n - hat * (along / n))", "scale", scale, "inverse", inverse,
                          "g", norm->g, "bias", bias_sum, "n", count, "hat", hat, "along", scale_sum, NULL));
}

/* dx = g scale inverse, dscale = inverse sum(g (x - mean)), and by the fixed statistics themselves, where asked. */
static void by_fixed(IfmBack *back, const Norm *norm)
{
    const char *g = norm->g, *inverse = root_inverse(back, norm, widened(back, norm, 4));
    const char *factor = ifm_back_mul(back, widened(back, norm, 1), inverse), *sum = NULL, *along = NULL;
    if (ifm_back_wants(back, 0))
        give(back, norm, 0, ifm_back_mul(back, g, per_channel(back, norm, factor)));
    if (ifm_back_wants(back, 2) || ifm_back_wants(back, 3))
        sum = ifm_back_sum(back, g, norm->axes, norm->n_axes, FALSE);
    if (ifm_back_wants(back, 1) || ifm_back_wants(back, 4))
    {
        const char *average = per_channel(back, norm, widened(back, norm, 3));
        const char *products = ifm_back_formula(back, "g * (x - m)", "g", g, "x", norm->x, "m", average, NULL);
        along = ifm_back_mul(back, inverse, ifm_back_sum(back, products, norm->axes, norm->n_axes, FALSE));
    }
    give(back, norm, 1, along);
    give(back, norm, 2, sum);
    if (ifm_back_wants(back, 3))
        give(back, norm, 3, ifm_back_formula(back, "-(sum * factor)", "sum", sum, "factor", factor, NULL));
    if (ifm_back_wants(back, 4))
        give(back, norm, 4,
             ifm_back_formula_in(back, norm->wide, "factor * inverse * along * -0.5", "factor", factor, "inverse", inverse,
                                 "along", along, NULL));
}

static void batch_normalization_rule(IfmBack *back)
{
    Norm norm;
    if (refuses_statistics(back) || !read_channels(back, &norm))
        return;
    if (ifm_node_int(back->node, "training_mode", 0) != 0)
        by_batch(back, &norm);
    else
        by_fixed(back, &norm);
}

/* --- layer and instance normalisation ----------------------------------------------------------------------------- */

/* by_own: By the mean and variance over the axes of each: dx = inverse (h - m(h) - hat m(h hat)), h = g scale. The
 * statistics are computed again: not every engine gives them out. @scale: as it broadcasts    Returns: hat */
static const char *by_own(IfmBack *back, const Norm *norm, const char *scale)
{
    const Own own = normalise(back, norm);
    if (ifm_back_wants(back, 0))
    {
        const char *h = ifm_back_mul(back, norm->g, scale), *along = mean(back, norm, ifm_back_mul(back, h, own.hat));
        give(back, norm, 0,
             ifm_back_formula(back, "inverse * (h - m - hat * along)", "inverse", own.inverse, "h", h, "m",
                              mean(back, norm, h), "hat", own.hat, "along", along, NULL));
    }
    return own.hat;
}

static void layer_normalization_rule(IfmBack *back)
{
    Norm norm;
    const char *y = back->y;
    if (refuses_statistics(back) || !read_norm(back, &norm))
        return;
    for (int i = ifm_back_axis(back, -1, norm.shape.rank); i < norm.shape.rank; i++)
        norm.axes[norm.n_axes++] = i;
    const char *hat = by_own(back, &norm, widened(back, &norm, 1));
    if (ifm_back_wants(back, 1))
        give(back, &norm, 1, ifm_back_sum_to(back, ifm_back_mul(back, norm.g, hat), y, ifm_back_input(back, 1)));
    if (ifm_back_wants(back, 2))
        give(back, &norm, 2, ifm_back_sum_to(back, norm.g, y, ifm_back_input(back, 2)));
}

/* [N, C, rest]: over the rest of each; scale and bias [C] */
static void instance_normalization_rule(IfmBack *back)
{
    Norm norm;
    int others[IFM_MAX_RANK] = { 0 }, n_others = 1; /* all but the channels */
    if (!read_norm(back, &norm))
        return;
    for (int i = 2; i < norm.shape.rank; i++)
        norm.axes[norm.n_axes++] = others[n_others++] = i;
    const char *hat = by_own(back, &norm, per_channel(back, &norm, widened(back, &norm, 1)));
    if (ifm_back_wants(back, 1))
        give(back, &norm, 1, ifm_back_sum(back, ifm_back_mul(back, norm.g, hat), others, n_others, FALSE));
    if (ifm_back_wants(back, 2))
        give(back, &norm, 2, ifm_back_sum(back, norm.g, others, n_others, FALSE));
}

/* --- local response normalisation
 * ----------------------------------------------------------------------------------------- */

/* window_sum: over @size channels, @before of them before each: an average over [N, 1, C, rest], times the size. */
static const char *window_sum(IfmBack *back, const char *value, const IfmBackShape *shape, gint64 size, gint64 before)
{
    const char *x = back->x;
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
static void lrn_rule(IfmBack *back)
{
    const char *x = back->x;
    gint64 size = ifm_node_int(back->node, "size", 1), before = (size - 1) / 2;
    double alpha = ifm_node_float(back->node, "alpha", 1e-4), beta = ifm_node_float(back->node, "beta", 0.75);
    const IfmBackShape shape = ifm_back_shape(back, x);
    if (shape.rank < 2 || ifm_back_n_elements(&shape, 1, shape.rank) < 1)
    {
        ifm_back_fail(back, "its gradient needs all but the batch of '%s' (bind them)", x);
        return;
    }
    const char *squares = window_sum(back, ifm_back_mul(back, x, x), &shape, size, before);
    const char *share = ifm_back_scalar(back, shape.dtype, alpha / (double)size);
    const char *d =
        ifm_back_formula_in(back, shape.dtype, "squares * share + bias:1", "squares", squares, "share", share, NULL);
    const char *turned =
        window_sum(back, ifm_back_formula(back, "g * y / d", "d", d, NULL), &shape, size, size - 1 - before);
    ifm_back_give(back, 0,
                  ifm_back_formula(back, "g * Pow(d, e) - x * turned * k", "d", d, "turned", turned, "e",
                                   ifm_back_scalar(back, shape.dtype, -beta), "k",
                                   ifm_back_scalar(back, shape.dtype, 2 * alpha * beta / (double)size), NULL));
}

/* --- softmax ------------------------------------------------------------------------------------------------------ */

static const char *sum_along(IfmBack *back, const char *value)
{
    int axis = ifm_back_axis(back, -1, ifm_back_shape(back, back->y).rank);
    return ifm_back_sum(back, value, &axis, 1, TRUE);
}

/* only_product: Returns: the product y v that is all that reads y, on its left; NULL where something else does, too. */
static const IfmNode *only_product(const IfmBack *back, const char *y)
{
    const GArray *readers = ifm_model_consumers(back->model, y);
    for (gsize i = 0; i < ifm_model_n_outputs(back->model); i++)
        if (g_str_equal(ifm_model_output(back->model, i)->name, y))
            return NULL;
    if (readers == NULL || readers->len != 1)
        return NULL;
    const IfmNode *node = ifm_model_node(back->model, g_array_index(readers, gsize, 0));
    gboolean is_left = *node->domain == '\0' && g_str_equal(node->op_type, "MatMul") && g_str_equal(node->inputs[0], y) &&
                       !g_str_equal(node->inputs[1], y);
    return is_left ? node : NULL;
}

/* is_narrowed: whether a product of @y by a matrix makes narrower rows of it, and is not broadcast to the matrix's batch.
 */
static gboolean is_narrowed(const IfmBackShape *y, const IfmBackShape *product)
{
    int last = y->rank - 1;
    if (product->rank != y->rank || product->dims[last] < 0)
        return FALSE;
    for (int i = 0; i < last - 1; i++)
        if (y->dims[i] < 0 || y->dims[i] != product->dims[i])
            return FALSE;
    return y->dims[last] < 0 || y->dims[last] > product->dims[last];
}

/*
 * sum_by_product: sum(g y), where y are shares in attention: they are read for o = y v alone, so with h the gradient of o
 * g = h v^T, and sum(g y) = sum(h o), along a row of o, which is shorter than one of y.
 * Returns: NULL where it is not so: another axis, more readers, y broadcast, or o as wide as y.
 */
static const char *sum_by_product(IfmBack *back, const char *y)
{
    const IfmNode *product = only_product(back, y);
    const IfmBackShape shape = ifm_back_shape(back, y);
    IfmBackShape of_product;
    if (product == NULL || !ifm_back_facts_shape(back->facts, product->outputs[0], &of_product) ||
        !is_narrowed(&shape, &of_product))
        return NULL;
    int axis = ifm_back_axis(back, -1, shape.rank);
    const char *h = g_hash_table_lookup(back->gradients, product->outputs[0]);
    if (axis != shape.rank - 1 || h == NULL)
        return NULL;
    return ifm_back_sum(back, ifm_back_mul(back, h, product->outputs[0]), &axis, 1, TRUE);
}

/* y (g - sum(g y)) */
static void softmax_rule(IfmBack *back)
{
    const char *g = back->g, *y = back->y;
    const char *sum = sum_by_product(back, y);
    if (sum == NULL)
        sum = sum_along(back, ifm_back_mul(back, g, y));
    ifm_back_give(back, 0, ifm_back_formula(back, "y * (g - sum)", "sum", sum, NULL));
}

/* g - exp(y) sum(g) */
static void log_softmax_rule(IfmBack *back)
{
    const char *sum = sum_along(back, back->g);
    ifm_back_give(back, 0, ifm_back_formula(back, "g - Exp(y) * sum", "sum", sum, NULL));
}

const IfmGradientRule ifm_gradients_normalisation[] = {
    { "BatchNormalization", batch_normalization_rule, forward_batch_normalization },
    { "InstanceNormalization", instance_normalization_rule },
    { "LRN", lrn_rule },
    { "LayerNormalization", layer_normalization_rule },
    { "LogSoftmax", log_softmax_rule },
    { "Softmax", softmax_rule },
    { NULL },
};
