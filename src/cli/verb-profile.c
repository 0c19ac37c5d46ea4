#include <math.h>
#include <unistd.h>

#include <profile/profile.h>

#include "verb-predict.h"

/* The files that were asked for, and the page. Returns: an exit status. */
static int write_profile(const Arguments *arguments, IfmProfile *profile)
{
    const IfmProfileReport *report = ifm_profile_report(profile);
    gsize n_rows;
    const IfmScalingRow *rows = ifm_profile_rows(profile, &n_rows);
    Answer answer = { .documents = cli_documents_new(), .whole = cli_given(arguments, "nodes") };
    if (cli_wants(arguments, "json") && report != NULL)
        answer.json = ifm_profile_to_json(report);
    if (cli_wants(arguments, "json") && n_rows > 0)
        answer.json = ifm_scaling_add_json(answer.json, rows, n_rows);
    if (cli_wants(arguments, "csv"))
        answer.csv = n_rows > 0 ? ifm_scaling_to_csv(rows, n_rows) : ifm_profile_to_csv(report);
    if (report != NULL && !ifm_profile_is_empty(profile))
        g_ptr_array_add(answer.documents, ifm_profile_document(report));
    if (n_rows > 0 && !ifm_profile_is_empty(profile))
        g_ptr_array_add(answer.documents, ifm_scaling_document(rows, n_rows));
    return cli_answer(arguments, answer);
}

/* --- running ---------------------------------------------------------------------------------------------------------- */

static int profile_model(const Arguments *arguments)
{
    g_autoptr(Progress) progress = progress_new(arguments);
    const IfmProfileWatch reported = progress_watch(progress);
    IfmProfileOptions options = { 0 };
    g_autoptr(GError) error = NULL;
    int code;
    ifm_profile_options_init(&options);
    cli_fill(arguments, ifm_profile_options, &options);
    cli_fill(arguments, ifm_graph_options, &options.graph);
    options.model = cli_positional(arguments)[0];
    options.watch = &reported;
    g_autoptr(IfmProfile) profile = ifm_profile_new(&options, &error);
    if (profile == NULL || !ifm_profile_measure(profile, cli_interrupt_install(), &error))
        return cli_fail(error);
    int written = write_profile(arguments, profile);
    g_auto(GStrv) lines = ifm_profile_failures(profile, &code);
    if (written == CLI_EXIT_OK || code == IFM_ERROR_CANCELLED)
        cli_complain_alike((const char *const *)lines);
    if (code == IFM_ERROR_CANCELLED)
        return CLI_EXIT_SIGNAL + cli_interrupt_signal();
    if (written != CLI_EXIT_OK)
        return written;
    return code != 0 ? cli_status_of((IfmErrorCode)code) : CLI_EXIT_OK;
}

static int estimate(const Arguments *arguments)
{
    g_auto(IfmEstimateAnswer) answer = { 0 };
    g_autoptr(GError) error = NULL;
    IfmGraphOptions said = { 0 };
    cli_fill(arguments, ifm_graph_options, &said);
    if (!ifm_profile_estimate((IfmProfileEstimate)cli_integer(arguments, "estimate"), &said,
                              cli_integer(arguments, "batch"), &answer, &error))
        return cli_fail(error);
    return cli_answer(arguments, (Answer){ .document = ifm_estimate_answer_document(&answer),
                                           .json = ifm_estimate_answer_to_json(&answer),
                                           .csv = ifm_estimate_answer_to_csv(&answer) });
}

/* By kernels as the runtime here makes them of the model, on the device that the latency model was learnt of. */
static int predict(const Arguments *arguments)
{
    g_autoptr(GError) error = NULL;
    const char *const *devices = cli_texts(arguments, "device");
    const char *device = devices[0];
    IfmLatencyModelInfo info;
    if (devices[0] != NULL && devices[1] != NULL)
        return cli_usage("--device: with --predict one, whose runtime makes kernels of the model");
    g_autoptr(IfmLatencyModel) model = cli_latency_model(cli_text(arguments, "predict"), &device, &error);
    if (model == NULL)
        return cli_fail(error);
    ifm_latency_model_info(model, &info);
    const PredictAsk ask = { .model = model,
                             .device = device,
                             .threads = (int)MAX(cli_integer(arguments, "threads"), 1),
                             .seed = (guint32)cli_integer(arguments, "seed"),
                             .load_words = "on an idle machine",
                             .info = &info };
    return cli_predict(arguments, &ask);
}

static int run_profile(const Arguments *arguments)
{
    gboolean has_model = cli_positional(arguments)[0] != NULL;
    if (cli_given(arguments, "estimate") && has_model)
        return cli_usage("--estimate needs no model: what it counts follows from its numbers alone");
    if (cli_given(arguments, "estimate"))
        return estimate(arguments);
    if (!has_model)
        return cli_usage("needs MODEL: a file, or a name of the zoo");
    return (cli_given(arguments, "predict") ? predict : profile_model)(arguments);
}

