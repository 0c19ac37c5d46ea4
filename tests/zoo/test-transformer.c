/* Graph transformers: what they count against the closed forms, their ports, their inputs, what is refused. */
#include <math.h>
#include <string.h>

#include <glib/gstdio.h>

#include <gradient/gradient.h>

#include "zoo/transformer-private.h"

static IfmTransformer settled(const char *name, const char *settings)
{
    g_autoptr(GError) error = NULL;
    g_auto(GStrv) words = g_strsplit(settings, " ", -1);
    IfmTransformer transformer;
    ifm_transformer_from_settings(name, (const char *const *)words, &transformer, &error);
    g_assert_no_error(error);
    return transformer;
}

static IfmModel *built(const IfmTransformer *transformer, guint32 seed)
{
    g_autoptr(GError) error = NULL;
    IfmModel *model = ifm_transformer_build(transformer, seed, &error);
    g_assert_no_error(error);
    return model;
}

/* --- counts --------------------------------------------------------------------------------------------------------- */

/* Configurations: each message passing, encoding, normalisation, head, attention, one graph and several, sums written in
 * each way, and the ends: no edge, one node, one layer, one head, no layer. */
static const char *const configurations[] = {
    "num_nodes=17 num_edges=40 hidden_dim=12 num_heads=3 num_layers=2",
    "num_nodes=17 num_edges=40 hidden_dim=12 num_heads=3 num_layers=2 mpnn=gin pe=lap pe_dim=5",
    "num_nodes=17 num_edges=40 hidden_dim=12 num_heads=3 num_layers=3 mpnn=gcn pe=rwse pe_dim=7 ffn_dim=31",
    "num_nodes=17 num_edges=40 hidden_dim=12 num_heads=3 num_layers=1 mpnn=sage norm=batch num_outputs=4",
    "num_nodes=17 num_edges=40 hidden_dim=12 num_heads=2 num_layers=2 head=node num_outputs=5",
    "num_nodes=17 num_edges=40 hidden_dim=12 num_heads=3 num_layers=2 attention=sparse",
    "num_nodes=17 num_edges=40 hidden_dim=12 num_heads=1 num_layers=2 attention=sparse mpnn=gcn norm=batch scatter=nd",
    "num_nodes=17 num_edges=40 hidden_dim=12 num_heads=4 num_layers=2 attention=sparse mpnn=gin head=node scatter=mixed",
    "num_nodes=17 num_edges=40 hidden_dim=12 num_heads=3 num_layers=2 num_graphs=3 most_nodes=9",
    "num_nodes=17 num_edges=40 hidden_dim=12 num_heads=3 num_layers=2 num_graphs=3 most_nodes=9 mpnn=sage head=node",
    "num_nodes=17 num_edges=40 hidden_dim=12 num_heads=6 num_layers=1 num_graphs=5 mpnn=gin norm=batch pe=rwse pe_dim=3",
    "num_nodes=17 num_edges=40 hidden_dim=12 num_heads=3 num_layers=2 num_graphs=3 attention=sparse mpnn=gcn pe=lap "
    "pe_dim=4",
    "num_nodes=17 num_edges=0 hidden_dim=8 num_heads=2 num_layers=1 attention=sparse mpnn=gcn",
    "num_nodes=17 num_edges=0 hidden_dim=8 num_heads=2 num_layers=1 mpnn=sage",
    "num_nodes=1 num_edges=0 hidden_dim=1 num_heads=1 num_layers=1 feature_dim=1 mpnn=gin",
    "num_nodes=1 num_edges=3 hidden_dim=2 num_heads=1 num_layers=1 attention=sparse mpnn=gin",
    "num_nodes=6 num_layers=0 mpnn=gcn num_graphs=2 pe=rwse pe_dim=2",
    "num_nodes=300 num_edges=1500 hidden_dim=64 num_heads=8 num_layers=2 mpnn=gin pe=lap",
};

static IfmEstimate *part_named(IfmTransformerEstimate *parts, const char *name)
{
    const struct
    {
        const char *name;
        IfmEstimate *part;
    } all[] = { { "input", &parts->input }, { "mpnn", &parts->mpnn }, { "attention", &parts->attention },
                { "ffn", &parts->ffn },     { "norm", &parts->norm }, { "head", &parts->head } };
    for (gsize i = 0; i < G_N_ELEMENTS(all); i++)
        if (g_strcmp0(all[i].name, name) == 0)
            return all[i].part;
    g_error("a node of no part: %s", name);
}

