/* The configuration of the graph transformer: words, checks, ports, the part of a node. */
#include <string.h>

#include "transformer-private.h"

#define MAX_LAYERS 4096

const char *const *ifm_attention_words(void)
{
    static const char *const words[] = { [IFM_ATTENTION_DENSE] = "dense", [IFM_ATTENTION_SPARSE] = "sparse", NULL };
    return words;
}

const char *const *ifm_norm_words(void)
{
    static const char *const words[] = { [IFM_NORM_LAYER] = "layer", [IFM_NORM_BATCH] = "batch", NULL };
    return words;
}

const char *const *ifm_head_words(void)
{
    static const char *const words[] = { [IFM_HEAD_GRAPH] = "graph", [IFM_HEAD_NODE] = "node", NULL };
    return words;
}

const char *const *ifm_transformer_scatter_words(void)
{
    static const char *const words[] = { "auto", [1 + IFM_SCATTER_ND] = "nd", [1 + IFM_SCATTER_ELEMENTS] = "elements",
                                         [1 + IFM_SCATTER_MIXED] = "mixed", NULL };
    return words;
}

IfmScatter ifm_transformer_scatter(int word, IfmAttention attention)
{
    if (word > 0)
        return (IfmScatter)(word - 1);
    return attention == IFM_ATTENTION_SPARSE ? IFM_SCATTER_MIXED : IFM_SCATTER_ELEMENTS;
}

/* --- checks ------------------------------------------------------------------------------------------------------- */

static gboolean check_bounds(const IfmTransformer *transformer, GError **error)
{
    const IfmTransformerSizes *sizes = &transformer->sizes;
    const gint64 n = sizes->num_nodes, graphs = MAX(transformer->num_graphs, 1), width = IFM_STAGED_MAX_WIDTH;
    const gboolean several = transformer->num_graphs > 1;
    const struct
    {
        const char *name;
        gint64 value, min, max;
    } bounds[] = {
        { "num_nodes", n, 1, IFM_GRAPH_MAX_NODES },
        { "num_edges", sizes->num_edges, 0, IFM_GRAPH_MAX_EDGES },
        { "feature_dim", sizes->feature_dim, 1, width },
        { "hidden_dim", sizes->hidden_dim, 1, width },
        { "num_layers", sizes->num_layers, 0, MAX_LAYERS },
        { "num_heads", sizes->num_heads, 1, width },
        { "ffn_dim", sizes->ffn_dim, 1, 4 * width },
        { "pe_dim", sizes->pe != IFM_ENCODING_NONE ? sizes->pe_dim : 1, 1, IFM_ENCODING_MAX_DIM },
        { "num_outputs", sizes->num_outputs, 1, width },
        { "num_graphs", transformer->num_graphs, 1, n },
        { "most_nodes", several ? transformer->most_nodes : 1, several ? (n + graphs - 1) / graphs : 1, n },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(bounds); i++)
        if (bounds[i].value < bounds[i].min || bounds[i].value > bounds[i].max)
            return ifm_error_refuse(error, "%s %" G_GINT64_FORMAT ": %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
                                    bounds[i].name, bounds[i].value, bounds[i].min, bounds[i].max);
    return TRUE;
}

gboolean ifm_transformer_check(const IfmTransformer *transformer, GError **error)
{
    const IfmTransformerSizes *sizes = &transformer->sizes;
    if (!check_bounds(transformer, error))
        return FALSE;
    if (sizes->hidden_dim % sizes->num_heads != 0)
        return ifm_error_refuse(error, "num_heads %" G_GINT64_FORMAT " does not divide hidden_dim %" G_GINT64_FORMAT,
                                sizes->num_heads, sizes->hidden_dim);
    if (!(transformer->dropout >= 0 && transformer->dropout < 1))
        return ifm_error_refuse(error, "dropout %g: 0 to below 1", transformer->dropout);
    const gint64 n = sizes->num_nodes / transformer->num_graphs; /* the smallest graph of a batch has no more nodes */
    if (sizes->pe == IFM_ENCODING_LAPLACIAN && sizes->pe_dim >= n)
        return ifm_error_refuse(error,
                                "pe_dim %" G_GINT64_FORMAT ": a graph of %" G_GINT64_FORMAT " nodes has %" G_GINT64_FORMAT
                                " eigenvectors at most",
                                sizes->pe_dim, n, n - 1);
    return TRUE;
}

