/* What a model stores, by element type, in its graph and all subgraphs; and the precision that it is written in. */
#include <string.h>

#include "memory-place.h"
#include "model-uses.h"

/* --- element types ---------------------------------------------------------------------------------------------------- */

const char *ifm_onnx_type_name(gint type)
{
    static const char *const narrow[] = {
        [ONNX__TENSOR_PROTO__DATA_TYPE__COMPLEX64] = "c64",
        [ONNX__TENSOR_PROTO__DATA_TYPE__COMPLEX128] = "c128",
        [ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT8E4M3FN] = "f8e4m3fn",
        [ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT8E4M3FNUZ] = "f8e4m3fnuz",
        [ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT8E5M2] = "f8e5m2",
        [ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT8E5M2FNUZ] = "f8e5m2fnuz",
        [ONNX__TENSOR_PROTO__DATA_TYPE__UINT4] = "u4",
        [ONNX__TENSOR_PROTO__DATA_TYPE__INT4] = "i4",
        [ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT4E2M1] = "f4e2m1",
        [ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT8E8M0] = "f8e8m0",
        [ONNX__TENSOR_PROTO__DATA_TYPE__UINT2] = "u2",
        [ONNX__TENSOR_PROTO__DATA_TYPE__INT2] = "i2",
    };
    if (type == ONNX__TENSOR_PROTO__DATA_TYPE__STRING)
        return "string";
    return type > 0 && type < (gint)G_N_ELEMENTS(narrow) && narrow[type] != NULL ? narrow[type]
                                                                                 : ifm_dtype_name((IfmDtype)type);
}

/* --- by element type -------------------------------------------------------------------------------------------------- */

typedef struct
{
    const IfmUses *uses; /* NULL: parameters are not asked for */
    GArray *rows;        /* IfmStoredType */
} Store;

static void add(Store *store, gint type, gint64 n_elements, gint64 bytes, gint64 n_parameters)
{
    const char *name = ifm_onnx_type_name(type);
    guint at = 0;
    while (at < store->rows->len && !g_str_equal(g_array_index(store->rows, IfmStoredType, at).dtype, name))
        at++;
    if (at == store->rows->len)
        g_array_append_val(store->rows, ((IfmStoredType){ .dtype = name }));
    IfmStoredType *row = &g_array_index(store->rows, IfmStoredType, at);
    row->n_tensors++;
    row->n_elements = ifm_sum_up_to_max(row->n_elements, n_elements);
    row->bytes = ifm_sum_up_to_max(row->bytes, bytes);
    row->n_parameters = ifm_sum_up_to_max(row->n_parameters, n_parameters);
}

/* Of a checked tensor with values in the file, in external data or in a typed field. */
static gint64 tensor_bytes(const Onnx__TensorProto *tensor)
{
    const gint64 bits = ifm_onnx_type_bits(tensor->data_type);
    gint64 texts = 0, all;
    for (gsize i = 0; i < tensor->n_string_data; i++)
        texts += (gint64)tensor->string_data[i].len;
    if (bits == 0 || __builtin_mul_overflow(ifm_onnx_n_elements(tensor), bits, &all))
        return texts;
    return all / 8 + (all % 8 != 0);
}

static void add_tensor(Store *store, const char *name, const Onnx__TensorProto *tensor, gboolean is_constant)
{
    if (tensor != NULL)
        add(store, tensor->data_type, ifm_onnx_n_elements(tensor), tensor_bytes(tensor),
            name != NULL && store->uses != NULL ? ifm_uses_n_parameters(store->uses, name, tensor, is_constant) : 0);
}

static void add_sparse(Store *store, const Onnx__SparseTensorProto *sparse)
{
    add_tensor(store, NULL, sparse->values, FALSE);
    add_tensor(store, NULL, sparse->indices, FALSE);
}

static void add_constant(Store *store, const Onnx__NodeProto *node)
{
    for (gsize i = 0; i < node->n_attribute; i++)
    {
        const Onnx__AttributeProto *value = node->attribute[i];
        const gint64 n_floats = (gint64)value->n_floats + (value->has_f != 0);
        const gint64 n_ints = (gint64)value->n_ints + (value->has_i != 0);
        gint64 texts = value->has_s ? (gint64)value->s.len : 0;
        for (gsize k = 0; k < value->n_strings; k++)
            texts += (gint64)value->strings[k].len;
        add_tensor(store, node->n_output > 0 ? node->output[0] : NULL, value->t, TRUE);
        if (value->sparse_tensor != NULL)
            add_sparse(store, value->sparse_tensor);
        if (n_floats > 0)
            add(store, IFM_DTYPE_F32, n_floats, 4 * n_floats, 0);
        if (n_ints > 0)
            add(store, IFM_DTYPE_I64, n_ints, 8 * n_ints, 0);
        if (value->has_s || value->n_strings > 0)
            add(store, IFM_DTYPE_STRING, (gint64)value->n_strings + (value->has_s != 0), texts, 0);
    }
}

static void add_graph(Onnx__GraphProto *graph, gpointer user)
{
    Store *store = user;
    for (gsize i = 0; i < graph->n_initializer; i++)
        add_tensor(store, graph->initializer[i]->name, graph->initializer[i], FALSE);
    for (gsize i = 0; i < graph->n_sparse_initializer; i++)
        add_sparse(store, graph->sparse_initializer[i]);
    for (gsize i = 0; i < graph->n_node; i++)
        if (ifm_onnx_is_constant(graph->node[i]))
            add_constant(store, graph->node[i]);
}

static int by_bytes(gconstpointer a, gconstpointer b)
{
    const IfmStoredType *x = a, *y = b;
    return x->bytes != y->bytes ? (x->bytes < y->bytes ? 1 : -1) : strcmp(x->dtype, y->dtype);
}

