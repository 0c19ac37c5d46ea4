#include <base/statistics.h>
#include <math.h>

/* This search finds cases whose times contradict others': more work in far less time. */

#define RATIO 4       /* of a contradiction */
#define DISAGREES 1.5 /* of what speaks for one of two */
#define N_STD 2
#define MIN_LARGER 2 /* that blame a smaller case */

/* Of a case: how many smaller ones it contradicts, how many larger ones contradict it. */
typedef struct
{
    guint n_smaller, n_larger;
    gboolean slowed;
} Against;

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

/* What is not known of a spread keeps none apart. */
static gboolean are_apart(const IfmTimedWork *less, const IfmTimedWork *more)
{
    return !(less->upper_ns >= more->lower_ns) && !(less->ns + N_STD * less->std_ns >= more->ns - N_STD * more->std_ns);
}

static gboolean contradicts(const IfmTimedWork *larger, const IfmTimedWork *smaller, gsize n_axes)
{
    return larger->ns >= 0 && larger->ns * RATIO <= smaller->ns && are_apart(larger, smaller) &&
           has_more_work(larger, smaller, n_axes);
}

/* Whether something slowed that case down. */
static gboolean was_slowed(const IfmTimedWork *cases, gsize n, gsize n_axes, const Against *against, gsize at)
{
    if (against[at].n_larger < MIN_LARGER)
        return FALSE;
    for (gsize i = 0; i < n; i++)
        if (contradicts(&cases[i], &cases[at], n_axes) && against[i].n_smaller > 1)
            return FALSE;
    return TRUE;
}

static void count_against(const IfmTimedWork *cases, gsize n, gsize n_axes, Against *against)
{
    for (gsize i = 0; i < n; i++)
        for (gsize k = 0; k < n; k++)
            if (contradicts(&cases[i], &cases[k], n_axes))
            {
                against[i].n_smaller++;
                against[k].n_larger++;
            }
    for (gsize i = 0; i < n; i++)
        against[i].slowed = was_slowed(cases, n, n_axes, against, i);
}

/* Of two that contradict each other alone. Returns: above 0: more of the others disagree with the larger one; below 0: with
 * the smaller one. */
static gssize others_say(const IfmTimedWork *cases, gsize n, gsize n_axes, gsize larger, gsize smaller)
{
    gssize balance = 0;
    for (gsize i = 0; i < n; i++)
    {
        if (i == larger || i == smaller)
            continue;
        balance += has_more_work(&cases[larger], &cases[i], n_axes) && cases[larger].ns * DISAGREES <= cases[i].ns;
        balance -= has_more_work(&cases[i], &cases[smaller], n_axes) && cases[i].ns * DISAGREES <= cases[smaller].ns;
    }
    return balance;
}

/* @larger: of the two, with what contradicts it */
static IfmPlausibility blame(const IfmTimedWork *cases, gsize n, gsize n_axes, const Against *against, gsize larger,
                             gsize smaller, gboolean of_larger)
{
    const gboolean alone = against[larger].n_smaller == 1 && against[smaller].n_larger == 1;
    const gssize says = against[smaller].slowed ? -1 : alone ? others_say(cases, n, n_axes, larger, smaller) : 1;
    if (says == 0)
        return IFM_IS_DOUBTFUL;
    return (says > 0) == of_larger ? IFM_IS_IMPLAUSIBLE : IFM_IS_PLAUSIBLE;
}

static IfmContradiction find_one(const IfmTimedWork *cases, gsize n, gsize n_axes, const Against *against, gsize at)
{
    IfmContradiction found = { IFM_IS_PLAUSIBLE, -1 };
    double greatest = 0;
    for (gsize i = 0; i < n; i++)
    {
        const gboolean of_larger = contradicts(&cases[at], &cases[i], n_axes);
        if (!of_larger && !contradicts(&cases[i], &cases[at], n_axes))
            continue;
        const gsize larger = of_larger ? at : i, smaller = of_larger ? i : at;
        const IfmPlausibility kind = blame(cases, n, n_axes, against, larger, smaller, of_larger);
        const double ratio = cases[smaller].ns / cases[larger].ns;
        if (kind == IFM_IS_PLAUSIBLE || kind < found.kind || (kind == found.kind && !(ratio > greatest)))
            continue;
        found = (IfmContradiction){ kind, (gssize)i };
        greatest = ratio;
    }
    return found;
}

void ifm_find_implausible(const IfmTimedWork *cases, gsize n, gsize n_axes, IfmContradiction *found)
{
    g_autofree Against *against = g_new0(Against, n + 1);
    count_against(cases, n, n_axes, against);
    for (gsize i = 0; i < n; i++)
        found[i] = find_one(cases, n, n_axes, against, i);
}
