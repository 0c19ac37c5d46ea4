#include <base/fields.h>
#include <kernel/kernel.h>
#include <string.h>

#include "build-folders.h"
#include "folder.h"

/* What the reader of records refuses, each with its place, and what a file of them gives. */

static char *corpus_file(const char *name)
{
    return g_build_filename(IFM_SOURCE_DIR, "fuzz", "corpus", "kernels", name, NULL);
}

static json_t *load(const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = corpus_file(name);
    json_t *json = ifm_json_load(path, &error);
    g_assert_no_error(error);
    return json;
}

/* "kernels.0.inputs": members and indices. Returns: what holds the last one, whose name goes to @last. */
static json_t *descend(json_t *json, char *const *parts, const char **last)
{
    for (; parts[1] != NULL; parts++)
        json = json_is_array(json) ? json_array_get(json, (gsize)g_ascii_strtoull(*parts, NULL, 10))
                                   : json_object_get(json, *parts);
    *last = *parts;
    return json;
}

static void set(json_t *json, const char *path, const char *value)
{
    g_auto(GStrv) parts = g_strsplit(path, ".", -1);
    const char *last;
    json_t *holder = descend(json, parts, &last);
    if (value == NULL)
        g_assert_cmpint(json_object_del(holder, last), ==, 0);
    else
        json_object_set_new(holder, last, json_loads(value, JSON_DECODE_ANY, NULL));
}

