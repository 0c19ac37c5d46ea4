#include <math.h>
#include <string.h>

#include "plan/costs-private.h"

/* --- random instances, and their optimum by trying everything -----------------------------------------------------------
 *
 * All latencies are power laws of the nodes, with edges = 2 x nodes, so that what lies between the two points that the
 * model is given is known here without looking it up. The model under test is never asked for a latency.
 */

enum
{
    MAX_STAGES = 7,
    MAX_DEVICES = 4,
    N_SHARES = 5,
    N_SIZES = 3,
    N_INSTANCES = 1000,
    N_OBJECTIVES = 3,
};
#define NODES 1000.0
static const double grid[] = { 0.2, 0.4, 0.6, 0.8 };
static const double shares_known[N_SHARES] = { 0.2, 0.4, 0.6, 0.8, 1 };
static const IfmPlanSize static_sizes[N_SIZES] = { { 500, 1100 }, { 1000, 2000 }, { 700, 2000 } };

typedef struct
{
    int n, m; /* stages, devices */
    double scale[MAX_DEVICES][MAX_STAGES], power[MAX_DEVICES][MAX_STAGES];
    double fused[MAX_DEVICES][MAX_STAGES][MAX_STAGES]; /* factor of the sum; 0: not measured as one */
    gboolean fixed[MAX_DEVICES], splits[MAX_DEVICES], forbidden[MAX_DEVICES][MAX_STAGES], whole[MAX_STAGES];
    double slower[MAX_DEVICES][MAX_STAGES][1 << MAX_DEVICES]; /* 0: not measured */
    gboolean copies[MAX_DEVICES];
    IfmCostLink in[MAX_DEVICES], out[MAX_DEVICES];
    IfmCostCrossing cross[2][MAX_STAGES][MAX_STAGES]; /* [static] */
    double cut[MAX_STAGES + 1], partition, partition_edge, merge, pad;
    double active[MAX_DEVICES], idle[MAX_DEVICES];
    int streams[MAX_DEVICES];
    int max_blocks;
    guint32 no_split;
    /* what follows from it */
    double ns[MAX_DEVICES][MAX_STAGES][MAX_STAGES][1 << MAX_DEVICES][N_SHARES];
    double best[N_OBJECTIVES], n_structures;
    const GPtrArray *front; /* IfmPlanChoice*: each plan tried must be beaten, or met, by one of these */
} Instance;

static double alone_ns(const Instance *x, int d, int first, int last, double nodes)
{
    double scale = 0;
    for (int s = first; s <= last; s++)
        scale += x->scale[d][s];
    if (first < last)
        scale *= x->fused[d][first][last];
    return scale * pow(nodes / NODES, x->power[d][last]);
}

static double stage_slower(const Instance *x, int d, int s, guint32 busy)
{
    double product = 1;
    if (busy == 0 || x->slower[d][s][busy] > 0)
        return busy == 0 ? 1 : x->slower[d][s][busy];
    for (int other = 0; other < x->m; other++)
        if ((busy >> other & 1) != 0 && x->slower[d][s][1u << other] > 0)
            product *= x->slower[d][s][1u << other];
    return product;
}

static double piece_ns(const Instance *x, int d, int first, int last, double nodes, guint32 busy)
{
    double slower = 0, weights = 0;
    for (int s = first; s <= last; s++)
    {
        double ns = alone_ns(x, d, s, s, nodes);
        slower += ns * stage_slower(x, d, s, busy);
        weights += ns;
    }
    return alone_ns(x, d, first, last, nodes) * slower / weights;
}

/* The fewest pieces; of as few, the longest last one. */
static double range_ns(const Instance *x, int d, int first, int last, double nodes, guint32 busy, int *n_pieces)
{
    double best = INFINITY;
    *n_pieces = G_MAXINT;
    for (int start = first; start <= last; start++)
    {
        int n_before = 0;
        if (start < last && x->fused[d][start][last] == 0)
            continue;
        double before = start > first ? range_ns(x, d, first, start - 1, nodes, busy, &n_before) : 0;
        if (n_before + 1 >= *n_pieces)
            continue;
        *n_pieces = n_before + 1;
        best = before + piece_ns(x, d, start, last, nodes, busy);
    }
    return best;
}

static double share_ns(const Instance *x, int d, int first, int last, double share, guint32 busy)
{
    int n_pieces;
    gint64 min = G_MAXINT64;
    double ns = INFINITY, edges = 2 * share * NODES;
    for (int s = first; s <= last; s++)
        if (x->forbidden[d][s])
            return INFINITY;
    if (!x->fixed[d])
        return range_ns(x, d, first, last, share * NODES, busy, &n_pieces);
    for (int i = 0; i < N_SIZES; i++)
    {
        const IfmPlanSize *size = &static_sizes[i];
        int filler = (double)size->edges > edges;
        if ((double)size->nodes < share * NODES + filler || (double)size->edges < edges || size->nodes + size->edges >= min)
            continue;
        gboolean as_is = share == 1 && (double)size->nodes == NODES && (double)size->edges == 2 * NODES;
        min = size->nodes + size->edges;
        ns = range_ns(x, d, first, last, (double)size->nodes, busy, &n_pieces) +
             (as_is ? 0 : x->pad * x->cut[first] * (double)size->nodes);
    }
    return ns;
}

