#include <string.h>
#include <unistd.h>

#include <document/document.h>
#include <inferometer/plan.h>
#include <measure/kinds.h>

#include "study-page.h"

/* Outcome: what was run, as it is printed. */
typedef struct
{
    const Arguments *arguments;
    const IfmRunSet *set;
    const IfmRunReport *runs;
    gsize n;
} Outcome;

static gboolean is_tried(const IfmRunReport *run)
{
    return run->measurement != NULL || run->code != NULL;
}

/* --- printing --------------------------------------------------------------------------------------------------------- */

/* The simulation of a stream and its run; borrowed. */
static GPtrArray *traces_of(const IfmRunReport *run)
{
    GPtrArray *traces = g_ptr_array_new();
    for (guint t = 0; t < run->simulated->len; t++)
        g_ptr_array_add(traces, run->simulated->pdata[t]);
    for (guint t = 0; run->recorded != NULL && t < run->recorded->len; t++)
        g_ptr_array_add(traces, run->recorded->pdata[t]);
    return traces;
}

/* Those of all streams, side by side. */
static int write_traces(const Outcome *outcome, const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    for (gsize i = 0; i < outcome->n; i++)
    {
        g_autoptr(GPtrArray) traces = traces_of(&outcome->runs[i]);
        g_ptr_array_extend(all, traces, NULL, NULL);
    }
    if (all->len == 0)
        return CLI_EXIT_OK;
    return ifm_trace_write((const IfmTrace *const *)all->pdata, all->len, path, &error) ? CLI_EXIT_OK : cli_fail(error);
}

/* --- how it ended ----------------------------------------------------------------------------------------------------- */

/* What all that failed have in common; 1 where they differ. A stage that is not for its device: the plan is what is wrong.
 */
static int status_of(const Outcome *outcome)
{
    int common = CLI_EXIT_OK;
    for (gsize i = 0; i < outcome->n; i++)
    {
        if (outcome->runs[i].code == NULL)
            continue;
        IfmErrorCode code = ifm_error_code_from_name(outcome->runs[i].code);
        int status = cli_status_of(code == IFM_ERROR_UNSUPPORTED ? IFM_ERROR_INVALID : code);
        common = common == CLI_EXIT_OK || common == status ? status : CLI_EXIT_FAILED;
    }
    return common;
}

/* A run that nothing came of has no page: its reason is printed here. @on_page: pages were printed, with the reasons of the
 * others */
static void complain_of_failures(const Outcome *outcome, gboolean on_page)
{
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
    for (gsize i = 0; i < outcome->n; i++)
    {
        const IfmRunReport *run = &outcome->runs[i];
        if (run->code == NULL || (on_page && ifm_run_has_figures(run)))
            continue;
        const char *advice = ifm_error_code_from_name(run->code) == IFM_ERROR_UNSUPPORTED
                                 ? "; use a plan that gives these stages to another device"
                                 : "";
        g_ptr_array_add(lines, g_strdup_printf("%s: %s%s", run->title,
                                               run->measurement != NULL ? run->measurement->reason : run->reason, advice));
    }
    g_ptr_array_add(lines, NULL);
    cli_complain_alike((const char *const *)lines->pdata);
}

/* A run of which one repetition was whole is kept, as far as it had got; one that was broken off before is not. */
static void complain_of_interruption(const Outcome *outcome)
{
    const char *lost = NULL, *path = ifm_run_set_store_path(outcome->set);
    guint n_kept = 0;
    for (gsize i = 0; i < outcome->n; i++)
    {
        const IfmRunReport *run = &outcome->runs[i];
        n_kept += run->measurement != NULL;
        if (run->measurement == NULL && run->code != NULL)
            lost = run->title;
    }
    if (lost == NULL && n_kept > 0)
        cli_complain("interrupted: what was measured until then is in %s", path);
    else if (n_kept > 0)
        cli_complain(
            "interrupted before a repetition was complete: nothing of \"%s\" was kept; what was before it is in %s", lost,
            path);
    else
        cli_complain("interrupted before a repetition was complete: nothing of the run was kept");
}

