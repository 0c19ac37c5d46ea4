#pragma once
#include "onnx-private.h"

G_BEGIN_DECLS

/* Integer tensors of up to this many elements have their values followed: shapes are computed from them. */
#define IFM_FACT_MAX_INTS 32

/*
 * IfmFact: what is known of one tensor.
 * @rank: -1 where the shape is not known (it is known whole or not at all)
 * @n_ints: -1 where the values are not known, else how many @ints hold
 */
typedef struct
{
    IfmDtype dtype;
    int rank;
    gint64 dims[IFM_MAX_RANK];
    int n_ints;
    gint64 ints[IFM_FACT_MAX_INTS];
} IfmFact;

#define IFM_FACT_UNKNOWN ((IfmFact){ .rank = -1, .n_ints = -1 })

/*
 * IfmOperatorCall: one node with what is known of its tensors.
 * @inputs: [node->n_inputs]; IFM_FACT_UNKNOWN also for one left out    @outputs: [node->n_outputs], unknown at first
 */
typedef struct
{
    const IfmNode *node;
    gint64 opset;
    const IfmFact *inputs;
    IfmFact *outputs;
} IfmOperatorCall;

/*
 * IfmOperator: one row of the table in operators.c. How to add one: docs/add-an-op.md.
 * @n_inputs: how many inputs it cannot do without; rules may rely on them and on one output being there
 * @shape: Fills the outputs it can tell; what it leaves is unknown. FALSE with IFM_ERROR_INVALID where the inputs or the
 *         attributes contradict each other (the caller adds the node's place).
 * @cost:  Fills macs and flop, the shapes of all inputs and outputs being known. FALSE where they overflow.
 * @factor: for the cost rules that count per element
 */
typedef struct
{
    const char *op_type;
    gsize n_inputs;
    gboolean (*shape)(const IfmOperatorCall *call, GError **error);
    gboolean (*cost)(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost);
    gint64 factor;
} IfmOperator;

/* ifm_operator_find: Returns: NULL where the table has no row of that name for the default domain. */
const IfmOperator *ifm_operator_find(const IfmNode *node);

/* ifm_fact_n_elements: Equals: product(dims). FALSE past the largest count that all of this room computes with (2^56). */
gboolean ifm_fact_n_elements(const IfmFact *fact, gint64 *n);
/* ifm_fact_from_tensor: dtype, shape and, for few integers, values of a constant. */
IfmFact ifm_fact_from_tensor(const Onnx__TensorProto *tensor);

/* ifm_analysis_model: Returns: (transfer none) what was analysed; the analysis holds a reference. */
const IfmModel *ifm_analysis_model(const IfmAnalysis *analysis);

/* --- rules ---------------------------------------------------------------------------------------------------------- */

gboolean ifm_shape_same(const IfmOperatorCall *call, GError **error);
gboolean ifm_shape_broadcast(const IfmOperatorCall *call, GError **error);
gboolean ifm_shape_compare(const IfmOperatorCall *call, GError **error);
gboolean ifm_shape_where(const IfmOperatorCall *call, GError **error);
gboolean ifm_shape_cast(const IfmOperatorCall *call, GError **error);
gboolean ifm_shape_batch_normalization(const IfmOperatorCall *call, GError **error);
gboolean ifm_shape_dropout(const IfmOperatorCall *call, GError **error);
gboolean ifm_shape_matmul(const IfmOperatorCall *call, GError **error);
gboolean ifm_shape_gemm(const IfmOperatorCall *call, GError **error);
gboolean ifm_shape_conv(const IfmOperatorCall *call, GError **error);
gboolean ifm_shape_pool(const IfmOperatorCall *call, GError **error);
gboolean ifm_shape_global_pool(const IfmOperatorCall *call, GError **error);
gboolean ifm_shape_reduce(const IfmOperatorCall *call, GError **error);
gboolean ifm_shape_flatten(const IfmOperatorCall *call, GError **error);
gboolean ifm_shape_reshape(const IfmOperatorCall *call, GError **error);
gboolean ifm_shape_transpose(const IfmOperatorCall *call, GError **error);
gboolean ifm_shape_concat(const IfmOperatorCall *call, GError **error);
gboolean ifm_shape_squeeze(const IfmOperatorCall *call, GError **error);
gboolean ifm_shape_unsqueeze(const IfmOperatorCall *call, GError **error);
gboolean ifm_shape_gather(const IfmOperatorCall *call, GError **error);
gboolean ifm_shape_expand(const IfmOperatorCall *call, GError **error);
gboolean ifm_shape_gather_elements(const IfmOperatorCall *call, GError **error);
gboolean ifm_shape_gather_nd(const IfmOperatorCall *call, GError **error);
gboolean ifm_shape_scatter_elements(const IfmOperatorCall *call, GError **error);
gboolean ifm_shape_scatter_nd(const IfmOperatorCall *call, GError **error);
gboolean ifm_shape_constant(const IfmOperatorCall *call, GError **error);
gboolean ifm_shape_constant_of_shape(const IfmOperatorCall *call, GError **error);
gboolean ifm_shape_shape(const IfmOperatorCall *call, GError **error);

/* factor FLOP for each element of the first output, of the first input; for each input but one (Sum). */
gboolean ifm_cost_per_output(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost);
gboolean ifm_cost_per_input(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost);
gboolean ifm_cost_variadic(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost);
gboolean ifm_cost_none(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost);
gboolean ifm_cost_matmul(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost);
gboolean ifm_cost_gemm(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost);
gboolean ifm_cost_conv(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost);
gboolean ifm_cost_pool(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost);
gboolean ifm_cost_scatter(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost);
gboolean ifm_cost_lrn(const IfmOperatorCall *call, gint64 factor, IfmNodeCost *cost);

/* ifm_rule_axis: an axis as written, -rank to rank - 1 (@most: rank, or rank + 1 where one past the end is allowed), made
 * 0 or more. */
gboolean ifm_rule_axis(gint64 axis, int rank, int most, int *normal, GError **error);
/* ifm_rule_broadcast: NumPy's rule, @into and @fact, into @into. FALSE with an error that names both shapes. */
gboolean ifm_rule_broadcast(IfmFact *into, const IfmFact *fact, GError **error);

/* A contradiction: the caller adds the node's place. */
#define IFM_RULE_FAIL(error, ...) (g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, __VA_ARGS__), FALSE)

G_END_DECLS
