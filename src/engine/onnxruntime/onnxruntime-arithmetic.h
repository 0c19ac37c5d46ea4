#pragma once
#include <engine/engine.h>

G_BEGIN_DECLS

/** OrtNodeTypes: the types of a node's tensors, as a profile has them: what was left out or packed is not among them. */
typedef struct
{
    IfmDtype inputs[64], outputs[64];
    gsize n_inputs, n_outputs;
} OrtNodeTypes;

/**
 * ifm_ort_arithmetic: What a node of a profile computed in.
 * @dtype: (out) of a product of integers the first factor's type; else the lowest floating-point type among its tensors;
 * else that of its first output
 * Returns: (transfer full) "u8s8" (both factors), "f32", "u8" (the second factor is not known), "" for an operator that
 * only moves data.
 */
char *ifm_ort_arithmetic(const char *op_type, const OrtNodeTypes *types, IfmDtype *dtype);

/** ifm_ort_is_quantised: Whether products of integers may come of the model: only then the graph that ran is looked at. */
gboolean ifm_ort_is_quantised(const IfmModel *model);

/** ifm_ort_arithmetic_by_graph: What the optimised graph adds: the types of weights that were packed, "f32, int4 weights"
 * with the accuracy level that their operator asks for. @graph: its large weights need not be read */
void ifm_ort_arithmetic_by_graph(const IfmModel *graph, IfmEffectiveConfig *effective_config);

G_END_DECLS
