/* One kernel of an optimised graph as data: its codec, its digest, its bytes. */
#include <math.h>
#include <string.h>

#include <base/base.h>
#include <base/fields.h>
#include <onnx/fused-kernel.h>

static void tensor_free(IfmKernelTensor *tensor);

static const IfmRecordField tensor_fields[] = {
    { IFM_RECORD(TEXT, IfmKernelTensor, name) },
    { IFM_RECORD(TEXT, IfmKernelTensor, dtype) },
    { IFM_RECORD(FLAG, IfmKernelTensor, constant) },
    { IFM_RECORD(SERIES, IfmKernelTensor, dims) },
    { IFM_RECORD(SERIES, IfmKernelTensor, values) },
    { IFM_RECORD(DOUBLE, IfmKernelTensor, number) },
    { NULL },
};

static const char *const coverage_words[] = { [IFM_COVERAGE_EXACT] = "exact",
                                              [IFM_COVERAGE_INSERTED] = "inserted",
                                              [IFM_COVERAGE_GROUP] = "group",
                                              [IFM_COVERAGE_AMBIGUOUS] = "ambiguous",
                                              NULL };

const char *const *ifm_kernel_coverage_words(void)
{
    return coverage_words;
}

#define TENSORS(member)                                                                                                    \
    IFM_RECORD(ROWS, IfmKernelRecord, member), .fields = tensor_fields, .size = sizeof(IfmKernelTensor),                   \
                                               .free = (GDestroyNotify)tensor_free

const IfmRecordField ifm_kernel_record_fields[] = {
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
    { IFM_RECORD(CHOICE, IfmKernelRecord, coverage), .words = coverage_words },
    { IFM_RECORD(TEXTS, IfmKernelRecord, covers) },
    { IFM_RECORD(SERIES, IfmKernelRecord, depends) },
    { NULL },
};

IfmKernelTensor *ifm_kernel_tensor_new(void)
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

IfmKernelRecord *ifm_kernel_record_new(void)
{
    IfmKernelRecord *record = g_new0(IfmKernelRecord, 1);
    ifm_record_init(record, ifm_kernel_record_fields);
    return record;
}

void ifm_kernel_record_free(IfmKernelRecord *record)
{
    if (record == NULL)
        return;
    ifm_record_clear(record, ifm_kernel_record_fields);
    g_free(record);
}

/* --- checks -------------------------------------------------------------------------------------------------------------
 */

static gboolean is_hex(const char *text)
{
    return *text != '\0' && text[strspn(text, "0123456789abcdef")] == '\0';
}

/* More than any memory; sums of such figures do not overflow. */
#define MAX_BYTES ((gint64)1 << 48)

static gboolean is_size(gint64 bytes)
{
    return bytes >= 0 && bytes <= MAX_BYTES;
}

static gboolean check_tensors(const GPtrArray *tensors, const char *where, const char *what, GError **error)
{
    for (guint i = 0; i < tensors->len; i++)
    {
        const IfmKernelTensor *tensor = tensors->pdata[i];
        const gint64 *dims = (const gint64 *)(const void *)tensor->dims->data;
        gsize bytes = 0;
        const gboolean good = *tensor->dtype == '\0' ? tensor->dims->len == 0
                                                     : ifm_shape_size_bytes(ifm_dtype_from_name(tensor->dtype),
                                                                            (int)tensor->dims->len, dims, &bytes, NULL);
        if (!good || !is_size((gint64)bytes))
            return ifm_error_refuse(error, "%s.%s[%u]: no dtype and shape of a tensor", where, what, i);
    }
    return TRUE;
}

gboolean ifm_kernel_record_check(const IfmKernelRecord *record, const char *where, GError **error)
{
    if (*record->name == '\0' || !is_hex(record->digest) || !json_is_object(record->attributes))
        return ifm_error_refuse(error, "%s: needs a name, a digest in hexadecimal digits and attributes", where);
    if (!is_size(record->input_bytes) || !is_size(record->weight_bytes) || !is_size(record->output_bytes) ||
        record->flop < 0)
        return ifm_error_refuse(error, "%s: bytes and flop are neither below 0 nor above 2^48 bytes", where);
    return check_tensors(record->inputs, where, "inputs", error) && check_tensors(record->outputs, where, "outputs", error);
}

json_t *ifm_kernel_record_to_json(const IfmKernelRecord *record)
{
    return ifm_record_to_json(record, ifm_kernel_record_fields);
}

