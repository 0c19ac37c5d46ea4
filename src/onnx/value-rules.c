/* Values of small tensors, followed as far as exporters compute shapes with them. */
#include <math.h>
#include <string.h>

#include "operators.h"

/* knows: whether the values of the first @n inputs are known. */
static gboolean knows(const IfmOperatorCall *call, gsize n)
{
    for (gsize i = 0; i < n; i++)
        if (call->inputs[i].rank < 0 || call->inputs[i].values == IFM_VALUES_UNKNOWN)
            return FALSE;
    return TRUE;
}

static gint64 count(const IfmTensorInfo *fact)
{
    gint64 n = 0;
    return ifm_fact_n_elements(fact, &n) ? n : 0;
}

/* done: The first output's values are there, as many as it has elements. */
static void done(const IfmOperatorCall *call, IfmValueKind kind)
{
    call->outputs[0].values = kind;
    call->outputs[0].n_values = (int)count(&call->outputs[0]);
}

static void copy(const IfmOperatorCall *call, int to, const IfmTensorInfo *from, int index)
{
    memcpy(&call->outputs[0].ints[to], &from->ints[index], sizeof from->ints[0]); /* a real is as large */
}

void ifm_values_same(const IfmOperatorCall *call)
{
    IfmTensorInfo *out = &call->outputs[0];
    if (!knows(call, 1) || count(out) != call->inputs[0].n_values)
        return;
    memcpy(out->ints, call->inputs[0].ints, sizeof out->ints);
    done(call, call->inputs[0].values);
}

/* broadcast_index: the element of @fact that meets element @index of @out. */
static int broadcast_index(const IfmTensorInfo *fact, const IfmTensorInfo *out, gint64 index)
{
    gint64 at = 0, stride = 1;
    for (int back = 1; back <= out->rank; back++)
    {
        gint64 position = index % MAX(out->dims[out->rank - back], 1);
        index /= MAX(out->dims[out->rank - back], 1);
        if (back > fact->rank)
            continue;
        gint64 size = fact->dims[fact->rank - back];
        at += size == 1 ? 0 : position * stride;
        stride *= size;
    }
    return (int)at;
}

void ifm_values_expand(const IfmOperatorCall *call)
{
    if (!knows(call, 1))
        return;
    for (int i = 0; i < (int)count(&call->outputs[0]); i++)
        copy(call, i, &call->inputs[0], broadcast_index(&call->inputs[0], &call->outputs[0], i));
    done(call, call->inputs[0].values);
}

void ifm_values_where(const IfmOperatorCall *call)
{
    if (!knows(call, 3) || call->inputs[1].values != call->inputs[2].values)
        return;
    const IfmTensorInfo *out = &call->outputs[0];
    for (int i = 0; i < (int)count(out); i++)
    {
        gboolean is_first = call->inputs[0].ints[broadcast_index(&call->inputs[0], out, i)] != 0;
        const IfmTensorInfo *from = &call->inputs[is_first ? 1 : 2];
        copy(call, i, from, broadcast_index(from, out, i));
    }
    done(call, call->inputs[1].values);
}

/* --- arithmetic --------------------------------------------------------------------------------------------------- */

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
    int at_a = broadcast_index(a, out, i), at_b = broadcast_index(b, out, i);
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
    if (op == G_N_ELEMENTS(binaries) || call->node->n_inputs != 2 || call->opset < 7 || !knows(call, 2))
        return;
    for (int i = 0; i < (int)count(&call->outputs[0]); i++)
        if (!binary_one(call, &binaries[op], i))
            return;
    done(call, binaries[op].compares != 0 ? IFM_VALUES_INTS : call->inputs[0].values);
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
    if (!knows(call, 1) ||
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
    done(call, x->values);
}

