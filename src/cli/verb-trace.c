#include <string.h>
#include <unistd.h>

#include <base/fields.h>
#include <document/summary.h>
#include <trace/trace.h>

#include "cli.h"

/* --- reading ---------------------------------------------------------------------------------------------------------- */

/* "1ms,250ms": from the first event on. Returns: an exit status. */
static int parse_window(const Arguments *arguments, gint64 window_ns[2])
{
    static const IfmOption end = { "window", IFM_OPTION_DURATION, "TIME", "one end of it" };
    const char *text = cli_text(arguments, "window");
    g_auto(GStrv) words = g_strsplit(text != NULL ? text : "", ",", -1);
    gboolean good = g_strv_length(words) == 2;
    for (gsize i = 0; good && i < 2; i++)
    {
        IfmOptionValue value = { 0 };
        good = ifm_option_parse(&end, words[i], &value, NULL);
        window_ns[i] = value.integer;
    }
    if (text == NULL || (good && window_ns[0] < window_ns[1]))
        return CLI_EXIT_OK;
    return cli_usage("--window: \"%s\" is not BEGIN,END since the first event, such as 10ms,250ms", text);
}

/* (transfer full) NULL: the fault was reported, @status is the exit status. */
static GPtrArray *read_traces(const char *path, int *status)
{
    g_autoptr(GError) error = NULL;
    GPtrArray *traces = ifm_trace_read(path, NULL, &error);
    *status = traces != NULL ? CLI_EXIT_OK : cli_fail(error);
    return traces;
}

static int ask(const Arguments *arguments, const IfmTrace *trace, IfmTraceQuestion *question)
{
    gint64 window_ns[2] = { 0, 0 };
    int status = parse_window(arguments, window_ns);
    if (window_ns[1] > 0)
    {
        question->start_ns = ifm_trace_begin_ns(trace) + window_ns[0];
        question->end_ns = ifm_trace_begin_ns(trace) + window_ns[1];
    }
    if (cli_given(arguments, "batch"))
        question->batch = (gint32)cli_integer(arguments, "batch");
    return status;
}

/* (transfer full) NULL: the fault was reported. */
static IfmTraceAnalysis *analyse(const char *path, const IfmTrace *trace, const IfmTraceQuestion *question, int *status)
{
    g_autoptr(GError) error = NULL;
    IfmTraceAnalysis *analysis = ifm_trace_analyse(trace, question, &error);
    if (analysis != NULL && !ifm_trace_analysis_check(analysis, trace, question, &error))
        g_clear_pointer(&analysis, ifm_trace_analysis_free);
    g_autofree char *begin = g_strconcat(g_str_equal(path, "-") ? "standard input" : path, ": ", NULL);
    if (analysis == NULL && !g_str_has_prefix(error->message, begin)) /* a trace without a name has its file's */
        g_prefix_error(&error, "%s", begin);
    *status = analysis != NULL ? CLI_EXIT_OK : cli_fail(error);
    return analysis;
}

/* --- trace ------------------------------------------------------------------------------------------------------------ */

/* Several on one scale, each from its own beginning: a window is then as far from each one's. */
static void add_timeline(GPtrArray *documents, const Arguments *arguments, const GPtrArray *traces)
{
    gboolean windowed = cli_given(arguments, "window");
    for (guint i = 0; i < (windowed ? traces->len : 1); i++)
    {
        IfmTraceQuestion question = IFM_TRACE_QUESTION_INIT;
        ask(arguments, traces->pdata[i], &question);
        cli_add_timeline(arguments, documents, (const IfmTrace *const *)traces->pdata + i, windowed ? 1 : traces->len,
                         windowed ? &question : NULL);
    }
}

static int run_trace(const Arguments *arguments)
{
    const char *path = cli_positional(arguments)[0];
    gint64 window_ns[2];
    int status = parse_window(arguments, window_ns);
    if (status != CLI_EXIT_OK)
        return status;
    g_autoptr(GPtrArray) traces = read_traces(path, &status);
    g_autoptr(GPtrArray) analyses = g_ptr_array_new_with_free_func((GDestroyNotify)ifm_trace_analysis_free),
                         documents = cli_documents_new();
    json_auto_t *json = ifm_json_begin("trace", 1);
    json_t *all = json_array();
    json_object_set_new(json, "traces", all);
    for (guint i = 0; traces != NULL && i < traces->len && status == CLI_EXIT_OK; i++)
    {
        IfmTraceQuestion question = IFM_TRACE_QUESTION_INIT;
        if ((status = ask(arguments, traces->pdata[i], &question)) != CLI_EXIT_OK)
            break;
        IfmTraceAnalysis *analysis = analyse(path, traces->pdata[i], &question, &status);
        if (analysis == NULL)
            break;
        g_ptr_array_add(analyses, analysis);
        json_array_append_new(all, ifm_trace_analysis_to_json(analysis, traces->pdata[i]));
    }
    if (status != CLI_EXIT_OK)
        return status;
    for (gboolean simulated = FALSE; simulated <= TRUE; simulated++) /* what was recorded comes before what was computed */
        for (guint i = 0; i < traces->len; i++)
            if (ifm_trace_is_simulated(traces->pdata[i]) == simulated)
                g_ptr_array_add(documents, ifm_trace_document(traces->pdata[i], analyses->pdata[i]));
    add_timeline(documents, arguments, traces);
    return cli_answer(arguments,
                      (Answer){ .documents = g_steal_pointer(&documents),
                                .json = g_steal_pointer(&json),
                                .csv = cli_wants(arguments, "csv")
                                           ? ifm_trace_events_to_csv((const IfmTrace *const *)traces->pdata, traces->len)
                                           : NULL });
}

