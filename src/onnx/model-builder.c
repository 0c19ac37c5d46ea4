#include <stdlib.h>
#include <string.h>

#include "onnx-private.h"
#include "outline.h"

/* A builder makes an ONNX model from ports, weights, nodes and attributes, or from copies of another model's parts. */

/*
 * The builder fills the messages of an ONNX file, packs them and gives the bytes to ifm_model_parse(). So a built model
 * passes all checks of a file.
 */
struct IfmModelBuilder
{
    Onnx__ModelProto *proto;
    gsize weight_bytes; /* of all weights in the model file */
    GArray *drawn;      /* RandomWeight */
    char *location;     /* name of the file of large weights in the folder of the model; NULL: none */
    gsize external_size;
    guint8 *external; /* [external_size] the bytes of that file, when all weights are known */
    GArray *shared;   /* IfmOnnxExternal: files of other models in which copied weights stay; NULL: none */
    gboolean outline; /* of a model whose large weights have no values */
    GError *error;    /* the first */
};

/* A weight that is drawn when the model is finished, after the check that the weights fit into a file. */
typedef struct
{
    Onnx__TensorProto *tensor;
    double low, high;
    guint32 seed;
    gboolean by_index;  /* TRUE: each number depends on its index only; FALSE: a sequence of one generator */
    gboolean external;  /* in a file of its own … */
    gsize offset, size; /* … there */
} RandomWeight;

#define MAX_FILE_BYTES IFM_ONNX_MAX_FILE_BYTES
#define EXTERNAL_ALIGNMENT 4096 /* a page, as the ONNX format requires, so that each weight can be mapped */

