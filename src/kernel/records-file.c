/* Records of kernels as JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <internal/file.h>
#include <internal/json.h>
#include <internal/record-fields.h>
#include <internal/tensor.h>

#include "records-private.h"

#define FORMAT_VERSION 1

static void tensor_free(IfmKernelTensor *tensor);
static void record_free(IfmKernelRecord *record);

static const IfmRecordField tensor_fields[] = {
    { IFM_RECORD(TEXT, IfmKernelTensor, name) },
    { IFM_RECORD(TEXT, IfmKernelTensor, dtype) },
    { IFM_RECORD(FLAG, IfmKernelTensor, constant) },
    { IFM_RECORD(SERIES, IfmKernelTensor, dims) },
    { IFM_RECORD(SERIES, IfmKernelTensor, values) },
    { IFM_RECORD(DOUBLE, IfmKernelTensor, number) },
    { NULL },
};

static const char *const coverage_words[] = { "exact", "inserted", "group", "ambiguous" };

#define TENSORS(member)                                                                                                    \
    IFM_RECORD(ROWS, IfmKernelRecord, member), .fields = tensor_fields, .size = sizeof(IfmKernelTensor),                   \
                                               .free = (GDestroyNotify)tensor_free

static const IfmRecordField record_fields[] = {
    { IFM_RECORD(TEXT, IfmKernelRecord, name) },
    { IFM_RECORD(TEXT, IfmKernelRecord, node) },
    { IFM_RECORD(TEXT, IfmKernelRecord, op_type) },
    { IFM_RECORD(TEXT, IfmKernelRecord, domain) },
    { IFM_RECORD(TEXT, IfmKernelRecord, digest) },
    { IFM_RECORD(JSON, IfmKernelRecord, attributes) },
    { TENSORS(inputs) },
    { TENSORS(outputs) },
    { IFM_RECORD(DOUBLE, IfmKernelRecord, flop) },
    { IFM_RECORD(INT64, IfmKernelRecord, opset) },
    { IFM_RECORD(INT64, IfmKernelRecord, input_bytes) },
    { IFM_RECORD(INT64, IfmKernelRecord, weight_bytes) },
    { IFM_RECORD(INT64, IfmKernelRecord, output_bytes) },
    { IFM_RECORD(CHOICE, IfmKernelRecord, coverage), .words = coverage_words, .n_words = G_N_ELEMENTS(coverage_words) },
    { IFM_RECORD(TEXTS, IfmKernelRecord, covers) },
    { IFM_RECORD(SERIES, IfmKernelRecord, depends) },
    { NULL },
};

static const IfmRecordField records_fields[] = {
    { IFM_RECORD_AS(INT64, IfmKernelRecords, format_version, "kernel_records") },
    { IFM_RECORD(TEXT, IfmKernelRecords, model) },
    { IFM_RECORD(TEXT, IfmKernelRecords, source) },
    { IFM_RECORD(TEXT, IfmKernelRecords, model_digest) },
    { IFM_RECORD(TEXT, IfmKernelRecords, device) },
    { IFM_RECORD(TEXT, IfmKernelRecords, runtime) },
    { IFM_RECORD(TEXT, IfmKernelRecords, level) },
    { IFM_RECORD(TEXT, IfmKernelRecords, processor) },
    { IFM_RECORD(TEXT, IfmKernelRecords, settings) },
    { IFM_RECORD(INT64, IfmKernelRecords, n_nodes) },
    { IFM_RECORD(INT64, IfmKernelRecords, n_folded) },
    { IFM_RECORD(INT64, IfmKernelRecords, n_covered_twice) },
    { IFM_RECORD(TEXTS, IfmKernelRecords, uncovered) },
    { IFM_RECORD(ROWS, IfmKernelRecords, kernels), .fields = record_fields, .size = sizeof(IfmKernelRecord),
      .free = (GDestroyNotify)record_free },
    { NULL },
};

IfmKernelTensor *kernel_tensor_new(void)
{
    IfmKernelTensor *tensor = g_new0(IfmKernelTensor, 1);
    ifm_record_init(tensor, tensor_fields);
    tensor->number = (double)NAN;
    return tensor;
}

static void tensor_free(IfmKernelTensor *tensor)
{
    ifm_record_clear(tensor, tensor_fields);
    g_free(tensor);
}

IfmKernelRecord *kernel_record_new(void)
{
    IfmKernelRecord *record = g_new0(IfmKernelRecord, 1);
    ifm_record_init(record, record_fields);
    return record;
}

static void record_free(IfmKernelRecord *record)
{
    ifm_record_clear(record, record_fields);
    g_free(record);
}

IfmKernelRecords *kernel_records_alloc(void)
{
    IfmKernelRecords *records = g_new0(IfmKernelRecords, 1);
    ifm_record_init(records, records_fields);
    records->format_version = FORMAT_VERSION;
    return records;
}

void ifm_kernel_records_free(IfmKernelRecords *records)
{
    if (records == NULL)
        return;
    ifm_record_clear(records, records_fields);
    g_free(records);
}

json_t *ifm_kernel_records_to_json(const IfmKernelRecords *records)
{
    return ifm_record_to_json(records, records_fields);
}

static gboolean is_hex(const char *text)
{
    return *text != '\0' && text[strspn(text, "0123456789abcdef")] == '\0';
}

static gboolean check_tensors(const GPtrArray *tensors, const char *where, const char *what, GError **error)
{
    for (guint i = 0; i < tensors->len; i++)
    {
        const IfmKernelTensor *tensor = tensors->pdata[i];
        gboolean good = tensor->dims->len <= IFM_MAX_RANK &&
                        (*tensor->dtype == '\0' || ifm_dtype_from_name(tensor->dtype) != IFM_DTYPE_UNDEFINED);
        for (guint k = 0; k < tensor->dims->len; k++)
            good = good && g_array_index(tensor->dims, gint64, k) >= 0;
        if (!good)
            return ifm_error_refuse(error, "%s.%s[%u]: no dtype and shape of a tensor", where, what, i);
    }
    return TRUE;
}

/* What the fields alone do not say: kernels stand in the order in which they run. */
static gboolean check_record(const IfmKernelRecord *record, guint index, const char *where, GError **error)
{
    g_autofree char *place = g_strdup_printf("%s.kernels[%u]", where, index);
    if (*record->name == '\0' || !is_hex(record->digest) || record->attributes == NULL)
        return ifm_error_refuse(error, "%s: needs a name, a digest in hexadecimal digits and attributes", place);
    if (record->input_bytes < 0 || record->weight_bytes < 0 || record->output_bytes < 0 || record->flop < 0)
        return ifm_error_refuse(error, "%s: bytes and flop are not below 0", place);
    for (guint i = 0; i < record->depends->len; i++)
        if (g_array_index(record->depends, gint64, i) < 0 || g_array_index(record->depends, gint64, i) >= index)
            return ifm_error_refuse(error, "%s.depends[%u]: not a kernel before this one", place, i);
    return check_tensors(record->inputs, place, "inputs", error) && check_tensors(record->outputs, place, "outputs", error);
}

