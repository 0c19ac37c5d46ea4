#include <unistd.h>

#include "study-page.h"

/* The verbs study list, status and export list the studies, tell how far one has come and write its results. */

/* --- study status, study export --------------------------------------------------------------------------------------- */

const IfmOption study_file_options[] = {
    { "json", IFM_OPTION_OUTPUT, "FILE", "write the summary and a row a case as JSON; - is standard output" },
    { "csv", IFM_OPTION_OUTPUT, "FILE", "write a row a case as CSV, as points.csv or stages.csv; - is standard output" },
    { NULL },
};

/* @text: (transfer full) in place of the document; NULL: that */
static int answer_with(const Arguments *arguments, const IfmStudyResults *results, IfmStudyPage page, const char *folder,
                       char *text)
{
    return cli_answer(arguments, (Answer){ .document = ifm_study_results_document(results, page, folder),
                                           .json = cli_wants(arguments, "json") ? ifm_study_results_to_json(results) : NULL,
                                           .csv = cli_wants(arguments, "csv") ? ifm_study_results_to_csv(results) : NULL,
                                           .text = text });
}

int study_print_page(const Arguments *arguments, const IfmStudyResults *results, const char *folder)
{
    const IfmScreen screen = cli_screen();
    return answer_with(arguments, results, IFM_STUDY_REPORT, folder,
                       ifm_document_show(ifm_study_results_document(results, IFM_STUDY_SUMMARY, folder), &screen));
}

int study_print_status(const Arguments *arguments, const IfmStudyResults *results, const char *folder)
{
    return answer_with(arguments, results, IFM_STUDY_STATUS, folder, NULL);
}

int study_write_and_print(const Arguments *arguments, const IfmStudyPlace *place)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmStore) store = ifm_study_place_open(place, IFM_STORE_READ, &error);
    g_autoptr(IfmStudyResults) results = store != NULL ? ifm_study_results(place->study, store, &error) : NULL;
    if (results == NULL || !ifm_study_results_write(results, place->folder, &error))
        return cli_fail(error);
    return study_print_page(arguments, results, place->folder);
}

static int report_not_begun(const IfmStudyPlace *place)
{
    const GPtrArray *cases = ifm_study_cases(place->study);
    gsize n_links = 0;
    if (ifm_study_info(place->study).staged == NULL)
    {
        g_autofree char *points =
            g_strdup_printf("%s: not begun, %u cases\n", ifm_study_info(place->study).name, cases->len);
        return cli_print(points);
    }
    for (guint i = 0; i < cases->len; i++)
        n_links += ((const IfmStudyCase *)cases->pdata[i])->stage == 0;
    g_autofree char *text = g_strdup_printf("%s: not begun, %u cases: %zu of stages, %zu of links\n",
                                            ifm_study_info(place->study).name, cases->len, cases->len - n_links, n_links);
    return cli_print(text);
}

static int run_status(const Arguments *arguments)
{
    g_auto(IfmStudyPlace) place = { 0 };
    g_autoptr(GError) error = NULL;
    int status = study_open_place(&place, arguments, TRUE);
    if (status != CLI_EXIT_OK)
        return status;
    gboolean has_store = g_file_test(place.store_path, G_FILE_TEST_EXISTS),
             is_submitted = ifm_cluster_is_submitted(place.folder);
    status = is_submitted ? study_print_shards(place.folder) : CLI_EXIT_OK;
    if (is_submitted && (status != CLI_EXIT_OK || !has_store))
        return status;
    if (place.study != NULL && !has_store)
        return report_not_begun(&place);
    g_autoptr(IfmStore) store = ifm_study_place_open(&place, IFM_STORE_READ, &error);
    if (store != NULL && place.study != NULL && !ifm_study_place_begun(store))
        return report_not_begun(&place);
    g_autoptr(IfmStudyResults) results = store != NULL ? ifm_study_results(place.study, store, &error) : NULL;
    return results != NULL ? study_print_status(arguments, results, place.folder) : cli_fail(error);
}

