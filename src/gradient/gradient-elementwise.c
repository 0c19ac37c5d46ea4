/* Rules of operators that work element by element. In comments g is the gradient of the output y. */
#include "gradient-private.h"

static gboolean is_ratio_zero(const IfmBack *back)
{
    IfmTensor ratio;
    const char *name = ifm_back_input(back, 1);
    return name != NULL && ifm_back_is_constant(back, name) && ifm_model_initializer(back->model, name, &ratio) &&
           ifm_tensor_n_elements(&ratio) == 1 && ifm_tensor_get_double(&ratio, 0) == 0;
}

/* The gradient needs the mask. A mask that the node draws is not available, and engines do not run that form. */
static void dropout_rule(IfmBack *back)
{
    gint64 training = 0;
    gsize n;
    const char *mode = ifm_back_input(back, 2);
    gboolean is_plain = mode == NULL || (ifm_back_known_ints(back, mode, &training, &n) && training == 0);
    if (!is_plain && !is_ratio_zero(back))
        ifm_back_fail(back, "training_mode: no gradient rule; a mask that is an input, and Mul, has one");
    else
        ifm_back_give(back, 0, back->g);
}

static void cast_rule(IfmBack *back)
{
    if (ifm_back_wants(back, 0))
        ifm_back_give(back, 0, ifm_back_cast(back, back->g, ifm_back_dtype(back, back->x)));
}

static void leaky_relu_rule(IfmBack *back)
{
    IfmDtype dtype = ifm_back_dtype(back, back->y);
    double alpha = ifm_node_float(back->node, "alpha", 0.01);
    const char *rest = ifm_back_scalar(back, dtype, 1 - alpha), *slope = ifm_back_scalar(back, dtype, alpha);
    ifm_back_give(back, 0, ifm_back_formula(back, "g * ((x > 0) * rest + slope)", "rest", rest, "slope", slope, NULL));
}

/* g [low <= x <= high]. A bound has g where y is it, and x beyond it: where the bounds have changed places y is the upper
 * one.
 */
static void clip_rule(IfmBack *back)
{
    const char *low = ifm_back_input(back, 1), *high = ifm_back_input(back, 2), *y = back->y;
    const char *gradient = back->g;
    if (ifm_back_wants(back, 1))
        ifm_back_give_sum(back, 1, ifm_back_formula(back, "g * ((x < b) * (y = b))", NULL), y);
    if (ifm_back_wants(back, 2))
        ifm_back_give_sum(back, 2,
                          low != NULL ? ifm_back_formula(back, "g * (Max(x, b) > high)", "high", high, NULL)
                                      : ifm_back_formula(back, "g * (x > high)", "high", high, NULL),
                          y);
    if (!ifm_back_wants(back, 0))
        return;
    if (low != NULL)
        gradient = ifm_back_formula(back, "g * (x >= b)", NULL);
    if (high != NULL)
        gradient = ifm_back_formula(back, "so_far * (x <= high)", "so_far", gradient, "high", high, NULL);
    ifm_back_give(back, 0, gradient);
}

/*
 * y = x P(x), P the normal distribution: P(x) + x p(x) = (1 + erf(u) + 2 / sqrt(pi) u exp(-u^2)) / 2, u = x / sqrt(2); or
 * y = x (1 + t) / 2, t = tanh(u), u = sqrt(2 / pi) (x + 0.044715 x^3): ((1 + t) + x (1 - t^2) u') / 2.
 * x^2 overflows half precision above 256.
 */
