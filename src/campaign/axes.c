#include <campaign/campaign.h>

/* The next point: as an odometer counts. FALSE behind the last. */
static gboolean advance(const guint *lengths, gsize n, guint *at)
{
    for (gsize axis = n; axis-- > 0; at[axis] = 0)
        if (++at[axis] < lengths[axis])
            return TRUE;
    return FALSE;
}

gboolean ifm_axes_each(const guint *lengths, gsize n, IfmPointFunc visit, void *user, GError **error)
{
    g_autofree guint *at = g_new0(guint, n);
    for (gsize axis = 0; axis < n; axis++)
        if (lengths[axis] == 0)
            return TRUE;
    do
        if (!visit(at, user, error))
            return FALSE;
    while (advance(lengths, n, at));
    return TRUE;
}