/* A run that failed may have left no trace, and a file of that name may be there from before: what --trace came to is
 * said. */
static void report_trace(const Outcome *outcome)
{
    const char *path = cli_text(outcome->arguments, "trace");
    gsize n_recorded = 0, n_simulated = 0;
    if (path == NULL)
        return;
    for (gsize i = 0; i < outcome->n; i++)
    {
        n_recorded += outcome->runs[i].recorded != NULL;
        n_simulated += outcome->runs[i].simulated->len > 0;
    }
    const char *name = g_str_equal(path, "-") ? "standard output" : path,
               *simulations = n_simulated > 1 ? "simulations" : "simulation";
    if (n_recorded == 0 && n_simulated == 0)
        cli_complain("%s: not written: nothing of the run was recorded", name);
    else if (n_recorded == 0)
        cli_complain("%s: written, with the %s alone: nothing of the run was recorded", name, simulations);
    else
        cli_complain("%s: written, with what was recorded of %s%s%s", name,
                     outcome->n == 1            ? "the run until it ended"
                     : n_recorded == outcome->n ? "each run until it ended"
                                                : "some of the runs",
                     n_simulated > 0 ? ", next to the " : "", n_simulated > 0 ? simulations : "");
}

/* Which part of a run the timeline that was added last is of. */
static void say_repetition(const GPtrArray *documents, const IfmRunReport *run, gsize n_traces)
{
    IfmDocument *document = documents->pdata[documents->len - 1];
    IfmPlanRunResult result;
    ifm_plan_run_result(run->measurement, &result);
    if (!g_str_equal(document->kind, "timeline") || result.n_repetitions == 0)
        return;
    ((IfmSection *)document->sections->pdata[0])->answer = ifm_document_take_text(
        document, g_strdup_printf("Repetition %zu of %zu, the last one%s.", result.n_repetitions, result.n_repetitions,
                                  n_traces > 1 ? ", below the simulation that was the prediction" : ""));
}

/* @store_error: why the store took no more, or NULL */
static int finish(const Outcome *outcome, const GError *store_error)
{
    g_autoptr(GArray) tried = g_array_new(FALSE, FALSE, sizeof(IfmRunReport)),
                      with_page = g_array_new(FALSE, FALSE, sizeof(IfmRunReport));
    for (gsize i = 0; i < outcome->n; i++)
    {
        if (is_tried(&outcome->runs[i]))
            g_array_append_val(tried, outcome->runs[i]);
        if (is_tried(&outcome->runs[i]) && ifm_run_has_figures(&outcome->runs[i]))
            g_array_append_val(with_page, outcome->runs[i]);
    }
    gboolean on_page = with_page->len > 0 && !cli_to_stdout(outcome->arguments);
    const IfmRunReport *all = (const IfmRunReport *)(const void *)tried->data,
                       *shown = (const IfmRunReport *)(const void *)with_page->data;
    Answer answer = { .documents = cli_documents_new() };
    if (tried->len > 0)
    {
        answer.json = cli_wants(outcome->arguments, "json") ? ifm_run_to_json(all, tried->len) : NULL;
        answer.csv = cli_wants(outcome->arguments, "csv") ? ifm_run_batches_to_csv(all, tried->len) : NULL;
    }
    if (with_page->len > 0)
        g_ptr_array_add(answer.documents, ifm_run_document(shown, with_page->len));
    for (gsize i = 0; with_page->len > 0 && i < outcome->n; i++)
    {
        g_autoptr(GPtrArray) traces = traces_of(&outcome->runs[i]);
        cli_add_timeline(outcome->arguments, answer.documents, (const IfmTrace *const *)traces->pdata, traces->len, NULL);
        say_repetition(answer.documents, &outcome->runs[i], traces->len);
    }
    if (tried->len > 0 && cli_wants(outcome->arguments, "trace"))
        answer.status = write_traces(outcome, cli_text(outcome->arguments, "trace"));
    const int written = cli_answer(outcome->arguments, answer);
    if (store_error != NULL)
        return cli_fail(store_error);
    if (cli_interrupt_signal() != 0)
    {
        complain_of_interruption(outcome);
        if (written == CLI_EXIT_OK)
            report_trace(outcome);
        return CLI_EXIT_SIGNAL + cli_interrupt_signal();
    }
    complain_of_failures(outcome, on_page && written == CLI_EXIT_OK);
    int status = status_of(outcome);
    if (written == CLI_EXIT_OK && status != CLI_EXIT_OK)
        report_trace(outcome);
    return written != CLI_EXIT_OK ? written : status;
}

