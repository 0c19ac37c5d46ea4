/*
 * Graph transformers of every kind against PyTorch's autograd, in their training form with the same dropout masks; and
 * training on molecules, whose loss falls.
 */
#include "torch.h"
#include "training.h"
#include "transformer.h"

static const char *const devices[] = { "onnxruntime:CPU", "openvino:CPU" };

/* --- against PyTorch ----------------------------------------------------------------------------------------------------
 */

/* Kind: @n_graphs: molecules; 0: a random graph */
typedef struct
{
    IfmAttention attention;
    IfmMessagePassing mpnn;
    IfmNorm norm;
    IfmHead head;
    IfmScatter scatter;
    gint64 n_graphs;
} Kind;

static const Kind kinds[] = {
    { IFM_ATTENTION_DENSE, IFM_MESSAGE_NONE, IFM_NORM_LAYER, IFM_HEAD_GRAPH, IFM_SCATTER_ELEMENTS, 0 },
    { IFM_ATTENTION_DENSE, IFM_MESSAGE_GIN, IFM_NORM_BATCH, IFM_HEAD_NODE, IFM_SCATTER_MIXED, 0 },
    { IFM_ATTENTION_DENSE, IFM_MESSAGE_GCN, IFM_NORM_LAYER, IFM_HEAD_GRAPH, IFM_SCATTER_ELEMENTS, 2 },
    { IFM_ATTENTION_DENSE, IFM_MESSAGE_NONE, IFM_NORM_BATCH, IFM_HEAD_GRAPH, IFM_SCATTER_ND, 3 },
    { IFM_ATTENTION_SPARSE, IFM_MESSAGE_NONE, IFM_NORM_BATCH, IFM_HEAD_NODE, IFM_SCATTER_ELEMENTS, 0 },
    { IFM_ATTENTION_SPARSE, IFM_MESSAGE_GIN, IFM_NORM_LAYER, IFM_HEAD_GRAPH, IFM_SCATTER_ND, 2 },
    { IFM_ATTENTION_SPARSE, IFM_MESSAGE_GCN, IFM_NORM_BATCH, IFM_HEAD_NODE, IFM_SCATTER_MIXED, 2 },
    { IFM_ATTENTION_SPARSE, IFM_MESSAGE_SAGE, IFM_NORM_LAYER, IFM_HEAD_GRAPH, IFM_SCATTER_ELEMENTS, 2 },
};

static IfmGraph *graph_of(const Kind *kind)
{
    g_autoptr(GError) error = NULL;
    if (kind->n_graphs > 0)
        return peptides(kind->n_graphs);
    IfmGraph *graph = ifm_graph_synthetic(60, 5, 9, 3, &error);
    g_assert_no_error(error);
    return graph;
}

static IfmTransformer small(const IfmGraph *graph)
{
    IfmTransformer transformer = IFM_TRANSFORMER_INIT;
    transformer.sizes.hidden_dim = 32;
    transformer.sizes.num_layers = 2;
    transformer.sizes.ffn_dim = 48;
    transformer.sizes.pe_dim = 8;
    transformer.sizes.pe = IFM_ENCODING_LAPLACIAN;
    ifm_transformer_for_graph(&transformer, graph);
    return transformer;
}

static gboolean add_kind(GPtrArray *folders, const Kind *kind, const char *device)
{
    g_autoptr(GError) error = NULL;
    IfmGradientOptions options = { .loss = IFM_LOSS_MSE };
    Run run;
    if (!run_open(&run, device))
        return FALSE;
    g_autoptr(IfmGraph) graph = graph_of(kind);
    IfmTransformer transformer = small(graph);
    transformer.attention = kind->attention;
    transformer.sizes.mpnn = kind->mpnn;
    transformer.norm = kind->norm;
    transformer.head = kind->head;
    transformer.scatter = kind->scatter;
    transformer.training = TRUE;
    transformer.dropout = 0.2;
    g_autoptr(IfmModel) model = transformer_build(&transformer);
    g_autoptr(IfmModel) backward = ifm_gradient_backward(model, &options, &error);
    g_assert_no_error(error);
    run_compile(&run, backward, IFM_DTYPE_F32, NULL, 0);
    transformer_set_inputs(&run, &transformer, graph);
    run_once(&run);
    g_autofree char *settings =
        g_strdup_printf("model=transformer layers=2 heads=4 training=1 attention=%s mpnn=%s norm=%s head=%s",
                        ifm_attention_words()[kind->attention], ifm_message_passing_words()[kind->mpnn],
                        ifm_norm_words()[kind->norm], ifm_head_words()[kind->head]);
    torch_add(folders, &run, settings);
    run_close(&run);
    return TRUE;
}

