#include <string.h>

#include "operators.h"

struct IfmAnalysis
{
    IfmModel *model;
    GHashTable *facts; /* name -> IfmFact* */
    IfmNodeCost *costs;
    gsize n_costs;
};

/* Analyser: what is at hand while the nodes are gone through. */
typedef struct
{
    IfmModel *model;
    IfmAnalysis *analysis;
    GHashTable *declared; /* name -> Onnx__ValueInfoProto* */
    const IfmDimBinding *bindings;
    gsize n_bindings;
} Analyser;

static void set_fact(Analyser *analyser, const char *name, const IfmFact *fact)
{
    g_hash_table_insert(analyser->analysis->facts, g_strdup(name), g_memdup2(fact, sizeof *fact));
}

static IfmFact get_fact(Analyser *analyser, const char *name)
{
    const IfmFact *fact = *name != '\0' ? g_hash_table_lookup(analyser->analysis->facts, name) : NULL;
    return fact != NULL ? *fact : IFM_FACT_UNKNOWN;
}

static gboolean check_size(const IfmFact *fact, const char *name, GError **error)
{
    gint64 n;
    if (fact->rank < 0 || ifm_fact_n_elements(fact, &n))
        return TRUE;
    g_autofree char *shape = ifm_shape_to_string(fact->rank, fact->dims);
    return IFM_RULE_FAIL(error, "'%s': shape %s is larger than any memory", name, shape);
}

/* --- what is known beforehand --------------------------------------------------------------------------------------- */

static gboolean add_inputs(Analyser *analyser, GError **error)
{
    for (gsize i = 0; i < ifm_model_n_inputs(analyser->model); i++)
    {
        const IfmPort *port = ifm_model_input(analyser->model, i);
        IfmFact fact = IFM_FACT_UNKNOWN;
        fact.dtype = port->dtype;
        if (port->rank >= 0)
        {
            if (!ifm_port_bind(port, analyser->bindings, analyser->n_bindings, fact.dims, error))
                return FALSE;
            fact.rank = port->rank;
        }
        if (!check_size(&fact, port->name, error))
            return FALSE;
        set_fact(analyser, port->name, &fact);
    }
    return TRUE;
}

