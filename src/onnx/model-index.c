#include <stdlib.h>
#include <string.h>

#include <base/fields.h>

#include "onnx-private.h"

/* The index of a model finds nodes, makers and readers of tensors, weights and attributes by name. */

static void free_initializer(gpointer data)
{
    IfmInitializer *initializer = data;
    ifm_tensor_clear(&initializer->tensor);
    g_free(initializer);
}

static void add_initializer(GHashTable *initializers, const char *name, const Onnx__TensorProto *proto)
{
    IfmInitializer *initializer = g_new0(IfmInitializer, 1);
    initializer->proto = proto;
    initializer->has_tensor = ifm_onnx_tensor_wrap(proto, &initializer->tensor);
    g_hash_table_insert(initializers, (gpointer)name, initializer);
}

static void add_consumer(IfmModel *model, const char *tensor, gsize node)
{
    if (*tensor == '\0')
        return;
    GArray *consumers = g_hash_table_lookup(model->consumers, tensor);
    if (consumers == NULL)
    {
        consumers = g_array_new(FALSE, FALSE, sizeof(gsize));
        g_hash_table_insert(model->consumers, (gpointer)tensor, consumers);
    }
    if (consumers->len == 0 || g_array_index(consumers, gsize, consumers->len - 1) != node)
        g_array_append_val(consumers, node);
}

/* end_strings: String attributes are counted bytes in the file; a zero behind them makes them C strings. */
static void end_strings(Onnx__GraphProto *graph, gpointer user)
{
    for (gsize i = 0; i < graph->n_node; i++)
        for (gsize k = 0; k < graph->node[i]->n_attribute; k++)
        {
            ProtobufCBinaryData *s = &graph->node[i]->attribute[k]->s;
            if (!graph->node[i]->attribute[k]->has_s)
                continue;
            s->data = g_realloc(s->data, s->len + 1); /* protobuf-c's own allocator is malloc, as GLib's */
            s->data[s->len] = '\0';
        }
}

void ifm_onnx_node_wrap(const Onnx__NodeProto *proto, IfmNode *node)
{
    gboolean is_default = proto->domain == NULL || g_str_equal(proto->domain, "ai.onnx");
    *node = (IfmNode){ .name = proto->name != NULL ? proto->name : "",
                       .op_type = proto->op_type,
                       .domain = is_default ? "" : proto->domain,
                       .inputs = (const char *const *)proto->input,
                       .n_inputs = proto->n_input,
                       .outputs = (const char *const *)proto->output,
                       .n_outputs = proto->n_output,
                       .proto = proto };
}

gboolean ifm_onnx_index(IfmModel *model, GError **error)
{
    const Onnx__GraphProto *graph = model->proto->graph;
    g_auto(IfmGraphOrder) order = { 0 };
    model->producers = g_hash_table_new(g_str_hash, g_str_equal);
    model->consumers = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_array_unref);
    model->initializers = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_initializer);
    model->constants = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_initializer);
    if (!ifm_onnx_check_graph(graph, &order, error))
        return FALSE;
    ifm_onnx_each_graph(graph, end_strings, NULL);
    for (gsize i = 0; i < graph->n_initializer; i++)
        add_initializer(model->initializers, graph->initializer[i]->name, graph->initializer[i]);
    model->n_nodes = graph->n_node;
    model->nodes = g_new0(IfmNode, graph->n_node + 1);
    for (gsize i = 0; i < graph->n_node; i++)
    {
        gsize number = g_array_index(order.order, gsize, i);
        Onnx__NodeProto *proto = graph->node[number];
        const GPtrArray *captured = g_ptr_array_index(order.captures, number);
        ifm_onnx_node_wrap(proto, &model->nodes[i]);
        const Onnx__TensorProto *constant = ifm_onnx_constant(&model->nodes[i]);
        if (constant != NULL)
            add_initializer(model->constants, proto->output[0], constant);
        for (gsize k = 0; k < proto->n_input; k++)
            add_consumer(model, proto->input[k], i);
        for (guint k = 0; captured != NULL && k < captured->len; k++)
            add_consumer(model, g_ptr_array_index(captured, k), i);
        for (gsize k = 0; k < proto->n_output; k++)
            if (*proto->output[k] != '\0')
                g_hash_table_insert(model->producers, proto->output[k], GSIZE_TO_POINTER(i + 1));
    }
    return TRUE;
}

void ifm_onnx_index_clear(IfmModel *model)
{
    g_clear_pointer(&model->producers, g_hash_table_unref);
    g_clear_pointer(&model->consumers, g_hash_table_unref);
    g_clear_pointer(&model->initializers, g_hash_table_unref);
    g_clear_pointer(&model->constants, g_hash_table_unref);
    g_clear_pointer(&model->nodes, g_free);
}

gsize ifm_model_n_nodes(const IfmModel *model)
{
    return model->n_nodes;
}

const IfmNode *ifm_model_node(const IfmModel *model, gsize index)
{
    g_assert(index < model->n_nodes);
    return &model->nodes[index];
}

GHashTable *ifm_model_node_names(const IfmModel *model)
{
    GHashTable *names = g_hash_table_new(g_str_hash, g_str_equal);
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const char *name = ifm_model_node(model, i)->name;
        const gboolean twice = g_hash_table_contains(names, name);
        g_hash_table_insert(names, (gpointer)name, GSIZE_TO_POINTER(twice ? G_MAXSIZE : i + 1));
    }
    return names;
}

