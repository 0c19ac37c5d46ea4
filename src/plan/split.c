/* How a block's nodes are divided among its devices: the share at which all of them end together. */
#include <math.h>
#include <stdlib.h>

#include "plan-private.h"

/* The shares at which a device's time is looked up; between them the curve is a line. The tenths are those of the
 * published search, which are so met exactly. Below the first a smaller share saves no time. */
static const double ladder[] = { 1.0 / 64, 1.0 / 32, 1.0 / 16, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1 };
#define N_LADDER ((int)G_N_ELEMENTS(ladder))

/* --- one curve -------------------------------------------------------------------------------------------------------- */

double curve_at(const PlanCurve *curve, double share)
{
    int low = 0, high = curve->n;
    while (low < high) /* the first knot whose share is not smaller */
    {
        int middle = (low + high) / 2;
        if (curve->share[middle] < share)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == curve->n)
        return INFINITY;
    if (low == 0 || curve->share[low] == share)
        return curve->ns[low];
    double t = (share - curve->share[low - 1]) / (curve->share[low] - curve->share[low - 1]);
    return curve->ns[low - 1] + t * (curve->ns[low] - curve->ns[low - 1]);
}

/* @before: the limit from below @ns, where several shares take the same time */
static inline double share_at(const PlanCurve *curve, double ns, gboolean before)
{
    int low = 0, high = curve->n;
    while (low < high) /* the first knot that takes longer; with @before, at least as long */
    {
        int middle = (low + high) / 2;
        if (before ? curve->ns[middle] < ns : curve->ns[middle] <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || low == curve->n)
        return low == 0 ? 0 : curve->share[curve->n - 1];
    double t = (ns - curve->ns[low - 1]) / (curve->ns[low] - curve->ns[low - 1]);
    return curve->share[low - 1] + t * (curve->share[low] - curve->share[low - 1]);
}

double curve_share_by(const PlanCurve *curve, double ns)
{
    return share_at(curve, ns, FALSE);
}

/* --- shares that finish together -------------------------------------------------------------------------------------- */

static double sum_by(const PlanCurve *const *curves, int n, double ns, double *shares)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += shares[i] = curve_share_by(curves[i], ns);
    return sum;
}

/* Narrows (@low, @high] until no knot lies within. At @low all devices together have done less than the whole, at @high
 * all of it. Then each share is a line over the time. */
static void narrow(const PlanCurve *const *curves, int n, double *low, double *high)
{
    double shares[IFM_PLAN_MAX_DEVICES];
    for (int i = 0; i < n; i++)
    {
        int from = 0, to = curves[i]->n;
        while (from < to)
        {
            int middle = (from + to) / 2;
            double ns = curves[i]->ns[middle];
            if (ns <= *low || (ns < *high && sum_by(curves, n, ns, shares) < 1))
            {
                *low = fmax(*low, ns);
                from = middle + 1;
            }
            else
            {
                *high = fmin(*high, ns);
                to = middle;
            }
        }
    }
}

static void scale_to_one(double *shares, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += shares[i];
    for (int i = 0; i < n; i++)
        shares[i] /= sum;
}

double curve_split(const PlanCurve *const *curves, int n, double *shares)
{
    double low = 0, high = 0, before[IFM_PLAN_MAX_DEVICES], sum_before = 0;
    for (int i = 0; i < n; i++)
    {
        if (curves[i]->n == 0)
            return INFINITY;
        low = fmax(low, curves[i]->ns[0]);
        high = fmax(high, curves[i]->ns[curves[i]->n - 1]);
    }
    double sum = sum_by(curves, n, low, shares);
    if (sum >= 1) /* the minimum share of some device takes this long: the others wait for it */
    {
        scale_to_one(shares, n);
        return low;
    }
    if (sum_by(curves, n, high, shares) < 1)
        return INFINITY;
    narrow(curves, n, &low, &high);
    for (int i = 0; i < n; i++)
        sum_before += before[i] = share_at(curves[i], high, TRUE);
    if (sum_before < 1) /* at @high itself a constant part of a curve is used as far as needed */
    {
        double all = sum_by(curves, n, high, shares), t = (1 - sum_before) / (all - sum_before);
        for (int i = 0; i < n; i++)
            shares[i] = before[i] + t * (shares[i] - before[i]);
        scale_to_one(shares, n);
        return high;
    }
    sum = sum_by(curves, n, low, shares);
    double t = (1 - sum) / (sum_before - sum);
    for (int i = 0; i < n; i++)
        shares[i] += t * (before[i] - shares[i]);
    scale_to_one(shares, n);
    return low + t * (high - low);
}