static void add_initializers(Analyser *analyser)
{
    const Onnx__GraphProto *graph = analyser->model->proto->graph;
    for (gsize i = 0; i < graph->n_initializer; i++)
    {
        IfmFact fact = ifm_fact_from_tensor(graph->initializer[i]);
        set_fact(analyser, graph->initializer[i]->name, &fact);
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

/* --- what follows --------------------------------------------------------------------------------------------------- */

/* agree: Holds an output's shape against the fixed dimensions that the model declares; takes the declared shape where none
 * is known. Names of free dimensions prove nothing: exporters reuse them carelessly, and no runtime minds. */
static gboolean agree(Analyser *analyser, const char *name, IfmFact *fact, GError **error)
{
    const Onnx__ValueInfoProto *info = g_hash_table_lookup(analyser->declared, name);
    IfmPort *port = info != NULL ? ifm_onnx_port_parse(info, error) : NULL;
    if (port == NULL)
        return info == NULL;
    gboolean agrees = fact->rank < 0 || port->rank < 0 || port->rank == fact->rank;
    for (int i = 0; agrees && fact->rank >= 0 && i < port->rank; i++)
        agrees = port->dims[i] < 0 || port->dims[i] == fact->dims[i];
    if (!agrees)
    {
        g_autofree char *found = ifm_shape_to_string(fact->rank, fact->dims);
        g_autofree char *declared = ifm_shape_to_string(port->rank, port->dims);
        IFM_ONNX_INVALID(error, "'%s' comes out as %s, but the model declares %s", name, found, declared);
    }
    if (agrees && fact->dtype == IFM_DTYPE_UNDEFINED)
        fact->dtype = port->dtype;
    if (agrees && fact->rank < 0 && port->rank >= 0 &&
        ifm_port_bind(port, analyser->bindings, analyser->n_bindings, fact->dims, NULL))
        fact->rank = port->rank;
    ifm_port_free(port);
    return agrees;
}

static gboolean add_bytes(gint64 *total, const IfmFact *fact)
{
    gint64 n, size = (gint64)ifm_dtype_size_bytes(fact->dtype);
    return fact->rank >= 0 && size > 0 && ifm_fact_n_elements(fact, &n) && !__builtin_mul_overflow(n, size, &n) &&
           !__builtin_add_overflow(*total, n, total);
}

/* cost_of: @cost stays uncovered where a shape is unknown or a count does not fit. */
static void cost_of(const IfmOperator *operator, const IfmOperatorCall * call, IfmNodeCost *cost)
{
    IfmNodeCost found = { .covered = TRUE };
    const IfmNode *node = call->node;
    g_autoptr(GHashTable) read = g_hash_table_new(g_str_hash, g_str_equal);
    for (gsize i = 0; i < node->n_inputs; i++) /* each once, also where it is read twice */
        if (*node->inputs[i] != '\0' && g_hash_table_add(read, (gpointer)node->inputs[i]) &&
            !add_bytes(&found.bytes_read, &call->inputs[i]))
            return;
    for (gsize i = 0; i < node->n_outputs; i++)
        if (*node->outputs[i] != '\0' && !add_bytes(&found.bytes_written, &call->outputs[i]))
            return;
    if (operator->cost(call, operator->factor, &found))
        *cost = found;
}

/* Every rule may look at the inputs that its operator cannot do without, and at its first output. */
static gboolean check_counts(const IfmOperator *operator, const IfmNode * node, GError **error)
{
    gboolean enough = node->n_outputs > 0 && node->n_inputs >= operator->n_inputs;
    for (gsize i = 0; enough && i < operator->n_inputs; i++)
        enough = *node->inputs[i] != '\0';
    if (enough)
        return TRUE;
    return IFM_RULE_FAIL(error, "needs %" G_GSIZE_FORMAT " input(s) and an output at least", operator->n_inputs);
}

static gboolean analyse_call(Analyser *analyser, gsize index, const IfmOperatorCall *call, GError **error)
{
    const IfmOperator *operator= ifm_operator_find(call->node);
    const IfmNode *node = call->node;
    if (operator!= NULL && !check_counts(operator, node, error))
        return FALSE;
    if (operator!= NULL && !operator->shape(call, error))
        return FALSE;
    for (gsize i = 0; i < node->n_outputs; i++)
    {
        if (*node->outputs[i] == '\0')
            continue;
        if (!agree(analyser, node->outputs[i], &call->outputs[i], error) ||
            !check_size(&call->outputs[i], node->outputs[i], error))
            return FALSE;
        set_fact(analyser, node->outputs[i], &call->outputs[i]);
    }
    if (operator!= NULL)
        cost_of(operator, call, &analyser->analysis->costs[index]);
    return TRUE;
}

#define MAX_TENSORS_OF_A_NODE 65536 /* facts are larger than the names that ask for them */

static gboolean analyse_node(Analyser *analyser, gsize index, GError **error)
{
    const IfmNode *node = ifm_model_node(analyser->model, index);
    if (node->n_inputs > MAX_TENSORS_OF_A_NODE || node->n_outputs > MAX_TENSORS_OF_A_NODE)
        return IFM_RULE_FAIL(error, "node %" G_GSIZE_FORMAT ": more than %d inputs or outputs", index,
                             MAX_TENSORS_OF_A_NODE);
    g_autofree IfmFact *inputs = g_new(IfmFact, node->n_inputs + 1);
    g_autofree IfmFact *outputs = g_new(IfmFact, node->n_outputs + 1);
    for (gsize i = 0; i < node->n_inputs; i++)
        inputs[i] = get_fact(analyser, node->inputs[i]);
    for (gsize i = 0; i < node->n_outputs; i++)
        outputs[i] = IFM_FACT_UNKNOWN;
    IfmOperatorCall call = { node, ifm_model_opset(analyser->model), inputs, outputs };
    if (analyse_call(analyser, index, &call, error))
        return TRUE;
    g_autofree char *place = ifm_onnx_node_place(index, node->proto);
    g_prefix_error(error, "%s: ", place);
    return FALSE;
}

IfmAnalysis *ifm_model_analyse(IfmModel *model, const IfmDimBinding *bindings, gsize n_bindings, GError **error)
{
    g_autoptr(IfmAnalysis) analysis = g_new0(IfmAnalysis, 1);
    g_autoptr(GHashTable) declared = g_hash_table_new(g_str_hash, g_str_equal);
    analysis->model = ifm_model_ref(model);
    analysis->facts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    analysis->n_costs = model->n_nodes;
    analysis->costs = g_new0(IfmNodeCost, model->n_nodes + 1);
    Analyser analyser = { model, analysis, declared, bindings, n_bindings };
    add_initializers(&analyser);
    add_declared(&analyser);
    gboolean ok = add_inputs(&analyser, error);
    for (gsize i = 0; ok && i < model->n_nodes; i++)
        ok = analyse_node(&analyser, i, error);
    if (ok)
        return g_steal_pointer(&analysis);
    ifm_onnx_tidy_error(error, model->name);
    return NULL;
}

void ifm_analysis_free(IfmAnalysis *analysis)
{
    if (analysis == NULL)
        return;
    g_hash_table_unref(analysis->facts);
    ifm_model_unref(analysis->model);
    g_free(analysis->costs);
    g_free(analysis);
}

const IfmModel *ifm_analysis_model(const IfmAnalysis *analysis)
{
    return analysis->model;
}

gboolean ifm_analysis_shape(const IfmAnalysis *analysis, const char *tensor, IfmDtype *dtype, int *rank, gint64 *shape)
{
    const IfmFact *fact = g_hash_table_lookup(analysis->facts, tensor);
    if (fact == NULL || fact->rank < 0)
        return FALSE;
    *dtype = fact->dtype;
    *rank = fact->rank;
    memcpy(shape, fact->dims, (gsize)fact->rank * sizeof *shape);
    return TRUE;
}

const IfmNodeCost *ifm_analysis_node_cost(const IfmAnalysis *analysis, gsize node)
{
    g_assert(node < analysis->n_costs);
    return &analysis->costs[node];
}

static gint64 sum_up_to_most(gint64 a, gint64 b)
{
    return a > G_MAXINT64 - b ? G_MAXINT64 : a + b;
}

void ifm_analysis_total(const IfmAnalysis *analysis, IfmNodeCost *total, gsize *n_covered)
{
    *total = (IfmNodeCost){ 0 };
    *n_covered = 0;
    for (gsize i = 0; i < analysis->n_costs; i++)
    {
        const IfmNodeCost *cost = &analysis->costs[i];
        total->macs = sum_up_to_most(total->macs, cost->macs);
        total->flop = sum_up_to_most(total->flop, cost->flop);
        total->bytes_read = sum_up_to_most(total->bytes_read, cost->bytes_read);
        total->bytes_written = sum_up_to_most(total->bytes_written, cost->bytes_written);
        *n_covered += cost->covered;
    }
    total->covered = *n_covered == analysis->n_costs;
}
