/* Records of kernels as JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <base/base.h>
#include <base/fields.h>
#include <kernel/kernel.h>

#include "records-private.h"

#define FORMAT_VERSION 1

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
    { IFM_RECORD(ROWS, IfmKernelRecords, kernels), .fields = ifm_kernel_record_fields, .size = sizeof(IfmKernelRecord),
      .free = (GDestroyNotify)ifm_kernel_record_free },
    { NULL },
};

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
    g_free(records->reason);
    g_free(records);
}

json_t *ifm_kernel_records_to_json(const IfmKernelRecords *records)
{
    return ifm_record_to_json(records, records_fields);
}

/* Kernels stand in the order in which they run. */
static gboolean check_record(const IfmKernelRecord *record, guint index, const char *where, GError **error)
{
    g_autofree char *place = g_strdup_printf("%s.kernels[%u]", where, index);
    for (guint i = 0; i < record->depends->len; i++)
        if (g_array_index(record->depends, gint64, i) < 0 || g_array_index(record->depends, gint64, i) >= index)
            return ifm_error_refuse(error, "%s.depends[%u]: not a kernel before this one", place, i);
    return ifm_kernel_record_check(record, place, error);
}

static IfmKernelRecords *from_json(const json_t *json, const char *where, GError **error)
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

IfmKernelRecords *ifm_kernel_records_from_json(const json_t *json, const char *where, GError **error)
{
    IfmKernelRecords *records = from_json(json, where, error);
    if (records == NULL)
        ifm_error_make_one_line(error); /* it may quote a key */
    return records;
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