static gboolean can(const Instance *x, int d, int first, int last)
{
    for (int s = first; s <= last; s++)
        if (x->forbidden[d][s])
            return FALSE;
    return TRUE;
}

/* --- trying everything --------------------------------------------------------------------------------------------------
 */

typedef struct
{
    int first, last, n;
    guint32 set;
    int share[MAX_DEVICES]; /* into shares_known, by device */
} Block;

typedef struct
{
    Instance *x;
    Block blocks[MAX_DEVICES];
    int n_blocks;
} Walk;

/* One device's copies: of its share, or of the size that this is padded to. */
static void copies_ns(const Instance *x, const Block *block, int d, double *in_ns, double *out_ns)
{
    const IfmCostCrossing *cross = &x->cross[x->fixed[d]][block->first][block->last];
    double share = shares_known[block->share[d]], nodes = share * NODES, edges = 2 * nodes, whole = NODES;
    gint64 min = G_MAXINT64;
    for (int i = 0; x->fixed[d] && i < N_SIZES; i++)
    {
        const IfmPlanSize *size = &static_sizes[i];
        double filler = (double)size->edges > 2 * share * NODES;
        if ((double)size->nodes < share * NODES + filler || (double)size->edges < 2 * share * NODES ||
            size->nodes + size->edges >= min)
            continue;
        min = size->nodes + size->edges;
        nodes = (double)size->nodes;
        edges = (double)size->edges;
        whole = block->n == 1 ? nodes : fmax(NODES, nodes);
    }
    *in_ns = *out_ns = 0;
    if (!x->copies[d])
        return;
    *in_ns =
        cross->n_in * x->in[d].fixed_ns +
        x->in[d].ns_per_byte * (cross->in_per_node * nodes + cross->in_per_edge * edges + cross->whole_per_node * whole);
    *out_ns = cross->n_out * x->out[d].fixed_ns +
              x->out[d].ns_per_byte * (cross->out_per_node * nodes + cross->out_per_edge * edges);
}

/* @pace: streams have a batch each, and copies are the host's. Else a device whose part is copied begins when it and those
 * before it are, and what it made is copied back when all are done. @host_ns: (out) the copies */
static double block_ns(const Instance *x, const Block *block, guint32 busy, gboolean pace, double *host_ns, double *extra_j)
{
    double longest = 0, handed = 0, fetched = 0;
    for (int d = 0; d < x->m; d++)
    {
        double in_ns, out_ns;
        if ((block->set >> d & 1) == 0)
            continue;
        double ns = x->ns[d][block->first][block->last][busy & ~(1u << d)][block->share[d]] / (pace ? x->streams[d] : 1);
        copies_ns(x, block, d, &in_ns, &out_ns);
        handed += in_ns;
        fetched += out_ns;
        longest = fmax(longest, ns + (x->copies[d] && !pace ? handed : 0));
        *extra_j += (x->active[d] - x->idle[d]) * ns * 1e-9;
    }
    *host_ns = handed + fetched;
    return pace ? longest : longest + fetched;
}

static gboolean met(const GPtrArray *front, const double *worth)
{
    for (guint i = 0; i < front->len; i++)
    {
        const IfmPlanCost *cost = &((const IfmPlanChoice *)front->pdata[i])->cost;
        if (cost->latency_ns <= worth[0] * (1 + 1e-9) && cost->cycle_ns <= worth[1] * (1 + 1e-9) &&
            cost->energy_j <= worth[2] + 1e-9 * fabs(worth[2]))
            return TRUE;
    }
    return FALSE;
}

static void weigh(const Walk *walk)
{
    Instance *x = walk->x;
    double latency = 0, cycle = 0, energy = 0, ignored = 0, idle = 0;
    guint32 used = 0;
    gboolean split = FALSE;
    for (int b = 0; b < walk->n_blocks; b++)
        used |= walk->blocks[b].set;
    for (int b = 0; b < walk->n_blocks; b++)
    {
        const Block *block = &walk->blocks[b];
        double host = 0, copies = 0;
        if (block->n > 1)
            host += x->merge + x->partition + (split ? 0 : x->partition_edge * 2 * NODES);
        split = split || block->n > 1;
        latency += host + block_ns(x, block, block->set, FALSE, &copies, &ignored);
        double pace = block_ns(x, block, used, TRUE, &copies, &energy);
        cycle = fmax(cycle, fmax(host + copies, pace));
    }
    for (int d = 0; d < x->m; d++)
        idle += (used >> d & 1) != 0 ? x->idle[d] : 0;
    energy += idle * cycle * 1e-9;
    if (x->front != NULL && isfinite(latency) && isfinite(cycle))
        g_assert_true(met(x->front, (const double[]){ latency, cycle, energy }));
    x->best[IFM_OBJECTIVE_LATENCY] = fmin(x->best[IFM_OBJECTIVE_LATENCY], latency);
    x->best[IFM_OBJECTIVE_THROUGHPUT] = fmin(x->best[IFM_OBJECTIVE_THROUGHPUT], cycle);
    x->best[IFM_OBJECTIVE_ENERGY] = fmin(x->best[IFM_OBJECTIVE_ENERGY], energy);
}

