#include <string.h>
#include <unistd.h>

#include "profile.h"
#include "protocol.h"

#define DEFAULT_DEVICE "onnxruntime:CPU"

/* --- measuring ------------------------------------------------------------------------------------------------------ */

/* One profile on its way through its devices. */
typedef struct
{
    const ProfilePlan *plan;
    IfmRunner *runner;
    IfmStore *store;
    Progress *progress;
    gboolean resume;
    GError *store_error; /* the store took no more: nothing further is measured */
} Campaign;

/* What an earlier profile left whole. One that was cut short does not count. */
static IfmMeasurement *find_stored(Campaign *campaign, const IfmCase *sealed, GError **error)
{
    g_autoptr(IfmMeasurement) stored = ifm_store_latest(campaign->store, sealed->key, error);
    return stored != NULL && g_strcmp0(stored->stop_reason, "interrupted") != 0 ? g_steal_pointer(&stored) : NULL;
}

static IfmResult result_of(const Target *target)
{
    return (IfmResult){
        .device = target->spec->text,
        .alias = target->alias,
        .subject_case = target->sealed,
        .measurement = target->measurement,
        .code = target->error != NULL ? ifm_error_code_name(target->error->code) : NULL,
        .reason = target->error != NULL ? target->error->message : NULL,
        .resumed = target->resumed,
    };
}

/* The word of the table, where something went wrong. */
static const char *outcome_of(const Target *target)
{
    IfmResult result = result_of(target);
    return ifm_result_code(&result) == NULL ? "ok" : ifm_result_ending(&result);
}

/* Whether there was a device to try. */
static gboolean was_tried(const Target *target)
{
    static const char *const absent[] = { "invalid", "unavailable", NULL };
    const IfmMeasurement *measurement = target->measurement;
    return measurement != NULL && measurement->outcome != IFM_OUTCOME_SKIPPED &&
           !g_strv_contains(absent, measurement->error_code);
}

/* A device that is not here is worth a row beside others that are; where none is, it was the command line that was wrong,
 * and the store need not remember it. So such rows wait until one device was tried. */
static void commit_tried(Campaign *campaign)
{
    const GPtrArray *targets = campaign->plan->targets;
    gboolean any = FALSE;
    for (guint i = 0; i < targets->len; i++)
        any |= was_tried(targets->pdata[i]);
    for (guint i = 0; i < targets->len && any && campaign->store_error == NULL; i++)
    {
        Target *target = targets->pdata[i];
        if (target->measurement != NULL && !target->stored && !target->resumed)
            target->stored = ifm_store_commit(campaign->store, target->sealed, target->measurement, &campaign->store_error);
    }
}

static void measure_sealed(Campaign *campaign, Target *target, const IfmModelCase *model_case)
{
    const IfmProtocol *protocol = &model_case->protocol;
    g_autofree char *label =
        target->alias != NULL ? g_strdup_printf("%s=%s", target->alias, target->spec->text) : g_strdup(target->spec->text);
    progress_begin(campaign->progress, label, protocol->runs, protocol->ci_ratio);
    target->measurement = ifm_runner_measure(campaign->runner, model_case, target->sealed, &target->error);
    commit_tried(campaign);
    progress_end(campaign->progress, campaign->store_error == NULL ? outcome_of(target) : "not stored");
}

static void measure_target(Campaign *campaign, Target *target)
{
    IfmModelCase model_case = profile_plan_case(campaign->plan, target);
    target->tried = TRUE;
    target->sealed = ifm_runner_case(campaign->runner, &model_case, &target->error);
    if (target->sealed == NULL)
        return;
    if (campaign->resume)
        target->measurement = find_stored(campaign, target->sealed, &campaign->store_error);
    if (campaign->store_error != NULL)
        return;
    target->resumed = target->measurement != NULL;
    if (target->resumed)
        cli_note("%s: measured before, taken from %s", target->spec->text, ifm_store_path(campaign->store));
    else
        measure_sealed(campaign, target, &model_case);
}

static void measure_all(Campaign *campaign)
{
    for (guint i = 0; i < campaign->plan->targets->len; i++)
        if (cli_interrupt_signal() == 0 && campaign->store_error == NULL)
            measure_target(campaign, campaign->plan->targets->pdata[i]);
}

/* --- telling -------------------------------------------------------------------------------------------------------- */

