/* Which tensors of a model are its weights: initializers, and what exporters write as Constant nodes instead. */
#include <string.h>

#include "onnx-private.h"

#define MAX_INPUTS 16 /* of a node with settings */
#define MAX_HOPS 8    /* between a weight and the node that uses it */

static gboolean is_one_of(const char *const *names, const char *name)
{
    return g_strv_contains(names, name);
}

static gboolean is_float(const Onnx__TensorProto *tensor)
{
    return tensor->data_type == IFM_DTYPE_F32 || tensor->data_type == IFM_DTYPE_F64 || tensor->data_type == IFM_DTYPE_F16 ||
           tensor->data_type == IFM_DTYPE_BF16;
}

static gint64 count_elements(const Onnx__TensorProto *tensor)
{
    gint64 n = 1;
    for (gsize d = 0; d < tensor->n_dims; d++)
        n *= tensor->dims[d]; /* checked when the tensor was read */
    return n;
}

const Onnx__TensorProto *ifm_onnx_constant(const IfmNode *node)
{
    if (*node->domain != '\0' || !g_str_equal(node->op_type, "Constant") || node->n_outputs == 0)
        return NULL;
    const Onnx__AttributeProto *value = ifm_onnx_attribute(node, "value");
    return value != NULL && value->t != NULL && value->t->n_dims > 0 && is_float(value->t) ? value->t : NULL;
}

/* --- how a tensor is used --------------------------------------------------------------------------------------------- */

/* Role: inputs of an operator, from @first to @last, that are floating-point numbers and no weights. */
typedef struct
{
    const char *op_type;
    gsize first, last;
} Role;

static const Role statistics[] = { { "BatchNormalization", 3, 4 } }; /* the running mean and variance */
static const Role settings[] = {
    { "Clip", 1, 2 }, { "Dropout", 1, 1 }, { "GRU", 5, 5 }, { "LSTM", 5, 6 },   { "OneHot", 2, 2 },
    { "Pad", 2, 2 },  { "Range", 0, 2 },   { "RNN", 5, 5 }, { "Resize", 1, 2 }, { "Upsample", 1, 1 },
};

static gboolean has_role(const Role *roles, gsize n_roles, const IfmNode *node, gsize input)
{
    for (gsize i = 0; i < n_roles; i++)
        if (g_str_equal(roles[i].op_type, node->op_type) && input >= roles[i].first && input <= roles[i].last)
            return TRUE;
    return FALSE;
}

/* PyTorch's group normalisation is an InstanceNormalization between two reshapes, by ones and zeros of the exporter's. */
static gboolean is_group_norm(const IfmModel *model, const IfmNode *node, gsize input)
{
    if (input == 0 || !g_str_equal(node->op_type, "InstanceNormalization"))
        return FALSE;
    const gssize producer = ifm_model_producer(model, node->inputs[0]);
    const GArray *readers = ifm_model_consumers(model, node->outputs[0]);
    return producer >= 0 && g_str_equal(model->nodes[producer].op_type, "Reshape") && readers != NULL &&
           readers->len == 1 && g_str_equal(model->nodes[g_array_index(readers, gsize, 0)].op_type, "Reshape");
}

/* only_as: Whether all that reads the tensor, directly or moved about, uses it so. @settings: as a setting, else as a
 * running statistic */
static gboolean only_as(const IfmModel *model, const char *name, gboolean as_setting, int hops)
{
    static const char *const movers[] = { "Cast", "Expand", "Identity", "Reshape", "Transpose", "Unsqueeze", NULL };
    const GArray *readers = ifm_model_consumers(model, name);
    for (guint i = 0; readers != NULL && i < readers->len; i++)
    {
        const IfmNode *node = &model->nodes[g_array_index(readers, gsize, i)];
        if (*node->domain != '\0' || node->n_inputs > MAX_INPUTS || node->n_outputs == 0)
            return FALSE;
        for (gsize k = 0; k < node->n_inputs; k++)
        {
            if (!g_str_equal(node->inputs[k], name))
                continue;
            gboolean moved = k == 0 && is_one_of(movers, node->op_type) && hops < MAX_HOPS;
            gboolean fits = moved ? only_as(model, node->outputs[0], as_setting, hops + 1)
                            : as_setting
                                ? has_role(settings, G_N_ELEMENTS(settings), node, k) || is_group_norm(model, node, k)
                                : has_role(statistics, G_N_ELEMENTS(statistics), node, k);
            if (!fits)
                return FALSE;
        }
    }
    return readers != NULL && readers->len > 0;
}

