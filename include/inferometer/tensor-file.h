/* room: base */
#pragma once
#include <inferometer/tensor.h>

IFM_BEGIN_DECLS

/**
 * IfmTensorFile: named tensors, mapped from a file. Processes of one machine exchange inputs and reference outputs this
 * way. The bytes are in host order, so the file is for this machine only.
 */
typedef struct IfmTensorFile IfmTensorFile;

/**
 * ifm_tensor_file_save: Writes a file atomically. The same names and tensors give the same bytes.
 * @names, @tensors: [n], contiguous host memory
 * Returns: FALSE with IFM_ERROR_UNSUPPORTED (not contiguous, not numeric, a duplicate name) or IFM_ERROR_UNAVAILABLE.
 */
gboolean ifm_tensor_file_save(const char *path, const char *const *names, const IfmTensor *tensors, gsize n,
                              GError **error);
/** ifm_tensor_file_open: Returns: (transfer full) NULL with IFM_ERROR_CORRUPT (header and content do not agree) or
 * IFM_ERROR_UNAVAILABLE. */
IfmTensorFile *ifm_tensor_file_open(const char *path, GError **error);
void ifm_tensor_file_free(IfmTensorFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmTensorFile, ifm_tensor_file_free)

/** ifm_tensor_file_find: Returns: (transfer none) NULL for an unknown name. */
const IfmTensor *ifm_tensor_file_find(const IfmTensorFile *file, const char *name);

IFM_END_DECLS
