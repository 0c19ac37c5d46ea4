/* Outputs that depend on numbers which operators draw at random: no other run gives them again. */
#include "model-uses.h"
#include "rewrite.h"

gboolean ifm_operator_draws(const char *op_type)
{
    static const char *const names[] = {
        "Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", NULL
    };
    return g_strv_contains(names, op_type);
}

/* Draws: @values: name -> GINT_TO_POINTER(1 + (the number is not 0)), of the single numbers that are known
 * @from: tensor -> the operator that its numbers come from */
typedef struct
{
    gint64 opset;
    GHashTable *values, *from;
} Draws;

static const char *in_graph(Draws *self, const Onnx__GraphProto *graph);

/* --- numbers that are known ------------------------------------------------------------------------------------------- */

static void know(Draws *self, const char *name, const IfmTensor *tensor)
{
    if (name != NULL && ifm_tensor_n_elements(tensor) == 1 && ifm_dtype_size_bytes(tensor->dtype) > 0)
        g_hash_table_insert(self->values, (gpointer)name, GINT_TO_POINTER(ifm_tensor_get_double(tensor, 0) != 0 ? 2 : 1));
}

static void know_stored(Draws *self, const char *name, const Onnx__TensorProto *stored)
{
    g_auto(IfmTensor) tensor = IFM_TENSOR_INIT;
    if (ifm_onnx_tensor_wrap(stored, &tensor))
        know(self, name, &tensor);
}

static gboolean is_zero(const Draws *self, const char *name)
{
    return GPOINTER_TO_INT(g_hash_table_lookup(self->values, name)) == 1;
}

static gboolean is_known(const Draws *self, const char *name)
{
    return g_hash_table_contains(self->values, name);
}

/* --- one node -----------------------------------------------------------------------------------------------------------
 */

#define MODE_OPSET 12 /* since which Dropout has its mode as an input */
#define NEVER_OPSET 7 /* … and has none, and infers */

/* Without its mode, or with a ratio of 0, it hands on what it is given. */
static gboolean drops_out(const Draws *self, const IfmNode *node)
{
    const char *ratio = ifm_rewrite_input(node, 1), *mode = ifm_rewrite_input(node, 2);
    if (!g_str_equal(node->op_type, "Dropout"))
        return FALSE;
    if (self->opset < MODE_OPSET)
        return self->opset < NEVER_OPSET && ifm_node_int(node, "is_test", 0) == 0;
    return mode != NULL && !is_zero(self, mode) && !(ratio != NULL && is_zero(self, ratio));
}

/* Of an If whose condition is known the branch that is taken. */
static const char *in_bodies(Draws *self, const IfmNode *node, const Onnx__NodeProto *proto)
{
    const gboolean is_if = g_strcmp0(node->op_type, "If") == 0 && node->n_inputs > 0 && is_known(self, node->inputs[0]);
    const char *taken = is_if && is_zero(self, node->inputs[0]) ? "else_branch" : "then_branch", *found = NULL;
    for (gsize i = 0; i < proto->n_attribute && found == NULL; i++)
    {
        const Onnx__AttributeProto *attribute = proto->attribute[i];
        if (is_if && g_strcmp0(attribute->name, taken) != 0)
            continue;
        if (attribute->g != NULL)
            found = in_graph(self, attribute->g);
        for (gsize k = 0; k < attribute->n_graphs && found == NULL; k++)
            found = in_graph(self, attribute->graphs[k]);
    }
    return found;
}

/* What a node reads, and its bodies read, is drawn, or it draws by itself. */
static const char *in_node(Draws *self, const Onnx__NodeProto *proto)
{
    static const char *const shaped[] = { "Shape", "Size", "RandomNormalLike", "RandomUniformLike", NULL };
    const char *found = NULL;
    IfmNode node;
    ifm_onnx_node_wrap(proto, &node);
    for (gsize k = 0; k < node.n_inputs && found == NULL && !g_strv_contains(shaped, node.op_type); k++)
        found = g_hash_table_lookup(self->from, node.inputs[k]);
    if (found == NULL && *node.domain == '\0' && (ifm_operator_draws(node.op_type) || drops_out(self, &node)))
        found = node.op_type;
    if (found == NULL)
        found = in_bodies(self, &node, proto);
    const Onnx__AttributeProto *value = ifm_onnx_is_constant(proto) ? ifm_onnx_attribute(&node, "value") : NULL;
    if (value != NULL && value->t != NULL && node.n_outputs > 0)
        know_stored(self, node.outputs[0], value->t);
    for (gsize k = 0; k < node.n_outputs && found != NULL; k++)
        if (*node.outputs[k] != '\0')
            g_hash_table_insert(self->from, (gpointer)node.outputs[k], (gpointer)found);
    return found;
}

/* --- all of them --------------------------------------------------------------------------------------------------------
 */

static const char *in_graph(Draws *self, const Onnx__GraphProto *graph)
{
    const char *found = NULL;
    for (gsize i = 0; i < graph->n_initializer; i++)
        know_stored(self, graph->initializer[i]->name, graph->initializer[i]);
    for (gsize i = 0; i < graph->n_node; i++)
    {
        const char *one = in_node(self, graph->node[i]);
        found = found != NULL ? found : one;
    }
    return found;
}

static void know_model(Draws *self, const IfmModel *model, const IfmTensor *inputs)
{
    IfmTensor weight;
    for (gsize i = 0; i < ifm_model_n_initializers(model); i++)
        if (ifm_model_initializer(model, ifm_model_initializer_name(model, i), &weight))
            know(self, ifm_model_initializer_name(model, i), &weight);
    for (gsize i = 0; i < ifm_model_n_inputs(model) && inputs != NULL; i++)
        know(self, ifm_model_input(model, i)->name, &inputs[i]);
}

GHashTable *ifm_model_draws(IfmModel *model, const IfmTensor *inputs)
{
    g_autoptr(GHashTable) values = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GHashTable) from = g_hash_table_new(g_str_hash, g_str_equal);
    GHashTable *found = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    g_autoptr(IfmModel) whole = ifm_rewrite_inlined(model, NULL);
    Draws self = { .opset = ifm_model_opset(model), .values = values, .from = from };
    if (whole == NULL)
        return found;
    know_model(&self, whole, inputs);
    for (gsize i = 0; i < ifm_model_n_nodes(whole); i++) /* each after what it reads */
        in_node(&self, ifm_model_node(whole, i)->proto);
    for (gsize i = 0; i < ifm_model_n_outputs(whole); i++)
    {
        const char *output = ifm_model_output(whole, i)->name, *source = g_hash_table_lookup(from, output);
        if (source != NULL)
            g_hash_table_insert(found, g_strdup(output), g_strdup(source));
    }
    return found;
}
