#include <fcntl.h>
#include <gio/gio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "onnx-private.h"
#include <base/base.h>

/* These functions check the tensors of a model file, attach values from the file or external data, and describe them as
 * tensors. */

typedef enum
{
    FIELD_FLOAT,
    FIELD_INT32,
    FIELD_INT64,
    FIELD_DOUBLE,
    FIELD_UINT64,
    FIELD_STRING,
    FIELD_RAW,
    N_FIELDS,
} ValueField;

static const char *const field_names[N_FIELDS] = {
    "float_data", "int32_data", "int64_data", "double_data", "uint64_data", "string_data", "raw_data",
};

/* types: bits an element takes in raw_data (0: no raw_data), the typed field that may hold it instead, and how many of
 * that field's elements one element takes (packed types: one for as many as fit into a byte). */
static const struct
{
    guint bits;
    ValueField field;
    guint per_element;
} types[] = {
    [ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT] = { 32, FIELD_FLOAT, 1 },
    [ONNX__TENSOR_PROTO__DATA_TYPE__UINT8] = { 8, FIELD_INT32, 1 },
    [ONNX__TENSOR_PROTO__DATA_TYPE__INT8] = { 8, FIELD_INT32, 1 },
    [ONNX__TENSOR_PROTO__DATA_TYPE__UINT16] = { 16, FIELD_INT32, 1 },
    [ONNX__TENSOR_PROTO__DATA_TYPE__INT16] = { 16, FIELD_INT32, 1 },
    [ONNX__TENSOR_PROTO__DATA_TYPE__INT32] = { 32, FIELD_INT32, 1 },
    [ONNX__TENSOR_PROTO__DATA_TYPE__INT64] = { 64, FIELD_INT64, 1 },
    [ONNX__TENSOR_PROTO__DATA_TYPE__STRING] = { 0, FIELD_STRING, 1 },
    [ONNX__TENSOR_PROTO__DATA_TYPE__BOOL] = { 8, FIELD_INT32, 1 },
    [ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16] = { 16, FIELD_INT32, 1 },
    [ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE] = { 64, FIELD_DOUBLE, 1 },
    [ONNX__TENSOR_PROTO__DATA_TYPE__UINT32] = { 32, FIELD_UINT64, 1 },
    [ONNX__TENSOR_PROTO__DATA_TYPE__UINT64] = { 64, FIELD_UINT64, 1 },
    [ONNX__TENSOR_PROTO__DATA_TYPE__COMPLEX64] = { 64, FIELD_FLOAT, 2 },
    [ONNX__TENSOR_PROTO__DATA_TYPE__COMPLEX128] = { 128, FIELD_DOUBLE, 2 },
    [ONNX__TENSOR_PROTO__DATA_TYPE__BFLOAT16] = { 16, FIELD_INT32, 1 },
    [ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT8E4M3FN] = { 8, FIELD_INT32, 1 },
    [ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT8E4M3FNUZ] = { 8, FIELD_INT32, 1 },
    [ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT8E5M2] = { 8, FIELD_INT32, 1 },
    [ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT8E5M2FNUZ] = { 8, FIELD_INT32, 1 },
    [ONNX__TENSOR_PROTO__DATA_TYPE__UINT4] = { 4, FIELD_INT32, 1 },
    [ONNX__TENSOR_PROTO__DATA_TYPE__INT4] = { 4, FIELD_INT32, 1 },
    [ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT4E2M1] = { 4, FIELD_INT32, 1 },
    [ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT8E8M0] = { 8, FIELD_INT32, 1 },
    [ONNX__TENSOR_PROTO__DATA_TYPE__UINT2] = { 2, FIELD_INT32, 1 },
    [ONNX__TENSOR_PROTO__DATA_TYPE__INT2] = { 2, FIELD_INT32, 1 },
};

guint ifm_onnx_type_bits(gint type)
{
    return type > 0 && type < (gint)G_N_ELEMENTS(types) ? types[type].bits : 0;
}

/* --- checking ----------------------------------------------------------------------------------------------------- */

