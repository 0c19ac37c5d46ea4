/* room: report */
#pragma once
#include <inferometer/document.h>
#include <inferometer/kernel-records.h>

IFM_BEGIN_DECLS

/* The pages of `kernels list` and `kernels show`, and what is made of records for other programs. */

/** ifm_kernels_document: (transfer full) of each model how its kernels cover its nodes, and its distinct kernels; of
 * several models also the names of kernels with the models that have them. @records: [n], borrowed by the document */
IfmDocument *ifm_kernels_document(const IfmKernelRecords *const *records, gsize n);

/**
 * ifm_kernel_document: Kernels of a model in full. @wanted: a name ("Conv_Add_Relu"), a file's name as
 * ifm_kernel_record_stem() has it, or first digits of a digest
 * Returns: (transfer full) NULL with IFM_ERROR_INVALID where the model has none such. Borrows @records.
 */
IfmDocument *ifm_kernel_document(const IfmKernelRecords *records, const char *wanted, GError **error);

/** ifm_kernel_dag_to_json: (transfer full) which kernel waits for which: docs/formats.md, "The graph of kernels" */
json_t *ifm_kernel_dag_to_json(const IfmKernelRecords *records);

IFM_END_DECLS
