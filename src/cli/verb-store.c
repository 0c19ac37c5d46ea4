#include <string.h>
#include <unistd.h>

#include "cli.h"

/* The verbs store show, merge, export and check work on stores of results. */

#define DEFAULT_STORE "out/profile/store.db"

/* The stores named on the command line, or the one that profile writes to. */
static const char *const *stores_of(const Arguments *arguments)
{
    static const char *const fallback[] = { DEFAULT_STORE, NULL };
    const char *const *paths = cli_positional(arguments);
    return paths[0] != NULL ? paths : fallback;
}

/* (transfer full) NULL: the fault was reported, @status is the exit status. */
static IfmStoredResults *read_stores(const Arguments *arguments, gboolean with_samples, int *status)
{
    IfmStoredResults *stored = ifm_stored_results_new(with_samples);
    for (const char *const *path = stores_of(arguments); *path != NULL; path++)
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmStore) store = ifm_store_open(*path, IFM_STORE_READ, &error);
        if (store != NULL && ifm_stored_results_add(stored, store, &error))
            continue;
        *status = cli_fail(error);
        ifm_stored_results_free(stored);
        return NULL;
    }
    *status = CLI_EXIT_OK;
    return stored;
}

/* --- store show ------------------------------------------------------------------------------------------------------- */

static int run_show(const Arguments *arguments)
{
    int status;
    g_autoptr(IfmStoredResults) stored = read_stores(arguments, FALSE, &status);
    if (stored == NULL)
        return status;
    gsize n;
    const IfmResult *results = ifm_stored_results(stored, &n);
    return cli_answer(arguments, (Answer){ .document = ifm_records_document(results, n),
                                           .text = n == 0 ? g_strdup("no measurements\n") : NULL });
}

const Verb verb_store_show = {
    .name = "store show",
    .summary = "list the measurements of a store",
    .arguments = "[FILE…]",
    .positional = POSITIONAL_FILE,
    .tables = { cli_document_options },
    .details = "Without FILE it is " DEFAULT_STORE ".",
    .run = run_show,
};

/* --- store merge ------------------------------------------------------------------------------------------------------ */

static int run_merge(const Arguments *arguments)
{
    const char *const *paths = cli_positional(arguments);
    g_autoptr(GError) error = NULL;
    for (const char *const *from = paths + 1; *from != NULL; from++) /* before anything is written */
    {
        g_autoptr(IfmStore) source = ifm_store_open(*from, IFM_STORE_READ, &error);
        if (source == NULL || !ifm_store_check(source, &error))
            return cli_fail(error);
    }
    g_autoptr(IfmStore) into = ifm_store_open(paths[0], IFM_STORE_WRITE, &error);
    if (into == NULL)
        return cli_fail(error);
    for (const char *const *from = paths + 1; *from != NULL; from++)
    {
        gsize n_added = 0;
        g_autoptr(IfmStore) source = ifm_store_open(*from, IFM_STORE_READ, &error);
        if (source == NULL || !ifm_store_merge(into, source, &n_added, &error))
            return cli_fail(error);
        cli_note("%s: %zu new measurements from %s", paths[0], n_added, *from);
    }
    return CLI_EXIT_OK;
}

const Verb verb_store_merge = {
    .name = "store merge",
    .summary = "add to one store the measurements that it lacks and others have",
    .arguments = "INTO FROM…",
    .positional = POSITIONAL_FILE,
    .details =
        "INTO is made where it does not exist. Each FROM is added whole or not at all; merging twice changes nothing.",
    .examples = { { "inferometer store merge all.db node-1.db node-2.db",
                    "adds to all.db the measurements that it does not have yet" } },
    .run = run_merge,
};

/* --- store export ----------------------------------------------------------------------------------------------------- */

