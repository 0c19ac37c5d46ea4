#include <unistd.h>

#include "study-place.h"

/* --- study status, study export --------------------------------------------------------------------------------------- */

static const Option results_options[] = {
    { "output", 'o', OPTION_FOLDER, FALSE, "DIR", "folder of the study's results; without it out/ and the study's name" },
    { NULL },
};

static int tell_not_begun(const StudyPlace *place)
{
    const GPtrArray *cases = ifm_study_cases(place->study);
    gsize n_links = 0;
    for (guint i = 0; i < cases->len; i++)
        n_links += ((const IfmStudyCase *)cases->pdata[i])->stage == 0;
    g_autofree char *text =
        g_strdup_printf("%s: not begun, %u cases: %" G_GSIZE_FORMAT " of stages, %" G_GSIZE_FORMAT " of links\n",
                        ifm_study_name(place->study), cases->len, cases->len - n_links, n_links);
    return cli_print(text);
}

static int run_status(const Arguments *arguments)
{
    g_auto(StudyPlace) place = { 0 };
    g_autoptr(GError) error = NULL;
    int status = study_place_find(&place, arguments);
    if (status != CLI_EXIT_OK)
        return status;
    if (place.study != NULL && !g_file_test(place.store_path, G_FILE_TEST_EXISTS))
        return tell_not_begun(&place);
    g_autoptr(IfmStore) store = study_place_open(&place, IFM_STORE_READ, &error);
    if (store != NULL && place.study != NULL && !study_place_begun(store))
        return tell_not_begun(&place);
    g_autoptr(IfmStudyTables) tables = store != NULL ? study_place_tables(&place, store, &error) : NULL;
    if (tables == NULL)
        return cli_fail(error);
    IfmScreen screen = ifm_screen_detect(STDOUT_FILENO);
    g_autofree char *text = ifm_study_status_to_screen(tables, &screen);
    return cli_print(text);
}

const Verb verb_study_status = {
    .name = "study status",
    .summary = "tell how far a study is",
    .arguments = "STUDY",
    .least = 1,
    .most = 1,
    .positional = POSITIONAL_STUDY,
    .options = results_options,
    .details = WHICH_RESULTS,
    .run = run_status,
};

static int run_export(const Arguments *arguments)
{
    g_auto(StudyPlace) place = { 0 };
    g_autoptr(GError) error = NULL;
    int status = study_place_find(&place, arguments);
    if (status != CLI_EXIT_OK)
        return status;
    g_autoptr(IfmStore) store = study_place_open(&place, IFM_STORE_READ, &error);
    g_autoptr(IfmStudyTables) tables = store != NULL ? study_place_write(&place, store, &error) : NULL;
    return tables != NULL ? study_print_page(tables, place.folder) : cli_fail(error);
}

static const char *const export_examples[] = {
    "inferometer study export gnn-stages",
    "writes lookup_table.json and its companions from out/gnn-stages/store.db",
    NULL,
};

const Verb verb_study_export = {
    .name = "study export",
    .summary = "write a study's tables again from its store",
    .arguments = "STUDY",
    .least = 1,
    .most = 1,
    .positional = POSITIONAL_STUDY,
    .options = results_options,
    .details = WHICH_RESULTS "\nWritten beside the store: lookup_table.json, bandwidth_table.json, raw_measurements.json, "
                             "checkpoint_cpugpu.json, checkpoint_npu.json, profiling_report.txt, stages.csv.",
    .examples = export_examples,
    .run = run_export,
};

/* --- study list ------------------------------------------------------------------------------------------------------- */

static void get_name(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ifm_study_name(record));
}

static void get_title(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_text(value, ifm_study_title(record));
}

static void get_devices(const void *record, const void *user, IfmValue *value)
{
    const GPtrArray *devices = ifm_study_devices(record);
    g_autoptr(GString) text = g_string_new(NULL);
    for (guint i = 0; i < devices->len; i++)
        g_string_append_printf(text, "%s%s", i > 0 ? " " : "", ((const IfmStudyDevice *)devices->pdata[i])->alias);
    ifm_value_take_text(value, g_string_free(g_steal_pointer(&text), FALSE));
}

static void get_n_sizes(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_integer(value, ifm_study_sizes(record)->len);
}

static void get_n_stages(const void *record, const void *user, IfmValue *value)
{
    ifm_value_set_integer(value, (gint64)ifm_study_staged(record)->n_stages);
}

static const IfmField study_fields[] = {
    { "name", "study", IFM_FIELD_TEXT, get_name, .flags = IFM_FIELD_WHOLE },
    { "title", "what it measures", IFM_FIELD_TEXT, get_title },
    { "devices", "devices", IFM_FIELD_TEXT, get_devices },
    { "sizes", "sizes", IFM_FIELD_INTEGER, get_n_sizes },
    { "stages", "stages", IFM_FIELD_INTEGER, get_n_stages },
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
    IfmScreen screen = ifm_screen_detect(STDOUT_FILENO);
    IfmTable table = { study_fields, (const void *const *)studies->pdata, studies->len };
    g_autofree char *text = ifm_table_to_screen(&table, &screen);
    return cli_print(text);
}

const Verb verb_study_list = {
    .name = "study list",
    .summary = "list the studies there are",
    .arguments = "",
    .run = run_list,
};
