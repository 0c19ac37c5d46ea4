/* Half precision computed in f32, and packed integers of 2 and 4 bits as bytes. Nothing is converted here: nodes do it, so
 * that a model does not grow, wherever its weights are. */
#include "rewrite.h"

#include <stdlib.h>
#include <string.h>

/* Head: the nodes that come first in the top-level graph, and what reads their outputs instead. */
typedef struct
{
    IfmRewriteScope scope;
    GHashTable *names;
} Head;

static gboolean is_half(int dtype)
{
    return dtype == IFM_DTYPE_F16 || dtype == IFM_DTYPE_BF16;
}

static gboolean is_packed(int dtype)
{
    return dtype == ONNX__TENSOR_PROTO__DATA_TYPE__UINT4 || dtype == ONNX__TENSOR_PROTO__DATA_TYPE__INT4 ||
           dtype == ONNX__TENSOR_PROTO__DATA_TYPE__UINT2 || dtype == ONNX__TENSOR_PROTO__DATA_TYPE__INT2;
}

static gboolean is_signed(int dtype)
{
    return dtype == ONNX__TENSOR_PROTO__DATA_TYPE__INT4 || dtype == ONNX__TENSOR_PROTO__DATA_TYPE__INT2;
}

/* --- packed integers ---------------------------------------------------------------------------------------------- */

/* table: What each byte holds: [256, 8 / bits] */
static const char *table(IfmRewrite *rewrite, int bits, gboolean has_sign, IfmDtype dtype)
{
    const gint64 n = 8 / bits, dims[] = { G_MAXUINT8 + 1, n };
    const gsize count = (gsize)(dims[0] * dims[1]), size = count * ifm_dtype_size_bytes(dtype);
    g_autofree char *key = g_strdup_printf("table %d %d %d", bits, has_sign, (int)dtype);
    const char *known = g_hash_table_lookup(rewrite->constants, key);
    g_autofree guint8 *bytes = g_malloc(size);
    if (known != NULL)
        return known;
    g_assert(dtype == IFM_DTYPE_F32 || ifm_dtype_size_bytes(dtype) == 1);
    for (gsize i = 0; i < count; i++)
    {
        const int digit = (int)(i / (gsize)n) >> bits * (int)(i % (gsize)n) & ((1 << bits) - 1);
        const int value = has_sign && digit >= 1 << (bits - 1) ? digit - (1 << bits) : digit; /* two's complement */
        if (dtype == IFM_DTYPE_F32)
            ((float *)(void *)bytes)[i] = (float)value;
        else
            bytes[i] = (guint8)value;
    }
    const char *name = ifm_emit_tensor(rewrite, "inferometer.table", dtype, 2, dims, bytes, size);
    g_hash_table_insert(rewrite->constants, g_steal_pointer(&key), (gpointer)name);
    return name;
}

const char *ifm_emit_unpacked(IfmRewriteScope *scope, const char *bytes, int bits, gboolean has_sign, IfmDtype dtype)
{
    const gint64 flat[] = { -1 };
    if (bits == 8)
        return ifm_emit_reshape(scope, ifm_emit_cast(scope, NULL, bytes, dtype), flat, 1);
    const char *index = ifm_emit_cast(scope, NULL, bytes, IFM_DTYPE_I32);
    const char *rows = ifm_exact(scope, "Gather", table(scope->rewrite, bits, has_sign, dtype), index, NULL);
    return ifm_emit_reshape(scope, rows, flat, 1);
}

/* as_bytes: The same values as a tensor of bytes, in the same place. */
static const char *as_bytes(IfmRewrite *rewrite, const Onnx__TensorProto *tensor, gint64 n_bytes)
{
    Onnx__GraphProto *graph = rewrite->copy->proto->graph;
    const gsize size = (gsize)n_bytes;
    g_autofree guint8 *bytes = NULL;
    if (tensor->n_int32_data > 0) /* a byte in each */
    {
        bytes = g_malloc0(size);
        for (gsize i = 0; i < MIN(size, tensor->n_int32_data); i++)
            bytes[i] = (guint8)tensor->int32_data[i];
    }
    if (!ifm_onnx_is_external(tensor))
        return ifm_emit_tensor(rewrite, "inferometer.packed", IFM_DTYPE_U8, 1, &n_bytes,
                               bytes != NULL ? bytes : tensor->raw_data.data, size);
    const char *name = ifm_emit_tensor(rewrite, "inferometer.packed", IFM_DTYPE_U8, 1, &n_bytes, NULL, 0);
    Onnx__TensorProto *added = graph->initializer[graph->n_initializer - 1];
    added->has_raw_data = FALSE;
    ifm_onnx_copy_external(added, tensor);
    return name;
}

