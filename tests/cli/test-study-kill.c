#include "cli/study-harness.h"

/*
 * A study is killed at 50 random moments, each with some but not all of its cases committed, and each time resumed to its
 * end: every case is there exactly once, and what is exported is what an uninterrupted run exports, byte for byte (the
 * devices are simulated ones that scatter alike each time).
 */

#define N_MOMENTS 50
#define RUN "study run kill.yaml -q"

/* Stage 3 is one that the NPU refuses: what failed is there exactly once, too. The NPU's models are static, so that both
 * phases are met. */
static const char yaml[] = "title: To be killed\n"
                           "subject: {model: graphsage, features: 4, hidden: 3, stages: [1, 3, 5, 7]}\n"
                           "sizes: [{nodes: 1000, edges: [2000, 3000]}]\n"
                           "devices:\n"
                           "  CPU: {device: simulated:meteor-lake/CPU}\n"
                           "  GPU: {device: simulated:meteor-lake/GPU}\n"
                           "  NPU: {device: simulated:meteor-lake/NPU}\n"
                           "protocol: {warmup: 2, runs: 10}\n"
                           "links: {measure: true, protocol: {warmup: 1, runs: 5}}\n";

/* raw_measurements.json has every sample, so it is what counts; the lookup table follows from it. */
static const char *const compared[] = { "raw_measurements.json", "lookup_table.json", "bandwidth_table.json" };

/* Kills it a moment after @n cases were committed. Returns: how many were when it was dead. */
static gint64 kill_after(const Bench *bench, gint64 n, gulong wait_us)
{
    g_autoptr(GSubprocess) process = start_line(bench, RUN " -o killed");
    while (g_subprocess_get_identifier(process) != NULL && count_measured(bench, "killed/store.db") < n)
        g_usleep(500);
    g_usleep(wait_us);
    g_subprocess_force_exit(process);
    g_subprocess_wait(process, NULL, NULL);
    return MAX(count_measured(bench, "killed/store.db"), 0);
}

static void assert_whole(const Bench *bench)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, "store check -q killed/store.db", &ended);
    assert_status(&ended, 0);
}

static void assert_same_exports(const Bench *bench)
{
    for (gsize i = 0; i < G_N_ELEMENTS(compared); i++)
    {
        g_autofree char *whole = g_build_filename("whole", compared[i], NULL);
        g_autofree char *killed = g_build_filename("killed", compared[i], NULL);
        g_autofree char *expected = read_text(bench, whole), *found = read_text(bench, killed);
        g_assert_cmpstr(found, ==, expected);
    }
}

static void test_kill(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autoptr(GRand) random = g_rand_new_with_seed(42);
    g_autofree char *folder = bench_path(bench, "killed");
    g_autoptr(GString) spread = g_string_new(NULL);
    write_text(bench, "kill.yaml", yaml);
    run_line(bench, RUN " -o whole", &ended);
    assert_status(&ended, 1);
    gint64 n_cases = count_measured(bench, "whole/store.db");
    g_assert_cmpint(n_cases, >=, 3 * 2 * 4);
    assert_once_each(bench, "whole/store.db", n_cases);
    guint n_moments = 0;
    for (guint n_tries = 0; n_moments < N_MOMENTS; n_tries++)
    {
        g_assert_cmpuint(n_tries, <, 10 * N_MOMENTS);
        gint64 kept =
            kill_after(bench, g_rand_int_range(random, 1, (gint32)n_cases), (gulong)g_rand_int_range(random, 0, 10000));
        if (kept > 0 && kept < n_cases)
        {
            n_moments++;
            g_string_append_printf(spread, " %d", (int)kept);
            assert_whole(bench);
            run_line(bench, RUN " -o killed", &ended);
            assert_status(&ended, 1);
            assert_once_each(bench, "killed/store.db", n_cases);
            assert_same_exports(bench);
        }
        remove_tree(folder);
    }
    g_test_message("of %d cases these were committed when it was killed:%s", (int)n_cases, spread->str);
    assert_none_left(bench);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/study-kill/moments", Bench, NULL, bench_init, test_kill, bench_clear);
    return g_test_run();
}
