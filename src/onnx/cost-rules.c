#include "operators.h"

/* times: *total *= factor. FALSE where the count no longer fits. */
static gboolean times(gint64 *total, gint64 factor)
{
    return !__builtin_mul_overflow(*total, factor, total);
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

/* multiply_add: flop = 2 macs + extra. */
static gboolean multiply_add(IfmNodeCost *cost, gint64 extra)
{
    cost->flop = cost->macs;
    return times(&cost->flop, 2) && add(&cost->flop, extra);
}

gboolean ifm_cost_matmul(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    const IfmFact *a = &call->inputs[0];
    return ifm_fact_n_elements(&call->outputs[0], &cost->macs) && times(&cost->macs, a->dims[a->rank - 1]) &&
           multiply_add(cost, 0);
}

static gboolean has_input(const IfmOperatorCall *call, gsize index)
{
    return call->node->n_inputs > index && *call->node->inputs[index] != '\0';
}

gboolean ifm_cost_gemm(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    const IfmFact *a = &call->inputs[0];
    gint64 inner = a->dims[ifm_node_int(call->node, "transA", 0) != 0 ? 0 : 1], n;
    if (!ifm_fact_n_elements(&call->outputs[0], &n))
        return FALSE;
    cost->macs = n;
    return times(&cost->macs, inner) && multiply_add(cost, has_input(call, 2) ? n : 0);
}

/* Each output element is a sum over the channels of its group and the kernel: what one output's weights hold. */
gboolean ifm_cost_conv(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    const IfmFact *weights = &call->inputs[1];
    gint64 n;
    if (!ifm_fact_n_elements(&call->outputs[0], &n))
        return FALSE;
    cost->macs = n;
    for (int i = 1; i < weights->rank; i++)
        if (!times(&cost->macs, weights->dims[i]))
            return FALSE;
    return multiply_add(cost, has_input(call, 2) ? n : 0);
}

gboolean ifm_cost_pool(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    gsize n;
    const gint64 *kernel = ifm_node_ints(call->node, "kernel_shape", &n);
    if (!ifm_cost_per_output(call, factor, cost))
        return FALSE;
    for (gsize i = 0; i < n; i++)
        if (!times(&cost->flop, kernel[i]))
            return FALSE;
    return TRUE;
}

/* What replaces is moved; what is added (multiplied, compared) is counted, an element of the updates each. */
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
