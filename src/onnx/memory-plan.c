/*
 * The memory of a graph, from shapes and lifetimes of its tensors. Time is counted in steps: step 0 is before the first
 * node, step i + 1 is node i, step n_nodes + 1 is after the last node.
 */
#include "memory-place.h"
#include "model-uses.h"
#include "operators.h"

/* --- bytes of tensors --------------------------------------------------------------------------------------------- */

static gint64 fact_bytes(const IfmTensorInfo *fact)
{
    gint64 n;
    return fact != NULL && ifm_fact_n_bytes(fact, &n) ? n : -1;
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
    const Onnx__GraphProto *graph;
    for (gsize k = 0; (graph = ifm_onnx_body(node, k)) != NULL; k++)
        for (gsize i = 0; i < graph->n_node; i++)
            read_at(inner, graph->node[i], step);
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
        for (gsize k = 0; k < node->n_output && !ifm_onnx_is_constant(node); k++)
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
    const Onnx__GraphProto *graph;
    gboolean skip = FALSE; /* those that were not analysed, where one was */
    for (gsize i = 0; (graph = ifm_onnx_body(node, i)) != NULL; i++)
        skip = skip || g_hash_table_contains(analysis->inner, graph);
    for (gsize i = 0; (graph = ifm_onnx_body(node, i)) != NULL; i++)
    {
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
    if (ifm_onnx_is_constant(node->proto)) /* its value is a parameter */
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
    Planner planner = { analysis, analysis->model, plan, outputs, spans };
    gsize n_nodes = ifm_model_n_nodes(planner.model), step;
    *plan = (IfmMemoryPlan){ .parameter_bytes = ifm_model_stored_bytes(planner.model),
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
