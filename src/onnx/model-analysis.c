/* Shapes and costs of a model. The nodes are visited in order, each with the known facts of its inputs. */
#include <string.h>

#include "operators.h"

/* Analyser: the state while the nodes are visited. */
typedef struct
{
    IfmModel *model;
    IfmAnalysis *analysis;
    GHashTable *declared; /* name -> Onnx__ValueInfoProto*, of the top-level graph */
    GHashTable *observed; /* name -> IfmObservedShape*, of the top-level graph */
    const IfmDimBinding *bindings;
    gsize n_bindings;
    const IfmKnown *known;
} Analyser;

/* The names of a graph, linked to those of the enclosing graphs. */
struct IfmScope
{
    Analyser *analyser;
    GHashTable *facts;
    const IfmScope *outer;
};

/* known_bytes: A fact has room for many values and mostly holds few. Only the used part is kept and copied. */
static gsize known_bytes(const IfmTensorInfo *fact)
{
    gsize n_values = fact->values != IFM_VALUES_UNKNOWN ? (gsize)fact->n_values : 0;
    return offsetof(IfmTensorInfo, ints) + n_values * sizeof fact->ints[0];
}

static void set_fact(IfmScope *scope, const char *name, const IfmTensorInfo *fact)
{
    g_hash_table_insert(scope->facts, (gpointer)name, g_memdup2(fact, known_bytes(fact)));
}

static const IfmTensorInfo *find_fact(const IfmScope *scope, const char *name)
{
    for (; scope != NULL && *name != '\0'; scope = scope->outer)
    {
        const IfmTensorInfo *fact = g_hash_table_lookup(scope->facts, name);
        if (fact != NULL)
            return fact;
    }
    return NULL;
}

static void copy_fact(const IfmScope *scope, const char *name, IfmTensorInfo *fact)
{
    const IfmTensorInfo *found = find_fact(scope, name);
    if (found != NULL)
        memcpy(fact, found, known_bytes(found));
    else
        *fact = IFM_FACT_UNKNOWN;
}

static gboolean check_size(const IfmTensorInfo *fact, const char *name, GError **error)
{
    gint64 n;
    if (fact->rank < 0 || ifm_fact_n_elements(fact, &n))
        return TRUE;
    g_autofree char *shape = ifm_fact_shape(fact);
    return ifm_error_refuse(error, "'%s': shape %s is larger than any memory", name, shape);
}

/* --- facts before the first node ---------------------------------------------------------------------------------- */

/* observe: Compares a shape with the observed one; takes the observed one where the shape is unknown. */
static gboolean observe(IfmScope *scope, const char *name, IfmTensorInfo *fact, GError **error)
{
    const IfmObservedShape *seen = NULL;
    if (scope->outer == NULL && scope->analyser->observed != NULL)
        seen = g_hash_table_lookup(scope->analyser->observed, name);
    if (seen == NULL)
        return TRUE;
    if (fact->dtype == IFM_DTYPE_UNDEFINED)
        fact->dtype = seen->dtype;
    if (fact->rank < 0)
    {
        fact->rank = seen->rank;
        memcpy(fact->dims, seen->shape, (gsize)seen->rank * sizeof fact->dims[0]);
        scope->analyser->analysis->n_observed++;
        return TRUE;
    }
    if (fact->rank == seen->rank && memcmp(fact->dims, seen->shape, (gsize)seen->rank * sizeof fact->dims[0]) == 0)
        return TRUE;
    g_autofree char *found = ifm_fact_shape(fact);
    g_autofree char *run = ifm_shape_to_string(seen->rank, seen->shape);
    return ifm_error_refuse(error, "'%s' comes out as %s, but a run had %s", name, found, run);
}

/* The values of an input that is given, where they are few. */
static void take_given(const Analyser *analyser, const char *name, IfmTensorInfo *fact)
{
    for (gsize i = 0; i < analyser->known->n_given; i++)
    {
        const IfmGivenInput *given = &analyser->known->given[i];
        if (g_str_equal(given->name, name) && given->tensor.dtype == fact->dtype && given->tensor.rank == fact->rank &&
            (fact->rank == 0 || memcmp(given->tensor.shape, fact->dims, (gsize)fact->rank * sizeof fact->dims[0]) == 0))
            ifm_fact_take_values(fact, &given->tensor);
    }
}

