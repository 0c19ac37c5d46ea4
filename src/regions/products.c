/* Activations that a graph spells out as products: x sigmoid(x), x clip(x + 3, 0, 6) / 6, x / 2 (1 + erf(x / sqrt 2)). */
#include <math.h>

#include "regions-private.h"

#define MAX_FACTORS 3
#define CLOSE 1e-5 /* constants are written in few digits, or in half precision once */

/* Factors of a product: tensors, and the product of all constants. */
typedef struct
{
    const Facts *facts;
    const char *tensors[MAX_FACTORS];
    gsize n;
    double constant;
    GArray *inner; /* nodes that make what no other node reads */
} Factors;

static gboolean is_close(double a, double b)
{
    return fabs(a - b) <= CLOSE * fabs(b);
}

/* The node that makes @tensor, which @reader alone reads; NULL: there is none. */
static const IfmNode *inner_maker(const Facts *facts, const char *tensor, const char *op_type, gsize *index)
{
    gsize reader;
    const gssize maker = tensor != NULL ? ifm_model_producer(facts->model, tensor) : -1;
    if (maker < 0 || !regions_is_inner(facts, tensor, &reader))
        return NULL;
    const IfmNode *node = ifm_model_node(facts->model, (gsize)maker);
    *index = (gsize)maker;
    return regions_is(node, op_type) ? node : NULL;
}

/* A binary node with a constant. Returns: its other input; NULL: it has none. @value: (out) */
static const char *with_constant(const Facts *facts, const IfmNode *node, float *value, gboolean commutes)
{
    if (node->n_inputs != 2)
        return NULL;
    if (regions_scalar(facts, node->inputs[1], value))
        return node->inputs[0];
    return commutes && regions_scalar(facts, node->inputs[0], value) ? node->inputs[1] : NULL;
}

static gboolean collect(Factors *self, const char *tensor);

static gboolean collect_of(Factors *self, const IfmNode *node)
{
    float value;
    if (node->n_inputs != 2)
        return FALSE;
    if (regions_is(node, "Div"))
    {
        const char *rest = with_constant(self->facts, node, &value, FALSE);
        self->constant /= rest != NULL ? (double)value : 1;
        return rest != NULL && value != 0 && collect(self, rest);
    }
    return collect(self, node->inputs[0]) && collect(self, node->inputs[1]);
}

/* Goes into a product or quotient that no other node reads; anything else is a factor. */
static gboolean collect(Factors *self, const char *tensor)
{
    gsize index;
    float value;
    const IfmNode *node = inner_maker(self->facts, tensor, "Mul", &index);
    if (node == NULL)
        node = inner_maker(self->facts, tensor, "Div", &index);
    if (node != NULL && (regions_is(node, "Mul") || with_constant(self->facts, node, &value, FALSE) != NULL))
    {
        g_array_append_val(self->inner, index);
        return collect_of(self, node);
    }
    if (regions_scalar(self->facts, tensor, &value))
    {
        self->constant *= (double)value;
        return TRUE;
    }
    if (self->n == MAX_FACTORS)
        return FALSE;
    self->tensors[self->n++] = tensor;
    return TRUE;
}

/* --- the functions ---------------------------------------------------------------------------------------------------- */

/* Each returns x where @tensor is its function of x, and adds the nodes; else NULL. */

static const char *of_sigmoid(Factors *self, const char *tensor)
{
    gsize index;
    const IfmNode *node = inner_maker(self->facts, tensor, "Sigmoid", &index);
    if (node != NULL)
        g_array_append_val(self->inner, index);
    return node != NULL ? node->inputs[0] : NULL;
}

static const char *of_hard_sigmoid(Factors *self, const char *tensor)
{
    gsize index;
    const IfmNode *node = inner_maker(self->facts, tensor, "HardSigmoid", &index);
    if (node == NULL || !is_close(ifm_node_float(node, "alpha", 0.2), 1 / 6.0) ||
        !is_close(ifm_node_float(node, "beta", 0.5), 0.5))
        return NULL;
    g_array_append_val(self->inner, index);
    return node->inputs[0];
}

