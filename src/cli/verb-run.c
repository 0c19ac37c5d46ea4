#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "protocol.h"
#include "run-set.h"

/* Running: a set of streams on its way. */
typedef struct
{
    RunSet *set;
    const Arguments *arguments;
    IfmRunner *runner;
    Progress *progress;
    GError *store_error; /* the store took no more: nothing further is run */
} Running;

/* The most of them where an interval is aimed at, and nobody said how many. */
#define MOST_REPETITIONS 100

/* --- doing ------------------------------------------------------------------------------------------------------------ */

static gsize repetitions_of(const Arguments *arguments)
{
    gboolean many = cli_given(arguments, "ci") && !cli_given(arguments, "repetitions");
    return many ? MOST_REPETITIONS : (gsize)cli_integer(arguments, "repetitions");
}

static IfmPlanCase case_of(const Running *running, const RunJob *job, const char *trace_path)
{
    const Arguments *arguments = running->arguments;
    return (IfmPlanCase){
        .plans = (const json_t *const *)job->documents->pdata,
        .graphs = (const IfmPlanGraph *)(const void *)job->graphs->data,
        .n_graphs = job->graphs->len,
        .sizes = running->set->sizes,
        .n_batches = (gsize)cli_integer(arguments, "batches"),
        .queue_depth = (int)cli_integer(arguments, "queue-depth"),
        .block_depth = (int)cli_integer(arguments, "block-depth"),
        .device_time = cli_text(arguments, "device-time"),
        .watchdog_ns = cli_integer(arguments, "watchdog"),
        .verify = cli_given(arguments, "verify") || cli_given(arguments, "demo"),
        .fallbacks = job->fallbacks,
        .prediction = job->prediction,
        .trace_path = trace_path,
        .seed = (guint32)cli_integer(arguments, "seed"),
        .repetitions = repetitions_of(arguments),
        .ci_ratio = cli_given(arguments, "ci") ? cli_ratio(arguments, "ci") : 0,
        .time_budget_ns = cli_integer(arguments, "time-budget"),
        .bound = cli_given(arguments, "bound"),
    };
}

/* On disk before the run begins: nobody can say that it was made afterwards. */
static gboolean store_prediction(Running *running, const RunJob *job)
{
    if (job->prediction == NULL)
        return TRUE;
    g_autofree char *name = g_strconcat("prediction ", job->sealed->key, NULL);
    json_auto_t *document = json_pack("{s:s,s:I,s:O}", "case_key", job->sealed->key, "predicted_unix_ms",
                                      (json_int_t)(g_get_real_time() / 1000), "prediction", job->prediction);
    return ifm_store_set_document(running->set->store, name, document, &running->store_error);
}

/* What the trace so far tells, also of a run that failed. */
static void read_trace(RunJob *job, const char *path)
{
    IfmTraceQuestion question = IFM_TRACE_QUESTION_INIT;
    job->recorded = g_file_test(path, G_FILE_TEST_EXISTS) ? ifm_trace_read(path, NULL, NULL) : NULL;
    if (job->recorded != NULL)
        job->analysis = ifm_trace_analyse(job->recorded->pdata[0], &question, NULL);
    g_unlink(path);
}

static void run_job(Running *running, RunJob *job, guint index)
{
    g_autofree char *trace_path = g_strdup_printf("%s/.trace-%d-%u.json", running->set->folder, (int)getpid(), index);
    IfmPlanCase like = case_of(running, job, trace_path);
    progress_begin(running->progress, job->title, like.ci_ratio > 0 ? 0 : like.repetitions, like.ci_ratio);
    if (!run_pilot(running->set, running->arguments, job, running->runner, &like, &job->error))
    {
        progress_end(running->progress, "not stored");
        return;
    }
    IfmPlanCase plan_case = case_of(running, job, trace_path);
    job->sealed = ifm_runner_plan_case(running->runner, &plan_case, &job->error);
    if (job->sealed == NULL || !store_prediction(running, job))
    {
        progress_end(running->progress, "not stored");
        return;
    }
    job->measurement = ifm_runner_measure_plan(running->runner, &plan_case, job->sealed, &job->error);
    if (job->measurement != NULL)
        ifm_store_commit(running->set->store, job->sealed, job->measurement, &running->store_error);
    read_trace(job, trace_path);
    progress_end(running->progress, job->measurement == NULL || running->store_error != NULL ? "not stored"
                                    : job->measurement->outcome == IFM_OUTCOME_OK            ? "ok"
                                                                                  : job->measurement->error_code);
}

