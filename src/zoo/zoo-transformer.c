/* The graph transformer as rows of the zoo: "graph_transformer", and with message passing "gps". */
#include <math.h>

#include "transformer-private.h"

enum
{
    NUM_NODES,
    NUM_EDGES,
    FEATURE_DIM,
    HIDDEN_DIM,
    NUM_LAYERS,
    NUM_HEADS,
    FFN_DIM,
    MPNN,
    PE,
    PE_DIM,
    ATTENTION,
    NORM,
    HEAD,
    NUM_OUTPUTS,
    NUM_GRAPHS,
    MAX_NODES,
    FORM,
    DROPOUT,
    SCATTER,
    N_PARAMETERS,
};

#define WIDTH IFM_STAGED_MAX_WIDTH
#define PARAMETERS(mpnn)                                                                                                       \
    {                                                                                                                          \
        [NUM_NODES] = { "num_nodes", IFM_TRANSFORMER_USUAL_NODES, 1, IFM_GRAPH_MAX_NODES,                                      \
                        "nodes, of all graphs together" },                                                                     \
        [NUM_EDGES] = { "num_edges", -1, -1, IFM_GRAPH_MAX_EDGES,                                                              \
                        "edges, each direction one; -1: as of an undirected graph of average degree " G_STRINGIFY(             \
                            IFM_TRANSFORMER_USUAL_DEGREE) },                                                                   \
        [FEATURE_DIM] = { "feature_dim", IFM_TRANSFORMER_USUAL_FEATURES, 1, WIDTH, "numbers a node goes in with" },            \
        [HIDDEN_DIM] = { "hidden_dim", IFM_TRANSFORMER_USUAL_HIDDEN, 1, WIDTH,                                                 \
                         "numbers of a node between layers; a multiple of num_heads" },                                        \
        [NUM_LAYERS] = { "num_layers", IFM_TRANSFORMER_USUAL_LAYERS, 0, 4096, "layers" },                                      \
        [NUM_HEADS] = { "num_heads", IFM_TRANSFORMER_USUAL_HEADS, 1, WIDTH, "heads of attention" },                            \
        [FFN_DIM] = { "ffn_dim", 0, 0, 4 * WIDTH, "width of the feed-forward part; 0: twice hidden_dim" },                     \
        [MPNN] = { "mpnn", mpnn, 0, IFM_MESSAGE_SAGE, "message passing next to attention", ifm_message_passing_words },        \
        [PE] = { "pe",                                                                                                         \
                 IFM_ENCODING_NONE,                                                                                            \
                 0,                                                                                                            \
                 IFM_ENCODING_RANDOM_WALK,                                                                                     \
                 "positional encoding, an input next to the features: Laplacian eigenvectors or random walks",                 \
                 ifm_positional_encoding_words },                                                                              \
        [PE_DIM] = { "pe_dim", IFM_TRANSFORMER_USUAL_PE, 1, IFM_ENCODING_MAX_DIM, "its numbers a node" },                      \
        [ATTENTION] = { "attention",                                                                                           \
                        IFM_ATTENTION_DENSE,                                                                                   \
                        0,                                                                                                     \
                        IFM_ATTENTION_SPARSE,                                                                                  \
                        "among all nodes of a graph, or along its edges",                                                      \
                        ifm_attention_words },                                                                                 \
        [NORM] = { "norm", IFM_NORM_LAYER, 0, IFM_NORM_BATCH, "normalisation", ifm_norm_words },                               \
        [HEAD] = { "head", IFM_HEAD_GRAPH, 0, IFM_HEAD_NODE, "a prediction for each graph or for each node", ifm_head_words }, \
        [NUM_OUTPUTS] = { "num_outputs", IFM_TRANSFORMER_USUAL_OUTPUTS, 1, WIDTH, "numbers of a prediction" },                 \
        [NUM_GRAPHS] = { "num_graphs", 1, 1, IFM_GRAPH_MAX_NODES, "graphs side by side" },                                     \
        [MAX_NODES] = { "most_nodes", 0, 0, IFM_GRAPH_MAX_NODES,                                                               \
                        "nodes of the largest of several graphs; 0: all are of one size, as far as they can be" },             \
        [FORM] = { "form",                                                                                                     \
                   0,                                                                                                          \
                   0,                                                                                                          \
                   1,                                                                                                          \
                   "training has dropout (masks are inputs) and batch norm by the batch",                                      \
                   ifm_zoo_form_words },                                                                                       \
        [DROPOUT] = { "dropout", IFM_TRANSFORMER_USUAL_DROPOUT, 0, 99, "its probability in the training form, percent" },      \
        [SCATTER] = { "scatter",                                                                                               \
                      0,                                                                                                       \
                      0,                                                                                                       \
                      1 + IFM_SCATTER_MIXED,                                                                                   \
                      "sums over edges: ScatterND, ScatterElements, or rows by the first and single numbers by the "           \
                      "second; auto: mixed with sparse attention, elements with dense",                                        \
                      ifm_transformer_scatter_words },                                                                         \
        [N_PARAMETERS] = { NULL },                                                                                             \
    }