/* Places of the typed fields in a message: how many values there are, and the values. */
#define TYPED(member)                                                                                                      \
    {                                                                                                                      \
        offsetof(Onnx__TensorProto, n_##member), offsetof(Onnx__TensorProto, member)                                       \
    }
static const struct
{
    gsize count, values;
} typed_fields[FIELD_RAW] = {
    [FIELD_FLOAT] = TYPED(float_data),   [FIELD_INT32] = TYPED(int32_data),   [FIELD_INT64] = TYPED(int64_data),
    [FIELD_DOUBLE] = TYPED(double_data), [FIELD_UINT64] = TYPED(uint64_data), [FIELD_STRING] = TYPED(string_data),
};
#undef TYPED

static gsize field_count(const Onnx__TensorProto *tensor, ValueField field)
{
    if (field == FIELD_RAW)
        return tensor->has_raw_data ? tensor->raw_data.len : 0;
    return G_STRUCT_MEMBER(size_t, tensor, typed_fields[field].count);
}

/* count_elements: the product of the dimensions, small enough that its bits fit into 63 bits. */
static gboolean count_elements(const Onnx__TensorProto *tensor, guint64 *n, char **shape, GError **error)
{
    if (tensor->n_dims > IFM_MAX_RANK)
        return ifm_error_refuse(error, "has %zu dimensions, more than %d", tensor->n_dims, IFM_MAX_RANK);
    *shape = ifm_shape_to_string((int)tensor->n_dims, tensor->dims);
    gboolean empty = FALSE;
    *n = 1;
    for (gsize i = 0; i < tensor->n_dims; i++)
    {
        if (tensor->dims[i] < 0)
            return ifm_error_refuse(error, "dimension %zu is %" G_GINT64_FORMAT ", below 0", i, tensor->dims[i]);
        if (tensor->dims[i] == 0)
            empty = TRUE;
        else if (__builtin_mul_overflow(*n, (guint64)tensor->dims[i], n) || *n > G_MAXINT64 / 128)
        {
            /* Also where another dimension is 0: its strides would still overflow. */
            return ifm_error_refuse(error, "shape %s is larger than any memory", *shape);
        }
    }
    if (empty)
        *n = 0;
    return TRUE;
}

static gboolean known_type(const Onnx__TensorProto *tensor, GError **error)
{
    gint type = tensor->has_data_type ? tensor->data_type : 0;
    if (type > 0 && type < (gint)G_N_ELEMENTS(types) && (types[type].bits != 0 || types[type].field == FIELD_STRING))
        return TRUE;
    return ifm_error_refuse(error, "data type %d is none that can be read", type);
}

static gboolean check_tensor(const Onnx__TensorProto *tensor, GError **error)
{
    g_autofree char *shape = NULL;
    guint64 n;
    if (!known_type(tensor, error) || !count_elements(tensor, &n, &shape, error))
        return FALSE;
    if (tensor->segment != NULL)
        return ifm_error_refuse(error, "comes in segments, which no ONNX version ever defined fully");
    guint bits = types[tensor->data_type].bits;
    ValueField used = FIELD_RAW, typed = types[tensor->data_type].field;
    for (ValueField field = 0; field < FIELD_RAW; field++)
    {
        if (field_count(tensor, field) == 0)
            continue;
        if (field != typed || tensor->has_raw_data)
            return ifm_error_refuse(error, "%s is not where the values of data type %d%s belong", field_names[field],
                                    tensor->data_type, tensor->has_raw_data ? " with raw_data" : "");
        used = field;
    }
    guint64 needed = bits != 0 ? (n * bits + 7) / 8 : n;
    if (used != FIELD_RAW)
        needed = bits != 0 && bits < 8 ? needed : n * types[tensor->data_type].per_element;
    if (field_count(tensor, used) == needed && (used != FIELD_RAW || bits != 0 || n == 0))
        return TRUE;
    return ifm_error_refuse(error, "shape %s needs %" G_GUINT64_FORMAT " %s, but there are %zu in %s", shape, needed,
                            used == FIELD_RAW ? "bytes" : "values", field_count(tensor, used), field_names[used]);
}

/* --- external data ------------------------------------------------------------------------------------------------ */

static gboolean external_number(const Onnx__TensorProto *tensor, const char *key, guint64 fallback, guint64 *value,
                                GError **error)
{
    const char *text = ifm_onnx_external_value(tensor, key);
    *value = fallback;
    return text == NULL || g_ascii_string_to_unsigned(text, 10, 0, G_MAXINT64, value, NULL) ||
           ifm_error_refuse(error, "external data: %s '%s' is not a number of bytes", key, text);
}

/* inside_folder: The real path of @location, if it is in @folder after all links are resolved, or the model's links may
 * leave it. */
static char *inside_folder(IfmModel *model, const char *folder, const char *location, GError **error)
{
    g_auto(GStrv) parts = g_strsplit(location, "/", -1);
    if (*location == '\0' || *location == '/' || g_strv_contains((const char *const *)parts, ".."))
    {
        ifm_error_refuse(error, "external data '%s' is not a path within the model's folder", location);
        return NULL;
    }
    g_autofree char *path = g_build_filename(folder, location, NULL);
    char *real_folder = realpath(folder, NULL), *real = realpath(path, NULL);
    char *result = NULL;
    if (real == NULL || real_folder == NULL)
        ifm_error_refuse(error, "external data '%s': %s", location, g_strerror(errno));
    else
    {
        gsize length = strlen(real_folder);
        gboolean inside =
            strncmp(real, real_folder, length) == 0 && (length == 1 || real[length] == '/' || real[length] == '\0');
        model->is_outside = model->is_outside || !inside;
        if (inside || model->allow_outside)
            result = g_strdup(real);
        else
            ifm_error_refuse(error,
                             "external data '%s' leads outside the model's folder, to %s: profile --allow-outside-data "
                             "reads it",
                             location, real);
    }
    free(real);
    free(real_folder);
    return result;
}

/* outline_external: A weight with a shape and no values. */
static gboolean outline_external(const Onnx__TensorProto *tensor, GError **error)
{
    g_autofree char *shape = NULL;
    guint64 n;
    if (!known_type(tensor, error) || !count_elements(tensor, &n, &shape, error))
        return FALSE;
    for (ValueField field = 0; field < N_FIELDS; field++)
        if (field_count(tensor, field) > 0)
            return ifm_error_refuse(error, "has both external data and %s", field_names[field]);
    return !tensor->has_raw_data || ifm_error_refuse(error, "has both external data and raw_data, though an empty one");
}

static GBytes *map_external(IfmModel *model, const char *location, GError **error)
{
    GBytes *found = g_hash_table_lookup(model->external, location);
    if (found != NULL)
        return found;
    if (model->path == NULL)
    {
        ifm_error_refuse(error, "external data '%s': a model in memory has no folder to look in", location);
        return NULL;
    }
    g_autofree char *folder = g_path_get_dirname(model->path);
    g_autofree char *real = inside_folder(model, folder, location, error);
    if (real == NULL)
        return NULL;
    g_autoptr(GError) trouble = NULL;
    g_autoptr(GMappedFile) file = NULL;
    struct stat status;
    if (stat(real, &status) != 0 || !S_ISREG(status.st_mode))
        ifm_error_refuse(error, "external data '%s' is not a regular file", location);
    else if ((file = g_mapped_file_new(real, FALSE, &trouble)) == NULL)
        ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "external data '%s': %s", location, trouble->message);
    return file != NULL ? ifm_onnx_add_external(model, location, g_mapped_file_get_bytes(file)) : NULL;
}

