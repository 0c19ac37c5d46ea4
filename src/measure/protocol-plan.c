/* A plan's case as it travels to the worker: plans, settings, and what the batches are made of. */
#include <inferometer/json.h>

#include "measure-private.h"

#define MOST_ITEMS 1000000
/* Fewer repetitions hardly tell correlation from level: the rule would not stop before these many of its own accord. */
#define LEAST_REPETITIONS 10
#define LEVEL 0.95

static const char *const device_time_words[] = {
    [IFM_DEVICE_TIME_OFF] = "off",
    [IFM_DEVICE_TIME_ON] = "on",
    [IFM_DEVICE_TIME_SAMPLED] = "sampled",
};

gboolean ifm_device_time_parse(const char *word, IfmDeviceTime *device_time, GError **error)
{
    for (gsize i = 0; i < G_N_ELEMENTS(device_time_words); i++)
        if (g_strcmp0(word, device_time_words[i]) == 0)
        {
            *device_time = (IfmDeviceTime)i;
            return TRUE;
        }
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "device time: found \"%s\", expected on, off or sampled",
                word != NULL ? word : "");
    return FALSE;
}

/* --- there --------------------------------------------------------------------------------------------------------- */

IfmProtocol ifm_plan_protocol(const IfmPlanCase *plan_case)
{
    gsize least = plan_case->least_repetitions > 0 ? plan_case->least_repetitions : LEAST_REPETITIONS;
    IfmProtocol protocol = { .warmup = 1, .runs = plan_case->repetitions, .level = LEVEL };
    if (plan_case->ci_ratio > 0)
        protocol = (IfmProtocol){ .warmup = 1,
                                  .ci_ratio = plan_case->ci_ratio,
                                  .level = LEVEL,
                                  .least_runs = MIN(least, plan_case->repetitions),
                                  .most_runs = plan_case->repetitions,
                                  .time_budget_ns = plan_case->time_budget_ns };
    return protocol;
}

json_t *ifm_plan_item_to_json(const IfmPlanItem *item)
{
    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:o,s:o}", "graph", (json_int_t)item->graph, "nodes", (json_int_t)item->nodes,
                     "edges", (json_int_t)item->edges, "n_own", (json_int_t)item->n_own, "whole_nodes",
                     (json_int_t)item->whole_nodes, "inputs", ifm_path_to_json(item->inputs), "reference",
                     ifm_path_to_json(item->reference));
}

json_t *ifm_plan_task_to_json(const IfmPlanCase *plan_case, json_t *items /* (transfer full) */, gboolean true_outputs)
{
    IfmProtocol protocol = ifm_plan_protocol(plan_case);
    json_t *plans = json_array();
    for (gsize i = 0; i < plan_case->n_graphs; i++)
        json_array_append(plans, (json_t *)plan_case->plans[i]);
    json_t *json = json_pack(
        "{s:o,s:o,s:I,s:I,s:I,s:I,s:i,s:i,s:s,s:I,s:b,s:o,s:o,s:O?,s:o,s:o,s:o,s:b}", "plans", plans, "items", items,
        "features", (json_int_t)plan_case->sizes.features, "hidden", (json_int_t)plan_case->sizes.hidden, "seed",
        (json_int_t)plan_case->seed, "n_batches", (json_int_t)plan_case->n_batches, "queue_depth", plan_case->queue_depth,
        "block_depth", plan_case->block_depth, "device_time", plan_case->device_time, "watchdog_ns",
        (json_int_t)plan_case->watchdog_ns, "true_outputs", true_outputs, "rtol", ifm_json_real(plan_case->rtol), "atol",
        ifm_json_real(plan_case->atol), "fallbacks", (json_t *)plan_case->fallbacks, "trace_path",
        ifm_path_to_json(plan_case->trace_path), "cache_dir", ifm_path_to_json(plan_case->cache_dir), "protocol",
        ifm_protocol_to_message(&protocol), "bound", plan_case->bound);
    g_assert(json != NULL);
    return json;
}

/* --- and back ------------------------------------------------------------------------------------------------------ */

static void item_clear(gpointer data)
{
    IfmPlanItem *item = data;
    g_free(item->inputs);
    g_free(item->reference);
}