/* counted: What the graph says, by the parts that its nodes' names tell; dropout's FLOP apart, as no estimate has them. */
static IfmTransformerEstimate counted(IfmModel *model, gint64 *dropout_flop)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmAnalysis) analysis = ifm_model_analyse(model, NULL, 0, &error);
    IfmTransformerEstimate parts = { 0 };
    g_assert_no_error(error);
    *dropout_flop = 0;
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *node = ifm_model_node(model, i);
        const IfmNodeCost *cost = ifm_analysis_node_cost(analysis, i);
        IfmEstimate *part = part_named(&parts, ifm_transformer_part_of(node->name));
        g_assert_true(cost->covered);
        if (g_str_has_suffix(node->name, ".dropout"))
            *dropout_flop += cost->flop;
        else
        {
            part->macs += cost->macs;
            part->flop += cost->flop;
        }
    }
    return parts;
}

static void assert_counts(const IfmTransformer *transformer)
{
    static const char *const names[] = { "input", "mpnn", "attention", "ffn", "norm", "head" };
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = built(transformer, 1);
    const IfmTransformerSizes *sizes = &transformer->sizes;
    IfmTransformerEstimate estimate;
    gint64 dropout_flop, flop = 0, macs = 0, parameters = 0;
    ifm_transformer_estimate(transformer, &estimate, &error);
    g_assert_no_error(error);
    IfmTransformerEstimate parts = counted(model, &dropout_flop);
    if (transformer->training && transformer->norm == IFM_NORM_BATCH) /* by the batch's statistics: 5 a number, not 2 */
        parts.norm.flop -=
            3 * sizes->num_layers * (sizes->mpnn != IFM_MESSAGE_NONE ? 3 : 2) * sizes->num_nodes * sizes->hidden_dim;
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
    {
        const IfmEstimate *right = part_named(&estimate, names[i]), *found = part_named(&parts, names[i]);
        g_assert_cmpint(found->flop, ==, right->flop);
        if (transformer->attention == IFM_ATTENTION_DENSE)
            g_assert_cmpint(found->macs, ==, right->macs);
        flop += right->flop;
        macs += right->macs;
        parameters += right->parameters;
    }
    g_assert_cmpint(estimate.total.flop, ==, flop);
    g_assert_cmpint(estimate.total.macs, ==, macs);
    g_assert_cmpint(estimate.total.parameters, ==, parameters);
    g_assert_cmpint(ifm_model_n_trainable(model), ==, parameters);
    gint64 masked = 2 * sizes->hidden_dim + sizes->ffn_dim + (sizes->mpnn != IFM_MESSAGE_NONE ? sizes->hidden_dim : 0);
    gboolean drops = transformer->training && transformer->dropout > 0;
    g_assert_cmpint(dropout_flop, ==, drops ? sizes->num_layers * sizes->num_nodes * masked : 0);
}

static void test_counts(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(configurations); i++)
    {
        IfmTransformer transformer = settled("graph_transformer", configurations[i]);
        assert_counts(&transformer);
        transformer.training = TRUE;
        assert_counts(&transformer);
        transformer.dropout = 0;
        assert_counts(&transformer);
    }
}

/* One graph, layer norm, a prediction for it, dense attention: what the estimate without a model says. */
static void test_estimate(void)
{
    for (IfmMessagePassing mpnn = IFM_MESSAGE_NONE; mpnn <= IFM_MESSAGE_SAGE; mpnn++)
        for (IfmPositionalEncoding pe = IFM_ENCODING_NONE; pe <= IFM_ENCODING_RANDOM_WALK; pe++)
        {
            IfmTransformer transformer = IFM_TRANSFORMER_INIT;
            IfmTransformerEstimate found, right;
            transformer.sizes.mpnn = mpnn;
            transformer.sizes.pe = pe;
            g_assert_true(ifm_transformer_estimate(&transformer, &found, NULL));
            g_assert_true(ifm_estimate_transformer(&transformer.sizes, &right, NULL));
            g_assert_cmpmem(&found, sizeof found, &right, sizeof right);
        }
}