static gboolean attach_external(IfmModel *model, Onnx__TensorProto *tensor, GError **error)
{
    const char *location = ifm_onnx_external_value(tensor, "location");
    g_autofree char *shape = NULL;
    guint64 n, offset, length;
    if (location == NULL)
        return ifm_error_refuse(error, "external data without a location");
    if (!known_type(tensor, error) || !count_elements(tensor, &n, &shape, error))
        return FALSE;
    guint64 needed = (n * types[tensor->data_type].bits + 7) / 8;
    if (!external_number(tensor, "offset", 0, &offset, error) || !external_number(tensor, "length", needed, &length, error))
        return FALSE;
    if (tensor->has_raw_data && tensor->raw_data.len > 0)
        return ifm_error_refuse(error, "%zu bytes in the model and external data '%s', too: one of them is expected",
                                tensor->raw_data.len, location);
    if (length != needed)
        return ifm_error_refuse(
            error, "shape %s needs %" G_GUINT64_FORMAT " bytes, but external data '%s' gives %" G_GUINT64_FORMAT, shape,
            needed, location, length);
    GBytes *bytes = map_external(model, location, error);
    if (bytes == NULL)
        return FALSE;
    guint64 size = g_bytes_get_size(bytes);
    if (offset > size || length > size - offset)
        return ifm_error_refuse(error,
                                "external data '%s' has %" G_GUINT64_FORMAT " bytes; the tensor needs %" G_GUINT64_FORMAT
                                " from byte %" G_GUINT64_FORMAT,
                                location, size, length, offset);
    tensor->has_raw_data = TRUE;
    if (length > 0)
    {
        tensor->raw_data.data = (guint8 *)g_bytes_get_data(bytes, NULL) + offset;
        tensor->raw_data.len = (gsize)length;
        g_ptr_array_add(model->attached, tensor);
    }
    return TRUE;
}

