/*
 * Seeded random graphs. All is integer arithmetic over the Mersenne twister, so that the same seed gives the same edges on
 * every machine: no rounding of a floating-point library can decide which edge is taken. (Only G_RANDOM_VERSION=2.0 in the
 * environment, which selects the seeding of GLib's first years, gives others.)
 */
#include "dataset-private.h"

#include <math.h>
#include <string.h>

__extension__ typedef unsigned __int128 Wide;

static const char *const kind_words[] = { [IFM_GRAPH_UNIFORM] = "uniform", [IFM_GRAPH_POWER_LAW] = "power-law", NULL };

const char *const *ifm_graph_kind_words(void)
{
    return kind_words;
}

/* below: a whole number under @bound (which is above 0), each equally likely: the upper half of a product, drawn again
 * where the lower half is under 2^64 mod bound, or some would come up once too often. Source: Lemire 2019, ACM TOMACS 29(1)
 */
static guint64 below(GRand *random, guint64 bound)
{
    for (;;)
    {
        guint64 high = g_rand_int(random);
        Wide product = (Wide)(high << 32 | g_rand_int(random)) * bound;
        guint64 low = (guint64)product;
        if (low >= bound || low >= (0 - bound) % bound) /* the first spares the division */
            return (guint64)(product >> 64);
    }
}

/* --- edges taken so far -------------------------------------------------------------------------------------------------
 * An edge is one number, its code: source * (n - 1) + destination, destinations above the source one lower. So codes run
 * from 0 to n (n - 1) - 1 and no code is a loop.
 */

typedef struct
{
    GRand *random;
    guint64 n_nodes, n_pairs;
    guint64 *codes; /* [wanted] those taken, in order */
    gint64 n, wanted;
    guint64 *slots; /* [mask + 1] the same as a hash table, open addressing; EMPTY where there is none */
    guint64 mask;
    int shift;
} Draw;

#define EMPTY G_MAXUINT64

/* draw_n_slots: a power of two, so that half of them stay empty. */
static gint64 draw_n_slots(gint64 wanted)
{
    gint64 n = 16;
    while (n < 2 * wanted)
        n *= 2;
    return n;
}

static gboolean draw_init_slots(Draw *draw, GError **error)
{
    gint64 n = draw_n_slots(draw->wanted);
    draw->mask = (guint64)n - 1;
    draw->shift = 64 - __builtin_ctzll((guint64)n);
    draw->slots = ifm_graph_allocate(n, sizeof *draw->slots, error);
    if (draw->slots != NULL)
        memset(draw->slots, 0xff, (gsize)n * sizeof *draw->slots);
    return draw->slots != NULL;
}

/* draw_slot: where @code is, or would be put. */
static guint64 *draw_slot(const Draw *draw, guint64 code)
{
    guint64 at = (code * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15)) >> draw->shift; /* 2^64 / the golden ratio */
    while (draw->slots[at] != EMPTY && draw->slots[at] != code)
        at = (at + 1) & draw->mask;
    return &draw->slots[at];
}

static void draw_take(Draw *draw, guint64 code)
{
    guint64 *slot = draw_slot(draw, code);
    if (*slot == code)
        return;
    *slot = code;
    draw->codes[draw->n++] = code;
}

/* draw_rest: Draws the missing pairs uniformly among those not taken. Where more than half of all pairs are wanted, drawing
 * until a free one is found would take too long. Then each pair in turn is taken with probability missing / left (Knuth's
 * algorithm S, The Art of Computer Programming 3.4.2). */
static void draw_rest(Draw *draw)
{
    if ((guint64)draw->wanted <= draw->n_pairs / 2)
    {
        while (draw->n < draw->wanted)
            draw_take(draw, below(draw->random, draw->n_pairs));
        return;
    }
    guint64 left = draw->n_pairs - (guint64)draw->n;
    for (guint64 code = 0; code < draw->n_pairs && draw->n < draw->wanted; code++)
    {
        if (*draw_slot(draw, code) == code)
            continue;
        if (below(draw->random, left--) < (guint64)(draw->wanted - draw->n))
            draw->codes[draw->n++] = code; /* not met again, so the table need not know */
    }
}

static void draw_shuffle(Draw *draw)
{
    for (gint64 i = draw->n - 1; i > 0; i--)
    {
        guint64 other = below(draw->random, (guint64)i + 1), code = draw->codes[i];
        draw->codes[i] = draw->codes[other];
        draw->codes[other] = code;
    }
}

