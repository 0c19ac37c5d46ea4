/*
 * A plan and its run from C: what the options refuse, what is known before the run, and what is there after it.
 */
#include <base/fields.h>
#include <math.h>
#include <run/run.h>
#include <sqlite3.h>
#include <store/store.h>

#include "folder.h"

#define DEVICES                                                                                                            \
    "\"devices\": {\"A\": {\"device\": \"simulated:ideal/CPU\", \"form\": \"dynamic\"}, \"B\": {\"device\": "              \
    "\"simulated:ideal/GPU\", \"form\": \"dynamic\"}}"
#define PLAN                                                                                                               \
    "{\"plan\": [[[\"A\"],[1,2,3],[1]],[[\"B\"],[4,5,6,7],[1]]], " DEVICES                                                 \
    ", \"model\": \"graphsage\", \"sizes\": [[100, 300], [200, 500]], \"features\": 4, \"hidden\": 3}"

/* Place: a folder with a plan. */
typedef struct
{
    char *folder, *plan, *output;
    GString *notes;
    GPtrArray *progress; /* texts: "0/2 begins", "0/2 ok" */
    guint n_begun;
    gsize n_places; /* how often it said which batch of how many is out */
} Place;

static void place_set_up(Place *place, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    place->folder = g_dir_make_tmp("ifm-run-XXXXXX", &error);
    g_assert_no_error(error);
    place->plan = g_build_filename(place->folder, "plan.json", NULL);
    place->output = g_build_filename(place->folder, "out", NULL);
    place->notes = g_string_new(NULL);
    place->progress = g_ptr_array_new_with_free_func(g_free);
    g_assert_true(g_file_set_contents(place->plan, PLAN, -1, NULL));
}

static void place_tear_down(Place *place, gconstpointer data)
{
    remove_tree(place->folder);
    g_free(place->folder);
    g_free(place->plan);
    g_free(place->output);
    g_string_free(place->notes, TRUE);
    g_ptr_array_unref(place->progress);
}

static void on_note(const char *line, void *user)
{
    g_string_append_printf(((Place *)user)->notes, "%s\n", line);
}

static void on_progress(const IfmProgress *now, void *user)
{
    if (now->phase != NULL && now->outcome == NULL)
    {
        ((Place *)user)->n_places += strstr(now->phase, ", batch ") != NULL && strstr(now->phase, " of ") != NULL;
        return;
    }
    ((Place *)user)->n_begun += now->outcome == NULL;
    g_ptr_array_add(((Place *)user)->progress,
                    g_strdup_printf("%u/%" G_GSIZE_FORMAT " %s", ((Place *)user)->n_begun - 1, now->n_cases,
                                    now->outcome != NULL ? now->outcome : "begins"));
}

static IfmRunOptions usual(Place *place)
{
    IfmRunOptions options = { .note = on_note, .progress = on_progress, .user = place };
    ifm_options_init(ifm_run_options, &options);
    options.plan = place->plan;
    options.output = place->output;
    options.batches = 4;
    return options;
}

/* --- what is refused -------------------------------------------------------------------------------------------------- */

static void assert_misused(const IfmRunOptions *options, const char *line)
{
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_run_set_new(options, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_USAGE);
    g_assert_cmpstr(error->message, ==, line);
}

