#pragma once
#include "onnx-private.h"

G_BEGIN_DECLS

/* The values of tensors up to this size are followed, since shapes are computed from them. */
#define IFM_FACT_MAX_VALUES 32

typedef enum
{
    IFM_VALUES_UNKNOWN, /* so that a zeroed fact has no values */
    IFM_VALUES_INTS,    /* of an integer or bool tensor */
    IFM_VALUES_REALS,   /* of a floating-point tensor */
} IfmValueKind;

/*
 * IfmTensorInfo: the known facts of one tensor.
 * @rank: -1 where the shape is unknown; no shape is known in part
 * @n_values: the number of @ints or @reals, where @values says that they are known
 */
typedef struct IfmTensorInfo
{
    IfmDtype dtype;
    int rank;
    gint64 dims[IFM_MAX_RANK];
    IfmValueKind values;
    int n_values;
    union
    {
        gint64 ints[IFM_FACT_MAX_VALUES];
        double reals[IFM_FACT_MAX_VALUES];
    };
} IfmTensorInfo;

#define IFM_FACT_UNKNOWN ((IfmTensorInfo){ .rank = -1 })

/* IfmBody: the costs of the subgraphs of a node (If, Loop, Scan, a function of the model). */
typedef struct
{
    gboolean known; /* all of @cost is */
    gboolean multiplies;
    IfmNodeCost cost;
    const char *why; /* not known; static, or interned */
} IfmBody;

/* IfmRounding: what an operator's outputs are made of. Other operators move, choose or compare: NEVER, or approximate a
 * function or round many times: OFTEN. */
typedef enum
{
    IFM_ROUNDS_AS_FAMILY,
    IFM_ROUNDS_ONCE,
    IFM_ROUNDS_NEVER,
    IFM_ROUNDS_OFTEN,
} IfmRounding;

typedef struct IfmOperator IfmOperator;
typedef struct IfmScope IfmScope; /* model-analysis.c: the names that a node's bodies may read */

/*
 * IfmOperatorCall: one node with the facts of its tensors.
 * @inputs: [node->n_inputs] IFM_FACT_UNKNOWN also for an input that is left out    @outputs: [node->n_outputs] unknown at
 * first
 * @why: (out) static text: why a rule left an output unknown, if not because of its inputs
 */
typedef struct
{
    const IfmNode *node;
    const IfmOperator *row;
    gint64 opset;
    const IfmTensorInfo *inputs;
    IfmTensorInfo *outputs;
    IfmScope *scope;
    IfmBody *body;
    const char **why;
} IfmOperatorCall;

typedef gboolean IfmShapeRule(const IfmOperatorCall *call, GError **error);
typedef gboolean IfmCostRule(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost);
typedef void IfmValueRule(const IfmOperatorCall *call);

/*
 * IfmOperator: one row of the tables in operators.c and operators-fused.c. How to add one: docs/add-an-op.md.
 * @names: the operators that the row is of, parted by spaces; NULL ends a table
 * @n_inputs: the number of required inputs. Rules may rely on them and on one output.
 * @type: of the first output: 0 and above: that of the input of this number; below 0: the dtype -@type. A rule may set
 * another
 * @other_type: of the outputs behind it, if not 0: the same, or IFM_TYPE_SAME: as of the first
 * @n_ranks: of how many of the first inputs the shape rule needs the shapes    @ints: a bit for each input whose integers
 * it needs where the node has that input. The rule is not called before they are known.
 * @shape: Fills the shapes that it can infer; the others stay unknown. FALSE with IFM_ERROR_INVALID where the inputs or
 * the attributes contradict each other (the caller adds the place of the node). NULL: shapes cannot be inferred, for the
 * reason @why (NULL: there is no rule yet). Such a node is never covered.
 * @cost:  Fills macs and flop. It is called with known shapes of all inputs and outputs. FALSE on overflow.
 * @factor: for the cost rules that count per element
 * @values: Fills the values of the first output from known values of the inputs. It is called after @shape where that shape
 * is known and small. NULL: the values are not followed. A rule that differs between versions of the operator reads
 * call->opset, or better the node: an attribute that became an input is recognised by the presence of the input.
 */
