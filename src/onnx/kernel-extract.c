/*
 * Kernels as models of their own. A ring holds several copies, each with weights and outputs of its own, which one run
 * visits in turn: so a kernel meets its weights as in a model, in memory and not in the caches of its last run. Their
 * inputs are the same: in a model, too, they are where the kernel before has just left them.
 */
#include <math.h>
#include <string.h>

#include <base/base.h>
#include <onnx/fused-kernel.h>

/* --- constants ----------------------------------------------------------------------------------------------------------
 */

/* Extraction: one model on its way. @graph: NULL: weights are seeded */
typedef struct
{
    const IfmKernelRecord *record;
    const IfmModel *graph;
    IfmModelBuilder *builder;
    guint32 seed;
    gboolean shapes_only; /* large weights are inputs, and shapes of outputs are left open */
} Extraction;

/* Seeded weights are within 1 / sqrt(of the sum that they are in), so that results stay of the size of the inputs. */
static double bound_of(const IfmKernelTensor *tensor)
{
    double n = 1;
    for (guint i = 1; i < tensor->dims->len; i++)
        n *= (double)MAX(g_array_index(tensor->dims, gint64, i), 1);
    return 1 / sqrt(MAX(n, 1));
}

static gboolean is_variance(const IfmKernelRecord *record, gsize input)
{
    return g_str_equal(record->op_type, "BatchNormalization") && input == 4;
}

static gboolean add_values(const Extraction *self, const IfmKernelTensor *tensor, const char *name, GError **error)
{
    const IfmDtype dtype = ifm_dtype_from_name(tensor->dtype);
    const gint64 *dims = (const gint64 *)(const void *)tensor->dims->data;
    g_auto(IfmTensor) made = { 0 };
    if (!ifm_tensor_init(&made, dtype, (int)tensor->dims->len, dims, error))
        return FALSE;
    const float number = (float)tensor->number;
    for (guint i = 0; i < tensor->values->len && (gsize)(i + 1) * ifm_dtype_size_bytes(dtype) <= made.size_bytes; i++)
        if (dtype == IFM_DTYPE_I64)
            ((gint64 *)made.data)[i] = g_array_index(tensor->values, gint64, i);
        else if (dtype == IFM_DTYPE_I32)
            ((gint32 *)made.data)[i] = (gint32)g_array_index(tensor->values, gint64, i);
    if (dtype == IFM_DTYPE_F32 && made.size_bytes == sizeof number)
        memcpy(made.data, &number, sizeof number);
    ifm_model_builder_weight(self->builder, name, &made);
    return TRUE;
}

/* One constant of a copy. */
static gboolean add_constant(const Extraction *self, gsize input, const char *name, GError **error)
{
    const IfmKernelTensor *tensor = self->record->inputs->pdata[input];
    const gboolean is_float = g_str_equal(tensor->dtype, "f32");
    const gint64 *dims = (const gint64 *)(const void *)tensor->dims->data;
    IfmTensor kept;
    if (self->graph != NULL && ifm_model_initializer(self->graph, tensor->name, &kept))
        ifm_model_builder_weight(self->builder, name, &kept);
    else if (is_float && isnan(tensor->number))
    {
        const double bound = bound_of(tensor);
        ifm_model_builder_drawn_weight(self->builder, name, (int)tensor->dims->len, dims,
                                       is_variance(self->record, input) ? 0.5 : -bound,
                                       is_variance(self->record, input) ? 1.5 : bound, self->seed);
    }
    else if (tensor->values->len > 0 || is_float)
        return add_values(self, tensor, name, error);
    else
        return ifm_error_refuse(error, "%s: the values of its constant '%s' (%s) are not known", self->record->name,
                                tensor->name, tensor->dtype);
    return TRUE;
}

/* --- copies -------------------------------------------------------------------------------------------------------------
 */

