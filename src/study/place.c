#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include <base/base.h>
#include <store/store.h>

#include "study-private.h"

/* A study has a place: the folder of its results and its store, found by the study's name or file, or by the folder. */

#define RESULTS "out"

/* --- where ---------------------------------------------------------------------------------------------------------- */

static gboolean is_there(const char *path)
{
    return g_file_test(path, G_FILE_TEST_EXISTS);
}

/* Who is ended while a store is made leaves an empty file: that is no store yet. */
static gboolean is_store_there(const char *path)
{
    GStatBuf status;
    return g_stat(path, &status) == 0 && status.st_size > 0;
}

/* The outermost folder that would have to be made. (transfer full) NULL where none would. */
static char *first_missing(const char *folder)
{
    g_autofree char *at = g_canonicalize_filename(folder, NULL), *missing = NULL;
    while (!is_there(at))
    {
        char *parent = g_path_get_dirname(at);
        g_free(missing);
        missing = g_steal_pointer(&at);
        at = parent;
    }
    return g_steal_pointer(&missing);
}

void ifm_study_place_set_folder(IfmStudyPlace *place, char *folder)
{
    place->folder = folder;
    place->store_path = g_build_filename(folder, "store.db", NULL);
    place->missing = first_missing(folder);
}

void ifm_study_place_clear(IfmStudyPlace *place)
{
    g_clear_pointer(&place->study, ifm_study_free);
    g_clear_pointer(&place->folder, g_free);
    g_clear_pointer(&place->store_path, g_free);
    g_clear_pointer(&place->missing, g_free);
}

void ifm_study_place_tidy(const IfmStudyPlace *place)
{
    g_autofree char *at = g_canonicalize_filename(place->folder, NULL);
    while (place->missing != NULL && g_str_has_prefix(at, place->missing) && g_rmdir(at) == 0)
    {
        char *parent = g_path_get_dirname(at);
        g_free(at);
        at = parent;
    }
}

/* --- which ---------------------------------------------------------------------------------------------------------- */

static char *default_folder(const char *name)
{
    return g_build_filename(RESULTS, name, NULL);
}

/* The study whose results a folder holds, where it is a shipped one: no other's YAML file can be found from there. */
static IfmStudy *study_of_folder(const char *folder, const char *const *settings, GError **error)
{
    g_autofree char *path = g_build_filename(folder, "store.db", NULL);
    g_autoptr(IfmStore) store = is_there(path) ? ifm_store_open(path, IFM_STORE_READ, error) : NULL;
    g_autoptr(StudyManifest) manifest = store != NULL ? study_manifest_required(store, error) : NULL;
    const char *name = manifest != NULL ? manifest->name : NULL;
    g_auto(GStrv) shipped = ifm_study_names();
    if (name != NULL && g_strv_contains((const char *const *)shipped, name))
        return ifm_study_open_set(name, settings, error);
    if (name != NULL)
        ifm_error_refuse(error,
                         "%s: is a folder with results of study \"%s\"; expected its YAML file, and the folder as -o %s",
                         folder, name, folder);
    else if (!is_there(path))
        ifm_error_refuse(error, "%s: is a folder; expected a study's name or its YAML file", folder);
    return NULL;
}

gboolean ifm_study_place_init(IfmStudyPlace *place, const char *name, const char *folder, GError **error)
{
    /* a name where there is a folder of that name, too, means the study, as it does everywhere else */
    gboolean is_folder = strchr(name, '/') != NULL && g_file_test(name, G_FILE_TEST_IS_DIR);
    place->study =
        is_folder ? study_of_folder(name, place->settings, error) : ifm_study_open_set(name, place->settings, error);
    if (place->study == NULL)
        return FALSE;
    ifm_study_place_set_folder(place, folder != NULL ? g_strdup(folder)
                                      : is_folder    ? g_strdup(name)
                                                     : default_folder(ifm_study_info(place->study).name));
    return TRUE;
}

/* Results that another study left, or an import: no YAML file of theirs need be here. */
static char *results_named(const char *text)
{
    g_autofree char *folder = g_file_test(text, G_FILE_TEST_IS_DIR) ? g_strdup(text)
                              : strchr(text, '/') == NULL           ? default_folder(text)
                                                                    : NULL;
    g_autofree char *store = folder != NULL ? g_build_filename(folder, "store.db", NULL) : NULL;
    return store != NULL && is_there(store) ? g_steal_pointer(&folder) : NULL;
}

/* -o may say once more where the results are that are named. */
static gboolean is_elsewhere(const char *out, const char *text)
{
    struct stat one, other;
    return out != NULL && (!g_file_test(text, G_FILE_TEST_IS_DIR) || g_stat(out, &one) != 0 || g_stat(text, &other) != 0 ||
                           one.st_dev != other.st_dev || one.st_ino != other.st_ino);
}

gboolean ifm_study_place_find(IfmStudyPlace *place, const char *name, const char *folder, GError **error)
{
    g_auto(GStrv) shipped = ifm_study_names();
    gboolean is_folder = g_file_test(name, G_FILE_TEST_IS_DIR),
             is_study = g_strv_contains((const char *const *)shipped, name) && !is_folder,
             elsewhere = is_elsewhere(folder, name);
    char *found = !elsewhere && !is_study ? results_named(name) : NULL;
    if (found == NULL && is_folder && !elsewhere)
        found = g_strdup(name); /* whose store is missing */
    if (found == NULL)
        return ifm_study_place_init(place, name, folder, error);
    ifm_study_place_set_folder(place, found);
    return TRUE;
}

/* --- what is there -------------------------------------------------------------------------------------------------- */

IfmStore *ifm_study_place_open(const IfmStudyPlace *place, IfmStoreMode mode, GError **error)
{
    g_autoptr(IfmStore) store = ifm_store_open(place->store_path, mode, error);
    if (store != NULL && place->study != NULL && !ifm_study_check_store(place->study, store, error))
        return NULL;
    return g_steal_pointer(&store);
}

gboolean ifm_study_place_check(const IfmStudyPlace *place, GError **error)
{
    g_autoptr(GError) trouble = NULL;
    if (!is_store_there(place->store_path))
        return TRUE;
    g_autoptr(IfmStore) store = ifm_study_place_open(place, IFM_STORE_READ, &trouble);
    if (store != NULL || !is_store_there(place->store_path)) /* it was half made, and opening it rolled that back */
        return TRUE;
    return ifm_error_pass(error, g_steal_pointer(&trouble));
}

gboolean ifm_study_place_begun(IfmStore *store)
{
    g_autoptr(GError) trouble = NULL;
    json_auto_t *manifest = ifm_store_document(store, "study", &trouble);
    return manifest != NULL || trouble != NULL; /* what is wrong with it, who reads it says */
}
