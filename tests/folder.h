#pragma once
#include <glib.h>
#include <glib/gstdio.h>

/* remove_tree: A folder and all that is in it; links are removed, not followed. */
static inline void remove_tree(const char *path)
{
    g_autoptr(GDir) dir = g_file_test(path, G_FILE_TEST_IS_SYMLINK) ? NULL : g_dir_open(path, 0, NULL);
    for (const char *name; dir != NULL && (name = g_dir_read_name(dir)) != NULL;)
    {
        g_autofree char *inside = g_build_filename(path, name, NULL);
        remove_tree(inside);
    }
    g_remove(path);
}