static const IfmOption trace_options[] = {
    { "json", IFM_OPTION_OUTPUT, "FILE", "write the analysis as JSON; - is standard output" },
    { "csv", IFM_OPTION_OUTPUT, "FILE", "write a row an event as CSV; - is standard output" },
    { "window", IFM_OPTION_TEXT, "BEGIN,END", "look at that part alone, such as 10ms,250ms since the first event",
      .is_list = TRUE },
    { "batch", IFM_OPTION_COUNT, "N", "the batch whose critical path to show; without it the one of median latency",
      .maximum = G_MAXINT32 },
    { NULL },
};

const Verb verb_trace = {
    .name = "trace",
    .summary = "explain a recorded trace: utilisation, bubbles, blame, critical path",
    .arguments = "FILE",
    .positional = POSITIONAL_FILE,
    .tables = { cli_page_options, trace_options },
    .details =
        "FILE is a trace that run or plan wrote, a profile of ONNX Runtime, or any Chrome trace in JSON, plain or gzip; - "
        "is standard input. The same files open in ui.perfetto.dev and chrome://tracing.",
    .examples = { { "inferometer trace run.json.gz --html run.html",
                    "shows how busy each device was and what it waited for; the page draws it" } },
    .run = run_trace,
};

/* --- trace diff ------------------------------------------------------------------------------------------------------- */

/* Traces that are compared: of the same stream of batches. Borrowed from their files. */
typedef struct
{
    const IfmTrace *a, *b;
    const char *a_path, *b_path;
} TracePair;

static GPtrArray *of_kind(const GPtrArray *traces, gboolean simulated)
{
    GPtrArray *found = g_ptr_array_new();
    for (guint i = 0; traces != NULL && i < traces->len; i++)
        if (ifm_trace_is_simulated(traces->pdata[i]) == simulated)
            g_ptr_array_add(found, traces->pdata[i]);
    return found;
}

static int pair_up(const GPtrArray *as, const GPtrArray *bs, const char *a_path, const char *b_path, GArray *pairs)
{
    for (guint i = 0; i < as->len; i++)
    {
        TracePair pair = { as->pdata[i], ifm_trace_partner(as, i, bs), a_path, b_path };
        if (pair.b != NULL)
            g_array_append_val(pairs, pair);
    }
    if (pairs->len > 0)
        return CLI_EXIT_OK;
    cli_complain("%s and %s: nothing to compare: \"%s\" is in the first, \"%s\" in the second", a_path, b_path,
                 ifm_trace_stream(as->pdata[0]), ifm_trace_stream(bs->pdata[0]));
    return cli_status_of(IFM_ERROR_INVALID);
}

/* Of one file its simulations with its runs. Of two the runs of both; a file that has none has its simulations compared. */
static int find_pairs(const Arguments *arguments, GPtrArray *const files[2], GArray *pairs)
{
    const char *const *paths = cli_positional(arguments);
    g_autoptr(GPtrArray) runs = of_kind(files[0], FALSE);
    g_autoptr(GPtrArray) simulations = of_kind(files[0], TRUE);
    if (paths[1] == NULL && (runs->len == 0 || simulations->len == 0))
        return cli_usage("%s holds %s: name a second file to compare it with", paths[0],
                         files[0]->len == 1 ? "one trace"
                         : runs->len == 0   ? "simulations alone"
                                            : "runs alone");
    if (paths[1] == NULL)
        return pair_up(simulations, runs, paths[0], paths[0], pairs);
    g_autoptr(GPtrArray) others = of_kind(files[1], FALSE);
    g_autoptr(GPtrArray) other_simulations = of_kind(files[1], TRUE);
    return pair_up(runs->len > 0 ? runs : simulations, others->len > 0 ? others : other_simulations, paths[0], paths[1],
                   pairs);
}

static int read_files(const Arguments *arguments, GPtrArray *files[2])
{
    const char *const *paths = cli_positional(arguments);
    int status = CLI_EXIT_OK;
    files[0] = read_traces(paths[0], &status); /* the verb's table asks for one path at least */
    if (status == CLI_EXIT_OK && paths[1] != NULL)
        files[1] = read_traces(paths[1], &status);
    return status;
}

