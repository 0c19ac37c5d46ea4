/* If, Loop and Scan: shapes and costs by the graphs that they carry. */
#include <string.h>

#include "operators.h"

static const Onnx__GraphProto *graph_of(const IfmNode *node, const char *name, gsize n_outputs, GError **error)
{
    const Onnx__AttributeProto *attribute = ifm_onnx_attribute(node, name);
    if (attribute == NULL || attribute->g == NULL)
    {
        ifm_error_refuse(error, "it has no %s", name);
        return NULL;
    }
    if (attribute->g->n_output == n_outputs)
        return attribute->g;
    ifm_error_refuse(error, "%s makes %zu tensors, %zu are asked for", name, attribute->g->n_output, n_outputs);
    return NULL;
}

static void repeat_body(const IfmOperatorCall *call, gint64 n)
{
    gboolean fits = TRUE;
    for (int i = 0; i < IFM_N_COUNTS; i++)
        fits = ifm_count_times(ifm_cost_count(&call->body->cost, i), n) && fits;
    if (!call->body->known || fits)
        return;
    call->body->known = FALSE;
    call->body->why = "its operations are past counting";
}

/* --- If ----------------------------------------------------------------------------------------------------------- */

/* larger_of: Whichever branch runs, it costs no more than the larger of each of their counts. */
static IfmNodeCost larger_of(IfmNodeCost a, IfmNodeCost b)
{
    IfmNodeCost cost = { .is_upper_bound = a.is_upper_bound || b.is_upper_bound };
    for (int i = 0; i < IFM_N_COUNTS; i++)
    {
        const gint64 one = *ifm_cost_count(&a, i), other = *ifm_cost_count(&b, i);
        *ifm_cost_count(&cost, i) = MAX(one, other);
        cost.is_upper_bound = cost.is_upper_bound || one != other;
    }
    return cost;
}

/* merge: Of two branches: the shapes that both make, and the maximum of their costs. */
static void merge(const IfmOperatorCall *call, const IfmTensorInfo *a, const IfmTensorInfo *b, const IfmBody *body_a,
                  const IfmBody *body_b)
{
    for (gsize i = 0; i < call->node->n_outputs; i++)
    {
        call->outputs[i].dtype = a[i].dtype;
        if (ifm_fact_is_alike(&a[i], &b[i]))
            ifm_call_make(call, i, a[i].dtype, a[i].rank, a[i].dims);
        else
            *call->why = "its branches make different shapes";
    }
    *call->body = body_a->known ? *body_b : *body_a;
    call->body->cost = larger_of(body_a->cost, body_b->cost);
    call->body->known = body_a->known && body_b->known;
    call->body->multiplies = body_a->multiplies || body_b->multiplies;
}

/* run_branch: FALSE where it cannot be taken, its shapes contradicting each other. */
static gboolean run_branch(const IfmOperatorCall *call, const char *name, IfmTensorInfo *outputs, IfmBody *body,
                           GError **error)
{
    const Onnx__GraphProto *graph = graph_of(call->node, name, call->node->n_outputs, error);
    if (graph != NULL && ifm_scope_run(call->scope, graph, NULL, 0, outputs, body, error))
        return TRUE;
    g_prefix_error(error, "%s: ", name);
    return FALSE;
}

static void take(const IfmOperatorCall *call, const IfmTensorInfo *outputs, const IfmBody *body)
{
    memcpy(call->outputs, outputs, call->node->n_outputs * sizeof *outputs);
    *call->body = *body;
}

gboolean ifm_shape_if(const IfmOperatorCall *call, GError **error)
{
    const IfmTensorInfo *condition = &call->inputs[0];
    gsize n = call->node->n_outputs;
    g_autofree IfmTensorInfo *a = g_new(IfmTensorInfo, n), *b = g_new(IfmTensorInfo, n);
    IfmBody body_a, body_b;
    if (ifm_fact_ints(condition) != NULL && condition->n_values == 1)
    {
        if (!run_branch(call, condition->ints[0] != 0 ? "then_branch" : "else_branch", a, &body_a, error))
            return FALSE;
        take(call, a, &body_a);
        return TRUE;
    }
    /* Exporters guard what only some shapes can go through: a branch whose shapes contradict each other is never taken. */
    g_autoptr(GError) trouble = NULL;
    gboolean then_ok = run_branch(call, "then_branch", a, &body_a, &trouble);
    gboolean else_ok = run_branch(call, "else_branch", b, &body_b, then_ok ? NULL : error);
    if (!then_ok && !else_ok)
        return FALSE;
    if (then_ok && else_ok)
        merge(call, a, b, &body_a, &body_b);
    else
        take(call, then_ok ? a : b, then_ok ? &body_a : &body_b);
    return TRUE;
}

