/*
 * The memory of a graph, from shapes and lifetimes of its tensors. Time is counted in steps: step 0 is before the first
 * node, step i + 1 is node i, step n_nodes + 1 is after the last node.
 */
#include "memory-place.h"
#include "operators.h"

/* --- bytes of tensors --------------------------------------------------------------------------------------------- */

/* element_bytes: -1 for a type whose elements have no fixed size (strings). */
static gint64 element_bytes(int data_type, gint64 n_elements)
{
    gint64 bits = ifm_onnx_type_bits(data_type), all;
    if (bits == 0 || __builtin_mul_overflow(n_elements, bits, &all))
        return -1;
    return all / 8 + (all % 8 != 0);
}

static gint64 fact_bytes(const IfmFact *fact)
{
    gint64 n;
    return fact != NULL && ifm_fact_n_bytes(fact, &n) ? n : -1;
}

/* weight_bytes: Of a checked tensor with values in the file, in external data or in a typed field. */
static gint64 weight_bytes(const Onnx__TensorProto *weight)
{
    gint64 n = 1, texts = 0;
    for (gsize i = 0; i < weight->n_dims; i++)
        n *= weight->dims[i]; /* checked tensors have no shape that overflows */
    for (gsize i = 0; i < weight->n_string_data; i++)
        texts += (gint64)weight->string_data[i].len;
    gint64 sized = element_bytes(weight->data_type, n);
    return sized >= 0 ? sized : texts;
}

static gint64 sparse_bytes(const Onnx__SparseTensorProto *sparse)
{
    gint64 total = sparse->values != NULL ? weight_bytes(sparse->values) : 0;
    return ifm_sum_up_to_max(total, sparse->indices != NULL ? weight_bytes(sparse->indices) : 0);
}

static gboolean is_constant(const Onnx__NodeProto *node)
{
    gboolean is_default = node->domain == NULL || *node->domain == '\0' || g_str_equal(node->domain, "ai.onnx");
    return is_default && g_strcmp0(node->op_type, "Constant") == 0;
}

static gint64 constant_bytes(const Onnx__NodeProto *node)
{
    gint64 total = 0;
    for (gsize i = 0; i < node->n_attribute; i++)
    {
        const Onnx__AttributeProto *value = node->attribute[i];
        total += value->t != NULL ? weight_bytes(value->t) : 0;
        total += value->sparse_tensor != NULL ? sparse_bytes(value->sparse_tensor) : 0;
        total +=
            4 * (gint64)(value->n_floats + (value->has_f ? 1 : 0)) + 8 * (gint64)(value->n_ints + (value->has_i ? 1 : 0));
        total += value->has_s ? (gint64)value->s.len : 0;
        for (gsize k = 0; k < value->n_strings; k++)
            total += (gint64)value->strings[k].len;
    }
    return total;
}

/* subgraphs_of: Returns: (transfer full) the subgraphs of the node (Onnx__GraphProto*); NULL for none. */
static GPtrArray *subgraphs_of(const Onnx__NodeProto *node)
{
    GPtrArray *graphs = NULL;
    for (gsize i = 0; i < node->n_attribute; i++)
        for (gsize k = 0; k < node->attribute[i]->n_graphs + 1; k++)
        {
            const Onnx__AttributeProto *attribute = node->attribute[i];
            Onnx__GraphProto *graph = k < attribute->n_graphs ? attribute->graphs[k] : attribute->g;
            if (graph == NULL)
                continue;
            if (graphs == NULL)
                graphs = g_ptr_array_new();
            g_ptr_array_add(graphs, graph);
        }
    return graphs;
}

/* graph_parameter_bytes: With its subgraphs. The scan of the file has limited the recursion. */
static gint64 graph_parameter_bytes(const Onnx__GraphProto *graph)
{
    gint64 total = 0;
    for (gsize i = 0; i < graph->n_initializer; i++)
        total = ifm_sum_up_to_max(total, weight_bytes(graph->initializer[i]));
    for (gsize i = 0; i < graph->n_sparse_initializer; i++)
        total = ifm_sum_up_to_max(total, sparse_bytes(graph->sparse_initializer[i]));
    for (gsize i = 0; i < graph->n_node; i++)
    {
        if (is_constant(graph->node[i]))
            total = ifm_sum_up_to_max(total, constant_bytes(graph->node[i]));
        g_autoptr(GPtrArray) inner = subgraphs_of(graph->node[i]);
        for (guint k = 0; inner != NULL && k < inner->len; k++)
            total = ifm_sum_up_to_max(total, graph_parameter_bytes(g_ptr_array_index(inner, k)));
    }
    return total;
}

/* --- inside a node: the branches of If, the bodies of Loop and Scan ----------------------------------------------- */

