#include <base/base.h>
#include <base/tensor.h>
#include <float.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>

/* What is known of each type. @bits: of an element; 0: none    @significand_bits: of a floating-point type that is computed
 * in    @min, @max: of an integer type, within what 64 bits hold */
typedef struct
{
    const char *name;
    guint bits;
    int significand_bits;
    gint64 min, max;
} Dtype;

static const Dtype dtypes[] = {
    [IFM_DTYPE_F32] = { "f32", 32, 24, G_MININT64, G_MAXINT64 },
    [IFM_DTYPE_U8] = { "u8", 8, 0, 0, G_MAXUINT8 },
    [IFM_DTYPE_I8] = { "i8", 8, 0, G_MININT8, G_MAXINT8 },
    [IFM_DTYPE_U16] = { "u16", 16, 0, 0, G_MAXUINT16 },
    [IFM_DTYPE_I16] = { "i16", 16, 0, G_MININT16, G_MAXINT16 },
    [IFM_DTYPE_I32] = { "i32", 32, 0, G_MININT32, G_MAXINT32 },
    [IFM_DTYPE_I64] = { "i64", 64, 0, G_MININT64, G_MAXINT64 },
    [IFM_DTYPE_STRING] = { "string", 0, 0, G_MININT64, G_MAXINT64 },
    [IFM_DTYPE_BOOL] = { "bool", 8, 0, 0, 1 },
    [IFM_DTYPE_F16] = { "f16", 16, 11, G_MININT64, G_MAXINT64 },
    [IFM_DTYPE_F64] = { "f64", 64, 53, G_MININT64, G_MAXINT64 },
    [IFM_DTYPE_U32] = { "u32", 32, 0, 0, G_MAXUINT32 },
    [IFM_DTYPE_U64] = { "u64", 64, 0, 0, G_MAXINT64 },
    [IFM_DTYPE_BF16] = { "bf16", 16, 8, G_MININT64, G_MAXINT64 },
    [IFM_DTYPE_F8E4M3FN] = { "f8e4m3fn", 8, 0, G_MININT64, G_MAXINT64 },
    [IFM_DTYPE_F8E4M3FNUZ] = { "f8e4m3fnuz", 8, 0, G_MININT64, G_MAXINT64 },
    [IFM_DTYPE_F8E5M2] = { "f8e5m2", 8, 0, G_MININT64, G_MAXINT64 },
    [IFM_DTYPE_F8E5M2FNUZ] = { "f8e5m2fnuz", 8, 0, G_MININT64, G_MAXINT64 },
    [IFM_DTYPE_F8E8M0] = { "f8e8m0", 8, 0, G_MININT64, G_MAXINT64 },
    [IFM_DTYPE_U4] = { "u4", 4, 0, G_MININT64, G_MAXINT64 },
    [IFM_DTYPE_I4] = { "i4", 4, 0, G_MININT64, G_MAXINT64 },
    [IFM_DTYPE_F4E2M1] = { "f4e2m1", 4, 0, G_MININT64, G_MAXINT64 },
    [IFM_DTYPE_U2] = { "u2", 2, 0, G_MININT64, G_MAXINT64 },
    [IFM_DTYPE_I2] = { "i2", 2, 0, G_MININT64, G_MAXINT64 },
};

static const Dtype *row_of(IfmDtype dtype)
{
    static const Dtype unknown = { "undefined", 0, 0, G_MININT64, G_MAXINT64 };
    return (gsize)dtype < G_N_ELEMENTS(dtypes) && dtypes[dtype].name != NULL ? &dtypes[dtype] : &unknown;
}

const char *ifm_dtype_name(IfmDtype dtype)
{
    return row_of(dtype)->name;
}

IfmDtype ifm_dtype_from_name(const char *name)
{
    for (gsize i = 0; i < G_N_ELEMENTS(dtypes); i++)
        if (name != NULL && g_strcmp0(dtypes[i].name, name) == 0)
            return (IfmDtype)i;
    return IFM_DTYPE_UNDEFINED;
}

guint ifm_dtype_bits(IfmDtype dtype)
{
    return row_of(dtype)->bits;
}

