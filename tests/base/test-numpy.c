/* NPY and NPZ files. */
#include <string.h>

#include <base/tensor.h>

/* A file of version 1.0 with that dictionary and @n_bytes of values, 0, 1, 2, … (transfer full) */
static GByteArray *npy(const char *dictionary, gsize n_bytes)
{
    GByteArray *file = g_byte_array_new();
    const gsize length = strlen(dictionary) + 1;
    const guint8 head[] = { 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (guint8)(length & 0xff), (guint8)(length >> 8) };
    g_byte_array_append(file, head, sizeof head);
    g_byte_array_append(file, (const guint8 *)dictionary, (guint)length - 1);
    g_byte_array_append(file, (const guint8 *)"\n", 1);
    for (gsize i = 0; i < n_bytes; i++)
        g_byte_array_append(file, &(guint8){ (guint8)i }, 1);
    return file;
}

#define DICTIONARY(type, order, shape) "{'descr': '" type "', 'fortran_order': " order ", 'shape': " shape ", }"

static void test_arrays(void)
{
    static const struct
    {
        const char *dictionary;
        gsize n_bytes;
        IfmDtype dtype;
        int rank;
        gint64 shape[3];
    } cases[] = {
        { DICTIONARY("<f4", "False", "(2, 3)"), 24, IFM_DTYPE_F32, 2, { 2, 3 } },
        { DICTIONARY("<i8", "False", "()"), 8, IFM_DTYPE_I64, 0, { 0 } },
        { DICTIONARY("|u1", "False", "(5,)"), 5, IFM_DTYPE_U8, 1, { 5 } },
        { DICTIONARY("<f8", "True", "(1, 3, 1)"), 24, IFM_DTYPE_F64, 3, { 1, 3, 1 } }, /* one order of a vector */
        { "{'shape': (0, 4L), 'descr': '|b1', 'fortran_order': False}", 0, IFM_DTYPE_BOOL, 2, { 0, 4 } },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autoptr(GByteArray) file = npy(cases[i].dictionary, cases[i].n_bytes);
        g_autoptr(GError) error = NULL;
        g_auto(IfmTensor) tensor = IFM_TENSOR_INIT;
        g_assert_true(ifm_numpy_read(file->data, file->len, NULL, "a.npy", NULL, NULL, &tensor, &error));
        g_assert_no_error(error);
        g_assert_cmpint(tensor.dtype, ==, cases[i].dtype);
        g_assert_cmpint(tensor.rank, ==, cases[i].rank);
        for (int axis = 0; axis < tensor.rank; axis++)
            g_assert_cmpint(tensor.shape[axis], ==, cases[i].shape[axis]);
        g_assert_cmpuint(tensor.size_bytes, ==, cases[i].n_bytes);
        for (gsize k = 0; k < tensor.size_bytes; k++)
            g_assert_cmpint(((const guint8 *)tensor.data)[k], ==, (guint8)k);
        for (guint length = 0; length < file->len; length++) /* cut anywhere, it is refused */
        {
            g_autoptr(GError) trouble = NULL;
            g_auto(IfmTensor) none = IFM_TENSOR_INIT;
            g_assert_false(ifm_numpy_read(file->data, length, NULL, "a.npy", NULL, NULL, &none, &trouble));
            g_assert_error(trouble, IFM_ERROR, IFM_ERROR_INVALID);
            g_assert_null(strchr(trouble->message, '\n'));
            g_assert_null(none.data);
        }
    }
}