/* --- Loop --------------------------------------------------------------------------------------------------------- */

/* enter_loop: The inputs of the body in each iteration: its number, the condition (true), the carried values. */
static void enter_loop(const IfmOperatorCall *call, IfmTensorInfo *inputs, gsize n_carried)
{
    inputs[0] = (IfmTensorInfo){ .dtype = IFM_DTYPE_I64 };
    inputs[1] = (IfmTensorInfo){ .dtype = IFM_DTYPE_BOOL, .values = IFM_VALUES_INTS, .n_values = 1, .ints = { 1 } };
    for (gsize i = 0; i < n_carried; i++)
    {
        inputs[i + 2] = call->inputs[i + 2];
        inputs[i + 2].values = IFM_VALUES_UNKNOWN;
    }
}

static const char *why_loop_is_unknown(const IfmOperatorCall *call, const IfmTensorInfo *outputs, gsize n_carried)
{
    const IfmTensorInfo *count = ifm_call_input(call, 0), *start = ifm_call_input(call, 1);
    if (count == NULL || ifm_fact_ints(count) == NULL || count->n_values != 1 ||
        (start != NULL && (ifm_fact_ints(start) == NULL || start->n_values != 1)))
        return "how often it turns depends on values";
    if (ifm_fact_ints(&outputs[0]) == NULL || outputs[0].n_values != 1 || outputs[0].ints[0] == 0)
        return "when it ends depends on values";
    for (gsize i = 0; i < n_carried; i++)
        if (!ifm_fact_is_alike(&outputs[i + 1], &call->inputs[i + 2]))
            return "its shapes change from turn to turn";
    return NULL;
}

static void leave_loop(const IfmOperatorCall *call, const IfmTensorInfo *outputs, gsize n_carried, gint64 n_turns)
{
    for (gsize i = 0; i < call->node->n_outputs; i++)
    {
        const IfmTensorInfo *made = i < n_carried && n_turns == 0 ? &call->inputs[i + 2] : &outputs[i + 1];
        gint64 dims[IFM_MAX_RANK + 1] = { n_turns };
        gboolean is_stacked = i >= n_carried && made->rank >= 0;
        if (made->rank > 0)
            memcpy(dims + is_stacked, made->dims, (gsize)made->rank * sizeof dims[0]);
        if (made->rank + is_stacked <= IFM_MAX_RANK)
            ifm_call_make(call, i, made->dtype, made->rank + is_stacked, dims);
    }
}

gboolean ifm_shape_loop(const IfmOperatorCall *call, GError **error)
{
    gsize n_carried = call->node->n_inputs > 2 ? call->node->n_inputs - 2 : 0;
    const Onnx__GraphProto *graph = graph_of(call->node, "body", call->node->n_outputs + 1, error);
    if (graph == NULL)
        return FALSE;
    if (graph->n_input != n_carried + 2 || call->node->n_outputs < n_carried)
        return ifm_error_refuse(error, "body takes %zu tensors, not %zu", graph->n_input, n_carried + 2);
    g_autofree IfmTensorInfo *inputs = g_new(IfmTensorInfo, n_carried + 2),
                             *outputs = g_new(IfmTensorInfo, graph->n_output);
    enter_loop(call, inputs, n_carried);
    if (!ifm_scope_run(call->scope, graph, inputs, n_carried + 2, outputs, call->body, error))
    {
        g_prefix_error(error, "body: ");
        return FALSE;
    }
    const char *why = why_loop_is_unknown(call, outputs, n_carried);
    if (why != NULL)
    {
        call->body->known = FALSE;
        call->body->why = why;
        for (gsize i = 0; i < call->node->n_outputs; i++)
            call->outputs[i].dtype = outputs[i + 1].dtype;
        return TRUE;
    }
    const IfmTensorInfo *start = ifm_call_input(call, 1);
    gint64 n_turns = start != NULL && start->ints[0] == 0 ? 0 : MAX(call->inputs[0].ints[0], 0);
    leave_loop(call, outputs, n_carried, n_turns);
    repeat_body(call, n_turns);
    return TRUE;
}

/* --- Scan --------------------------------------------------------------------------------------------------------- */