IfmKernelRecord *ifm_kernel_record_from_json(const json_t *json, const char *where, GError **error)
{
    g_autoptr(IfmKernelRecord) record = ifm_kernel_record_new();
    if (ifm_record_from_json(record, ifm_kernel_record_fields, json, where, NULL, error) &&
        ifm_kernel_record_check(record, where, error))
        return g_steal_pointer(&record);
    ifm_error_make_one_line(error); /* it may quote a key */
    return NULL;
}

IfmKernelRecord *ifm_kernel_record_copy(const IfmKernelRecord *record)
{
    json_auto_t *json = ifm_kernel_record_to_json(record);
    IfmKernelRecord *copy = ifm_kernel_record_new();
    const gboolean ok = ifm_record_from_json(copy, ifm_kernel_record_fields, json, "kernel", NULL, NULL);
    g_assert(ok); /* its own words */
    return copy;
}

/* --- bytes and digest ---------------------------------------------------------------------------------------------------
 */

static gint64 bytes_of(const IfmKernelTensor *tensor)
{
    gint64 n = *tensor->dtype != '\0' ? (gint64)ifm_dtype_size_bytes(ifm_dtype_from_name(tensor->dtype)) : 0;
    for (guint i = 0; i < tensor->dims->len; i++)
        n *= g_array_index(tensor->dims, gint64, i);
    return n;
}

/* Indices pick rows: what is not picked is not read. */
static gboolean picks_rows(const char *op_type)
{
    static const char *const types[] = { "Gather", "GatherElements", "GatherND", NULL };
    return g_strv_contains(types, op_type);
}

static gboolean is_repeated(const GPtrArray *tensors, guint at)
{
    const char *name = ((const IfmKernelTensor *)tensors->pdata[at])->name;
    for (guint i = 0; i < at; i++)
        if (g_str_equal(((const IfmKernelTensor *)tensors->pdata[i])->name, name))
            return TRUE;
    return FALSE;
}

char *ifm_kernel_record_digest(const IfmKernelRecord *record)
{
    json_auto_t *inputs = json_array();
    for (guint i = 0; i < record->inputs->len; i++)
    {
        const IfmKernelTensor *tensor = record->inputs->pdata[i];
        json_array_append_new(inputs, json_pack("[b,s,o,o,o,b]", tensor->constant, tensor->dtype,
                                                ifm_json_int64_array(tensor->dims), ifm_json_int64_array(tensor->values),
                                                ifm_json_real(tensor->number),
                                                is_repeated(record->inputs, i) && *tensor->name != '\0'));
    }
    json_auto_t *all = json_pack("[s,s,s,O,O,I]", record->name, record->domain, record->op_type, record->attributes, inputs,
                                 (json_int_t)record->outputs->len);
    g_autofree char *text = json_dumps(all, JSON_SORT_KEYS | JSON_COMPACT);
    return g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
}

void ifm_kernel_record_complete(IfmKernelRecord *record)
{
    record->input_bytes = record->weight_bytes = record->output_bytes = 0;
    for (guint i = 0; i < record->outputs->len; i++)
        record->output_bytes += bytes_of(record->outputs->pdata[i]);
    for (guint i = 0; i < record->inputs->len; i++)
    {
        const IfmKernelTensor *tensor = record->inputs->pdata[i];
        gint64 bytes = is_repeated(record->inputs, i) ? 0 : bytes_of(tensor);
        if (i == 0 && picks_rows(record->op_type))
            bytes = MIN(bytes, record->output_bytes);
        if (tensor->constant)
            record->weight_bytes += bytes;
        else
            record->input_bytes += bytes;
    }
    g_free(record->digest);
    record->digest = ifm_kernel_record_digest(record);
}

gboolean ifm_kernel_record_moves(const IfmKernelRecord *record)
{
    static const char *const types[] = { "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity", NULL };
    return g_strv_contains(types, record->op_type);
}

#define STEM_DIGITS 8

char *ifm_kernel_record_stem(const IfmKernelRecord *record)
{
    GString *stem = g_string_new(record->name);
    const IfmKernelTensor *first = record->inputs->len > 0 ? record->inputs->pdata[0] : NULL;
    for (guint i = 0; first != NULL && i < first->dims->len; i++)
        g_string_append_printf(stem, "%c%" G_GINT64_FORMAT, i == 0 ? '_' : 'x', g_array_index(first->dims, gint64, i));
    g_string_append_printf(stem, "-%.*s", STEM_DIGITS, record->digest);
    /* An operator of a runtime's own may have any name; this one is of a file. */
    return g_strcanon(g_string_free(stem, FALSE), G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "_-", '_');
}
