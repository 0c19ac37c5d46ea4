/* Which precision a model is written in. */
#include "rewrite.h"

#include <string.h>

/* is_low_precision: Whether an operator is one of integer or quantised arithmetic, by its name: each runtime has its own.
 */
gboolean ifm_is_low_precision(const char *op_type)
{
    static const char *const parts[] = { "Quantize", "quantize", "QLinear",  "Integer", "NBits",
                                         "Bnb4",     "Fp8",      "QOrdered", NULL };
    for (gsize i = 0; parts[i] != NULL; i++)
        if (strstr(op_type, parts[i]) != NULL)
            return TRUE;
    return op_type[0] == 'Q' && g_ascii_isupper(op_type[1]); /* QGemm, QAttention, QMoE */
}

static gboolean is_half(int dtype)
{
    return dtype == IFM_DTYPE_F16 || dtype == IFM_DTYPE_BF16;
}

gboolean ifm_names_half(const Onnx__AttributeProto *attribute)
{
    static const char *const names[] = {
        "dtype", "output_datatype", "output_dtype", "precision", "softmax_precision", "stash_type", "to", NULL
    };
    return attribute->has_i && is_half((int)attribute->i) && attribute->name != NULL &&
           g_strv_contains(names, attribute->name);
}

static void see_dtype(IfmModelPrecision *precision, int dtype)
{
    precision->roundoff = MAX(precision->roundoff, dtype == IFM_DTYPE_BF16 ? 0x1p-8 : dtype == IFM_DTYPE_F16 ? 0x1p-11 : 0);
    precision->is_low = precision->is_low || is_half(dtype);
}

/* is_quantiser: Whether it rounds activations to integers: not where weights alone are quantised. */
static gboolean is_quantiser(const char *op_type)
{
    return g_str_equal(op_type, "QuantizeLinear") || g_str_has_prefix(op_type, "DynamicQuantize") ||
           (op_type[0] == 'Q' && g_ascii_isupper(op_type[1]));
}

static void see_node(IfmModelPrecision *precision, const Onnx__NodeProto *node);

static void see_graph(IfmModelPrecision *precision, const Onnx__GraphProto *graph)
{
    for (gsize i = 0; i < graph->n_input; i++)
        see_dtype(precision, ifm_onnx_elem_type(graph->input[i]));
    for (gsize i = 0; i < graph->n_output; i++)
        see_dtype(precision, ifm_onnx_elem_type(graph->output[i]));
    for (gsize i = 0; i < graph->n_initializer; i++)
        see_dtype(precision, graph->initializer[i]->data_type);
    for (gsize i = 0; i < graph->n_node; i++)
        see_node(precision, graph->node[i]);
}

static void see_node(IfmModelPrecision *precision, const Onnx__NodeProto *node)
{
    const Onnx__GraphProto *body;
    precision->quantises = precision->quantises || is_quantiser(node->op_type);
    precision->is_low = precision->is_low || ifm_is_low_precision(node->op_type);
    for (gsize i = 0; i < node->n_attribute; i++)
    {
        if (node->attribute[i]->t != NULL)
            see_dtype(precision, node->attribute[i]->t->data_type);
        if (ifm_names_half(node->attribute[i]))
            see_dtype(precision, (int)node->attribute[i]->i);
    }
    for (gsize i = 0; (body = ifm_onnx_body(node, i)) != NULL; i++)
        see_graph(precision, body);
}

IfmModelPrecision ifm_model_precision(const IfmModel *model)
{
    IfmModelPrecision precision = { .roundoff = 0x1p-24 };
    see_graph(&precision, model->proto->graph);
    for (gsize i = 0; i < model->proto->n_functions; i++)
        for (gsize k = 0; k < model->proto->functions[i]->n_node; k++)
            if (model->proto->functions[i]->node[k]->op_type != NULL)
                see_node(&precision, model->proto->functions[i]->node[k]);
    return precision;
}
