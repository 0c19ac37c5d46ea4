#include <inferometer/predict.h>
#include <learn/learn.h>

#include "verb-predict.h"

/* Whether a model that was opened could not be measured; of its kernels the page has the reasons. */
static gboolean any_failed(const IfmEvaluation *evaluation)
{
    for (guint i = 0; i < evaluation->rows->len; i++)
    {
        const IfmEvaluated *row = evaluation->rows->pdata[i];
        if (row->record == NULL && row->reason != NULL && row->records->reason == NULL)
            return TRUE;
    }
    return FALSE;
}

/* Opening: how models are opened, before cases are measured. */
typedef struct
{
    Progress *progress;
    Keep *keep;
} Opening;

static void on_opening(const IfmProgress *now, void *user)
{
    const Opening *opening = user;
    opening->keep->n_cases = now->n_cases; /* the last that is said: of the cases */
    progress_of(now, opening->progress);
}

static int run_evaluate(const Arguments *arguments)
{
    g_autoptr(GError) error = NULL;
    g_auto(Keep) keep = { .arguments = arguments };
    const char *with = cli_text(arguments, "with"), *device = cli_text(arguments, "device");
    if (with == NULL)
        return cli_usage("needs --with FILE: what `train` wrote");
    g_autoptr(IfmLatencyModel) model = cli_latency_model(with, &device, &error);
    if (model == NULL)
        return cli_fail(error);
    if (!keep_open(&keep, &error))
        return cli_fail(error);
    g_autoptr(Progress) progress = progress_new_brief(arguments);
    Opening opening = { progress, &keep };
    IfmEvaluateOptions options = { .models = cli_positional(arguments),
                                   .device = device,
                                   .threads = (int)cli_integer(arguments, "threads"),
                                   .loads = cli_texts(arguments, "load"),
                                   .kernels = !cli_given(arguments, "no-kernels"),
                                   .interrupted = cli_interrupt_install(),
                                   .measure = keep_ask,
                                   .measure_user = &keep,
                                   .note = cli_note_of,
                                   .progress = on_opening,
                                   .user = &opening };
    cli_fill(arguments, ifm_model_options, &options.open);
    g_autoptr(IfmEvaluation) evaluation = ifm_evaluate(model, &options, &error);
    if (evaluation == NULL)
        return cli_fail(error);
    if (cli_is_none(evaluation->records))
        return cli_end_each(evaluation->records, CLI_EXIT_OK);
    const int status = cli_answer(arguments, (Answer){ .document = ifm_evaluation_document(evaluation) });
    const gboolean failed = any_failed(evaluation);
    return cli_end_each(evaluation->records, status == CLI_EXIT_OK && failed ? CLI_EXIT_FAILED : status);
}

static const IfmOption evaluate_options[] = {
    { "with", IFM_OPTION_FILE, "FILE", "what `train` learnt" },
    { "load", IFM_OPTION_TEXT, "KIND:LOAD", "also under a stressor: gemm:60% on the same cores, copy:other:30% on another",
      .repeatable = TRUE },
    { "no-kernels", IFM_OPTION_FLAG, NULL, "whole models alone" },
    { "device", IFM_OPTION_TEXT, "DEVICE",
      "that measures them, ENGINE:UNIT@CORES; where FILE was learnt on several machines: which of them this is, by its "
      "name, or a file that describes it",
      "onnxruntime:CPU@0", .letter = 'd' },
    { "threads", IFM_OPTION_COUNT, "N", "threads of the runtime", "1", .minimum = 1, .maximum = 1024, .letter = 't' },
    KEEP_ROWS("out/evaluate"),
    { "json", IFM_OPTION_OUTPUT, "FILE", "write the same as JSON; - is standard output" },
    { "csv", IFM_OPTION_OUTPUT, "FILE", "write the tables as CSV; - is standard output" },
    { NULL },
};

const Verb verb_evaluate = {
    .name = "evaluate",
    .summary = "measure models and their kernels against what is predicted of them",
    .arguments = "MODEL|DIR...",
    .positional = POSITIONAL_FILE,
    .tables = { ifm_model_options, cli_page_options, evaluate_options, cli_progress_options },
    .details =
        "Each model is predicted as by `predict`, and measured; each distinct kernel of it is measured as a ring of "
        "copies that holds what the model does. What was off most comes first. MODEL may also be records of `kernels "
        "export` or a kernel of `kernels extract`, of which the kernels alone are measured; DIR stands for the files "
        "of all these in it. What cannot be opened is a row with its reason, and the exit status is 1. Each "
        "measurement is kept in the store; after an interruption the same command with --resume measures only what is "
        "missing.",
    .examples = { { "inferometer evaluate resnet50 bert --with latency.json --load gemm:60%",
                    "measures two models, alone and under load, and their kernels, against what was predicted" } },
    .run = run_evaluate,
};
