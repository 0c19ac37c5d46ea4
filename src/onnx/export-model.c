/* Models written where people see the files: each file is theirs to know of, none replaces another's unasked. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <base/base.h>

#include "onnx-private.h"

/* --- what may be written --------------------------------------------------------------------------------------------- */

/* Whether a model at @path names @weights, of the same folder, as its external data. */
static gboolean is_part_of(const char *path, const char *weights)
{
    g_autofree char *folder = g_path_get_dirname(path), *name = g_path_get_basename(weights);
    g_autofree char *file = g_build_filename(folder, name, NULL); /* as ifm_model_files() writes it */
    g_autoptr(IfmModel) there = g_file_test(path, G_FILE_TEST_IS_REGULAR) ? ifm_model_open(path, NULL) : NULL;
    g_auto(GStrv) files = there != NULL ? ifm_model_files(there) : NULL;
    return files != NULL && g_strv_contains((const char *const *)files, file);
}

static gboolean is_exported(const char *path)
{
    g_autoptr(IfmModel) there = ifm_model_open_outline(path, NULL);
    return there != NULL && ifm_model_metadata(there, IFM_MODEL_EXPORTED) != NULL;
}

static gboolean refuse_other(const char *path, GError **error)
{
    return ifm_error_refuse(error, "%s: is there with other content: --force replaces it", path);
}

static gboolean check_model_file(const char *path, const IfmModelExport *options, GError **error)
{
    if (!ifm_file_check_link(path, error))
        return FALSE;
    return options->force || options->named || !g_file_test(path, G_FILE_TEST_IS_REGULAR) || is_exported(path) ||
           refuse_other(path, error);
}

static gboolean check_weights_file(const char *path, const char *weights, GBytes *bytes, const IfmModelExport *options,
                                   GError **error)
{
    if (!ifm_file_check_link(weights, error))
        return FALSE;
    return options->force || !g_file_test(weights, G_FILE_TEST_EXISTS) || ifm_onnx_has_these_bytes(weights, bytes) ||
           (options->named && is_part_of(path, weights)) || refuse_other(weights, error);
}

/* --- content -----------------------------------------------------------------------------------------------------------
 */

/* A message is extended by what is appended to its bytes. */
static void append_metadata(GByteArray *content, const char *const *metadata)
{
    Onnx__ModelProto *more = IFM_ONNX_NEW(model_proto);
    const guint before = content->len;
    for (gsize i = 0; metadata != NULL && metadata[i] != NULL; i += 2)
        ifm_onnx_add_entry(&more->metadata_props, &more->n_metadata_props, metadata[i], metadata[i + 1]);
    g_byte_array_set_size(content, before + (guint)onnx__model_proto__get_packed_size(more));
    onnx__model_proto__pack(more, content->data + before);
    onnx__model_proto__free_unpacked(more, NULL);
}

/* (transfer full) the place of a model's external data: the file that it names, or one named after the model */
static char *location_of(const IfmModel *model, guint index, const char *path, const IfmModelExport *options)
{
    const char *named = g_ptr_array_index(model->external_order, index);
    if (!options->named)
        return g_strdup(named);
    g_autofree char *stem = g_path_get_basename(path);
    if (g_str_has_suffix(stem, ".onnx") && strlen(stem) > strlen(".onnx"))
        stem[strlen(stem) - strlen(".onnx")] = '\0';
    return index == 0 ? g_strconcat(stem, ".weights", NULL) : g_strdup_printf("%s.%u.weights", stem, index + 1);
}

static void set_location(Onnx__TensorProto *tensor, const char *from, const char *to)
{
    for (gsize i = 0; i < tensor->n_external_data; i++)
    {
        Onnx__StringStringEntryProto *entry = tensor->external_data[i];
        if (g_strcmp0(entry->key, "location") == 0 && g_strcmp0(entry->value, from) == 0)
            ifm_onnx_set_text(&entry->value, g_strdup(to));
    }
}

/* The model's bytes with its external data in the files of @locations. (transfer full) NULL with an error */
static GBytes *make_content(const IfmModel *model, char **locations, GError **error)
{
    gboolean moved = FALSE;
    for (guint i = 0; i < model->external_order->len; i++)
        moved = moved || !g_str_equal(locations[i], g_ptr_array_index(model->external_order, i));
    if (!moved)
        return g_bytes_ref(model->bytes);
    Onnx__ModelProto *proto = ifm_onnx_unpack(model);
    for (gsize k = 0; k < proto->graph->n_initializer; k++)
        for (guint i = 0; i < model->external_order->len; i++)
            set_location(proto->graph->initializer[k], g_ptr_array_index(model->external_order, i), locations[i]);
    GBytes *content = ifm_onnx_pack(proto, model->name, error);
    onnx__model_proto__free_unpacked(proto, NULL);
    return content;
}

/* --- writing -----------------------------------------------------------------------------------------------------------
 */

static GBytes *external_bytes(const IfmModel *model, guint index)
{
    return g_hash_table_lookup(model->external, g_ptr_array_index(model->external_order, index));
}

static gboolean write_files(const IfmModel *model, const char *path, const IfmModelExport *options, char **locations,
                            GPtrArray *written, GError **error)
{
    g_autofree char *folder = g_path_get_dirname(path);
    g_autoptr(GPtrArray) weights = g_ptr_array_new_with_free_func(g_free);
    if (!check_model_file(path, options, error))
        return FALSE;
    for (guint i = 0; i < model->external_order->len; i++)
    {
        g_ptr_array_add(weights,
                        g_str_equal(folder, ".") ? g_strdup(locations[i]) : g_build_filename(folder, locations[i], NULL));
        if (!check_weights_file(path, weights->pdata[i], external_bytes(model, i), options, error))
            return FALSE;
    }
    for (guint i = 0; i < weights->len; i++)
    {
        if (ifm_onnx_has_these_bytes(weights->pdata[i], external_bytes(model, i)))
            continue;
        if (!ifm_onnx_save_external_file(folder, locations[i], external_bytes(model, i), error))
            return FALSE;
        g_ptr_array_add(written, g_strdup(weights->pdata[i]));
    }
    GBytes *bytes = make_content(model, locations, error);
    if (bytes == NULL)
        return FALSE;
    g_autoptr(GByteArray) content = g_bytes_unref_to_array(bytes);
    append_metadata(content, options->metadata);
    if (!ifm_file_save(path, content->data, content->len, error))
        return FALSE;
    g_ptr_array_add(written, g_strdup(path));
    return TRUE;
}

gboolean ifm_model_export(IfmModel *model, const char *path, const IfmModelExport *options, GPtrArray *written,
                          GError **error)
{
    struct stat there;
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode)) /* a pipe or device takes one file with all */
        return ifm_model_save(model, path, error);
    gsize size = 0;
    g_bytes_get_data(model->bytes, &size);
    if (size > IFM_ONNX_MAX_FILE_BYTES)
        return ifm_error_refuse(error, "%s: its %zu bytes are more than the %d that one ONNX file can hold", path, size,
                                IFM_ONNX_MAX_FILE_BYTES);
    g_autoptr(GStrvBuilder) builder = g_strv_builder_new();
    for (guint i = 0; i < model->external_order->len; i++)
    {
        g_autofree char *location = location_of(model, i, path, options);
        g_strv_builder_add(builder, location);
    }
    g_auto(GStrv) locations = g_strv_builder_end(builder);
    if (write_files(model, path, options, locations, written, error))
        return TRUE;
    ifm_onnx_tidy_error(error, NULL);
    return FALSE;
}
