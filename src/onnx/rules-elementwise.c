/* Element-wise operators, quantisation and random numbers alike: shapes, costs, values. */
#include <math.h>

#include "operators.h"

/* --- shapes ----------------------------------------------------------------------------------------------------------- */

gboolean ifm_shape_same(const IfmOperatorCall *call, GError **error)
{
    return ifm_call_shape(call, 0, call->inputs[0].rank, call->inputs[0].dims);
}

gboolean ifm_shape_cast(const IfmOperatorCall *call, GError **error)
{
    call->outputs[0].dtype = ifm_rule_dtype(call, "to", IFM_DTYPE_UNDEFINED);
    return ifm_shape_same(call, error);
}

/* The input's shape, of the type that the attribute names where it does. */
gboolean ifm_shape_like(const IfmOperatorCall *call, GError **error)
{
    call->outputs[0].dtype = ifm_rule_dtype(call, "dtype", call->inputs[0].dtype);
    return ifm_shape_same(call, error);
}

gboolean ifm_shape_dropout(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *x = &call->inputs[0];
    ifm_shape_same(call, error);
    /* Before version 10 the mask was of the data's own type. */
    return ifm_call_make(call, 1, call->opset >= 10 ? IFM_DTYPE_BOOL : x->dtype, x->rank, x->dims);
}

gboolean ifm_shape_half(const IfmOperatorCall *call, GError **error)
{
    IfmTensorInfo x = call->inputs[0];
    if (x.rank > 0)
        x.dims[x.rank - 1] /= 2;
    return ifm_call_give(call, 0, &x);
}

/* All inputs broadcast together, unknown where one is. QLinearAdd, QLinearMul: a, its scale and zero point, b, its, the
 * output's. */
gboolean ifm_shape_broadcast(const IfmOperatorCall *call, GError **error)
{
    const gboolean is_quantised = g_str_has_prefix(call->node->op_type, "QLinear");
    const gsize step = is_quantised ? 3 : 1, n = is_quantised ? 4 : call->node->n_inputs;
    IfmTensorInfo result = call->inputs[0];
    for (gsize i = 0; i < n; i += step)
        if (call->inputs[i].rank < 0)
            return TRUE;
    for (gsize i = step; i < n; i += step)
        if (!ifm_rule_broadcast(&result, &call->inputs[i], error))
        {
            g_prefix_error(error, "'%s': ", call->node->inputs[i]);
            return FALSE;
        }
    return ifm_call_shape(call, 0, result.rank, result.dims);
}

/* Before opset 7 only the second input was broadcast, along an axis of an attribute. */
gboolean ifm_shape_binary(const IfmOperatorCall *call, GError **error)
{
    return (call->opset >= 7 ? ifm_shape_broadcast : ifm_shape_same)(call, error);
}

/* The output's type is the zero point's, else the attribute's (since version 21), else u8. */
gboolean ifm_shape_quantize(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *zero = ifm_call_input(call, 2);
    call->outputs[0].dtype = zero != NULL ? zero->dtype : ifm_rule_dtype(call, "output_dtype", IFM_DTYPE_U8);
    return ifm_shape_same(call, error);
}

gboolean ifm_shape_dynamic_quantize(const IfmOperatorCall *call, GError **error)
{
    ifm_call_make(call, 1, IFM_DTYPE_F32, 0, NULL);
    ifm_call_make(call, 2, IFM_DTYPE_U8, 0, NULL);
    return ifm_shape_same(call, error);
}

/* --- costs ------------------------------------------------------------------------------------------------------------ */

gboolean ifm_cost_none(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    return TRUE;
}

gboolean ifm_cost_per_output(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    gint64 n;
    return ifm_fact_n_elements(&call->outputs[0], &n) && ifm_count_times(&n, factor) && ifm_count_add(&cost->flop, n);
}

gboolean ifm_cost_per_input(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    return ifm_fact_n_elements(&call->inputs[0], &cost->flop) && ifm_count_times(&cost->flop, factor);
}

gboolean ifm_cost_variadic(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    return ifm_cost_per_output(call, factor, cost) && ifm_count_times(&cost->flop, (gint64)call->node->n_inputs - 1);
}

gboolean ifm_cost_multiply_add(IfmNodeCost *cost)
{
    cost->flop = cost->macs;
    return ifm_count_times(&cost->flop, 2);
}

gboolean ifm_cost_by_values(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    *call->why = "its operations depend on values";
    return FALSE;
}

/* Training: one product with the mask, which contains the scale. Where the mode is unknown, this is an upper bound. */
gboolean ifm_cost_dropout(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    const IfmTensorInfo *training = ifm_call_input(call, 2);
    const gint64 *known = training != NULL ? ifm_fact_ints(training) : NULL;
    if (training == NULL || (known != NULL && known[0] == 0))
        return TRUE;
    cost->is_upper_bound = known == NULL;
    return ifm_cost_per_output(call, 1, cost);
}

/* @factor per element, and 1 for the sum with a second or third input (BiasGelu, FastGelu, BiasAdd). */
gboolean ifm_cost_biased(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    return ifm_cost_per_output(call, factor + ifm_call_has(call, 1) + ifm_call_has(call, 2), cost);
}

