/* Differentiation: the tensors with a gradient, the forward nodes, then the backward nodes in reverse order. */
#include <base/base.h>
#include <stdarg.h>
#include <string.h>

#include "backward.h"

/* --- the node in hand --------------------------------------------------------------------------------------------- */

const char *ifm_back_input(const IfmBack *back, gsize index)
{
    return index < back->node->n_inputs && *back->node->inputs[index] != '\0' ? back->node->inputs[index] : NULL;
}

const char *ifm_back_output(const IfmBack *back, gsize index)
{
    return index < back->node->n_outputs && *back->node->outputs[index] != '\0' ? back->node->outputs[index] : NULL;
}

gboolean ifm_back_wants(const IfmBack *back, gsize input)
{
    const char *name = ifm_back_input(back, input);
    return name != NULL && g_hash_table_contains(back->reached, name);
}

const char *ifm_back_gradient(const IfmBack *back, gsize output)
{
    const char *name = ifm_back_output(back, output);
    return name != NULL ? g_hash_table_lookup(back->gradients, name) : NULL;
}

void ifm_back_give(IfmBack *back, gsize input, const char *gradient)
{
    if (!ifm_back_wants(back, input))
        return;
    const char *name = back->node->inputs[input], *so_far = g_hash_table_lookup(back->gradients, name);
    const char *factor = ifm_back_kept(back, IFM_BACK_FACTOR);
    if (factor != NULL)
        gradient = ifm_back_mul(back, gradient, factor);
    if (so_far != NULL)
        gradient = ifm_back_add(back, so_far, gradient);
    g_hash_table_insert(back->gradients, (gpointer)name, (gpointer)gradient);
}

void ifm_back_give_sum(IfmBack *back, gsize input, const char *gradient, const char *from)
{
    if (ifm_back_wants(back, input))
        ifm_back_give(back, input, ifm_back_sum_to(back, gradient, from, back->node->inputs[input]));
}

/* place_of: "node NAME (OP)": the current node, for messages. */
static char *place_of(const IfmBack *back)
{
    if (*back->node->name != '\0')
        return g_strdup_printf("node '%s' (%s)", back->node->name, back->node->op_type);
    return g_strdup_printf("node %zu (%s)", back->node_index, back->node->op_type);
}

