#pragma once
#include "gradient-private.h"

G_BEGIN_DECLS

/* The backward pass, backward.c, as gradient.c uses it. */

#define IFM_GRADIENT_MIN_OPSET 7 /* broadcasting as it is since */
#define IFM_GRADIENT_OPSET 16    /* what is emitted: scatters that add. Of what has rules nothing changed from 13 to 16 */

/* ifm_back_new: Returns: NULL with IFM_ERROR_INVALID of ifm_back_facts_new(). @options: borrowed
 * @suffix: of the new model's name; NULL: none */
IfmBack *ifm_back_new(IfmModel *model, const IfmGradientOptions *options, const char *suffix, GError **error);
void ifm_back_free(IfmBack *back);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmBack, ifm_back_free)

/* ifm_back_follow: Fills reached and live, from back->reached (the tensors to differentiate by) to @output. Returns: FALSE
 * with IFM_ERROR_UNSUPPORTED for a node between them without a rule. */
gboolean ifm_back_follow(IfmBack *back, const char *output, GError **error);
/* ifm_back_copy_inputs: Gives the new model the inputs of the old one. */
void ifm_back_copy_inputs(IfmBack *back);
/* ifm_back_copy_forward: Copies the nodes and weights that back->wanted needs. @inputs: names that are inputs instead of
 * weights now */
void ifm_back_copy_forward(IfmBack *back, GHashTable *inputs);
/* ifm_back_run_rules: Computes all gradients from the existing one, of the output that the loss reads. */
void ifm_back_run_rules(IfmBack *back);

/* ifm_gradient_inlined: gradient-lower.c: The model with the branches of If whose condition is known put in. Returns:
 * (transfer full) @model itself where it has none; NULL with an error. */
IfmModel *ifm_gradient_inlined(IfmModel *model, const IfmGradientOptions *options, GError **error);
/* ifm_gradient_lowered: gradient-lower.c: The same model of operators as the rules read them: of opset 13 at least, with
 * recurrent layers written out. Weights, inputs and outputs keep their names. Returns: (transfer full) @model itself where
 * nothing is to be replaced; NULL with an error. */
IfmModel *ifm_gradient_lowered(IfmModel *model, const IfmGradientOptions *options, GError **error);
/* ifm_lower_recurrent: gradient-recurrent.c: Emits what replaces the LSTM, GRU or RNN in hand. FALSE: nothing was emitted
 */
gboolean ifm_lower_recurrent(IfmBack *back);

G_END_DECLS