/* --- all curves of one size ------------------------------------------------------------------------------------------- */

/* The curves of one device under one load. @pieces: times of the measured ranges at the device's places (the ladder, or
 * the static sizes); NULL: not made yet. @rows: [first - 1] the curves of all ranges that begin there. */
typedef struct
{
    double *pieces[IFM_COST_MAX_STAGES][IFM_COST_MAX_STAGES];
    PlanCurve *rows[IFM_COST_MAX_STAGES];
    PlanCurve *paces[IFM_COST_MAX_STAGES][IFM_COST_MAX_STAGES];
} DeviceCurves;

struct CurveTable
{
    const IfmCosts *costs;
    double nodes, edges, sources;
    gboolean one_plan; /* only one range of each row is asked for: the others are not made */
    DeviceCurves *of[IFM_COST_N_STATISTICS][IFM_PLAN_MAX_DEVICES][1 << IFM_PLAN_MAX_DEVICES];
    GPtrArray *owned;
};

CurveTable *curve_table_new(const IfmCosts *costs, double nodes, double edges, double sources, gboolean one_plan)
{
    CurveTable *table = g_new0(CurveTable, 1);
    *table = (CurveTable){ .costs = costs, .nodes = nodes, .edges = edges, .sources = sources, .one_plan = one_plan };
    table->owned = g_ptr_array_new_with_free_func(g_free);
    return table;
}

void curve_table_free(CurveTable *table)
{
    if (table == NULL)
        return;
    g_ptr_array_unref(table->owned);
    g_free(table);
}

static gpointer own(CurveTable *table, gpointer memory)
{
    g_ptr_array_add(table->owned, memory);
    return memory;
}

static int n_places(const CurveTable *table, int device)
{
    const IfmCostDevice *is = &table->costs->devices[device]->is;
    return is->form == IFM_PLAN_STATIC ? (int)is->n_sizes : N_LADDER;
}

static DeviceCurves *background_curves(CurveTable *table, IfmCostStatistic of, int device, guint32 busy)
{
    DeviceCurves **slot = &table->of[of][device][busy];
    if (*slot == NULL)
        *slot = own(table, g_new0(DeviceCurves, 1));
    return *slot;
}

static const double *piece_values(CurveTable *table, IfmCostStatistic of, int device, guint32 busy, const CostRange *range)
{
    DeviceCurves *curves = background_curves(table, of, device, busy);
    double **slot = &curves->pieces[range->first - 1][range->last - 1];
    if (*slot != NULL)
        return *slot;
    const IfmCostDevice *is = &table->costs->devices[device]->is;
    int n = n_places(table, device);
    *slot = own(table, g_new(double, n + 1));
    const double *alone = busy != 0 ? piece_values(table, of, device, 0, range) : NULL;
    for (int k = 0; k < n; k++)
    {
        gboolean known = TRUE, fixed = is->form == IFM_PLAN_STATIC;
        double nodes = fixed ? (double)is->sizes[k].nodes : ladder[k] * table->nodes;
        double edges = fixed ? (double)is->sizes[k].edges : ladder[k] * table->edges;
        (*slot)[k] = alone == NULL
                         ? costs_piece_ns(table->costs, device, range, of, nodes, edges)
                         : alone[k] * costs_slow_down(table->costs, device, range, of, busy, nodes, edges, &known);
    }
    return *slot;
}

