#include <stdlib.h>
#include <string.h>

#include "operators.h"

#define IFM_WHY_SEQUENCE "it works on sequences, which have no one shape"

/*
 * The operator table: one row an operator, sorted by name. Conventions of cost: ifm_cost_conventions(), below.
 * Some names that ONNX Runtime puts into the default domain, and some of later versions, are here, too.
 */
static const IfmOperator operators[] = {
    { "Abs", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_unary,
      .rounding = IFM_ROUNDS_NEVER },
    { "Acos", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, .rounding = IFM_ROUNDS_OFTEN },
    { "Acosh", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, .rounding = IFM_ROUNDS_OFTEN },
    { "Add", 2, ifm_shape_broadcast, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_binary },
    { "AffineGrid", 2, ifm_shape_affine_grid, ifm_cost_affine_grid, 0, IFM_FAMILY_PRODUCT },
    { "And", 2, ifm_shape_compare, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_binary },
    { "ArgMax", 1, ifm_shape_arg, ifm_cost_per_input, 1, IFM_FAMILY_REDUCTION, .rounding = IFM_ROUNDS_NEVER },
    { "ArgMin", 1, ifm_shape_arg, ifm_cost_per_input, 1, IFM_FAMILY_REDUCTION, .rounding = IFM_ROUNDS_NEVER },
    { "Asin", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, .rounding = IFM_ROUNDS_OFTEN },
    { "Asinh", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, .rounding = IFM_ROUNDS_OFTEN },
    { "Atan", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, .rounding = IFM_ROUNDS_OFTEN },
    { "Atanh", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, .rounding = IFM_ROUNDS_OFTEN },
    { "Attention", 3, ifm_shape_attention, ifm_cost_attention, 0, IFM_FAMILY_ATTENTION },
    { "AveragePool", 1, ifm_shape_pool, ifm_cost_pool, 1, IFM_FAMILY_POOLING },
    { "BatchNormalization", 5, ifm_shape_batch_normalization, ifm_cost_batch_normalization, 0, IFM_FAMILY_NORMALISATION,
      .rounding = IFM_ROUNDS_ONCE },
    { "Bernoulli", 1, ifm_shape_like, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE },
    { "BitCast", 1, ifm_shape_cast, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, .rounding = IFM_ROUNDS_ONCE },
    { "BitShift", 2, ifm_shape_broadcast, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE },
    { "BitwiseAnd", 2, ifm_shape_broadcast, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE },
    { "BitwiseNot", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE },
    { "BitwiseOr", 2, ifm_shape_broadcast, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE },
    { "BitwiseXor", 2, ifm_shape_broadcast, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE },
    { "BlackmanWindow", 1, ifm_shape_window, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE },
    { "Cast", 1, ifm_shape_cast, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, ifm_values_cast },
    { "CastLike", 2, ifm_shape_cast_like, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, ifm_values_cast },
    { "CausalConvWithState", 0, NULL, NULL, 0, IFM_FAMILY_CONVOLUTION },
    { "Ceil", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_unary,
      .rounding = IFM_ROUNDS_NEVER },
    { "Celu", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ACTIVATION, .rounding = IFM_ROUNDS_OFTEN },
    { "CenterCropPad", 2, ifm_shape_center_crop_pad, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT },
    { "Clip", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ACTIVATION, .rounding = IFM_ROUNDS_NEVER },
    { "Col2Im", 3, ifm_shape_col2im, ifm_cost_per_input, 1, IFM_FAMILY_MOVEMENT, .rounding = IFM_ROUNDS_ONCE },
    { "Compress", 2, ifm_shape_compress, ifm_cost_none, 0, IFM_FAMILY_INDEXING },
    { "Concat", 1, ifm_shape_concat, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, ifm_values_concat },
    { "ConcatFromSequence", 0, NULL, NULL, 0, IFM_FAMILY_MOVEMENT, NULL, IFM_WHY_SEQUENCE },
    { "Constant", 0, ifm_shape_constant, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT },
    { "ConstantOfShape", 1, ifm_shape_constant_of_shape, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT },
    { "Conv", 2, ifm_shape_conv, ifm_cost_conv, 0, IFM_FAMILY_CONVOLUTION },
    { "ConvInteger", 2, ifm_shape_conv_integer, ifm_cost_conv, 1, IFM_FAMILY_CONVOLUTION },
    { "ConvTranspose", 2, ifm_shape_conv_transpose, ifm_cost_conv_transpose, 0, IFM_FAMILY_CONVOLUTION },
    { "Cos", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, .rounding = IFM_ROUNDS_OFTEN },
    { "Cosh", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, .rounding = IFM_ROUNDS_OFTEN },
    { "CumProd", 2, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_REDUCTION },
    { "CumSum", 2, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_REDUCTION },
    { "DFT", 0, NULL, NULL, 0, IFM_FAMILY_PRODUCT },
    { "DeformConv", 3, ifm_shape_conv, ifm_cost_deform_conv, 0, IFM_FAMILY_CONVOLUTION },
    { "DepthToSpace", 1, ifm_shape_space_blocks, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT },
    { "DequantizeLinear", 2, ifm_shape_cast_like, ifm_cost_per_output, 2, IFM_FAMILY_QUANTISATION },
    { "Det", 1, ifm_shape_det, ifm_cost_det, 0, IFM_FAMILY_PRODUCT },
    { "Div", 2, ifm_shape_broadcast, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_binary },
    { "Dropout", 1, ifm_shape_dropout, ifm_cost_dropout, 0, IFM_FAMILY_MOVEMENT },
    { "DynamicQuantizeLinear", 1, ifm_shape_dynamic_quantize, ifm_cost_per_input, 4, IFM_FAMILY_QUANTISATION },
    { "Einsum", 1, ifm_shape_einsum, ifm_cost_einsum, 0, IFM_FAMILY_PRODUCT },
    { "Elu", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ACTIVATION, .rounding = IFM_ROUNDS_OFTEN },
    { "Equal", 2, ifm_shape_compare, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_binary },
    { "Erf", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, .rounding = IFM_ROUNDS_OFTEN },
    { "Exp", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_unary,
      .rounding = IFM_ROUNDS_OFTEN },
    { "Expand", 2, ifm_shape_expand, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, ifm_values_expand },
    { "EyeLike", 1, ifm_shape_like, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT },
    { "Flatten", 1, ifm_shape_flatten, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, ifm_values_same },
    { "Floor", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_unary,
      .rounding = IFM_ROUNDS_NEVER },
    { "GRU", 3, ifm_shape_recurrent, ifm_cost_recurrent, 3, IFM_FAMILY_RECURRENT },
    { "Gather", 2, ifm_shape_gather, ifm_cost_none, 0, IFM_FAMILY_INDEXING, ifm_values_gather },
    { "GatherElements", 2, ifm_shape_gather_elements, ifm_cost_none, 0, IFM_FAMILY_INDEXING },
    { "GatherND", 2, ifm_shape_gather_nd, ifm_cost_none, 0, IFM_FAMILY_INDEXING },
    { "Gelu", 1, ifm_shape_same, ifm_cost_per_output, 4, IFM_FAMILY_ACTIVATION, .rounding = IFM_ROUNDS_OFTEN },
    { "Gemm", 2, ifm_shape_gemm, ifm_cost_gemm, 2, IFM_FAMILY_PRODUCT },
    { "GlobalAveragePool", 1, ifm_shape_global_pool, ifm_cost_per_input, 1, IFM_FAMILY_POOLING },
    { "GlobalLpPool", 1, ifm_shape_global_pool, ifm_cost_per_input, 2, IFM_FAMILY_POOLING },
    { "GlobalMaxPool", 1, ifm_shape_global_pool, ifm_cost_per_input, 1, IFM_FAMILY_POOLING, .rounding = IFM_ROUNDS_NEVER },
    { "Greater", 2, ifm_shape_compare, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_binary },
    { "GreaterOrEqual", 2, ifm_shape_compare, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_binary },
    { "GridSample", 2, ifm_shape_grid_sample, ifm_cost_grid_sample, 0, IFM_FAMILY_INDEXING, .rounding = IFM_ROUNDS_ONCE },
    { "GroupNormalization", 3, ifm_shape_same, ifm_cost_per_output, 5, IFM_FAMILY_NORMALISATION },
    { "HammingWindow", 1, ifm_shape_window, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE },
    { "HannWindow", 1, ifm_shape_window, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE },
    { "HardSigmoid", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ACTIVATION, .rounding = IFM_ROUNDS_OFTEN },
    { "HardSwish", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ACTIVATION },
    { "Hardmax", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_REDUCTION, .rounding = IFM_ROUNDS_NEVER },
    { "Identity", 1, ifm_shape_same, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, ifm_values_same },
    { "If", 1, ifm_shape_if, ifm_cost_body, 0, IFM_FAMILY_CONTROL },
    { "ImageDecoder", 0, NULL, NULL, 0, IFM_FAMILY_OTHER },
    { "InstanceNormalization", 3, ifm_shape_same, ifm_cost_per_output, 5, IFM_FAMILY_NORMALISATION },
    { "IsInf", 1, ifm_shape_same_bool, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE },
    { "IsNaN", 1, ifm_shape_same_bool, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE },
    { "LRN", 1, ifm_shape_same, ifm_cost_lrn, 0, IFM_FAMILY_NORMALISATION },
    { "LSTM", 3, ifm_shape_recurrent, ifm_cost_recurrent, 4, IFM_FAMILY_RECURRENT },
    { "LayerNormalization", 2, ifm_shape_layer_normalization, ifm_cost_per_output, 5, IFM_FAMILY_NORMALISATION },
    { "LeakyRelu", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ACTIVATION },
    { "Less", 2, ifm_shape_compare, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_binary },
    { "LessOrEqual", 2, ifm_shape_compare, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_binary },
    { "LinearAttention", 0, NULL, NULL, 0, IFM_FAMILY_ATTENTION, .rounding = IFM_ROUNDS_ONCE },
    { "Log", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_unary,
      .rounding = IFM_ROUNDS_OFTEN },
    { "LogSoftmax", 1, ifm_shape_same, ifm_cost_per_output, 5, IFM_FAMILY_SOFTMAX },
    { "Loop", 0, ifm_shape_loop, ifm_cost_body, 0, IFM_FAMILY_CONTROL },
    { "LpNormalization", 1, ifm_shape_same, ifm_cost_per_output, 3, IFM_FAMILY_NORMALISATION },
    { "LpPool", 1, ifm_shape_pool, ifm_cost_pool, 2, IFM_FAMILY_POOLING },
    { "MatMul", 2, ifm_shape_matmul, ifm_cost_matmul, 0, IFM_FAMILY_PRODUCT },
    { "MatMulInteger", 2, ifm_shape_matmul_integer, ifm_cost_matmul, 0, IFM_FAMILY_PRODUCT },
    { "Max", 1, ifm_shape_broadcast, ifm_cost_variadic, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_binary,
      .rounding = IFM_ROUNDS_NEVER },
    { "MaxPool", 1, ifm_shape_pool, ifm_cost_pool, 1, IFM_FAMILY_POOLING, .rounding = IFM_ROUNDS_NEVER },
    { "MaxRoiPool", 2, ifm_shape_roi, ifm_cost_roi, 0, IFM_FAMILY_POOLING, .rounding = IFM_ROUNDS_NEVER },
    { "MaxUnpool", 2, ifm_shape_max_unpool, ifm_cost_none, 0, IFM_FAMILY_POOLING, .rounding = IFM_ROUNDS_NEVER },
    { "Mean", 1, ifm_shape_broadcast, ifm_cost_variadic, 1, IFM_FAMILY_ELEMENTWISE },
    { "MeanVarianceNormalization", 1, ifm_shape_same, ifm_cost_per_output, 5, IFM_FAMILY_NORMALISATION },
    { "MelWeightMatrix", 0, NULL, NULL, 0, IFM_FAMILY_OTHER },
    { "MemcpyFromHost", 1, ifm_shape_same, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, .rounding = IFM_ROUNDS_ONCE },
    { "MemcpyToHost", 1, ifm_shape_same, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, .rounding = IFM_ROUNDS_ONCE },
    { "Min", 1, ifm_shape_broadcast, ifm_cost_variadic, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_binary,
      .rounding = IFM_ROUNDS_NEVER },
    { "Mish", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ACTIVATION, .rounding = IFM_ROUNDS_OFTEN },
    { "Mod", 2, ifm_shape_broadcast, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_binary,
      .rounding = IFM_ROUNDS_NEVER },
    { "Mul", 2, ifm_shape_broadcast, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_binary },
    { "Multinomial", 1, ifm_shape_multinomial, ifm_cost_per_input, 1, IFM_FAMILY_REDUCTION },
    { "Neg", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_unary,
      .rounding = IFM_ROUNDS_NEVER },
    { "NegativeLogLikelihoodLoss", 2, ifm_shape_loss, ifm_cost_per_output, 1, IFM_FAMILY_REDUCTION },
    { "NonMaxSuppression", 2, ifm_shape_by_values, ifm_cost_by_values, 0, IFM_FAMILY_OTHER, .rounding = IFM_ROUNDS_NEVER },
    { "NonZero", 1, ifm_shape_non_zero, ifm_cost_per_input, 1, IFM_FAMILY_INDEXING },
    { "Not", 1, ifm_shape_same_bool, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_unary },
    { "OneHot", 3, ifm_shape_one_hot, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT },
    { "Optional", 0, NULL, NULL, 0, IFM_FAMILY_MOVEMENT, NULL, IFM_WHY_SEQUENCE },
    { "OptionalGetElement", 0, NULL, NULL, 0, IFM_FAMILY_MOVEMENT, NULL, IFM_WHY_SEQUENCE },
    { "OptionalHasElement", 0, NULL, NULL, 0, IFM_FAMILY_MOVEMENT, NULL, IFM_WHY_SEQUENCE },
    { "Or", 2, ifm_shape_compare, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_binary },
    { "PRelu", 2, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ACTIVATION },
    { "Pad", 1, ifm_shape_pad, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT },
    { "Pow", 2, ifm_shape_broadcast, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_binary,
      .rounding = IFM_ROUNDS_OFTEN },
    { "QLinearConv", 8, ifm_shape_qlinear_conv, ifm_cost_qlinear_conv, 0, IFM_FAMILY_CONVOLUTION },
    { "QLinearMatMul", 8, ifm_shape_qlinear_matmul, ifm_cost_qlinear_matmul, 0, IFM_FAMILY_PRODUCT },
    { "QuantizeLinear", 2, ifm_shape_quantize, ifm_cost_per_output, 2, IFM_FAMILY_QUANTISATION },
    { "RMSNormalization", 2, ifm_shape_layer_normalization, ifm_cost_per_output, 4, IFM_FAMILY_NORMALISATION },
    { "RNN", 3, ifm_shape_recurrent, ifm_cost_recurrent, 1, IFM_FAMILY_RECURRENT },
    { "RandomNormal", 0, ifm_shape_random, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, .rounding = IFM_ROUNDS_NEVER },
    { "RandomNormalLike", 1, ifm_shape_like, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, .rounding = IFM_ROUNDS_NEVER },
    { "RandomUniform", 0, ifm_shape_random, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, .rounding = IFM_ROUNDS_NEVER },
    { "RandomUniformLike", 1, ifm_shape_like, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE,
      .rounding = IFM_ROUNDS_NEVER },
    { "Range", 3, ifm_shape_range, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_range,
      .rounding = IFM_ROUNDS_NEVER },
    { "Reciprocal", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_unary },
    { "ReduceL1", 1, ifm_shape_reduce, ifm_cost_per_input, 2, IFM_FAMILY_REDUCTION },
    { "ReduceL2", 1, ifm_shape_reduce, ifm_cost_per_input, 2, IFM_FAMILY_REDUCTION },
    { "ReduceLogSum", 1, ifm_shape_reduce, ifm_cost_per_input, 1, IFM_FAMILY_REDUCTION, .rounding = IFM_ROUNDS_OFTEN },
    { "ReduceLogSumExp", 1, ifm_shape_reduce, ifm_cost_per_input, 2, IFM_FAMILY_REDUCTION, .rounding = IFM_ROUNDS_OFTEN },
    { "ReduceMax", 1, ifm_shape_reduce, ifm_cost_per_input, 1, IFM_FAMILY_REDUCTION, ifm_values_reduce,
      .rounding = IFM_ROUNDS_NEVER },
    { "ReduceMean", 1, ifm_shape_reduce, ifm_cost_per_input, 1, IFM_FAMILY_REDUCTION },
    { "ReduceMin", 1, ifm_shape_reduce, ifm_cost_per_input, 1, IFM_FAMILY_REDUCTION, ifm_values_reduce,
      .rounding = IFM_ROUNDS_NEVER },
    { "ReduceProd", 1, ifm_shape_reduce, ifm_cost_per_input, 1, IFM_FAMILY_REDUCTION, ifm_values_reduce },
    { "ReduceSum", 1, ifm_shape_reduce, ifm_cost_per_input, 1, IFM_FAMILY_REDUCTION, ifm_values_reduce },
    { "ReduceSumSquare", 1, ifm_shape_reduce, ifm_cost_per_input, 2, IFM_FAMILY_REDUCTION },
    { "RegexFullMatch", 0, NULL, NULL, 0, IFM_FAMILY_OTHER, NULL, "it works on strings" },
    { "Relu", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ACTIVATION, .rounding = IFM_ROUNDS_NEVER },
    { "Reshape", 1, ifm_shape_reshape, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, ifm_values_same },
    { "Resize", 1, ifm_shape_resize, ifm_cost_resize, 0, IFM_FAMILY_MOVEMENT, .rounding = IFM_ROUNDS_ONCE },
    { "ReverseSequence", 2, ifm_shape_same, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT },
    { "RoiAlign", 3, ifm_shape_roi, ifm_cost_roi, 0, IFM_FAMILY_POOLING },
    { "RotaryEmbedding", 3, ifm_shape_same, ifm_cost_per_output, 3, IFM_FAMILY_ELEMENTWISE },
    { "Round", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_unary,
      .rounding = IFM_ROUNDS_NEVER },
    { "STFT", 0, NULL, NULL, 0, IFM_FAMILY_PRODUCT },
    { "Scan", 0, ifm_shape_scan, ifm_cost_body, 0, IFM_FAMILY_CONTROL },
    { "Scatter", 3, ifm_shape_scatter_elements, ifm_cost_scatter, 1, IFM_FAMILY_INDEXING, .rounding = IFM_ROUNDS_ONCE },
    { "ScatterElements", 3, ifm_shape_scatter_elements, ifm_cost_scatter, 1, IFM_FAMILY_INDEXING },
    { "ScatterND", 3, ifm_shape_scatter_nd, ifm_cost_scatter, 1, IFM_FAMILY_INDEXING },
    { "Selu", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ACTIVATION, .rounding = IFM_ROUNDS_OFTEN },
    { "SequenceAt", 0, NULL, NULL, 0, IFM_FAMILY_MOVEMENT, NULL, IFM_WHY_SEQUENCE },
    { "SequenceConstruct", 0, NULL, NULL, 0, IFM_FAMILY_MOVEMENT, NULL, IFM_WHY_SEQUENCE },
    { "SequenceEmpty", 0, NULL, NULL, 0, IFM_FAMILY_MOVEMENT, NULL, IFM_WHY_SEQUENCE },
    { "SequenceErase", 0, NULL, NULL, 0, IFM_FAMILY_MOVEMENT, NULL, IFM_WHY_SEQUENCE },
    { "SequenceInsert", 0, NULL, NULL, 0, IFM_FAMILY_MOVEMENT, NULL, IFM_WHY_SEQUENCE },
    { "SequenceLength", 0, NULL, NULL, 0, IFM_FAMILY_MOVEMENT, NULL, IFM_WHY_SEQUENCE },
    { "SequenceMap", 0, NULL, NULL, 0, IFM_FAMILY_CONTROL, NULL, IFM_WHY_SEQUENCE, .rounding = IFM_ROUNDS_ONCE },
    { "Shape", 1, ifm_shape_shape, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT },
    { "Shrink", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ACTIVATION, .rounding = IFM_ROUNDS_NEVER },
    { "Sigmoid", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ACTIVATION, .rounding = IFM_ROUNDS_OFTEN },
    { "Sign", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, .rounding = IFM_ROUNDS_NEVER },
    { "SimplifiedLayerNormalization", 2, ifm_shape_layer_normalization, ifm_cost_per_output, 4, IFM_FAMILY_NORMALISATION },
    { "Sin", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, .rounding = IFM_ROUNDS_OFTEN },
    { "Sinh", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, .rounding = IFM_ROUNDS_OFTEN },
    { "Size", 1, ifm_shape_size, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT },
    { "Slice", 1, ifm_shape_slice, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, ifm_values_slice },
    { "Softmax", 1, ifm_shape_same, ifm_cost_per_output, 5, IFM_FAMILY_SOFTMAX },
    { "SoftmaxCrossEntropyLoss", 2, ifm_shape_loss, ifm_cost_per_input, 6, IFM_FAMILY_REDUCTION },
    { "Softplus", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ACTIVATION, .rounding = IFM_ROUNDS_OFTEN },
    { "Softsign", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ACTIVATION, .rounding = IFM_ROUNDS_OFTEN },
    { "SpaceToDepth", 1, ifm_shape_space_blocks, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT },
    { "Split", 1, ifm_shape_split, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT },
    { "SplitToSequence", 0, NULL, NULL, 0, IFM_FAMILY_MOVEMENT, NULL, IFM_WHY_SEQUENCE },
    { "Sqrt", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_unary,
      .rounding = IFM_ROUNDS_OFTEN },
    { "Squeeze", 1, ifm_shape_squeeze, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, ifm_values_same },
    { "StringConcat", 0, NULL, NULL, 0, IFM_FAMILY_OTHER, NULL, "it works on strings" },
    { "StringNormalizer", 0, NULL, NULL, 0, IFM_FAMILY_OTHER, NULL, "it works on strings" },
    { "StringSplit", 0, NULL, NULL, 0, IFM_FAMILY_OTHER, NULL, "it works on strings" },
    { "Sub", 2, ifm_shape_broadcast, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_binary },
    { "Sum", 1, ifm_shape_broadcast, ifm_cost_variadic, 1, IFM_FAMILY_ELEMENTWISE },
    { "SwiGLU", 2, ifm_shape_same, ifm_cost_per_output, 2, IFM_FAMILY_ACTIVATION },
    { "Swish", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ACTIVATION, .rounding = IFM_ROUNDS_OFTEN },
    { "Tan", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, .rounding = IFM_ROUNDS_OFTEN },
    { "Tanh", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ACTIVATION, .rounding = IFM_ROUNDS_OFTEN },
    { "TensorScatter", 2, ifm_shape_same, ifm_cost_none, 0, IFM_FAMILY_INDEXING, .rounding = IFM_ROUNDS_ONCE },
    { "TfIdfVectorizer", 0, NULL, NULL, 0, IFM_FAMILY_OTHER, NULL, "it works on strings" },
    { "ThresholdedRelu", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ACTIVATION, .rounding = IFM_ROUNDS_NEVER },
    { "Tile", 2, ifm_shape_tile, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT },
    { "TopK", 1, ifm_shape_top_k, ifm_cost_per_input, 1, IFM_FAMILY_REDUCTION, .rounding = IFM_ROUNDS_NEVER },
    { "Transpose", 1, ifm_shape_transpose, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, ifm_values_transpose },
    { "Trilu", 1, ifm_shape_same, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT },
    { "Unique", 1, ifm_shape_by_values, ifm_cost_per_input, 1, IFM_FAMILY_INDEXING },
    { "Unsqueeze", 1, ifm_shape_unsqueeze, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, ifm_values_same },
    { "Upsample", 1, ifm_shape_resize, ifm_cost_resize, 0, IFM_FAMILY_MOVEMENT },
    { "Where", 3, ifm_shape_where, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_where,
      .rounding = IFM_ROUNDS_NEVER },
    { "Xor", 2, ifm_shape_compare, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE },
};

