/* The inputs of a graph transformer from a graph. */
#include <math.h>
#include <string.h>

#include "transformer-private.h"

#define MASKED (-1e4F) /* larger than any score and within f16: its exponential is 0, even if all else is padding */

/* Generators of one seed. */
enum
{
    FEATURES,
    MASKS,
};

/* Source: the data of the inputs. @masks: the generator of all masks, in order */
typedef struct
{
    const IfmTransformer *transformer;
    const IfmGraph *graph;
    const IfmEncoding *encoding;
    guint32 seed;
    GRand *masks;
} Source;

static GRand *generator(guint32 seed, guint32 number)
{
    return g_rand_new_with_seed_array((guint32[]){ seed, number }, 2);
}

/* --- checks ------------------------------------------------------------------------------------------------------- */

static gboolean check_graph(const IfmTransformer *transformer, const IfmGraph *graph, GError **error)
{
    IfmTransformer of_graph = *transformer;
    ifm_transformer_for_graph(&of_graph, graph);
    const struct
    {
        const char *name;
        gint64 found, right;
    } sizes[] = {
        { "nodes", graph->n_nodes, transformer->sizes.num_nodes },
        { "edges", graph->n_edges, transformer->sizes.num_edges },
        { "values a node", of_graph.sizes.feature_dim, transformer->sizes.feature_dim },
        { "graphs", graph->n_graphs, transformer->num_graphs },
        { "nodes in the largest graph", graph->n_graphs > 1 ? of_graph.most_nodes : 0,
          graph->n_graphs > 1 ? transformer->most_nodes : 0 },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
        if (sizes[i].found != sizes[i].right)
            return ifm_error_refuse(error, "%s: %" G_GINT64_FORMAT " %s; the model has %" G_GINT64_FORMAT, graph->name,
                                    sizes[i].found, sizes[i].name, sizes[i].right);
    return ifm_graph_check(graph, error);
}

static gboolean check_encoding(const IfmTransformer *transformer, const IfmEncoding *encoding, GError **error)
{
    const IfmTransformerSizes *sizes = &transformer->sizes;
    if (sizes->pe == IFM_ENCODING_NONE ||
        (encoding != NULL && encoding->dim == sizes->pe_dim && encoding->n_nodes == sizes->num_nodes))
        return TRUE;
    return ifm_error_refuse(error,
                            "positional encoding of %" G_GINT64_FORMAT " nodes, %" G_GINT64_FORMAT
                            " numbers each; the model's is of %" G_GINT64_FORMAT " nodes, pe_dim %" G_GINT64_FORMAT,
                            encoding != NULL ? encoding->n_nodes : 0, encoding != NULL ? encoding->dim : 0,
                            sizes->num_nodes, sizes->pe_dim);
}

/* --- one input ---------------------------------------------------------------------------------------------------- */

static void fill_x(const Source *source, IfmTensor *tensor)
{
    if (source->graph->node_values != NULL)
    {
        memcpy(tensor->data, source->graph->node_values, tensor->size_bytes);
        return;
    }
    g_autoptr(GRand) random = generator(source->seed, FEATURES);
    ifm_tensor_fill_random(tensor, random, -1, 1, NULL);
}

/* fill_coefficients: Kipf and Welling 2017: for the edges, then for one edge from each node to itself. */
static void fill_coefficients(const Source *source, IfmTensor *tensor)
{
    const IfmGraph *graph = source->graph;
    float *values = tensor->data, *own = values + graph->n_edges;
    ifm_graph_in_degrees(graph, own);
    for (gint64 i = 0; i < graph->n_edges; i++)
    {
        double from = (double)own[graph->edge_index[i]] + 1, to = (double)own[graph->edge_index[graph->n_edges + i]] + 1;
        values[i] = (float)(1 / sqrt(from * to));
    }
    for (gint64 node = 0; node < graph->n_nodes; node++)
        own[node] = (float)(1 / ((double)own[node] + 1));
}

static void fill_degrees(const Source *source, IfmTensor *tensor)
{
    float *degrees = tensor->data;
    ifm_graph_in_degrees(source->graph, degrees);
    for (gint64 node = 0; node < source->graph->n_nodes; node++)
        degrees[node] = MAX(degrees[node], 1.0F);
}

/* place_of: The row of a node among graphs padded to one size. @first: the first node of its graph */
static gint64 place_of(const Source *source, gint64 node, gint64 *first)
{
    const gint64 *node_graph = source->graph->node_graph;
    if (node_graph[node] != node_graph[*first])
        *first = node;
    return node_graph[node] * source->transformer->most_nodes + node - *first;
}

/* fill_padding: Fills bias and places. */
static void fill_padding(const Source *source, IfmTransformerPortKind kind, IfmTensor *tensor)
{
    gint64 first = 0;
    for (gint64 i = 0; i < ifm_tensor_n_elements(tensor) && kind == IFM_TRANSFORMER_BIAS; i++)
        ((float *)tensor->data)[i] = MASKED;
    for (gint64 node = 0; node < source->graph->n_nodes; node++)
    {
        gint64 place = place_of(source, node, &first);
        if (kind == IFM_TRANSFORMER_BIAS)
            ((float *)tensor->data)[place] = 0;
        else
            ((gint64 *)tensor->data)[node] = place;
    }
}

/* fill_weights: 1 / nodes of each graph. A graph without nodes has weight 1, so its mean is 0. */
static void fill_weights(const Source *source, IfmTensor *tensor)
{
    const IfmGraph *graph = source->graph;
    float *weights = tensor->data;
    for (gint64 i = 0; i < graph->n_graphs; i++)
        weights[i] = 1;
    for (gint64 node = 0, first = 0; node < graph->n_nodes; node++)
    {
        if (graph->node_graph[node] != graph->node_graph[first])
            first = node;
        weights[graph->node_graph[node]] = (float)(1 / (double)(node - first + 1));
    }
}

static void fill_mask(const Source *source, IfmTensor *tensor)
{
    const double dropout = source->transformer->dropout;
    const guint64 dropped = (guint64)(dropout * 4294967296.0);
    const float kept = (float)(1 / (1 - dropout));
    for (gint64 i = 0; i < ifm_tensor_n_elements(tensor); i++)
        ((float *)tensor->data)[i] = g_rand_int(source->masks) < dropped ? 0 : kept;
}

/* fill: @tensor: all zeros */
static void fill(const Source *source, IfmTransformerPortKind kind, IfmTensor *tensor)
{
    switch (kind)
    {
    case IFM_TRANSFORMER_X:
        fill_x(source, tensor);
        break;
    case IFM_TRANSFORMER_PE:
        memcpy(tensor->data, source->encoding->values, tensor->size_bytes);
        break;
    case IFM_TRANSFORMER_EDGES:
        if (tensor->size_bytes > 0)
            memcpy(tensor->data, source->graph->edge_index, tensor->size_bytes);
        break;
    case IFM_TRANSFORMER_COEFFICIENTS:
        fill_coefficients(source, tensor);
        break;
    case IFM_TRANSFORMER_DEGREES:
        fill_degrees(source, tensor);
        break;
    case IFM_TRANSFORMER_NODE_GRAPH:
        memcpy(tensor->data, source->graph->node_graph, tensor->size_bytes);
        break;
    case IFM_TRANSFORMER_WEIGHTS:
        fill_weights(source, tensor);
        break;
    case IFM_TRANSFORMER_MASK:
        fill_mask(source, tensor);
        break;
    default:
        fill_padding(source, kind, tensor);
    }
}

gboolean ifm_transformer_inputs(const IfmTransformer *transformer, const IfmGraph *graph, const IfmEncoding *encoding,
                                guint32 seed, const char *path, GError **error)
{
    if (!ifm_transformer_check(transformer, error) || !check_graph(transformer, graph, error) ||
        !check_encoding(transformer, encoding, error))
        return FALSE;
    g_autoptr(GArray) ports = ifm_transformer_ports(transformer);
    g_autoptr(GRand) masks = generator(seed, MASKS);
    const Source source = { transformer, graph, encoding, seed, masks };
    g_autofree const char **names = g_new0(const char *, ports->len);
    g_autofree IfmTensor *tensors = g_new0(IfmTensor, ports->len);
    gboolean good = TRUE;
    for (guint i = 0; i < ports->len && good; i++)
    {
        const IfmTransformerPort *port = &g_array_index(ports, IfmTransformerPort, i);
        names[i] = port->name;
        good = ifm_tensor_init(&tensors[i], port->dtype, port->rank, port->dims, error);
        if (good)
            fill(&source, port->kind, &tensors[i]);
    }
    good = good && ifm_tensor_file_save(path, names, tensors, ports->len, error);
    for (guint i = 0; i < ports->len; i++)
        ifm_tensor_clear(&tensors[i]);
    return good;
}
