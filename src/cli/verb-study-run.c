#include <string.h>
#include <unistd.h>

#include <inferometer/engine.h>

#include <study/study.h>

#include "study-page.h"

/* The verb study run takes a study through its phases, whole or one part of its cases, and writes its results. */

#define PROTOCOL_ROWS (study_case_options + 1) /* IfmProtocolOptions: behind --device */

/* StudyRun: a study on its way through its phases. */
typedef struct
{
    const IfmStudyPlace *place;
    Progress *progress;
    IfmStudyResults *results; /* as last written; NULL until then */
} StudyRun;

static void study_run_clear(StudyRun *run)
{
    g_clear_pointer(&run->progress, progress_free);
    g_clear_pointer(&run->results, ifm_study_results_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(StudyRun, study_run_clear)

/* Shard: which part of its cases; 0 of 0: all. */
typedef struct
{
    gsize number, n;
} Shard;

/* --- what is asked for ---------------------------------------------------------------------------------------------- */

static gboolean wants(const Arguments *arguments, const char *step)
{
    const char *only = cli_text(arguments, "only");
    return only == NULL || g_str_equal(only, step) || g_str_equal(only, "all");
}

/* An alias that is given twice is a mistake. */
static gboolean is_repeated(const char *const *texts, gsize at)
{
    gsize length = strcspn(texts[at], "=");
    for (gsize i = 0; i < at; i++)
        if (strncmp(texts[i], texts[at], length + 1) == 0)
            return TRUE;
    return FALSE;
}

/* (transfer full) What the study has behind the alias of "ALIAS=DEVICE"; NULL: it has no such alias. */
static char *device_before(const IfmStudy *study, const char *text)
{
    gsize length = strcspn(text, "=");
    const GPtrArray *devices = ifm_study_info(study).devices;
    for (guint i = 0; i < devices->len; i++)
    {
        const IfmStudyDevice *device = devices->pdata[i];
        if (strlen(device->alias) == length && strncmp(device->alias, text, length) == 0)
            return g_strdup(device->device);
    }
    return NULL;
}

static void note_change(const IfmStudy *study, const char *text, const char *before)
{
    g_autofree char *now = device_before(study, text);
    if (before != NULL && !g_str_equal(before, now))
        cli_note("%.*s: the figures are of %s from now on; the study names %s", (int)strcspn(text, "="), text, now, before);
}

static void note_dropped(const IfmStudyDevice *device, void *user)
{
    cli_note("%s, %s, is the study's own device and is left out: --device names others", device->alias, device->device);
}

static int set_devices(IfmStudy *study, const Arguments *arguments)
{
    const char *const *texts = cli_texts(arguments, "device");
    for (gsize i = 0; texts[i] != NULL; i++)
    {
        g_autoptr(GError) error = NULL;
        g_autofree char *before = device_before(study, texts[i]);
        if (is_repeated(texts, i))
            return cli_usage("--device %s: its alias is given twice", texts[i]);
        if (!ifm_study_set_device(study, texts[i], &error))
        {
            g_prefix_error(&error, "--device: ");
            return cli_fail(error);
        }
        note_change(study, texts[i], before);
    }
    ifm_study_asked_devices(study, note_dropped, NULL);
    return CLI_EXIT_OK;
}

/* A part of a study has a folder of its own: their stores are merged. */
static int take_shard(IfmStudyPlace *place, const Arguments *arguments, Shard *shard)
{
    g_autoptr(GError) error = NULL;
    const char *text = cli_text(arguments, "shard");
    if (text == NULL)
        return CLI_EXIT_OK;
    if (!ifm_shard_parse(text, &shard->number, &shard->n, &error))
        return cli_usage("--shard: %s", error->message);
    if (cli_text(arguments, "output") != NULL)
        return CLI_EXIT_OK;
    char *folder = g_strdup_printf("%s-%zu-of-%zu", place->folder, shard->number, shard->n);
    g_free(place->folder);
    g_free(place->store_path);
    g_free(place->missing);
    ifm_study_place_set_folder(place, folder);
    return CLI_EXIT_OK;
}

int study_take_arguments(IfmStudy *study, const Arguments *arguments)
{
    IfmProtocolOptions said = { 0 };
    cli_fill(arguments, PROTOCOL_ROWS, &said);
    IfmProtocol protocol = ifm_protocol_with(ifm_study_info(study).protocol, &said);
    ifm_study_set_protocol(study, &protocol);
    return set_devices(study, arguments);
}

static int prepare(IfmStudyPlace *place, const Arguments *arguments, Shard *shard)
{
    g_autoptr(GError) error = NULL;
    int status = study_open_place(place, arguments, FALSE);
    if (status != CLI_EXIT_OK || (status = take_shard(place, arguments, shard)) != CLI_EXIT_OK ||
        (status = study_take_arguments(place->study, arguments)) != CLI_EXIT_OK)
        return status;
    return ifm_study_place_check(place, &error) ? CLI_EXIT_OK : cli_fail(error);
}

/* --- its steps ------------------------------------------------------------------------------------------------------ */

static int run_export(const IfmStudyPlace *place)
{
    g_autoptr(GError) error = NULL;
    gsize n_models = 0;
    if (!ifm_study_export(place->study, place->folder, &n_models, &error))
        return cli_fail(error);
    g_autofree char *text = g_strdup_printf("%zu models in %s/models\n", n_models, place->folder);
    return cli_print(text);
}

static void on_progress(const IfmCampaignProgress *progress, const IfmMeasurement *ended, void *user)
{
    progress_study(((StudyRun *)user)->progress, progress, ended);
}

/* The manifest that the run itself wrote is the study's span. */
static IfmStudyResults *write_measured(const IfmStudyPlace *place, IfmStore *store, GError **error)
{
    g_autoptr(IfmStudyResults) results = ifm_study_results(NULL, store, error);
    return results != NULL && ifm_study_results_write(results, place->folder, error) ? g_steal_pointer(&results) : NULL;
}

/* What a phase came to is complete and usable whatever becomes of the next. */
static gboolean on_phase_done(IfmStudy *study, IfmStore *store, int phase, void *user, GError **error)
{
    StudyRun *run = user;
    g_clear_pointer(&run->results, ifm_study_results_free);
    run->results = write_measured(run->place, store, error);
    return run->results != NULL;
}

/* --- how it ended --------------------------------------------------------------------------------------------------- */

static int report_outcome(const StudyRun *run, const IfmCampaignProgress *result, gboolean with_report)
{
    const IfmStudyPlace *place = run->place;
    gsize n_refused = run->results->n_refused, n_incapable = MIN(run->results->n_incapable, result->n_failed),
          n_lacking = result->n_failed - n_incapable + result->n_skipped + n_refused;
    g_autofree char *report = g_build_filename(place->folder, run->results->reasons, NULL);
    g_autofree char *status = g_strdup_printf("\"inferometer study status %s\"", place->folder);
    if (n_lacking == 0)
        return CLI_EXIT_OK;
    cli_complain("%zu of %zu cases have no latency; %s says why", n_lacking, result->n_cases + n_refused,
                 with_report ? report : status);
    return CLI_EXIT_FAILED;
}

/* All that is left to do once every case has ended. */
static int finish(StudyRun *run, IfmStore *store, const Arguments *arguments, const IfmCampaignProgress *result)
{
    const IfmStudyPlace *place = run->place;
    gboolean analyze = wants(arguments, "analyze");
    g_autoptr(GError) error = NULL;
    const gsize n_before = result->n_cases - result->n_skipped - result->n_failed;
    g_autofree char *of = n_before < result->n_cases ? g_strdup_printf(" of %zu", result->n_cases) : NULL;
    if (result->n_measured == 0 && n_before > 0 && result->n_done == result->n_cases)
        cli_note("%s%zu%s cases were measured before and are in %s", of == NULL ? "all " : "", n_before,
                 of != NULL ? of : "", place->store_path);
    if (run->results == NULL)
        run->results = analyze ? write_measured(place, store, &error) : ifm_study_results(NULL, store, &error);
    if (run->results == NULL)
        return cli_fail(error);
    int printed = analyze ? study_print_page(arguments, run->results, place->folder)
                          : study_print_status(arguments, run->results, place->folder);
    if (run->results->warning != NULL)
        cli_note("warning: %s%s", run->results->warning, analyze ? "; profiling_report.txt lists them" : "");
    int status = report_outcome(run, result, analyze);
    return printed != CLI_EXIT_OK ? printed : status;
}

static int run_measure(const IfmStudyPlace *place, const Arguments *arguments, const Shard *shard)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmStore) store = ifm_study_place_open(place, shard->n > 0 ? IFM_STORE_SHARD : IFM_STORE_WRITE, &error);
    g_auto(StudyRun) run = { .place = place, .progress = progress_new(arguments) };
    IfmCampaignProgress result = { 0 };
    IfmProtocolOptions said = { 0 };
    cli_fill(arguments, PROTOCOL_ROWS, &said);
    IfmStudyOptions options = {
        .folder = place->folder,
        .limits = ifm_limits_with(ifm_study_info(place->study).limits, &said),
        .shard = shard->number,
        .n_shards = shard->n,
        .interrupted = cli_interrupt_install(),
        .progress = on_progress,
        .phase_done = wants(arguments, "analyze") ? on_phase_done : NULL,
        .user = &run,
    };
    cli_fill(arguments, ifm_study_options, &options);
    if (store == NULL)
        return cli_fail(error);
    gboolean good = ifm_study_measure(place->study, store, &options, &result, &error);
    progress_study_end(run.progress);
    if (!good && g_error_matches(error, IFM_ERROR, IFM_ERROR_CANCELLED))
    {
        cli_complain("interrupted: %zu of %zu"
                     " cases are in %s; the same command resumes there",
                     result.n_done, result.n_cases, place->store_path);
        return CLI_EXIT_SIGNAL + cli_interrupt_signal();
    }
    if (!good && !g_error_matches(error, IFM_ERROR, IFM_ERROR_TIMEOUT))
        return cli_fail(error);
    int status = finish(&run, store, arguments, &result);
    return good ? status : cli_fail(error);
}

