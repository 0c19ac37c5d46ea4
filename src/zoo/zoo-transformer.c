/* The graph transformer as rows of the zoo: "graph_transformer", and with message passing "gps". */
#include <math.h>

#include "transformer-private.h"

typedef struct
{
    gint64 num_nodes, num_edges, feature_dim, hidden_dim, num_layers, num_heads, ffn_dim, mpnn, pe, pe_dim, attention, norm,
        head, num_outputs, num_graphs, most_nodes, form, dropout, scatter;
} Parameters;

#define WIDTH IFM_STAGED_MAX_WIDTH
/* Rows of both; @mpnn is their one difference. */
#define PARAMETERS(mpnn)                                                                                                   \
    { "num_nodes", IFM_TRANSFORMER_USUAL_NODES, 1, IFM_GRAPH_MAX_NODES, "nodes, of all graphs together" },                 \
        { "num_edges", -1, -1, IFM_GRAPH_MAX_EDGES,                                                                        \
          "edges, each direction one; -1: as of an undirected graph of average degree " G_STRINGIFY(                       \
              IFM_TRANSFORMER_USUAL_DEGREE) },                                                                             \
        { "feature_dim", IFM_TRANSFORMER_USUAL_FEATURES, 1, WIDTH, "numbers a node goes in with" },                        \
        { "hidden_dim", IFM_TRANSFORMER_USUAL_HIDDEN, 1, WIDTH,                                                            \
          "numbers of a node between layers; a multiple of num_heads" },                                                   \
        { "num_layers", IFM_TRANSFORMER_USUAL_LAYERS, 0, 4096, "layers" },                                                 \
        { "num_heads", IFM_TRANSFORMER_USUAL_HEADS, 1, WIDTH, "heads of attention" },                                      \
        { "ffn_dim", 0, 0, 4 * WIDTH, "width of the feed-forward part; 0: twice hidden_dim" },                             \
        { "mpnn", mpnn, 0, IFM_MESSAGE_SAGE, "message passing next to attention", ifm_message_passing_words },             \
        { "pe",                                                                                                            \
          IFM_ENCODING_NONE,                                                                                               \
          0,                                                                                                               \
          IFM_ENCODING_RANDOM_WALK,                                                                                        \
          "positional encoding, an input next to the features: Laplacian eigenvectors or random walks",                    \
          ifm_positional_encoding_words },                                                                                 \
        { "pe_dim", IFM_TRANSFORMER_USUAL_PE, 1, IFM_ENCODING_MAX_DIM, "its numbers a node" },                             \
        { "attention",                                                                                                     \
          IFM_ATTENTION_DENSE,                                                                                             \
          0,                                                                                                               \
          IFM_ATTENTION_SPARSE,                                                                                            \
          "among all nodes of a graph, or along its edges",                                                                \
          ifm_attention_words },                                                                                           \
        { "norm", IFM_NORM_LAYER, 0, IFM_NORM_BATCH, "normalisation", ifm_norm_words },                                    \
        { "head", IFM_HEAD_GRAPH, 0, IFM_HEAD_NODE, "a prediction for each graph or for each node", ifm_head_words },      \
        { "num_outputs", IFM_TRANSFORMER_USUAL_OUTPUTS, 1, WIDTH, "numbers of a prediction" },                             \
        { "num_graphs", 1, 1, IFM_GRAPH_MAX_NODES, "graphs side by side" },                                                \
        { "most_nodes", 0, 0, IFM_GRAPH_MAX_NODES,                                                                         \
          "nodes of the largest of several graphs; 0: all are of one size, as far as they can be" },                       \
        { "form", 0, 0, 1, "training has dropout (masks are inputs) and batch norm by the batch", ifm_zoo_form_words },    \
        { "dropout", IFM_TRANSFORMER_USUAL_DROPOUT, 0, 99, "its probability in the training form, percent" },              \
    {                                                                                                                      \
        "scatter", 0, 0, 1 + IFM_SCATTER_MIXED,                                                                            \
            "sums over edges: ScatterND, ScatterElements, or rows by the first and single numbers by the "                 \
            "second; auto: mixed with sparse attention, elements with dense",                                              \
            ifm_transformer_scatter_words                                                                                  \
    }

const IfmZooParameter ifm_zoo_graph_transformer_parameters[] = { PARAMETERS(IFM_MESSAGE_NONE), { NULL } };
const IfmZooParameter ifm_zoo_gps_parameters[] = { PARAMETERS(IFM_MESSAGE_GIN), { NULL } };

gint64 ifm_transformer_usual_edges(gint64 num_nodes)
{
    double pairs = (double)num_nodes * (double)MIN(IFM_TRANSFORMER_USUAL_DEGREE, num_nodes - 1) / 2;
    return 2 * llround(MIN(pairs, 0x1p61)); /* whatever the number of nodes, it is a number */
}

static IfmTransformer from_values(const gint64 *values)
{
    const Parameters *at = (const void *)values;
    const gint64 n = at->num_nodes, graphs = at->num_graphs;
    return (IfmTransformer){
        .sizes = { .num_nodes = n,
                   .num_edges = at->num_edges >= 0 ? at->num_edges : ifm_transformer_usual_edges(n),
                   .feature_dim = at->feature_dim,
                   .hidden_dim = at->hidden_dim,
                   .num_layers = at->num_layers,
                   .num_heads = at->num_heads,
                   .ffn_dim = at->ffn_dim > 0 ? at->ffn_dim : 2 * at->hidden_dim,
                   .pe_dim = at->pe_dim,
                   .num_outputs = at->num_outputs,
                   .sparse_ratio = 1,
                   .mpnn = (IfmMessagePassing)at->mpnn,
                   .pe = (IfmPositionalEncoding)at->pe },
        .num_graphs = graphs,
        .most_nodes = at->most_nodes > 0 ? at->most_nodes : (n + graphs - 1) / graphs,
        .attention = (IfmAttention)at->attention,
        .norm = (IfmNorm)at->norm,
        .head = (IfmHead)at->head,
        .training = at->form != 0,
        .dropout = (double)at->dropout / 100,
        .scatter = ifm_transformer_scatter((int)at->scatter, (IfmAttention)at->attention),
    };
}

gboolean ifm_transformer_from_settings(const char *name, const char *const *settings, IfmTransformer *transformer,
                                       GError **error)
{
    const IfmZooEntry *entry = ifm_zoo_find(name, error);
    gint64 values[IFM_ZOO_MAX_PARAMETERS];
    if (entry == NULL)
        return FALSE;
    if (entry->build != ifm_zoo_transformer_build)
        return ifm_error_refuse(error, "zoo: %s is no graph transformer; graph_transformer and gps are", name);
    if (!ifm_zoo_values(entry, settings, values, error))
        return FALSE;
    *transformer = from_values(values);
    return TRUE;
}

IfmModel *ifm_zoo_transformer_build(const IfmZooEntry *entry, const gint64 *values, guint32 seed, GError **error)
{
    IfmTransformer transformer = from_values(values);
    IfmModel *model = ifm_transformer_build(&transformer, seed, error);
    if (model == NULL)
        g_prefix_error(error, "zoo: %s: ", entry->name);
    return model;
}
