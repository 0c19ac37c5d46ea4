#include "operators.h"

/*
 * Operators of optimised graphs, from the domains of ONNX Runtime. MACs are those of the fused nodes (Attention,
 * QAttention: with the products that make queries, keys and values), so optimising a graph does not change them. FLOP
 * follow the same conventions, except for attention: they do not contain the additions to products and scores, nor the
 * scaling, which were counted in separate nodes.
 */
const IfmOperator ifm_microsoft_operators[] = {
    { "FusedConv", 2, ifm_shape_conv, ifm_cost_fused_conv, 0, IFM_FAMILY_CONVOLUTION },
    { "NhwcConv NhwcFusedConv", 2, ifm_shape_conv, ifm_cost_fused_conv, 0, IFM_FAMILY_CONVOLUTION },
    { "QLinearConv", 8, ifm_shape_conv, ifm_cost_conv, 2, IFM_FAMILY_CONVOLUTION, .type = 7 },
    { "DynamicQuantizeMatMul MatMulIntegerToFloat", 3, ifm_shape_matmul, ifm_cost_matmul, 2, IFM_FAMILY_PRODUCT,
      .type = 2 },
    { "FusedGemm", 2, ifm_shape_gemm, ifm_cost_gemm, 2, IFM_FAMILY_PRODUCT, .n_ranks = 2 },
    { "FusedMatMul FusedMatMulActivation TransposeMatMul", 2, ifm_shape_matmul, ifm_cost_matmul, 0, IFM_FAMILY_PRODUCT },
    { "MatMulInteger16", 2, ifm_shape_matmul, ifm_cost_matmul, 0, IFM_FAMILY_PRODUCT, .type = -IFM_DTYPE_I32 },
    { "MatMulNBits", 3, ifm_shape_matmul_n_bits, ifm_cost_matmul, 0, IFM_FAMILY_PRODUCT, .n_ranks = 1 },
    { "QGemm", 6, ifm_shape_q_gemm, ifm_cost_q_gemm, 0, IFM_FAMILY_PRODUCT, .type = 1 },
    { "Attention", 2, ifm_shape_attention, ifm_cost_attention, 0, IFM_FAMILY_ATTENTION, .other_type = IFM_TYPE_SAME },
    { "GroupQueryAttention MultiHeadAttention", 1, ifm_shape_attention, ifm_cost_attention, 0, IFM_FAMILY_ATTENTION,
      .other_type = IFM_TYPE_SAME },
    { "QAttention", 5, ifm_shape_attention, ifm_cost_attention, 0, IFM_FAMILY_ATTENTION, .rounding = IFM_ROUNDS_ONCE,
      .type = 3, .other_type = IFM_TYPE_SAME },
    { "DecoderMaskedMultiHeadAttention", 0, NULL, NULL, 0, IFM_FAMILY_ATTENTION },
    { "EmbedLayerNormalization", 1, ifm_shape_embed_normalization, ifm_cost_embed_normalization, 0,
      IFM_FAMILY_NORMALISATION, .type = 2 },
    { "GroupNorm", 3, ifm_shape_same, ifm_cost_per_output, 5, IFM_FAMILY_NORMALISATION, .rounding = IFM_ROUNDS_ONCE },
    { "LayerNormalization", 2, ifm_shape_layer_normalization, ifm_cost_per_output, 5, IFM_FAMILY_NORMALISATION,
      .n_ranks = 1 },
    { "SimplifiedLayerNormalization", 2, ifm_shape_layer_normalization, ifm_cost_per_output, 4, IFM_FAMILY_NORMALISATION,
      .n_ranks = 1 },
    { "SkipLayerNormalization", 3, ifm_shape_skip_normalization, ifm_cost_skip_normalization, 5, IFM_FAMILY_NORMALISATION },
    { "SkipSimplifiedLayerNormalization", 3, ifm_shape_skip_normalization, ifm_cost_skip_normalization, 4,
      IFM_FAMILY_NORMALISATION },
    { "BiasSoftmax", 2, ifm_shape_same, ifm_cost_per_output, 6, IFM_FAMILY_SOFTMAX, .rounding = IFM_ROUNDS_ONCE },
    { "QLinearSoftmax", 2, ifm_shape_same, ifm_cost_per_output, 5, IFM_FAMILY_SOFTMAX, .rounding = IFM_ROUNDS_ONCE },
    { "BiasGelu", 2, ifm_shape_same, ifm_cost_biased, 4, IFM_FAMILY_ACTIVATION, .rounding = IFM_ROUNDS_OFTEN },
    { "BiasSplitGelu", 2, ifm_shape_half, ifm_cost_per_output, 7, IFM_FAMILY_ACTIVATION },
    { "FastGelu", 1, ifm_shape_same, ifm_cost_biased, 4, IFM_FAMILY_ACTIVATION, .rounding = IFM_ROUNDS_OFTEN },
    { "Gelu", 1, ifm_shape_same, ifm_cost_per_output, 4, IFM_FAMILY_ACTIVATION },
    { "QLinearLeakyRelu QLinearSigmoid", 2, ifm_shape_same, ifm_cost_per_output, 1, IFM_FAMILY_ACTIVATION },
    { "QuickGelu", 1, ifm_shape_same, ifm_cost_per_output, 4, IFM_FAMILY_ACTIVATION, .rounding = IFM_ROUNDS_OFTEN },
    { "BiasAdd", 2, ifm_shape_same, ifm_cost_biased, 0, IFM_FAMILY_ELEMENTWISE },
    { "BiasDropout", 2, ifm_shape_dropout, ifm_cost_biased, 0, IFM_FAMILY_ELEMENTWISE },
    { "QLinearAdd QLinearMul", 7, ifm_shape_broadcast, ifm_cost_per_output, 1, IFM_FAMILY_ELEMENTWISE },
    { "RotaryEmbedding", 2, ifm_shape_same, ifm_cost_per_output, 3, IFM_FAMILY_ELEMENTWISE },
    { "QLinearAveragePool", 5, ifm_shape_pool, ifm_cost_pool, 1, IFM_FAMILY_POOLING, .n_ranks = 1 },
    { "QLinearGlobalAveragePool", 5, ifm_shape_global_pool, ifm_cost_per_input, 1, IFM_FAMILY_POOLING, .n_ranks = 1 },
    { "QLinearConcat", 5, ifm_shape_concat, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, .rounding = IFM_ROUNDS_ONCE, .type = 2 },
    { "Trilu", 1, ifm_shape_same, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT },
    { "DequantizeLinear", 2, ifm_shape_same, ifm_cost_per_output, 2, IFM_FAMILY_QUANTISATION, .type = 1 },
    { "QuantizeLinear", 2, ifm_shape_quantize, ifm_cost_per_output, 2, IFM_FAMILY_QUANTISATION },
    { NULL },
};

/* Channels in blocks, as wide as the machine's registers: they may be more than the model's, filled up. */
const IfmOperator ifm_nchwc_operators[] = {
    { "Conv", 2, ifm_shape_conv, ifm_cost_fused_conv, 0, IFM_FAMILY_CONVOLUTION },
    { "AveragePool MaxPool", 1, ifm_shape_pool, ifm_cost_pool, 1, IFM_FAMILY_POOLING, .n_ranks = 1 },
    { "GlobalAveragePool GlobalMaxPool", 1, ifm_shape_global_pool, ifm_cost_per_input, 1, IFM_FAMILY_POOLING,
      .n_ranks = 1 },
    { "ReorderInput", 1, ifm_shape_reorder_input, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, .rounding = IFM_ROUNDS_ONCE,
      .n_ranks = 1 },
    { "ReorderOutput", 1, ifm_shape_reorder_output, ifm_cost_none, 0, IFM_FAMILY_MOVEMENT, .rounding = IFM_ROUNDS_ONCE,
      .n_ranks = 1 },
    { "Upsample", 1, ifm_shape_resize, ifm_cost_resize, 0, IFM_FAMILY_MOVEMENT, .n_ranks = 1 },
    { NULL },
};