struct IfmOperator
{
    const char *names;
    gsize n_inputs;
    IfmShapeRule *shape;
    IfmCostRule *cost;
    gint64 factor;
    IfmNodeFamily family;
    IfmValueRule *values;
    const char *why;
    IfmRounding rounding;
    gsize n_ranks;
    guint ints;
    int type, other_type;
};
#define IFM_RANKS_OF_ALL G_MAXSIZE
#define IFM_TYPE_SAME G_MAXINT

/* operators-fused.c: the operators of graphs that runtimes optimised */
extern const IfmOperator ifm_microsoft_operators[], ifm_nchwc_operators[];

/* ifm_operator_find: Returns: (transfer none) NULL where no table has a row of that name. */
const IfmOperator *ifm_operator_find(const IfmNode *node);
/* ifm_operator_rounding: of an operator of any domain. */
IfmRounding ifm_operator_rounding(const char *op_type);
/* ifm_operator_is_complete: Whether a node has what every rule of its operator may use: the required inputs and an output.
 */
gboolean ifm_operator_is_complete(const IfmOperator *row, const IfmNode *node);
/* ifm_operator_infer: Fills what is known of the outputs by the rule of the row, which has one. */
gboolean ifm_operator_infer(const IfmOperatorCall *call, GError **error);
/* ifm_family_multiplies: Whether operators of the family have MACs by their rule. */
gboolean ifm_family_multiplies(IfmNodeFamily family);

/* ifm_fact_n_elements: Equals: product(dims). FALSE above 2^56, the largest count in this room. */
gboolean ifm_fact_n_elements(const IfmTensorInfo *fact, gint64 *n);
/* ifm_fact_is_alike: Whether two shapes are the same, or both unknown. */
gboolean ifm_fact_is_alike(const IfmTensorInfo *a, const IfmTensorInfo *b);
/* ifm_fact_n_bytes: The bytes in ONNX's storage, with packed types packed. FALSE where the shape or element size is
 * unknown. */
gboolean ifm_fact_n_bytes(const IfmTensorInfo *fact, gint64 *n);
/* ifm_fact_from_tensor: The dtype and shape of a constant, and its values if they are few. */
IfmTensorInfo ifm_fact_from_tensor(const Onnx__TensorProto *tensor);
/* ifm_fact_take_values: The values of a tensor of the fact's dtype and shape, if they are few. */
void ifm_fact_take_values(IfmTensorInfo *fact, const IfmTensor *tensor);
/* ifm_fact_ints: Returns: (transfer none) the values if they are known integers, else NULL. */
static inline const gint64 *ifm_fact_ints(const IfmTensorInfo *fact)
{
    return fact->values == IFM_VALUES_INTS ? fact->ints : NULL;
}

/* ifm_fact_shape: Returns: (transfer full) the shape as messages write it. */
static inline char *ifm_fact_shape(const IfmTensorInfo *fact)
{
    return ifm_shape_to_string(fact->rank, fact->dims);
}

/* ifm_call_has: Whether the node has the input @index. It may have fewer, or leave it out. */
gboolean ifm_call_has(const IfmOperatorCall *call, gsize input);
/* ifm_call_input: Returns: (transfer none) the fact of an input; NULL where it is left out. */
const IfmTensorInfo *ifm_call_input(const IfmOperatorCall *call, gsize input);
/* ifm_call_shape: Sets the shape of an output. Does nothing where the node lacks that output. Returns: TRUE, so that a rule
 * can end with it.    ifm_call_make: and its type */
gboolean ifm_call_shape(const IfmOperatorCall *call, gsize output, int rank, const gint64 *dims);
gboolean ifm_call_make(const IfmOperatorCall *call, gsize output, IfmDtype dtype, int rank, const gint64 *dims);

