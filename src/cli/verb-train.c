#include <unistd.h>

#include <inferometer/predict.h>

#include "cli.h"

/* The verb train learns the latency of kernels from files of samples and writes the model. */

static IfmKernelSamples *read_all(const char *const *paths, GError **error)
{
    g_autoptr(IfmKernelSamples) samples = ifm_kernel_samples_read(*paths, error);
    for (paths++; samples != NULL && *paths != NULL; paths++)
    {
        g_autoptr(IfmKernelSamples) more = ifm_kernel_samples_read(*paths, error);
        if (more == NULL)
            return NULL;
        ifm_kernel_samples_append(samples, more);
    }
    return g_steal_pointer(&samples);
}

static int learn(const Arguments *arguments, const IfmKernelSamples *samples, IfmLearnOptions *options)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmLatencyModel) model = ifm_learn_train(samples, options, &error);
    g_autoptr(GPtrArray) errors = NULL;
    if (model != NULL && !cli_given(arguments, "no-evaluation"))
    {
        g_autoptr(Progress) progress = progress_new(arguments);
        options->progress = progress_of;
        options->user = progress;
        progress_of(&(IfmProgress){ .n_cases = 1, .title = "evaluation" }, progress);
        errors = ifm_learn_evaluate(samples, options, &error);
        progress_of(&(IfmProgress){ .outcome = errors != NULL ? "ok" : "failed" }, progress);
    }
    if (errors != NULL)
        ifm_latency_model_set_errors(model, errors);
    if (error == NULL)
        ifm_latency_model_write(model, cli_text(arguments, "output"), &error);
    const int number = cli_interrupt_signal();
    if (error != NULL && number != 0)
    {
        cli_complain("interrupted: no model was written");
        return CLI_EXIT_SIGNAL + number;
    }
    if (error != NULL)
        return cli_fail(error);
    return cli_answer(arguments, (Answer){ .document = ifm_train_document(model, cli_given(arguments, "show-features")) });
}

static int run_train(const Arguments *arguments)
{
    g_autoptr(GError) error = NULL;
    IfmLearnOptions options = { .interrupted = cli_interrupt_install() };
    const char *const *paths = cli_positional(arguments);
    if (cli_text(arguments, "output") == NULL)
        return cli_usage("-o is missing: the file of the model");
    cli_fill(arguments, ifm_learn_options, &options);
    g_autofree char *data = g_strjoinv(", ", (char **)paths);
    options.data = data;
    options.machine = cli_text(arguments, "machine");
    options.runtime = cli_text(arguments, "runtime");
    options.device = cli_text(arguments, "device");
    options.level = cli_text(arguments, "level");
    g_autoptr(IfmKernelSamples) samples = read_all(paths, &error);
    return samples != NULL ? learn(arguments, samples, &options) : cli_fail(error);
}

static const IfmOption train_options[] = {
    { "output", IFM_OPTION_OUTPUT, "FILE", "write the model to this file (JSON)", .letter = 'o' },
    { "no-evaluation", IFM_OPTION_FLAG, NULL, "train only: the evaluation trains some hundred times more" },
    { "show-features", IFM_OPTION_FLAG, NULL, "list what the trees see: ranges and importance" },
    { "machine", IFM_OPTION_TEXT, "TEXT", "the machine of the data, for the model" },
    { "runtime", IFM_OPTION_TEXT, "TEXT", "the runtime of the data, for the model" },
    { "device", IFM_OPTION_TEXT, "TEXT", "the device of the data, for the model", .letter = 'd' },
    { "level", IFM_OPTION_TEXT, "TEXT", "the level of optimisation of the data, for the model" },
    { "json", IFM_OPTION_OUTPUT, "FILE", "write the page as JSON; - is standard output" },
    { NULL },
};

const Verb verb_train = {
    .name = "train",
    .summary = "learn the latency of kernels, alone and under load",
    .arguments = "DATA…",
    .positional = POSITIONAL_FILE,
    .tables = { ifm_learn_options, cli_page_options, train_options, cli_progress_options },
    .details =
        "DATA are CSV files of samples with the columns of docs/learning.md. The trees correct a roofline, and under "
        "load the sharing of cores. Errors are those of data that were left out of the training, beside those of "
        "baselines and the difference of repetitions.",
    .examples = { { "inferometer train kernels.csv -o latency.json",
                    "learns the latencies of kernels, and says how well they are predicted" },
                  { "inferometer train monday.csv tuesday.csv -o latency.json --method forest --show-features",
                    "learns a random forest from two files" } },
    .run = run_train,
};