G_GNUC_PRINTF(2, 3) static void fail(IfmModelBuilder *builder, const char *format, ...)
{
    if (builder->error != NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    builder->error = g_error_new_literal(IFM_ERROR, IFM_ERROR_INVALID, message);
}

/* ir_version_for: The oldest IR version that allows an opset (versions table of the ONNX specification). */
static gint64 ir_version_for(gint64 opset)
{
    static const struct
    {
        gint64 last_opset, ir_version;
    } versions[] = { { 8, 3 }, { 9, 4 }, { 10, 5 }, { 11, 6 }, { 14, 7 }, { 18, 8 }, { 20, 9 }, { 22, 10 }, { 23, 11 } };
    for (gsize i = 0; i < G_N_ELEMENTS(versions); i++)
        if (opset <= versions[i].last_opset)
            return versions[i].ir_version;
    return 12;
}

IfmModelBuilder *ifm_model_builder_new(const char *graph_name, gint64 opset)
{
    IfmModelBuilder *builder = g_new0(IfmModelBuilder, 1);
    builder->drawn = g_array_new(FALSE, FALSE, sizeof(RandomWeight));
    builder->proto = IFM_ONNX_NEW(model_proto);
    builder->proto->has_ir_version = TRUE;
    builder->proto->ir_version = ir_version_for(opset);
    builder->proto->producer_name = g_strdup("inferometer");
    builder->proto->producer_version = g_strdup(IFM_VERSION);
    builder->proto->graph = IFM_ONNX_NEW(graph_proto);
    builder->proto->graph->name = g_strdup(graph_name);
    ifm_onnx_append(&builder->proto->opset_import, &builder->proto->n_opset_import, ifm_onnx_new_opset("", opset));
    if (opset < 1)
        fail(builder, "opset %" G_GINT64_FORMAT ": 1 or more", opset);
    return builder;
}

void ifm_model_builder_free(IfmModelBuilder *builder)
{
    if (builder == NULL)
        return;
    g_array_unref(builder->drawn);
    g_free(builder->location);
    g_free(builder->external);
    g_clear_pointer(&builder->shared, g_array_unref);
    onnx__model_proto__free_unpacked(builder->proto, NULL);
    g_clear_error(&builder->error);
    g_free(builder);
}

/* --- ports -------------------------------------------------------------------------------------------------------- */

static Onnx__TensorShapeProto *new_shape(int rank, const gint64 *dims, const char *const *dim_names)
{
    Onnx__TensorShapeProto *shape = IFM_ONNX_NEW(tensor_shape_proto);
    for (int i = 0; i < rank; i++)
    {
        Onnx__TensorShapeProto__Dimension *dim = IFM_ONNX_NEW(tensor_shape_proto__dimension);
        if (dims[i] >= 0)
        {
            dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
            dim->dim_value = dims[i];
        }
        else if (dim_names != NULL && dim_names[i] != NULL)
        {
            dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
            dim->dim_param = g_strdup(dim_names[i]);
        }
        ifm_onnx_append(&shape->dim, &shape->n_dim, dim);
    }
    return shape;
}

static Onnx__ValueInfoProto *new_port(IfmModelBuilder *builder, const char *name, IfmDtype dtype, int rank,
                                      const gint64 *dims, const char *const *dim_names)
{
    if (rank < -1 || rank > IFM_MAX_RANK)
        fail(builder, "port '%s': rank %d is not within 0 to %d, nor -1", name, rank, IFM_MAX_RANK);
    Onnx__ValueInfoProto *info = ifm_onnx_new_port(name, dtype);
    if (rank >= 0)
        info->type->tensor_type->shape = new_shape(builder->error == NULL ? rank : 0, dims, dim_names);
    return info;
}

void ifm_model_builder_input(IfmModelBuilder *builder, const char *name, IfmDtype dtype, int rank, const gint64 *dims,
                             const char *const *dim_names)
{
    Onnx__GraphProto *graph = builder->proto->graph;
    ifm_onnx_append(&graph->input, &graph->n_input, new_port(builder, name, dtype, rank, dims, dim_names));
}

void ifm_model_builder_output(IfmModelBuilder *builder, const char *name, IfmDtype dtype, int rank, const gint64 *dims,
                              const char *const *dim_names)
{
    Onnx__GraphProto *graph = builder->proto->graph;
    ifm_onnx_append(&graph->output, &graph->n_output, new_port(builder, name, dtype, rank, dims, dim_names));
}

void ifm_model_builder_value(IfmModelBuilder *builder, const char *name, IfmDtype dtype, int rank, const gint64 *dims)
{
    Onnx__GraphProto *graph = builder->proto->graph;
    ifm_onnx_append(&graph->value_info, &graph->n_value_info, new_port(builder, name, dtype, rank, dims, NULL));
}

/* --- weights ------------------------------------------------------------------------------------------------------ */

/* new_weight: Adds an initializer without values. Returns: NULL on an error, which is in the builder. */
static Onnx__TensorProto *new_weight(IfmModelBuilder *builder, const char *name, IfmDtype dtype, int rank,
                                     const gint64 *shape, gsize *size)
{
    g_autoptr(GError) error = NULL;
    if (builder->error != NULL)
        return NULL;
    if (!ifm_shape_size_bytes(dtype, rank, shape, size, &error))
    {
        fail(builder, "weight '%s': %s", name, error->message);
        return NULL;
    }
    Onnx__TensorProto *tensor = ifm_onnx_new_tensor(name, (int)dtype, (gsize)rank, shape);
    ifm_onnx_append(&builder->proto->graph->initializer, &builder->proto->graph->n_initializer, tensor);
    return tensor;
}

/* add_weight: Adds an initializer of the model file. Its bytes follow later. */
static Onnx__TensorProto *add_weight(IfmModelBuilder *builder, const char *name, IfmDtype dtype, int rank,
                                     const gint64 *shape)
{
    gsize size;
    Onnx__TensorProto *tensor = new_weight(builder, name, dtype, rank, shape, &size);
    if (tensor == NULL)
        return NULL;
    if (size > MAX_FILE_BYTES - builder->weight_bytes)
    {
        fail(builder,
             "weight '%s': with its %zu bytes the weights are more than the %d (2 GiB) that one ONNX file can hold", name,
             size, MAX_FILE_BYTES);
        return NULL;
    }
    tensor->has_raw_data = TRUE;
    tensor->raw_data = (ProtobufCBinaryData){ size, NULL };
    builder->weight_bytes += size;
    return tensor;
}

static gboolean make_room(IfmModelBuilder *builder, Onnx__TensorProto *tensor)
{
    tensor->raw_data.data = g_try_malloc(MAX(tensor->raw_data.len, 1));
    if (tensor->raw_data.data != NULL)
        return TRUE;
    fail(builder, "weight '%s': no memory for %zu bytes", tensor->name, tensor->raw_data.len);
    builder->error->code = IFM_ERROR_MEMORY;
    return FALSE;
}

void ifm_model_builder_weight(IfmModelBuilder *builder, const char *name, const IfmTensor *tensor)
{
    if (!ifm_tensor_is_contiguous(tensor) || tensor->memory == IFM_MEMORY_DEVICE)
        fail(builder, "weight '%s': not contiguous host memory", name);
    Onnx__TensorProto *added = add_weight(builder, name, tensor->dtype, tensor->rank, tensor->shape);
    if (added != NULL && make_room(builder, added) && tensor->size_bytes > 0)
        memcpy(added->raw_data.data, tensor->data, tensor->size_bytes);
}

void ifm_model_builder_random_weight(IfmModelBuilder *builder, const char *name, int rank, const gint64 *shape,
                                     double bound, guint32 seed)
{
    RandomWeight weight = { .low = -bound, .high = bound, .seed = seed };
    weight.tensor = add_weight(builder, name, IFM_DTYPE_F32, rank, shape);
    if (weight.tensor != NULL)
        g_array_append_val(builder->drawn, weight);
}

void ifm_model_builder_external(IfmModelBuilder *builder, const char *location)
{
    if (builder->location != NULL)
        fail(builder, "external data '%s': there is '%s' already", location, builder->location);
    else if (*location == '\0' || strchr(location, '/') != NULL || g_str_equal(location, "..") ||
             g_str_equal(location, "."))
        fail(builder, "external data '%s': not the name of a file", location);
    else
        builder->location = g_strdup(location);
}

void ifm_model_builder_outline(IfmModelBuilder *builder)
{
    builder->outline = TRUE;
}

static void add_external_value(Onnx__TensorProto *tensor, const char *key, const char *value)
{
    ifm_onnx_add_entry(&tensor->external_data, &tensor->n_external_data, key, value);
}

/* refer: Says where in which file the values of a weight are. */
static void refer(Onnx__TensorProto *tensor, const char *location, gsize offset, gsize size)
{
    g_autofree char *offset_text = g_strdup_printf("%zu", offset), *length = g_strdup_printf("%zu", size);
    tensor->has_data_location = TRUE;
    tensor->data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    add_external_value(tensor, "location", location);
    add_external_value(tensor, "offset", offset_text);
    add_external_value(tensor, "length", length);
}

/* add_external: Gives the weight a place in the file of external data. */
static void add_external(IfmModelBuilder *builder, RandomWeight *weight)
{
    Onnx__TensorProto *tensor = weight->tensor;
    weight->external = TRUE;
    weight->offset = (builder->external_size + EXTERNAL_ALIGNMENT - 1) / EXTERNAL_ALIGNMENT * (gsize)EXTERNAL_ALIGNMENT;
    builder->external_size = weight->offset + weight->size;
    refer(tensor, builder->location, weight->offset, weight->size);
}

void ifm_model_builder_drawn_weight(IfmModelBuilder *builder, const char *name, int rank, const gint64 *shape, double low,
                                    double high, guint32 seed)
{
    RandomWeight weight = { .low = low, .high = high, .seed = seed, .by_index = TRUE };
    gboolean large = ifm_shape_size_bytes(IFM_DTYPE_F32, rank, shape, &weight.size, NULL) &&
                     weight.size >= IFM_MODEL_EXTERNAL_MIN_BYTES && builder->location != NULL;
    if (large && weight.size > (gsize)G_MAXINT64 / 2 - builder->external_size)
        fail(builder, "weight '%s': %zu bytes are too many", name, weight.size);
    weight.tensor = large ? new_weight(builder, name, IFM_DTYPE_F32, rank, shape, &weight.size)
                          : add_weight(builder, name, IFM_DTYPE_F32, rank, shape);
    if (weight.tensor == NULL)
        return;
    if (large)
        add_external(builder, &weight);
    g_array_append_val(builder->drawn, weight);
}

/* make_external: The padding between two weights is zeros. */
static gboolean make_external(IfmModelBuilder *builder)
{
    if (builder->external_size == 0 || builder->outline ||
        (builder->external = g_try_malloc0(builder->external_size)) != NULL)
        return TRUE;
    fail(builder, "no memory for %zu bytes of weights", builder->external_size);
    builder->error->code = IFM_ERROR_MEMORY;
    return FALSE;
}

static void draw_weights(IfmModelBuilder *builder)
{
    gboolean good = make_external(builder);
    for (guint i = 0; i < builder->drawn->len && good; i++)
    {
        const RandomWeight *weight = &g_array_index(builder->drawn, RandomWeight, i);
        Onnx__TensorProto *proto = weight->tensor;
        if (weight->external && builder->outline)
            continue;
        good = weight->external || make_room(builder, proto);
        if (good && weight->by_index)
        {
            void *values = weight->external ? builder->external + weight->offset : proto->raw_data.data;
            gsize size = weight->external ? weight->size : proto->raw_data.len;
            ifm_onnx_draw(values, size / sizeof(float), weight->low, weight->high, weight->seed, proto->name);
        }
        else if (good)
        {
            IfmTensor tensor;
            g_autoptr(GRand) random = ifm_onnx_random(weight->seed, proto->name);
            if (ifm_tensor_wrap(&tensor, IFM_DTYPE_F32, (int)proto->n_dims, proto->dims, proto->raw_data.data, NULL))
                ifm_tensor_fill_random(&tensor, random, weight->low, weight->high, NULL);
        }
    }
    g_array_set_size(builder->drawn, 0);
}

void ifm_model_builder_metadata(IfmModelBuilder *builder, const char *key, const char *value)
{
    ifm_onnx_add_entry(&builder->proto->metadata_props, &builder->proto->n_metadata_props, key, value);
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

gsize ifm_model_builder_node(IfmModelBuilder *builder, const char *op_type, const char *name, const char *const *inputs,
                             const char *const *outputs)
{
    Onnx__GraphProto *graph = builder->proto->graph;
    Onnx__NodeProto *node = ifm_onnx_new_node(op_type, g_strdup(name));
    for (gsize i = 0; inputs != NULL && inputs[i] != NULL; i++)
        ifm_onnx_append(&node->input, &node->n_input, g_strdup(inputs[i]));
    for (gsize i = 0; outputs != NULL && outputs[i] != NULL; i++)
        ifm_onnx_append(&node->output, &node->n_output, g_strdup(outputs[i]));
    ifm_onnx_append(&graph->node, &graph->n_node, node);
    return graph->n_node - 1;
}

gsize ifm_model_builder_n_nodes(const IfmModelBuilder *builder)
{
    return builder->proto->graph->n_node;
}

void ifm_model_builder_domain(IfmModelBuilder *builder, gsize node, const char *domain, gint64 version)
{
    Onnx__ModelProto *model = builder->proto;
    g_free(model->graph->node[node]->domain);
    model->graph->node[node]->domain = g_strdup(domain);
    for (gsize i = 0; i < model->n_opset_import; i++)
        if (g_strcmp0(model->opset_import[i]->domain, domain) == 0)
            return;
    ifm_onnx_append(&model->opset_import, &model->n_opset_import, ifm_onnx_new_opset(domain, version));
}

/* --- attributes --------------------------------------------------------------------------------------------------- */

/* node_at: NULL, and an error in the builder, where there is none. */
static Onnx__NodeProto *node_at(IfmModelBuilder *builder, gsize index, const char *attribute)
{
    Onnx__GraphProto *graph = builder->proto->graph;
    if (index < graph->n_node)
        return graph->node[index];
    fail(builder, "attribute '%s': there is no node %zu", attribute, index);
    return NULL;
}

void ifm_model_builder_int(IfmModelBuilder *builder, gsize node, const char *attribute, gint64 value)
{
    Onnx__NodeProto *proto = node_at(builder, node, attribute);
    if (proto != NULL)
        ifm_onnx_add_int(proto, attribute, value);
}

void ifm_model_builder_float(IfmModelBuilder *builder, gsize node, const char *attribute, double value)
{
    Onnx__NodeProto *proto = node_at(builder, node, attribute);
    if (proto != NULL)
        ifm_onnx_add_float(proto, attribute, value);
}

void ifm_model_builder_string(IfmModelBuilder *builder, gsize node, const char *attribute, const char *value)
{
    Onnx__NodeProto *proto = node_at(builder, node, attribute);
    if (proto != NULL)
        ifm_onnx_add_string(proto, attribute, value);
}

void ifm_model_builder_ints(IfmModelBuilder *builder, gsize node, const char *attribute, const gint64 *values, gsize n)
{
    Onnx__NodeProto *proto = node_at(builder, node, attribute);
    if (proto != NULL)
        ifm_onnx_add_ints(proto, attribute, values, n);
}

void ifm_model_builder_attributes(IfmModelBuilder *builder, gsize node, const json_t *attributes)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)attributes, name, value)
    {
        Onnx__NodeProto *proto = node_at(builder, node, name);
        if (proto != NULL && !ifm_onnx_add_value(proto, name, value))
            fail(builder,
                 json_is_array(value) ? "attribute '%s': a list of texts cannot be made"
                                      : "attribute '%s': its value is not known",
                 name);
    }
}

