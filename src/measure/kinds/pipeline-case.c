/* A plan on a stream of batches, in the program: what describes a case of it, checked; its record; its inputs and
 * references in files; and what becomes of its run. */
#include <unistd.h>

#include <base/fields.h>
#include <staged/staged.h>
#include <store/store.h>

#include "pipeline-kind.h"

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

static const IfmRecordField fields[] = {
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

gboolean ifm_device_time_parse(const char *word, IfmDeviceTime *device_time, GError **error)
{
    static const char *const words[] = {
        [IFM_DEVICE_TIME_OFF] = "off", [IFM_DEVICE_TIME_ON] = "on", [IFM_DEVICE_TIME_SAMPLED] = "sampled"
    };
    for (*device_time = 0; *device_time < G_N_ELEMENTS(words); ++*device_time)
        if (g_strcmp0(word, words[*device_time]) == 0)
            return TRUE;
    return ifm_error_refuse(error, "device time: found \"%s\", expected on, off or sampled", word != NULL ? word : "");
}

IfmProtocol ifm_kind_plan_protocol(const IfmPlanCase *plan_case)
{
    gsize min = plan_case->min_repetitions > 0 ? plan_case->min_repetitions : MIN_REPETITIONS;
    if (!(plan_case->ci_ratio > 0))
        return (IfmProtocol){ .warmup = 1, .runs = plan_case->repetitions, .level = LEVEL };
    return (IfmProtocol){ .warmup = 1,
                          .ci_ratio = plan_case->ci_ratio,
                          .level = LEVEL,
                          .min_runs = MIN(min, plan_case->repetitions),
                          .max_runs = plan_case->repetitions,
                          .time_budget_ns = plan_case->time_budget_ns };
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

static gboolean complete(void *spec, GError **error)
{
    IfmPlanCase *plan_case = spec;
    IfmDeviceTime device_time;
    fill_defaults(plan_case);
    gint64 repetitions = (gint64)MIN(plan_case->repetitions, G_MAXINT),
           all = repetitions * (gint64)MIN(plan_case->n_batches, G_MAXINT);
    if (plan_case->n_graphs < 1)
        return ifm_error_refuse(error, "plan: graphs: found 0, expected 1 to %d", G_MAXINT);
    if (!ifm_record_check(plan_case, fields, "plan", error))
        return FALSE;
    if (all > IFM_PROTOCOL_MAX_RUNS)
        return ifm_error_refuse(error, "plan: repetitions x batches: found %" G_GINT64_FORMAT ", expected 2 to %d", all,
                                IFM_PROTOCOL_MAX_RUNS);
    if (plan_case->min_repetitions > plan_case->repetitions)
        return ifm_error_refuse(error, "plan: repetitions at least: found %zu, expected 0 to %" G_GINT64_FORMAT,
                                plan_case->min_repetitions, repetitions);
    if (!(plan_case->ci_ratio >= 0 && plan_case->ci_ratio <= 1))
        return ifm_error_refuse(error, "plan: interval: found %g, expected 0 to 1 of the makespan", plan_case->ci_ratio);
    return ifm_device_time_parse(plan_case->device_time, &device_time, error);
}

/* --- its plans and devices ---------------------------------------------------------------------------------------- */

/* What a plan case says, read. */
typedef struct
{
    const IfmPlanCase *plan_case; /* completed */
    GPtrArray *plans;             /* IfmPlan*, one a graph */
    GPtrArray *devices;           /* IfmDeviceSpec*, of the plans' blocks, in the order they come */
    GPtrArray *aliases;           /* char*, of those */
    GPtrArray *others;            /* IfmDeviceSpec*, that only a fallback or a bound may use */
} Checked;

static void checked_clear(Checked *self)
{
    g_clear_pointer(&self->plans, g_ptr_array_unref);
    g_clear_pointer(&self->devices, g_ptr_array_unref);
    g_clear_pointer(&self->aliases, g_ptr_array_unref);
    g_clear_pointer(&self->others, g_ptr_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Checked, checked_clear)

static gboolean add_device(Checked *self, const IfmPlanDevice *device, GError **error)
{
    if (device->device == NULL)
        return ifm_error_refuse(
            error, "plan: %s: no device is named behind it; \"devices\": {\"%s\": {\"device\": …}} is expected",
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
                error, "plan: fallbacks: the plans of graphs 1 and %u list other devices: one list is expected", i + 1);
    }
    return TRUE;
}

static gboolean same_text(gconstpointer a, gconstpointer b)
{
    return g_str_equal(((const IfmDeviceSpec *)a)->text, ((const IfmDeviceSpec *)b)->text);
}

/* What a plan lists and does not use: a run may go on with it, and a bound counts it. */
static gboolean add_others(Checked *self, GError **error)
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

static gboolean read_plan(Checked *self, gsize graph, GError **error)
{
    g_autofree char *name =
        self->plan_case->n_graphs > 1 ? g_strdup_printf("plan of graph %zu", graph + 1) : g_strdup("plan");
    g_autoptr(IfmPlan) plan = ifm_plan_from_json(self->plan_case->plans[graph], name, error);
    if (plan == NULL)
        return FALSE;
    const IfmPlan *first = self->plans->len > 0 ? self->plans->pdata[0] : plan;
    if (plan->model == NULL)
        return ifm_error_refuse(error, "%s: names no model; \"model\": \"graphsage\" is expected", name);
    if (!g_str_equal(plan->model, first->model))
        return ifm_error_refuse(error, "%s: is one of model %s, the first of %s", name, plan->model, first->model);
    if (!add_block_devices(self, plan, error))
        return FALSE;
    g_ptr_array_add(self->plans, g_steal_pointer(&plan));
    return TRUE;
}

static gboolean checked_init(Checked *self, const IfmPlanCase *plan_case, GError **error)
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
        ifm_error_refuse(error, "plan: a graph without a kind; \"uniform\", \"power-law\" or a path is expected");
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
    const gboolean is_file = kind_of(graph) < 0;
    g_autoptr(IfmGraph) read = is_file ? make_graph(graph, error) : NULL;
    g_autofree char *digest = read != NULL ? digest_of(read) : NULL;
    if (is_file && read == NULL)
        return NULL;
    const gint64 n_nodes = is_file ? read->n_nodes : graph->nodes, n_edges = is_file ? read->n_edges : graph->edges;
    json_t *json = json_pack("{s:s,s:o,s:I,s:I}", "kind", is_file ? "file" : graph->kind, is_file ? "digest" : "seed",
                             is_file ? json_string(digest) : json_integer(graph->seed), "nodes", (json_int_t)n_nodes,
                             "edges", (json_int_t)n_edges);
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
static void add_options(const Checked *self, json_t *graphs /* (transfer full) */, json_t *options)
{
    IfmProtocol protocol = ifm_kind_plan_protocol(self->plan_case);
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
static gboolean add_engines(IfmRunner *runner, const Checked *self, json_t *environment, GError **error)
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
            return FALSE;
        g_string_append_printf(names, "%s%s", names->len > 0 ? "+" : "", spec->engine);
        g_string_append_printf(versions, "%s%s", versions->len > 0 ? "+" : "", ifm_member_text(facts, "version"));
    }
    json_object_set_new(environment, "engine", json_string(names->str));
    json_object_set_new(environment, "engine_version", json_string(versions->str));
    return TRUE;
}

static gboolean seal(IfmRunner *runner, const void *spec, const json_t *facts, IfmCase *record, GError **error)
{
    g_auto(Checked) checked = { 0 };
    const IfmPlanCase *plan_case = spec;
    gint64 nodes = 0, edges = 0;
    if (!checked_init(&checked, plan_case, error) || !add_engines(runner, &checked, record->environment, error))
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

/* --- inputs and references, in files ------------------------------------------------------------------------------- */

typedef struct
{
    Checked checked;
    const IfmCase *sealed;
    const char *worker, *folder;
    GPtrArray *files;      /* char*: what goes when it has run */
    GPtrArray *references; /* char* */
    GArray *items;         /* IfmPlanItem */
    char *model_path;      /* of the reference's model; NULL: none made yet */
    char *model_digest;
    json_t *verification; /* why some output is compared with nothing, or NULL */
} PlanJob;

static char *job_file(PlanJob *job, const char *what, gsize graph, gsize part)
{
    char *path = g_strdup_printf("%s/plan-%s-%zu-%zu", job->folder, what, graph, part);
    g_ptr_array_add(job->files, path);
    return path;
}

static void job_free(PlanJob *job)
{
    for (guint i = 0; i < job->files->len; i++)
        unlink(job->files->pdata[i]);
    checked_clear(&job->checked);
    g_ptr_array_unref(job->files);
    g_ptr_array_unref(job->references);
    g_array_unref(job->items);
    g_free(job->model_path);
    g_free(job->model_digest);
    json_decref(job->verification);
    g_free(job);
}

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
    const IfmPlanCase *plan_case = job->checked.plan_case;
    const IfmPlan *plan = job->checked.plans->pdata[0];
    if (job->model_path != NULL)
        return TRUE;
    const IfmStagedModel *staged = ifm_staged_find(plan->model, error);
    g_autoptr(IfmModel) model =
        staged != NULL ? ifm_kind_plan_whole_model(staged, &plan_case->sizes, plan_case->seed, error) : NULL;
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
 * @reference: (out) (transfer full) a path; NULL where there is none */
static gboolean find_reference(PlanJob *job, IfmRunMonitor *monitor, const IfmGraph *graph, const char *inputs,
                               char **reference, GError **error)
{
    const IfmPlanCase *plan_case = job->checked.plan_case;
    g_autoptr(IfmModel) model = make_reference_model(job, error) ? ifm_model_open(job->model_path, error) : NULL;
    g_autoptr(IfmTensorFile) file = model != NULL ? ifm_tensor_file_open(inputs, error) : NULL;
    if (file == NULL)
        return FALSE;
    g_autofree char *digest = ifm_tensor_file_digest(file);
    IfmDimBinding bindings[2];
    IfmModelCase model_case = { .model_path = job->model_path,
                                .model_name = job->sealed->subject_name,
                                .device = "onnxruntime:CPU",
                                .bindings = bindings,
                                .n_bindings = ifm_kind_plan_bindings(model, graph->n_nodes, graph->n_edges, bindings),
                                .inputs_path = inputs,
                                .dtype = IFM_DTYPE_F32,
                                .seed = plan_case->seed,
                                .protocol = IFM_PROTOCOL_INIT,
                                .verify = plan_case->verify };
    g_autoptr(IfmCase) as_case = ifm_case_new();
    ifm_record_set_text(&as_case->subject_digest, job->model_digest);
    ifm_record_set_json(&as_case->options, json_pack("{s:s}", "inputs", digest));
    json_auto_t *request = json_object();
    if (!ifm_references_add(&model_case, as_case, TRUE, monitor, request, error))
        return FALSE;
    if (job->verification == NULL)
        job->verification = json_incref(json_object_get(request, "verification"));
    *reference = g_strdup(ifm_member_text(request, "reference"));
    return TRUE;
}

static gboolean add_item(PlanJob *job, gsize number, gsize part, const IfmGraph *graph, gint64 n_own, const gint64 *nodes,
                         const IfmGraph *whole, const char *reference, GError **error)
{
    IfmPlanItem item = { .graph = (gint64)number,
                         .nodes = graph->n_nodes,
                         .edges = graph->n_edges,
                         .n_own = n_own,
                         .whole_nodes = whole->n_nodes,
                         .inputs = job_file(job, "part", number, part),
                         .reference = reference };
    if (!write_inputs(graph, nodes, item.inputs, error))
        return FALSE;
    g_array_append_val(job->items, item);
    return TRUE;
}

static gboolean add_graph(PlanJob *job, IfmRunMonitor *monitor, gsize number, gboolean true_outputs, GError **error)
{
    const IfmPlanCase *plan_case = job->checked.plan_case;
    const IfmPlanGraph *wanted = &plan_case->graphs[number];
    char *reference = NULL;
    g_autoptr(IfmGraph) graph = make_graph(wanted, error);
    if (graph == NULL)
        return FALSE;
    const char *inputs = job_file(job, "whole", number, 0);
    if (!write_inputs(graph, NULL, inputs, error))
        return FALSE;
    if (true_outputs && plan_case->verify)
    {
        if (!find_reference(job, monitor, graph, inputs, &reference, error))
            return FALSE;
        g_ptr_array_add(job->references, reference);
    }
    if (wanted->parts <= 1)
        return add_item(job, number, 0, graph, graph->n_nodes, NULL, graph, reference, error);
    g_autoptr(GPtrArray) parts = ifm_graph_partition(graph, wanted->parts, wanted->seed, error);
    for (guint p = 0; parts != NULL && p < parts->len; p++)
    {
        const IfmSubgraph *part = parts->pdata[p];
        if (!add_item(job, number, p, part->graph, part->n_own, part->nodes, graph, reference, error))
            return FALSE;
    }
    return parts != NULL;
}

/* --- measuring ----------------------------------------------------------------------------------------------------- */

/* Asks for all devices, in the worker that will use them: also whether every one of them computes the model. One that the
 * plan could do without may be missing. */
static gboolean find_devices(const PlanJob *job, IfmRunMonitor *monitor, gboolean *true_outputs, GError **error)
{
    IfmWorkerWatch watch = ifm_run_monitor_watch(monitor);
    *true_outputs = TRUE;
    const GPtrArray *devices = job->checked.devices, *others = job->checked.others;
    for (guint i = 0; i < devices->len + others->len; i++)
    {
        gboolean needed = i < devices->len;
        const IfmDeviceSpec *spec = needed ? devices->pdata[i] : others->pdata[i - devices->len];
        json_auto_t *found =
            ifm_runner_ask(monitor->runner, job->worker, json_pack("{s:s,s:s}", "do", "find", "device", spec->text), &watch,
                           needed ? error : NULL);
        if (found == NULL && needed)
            return FALSE;
        if (found == NULL)
            continue;
        const char *word = ifm_capability_name(IFM_CAN_TRUE_OUTPUTS);
        *true_outputs &= ifm_is_among(json_object_get(found, "capabilities"), word);
    }
    return TRUE;
}

/* Why outputs are compared with nothing; NULL where they are. */
static json_t *why_not_verified(const PlanJob *job, gboolean true_outputs)
{
    if (!true_outputs)
        return json_pack("{s:s,s:s}", "status", "not-applicable", "why",
                         "simulated: not every device of the plan computes true outputs");
    if (!job->checked.plan_case->verify)
        return json_pack("{s:s,s:s}", "status", "not-asked", "why", "verification was switched off");
    return json_incref(job->verification);
}

static gboolean ask(IfmRunMonitor *monitor, const void *spec, const IfmCase *sealed, IfmKindPlace *place, json_t *request,
                    IfmMeasurement **skipped, GError **error)
{
    PlanJob *job = place->job;
    const IfmPlanCase *plan_case = spec;
    IfmPlanMade made = { 0 };
    g_autoptr(GError) failure = NULL;
    if (!find_devices(job, monitor, &made.true_outputs, &failure))
    {
        if (!g_error_matches(failure, IFM_ERROR, IFM_ERROR_UNAVAILABLE))
            return ifm_error_pass(error, g_steal_pointer(&failure));
        *skipped = ifm_measurement_failed(IFM_OUTCOME_SKIPPED, failure); /* a device that is not here was not tried */
        return FALSE;
    }
    for (gsize i = 0; i < plan_case->n_graphs; i++)
        if (!add_graph(job, monitor, i, made.true_outputs, error))
            return FALSE;
    made.items = (const IfmPlanItem *)(const void *)job->items->data;
    made.n_items = job->items->len;
    json_object_set_new(request, "made", ifm_record_to_json(&made, ifm_kind_plan_made_fields));
    json_t *why = why_not_verified(job, made.true_outputs);
    if (why != NULL)
        json_object_set_new(request, "verification", why);
    return TRUE;
}

/* --- where it runs, and what becomes of it ------------------------------------------------------------------------ */

static gboolean place(IfmRunner *runner, void *spec, const IfmCase *sealed, IfmKindPlace *place, GError **error)
{
    IfmPlanCase *plan_case = spec;
    const char *folder = ifm_runner_folder(runner, error);
    if (folder == NULL)
        return FALSE;
    PlanJob *job = g_new0(PlanJob, 1);
    job->sealed = sealed;
    job->folder = folder;
    job->files = g_ptr_array_new_with_free_func(g_free);
    job->references = g_ptr_array_new_with_free_func(g_free);
    job->items = g_array_new(FALSE, FALSE, sizeof(IfmPlanItem));
    if (!checked_init(&job->checked, plan_case, error))
    {
        job_free(job);
        return FALSE;
    }
    plan_case->trace_path = ifm_kind_place_path(place, plan_case->trace_path);
    plan_case->cache_dir = ifm_kind_place_path(place, plan_case->cache_dir);
    place->worker = worker_key(&job->checked);
    for (guint i = 0; i < job->checked.devices->len; i++)
        ifm_kind_place_add(place, ((const IfmDeviceSpec *)job->checked.devices->pdata[i])->text, NULL);
    place->is_set = TRUE;
    place->job = job;
    job->worker = place->worker;
    return TRUE;
}

/* A run may have gone on without a device: it is as lost as one whose loss ended a run. */
static void remember_lost(IfmRunner *runner, const IfmMeasurement *measurement)
{
    gsize i;
    json_t *device;
    if (measurement->outcome == IFM_OUTCOME_OK)
        json_array_foreach(json_object_get(measurement->environment, "lost_devices"), i, device)
            ifm_runner_set_lost(runner, json_string_value(device), "a plan's run went on without it");
}

static void finish(IfmRunner *runner, const void *spec, IfmKindPlace *place, IfmMeasurement *measurement)
{
    const IfmPlanCase *plan_case = spec;
    if (measurement != NULL)
    {
        /* what was predicted is stored with what came of it, also where that is a failure */
        const json_t *prediction = plan_case->prediction;
        if (measurement->result == NULL)
            measurement->result = json_object();
        json_object_set_new(measurement->result, "prediction",
                            prediction != NULL ? json_deep_copy(prediction) : json_null());
        remember_lost(runner, measurement);
    }
    if (measurement == NULL || measurement->outcome != IFM_OUTCOME_OK)
        ifm_runner_drop_worker(runner, place->worker); /* a device that never answered still has its thread there */
    job_free(place->job);
}

static const IfmKindInWorker in_worker = { .place = place,
                                           .ask = ask,
                                           .finish = finish,
                                           .prepare = worker_pipeline_prepare,
                                           .run = worker_pipeline_run,
                                           .drop = worker_pipeline_drop,
                                           .subject = worker_pipeline_subject,
                                           .still_there = worker_pipeline_still_there };

const IfmCaseKind ifm_kind_pipeline = { .name = "plan",
                                        .size = sizeof(IfmPlanCase),
                                        .fields = fields,
                                        .complete = complete,
                                        .seal = seal,
                                        .in_worker = &in_worker };
