/* Messages of protobuf-c in the making: how they grow, are copied and renamed. Its allocator is malloc, and so is GLib's.
 */
#include <stdlib.h>
#include <string.h>

#include "onnx-private.h"

void ifm_onnx_append(void *array, size_t *n, void *element)
{
    void ***elements = array;
    *elements = g_renew(void *, *elements, *n + 1);
    (*elements)[(*n)++] = element;
}

void ifm_onnx_set_text(char **where, char *text)
{
    free(*where);
    *where = text;
}

void *ifm_onnx_new(const ProtobufCMessageDescriptor *descriptor)
{
    ProtobufCMessage *message = g_malloc(descriptor->sizeof_message);
    protobuf_c_message_init(descriptor, message);
    return message;
}

/* protobuf-c has no function that copies. */
void *ifm_onnx_copy_message(const void *message)
{
    const ProtobufCMessage *from = message;
    const gsize size = protobuf_c_message_get_packed_size(from);
    g_autofree guint8 *bytes = g_malloc(size + 1);
    protobuf_c_message_pack(from, bytes);
    return protobuf_c_message_unpack(from->descriptor, NULL, size, bytes);
}

Onnx__ModelProto *ifm_onnx_unpack(const IfmModel *model)
{
    gsize size;
    const guint8 *data = g_bytes_get_data(model->bytes, &size);
    Onnx__ModelProto *proto = onnx__model_proto__unpack(NULL, size, data);
    g_assert(proto != NULL); /* it was when the model was made */
    return proto;
}

GBytes *ifm_onnx_pack(const Onnx__ModelProto *proto, const char *name, GError **error)
{
    const gsize size = onnx__model_proto__get_packed_size(proto);
    guint8 *bytes = size <= IFM_ONNX_MAX_FILE_BYTES ? g_try_malloc(MAX(size, 1)) : NULL;
    if (bytes != NULL)
    {
        onnx__model_proto__pack(proto, bytes);
        return g_bytes_new_take(bytes, size);
    }
    if (size > IFM_ONNX_MAX_FILE_BYTES)
        ifm_error_refuse(error, "%s: its %zu bytes are more than the %d (2 GiB) that one ONNX file can hold", name, size,
                         IFM_ONNX_MAX_FILE_BYTES);
    else
        ifm_error_set(error, IFM_ERROR_MEMORY, "%s: no memory for its file's %zu bytes", name, size);
    return NULL;
}

Onnx__NodeProto *ifm_onnx_new_node(const char *text, char *name)
{
    Onnx__NodeProto *node = IFM_ONNX_NEW(node_proto);
    node->name = name;
    ifm_onnx_set_operator(node, text);
    return node;
}

Onnx__ValueInfoProto *ifm_onnx_new_port(const char *name, IfmDtype dtype)
{
    Onnx__ValueInfoProto *port = IFM_ONNX_NEW(value_info_proto);
    port->name = g_strdup(name);
    port->type = IFM_ONNX_NEW(type_proto);
    port->type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    port->type->tensor_type = IFM_ONNX_NEW(type_proto__tensor);
    port->type->tensor_type->has_elem_type = TRUE;
    port->type->tensor_type->elem_type = (gint32)dtype;
    return port;
}

int ifm_onnx_elem_type(const Onnx__ValueInfoProto *port)
{
    const Onnx__TypeProto *type = port->type;
    return type != NULL && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE && type->tensor_type != NULL
               ? type->tensor_type->elem_type
               : 0;
}

Onnx__TensorProto *ifm_onnx_new_tensor(const char *name, int dtype, gsize rank, const gint64 *dims)
{
    Onnx__TensorProto *tensor = IFM_ONNX_NEW(tensor_proto);
    tensor->name = g_strdup(name);
    tensor->has_data_type = TRUE;
    tensor->data_type = dtype;
    tensor->n_dims = rank;
    tensor->dims = g_memdup2(dims, rank * sizeof *dims);
    return tensor;
}

Onnx__OperatorSetIdProto *ifm_onnx_new_opset(const char *domain, gint64 version)
{
    Onnx__OperatorSetIdProto *set = IFM_ONNX_NEW(operator_set_id_proto);
    set->domain = g_strdup(domain);
    set->has_version = TRUE;
    set->version = version;
    return set;
}

void ifm_onnx_add_entry(Onnx__StringStringEntryProto ***entries, size_t *n, const char *key, const char *value)
{
    Onnx__StringStringEntryProto *entry = IFM_ONNX_NEW(string_string_entry_proto);
    entry->key = g_strdup(key);
    entry->value = g_strdup(value);
    ifm_onnx_append(entries, n, entry);
}