/* --- the power law ------------------------------------------------------------------------------------------------------
 * Chung and Lu 2002: the node of rank k has the weight (k + k0)^(-1 / (exponent - 1)), here to the power of -2/3, and an
 * edge from i to j comes up with a chance in proportion to weight_i * weight_j. k0 is the minimum for which the expected
 * number of edges between the two heaviest nodes is at most 1 (their condition max w^2 <= sum w), and n at most.
 */

/* cube_root: the largest whole number whose cube is at most @value, which is below 2^103. The floating-point root is a
 * first guess, mended by whole numbers. */
static guint64 cube_root(Wide value)
{
    guint64 root = (guint64)cbrt((double)value);
    while ((Wide)root * root * root > value)
        root--;
    while ((Wide)(root + 1) * (root + 1) * (root + 1) <= value)
        root++;
    return root;
}

#define WEIGHT_BITS 34 /* that of rank 1; the lightest of 2e8 is then still above 2^15 */

/* rank_weight: 2^34 * rank^(-2/3), rounded down. */
static guint64 rank_weight(guint64 rank)
{
    return cube_root(((Wide)1 << 3 * WEIGHT_BITS) / ((Wide)rank * rank));
}

/* weight_ratio: the sum of rank^(-2/3) over @n ranks from @first on, over the first, rounded down; the integral stands for
 * the sum: 3 first^(2/3) ((first + n)^(1/3) - first^(1/3)). */
static guint64 weight_ratio(guint64 first, guint64 n)
{
    guint64 begin = cube_root((Wide)first << 60), end = cube_root((Wide)(first + n) << 60); /* times 2^20 */
    return (guint64)((Wide)3 * begin * begin * (end - begin) >> 60);
}

