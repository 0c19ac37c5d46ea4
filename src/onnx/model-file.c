#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <base/base.h>

#include "onnx-private.h"

/* These functions read an ONNX file and check its versions, write it with its external data, and tell facts such as its
 * digest. */

/* --- reading ------------------------------------------------------------------------------------------------------ */

void ifm_onnx_tidy_error(GError **error, const char *prefix)
{
    if (error == NULL || *error == NULL)
        return;
    if (prefix != NULL)
        g_prefix_error(error, "%s: ", prefix);
    ifm_error_make_one_line(error);
}

static gboolean check_versions(const Onnx__ModelProto *proto, GError **error)
{
    if (!proto->has_ir_version || proto->ir_version < 1)
        ifm_error_refuse(error, "ir_version is missing: is this an ONNX model?");
    else if (proto->ir_version > ONNX__VERSION__IR_VERSION)
        ifm_error_refuse(error, "ir_version %" G_GINT64_FORMAT " is newer than %d, the newest known", proto->ir_version,
                         ONNX__VERSION__IR_VERSION);
    else if (proto->graph == NULL)
        ifm_error_refuse(error, "there is no graph in it");
    else
        return TRUE;
    return FALSE;
}

/* find_opset: The version of the default domain. Models before IR version 3 have only one. */
static gboolean find_opset(IfmModel *model, GError **error)
{
    const Onnx__ModelProto *proto = model->proto;
    model->opset = proto->ir_version < 3 ? 1 : 0;
    for (gsize i = 0; i < proto->n_opset_import; i++)
    {
        const char *domain = proto->opset_import[i]->domain;
        if (domain == NULL || *domain == '\0' || g_str_equal(domain, "ai.onnx"))
            model->opset = proto->opset_import[i]->has_version ? proto->opset_import[i]->version : 0;
    }
    gboolean needed = proto->n_opset_import == 0;
    for (gsize i = 0; i < model->n_nodes; i++)
        needed = needed || *model->nodes[i].domain == '\0';
    return model->opset >= 1 || !needed ||
           ifm_error_refuse(error, "opset_import does not name a version of the default domain");
}

static gboolean unpack(IfmModel *model, GArray *spans, GError **error)
{
    gsize size;
    const guint8 *data = g_bytes_get_data(model->bytes, &size);
    g_autoptr(GByteArray) compact = g_byte_array_new();
    if (size == 0)
        return ifm_error_refuse(error, "is empty");
    if (!ifm_onnx_scan(data, size, compact, spans, error))
        return FALSE;
    model->proto = onnx__model_proto__unpack(NULL, compact->len, compact->data);
    if (model->proto == NULL)
        ifm_error_refuse(error, "cannot be unpacked: not an ONNX model");
    return model->proto != NULL;
}

static gboolean load(IfmModel *model, GError **error)
{
    g_autoptr(GArray) spans = g_array_new(FALSE, FALSE, sizeof(IfmOnnxSpan));
    if (!unpack(model, spans, error) || !check_versions(model->proto, error) ||
        !ifm_onnx_attach_tensors(model, spans, error) || !ifm_onnx_index(model, error) || !find_opset(model, error) ||
        !ifm_onnx_ports(model, error))
        return FALSE;
    if (model->path == NULL)
    {
        model->name = g_strdup(model->proto->graph->name != NULL ? model->proto->graph->name : "");
        return TRUE;
    }
    model->name = g_path_get_basename(model->path);
    if (g_str_has_suffix(model->name, ".onnx") && strlen(model->name) > strlen(".onnx"))
        model->name[strlen(model->name) - strlen(".onnx")] = '\0';
    return TRUE;
}

/* Reading: how external data are read. */
typedef enum
{
    READ_INSIDE, /* those of the model's folder; of others it is an error */
    READ_ALL,
    READ_NONE,
} Reading;

