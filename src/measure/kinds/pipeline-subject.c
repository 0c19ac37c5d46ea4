/* A plan on a stream of batches, in the worker: its batches and what must come out of them, its pipelines, and what is
 * reported of them. */
#include <math.h>
#include <string.h>

#include <base/fields.h>
#include <staged/staged.h>
#include <trace/trace.h>

#include "pipeline-kind.h"

/* --- inputs -------------------------------------------------------------------------------------------------------- */

gsize ifm_kind_plan_bindings(const IfmModel *model, gint64 nodes, gint64 edges, IfmDimBinding *bindings)
{
    const IfmDimBinding sizes[] = { { "nodes", nodes }, { "edges", edges } };
    return ifm_free_bindings(model, sizes, G_N_ELEMENTS(sizes), bindings);
}

IfmModel *ifm_kind_plan_whole_model(const IfmStagedModel *staged, const IfmStageSizes *sizes, guint32 seed, GError **error)
{
    IfmStageSizes width = { .features = sizes->features, .hidden = sizes->hidden };
    return ifm_staged_build(staged, 1, (int)staged->n_stages, &width, ifm_scatter_for("onnxruntime"), seed, error);
}

static gssize find_port(const IfmModel *model, const char *name)
{
    for (gsize i = 0; i < ifm_model_n_inputs(model); i++)
        if (g_str_equal(ifm_model_input(model, i)->name, name))
            return (gssize)i;
    return -1;
}

static gboolean no_such_tensor(const char *path, const char *name, GError **error)
{
    return ifm_error_refuse(error, "%s: no tensor \"%s\" of the right shape", path, name);
}

static gboolean nodes_fit(const IfmTensor *nodes, const IfmPlanItem *item)
{
    if (nodes == NULL || nodes->dtype != IFM_DTYPE_I64 || nodes->rank != 1 || nodes->shape[0] != item->nodes)
        return FALSE;
    const gint64 *numbers = nodes->data;
    for (gint64 i = 0; i < item->nodes; i++)
        if (numbers[i] < 0 || numbers[i] >= item->whole_nodes)
            return FALSE;
    return TRUE;
}

/* The inputs of the whole graph, seeded as a model's own are, so that the reference is computed from the same. @edges: of
 * the item itself */
static gboolean make_whole(const WorkerPlan *self, const IfmModel *model, const WorkerEntry *entry, IfmTensor *made,
                           GError **error)
{
    IfmDimBinding bindings[2];
    gsize n = ifm_kind_plan_bindings(model, entry->item->whole_nodes, entry->item->edges, bindings);
    if (!self->made.true_outputs) /* they are not compared */
        return ifm_model_reserve_inputs(model, bindings, n, made, error);
    return ifm_model_make_inputs(model, bindings, n, self->plan_case->seed, made, error);
}

/* One input of an item, out of what was made for its whole graph. */
static gboolean take_input(const WorkerEntry *entry, const IfmTensorFile *file, const IfmBoundary *boundary,
                           IfmTensor *made, IfmTensor *input, GError **error)
{
    const IfmTensor *found = ifm_tensor_file_find(file, boundary->name), *nodes = ifm_tensor_file_find(file, "nodes");
    if (nodes != NULL && g_str_equal(boundary->dims[0], "nodes") &&
        found == NULL) /* a part's own features are rows of its graph's */
        return ifm_take_rows(made, nodes->data, nodes->shape[0], input, error);
    *input = *made;
    *made = IFM_TENSOR_INIT;
    if (found == NULL)
        return TRUE;
    if (found->dtype != input->dtype || !ifm_tensor_same_shape(found, input))
        return no_such_tensor(entry->item->inputs, boundary->name, error);
    if (found->size_bytes > 0) /* into memory like that of the others: pages of a mapped file are not an application's */
        memcpy(input->data, found->data, found->size_bytes);
    return TRUE;
}