gsize ifm_dtype_size_bytes(IfmDtype dtype)
{
    return row_of(dtype)->bits / 8;
}

char *ifm_shape_to_string(int rank, const gint64 *shape)
{
    GString *text = g_string_new("[");
    for (int i = 0; i < rank; i++)
    {
        if (i > 0)
            g_string_append_c(text, ',');
        if (shape[i] < 0)
            g_string_append_c(text, '?');
        else
            g_string_append_printf(text, "%" G_GINT64_FORMAT, shape[i]);
    }
    g_string_append_c(text, ']');
    return g_string_free(text, FALSE);
}

gboolean ifm_shape_size_bytes(IfmDtype dtype, int rank, const gint64 *shape, gsize *size_bytes, GError **error)
{
    const guint bits = ifm_dtype_bits(dtype);
    const gboolean is_packed = bits % 8 != 0;
    gint64 total = is_packed ? 1 : bits / 8; /* bytes; of packed types elements */
    if (bits == 0)
        return ifm_error_refuse(error, "dtype %s (%d) has no element size", ifm_dtype_name(dtype), dtype);
    if (rank < 0 || rank > IFM_MAX_RANK)
        return ifm_error_refuse(error, "rank %d is not within 0 to %d", rank, IFM_MAX_RANK);
    gboolean empty = FALSE, overflow = FALSE;
    for (int i = 0; i < rank; i++)
    {
        if (shape[i] < 0)
        {
            g_autofree char *text = ifm_shape_to_string(rank, shape);
            return ifm_error_refuse(error, "shape %s: dimension %d is not known", text, i);
        }
        if (shape[i] == 0)
            empty = TRUE;
        else if (__builtin_mul_overflow(total, shape[i], &total))
            overflow = TRUE;
    }
    if (overflow && !empty)
    {
        g_autofree char *text = ifm_shape_to_string(rank, shape);
        return ifm_error_refuse(error, "shape %s of %s is larger than any memory", text, ifm_dtype_name(dtype));
    }
    const gsize per_byte = is_packed ? 8 / bits : 1;
    *size_bytes = empty ? 0 : ((gsize)total + per_byte - 1) / per_byte;
    return TRUE;
}

static void set_contiguous(IfmTensor *tensor, IfmDtype dtype, int rank, const gint64 *shape)
{
    tensor->dtype = dtype;
    tensor->rank = rank;
    tensor->memory = IFM_MEMORY_HOST;
    guint64 stride =
        ifm_dtype_size_bytes(dtype); /* unsigned may overflow: with one dimension of 0, the others may have any size */
    for (int i = rank - 1; i >= 0; i--)
    {
        tensor->shape[i] = shape[i];
        tensor->strides_bytes[i] = (gint64)stride;
        stride *= (guint64)MAX(shape[i], 1);
    }
}

gboolean ifm_tensor_wrap(IfmTensor *tensor, IfmDtype dtype, int rank, const gint64 *shape, void *data, GError **error)
{
    *tensor = IFM_TENSOR_INIT;
    gsize size_bytes;
    if (!ifm_shape_size_bytes(dtype, rank, shape, &size_bytes, error))
        return FALSE;
    set_contiguous(tensor, dtype, rank, shape);
    tensor->data = data;
    tensor->size_bytes = size_bytes;
    return TRUE;
}

static void release_aligned(void *data, void *owner)
{
    free(data);
}

static gboolean refuse(IfmTensor *tensor, GError **error)
{
    g_autofree char *text = ifm_shape_to_string(tensor->rank, tensor->shape);
    ifm_error_set(error, IFM_ERROR_MEMORY, "no memory for a tensor of shape %s (%zu bytes)", text, tensor->size_bytes);
    *tensor = IFM_TENSOR_INIT;
    return FALSE;
}

static void release_mapping(void *data, void *owner)
{
    munmap(data, GPOINTER_TO_SIZE(owner));
}

