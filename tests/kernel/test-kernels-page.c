#include <string.h>

#include <kernel/kernel.h>

#include "build-folders.h"
#include "document/check-document.h"
#include "document/golden.h"
#include "document/summary-line.h"

static IfmKernelRecords *read_records(const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(IFM_SOURCE_DIR, "fuzz", "corpus", "kernels", name, NULL);
    IfmKernelRecords *records = ifm_kernel_records_read(path, &error);
    g_assert_no_error(error);
    return records;
}

static const json_t *row_of(const json_t *document, const char *key, size_t index)
{
    size_t s, b;
    json_t *section, *block;
    json_array_foreach(json_object_get(document, "sections"), s, section)
        json_array_foreach(json_object_get(section, "blocks"), b,
                           block) if (g_strcmp0(json_string_value(json_object_get(block, "key")), key) ==
                                      0) return json_array_get(json_object_get(block, "rows"), index);
    g_error("no table %s", key);
}

static gint64 number(const json_t *row, const char *key)
{
    g_assert_true(json_is_number(json_object_get(row, key)));
    return (gint64)json_number_value(json_object_get(row, key));
}

/* A model alone, and two of which one name is in both. */
static void test_list(void)
{
    const IfmScreen screen = { .width = 100, .utf8 = TRUE };
    g_autoptr(IfmKernelRecords) blocked = read_records("blocked.json"), transformer = read_records("transformer.json");
    const IfmKernelRecords *const both[] = { blocked, transformer };
    g_autoptr(IfmDocument) one = ifm_kernels_document(both, 1), two = ifm_kernels_document(both, 2);
    g_autofree char *page = ifm_document_to_screen(one, &screen), *pages = ifm_document_to_screen(two, &screen);
    check_golden("kernels-list.txt", page);
    check_golden("kernels-list-two.txt", pages);
    json_auto_t *json = ifm_document_to_json(two);
    const json_t *models = row_of(json, "models", 0), *name = row_of(json, "names", 0),
                 *kernel = row_of(json, "kernels", 3);
    g_assert_cmpint(number(models, "kernels"), ==, 8);
    g_assert_cmpint(number(models, "exact") + number(models, "inserted"), ==, 8);
    g_assert_cmpstr(json_string_value(json_object_get(name, "kernel")), ==, "Gemm");
    g_assert_cmpint(number(name, "models"), ==, 2);
    g_assert_cmpstr(json_string_value(json_object_get(kernel, "kernel")), ==, "Conv_Add_Relu");
    g_assert_cmpstr(json_string_value(json_object_get(kernel, "covers")), ==,
                    "layer1.0.conv2, layer1.0.bn2, layer1.0.add, layer1.0.relu");
    check_document(g_steal_pointer(&two));
}

/* At 80 columns each table is one block, and rows stay distinct, as the digest is never shortened. */
static void test_narrow(void)
{
    const IfmScreen screen = { .width = 80 };
    g_autoptr(IfmKernelRecords) blocked = read_records("blocked.json"), transformer = read_records("transformer.json");
    const IfmKernelRecords *const both[] = { blocked, transformer };
    for (gsize n = 1; n <= 2; n++)
    {
        g_autofree char *page = ifm_document_show(ifm_kernels_document(both, n), &screen);
        g_auto(GStrv) lines = g_strsplit(page, "\n", -1);
        guint n_heads = 0, n_digests = 0;
        for (char **line = lines; *line != NULL; line++)
        {
            g_assert_cmpuint(strlen(*line), <=, 80);
            n_heads += g_str_has_prefix(*line, "digest ") || g_str_has_prefix(*line, "model ");
            n_digests += strspn(*line, "0123456789abcdef") == 8;
        }
        g_assert_cmpuint(n_heads - (n == 1), ==, 2 + (n == 2)); /* of one model its name is folded into a line */
        g_assert_cmpuint(n_digests, >=, blocked->kernels->len + (n == 2 ? transformer->kernels->len : 0));
    }
}

/* A file is named by its path, with the device; one that is gone has no command. */
static void test_next(void)
{
    g_autoptr(IfmKernelRecords) records = read_records("blocked.json");
    const IfmKernelRecords *const all[] = { records };
    g_free(records->source);
    g_free(records->device);
    records->source = g_strdup("/");
    records->device = g_strdup("openvino:CPU");
    g_autofree char *there = summary_line(ifm_kernels_document(all, 1));
    g_assert_nonnull(strstr(there, "inferometer kernels extract / -o kernels -d openvino:CPU"));
    g_free(records->settings);
    records->settings = g_strdup("N=2, height + 1=64");
    g_autofree char *sized = summary_line(ifm_kernels_document(all, 1));
    g_assert_nonnull(strstr(sized, "kernels extract / --dim N=2 --dim 'height + 1=64' -o kernels -d openvino:CPU"));
    g_free(records->source);
    records->source = g_strdup("/gone.onnx");
    g_autofree char *gone = summary_line(ifm_kernels_document(all, 1));
    g_assert_null(strstr(gone, "kernels extract"));
}

