/* room: base */
#pragma once
#include <inferometer/error.h>

IFM_BEGIN_DECLS

#define IFM_MAX_RANK 16

/** IfmDtype: element types; the values are ONNX's TensorProto.DataType. */
typedef enum
{
    IFM_DTYPE_UNDEFINED = 0,
    IFM_DTYPE_F32 = 1,
    IFM_DTYPE_U8 = 2,
    IFM_DTYPE_I8 = 3,
    IFM_DTYPE_U16 = 4,
    IFM_DTYPE_I16 = 5,
    IFM_DTYPE_I32 = 6,
    IFM_DTYPE_I64 = 7,
    IFM_DTYPE_STRING = 8,
    IFM_DTYPE_BOOL = 9,
    IFM_DTYPE_F16 = 10,
    IFM_DTYPE_F64 = 11,
    IFM_DTYPE_U32 = 12,
    IFM_DTYPE_U64 = 13,
    IFM_DTYPE_BF16 = 16,
    IFM_DTYPE_F8E4M3FN = 17,
    IFM_DTYPE_F8E4M3FNUZ = 18,
    IFM_DTYPE_F8E5M2 = 19,
    IFM_DTYPE_F8E5M2FNUZ = 20,
    /* of less than a byte: packed, the first in the lowest bits; strides are 0, and no element is read by itself */
    IFM_DTYPE_U4 = 21,
    IFM_DTYPE_I4 = 22,
    IFM_DTYPE_F4E2M1 = 23,
    IFM_DTYPE_F8E8M0 = 24,
    IFM_DTYPE_U2 = 25,
    IFM_DTYPE_I2 = 26,
} IfmDtype;

/** ifm_dtype_name: Returns: "f32", "i64", …; "undefined" for a type without a size here. */
const char *ifm_dtype_name(IfmDtype dtype);
/** ifm_dtype_size_bytes: Returns: bytes per element; 0 for strings, undefined and packed sub-byte types. */
gsize ifm_dtype_size_bytes(IfmDtype dtype);
/** ifm_dtype_bits: Returns: bits per element, also of packed types; 0 for strings and undefined. */
guint ifm_dtype_bits(IfmDtype dtype);
/** ifm_dtype_is_float: whether it is f16, bf16, f32 or f64. */
gboolean ifm_dtype_is_float(IfmDtype dtype);

/** IfmMemoryKind: the memory that holds a tensor. */
typedef enum
{
    IFM_MEMORY_HOST,   /* ordinary memory of this process */
    IFM_MEMORY_PINNED, /* host memory that a device can read directly */
    IFM_MEMORY_DEVICE, /* memory of a device; `data` is a handle, not an address */
} IfmMemoryKind;

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

IFM_END_DECLS
