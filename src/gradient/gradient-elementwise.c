/* Rules of operators that work element by element. In comments g is the gradient of the output y. */
#include <math.h>

#include "gradient-private.h"

typedef struct
{
    const char *g, *x, *y;
    IfmDtype dtype;
} Unary;

static Unary unary(IfmBack *back)
{
    Unary of = { ifm_back_gradient(back, 0), ifm_back_input(back, 0), ifm_back_output(back, 0), IFM_DTYPE_F32 };
    of.dtype = ifm_back_dtype(back, of.y);
    return of;
}

/* times: g * factor */
static void times(IfmBack *back, const Unary *of, const char *factor)
{
    ifm_back_give(back, 0, ifm_back_mul(back, of->g, factor));
}

static const char *scaled(IfmBack *back, const Unary *of, double factor, const char *value)
{
    return ifm_back_mul(back, value, ifm_back_scalar(back, of->dtype, factor));
}

static const char *squared(IfmBack *back, const char *value)
{
    return ifm_back_mul(back, value, value);
}

/* one_minus: 1 - value */
static const char *one_minus(IfmBack *back, const Unary *of, const char *value)
{
    return ifm_back_sub(back, ifm_back_scalar(back, of->dtype, 1), value);
}

static const char *apply(IfmBack *back, const char *op_type, const char *value)
{
    return ifm_back_op(back, op_type, value, NULL);
}

/* where: condition of two numbers, as 1 or 0 */
static const char *is(IfmBack *back, const Unary *of, const char *a, const char *comparison, const char *b)
{
    return ifm_back_cast(back, ifm_back_op(back, comparison, a, b, NULL), of->dtype);
}

IFM_GRADIENT_RULE(identity)
{
    ifm_back_give(back, 0, ifm_back_gradient(back, 0));
}

static gboolean is_ratio_zero(const IfmBack *back)
{
    IfmTensor ratio;
    const char *name = ifm_back_input(back, 1);
    return name != NULL && ifm_back_is_constant(back, name) && ifm_model_initializer(back->model, name, &ratio) &&
           ifm_tensor_n_elements(&ratio) == 1 && ifm_tensor_get_double(&ratio, 0) == 0;
}

/* The gradient needs the mask. A mask that the node draws is not available, and engines do not run that form. */
IFM_GRADIENT_RULE(dropout)
{
    gint64 training = 0;
    gsize n;
    const char *mode = ifm_back_input(back, 2);
    gboolean is_plain = mode == NULL || (ifm_back_known_ints(back, mode, &training, &n) && training == 0);
    if (!is_plain && !is_ratio_zero(back))
        ifm_back_fail(back, "training_mode: no gradient rule; a mask that is an input, and Mul, has one");
    else
        ifm_gradient_identity(back);
}

IFM_GRADIENT_RULE(cast)
{
    if (ifm_back_wants(back, 0))
        ifm_back_give(back, 0,
                      ifm_back_cast(back, ifm_back_gradient(back, 0), ifm_back_dtype(back, ifm_back_input(back, 0))));
}

IFM_GRADIENT_RULE(neg)
{
    ifm_back_give(back, 0, apply(back, "Neg", ifm_back_gradient(back, 0)));
}

/* g sign(x) */
IFM_GRADIENT_RULE(abs)
{
    Unary of = unary(back);
    times(back, &of, apply(back, "Sign", of.x));
}

/* g [y > 0]: ONNX Runtime takes longer for a Where, and both engines for a Sign. */
IFM_GRADIENT_RULE(relu)
{
    Unary of = unary(back);
    times(back, &of, is(back, &of, of.y, "Greater", ifm_back_scalar(back, of.dtype, 0)));
}

/* g (alpha + (1 - alpha) [x > 0]) */
IFM_GRADIENT_RULE(leaky_relu)
{
    Unary of = unary(back);
    double alpha = ifm_node_float(back->node, "alpha", 0.01);
    const char *above = is(back, &of, of.x, "Greater", ifm_back_scalar(back, of.dtype, 0));
    times(back, &of, ifm_back_add(back, scaled(back, &of, 1 - alpha, above), ifm_back_scalar(back, of.dtype, alpha)));
}