static void add_port(const Extraction *self, const IfmKernelTensor *tensor, const char *name, gboolean is_input)
{
    (is_input ? ifm_model_builder_input : ifm_model_builder_output)(self->builder, name, ifm_dtype_from_name(tensor->dtype),
                                                                    self->shapes_only && !is_input ? -1
                                                                                                   : (int)tensor->dims->len,
                                                                    (const gint64 *)(const void *)tensor->dims->data, NULL);
}

/* The first input of the same tensor: they stay one. */
static gsize first_of(const IfmKernelRecord *record, gsize input)
{
    const char *name = ((const IfmKernelTensor *)record->inputs->pdata[input])->name;
    gsize first = 0;
    while (!g_str_equal(((const IfmKernelTensor *)record->inputs->pdata[first])->name, name))
        first++;
    return first;
}

/* Indices are drawn from all rows of the tensor that they pick from. */
static void add_range(const Extraction *self, gsize input, const char *name)
{
    const IfmKernelTensor *rows = self->record->inputs->pdata[0];
    const json_t *axis = json_object_get(self->record->attributes, "axis");
    const gsize at = (gsize)MAX(json_integer_value(axis), 0);
    if (input != 1 || !g_str_equal(self->record->op_type, "Gather") || at >= rows->dims->len)
        return;
    g_autofree char *key = g_strconcat("inferometer.range.", name, NULL);
    g_autofree char *range = g_strdup_printf("0 %" G_GINT64_FORMAT, MAX(g_array_index(rows->dims, gint64, at) - 1, 0));
    ifm_model_builder_metadata(self->builder, key, range);
}

static gboolean add_copy(const Extraction *self, gsize copy, GError **error)
{
    const IfmKernelRecord *record = self->record;
    g_autoptr(GPtrArray) inputs = g_ptr_array_new_with_free_func(g_free), outputs = g_ptr_array_new_with_free_func(g_free);
    for (guint i = 0; i < record->inputs->len; i++)
    {
        const IfmKernelTensor *tensor = record->inputs->pdata[i];
        const gsize first = first_of(record, i);
        const gboolean is_large = tensor->values->len == 0 && isnan(tensor->number),
                       is_input = !tensor->constant || (self->shapes_only && is_large);
        char *name = *tensor->name == '\0' ? g_strdup("") : g_strdup_printf("i%zu_%zu", first, is_input ? (gsize)0 : copy);
        g_ptr_array_add(inputs, name);
        if (*name == '\0' || first != i || (is_input && copy > 0))
            continue;
        if (is_input)
        {
            add_port(self, tensor, name, TRUE);
            add_range(self, i, name);
        }
        else if (!add_constant(self, i, name, error))
            return FALSE;
    }
    for (guint i = 0; i < record->outputs->len; i++)
    {
        const IfmKernelTensor *tensor = record->outputs->pdata[i];
        g_ptr_array_add(outputs, *tensor->name == '\0' ? g_strdup("") : g_strdup_printf("o%u_%zu", i, copy));
        if (*tensor->name != '\0')
            add_port(self, tensor, outputs->pdata[i], FALSE);
    }
    g_ptr_array_add(inputs, NULL);
    g_ptr_array_add(outputs, NULL);
    g_autofree char *name = g_strdup_printf("k%zu", copy);
    const gsize node = ifm_model_builder_node(self->builder, record->op_type, name, (const char *const *)inputs->pdata,
                                              (const char *const *)outputs->pdata);
    ifm_model_builder_attributes(self->builder, node, record->attributes);
    if (*record->domain != '\0')
        ifm_model_builder_domain(self->builder, node, record->domain, 1);
    return TRUE;
}

/* A runtime that saves no graph has kernels that no model can hold. */
static gboolean check_domain(const IfmKernelRecord *record, GError **error)
{
    if (!g_str_has_prefix(record->domain, "org.openvino"))
        return TRUE;
    return ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s (%s): no model can hold a kernel of %s", record->name,
                         record->node, record->domain);
}