IfmKernelRecords *ifm_kernel_records_from_json(const json_t *json, const char *where, GError **error)
{
    g_autoptr(IfmKernelRecords) records = kernel_records_alloc();
    gint64 version = 0;
    if (!ifm_json_get_int64(json, where, "kernel_records", &version, error))
        return NULL;
    if (version != FORMAT_VERSION)
    {
        ifm_error_refuse(error, "%s: records of version %" G_GINT64_FORMAT ", this program reads %d", where, version,
                         FORMAT_VERSION);
        return NULL;
    }
    if (!ifm_record_from_json(records, records_fields, json, where, NULL, error))
        return NULL;
    for (guint i = 0; i < records->kernels->len; i++)
        if (!check_record(records->kernels->pdata[i], i, where, error))
            return NULL;
    return g_steal_pointer(&records);
}

IfmKernelRecords *ifm_kernel_records_read(const char *path, GError **error)
{
    json_auto_t *json = ifm_json_load(path, error);
    return json != NULL ? ifm_kernel_records_from_json(json, path, error) : NULL;
}

gboolean ifm_kernel_records_write(const IfmKernelRecords *records, const char *path, GError **error)
{
    json_auto_t *json = ifm_kernel_records_to_json(records);
    char *text = json_dumps(json, JSON_INDENT(1));
    const gboolean ok = ifm_file_save(path, text, strlen(text), error);
    free(text);
    return ok;
}