/* unpack: A constant of 2 or 4 bits as one of bytes. Returns: its name */
static const char *unpack(IfmRewriteScope *scope, const Onnx__TensorProto *tensor)
{
    IfmRewrite *rewrite = scope->rewrite;
    const int dtype = tensor->data_type, bits = (int)ifm_onnx_type_bits(dtype);
    gint64 n = 1;
    for (gsize i = 0; i < tensor->n_dims; i++)
        n *= tensor->dims[i]; /* checked when the tensor was read */
    const gint64 n_bytes = (n * bits + 7) / 8;
    const char *x = ifm_emit_unpacked(scope, as_bytes(rewrite, tensor, n_bytes), bits, is_signed(dtype),
                                      is_signed(dtype) ? IFM_DTYPE_I8 : IFM_DTYPE_U8);
    if (n != n_bytes * 8 / bits)
    {
        const gint64 start = 0;
        x = ifm_exact(scope, "Slice", x, ifm_emit_list(rewrite, &start, 1), ifm_emit_list(rewrite, &n, 1), NULL);
    }
    x = ifm_emit_reshape(scope, x, tensor->dims, tensor->n_dims);
    g_hash_table_insert(rewrite->narrow, (gpointer)x, GINT_TO_POINTER(dtype));
    return x;
}

/* --- types that a graph states ------------------------------------------------------------------------------------ */

static void widen_type(Onnx__TypeProto *type)
{
    if (type == NULL)
        return;
    switch (type->value_case)
    {
    case ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE:
        if (is_half(type->tensor_type->elem_type))
            type->tensor_type->elem_type = IFM_DTYPE_F32;
        else if (is_packed(type->tensor_type->elem_type))
            type->tensor_type->elem_type = is_signed(type->tensor_type->elem_type) ? IFM_DTYPE_I8 : IFM_DTYPE_U8;
        break;
    case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE:
        widen_type(type->sequence_type->elem_type);
        break;
    case ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE:
        widen_type(type->optional_type->elem_type);
        break;
    default:
        break;
    }
}

/* widen_attributes: What names a type of half precision names f32. */
static gboolean widen_attributes(Onnx__NodeProto *node)
{
    gboolean found = FALSE;
    for (gsize i = 0; i < node->n_attribute; i++)
    {
        Onnx__AttributeProto *attribute = node->attribute[i];
        if (attribute->tp != NULL)
            widen_type(attribute->tp);
        if (ifm_names_half(attribute))
        {
            attribute->i = IFM_DTYPE_F32;
            found = TRUE;
        }
    }
    return found;
}

/* makes_constant: Returns: the tensor attribute that gives the node's output its type; NULL. */
static const Onnx__TensorProto *makes_constant(const Onnx__NodeProto *node)
{
    if (node->n_output == 0 || (!g_str_equal(node->op_type, "Constant") && !g_str_equal(node->op_type, "ConstantOfShape")))
        return NULL;
    for (gsize i = 0; i < node->n_attribute; i++)
        if (g_strcmp0(node->attribute[i]->name, "value") == 0)
            return node->attribute[i]->t;
    return NULL;
}

/* --- graphs ------------------------------------------------------------------------------------------------------- */

/* stand_in: Emits what everything reads instead of a tensor of half precision or of packed integers. */
static void stand_in(Head *head, const char *name, int dtype, const Onnx__TensorProto *constant)
{
    const char *other = NULL;
    if (is_half(dtype))
        other = ifm_emit_cast(&head->scope, NULL, name, IFM_DTYPE_F32);
    else if (is_packed(dtype) && constant != NULL)
        other = unpack(&head->scope, constant);
    if (other != NULL)
    {
        const char *kept = g_string_chunk_insert_const(head->scope.rewrite->strings, name);
        g_hash_table_insert(head->names, (gpointer)kept, (gpointer)other);
        g_hash_table_insert(head->scope.rewrite->stands_for, (gpointer)other, (gpointer)kept);
    }
}

static void widen_nodes(IfmRewrite *rewrite, Onnx__GraphProto *graph, gboolean is_body);

/* widen_body: A body's constants are converted at its start; what comes in is f32 already. */
static void widen_body(IfmRewrite *rewrite, Onnx__GraphProto *body)
{
    for (gsize i = 0; i < body->n_input; i++)
        widen_type(body->input[i]->type);
    for (gsize i = 0; i < body->n_output; i++)
        widen_type(body->output[i]->type);
    widen_nodes(rewrite, body, TRUE);
}

