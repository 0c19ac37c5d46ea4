/* What goes through a plan: graphs with seeded features, or parts of them; and what must come out of it. */
#include <string.h>

#include <zoo/zoo.h>

#include "../measure-private.h"

typedef struct
{
    const IfmPlanItem *item;
    IfmTensor *inputs; /* [n_inputs] */
    IfmReference *reference;
    double *ratios; /* of its graph's plan, block by block */
} Entry;

struct IfmPlanBatches
{
    const IfmPlanTask *task;
    const IfmStagedModel *staged;
    GPtrArray *inputs, *outputs; /* const IfmBoundary* */
    Entry *entries;              /* [n_items] */
    IfmTolerance tolerance;
    IfmVerification verdict;
    gboolean compared; /* there is a reference */
    GError *failure;
};

/* --- inputs -------------------------------------------------------------------------------------------------------- */

gsize ifm_plan_bindings(const IfmModel *model, gint64 nodes, gint64 edges, IfmDimBinding *bindings)
{
    const IfmDimBinding sizes[] = { { "nodes", nodes }, { "edges", edges } };
    gsize n = 0;
    for (gsize s = 0; s < G_N_ELEMENTS(sizes); s++)
    {
        gboolean found = FALSE;
        for (gsize i = 0; i < ifm_model_n_inputs(model) && !found; i++)
        {
            const IfmPort *port = ifm_model_input(model, i);
            for (int d = 0; d < port->rank; d++)
                found |= g_strcmp0(port->dim_names[d], sizes[s].name) == 0;
        }
        if (found)
            bindings[n++] = sizes[s];
    }
    return n;
}

IfmModel *ifm_plan_whole_model(const IfmStagedModel *staged, const IfmStageSizes *sizes, guint32 seed, GError **error)
{
    IfmStageSizes width = { .features = sizes->features, .hidden = sizes->hidden };
    return ifm_staged_build(staged, 1, (int)staged->n_stages, &width, ifm_scatter_for("onnxruntime"), seed, error);
}

static gboolean is_by_node(const IfmBoundary *boundary)
{
    return g_str_equal(boundary->dims[0], "nodes");
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
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: no tensor \"%s\" of the right shape", path, name);
    return FALSE;
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
static gboolean make_whole(const IfmPlanBatches *self, const IfmModel *model, const Entry *entry, IfmTensor *made,
                           GError **error)
{
    IfmDimBinding bindings[2];
    gsize n = ifm_plan_bindings(model, entry->item->whole_nodes, entry->item->edges, bindings);
    if (!self->task->true_outputs) /* they are not compared */
        return ifm_model_reserve_inputs(model, bindings, n, made, error);
    return ifm_model_make_inputs(model, bindings, n, self->task->plan_case->seed, made, error);
}

/* One input of an item, out of what was made for its whole graph. */
static gboolean take_input(const Entry *entry, const IfmTensorFile *file, const IfmBoundary *boundary, IfmTensor *made,
                           IfmTensor *input, GError **error)
{
    const IfmTensor *found = ifm_tensor_file_find(file, boundary->name), *nodes = ifm_tensor_file_find(file, "nodes");
    if (nodes != NULL && is_by_node(boundary) && found == NULL) /* a part's own features are rows of its graph's */
        return ifm_take_rows(made, nodes->data, nodes->shape[0], input, error);
    *input = *made;
    *made = IFM_TENSOR_INIT;
    if (found == NULL)
        return TRUE;
    if (found->dtype != input->dtype || found->rank != input->rank ||
        memcmp(found->shape, input->shape, (gsize)found->rank * sizeof *found->shape) != 0)
        return no_such_tensor(entry->item->inputs, boundary->name, error);
    if (found->size_bytes > 0) /* into memory like that of the others: pages of a mapped file are not an application's */
        memcpy(input->data, found->data, found->size_bytes);
    return TRUE;
}

static gboolean make_inputs(IfmPlanBatches *self, const IfmModel *model, Entry *entry, GError **error)
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

static gboolean open_reference(IfmPlanBatches *self, Entry *entry, GError **error)
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

static gboolean make_entries(IfmPlanBatches *self, GError **error)
{
    const IfmPlanTask *task = self->task;
    g_autoptr(IfmModel) model = ifm_plan_whole_model(self->staged, &task->plan_case->sizes, task->plan_case->seed, error);
    if (model == NULL)
        return FALSE;
    for (guint i = 0; i < task->n_items; i++)
    {
        Entry *entry = &self->entries[i];
        entry->item = &task->items[i];
        entry->inputs = g_new0(IfmTensor, self->inputs->len + 1);
        entry->ratios = ratios_of(task->plans->pdata[entry->item->graph]);
        if (!make_inputs(self, model, entry, error) || !open_reference(self, entry, error))
            return FALSE;
    }
    return TRUE;
}

