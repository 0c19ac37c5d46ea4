/* Branches of If whose condition is known, put in where the node stands. */
#include <stdlib.h>
#include <string.h>

#include "onnx-private.h"

/* IfmOnnxRenaming.names: what a branch that is put in defines -> its name in the graph */

static void define(const char *name, gpointer user)
{
    const IfmOnnxRenaming *branch = user;
    if (name != NULL && *name != '\0' && !g_hash_table_contains(branch->names, name))
        g_hash_table_insert(branch->names, g_strdup(name), g_strconcat(branch->prefix, name, NULL));
}

static void rename_text(const IfmOnnxRenaming *branch, char **name)
{
    const char *known = *name != NULL ? g_hash_table_lookup(branch->names, *name) : NULL;
    if (known != NULL)
        ifm_onnx_set_text(name, g_strdup(known));
}

/* Names that graphs within define are told apart too: they may be those of the other branch. */
static void define_all(Onnx__GraphProto *graph, gpointer branch)
{
    ifm_onnx_each_made(graph, define, branch);
}

/* --- one node -----------------------------------------------------------------------------------------------------------
 */

static Onnx__NodeProto *new_identity(const char *from, const char *to)
{
    Onnx__NodeProto *node = ifm_onnx_new_node("Identity", g_strdup(to));
    ifm_onnx_append(&node->input, &node->n_input, g_strdup(from));
    ifm_onnx_append(&node->output, &node->n_output, g_strdup(to));
    return node;
}

static gboolean is_made_in(const Onnx__GraphProto *graph, const char *name)
{
    for (gsize i = 0; i < graph->n_node; i++)
        for (gsize k = 0; k < graph->node[i]->n_output; k++)
            if (g_str_equal(graph->node[i]->output[k], name))
                return TRUE;
    return FALSE;
}

/* move_initializers: The weights of the branch become the graph's. */
static void move_initializers(Onnx__GraphProto *from, Onnx__GraphProto *to)
{
    for (gsize i = 0; i < from->n_initializer; i++)
        ifm_onnx_append(&to->initializer, &to->n_initializer, from->initializer[i]);
    for (gsize i = 0; i < from->n_sparse_initializer; i++)
        ifm_onnx_append(&to->sparse_initializer, &to->n_sparse_initializer, from->sparse_initializer[i]);
    from->n_initializer = from->n_sparse_initializer = 0;
}

/* put_in: The nodes of a branch, which is left empty, behind those of @out. */
static void put_in(Onnx__GraphProto *graph, const Onnx__NodeProto *node, Onnx__GraphProto *body, guint number,
                   GPtrArray *out)
{
    g_autofree char *prefix = g_strdup_printf("%s#%u/", node->output[0], number);
    g_autoptr(GHashTable) names = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_autoptr(GPtrArray) copies = g_ptr_array_new();
    const IfmOnnxRenaming branch = { rename_text, names, prefix };
    for (gsize i = 0; i < MIN(node->n_output, body->n_output); i++)
    {
        const char *inner = body->output[i]->name, *output = node->output[i];
        if (is_made_in(body, inner) && !g_hash_table_contains(names, inner) && *output != '\0')
            g_hash_table_insert(names, g_strdup(inner), g_strdup(output));
    }
    ifm_onnx_each_graph(body, define_all, (gpointer)&branch);
    for (gsize i = 0; i < MIN(node->n_output, body->n_output); i++)
    {
        const char *inner = body->output[i]->name, *known = g_hash_table_lookup(names, inner);
        const char *from = known != NULL ? known : inner;
        if (*node->output[i] != '\0' && !g_str_equal(from, node->output[i]))
            g_ptr_array_add(copies, new_identity(from, node->output[i]));
    }
    ifm_onnx_rename_graph(&branch, body);
    for (gsize i = 0; i < body->n_node; i++)
        g_ptr_array_add(out, body->node[i]);
    for (guint i = 0; i < copies->len; i++)
        g_ptr_array_add(out, copies->pdata[i]);
    body->n_node = 0;
    move_initializers(body, graph);
}

/* branch_of: NULL: it is not known which. @taken: first output -> GINT_TO_POINTER(1 + condition) */
static Onnx__GraphProto *branch_of(const Onnx__NodeProto *node, GHashTable *taken)
{
    const int which = node->n_output > 0 ? GPOINTER_TO_INT(g_hash_table_lookup(taken, node->output[0])) : 0;
    for (gsize i = 0; i < node->n_attribute && which > 0; i++)
        if (g_strcmp0(node->attribute[i]->name, which == 2 ? "then_branch" : "else_branch") == 0)
            return node->attribute[i]->g;
    return NULL;
}

static void expand(Onnx__GraphProto *graph, GHashTable *taken)
{
    g_autoptr(GPtrArray) out = g_ptr_array_new();
    for (gsize i = 0; i < graph->n_node; i++)
    {
        Onnx__NodeProto *node = graph->node[i];
        Onnx__GraphProto *body = branch_of(node, taken);
        if (body == NULL)
        {
            g_ptr_array_add(out, node);
            continue;
        }
        put_in(graph, node, body, (guint)i, out);
        onnx__node_proto__free_unpacked(node, NULL);
    }
    ifm_onnx_set_nodes(graph, out);
}

IfmModel *ifm_model_inline_branches(const IfmModel *model, GHashTable *taken, GError **error)
{
    Onnx__ModelProto *proto = ifm_onnx_unpack(model);
    expand(proto->graph, taken);
    IfmModel *made = ifm_onnx_repack(model, proto, error);
    onnx__model_proto__free_unpacked(proto, NULL);
    if (made == NULL)
        ifm_onnx_tidy_error(error, NULL);
    return made;
}