/* --- telling ---------------------------------------------------------------------------------------------------------- */

static const char *code_of(const RunJob *job)
{
    if (job->measurement != NULL)
        return job->measurement->outcome == IFM_OUTCOME_OK ? NULL : job->measurement->error_code;
    return job->error != NULL ? ifm_error_code_name(job->error->code) : NULL;
}

static IfmRunStory story_of(const RunJob *job)
{
    return (IfmRunStory){
        .title = job->title,
        .plan = job->plans->len == 1 ? job->plans->pdata[0] : NULL,
        .origin = job->origins->len > 0 ? job->origins->str : NULL,
        .prediction = job->prediction,
        .subject_case = job->sealed,
        .measurement = job->measurement,
        .trace = job->recorded != NULL ? job->recorded->pdata[0] : NULL,
        .analysis = job->analysis,
        .code = code_of(job),
        .reason = job->error != NULL ? job->error->message : NULL,
    };
}

static gboolean is_tried(const RunJob *job)
{
    return job->measurement != NULL || job->error != NULL;
}

static GArray *collect(const RunSet *set)
{
    GArray *stories = g_array_new(FALSE, TRUE, sizeof(IfmRunStory));
    for (guint i = 0; i < set->jobs->len; i++)
    {
        IfmRunStory story = story_of(set->jobs->pdata[i]);
        if (is_tried(set->jobs->pdata[i]))
            g_array_append_val(stories, story);
    }
    return stories;
}

/* The simulation of a stream and its run; borrowed. */
static GPtrArray *traces_of(const RunJob *job)
{
    GPtrArray *traces = g_ptr_array_new();
    for (guint t = 0; t < job->simulated->len; t++)
        g_ptr_array_add(traces, job->simulated->pdata[t]);
    for (guint t = 0; job->recorded != NULL && t < job->recorded->len; t++)
        g_ptr_array_add(traces, job->recorded->pdata[t]);
    return traces;
}

/* Those of all streams, side by side. */
static int write_traces(const RunSet *set, const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(GPtrArray) all = g_ptr_array_new();
    for (guint i = 0; i < set->jobs->len; i++)
    {
        const RunJob *job = set->jobs->pdata[i];
        g_autoptr(GPtrArray) traces = traces_of(job);
        for (guint t = 0; t < traces->len; t++)
        {
            plan_name_stream(traces->pdata[t], job->title);
            g_ptr_array_add(all, traces->pdata[t]);
        }
    }
    if (all->len == 0)
        return CLI_EXIT_OK;
    return ifm_trace_write((const IfmTrace *const *)all->pdata, all->len, path, &error) ? CLI_EXIT_OK : cli_fail(error);
}

static int write_files(const Running *running, const IfmRunStory *stories, gsize n)
{
    const char *json_path = cli_text(running->arguments, "json"), *csv_path = cli_text(running->arguments, "csv"),
               *trace_path = cli_text(running->arguments, "trace");
    int status = CLI_EXIT_OK;
    if (json_path != NULL)
    {
        json_auto_t *json = ifm_run_to_json(stories, n);
        status = cli_write_json(json_path, json);
    }
    if (csv_path != NULL && status == CLI_EXIT_OK)
    {
        g_autofree char *csv = ifm_run_batches_to_csv(stories, n);
        status = cli_write(csv_path, csv);
    }
    if (trace_path != NULL && status == CLI_EXIT_OK)
        status = write_traces(running->set, trace_path);
    return status;
}

static void append_timelines(GString *text, const RunSet *set, const IfmScreen *screen)
{
    for (guint i = 0; i < set->jobs->len; i++)
    {
        g_autoptr(GPtrArray) traces = traces_of(set->jobs->pdata[i]);
        g_autofree char *timeline =
            traces->len > 0 ? ifm_trace_timeline((const IfmTrace *const *)traces->pdata, traces->len, NULL, screen) : NULL;
        if (timeline != NULL)
            g_string_append_printf(text, "\n%s", timeline);
    }
}

static gboolean to_stdout(const Arguments *arguments)
{
    return g_strcmp0(cli_text(arguments, "json"), "-") == 0 || g_strcmp0(cli_text(arguments, "csv"), "-") == 0 ||
           g_strcmp0(cli_text(arguments, "trace"), "-") == 0;
}