/* --- a graph's sizes ---------------------------------------------------------------------------------------------- */

void ifm_transformer_for_graph(IfmTransformer *transformer, const IfmGraph *graph)
{
    transformer->sizes.num_nodes = graph->n_nodes;
    transformer->sizes.num_edges = graph->n_edges;
    if (graph->n_node_values > 0)
        transformer->sizes.feature_dim = graph->n_node_values;
    transformer->num_graphs = graph->n_graphs;
    transformer->most_nodes = graph->n_graphs > 1 ? 0 : graph->n_nodes;
    for (gint64 i = 0, first = 0; i < graph->n_nodes && graph->n_graphs > 1; i++)
    {
        if (graph->node_graph[i] != graph->node_graph[first])
            first = i;
        transformer->most_nodes = MAX(transformer->most_nodes, i - first + 1);
    }
}

/* --- ports -------------------------------------------------------------------------------------------------------- */

gboolean ifm_transformer_is_padded(const IfmTransformer *transformer)
{
    return transformer->sizes.num_layers > 0 && transformer->attention == IFM_ATTENTION_DENSE &&
           transformer->num_graphs > 1;
}

gboolean ifm_transformer_pools(const IfmTransformer *transformer)
{
    return transformer->head == IFM_HEAD_GRAPH && transformer->num_graphs > 1;
}

gboolean ifm_transformer_drops(const IfmTransformer *transformer)
{
    return transformer->training && transformer->dropout > 0;
}

static void clear_port(gpointer data)
{
    g_free(((IfmTransformerPort *)data)->name);
}

#define DIMS(...) G_N_ELEMENTS(((gint64[]){ __VA_ARGS__ })), ((gint64[]){ __VA_ARGS__ })

static void add_port(GArray *ports, IfmTransformerPortKind kind, const char *name, IfmDtype dtype, int rank,
                     const gint64 *dims, double low, double high)
{
    IfmTransformerPort port = { kind, g_strdup(name), dtype, rank, { 0 }, low, high, kind == IFM_TRANSFORMER_PLACES };
    memcpy(port.dims, dims, sizeof *dims * (gsize)rank);
    g_array_append_val(ports, port);
}

static void add_masks(GArray *ports, const IfmTransformer *transformer)
{
    const IfmTransformerSizes *sizes = &transformer->sizes;
    const struct
    {
        const char *part;
        gint64 width;
    } masks[] = {
        { "attention", sizes->hidden_dim },
        { sizes->mpnn != IFM_MESSAGE_NONE ? "mpnn" : NULL, sizes->hidden_dim },
        { "ffn.hidden", sizes->ffn_dim },
        { "ffn", sizes->hidden_dim },
    };
    for (gint64 layer = 0; layer < sizes->num_layers; layer++)
        for (gsize i = 0; i < G_N_ELEMENTS(masks); i++)
        {
            if (masks[i].part == NULL)
                continue;
            g_autofree char *name = g_strdup_printf("mask.layers.%" G_GINT64_FORMAT ".%s", layer, masks[i].part);
            add_port(ports, IFM_TRANSFORMER_MASK, name, IFM_DTYPE_F32, DIMS(sizes->num_nodes, masks[i].width), 0, 2);
        }
}

