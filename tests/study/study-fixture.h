#pragma once
#include <string.h>

#include <glib/gstdio.h>

#include <inferometer/study.h>

/* What the tests of studies share: a folder of their own, and studies written into it. */

typedef struct
{
    char *folder;
} Fixture;

static inline void fixture_init(Fixture *fixture)
{
    fixture->folder = g_dir_make_tmp("study-test-XXXXXX", NULL);
    g_assert_nonnull(fixture->folder);
}

static inline void remove_tree(const char *path)
{
    GDir *dir = g_file_test(path, G_FILE_TEST_IS_SYMLINK) ? NULL : g_dir_open(path, 0, NULL);
    for (const char *name; dir != NULL && (name = g_dir_read_name(dir)) != NULL;)
    {
        g_autofree char *inside = g_build_filename(path, name, NULL);
        remove_tree(inside);
    }
    if (dir != NULL)
        g_dir_close(dir);
    g_assert_cmpint(g_remove(path), ==, 0);
}

static inline void fixture_clear(Fixture *fixture)
{
    remove_tree(fixture->folder);
    g_free(fixture->folder);
}

static inline char *write_file(const Fixture *fixture, const char *name, const char *text)
{
    char *path = g_build_filename(fixture->folder, name, NULL);
    g_assert_true(g_file_set_contents(path, text, -1, NULL));
    return path;
}

static inline IfmStudy *open_text(const Fixture *fixture, const char *text, GError **error)
{
    g_autofree char *path = write_file(fixture, "small.yaml", text);
    return ifm_study_open(path, error);
}

static inline void assert_says(GError **error, IfmErrorCode code, const char *what)
{
    if (*error == NULL || (*error)->domain != IFM_ERROR || (*error)->code != (int)code ||
        strstr((*error)->message, what) == NULL)
        g_error("expected %s with \"%s\", found: %s", ifm_error_code_name((int)code), what,
                *error != NULL ? (*error)->message : "no error");
    g_assert_null(strchr((*error)->message, '\n')); /* one line */
    g_clear_error(error);
}