/* --- attaching ---------------------------------------------------------------------------------------------------- */

static void attach_span(IfmModel *model, Onnx__TensorProto *tensor, const GArray *spans)
{
    const ProtobufCMessageUnknownField *marker = tensor->base.unknown_fields;
    if (tensor->base.n_unknown_fields == 0) /* the scan removes all other unknown fields */
        return;
    guint32 index;
    g_assert(marker->tag == IFM_ONNX_SPAN_FIELD && marker->len == sizeof index);
    memcpy(&index, marker->data, sizeof index);
    g_assert(index < spans->len);
    const IfmOnnxSpan *span = &g_array_index(spans, IfmOnnxSpan, index);
    tensor->has_raw_data = TRUE;
    tensor->raw_data.data = (guint8 *)g_bytes_get_data(model->bytes, NULL) + span->offset;
    tensor->raw_data.len = span->length;
    g_ptr_array_add(model->attached, tensor);
}

static gboolean attach_tensor(IfmModel *model, Onnx__TensorProto *tensor, const GArray *spans, const char *place,
                              GError **error)
{
    attach_span(model, tensor, spans);
    gboolean external = ifm_onnx_is_external(tensor);
    gboolean good = external && model->outline ? outline_external(tensor, error)
                    : external                 ? attach_external(model, tensor, error) && check_tensor(tensor, error)
                                               : check_tensor(tensor, error);
    if (good)
        return TRUE;
    g_prefix_error(error, "%s: tensor '%s': ", place, tensor->name != NULL ? tensor->name : "");
    return FALSE;
}

static gboolean attach_below(IfmModel *model, ProtobufCMessage *message, const GArray *spans, GString *place,
                             GError **error);

static gboolean attach_field(IfmModel *model, ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                             const GArray *spans, GString *place, GError **error)
{
    void *member = (char *)message + field->offset;
    gboolean repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
    gsize n = repeated ? *(size_t *)((char *)message + field->quantifier_offset) : 1, length = place->len;
    for (gsize i = 0; i < n; i++)
    {
        ProtobufCMessage *child = repeated ? (*(ProtobufCMessage ***)member)[i] : *(ProtobufCMessage **)member;
        if (child == NULL)
            continue;
        g_string_append_printf(place, "%s%s", length > 0 ? "." : "", field->name);
        if (repeated)
            g_string_append_printf(place, "[%zu]", i);
        if (!attach_below(model, child, spans, place, error))
            return FALSE;
        g_string_truncate(place, length);
    }
    return TRUE;
}

/* Visits all fields by descriptor, so that it finds every tensor. The scan has limited the depth. */
static gboolean attach_below(IfmModel *model, ProtobufCMessage *message, const GArray *spans, GString *place,
                             GError **error)
{
    if (message->descriptor == &onnx__tensor_proto__descriptor)
        return attach_tensor(model, (Onnx__TensorProto *)message, spans, place->str, error);
    for (unsigned i = 0; i < message->descriptor->n_fields; i++)
    {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        gboolean plain = field->type == PROTOBUF_C_TYPE_MESSAGE && (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) == 0;
        if (plain && !attach_field(model, message, field, spans, place, error))
            return FALSE;
    }
    return TRUE;
}

gboolean ifm_onnx_attach_tensors(IfmModel *model, const GArray *spans, GError **error)
{
    g_autoptr(GString) place = g_string_new(NULL);
    return attach_below(model, &model->proto->base, spans, place, error);
}

void ifm_onnx_detach_tensors(IfmModel *model)
{
    for (guint i = 0; i < model->attached->len; i++)
    {
        Onnx__TensorProto *tensor = g_ptr_array_index(model->attached, i);
        tensor->raw_data = (ProtobufCBinaryData){ 0 };
    }
    g_ptr_array_set_size(model->attached, 0);
}

/* --- describing --------------------------------------------------------------------------------------------------- */

/* narrow: copies the values of int32_data or uint64_data into the element size they have in memory. */
static gboolean narrow(const Onnx__TensorProto *proto, IfmTensor *tensor)
{
    if (!ifm_tensor_init(tensor, (IfmDtype)proto->data_type, (int)proto->n_dims, proto->dims, NULL))
        return FALSE;
    gsize size = ifm_dtype_size_bytes(tensor->dtype);
    for (gsize i = 0; i < proto->n_int32_data; i++) /* little-endian: the low bytes come first */
        memcpy((char *)tensor->data + i * size, &proto->int32_data[i], size);
    for (gsize i = 0; i < proto->n_uint64_data; i++)
        memcpy((char *)tensor->data + i * size, &proto->uint64_data[i], size);
    return TRUE;
}

