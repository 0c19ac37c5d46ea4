#include <math.h>

#include <base/base.h>
#include <document/summary.h>
#include <inferometer/compare.h>
#include <measure/compare-page.h>

#include "cli.h"

/* "slower" or "slower:1.05". Returns: the ratio above which B fails; NaN where it is neither; infinite: not asked for */
static double failing_ratio(const Arguments *arguments)
{
    static const char word[] = "slower";
    const char *text = cli_text(arguments, "fail-if");
    if (text == NULL)
        return (double)INFINITY;
    if (g_str_equal(text, word))
        return 1;
    if (!g_str_has_prefix(text, word) || text[sizeof word - 1] != ':')
        return (double)NAN;
    const double ratio = ifm_number_of(text + sizeof word);
    return ratio >= 1 ? ratio : (double)NAN;
}

static int judge(const IfmComparison *comparison, double ratio, IfmTrust trust)
{
    g_autofree char *why = isfinite(ratio) ? ifm_comparison_failure(comparison, ratio, trust) : NULL;
    if (why != NULL)
        cli_complain("%s (--fail-if slower:%.4g)", why, ratio);
    return why != NULL ? CLI_EXIT_FAILED : CLI_EXIT_OK;
}

static int run_compare(const Arguments *arguments)
{
    g_autoptr(Progress) progress = progress_new(arguments);
    g_auto(IfmComparison) comparison = { 0 };
    g_autoptr(GError) error = NULL;
    IfmCompareOptions options = { 0 };
    const IfmProfileWatch reported = progress_watch(progress);
    const double ratio = failing_ratio(arguments);
    if (isnan(ratio))
        return cli_usage("--fail-if: \"%s\" is not slower, or slower:RATIO with a ratio of 1 or more",
                         cli_text(arguments, "fail-if"));
    ifm_compare_options_init(&options);
    cli_fill(arguments, ifm_compare_options, &options);
    options.models[0] = cli_positional(arguments)[0];
    options.models[1] = cli_positional(arguments)[1];
    options.watch = &reported;
    gboolean compared = ifm_compare_models(&options, cli_interrupt_install(), &comparison, &error);
    int number = cli_interrupt_signal();
    if (!compared && number != 0)
    {
        cli_complain("interrupted before there was a result");
        return CLI_EXIT_SIGNAL + number;
    }
    if (!compared)
        return cli_fail(error);
    IfmDocument *document = ifm_comparison_document(&comparison);
    const IfmTrust trust = ifm_document_summary_trust(document->summary);
    const int status =
        cli_answer(arguments, (Answer){
                                  .document = document,
                                  .json = cli_wants(arguments, "json") ? ifm_comparison_records_json(&comparison) : NULL,
                                  .csv = ifm_comparison_to_csv(&comparison),
                              });
    if (number == 0)
        return status != CLI_EXIT_OK ? status : judge(&comparison, ratio, trust);
    cli_complain("interrupted: this is what %zu whole pair%s of processes showed until then", comparison.n_pairs,
                 ifm_plural(comparison.n_pairs));
    return CLI_EXIT_SIGNAL + number;
}

/* --- the verb ------------------------------------------------------------------------------------------------------- */

static const IfmOption compare_options[] = {
    { "json", IFM_OPTION_OUTPUT, "FILE", "write everything as JSON, samples included; - is standard output",
      .after = "memory-limit" },
    { "csv", IFM_OPTION_OUTPUT, "FILE", "write a row a round as CSV; - is standard output" },
    { "fail-if", IFM_OPTION_TEXT, "slower[:RATIO]",
      "exit with 1 where the whole interval says that B takes over RATIO times A's time (1 where it is not given), and "
      "where "
      "the result is not to be trusted" },
    { NULL },
};

const Verb verb_compare = {
    .name = "compare",
    .summary = "say whether one of two is faster, the same, or indistinguishable",
    .arguments = "A B",
    .positional = POSITIONAL_FILE,
    .tables = { ifm_compare_options, cli_page_options, compare_options, cli_progress_options },
    .details =
        "A and B are models as profile takes them: ONNX files, or names of the zoo. Both may be the same model with "
        "different devices, settings or runtimes; options that begin with a- or b- apply to one of them.\n"
        "Each runs in a process of its own: a few runs of one, then of the other, in a random order. The pair of processes "
        "is started anew many times, since two runs of the same thing differ too; each pair is one observation.\n"
        "The verdict is faster or slower (B than A) if the whole interval of the ratio lies on one side of 1, same if all "
        "of it is within the margin, and else uncertain, with the reason and what would decide it. A thing compared with "
        "itself is called faster or slower in at most 5 % of the comparisons, whenever they stop.\n"
        "The measurements of both are stored. The exit status is 0 for any verdict (but see --fail-if), and 3 or 4 if the "
        "input is wrong or something is missing.",
    .examples = { { "inferometer compare old.onnx new.onnx -d openvino:CPU@0", "says whether the new model is faster" },
                  { "inferometer compare model.onnx model.onnx --a-device onnxruntime:CPU --b-device openvino:CPU",
                    "compares two runtimes" },
                  { "inferometer compare model.onnx model.onnx --b-runtime ./libonnxruntime.so.1.24.1",
                    "compares two versions of a runtime" },
                  { "inferometer compare main.onnx branch.onnx --fail-if slower:1.05",
                    "fails a build that became over 5 % slower" } },
    .run = run_compare,
};
