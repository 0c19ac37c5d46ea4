/* A private copy of a model, what is known of its tensors, and what is emitted into it. */
#include "rewrite.h"

#include <stdlib.h>
#include <string.h>

/* --- the copy ----------------------------------------------------------------------------------------------------- */

static void take(const char *name, gpointer user)
{
    IfmRewrite *rewrite = user;
    g_hash_table_add(rewrite->taken, g_string_chunk_insert_const(rewrite->strings, name));
}

/* pair: Notes the names of a graph, and the graph of the source that it is a copy of. */
static void pair(IfmRewrite *rewrite, const Onnx__GraphProto *graph, const Onnx__GraphProto *origin)
{
    const Onnx__GraphProto *body;
    g_hash_table_insert(rewrite->origins, (gpointer)graph, (gpointer)origin);
    ifm_onnx_each_made(graph, take, rewrite);
    for (gsize i = 0; i < graph->n_node; i++)
        for (gsize k = 0; (body = ifm_onnx_body(graph->node[i], k)) != NULL; k++)
            pair(rewrite, body, ifm_onnx_body(origin->node[i], k));
}

/* sort_nodes: A file's nodes may be in any order; rules are called in one in which all that a node reads is known. */
static void sort_nodes(IfmModel *model)
{
    for (gsize i = 0; i < model->n_nodes; i++)
        model->proto->graph->node[i] = (Onnx__NodeProto *)model->nodes[i].proto;
}

static void analyse_source(IfmRewrite *rewrite, const IfmDimBinding *bindings, gsize n_bindings)
{
    static const gint64 sizes[][2] = { { 192, 320 }, { 60, 84 }, { 6, 10 }, { 2, 3 }, { 1, 1 } };
    IfmModel *model = rewrite->source;
    if (n_bindings > 0)
        rewrite->analyses[0] = ifm_model_analyse(model, bindings, n_bindings, NULL);
    if (rewrite->analyses[0] == NULL)
        ifm_model_analyse_pair(model, NULL, 0, sizes, G_N_ELEMENTS(sizes), rewrite->analyses, NULL);
}

IfmRewrite *ifm_rewrite_new(IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings, GError **error)
{
    IfmModel *copy = ifm_onnx_reparse(model, model->bytes, error);
    if (copy == NULL)
        return NULL;
    IfmRewrite *rewrite = g_new0(IfmRewrite, 1);
    rewrite->source = ifm_model_ref(model);
    rewrite->copy = copy;
    rewrite->origins = g_hash_table_new(NULL, NULL);
    rewrite->constants = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    rewrite->taken = g_hash_table_new(g_str_hash, g_str_equal);
    rewrite->stands_for = g_hash_table_new(g_str_hash, g_str_equal);
    rewrite->scalars = g_hash_table_new(g_str_hash, g_str_equal);
    rewrite->narrow = g_hash_table_new(g_str_hash, g_str_equal);
    rewrite->strings = g_string_chunk_new(4096);
    pair(rewrite, copy->proto->graph, model->proto->graph);
    sort_nodes(copy);
    analyse_source(rewrite, bindings, n_bindings);
    return rewrite;
}

void ifm_rewrite_free(IfmRewrite *rewrite)
{
    if (rewrite == NULL)
        return;
    for (gsize i = 0; i < G_N_ELEMENTS(rewrite->analyses); i++)
        ifm_analysis_free(rewrite->analyses[i]);
    ifm_model_unref(rewrite->copy);
    ifm_model_unref(rewrite->source);
    g_hash_table_unref(rewrite->origins);
    g_hash_table_unref(rewrite->taken);
    g_hash_table_unref(rewrite->constants);
    g_hash_table_unref(rewrite->stands_for);
    g_hash_table_unref(rewrite->scalars);
    g_hash_table_unref(rewrite->narrow);
    g_string_chunk_free(rewrite->strings);
    g_free(rewrite);
}

IfmModel *ifm_rewrite_inlined(IfmModel *model, GError **error)
{
    IfmModel *inlined = NULL;
    if (!ifm_model_inline_functions(model, &inlined, error))
        return NULL;
    return inlined != NULL ? inlined : ifm_model_ref(model);
}

/* --- the result --------------------------------------------------------------------------------------------------- */

static void add_read(Onnx__GraphProto *graph, gpointer read)
{
    for (gsize i = 0; i < graph->n_output; i++)
        g_hash_table_add(read, graph->output[i]->name);
    for (gsize i = 0; i < graph->n_node; i++)
        for (gsize k = 0; k < graph->node[i]->n_input; k++)
            g_hash_table_add(read, graph->node[i]->input[k]);
}

/* drop_unread: Moves initializers that nothing reads any more behind the others, where they are not packed. They stay in
 * memory, as the model of the copy knows them. Returns: how many are read. */
