/* The kernels of an optimised graph: what each computes, under one name in every model. */
#include <math.h>
#include <string.h>

#include <kernel/kernel.h>
#include <store/store.h>

#include "records-private.h"

/* --- names --------------------------------------------------------------------------------------------------------------
 */

/* The operator without "Fused", domain or layout. */
static const char *base_operator(const IfmNode *node)
{
    static const char *const names[][2] = { { "FusedConv", "Conv" },        { "NhwcConv", "Conv" },
                                            { "NhwcFusedConv", "Conv" },    { "FusedGemm", "Gemm" },
                                            { "FusedMatMul", "MatMul" },    { "FusedMatMulActivation", "MatMul" },
                                            { "TransposeMatMul", "MatMul" } };
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
        if (g_str_equal(node->op_type, names[i][0]))
            return names[i][1];
    return node->op_type;
}

static gboolean covers_operator(const IfmModel *model, const GArray *covers, const char *op_type)
{
    for (guint i = 0; i < covers->len; i++)
        if (g_str_equal(ifm_model_node(model, g_array_index(covers, gsize, i))->op_type, op_type))
            return TRUE;
    return FALSE;
}

/* A convolution in blocked channels that covers none is a factor and a summand a channel: of a BatchNormalization. */
static char *name_of(const IfmModel *model, const IfmNode *node, const CoverGroup *group)
{
    const char *base = base_operator(node), *activation = ifm_node_string(node, "activation", NULL);
    const gboolean is_conv = g_str_equal(base, "Conv");
    const gboolean is_scale = is_conv && group->covers->len > 0 && !covers_operator(model, group->covers, "Conv");
    const gboolean has_sum = is_conv && node->n_inputs > 3 && *node->inputs[3] != '\0';
    return g_strconcat(is_scale ? "BatchNormalization" : base, has_sum ? "_Add" : "", activation != NULL ? "_" : "",
                       activation != NULL ? activation : "", NULL);
}

/* --- tensors ------------------------------------------------------------------------------------------------------------
 */

GHashTable *kernel_weight_names(const IfmModel *model)
{
    GHashTable *names = g_hash_table_new(g_str_hash, g_str_equal);
    for (gsize i = 0; i < ifm_model_n_initializers(model); i++)
        g_hash_table_add(names, (gpointer)ifm_model_initializer_name(model, i));
    return names;
}

/* Integers decide what is computed, such as axes; a single float may, such as an exponent. */
static void take_values(const KernelSource *source, IfmKernelTensor *tensor, IfmDtype dtype)
{
    gint64 values[IFM_ANALYSIS_MAX_INTS];
    gsize n = 0;
    IfmTensor weight;
    if (g_str_has_prefix(tensor->dtype, "i") && ifm_analysis_ints(source->analysis, tensor->name, values, &n))
        g_array_append_vals(tensor->values, values, (guint)n);
    else if (dtype == IFM_DTYPE_F32 && ifm_model_initializer(source->optimised, tensor->name, &weight) &&
             weight.size_bytes == sizeof(float) && weight.data != NULL)
    {
        float value;
        memcpy(&value, weight.data, sizeof value);
        tensor->number = (double)value;
    }
}

IfmKernelTensor *kernel_tensor_of(const KernelSource *source, const char *name)
{
    IfmKernelTensor *tensor = ifm_kernel_tensor_new();
    gint64 shape[IFM_MAX_RANK];
    int rank;
    IfmDtype dtype;
    ifm_record_set_text(&tensor->name, name);
    tensor->constant = *name != '\0' && g_hash_table_contains(source->weights, name);
    if (*name == '\0' || !ifm_analysis_shape(source->analysis, name, &dtype, &rank, shape))
        return tensor;
    ifm_record_set_text(&tensor->dtype, ifm_dtype_name(dtype));
    g_array_append_vals(tensor->dims, shape, (guint)rank);
    if (tensor->constant)
        take_values(source, tensor, dtype);
    return tensor;
}

/* --- records ------------------------------------------------------------------------------------------------------------
 */

char *kernel_node_label(const IfmModel *model, gsize index)
{
    const IfmNode *node = ifm_model_node(model, index);
    return *node->name != '\0' ? g_strdup(node->name) : g_strdup_printf("%s #%zu", node->op_type, index);
}

void kernel_add_depend(GArray *depends, gint64 row)
{
    gboolean known = row < 0;
    for (guint i = 0; i < depends->len; i++)
        known = known || g_array_index(depends, gint64, i) == row;
    if (!known)
        g_array_append_val(depends, row);
}

