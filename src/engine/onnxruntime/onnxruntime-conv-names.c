/*
 * Which convolution of a model each node of its optimised graph computes. The runtime names a node in blocked channels for
 * the tensor that it makes, or for the node that makes it: "NAME_nchwc". What it joined to a convolution lies between that
 * name and the convolution. Where the runtime made the name up, convolutions of like windows and groups are taken in their
 * order.
 */
#include <string.h>

#include "onnxruntime-conv.h"

#define BLOCKED "_nchwc"
#define NORMALISATION                                                                                                      \
    "_bn"            /* behind the tensor of a BatchNormalization that became a convolution of one weight a channel */
#define MAX_JOINED 6 /* nodes behind a convolution that the runtime joins to it, with those that make their constants */

gboolean ifm_ort_is_blocked_conv(const IfmNode *node)
{
    return g_str_equal(node->domain, "com.microsoft.nchwc") && g_str_equal(node->op_type, "Conv");
}

gboolean ifm_ort_is_integer_conv(const IfmNode *node)
{
    return g_str_equal(node->op_type, "QLinearConv") || g_str_equal(node->op_type, "ConvInteger");
}

gboolean ifm_ort_is_conv(const IfmNode *node)
{
    const gboolean is_standard = *node->domain == '\0' || g_str_equal(node->domain, "ai.onnx"),
                   is_microsoft = g_str_equal(node->domain, "com.microsoft");
    return ifm_ort_is_blocked_conv(node) || (is_standard && g_str_equal(node->op_type, "Conv")) ||
           (is_microsoft && g_str_equal(node->op_type, "FusedConv")) ||
           ((is_standard || is_microsoft) && ifm_ort_is_integer_conv(node));
}

const char *ifm_ort_conv_graph_name(const IfmNode *node)
{
    return *node->name != '\0' ? node->name : node->outputs[0];
}

/* Naming: @nodes: of the model, by ifm_model_node_names()    @claimed: IfmNode* of the model that a node of the graph
 * computes
 * @found: IfmNode* of the graph -> that of the model; NULL: a BatchNormalization */
typedef struct
{
    const IfmModel *model;
    GHashTable *nodes, *claimed, *found;
} Naming;

static const IfmNode *producer_of(const IfmModel *model, const char *tensor)
{
    const gssize at = *tensor != '\0' ? ifm_model_producer(model, tensor) : -1;
    return at >= 0 ? ifm_model_node(model, (gsize)at) : NULL;
}

static const IfmNode *node_of_name(const Naming *self, const char *name)
{
    const IfmNode *node = producer_of(self->model, name);
    const gsize at = node == NULL ? GPOINTER_TO_SIZE(g_hash_table_lookup(self->nodes, name)) : 0;
    return at > 0 && at != G_MAXSIZE ? ifm_model_node(self->model, at - 1) : node;
}

/* The node of the model that makes what @node makes; NULL: the names leave it open. @is_normalisation: (out) */
static const IfmNode *end_of(const Naming *self, const IfmNode *node, gboolean *is_normalisation)
{
    const IfmNode *end = producer_of(self->model, node->outputs[0]);
    const char *suffix = g_strrstr(node->name, BLOCKED);
    g_autofree char *name = suffix != NULL ? g_strndup(node->name, (gsize)(suffix - node->name)) : NULL;
    *is_normalisation = FALSE;
    if (end != NULL || name == NULL)
        return end;
    end = node_of_name(self, name);
    if (end != NULL || !g_str_has_suffix(name, NORMALISATION))
        return end;
    name[strlen(name) - strlen(NORMALISATION)] = '\0';
    end = node_of_name(self, name);
    *is_normalisation = end != NULL && g_str_equal(end->op_type, "BatchNormalization");
    return end;
}

static gboolean same_ints(const IfmNode *a, const IfmNode *b, const char *attribute)
{
    gsize n_left = 0, n_right = 0;
    const gint64 *left = ifm_node_ints(a, attribute, &n_left), *right = ifm_node_ints(b, attribute, &n_right);
    gboolean same = left == NULL || right == NULL || n_left == n_right;
    for (gsize i = 0; same && i < MAX(n_left, n_right); i++)
        same = (left != NULL ? left[i] : 1) == (right != NULL ? right[i] : 1);
    return same;
}

/* The attribute may be left out where the weights tell it. */
static gboolean same_kernel(const IfmNode *a, const IfmNode *b)
{
    gsize n_left = 0, n_right = 0;
    return ifm_node_ints(a, "kernel_shape", &n_left) == NULL || ifm_node_ints(b, "kernel_shape", &n_right) == NULL ||
           same_ints(a, b, "kernel_shape");
}

