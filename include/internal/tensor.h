/* room: base */
#pragma once
#include <inferometer/tensor-file.h>
#include <inferometer/tensor.h>

G_BEGIN_DECLS

/** ifm_dtype_from_name: Returns: IFM_DTYPE_UNDEFINED for an unknown name. */
IfmDtype ifm_dtype_from_name(const char *name);

/** ifm_dtype_lower: Returns: the dtype of lower precision. Only floating-point types count; UNDEFINED does not. */
IfmDtype ifm_dtype_lower(IfmDtype a, IfmDtype b);

/**
 * ifm_shape_size_bytes:
 * Equals: *size_bytes = product(shape) * ifm_dtype_size_bytes(dtype), 1 element for rank 0
 * Returns: FALSE with the IFM_ERROR_INVALID of ifm_tensor_init().
 */
gboolean ifm_shape_size_bytes(IfmDtype dtype, int rank, const gint64 *shape, gsize *size_bytes, GError **error);

/**
 * ifm_tensor_reserve: As ifm_tensor_init(), but reserves addresses only: a page takes time and memory when it is first
 * used. For tensors whose values may never be read. They may be larger than the memory of the machine. Not for a tensor
 * that a timed run writes to: the run would pay for the pages.
 */
gboolean ifm_tensor_reserve(IfmTensor *tensor, IfmDtype dtype, int rank, const gint64 *shape, GError **error);

/** ifm_tensor_head: Returns: the first elements of a contiguous host tensor, as a flat, borrowed tensor of at most
 * @max_bytes. */
IfmTensor ifm_tensor_head(const IfmTensor *tensor, gsize max_bytes);

/** ifm_tensor_is_contiguous: Whether the strides are those of a dense row-major array; strides of dimensions of 1 are
 * ignored. */
gboolean ifm_tensor_is_contiguous(const IfmTensor *tensor);

/** ifm_shape_to_string: Returns: (transfer full) "[1,3,224,224]"; a dimension of -1 reads "?". */
char *ifm_shape_to_string(int rank, const gint64 *shape);

/** ifm_tensor_root_mean_square: The root mean square of the finite elements; 0 where no element is finite. */
double ifm_tensor_root_mean_square(const IfmTensor *tensor);

/** ifm_tensor_first_not_finite: Returns: the row-major index of the first NaN or infinity; -1 where all elements are
 * finite. */
gint64 ifm_tensor_first_not_finite(const IfmTensor *tensor);

/** ifm_tensor_set_integer: Stores an integer that its type holds in element @index (row-major) of a contiguous host tensor
 * of numbers. */
void ifm_tensor_set_integer(IfmTensor *tensor, gint64 index, gint64 value);

#define IFM_TENSOR_BLOCK 1024
/** ifm_tensor_load_block: The elements from @at on of a contiguous host tensor, as doubles. @out: [IFM_TENSOR_BLOCK]
 * Returns: how many there are: IFM_TENSOR_BLOCK or those that are left. */
int ifm_tensor_load_block(const IfmTensor *tensor, gint64 at, double *out);

/** ifm_tensor_file_save_temporary: As ifm_tensor_file_save() without fsync, for files that need not survive a crash of the
 * machine. */
gboolean ifm_tensor_file_save_temporary(const char *path, const char *const *names, const IfmTensor *tensors, gsize n,
                                        GError **error);
gsize ifm_tensor_file_n(const IfmTensorFile *file);
const char *ifm_tensor_file_name(const IfmTensorFile *file, gsize index);

/** ifm_tensor_file_tensor: (transfer none) its bytes are in the mapping and read-only. */
const IfmTensor *ifm_tensor_file_tensor(const IfmTensorFile *file, gsize index);

/** ifm_tensor_file_digest: (transfer full) SHA-256 in hex of names, types, shapes and bytes. */
char *ifm_tensor_file_digest(const IfmTensorFile *file);

/**
 * Texts (IFM_DTYPE_STRING): their bytes one after the other, each with a zero at its end; strides are 0.
 * ifm_tensor_init_texts: @texts: as many as the shape says; NULL: all are empty. Returns: FALSE with the errors of
 * ifm_tensor_init().
 * ifm_tensor_wrap_texts: As ifm_tensor_wrap(). Returns: FALSE with IFM_ERROR_INVALID where the bytes are not as many texts.
 * ifm_tensor_texts: (transfer container) where each begins; NULL for other tensors.
 */
gboolean ifm_tensor_init_texts(IfmTensor *tensor, int rank, const gint64 *shape, const char *const *texts, GError **error);
gboolean ifm_tensor_wrap_texts(IfmTensor *tensor, int rank, const gint64 *shape, void *data, gsize size_bytes,
                               GError **error);
const char **ifm_tensor_texts(const IfmTensor *tensor);

G_END_DECLS
