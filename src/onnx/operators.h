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
 * IfmFact: the known facts of one tensor.
 * @rank: -1 where the shape is unknown; no shape is known in part
 * @n_values: the number of @ints or @reals, where @values says that they are known
 */
typedef struct IfmFact
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
} IfmFact;

#define IFM_FACT_UNKNOWN ((IfmFact){ .rank = -1 })

/* IfmBody: the costs of the subgraphs of a node (If, Loop, Scan, a function of the model). */
typedef struct
{
    gboolean known; /* all of @cost is */
    gboolean multiplies;
    IfmNodeCost cost;
    const char *why; /* not known; static, or interned */
} IfmBody;

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
    const IfmFact *inputs;
    IfmFact *outputs;
    IfmScope *scope;
    IfmBody *body;
    const char **why;
} IfmOperatorCall;

/*
 * IfmOperator: one row of the tables in operators.c and operators-fused.c. How to add one: docs/add-an-op.md.
 * @n_inputs: the number of required inputs. Rules may rely on them and on one output.
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
    const char *op_type;
    gsize n_inputs;
    gboolean (*shape)(const IfmOperatorCall *call, GError **error);
    gboolean (*cost)(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost);
    gint64 factor;
    IfmNodeFamily family;
    void (*values)(const IfmOperatorCall *call);
    const char *why;
};

/* IfmOperatorTable: the rows of one domain, sorted by name. */
typedef struct
{
    const char *domain;
    const IfmOperator *rows;
    gsize n_rows;
} IfmOperatorTable;
/* operators-fused.c: the operators of graphs that runtimes optimised. Ends with a table without a domain. */
extern const IfmOperatorTable ifm_fused_operators[];

/* ifm_operator_find: Returns: (transfer none) NULL where no table has a row of that name. */
const IfmOperator *ifm_operator_find(const IfmNode *node);
/* ifm_family_multiplies: Whether operators of the family have MACs by their rule. */
gboolean ifm_family_multiplies(IfmNodeFamily family);

/* ifm_fact_n_elements: Equals: product(dims). FALSE above 2^56, the largest count in this room. */
gboolean ifm_fact_n_elements(const IfmFact *fact, gint64 *n);
/* ifm_fact_n_bytes: The bytes in ONNX's storage, with packed types packed. FALSE where the shape or element size is
 * unknown. */
gboolean ifm_fact_n_bytes(const IfmFact *fact, gint64 *n);
/* ifm_fact_from_tensor: The dtype and shape of a constant, and its values if they are few. */
IfmFact ifm_fact_from_tensor(const Onnx__TensorProto *tensor);
/* ifm_fact_take_values: The values of a tensor of the fact's dtype and shape, if they are few. */
void ifm_fact_take_values(IfmFact *fact, const IfmTensor *tensor);
/* ifm_fact_ints: Returns: (transfer none) the values if they are known integers, else NULL. */
static inline const gint64 *ifm_fact_ints(const IfmFact *fact)
{
    return fact->values == IFM_VALUES_INTS ? fact->ints : NULL;
}

/* ifm_call_has: Whether the node has the input @index. It may have fewer, or leave it out. */
gboolean ifm_call_has(const IfmOperatorCall *call, gsize input);
/* ifm_call_input: Returns: (transfer none) the fact of an input; NULL where it is left out. */
const IfmFact *ifm_call_input(const IfmOperatorCall *call, gsize input);
/* ifm_call_make: Sets the shape of an output. Does nothing where the node lacks that output. Returns: TRUE, so that a rule
 * can end with it. */
gboolean ifm_call_make(const IfmOperatorCall *call, gsize output, IfmDtype dtype, int rank, const gint64 *dims);

/* A value of IfmOperatorCall.why. */
#define IFM_WHY_VALUES "its shape depends on values"

/* ifm_call_is_unknown: Begins a rule whose output has the dtype of the first input. @known: whether the values are known
 * that the shape depends on. Returns: TRUE where they or the first input's rank are unknown: the shape then stays unknown.
 */
static inline gboolean ifm_call_is_unknown(const IfmOperatorCall *call, gboolean known)
{
    call->outputs[0].dtype = call->inputs[0].dtype;
    if (call->inputs[0].rank < 0)
        return TRUE;
    if (!known)
        *call->why = IFM_WHY_VALUES;
    return !known;
}

/* --- the analysis ------------------------------------------------------------------------------------------------- */

struct IfmAnalysis
{
    IfmModel *model;   /* a reference: names are its own */
    GHashTable *facts; /* name -> IfmFact*, of the top-level graph */
    GHashTable *inner; /* Onnx__GraphProto* of a subgraph -> its facts, as analysed last */
    IfmNodeCost *costs;
    const IfmOperator **operators; /* [n_costs] NULL where there are none */
    const char **why;              /* [n_costs] why a node is not covered; NULL for a covered one */
    gboolean *multiplies;          /* [n_costs] also TRUE where it is unknown */
    gsize n_costs, n_observed, n_contradicted;
    char *contradiction; /* the first of those; NULL: none */
};

