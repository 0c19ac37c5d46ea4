/*
 * What is done to a model before it is differentiated: nodes that rules do not read are replaced by others that compute the
 * same. Attributes of opsets 7 to 12 become the inputs that they are since, recurrent layers are written out step by step.
 */
#include <string.h>

#include "backward.h"

#define AXES_ARE_INPUTS 13 /* all of opset 13 and later is as the rules read it */

/* Lowering: one row an operator. @below: the opset since which the node is as the rules read it
 * @write: emits what replaces the node; FALSE: it is copied as it is */
typedef struct
{
    const char *op_type;
    gint64 below;
    gboolean (*write)(IfmBack *back);
} Lowering;

/* --- one node for one ------------------------------------------------------------------------------------------------- */

/* replace: The node as an @op_type of other inputs, under its name and with its attributes but those @dropped. Inputs end
 * with NULL, "" is left out. */
static void replace(IfmBack *back, const char *op_type, gsize n_outputs, const char *const *dropped, ...)
{
    g_autoptr(GPtrArray) inputs = g_ptr_array_new(), outputs = g_ptr_array_new();
    va_list list;
    va_start(list, dropped);
    for (const char *input = va_arg(list, const char *); input != NULL; input = va_arg(list, const char *))
        g_ptr_array_add(inputs, (gpointer)input);
    va_end(list);
    for (gsize i = 0; i < MIN(n_outputs, back->node->n_outputs); i++)
        g_ptr_array_add(outputs, (gpointer)back->node->outputs[i]);
    g_ptr_array_add(inputs, NULL);
    g_ptr_array_add(outputs, NULL);
    back->last = ifm_model_builder_node(back->builder, op_type, back->node->name, (const char *const *)inputs->pdata,
                                        (const char *const *)outputs->pdata);
    json_t *attributes = ifm_node_attributes(back->node);
    for (; *dropped != NULL; dropped++)
        json_object_del(attributes, *dropped);
    ifm_model_builder_attributes(back->builder, back->last, attributes);
    json_decref(attributes);
}

#define ALL_OUTPUTS G_MAXSIZE
#define DROPPED(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* list_of: an attribute as a constant; NULL where the node does not have it. */
static const char *list_of(IfmBack *back, const char *attribute)
{
    gsize n = 0;
    const gint64 *values = ifm_node_ints(back->node, attribute, &n);
    return values != NULL ? ifm_back_list(back, values, n) : NULL;
}

static gboolean with_list(IfmBack *back, const char *attribute)
{
    const char *list = list_of(back, attribute);
    if (list != NULL)
        replace(back, back->node->op_type, ALL_OUTPUTS, DROPPED(attribute), back->node->inputs[0], list, NULL);
    return list != NULL;
}

static gboolean write_axes(IfmBack *back)
{
    return with_list(back, "axes");
}

static gboolean write_split(IfmBack *back)
{
    return with_list(back, "split");
}

static gboolean has_attribute(const IfmBack *back, const char *name)
{
    json_t *attributes = ifm_node_attributes(back->node);
    gboolean has = json_object_get(attributes, name) != NULL;
    json_decref(attributes);
    return has;
}

/* number_of: an attribute as a scalar of the type of the node's input; "" where the node does not have it. */
static const char *number_of(IfmBack *back, const char *attribute)
{
    if (!has_attribute(back, attribute))
        return "";
    IfmDtype dtype = ifm_back_dtype(back, back->node->inputs[0]);
    return ifm_back_scalar(back, dtype, ifm_node_float(back->node, attribute, 0));
}

static gboolean write_clip(IfmBack *back)
{
    const char *low = number_of(back, "min"), *high = number_of(back, "max");
    replace(back, "Clip", ALL_OUTPUTS, DROPPED("min", "max"), back->node->inputs[0],
            *low == '\0' && *high == '\0' ? NULL : low, *high == '\0' ? NULL : high, NULL);
    return TRUE;
}

static gboolean write_pad(IfmBack *back)
{
    const char *pads = list_of(back, "pads"), *value = number_of(back, "value");
    if (pads != NULL)
        replace(back, "Pad", ALL_OUTPUTS, DROPPED("pads", "value"), back->node->inputs[0], pads,
                *value == '\0' ? NULL : value, NULL);
    return pads != NULL;
}

static gboolean write_slice(IfmBack *back)
{
    const char *starts = list_of(back, "starts"), *ends = list_of(back, "ends");
    if (starts == NULL || ends == NULL)
        return FALSE;
    replace(back, "Slice", ALL_OUTPUTS, DROPPED("starts", "ends", "axes"), back->node->inputs[0], starts, ends,
            list_of(back, "axes"), NULL);
    return TRUE;
}

static gboolean write_top_k(IfmBack *back)
{
    replace(back, "TopK", ALL_OUTPUTS, DROPPED("k"), back->node->inputs[0],
            ifm_back_number(back, ifm_node_int(back->node, "k", 1)), NULL);
    return TRUE;
}