/* @uses: (optional) */
static GArray *store_of(const IfmModel *model, const IfmUses *uses)
{
    Store store = { uses, g_array_new(FALSE, FALSE, sizeof(IfmStoredType)) };
    ifm_onnx_each_graph(model->proto->graph, add_graph, &store);
    g_array_sort(store.rows, by_bytes);
    return store.rows;
}

GArray *ifm_model_stored(const IfmModel *model)
{
    g_autoptr(IfmUses) uses = ifm_uses_new(model);
    return store_of(model, uses);
}

gint64 ifm_model_n_parameters(const IfmModel *model)
{
    g_autoptr(GArray) rows = ifm_model_stored(model);
    gint64 total = 0;
    for (guint i = 0; i < rows->len; i++)
        total = ifm_sum_up_to_max(total, g_array_index(rows, IfmStoredType, i).n_parameters);
    return total;
}

gint64 ifm_model_stored_bytes(const IfmModel *model)
{
    g_autoptr(GArray) rows = store_of(model, NULL);
    gint64 total = 0;
    for (guint i = 0; i < rows->len; i++)
        total = ifm_sum_up_to_max(total, g_array_index(rows, IfmStoredType, i).bytes);
    return total;
}

/* --- the precision that it is written in ------------------------------------------------------------------------------ */

typedef struct
{
    GHashTable *types; /* tensor -> element type */
    IfmDtype lowest;
} Written;

static void note(Written *written, const char *tensor, gint type)
{
    if (tensor != NULL && ifm_dtype_is_float((IfmDtype)type))
        g_hash_table_insert(written->types, (gpointer)tensor, GINT_TO_POINTER(type));
}

static void note_value(Written *written, const Onnx__ValueInfoProto *value)
{
    note(written, value->name, ifm_onnx_elem_type(value));
}

static gboolean is_cast(const Onnx__NodeProto *node)
{
    return g_strcmp0(node->op_type, "Cast") == 0 || g_strcmp0(node->op_type, "CastLike") == 0;
}

/* type_made: The element type that an attribute gives the node's output; 0: it gives none. */
static gint type_made(const Onnx__NodeProto *node, const Onnx__AttributeProto *attribute)
{
    static const char *const names[] = { "to", "dtype", "output_dtype", NULL };
    const gboolean fills = g_strcmp0(node->op_type, "ConstantOfShape") == 0 || ifm_onnx_is_constant(node);
    if (attribute->t != NULL)
        return fills ? attribute->t->data_type : 0;
    return attribute->name != NULL && g_strv_contains(names, attribute->name) ? (gint)attribute->i : 0;
}

static void note_made(Written *written, const Onnx__NodeProto *node)
{
    for (gsize i = 0; node->n_output > 0 && i < node->n_attribute; i++)
    {
        const gint type = type_made(node, node->attribute[i]);
        note(written, node->output[0], type);
        if (!is_cast(node) && !ifm_onnx_is_constant(node))
            written->lowest = ifm_dtype_lower(written->lowest, (IfmDtype)type);
    }
}

static void note_graph(Onnx__GraphProto *graph, gpointer user)
{
    for (gsize i = 0; i < graph->n_input; i++)
        note_value(user, graph->input[i]);
    for (gsize i = 0; i < graph->n_value_info; i++)
        note_value(user, graph->value_info[i]);
    for (gsize i = 0; i < graph->n_initializer; i++)
        note(user, graph->initializer[i]->name, graph->initializer[i]->data_type);
    for (gsize i = 0; i < graph->n_node; i++)
        note_made(user, graph->node[i]);
}

static void note_reads(Onnx__GraphProto *graph, gpointer user)
{
    Written *written = user;
    for (gsize i = 0; i < graph->n_node; i++)
        for (gsize k = 0; k < graph->node[i]->n_input && !is_cast(graph->node[i]); k++)
            written->lowest = ifm_dtype_lower(
                written->lowest, GPOINTER_TO_INT(g_hash_table_lookup(written->types, graph->node[i]->input[k])));
}

IfmDtype ifm_model_dtype(const IfmModel *model)
{
    g_autoptr(GHashTable) types = g_hash_table_new(g_str_hash, g_str_equal);
    Written written = { types, IFM_DTYPE_UNDEFINED };
    ifm_onnx_each_graph(model->proto->graph, note_graph, &written);
    ifm_onnx_each_graph(model->proto->graph, note_reads, &written);
    return written.lowest != IFM_DTYPE_UNDEFINED ? written.lowest : IFM_DTYPE_F32;
}

/* --- the types that it names ------------------------------------------------------------------------------------------ */

typedef struct
{
    gint type;
    gboolean is_named;
} Named;

static void look_at(Named *named, Onnx__ValueInfoProto *const *values, gsize n)
{
    for (gsize i = 0; i < n; i++)
        named->is_named |= ifm_onnx_elem_type(values[i]) == named->type;
}

static void look_in(Onnx__GraphProto *graph, gpointer user)
{
    Named *named = user;
    look_at(named, graph->input, graph->n_input);
    look_at(named, graph->output, graph->n_output);
    look_at(named, graph->value_info, graph->n_value_info);
    for (gsize i = 0; i < graph->n_node; i++)
        for (gsize k = 0; k < graph->node[i]->n_attribute && !ifm_onnx_is_constant(graph->node[i]); k++)
            named->is_named |= type_made(graph->node[i], graph->node[i]->attribute[k]) == named->type;
}

gboolean ifm_model_names_dtype(const IfmModel *model, IfmDtype dtype)
{
    Named named = { .type = (gint)dtype };
    if (dtype != IFM_DTYPE_UNDEFINED)
        ifm_onnx_each_graph(model->proto->graph, look_in, &named);
    return named.is_named;
}
