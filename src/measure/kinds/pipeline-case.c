/* A plan on a stream of batches: what describes a case of it, checked, its record, and how the worker has it. */
#include <base/fields.h>
#include <store/store.h>

#include "plan-case-private.h"

#define MAX_REPETITIONS 100000
#define MAX_DEPTH 4096

/* Fewer repetitions hardly distinguish correlation from level: the rule itself would not stop before this many. */
#define MIN_REPETITIONS 10
#define LEVEL 0.95

/* --- what describes it -------------------------------------------------------------------------------------------- */

static gboolean has_tolerance(const void *self)
{
    const IfmPlanCase *plan_case = self;
    return plan_case->verify && (plan_case->rtol != 0 || plan_case->atol != 0);
}

#define FIELD(TYPE, member) IFM_RECORD(TYPE, IfmPlanCase, member)
#define RANGE(MINIMUM, MAXIMUM) .min = (MINIMUM), .max = (MAXIMUM)

static const IfmRecordField graph_fields[] = {
    { IFM_RECORD(PATH, IfmPlanGraph, kind) },   { IFM_RECORD(INT64, IfmPlanGraph, nodes) },
    { IFM_RECORD(INT64, IfmPlanGraph, edges) }, { IFM_RECORD(UINT32, IfmPlanGraph, seed) },
    { IFM_RECORD(INT64, IfmPlanGraph, parts) }, { NULL },
};

const IfmRecordField ifm_plan_fields[] = {
    { FIELD(JSONS, plans), .count = offsetof(IfmPlanCase, n_graphs) },
    { FIELD(PARTS, graphs), .count = offsetof(IfmPlanCase, n_graphs), .fields = graph_fields,
      .size = sizeof(IfmPlanGraph) },
    { .name = "features", .offset = offsetof(IfmPlanCase, sizes.features), .type = IFM_RECORD_INT64, .key = "features" },
    { .name = "hidden", .offset = offsetof(IfmPlanCase, sizes.hidden), .type = IFM_RECORD_INT64, .key = "hidden" },
    { FIELD(SIZE, n_batches), .called = "batches", RANGE(2, IFM_PROTOCOL_MAX_RUNS) },
    { FIELD(SIZE, repetitions), .key = "repetitions", .called = "repetitions", RANGE(1, MAX_REPETITIONS) },
    { FIELD(INT, queue_depth), .key = "queue_depth", .called = "queue depth", RANGE(1, MAX_DEPTH) },
    { FIELD(INT, block_depth), .key = "block_depth", .called = "block depth", RANGE(1, MAX_DEPTH) },
    { FIELD(NAME, device_time), .key = "device_time" },
    { FIELD(INT64, watchdog_ns), .called = "watchdog ns", RANGE(0, G_MAXINT64) },
    { FIELD(FLAG, verify), .key = "verify" },
    { FIELD(DOUBLE, rtol), .key = "rtol", .counts = has_tolerance },
    { FIELD(DOUBLE, atol), .key = "atol", .counts = has_tolerance },
    { FIELD(JSON, fallbacks), .key = "fallbacks", .unless_zero = TRUE },
    { FIELD(PATH, trace_path) },
    { FIELD(PATH, cache_dir) },
    { FIELD(UINT32, seed), .key = "seed" },
    { FIELD(DOUBLE, ci_ratio) },
    { FIELD(SIZE, min_repetitions) },
    { FIELD(INT64, time_budget_ns), .called = "time budget ns", RANGE(0, G_MAXINT64) },
    { FIELD(FLAG, bound), .key = "bound" },
    { NULL },
};

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
    return ifm_error_refuse(error, "device time: found \"%s\", expected on, off or sampled", word != NULL ? word : "");
}

IfmProtocol ifm_plan_protocol(const IfmPlanCase *plan_case)
{
    gsize min = plan_case->min_repetitions > 0 ? plan_case->min_repetitions : MIN_REPETITIONS;
    IfmProtocol protocol = { .warmup = 1, .runs = plan_case->repetitions, .level = LEVEL };
    if (plan_case->ci_ratio > 0)
        protocol = (IfmProtocol){ .warmup = 1,
                                  .ci_ratio = plan_case->ci_ratio,
                                  .level = LEVEL,
                                  .min_runs = MIN(min, plan_case->repetitions),
                                  .max_runs = plan_case->repetitions,
                                  .time_budget_ns = plan_case->time_budget_ns };
    return protocol;
}

