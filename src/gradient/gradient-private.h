#pragma once
#include <gradient/gradient.h>
#include <math.h>
#include <onnx/onnx.h>

G_BEGIN_DECLS

/*
 * A backward pass under construction. The engine (backward.c) copies the forward nodes, then goes through those that the
 * loss depends on, last first, and calls the rule of each operator (the table in gradient-rules.c). A rule reads what is
 * below, emits nodes, and gives gradients; it returns nothing: the first failure sticks, and what is emitted after it is
 * thrown away.
 *
 * Names of tensors are strings that live as long as the pass. Shapes are those of the forward model's tensors: a gradient
 * has the shape of what it is the gradient of.
 */

/* IfmBackShape: @dims: [rank], -1 where free: the model is differentiated without a binding. */
typedef struct
{
    IfmDtype dtype;
    int rank;
    gint64 dims[IFM_MAX_RANK];
} IfmBackShape;

typedef struct IfmBackFacts IfmBackFacts; /* gradient-shapes.c */

typedef struct
{
    IfmModel *model;
    const IfmGradientOptions *options;
    IfmModelBuilder *builder;
    gint64 opset;
    const IfmNode *node; /* the one in hand; NULL: the loss or the optimiser */
    const char *x, *y;   /* its first input and output; NULL: left out */
    const char *g;       /* the gradient of that output; NULL: the loss does not depend on it */
    gsize node_index;
    gboolean is_live;   /* a gradient will be asked of it */
    const char *part;   /* prefix of the names emitted: "backward", "loss", "update" */
    gsize last;         /* the builder's number of what ifm_back_op() emitted last */
    gboolean adds_rows; /* the forward model has a ScatterND with a reduction */
    IfmBackFacts *facts;
    GStringChunk *strings;
    GHashTable *taken;                  /* names of tensors, the model's and emitted */
    GHashTable *taken_nodes;            /* names of nodes */
    GHashTable *numbers, *node_numbers; /* name -> the last number behind it that was taken, of tensors and of nodes */
    GHashTable *constants;              /* content -> name */
    GHashTable *kept;                   /* "node key" -> name, from a row's forward function for its rule */
    GHashTable *carried;                /* weights that the model that comes out carries */
    GHashTable *wanted;                 /* forward tensors that the result needs */
    GHashTable *reached;                /* tensors that depend on what is differentiated by */
    GHashTable *live;                   /* … and that the loss depends on */
    GHashTable *gradients;              /* tensor -> name of its gradient so far */
    GError *error;
} IfmBack;

/* --- the node in hand --------------------------------------------------------------------------------------------- */