/* ifm_analysis_model: Returns: (transfer none) the analysed model. The analysis holds a reference. */
const IfmModel *ifm_analysis_model(const IfmAnalysis *analysis);

/* ifm_scope_run: Analyses a subgraph. @inputs: [n_inputs] facts of its inputs    @outputs: (out) [n_outputs of the graph]
 * @body: (out) the sum over its nodes. Returns: FALSE where its shapes contradict each other. */
gboolean ifm_scope_run(IfmScope *outer, const Onnx__GraphProto *graph, const IfmFact *inputs, gsize n_inputs,
                       IfmFact *outputs, IfmBody *body, GError **error);

/* ifm_scope_model: The model of the graph in work; NULL for a subgraph. */
const IfmModel *ifm_scope_model(const IfmScope *scope);
/* ifm_scope_fact: (transfer none) The fact of a tensor so far; NULL where it is unknown. */
const IfmFact *ifm_scope_fact(const IfmScope *scope, const char *name);

/* --- shape rules -------------------------------------------------------------------------------------------------- */

#define IFM_SHAPE_RULE(name) gboolean ifm_shape_##name(const IfmOperatorCall *call, GError **error)
/* shape-rules.c: element-wise operators, normalisations, quantisation and reductions */
IFM_SHAPE_RULE(same);
IFM_SHAPE_RULE(same_bool);
IFM_SHAPE_RULE(broadcast);
IFM_SHAPE_RULE(compare);
IFM_SHAPE_RULE(where);
IFM_SHAPE_RULE(cast);
IFM_SHAPE_RULE(cast_like);
IFM_SHAPE_RULE(like);
IFM_SHAPE_RULE(dropout);
IFM_SHAPE_RULE(batch_normalization);
IFM_SHAPE_RULE(layer_normalization);
IFM_SHAPE_RULE(reduce);
IFM_SHAPE_RULE(arg);
IFM_SHAPE_RULE(top_k);
IFM_SHAPE_RULE(det);
IFM_SHAPE_RULE(loss);
IFM_SHAPE_RULE(quantize);
IFM_SHAPE_RULE(dynamic_quantize);
/* shape-rules-movement.c: operators that move or describe data */
IFM_SHAPE_RULE(flatten);
IFM_SHAPE_RULE(reshape);
IFM_SHAPE_RULE(transpose);
IFM_SHAPE_RULE(concat);
IFM_SHAPE_RULE(squeeze);
IFM_SHAPE_RULE(unsqueeze);
IFM_SHAPE_RULE(expand);
IFM_SHAPE_RULE(slice);
IFM_SHAPE_RULE(split);
IFM_SHAPE_RULE(pad);
IFM_SHAPE_RULE(tile);
IFM_SHAPE_RULE(space_blocks);
IFM_SHAPE_RULE(center_crop_pad);
/* shape-rules-making.c: operators that make data */
IFM_SHAPE_RULE(constant);
IFM_SHAPE_RULE(constant_of_shape);
IFM_SHAPE_RULE(shape);
IFM_SHAPE_RULE(size);
IFM_SHAPE_RULE(range);
IFM_SHAPE_RULE(random);
IFM_SHAPE_RULE(multinomial);
IFM_SHAPE_RULE(one_hot);
IFM_SHAPE_RULE(window);
IFM_SHAPE_RULE(affine_grid);
IFM_SHAPE_RULE(non_zero);
IFM_SHAPE_RULE(compress);
IFM_SHAPE_RULE(by_values);
/* shape-rules-indices.c: operators that read or write by index */
IFM_SHAPE_RULE(gather);
IFM_SHAPE_RULE(gather_elements);
IFM_SHAPE_RULE(gather_nd);
IFM_SHAPE_RULE(scatter_elements);
IFM_SHAPE_RULE(scatter_nd);
/* shape-rules-products.c: products of matrices */
IFM_SHAPE_RULE(matmul);
IFM_SHAPE_RULE(matmul_integer);
IFM_SHAPE_RULE(qlinear_matmul);
IFM_SHAPE_RULE(gemm);
IFM_SHAPE_RULE(einsum);
IFM_SHAPE_RULE(recurrent);
/* shape-rules-windows.c: operators with a sliding window */
IFM_SHAPE_RULE(conv);
IFM_SHAPE_RULE(conv_integer);
IFM_SHAPE_RULE(qlinear_conv);
IFM_SHAPE_RULE(conv_transpose);
IFM_SHAPE_RULE(pool);
IFM_SHAPE_RULE(global_pool);
/* shape-rules-space.c: operators that resample space */
IFM_SHAPE_RULE(max_unpool);
IFM_SHAPE_RULE(resize);
IFM_SHAPE_RULE(grid_sample);
IFM_SHAPE_RULE(roi);
IFM_SHAPE_RULE(col2im);
/* shape-rules-control.c */
IFM_SHAPE_RULE(if);
IFM_SHAPE_RULE(loop);
IFM_SHAPE_RULE(scan);