static gint64 nth(const gint64 *values, gsize n, gsize index)
{
    return values != NULL && index < n ? values[index] : 0;
}

/* enter_scan: the states as they come, then a slice of each scanned input. @length: (out) how many slices; -1: not known */
static gboolean enter_scan(const IfmOperatorCall *call, IfmTensorInfo *inputs, gsize n_states, gint64 *length,
                           GError **error)
{
    gsize n_axes;
    const gint64 *axes = ifm_node_ints(call->node, "scan_input_axes", &n_axes);
    *length = -1;
    for (gsize i = 0; i < call->node->n_inputs; i++)
    {
        IfmTensorInfo *x = &inputs[i];
        int axis;
        *x = call->inputs[i];
        x->values = IFM_VALUES_UNKNOWN;
        if (i < n_states || x->rank < 0)
            continue;
        if (!ifm_rule_axis(nth(axes, n_axes, i - n_states), x->rank, x->rank, &axis, error))
            return FALSE;
        if (*length >= 0 && *length != x->dims[axis])
            return ifm_error_refuse(error, "'%s' has %" G_GINT64_FORMAT " slices, the inputs before it %" G_GINT64_FORMAT,
                                    call->node->inputs[i], x->dims[axis], *length);
        *length = x->dims[axis];
        memmove(x->dims + axis, x->dims + axis + 1, (gsize)(x->rank - axis - 1) * sizeof x->dims[0]);
        x->rank--;
    }
    return TRUE;
}

static gboolean leave_scan(const IfmOperatorCall *call, const IfmTensorInfo *outputs, gsize n_states, gint64 length,
                           GError **error)
{
    gsize n_axes;
    const gint64 *axes = ifm_node_ints(call->node, "scan_output_axes", &n_axes);
    for (gsize i = 0; i < call->node->n_outputs; i++)
    {
        IfmTensorInfo made = outputs[i];
        int axis;
        call->outputs[i].dtype = made.dtype;
        if (made.rank < 0 || made.rank == IFM_MAX_RANK)
            continue;
        if (i >= n_states)
        {
            if (!ifm_rule_axis(nth(axes, n_axes, i - n_states), made.rank + 1, made.rank + 1, &axis, error))
                return FALSE;
            memmove(made.dims + axis + 1, made.dims + axis, (gsize)(made.rank - axis) * sizeof made.dims[0]);
            made.dims[axis] = length;
            made.rank++;
        }
        ifm_call_give(call, i, &made);
    }
    return TRUE;
}

gboolean ifm_shape_scan(const IfmOperatorCall *call, GError **error)
{
    gint64 n_scanned = ifm_node_int(call->node, "num_scan_inputs", 0), length;
    if (call->opset < 9)
    {
        *call->why = call->body->why = "its first version, which scans batches of sequences of unlike lengths";
        return TRUE;
    }
    const Onnx__GraphProto *graph = graph_of(call->node, "body", call->node->n_outputs, error);
    if (graph == NULL)
        return FALSE;
    if (n_scanned < 1 || (guint64)n_scanned > call->node->n_inputs || graph->n_input != call->node->n_inputs ||
        graph->n_output + (gsize)n_scanned < call->node->n_inputs)
        return ifm_error_refuse(error, "num_scan_inputs is %" G_GINT64_FORMAT " of %zu inputs; body takes %zu", n_scanned,
                                call->node->n_inputs, graph->n_input);
    gsize n_states = call->node->n_inputs - (gsize)n_scanned;
    g_autofree IfmTensorInfo *inputs = g_new(IfmTensorInfo, call->node->n_inputs),
                             *outputs = g_new(IfmTensorInfo, graph->n_output);
    if (!enter_scan(call, inputs, n_states, &length, error))
        return FALSE;
    if (!ifm_scope_run(call->scope, graph, inputs, call->node->n_inputs, outputs, call->body, error))
    {
        g_prefix_error(error, "body: ");
        return FALSE;
    }
    if (length < 0)
    {
        call->body->known = FALSE;
        call->body->why = "the shape of an input is not known";
        return TRUE;
    }
    repeat_body(call, length);
    return leave_scan(call, outputs, n_states, length, error);
}

/* --- costs -------------------------------------------------------------------------------------------------------- */

/* The bytes of its subgraphs. Its own inputs and outputs only pass through. */
gboolean ifm_cost_body(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
{
    const IfmNodeFamily family = cost->family;
    *cost = call->body->cost;
    cost->family = family;
    cost->covered = TRUE;
    return TRUE;
}
