/* Shared with other rooms: the model that gives reference outputs. */
#pragma once
#include <inferometer/model.h>

G_BEGIN_DECLS

/*
 * A reference that is independent of the engines' kernels, and copies of it whose spread is what rounding may do.
 *
 *     ifm_model_reference(model)  ->  run once: the reference
 *     ifm_model_disturbed(...)    ->  run N times in one session: every run draws other noise (Monte Carlo arithmetic)
 *
 * Both are models of the same inputs and outputs (names, dtypes, shapes) as the one they are made of. They are meant for
 * ONNX Runtime with its optimisation off: an optimiser may fuse the plain arithmetic back into a quantised kernel.
 */

/**
 * ifm_model_reference: The model with its low precision written out as plain arithmetic.
 * Integer and quantised operators become floating-point arithmetic on the integer values, each sum split so that it is
 * exact, each rounding and clipping as the operator's definition has it. f16 and bf16 are computed in f32. Bodies of If,
 * Loop and Scan are rewritten too. Weights are unpacked by nodes, so the model does not grow and external data stay where
 * they are.
 * @kept: (out) (transfer full) (optional) char*: types of the operators that are quantised or of low precision and stay as
 *        they are, each once, sorted: where an engine is compared with this model they judge themselves. Empty: none
 * Returns: (transfer full) the model itself, referenced, where there is nothing to rewrite. NULL with IFM_ERROR_INVALID or
 * IFM_ERROR_MEMORY where what is inside of the file is beyond the 2 GiB of one ONNX file or the memory.
 */
IfmModel *ifm_model_reference(IfmModel *model, GPtrArray **kept, GError **error);

/**
 * IfmDisturbance: how much an engine may differ.
 * @seed: of all noise; another seed, other noise
 * @roundoff: the unit roundoff of the arithmetic that is judged: 2^-24 of f32, 2^-11 of f16, 2^-8 of bf16
 * @factor: all amplitudes are multiplied by it; IFM_DISTURBANCE_QUANTISED in a model with quantisers, else 1
 * @bindings: [n_bindings] sizes of free dimensions: how many terms sums have. NULL: as far as the model fixes them
 */
typedef struct
{
    guint32 seed;
    double roundoff, factor;
    const IfmDimBinding *bindings;
    gsize n_bindings;
} IfmDisturbance;
#define IFM_DISTURBANCE_QUANTISED 8.0

/** ifm_disturbance_init: Fills roundoff and factor from the types and operators of the model as it was given, not of its
 * reference. The rest is 0. */
void ifm_disturbance_init(IfmDisturbance *disturbance, const IfmModel *model);

/**
 * ifm_model_disturbed: The model with noise behind every operation that rounds: y becomes y (1 + d), d uniform in +-a,
 * drawn anew for each element, node and run. Equals: a = 2 u factor at an output that is rounded, 8 u factor behind exp and
 * the like, and 2 u sqrt(K) factor at the data input of a sum of K products or terms (2 u factor for half precision, whose
 * sums engines keep in f32). Exact arithmetic of ifm_model_reference(), moves of data, and what follows from shapes and
 * constants alone have no noise.
 * @n_disturbed: (out) (optional) the number of places with noise; 0: all runs are equal
 * Returns: (transfer full) the reference itself, referenced, where there is nothing to disturb. NULL with the errors of
 * ifm_model_reference(), or IFM_ERROR_UNSUPPORTED for an opset below 7, which has no product that broadcasts.
 */
IfmModel *ifm_model_disturbed(IfmModel *reference, const IfmDisturbance *disturbance, gsize *n_disturbed, GError **error);

G_END_DECLS
