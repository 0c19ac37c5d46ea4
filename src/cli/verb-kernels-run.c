#include <math.h>
#include <unistd.h>

#include <document/document.h>
#include <document/words.h>
#include <zoo/zoo.h>

#include "cli.h"

/* Kernels as models of their own, measured as they are. */

#define MAX_COPIES 1000000 /* of a ring; far more than one of 16 MB has */

/* A file. @file, @device: borrowed    Times are those of one copy; NaN where it was not measured. */
typedef struct
{
    const char *file, *device;
    gint64 n_copies, n_runs, start_ms, end_ms;
    double mean_ns, median_ns, std_ns, min_ns, max_ns;
    char *reason; /* why it was not measured; or NULL */
} RunRow;

static void run_row_free(RunRow *row)
{
    g_free(row->reason);
    g_free(row);
}

/* ISO 8601 with milliseconds, in UTC. @user: the offset of a gint64 */
static void get_time(const void *record, const void *user, IfmValue *value)
{
    const gint64 unix_ms = G_STRUCT_MEMBER(gint64, record, GPOINTER_TO_SIZE(user));
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(unix_ms / 1000);
    g_autofree char *seconds = unix_ms > 0 && time != NULL ? g_date_time_format(time, "%Y-%m-%dT%H:%M:%S") : NULL;
    if (seconds != NULL)
        ifm_value_take_text(value, g_strdup_printf("%s.%03dZ", seconds, (int)(unix_ms % 1000)));
}

#define ROW(member, ...) IFM_MEMBER(RunRow, member, ##__VA_ARGS__)

static const IfmField run_fields[] = {
    { "file", "file", IFM_FIELD_TEXT, ROW(file), IFM_FIELD_KEY | IFM_FIELD_WHOLE },
    { "device", "device", IFM_FIELD_TEXT, ROW(device), IFM_FIELD_FOLD },
    { "mean_ns", "mean", IFM_FIELD_DURATION, ROW(mean_ns) },
    { "median_ns", "median", IFM_FIELD_DURATION, ROW(median_ns) },
    { "std_ns", "std", IFM_FIELD_DURATION, ROW(std_ns) },
    { "min_ns", "min", IFM_FIELD_DURATION, ROW(min_ns) },
    { "max_ns", "max", IFM_FIELD_DURATION, ROW(max_ns) },
    { "n_runs", "runs", IFM_FIELD_INTEGER, ROW(n_runs) },
    { "n_copies", "copies", IFM_FIELD_INTEGER, ROW(n_copies) },
    { "start", "start", IFM_FIELD_TEXT, get_time, IFM_FIELD_AT(RunRow, start_ms), IFM_FIELD_BREAK | IFM_FIELD_WHOLE },
    { "end", "end", IFM_FIELD_TEXT, get_time, IFM_FIELD_AT(RunRow, end_ms), IFM_FIELD_WHOLE },
    { "reason", "not measured", IFM_FIELD_TEXT, ROW(reason, .some = TRUE), IFM_FIELD_HIDE_EMPTY },
    { NULL },
};

/* How many copies of a kernel one run of a model visits. */
static gboolean read_copies(const IfmModel *model, gint64 *n_copies, GError **error)
{
    const char *text = ifm_model_metadata(model, IFM_KERNEL_COPIES_METADATA);
    *n_copies = 1;
    if (text == NULL || g_ascii_string_to_signed(text, 10, 1, MAX_COPIES, n_copies, NULL))
        return TRUE;
    *n_copies = 1;
    return ifm_error_refuse(error, "metadata inferometer.copies: \"%s\" is no number of copies", text);
}