static gboolean make_inputs(WorkerPlan *self, const IfmModel *model, WorkerEntry *entry, GError **error)
{
    const IfmPlanItem *item = entry->item;
    gsize n_ports = ifm_model_n_inputs(model);
    g_autoptr(IfmTensorFile) file = ifm_tensor_file_open(item->inputs, error);
    if (file == NULL)
        return FALSE;
    const IfmTensor *nodes = ifm_tensor_file_find(file, "nodes");
    if (item->n_own < item->nodes || item->whole_nodes != item->nodes || nodes != NULL)
        if (!nodes_fit(nodes, item))
            return no_such_tensor(item->inputs, "nodes", error);
    g_autofree IfmTensor *made = g_new0(IfmTensor, n_ports);
    gboolean whole = make_whole(self, model, entry, made, error);
    for (guint i = 0; whole && i < self->inputs->len; i++)
    {
        const IfmBoundary *boundary = self->inputs->pdata[i];
        gssize port = find_port(model, boundary->name);
        whole = port >= 0 ? take_input(entry, file, boundary, &made[port], &entry->inputs[i], error)
                          : no_such_tensor(item->inputs, boundary->name, error);
    }
    for (gsize i = 0; i < n_ports; i++)
        ifm_tensor_clear(&made[i]);
    return whole;
}

/* --- references ---------------------------------------------------------------------------------------------------- */

static gboolean open_reference(WorkerPlan *self, WorkerEntry *entry, GError **error)
{
    const IfmPlanItem *item = entry->item;
    if (item->reference == NULL)
        return TRUE;
    self->compared = TRUE;
    entry->reference = ifm_reference_open(item->reference, error);
    g_autoptr(IfmTensorFile) file = entry->reference != NULL ? ifm_tensor_file_open(item->inputs, error) : NULL;
    const IfmTensor *nodes = file != NULL ? ifm_tensor_file_find(file, "nodes") : NULL;
    if (file == NULL || nodes == NULL)
        return file != NULL;
    g_autoptr(IfmReference) whole = g_steal_pointer(&entry->reference);
    entry->reference = ifm_reference_rows(whole, nodes->data, item->n_own, error);
    return entry->reference != NULL;
}

/* Each graph's plan its own: where it differs from others in its ratios alone, they go with the batch. */
static double *ratios_of(const IfmPlan *plan)
{
    GArray *ratios = g_array_new(FALSE, FALSE, sizeof(double));
    for (guint i = 0; i < plan->blocks->len; i++)
    {
        const IfmPlanBlock *block = &g_array_index(plan->blocks, IfmPlanBlock, i);
        g_array_append_vals(ratios, block->ratios, (guint)block->n_devices);
    }
    return (double *)(void *)g_array_free(ratios, FALSE);
}

static gboolean make_entries(WorkerPlan *self, GError **error)
{
    g_autoptr(IfmModel) model =
        ifm_kind_plan_whole_model(self->staged, &self->plan_case->sizes, self->plan_case->seed, error);
    if (model == NULL)
        return FALSE;
    for (guint i = 0; i < self->made.n_items; i++)
    {
        WorkerEntry *entry = &self->entries[i];
        entry->item = &self->made.items[i];
        entry->inputs = g_new0(IfmTensor, self->inputs->len + 1);
        entry->ratios = ratios_of(self->plans->pdata[entry->item->graph]);
        if (!make_inputs(self, model, entry, error) || !open_reference(self, entry, error))
            return FALSE;
    }
    return TRUE;
}

void worker_plan_batch(const WorkerPlan *self, gsize index, IfmBatch *batch)
{
    gsize number = index % self->made.n_items;
    const WorkerEntry *entry = &self->entries[number];
    *batch = (IfmBatch){ .id = (gint64)index,
                         .nodes = entry->item->nodes,
                         .edges = entry->item->edges,
                         .n_own = entry->item->n_own < entry->item->nodes ? entry->item->n_own : 0,
                         .inputs = entry->inputs,
                         .ratios = entry->ratios,
                         .user = GSIZE_TO_POINTER(number) };
}

/* --- verifying ----------------------------------------------------------------------------------------------------- */

static gboolean verify_output(WorkerPlan *self, const WorkerEntry *entry, const char *port, const IfmTensor *output,
                              gboolean timed)
{
    IfmTensor value = *output;
    if (!self->made.true_outputs)
        value = ifm_tensor_head(&value, IFM_UNTRUE_OUTPUT_BYTES);
    else if (timed && entry->reference == NULL)
        return TRUE;
    else if (timed)
        return ifm_reference_check_quick(entry->reference, port, &value, IFM_DTYPE_F32, &self->tolerance, &self->verdict,
                                         &self->wrong);
    return ifm_reference_check(entry->reference, port, &value, IFM_DTYPE_F32, &self->tolerance, &self->verdict,
                               &self->wrong);
}

