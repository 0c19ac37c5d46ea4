/* The reference model: which operators are rewritten, and what stays. */
#include <base/base.h>
#include <onnx/reference-model.h>

#include "rewrite.h"

#include <stdlib.h>
static const IfmReferenceRow rows[] = {
    { "ConvInteger", FALSE, 0x3, ifm_reference_conv_integer },
    { "DequantizeLinear", FALSE, 0x3, ifm_reference_dequantize },
    { "DynamicQuantizeLSTM", TRUE, 0xf07, ifm_reference_dynamic_lstm },
    { "DynamicQuantizeLinear", FALSE, 0x1, ifm_reference_dynamic_quantize },
    { "DynamicQuantizeMatMul", TRUE, 0x7, ifm_reference_dynamic_matmul },
    { "MatMulInteger", FALSE, 0x3, ifm_reference_matmul_integer },
    { "MatMulIntegerToFloat", TRUE, 0xf, ifm_reference_matmul_to_float },
    { "MatMulNBits", TRUE, 0x7, ifm_reference_matmul_n_bits },
    { "QAttention", TRUE, 0x1f, ifm_reference_q_attention },
    { "QGemm", TRUE, 0x3f, ifm_reference_q_gemm },
    { "QLinearAdd", TRUE, 0x5b, ifm_reference_q_binary },
    { "QLinearAveragePool", TRUE, 0xb, ifm_reference_q_unary },
    { "QLinearConcat", TRUE, 0x1f, ifm_reference_q_concat },
    { "QLinearConv", FALSE, 0xff, ifm_reference_qlinear_conv },
    { "QLinearGlobalAveragePool", TRUE, 0xb, ifm_reference_q_unary },
    { "QLinearLeakyRelu", TRUE, 0xb, ifm_reference_q_unary },
    { "QLinearMatMul", FALSE, 0xff, ifm_reference_qlinear_matmul },
    { "QLinearMul", TRUE, 0x5b, ifm_reference_q_binary },
    { "QLinearReduceMean", TRUE, 0xb, ifm_reference_q_unary },
    { "QLinearSigmoid", TRUE, 0xb, ifm_reference_q_unary },
    { "QLinearSoftmax", TRUE, 0xb, ifm_reference_q_unary },
    { "QLinearWhere", TRUE, 0x1ff, ifm_reference_q_where },
    { "QuantizeLinear", FALSE, 0x3, ifm_reference_quantize },
};

#define FUSED_DOMAIN "com.microsoft"

/* has_required: Whether the node has what the rule relies on: a file's node may have any number of inputs. */
static gboolean has_required(const IfmReferenceRow *row, const IfmNode *node)
{
    for (gsize i = 0; row->required >> i != 0; i++)
        if ((row->required >> i & 1) != 0 && ifm_rewrite_input(node, i) == NULL)
            return FALSE;
    return ifm_rewrite_output(node, 0) != NULL;
}

static IfmReferenceRule *find_rule(const IfmNode *node)
{
    const gboolean is_fused = g_str_equal(node->domain, FUSED_DOMAIN);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
        if (g_str_equal(rows[i].op_type, node->op_type) && (is_fused || (*node->domain == '\0' && !rows[i].is_fused)))
            return has_required(&rows[i], node) ? rows[i].rule : NULL;
    return NULL;
}

/* --- walking ------------------------------------------------------------------------------------------------------ */

static void rewrite_graph(IfmRewrite *rewrite, const IfmRewriteScope *outer, Onnx__GraphProto *graph, GHashTable *kept);

/* restore_packed: What stays as it is reads the packed integers themselves. */
static void restore_packed(const IfmRewrite *rewrite, Onnx__NodeProto *proto)
{
    for (gsize i = 0; i < proto->n_input; i++)
    {
        if (!g_hash_table_contains(rewrite->narrow, proto->input[i]))
            continue;
        const char *packed = g_hash_table_lookup(rewrite->stands_for, proto->input[i]);
        free(proto->input[i]);
        proto->input[i] = g_strdup(packed);
    }
}

static void rewrite_node(IfmRewriteScope *scope, Onnx__NodeProto *proto, GHashTable *kept)
{
    IfmNode node;
    Onnx__GraphProto *body;
    for (gsize i = 0; (body = ifm_onnx_body(proto, i)) != NULL; i++)
        rewrite_graph(scope->rewrite, scope, body, kept);
    ifm_onnx_node_wrap(proto, &node);
    IfmReferenceRule *const rule = find_rule(&node);
    if (rule != NULL && rule(scope, &node))
    {
        ifm_rewrite_learn(scope, proto);
        onnx__node_proto__free_unpacked(proto, NULL);
        return;
    }
    if (ifm_is_low_precision(node.op_type))
    {
        g_hash_table_add(kept, g_strdup(node.op_type));
        restore_packed(scope->rewrite, proto);
    }
    ifm_rewrite_keep(scope, proto);
}

static void rewrite_graph(IfmRewrite *rewrite, const IfmRewriteScope *outer, Onnx__GraphProto *graph, GHashTable *kept)
{
    IfmRewriteScope scope;
    ifm_rewrite_scope_init(&scope, rewrite, outer, graph);
    for (gsize i = 0; i < graph->n_node; i++)
        rewrite_node(&scope, graph->node[i], kept);
    ifm_rewrite_scope_end(&scope);
}

/* keep_functions: Those that could not be put in stay as they are: what they call is kept, too. */
static void keep_functions(const Onnx__ModelProto *proto, GHashTable *kept)
{
    for (gsize i = 0; i < proto->n_functions; i++)
        for (gsize k = 0; k < proto->functions[i]->n_node; k++)
        {
            const char *op_type = proto->functions[i]->node[k]->op_type;
            if (op_type != NULL && ifm_is_low_precision(op_type))
                g_hash_table_add(kept, g_strdup(op_type));
        }
}

static GPtrArray *sorted_names(GHashTable *set)
{
    GPtrArray *names = g_ptr_array_new_with_free_func(g_free);
    GHashTableIter iter;
    gpointer name;
    g_hash_table_iter_init(&iter, set);
    while (g_hash_table_iter_next(&iter, &name, NULL))
        g_ptr_array_add(names, g_strdup(name));
    g_ptr_array_sort(names, ifm_compare_texts);
    return names;
}

IfmModel *ifm_model_reference(IfmModel *model, GPtrArray **kept, GError **error)
{
    g_autoptr(GHashTable) set = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    if (!ifm_model_precision(model).is_low)
    {
        if (kept != NULL)
            *kept = sorted_names(set);
        return ifm_model_ref(model);
    }
    g_autoptr(IfmModel) whole = ifm_rewrite_inlined(model, error);
    g_autoptr(IfmRewrite) rewrite = whole != NULL ? ifm_rewrite_new(whole, NULL, 0, error) : NULL;
    if (rewrite == NULL)
        return NULL;
    ifm_reference_widen(rewrite);
    rewrite_graph(rewrite, NULL, rewrite->copy->proto->graph, set);
    keep_functions(rewrite->copy->proto, set);
    IfmModel *reference = rewrite->n_changes > 0 ? ifm_rewrite_finish(rewrite, error) : ifm_model_ref(model);
    if (reference != NULL && kept != NULL)
        *kept = sorted_names(set);
    return reference;
}