static void test_torch(gconstpointer device)
{
    GPtrArray *folders = g_ptr_array_new_with_free_func(g_free);
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (!add_kind(folders, &kinds[i], device))
        {
            g_ptr_array_unref(folders);
            return;
        }
    torch_check(folders);
}

/* --- training -----------------------------------------------------------------------------------------------------------
 */

#define N_MOLECULES 6
#define N_STEPS 80

/* set_target: How many rings each molecule has for its size, as far from the mean as is usual: a connected graph has as
 * many as it has edges (an undirected one is two here) more than a tree. */
static void set_target(IfmTensor *target, const IfmGraph *graph)
{
    double rings[N_MOLECULES], mean = 0, square = 0;
    g_assert_cmpint(ifm_tensor_n_elements(target), ==, N_MOLECULES);
    for (gint64 i = 0; i < N_MOLECULES; i++)
    {
        g_autoptr(IfmGraph) one = ifm_graph_part(graph, i);
        rings[i] = (double)(one->n_edges / 2 - one->n_nodes + 1) / (double)one->n_nodes;
        mean += rings[i] / N_MOLECULES;
    }
    for (int i = 0; i < N_MOLECULES; i++)
        square += pow(rings[i] - mean, 2) / N_MOLECULES;
    g_assert_cmpfloat(square, >, 0);
    for (int i = 0; i < N_MOLECULES; i++)
        set_double(target, i, (rings[i] - mean) / sqrt(square));
}

static void train_on_molecules(const char *device, IfmAttention attention)
{
    IfmTrainingOptions options = IFM_TRAINING_OPTIONS_INIT;
    Training training;
    g_autoptr(IfmGraph) graph = peptides(N_MOLECULES);
    IfmTransformer transformer = small(graph);
    transformer.attention = attention;
    transformer.sizes.mpnn = IFM_MESSAGE_GIN;
    transformer.training = TRUE;
    transformer.dropout = 0.1;
    options.optimiser = IFM_OPTIMISER_ADAM;
    options.learning_rate = 0.005;
    g_autoptr(IfmModel) model = transformer_build(&transformer);
    if (!training_open(&training, device, model, &options))
        return;
    transformer_set_inputs(&training.run, &transformer, graph);
    set_target(run_input(&training.run, "target"), graph);
    double first = training_step(&training), last = 0; /* the mean of the last ten: masks stay, Adam wavers */
    for (int step = 1; step < N_STEPS; step++)
    {
        double loss = training_step(&training);
        last += step >= N_STEPS - 10 ? loss / 10 : 0;
    }
    g_test_message("loss %.4f to %.4f", first, last);
    g_assert_cmpfloat(last, <, 0.3 * first);
    g_assert_cmpfloat(last, <, 0.5); /* half the variance: more is learnt than the mean */
    training_close(&training);
}

static void test_dense(gconstpointer device)
{
    train_on_molecules(device, IFM_ATTENTION_DENSE);
}

static void test_sparse(gconstpointer device)
{
    train_on_molecules(device, IFM_ATTENTION_SPARSE);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(devices); i++)
    {
        g_autofree char *torch = g_strdup_printf("/gradient/transformer/torch/%s", devices[i]);
        g_autofree char *dense = g_strdup_printf("/gradient/transformer/peptides/dense/%s", devices[i]);
        g_autofree char *sparse = g_strdup_printf("/gradient/transformer/peptides/sparse/%s", devices[i]);
        g_test_add_data_func(torch, devices[i], test_torch);
        g_test_add_data_func(dense, devices[i], test_dense);
        g_test_add_data_func(sparse, devices[i], test_sparse);
    }
    return g_test_run();
}