/* Every way to share block @b, then the next block's; plans of NaN or infinite times weigh nothing. */
static void walk_shares(Walk *walk, int b, int device, int left)
{
    if (b == walk->n_blocks)
    {
        weigh(walk);
        return;
    }
    Block *block = &walk->blocks[b];
    while (device < walk->x->m && (block->set >> device & 1) == 0)
        device++;
    if (device == walk->x->m)
    {
        if (left == 0)
            walk_shares(walk, b + 1, 0, 5);
        return;
    }
    for (int share = 1; share <= left; share++) /* fifths */
    {
        if (block->n == 1 && share != 5)
            continue;
        block->share[device] = share - 1;
        walk_shares(walk, b, device + 1, left - share);
    }
}

static void walk_blocks(Walk *walk, int first, guint32 used)
{
    Instance *x = walk->x;
    if (first == x->n)
    {
        x->n_structures++;
        walk_shares(walk, 0, 0, 5);
        return;
    }
    if (x->max_blocks > 0 && walk->n_blocks == x->max_blocks)
        return;
    for (guint32 set = 1; set < 1u << x->m; set++)
        for (int last = first; last < x->n; last++)
        {
            gboolean fits = (set & used) == 0;
            int n = __builtin_popcount(set);
            for (int d = 0; d < x->m; d++)
                if ((set >> d & 1) != 0)
                    fits = fits && can(x, d, first, last) && (n == 1 || (x->splits[d] && (x->no_split >> d & 1) == 0));
            for (int s = first; s <= last; s++)
                fits = fits && (n == 1 || !x->whole[s]);
            if (!fits)
                continue;
            walk->blocks[walk->n_blocks++] = (Block){ .first = first, .last = last, .n = n, .set = set };
            walk_blocks(walk, last + 1, used | set);
            walk->n_blocks--;
        }
}

static void solve(Instance *x)
{
    Walk walk = { .x = x };
    for (int d = 0; d < x->m; d++)
        for (int first = 0; first < x->n; first++)
            for (int last = first; last < x->n; last++)
                for (guint32 busy = 0; busy < 1u << x->m; busy++)
                    for (int i = 0; i < N_SHARES; i++)
                        x->ns[d][first][last][busy][i] = share_ns(x, d, first, last, shares_known[i], busy);
    for (int i = 0; i < N_OBJECTIVES; i++)
        x->best[i] = INFINITY;
    x->n_structures = 0;
    walk_blocks(&walk, 0, 0);
}

/* --- making one ---------------------------------------------------------------------------------------------------------
 */

static double between(GRand *random, double low, double high)
{
    return g_rand_double_range(random, low, high);
}

static gboolean chance(GRand *random, double p)
{
    return g_rand_double(random) < p;
}

/* @size: of the stages' latencies: where they are small, the host's work and the links decide. */
static void draw_device(Instance *x, int d, double size, GRand *random)
{
    double speed = size * between(random, 0.3, 3);
    gboolean fuses = chance(random, 0.4), loaded = chance(random, 0.7);
    x->fixed[d] = chance(random, 0.25);
    x->splits[d] = !chance(random, 0.15);
    x->streams[d] = chance(random, 0.2) ? g_rand_int_range(random, 2, 4) : 1;
    x->active[d] = between(random, 1, 40);
    x->idle[d] = between(random, 0, 5);
    for (int s = 0; s < x->n; s++)
    {
        x->scale[d][s] = speed * between(random, 1e5, 1e7);
        x->power[d][s] = between(random, 0.2, 1.3);
        x->forbidden[d][s] = chance(random, 0.08);
        for (int last = s + 1; last < x->n; last++)
            x->fused[d][s][last] = fuses && chance(random, 0.3) ? between(random, 0.6, 1.1) : 0;
        for (guint32 busy = 1; busy < 1u << x->m; busy++)
        {
            gboolean several = (busy & (busy - 1)) != 0;
            gboolean known = loaded && (busy >> d & 1) == 0 && chance(random, several ? 0.3 : 0.8);
            /* three of them may be far worse than each pair */
            x->slower[d][s][busy] = known ? between(random, 1, several ? 5 : 1.8) : 0;
        }
    }
}

/* Two devices for the first stages alone, two for the others: beginnings that differ only in how they were shared meet. */
static void part_devices(Instance *x)
{
    for (int d = 0; d < x->m; d++)
    {
        x->splits[d] = TRUE;
        for (int s = 0; s < x->n; s++)
            x->forbidden[d][s] = (s < x->n / 2) != (d < 2);
    }
}

static void draw_links(Instance *x, double size, GRand *random)
{
    for (int d = 0; d < x->m; d++)
    {
        x->copies[d] = chance(random, 0.6);
        x->in[d] = (IfmCostLink){ size * between(random, 1e3, 4e5), size * between(random, 0, 0.5) };
        x->out[d] = (IfmCostLink){ size * between(random, 1e3, 4e5), size * between(random, 0, 0.5) };
    }
    for (int form = 0; form < 2; form++)
        for (int first = 0; first < x->n; first++)
            for (int last = first; last < x->n; last++)
                x->cross[form][first][last] = (IfmCostCrossing){ .n_in = g_rand_int_range(random, 1, 4),
                                                                 .n_out = g_rand_int_range(random, 1, 3),
                                                                 .whole_per_node = between(random, 0, 4000),
                                                                 .in_per_node = between(random, 0, 8000),
                                                                 .in_per_edge = between(random, 0, 4000),
                                                                 .out_per_node = between(random, 0, 8000),
                                                                 .out_per_edge = between(random, 0, 4000) };
}

