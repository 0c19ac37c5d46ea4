/* room: campaign */
#pragma once
#include <inferometer/error.h>

G_BEGIN_DECLS

/* Axes and their points, as studies and the scaling of a profile expand them. */

/** IfmPointFunc: one point. @at: [n] the index of its value on each axis. Returns: FALSE with an error, which ends the
 * expansion. */
typedef gboolean (*IfmPointFunc)(const guint *at, void *user, GError **error);

/** ifm_axes_each: Visits every point of axes, the last axis innermost. @lengths: [n] how many values each axis has; an axis
 * without values has no points    @n: 1 or more. Returns: FALSE with the error of @visit. */
gboolean ifm_axes_each(const guint *lengths, gsize n, IfmPointFunc visit, void *user, GError **error);

G_END_DECLS
