#pragma once
#include <glib.h>

#ifndef GOLDEN_FOLDER
#define GOLDEN_FOLDER "document"
#endif

/* Compares with tests/GOLDEN_FOLDER/golden/NAME; with IFM_GOLDEN_WRITE set it writes that file instead. */
static inline void check_golden(const char *name, const char *text)
{
    g_autofree char *path = g_build_filename(g_getenv("IFM_TEST_DATA"), GOLDEN_FOLDER, "golden", name, NULL);
    g_autofree char *golden = NULL;
    g_autoptr(GError) error = NULL;
    if (g_getenv("IFM_GOLDEN_WRITE") != NULL)
        g_file_set_contents(path, text, -1, NULL);
    g_file_get_contents(path, &golden, NULL, &error);
    g_assert_no_error(error);
    if (!g_str_equal(golden, text))
        g_test_message("%s is now:\n%s", name, text);
    g_assert_cmpstr(text, ==, golden);
}
