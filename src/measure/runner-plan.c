#include <string.h>
#include <unistd.h>

#include <inferometer/dataset.h>
#include <inferometer/json.h>
#include <inferometer/tensor-file.h>

#include "runner-private.h"

#define MOST_REPETITIONS 100000
#define MOST_DEPTH 4096

/* --- what a case says ---------------------------------------------------------------------------------------------- */

/* A plan case, checked and with its defaults in place. */
typedef struct
{
    IfmPlanCase plan_case;
    GPtrArray *plans;   /* IfmPlan*, one a graph */
    GPtrArray *devices; /* IfmDeviceSpec*, of the plans' blocks, in the order they come */
    GPtrArray *aliases; /* char*, of those */
    GPtrArray *others;  /* IfmDeviceSpec*, that only a fallback may use */
} Checked;

static void checked_clear(Checked *self)
{
    g_clear_pointer(&self->plans, g_ptr_array_unref);
    g_clear_pointer(&self->devices, g_ptr_array_unref);
    g_clear_pointer(&self->aliases, g_ptr_array_unref);
    g_clear_pointer(&self->others, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Checked, checked_clear)

static gboolean refuse(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);
static gboolean refuse(GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *message = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_set_error_literal(error, IFM_ERROR, IFM_ERROR_INVALID, message);
    return FALSE;
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
        { "queue depth", plan_case->queue_depth, 1, MOST_DEPTH },
        { "block depth", plan_case->block_depth, 1, MOST_DEPTH },
        { "watchdog ns", plan_case->watchdog_ns, 0, G_MAXINT64 },
    };
    IfmDeviceTime device_time;
    for (gsize i = 0; i < G_N_ELEMENTS(checks); i++)
        if (checks[i].value < checks[i].least || checks[i].value > checks[i].most)
            return refuse(error, "plan: %s: found %" G_GINT64_FORMAT ", expected %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
                          checks[i].name, checks[i].value, checks[i].least, checks[i].most);
    return ifm_device_time_parse(plan_case->device_time, &device_time, error);
}

static gssize find_alias(const Checked *self, const char *alias)
{
    for (guint i = 0; i < self->aliases->len; i++)
        if (g_str_equal(self->aliases->pdata[i], alias))
            return (gssize)i;
    return -1;
}

static gboolean add_device(Checked *self, const IfmPlanDevice *device, GError **error)
{
    if (device->device == NULL)
        return refuse(error, "plan: %s: no device is named behind it; \"devices\": {\"%s\": {\"device\": …}} is right",
                      device->alias, device->alias);
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse(device->device, error);
    if (spec == NULL)
        return FALSE;
    gssize known = find_alias(self, device->alias);
    if (known >= 0)
    {
        const char *before = ((const IfmDeviceSpec *)self->devices->pdata[known])->text;
        return g_str_equal(before, spec->text) ||
               refuse(error, "plan: %s: found %s, another graph's plan has %s", device->alias, spec->text, before);
    }
    if (self->devices->len == IFM_PLAN_MAX_DEVICES)
        return refuse(error, "plan: more than %d devices over all graphs", IFM_PLAN_MAX_DEVICES);
    g_ptr_array_add(self->devices, g_steal_pointer(&spec));
    g_ptr_array_add(self->aliases, g_strdup(device->alias));
    return TRUE;
}

static gboolean add_block_devices(Checked *self, const IfmPlan *plan, GError **error)
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
static gboolean check_fallbacks(Checked *self, GError **error)
{
    const IfmPlan *first = self->plans->pdata[0];
    if (self->plan_case.fallbacks == NULL)
        return TRUE;
    if (!json_is_object(self->plan_case.fallbacks))
        return refuse(error, "plan: fallbacks: found no object, expected {\"1\": plan, …}, by mask of the lost devices");
    for (guint i = 1; i < self->plans->len; i++)
    {
        const IfmPlan *plan = self->plans->pdata[i];
        gboolean same = plan->devices->len == first->devices->len;
        for (guint d = 0; same && d < plan->devices->len; d++)
            same = g_str_equal(((const IfmPlanDevice *)plan->devices->pdata[d])->alias,
                               ((const IfmPlanDevice *)first->devices->pdata[d])->alias);
        if (!same)
            return refuse(error, "plan: fallbacks: the plans of graphs 1 and %u list other devices: one list is right",
                          i + 1);
    }
    return TRUE;
}