static gboolean is_clip6(const Facts *facts, const IfmNode *node)
{
    float low = (float)ifm_node_float(node, "min", -1), high = (float)ifm_node_float(node, "max", -1);
    const char *names[] = { regions_input(node, 1), regions_input(node, 2) };
    return (names[0] == NULL || regions_scalar(facts, names[0], &low)) &&
           (names[1] == NULL || regions_scalar(facts, names[1], &high)) && low == 0 && high == 6;
}

/* clip(x + 3, 0, 6) */
static const char *of_clip6(Factors *self, const char *tensor)
{
    gsize clip, add;
    float three;
    const IfmNode *node = inner_maker(self->facts, tensor, "Clip", &clip);
    const IfmNode *sum =
        node != NULL && is_clip6(self->facts, node) ? inner_maker(self->facts, node->inputs[0], "Add", &add) : NULL;
    const char *x = sum != NULL ? with_constant(self->facts, sum, &three, TRUE) : NULL;
    if (x == NULL || three != 3)
        return NULL;
    g_array_append_val(self->inner, clip);
    g_array_append_val(self->inner, add);
    return x;
}

/* 1 + erf(x / sqrt 2) */
static const char *of_erf(Factors *self, const char *tensor)
{
    gsize add, erf, scale;
    float one, factor;
    const IfmNode *sum = inner_maker(self->facts, tensor, "Add", &add);
    const char *inner = sum != NULL ? with_constant(self->facts, sum, &one, TRUE) : NULL;
    const IfmNode *node = inner != NULL && one == 1 ? inner_maker(self->facts, inner, "Erf", &erf) : NULL;
    const IfmNode *scaled = node != NULL ? inner_maker(self->facts, node->inputs[0], "Div", &scale) : NULL;
    const gboolean is_quotient = scaled != NULL;
    if (node != NULL && !is_quotient)
        scaled = inner_maker(self->facts, node->inputs[0], "Mul", &scale);
    const char *x = scaled != NULL ? with_constant(self->facts, scaled, &factor, !is_quotient) : NULL;
    if (x == NULL || !is_close((double)factor, is_quotient ? G_SQRT2 : 1 / G_SQRT2))
        return NULL;
    g_array_append_val(self->inner, add);
    g_array_append_val(self->inner, erf);
    g_array_append_val(self->inner, scale);
    return x;
}

/* @times_x: x is a factor, too */
static const struct
{
    const char *name;
    const char *(*of)(Factors *self, const char *tensor);
    gboolean times_x;
    double constant, alpha, beta;
} functions[] = {
    { "silu", of_sigmoid, TRUE, 1 },
    { "hard_swish", of_hard_sigmoid, TRUE, 1 },
    { "hard_swish", of_clip6, TRUE, 1 / 6.0 },
    { "hard_sigmoid", of_clip6, FALSE, 1 / 6.0, 1 / 6.0, 0.5 },
    { "gelu", of_erf, TRUE, 0.5 },
};

/* --- a product -------------------------------------------------------------------------------------------------------- */

/* x is read within the product alone, or it is what the product is applied to: it is not among the inner nodes either way.
 */
static const char *match(Factors *self, gsize row)
{
    for (gsize i = 0; i < self->n; i++)
    {
        const guint before = self->inner->len;
        const char *x = functions[row].of(self, self->tensors[i]);
        if (x != NULL && (!functions[row].times_x || g_str_equal(x, self->tensors[1 - i])))
            return x;
        g_array_set_size(self->inner, before);
    }
    return NULL;
}

gboolean regions_read_product(const Facts *facts, const IfmNode *node, Step *step, GArray *inner)
{
    Factors self = { .facts = facts, .constant = 1, .inner = inner };
    Shape4 in, out;
    if ((!regions_is(node, "Mul") && !regions_is(node, "Div")) || !collect_of(&self, node))
        return FALSE;
    for (gsize row = 0; row < G_N_ELEMENTS(functions); row++)
    {
        const gsize n = functions[row].times_x ? 2 : 1;
        const char *x = self.n == n && is_close(self.constant, functions[row].constant) ? match(&self, row) : NULL;
        if (x == NULL || !regions_shape(facts, x, &in) || !regions_shape(facts, regions_output(node, 0), &out))
            continue;
        step->word = "act";
        step->act = (Activation){ functions[row].name, (float)functions[row].alpha, (float)functions[row].beta };
        step->output = node->outputs[0];
        g_ptr_array_add(step->values, (gpointer)x);
        return TRUE;
    }
    return FALSE;
}
