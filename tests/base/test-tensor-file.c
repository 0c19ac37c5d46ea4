#include <base/tensor.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

typedef struct
{
    char *folder, *path;
    float values[6];
    gint64 places[4];
    guint8 byte;
    IfmTensor tensors[4];
} Fixture;

static const char *const names[] = { "x", "edge_index", "scalar \"\xc3\xa9\"", "nothing" };

static void fixture_init(Fixture *fixture)
{
    *fixture = (Fixture){ .values = { 1, -2, 3, -4, 0, 100 }, .places = { 7, -1, G_MAXINT64, G_MININT64 }, .byte = 200 };
    fixture->folder = g_dir_make_tmp("inferometer-test-XXXXXX", NULL);
    fixture->path = g_build_filename(fixture->folder, "tensors", NULL);
    ifm_tensor_wrap(&fixture->tensors[0], IFM_DTYPE_F32, 2, (gint64[]){ 2, 3 }, fixture->values, NULL);
    ifm_tensor_wrap(&fixture->tensors[1], IFM_DTYPE_I64, 2, (gint64[]){ 2, 2 }, fixture->places, NULL);
    ifm_tensor_wrap(&fixture->tensors[2], IFM_DTYPE_U8, 0, NULL, &fixture->byte, NULL);
    ifm_tensor_wrap(&fixture->tensors[3], IFM_DTYPE_F64, 3, (gint64[]){ 4, 0, 2 }, NULL, NULL);
}

static void fixture_clear(Fixture *fixture)
{
    g_unlink(fixture->path);
    g_assert_cmpint(g_rmdir(fixture->folder), ==, 0); /* no temporary file is left */
    g_free(fixture->path);
    g_free(fixture->folder);
}

static void save(Fixture *fixture, gsize n)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(ifm_tensor_file_save(fixture->path, names, fixture->tensors, n, &error));
    g_assert_no_error(error);
}

static char *digest_of(const Fixture *fixture)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmTensorFile) file = ifm_tensor_file_open(fixture->path, &error);
    g_assert_no_error(error);
    return ifm_tensor_file_digest(file);
}

static void test_round_trip(void)
{
    Fixture fixture;
    fixture_init(&fixture);
    save(&fixture, 4);
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmTensorFile) file = ifm_tensor_file_open(fixture.path, &error);
    g_assert_no_error(error);
    g_assert_cmpuint(ifm_tensor_file_n(file), ==, 4);
    for (gsize i = 0; i < 4; i++)
    {
        const IfmTensor *before = &fixture.tensors[i], *after = ifm_tensor_file_tensor(file, i);
        g_assert_cmpstr(ifm_tensor_file_name(file, i), ==, names[i]);
        g_assert_true(ifm_tensor_file_find(file, names[i]) == after);
        g_assert_cmpint(after->dtype, ==, before->dtype);
        g_assert_cmpint(after->rank, ==, before->rank);
        g_assert_cmpmem(after->shape, (gsize)after->rank * sizeof(gint64), before->shape,
                        (gsize)before->rank * sizeof(gint64));
        g_assert_cmpuint((gsize)after->data % 64, ==, 0);
        if (before->size_bytes > 0)
            g_assert_cmpmem(after->data, after->size_bytes, before->data, before->size_bytes);
        g_assert_cmpuint(after->size_bytes, ==, before->size_bytes);
    }
    g_assert_null(ifm_tensor_file_find(file, "X"));
    fixture_clear(&fixture);
}