static IfmMeasurement *measure(Keep *keep, const IfmModelRequest *request, const IfmModelCase *model_case, RunRow *row,
                               GError **error)
{
    g_auto(IfmModelSource) source = { 0 };
    IfmModelCase of_file = *model_case;
    if (!ifm_model_source_open(request, &source, error) || !read_copies(source.model, &row->n_copies, error))
        return NULL;
    of_file.model = source.model;
    of_file.n_copies = row->n_copies > 1 ? (gsize)row->n_copies : 0;
    of_file.model_path = source.path;
    of_file.inputs_path = source.inputs_path;
    of_file.bindings = ifm_model_feed_bindings(&source.feed);
    of_file.n_bindings = source.feed.bindings->len;
    return keep_ask(request->text, &ifm_kind_model, &of_file, keep, error);
}

/* Returns: (transfer full) NULL where it was interrupted before there was a run. */
static RunRow *run_file(Keep *keep, const IfmModelRequest *request, const IfmModelCase *model_case)
{
    g_autoptr(GError) error = NULL;
    RunRow *row = g_new0(RunRow, 1);
    row->file = request->text;
    row->device = model_case->device;
    row->n_copies = 1;
    row->mean_ns = row->median_ns = row->std_ns = row->min_ns = row->max_ns = (double)NAN;
    g_autoptr(IfmMeasurement) measurement = measure(keep, request, model_case, row, &error);
    if (g_error_matches(error, IFM_ERROR, IFM_ERROR_CANCELLED))
    {
        run_row_free(row);
        return NULL;
    }
    if (measurement == NULL || measurement->outcome != IFM_OUTCOME_OK)
    {
        row->reason = g_strdup(measurement != NULL ? measurement->reason : error->message);
        return row;
    }
    const IfmSummary *summary = &measurement->summary;
    const double copies = (double)row->n_copies;
    row->n_runs = (gint64)summary->n;
    const json_t *window = json_object_get(measurement->environment, "measured");
    row->start_ms = json_integer_value(json_object_get(window, "start_unix_ms"));
    row->end_ms = json_integer_value(json_object_get(window, "end_unix_ms"));
    row->mean_ns = summary->mean / copies;
    row->median_ns = summary->median / copies;
    row->std_ns = summary->std / copies;
    row->min_ns = summary->min / copies;
    row->max_ns = summary->max / copies;
    return row;
}

/* Returns: the number of files that failed. */
static guint run_files(Keep *keep, const GStrv files, const IfmModelOptions *open, const IfmModelCase *model_case,
                       GPtrArray *rows)
{
    IfmModelRequest request = { .open = open, .seed = model_case->seed, .is_run = TRUE, .note = cli_note_of };
    guint n_failed = 0;
    for (char **file = files; *file != NULL && cli_interrupt_signal() == 0; file++)
    {
        cli_log("INFO", "%s on %s: begins", *file, model_case->device);
        request.text = *file;
        RunRow *row = run_file(keep, &request, model_case);
        if (row == NULL)
            break;
        g_ptr_array_add(rows, row);
        n_failed += row->reason != NULL;
        cli_log("INFO", "%s on %s: %s", *file, row->device, row->reason != NULL ? row->reason : "measured");
    }
    return n_failed;
}

/* (transfer full) @rows: (transfer full) */
static IfmDocument *document_of(GPtrArray *rows)
{
    static const char *const file[] = { "file", NULL }, *const median[] = { "median_ns", NULL };
    const RunRow *longest = NULL;
    double sum = 0;
    gsize n = 0;
    for (guint i = 0; i < rows->len; i++)
    {
        const RunRow *row = rows->pdata[i];
        if (!(row->median_ns > 0))
            continue;
        sum += row->median_ns;
        n++;
        longest = longest == NULL || row->median_ns > longest->median_ns ? row : longest;
    }
    g_autofree char *share = ifm_say_per_cent(longest != NULL ? longest->median_ns / sum : (double)NAN),
                    *title = longest == NULL ? g_strdup("No kernel was measured")
                                             : g_strdup_printf("%s takes %s of the time of all %zu that were measured",
                                                               longest->file, share, n);
    IfmDocument *document = ifm_table_document("kernels", NULL, NULL, run_fields, rows);
    IfmBlock *block =
        ifm_document_plot(document, "times", IFM_FIGURE_BARS, title, "Median time of each kernel.",
                          &ifm_document_find(document, "kernels")->table, &(IfmPlotColumns){ .label = file, .y = median });
    block->figure.y.title = "median time";
    return document;
}