static void test_refused(void)
{
    static const struct
    {
        const char *path, *value, *expected; /* value NULL: removed */
    } rows[] = {
        { "kernel_records", "2", "file: records of version 2, this program reads 1" },
        { "kernel_records", NULL, "file.kernel_records" },
        { "kernels", "3", "file.kernels" },
        { "other", "3", "other" },
        { "kernels.0.name", "\"\"", "file.kernels[0]: needs a name, a digest in hexadecimal digits and attributes" },
        { "kernels.1.digest", "\"../x\"", "file.kernels[1]: needs a name, a digest" },
        { "kernels.1.digest", "\"\"", "file.kernels[1]: needs a name, a digest" },
        { "kernels.0.attributes", "[]", "file.kernels[0]" },
        { "kernels.0.coverage", "\"likely\"", "file.kernels[0].coverage" },
        { "kernels.0.flop", "-1", "file.kernels[0]: bytes and flop" },
        { "kernels.0.input_bytes", "-1", "file.kernels[0]: bytes and flop" },
        { "kernels.0.weight_bytes", "9223372036854775807", "file.kernels[0]: bytes and flop" },
        { "kernels.2.depends", "[2]", "file.kernels[2].depends[0]: not a kernel before this one" },
        { "kernels.2.depends", "[0,-1]", "file.kernels[2].depends[1]: not a kernel before this one" },
        { "kernels.2.depends", "[\"0\"]", "file.kernels[2].depends" },
        { "kernels.0.inputs.0.dims", "[1,-3,8,8]", "file.kernels[0].inputs[0]: no dtype and shape of a tensor" },
        { "kernels.0.inputs.0.dims", "[2147483648,2147483648,4]", "file.kernels[0].inputs[0]: no dtype and shape" },
        { "kernels.0.outputs.0.dims", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "file.kernels[0].outputs[0]: no dtype" },
        { "kernels.0.outputs.0.dtype", "\"f31\"", "file.kernels[0].outputs[0]: no dtype" },
        { "kernels.0.outputs.0.dtype", "\"\"", "file.kernels[0].outputs[0]: no dtype" },
        { "kernels.0.outputs.0.constant", "1", "constant" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autoptr(GError) error = NULL;
        json_auto_t *json = load("blocked.json");
        set(json, rows[i].path, rows[i].value);
        g_autoptr(IfmKernelRecords) records = ifm_kernel_records_from_json(json, "file", &error);
        g_assert_null(records);
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        if (strstr(error->message, rows[i].expected) == NULL || strchr(error->message, '\n') != NULL)
            g_error("%s = %s: \"%s\"", rows[i].path, rows[i].value, error->message);
    }
}

static void test_no_file(void)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_kernel_records_read("no-such-records.json", &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
}

/* The name of a kernel's file is one in the folder where it goes, whatever its operator is called. */
static void test_stems(void)
{
    static const char *const names[][2] = { { "../../etc/Conv", "______etc_Conv_" },
                                            { "a b\\c", "a_b_c_" },
                                            { "Conv_Add_Relu", "Conv_Add_Relu_" } };
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
    {
        g_autoptr(GError) error = NULL;
        json_auto_t *json = load("blocked.json"), *name = json_string(names[i][0]);
        g_autofree char *text = json_dumps(name, JSON_ENCODE_ANY);
        set(json, "kernels.0.name", text);
        g_autoptr(IfmKernelRecords) records = ifm_kernel_records_from_json(json, "file", &error);
        g_assert_no_error(error);
        g_autofree char *stem = ifm_kernel_record_stem(records->kernels->pdata[0]),
                        *expected = g_strconcat(names[i][1], "1x3x64x64-acedc333", NULL);
        g_assert_cmpstr(stem, ==, expected);
    }
}

/* What is written is read again, whole. */
static void test_written(void)
{
    static const char *const names[] = { "blocked.json", "transformer.json", "graph.json", "no-kernels.json" };
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
    {
        g_autoptr(GError) error = NULL;
        g_autofree char *from = corpus_file(names[i]), *folder = g_dir_make_tmp("ifm-records-XXXXXX", NULL),
                        *to = g_build_filename(folder, "records.json", NULL);
        g_autoptr(IfmKernelRecords) records = ifm_kernel_records_read(from, &error);
        g_assert_no_error(error);
        g_assert_true(ifm_kernel_records_write(records, to, &error));
        json_auto_t *before = load(names[i]), *after = ifm_json_load(to, &error);
        g_assert_true(json_equal(before, after));
        g_assert_cmpint(remove(to), ==, 0);
        g_assert_cmpint(remove(folder), ==, 0);
    }
}

/* The weights of all kernels, also of equal ones, and the inputs and outputs of the one with most; the model of an
 * extracted kernel is not known. Sums stay sums. */
static void test_working_set(void)
{
    static const struct
    {
        const char *level;
        gint64 kernels[3][3], expected; /* inputs, weights, outputs */
    } rows[] = {
        { "all", { { 10, 100, 20 }, { 30, 100, 5 }, { 0, 7, 1 } }, 207 + 35 },
        { "compiled", { { 10, 0, 20 } }, 30 },
        { "all", { { 0 } }, 1 },
        { "", { { 10, 100, 20 } }, -1 },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        IfmKernelRecord kernels[3];
        IfmKernelRecords records = { .level = (char *)rows[i].level, .kernels = g_ptr_array_new() };
        for (gsize k = 0; k < G_N_ELEMENTS(kernels); k++)
        {
            const gint64 *bytes = rows[i].kernels[k];
            kernels[k] = (IfmKernelRecord){ .input_bytes = bytes[0], .weight_bytes = bytes[1], .output_bytes = bytes[2] };
            g_ptr_array_add(records.kernels, &kernels[k]);
        }
        g_assert_cmpint(ifm_kernel_records_working_set(&records), ==, rows[i].expected);
        for (guint k = 0; *records.level != '\0' && k < 40000; k++) /* as many as a file may have, and more */
        {
            kernels[0].weight_bytes = (gint64)1 << 48;
            g_ptr_array_add(records.kernels, &kernels[0]);
        }
        g_assert_cmpint(ifm_kernel_records_working_set(&records), >=, rows[i].expected);
        g_ptr_array_unref(records.kernels);
    }
}

/* Files: of an extraction. @limit: so many are written */
typedef struct
{
    const char *folder;
    guint n_written, n_left_out, limit;
} Files;

static gboolean count_written(const IfmKernelRecord *kernel, const char *file, void *user)
{
    Files *files = user;
    g_autofree char *path = g_build_filename(files->folder, file, NULL);
    g_assert_true(g_file_test(path, G_FILE_TEST_IS_REGULAR));
    return ++files->n_written < files->limit;
}

static void count_left_out(const IfmKernelRecord *kernel, const char *why, void *user)
{
    g_assert_null(strchr(why, '\n'));
    ((Files *)user)->n_left_out++;
}

/* Each distinct kernel of several models has one file; the caller may end it. */
static void test_extracted(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = corpus_file("transformer.json"), *made = g_dir_make_tmp("ifm-extract-XXXXXX", NULL),
                    *folder = g_build_filename(made, "new", "kernels", NULL);
    g_autoptr(IfmKernelRecords) records = ifm_kernel_records_read(path, &error);
    g_assert_no_error(error);
    const IfmKernelRecords *const twice[] = { records, records };
    static const char *const gemms[] = { "Gemm", NULL };
    Files files = { .folder = folder, .limit = 100 };
    IfmKernelExtraction options = {
        .folder = folder, .seed = 1, .written = count_written, .left_out = count_left_out, .user = &files
    };
    g_assert_true(ifm_kernel_records_extract(twice, 2, &options, &error));
    g_assert_cmpuint(files.n_written + files.n_left_out, ==, records->kernels->len);
    g_assert_cmpuint(files.n_written, >=, 2);
    options.names = gemms;
    files = (Files){ .folder = folder, .limit = 100 };
    g_assert_true(ifm_kernel_records_extract(twice, 1, &options, &error));
    g_assert_cmpuint(files.n_written, ==, 1);
    options.names = NULL;
    files = (Files){ .folder = folder, .limit = 2 };
    g_assert_false(ifm_kernel_records_extract(twice, 1, &options, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_CANCELLED);
    g_assert_cmpuint(files.n_written, ==, 2);
    g_clear_error(&error);
    options.folder = path; /* a file */
    g_assert_false(ifm_kernel_records_extract(twice, 1, &options, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    remove_tree(made);
}

static gboolean count_copies(const IfmKernelRecord *kernel, const char *file, void *user)
{
    g_autoptr(GError) error = NULL;
    Files *files = user;
    g_autofree char *path = g_build_filename(files->folder, file, NULL);
    g_autoptr(IfmModel) model = ifm_model_open(path, &error);
    g_assert_no_error(error);
    files->n_written += (guint)strtoul(ifm_model_metadata(model, IFM_KERNEL_COPIES_METADATA), NULL, 10);
    return TRUE;
}

/* A kernel of two models is as cold as in the one that holds more, whichever comes first. */
static void test_ring_of_several(void)
{
    static const char *const gemms[] = { "Gemm", NULL };
    g_autoptr(GError) error = NULL;
    g_autofree char *path = corpus_file("transformer.json"), *folder = g_dir_make_tmp("ifm-extract-XXXXXX", NULL);
    g_autoptr(IfmKernelRecords) small = ifm_kernel_records_read(path, &error),
                                large = ifm_kernel_records_read(path, &error);
    g_assert_no_error(error);
    const IfmKernelRecord *gemm = NULL;
    for (guint i = 0; gemm == NULL; i++)
        if (g_str_equal(((const IfmKernelRecord *)small->kernels->pdata[i])->name, gemms[0]))
            gemm = small->kernels->pdata[i];
    const gint64 one = ifm_kernel_bytes(gemm), held = ifm_kernel_records_working_set(small);
    const gsize n = (gsize)(held / one);
    ((IfmKernelRecord *)large->kernels->pdata[large->kernels->len - 1])->weight_bytes += 3 * one;
    const struct
    {
        const IfmKernelRecords *records[2];
        gsize n_records, n_copies;
    } rows[] = {
        { { small, NULL }, 1, n },
        { { large, NULL }, 1, n + 3 },
        { { small, large }, 2, n + 3 },
        { { large, small }, 2, n + 3 },
    };
    g_assert_cmpuint(n + 3, <, IFM_KERNEL_MAX_COPIES);
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        Files files = { .folder = folder };
        const IfmKernelExtraction options = { .folder = folder,
                                              .names = gemms,
                                              .seed = 1,
                                              .ring = TRUE,
                                              .written = count_copies,
                                              .left_out = count_left_out,
                                              .user = &files };
        g_assert_true(ifm_kernel_records_extract(rows[i].records, rows[i].n_records, &options, &error));
        g_assert_cmpuint(files.n_left_out, ==, 0);
        g_assert_cmpuint(files.n_written, ==, rows[i].n_copies);
    }
    remove_tree(folder);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/records-file/refused", test_refused);
    g_test_add_func("/records-file/no-file", test_no_file);
    g_test_add_func("/records-file/stems", test_stems);
    g_test_add_func("/records-file/written", test_written);
    g_test_add_func("/records-file/extracted", test_extracted);
    g_test_add_func("/records-file/working-set", test_working_set);
    g_test_add_func("/records-file/ring-of-several", test_ring_of_several);
    return g_test_run();
}