static void draw(Instance *x, GRand *random)
{
    int n = g_rand_int_range(random, 1, MAX_STAGES + 1), m = g_rand_int_range(random, 1, MAX_DEVICES + 3);
    double size = chance(random, 0.5) ? 1 : 0.1;
    *x = (Instance){ .n = n, .m = MIN(m, MAX_DEVICES) };
    gboolean linked = chance(random, 0.4), hosted = chance(random, 0.7);
    for (int d = 0; d < x->m; d++)
        draw_device(x, d, size, random);
    if (x->m == MAX_DEVICES && chance(random, 0.5))
        part_devices(x);
    for (int s = 0; s <= x->n; s++)
        x->cut[s] = between(random, 10, 4000);
    for (int s = 0; s < x->n; s++)
        x->whole[s] = chance(random, 0.08);
    if (linked)
        draw_links(x, size, random);
    if (hosted)
    {
        x->partition = between(random, 0, 5e5);
        x->partition_edge = between(random, 0, 2000);
        x->merge = between(random, 0, 5e5);
        x->pad = between(random, 0, 0.3);
    }
    x->max_blocks = chance(random, 0.5) ? g_rand_int_range(random, 1, 4) : 0;
    x->no_split = chance(random, 0.2) ? (guint32)g_rand_int_range(random, 0, 1 << x->m) : 0;
}

static void give_points(IfmCosts *costs, const Instance *x, int d, int first, int last, guint32 busy)
{
    static const gint64 two[] = { 250, 2000 };
    IfmCostPoint points[N_SIZES];
    g_autoptr(GError) error = NULL;
    gsize n = 0;
    double slower = busy == 0 ? 1 : x->slower[d][first][busy];
    for (int i = 0; x->fixed[d] && i < N_SIZES; i++, n++)
        points[n] = (IfmCostPoint){ static_sizes[i].nodes, static_sizes[i].edges,
                                    slower * alone_ns(x, d, first, last, (double)static_sizes[i].nodes), NAN };
    for (int i = 0; !x->fixed[d] && i < 2; i++, n++)
        points[n] = (IfmCostPoint){ two[i], 2 * two[i], slower * alone_ns(x, d, first, last, (double)two[i]), NAN };
    gboolean good = busy == 0 ? ifm_costs_set_points(costs, d, first + 1, last + 1, points, n, &error)
                              : ifm_costs_set_busy_points(costs, d, first + 1, last + 1, busy, points, n, &error);
    g_assert_no_error(error);
    g_assert_true(good);
}

static IfmCosts *costs_of(const Instance *x)
{
    static const char *const names[] = { "A", "B", "C", "D" };
    static const char *const specs[] = { "simulated:ideal/CPU", "simulated:ideal/CPU#2", "simulated:ideal/CPU#3" };
    IfmCosts *costs = ifm_costs_new("random", (gsize)x->n);
    for (int d = 0; d < x->m; d++)
    {
        IfmCostDevice device = { .alias = names[d],
                                 .device = specs[x->streams[d] - 1],
                                 .form = x->fixed[d] ? IFM_PLAN_STATIC : IFM_PLAN_DYNAMIC,
                                 .sizes = x->fixed[d] ? static_sizes : NULL,
                                 .n_sizes = x->fixed[d] ? N_SIZES : 0,
                                 .splits = x->splits[d],
                                 .active_w = x->active[d],
                                 .idle_w = x->idle[d] };
        g_assert_cmpint(ifm_costs_add_device(costs, &device, NULL), ==, d);
    }
    for (int d = 0; d < x->m; d++)
        for (int s = 0; s < x->n; s++)
        {
            give_points(costs, x, d, s, s, 0);
            for (int last = s + 1; last < x->n; last++)
                if (x->fused[d][s][last] > 0)
                    give_points(costs, x, d, s, last, 0);
            for (guint32 busy = 1; busy < 1u << x->m; busy++)
                if (x->slower[d][s][busy] > 0)
                    give_points(costs, x, d, s, s, busy);
            if (x->forbidden[d][s])
                ifm_costs_forbid(costs, d, s + 1, "drawn so");
        }
    for (int s = 0; s <= x->n; s++)
        ifm_costs_set_cut(costs, s, x->cut[s], 0);
    for (int s = 0; s < x->n; s++)
        if (x->whole[s])
            ifm_costs_forbid_split(costs, s + 1);
    for (int d = 0; d < x->m; d++)
        if (x->copies[d])
            ifm_costs_set_link(costs, d, &x->in[d], &x->out[d]);
    for (int form = 0; form < 2; form++)
        for (int first = 0; first < x->n; first++)
            for (int last = first; last < x->n; last++)
                ifm_costs_set_crossing(costs, form ? IFM_PLAN_STATIC : IFM_PLAN_DYNAMIC, first + 1, last + 1,
                                       &x->cross[form][first][last]);
    ifm_costs_set_host(costs, x->partition, x->partition_edge, x->merge, x->pad);
    return costs;
}

/* --- the comparison -----------------------------------------------------------------------------------------------------
 */

