/*
 * LSTM, GRU and RNN, written out step by step: their gradient is then that of the operators that they are made of.
 *
 *     LSTM: i, o, f = sigmoid, k = tanh of x W^T + h R^T + bias;  c' = f c + i k;  h' = o tanh(c')
 *     GRU:  z, r = sigmoid of the same;  k = tanh(x W_k^T + r (h R_k^T + bias) + bias), or of (r h) R_k^T;
 *           h' = k + z (h - k)
 *     RNN:  h' = tanh or relu of the same
 *
 * The products with x are one for all steps.
 */
#include <string.h>

#include "backward.h"

#define MAX_STEPS 1024 /* a dozen nodes each, and thrice as many of their gradients */
#define MAX_DIRECTIONS 2
#define MAX_GATES 4

/* Layer: one in work. @is_reset_after: of a GRU, linear_before_reset */
typedef struct
{
    IfmBack *back;
    gint64 n_gates, hidden, n_steps;
    int n_directions;
    gboolean is_first_backward, is_reset_after;
    const char *curve; /* of an RNN */
} Layer;

/* Direction: @x: [n_steps] each [1, batch, gates of it]    @weight: [hidden, gates], of a GRU that resets before: those of
 * z and r, and of k    @bias: of the state; NULL: added to x    @h, @c: [1, batch, hidden]    @all: [n_steps] of h */
typedef struct
{
    const char **x, *weight[2], *bias, *h, *c, **all;
} Direction;

/* --- what it says ----------------------------------------------------------------------------------------------------- */

/* read_activations: Whether they are those of the formulas above. */
static gboolean read_activations(const IfmNode *node, Layer *layer)
{
    static const char *const lstm[] = { "Sigmoid", "Tanh", "Tanh" }, *const gru[] = { "Sigmoid", "Tanh" };
    json_t *attributes = ifm_node_attributes(node);
    json_t *given = json_object_get(attributes, "activations");
    gboolean is_usual = json_object_get(attributes, "clip") == NULL;
    layer->curve = "Tanh";
    for (gsize i = 0; i < json_array_size(given); i++)
    {
        const char *name = json_string_value(json_array_get(given, i));
        if (layer->n_gates > 1)
            is_usual = is_usual && g_strcmp0(name, layer->n_gates == 4 ? lstm[i % 3] : gru[i % 2]) == 0;
        else if (i == 0 && g_strcmp0(name, "Relu") == 0)
            layer->curve = "Relu";
        else
            is_usual = is_usual && g_strcmp0(name, layer->curve) == 0;
    }
    json_decref(attributes);
    return is_usual;
}

/* length_of: Where the model leaves it free, the bound one: the gradient is then for that alone. -1: not known */
static gint64 length_of(IfmBack *back, const char *x)
{
    IfmBackShape shape;
    gint64 dims[IFM_MAX_RANK];
    IfmDtype dtype;
    int rank;
    if (!ifm_back_facts_shape(back->facts, x, &shape) || shape.rank != 3)
        return -1;
    if (shape.dims[0] >= 0)
        return shape.dims[0];
    g_autoptr(IfmAnalysis) bound = ifm_model_analyse(back->model, back->options->bindings, back->options->n_bindings, NULL);
    return bound != NULL && ifm_analysis_shape(bound, x, &dtype, &rank, dims) && rank == 3 ? dims[0] : -1;
}

