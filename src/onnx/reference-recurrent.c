/*
 * DynamicQuantizeLSTM (ContribOperators.md) as a Scan whose body quantises the state at each step, as the operator does:
 *
 *     gates = (q(x) - zx)(W - zw) sx sw + (q(h) - zh)(R - zr) sh sr + bias        q: DynamicQuantizeLinear
 *     i, o, f, k = gates, h and c as in LSTM
 *
 * q(x) is of the whole sequence, q(h) of one step.
 */
#include "rewrite.h"

#include <string.h>

#define N_GATES 4
#define MAX_HIDDEN (1 << 24)

/* Lstm: one in work. @x: bytes, scale, zero point of the sequence */
typedef struct
{
    const IfmNode *node;
    gint64 hidden;
    int n_directions;
    const char *x[3];
} Lstm;

/* can_write: Whether all that it uses is written here. */
static gboolean can_write(const IfmNode *node, Lstm *lstm)
{
    static const char *const functions[] = { "Sigmoid", "Tanh", "Tanh" };
    const Onnx__AttributeProto *activations = ifm_onnx_attribute(node, "activations");
    const char *direction = ifm_node_string(node, "direction", "forward");
    for (gsize i = 0; activations != NULL && i < activations->n_strings; i++)
    {
        const ProtobufCBinaryData *name = &activations->strings[i];
        const char *usual = functions[i % G_N_ELEMENTS(functions)];
        if (name->len != strlen(usual) || memcmp(name->data, usual, name->len) != 0)
            return FALSE;
    }
    *lstm = (Lstm){ .node = node, .hidden = ifm_node_int(node, "hidden_size", 0) };
    lstm->n_directions = g_str_equal(direction, "bidirectional") ? 2 : 1;
    return lstm->hidden > 0 && lstm->hidden <= MAX_HIDDEN && ifm_onnx_attribute(node, "clip") == NULL &&
           ifm_node_int(node, "input_forget", 0) == 0 && ifm_rewrite_input(node, IFM_RECURRENT_LENGTHS) == NULL &&
           ifm_rewrite_input(node, IFM_RECURRENT_PEEPHOLES) == NULL;
}

/* Side: the products of one input with its weights, for one direction */
typedef struct
{
    const char *w, *zero, *scale;
} Side;

/* of_direction: the part of a tensor whose first axis has the directions */
static const char *of_direction(IfmRewriteScope *scope, const char *name, int direction)
{
    const gint64 index = direction;
    const char *at = ifm_emit_tensor(scope->rewrite, "inferometer.index", IFM_DTYPE_I64, 0, NULL, &index, sizeof index);
    const char *part = ifm_exact(scope, "Gather axis=0", name, at, NULL);
    return part;
}

static Side side_of(IfmRewriteScope *scope, const Lstm *lstm, gsize w, gsize scale, int direction)
{
    const char *const *in = lstm->node->inputs;
    return (Side){ of_direction(scope, in[w], direction), of_direction(scope, in[scale + 1], direction),
                   of_direction(scope, in[scale], direction) };
}

/* multiply: a quantised tensor with its weights, f32 */
static const char *multiply(IfmRewriteScope *scope, const char *const *quantised, const Side *side)
{
    const char *y = ifm_reference_product(scope, quantised[0], quantised[2], side->w, side->zero);
    y = ifm_rounded(scope, "Mul", y, ifm_reference_scales(scope, quantised[1], side->scale, NULL), NULL);
    return ifm_emit_cast(scope, NULL, y, IFM_DTYPE_F32);
}

static void quantise(IfmRewriteScope *scope, const char *x, const char **made)
{
    for (int i = 0; i < 3; i++)
        made[i] = ifm_rewrite_name(scope->rewrite, "inferometer.quantised");
    ifm_reference_dynamic(scope, x, made);
}

/* part: elements @index * hidden to (@index + 1) * hidden of the last axis */
static const char *part(IfmRewriteScope *scope, const Lstm *lstm, const char *x, int index)
{
    const gint64 start = index * lstm->hidden, end = start + lstm->hidden, axis = -1;
    IfmRewrite *rewrite = scope->rewrite;
    return ifm_exact(scope, "Slice", x, ifm_emit_list(rewrite, &start, 1), ifm_emit_list(rewrite, &end, 1),
                     ifm_emit_list(rewrite, &axis, 1), NULL);
}

/* bias_of: of inputs and state together: [4 hidden] */
static const char *bias_of(IfmRewriteScope *scope, const Lstm *lstm, int direction)
{
    const gint64 halves[] = { 2, N_GATES * lstm->hidden }, axis = 0;
    const char *bias = ifm_rewrite_input(lstm->node, IFM_RECURRENT_BIAS);
    if (bias == NULL)
        return NULL;
    bias = ifm_emit_reshape(scope, of_direction(scope, bias, direction), halves, 2);
    const char *both[2];
    for (int i = 0; i < 2; i++)
    {
        const gint64 index = i;
        const char *at = ifm_emit_tensor(scope->rewrite, "inferometer.index", IFM_DTYPE_I64, 0, NULL, &index, sizeof index);
        both[i] = ifm_exact(scope, "Gather", bias, at, NULL);
        ifm_emit_int(scope, "axis", axis);
    }
    return ifm_rounded(scope, "Add", both[0], both[1], NULL);
}