/* g where x > 0, else g (y + alpha) */
IFM_GRADIENT_RULE(elu)
{
    Unary of = unary(back);
    const char *zero = ifm_back_scalar(back, of.dtype, 0);
    const char *below = ifm_back_add(back, of.y, ifm_back_scalar(back, of.dtype, ifm_node_float(back->node, "alpha", 1)));
    const char *above = ifm_back_op(back, "Greater", of.x, zero, NULL);
    times(back, &of, ifm_back_op(back, "Where", above, ifm_back_scalar(back, of.dtype, 1), below, NULL));
}

/* by_low: of Clip: g where y is the lower bound, and x below it. Where the bounds have changed places y is the upper one.
 */
static void by_low(IfmBack *back, const Unary *of, const char *low)
{
    const char *below = is(back, of, of->x, "Less", low), *hit = is(back, of, of->y, "Equal", low);
    ifm_back_give_sum(back, 1, ifm_back_mul(back, of->g, ifm_back_mul(back, below, hit)), of->y);
}

static void by_high(IfmBack *back, const Unary *of, const char *low, const char *high)
{
    const char *raised = low != NULL ? ifm_back_op(back, "Max", of->x, low, NULL) : of->x;
    ifm_back_give_sum(back, 2, ifm_back_mul(back, of->g, is(back, of, raised, "Greater", high)), of->y);
}

/* g [low <= x <= high] */
IFM_GRADIENT_RULE(clip)
{
    Unary of = unary(back);
    const char *low = ifm_back_input(back, 1), *high = ifm_back_input(back, 2), *gradient = of.g;
    if (ifm_back_wants(back, 1))
        by_low(back, &of, low);
    if (ifm_back_wants(back, 2))
        by_high(back, &of, low, high);
    if (!ifm_back_wants(back, 0))
        return;
    if (low != NULL)
        gradient = ifm_back_mul(back, gradient, is(back, &of, of.x, "GreaterOrEqual", low));
    if (high != NULL)
        gradient = ifm_back_mul(back, gradient, is(back, &of, of.x, "LessOrEqual", high));
    ifm_back_give(back, 0, gradient);
}

/* g y (1 - y) */
IFM_GRADIENT_RULE(sigmoid)
{
    Unary of = unary(back);
    times(back, &of, ifm_back_mul(back, of.y, one_minus(back, &of, of.y)));
}

/* g sigmoid(x) */
IFM_GRADIENT_RULE(softplus)
{
    Unary of = unary(back);
    times(back, &of, apply(back, "Sigmoid", of.x));
}

/* g (1 - y^2) */
IFM_GRADIENT_RULE(tanh)
{
    Unary of = unary(back);
    times(back, &of, one_minus(back, &of, squared(back, of.y)));
}

IFM_GRADIENT_RULE(exp)
{
    Unary of = unary(back);
    times(back, &of, of.y);
}

IFM_GRADIENT_RULE(log)
{
    Unary of = unary(back);
    ifm_back_give(back, 0, ifm_back_div(back, of.g, of.x));
}

/* g / (2 y) */
IFM_GRADIENT_RULE(sqrt)
{
    Unary of = unary(back);
    ifm_back_give(back, 0, ifm_back_div(back, of.g, scaled(back, &of, 2, of.y)));
}

/* -g y^2 */
IFM_GRADIENT_RULE(reciprocal)
{
    Unary of = unary(back);
    times(back, &of, apply(back, "Neg", squared(back, of.y)));
}

IFM_GRADIENT_RULE(sin)
{
    Unary of = unary(back);
    times(back, &of, apply(back, "Cos", of.x));
}

IFM_GRADIENT_RULE(cos)
{
    Unary of = unary(back);
    times(back, &of, apply(back, "Neg", apply(back, "Sin", of.x)));
}

/* g 2 / sqrt(pi) exp(-x^2) */
IFM_GRADIENT_RULE(erf)
{
    Unary of = unary(back);
    const char *bell = apply(back, "Exp", apply(back, "Neg", squared(back, of.x)));
    times(back, &of, scaled(back, &of, 2 / sqrt(G_PI), bell));
}

