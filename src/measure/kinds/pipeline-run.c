/* A plan on a stream of batches: its inputs and references in files, and what becomes of its run. */
#include <unistd.h>

#include <base/fields.h>
#include <store/store.h>
#include <zoo/zoo.h>

#include "plan-case-private.h"

/* --- inputs and references, in files ------------------------------------------------------------------------------- */

typedef struct
{
    IfmPlanChecked checked;
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
    char *path = g_strdup_printf("%s/plan-%s-%" G_GSIZE_FORMAT "-%" G_GSIZE_FORMAT, job->folder, what, graph, part);
    g_ptr_array_add(job->files, path);
    return path;
}

static void job_free(PlanJob *job)
{
    for (guint i = 0; i < job->files->len; i++)
        unlink(job->files->pdata[i]);
    ifm_plan_checked_clear(&job->checked);
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
static char *reference_of(PlanJob *job, IfmRunMonitor *monitor, const IfmGraph *graph, const char *inputs, GError **error)
{
    const IfmPlanCase *plan_case = job->checked.plan_case;
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
    if (!ifm_references_add(ifm_runner_references(monitor->runner), &model_case, as_case, TRUE, monitor, request, error))
        return NULL;
    if (job->verification == NULL)
        job->verification = json_incref(json_object_get(request, "verification"));
    return g_strdup(json_string_value(json_object_get(request, "reference")));
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
    g_autoptr(GError) failure = NULL;
    char *reference = NULL;
    g_autoptr(IfmGraph) graph = ifm_plan_graph_make(wanted, error);
    if (graph == NULL)
        return FALSE;
    const char *inputs = job_file(job, "whole", number, 0);
    if (!write_inputs(graph, NULL, inputs, error))
        return FALSE;
    if (true_outputs && plan_case->verify)
    {
        reference = reference_of(job, monitor, graph, inputs, &failure);
        if (failure != NULL)
        {
            g_propagate_error(error, g_steal_pointer(&failure));
            return FALSE;
        }
        if (reference != NULL)
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

/* A device that is not here was not tried. FALSE, with another trouble in @error. */
static gboolean skip(GError *failure /* (transfer full) */, IfmMeasurement **skipped, GError **error)
{
    if (!g_error_matches(failure, IFM_ERROR, IFM_ERROR_UNAVAILABLE))
    {
        g_propagate_error(error, failure);
        return FALSE;
    }
    *skipped = ifm_measurement_new();
    ifm_measurement_fail(*skipped, IFM_OUTCOME_SKIPPED, failure);
    g_error_free(failure);
    return FALSE;
}

static gboolean ask(IfmRunMonitor *monitor, const void *spec, const IfmCase *sealed, IfmKindPlace *place, json_t *request,
                    IfmMeasurement **skipped, GError **error)
{
    PlanJob *job = place->job;
    const IfmPlanCase *plan_case = spec;
    IfmPlanTask made = { 0 };
    GError *failure = NULL;
    if (!find_devices(job, monitor, &made.true_outputs, &failure))
        return skip(failure, skipped, error);
    for (gsize i = 0; i < plan_case->n_graphs; i++)
        if (!add_graph(job, monitor, i, made.true_outputs, error))
            return FALSE;
    made.items = (const IfmPlanItem *)(const void *)job->items->data;
    made.n_items = job->items->len;
    json_object_set_new(request, "made", ifm_record_to_json(&made, ifm_plan_task_fields));
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
    if (!ifm_plan_checked_init(&job->checked, plan_case, error))
    {
        job_free(job);
        return FALSE;
    }
    plan_case->trace_path = ifm_kind_place_path(place, plan_case->trace_path);
    plan_case->cache_dir = ifm_kind_place_path(place, plan_case->cache_dir);
    place->worker = ifm_plan_checked_worker(&job->checked);
    for (guint i = 0; i < job->checked.devices->len; i++)
        ifm_kind_place_add(place, ((const IfmDeviceSpec *)job->checked.devices->pdata[i])->text, NULL);
    place->is_set = TRUE;
    place->job = job;
    job->worker = place->worker;
    return TRUE;
}

/* What was predicted is stored with what came of it, also where that is a failure. */
static void keep_prediction(IfmMeasurement *measurement, const json_t *prediction)
{
    if (measurement->result == NULL)
        measurement->result = json_object();
    json_object_set_new(measurement->result, "prediction", prediction != NULL ? json_deep_copy(prediction) : json_null());
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
        keep_prediction(measurement, plan_case->prediction);
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
                                        .fields = ifm_plan_fields,
                                        .complete = ifm_plan_complete,
                                        .seal = ifm_plan_seal,
                                        .in_worker = &in_worker };
