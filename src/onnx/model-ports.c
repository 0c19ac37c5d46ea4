#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "input-meaning.h"

/* These functions read the ports of a model, bind their free dimensions, and make inputs that are plausible for them. */

IfmPort *ifm_port_copy(const IfmPort *port)
{
    IfmPort *copy = g_new(IfmPort, 1);
    *copy = *port;
    copy->name = g_strdup(port->name);
    for (int i = 0; i < IFM_MAX_RANK; i++)
        copy->dim_names[i] = g_strdup(port->dim_names[i]);
    return copy;
}

void ifm_port_free(IfmPort *port)
{
    if (port == NULL)
        return;
    for (int i = 0; i < IFM_MAX_RANK; i++)
        g_free(port->dim_names[i]);
    g_free(port->name);
    g_free(port);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmPort, ifm_port_free)

/* --- reading ports ------------------------------------------------------------------------------------------------ */

static gboolean parse_dim(IfmPort *port, int axis, const Onnx__TensorShapeProto__Dimension *dim, GError **error)
{
    port->dims[axis] = -1;
    if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE && dim->dim_value != -1)
    {
        port->dims[axis] = dim->dim_value; /* some writers say -1 for free */
        return dim->dim_value >= 0 || ifm_error_refuse(error, "'%s': dimension %d is %" G_GINT64_FORMAT ", below 0",
                                                       port->name, axis, dim->dim_value);
    }
    gboolean named = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM && dim->dim_param != NULL &&
                     *dim->dim_param != '\0' && !g_str_equal(dim->dim_param, "?") &&
                     !g_str_equal(dim->dim_param, "-1"); /* none's names */
    port->dim_names[axis] = named ? g_strdup(dim->dim_param) : g_strdup_printf("%s[%d]", port->name, axis);
    return TRUE;
}

IfmPort *ifm_onnx_port_parse(const Onnx__ValueInfoProto *info, GError **error)
{
    g_autoptr(IfmPort) port = g_new0(IfmPort, 1);
    port->name = g_strdup(info->name != NULL ? info->name : "");
    port->rank = -1;
    if (info->type == NULL || info->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ||
        info->type->tensor_type == NULL)
        return g_steal_pointer(&port);
    const Onnx__TypeProto__Tensor *type = info->type->tensor_type;
    port->dtype = type->has_elem_type && type->elem_type > 0 ? (IfmDtype)type->elem_type : IFM_DTYPE_UNDEFINED;
    if (type->shape == NULL)
        return g_steal_pointer(&port);
    if (type->shape->n_dim > IFM_MAX_RANK)
    {
        ifm_error_refuse(error, "'%s' has %zu dimensions, more than %d", port->name, type->shape->n_dim, IFM_MAX_RANK);
        return NULL;
    }
    port->rank = (int)type->shape->n_dim;
    for (int i = 0; i < port->rank; i++)
        if (!parse_dim(port, i, type->shape->dim[i], error))
            return NULL;
    return g_steal_pointer(&port);
}

gboolean ifm_onnx_ports(IfmModel *model, GError **error)
{
    const Onnx__GraphProto *graph = model->proto->graph;
    model->inputs = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_port_free);
    model->outputs = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_port_free);
    for (gsize i = 0; i < graph->n_input + graph->n_output; i++)
    {
        gboolean is_input = i < graph->n_input;
        const Onnx__ValueInfoProto *info = is_input ? graph->input[i] : graph->output[i - graph->n_input];
        IfmPort *port = ifm_onnx_port_parse(info, error);
        if (port == NULL)
        {
            g_prefix_error(error, "graph %s ", is_input ? "input" : "output");
            return FALSE;
        }
        gboolean is_weight = is_input && g_hash_table_contains(model->initializers, info->name);
        if (is_weight)
            ifm_port_free(port);
        else
            g_ptr_array_add(is_input ? model->inputs : model->outputs, port);
    }
    return TRUE;
}

