/*
 * A graph in parts that can be computed one by one. METIS decides who owns which node; from there on a part is its own
 * nodes, all edges into them, and the ghosts those edges begin in. docs/graphs.md.
 */
#include <base/base.h>
#include <string.h>

#include "neighbours.h"

#define MIN_NODES 4 /* in a part, on average, for METIS to be asked */

void ifm_subgraph_free(IfmSubgraph *subgraph)
{
    if (subgraph == NULL)
        return;
    ifm_graph_free(subgraph->graph);
    g_free(subgraph->nodes);
    g_free(subgraph);
}

void ifm_subgraph_take_rows(const IfmSubgraph *subgraph, const void *whole, gsize row_bytes, void *rows)
{
    for (gint64 i = 0; i < subgraph->graph->n_nodes; i++)
        memcpy((char *)rows + (gsize)i * row_bytes, (const char *)whole + (gsize)subgraph->nodes[i] * row_bytes, row_bytes);
}

void ifm_subgraph_put_rows(const IfmSubgraph *subgraph, const void *rows, gsize row_bytes, void *whole)
{
    for (gint64 i = 0; i < subgraph->n_own; i++)
        memcpy((char *)whole + (gsize)subgraph->nodes[i] * row_bytes, (const char *)rows + (gsize)i * row_bytes, row_bytes);
}

/* --- who owns which node ------------------------------------------------------------------------------------------ */

/* weigh_nodes: A node weighs one node and the edges that end in it. @weights: [n_nodes x 2] */
static void weigh_nodes(const IfmGraph *graph, idx_t *weights)
{
    for (gint64 node = 0; node < graph->n_nodes; node++)
    {
        weights[2 * node] = 1;
        weights[2 * node + 1] = 0;
    }
    for (gint64 i = 0; i < graph->n_edges; i++)
        weights[2 * graph->edge_index[graph->n_edges + i] + 1]++;
}

/* ask_metis: @owner: [n_nodes] (out) the part of each node */
static gboolean ask_metis(const IfmGraph *graph, gint64 n_parts, guint32 seed, idx_t *owner, GError **error)
{
    g_auto(IfmNeighbours) list = { 0 };
    g_autofree idx_t *node_weights = NULL;
    idx_t n = (idx_t)graph->n_nodes, n_weights = 2, parts = (idx_t)n_parts, cut = 0;
    idx_t options[METIS_NOPTIONS];
    if (!ifm_neighbours_init(&list, graph, error) ||
        (node_weights = ifm_graph_allocate(2 * graph->n_nodes, sizeof(idx_t), error)) == NULL)
        return FALSE;
    weigh_nodes(graph, node_weights);
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_NUMBERING] = 0;
    options[METIS_OPTION_SEED] = (idx_t)(seed & G_MAXINT32);
    ifm_metis_lock();
    int status = METIS_PartGraphKway(&n, &n_weights, list.starts, list.neighbours, node_weights, NULL, list.weights, &parts,
                                     NULL, NULL, options, &cut, owner);
    ifm_metis_unlock();
    if (status == METIS_OK)
        return TRUE;
    return ifm_error_set(error, status == METIS_ERROR_MEMORY ? IFM_ERROR_MEMORY : IFM_ERROR_FAILED,
                         "%s: METIS could not make %" G_GINT64_FORMAT " parts: %s", graph->name, n_parts,
                         status == METIS_ERROR_MEMORY  ? "no memory"
                         : status == METIS_ERROR_INPUT ? "it refuses the graph"
                                                       : "it gives no reason");
}

/* Equal numbers of nodes per partition, in order. For graphs without edges between nodes, and for partitions of few nodes,
 * which METIS cannot halve. */
static void deal_out(gint64 n_nodes, gint64 n_parts, idx_t *owner)
{
    gint64 part = 0;
    for (gint64 node = 0; node < n_nodes; node++)
    {
        while (node >= n_nodes / n_parts * (part + 1) + MIN(part + 1, n_nodes % n_parts))
            part++;
        owner[node] = (idx_t)part;
    }
}

/* --- the parts ---------------------------------------------------------------------------------------------------- */

/*
 * Sorting: nodes by owner and edges by the owner of their destination, both stable.
 * @place: [n_nodes] the index of each node in its partition; @ghost_place: the index as a ghost of the current partition,
 * valid where @stamp is the number of that partition
 */