static gsize drop_unread(Onnx__GraphProto *graph)
{
    g_autoptr(GHashTable) read = g_hash_table_new(g_str_hash, g_str_equal);
    gsize n = 0;
    ifm_onnx_each_graph(graph, add_read, read);
    for (gsize i = 0; i < graph->n_input; i++) /* an input with a default value */
        g_hash_table_add(read, graph->input[i]->name);
    for (gsize i = 0; i < graph->n_initializer; i++)
    {
        Onnx__TensorProto *tensor = graph->initializer[i];
        if (!g_hash_table_contains(read, tensor->name))
            continue;
        graph->initializer[i] = graph->initializer[n];
        graph->initializer[n++] = tensor;
    }
    return n;
}

/* place_values: External data of the top-level graph stay outside; others, which nothing but the copy knows, go in. */
static void place_values(IfmModel *copy)
{
    const Onnx__GraphProto *graph = copy->proto->graph;
    g_autoptr(GHashTable) top = g_hash_table_new(NULL, NULL);
    for (gsize i = 0; i < graph->n_initializer; i++)
        g_hash_table_add(top, graph->initializer[i]);
    for (guint i = 0; i < copy->attached->len; i++)
    {
        Onnx__TensorProto *tensor = g_ptr_array_index(copy->attached, i);
        if (!ifm_onnx_is_external(tensor))
            continue;
        if (g_hash_table_contains(top, tensor))
        {
            tensor->has_raw_data = FALSE;
            continue;
        }
        ifm_onnx_forget_external(tensor);
    }
}

/* forget_declared: What the graph declares of tensors within it is of other types now. */
static void forget_declared(Onnx__GraphProto *graph, gpointer user)
{
    for (gsize i = 0; i < graph->n_value_info; i++)
        onnx__value_info_proto__free_unpacked(graph->value_info[i], NULL);
    graph->n_value_info = 0;
}

static GBytes *pack(IfmModel *copy, GError **error)
{
    Onnx__GraphProto *graph = copy->proto->graph;
    const gsize n_all = graph->n_initializer;
    ifm_onnx_each_graph(graph, forget_declared, NULL);
    graph->n_initializer = drop_unread(graph);
    place_values(copy);
    GBytes *bytes = ifm_onnx_pack(copy->proto, copy->name, error);
    graph->n_initializer = n_all;
    return bytes;
}

#define OWN_OPSET 17

IfmModel *ifm_rewrite_finish(IfmRewrite *rewrite, GError **error)
{
    Onnx__ModelProto *proto = rewrite->copy->proto;
    if (rewrite->source->opset < 1) /* of nodes of other domains alone */
        ifm_onnx_append(&proto->opset_import, &proto->n_opset_import, ifm_onnx_new_opset("", OWN_OPSET));
    proto->ir_version = MAX(proto->ir_version, INITIALIZERS_WITHOUT_INPUTS);
    g_autoptr(GBytes) bytes = pack(rewrite->copy, error);
    IfmModel *made = bytes != NULL ? ifm_onnx_reparse(rewrite->source, bytes, error) : NULL;
    if (made == NULL)
        ifm_onnx_tidy_error(error, NULL);
    return made;
}

/* --- walking ------------------------------------------------------------------------------------------------------ */

void ifm_rewrite_scope_init(IfmRewriteScope *scope, IfmRewrite *rewrite, const IfmRewriteScope *outer,
                            Onnx__GraphProto *graph)
{
    *scope = (IfmRewriteScope){ .rewrite = rewrite, .outer = outer, .graph = graph };
    scope->nodes = g_ptr_array_new();
    scope->values = g_hash_table_new(g_str_hash, g_str_equal);
    scope->dtypes = g_hash_table_new(g_str_hash, g_str_equal);
    for (gsize i = 0; i < graph->n_input; i++)
        if (ifm_onnx_elem_type(graph->input[i]) != 0)
            g_hash_table_insert(scope->dtypes, graph->input[i]->name, GINT_TO_POINTER(ifm_onnx_elem_type(graph->input[i])));
    for (gsize i = 0; i < graph->n_initializer; i++)
        g_hash_table_insert(scope->values, graph->initializer[i]->name, graph->initializer[i]);
}

void ifm_rewrite_scope_end(IfmRewriteScope *scope)
{
    ifm_onnx_set_nodes(scope->graph, scope->nodes);
    g_ptr_array_unref(scope->nodes);
    g_hash_table_unref(scope->values);
    g_hash_table_unref(scope->dtypes);
}

void ifm_rewrite_keep(IfmRewriteScope *scope, Onnx__NodeProto *node)
{
    ifm_rewrite_learn(scope, node);
    g_ptr_array_add(scope->nodes, node);
}

/* --- emitting ----------------------------------------------------------------------------------------------------- */