/* y = x P(x), P the normal distribution: P(x) + x p(x) = (1 + erf(u) + 2 / sqrt(pi) u exp(-u^2)) / 2, u = x / sqrt(2) */
static const char *gelu_exact(IfmBack *back, const Unary *of)
{
    const char *u = scaled(back, of, sqrt(0.5), of->x), *one = ifm_back_scalar(back, of->dtype, 1);
    const char *exponent = ifm_back_sub(back, ifm_back_scalar(back, of->dtype, log(2 / sqrt(G_PI))), squared(back, u));
    const char *bell = ifm_back_mul(back, u, apply(back, "Exp", exponent));
    const char *sum = ifm_back_add(back, ifm_back_add(back, apply(back, "Erf", u), bell), one);
    return scaled(back, of, 0.5, sum);
}

/* y = x (1 + t) / 2, t = tanh(u), u = sqrt(2 / pi) (x + 0.044715 x^3): ((1 + t) + x (1 - t^2) u') / 2 */
static const char *gelu_tanh(IfmBack *back, const Unary *of)
{
    const double root = sqrt(2 / G_PI), cubic = 0.044715;
    const char *square = squared(back, of->x), *one = ifm_back_scalar(back, of->dtype, 1);
    const char *inner = ifm_back_add(back, scaled(back, of, root * cubic, square), ifm_back_scalar(back, of->dtype, root));
    const char *t = apply(back, "Tanh", ifm_back_mul(back, of->x, inner));
    const char *du = ifm_back_add(back, scaled(back, of, 3 * root * cubic, square), ifm_back_scalar(back, of->dtype, root));
    const char *slope = ifm_back_mul(back, ifm_back_mul(back, of->x, du), one_minus(back, of, squared(back, t)));
    return scaled(back, of, 0.5, ifm_back_add(back, ifm_back_add(back, one, t), slope));
}

/* x^2 overflows half precision above 256. */
IFM_GRADIENT_RULE(gelu)
{
    Unary of = unary(back), wide = of;
    wide.dtype = ifm_back_wide(of.dtype);
    wide.x = ifm_back_as(back, of.x, of.dtype, wide.dtype);
    gboolean is_tanh = g_str_equal(ifm_node_string(back->node, "approximate", "none"), "tanh");
    const char *slope = is_tanh ? gelu_tanh(back, &wide) : gelu_exact(back, &wide);
    times(back, &of, ifm_back_as(back, slope, wide.dtype, of.dtype));
}

/* --- of several inputs, broadcast to each other ------------------------------------------------------------------- */

IFM_GRADIENT_RULE(add)
{
    for (gsize i = 0; i < back->node->n_inputs; i++)
        ifm_back_give_sum(back, i, ifm_back_gradient(back, 0), ifm_back_output(back, 0));
}

IFM_GRADIENT_RULE(sub)
{
    const char *g = ifm_back_gradient(back, 0), *y = ifm_back_output(back, 0);
    ifm_back_give_sum(back, 0, g, y);
    if (ifm_back_wants(back, 1)) /* summed first, since the sum may be smaller */
        ifm_back_give(back, 1, apply(back, "Neg", ifm_back_sum_to(back, g, y, ifm_back_input(back, 1))));
}

/* is_number: Whether a tensor is a constant with one element. */
static gboolean is_number(IfmBack *back, const char *tensor)
{
    IfmBackShape shape;
    return ifm_back_is_constant(back, tensor) && ifm_back_shape(back, tensor, &shape) && shape.rank == 0;
}

/* n_elements: -1 where it is unknown. */
static gint64 n_elements(IfmBack *back, const char *tensor)
{
    IfmBackShape shape;
    return ifm_back_facts_shape(back->facts, tensor, &shape) ? ifm_back_n_elements(&shape, 0, shape.rank) : -1;
}

/*
 * left_to_product: Handles a number times a MatMul that no other node reads, as in the scaled scores of attention. The rule
 * of the MatMul multiplies its gradients by the number, where those have fewer elements. Returns: FALSE in all other cases.
 */
