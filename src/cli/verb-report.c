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
        g_ptr_array_add(stores, store);
        const IfmReportedStore one = { *name, store };
        g_array_append_val(reported, one);
    }
    GPtrArray *documents =
        ifm_stores_documents((const IfmReportedStore *)(const void *)reported->data, reported->len, &error);
    if (documents == NULL)
        return cli_fail(error);
    const IfmScreen screen = cli_screen();
    return cli_answer(arguments,
                      (Answer){ .documents = documents, .text = ifm_document_to_screen(documents->pdata[0], &screen) });
}

static const IfmOption report_options[] = {
    { "html", IFM_OPTION_OUTPUT, "FILE",
      "write the page: one file for any browser, with figures that zoom and tables that sort; - is standard output",
      .letter = 'o' },
    { "figures", IFM_OPTION_FOLDER, "DIR", "write each figure as a picture (SVG) into this folder" },
    { NULL },
};

const Verb verb_report = {
    .name = "report",
    .summary = "write a page of what stores hold, and of what changed between them",
    .arguments = "STORE|FOLDER…",
    .positional = POSITIONAL_FILE,
    .tables = { cli_document_options, report_options },
    .details = "Of several stores the first, A, is what the others are compared with: two machines, two versions of a "
               "runtime, yesterday and today. The terminal shows the overview alone; the page has all of each store.",
    .examples = { { "inferometer report out/gnn-stages -o report.html", "writes a page of what a study measured" },
                  { "inferometer report monday/store.db tuesday/store.db -o change.html",
                    "says which cases became slower, and whether the intervals tell them apart" } },
    .run = run_report,
};
