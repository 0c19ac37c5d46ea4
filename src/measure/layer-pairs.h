#pragma once
#include <onnx/onnx.h>

G_BEGIN_DECLS

/** IfmLayerPair: a tensor of A, which an input or the first output of a node is, and what stands for it in B. Names are of
 * the models. @layer: the name of the node, or of its tensor; @op_type: "input" of an input of the model
 * @b_before: where B quantises the tensor: what it is before that; NULL
 * @node: of A; -1: it is an input */
typedef struct
{
    const char *layer, *op_type, *a, *b, *b_before;
    IfmDtype a_dtype, b_dtype;
    gsize bytes; /* of both, and of what it is before; 0: not known */
    gssize node;
} IfmLayerPair;

/**
 * ifm_layer_pairs: The layers of two models that have the same names, in the order of A. The tensors are matched by their
 * names; where B has none of the name, by the node's. Of a tensor that B quantises, that which DequantizeLinear makes of it
 * is taken.
 * @a, @b: borrowed, as long as the pairs are used    @n_layers: (out) layers of A with floating-point outputs
 * Returns: (transfer full) IfmLayerPair; empty where the models have no names in common.
 */
GArray *ifm_layer_pairs(const IfmModel *a, const IfmAnalysis *analysis_a, const IfmModel *b, const IfmAnalysis *analysis_b,
                        gsize *n_layers);

G_END_DECLS
