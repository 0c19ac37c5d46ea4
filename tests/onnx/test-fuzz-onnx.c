/* The fuzzer's corpus as a regression test: every input goes through the same entry, whole and cut off everywhere. */
#include "../../fuzz/fuzz-onnx.c"

static void run_file(gconstpointer path)
{
    g_autofree char *bytes = NULL;
    gsize size;
    g_assert_true(g_file_get_contents(path, &bytes, &size, NULL));
    g_assert_cmpint(LLVMFuzzerTestOneInput((const uint8_t *)bytes, size), ==, 0);
    gsize step = size / 200 + 1;
    for (gsize cut = 0; cut < size; cut += step)
        LLVMFuzzerTestOneInput((const uint8_t *)bytes, cut);
    /* One byte changed at a time: lengths, wire types, sizes. */
    for (gsize i = 0; i < size; i += step)
    {
        char kept = bytes[i];
        bytes[i] = (char)~kept;
        LLVMFuzzerTestOneInput((const uint8_t *)bytes, size);
        bytes[i] = kept;
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_autofree char *folder = g_build_filename(IFM_SOURCE_DIR, "fuzz", "corpus", "onnx", NULL);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    g_assert_nonnull(dir);
    for (const char *name = g_dir_read_name(dir); name != NULL; name = g_dir_read_name(dir))
    {
        g_autofree char *test = g_strconcat("/fuzz/onnx/", name, NULL);
        g_test_add_data_func_full(test, g_build_filename(folder, name, NULL), run_file, g_free);
    }
    return g_test_run();
}
