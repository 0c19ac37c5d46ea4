/* Emitting nodes and constants. */
#include <stdarg.h>
#include <string.h>

#include "gradient-private.h"

/* new_name: "PART.NODE.WHAT", with a number behind it where that is taken: the one behind the last, so that a thousand of
 * one name are not tried a thousand times each. */
static const char *new_name(IfmBack *back, GHashTable *taken, const char *what)
{
    g_autoptr(GString) name = g_string_new(back->part);
    if (back->node != NULL && *back->node->name != '\0')
        g_string_append_printf(name, ".%s", back->node->name);
    else if (back->node != NULL)
        g_string_append_printf(name, ".node%zu", back->node_index);
    g_string_append_printf(name, ".%s", what);
    gsize length = name->len;
    char *base = g_string_chunk_insert_const(back->strings, name->str);
    GHashTable *numbers = taken == back->taken_nodes ? back->node_numbers : back->numbers;
    int number = MAX(GPOINTER_TO_INT(g_hash_table_lookup(numbers, base)), 1);
    for (; g_hash_table_contains(taken, name->str); number++)
    {
        g_string_truncate(name, length);
        g_string_append_printf(name, ".%d", number + 1);
    }
    g_hash_table_insert(numbers, base, GINT_TO_POINTER(number));
    char *kept = g_string_chunk_insert(back->strings, name->str);
    g_hash_table_add(taken, kept);
    return kept;
}

const char *ifm_back_op_list(IfmBack *back, const char *output, const char *op_type, const GPtrArray *inputs)
{
    g_autoptr(GPtrArray) ended = g_ptr_array_new();
    for (guint i = 0; i < inputs->len; i++)
        g_ptr_array_add(ended, g_ptr_array_index(inputs, i));
    g_ptr_array_add(ended, NULL);
    g_autofree char *what = g_strndup(op_type, strcspn(op_type, " ")); /* attributes follow */
    const char *name = new_name(back, back->taken_nodes, what);
    if (output == NULL)
        output = new_name(back, back->taken, what);
    back->last = ifm_model_builder_node(back->builder, op_type, name, (const char *const *)ended->pdata,
                                        (const char *const[]){ output, NULL });
    return output;
}

const char *ifm_back_op_to(IfmBack *back, const char *output, const char *op_type, ...)
{
    g_autoptr(GPtrArray) list = g_ptr_array_new();
    va_list inputs;
    va_start(inputs, op_type);
    for (const char *input = va_arg(inputs, const char *); input != NULL; input = va_arg(inputs, const char *))
        g_ptr_array_add(list, (gpointer)input);
    va_end(inputs);
    return ifm_back_op_list(back, output, op_type, list);
}

const char *ifm_back_more(IfmBack *back, gsize index)
{
    const char *output = new_name(back, back->taken, "more");
    ifm_model_builder_node_output(back->builder, back->last, index, output);
    return output;
}

void ifm_back_int(IfmBack *back, const char *attribute, gint64 value)
{
    ifm_model_builder_int(back->builder, back->last, attribute, value);
}

void ifm_back_ints(IfmBack *back, const char *attribute, const gint64 *values, gsize n)
{
    ifm_model_builder_ints(back->builder, back->last, attribute, values, n);
}

void ifm_back_float(IfmBack *back, const char *attribute, double value)
{
    ifm_model_builder_float(back->builder, back->last, attribute, value);
}

/* --- constants ---------------------------------------------------------------------------------------------------- */

/* constant: A weight of these bytes. All uses of the same bytes share it. */
static const char *constant(IfmBack *back, const IfmTensor *tensor)
{
    g_autofree char *shape = ifm_shape_to_string(tensor->rank, tensor->shape);
    g_autofree char *digest = g_compute_checksum_for_data(G_CHECKSUM_SHA256, tensor->data, tensor->size_bytes);
    g_autofree char *key = g_strdup_printf("%s %s %s", ifm_dtype_name(tensor->dtype), shape, digest);
    const char *name = g_hash_table_lookup(back->constants, key);
    if (name != NULL)
        return name;
    const IfmNode *node = back->node;
    back->node = NULL; /* shared: it is no node's own */
    name = new_name(back, back->taken, "constant");
    back->node = node;
    ifm_model_builder_weight(back->builder, name, tensor);
    g_hash_table_insert(back->constants, g_steal_pointer(&key), (gpointer)name);
    return name;
}