static IfmModel *model_new(GBytes *bytes, const char *path, const char *name, Reading reading,
                           const IfmOnnxExternal *externals, gsize n_externals, GError **error)
{
    g_autoptr(IfmModel) model = g_new0(IfmModel, 1);
    g_atomic_ref_count_init(&model->references);
    g_mutex_init(&model->lock);
    model->bytes = g_bytes_ref(bytes);
    model->path = g_strdup(path);
    model->outline = reading == READ_NONE;
    model->allow_outside = reading == READ_ALL;
    model->attached = g_ptr_array_new();
    model->external = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_bytes_unref);
    model->external_order = g_ptr_array_new();
    for (gsize i = 0; i < n_externals; i++)
        ifm_onnx_add_external(model, externals[i].location, g_bytes_ref(externals[i].bytes));
    if (load(model, error))
        return g_steal_pointer(&model);
    ifm_onnx_tidy_error(error, name);
    return NULL;
}

IfmModel *ifm_model_parse(GBytes *bytes, const char *name, GError **error)
{
    return model_new(bytes, NULL, name, READ_INSIDE, NULL, 0, error);
}

IfmModel *ifm_onnx_parse_outline(GBytes *bytes, const char *name, GError **error)
{
    return model_new(bytes, NULL, name, READ_NONE, NULL, 0, error);
}

IfmModel *ifm_onnx_parse_built(GBytes *bytes, const char *name, const IfmOnnxExternal *externals, gsize n, GError **error)
{
    return model_new(bytes, NULL, name, READ_INSIDE, externals, n, error);
}

/* map_file: Refuses a directory or pipe before it is opened: opening a pipe would wait for its writer. */
static GMappedFile *map_file(const char *path, GError **error)
{
    struct stat status;
    if (stat(path, &status) != 0)
    {
        ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: %s", path, g_strerror(errno));
        return NULL;
    }
    if (!S_ISREG(status.st_mode))
    {
        ifm_error_refuse(error, "%s: not a regular file", path);
        return NULL;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC); /* opened separately, so that the message has the reason of the system */
    if (fd < 0)
    {
        ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: %s", path, g_strerror(errno));
        return NULL;
    }
    g_autoptr(GError) trouble = NULL;
    GMappedFile *file = g_mapped_file_new_from_fd(fd, FALSE, &trouble);
    close(fd);
    if (file == NULL)
        ifm_error_set(error,
                      g_error_matches(trouble, G_FILE_ERROR, G_FILE_ERROR_NOMEM) ? IFM_ERROR_MEMORY : IFM_ERROR_UNAVAILABLE,
                      "%s: %s", path, trouble->message);
    return file;
}

static IfmModel *open_file(const char *path, Reading reading, GError **error)
{
    g_autoptr(GMappedFile) file = map_file(path, error);
    if (file == NULL)
    {
        ifm_onnx_tidy_error(error, NULL);
        return NULL;
    }
    g_autoptr(GBytes) bytes = g_mapped_file_get_bytes(file);
    return model_new(bytes, path, path, reading, NULL, 0, error);
}

IfmModel *ifm_model_open(const char *path, GError **error)
{
    return open_file(path, READ_INSIDE, error);
}

IfmModel *ifm_model_open_outline(const char *path, GError **error)
{
    return open_file(path, READ_NONE, error);
}

IfmModel *ifm_model_open_outside(const char *path, gboolean *is_outside, GError **error)
{
    IfmModel *model = open_file(path, READ_ALL, error);
    *is_outside = model != NULL && model->is_outside;
    return model;
}

char *ifm_model_input_names(const char *path, GError **error)
{
    g_autoptr(IfmModel) model = ifm_model_open_outline(path, error);
    json_auto_t *names = json_array();
    for (gsize i = 0; model != NULL && i < ifm_model_n_inputs(model); i++)
        json_array_append_new(names, json_string(ifm_model_input(model, i)->name));
    return model != NULL ? json_dumps(names, JSON_COMPACT) : NULL;
}

IfmModel *ifm_model_ref(IfmModel *model)
{
    g_atomic_ref_count_inc(&model->references);
    return model;
}