static double value_of(const IfmPlanCost *cost, IfmObjective objective)
{
    return objective == IFM_OBJECTIVE_LATENCY      ? cost->latency_ns
           : objective == IFM_OBJECTIVE_THROUGHPUT ? cost->cycle_ns
                                                   : cost->energy_j;
}

static IfmPlanQuestion question_of(const Instance *x, IfmObjective objective)
{
    return (IfmPlanQuestion){ .objective = objective,
                              .nodes = NODES,
                              .edges = 2 * NODES,
                              .grid = grid,
                              .n_grid = G_N_ELEMENTS(grid),
                              .max_blocks = x->max_blocks,
                              .no_split = x->no_split };
}

/* The certificate of a search that was cut short: a bound that holds, beside a plan that is one. */
static void check_cut_short(const IfmCosts *costs, const Instance *x, IfmObjective objective, GRand *random)
{
    g_auto(IfmPlanAnswer) answer = { 0 };
    g_autoptr(GError) error = NULL;
    IfmPlanQuestion question = question_of(x, objective);
    question.most_visited = g_rand_int_range(random, 1, 40);
    g_assert_true(ifm_plan_search(costs, &question, &answer, &error));
    double value = value_of(&answer.best.cost, objective), best = x->best[objective], margin = 1e-9 * fabs(best);
    g_assert_cmpfloat(answer.lower_bound, <=, best + margin);
    g_assert_cmpfloat(value, >=, best - margin);
    if (answer.optimal)
        g_assert_cmpfloat(value, <=, best + margin);
    else
        g_assert_cmpfloat_with_epsilon(answer.gap_ratio, value / answer.lower_bound - 1, 1e-9);
}

/* Every share allowed is never worse than the grid, nor than the published restricted search. */
static void check_freer(const IfmCosts *costs, const Instance *x, IfmObjective objective)
{
    static const double published[] = { 0.3, 0.5, 0.7 };
    g_auto(IfmPlanAnswer) free_one = { 0 }, restricted = { 0 };
    g_autoptr(GError) error = NULL;
    IfmPlanQuestion question = question_of(x, objective);
    question.grid = NULL;
    g_assert_true(ifm_plan_search(costs, &question, &free_one, &error));
    double value = value_of(&free_one.best.cost, objective);
    g_assert_cmpfloat(value, <=, x->best[objective] * (1 + 1e-9));
    g_assert_true(free_one.optimal);
    g_assert_cmpfloat(value, <=, value_of(&free_one.cost, objective) * (1 + 1e-9));
    g_auto(IfmPlanCost) again = { 0 };
    g_assert_true(ifm_plan_cost(costs, free_one.best.plan, NODES, 2 * NODES, &again, &error));
    g_assert_cmpfloat(value_of(&again, objective), ==, value);
    g_assert_cmpfloat(free_one.lower_bound, ==, value);
    question.grid = published;
    question.n_grid = G_N_ELEMENTS(published);
    question.max_blocks = x->max_blocks > 0 ? MIN(2, x->max_blocks) : 2;
    question.no_split |= 1u << (x->m - 1);
    if (ifm_plan_search(costs, &question, &restricted, NULL))
        g_assert_cmpfloat(value, <=, value_of(&restricted.best.cost, objective) * (1 + 1e-9));
}

/* Shares between the tenths: for the cycle none is better than those that are tried; for the latency of devices that copy
 * one may be, by a little. @worst: (inout) answer over the best of them */
static void check_finer(const IfmCosts *costs, const Instance *x, IfmObjective objective, double *worst)
{
    double twentieths[19];
    g_auto(IfmPlanAnswer) free_one = { 0 }, finer = { 0 };
    IfmPlanQuestion question = question_of(x, objective);
    question.grid = NULL;
    g_assert_true(ifm_plan_search(costs, &question, &free_one, NULL));
    for (int i = 0; i < 19; i++)
        twentieths[i] = (i + 1) / 20.0;
    question.grid = twentieths;
    question.n_grid = 19;
    g_assert_true(ifm_plan_search(costs, &question, &finer, NULL));
    double value = value_of(&free_one.best.cost, objective), min = value_of(&finer.best.cost, objective);
    *worst = fmax(*worst, value / min);
}

static void test_random(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(20261);
    g_autofree Instance *x = g_new(Instance, 1);
    int n_solved = 0;
    double worst[N_OBJECTIVES] = { 0 };
    for (int i = 0; i < N_INSTANCES; i++)
    {
        draw(x, random);
        solve(x);
        g_autoptr(IfmCosts) costs = costs_of(x);
        for (int objective = 0; objective < N_OBJECTIVES; objective++)
        {
            g_auto(IfmPlanAnswer) answer = { 0 };
            g_autoptr(GError) error = NULL;
            IfmPlanQuestion question = question_of(x, (IfmObjective)objective);
            gboolean found = ifm_plan_search(costs, &question, &answer, &error);
            if (isinf(x->best[objective]))
            {
                g_assert_false(found);
                g_assert_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED);
                continue;
            }
            g_assert_no_error(error);
            g_assert_true(answer.optimal);
            double value = value_of(&answer.best.cost, (IfmObjective)objective);
            if (fabs(value - x->best[objective]) > 1e-9 * fabs(x->best[objective]))
                g_error("instance %d, objective %d: %g, by trying all %g", i, objective, value, x->best[objective]);
            g_assert_cmpfloat(answer.n_structures, ==, x->n_structures);
            g_assert_cmpint(answer.n_ranges, ==, x->n * (x->n + 1) / 2);
            check_cut_short(costs, x, (IfmObjective)objective, random);
            check_freer(costs, x, (IfmObjective)objective);
            if (i < N_INSTANCES)
                check_finer(costs, x, (IfmObjective)objective, &worst[objective]);
            n_solved++;
        }
    }
    g_test_message("%d of %d questions have a plan", n_solved, N_INSTANCES * N_OBJECTIVES);
    g_assert_cmpint(n_solved, >=, 2 * N_INSTANCES);
    g_test_message("latency at most %.4f times that of the best twentieths", worst[IFM_OBJECTIVE_LATENCY]);
    g_assert_cmpfloat(worst[IFM_OBJECTIVE_LATENCY], <=, 1.001);
    g_assert_cmpfloat(worst[IFM_OBJECTIVE_THROUGHPUT], <=, 1 + 1e-9);
}