static gboolean left_to_product(IfmBack *back, gsize input, const char *number)
{
    const char *x = ifm_back_input(back, input);
    gssize producer = ifm_model_producer(back->model, x);
    const IfmNode *node = producer >= 0 ? ifm_model_node(back->model, (gsize)producer) : NULL;
    if (node == NULL || *node->domain != '\0' || !g_str_equal(node->op_type, "MatMul") || !is_number(back, number) ||
        ifm_back_sole_reader(back, x) == NULL)
        return FALSE;
    gint64 a = n_elements(back, node->inputs[0]), b = n_elements(back, node->inputs[1]);
    if (a < 0 || b < 0 || a > n_elements(back, x) - b)
        return FALSE;
    ifm_back_keep_for(back, (gsize)producer, IFM_BACK_FACTOR, number);
    ifm_back_give(back, input, ifm_back_gradient(back, 0));
    return TRUE;
}

IFM_GRADIENT_RULE(mul)
{
    const char *g = ifm_back_gradient(back, 0), *y = ifm_back_output(back, 0);
    for (gsize i = 0; i < 2; i++)
        if (ifm_back_wants(back, i) && !left_to_product(back, i, ifm_back_input(back, 1 - i)))
            ifm_back_give_sum(back, i, ifm_back_mul(back, g, ifm_back_input(back, 1 - i)), y);
}

/* between: 1 where @low < @value < @high, else 0 */
static const char *between(IfmBack *back, const Unary *of, double low, const char *value, double high)
{
    return ifm_back_mul(back, is(back, of, value, "Greater", ifm_back_scalar(back, of->dtype, low)),
                        is(back, of, value, "Less", ifm_back_scalar(back, of->dtype, high)));
}

/* y = alpha x + beta, cut off at 0 and 1 */
IFM_GRADIENT_RULE(hard_sigmoid)
{
    const Unary of = unary(back);
    times(back, &of, scaled(back, &of, ifm_node_float(back->node, "alpha", 0.2), between(back, &of, 0, of.y, 1)));
}

/* y = x (x + 3) / 6 from -3 to 3, below 0, above x: x / 3 + 1 / 2, 0, 1 */
IFM_GRADIENT_RULE(hard_swish)
{
    const Unary of = unary(back);
    const char *line = ifm_back_add(back, scaled(back, &of, 1.0 / 3, of.x), ifm_back_scalar(back, of.dtype, 0.5));
    const char *above = is(back, &of, of.x, "GreaterOrEqual", ifm_back_scalar(back, of.dtype, 3));
    times(back, &of, ifm_back_add(back, ifm_back_mul(back, line, between(back, &of, -3, of.x, 3)), above));
}

/* y = x where x > 0, else slope x: the slope broadcasts to x */
IFM_GRADIENT_RULE(prelu)
{
    const Unary of = unary(back);
    const char *zero = ifm_back_scalar(back, of.dtype, 0), *slope = ifm_back_input(back, 1);
    const char *above = ifm_back_op(back, "Greater", of.x, zero, NULL);
    if (ifm_back_wants(back, 0))
        ifm_back_give(back, 0, ifm_back_op(back, "Where", above, of.g, ifm_back_mul(back, of.g, slope), NULL));
    if (ifm_back_wants(back, 1))
        ifm_back_give_sum(back, 1, ifm_back_op(back, "Where", above, zero, ifm_back_mul(back, of.g, of.x), NULL), of.y);
}

/* g / b and -(g / b) y */
IFM_GRADIENT_RULE(div)
{
    const char *y = ifm_back_output(back, 0);
    const char *share = ifm_back_div(back, ifm_back_gradient(back, 0), ifm_back_input(back, 1));
    ifm_back_give_sum(back, 0, share, y);
    if (ifm_back_wants(back, 1))
        ifm_back_give_sum(back, 1, apply(back, "Neg", ifm_back_mul(back, share, y)), y);
}

/* constant_exponent: FALSE where it is not one known number. */
static gboolean constant_exponent(const IfmBack *back, double *value)
{
    IfmTensor tensor;
    const char *name = ifm_back_input(back, 1);
    if (!ifm_back_is_constant(back, name) || !ifm_model_initializer(back->model, name, &tensor) ||
        ifm_tensor_n_elements(&tensor) != 1)
        return FALSE;
    *value = ifm_tensor_get_double(&tensor, 0);
    return TRUE;
}