/* state: the first one, [batch, hidden]: what is given, or zeros */
static const char *state(IfmRewriteScope *scope, const Lstm *lstm, gsize input, int direction)
{
    const gint64 second[] = { 1 };
    const char *given = ifm_rewrite_input(lstm->node, input);
    if (given != NULL)
        return of_direction(scope, given, direction);
    const char *shape = ifm_exact(scope, "Shape", lstm->node->inputs[IFM_RECURRENT_X], NULL);
    const char *batch = ifm_exact(scope, "Gather", shape, ifm_emit_list(scope->rewrite, second, 1), NULL);
    shape = ifm_exact(scope, "Concat axis=0", batch, ifm_emit_list(scope->rewrite, &lstm->hidden, 1), NULL);
    return ifm_exact(scope, "ConstantOfShape", shape, NULL); /* of f32 zeros */
}

/* --- the body: one step ----------------------------------------------------------------------------------------------- */

static const char *curve(IfmRewriteScope *scope, const char *op_type, const char *x)
{
    return ifm_rounded(scope, op_type, x, NULL);
}

/* step: h, c and the gates of the input -> the next h and c, and h as the step's output */
static Onnx__GraphProto *make_step(const IfmRewriteScope *outer, const Lstm *lstm, const Side *side, const char *bias)
{
    IfmRewrite *rewrite = outer->rewrite;
    Onnx__GraphProto *graph = IFM_ONNX_NEW(graph_proto);
    graph->name = g_strdup("step");
    const char *in[3], *out[3], *quantised[3];
    for (int i = 0; i < 3; i++)
    {
        in[i] = ifm_rewrite_name(rewrite, "inferometer.step");
        out[i] = ifm_rewrite_name(rewrite, "inferometer.step");
        ifm_rewrite_graph_port(graph, TRUE, in[i], IFM_DTYPE_F32);
        ifm_rewrite_graph_port(graph, FALSE, out[i], IFM_DTYPE_F32);
    }
    IfmRewriteScope scope;
    ifm_rewrite_scope_init(&scope, rewrite, outer, graph);
    quantise(&scope, in[0], quantised);
    const char *gates = ifm_rounded(&scope, "Add", multiply(&scope, quantised, side), in[2], NULL);
    if (bias != NULL)
        gates = ifm_rounded(&scope, "Add", gates, bias, NULL);
    const char *i = curve(&scope, "Sigmoid", part(&scope, lstm, gates, 0));
    const char *o = curve(&scope, "Sigmoid", part(&scope, lstm, gates, 1));
    const char *f = curve(&scope, "Sigmoid", part(&scope, lstm, gates, 2));
    const char *k = curve(&scope, "Tanh", part(&scope, lstm, gates, 3));
    const char *kept = ifm_rounded(&scope, "Mul", f, in[1], NULL), *added = ifm_rounded(&scope, "Mul", i, k, NULL);
    const char *c = ifm_rounded_to(&scope, out[1], "Add", kept, added, NULL);
    const char *h = ifm_rounded_to(&scope, out[0], "Mul", o, curve(&scope, "Tanh", c), NULL);
    ifm_exact_to(&scope, out[2], "Identity", h, NULL);
    ifm_rewrite_scope_end(&scope);
    return graph;
}

/* Ran: what a direction gives: Y [length, 1, batch, hidden], its last h and c [1, batch, hidden] */
typedef struct
{
    const char *outputs[3];
} Ran;

static Ran run_direction(IfmRewriteScope *scope, const Lstm *lstm, int direction)
{
    const gint64 of_y[] = { 0, 1, -1, lstm->hidden }, of_state[] = { 1, -1, lstm->hidden };
    const char *given = ifm_node_string(lstm->node, "direction", "forward");
    const Side of_x = side_of(scope, lstm, IFM_RECURRENT_W, IFM_RECURRENT_W_SCALE, direction);
    const Side of_h = side_of(scope, lstm, IFM_RECURRENT_R, IFM_RECURRENT_R_SCALE, direction);
    const char *gates = multiply(scope, lstm->x, &of_x), *bias = bias_of(scope, lstm, direction);
    const char *h = state(scope, lstm, IFM_RECURRENT_H, direction), *c = state(scope, lstm, IFM_RECURRENT_C, direction);
    const gboolean is_backward = direction == 1 || g_str_equal(given, "reverse");
    const char *last_h =
        ifm_exact(scope,
                  is_backward ? "Scan num_scan_inputs=1 scan_input_directions=[1] scan_output_directions=[1]"
                              : "Scan num_scan_inputs=1",
                  h, c, gates, NULL);
    const char *last_c = ifm_rewrite_name(scope->rewrite, "inferometer"),
               *y = ifm_rewrite_name(scope->rewrite, "inferometer");
    ifm_emit_output(scope, last_c);
    ifm_emit_output(scope, y);
    ifm_emit_graph(scope, "body", make_step(scope, lstm, &of_h, bias));
    return (Ran){ { ifm_emit_reshape(scope, y, of_y, 4), ifm_emit_reshape(scope, last_h, of_state, 3),
                    ifm_emit_reshape(scope, last_c, of_state, 3) } };
}

IFM_REFERENCE_RULE(dynamic_lstm)
{
    Lstm lstm;
    Ran ran[2] = { { { NULL } } };
    if (!can_write(node, &lstm))
        return FALSE;
    quantise(scope, node->inputs[IFM_RECURRENT_X], lstm.x);
    for (int d = 0; d < lstm.n_directions; d++)
        ran[d] = run_direction(scope, &lstm, d);
    for (gsize i = 0; i < 3; i++)
    {
        const char *output = ifm_rewrite_output(node, i);
        if (output == NULL)
            continue;
        ifm_exact_to(scope, output, "Concat", ran[0].outputs[i], lstm.n_directions > 1 ? ran[1].outputs[i] : NULL, NULL);
        ifm_emit_int(scope, "axis", i == 0 ? 1 : 0);
    }
    return TRUE;
}
