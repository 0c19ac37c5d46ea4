/* room: onnx */
#pragma once
#include <inferometer/kernel-record.h>
#include <internal/onnx.h>
#include <internal/record-fields.h>

G_BEGIN_DECLS

/* (transfer full) empty */
IfmKernelRecord *ifm_kernel_record_new(void);
IfmKernelTensor *ifm_kernel_tensor_new(void);
/** ifm_kernel_record_fields: of IfmKernelRecord, for files that list several. */
extern const IfmRecordField ifm_kernel_record_fields[];
/** ifm_kernel_record_check: What the fields alone do not say. @where: for messages */
gboolean ifm_kernel_record_check(const IfmKernelRecord *record, const char *where, GError **error);
/** ifm_kernel_analyse: (transfer full) shapes and cost of a kernel by its inputs and attributes: node 0, outputs
 * o<output>_0, whatever the record says of those. @model: (out) (transfer full) what it borrows from */
IfmAnalysis *ifm_kernel_analyse(const IfmKernelRecord *record, IfmModel **model, GError **error);
/** ifm_kernel_record_digest: (transfer full)    ifm_kernel_record_count_bytes: by its tensors, whatever it said before */
char *ifm_kernel_record_digest(const IfmKernelRecord *record);
void ifm_kernel_record_count_bytes(IfmKernelRecord *record);

G_END_DECLS