/* The lines of the command line, tests/cli/test-run-verb.c and test-usage.c have them, too. Nothing is made. */
static void test_misused(Place *place, gconstpointer data)
{
    IfmRunOptions options = usual(place);
    options.repetitions = 0;
    assert_misused(&options, "--repetitions: \"0\" is not a whole number from 1 to 10000");
    options = usual(place);
    options.search.max_blocks = 99;
    assert_misused(&options, "--max-blocks: \"99\" is not a whole number from 1 to 8");
    options = usual(place);
    options.device_time = "maybe";
    assert_misused(&options, "--device-time: \"maybe\" is none of on, off, sampled");
    options = usual(place);
    options.on_failure = 2;
    assert_misused(&options, "--on-failure: \"2\" is none of stop, replan");
    options = usual(place);
    options.time_budget_ns = 1000000000;
    assert_misused(&options, "--time-budget needs --ci: without it --repetitions are run, all of them");
    options = usual(place);
    options.ci_ratio = 0;
    assert_misused(&options, "--ci: above 0%, at most 100%");
    options = usual(place);
    options.watchdog_ns = 0;
    assert_misused(&options, "--watchdog 0s: a run in which nothing gets on would never end; a time above 0 is expected");
    options = usual(place);
    options.demo = TRUE;
    assert_misused(&options, "--plan and --demo: one of them, not both");
    options = usual(place);
    options.table = place->plan;
    assert_misused(&options, "--plan and --table: one of them, not both");
    options = usual(place);
    options.on_failure = IFM_RUN_REPLAN;
    assert_misused(&options, "--on-failure replan needs STUDY: whose measurements to plan by");
    options = usual(place);
    options.pilot_ns = 0;
    assert_misused(&options, "--pilot: has no effect on a plan that is given; with STUDY, or alone, it has");
    options = usual(place);
    options.search.objective = IFM_OBJECTIVE_THROUGHPUT; /* said, though it is what stands in anyway */
    assert_misused(&options, "--objective: has no effect on a plan that is given; with STUDY, or alone, it has");
    options = usual(place);
    options.sizes = (const char *const[]){ "5000", NULL };
    assert_misused(&options, "--size: \"5000\" is not NODES,EDGES, such as 5000,10000");
    g_remove(place->output);
}