static const char *const conventions[] = {
    "one multiply-add is 1 MAC and 2 FLOP; a bias is 1 FLOP for each element it is added to",
    "matmul A(m x k) B(k x n): 2 m k n; gemm, fully connected: the same",
    "convolution: 2 x outputs x weights of one output; positions in the padding count as though they were computed",
    "transposed convolution: 2 x inputs x weights of one input",
    "attention: its two matrix products, a softmax of the scores, and the projections that it has the weights of",
    "attention's biases, masks and scaling of scores: 0; no mask makes it cheaper",
    "einsum: 2 x the product of the sizes of all its letters, for each input but one",
    "recurrent layer: its matrix products; a bias and a function for each gate; 5 for a new state (LSTM, GRU)",
    "element-wise operators, activations, comparisons: 1 an element, however hard the function",
    "GELU: 4 an element; written out as Div, Erf, Add, Mul, Mul it is those nodes",
    "softmax: 5 an element (maximum, subtract, exponential, sum, divide)",
    "layer, group, instance normalisation: 5 an element; without a mean: 4",
    "batch normalisation by fixed statistics: 2 an element; by the batch's (mean, variance, normalise, scale, shift): 5",
    "dropout: 0; in training 1 an element, the product with its mask",
    "pooling: 1 for each element of the window; reductions: 1 for each element of the input (2 where it is squared)",
    "interpolation: 2 for each element that an output is the weighted sum of; nearest: 0",
    "quantisation: 2 an element",
    "what only moves or describes data: 0; a scatter that reduces: 1 for each element scattered",
    "If: the branch that is taken, where that is known; else at most: of each count the larger of the two",
    "Loop, Scan: the body times the turns",
    "bytes: a node's inputs and outputs, each once; of If, Loop and Scan: what the nodes in them read and write",
    NULL,
};

