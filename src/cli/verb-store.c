#include <string.h>
#include <unistd.h>

#include "cli.h"

#define DEFAULT_STORE "out/profile/store.db"

/* Records kept after a store is closed. */
typedef struct
{
    GPtrArray *cases;        /* IfmCase* */
    GPtrArray *measurements; /* IfmMeasurement*, of the case at the same place */
    GArray *results;         /* IfmResult, borrowing from the two */
    gboolean with_samples;
} Records;

static void records_init(Records *records, gboolean with_samples)
{
    records->cases = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_case_free);
    records->measurements = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_measurement_free);
    records->results = g_array_new(FALSE, FALSE, sizeof(IfmResult));
    records->with_samples = with_samples;
}

static void records_clear(Records *records)
{
    g_ptr_array_unref(records->cases);
    g_ptr_array_unref(records->measurements);
    g_array_unref(records->results);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Records, records_clear)

static void set_times(GArray **place, GArray *times_ns)
{
    g_array_ref(times_ns);
    g_array_unref(*place);
    *place = times_ns;
}

static IfmCase *keep_case(const IfmCase *from)
{
    IfmCase *kept = ifm_case_new();
    ifm_record_set_text(&kept->key, from->key);
    ifm_record_set_text(&kept->subject_kind, from->subject_kind);
    ifm_record_set_text(&kept->subject_name, from->subject_name);
    ifm_record_set_text(&kept->subject_digest, from->subject_digest);
    ifm_record_set_text(&kept->model_path, from->model_path);
    ifm_record_set_text(&kept->device, from->device);
    ifm_record_set_text(&kept->alias, from->alias);
    ifm_record_set_json(&kept->sizes, json_incref(from->sizes));
    ifm_record_set_json(&kept->options, json_incref(from->options));
    ifm_record_set_json(&kept->load, json_incref(from->load));
    ifm_record_set_json(&kept->environment, json_incref(from->environment));
    return kept;
}

/* Everything, or all but the long series that a list has no use for. */
static IfmMeasurement *keep_measurement(const IfmMeasurement *from, gboolean with_samples)
{
    IfmMeasurement *kept = ifm_measurement_new();
    ifm_record_set_text(&kept->uid, from->uid);
    ifm_record_set_text(&kept->case_key, from->case_key);
    kept->started_unix_ms = from->started_unix_ms;
    kept->outcome = from->outcome;
    ifm_record_set_text(&kept->error_code, from->error_code);
    ifm_record_set_text(&kept->reason, from->reason);
    ifm_record_set_text(&kept->stop_reason, from->stop_reason);
    ifm_measurement_set_summary(kept, from->has_summary ? &from->summary : NULL);
    ifm_record_set_json(&kept->result, json_incref(from->result));
    ifm_record_set_json(&kept->environment, json_incref(from->environment));
    ifm_record_set_json(&kept->effective_config, json_incref(from->effective_config));
    ifm_record_set_json(&kept->verification, json_incref(from->verification));
    ifm_record_set_json(&kept->breakdown, json_incref(from->breakdown));
    ifm_record_set_json(&kept->memory, json_incref(from->memory));
    if (!with_samples)
        return kept;
    set_times(&kept->warmup_ns, from->warmup_ns);
    set_times(&kept->samples_ns, from->samples_ns);
    set_times(&kept->profiled_ns, from->profiled_ns);
    g_ptr_array_ref(from->nodes);
    g_ptr_array_unref(kept->nodes);
    kept->nodes = from->nodes;
    return kept;
}

static gboolean keep(const IfmCase *subject_case, const IfmMeasurement *measurement, void *user)
{
    Records *records = user;
    IfmCase *kept_case = keep_case(subject_case);
    IfmMeasurement *kept = keep_measurement(measurement, records->with_samples);
    g_ptr_array_add(records->cases, kept_case);
    g_ptr_array_add(records->measurements, kept);
    IfmResult result = {
        .device = kept_case->device, .alias = kept_case->alias, .subject_case = kept_case, .measurement = kept
    };
    g_array_append_val(records->results, result);
    return TRUE;
}

/* The stores named on the command line, or the one that profile writes to. */
static const char *const *stores_of(const Arguments *arguments)
{
    static const char *const fallback[] = { DEFAULT_STORE, NULL };
    const char *const *paths = cli_positional(arguments);
    return paths[0] != NULL ? paths : fallback;
}

/* As they were measured, one after the other. */
static gint compare_starts(gconstpointer a, gconstpointer b)
{
    const IfmMeasurement *x = ((const IfmResult *)a)->measurement, *y = ((const IfmResult *)b)->measurement;
    return (x->started_unix_ms > y->started_unix_ms) - (x->started_unix_ms < y->started_unix_ms);
}

/* Returns: an exit status. */
static int read_stores(const Arguments *arguments, Records *records)
{
    for (const char *const *path = stores_of(arguments); *path != NULL; path++)
    {
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmStore) store = ifm_store_open(*path, IFM_STORE_READ, &error);
        if (store == NULL || !ifm_store_each(store, keep, records, &error))
            return cli_fail(error);
    }
    g_array_sort(records->results, compare_starts); /* a merge sort: equal ones stay as the store has them */
    return CLI_EXIT_OK;
}

/* --- store show ------------------------------------------------------------------------------------------------------- */