/* A side's name: its file's, or of the two of one file what it is. */
static const char *side_of(const TracePair *pair, gboolean second)
{
    if (pair->a_path != pair->b_path)
        return second ? pair->b_path : pair->a_path;
    return ifm_trace_is_simulated(second ? pair->b : pair->a) ? "simulation" : "run";
}

/* Which stream of batches it is, and the plans that ran: "5000 nodes, 10000 edges: CPU 1-7; CPU+ORT 1-7". */
static void add_heading(GString *text, const TracePair *pair)
{
    const IfmTrace *traces[] = { pair->a, pair->b };
    const char *reported = NULL;
    g_string_append(text, ifm_trace_stream(pair->a));
    if (!g_str_equal(ifm_trace_stream(pair->a), ifm_trace_stream(pair->b)))
        g_string_append_printf(text, " | %s", ifm_trace_stream(pair->b));
    for (gsize i = 0; i < G_N_ELEMENTS(traces); i++)
    {
        const char *name = ifm_trace_name(traces[i]);
        if (ifm_trace_is_simulated(traces[i]) || g_strcmp0(name, reported) == 0)
            continue;
        g_string_append_printf(text, "%s%s", reported == NULL ? ": " : " | ", name);
        reported = name;
    }
    g_string_append_c(text, '\n');
}

static int compare_pair(const Arguments *arguments, const TracePair *pair, GString *text, json_t *rows,
                        GPtrArray *documents)
{
    int status;
    IfmTraceQuestion question = IFM_TRACE_QUESTION_INIT;
    const IfmScreen screen = cli_screen();
    g_autoptr(IfmTraceAnalysis) a = analyse(pair->a_path, pair->a, &question, &status);
    g_autoptr(IfmTraceAnalysis) b = a != NULL ? analyse(pair->b_path, pair->b, &question, &status) : NULL;
    if (b == NULL)
        return status;
    g_autoptr(GPtrArray) differences = ifm_trace_diff(a, b);
    const char *of_a = side_of(pair, FALSE), *of_b = side_of(pair, TRUE);
    IfmDocument *document = ifm_trace_diff_document(differences, of_a, of_b);
    g_autofree char *command = cli_command_line(arguments, NULL);
    ifm_document_command(document, command, command);
    g_autofree char *page = ifm_document_to_screen(document, &screen);
    g_ptr_array_add(documents, document);
    if (text->len > 0)
        g_string_append_c(text, '\n');
    if (*ifm_trace_stream(pair->a) != '\0')
        add_heading(text, pair);
    g_string_append(text, page);
    json_array_append_new(rows, json_pack("{s:o,s:o,s:o,s:o}", "stream", ifm_json_string(ifm_trace_stream(pair->a)), "a",
                                          ifm_json_string(of_a), "b", ifm_json_string(of_b), "differences",
                                          ifm_trace_differences_to_json(differences)));
    return CLI_EXIT_OK;
}

static int run_diff(const Arguments *arguments)
{
    GPtrArray *files[2] = { NULL, NULL };
    int status = read_files(arguments, files);
    g_autoptr(GPtrArray) first G_GNUC_UNUSED = files[0], second G_GNUC_UNUSED = files[1], documents = cli_documents_new();
    g_autoptr(GArray) pairs = g_array_new(FALSE, FALSE, sizeof(TracePair));
    g_autoptr(GString) text = g_string_new(NULL);
    json_auto_t *json = ifm_json_begin("trace-diff", 1);
    json_t *rows = json_array();
    json_object_set_new(json, "pairs", rows);
    if (status == CLI_EXIT_OK)
        status = find_pairs(arguments, files, pairs);
    for (guint i = 0; i < pairs->len && status == CLI_EXIT_OK; i++)
        status = compare_pair(arguments, &g_array_index(pairs, TracePair, i), text, rows, documents);
    return status != CLI_EXIT_OK ? status
                                 : cli_answer(arguments, (Answer){ .documents = g_steal_pointer(&documents),
                                                                   .json = g_steal_pointer(&json),
                                                                   .text = g_strdup(text->str) });
}

const Verb verb_trace_diff = {
    .name = "trace diff",
    .summary = "compare two traces: two runs, or a plan's simulation and its run",
    .arguments = "A [B]",
    .positional = POSITIONAL_FILE,
    .tables = { cli_page_options, cli_json_options },
    .details =
        "Devices are matched by alias and stream, blocks by number. Of two files the runs are compared, each with the "
        "other's of the same size; of a file that has none, its simulations. Of a single file each simulation is "
        "compared with its run.",
    .examples = { { "inferometer trace diff run.json.gz",
                    "compares a plan's simulation with its run, which run --trace writes side by side" },
                  { "inferometer trace diff before.json after.json", "compares two runs" } },
    .run = run_diff,
};
