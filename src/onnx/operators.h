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
 * @n_ranks: of how many of the first inputs the shape rule needs the shapes. It is not called before they are known; the
 * first output has the dtype of the first input then. 0: the rule looks itself.
 * @shape: Fills the outputs that it can infer; the others stay unknown. FALSE with IFM_ERROR_INVALID where the inputs or
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
};
#define IFM_RANKS_OF_ALL G_MAXSIZE

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
/* ifm_call_make: Sets the shape of an output. Does nothing where the node lacks that output. Returns: TRUE, so that a rule
 * can end with it. */
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

struct IfmAnalysis
{
    IfmModel *model;   /* a reference: names are its own */
    GHashTable *facts; /* name -> IfmTensorInfo*, of the top-level graph */
    GHashTable *inner; /* Onnx__GraphProto* of a subgraph -> its facts, as analysed last */
    IfmNodeCost *costs;
    const IfmOperator **operators; /* [n_costs] NULL where there are none */
    const char **why;              /* [n_costs] why a node is not covered; NULL for a covered one */
    gboolean *multiplies;          /* [n_costs] also TRUE where it is unknown */
    gsize n_costs, n_observed, n_contradicted;
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

/* --- shape rules -------------------------------------------------------------------------------------------------- */

/* shape-rules.c: element-wise operators, normalisations, quantisation and reductions */
IfmShapeRule ifm_shape_same, ifm_shape_same_bool, ifm_shape_broadcast, ifm_shape_compare, ifm_shape_where, ifm_shape_cast,
    ifm_shape_cast_like, ifm_shape_like, ifm_shape_dropout, ifm_shape_batch_normalization, ifm_shape_layer_normalization,
    ifm_shape_reduce, ifm_shape_arg, ifm_shape_top_k, ifm_shape_det, ifm_shape_loss, ifm_shape_quantize,
    ifm_shape_dynamic_quantize;
/* shape-rules-movement.c: operators that move or describe data */
IfmShapeRule ifm_shape_flatten, ifm_shape_reshape, ifm_shape_transpose, ifm_shape_concat, ifm_shape_squeeze,
    ifm_shape_unsqueeze, ifm_shape_expand, ifm_shape_slice, ifm_shape_split, ifm_shape_pad, ifm_shape_tile,
    ifm_shape_space_blocks, ifm_shape_center_crop_pad;
/* shape-rules-making.c: operators that make data */
IfmShapeRule ifm_shape_constant, ifm_shape_constant_of_shape, ifm_shape_shape, ifm_shape_size, ifm_shape_range,
    ifm_shape_random, ifm_shape_multinomial, ifm_shape_one_hot, ifm_shape_window, ifm_shape_affine_grid, ifm_shape_non_zero,
    ifm_shape_compress, ifm_shape_by_values;
/* shape-rules-indices.c: operators that read or write by index */
IfmShapeRule ifm_shape_gather, ifm_shape_gather_elements, ifm_shape_gather_nd, ifm_shape_scatter_elements,
    ifm_shape_scatter_nd;
/* shape-rules-products.c: products of matrices */
IfmShapeRule ifm_shape_matmul, ifm_shape_matmul_integer, ifm_shape_qlinear_matmul, ifm_shape_gemm, ifm_shape_einsum,
    ifm_shape_recurrent;
/* shape-rules-windows.c: operators with a sliding window */
IfmShapeRule ifm_shape_conv, ifm_shape_conv_integer, ifm_shape_qlinear_conv, ifm_shape_conv_transpose, ifm_shape_pool,
    ifm_shape_global_pool;
/* shape-rules-space.c: operators that resample space */
IfmShapeRule ifm_shape_max_unpool, ifm_shape_resize, ifm_shape_grid_sample, ifm_shape_roi, ifm_shape_col2im;
/* shape-rules-control.c */
IfmShapeRule ifm_shape_if, ifm_shape_loop, ifm_shape_scan;

/* attention-rules.c */
IfmShapeRule ifm_shape_attention;
/* shape-rules-fused.c: operators that runtimes fuse */
IfmShapeRule ifm_shape_fused_matmul, ifm_shape_matmul_to_float, ifm_shape_matmul_n_bits, ifm_shape_q_gemm,
    ifm_shape_nhwc_conv, ifm_shape_fused_qlinear_conv, ifm_shape_nchwc_conv, ifm_shape_reorder_input,
    ifm_shape_reorder_output, ifm_shape_qlinear_pool, ifm_shape_qlinear_binary, ifm_shape_qlinear_concat, ifm_shape_half,
    ifm_shape_skip_normalization, ifm_shape_embed_normalization;

/* --- cost rules --------------------------------------------------------------------------------------------------- */

/* @factor FLOP per element: of the first output; of the first input; per input except one (Sum). */
IfmCostRule ifm_cost_per_output, ifm_cost_per_input, ifm_cost_variadic, ifm_cost_none, ifm_cost_batch_normalization,
    ifm_cost_dropout, ifm_cost_matmul, ifm_cost_qlinear_matmul, ifm_cost_gemm, ifm_cost_einsum, ifm_cost_recurrent,
    ifm_cost_conv, ifm_cost_qlinear_conv, ifm_cost_conv_transpose, ifm_cost_pool, ifm_cost_resize, ifm_cost_grid_sample,
    ifm_cost_roi, ifm_cost_deform_conv, ifm_cost_det, ifm_cost_affine_grid, ifm_cost_by_values, ifm_cost_attention,
    ifm_cost_fused_matmul, ifm_cost_fused_gemm, ifm_cost_matmul_and, ifm_cost_q_gemm, ifm_cost_fused_conv, ifm_cost_biased,
    ifm_cost_skip_normalization, ifm_cost_embed_normalization, ifm_cost_scatter, ifm_cost_lrn, ifm_cost_body;

/* --- value rules -------------------------------------------------------------------------------------------------- */

/* same: of the first input, independent of the new shape */
IfmValueRule ifm_values_same, ifm_values_binary, ifm_values_unary, ifm_values_cast, ifm_values_where, ifm_values_gather,
    ifm_values_concat, ifm_values_slice, ifm_values_transpose, ifm_values_expand, ifm_values_reduce, ifm_values_range;

/* --- helpers of rules --------------------------------------------------------------------------------------------- */

/* ifm_rule_axis: Makes an axis from -@max to @max - 1 nonnegative. @max: the rank, or rank + 1 where one past the end is
 * allowed. FALSE with an error outside that range. */
gboolean ifm_rule_axis(gint64 axis, int rank, int max, int *normal, GError **error);
/* ifm_rule_axes: The axes of an operator: from input @input in newer versions, from the attribute in older ones.
 * @axes: (out) [IFM_FACT_MAX_VALUES]. Returns: their number; -1 where they are given but unknown. */
int ifm_rule_axes(const IfmOperatorCall *call, gsize input, gint64 *axes);
/* ifm_rule_mark_axes: @marked: (out) [IFM_MAX_RANK] whether each axis is named */
gboolean ifm_rule_mark_axes(const gint64 *axes, int n, int rank, gboolean *marked, GError **error);
/* ifm_rule_broadcast: Broadcasts @into with @fact by NumPy's rule. FALSE with an error that names both shapes. */
gboolean ifm_rule_broadcast(IfmTensorInfo *into, const IfmTensorInfo *fact, GError **error);
/* ifm_rule_dims: A shape from the values of an input. @dims: (out) [IFM_MAX_RANK]. FALSE for more or negative values. */
gboolean ifm_rule_dims(const IfmOperatorCall *call, gsize input, gint64 *dims, GError **error);
/* ifm_rule_ints: Returns: (transfer none) [@n] the values of an input if the node has it, else of the attribute; NULL for
 * none or unknown values. @n: (out) */
const gint64 *ifm_rule_ints(const IfmOperatorCall *call, gsize input, const char *attribute, int *n);
/* ifm_rule_rank: FALSE where the rank of the input is known and outside @min to @max. */
gboolean ifm_rule_rank(const IfmOperatorCall *call, gsize input, int min, int max, GError **error);

/* ifm_rule_matmul: The first output as the product of @a and @b, which are inputs @at[0] and @at[1]. */
gboolean ifm_rule_matmul(const IfmOperatorCall *call, const gsize *at, const IfmTensorInfo *a, const IfmTensorInfo *b,
                         IfmDtype dtype, GError **error);
/* IfmConvAt: the inputs with weights and bias of a convolution, and the type of its output. */
typedef struct
{
    gsize weights, bias;
    IfmDtype dtype;
    gboolean is_blocked; /* channels may be padded to whole blocks */
} IfmConvAt;
gboolean ifm_rule_conv(const IfmOperatorCall *call, const IfmConvAt *at, const IfmTensorInfo *x, GError **error);

/* ifm_onnx_check_totals: Whether the sums of the costs of all nodes fit 63 bits. */
gboolean ifm_onnx_check_totals(const IfmAnalysis *analysis, GError **error);

G_END_DECLS
