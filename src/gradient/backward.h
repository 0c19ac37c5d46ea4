#pragma once
#include "gradient-private.h"

G_BEGIN_DECLS

/* The backward pass, backward.c, as gradient.c uses it. */

#define IFM_GRADIENT_MIN_OPSET 13 /* axes are inputs; rules do not read the older form */
#define IFM_GRADIENT_OPSET 16     /* what is emitted: scatters that add. Of what has rules nothing changed from 13 to 16 */

/* ifm_back_new: Returns: NULL with IFM_ERROR_INVALID of ifm_back_facts_new(). @suffix: of the new model's name */
IfmBack *ifm_back_new(IfmModel *model, const IfmGradientOptions *options, const char *suffix, GError **error);
void ifm_back_free(IfmBack *back);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmBack, ifm_back_free)

gboolean ifm_back_is_float(IfmDtype dtype);
/* ifm_back_follow: Fills reached and live, from back->reached (the tensors to differentiate by) to @output. Returns: FALSE
 * with IFM_ERROR_UNSUPPORTED for a node between them without a rule. */
gboolean ifm_back_follow(IfmBack *back, const char *output, GError **error);
/* ifm_back_copy_forward: Copies the nodes and weights that back->wanted needs. @inputs: names that are inputs instead of
 * weights now */
void ifm_back_copy_forward(IfmBack *back, GHashTable *inputs);
/* ifm_back_run_rules: Computes all gradients from the existing one, of the output that the loss reads. */
void ifm_back_run_rules(IfmBack *back);

G_END_DECLS