const char *ifm_model_overridable(const IfmModel *model)
{
    const Onnx__GraphProto *graph = model->proto->graph;
    for (gsize i = 0; model->proto->ir_version >= INITIALIZERS_WITHOUT_INPUTS && i < graph->n_input; i++)
        if (g_hash_table_contains(model->initializers, graph->input[i]->name))
            return graph->input[i]->name;
    return NULL;
}

gsize ifm_model_n_inputs(const IfmModel *model)
{
    return model->inputs->len;
}

const IfmPort *ifm_model_input(const IfmModel *model, gsize index)
{
    g_assert(index < model->inputs->len);
    return g_ptr_array_index(model->inputs, index);
}

gsize ifm_model_n_outputs(const IfmModel *model)
{
    return model->outputs->len;
}

const IfmPort *ifm_model_output(const IfmModel *model, gsize index)
{
    g_assert(index < model->outputs->len);
    return g_ptr_array_index(model->outputs, index);
}

/* --- binding ------------------------------------------------------------------------------------------------------ */

static const IfmDimBinding *find_binding(const IfmDimBinding *bindings, gsize n_bindings, const char *name)
{
    for (gsize i = 0; i < n_bindings; i++)
        if (g_str_equal(bindings[i].name, name))
            return &bindings[i];
    return NULL;
}

gboolean ifm_port_is_fixed(const IfmPort *port)
{
    for (int axis = 0; axis < port->rank; axis++)
        if (port->dims[axis] < 0)
            return FALSE;
    return port->rank >= 0;
}

gboolean ifm_port_bind(const IfmPort *port, const IfmDimBinding *bindings, gsize n_bindings, gint64 *shape, GError **error)
{
    if (port->rank < 0)
        return ifm_error_refuse(error, "input '%s': the model does not say what shape it has", port->name);
    for (int i = 0; i < port->rank; i++)
    {
        shape[i] = port->dims[i];
        if (shape[i] >= 0)
            continue;
        const IfmDimBinding *binding = find_binding(bindings, n_bindings, port->dim_names[i]);
        if (binding != NULL && binding->value >= 0)
        {
            shape[i] = binding->value;
            continue;
        }
        if (binding == NULL)
            return ifm_error_refuse(error, "input '%s': dimension '%s' is free: give it a size (%s=SIZE)", port->name,
                                    port->dim_names[i], port->dim_names[i]);
        return ifm_error_refuse(error, "input '%s': dimension '%s' cannot be %" G_GINT64_FORMAT ": 0 or more", port->name,
                                port->dim_names[i], binding->value);
    }
    return TRUE;
}

/* free_names: Returns: (transfer full) the free dimensions of the inputs, each once, in order of appearance. */
static GPtrArray *free_names(const IfmModel *model)
{
    GPtrArray *names = g_ptr_array_new();
    for (guint i = 0; i < model->inputs->len; i++)
    {
        const IfmPort *port = g_ptr_array_index(model->inputs, i);
        for (int axis = 0; axis < port->rank; axis++)
            if (port->dim_names[axis] != NULL &&
                !g_ptr_array_find_with_equal_func(names, port->dim_names[axis], g_str_equal, NULL))
                g_ptr_array_add(names, port->dim_names[axis]);
    }
    return names;
}

static gboolean check_binding_name(const IfmDimBinding *bindings, gsize index, const GPtrArray *names, GError **error)
{
    const char *name = bindings[index].name;
    if (find_binding(bindings, index, name) != NULL)
        return ifm_error_refuse(error, "dimension '%s' is bound twice", name);
    if (g_ptr_array_find_with_equal_func((GPtrArray *)names, name, g_str_equal, NULL))
        return TRUE;
    GString *list = g_string_new(NULL);
    for (guint i = 0; i < names->len; i++)
        g_string_append_printf(list, "%s%s", i > 0 ? ", " : "", (const char *)g_ptr_array_index(names, i));
    ifm_error_refuse(error, "no input has a free dimension '%s' (%s%s)", name, names->len > 0 ? "free: " : "none is free",
                     list->str);
    g_string_free(list, TRUE);
    return FALSE;
}