/* What a pipeline has by itself, where the case says nothing. */
static void fill_defaults(IfmPlanCase *plan_case)
{
    const IfmPipelineOptions own = IFM_PIPELINE_OPTIONS_INIT;
    if (plan_case->queue_depth == 0)
        plan_case->queue_depth = own.queue_depth;
    if (plan_case->block_depth == 0)
        plan_case->block_depth = own.block_depth;
    if (plan_case->watchdog_ns == 0)
        plan_case->watchdog_ns = own.watchdog_ns;
    if (plan_case->device_time == NULL)
        plan_case->device_time = "off";
}

gboolean ifm_plan_complete(void *spec, GError **error)
{
    IfmPlanCase *plan_case = spec;
    IfmDeviceTime device_time;
    fill_defaults(plan_case);
    gint64 repetitions = (gint64)MIN(plan_case->repetitions, G_MAXINT),
           all = repetitions * (gint64)MIN(plan_case->n_batches, G_MAXINT);
    if (plan_case->n_graphs < 1)
        return ifm_error_refuse(error, "plan: graphs: found 0, expected 1 to %d", G_MAXINT);
    if (!ifm_record_check(plan_case, ifm_plan_fields, "plan", error))
        return FALSE;
    if (all > IFM_PROTOCOL_MAX_RUNS)
        return ifm_error_refuse(error, "plan: repetitions x batches: found %" G_GINT64_FORMAT ", expected 2 to %d", all,
                                IFM_PROTOCOL_MAX_RUNS);
    if (plan_case->min_repetitions > plan_case->repetitions)
        return ifm_error_refuse(error,
                                "plan: repetitions at least: found %" G_GSIZE_FORMAT ", expected 0 to %" G_GINT64_FORMAT,
                                plan_case->min_repetitions, repetitions);
    if (!(plan_case->ci_ratio >= 0 && plan_case->ci_ratio <= 1))
        return ifm_error_refuse(error, "plan: interval: found %g, expected 0 to 1 of the makespan", plan_case->ci_ratio);
    return ifm_device_time_parse(plan_case->device_time, &device_time, error);
}

/* --- its plans and devices ---------------------------------------------------------------------------------------- */

void ifm_plan_checked_clear(IfmPlanChecked *self)
{
    g_clear_pointer(&self->plans, g_ptr_array_unref);
    g_clear_pointer(&self->devices, g_ptr_array_unref);
    g_clear_pointer(&self->aliases, g_ptr_array_unref);
    g_clear_pointer(&self->others, g_ptr_array_unref);
}

static gboolean add_device(IfmPlanChecked *self, const IfmPlanDevice *device, GError **error)
{
    if (device->device == NULL)
        return ifm_error_refuse(error,
                                "plan: %s: no device is named behind it; \"devices\": {\"%s\": {\"device\": …}} is right",
                                device->alias, device->alias);
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device->device, error);
    if (spec == NULL)
        return FALSE;
    guint known;
    if (g_ptr_array_find_with_equal_func(self->aliases, device->alias, g_str_equal, &known))
    {
        const char *before = ((const IfmDeviceSpec *)self->devices->pdata[known])->text;
        return g_str_equal(before, spec->text) || ifm_error_refuse(error, "plan: %s: found %s, another graph's plan has %s",
                                                                   device->alias, spec->text, before);
    }
    if (self->devices->len == IFM_PLAN_MAX_DEVICES)
        return ifm_error_refuse(error, "plan: more than %d devices over all graphs", IFM_PLAN_MAX_DEVICES);
    g_ptr_array_add(self->devices, g_steal_pointer(&spec));
    g_ptr_array_add(self->aliases, g_strdup(device->alias));
    return TRUE;
}

static gboolean add_block_devices(IfmPlanChecked *self, const IfmPlan *plan, GError **error)
{
    for (guint b = 0; b < plan->blocks->len; b++)
    {
        const IfmPlanBlock *block = &g_array_index(plan->blocks, IfmPlanBlock, b);
        for (gsize d = 0; d < block->n_devices; d++)
            if (!add_device(self, plan->devices->pdata[block->devices[d]], error))
                return FALSE;
    }
    return TRUE;
}