static gboolean read_layer(IfmBack *back, Layer *layer)
{
    const IfmNode *node = back->node;
    const char *direction = ifm_node_string(node, "direction", "forward");
    *layer = (Layer){ .back = back, .hidden = ifm_node_int(node, "hidden_size", 0) };
    layer->n_gates = g_str_equal(node->op_type, "LSTM") ? 4 : g_str_equal(node->op_type, "GRU") ? 3 : 1;
    layer->n_directions = g_str_equal(direction, "bidirectional") ? 2 : 1;
    layer->is_first_backward = g_str_equal(direction, "reverse");
    layer->is_reset_after = ifm_node_int(node, "linear_before_reset", 0) != 0;
    if (!read_activations(node, layer) || ifm_node_int(node, "input_forget", 0) != 0 ||
        ifm_node_int(node, "layout", 0) != 0 || ifm_back_input(back, IFM_RECURRENT_LENGTHS) != NULL ||
        ifm_back_input(back, IFM_RECURRENT_PEEPHOLES) != NULL || ifm_back_input(back, IFM_RECURRENT_X) == NULL ||
        layer->hidden < 1)
        return FALSE;
    layer->n_steps = length_of(back, ifm_back_input(back, IFM_RECURRENT_X));
    return layer->n_steps >= 1 && layer->n_steps <= MAX_STEPS;
}

/* --- parts ------------------------------------------------------------------------------------------------------------ */

/* split: @n parts of @size each along an axis. @parts: (out) [n] */
static void split(IfmBack *back, const char *value, gint64 axis, gint64 n, gint64 size, const char **parts)
{
    g_autofree gint64 *sizes = g_new(gint64, (gsize)n);
    for (gint64 i = 0; i < n; i++)
        sizes[i] = size;
    parts[0] = value;
    if (n == 1)
        return;
    parts[0] = ifm_back_op(back, "Split", value, ifm_back_list(back, sizes, (gsize)n), NULL);
    ifm_back_int(back, "axis", axis);
    for (gint64 i = 1; i < n; i++)
        parts[i] = ifm_back_more(back, (gsize)i);
}

/* of_direction: the part of an input whose first axis has the directions, [1, ..] */
static const char *of_direction(const Layer *layer, gsize input, int direction)
{
    const char *parts[MAX_DIRECTIONS];
    split(layer->back, ifm_back_input(layer->back, input), 0, layer->n_directions, 1, parts);
    return parts[direction];
}

/* weight_of: [inputs, gates] */
static const char *weight_of(const Layer *layer, gsize input, int direction)
{
    IfmBack *back = layer->back;
    const char *weight = of_direction(layer, input, direction);
    weight = ifm_back_op(back, "Squeeze", weight, ifm_back_number(back, 0), NULL);
    return ifm_back_transpose(back, weight, (int[]){ 1, 0 }, 2);
}

/* state_of: the first one: what is given, or zeros */
static const char *state_of(const Layer *layer, gsize input, int direction)
{
    IfmBack *back = layer->back;
    const char *x = ifm_back_input(back, IFM_RECURRENT_X);
    if (ifm_back_input(back, input) != NULL)
        return of_direction(layer, input, direction);
    const char *shape = ifm_back_op(back, "Concat axis=0", ifm_back_number(back, 1), ifm_back_size_of(back, x, 1),
                                    ifm_back_number(back, layer->hidden), NULL);
    return ifm_back_op(back, "Expand", ifm_back_scalar(back, ifm_back_dtype(back, x), 0), shape, NULL);
}

/* --- one direction ---------------------------------------------------------------------------------------------------- */

/* begin: The products with x of all steps, and the first state. */
static void begin(const Layer *layer, int direction, Direction *of)
{
    IfmBack *back = layer->back;
    const char *bias[2], *x = ifm_back_input(back, IFM_RECURRENT_X);
    const gint64 width = layer->n_gates * layer->hidden;
    gboolean keeps_bias = layer->n_gates == 3 && layer->is_reset_after;
    x = ifm_back_op(back, "MatMul", x, weight_of(layer, IFM_RECURRENT_W, direction), NULL);
    if (ifm_back_input(back, IFM_RECURRENT_BIAS) != NULL)
    {
        split(back, of_direction(layer, IFM_RECURRENT_BIAS, direction), 1, 2, width, bias);
        x = ifm_back_add(back, x, keeps_bias ? bias[0] : ifm_back_add(back, bias[0], bias[1]));
        of->bias = keeps_bias ? bias[1] : NULL;
    }
    split(back, x, 0, layer->n_steps, 1, of->x);
    of->weight[0] = weight_of(layer, IFM_RECURRENT_R, direction);
    if (layer->n_gates == 3 && !layer->is_reset_after)
    {
        const gint64 sizes[] = { 2 * layer->hidden, layer->hidden };
        of->weight[0] = ifm_back_op(back, "Split axis=1", of->weight[0], ifm_back_list(back, sizes, 2), NULL);
        of->weight[1] = ifm_back_more(back, 1);
    }
    of->h = state_of(layer, IFM_RECURRENT_H, direction);
    of->c = layer->n_gates == 4 ? state_of(layer, IFM_RECURRENT_C, direction) : NULL;
}