const char *ifm_rewrite_name(IfmRewrite *rewrite, const char *like)
{
    for (;;)
    {
        g_autofree char *name = g_strdup_printf("%s.%u", like, ++rewrite->n_names);
        if (g_hash_table_contains(rewrite->taken, name))
            continue;
        const char *kept = g_string_chunk_insert(rewrite->strings, name);
        g_hash_table_add(rewrite->taken, (gpointer)kept);
        return kept;
    }
}

static Onnx__NodeProto *new_node(IfmRewriteScope *scope, gboolean exact, const char *output, const char *op_type)
{
    Onnx__NodeProto *node =
        ifm_onnx_new_node(op_type, g_strconcat(exact ? IFM_REWRITE_EXACT : "inferometer.rounded.", output, NULL));
    ifm_onnx_append(&node->output, &node->n_output, g_strdup(output));
    g_ptr_array_add(scope->nodes, node);
    scope->rewrite->n_changes++;
    return node;
}

const char *ifm_emit(IfmRewriteScope *scope, gboolean exact, const char *output, const char *op_type, ...)
{
    g_autoptr(GPtrArray) list = g_ptr_array_new();
    va_list inputs;
    va_start(inputs, op_type);
    for (const char *input = va_arg(inputs, const char *); input != NULL; input = va_arg(inputs, const char *))
        g_ptr_array_add(list, (gpointer)input);
    va_end(inputs);
    const char *name = output != NULL ? output : ifm_rewrite_name(scope->rewrite, "inferometer");
    Onnx__NodeProto *node = new_node(scope, exact, name, op_type);
    for (guint i = 0; i < list->len; i++)
        ifm_onnx_append(&node->input, &node->n_input, g_strdup(list->pdata[i]));
    return name;
}

static Onnx__NodeProto *last_node(IfmRewriteScope *scope)
{
    return g_ptr_array_index(scope->nodes, scope->nodes->len - 1);
}

void ifm_emit_int(IfmRewriteScope *scope, const char *attribute, gint64 value)
{
    ifm_onnx_add_int(last_node(scope), attribute, value);
}

void ifm_emit_float(IfmRewriteScope *scope, const char *attribute, double value)
{
    ifm_onnx_add_float(last_node(scope), attribute, value);
}

void ifm_emit_attributes(IfmRewriteScope *scope, const IfmNode *from, const char *const *without)
{
    const Onnx__NodeProto *proto = from->proto;
    Onnx__NodeProto *node = last_node(scope);
    for (gsize i = 0; i < proto->n_attribute; i++)
    {
        const char *name = proto->attribute[i]->name;
        if (without != NULL && name != NULL && g_strv_contains(without, name))
            continue;
        ifm_onnx_append(&node->attribute, &node->n_attribute, ifm_onnx_copy_message(proto->attribute[i]));
    }
}

void ifm_emit_output(IfmRewriteScope *scope, const char *name)
{
    Onnx__NodeProto *node = last_node(scope);
    ifm_onnx_append(&node->output, &node->n_output, g_strdup(name));
}

void ifm_emit_input(IfmRewriteScope *scope, const char *name)
{
    Onnx__NodeProto *node = last_node(scope);
    ifm_onnx_append(&node->input, &node->n_input, g_strdup(name));
}

void ifm_emit_domain(IfmRewriteScope *scope, const char *domain)
{
    last_node(scope)->domain = g_strdup(domain);
}

void ifm_emit_graph(IfmRewriteScope *scope, const char *attribute, Onnx__GraphProto *graph)
{
    ifm_onnx_add_attribute(last_node(scope), attribute, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH)->g = graph;
}

void ifm_rewrite_graph_port(Onnx__GraphProto *graph, gboolean is_input, const char *name, IfmDtype dtype)
{
    if (is_input)
        ifm_onnx_append(&graph->input, &graph->n_input, ifm_onnx_new_port(name, dtype));
    else
        ifm_onnx_append(&graph->output, &graph->n_output, ifm_onnx_new_port(name, dtype));
}

const char *ifm_emit_cast(IfmRewriteScope *scope, const char *output, const char *x, int dtype)
{
    const char *cast = ifm_exact_to(scope, output, "Cast", x, NULL);
    ifm_emit_int(scope, "to", dtype);
    return cast;
}

const char *ifm_emit_reshape(IfmRewriteScope *scope, const char *x, const gint64 *dims, gsize n)
{
    return ifm_exact(scope, "Reshape", x, ifm_emit_list(scope->rewrite, dims, n), NULL);
}

/* --- constants ---------------------------------------------------------------------------------------------------- */

static Onnx__TensorProto *new_tensor(const char *name, int dtype, gsize rank, const gint64 *dims, const void *data,
                                     gsize size)
{
    Onnx__TensorProto *tensor = ifm_onnx_new_tensor(name, dtype, rank, dims);
    tensor->has_raw_data = TRUE;
    tensor->raw_data = (ProtobufCBinaryData){ size, g_memdup2(data, size) };
    return tensor;
}