/* Need: memory of a subgraph while its node runs. @peak_bytes: maximum alive at once    @all_bytes: sum without freeing */
typedef struct
{
    gint64 peak_bytes, all_bytes;
    gsize n_unknown;
} Need;

/* Inner: the subgraph in work. @facts: NULL where it was not analysed    @outputs: names; they count as outputs of the node
 * @numbers: name of every other tensor of the subgraph -> its index in @spans + 1 */
typedef struct
{
    const IfmAnalysis *analysis;
    GHashTable *facts, *outputs, *numbers;
    GArray *spans; /* IfmMemorySpan */
    Need need;
} Inner;

static void add_inner(Inner *inner, const char *name, gsize step)
{
    if (*name == '\0' || g_hash_table_contains(inner->outputs, name))
        return;
    gint64 bytes = inner->facts != NULL ? fact_bytes(g_hash_table_lookup(inner->facts, name)) : -1;
    IfmMemorySpan span = { MAX(bytes, 0), step, step };
    inner->need.n_unknown += bytes < 0;
    inner->need.all_bytes = ifm_sum_up_to_max(inner->need.all_bytes, span.bytes);
    g_array_append_val(inner->spans, span);
    g_hash_table_insert(inner->numbers, (gpointer)name, GSIZE_TO_POINTER(inner->spans->len));
}

/* read_at: A node and its subgraphs read their inputs at @step. */
static void read_at(Inner *inner, const Onnx__NodeProto *node, gsize step)
{
    for (gsize i = 0; i < node->n_input; i++)
    {
        gsize number = GPOINTER_TO_SIZE(g_hash_table_lookup(inner->numbers, node->input[i]));
        if (number > 0)
            g_array_index(inner->spans, IfmMemorySpan, number - 1).last = step;
    }
    g_autoptr(GPtrArray) graphs = subgraphs_of(node);
    for (guint k = 0; graphs != NULL && k < graphs->len; k++)
    {
        const Onnx__GraphProto *graph = g_ptr_array_index(graphs, k);
        for (gsize i = 0; i < graph->n_node; i++)
            read_at(inner, graph->node[i], step);
    }
}

static Need node_need(const IfmAnalysis *analysis, const Onnx__NodeProto *node);

/* inner_steps: In the order of the file. ONNX requires that it is a topological order. */
static void inner_steps(Inner *inner, const Onnx__GraphProto *graph)
{
    for (gsize i = 0; i < graph->n_input; i++)
        add_inner(inner, graph->input[i]->name, 0);
    for (gsize i = 0; i < graph->n_node; i++)
    {
        const Onnx__NodeProto *node = graph->node[i];
        Need need = node_need(inner->analysis, node);
        IfmMemorySpan within = { need.peak_bytes, i + 1, i + 1 };
        g_array_append_val(inner->spans, within);
        inner->need.all_bytes = ifm_sum_up_to_max(inner->need.all_bytes, need.all_bytes);
        inner->need.n_unknown += need.n_unknown;
        read_at(inner, node, i + 1);
        for (gsize k = 0; k < node->n_output && !is_constant(node); k++)
            add_inner(inner, node->output[k], i + 1);
    }
}

static Need subgraph_need(const IfmAnalysis *analysis, const Onnx__GraphProto *graph)
{
    g_autoptr(GHashTable) outputs = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GHashTable) numbers = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GArray) spans = g_array_new(FALSE, FALSE, sizeof(IfmMemorySpan));
    Inner inner = { analysis, g_hash_table_lookup(analysis->inner, graph), outputs, numbers, spans, { 0 } };
    gsize step;
    for (gsize i = 0; i < graph->n_output; i++)
        g_hash_table_add(outputs, graph->output[i]->name);
    inner_steps(&inner, graph);
    inner.need.peak_bytes = ifm_memory_peak(spans, graph->n_node + 1, &step);
    return inner.need;
}

/* node_need: Only one branch of an If runs, so the maximum over the subgraphs counts. Where the condition is known, the
 * other branch was not analysed and counts 0. */
static Need node_need(const IfmAnalysis *analysis, const Onnx__NodeProto *node)
{
    Need max = { 0 };
    g_autoptr(GPtrArray) graphs = subgraphs_of(node);
    gboolean skip = FALSE; /* those that were not analysed, where one was */
    for (guint i = 0; graphs != NULL && i < graphs->len; i++)
        skip = skip || g_hash_table_contains(analysis->inner, g_ptr_array_index(graphs, i));
    for (guint i = 0; graphs != NULL && i < graphs->len; i++)
    {
        const Onnx__GraphProto *graph = g_ptr_array_index(graphs, i);
        if (skip && !g_hash_table_contains(analysis->inner, graph))
            continue;
        Need need = subgraph_need(analysis, graph);
        max.peak_bytes = MAX(max.peak_bytes, need.peak_bytes);
        max.all_bytes = MAX(max.all_bytes, need.all_bytes);
        max.n_unknown += need.n_unknown;
    }
    return max;
}