void ifm_model_unref(IfmModel *model)
{
    if (model == NULL || !g_atomic_ref_count_dec(&model->references))
        return;
    ifm_onnx_detach_tensors(model);
    ifm_onnx_index_clear(model);
    g_clear_pointer(&model->inputs, g_ptr_array_unref);
    g_clear_pointer(&model->outputs, g_ptr_array_unref);
    if (model->proto != NULL)
        onnx__model_proto__free_unpacked(model->proto, NULL);
    g_ptr_array_unref(model->attached);
    g_ptr_array_unref(model->external_order);
    g_hash_table_unref(model->external);
    g_bytes_unref(model->bytes);
    g_mutex_clear(&model->lock);
    g_free(model->path);
    g_free(model->name);
    g_free(model->digest);
    g_free(model);
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

GBytes *ifm_model_serialize(IfmModel *model, GError **error)
{
    gboolean built = model->path == NULL && model->external_order->len > 0;
    return built ? ifm_onnx_inline(model, error) : g_bytes_ref(model->bytes);
}

/* A pipe or device has no folder for a second file, so it receives one file with all. */
static gboolean save(IfmModel *model, const char *path, GError **error)
{
    struct stat there;
    gboolean whole = stat(path, &there) == 0 && !S_ISREG(there.st_mode);
    g_autoptr(GBytes) bytes = whole ? ifm_model_serialize(model, error) : g_bytes_ref(model->bytes);
    gsize size = 0;
    const char *data = bytes != NULL ? g_bytes_get_data(bytes, &size) : NULL;
    return bytes != NULL && (whole || ifm_onnx_save_external(model, path, error)) && ifm_file_save(path, data, size, error);
}

gboolean ifm_model_save(IfmModel *model, const char *path, GError **error)
{
    if (save(model, path, error))
        return TRUE;
    ifm_onnx_tidy_error(error, NULL);
    return FALSE;
}

/* --- facts of a model --------------------------------------------------------------------------------------------- */

const char *ifm_model_path(const IfmModel *model)
{
    return model->path;
}

char **ifm_model_files(const IfmModel *model)
{
    GPtrArray *files = g_ptr_array_new();
    g_autofree char *folder = model->path != NULL ? g_path_get_dirname(model->path) : NULL;
    if (model->path != NULL)
        g_ptr_array_add(files, g_strdup(model->path));
    for (guint i = 0; folder != NULL && i < model->external_order->len; i++)
        g_ptr_array_add(files, g_build_filename(folder, g_ptr_array_index(model->external_order, i), NULL));
    g_ptr_array_add(files, NULL);
    return (char **)g_ptr_array_free(files, FALSE);
}

const char *ifm_model_name(const IfmModel *model)
{
    return model->name;
}

gint64 ifm_model_opset(const IfmModel *model)
{
    return model->opset;
}

gint64 ifm_model_domain_version(const IfmModel *model, const char *domain)
{
    for (gsize i = 0; i < model->proto->n_opset_import; i++)
        if (g_strcmp0(model->proto->opset_import[i]->domain, domain) == 0)
            return model->proto->opset_import[i]->version;
    return 0;
}

const char *ifm_model_metadata(const IfmModel *model, const char *key)
{
    for (gsize i = 0; i < model->proto->n_metadata_props; i++)
        if (g_strcmp0(model->proto->metadata_props[i]->key, key) == 0)
            return model->proto->metadata_props[i]->value;
    return NULL;
}

static void digest_bytes(GChecksum *checksum, GBytes *bytes)
{
    gsize size;
    const guchar *data = g_bytes_get_data(bytes, &size);
    if (size > 0)
        g_checksum_update(checksum, data, (gssize)size);
}

const char *ifm_model_digest(IfmModel *model, GError **error)
{
    g_mutex_lock(&model->lock);
    if (model->digest == NULL)
    {
        g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
        digest_bytes(checksum, model->bytes);
        for (guint i = 0; i < model->external_order->len; i++)
            digest_bytes(checksum, g_hash_table_lookup(model->external, g_ptr_array_index(model->external_order, i)));
        model->digest = g_strdup(g_checksum_get_string(checksum));
    }
    g_mutex_unlock(&model->lock);
    return model->digest;
}
