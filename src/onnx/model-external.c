/* Weights in external data: drawn in memory, written when the model is saved, or put into one file with the model. */
#include <string.h>

#include <glib/gstdio.h>

#include <base/base.h>

#include "onnx-private.h"

GBytes *ifm_onnx_add_external(IfmModel *model, const char *location, GBytes *bytes)
{
    char *key = g_strdup(location);
    g_hash_table_insert(model->external, key, bytes);
    g_ptr_array_add(model->external_order, key);
    return bytes;
}

/* --- drawing ------------------------------------------------------------------------------------------------------ */

/* mix: the finaliser of SplitMix64, a bijection in which each bit of the result depends on all of @z (Steele et al., Fast
 * splittable pseudorandom number generators, 2014). */
static guint64 mix(guint64 z)
{
    z = (z ^ (z >> 30)) * G_GUINT64_CONSTANT(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * G_GUINT64_CONSTANT(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Each number mixes a counter. There is no state between numbers, so the loop runs at memory speed. @step has 24 bits and a
 * drawn number has 24 bits: their product is exact as a double. So a fused addition rounds like a separate one, and the
 * bytes are the same on every machine. */
void ifm_onnx_draw(float *values, gsize n, double low, double high, guint32 seed, const char *name)
{
    guint64 counter = mix(seed + G_GUINT64_CONSTANT(0x9e3779b97f4a7c15));
    for (const char *letter = name; *letter != '\0'; letter++)
        counter = mix(counter + (guchar)*letter + 1);
    double step = (double)(float)((high - low) / (1 << 24));
    for (gsize i = 0; i < n; i += 2)
    {
        guint64 bits = mix(counter += G_GUINT64_CONSTANT(0x9e3779b97f4a7c15));
        values[i] = (float)(low + step * (double)(bits >> 40));
        if (i + 1 < n)
            values[i + 1] = (float)(low + step * (double)(bits & 0xffffff));
    }
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

gboolean ifm_onnx_has_these_bytes(const char *path, GBytes *bytes)
{
    gsize size;
    const void *data = g_bytes_get_data(bytes, &size);
    if (!g_file_test(path, G_FILE_TEST_IS_REGULAR))
        return FALSE;
    g_autoptr(GMappedFile) file = g_mapped_file_new(path, FALSE, NULL);
    return file != NULL && g_mapped_file_get_length(file) == size &&
           (size == 0 || memcmp(g_mapped_file_get_contents(file), data, size) == 0);
}

/* Writes without fsync: drawn weights can be drawn again, and fsync of half a gigabyte takes seconds. After a crash of the
 * machine the next save finds other bytes and writes the file again. */
gboolean ifm_onnx_save_external_file(const char *folder, const char *location, GBytes *bytes, GError **error)
{
    g_autofree char *path = g_build_filename(folder, location, NULL);
    g_autofree char *parent = g_path_get_dirname(path);
    gsize size;
    const void *data = g_bytes_get_data(bytes, &size);
    if (ifm_onnx_has_these_bytes(path, bytes))
        return TRUE;
    if (strchr(location, '/') != NULL)
        g_mkdir_with_parents(parent, 0777); /* if it fails, the write fails too, with a message */
    g_autoptr(IfmFileWriter) writer = ifm_file_writer_open(path, FALSE, error);
    return writer != NULL && ifm_file_writer_write(writer, data, size, error) && ifm_file_writer_commit(writer, error);
}

gboolean ifm_onnx_save_external(const IfmModel *model, const char *path, GError **error)
{
    g_autofree char *folder = g_path_get_dirname(path);
    for (guint i = 0; i < model->external_order->len; i++)
    {
        const char *location = g_ptr_array_index(model->external_order, i);
        if (!ifm_onnx_save_external_file(folder, location, g_hash_table_lookup(model->external, location), error))
            return FALSE;
    }
    return TRUE;
}

/* --- in one file -------------------------------------------------------------------------------------------------- */

/* borrow_values: Lets the weights of a new message borrow the bytes of the model. */
static void borrow_values(const IfmModel *model, Onnx__GraphProto *graph)
{
    for (gsize i = 0; i < graph->n_initializer; i++)
    {
        Onnx__TensorProto *tensor = graph->initializer[i];
        if (!ifm_onnx_is_external(tensor))
            continue;
        ifm_onnx_forget_external(tensor);
        tensor->has_raw_data = TRUE;
        tensor->raw_data = model->proto->graph->initializer[i]->raw_data;
    }
}

GBytes *ifm_onnx_inline(const IfmModel *model, GError **error)
{
    Onnx__ModelProto *proto = ifm_onnx_unpack(model);
    borrow_values(model, proto->graph);
    GBytes *packed = ifm_onnx_pack(proto, model->name, error);
    for (gsize i = 0; i < proto->graph->n_initializer; i++) /* the borrowed values stay with the model */
        if (proto->graph->initializer[i]->raw_data.data == model->proto->graph->initializer[i]->raw_data.data)
            proto->graph->initializer[i]->raw_data = (ProtobufCBinaryData){ 0, NULL };
    onnx__model_proto__free_unpacked(proto, NULL);
    return packed;
}
