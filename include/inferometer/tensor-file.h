#pragma once
#include <inferometer/tensor.h>

G_BEGIN_DECLS

/**
 * IfmTensorFile: named tensors, mapped from a file. How processes on one machine hand each other inputs and reference
 * outputs: bytes are in host order, and the file never leaves the machine.
 */
typedef struct IfmTensorFile IfmTensorFile;

/**
 * ifm_tensor_file_save: Writes atomically. Same names and tensors, same bytes.
 * @names, @tensors: [n], contiguous host memory
 * Returns: FALSE with IFM_ERROR_UNSUPPORTED (strides, no numbers, a name given twice) or IFM_ERROR_UNAVAILABLE.
 */
gboolean ifm_tensor_file_save(const char *path, const char *const *names, const IfmTensor *tensors, gsize n,
                              GError **error);
/** ifm_tensor_file_save_temporary: As above, without waiting for the disk: see ifm_file_save_temporary(). */
gboolean ifm_tensor_file_save_temporary(const char *path, const char *const *names, const IfmTensor *tensors, gsize n,
                                        GError **error);
/** ifm_tensor_file_open: Returns: (transfer full) NULL with IFM_ERROR_CORRUPT (what it says of itself is not so) or
 * IFM_ERROR_UNAVAILABLE. */
IfmTensorFile *ifm_tensor_file_open(const char *path, GError **error);
void ifm_tensor_file_free(IfmTensorFile *file);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmTensorFile, ifm_tensor_file_free)

gsize ifm_tensor_file_n(const IfmTensorFile *file);
const char *ifm_tensor_file_name(const IfmTensorFile *file, gsize index);
/** ifm_tensor_file_tensor: borrowed from the mapping; read only. */
const IfmTensor *ifm_tensor_file_tensor(const IfmTensorFile *file, gsize index);
/** ifm_tensor_file_find: Returns: NULL where there is none of that name. */
const IfmTensor *ifm_tensor_file_find(const IfmTensorFile *file, const char *name);
/** ifm_tensor_file_digest: (transfer full) SHA-256 in hex of names, types, shapes and bytes. */
char *ifm_tensor_file_digest(const IfmTensorFile *file);

G_END_DECLS