GArray *ifm_transformer_ports(const IfmTransformer *transformer)
{
    const IfmTransformerSizes *sizes = &transformer->sizes;
    const gint64 n = sizes->num_nodes, e = sizes->num_edges, graphs = transformer->num_graphs;
    const gboolean has_layers = sizes->num_layers > 0;
    GArray *ports = g_array_new(FALSE, FALSE, sizeof(IfmTransformerPort));
    g_array_set_clear_func(ports, clear_port);
    add_port(ports, IFM_TRANSFORMER_X, "x", IFM_DTYPE_F32, DIMS(n, sizes->feature_dim), -1, 1);
    if (sizes->pe != IFM_ENCODING_NONE)
        add_port(ports, IFM_TRANSFORMER_PE, "pe", IFM_DTYPE_F32, DIMS(n, sizes->pe_dim), -1, 1);
    if (transformer->sizes.num_layers > 0 && transformer->sizes.num_edges > 0 &&
        (transformer->sizes.mpnn != IFM_MESSAGE_NONE || transformer->attention == IFM_ATTENTION_SPARSE))
        add_port(ports, IFM_TRANSFORMER_EDGES, "edge_index", IFM_DTYPE_I64, DIMS(2, e), 0, (double)n);
    if (has_layers && sizes->mpnn == IFM_MESSAGE_GCN)
        add_port(ports, IFM_TRANSFORMER_COEFFICIENTS, "coefficients", IFM_DTYPE_F32, DIMS(e + n, 1), 0, 1);
    if (has_layers && sizes->mpnn == IFM_MESSAGE_SAGE)
        add_port(ports, IFM_TRANSFORMER_DEGREES, "degrees", IFM_DTYPE_F32, DIMS(n, 1), 1, 10);
    if (ifm_transformer_is_padded(transformer))
    {
        gint64 most_nodes = transformer->most_nodes;
        add_port(ports, IFM_TRANSFORMER_BIAS, "bias", IFM_DTYPE_F32, DIMS(graphs, 1, 1, most_nodes), 0, 0);
        add_port(ports, IFM_TRANSFORMER_PLACES, "places", IFM_DTYPE_I64, DIMS(n), 0, (double)(graphs * most_nodes));
    }
    if (ifm_transformer_pools(transformer))
    {
        add_port(ports, IFM_TRANSFORMER_NODE_GRAPH, "node_graph", IFM_DTYPE_I64, DIMS(n), 0, (double)graphs);
        add_port(ports, IFM_TRANSFORMER_WEIGHTS, "weights", IFM_DTYPE_F32, DIMS(graphs, 1), 0, 1);
    }
    if (ifm_transformer_drops(transformer))
        add_masks(ports, transformer);
    return ports;
}

gboolean ifm_transformer_input_bytes(const IfmTransformer *transformer, gint64 *bytes, GError **error)
{
    if (!ifm_transformer_check(transformer, error))
        return FALSE;
    g_autoptr(GArray) ports = ifm_transformer_ports(transformer);
    *bytes = 0;
    for (guint i = 0; i < ports->len; i++)
    {
        const IfmTransformerPort *port = &g_array_index(ports, IfmTransformerPort, i);
        gsize more;
        if (!ifm_shape_size_bytes(port->dtype, port->rank, port->dims, &more, error))
            return FALSE;
        if (__builtin_add_overflow(*bytes, (gint64)more, bytes))
            return ifm_error_refuse(error, "the bytes of %u inputs do not fit 63 bits", ports->len);
    }
    return TRUE;
}

/* --- parts -------------------------------------------------------------------------------------------------------- */

/* skip_layer: Returns: the text after "layers.3."; NULL where @name does not begin so. */
static const char *skip_layer(const char *name)
{
    if (!g_str_has_prefix(name, "layers.") || !g_ascii_isdigit(name[strlen("layers.")]))
        return NULL;
    name += strlen("layers.");
    while (g_ascii_isdigit(*name))
        name++;
    return *name == '.' ? name + 1 : NULL;
}

static const char *word_at(const char *name, const char *const *words)
{
    for (; *words != NULL; words++)
    {
        gsize length = strlen(*words);
        if (strncmp(name, *words, length) == 0 && (name[length] == '.' || name[length] == '\0'))
            return *words;
    }
    return NULL;
}

const char *ifm_transformer_part_of(const char *node_name)
{
    static const char *const passes[] = { "forward", "backward", NULL }; /* prefixes of nodes that differentiation makes */
    static const char *const of_layers[] = { "attention", "ffn", "mpnn", "norm", NULL };
    static const char *const others[] = { "input", "head", "loss", "update", NULL };
    const char *pass = word_at(node_name, passes);
    if (pass != NULL && node_name[strlen(pass)] == '.')
        node_name += strlen(pass) + 1;
    const char *behind = skip_layer(node_name);
    return behind != NULL ? word_at(behind, of_layers) : word_at(node_name, others);
}