void worker_plan_verify(WorkerPlan *self, const IfmBatch *batch, const IfmTensor *outputs, const char *devices,
                        gboolean timed)
{
    const WorkerEntry *entry = &self->entries[GPOINTER_TO_SIZE(batch->user)];
    for (guint i = 0; i < self->outputs->len && self->wrong == NULL; i++)
    {
        const IfmBoundary *boundary = self->outputs->pdata[i];
        if (!verify_output(self, entry, boundary->name, &outputs[i], timed))
            g_prefix_error(&self->wrong, "batch %" G_GINT64_FORMAT ", handed out by %s: ", batch->id, devices);
    }
}

/* --- devices and groups -------------------------------------------------------------------------------------------------
 */

/* "CPU, GPU": those of blocks @first to the last, each once. (transfer full) */
static char *aliases_from(const IfmPlan *plan, guint first)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    for (guint b = first; b < plan->blocks->len; b++)
    {
        const IfmPlanBlock *block = &g_array_index(plan->blocks, IfmPlanBlock, b);
        for (gsize d = 0; d < block->n_devices; d++)
            g_ptr_array_add(names, ((const IfmPlanDevice *)plan->devices->pdata[block->devices[d]])->alias);
    }
    g_ptr_array_add(names, NULL);
    return g_strjoinv(", ", (char **)names->pdata);
}

WorkerSolo *worker_plan_solo(WorkerPlan *self, const char *alias)
{
    for (gsize d = 0; d < self->n_devices; d++)
        if (g_str_equal(self->solos[d].device->alias, alias))
            return &self->solos[d];
    return NULL;
}

gboolean worker_solo_has_part(const WorkerSolo *solo)
{
    return solo->pipeline != NULL && solo->why == NULL && !solo->failed;
}

gboolean worker_plan_has_bound(const WorkerPlan *self)
{
    return self->plan_case->bound && self->n_devices > 1;
}

static void group_free(gpointer data)
{
    WorkerGroup *group = data;
    ifm_pipeline_free(group->pipeline);
    ifm_pipeline_free(group->plain);
    g_free(group->no_plain);
    ifm_trace_free(group->trace);
    ifm_plan_free(group->plan);
    g_array_unref(group->batches);
    g_free(group->aliases);
    g_free(group->last);
    g_free(group->stopped);
    g_free(group);
}

static WorkerGroup *group_for(WorkerPlan *self, const IfmPlan *plan)
{
    for (guint i = 0; i < self->groups->len; i++)
    {
        WorkerGroup *group = self->groups->pdata[i];
        if (ifm_plan_same_shape(group->plan, plan))
            return group;
    }
    WorkerGroup *group = g_new0(WorkerGroup, 1);
    group->plan = ifm_plan_copy(plan);
    group->batches = g_array_new(FALSE, FALSE, sizeof(IfmBatch));
    group->run = self;
    group->aliases = aliases_from(plan, 0);
    group->last = aliases_from(plan, plan->blocks->len - 1);
    g_ptr_array_add(self->groups, group);
    return group;
}

static gboolean same_ratios(const IfmPlan *plan, const double *ratios)
{
    for (guint b = 0; b < plan->blocks->len; b++)
    {
        const IfmPlanBlock *block = &g_array_index(plan->blocks, IfmPlanBlock, b);
        for (gsize d = 0; d < block->n_devices; d++)
            if (block->ratios[d] != *ratios++)
                return FALSE;
    }
    return TRUE;
}

static void group_batches(WorkerPlan *self)
{
    for (gsize i = 0; i < self->plan_case->n_batches; i++)
    {
        IfmBatch batch;
        worker_plan_batch(self, i, &batch);
        const IfmPlanItem *item = &self->made.items[GPOINTER_TO_SIZE(batch.user)];
        WorkerGroup *group = group_for(self, self->plans->pdata[item->graph]);
        if (same_ratios(group->plan, batch.ratios))
            batch.ratios = NULL;
        g_array_append_val(group->batches, batch);
        group->most_nodes = MAX(group->most_nodes, batch.nodes);
        group->max_edges = MAX(group->max_edges, batch.edges);
    }
}

static void add_solo(WorkerPlan *self, const IfmPlanDevice *device)
{
    if (device->device != NULL && self->n_devices < IFM_PLAN_MAX_DEVICES && worker_plan_solo(self, device->alias) == NULL)
        self->solos[self->n_devices++].device = device;
}

