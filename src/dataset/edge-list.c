/* Edge lists, as SNAP and many others publish graphs. */
#include "dataset-private.h"

#include <string.h>

/* What the comment "# Nodes: N Edges: E" says. @line: its place, 0: there is none */
typedef struct
{
    gint64 n_nodes, n_edges;
    gsize line;
} Declared;

/* read_comment: whether the comment at hand is no declaration or a good one. */
static gboolean read_comment(IfmText *text, Declared *declared, GError **error)
{
    while (text->field < text->line_end && strchr("#% \t", *text->field) != NULL && *text->field != '\0')
        text->field++;
    if (!ifm_text_word(text, "Nodes:"))
        return TRUE;
    if (declared->line != 0)
        return ifm_text_fail(text, error, "declares the nodes again; line %zu did", declared->line);
    declared->line = text->line;
    if (!ifm_text_count_field(text, "the number of nodes", IFM_GRAPH_MAX_NODES, &declared->n_nodes, error))
        return FALSE;
    if (!ifm_text_word(text, "Edges:"))
        return ifm_text_fail(text, error, "\"Edges: NUMBER\" should follow the number of nodes");
    return ifm_text_count_field(text, "the number of edges", IFM_GRAPH_MAX_EDGES, &declared->n_edges, error) &&
           ifm_text_no_more(text, "the number of edges", error);
}

/* scan: counts the edges and reads the comments, so that memory is taken once, for edges that are there. */
static gboolean scan(IfmText text, Declared *declared, gint64 *n_edges, GError **error)
{
    *n_edges = 0;
    while (ifm_text_raw_line(&text))
    {
        char first = text.field < text.line_end ? *text.field : '\n';
        if (first == '#' || first == '%')
        {
            if (!read_comment(&text, declared, error))
                return FALSE;
        }
        else
            *n_edges += first != '\n';
    }
    if (declared->line == 0)
    {
        declared->n_nodes = IFM_GRAPH_MAX_NODES;
        return *n_edges > 0 || ifm_text_fail(&text, error, "there is no edge, and no \"# Nodes: N Edges: E\"");
    }
    text.line = declared->line;
    return declared->n_edges == *n_edges ||
           ifm_text_fail(&text, error, "declares %" G_GINT64_FORMAT " edges, but the file has %" G_GINT64_FORMAT,
                         declared->n_edges, *n_edges);
}

static gboolean read_edges(IfmText *text, const Declared *declared, IfmGraph *graph, GError **error)
{
    gint64 *sources = graph->edge_index, *destinations = sources + graph->n_edges, n_nodes = 0;
    for (gint64 i = 0; i < graph->n_edges; i++)
    {
        ifm_text_line(text);
        if (!ifm_text_node_field(text, "the source", 0, declared->n_nodes, &sources[i], error) ||
            !ifm_text_node_field(text, "the destination", 0, declared->n_nodes, &destinations[i], error))
            return FALSE;
        n_nodes = MAX(n_nodes, MAX(sources[i], destinations[i]) + 1);
    }
    graph->n_nodes = declared->line != 0 ? declared->n_nodes : n_nodes;
    return TRUE;
}

IfmGraph *ifm_edge_list_parse(const char *bytes, gsize length, const char *name, const char *graph_name, GError **error)
{
    IfmText text;
    Declared declared = { 0 };
    gint64 n_edges;
    ifm_text_init(&text, name, bytes, length, "#%");
    if (!scan(text, &declared, &n_edges, error))
        return NULL;
    g_autoptr(IfmGraph) graph = ifm_graph_new(g_strdup(graph_name), 0, n_edges, error);
    if (graph == NULL || !read_edges(&text, &declared, graph, error))
        return NULL;
    return g_steal_pointer(&graph);
}
