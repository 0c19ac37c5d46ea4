/* What a plan case says, checked, and its record. */
#include <inferometer/json.h>

#include "runner-plan-private.h"

#define MOST_REPETITIONS 100000
#define MOST_DEPTH 4096

/* --- what a case says ---------------------------------------------------------------------------------------------- */

void ifm_plan_checked_clear(IfmPlanChecked *self)
{
    g_clear_pointer(&self->plans, g_ptr_array_unref);
    g_clear_pointer(&self->devices, g_ptr_array_unref);
    g_clear_pointer(&self->aliases, g_ptr_array_unref);
    g_clear_pointer(&self->others, g_ptr_array_unref);
}

static gboolean check_settings(const IfmPlanCase *plan_case, GError **error)
{
    const struct
    {
        const char *name;
        gint64 value, least, most;
    } checks[] = {
        { "graphs", (gint64)plan_case->n_graphs, 1, G_MAXINT },
        { "batches", (gint64)MIN(plan_case->n_batches, G_MAXINT), 2, IFM_PROTOCOL_MOST_RUNS },
        { "repetitions", (gint64)MIN(plan_case->repetitions, G_MAXINT), 1, MOST_REPETITIONS },
        { "repetitions x batches", (gint64)(MIN(plan_case->repetitions, G_MAXINT) * MIN(plan_case->n_batches, G_MAXINT)), 2,
          IFM_PROTOCOL_MOST_RUNS },
        { "repetitions at least", (gint64)MIN(plan_case->least_repetitions, G_MAXINT), 0,
          (gint64)MIN(plan_case->repetitions, G_MAXINT) },
        { "time budget ns", plan_case->time_budget_ns, 0, G_MAXINT64 },
        { "queue depth", plan_case->queue_depth, 1, MOST_DEPTH },
        { "block depth", plan_case->block_depth, 1, MOST_DEPTH },
        { "watchdog ns", plan_case->watchdog_ns, 0, G_MAXINT64 },
    };
    IfmDeviceTime device_time;
    for (gsize i = 0; i < G_N_ELEMENTS(checks); i++)
        if (checks[i].value < checks[i].least || checks[i].value > checks[i].most)
            return ifm_error_refuse(
                error, "plan: %s: found %" G_GINT64_FORMAT ", expected %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
                checks[i].name, checks[i].value, checks[i].least, checks[i].most);
    if (!(plan_case->ci_ratio >= 0 && plan_case->ci_ratio <= 1))
        return ifm_error_refuse(error, "plan: interval: found %g, expected 0 to 1 of the makespan", plan_case->ci_ratio);
    return ifm_device_time_parse(plan_case->device_time, &device_time, error);
}

static gssize find_alias(const IfmPlanChecked *self, const char *alias)
{
    for (guint i = 0; i < self->aliases->len; i++)
        if (g_str_equal(self->aliases->pdata[i], alias))
            return (gssize)i;
    return -1;
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
    gssize known = find_alias(self, device->alias);
    if (known >= 0)
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
    if (self->plan_case.fallbacks == NULL)
        return TRUE;
    if (!json_is_object(self->plan_case.fallbacks))
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

static gboolean is_other(const IfmPlanChecked *self, const IfmDeviceSpec *spec)
{
    for (guint i = 0; i < self->others->len; i++)
        if (g_str_equal(((const IfmDeviceSpec *)self->others->pdata[i])->text, spec->text))
            return TRUE;
    return FALSE;
}

/* What a plan lists and does not use: a run may go on with it, and a bound counts it. */
static gboolean add_others(IfmPlanChecked *self, GError **error)
{
    for (guint p = 0; p < self->plans->len && (self->plan_case.bound || self->plan_case.fallbacks != NULL); p++)
    {
        const IfmPlan *plan = self->plans->pdata[p];
        for (guint d = 0; d < plan->devices->len; d++)
        {
            const IfmPlanDevice *device = plan->devices->pdata[d];
            if (find_alias(self, device->alias) >= 0 || device->device == NULL)
                continue;
            g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device->device, error);
            if (spec == NULL)
                return FALSE;
            if (!is_other(self, spec))
                g_ptr_array_add(self->others, g_steal_pointer(&spec));
        }
    }
    return TRUE;
}