/* Texts of any length, empty ones too, come back; a file that says other bytes of them is refused. */
static void test_texts(void)
{
    static const char *const texts[] = { "a", "", "two words", "\xc3\xa9" };
    Fixture fixture;
    fixture_init(&fixture);
    g_autoptr(GError) error = NULL;
    IfmTensor both[2] = { IFM_TENSOR_INIT, IFM_TENSOR_INIT };
    g_assert_true(ifm_tensor_init_texts(&both[0], 2, (gint64[]){ 2, 2 }, texts, &error));
    g_assert_true(ifm_tensor_init(&both[1], IFM_DTYPE_F32, 1, (gint64[]){ 3 }, &error));
    g_assert_true(ifm_tensor_file_save(fixture.path, names, both, 2, &error));
    g_assert_no_error(error);
    g_autoptr(IfmTensorFile) file = ifm_tensor_file_open(fixture.path, &error);
    g_assert_no_error(error);
    g_autofree const char **read = ifm_tensor_texts(ifm_tensor_file_tensor(file, 0));
    for (gsize i = 0; i < G_N_ELEMENTS(texts); i++)
        g_assert_cmpstr(read[i], ==, texts[i]);
    g_assert_cmpuint(ifm_tensor_file_tensor(file, 1)->size_bytes, ==, 12);
    g_autofree char *bytes = NULL;
    gsize length;
    g_assert_true(g_file_get_contents(fixture.path, &bytes, &length, NULL));
    char *said = g_strstr_len(bytes + 16, 200, "\"bytes\":");
    g_assert_nonnull(said);
    for (char digit = '0'; digit <= '9'; digit++) /* of 16 */
    {
        g_autoptr(GError) trouble = NULL;
        said[strlen("\"bytes\":") + 1] = digit;
        g_assert_true(g_file_set_contents(fixture.path, bytes, (gssize)length, NULL));
        g_autoptr(IfmTensorFile) damaged = ifm_tensor_file_open(fixture.path, &trouble);
        g_assert_cmpint(damaged != NULL, ==, digit == '6');
    }
    ifm_tensor_clear(&both[0]);
    ifm_tensor_clear(&both[1]);
    fixture_clear(&fixture);
}

static void test_empty(void)
{
    Fixture fixture;
    fixture_init(&fixture);
    save(&fixture, 0);
    g_autoptr(IfmTensorFile) file = ifm_tensor_file_open(fixture.path, NULL);
    g_assert_cmpuint(ifm_tensor_file_n(file), ==, 0);
    fixture_clear(&fixture);
}

static void test_same_bytes(void)
{
    Fixture fixture;
    fixture_init(&fixture);
    g_autofree char *first = NULL, *second = NULL;
    gsize n_first, n_second;
    save(&fixture, 4);
    g_assert_true(g_file_get_contents(fixture.path, &first, &n_first, NULL));
    save(&fixture, 4);
    g_assert_true(g_file_get_contents(fixture.path, &second, &n_second, NULL));
    g_assert_cmpmem(first, n_first, second, n_second);
    fixture_clear(&fixture);
}

/* The digest as the header says: of names, types, shapes and bytes; computed here by hand. */
static void test_digest(void)
{
    Fixture fixture;
    fixture_init(&fixture);
    save(&fixture, 2);
    g_autofree char *digest = digest_of(&fixture);
    g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
    g_checksum_update(sum, (const guchar *)"edge_index\ni64[2,2]", 20); /* with its NUL; by name */
    g_checksum_update(sum, (const guchar *)fixture.places, sizeof fixture.places);
    g_checksum_update(sum, (const guchar *)"x\nf32[2,3]", 11);
    g_checksum_update(sum, (const guchar *)fixture.values, sizeof fixture.values);
    g_assert_cmpstr(digest, ==, g_checksum_get_string(sum));
    fixture_clear(&fixture);
}

static void test_digest_reports_apart(void)
{
    Fixture fixture;
    fixture_init(&fixture);
    save(&fixture, 2);
    g_autofree char *before = digest_of(&fixture);
    const char *swapped[] = { names[1], names[0] };
    const IfmTensor order[] = { fixture.tensors[1], fixture.tensors[0] };
    g_assert_true(ifm_tensor_file_save(fixture.path, swapped, order, 2, NULL));
    g_autofree char *reordered = digest_of(&fixture);
    g_assert_cmpstr(before, ==, reordered);
    g_assert_true(ifm_tensor_file_save(fixture.path, swapped, fixture.tensors, 2, NULL)); /* each by the other's name */
    g_autofree char *renamed = digest_of(&fixture);
    g_assert_cmpstr(before, !=, renamed);
    fixture.values[5] = 101;
    save(&fixture, 2);
    g_autofree char *changed = digest_of(&fixture);
    g_assert_cmpstr(before, !=, changed);
    fixture.values[5] = 100;
    ifm_tensor_wrap(&fixture.tensors[0], IFM_DTYPE_F32, 2, (gint64[]){ 3, 2 }, fixture.values, NULL);
    save(&fixture, 2);
    g_autofree char *reshaped = digest_of(&fixture);
    g_assert_cmpstr(before, !=, reshaped);
    ifm_tensor_wrap(&fixture.tensors[0], IFM_DTYPE_I32, 2, (gint64[]){ 2, 3 }, fixture.values, NULL);
    save(&fixture, 2);
    g_autofree char *retyped = digest_of(&fixture);
    g_assert_cmpstr(before, !=, retyped);
    fixture_clear(&fixture);
}

