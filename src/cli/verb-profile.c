#include <string.h>

#include "profile-campaign.h"
#include "protocol.h"

#define DEFAULT_DEVICE "onnxruntime:CPU"

/* --- measuring and telling ------------------------------------------------------------------------------------------- */

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
        g_autoptr(GArray) results = other != NULL ? profile_results(other) : NULL;
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
static int status_of(const GPtrArray *plans)
{
    int common = CLI_EXIT_OK;
    guint n_failed = 0, n = 0;
    for (guint p = 0; p < plans->len; p++)
    {
        g_autoptr(GArray) array = profile_results(plans->pdata[p]);
        n += array->len;
        for (guint i = 0; i < array->len; i++)
        {
            const IfmResult *result = &g_array_index(array, IfmResult, i);
            if (ifm_result_code(result) == NULL)
                continue;
            int status = status_of_failure(plans->pdata[p], result);
            common = n_failed == 0 || common == status ? status : CLI_EXIT_FAILED;
            n_failed++;
        }
    }
    return n_failed == 0 || n_failed == n ? common : CLI_EXIT_FAILED;
}

/* Counts: what is to be measured. */
typedef struct
{
    guint targets, left;      /* of the passes asked for; without a measurement */
    guint cases;              /* of all passes, those in turns, and encodings */
    guint encodings, encoded; /* those with a measurement */
} Counts;

static Counts count(const GPtrArray *plans)
{
    Counts counts = { 0 };
    for (guint p = 0; p < plans->len; p++)
    {
        const ProfilePlan *plan = plans->pdata[p];
        for (guint i = 0; i < plan->targets->len; i++)
            counts.left += ((const Target *)plan->targets->pdata[i])->measurement == NULL;
        counts.targets += plan->targets->len;
        counts.encodings += profile_measures_encoding(plan);
        counts.encoded += plan->graph != NULL && plan->graph->encoding_cost != NULL;
        counts.cases += plan->targets->len * (1 + profile_mode_n_others(plan) + profile_wants_turns(plan)) +
                        profile_measures_encoding(plan);
    }
    return counts;
}

static GArray *collect_all(const GPtrArray *plans)
{
    GArray *results = g_array_new(FALSE, FALSE, sizeof(IfmResult));
    for (guint i = 0; i < plans->len; i++)
    {
        g_autoptr(GArray) some = profile_results(plans->pdata[i]);
        g_array_append_vals(results, some->data, some->len);
    }
    return results;
}

