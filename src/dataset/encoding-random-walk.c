/*
 * Return probabilities of random walks. A walk of k steps from node i to itself is a walk of h steps from i to some node
 * and one of k - h steps from there to i. So two walks of half the length from each node suffice, one along the edges and
 * one against them. The memory is a block of nodes by all nodes.
 */
#include "dataset-private.h"

#include <math.h>
#include <string.h>

#include <base/base.h>

#define LANES 8 /* start nodes in one block: their probabilities are adjacent, one cache line per node */

typedef double Lane[LANES];

/*
 * Steps: the edges of a graph by the node they leave (or, backwards, enter); each is taken with the chance of its source.
 */
typedef struct
{
    gint64 *starts, *to; /* [n_nodes + 1], [n_edges] */
} Steps;

static void steps_clear(Steps *steps)
{
    g_free(steps->starts);
    g_free(steps->to);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Steps, steps_clear)

static gboolean steps_init(Steps *steps, gint64 n_nodes, gint64 n_edges, const gint64 *from, const gint64 *to,
                           GError **error)
{
    if ((steps->starts = ifm_graph_allocate(n_nodes + 2, sizeof(gint64), error)) == NULL ||
        (steps->to = ifm_graph_allocate(n_edges, sizeof(gint64), error)) == NULL)
        return FALSE;
    gint64 *next = steps->starts + 1; /* one further on: filling moves each start to its end, which is the next start */
    memset(steps->starts, 0, sizeof *steps->starts * (gsize)(n_nodes + 2));
    for (gint64 i = 0; i < n_edges; i++)
        if (from[i] + 1 < n_nodes)
            next[from[i] + 1]++;
    for (gint64 node = 1; node < n_nodes; node++)
        next[node] += next[node - 1];
    for (gint64 i = 0; i < n_edges; i++)
        steps->to[next[from[i]]++] = to[i];
    return TRUE;
}

/*
 * Crowd: the positions of the walkers of a block after some steps.
 * @nodes: [n] nodes with a probability above 0    @chances: [n_nodes of the graph] valid at @nodes only
 * @stamps: [n_nodes of the graph] the last round that reached the node
 */
typedef struct
{
    gint64 n, *nodes;
    guint32 *stamps, round;
    Lane *chances;
} Crowd;

static void crowd_clear(Crowd *crowd)
{
    g_free(crowd->nodes);
    g_free(crowd->stamps);
    g_free(crowd->chances);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Crowd, crowd_clear)

static gboolean crowd_init(Crowd *crowd, gint64 n_nodes, GError **error)
{
    if ((crowd->nodes = ifm_graph_allocate(n_nodes, sizeof(gint64), error)) == NULL ||
        (crowd->stamps = ifm_graph_allocate(n_nodes, sizeof(guint32), error)) == NULL ||
        (crowd->chances = ifm_graph_allocate(n_nodes, sizeof(Lane), error)) == NULL)
        return FALSE;
    memset(crowd->stamps, 0, sizeof *crowd->stamps * (gsize)n_nodes);
    return TRUE;
}

static void crowd_empty(Crowd *crowd)
{
    crowd->n = 0;
    crowd->round++;
}

/* crowd_at: The probabilities at @node; 0 where no walker was. */
static double *crowd_at(Crowd *crowd, gint64 node)
{
    if (crowd->stamps[node] != crowd->round)
    {
        crowd->stamps[node] = crowd->round;
        crowd->nodes[crowd->n++] = node;
        memset(crowd->chances[node], 0, sizeof(Lane));
    }
    return crowd->chances[node];
}

/* scale: Multiplies the probabilities at each node by the factor of the node. */
static void scale(Crowd *crowd, const double *factors)
{
    for (gint64 i = 0; i < crowd->n; i++)
        for (int lane = 0; lane < LANES; lane++)
            crowd->chances[crowd->nodes[i]][lane] *= factors[crowd->nodes[i]];
}

/* spread: @next: (out) at each node, the sum over the nodes with an edge to it. */
static void spread(const Steps *steps, const Crowd *crowd, Crowd *next)
{
    crowd_empty(next);
    for (gint64 i = 0; i < crowd->n; i++)
    {
        gint64 node = crowd->nodes[i];
        const double *here = crowd->chances[node];
        for (gint64 k = steps->starts[node]; k < steps->starts[node + 1]; k++)
        {
            double *there = crowd_at(next, steps->to[k]);
            for (int lane = 0; lane < LANES; lane++)
                there[lane] += here[lane];
        }
    }
}

