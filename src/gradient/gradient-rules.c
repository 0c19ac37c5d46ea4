/* The table of rules. */
#include <stdlib.h>
#include <string.h>

#include "gradient-private.h"

/* One row an operator of the default domain, sorted by name. How to add one: docs/add-a-gradient.md. */
static const IfmGradientRule rules[] = {
    { "Abs", ifm_gradient_abs },
    { "Add", ifm_gradient_add },
    { "And", NULL },
    { "ArgMax", NULL },
    { "ArgMin", NULL },
    { "AveragePool", ifm_gradient_average_pool },
    { "BatchNormalization", ifm_gradient_batch_normalization, ifm_forward_batch_normalization },
    { "Cast", ifm_gradient_cast },
    { "CastLike", ifm_gradient_cast },
    { "Ceil", NULL },
    { "Clip", ifm_gradient_clip },
    { "Concat", ifm_gradient_concat },
    { "Constant", NULL },
    { "ConstantOfShape", NULL },
    { "Conv", ifm_gradient_conv },
    { "Cos", ifm_gradient_cos },
    { "DepthToSpace", ifm_gradient_depth_to_space },
    { "Div", ifm_gradient_div },
    { "Dropout", ifm_gradient_dropout },
    { "Einsum", ifm_gradient_einsum },
    { "Elu", ifm_gradient_elu },
    { "Equal", NULL },
    { "Erf", ifm_gradient_erf },
    { "Exp", ifm_gradient_exp },
    { "Expand", ifm_gradient_expand },
    { "Flatten", ifm_gradient_reshape },
    { "Floor", NULL },
    { "Gather", ifm_gradient_gather },
    { "GatherElements", ifm_gradient_gather_elements },
    { "GatherND", ifm_gradient_gather_nd },
    { "Gelu", ifm_gradient_gelu },
    { "Gemm", ifm_gradient_gemm },
    { "GlobalAveragePool", ifm_gradient_global_average_pool },
    { "Greater", NULL },
    { "GreaterOrEqual", NULL },
    { "Identity", ifm_gradient_identity },
    { "InstanceNormalization", ifm_gradient_instance_normalization },
    { "IsInf", NULL },
    { "IsNaN", NULL },
    { "LRN", ifm_gradient_lrn },
    { "LayerNormalization", ifm_gradient_layer_normalization },
    { "LeakyRelu", ifm_gradient_leaky_relu },
    { "Less", NULL },
    { "LessOrEqual", NULL },
    { "Log", ifm_gradient_log },
    { "LogSoftmax", ifm_gradient_log_softmax },
    { "MatMul", ifm_gradient_matmul },
    { "Max", ifm_gradient_extremes },
    { "MaxPool", ifm_gradient_max_pool, ifm_forward_max_pool },
    { "Min", ifm_gradient_extremes },
    { "Mul", ifm_gradient_mul },
    { "Neg", ifm_gradient_neg },
    { "NonZero", NULL },
    { "Not", NULL },
    { "OneHot", ifm_gradient_one_hot },
    { "Or", NULL },
    { "PRelu", ifm_gradient_prelu },
    { "Pad", ifm_gradient_pad },
    { "Pow", ifm_gradient_pow },
    { "Reciprocal", ifm_gradient_reciprocal },
    { "ReduceMax", ifm_gradient_reduce_extreme },
    { "ReduceMean", ifm_gradient_reduce_mean },
    { "ReduceMin", ifm_gradient_reduce_extreme },
    { "ReduceSum", ifm_gradient_reduce_sum },
    { "ReduceSumSquare", ifm_gradient_reduce_sum_square },
    { "Relu", ifm_gradient_relu },
    { "Reshape", ifm_gradient_reshape },
    { "Round", NULL },
    { "ScatterElements", ifm_gradient_scatter },
    { "ScatterND", ifm_gradient_scatter },
    { "Shape", NULL },
    { "Sigmoid", ifm_gradient_sigmoid },
    { "Sign", NULL },
    { "Sin", ifm_gradient_sin },
    { "Size", NULL },
    { "Slice", ifm_gradient_slice },
    { "Softmax", ifm_gradient_softmax },
    { "Softplus", ifm_gradient_softplus },
    { "SpaceToDepth", ifm_gradient_space_to_depth },
    { "Split", ifm_gradient_split },
    { "Sqrt", ifm_gradient_sqrt },
    { "Squeeze", ifm_gradient_reshape },
    { "Sub", ifm_gradient_sub },
    { "Sum", ifm_gradient_add },
    { "Tanh", ifm_gradient_tanh },
    { "Transpose", ifm_gradient_transpose },
    { "Unsqueeze", ifm_gradient_reshape },
    { "Where", ifm_gradient_where },
};

static int compare_name(const void *name, const void *row)
{
    return strcmp(name, ((const IfmGradientRule *)row)->op_type);
}

const IfmGradientRule *ifm_gradient_rule_find(const IfmNode *node)
{
    if (*node->domain != '\0')
        return NULL;
    return bsearch(node->op_type, rules, G_N_ELEMENTS(rules), sizeof rules[0], compare_name);
}
