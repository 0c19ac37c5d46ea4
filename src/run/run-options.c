/* The options of run. */
#include <base/fields.h>
#include <plan/plan.h>
#include <run/run.h>

static const char *const device_times[] = { "on", "off", "sampled", NULL };
static const char *const failures[] = { [IFM_RUN_STOP] = "stop", [IFM_RUN_REPLAN] = "replan", NULL };

#define AT(member) .at = G_STRUCT_OFFSET(IfmRunOptions, member)

const IfmOption ifm_run_options[] = {
    { "plan", IFM_OPTION_FILE, "FILE", "the plan to run, as plan --json writes it, or bare blocks; - is standard input",
      AT(plan) },
    { "table", IFM_OPTION_FILE, "FILE", "plans by size, as plan --table writes them: each graph has its own",
      .excludes = "plan,demo,pilot", AT(table) },
    { "demo", IFM_OPTION_FLAG, NULL, "a pipeline of matrix products on the available devices; needs no study",
      .excludes = "plan", AT(demo) },
    { "size", IFM_OPTION_TEXT, "NODES,EDGES", "a graph's size to run batches of; without it those of the plan or study",
      .is_list = TRUE, AT(sizes), .repeatable = TRUE },
    { "graph", IFM_OPTION_FILE, "FILE", "a graph to run batches of: an edge list, a Matrix Market file, a TUDataset",
      AT(graphs), .repeatable = TRUE },
    { "partitions", IFM_OPTION_COUNT, "N",
      "divide each graph into so many subgraphs (METIS); each, with its ghost nodes, is a batch", "1", .minimum = 1,
      .maximum = 65536, AT(parts) },
    { "batches", IFM_OPTION_COUNT, "N", "batches of one run", "100", .minimum = 2, .maximum = 1000000, AT(batches) },
    { "repetitions", IFM_OPTION_COUNT, "N", "runs to measure, after one to warm up; with --ci the maximum, then 100",
      G_STRINGIFY(IFM_RUN_USUAL_REPETITIONS), .minimum = 1, .maximum = 10000, .deferred = TRUE, AT(repetitions) },
    { "ci", IFM_OPTION_RATIO, "PERCENT",
      "repeat (10 times at least) until half the throughput's 95 % interval is at most this part of it", .minimum = 1,
      AT(ci_ratio) },
    { "time-budget", IFM_OPTION_DURATION, "TIME", "with --ci, the maximum time to warm up and repeat for", "0",
      .deferred = TRUE, AT(time_budget_ns) },
    { "queue-depth", IFM_OPTION_COUNT, "N", "batches that may lie between two blocks", "2", .minimum = 1, .maximum = 1024,
      AT(queue_depth) },
    { "block-depth", IFM_OPTION_COUNT, "N", "batches that the devices of a block may be apart", "2", .minimum = 1,
      .maximum = 16, AT(block_depth) },
    { "device-time", IFM_OPTION_TEXT, "WORD", "the devices' own counters: on, off, or sampled now and then", "off",
      device_times, AT(device_time) },
    { "verify", IFM_OPTION_FLAG, NULL, "compare every batch's outputs with those of the reference", AT(verify) },
    { "bound", IFM_OPTION_FLAG, NULL,
      "also measure, interleaved, each device alone and all at once, each on whole batches of its own, as a bound for "
      "the plan",
      AT(bound) },
    { "pilot", IFM_OPTION_DURATION, "TIME",
      "try each plan in short runs before it is predicted, three rounds in so long and twice as many at most: shares and "
      "prediction then go by what the devices do together now; 0: by the study alone; without it 8s where the study does "
      "not tell plans apart, else 0",
      .deferred = TRUE, AT(pilot_ns) },
    { "on-failure", IFM_OPTION_CHOICE, "WORD", "where a device fails: stop, or replan and go on with the others", "stop",
      failures, AT(on_failure) },
    { "watchdog", IFM_OPTION_DURATION, "TIME",
      "ends a run in which no batch progressed for so long, above 0 (a compile may take 60s, or so long where that is "
      "more)",
      "60s", AT(watchdog_ns) },
    { .table = ifm_plan_search_options, AT(search) },
    { "device", IFM_OPTION_TEXT, "ALIAS=DEVICE", "puts another device behind an alias of the plan", AT(devices),
      .letter = 'd', .repeatable = TRUE },
    { "model", IFM_OPTION_TEXT, "NAME", "the staged model of a plan that does not say", IFM_RUN_USUAL_MODEL,
      .deferred = TRUE, AT(model) },
    { "features", IFM_OPTION_COUNT, "N", "numbers that a node comes with, where the plan does not say",
      G_STRINGIFY(IFM_RUN_USUAL_FEATURES), .minimum = 1, .maximum = 1000000, .deferred = TRUE, AT(features) },
    { "hidden", IFM_OPTION_COUNT, "N", "numbers that a node leaves with, where the plan does not say",
      G_STRINGIFY(IFM_RUN_USUAL_HIDDEN), .minimum = 1, .maximum = 1000000, .deferred = TRUE, AT(hidden) },
    { "seed", IFM_OPTION_COUNT, "N", "seed of weights, features and graphs", "1", .maximum = G_MAXUINT32, AT(seed) },
    { "output", IFM_OPTION_FOLDER, "DIR",
      "folder of the study's results, or of the runs alone where it has none; without it the study's, or out/run",
      AT(output), .letter = 'o' },
    { "resume", IFM_OPTION_FLAG, NULL, "do not measure again what the store holds already, short runs among it",
      AT(resume) },
    { NULL },
};

gboolean ifm_run_options_check(const IfmRunOptions *options, GError **error)
{
    if (!ifm_options_check(ifm_run_options, options, error))
        return FALSE;
    if (options->time_budget_ns != IFM_OPTION_UNSET && options->ci_ratio == IFM_OPTION_UNSET)
        return ifm_error_misuse(error, "--time-budget needs --ci: without it --repetitions are run, all of them");
    if (options->demo && options->study != NULL)
        return ifm_error_misuse(error, "--demo brings its own plan: no other can be given");
    if (options->watchdog_ns == 0)
        return ifm_error_misuse(error, "--watchdog 0s: a run in which nothing gets on would never end; a time above 0 is "
                                       "expected");
    return TRUE;
}
