/*
 * protobuf-c recurses as deep as the file is nested and copies every weight. So this scan reads the wire format first, with
 * a stack of fixed size and the descriptors of protobuf-c.
 */
#include <string.h>

#include "onnx-private.h"

/* This scan checks the bytes of a model file against the schema, and leaves large weights out of the copy that
 * protobuf-c unpacks. */

#define MAX_FIELDS 32

enum
{
    WIRE_VARINT = 0,
    WIRE_FIXED64 = 1,
    WIRE_LENGTH = 2,
    WIRE_FIXED32 = 5,
};

typedef struct
{
    const ProtobufCMessageDescriptor *type;
    gsize end;                  /* where in the file it ends */
    gsize length_at;            /* the place of its length in the copy */
    guint length_width;         /* … and on how many bytes */
    guint field;                /* its place in the parent: field and index */
    guint32 counts[MAX_FIELDS]; /* how often each field was met */
} Frame;

typedef struct
{
    const guint8 *data;
    gsize cursor;
    GByteArray *compact;
    GArray *spans;
    Frame frames[IFM_MODEL_MAX_DEPTH + 1];
    guint depth;
    guint n_messages;
} Scanner;

/* place: "graph.node[3].attribute[0]" of the message being read. */
static char *place(const Scanner *scanner)
{
    GString *text = g_string_new(NULL);
    for (guint i = 1; i < scanner->depth; i++)
    {
        const Frame *parent = &scanner->frames[i - 1];
        const ProtobufCFieldDescriptor *field = &parent->type->fields[scanner->frames[i].field];
        g_string_append_printf(text, "%s%s", i > 1 ? "." : "", field->name);
        if (field->label == PROTOBUF_C_LABEL_REPEATED)
            g_string_append_printf(text, "[%u]", parent->counts[scanner->frames[i].field] - 1);
    }
    if (text->len == 0)
        g_string_append(text, "model");
    else if (text->len > 240) /* deep nesting: the message shows both ends only */
    {
        g_string_erase(text, 120, (gssize)text->len - 240);
        g_string_insert(text, 120, " … ");
    }
    return g_string_free(text, FALSE);
}

static gboolean fail(const Scanner *scanner, gsize at, GError **error, const char *format, ...) G_GNUC_PRINTF(4, 5);
static gboolean fail(const Scanner *scanner, gsize at, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *what = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_autofree char *where = place(scanner);
    return ifm_error_refuse(error, "%s, byte %zu: %s", where, at, what);
}

static gboolean read_varint(Scanner *scanner, guint max_width, guint64 *value, GError **error)
{
    gsize start = scanner->cursor, end = scanner->frames[scanner->depth - 1].end;
    *value = 0;
    for (guint i = 0; i < max_width; i++)
    {
        if (scanner->cursor == end)
            return fail(scanner, start, error, "a number is cut off by the end of its message");
        guint8 byte = scanner->data[scanner->cursor++];
        if (i == 9 && byte > 1)
            break;
        *value |= (guint64)(byte & 0x7f) << (7 * i);
        if ((byte & 0x80) == 0)
            return TRUE;
    }
    return fail(scanner, start, error, "a number is longer than its type allows");
}

static guint wire_of(ProtobufCType type)
{
    static const guint8 wires[] = {
        [PROTOBUF_C_TYPE_FLOAT] = WIRE_FIXED32,    [PROTOBUF_C_TYPE_FIXED32] = WIRE_FIXED32,
        [PROTOBUF_C_TYPE_SFIXED32] = WIRE_FIXED32, [PROTOBUF_C_TYPE_DOUBLE] = WIRE_FIXED64,
        [PROTOBUF_C_TYPE_FIXED64] = WIRE_FIXED64,  [PROTOBUF_C_TYPE_SFIXED64] = WIRE_FIXED64,
        [PROTOBUF_C_TYPE_STRING] = WIRE_LENGTH,    [PROTOBUF_C_TYPE_BYTES] = WIRE_LENGTH,
        [PROTOBUF_C_TYPE_MESSAGE] = WIRE_LENGTH, /* others: WIRE_VARINT, 0 */
    };
    return wires[type];
}

