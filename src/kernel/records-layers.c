/* Kernels of a runtime that does not save its graph: by the names of the model's nodes that went into each of its own. */
#include <math.h>
#include <string.h>

#include <base/fields.h>
#include <kernel/kernel.h>
#include <measure/measure.h>
#include <store/store.h>

#include "kernel-private.h"
#include "records-private.h"

#define DOMAIN "org.openvino" /* the one runtime that names them */

/* Layers: @members: GArray of gsize, ascending, the model's nodes in each row of the measurement; NULL of none
 * @of: [nodes] the row that a node is in, -1 for none */
typedef struct
{
    KernelSource source;
    const IfmMeasurement *measurement;
    GPtrArray *members;
    gssize *of;
    gsize n_nodes;
} Layers;

static void layers_clear(Layers *self)
{
    g_clear_pointer(&self->members, g_ptr_array_unref);
    g_clear_pointer(&self->source.weights, g_hash_table_unref);
    g_free(self->of);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Layers, layers_clear)

static guint row_index(const IfmMeasurement *measurement, const IfmKernel *kernel)
{
    guint row = 0;
    g_ptr_array_find(measurement->nodes, kernel->node, &row);
    return row;
}

static void unref_members(gpointer members)
{
    if (members != NULL)
        g_array_unref(members);
}

static gboolean is_named(const json_t *parts, const IfmNode *node)
{
    size_t i;
    json_t *part;
    json_array_foreach(parts, i, part)
    {
        const char *name = json_string_value(part);
        if (g_strcmp0(name, node->name) == 0)
            return TRUE;
        for (gsize k = 0; k < node->n_outputs; k++)
            if (g_strcmp0(name, node->outputs[k]) == 0)
                return TRUE;
    }
    return FALSE;
}

static gssize row_of_maker(const Layers *self, const char *tensor)
{
    const gint64 maker = ifm_model_producer(self->source.optimised, tensor);
    return maker >= 0 ? self->of[maker] : -1;
}

static const json_t *parts_of(const Layers *self, gssize row)
{
    return json_array_get(json_object_get(self->measurement->breakdown, "parts"), (size_t)row);
}

/* A node that is not named runs no earlier than what it reads: a sum is done by the later one of the kernels that it hangs
 * on. Nodes stand behind those whose outputs they read. */
static void put_behind_makers(Layers *self)
{
    for (gsize i = 0; i < self->n_nodes; i++)
    {
        const IfmNode *node = ifm_model_node(self->source.optimised, i);
        const gssize row = self->of[i];
        if (row < 0 || is_named(parts_of(self, row), node))
            continue;
        for (gsize k = 0; k < node->n_inputs; k++)
            self->of[i] = MAX(self->of[i], row_of_maker(self, node->inputs[k]));
    }
}

static void layers_init(Layers *self, const KernelSource *source, const IfmMeasurement *measurement,
                        const IfmKernels *kernels)
{
    *self = (Layers){ *source, measurement, g_ptr_array_new_with_free_func(unref_members), NULL,
                      ifm_model_n_nodes(source->optimised) };
    self->of = g_new(gssize, MAX(self->n_nodes, 1));
    for (gsize i = 0; i < self->n_nodes; i++)
        self->of[i] = -1;
    for (guint i = 0; i < kernels->rows->len; i++)
    {
        const IfmKernel *kernel = kernels->rows->pdata[i];
        for (guint k = 0; kernel->layers != NULL && k < kernel->layers->len; k++)
            self->of[g_array_index(kernel->layers, gsize, k)] = (gssize)row_index(measurement, kernel);
    }
    put_behind_makers(self);
    g_ptr_array_set_size(self->members, (gint)measurement->nodes->len);
    for (gsize i = 0; i < self->n_nodes; i++)
    {
        if (self->of[i] < 0)
            continue;
        gpointer *members = &self->members->pdata[self->of[i]];
        if (*members == NULL)
            *members = g_array_new(FALSE, FALSE, sizeof(gsize));
        g_array_append_val((GArray *)*members, i);
    }
}

/* --- names --------------------------------------------------------------------------------------------------------------
 */

static const IfmNode *member(const Layers *self, const GArray *members, guint at)
{
    return ifm_model_node(self->source.optimised, g_array_index(members, gsize, at));
}

