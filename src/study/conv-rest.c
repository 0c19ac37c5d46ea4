/* What of a network is no convolution: other nodes, and what runs between them. */
#include <math.h>
#include <string.h>

#include <base/base.h>
#include <store/store.h>

#include "conv-learn.h"

enum
{
    TERM_OUTPUTS,  /* bytes of the outputs of convolutions: blocks are made of them, and dissolved */
    TERM_PRODUCTS, /* bytes that products read: their weights */
    TERM_OTHERS,   /* bytes that other nodes read and write */
    TERM_NODES,    /* their number, and that of convolutions */
};
G_STATIC_ASSERT(TERM_NODES + 1 == CONV_N_REST);

static void add_node(ConvNetwork *network, const char *op_type, double bytes_read, double bytes_written)
{
    const gboolean is_product = strstr(op_type, "Gemm") != NULL || strstr(op_type, "MatMul") != NULL;
    network->terms[TERM_NODES]++;
    network->terms[is_product ? TERM_PRODUCTS : TERM_OTHERS] += bytes_read + (is_product ? 0 : bytes_written);
}

static void add_convolutions(ConvNetwork *network, const GPtrArray *layers)
{
    network->terms[TERM_NODES] += (double)layers->len;
    for (guint i = 0; i < layers->len; i++)
        if (conv_is_known(layers->pdata[i]))
            network->terms[TERM_OUTPUTS] += conv_output_bytes(layers->pdata[i]);
}

/* --- of a model ---------------------------------------------------------------------------------------------------------
 */

/* Joined to the convolution before them, or of no work at all. */
static gboolean is_joined(const IfmModel *model, const IfmNode *node)
{
    static const char *const of_none[] = { "Constant", "Dropout", "Flatten", "Identity", "Reshape", "Shape", NULL },
                             *const after_any[] = { "Add",  "Clip",    "HardSigmoid", "LeakyRelu",
                                                    "Relu", "Sigmoid", "Tanh",        NULL };
    if (g_strv_contains(of_none, node->op_type) || g_strv_contains(after_any, node->op_type))
        return TRUE;
    if (!g_str_equal(node->op_type, "BatchNormalization"))
        return FALSE;
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *before = ifm_model_node(model, i);
        if (before->n_outputs > 0 && g_str_equal(before->outputs[0], node->inputs[0]))
            return g_str_equal(before->op_type, "Conv");
    }
    return FALSE;
}

void conv_network_of_model(ConvNetwork *network, const IfmModel *model, const IfmAnalysis *analysis,
                           const GPtrArray *layers)
{
    *network = (ConvNetwork){ 0 };
    add_convolutions(network, layers);
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *node = ifm_model_node(model, i);
        const IfmNodeCost *cost = ifm_analysis_node_cost(analysis, i);
        if (!g_str_equal(node->op_type, "Conv") && !is_joined(model, node))
            add_node(network, node->op_type, (double)cost->bytes_read, (double)cost->bytes_written);
    }
}

/* --- of a point ---------------------------------------------------------------------------------------------------------
 */

/* Of the runtime's own making: they come with the convolutions. */
static gboolean is_reorder(const IfmNodeRow *node)
{
    return g_str_has_prefix(node->op_type, "Reorder");
}

/* What the runtime ran beside the convolutions, and what of it is known. */
void conv_network_of_point(ConvNetwork *network, const IfmConvPoint *point)
{
    const IfmMeasurement *measurement = point->point->measurement;
    const json_t *costs = measurement != NULL ? json_object_get(measurement->breakdown, "costs") : NULL;
    *network = (ConvNetwork){ 0 };
    add_convolutions(network, point->layers);
    for (gsize i = 0; measurement != NULL && i < json_array_size(costs) && i < measurement->nodes->len; i++)
    {
        const IfmNodeRow *node = measurement->nodes->pdata[i];
        const json_t *cost = json_array_get(costs, i);
        if (json_is_object(cost) && !is_reorder(node))
            add_node(network, node->op_type, json_number_value(json_object_get(cost, "bytes_read")),
                     json_number_value(json_object_get(cost, "bytes_written")));
    }
}

void conv_rest_learn(ConvRest *rest, const ConvLearning *self, const char *without)
{
    g_autoptr(GArray) terms = g_array_new(FALSE, FALSE, sizeof(double)), times = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < self->findings->points->len; i++)
    {
        const IfmConvPoint *point = self->findings->points->pdata[i];
        const double rest_ns = point->point->median_ns - point->layers_ns;
        ConvNetwork network;
        if (!conv_is_used(self, point, without) || !(rest_ns > 0))
            continue;
        conv_network_of_point(&network, point);
        g_array_append_vals(terms, network.terms, CONV_N_REST);
        g_array_append_val(times, rest_ns);
    }
    *rest = (ConvRest){ 0 };
    if (times->len > 0)
        ifm_fit_line((const double *)(const void *)terms->data, (const double *)(const void *)times->data, times->len,
                     CONV_N_REST, rest->weights);
}

double conv_rest_ns(const ConvRest *rest, const ConvNetwork *network)
{
    double sum_ns = 0;
    for (gsize i = 0; i < CONV_N_REST; i++)
        sum_ns += rest->weights[i] * network->terms[i];
    return sum_ns;
}