static void refuses(Fixture *fixture, const char *const *called, const IfmTensor *tensors, gsize n, const char *why)
{
    g_autoptr(GError) error = NULL;
    g_assert_false(ifm_tensor_file_save(fixture->path, called, tensors, n, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNSUPPORTED);
    g_assert_nonnull(strstr(error->message, why));
    g_assert_false(g_file_test(fixture->path, G_FILE_TEST_EXISTS));
}

static void test_refusals(void)
{
    Fixture fixture;
    fixture_init(&fixture);
    IfmTensor strided = fixture.tensors[0], huge[2], nothing = { .dtype = IFM_DTYPE_UNDEFINED, .data = fixture.values };
    strided.strides_bytes[0] = 16;
    for (int i = 0; i < 2; i++) /* 4 EiB each, not read */
        g_assert_true(ifm_tensor_wrap(&huge[i], IFM_DTYPE_U8, 1, (gint64[]){ G_MAXINT64 / 2 }, fixture.values, NULL));
    refuses(&fixture, names, &strided, 1, "tensor 'x' is not contiguous");
    refuses(&fixture, names, &nothing, 1, "tensor 'x' has neither numbers nor texts");
    refuses(&fixture, names, huge, 2, "tensor 'edge_index' does not fit");
    const char *twice[] = { "x", "x" };
    refuses(&fixture, twice, fixture.tensors, 2, "tensor 'x' is given twice");
    g_autoptr(GError) error = NULL;
    g_assert_false(ifm_tensor_file_save("/nowhere/tensors", names, fixture.tensors, 1, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    g_clear_error(&error);
    g_assert_null(ifm_tensor_file_open(fixture.path, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    fixture_clear(&fixture);
}

/* Reads every byte it describes, so that a place outside the mapping would not go by unnoticed. */
static guint look_at_all(const IfmTensorFile *file)
{
    guint sum = 0;
    for (gsize i = 0; i < ifm_tensor_file_n(file); i++)
        for (gsize k = 0; k < ifm_tensor_file_tensor(file, i)->size_bytes; k++)
            sum += ((const guint8 *)ifm_tensor_file_tensor(file, i)->data)[k];
    return sum;
}

/* Without the fsync of a file that shall last: there are hundreds. */
static gboolean put(const char *path, const char *bytes, gssize n)
{
    g_unlink(path); /* which that call may leave longer than @n */
    return g_file_set_contents_full(path, bytes, n, G_FILE_SET_CONTENTS_NONE, 0600, NULL);
}

/* However a file was cut, it is refused; so is one that goes on after its end. */
static void test_truncated(void)
{
    Fixture fixture;
    fixture_init(&fixture);
    save(&fixture, 3);
    g_autofree char *bytes = NULL;
    gsize n;
    g_assert_true(g_file_get_contents(fixture.path, &bytes, &n, NULL));
    for (gsize keep = 0; keep < n; keep++)
    {
        g_autoptr(GError) error = NULL;
        g_assert_true(put(fixture.path, bytes, (gssize)keep));
        g_assert_null(ifm_tensor_file_open(fixture.path, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_CORRUPT);
    }
    g_autofree char *longer = g_malloc0(n + 64);
    memcpy(longer, bytes, n);
    g_assert_true(put(fixture.path, longer, (gssize)n + 64));
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_tensor_file_open(fixture.path, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_CORRUPT);
    fixture_clear(&fixture);
}

/* Whatever one byte of the header was made, the file is refused, or describes bytes that it has. */
static void test_damaged(void)
{
    Fixture fixture;
    fixture_init(&fixture);
    save(&fixture, 3);
    g_autofree char *bytes = NULL;
    gsize n, n_refused = 0;
    g_assert_true(g_file_get_contents(fixture.path, &bytes, &n, NULL));
    gsize n_header = 16 + strlen(bytes + 16); /* the padding's zeros end it */
    static const guint8 flips[] = { 0x01, 0x04, 0x11, 0x80, 0xff };
    for (gsize place = 0; place < n_header; place++)
        for (gsize i = 0; i < G_N_ELEMENTS(flips); i++)
        {
            g_autoptr(GError) error = NULL;
            g_autofree char *damaged = g_memdup2(bytes, n);
            damaged[place] = (char)(damaged[place] ^ flips[i]);
            g_assert_true(put(fixture.path, damaged, (gssize)n));
            g_autoptr(IfmTensorFile) file = ifm_tensor_file_open(fixture.path, &error);
            if (file != NULL)
                look_at_all(file);
            else
                g_assert_error(error, IFM_ERROR, IFM_ERROR_CORRUPT);
            n_refused += file == NULL;
        }
    g_assert_cmpuint(n_refused, >, n_header * 2); /* letters of names, and digits, may be others */
    fixture_clear(&fixture);
}

static void forge(Fixture *fixture, const char *header)
{
    guint64 n_header = strlen(header);
    gsize n = (16 + n_header + 63) / 64 * 64 + 64;
    g_autofree char *bytes = g_malloc0(n);
    memcpy(bytes, "IFMTENS\n", 8);
    memcpy(bytes + 8, &n_header, 8);
    memcpy(bytes + 16, header, n_header);
    g_assert_true(put(fixture->path, bytes, (gssize)n));
}

#define GIB ((gsize)1 << 30)

/* Past 2 and 4 GiB, where a size of 31 or 32 bits would end: a file with holes, of which hardly anything is written. */
static void test_large(void)
{
    static const char header[] = "{\"tensors\":[{\"dtype\":\"u8\",\"name\":\"x\",\"shape\":[5368709120]},"
                                 "{\"dtype\":\"f32\",\"name\":\"y\",\"shape\":[2]}]}";
    const guint64 n_header = sizeof header - 1;
    const gsize data_at = (16 + n_header + 63) / 64 * 64;
    const float y[] = { 1.5F, -2 };
    Fixture fixture;
    fixture_init(&fixture);
    int fd = g_creat(fixture.path, 0600);
    g_assert_cmpint(fd, >=, 0);
    if (ftruncate(fd, (off_t)(data_at + 5 * GIB + 64)) != 0)
        g_test_skip("no file of 5 GiB with holes here");
    else
    {
        g_assert_cmpint(pwrite(fd, "IFMTENS\n", 8, 0), ==, 8);
        g_assert_cmpint(pwrite(fd, &n_header, 8, 8), ==, 8);
        g_assert_cmpint(pwrite(fd, header, n_header, 16), ==, n_header);
        g_assert_cmpint(pwrite(fd, "z", 1, (off_t)(data_at + 5 * GIB - 1)), ==, 1);
        g_assert_cmpint(pwrite(fd, y, sizeof y, (off_t)(data_at + 5 * GIB)), ==, sizeof y);
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmTensorFile) file = ifm_tensor_file_open(fixture.path, &error);
        g_assert_no_error(error);
        const IfmTensor *first = ifm_tensor_file_find(file, "x"), *second = ifm_tensor_file_find(file, "y");
        g_assert_cmpuint(first->size_bytes, ==, 5 * GIB);
        g_assert_cmpint(((const char *)first->data)[5 * GIB - 1], ==, 'z');
        g_assert_cmpint(((const char *)first->data)[GIB - 1], ==, 0); /* 4 GiB before it */
        g_assert_cmpmem(second->data, second->size_bytes, y, sizeof y);
    }
    close(fd);
    fixture_clear(&fixture);
}

/* To where nothing is kept, so that of 5 GiB that nobody wrote to nothing is read either. */
static void test_save_large(void)
{
    g_autoptr(GError) error = NULL;
    IfmTensor large;
    if (!ifm_tensor_reserve(&large, IFM_DTYPE_F64, 2, (gint64[]){ 5, 1 << 27 }, &error))
    {
        g_test_skip(error->message);
        return;
    }
    const IfmTensor both[] = { large, large };
    g_assert_cmpuint(large.size_bytes, ==, 5 * GIB);
    g_assert_true(ifm_tensor_file_save("/dev/null", names, both, 2, &error));
    g_assert_no_error(error);
    ifm_tensor_clear(&large);
}

/* Headers that lie. The file has 64 bytes for tensors. */
static void test_forged(void)
{
    Fixture fixture;
    fixture_init(&fixture);
    forge(&fixture, "{\"tensors\":[{\"name\":\"x\",\"dtype\":\"f32\",\"shape\":[16]}]}");
    g_autoptr(IfmTensorFile) right = ifm_tensor_file_open(fixture.path, NULL);
    g_assert_nonnull(right);
    static const char *const lies[] = {
        "",
        "[]",
        "null",
        "{}",
        "{\"tensors\":{}}",
        "{\"tensors\":[]}",
        "{\"tensors\":[1]}",
        "{\"tensors\":[[]]}",
        "{\"tensors\":[{\"name\":\"x\",\"dtype\":\"f32\",\"shape\":[17]}]}",
        "{\"tensors\":[{\"name\":\"x\",\"dtype\":\"f32\",\"shape\":[0]}]}",
        "{\"tensors\":[{\"name\":\"x\",\"dtype\":\"f32\",\"shape\":[-16]}]}",
        "{\"tensors\":[{\"name\":\"x\",\"dtype\":\"f32\",\"shape\":[-4,-4]}]}",
        "{\"tensors\":[{\"name\":\"x\",\"dtype\":\"f32\",\"shape\":[16.0]}]}",
        "{\"tensors\":[{\"name\":\"x\",\"dtype\":\"f32\",\"shape\":\"16\"}]}",
        "{\"tensors\":[{\"name\":\"x\",\"dtype\":\"f32\",\"shape\":[4611686018427387904,4]}]}",
        "{\"tensors\":[{\"name\":\"x\",\"dtype\":\"f32\",\"shape\":[4611686018427387904,4,4611686018427387904,4]}]}",
        "{\"tensors\":[{\"name\":\"x\",\"dtype\":\"i8\",\"shape\":[9223372036854775807]}]}",
        "{\"tensors\":[{\"name\":\"x\",\"dtype\":\"f32\",\"shape\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,16]}]}",
        "{\"tensors\":[{\"name\":\"x\",\"dtype\":\"string\",\"shape\":[16]}]}",
        "{\"tensors\":[{\"name\":\"x\",\"dtype\":\"undefined\",\"shape\":[16]}]}",
        "{\"tensors\":[{\"name\":\"x\",\"dtype\":7,\"shape\":[16]}]}",
        "{\"tensors\":[{\"name\":7,\"dtype\":\"f32\",\"shape\":[16]}]}",
        "{\"tensors\":[{\"name\":\"x\",\"dtype\":\"f32\",\"shape\":[16]},{\"name\":\"y\",\"dtype\":\"u8\",\"shape\":[1]}]}",
        "{\"tensors\":[{\"name\":\"x\",\"dtype\":\"f32\",\"shape\":[16]},{\"name\":\"x\",\"dtype\":\"u8\",\"shape\":[0]}]}",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(lies); i++)
    {
        g_autoptr(GError) error = NULL;
        forge(&fixture, lies[i]);
        g_test_message("%s", lies[i]);
        g_assert_null(ifm_tensor_file_open(fixture.path, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_CORRUPT);
        g_assert_nonnull(strstr(error->message, fixture.path));
    }
    fixture_clear(&fixture);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/tensor-file/round-trip", test_round_trip);
    g_test_add_func("/tensor-file/texts", test_texts);
    g_test_add_func("/tensor-file/empty", test_empty);
    g_test_add_func("/tensor-file/same-bytes", test_same_bytes);
    g_test_add_func("/tensor-file/digest", test_digest);
    g_test_add_func("/tensor-file/digest-tells-apart", test_digest_reports_apart);
    g_test_add_func("/tensor-file/refusals", test_refusals);
    g_test_add_func("/tensor-file/truncated", test_truncated);
    g_test_add_func("/tensor-file/damaged", test_damaged);
    g_test_add_func("/tensor-file/large", test_large);
    g_test_add_func("/tensor-file/save-large", test_save_large);
    g_test_add_func("/tensor-file/forged", test_forged);
    return g_test_run();
}