static void gelu_rule(IfmBack *back)
{
    IfmDtype dtype = ifm_back_dtype(back, back->y), wide = ifm_back_wide(dtype);
    const char *x = ifm_back_as(back, back->x, dtype, wide), *slope;
    if (g_str_equal(ifm_node_string(back->node, "approximate", "none"), "tanh"))
    {
        const char *square = ifm_back_formula_in(back, wide, "x * x", "x", x, NULL);
        const char *t = ifm_back_formula_in(back, wide, "Tanh(x * (square * 0.035677408136300125 + 0.7978845608028654))",
                                            "x", x, "square", square, NULL);
        slope = ifm_back_formula_in(back, wide,
                                    "(1 + t + x * (square * 0.10703222440890037 + 0.7978845608028654) * (1 - t * t)) * 0.5",
                                    "x", x, "square", square, "t", t, NULL);
    }
    else
    {
        const char *u = ifm_back_formula_in(back, wide, "x * 0.7071067811865476", "x", x, NULL);
        slope = ifm_back_formula_in(back, wide, "(Erf(u) + u * Exp(0.12078223763524522 - u * u) + 1) * 0.5", "u", u, NULL);
    }
    ifm_back_give(back, 0, ifm_back_mul(back, back->g, ifm_back_as(back, slope, wide, dtype)));
}

/* --- of several inputs, broadcast to each other ------------------------------------------------------------------- */

static void add_rule(IfmBack *back)
{
    for (gsize i = 0; i < back->node->n_inputs; i++)
        ifm_back_give_sum(back, i, back->g, back->y);
}

static void subtract_rule(IfmBack *back)
{
    const char *g = back->g, *y = back->y;
    ifm_back_give_sum(back, 0, g, y);
    if (ifm_back_wants(back, 1)) /* summed first, since the sum may be smaller */
        ifm_back_give(back, 1, ifm_back_op(back, "Neg", ifm_back_sum_to(back, g, y, ifm_back_input(back, 1)), NULL));
}

/* is_number: Whether a tensor is a constant with one element. */
static gboolean is_number(IfmBack *back, const char *tensor)
{
    return ifm_back_is_constant(back, tensor) && ifm_back_shape(back, tensor).rank == 0;
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
    ifm_back_give(back, input, back->g);
    return TRUE;
}

static void multiply_rule(IfmBack *back)
{
    const char *g = back->g, *y = back->y;
    for (gsize i = 0; i < 2; i++)
        if (ifm_back_wants(back, i) && !left_to_product(back, i, ifm_back_input(back, 1 - i)))
            ifm_back_give_sum(back, i, ifm_back_mul(back, g, ifm_back_input(back, 1 - i)), y);
}

/* y = x where x > 0, else b x: b, the slope, broadcasts to x */
static void prelu_rule(IfmBack *back)
{
    const char *zero = ifm_back_scalar(back, ifm_back_dtype(back, back->y), 0);
    const char *above = ifm_back_op(back, "Greater", back->x, zero, NULL);
    if (ifm_back_wants(back, 0))
        ifm_back_give(back, 0, ifm_back_formula(back, "Where(above, g, g * b)", "above", above, NULL));
    if (ifm_back_wants(back, 1))
        ifm_back_give_sum(back, 1, ifm_back_formula(back, "Where(above, zero, g * x)", "above", above, "zero", zero, NULL),
                          back->y);
}