static void test_estimate_bytes(void)
{
    IfmTransformerEstimate plain, other;
    IfmTransformer transformer = settled("gps", "num_nodes=20 num_edges=50 hidden_dim=8 num_heads=2 num_layers=3");
    g_assert_true(ifm_transformer_estimate(&transformer, &plain, NULL));
    transformer.attention = IFM_ATTENTION_SPARSE;
    transformer.norm = IFM_NORM_BATCH;
    transformer.head = IFM_HEAD_NODE;
    g_assert_true(ifm_transformer_estimate(&transformer, &other, NULL));
    g_assert_cmpint(other.attention.bytes, ==, plain.attention.bytes + 3 * 16 * 50);
    g_assert_cmpint(other.norm.bytes, ==, plain.norm.bytes + 3 * 3 * 8 * 8);
    g_assert_cmpint(other.head.bytes, ==, 4 * (20 * 8 + 20 + 8 + 1));
    transformer.attention = IFM_ATTENTION_DENSE;
    transformer.head = IFM_HEAD_GRAPH;
    transformer.num_graphs = 4;
    transformer.most_nodes = 7;
    g_assert_true(ifm_transformer_estimate(&transformer, &other, NULL));
    g_assert_cmpint(other.attention.bytes, ==, plain.attention.bytes + 3 * (4 * 4 * 7 + 8 * 20));
    g_assert_cmpint(other.attention.macs, ==, 3 * (4 * 20 * 8 * 8 + 2 * 4 * 7 * 7 * 8));
    g_assert_cmpint(other.head.bytes, ==, 4 * (20 * 8 + 4 + 8 + 1) + 8 * 20 + 4 * 4);
    g_assert_cmpint(other.head.flop, ==, 20 * 8 + 4 * 8 + 2 * 4 * 8 + 4);
    /* Four graphs of 5 nodes and 12 edges: of each, 3 products of a sparse matrix with a dense one, and the shares. */
    transformer.sizes.pe = IFM_ENCODING_RANDOM_WALK;
    transformer.sizes.pe_dim = 3;
    g_assert_true(ifm_transformer_estimate(&transformer, &other, NULL));
    g_assert_cmpint(other.encoding.macs, ==, 4 * 3 * 12 * 5);
    g_assert_cmpint(other.encoding.flop, ==, 4 * (2 * 3 * 12 * 5 + 12));
}

/* --- names and weights ---------------------------------------------------------------------------------------------- */

static void test_part_of(void)
{
    static const struct
    {
        const char *name, *part;
    } names[] = {
        { "layers.3.attention.scores", "attention" },
        { "backward.layers.3.attention.scores.MatMul", "attention" },
        { "forward.layers.11.norm.mpnn.Sub", "norm" },
        { "layers.0.norm.ffn", "norm" },
        { "layers.0.ffn.gelu", "ffn" },
        { "layers.0.mpnn.sum", "mpnn" },
        { "layers.12.mpnn", "mpnn" },
        { "input.linear", "input" },
        { "backward.head.linear.Gemm", "head" },
        { "head.mean", "head" },
        { "layers.attention.scores", NULL },
        { "layers.3.attentions", NULL },
        { "layers.3x.attention", NULL },
        { "layer1.0.conv1", NULL },
        { "loss.Sub", "loss" },
        { "update.Mul", "update" },
        { "losses.Sub", NULL },
        { "layers.0.update", NULL },
        { "headless", NULL },
        { "backward", NULL },
        { "", NULL },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        g_assert_cmpstr(ifm_transformer_part_of(names[i].name), ==, names[i].part);
}

/* assert_same_weights: Those that both have are the same; and one has all that the other has. */
static void assert_same_weights(const IfmModel *one, const IfmModel *other)
{
    g_assert_cmpuint(ifm_model_n_initializers(one), ==, ifm_model_n_initializers(other));
    for (gsize i = 0; i < ifm_model_n_initializers(one); i++)
    {
        IfmTensor a, b;
        const char *name = ifm_model_initializer_name(one, i);
        g_assert_true(ifm_model_initializer(one, name, &a));
        g_assert_true(ifm_model_initializer(other, name, &b));
        g_assert_cmpmem(a.data, a.size_bytes, b.data, b.size_bytes);
    }
}

static void test_seeds(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(configurations); i++)
    {
        IfmTransformer transformer = settled("gps", configurations[i]), training = transformer;
        training.training = TRUE;
        g_autoptr(IfmModel) one = built(&transformer, 5), same = built(&transformer, 5), other = built(&transformer, 6);
        g_autoptr(IfmModel) trained = built(&training, 5);
        g_assert_cmpstr(ifm_model_digest(one, NULL), ==, ifm_model_digest(same, NULL));
        g_assert_cmpstr(ifm_model_digest(one, NULL), !=, ifm_model_digest(other, NULL));
        assert_same_weights(one, trained);
    }
}

