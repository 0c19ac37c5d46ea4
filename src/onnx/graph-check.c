#include <string.h>

#include "onnx-private.h"

/* Scope: the names a graph defines. @made: name -> number of the node that makes it + 1, 0 for inputs and initializers. */
typedef struct Scope
{
    GHashTable *made;
    const struct Scope *outer;
} Scope;

static gboolean check_graph(const Onnx__GraphProto *graph, const Scope *outer, GHashTable *free_names, IfmGraphOrder *order,
                            GError **error);

void ifm_graph_order_clear(IfmGraphOrder *order)
{
    g_clear_pointer(&order->order, g_array_unref);
    g_clear_pointer(&order->captures, g_ptr_array_unref);
}

char *ifm_onnx_node_place(gsize index, const Onnx__NodeProto *node)
{
    const char *op_type = node->op_type != NULL ? node->op_type : "?";
    if (node->name == NULL || *node->name == '\0')
        return g_strdup_printf("node %zu (%s)", index, op_type);
    return g_strdup_printf("node %zu (%s '%s')", index, op_type, node->name);
}

/* --- definitions -------------------------------------------------------------------------------------------------- */

static gboolean define(GHashTable *made, const char *name, gsize maker, const char *what, gsize index, GError **error)
{
    if (name == NULL || *name == '\0')
        return ifm_error_refuse(error, "%s %zu has no name", what, index);
    if (g_hash_table_contains(made, name))
        return ifm_error_refuse(error, "%s %zu: '%s' is defined twice", what, index, name);
    g_hash_table_insert(made, (gpointer)name, GSIZE_TO_POINTER(maker));
    return TRUE;
}

static gboolean define_initializers(const Onnx__GraphProto *graph, GHashTable *made, GError **error)
{
    /* An initializer may share its name with an input (its default value), not with another initializer. */
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    for (gsize i = 0; i < graph->n_initializer; i++)
        if (!define(seen, graph->initializer[i]->name, 0, "initializer", i, error))
            return FALSE;
    for (gsize i = 0; i < graph->n_sparse_initializer; i++)
    {
        const Onnx__TensorProto *values = graph->sparse_initializer[i]->values;
        if (!define(seen, values != NULL ? values->name : NULL, 0, "sparse initializer", i, error))
            return FALSE;
    }
    GHashTableIter iter;
    gpointer name;
    g_hash_table_iter_init(&iter, seen);
    while (g_hash_table_iter_next(&iter, &name, NULL))
        g_hash_table_insert(made, name, NULL);
    return TRUE;
}

static gboolean define_all(const Onnx__GraphProto *graph, GHashTable *made, GError **error)
{
    for (gsize i = 0; i < graph->n_input; i++)
        if (!define(made, graph->input[i]->name, 0, "graph input", i, error))
            return FALSE;
    if (!define_initializers(graph, made, error))
        return FALSE;
    for (gsize i = 0; i < graph->n_node; i++)
        for (gsize k = 0; k < graph->node[i]->n_output; k++)
        {
            if (*graph->node[i]->output[k] == '\0' || define(made, graph->node[i]->output[k], i + 1, "output", k, error))
                continue;
            g_autofree char *place = ifm_onnx_node_place(i, graph->node[i]);
            g_prefix_error(error, "%s: ", place);
            return FALSE;
        }
    return TRUE;
}

/* --- names that nodes read ---------------------------------------------------------------------------------------- */

/* read_name: Records that a node needs @name: a node of this graph (@needs) or a name from outside (@free_names). */
static gboolean read_name(const Scope *scope, const char *name, GArray *needs, GHashTable *free_names, GError **error)
{
    gpointer maker;
    if (*name == '\0')
        return TRUE;
    if (g_hash_table_lookup_extended(scope->made, name, NULL, &maker))
    {
        gsize node = GPOINTER_TO_SIZE(maker);
        if (node > 0 && needs != NULL)
        {
            node--;
            g_array_append_val(needs, node);
        }
        return TRUE;
    }
    const Scope *outer = scope->outer;
    while (outer != NULL && !g_hash_table_contains(outer->made, name))
        outer = outer->outer;
    if (outer == NULL)
        return ifm_error_refuse(error, "'%s' is read, but nothing makes it", name);
    g_hash_table_add(free_names, (gpointer)name);
    return TRUE;
}

static gboolean check_subgraph(const Onnx__GraphProto *graph, const Onnx__AttributeProto *attribute, const Scope *scope,
                               GHashTable *names, GError **error)
{
    g_auto(IfmGraphOrder) order = { 0 };
    if (check_graph(graph, scope, names, &order, error))
        return TRUE;
    g_prefix_error(error, "attribute '%s': ", attribute->name != NULL ? attribute->name : "");
    return FALSE;
}

/* read_subgraphs: @names: (out) (transfer full) the names that the subgraphs of the node read from outside. */
static gboolean read_subgraphs(const Onnx__NodeProto *node, const Scope *scope, GHashTable *names, GError **error)
{
    for (gsize i = 0; i < node->n_attribute; i++)
    {
        const Onnx__AttributeProto *attribute = node->attribute[i];
        if (attribute->g != NULL && !check_subgraph(attribute->g, attribute, scope, names, error))
            return FALSE;
        for (gsize k = 0; k < attribute->n_graphs; k++)
            if (!check_subgraph(attribute->graphs[k], attribute, scope, names, error))
                return FALSE;
    }
    return TRUE;
}

static GPtrArray *captured_here(const Scope *scope, GHashTable *names)
{
    GPtrArray *captured = NULL;
    GHashTableIter iter;
    gpointer name;
    g_hash_table_iter_init(&iter, names);
    while (g_hash_table_iter_next(&iter, &name, NULL))
    {
        if (!g_hash_table_contains(scope->made, name))
            continue;
        if (captured == NULL)
            captured = g_ptr_array_new();
        g_ptr_array_add(captured, name);
    }
    return captured;
}