static const char *keep_string(IfmRewrite *rewrite, const char *text)
{
    return g_string_chunk_insert_const(rewrite->strings, text);
}

/* constant_node: A Constant of half precision gets another name, and a Cast makes the old one. Of packed integers bytes
 * take its place. FALSE: it is neither. */
static gboolean constant_node(Head *head, Onnx__NodeProto *node)
{
    const Onnx__TensorProto *tensor = makes_constant(node);
    const int dtype = tensor != NULL ? tensor->data_type : 0;
    if (is_packed(dtype) && g_str_equal(node->op_type, "Constant"))
    {
        stand_in(head, node->output[0], dtype, tensor);
        g_ptr_array_add(head->scope.nodes, node);
        return TRUE;
    }
    if (!is_half(dtype))
        return FALSE;
    const char *name = keep_string(head->scope.rewrite, node->output[0]);
    free(node->output[0]);
    node->output[0] = g_strdup(ifm_rewrite_name(head->scope.rewrite, "inferometer.half"));
    g_ptr_array_add(head->scope.nodes, node);
    ifm_emit_cast(&head->scope, name, node->output[0], IFM_DTYPE_F32);
    return TRUE;
}

/* give_outputs: An output of half precision that a node makes: the node makes another in f32, which all read, and a Cast at
 * the end makes the output. */
static void give_outputs(IfmRewrite *rewrite, Onnx__GraphProto *graph)
{
    g_autoptr(GHashTable) ports = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    for (gsize i = 0; i < graph->n_output; i++)
        if (is_half(ifm_onnx_elem_type(graph->output[i])))
            g_hash_table_insert(ports, graph->output[i]->name, GINT_TO_POINTER(ifm_onnx_elem_type(graph->output[i])));
    IfmRewriteScope scope;
    ifm_rewrite_scope_init(&scope, rewrite, NULL, graph);
    for (gsize i = 0; i < graph->n_node; i++)
    {
        g_ptr_array_add(scope.nodes, graph->node[i]);
        for (gsize k = 0; k < graph->node[i]->n_output; k++)
        {
            char **output = &graph->node[i]->output[k];
            if (!g_hash_table_contains(ports, *output))
                continue;
            const char *other = ifm_rewrite_name(rewrite, "inferometer.output");
            const char *name = keep_string(rewrite, *output);
            g_hash_table_insert(names, (gpointer)name, (gpointer)other);
            g_hash_table_insert(rewrite->stands_for, (gpointer)other, (gpointer)name);
            free(*output);
            *output = g_strdup(other);
        }
    }
    ifm_rewrite_replace(graph, names);
    GHashTableIter iter;
    gpointer port, wide;
    g_hash_table_iter_init(&iter, names);
    while (g_hash_table_iter_next(&iter, &port, &wide))
        ifm_emit_cast(&scope, port, wide, GPOINTER_TO_INT(g_hash_table_lookup(ports, port)));
    ifm_rewrite_scope_end(&scope);
}

static void widen_nodes(IfmRewrite *rewrite, Onnx__GraphProto *graph, gboolean is_body)
{
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    Head head = { .names = names };
    ifm_rewrite_scope_init(&head.scope, rewrite, NULL, graph);
    for (gsize i = 0; i < graph->n_initializer; i++)
        stand_in(&head, graph->initializer[i]->name, graph->initializer[i]->data_type, graph->initializer[i]);
    for (gsize i = 0; i < graph->n_input && !is_body; i++)
        if (!g_hash_table_contains(names, graph->input[i]->name))
            stand_in(&head, graph->input[i]->name, ifm_onnx_elem_type(graph->input[i]), NULL);
    for (gsize i = 0; i < graph->n_node; i++)
    {
        Onnx__GraphProto *body;
        for (gsize k = 0; (body = ifm_onnx_body(graph->node[i], k)) != NULL; k++)
            widen_body(rewrite, body);
        rewrite->n_changes += widen_attributes(graph->node[i]) ? 1 : 0;
        if (!constant_node(&head, graph->node[i]))
            g_ptr_array_add(head.scope.nodes, graph->node[i]);
    }
    ifm_rewrite_replace(graph, names); /* in the nodes that were there */
    ifm_rewrite_scope_end(&head.scope);
    if (!is_body)
        give_outputs(rewrite, graph);
}

void ifm_reference_widen(IfmRewrite *rewrite)
{
    widen_nodes(rewrite, rewrite->copy->proto->graph, FALSE);
    rewrite->is_widened = TRUE;
}