gboolean ifm_model_check_bindings(const IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings, GError **error)
{
    g_autoptr(GPtrArray) names = free_names(model);
    gboolean ok = TRUE;
    for (gsize i = 0; ok && i < n_bindings; i++)
        ok = check_binding_name(bindings, i, names, error);
    for (guint i = 0; ok && i < model->inputs->len; i++)
    {
        gint64 shape[IFM_MAX_RANK];
        ok = ifm_port_bind(g_ptr_array_index(model->inputs, i), bindings, n_bindings, shape, error);
    }
    if (!ok)
        ifm_onnx_tidy_error(error, model->name);
    return ok;
}

/* --- inputs ------------------------------------------------------------------------------------------------------- */

GRand *ifm_onnx_random(guint32 seed, const char *name)
{
    g_autofree guint32 *words = g_new0(guint32, strlen(name) + 1);
    guint n = 0;
    words[n++] = seed;
    for (; name[n - 1] != '\0'; n++)
        words[n] = (guchar)name[n - 1];
    return g_rand_new_with_seed_array(words, n);
}

/* Range: @is_given: in the metadata of the model    @distinct: all values are different */
typedef struct
{
    double low, high;
    gboolean is_given, distinct;
} Range;

/* input_range: The range of a port in the metadata of the model, if it is given there. */
static gboolean input_range(const IfmModel *model, const IfmPort *port, Range *range, GError **error)
{
    g_autofree char *key = g_strdup_printf("inferometer.range.%s", port->name);
    const char *text = ifm_model_metadata(model, key);
    *range = (Range){ .is_given = text != NULL };
    if (text == NULL)
        return TRUE;
    char *middle, *end;
    range->low = g_ascii_strtod(text, &middle);
    range->high = g_ascii_strtod(middle, &end);
    range->distinct = port->dtype == IFM_DTYPE_I64 && g_str_equal(end, " distinct");
    /* Beyond +-2^62 a double cannot represent the bounds of an integer. */
    if (middle != text && end != middle && (*end == '\0' || range->distinct) && range->low <= range->high &&
        range->low >= -0x1p62 && range->high <= 0x1p62)
        return TRUE;
    return ifm_error_refuse(error, "metadata %s: '%s' is not a range (LOW HIGH, LOW not above HIGH%s)", key, text,
                            port->dtype == IFM_DTYPE_I64 ? ", or LOW HIGH distinct" : "");
}

/* fill_distinct: Divides the range into one part per element and draws a number from each. */
static gboolean fill_distinct(IfmTensor *tensor, GRand *random, const Range *range, GError **error)
{
    const gint64 n = ifm_tensor_n_elements(tensor), low = (gint64)range->low, span = (gint64)range->high - low;
    if (span < n)
        return ifm_error_refuse(
            error, "its range has %" G_GINT64_FORMAT " numbers, too few for %" G_GINT64_FORMAT " distinct ones", span, n);
    for (gint64 i = 0; i < n; i++)
    {
        const gint64 from = (gint64)((__int128)span * i / n), to = (gint64)((__int128)span * (i + 1) / n);
        ((gint64 *)tensor->data)[i] = low + from + (gint64)(g_rand_int(random) % (guint64)(to - from));
    }
    return TRUE;
}

/* fits_memory: Whether a tensor could be held at all; asked before the allocator is, which may promise more than there is.
 */
static gboolean fits_memory(const IfmPort *port, const gint64 *shape, gsize *total, GError **error)
{
    guint64 size = ifm_dtype_size_bytes(port->dtype);
    guint64 memory = (guint64)sysconf(_SC_PHYS_PAGES) * (guint64)sysconf(_SC_PAGESIZE);
    gboolean too_large = FALSE;
    for (int i = 0; i < port->rank; i++)
        too_large = too_large || __builtin_mul_overflow(size, (guint64)MAX(shape[i], 1), &size);
    if (!too_large && !__builtin_add_overflow(size, *total, total) && *total <= memory)
        return TRUE;
    g_autofree char *text = ifm_shape_to_string(port->rank, shape);
    return ifm_error_set(error, IFM_ERROR_MEMORY, "input '%s': shape %s is more than this machine's memory", port->name,
                         text);
}