gboolean ifm_tensor_reserve(IfmTensor *tensor, IfmDtype dtype, int rank, const gint64 *shape, GError **error)
{
    if (!ifm_tensor_wrap(tensor, dtype, rank, shape, NULL, error))
        return FALSE;
    if (tensor->size_bytes > G_MAXSSIZE - 64)
        return refuse(tensor, error);
    gsize n_bytes = MAX(tensor->size_bytes, 64);
    /* MAP_NORESERVE: most of the pages are never used, so the kernel need not account for them */
    void *data = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED)
        return refuse(tensor, error);
    tensor->data = data;
    tensor->owner = GSIZE_TO_POINTER(n_bytes);
    tensor->release = release_mapping;
    return TRUE;
}

gboolean ifm_tensor_init(IfmTensor *tensor, IfmDtype dtype, int rank, const gint64 *shape, GError **error)
{
    if (!ifm_tensor_wrap(tensor, dtype, rank, shape, NULL, error))
        return FALSE;
    void *data = NULL;
    /* At least 64 bytes, so that an empty tensor has an address too: the runtimes refuse NULL. */
    if (tensor->size_bytes > G_MAXSSIZE - 64 || posix_memalign(&data, 64, MAX(tensor->size_bytes, 64)) != 0)
        return refuse(tensor, error);
    memset(data, 0, MAX(tensor->size_bytes, 64)); /* touches the pages now, so that no run pays for them */
    tensor->data = data;
    tensor->release = release_aligned;
    return TRUE;
}

/* --- texts --------------------------------------------------------------------------------------------------------------
 */

/* Where each of @n texts begins, or NULL where the bytes are not as many texts, each with its end. (transfer container) */
static const char **find_texts(const char *bytes, gsize size_bytes, gsize n)
{
    g_autofree const char **texts = n <= size_bytes ? g_new(const char *, n + 1) : NULL;
    const char *at = bytes, *end = bytes + size_bytes;
    for (gsize i = 0; texts != NULL && i < n; i++)
    {
        const char *stop = at < end ? memchr(at, 0, (gsize)(end - at)) : NULL;
        if (stop == NULL)
            return NULL;
        texts[i] = at;
        at = stop + 1;
    }
    return at == end ? g_steal_pointer(&texts) : NULL;
}

const char **ifm_tensor_texts(const IfmTensor *tensor)
{
    return tensor->dtype == IFM_DTYPE_STRING
               ? find_texts(tensor->data, tensor->size_bytes, (gsize)ifm_tensor_n_elements(tensor))
               : NULL;
}

gboolean ifm_tensor_wrap_texts(IfmTensor *tensor, int rank, const gint64 *shape, void *data, gsize size_bytes,
                               GError **error)
{
    gsize n = 0;
    *tensor = IFM_TENSOR_INIT;
    if (!ifm_shape_size_bytes(IFM_DTYPE_U8, rank, shape, &n, error)) /* each has an end at least */
        return FALSE;
    g_autofree const char **texts = find_texts(data, size_bytes, n);
    if (texts == NULL && n > 0)
        return ifm_error_refuse(error, "%zu bytes are not %zu texts", size_bytes, n);
    set_contiguous(tensor, IFM_DTYPE_STRING, rank, shape);
    tensor->data = data;
    tensor->size_bytes = n > 0 ? size_bytes : 0;
    return TRUE;
}

gboolean ifm_tensor_init_texts(IfmTensor *tensor, int rank, const gint64 *shape, const char *const *texts, GError **error)
{
    gsize n = 0, size = 0;
    *tensor = IFM_TENSOR_INIT;
    if (!ifm_shape_size_bytes(IFM_DTYPE_U8, rank, shape, &n, error))
        return FALSE;
    for (gsize i = 0; texts != NULL && i < n; i++)
        size += strlen(texts[i]) + 1;
    set_contiguous(tensor, IFM_DTYPE_STRING, rank, shape);
    tensor->size_bytes = texts != NULL ? size : n;
    tensor->data = g_try_malloc0(tensor->size_bytes + 1);
    if (tensor->data == NULL)
        return refuse(tensor, error);
    tensor->release = release_aligned;
    char *at = tensor->data;
    for (gsize i = 0; texts != NULL && i < n; i++)
        at = stpcpy(at, texts[i]) + 1;
    return TRUE;
}

