/* A network in the making: names, weights, constants and nodes, as all models of the zoo are written. */
#include <onnx/onnx.h>
#include <stdarg.h>

#include "zoo-private.h"

void ifm_net_init(IfmNet *net, const char *name, gint64 opset, guint32 seed, const void *of)
{
    *net = (IfmNet){ .builder = ifm_model_builder_new(name, opset), .seed = seed, .of = of };
    net->names = g_string_chunk_new(4096);
    net->made = g_hash_table_new(g_str_hash, g_str_equal);
}

void ifm_net_clear(IfmNet *net)
{
    ifm_model_builder_free(net->builder);
    g_string_chunk_free(net->names);
    g_hash_table_unref(net->made);
    g_clear_error(&net->error);
}

IfmModel *ifm_net_finish(IfmNet *net, GError **error)
{
    if (net->error == NULL)
        return ifm_model_builder_finish(net->builder, error);
    g_propagate_error(error, g_steal_pointer(&net->error));
    return NULL;
}

const char *ifm_net_name(IfmNet *net, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *name = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    return g_string_chunk_insert_const(net->names, name);
}

gboolean ifm_net_is_new(IfmNet *net, const char *name)
{
    return g_hash_table_add(net->made, (gpointer)name);
}

/* --- weights and constants ---------------------------------------------------------------------------------------- */

const char *ifm_net_draw(IfmNet *net, const char *name, int rank, const gint64 *dims, double low, double high)
{
    ifm_model_builder_drawn_weight(net->builder, name, rank, dims, low, high, net->seed);
    return name;
}

const char *ifm_net_vector(IfmNet *net, const char *name, gint64 n, double low, double high)
{
    return ifm_net_draw(net, name, 1, &n, low, high);
}

static const char *constant(IfmNet *net, const char *name, IfmDtype dtype, int rank, gint64 n, const void *values)
{
    IfmTensor tensor;
    if (!ifm_net_is_new(net, name))
        return name;
    g_assert_true(ifm_tensor_wrap(&tensor, dtype, rank, &n, (void *)values, NULL));
    ifm_model_builder_weight(net->builder, name, &tensor);
    return name;
}

const char *ifm_net_number(IfmNet *net, const char *name, double value)
{
    return constant(net, name, IFM_DTYPE_F32, 0, 0, &(float){ (float)value });
}

const char *ifm_net_index(IfmNet *net, const char *name, gint64 value)
{
    return constant(net, name, IFM_DTYPE_I64, 0, 0, &value);
}

const char *ifm_net_ints(IfmNet *net, const char *name, gint64 n, const gint64 *values)
{
    return constant(net, name, IFM_DTYPE_I64, 1, n, values);
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

const char *ifm_net_op(IfmNet *net, const char *name, const char *op_type, ...)
{
    g_autoptr(GPtrArray) list = g_ptr_array_new();
    va_list inputs;
    const char *input;
    va_start(inputs, op_type);
    do
        g_ptr_array_add(list, (gpointer)(input = va_arg(inputs, const char *)));
    while (input != NULL);
    va_end(inputs);
    net->last = ifm_model_builder_node(net->builder, op_type, name, (const char *const *)list->pdata, IFM_ZOO_NAMES(name));
    return name;
}

const char *ifm_net_batch_norm(IfmNet *net, const char *name, const char *x, gint64 n, IfmBatchNorm norm)
{
    const char *scale = ifm_net_vector(net, ifm_net_name(net, "%s.weight", name), n, 0.75 * norm.gain, 1.25 * norm.gain);
    const char *bias = ifm_net_vector(net, ifm_net_name(net, "%s.bias", name), n, -0.1, 0.1);
    const char *mean = ifm_net_vector(net, ifm_net_name(net, "%s.running_mean", name), n, -0.1, 0.1);
    const char *variance = ifm_net_vector(net, ifm_net_name(net, "%s.running_var", name), n, 0.75, 1.25);
    const char *next_mean = norm.training ? ifm_net_name(net, "%s.next_mean", name) : NULL;
    net->last =
        ifm_model_builder_node(net->builder, "BatchNormalization", name, IFM_ZOO_NAMES(x, scale, bias, mean, variance),
                               IFM_ZOO_NAMES(name, next_mean, ifm_net_name(net, "%s.next_var", name)));
    ifm_model_builder_float(net->builder, net->last, "epsilon", norm.epsilon);
    if (norm.momentum > 0)
        ifm_model_builder_float(net->builder, net->last, "momentum", norm.momentum);
    if (norm.training)
        ifm_model_builder_int(net->builder, net->last, "training_mode", 1);
    return name;
}