/* What of a GPU's convolutions is there: the provider of ONNX Runtime, and what the operator needs. */
static int check_cuda(void)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmClock) clock = ifm_clock_new_real();
    g_autoptr(IfmEngine) engine = ifm_engine_open("onnxruntime", clock, &error);
    g_autoptr(IfmDeviceSpec) spec = ifm_device_spec_parse("onnxruntime:CUDA", NULL);
    IfmDeviceInfo *device = engine != NULL ? ifm_engine_find_device(engine, spec, &error) : NULL;
    gboolean is_complete = FALSE;
    g_autofree char *parts = ifm_conv_cuda_report(&is_complete);
    const gboolean is_other_build = device == NULL && strstr(error->message, "without that provider") != NULL;
    g_autofree char *text = device != NULL
                                ? g_strdup_printf("found    %s, %s\n%s", device->spec, device->description, parts)
                                : g_strdup_printf("missing  %s%s\n%s", error->message,
                                                  is_other_build ? " (\"setup/install cuda\" gets another, which "
                                                                   "IFM_ONNXRUNTIME_LIBRARY is to name)"
                                                                 : "",
                                                  parts);
    is_complete &= device != NULL;
    ifm_device_info_free(device);
    const int status = cli_print(text);
    return status != CLI_EXIT_OK || is_complete ? status : CLI_EXIT_FAILED;
}