static gboolean read_item(IfmPlanTask *task, const json_t *json, GError **error)
{
    IfmPlanItem item = { 0 };
    const IfmMembers members = { json, "case.items", error };
    gint64 graph = 0;
    gboolean whole = ifm_members_int(&members, "graph", &graph) && ifm_members_int(&members, "nodes", &item.nodes) &&
                     ifm_members_int(&members, "edges", &item.edges) && ifm_members_int(&members, "n_own", &item.n_own) &&
                     ifm_members_int(&members, "whole_nodes", &item.whole_nodes) &&
                     ifm_members_path(&members, "inputs", &item.inputs) &&
                     ifm_members_path(&members, "reference", &item.reference);
    if (whole && (graph < 0 || graph >= (gint64)task->plans->len || item.inputs == NULL))
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "case.items: graph %" G_GINT64_FORMAT " has no plan or no inputs",
                    graph);
        whole = FALSE;
    }
    item.graph = (gsize)graph;
    g_array_append_val(task->items, item);
    return whole;
}

static gboolean read_lists(IfmPlanTask *task, GError **error)
{
    json_t *plans, *items;
    if (!ifm_json_get_array(task->json, "case", "plans", &plans, error) ||
        !ifm_json_get_array(task->json, "case", "items", &items, error))
        return FALSE;
    for (gsize i = 0; i < json_array_size(plans); i++)
    {
        IfmPlan *plan = ifm_plan_from_json(json_array_get(plans, i), "plan", error);
        if (plan == NULL)
            return FALSE;
        g_ptr_array_add(task->plans, plan);
    }
    for (gsize i = 0; i < MIN(json_array_size(items), MOST_ITEMS); i++)
        if (!read_item(task, json_array_get(items, i), error))
            return FALSE;
    return TRUE;
}

static gboolean read_settings(IfmPlanTask *task, GError **error)
{
    const IfmMembers members = { task->json, "case", error };
    const char *device_time;
    gint64 seed, n_batches, queue_depth, block_depth;
    if (!ifm_members_int(&members, "features", &task->sizes.features) ||
        !ifm_members_int(&members, "hidden", &task->sizes.hidden) || !ifm_members_int(&members, "seed", &seed) ||
        !ifm_members_int(&members, "n_batches", &n_batches) || !ifm_members_int(&members, "queue_depth", &queue_depth) ||
        !ifm_members_int(&members, "block_depth", &block_depth) ||
        !ifm_protocol_from_message(task->json, &task->protocol, error) ||
        !ifm_members_int(&members, "watchdog_ns", &task->watchdog_ns) ||
        !ifm_json_get_string(task->json, "case", "device_time", &device_time, error) ||
        !ifm_device_time_parse(device_time, &task->device_time, error) ||
        !ifm_json_get_boolean(task->json, "case", "true_outputs", &task->true_outputs, error) ||
        !ifm_json_get_boolean(task->json, "case", "bound", &task->bound, error) ||
        !ifm_json_get_double(task->json, "case", "rtol", &task->rtol, error) ||
        !ifm_json_get_double(task->json, "case", "atol", &task->atol, error) ||
        !ifm_members_path(&members, "trace_path", &task->trace_path) ||
        !ifm_members_path(&members, "cache_dir", &task->cache_dir))
        return FALSE;
    task->seed = (guint32)seed;
    task->n_batches = (gsize)MAX(n_batches, 1);
    task->queue_depth = (int)queue_depth;
    task->block_depth = (int)block_depth;
    task->fallbacks = json_object_get(task->json, "fallbacks");
    return TRUE;
}

gboolean ifm_plan_task_init(IfmPlanTask *task, json_t *json, GError **error)
{
    *task = (IfmPlanTask){ .json = json_incref(json) };
    task->plans = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_plan_free);
    task->items = g_array_new(FALSE, TRUE, sizeof(IfmPlanItem));
    g_array_set_clear_func(task->items, item_clear);
    if (read_lists(task, error) && read_settings(task, error))
        return TRUE;
    ifm_plan_task_clear(task);
    return FALSE;
}

void ifm_plan_task_clear(IfmPlanTask *task)
{
    g_clear_pointer(&task->plans, g_ptr_array_unref);
    g_clear_pointer(&task->items, g_array_unref);
    g_clear_pointer(&task->trace_path, g_free);
    g_clear_pointer(&task->cache_dir, g_free);
    json_decref(task->json);
    task->json = NULL;
}