static gboolean add_inputs(IfmScope *scope, GError **error)
{
    const Analyser *analyser = scope->analyser;
    for (gsize i = 0; i < ifm_model_n_inputs(analyser->model); i++)
    {
        const IfmPort *port = ifm_model_input(analyser->model, i);
        IfmTensorInfo fact = IFM_FACT_UNKNOWN;
        fact.dtype = port->dtype;
        if (port->rank >= 0)
        {
            if (!ifm_port_bind(port, analyser->bindings, analyser->n_bindings, fact.dims, error))
                return FALSE;
            fact.rank = port->rank;
        }
        if (!observe(scope, port->name, &fact, error) || !check_size(&fact, port->name, error))
            return FALSE;
        take_given(analyser, port->name, &fact);
        set_fact(scope, port->name, &fact);
    }
    return TRUE;
}

static void add_initializers(IfmScope *scope, const Onnx__GraphProto *graph)
{
    for (gsize i = 0; i < graph->n_initializer; i++)
    {
        IfmTensorInfo fact = ifm_fact_from_tensor(graph->initializer[i]);
        set_fact(scope, graph->initializer[i]->name, &fact);
    }
    for (gsize i = 0; i < graph->n_sparse_initializer; i++)
    {
        const Onnx__SparseTensorProto *sparse = graph->sparse_initializer[i];
        IfmTensorInfo fact = { .dtype = (IfmDtype)sparse->values->data_type, .rank = -1 };
        if (sparse->n_dims <= IFM_MAX_RANK)
        {
            fact.rank = (int)sparse->n_dims;
            if (sparse->n_dims > 0)
                memcpy(fact.dims, sparse->dims, sparse->n_dims * sizeof fact.dims[0]);
        }
        gint64 n;
        if (!ifm_fact_n_elements(&fact, &n)) /* a rank of -1 has none to count */
            fact.rank = -1;
        set_fact(scope, sparse->values->name, &fact);
    }
}

static void add_declared(Analyser *analyser)
{
    const Onnx__GraphProto *graph = analyser->model->proto->graph;
    for (gsize i = 0; i < graph->n_value_info; i++)
        if (graph->value_info[i]->name != NULL)
            g_hash_table_insert(analyser->declared, graph->value_info[i]->name, graph->value_info[i]);
    for (gsize i = 0; i < graph->n_output; i++)
        g_hash_table_insert(analyser->declared, graph->output[i]->name, graph->output[i]);
}

/* --- facts that nodes make ---------------------------------------------------------------------------------------- */

/* is_as_declared: Whether a shape agrees with the fixed dimensions that the model declares. */
static gboolean is_as_declared(const IfmTensorInfo *fact, const Onnx__TensorShapeProto *shape)
{
    gboolean agrees = fact->rank < 0 || shape->n_dim == (gsize)fact->rank;
    for (gsize i = 0; agrees && fact->rank >= 0 && i < shape->n_dim; i++)
    {
        const Onnx__TensorShapeProto__Dimension *dim = shape->dim[i];
        agrees = dim->value_case != ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE || dim->dim_value < 0 ||
                 dim->dim_value == fact->dims[i];
    }
    return agrees;
}

/* agree: Compares the shape of an output with the fixed dimensions that the model declares; takes the declared shape where
 * it is unknown. Names of free dimensions are ignored: exporters reuse them, and runtimes accept that. What contradicts is
 * noted and goes on as it comes out: runtimes warn of it and run. */