/* --- values ----------------------------------------------------------------------------------------------------------- */

void ifm_values_where(const IfmOperatorCall *call)
{
    if (!ifm_values_known(call, 3) || call->inputs[1].values != call->inputs[2].values)
        return;
    const IfmTensorInfo *out = &call->outputs[0];
    for (int i = 0; i < (int)ifm_values_count(out); i++)
    {
        gboolean is_first = call->inputs[0].ints[ifm_values_broadcast(&call->inputs[0], out, i)] != 0;
        const IfmTensorInfo *from = &call->inputs[is_first ? 1 : 2];
        ifm_values_copy(call, i, from, ifm_values_broadcast(from, out, i));
    }
    ifm_values_done(call, call->inputs[1].values);
}

/* Returns: whether there is a result: none where it overflows, or is divided by 0. */
static gboolean add_ints(gint64 a, gint64 b, gint64 *c)
{
    return !__builtin_add_overflow(a, b, c);
}

static gboolean sub_ints(gint64 a, gint64 b, gint64 *c)
{
    return !__builtin_sub_overflow(a, b, c);
}

static gboolean mul_ints(gint64 a, gint64 b, gint64 *c)
{
    return !__builtin_mul_overflow(a, b, c);
}

static gboolean div_ints(gint64 a, gint64 b, gint64 *c)
{
    *c = b == 0 || b == -1 ? -MAX(a, -G_MAXINT64) : a / b;
    return b != 0;
}

/* The sign is the divisor's. */
static gboolean mod_ints(gint64 a, gint64 b, gint64 *c)
{
    *c = b == 0 || b == -1 ? 0 : a % b;
    *c += *c != 0 && (*c < 0) != (b < 0) ? b : 0;
    return b != 0;
}

static gboolean min_ints(gint64 a, gint64 b, gint64 *c)
{
    *c = MIN(a, b);
    return TRUE;
}

static gboolean max_ints(gint64 a, gint64 b, gint64 *c)
{
    *c = MAX(a, b);
    return TRUE;
}

static gboolean and_ints(gint64 a, gint64 b, gint64 *c)
{
    *c = a != 0 && b != 0;
    return TRUE;
}

static gboolean or_ints(gint64 a, gint64 b, gint64 *c)
{
    *c = a != 0 || b != 0;
    return TRUE;
}

static double add_reals(double a, double b)
{
    return a + b;
}

static double sub_reals(double a, double b)
{
    return a - b;
}

static double mul_reals(double a, double b)
{
    return a * b;
}

static double div_reals(double a, double b)
{
    return a / b;
}

/* Results of a comparison, as bits. */
enum
{
    LESS = 1,
    EQUAL = 2,
    GREATER = 4,
};

/* Binary: @ints, @reals: NULL where the operator is not followed for that type    @compares: a comparison: the results that
 * make it true    @compares_reals: whether it is followed for reals too */
typedef struct
{
    const char *op_type;
    gboolean (*ints)(gint64 a, gint64 b, gint64 *c);
    double (*reals)(double a, double b);
    int compares;
    gboolean compares_reals;
} Binary;

static const Binary binaries[] = {
    { "Add", add_ints, add_reals },
    { "And", and_ints },
    { "Div", div_ints, div_reals },
    { "Equal", .compares = EQUAL },
    { "Greater", .compares = GREATER, .compares_reals = TRUE },
    { "GreaterOrEqual", .compares = GREATER | EQUAL },
    { "Less", .compares = LESS, .compares_reals = TRUE },
    { "LessOrEqual", .compares = LESS | EQUAL },
    { "Max", max_ints, fmax },
    { "Min", min_ints, fmin },
    { "Mod", mod_ints },
    { "Mul", mul_ints, mul_reals },
    { "Or", or_ints },
    { "Pow", NULL, pow },
    { "Sub", sub_ints, sub_reals },
};

/* binary_one: element @i of two inputs. FALSE where it has no result that can be followed. */
static gboolean binary_one(const IfmOperatorCall *call, const Binary *op, int i)
{
    IfmTensorInfo *out = &call->outputs[0];
    const IfmTensorInfo *a = &call->inputs[0], *b = &call->inputs[1];
    int at_a = ifm_values_broadcast(a, out, i), at_b = ifm_values_broadcast(b, out, i);
    if (a->values != b->values)
        return FALSE;
    gboolean are_ints = a->values == IFM_VALUES_INTS;
    if (op->compares != 0 && (are_ints || op->compares_reals))
    {
        gboolean is_less = are_ints ? a->ints[at_a] < b->ints[at_b] : a->reals[at_a] < b->reals[at_b];
        gboolean is_greater = are_ints ? a->ints[at_a] > b->ints[at_b] : a->reals[at_a] > b->reals[at_b];
        out->ints[i] = (op->compares & (is_less ? LESS : is_greater ? GREATER : EQUAL)) != 0; /* EQUAL also with a NaN */
        return TRUE;
    }
    if (are_ints)
        return op->ints != NULL && op->ints(a->ints[at_a], b->ints[at_b], &out->ints[i]);
    if (op->reals == NULL)
        return FALSE;
    double value = op->reals(a->reals[at_a], b->reals[at_b]);
    /* The model computes in its own precision: what is cut off afterwards depends on it. */
    out->reals[i] = out->dtype == IFM_DTYPE_F32 ? (double)(float)value : value;
    return TRUE;
}