/* --- copies of parts of another model ----------------------------------------------------------------------------- */

gsize ifm_model_builder_copy_node(IfmModelBuilder *builder, const IfmNode *node)
{
    Onnx__GraphProto *graph = builder->proto->graph;
    ifm_onnx_append(&graph->node, &graph->n_node, ifm_onnx_copy_message(node->proto));
    return graph->n_node - 1;
}

static void rename_all(char **names, gsize n, GHashTable *tensors)
{
    for (gsize i = 0; tensors != NULL && i < n; i++)
    {
        const char *name = g_hash_table_lookup(tensors, names[i]);
        if (name != NULL)
            ifm_onnx_set_text(&names[i], g_strdup(name));
    }
}

gsize ifm_model_builder_copy_node_as(IfmModelBuilder *builder, const IfmNode *node, const char *name, GHashTable *tensors)
{
    const gsize index = ifm_model_builder_copy_node(builder, node);
    Onnx__NodeProto *proto = builder->proto->graph->node[index];
    ifm_onnx_set_text(&proto->name, g_strdup(name));
    rename_all(proto->input, proto->n_input, tensors);
    rename_all(proto->output, proto->n_output, tensors);
    return index;
}

static void clear_shared(gpointer data)
{
    IfmOnnxExternal *external = data;
    g_free(external->location);
    g_bytes_unref(external->bytes);
}

