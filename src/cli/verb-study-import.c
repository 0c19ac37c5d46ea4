#include <string.h>
#include <unistd.h>

#include <base/base.h>
#include <document/document.h>
#include <document/summary.h>
#include <document/words.h>
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

static void say_worth(IfmDocument *document, const IfmStudyTables *tables, const char *folder)
{
    const Worth worth = worth_of(tables);
    const gsize n_failed = worth.n_rows - worth.n_latencies;
    g_autofree char *command = ifm_say_command("plan", folder, NULL);
    ifm_document_subject(document, "%s · %zu row%s", tables->name, worth.n_rows, ifm_plural(worth.n_rows));
    ifm_document_verdict(document, "The tables have %zu latenc%s and %zu failure%s", worth.n_latencies,
                         worth.n_latencies == 1 ? "y" : "ies", n_failed, ifm_plural(n_failed));
    ifm_document_verdict_more(
        document,
        "bandwidth: identifiable for %zu of %zu stages of devices; of their latencies %zu of %zu can be "
        "split into transfer and compute",
        worth.n_identifiable, worth.n_fits, worth.n_split, worth.n_timed);
    if (n_failed > 0)
        ifm_document_check(document, 2 * n_failed > worth.n_rows ? IFM_TRUST_BAD : IFM_TRUST_CARE,
                           "%zu of %zu rows are failures", n_failed, worth.n_rows);
    if (worth.n_ranges > 0)
        ifm_document_check(document, IFM_TRUST_GOOD, "%zu of the rows %s of fused stages or under load", worth.n_ranges,
                           worth.n_ranges == 1 ? "is" : "are");
    ifm_document_check(document, IFM_TRUST_UNCHECKED, "measured elsewhere: outputs, disturbance and drift are not known");
    ifm_document_next(document, command, NULL, "Search the best plan of these figures");
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
    { "error_median", "error", IFM_FIELD_RATIO, get_error, ERROR_OF(median_ratio) },
    { "error_p90", "90 % within", IFM_FIELD_RATIO, get_error, ERROR_OF(p90_ratio) },
    { "error_max", "at worst", IFM_FIELD_RATIO, get_error, ERROR_OF(max_ratio) },
    { "outside", "outside", IFM_FIELD_RATIO, get_error, ERROR_OF(extrapolated_median_ratio) },
    { NULL },
};

static void add_reasons(IfmDocument *document, const IfmStudyTables *tables)
{
    for (guint i = 0; i < tables->fits->len; i++)
    {
        const IfmStageFit *fit = tables->fits->pdata[i];
        if (!fit->fitted || !fit->bandwidth.identifiable)
            ifm_document_text(document, "%s stage %d has no bandwidth: %s", fit->device->alias, fit->stage,
                              fit->fitted ? fit->bandwidth.why : fit->why);
    }
}

static int print_worth(const Arguments *arguments, const IfmStudyTables *tables, const char *folder)
{
    IfmDocument *document = ifm_document_new("import", tables->name);
    say_worth(document, tables, folder);
    ifm_document_part(document);
    ifm_document_table(document, "stages", worth_fields, g_ptr_array_ref(tables->fits));
    add_reasons(document, tables);
    ifm_document_text(document,
                      "error: how far a latency left out is from what the others predict for its size, in the median; "
                      "outside: the same where its size lies beyond the others and is only extrapolated; MB: 2^20 bytes");
    return cli_answer(arguments, (Answer){ .document = document });
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
        g_string_append_printf(text, "%zu row%s read, ", counts->n_read, ifm_plural(counts->n_read));
    g_string_append_printf(text, "%zu row%s imported", counts->n_imported, ifm_plural(counts->n_imported));
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
    return results->tables->staged != NULL ? print_worth(arguments, results->tables, place->folder)
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