static gboolean agree(const Analyser *analyser, const char *name, IfmTensorInfo *fact, GError **error)
{
    const Onnx__ValueInfoProto *info = g_hash_table_lookup(analyser->declared, name);
    if (info == NULL || info->type == NULL || info->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
        return TRUE;
    const Onnx__TypeProto__Tensor *type = info->type->tensor_type;
    gboolean is_known = fact->rank >= 0 && fact->dtype != IFM_DTYPE_UNDEFINED;
    if (type == NULL || (is_known && (type->shape == NULL || is_as_declared(fact, type->shape))))
        return TRUE;
    IfmPort *port = ifm_onnx_port_parse(info, error);
    if (port == NULL)
        return FALSE;
    gboolean agrees = type->shape == NULL || is_as_declared(fact, type->shape);
    if (!agrees)
    {
        g_autofree char *found = ifm_fact_shape(fact);
        g_autofree char *declared = ifm_shape_to_string(port->rank, port->dims);
        IfmAnalysis *analysis = analyser->analysis;
        if (analysis->n_contradicted++ == 0)
            analysis->contradiction =
                g_strdup_printf("'%s' comes out as %s, but the model declares %s", name, found, declared);
    }
    if (agrees && fact->dtype == IFM_DTYPE_UNDEFINED)
        fact->dtype = port->dtype;
    if (agrees && fact->rank < 0 && port->rank >= 0 &&
        ifm_port_bind(port, analyser->bindings, analyser->n_bindings, fact->dims, NULL))
        fact->rank = port->rank;
    ifm_port_free(port);
    return TRUE;
}

/* already_read: Whether the tensor is also an earlier input. Few nodes have many inputs, so there is no table. */
static gboolean already_read(const IfmNode *node, gsize index, GHashTable *read)
{
    if (read != NULL)
        return !g_hash_table_add(read, (gpointer)node->inputs[index]);
    for (gsize i = 0; i < index; i++)
        if (g_str_equal(node->inputs[i], node->inputs[index]))
            return TRUE;
    return FALSE;
}

#define MAX_WITHOUT_TABLE 16

/* count_bytes: Returns: the reason why the bytes are unknown; NULL where they are known. */
static const char *count_bytes(const IfmOperatorCall *call, IfmNodeCost *cost)
{
    const IfmNode *node = call->node;
    g_autoptr(GHashTable) read = node->n_inputs > MAX_WITHOUT_TABLE ? g_hash_table_new(g_str_hash, g_str_equal) : NULL;
    for (gsize i = 0; i < node->n_inputs; i++) /* each once, even if it is read twice */
    {
        gint64 n;
        if (*node->inputs[i] == '\0' || already_read(node, i, read))
            continue;
        if (!ifm_fact_n_bytes(&call->inputs[i], &n))
            return call->inputs[i].rank < 0 ? "the shape of an input is not known"
                                            : "the size of an input's elements is not known";
        if (__builtin_add_overflow(cost->bytes_read, n, &cost->bytes_read))
            return "its bytes are past counting";
    }
    for (gsize i = 0; i < node->n_outputs; i++)
    {
        gint64 n;
        if (*node->outputs[i] == '\0')
            continue;
        if (!ifm_fact_n_bytes(&call->outputs[i], &n))
            return call->outputs[i].rank < 0 ? "the shape of an output is not known"
                                             : "the size of an output's elements is not known";
        if (__builtin_add_overflow(cost->bytes_written, n, &cost->bytes_written))
            return "its bytes are past counting";
    }
    return NULL;
}

/* cost_of: The cost stays uncovered, with a reason, where a shape is unknown or a count overflows. A reason of the shape
 * rule is void where the model or a run gives the shape. */
static void cost_of(const IfmOperatorCall *call, IfmNodeResult *result)
{
    IfmNodeCost found = { .covered = TRUE, .family = result->cost.family };
    const char *why = count_bytes(call, &found);
    if (call->row->cost == ifm_cost_body && !call->body->known && call->body->why != NULL)
        result->why = call->body->why;
    else if (why == NULL || result->why == NULL)
        result->why = why;
    if (result->why != NULL)
        return;
    if (call->row->cost(call, call->row->factor, &found))
        result->cost = found;
    else if (result->why == NULL) /* the rule may say it, too */
        result->why = "its operations are past counting";
}

/* follow_values: Computes the values of a small output, if the row has a rule. */
static void follow_values(const IfmOperatorCall *call)
{
    IfmTensorInfo *out = &call->outputs[0];
    gint64 n;
    if (out->rank >= 0 && ifm_fact_n_elements(out, &n) && n <= IFM_FACT_MAX_VALUES)
        call->row->values(call);
}

static gboolean finish_outputs(IfmScope *scope, const IfmOperatorCall *call, GError **error)
{
    const IfmNode *node = call->node;
    for (gsize i = 0; i < node->n_outputs; i++)
    {
        IfmTensorInfo *out = &call->outputs[i];
        if (*node->outputs[i] == '\0')
            continue;
        if ((scope->outer == NULL && !agree(scope->analyser, node->outputs[i], out, error)) ||
            !observe(scope, node->outputs[i], out, error) || !check_size(out, node->outputs[i], error))
            return FALSE;
        set_fact(scope, node->outputs[i], out);
    }
    return TRUE;
}

static gboolean analyse_call(IfmScope *scope, const IfmOperatorCall *call, IfmNodeResult *result, GError **error)
{
    const IfmOperator *row = call->row;
    result->cost.family = row != NULL ? row->family : IFM_FAMILY_OTHER;
    if (row != NULL && row->shape != NULL)
    {
        if (!ifm_operator_is_complete(row, call->node))
            return ifm_error_refuse(error, "needs %zu input(s) and an output at least", row->n_inputs);
        if (!ifm_operator_infer(call, error))
            return FALSE;
        if (row->values != NULL)
            follow_values(call);
    }
    if (!finish_outputs(scope, call, error))
        return FALSE;
    gboolean is_ruled = row != NULL && (row->shape != NULL || row->why != NULL);
    result->multiplies = !is_ruled || ifm_family_multiplies(row->family) || call->body->multiplies;
    if (!is_ruled)
        result->why = "no rule for this operator";
    else if (row->shape == NULL)
        result->why = row->why;
    else
        cost_of(call, result);
    return TRUE;
}

#define MAX_TENSORS_OF_A_NODE 65536 /* facts are larger than the names in a file */

static gboolean analyse_node(IfmScope *scope, gsize index, const IfmNode *node, IfmNodeResult *result, GError **error)
{
    if (node->n_inputs > MAX_TENSORS_OF_A_NODE || node->n_outputs > MAX_TENSORS_OF_A_NODE)
        return ifm_error_refuse(error, "node %zu: more than %d inputs or outputs", index, MAX_TENSORS_OF_A_NODE);
    gint64 opset = ifm_model_opset(scope->analyser->model);
    g_autofree IfmTensorInfo *inputs = g_new(IfmTensorInfo, node->n_inputs + 1);
    g_autofree IfmTensorInfo *outputs = g_new(IfmTensorInfo, node->n_outputs + 1);
    for (gsize i = 0; i < node->n_inputs; i++)
        copy_fact(scope, node->inputs[i], &inputs[i]);
    for (gsize i = 0; i < node->n_outputs; i++)
        outputs[i] = IFM_FACT_UNKNOWN;
    IfmBody body = { 0 };
    *result = (IfmNodeResult){ .row = ifm_operator_find(node) };
    IfmOperatorCall call = { node, result->row, opset, inputs, outputs, scope, &body, &result->why };
    if (analyse_call(scope, &call, result, error))
        return TRUE;
    g_autofree char *place = ifm_onnx_node_place(index, node->proto);
    g_prefix_error(error, "%s: ", place);
    return FALSE;
}

static gboolean analyse_nodes(IfmScope *scope, GError **error)
{
    IfmAnalysis *analysis = scope->analyser->analysis;
    for (gsize i = 0; i < analysis->n_nodes; i++)
        if (!analyse_node(scope, i, ifm_model_node(analysis->model, i), &analysis->nodes[i], error))
            return FALSE;
    return TRUE;
}

/* --- graphs in nodes ---------------------------------------------------------------------------------------------- */

static void add_to_body(IfmBody *body, const IfmNode *node, IfmNodeResult *result)
{
    body->multiplies = body->multiplies || result->multiplies;
    body->cost.is_upper_bound = body->cost.is_upper_bound || result->cost.is_upper_bound;
    gboolean fits = TRUE;
    for (int i = 0; i < IFM_N_COUNTS; i++)
        fits = fits && ifm_count_add(ifm_cost_count(&body->cost, i), *ifm_cost_count(&result->cost, i));
    if (body->known && (!fits || !result->cost.covered))
    {
        g_autofree char *why = g_strdup_printf("a graph in it has %s: %s", node->op_type,
                                               fits ? result->why : "its operations are past counting");
        body->known = FALSE;
        body->why = g_intern_string(why); /* one for each operator and reason */
    }
}

const IfmModel *ifm_scope_model(const IfmScope *scope)
{
    return scope->outer == NULL ? scope->analyser->model : NULL;
}

const IfmTensorInfo *ifm_scope_fact(const IfmScope *scope, const char *name)
{
    return find_fact(scope, name);
}

gboolean ifm_scope_run(IfmScope *outer, const Onnx__GraphProto *graph, const IfmTensorInfo *inputs, gsize n_inputs,
                       IfmTensorInfo *outputs, IfmBody *body, GError **error)
{
    g_autoptr(GHashTable) facts = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    IfmScope scope = { outer->analyser, facts, outer };
    *body = (IfmBody){ .known = TRUE };
    for (gsize i = 0; i < n_inputs && i < graph->n_input; i++)
        set_fact(&scope, graph->input[i]->name, &inputs[i]);
    add_initializers(&scope, graph);
    for (gsize i = 0; i < graph->n_node; i++)
    {
        Onnx__NodeProto *proto = graph->node[i];
        IfmNode node;
        IfmNodeResult result;
        ifm_onnx_node_wrap(proto, &node);
        if (!analyse_node(&scope, i, &node, &result, error))
            return FALSE;
        add_to_body(body, &node, &result);
    }
    for (gsize i = 0; i < graph->n_output; i++)
        copy_fact(&scope, graph->output[i]->name, &outputs[i]);
    g_hash_table_insert(outer->analyser->analysis->inner, (gpointer)graph, g_steal_pointer(&facts));
    return TRUE;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static IfmAnalysis *new_analysis(IfmModel *model)
{
    IfmAnalysis *analysis = g_new0(IfmAnalysis, 1);
    analysis->model = ifm_model_ref(model);
    analysis->facts = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    analysis->inner = g_hash_table_new_full(NULL, NULL, NULL, (GDestroyNotify)g_hash_table_unref);
    analysis->n_nodes = model->n_nodes;
    analysis->nodes = g_new0(IfmNodeResult, model->n_nodes + 1);
    return analysis;
}

/* index_observed: Returns: NULL where one of them is not a valid shape. */
static GHashTable *index_observed(const IfmObservedShape *observed, gsize n_observed, GError **error)
{
    g_autoptr(GHashTable) index = g_hash_table_new(g_str_hash, g_str_equal);
    for (gsize i = 0; i < n_observed; i++)
    {
        gboolean is_shape = observed[i].rank >= 0 && observed[i].rank <= IFM_MAX_RANK;
        for (int axis = 0; is_shape && axis < observed[i].rank; axis++)
            is_shape = observed[i].shape[axis] >= 0;
        if (!is_shape)
        {
            ifm_error_refuse(error, "what a run reported for '%s' is not a shape", observed[i].tensor);
            return NULL;
        }
        g_hash_table_insert(index, (gpointer)observed[i].tensor, (gpointer)&observed[i]);
    }
    return g_steal_pointer(&index);
}

#define NEWEST_OPSET 28 /* of ONNX 1.23; a later opset may change the meaning of a name */

IfmAnalysis *ifm_model_analyse_with(IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings, const IfmKnown *known,
                                    GError **error)
{
    const gsize n_observed = known->n_observed;
    g_autoptr(IfmAnalysis) analysis = new_analysis(model);
    g_autoptr(GHashTable) declared = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GHashTable) seen = n_observed > 0 ? index_observed(known->observed, n_observed, error) : NULL;
    Analyser analyser = { model, analysis, declared, seen, bindings, n_bindings, known };
    IfmScope scope = { &analyser, analysis->facts, NULL };
    gboolean ok = n_observed == 0 || seen != NULL;
    if (ok && model->opset > NEWEST_OPSET)
    {
        ok = FALSE;
        ifm_error_refuse(error, "opset %" G_GINT64_FORMAT " is newer than %d, the newest known", model->opset,
                         NEWEST_OPSET);
    }
    if (ok)
    {
        add_initializers(&scope, model->proto->graph);
        add_declared(&analyser);
        ok = add_inputs(&scope, error) && analyse_nodes(&scope, error) && ifm_onnx_check_totals(analysis, error);
    }
    if (ok)
        return g_steal_pointer(&analysis);
    ifm_onnx_tidy_error(error, model->name);
    return NULL;
}

IfmAnalysis *ifm_model_analyse(IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings, GError **error)
{
    return ifm_model_analyse_with(model, bindings, n_bindings, &(IfmKnown){ 0 }, error);
}

/* analyse_at: @size: of each free dimension that is not @bound */
static IfmAnalysis *analyse_at(IfmModel *model, const IfmDimBinding *bound, gsize n_bound, gint64 size, GError **error)
{
    g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GArray) bindings = g_array_new(FALSE, FALSE, sizeof(IfmDimBinding));
    for (gsize i = 0; i < n_bound; i++)
        g_hash_table_add(names, (gpointer)bound[i].name);
    g_array_append_vals(bindings, bound, (guint)n_bound);
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
    {
        const IfmPort *port = ifm_model_input(model, i);
        for (int axis = 0; axis < port->rank; axis++)
        {
            const IfmDimBinding binding = { port->dim_names[axis], size };
            if (port->dims[axis] < 0 && g_hash_table_add(names, port->dim_names[axis]))
                g_array_append_val(bindings, binding);
        }
    }
    return ifm_model_analyse(model, (const IfmDimBinding *)(const void *)bindings->data, bindings->len, error);
}

