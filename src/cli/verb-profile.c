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
    gboolean resume, limits, new_limit;
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
static void commit_tried(Campaign *campaign, const ProfilePlan *plan)
{
    const GPtrArray *targets = plan->targets;
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

static void measure_sealed(Campaign *campaign, const ProfilePlan *plan, Target *target, const IfmModelCase *model_case)
{
    const IfmProtocol *protocol = &model_case->protocol;
    g_autofree char *label =
        target->alias != NULL ? g_strdup_printf("%s=%s", target->alias, target->spec->text) : g_strdup(target->spec->text);
    progress_begin(campaign->progress, label, protocol->runs, protocol->ci_ratio);
    target->measurement = ifm_runner_measure(campaign->runner, model_case, target->sealed, &target->error);
    commit_tried(campaign, plan);
    progress_end(campaign->progress, campaign->store_error == NULL ? outcome_of(target) : "not stored");
}

static void measure_target(Campaign *campaign, const ProfilePlan *plan, Target *target)
{
    IfmModelCase model_case = profile_plan_case(plan, target);
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
        measure_sealed(campaign, plan, target, &model_case);
}

static void find_limit(Campaign *campaign, Target *target)
{
    LimitPlace place = { campaign->runner, campaign->store, campaign->progress, campaign->new_limit };
    if (campaign->limits && g_str_equal(outcome_of(target), "ok"))
        profile_find_limit(campaign->plan, target, &place, &campaign->store_error);
}

/* The other passes of a mode, one after the other, on a device that ran the one asked for. */
static void measure_others(Campaign *campaign, guint at)
{
    for (int kind = 0; kind < IFM_N_PASSES; kind++)
    {
        const ProfilePlan *other = profile_mode_plan(campaign->plan, (IfmPassKind)kind);
        if (other != NULL && cli_interrupt_signal() == 0 && campaign->store_error == NULL &&
            g_str_equal(outcome_of(campaign->plan->targets->pdata[at]), "ok"))
            measure_target(campaign, other, other->targets->pdata[at]);
    }
}

static void measure_all(Campaign *campaign)
{
    for (guint i = 0; i < campaign->plan->targets->len; i++)
    {
        Target *target = campaign->plan->targets->pdata[i];
        if (cli_interrupt_signal() == 0 && campaign->store_error == NULL)
            measure_target(campaign, campaign->plan, target);
        measure_others(campaign, i);
        if (cli_interrupt_signal() == 0 && campaign->store_error == NULL)
            find_limit(campaign, target);
    }
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

/* What there is to tell of each device that was tried. */
static GArray *devices_of(const ProfilePlan *plan, const GArray *results)
{
    GArray *devices = g_array_new(FALSE, TRUE, sizeof(IfmProfileDevice));
    guint at = 0;
    for (guint i = 0; i < plan->targets->len && at < results->len; i++)
    {
        const Target *target = plan->targets->pdata[i];
        if (!target->tried || (target->measurement == NULL && target->error == NULL))
            continue;
        IfmProfileDevice device = { g_array_index(results, IfmResult, at++), target->limit, target->no_limit,
                                    target->limit_stored, target->limit_doubt };
        g_array_append_val(devices, device);
    }
    return devices;
}

/* Told: a pass's results as they are told; the story borrows from all of it. */
typedef struct
{
    GArray *results, *devices;
    IfmProfileStory story;
} Told;

static void told_clear(Told *told)
{
    g_clear_pointer(&told->results, g_array_unref);
    g_clear_pointer(&told->devices, g_array_unref);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Told, told_clear)

static void told_init(Told *told, const Arguments *arguments, const ProfilePlan *plan)
{
    told->results = collect(plan);
    told->devices = devices_of(plan, told->results);
    told->story = (IfmProfileStory){
        .parts = plan->parts,
        .source = plan->source,
        .unix_ms = g_get_real_time() / 1000,
        .model = plan->model,
        .analysis = plan->analysis,
        .bindings = plan->base.bindings,
        .n_bindings = plan->base.n_bindings,
        .observed_on = plan->observed_on,
        .why_not_observed = plan->why_not_observed,
        .devices = (const IfmProfileDevice *)(const void *)told->devices->data,
        .n_devices = told->devices->len,
        .n_layers = (gsize)cli_integer(arguments, "nodes"),
    };
}

static int write_story(const Arguments *arguments, const IfmProfileStory *story, gboolean nothing)
{
    const char *json_path = cli_text(arguments, "json"), *csv_path = cli_text(arguments, "csv");
    int status = CLI_EXIT_OK;
    if (json_path != NULL)
    {
        json_auto_t *json = ifm_profile_to_json(story);
        status = cli_write_json(json_path, json);
    }
    if (csv_path != NULL && status == CLI_EXIT_OK)
    {
        g_autofree char *csv = ifm_profile_to_csv(story);
        status = cli_write(csv_path, csv);
    }
    if (nothing || g_strcmp0(json_path, "-") == 0 || g_strcmp0(csv_path, "-") == 0)
        return status;
    IfmScreen screen = ifm_screen_detect(STDOUT_FILENO);
    g_autofree char *text = ifm_profile_to_screen(story, &screen);
    int printed = cli_print(text);
    return status != CLI_EXIT_OK ? status : printed;
}

/* @array: of the plan's own targets */
static int write_results(const Arguments *arguments, const ProfilePlan *plan, const GArray *array)
{
    g_auto(Told) told = { 0 };
    Told others[IFM_N_PASSES] = { 0 };
    IfmProfileMode mode = { 0 };
    told_init(&told, arguments, plan);
    if (plan->mode != NULL)
    {
        profile_mode_tell(plan, &mode);
        mode.passes[mode.asked] = &told.story;
        told.story.mode = &mode;
    }
    for (int kind = 0; kind < IFM_N_PASSES; kind++)
    {
        const ProfilePlan *other = profile_mode_plan(plan, (IfmPassKind)kind);
        if (other == NULL)
            continue;
        told_init(&others[kind], arguments, other);
        mode.passes[kind] = &others[kind].story;
    }
    gboolean nothing = array->len > 0 ? count_failed(array) == array->len : plan->targets->len > 0;
    int status = write_story(arguments, &told.story, nothing);
    for (int kind = 0; kind < IFM_N_PASSES; kind++)
        told_clear(&others[kind]);
    return status;
}

/* A device's refusal is its own affair; one of an operator that nobody knows is the model's. */
static int status_of_failure(const ProfilePlan *plan, const IfmResult *result)
{
    IfmErrorCode code = ifm_error_code_from_name(ifm_result_code(result));
    gboolean unknown = code == IFM_ERROR_UNSUPPORTED && profile_blamed_operator(plan, ifm_result_reason(result)) != NULL;
    return cli_status_of(unknown ? IFM_ERROR_INVALID : code);
}

/* Failures of the passes beside the one asked for, told one by one: the page may not be shown. Returns: how many. */
static guint complain_of_others(const ProfilePlan *plan)
{
    guint n = 0;
    for (int kind = 0; kind < IFM_N_PASSES; kind++)
    {
        const ProfilePlan *other = profile_mode_plan(plan, (IfmPassKind)kind);
        g_autoptr(GArray) results = other != NULL ? collect(other) : NULL;
        for (guint i = 0; results != NULL && i < results->len; i++)
        {
            const IfmResult *result = &g_array_index(results, IfmResult, i);
            if (ifm_result_code(result) == NULL)
                continue;
            g_autofree char *line = ifm_result_line(result);
            cli_complain("%s: %s", other->base.model_name, line);
            n++;
        }
    }
    return n;
}

/* 0: all measured. Else what all that failed have in common: 3 for bad input, 4 for missing; 1 where they differ or some
 * were measured. */
static int status_of(const ProfilePlan *plan, const GArray *array)
{
    int common = CLI_EXIT_OK;
    guint n_failed = 0;
    for (guint i = 0; i < array->len; i++)
    {
        const IfmResult *result = &g_array_index(array, IfmResult, i);
        if (ifm_result_code(result) == NULL)
            continue;
        int status = status_of_failure(plan, result);
        common = n_failed == 0 || common == status ? status : CLI_EXIT_FAILED;
        n_failed++;
    }
    return n_failed == 0 || n_failed == array->len ? common : CLI_EXIT_FAILED;
}

static int finish(Campaign *campaign, const Arguments *arguments)
{
    g_autoptr(GArray) results = collect(campaign->plan);
    int written = write_results(arguments, campaign->plan, results), number = cli_interrupt_signal();
    guint n_left = campaign->plan->targets->len;
    for (guint i = 0; i < campaign->plan->targets->len; i++)
        n_left -= ((const Target *)campaign->plan->targets->pdata[i])->measurement != NULL;
    if (campaign->store_error != NULL)
        return cli_fail(campaign->store_error);
    if (number != 0 && n_left == 0)
    {
        cli_complain("interrupted: what was measured until then is kept; --resume measures what is missing");
        return CLI_EXIT_SIGNAL + number;
    }
    if (number != 0)
    {
        cli_complain("interrupted: %u of %u devices were not measured; --resume measures what is missing", n_left,
                     campaign->plan->targets->len);
        return CLI_EXIT_SIGNAL + number;
    }
    if (written != CLI_EXIT_OK)
        return written;
    complain_of_failures(results);
    int status = status_of(campaign->plan, results);
    return complain_of_others(campaign->plan) > 0 && status == CLI_EXIT_OK ? CLI_EXIT_FAILED : status;
}

static int observe_all(ProfilePlan *plan, IfmRunner *runner)
{
    int status = profile_observe(plan, runner);
    for (int kind = 0; kind < IFM_N_PASSES && status == CLI_EXIT_OK; kind++)
    {
        ProfilePlan *other = profile_mode_plan(plan, (IfmPassKind)kind);
        if (other != NULL)
            status = profile_observe(other, runner);
    }
    return status;
}

static int measure_and_tell(ProfilePlan *plan, const Arguments *arguments, const char *out)
{
    g_autofree char *store_path = g_build_filename(out, "store.db", NULL);
    g_autoptr(GError) error = NULL;
    gsize n_cases = (gsize)plan->targets->len * (1 + profile_mode_n_others(plan));
    g_autoptr(Progress) progress = progress_new(n_cases, cli_given(arguments, "quiet"));
    IfmLimits usual = IFM_LIMITS_INIT;
    IfmRunnerOptions options = { .limits = cli_limits(arguments, &usual),
                                 .interrupted = cli_interrupt_install(),
                                 .progress = progress_update,
                                 .progress_user = progress };
    g_autoptr(IfmRunner) runner = ifm_runner_new(&options);
    int status = observe_all(plan, runner); /* a wrong model leaves no store behind */
    if (status != CLI_EXIT_OK)
        return status;
    g_autoptr(IfmStore) store = ifm_store_open(store_path, IFM_STORE_WRITE, &error);
    if (store == NULL)
        return cli_fail(error);
    if (!cli_given(arguments, "device"))
        cli_note("no --device given: measuring on " DEFAULT_DEVICE " (inferometer devices lists what is here)");
    Campaign campaign = { .plan = plan,
                          .runner = runner,
                          .store = store,
                          .progress = progress,
                          .resume = cli_given(arguments, "resume"),
                          .limits = (plan->parts & IFM_PROFILE_LAYERS) != 0 && !cli_given(arguments, "no-limit"),
                          .new_limit = cli_given(arguments, "new-limit") };
    measure_all(&campaign);
    status = finish(&campaign, arguments);
    g_clear_error(&campaign.store_error);
    return status;
}

static int run_profile(const Arguments *arguments)
{
    const char *out = cli_text(arguments, "output");
    gboolean has_model = cli_positional(arguments)[0] != NULL;
    g_auto(ProfilePlan) plan = { 0 };
    if (cli_given(arguments, "estimate") && has_model)
        return cli_usage(&verb_profile, "--estimate needs no model: what it counts follows from its numbers alone");
    if (!cli_given(arguments, "estimate") && !has_model)
        return cli_usage(&verb_profile, "needs MODEL: a file, or a name of the zoo");
    if (!cli_given(arguments, "estimate") && profile_estimate_number(arguments) != NULL)
        return cli_usage(&verb_profile, "--%s is a number of an estimate: it goes with --estimate",
                         profile_estimate_number(arguments));
    const char *idle = cli_given(arguments, "estimate") ? profile_estimate_idle(arguments) : NULL;
    if (idle != NULL)
        return cli_usage(&verb_profile,
                         "--%s: nothing is measured with --estimate, and nothing written but --json and --csv", idle);
    int status = cli_check_outputs(arguments, (const char *const[]){ "json", "csv", NULL });
    if (status == CLI_EXIT_OK && cli_given(arguments, "estimate"))
        return profile_estimate(arguments);
    if (status != CLI_EXIT_OK || (status = profile_plan_init(&plan, arguments, out)) != CLI_EXIT_OK ||
        (status = profile_mode_init(&plan, arguments, out)) != CLI_EXIT_OK)
        return status;
    if (plan.targets->len > 0)
        return measure_and_tell(&plan, arguments, out);
    IfmLimits usual = IFM_LIMITS_INIT;
    IfmRunnerOptions options = { .limits = cli_limits(arguments, &usual), .interrupted = cli_interrupt_install() };
    g_autoptr(IfmRunner) runner = ifm_runner_new(&options);
    g_autoptr(GArray) none = g_array_new(FALSE, FALSE, sizeof(IfmResult));
    status = observe_all(&plan, runner);
    return status != CLI_EXIT_OK ? status : write_results(arguments, &plan, none);
}

/* --- the verb ------------------------------------------------------------------------------------------------------- */

static const char *const modes[] = { "forward", "backward", "train", NULL };
static const char *const losses[] = { "mse", "cross-entropy", NULL };
static const char *const optimisers[] = { "sgd", "momentum", "adam", NULL };
static const char *const dtypes[] = { "f32", "f16", "bf16", NULL };
static const char *const estimates[] = { "transformer", "attention", "linear", "mpnn", "ffn", "encoding", NULL };
static const char *const message_passings[] = { "none", "gin", "gcn", "sage", NULL };
static const char *const encodings[] = { "none", "lap", "rwse", NULL };

/* A graph may be without edges; of all else there is one at least. */
#define ROW_SIZE(name, help, fallback, least)                                                                              \
    {                                                                                                                      \
        name, 0, OPTION_COUNT, FALSE, "N", "of an estimate: " help, fallback, NULL, least                                  \
    }

static const Option profile_options[] = {
    { "device", 'd', OPTION_TEXT, TRUE, "[ALIAS=]DEVICE", "a device to measure on, ENGINE:UNIT[:INDEX][@CORES][#STREAMS]",
      DEFAULT_DEVICE },
    { "profile", 'p', OPTION_TEXT, FALSE, "PARTS",
      "what to tell, of runtime, memory, flops and layers, joined by commas; all where it is not given" },
    { "mode", 'm', OPTION_TEXT, FALSE, "MODE",
      "forward; backward: also forward and backward in one; train: also the whole training step", "forward", modes },
    { "loss", 0, OPTION_TEXT, FALSE, "LOSS",
      "of backward and train: mse or cross-entropy; without it cross-entropy of a classifier of images, else mse", NULL,
      losses },
    { "optimiser", 0, OPTION_TEXT, FALSE, "NAME", "of train: sgd, momentum or adam", "sgd", optimisers },
    { "learning-rate", 0, OPTION_TEXT, FALSE, "RATE", "of train: how far a step goes", "0.001" },
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
    { "no-limit", 0, OPTION_FLAG, FALSE, NULL, "do not hold the layers against what the device can at most" },
    { "new-limit", 0, OPTION_FLAG, FALSE, NULL, "measure again what the device can at most" },
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
    { "estimate", 0, OPTION_TEXT, FALSE, "WHAT",
      "no model: what a transformer (of a graph), attention, linear, mpnn, ffn or encoding costs", NULL, estimates },
    ROW_SIZE("num-nodes", "nodes of the graph, or rows", "1000", 1),
    ROW_SIZE("num-edges", "edges of the graph", "5000", 0),
    ROW_SIZE("feature-dim", "numbers a node comes with; as many as hidden where it is not given", NULL, 1),
    ROW_SIZE("hidden-dim", "width of a layer", "64", 1),
    ROW_SIZE("num-layers", "layers of a transformer", "4", 1),
    ROW_SIZE("num-heads", "heads of attention", "4", 1),
    ROW_SIZE("ffn-dim", "inner width of the feed-forward part; twice hidden where it is not given", NULL, 1),
    ROW_SIZE("pe-dim", "numbers of a node's positional encoding", "16", 1),
    ROW_SIZE("num-outputs", "outputs of a transformer's head", "1", 1),
    { "sparse-ratio", 0, OPTION_RATIO, FALSE, "PERCENT",
      "of an estimate: the share of a node's scores with all others that attention computes", "100%" },
    { "mpnn", 0, OPTION_TEXT, FALSE, "KIND",
      "of an estimate: message passing: none, gin, gcn or sage; without it none, and gin of mpnn itself", NULL,
      message_passings },
    { "pe", 0, OPTION_TEXT, FALSE, "KIND",
      "of an estimate: positional encoding: none, lap or rwse; without it none, and lap of encoding itself", NULL,
      encodings },
    { "output", 'o', OPTION_FOLDER, FALSE, "DIR", "folder of the store (store.db) and of the zoo's models", "out/profile" },
    { NULL },
};

static const char *const profile_examples[] = {
    "inferometer profile model.onnx -d openvino:CPU@0 -d onnxruntime:CPU@1",
    "compares two runtimes, each on a core of its own",
    "inferometer profile zoo:matmul,m=512 -d CPU=openvino:CPU --runs 50 --json result.json",
    "measures a model of the zoo 50 times and keeps all samples",
    "inferometer profile resnet18,batch=8 --mode train --optimiser adam -d openvino:CPU",
    "measures forward, backward and a whole training step, and tells the step's layers",
    NULL,
};

const Verb verb_profile = {
    .name = "profile",
    .summary = "measure a model on one device or several",
    .arguments = "MODEL | --estimate WHAT",
    .least = 0,
    .most = 1,
    .positional = POSITIONAL_FILE,
    .options = profile_options,
    .details =
        "MODEL is an ONNX file, or NAME[,KEY=VALUE...] for a model of the zoo (see inferometer zoo list); zoo:NAME is the "
        "zoo's even where a file has that name. A name that is neither ends with status 3; one like a file's (with . or / "
        "in it) whose file is not there with 4.\n"
        "Each device is measured in a process of its own, one after the other, and its measurement is stored before the "
        "next begins. A device that refuses, fails, crashes, hangs or answers wrongly costs its own row and no other: "
        "the row says failed, and the reason stands below the table.\n"
        "With --mode backward or train the model is differentiated: what comes out are models of ordinary operators, kept "
        "under DIR/models and measured like any other: forward, forward and backward in one (the training pass), and with "
        "train the step, which updates the parameters, too. Backward is the difference of the first two, with the "
        "difference's interval. Layers, memory and limit are those of the pass that was asked for. Models of the zoo that "
        "have a training form are trained in it.\n"
        "The strip shows, on one scale for all devices, the fastest run, the 95 % interval of the median with the "
        "median in it, and the slowest run. A percentile that too few runs can bound is not shown (-).\n"
        "The exit status is 0 where all devices were measured, 1 where some failed, and 3 or 4 where all failed "
        "because the input is wrong or something is missing.",
    .examples = profile_examples,
    .run = run_profile,
};
