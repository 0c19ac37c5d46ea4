#pragma once
#include <string.h>

#include <glib.h>

/* ONNX files written by hand, field by field, so that they can be wrong. The numbers are those of onnx.proto. */

static inline void put_varint(GByteArray *out, guint64 value)
{
    do
    {
        guint8 byte = (guint8)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        g_byte_array_append(out, &byte, 1);
        value >>= 7;
    } while (value > 0);
}

static inline void put_number(GByteArray *out, guint field, gint64 value)
{
    put_varint(out, (guint64)field << 3);
    put_varint(out, (guint64)value);
}

static inline void put_bytes(GByteArray *out, guint field, const void *bytes, gsize length)
{
    put_varint(out, (guint64)field << 3 | 2);
    put_varint(out, length);
    if (length > 0)
        g_byte_array_append(out, bytes, (guint)length);
}

static inline void put_text(GByteArray *out, guint field, const char *text)
{
    put_bytes(out, field, text, strlen(text));
}

/* put_message: @message: (transfer full) */
static inline void put_message(GByteArray *out, guint field, GByteArray *message)
{
    put_bytes(out, field, message->data, message->len);
    g_byte_array_unref(message);
}

/* bytes_tensor: a float tensor "w" with the given dimensions and @n_bytes of raw_data. */
static inline GByteArray *bytes_tensor(const gint64 *dims, gsize n_dims, gsize n_bytes)
{
    GByteArray *out = g_byte_array_new();
    g_autofree guint8 *bytes = g_malloc0(n_bytes + 1);
    for (gsize i = 0; i < n_dims; i++)
        put_number(out, 1, dims[i]);
    put_number(out, 2, 1);
    put_text(out, 8, "w");
    put_bytes(out, 9, bytes, n_bytes);
    return out;
}

static inline GByteArray *bytes_node(const char *op_type, const char *input, const char *output)
{
    GByteArray *out = g_byte_array_new();
    put_text(out, 1, input);
    put_text(out, 2, output);
    put_text(out, 4, op_type);
    return out;
}

/* bytes_named: a message whose first field is its name. */
static inline GByteArray *bytes_named(const char *name)
{
    GByteArray *out = g_byte_array_new();
    put_text(out, 1, name);
    return out;
}

/* bytes_port: a graph's input or output: a vector of @n floats. */
static inline GByteArray *bytes_port(const char *name, gint64 n)
{
    GByteArray *dim = g_byte_array_new(), *shape = g_byte_array_new(), *tensor = g_byte_array_new();
    GByteArray *type = g_byte_array_new(), *port = bytes_named(name);
    put_number(dim, 1, n);
    put_message(shape, 1, dim);
    put_number(tensor, 1, 1); /* FLOAT */
    put_message(tensor, 2, shape);
    put_message(type, 1, tensor);
    put_message(port, 2, type);
    return port;
}

static inline GByteArray *bytes_opset(gint64 version)
{
    GByteArray *out = g_byte_array_new();
    put_number(out, 2, version);
    return out;
}

/* bytes_model: @graph: (transfer full), NULL for none */
static inline GByteArray *bytes_model(gint64 ir_version, gint64 opset_version, GByteArray *graph)
{
    GByteArray *out = g_byte_array_new();
    if (ir_version != 0)
        put_number(out, 1, ir_version);
    if (graph != NULL)
        put_message(out, 7, graph);
    if (opset_version != 0)
        put_message(out, 8, bytes_opset(opset_version));
    return out;
}

/* put_pair: one entry of a tensor's external data. */
static inline void put_pair(GByteArray *out, const char *key, const char *value)
{
    GByteArray *pair = bytes_named(key);
    put_text(pair, 2, value);
    put_message(out, 13, pair);
}

/* bytes_external: a float tensor "w" [n] whose numbers lie in another file. @pairs: key, value, …, NULL */
static inline GByteArray *bytes_external(gint64 n, const char *const *pairs)
{
    GByteArray *out = g_byte_array_new();
    put_number(out, 1, n);
    put_number(out, 2, 1);
    put_text(out, 8, "w");
    for (; *pairs != NULL; pairs += 2)
        put_pair(out, pairs[0], pairs[1]);
    put_number(out, 14, 1); /* data_location EXTERNAL */
    return out;
}

/* bytes_nested: @size bytes of graphs in attributes of nodes of graphs …, every length (on 5 bytes) right; made from the
 * outside in, as every length is known beforehand. */
static inline GByteArray *bytes_nested(gsize size)
{
    static const guint8 keys[] = { 7 << 3 | 2, 1 << 3 | 2, 5 << 3 | 2, 6 << 3 | 2 }; /* graph; node, attribute, g */
    GByteArray *out = g_byte_array_new();
    put_number(out, 1, 8);
    for (gsize depth = 0; out->len + 6 <= size; depth++)
    {
        gsize rest = size - out->len - 6;
        guint8 level[6] = { keys[depth == 0 ? 0 : 1 + (depth - 1) % 3] };
        for (int i = 0; i < 5; i++)
            level[i + 1] = (guint8)((rest >> (7 * i) & 0x7f) | (i < 4 ? 0x80 : 0));
        g_byte_array_append(out, level, sizeof level);
    }
    while (out->len < size)
        g_byte_array_append(out, (const guint8 *)"", 1);
    return out;
}