/* Fallbacks are by mask over a plan's list of devices: that list has to be one. */
static gboolean check_fallbacks(IfmPlanChecked *self, GError **error)
{
    const IfmPlan *first = self->plans->pdata[0];
    if (self->plan_case->fallbacks == NULL)
        return TRUE;
    if (!json_is_object(self->plan_case->fallbacks))
        return ifm_error_refuse(error,
                                "plan: fallbacks: found no object, expected {\"1\": plan, …}, by mask of the lost devices");
    for (guint i = 1; i < self->plans->len; i++)
    {
        const IfmPlan *plan = self->plans->pdata[i];
        gboolean same = plan->devices->len == first->devices->len;
        for (guint d = 0; same && d < plan->devices->len; d++)
            same = g_str_equal(((const IfmPlanDevice *)plan->devices->pdata[d])->alias,
                               ((const IfmPlanDevice *)first->devices->pdata[d])->alias);
        if (!same)
            return ifm_error_refuse(
                error, "plan: fallbacks: the plans of graphs 1 and %u list other devices: one list is right", i + 1);
    }
    return TRUE;
}

static gboolean same_text(gconstpointer a, gconstpointer b)
{
    return g_str_equal(((const IfmDeviceSpec *)a)->text, ((const IfmDeviceSpec *)b)->text);
}

/* What a plan lists and does not use: a run may go on with it, and a bound counts it. */
static gboolean add_others(IfmPlanChecked *self, GError **error)
{
    for (guint p = 0; p < self->plans->len && (self->plan_case->bound || self->plan_case->fallbacks != NULL); p++)
    {
        const IfmPlan *plan = self->plans->pdata[p];
        for (guint d = 0; d < plan->devices->len; d++)
        {
            const IfmPlanDevice *device = plan->devices->pdata[d];
            if (device->device == NULL || g_ptr_array_find_with_equal_func(self->aliases, device->alias, g_str_equal, NULL))
                continue;
            g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device->device, error);
            if (spec == NULL)
                return FALSE;
            if (!g_ptr_array_find_with_equal_func(self->others, spec, same_text, NULL))
                g_ptr_array_add(self->others, g_steal_pointer(&spec));
        }
    }
    return TRUE;
}

static gboolean read_plan(IfmPlanChecked *self, gsize graph, GError **error)
{
    g_autofree char *name =
        self->plan_case->n_graphs > 1 ? g_strdup_printf("plan of graph %" G_GSIZE_FORMAT, graph + 1) : g_strdup("plan");
    g_autoptr(IfmPlan) plan = ifm_plan_from_json(self->plan_case->plans[graph], name, error);
    if (plan == NULL)
        return FALSE;
    const IfmPlan *first = self->plans->len > 0 ? self->plans->pdata[0] : plan;
    if (plan->model == NULL)
        return ifm_error_refuse(error, "%s: names no model; \"model\": \"graphsage\" is right", name);
    if (!g_str_equal(plan->model, first->model))
        return ifm_error_refuse(error, "%s: is one of model %s, the first of %s", name, plan->model, first->model);
    if (!add_block_devices(self, plan, error))
        return FALSE;
    g_ptr_array_add(self->plans, g_steal_pointer(&plan));
    return TRUE;
}

gboolean ifm_plan_checked_init(IfmPlanChecked *self, const IfmPlanCase *plan_case, GError **error)
{
    self->plan_case = plan_case;
    self->plans = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_plan_free);
    self->devices = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_device_spec_free);
    self->aliases = g_ptr_array_new_with_free_func(g_free);
    self->others = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_device_spec_free);
    for (gsize i = 0; i < plan_case->n_graphs; i++)
        if (!read_plan(self, i, error))
            return FALSE;
    return check_fallbacks(self, error) && add_others(self, error);
}

/* "SPEC+SPEC" (transfer full) */
static char *join_devices(const GPtrArray *devices, const GPtrArray *more)
{
    GString *text = g_string_new(NULL);
    for (guint i = 0; i < devices->len + (more != NULL ? more->len : 0); i++)
    {
        const IfmDeviceSpec *spec = i < devices->len ? devices->pdata[i] : more->pdata[i - devices->len];
        g_string_append_printf(text, "%s%s", i > 0 ? "+" : "", spec->text);
    }
    return g_string_free(text, FALSE);
}

char *ifm_plan_checked_worker(const IfmPlanChecked *self)
{
    g_autofree char *devices = join_devices(self->devices, self->others);
    return g_strconcat(IFM_PLAN_WORKER, devices, NULL);
}

/* --- graphs -------------------------------------------------------------------------------------------------------- */

static gint kind_of(const IfmPlanGraph *graph)
{
    const char *const *words = ifm_graph_kind_words();
    for (gint kind = 0; words[kind] != NULL; kind++)
        if (g_strcmp0(graph->kind, words[kind]) == 0)
            return kind;
    return -1;
}