/* (transfer full) as CSV, a row a measurement or a sample. */
static char *to_csv(const Arguments *arguments, const IfmResult *results, gsize n)
{
    return cli_given(arguments, "samples") ? ifm_samples_to_csv(results, n) : ifm_results_to_csv(results, n);
}

/* --format and --output, which go to one place. */
static int export_as(const Arguments *arguments, gboolean as_json, const IfmResult *results, gsize n)
{
    json_auto_t *json = as_json ? ifm_results_to_json(results, n) : NULL;
    g_autofree char *csv = as_json ? NULL : to_csv(arguments, results, n);
    const char *path = cli_text(arguments, "output");
    return as_json ? cli_write_json(path, json) : cli_write(path, csv);
}

static int run_export(const Arguments *arguments)
{
    int status;
    const gboolean by_name =
                       cli_given(arguments, "json") || cli_given(arguments, "csv") || cli_given(arguments, "document"),
                   as_json = by_name ? cli_given(arguments, "json") : g_str_equal(cli_text(arguments, "format"), "json"),
                   as_csv = by_name ? cli_given(arguments, "csv") : !as_json, samples = cli_given(arguments, "samples");
    if (samples && !as_csv)
        return cli_usage("--samples is of CSV: JSON has the samples in it");
    g_autoptr(IfmStoredResults) stored = read_stores(arguments, samples || as_json, &status);
    if (stored == NULL)
        return status;
    gsize n;
    const IfmResult *results = ifm_stored_results(stored, &n);
    if (!by_name)
        return export_as(arguments, as_json, results, n);
    return cli_answer(arguments, (Answer){ .document = ifm_records_document(results, n),
                                           .json = as_json ? ifm_results_to_json(results, n) : NULL,
                                           .csv = as_csv ? to_csv(arguments, results, n) : NULL,
                                           .text = g_strdup("") });
}

static const char *const formats[] = { "csv", "json", NULL };

static const IfmOption export_options[] = {
    { "format", IFM_OPTION_TEXT, "FORMAT", "csv: one row a measurement; json: whole records, samples included", "csv",
      formats, .excludes = "json,csv,document" },
    { "samples", IFM_OPTION_FLAG, NULL, "as CSV, one row a sample instead, warm-up and profiled runs included" },
    { "output", IFM_OPTION_OUTPUT, "FILE", "where it goes; - is standard output", "-", .excludes = "json,csv,document",
      .letter = 'o' },
    { "json", IFM_OPTION_OUTPUT, "FILE", "the same as --format json -o FILE; with --csv, both are written" },
    { "csv", IFM_OPTION_OUTPUT, "FILE", "the same as --format csv -o FILE" },
    { NULL },
};

const Verb verb_store_export = {
    .name = "store export",
    .summary = "write the measurements of a store as CSV or JSON",
    .arguments = "[FILE…]",
    .positional = POSITIONAL_FILE,
    .tables = { export_options, cli_document_options },
    .details = "Measurements are in the order of their starts. Numbers are in base units (ns) and in full, whatever the "
               "locale. Without FILE it is " DEFAULT_STORE ".",
    .examples = { { "inferometer store export --samples -o samples.csv out/profile/store.db",
                    "writes every single run as a row" } },
    .run = run_export,
};

/* --- store check ------------------------------------------------------------------------------------------------------ */

static int run_check(const Arguments *arguments)
{
    for (const char *const *path = stores_of(arguments); *path != NULL; path++)
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmStore) store = ifm_store_open(*path, IFM_STORE_READ, &error);
        if (store == NULL || !ifm_store_check(store, &error))
            return cli_fail(error);
        cli_note("%s: whole", *path);
    }
    return CLI_EXIT_OK;
}

const Verb verb_store_check = {
    .name = "store check",
    .summary = "check that a store is whole",
    .arguments = "[FILE…]",
    .positional = POSITIONAL_FILE,
    .details = "The exit status is 3 where one is damaged. Without FILE it is " DEFAULT_STORE ".",
    .run = run_check,
};
