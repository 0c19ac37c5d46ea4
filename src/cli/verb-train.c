#include <unistd.h>

#include <base/base.h>
#include <learn/learn.h>

#include "cli.h"

/* The verb train learns the latency of kernels from files of samples and writes the model. */

/* One list of columns serves all files, or there is one for each. */
static const char *columns_of(const char *const *lists, gsize n_lists, gsize file)
{
    return n_lists == 0 ? NULL : lists[n_lists > 1 ? file : 0];
}

static IfmKernelSamples *read_all(const Arguments *arguments, GError **error)
{
    const char *const *paths = cli_positional(arguments), *const *lists = cli_texts(arguments, "columns");
    const gsize n = g_strv_length((GStrv)paths), n_lists = g_strv_length((GStrv)lists);
    if (n_lists > 1 && n_lists != n)
    {
        ifm_error_misuse(error, "--columns: %zu lists for %zu files, expected one, or one for each", n_lists, n);
        return NULL;
    }
    g_autoptr(IfmKernelSamples) samples = ifm_kernel_samples_read_as(paths[0], columns_of(lists, n_lists, 0), error);
    for (gsize i = 1; samples != NULL && i < n; i++)
    {
        g_autoptr(IfmKernelSamples) more = ifm_kernel_samples_read_as(paths[i], columns_of(lists, n_lists, i), error);
        if (more == NULL)
            return NULL;
        ifm_kernel_samples_append(samples, more);
    }
    return g_steal_pointer(&samples);
}

/* Describes the machines of the samples by the files of --machines. */
static gboolean describe_machines(const Arguments *arguments, IfmKernelSamples *samples, GError **error)
{
    for (const char *const *path = cli_texts(arguments, "machines"); *path != NULL; path++)
    {
        g_autoptr(IfmMachine) machine = ifm_machine_read(*path, error);
        if (machine == NULL)
            return FALSE;
        if (ifm_kernel_samples_place(samples, machine) == 0)
            return ifm_error_refuse(error, "%s: no row is of the machine \"%s\"", *path, machine->name);
    }
    return TRUE;
}

static int learn(const Arguments *arguments, const IfmKernelSamples *samples, IfmLearnOptions *options)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(Progress) progress = progress_new_brief(arguments);
    const gboolean evaluates = !cli_given(arguments, "no-evaluation");
    progress_of(&(IfmProgress){ .n_cases = evaluates ? 2 : 1, .title = "training" }, progress);
    g_autoptr(IfmLatencyModel) model = ifm_learn_train(samples, options, &error);
    g_autoptr(GPtrArray) errors = NULL;
    progress_of(&(IfmProgress){ .outcome = model != NULL ? "ok" : "failed" }, progress);
    if (model != NULL && evaluates)
    {
        options->progress = progress_of;
        options->user = progress;
        progress_of(&(IfmProgress){ .title = "evaluation" }, progress);
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
    g_autoptr(IfmKernelSamples) samples = read_all(arguments, &error);
    return samples != NULL && describe_machines(arguments, samples, &error) ? learn(arguments, samples, &options)
                                                                            : cli_fail(error);
}

static const IfmOption train_options[] = {
    { "output", IFM_OPTION_OUTPUT, "FILE", "write the model to this file (JSON)", .letter = 'o' },
    { "no-evaluation", IFM_OPTION_FLAG, NULL, "train only: the evaluation trains some hundred times more" },
    { "show-features", IFM_OPTION_FLAG, NULL, "list what the trees see: ranges and importance" },
    { "columns", IFM_OPTION_TEXT, "LIST",
      "a table of another collector: op=OP_NAME,shape=m*k,latency_us=TIME,FLOP=2*m*n*k says what of it our columns are; "
      "one list for all files, or one for each",
      .repeatable = TRUE },
    { "machines", IFM_OPTION_FILE, "FILE", "describes a machine of the data (YAML), where these are of several",
      .repeatable = TRUE },
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