IfmTensor ifm_tensor_head(const IfmTensor *tensor, gsize max_bytes)
{
    IfmTensor head = *tensor;
    gsize element_bytes = ifm_dtype_size_bytes(tensor->dtype);
    head.release = NULL;
    if (tensor->size_bytes <= max_bytes || element_bytes == 0)
        return head;
    gint64 n = (gint64)(max_bytes / element_bytes);
    set_contiguous(&head, tensor->dtype, 1, &n);
    head.size_bytes = (gsize)n * element_bytes;
    return head;
}

void ifm_tensor_clear(IfmTensor *tensor)
{
    if (tensor->release != NULL)
        tensor->release(tensor->data, tensor->owner);
    *tensor = IFM_TENSOR_INIT;
}

gint64 ifm_tensor_n_elements(const IfmTensor *tensor)
{
    guint64 n = 1; /* unsigned, as above */
    for (int i = 0; i < tensor->rank; i++)
        n *= (guint64)tensor->shape[i];
    return (gint64)n;
}

gboolean ifm_tensor_is_contiguous(const IfmTensor *tensor)
{
    guint64 stride = ifm_dtype_size_bytes(tensor->dtype);
    for (int i = tensor->rank - 1; i >= 0; i--)
    {
        if (tensor->shape[i] != 1 && tensor->strides_bytes[i] != (gint64)stride)
            return FALSE;
        stride *= (guint64)MAX(tensor->shape[i], 1);
    }
    return TRUE;
}

static guint16 half_from_float(float value)
{
    /* Round to nearest even by way of the float's bits; subnormals and overflow included. */
    guint32 bits;
    memcpy(&bits, &value, sizeof bits);
    guint16 sign = (guint16)((bits >> 16) & 0x8000u);
    float magnitude = fabsf(value);
    if (isnan(value))
        return sign | 0x7e00u;
    if (magnitude >= 65520.0f)
        return sign | 0x7c00u;
    if (magnitude < 6.103515625e-05f) /* below the smallest normal number: a multiple of 2^-24 */
        return (guint16)(sign | (guint16)lrintf(magnitude * 16777216.0f));
    bits &= 0x7fffffffu;
    bits += 0x0fffu + ((bits >> 13) & 1u);
    return (guint16)(sign | ((bits - (112u << 23)) >> 13));
}