/* Those of the plans' blocks, in the order they come; for a bound also those that the plans list and leave idle: with them
 * the best plan can be worse than what the machine makes. */
static void find_devices(WorkerPlan *self)
{
    for (guint g = 0; g < self->groups->len; g++)
    {
        const WorkerGroup *group = self->groups->pdata[g];
        for (guint b = 0; b < group->plan->blocks->len; b++)
        {
            const IfmPlanBlock *block = &g_array_index(group->plan->blocks, IfmPlanBlock, b);
            for (gsize d = 0; d < block->n_devices; d++)
                add_solo(self, group->plan->devices->pdata[block->devices[d]]);
        }
    }
    self->n_in_blocks = self->n_devices;
    for (guint g = 0; self->plan_case->bound && g < self->groups->len; g++)
    {
        const WorkerGroup *group = self->groups->pdata[g];
        for (guint i = 0; i < group->plan->devices->len; i++)
            add_solo(self, group->plan->devices->pdata[i]);
    }
}

/* --- pipelines ----------------------------------------------------------------------------------------------------------
 */

/* What the planner put down for the devices that are left, read over the plan's own list of devices. */
static IfmPlan *read_fallback(const IfmPlan *plan, const json_t *json, GError **error)
{
    json_auto_t *object = ifm_plan_to_json(plan);
    const json_t *blocks = json_is_array(json) ? json : json_object_get(json, "plan");
    json_object_set(object, "plan", (json_t *)blocks);
    g_autoptr(IfmPlan) read = ifm_plan_from_json(object, "fallback", error);
    if (read == NULL)
        return NULL;
    g_autoptr(IfmPlan) fallback = ifm_plan_copy(plan);
    g_array_set_size(fallback->blocks, 0);
    for (guint b = 0; b < read->blocks->len; b++)
    {
        IfmPlanBlock block = g_array_index(read->blocks, IfmPlanBlock, b);
        for (gsize d = 0; d < block.n_devices; d++)
            block.devices[d] =
                ifm_plan_find_device(fallback, ((const IfmPlanDevice *)read->devices->pdata[block.devices[d]])->alias);
        ifm_plan_add_block(fallback, &block);
    }
    return g_steal_pointer(&fallback);
}

/* An IfmReplan. */
static IfmPlan *look_up_fallback(const IfmPlan *plan, guint32 lost, const GError *why, void *user)
{
    WorkerGroup *group = user;
    WorkerPlan *self = group->run;
    g_autofree char *key = g_strdup_printf("%u", lost);
    const json_t *json = json_object_get(self->plan_case->fallbacks, key);
    g_autoptr(GError) error = NULL;
    IfmPlan *fallback = json != NULL && !json_is_null(json) ? read_fallback(plan, json, &error) : NULL;
    g_autofree char *text = fallback != NULL ? ifm_plan_to_text(fallback) : NULL;
    if (fallback != NULL)
    {
        g_free(group->last);
        group->last = aliases_from(fallback, fallback->blocks->len - 1);
    }
    if (fallback != NULL)
        g_ptr_array_add(self->replans, g_strdup_printf("%s; from then on: %s", why->message, text));
    else
        g_ptr_array_add(self->replans, g_strdup_printf("%s; no plan for the devices that are left%s%s", why->message,
                                                       error != NULL ? ": " : "", error != NULL ? error->message : ""));
    return fallback;
}

/* An IfmCompiling; also within a run, for a static device's next size or another plan. */
static void report_compiling(int block, const char *alias, gboolean ended, void *user)
{
    const WorkerPlan *self = user;
    g_autofree char *what = NULL;
    if (self->doing == NULL)
        what = g_strdup_printf("block %d for %s", block, alias);
    else if (!ended)
        what = g_strdup_printf("%s, compiling block %d for %s", self->doing, block, alias);
    worker_plan_report(self, what != NULL ? what : self->doing);
}

static IfmPipelineOptions options_for(WorkerPlan *self)
{
    IfmPipelineOptions options = IFM_PIPELINE_OPTIONS_INIT;
    options.clock = self->clock;
    options.queue_depth = self->plan_case->queue_depth;
    options.block_depth = self->plan_case->block_depth;
    options.watchdog_ns = self->plan_case->watchdog_ns;
    options.cache_dir = self->plan_case->cache_dir;
    options.seed = self->plan_case->seed;
    options.sizes = self->plan_case->sizes;
    options.compiling = report_compiling;
    options.compiling_user = self;
    return options;
}

