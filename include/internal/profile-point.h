/* room: profile */
#pragma once
#include <inferometer/onnx.h>
#include <inferometer/profile.h>
#include <internal/measure.h>

G_BEGIN_DECLS

/* Points: a model at one value of each axis. The lists of a profile (`--dim N=100,500`, `--scaling`) and the studies of
 * kind `profile` make their models here, so that both measure the same cases. */

typedef struct IfmProfilePoint IfmProfilePoint;

/** ifm_profile_point_new: @options: copied; its texts are borrowed until the point is planned. Returns: (transfer full) */
IfmProfilePoint *ifm_profile_point_new(const IfmProfileOptions *options);
void ifm_profile_point_free(IfmProfilePoint *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmProfilePoint, ifm_profile_point_free)

/** ifm_profile_point_set: One value of an axis: of a parameter where the model is of the zoo and has one of that name, else
 * of a free dimension of the inputs. */
void ifm_profile_point_set(IfmProfilePoint *self, const char *name, gint64 size);

/** ifm_profile_point_plan: Reads or builds the model and the pass asked for, as ifm_profile_new() does; files go under
 * OUTPUT. To be called once. @written: (nullable) paths of models that were written before and are read instead of being
 * built again; those that are written now are added    Returns: FALSE with why there is no such model */
gboolean ifm_profile_point_plan(IfmProfilePoint *self, GHashTable *written, GError **error);
/** ifm_profile_point_case: of the pass asked for, on the first of the devices, by the usual protocol. Borrows from @self.
 */
IfmModelCase ifm_profile_point_case(const IfmProfilePoint *self);
/** ifm_profile_point_flop: of one inference of that pass; -1 where an operator's is not known. */
gint64 ifm_profile_point_flop(const IfmProfilePoint *self);

G_END_DECLS
