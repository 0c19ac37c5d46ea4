/* Which tensors of a model are its weights: initializers, and what exporters write as Constant nodes instead. */
#include <string.h>

#include "model-uses.h"

#define MAX_INPUTS 16 /* of a node with settings */
#define MAX_HOPS 8    /* between a weight and the node that uses it */

gint64 ifm_onnx_n_elements(const Onnx__TensorProto *tensor)
{
    gint64 n = 1;
    for (gsize d = 0; d < tensor->n_dims; d++)
        n *= tensor->dims[d]; /* checked when the tensor was read */
    return n;
}

static gboolean is_default(const Onnx__NodeProto *node)
{
    return node->domain == NULL || *node->domain == '\0' || g_str_equal(node->domain, "ai.onnx");
}

gboolean ifm_onnx_is_constant(const Onnx__NodeProto *node)
{
    return is_default(node) && g_strcmp0(node->op_type, "Constant") == 0;
}

const Onnx__TensorProto *ifm_onnx_constant(const IfmNode *node)
{
    if (*node->domain != '\0' || !g_str_equal(node->op_type, "Constant") || node->n_outputs == 0)
        return NULL;
    const Onnx__AttributeProto *value = ifm_onnx_attribute(node, "value");
    return value != NULL && value->t != NULL && value->t->n_dims > 0 && ifm_dtype_is_float((IfmDtype)value->t->data_type)
               ? value->t
               : NULL;
}

/* --- who reads a tensor ----------------------------------------------------------------------------------------------- */

/* Use: a node that reads a tensor, as which of its inputs. */
typedef struct
{
    const Onnx__NodeProto *node;
    gsize input;
} Use;

struct IfmUses
{
    GHashTable *uses;      /* tensor -> GArray of Use */
    GHashTable *producers; /* tensor -> Onnx__NodeProto* */
};

static void note_uses(Onnx__GraphProto *graph, gpointer user)
{
    IfmUses *self = user;
    for (gsize i = 0; i < graph->n_node; i++)
    {
        const Onnx__NodeProto *node = graph->node[i];
        for (gsize k = 0; k < node->n_input; k++)
        {
            GArray *readers = g_hash_table_lookup(self->uses, node->input[k]);
            if (readers == NULL)
            {
                readers = g_array_new(FALSE, FALSE, sizeof(Use));
                g_hash_table_insert(self->uses, node->input[k], readers);
            }
            g_array_append_val(readers, ((Use){ node, k }));
        }
        for (gsize k = 0; k < node->n_output; k++)
            g_hash_table_insert(self->producers, node->output[k], (gpointer)node);
    }
}

IfmUses *ifm_uses_new(const IfmModel *model)
{
    IfmUses *self = g_new(IfmUses, 1);
    self->uses = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_array_unref);
    self->producers = g_hash_table_new(g_str_hash, g_str_equal);
    ifm_onnx_each_graph(model->proto->graph, note_uses, self);
    return self;
}

void ifm_uses_free(IfmUses *self)
{
    if (self == NULL)
        return;
    g_hash_table_unref(self->uses);
    g_hash_table_unref(self->producers);
    g_free(self);
}

/* --- how a tensor is used --------------------------------------------------------------------------------------------- */

/* Role: inputs of an operator, from @first to @last, that have one meaning. */
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

/* Of quantised operators, whatever their domain: what is a weight or a bias … */
static const Role integer_weights[] = {
    { "ConvInteger", 1, 1 },
    { "DequantizeLinear", 0, 0 },
    { "DynamicQuantizeLSTM", 1, 2 },
    { "DynamicQuantizeMatMul", 1, 1 },
    { "GatherBlockQuantized", 0, 0 },
    { "MatMulBnb4", 1, 1 },
    { "MatMulInteger", 0, 1 },
    { "MatMulIntegerToFloat", 1, 1 },
    { "MatMulNBits", 1, 1 },
    { "QAttention", 1, 1 },
    { "QEmbedLayerNormalization", 2, 6 },
    { "QGemm", 3, 3 },
    { "QGemm", 6, 6 },
    { "QLinearConv", 3, 3 },
    { "QLinearConv", 8, 8 },
    { "QLinearMatMul", 0, 0 },
    { "QLinearMatMul", 3, 3 },
};
/* … and what is a scale or a zero point. */
static const Role scales[] = {
    { "ConvInteger", 2, 3 },
    { "DequantizeLinear", 1, 2 },
    { "DynamicQuantizeLSTM", 8, 11 },
    { "DynamicQuantizeMatMul", 2, 3 },
    { "GatherBlockQuantized", 2, 3 },
    { "MatMulBnb4", 2, 2 },
    { "MatMulInteger", 2, 3 },
    { "MatMulIntegerToFloat", 2, 5 },
    { "MatMulNBits", 2, 4 },
    { "QAttention", 3, 4 },
    { "QAttention", 6, 7 },
    { "QGemm", 1, 2 },
    { "QGemm", 4, 5 },
    { "QGemm", 7, 8 },
    { "QuantizeLinear", 1, 2 },
};

