/* Functions of a model's own, put in where they are called. */
#include <stdlib.h>
#include <string.h>

#include "onnx-private.h"

#define MAX_CALLS_DEEP 32
#define MAX_NODES 200000 /* of all calls: two calls a level make 2^32 of a few lines */

/* Inliner: @functions: "domain\nname\noverload" -> Onnx__FunctionProto*    @n_calls: made so far, which tells names apart
 */
typedef struct
{
    GHashTable *functions;
    guint n_calls;
    gsize n_nodes;
} Inliner;

/* Call: one place where a function is called. @renaming: of the function's names -> the graph's */
typedef struct
{
    IfmOnnxRenaming renaming;
    const Onnx__FunctionProto *function;
    const Onnx__NodeProto *node;
    char *prefix;
} Call;

/* --- messages -----------------------------------------------------------------------------------------------------------
 */

static const char *text_or_empty(const char *text)
{
    return text != NULL ? text : "";
}

/* ONNX's own domain has two names. */
static const char *domain_of(const char *domain)
{
    return domain == NULL || g_str_equal(domain, "ai.onnx") ? "" : domain;
}

static char *key_of(const char *domain, const char *name, const char *overload)
{
    return g_strdup_printf("%s\n%s\n%s", domain_of(domain), text_or_empty(name), text_or_empty(overload));
}

static const Onnx__FunctionProto *function_of(const Inliner *self, const Onnx__NodeProto *node)
{
    g_autofree char *key = key_of(node->domain, node->op_type, node->overload);
    return g_hash_table_lookup(self->functions, key);
}

/* --- names --------------------------------------------------------------------------------------------------------------
 */

static void rename_text(const IfmOnnxRenaming *renaming, char **name)
{
    const char *known = *name != NULL ? g_hash_table_lookup(renaming->names, *name) : NULL;
    if (*name != NULL && **name != '\0')
        ifm_onnx_set_text(name, known != NULL ? g_strdup(known) : g_strconcat(renaming->prefix, *name, NULL));
}

static Onnx__AttributeProto *find_attribute(Onnx__AttributeProto **attributes, gsize n, const char *name)
{
    for (gsize i = 0; i < n; i++)
        if (g_strcmp0(attributes[i]->name, name) == 0)
            return attributes[i];
    return NULL;
}

/* An attribute that stands for one of the call: that, or its default. (transfer full) NULL: it is left out */
static Onnx__AttributeProto *resolve(const Call *call, const Onnx__AttributeProto *attribute)
{
    const char *name = attribute->ref_attr_name;
    const Onnx__AttributeProto *found = find_attribute(call->node->attribute, call->node->n_attribute, name);
    if (found == NULL)
        found = find_attribute(call->function->attribute_proto, call->function->n_attribute_proto, name);
    Onnx__AttributeProto *copy = found != NULL ? ifm_onnx_copy_message(found) : NULL;
    if (copy != NULL)
        ifm_onnx_set_text(&copy->name, g_strdup(attribute->name));
    return copy;
}

/* resolve_attributes: Of a node of the function, and of the nodes within it. What they stand for comes with the caller's
 * names. */
static void resolve_attributes(const Call *call, Onnx__NodeProto *node)
{
    gsize n = 0;
    for (gsize i = 0; i < node->n_attribute; i++)
    {
        Onnx__AttributeProto *attribute = node->attribute[i];
        if (*text_or_empty(attribute->ref_attr_name) == '\0')
        {
            node->attribute[n++] = attribute;
            continue;
        }
        Onnx__AttributeProto *resolved = resolve(call, attribute);
        onnx__attribute_proto__free_unpacked(attribute, NULL);
        if (resolved != NULL)
            node->attribute[n++] = resolved;
    }
    node->n_attribute = n;
}

static void resolve_all(const Call *call, Onnx__NodeProto *node)
{
    Onnx__GraphProto *body;
    for (gsize k = 0; (body = ifm_onnx_body(node, k)) != NULL; k++)
        for (gsize i = 0; i < body->n_node; i++)
            resolve_all(call, body->node[i]);
    resolve_attributes(call, node);
}

/* --- one call -----------------------------------------------------------------------------------------------------------
 */

