#include <string.h>

#include <zip.h>

#include <base/base.h>
#include <base/tensor.h>

/* This reader takes tensors from NumPy's files: one array (NPY) or an archive of arrays (NPZ). */

/* --- the header of an array ------------------------------------------------------------------------------------------- */

/*
 * An NPY file: 6 bytes of magic, the version (major, minor), the header's length (2 bytes, 4 since version 2), the header,
 * a Python dictionary in one line: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }, and the values.
 */
#define MAGIC "\x93NUMPY"
#define MAGIC_BYTES 6
#define PICKLE 0x80 /* the first byte of a pickle since its protocol 2 */
#define ZIP_MAGIC "PK"

static const struct
{
    const char *descr;
    IfmDtype dtype;
} types[] = {
    { "f2", IFM_DTYPE_F16 }, { "f4", IFM_DTYPE_F32 }, { "f8", IFM_DTYPE_F64 }, { "i1", IFM_DTYPE_I8 },
    { "i2", IFM_DTYPE_I16 }, { "i4", IFM_DTYPE_I32 }, { "i8", IFM_DTYPE_I64 }, { "u1", IFM_DTYPE_U8 },
    { "u2", IFM_DTYPE_U16 }, { "u4", IFM_DTYPE_U32 }, { "u8", IFM_DTYPE_U64 }, { "b1", IFM_DTYPE_BOOL },
};

/* Header: what is left of the dictionary's text, and what was read. */
typedef struct
{
    const char *at, *end;
    char *descr; /* NULL: not yet read */
    gboolean has_order, fortran, has_shape;
    int rank;
    gint64 shape[IFM_MAX_RANK];
} Header;

static void header_clear(Header *header)
{
    g_free(header->descr);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Header, header_clear)

static void skip_spaces(Header *header)
{
    while (header->at < header->end && g_ascii_isspace(*header->at))
        header->at++;
}

/* Takes @text where it comes next. */
static gboolean take(Header *header, const char *text)
{
    gsize length = strlen(text);
    skip_spaces(header);
    if ((gsize)(header->end - header->at) < length || memcmp(header->at, text, length) != 0)
        return FALSE;
    header->at += length;
    return TRUE;
}

/* Returns: (transfer full) the text between quotes; no name or type that is read here has an escape. NULL: there is none */
static char *take_text(Header *header)
{
    const char *quote = take(header, "'") ? "'" : take(header, "\"") ? "\"" : NULL;
    const char *end = quote != NULL ? memchr(header->at, *quote, (gsize)(header->end - header->at)) : NULL;
    if (end == NULL)
        return NULL;
    char *text = g_strndup(header->at, (gsize)(end - header->at));
    header->at = end + 1;
    return text;
}

/* Whether an element of a list or dictionary ends here: with a comma, or before the list's end. */
static gboolean take_separator(Header *header, char closing)
{
    return take(header, ",") || (header->at < header->end && *header->at == closing);
}

static gboolean take_dim(Header *header, gint64 *dim)
{
    const char *begin = header->at;
    for (*dim = 0; header->at < header->end && g_ascii_isdigit(*header->at); header->at++)
        if (__builtin_mul_overflow(*dim, 10, dim) || __builtin_add_overflow(*dim, *header->at - '0', dim))
            return FALSE;
    return header->at > begin;
}

static gboolean take_shape(Header *header)
{
    if (!take(header, "("))
        return FALSE;
    while (!take(header, ")"))
    {
        gint64 dim;
        skip_spaces(header);
        if (header->rank == IFM_MAX_RANK || !take_dim(header, &dim))
            return FALSE;
        header->shape[header->rank++] = dim;
        take(header, "L"); /* as Python 2 wrote large numbers */
        if (!take_separator(header, ')'))
            return FALSE;
    }
    return header->has_shape = TRUE;
}

static gboolean take_entry(Header *header)
{
    g_autofree char *key = take_text(header);
    if (key == NULL || !take(header, ":"))
        return FALSE;
    if (g_str_equal(key, "descr") && header->descr == NULL)
    {
        gboolean is_list = take(header, "["); /* of a structure's members */
        header->descr = is_list ? g_strdup("[") : take_text(header);
        return header->descr != NULL;
    }
    if (g_str_equal(key, "fortran_order") && !header->has_order)
    {
        header->fortran = take(header, "True");
        header->has_order = header->fortran || take(header, "False");
        return header->has_order;
    }
    return g_str_equal(key, "shape") && !header->has_shape && take_shape(header);
}