IfmGraph *ifm_plan_graph_make(const IfmPlanGraph *graph, GError **error)
{
    gint kind = kind_of(graph);
    if (graph->kind == NULL)
    {
        ifm_error_refuse(error, "plan: a graph without a kind; \"uniform\", \"power-law\" or a path is right");
        return NULL;
    }
    if (kind >= 0)
        return ifm_graph_random((IfmGraphKind)kind, graph->nodes, graph->edges, graph->seed, error);
    g_autoptr(IfmGraph) read = ifm_graph_read(graph->kind, IFM_GRAPH_FORMAT_AUTO, error);
    if (read == NULL)
        return NULL;
    if ((graph->nodes == 0 || graph->nodes == read->n_nodes) && (graph->edges == 0 || graph->edges == read->n_edges))
        return g_steal_pointer(&read);
    ifm_error_refuse(error,
                     "%s: found %" G_GINT64_FORMAT " nodes and %" G_GINT64_FORMAT " edges, expected %" G_GINT64_FORMAT
                     " and %" G_GINT64_FORMAT,
                     graph->kind, read->n_nodes, read->n_edges, graph->nodes, graph->edges);
    return NULL;
}

static char *digest_of(const IfmGraph *graph)
{
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    g_checksum_update(checksum, (const guchar *)graph->edge_index, (gssize)(2 * graph->n_edges) * 8);
    return g_strdup(g_checksum_get_string(checksum));
}

/* What makes a graph this one: of a file its bytes, wherever it lies. @nodes, @edges: (inout) the most so far */
static json_t *graph_to_json(const IfmPlanGraph *graph, gint64 *nodes, gint64 *edges, GError **error)
{
    gint64 n_nodes = graph->nodes, n_edges = graph->edges;
    json_t *json = json_object();
    if (kind_of(graph) >= 0)
        json_object_update_new(json, json_pack("{s:s,s:I}", "kind", graph->kind, "seed", (json_int_t)graph->seed));
    else
    {
        g_autoptr(IfmGraph) read = ifm_plan_graph_make(graph, error);
        g_autofree char *digest = read != NULL ? digest_of(read) : NULL;
        if (read == NULL)
        {
            json_decref(json);
            return NULL;
        }
        n_nodes = read->n_nodes;
        n_edges = read->n_edges;
        json_object_update_new(json, json_pack("{s:s,s:s}", "kind", "file", "digest", digest));
    }
    json_object_update_new(json, json_pack("{s:I,s:I}", "nodes", (json_int_t)n_nodes, "edges", (json_int_t)n_edges));
    if (graph->parts > 1)
        json_object_set_new(json, "parts", json_integer(graph->parts));
    *nodes = MAX(*nodes, n_nodes);
    *edges = MAX(*edges, n_edges);
    return json;
}

static json_t *graphs_to_json(const IfmPlanCase *plan_case, gint64 *nodes, gint64 *edges, GError **error)
{
    json_auto_t *list = json_array();
    for (gsize i = 0; i < plan_case->n_graphs; i++)
    {
        json_t *graph = graph_to_json(&plan_case->graphs[i], nodes, edges, error);
        if (graph == NULL)
            return NULL;
        json_array_append_new(list, graph);
    }
    return json_incref(list);
}

/* --- the case record ----------------------------------------------------------------------------------------------- */

/* What of the options follows from several fields, or from what a file holds. */
static void add_options(const IfmPlanChecked *self, json_t *graphs /* (transfer full) */, json_t *options)
{
    IfmProtocol protocol = ifm_plan_protocol(self->plan_case);
    json_t *plans = json_array();
    for (guint i = 0; i < self->plans->len; i++)
        json_array_append_new(plans, ifm_plan_to_json(self->plans->pdata[i]));
    json_object_set_new(options, "dtype", json_string(ifm_dtype_name(IFM_DTYPE_F32)));
    json_object_set_new(options, "plans", plans);
    json_object_set_new(options, "graphs", graphs);
    if (protocol.runs == 0)
        json_object_set_new(options, "protocol", ifm_protocol_to_json(&protocol));
}

