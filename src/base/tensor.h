/* Shared with other rooms: tensors, their files, and how far two of them are apart. */
#pragma once
#include <jansson.h>

#include <inferometer/common.h>

G_BEGIN_DECLS

/* --- accuracy ------------------------------------------------------------------------------------------------------ */

/**
 * IfmAccuracy: How near the values of a tensor come to those of a reference, over any number of samples. All zero: none
 * yet. Elements that are not finite on either side are left out of the sums; those that are so on one side alone, or
 * infinite with the other sign, are counted.
 * A row is what a classifier gives for one sample: the last axis, where it has at least 2 elements.
 */
typedef struct
{
    gint64 n_elements, n_not_finite;
    double signal, noise, dot, power; /* sums of reference^2, (value - reference)^2, value reference, value^2 */
    double max_difference, max_value, max_reference; /* the largest |value - reference|, and the two values there */
    gint64 max_index;                                /* row-major, in its sample */
    gint64 n_rows, n_first_same, n_first_in_five;    /* rows with the same largest element; whose reference's is in five */
    gint64 n_rows_of_five; /* rows of more than five elements: only they count in n_first_in_five */
} IfmAccuracy;

/* --- data types ---------------------------------------------------------------------------------------------------- */

/** IfmMemoryKind: the memory that holds a tensor. */
typedef enum
{
    IFM_MEMORY_HOST,   /* ordinary memory of this process */
    IFM_MEMORY_PINNED, /* host memory that a device can read directly */
    IFM_MEMORY_DEVICE, /* memory of a device; `data` is a handle, not an address */
} IfmMemoryKind;

#define IFM_MAX_RANK 16

/**
 * IfmTensor: a dense array and its owner.
 * @shape, @strides_bytes: [rank]. Strides are in bytes. ifm_tensor_init() makes contiguous row-major tensors.
 * @release: ifm_tensor_clear() calls it once with @data and @owner. NULL where the bytes are borrowed.
 */
typedef struct
{
    IfmDtype dtype;
    int rank;
    gint64 shape[IFM_MAX_RANK];
    gint64 strides_bytes[IFM_MAX_RANK];
    IfmMemoryKind memory;
    void *data;
    gsize size_bytes;
    void (*release)(void *data, void *owner);
    void *owner;
} IfmTensor;

/**
 * ifm_accuracy_add: Adds one sample. Strings and tensors without a size are no numbers.
 * Returns: FALSE with IFM_ERROR_INVALID where the shapes differ, or one is no contiguous host tensor of numbers; the dtypes
 * may differ.
 */
gboolean ifm_accuracy_add(IfmAccuracy *accuracy, const IfmTensor *reference, const IfmTensor *value, GError **error);

/** ifm_accuracy_sqnr_db: The signal to quantisation noise ratio, dB.
 * Equals: 10 log10(signal / noise); infinite where all elements are equal, -infinite where only the reference is zero; NaN
 * where nothing was added. */
double ifm_accuracy_sqnr_db(const IfmAccuracy *accuracy);

/** ifm_accuracy_cosine: Equals: dot / sqrt(signal power); NaN where one of them is zero. */
double ifm_accuracy_cosine(const IfmAccuracy *accuracy);

/** ifm_accuracy_top1: The share of rows whose largest element (the first of equal ones) is at the same place.
 * ifm_accuracy_top5: The share of rows of more than five elements where the place of the reference's largest element is
 * among the five largest. NaN without rows. */
double ifm_accuracy_top1(const IfmAccuracy *accuracy);
double ifm_accuracy_top5(const IfmAccuracy *accuracy);

/** ifm_accuracy_to_json: (transfer full) {"n_elements", "n_not_finite", "sqnr_db", "cosine", "max_difference", "n_rows",
 * "top1", "top5"}: null for NaN, "inf" or "-inf" for an infinity. */
json_t *ifm_accuracy_to_json(const IfmAccuracy *accuracy);

/* --- NumPy files --------------------------------------------------------------------------------------------------- */

/** IfmNumpyAccept: Whether an array of that type and shape is wanted; asked before anything is allocated for its values.
 * Returns: FALSE with the error of ifm_numpy_read(). */
typedef gboolean (*IfmNumpyAccept)(IfmDtype dtype, int rank, const gint64 *shape, gconstpointer user, GError **error);

