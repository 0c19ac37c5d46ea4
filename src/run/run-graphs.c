/* The graphs that a run has for batches: streams of them, whole or in parts. */
#include "run-private.h"
#include <plan/plan.h>

/* The sizes of a graph's parts as the run will make them: what a part costs is its own nodes, the destinations, and their
 * edges; ghosts are sources alone. Costs go by edges a node: a part without any is taken for one that has one.
 * @sources: (out) gint64, of each part: ghosts and all */
static gboolean part_sizes(const IfmPlanGraph *graph, GArray *sizes, GArray *sources, GError **error)
{
    gsize kind = 0;
    while (ifm_graph_kind_words()[kind] != NULL && !g_str_equal(ifm_graph_kind_words()[kind], graph->kind))
        kind++;
    g_autoptr(IfmGraph) whole = ifm_graph_kind_words()[kind] != NULL
                                    ? ifm_graph_random((IfmGraphKind)kind, graph->nodes, graph->edges, graph->seed, error)
                                    : ifm_graph_read(graph->kind, IFM_GRAPH_FORMAT_AUTO, error);
    g_autoptr(GPtrArray) parts = whole != NULL ? ifm_graph_partition(whole, graph->parts, graph->seed, error) : NULL;
    for (guint i = 0; parts != NULL && i < parts->len; i++)
    {
        const IfmSubgraph *part = parts->pdata[i];
        IfmPlanSize size = { part->n_own, MAX(part->graph->n_edges, 1) };
        g_array_append_val(sizes, size);
        g_array_append_val(sources, part->graph->n_nodes);
    }
    return parts != NULL;
}

static gboolean add_graph(RunJob *job, const char *kind, const IfmPlanSize *size, GError **error)
{
    IfmRunSet *set = job->set;
    char *text = g_strdup(kind);
    IfmPlanGraph graph = {
        .kind = text, .nodes = size->nodes, .edges = size->edges, .seed = set->graph_seed, .parts = set->options.parts
    };
    GArray *batches = g_array_new(FALSE, FALSE, sizeof(IfmPlanSize)), *sources = g_array_new(FALSE, FALSE, sizeof(gint64));
    g_ptr_array_add(set->texts, text);
    g_ptr_array_add(job->batches, batches);
    g_ptr_array_add(job->sources, sources);
    if (set->options.parts > 1 && !part_sizes(&graph, batches, sources, error))
        return FALSE;
    if (set->options.parts <= 1)
    {
        g_array_append_val(batches, *size);
        g_array_append_val(sources, size->nodes);
    }
    IfmPlanSize largest = g_array_index(batches, IfmPlanSize, 0);
    for (guint i = 1; i < batches->len; i++)
        if (g_array_index(batches, IfmPlanSize, i).edges > largest.edges)
            largest = g_array_index(batches, IfmPlanSize, i);
    g_array_append_val(job->graphs, graph);
    g_array_append_val(job->sizes, largest);
    return TRUE;
}

/* At the largest part's size, with as many sources as any has: a static device's model has to hold them all. */
IfmPlanQuestion run_job_question(const RunJob *job, guint graph)
{
    const IfmPlanSize *size = run_job_size(job, graph);
    const GArray *sources = job->sources->pdata[graph];
    IfmPlanQuestion question = ifm_plan_context_question(&job->set->context, size->nodes, size->edges);
    for (guint i = 0; i < sources->len; i++)
        question.sources = MAX(question.sources, (double)g_array_index(sources, gint64, i));
    return question;
}

gboolean run_set_add_stream(IfmRunSet *set, char *title, const char *kind, const IfmPlanSize *size, GError **error)
{
    RunJob *job = set->table != NULL && set->jobs->len > 0 ? set->jobs->pdata[0] : NULL;
    if (job == NULL)
        g_ptr_array_add(set->jobs, job = run_job_new(set, g_steal_pointer(&title)));
    else
    {
        char *both = g_strdup_printf("%u graphs, alternating", job->graphs->len + 1);
        g_free(job->title);
        job->title = both;
    }
    g_free(title);
    return add_graph(job, kind, size, error);
}

static gboolean add_file(IfmRunSet *set, const char *path, GError **error)
{
    g_autoptr(IfmGraph) graph = ifm_graph_read(path, IFM_GRAPH_FORMAT_AUTO, error);
    if (graph == NULL)
        return FALSE;
    IfmPlanSize size = { graph->n_nodes, graph->n_edges };
    return run_set_add_stream(set, g_path_get_basename(path), path, &size, error);
}

/* The sizes that a plan's file was made for. */
static void sizes_of_json(const json_t *plan, GArray *sizes)
{
    const json_t *plans = json_object_get(plan, "plans");
    for (gsize i = 0; i < json_array_size(plans); i++)
        sizes_of_json(json_array_get(plans, i), sizes);
    for (gsize i = 0; i < json_array_size(json_object_get(plan, "sizes")); i++)
    {
        const IfmPlanSize size = run_plan_file_size(plan, i);
        if (size.nodes > 0 && size.edges > 0)
            g_array_append_val(sizes, size);
    }
}

static void default_sizes(IfmRunSet *set, GArray *sizes)
{
    sizes_of_json(set->given, sizes);
    if (sizes->len == 0 && set->table != NULL)
    {
        IfmPlanSize size;
        for (gsize i = 0; ifm_plan_table_row(set->table, i, &size, NULL) != NULL; i++)
            g_array_append_val(sizes, size);
    }
    if (sizes->len == 0 && set->context.costs != NULL)
        g_array_append_vals(sizes, set->context.sizes->data, set->context.sizes->len);
}

gboolean run_set_add_streams(IfmRunSet *set, GError **error)
{
    g_autoptr(GArray) sizes = g_array_new(FALSE, FALSE, sizeof(IfmPlanSize));
    if (!ifm_plan_parse_sizes(set->options.sizes, sizes, error))
        return FALSE;
    for (const char *const *path = set->options.graphs; path != NULL && *path != NULL; path++)
        if (!add_file(set, *path, error))
            return FALSE;
    if (sizes->len == 0 && set->jobs->len == 0)
        default_sizes(set, sizes);
    for (guint i = 0; i < sizes->len; i++)
    {
        const IfmPlanSize *size = &g_array_index(sizes, IfmPlanSize, i);
        if (!run_set_add_stream(set, ifm_plan_size_title(size), set->kind, size, error))
            return FALSE;
    }
    return set->jobs->len > 0 ||
           ifm_error_misuse(error, "needs --size NODES,EDGES or --graph FILE: what to run the plan on");
}
