#include <internal/implausible.h>
#include <math.h>

#define RATIO_KNOWN 3   /* of two medians with intervals */
#define RATIO_UNKNOWN 4 /* where one has none */
#define MIN_LARGER 3    /* that blame a smaller case */

static gboolean has_more_work(const IfmTimedWork *larger, const IfmTimedWork *smaller, gsize n_axes)
{
    gboolean more = FALSE;
    for (gsize axis = 0; axis < n_axes; axis++)
    {
        if (!(larger->work[axis] >= smaller->work[axis]))
            return FALSE;
        more |= larger->work[axis] > smaller->work[axis];
    }
    return more;
}

static gboolean contradicts(const IfmTimedWork *larger, const IfmTimedWork *smaller, gsize n_axes)
{
    const gboolean known = isfinite(larger->upper_ns) && isfinite(smaller->lower_ns);
    const double ratio = known ? RATIO_KNOWN : RATIO_UNKNOWN;
    return larger->ns >= 0 && larger->ns * ratio <= smaller->ns && !(known && larger->upper_ns >= smaller->lower_ns) &&
           has_more_work(larger, smaller, n_axes);
}

/* Whether something slowed that case down: the larger ones that contradict it are three or more, and contradict no other.
 */
static gboolean was_slowed(const IfmTimedWork *cases, gsize n, gsize n_axes, const guint *n_against, gsize at)
{
    gsize n_larger = 0;
    for (gsize i = 0; i < n; i++)
    {
        if (!contradicts(&cases[i], &cases[at], n_axes))
            continue;
        if (n_against[i] > 1)
            return FALSE;
        n_larger++;
    }
    return n_larger >= MIN_LARGER;
}

/* @of: TRUE: @at is the larger one of the two */
static gssize strongest(const IfmTimedWork *cases, gsize n, gsize n_axes, const gboolean *slowed, gsize at, gboolean larger)
{
    gssize found = -1;
    double greatest = 0;
    for (gsize i = 0; i < n; i++)
    {
        const IfmTimedWork *more = &cases[larger ? at : i], *less = &cases[larger ? i : at];
        if ((larger && slowed[i]) || !contradicts(more, less, n_axes) || less->ns / more->ns <= greatest)
            continue;
        greatest = less->ns / more->ns;
        found = (gssize)i;
    }
    return found;
}

void ifm_find_implausible(const IfmTimedWork *cases, gsize n, gsize n_axes, gssize *against)
{
    g_autofree guint *n_against = g_new0(guint, n + 1); /* how many smaller ones each contradicts */
    g_autofree gboolean *slowed = g_new0(gboolean, n + 1);
    for (gsize i = 0; i < n; i++)
        for (gsize k = 0; k < n; k++)
            n_against[i] += contradicts(&cases[i], &cases[k], n_axes);
    for (gsize i = 0; i < n; i++)
        slowed[i] = was_slowed(cases, n, n_axes, n_against, i);
    for (gsize i = 0; i < n; i++)
        against[i] = strongest(cases, n, n_axes, slowed, i, !slowed[i]);
}