static int print_page(const Running *running, const IfmRunStory *stories, gsize n)
{
    IfmScreen screen = ifm_screen_detect(STDOUT_FILENO);
    g_autofree char *page = ifm_run_to_screen(stories, n, &screen);
    g_autoptr(GString) text = g_string_new(page);
    if (cli_given(running->arguments, "timeline"))
        append_timelines(text, running->set, &screen);
    return cli_print(text->str);
}

/* --- how it ended ----------------------------------------------------------------------------------------------------- */

/* A stage that is not for its device: the plan is what is wrong. */
static int status_of_code(const char *code)
{
    IfmErrorCode is = ifm_error_code_from_name(code);
    return cli_status_of(is == IFM_ERROR_UNSUPPORTED ? IFM_ERROR_INVALID : is);
}

/* What all that failed have in common; 1 where they differ. */
static int status_of(const RunSet *set)
{
    int common = CLI_EXIT_OK;
    for (guint i = 0; i < set->jobs->len; i++)
    {
        const char *code = code_of(set->jobs->pdata[i]);
        if (code == NULL)
            continue;
        int status = status_of_code(code);
        common = common == CLI_EXIT_OK || common == status ? status : CLI_EXIT_FAILED;
    }
    return common;
}

/* A run that nothing came of has no page: its reason is all there is to tell. @told: pages were printed, with the reasons
 * of the others */
static void complain_of_failures(const RunSet *set, gboolean told)
{
    for (guint i = 0; i < set->jobs->len; i++)
    {
        const RunJob *job = set->jobs->pdata[i];
        IfmRunStory story = story_of(job);
        const char *code = code_of(job);
        if (code == NULL || (told && ifm_run_has_figures(&story)))
            continue;
        cli_complain("%s: %s%s", job->title, job->measurement != NULL ? job->measurement->reason : job->error->message,
                     ifm_error_code_from_name(code) == IFM_ERROR_UNSUPPORTED
                         ? "; a plan that gives these stages to another device is right"
                         : "");
    }
}