static int run_study(const Arguments *arguments)
{
    g_autofree char *list = study_list(arguments);
    if (list != NULL)
        return cli_print(list);
    if (cli_given(arguments, "check-cuda"))
        return check_cuda();
    if (cli_positional(arguments)[0] == NULL)
        return cli_usage("needs STUDY");
    g_auto(IfmStudyPlace) place = { 0 };
    Shard shard = { 0 };
    int status = prepare(&place, arguments, &shard);
    if (status != CLI_EXIT_OK)
        return status;
    if (wants(arguments, "measure"))
        status = run_measure(&place, arguments, &shard);
    else
        status = wants(arguments, "export") ? run_export(&place) : study_write_and_print(arguments, &place);
    ifm_study_place_tidy(&place);
    return status;
}

/* --- the verb -------------------------------------------------------------------------------------------------------- */

static const char *const steps[] = { "all", "export", "measure", "analyze", NULL };

const IfmOption study_case_options[] = {
    { "device", IFM_OPTION_TEXT, "ALIAS=DEVICE",
      "puts another device behind an alias of the study, or adds one; of conv-algorithms it takes the place of the "
      "study's own devices",
      .letter = 'd', .repeatable = TRUE },
    IFM_PROTOCOL_ROW_CI(0, NULL),
    IFM_PROTOCOL_ROW_RUNS(0),
    IFM_PROTOCOL_ROW_WARMUP(0),
    IFM_PROTOCOL_ROW_TIME_BUDGET(0, NULL),
    IFM_PROTOCOL_ROW_TIMEOUT(0, NULL),
    IFM_PROTOCOL_ROW_CASE_TIMEOUT(0, NULL),
    IFM_PROTOCOL_ROW_MEMORY_LIMIT(0, NULL),
    { NULL },
};

