#include <base/base.h>
#include <errno.h>
#include <onnx/onnx.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "cli.h"

/* Output files, looked at before the work begins: that they could be made, and that none would replace what is read. */

/* Claimed: a file of the command line's and what it is there. */
typedef struct
{
    char *path;
    char *what; /* "input", "store", "--csv" */
} Claimed;

static void claimed_clear(gpointer data)
{
    g_free(((Claimed *)data)->path);
    g_free(((Claimed *)data)->what);
}

gboolean cli_can_write(const char *path, GError **error)
{
    struct stat what;
    int code = 0;
    g_autofree char *folder = g_path_get_dirname(path);
    if (g_str_equal(path, "-"))
        return TRUE;
    if (g_stat(path, &what) == 0)
        code = S_ISDIR(what.st_mode) ? EISDIR : g_access(path, W_OK) != 0 ? errno : 0;
    else
        code = g_access(folder, W_OK | X_OK) != 0 ? errno : 0;
    if (code != 0)
        ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: cannot be written: %s", path, g_strerror(code));
    return code == 0;
}

/* Where a file that is not there yet will be: its folder's real place and its name. */
static char *future_place(const char *path)
{
    g_autofree char *folder = g_path_get_dirname(path), *name = g_path_get_basename(path);
    char *real = realpath(folder, NULL);
    char *place = g_build_filename(real != NULL ? real : folder, name, NULL);
    free(real);
    return place;
}

/* By device and inode where they are there; pipes and the like may be named twice. */
static gboolean is_same_file(const char *a, const char *b)
{
    struct stat of_a, of_b;
    gboolean a_exists = stat(a, &of_a) == 0, b_exists = stat(b, &of_b) == 0;
    if (a_exists && b_exists)
        return S_ISREG(of_a.st_mode) && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
    if (a_exists || b_exists)
        return FALSE;
    g_autofree char *place_a = future_place(a), *place_b = future_place(b);
    return g_str_equal(place_a, place_b);
}

static void claim(GArray *all, const char *path, const char *what)
{
    Claimed claimed = { g_strdup(path), g_strdup(what) };
    if (g_str_equal(path, "-"))
        claimed_clear(&claimed);
    else
        g_array_append_val(all, claimed);
}

/* A folder's store, and the files that SQLite keeps next to it. */
static void claim_store(GArray *all, const char *folder)
{
    static const char *const names[] = { "store.db", "store.db-wal", "store.db-shm", "store.db-journal" };
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
    {
        g_autofree char *path = g_build_filename(folder, names[i], NULL);
        claim(all, path, "store");
    }
}

/* A study's results, where no -o says otherwise, are in out/ and its name. */
static void claim_positional(GArray *all, const Verb *verb, const char *word)
{
    gboolean is_file = verb->positional == POSITIONAL_FILE || verb->positional == POSITIONAL_STUDY;
    if (is_file && g_file_test(word, G_FILE_TEST_IS_REGULAR)) /* else the name of something */
        claim(all, word, "input");
    if (verb->positional != POSITIONAL_STUDY)
        return;
    g_autofree char *folder = g_build_filename("out", word, NULL);
    claim_store(all, word);
    claim_store(all, folder);
}

static GArray *claim_inputs(const Arguments *arguments)
{
    const Verb *verb = cli_verb_of(arguments);
    GArray *all = g_array_new(FALSE, FALSE, sizeof(Claimed));
    g_array_set_clear_func(all, claimed_clear);
    for (const char *const *word = cli_positional(arguments); *word != NULL; word++)
        claim_positional(all, verb, *word);
    for (const IfmOption *const *row = cli_rows(arguments), *option; (option = *row) != NULL; row++)
    {
        const gboolean is_folder = option->kind == IFM_OPTION_FOLDER && !option->repeatable;
        g_autofree char *what = g_strconcat("input of --", option->name, NULL);
        if (is_folder && cli_text(arguments, option->name) != NULL)
            claim_store(all, cli_text(arguments, option->name));
        for (const char *const *path = cli_texts(arguments, option->name); option->kind == IFM_OPTION_FILE && *path != NULL;
             path++)
            claim(all, *path, what);
    }
    return all;
}

/* Models that are built are kept in DIR/models: some record names each, by its digest. */
static gboolean is_kept_model(const Arguments *arguments, const char *path)
{
    g_autofree char *place = future_place(path), *inside = g_path_get_dirname(place);
    for (const IfmOption *const *row = cli_rows(arguments), *option; (option = *row) != NULL; row++)
    {
        const char *folder =
            option->kind == IFM_OPTION_FOLDER && !option->repeatable ? cli_text(arguments, option->name) : NULL;
        g_autofree char *models = folder != NULL ? g_build_filename(folder, "models", NULL) : NULL;
        char *real = models != NULL ? realpath(models, NULL) : NULL;
        gboolean kept = real != NULL && g_str_equal(real, inside);
        free(real);
        if (kept)
            return TRUE;
    }
    return FALSE;
}