/* A structure's list is not read to its end: there is no more to be said of it. */
static gboolean take_header(Header *header)
{
    if (!take(header, "{"))
        return FALSE;
    while (!take(header, "}"))
    {
        if (!take_entry(header))
            return FALSE;
        if (g_strcmp0(header->descr, "[") == 0)
            return TRUE;
        if (!take_separator(header, '}'))
            return FALSE;
    }
    return header->descr != NULL && header->has_order && header->has_shape;
}

/* --- an array ----------------------------------------------------------------------------------------------------- */

static gboolean find_type(const Header *header, const char *where, IfmDtype *dtype, GError **error)
{
    const char *descr = header->descr, *name = *descr != '\0' ? descr + 1 : "";
    if (strchr(descr, 'O') != NULL)
        return ifm_error_refuse(
            error, "%s: its elements are Python objects (a pickle), which is never loaded: expected numbers", where);
    if (*descr == '>' && strchr("iufcb", *name) != NULL && *name != '\0')
        return ifm_error_refuse(error, "%s: its numbers are big-endian (%s): expected little-endian ones", where, descr);
    for (gsize i = 0; i < G_N_ELEMENTS(types) && (*descr == '<' || *descr == '|'); i++)
        if (g_str_equal(types[i].descr, name))
        {
            *dtype = types[i].dtype;
            return TRUE;
        }
    return ifm_error_refuse(error,
                            *descr == '['
                                ? "%s: its elements are structures: expected numbers"
                                : "%s: its elements are of type '%s': expected f2, f4, f8, i1 to i8, u1 to u8 or b1",
                            where, descr);
}

/* Takes the place and the length of the header. @data: [got] the beginning of the @size bytes of an array */
static gboolean find_header(const guint8 *data, gsize got, guint64 size, const char *where, gsize *at, gsize *length,
                            GError **error)
{
    gsize width = got > MAGIC_BYTES && data[MAGIC_BYTES] >= 2 ? 4 : 2;
    *at = MAGIC_BYTES + 2 + width;
    *length = 0;
    if (got < *at)
        return ifm_error_refuse(error, "%s: ends within the header of an NPY file, after %zu bytes", where, got);
    if (data[MAGIC_BYTES] < 1 || data[MAGIC_BYTES] > 3)
        return ifm_error_refuse(error, "%s: version %u.%u of NPY: expected 1.0, 2.0 or 3.0", where, data[MAGIC_BYTES],
                                data[MAGIC_BYTES + 1]);
    for (gsize i = 0; i < width; i++)
        *length |= (gsize)data[MAGIC_BYTES + 2 + i] << (8 * i);
    return *length <= size - *at || ifm_error_refuse(error,
                                                     "%s: ends within the header of an NPY file: it says %zu"
                                                     " bytes, but %" G_GUINT64_FORMAT " are left",
                                                     where, *length, size - *at);
}

/* Only what has two dimensions of more than 1 can lie in another order. */
static gboolean order_matters(const Header *header)
{
    int n = 0;
    for (int axis = 0; axis < header->rank; axis++)
        n += header->shape[axis] > 1;
    return n > 1;
}

/* Wanted: what is asked of an array, and where it is. */
typedef struct
{
    const char *where;
    IfmNumpyAccept accept;
    gconstpointer user;
} Wanted;

/* Makes the tensor of an array by its header, where it is wanted and its values are as many as its shape says.
 * @data: [at + length] the array's beginning    @n_values: bytes that follow */