static void test_other_faults(Place *place, gconstpointer data)
{
    IfmRunOptions options = usual(place);
    g_autoptr(GError) error = NULL;
    options.devices = (const char *const[]){ "C=simulated:ideal/CPU", NULL };
    assert_misused(&options, "--device C=simulated:ideal/CPU: no plan to be run has a device \"C\"");
    options.devices = (const char *const[]){ "A=nothing", NULL };
    g_assert_null(ifm_run_set_new(&options, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_clear_error(&error);
    options = usual(place);
    options.plan = "/nowhere/plan.json";
    g_assert_null(ifm_run_set_new(&options, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    g_clear_error(&error);
    options.plan = NULL;
    options.study = place->folder;
    g_assert_null(ifm_run_set_new(&options, &error));
    g_assert_nonnull(error);
}

/* --- a plan that is given --------------------------------------------------------------------------------------------- */

static void test_given(Place *place, gconstpointer data)
{
    IfmRunOptions options = usual(place);
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmRunSet) set = ifm_run_set_new(&options, &error);
    g_assert_no_error(error);
    gsize n;
    const IfmRunReport *runs = ifm_run_set_runs(set, &n);
    g_assert_cmpuint(n, ==, 2); /* the sizes of the plan's file */
    g_assert_cmpstr(runs[0].title, ==, "100 nodes, 300 edges");
    g_assert_cmpstr(runs[1].title, ==, "200 nodes, 500 edges");
    g_autofree char *plan = ifm_plan_to_text(runs[0].plan);
    g_assert_cmpstr(plan, ==, "A 1-3 > B 4-7");
    g_assert_null(runs[0].prediction);
    g_assert_null(runs[0].measurement);
    g_assert_null(runs[0].code);
    g_assert_false(ifm_run_has_figures(&runs[0]));
    g_assert_cmpuint(place->progress->len, ==, 0);

    g_assert_true(ifm_run_set_measure(set, NULL, &error));
    g_assert_no_error(error);
    static const char *const reported[] = { "0/2 begins", "0/2 ok", "1/2 begins", "1/2 ok" };
    g_assert_cmpuint(place->progress->len, ==, G_N_ELEMENTS(reported));
    for (gsize i = 0; i < G_N_ELEMENTS(reported); i++)
        g_assert_cmpstr(place->progress->pdata[i], ==, reported[i]);
    g_assert_cmpuint(place->n_places, >=, 2); /* the first batch of each run at least */
    runs = ifm_run_set_runs(set, NULL);
    for (gsize i = 0; i < 2; i++)
    {
        g_assert_cmpint(runs[i].measurement->outcome, ==, IFM_OUTCOME_OK);
        g_assert_cmpuint(json_array_size(ifm_measurement_result(runs[i].measurement, "repetitions")), ==,
                         IFM_RUN_USUAL_REPETITIONS);
        g_assert_cmpfloat(
            ifm_member_number(json_array_get(ifm_measurement_result(runs[i].measurement, "repetitions"), 0), "n_batches"),
            ==, 4);
        g_assert_nonnull(runs[i].analysis);
        g_autoptr(GPtrArray) figures = ifm_run_figures(&runs[i]);
        IfmRunVerdict verdict = ifm_run_judge(&runs[i], figures->pdata[0]);
        g_assert_true(isnan(verdict.difference_ratio)); /* nothing was predicted */
        g_assert_false(verdict.close || verdict.within || verdict.machine_moved);
        g_assert_null(verdict.faster_alone);
    }
    g_autoptr(IfmStore) store = ifm_store_open(ifm_run_set_store_path(set), IFM_STORE_READ, &error);
    g_assert_no_error(error);
    for (gsize i = 0; i < 2; i++)
    {
        g_autoptr(IfmMeasurement) stored = ifm_store_latest(store, runs[i].subject_case->key, &error);
        g_assert_no_error(error);
        g_assert_cmpint(stored->outcome, ==, IFM_OUTCOME_OK);
    }
}

/* Interrupted before it began: nothing is tried. */
static void test_interrupted(Place *place, gconstpointer data)
{
    const gint interrupted = 1;
    IfmRunOptions options = usual(place);
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmRunSet) set = ifm_run_set_new(&options, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_run_set_measure(set, &interrupted, &error));
    g_assert_null(ifm_run_set_runs(set, NULL)->measurement);
    g_assert_null(ifm_run_set_runs(set, NULL)->code);
    g_assert_cmpuint(place->progress->len, ==, 0);
}

/* Two at a time would measure each other. */
static void test_held(Place *place, gconstpointer data)
{
    IfmRunOptions options = usual(place);
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmRunSet) set = ifm_run_set_new(&options, &error), second = NULL;
    g_assert_no_error(error);
    second = ifm_run_set_new(&options, &error);
    g_assert_null(second);
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
}

/* Where the store takes no more, nothing further is run, and what was measured is there to be reported. */
static void test_store_refuses(Place *place, gconstpointer data)
{
    IfmRunOptions options = usual(place);
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmRunSet) set = ifm_run_set_new(&options, &error);
    g_assert_no_error(error);
    sqlite3 *db = NULL;
    g_assert_cmpint(sqlite3_open(ifm_run_set_store_path(set), &db), ==, SQLITE_OK);
    g_assert_cmpint(sqlite3_exec(db,
                                 "CREATE TRIGGER refuses BEFORE INSERT ON measurement "
                                 "BEGIN SELECT RAISE(ABORT, 'the disk is tired'); END",
                                 NULL, NULL, NULL),
                    ==, SQLITE_OK);
    sqlite3_close(db);
    g_assert_false(ifm_run_set_measure(set, NULL, &error));
    g_assert_nonnull(strstr(error->message, "the disk is tired"));
    const IfmRunReport *runs = ifm_run_set_runs(set, NULL);
    g_assert_cmpint(runs[0].measurement->outcome, ==, IFM_OUTCOME_OK);
    g_assert_nonnull(runs[0].subject_case);
    g_assert_true(ifm_run_has_figures(&runs[0]));
    g_assert_null(runs[1].measurement);
    g_assert_null(runs[1].code);
    g_assert_cmpuint(place->progress->len, ==, 2);
    g_assert_cmpstr(place->progress->pdata[1], ==, "0/2 not stored");
}

/* --- a plan that is searched ------------------------------------------------------------------------------------------ */