/* A value of IfmOperatorCall.why. */
#define IFM_WHY_VALUES "its shape depends on values"

/* ifm_call_give: Gives an output the dtype and shape of a fact. Returns: as ifm_call_make. */
static inline gboolean ifm_call_give(const IfmOperatorCall *call, gsize output, const IfmTensorInfo *fact)
{
    return ifm_call_make(call, output, fact->dtype, fact->rank, fact->dims);
}

/* ifm_call_by_values: Ends a rule that cannot go on, as the shape depends on values that are not known. Returns: TRUE. */
static inline gboolean ifm_call_by_values(const IfmOperatorCall *call)
{
    *call->why = IFM_WHY_VALUES;
    return TRUE;
}

/* --- the analysis ------------------------------------------------------------------------------------------------- */

/* IfmNodeResult: the result of one node, except its outputs. @row: NULL where there is none    @why: it is not covered
 * @multiplies: also TRUE where it is unknown */
typedef struct
{
    const IfmOperator *row;
    IfmNodeCost cost;
    const char *why;
    gboolean multiplies;
} IfmNodeResult;

struct IfmAnalysis
{
    IfmModel *model;      /* a reference: names are its own */
    GHashTable *facts;    /* name -> IfmTensorInfo*, of the top-level graph */
    GHashTable *inner;    /* Onnx__GraphProto* of a subgraph -> its facts, as analysed last */
    IfmNodeResult *nodes; /* [n_nodes] */
    gsize n_nodes, n_observed, n_contradicted;
    char *contradiction; /* the first of those; NULL: none */
};

/* ifm_scope_run: Analyses a subgraph. @inputs: [n_inputs] facts of its inputs    @outputs: (out) [n_outputs of the graph]
 * @body: (out) the sum over its nodes. Returns: FALSE where its shapes contradict each other. */
gboolean ifm_scope_run(IfmScope *outer, const Onnx__GraphProto *graph, const IfmTensorInfo *inputs, gsize n_inputs,
                       IfmTensorInfo *outputs, IfmBody *body, GError **error);

/* ifm_scope_model: The model of the graph in work; NULL for a subgraph. */
const IfmModel *ifm_scope_model(const IfmScope *scope);
/* ifm_scope_fact: (transfer none) The fact of a tensor so far; NULL where it is unknown. */
const IfmTensorInfo *ifm_scope_fact(const IfmScope *scope, const char *name);

/* --- rules: shapes, costs and values of a family of operators are in one file -------------------------------------- */

/* rules-elementwise.c: and quantisation. @factor of costs: FLOP per element: of the first output, in addition to what is
 * counted so far; of the first input; per input except one (Sum). ifm_shape_binary: since version 7 as ifm_shape_broadcast
 */
IfmShapeRule ifm_shape_same, ifm_shape_broadcast, ifm_shape_binary, ifm_shape_cast, ifm_shape_like, ifm_shape_dropout,
    ifm_shape_half, ifm_shape_quantize, ifm_shape_dynamic_quantize;
IfmCostRule ifm_cost_per_output, ifm_cost_per_input, ifm_cost_variadic, ifm_cost_none, ifm_cost_by_values, ifm_cost_dropout,
    ifm_cost_biased;
IfmValueRule ifm_values_binary, ifm_values_unary, ifm_values_cast, ifm_values_where, ifm_values_reduce;
/* rules-normalisation.c */
IfmShapeRule ifm_shape_batch_normalization, ifm_shape_layer_normalization, ifm_shape_skip_normalization,
    ifm_shape_embed_normalization;