static gboolean is_other(const Checked *self, const IfmDeviceSpec *spec)
{
    for (guint i = 0; i < self->others->len; i++)
        if (g_str_equal(((const IfmDeviceSpec *)self->others->pdata[i])->text, spec->text))
            return TRUE;
    return FALSE;
}

/* What a plan lists and does not use: a run may go on with it, and a bound counts it. */
static gboolean add_others(Checked *self, GError **error)
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

static gboolean read_plan(Checked *self, gsize graph, GError **error)
{
    g_autofree char *name =
        self->plan_case.n_graphs > 1 ? g_strdup_printf("plan of graph %" G_GSIZE_FORMAT, graph + 1) : g_strdup("plan");
    g_autoptr(IfmPlan) plan = ifm_plan_from_json(self->plan_case.plans[graph], name, error);
    if (plan == NULL)
        return FALSE;
    const IfmPlan *first = self->plans->len > 0 ? self->plans->pdata[0] : plan;
    if (plan->model == NULL)
        return refuse(error, "%s: names no model; \"model\": \"graphsage\" is right", name);
    if (!g_str_equal(plan->model, first->model))
        return refuse(error, "%s: is one of model %s, the first of %s", name, plan->model, first->model);
    if (!add_block_devices(self, plan, error))
        return FALSE;
    g_ptr_array_add(self->plans, g_steal_pointer(&plan));
    return TRUE;
}

static gboolean check_case(Checked *self, const IfmPlanCase *plan_case, GError **error)
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

static char *worker_key(const Checked *self)
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

