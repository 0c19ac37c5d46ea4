#include <unistd.h>

#include "protocol.h"
#include "study.h"

#define WHICH_STUDY "STUDY is a shipped study's name (inferometer study list) or a YAML file."
#define WHICH_RESULTS                                                                                                      \
    WHICH_STUDY " It may also be a folder with results (out/gnn-stages), or the name of one in out/, as imports have it."

/* --- study run -------------------------------------------------------------------------------------------------------- */

static const char *const steps[] = { "export", "measure", "analyze", NULL };

static const Option run_options[] = {
    { "device", 'd', OPTION_TEXT, TRUE, "ALIAS=DEVICE", "puts another device behind an alias of the study, or adds one" },
    { "only", 0, OPTION_TEXT, FALSE, "STEP",
      "export: write the models of all devices, here or not; measure: write no tables; analyze: write the tables of what "
      "is "
      "stored",
      NULL, steps },
    ROW_CI(NULL),
    ROW_RUNS,
    ROW_WARMUP,
    ROW_TIME_BUDGET(NULL),
    ROW_TIMEOUT(NULL),
    ROW_CASE_TIMEOUT(NULL),
    ROW_MEMORY_LIMIT(NULL),
    { "retry", 0, OPTION_FLAG, FALSE, NULL, "measure again what failed before" },
    { "output", 'o', OPTION_FOLDER, FALSE, "DIR",
      "folder of the store, the models and the tables; without it out/ and the "
      "study's name" },
    { NULL },
};

static const char *const run_examples[] = {
    "inferometer study run gnn-stages",
    "measures the seven stages of GraphSAGE on every device of the machine that the study names",
    "inferometer study run gnn-stages -d CPU=openvino:CPU@0 -d ORT=onnxruntime:CPU@1 -d NPU=simulated:meteor-lake/NPU",
    "puts the CPU on one core, adds ONNX Runtime on another, and a simulated NPU",
    "inferometer study run gnn-stages --warmup 10 --runs 50",
    "measures by fixed counts, as the published protocol does",
    NULL,
};

const Verb verb_study_run = {
    .name = "study run",
    .summary = "measure all cases of a study, on every device there is, and write its tables",
    .arguments = "STUDY",
    .least = 1,
    .most = 1,
    .positional = POSITIONAL_STUDY,
    .options = run_options,
    .details =
        WHICH_STUDY " How long a case is measured is what the study says, unless --ci, --runs, --warmup or --time-budget "
                    "say otherwise; so are the limits of --timeout, --case-timeout and --memory-limit.\n"
                    "Every case is stored before the next begins: an interrupted study goes on where it stopped, and one "
                    "that is whole is not measured again. Devices with dynamic models come first, those with static ones "
                    "(an NPU) after them; the tables are written after each of the two phases. A device that is not here "
                    "is skipped and said so; a case that fails costs itself alone, and is tried again with --retry.\n"
                    "An alias keeps its device in every file: other options or another device are other cases, measured "
                    "beside the old ones.\n"
                    "The exit status is 0 where every case of the devices that are here has a latency, 1 where some have "
                    "none, 4 where no device is here; absent devices alone change nothing.",
    .examples = run_examples,
    .run = study_run,
};

/* --- study status, study export --------------------------------------------------------------------------------------- */

static const Option results_options[] = {
    { "output", 'o', OPTION_FOLDER, FALSE, "DIR", "folder of the study's results; without it out/ and the study's name" },
    { NULL },
};

static int run_status(const Arguments *arguments)
{
    g_auto(StudyPlace) place = { 0 };
    g_autoptr(GError) error = NULL;
    int status = study_place_find(&place, arguments);
    if (status != CLI_EXIT_OK)
        return status;
    g_autoptr(IfmStore) store = study_place_open(&place, IFM_STORE_READ, &error);
    g_autoptr(IfmStudyTables) tables = store != NULL ? ifm_study_tables(store, &error) : NULL;
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
    g_autoptr(IfmStudyTables) tables = store != NULL ? study_write_tables(store, place.folder, &error) : NULL;
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

/* --- study import ----------------------------------------------------------------------------------------------------- */

static const Option import_options[] = {
    { "output", 'o', OPTION_FOLDER, FALSE, "DIR", "folder that gets the store; without it out/ and the name" },
    { "name", 0, OPTION_TEXT, FALSE, "NAME", "what the study shall be called; without it the folder's name" },
    { "features", 0, OPTION_COUNT, FALSE, "N", "numbers a node had, going in", "500", .least = 1, .most = 1000000 },
    { "hidden", 0, OPTION_COUNT, FALSE, "N", "numbers a node had, coming out", "256", .least = 1, .most = 1000000 },
    { NULL },
};

static const char *const import_examples[] = {
    "inferometer study import data/meteor-lake/large-55-sizes.csv --name laptop",
    "takes in the latencies of a laptop, and tells how much of them a bandwidth can be read from",
    NULL,
};

const Verb verb_study_import = {
    .name = "study import",
    .summary = "take in tables measured elsewhere, as a study of their own",
    .arguments = "FILE…",
    .least = 1,
    .most = -1,
    .positional = POSITIONAL_FILE,
    .options = import_options,
    .details =
        "FILE is a table as a study writes it (lookup_table.json, raw_measurements.json, checkpoint_*.json, "
        "bandwidth_table.json) or CSV with the columns device, stage, nodes, edges, latency_ms, std_ms, compute_ms, "
        "transfer_ms and flag. Where two have the same row, the earlier counts.\n"
        "A total must be above 0. Compute, transfer and std may be missing; a row with a flag comes in as a failure.\n"
        "What it prints: for each stage of each device, whether its latencies tell a bandwidth, and how far off its "
        "interpolation is at sizes that are left out.",
    .examples = import_examples,
    .run = study_import,
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