/* Names and versions of the engines, each once, in the order the devices come. */
static gboolean add_engines(IfmRunner *runner, const IfmPlanChecked *self, json_t *environment, GError **error)
{
    g_autoptr(GString) names = g_string_new(NULL);
    g_autoptr(GString) versions = g_string_new(NULL);
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    g_autofree char *key = ifm_plan_checked_worker(self);
    for (guint i = 0; i < self->devices->len; i++)
    {
        const IfmDeviceSpec *spec = self->devices->pdata[i];
        if (!g_hash_table_add(seen, spec->engine))
            continue;
        const json_t *facts = ifm_runner_engine_facts(runner, key, spec, error);
        if (facts == NULL)
            return FALSE;
        g_string_append_printf(names, "%s%s", names->len > 0 ? "+" : "", spec->engine);
        g_string_append_printf(versions, "%s%s", versions->len > 0 ? "+" : "",
                               json_string_value(json_object_get(facts, "version")));
    }
    json_object_set_new(environment, "engine", json_string(names->str));
    json_object_set_new(environment, "engine_version", json_string(versions->str));
    return TRUE;
}

gboolean ifm_plan_seal(IfmRunner *runner, const void *spec, const json_t *facts, IfmCase *record, GError **error)
{
    g_auto(IfmPlanChecked) checked = { 0 };
    const IfmPlanCase *plan_case = spec;
    gint64 nodes = 0, edges = 0;
    if (!ifm_plan_checked_init(&checked, plan_case, error) || !add_engines(runner, &checked, record->environment, error))
        return FALSE;
    json_t *graphs = graphs_to_json(plan_case, &nodes, &edges, error);
    if (graphs == NULL)
        return FALSE;
    g_autofree char *device = join_devices(checked.devices, NULL);
    g_ptr_array_add(checked.aliases, NULL);
    g_autofree char *alias = g_strjoinv("+", (char **)checked.aliases->pdata);
    ifm_record_set_text(&record->subject_name, ((const IfmPlan *)checked.plans->pdata[0])->model);
    ifm_record_set_text(&record->device, device);
    ifm_record_set_text(&record->alias, alias);
    ifm_record_set_json(&record->sizes, json_pack("{s:I,s:I,s:I}", "nodes", (json_int_t)nodes, "edges", (json_int_t)edges,
                                                  "batches", (json_int_t)plan_case->n_batches));
    add_options(&checked, graphs, record->options);
    return TRUE;
}

/* --- in the worker ------------------------------------------------------------------------------------------------ */

static const IfmRecordField item_fields[] = {
    { IFM_RECORD(INT64, IfmPlanItem, graph) },       { IFM_RECORD(INT64, IfmPlanItem, nodes) },
    { IFM_RECORD(INT64, IfmPlanItem, edges) },       { IFM_RECORD(INT64, IfmPlanItem, n_own) },
    { IFM_RECORD(INT64, IfmPlanItem, whole_nodes) }, { IFM_RECORD(PATH, IfmPlanItem, inputs) },
    { IFM_RECORD(PATH, IfmPlanItem, reference) },    { NULL },
};

const IfmRecordField ifm_plan_task_fields[] = {
    { IFM_RECORD(PARTS, IfmPlanTask, items), .count = offsetof(IfmPlanTask, n_items), .fields = item_fields,
      .size = sizeof(IfmPlanItem) },
    { IFM_RECORD(FLAG, IfmPlanTask, true_outputs) },
    { NULL },
};

static gboolean read_plans(IfmPlanTask *task, GError **error)
{
    for (gsize i = 0; i < task->plan_case->n_graphs; i++)
    {
        IfmPlan *plan = ifm_plan_from_json(task->plan_case->plans[i], "plan", error);
        if (plan == NULL)
            return FALSE;
        g_ptr_array_add(task->plans, plan);
    }
    for (gsize i = 0; i < task->n_items; i++)
        if (task->items[i].graph < 0 || task->items[i].graph >= (gint64)task->plans->len || task->items[i].inputs == NULL)
            return ifm_error_refuse(error, "case.items: graph %" G_GINT64_FORMAT " has no plan or no inputs",
                                    task->items[i].graph);
    return TRUE;
}

gboolean ifm_plan_task_init(IfmPlanTask *task, const IfmPlanCase *plan_case, const json_t *made, GError **error)
{
    *task = (IfmPlanTask){ .plan_case = plan_case,
                           .protocol = ifm_plan_protocol(plan_case),
                           .plans = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_plan_free),
                           .pool = g_ptr_array_new_with_free_func(g_free) };
    return ifm_device_time_parse(plan_case->device_time, &task->device_time, error) &&
           ifm_record_from_json(task, ifm_plan_task_fields, made, "made", task->pool, error) && read_plans(task, error);
}

void ifm_plan_task_clear(IfmPlanTask *task)
{
    g_clear_pointer(&task->plans, g_ptr_array_unref);
    g_clear_pointer(&task->pool, g_ptr_array_unref);
}