/* Nodes that are in no kernel are not passed over. */
static void test_uncovered(void)
{
    const IfmScreen screen = { .width = IFM_SCREEN_UNBOUNDED };
    g_autoptr(IfmKernelRecords) records = read_records("blocked.json");
    g_ptr_array_add(records->uncovered, g_strdup("layer9.relu"));
    const IfmKernelRecords *const all[] = { records };
    g_autofree char *page = ifm_document_show(ifm_kernels_document(all, 1), &screen);
    g_assert_nonnull(strstr(page, "in no kernel, although their results are needed: layer9.relu"));
}

static void test_show(void)
{
    const IfmScreen screen = { .width = 100, .utf8 = TRUE };
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmKernelRecords) records = read_records("transformer.json");
    g_autoptr(IfmDocument) document = ifm_kernel_document(records, "SkipLayerNormalization", &error);
    g_assert_no_error(error);
    g_autofree char *page = ifm_document_to_screen(document, &screen);
    check_golden("kernels-show.txt", page);
    check_document(g_steal_pointer(&document));
}

/* By name, by the first digits of a digest and by the name of its file it is the same kernel. */
static void test_wanted(void)
{
    g_autoptr(IfmKernelRecords) records = read_records("blocked.json");
    const IfmKernelRecord *kernel = records->kernels->pdata[3];
    g_autofree char *stem = ifm_kernel_record_stem(kernel), *digits = g_strndup(kernel->digest, 6),
                    *few = g_strndup(kernel->digest, 3);
    const char *const ways[] = { kernel->name, stem, digits, kernel->digest };
    for (gsize i = 0; i < G_N_ELEMENTS(ways); i++)
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmDocument) document = ifm_kernel_document(records, ways[i], &error);
        g_assert_no_error(error);
        json_auto_t *json = ifm_document_to_json(document);
        g_assert_cmpint(number(row_of(json, "places", 0), "index"), ==, 3);
        g_assert_null(row_of(json, "places", 1));
    }
    const char *const none[][2] = { { few, "has no kernel" },
                                    { "", "has no kernel" },
                                    { "Conv_Ad_Relu", "did you mean \"Conv_Add_Relu\"?" } };
    for (gsize i = 0; i < G_N_ELEMENTS(none); i++)
    {
        g_autoptr(GError) error = NULL;
        g_assert_null(ifm_kernel_document(records, none[i][0], &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_nonnull(strstr(error->message, none[i][1]));
    }
}

/* The graph has each kernel once, and each that it waits for stands before it. */
static void test_dag(void)
{
    g_autoptr(IfmKernelRecords) records = read_records("graph.json");
    json_auto_t *dag = ifm_kernel_dag_to_json(records);
    const json_t *kernels = json_object_get(dag, "kernels"), *kernel;
    size_t i, n_edges = 0;
    g_assert_cmpuint(json_array_size(kernels), ==, records->kernels->len);
    json_array_foreach(kernels, i, kernel)
    {
        const IfmKernelRecord *record = records->kernels->pdata[i];
        const json_t *depends = json_object_get(kernel, "depends");
        g_autofree char *stem = ifm_kernel_record_stem(record);
        g_assert_cmpint(number(kernel, "index"), ==, (gint64)i);
        g_assert_cmpstr(json_string_value(json_object_get(kernel, "file")), ==, stem);
        g_assert_cmpuint(json_array_size(depends), ==, record->depends->len);
        n_edges += json_array_size(depends);
        for (size_t k = 0; k < json_array_size(depends); k++)
            g_assert_cmpint(json_integer_value(json_array_get(depends, k)), <, (gint64)i);
    }
    g_assert_cmpuint(n_edges, >, 0);
    g_assert_cmpstr(ifm_member_text(dag, "inferometer.format"), ==, "kernel-dag");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add_func("/kernels-page/next", test_next);
    g_test_add_func("/kernels-page/list", test_list);
    g_test_add_func("/kernels-page/narrow", test_narrow);
    g_test_add_func("/kernels-page/uncovered", test_uncovered);
    g_test_add_func("/kernels-page/show", test_show);
    g_test_add_func("/kernels-page/wanted", test_wanted);
    g_test_add_func("/kernels-page/dag", test_dag);
    return g_test_run();
}