/* Of these opsets it is the identity. */
static gboolean write_dropout(IfmBack *back)
{
    replace(back, "Dropout", ALL_OUTPUTS, DROPPED("ratio"), back->node->inputs[0], NULL);
    return TRUE;
}

static gboolean write_scatter(IfmBack *back)
{
    const char *const *in = back->node->inputs;
    replace(back, "ScatterElements", ALL_OUTPUTS, DROPPED("none"), in[0], in[1], in[2], NULL);
    return TRUE;
}

/* One of more outputs than y is one in training. */
static gboolean write_batch_normalization(IfmBack *back)
{
    const char *const *in = back->node->inputs;
    gboolean is_training = back->node->n_outputs > 1;
    if (back->node->n_inputs != 5 || ifm_node_int(back->node, "spatial", 1) != 1)
    {
        ifm_back_fail(back, "statistics of single elements (spatial = 0): no gradient rule");
        return FALSE;
    }
    replace(back, is_training ? "BatchNormalization training_mode=1" : "BatchNormalization", 3, DROPPED("spatial"), in[0],
            in[1], in[2], in[3], in[4], NULL);
    return TRUE;
}

/* Upsample, and Resize of opset 10: element i of the input goes to scale i, rounded down. */
static gboolean write_upsample(IfmBack *back)
{
    gsize n = 0;
    const float *given = ifm_node_floats(back->node, "scales", &n);
    const char *scales = ifm_back_input(back, 1);
    if (given != NULL && n <= IFM_MAX_RANK)
    {
        double values[IFM_MAX_RANK];
        for (gsize i = 0; i < n; i++)
            values[i] = (double)given[i];
        scales = ifm_back_values(back, IFM_DTYPE_F32, 1, (const gint64[]){ (gint64)n }, values);
    }
    const char *mode = ifm_node_string(back->node, "mode", "nearest");
    if (scales == NULL)
        return FALSE;
#define ROUNDED_DOWN " coordinate_transformation_mode=asymmetric nearest_mode=floor"
    replace(back, g_str_equal(mode, "nearest") ? "Resize mode=nearest" ROUNDED_DOWN : "Resize mode=linear" ROUNDED_DOWN,
            ALL_OUTPUTS, DROPPED("scales", "mode"), back->node->inputs[0], "", scales, NULL);
    return TRUE;
}

static gboolean write_resize(IfmBack *back)
{
    return ifm_model_opset(back->model) < 11 && write_upsample(back);
}

/* Over all axes from @axis on together; since opset 13 along one. */
static gboolean write_softmax(IfmBack *back)
{
    const char *input = back->x, *op_type = back->node->op_type;
    const int rank = ifm_back_shape(back, input).rank;
    gint64 axis = ifm_node_int(back->node, "axis", 1);
    axis = axis < 0 ? axis + rank : axis;
    if (axis == rank - 1)
    {
        replace(back, op_type, ALL_OUTPUTS, DROPPED("axis"), input, NULL);
        ifm_back_int(back, "axis", axis);
        return TRUE;
    }
    const char *rows = ifm_back_op(back, "Flatten", input, NULL);
    ifm_back_int(back, "axis", axis);
    rows = ifm_back_op(back, g_str_equal(op_type, "Softmax") ? "Softmax axis=1" : "LogSoftmax axis=1", rows, NULL);
    ifm_back_op_to(back, back->y, "Reshape", rows, ifm_back_shape_of(back, input), NULL);
    return TRUE;
}

/* --- the table -------------------------------------------------------------------------------------------------------- */

/* Sorted by name. */
static const Lowering lowerings[] = {
    { "BatchNormalization", 14, write_batch_normalization },
    { "Clip", 11, write_clip },
    { "Dropout", 12, write_dropout },
    { "GRU", G_MAXINT64, ifm_lower_recurrent },
    { "LSTM", G_MAXINT64, ifm_lower_recurrent },
    { "LogSoftmax", 13, write_softmax },
    { "Pad", 11, write_pad },
    { "RNN", G_MAXINT64, ifm_lower_recurrent },
    { "ReduceSum", 13, write_axes },
    { "Resize", 11, write_resize },
    { "Scatter", 11, write_scatter },
    { "Slice", 10, write_slice },
    { "Softmax", 13, write_softmax },
    { "Split", 13, write_split },
    { "Squeeze", 13, write_axes },
    { "TopK", 10, write_top_k },
    { "Unsqueeze", 13, write_axes },
    { "Upsample", 10, write_upsample },
};

static const Lowering *find(const IfmModel *model, const IfmNode *node)
{
    for (gsize i = 0; i < G_N_ELEMENTS(lowerings); i++)
        if (*node->domain == '\0' && g_str_equal(lowerings[i].op_type, node->op_type))
            return ifm_model_opset(model) < lowerings[i].below ? &lowerings[i] : NULL;
    return NULL;
}

