#include "build-folders.h"
#include "cli/run-harness.h"

/*
 * What a run says: of what failed, of the trace that was asked for, and of figures that are another device's.
 */

static gsize n_times(const char *text, const char *part)
{
    gsize n = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
        n++;
    return n;
}

/* What failed is told once: on the page where there is one, else as a complaint; in JSON, too. */
static void test_reported_once(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *options;
        gsize n_out, n_err;
    } known[] = {
        { "--batches 2 --repetitions 6 -q", 1, 0 },  /* some repetitions were whole */
        { "--batches 20 --repetitions 1 -q", 0, 1 }, /* none was */
        { "--batches 20 --repetitions 1", 0, 1 },
        { "--batches 2 --repetitions 6 -q --json -", 3, 1 }, /* of the run, of its measurement and in the verdict */
    };
    g_auto(Ended) ended = { 0 };
    write_text(bench, "plan.json", ONE);
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    {
        g_autofree char *line =
            g_strconcat("run plan.json -o out -d A=simulated:faulty/FAILS-LATER ", known[i].options, NULL);
        run_line(bench, line, &ended);
        assert_status(&ended, 1);
        g_assert_cmpuint(n_times(ended.out, "status 9"), ==, known[i].n_out);
        g_assert_cmpuint(n_times(ended.err, "status 9"), ==, known[i].n_err);
    }
}

/* Where the process ended, or had to be ended, the devices that it can have been are named. */
static void test_crash(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *device, *part;
    } known[] = {
        { "A=simulated:faulty/CRASHES", "SIGABRT while running on A, B" },
        { "B=simulated:faulty/CRASHES-SEGV", "SIGSEGV while running on A, B" },
        { "B=simulated:faulty/CRASHES-COMPILING", "SIGABRT while compiling block 2 for B" },
    };
    g_auto(Ended) ended = { 0 };
    write_text(bench, "plan.json", CHAIN);
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    {
        g_autofree char *line =
            g_strdup_printf("run plan.json -q -o out -d %s --batches 10 --repetitions 1", known[i].device);
        run_line(bench, line, &ended);
        assert_status(&ended, 1);
        if (strstr(ended.err, known[i].part) == NULL)
            g_error("%s", ended.err);
    }
    assert_none_left(bench);
}

/* Where a run failed, what became of the trace that was asked for is said: of a crash there is none, and what lies there
 * from before is not its; a study's run has its simulation; of a device that failed there is all until then. */
static void test_trace_reported(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *line, *part;
        gboolean there;
    } known[] = {
        { "run plan.json -q -o out -d A=simulated:faulty/CRASHES --batches 10 --repetitions 1 --trace crashed.json",
          "crashed.json: not written: nothing of the run was recorded", FALSE },
        { "run plan.json -q -o out -d B=simulated:faulty/FAILS --batches 10 --repetitions 1 --trace failed.json",
          "failed.json: written, with what was recorded of the run until it ended\n", TRUE },
        { "run ./small -q --use CPU -d CPU=simulated:faulty/CRASHES --size 10,20 --batches 10 --repetitions 1 --trace "
          "simulated.json",
          "simulated.json: written, with the simulation alone: nothing of the run was recorded", TRUE },
        { "run ./small -q --use CPU -d CPU=simulated:faulty/FAILS --size 10,20 --batches 10 --repetitions 1 --trace "
          "both.json",
          "both.json: written, with what was recorded of the run until it ended, next to the simulation", TRUE },
    };
    g_auto(Ended) ended = { 0 };
    write_text(bench, "plan.json", CHAIN);
    write_text(bench, "small.yaml", SMALL);
    run_line(bench, "study run ./small.yaml -q -o small", &ended);
    assert_status(&ended, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    {
        run_line(bench, known[i].line, &ended);
        assert_status(&ended, 1);
        if (strstr(ended.err, known[i].part) == NULL)
            g_error("%s", ended.err);
        const char *name = strrchr(known[i].line, ' ') + 1;
        g_assert_true(is_there(bench, name) == known[i].there);
    }
    run_line(bench, "run plan.json -q -o out --batches 5 --repetitions 1 --trace whole.json", &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.err, ==, ""); /* nothing failed: nothing to say */
}

/* Figures that were measured of one device and stand for another are told of, once an alias. */
static void test_substitutes(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_text(bench, "small.yaml", SMALL);
    run_line(bench, "study run ./small.yaml -o small", &ended);
    assert_status(&ended, 0);
    g_assert_null(strstr(ended.err, "the study names"));
    run_line(bench, "run ./small --use CPU --size 10,20 --size 5,8 --batches 5 --repetitions 1 -d CPU=simulated:lab/FIXED",
             &ended);
    assert_status(&ended, 0);
    g_assert_cmpuint(n_times(ended.err, "inferometer: CPU: planned and predicted by the study's figures of "
                                        "simulated:lab/LINKED; simulated:lab/FIXED is what runs\n"),
                     ==, 1);
    run_line(bench, "run ./small --use CPU --size 10,20 --batches 5 --repetitions 1 -d CPU=simulated:lab/LINKED", &ended);
    assert_status(&ended, 0);
    g_assert_null(strstr(ended.err, "figures of"));
    run_line(bench, "study run ./small.yaml -o other -d CPU=simulated:lab/FIXED", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.err, "inferometer: CPU: the figures are of simulated:lab/FIXED from now on; the study "
                                       "names simulated:lab/LINKED\n"));
}

/* Imported tables say nothing of what is here: all devices that the plan needs are asked for at once. */
static void test_imported(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench,
             "study import " IFM_SOURCE_DIR
             "/data/meteor-lake/large-55-sizes.csv --name laptop --features 4 --hidden 3 -o laptop -q",
             &ended);
    assert_status(&ended, 0);
    write_text(bench, "both.json", "[[[\"CPU\",\"GPU\"],[1,2,3,4,5,6,7],[0.5,0.5]]]");
    run_line(bench, "run laptop --plan both.json --size 1000,2000 -q", &ended);
    assert_complaint(&ended, 3,
                     "both.json: the study was imported, which does not say what its devices are here: -d CPU=DEVICE -d "
                     "GPU=DEVICE is needed");
    run_line(bench, "run laptop --plan both.json --size 1000,2000 -q -d GPU=simulated:lab/FIXED", &ended);
    assert_complaint(&ended, 3, "what its devices are here: -d CPU=DEVICE is needed");
    run_line(bench, "run laptop --use CPU --size 1000,2000 -q", &ended);
    assert_complaint(&ended, 3, "plan searched at 1000 nodes, 2000 edges by laptop/store.db: the study was imported");
    run_line(bench,
             "run laptop --plan both.json --size 1000,2000 -q -d CPU=simulated:lab/FIXED -d GPU=simulated:lab/LINKED "
             "--batches 5 --repetitions 1",
             &ended);
    assert_status(&ended, 0); /* the NPU is in no block: nothing has to be said of it */
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/run-reports/once", Bench, NULL, bench_init, test_reported_once, bench_clear);
    g_test_add("/run-reports/crash", Bench, NULL, bench_init, test_crash, bench_clear);
    g_test_add("/run-reports/trace", Bench, NULL, bench_init, test_trace_reported, bench_clear);
    g_test_add("/run-reports/substitutes", Bench, NULL, bench_init, test_substitutes, bench_clear);
    g_test_add("/run-reports/imported", Bench, NULL, bench_init, test_imported, bench_clear);
    return g_test_run();
}