/* Whatever store it is: what it holds was hours of measuring. */
static gboolean is_store(const char *path)
{
    static const char magic[] = "SQLite format 3";
    char head[sizeof magic] = "";
    struct stat there;
    if (stat(path, &there) != 0 || !S_ISREG(there.st_mode))
        return FALSE;
    FILE *file = fopen(path, "re");
    gboolean whole = file != NULL && fread(head, sizeof head, 1, file) == 1;
    if (file != NULL)
        fclose(file);
    return whole && memcmp(head, magic, sizeof magic) == 0;
}

static int check_output(const Arguments *arguments, const char *option, GArray *claimed)
{
    const char *path = cli_text(arguments, option);
    g_autoptr(GError) error = NULL;
    g_autofree char *what = g_strconcat("--", option, NULL);
    for (guint i = 0; i < claimed->len; i++)
    {
        const Claimed *other = &g_array_index(claimed, Claimed, i);
        if (!g_str_equal(path, "-") && is_same_file(path, other->path))
            return cli_usage("%s %s: is the same file as the %s %s, which it would replace: name another", what, path,
                             other->what, other->path);
    }
    if (!g_str_equal(path, "-") && is_kept_model(arguments, path))
        return cli_usage("%s %s: is in the folder where models are kept: name another place", what, path);
    if (is_store(path))
        return cli_usage("%s %s: is a store, which it would replace: name another file", what, path);
    claim(claimed, path, what);
    return cli_can_write(path, &error) ? CLI_EXIT_OK : cli_fail(error);
}

/* The next of the options of @rows that name a file to be written and were given; NULL where there is none. */
static const IfmOption *next_output(const Arguments *arguments, const IfmOption *const **rows)
{
    const Verb *verb = cli_verb_of(arguments);
    for (const IfmOption *option; (option = **rows) != NULL; ++*rows)
    {
        const gboolean is_folder =
            g_str_equal(option->name, "output") && verb->folder_with != NULL && cli_given(arguments, verb->folder_with);
        if (option->kind != IFM_OPTION_OUTPUT || !cli_given(arguments, option->name) || is_folder)
            continue;
        ++*rows;
        return option;
    }
    return NULL;
}

gboolean cli_to_stdout(const Arguments *arguments)
{
    for (const IfmOption *const *rows = cli_rows(arguments), *option; (option = next_output(arguments, &rows)) != NULL;)
        if (g_str_equal(cli_text(arguments, option->name), "-"))
            return TRUE;
    return FALSE;
}

gboolean cli_check_model_kept(const Arguments *arguments, const IfmModel *model, GError **error)
{
    g_auto(GStrv) files = ifm_model_files(model);
    for (const IfmOption *const *rows = cli_rows(arguments), *option; (option = next_output(arguments, &rows)) != NULL;)
    {
        const char *path = cli_text(arguments, option->name);
        for (char **file = files; *file != NULL && !g_str_equal(path, "-"); file++)
            if (is_same_file(path, *file))
                return ifm_error_misuse(
                    error, "--%s %s: is the same file as %s of the model, which it would replace: name another",
                    option->name, path, *file);
    }
    return TRUE;
}

int cli_check_links(const Arguments *arguments)
{
    for (const IfmOption *const *row = cli_rows(arguments), *option; (option = *row) != NULL; row++)
    {
        g_autoptr(GError) error = NULL;
        const char *path = option->kind == IFM_OPTION_OUTPUT ? cli_text(arguments, option->name) : NULL;
        if (path != NULL && !g_str_equal(path, "-") && !ifm_file_check_link(path, &error))
        {
            g_prefix_error(&error, "--%s: ", option->name);
            return cli_fail(error);
        }
    }
    return CLI_EXIT_OK;
}

int cli_check_outputs(const Arguments *arguments, gboolean is_log)
{
    const char *to_stdout = NULL;
    g_autoptr(GArray) claimed = claim_inputs(arguments);
    if (!is_log && cli_given(arguments, "log"))
        claim(claimed, cli_text(arguments, "log"), "--log");
    for (const IfmOption *const *rows = cli_rows(arguments), *option; (option = next_output(arguments, &rows)) != NULL;)
    {
        if (g_str_equal(option->name, "log") != is_log)
            continue;
        const int status = check_output(arguments, option->name, claimed);
        if (status != CLI_EXIT_OK)
            return status;
        if (!g_str_equal(cli_text(arguments, option->name), "-"))
            continue;
        if (to_stdout != NULL)
            return cli_usage("--%s and --%s cannot both go to standard output", to_stdout, option->name);
        to_stdout = option->name;
    }
    return CLI_EXIT_OK;
}