IfmCostRule ifm_cost_batch_normalization, ifm_cost_skip_normalization, ifm_cost_embed_normalization, ifm_cost_lrn;
/* rules-reduction.c: and losses */
IfmShapeRule ifm_shape_reduce, ifm_shape_arg, ifm_shape_top_k, ifm_shape_loss;
/* rules-products.c, -einsum.c, -attention.c: products of matrices, recurrent layers */
IfmShapeRule ifm_shape_matmul, ifm_shape_matmul_n_bits, ifm_shape_gemm, ifm_shape_q_gemm, ifm_shape_det,
    ifm_shape_affine_grid, ifm_shape_recurrent, ifm_shape_einsum, ifm_shape_attention;
IfmCostRule ifm_cost_matmul, ifm_cost_gemm, ifm_cost_q_gemm, ifm_cost_det, ifm_cost_affine_grid, ifm_cost_recurrent,
    ifm_cost_einsum, ifm_cost_attention;
/* rules-windows.c: operators with a sliding window, and channels in blocks */
IfmShapeRule ifm_shape_conv, ifm_shape_conv_transpose, ifm_shape_pool, ifm_shape_global_pool, ifm_shape_reorder_input,
    ifm_shape_reorder_output;
IfmCostRule ifm_cost_conv, ifm_cost_fused_conv, ifm_cost_deform_conv, ifm_cost_conv_transpose, ifm_cost_pool;
/* rules-space.c: operators that resample space */
IfmShapeRule ifm_shape_max_unpool, ifm_shape_resize, ifm_shape_grid_sample, ifm_shape_roi, ifm_shape_col2im;
IfmCostRule ifm_cost_resize, ifm_cost_grid_sample, ifm_cost_roi;
/* rules-movement.c: operators that move data. ifm_values_same: of the first input, independent of the new shape */
IfmShapeRule ifm_shape_flatten, ifm_shape_reshape, ifm_shape_transpose, ifm_shape_concat, ifm_shape_squeeze,
    ifm_shape_unsqueeze, ifm_shape_expand, ifm_shape_slice, ifm_shape_split, ifm_shape_pad, ifm_shape_tile,
    ifm_shape_space_blocks, ifm_shape_center_crop_pad;
IfmValueRule ifm_values_same, ifm_values_concat, ifm_values_slice, ifm_values_transpose, ifm_values_expand;
/* rules-making.c: operators that make or describe data */
IfmShapeRule ifm_shape_constant, ifm_shape_constant_of_shape, ifm_shape_shape, ifm_shape_size, ifm_shape_range,
    ifm_shape_random, ifm_shape_multinomial, ifm_shape_one_hot, ifm_shape_window, ifm_shape_non_zero, ifm_shape_compress,
    ifm_shape_by_values;
IfmValueRule ifm_values_range;
/* rules-indices.c: operators that read or write by index */
IfmShapeRule ifm_shape_gather, ifm_shape_gather_elements, ifm_shape_gather_nd, ifm_shape_scatter_elements,
    ifm_shape_scatter_nd;
IfmCostRule ifm_cost_scatter;
IfmValueRule ifm_values_gather;
/* rules-control.c */
IfmShapeRule ifm_shape_if, ifm_shape_loop, ifm_shape_scan;
IfmCostRule ifm_cost_body;

/* --- helpers of cost rules ---------------------------------------------------------------------------------------- */

/* ifm_count_times, _add: FALSE on overflow.    ifm_count_times_all: *total *= product(factors) */
static inline gboolean ifm_count_times(gint64 *total, gint64 factor)
{
    return !__builtin_mul_overflow(*total, factor, total);
}

static inline gboolean ifm_count_add(gint64 *total, gint64 more)
{
    return !__builtin_add_overflow(*total, more, total);
}

static inline gboolean ifm_count_times_all(gint64 *total, const gint64 *factors, gsize n)
{
    gboolean fits = TRUE;
    for (gsize i = 0; i < n; i++)
        fits = fits && ifm_count_times(total, factors[i]);
    return fits;
}

/* ifm_cost_count: one of the counts of a cost: macs, flop, bytes_read, bytes_written */
#define IFM_N_COUNTS 4
static inline gint64 *ifm_cost_count(IfmNodeCost *cost, int index)
{
    return ((gint64 *const[IFM_N_COUNTS]){ &cost->macs, &cost->flop, &cost->bytes_read, &cost->bytes_written })[index];
}

