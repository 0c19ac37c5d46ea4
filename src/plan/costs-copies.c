/*
 * Devices with memory of their own that a pipeline fills itself: what it copies, when, and which shares that favours. The
 * rules are those of the executor: the thread of a block hands their parts to the devices that work in the host's memory,
 * then copies in and starts the others one by one; when all are done it copies out, one by one.
 */
#include <math.h>
#include <string.h>

#include "plan-private.h"

/* Halvings of the time that balances devices and copies: no double lies closer. */
#define MOST_HALVINGS 64
/* To find shares of several devices that copy, each after the others. */
#define ATTEMPTS 4

void ifm_costs_set_link(IfmCosts *costs, int device, const IfmCostLink *in, const IfmCostLink *out)
{
    g_return_if_fail(device >= 0 && device < costs->n_devices);
    CostDevice *of = costs->devices[device];
    of->copies = TRUE;
    of->in = *in;
    of->out = *out;
}

void ifm_costs_set_crossing(IfmCosts *costs, IfmPlanForm form, int first, int last, const IfmCostCrossing *crossing)
{
    g_return_if_fail(first >= 1 && first <= last && last <= costs->n_stages);
    IfmCostCrossing **slot = &costs->crossings[form == IFM_PLAN_STATIC][first - 1][last - 1];
    g_free(*slot);
    *slot = g_memdup2(crossing, sizeof *crossing);
}

void costs_free_crossings(IfmCosts *costs)
{
    for (int form = 0; form < 2; form++)
        for (int first = 0; first < costs->n_stages; first++)
            for (int last = first; last < costs->n_stages; last++)
                g_free(costs->crossings[form][first][last]);
}

/* --- what is copied -----------------------------------------------------------------------------------------------------
 */

void costs_copies_at(const IfmCosts *costs, int device, int first, int last, double nodes, double edges, double whole_nodes,
                     double whole_edges, CostPart *part)
{
    const CostDevice *of = costs->devices[device];
    const IfmCostCrossing *crossing = costs->crossings[of->is.form == IFM_PLAN_STATIC][first - 1][last - 1];
    part->copies = of->copies;
    part->in_ns = part->out_ns = 0;
    if (!of->copies || crossing == NULL)
        return;
    double in = crossing->in_per_node * nodes + crossing->in_per_edge * edges + crossing->whole_per_node * whole_nodes +
                crossing->whole_per_edge * whole_edges;
    double out = crossing->out_per_node * nodes + crossing->out_per_edge * edges;
    part->in_ns = crossing->n_in * of->in.fixed_ns + in * of->in.ns_per_byte;
    part->out_ns = crossing->n_out * of->out.fixed_ns + out * of->out.ns_per_byte;
}

/* A static model's tensors have its size, whatever the share; of what it needs whole it has room for the largest graph. */
void costs_copies(const IfmCosts *costs, int device, int first, int last, int n_devices, double share, double nodes,
                  double edges, CostPart *part)
{
    const CostDevice *of = costs->devices[device];
    IfmPlanSize size;
    part->copies = of->copies;
    part->in_ns = part->out_ns = 0;
    if (!of->copies)
        return;
    if (of->is.form != IFM_PLAN_STATIC)
        costs_copies_at(costs, device, first, last, share * nodes, share * edges, nodes, edges, part);
    else if (costs_static_size(costs, device, first, last, share * nodes, share * edges, &size))
    {
        double whole = n_devices == 1 ? (double)size.nodes : fmax(nodes, (double)size.nodes);
        costs_copies_at(costs, device, first, last, (double)size.nodes, (double)size.edges, whole, (double)size.edges,
                        part);
    }
}

double costs_span_ns(const CostPart *parts, int n)
{
    double handed = 0, longest = 0, out = 0;
    for (int i = 0; i < n; i++)
    {
        if (parts[i].copies)
            handed += parts[i].in_ns;
        longest = fmax(longest, parts[i].ns + (parts[i].copies ? handed : 0));
        out += parts[i].out_ns;
    }
    return longest + out;
}

double costs_copied_ns(const CostPart *parts, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += parts[i].in_ns + parts[i].out_ns;
    return sum;
}

/* --- shares -------------------------------------------------------------------------------------------------------------
 */

typedef struct
{
    const IfmCosts *costs;
    const int *devices;
    int n, first, last;
    double nodes, edges;
} Shared;

static void copies_of(const Shared *of, int i, double share, CostPart *part)
{
    costs_copies(of->costs, of->devices[i], of->first, of->last, of->n, share, of->nodes, of->edges, part);
}

static double copied_by_all_ns(const Shared *of, const double *shares)
{
    CostPart parts[IFM_PLAN_MAX_DEVICES] = { 0 };
    for (int i = 0; i < of->n; i++)
        copies_of(of, i, shares[i], &parts[i]);
    return costs_copied_ns(parts, of->n);
}

/* @order: (out) devices, those first whose copies grow least with the share. @in: whether copies in count, too */
static void order_by_copies(const Shared *of, gboolean in, int *order)
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

/* As much as each can in time, in this order. FALSE where they cannot all, or a device would have nothing to do: without it
 * is another candidate. */
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

/* --- of a batch alone ---------------------------------------------------------------------------------------------------
 */

/* Devices' times with what passes before they begin. */
typedef struct
{
    PlanCurve curves[IFM_PLAN_MAX_DEVICES];
    const PlanCurve *all[IFM_PLAN_MAX_DEVICES];
    double *ns[IFM_PLAN_MAX_DEVICES];
    int n, n_copying;
} Longer;