gboolean ifm_onnx_tensor_wrap(const Onnx__TensorProto *proto, IfmTensor *tensor)
{
    G_STATIC_ASSERT(G_BYTE_ORDER == G_LITTLE_ENDIAN); /* as ONNX files are */
    *tensor = IFM_TENSOR_INIT;
    gsize size = ifm_dtype_size_bytes((IfmDtype)proto->data_type);
    if (size == 0 || (ifm_onnx_is_external(proto) && !proto->has_raw_data)) /* a weight of an outline has no values */
        return FALSE;
    void *data = proto->raw_data.data;
    ValueField field = types[proto->data_type].field;
    if (field_count(proto, field) > 0)
    {
        if ((field == FIELD_INT32 || field == FIELD_UINT64) && size < (field == FIELD_INT32 ? 4u : 8u))
            return narrow(proto, tensor);
        data = G_STRUCT_MEMBER(void *, proto, typed_fields[field].values);
    }
    return ifm_tensor_wrap(tensor, (IfmDtype)proto->data_type, (int)proto->n_dims, proto->dims, data, NULL);
}

/* --- a tensor of a file of its own ------------------------------------------------------------------------------------ */

/* Elements of less than a byte, as they are packed. */
static gboolean read_packed(const Onnx__TensorProto *proto, IfmTensor *tensor, GError **error)
{
    if (!ifm_tensor_init(tensor, (IfmDtype)proto->data_type, (int)proto->n_dims, proto->dims, error))
        return FALSE;
    for (gsize i = 0; i < proto->n_int32_data; i++)
        ((guint8 *)tensor->data)[i] = (guint8)proto->int32_data[i];
    if (proto->n_int32_data == 0 && tensor->size_bytes > 0)
        memcpy(tensor->data, proto->raw_data.data, tensor->size_bytes);
    return TRUE;
}

static gboolean read_texts(const Onnx__TensorProto *proto, const char *where, IfmTensor *tensor, GError **error)
{
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    for (gsize i = 0; i < proto->n_string_data; i++)
    {
        const ProtobufCBinaryData *bytes = &proto->string_data[i];
        if (bytes->len > 0 && memchr(bytes->data, 0, bytes->len) != NULL)
            return ifm_error_refuse(error, "%s: text %zu has a zero byte in it", where, i);
        g_ptr_array_add(texts, g_strndup(bytes->len > 0 ? (const char *)bytes->data : "", bytes->len));
    }
    return ifm_tensor_init_texts(tensor, (int)proto->n_dims, proto->dims, (const char *const *)texts->pdata, error);
}

gboolean ifm_onnx_tensor_read(const guint8 *data, gsize size, const char *where, IfmTensor *tensor, GError **error)
{
    Onnx__TensorProto *proto = onnx__tensor_proto__unpack(NULL, size, data);
    IfmTensor wrapped;
    gboolean read = FALSE;
    *tensor = IFM_TENSOR_INIT;
    if (proto == NULL)
        return ifm_error_refuse(error, "%s: is no tensor of ONNX (TensorProto), or truncated", where);
    if (proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL)
        ifm_error_refuse(error, "%s: its values are in another file: expected them in it", where);
    else if (!check_tensor(proto, error))
        g_prefix_error(error, "%s: ", where);
    else if (proto->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__STRING)
        read = read_texts(proto, where, tensor, error);
    else if (ifm_dtype_size_bytes((IfmDtype)proto->data_type) == 0 && ifm_dtype_bits((IfmDtype)proto->data_type) > 0)
        read = read_packed(proto, tensor, error);
    else if (!ifm_onnx_tensor_wrap(proto, &wrapped))
        ifm_error_refuse(error, "%s: its elements are neither real numbers nor texts", where);
    else
    {
        read = ifm_tensor_init(tensor, wrapped.dtype, wrapped.rank, wrapped.shape, error);
        if (read && wrapped.size_bytes > 0)
            memcpy(tensor->data, wrapped.data, wrapped.size_bytes);
        ifm_tensor_clear(&wrapped);
    }
    onnx__tensor_proto__free_unpacked(proto, NULL);
    if (!read)
        ifm_error_make_one_line(error);
    return read;
}