static int run_show(const Arguments *arguments)
{
    g_auto(Records) records;
    records_init(&records, FALSE);
    int status = read_stores(arguments, &records);
    if (status != CLI_EXIT_OK)
        return status;
    IfmScreen screen = ifm_screen_detect(STDOUT_FILENO);
    const IfmResult *results = (const IfmResult *)(const void *)records.results->data;
    gsize n = records.results->len;
    g_autofree char *text = n > 0 ? ifm_records_to_screen(results, n, &screen) : g_strdup("no measurements\n");
    return cli_print(text);
}

const Verb verb_store_show = {
    .name = "store show",
    .summary = "list the measurements of a store",
    .arguments = "[FILE…]",
    .min = 0,
    .max = -1,
    .positional = POSITIONAL_FILE,
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
        cli_note("%s: %" G_GSIZE_FORMAT " new measurements from %s", paths[0], n_added, *from);
    }
    return CLI_EXIT_OK;
}

static const char *const merge_examples[] = {
    "inferometer store merge all.db node-1.db node-2.db",
    "adds to all.db the measurements that it does not have yet",
    NULL,
};

const Verb verb_store_merge = {
    .name = "store merge",
    .summary = "add to one store the measurements that it lacks and others have",
    .arguments = "INTO FROM…",
    .min = 2,
    .max = -1,
    .positional = POSITIONAL_FILE,
    .details =
        "INTO is made where it does not exist. Each FROM is added whole or not at all; merging twice changes nothing.",
    .examples = merge_examples,
    .run = run_merge,
};

/* --- store export ----------------------------------------------------------------------------------------------------- */

/* Where one format goes: --json FILE and --csv FILE as with other verbs, or --format and --output. NULL: nowhere. */
static const char *place_of(const Arguments *arguments, const char *format)
{
    if (cli_given(arguments, "json") || cli_given(arguments, "csv"))
        return cli_text(arguments, format);
    return g_str_equal(cli_text(arguments, "format"), format) ? cli_text(arguments, "output") : NULL;
}

static int check_export(const Arguments *arguments, const char *json_path, const char *csv_path)
{
    gboolean by_name = cli_given(arguments, "json") || cli_given(arguments, "csv");
    if (by_name && (cli_given(arguments, "format") || cli_given(arguments, "output")))
        return cli_usage(&verb_store_export, "--json or --csv FILE, or --format and --output, not both");
    if (g_strcmp0(json_path, "-") == 0 && g_strcmp0(csv_path, "-") == 0)
        return cli_usage(&verb_store_export, "--json and --csv cannot both go to standard output");
    if (cli_given(arguments, "samples") && csv_path == NULL)
        return cli_usage(&verb_store_export, "--samples is of CSV: JSON has the samples in it");
    return cli_check_outputs(arguments, (const char *const[]){ "json", "csv", "output", NULL });
}

static int run_export(const Arguments *arguments)
{
    gboolean samples = cli_given(arguments, "samples");
    const char *json_path = place_of(arguments, "json"), *csv_path = place_of(arguments, "csv");
    g_auto(Records) records;
    records_init(&records, samples || json_path != NULL);
    int status = check_export(arguments, json_path, csv_path);
    if (status != CLI_EXIT_OK || (status = read_stores(arguments, &records)) != CLI_EXIT_OK)
        return status;
    const IfmResult *results = (const IfmResult *)(const void *)records.results->data;
    gsize n = records.results->len;
    if (json_path != NULL)
    {
        json_auto_t *document = ifm_results_to_json(results, n);
        status = cli_write_json(json_path, document);
    }
    if (csv_path == NULL || status != CLI_EXIT_OK)
        return status;
    g_autofree char *csv = samples ? ifm_samples_to_csv(results, n) : ifm_results_to_csv(results, n);
    return cli_write(csv_path, csv);
}

static const char *const formats[] = { "csv", "json", NULL };

static const IfmOption export_options[] = {
    { "format", 0, IFM_OPTION_TEXT, FALSE, "FORMAT", "csv: one row a measurement; json: whole records, samples included",
      "csv", formats },
    { "samples", 0, IFM_OPTION_FLAG, FALSE, NULL, "as CSV, one row a sample instead, warm-up and profiled runs included" },
    { "output", 'o', IFM_OPTION_FILE, FALSE, "FILE", "where it goes; - is standard output", "-" },
    { "json", 0, IFM_OPTION_FILE, FALSE, "FILE", "the same as --format json -o FILE; with --csv, both are written" },
    { "csv", 0, IFM_OPTION_FILE, FALSE, "FILE", "the same as --format csv -o FILE" },
    { NULL },
};

static const char *const export_examples[] = {
    "inferometer store export --samples -o samples.csv out/profile/store.db",
    "writes every single run as a row",
    NULL,
};

const Verb verb_store_export = {
    .name = "store export",
    .summary = "write the measurements of a store as CSV or JSON",
    .arguments = "[FILE…]",
    .min = 0,
    .max = -1,
    .positional = POSITIONAL_FILE,
    .options = export_options,
    .details = "Measurements are in the order of their starts. Numbers are in base units (ns) and in full, whatever the "
               "locale. Without "
               "FILE it is " DEFAULT_STORE ".",
    .examples = export_examples,
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
    .min = 0,
    .max = -1,
    .positional = POSITIONAL_FILE,
    .details = "The exit status is 3 where one is damaged. Without FILE it is " DEFAULT_STORE ".",
    .run = run_check,
};