/* is_generated: Whether an exporter made up the name, as for numbers that stand in the source of a model: "val_70",
 * "/attention/Constant_21_output_0". Parameters keep the names that they have there. */
static gboolean is_generated(const char *name)
{
    const char *digits = g_str_has_prefix(name, "val_") ? name + strlen("val_") : name;
    return digits[strspn(digits, "0123456789")] == '\0' || strstr(name, "Constant") != NULL ||
           strstr(name, "const") != NULL;
}

/* is_number: Whether the tensor of one element is a number of a formula, such as the scale of attention: only arithmetic
 * reads it, and no module has named it. */
static gboolean is_number(const IfmModel *model, const char *name, const Onnx__TensorProto *tensor)
{
    static const char *const arithmetic[] = { "Add", "Div", "Max", "Min", "Mul", "Pow", "Sub", "Where", NULL };
    const GArray *readers = ifm_model_consumers(model, name);
    if (tensor->n_dims == 0)
        return TRUE;
    if (count_elements(tensor) != 1 || !is_generated(name))
        return FALSE;
    for (guint i = 0; readers != NULL && i < readers->len; i++)
        if (!is_one_of(arithmetic, model->nodes[g_array_index(readers, gsize, i)].op_type))
            return FALSE;
    return TRUE;
}

/* is_trainable: @tensor: of that name */
static gboolean is_trainable(const IfmModel *model, const char *name, const Onnx__TensorProto *tensor)
{
    return is_float(tensor) && !is_number(model, name, tensor) && !only_as(model, name, TRUE, 0) &&
           !only_as(model, name, FALSE, 0);
}

/* --- the public functions --------------------------------------------------------------------------------------------- */

gboolean ifm_model_weight(const IfmModel *model, const char *name, IfmTensor *tensor)
{
    const IfmInitializer *constant = g_hash_table_lookup(model->constants, name);
    if (constant == NULL || !constant->has_tensor)
        return ifm_model_initializer(model, name, tensor);
    *tensor = constant->tensor;
    tensor->release = NULL; /* borrowed from the model */
    tensor->owner = NULL;
    return TRUE;
}

GPtrArray *ifm_model_trainable(const IfmModel *model)
{
    const Onnx__GraphProto *graph = model->proto->graph;
    GPtrArray *names = g_ptr_array_new();
    for (gsize i = 0; i < graph->n_initializer; i++)
        if (is_trainable(model, graph->initializer[i]->name, graph->initializer[i]))
            g_ptr_array_add(names, graph->initializer[i]->name);
    for (gsize i = 0; i < model->n_nodes; i++)
    {
        const Onnx__TensorProto *value = ifm_onnx_constant(&model->nodes[i]);
        if (value != NULL && is_trainable(model, model->nodes[i].outputs[0], value))
            g_ptr_array_add(names, (gpointer)model->nodes[i].outputs[0]);
    }
    return names;
}

gint64 ifm_model_n_parameters(const IfmModel *model)
{
    const Onnx__GraphProto *graph = model->proto->graph;
    gint64 total = 0;
    for (gsize i = 0; i < graph->n_initializer; i++)
        total += is_float(graph->initializer[i]) ? count_elements(graph->initializer[i]) : 0;
    for (gsize i = 0; i < model->n_nodes; i++)
    {
        const Onnx__TensorProto *value = ifm_onnx_constant(&model->nodes[i]);
        const char *name = value != NULL ? model->nodes[i].outputs[0] : NULL;
        if (value != NULL && !is_number(model, name, value) && !only_as(model, name, TRUE, 0))
            total += count_elements(value);
    }
    return total;
}

gint64 ifm_model_n_trainable(const IfmModel *model)
{
    g_autoptr(GPtrArray) names = ifm_model_trainable(model);
    gint64 total = 0;
    for (guint i = 0; i < names->len; i++)
    {
        const IfmInitializer *weight = g_hash_table_lookup(model->initializers, names->pdata[i]);
        if (weight == NULL)
            weight = g_hash_table_lookup(model->constants, names->pdata[i]);
        total += count_elements(weight->proto);
    }
    return total;
}