const Verb verb_study_status = {
    .name = "study status",
    .summary = "show how far a study is",
    .arguments = "STUDY",
    .positional = POSITIONAL_STUDY,
    .tables = { study_results_options, study_setting_options, cli_document_options },
    .details = WHICH_RESULTS,
    .run = run_status,
};

static int run_export(const Arguments *arguments)
{
    g_auto(IfmStudyPlace) place = { 0 };
    const int status = study_open_place(&place, arguments, TRUE);
    return status == CLI_EXIT_OK ? study_write_and_print(arguments, &place) : status;
}

const Verb verb_study_export = {
    .name = "study export",
    .summary = "write a study's tables again from its store",
    .arguments = "STUDY",
    .positional = POSITIONAL_STUDY,
    .tables = { study_results_options, study_setting_options, cli_page_options, study_file_options },
    .details = WHICH_RESULTS "\nWritten next to the store: lookup_table.json, bandwidth_table.json, raw_measurements.json, "
                             "checkpoint_cpugpu.json, checkpoint_npu.json, profiling_report.txt, stages.csv; of a study "
                             "of points (kinds profile and conv-algorithms) points.csv and points.json; of "
                             "conv-algorithms also results/LEVEL/MODEL_ALGORITHM_DEVICE/.",
    .examples = { { "inferometer study export gnn-stages",
                    "writes lookup_table.json and the other tables from out/gnn-stages/store.db" } },
    .run = run_export,
};

/* --- study list ------------------------------------------------------------------------------------------------------- */

static void get_name(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ifm_study_info(record).name);
}

static void get_title(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ifm_study_info(record).title);
}

static void get_devices(const void *record, const void *user, IfmValue *value)
{
    const GPtrArray *devices = ifm_study_info(record).devices;
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < devices->len; i++)
        g_string_append_printf(text, "%s%s", i > 0 ? " " : "", ((const IfmStudyDevice *)devices->pdata[i])->alias);
    ifm_value_take_text(value, g_string_free(g_steal_pointer(&text), FALSE));
}

static void get_n_sizes(const void *record, const void *user, IfmValue *value)
{
    if (ifm_study_info(record).staged != NULL)
        ifm_value_set_integer(value, ifm_study_info(record).sizes->len);
}

static void get_n_stages(const void *record, const void *user, IfmValue *value)
{
    if (ifm_study_info(record).staged != NULL)
        ifm_value_set_integer(value, (gint64)ifm_study_info(record).staged->n_stages);
}

/* The cases of all devices. */
static void get_n_points(const void *record, const void *user, IfmValue *value)
{
    IfmStudy *study = (IfmStudy *)record; /* spans itself */
    const IfmStudyInfo info = ifm_study_info(study);
    if (info.staged == NULL && !info.spans_by_run)
        ifm_value_set_integer(value, ifm_study_cases(study)->len);
}

static const IfmField study_fields[] = {
    { "name", "study", IFM_FIELD_TEXT, get_name, .flags = IFM_FIELD_WHOLE },
    { "title", "what it measures", IFM_FIELD_TEXT, get_title },
    { "devices", "devices", IFM_FIELD_TEXT, get_devices },
    { "sizes", "sizes", IFM_FIELD_INTEGER, get_n_sizes },
    { "stages", "stages", IFM_FIELD_INTEGER, get_n_stages },
    { "points", "points", IFM_FIELD_INTEGER, get_n_points },
    { NULL },
};

static int run_list(const Arguments *arguments)
{
    g_auto(GStrv) names = ifm_study_names();
    g_autoptr(GPtrArray) studies = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_study_free);
    for (char **name = names; *name != NULL; name++)
    {
        g_autoptr(GError) error = NULL;
        IfmStudy *study = ifm_study_open(*name, &error);
        if (study == NULL)
            return cli_fail(error);
        g_ptr_array_add(studies, study);
    }
    return cli_answer(arguments, (Answer){ .document = ifm_table_document("studies", NULL, NULL, study_fields, studies) });
}

const Verb verb_study_list = {
    .name = "study list",
    .summary = "list the studies there are",
    .arguments = "",
    .tables = { cli_document_options },
    .run = run_list,
};
