/* Shared with other rooms: models that are built for their shapes alone. */
#pragma once
#include <onnx/onnx.h>

G_BEGIN_DECLS

/** ifm_model_builder_outline: Weights of the file of ifm_model_builder_external() get no values: the model is as
 * ifm_model_open_outline() opens it. */
void ifm_model_builder_outline(IfmModelBuilder *builder);

G_END_DECLS
