#include <base/base.h>
#include <inferometer/predict.h>

#include "verb-predict.h"

/* The models of a word: itself, or the ONNX files of a folder. @words: char* */
static gboolean add_words(const char *word, GPtrArray *words, GError **error)
{
    g_autoptr(GError) trouble = NULL;
    GDir *folder = g_file_test(word, G_FILE_TEST_IS_DIR) ? g_dir_open(word, 0, &trouble) : NULL;
    const guint before = words->len;
    if (!g_file_test(word, G_FILE_TEST_IS_DIR))
    {
        g_ptr_array_add(words, g_strdup(word));
        return TRUE;
    }
    for (const char *name; folder != NULL && (name = g_dir_read_name(folder)) != NULL;)
        if (g_str_has_suffix(name, ".onnx"))
            g_ptr_array_add(words, g_build_filename(word, name, NULL));
    g_clear_pointer(&folder, g_dir_close);
    g_ptr_array_sort(words, ifm_compare_texts);
    if (words->len == before)
        return ifm_error_refuse(error, "%s: %s", word,
                                trouble != NULL ? trouble->message : "no ONNX file is in this folder");
    return TRUE;
}

static int run_evaluate(const Arguments *arguments)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
    g_auto(Keep) keep = { .arguments = arguments };
    const char *with = cli_text(arguments, "with"), *device = cli_text(arguments, "device");
    if (with == NULL)
        return cli_usage("needs --with FILE: what `train` wrote");
    g_autoptr(IfmLatencyModel) model = cli_latency_model(with, &device, &error);
    if (model == NULL)
        return cli_fail(error);
    for (const char *const *text = cli_positional(arguments); *text != NULL; text++)
        if (!add_words(*text, words, &error))
            return cli_fail(error);
    g_ptr_array_add(words, NULL);
    if (!keep_open(&keep, &error))
        return cli_fail(error);
    IfmEvaluateOptions options = { .models = (const char *const *)words->pdata,
                                   .device = device,
                                   .threads = (int)cli_integer(arguments, "threads"),
                                   .loads = cli_texts(arguments, "load"),
                                   .kernels = !cli_given(arguments, "no-kernels"),
                                   .interrupted = cli_interrupt_install(),
                                   .measure = keep_ask,
                                   .measure_user = &keep,
                                   .note = cli_note_of };
    cli_fill(arguments, ifm_model_options, &options.open);
    g_autoptr(IfmEvaluation) evaluation = ifm_evaluate(model, &options, &error);
    if (evaluation == NULL)
        return cli_fail(error);
    return cli_answer(arguments, (Answer){ .document = ifm_evaluation_document(evaluation) });
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
    .details = "Each model is predicted as by `predict`, and measured; each distinct kernel of it is measured as a ring of "
               "copies. What was off most comes first. DIR stands for the ONNX files in it. Each measurement is kept in "
               "the store; after an interruption the same command with --resume measures only what is missing.",
    .examples = { { "inferometer evaluate resnet50 bert --with latency.json --load gemm:60%",
                    "measures two models, alone and under load, and their kernels, against what was predicted" } },
    .run = run_evaluate,
};