/* check_packed: whether @length bytes at the cursor are whole elements of a packed field. */
static gboolean check_packed(Scanner *scanner, const ProtobufCFieldDescriptor *field, gsize length, GError **error)
{
    const guint8 *bytes = scanner->data + scanner->cursor;
    guint wire = wire_of(field->type), width = 0;
    if (wire == WIRE_FIXED32 || wire == WIRE_FIXED64)
    {
        if (length % (wire == WIRE_FIXED32 ? 4 : 8) != 0)
            return fail(scanner, scanner->cursor, error, "%s: %zu bytes are no whole number of elements", field->name,
                        length);
        return TRUE;
    }
    for (gsize i = 0; i < length; i++)
    {
        width = bytes[i] & 0x80 ? width + 1 : 0;
        if (width >= 10 || (width > 0 && i + 1 == length))
            return fail(scanner, scanner->cursor + i, error, "%s: a packed number does not end", field->name);
    }
    return TRUE;
}

static gboolean enter(Scanner *scanner, const ProtobufCFieldDescriptor *field, guint index, gsize start, gsize length,
                      guint length_width, GError **error)
{
    gsize body = scanner->cursor;
    if (scanner->depth > IFM_MODEL_MAX_DEPTH)
        return fail(scanner, start, error, "nested deeper than %d messages", IFM_MODEL_MAX_DEPTH);
    if (++scanner->n_messages > IFM_ONNX_MAX_MESSAGES)
        return fail(scanner, start, error, "more than %u messages in one model", IFM_ONNX_MAX_MESSAGES);
    /* Writes the key and the old length. The message can only become shorter, so the width of its length suffices. */
    g_byte_array_append(scanner->compact, scanner->data + start, (guint)(body - start));
    Frame *frame = &scanner->frames[scanner->depth++];
    *frame = (Frame){ .type = field->descriptor,
                      .end = body + length,
                      .length_at = scanner->compact->len - length_width,
                      .length_width = length_width,
                      .field = index };
    g_assert(frame->type->n_fields <= MAX_FIELDS);
    return TRUE;
}

static void leave(Scanner *scanner)
{
    Frame *frame = &scanner->frames[--scanner->depth];
    if (scanner->depth == 0)
        return;
    gsize length = scanner->compact->len - frame->length_at - frame->length_width;
    for (guint i = 0; i < frame->length_width; i++, length >>= 7)
        scanner->compact->data[frame->length_at + i] = (guint8)((length & 0x7f) | (i + 1 < frame->length_width ? 0x80 : 0));
}

static void take_out(Scanner *scanner, gsize length)
{
    IfmOnnxSpan span = { scanner->cursor, length };
    guint32 index = scanner->spans->len;
    guint32 key = IFM_ONNX_SPAN_FIELD << 3 | WIRE_FIXED32;
    guint8 marker[6] = { (guint8)(key | 0x80), (guint8)(key >> 7) };
    memcpy(marker + 2, &index, 4);
    g_byte_array_append(scanner->compact, marker, sizeof marker);
    g_array_append_val(scanner->spans, span);
}

/* scan_length_field: a length-delimited field that the schema knows; the cursor is at its first byte. */
static gboolean scan_length_field(Scanner *scanner, const ProtobufCFieldDescriptor *field, guint index, gsize start,
                                  gsize length, guint length_width, GError **error)
{
    Frame *frame = &scanner->frames[scanner->depth - 1];
    gboolean is_raw = frame->type == &onnx__tensor_proto__descriptor && g_str_equal(field->name, "raw_data");
    /* A message in two halves is valid protobuf, but no writer makes it and protobuf-c merges it badly. */
    if ((field->type == PROTOBUF_C_TYPE_MESSAGE || is_raw) && field->label != PROTOBUF_C_LABEL_REPEATED &&
        frame->counts[index] > 1)
        return fail(scanner, start, error, "%s is given twice", field->name);
    if (field->type == PROTOBUF_C_TYPE_MESSAGE)
        return enter(scanner, field, index, start, length, length_width, error);
    if (is_raw && length >= IFM_MODEL_MAPPED_MIN_BYTES)
    {
        take_out(scanner, length);
        scanner->cursor += length;
        return TRUE;
    }
    if (length > G_MAXINT32 - scanner->compact->len)
        return fail(scanner, start, error, "%s: %zu bytes are more than protobuf allows", field->name, length);
    if (field->type == PROTOBUF_C_TYPE_STRING && memchr(scanner->data + scanner->cursor, 0, length) != NULL)
        return fail(scanner, start, error, "%s holds a zero byte", field->name);
    if (field->type != PROTOBUF_C_TYPE_STRING && field->type != PROTOBUF_C_TYPE_BYTES &&
        !check_packed(scanner, field, length, error))
        return FALSE;
    scanner->cursor += length;
    g_byte_array_append(scanner->compact, scanner->data + start, (guint)(scanner->cursor - start));
    return TRUE;
}

