#include <string.h>

#include "operators.h"

/* This table holds the rules of shape, cost and type for the operators of ONNX, and these functions find and apply them. */

#define IFM_WHY_SEQUENCE "it works on sequences, which have no one shape"

/*
 * The operator table: operators of one family with the same rules are one row. Conventions of cost: ifm_cost_conventions(),
 * below. Some names that ONNX Runtime puts into the default domain, and some of later versions, are here, too.
 */
/* A row's members and their signs: IfmOperator in operators.h. Names are unique and single-spaced. */
static const IfmOperator operators[] = {
    { "Conv", 2, ifm_shape_conv, ifm_cost_conv, 0, IFM_FAMILY_CONVOLUTION },
    { "ConvInteger", 2, ifm_shape_conv, ifm_cost_conv, 0, IFM_FAMILY_CONVOLUTION, .type = -IFM_DTYPE_I32 },
    { "ConvTranspose", 2, ifm_shape_conv_transpose, ifm_cost_conv_transpose, 0, IFM_FAMILY_CONVOLUTION, .n_ranks = 2 },
    { "DeformConv", 3, ifm_shape_conv, ifm_cost_deform_conv, 0, IFM_FAMILY_CONVOLUTION },
    { "QLinearConv", 8, ifm_shape_conv, ifm_cost_conv, 2, IFM_FAMILY_CONVOLUTION, .type = 7 },
    { "CausalConvWithState", 0, NULL, NULL, 0, IFM_FAMILY_CONVOLUTION },
    { "AffineGrid", 2, ifm_shape_affine_grid, ifm_cost_affine_grid, 0, IFM_FAMILY_PRODUCT, .ints = 1 << 1 },
    { "Det", 1, ifm_shape_det, ifm_cost_det, 0, IFM_FAMILY_PRODUCT },
    { "Einsum", 1, ifm_shape_einsum, ifm_cost_einsum, 0, IFM_FAMILY_PRODUCT, .n_ranks = IFM_RANKS_OF_ALL },
    { "Gemm", 2, ifm_shape_gemm, ifm_cost_gemm, 2, IFM_FAMILY_PRODUCT, .n_ranks = 2 },
    { "MatMul", 2, ifm_shape_matmul, ifm_cost_matmul, 0, IFM_FAMILY_PRODUCT },
    { "MatMulInteger", 2, ifm_shape_matmul, ifm_cost_matmul, 0, IFM_FAMILY_PRODUCT, .type = -IFM_DTYPE_I32 },
    { "QLinearMatMul", 8, ifm_shape_matmul, ifm_cost_matmul, 2, IFM_FAMILY_PRODUCT, .type = 7 },
    { "DFT STFT", 0, NULL, NULL, 0, IFM_FAMILY_PRODUCT },
    { "Attention", 3, ifm_shape_attention, ifm_cost_attention, 0, IFM_FAMILY_ATTENTION, .other_type = IFM_TYPE_SAME },
    { "LinearAttention", 0, NULL, NULL, 0, IFM_FAMILY_ATTENTION, .rounding = IFM_ROUNDS_ONCE },
    { "BatchNormalization", 5, ifm_shape_batch_normalization, ifm_cost_batch_normalization, 0, IFM_FAMILY_NORMALISATION,
      .rounding = IFM_ROUNDS_ONCE },
    { "GroupNormalization InstanceNormalization", 3, ifm_shape_same, ifm_cost_per_output, 5, IFM_FAMILY_NORMALISATION },
    { "LRN", 1, ifm_shape_same, ifm_cost_lrn, 0, IFM_FAMILY_NORMALISATION },
    { "LayerNormalization", 2, ifm_shape_layer_normalization, ifm_cost_per_output, 5, IFM_FAMILY_NORMALISATION,
      .n_ranks = 1 },
    { "LpNormalization", 1, ifm_shape_same, ifm_cost_per_output, 3, IFM_FAMILY_NORMALISATION },
    { "MeanVarianceNormalization", 1, ifm_shape_same, ifm_cost_per_output, 5, IFM_FAMILY_NORMALISATION },
    { "RMSNormalization SimplifiedLayerNormalization", 2, ifm_shape_layer_normalization, ifm_cost_per_output, 4,
      IFM_FAMILY_NORMALISATION, .n_ranks = 1 },
    { "LogSoftmax Softmax", 1, ifm_shape_same, ifm_cost_per_output, 5, IFM_FAMILY_SOFTMAX },
    { "Celu Elu HardSigmoid Mish Selu Sigmoid Softplus Softsign Swish Tanh", 1, ifm_shape_same, ifm_cost_per_output, 1,
      IFM_FAMILY_ACTIVATION, .rounding = IFM_ROUNDS_OFTEN },
    { "Clip Relu Shrink ThresholdedRelu", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ACTIVATION,
      .rounding = IFM_ROUNDS_NEVER },
    { "Gelu", 1, ifm_shape_same, ifm_cost_per_output, 4, IFM_FAMILY_ACTIVATION, .rounding = IFM_ROUNDS_OFTEN },
    { "HardSwish LeakyRelu", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ACTIVATION },
    { "PRelu", 2, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ACTIVATION },
    { "SwiGLU", 2, ifm_shape_same, ifm_cost_per_output, 2, IFM_FAMILY_ACTIVATION },
    { "Abs Ceil Floor Neg Round", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_unary,
      .rounding = IFM_ROUNDS_NEVER },
    { "Acos Acosh Asin Asinh Atan Atanh Cos Cosh Erf Sin Sinh Tan", 1, ifm_shape_same, ifm_cost_per_output, 1,
      IFM_FAMILY_ELEMENTWISE, .rounding = IFM_ROUNDS_OFTEN },
    { "Add Div Mul Sub", 2, ifm_shape_binary, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_binary },
    { "And Equal Greater GreaterOrEqual Less LessOrEqual Or", 2, ifm_shape_binary, ifm_cost_per_output, 1,
      IFM_FAMILY_ELEMENTWISE, ifm_values_binary, .type = -IFM_DTYPE_BOOL },
    { "Bernoulli", 1, ifm_shape_like, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE },
    { "BitShift BitwiseAnd BitwiseOr BitwiseXor", 2, ifm_shape_binary, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE },
    { "BitwiseNot", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE },
    { "BlackmanWindow HammingWindow HannWindow", 1, ifm_shape_window, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE },
    { "Exp Log Sqrt", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_unary,
      .rounding = IFM_ROUNDS_OFTEN },
    { "IsInf IsNaN", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, .type = -IFM_DTYPE_BOOL },
    { "Max Min", 1, ifm_shape_binary, ifm_cost_variadic, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_binary,
      .rounding = IFM_ROUNDS_NEVER },
    { "Mean Sum", 1, ifm_shape_binary, ifm_cost_variadic, 1, IFM_FAMILY_ELEMENTWISE },
    { "Mod", 2, ifm_shape_binary, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_binary,
      .rounding = IFM_ROUNDS_NEVER },
    { "Not", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_unary, .type = -IFM_DTYPE_BOOL },
    { "Pow", 2, ifm_shape_binary, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_binary,
      .rounding = IFM_ROUNDS_OFTEN },
    { "RandomNormal RandomUniform", 0, ifm_shape_random, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE,
      .rounding = IFM_ROUNDS_NEVER },
    { "RandomNormalLike RandomUniformLike", 1, ifm_shape_like, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE,
      .rounding = IFM_ROUNDS_NEVER },
    { "Range", 3, ifm_shape_range, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_range,
      .rounding = IFM_ROUNDS_NEVER },
    { "Reciprocal", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_unary },
    { "RotaryEmbedding", 3, ifm_shape_same, ifm_cost_per_output, 3, IFM_FAMILY_ELEMENTWISE },
    { "Sign", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, .rounding = IFM_ROUNDS_NEVER },
    { "Where", 3, ifm_shape_broadcast, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, ifm_values_where,
      .rounding = IFM_ROUNDS_NEVER, .type = 1 },
    { "Xor", 2, ifm_shape_binary, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE, .type = -IFM_DTYPE_BOOL },
    { "AveragePool", 1, ifm_shape_pool, ifm_cost_pool, 1, IFM_FAMILY_POOLING, .n_ranks = 1 },
    { "GlobalAveragePool", 1, ifm_shape_global_pool, ifm_cost_per_input, 1, IFM_FAMILY_POOLING, .n_ranks = 1 },
    { "GlobalLpPool", 1, ifm_shape_global_pool, ifm_cost_per_input, 2, IFM_FAMILY_POOLING, .n_ranks = 1 },
    { "GlobalMaxPool", 1, ifm_shape_global_pool, ifm_cost_per_input, 1, IFM_FAMILY_POOLING, .rounding = IFM_ROUNDS_NEVER,
      .n_ranks = 1 },
    { "LpPool", 1, ifm_shape_pool, ifm_cost_pool, 2, IFM_FAMILY_POOLING, .n_ranks = 1 },
    { "MaxPool", 1, ifm_shape_pool, ifm_cost_pool, 1, IFM_FAMILY_POOLING, .rounding = IFM_ROUNDS_NEVER, .n_ranks = 1,
      .other_type = -IFM_DTYPE_I64 },
    { "MaxRoiPool", 2, ifm_shape_roi, ifm_cost_roi, 0, IFM_FAMILY_POOLING, .rounding = IFM_ROUNDS_NEVER, .n_ranks = 2 },
    { "MaxUnpool", 2, ifm_shape_max_unpool, ifm_cost_none, 0, IFM_FAMILY_POOLING, .rounding = IFM_ROUNDS_NEVER,
      .n_ranks = 1, .ints = 1 << 2 },
    { "RoiAlign", 3, ifm_shape_roi, ifm_cost_roi, 0, IFM_FAMILY_POOLING, .n_ranks = 2 },
    { "ArgMax ArgMin", 1, ifm_shape_arg, ifm_cost_per_input, 1, IFM_FAMILY_REDUCTION, .rounding = IFM_ROUNDS_NEVER,
      .n_ranks = 1, .type = -IFM_DTYPE_I64 },
    { "CumProd CumSum", 2, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_REDUCTION },
    { "Hardmax", 1, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_REDUCTION, .rounding = IFM_ROUNDS_NEVER },
    { "Multinomial", 1, ifm_shape_multinomial, ifm_cost_per_input, 1, IFM_FAMILY_REDUCTION },
    { "NegativeLogLikelihoodLoss", 2, ifm_shape_loss, ifm_cost_per_output, 1, IFM_FAMILY_REDUCTION },
    { "ReduceL1 ReduceL2 ReduceSumSquare", 1, ifm_shape_reduce, ifm_cost_per_input, 2, IFM_FAMILY_REDUCTION, .n_ranks = 1,
      .ints = 1 << 1 },
    { "ReduceLogSum", 1, ifm_shape_reduce, ifm_cost_per_input, 1, IFM_FAMILY_REDUCTION, .rounding = IFM_ROUNDS_OFTEN,
      .n_ranks = 1, .ints = 1 << 1 },
    { "ReduceLogSumExp", 1, ifm_shape_reduce, ifm_cost_per_input, 2, IFM_FAMILY_REDUCTION, .rounding = IFM_ROUNDS_OFTEN,
      .n_ranks = 1, .ints = 1 << 1 },
    { "ReduceMax ReduceMin", 1, ifm_shape_reduce, ifm_cost_per_input, 1, IFM_FAMILY_REDUCTION, ifm_values_reduce,
      .rounding = IFM_ROUNDS_NEVER, .n_ranks = 1, .ints = 1 << 1 },
    { "ReduceMean", 1, ifm_shape_reduce, ifm_cost_per_input, 1, IFM_FAMILY_REDUCTION, .n_ranks = 1, .ints = 1 << 1 },
    { "ReduceProd ReduceSum", 1, ifm_shape_reduce, ifm_cost_per_input, 1, IFM_FAMILY_REDUCTION, ifm_values_reduce,
      .n_ranks = 1, .ints = 1 << 1 },
    { "SoftmaxCrossEntropyLoss", 2, ifm_shape_loss, ifm_cost_per_input, 6, IFM_FAMILY_REDUCTION },
    { "TopK", 1, ifm_shape_top_k, ifm_cost_per_input, 1, IFM_FAMILY_REDUCTION, .rounding = IFM_ROUNDS_NEVER, .n_ranks = 1,
      .ints = 1 << 1, .other_type = -IFM_DTYPE_I64 },
    { "GRU", 3, ifm_shape_recurrent, ifm_cost_recurrent, 3, IFM_FAMILY_RECURRENT, .other_type = IFM_TYPE_SAME },
    { "LSTM", 3, ifm_shape_recurrent, ifm_cost_recurrent, 4, IFM_FAMILY_RECURRENT, .other_type = IFM_TYPE_SAME },
    { "RNN", 3, ifm_shape_recurrent, ifm_cost_recurrent, 1, IFM_FAMILY_RECURRENT, .other_type = IFM_TYPE_SAME },
    { "Compress", 2, ifm_shape_compress, ifm_cost_none, 0, IFM_FAMILY_INDEXING, .n_ranks = 1 },
    { "Gather", 2, ifm_shape_gather, ifm_cost_none, 0, IFM_FAMILY_INDEXING, ifm_values_gather, .n_ranks = 2 },
    { "GatherElements", 2, ifm_shape_gather_elements, ifm_cost_none, 0, IFM_FAMILY_INDEXING, .n_ranks = 2 },
    { "GatherND", 2, ifm_shape_gather_nd, ifm_cost_none, 0, IFM_FAMILY_INDEXING, .n_ranks = 2 },
    { "GridSample", 2, ifm_shape_grid_sample, ifm_cost_grid_sample, 0, IFM_FAMILY_INDEXING, .rounding = IFM_ROUNDS_ONCE,
      .n_ranks = 2 },
    { "NonZero", 1, ifm_shape_non_zero, ifm_cost_per_input, 1, IFM_FAMILY_INDEXING, .n_ranks = 1, .type = -IFM_DTYPE_I64 },
    { "Scatter", 3, ifm_shape_scatter_elements, ifm_cost_scatter, 1, IFM_FAMILY_INDEXING, .rounding = IFM_ROUNDS_ONCE },
    { "ScatterElements", 3, ifm_shape_scatter_elements, ifm_cost_scatter, 1, IFM_FAMILY_INDEXING },
    { "ScatterND", 3, ifm_shape_scatter_nd, ifm_cost_scatter, 1, IFM_FAMILY_INDEXING },
    { "TensorScatter", 2, ifm_shape_same, ifm_cost_none, 0, IFM_FAMILY_INDEXING, .rounding = IFM_ROUNDS_ONCE },
    { "Unique", 1, ifm_shape_by_values, ifm_cost_per_input, 1, IFM_FAMILY_INDEXING, .other_type = -IFM_DTYPE_I64 },
    { "BitCast", 1, ifm_shape_cast, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, .rounding = IFM_ROUNDS_ONCE },
    { "Cast", 1, ifm_shape_cast, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, ifm_values_cast },
    { "CastLike", 2, ifm_shape_same, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, ifm_values_cast, .type = 1 },
    { "CenterCropPad", 2, ifm_shape_center_crop_pad, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, .n_ranks = 1, .ints = 1 << 1 },
    { "Col2Im", 3, ifm_shape_col2im, ifm_cost_per_input, 1, IFM_FAMILY_MOVEMENT, .rounding = IFM_ROUNDS_ONCE, .n_ranks = 1,
      .ints = 1 << 1 | 1 << 2 },
    { "Concat", 1, ifm_shape_concat, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, ifm_values_concat,
      .n_ranks = IFM_RANKS_OF_ALL },
    { "Constant", 0, ifm_shape_constant, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT },
    { "ConstantOfShape", 1, ifm_shape_constant_of_shape, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT },
    { "DepthToSpace SpaceToDepth", 1, ifm_shape_space_blocks, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, .n_ranks = 1 },
    { "Dropout", 1, ifm_shape_dropout, ifm_cost_dropout, 0, IFM_FAMILY_MOVEMENT },
    { "Expand", 2, ifm_shape_expand, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, ifm_values_expand, .n_ranks = 1,
      .ints = 1 << 1 },
    { "EyeLike", 1, ifm_shape_like, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT },
    { "Flatten", 1, ifm_shape_flatten, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, ifm_values_same, .n_ranks = 1 },
    { "Identity", 1, ifm_shape_same, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, ifm_values_same },
    { "MemcpyFromHost MemcpyToHost", 1, ifm_shape_same, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT,
      .rounding = IFM_ROUNDS_ONCE },
    { "OneHot", 3, ifm_shape_one_hot, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, .n_ranks = 1, .type = 2 },
    { "Pad", 1, ifm_shape_pad, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, .n_ranks = 1, .ints = 1 << 1 | 1 << 3 },
    { "Reshape", 1, ifm_shape_reshape, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, ifm_values_same, .n_ranks = 1,
      .ints = 1 << 1 },
    { "Resize", 1, ifm_shape_resize, ifm_cost_resize, 0, IFM_FAMILY_MOVEMENT, .rounding = IFM_ROUNDS_ONCE, .n_ranks = 1 },
    { "ReverseSequence", 2, ifm_shape_same, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT },
    { "Shape", 1, ifm_shape_shape, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, .n_ranks = 1, .type = -IFM_DTYPE_I64 },
    { "Size", 1, ifm_shape_size, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, .type = -IFM_DTYPE_I64 },
    { "Slice", 1, ifm_shape_slice, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, ifm_values_slice, .n_ranks = 1, .ints = 0x1e },
    { "Split", 1, ifm_shape_split, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, .n_ranks = 1, .ints = 1 << 1,
      .other_type = IFM_TYPE_SAME },
    { "Squeeze", 1, ifm_shape_squeeze, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, ifm_values_same, .n_ranks = 1,
      .ints = 1 << 1 },
    { "Tile", 2, ifm_shape_tile, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, .n_ranks = 1, .ints = 1 << 1 },
    { "Transpose", 1, ifm_shape_transpose, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, ifm_values_transpose, .n_ranks = 1 },
    { "Trilu", 1, ifm_shape_same, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT },
    { "Unsqueeze", 1, ifm_shape_unsqueeze, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, ifm_values_same, .n_ranks = 1,
      .ints = 1 << 1 },
    { "Upsample", 1, ifm_shape_resize, ifm_cost_resize, 0, IFM_FAMILY_MOVEMENT, .n_ranks = 1 },
    { "ConcatFromSequence Optional OptionalGetElement OptionalHasElement SequenceAt SequenceConstruct SequenceEmpty "
      "SequenceErase SequenceInsert SequenceLength SplitToSequence",
      0, NULL, NULL, 0, IFM_FAMILY_MOVEMENT, .why = IFM_WHY_SEQUENCE },
    { "DequantizeLinear", 2, ifm_shape_same, ifm_cost_per_output, 2, IFM_FAMILY_QUANTISATION, .type = 1 },
    { "DynamicQuantizeLinear", 1, ifm_shape_dynamic_quantize, ifm_cost_per_input, 4, IFM_FAMILY_QUANTISATION,
      .type = -IFM_DTYPE_U8 },
    { "QuantizeLinear", 2, ifm_shape_quantize, ifm_cost_per_output, 2, IFM_FAMILY_QUANTISATION },
    { "If", 1, ifm_shape_if, ifm_cost_body, 0, IFM_FAMILY_CONTROL },
    { "Loop", 0, ifm_shape_loop, ifm_cost_body, 0, IFM_FAMILY_CONTROL },
    { "Scan", 0, ifm_shape_scan, ifm_cost_body, 0, IFM_FAMILY_CONTROL },
    { "SequenceMap", 0, NULL, NULL, 0, IFM_FAMILY_CONTROL, .why = IFM_WHY_SEQUENCE, .rounding = IFM_ROUNDS_ONCE },
    { "NonMaxSuppression", 2, ifm_shape_by_values, ifm_cost_by_values, 0, IFM_FAMILY_OTHER, .rounding = IFM_ROUNDS_NEVER,
      .type = -IFM_DTYPE_I64 },
    { "ImageDecoder MelWeightMatrix", 0, NULL, NULL, 0, IFM_FAMILY_OTHER },
    { "RegexFullMatch StringConcat StringNormalizer StringSplit TfIdfVectorizer", 0, NULL, NULL, 0, IFM_FAMILY_OTHER,
      .why = "it works on strings" },
    { NULL },
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

/* OperatorDomain: the operators of one domain. */
typedef struct
{
    const char *domain;
    const IfmOperator *rows;
    GHashTable *by_name; /* name -> row */
} OperatorDomain;

static GHashTable *index_names(const IfmOperator *row)
{
    GHashTable *by_name = g_hash_table_new(g_str_hash, g_str_equal); /* it stays, with its names */
    for (; row->names != NULL; row++)
    {
        g_autofree char **names = g_strsplit(row->names, " ", -1);
        for (gsize i = 0; names[i] != NULL; i++)
            g_hash_table_insert(by_name, names[i], (gpointer)row);
    }
    return by_name;
}

#define N_TABLES 3
static const OperatorDomain *tables(void)
{
    static OperatorDomain all[N_TABLES] = {
        { "", operators, NULL },
        { "com.microsoft", ifm_microsoft_operators, NULL },
        { "com.microsoft.nchwc", ifm_nchwc_operators, NULL },
    };
    static gsize ready;
    if (g_once_init_enter(&ready))
    {
        for (gsize i = 0; i < N_TABLES; i++)
            all[i].by_name = index_names(all[i].rows);
        g_once_init_leave(&ready, 1);
    }
    return all;
}

/* find_named: of any domain. */
static const IfmOperator *find_named(const char *op_type)
{
    static const IfmOperator none = { .family = IFM_FAMILY_OTHER };
    const OperatorDomain *all = tables();
    const IfmOperator *row = NULL;
    for (gsize i = 0; row == NULL && i < N_TABLES; i++)
        row = g_hash_table_lookup(all[i].by_name, op_type);
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
    const OperatorDomain *all = tables();
    for (gsize i = 0; i < N_TABLES; i++)
        if (g_str_equal(all[i].domain, node->domain))
            return g_hash_table_lookup(all[i].by_name, node->op_type);
    return NULL;
}

gboolean ifm_operator_is_complete(const IfmOperator *row, const IfmNode *node)
{
    gboolean enough = node->n_outputs > 0 && node->n_inputs >= row->n_inputs;
    for (gsize i = 0; enough && i < row->n_inputs; i++)
        enough = *node->inputs[i] != '\0';
    return enough;
}

static IfmDtype type_of(const IfmOperatorCall *call, int type)
{
    if (type < 0)
        return (IfmDtype)-type;
    return (gsize)type < call->node->n_inputs ? call->inputs[type].dtype : IFM_DTYPE_UNDEFINED;
}

gboolean ifm_operator_infer(const IfmOperatorCall *call, GError **error)
{
    const IfmOperator *row = call->row;
    const int other = row->other_type == IFM_TYPE_SAME ? row->type : row->other_type;
    for (gsize i = 0; i < call->node->n_outputs && row->n_inputs > 0; i++)
        if (i == 0 || row->other_type != 0)
            call->outputs[i].dtype = type_of(call, i == 0 ? row->type : other);
    for (gsize i = 0; i < MIN(row->n_ranks, call->node->n_inputs); i++)
        if (call->inputs[i].rank < 0)
            return TRUE;
    for (gsize i = 0; row->ints >> i != 0; i++)
    {
        const IfmTensorInfo *given = (row->ints >> i & 1) != 0 ? ifm_call_input(call, i) : NULL;
        if (given != NULL && ifm_fact_ints(given) == NULL)
            return ifm_call_by_values(call);
    }
    return row->shape(call, error);
}
