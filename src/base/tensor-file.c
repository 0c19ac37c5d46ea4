#include <base/base.h>
#include <base/fields.h>
#include <base/tensor.h>
#include <string.h>

/* These functions write named tensors to one file and read them back. */

/*
 * The file: 8 bytes of magic, the header's length (8 bytes, host order), the header {"tensors": [{"name", "dtype",
 * "shape"}]}, then the tensors' bytes in that order; header and tensors are each padded to a multiple of 64 bytes. Where a
 * tensor lies follows from the shapes before it, so the file can say nothing of that which is not so.
 * Of texts it says the bytes that they take ("bytes").
 */
#define MAGIC "IFMTENS\n"
#define PROLOGUE_BYTES 16
#define ALIGNMENT 64
#define MAX_BYTES                                                                                                          \
    ((gsize)G_MAXINT64 / 2) /* of all tensors: a sum of sizes then stays below the maximum size of a file                  \
                             */

struct IfmTensorFile
{
    GMappedFile *file;
    gsize n;
    char **names;
    IfmTensor *tensors; /* borrowed from the mapping */
};

static gsize align_up(gsize bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* --- writing ---------------------------------------------------------------------------------------------------------- */

static json_t *describe(const char *const *names, const IfmTensor *tensors, gsize n)
{
    json_t *list = json_array();
    for (gsize i = 0; i < n; i++)
    {
        json_t *shape = json_array();
        for (int axis = 0; axis < tensors[i].rank; axis++)
            json_array_append_new(shape, json_integer(tensors[i].shape[axis]));
        json_t *entry = json_pack("{s:o,s:s,s:o}", "name", ifm_json_string(names[i]), "dtype",
                                  ifm_dtype_name(tensors[i].dtype), "shape", shape);
        if (tensors[i].dtype == IFM_DTYPE_STRING) /* which does not follow from its shape */
            json_object_set_new(entry, "bytes", json_integer((json_int_t)tensors[i].size_bytes));
        json_array_append_new(list, entry);
    }
    return json_pack("{s:o}", "tensors", list);
}

static gboolean is_taken(const char *const *names, gsize n, const char *name)
{
    for (gsize i = 0; i < n; i++)
        if (g_str_equal(names[i], name))
            return TRUE;
    return FALSE;
}

static gboolean check_all(const char *path, const char *const *names, const IfmTensor *tensors, gsize n, GError **error)
{
    gsize total_bytes = 0;
    for (gsize i = 0; i < n; i++)
    {
        const IfmTensor *tensor = &tensors[i];
        const char *trouble = NULL;
        if (tensor->memory == IFM_MEMORY_DEVICE)
            trouble = "lies in a device's memory";
        else if (ifm_dtype_bits(tensor->dtype) == 0 && tensor->dtype != IFM_DTYPE_STRING)
            trouble = "has neither numbers nor texts";
        else if (!ifm_tensor_is_contiguous(tensor))
            trouble = "is not contiguous";
        else if (is_taken(names, i, names[i]))
            trouble = "is given twice";
        else if (total_bytes > MAX_BYTES - MIN(tensor->size_bytes, MAX_BYTES))
            trouble = "does not fit: all together are larger than any file";
        if (trouble != NULL)
            return ifm_error_set(error, IFM_ERROR_UNSUPPORTED, "%s: tensor '%s' %s", path, names[i], trouble);
        total_bytes += align_up(tensor->size_bytes);
    }
    return TRUE;
}

/* Writes @n_bytes that end at offset @end of the file, and the padding after them. */
static gboolean write_padded(IfmFileWriter *writer, const void *data, gsize n_bytes, gsize end, GError **error)
{
    static const guint8 padding[ALIGNMENT];
    return (n_bytes == 0 ||
            ifm_file_writer_write(writer, data, n_bytes, error)) && /* an empty tensor may have no address */
           ifm_file_writer_write(writer, padding, align_up(end) - end, error);
}

static gboolean write_header(IfmFileWriter *writer, const char *const *names, const IfmTensor *tensors, gsize n,
                             GError **error)
{
    json_auto_t *header = describe(names, tensors, n);
    g_autofree char *text = ifm_json_canonical(header);
    guint64 header_bytes = strlen(text);
    return ifm_file_writer_write(writer, MAGIC, strlen(MAGIC), error) &&
           ifm_file_writer_write(writer, &header_bytes, sizeof header_bytes, error) &&
           write_padded(writer, text, header_bytes, PROLOGUE_BYTES + header_bytes, error);
}

/* Writes tensor by tensor, so that memory never holds a second copy of all. */
static gboolean save(const char *path, const char *const *names, const IfmTensor *tensors, gsize n, gboolean durable,
                     GError **error)
{
    if (!check_all(path, names, tensors, n, error))
        return FALSE;
    g_autoptr(IfmFileWriter) writer = ifm_file_writer_open(path, durable, error);
    if (writer == NULL || !write_header(writer, names, tensors, n, error))
        return FALSE;
    for (gsize i = 0; i < n; i++)
        if (!write_padded(writer, tensors[i].data, tensors[i].size_bytes, tensors[i].size_bytes, error))
            return FALSE;
    return ifm_file_writer_commit(writer, error);
}

gboolean ifm_tensor_file_save(const char *path, const char *const *names, const IfmTensor *tensors, gsize n, GError **error)
{
    return save(path, names, tensors, n, TRUE, error);
}

gboolean ifm_tensor_file_save_temporary(const char *path, const char *const *names, const IfmTensor *tensors, gsize n,
                                        GError **error)
{
    return save(path, names, tensors, n, FALSE, error);
}

/* --- reading ---------------------------------------------------------------------------------------------------------- */

static gboolean wrap(IfmTensor *tensor, const json_t *entry, IfmDtype dtype, int rank, const gint64 *dims, char *data,
                     gsize n_bytes)
{
    if (dtype != IFM_DTYPE_STRING)
        return ifm_tensor_wrap(tensor, dtype, rank, dims, data, NULL);
    const json_int_t bytes = json_integer_value(json_object_get(entry, "bytes"));
    return bytes >= 0 && (guint64)bytes <= n_bytes && ifm_tensor_wrap_texts(tensor, rank, dims, data, (gsize)bytes, NULL);
}

/* Reads the next tensor. Its bytes begin at *@data, where *@n_bytes of the file are left. */
static gboolean read_tensor(IfmTensorFile *self, const json_t *entry, const char *where, char **data, gsize *n_bytes,
                            GError **error)
{
    const char *name, *word;
    json_t *shape;
    gint64 dims[IFM_MAX_RANK];
    if (!ifm_json_get_string(entry, where, "name", &name, error) ||
        !ifm_json_get_string(entry, where, "dtype", &word, error) ||
        !ifm_json_get_array(entry, where, "shape", &shape, error))
        return FALSE;
    gsize rank = json_array_size(shape);
    gboolean whole = rank <= IFM_MAX_RANK && !is_taken((const char *const *)self->names, self->n, name);
    for (gsize axis = 0; whole && axis < rank; axis++)
    {
        whole = json_is_integer(json_array_get(shape, axis));
        dims[axis] = json_integer_value(json_array_get(shape, axis));
    }
    IfmTensor *tensor = &self->tensors[self->n];
    if (!whole || !wrap(tensor, entry, ifm_dtype_from_name(word), (int)rank, dims, *data, *n_bytes) ||
        tensor->size_bytes > *n_bytes || align_up(tensor->size_bytes) > *n_bytes)
        return ifm_error_set(error, IFM_ERROR_CORRUPT,
                             "%s: tensor '%s' is not what the file has room for: %zu bytes are left for it", where, name,
                             *n_bytes);
    *data += align_up(tensor->size_bytes);
    *n_bytes -= align_up(tensor->size_bytes);
    self->names[self->n++] = g_strdup(name);
    return TRUE;
}

static gboolean read_tensors(IfmTensorFile *self, const char *path, const json_t *list, char *data, gsize n_bytes,
                             GError **error)
{
    gsize n = json_array_size(list);
    self->names = g_new0(char *, n + 1);
    self->tensors = g_new0(IfmTensor, n + 1);
    for (gsize i = 0; i < n; i++)
        if (!read_tensor(self, json_array_get(list, i), path, &data, &n_bytes, error))
            return FALSE;
    return n_bytes == 0 ||
           ifm_error_set(error, IFM_ERROR_CORRUPT, "%s: %zu bytes more than its tensors take", path, n_bytes);
}

static gboolean read_file(IfmTensorFile *self, const char *path, GError **error)
{
    gsize n_bytes = g_mapped_file_get_length(self->file);
    char *bytes = g_mapped_file_get_contents(self->file);
    guint64 header_bytes = 0;
    if (n_bytes >= PROLOGUE_BYTES)
        memcpy(&header_bytes, bytes + 8, 8);
    if (n_bytes < PROLOGUE_BYTES || memcmp(bytes, MAGIC, 8) != 0 || header_bytes > n_bytes - PROLOGUE_BYTES ||
        align_up(PROLOGUE_BYTES + header_bytes) > n_bytes)
        return ifm_error_set(error, IFM_ERROR_CORRUPT, "%s: no file of tensors, or not a whole one", path);
    json_auto_t *header = ifm_json_parse(bytes + PROLOGUE_BYTES, header_bytes, path, error);
    json_t *list = NULL;
    if (header == NULL || !ifm_json_get_array(header, path, "tensors", &list, error))
        return FALSE;
    gsize data_at = align_up(PROLOGUE_BYTES + header_bytes);
    return read_tensors(self, path, list, bytes + data_at, n_bytes - data_at, error);
}

IfmTensorFile *ifm_tensor_file_open(const char *path, GError **error)
{
    g_autoptr(IfmTensorFile) self = g_new0(IfmTensorFile, 1);
    g_autoptr(GError) failure = NULL;
    self->file = g_mapped_file_new(path, FALSE, &failure);
    if (self->file == NULL)
    {
        ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s", failure->message);
        return NULL;
    }
    if (read_file(self, path, &failure))
        return g_steal_pointer(&self);
    /* an invalid header means that the file is corrupt */
    gboolean memory = g_error_matches(failure, IFM_ERROR, IFM_ERROR_MEMORY);
    ifm_error_set(error, memory ? IFM_ERROR_MEMORY : IFM_ERROR_CORRUPT, "%s", failure->message);
    return NULL;
}

void ifm_tensor_file_free(IfmTensorFile *self)
{
    if (self == NULL)
        return;
    g_strfreev(self->names);
    g_free(self->tensors);
    g_clear_pointer(&self->file, g_mapped_file_unref);
    g_free(self);
}

/* --- looking at it ---------------------------------------------------------------------------------------------------- */

gsize ifm_tensor_file_n(const IfmTensorFile *self)
{
    return self->n;
}

const char *ifm_tensor_file_name(const IfmTensorFile *self, gsize index)
{
    g_return_val_if_fail(index < self->n, NULL);
    return self->names[index];
}

const IfmTensor *ifm_tensor_file_tensor(const IfmTensorFile *self, gsize index)
{
    g_return_val_if_fail(index < self->n, NULL);
    return &self->tensors[index];
}

const IfmTensor *ifm_tensor_file_find(const IfmTensorFile *self, const char *name)
{
    for (gsize i = 0; i < self->n; i++)
        if (g_str_equal(self->names[i], name))
            return &self->tensors[i];
    return NULL;
}

static int compare_names(const void *a, const void *b, void *names)
{
    return strcmp(((char **)names)[*(const gsize *)a], ((char **)names)[*(const gsize *)b]);
}

#define MAX_AT_ONCE ((gsize)1 << 30) /* bytes: GLib's SHA-256 takes at most 32 bits of length in one call */

static void add_bytes(GChecksum *checksum, const guchar *bytes, gsize n_bytes)
{
    for (gsize done = 0, n; done < n_bytes; done += n)
    {
        n = MIN(n_bytes - done, MAX_AT_ONCE);
        g_checksum_update(checksum, bytes + done, (gssize)n);
    }
}

/* Sorted by name, so that the order in the file makes no difference. */
char *ifm_tensor_file_digest(const IfmTensorFile *self)
{
    GChecksum *checksum = g_checksum_new(G_CHECKSUM_SHA256);
    g_autofree gsize *order = g_new(gsize, self->n + 1);
    for (gsize i = 0; i < self->n; i++)
        order[i] = i;
    g_qsort_with_data(order, (int)self->n, sizeof *order, compare_names, self->names);
    for (gsize i = 0; i < self->n; i++)
    {
        const IfmTensor *tensor = &self->tensors[order[i]];
        g_autofree char *shape = ifm_shape_to_string(tensor->rank, tensor->shape);
        g_autofree char *what =
            g_strdup_printf("%s%c%s%s", self->names[order[i]], '\n', ifm_dtype_name(tensor->dtype), shape);
        g_checksum_update(checksum, (const guchar *)what, (gssize)strlen(what) + 1);
        add_bytes(checksum, tensor->data, tensor->size_bytes);
    }
    char *digest = g_strdup(g_checksum_get_string(checksum));
    g_checksum_free(checksum);
    return digest;
}
