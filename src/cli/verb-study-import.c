#include <string.h>
#include <unistd.h>

#include <study/findings.h>

#include "study-page.h"

/* --- what a table is good for --------------------------------------------------------------------------------------- */

/* Counts over all rows, those of ranges and under load too; and over the single stages of devices, which have fits. */
typedef struct
{
    gsize n_rows, n_latencies, n_ranges, n_timed, n_split, n_fits, n_identifiable;
} Worth;

static Worth worth_of(const IfmStudyTables *tables)
{
    Worth worth = { .n_ranges = tables->ranges->len, .n_fits = tables->fits->len };
    gsize counts[IFM_ROW_STATES];
    ifm_study_row_count(tables, NULL, 0, counts);
    worth.n_latencies = counts[IFM_ROW_MEASURED];
    for (int state = 0; state < IFM_ROW_STATES; state++)
        worth.n_rows += counts[state];
    for (guint i = 0; i < tables->fits->len; i++)
    {
        const IfmStageFit *fit = tables->fits->pdata[i];
        worth.n_timed += fit->n_rows;
        worth.n_split += fit->n_split;
        worth.n_identifiable += fit->fitted && fit->bandwidth.identifiable;
    }
    return worth;
}

static void append_worth(GString *out, const IfmStudyTables *tables, const IfmScreen *screen)
{
    Worth worth = worth_of(tables);
    const gsize n_failed = worth.n_rows - worth.n_latencies;
    g_string_append_printf(out, "%s: %zu row%s: %zu latenc%s, %zu failure%s", tables->name, worth.n_rows,
                           worth.n_rows == 1 ? "" : "s", worth.n_latencies, worth.n_latencies == 1 ? "y" : "ies", n_failed,
                           n_failed == 1 ? "" : "s");
    if (worth.n_ranges > 0)
        g_string_append_printf(out, "; %zu of the rows %s of fused stages or under load", worth.n_ranges,
                               worth.n_ranges == 1 ? "is" : "are");
    g_string_append_c(out, '\n');
    g_autofree char *split = g_strdup_printf("bandwidth: identifiable for %zu of %zu"
                                             " stages of devices; of their latencies %zu"
                                             " of %zu can be split into transfer and compute",
                                             worth.n_identifiable, worth.n_fits, worth.n_split, worth.n_timed);
    ifm_format_wrap(out, split, 0, 0, screen->width);
    g_string_append_c(out, '\n');
}

/* --- a row for each stage of a device ------------------------------------------------------------------------------- */

static void get_bandwidth(const void *record, const void *user, IfmValue *value)
{
    const IfmStageFit *fit = record;
    if (fit->fitted && fit->bandwidth.identifiable)
        ifm_value_set_real(value, fit->bandwidth.bytes_per_s);
}

/* @user: the offset of a double in IfmLookupError. */
static void get_error(const void *record, const void *user, IfmValue *value)
{
    const IfmStageFit *fit = record;
    if (fit->has_lookup)
        ifm_field_get_real(&fit->lookup_error, user, value);
}

#define FIT(member) IFM_MEMBER(IfmStageFit, member)
#define ERROR_OF(member) IFM_FIELD_AT(IfmLookupError, member)

static const IfmField worth_fields[] = {
    { "device", "device", IFM_FIELD_TEXT, IFM_MEMBER_VIA(IfmStageFit, device, alias), IFM_FIELD_WHOLE | IFM_FIELD_KEY },
    { "stage", "stage", IFM_FIELD_INTEGER, FIT(stage), IFM_FIELD_KEY },
    { "rows", "latencies", IFM_FIELD_INTEGER, FIT(n_rows) },
    { "split", "split", IFM_FIELD_INTEGER, FIT(n_split) },
    { "bandwidth", "MB/s", IFM_FIELD_RATE, get_bandwidth },
    { "error_median", "off by", IFM_FIELD_RATIO, get_error, ERROR_OF(median_ratio) },
    { "error_p90", "90 % within", IFM_FIELD_RATIO, get_error, ERROR_OF(p90_ratio) },
    { "error_max", "at worst", IFM_FIELD_RATIO, get_error, ERROR_OF(max_ratio) },
    { "outside", "outside", IFM_FIELD_RATIO, get_error, ERROR_OF(extrapolated_median_ratio) },
    { NULL },
};

static void append_reasons(GString *out, const IfmStudyTables *tables, const IfmScreen *screen)
{
    for (guint i = 0; i < tables->fits->len; i++)
    {
        const IfmStageFit *fit = tables->fits->pdata[i];
        if (fit->fitted && fit->bandwidth.identifiable)
            continue;
        g_autofree char *text = g_strdup_printf("%s stage %d has no bandwidth: %s", fit->device->alias, fit->stage,
                                                fit->fitted ? fit->bandwidth.why : fit->why);
        ifm_format_wrap(out, text, 2, 0, screen->width);
    }
}

static int print_worth(const IfmStudyTables *tables)
{
    g_autoptr(GString) out = g_string_new(NULL);
    IfmScreen screen = cli_screen();
    IfmTable table = { worth_fields, (const void *const *)tables->fits->pdata, tables->fits->len };
    g_autofree char *rows = ifm_table_to_screen(&table, &screen);
    append_worth(out, tables, &screen);
    g_string_append_printf(out, "%s\n", rows);
    append_reasons(out, tables, &screen);
    ifm_format_wrap(out,
                    "off by: how far a latency left out is from what the others predict for its size, in the median; "
                    "outside: the same where its size lies beyond the others and is only extrapolated; MB: 2^20 bytes",
                    0, 0, MIN(screen.width, 100));
    return cli_print(out->str);
}