/* first_and_last: The gates that go through a sigmoid, each by itself, and the last one. @gates: (out) */
static void first_and_last(const Layer *layer, const char *value, const char **gates)
{
    IfmBack *back = layer->back;
    const gint64 n = layer->n_gates - 1, sizes[] = { n * layer->hidden, layer->hidden };
    const char *first = ifm_back_op(back, "Split axis=2", value, ifm_back_list(back, sizes, 2), NULL);
    gates[n] = ifm_back_more(back, 1);
    split(back, ifm_back_op(back, "Sigmoid", first, NULL), 2, n, layer->hidden, gates);
}

/* with_state: what a step adds to x: the state by its weights */
static const char *with_state(IfmBack *back, const Direction *of, const char *x)
{
    return ifm_back_formula(back, "x + MatMul(h, w)", "x", x, "h", of->h, "w", of->weight[0], NULL);
}

static void step_lstm(const Layer *layer, Direction *of, const char *x)
{
    IfmBack *back = layer->back;
    const char *gates[MAX_GATES];
    first_and_last(layer, with_state(back, of, x), gates);
    of->c =
        ifm_back_formula(back, "f * c + i * Tanh(new)", "f", gates[2], "c", of->c, "i", gates[0], "new", gates[3], NULL);
    of->h = ifm_back_formula(back, "o * Tanh(c)", "o", gates[1], "c", of->c, NULL);
}

/* reset_after: k of a GRU, and z. */
static const char *reset_after(const Layer *layer, Direction *of, const char *x, const char **z)
{
    IfmBack *back = layer->back;
    const gint64 sizes[] = { 2 * layer->hidden, layer->hidden };
    const char *sides[2] = { x, ifm_back_op(back, "MatMul", of->h, of->weight[0], NULL) }, *parts[2][2], *gates[2];
    if (of->bias != NULL)
        sides[1] = ifm_back_add(back, sides[1], of->bias);
    for (int i = 0; i < 2; i++)
    {
        parts[i][0] = ifm_back_op(back, "Split axis=2", sides[i], ifm_back_list(back, sizes, 2), NULL);
        parts[i][1] = ifm_back_more(back, 1);
    }
    const char *both = ifm_back_op(back, "Sigmoid", ifm_back_add(back, parts[0][0], parts[1][0]), NULL);
    split(back, both, 2, 2, layer->hidden, gates);
    *z = gates[0];
    return ifm_back_formula(back, "Tanh(x + r * h)", "x", parts[0][1], "r", gates[1], "h", parts[1][1], NULL);
}

/* reset_before: the same, of what is left of h. */
static const char *reset_before(const Layer *layer, Direction *of, const char *x, const char **z)
{
    IfmBack *back = layer->back;
    const gint64 sizes[] = { 2 * layer->hidden, layer->hidden };
    const char *gates[2], *first = ifm_back_op(back, "Split axis=2", x, ifm_back_list(back, sizes, 2), NULL);
    const char *last = ifm_back_more(back, 1);
    split(back, ifm_back_op(back, "Sigmoid", with_state(back, of, first), NULL), 2, 2, layer->hidden, gates);
    *z = gates[0];
    return ifm_back_formula(back, "Tanh(x + MatMul(r * h, w))", "x", last, "r", gates[1], "h", of->h, "w", of->weight[1],
                            NULL);
}