/* g / b and -(g / b) y */
static void divide_rule(IfmBack *back)
{
    const char *share = ifm_back_formula(back, "g / b", NULL), *y = back->y;
    ifm_back_give_sum(back, 0, share, y);
    if (ifm_back_wants(back, 1))
        ifm_back_give_sum(back, 1, ifm_back_formula(back, "-(share * y)", "share", share, NULL), y);
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

/* by_base: b a^(b - 1); where b is 0, whatever a is: b a^b */
static const char *by_base(IfmBack *back, const char *exponent)
{
    double value;
    gboolean is_known = constant_exponent(back, &value);
    if (is_known && value == 2)
        return ifm_back_formula(back, "g * (x * 2)", NULL);
    if (is_known && value == 1)
        return back->g;
    return ifm_back_formula(back, "g * (n * Pow(x, Where(n = 0, n, n - 1)))", "n", exponent, NULL);
}

/* y = a^b: g b a^(b - 1) and g y log(a); 0 where a is 0 or less: below 0 there is no real one, and a whole exponent that is
 * a weight gets no NaN. */
static void power_rule(IfmBack *back)
{
    const char *exponent = ifm_back_input(back, 1), *y = back->y;
    IfmDtype own = ifm_back_dtype(back, y), dtype = ifm_back_dtype(back, exponent);
    if (ifm_back_wants(back, 0))
        ifm_back_give_sum(back, 0, by_base(back, ifm_back_as(back, exponent, dtype, own)), y);
    if (!ifm_back_wants(back, 1))
        return;
    const char *gradient = ifm_back_formula(back, "g * (y * Log(Where(x > 0, x, 1)))", NULL);
    ifm_back_give(back, 1, ifm_back_as(back, ifm_back_sum_to(back, gradient, y, exponent), own, dtype));
}

/* Max, Min: equal shares to the inputs that equal the result */
static void extremes_rule(IfmBack *back)
{
    const char *y = back->y;
    g_autoptr(GPtrArray) hits = g_ptr_array_new();
    const char *n_hits = NULL;
    for (gsize i = 0; i < back->node->n_inputs; i++)
    {
        const char *hit = ifm_back_formula(back, "input = y", "input", back->node->inputs[i], NULL);
        n_hits = n_hits != NULL ? ifm_back_add(back, n_hits, hit) : hit;
        g_ptr_array_add(hits, (gpointer)hit);
    }
    const char *share = ifm_back_div(back, back->g, n_hits);
    for (gsize i = 0; i < back->node->n_inputs; i++)
        if (ifm_back_wants(back, i))
            ifm_back_give_sum(back, i, ifm_back_mul(back, share, g_ptr_array_index(hits, i)), y);
}

static void where_rule(IfmBack *back)
{
    const char *y = back->y, *zero = ifm_back_scalar(back, ifm_back_dtype(back, y), 0);
    if (ifm_back_wants(back, 1))
        ifm_back_give_sum(back, 1, ifm_back_formula(back, "Where(x, g, zero)", "zero", zero, NULL), y);
    if (ifm_back_wants(back, 2))
        ifm_back_give_sum(back, 2, ifm_back_formula(back, "Where(x, zero, g)", "zero", zero, NULL), y);
}

/* Relu: ONNX Runtime takes longer for a Where, and both engines for a Sign. HardSigmoid is alpha x + beta, cut off at 0 and
 * 1; HardSwish x (x + 3) / 6 from -3 to 3, below 0, above x. */
const IfmGradientRule ifm_gradients_elementwise[] = {
    { "Abs", .formula = "g * Sign(x)" },
    { "Add", add_rule },
    { "Cast", cast_rule },
    { "CastLike", cast_rule },
    { "Clip", clip_rule },
    { "Cos", .formula = "g * -Sin(x)" },
    { "Div", divide_rule },
    { "Dropout", dropout_rule },
    { "Elu", .formula = "g * Where(x > 0, 1, y + alpha:1)" },
    { "Erf", .formula = "g * (Exp(-(x * x)) * 1.1283791670955126)" }, /* 2 / sqrt(pi) */
    { "Exp", .formula = "g * y" },
    { "Gelu", gelu_rule },
    { "HardSigmoid", .formula = "g * ((y > 0) * (y < 1) * alpha:0.2)" },
    { "HardSwish", .formula = "g * ((x * 0.3333333333333333 + 0.5) * ((x > -3) * (x < 3)) + (x >= 3))" },
    { "Identity", .formula = "g" },
    { "LeakyRelu", leaky_relu_rule },
    { "Log", .formula = "g / x" },
    { "Max", extremes_rule },
    { "Min", extremes_rule },
    { "Mul", multiply_rule },
    { "Neg", .formula = "-g" },
    { "PRelu", prelu_rule },
    { "Pow", power_rule },
    { "Reciprocal", .formula = "g * -(y * y)" },
    { "Relu", .formula = "g * (y > 0)" },
    { "Sigmoid", .formula = "g * (y * (1 - y))" },
    { "Sin", .formula = "g * Cos(x)" },
    { "Softplus", .formula = "g * Sigmoid(x)" },
    { "Sqrt", .formula = "g / (y * 2)" },
    { "Sub", subtract_rule },
    { "Sum", add_rule },
    { "Tanh", .formula = "g * (1 - y * y)" },
    { "Where", where_rule },
    { NULL },
};
