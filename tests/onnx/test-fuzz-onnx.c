/* The fuzzer's corpus as a regression test: every input goes through the fuzzer's own entry, whole, cut off and changed. */
#include "../../fuzz/fuzz-onnx.c"
#include "fuzz-corpus.h"
#include "model-bytes.h"

static void run_zoo(gconstpointer name)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmModel) model = ifm_zoo_build(name, NULL, 1, &error);
    g_assert_no_error(error);
    if (ifm_model_n_parameters(model) > 1000000)
    {
        g_test_skip("it has too many weights to be cut off and changed everywhere");
        return;
    }
    g_autoptr(GBytes) bytes = ifm_model_serialize(model, NULL);
    gsize size;
    const char *data = g_bytes_get_data(bytes, &size);
    fuzz_bytes(data, size);
}

/* Operators of low precision, which are rewritten. */
static void run_low_precision(void)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *folder = g_build_filename(g_getenv("IFM_TEST_DATA"), "data", "low-precision", NULL);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, &error);
    g_assert_no_error(error);
    for (const char *name; (name = g_dir_read_name(dir)) != NULL;)
    {
        g_autofree char *path = g_build_filename(folder, name, NULL), *data = NULL;
        gsize size;
        g_file_get_contents(path, &data, &size, &error);
        g_assert_no_error(error);
        fuzz_bytes(data, size);
    }
}

/* A megabyte of subgraphs in subgraphs: it must end at the depth that is allowed. */
static void run_deep(void)
{
    g_autoptr(GByteArray) bytes = bytes_nested(1 << 20);
    g_assert_cmpint(LLVMFuzzerTestOneInput(bytes->data, bytes->len), ==, 0);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    fuzz_add_corpus("onnx");
    for (const IfmZooEntry *entry = ifm_zoo_entries(); entry->name != NULL; entry++)
    {
        g_autofree char *test = g_strconcat("/fuzz/onnx/zoo/", entry->name, NULL);
        g_test_add_data_func(test, entry->name, run_zoo);
    }
    g_test_add_func("/fuzz/onnx/low-precision", run_low_precision);
    g_test_add_func("/fuzz/onnx/deep", run_deep);
    return g_test_run();
}