/* If the latency of some share is unknown there is no curve, only the time of the whole if that is known. */
static void dynamic_curve(CurveTable *table, const double *values, PlanCurve *curve)
{
    gboolean known = TRUE;
    for (int k = 0; k < N_LADDER; k++)
        known = known && !isnan(values[k]);
    if (!known)
    {
        double whole_ns = values[N_LADDER - 1];
        *curve = (PlanCurve){ 0, ladder, NULL, isnan(whole_ns) ? (double)INFINITY : whole_ns };
        return;
    }
    double *ns = own(table, g_memdup2(values, N_LADDER * sizeof *values));
    for (int k = 1; k < N_LADDER; k++)
        ns[k] = fmax(ns[k], ns[k - 1]);
    *curve = (PlanCurve){ N_LADDER, ladder, ns, values[N_LADDER - 1] };
}

typedef struct
{
    gint64 order; /* nodes + edges: ifm_plan_static_size() takes the smallest */
    double share, ns;
} Step;

static int compare_steps(const void *a, const void *b)
{
    const Step *x = a, *y = b;
    return x->order != y->order ? (x->order < y->order ? -1 : 1) : (x->share < y->share) - (x->share > y->share);
}

/* The edges of a share of the nodes are a random number: these many standard deviations of it must fit, too. */
#define EDGE_DEVIATIONS 4

/* The largest share that a size holds. If its edges are met exactly it may hold one more node, but that place has no
 * width, and a graph with unevenly spread edges misses it. The edges that end in a share of nodes are binomial where a
 * graph is random: a search leaves room for more than their mean. */
static double share_of_size(const CurveTable *table, const IfmPlanSize *size, gboolean reads_edges)
{
    double nodes = (double)size->nodes - reads_edges, held = (double)size->edges / table->edges;
    if (!table->one_plan && reads_edges && held < 1) /* s + k sqrt(s (1 - s) / edges) = held */
    {
        double square = EDGE_DEVIATIONS * EDGE_DEVIATIONS / table->edges, half = held + square / 2;
        held = (half - sqrt(half * half - (1 + square) * held * held)) / (1 + square);
    }
    return fmax(0, fmin(1, fmin(nodes / table->nodes, held)));
}

/* The steps that some share uses: each holds more than all before it. */
static int static_steps(const CurveTable *table, int device, int first, int last, const double *values, Step *steps)
{
    const IfmCostDevice *is = &table->costs->devices[device]->is;
    gboolean reads_edges = costs_reads_edges(table->costs, first, last);
    int n = 0, kept = 0;
    for (gsize i = 0; i < is->n_sizes; i++)
        if (!isnan(values[i]))
            steps[n++] = (Step){ is->sizes[i].nodes + is->sizes[i].edges, share_of_size(table, &is->sizes[i], reads_edges),
                                 values[i] + costs_pad_ns(table->costs, first, &is->sizes[i], 0, 0) };
    qsort(steps, (gsize)n, sizeof *steps, compare_steps);
    for (int i = 0; i < n; i++)
        if (steps[i].share > (kept > 0 ? steps[kept - 1].share : 0))
        {
            steps[kept] = steps[i];
            if (kept > 0)
                steps[kept].ns = fmax(steps[kept].ns, steps[kept - 1].ns);
            kept++;
        }
    return kept;
}

static double static_whole(const CurveTable *table, int device, int first, int last, const double *values)
{
    const IfmCostDevice *is = &table->costs->devices[device]->is;
    IfmPlanSize size;
    if (!costs_static_size(table->costs, device, first, last, fmax(table->nodes, table->sources), table->edges, &size))
        return INFINITY;
    for (gsize i = 0; i < is->n_sizes; i++)
        if (is->sizes[i].nodes == size.nodes && is->sizes[i].edges == size.edges)
            return values[i] + costs_pad_ns(table->costs, first, &size, table->nodes, table->edges);
    return INFINITY;
}