/* --- the Pareto set -----------------------------------------------------------------------------------------------------
 */

static void check_nondominated(const GPtrArray *front)
{
    for (guint i = 0; i < front->len; i++)
        for (guint k = 0; k < front->len; k++)
        {
            const IfmPlanCost *a = &((const IfmPlanChoice *)front->pdata[i])->cost;
            const IfmPlanCost *b = &((const IfmPlanChoice *)front->pdata[k])->cost;
            gboolean better = a->latency_ns < b->latency_ns * (1 - 1e-9) && a->cycle_ns < b->cycle_ns * (1 - 1e-9) &&
                              a->energy_j < b->energy_j - 1e-9 * fabs(b->energy_j);
            g_assert_false(better);
            if (i < k)
                g_assert_cmpfloat(a->latency_ns, <=, b->latency_ns * (1 + 1e-9));
        }
}

static void test_pareto(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(77);
    g_autofree Instance *x = g_new(Instance, 1);
    int n_solved = 0;
    for (int i = 0; i < 200; i++)
    {
        draw(x, random);
        g_autoptr(IfmCosts) costs = costs_of(x);
        g_autoptr(GError) error = NULL;
        IfmPlanQuestion question = question_of(x, IFM_OBJECTIVE_LATENCY);
        g_autoptr(GPtrArray) front = ifm_plan_pareto(costs, &question, NULL, &error);
        x->front = front;
        solve(x);
        if (front == NULL)
        {
            g_assert_true(isinf(x->best[0]));
            g_assert_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED);
            continue;
        }
        n_solved++;
        check_nondominated(front);
        /* of any shares: its ends are what the searches find */
        question.grid = NULL;
        g_autoptr(GPtrArray) of_any = ifm_plan_pareto(costs, &question, NULL, &error);
        g_assert_no_error(error);
        check_nondominated(of_any);
        double min[2] = { INFINITY, INFINITY };
        for (guint k = 0; k < of_any->len; k++)
            for (int objective = 0; objective < 2; objective++)
                min[objective] =
                    fmin(min[objective], value_of(&((IfmPlanChoice *)of_any->pdata[k])->cost, (IfmObjective)objective));
        for (int objective = 0; objective < 2; objective++)
        {
            g_auto(IfmPlanAnswer) answer = { 0 };
            question.objective = (IfmObjective)objective;
            g_assert_true(ifm_plan_search(costs, &question, &answer, &error));
            double value = value_of(&answer.best.cost, (IfmObjective)objective);
            g_assert_cmpfloat_with_epsilon(min[objective] / value, 1, 1e-9);
        }
    }
    g_assert_cmpint(n_solved, >=, 150);
}

/* --- what is said of it -------------------------------------------------------------------------------------------------
 */

/* Stages that take @ns on each device whatever the share's size is, but half of it for half of it. */
static IfmCosts *linear_costs(int n_stages, int n_devices, const double *stage_ns, double spread)
{
    static const char *const names[] = { "CPU", "GPU", "NPU", "ORT", "TPU" };
    IfmCosts *costs = ifm_costs_new("linear", (gsize)n_stages);
    for (int d = 0; d < n_devices; d++)
    {
        IfmCostDevice device = { .alias = names[d], .splits = TRUE, .active_w = NAN, .idle_w = NAN };
        ifm_costs_add_device(costs, &device, NULL);
        for (int s = 1; s <= n_stages; s++)
        {
            /* a third point tells how far off the line between the others is: not at all */
            const IfmCostPoint points[] = { { 100, 200, stage_ns[d] / 10, spread },
                                            { 200, 400, stage_ns[d] / 5, spread },
                                            { 1000, 2000, stage_ns[d], spread } };
            g_assert_true(ifm_costs_set_points(costs, d, s, s, points, 3, NULL));
        }
    }
    return costs;
}

/* Beginnings of the same devices that differ in what may follow: @ms: of four stages on five devices, proportional to the
 * nodes; 0: not for this device. */