/* A run of which one repetition was whole is kept, as far as it had got; one that was broken off before is not. */
static void complain_of_interruption(const RunSet *set)
{
    const char *lost = NULL;
    guint n_kept = 0;
    for (guint i = 0; i < set->jobs->len; i++)
    {
        const RunJob *job = set->jobs->pdata[i];
        n_kept += job->measurement != NULL;
        if (job->measurement == NULL && job->error != NULL)
            lost = job->title;
    }
    const char *path = ifm_store_path(set->store);
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
static void tell_trace(const Running *running)
{
    const char *path = cli_text(running->arguments, "trace");
    const RunSet *set = running->set;
    guint n_recorded = 0, n_simulated = 0;
    if (path == NULL)
        return;
    for (guint i = 0; i < set->jobs->len; i++)
    {
        const RunJob *job = set->jobs->pdata[i];
        n_recorded += job->recorded != NULL;
        n_simulated += job->simulated->len > 0;
    }
    const char *name = g_str_equal(path, "-") ? "standard output" : path,
               *simulations = n_simulated > 1 ? "simulations" : "simulation";
    if (n_recorded == 0 && n_simulated == 0)
        cli_complain("%s: not written: nothing of the run was recorded", name);
    else if (n_recorded == 0)
        cli_complain("%s: written, with the %s alone: nothing of the run was recorded", name, simulations);
    else
        cli_complain("%s: written, with what was recorded of %s%s%s", name,
                     set->jobs->len == 1            ? "the run until it ended"
                     : n_recorded == set->jobs->len ? "each run until it ended"
                                                    : "some of the runs",
                     n_simulated > 0 ? ", beside the " : "", n_simulated > 0 ? simulations : "");
}

static int finish(Running *running)
{
    g_autoptr(GArray) stories = collect(running->set);
    const IfmRunStory *all = (const IfmRunStory *)(const void *)stories->data;
    g_autoptr(GArray) with_page = g_array_new(FALSE, FALSE, sizeof(IfmRunStory));
    for (guint i = 0; i < stories->len; i++)
        if (ifm_run_has_figures(&all[i]))
            g_array_append_val(with_page, all[i]);
    gboolean told = with_page->len > 0 && !to_stdout(running->arguments);
    int written = stories->len > 0 ? write_files(running, all, stories->len) : CLI_EXIT_OK;
    if (written == CLI_EXIT_OK && told)
        written = print_page(running, (const IfmRunStory *)(const void *)with_page->data, with_page->len);
    if (running->store_error != NULL)
        return cli_fail(running->store_error);
    if (cli_interrupt_signal() != 0)
    {
        complain_of_interruption(running->set);
        if (written == CLI_EXIT_OK)
            tell_trace(running);
        return CLI_EXIT_SIGNAL + cli_interrupt_signal();
    }
    complain_of_failures(running->set, told && written == CLI_EXIT_OK);
    int status = status_of(running->set);
    if (written == CLI_EXIT_OK && status != CLI_EXIT_OK)
        tell_trace(running);
    return written != CLI_EXIT_OK ? written : status;
}

static int check_arguments(const Arguments *arguments)
{
    if (cli_given(arguments, "time-budget") && !cli_given(arguments, "ci"))
        return cli_usage(cli_verb_of(arguments), "--time-budget needs --ci: without it --repetitions are run, all of them");
    if (cli_integer(arguments, "watchdog") == 0)
        return cli_usage(cli_verb_of(arguments),
                         "--watchdog 0s: a run in which nothing gets on would never end; a time above 0 is right");
    int status = cli_check_ci(arguments);
    return status != CLI_EXIT_OK ? status
                                 : cli_check_outputs(arguments, (const char *const[]){ "json", "csv", "trace", NULL });
}

static int run_run(const Arguments *arguments)
{
    g_auto(RunSet) set = { 0 };
    int status = check_arguments(arguments);
    if (status != CLI_EXIT_OK || (status = run_set_init(&set, arguments)) != CLI_EXIT_OK)
        return status;
    g_autoptr(Progress) progress = progress_new(set.jobs->len, cli_given(arguments, "quiet"));
    IfmLimits limits = IFM_LIMITS_INIT;
    limits.hang_ns = MAX(limits.hang_ns, cli_integer(arguments, "watchdog")); /* of a compile, for one */
    IfmRunnerOptions options = {
        .limits = limits, .interrupted = cli_interrupt_install(), .progress = progress_update, .progress_user = progress
    };
    g_autoptr(IfmRunner) runner = ifm_runner_new(&options);
    Running running = { .set = &set, .arguments = arguments, .runner = runner, .progress = progress };
    for (guint i = 0; i < set.jobs->len && cli_interrupt_signal() == 0 && running.store_error == NULL; i++)
        run_job(&running, set.jobs->pdata[i], i);
    status = finish(&running);
    g_clear_error(&running.store_error);
    return status;
}

/* --- the verb --------------------------------------------------------------------------------------------------------- */

static const char *const device_times[] = { "on", "off", "sampled", NULL };
static const char *const failures[] = { "stop", "replan", NULL };

static const Option run_options[] = {
    { "plan", 0, OPTION_FILE, FALSE, "FILE",
      "the plan to run, as plan --json writes it, or bare blocks; - is standard input" },
    { "table", 0, OPTION_FILE, FALSE, "FILE", "plans by size, as plan --table writes them: each graph has its own" },
    { "demo", 0, OPTION_FLAG, FALSE, NULL, "a pipeline of matrix products on the devices that are here; needs no study" },
    ROW_SIZE("a graph's size to run batches of; without it those of the plan or study"),
    { "graph", 0, OPTION_FILE, TRUE, "FILE", "a graph to run batches of: an edge list, a Matrix Market file, a TUDataset" },
    { "parts", 0, OPTION_COUNT, FALSE, "N", "part each graph (METIS): each subgraph with its ghost nodes is a batch", "1",
      .least = 1, .most = 65536 },
    { "batches", 0, OPTION_COUNT, FALSE, "N", "batches of one run", "100", .least = 1, .most = 1000000 },
    { "repetitions", 0, OPTION_COUNT, FALSE, "N", "runs to measure, after one to warm up; with --ci the most, then 100",
      "3", .least = 1, .most = 10000 },
    { "ci", 0, OPTION_RATIO, FALSE, "PERCENT",
      "repeat (10 times at least) until half the throughput's 95 % interval is at most this part of it" },
    { "time-budget", 0, OPTION_DURATION, FALSE, "TIME", "with --ci, the most time to warm up and repeat for", "0" },
    { "queue-depth", 0, OPTION_COUNT, FALSE, "N", "batches that may lie between two blocks", "2", .least = 1,
      .most = 1024 },
    { "block-depth", 0, OPTION_COUNT, FALSE, "N", "batches that the devices of a block may be apart", "2", .least = 1,
      .most = 16 },
    { "device-time", 0, OPTION_TEXT, FALSE, "WORD", "the devices' own counters: on, off, or sampled now and then", "off",
      device_times },
    { "verify", 0, OPTION_FLAG, FALSE, NULL, "compare every batch's outputs with those of the reference" },
    { "bound", 0, OPTION_FLAG, FALSE, NULL,
      "also measure, interleaved, each device alone and all at once, each on whole batches of its own: what a plan is held "
      "against" },
    { "pilot", 0, OPTION_DURATION, FALSE, "TIME",
      "try each plan in short runs before it is predicted, three rounds in so long and twice as many at most: shares and "
      "prediction then go by what the devices do together now; 0: by the study alone",
      "0" },
    { "on-failure", 0, OPTION_TEXT, FALSE, "WORD", "where a device fails: stop, or replan and go on with the others",
      "stop", failures },
    { "watchdog", 0, OPTION_DURATION, FALSE, "TIME",
      "ends a run in which no batch progressed for so long, above 0 (a compile may take 60s, or so long where that is "
      "more)",
      "60s" },
    ROW_OBJECTIVE,
    ROW_GRID,
    ROW_MAX_BLOCKS,
    ROW_NO_NPU_SPLIT,
    ROW_USE,
    ROW_WITHOUT,
    ROW_POWER,
    { "device", 'd', OPTION_TEXT, TRUE, "ALIAS=DEVICE", "puts another device behind an alias of the plan" },
    { "model", 0, OPTION_TEXT, FALSE, "NAME", "the staged model of a plan that does not say", "graphsage" },
    { "features", 0, OPTION_COUNT, FALSE, "N", "numbers that a node comes with, where the plan does not say", "500",
      .least = 1, .most = 1000000 },
    { "hidden", 0, OPTION_COUNT, FALSE, "N", "numbers that a node leaves with, where the plan does not say", "256",
      .least = 1, .most = 1000000 },
    { "seed", 0, OPTION_COUNT, FALSE, "N", "seed of weights, features and graphs", "1", .most = G_MAXUINT32 },
    { "json", 0, OPTION_FILE, FALSE, "FILE", "write everything as JSON; - is standard output" },
    { "csv", 0, OPTION_FILE, FALSE, "FILE", "write a row a batch: its time in each block, the bottleneck" },
    { "trace", 0, OPTION_FILE, FALSE, "FILE",
      "write simulation and run side by side as a Chrome trace; .gz is compressed" },
    { "timeline", 0, OPTION_FLAG, FALSE, NULL, "draw simulation and run" },
    { "output", 'o', OPTION_FOLDER, FALSE, "DIR",
      "folder of the store; without it the study's, or out/run where none is named" },
    { NULL },
};

static const char *const run_examples[] = {
    "inferometer run gnn-plan --size 5000,10000 --bound --verify",
    "plans, stores the prediction, runs 100 batches and shows both side by side",
    "inferometer run plan.json --trace run.json.gz",
    "runs a plan that inferometer plan --json wrote, and keeps the trace",
    "inferometer run --demo",
    "runs a pipeline on the devices that are here",
    NULL,
};

const Verb verb_run = {
    .name = "run",
    .summary = "run a stream of batches by a plan, prediction beside measurement",
    .arguments = "[PLAN.json|STUDY]",
    .least = 0,
    .most = 1,
    .positional = POSITIONAL_STUDY,
    .options = run_options,
    .details =
        WHICH_RESULTS " Without it, and without a plan: " PLAN_STUDY ". A study is planned first; given beside --plan it "
                      "makes the prediction.\n"
                      "Each size or graph has a run of its own; with --table they are one stream, each graph by its own "
                      "plan. The prediction is stored before the run starts.\n"
                      "A batch goes through the plan's blocks, a thread each, with bounded queues between them. Where "
                      "several devices share a block, each has its share of the nodes, with the edges that end there.",
    .examples = run_examples,
    .run = run_run,
};