static gboolean make_tensor(const guint8 *data, gsize at, gsize length, guint64 n_values, const Wanted *wanted,
                            IfmTensor *tensor, GError **error)
{
    const char *where = wanted->where;
    IfmDtype dtype = IFM_DTYPE_UNDEFINED;
    gsize needed;
    g_auto(Header) header = { .at = (const char *)data + at, .end = (const char *)data + at + length };
    if (!take_header(&header))
        return ifm_error_refuse(error,
                                "%s: its NPY header cannot be read: expected {'descr': '<f4', 'fortran_order': False, "
                                "'shape': (2, 3)} with at most %d dimensions",
                                where, IFM_MAX_RANK);
    if (!find_type(&header, where, &dtype, error))
        return FALSE;
    g_autofree char *shape = ifm_shape_to_string(header.rank, header.shape);
    if (header.fortran && order_matters(&header))
        return ifm_error_refuse(error, "%s: its values %s lie in Fortran order: expected C order (numpy.ascontiguousarray)",
                                where, shape);
    if (!ifm_shape_size_bytes(dtype, header.rank, header.shape, &needed, NULL))
        return ifm_error_refuse(error, "%s: %s %s is larger than any memory", where, ifm_dtype_name(dtype), shape);
    if (needed != n_values)
        return ifm_error_refuse(
            error, "%s: %s %s does not go with its %" G_GUINT64_FORMAT " bytes of values: the file is %s", where,
            ifm_dtype_name(dtype), shape, n_values, needed > n_values ? "truncated" : "too long");
    if (wanted->accept != NULL && !wanted->accept(dtype, header.rank, header.shape, wanted->user, error))
        return FALSE;
    if (ifm_tensor_init(tensor, dtype, header.rank, header.shape, error))
        return TRUE;
    return ifm_error_prefix(error, "%s: ", where);
}

static gboolean read_array(const guint8 *data, gsize size, const Wanted *wanted, IfmTensor *tensor, GError **error)
{
    gsize at, length;
    if (!find_header(data, size, size, wanted->where, &at, &length, error) ||
        !make_tensor(data, at, length, size - at - length, wanted, tensor, error))
        return FALSE;
    if (tensor->size_bytes > 0)
        memcpy(tensor->data, data + at + length, tensor->size_bytes);
    return TRUE;
}

/* --- an archive of arrays ----------------------------------------------------------------------------------------- */

#define DEFLATE_MAX_RATIO 1032 /* zlib's manual: what a byte can stand for, at most */

/* "x" of the archive's "x.npy" */
static gsize length_of_name(const char *name)
{
    return strlen(name) - (g_str_has_suffix(name, ".npy") ? strlen(".npy") : 0);
}

/* Finds the array; the only one of an archive has whatever name. Returns: -1 with an error */
static zip_int64_t find_member(zip_t *archive, const char *member, const char *where, GError **error)
{
    zip_int64_t n = zip_get_num_entries(archive, 0);
    g_autoptr(GString) names = g_string_new(NULL);
    for (zip_int64_t i = 0; i < n; i++)
    {
        const char *name = zip_get_name(archive, (zip_uint64_t)i, ZIP_FL_ENC_RAW);
        gsize length = name != NULL ? length_of_name(name) : 0;
        if (name != NULL && (n == 1 || (member != NULL && strlen(member) == length && memcmp(member, name, length) == 0)))
            return i;
        if (name != NULL && names->len < 200)
            g_string_append_printf(names, "%s%.*s", names->len > 0 ? ", " : "", (int)MIN(length, 64), name);
    }
    if (n <= 0)
        ifm_error_refuse(error, "%s: an archive without arrays", where);
    else
        ifm_error_refuse(error, "%s: has no array '%s' (it has %s)", where, member != NULL ? member : "", names->str);
    ifm_error_make_one_line(error);
    return -1;
}

/* Whether it can be what it says, so that its size may be believed. */
static gboolean is_plausible(const zip_stat_t *status, gsize file_bytes)
{
    const zip_uint64_t all = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    if ((status->valid & all) != all || status->encryption_method != ZIP_EM_NONE || status->comp_size > file_bytes)
        return FALSE;
    return status->comp_method == ZIP_CM_STORE     ? status->size == status->comp_size
           : status->comp_method == ZIP_CM_DEFLATE ? status->size / DEFLATE_MAX_RATIO <= status->comp_size
                                                   : FALSE;
}

static gboolean read_bytes(zip_file_t *file, guint8 *bytes, zip_uint64_t size)
{
    for (zip_uint64_t done = 0; done < size;)
    {
        zip_int64_t n = zip_fread(file, bytes + done, size - done);
        if (n <= 0)
            return FALSE;
        done += (zip_uint64_t)n;
    }
    return TRUE;
}

#define MAX_HEADER (1 << 16) /* of a member; NumPy's are below 300 bytes */

static gboolean refuse_damaged(const char *where, GError **error)
{
    return ifm_error_refuse(error, "%s: its archive is truncated or damaged", where);
}

