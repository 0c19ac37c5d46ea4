/* Which shares are worth trying for a block some of whose devices copy their tensors. */
#include <math.h>
#include <string.h>

#include "search-private.h"

/* Halvings of the time that balances devices and copies, down to the precision of a double. */
#define MAX_HALVINGS 64
/* Attempts to find the shares of several devices that copy, each after the others. */
#define ATTEMPTS 4

static void copies_of(const SearchTrial *of, int i, double share, CostPart *part)
{
    const IfmPlanQuestion *question = of->space->question;
    costs_copies(of->space->costs, of->devices[i], of->first, of->last, of->n, share, question->nodes, question->edges,
                 part);
}

static double copied_by_all_ns(const SearchTrial *of, const double *shares)
{
    CostPart parts[IFM_PLAN_MAX_DEVICES] = { 0 };
    for (int i = 0; i < of->n; i++)
        copies_of(of, i, shares[i], &parts[i]);
    return costs_copied_ns(parts, of->n);
}

/* @order: (out) devices; those whose copies grow least with the share come first    @in: whether copies in count,
 * too */
static void order_by_copies(const SearchTrial *of, gboolean in, int *order)
{
    double slopes[IFM_PLAN_MAX_DEVICES];
    for (int i = 0; i < of->n; i++)
    {
        CostPart half = { 0 }, whole = { 0 };
        int at = i;
        copies_of(of, i, 0.5, &half);
        copies_of(of, i, 1, &whole);
        slopes[i] = whole.out_ns - half.out_ns + (in ? whole.in_ns - half.in_ns : 0);
        for (; at > 0 && slopes[order[at - 1]] > slopes[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

/* Gives each device in this order as much as it can do in time. FALSE if they cannot do all, or if a device would have
 * nothing to do: its absence is another candidate. */
static gboolean fill_by(const PlanCurve *const *curves, const int *order, int n, double ns, double *shares)
{
    gboolean all = TRUE;
    double left = 1;
    for (int k = 0; k < n; k++)
    {
        int i = order[k];
        shares[i] = fmin(left, curve_share_by(curves[i], ns));
        left -= shares[i];
        all = all && shares[i] > 0;
    }
    return all && left <= 1e-12;
}

/* --- shares for a batch alone ----------------------------------------------------------------------------------------- */

/* The devices' curves with the time before they begin. */
typedef struct
{
    PlanCurve curves[IFM_PLAN_MAX_DEVICES];
    const PlanCurve *all[IFM_PLAN_MAX_DEVICES];
    double *ns[IFM_PLAN_MAX_DEVICES];
    int n, n_copying;
} Longer;

static void longer_init(Longer *longer, const SearchTrial *of)
{
    *longer = (Longer){ .n = of->n };
    for (int i = 0; i < of->n; i++)
    {
        longer->curves[i] = *of->alone[i];
        longer->all[i] = &longer->curves[i];
        if (!of->space->costs->devices[of->devices[i]]->copies)
            continue;
        longer->n_copying++;
        longer->curves[i].ns = longer->ns[i] = g_new(double, of->alone[i]->n + 1);
    }
}

static void longer_clear(Longer *longer)
{
    for (int i = 0; i < longer->n; i++)
        g_free(longer->ns[i]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Longer, longer_clear)

/* @shares: of the devices whose copies come before a device's own; NULL: these take no time */
static void lengthen(Longer *longer, const SearchTrial *of, const double *shares)
{
    double before_ns = 0;
    for (int i = 0; i < of->n; i++)
    {
        CostPart part = { 0 };
        const PlanCurve *curve = of->alone[i];
        for (int k = 0; longer->ns[i] != NULL && k < curve->n; k++)
        {
            copies_of(of, i, curve->share[k], &part);
            longer->ns[i][k] = fmax(before_ns + part.in_ns + curve->ns[k], k > 0 ? longer->ns[i][k - 1] : 0);
        }
        if (shares == NULL || longer->ns[i] == NULL)
            continue;
        copies_of(of, i, shares[i], &part);
        before_ns += part.in_ns;
    }
}

static double span_ns(const SearchTrial *of, const double *shares)
{
    CostPart parts[IFM_PLAN_MAX_DEVICES] = { 0 };
    for (int i = 0; i < of->n; i++)
    {
        parts[i].ns = curve_at(of->alone[i], shares[i]);
        copies_of(of, i, shares[i], &parts[i]);
    }
    return costs_span_ns(parts, of->n);
}

/* Tries the shares with which all devices finish together. Then it tries those that give more to the devices whose
 * outputs are copied back sooner, as long as waiting for them may pay. Only knots need to be tried: in between nothing
 * is gained. With several devices that copy, the begin of each depends on the shares of those before it, so that shares
 * are found in several attempts. */
static void each_alone(const SearchTrial *of, SpaceShares each, gpointer user)
{
    g_auto(Longer) longer = { 0 };
    int order[IFM_PLAN_MAX_DEVICES];
    double together[IFM_PLAN_MAX_DEVICES], shares[IFM_PLAN_MAX_DEVICES];
    longer_init(&longer, of);
    order_by_copies(of, FALSE, order);
    for (int attempt = 0; attempt < (longer.n_copying > 1 ? ATTEMPTS : 1); attempt++)
    {
        lengthen(&longer, of, attempt > 0 ? together : NULL);
        double min_ns = curve_split(longer.all, of->n, together);
        if (!isfinite(min_ns))
            return;
        each(together, user);
        double max_ns = span_ns(of, together);
        for (int i = 0; i < of->n; i++)
            for (int k = 0; k < longer.all[i]->n; k++)
                if (longer.all[i]->ns[k] > min_ns && longer.all[i]->ns[k] < max_ns &&
                    fill_by(longer.all, order, of->n, longer.all[i]->ns[k], shares))
                    each(shares, user);
    }
}

/* --- shares for steady state ------------------------------------------------------------------------------------------ */

/* Finds the minimum time in which the devices and the host's work are done. @shares: (in) those that make the devices
 * finish together; (out) those of that time. FALSE if they are the same, or if a device would have nothing to do. */
static gboolean balance(const SearchTrial *of, double host_ns, double *shares)
{
    int order[IFM_PLAN_MAX_DEVICES];
    double low = 0, high = 0;
    for (int i = 0; i < of->n; i++)
    {
        low = fmax(low, curve_at(of->paces[i], shares[i]));
        high = fmax(high, of->paces[i]->ns[of->paces[i]->n - 1]);
    }
    if (host_ns + copied_by_all_ns(of, shares) <= low)
        return FALSE;
    order_by_copies(of, TRUE, order);
    for (int k = 0; k < MAX_HALVINGS && high > low * (1 + 1e-15); k++)
    {
        double middle = (low + high) / 2;
        fill_by(of->paces, order, of->n, middle, shares);
        if (host_ns + copied_by_all_ns(of, shares) <= middle)
            high = middle;
        else
            low = middle;
    }
    return fill_by(of->paces, order, of->n, high, shares);
}

/* With the edges ordered by this block, and without. */
static void each_balanced(const SearchTrial *of, SpaceShares each, gpointer user)
{
    const IfmCosts *costs = of->space->costs;
    double shares[IFM_PLAN_MAX_DEVICES], together[IFM_PLAN_MAX_DEVICES];
    if (!isfinite(curve_split(of->paces, of->n, together)))
        return;
    for (int first_split = FALSE; first_split <= TRUE; first_split++)
    {
        double host_ns =
            cost_partition_ns(costs, of->n, first_split, of->space->question->edges) + cost_merge_ns(costs, of->n);
        memcpy(shares, together, sizeof shares);
        if (balance(of, host_ns, shares))
            each(shares, user);
    }
}

void trial_each_copying(const SearchTrial *trial, SpaceShares each, gpointer user)
{
    if (trial->alone[0] != NULL)
        each_alone(trial, each, user);
    if (trial->paces[0] != NULL)
        each_balanced(trial, each, user);
    trial_each_tenth(trial, each, user);
}