const char *ifm_back_values(IfmBack *back, IfmDtype dtype, int rank, const gint64 *shape, const double *values)
{
    g_auto(IfmTensor) tensor = IFM_TENSOR_INIT;
    g_autoptr(GError) error = NULL;
    if (!ifm_tensor_init(&tensor, dtype == IFM_DTYPE_F64 ? dtype : IFM_DTYPE_F32, rank, shape, &error))
    {
        ifm_back_fail(back, "%s", error->message);
        return "";
    }
    for (gint64 i = 0; i < ifm_tensor_n_elements(&tensor); i++)
        if (dtype == IFM_DTYPE_F64)
            ((double *)tensor.data)[i] = values[i];
        else
            ((float *)tensor.data)[i] = (float)values[i];
    const char *name = constant(back, &tensor);
    return tensor.dtype == dtype ? name : ifm_back_cast(back, name, dtype);
}

const char *ifm_back_scalar(IfmBack *back, IfmDtype dtype, double value)
{
    return ifm_back_values(back, dtype, 0, NULL, &value);
}

#define MAX_HOPS 8 /* from a weight to what a layer reads: split, squeezed, transposed */

/* is_folded: whether an engine computes it before it runs: of weights that the model carries alone. */
static gboolean is_folded(const IfmBack *back, const char *tensor, int hops)
{
    gssize producer = ifm_model_producer(back->model, tensor);
    if (producer < 0 || hops == MAX_HOPS)
        return producer < 0 && ifm_back_is_constant(back, tensor);
    const IfmNode *node = ifm_model_node(back->model, (gsize)producer);
    for (gsize i = 0; i < node->n_inputs; i++)
        if (*node->inputs[i] != '\0' && !is_folded(back, node->inputs[i], hops + 1))
            return FALSE;
    return TRUE;
}

const char *ifm_back_reversed(IfmBack *back, const char *tensor, gint64 axis)
{
    return ifm_back_op(back, "Slice", tensor, ifm_back_number(back, -1), ifm_back_number(back, G_MININT64 + 1),
                       ifm_back_number(back, axis), ifm_back_number(back, -1), NULL);
}

/* turned_twice: An engine folds that into a constant, another than @tensor. */
static const char *turned_twice(IfmBack *back, const char *tensor)
{
    return ifm_back_reversed(back, ifm_back_reversed(back, tensor, 0), 0);
}

const char *ifm_back_own_copy(IfmBack *back, const char *tensor)
{
    IfmTensor weight;
    if (ifm_back_is_constant(back, tensor) && ifm_model_initializer(back->model, tensor, &weight))
        return constant(back, &weight);
    return ifm_model_producer(back->model, tensor) >= 0 && is_folded(back, tensor, 0) ? turned_twice(back, tensor) : tensor;
}

const char *ifm_back_list(IfmBack *back, const gint64 *values, gsize n)
{
    gint64 none = 0, shape = (gint64)n;
    IfmTensor tensor;
    gboolean ok = ifm_tensor_wrap(&tensor, IFM_DTYPE_I64, 1, &shape, n > 0 ? (gpointer)values : &none, NULL);
    g_assert(ok);
    return constant(back, &tensor);
}

const char *ifm_back_number(IfmBack *back, gint64 value)
{
    return ifm_back_list(back, &value, 1);
}

/* --- shapes ------------------------------------------------------------------------------------------------------- */

int ifm_back_n_sized(const IfmBackShape *shape, gint64 size)
{
    int n = 0;
    for (int i = 0; i < shape->rank; i++)
        n += shape->dims[i] == size;
    return n;
}

const char *ifm_back_shape_of(IfmBack *back, const char *tensor)
{
    const IfmBackShape shape = ifm_back_shape(back, tensor);
    if (ifm_back_n_sized(&shape, -1) == 0)
        return ifm_back_list(back, shape.dims, (gsize)shape.rank);
    g_autofree char *key = g_strdup_printf("shape of %s", tensor);
    const char *name = g_hash_table_lookup(back->constants, key);
    if (name == NULL)
    {
        name = ifm_back_op(back, "Shape", tensor, NULL);
        g_hash_table_insert(back->constants, g_steal_pointer(&key), (gpointer)name);
    }
    return name;
}

const char *ifm_back_size_of(IfmBack *back, const char *tensor, int axis)
{
    const IfmBackShape shape = ifm_back_shape(back, tensor);
    if (shape.dims[axis] >= 0)
        return ifm_back_number(back, shape.dims[axis]);
    return ifm_back_op(back, "Slice", ifm_back_shape_of(back, tensor), ifm_back_number(back, axis),
                       ifm_back_number(back, axis + 1), NULL);
}

const char *ifm_back_reshape_dims(IfmBack *back, const char *value, const gint64 *dims, int rank)
{
    return ifm_back_op(back, "Reshape", value, ifm_back_list(back, dims, (gsize)rank), NULL);
}