/* The header first, of which few bytes are unpacked: what it says is judged before there is memory for the values. */
static gboolean read_packed(zip_file_t *file, zip_uint64_t size, const Wanted *wanted, IfmTensor *tensor, GError **error)
{
    g_autofree guint8 *header = g_malloc(MAX_HEADER + 1);
    const gsize first = (gsize)MIN(size, MAGIC_BYTES + 2 + 4);
    gsize at, length;
    guint8 more;
    if (file == NULL || !read_bytes(file, header, first))
        return refuse_damaged(wanted->where, error);
    if (first < MAGIC_BYTES || memcmp(header, MAGIC, MAGIC_BYTES) != 0)
        return ifm_error_refuse(error, "%s: what its archive holds is no NPY file", wanted->where);
    if (!find_header(header, first, size, wanted->where, &at, &length, error))
        return FALSE;
    if (at + length > MAX_HEADER)
        return ifm_error_refuse(error, "%s: its NPY header has %zu bytes: expected %d at most", wanted->where, length,
                                MAX_HEADER);
    const gsize end = MAX(at + length, first); /* a header may end within the bytes that are read already */
    if (!read_bytes(file, header + first, end - first))
        return refuse_damaged(wanted->where, error);
    if (!make_tensor(header, at, length, size - at - length, wanted, tensor, error))
        return FALSE;
    const gsize n_read = end - at - length;
    if (n_read > 0)
        memcpy(tensor->data, header + at + length, n_read);
    if (read_bytes(file, (guint8 *)tensor->data + n_read, tensor->size_bytes - n_read) &&
        zip_fread(file, &more, 1) == 0) /* the checksum is checked at the end alone */
        return TRUE;
    ifm_tensor_clear(tensor);
    return refuse_damaged(wanted->where, error);
}

static gboolean read_member(zip_t *archive, zip_uint64_t index, gsize file_bytes, const Wanted *wanted, IfmTensor *tensor,
                            GError **error)
{
    zip_stat_t status;
    zip_stat_init(&status);
    if (zip_stat_index(archive, index, 0, &status) != 0 || !is_plausible(&status, file_bytes))
        return ifm_error_refuse(error, "%s: its archive is damaged, or packed in a way that NumPy does not use",
                                wanted->where);
    zip_file_t *file = zip_fopen_index(archive, index, 0);
    gboolean read = read_packed(file, status.size, wanted, tensor, error);
    if (file != NULL)
        zip_fclose(file);
    return read;
}

static gboolean read_archive(const guint8 *data, gsize size, const char *member, const Wanted *wanted, IfmTensor *tensor,
                             GError **error)
{
    const char *where = wanted->where;
    zip_error_t trouble;
    zip_error_init(&trouble);
    zip_source_t *source = zip_source_buffer_create(data, size, 0, &trouble);
    zip_t *archive = source != NULL ? zip_open_from_source(source, ZIP_RDONLY, &trouble) : NULL;
    if (archive == NULL)
    {
        ifm_error_refuse(error, "%s: a truncated or damaged archive: %s", where, zip_error_strerror(&trouble));
        zip_source_free(source);
        zip_error_fini(&trouble);
        return FALSE;
    }
    zip_int64_t index = find_member(archive, member, where, error);
    gboolean read = index >= 0 && read_member(archive, (zip_uint64_t)index, size, wanted, tensor, error);
    zip_discard(archive);
    zip_error_fini(&trouble);
    return read;
}

gboolean ifm_numpy_read(const guint8 *data, gsize size, const char *member, const char *where, IfmNumpyAccept accept,
                        gconstpointer user, IfmTensor *tensor, GError **error)
{
    const Wanted wanted = { where, accept, user };
    *tensor = IFM_TENSOR_INIT;
    gboolean read = FALSE;
    if (size >= MAGIC_BYTES && memcmp(data, MAGIC, MAGIC_BYTES) == 0)
        read = read_array(data, size, &wanted, tensor, error);
    else if (size >= strlen(ZIP_MAGIC) && memcmp(data, ZIP_MAGIC, strlen(ZIP_MAGIC)) == 0)
        read = read_archive(data, size, member, &wanted, tensor, error);
    else if (size > 0 && data[0] == PICKLE)
        ifm_error_refuse(error, "%s: a Python pickle, which is never loaded: expected an NPY or NPZ file of numbers",
                         where);
    else
        ifm_error_refuse(error, "%s: is no NPY or NPZ file", where);
    if (!read)
        ifm_error_make_one_line(error);
    return read;
}