void ifm_values_cast(const IfmOperatorCall *call)
{
    const IfmTensorInfo *x = &call->inputs[0];
    IfmTensorInfo *out = &call->outputs[0];
    gboolean to_real = out->dtype == IFM_DTYPE_F32 || out->dtype == IFM_DTYPE_F64;
    if (!knows(call, 1) ||
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
    done(call, to_real ? IFM_VALUES_REALS : IFM_VALUES_INTS);
}

/* --- moved -------------------------------------------------------------------------------------------------------- */

/* Indices may count from the end. */
void ifm_values_gather(const IfmOperatorCall *call)
{
    const IfmTensorInfo *data = &call->inputs[0], *indices = &call->inputs[1];
    if (!knows(call, 2) || data->rank != 1 || indices->values != IFM_VALUES_INTS)
        return;
    for (int i = 0; i < indices->n_values; i++)
    {
        gint64 index = indices->ints[i] < 0 ? indices->ints[i] + data->n_values : indices->ints[i];
        if (index < 0 || index >= data->n_values)
            return;
        copy(call, i, data, (int)index);
    }
    done(call, data->values);
}

void ifm_values_concat(const IfmOperatorCall *call)
{
    int n = 0;
    if (!knows(call, call->node->n_inputs) || call->outputs[0].rank != 1)
        return;
    for (gsize i = 0; i < call->node->n_inputs; i++)
    {
        if (call->inputs[i].values != call->inputs[0].values)
            return;
        for (int k = 0; k < call->inputs[i].n_values && n < IFM_FACT_MAX_VALUES; k++)
            copy(call, n++, &call->inputs[i], k);
    }
    done(call, call->inputs[0].values);
}

/* Of one axis; its length is the output's already. */
void ifm_values_slice(const IfmOperatorCall *call)
{
    const IfmTensorInfo *x = &call->inputs[0];
    int n;
    if (!knows(call, 1) || x->rank != 1)
        return;
    const gint64 *starts = ifm_rule_ints(call, 1, "starts", &n), *steps = ifm_rule_ints(call, 4, NULL, &n);
    gint64 step = steps != NULL ? steps[0] : 1, length = x->n_values;
    if (starts == NULL)
        return;
    gint64 start = starts[0] < 0 ? starts[0] + length : starts[0];
    start = CLAMP(start, 0, step > 0 ? length : MAX(length - 1, 0));
    for (gint64 i = 0; i < count(&call->outputs[0]); i++)
        copy(call, (int)i, x, (int)(start + (i == 0 ? 0 : i * step))); /* within, as the length was counted so */
    done(call, x->values);
}

/* Nothing moves where all axes but one are 1. */
void ifm_values_transpose(const IfmOperatorCall *call)
{
    int n_long = 0;
    for (int i = 0; i < call->inputs[0].rank; i++)
        n_long += call->inputs[0].dims[i] != 1;
    if (n_long <= 1)
        ifm_values_same(call);
}

/* --- made --------------------------------------------------------------------------------------------------------- */

void ifm_values_range(const IfmOperatorCall *call)
{
    gint64 n = count(&call->outputs[0]);
    if (call->inputs[0].values != IFM_VALUES_INTS)
        return;
    for (gint64 i = 0; i < n; i++)
        call->outputs[0].ints[i] = call->inputs[0].ints[0] + i * call->inputs[2].ints[0];
    done(call, IFM_VALUES_INTS);
}

/* To one number, of integers. */
void ifm_values_reduce(const IfmOperatorCall *call)
{
    const IfmTensorInfo *x = &call->inputs[0];
    const char *op = call->node->op_type;
    gboolean is_product = g_str_equal(op, "ReduceProd"), is_sum = g_str_equal(op, "ReduceSum");
    gboolean is_max = g_str_equal(op, "ReduceMax");
    if (!knows(call, 1) || x->values != IFM_VALUES_INTS || count(&call->outputs[0]) != 1 || x->n_values == 0)
        return;
    gint64 result = x->ints[0];
    for (int i = 1; i < x->n_values; i++)
        if (!(is_product ? mul_ints : is_sum ? add_ints : is_max ? max_ints : min_ints)(result, x->ints[i], &result))
            return;
    call->outputs[0].ints[0] = result;
    done(call, IFM_VALUES_INTS);
}
