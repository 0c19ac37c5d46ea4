/* FLOP and MACs from shapes. operators.c has the conventions. */
#include <string.h>

#include "operators.h"

/* times: *total *= factor. FALSE on overflow. */
static gboolean times(gint64 *total, gint64 factor)
{
    return !__builtin_mul_overflow(*total, factor, total);
}

/* times_all: *total *= product(factors). */
static gboolean times_all(gint64 *total, const gint64 *factors, gsize n)
{
    for (gsize i = 0; i < n; i++)
        if (!times(total, factors[i]))
            return FALSE;
    return TRUE;
}

static gboolean add(gint64 *total, gint64 more)
{
    return !__builtin_add_overflow(*total, more, total);
}

gboolean ifm_cost_none(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    return TRUE;
}

gboolean ifm_cost_per_output(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    return ifm_fact_n_elements(&call->outputs[0], &cost->flop) && times(&cost->flop, factor);
}

gboolean ifm_cost_per_input(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    return ifm_fact_n_elements(&call->inputs[0], &cost->flop) && times(&cost->flop, factor);
}

gboolean ifm_cost_variadic(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    return ifm_cost_per_output(call, factor, cost) && times(&cost->flop, (gint64)call->node->n_inputs - 1);
}

/* Statistics of the batch: mean, variance, normalise, scale, shift. Fixed statistics: one factor and one summand. */
gboolean ifm_cost_batch_normalization(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    return ifm_cost_per_output(call, ifm_node_int(call->node, "training_mode", 0) != 0 ? 5 : 2, cost);
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

/* multiply_add: flop = 2 macs + extra. */
static gboolean multiply_add(IfmNodeCost *cost, gint64 extra)
{
    cost->flop = cost->macs;
    return times(&cost->flop, 2) && add(&cost->flop, extra);
}

/* matmul: @a: the input with the inner dimension as its last. */
static gboolean matmul(const IfmOperatorCall *call, const IfmTensorInfo *a, IfmNodeCost *cost)
{
    return ifm_fact_n_elements(&call->outputs[0], &cost->macs) && times(&cost->macs, a->dims[a->rank - 1]) &&
           multiply_add(cost, 0);
}

gboolean ifm_cost_matmul(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    return matmul(call, &call->inputs[0], cost);
}

/* requantise: Each output is scaled and shifted. */
static gboolean requantise(const IfmOperatorCall *call, IfmNodeCost *cost)
{
    gint64 n;
    return ifm_fact_n_elements(&call->outputs[0], &n) && times(&n, 2) && add(&cost->flop, n);
}

gboolean ifm_cost_qlinear_matmul(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    return matmul(call, &call->inputs[0], cost) && requantise(call, cost);
}

/* @factor: which input is the bias. */
gboolean ifm_cost_gemm(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    const IfmTensorInfo *a = &call->inputs[0];
    gint64 inner = a->dims[ifm_node_int(call->node, "transA", 0) != 0 ? 0 : 1], n;
    if (!ifm_fact_n_elements(&call->outputs[0], &n))
        return FALSE;
    cost->macs = n;
    return times(&cost->macs, inner) && multiply_add(cost, ifm_call_has(call, (gsize)factor) ? n : 0);
}

/* Each output element is a sum over the channels of its group and the kernel, which is one output of the weights. */
static gboolean conv(const IfmOperatorCall *call, const IfmTensorInfo *weights, gboolean has_bias, IfmNodeCost *cost)
{
    gint64 n;
    if (!ifm_fact_n_elements(&call->outputs[0], &n))
        return FALSE;
    cost->macs = n;
    return times_all(&cost->macs, weights->dims + 1, (gsize)weights->rank - 1) && multiply_add(cost, has_bias ? n : 0);
}

gboolean ifm_cost_conv(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    return conv(call, &call->inputs[1], ifm_call_has(call, 2) && factor == 0, cost);
}

gboolean ifm_cost_qlinear_conv(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    return conv(call, &call->inputs[3], ifm_call_has(call, 8), cost) && requantise(call, cost);
}

/* In addition to the products: the input of each weight is interpolated from four values (two axes), 2 FLOP each. */
gboolean ifm_cost_deform_conv(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    const IfmTensorInfo *offsets = &call->inputs[2];
    gint64 n;
    if (!conv(call, &call->inputs[1], ifm_call_has(call, 3), cost) || !ifm_fact_n_elements(offsets, &n))
        return FALSE;
    /* An offset has two numbers for each position of the kernel. It applies to all channels of its group. */
    gint64 each = call->inputs[0].dims[1] / MAX(ifm_node_int(call->node, "offset_group", 1), 1);
    return times(&n, each) && times(&n, 4) && add(&cost->flop, n);
}

/* By elimination: n^3 / 3 multiply-adds. */
gboolean ifm_cost_det(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    const IfmTensorInfo *x = &call->inputs[0];
    gint64 n = x->dims[x->rank - 1];
    return ifm_fact_n_elements(x, &cost->macs) && times(&cost->macs, n) && (cost->macs /= 3, multiply_add(cost, 0));
}

/* A point with k coordinates is the product of a [k, k + 1] matrix and a vector [k + 1]. */
gboolean ifm_cost_affine_grid(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    const IfmTensorInfo *out = &call->outputs[0];
    return ifm_fact_n_elements(out, &cost->macs) && times(&cost->macs, out->dims[out->rank - 1] + 1) &&
           multiply_add(cost, 0);
}

gboolean ifm_cost_by_values(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    *call->why = "its operations depend on values";
    return FALSE;
}

/* Each input element contributes to the outputs of its group under the kernel. */
gboolean ifm_cost_conv_transpose(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    const IfmTensorInfo *weights = &call->inputs[1];
    gint64 n;
    return ifm_fact_n_elements(&call->inputs[0], &cost->macs) && ifm_fact_n_elements(&call->outputs[0], &n) &&
           times_all(&cost->macs, weights->dims + 1, (gsize)weights->rank - 1) &&
           multiply_add(cost, ifm_call_has(call, 2) ? n : 0);
}

/*
 * @factor: gates (LSTM 4, GRU 3, RNN 1). For each step, direction and element of the batch: the products of the weights of
 * the gates with the input and the state. Then for each unit: a bias and a function per gate, and the new state. The new
 * state takes 5 FLOP for LSTM (f c + i g, o tanh(c)) and 5 for GRU ((1 - z) h + z s, r h).
 */
gboolean ifm_cost_recurrent(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    const IfmTensorInfo *x = &call->inputs[0], *r = &call->inputs[2];
    gint64 units = x->dims[0], update = factor > 1 ? 5 : 0; /* steps and batch, in either order */
    if (!times(&units, x->dims[1]) || !times(&units, r->dims[0]) || !times(&units, r->dims[2]))
        return FALSE;
    cost->macs = units;
    gint64 inner = x->dims[2], extra = units;
    return add(&inner, r->dims[2]) && times(&cost->macs, inner) && times(&cost->macs, factor) &&
           times(&extra, factor * (ifm_call_has(call, 3) ? 2 : 1) + update) && multiply_add(cost, extra);
}

gboolean ifm_cost_pool(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    gsize n;
    const gint64 *kernel = ifm_node_ints(call->node, "kernel_shape", &n);
    return ifm_cost_per_output(call, factor, cost) && times_all(&cost->flop, kernel, n);
}

/* taps: The number of elements in one interpolation: 2 (linear) or 4 (cubic) along each of @n_axes. */
static gboolean interpolate(const IfmOperatorCall *call, const char *mode, int n_axes, IfmNodeCost *cost)
{
    gint64 each = *mode == 'n' ? 0 : 2, taps = strstr(mode, "cubic") != NULL ? 4 : 2;
    for (int i = 0; i < n_axes; i++)
        if (!times(&each, taps))
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

gboolean ifm_cost_grid_sample(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    return interpolate(call, ifm_node_string(call->node, "mode", "linear"), call->inputs[0].rank - 2, cost);
}

/* RoiAlign: four neighbours per sample, then the mean of the samples. An adaptive number of samples depends on the regions.
 */
gboolean ifm_cost_roi(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    gint64 samples = ifm_node_int(call->node, "sampling_ratio", 0), each = 9;
    if (samples >= 1)
        return times(&each, samples) && times(&each, samples) && ifm_cost_per_output(call, each, cost);
    return ifm_cost_by_values(call, factor, cost);
}

/* A replacement is data movement. A reduction (add, multiply, compare) counts one FLOP per element of the updates. */
gboolean ifm_cost_scatter(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    if (g_str_equal(ifm_node_string(call->node, "reduction", "none"), "none"))
        return TRUE;
    return ifm_fact_n_elements(&call->inputs[2], &cost->flop) && times(&cost->flop, factor);
}

/* Square, sum over `size` channels, scale, add the bias, power, divide. */
gboolean ifm_cost_lrn(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    gint64 each = ifm_node_int(call->node, "size", 1);
    return each >= 1 && add(&each, 4) && ifm_cost_per_output(call, each, cost);
}

/* The bytes of its subgraphs. Its own inputs and outputs only pass through. */
gboolean ifm_cost_body(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    cost->macs = call->body->cost.macs;
    cost->flop = call->body->cost.flop;
    cost->bytes_read = call->body->cost.bytes_read;
    cost->bytes_written = call->body->cost.bytes_written;
    cost->is_upper_bound = call->body->cost.is_upper_bound;
    return TRUE;
}