const char *const *ifm_cost_conventions(void)
{
    return conventions;
}

static const char *const family_names[IFM_N_FAMILIES] = {
    [IFM_FAMILY_OTHER] = "other",
    [IFM_FAMILY_CONVOLUTION] = "convolution",
    [IFM_FAMILY_PRODUCT] = "product",
    [IFM_FAMILY_ATTENTION] = "attention",
    [IFM_FAMILY_NORMALISATION] = "normalisation",
    [IFM_FAMILY_ACTIVATION] = "activation",
    [IFM_FAMILY_ELEMENTWISE] = "elementwise",
    [IFM_FAMILY_POOLING] = "pooling",
    [IFM_FAMILY_REDUCTION] = "reduction",
    [IFM_FAMILY_RECURRENT] = "recurrent",
    [IFM_FAMILY_INDEXING] = "indexing",
    [IFM_FAMILY_MOVEMENT] = "movement",
    [IFM_FAMILY_CONTROL] = "control",
    [IFM_FAMILY_QUANTISATION] = "quantisation",
    [IFM_FAMILY_SOFTMAX] = "softmax",
};

const char *ifm_family_name(IfmNodeFamily family)
{
    g_assert(family < IFM_N_FAMILIES);
    return family_names[family];
}

gboolean ifm_family_multiplies(IfmNodeFamily family)
{
    return family == IFM_FAMILY_CONVOLUTION || family == IFM_FAMILY_PRODUCT || family == IFM_FAMILY_ATTENTION ||
           family == IFM_FAMILY_RECURRENT;
}