static void test_refused(void)
{
    static const struct
    {
        const char *dictionary;
        gsize n_bytes;
        const char *part;
    } cases[] = {
        { DICTIONARY(">f4", "False", "(2,)"), 8, "big-endian" },
        { DICTIONARY("<f4", "True", "(2, 3)"), 24, "Fortran order" },
        { DICTIONARY("|O", "False", "(2,)"), 8, "Python objects" },
        { DICTIONARY("<U4", "False", "(2,)"), 32, "of type '<U4'" },
        { "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", 8, "structures" },
        { DICTIONARY("<f4", "False", "(2, 3)"), 20, "truncated" },
        { DICTIONARY("<f4", "False", "(2, 3)"), 28, "too long" },
        { DICTIONARY("<f4", "False", "(9223372036854775807, 9)"), 8, "is larger than any memory" },
        { DICTIONARY("<f4", "False", "(9223372036854775807, 9223372036854775807)"), 0, "is larger than any memory" },
        { DICTIONARY("<f4", "False", "(-1,)"), 8, "header cannot be read" },
        { "{'descr': '<f4', 'fortran_order': False}", 8, "header cannot be read" },
        { "exit()", 8, "header cannot be read" },
    };
    static const guint8 pickle[] = { 0x80, 4, ']', '.' }, text[] = "image";
    for (gsize i = 0; i < G_N_ELEMENTS(cases) + 2; i++)
    {
        const gboolean is_case = i < G_N_ELEMENTS(cases);
        g_autoptr(GByteArray) file = is_case ? npy(cases[i].dictionary, cases[i].n_bytes) : g_byte_array_new();
        g_autoptr(GError) error = NULL;
        g_auto(IfmTensor) tensor = IFM_TENSOR_INIT;
        if (i == G_N_ELEMENTS(cases))
            g_byte_array_append(file, pickle, sizeof pickle);
        else if (!is_case)
            g_byte_array_append(file, text, sizeof text);
        g_assert_false(ifm_numpy_read(file->data, file->len, "x", "a.npy", NULL, NULL, &tensor, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_nonnull(strstr(error->message, "a.npy"));
        g_assert_nonnull(strstr(error->message, is_case                    ? cases[i].part
                                                : i == G_N_ELEMENTS(cases) ? "pickle"
                                                                           : "is no NPY or NPZ file"));
    }
}

/* One array, stored: what numpy.savez writes. (transfer full) */
static GByteArray *npz(const char *name, const GByteArray *array)
{
    GByteArray *file = g_byte_array_new();
    guint32 crc = 0xffffffff;
    for (guint i = 0; i < array->len; i++)
    {
        crc ^= array->data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    crc = ~crc;
    const guint32 length = (guint32)strlen(name), size = array->len;
#define LE2(x) (guint8)((x)&0xff), (guint8)((x) >> 8 & 0xff)
#define LE4(x) LE2(x), LE2((x) >> 16)
    const guint8 local[] = { 'P',    'K',     3,        4,         LE2(20),   LE2(0),      LE2(0),
                             LE2(0), LE2(33), LE4(crc), LE4(size), LE4(size), LE2(length), LE2(0) };
    const guint8 central[] = { 'P',    'K',    1,       2,        LE2(20),   LE2(20),   LE2(0),
                               LE2(0), LE2(0), LE2(33), LE4(crc), LE4(size), LE4(size), LE2(length),
                               LE2(0), LE2(0), LE2(0),  LE2(0),   LE4(0),    LE4(0) };
    const guint32 at = (guint32)sizeof local + length + size, n = (guint32)sizeof central + length;
    const guint8 end[] = { 'P', 'K', 5, 6, LE2(0), LE2(0), LE2(1), LE2(1), LE4(n), LE4(at), LE2(0) };
    g_byte_array_append(file, local, sizeof local);
    g_byte_array_append(file, (const guint8 *)name, length);
    g_byte_array_append(file, array->data, array->len);
    g_byte_array_append(file, central, sizeof central);
    g_byte_array_append(file, (const guint8 *)name, length);
    g_byte_array_append(file, end, sizeof end);
    return file;
}

static void test_archive(void)
{
    g_autoptr(GByteArray) array = npy(DICTIONARY("<f4", "False", "(2, 3)"), 24);
    g_autoptr(GByteArray) file = npz("x.npy", array);
    g_autoptr(GError) error = NULL;
    g_auto(IfmTensor) tensor = IFM_TENSOR_INIT;
    g_assert_true(ifm_numpy_read(file->data, file->len, "x", "a.npz", NULL, NULL, &tensor, &error));
    g_assert_no_error(error);
    g_assert_cmpint(tensor.shape[1], ==, 3);
    for (guint length = 0; length < file->len; length++)
    {
        g_autoptr(GError) trouble = NULL;
        g_auto(IfmTensor) none = IFM_TENSOR_INIT;
        g_assert_false(ifm_numpy_read(file->data, length, "x", "a.npz", NULL, NULL, &none, &trouble));
        g_assert_error(trouble, IFM_ERROR, IFM_ERROR_INVALID);
    }
    for (guint at = 0; at < array->len; at++) /* a byte of the array is another: the checksum tells */
    {
        g_autoptr(GError) trouble = NULL;
        g_auto(IfmTensor) none = IFM_TENSOR_INIT;
        file->data[30 + strlen("x.npy") + at] ^= 1;
        g_assert_false(ifm_numpy_read(file->data, file->len, "x", "a.npz", NULL, NULL, &none, &trouble));
        file->data[30 + strlen("x.npy") + at] ^= 1;
    }
}

/* Wanted: when it is asked, nothing has been allocated yet. */
static gboolean is_wanted(IfmDtype dtype, int rank, const gint64 *shape, gconstpointer user, GError **error)
{
    const IfmTensor *tensor = user;
    g_assert_null(tensor->data);
    g_assert_cmpint(dtype, ==, IFM_DTYPE_F32);
    return (rank == 1 && shape[0] == 2) || ifm_error_refuse(error, "a.npy: not wanted");
}

static void test_wanted(void)
{
    static const char *const dictionaries[] = { DICTIONARY("<f4", "False", "(2,)"), DICTIONARY("<f4", "False", "(1, 2)") };
    for (gsize i = 0; i < 4; i++)
    {
        g_autoptr(GByteArray) array = npy(dictionaries[i % 2], 8), file = i < 2 ? NULL : npz("x.npy", array);
        const GByteArray *given = file != NULL ? file : array;
        g_autoptr(GError) error = NULL;
        g_auto(IfmTensor) tensor = IFM_TENSOR_INIT;
        gboolean read = ifm_numpy_read(given->data, given->len, "x", "a.npy", is_wanted, &tensor, &tensor, &error);
        g_assert_cmpint(read, ==, i % 2 == 0);
        g_assert_cmpuint(tensor.size_bytes, ==, read ? 8 : 0);
        g_assert_true(read || g_str_has_suffix(error->message, "not wanted"));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/numpy/arrays", test_arrays);
    g_test_add_func("/numpy/refused", test_refused);
    g_test_add_func("/numpy/archive", test_archive);
    g_test_add_func("/numpy/wanted", test_wanted);
    return g_test_run();
}
