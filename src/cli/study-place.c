#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "study-place.h"

#define RESULTS "out"

/* --- where ---------------------------------------------------------------------------------------------------------- */

static gboolean is_there(const char *path)
{
    return g_file_test(path, G_FILE_TEST_EXISTS);
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

void study_place_set_folder(StudyPlace *place, char *folder)
{
    place->folder = folder;
    place->store_path = g_build_filename(folder, "store.db", NULL);
    place->missing = first_missing(folder);
}

void study_place_clear(StudyPlace *place)
{
    g_clear_pointer(&place->study, ifm_study_free);
    g_clear_pointer(&place->folder, g_free);
    g_clear_pointer(&place->store_path, g_free);
    g_clear_pointer(&place->missing, g_free);
}

void study_place_tidy(const StudyPlace *place)
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
static IfmStudy *study_of_folder(const char *folder, GError **error)
{
    g_autofree char *path = g_build_filename(folder, "store.db", NULL);
    g_autoptr(IfmStore) store = is_there(path) ? ifm_store_open(path, IFM_STORE_READ, error) : NULL;
    g_autoptr(IfmStudyTables) tables = store != NULL ? ifm_study_tables(store, error) : NULL;
    g_auto(GStrv) shipped = ifm_study_names();
    if (tables != NULL && g_strv_contains((const char *const *)shipped, tables->name))
        return ifm_study_open(tables->name, error);
    if (tables != NULL)
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID,
                    "%s: is a folder with results of study \"%s\"; expected its YAML file, and the folder as -o %s", folder,
                    tables->name, folder);
    else if (!is_there(path))
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: is a folder; expected a study's name or its YAML file",
                    folder);
    return NULL;
}

static int init_named(StudyPlace *place, const Arguments *arguments, const char *text)
{
    g_autoptr(GError) error = NULL;
    const char *out = cli_text(arguments, "output");
    g_autofree char *folder = NULL;
    /* a name beside a folder of that name means the study, as it does everywhere else */
    if (strchr(text, '/') != NULL && g_file_test(text, G_FILE_TEST_IS_DIR))
        folder = g_strdup(text);
    place->study = folder != NULL ? study_of_folder(folder, &error) : ifm_study_open(text, &error);
    if (place->study == NULL)
        return cli_fail(error);
    if (out != NULL || folder == NULL)
    {
        g_free(folder);
        folder = out != NULL ? g_strdup(out) : default_folder(ifm_study_name(place->study));
    }
    study_place_set_folder(place, g_steal_pointer(&folder));
    return CLI_EXIT_OK;
}

int study_place_init(StudyPlace *place, const Arguments *arguments)
{
    return init_named(place, arguments, cli_positional(arguments)[0]);
}

/* Results that somebody else's study left, or an import: no YAML file of theirs need be here. */
static char *results_named(const char *text)
{
    g_autofree char *folder = g_file_test(text, G_FILE_TEST_IS_DIR) ? g_strdup(text)
                              : strchr(text, '/') == NULL           ? default_folder(text)
                                                                    : NULL;
    g_autofree char *store = folder != NULL ? g_build_filename(folder, "store.db", NULL) : NULL;
    return store != NULL && is_there(store) ? g_steal_pointer(&folder) : NULL;
}

int study_place_find(StudyPlace *place, const Arguments *arguments)
{
    return study_place_find_named(place, arguments, cli_positional(arguments)[0]);
}

/* -o may say once more where the results are that are named. */
static gboolean is_elsewhere(const char *out, const char *text)
{
    struct stat one, other;
    return out != NULL && (!g_file_test(text, G_FILE_TEST_IS_DIR) || g_stat(out, &one) != 0 || g_stat(text, &other) != 0 ||
                           one.st_dev != other.st_dev || one.st_ino != other.st_ino);
}

int study_place_find_named(StudyPlace *place, const Arguments *arguments, const char *text)
{
    g_auto(GStrv) shipped = ifm_study_names();
    gboolean is_study = g_strv_contains((const char *const *)shipped, text) && !g_file_test(text, G_FILE_TEST_IS_DIR),
             elsewhere = is_elsewhere(cli_text(arguments, "output"), text);
    char *folder = !elsewhere && !is_study ? results_named(text) : NULL;
    if (folder == NULL && g_file_test(text, G_FILE_TEST_IS_DIR) && !elsewhere)
        folder = g_strdup(text); /* whose store is missing */
    if (folder == NULL)
        return init_named(place, arguments, text);
    study_place_set_folder(place, folder);
    return CLI_EXIT_OK;
}

/* --- what is there -------------------------------------------------------------------------------------------------- */

IfmStore *study_place_open(const StudyPlace *place, IfmStoreMode mode, GError **error)
{
    g_autoptr(IfmStore) store = ifm_store_open(place->store_path, mode, error);
    if (store != NULL && place->study != NULL && !ifm_study_check_store(place->study, store, error))
        return NULL;
    return g_steal_pointer(&store);
}

int study_place_check(const StudyPlace *place)
{
    g_autoptr(GError) error = NULL;
    if (!is_there(place->store_path))
        return CLI_EXIT_OK;
    g_autoptr(IfmStore) store = study_place_open(place, IFM_STORE_READ, &error);
    return store != NULL ? CLI_EXIT_OK : cli_fail(error);
}

gboolean study_place_begun(IfmStore *store)
{
    g_autoptr(GError) trouble = NULL;
    json_auto_t *manifest = ifm_store_document(store, "study", &trouble);
    return manifest != NULL || trouble != NULL; /* what is wrong with it, who reads it says */
}

IfmStudyTables *study_place_tables(const StudyPlace *place, IfmStore *store, GError **error)
{
    return place->study != NULL ? ifm_study_tables_of(place->study, store, error) : ifm_study_tables(store, error);
}

IfmStudyTables *study_place_write(const StudyPlace *place, IfmStore *store, GError **error)
{
    g_autoptr(IfmStudyTables) tables = study_place_tables(place, store, error);
    return tables != NULL && ifm_study_write(tables, place->folder, error) ? g_steal_pointer(&tables) : NULL;
}

int study_print_page(const IfmStudyTables *tables, const char *folder)
{
    IfmScreen screen = ifm_screen_detect(STDOUT_FILENO);
    g_autofree char *text = ifm_study_to_screen(tables, folder, &screen);
    return cli_print(text);
}