/* ifm_back_take: Takes a node in hand. */
void ifm_back_take(IfmBack *back, gsize index);
/* ifm_back_input, ifm_back_output: Returns: NULL where it is left out. */
const char *ifm_back_input(const IfmBack *back, gsize index);
const char *ifm_back_output(const IfmBack *back, gsize index);
/* ifm_back_wants: whether anybody needs the gradient of that input. */
gboolean ifm_back_wants(const IfmBack *back, gsize input);
/* ifm_back_gradient: Returns: NULL where the loss does not depend on that output. */
const char *ifm_back_gradient(const IfmBack *back, gsize output);
/* ifm_back_give: Adds @gradient, of the input's shape, to the input's. Nothing where it is not wanted. */
void ifm_back_give(IfmBack *back, gsize input, const char *gradient);
/* ifm_back_give_sum: the same of a gradient of the shape of tensor @from, to which the input was broadcast. */
void ifm_back_give_sum(IfmBack *back, gsize input, const char *gradient, const char *from);
/* ifm_back_fail: IFM_ERROR_UNSUPPORTED, with the node in front. */
void ifm_back_fail(IfmBack *back, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* ifm_back_is_constant: whether a forward tensor is a weight that the model carries, not an input of a training step. */
gboolean ifm_back_is_constant(const IfmBack *back, const char *tensor);
/* ifm_back_keep, ifm_back_kept: what the forward function of a row leaves for its rule. Returns: NULL for nothing. */
void ifm_back_keep(IfmBack *back, const char *key, const char *tensor);
const char *ifm_back_kept(const IfmBack *back, const char *key);
/* ifm_back_keep_for: for the rule of another node, which is called later: one before it. IFM_BACK_FACTOR: a number that all
 * which that rule gives is multiplied by. */
#define IFM_BACK_FACTOR "factor"
void ifm_back_keep_for(IfmBack *back, gsize node_index, const char *key, const char *tensor);
/* ifm_back_sole_reader: Returns: the only node that reads a forward tensor; NULL where there are more, or the result is
 * made of it. */
const IfmNode *ifm_back_sole_reader(const IfmBack *back, const char *tensor);

/* --- what is known of the forward model's tensors: gradient-shapes.c ---------------------------------------------- */

/* ifm_back_facts_new: @bindings: [n_bindings] sizes for dimensions that the model does not leave free, whatever its inputs
 * do; borrowed    Returns: NULL with IFM_ERROR_INVALID where no sizes of the free dimensions fit each other. */
IfmBackFacts *ifm_back_facts_new(IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings, GError **error);
void ifm_back_facts_free(IfmBackFacts *facts);
/* ifm_back_facts_bound: Returns: (transfer full) "batch=1": those that are needed; NULL for none. */
char *ifm_back_facts_bound(const IfmBackFacts *facts);
/* ifm_back_facts_shape: FALSE where it is not known. */
gboolean ifm_back_facts_shape(const IfmBackFacts *facts, const char *tensor, IfmBackShape *shape);

/* ifm_back_shape: Fails where it is not known. Returns: a scalar's then */
IfmBackShape ifm_back_shape(IfmBack *back, const char *tensor);
/* ifm_back_same_size: whether two forward tensors are equally long there, whatever the free dimensions are. */
gboolean ifm_back_same_size(const IfmBack *back, const char *a, const char *b, int axis);
IfmDtype ifm_back_dtype(IfmBack *back, const char *tensor);
/* ifm_back_known_ints: the values of a small integer tensor that are the same whatever the free dimensions are.
 * @values: (out) [IFM_ANALYSIS_MAX_INTS]    FALSE: not known */
gboolean ifm_back_known_ints(const IfmBack *back, const char *tensor, gint64 *values, gsize *n);
/* ifm_back_axes: what an operator of many versions calls axes: attribute @name, or input @input where there is one, made
 * 0 or more, ascending. Fails where they are not known. @axes: (out) [IFM_MAX_RANK]    @given: (out) */
gboolean ifm_back_axes(IfmBack *back, const char *name, gsize input, int rank, int *axes, int *n, gboolean *given);
/* ifm_back_axis: attribute "axis", made 0 or more. */
int ifm_back_axis(IfmBack *back, gint64 fallback, int rank);
/* ifm_back_n_elements: Equals: product(dims from @first up to, without, @end); -1 where one is free. */
gint64 ifm_back_n_elements(const IfmBackShape *shape, int first, int end);

/* ifm_back_n_sized: how many dimensions are @size long; -1: free. */
int ifm_back_n_sized(const IfmBackShape *shape, gint64 size);

/* --- emitting: gradient-emit.c ------------------------------------------------------------------------------------ */

/* ifm_back_op_to: Emits a node of one output, named @output (NULL: a new name); its inputs end with NULL. Attributes go to
 * the last node emitted. */
const char *ifm_back_op_to(IfmBack *back, const char *output, const char *op_type, ...) G_GNUC_NULL_TERMINATED;
#define ifm_back_op(back, ...) ifm_back_op_to((back), NULL, __VA_ARGS__)
const char *ifm_back_op_list(IfmBack *back, const char *output, const char *op_type, const GPtrArray *inputs);
/* ifm_back_more: Output @index of the last node emitted; 1 first. */
const char *ifm_back_more(IfmBack *back, gsize index);
void ifm_back_int(IfmBack *back, const char *attribute, gint64 value);
void ifm_back_ints(IfmBack *back, const char *attribute, const gint64 *values, gsize n);
void ifm_back_float(IfmBack *back, const char *attribute, double value);

/* ifm_back_reversed: backwards along an axis. */
const char *ifm_back_reversed(IfmBack *back, const char *tensor, gint64 axis);

/* Constants, each once. */
const char *ifm_back_scalar(IfmBack *back, IfmDtype dtype, double value);
const char *ifm_back_values(IfmBack *back, IfmDtype dtype, int rank, const gint64 *shape, const double *values);
const char *ifm_back_list(IfmBack *back, const gint64 *values, gsize n); /* i64 [n] */
const char *ifm_back_number(IfmBack *back, gint64 value);                /* i64 [1] */
/* ifm_back_own_copy: Of a weight that the model carries: another with the same numbers; of
 * what is computed of such weights alone: another that is computed; of what else there is: itself. */
const char *ifm_back_own_copy(IfmBack *back, const char *tensor);

/* ifm_back_shape_of: i64 [rank], of a forward tensor: a constant where all is fixed. */
const char *ifm_back_shape_of(IfmBack *back, const char *tensor);
/* ifm_back_size_of: i64 [1], dimension @axis of a forward tensor. */
const char *ifm_back_size_of(IfmBack *back, const char *tensor, int axis);
/* ifm_back_reshape: to the shape of a forward tensor; ifm_back_reshape_dims: to @dims, of which one may be -1. */
const char *ifm_back_reshape(IfmBack *back, const char *value, const char *tensor);
const char *ifm_back_reshape_dims(IfmBack *back, const char *value, const gint64 *dims, int rank);
/* ifm_back_expand: broadcasts to the shape of a forward tensor. */
const char *ifm_back_expand(IfmBack *back, const char *value, const char *tensor);
const char *ifm_back_zeros(IfmBack *back, const char *tensor);
const char *ifm_back_cast(IfmBack *back, const char *value, IfmDtype to);
const char *ifm_back_transpose(IfmBack *back, const char *value, const int *order, int rank);
/* ifm_back_wide: f32 for half precision, whose sums overflow or lose most digits; else @dtype. */
IfmDtype ifm_back_wide(IfmDtype dtype);
/* ifm_back_as: @value, which is of type @from, as @to: a Cast, where they differ. */
const char *ifm_back_as(IfmBack *back, const char *value, IfmDtype from, IfmDtype to);
/* ifm_back_sum: over axes; none: as it is. */
const char *ifm_back_sum(IfmBack *back, const char *value, const int *axes, int n, gboolean keep);
/* ifm_back_sum_to: sums a tensor shaped as @from to the shape of @to, which was broadcast to it. */
const char *ifm_back_sum_to(IfmBack *back, const char *value, const char *from, const char *to);
/* ifm_back_count: a scalar of type @dtype: Equals: product(dims[axes]) of a forward tensor. Half precision has none above
 * 65504: ifm_back_wide(). */
const char *ifm_back_count(IfmBack *back, IfmDtype dtype, const char *tensor, const int *axes, int n);
/* ifm_back_share: Equals: value / product(dims[axes]) of a forward tensor, of whose type @value is */
const char *ifm_back_share(IfmBack *back, const char *value, const char *tensor, const int *axes, int n);

/*
 * ifm_back_formula: Emits arithmetic as a formula says it: "g * (1 - y * y)", "Where(x > 0, g, g * slope)". Numbers are
 * constants of the tensors' type, NAME(...) is an operator of ONNX, a comparison gives 1 or 0, and attribute(alpha, 0.01)
 * is one of the node in hand, with its default. x and b are the node's first inputs, y its output, g the gradient of that;
 * others are given as pairs of name and tensor, which end with NULL.
 * @dtype: of _in: the type of numbers    Returns: the tensor
 */
const char *ifm_back_formula_in(IfmBack *back, IfmDtype dtype, const char *text, ...) G_GNUC_NULL_TERMINATED;
#define ifm_back_formula(back, ...) ifm_back_formula_in((back), IFM_DTYPE_UNDEFINED, __VA_ARGS__)

/* --- the tables: gradient-rules.c --------------------------------------------------------------------------------- */

/*
 * IfmGradientRule: one row an operator; a table ends with a NULL name. How to add one: docs/add-a-gradient.md.
 * @rule: gives the gradients of its inputs
 * @forward: emits what stands for the node in the forward pass: more outputs for the rule's use, or other operators where
 *           engines lack this one; for nodes without a gradient, too. FALSE: the node is copied as it is.
 * @formula: instead of a rule: the gradient of the first input. Neither: gradients are zero everywhere (comparisons,
 *           roundings, shapes)
 */
typedef struct
{
    const char *op_type;
    void (*rule)(IfmBack *back);
    gboolean (*forward)(IfmBack *back);
    const char *formula;
} IfmGradientRule;
extern const IfmGradientRule ifm_gradients_convolution[], ifm_gradients_elementwise[], ifm_gradients_indexing[],
    ifm_gradients_movement[], ifm_gradients_normalisation[], ifm_gradients_pad[], ifm_gradients_pooling[],
    ifm_gradients_products[], ifm_gradients_recurrent[], ifm_gradients_reduction[], ifm_gradients_resize[];
/* ifm_gradient_rule_find: Returns: NULL where there is none. */
const IfmGradientRule *ifm_gradient_rule_find(const IfmNode *node);

static inline const char *ifm_back_add(IfmBack *back, const char *a, const char *b)
{
    return ifm_back_op(back, "Add", a, b, NULL);
}
static inline const char *ifm_back_sub(IfmBack *back, const char *a, const char *b)
{
    return ifm_back_op(back, "Sub", a, b, NULL);
}
static inline const char *ifm_back_mul(IfmBack *back, const char *a, const char *b)
{
    return ifm_back_op(back, "Mul", a, b, NULL);
}
static inline const char *ifm_back_div(IfmBack *back, const char *a, const char *b)
{
    return ifm_back_op(back, "Div", a, b, NULL);
}

/* --- backward.c, loss.c, optimiser.c
 * ------------------------------------------------------------------------------------------------ */

/* ifm_back_loss: Emits "loss" and the gradient of the output that it is of. */
void ifm_back_loss(IfmBack *back, IfmLoss loss, const IfmPort *output);
/* ifm_optimiser_states: Returns: NULL-terminated kinds of state that a parameter has ("m", "v"). */
const char *const *ifm_optimiser_states(IfmOptimiser optimiser);
/* ifm_back_count_step: Emits "next.state.step" where the optimiser counts steps. */
void ifm_back_count_step(IfmBack *back, const IfmTrainingOptions *options);
/* ifm_back_update: Emits "next.NAME" of a parameter and "next.state.KIND.NAME" of its states. */
void ifm_back_update(IfmBack *back, const IfmTrainingOptions *options, const char *parameter, const char *gradient);

G_END_DECLS