static gboolean check_known(const IfmKernelRecord *record, const GPtrArray *tensors, GError **error)
{
    for (guint i = 0; i < tensors->len; i++)
    {
        const IfmKernelTensor *tensor = tensors->pdata[i];
        if (*tensor->name != '\0' && *tensor->dtype == '\0')
            return ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s (%s): the shape of '%s' is not known", record->name,
                                 record->node, tensor->name);
    }
    return TRUE;
}

gboolean ifm_kernel_stands_alone(const IfmKernelRecord *record, GError **error)
{
    return check_domain(record, error) && check_known(record, record->inputs, error) &&
           check_known(record, record->outputs, error);
}

#define USUAL_OPSET 17

static IfmModel *build(Extraction *self, gsize n_copies, GError **error)
{
    const IfmKernelRecord *record = self->record;
    g_autofree char *stem = ifm_kernel_record_stem(record), *copies = g_strdup_printf("%zu", n_copies);
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new(stem, record->opset > 0 ? record->opset : USUAL_OPSET);
    self->builder = builder;
    if (!ifm_kernel_stands_alone(record, error))
        return NULL;
    for (gsize i = 0; i < n_copies; i++)
        if (!add_copy(self, i, error))
            return NULL;
    ifm_model_builder_metadata(builder, IFM_KERNEL_DIGEST_METADATA, record->digest);
    ifm_model_builder_metadata(builder, IFM_KERNEL_NAME_METADATA, record->name);
    ifm_model_builder_metadata(builder, IFM_KERNEL_COPIES_METADATA, copies);
    return ifm_model_builder_finish(builder, error);
}

static IfmModel *extract(Extraction *self, gsize n_copies, GError **error)
{
    IfmModel *model = build(self, n_copies, error);
    if (model == NULL)
        ifm_error_make_one_line(error); /* it names what the record names */
    return model;
}

IfmModel *ifm_kernel_extract(const IfmKernelRecord *record, const IfmModel *graph, gsize n_copies, guint32 seed,
                             GError **error)
{
    Extraction self = { .record = record, .graph = graph, .seed = seed };
    return extract(&self, n_copies, error);
}

IfmAnalysis *ifm_kernel_analyse(const IfmKernelRecord *record, IfmModel **model, GError **error)
{
    Extraction self = { .record = record, .shapes_only = TRUE };
    *model = extract(&self, 1, error);
    return *model != NULL ? ifm_model_analyse(*model, NULL, 0, error) : NULL;
}

gint64 ifm_kernel_bytes(const IfmKernelRecord *record)
{
    return record->input_bytes + record->weight_bytes + record->output_bytes;
}

gint64 ifm_kernel_ring_bytes(const IfmKernelRecord *record, gsize n_copies)
{
    return record->input_bytes + (gint64)n_copies * (record->weight_bytes + record->output_bytes);
}

gsize ifm_kernel_ring_copies(const IfmKernelRecord *record, gint64 working_set_bytes, gint64 cache_bytes)
{
    const gint64 bytes = MAX(ifm_kernel_bytes(record), 1), held = working_set_bytes > 0 ? working_set_bytes : G_MAXINT64,
                 most = CLAMP(2 * MIN(cache_bytes, IFM_KERNEL_RING_MOST_BYTES), IFM_KERNEL_RING_BYTES,
                              IFM_KERNEL_RING_MOST_BYTES),
                 least = IFM_KERNEL_RING_BYTES / bytes;
    /* The cache would hold a part of it from one run to the next. In the model it does not, for what else there is. */
    const gboolean is_hot_alone = bytes / IFM_KERNEL_RING_HOT_CACHES < cache_bytes && held - bytes >= bytes / 2 &&
                                  bytes <= IFM_KERNEL_RING_TWICE_BYTES;
    gint64 copies = MAX(MIN(held, most) / bytes, is_hot_alone ? 2 : 1);
    if (record->flop > 0)
        copies = MIN(copies, MAX(least, (gint64)MIN(IFM_KERNEL_RING_FLOP / record->flop, IFM_KERNEL_MAX_COPIES)));
    return (gsize)CLAMP(copies, 1, IFM_KERNEL_MAX_COPIES);
}