/* --- the verb ------------------------------------------------------------------------------------------------------- */

static const IfmOption profile_options[] = {
    { "json", IFM_OPTION_OUTPUT, "FILE", "write everything as JSON, samples included; - is standard output",
      .after = "nodes" },
    { "csv", IFM_OPTION_OUTPUT, "FILE",
      "write a row a device as CSV, or, where none runs, a row a node; - is standard output" },
    { "estimate", IFM_OPTION_CHOICE, "WHAT",
      "no model: what a transformer (of a graph), attention, linear, mpnn, ffn or encoding costs", NULL,
      ifm_profile_estimate_words,
      .excludes = "!num-nodes,num-edges,feature-dim,hidden-dim,num-layers,num-heads,ffn-dim,mpnn,pe,pe-dim,"
                  "sparse-ratio,num-outputs,batch,json,csv,document,quiet,log,help,progress" },
    { "predict", IFM_OPTION_FILE, "FILE",
      "measure nothing: predict the latency by kernels, on the device that `train` learnt FILE of, which need not be "
      "here",
      .excludes = "!device,threads,dim,input,batch,seed,allow-outside-data,json,csv,document,quiet,log,help,progress" },
    { NULL },
};

const Verb verb_profile = {
    .name = "profile",
    .summary = "measure a model on one device or several",
    .arguments = "MODEL | --estimate WHAT",
    .max = 1,
    .positional = POSITIONAL_FILE,
    .tables = { ifm_profile_options, ifm_graph_options, cli_page_options, profile_options, cli_progress_options },
    .details =
        "MODEL is an ONNX file, or NAME[,KEY=VALUE...] for a model of the zoo (see inferometer zoo list). zoo:NAME is the "
        "zoo's model even if a file has that name. A name that is neither ends with status 3, a missing file (a name with "
        ". or / in it) with status 4.\n"
        "Each device is measured in a process of its own, one after the other, and its measurement is stored before the "
        "next begins. If a device does not support the model, fails, crashes, hangs or gives other outputs, its status "
        "is failed, with the reason below the table; the other devices are measured all the same.\n"
        "Several devices then run once more in rounds of fresh processes, in a drawn order. One is called the fastest only "
        "if it leads all six rounds; else they are not told apart.\n"
        "With --mode backward or train the model is differentiated into models of ordinary operators. They are kept under "
        "DIR/models and measured like any other: the forward pass, forward and backward in one (the training pass), and "
        "with train also the step, which updates the parameters. All of them then take turns in six rounds of fresh "
        "processes: backward is the training pass less forward, the update the step less the training pass, and they add "
        "up. Kernels, memory and peaks are those of the pass that was asked for. Models of the zoo that have a training "
        "form are trained in it.\n"
        "Several sizes of one dimension (--dim N=100,500,1000), of a parameter of a zoo's model (--dim batch=1,2,4), or "
        "--profile scaling of a graph transformer make a series of models. The page has a table, the exponents of time, "
        "FLOP and memory, and the points that take longer than the FLOP explain. A point that fails costs its "
        "own row.\n"
        "With --predict FILE nothing is measured. The runtime here makes kernels of the model (or MODEL is a file of "
        "kernels export, made elsewhere), and their latencies are predicted for the machine that `train` learnt FILE of, "
        "with intervals. The page reports it, and how much of the time is of operators and sizes that were learnt.\n"
        "The strip shows, on one scale for all devices, the fastest run, the 95 % interval of the median with the median "
        "in it, and the slowest run. A percentile that too few runs can bound is not shown (-).\n"
        "The exit status is 0 if all devices were measured, 1 if some failed, and 3 or 4 if all failed because the input "
        "is wrong or something is missing.",
    .examples = { { "inferometer profile model.onnx -d openvino:CPU@0 -d onnxruntime:CPU@1",
                    "compares two runtimes, each on a core of its own" },
                  { "inferometer profile zoo:matmul,m=512 -d CPU=openvino:CPU --runs 50 --json result.json",
                    "measures a model of the zoo 50 times and keeps all samples" },
                  { "inferometer profile model.onnx --dim N=100,500,1000,5000",
                    "shows how time, FLOP and memory grow with the dimension N: exponents with intervals, and a plot" },
                  { "inferometer profile resnet18,batch=8 --mode train --optimiser adam -d openvino:CPU",
                    "measures forward, backward and a whole training step, and shows the step's kernels" },
                  { "inferometer profile graph_transformer --dataset peptides --num-layers 6 --pe lap:16",
                    "a graph transformer on 64 molecules, and what its positional encodings cost" },
                  { "inferometer profile resnet50 --predict latency.json",
                    "predicts the latency on the machine that latency.json was learnt on, kernel by kernel" } },
    .run = run_profile,
};
