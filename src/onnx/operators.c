#include <stdlib.h>

#include "operators.h"

/*
 * The operator table: one row an operator, sorted by name. Conventions of cost, the same everywhere in this project:
 *  - one multiply-add is 1 MAC and 2 FLOP; a bias is 1 FLOP for each element it is added to;
 *  - an element-wise operator is 1 FLOP an element, however hard its function; a comparison counts as one;
 *  - Softmax is 5 an element (maximum, subtract, exponential, sum, divide), normalisation by fixed statistics 2;
 *  - positions that fall into the padding count as if they were computed: runtimes differ in whether they skip them;
 *  - what only moves or describes data is 0 FLOP; a scatter that reduces is 1 an element of what is scattered.
 */
static const IfmOperator operators[] = {
    { "Abs", 1, ifm_shape_same, ifm_cost_per_output, 1 },
    { "Add", 2, ifm_shape_broadcast, ifm_cost_per_output, 1 },
    { "AveragePool", 1, ifm_shape_pool, ifm_cost_pool, 1 },
    { "BatchNormalization", 5, ifm_shape_batch_normalization, ifm_cost_per_output, 2 },
    { "Cast", 1, ifm_shape_cast, ifm_cost_none, 0 },
    { "Ceil", 1, ifm_shape_same, ifm_cost_per_output, 1 },
    { "Clip", 1, ifm_shape_same, ifm_cost_per_output, 1 },
    { "Concat", 1, ifm_shape_concat, ifm_cost_none, 0 },
    { "Constant", 0, ifm_shape_constant, ifm_cost_none, 0 },
    { "ConstantOfShape", 1, ifm_shape_constant_of_shape, ifm_cost_none, 0 },
    { "Conv", 2, ifm_shape_conv, ifm_cost_conv, 0 },
    { "Div", 2, ifm_shape_broadcast, ifm_cost_per_output, 1 },
    { "Dropout", 1, ifm_shape_dropout, ifm_cost_none, 0 },
    { "Elu", 1, ifm_shape_same, ifm_cost_per_output, 1 },
    { "Equal", 2, ifm_shape_compare, ifm_cost_per_output, 1 },
    { "Erf", 1, ifm_shape_same, ifm_cost_per_output, 1 },
    { "Exp", 1, ifm_shape_same, ifm_cost_per_output, 1 },
    { "Expand", 2, ifm_shape_expand, ifm_cost_none, 0 },
    { "Flatten", 1, ifm_shape_flatten, ifm_cost_none, 0 },
    { "Floor", 1, ifm_shape_same, ifm_cost_per_output, 1 },
    { "Gather", 2, ifm_shape_gather, ifm_cost_none, 0 },
    { "GatherElements", 2, ifm_shape_gather_elements, ifm_cost_none, 0 },
    { "GatherND", 2, ifm_shape_gather_nd, ifm_cost_none, 0 },
    { "Gemm", 2, ifm_shape_gemm, ifm_cost_gemm, 0 },
    { "GlobalAveragePool", 1, ifm_shape_global_pool, ifm_cost_per_input, 1 },
    { "GlobalMaxPool", 1, ifm_shape_global_pool, ifm_cost_per_input, 1 },
    { "Greater", 2, ifm_shape_compare, ifm_cost_per_output, 1 },
    { "HardSigmoid", 1, ifm_shape_same, ifm_cost_per_output, 1 },
    { "HardSwish", 1, ifm_shape_same, ifm_cost_per_output, 1 },
    { "Identity", 1, ifm_shape_same, ifm_cost_none, 0 },
    { "LRN", 1, ifm_shape_same, ifm_cost_lrn, 0 },
    { "LeakyRelu", 1, ifm_shape_same, ifm_cost_per_output, 1 },
    { "Less", 2, ifm_shape_compare, ifm_cost_per_output, 1 },
    { "Log", 1, ifm_shape_same, ifm_cost_per_output, 1 },
    { "LogSoftmax", 1, ifm_shape_same, ifm_cost_per_output, 5 },
    { "MatMul", 2, ifm_shape_matmul, ifm_cost_matmul, 0 },
    { "Max", 1, ifm_shape_broadcast, ifm_cost_variadic, 1 },
    { "MaxPool", 1, ifm_shape_pool, ifm_cost_pool, 1 },
    { "Mean", 1, ifm_shape_broadcast, ifm_cost_variadic, 1 },
    { "Min", 1, ifm_shape_broadcast, ifm_cost_variadic, 1 },
    { "Mul", 2, ifm_shape_broadcast, ifm_cost_per_output, 1 },
    { "Neg", 1, ifm_shape_same, ifm_cost_per_output, 1 },
    { "PRelu", 2, ifm_shape_same, ifm_cost_per_output, 1 },
    { "Pow", 2, ifm_shape_broadcast, ifm_cost_per_output, 1 },
    { "Reciprocal", 1, ifm_shape_same, ifm_cost_per_output, 1 },
    { "ReduceMax", 1, ifm_shape_reduce, ifm_cost_per_input, 1 },
    { "ReduceMean", 1, ifm_shape_reduce, ifm_cost_per_input, 1 },
    { "ReduceMin", 1, ifm_shape_reduce, ifm_cost_per_input, 1 },
    { "ReduceSum", 1, ifm_shape_reduce, ifm_cost_per_input, 1 },
    { "Relu", 1, ifm_shape_same, ifm_cost_per_output, 1 },
    { "Reshape", 1, ifm_shape_reshape, ifm_cost_none, 0 },
    { "ScatterElements", 3, ifm_shape_scatter_elements, ifm_cost_scatter, 1 },
    { "ScatterND", 3, ifm_shape_scatter_nd, ifm_cost_scatter, 1 },
    { "Shape", 1, ifm_shape_shape, ifm_cost_none, 0 },
    { "Sigmoid", 1, ifm_shape_same, ifm_cost_per_output, 1 },
    { "Softmax", 1, ifm_shape_same, ifm_cost_per_output, 5 },
    { "Softplus", 1, ifm_shape_same, ifm_cost_per_output, 1 },
    { "Sqrt", 1, ifm_shape_same, ifm_cost_per_output, 1 },
    { "Squeeze", 1, ifm_shape_squeeze, ifm_cost_none, 0 },
    { "Sub", 2, ifm_shape_broadcast, ifm_cost_per_output, 1 },
    { "Sum", 1, ifm_shape_broadcast, ifm_cost_variadic, 1 },
    { "Tanh", 1, ifm_shape_same, ifm_cost_per_output, 1 },
    { "Transpose", 1, ifm_shape_transpose, ifm_cost_none, 0 },
    { "Unsqueeze", 1, ifm_shape_unsqueeze, ifm_cost_none, 0 },
    { "Where", 3, ifm_shape_where, ifm_cost_per_output, 1 },
};

static int compare_name(const void *name, const void *row)
{
    return g_strcmp0(name, ((const IfmOperator *)row)->op_type);
}

const IfmOperator *ifm_operator_find(const IfmNode *node)
{
    if (*node->domain != '\0')
        return NULL;
    return bsearch(node->op_type, operators, G_N_ELEMENTS(operators), sizeof operators[0], compare_name);
}