/* meet: For each walker, the sum over the nodes of the products of its probabilities in both crowds. */
static void meet(const Crowd *a, const Crowd *b, Lane sums)
{
    const Crowd *few = a->n <= b->n ? a : b, *many = few == a ? b : a;
    memset(sums, 0, sizeof(Lane));
    for (gint64 i = 0; i < few->n; i++)
    {
        gint64 node = few->nodes[i];
        if (many->stamps[node] != many->round)
            continue;
        for (int lane = 0; lane < LANES; lane++)
            sums[lane] += few->chances[node][lane] * many->chances[node][lane];
    }
}

/*
 * Walks: @crowds: two a direction, now and next
 */
typedef struct
{
    const IfmGraph *graph;
    Steps forward, backward;
    double *factors; /* [n_nodes] 1 / number of outgoing edges; 0 without edges */
    gint64 n_ends;   /* nodes that no edge leaves */
    Crowd crowds[4];
    IfmWatch watch;
} Walks;

static void walks_clear(Walks *walks)
{
    steps_clear(&walks->forward);
    steps_clear(&walks->backward);
    g_free(walks->factors);
    for (gsize i = 0; i < G_N_ELEMENTS(walks->crowds); i++)
        crowd_clear(&walks->crowds[i]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Walks, walks_clear)

static gboolean walks_init(Walks *walks, const IfmGraph *graph, GError **error)
{
    const gint64 *sources = graph->edge_index, *destinations = sources + graph->n_edges;
    walks->graph = graph;
    for (gsize i = 0; i < G_N_ELEMENTS(walks->crowds); i++)
        if (!crowd_init(&walks->crowds[i], graph->n_nodes, error))
            return FALSE;
    if (!steps_init(&walks->forward, graph->n_nodes, graph->n_edges, sources, destinations, error) ||
        !steps_init(&walks->backward, graph->n_nodes, graph->n_edges, destinations, sources, error) ||
        (walks->factors = ifm_graph_allocate(graph->n_nodes, sizeof(double), error)) == NULL)
        return FALSE;
    for (gint64 node = 0; node < graph->n_nodes; node++)
    {
        gint64 n_ways = walks->forward.starts[node + 1] - walks->forward.starts[node];
        walks->factors[node] = n_ways > 0 ? 1 / (double)n_ways : 0;
        walks->n_ends += n_ways == 0;
    }
    return TRUE;
}

/* walk_block: The walks of @n nodes from @begin on. @values: (out) [n x dim] of these nodes */
static gboolean walk_block(Walks *walks, gint64 begin, gint64 n, gint64 dim, float *values, GError **error)
{
    Crowd *ahead = &walks->crowds[0], *ahead_next = &walks->crowds[1];
    Crowd *behind = &walks->crowds[2], *behind_next = &walks->crowds[3], *kept;
    Lane chances;
    crowd_empty(ahead);
    crowd_empty(behind);
    for (gint64 lane = 0; lane < n; lane++)
        crowd_at(ahead, begin + lane)[lane] = crowd_at(behind, begin + lane)[lane] = 1;
    for (gint64 step = 1; step <= dim; step++)
    {
        if (step % 2 == 1) /* forward and backward walk grow by one step alternately */
        {
            scale(ahead, walks->factors);
            spread(&walks->forward, ahead, ahead_next);
            kept = ahead, ahead = ahead_next, ahead_next = kept;
        }
        else
        {
            spread(&walks->backward, behind, behind_next);
            scale(behind_next, walks->factors);
            kept = behind, behind = behind_next, behind_next = kept;
        }
        meet(ahead, behind, chances);
        for (gint64 lane = 0; lane < n; lane++)
            values[lane * dim + step - 1] = (float)chances[lane];
        if (!ifm_watch_goes_on(&walks->watch, LANES * (ahead->n + behind->n), error))
            return FALSE;
    }
    return TRUE;
}

IfmEncoding *ifm_encoding_random_walk(const IfmGraph *graph, gint64 dim, IfmEncodingWatch watch, void *user, GError **error)
{
    g_auto(Walks) walks = { .watch = { .call = watch, .user = user } };
    g_autoptr(IfmEncoding) encoding = ifm_encoding_new(graph, dim, error);
    if (encoding == NULL || !walks_init(&walks, graph, error))
        return NULL;
    for (gint64 begin = 0; begin < graph->n_nodes; begin += LANES)
    {
        walks.watch.done_ratio = (double)begin / (double)graph->n_nodes;
        if (!walk_block(&walks, begin, MIN(LANES, graph->n_nodes - begin), dim, encoding->values + begin * dim, error))
        {
            g_prefix_error(error, "%s: ", graph->name);
            return NULL;
        }
    }
    if (walks.n_ends > 0)
        g_ptr_array_add(encoding->notes,
                        g_strdup_printf("%" G_GINT64_FORMAT " node%s that no edge leaves: a walk ends there", walks.n_ends,
                                        ifm_plural(walks.n_ends)));
    return g_steal_pointer(&encoding);
}