/* And, where all is counted, the same without: what counting costs shows in comparison. */
static gboolean compile_group(WorkerPlan *self, WorkerGroup *group, GError **error)
{
    g_autofree char *text = ifm_plan_to_text(group->plan);
    g_autoptr(GError) failure = NULL;
    IfmPipelineOptions options = options_for(self);
    options.most_nodes = group->most_nodes;
    options.max_edges = group->max_edges;
    options.interrupted = &self->worker->interrupted;
    IfmPipelineOptions plain = options;
    options.trace = group->trace = ifm_trace_new(text);
    options.trace_batches = group->batches->len;
    options.device_time = self->device_time;
    if (json_is_object(self->plan_case->fallbacks))
    {
        options.replan = look_up_fallback;
        options.replan_user = group;
    }
    group->pipeline = ifm_pipeline_new(group->plan, &options, error);
    if (group->pipeline == NULL || self->device_time != IFM_DEVICE_TIME_ON)
        return group->pipeline != NULL;
    group->plain = ifm_pipeline_new(group->plan, &plain, &failure);
    if (group->plain == NULL)
        group->no_plain = g_strdup(failure->message);
    return TRUE;
}

static IfmPlan *solo_plan(const WorkerPlan *self, const IfmPlanDevice *device)
{
    IfmPlan *plan = ifm_plan_new(self->staged->name);
    IfmPlanBlock block = { .first = 1, .last = (int)self->staged->n_stages, .n_devices = 1, .ratios = { 1 } };
    ifm_plan_add_device(plan, device->alias, device->device, device->form);
    IfmPlanDevice *added = plan->devices->pdata[0];
    added->sizes = g_memdup2(device->sizes, device->n_sizes * sizeof *device->sizes);
    added->n_sizes = device->n_sizes;
    ifm_plan_add_block(plan, &block);
    return plan;
}

/* A device that cannot run the whole model has no rate of its own; the bound is that of the others. */
static void compile_solo(WorkerPlan *self, WorkerSolo *solo)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmPlan) plan = solo_plan(self, solo->device);
    IfmPipelineOptions options = options_for(self);
    for (guint g = 0; g < self->groups->len; g++)
    {
        const WorkerGroup *group = self->groups->pdata[g];
        options.most_nodes = MAX(options.most_nodes, group->most_nodes);
        options.max_edges = MAX(options.max_edges, group->max_edges);
    }
    options.interrupted = &self->stop_solos;
    solo->pipeline = ifm_pipeline_new(plan, &options, &error);
    if (solo->pipeline == NULL)
        solo->why = g_strdup(error->message);
}

gboolean worker_plan_compile(WorkerPlan *self, GError **error)
{
    for (guint g = 0; g < self->groups->len; g++)
        if (!compile_group(self, self->groups->pdata[g], error))
            return FALSE;
    for (gsize d = 0; worker_plan_has_bound(self) && d < self->n_devices; d++)
        compile_solo(self, &self->solos[d]);
    return TRUE;
}

/* --- making it
 * --------------------------------------------------------------------------------------------------------------- */

static const IfmRecordField item_fields[] = {
    { IFM_RECORD(INT64, IfmPlanItem, graph) },       { IFM_RECORD(INT64, IfmPlanItem, nodes) },
    { IFM_RECORD(INT64, IfmPlanItem, edges) },       { IFM_RECORD(INT64, IfmPlanItem, n_own) },
    { IFM_RECORD(INT64, IfmPlanItem, whole_nodes) }, { IFM_RECORD(PATH, IfmPlanItem, inputs) },
    { IFM_RECORD(PATH, IfmPlanItem, reference) },    { NULL },
};

const IfmRecordField ifm_kind_plan_made_fields[] = {
    { IFM_RECORD(PARTS, IfmPlanMade, items), .count = offsetof(IfmPlanMade, n_items), .fields = item_fields,
      .size = sizeof(IfmPlanItem) },
    { IFM_RECORD(FLAG, IfmPlanMade, true_outputs) },
    { NULL },
};