/* ifm_cost_multiply_add: flop = 2 macs. */
gboolean ifm_cost_multiply_add(IfmNodeCost *cost);

/* ifm_call_has_activation: Whether the node has one fused in. */
static inline gboolean ifm_call_has_activation(const IfmOperatorCall *call)
{
    return *ifm_node_string(call->node, "activation", "") != '\0';
}

/* --- helpers of value rules --------------------------------------------------------------------------------------- */

/* ifm_values_known: Whether the values of the first @n inputs are.    ifm_values_count: elements; 0: not known
 * ifm_values_copy: Value @to of the first output.    ifm_values_done: All of its values are there.
 * ifm_values_broadcast: the element of @fact that meets element @index of @out */
gboolean ifm_values_known(const IfmOperatorCall *call, gsize n);
gint64 ifm_values_count(const IfmTensorInfo *fact);
void ifm_values_copy(const IfmOperatorCall *call, int to, const IfmTensorInfo *from, int index);
void ifm_values_done(const IfmOperatorCall *call, IfmValueKind kind);
int ifm_values_broadcast(const IfmTensorInfo *fact, const IfmTensorInfo *out, gint64 index);

/* --- helpers of rules --------------------------------------------------------------------------------------------- */

/* ifm_rule_axis: Makes an axis from -@max to @max - 1 nonnegative. @max: the rank, or rank + 1 where one past the end is
 * allowed. FALSE with an error outside that range. */
gboolean ifm_rule_axis(gint64 axis, int rank, int max, int *normal, GError **error);
/* ifm_rule_own_axis: The attribute "axis", of the first input. */
gboolean ifm_rule_own_axis(const IfmOperatorCall *call, gint64 fallback, int *normal, GError **error);
/* ifm_rule_mark_axes: @marked: (out) [IFM_MAX_RANK] whether each axis is named */
gboolean ifm_rule_mark_axes(const gint64 *axes, int n, int rank, gboolean *marked, GError **error);
/* ifm_rule_place_axes: @places: (out) [n] the axes, each 0 or more, none twice. @axes: NULL: the first @n */
gboolean ifm_rule_place_axes(const gint64 *axes, int n, int rank, int *places, GError **error);
/* ifm_rule_check_rank: FALSE with an error where an output has more than IFM_MAX_RANK. */
gboolean ifm_rule_check_rank(int rank, GError **error);
/* ifm_rule_dtype: The type that an attribute names; @fallback where there is none. */
IfmDtype ifm_rule_dtype(const IfmOperatorCall *call, const char *attribute, IfmDtype fallback);
/* ifm_rule_broadcast: Broadcasts @into with @fact by NumPy's rule. FALSE with an error that names both shapes. */
gboolean ifm_rule_broadcast(IfmTensorInfo *into, const IfmTensorInfo *fact, GError **error);
/* ifm_rule_dims: A shape from the values of an input. @dims: (out) [IFM_MAX_RANK]. FALSE for more or negative values. */
gboolean ifm_rule_dims(const IfmOperatorCall *call, gsize input, gint64 *dims, GError **error);
/* ifm_rule_ints: Returns: (transfer none) [@n] the values of an input if the node has it, else of the attribute; NULL for
 * none or unknown values. @n: (out) */
const gint64 *ifm_rule_ints(const IfmOperatorCall *call, gsize input, const char *attribute, int *n);
/* ifm_rule_rank: FALSE where the rank of the input is known and outside @min to @max. */
gboolean ifm_rule_rank(const IfmOperatorCall *call, gsize input, int min, int max, GError **error);

/* ifm_onnx_check_totals: Whether the sums of the costs of all nodes fit 63 bits. */
gboolean ifm_onnx_check_totals(const IfmAnalysis *analysis, GError **error);

G_END_DECLS