static void check_beginnings(const double (*ms)[4], double partition_ms, double per_edge_ns, int max_blocks, double best_ms)
{
    static const double unit[] = { 1e6, 1e6, 1e6, 1e6, 1e6 };
    g_autoptr(IfmCosts) costs = linear_costs(4, 5, unit, 0);
    g_auto(IfmPlanAnswer) answer = { 0 };
    IfmPlanQuestion question = { .objective = IFM_OBJECTIVE_LATENCY, .nodes = 1000, .edges = 2000 };
    for (int d = 0; d < 5; d++)
        for (int s = 1; s <= 4; s++)
        {
            double ns = fmax(1, ms[d][s - 1] * 1e6);
            const IfmCostPoint points[] = { { 100, 200, ns / 10, 0 }, { 1000, 2000, ns, 0 } };
            g_assert_true(ifm_costs_set_points(costs, d, s, s, points, 2, NULL));
            if (ms[d][s - 1] == 0)
                ifm_costs_forbid(costs, d, s, "not for it");
        }
    ifm_costs_set_host(costs, partition_ms * 1e6, per_edge_ns, 0, 0);
    question.max_blocks = max_blocks;
    g_assert_true(ifm_plan_search(costs, &question, &answer, NULL));
    g_assert_cmpfloat_with_epsilon(answer.best.cost.latency_ns / 1e6, best_ms, 1e-6);
    gboolean complete = FALSE;
    g_autoptr(GPtrArray) front = ifm_plan_pareto(costs, &question, &complete, NULL);
    g_assert_true(complete);
    g_assert_cmpfloat_with_epsilon(((IfmPlanChoice *)front->pdata[0])->cost.latency_ns / 1e6, best_ms, 1e-6);
}

static void test_beginnings(void)
{
    /* A > B takes 20 ms; A + B 11 and 12 for the order of the edges, which C + D then have for nothing */
    static const double ordered[5][4] = { { 10, 12 }, { 12, 10 }, { 0, 0, 20, 20 }, { 0, 0, 20, 20 } };
    /* A > B takes 20 ms, A + B 20 and 2, but leaves two of three blocks for C > D */
    static const double few_blocks[5][4] = { { 10, 30 }, { 30, 10 }, { 0, 0, 10, 100 }, { 0, 0, 100, 10 } };
    /* A + B > C takes 5 and 10 ms, A + B + C a third of 110, but leaves two of three blocks for D > E, 20 ms instead of 55
     */
    static const double two_blocks[5][4] = { { 10, 100 }, { 10, 100 }, { 100, 10 }, { 0, 0, 10, 100 }, { 0, 0, 100, 10 } };
    check_beginnings(two_blocks, 0, 0, 3, 110.0 / 3 + 20);
    check_beginnings(ordered, 0, 6000, 0, 11 + 12 + 20);
    check_beginnings(few_blocks, 2, 0, 3, 20 + 2 + 20);
}

static void test_known(void)
{
    static const double stage_ns[] = { 1e6, 3e6 };
    g_autoptr(IfmCosts) costs = linear_costs(2, 2, stage_ns, 0.001);
    g_autoptr(GError) error = NULL;
    g_auto(IfmPlanAnswer) answer = { 0 }, without = { 0 };
    IfmPlanQuestion question = { .objective = IFM_OBJECTIVE_LATENCY, .nodes = 1000, .edges = 2000 };
    g_assert_true(ifm_plan_search(costs, &question, &answer, &error));
    /* both devices on both stages: three quarters and one of 2 ms */
    g_assert_cmpfloat_with_epsilon(answer.cost.latency_ns, 1.5e6, 1e-3);
    g_autofree char *text = ifm_plan_to_text(answer.plan);
    g_assert_cmpstr(text, ==, "CPU+GPU 1-2 (0.75 : 0.25)");
    g_assert_false(answer.within_uncertainty);
    g_assert_cmpfloat(answer.single.cost.latency_ns, ==, 2e6);
    g_assert_cmpint(answer.n_ranges, ==, 3);
    g_assert_cmpint(answer.n_ranges_known, ==, 3);
    g_assert_cmpint(answer.n_subsets, ==, 3);
    g_assert_cmpfloat(answer.n_structures, ==, 3 + 2);
    question.without = 1;
    g_assert_true(ifm_plan_search(costs, &question, &without, &error));
    g_assert_cmpfloat(without.cost.latency_ns, ==, 6e6);
    g_assert_cmpuint(without.plan->devices->len, ==, answer.plan->devices->len - 1); /* nobody runs anything on it */
}

/* Seven stages have 28 ranges; plans of three devices in so many blocks: 6 cuts of 6, by sets of devices that do not
 * share any: 7 + 6 x 12 + 15 x 6. */
static void test_counts(void)
{
    static const double stage_ns[] = { 1e6, 2e6, 3e6 };
    g_autoptr(IfmCosts) costs = linear_costs(7, 3, stage_ns, 0);
    g_auto(IfmPlanAnswer) answer = { 0 };
    const IfmPlanQuestion question = { .objective = IFM_OBJECTIVE_THROUGHPUT, .nodes = 1000, .edges = 2000 };
    g_assert_true(ifm_plan_search(costs, &question, &answer, NULL));
    g_assert_cmpint(answer.n_ranges, ==, 28);
    g_assert_cmpint(answer.n_subsets, ==, 7);
    g_assert_cmpfloat(answer.n_structures, ==, 7 + 6 * 12 + 15 * 6);
}

/* Of the ten ranges of four stages those that measured ones make up: 1-2, 3-4 and 1-4 on the one device; 1, 2, 3, 1-2, 2-3
 * and 1-3 on the other. */