static gboolean is_activation(const char *op_type)
{
    static const char *const types[] = { "Relu",     "Clip",      "Sigmoid", "Tanh",        "LeakyRelu", "Gelu", "Elu",
                                         "Softplus", "HardSwish", "Mish",    "HardSigmoid", "PRelu",     NULL };
    return g_strv_contains(types, op_type);
}

static gboolean is_constant(const Layers *self, const char *tensor)
{
    return g_hash_table_contains(self->source.weights, tensor);
}

static gboolean adds_tensors(const Layers *self, const IfmNode *node)
{
    return g_str_equal(node->op_type, "Add") && node->n_inputs == 2 && !is_constant(self, node->inputs[0]) &&
           !is_constant(self, node->inputs[1]);
}

/* The one with most FLOP; of none, the first. */
static guint costliest(const Layers *self, const GArray *members)
{
    guint best = 0;
    gint64 most = 0;
    for (guint i = 0; i < members->len; i++)
    {
        const IfmNodeCost *cost = ifm_analysis_node_cost(self->source.analysis, g_array_index(members, gsize, i));
        if (cost->flop > most)
        {
            most = cost->flop;
            best = i;
        }
    }
    return best;
}

static double flop_of(const Layers *self, const GArray *members)
{
    double sum = 0;
    for (guint i = 0; i < members->len; i++)
    {
        const IfmNodeCost *cost = ifm_analysis_node_cost(self->source.analysis, g_array_index(members, gsize, i));
        sum += cost->covered && !cost->is_upper_bound ? (double)cost->flop : (double)NAN;
    }
    return sum;
}

/* "Conv_Add_Relu": the costliest, then sums and activations behind it. */
static char *name_of(const Layers *self, const GArray *members, guint base)
{
    GString *name = g_string_new(member(self, members, base)->op_type);
    for (guint i = base + 1; i < members->len; i++)
    {
        const IfmNode *node = member(self, members, i);
        if (adds_tensors(self, node) || is_activation(node->op_type))
            g_string_append_printf(name, "_%s", node->op_type);
    }
    return g_string_free(name, FALSE);
}

/* --- tensors ------------------------------------------------------------------------------------------------------------
 */

static gboolean is_read_outside(const Layers *self, const char *tensor, gssize row)
{
    const GArray *readers = ifm_model_consumers(self->source.optimised, tensor);
    for (guint i = 0; readers != NULL && i < readers->len; i++)
        if (self->of[g_array_index(readers, gsize, i)] != row)
            return TRUE;
    return kernel_is_output(self->source.optimised, tensor);
}

static void add_once(const Layers *self, const char *name, GPtrArray *tensors)
{
    gboolean known = *name == '\0';
    for (guint i = 0; i < tensors->len; i++)
        known = known || g_str_equal(((const IfmKernelTensor *)tensors->pdata[i])->name, name);
    if (!known)
        g_ptr_array_add(tensors, kernel_tensor_of(&self->source, name));
}

/* What crosses the kernel's boundary. */
static void add_tensors(const Layers *self, const GArray *members, gssize row, IfmKernelRecord *record)
{
    for (guint i = 0; i < members->len; i++)
    {
        const IfmNode *node = member(self, members, i);
        for (gsize k = 0; k < node->n_inputs; k++)
        {
            const gssize maker = row_of_maker(self, node->inputs[k]);
            if (maker != row)
                add_once(self, node->inputs[k], record->inputs);
            kernel_add_depend(record->depends, maker < row ? maker : -1);
        }
        for (gsize k = 0; k < node->n_outputs; k++)
            if (is_read_outside(self, node->outputs[k], row))
                add_once(self, node->outputs[k], record->outputs);
    }
}

/* --- coverage -----------------------------------------------------------------------------------------------------------
 */

/* Nodes that the runtime does not name are in the kernel that they hang on: that is likely, not known. */
static IfmKernelCoverage coverage_of(const Layers *self, const GArray *members, gssize row)
{
    for (guint i = 0; i < members->len; i++)
        if (!is_named(parts_of(self, row), member(self, members, i)))
            return IFM_COVERAGE_AMBIGUOUS;
    return IFM_COVERAGE_EXACT;
}