void ifm_model_builder_share_external(IfmModelBuilder *builder)
{
    if (builder->shared != NULL)
        return;
    builder->shared = g_array_new(FALSE, FALSE, sizeof(IfmOnnxExternal));
    g_array_set_clear_func(builder->shared, clear_shared);
}

/* share: Gives the weight the same place in external data as in its model. FALSE: it is not in external data. */
static gboolean share(IfmModelBuilder *builder, const IfmModel *model, const IfmInitializer *weight)
{
    const Onnx__TensorProto *from = weight->proto;
    if (builder->shared == NULL || !ifm_onnx_is_external(from))
        return FALSE;
    const char *location = ifm_onnx_external_value(from, "location");
    GBytes *bytes = location != NULL ? g_hash_table_lookup(model->external, location) : NULL;
    gsize size;
    Onnx__TensorProto *tensor = bytes != NULL ? new_weight(builder, from->name, weight->tensor.dtype, weight->tensor.rank,
                                                           weight->tensor.shape, &size)
                                              : NULL;
    if (tensor == NULL)
        return FALSE;
    ifm_onnx_copy_external(tensor, from);
    gboolean known = FALSE;
    for (guint i = 0; i < builder->shared->len; i++)
        known |= g_str_equal(g_array_index(builder->shared, IfmOnnxExternal, i).location, location);
    IfmOnnxExternal external = { g_strdup(location), g_bytes_ref(bytes) };
    if (known)
        clear_shared(&external);
    else
        g_array_append_val(builder->shared, external);
    return TRUE;
}