#define HAS_ROLE(roles, use) has_role(roles, G_N_ELEMENTS(roles), use)

static gboolean has_role(const Role *roles, gsize n_roles, const Use *use)
{
    for (gsize i = 0; i < n_roles; i++)
        if (g_str_equal(roles[i].op_type, use->node->op_type) && use->input >= roles[i].first &&
            use->input <= roles[i].last)
            return TRUE;
    return FALSE;
}

/* PyTorch's group normalisation is an InstanceNormalization between two reshapes, by ones and zeros of the exporter's. */
static gboolean is_group_norm(const IfmUses *self, const Use *use)
{
    const Onnx__NodeProto *node = use->node;
    if (use->input == 0 || !g_str_equal(node->op_type, "InstanceNormalization"))
        return FALSE;
    const Onnx__NodeProto *producer = g_hash_table_lookup(self->producers, node->input[0]);
    const GArray *readers = g_hash_table_lookup(self->uses, node->output[0]);
    return producer != NULL && g_str_equal(producer->op_type, "Reshape") && readers != NULL && readers->len == 1 &&
           g_str_equal(g_array_index(readers, Use, 0).node->op_type, "Reshape");
}

static gboolean is_setting(const IfmUses *self, const Use *use)
{
    return is_default(use->node) && (HAS_ROLE(settings, use) || is_group_norm(self, use));
}

static gboolean is_statistic(const IfmUses *self, const Use *use)
{
    return is_default(use->node) && HAS_ROLE(statistics, use);
}

/* All floats that a QLinear operator reads are scales; its integers beside the weights are zero points. */
static gboolean is_scale(const IfmUses *self, const Use *use)
{
    return HAS_ROLE(scales, use) || (g_str_has_prefix(use->node->op_type, "QLinear") && !HAS_ROLE(integer_weights, use));
}

static gboolean is_integer_weight(const IfmUses *self, const Use *use)
{
    return HAS_ROLE(integer_weights, use);
}

typedef gboolean (*Meaning)(const IfmUses *self, const Use *use);

static gboolean is_mover(const Use *use)
{
    static const char *const movers[] = { "Cast", "Expand", "Identity", "Reshape", "Transpose", "Unsqueeze", NULL };
    return use->input == 0 && is_default(use->node) && g_strv_contains(movers, use->node->op_type);
}

/* only_as: Whether all that reads the tensor, directly or moved about, uses it so. */
static gboolean only_as(const IfmUses *self, const char *name, Meaning meaning, int hops)
{
    const GArray *readers = g_hash_table_lookup(self->uses, name);
    for (guint i = 0; readers != NULL && i < readers->len; i++)
    {
        const Use *use = &g_array_index(readers, Use, i);
        if (use->node->n_input > MAX_INPUTS || use->node->n_output == 0)
            return FALSE;
        if (!(is_mover(use) && hops < MAX_HOPS ? only_as(self, use->node->output[0], meaning, hops + 1)
                                               : meaning(self, use)))
            return FALSE;
    }
    return readers != NULL && readers->len > 0;
}

/* ever_as: Whether something that reads it, directly, moved about or picked by Gather, uses it so. */
static gboolean ever_as(const IfmUses *self, const char *name, Meaning meaning, int hops)
{
    const GArray *readers = g_hash_table_lookup(self->uses, name);
    for (guint i = 0; readers != NULL && i < readers->len; i++)
    {
        const Use *use = &g_array_index(readers, Use, i);
        const gboolean moved = is_mover(use) || (use->input == 0 && g_str_equal(use->node->op_type, "Gather"));
        if (meaning(self, use) ||
            (moved && use->node->n_output > 0 && hops < MAX_HOPS && ever_as(self, use->node->output[0], meaning, hops + 1)))
            return TRUE;
    }
    return FALSE;
}

