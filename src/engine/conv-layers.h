/* Shared with other rooms: a convolution of a model as the record of what ran has it, by the model alone. */
#pragma once
#include <convolution/convolution.h>
#include <onnx/onnx.h>

G_BEGIN_DECLS

/** ifm_conv_layer_read: Its name, or that of its output, and its sizes; no algorithm.
 * Returns: (transfer full) NULL: the node is no convolution, or has not two dimensions, or its sizes are not known */
IfmConvLayer *ifm_conv_layer_read(const IfmModel *model, const IfmAnalysis *analysis, gsize node);

G_END_DECLS