const char *ifm_back_reshape(IfmBack *back, const char *value, const char *tensor)
{
    const IfmBackShape shape = ifm_back_shape(back, tensor);
    /* one free dimension follows from the others, where none of them is 0 */
    if (ifm_back_n_sized(&shape, -1) == 1 && ifm_back_n_sized(&shape, 0) == 0)
        return ifm_back_reshape_dims(back, value, shape.dims, shape.rank);
    return ifm_back_op(back, ifm_back_n_sized(&shape, 0) > 0 ? "Reshape allowzero=1" : "Reshape", value,
                       ifm_back_shape_of(back, tensor), NULL);
}

/* A number keeps rank 0: OpenVINO would make a vector of it. */
const char *ifm_back_expand(IfmBack *back, const char *value, const char *tensor)
{
    return ifm_back_shape(back, tensor).rank == 0
               ? value
               : ifm_back_op(back, "Expand", value, ifm_back_shape_of(back, tensor), NULL);
}

const char *ifm_back_cast(IfmBack *back, const char *value, IfmDtype to)
{
    const char *cast = ifm_back_op(back, "Cast", value, NULL);
    ifm_back_int(back, "to", to);
    return cast;
}

IfmDtype ifm_back_wide(IfmDtype dtype)
{
    return dtype == IFM_DTYPE_F16 || dtype == IFM_DTYPE_BF16 ? IFM_DTYPE_F32 : dtype;
}

const char *ifm_back_as(IfmBack *back, const char *value, IfmDtype from, IfmDtype to)
{
    return from == to ? value : ifm_back_cast(back, value, to);
}

const char *ifm_back_zeros(IfmBack *back, const char *tensor)
{
    IfmDtype dtype = ifm_back_dtype(back, tensor);
    const char *zeros = ifm_back_op(back, "ConstantOfShape", ifm_back_shape_of(back, tensor), NULL);
    return dtype == IFM_DTYPE_F32 ? zeros : ifm_back_cast(back, zeros, dtype);
}

const char *ifm_back_transpose(IfmBack *back, const char *value, const int *order, int rank)
{
    gint64 permutation[IFM_MAX_RANK];
    for (int i = 0; i < rank; i++)
        permutation[i] = order[i];
    const char *transposed = ifm_back_op(back, "Transpose", value, NULL);
    ifm_back_ints(back, "perm", permutation, (gsize)rank);
    return transposed;
}

/* --- sums --------------------------------------------------------------------------------------------------------- */

const char *ifm_back_sum(IfmBack *back, const char *value, const int *axes, int n, gboolean keep)
{
    gint64 list[IFM_MAX_RANK];
    for (int i = 0; i < n; i++)
        list[i] = axes[i];
    if (n == 0)
        return value;
    return ifm_back_op(back, keep ? "ReduceSum keepdims=1" : "ReduceSum keepdims=0", value,
                       ifm_back_list(back, list, (gsize)n), NULL);
}

const char *ifm_back_sum_to(IfmBack *back, const char *value, const char *from, const char *to)
{
    const IfmBackShape large = ifm_back_shape(back, from), small = ifm_back_shape(back, to);
    int lead[IFM_MAX_RANK], inner[IFM_MAX_RANK], n_inner = 0;
    if (back->error != NULL)
        return value;
    int n_lead = large.rank - small.rank;
    for (int i = 0; i < n_lead; i++)
        lead[i] = i;
    for (int i = 0; i < small.rank; i++)
        if (small.dims[i] == 1 && large.dims[n_lead + i] != 1)
            inner[n_inner++] = i;
    value = ifm_back_sum(back, value, lead, n_lead, FALSE);
    return ifm_back_sum(back, value, inner, n_inner, TRUE);
}

const char *ifm_back_count(IfmBack *back, IfmDtype dtype, const char *tensor, const int *axes, int n)
{
    const IfmBackShape shape = ifm_back_shape(back, tensor);
    gint64 list[IFM_MAX_RANK], count = 1;
    for (int i = 0; i < n; i++)
    {
        list[i] = axes[i];
        count = count < 0 || shape.dims[axes[i]] < 0 ? -1 : count * shape.dims[axes[i]];
    }
    if (count >= 0)
        return ifm_back_scalar(back, dtype, (double)count);
    const char *sizes =
        ifm_back_op(back, "Gather", ifm_back_shape_of(back, tensor), ifm_back_list(back, list, (gsize)n), NULL);
    const char *product = ifm_back_op(back, "ReduceProd keepdims=0", sizes, NULL); /* over all axes, whatever the version */
    return ifm_back_cast(back, product, dtype);
}

const char *ifm_back_share(IfmBack *back, const char *value, const char *tensor, const int *axes, int n)
{
    IfmDtype dtype = ifm_back_dtype(back, tensor), wide = ifm_back_wide(dtype);
    const char *count = ifm_back_count(back, wide, tensor, axes, n);
    return ifm_back_as(back, ifm_back_div(back, ifm_back_as(back, value, dtype, wide), count), wide, dtype);
}