/* attention-rules.c */
IFM_SHAPE_RULE(attention);
/* shape-rules-fused.c: operators that runtimes fuse */
IFM_SHAPE_RULE(fused_matmul);
IFM_SHAPE_RULE(matmul_to_float);
IFM_SHAPE_RULE(matmul_n_bits);
IFM_SHAPE_RULE(q_gemm);
IFM_SHAPE_RULE(nhwc_conv);
IFM_SHAPE_RULE(fused_qlinear_conv);
IFM_SHAPE_RULE(nchwc_conv);
IFM_SHAPE_RULE(reorder_input);
IFM_SHAPE_RULE(reorder_output);
IFM_SHAPE_RULE(qlinear_pool);
IFM_SHAPE_RULE(qlinear_binary);
IFM_SHAPE_RULE(qlinear_concat);
IFM_SHAPE_RULE(half);
IFM_SHAPE_RULE(skip_normalization);
IFM_SHAPE_RULE(embed_normalization);

/* --- cost rules --------------------------------------------------------------------------------------------------- */

#define IFM_COST_RULE(name) gboolean ifm_cost_##name(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
/* @factor FLOP per element: of the first output; of the first input; per input except one (Sum). */
IFM_COST_RULE(per_output);
IFM_COST_RULE(per_input);
IFM_COST_RULE(variadic);
IFM_COST_RULE(none);
IFM_COST_RULE(batch_normalization);
IFM_COST_RULE(dropout);
IFM_COST_RULE(matmul);
IFM_COST_RULE(qlinear_matmul);
IFM_COST_RULE(gemm);
IFM_COST_RULE(einsum);
IFM_COST_RULE(recurrent);
IFM_COST_RULE(conv);
IFM_COST_RULE(qlinear_conv);
IFM_COST_RULE(conv_transpose);
IFM_COST_RULE(pool);
IFM_COST_RULE(resize);
IFM_COST_RULE(grid_sample);
IFM_COST_RULE(roi);
IFM_COST_RULE(deform_conv);
IFM_COST_RULE(det);
IFM_COST_RULE(affine_grid);
IFM_COST_RULE(by_values);
IFM_COST_RULE(attention);
IFM_COST_RULE(fused_matmul);
IFM_COST_RULE(fused_gemm);
IFM_COST_RULE(matmul_and);
IFM_COST_RULE(q_gemm);
IFM_COST_RULE(fused_conv);
IFM_COST_RULE(biased);
IFM_COST_RULE(skip_normalization);
IFM_COST_RULE(embed_normalization);
IFM_COST_RULE(scatter);
IFM_COST_RULE(lrn);
IFM_COST_RULE(body);

/* --- value rules -------------------------------------------------------------------------------------------------- */

#define IFM_VALUE_RULE(name) void ifm_values_##name(const IfmOperatorCall *call)
IFM_VALUE_RULE(same); /* of the first input, independent of the new shape */
IFM_VALUE_RULE(binary);
IFM_VALUE_RULE(unary);
IFM_VALUE_RULE(cast);
IFM_VALUE_RULE(where);
IFM_VALUE_RULE(gather);
IFM_VALUE_RULE(concat);
IFM_VALUE_RULE(slice);
IFM_VALUE_RULE(transpose);
IFM_VALUE_RULE(expand);
IFM_VALUE_RULE(reduce);
IFM_VALUE_RULE(range);

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
gboolean ifm_rule_broadcast(IfmFact *into, const IfmFact *fact, GError **error);
/* ifm_rule_dims: A shape from the values of an input. @dims: (out) [IFM_MAX_RANK]. FALSE for more or negative values. */
gboolean ifm_rule_dims(const IfmOperatorCall *call, gsize input, gint64 *dims, GError **error);
/* ifm_rule_ints: Returns: (transfer none) [@n] the values of an input if the node has it, else of the attribute; NULL for
 * none or unknown values. @n: (out) */
const gint64 *ifm_rule_ints(const IfmOperatorCall *call, gsize input, const char *attribute, int *n);
/* ifm_rule_rank: FALSE where the rank of the input is known and outside @min to @max. */
gboolean ifm_rule_rank(const IfmOperatorCall *call, gsize input, int min, int max, GError **error);

/* ifm_rule_matmul: The first output as the product of @a and @b, which are inputs @at[0] and @at[1]. */
gboolean ifm_rule_matmul(const IfmOperatorCall *call, const gsize *at, const IfmFact *a, const IfmFact *b, IfmDtype dtype,
                         GError **error);
/* IfmConvAt: the inputs with weights and bias of a convolution, and the type of its output. */
typedef struct
{
    gsize weights, bias;
    IfmDtype dtype;
    gboolean is_blocked; /* channels may be padded to whole blocks */
} IfmConvAt;
gboolean ifm_rule_conv(const IfmOperatorCall *call, const IfmConvAt *at, const IfmFact *x, GError **error);

/* A contradiction. The caller adds the place of the node. */
#define IFM_RULE_FAIL(error, ...) (g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, __VA_ARGS__), FALSE)

/* ifm_onnx_check_totals: Whether the sums of the costs of all nodes fit 63 bits. */
gboolean ifm_onnx_check_totals(const IfmAnalysis *analysis, GError **error);

G_END_DECLS