static IfmKernelRecord *record_of(const KernelSource *source, gsize index, const CoverGroup *group)
{
    const IfmNode *node = ifm_model_node(source->optimised, index);
    const IfmNodeCost *cost = ifm_analysis_node_cost(source->analysis, index);
    IfmKernelRecord *record = ifm_kernel_record_new();
    g_free(record->name);
    record->name = name_of(source->model, node, group);
    ifm_record_set_text(&record->node, node->name);
    ifm_record_set_text(&record->op_type, node->op_type);
    ifm_record_set_text(&record->domain, node->domain);
    record->attributes = ifm_node_attributes(node);
    record->opset = ifm_model_opset(source->optimised);
    for (gsize i = 0; i < node->n_inputs; i++)
    {
        g_ptr_array_add(record->inputs, kernel_tensor_of(source, node->inputs[i]));
        kernel_add_depend(record->depends, ifm_model_producer(source->optimised, node->inputs[i]));
    }
    for (gsize i = 0; i < node->n_outputs; i++)
        g_ptr_array_add(record->outputs, kernel_tensor_of(source, node->outputs[i]));
    record->flop = cost->covered && !cost->is_upper_bound ? (double)cost->flop : (double)NAN;
    ifm_kernel_record_complete(record);
    record->coverage = (int)group->coverage;
    for (guint i = 0; i < group->covers->len; i++)
        g_ptr_array_add(record->covers, kernel_node_label(source->model, g_array_index(group->covers, gsize, i)));
    return record;
}

IfmKernelRecords *kernel_records_new(const IfmModel *model, const IfmModel *optimised, const IfmAnalysis *analysis,
                                     const Cover *cover)
{
    IfmKernelRecords *records = kernel_records_alloc();
    const gsize n = ifm_model_n_nodes(optimised);
    g_autofree const CoverGroup **groups = g_new0(const CoverGroup *, MAX(n, 1));
    g_autoptr(GHashTable) weights = kernel_weight_names(optimised);
    const KernelSource source = { model, optimised, analysis, weights };
    for (guint i = 0; i < cover->groups->len; i++)
    {
        const CoverGroup *group = cover->groups->pdata[i];
        for (guint k = 0; k < group->nodes->len; k++)
            groups[g_array_index(group->nodes, gsize, k)] = group;
    }
    for (gsize i = 0; i < n; i++)
    {
        g_assert(groups[i] != NULL); /* each node is in one */
        g_ptr_array_add(records->kernels, record_of(&source, i, groups[i]));
    }
    for (guint i = 0; i < cover->uncovered->len; i++)
        g_ptr_array_add(records->uncovered, kernel_node_label(model, g_array_index(cover->uncovered, gsize, i)));
    records->n_nodes = (gint64)ifm_model_n_nodes(model);
    records->n_folded = (gint64)cover->n_folded;
    records->n_covered_twice = (gint64)cover->n_twice;
    return records;
}

IfmKernelRecords *kernel_records_of_kernel(const IfmModel *model, const IfmAnalysis *analysis)
{
    IfmKernelRecords *records = kernel_records_alloc();
    const char *name = ifm_model_metadata(model, IFM_KERNEL_NAME_METADATA);
    g_autoptr(GHashTable) weights = kernel_weight_names(model);
    g_autoptr(GArray) none = g_array_new(FALSE, FALSE, sizeof(gsize));
    const KernelSource source = { model, model, analysis, weights };
    const CoverGroup alone = { .covers = none, .coverage = IFM_COVERAGE_EXACT };
    IfmKernelRecord *record = record_of(&source, 0, &alone); /* the others are its copies */
    g_array_set_size(record->depends, 0);
    if (name != NULL && *name != '\0')
        ifm_record_set_text(&record->name, name);
    ifm_kernel_record_complete(record);
    g_ptr_array_add(records->kernels, record);
    records->n_nodes = 1;
    return records;
}

/* --- what a model holds -------------------------------------------------------------------------------------------------
 */

/* So that no sum overflows; a kernel has at most 2^48 bytes. */
#define MOST_WEIGHTS ((gint64)1 << 59)

gint64 ifm_kernel_records_working_set(const IfmKernelRecords *records)
{
    gint64 weight_bytes = 0, tensor_bytes = 0;
    if (*records->level == '\0')
        return -1;
    for (guint i = 0; i < records->kernels->len; i++)
    {
        const IfmKernelRecord *kernel = records->kernels->pdata[i];
        weight_bytes = MIN(weight_bytes + kernel->weight_bytes, MOST_WEIGHTS);
        tensor_bytes = MAX(tensor_bytes, kernel->input_bytes + kernel->output_bytes);
    }
    return MAX(weight_bytes + tensor_bytes, 1);
}

GHashTable *ifm_kernel_working_sets(const IfmKernelRecords *const *records, gsize n)
{
    GHashTable *sets = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);
    for (gsize i = 0; i < n; i++)
    {
        const gint64 bytes = ifm_kernel_records_working_set(records[i]);
        for (guint k = 0; k < records[i]->kernels->len; k++)
        {
            const IfmKernelRecord *kernel = records[i]->kernels->pdata[k];
            gint64 *set = g_hash_table_lookup(sets, kernel->digest);
            if (set == NULL)
                g_hash_table_insert(sets, kernel->digest, g_memdup2(&bytes, sizeof bytes));
            else
                *set = MAX(*set, bytes);
        }
    }
    return sets;
}
