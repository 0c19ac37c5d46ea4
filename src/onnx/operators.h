#pragma once
#include "onnx-private.h"

G_BEGIN_DECLS

/* Tensors of up to this many numbers have their values followed: shapes are computed from them. */
#define IFM_FACT_MAX_VALUES 32

typedef enum
{
    IFM_VALUES_UNKNOWN, /* so that a fact made of zeros knows none */
    IFM_VALUES_INTS,    /* of an integer or bool tensor */
    IFM_VALUES_REALS,   /* of a floating-point tensor */
} IfmValueKind;

/*
 * IfmFact: what is known of one tensor.
 * @rank: -1 where the shape is not known (it is known whole or not at all)
 * @n_values: how many @ints or @reals hold, where @values says that they are known
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

/* IfmBody: what the graphs that a node carries come to (If, Loop, Scan, a function of the model). */
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
 * IfmOperatorCall: one node with what is known of its tensors.
 * @inputs: [node->n_inputs]; IFM_FACT_UNKNOWN also for one left out    @outputs: [node->n_outputs], unknown at first
 * @why: (out) static text: why a rule left an output unknown, where that is not because of its inputs
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
 * @n_inputs: how many inputs it cannot do without; rules may rely on them and on one output being there
 * @shape: Fills the outputs it can tell; what it leaves is unknown. FALSE with IFM_ERROR_INVALID where the inputs or the
 *         attributes contradict each other (the caller adds the node's place).
 *         NULL: no shape can be told, for the reason @why; such a node is never covered.
 * @cost:  Fills macs and flop, the shapes of all inputs and outputs being known. FALSE where they overflow.
 * @factor: for the cost rules that count per element
 * @values: Fills the first output's values where the inputs' are known; called after @shape where its shape is known and
 *         small. NULL: they are not followed.
 * A rule that differs between versions of the operator reads call->opset, or better what the node itself has: an input
 * that used to be an attribute tells by being there.
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
/* operators-fused.c: what runtimes make of graphs when they optimise them. Ended by a table without a domain. */
extern const IfmOperatorTable ifm_fused_operators[];

/* ifm_operator_find: Returns: NULL where no table has a row of that name. */
const IfmOperator *ifm_operator_find(const IfmNode *node);
/* ifm_family_multiplies: whether multiplying and adding is what its rows of that family are for. */
gboolean ifm_family_multiplies(IfmNodeFamily family);

/* ifm_fact_n_elements: Equals: product(dims). FALSE past the largest count that all of this room computes with (2^56). */
gboolean ifm_fact_n_elements(const IfmFact *fact, gint64 *n);
/* ifm_fact_n_bytes: as ONNX stores them, packed types packed. FALSE where the shape or the size of an element is not known.
 */
gboolean ifm_fact_n_bytes(const IfmFact *fact, gint64 *n);
/* ifm_fact_from_tensor: dtype, shape and, for few numbers, values of a constant. */
IfmFact ifm_fact_from_tensor(const Onnx__TensorProto *tensor);
/* ifm_fact_ints: Returns: the values where they are known integers, else NULL. */
static inline const gint64 *ifm_fact_ints(const IfmFact *fact)
{
    return fact->values == IFM_VALUES_INTS ? fact->ints : NULL;
}

/* ifm_call_has: whether the node has an input (an output) of that number: it may end before it, or leave it out. */
gboolean ifm_call_has(const IfmOperatorCall *call, gsize input);
gboolean ifm_call_has_output(const IfmOperatorCall *call, gsize output);
/* ifm_call_input: Returns: what is known of it; NULL where it is left out. */
const IfmFact *ifm_call_input(const IfmOperatorCall *call, gsize input);
/* ifm_call_make: Makes an output of a shape; nothing where the node has none of that number. */
void ifm_call_make(const IfmOperatorCall *call, gsize output, IfmDtype dtype, int rank, const gint64 *dims);

/* --- the analysis --------------------------------------------------------------------------------------------------- */

struct IfmAnalysis
{
    IfmModel *model;   /* a reference: names are its own */
    GHashTable *facts; /* name -> IfmFact*, of the top-level graph */
    GHashTable *inner; /* Onnx__GraphProto* of a node's -> the like, as last gone through */
    IfmNodeCost *costs;
    const IfmOperator **operators; /* [n_costs] NULL where there is none */
    const char **why;              /* [n_costs] why it is not covered; NULL where it is */
    gboolean *multiplies;          /* [n_costs] or may: nobody can say */
    gsize n_costs, n_observed;
};

/* ifm_analysis_model: Returns: (transfer none) what was analysed; the analysis holds a reference. */
const IfmModel *ifm_analysis_model(const IfmAnalysis *analysis);

/* ifm_scope_run: Analyses a graph that a node carries. @inputs: [n_inputs] of its inputs. @outputs: (out) [n_outputs of the
 * graph] @body: (out) the sum of its nodes. Returns: FALSE where its shapes contradict each other. */
gboolean ifm_scope_run(IfmScope *outer, const Onnx__GraphProto *graph, const IfmFact *inputs, gsize n_inputs,
                       IfmFact *outputs, IfmBody *body, GError **error);

/* ifm_scope_model: the model of the graph that is gone through; NULL for a graph in a node. */
const IfmModel *ifm_scope_model(const IfmScope *scope);
/* ifm_scope_fact: what is known of a tensor by now; NULL where nothing is. */
const IfmFact *ifm_scope_fact(const IfmScope *scope, const char *name);

/* --- shape rules ---------------------------------------------------------------------------------------------------- */

#define IFM_SHAPE_RULE(name) gboolean ifm_shape_##name(const IfmOperatorCall *call, GError **error)
/* shape-rules.c: element-wise operators and reductions */
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
/* shape-rules-movement.c: what moves or describes data */
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
IFM_SHAPE_RULE(depth_to_space);
IFM_SHAPE_RULE(space_to_depth);
IFM_SHAPE_RULE(center_crop_pad);
/* shape-rules-making.c: what makes data */
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
/* shape-rules-indices.c: what reads or writes by index */
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
/* shape-rules-windows.c: what slides over space */
IFM_SHAPE_RULE(conv);
IFM_SHAPE_RULE(conv_integer);
IFM_SHAPE_RULE(qlinear_conv);
IFM_SHAPE_RULE(conv_transpose);
IFM_SHAPE_RULE(pool);
IFM_SHAPE_RULE(global_pool);
/* shape-rules-space.c: what samples space anew */
IFM_SHAPE_RULE(max_unpool);
IFM_SHAPE_RULE(resize);
IFM_SHAPE_RULE(grid_sample);
IFM_SHAPE_RULE(roi);
IFM_SHAPE_RULE(col2im);
/* shape-rules-quantised.c */
IFM_SHAPE_RULE(quantize);
IFM_SHAPE_RULE(dequantize);
IFM_SHAPE_RULE(dynamic_quantize);
/* shape-rules-control.c */
IFM_SHAPE_RULE(if);
IFM_SHAPE_RULE(loop);
IFM_SHAPE_RULE(scan);

/* attention-rules.c */
IFM_SHAPE_RULE(attention);
/* shape-rules-fused.c: what runtimes fuse */
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

/* --- cost rules ----------------------------------------------------------------------------------------------------- */

#define IFM_COST_RULE(name) gboolean ifm_cost_##name(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost)
/* factor FLOP for each element of the first output, of the first input; for each input but one (Sum). */
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

/* --- value rules ---------------------------------------------------------------------------------------------------- */

#define IFM_VALUE_RULE(name) void ifm_values_##name(const IfmOperatorCall *call)
IFM_VALUE_RULE(same); /* the first input's, whatever the new shape */
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

/* --- helpers of rules ----------------------------------------------------------------------------------------------- */

/* ifm_rule_axis: an axis as written, -rank to rank - 1 (@most: rank, or rank + 1 where one past the end is allowed), made
 * 0 or more. */
gboolean ifm_rule_axis(gint64 axis, int rank, int most, int *normal, GError **error);
/* ifm_rule_axes: the axes of an operator: from input @input in newer versions, from the attribute in older ones. @axes:
 * (out) [IFM_FACT_MAX_VALUES]. Returns: -1 where they are given but not known, else how many there are. */
int ifm_rule_axes(const IfmOperatorCall *call, gsize input, gint64 *axes);
/* ifm_rule_mark_axes: @marked: (out) [IFM_MAX_RANK] which of the axes are named. */
gboolean ifm_rule_mark_axes(const gint64 *axes, int n, int rank, gboolean *marked, GError **error);
/* ifm_rule_broadcast: NumPy's rule, @into and @fact, into @into. FALSE with an error that names both shapes. */
gboolean ifm_rule_broadcast(IfmFact *into, const IfmFact *fact, GError **error);
/* ifm_rule_dims: a shape from an input's values. @dims: (out) [IFM_MAX_RANK]. FALSE for more or negative ones. */
gboolean ifm_rule_dims(const IfmOperatorCall *call, gsize input, gint64 *dims, GError **error);
/* ifm_rule_ints: Returns: the numbers of an input where the node has it, else of the attribute; NULL where there are none
 * or they are not known. @n: (out) */
const gint64 *ifm_rule_ints(const IfmOperatorCall *call, gsize input, const char *attribute, int *n);
/* ifm_rule_rank: FALSE where the input's rank is known and another than @least to @most. */
gboolean ifm_rule_rank(const IfmOperatorCall *call, gsize input, int least, int most, GError **error);

/* ifm_rule_matmul: The product of @a and @b, inputs @at[0] and @at[1], as the first output. */
gboolean ifm_rule_matmul(const IfmOperatorCall *call, const gsize *at, const IfmFact *a, const IfmFact *b, IfmDtype dtype,
                         GError **error);
/* IfmConvAt: which inputs a convolution reads its weights and its bias from, and which type it makes. */
typedef struct
{
    gsize weights, bias;
    IfmDtype dtype;
    gboolean is_blocked; /* its channels may be filled up to whole blocks */
} IfmConvAt;
gboolean ifm_rule_conv(const IfmOperatorCall *call, const IfmConvAt *at, const IfmFact *x, GError **error);

/* A contradiction: the caller adds the node's place. */
#define IFM_RULE_FAIL(error, ...) (g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, __VA_ARGS__), FALSE)

#define IFM_WHY_VALUES "its shape depends on values"

/* ifm_onnx_check_totals: that the sums of what the nodes cost fit their counters. */
gboolean ifm_onnx_check_totals(const IfmAnalysis *analysis, GError **error);

G_END_DECLS