/* first_rank: the minimum from 1 to @n with weight_ratio^2 >= @n_edges. The ratio grows with the rank. */
static guint64 first_rank(guint64 n, gint64 n_edges)
{
    guint64 low = 1, high = n;
    while (low < high)
    {
        guint64 middle = low + (high - low) / 2, ratio = weight_ratio(middle, n);
        if (ratio * ratio >= (guint64)n_edges)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Alias: nodes drawn by their weights with one look into a table. Node i's own share of column i is @own of @total, the
 * rest is node @other's. Source: Vose 1991, IEEE Transactions on Software Engineering 17(9), in whole numbers. */
typedef struct
{
    guint64 n, total;
    guint64 *own;   /* [n] */
    guint32 *other; /* [n] */
} Alias;

static void alias_clear(Alias *alias)
{
    g_free(alias->own);
    g_free(alias->other);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Alias, alias_clear)

/* alias_init: @first: the rank of the heaviest node. */
static gboolean alias_init(Alias *alias, GRand *random, guint64 n, guint64 first, GError **error)
{
    g_autofree guint32 *columns = ifm_graph_allocate((gint64)n, sizeof *columns, error);
    alias->n = n;
    alias->own = ifm_graph_allocate((gint64)n, sizeof *alias->own, error);
    alias->other = ifm_graph_allocate((gint64)n, sizeof *alias->other, error);
    if (columns == NULL || alias->own == NULL || alias->other == NULL)
        return FALSE;
    for (guint64 i = 0; i < n; i++) /* the weights, a rank to each node by chance, times n: a column then holds the total */
    {
        guint64 weight = rank_weight(first + i), other = below(random, i + 1);
        alias->own[i] = alias->own[other]; /* a shuffle from the inside out */
        alias->own[other] = weight * n;
        alias->total += weight;
    }
    guint64 n_small = 0, large = n; /* columns: the small ones from the left, the large ones from @large on */
    for (guint64 i = 0; i < n; i++)
    {
        alias->other[i] = (guint32)i;
        if (alias->own[i] < alias->total)
            columns[n_small++] = (guint32)i;
        else
            columns[--large] = (guint32)i;
    }
    while (n_small > 0 && large < n)
    {
        guint32 small = columns[--n_small], giver = columns[large];
        alias->other[small] = giver;
        alias->own[giver] -= alias->total - alias->own[small];
        if (alias->own[giver] >= alias->total)
            continue;
        large++;
        columns[n_small++] = giver;
    }
    return TRUE;
}

static guint64 alias_draw(const Alias *alias, GRand *random)
{
    guint64 column = below(random, alias->n);
    return below(random, alias->total) < alias->own[column] ? column : alias->other[column];
}

/* Where the heavy pairs are exhausted, four draws for each edge wanted do not suffice; the rest is then uniform. */
#define MAX_DRAWS_AN_EDGE 4

static gboolean draw_power_law(Draw *draw, GError **error)
{
    g_auto(Alias) nodes = { 0 };
    if (!alias_init(&nodes, draw->random, draw->n_nodes, first_rank(draw->n_nodes, draw->wanted), error))
        return FALSE;
    for (gint64 i = MAX_DRAWS_AN_EDGE * draw->wanted; i > 0 && draw->n < draw->wanted; i--)
    {
        guint64 source = alias_draw(&nodes, draw->random), destination = alias_draw(&nodes, draw->random);
        if (source != destination)
            draw_take(draw, source * (draw->n_nodes - 1) + destination - (destination > source));
    }
    return TRUE;
}

/* --- the graph ---------------------------------------------------------------------------------------------------- */

static gboolean fill(IfmGraph *graph, IfmGraphKind kind, guint32 seed, GError **error)
{
    g_assert(graph->n_nodes > 1); /* it has an edge */
    guint64 n = (guint64)graph->n_nodes;
    Draw draw = { g_rand_new_with_seed(seed), n, n * (n - 1), (guint64 *)graph->edge_index, 0, graph->n_edges };
    gboolean good = draw_init_slots(&draw, error) && (kind != IFM_GRAPH_POWER_LAW || draw_power_law(&draw, error));
    if (good)
    {
        draw_rest(&draw);
        draw_shuffle(&draw);
    }
    for (gint64 i = 0; good && i < graph->n_edges; i++) /* the codes are where the sources go */
    {
        gint64 *source = &graph->edge_index[i], *destination = source + graph->n_edges, code = *source;
        *source = code / (graph->n_nodes - 1);
        *destination = code % (graph->n_nodes - 1);
        *destination += *destination >= *source;
    }
    g_free(draw.slots);
    g_rand_free(draw.random);
    return good;
}

IfmGraph *ifm_graph_random(IfmGraphKind kind, gint64 n_nodes, gint64 n_edges, guint32 seed, GError **error)
{
    g_autofree char *name = g_strdup_printf("%s, %" G_GINT64_FORMAT " nodes, %" G_GINT64_FORMAT " edges, seed %u",
                                            kind_words[kind], n_nodes, n_edges, seed);
    gboolean counts = n_nodes >= 0 && n_nodes <= IFM_GRAPH_MAX_NODES; /* else the pairs might overflow */
    if (counts && n_edges > n_nodes * (n_nodes - 1))
    {
        ifm_error_refuse(error, "%s: %" G_GINT64_FORMAT " nodes have %" G_GINT64_FORMAT " distinct edges at most", name,
                         n_nodes, n_nodes * (n_nodes - 1));
        return NULL;
    }
    g_autoptr(IfmGraph) graph = ifm_graph_new(g_steal_pointer(&name), n_nodes, n_edges, error);
    if (graph == NULL || (n_edges > 0 && !fill(graph, kind, seed, error)))
        return NULL;
    return g_steal_pointer(&graph);
}

/* --- undirected, with features ------------------------------------------------------------------------------------------
 * A pair of neighbours is one number: node + n * (distance - 1), the other one being so far on in the ring of all nodes.
 * Distances go to n / 2; of that, where n is even, the first half of the nodes has all pairs. So codes run from 0 to
 * n (n - 1) / 2 - 1, and no two are one pair.
 */

static gboolean fill_pairs(IfmGraph *graph, GRand *random, GError **error)
{
    guint64 n = (guint64)graph->n_nodes;
    gint64 n_pairs = graph->n_edges / 2;
    guint64 *codes = (guint64 *)graph->edge_index + graph->n_edges + n_pairs; /* the last quarter */
    Draw draw = { random, n, n * (n - 1) / 2, codes, 0, n_pairs };
    gboolean good = draw_init_slots(&draw, error);
    if (good)
    {
        draw_rest(&draw);
        draw_shuffle(&draw);
    }
    gint64 *sources = graph->edge_index, *destinations = sources + graph->n_edges;
    for (gint64 i = 0; good && i < n_pairs; i++) /* each code is read before an edge is written in its place */
    {
        gint64 code = (gint64)codes[i], node = code % graph->n_nodes,
               other = (node + code / graph->n_nodes + 1) % graph->n_nodes;
        sources[2 * i] = destinations[2 * i + 1] = node;
        sources[2 * i + 1] = destinations[2 * i] = other;
    }
    g_free(draw.slots);
    return good;
}

/* normal: The sum of twelve whole numbers below 2^16, two a draw, less its mean, over 2^16: variance 1 - 2^-32, nothing
 * beyond 6, and the same on every machine, as no logarithm of some library is. */
static float normal(GRand *random)
{
    gint64 sum = 0;
    for (int i = 0; i < 6; i++)
    {
        guint32 two = g_rand_int(random);
        sum += (two & 0xffff) + (two >> 16);
    }
    return (float)((double)(sum - 6 * 0xffff) / 65536);
}

static gboolean fill_values(IfmGraph *graph, GRand *random, GError **error)
{
    gint64 n;
    if (graph->n_node_values == 0)
        return TRUE;
    if (__builtin_mul_overflow(graph->n_nodes, graph->n_node_values, &n))
        return ifm_graph_memory_error(G_MAXINT64, sizeof *graph->node_values, error) != NULL;
    graph->node_values = ifm_graph_allocate(n, sizeof *graph->node_values, error);
    for (gint64 i = 0; i < n && graph->node_values != NULL; i++)
        graph->node_values[i] = normal(random);
    return graph->node_values != NULL;
}

static char *synthetic_name(gint64 n_nodes, double avg_degree, gint64 feature_dim)
{
    return g_strdup_printf("synthetic, %" G_GINT64_FORMAT " nodes, average degree %g, %" G_GINT64_FORMAT " features",
                           n_nodes, avg_degree, feature_dim);
}

gboolean ifm_graph_synthetic_size(gint64 n_nodes, double avg_degree, gint64 feature_dim, gint64 *n_edges, gint64 *bytes,
                                  GError **error)
{
    g_autofree char *name = synthetic_name(n_nodes, avg_degree, feature_dim);
    gboolean counts = n_nodes >= 0 && n_nodes <= IFM_GRAPH_MAX_NODES; /* else ifm_graph_check_counts() says so */
    if (counts && !(avg_degree >= 0 && avg_degree <= (double)MAX(n_nodes - 1, 0)))
        return ifm_error_refuse(error, "%s: of %" G_GINT64_FORMAT " nodes each has 0 to %" G_GINT64_FORMAT " neighbours",
                                name, n_nodes, MAX(n_nodes - 1, 0));
    if (feature_dim < 0)
        return ifm_error_refuse(error, "%s: 0 features or more", name);
    gint64 n_pairs = counts ? (gint64)fmin(round((double)n_nodes * avg_degree / 2), IFM_GRAPH_MAX_EDGES) : 0, values;
    *n_edges = 2 * n_pairs;
    if (!ifm_graph_check_counts(name, n_nodes, *n_edges, error))
        return FALSE;
    const gint64 edges = *n_edges * 2 * (gint64)sizeof(gint64), slots = draw_n_slots(n_pairs) * (gint64)sizeof(guint64);
    if (__builtin_mul_overflow(n_nodes * (gint64)sizeof(float), feature_dim, &values) ||
        __builtin_add_overflow(edges, MAX(values, slots), bytes))
        *bytes = G_MAXINT64;
    return TRUE;
}

IfmGraph *ifm_graph_synthetic(gint64 n_nodes, double avg_degree, gint64 feature_dim, guint32 seed, GError **error)
{
    gint64 n_edges = 0, bytes = 0;
    if (!ifm_graph_synthetic_size(n_nodes, avg_degree, feature_dim, &n_edges, &bytes, error))
        return NULL;
    g_autofree char *about = synthetic_name(n_nodes, avg_degree, feature_dim);
    g_autoptr(GRand) random = g_rand_new_with_seed(seed);
    g_autoptr(IfmGraph) graph = ifm_graph_new(g_strdup_printf("%s, seed %u", about, seed), n_nodes, n_edges, error);
    if (graph == NULL)
        return NULL;
    graph->n_node_values = feature_dim;
    gboolean good = (n_edges == 0 || fill_pairs(graph, random, error)) && fill_values(graph, random, error);
    return good ? g_steal_pointer(&graph) : NULL;
}