void ifm_model_builder_copy_weight(IfmModelBuilder *builder, const IfmModel *model, const char *name)
{
    const IfmInitializer *weight = g_hash_table_lookup(model->initializers, name);
    Onnx__GraphProto *graph = builder->proto->graph;
    if (weight == NULL)
        fail(builder, "weight '%s': %s has none of that name", name, ifm_model_name(model));
    else if (weight->has_tensor && !share(builder, model, weight))
        ifm_model_builder_weight(builder, name, &weight->tensor);
    else if (!weight->has_tensor)
        ifm_onnx_append(&graph->initializer, &graph->n_initializer, ifm_onnx_copy_message(weight->proto));
}

void ifm_model_builder_copy_inputs(IfmModelBuilder *builder, const IfmModel *model)
{
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
    {
        const IfmPort *port = ifm_model_input(model, i);
        ifm_model_builder_input(builder, port->name, port->dtype, port->rank, port->dims,
                                (const char *const *)port->dim_names);
    }
}

void ifm_model_builder_copy_outputs(IfmModelBuilder *builder, const IfmModel *model)
{
    for (gsize i = 0; i < ifm_model_n_outputs(model); i++)
    {
        const IfmPort *port = ifm_model_output(model, i);
        ifm_model_builder_output(builder, port->name, port->dtype, port->rank, port->dims,
                                 (const char *const *)port->dim_names);
    }
}

