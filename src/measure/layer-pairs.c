#include "layer-pairs.h"

typedef struct
{
    const IfmModel *a, *b;
    const IfmAnalysis *analysis_a, *analysis_b;
    GHashTable *nodes_of_b; /* name -> index + 1 */
    GArray *pairs;
} Matching;

static const IfmPort *input_of(const IfmModel *model, const char *tensor)
{
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
        if (g_str_equal(ifm_model_input(model, i)->name, tensor))
            return ifm_model_input(model, i);
    return NULL;
}

static const IfmNode *producer_of(const IfmModel *model, const char *tensor)
{
    const gssize at = ifm_model_producer(model, tensor);
    return at >= 0 ? ifm_model_node(model, (gsize)at) : NULL;
}

/* The first node of an operator that reads the tensor as its first input. */
static const IfmNode *reader_of(const IfmModel *model, const char *tensor, const char *op_type)
{
    const GArray *readers = ifm_model_consumers(model, tensor);
    for (guint i = 0; readers != NULL && i < readers->len; i++)
    {
        const IfmNode *node = ifm_model_node(model, g_array_index(readers, gsize, i));
        if (g_str_equal(node->op_type, op_type) && node->n_outputs > 0 && g_str_equal(node->inputs[0], tensor))
            return node;
    }
    return NULL;
}

static gboolean is_op(const IfmNode *node, const char *op_type)
{
    return node != NULL && g_str_equal(node->op_type, op_type) && node->n_inputs > 0 && node->n_outputs > 0;
}

/* What of B stands for the tensor: as it goes on, quantised where it is, and as it was before. */
static void follow(const IfmModel *b, const char *tensor, IfmLayerPair *pair)
{
    const IfmNode *quantise = reader_of(b, tensor, "QuantizeLinear"), *made = producer_of(b, tensor);
    const IfmNode *widen = quantise != NULL ? reader_of(b, quantise->outputs[0], "DequantizeLinear") : NULL;
    const IfmNode *before = is_op(made, "DequantizeLinear") ? producer_of(b, made->inputs[0]) : NULL;
    pair->b = widen != NULL ? widen->outputs[0] : tensor;
    pair->b_before = widen != NULL ? tensor : is_op(before, "QuantizeLinear") ? before->inputs[0] : NULL;
}

static gboolean has_tensor(const IfmModel *model, const char *tensor)
{
    return ifm_model_producer(model, tensor) >= 0 || input_of(model, tensor) != NULL;
}

static const char *find_in_b(const Matching *matching, const char *tensor, const char *node)
{
    const gsize named = *node != '\0' ? GPOINTER_TO_SIZE(g_hash_table_lookup(matching->nodes_of_b, node)) : 0;
    if (has_tensor(matching->b, tensor))
        return tensor;
    const IfmNode *same = named > 0 && named != G_MAXSIZE ? ifm_model_node(matching->b, named - 1) : NULL;
    return same != NULL && same->n_outputs > 0 ? same->outputs[0] : NULL;
}

/* @bytes: added to, where its shape is known. Returns: UNDEFINED where the type is not known. */
static IfmDtype dtype_of(const IfmModel *model, const IfmAnalysis *analysis, const char *tensor, gsize *bytes)
{
    IfmDtype dtype = IFM_DTYPE_UNDEFINED;
    gint64 shape[IFM_MAX_RANK];
    gsize size;
    int rank;
    const IfmPort *input = input_of(model, tensor);
    if (analysis != NULL && ifm_analysis_shape(analysis, tensor, &dtype, &rank, shape) &&
        ifm_shape_size_bytes(dtype, rank, shape, &size, NULL))
        *bytes += size;
    const IfmNode *made = producer_of(model, tensor);
    if (dtype == IFM_DTYPE_UNDEFINED && is_op(made, "DequantizeLinear") && made->n_inputs > 1)
        dtype = ifm_model_initializer_dtype(model, made->inputs[1]);
    return dtype == IFM_DTYPE_UNDEFINED && input != NULL ? input->dtype : dtype;
}

/* Returns: FALSE for what is not of floats in A. */
static gboolean match(Matching *matching, const char *layer, const char *op_type, const char *tensor, gssize node)
{
    IfmLayerPair pair = { .layer = layer, .op_type = op_type, .a = tensor, .node = node };
    pair.a_dtype = dtype_of(matching->a, matching->analysis_a, tensor, &pair.bytes);
    if (!ifm_dtype_is_float(pair.a_dtype))
        return FALSE;
    const char *found = find_in_b(matching, tensor, node >= 0 ? ifm_model_node(matching->a, (gsize)node)->name : "");
    if (found == NULL)
        return TRUE;
    follow(matching->b, found, &pair);
    pair.b_dtype = dtype_of(matching->b, matching->analysis_b, pair.b, &pair.bytes);
    if (pair.b_before != NULL)
        dtype_of(matching->b, matching->analysis_b, pair.b_before, &pair.bytes);
    if (ifm_dtype_is_float(pair.b_dtype) && (node >= 0 || pair.b_before != NULL))
        g_array_append_val(matching->pairs, pair);
    return TRUE;
}

static GHashTable *index_nodes(const IfmModel *model)
{
    GHashTable *index = g_hash_table_new(g_str_hash, g_str_equal);
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const char *name = ifm_model_node(model, i)->name;
        const gboolean twice = g_hash_table_contains(index, name);
        g_hash_table_insert(index, (gpointer)name, GSIZE_TO_POINTER(twice ? G_MAXSIZE : i + 1));
    }
    return index;
}

GArray *ifm_layer_pairs(const IfmModel *a, const IfmAnalysis *analysis_a, const IfmModel *b, const IfmAnalysis *analysis_b,
                        gsize *n_layers)
{
    g_autoptr(GHashTable) nodes_of_b = index_nodes(b);
    Matching matching = { a, b, analysis_a, analysis_b, nodes_of_b, g_array_new(FALSE, FALSE, sizeof(IfmLayerPair)) };
    *n_layers = 0;
    for (gsize i = 0; i < ifm_model_n_inputs(a); i++)
        match(&matching, ifm_model_input(a, i)->name, "input", ifm_model_input(a, i)->name, -1);
    for (gsize i = 0; i < ifm_model_n_nodes(a); i++)
    {
        const IfmNode *node = ifm_model_node(a, i);
        const char *tensor = node->n_outputs > 0 ? node->outputs[0] : "";
        if (*tensor != '\0' && !g_str_equal(node->op_type, "Constant"))
            *n_layers += match(&matching, *node->name != '\0' ? node->name : tensor, node->op_type, tensor, (gssize)i);
    }
    return matching.pairs;
}