typedef struct
{
    const IfmGraph *graph;
    const idx_t *owner;
    gint64 n_parts;
    gint64 *node_starts, *nodes; /* [n_parts + 1], [n_nodes] */
    gint64 *edge_starts, *edges; /* [n_parts + 1], [n_edges] */
    gint64 *place;
    gint64 *ghost_place, *stamp;
} Sorting;

static void sorting_clear(Sorting *sorting)
{
    g_free(sorting->node_starts);
    g_free(sorting->nodes);
    g_free(sorting->edge_starts);
    g_free(sorting->edges);
    g_free(sorting->place);
    g_free(sorting->ghost_place);
    g_free(sorting->stamp);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Sorting, sorting_clear)

/* sort_by_owner: Sorts things 0 to @n - 1 by owner. The owner of thing i is that of node i, or of node @of[i]. */
static void sort_by_owner(const Sorting *sorting, const gint64 *of, gint64 n, gint64 *starts, gint64 *things)
{
    memset(starts, 0, sizeof *starts * (gsize)(sorting->n_parts + 1));
    for (gint64 i = 0; i < n; i++)
        starts[sorting->owner[of != NULL ? of[i] : i] + 1]++;
    for (gint64 part = 0; part < sorting->n_parts; part++)
        starts[part + 1] += starts[part];
    for (gint64 i = 0; i < n; i++)
        things[starts[sorting->owner[of != NULL ? of[i] : i]]++] = i;
    /* each start has moved to the next start */
    memmove(starts + 1, starts, sizeof *starts * (gsize)sorting->n_parts);
    starts[0] = 0;
}

static gboolean sorting_init(Sorting *sorting, GError **error)
{
    const IfmGraph *graph = sorting->graph;
    gint64 **const arrays[] = { &sorting->node_starts, &sorting->nodes,       &sorting->edge_starts, &sorting->edges,
                                &sorting->place,       &sorting->ghost_place, &sorting->stamp };
    const gint64 lengths[] = { sorting->n_parts + 1, graph->n_nodes, sorting->n_parts + 1, graph->n_edges,
                               graph->n_nodes,       graph->n_nodes, graph->n_nodes };
    for (gsize i = 0; i < G_N_ELEMENTS(arrays); i++)
        if ((*arrays[i] = ifm_graph_allocate(lengths[i], sizeof(gint64), error)) == NULL)
            return FALSE;
    sort_by_owner(sorting, NULL, graph->n_nodes, sorting->node_starts, sorting->nodes);
    sort_by_owner(sorting, graph->edge_index + graph->n_edges, graph->n_edges, sorting->edge_starts, sorting->edges);
    for (gint64 i = 0; i < graph->n_nodes; i++)
    {
        sorting->place[sorting->nodes[i]] = i - sorting->node_starts[sorting->owner[sorting->nodes[i]]];
        sorting->stamp[i] = -1;
    }
    return TRUE;
}

/* find_ghosts: Returns: (transfer full) the sources of the edges of this partition that others own, ascending. */
static GArray *find_ghosts(Sorting *sorting, gint64 part)
{
    GArray *ghosts = g_array_new(FALSE, FALSE, sizeof(gint64));
    for (gint64 i = sorting->edge_starts[part]; i < sorting->edge_starts[part + 1]; i++)
    {
        gint64 source = sorting->graph->edge_index[sorting->edges[i]];
        if (sorting->owner[source] == part || sorting->stamp[source] == part)
            continue;
        sorting->stamp[source] = part;
        g_array_append_val(ghosts, source);
    }
    if (ghosts->len > 0)
        qsort(ghosts->data, ghosts->len, sizeof(gint64), ifm_compare_int64);
    return ghosts;
}

static void copy_row(float *to, gint64 i, const float *from, gint64 j, gint64 width)
{
    memcpy(to + i * width, from + j * width, sizeof *to * (gsize)width);
}

static void copy_values(const IfmGraph *graph, const gint64 *edges, const gint64 *nodes, IfmGraph *to)
{
    for (gint64 i = 0; i < to->n_nodes && graph->node_values != NULL; i++)
        copy_row(to->node_values, i, graph->node_values, nodes[i], to->n_node_values);
    for (gint64 i = 0; i < to->n_edges && graph->edge_values != NULL; i++)
        copy_row(to->edge_values, i, graph->edge_values, edges[i], to->n_edge_values);
}