static void step_gru(const Layer *layer, Direction *of, const char *x)
{
    IfmBack *back = layer->back;
    const char *z;
    const char *k = layer->is_reset_after ? reset_after(layer, of, x, &z) : reset_before(layer, of, x, &z);
    of->h = ifm_back_formula(back, "k + z * (h - k)", "k", k, "z", z, "h", of->h, NULL);
}

static void step(const Layer *layer, Direction *of, gint64 at)
{
    IfmBack *back = layer->back;
    if (layer->n_gates == 4)
        step_lstm(layer, of, of->x[at]);
    else if (layer->n_gates == 3)
        step_gru(layer, of, of->x[at]);
    else
        of->h = ifm_back_op(back, layer->curve, with_state(back, of, of->x[at]), NULL);
    of->all[at] = of->h;
}

/* run_direction: Returns: h of all steps, [steps, 1, batch, hidden]. @of: its last states */
static const char *run_direction(const Layer *layer, int direction, Direction *of)
{
    IfmBack *back = layer->back;
    g_autofree const char **x = g_new(const char *, (gsize)layer->n_steps);
    g_autofree const char **all = g_new(const char *, (gsize)layer->n_steps);
    gboolean is_backward = direction == 1 || layer->is_first_backward;
    *of = (Direction){ .x = x, .all = all };
    begin(layer, direction, of);
    for (gint64 i = 0; i < layer->n_steps; i++)
        step(layer, of, is_backward ? layer->n_steps - 1 - i : i);
    g_autoptr(GPtrArray) parts = g_ptr_array_new();
    for (gint64 i = 0; i < layer->n_steps; i++)
        g_ptr_array_add(parts, (gpointer)all[i]);
    const char *joined = ifm_back_op_list(back, NULL, "Concat axis=0", parts);
    of->x = of->all = NULL;
    return ifm_back_op(back, "Unsqueeze", joined, ifm_back_number(back, 1), NULL);
}

/* --- the layer -------------------------------------------------------------------------------------------------------- */

static void join(const Layer *layer, gsize output, gint64 axis, const char *const *parts)
{
    const char *name = ifm_back_output(layer->back, output);
    if (name == NULL)
        return;
    ifm_back_op_to(layer->back, name, "Concat", parts[0], layer->n_directions > 1 ? parts[1] : NULL, NULL);
    ifm_back_int(layer->back, "axis", axis);
}

gboolean ifm_lower_recurrent(IfmBack *back)
{
    Layer layer;
    Direction of[MAX_DIRECTIONS];
    const char *all[MAX_DIRECTIONS] = { NULL }, *last[MAX_DIRECTIONS] = { NULL }, *cells[MAX_DIRECTIONS] = { NULL };
    if (!read_layer(back, &layer))
        return FALSE; /* its rule says why */
    for (int i = 0; i < layer.n_directions; i++)
    {
        all[i] = run_direction(&layer, i, &of[i]);
        last[i] = of[i].h;
        cells[i] = of[i].c;
    }
    join(&layer, 0, 1, all);
    join(&layer, 1, 0, last);
    if (layer.n_gates == 4)
        join(&layer, 2, 0, cells);
    return TRUE;
}

/* Of a layer that was not written out. */
static void recurrent_rule(IfmBack *back)
{
    ifm_back_fail(back,
                  "no gradient rule but for the usual activations, without lengths, peepholes or layout 1, of 1 to %d "
                  "steps that are known before it runs (bind them)",
                  MAX_STEPS);
}

const IfmGradientRule ifm_gradients_recurrent[] = {
    { "GRU", recurrent_rule },
    { "LSTM", recurrent_rule },
    { "RNN", recurrent_rule },
    { NULL },
};