/* Devices that are all simulated go by a virtual clock; one that is real makes all go by the real one. */
static gboolean read_plans(WorkerPlan *self, GError **error)
{
    gboolean real = g_strcmp0(g_getenv("IFM_SIMULATED_CLOCK"), "real") == 0;
    for (gsize i = 0; i < self->plan_case->n_graphs; i++)
    {
        IfmPlan *plan = ifm_plan_from_json(self->plan_case->plans[i], "plan", error);
        if (plan == NULL)
            return FALSE;
        g_ptr_array_add(self->plans, plan);
        for (guint d = 0; d < plan->devices->len; d++)
            real |= !worker_is_simulated(((const IfmPlanDevice *)plan->devices->pdata[d])->device);
    }
    self->clock = real ? self->worker->real_clock : self->worker->virtual_clock;
    for (gsize i = 0; i < self->made.n_items; i++)
    {
        const IfmPlanItem *item = &self->made.items[i];
        if (item->graph < 0 || item->graph >= (gint64)self->plans->len || item->inputs == NULL)
            return ifm_error_refuse(error, "case.items: graph %" G_GINT64_FORMAT " has no plan or no inputs", item->graph);
    }
    return self->plans->len > 0 && self->made.n_items > 0 ? TRUE : ifm_error_refuse(error, "plan: no graph to run it on");
}

gboolean worker_plan_make(WorkerPlan *self, const json_t *request, GError **error)
{
    Worker *worker = self->worker;
    worker->measurement->environment = json_pack("{s:[]}", "warnings");
    self->plan_case = worker->spec.data;
    self->protocol = ifm_kind_plan_protocol(self->plan_case);
    self->tolerance = ifm_tolerance_for(IFM_DTYPE_F32, self->plan_case->rtol, self->plan_case->atol);
    self->slow_down = NAN;
    self->plans = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_plan_free);
    self->groups = g_ptr_array_new_with_free_func(group_free);
    self->repetitions = g_array_new(FALSE, FALSE, sizeof(WorkerRepetition));
    g_array_set_clear_func(self->repetitions, (GDestroyNotify)worker_repetition_clear);
    self->counted = worker_counted_new();
    self->replans = g_ptr_array_new_with_free_func(g_free);
    if (!ifm_device_time_parse(self->plan_case->device_time, &self->device_time, error) ||
        !ifm_record_from_json(&self->made, ifm_kind_plan_made_fields, json_object_get(request, "made"), "made",
                              worker->spec.pool, error) ||
        !read_plans(self, error))
        return FALSE;
    ifm_measurement_describe_build(worker->measurement, self->clock);
    worker_report_base(worker);
    self->staged = worker_go_on(worker, "making the batches", 1, error)
                       ? ifm_staged_find(((const IfmPlan *)self->plans->pdata[0])->model, error)
                       : NULL;
    if (self->staged == NULL)
        return FALSE;
    self->inputs = ifm_staged_inputs(self->staged, 1, (int)self->staged->n_stages);
    self->outputs = ifm_staged_outputs(self->staged, 1, (int)self->staged->n_stages);
    self->entries = g_new0(WorkerEntry, self->made.n_items);
    if (!make_entries(self, error))
        return FALSE;
    group_batches(self);
    find_devices(self);
    return TRUE;
}

void worker_plan_free(WorkerPlan *self)
{
    if (self == NULL || self->stuck)
        return;
    for (gsize d = 0; d < self->n_devices; d++)
    {
        ifm_pipeline_free(self->solos[d].pipeline);
        g_free(self->solos[d].why);
    }
    g_ptr_array_unref(self->groups);
    for (gsize i = 0; self->entries != NULL && i < self->made.n_items; i++)
    {
        WorkerEntry *entry = &self->entries[i];
        for (guint k = 0; entry->inputs != NULL && k < self->inputs->len; k++)
            ifm_tensor_clear(&entry->inputs[k]);
        ifm_reference_free(entry->reference);
        g_free(entry->inputs);
        g_free(entry->ratios);
    }
    g_free(self->entries);
    g_clear_pointer(&self->inputs, g_ptr_array_unref);
    g_clear_pointer(&self->outputs, g_ptr_array_unref);
    ifm_verification_clear(&self->verdict);
    g_clear_error(&self->wrong);
    g_array_unref(self->repetitions);
    g_ptr_array_unref(self->counted);
    g_ptr_array_unref(self->replans);
    g_ptr_array_unref(self->plans);
    g_free(self->doing);
    g_free(self);
}

/* --- what is said of it -------------------------------------------------------------------------------------------- */