void ifm_back_fail(IfmBack *back, const char *format, ...)
{
    if (back->error != NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_autofree char *place = back->node != NULL ? place_of(back) : g_strdup("the loss");
    back->error = g_error_new(IFM_ERROR, IFM_ERROR_UNSUPPORTED, "%s: %s: %s", ifm_model_name(back->model), place, message);
}

gboolean ifm_back_is_constant(const IfmBack *back, const char *tensor)
{
    return g_hash_table_contains(back->carried, tensor);
}

static char *kept_key(gsize node_index, const char *key)
{
    return g_strdup_printf("%zu %s", node_index, key);
}

void ifm_back_keep_for(IfmBack *back, gsize node_index, const char *key, const char *tensor)
{
    g_hash_table_insert(back->kept, kept_key(node_index, key), (gpointer)tensor);
}

void ifm_back_keep(IfmBack *back, const char *key, const char *tensor)
{
    ifm_back_keep_for(back, back->node_index, key, tensor);
}

const char *ifm_back_kept(const IfmBack *back, const char *key)
{
    g_autofree char *whole = kept_key(back->node_index, key);
    return g_hash_table_lookup(back->kept, whole);
}

const IfmNode *ifm_back_sole_reader(const IfmBack *back, const char *tensor)
{
    const GArray *readers = ifm_model_consumers(back->model, tensor);
    gboolean is_sole = readers != NULL && readers->len == 1 && !g_hash_table_contains(back->wanted, tensor);
    return is_sole ? ifm_model_node(back->model, g_array_index(readers, gsize, 0)) : NULL;
}

void ifm_back_take(IfmBack *back, gsize index)
{
    back->node = ifm_model_node(back->model, index);
    back->node_index = index;
    back->x = ifm_back_input(back, 0);
    back->y = ifm_back_output(back, 0);
    back->g = ifm_back_gradient(back, 0);
    back->is_live = FALSE;
    for (gsize i = 0; i < back->node->n_outputs && back->node->n_inputs > 0; i++) /* a Constant may be a weight: a source */
        back->is_live = back->is_live || g_hash_table_contains(back->live, back->node->outputs[i]);
}

/* --- which tensors ------------------------------------------------------------------------------------------------ */

/* has_zero_gradient: Whether small changes of the inputs do not change the outputs. */
static gboolean has_zero_gradient(const IfmNode *node)
{
    const IfmGradientRule *row = ifm_gradient_rule_find(node);
    return row != NULL && row->rule == NULL && row->formula == NULL;
}

/* may_carry: Integers and booleans have no gradient. A tensor of unknown type may have one. */
static gboolean may_carry(const IfmBack *back, const char *tensor)
{
    IfmBackShape shape;
    return *tensor != '\0' && (!ifm_back_facts_shape(back->facts, tensor, &shape) || ifm_dtype_is_float(shape.dtype));
}

/* reach: Forwards from the tensors to differentiate by. The names that subgraphs of a node read count as its inputs. */
static void reach(IfmBack *back)
{
    g_autoptr(GHashTable) capturing = g_hash_table_new(NULL, NULL);
    GHashTableIter iterator;
    gpointer tensor;
    g_autoptr(GPtrArray) start = g_ptr_array_new();
    g_hash_table_iter_init(&iterator, back->reached);
    while (g_hash_table_iter_next(&iterator, &tensor, NULL))
        g_ptr_array_add(start, tensor);
    for (gsize i = 0; i < ifm_model_n_nodes(back->model); i++)
    {
        const IfmNode *node = ifm_model_node(back->model, i);
        gboolean reads = g_hash_table_contains(capturing, GSIZE_TO_POINTER(i));
        for (gsize k = 0; k < node->n_inputs; k++)
            reads = reads || g_hash_table_contains(back->reached, node->inputs[k]);
        for (gsize k = 0; k < node->n_outputs && reads && !has_zero_gradient(node); k++)
            if (may_carry(back, node->outputs[k]))
            {
                g_hash_table_add(back->reached, (gpointer)node->outputs[k]);
                g_ptr_array_add(start, (gpointer)node->outputs[k]);
            }
        for (; start->len > 0; g_ptr_array_set_size(start, (int)start->len - 1))
        {
            const GArray *readers = ifm_model_consumers(back->model, g_ptr_array_index(start, start->len - 1));
            for (guint k = 0; readers != NULL && k < readers->len; k++)
                g_hash_table_add(capturing, GSIZE_TO_POINTER(g_array_index(readers, gsize, k)));
        }
    }
}

/* follow_back: Backwards from the output of the loss, through reached tensors. */
static gboolean follow_back(IfmBack *back, const char *output)
{
    if (g_hash_table_contains(back->reached, output))
        g_hash_table_add(back->live, (gpointer)output);
    for (gsize i = ifm_model_n_nodes(back->model); i-- > 0 && back->error == NULL;)
    {
        ifm_back_take(back, i);
        if (!back->is_live)
            continue;
        if (ifm_gradient_rule_find(back->node) == NULL)
            ifm_back_fail(back, "no gradient rule");
        for (gsize k = 0; k < back->node->n_inputs; k++)
            if (g_hash_table_contains(back->reached, back->node->inputs[k]))
                g_hash_table_add(back->live, (gpointer)back->node->inputs[k]);
    }
    return back->error == NULL;
}

/* --- the forward nodes -------------------------------------------------------------------------------------------- */

/* is_needed: Whether an output of the node is in @wanted. */
static gboolean is_needed(const IfmBack *back, const IfmNode *node, const gboolean *needed)
{
    for (gsize i = 0; i < node->n_outputs; i++)
    {
        const GArray *readers = ifm_model_consumers(back->model, node->outputs[i]);
        if (g_hash_table_contains(back->wanted, node->outputs[i]))
            return TRUE;
        for (guint k = 0; readers != NULL && k < readers->len; k++)
            if (needed[g_array_index(readers, gsize, k)])
                return TRUE;
    }
    return FALSE;
}

static void copy_weights(IfmBack *back, const gboolean *needed, GHashTable *inputs)
{
    for (gsize i = 0; i < ifm_model_n_initializers(back->model); i++)
    {
        const char *name = ifm_model_initializer_name(back->model, i);
        const GArray *readers = ifm_model_consumers(back->model, name);
        gboolean is_read = g_hash_table_contains(back->wanted, name);
        for (guint k = 0; readers != NULL && k < readers->len; k++)
            is_read = is_read || needed[g_array_index(readers, gsize, k)];
        if (!is_read || g_hash_table_contains(inputs, name))
            continue;
        ifm_model_builder_copy_weight(back->builder, back->model, name);
        g_hash_table_add(back->carried, (gpointer)name);
    }
}

/* Of each node whether it is needed, once the weights and what nodes stand in are copied. (transfer full) */
static gboolean *copy_needed(IfmBack *back, GHashTable *inputs)
{
    gsize n = ifm_model_n_nodes(back->model);
    gboolean *needed = g_new0(gboolean, n + 1);
    for (gsize i = n; i-- > 0;)
        needed[i] = is_needed(back, ifm_model_node(back->model, i), needed);
    copy_weights(back, needed, inputs);
    ifm_model_builder_copy_context(back->builder, back->model);
    return needed;
}

IfmModel *ifm_gradient_forward(IfmModel *pass, IfmModel *given, GError **error)
{
    const IfmPort *output = ifm_model_output(given, 0);
    g_autofree char *name = g_strdup_printf("%s-forward", ifm_model_name(given));
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new(name, ifm_model_opset(pass));
    g_autoptr(GHashTable) wanted = g_hash_table_new(g_str_hash, g_str_equal),
                          none = g_hash_table_new(g_str_hash, g_str_equal),
                          carried = g_hash_table_new(g_str_hash, g_str_equal);
    IfmBack of_given = { .model = given, .builder = builder },
            back = { .model = pass, .builder = builder, .wanted = wanted, .carried = carried };
    ifm_model_builder_share_external(builder);
    g_hash_table_add(wanted, output->name);
    ifm_back_copy_inputs(&of_given);
    g_autofree gboolean *needed = copy_needed(&back, none);
    for (gsize i = 0; i < ifm_model_n_nodes(pass); i++)
        if (needed[i])
            ifm_model_builder_copy_node(builder, ifm_model_node(pass, i));
    ifm_model_builder_output(builder, output->name, output->dtype, output->rank, output->dims,
                             (const char *const *)output->dim_names);
    return ifm_model_builder_finish(builder, error);
}

void ifm_back_copy_forward(IfmBack *back, GHashTable *inputs)
{
    const gsize n = ifm_model_n_nodes(back->model);
    g_autofree gboolean *needed = copy_needed(back, inputs);
    for (gsize i = 0; i < n && back->error == NULL; i++)
    {
        const IfmNode *node = ifm_model_node(back->model, i);
        if (!needed[i] || (node->n_outputs == 1 && g_hash_table_contains(inputs, node->outputs[0])))
            continue;
        ifm_back_take(back, i);
        const IfmGradientRule *row = ifm_gradient_rule_find(back->node);
        back->part = "forward";
        if (row == NULL || row->forward == NULL || !row->forward(back))
            back->last = ifm_model_builder_copy_node(back->builder, back->node);
    }
    back->node = NULL;
}

/* --- the backward nodes ------------------------------------------------------------------------------------------- */

gboolean ifm_back_follow(IfmBack *back, const char *output, GError **error)
{
    reach(back);
    if (follow_back(back, output))
        return TRUE;
    return ifm_error_pass(error, g_steal_pointer(&back->error));
}

void ifm_back_run_rules(IfmBack *back)
{
    back->part = "backward";
    for (gsize i = ifm_model_n_nodes(back->model); i-- > 0 && back->error == NULL;)
    {
        ifm_back_take(back, i);
        gboolean has_gradient = FALSE;
        for (gsize k = 0; k < back->node->n_outputs; k++)
            has_gradient = has_gradient || ifm_back_gradient(back, k) != NULL;
        const IfmGradientRule *row = has_gradient && back->is_live ? ifm_gradient_rule_find(back->node) : NULL;
        if (row != NULL && row->formula != NULL)
            ifm_back_give(back, 0, ifm_back_formula(back, row->formula, NULL));
        else if (row != NULL)
            row->rule(back);
    }
    back->node = NULL;
}

/* --- making and freeing one --------------------------------------------------------------------------------------- */

/* read_model: Takes the names of the model, and finds out whether it adds rows. */
static void read_model(IfmBack *back)
{
    for (gsize i = 0; i < ifm_model_n_inputs(back->model); i++)
        g_hash_table_add(back->taken, ifm_model_input(back->model, i)->name);
    for (gsize i = 0; i < ifm_model_n_initializers(back->model); i++)
        g_hash_table_add(back->taken, (gpointer)ifm_model_initializer_name(back->model, i));
    for (gsize i = 0; i < ifm_model_n_nodes(back->model); i++)
    {
        const IfmNode *node = ifm_model_node(back->model, i);
        back->adds_rows = back->adds_rows || (g_str_equal(node->op_type, "ScatterND") &&
                                              !g_str_equal(ifm_node_string(node, "reduction", "none"), "none"));
        g_hash_table_add(back->taken_nodes, (gpointer)node->name);
        for (gsize k = 0; k < node->n_outputs; k++)
            g_hash_table_add(back->taken, (gpointer)node->outputs[k]);
    }
}

/* Tables of names that are not theirs. */
static const gsize name_tables[] = {
    offsetof(IfmBack, taken),   offsetof(IfmBack, taken_nodes), offsetof(IfmBack, numbers),
    offsetof(IfmBack, carried), offsetof(IfmBack, wanted),      offsetof(IfmBack, node_numbers),
    offsetof(IfmBack, reached), offsetof(IfmBack, live),        offsetof(IfmBack, gradients),
};

IfmBack *ifm_back_new(IfmModel *model, const IfmGradientOptions *options, const char *suffix, GError **error)
{
    IfmBackFacts *facts = ifm_back_facts_new(model, options->bindings, options->n_bindings, error);
    if (facts == NULL)
        return NULL;
    g_autofree char *name = g_strjoin("-", ifm_model_name(model), suffix, NULL);
    IfmBack *back = g_new0(IfmBack, 1);
    back->model = model;
    back->options = options;
    back->facts = facts;
    back->opset = MAX(ifm_model_opset(model), IFM_GRADIENT_OPSET);
    back->builder = ifm_model_builder_new(name, back->opset);
    ifm_model_builder_share_external(back->builder);
    g_autofree char *bound = ifm_back_facts_bound(facts);
    if (bound != NULL)
        ifm_model_builder_metadata(back->builder, IFM_GRADIENT_BOUND, bound);
    back->strings = g_string_chunk_new(4096);
    back->constants = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    back->kept = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(name_tables); i++)
        G_STRUCT_MEMBER(GHashTable *, back, name_tables[i]) = g_hash_table_new(g_str_hash, g_str_equal);
    read_model(back);
    return back;
}

void ifm_back_free(IfmBack *back)
{
    if (back == NULL)
        return;
    g_hash_table_unref(back->constants);
    g_hash_table_unref(back->kept);
    for (gsize i = 0; i < G_N_ELEMENTS(name_tables); i++)
        g_hash_table_unref(G_STRUCT_MEMBER(GHashTable *, back, name_tables[i]));
    ifm_back_facts_free(back->facts);
    ifm_model_builder_free(back->builder);
    g_string_chunk_free(back->strings);
    g_clear_error(&back->error);
    g_free(back);
}