/* --- the verb --------------------------------------------------------------------------------------------------------- */

static gboolean is_plan_file(const char *text)
{
    return g_str_equal(text, "-") || (g_str_has_suffix(text, ".json") && !g_file_test(text, G_FILE_TEST_IS_DIR));
}

static void on_note(const char *line, void *user)
{
    cli_note("%s", line);
}

static int run_run(const Arguments *arguments)
{
    const char *what = cli_positional(arguments)[0];
    g_autoptr(Progress) progress = progress_new(arguments);
    g_autoptr(GError) error = NULL;
    IfmRunOptions options = { .note = on_note, .progress = progress_of, .user = progress };
    cli_fill(arguments, ifm_run_options, &options);
    if (!ifm_run_options_check(&options, &error))
        return cli_fail(error);
    if (what != NULL && is_plan_file(what) && options.plan != NULL)
        return cli_usage("%s and --plan %s: one plan, not both", what, options.plan);
    if (what != NULL && is_plan_file(what))
        options.plan = what;
    else
        options.study = what;
    g_autoptr(IfmRunSet) set = ifm_run_set_new(&options, &error);
    if (set == NULL)
        return cli_fail(error);
    Outcome outcome = { arguments, set };
    outcome.runs = ifm_run_set_runs(set, &outcome.n);
    ifm_run_set_measure(set, cli_interrupt_install(), &error);
    return finish(&outcome, error);
}

static const IfmOption run_options[] = {
    { "json", IFM_OPTION_OUTPUT, "FILE", "write everything as JSON; - is standard output", .after = "seed" },
    { "csv", IFM_OPTION_OUTPUT, "FILE", "write a row a batch: its time in each block, the bottleneck" },
    { "trace", IFM_OPTION_OUTPUT, "FILE", "write simulation and run side by side as a Chrome trace; .gz is compressed" },
    { NULL },
};

const Verb verb_run = {
    .name = "run",
    .summary = "run a stream of batches by a plan, and compare it with its prediction",
    .arguments = "[PLAN.json|STUDY]",
    .positional = POSITIONAL_STUDY,
    .tables = { ifm_run_options, cli_page_options, run_options, cli_progress_options },
    .details =
        WHICH_RESULTS " Without it, and without a plan: " IFM_PLAN_STUDY ". A study is planned first; given with --plan it "
                      "makes the prediction.\n"
                      "Each size or graph has a run of its own; with --table they are one stream, each graph by its own "
                      "plan. The prediction is stored before the run starts.\n"
                      "A batch goes through the plan's blocks, a thread each, with bounded queues between them. Where "
                      "several devices share a block, each has its share of the nodes, with the edges that end there.",
    .examples = { { "inferometer run gnn-plan --size 5000,10000 --bound --verify",
                    "plans, stores the prediction, runs 100 batches and shows both side by side" },
                  { "inferometer run plan.json --trace run.json.gz",
                    "runs a plan that inferometer plan --json wrote, and keeps the trace" },
                  { "inferometer run --demo", "runs a pipeline on the available devices" } },
    .run = run_run,
};