static char *import_laptop(Place *place)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *data = g_build_filename(g_getenv("IFM_DATA_DIR"), "data/meteor-lake/large-55-sizes.csv", NULL),
                    *store_path = NULL;
    char *folder = g_build_filename(place->folder, "laptop", NULL);
    IfmStageSizes sizes = { 0 };
    store_path = g_build_filename(folder, "store.db", NULL);
    g_autoptr(IfmStore) store = ifm_store_open(store_path, IFM_STORE_WRITE, &error);
    g_assert_no_error(error);
    ifm_study_import((const char *const[]){ data, NULL }, "laptop", &sizes, FALSE, store, NULL, &error);
    g_assert_no_error(error);
    return folder;
}

static void test_searched(Place *place, gconstpointer data)
{
    g_autofree char *laptop = import_laptop(place);
    IfmRunOptions options = usual(place);
    g_autoptr(GError) error = NULL;
    options.plan = options.output = NULL;
    options.study = laptop;
    options.sizes = (const char *const[]){ "20000,100000", NULL };
    options.devices = (const char *const[]){ "CPU=simulated:meteor-lake/CPU", "GPU=simulated:meteor-lake/GPU",
                                             "NPU=simulated:meteor-lake/NPU", NULL };
    options.repetitions = 1;
    options.pilot_ns = 0;
    g_autoptr(IfmRunSet) set = ifm_run_set_new(&options, &error);
    g_assert_no_error(error);
    gsize n;
    g_assert_cmpstr(ifm_run_set_runs(set, &n)->origin, ==, "searched at this size");
    g_assert_cmpuint(n, ==, 1);
    double predicted_ns = ifm_member_number(ifm_run_set_runs(set, NULL)->prediction, "makespan_ns");
    g_assert_cmpfloat(predicted_ns, >, 0);
    g_assert_cmpuint(ifm_run_set_runs(set, NULL)->simulated->len, ==, 1);
    g_assert_nonnull(strstr(place->notes->str, "planned and predicted by the study's figures of imported:"));

    g_assert_true(ifm_run_set_measure(set, NULL, &error));
    g_assert_no_error(error);
    const IfmRunReport *run = ifm_run_set_runs(set, NULL);
    g_assert_cmpint(run->measurement->outcome, ==, IFM_OUTCOME_OK);
    g_autoptr(GPtrArray) figures = ifm_run_figures(run);
    const IfmRunFigure *makespan = figures->pdata[0];
    g_assert_cmpstr(makespan->key, ==, "makespan");
    g_assert_cmpfloat(makespan->predicted, ==, predicted_ns);
    IfmRunVerdict verdict = ifm_run_judge(run, makespan);
    g_assert_cmpfloat(verdict.difference_ratio, ==, makespan->measured / predicted_ns - 1);
    g_assert_true(verdict.close == (fabs(verdict.difference_ratio) <= 0.05));
    g_assert_true(verdict.within == (makespan->measured >= verdict.lower_ns && makespan->measured <= verdict.upper_ns));
    g_assert_true(isnan(verdict.attained_ratio)); /* no bound was measured */

    /* The prediction was stored before the run, for whoever doubts it. */
    g_autofree char *name = g_strconcat("prediction ", run->subject_case->key, NULL);
    g_autoptr(IfmStore) store = ifm_store_open(ifm_run_set_store_path(set), IFM_STORE_READ, &error);
    json_auto_t *document = ifm_store_document(store, name, &error);
    g_assert_no_error(error);
    g_assert_cmpfloat(ifm_member_number(document, "prediction.makespan_ns"), ==, predicted_ns);
}

int main(int argc, char **argv)
{
    static const struct
    {
        const char *name;
        void (*test)(Place *place, gconstpointer data);
    } tests[] = { { "/run/misused", test_misused },  { "/run/other-faults", test_other_faults },
                  { "/run/given", test_given },      { "/run/interrupted", test_interrupted },
                  { "/run/held", test_held },        { "/run/store-refuses", test_store_refuses },
                  { "/run/searched", test_searched } };
    g_test_init(&argc, &argv, NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
        g_test_add(tests[i].name, Place, NULL, place_set_up, tests[i].test, place_tear_down);
    return g_test_run();
}