/* b a^(b - 1); where b is 0, whatever a is: b a^b */
static const char *pow_slope(IfmBack *back, const Unary *of, const char *exponent)
{
    const char *zero = ifm_back_scalar(back, of->dtype, 0), *is_zero = ifm_back_op(back, "Equal", exponent, zero, NULL);
    const char *less = ifm_back_sub(back, exponent, ifm_back_scalar(back, of->dtype, 1));
    less = ifm_back_op(back, "Where", is_zero, exponent, less, NULL);
    return ifm_back_mul(back, exponent, ifm_back_op(back, "Pow", of->x, less, NULL));
}

static void by_base(IfmBack *back, const Unary *of, const char *exponent)
{
    double value;
    gboolean is_known = constant_exponent(back, &value);
    if (is_known && value == 2)
        ifm_back_give_sum(back, 0, ifm_back_mul(back, of->g, scaled(back, of, 2, of->x)), of->y);
    else if (is_known && value == 1)
        ifm_back_give_sum(back, 0, of->g, of->y);
    else
        ifm_back_give_sum(back, 0, ifm_back_mul(back, of->g, pow_slope(back, of, exponent)), of->y);
}

/* y log(a); 0 where a is 0 or less: below 0 there is no real one, and a whole exponent that is a weight gets no NaN. */
static void by_exponent(IfmBack *back, const Unary *of, IfmDtype dtype)
{
    const char *above = ifm_back_op(back, "Greater", of->x, ifm_back_scalar(back, of->dtype, 0), NULL);
    const char *safe = ifm_back_op(back, "Where", above, of->x, ifm_back_scalar(back, of->dtype, 1), NULL);
    const char *gradient = ifm_back_mul(back, of->g, ifm_back_mul(back, of->y, apply(back, "Log", safe)));
    gradient = ifm_back_sum_to(back, gradient, of->y, ifm_back_input(back, 1));
    ifm_back_give(back, 1, ifm_back_as(back, gradient, of->dtype, dtype));
}

/* y = a^b: g b a^(b - 1) and g y log(a) */
IFM_GRADIENT_RULE(pow)
{
    Unary of = unary(back);
    IfmDtype dtype = ifm_back_dtype(back, ifm_back_input(back, 1));
    if (ifm_back_wants(back, 0))
        by_base(back, &of, ifm_back_as(back, ifm_back_input(back, 1), dtype, of.dtype));
    if (ifm_back_wants(back, 1))
        by_exponent(back, &of, dtype);
}

/* Max, Min: equal shares to the inputs that equal the result */
IFM_GRADIENT_RULE(extremes)
{
    Unary of = unary(back);
    g_autoptr(GPtrArray) hits = g_ptr_array_new();
    const char *n_hits = NULL;
    for (gsize i = 0; i < back->node->n_inputs; i++)
    {
        const char *hit = is(back, &of, back->node->inputs[i], "Equal", of.y);
        n_hits = n_hits != NULL ? ifm_back_add(back, n_hits, hit) : hit;
        g_ptr_array_add(hits, (gpointer)hit);
    }
    const char *share = ifm_back_div(back, of.g, n_hits);
    for (gsize i = 0; i < back->node->n_inputs; i++)
        if (ifm_back_wants(back, i))
            ifm_back_give_sum(back, i, ifm_back_mul(back, share, g_ptr_array_index(hits, i)), of.y);
}

IFM_GRADIENT_RULE(where)
{
    const char *g = ifm_back_gradient(back, 0), *y = ifm_back_output(back, 0);
    const char *zero = ifm_back_scalar(back, ifm_back_dtype(back, y), 0), *condition = ifm_back_input(back, 0);
    if (ifm_back_wants(back, 1))
        ifm_back_give_sum(back, 1, ifm_back_op(back, "Where", condition, g, zero, NULL), y);
    if (ifm_back_wants(back, 2))
        ifm_back_give_sum(back, 2, ifm_back_op(back, "Where", condition, zero, g, NULL), y);
}