/* check_node: @needs: (out) numbers of the nodes that it needs    @captured: (out) names of this graph that its subgraphs
 * read */
static gboolean check_node(const Onnx__NodeProto *node, const Scope *scope, GHashTable *free_names, GArray *needs,
                           GPtrArray **captured, GError **error)
{
    if (node->op_type == NULL || *node->op_type == '\0')
        return ifm_error_refuse(error, "no operator is named");
    for (gsize i = 0; i < node->n_input; i++)
        if (!read_name(scope, node->input[i], needs, free_names, error))
            return FALSE;
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    if (!read_subgraphs(node, scope, names, error))
        return FALSE;
    GHashTableIter iter;
    gpointer name;
    g_hash_table_iter_init(&iter, names);
    while (g_hash_table_iter_next(&iter, &name, NULL))
        if (!read_name(scope, name, needs, free_names, error))
            return FALSE;
    *captured = captured_here(scope, names);
    return TRUE;
}

/* --- the order ---------------------------------------------------------------------------------------------------- */

/* Visit: a node on the path of the depth-first search, and the index of its next need. */
typedef struct
{
    gsize node, next;
} Visit;

enum
{
    NOT_SEEN,
    ON_PATH,
    DONE,
};

static gboolean visit_from(const Onnx__GraphProto *graph, gsize start, GArray **needs, guint8 *states, GArray *path,
                           GArray *order, GError **error)
{
    Visit first = { start, 0 };
    g_array_append_val(path, first);
    states[start] = ON_PATH;
    while (path->len > 0)
    {
        Visit *visit = &g_array_index(path, Visit, path->len - 1);
        if (visit->next == needs[visit->node]->len)
        {
            states[visit->node] = DONE;
            g_array_append_val(order, visit->node);
            g_array_set_size(path, path->len - 1);
            continue;
        }
        Visit needed = { g_array_index(needs[visit->node], gsize, visit->next++), 0 };
        if (states[needed.node] == ON_PATH)
        {
            g_autofree char *place = ifm_onnx_node_place(visit->node, graph->node[visit->node]);
            g_autofree char *other = ifm_onnx_node_place(needed.node, graph->node[needed.node]);
            return ifm_error_refuse(error, "%s: in a cycle: it reads what %s makes, which needs it in turn", place, other);
        }
        if (states[needed.node] == NOT_SEEN)
        {
            states[needed.node] = ON_PATH;
            g_array_append_val(path, needed);
        }
    }
    return TRUE;
}

/* --- a whole graph ------------------------------------------------------------------------------------------------ */

/* check_nodes: Checks the nodes and sorts them topologically. */
static gboolean check_nodes(const Onnx__GraphProto *graph, const Scope *scope, GHashTable *free_names, GArray **needs,
                            IfmGraphOrder *order, GError **error)
{
    for (gsize i = 0; i < graph->n_node; i++)
    {
        needs[i] = g_array_new(FALSE, FALSE, sizeof(gsize));
        GPtrArray *captured = NULL;
        if (!check_node(graph->node[i], scope, free_names, needs[i], &captured, error))
        {
            g_autofree char *place = ifm_onnx_node_place(i, graph->node[i]);
            g_prefix_error(error, "%s: ", place);
            return FALSE;
        }
        g_ptr_array_add(order->captures, captured);
    }
    g_autofree guint8 *states = g_new0(guint8, graph->n_node);
    g_autoptr(GArray) path = g_array_new(FALSE, FALSE, sizeof(Visit));
    for (gsize i = 0; i < graph->n_node; i++)
        if (states[i] == NOT_SEEN && !visit_from(graph, i, needs, states, path, order->order, error))
            return FALSE;
    return TRUE;
}

static gboolean check_outputs(const Onnx__GraphProto *graph, const Scope *scope, GHashTable *free_names, GError **error)
{
    for (gsize i = 0; i < graph->n_output; i++)
    {
        const char *name = graph->output[i]->name;
        if (name == NULL || *name == '\0')
            ifm_error_refuse(error, "graph output %zu has no name", i);
        else if (read_name(scope, name, NULL, free_names, error))
            continue;
        else
            g_prefix_error(error, "graph output %zu: ", i);
        return FALSE;
    }
    return TRUE;
}

static void free_captured(gpointer captured)
{
    if (captured != NULL)
        g_ptr_array_unref(captured);
}

/* check_graph: @free_names: (out) names that it reads from outside. The scan has limited the depth of the recursion. */
static gboolean check_graph(const Onnx__GraphProto *graph, const Scope *outer, GHashTable *free_names, IfmGraphOrder *order,
                            GError **error)
{
    g_autoptr(GHashTable) made = g_hash_table_new(g_str_hash, g_str_equal);
    Scope scope = { made, outer };
    if (!define_all(graph, made, error))
        return FALSE;
    order->order = g_array_new(FALSE, FALSE, sizeof(gsize));
    order->captures = g_ptr_array_new_with_free_func(free_captured);
    GArray **needs = g_new0(GArray *, graph->n_node + 1);
    gboolean ok =
        check_nodes(graph, &scope, free_names, needs, order, error) && check_outputs(graph, &scope, free_names, error);
    for (gsize i = 0; i < graph->n_node && needs[i] != NULL; i++)
        g_array_unref(needs[i]);
    g_free(needs);
    return ok;
}

gboolean ifm_onnx_check_graph(const Onnx__GraphProto *graph, IfmGraphOrder *order, GError **error)
{
    g_autoptr(GHashTable) free_names = g_hash_table_new(g_str_hash, g_str_equal);
    return check_graph(graph, NULL, free_names, order, error);
}
