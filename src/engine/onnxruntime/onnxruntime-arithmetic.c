/* What a node computes in: products of integers by the types of both factors, all else by its lowest precision. */
#include <string.h>

#include "onnxruntime-arithmetic.h"

/* Product: an operator that multiplies integers. @a, @b: which of its inputs the factors are; -1: it quantises a float
 * input to u8 by itself. */
typedef struct
{
    const char *op_type;
    int a, b;
} Product;

static const Product products[] = {
    { "ConvInteger", 0, 1 },   { "DynamicQuantizeLSTM", -1, 1 }, { "DynamicQuantizeMatMul", -1, 1 },
    { "MatMulInteger", 0, 1 }, { "MatMulIntegerToFloat", 0, 1 }, { "QAttention", 0, 1 },
    { "QGemm", 0, 3 },         { "QLinearConv", 0, 3 },          { "QLinearMatMul", 0, 3 },
};

static const Product *find_product(const char *op_type)
{
    for (gsize i = 0; i < G_N_ELEMENTS(products); i++)
        if (g_str_equal(products[i].op_type, op_type))
            return &products[i];
    return NULL;
}

/* "u8", "s8", as the names of kernels have it. */
static const char *factor_name(IfmDtype dtype)
{
    return dtype == IFM_DTYPE_I8 ? "s8" : dtype == IFM_DTYPE_I16 ? "s16" : ifm_dtype_name(dtype);
}

static gboolean is_integer(IfmDtype dtype)
{
    return dtype != IFM_DTYPE_UNDEFINED && dtype != IFM_DTYPE_BOOL && dtype != IFM_DTYPE_STRING &&
           !ifm_dtype_is_float(dtype);
}

static IfmDtype first_integer(const IfmDtype *types, gsize n)
{
    gsize i = 0;
    while (i < n && !is_integer(types[i]))
        i++;
    return i < n ? types[i] : IFM_DTYPE_UNDEFINED;
}

static IfmDtype lowest_float(const IfmDtype *types, gsize n, IfmDtype lowest)
{
    for (gsize i = 0; i < n; i++)
        lowest = ifm_dtype_lower(lowest, types[i]);
    return lowest;
}

static IfmDtype tensor_dtype(const OrtNodeTypes *types)
{
    const IfmDtype lowest =
        lowest_float(types->outputs, types->n_outputs, lowest_float(types->inputs, types->n_inputs, IFM_DTYPE_UNDEFINED));
    return lowest != IFM_DTYPE_UNDEFINED ? lowest : types->n_outputs > 0 ? types->outputs[0] : IFM_DTYPE_UNDEFINED;
}

/* A runtime drops a weight that it packed, so the second factor is behind the second float, the scale of the first: */
static IfmDtype zero_point_of_second(const OrtNodeTypes *types)
{
    int n_floats = 0;
    for (gsize i = 0; i < types->n_inputs; i++)
    {
        if (n_floats == 2 && is_integer(types->inputs[i]))
            return types->inputs[i];
        n_floats += ifm_dtype_is_float(types->inputs[i]);
    }
    return IFM_DTYPE_UNDEFINED;
}

char *ifm_ort_arithmetic(const char *op_type, const OrtNodeTypes *types, IfmDtype *dtype)
{
    const Product *product = find_product(op_type);
    *dtype = tensor_dtype(types);
    if (product != NULL)
    {
        const IfmDtype a = product->a < 0 ? IFM_DTYPE_U8 : first_integer(types->inputs, types->n_inputs);
        const IfmDtype b =
            g_str_has_prefix(op_type, "QLinear") || product->b == 3 ? zero_point_of_second(types) : IFM_DTYPE_UNDEFINED;
        *dtype = a;
        return b != IFM_DTYPE_UNDEFINED ? g_strconcat(factor_name(a), factor_name(b), NULL) : g_strdup(factor_name(a));
    }
    if (g_str_has_prefix(op_type, "QLinear")) /* its floats are scales */
        *dtype = first_integer(types->inputs, types->n_inputs);
    if (*dtype == IFM_DTYPE_UNDEFINED || ifm_operator_family(op_type) == IFM_FAMILY_MOVEMENT)
        return g_strdup("");
    return g_strdup(factor_name(*dtype));
}

/* --- by the graph that ran: of packed weights the profile says nothing ------------------------------------------------ */

gboolean ifm_ort_is_quantised(const IfmModel *model)
{
    static const char *const parts[] = { "uant", "QLinear", "Integer", "NBits", "Bnb4", "QGemm", "QAttention" };
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
        for (gsize k = 0; k < G_N_ELEMENTS(parts); k++)
            if (strstr(ifm_model_node(model, i)->op_type, parts[k]) != NULL)
                return TRUE;
    return FALSE;
}

/* Returns: (transfer full) NULL where the graph says no more than the profile. */
static char *by_graph(const IfmModel *graph, const IfmNode *node, const IfmNodeConfig *config)
{
    const Product *product = find_product(node->op_type);
    if (g_str_equal(node->op_type, "MatMulNBits") || g_str_equal(node->op_type, "GatherBlockQuantized"))
    {
        const gint64 level = ifm_node_int(node, "accuracy_level", 0);
        g_autofree char *said =
            level != 0 ? g_strdup_printf(" (accuracy level %" G_GINT64_FORMAT ")", level) : g_strdup("");
        return g_strdup_printf("%s, int%" G_GINT64_FORMAT " weights%s", ifm_dtype_name(config->dtype),
                               ifm_node_int(node, "bits", 4), said);
    }
    const IfmDtype b = product != NULL && (gsize)product->b < node->n_inputs
                           ? ifm_model_initializer_dtype(graph, node->inputs[product->b])
                           : IFM_DTYPE_UNDEFINED;
    return b != IFM_DTYPE_UNDEFINED ? g_strconcat(factor_name(config->dtype), factor_name(b), NULL) : NULL;
}

/* A runtime numbers the nameless nodes of a graph by a count of its own: they are known by their operator, where all of
 * that operator compute alike. */
static char *by_operator(const IfmModel *graph, const IfmNodeConfig *config)
{
    g_autofree char *same = NULL;
    for (gsize i = 0; i < ifm_model_n_nodes(graph); i++)
    {
        const IfmNode *node = ifm_model_node(graph, i);
        if (!g_str_equal(node->op_type, config->op_type))
            continue;
        g_autofree char *one = by_graph(graph, node, config);
        if (one == NULL || (same != NULL && !g_str_equal(one, same)))
            return NULL;
        if (same == NULL)
            same = g_steal_pointer(&one);
    }
    return g_steal_pointer(&same);
}

void ifm_ort_arithmetic_by_graph(const IfmModel *graph, IfmEffectiveConfig *effective_config)
{
    g_autoptr(GHashTable) nodes = g_hash_table_new(g_str_hash, g_str_equal);
    for (gsize i = 0; i < ifm_model_n_nodes(graph); i++)
        g_hash_table_insert(nodes, (gpointer)ifm_model_node(graph, i)->name, (gpointer)ifm_model_node(graph, i));
    for (guint i = 0; i < effective_config->nodes->len; i++)
    {
        IfmNodeConfig *config = effective_config->nodes->pdata[i];
        const IfmNode *node = g_hash_table_lookup(nodes, config->name);
        char *known = node != NULL && g_str_equal(node->op_type, config->op_type) ? by_graph(graph, node, config)
                                                                                  : by_operator(graph, config);
        if (known == NULL)
            continue;
        g_free(config->arithmetic);
        config->arithmetic = known;
    }
}