/* Weights of at most 8 bits that a Cast makes floats of. */
static gboolean is_widened(const IfmUses *self, const Use *use)
{
    for (gsize i = 0; g_str_equal(use->node->op_type, "Cast") && i < use->node->n_attribute; i++)
        if (g_strcmp0(use->node->attribute[i]->name, "to") == 0)
            return ifm_dtype_is_float((IfmDtype)use->node->attribute[i]->i);
    return FALSE;
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
static gboolean is_number(const IfmUses *self, const char *name, const Onnx__TensorProto *tensor)
{
    static const char *const arithmetic[] = { "Add", "Div", "Max", "Min", "Mul", "Pow", "Sub", "Where", NULL };
    const GArray *readers = g_hash_table_lookup(self->uses, name);
    if (tensor->n_dims == 0)
        return TRUE;
    if (ifm_onnx_n_elements(tensor) != 1 || !is_generated(name))
        return FALSE;
    for (guint i = 0; readers != NULL && i < readers->len; i++)
        if (!g_strv_contains(arithmetic, g_array_index(readers, Use, i).node->op_type))
            return FALSE;
    return TRUE;
}

/* is_trainable: @tensor: of that name */
static gboolean is_trainable(const IfmUses *self, const char *name, const Onnx__TensorProto *tensor)
{
    return ifm_dtype_is_float((IfmDtype)tensor->data_type) && !is_number(self, name, tensor) &&
           !only_as(self, name, is_setting, 0) && !only_as(self, name, is_statistic, 0) &&
           !only_as(self, name, is_scale, 0);
}

/* --- how many parameters it is ---------------------------------------------------------------------------------------- */

static gint64 attribute_of(const Onnx__NodeProto *node, const char *name, gint64 fallback)
{
    for (gsize i = 0; i < node->n_attribute; i++)
        if (g_strcmp0(node->attribute[i]->name, name) == 0 && node->attribute[i]->has_i)
            return node->attribute[i]->i;
    return fallback;
}

/* Bytes into which an operator packs several weights. */
static gint64 unpacked(const IfmUses *self, const char *name, const Onnx__TensorProto *tensor)
{
    const gint64 n = ifm_onnx_n_elements(tensor);
    const GArray *readers = g_hash_table_lookup(self->uses, name);
    gint64 product;
    for (guint i = 0; readers != NULL && tensor->data_type == IFM_DTYPE_U8 && i < readers->len; i++)
    {
        const Use *use = &g_array_index(readers, Use, i);
        const gboolean blocks = g_str_equal(use->node->op_type, "GatherBlockQuantized") && use->input == 0;
        const gboolean product_of = g_str_has_prefix(use->node->op_type, "MatMul") && use->input == 1;
        const gint64 rows = attribute_of(use->node, "K", 0), columns = attribute_of(use->node, "N", 0);
        const gint64 bits = attribute_of(use->node, "bits", 4);
        if (product_of && rows > 0 && columns > 0 && !__builtin_mul_overflow(rows, columns, &product))
            return product;
        if (blocks && bits > 0 && bits < 8)
            return n * (8 / bits);
    }
    return n;
}

gint64 ifm_uses_n_parameters(const IfmUses *self, const char *name, const Onnx__TensorProto *tensor, gboolean is_constant)
{
    if (ifm_dtype_is_float((IfmDtype)tensor->data_type))
    {
        const gboolean formula = is_constant && (is_number(self, name, tensor) || only_as(self, name, is_setting, 0));
        return formula || only_as(self, name, is_scale, 0) ? 0 : ifm_onnx_n_elements(tensor);
    }
    const gboolean narrow = ifm_onnx_type_bits(tensor->data_type) <= 8 && ifm_onnx_type_bits(tensor->data_type) > 0 &&
                            tensor->data_type != IFM_DTYPE_BOOL && tensor->n_dims > 0;
    const gboolean weighs = ever_as(self, name, is_integer_weight, 0) || (narrow && ever_as(self, name, is_widened, 0));
    return weighs ? unpacked(self, name, tensor) : 0;
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
    g_autoptr(IfmUses) uses = ifm_uses_new(model);
    GPtrArray *names = g_ptr_array_new();
    for (gsize i = 0; i < graph->n_initializer; i++)
        if (is_trainable(uses, graph->initializer[i]->name, graph->initializer[i]))
            g_ptr_array_add(names, graph->initializer[i]->name);
    for (gsize i = 0; i < model->n_nodes; i++)
    {
        const Onnx__TensorProto *value = ifm_onnx_constant(&model->nodes[i]);
        if (value != NULL && is_trainable(uses, model->nodes[i].outputs[0], value))
            g_ptr_array_add(names, (gpointer)model->nodes[i].outputs[0]);
    }
    return names;
}

typedef struct
{
    const IfmModel *model;
    IfmUses *uses;
    gint64 n;
} Within;

static void count_within(Onnx__GraphProto *graph, gpointer user)
{
    Within *within = user;
    if (graph == within->model->proto->graph)
        return;
    for (gsize i = 0; i < graph->n_initializer; i++)
        if (is_trainable(within->uses, graph->initializer[i]->name, graph->initializer[i]))
            within->n += ifm_onnx_n_elements(graph->initializer[i]);
    for (gsize i = 0; i < graph->n_node; i++)
    {
        IfmNode node;
        ifm_onnx_node_wrap(graph->node[i], &node);
        const Onnx__TensorProto *value = ifm_onnx_constant(&node);
        if (value != NULL && is_trainable(within->uses, node.outputs[0], value))
            within->n += ifm_onnx_n_elements(value);
    }
}

gint64 ifm_model_n_trainable_within(const IfmModel *model)
{
    g_autoptr(IfmUses) uses = ifm_uses_new(model);
    Within within = { model, uses, 0 };
    ifm_onnx_each_graph(model->proto->graph, count_within, &within);
    return within.n;
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
        total += ifm_onnx_n_elements(weight->proto);
    }
    return total;
}