void ifm_model_builder_copy_context(IfmModelBuilder *builder, const IfmModel *model)
{
    Onnx__ModelProto *to = builder->proto, *from = model->proto;
    builder->outline = model->outline;
    for (gsize i = 0; i < from->n_opset_import; i++)
    {
        const char *domain = from->opset_import[i]->domain;
        if (domain != NULL && *domain != '\0' && !g_str_equal(domain, "ai.onnx"))
            ifm_onnx_append(&to->opset_import, &to->n_opset_import, ifm_onnx_copy_message(from->opset_import[i]));
    }
    for (gsize i = 0; i < from->n_functions; i++)
        ifm_onnx_append(&to->functions, &to->n_functions, ifm_onnx_copy_message(from->functions[i]));
}

void ifm_model_builder_copy_metadata(IfmModelBuilder *builder, const IfmModel *model)
{
    for (gsize i = 0; i < model->proto->n_metadata_props; i++)
    {
        const Onnx__StringStringEntryProto *entry = model->proto->metadata_props[i];
        if (entry->key != NULL && !g_str_equal(entry->key, IFM_MODEL_EXPORTED))
            ifm_model_builder_metadata(builder, entry->key, entry->value != NULL ? entry->value : "");
    }
}

static void note_domains(Onnx__GraphProto *graph, gpointer user)
{
    for (gsize i = 0; i < graph->n_node; i++)
        if (graph->node[i]->domain != NULL)
            g_hash_table_add(user, graph->node[i]->domain);
}

void ifm_model_builder_drop_domains(IfmModelBuilder *builder)
{
    Onnx__ModelProto *model = builder->proto;
    g_autoptr(GHashTable) used = g_hash_table_new(g_str_hash, g_str_equal);
    gsize n_kept = 0;
    ifm_onnx_each_graph(model->graph, note_domains, used);
    for (gsize i = 0; i < model->n_opset_import; i++)
    {
        Onnx__OperatorSetIdProto *set = model->opset_import[i];
        const gboolean is_default = set->domain == NULL || *set->domain == '\0' || g_str_equal(set->domain, "ai.onnx");
        if (is_default || model->n_functions > 0 || g_hash_table_contains(used, set->domain))
            model->opset_import[n_kept++] = set;
        else
            onnx__operator_set_id_proto__free_unpacked(set, NULL);
    }
    model->n_opset_import = n_kept;
}

void ifm_model_builder_node_output(IfmModelBuilder *builder, gsize node, gsize index, const char *name)
{
    Onnx__NodeProto *proto = node < builder->proto->graph->n_node ? builder->proto->graph->node[node] : NULL;
    if (proto == NULL || proto->n_output > index)
    {
        fail(builder, "output '%s': node %zu is none or has that output", name, node);
        return;
    }
    while (proto->n_output < index)
        ifm_onnx_append(&proto->output, &proto->n_output, g_strdup(""));
    ifm_onnx_append(&proto->output, &proto->n_output, g_strdup(name));
}

/* --- finishing ---------------------------------------------------------------------------------------------------- */

IfmModel *ifm_model_builder_finish(IfmModelBuilder *builder, GError **error)
{
    g_autofree char *name = g_strdup(builder->proto->graph->name);
    g_autoptr(GBytes) bytes = NULL;
    if (builder->error == NULL)
        draw_weights(builder);
    if (builder->error != NULL)
        g_propagate_prefixed_error(error, g_steal_pointer(&builder->error), "%s: ", name);
    else
        bytes = ifm_onnx_pack(builder->proto, name, error);
    if (bytes == NULL)
    {
        ifm_onnx_tidy_error(error, NULL);
        return NULL;
    }
    if (builder->outline)
        return ifm_onnx_parse_outline(bytes, name, error);
    if (builder->external == NULL && (builder->shared == NULL || builder->shared->len == 0))
        return ifm_model_parse(bytes, name, error);
    ifm_model_builder_share_external(builder);
    if (builder->external != NULL)
    {
        IfmOnnxExternal own = { g_strdup(builder->location),
                                g_bytes_new_take(g_steal_pointer(&builder->external), builder->external_size) };
        g_array_append_val(builder->shared, own);
    }
    return ifm_onnx_parse_built(bytes, name, (const IfmOnnxExternal *)(const void *)builder->shared->data,
                                builder->shared->len, error);
}
