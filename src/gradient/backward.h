#pragma once
#include "gradient-private.h"

G_BEGIN_DECLS

/* What gradient.c makes a backward pass of: backward.c. */

#define IFM_GRADIENT_LEAST_OPSET 13 /* axes as inputs; rules read no older form */
#define IFM_GRADIENT_OPSET 16 /* what is emitted: scatters that add. Of what has rules nothing changed from 13 to 16 */

/* ifm_back_new: Returns: NULL with IFM_ERROR_INVALID of ifm_back_facts_new(). @suffix: of the new model's name */
IfmBack *ifm_back_new(IfmModel *model, const char *suffix, GError **error);
void ifm_back_free(IfmBack *back);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmBack, ifm_back_free)

gboolean ifm_back_is_float(IfmDtype dtype);
/* ifm_back_follow: From back->reached (what is differentiated by) to @output: fills reached and live. Returns: FALSE with
 * IFM_ERROR_UNSUPPORTED for a node on the way without a rule. */
gboolean ifm_back_follow(IfmBack *back, const char *output, GError **error);
/* ifm_back_copy_forward: Nodes and weights that what is in back->wanted needs. @inputs: names that are no weights any more
 */
void ifm_back_copy_forward(IfmBack *back, GHashTable *inputs);
/* ifm_back_run_rules: From the gradients there are (the loss's output) to all others. */
void ifm_back_run_rules(IfmBack *back);

G_END_DECLS