/* skip_value: Moves past the value (for WIRE_LENGTH: past its length). @length: (out) bytes that follow. */
static gboolean skip_value(Scanner *scanner, guint wire, guint number, gsize *length, GError **error)
{
    gsize start = scanner->cursor, left = scanner->frames[scanner->depth - 1].end - start;
    guint64 value = wire == WIRE_FIXED32 ? 4 : 8;
    *length = 0;
    switch (wire)
    {
    case WIRE_VARINT:
        return read_varint(scanner, 10, &value, error);
    case WIRE_FIXED32:
    case WIRE_FIXED64:
        if (left < value)
            return fail(scanner, start, error, "field %u is cut off by the end of its message", number);
        scanner->cursor += value;
        return TRUE;
    case WIRE_LENGTH:
        if (!read_varint(scanner, 5, &value, error))
            return FALSE;
        left -= scanner->cursor - start;
        if (value > left)
            return fail(scanner, start, error, "field %u says %" G_GUINT64_FORMAT " bytes, but its message has %zu left",
                        number, value, left);
        *length = (gsize)value;
        return TRUE;
    default:
        return fail(scanner, start, error, "field %u has wire type %u, which ONNX does not use", number, wire);
    }
}

static gboolean scan_field(Scanner *scanner, GError **error)
{
    Frame *frame = &scanner->frames[scanner->depth - 1];
    gsize start = scanner->cursor, length;
    guint64 key;
    if (scanner->compact->len > G_MAXINT32)
        return fail(scanner, start, error, "more than protobuf allows: 2 GiB besides the large tensors");
    if (!read_varint(scanner, 5, &key, error))
        return FALSE;
    guint number = (guint)(key >> 3), wire = key & 7;
    if (number == 0 || key > G_MAXUINT32)
        return fail(scanner, start, error, "no field has the number %" G_GUINT64_FORMAT, key >> 3);
    gsize value_at = scanner->cursor;
    if (!skip_value(scanner, wire, number, &length, error))
        return FALSE;
    const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field(frame->type, number);
    if (field == NULL) /* valid: of a newer version. It is not copied, so no file can contain a span field. */
    {
        scanner->cursor += length;
        return TRUE;
    }
    gboolean packed = wire == WIRE_LENGTH && field->label == PROTOBUF_C_LABEL_REPEATED;
    if (wire != wire_of(field->type) && !packed)
        return fail(scanner, start, error, "%s has wire type %u, not %u", field->name, wire, wire_of(field->type));
    guint index = (guint)(field - frame->type->fields);
    frame->counts[index]++;
    if (wire == WIRE_LENGTH)
        return scan_length_field(scanner, field, index, start, length, (guint)(scanner->cursor - value_at), error);
    g_byte_array_append(scanner->compact, scanner->data + start, (guint)(scanner->cursor - start));
    return TRUE;
}

gboolean ifm_onnx_scan(const guint8 *data, gsize size, GByteArray *compact, GArray *spans, GError **error)
{
    g_autofree Scanner *scanner = g_new0(Scanner, 1);
    scanner->data = data;
    scanner->compact = compact;
    scanner->spans = spans;
    scanner->frames[0] = (Frame){ .type = &onnx__model_proto__descriptor, .end = size };
    scanner->depth = 1;
    while (scanner->depth > 0)
        if (scanner->cursor == scanner->frames[scanner->depth - 1].end)
            leave(scanner);
        else if (!scan_field(scanner, error))
            return FALSE;
    return TRUE;
}