/* Of weights alone: the runtime computed it beforehand. Nodes stand behind those whose outputs they read. */
static void find_uncovered(const Layers *self, const IfmModel *model, IfmKernelRecords *records)
{
    g_autoptr(GHashTable) constant = g_hash_table_new(g_str_hash, g_str_equal);
    for (gsize i = 0; i < self->n_nodes; i++)
    {
        const IfmNode *node = ifm_model_node(self->source.optimised, i);
        gboolean folded = TRUE;
        for (gsize k = 0; k < node->n_inputs; k++)
            folded = folded && (*node->inputs[k] == '\0' || is_constant(self, node->inputs[k]) ||
                                g_hash_table_contains(constant, node->inputs[k]));
        for (gsize k = 0; k < node->n_outputs && folded; k++)
            g_hash_table_add(constant, (gpointer)node->outputs[k]);
        if (self->of[i] < 0 && folded)
            records->n_folded++;
        else if (self->of[i] < 0)
            g_ptr_array_add(records->uncovered, kernel_node_label(model, i));
    }
}

/* --- records ------------------------------------------------------------------------------------------------------------
 */

static IfmKernelRecord *record_of(const Layers *self, const IfmModel *model, const IfmKernel *kernel, guint row)
{
    const GArray *members = self->members->pdata[row];
    IfmKernelRecord *record = ifm_kernel_record_new();
    ifm_record_set_text(&record->node, kernel->node->name);
    ifm_record_set_text(&record->op_type, kernel->node->op_type);
    ifm_record_set_text(&record->domain, DOMAIN);
    record->opset = ifm_model_opset(model);
    if (members == NULL)
    {
        ifm_record_set_text(&record->name, kernel->node->op_type);
        record->coverage = kernel->marshalling ? IFM_COVERAGE_INSERTED : IFM_COVERAGE_AMBIGUOUS;
        record->attributes = json_object();
        record->flop = kernel->marshalling ? 0 : (double)NAN;
    }
    else
    {
        const guint base = costliest(self, members);
        g_free(record->name);
        record->name = name_of(self, members, base);
        record->coverage = (int)coverage_of(self, members, row);
        record->attributes = ifm_node_attributes(member(self, members, base));
        record->flop = flop_of(self, members);
        add_tensors(self, members, row, record);
        for (guint i = 0; i < members->len; i++)
            g_ptr_array_add(record->covers, kernel_node_label(model, g_array_index(members, gsize, i)));
    }
    ifm_kernel_record_complete(record);
    return record;
}

static IfmKernelRecords *records_of(const Layers *self, const IfmModel *model, const IfmKernels *kernels)
{
    IfmKernelRecords *records = kernel_records_alloc();
    g_ptr_array_set_size(records->kernels, (gint)kernels->rows->len);
    for (guint i = 0; i < kernels->rows->len; i++)
    {
        const IfmKernel *kernel = kernels->rows->pdata[i];
        const guint row = row_index(self->measurement, kernel);
        records->kernels->pdata[row] = record_of(self, model, kernel, row);
    }
    find_uncovered(self, model, records);
    records->n_nodes = (gint64)self->n_nodes;
    ifm_record_set_text(&records->level, "compiled");
    return records;
}

IfmKernelRecords *kernel_records_by_layers(IfmRunner *runner, const IfmModelCase *model_case, const IfmModel *model,
                                           IfmModel *named, char **version, GError **error)
{
    g_free(g_steal_pointer(version));
    IfmModelCase seeded = *model_case;
    seeded.seed = 1;
    g_autoptr(IfmMeasurement) measurement = ifm_runner_nodes(runner, &seeded, version, error);
    g_autoptr(IfmAnalysis) analysis =
        measurement != NULL ? ifm_model_analyse(named, model_case->bindings, model_case->n_bindings, error) : NULL;
    if (analysis == NULL)
        return NULL;
    const json_t *parts = json_object_get(measurement->breakdown, "parts");
    if (measurement->nodes->len == 0 || json_array_size(parts) != measurement->nodes->len)
    {
        ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s does not name what went into its nodes", model_case->device);
        return NULL;
    }
    g_autoptr(IfmKernels) kernels = ifm_kernels_new(measurement, named, analysis, NULL);
    const KernelSource source = { model, named, analysis, kernel_weight_names(named) };
    g_auto(Layers) layers;
    layers_init(&layers, &source, measurement, kernels);
    return records_of(&layers, model, kernels);
}
