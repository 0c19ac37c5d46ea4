
#include "study-page.h"
#include <plan/plan.h>

/* The verb plan finds the best way to run a staged model over devices, and writes plans, tables and traces. */

/* --- printing --------------------------------------------------------------------------------------------------------- */

static int write_table(const IfmPlanContext *context, const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmPlanTable) table =
        ifm_plan_table_new(context->costs, &context->question, (const IfmPlanSize *)(const void *)context->sizes->data,
                           context->sizes->len, &error);
    if (table == NULL)
    {
        ifm_plan_blame_input(&error);
        return cli_fail(error);
    }
    json_auto_t *json = ifm_plan_table_to_json(table);
    return cli_write_json(path, json);
}

static int write_traces(const GPtrArray *planned, const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) traces = g_ptr_array_new();
    for (guint i = 0; i < planned->len; i++)
    {
        const IfmPlanned *one = planned->pdata[i];
        g_autofree char *stream = ifm_plan_size_title(&one->size);
        ifm_plan_name_stream(one->trace, stream);
        g_ptr_array_add(traces, one->trace);
    }
    return ifm_trace_write((const IfmTrace *const *)traces->pdata, traces->len, path, &error) ? CLI_EXIT_OK
                                                                                              : cli_fail(error);
}

/* --- the verb --------------------------------------------------------------------------------------------------------- */

static int run_plan(const Arguments *arguments)
{
    g_auto(IfmPlanResult) result = { 0 };
    g_autoptr(GError) error = NULL;
    IfmPlanOptions options = { .study = cli_positional(arguments)[0] };
    cli_fill(arguments, ifm_plan_options, &options);
    options.candidates = cli_wants(arguments, "candidates");
    if (!ifm_plan_study(&options, &result, &error))
        return cli_fail(error);
    g_autofree IfmPlanReport *reports = g_new0(IfmPlanReport, result.planned->len + 1);
    Answer answer = { .documents = cli_documents_new(),
                      .json = cli_wants(arguments, "json") ? ifm_plan_result_to_json(&result) : NULL };
    for (guint i = 0; i < result.planned->len; i++)
        reports[i] = ifm_plan_report(&result, result.planned->pdata[i]);
    ifm_plan_choose_figures(reports, result.planned->len);
    if (result.planned->len > 1)
        g_ptr_array_add(answer.documents, ifm_plans_document(reports, result.planned->len));
    for (guint i = 0; i < result.planned->len; i++)
    {
        const IfmTrace *trace = reports[i].planned->trace;
        g_ptr_array_add(answer.documents, ifm_plan_document(&reports[i]));
        if (result.planned->len == 1) /* a page of all of them would be too long */
            cli_add_timeline(arguments, answer.documents, &trace, 1, NULL);
    }
    if (cli_wants(arguments, "table"))
        answer.status = write_table(&result.context, cli_text(arguments, "table"));
    if (answer.status == CLI_EXIT_OK && cli_wants(arguments, "trace"))
        answer.status = write_traces(result.planned, cli_text(arguments, "trace"));
    if (answer.status == CLI_EXIT_OK && options.candidates)
    {
        g_autofree char *csv = ifm_plan_candidates_to_csv(&result);
        answer.status = cli_write(cli_text(arguments, "candidates"), csv);
    }
    return cli_answer(arguments, answer);
}

static const IfmOption plan_options[] = {
    { "json", IFM_OPTION_OUTPUT, "FILE", "write the plan as JSON, for inferometer run; - is standard output",
      .after = "compare" },
    { "table", IFM_OPTION_OUTPUT, "FILE", "write the plans of all sizes as a table, for inferometer run --table" },
    { "candidates", IFM_OPTION_OUTPUT, "FILE",
      "write every plan that was to be chosen from as CSV, best first, with its cost; those of the published search are "
      "marked" },
    { "trace", IFM_OPTION_OUTPUT, "FILE", "write the simulated timeline as a Chrome trace; .gz is compressed" },
    { NULL },
};

const Verb verb_plan = {
    .name = "plan",
    .summary = "find the best way to run a staged model over several devices",
    .arguments = "[STUDY]",
    .positional = POSITIONAL_STUDY,
    .tables = { ifm_plan_options, cli_page_options, plan_options },
    .details =
        WHICH_RESULTS " Without it: " IFM_PLAN_STUDY ".\n"
                      "A plan is a list of blocks: contiguous stages, the devices that share them, and each device's share "
                      "of the graph's nodes. The search covers all plans. The answer states whether it is proved to be "
                      "the best under the measured costs, or else how far from the best it may be. If the best plan "
                      "gains less over the best single device than the uncertainty of the prediction, the single device "
                      "is the answer.",
    .examples = { { "inferometer plan gnn-plan --size 5000,10000",
                    "finds the plan with the highest throughput at that size, from what the study measured" },
                  { "inferometer plan --objective latency --json plan.json --size 3000,30000",
                    "writes the plan with the minimum latency, for inferometer run" },
                  { "inferometer plan --grid 0.3,0.5,0.7 --max-blocks 2 --no-npu-split",
                    "searches the restricted space that was published, for comparison" } },
    .run = run_plan,
};