/* Results of the targets that were tried; borrow from the plan. */
static GArray *collect(const ProfilePlan *plan)
{
    GArray *results = g_array_new(FALSE, FALSE, sizeof(IfmResult));
    for (guint i = 0; i < plan->targets->len; i++)
    {
        const Target *target = plan->targets->pdata[i];
        IfmResult result = result_of(target);
        if (target->tried && (target->measurement != NULL || target->error != NULL))
            g_array_append_val(results, result);
    }
    return results;
}

static guint count_failed(const GArray *array)
{
    guint n = 0;
    for (guint i = 0; i < array->len; i++)
        n += ifm_result_code(&g_array_index(array, IfmResult, i)) != NULL;
    return n;
}

/* Where nothing was measured the reasons are all there is to tell; else they stand below the table. */
static void complain_of_failures(const GArray *array)
{
    guint n_failed = count_failed(array);
    for (guint i = 0; i < array->len && n_failed == array->len; i++)
    {
        g_autofree char *line = ifm_result_line(&g_array_index(array, IfmResult, i));
        cli_complain("%s", line);
    }
    if (n_failed > 0 && n_failed < array->len)
        cli_complain("%u of %u devices failed", n_failed, array->len);
}

static int write_results(const Arguments *arguments, const GArray *array)
{
    const IfmResult *results = (const IfmResult *)(const void *)array->data;
    const char *json_path = cli_text(arguments, "json"), *csv_path = cli_text(arguments, "csv");
    int status = CLI_EXIT_OK;
    if (json_path != NULL)
    {
        json_auto_t *json = ifm_results_to_json(results, array->len);
        status = cli_write_json(json_path, json);
    }
    if (csv_path != NULL && status == CLI_EXIT_OK)
    {
        g_autofree char *csv = ifm_results_to_csv(results, array->len);
        status = cli_write(csv_path, csv);
    }
    if (count_failed(array) == array->len || g_strcmp0(json_path, "-") == 0 || g_strcmp0(csv_path, "-") == 0)
        return status;
    IfmScreen screen = ifm_screen_detect(STDOUT_FILENO);
    g_autofree char *text = ifm_results_to_screen(results, array->len, (gsize)cli_integer(arguments, "nodes"), &screen);
    int printed = cli_print(text);
    return status != CLI_EXIT_OK ? status : printed;
}

/* 0: all measured. Else what all that failed have in common: 3 for bad input, 4 for missing; 1 where they differ or some
 * were measured. */
static int status_of(const GArray *array)
{
    int common = CLI_EXIT_OK;
    guint n_failed = 0;
    for (guint i = 0; i < array->len; i++)
    {
        const char *code = ifm_result_code(&g_array_index(array, IfmResult, i));
        if (code == NULL)
            continue;
        int status = cli_status_of(ifm_error_code_from_name(code));
        common = n_failed == 0 || common == status ? status : CLI_EXIT_FAILED;
        n_failed++;
    }
    return n_failed == 0 || n_failed == array->len ? common : CLI_EXIT_FAILED;
}

static int finish(Campaign *campaign, const Arguments *arguments)
{
    g_autoptr(GArray) results = collect(campaign->plan);
    int written = write_results(arguments, results), number = cli_interrupt_signal();
    guint n_left = campaign->plan->targets->len;
    for (guint i = 0; i < campaign->plan->targets->len; i++)
        n_left -= ((const Target *)campaign->plan->targets->pdata[i])->measurement != NULL;
    if (campaign->store_error != NULL)
        return cli_fail(campaign->store_error);
    if (number != 0)
    {
        cli_complain("interrupted: %u of %u devices were not measured; --resume measures what is missing", n_left,
                     campaign->plan->targets->len);
        return CLI_EXIT_SIGNAL + number;
    }
    if (written != CLI_EXIT_OK)
        return written;
    complain_of_failures(results);
    return status_of(results);
}

static int run_profile(const Arguments *arguments)
{
    const char *out = cli_text(arguments, "output");
    g_autofree char *store_path = g_build_filename(out, "store.db", NULL);
    g_autoptr(GError) error = NULL;
    g_auto(ProfilePlan) plan = { 0 };
    int status = cli_check_outputs(arguments, (const char *const[]){ "json", "csv", NULL });
    if (status != CLI_EXIT_OK || (status = profile_plan_init(&plan, arguments, out)) != CLI_EXIT_OK)
        return status;
    g_autoptr(IfmStore) store = ifm_store_open(store_path, IFM_STORE_WRITE, &error);
    if (store == NULL)
        return cli_fail(error);
    if (!cli_given(arguments, "device"))
        cli_note("no --device given: measuring on " DEFAULT_DEVICE " (inferometer devices lists what is here)");
    g_autoptr(Progress) progress = progress_new(plan.targets->len, cli_given(arguments, "quiet"));
    IfmLimits usual = IFM_LIMITS_INIT;
    IfmRunnerOptions options = { .limits = cli_limits(arguments, &usual),
                                 .interrupted = cli_interrupt_install(),
                                 .progress = progress_update,
                                 .progress_user = progress };
    g_autoptr(IfmRunner) runner = ifm_runner_new(&options);
    Campaign campaign = {
        .plan = &plan, .runner = runner, .store = store, .progress = progress, .resume = cli_given(arguments, "resume")
    };
    measure_all(&campaign);
    status = finish(&campaign, arguments);
    g_clear_error(&campaign.store_error);
    return status;
}