static void longer_init(Longer *longer, const Shared *of, const PlanCurve *const *curves)
{
    *longer = (Longer){ .n = of->n };
    for (int i = 0; i < of->n; i++)
    {
        longer->curves[i] = *curves[i];
        longer->all[i] = &longer->curves[i];
        if (!of->costs->devices[of->devices[i]]->copies)
            continue;
        longer->n_copying++;
        longer->curves[i].ns = longer->ns[i] = g_new(double, curves[i]->n + 1);
    }
}

static void longer_clear(Longer *longer)
{
    for (int i = 0; i < longer->n; i++)
        g_free(longer->ns[i]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Longer, longer_clear)

/* @shares: of the devices whose copies come before a device's own; NULL: none of them take time. */
static void lengthen(Longer *longer, const Shared *of, const PlanCurve *const *curves, const double *shares)
{
    double before_ns = 0;
    for (int i = 0; i < of->n; i++)
    {
        CostPart part = { 0 };
        for (int k = 0; longer->ns[i] != NULL && k < curves[i]->n; k++)
        {
            copies_of(of, i, curves[i]->share[k], &part);
            longer->ns[i][k] = fmax(before_ns + part.in_ns + curves[i]->ns[k], k > 0 ? longer->ns[i][k - 1] : 0);
        }
        if (shares == NULL || longer->ns[i] == NULL)
            continue;
        copies_of(of, i, shares[i], &part);
        before_ns += part.in_ns;
    }
}

static double span_ns(const Shared *of, const PlanCurve *const *curves, const double *shares)
{
    CostPart parts[IFM_PLAN_MAX_DEVICES] = { 0 };
    for (int i = 0; i < of->n; i++)
    {
        parts[i].ns = curve_at(curves[i], shares[i]);
        copies_of(of, i, shares[i], &parts[i]);
    }
    return costs_span_ns(parts, of->n);
}

/* Shares with which all finish together; then those that leave more to the devices whose outputs are copied back sooner,
 * as long as waiting for them may pay. Between two knots nothing is won that is not at one of them. With several devices
 * that copy each one's begin depends on the shares of those before it: found by trying again. */
static void each_alone(const Shared *of, const PlanCurve *const *curves, SpaceShares each, gpointer user)
{
    g_auto(Longer) longer = { 0 };
    int order[IFM_PLAN_MAX_DEVICES];
    double together[IFM_PLAN_MAX_DEVICES], shares[IFM_PLAN_MAX_DEVICES];
    longer_init(&longer, of, curves);
    order_by_copies(of, FALSE, order);
    for (int attempt = 0; attempt < (longer.n_copying > 1 ? ATTEMPTS : 1); attempt++)
    {
        lengthen(&longer, of, curves, attempt > 0 ? together : NULL);
        double least_ns = curve_split(longer.all, of->n, together);
        if (!isfinite(least_ns))
            return;
        each(together, user);
        double most_ns = span_ns(of, curves, together);
        for (int i = 0; i < of->n; i++)
            for (int k = 0; k < longer.all[i]->n; k++)
                if (longer.all[i]->ns[k] > least_ns && longer.all[i]->ns[k] < most_ns &&
                    fill_by(longer.all, order, of->n, longer.all[i]->ns[k], shares))
                    each(shares, user);
    }
}

/* --- of batches that follow each other ----------------------------------------------------------------------------------
 */

/* The least time in which the devices are done and the host's work is, too; @shares: (in) that make the devices finish
 * together. FALSE where these are it, or a device would have nothing to do. */
static gboolean balance(const Shared *of, const PlanCurve *const *paces, double host_ns, double *shares)
{
    int order[IFM_PLAN_MAX_DEVICES];
    double low = 0, high = 0;
    for (int i = 0; i < of->n; i++)
    {
        low = fmax(low, curve_at(paces[i], shares[i]));
        high = fmax(high, paces[i]->ns[paces[i]->n - 1]);
    }
    if (host_ns + copied_by_all_ns(of, shares) <= low)
        return FALSE;
    order_by_copies(of, TRUE, order);
    for (int k = 0; k < MOST_HALVINGS && high > low * (1 + 1e-15); k++)
    {
        double middle = (low + high) / 2;
        fill_by(paces, order, of->n, middle, shares);
        if (host_ns + copied_by_all_ns(of, shares) <= middle)
            high = middle;
        else
            low = middle;
    }
    return fill_by(paces, order, of->n, high, shares);
}

void costs_each_copying_split(const IfmCosts *costs, const int *devices, int n, int first, int last, double nodes,
                              double edges, const PlanCurve *const *alone, const PlanCurve *const *paces,
                              const double *host_ns, int n_host, SpaceShares each, gpointer user)
{
    static const double tenths[] = { 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9 };
    const Shared of = { costs, devices, n, first, last, nodes, edges };
    double shares[IFM_PLAN_MAX_DEVICES], together[IFM_PLAN_MAX_DEVICES];
    if (alone != NULL)
        each_alone(&of, alone, each, user);
    if (paces != NULL && isfinite(curve_split(paces, n, together)))
        for (int k = 0; k < n_host; k++)
        {
            memcpy(shares, together, sizeof shares);
            if (balance(&of, paces, host_ns[k], shares))
                each(shares, user);
        }
    space_each_share(tenths, G_N_ELEMENTS(tenths), n, each, user);
}