/* --- finding ------------------------------------------------------------------------------------------------------ */

static int compare_name(const void *name, const void *row)
{
    return strcmp(name, ((const IfmOperator *)row)->op_type);
}

static const IfmOperator *find(const IfmOperator *rows, gsize n_rows, const char *op_type)
{
    return bsearch(op_type, rows, n_rows, sizeof rows[0], compare_name);
}

/* find_named: of any domain. */
static const IfmOperator *find_named(const char *op_type)
{
    static const IfmOperator none = { .family = IFM_FAMILY_OTHER };
    const IfmOperator *row = find(operators, G_N_ELEMENTS(operators), op_type);
    for (const IfmOperatorTable *table = ifm_fused_operators; row == NULL && table->domain != NULL; table++)
        row = find(table->rows, table->n_rows, op_type);
    return row != NULL ? row : &none;
}

IfmNodeFamily ifm_operator_family(const char *op_type)
{
    return find_named(op_type)->family;
}

IfmRounding ifm_operator_rounding(const char *op_type)
{
    static const IfmRounding of_families[IFM_N_FAMILIES] = {
        [IFM_FAMILY_MOVEMENT] = IFM_ROUNDS_NEVER,  [IFM_FAMILY_INDEXING] = IFM_ROUNDS_NEVER,
        [IFM_FAMILY_CONTROL] = IFM_ROUNDS_NEVER,   [IFM_FAMILY_NORMALISATION] = IFM_ROUNDS_OFTEN,
        [IFM_FAMILY_ATTENTION] = IFM_ROUNDS_OFTEN, [IFM_FAMILY_RECURRENT] = IFM_ROUNDS_OFTEN,
        [IFM_FAMILY_SOFTMAX] = IFM_ROUNDS_OFTEN,
    };
    const IfmOperator *row = find_named(op_type);
    return row->rounding != IFM_ROUNDS_AS_FAMILY ? row->rounding : of_families[row->family];
}

const IfmOperator *ifm_operator_find(const IfmNode *node)
{
    if (*node->domain == '\0')
        return find(operators, G_N_ELEMENTS(operators), node->op_type);
    for (const IfmOperatorTable *table = ifm_fused_operators; table->domain != NULL; table++)
        if (g_str_equal(table->domain, node->domain))
            return find(table->rows, table->n_rows, node->op_type);
    return NULL;
}

gboolean ifm_operator_is_complete(const IfmOperator *row, const IfmNode *node)
{
    gboolean enough = node->n_outputs > 0 && node->n_inputs >= row->n_inputs;
    for (gsize i = 0; enough && i < row->n_inputs; i++)
        enough = *node->inputs[i] != '\0';
    return enough;
}