const char *ifm_emit_tensor(IfmRewrite *rewrite, const char *like, int dtype, gsize rank, const gint64 *dims,
                            const void *data, gsize size)
{
    const char *name = ifm_rewrite_name(rewrite, like);
    Onnx__GraphProto *graph = rewrite->copy->proto->graph;
    ifm_onnx_append(&graph->initializer, &graph->n_initializer, new_tensor(name, dtype, rank, dims, data, size));
    return name;
}

const char *ifm_emit_number(IfmRewrite *rewrite, IfmDtype dtype, double value)
{
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    g_autofree char *key = g_strconcat(ifm_dtype_name(dtype), g_ascii_dtostr(text, sizeof text, value), NULL);
    const char *known = g_hash_table_lookup(rewrite->constants, key);
    const float single = (float)value;
    if (known != NULL)
        return known;
    g_assert(dtype == IFM_DTYPE_F32 || dtype == IFM_DTYPE_F64);
    const char *name = dtype == IFM_DTYPE_F32
                           ? ifm_emit_tensor(rewrite, "inferometer.number", dtype, 0, NULL, &single, sizeof single)
                           : ifm_emit_tensor(rewrite, "inferometer.number", dtype, 0, NULL, &value, sizeof value);
    g_hash_table_insert(rewrite->constants, g_steal_pointer(&key), (gpointer)name);
    return name;
}

const char *ifm_emit_true(IfmRewrite *rewrite)
{
    const guint8 yes = 1;
    const char *name = g_hash_table_lookup(rewrite->constants, "true");
    if (name != NULL)
        return name;
    name = ifm_emit_tensor(rewrite, "inferometer.true", IFM_DTYPE_BOOL, 0, NULL, &yes, sizeof yes);
    g_hash_table_insert(rewrite->constants, g_strdup("true"), (gpointer)name);
    return name;
}

const char *ifm_emit_filled(IfmRewriteScope *scope, const char *shape, float value)
{
    const gint64 one = 1;
    const char *filled = ifm_exact(scope, "ConstantOfShape", shape, NULL);
    ifm_onnx_add_attribute(last_node(scope), "value", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR)->t =
        new_tensor("value", IFM_DTYPE_F32, 1, &one, &value, sizeof value);
    return filled;
}

const char *ifm_emit_list(IfmRewrite *rewrite, const gint64 *values, gsize n)
{
    g_autoptr(GString) key = g_string_new("list");
    const gint64 dims[] = { (gint64)n };
    for (gsize i = 0; i < n; i++)
        g_string_append_printf(key, " %" G_GINT64_FORMAT, values[i]);
    const char *known = g_hash_table_lookup(rewrite->constants, key->str);
    if (known != NULL)
        return known;
    const char *name = ifm_emit_tensor(rewrite, "inferometer.list", IFM_DTYPE_I64, 1, dims, values, n * sizeof values[0]);
    g_hash_table_insert(rewrite->constants, g_strdup(key->str), (gpointer)name);
    return name;
}

/* --- renaming ----------------------------------------------------------------------------------------------------- */

static void rename_one(char **name, GHashTable *names)
{
    const char *other = g_hash_table_lookup(names, *name);
    if (other != NULL)
        ifm_onnx_set_text(name, g_strdup(other));
}

static void forget_name(const char *name, gpointer names)
{
    g_hash_table_remove(names, name);
}

/* without_own: @names but those that a body defines itself. (transfer full) */
static GHashTable *without_own(const Onnx__GraphProto *body, GHashTable *names)
{
    GHashTable *rest = g_hash_table_new(g_str_hash, g_str_equal);
    GHashTableIter iter;
    gpointer name, other;
    g_hash_table_iter_init(&iter, names);
    while (g_hash_table_iter_next(&iter, &name, &other))
        g_hash_table_insert(rest, name, other);
    ifm_onnx_each_made(body, forget_name, rest);
    return rest;
}

void ifm_rewrite_replace(Onnx__GraphProto *graph, GHashTable *names)
{
    for (gsize i = 0; i < graph->n_node; i++)
    {
        Onnx__GraphProto *body;
        for (gsize k = 0; k < graph->node[i]->n_input; k++)
            rename_one(&graph->node[i]->input[k], names);
        for (gsize k = 0; (body = ifm_onnx_body(graph->node[i], k)) != NULL; k++)
        {
            g_autoptr(GHashTable) rest = without_own(body, names);
            ifm_rewrite_replace(body, rest);
            for (gsize o = 0; o < body->n_output; o++)
                rename_one(&body->output[o]->name, rest);
        }
    }
}
