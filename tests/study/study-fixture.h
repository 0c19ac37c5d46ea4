#pragma once
#include <string.h>

#include <glib/gstdio.h>

#include <inferometer/study.h>

#include "folder.h"

/* What the tests of studies share: a folder of their own, and studies written into it. */

typedef struct
{
    char *folder;
    IfmStore *store; /* NULL until fixture_open_store() */
} Fixture;

static inline void fixture_init(Fixture *fixture)
{
    fixture->store = NULL;
    fixture->folder = g_dir_make_tmp("study-test-XXXXXX", NULL);
    g_assert_nonnull(fixture->folder);
}

/* The folder's store, @name in it; closed with the fixture. */
static inline IfmStore *fixture_open_store(Fixture *fixture, const char *name)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(fixture->folder, name, NULL);
    fixture->store = ifm_store_open(path, IFM_STORE_WRITE, &error);
    g_assert_no_error(error);
    return fixture->store;
}

static inline void fixture_clear(Fixture *fixture)
{
    ifm_store_close(fixture->store);
    remove_tree(fixture->folder);
    g_free(fixture->folder);
}

static inline void tear_down(Fixture *fixture, gconstpointer data)
{
    fixture_clear(fixture);
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

static inline IfmStudy *study_of(const Fixture *fixture, const char *text)
{
    g_autoptr(GError) error = NULL;
    IfmStudy *study = open_text(fixture, text, &error);
    g_assert_no_error(error);
    return study;
}

/* A store, and the one machine there is: simulated:toy/UNIT. @machine: YAML */
static inline void fixture_on_machine(Fixture *fixture, const char *machine)
{
    fixture_init(fixture);
    fixture_open_store(fixture, "out/store.db");
    g_autofree char *machines = g_build_filename(fixture->folder, "machines", NULL);
    g_assert_cmpint(g_mkdir(machines, 0777), ==, 0);
    g_autofree char *file = write_file(fixture, "machines/toy.yaml", machine);
    g_setenv("IFM_DEVICES_DIR", machines, TRUE);
    g_unsetenv("IFM_SIMULATED_STATE_DIR");
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

static inline gboolean count_one(const IfmCase *subject_case, const IfmMeasurement *measurement, void *user)
{
    ++*(gsize *)user;
    return TRUE;
}

/* Measurements in the store. */
static inline gsize count(IfmStore *store)
{
    gsize n = 0;
    g_assert_true(ifm_store_each(store, count_one, &n, NULL));
    return n;
}

static inline IfmStudyTables *tables_of(IfmStore *store)
{
    g_autoptr(GError) error = NULL;
    IfmStudyTables *tables = ifm_study_tables(NULL, store, &error);
    g_assert_no_error(error);
    return tables;
}