/* Of the first of the plans. */
static json_t *describe_counted(const WorkerPlan *self)
{
    const WorkerGroup *first = self->groups->pdata[0];
    return worker_counted_to_json(self->counted, first->no_plain);
}

/* One device's rate is nothing to hold a plan of several against; why the others have none stays. */
static void drop_bound(json_t *json)
{
    g_autoptr(GString) why = g_string_new("fewer than two devices can run all stages alone");
    const char *alias;
    json_t *reason;
    json_object_foreach(json_object_get(json_object_get(json, "bound"), "left_out"), alias, reason)
    {
        g_string_append_printf(why, "; %s: %s", alias, json_string_value(reason));
    }
    json_object_set_new(json, "bound", json_null());
    json_object_set_new(json, "no_bound", ifm_json_string(why->str));
}

json_t *worker_plan_describe(const WorkerPlan *self)
{
    const char *aliases[IFM_PLAN_MAX_DEVICES], *why[IFM_PLAN_MAX_DEVICES];
    for (gsize d = 0; d < self->n_devices; d++)
    {
        aliases[d] = self->solos[d].device->alias;
        why[d] = self->solos[d].why;
    }
    json_t *json = worker_figures(self->repetitions, aliases, self->n_devices, worker_plan_has_bound(self), why);
    if (self->device_time != IFM_DEVICE_TIME_OFF)
        json_object_set_new(json, "device_time_cost", describe_counted(self));
    if (self->plan_case->bound && !worker_plan_has_bound(self))
        json_object_set_new(json, "no_bound", json_string("the plan has one device"));
    else if (self->plan_case->bound && self->repetitions->len > 0 &&
             json_object_size(json_object_get(json_object_get(json, "bound"), "together")) < 2)
        drop_bound(json);
    json_t *plans = json_array();
    for (guint g = 0; g < self->groups->len; g++)
    {
        const WorkerGroup *group = self->groups->pdata[g];
        g_autofree char *text = ifm_plan_to_text(group->plan);
        json_array_append_new(plans, ifm_json_string(text));
    }
    json_object_set_new(json, "plans", plans);
    return json;
}

GPtrArray *worker_plan_devices(const WorkerPlan *self)
{
    GPtrArray *specs = g_ptr_array_new();
    for (gsize d = 0; d < self->n_devices; d++)
        if (d < self->n_in_blocks || worker_solo_has_part(&self->solos[d]))
            g_ptr_array_add(specs, (char *)self->solos[d].device->device);
    return specs;
}

static void describe_trace(const WorkerPlan *self, const WorkerGroup *group)
{
    /* as far as it is known: of those that were sampled, or of all, compared with the same uncounted */
    json_auto_t *cost = self->device_time == IFM_DEVICE_TIME_ON ? describe_counted(self) : NULL;
    json_t *slow_down = cost != NULL ? json_incref(json_object_get(cost, "ratio")) : ifm_json_real(self->slow_down);
    json_t *meta = json_copy((json_t *)ifm_trace_meta(group->trace));
    if (json_object_get(meta, "plan") == NULL) /* else the pipeline's: another one after a device failed */
        json_object_set_new(meta, "plan", ifm_plan_to_json(group->plan));
    json_object_update_new(meta, json_pack("{s:i,s:I,s:I,s:o*,s:s,s:s,s:o}", "n_batches", (int)group->batches->len, "nodes",
                                           (json_int_t)group->most_nodes, "edges", (json_int_t)group->max_edges, "stopped",
                                           group->stopped != NULL ? ifm_json_string(group->stopped) : NULL, "clock_kind",
                                           ifm_clock_is_virtual(self->clock) ? "virtual" : "real", "device_time",
                                           self->plan_case->device_time, "device_time_slow_down_ratio", slow_down));
    ifm_trace_set_meta(group->trace, meta);
}

gboolean worker_plan_write_trace(const WorkerPlan *self, GError **error)
{
    g_autoptr(GPtrArray) traces = g_ptr_array_new();
    for (guint g = 0; self->plan_case->trace_path != NULL && g < self->groups->len; g++)
    {
        const WorkerGroup *group = self->groups->pdata[g];
        if (group->trace == NULL || ifm_trace_n_events(group->trace) == 0)
            continue;
        describe_trace(self, group);
        g_ptr_array_add(traces, group->trace);
    }
    return traces->len == 0 ||
           ifm_trace_write((const IfmTrace *const *)(void *)traces->pdata, traces->len, self->plan_case->trace_path, error);
}