static void test_known_ranges(void)
{
    static const int known[][3] = { { 0, 1, 2 }, { 0, 3, 4 }, { 1, 1, 1 }, { 1, 2, 2 }, { 1, 3, 3 } };
    g_autoptr(IfmCosts) costs = ifm_costs_new("sparse", 4);
    g_auto(IfmPlanAnswer) answer = { 0 };
    const IfmPlanQuestion question = { .objective = IFM_OBJECTIVE_THROUGHPUT, .nodes = 1000, .edges = 2000 };
    const IfmCostPoint point = { 1000, 2000, 1e6, 0.01 };
    for (int d = 0; d < 2; d++)
    {
        IfmCostDevice device = { .alias = d == 0 ? "CPU" : "GPU", .splits = TRUE, .active_w = NAN, .idle_w = NAN };
        ifm_costs_add_device(costs, &device, NULL);
    }
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
        g_assert_true(ifm_costs_set_points(costs, known[i][0], known[i][1], known[i][2], &point, 1, NULL));
    g_assert_true(ifm_plan_search(costs, &question, &answer, NULL));
    g_assert_cmpint(answer.n_ranges, ==, 10);
    g_assert_cmpint(answer.n_ranges_known, ==, 8);
}

/* The gain, 25 % of 2 ms, against intervals of as much and of less. */
static void test_uncertain(void)
{
    static const double stage_ns[] = { 1e6, 3e6 };
    for (int wide = 0; wide <= 1; wide++)
    {
        g_autoptr(IfmCosts) costs = linear_costs(1, 2, stage_ns, wide ? 0.4 : 0.1);
        g_auto(IfmPlanAnswer) answer = { 0 };
        const IfmPlanQuestion question = { .objective = IFM_OBJECTIVE_THROUGHPUT, .nodes = 1000, .edges = 2000 };
        g_assert_true(ifm_plan_search(costs, &question, &answer, NULL));
        g_assert_cmpint(answer.within_uncertainty, ==, wide);
        g_assert_cmpfloat_with_epsilon(answer.best.cost.cycle_ns, 0.75e6, 1e-3);
        g_assert_cmpfloat_with_epsilon(answer.cost.cycle_ns, wide ? 1e6 : 0.75e6, 1e-3);
        g_assert_true(ifm_plan_same_shape(answer.plan, wide ? answer.single.plan : answer.best.plan));
        g_assert_false(answer.spread_unknown);
    }
}

/* Of points without an interval nobody can say how sure the gain is. */
static void test_unknown_spread(void)
{
    static const double stage_ns[] = { 1e6, 3e6 };
    const IfmPlanQuestion questions[] = { { .objective = IFM_OBJECTIVE_THROUGHPUT, .nodes = 1000, .edges = 2000 },
                                          { .objective = IFM_OBJECTIVE_LATENCY, .nodes = 1000, .edges = 2000 } };
    g_autoptr(IfmCosts) costs = linear_costs(1, 2, stage_ns, NAN);
    for (gsize i = 0; i < G_N_ELEMENTS(questions); i++)
    {
        g_auto(IfmPlanAnswer) answer = { 0 };
        g_assert_true(ifm_plan_search(costs, &questions[i], &answer, NULL));
        g_assert_true(answer.spread_unknown);
        g_assert_false(answer.within_uncertainty);
        g_assert_true(ifm_plan_same_shape(answer.plan, answer.best.plan));
    }
}

static void test_refusals(void)
{
    static const double stage_ns[] = { 1e6, 3e6 };
    g_autoptr(IfmCosts) costs = linear_costs(3, 2, stage_ns, 0);
    g_autoptr(GError) error = NULL;
    g_auto(IfmPlanAnswer) answer = { 0 };
    IfmPlanQuestion question = { .objective = IFM_OBJECTIVE_ENERGY, .nodes = 1000, .edges = 2000 };
    g_assert_false(ifm_plan_search(costs, &question, &answer, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    g_assert_nonnull(strstr(error->message, "CPU: its power is unknown"));
    g_clear_error(&error);
    question.objective = IFM_OBJECTIVE_LATENCY;
    ifm_costs_forbid(costs, 0, 2, "no ScatterND");
    ifm_costs_forbid(costs, 1, 2, "lost its driver");
    g_assert_false(ifm_plan_search(costs, &question, &answer, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED);
    g_assert_nonnull(strstr(error->message, "no device can run stage 2; CPU: no ScatterND; GPU: lost its driver"));
    g_clear_error(&error);
    question.without = 3;
    g_assert_false(ifm_plan_search(costs, &question, &answer, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED);
    g_clear_error(&error);
    question.without = 0;
    question.nodes = 0;
    g_assert_false(ifm_plan_search(costs, &question, &answer, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/plan-search/random", test_random);
    g_test_add_func("/plan-search/pareto", test_pareto);
    g_test_add_func("/plan-search/beginnings", test_beginnings);
    g_test_add_func("/plan-search/known", test_known);
    g_test_add_func("/plan-search/known-ranges", test_known_ranges);
    g_test_add_func("/plan-search/counts", test_counts);
    g_test_add_func("/plan-search/uncertain", test_uncertain);
    g_test_add_func("/plan-search/unknown-spread", test_unknown_spread);
    g_test_add_func("/plan-search/refusals", test_refusals);
    return g_test_run();
}