static gboolean is_lowered_already(const IfmModel *model)
{
    gboolean is_old = ifm_model_opset(model) < AXES_ARE_INPUTS;
    for (gsize i = 0; i < ifm_model_n_nodes(model) && !is_old; i++)
        is_old = find(model, ifm_model_node(model, i)) != NULL;
    return !is_old;
}

/* --- branches --------------------------------------------------------------------------------------------------------- */

static gboolean is_if(const IfmNode *node)
{
    return *node->domain == '\0' && g_str_equal(node->op_type, "If") && node->n_inputs > 0 && node->n_outputs > 0;
}

/* known_branches: (transfer full) as ifm_model_inline_branches() takes them; NULL with an error. */
static GHashTable *known_branches(IfmModel *model, const IfmGradientOptions *options, GError **error)
{
    IfmBack back = { .model = model };
    gint64 condition[IFM_ANALYSIS_MAX_INTS];
    gsize n;
    back.facts = ifm_back_facts_new(model, options->bindings, options->n_bindings, error);
    if (back.facts == NULL)
        return NULL;
    GHashTable *taken = g_hash_table_new(g_str_hash, g_str_equal);
    for (gsize i = 0; i < ifm_model_n_nodes(model); i++)
    {
        const IfmNode *node = ifm_model_node(model, i);
        if (is_if(node) && ifm_back_known_ints(&back, node->inputs[0], condition, &n) && n == 1)
            g_hash_table_insert(taken, (gpointer)node->outputs[0], GINT_TO_POINTER(condition[0] != 0 ? 2 : 1));
    }
    ifm_back_facts_free(back.facts);
    return taken;
}

IfmModel *ifm_gradient_inlined(IfmModel *model, const IfmGradientOptions *options, GError **error)
{
    g_autoptr(IfmModel) now = ifm_model_ref(model);
    for (;;) /* a branch may have others within; each time there is one level less */
    {
        gboolean has_any = FALSE;
        for (gsize i = 0; i < ifm_model_n_nodes(now); i++)
            has_any = has_any || is_if(ifm_model_node(now, i));
        g_autoptr(GHashTable) taken = has_any ? known_branches(now, options, error) : NULL;
        if (has_any && taken == NULL)
            return NULL;
        if (!has_any || g_hash_table_size(taken) == 0)
            return g_steal_pointer(&now);
        IfmModel *next = ifm_model_inline_branches(now, taken, error);
        ifm_model_unref(g_steal_pointer(&now));
        if ((now = next) == NULL)
            return NULL;
    }
}

/* --- the model -------------------------------------------------------------------------------------------------------- */

static void write_node(IfmBack *back, gsize index)
{
    ifm_back_take(back, index);
    if (ifm_model_opset(back->model) < AXES_ARE_INPUTS && ifm_node_has_subgraph(back->node))
        ifm_back_fail(back, "a subgraph of opset %" G_GINT64_FORMAT ": no gradient rule", ifm_model_opset(back->model));
    const Lowering *row = find(back->model, back->node);
    if (row == NULL || !row->write(back))
        back->last = ifm_model_builder_copy_node(back->builder, back->node);
}

void ifm_back_copy_inputs(IfmBack *back)
{
    for (gsize i = 0; i < ifm_model_n_inputs(back->model); i++)
    {
        const IfmPort *port = ifm_model_input(back->model, i);
        g_autofree char *key = g_strdup_printf("inferometer.range.%s", port->name); /* of seeded values */
        const char *range = ifm_model_metadata(back->model, key);
        ifm_model_builder_input(back->builder, port->name, port->dtype, port->rank, port->dims,
                                (const char *const *)port->dim_names);
        if (range != NULL)
            ifm_model_builder_metadata(back->builder, key, range);
    }
}

static void write_model(IfmBack *back)
{
    const IfmModel *model = back->model;
    ifm_back_copy_inputs(back);
    for (gsize i = 0; i < ifm_model_n_initializers(model); i++)
        ifm_model_builder_copy_weight(back->builder, model, ifm_model_initializer_name(model, i));
    ifm_model_builder_copy_context(back->builder, model);
    back->part = "forward";
    for (gsize i = 0; i < ifm_model_n_nodes(model) && back->error == NULL; i++)
        write_node(back, i);
    ifm_model_builder_copy_outputs(back->builder, model);
}

IfmModel *ifm_gradient_lowered(IfmModel *model, const IfmGradientOptions *options, GError **error)
{
    if (is_lowered_already(model))
        return ifm_model_ref(model);
    g_autoptr(IfmBack) back = ifm_back_new(model, options, NULL, error);
    if (back == NULL)
        return NULL;
    write_model(back);
    if (back->error == NULL)
        return ifm_model_builder_finish(back->builder, error);
    g_propagate_error(error, g_steal_pointer(&back->error));
    return NULL;
}