static const IfmOption run_options[] = {
    { "only", IFM_OPTION_TEXT, "STEP",
      "export: write the models of all devices, available or not; measure: write no tables; analyze: write the tables "
      "from the store",
      "all", steps, .after = "device" },
    { "shard", IFM_OPTION_TEXT, "I/N",
      "measure only the I-th of N parts of the cases, into a folder of its own; \"inferometer study merge\" joins the "
      "stores",
      .after = "memory-limit" },
    { "output", IFM_OPTION_FOLDER, "DIR",
      "folder of the store, the models and the tables; without it out/ and the study's name", .letter = 'o' },
    { NULL },
};

const Verb verb_study_run = {
    .name = "study run",
    .summary = "measure all cases of a study on every available device, and write its tables",
    .arguments = "STUDY",
    .max = 1,
    .positional = POSITIONAL_STUDY,
    .tables = { study_case_options, run_options, ifm_study_options, study_setting_options, study_list_options,
                cli_page_options, study_file_options, cli_progress_options },
    .details =
        WHICH_STUDY " The study states how long a case is measured and its limits; --ci, --runs, --warmup, --time-budget "
                    "and the options of limits replace that.\n"
                    "Every case is stored before the next begins: the same command continues an interrupted study, and a "
                    "complete study is not measured again. Phase 1 measures the devices with dynamic models, phase 2 those "
                    "with static ones (an NPU); the tables are written after each phase. An unavailable device "
                    "is skipped, with the reason. A case that fails does not stop the others; --retry measures it again.\n"
                    "Other options or another device are other cases, which are measured next to the old ones.\n"
                    "The exit status is 0 if every case of the available devices has a latency, 1 if some have none or "
                    "--total-time ended the run, and 4 if no device is available.",
    .examples = { { "inferometer study run gnn-stages",
                    "measures the seven stages of GraphSAGE on every available device that the study names" },
                  { "inferometer study run gnn-stages -d ORT=onnxruntime:CPU@1 -d NPU=simulated:meteor-lake/NPU",
                    "adds ONNX Runtime on core 1, and replaces the NPU by a simulated one" },
                  { "inferometer study run gnn-stages --warmup 10 --runs 50",
                    "measures fixed counts of runs, as the published protocol does" } },
    .run = run_study,
};
