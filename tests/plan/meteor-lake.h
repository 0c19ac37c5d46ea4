#pragma once
#include <glib/gstdio.h>
#include <inferometer/study.h>

#include "folder.h"

/* The shipped tables of the laptop, imported into a store of its own. */
typedef struct
{
    char *folder;
    IfmStore *store;
    IfmStudyTables *tables;
} Imported;

static inline void import(Imported *imported, const char *file)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = g_build_filename(g_getenv("IFM_DATA_DIR"), "data", "meteor-lake", file, NULL);
    const char *paths[] = { path, NULL };
    const IfmStageSizes sizes = { .features = 500, .hidden = 500 };
    IfmStudyImported n;
    imported->folder = g_dir_make_tmp("costs-XXXXXX", &error);
    g_assert_no_error(error);
    g_autofree char *store = g_build_filename(imported->folder, "store.db", NULL);
    imported->store = ifm_store_open(store, IFM_STORE_SCRATCH, &error);
    g_assert_no_error(error);
    ifm_study_import(paths, "laptop", &sizes, FALSE, imported->store, &n, &error);
    g_assert_no_error(error);
    imported->tables = ifm_study_tables(NULL, imported->store, &error);
    g_assert_no_error(error);
}

static inline void imported_clear(Imported *imported)
{
    ifm_study_tables_free(imported->tables);
    ifm_store_close(imported->store);
    remove_tree(imported->folder);
    g_free(imported->folder);
}