/* --- external data ------------------------------------------------------------------------------------------------ */

gboolean ifm_onnx_is_external(const Onnx__TensorProto *tensor)
{
    return tensor->has_data_location && tensor->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
}

const char *ifm_onnx_external_value(const Onnx__TensorProto *tensor, const char *key)
{
    for (gsize i = 0; i < tensor->n_external_data; i++)
        if (g_strcmp0(tensor->external_data[i]->key, key) == 0)
            return tensor->external_data[i]->value;
    return NULL;
}

void ifm_onnx_copy_external(Onnx__TensorProto *tensor, const Onnx__TensorProto *from)
{
    tensor->has_data_location = TRUE;
    tensor->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    for (gsize i = 0; i < from->n_external_data; i++)
        ifm_onnx_add_entry(&tensor->external_data, &tensor->n_external_data, from->external_data[i]->key,
                           from->external_data[i]->value);
}

void ifm_onnx_forget_external(Onnx__TensorProto *tensor)
{
    for (gsize i = 0; i < tensor->n_external_data; i++)
        onnx__string_string_entry_proto__free_unpacked(tensor->external_data[i], NULL);
    tensor->n_external_data = 0;
    tensor->has_data_location = FALSE;
}

/* --- subgraphs ---------------------------------------------------------------------------------------------------- */

Onnx__GraphProto *ifm_onnx_body(const Onnx__NodeProto *node, gsize index)
{
    for (gsize i = 0; i < node->n_attribute; i++)
    {
        const Onnx__AttributeProto *attribute = node->attribute[i];
        if (attribute->g != NULL && index-- == 0)
            return attribute->g;
        if (index < attribute->n_graphs)
            return attribute->graphs[index];
        index -= attribute->n_graphs;
    }
    return NULL;
}

void ifm_onnx_each_graph(const Onnx__GraphProto *graph, void (*visit)(Onnx__GraphProto *graph, gpointer user),
                         gpointer user)
{
    const Onnx__GraphProto *body;
    visit((Onnx__GraphProto *)graph, user);
    for (gsize i = 0; i < graph->n_node; i++)
        for (gsize k = 0; (body = ifm_onnx_body(graph->node[i], k)) != NULL; k++)
            ifm_onnx_each_graph(body, visit, user);
}

void ifm_onnx_each_made(const Onnx__GraphProto *graph, void (*visit)(const char *name, gpointer user), gpointer user)
{
    for (gsize i = 0; i < graph->n_input; i++)
        visit(graph->input[i]->name, user);
    for (gsize i = 0; i < graph->n_initializer; i++)
        visit(graph->initializer[i]->name, user);
    for (gsize i = 0; i < graph->n_sparse_initializer; i++)
        if (graph->sparse_initializer[i]->values != NULL)
            visit(graph->sparse_initializer[i]->values->name, user);
    for (gsize i = 0; i < graph->n_node; i++)
        for (gsize k = 0; k < graph->node[i]->n_output; k++)
            visit(graph->node[i]->output[k], user);
}

