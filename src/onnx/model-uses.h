#pragma once
#include "onnx-private.h"

G_BEGIN_DECLS

/** ifm_onnx_is_constant: Whether a node is a Constant of the default domain. */
gboolean ifm_onnx_is_constant(const Onnx__NodeProto *node);

/** ifm_onnx_n_elements: Of a checked tensor. */
gint64 ifm_onnx_n_elements(const Onnx__TensorProto *tensor);

/** IfmUses: who reads which tensor, in the graph and in its subgraphs. It borrows the model. */
typedef struct IfmUses IfmUses;
IfmUses *ifm_uses_new(const IfmModel *model);
void ifm_uses_free(IfmUses *uses);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmUses, ifm_uses_free)

/**
 * ifm_uses_n_parameters: How many of the model's parameters a stored tensor holds. Floating-point numbers are parameters
 * but for scales of quantisation and, in Constant nodes (@is_constant), numbers of a formula and settings of an operator;
 * integers are where a quantised operator reads them as weights or as a bias. Weights of 4 bits that are packed into bytes
 * count one by one.
 */
gint64 ifm_uses_n_parameters(const IfmUses *uses, const char *name, const Onnx__TensorProto *tensor, gboolean is_constant);

G_END_DECLS