void ifm_values_binary(const IfmOperatorCall *call)
{
    gsize op = 0;
    while (op < G_N_ELEMENTS(binaries) && !g_str_equal(binaries[op].op_type, call->node->op_type))
        op++;
    if (op == G_N_ELEMENTS(binaries) || call->node->n_inputs != 2 || call->opset < 7 || !ifm_values_known(call, 2))
        return;
    for (int i = 0; i < (int)ifm_values_count(&call->outputs[0]); i++)
        if (!binary_one(call, &binaries[op], i))
            return;
    ifm_values_done(call, binaries[op].compares != 0 ? IFM_VALUES_INTS : call->inputs[0].values);
}

static double reciprocal(double x)
{
    return 1 / x;
}

static double negative(double x)
{
    return -x;
}

static const struct
{
    const char *op_type;
    double (*reals)(double x);
} unaries[] = {
    { "Abs", fabs },
    { "Ceil", ceil },
    { "Exp", exp },
    { "Floor", floor },
    { "Log", log },
    { "Neg", negative },
    { "Reciprocal", reciprocal },
    { "Round", nearbyint }, /* halves to even in the default mode, as Round asks */
    { "Sqrt", sqrt },
};

void ifm_values_unary(const IfmOperatorCall *call)
{
    const IfmTensorInfo *x = &call->inputs[0];
    IfmTensorInfo *out = &call->outputs[0];
    const char *type = call->node->op_type;
    gboolean is_not = g_str_equal(type, "Not"), is_abs = g_str_equal(type, "Abs"), is_negative = g_str_equal(type, "Neg");
    gsize op = 0;
    while (op < G_N_ELEMENTS(unaries) && !g_str_equal(unaries[op].op_type, type))
        op++;
    if (!ifm_values_known(call, 1) ||
        (x->values == IFM_VALUES_INTS ? !is_not && !is_abs && !is_negative : op == G_N_ELEMENTS(unaries)))
        return;
    for (int i = 0; i < x->n_values; i++)
        if (x->values == IFM_VALUES_INTS)
        {
            gint64 negated = -MAX(x->ints[i], -G_MAXINT64);
            out->ints[i] = is_not ? x->ints[i] == 0 : is_abs ? MAX(x->ints[i], negated) : negated;
        }
        else
        {
            double value = unaries[op].reals(x->reals[i]);
            out->reals[i] = x->dtype == IFM_DTYPE_F32 ? (double)(float)value : value;
        }
    ifm_values_done(call, x->values);
}

void ifm_values_cast(const IfmOperatorCall *call)
{
    const IfmTensorInfo *x = &call->inputs[0];
    IfmTensorInfo *out = &call->outputs[0];
    gboolean to_real = out->dtype == IFM_DTYPE_F32 || out->dtype == IFM_DTYPE_F64;
    if (!ifm_values_known(call, 1) ||
        (!to_real && out->dtype != IFM_DTYPE_I64 && out->dtype != IFM_DTYPE_I32 && out->dtype != IFM_DTYPE_BOOL))
        return;
    for (int i = 0; i < x->n_values; i++)
    {
        double real = x->values == IFM_VALUES_REALS ? x->reals[i] : (double)x->ints[i];
        if (to_real)
            out->reals[i] = out->dtype == IFM_DTYPE_F32 ? (double)(float)real : real;
        else if (out->dtype == IFM_DTYPE_BOOL)
            out->ints[i] = real < 0 || real > 0;
        else if (x->values == IFM_VALUES_INTS)
            out->ints[i] = x->ints[i];
        else if (fabs(real) < 0x1p62)
            out->ints[i] = (gint64)real;
        else
            return;
        if (out->dtype == IFM_DTYPE_I32 && out->ints[i] != (gint32)out->ints[i])
            return;
    }
    ifm_values_done(call, to_real ? IFM_VALUES_REALS : IFM_VALUES_INTS);
}

/* A reduction of integers to one number. */
void ifm_values_reduce(const IfmOperatorCall *call)
{
    const IfmTensorInfo *x = &call->inputs[0];
    const char *op = call->node->op_type;
    gboolean is_product = g_str_equal(op, "ReduceProd"), is_sum = g_str_equal(op, "ReduceSum");
    gboolean is_max = g_str_equal(op, "ReduceMax");
    if (!ifm_values_known(call, 1) || x->values != IFM_VALUES_INTS || ifm_values_count(&call->outputs[0]) != 1 ||
        x->n_values == 0)
        return;
    gint64 result = x->ints[0];
    for (int i = 1; i < x->n_values; i++)
        if (!(is_product ? mul_ints : is_sum ? add_ints : is_max ? max_ints : min_ints)(result, x->ints[i], &result))
            return;
    call->outputs[0].ints[0] = result;
    ifm_values_done(call, IFM_VALUES_INTS);
}