/* --- the verb ------------------------------------------------------------------------------------------------------- */

static const char *const dtypes[] = { "f32", "f16", "bf16", NULL };

static const Option profile_options[] = {
    { "device", 'd', OPTION_TEXT, TRUE, "[ALIAS=]DEVICE", "a device to measure on, ENGINE:UNIT[:INDEX][@CORES][#STREAMS]",
      DEFAULT_DEVICE },
    { "dim", 0, OPTION_TEXT, TRUE, "NAME=SIZE", "size of a free dimension, such as N=8" },
    { "dtype", 0, OPTION_TEXT, FALSE, "DTYPE", "precision to compute in: f32, f16 or bf16", "f32", dtypes },
    { "threads", 't', OPTION_COUNT, FALSE, "N", "threads of the runtime; 0: as many as the device has cores", "0",
      .most = 4096 },
    ROW_CI("1%"),
    ROW_RUNS,
    ROW_WARMUP,
    ROW_TIME_BUDGET("20s"),
    { "seed", 0, OPTION_COUNT, FALSE, "N", "seed of the inputs, and of a zoo model's weights", "1", .most = G_MAXUINT32 },
    { "no-nodes", 0, OPTION_FLAG, FALSE, NULL, "do not measure a second time, profiled, for the times of the nodes" },
    { "no-verify", 0, OPTION_FLAG, FALSE, NULL, "do not compare the outputs with those of the reference" },
    { "native-async", 0, OPTION_FLAG, FALSE, NULL, "use the runtime's own asynchrony instead of a pinned thread" },
    { "option", 0, OPTION_TEXT, TRUE, "[ENGINE:]KEY=VALUE", "a setting in the runtime's own words" },
    ROW_TIMEOUT("60s"),
    ROW_CASE_TIMEOUT("0"),
    ROW_MEMORY_LIMIT("0"),
    { "resume", 0, OPTION_FLAG, FALSE, NULL, "do not measure again what the store holds already" },
    { "nodes", 0, OPTION_COUNT, FALSE, "N", "how many of the slowest nodes to show for each device", "15" },
    { "json", 0, OPTION_FILE, FALSE, "FILE", "write everything as JSON, samples included; - is standard output" },
    { "csv", 0, OPTION_FILE, FALSE, "FILE", "write a row a device as CSV; - is standard output" },
    { "output", 'o', OPTION_FOLDER, FALSE, "DIR", "folder of the store (store.db) and of the zoo's models", "out/profile" },
    { NULL },
};

static const char *const profile_examples[] = {
    "inferometer profile model.onnx -d openvino:CPU@0 -d onnxruntime:CPU@1",
    "compares two runtimes, each on a core of its own",
    "inferometer profile zoo:matmul,m=512 -d CPU=openvino:CPU --runs 50 --json result.json",
    "measures a model of the zoo 50 times and keeps all samples",
    NULL,
};

const Verb verb_profile = {
    .name = "profile",
    .summary = "measure a model on one device or several",
    .arguments = "MODEL",
    .least = 1,
    .most = 1,
    .positional = POSITIONAL_FILE,
    .options = profile_options,
    .details =
        "MODEL is an ONNX file, or zoo:NAME[,KEY=VALUE...] for a model of the zoo (see inferometer zoo list).\n"
        "Each device is measured in a process of its own, one after the other, and its measurement is stored before the "
        "next begins. A device that refuses, fails, crashes, hangs or answers wrongly costs its own row and no other: "
        "the row says failed, and the reason stands below the table.\n"
        "The strip shows, on one scale for all devices, the fastest run, the 95 % interval of the median with the "
        "median in it, and the slowest run. A percentile that too few runs can bound is not shown (-).\n"
        "The exit status is 0 where all devices were measured, 1 where some failed, and 3 or 4 where all failed "
        "because the input is wrong or something is missing.",
    .examples = profile_examples,
    .run = run_profile,
};