void ifm_onnx_set_nodes(Onnx__GraphProto *graph, const GPtrArray *nodes)
{
    free(graph->node);
    graph->n_node = nodes->len;
    graph->node = g_memdup2(nodes->pdata, nodes->len * sizeof *graph->node);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static void rename_ports(const IfmOnnxRenaming *renaming, Onnx__ValueInfoProto **ports, gsize n)
{
    for (gsize i = 0; i < n; i++)
        renaming->rename(renaming, &ports[i]->name);
}

void ifm_onnx_rename_node(const IfmOnnxRenaming *renaming, Onnx__NodeProto *node)
{
    Onnx__GraphProto *body;
    for (gsize i = 0; i < node->n_input; i++)
        renaming->rename(renaming, &node->input[i]);
    for (gsize i = 0; i < node->n_output; i++)
        renaming->rename(renaming, &node->output[i]);
    if (node->name != NULL && *node->name != '\0')
        ifm_onnx_set_text(&node->name, g_strconcat(renaming->prefix, node->name, NULL));
    for (gsize i = 0; (body = ifm_onnx_body(node, i)) != NULL; i++)
        ifm_onnx_rename_graph(renaming, body);
}

void ifm_onnx_rename_graph(const IfmOnnxRenaming *renaming, Onnx__GraphProto *graph)
{
    rename_ports(renaming, graph->input, graph->n_input);
    rename_ports(renaming, graph->output, graph->n_output);
    rename_ports(renaming, graph->value_info, graph->n_value_info);
    for (gsize i = 0; i < graph->n_initializer; i++)
        renaming->rename(renaming, &graph->initializer[i]->name);
    for (gsize i = 0; i < graph->n_sparse_initializer; i++)
        if (graph->sparse_initializer[i]->values != NULL)
            renaming->rename(renaming, &graph->sparse_initializer[i]->values->name);
    for (gsize i = 0; i < graph->n_node; i++)
        ifm_onnx_rename_node(renaming, graph->node[i]);
}

/* --- attributes --------------------------------------------------------------------------------------------------- */

Onnx__AttributeProto *ifm_onnx_add_attribute(Onnx__NodeProto *node, const char *name, int type)
{
    Onnx__AttributeProto *attribute = IFM_ONNX_NEW(attribute_proto);
    attribute->name = g_strdup(name);
    attribute->has_type = TRUE;
    attribute->type = (Onnx__AttributeProto__AttributeType)type;
    ifm_onnx_append(&node->attribute, &node->n_attribute, attribute);
    return attribute;
}

void ifm_onnx_add_int(Onnx__NodeProto *node, const char *name, gint64 value)
{
    Onnx__AttributeProto *added = ifm_onnx_add_attribute(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    added->has_i = TRUE;
    added->i = value;
}

void ifm_onnx_add_ints(Onnx__NodeProto *node, const char *name, const gint64 *values, gsize n)
{
    Onnx__AttributeProto *added = ifm_onnx_add_attribute(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);
    added->n_ints = n;
    added->ints = g_memdup2(values, n * sizeof *values);
}

void ifm_onnx_add_float(Onnx__NodeProto *node, const char *name, double value)
{
    Onnx__AttributeProto *added = ifm_onnx_add_attribute(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT);
    added->has_f = TRUE;
    added->f = (float)value;
}

void ifm_onnx_add_string(Onnx__NodeProto *node, const char *name, const char *value)
{
    Onnx__AttributeProto *added = ifm_onnx_add_attribute(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);
    added->has_s = TRUE;
    added->s = (ProtobufCBinaryData){ strlen(value), (guint8 *)g_strdup(value) };
}

/* A list of integers, or of numbers that are all written with a point. FALSE: of something else */
static gboolean add_list(Onnx__NodeProto *node, const char *name, const json_t *list)
{
    const gsize n = json_array_size(list);
    g_autofree gint64 *whole = g_new0(gint64, MAX(n, 1));
    float *real = g_new0(float, MAX(n, 1)); /* the message's, or freed */
    gsize n_whole = 0, n_real = 0;
    for (gsize i = 0; i < n; i++)
    {
        const json_t *value = json_array_get(list, i);
        whole[i] = json_integer_value(value);
        real[i] = (float)json_number_value(value);
        n_whole += json_is_integer(value);
        n_real += json_is_real(value);
    }
    if (n_whole == n)
        ifm_onnx_add_ints(node, name, whole, n);
    if (n_whole == n || n_real < n)
    {
        g_free(real);
        return n_whole == n;
    }
    Onnx__AttributeProto *added = ifm_onnx_add_attribute(node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS);
    added->n_floats = n;
    added->floats = real;
    return TRUE;
}

gboolean ifm_onnx_add_value(Onnx__NodeProto *node, const char *name, const json_t *value)
{
    const char *text = json_string_value(value);
    if (json_is_array(value))
        return add_list(node, name, value);
    if (json_is_integer(value))
        ifm_onnx_add_int(node, name, json_integer_value(value));
    else if (json_is_real(value))
        ifm_onnx_add_float(node, name, json_real_value(value));
    else if (text != NULL && !g_str_has_prefix(text, IFM_ATTRIBUTE_DIGEST))
        ifm_onnx_add_string(node, name, text);
    else
        return FALSE;
    return TRUE;
}

void ifm_onnx_set_operator(Onnx__NodeProto *node, const char *text)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    node->op_type = g_strdup(words[0]);
    for (gsize i = 1; words[i] != NULL; i++)
    {
        char *value = strchr(words[i], '=');
        *value++ = '\0';
        json_auto_t *json = json_loads(value, JSON_DECODE_ANY, NULL);
        if (json != NULL)
            ifm_onnx_add_value(node, words[i], json);
        else
            ifm_onnx_add_string(node, words[i], value);
    }
}