/* --- the verb ------------------------------------------------------------------------------------------------------- */

/* A name that is none of a file's. (transfer full) */
static char *name_of(const Arguments *arguments)
{
    const char *name = cli_text(arguments, "name");
    g_autofree char *folder = name == NULL ? g_canonicalize_filename(cli_text(arguments, "output"), NULL) : g_strdup(name);
    return name != NULL ? g_strdup(name) : g_path_get_basename(folder);
}

/* "7 rows read, 4 rows imported, 2 there already, 1 not measured and left out": what became of each. (transfer full)
 */
static char *words_of(const IfmStudyImported *counts)
{
    const struct
    {
        gsize n;
        const char *what;
    } others[] = { { counts->n_there, "there already" },
                   { counts->n_repeated, "the same as another" },
                   { counts->n_left_out, "not measured and left out" } };
    GString *text = g_string_new(NULL);
    if (counts->n_imported != counts->n_read)
        g_string_append_printf(text, "%zu row%s read, ", counts->n_read, counts->n_read == 1 ? "" : "s");
    g_string_append_printf(text, "%zu row%s imported", counts->n_imported, counts->n_imported == 1 ? "" : "s");
    for (gsize i = 0; i < G_N_ELEMENTS(others); i++)
        if (others[i].n > 0)
            g_string_append_printf(text, ", %zu %s", others[i].n, others[i].what);
    return g_string_free(text, FALSE);
}

static int import_into(const IfmStudyPlace *place, const char *name, const Arguments *arguments)
{
    g_autoptr(GError) error = NULL;
    IfmStageSizes sizes = { .features = cli_integer(arguments, "features"), .hidden = cli_integer(arguments, "hidden") };
    g_autoptr(IfmStore) store = ifm_store_open(place->store_path, IFM_STORE_WRITE, &error);
    IfmStudyImported counts;
    if (store == NULL ||
        !ifm_study_import(cli_positional(arguments), name, &sizes, cli_given(arguments, "replace"), store, &counts, &error))
        return cli_fail(error);
    g_autoptr(IfmStudyResults) results = ifm_study_results(NULL, store, &error);
    if (results == NULL)
        return cli_fail(error);
    g_autofree char *words = words_of(&counts);
    cli_note("%s: %s; inferometer study export %s writes them in the published formats", place->store_path, words,
             place->folder);
    return results->tables->staged != NULL ? print_worth(results->tables)
                                           : study_print_page(arguments, results, place->folder);
}

static int run_import(const Arguments *arguments)
{
    g_auto(IfmStudyPlace) place = { 0 };
    const char *out = cli_text(arguments, "output"), *given = cli_text(arguments, "name");
    if (out == NULL && given == NULL)
        return cli_usage("needs -o DIR or --name NAME: where the tables go");
    if (given != NULL && (*given == '\0' || strchr(given, '/') != NULL || *given == '.'))
        return cli_usage("--name: \"%s\" is no name for a folder", given);
    g_autofree char *name = name_of(arguments);
    ifm_study_place_set_folder(&place, out != NULL ? g_strdup(out) : g_build_filename("out", name, NULL));
    int status = import_into(&place, name, arguments);
    ifm_study_place_tidy(&place);
    return status;
}

static const IfmOption import_options[] = {
    { "output", IFM_OPTION_FOLDER, "DIR", "folder that gets the store; without it out/ and the name", .letter = 'o' },
    { "name", IFM_OPTION_TEXT, "NAME", "the study's name; without it the folder's name" },
    { "features", IFM_OPTION_COUNT, "N", "numbers a node had, going in; without it what the files say, else 500",
      .minimum = 1, .maximum = 1000000 },
    { "hidden", IFM_OPTION_COUNT, "N", "numbers a node had, coming out; without it what the files say, else 500",
      .minimum = 1, .maximum = 1000000 },
    { "replace", IFM_OPTION_FLAG, NULL, "let a row take the place of one that is there with another latency" },
    { NULL },
};

const Verb verb_study_import = {
    .name = "study import",
    .summary = "import tables that were measured elsewhere, as a study of their own",
    .arguments = "FILE…",
    .positional = POSITIONAL_FILE,
    .tables = { import_options },
    .details =
        "FILE is a table as a study writes it (lookup_table.json, raw_measurements.json, checkpoint_*.json, "
        "bandwidth_table.json, stages.csv, ranges.csv) or CSV with the columns device, stage, nodes, edges, latency_ms and "
        "flag, and as many of std_ms, compute_ms, transfer_ms, last, busy, mean_ms, min_ms and max_ms as there are; or the "
        "points.csv of a study of points, such as one of another machine. last is the last stage of a fused range, busy "
        "names the devices that worked meanwhile (GPU+NPU). GNX's tables of fused stages and of whole models are read, "
        "too. A row that two files have, or a file and the folder, must be the same in both except for rounding; otherwise "
        "nothing is imported. With --replace the later row replaces the earlier one. bandwidth_table.json needs a table of "
        "latencies.\n"
        "A total must be above 0. Compute, transfer and std may be missing; a row with a flag is imported as a failure.\n"
        "The page shows, for each stage of each device, whether a bandwidth fits its latencies, and the error of the "
        "interpolation at sizes that are left out.",
    .examples = { { "inferometer study import data/meteor-lake/large-55-sizes.csv --name laptop",
                    "imports the latencies of a laptop, and shows how many of them a bandwidth can be fitted to" } },
    .run = run_import,
};
