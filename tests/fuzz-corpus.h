/* A fuzzer's corpus as a regression test: include the target's own source (fuzz/fuzz-TARGET.c) before this. */
#pragma once
#include <glib.h>
#include <stdint.h>

#include "build-folders.h"

/* fuzz_bytes: the input whole, cut off at up to 200 places, and with one byte changed at as many. */
static void fuzz_bytes(const char *bytes, gsize size)
{
    g_autofree char *copy = g_memdup2(bytes, size);
    gsize step = size / 200 + 1;
    g_assert_cmpint(LLVMFuzzerTestOneInput((const uint8_t *)copy, size), ==, 0);
    for (gsize i = 0; i < size; i += step)
    {
        LLVMFuzzerTestOneInput((const uint8_t *)copy, i);
        copy[i] = (char)~copy[i];
        LLVMFuzzerTestOneInput((const uint8_t *)copy, size);
        copy[i] = (char)~copy[i];
    }
}

static void fuzz_file(gconstpointer path)
{
    g_autofree char *bytes = NULL;
    gsize size;
    g_assert_true(g_file_get_contents(path, &bytes, &size, NULL));
    fuzz_bytes(bytes, size);
}

static void fuzz_add_folder(const char *target, const char *folder)
{
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    g_assert_nonnull(dir);
    for (const char *name = g_dir_read_name(dir); name != NULL; name = g_dir_read_name(dir))
    {
        g_autofree char *test = g_strconcat("/fuzz/", target, "/", name, NULL);
        g_test_add_data_func_full(test, g_build_filename(folder, name, NULL), fuzz_file, g_free);
    }
}

/* fuzz_add_corpus: a test for each file of fuzz/corpus/TARGET, and of tests/TARGET/data where that is. */
static void fuzz_add_corpus(const char *target)
{
    g_autofree char *own = g_build_filename(IFM_SOURCE_DIR, "fuzz", "corpus", target, NULL),
                    *data = g_build_filename(IFM_SOURCE_DIR, "tests", target, "data", NULL);
    fuzz_add_folder(target, own);
    if (g_file_test(data, G_FILE_TEST_IS_DIR))
        fuzz_add_folder(target, data);
}