gboolean ifm_model_analyse_pair(IfmModel *model, const IfmDimBinding *bound, gsize n_bound, const gint64 (*sizes)[2],
                                gsize n_sizes, IfmAnalysis **pair, GError **error)
{
    for (gsize i = 0; i < n_sizes; i++)
    {
        for (int k = 0; k < 2 && (k == 0 || pair[0] != NULL); k++)
            pair[k] = analyse_at(model, bound, n_bound, sizes[i][k], error != NULL && *error == NULL ? error : NULL);
        if (pair[0] != NULL && pair[1] != NULL)
            return TRUE;
        g_clear_pointer(&pair[0], ifm_analysis_free);
    }
    return FALSE;
}

void ifm_analysis_free(IfmAnalysis *analysis)
{
    if (analysis == NULL)
        return;
    g_hash_table_unref(analysis->facts);
    g_hash_table_unref(analysis->inner);
    g_free(analysis->nodes);
    g_free(analysis->contradiction);
    ifm_model_unref(analysis->model);
    g_free(analysis);
}

const char *ifm_analysis_contradiction(const IfmAnalysis *analysis, gsize *n)
{
    *n = analysis->n_contradicted;
    return analysis->contradiction;
}

gboolean ifm_analysis_shape(const IfmAnalysis *analysis, const char *tensor, IfmDtype *dtype, int *rank, gint64 *shape)
{
    const IfmTensorInfo *fact = g_hash_table_lookup(analysis->facts, tensor);
    if (fact == NULL || fact->rank < 0)
        return FALSE;
    *dtype = fact->dtype;
    *rank = fact->rank;
    memcpy(shape, fact->dims, (gsize)fact->rank * sizeof *shape);
    return TRUE;
}

gboolean ifm_analysis_ints(const IfmAnalysis *analysis, const char *tensor, gint64 *values, gsize *n)
{
    G_STATIC_ASSERT(IFM_ANALYSIS_MAX_INTS == IFM_FACT_MAX_VALUES);
    const IfmTensorInfo *fact = g_hash_table_lookup(analysis->facts, tensor);
    const gint64 *ints = fact != NULL ? ifm_fact_ints(fact) : NULL;
    if (ints == NULL)
        return FALSE;
    *n = (gsize)fact->n_values;
    memcpy(values, ints, *n * sizeof *values);
    return TRUE;
}