IfmPlanBatches *ifm_plan_batches_new(const IfmPlanTask *task, GError **error)
{
    const IfmPlan *plan = task->plans->len > 0 ? task->plans->pdata[0] : NULL;
    if (plan == NULL || task->n_items == 0)
    {
        g_set_error_literal(error, IFM_ERROR, IFM_ERROR_INVALID, "plan: no graph to run it on");
        return NULL;
    }
    const IfmStagedModel *staged = ifm_staged_find(plan->model, error);
    if (staged == NULL)
        return NULL;
    g_autoptr(IfmPlanBatches) self = g_new0(IfmPlanBatches, 1);
    self->task = task;
    self->staged = staged;
    self->inputs = ifm_staged_inputs(staged, 1, (int)staged->n_stages);
    self->outputs = ifm_staged_outputs(staged, 1, (int)staged->n_stages);
    self->tolerance = ifm_tolerance_for(IFM_DTYPE_F32, task->plan_case->rtol, task->plan_case->atol);
    self->entries = g_new0(Entry, task->n_items);
    return make_entries(self, error) ? g_steal_pointer(&self) : NULL;
}

void ifm_plan_batches_free(IfmPlanBatches *self)
{
    if (self == NULL)
        return;
    for (guint i = 0; i < self->task->n_items; i++)
    {
        Entry *entry = &self->entries[i];
        for (guint k = 0; entry->inputs != NULL && k < self->inputs->len; k++)
            ifm_tensor_clear(&entry->inputs[k]);
        ifm_reference_free(entry->reference);
        g_free(entry->inputs);
        g_free(entry->ratios);
    }
    g_free(self->entries);
    g_ptr_array_unref(self->inputs);
    g_ptr_array_unref(self->outputs);
    ifm_verification_clear(&self->verdict);
    g_clear_error(&self->failure);
    g_free(self);
}

void ifm_plan_batches_get(const IfmPlanBatches *self, gsize index, IfmBatch *batch)
{
    gsize number = index % self->task->n_items;
    const Entry *entry = &self->entries[number];
    *batch = (IfmBatch){ .id = (gint64)index,
                         .nodes = entry->item->nodes,
                         .edges = entry->item->edges,
                         .n_own = entry->item->n_own < entry->item->nodes ? entry->item->n_own : 0,
                         .inputs = entry->inputs,
                         .ratios = entry->ratios,
                         .user = GSIZE_TO_POINTER(number) };
}

/* --- verifying ----------------------------------------------------------------------------------------------------- */

static gboolean verify_output(IfmPlanBatches *self, const Entry *entry, const char *port, const IfmTensor *output,
                              gboolean timed)
{
    IfmTensor value = *output;
    if (!self->task->true_outputs)
        value = ifm_tensor_head(&value, IFM_UNTRUE_OUTPUT_BYTES);
    else if (timed && entry->reference == NULL)
        return TRUE;
    else if (timed)
        return ifm_reference_check_quick(entry->reference, port, &value, IFM_DTYPE_F32, &self->tolerance, &self->verdict,
                                         &self->failure);
    return ifm_reference_check(entry->reference, port, &value, IFM_DTYPE_F32, &self->tolerance, &self->verdict,
                               &self->failure);
}

gboolean ifm_plan_batches_verify(IfmPlanBatches *self, const IfmBatch *batch, const IfmTensor *outputs, const char *devices,
                                 gboolean timed)
{
    const Entry *entry = &self->entries[GPOINTER_TO_SIZE(batch->user)];
    for (guint i = 0; i < self->outputs->len && self->failure == NULL; i++)
    {
        const IfmBoundary *boundary = self->outputs->pdata[i];
        if (!verify_output(self, entry, boundary->name, &outputs[i], timed))
            g_prefix_error(&self->failure, "batch %" G_GINT64_FORMAT ", handed out by %s: ", batch->id, devices);
    }
    return self->failure == NULL;
}

const GError *ifm_plan_batches_failure(const IfmPlanBatches *self)
{
    return self->failure;
}

json_t *ifm_plan_batches_verification(const IfmPlanBatches *self)
{
    return ifm_verification_to_json(&self->verdict, self->failure != NULL, self->compared ? &self->tolerance : NULL);
}
