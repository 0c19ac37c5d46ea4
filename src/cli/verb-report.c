#include <glib/gstdio.h>
#include <unistd.h>

#include "cli.h"

/* The verb report writes a page of what stores hold and of what changed between them. */

static void close_store(gpointer store)
{
    ifm_store_close(store);
}

/* A store's file, or that in a folder: of a study, or of profiles. (transfer full) NULL: with an error */
static char *path_of(const char *name, GError **error)
{
    char *within = g_build_filename(name, "store.db", NULL);
    if (g_file_test(within, G_FILE_TEST_EXISTS))
        return within;
    g_free(within);
    if (!g_file_test(name, G_FILE_TEST_EXISTS))
        ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: no such file or folder", name);
    else if (g_file_test(name, G_FILE_TEST_IS_DIR))
        ifm_error_refuse(error, "%s: has no results: no store.db in it", name);
    else
        return g_strdup(name);
    return NULL;
}

/* Whether @name has the store @path, under whatever names. */
static gboolean is_same(const char *name, const char *path)
{
    g_autofree char *other = path_of(name, NULL);
    struct stat a, b;
    return other != NULL && g_stat(other, &a) == 0 && g_stat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int run_report(const Arguments *arguments)
{
    const char *const *names = cli_positional(arguments);
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) stores = g_ptr_array_new_with_free_func(close_store);
    g_autoptr(GArray) reported = g_array_new(FALSE, FALSE, sizeof(IfmReportedStore));
    for (const char *const *name = names; *name != NULL; name++)
    {
        g_autofree char *path = path_of(*name, &error);
        IfmStore *store = path != NULL ? ifm_store_open(path, IFM_STORE_READ, &error) : NULL;
        if (store == NULL)
            return cli_fail(error);
        for (const char *const *other = names; other < name; other++)
            if (is_same(*other, path))
                return cli_usage("%s is the same store as %s: name each once", *name, *other);
        g_ptr_array_add(stores, store);
        const IfmReportedStore one = { *name, store };
        g_array_append_val(reported, one);
    }
    GPtrArray *documents =
        ifm_stores_documents((const IfmReportedStore *)(const void *)reported->data, reported->len, &error);
    if (documents == NULL)
        return cli_fail(error);
    return cli_answer(arguments, (Answer){ .documents = documents, .n_shown = 1 });
}

static const IfmOption report_options[] = {
    { "html", IFM_OPTION_OUTPUT, "FILE",
      "write the page: one file for any browser, with figures that zoom and tables that sort; - is standard output",
      .letter = 'o' },
    { "figures", IFM_OPTION_FOLDER, "DIR", "write each figure as a picture (SVG) into this folder" },
    { "all", IFM_OPTION_FLAG, NULL, "show all of the overview; without it at most 40 lines (files are whole)" },
    { NULL },
};

const Verb verb_report = {
    .name = "report",
    .summary = "write a page of what stores hold, and of what changed between them",
    .arguments = "STORE|FOLDER…",
    .positional = POSITIONAL_FILE,
    .tables = { cli_document_options, cli_json_options, report_options },
    .details = "Of several stores the first, A, is what the others are compared with: two machines, two versions of a "
               "runtime, yesterday and today. The terminal shows the overview alone; the page has all of each store.",
    .examples = { { "inferometer report out/gnn-stages -o report.html", "writes a page of what a study measured" },
                  { "inferometer report monday/store.db tuesday/store.db -o change.html",
                    "says which cases became slower, and whether the intervals tell them apart" } },
    .run = run_report,
};