gssize ifm_model_producer(const IfmModel *model, const char *tensor)
{
    return (gssize)GPOINTER_TO_SIZE(g_hash_table_lookup(model->producers, tensor)) - 1;
}

const GArray *ifm_model_consumers(const IfmModel *model, const char *tensor)
{
    return g_hash_table_lookup(model->consumers, tensor);
}

gboolean ifm_model_initializer(const IfmModel *model, const char *name, IfmTensor *tensor)
{
    const IfmInitializer *initializer = g_hash_table_lookup(model->initializers, name);
    *tensor = IFM_TENSOR_INIT;
    if (initializer == NULL || !initializer->has_tensor)
        return FALSE;
    *tensor = initializer->tensor;
    tensor->release = NULL; /* borrowed from the model */
    tensor->owner = NULL;
    return TRUE;
}

IfmDtype ifm_model_initializer_dtype(const IfmModel *model, const char *name)
{
    const IfmInitializer *initializer = g_hash_table_lookup(model->initializers, name);
    return initializer != NULL ? (IfmDtype)initializer->proto->data_type : IFM_DTYPE_UNDEFINED;
}

gsize ifm_model_n_initializers(const IfmModel *model)
{
    return model->proto->graph->n_initializer;
}

const char *ifm_model_initializer_name(const IfmModel *model, gsize index)
{
    g_assert(index < model->proto->graph->n_initializer);
    return model->proto->graph->initializer[index]->name;
}

/* --- attributes --------------------------------------------------------------------------------------------------- */

const Onnx__AttributeProto *ifm_onnx_attribute(const IfmNode *node, const char *name)
{
    const Onnx__NodeProto *proto = node->proto;
    for (gsize i = 0; i < proto->n_attribute; i++)
        if (g_strcmp0(proto->attribute[i]->name, name) == 0)
            return proto->attribute[i];
    return NULL;
}

gint64 ifm_node_int(const IfmNode *node, const char *attribute, gint64 fallback)
{
    const Onnx__AttributeProto *found = ifm_onnx_attribute(node, attribute);
    return found != NULL && found->has_i ? found->i : fallback;
}

double ifm_node_float(const IfmNode *node, const char *attribute, double fallback)
{
    const Onnx__AttributeProto *found = ifm_onnx_attribute(node, attribute);
    return found != NULL && found->has_f ? (double)found->f : fallback;
}

const char *ifm_node_string(const IfmNode *node, const char *attribute, const char *fallback)
{
    const Onnx__AttributeProto *found = ifm_onnx_attribute(node, attribute);
    return found != NULL && found->has_s ? (const char *)found->s.data : fallback;
}

const float *ifm_node_floats(const IfmNode *node, const char *attribute, gsize *n)
{
    const Onnx__AttributeProto *found = ifm_onnx_attribute(node, attribute);
    *n = found != NULL ? found->n_floats : 0;
    return *n > 0 ? found->floats : NULL;
}

const gint64 *ifm_node_ints(const IfmNode *node, const char *attribute, gsize *n)
{
    const Onnx__AttributeProto *found = ifm_onnx_attribute(node, attribute);
    *n = found != NULL ? found->n_ints : 0;
    return *n > 0 ? found->ints : NULL;
}

static json_t *digest_of(const void *message)
{
    const ProtobufCMessage *from = message;
    const gsize size = protobuf_c_message_get_packed_size(from);
    g_autofree guint8 *bytes = g_malloc(MAX(size, 1));
    protobuf_c_message_pack(from, bytes);
    g_autofree char *digest = g_compute_checksum_for_data(G_CHECKSUM_SHA256, bytes, size);
    g_autofree char *text = g_strconcat(IFM_ATTRIBUTE_DIGEST, digest, NULL);
    return json_string(text);
}

static json_t *text_of(const ProtobufCBinaryData *bytes)
{
    g_autofree char *text = g_strndup(bytes->data != NULL ? (const char *)bytes->data : "", bytes->len);
    return ifm_json_string(text);
}

static json_t *attribute_to_json(const Onnx__AttributeProto *attribute)
{
    json_t *list;
    switch (attribute->type)
    {
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
        return json_integer(attribute->i);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
        return ifm_json_real((double)attribute->f);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING:
        return text_of(&attribute->s);
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
        list = json_array();
        for (gsize i = 0; i < attribute->n_ints; i++)
            json_array_append_new(list, json_integer(attribute->ints[i]));
        return list;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS:
        list = json_array();
        for (gsize i = 0; i < attribute->n_floats; i++)
            json_array_append_new(list, ifm_json_real((double)attribute->floats[i]));
        return list;
    case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS:
        list = json_array();
        for (gsize i = 0; i < attribute->n_strings; i++)
            json_array_append_new(list, text_of(&attribute->strings[i]));
        return list;
    default:
        return digest_of(attribute);
    }
}

json_t *ifm_node_attributes(const IfmNode *node)
{
    const Onnx__NodeProto *proto = node->proto;
    json_t *attributes = json_object();
    for (gsize i = 0; i < proto->n_attribute; i++)
        json_object_set_new(attributes, proto->attribute[i]->name, attribute_to_json(proto->attribute[i]));
    return attributes;
}

gboolean ifm_node_has_subgraph(const IfmNode *node)
{
    return ifm_onnx_body(node->proto, 0) != NULL;
}