static gboolean read_plan(IfmPlanChecked *self, gsize graph, GError **error)
{
    g_autofree char *name =
        self->plan_case.n_graphs > 1 ? g_strdup_printf("plan of graph %" G_GSIZE_FORMAT, graph + 1) : g_strdup("plan");
    g_autoptr(IfmPlan) plan = ifm_plan_from_json(self->plan_case.plans[graph], name, error);
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
    self->plan_case = *plan_case;
    self->plans = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_plan_free);
    self->devices = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_device_spec_free);
    self->aliases = g_ptr_array_new_with_free_func(g_free);
    self->others = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_device_spec_free);
    if (self->plan_case.queue_depth == 0)
        self->plan_case.queue_depth = IFM_PIPELINE_OPTIONS_INIT.queue_depth;
    if (self->plan_case.block_depth == 0)
        self->plan_case.block_depth = IFM_PIPELINE_OPTIONS_INIT.block_depth;
    if (self->plan_case.watchdog_ns == 0)
        self->plan_case.watchdog_ns = IFM_PIPELINE_OPTIONS_INIT.watchdog_ns;
    if (self->plan_case.device_time == NULL)
        self->plan_case.device_time = "off";
    if (!check_settings(&self->plan_case, error))
        return FALSE;
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

static json_t *options_to_json(const IfmPlanChecked *self, json_t *graphs /* (transfer full) */)
{
    const IfmPlanCase *plan_case = &self->plan_case;
    json_t *plans = json_array();
    for (guint i = 0; i < self->plans->len; i++)
        json_array_append_new(plans, ifm_plan_to_json(self->plans->pdata[i]));
    json_t *json = json_pack("{s:s,s:I,s:o,s:o,s:I,s:I,s:i,s:i,s:s,s:I,s:b,s:b}", "dtype", ifm_dtype_name(IFM_DTYPE_F32),
                             "seed", (json_int_t)plan_case->seed, "plans", plans, "graphs", graphs, "features",
                             (json_int_t)plan_case->sizes.features, "hidden", (json_int_t)plan_case->sizes.hidden,
                             "queue_depth", plan_case->queue_depth, "block_depth", plan_case->block_depth, "device_time",
                             plan_case->device_time, "repetitions", (json_int_t)plan_case->repetitions, "verify",
                             plan_case->verify, "bound", plan_case->bound);
    IfmProtocol protocol = ifm_plan_protocol(plan_case);
    if (protocol.runs == 0)
        json_object_set_new(json, "protocol", ifm_protocol_to_json(&protocol));
    if (plan_case->fallbacks != NULL)
        json_object_set(json, "fallbacks", (json_t *)plan_case->fallbacks);
    if (plan_case->verify && (plan_case->rtol != 0 || plan_case->atol != 0))
    {
        json_object_set_new(json, "rtol", ifm_json_real(plan_case->rtol));
        json_object_set_new(json, "atol", ifm_json_real(plan_case->atol));
    }
    return json;
}

/* Names and versions of the engines, each once, in the order the devices come. */
static json_t *surroundings_of(IfmRunner *runner, const IfmPlanChecked *self, GError **error)
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
            return NULL;
        g_string_append_printf(names, "%s%s", names->len > 0 ? "+" : "", spec->engine);
        g_string_append_printf(versions, "%s%s", versions->len > 0 ? "+" : "",
                               json_string_value(json_object_get(facts, "version")));
    }
    json_t *id = json_object_get(ifm_runner_machine(runner), "id");
    return json_pack("{s:o,s:s,s:s}", "machine", id != NULL ? json_incref(id) : json_null(), "engine", names->str,
                     "engine_version", versions->str);
}

IfmCase *ifm_runner_plan_case(IfmRunner *runner, const IfmPlanCase *plan_case, GError **error)
{
    g_auto(IfmPlanChecked) checked = { 0 };
    gint64 nodes = 0, edges = 0;
    if (!ifm_plan_checked_init(&checked, plan_case, error))
        return NULL;
    json_t *surroundings = surroundings_of(runner, &checked, error);
    json_t *graphs = surroundings != NULL ? graphs_to_json(plan_case, &nodes, &edges, error) : NULL;
    if (graphs == NULL)
    {
        json_decref(surroundings);
        return NULL;
    }
    g_autoptr(IfmCase) record = ifm_case_new();
    g_autofree char *device = join_devices(checked.devices, NULL);
    g_ptr_array_add(checked.aliases, NULL);
    g_autofree char *alias = g_strjoinv("+", (char **)checked.aliases->pdata);
    ifm_record_set_text(&record->subject_kind, "plan");
    ifm_record_set_text(&record->subject_name, ((const IfmPlan *)checked.plans->pdata[0])->model);
    ifm_record_set_text(&record->device, device);
    ifm_record_set_text(&record->alias, alias);
    ifm_record_set_json(&record->sizes, json_pack("{s:I,s:I,s:I}", "nodes", (json_int_t)nodes, "edges", (json_int_t)edges,
                                                  "batches", (json_int_t)plan_case->n_batches));
    ifm_record_set_json(&record->options, options_to_json(&checked, graphs));
    ifm_record_set_json(&record->surroundings, surroundings);
    ifm_case_seal(record);
    return g_steal_pointer(&record);
}