static void call_clear(Call *call)
{
    g_clear_pointer(&call->renaming.names, g_hash_table_unref);
    g_clear_pointer(&call->prefix, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Call, call_clear)

static gboolean call_init(Call *call, Inliner *self, const Onnx__FunctionProto *function, const Onnx__NodeProto *node,
                          GError **error)
{
    const gboolean named = *text_or_empty(node->name) != '\0';
    if (node->n_input > function->n_input || node->n_output > function->n_output)
        return ifm_error_refuse(error, "node %s '%s': %zu inputs and %zu outputs, but the function has %zu and %zu",
                                node->op_type, text_or_empty(node->name), node->n_input, node->n_output, function->n_input,
                                function->n_output);
    *call = (Call){ .function = function, .node = node };
    call->prefix = g_strdup_printf("%s#%u/", named ? node->name : node->op_type, self->n_calls++);
    call->renaming = (IfmOnnxRenaming){ rename_text, g_hash_table_new(g_str_hash, g_str_equal), call->prefix };
    for (gsize i = 0; i < function->n_output; i++)
        if (i < node->n_output && *node->output[i] != '\0')
            g_hash_table_insert(call->renaming.names, function->output[i], node->output[i]);
    for (gsize i = 0; i < function->n_input; i++) /* what is left out has an empty name inside, too */
        g_hash_table_insert(call->renaming.names, function->input[i], i < node->n_input ? node->input[i] : (char *)"");
    return TRUE;
}

/* --- graphs -------------------------------------------------------------------------------------------------------------
 */

static gboolean expand_graph(Inliner *self, Onnx__GraphProto *graph, guint depth, GError **error);

static gboolean expand_subgraphs(Inliner *self, Onnx__NodeProto *node, guint depth, GError **error)
{
    Onnx__GraphProto *body;
    for (gsize i = 0; (body = ifm_onnx_body(node, i)) != NULL; i++)
        if (!expand_graph(self, body, depth, error))
            return FALSE;
    return TRUE;
}

static void free_node(gpointer node)
{
    if (node != NULL)
        onnx__node_proto__free_unpacked(node, NULL);
}

/* Puts a node, or all of the function that it calls, into @out. @node: (transfer full) */
static gboolean expand_node(Inliner *self, Onnx__NodeProto *node, guint depth, GPtrArray *out, GError **error)
{
    g_autoptr(GPtrArray) body = NULL;
    g_auto(Call) call = { 0 };
    const Onnx__FunctionProto *function = function_of(self, node);
    if (function == NULL)
    {
        g_ptr_array_add(out, node);
        return expand_subgraphs(self, node, depth, error);
    }
    gboolean good = call_init(&call, self, function, node, error);
    if (good && (depth == MAX_CALLS_DEEP || (self->n_nodes += function->n_node) > MAX_NODES))
    {
        good = FALSE;
        ifm_error_refuse(error, "function %s: %s", function->name,
                         depth == MAX_CALLS_DEEP ? "calls go deeper than 32 functions: does it call itself?"
                                                 : "its calls make more than 200000 nodes");
    }
    body = g_ptr_array_new_with_free_func(free_node);
    for (gsize i = 0; good && i < function->n_node; i++)
    {
        g_ptr_array_add(body, ifm_onnx_copy_message(function->node[i]));
        ifm_onnx_rename_node(&call.renaming, body->pdata[i]);
        resolve_all(&call, body->pdata[i]);
    }
    for (guint i = 0; good && i < body->len; i++)
        good = expand_node(self, g_steal_pointer(&body->pdata[i]), depth + 1, out, error);
    free_node(node);
    return good;
}

static gboolean expand_graph(Inliner *self, Onnx__GraphProto *graph, guint depth, GError **error)
{
    g_autoptr(GPtrArray) out = g_ptr_array_new();
    gboolean good = TRUE;
    for (gsize i = 0; i < graph->n_node; i++)
        if (!good)
            g_ptr_array_add(out, graph->node[i]);
        else
            good = expand_node(self, graph->node[i], depth, out, error);
    ifm_onnx_set_nodes(graph, out);
    return good;
}

/* --- the model ----------------------------------------------------------------------------------------------------------
 */

static Onnx__OperatorSetIdProto *find_import(const Onnx__ModelProto *proto, const char *domain)
{
    for (gsize i = 0; i < proto->n_opset_import; i++)
        if (g_str_equal(domain_of(proto->opset_import[i]->domain), domain_of(domain)))
            return proto->opset_import[i];
    return NULL;
}

/* Whether the function's operators mean the same in the model. What only it imports, the model then does, too. */
static gboolean take_imports(Onnx__ModelProto *proto, const Onnx__FunctionProto *function)
{
    for (gsize i = 0; i < function->n_opset_import; i++)
    {
        const Onnx__OperatorSetIdProto *known = find_import(proto, function->opset_import[i]->domain);
        if (known != NULL && known->version != function->opset_import[i]->version)
            return FALSE;
    }
    for (gsize i = 0; i < function->n_opset_import; i++)
        if (find_import(proto, function->opset_import[i]->domain) == NULL)
            ifm_onnx_append(&proto->opset_import, &proto->n_opset_import, ifm_onnx_copy_message(function->opset_import[i]));
    return TRUE;
}

static gboolean calls_any(const Inliner *self, const Onnx__GraphProto *graph)
{
    const Onnx__GraphProto *body;
    for (gsize i = 0; i < graph->n_node; i++)
    {
        if (function_of(self, graph->node[i]) != NULL)
            return TRUE;
        for (gsize k = 0; (body = ifm_onnx_body(graph->node[i], k)) != NULL; k++)
            if (calls_any(self, body))
                return TRUE;
    }
    return FALSE;
}

/* Where all functions are put in, none is left. */
static void drop_functions(Onnx__ModelProto *proto)
{
    for (gsize i = 0; i < proto->n_functions; i++)
        onnx__function_proto__free_unpacked(proto->functions[i], NULL);
    proto->n_functions = 0;
}

IfmModel *ifm_onnx_reparse(const IfmModel *model, GBytes *bytes, GError **error)
{
    const guint n = model->external_order->len;
    g_autofree IfmOnnxExternal *externals = g_new0(IfmOnnxExternal, n + 1);
    for (guint i = 0; i < n; i++)
    {
        externals[i].location = model->external_order->pdata[i];
        externals[i].bytes = g_hash_table_lookup(model->external, externals[i].location);
    }
    return ifm_onnx_parse_built(bytes, model->name, externals, n, error);
}

IfmModel *ifm_onnx_repack(const IfmModel *model, const Onnx__ModelProto *proto, GError **error)
{
    g_autoptr(GBytes) bytes = ifm_onnx_pack(proto, model->name, error);
    IfmModel *made = bytes != NULL ? ifm_onnx_reparse(model, bytes, error) : NULL;
    if (made != NULL)
    {
        g_free(made->name);
        made->name = g_strdup(model->name);
    }
    return made;
}

static gboolean expand(Inliner *self, Onnx__ModelProto *proto, GError **error)
{
    if (!expand_graph(self, proto->graph, 0, error))
        return FALSE;
    if (g_hash_table_size(self->functions) == proto->n_functions)
        drop_functions(proto);
    return TRUE;
}

gboolean ifm_model_inline_functions(const IfmModel *model, IfmModel **inlined, GError **error)
{
    *inlined = NULL;
    if (model->proto->n_functions == 0)
        return TRUE;
    Onnx__ModelProto *proto = ifm_onnx_unpack(model);
    g_autoptr(GHashTable) functions = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    Inliner self = { .functions = functions };
    for (gsize i = 0; i < proto->n_functions; i++)
    {
        Onnx__FunctionProto *function = proto->functions[i];
        if (function->name != NULL && take_imports(proto, function))
            g_hash_table_insert(functions, key_of(function->domain, function->name, function->overload), function);
    }
    gboolean good = TRUE;
    if (calls_any(&self, proto->graph))
        good = expand(&self, proto, error) && (*inlined = ifm_onnx_repack(model, proto, error)) != NULL;
    onnx__model_proto__free_unpacked(proto, NULL);
    if (!good)
        ifm_onnx_tidy_error(error, NULL);
    return good;
}