/* @plan: NULL where there are points alone. */
static int finish(Campaign *campaign, const Arguments *arguments, const ProfilePlan *plan, const Sweep *sweep)
{
    g_autoptr(GArray) results = collect_all(campaign->plans);
    Counts counts = count(campaign->plans);
    const char *what = sweep->rows->len > 0 ? "points" : "devices";
    gboolean nothing = results->len > 0 ? profile_count_failed(results) == results->len : counts.targets > 0;
    int written = profile_write(arguments, plan, sweep, nothing), number = cli_interrupt_signal();
    if (campaign->store_error != NULL)
        return cli_fail(campaign->store_error);
    if (number != 0 && counts.left == 0)
    {
        cli_complain(counts.targets + counts.encoded > 0
                         ? "interrupted: what was measured until then is kept; --resume measures what is missing"
                         : "interrupted: nothing was measured");
        return CLI_EXIT_SIGNAL + number;
    }
    if (number != 0)
    {
        cli_complain("interrupted: %u of %u %s were not measured; --resume measures what is missing", counts.left,
                     counts.targets, what);
        return CLI_EXIT_SIGNAL + number;
    }
    if (written != CLI_EXIT_OK)
        return written;
    profile_complain(results, what);
    int status = status_of(campaign->plans);
    for (guint i = 0; i < campaign->plans->len; i++)
        status = complain_of_others(campaign->plans->pdata[i]) > 0 && status == CLI_EXIT_OK ? CLI_EXIT_FAILED : status;
    for (guint i = 0; i < campaign->plans->len && status == CLI_EXIT_OK; i++)
        status = profile_encoding_status(campaign->plans->pdata[i]);
    return status == CLI_EXIT_OK ? profile_sweep_status(sweep) : status;
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

/* A row of models may take long: what is to come is told before it begins. */
static void announce(guint n_cases, const Arguments *arguments)
{
    const IfmProtocol usual = IFM_PROTOCOL_INIT, protocol = cli_protocol(arguments, &usual);
    if (protocol.runs > 0)
        cli_note("%u cases of %" G_GSIZE_FORMAT " runs each are to be measured", n_cases, protocol.runs);
    else if (protocol.time_budget_ns > 0)
    {
        g_autofree char *each = ifm_format_duration((double)protocol.time_budget_ns);
        g_autofree char *all = ifm_format_duration((double)n_cases * (double)protocol.time_budget_ns);
        cli_note("%u cases are to be measured, for %s at most each (--time-budget), %s in all; compiling, checking and "
                 "profiling them comes on top",
                 n_cases, each, all);
    }
    else
        cli_note("%u cases are to be measured, without a time budget", n_cases);
}

static int measure_and_tell(ProfilePlan *plan, const Sweep *sweep, const GPtrArray *plans, const Arguments *arguments)
{
    g_autofree char *store_path = g_build_filename(cli_text(arguments, "output"), "store.db", NULL);
    g_autoptr(GError) error = NULL;
    Counts counts = count(plans);
    g_autoptr(Progress) progress = progress_new(counts.cases, cli_given(arguments, "quiet"));
    IfmLimits usual = IFM_LIMITS_INIT;
    IfmRunnerOptions options = { .limits = cli_limits(arguments, &usual),
                                 .interrupted = cli_interrupt_install(),
                                 .progress = progress_update,
                                 .progress_user = progress };
    g_autoptr(IfmRunner) runner = ifm_runner_new(&options);
    int status = CLI_EXIT_OK;
    for (guint i = 0; i < plans->len && status == CLI_EXIT_OK; i++)
        status = observe_all(plans->pdata[i], runner); /* a wrong model leaves no store behind */
    if (status != CLI_EXIT_OK)
        return status;
    g_autoptr(IfmStore) store =
        counts.targets + counts.encodings > 0 ? ifm_store_open(store_path, IFM_STORE_WRITE, &error) : NULL;
    if (error != NULL)
        return cli_fail(error);
    if (!cli_given(arguments, "device") && counts.targets > 0)
        cli_note("no --device given: measuring on " DEFAULT_DEVICE " (inferometer devices lists what is here)");
    if (sweep->rows->len > 0 && counts.cases > 0)
        announce(counts.cases, arguments);
    Campaign campaign = { .plans = plans,
                          .options = &options,
                          .runner = g_steal_pointer(&runner),
                          .store = store,
                          .progress = progress,
                          .resume = cli_given(arguments, "resume"),
                          .no_limit = cli_given(arguments, "no-limit"),
                          .new_limit = cli_given(arguments, "new-limit") };
    profile_measure(&campaign);
    status = finish(&campaign, arguments, plan, sweep);
    ifm_runner_free(campaign.runner);
    g_clear_error(&campaign.store_error);
    return status;
}

static int profile_model(const Arguments *arguments)
{
    const char *out = cli_text(arguments, "output");
    g_auto(ProfilePlan) plan = { 0 };
    g_auto(Sweep) sweep = { 0 };
    g_autoptr(GPtrArray) plans = g_ptr_array_new();
    int status = profile_sweep_init(&sweep, arguments, out);
    const Arguments *as_it_is = sweep.rows->len == 0 ? arguments : sweep.model;
    if (status == CLI_EXIT_OK && as_it_is != NULL)
    {
        if ((status = profile_plan_init(&plan, as_it_is, out)) == CLI_EXIT_OK)
            status = profile_mode_init(&plan, as_it_is, out, NULL);
        g_ptr_array_add(plans, &plan);
    }
    profile_sweep_add_plans(&sweep, plans);
    return status != CLI_EXIT_OK ? status : measure_and_tell(as_it_is != NULL ? &plan : NULL, &sweep, plans, arguments);
}

static int run_profile(const Arguments *arguments)
{
    gboolean has_model = cli_positional(arguments)[0] != NULL;
    if (cli_given(arguments, "estimate") && has_model)
        return cli_usage(&verb_profile, "--estimate needs no model: what it counts follows from its numbers alone");
    if (!cli_given(arguments, "estimate") && !has_model)
        return cli_usage(&verb_profile, "needs MODEL: a file, or a name of the zoo");
    if (has_model && g_strcmp0(cli_text(arguments, "profile"), "") == 0)
    {
        g_autofree char *all = g_strjoinv(", ", (char **)ifm_profile_part_words());
        return cli_usage(&verb_profile, "--profile: which parts? (there are %s)", all);
    }
    guint use = cli_given(arguments, "estimate")                 ? PROFILE_OF_ESTIMATE
                : profile_is_graph(cli_positional(arguments)[0]) ? PROFILE_OF_GRAPH
                                                                 : 0;
    g_autofree char *idle_size = profile_size_idle(arguments, use);
    if (idle_size != NULL)
        return cli_usage(&verb_profile, "%s", idle_size);
    const char *idle = cli_given(arguments, "estimate") ? profile_estimate_idle(arguments) : NULL;
    if (idle != NULL)
        return cli_usage(&verb_profile,
                         "--%s: nothing is measured with --estimate, and nothing written but --json and --csv", idle);
    int status = cli_check_outputs(arguments, (const char *const[]){ "json", "csv", NULL });
    if (status != CLI_EXIT_OK)
        return status;
    return cli_given(arguments, "estimate") ? profile_estimate(arguments) : profile_model(arguments);
}

/* --- the verb ------------------------------------------------------------------------------------------------------- */

static const char *const modes[] = { "forward", "backward", "train", NULL };
static const char *const losses[] = { "mse", "cross-entropy", NULL };
static const char *const optimisers[] = { "sgd", "momentum", "adam", NULL };
static const char *const dtypes[] = { "f32", "f16", "bf16", NULL };
static const char *const message_passings[] = { "none", "gin", "gcn", "sage", NULL };
static const char *const attentions[] = { "dense", "sparse", NULL };
static const char *const norms[] = { "layer", "batch", NULL };
static const char *const heads[] = { "graph", "node", NULL };
static const char *const scatters[] = { "auto", "nd", "elements", "mixed", NULL };

/* Of a graph transformer that is built, or of an estimate. A graph may be without edges; of all else there is one at least.
 */
#define ROW_SIZE(name, help, fallback, least)                                                                              \
    {                                                                                                                      \
        name, 0, OPTION_COUNT, FALSE, "N", "graph transformer: " help, fallback, NULL, least                               \
    }

static const Option profile_options[] = {
    { "device", 'd', OPTION_TEXT, TRUE, "[ALIAS=]DEVICE", "a device to measure on, ENGINE:UNIT[:INDEX][@CORES][#STREAMS]",
      DEFAULT_DEVICE },
    { "profile", 'p', OPTION_TEXT, FALSE, "PARTS",
      "what to tell, of runtime, memory, flops, layers and, of graph transformers, pe, joined by commas; all where it is "
      "not given; scaling: how it grows" },
    { "mode", 'm', OPTION_TEXT, FALSE, "MODE",
      "forward; backward: also forward and backward in one; train: also the whole training step", "forward", modes },
    { "loss", 0, OPTION_TEXT, FALSE, "LOSS",
      "of backward and train: mse or cross-entropy; without it cross-entropy of a classifier of images, else mse", NULL,
      losses },
    { "optimiser", 0, OPTION_TEXT, FALSE, "NAME", "of train: sgd, momentum or adam", "sgd", optimisers },
    { "learning-rate", 0, OPTION_TEXT, FALSE, "RATE", "of train: how far a step goes", "0.001" },
    { "dim", 0, OPTION_TEXT, TRUE, "NAME=SIZE[,SIZE...]",
      "size of a free dimension, such as N=8; several of one, such as N=100,500,1000: how the model grows with it" },
    { "scaling", 0, OPTION_TEXT, FALSE, "AXES",
      "of a graph transformer: how it grows with nodes, layers, pe, hidden and heads, joined by commas; all where "
      "--profile scaling alone says that" },
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
    { "csv", 0, OPTION_FILE, FALSE, "FILE",
      "write a row a device as CSV, or, where none runs, a row a node; - is standard output" },
    { "estimate", 0, OPTION_TEXT, FALSE, "WHAT",
      "no model: what a transformer (of a graph), attention, linear, mpnn, ffn or encoding costs", NULL,
      profile_estimates },
    ROW_SIZE("num-nodes", "nodes of its graph; of an estimate also: rows", G_STRINGIFY(IFM_TRANSFORMER_USUAL_NODES), 1),
    { "num-edges", 0, OPTION_COUNT, FALSE, "N",
      "of an estimate: edges of the graph; where it is not given as many as of average degree " G_STRINGIFY(
          IFM_TRANSFORMER_USUAL_DEGREE) },
    { "avg-degree", 0, OPTION_TEXT, FALSE, "X", "graph transformer: neighbours of a node, on average, in a seeded graph",
      G_STRINGIFY(IFM_TRANSFORMER_USUAL_DEGREE) },
    { "dataset", 0, OPTION_FILE, FALSE, "PATH",
      "graph transformer: its graph: peptides (64 that are shipped), a folder of the TUDataset layout, an edge list or a "
      "Matrix Market file" },
    { "num-graphs", 0, OPTION_COUNT, FALSE, "N", "graph transformer: the first so many graphs of --dataset; else all",
      .least = 1 },
    ROW_SIZE("feature-dim", "numbers a node comes with", G_STRINGIFY(IFM_TRANSFORMER_USUAL_FEATURES), 1),
    ROW_SIZE("hidden-dim", "width of a layer", G_STRINGIFY(IFM_TRANSFORMER_USUAL_HIDDEN), 1),
    ROW_SIZE("num-layers", "layers", G_STRINGIFY(IFM_TRANSFORMER_USUAL_LAYERS), 1),
    ROW_SIZE("num-heads", "heads of attention", G_STRINGIFY(IFM_TRANSFORMER_USUAL_HEADS), 1),
    ROW_SIZE("ffn-dim", "inner width of the feed-forward part; twice hidden where it is not given", NULL, 1),
    { "mpnn", 0, OPTION_TEXT, FALSE, "KIND",
      "graph transformer: message passing: none, gin, gcn or sage; without it none, gin of gps, and of an estimate gin of "
      "mpnn itself",
      NULL, message_passings },
    { "pe", 0, OPTION_TEXT, FALSE, "KIND[:N]",
      "graph transformer: positional encoding: none, lap or rwse, and its numbers a node, such as lap:16; without it none, "
      "and of an estimate lap of encoding itself" },
    ROW_SIZE("pe-dim", "numbers of a node's positional encoding, where --pe does not say",
             G_STRINGIFY(IFM_TRANSFORMER_USUAL_PE), 1),
    { "attention", 0, OPTION_TEXT, FALSE, "KIND",
      "graph transformer: dense, every node of a graph with every other, or sparse, along the edges", "dense", attentions },
    { "sparse-ratio", 0, OPTION_RATIO, FALSE, "PERCENT",
      "of an estimate: the share of a node's scores with all others that attention computes", "100%" },
    { "norm", 0, OPTION_TEXT, FALSE, "KIND", "graph transformer: normalisation: layer or batch", "layer", norms },
    { "head", 0, OPTION_TEXT, FALSE, "KIND", "graph transformer: a prediction for each graph or for each node", "graph",
      heads },
    ROW_SIZE("num-outputs", "outputs of its head", G_STRINGIFY(IFM_TRANSFORMER_USUAL_OUTPUTS), 1),
    { "dropout", 0, OPTION_RATIO, FALSE, "PERCENT", "graph transformer: dropped in training",
      G_STRINGIFY(IFM_TRANSFORMER_USUAL_DROPOUT) "%" },
    { "scatter", 0, OPTION_TEXT, FALSE, "KIND",
      "graph transformer: how sums over edges are written: nd, elements, mixed or auto: mixed with sparse attention, "
      "elements with dense",
      "auto", scatters },
    { "output", 'o', OPTION_FOLDER, FALSE, "DIR", "folder of the store (store.db) and of the zoo's models", "out/profile" },
    { NULL },
};

static const char *const profile_examples[] = {
    "inferometer profile model.onnx -d openvino:CPU@0 -d onnxruntime:CPU@1",
    "compares two runtimes, each on a core of its own",
    "inferometer profile zoo:matmul,m=512 -d CPU=openvino:CPU --runs 50 --json result.json",
    "measures a model of the zoo 50 times and keeps all samples",
    "inferometer profile model.onnx --dim N=100,500,1000,5000",
    "tells how time, FLOP and memory grow with the dimension N: exponents with intervals, and a plot",
    "inferometer profile resnet18,batch=8 --mode train --optimiser adam -d openvino:CPU",
    "measures forward, backward and a whole training step, and tells the step's layers",
    "inferometer profile graph_transformer --dataset peptides --num-layers 6 --pe lap:16",
    "a graph transformer on 64 molecules, and what its positional encodings cost",
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
        "train the step, which updates the parameters, too. Backward is the difference of the first two, which are "
        "measured "
        "once more in turns for that, with the difference's interval. Layers, memory and limit are those of the pass that "
        "was "
        "asked for. Models of the zoo that have a training form are trained in it.\n"
        "Several sizes of one dimension (--dim N=100,500,1000), a number of a zoo's model (--dim batch=1,2,4) or --profile "
        "scaling of a graph transformer make a row of models, each profiled by itself: a table, the exponents of time, "
        "FLOP "
        "and memory, and where the time departs from what the FLOP predict. A point that fails costs its own row.\n"
        "The strip shows, on one scale for all devices, the fastest run, the 95 % interval of the median with the "
        "median in it, and the slowest run. A percentile that too few runs can bound is not shown (-).\n"
        "The exit status is 0 where all devices were measured, 1 where some failed, and 3 or 4 where all failed "
        "because the input is wrong or something is missing.",
    .examples = profile_examples,
    .run = run_profile,
};