static void test_zoo(void)
{
    g_autoptr(GError) error = NULL;
    static const char *const none[] = { "num_layers=2", "mpnn=none", NULL }, *const plain[] = { "num_layers=2", NULL };
    g_autoptr(IfmModel) gps = ifm_zoo_build("gps", none, 3, &error);
    g_autoptr(IfmModel) transformer = ifm_zoo_build("graph_transformer", plain, 3, &error);
    g_assert_no_error(error);
    g_assert_cmpstr(ifm_model_digest(gps, NULL), ==, ifm_model_digest(transformer, NULL));
    IfmTransformer of_zoo = settled("graph_transformer", "num_layers=4"), plainest = IFM_TRANSFORMER_INIT;
    g_autoptr(IfmModel) one = built(&of_zoo, 1), other = built(&plainest, 1);
    g_assert_cmpstr(ifm_model_digest(one, NULL), ==, ifm_model_digest(other, NULL));
    g_assert_cmpint(settled("gps", "num_nodes=101").sizes.num_edges, ==, 506);
    g_assert_cmpint(settled("gps", "num_nodes=4").sizes.num_edges, ==, 12);
    g_assert_cmpint(settled("gps", "num_nodes=1").sizes.num_edges, ==, 0);
    g_assert_cmpint(settled("gps", "hidden_dim=40").sizes.ffn_dim, ==, 80);
    g_assert_cmpint(settled("gps", "num_nodes=10 num_graphs=3").most_nodes, ==, 4);
    g_assert_cmpint(settled("gps", "attention=sparse").scatter, ==, IFM_SCATTER_MIXED);
    g_assert_cmpint(settled("gps", "mpnn=gcn").scatter, ==, IFM_SCATTER_ELEMENTS);
    g_assert_cmpint(settled("gps", "scatter=nd").scatter, ==, IFM_SCATTER_ND);
    g_assert_cmpint(settled("gps", "attention=sparse scatter=elements").scatter, ==, IFM_SCATTER_ELEMENTS);
    g_assert_cmpint(settled("gps", "attention=sparse scatter=auto").scatter, ==, IFM_SCATTER_MIXED);
    g_assert_cmpint(settled("gps", "num_layers=1").sizes.mpnn, ==, IFM_MESSAGE_GIN);
    g_assert_cmpfloat(settled("gps", "dropout=25").dropout, ==, 0.25);
    IfmTransformer none_such;
    g_assert_false(ifm_transformer_from_settings("matmul", NULL, &none_such, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
}

static void assert_ports(const char *settings, const char *ports)
{
    IfmTransformer transformer = settled("graph_transformer", settings);
    g_autoptr(IfmModel) model = built(&transformer, 1);
    g_autoptr(GString) found = g_string_new(NULL);
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
    {
        const IfmPort *port = ifm_model_input(model, i);
        g_autofree char *shape = ifm_shape_to_string(port->rank, port->dims);
        g_string_append_printf(found, "%s%s%s%s", i > 0 ? " " : "", port->name, port->dtype == IFM_DTYPE_I64 ? ":" : "",
                               shape);
    }
    const IfmPort *output = ifm_model_output(model, 0);
    g_autofree char *shape = ifm_shape_to_string(output->rank, output->dims);
    g_string_append_printf(found, " %s%s", output->name, shape);
    g_assert_cmpstr(found->str, ==, ports);
}

static void test_ports(void)
{
#define SIZES "num_nodes=9 num_edges=20 feature_dim=3 hidden_dim=8 num_heads=2 num_layers=1 num_outputs=5"
    assert_ports(SIZES, "x[9,3] y[1,5]");
    assert_ports(SIZES " pe=lap pe_dim=2 head=node mpnn=gin", "x[9,3] pe[9,2] edge_index:[2,20] y[9,5]");
    assert_ports(SIZES " mpnn=gcn", "x[9,3] edge_index:[2,20] coefficients[29,1] y[1,5]");
    assert_ports(SIZES " mpnn=sage num_graphs=2 most_nodes=6",
                 "x[9,3] edge_index:[2,20] degrees[9,1] bias[2,1,1,6] places:[9] node_graph:[9] weights[2,1] "
                 "y[2,5]");
    assert_ports(SIZES " attention=sparse num_graphs=2 head=node", "x[9,3] edge_index:[2,20] y[9,5]");
    assert_ports(SIZES " form=training mpnn=gin ffn_dim=7",
                 "x[9,3] edge_index:[2,20] mask.layers.0.attention[9,8] mask.layers.0.mpnn[9,8] "
                 "mask.layers.0.ffn.hidden[9,7] mask.layers.0.ffn[9,8] y[1,5]");
    assert_ports("num_nodes=9 num_edges=0 mpnn=gcn attention=sparse num_layers=1", "x[9,16] coefficients[9,1] y[1,1]");
    assert_ports("num_nodes=9 num_layers=0 mpnn=gcn attention=sparse form=training", "x[9,16] y[1,1]");
}

/* Every configuration's training form can be differentiated, by each of its weights, and trained; what comes of a layer's
 * nodes is told to be of its part. */
static void test_gradients(void)
{
    for (gsize i = 0; i < G_N_ELEMENTS(configurations); i++)
    {
        g_autoptr(GError) error = NULL;
        IfmTransformer transformer = settled("graph_transformer", configurations[i]);
        transformer.training = TRUE;
        g_autoptr(IfmModel) model = built(&transformer, 1);
        g_autoptr(IfmModel) backward = ifm_gradient_backward(model, &(IfmGradientOptions){ 0 }, &error);
        g_assert_no_error(error);
        gint64 n = 0;
        for (gsize k = 0; k < ifm_model_n_outputs(backward); k++)
        {
            IfmTensor weight;
            const char *name = ifm_model_output(backward, k)->name;
            if (g_str_has_prefix(name, "grad.") && ifm_model_initializer(model, name + strlen("grad."), &weight))
                n += ifm_tensor_n_elements(&weight);
        }
        g_assert_cmpint(n, ==, ifm_model_n_trainable(model));
        for (gsize k = 0; k < ifm_model_n_nodes(backward); k++)
        {
            const char *name = ifm_model_node(backward, k)->name;
            gboolean of_node =
                strstr(name, ".layers.") != NULL || strstr(name, ".input.") != NULL || strstr(name, ".head.") != NULL;
            if (of_node && (g_str_has_prefix(name, "backward.") || g_str_has_prefix(name, "forward.")))
                g_assert_cmpstr(ifm_transformer_part_of(name) != NULL ? "" : name, ==, "");
        }
        g_autoptr(IfmModel) step = ifm_gradient_training_step(model, &IFM_TRAINING_OPTIONS_INIT, &error);
        g_assert_no_error(error);
        for (gsize k = 0; k < ifm_model_n_nodes(step); k++)
        {
            const char *name = ifm_model_node(step, k)->name;
            g_assert_cmpstr(ifm_transformer_part_of(name) != NULL ? "" : name, ==, "");
        }
    }
}

/* --- inputs --------------------------------------------------------------------------------------------------------- */

/* Three graphs of 3, 1 and 4 nodes; node 3 has no edge, node 5 none that ends in it. */
static IfmGraph *three_graphs(gboolean with_values)
{
    static const gint64 edges[] = { 0, 1, 1, 2, 5, 4, 6, 1, 0, 2, 1, 4, 7, 4 };
    static const gint64 node_graph[] = { 0, 0, 0, 1, 2, 2, 2, 2 };
    IfmGraph *graph = g_new0(IfmGraph, 1);
    *graph = (IfmGraph){ .name = g_strdup("three"), .n_nodes = 8, .n_edges = 7, .n_graphs = 3 };
    graph->edge_index = g_memdup2(edges, sizeof edges);
    graph->node_graph = g_memdup2(node_graph, sizeof node_graph);
    if (with_values)
    {
        graph->n_node_values = 2;
        graph->node_values = g_new(float, 16);
        for (int i = 0; i < 16; i++)
            graph->node_values[i] = (float)i;
    }
    return graph;
}

static IfmTensorFile *made_inputs(const IfmTransformer *transformer, const IfmGraph *graph, const IfmEncoding *encoding,
                                  guint32 seed)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_dir_make_tmp("ifm-transformer-XXXXXX", NULL);
    g_autofree char *path = g_build_filename(folder, "inputs", NULL);
    ifm_transformer_inputs(transformer, graph, encoding, seed, path, &error);
    g_assert_no_error(error);
    IfmTensorFile *file = ifm_tensor_file_open(path, &error);
    g_assert_no_error(error);
    g_unlink(path);
    g_rmdir(folder);
    return file;
}

static void assert_floats(const IfmTensorFile *file, const char *name, const double *right, gint64 n)
{
    const IfmTensor *tensor = ifm_tensor_file_find(file, name);
    g_assert_nonnull(tensor);
    g_assert_cmpint(ifm_tensor_n_elements(tensor), ==, n);
    for (gint64 i = 0; i < n; i++)
        g_assert_cmpfloat_with_epsilon(ifm_tensor_get_double(tensor, i), right[i], 1e-7 * (1 + fabs(right[i])));
}

#define ASSERT_FLOATS(file, name, ...)                                                                                     \
    assert_floats(file, name, (const double[]){ __VA_ARGS__ }, G_N_ELEMENTS(((const double[]){ __VA_ARGS__ })))

static void test_inputs(void)
{
    g_autoptr(IfmGraph) graph = three_graphs(TRUE);
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmEncoding) encoding = ifm_encoding_random_walk(graph, 2, NULL, NULL, &error);
    IfmTransformer transformer = settled("gps", "mpnn=gcn pe=rwse pe_dim=2 hidden_dim=8 num_heads=2 num_layers=1");
    ifm_transformer_for_graph(&transformer, graph);
    g_assert_cmpint(transformer.most_nodes, ==, 4);
    g_assert_cmpint(transformer.sizes.feature_dim, ==, 2);
    g_autoptr(IfmTensorFile) file = made_inputs(&transformer, graph, encoding, 1);
    g_autoptr(IfmModel) model = built(&transformer, 1);
    g_assert_cmpuint(ifm_tensor_file_n(file), ==, ifm_model_n_inputs(model));
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
    {
        const IfmTensor *tensor = ifm_tensor_file_tensor(file, i);
        const IfmPort *port = ifm_model_input(model, i);
        g_assert_cmpstr(ifm_tensor_file_name(file, i), ==, port->name);
        g_assert_cmpint(tensor->rank, ==, port->rank);
        g_assert_cmpmem(tensor->shape, sizeof(gint64) * (gsize)port->rank, port->dims, sizeof(gint64) * (gsize)port->rank);
    }
    ASSERT_FLOATS(file, "x", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    /* Edges 0->1 1->0 1->2 2->1 5->4 4->7 6->4; so they end in 0: 1, 1: 2, 2: 1, 4: 2, 7: 1. */
    const double a = 1 / sqrt(6), b = 1 / sqrt(3);
    ASSERT_FLOATS(file, "coefficients", a, a, a, a, b, a, b, 1 / 2., 1 / 3., 1 / 2., 1, 1 / 3., 1, 1, 1 / 2.);
    ASSERT_FLOATS(file, "places", 0, 1, 2, 4, 8, 9, 10, 11);
    ASSERT_FLOATS(file, "bias", 0, 0, 0, -1e4, 0, -1e4, -1e4, -1e4, 0, 0, 0, 0);
    ASSERT_FLOATS(file, "weights", 1 / 3., 1, 1 / 4.);
    ASSERT_FLOATS(file, "node_graph", 0, 0, 0, 1, 2, 2, 2, 2);
    const IfmTensor *pe = ifm_tensor_file_find(file, "pe");
    g_assert_cmpmem(pe->data, pe->size_bytes, encoding->values, 16 * sizeof(float));
    transformer.sizes.mpnn = IFM_MESSAGE_SAGE;
    transformer.sizes.pe = IFM_ENCODING_NONE;
    g_autoptr(IfmTensorFile) others = made_inputs(&transformer, graph, NULL, 1);
    ASSERT_FLOATS(others, "degrees", 1, 2, 1, 1, 2, 1, 1, 1);
    g_assert_null(ifm_tensor_file_find(others, "coefficients"));
}

static void test_inputs_seeded(void)
{
    g_autoptr(IfmGraph) graph = three_graphs(FALSE), valued = three_graphs(TRUE);
    IfmTransformer transformer = settled("gps", "hidden_dim=64 num_layers=3 form=training dropout=30 feature_dim=5");
    ifm_transformer_for_graph(&transformer, graph);
    g_autoptr(IfmTensorFile) one = made_inputs(&transformer, graph, NULL, 1),
                             same = made_inputs(&transformer, graph, NULL, 1),
                             other = made_inputs(&transformer, graph, NULL, 2);
    g_autofree char *digest = ifm_tensor_file_digest(one), *again = ifm_tensor_file_digest(same),
                    *different = ifm_tensor_file_digest(other);
    g_assert_cmpstr(digest, ==, again);
    g_assert_cmpstr(digest, !=, different);
    g_assert_cmpint(ifm_tensor_file_find(one, "x")->shape[1], ==, 5);
    g_assert_cmpfloat(ifm_tensor_root_mean_square(ifm_tensor_file_find(one, "x")), >, 0.3);
    gint64 n = 0, n_dropped = 0;
    for (gsize i = 0; i < ifm_tensor_file_n(one); i++)
    {
        const IfmTensor *mask = ifm_tensor_file_tensor(one, i);
        if (!g_str_has_prefix(ifm_tensor_file_name(one, i), "mask."))
            continue;
        for (gint64 k = 0; k < ifm_tensor_n_elements(mask); k++, n++)
        {
            double value = ifm_tensor_get_double(mask, k);
            n_dropped += value == 0;
            g_assert_true(value == 0 || fabs(value - 1 / 0.7) < 1e-6);
        }
    }
    g_assert_cmpint(n, ==, 3 * 8 * (64 * 3 + 128));
    g_assert_cmpfloat_with_epsilon((double)n_dropped / (double)n, 0.3, 5 * sqrt(0.3 * 0.7 / (double)n));
    const IfmTensor *first = ifm_tensor_file_find(one, "mask.layers.0.attention");
    const IfmTensor *second = ifm_tensor_file_find(one, "mask.layers.1.attention");
    g_assert_true(memcmp(first->data, second->data, first->size_bytes) != 0);
    /* Masks stay what they were where features come from the graph. */
    ifm_transformer_for_graph(&transformer, valued);
    g_autoptr(IfmTensorFile) with_values = made_inputs(&transformer, valued, NULL, 1);
    const IfmTensor *unchanged = ifm_tensor_file_find(with_values, "mask.layers.1.attention");
    g_assert_cmpmem(second->data, second->size_bytes, unchanged->data, unchanged->size_bytes);
}

/* --- what is refused ------------------------------------------------------------------------------------------------ */

static void test_refused(void)
{
    static const struct
    {
        const char *settings, *said;
    } cases[] = {
        { "num_heads=3", "num_heads 3 does not divide hidden_dim 64" },
        { "num_nodes=12 pe=lap", "pe_dim 16: a graph of 12 nodes has 11 eigenvectors at most" },
        { "num_nodes=40 num_graphs=4 pe=lap", "pe_dim 16: a graph of 10 nodes has 9 eigenvectors at most" },
        { "num_nodes=10 num_graphs=11", "num_graphs 11: 1 to 10" },
        { "num_nodes=10 num_graphs=3 most_nodes=3", "most_nodes 3: 4 to 10" },
        { "num_nodes=10 num_graphs=3 most_nodes=11", "most_nodes 11: 4 to 10" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(GError) error = NULL;
        IfmTransformer transformer = settled("graph_transformer", cases[i].settings);
        IfmTransformerEstimate estimate;
        g_assert_false(ifm_transformer_check(&transformer, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_cmpstr(error->message, ==, cases[i].said);
        g_assert_null(ifm_transformer_build(&transformer, 1, NULL));
        g_assert_false(ifm_transformer_estimate(&transformer, &estimate, NULL));
    }
    g_autoptr(GError) error = NULL;
    IfmTransformer transformer = IFM_TRANSFORMER_INIT;
    transformer.dropout = 1;
    g_assert_false(ifm_transformer_check(&transformer, &error));
    g_assert_cmpstr(error->message, ==, "dropout 1: 0 to below 1");
    g_clear_error(&error);
    transformer.dropout = NAN;
    g_assert_false(ifm_transformer_check(&transformer, NULL));
    transformer = IFM_TRANSFORMER_INIT;
    transformer.sizes.hidden_dim = 0;
    g_assert_false(ifm_transformer_check(&transformer, &error));
    g_assert_cmpstr(error->message, ==, "hidden_dim 0: 1 to 65536");
    g_clear_error(&error);
    /* Counted, but too large for a number of 63 bits. */
    transformer = settled("graph_transformer", "num_nodes=100000000 num_edges=9 num_graphs=2 num_layers=4096");
    IfmTransformerEstimate estimate;
    g_assert_false(ifm_transformer_estimate(&transformer, &estimate, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_assert_nonnull(strstr(error->message, "the count does not fit 63 bits"));
}

static void test_refused_inputs(void)
{
    g_autoptr(IfmGraph) graph = three_graphs(TRUE), outside = three_graphs(TRUE);
    g_autoptr(IfmEncoding) encoding = ifm_encoding_random_walk(graph, 2, NULL, NULL, NULL);
    IfmTransformer right = settled("gps", "num_layers=1 hidden_dim=8");
    ifm_transformer_for_graph(&right, graph);
    IfmTransformer nodes = right, edges = right, values = right, graphs = right, max = right, encoded = right;
    nodes.sizes.num_nodes = 9;
    edges.sizes.num_edges = 8;
    values.sizes.feature_dim = 3;
    graphs.num_graphs = 2;
    max.most_nodes = 5;
    encoded.sizes.pe = IFM_ENCODING_RANDOM_WALK;
    encoded.sizes.pe_dim = 3;
    outside->edge_index[3] = 8;
    const struct
    {
        const IfmTransformer *transformer;
        const IfmGraph *graph;
        const IfmEncoding *encoding;
        const char *said;
    } cases[] = {
        { &nodes, graph, NULL, "three: 8 nodes; the model has 9" },
        { &edges, graph, NULL, "three: 7 edges; the model has 8" },
        { &values, graph, NULL, "three: 2 values a node; the model has 3" },
        { &graphs, graph, NULL, "three: 3 graphs; the model has 2" },
        { &max, graph, NULL, "three: 4 nodes in the largest graph; the model has 5" },
        { &encoded, graph, encoding,
          "positional encoding of 8 nodes, 2 numbers each; the model's is of 8 nodes, pe_dim 3" },
        { &encoded, graph, NULL, "positional encoding of 0 nodes, 0 numbers each; the model's is of 8 nodes, pe_dim 3" },
        { &right, outside, NULL, "three: edge 3, from node 8 to 1, is outside its 8 nodes (numbered from 0)" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(GError) error = NULL;
        g_assert_false(
            ifm_transformer_inputs(cases[i].transformer, cases[i].graph, cases[i].encoding, 1, "/nowhere/x", &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_cmpstr(error->message, ==, cases[i].said);
    }
    g_autoptr(GError) error = NULL;
    g_assert_false(ifm_transformer_inputs(&right, graph, NULL, 1, "/nowhere/x", &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
}

/* Known without a model: what its inputs take, of either form. */
static void test_input_bytes(void)
{
    for (gsize i = 0; i < 2 * G_N_ELEMENTS(configurations); i++)
    {
        g_autoptr(GError) error = NULL;
        IfmTransformer transformer = settled("graph_transformer", configurations[i / 2]);
        gint64 bytes, sum = 0;
        transformer.training = i % 2 != 0;
        g_autoptr(IfmModel) model = built(&transformer, 1);
        for (gsize k = 0; k < ifm_model_n_inputs(model); k++)
        {
            const IfmPort *port = ifm_model_input(model, k);
            gsize size;
            g_assert_true(ifm_shape_size_bytes(port->dtype, port->rank, port->dims, &size, NULL));
            sum += (gint64)size;
        }
        g_assert_true(ifm_transformer_input_bytes(&transformer, &bytes, &error));
        g_assert_no_error(error);
        g_assert_cmpint(bytes, ==, sum);
    }
    /* the largest there is: 4096 layers' masks, 2^37 numbers and more a layer */
    IfmTransformer transformer =
        settled("graph_transformer", "num_nodes=100000000 num_edges=0 hidden_dim=65536 form=training");
    gint64 bytes;
    g_autoptr(GError) error = NULL;
    transformer.sizes.num_layers = 4096;
    g_assert_true(ifm_transformer_input_bytes(&transformer, &bytes, &error));
    g_assert_cmpint(bytes / 4096, >=, 4 * G_GINT64_CONSTANT(100000000) * 4 * 65536);
    transformer.sizes.num_layers = 4097;
    g_assert_false(ifm_transformer_input_bytes(&transformer, &bytes, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/zoo/transformer/counts", test_counts);
    g_test_add_func("/zoo/transformer/estimate", test_estimate);
    g_test_add_func("/zoo/transformer/estimate-bytes", test_estimate_bytes);
    g_test_add_func("/zoo/transformer/part-of", test_part_of);
    g_test_add_func("/zoo/transformer/seeds", test_seeds);
    g_test_add_func("/zoo/transformer/zoo", test_zoo);
    g_test_add_func("/zoo/transformer/ports", test_ports);
    g_test_add_func("/zoo/transformer/gradients", test_gradients);
    g_test_add_func("/zoo/transformer/inputs", test_inputs);
    g_test_add_func("/zoo/transformer/inputs-seeded", test_inputs_seeded);
    g_test_add_func("/zoo/transformer/refused", test_refused);
    g_test_add_func("/zoo/transformer/refused-inputs", test_refused_inputs);
    g_test_add_func("/zoo/transformer/input-bytes", test_input_bytes);
    return g_test_run();
}