static double half_to_double(guint16 half)
{
    int exponent = (half >> 10) & 31, fraction = half & 1023;
    double magnitude = exponent == 31  ? (fraction != 0 ? NAN : INFINITY)
                       : exponent == 0 ? ldexp(fraction, -24)
                                       : ldexp(1024 + fraction, exponent - 25);
    return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

static guint16 bfloat_from_float(float value)
{
    guint32 bits;
    memcpy(&bits, &value, sizeof bits);
    return (guint16)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

static double bfloat_to_double(guint16 half)
{
    guint32 bits = (guint32)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* --- of 8 bits: "FP8 Formats for Deep Learning" (Micikevicius et al., 2022), and those of ONNX's float8 page
 * ----------------- */

/* @bias: of the exponent    @fnuz: neither infinities nor -0, whose code is NaN    @fn: NaN is all ones, and there is no
 * infinity */
static const struct
{
    IfmDtype dtype;
    int fraction_bits, bias;
    gboolean fn, fnuz;
} float8s[] = {
    { IFM_DTYPE_F8E4M3FN, 3, 7, TRUE, FALSE },
    { IFM_DTYPE_F8E4M3FNUZ, 3, 8, FALSE, TRUE },
    { IFM_DTYPE_F8E5M2, 2, 15, FALSE, FALSE },
    { IFM_DTYPE_F8E5M2FNUZ, 2, 16, FALSE, TRUE },
};

static gboolean is_float8(IfmDtype dtype)
{
    return dtype >= IFM_DTYPE_F8E4M3FN && dtype <= IFM_DTYPE_F8E5M2FNUZ;
}

static double float8_to_double(IfmDtype dtype, guint8 code)
{
    if (dtype == IFM_DTYPE_F8E8M0) /* a power of two */
        return code == 255 ? NAN : ldexp(1, code - 127);
    const int row = (int)dtype - IFM_DTYPE_F8E4M3FN, bits = float8s[row].fraction_bits, top = (1 << (7 - bits)) - 1;
    const int exponent = (code >> bits) & top, fraction = code & ((1 << bits) - 1);
    if (float8s[row].fnuz ? code == 0x80 : float8s[row].fn ? (code & 127) == 127 : exponent == top && fraction != 0)
        return NAN;
    double magnitude = exponent == 0 ? ldexp(fraction, 1 - float8s[row].bias - bits)
                                     : ldexp((1 << bits) + fraction, exponent - float8s[row].bias - bits);
    if (exponent == top && !float8s[row].fn && !float8s[row].fnuz)
        magnitude = INFINITY;
    return (code & 128) != 0 ? -magnitude : magnitude;
}

/* The nearest code that is finite. */
static guint8 float8_from_double(IfmDtype dtype, double value)
{
    guint8 nearest = 0;
    double least = INFINITY;
    for (guint code = 0; code < 256; code++)
    {
        const double distance = fabs(float8_to_double(dtype, (guint8)code) - value);
        if (distance < least)
        {
            least = distance;
            nearest = (guint8)code;
        }
    }
    return nearest;
}

gboolean ifm_dtype_is_float(IfmDtype dtype)
{
    return row_of(dtype)->significand_bits > 0; /* those of 8 bits are stored in, and computed in none of them */
}

static void store_float(IfmTensor *tensor, gint64 index, double value)
{
    switch (tensor->dtype)
    {
    case IFM_DTYPE_F32:
        ((float *)tensor->data)[index] = (float)value;
        break;
    case IFM_DTYPE_F64:
        ((double *)tensor->data)[index] = value;
        break;
    case IFM_DTYPE_F16:
        ((guint16 *)tensor->data)[index] = half_from_float((float)value);
        break;
    case IFM_DTYPE_BF16:
        ((guint16 *)tensor->data)[index] = bfloat_from_float((float)value);
        break;
    default:
        ((guint8 *)tensor->data)[index] = float8_from_double(tensor->dtype, value);
    }
}

static void store_integer(IfmTensor *tensor, gint64 index, gint64 value)
{
    gsize size = ifm_dtype_size_bytes(tensor->dtype);
    void *place = (char *)tensor->data + (gsize)index * size;
    if (size == 1)
        *(gint8 *)place = (gint8)value;
    else if (size == 2)
        *(gint16 *)place = (gint16)value;
    else if (size == 4)
        *(gint32 *)place = (gint32)value;
    else
        *(gint64 *)place = value;
}

void ifm_tensor_set_integer(IfmTensor *tensor, gint64 index, gint64 value)
{
    if (ifm_dtype_is_float(tensor->dtype))
        store_float(tensor, index, (double)value);
    else
        store_integer(tensor, index, value);
}

/* A plain conversion is undefined for values outside the range of gint64. NaN becomes 0. */
static gint64 clamp_to_int64(double value)
{
    if (isnan(value))
        return 0;
    return value >= 0x1p63 ? G_MAXINT64 : value <= -0x1p63 ? G_MININT64 : (gint64)value;
}

gboolean ifm_tensor_fill_random(IfmTensor *tensor, GRand *random, double low, double high, GError **error)
{
    if (ifm_dtype_size_bytes(tensor->dtype) == 0)
        return ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "no random values for dtype %s", ifm_dtype_name(tensor->dtype));
    const Dtype *row = row_of(tensor->dtype);
    const gint64 n = ifm_tensor_n_elements(tensor), min = MAX(row->min, clamp_to_int64(low)),
                 max = MIN(row->max, clamp_to_int64(high - 1));
    for (gint64 i = 0; i < n; i++)
    {
        /* 32 bits a draw: half the time of g_rand_double(), and finer than a float needs. */
        double unit = g_rand_int(random) * (1.0 / 4294967296.0);
        if (ifm_dtype_is_float(tensor->dtype) || is_float8(tensor->dtype))
            store_float(tensor, i, low + unit * (high - low));
        else
            store_integer(tensor, i,
                          max <= min ? min : clamp_to_int64((double)min + floor(unit * ((double)max - (double)min + 1))));
    }
    return TRUE;
}

/* Elements of up to 8 bytes; data of a file need not be aligned. The size is a constant in each call of memcpy(). */
typedef union
{
    float f32;
    double f64;
    guint8 u8;
    gint8 i8;
    guint16 u16;
    gint16 i16;
    guint32 u32;
    gint32 i32;
    guint64 u64;
    gint64 i64;
} Element;

static Element load_element(const IfmTensor *tensor, gint64 index)
{
    const guint8 *data = tensor->data;
    Element element = { .u64 = 0 };
    switch (ifm_dtype_size_bytes(tensor->dtype))
    {
    case 1:
        element.u8 = data[index];
        break;
    case 2:
        memcpy(&element, data + index * 2, 2);
        break;
    case 4:
        memcpy(&element, data + index * 4, 4);
        break;
    case 8:
        memcpy(&element, data + index * 8, 8);
        break;
    default:
        break;
    }
    return element;
}

double ifm_tensor_get_double(const IfmTensor *tensor, gint64 index)
{
    Element element = load_element(tensor, index);
    switch (tensor->dtype)
    {
    case IFM_DTYPE_F32:
        return element.f32;
    case IFM_DTYPE_F64:
        return element.f64;
    case IFM_DTYPE_F16:
        return half_to_double(element.u16);
    case IFM_DTYPE_BF16:
        return bfloat_to_double(element.u16);
    case IFM_DTYPE_U8:
    case IFM_DTYPE_BOOL:
        return element.u8;
    case IFM_DTYPE_I8:
        return element.i8;
    case IFM_DTYPE_U16:
        return element.u16;
    case IFM_DTYPE_I16:
        return element.i16;
    case IFM_DTYPE_I32:
        return element.i32;
    case IFM_DTYPE_U32:
        return element.u32;
    case IFM_DTYPE_I64:
        return (double)element.i64;
    case IFM_DTYPE_U64:
        return (double)element.u64;
    default:
        return is_float8(tensor->dtype) || tensor->dtype == IFM_DTYPE_F8E8M0 ? float8_to_double(tensor->dtype, element.u8)
                                                                             : NAN;
    }
}

gboolean ifm_tensor_same_shape(const IfmTensor *a, const IfmTensor *b)
{
    return a->rank == b->rank && memcmp(a->shape, b->shape, (gsize)a->rank * sizeof a->shape[0]) == 0;
}

/* The difference is infinite where only one side is finite. Equal infinities and two NaNs agree. */
static double difference_of(double value, double reference)
{
    if (value == reference || (isnan(value) && isnan(reference)))
        return 0;
    return isfinite(value) && isfinite(reference) ? fabs(value - reference) : INFINITY;
}

/* Elements are compared in blocks of doubles. The type is tested once a block. Equal elements, nearly all in practice, take
 * no branch. */
#define BLOCK IFM_TENSOR_BLOCK

int ifm_tensor_load_block(const IfmTensor *tensor, gint64 at, double *out)
{
    int n_here = (int)MIN(ifm_tensor_n_elements(tensor) - at, BLOCK);
    if (tensor->dtype == IFM_DTYPE_F32)
        for (int i = 0; i < n_here; i++)
        {
            float value;
            memcpy(&value, (const guint8 *)tensor->data + (at + i) * (gint64)sizeof value, sizeof value);
            out[i] = value;
        }
    else
        for (int i = 0; i < n_here; i++)
            out[i] = ifm_tensor_get_double(tensor, at + i);
    return n_here;
}

typedef struct
{
    double rtol, atol, worst_excess;
    IfmTensorDifference worst;
} Comparison;

/* Element by element, for a block that has a value that is not finite or a new largest difference. */
static void compare_closely(Comparison *self, const double *v, const double *r, int n, gint64 at)
{
    IfmTensorDifference *worst = &self->worst;
    for (int i = 0; i < n; i++)
    {
        double d = difference_of(v[i], r[i]);
        double excess = d - (isfinite(r[i]) ? self->atol + self->rtol * fabs(r[i]) : 0);
        worst->n_different += excess > 0;
        worst->max_abs_difference = MAX(worst->max_abs_difference, d);
        if (excess > self->worst_excess)
        {
            self->worst_excess = excess;
            worst->worst_index = at + i, worst->worst_value = v[i], worst->worst_reference = r[i];
        }
    }
}

static void compare_block(Comparison *self, const double *v, const double *r, int n, gint64 at)
{
    double max_excess = -INFINITY, max = 0;
    gint64 n_different = 0;
    int n_finite = 0;
    for (int i = 0; i < n; i++)
    {
        double d = fabs(v[i] - r[i]), excess = d - (self->atol + self->rtol * fabs(r[i]));
        n_finite += d <= DBL_MAX; /* neither is NaN or infinite */
        n_different += excess > 0;
        max = d > max ? d : max;
        max_excess = excess > max_excess ? excess : max_excess;
    }
    if (n_finite < n || max_excess > self->worst_excess)
    {
        compare_closely(self, v, r, n, at);
        return;
    }
    self->worst.n_different += n_different;
    self->worst.max_abs_difference = MAX(self->worst.max_abs_difference, max);
}

gboolean ifm_tensor_compare(const IfmTensor *value, const IfmTensor *reference, double rtol, double atol,
                            IfmTensorDifference *difference)
{
    Comparison self = { rtol, atol, -INFINITY, { .worst_index = -1, .worst_value = NAN, .worst_reference = NAN } };
    gboolean same = value->dtype == reference->dtype && ifm_tensor_same_shape(value, reference);
    gint64 n = same ? ifm_tensor_n_elements(value) : 0;
    double v[BLOCK], r[BLOCK];
    if (!same)
    {
        self.worst.n_different = -1;
        self.worst.max_abs_difference = INFINITY;
    }
    for (gint64 at = 0; at < n; at += BLOCK)
    {
        int n_here = ifm_tensor_load_block(value, at, v);
        ifm_tensor_load_block(reference, at, r);
        compare_block(&self, v, r, n_here, at);
    }
    if (difference != NULL)
        *difference = self.worst;
    return self.worst.n_different == 0;
}

double ifm_tensor_root_mean_square(const IfmTensor *tensor)
{
    gint64 n = ifm_tensor_n_elements(tensor), n_finite = 0;
    double sum = 0, block[BLOCK];
    for (gint64 at = 0; at < n; at += BLOCK)
    {
        int n_here = ifm_tensor_load_block(tensor, at, block);
        for (int i = 0; i < n_here; i++)
            if (fabs(block[i]) <= DBL_MAX)
            {
                sum += block[i] * block[i];
                n_finite++;
            }
    }
    return n_finite > 0 ? sqrt(sum / (double)n_finite) : 0;
}

gint64 ifm_tensor_first_not_finite(const IfmTensor *tensor)
{
    if (!ifm_dtype_is_float(tensor->dtype))
        return -1;
    gint64 n = ifm_tensor_n_elements(tensor);
    double block[BLOCK];
    for (gint64 at = 0; at < n; at += BLOCK)
    {
        int n_here = ifm_tensor_load_block(tensor, at, block), n_finite = 0;
        for (int i = 0; i < n_here; i++)
            n_finite += fabs(block[i]) <= DBL_MAX;
        for (int i = 0; n_finite < n_here && i < n_here; i++)
            if (!isfinite(block[i]))
                return at + i;
    }
    return -1;
}

/* Floating-point types are ordered by the bits of their significand. */
IfmDtype ifm_dtype_lower(IfmDtype a, IfmDtype b)
{
    int bits_a = row_of(a)->significand_bits, bits_b = row_of(b)->significand_bits;
    if (bits_a == 0)
        return bits_b == 0 ? IFM_DTYPE_UNDEFINED : b;
    return bits_b == 0 || bits_a <= bits_b ? a : b;
}