static IfmGraph *make_graph(const IfmPlanGraph *graph, GError **error)
{
    gint kind = kind_of(graph);
    if (graph->kind == NULL)
    {
        refuse(error, "plan: a graph without a kind; \"uniform\", \"power-law\" or a path is right");
        return NULL;
    }
    if (kind >= 0)
        return ifm_graph_random((IfmGraphKind)kind, graph->nodes, graph->edges, graph->seed, error);
    g_autoptr(IfmGraph) read = ifm_graph_read(graph->kind, IFM_GRAPH_FORMAT_AUTO, error);
    if (read == NULL)
        return NULL;
    if ((graph->nodes == 0 || graph->nodes == read->n_nodes) && (graph->edges == 0 || graph->edges == read->n_edges))
        return g_steal_pointer(&read);
    refuse(error,
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
        g_autoptr(IfmGraph) read = make_graph(graph, error);
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

static json_t *options_to_json(const Checked *self, json_t *graphs /* (transfer full) */)
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
static json_t *surroundings_of(IfmRunner *runner, const Checked *self, GError **error)
{
    g_autoptr(GString) names = g_string_new(NULL);
    g_autoptr(GString) versions = g_string_new(NULL);
    g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
    g_autofree char *key = worker_key(self);
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
    g_auto(Checked) checked = { 0 };
    gint64 nodes = 0, edges = 0;
    if (!check_case(&checked, plan_case, error))
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

/* --- inputs and references, in files ------------------------------------------------------------------------------- */

typedef struct
{
    const Checked *checked;
    const IfmCase *sealed;
    const char *worker;
    const char *folder;
    GPtrArray *files; /* char*: what goes when it has run */
    char *model_path; /* of the reference's model; NULL: none made yet */
    char *model_digest;
    json_t *verification; /* why some output is compared with nothing, or NULL */
} PlanJob;

static char *job_file(PlanJob *job, const char *what, gsize graph, gsize part)
{
    char *path = g_strdup_printf("%s/plan-%s-%" G_GSIZE_FORMAT "-%" G_GSIZE_FORMAT, job->folder, what, graph, part);
    g_ptr_array_add(job->files, path);
    return path;
}

static void job_clear(PlanJob *job)
{
    for (guint i = 0; i < job->files->len; i++)
        unlink(job->files->pdata[i]);
    g_ptr_array_unref(job->files);
    g_free(job->model_path);
    g_free(job->model_digest);
    json_decref(job->verification);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(PlanJob, job_clear)

/* @nodes: [graph->n_nodes] NULL: it is a whole graph */
static gboolean write_inputs(const IfmGraph *graph, const gint64 *nodes, const char *path, GError **error)
{
    const char *names[] = { "edge_index", "nodes" };
    IfmTensor tensors[2];
    gboolean wrapped =
        ifm_tensor_wrap(&tensors[0], IFM_DTYPE_I64, 2, (gint64[]){ 2, graph->n_edges }, graph->edge_index, error);
    if (wrapped && nodes != NULL)
        wrapped = ifm_tensor_wrap(&tensors[1], IFM_DTYPE_I64, 1, &graph->n_nodes, (void *)nodes, error);
    return wrapped && ifm_tensor_file_save_temporary(path, names, tensors, nodes != NULL ? 2 : 1, error);
}

static gboolean make_reference_model(PlanJob *job, GError **error)
{
    const IfmPlanCase *plan_case = &job->checked->plan_case;
    const IfmPlan *plan = job->checked->plans->pdata[0];
    if (job->model_path != NULL)
        return TRUE;
    const IfmStagedModel *staged = ifm_staged_find(plan->model, error);
    g_autoptr(IfmModel) model =
        staged != NULL ? ifm_plan_whole_model(staged, &plan_case->sizes, plan_case->seed, error) : NULL;
    if (model == NULL)
        return FALSE;
    g_autofree char *path = g_strconcat(job_file(job, "model", 0, 0), ".onnx", NULL);
    g_ptr_array_add(job->files, g_strdup(path));
    const char *digest = ifm_model_digest(model, error);
    if (digest == NULL || !ifm_model_save(model, path, error))
        return FALSE;
    job->model_path = g_steal_pointer(&path);
    job->model_digest = g_strdup(digest);
    return TRUE;
}

/* The whole graph's outputs by the reference, computed once for each graph, however many parts or plans it has.
 * Returns: (transfer full) a path; NULL where there is none, or with @error */
static char *reference_of(PlanJob *job, IfmHearing *hearing, const IfmGraph *graph, const char *inputs, GError **error)
{
    const IfmPlanCase *plan_case = &job->checked->plan_case;
    if (!make_reference_model(job, error))
        return NULL;
    g_autoptr(IfmModel) model = ifm_model_open(job->model_path, error);
    g_autoptr(IfmTensorFile) file = model != NULL ? ifm_tensor_file_open(inputs, error) : NULL;
    if (file == NULL)
        return NULL;
    g_autofree char *digest = ifm_tensor_file_digest(file);
    IfmDimBinding bindings[2];
    IfmModelCase model_case = { .model_path = job->model_path,
                                .model_name = job->sealed->subject_name,
                                .device = "onnxruntime:CPU",
                                .bindings = bindings,
                                .n_bindings = ifm_plan_bindings(model, graph->n_nodes, graph->n_edges, bindings),
                                .inputs_path = inputs,
                                .dtype = IFM_DTYPE_F32,
                                .seed = plan_case->seed,
                                .protocol = IFM_PROTOCOL_INIT,
                                .verify = plan_case->verify };
    g_autoptr(IfmCase) as_case = ifm_case_new();
    ifm_record_set_text(&as_case->subject_digest, job->model_digest);
    ifm_record_set_json(&as_case->options, json_pack("{s:s}", "inputs", digest));
    json_auto_t *request = json_object();
    if (!ifm_references_add(ifm_runner_references(hearing->runner), &model_case, as_case, TRUE, hearing, request, error))
        return NULL;
    if (job->verification == NULL)
        job->verification = json_incref(json_object_get(request, "verification"));
    return g_strdup(json_string_value(json_object_get(request, "reference")));
}

static gboolean add_item(PlanJob *job, json_t *items, gsize number, gsize part, const IfmGraph *graph, gint64 n_own,
                         const gint64 *nodes, const IfmGraph *whole, const char *reference, GError **error)
{
    IfmPlanItem item = { .graph = number,
                         .nodes = graph->n_nodes,
                         .edges = graph->n_edges,
                         .n_own = n_own,
                         .whole_nodes = whole->n_nodes,
                         .inputs = job_file(job, "part", number, part),
                         .reference = (char *)reference };
    if (!write_inputs(graph, nodes, item.inputs, error))
        return FALSE;
    json_array_append_new(items, ifm_plan_item_to_json(&item));
    return TRUE;
}

static gboolean add_graph(PlanJob *job, IfmHearing *hearing, gsize number, gboolean true_outputs, json_t *items,
                          GError **error)
{
    const IfmPlanCase *plan_case = &job->checked->plan_case;
    const IfmPlanGraph *wanted = &plan_case->graphs[number];
    g_autoptr(GError) failure = NULL;
    g_autofree char *reference = NULL;
    g_autoptr(IfmGraph) graph = make_graph(wanted, error);
    if (graph == NULL)
        return FALSE;
    const char *inputs = job_file(job, "whole", number, 0);
    if (!write_inputs(graph, NULL, inputs, error))
        return FALSE;
    if (true_outputs && plan_case->verify)
    {
        reference = reference_of(job, hearing, graph, inputs, &failure);
        if (failure != NULL)
        {
            g_propagate_error(error, g_steal_pointer(&failure));
            return FALSE;
        }
    }
    if (wanted->parts <= 1)
        return add_item(job, items, number, 0, graph, graph->n_nodes, NULL, graph, reference, error);
    g_autoptr(GPtrArray) parts = ifm_graph_partition(graph, wanted->parts, wanted->seed, error);
    for (guint p = 0; parts != NULL && p < parts->len; p++)
    {
        const IfmSubgraph *part = parts->pdata[p];
        if (!add_item(job, items, number, p, part->graph, part->n_own, part->nodes, graph, reference, error))
            return FALSE;
    }
    return parts != NULL;
}

/* --- measuring ----------------------------------------------------------------------------------------------------- */

static gboolean has_word(const json_t *words, const char *wanted)
{
    gsize i;
    json_t *word;
    json_array_foreach(words, i, word) if (g_strcmp0(json_string_value(word), wanted) == 0) return TRUE;
    return FALSE;
}

/* Asks for all devices, in the worker that will use them: also whether every one of them computes the model. One that the
 * plan could do without may be missing. */
static gboolean find_devices(const PlanJob *job, IfmHearing *hearing, gboolean *true_outputs, GError **error)
{
    IfmWorkerWatch watch = ifm_hearing_watch(hearing);
    *true_outputs = TRUE;
    const GPtrArray *devices = job->checked->devices, *others = job->checked->others;
    for (guint i = 0; i < devices->len + others->len; i++)
    {
        gboolean needed = i < devices->len;
        const IfmDeviceSpec *spec = needed ? devices->pdata[i] : others->pdata[i - devices->len];
        json_auto_t *found =
            ifm_runner_ask(hearing->runner, job->worker, json_pack("{s:s,s:s}", "do", "find", "device", spec->text), &watch,
                           needed ? error : NULL);
        if (found == NULL && needed)
            return FALSE;
        if (found == NULL)
            continue;
        const char *word = ifm_capability_name(IFM_CAN_TRUE_OUTPUTS);
        *true_outputs &= has_word(json_object_get(found, "capabilities"), word);
    }
    return TRUE;
}

/* Why outputs are compared with nothing; NULL where they are. */
static json_t *why_not_verified(const PlanJob *job, gboolean true_outputs)
{
    if (!true_outputs)
        return json_pack("{s:s,s:s}", "status", "not-applicable", "why",
                         "simulated: not every device of the plan computes true outputs");
    if (!job->checked->plan_case.verify)
        return json_pack("{s:s,s:s}", "status", "not-asked", "why", "verification was switched off");
    return json_incref(job->verification);
}

/* A device that is not here was not tried; NULL where it is another trouble. */
static IfmMeasurement *skipped(GError *failure /* (transfer full) */, GError **error)
{
    if (!g_error_matches(failure, IFM_ERROR, IFM_ERROR_UNAVAILABLE))
    {
        g_propagate_error(error, failure);
        return NULL;
    }
    IfmMeasurement *measurement = ifm_measurement_new();
    ifm_measurement_fail(measurement, IFM_OUTCOME_SKIPPED, failure);
    g_error_free(failure);
    return measurement;
}

static IfmMeasurement *measure_plan(IfmHearing *hearing, void *user, GError **error)
{
    PlanJob *job = user;
    const IfmPlanCase *plan_case = &job->checked->plan_case;
    gboolean true_outputs;
    GError *failure = NULL;
    if (!find_devices(job, hearing, &true_outputs, &failure))
        return skipped(failure, error);
    json_auto_t *items = json_array();
    for (gsize i = 0; i < plan_case->n_graphs; i++)
        if (!add_graph(job, hearing, i, true_outputs, items, error))
            return NULL;
    json_t *request = json_pack("{s:s,s:o,s:o?}", "do", "plan", "case",
                                ifm_plan_task_to_json(plan_case, json_incref(items), true_outputs), "verification",
                                why_not_verified(job, true_outputs));
    IfmWorkerWatch watch = ifm_hearing_watch(hearing);
    json_auto_t *answer = ifm_runner_ask(hearing->runner, job->worker, request, &watch, error);
    return answer != NULL ? ifm_measurement_from_json(json_object_get(answer, "measurement"), error) : NULL;
}

/* What was predicted stands beside what came of it, also where that is a failure. */
static void keep_prediction(IfmMeasurement *measurement, const json_t *prediction)
{
    if (measurement->surroundings == NULL)
        measurement->surroundings = json_object();
    json_t *plan = json_object_get(measurement->surroundings, "plan");
    if (plan == NULL)
    {
        plan = json_object();
        json_object_set_new(measurement->surroundings, "plan", plan);
    }
    json_object_set_new(plan, "prediction", prediction != NULL ? json_deep_copy(prediction) : json_null());
}

/* A run may have gone on without a device: it is as lost as one whose loss ended a run. */
static void remember_lost(IfmRunner *runner, const IfmMeasurement *measurement)
{
    gsize i;
    json_t *device;
    if (measurement->outcome == IFM_OUTCOME_OK)
        json_array_foreach(json_object_get(measurement->surroundings, "lost_devices"), i, device)
            ifm_runner_set_lost(runner, json_string_value(device), "a plan's run went on without it");
}

static char *absolute(const char *path)
{
    return path != NULL ? g_canonicalize_filename(path, NULL) : NULL;
}

IfmMeasurement *ifm_runner_measure_plan(IfmRunner *runner, const IfmPlanCase *plan_case, const IfmCase *sealed,
                                        GError **error)
{
    g_auto(Checked) checked = { 0 };
    if (!check_case(&checked, plan_case, error))
        return NULL;
    const char *folder = ifm_runner_folder(runner, error);
    if (folder == NULL)
        return NULL;
    g_autofree char *trace_path = absolute(plan_case->trace_path), *cache_dir = absolute(plan_case->cache_dir);
    g_autofree char *worker = worker_key(&checked);
    checked.plan_case.trace_path = trace_path;
    checked.plan_case.cache_dir = cache_dir;
    g_auto(PlanJob) plan = { .checked = &checked,
                             .sealed = sealed,
                             .worker = worker,
                             .folder = folder,
                             .files = g_ptr_array_new_with_free_func(g_free) };
    IfmRunnerJob job = { .worker = worker,
                         .devices = (const IfmDeviceSpec *const *)(void *)checked.devices->pdata,
                         .n_devices = checked.devices->len,
                         .level = 0.95,
                         .measure = measure_plan,
                         .user = &plan };
    ifm_runner_drop_sets(runner, worker);
    IfmMeasurement *measurement = ifm_runner_run(runner, &job, sealed, error);
    if (measurement != NULL)
    {
        keep_prediction(measurement, plan_case->prediction);
        remember_lost(runner, measurement);
    }
    if (measurement == NULL || measurement->outcome != IFM_OUTCOME_OK)
        ifm_runner_drop_worker(runner, worker); /* a device that never answered still has its thread there */
    return measurement;
}