static void fill_fixed(IfmTensor *tensor, const IfmInputMeaning *meaning)
{
    for (gint64 i = 0; i < ifm_tensor_n_elements(tensor); i++)
        ifm_tensor_set_integer(tensor, i, meaning->fixed[MIN((gsize)i, meaning->n_fixed - 1)]);
}

/* Without a range in the metadata: what is plausible for it. */
static gboolean fill_plausible(const IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings, const IfmPort *port,
                               GRand *random, IfmTensor *tensor, GError **error)
{
    IfmInputMeaning meaning;
    ifm_onnx_input_meaning(model, bindings, n_bindings, port, tensor->shape, &meaning);
    if (meaning.n_fixed == 0)
        return ifm_tensor_fill_random(tensor, random, meaning.low, meaning.high, error);
    fill_fixed(tensor, &meaning);
    return TRUE;
}

/* Fills the tensor of one input. @seed: NULL: its values are never read. */
static gboolean make_input(const IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings, const IfmPort *port,
                           const gint64 *shape, const guint32 *seed, IfmTensor *tensor, GError **error)
{
    if (port->dtype == IFM_DTYPE_STRING) /* empty ones, until what is given takes their place */
        return ifm_tensor_init_texts(tensor, port->rank, shape, NULL, error);
    if (ifm_dtype_size_bytes(port->dtype) == 0) /* packed numbers */
        return ifm_tensor_init(tensor, port->dtype, port->rank, shape, error);
    if (seed == NULL)
        return ifm_tensor_reserve(tensor, port->dtype, port->rank, shape, error);
    Range range;
    if (!input_range(model, port, &range, error))
        return FALSE;
    g_autoptr(GRand) random = ifm_onnx_random(*seed, port->name);
    if (ifm_tensor_init(tensor, port->dtype, port->rank, shape, error) &&
        (range.distinct   ? fill_distinct(tensor, random, &range, error)
         : range.is_given ? ifm_tensor_fill_random(tensor, random, range.low, range.high, error)
                          : fill_plausible(model, bindings, n_bindings, port, random, tensor, error)))
        return TRUE;
    g_prefix_error(error, "input '%s': ", port->name);
    return FALSE;
}

static gboolean make_inputs(const IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings, const guint32 *seed,
                            IfmTensor *tensors, GError **error)
{
    gsize total = 0;
    for (guint i = 0; i < model->inputs->len; i++)
        tensors[i] = IFM_TENSOR_INIT;
    for (guint i = 0; i < model->inputs->len; i++)
    {
        const IfmPort *port = g_ptr_array_index(model->inputs, i);
        gint64 shape[IFM_MAX_RANK];
        if (ifm_port_bind(port, bindings, n_bindings, shape, error) &&
            (seed == NULL || fits_memory(port, shape, &total, error)) &&
            make_input(model, bindings, n_bindings, port, shape, seed, &tensors[i], error))
            continue;
        for (guint k = 0; k <= i; k++)
            ifm_tensor_clear(&tensors[k]);
        ifm_onnx_tidy_error(error, model->name);
        return FALSE;
    }
    return TRUE;
}

gboolean ifm_model_make_inputs(const IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings, guint32 seed,
                               IfmTensor *tensors, GError **error)
{
    return make_inputs(model, bindings, n_bindings, &seed, tensors, error);
}

gboolean ifm_model_reserve_inputs(const IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings,
                                  IfmTensor *tensors, GError **error)
{
    return make_inputs(model, bindings, n_bindings, NULL, tensors, error);
}