/* make_part: @number: from 1, counting partitions that are not empty */
static IfmSubgraph *make_part(Sorting *sorting, gint64 part, guint number, GError **error)
{
    const IfmGraph *graph = sorting->graph;
    g_autoptr(IfmSubgraph) subgraph = g_new0(IfmSubgraph, 1);
    g_autoptr(GArray) ghosts = find_ghosts(sorting, part);
    gint64 n_edges = sorting->edge_starts[part + 1] - sorting->edge_starts[part];
    subgraph->n_own = sorting->node_starts[part + 1] - sorting->node_starts[part];
    subgraph->nodes = ifm_graph_allocate(subgraph->n_own + ghosts->len, sizeof(gint64), error);
    if (subgraph->nodes == NULL)
        return NULL;
    memcpy(subgraph->nodes, sorting->nodes + sorting->node_starts[part], sizeof(gint64) * (gsize)subgraph->n_own);
    for (guint i = 0; i < ghosts->len; i++)
    {
        gint64 ghost = g_array_index(ghosts, gint64, i);
        subgraph->nodes[subgraph->n_own + i] = ghost;
        sorting->ghost_place[ghost] = subgraph->n_own + i;
    }
    char *name = g_strdup_printf("%s, part %u", graph->name, number);
    subgraph->graph = ifm_graph_new_like(graph, name, subgraph->n_own + ghosts->len, n_edges, error);
    if (subgraph->graph == NULL)
        return NULL;
    for (gint64 i = 0; i < n_edges; i++)
    {
        gint64 edge = sorting->edges[sorting->edge_starts[part] + i], source = graph->edge_index[edge];
        gboolean is_own = sorting->owner[source] == part;
        subgraph->graph->edge_index[i] = is_own ? sorting->place[source] : sorting->ghost_place[source];
        subgraph->graph->edge_index[n_edges + i] = sorting->place[graph->edge_index[graph->n_edges + edge]];
    }
    copy_values(graph, sorting->edges + sorting->edge_starts[part], subgraph->nodes, subgraph->graph);
    return g_steal_pointer(&subgraph);
}

static GPtrArray *make_parts(const IfmGraph *graph, const idx_t *owner, gint64 n_parts, GError **error)
{
    g_autoptr(GPtrArray) parts = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_subgraph_free);
    g_auto(Sorting) sorting = { .graph = graph, .owner = owner, .n_parts = n_parts };
    if (!sorting_init(&sorting, error))
        return NULL;
    for (gint64 part = 0; part < n_parts; part++)
    {
        if (sorting.node_starts[part] == sorting.node_starts[part + 1])
            continue;
        IfmSubgraph *subgraph = make_part(&sorting, part, parts->len + 1, error);
        if (subgraph == NULL)
            return NULL;
        g_ptr_array_add(parts, subgraph);
    }
    return g_steal_pointer(&parts);
}

GPtrArray *ifm_graph_partition(const IfmGraph *graph, gint64 n_parts, guint32 seed, GError **error)
{
    if (n_parts < 1 || n_parts > graph->n_nodes)
    {
        ifm_error_refuse(error,
                         "%s: cannot be partitioned into %" G_GINT64_FORMAT " parts: 1 to %" G_GINT64_FORMAT
                         ", as many as it has nodes, would be right",
                         graph->name, n_parts, graph->n_nodes);
        return NULL;
    }
    if (!ifm_graph_check(graph, error))
        return NULL;
    g_autofree idx_t *owner = ifm_graph_allocate(graph->n_nodes, sizeof(idx_t), error);
    if (owner == NULL)
        return NULL;
    gboolean has_neighbours = FALSE;
    for (gint64 i = 0; i < graph->n_edges && !has_neighbours; i++)
        has_neighbours = graph->edge_index[i] != graph->edge_index[graph->n_edges + i];
    if (n_parts == 1 || graph->n_nodes / n_parts < MIN_NODES || !has_neighbours)
        deal_out(graph->n_nodes, n_parts, owner);
    else if (!ask_metis(graph, n_parts, seed, owner, error))
        return NULL;
    return make_parts(graph, owner, n_parts, error);
}