static gboolean agree(const Naming *self, const IfmNode *node, const IfmNode *conv)
{
    return ifm_ort_is_conv(conv) && !g_hash_table_contains(self->claimed, conv) &&
           ifm_node_int(node, "group", 1) == ifm_node_int(conv, "group", 1) && same_ints(node, conv, "strides") &&
           same_ints(node, conv, "dilations") && same_kernel(node, conv);
}

static void claim(const Naming *self, const IfmNode *node, const IfmNode *conv)
{
    g_hash_table_add(self->claimed, (gpointer)conv);
    g_hash_table_insert(self->found, (gpointer)node, (gpointer)conv);
}

/* The convolution at @end or the nearest before it that agrees. */
static const IfmNode *conv_before(const Naming *self, const IfmNode *node, const IfmNode *end)
{
    g_autoptr(GPtrArray) level = g_ptr_array_new();
    g_ptr_array_add(level, (gpointer)end);
    for (int step = 0; step <= MAX_JOINED && level->len > 0; step++)
    {
        g_autoptr(GPtrArray) next = g_ptr_array_new();
        for (guint i = 0; i < level->len; i++)
        {
            const IfmNode *at = level->pdata[i];
            if (agree(self, node, at))
                return at;
            for (gsize k = 0; !ifm_ort_is_conv(at) && k < at->n_inputs; k++)
            {
                const IfmNode *before = producer_of(self->model, at->inputs[k]);
                if (before != NULL && !g_ptr_array_find(next, before, NULL))
                    g_ptr_array_add(next, (gpointer)before);
            }
        }
        g_ptr_array_unref(level);
        level = g_steal_pointer(&next);
    }
    return NULL;
}

static void find_by_name(const Naming *self, const IfmNode *node)
{
    gboolean is_normalisation = FALSE;
    const IfmNode *end = end_of(self, node, &is_normalisation);
    const IfmNode *conv = end != NULL && !is_normalisation ? conv_before(self, node, end) : NULL;
    if (conv != NULL)
        claim(self, node, conv);
    else if (is_normalisation)
        g_hash_table_insert(self->found, (gpointer)node, NULL);
}

static void find_by_order(const Naming *self, const IfmNode *node)
{
    for (gsize i = 0; i < ifm_model_n_nodes(self->model); i++)
        if (agree(self, node, ifm_model_node(self->model, i)))
        {
            claim(self, node, ifm_model_node(self->model, i));
            return;
        }
}

static gsize count_convs(const IfmModel *model)
{
    gsize n = 0;
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
        n += ifm_ort_is_conv(ifm_model_node(model, i)) != FALSE;
    return n;
}

/* What the runtime calls it stays where the model's own name is one of another node of the graph. */
static const char *free_name(const IfmNode *node, const IfmNode *conv, GHashTable *taken)
{
    const char *own = conv != NULL ? ifm_ort_conv_graph_name(conv) : NULL, *given = ifm_ort_conv_graph_name(node);
    return own != NULL && !g_str_equal(own, given) && g_hash_table_add(taken, (gpointer)own) ? own : given;
}

GHashTable *ifm_ort_conv_names(const IfmModel *model, const IfmModel *optimised)
{
    const gsize n = ifm_model_n_nodes(optimised);
    g_autoptr(GHashTable) nodes = ifm_model_node_names(model), claimed = g_hash_table_new(NULL, NULL),
                          found = g_hash_table_new(NULL, NULL), taken = g_hash_table_new(g_str_hash, g_str_equal);
    const Naming self = { model, nodes, claimed, found };
    GHashTable *names = g_hash_table_new(NULL, NULL);
    for (gsize i = 0; i < n; i++)
    {
        g_hash_table_add(taken, (gpointer)ifm_ort_conv_graph_name(ifm_model_node(optimised, i)));
        if (ifm_ort_is_conv(ifm_model_node(optimised, i)))
            find_by_name(&self, ifm_model_node(optimised, i));
    }
    for (gsize i = 0; i < n; i++)
        if (ifm_ort_is_conv(ifm_model_node(optimised, i)) && !g_hash_table_contains(found, ifm_model_node(optimised, i)))
            find_by_order(&self, ifm_model_node(optimised, i));
    const gboolean all_known = g_hash_table_size(claimed) == count_convs(model);
    for (gsize i = 0; i < n; i++)
    {
        const IfmNode *node = ifm_model_node(optimised, i);
        const IfmNode *conv = g_hash_table_lookup(found, node);
        const gboolean is_open = ifm_ort_is_conv(node) && !g_hash_table_contains(found, node) && !all_known;
        if (conv != NULL || is_open)
            g_hash_table_insert(names, (gpointer)node, (gpointer)free_name(node, conv, taken));
    }
    return names;
}