/**
 * ifm_numpy_read: The array of a file that NumPy wrote: NPY (numpy.save), or NPZ (numpy.savez), a zip archive of those.
 * Python objects in it (a pickle) are refused and never read.
 * @data: [size] the bytes of the file    @member: the array's name in an NPZ file (NULL: none); a file with one array
 * gives that one whatever its name
 * @where: the file's name, for messages
 * @accept: (nullable) with @user
 * @tensor: (out) holds a copy of the values
 * Returns: FALSE with IFM_ERROR_INVALID for other bytes, an array that is not of little-endian numbers in C order, a
 * truncated or damaged file, or an NPZ file without that array; or with IFM_ERROR_MEMORY. @tensor is then empty.
 * Source: NEP 1, "A Simple File Format for NumPy Arrays", with versions 1.0, 2.0 and 3.0 of numpy.lib.format
 */
gboolean ifm_numpy_read(const guint8 *data, gsize size, const char *member, const char *where, IfmNumpyAccept accept,
                        gconstpointer user, IfmTensor *tensor, GError **error);

/* --- files of tensors ---------------------------------------------------------------------------------------------- */

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

/** ifm_dtype_name: Returns: "f32", "i64", …; "undefined" for a type without a size here. */
const char *ifm_dtype_name(IfmDtype dtype);

/** ifm_dtype_size_bytes: Returns: bytes per element; 0 for strings, undefined and packed sub-byte types. */
gsize ifm_dtype_size_bytes(IfmDtype dtype);

/** ifm_dtype_bits: Returns: bits per element, also of packed types; 0 for strings and undefined. */
guint ifm_dtype_bits(IfmDtype dtype);

/** ifm_dtype_is_float: whether it is f16, bf16, f32 or f64. */
gboolean ifm_dtype_is_float(IfmDtype dtype);

#define IFM_TENSOR_INIT ((IfmTensor){ 0 })

/**
 * ifm_tensor_init: Allocates a contiguous zero-filled host tensor, its data aligned to 64 bytes.
 * @shape: [rank]
 * Returns: FALSE with IFM_ERROR_INVALID for a negative dimension, a rank beyond IFM_MAX_RANK, a dtype without size, or more
 * than G_MAXINT64 bytes; or IFM_ERROR_MEMORY. @tensor is then empty.
 */
gboolean ifm_tensor_init(IfmTensor *tensor, IfmDtype dtype, int rank, const gint64 *shape, GError **error);

/** ifm_tensor_wrap: Describes contiguous host bytes that the caller owns; @tensor->release is NULL.
 * Returns: FALSE with the IFM_ERROR_INVALID of ifm_tensor_init(). */
gboolean ifm_tensor_wrap(IfmTensor *tensor, IfmDtype dtype, int rank, const gint64 *shape, void *data, GError **error);

/** ifm_tensor_clear: Releases the bytes and empties @tensor. An empty tensor is allowed. */
void ifm_tensor_clear(IfmTensor *tensor);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(IfmTensor, ifm_tensor_clear)

/** ifm_tensor_n_elements: Equals: product(shape), 1 for rank 0. */
gint64 ifm_tensor_n_elements(const IfmTensor *tensor);

/**
 * ifm_tensor_fill_random: Fills a contiguous host tensor from a seeded generator.
 * Floats are uniform in [low, high); integers uniform in [(gint64)low, (gint64)high] (clamped to the type); bool 0 or 1.
 * The same generator state, dtype and shape give the same bytes on every machine.
 * Returns: FALSE with IFM_ERROR_UNSUPPORTED for a dtype that is not numeric (strings).
 */
gboolean ifm_tensor_fill_random(IfmTensor *tensor, GRand *random, double low, double high, GError **error);

/** ifm_tensor_get_double: Element @index (row-major) of a contiguous host tensor as a double; f16 and bf16 are widened. */
double ifm_tensor_get_double(const IfmTensor *tensor, gint64 index);

/** IfmTensorDifference: the largest difference of a comparison. A NaN or infinity on one side only is an infinite one. */
typedef struct
{
    gint64 n_different; /* elements outside the tolerance */
    gint64 worst_index; /* row-major; -1 where all elements are equal */
    double worst_value, worst_reference;
    double max_abs_difference;
} IfmTensorDifference;

/**
 * ifm_tensor_compare: Compares two tensors element by element.
 * Equals: all |value - reference| <= atol + rtol * |reference|   (dtype and shape must match)
 * @difference: (out) (optional)
 * Returns: whether every element is within the tolerance; FALSE also where dtype or shape differ (n_different = -1).
 */
gboolean ifm_tensor_compare(const IfmTensor *value, const IfmTensor *reference, double rtol, double atol,
                            IfmTensorDifference *difference);

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

/** ifm_tensor_same_shape: Whether two tensors have the same dimensions. */
gboolean ifm_tensor_same_shape(const IfmTensor *a, const IfmTensor *b);

G_END_DECLS
