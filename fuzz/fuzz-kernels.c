/*
 * The libFuzzer target of the reader of records of kernels, and (compiled into tests/kernel/test-fuzz-kernels.c) the same
 * entry for the corpus. Whatever the document says, an error must be one line with its place; records must be what their
 * header promises, written and read again the same, shown, and each small kernel of them extracted or refused.
 */
#include <base/fields.h>
#include <kernel/kernel.h>

#include "fuzz.h"

#define MAX_EXTRACTED_BYTES 1000000

static void check_tensors(const GPtrArray *tensors)
{
    for (guint i = 0; i < tensors->len; i++)
    {
        const IfmKernelTensor *tensor = tensors->pdata[i];
        must(tensor->dims->len <= IFM_MAX_RANK);
        for (guint k = 0; k < tensor->dims->len; k++)
            must(g_array_index(tensor->dims, gint64, k) >= 0);
    }
}

static void extract(const IfmKernelRecord *kernel)
{
    GError *error = NULL;
    if (kernel->input_bytes + kernel->weight_bytes + kernel->output_bytes > MAX_EXTRACTED_BYTES)
        return;
    g_autoptr(IfmModel) model = ifm_kernel_extract(kernel, NULL, 2, 1, &error);
    must((model == NULL) == (error != NULL));
    if (error != NULL)
        must_be_line(error);
}

static void check_kernel(const IfmKernelRecord *kernel, guint index)
{
    must(*kernel->name != '\0' && kernel->coverage >= IFM_COVERAGE_EXACT && kernel->coverage <= IFM_COVERAGE_AMBIGUOUS);
    must(!(kernel->flop < 0) && kernel->input_bytes >= 0 && kernel->weight_bytes >= 0 && kernel->output_bytes >= 0);
    check_tensors(kernel->inputs);
    check_tensors(kernel->outputs);
    for (guint i = 0; i < kernel->depends->len; i++)
        must(g_array_index(kernel->depends, gint64, i) >= 0 && g_array_index(kernel->depends, gint64, i) < index);
    g_autofree char *stem = ifm_kernel_record_stem(kernel);
    must(*stem != '\0' && strpbrk(stem, "./\\ ") == NULL);
    static const gint64 caches[] = { 0, 1, 32 << 20, G_MAXINT64 };
    for (gsize i = 0; i < G_N_ELEMENTS(caches); i++)
        for (gsize k = 0; k < G_N_ELEMENTS(caches); k++)
            must(ifm_kernel_ring_copies(kernel, caches[k], caches[i]) >= 1 &&
                 ifm_kernel_ring_copies(kernel, caches[k], caches[i]) <= IFM_KERNEL_MAX_COPIES);
    extract(kernel);
}

static void show(const IfmKernelRecords *records)
{
    const IfmScreen screen = { .width = 80 };
    GError *error = NULL;
    json_auto_t *dag = ifm_kernel_dag_to_json(records);
    g_autofree char *page = ifm_document_show(ifm_kernels_document(&records, 1), &screen);
    must(ifm_kernel_records_working_set(records) >= 1);
    must(dag != NULL && *page != '\0');
    if (records->kernels->len == 0)
        return;
    const IfmKernelRecord *first = records->kernels->pdata[0];
    IfmDocument *document = ifm_kernel_document(records, first->name, &error);
    must(document != NULL && error == NULL);
    g_autofree char *of_one = ifm_document_show(document, &screen);
    must(*of_one != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    g_autofree char *copy =
        g_memdup2(size > 0 ? data : (const uint8_t *)"", MAX(size, 1)); /* of just its size, so that ASan sees its end */
    GError *error = NULL;
    json_auto_t *json = ifm_json_parse(copy, size, "input", &error);
    g_autoptr(IfmKernelRecords) records = json != NULL ? ifm_kernel_records_from_json(json, "input", &error) : NULL;
    must((records == NULL) == (error != NULL));
    if (records == NULL)
    {
        must(error->code == IFM_ERROR_INVALID && g_str_has_prefix(error->message, "input"));
        must_be_line(error);
        return 0;
    }
    for (guint i = 0; i < records->kernels->len; i++)
        check_kernel(records->kernels->pdata[i], i);
    show(records);
    json_auto_t *written = ifm_kernel_records_to_json(records);
    g_autoptr(IfmKernelRecords) again = ifm_kernel_records_from_json(written, "again", &error);
    must(again != NULL);
    json_auto_t *rewritten = ifm_kernel_records_to_json(again);
    must(json_equal(written, rewritten));
    return 0;
}