/* --- the model's own tensors -------------------------------------------------------------------------------------- */

typedef struct
{
    const IfmAnalysis *analysis;
    const IfmModel *model;
    IfmMemoryPlan *plan;
    GHashTable *outputs; /* names of the model's */
    GArray *spans;       /* IfmMemorySpan: of the tensors, and of the insides of nodes */
} Planner;

static gint64 tensor_bytes(const Planner *planner, const char *name)
{
    return fact_bytes(g_hash_table_lookup(planner->analysis->facts, name));
}

static void add_lifetime(Planner *planner, const char *name, gssize first)
{
    IfmMemoryPlan *plan = planner->plan;
    IfmLifetime lifetime = { name, tensor_bytes(planner, name), first, first };
    const GArray *readers = ifm_model_consumers(planner->model, name); /* sorted by node */
    if (g_hash_table_contains(planner->outputs, name))
        lifetime.last = (gssize)ifm_model_n_nodes(planner->model);
    else if (readers != NULL && readers->len > 0)
        lifetime.last = (gssize)g_array_index(readers, gsize, readers->len - 1);
    IfmMemorySpan span = { MAX(lifetime.bytes, 0), (gsize)(first + 1), (gsize)(lifetime.last + 1) };
    gint64 *total = first < 0 ? &plan->input_bytes : &plan->activation_bytes;
    *total = ifm_sum_up_to_max(*total, span.bytes);
    plan->n_unknown += lifetime.bytes < 0;
    g_array_append_val(plan->lifetimes, lifetime);
    g_array_append_val(planner->spans, span);
}

static void add_node(Planner *planner, gsize index)
{
    const IfmNode *node = ifm_model_node(planner->model, index);
    if (is_constant(node->proto)) /* its value is a parameter */
        return;
    Need need = node_need(planner->analysis, node->proto);
    if (need.peak_bytes > 0)
    {
        IfmMemorySpan within = { need.peak_bytes, index + 1, index + 1 };
        g_array_append_val(planner->spans, within);
    }
    planner->plan->activation_bytes = ifm_sum_up_to_max(planner->plan->activation_bytes, need.all_bytes);
    planner->plan->n_unknown += need.n_unknown;
    for (gsize i = 0; i < node->n_outputs; i++)
        if (*node->outputs[i] != '\0')
            add_lifetime(planner, node->outputs[i], (gssize)index);
}

/* add_outputs: An output may also be an input or a weight. A repeated output is one tensor. */
static void add_outputs(Planner *planner)
{
    for (gsize i = 0; i < ifm_model_n_outputs(planner->model); i++)
    {
        const char *name = ifm_model_output(planner->model, i)->name;
        if (!g_hash_table_add(planner->outputs, (gpointer)name))
            continue;
        gint64 bytes = tensor_bytes(planner, name);
        planner->plan->output_bytes = ifm_sum_up_to_max(planner->plan->output_bytes, MAX(bytes, 0));
    }
}

void ifm_analysis_memory(const IfmAnalysis *analysis, IfmMemoryPlan *plan)
{
    g_autoptr(GHashTable) outputs = g_hash_table_new(g_str_hash, g_str_equal);
    g_autoptr(GArray) spans = g_array_new(FALSE, FALSE, sizeof(IfmMemorySpan));
    Planner planner = { analysis, ifm_analysis_model(analysis), plan, outputs, spans };
    gsize n_nodes = ifm_model_n_nodes(planner.model), step;
    *plan = (IfmMemoryPlan){ .parameter_bytes = graph_parameter_bytes(planner.model->proto->graph),
                             .lifetimes = g_array_new(FALSE, FALSE, sizeof(IfmLifetime)) };
    add_outputs(&planner);
    for (gsize i = 0; i < ifm_model_n_inputs(planner.model); i++)
        add_lifetime(&planner, ifm_model_input(planner.model, i)->name, -1);
    for (gsize i = 0; i < n_nodes; i++)
        add_node(&planner, i);
    plan->peak_bytes = ifm_memory_peak(spans, n_nodes + 2, &step);
    plan->peak_node = CLAMP(step, 1, MAX(n_nodes, 1)) - 1;
    plan->arena_bytes = ifm_memory_place(spans, n_nodes + 2);
}

void ifm_memory_plan_clear(IfmMemoryPlan *plan)
{
    g_clear_pointer(&plan->lifetimes, g_array_unref);
    *plan = (IfmMemoryPlan){ 0 };
}