static int run_kernels(const Arguments *arguments)
{
    g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func((GDestroyNotify)run_row_free);
    g_autoptr(GError) error = NULL;
    g_auto(IfmModelFeed) sizes = { 0 };
    g_auto(Keep) keep = { .arguments = arguments };
    g_auto(GStrv) files = ifm_kernel_records_words(cli_positional(arguments), FALSE);
    IfmModelOptions open = { 0 };
    cli_fill(arguments, ifm_model_options, &open);
    if (!ifm_model_feed_init(&sizes, open.dims, &error)) /* once, not for each file */
        return cli_fail(error);
    if (!keep_open(&keep, &error))
        return cli_fail(error);
    keep.n_cases = g_strv_length(files);
    IfmModelCase model_case = { .device = cli_text(arguments, "device"),
                                .as_is = TRUE,
                                .keep_tensors = TRUE,
                                .threads = (int)cli_integer(arguments, "threads"),
                                .seed = 1,
                                .protocol = IFM_PROTOCOL_INIT };
    model_case.protocol.runs = (gsize)cli_integer(arguments, "runs");
    model_case.protocol.warmup = cli_given(arguments, "no-warmup") ? 0 : (gsize)cli_integer(arguments, "warmup");
    const guint n_failed = run_files(&keep, files, &open, &model_case, rows);
    const int status = cli_answer(arguments, (Answer){ .document = document_of(rows), .key = "kernels" });
    if (cli_interrupt_signal() != 0)
        return CLI_EXIT_SIGNAL + cli_interrupt_signal();
    return status == CLI_EXIT_OK && n_failed > 0 ? CLI_EXIT_FAILED : status;
}

static const IfmOption run_options[] = {
    { "device", IFM_OPTION_TEXT, "DEVICE", "where they run, ENGINE:UNIT", "onnxruntime:CPU", .letter = 'd' },
    { "warmup", IFM_OPTION_COUNT, "N", "runs before measuring", "10", .maximum = IFM_PROTOCOL_MAX_RUNS },
    { "runs", IFM_OPTION_COUNT, "N", "measured runs", "50", .minimum = 1, .maximum = IFM_PROTOCOL_MAX_RUNS },
    { "no-warmup", IFM_OPTION_FLAG, NULL, "measure from the first run on", .excludes = "warmup" },
    { "threads", IFM_OPTION_COUNT, "N", "threads of a run; 0: as many as the runtime takes", "1", .maximum = 1024,
      .letter = 't' },
    KEEP_ROWS("out/kernels"),
    { "json", IFM_OPTION_OUTPUT, "FILE", "write the same as JSON; - is standard output" },
    { "csv", IFM_OPTION_OUTPUT, "FILE", "write the same as CSV; - is standard output" },
    { NULL },
};

const Verb verb_kernels_run = {
    .name = "kernels run",
    .summary = "measure extracted kernels, each a model of its own",
    .arguments = "FILE|DIR…",
    .positional = POSITIONAL_FILE,
    .tables = { ifm_model_options, cli_page_options, run_options, cli_progress_options },
    .details =
        "FILE is a model that kernels extract wrote, or any ONNX file; DIR stands for those in it. It is run as it is, "
        "with optimisation off. The "
        "times of a ring are those of one copy: a run's time divided by the copies that the file's metadata names.\n"
        "Start and end are those of the measured runs, after warm-up, in UTC. A file that fails has a "
        "row with its reason; the others are measured all the same, and the exit status is 1. Each measurement is kept in "
        "the store; after an interruption the same command with --resume measures only what is missing.",
    .examples = { { "inferometer kernels run kernels/*.onnx --warmup 10 --runs 100 --csv kernels.csv",
                    "measures each kernel that kernels extract wrote" } },
    .run = run_kernels,
};