const IfmZooParameter ifm_zoo_graph_transformer_parameters[] = PARAMETERS(IFM_MESSAGE_NONE);
const IfmZooParameter ifm_zoo_gps_parameters[] = PARAMETERS(IFM_MESSAGE_GIN);

gint64 ifm_transformer_usual_edges(gint64 num_nodes)
{
    double pairs = (double)num_nodes * (double)MIN(IFM_TRANSFORMER_USUAL_DEGREE, num_nodes - 1) / 2;
    return 2 * llround(MIN(pairs, 0x1p61)); /* whatever the number of nodes, it is a number */
}

static IfmTransformer from_values(const gint64 *values)
{
    const gint64 n = values[NUM_NODES], graphs = values[NUM_GRAPHS];
    return (IfmTransformer){
        .sizes = { .num_nodes = n,
                   .num_edges = values[NUM_EDGES] >= 0 ? values[NUM_EDGES] : ifm_transformer_usual_edges(n),
                   .feature_dim = values[FEATURE_DIM],
                   .hidden_dim = values[HIDDEN_DIM],
                   .num_layers = values[NUM_LAYERS],
                   .num_heads = values[NUM_HEADS],
                   .ffn_dim = values[FFN_DIM] > 0 ? values[FFN_DIM] : 2 * values[HIDDEN_DIM],
                   .pe_dim = values[PE_DIM],
                   .num_outputs = values[NUM_OUTPUTS],
                   .sparse_ratio = 1,
                   .mpnn = (IfmMessagePassing)values[MPNN],
                   .pe = (IfmPositionalEncoding)values[PE] },
        .num_graphs = graphs,
        .most_nodes = values[MAX_NODES] > 0 ? values[MAX_NODES] : (n + graphs - 1) / graphs,
        .attention = (IfmAttention)values[ATTENTION],
        .norm = (IfmNorm)values[NORM],
        .head = (IfmHead)values[HEAD],
        .training = values[FORM] != 0,
        .dropout = (double)values[DROPOUT] / 100,
        .scatter = ifm_transformer_scatter((int)values[SCATTER], (IfmAttention)values[ATTENTION]),
    };
}

gboolean ifm_transformer_from_settings(const char *name, const char *const *settings, IfmTransformer *transformer,
                                       GError **error)
{
    const IfmZooEntry *entry = ifm_zoo_find(name, error);
    gint64 values[IFM_ZOO_MAX_PARAMETERS];
    if (entry == NULL)
        return FALSE;
    if (entry->build != ifm_zoo_gps_build && entry->build != ifm_zoo_graph_transformer_build)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "zoo: %s is no graph transformer; graph_transformer and gps are",
                    name);
        return FALSE;
    }
    if (!ifm_zoo_values(entry, settings, values, error))
        return FALSE;
    *transformer = from_values(values);
    return TRUE;
}

static IfmModel *build(const char *name, const gint64 *values, guint32 seed, GError **error)
{
    IfmTransformer transformer = from_values(values);
    IfmModel *model = ifm_transformer_build(&transformer, seed, error);
    if (model == NULL)
        g_prefix_error(error, "zoo: %s: ", name);
    return model;
}

IfmModel *ifm_zoo_graph_transformer_build(const gint64 *values, guint32 seed, GError **error)
{
    return build("graph_transformer", values, seed, error);
}

IfmModel *ifm_zoo_gps_build(const gint64 *values, guint32 seed, GError **error)
{
    return build("gps", values, seed, error);
}