/* Each size holds shares up to a largest one: the curve is a staircase. */
static void static_curve(CurveTable *table, int device, int first, int last, const double *values, PlanCurve *curve)
{
    g_autofree Step *steps = g_new(Step, table->costs->devices[device]->is.n_sizes + 1);
    int n = static_steps(table, device, first, last, values, steps), knots = 0;
    double *share = own(table, g_new(double, 2 * n + 1)), *ns = own(table, g_new(double, 2 * n + 1));
    for (int i = 0; i < n; i++)
    {
        if (i > 0)
        {
            share[knots] = steps[i - 1].share;
            ns[knots++] = steps[i].ns;
        }
        share[knots] = steps[i].share;
        ns[knots++] = steps[i].ns;
    }
    *curve = (PlanCurve){ knots, share, ns, static_whole(table, device, first, last, values) };
}

/* @needed: the last stage of the range asked for */
static PlanCurve *make_row(CurveTable *table, IfmCostStatistic of, int device, int first, int needed, guint32 busy)
{
    const IfmCosts *costs = table->costs;
    int piece[IFM_COST_MAX_STAGES + 1], n = n_places(table, device);
    PlanCurve *row = own(table, g_new0(PlanCurve, costs->n_stages));
    g_autofree double *sums = g_new0(double, (gsize)(n + 1) * (costs->n_stages + 1)), *shown_ns = g_new0(double, n + 1);
    costs_pieces(costs, device, first, piece);
    for (int last = first; last <= (table->one_plan ? needed : costs->n_stages); last++)
    {
        double *sum = &sums[(gsize)last * n];
        if (piece[last] == 0)
        {
            row[last - 1].whole_ns = INFINITY;
            continue;
        }
        const double *before = piece[last] == first ? sums : &sums[(gsize)(piece[last] - 1) * n];
        const double *own_part = piece_values(table, of, device, busy, costs_range(costs, device, piece[last], last));
        for (int k = 0; k < n; k++)
            sum[k] = before[k] + own_part[k];
        const CostCorrection *shown = costs_correction(costs, device, first, last, busy);
        for (int k = 0; k < n; k++)
            shown_ns[k] = shown != NULL ? shown->factor * sum[k] : sum[k];
        if (costs->devices[device]->is.form == IFM_PLAN_STATIC)
            static_curve(table, device, first, last, shown_ns, &row[last - 1]);
        else
            dynamic_curve(table, shown_ns, &row[last - 1]);
    }
    return row;
}

const PlanCurve *curve_table_get(CurveTable *table, IfmCostStatistic of, int device, int first, int last, guint32 busy)
{
    busy &= ~(1u << device);
    if (!table->costs->has_busy)
        busy = 0;
    DeviceCurves *curves = background_curves(table, of, device, busy);
    if (curves->rows[first - 1] == NULL)
        curves->rows[first - 1] = make_row(table, of, device, first, last, busy);
    return &curves->rows[first - 1][last - 1];
}

const PlanCurve *curve_table_alone(CurveTable *table, int device, int first, int last, guint32 busy)
{
    return curve_table_get(table, table->costs->statistic, device, first, last, busy);
}

const PlanCurve *curve_table_pace(CurveTable *table, int device, int first, int last, guint32 busy)
{
    const PlanCurve *curve = curve_table_get(table, IFM_COST_MEAN, device, first, last, busy);
    int n_streams = table->costs->devices[device]->n_streams;
    if (n_streams < 2)
        return curve;
    PlanCurve **slot = &background_curves(table, IFM_COST_MEAN, device, table->costs->has_busy ? busy & ~(1u << device) : 0)
                            ->paces[first - 1][last - 1];
    if (*slot != NULL)
        return *slot;
    double *ns = own(table, g_new(double, curve->n + 1));
    for (int k = 0; k < curve->n; k++)
        ns[k] = curve->ns[k] / n_streams;
    *slot = own(table, g_new(PlanCurve, 1));
    **slot = (PlanCurve){ curve->n, curve->share, ns, curve->whole_ns / n_streams };
    return *slot;
}
