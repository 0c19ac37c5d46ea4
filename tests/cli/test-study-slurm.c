#include "cli/slurm-cluster.h"
#include <math.h>

/*
 * Studies on a cluster that this test starts: a node that dies, a time limit that comes near, a task that is cancelled.
 * Nothing is lost, nothing is measured twice, and the tables are those of an unsharded run, byte for byte.
 */

/* 54 combinations of two axes at two sizes. */
#define SWEEP                                                                                                              \
    "title: A sweep\nkind: profile\nmodels: [matmul]\ndims:\n"                                                             \
    "  - {name: k, sizes: [1, 2, 3, 4, 5, 6]}\n  - {name: n, sizes: [1, 2, 3, 4, 5, 6, 7, 8, 9]}\n"                        \
    "devices:\n  A: {device: simulated:lab/GAUSSIAN}\n  B: {device: simulated:lab/FIXED}\nprotocol: {warmup: 2, runs: "    \
    "40}\n"
#define N_SWEEP (6 * 9 * 2)
#define N_SHARDS 6
#define SMALL_SLOW SMALL_HEAD SMALL_SIZES SMALL_DEVICES "protocol: {warmup: 2, runs: 20}\nlinks: {measure: false}\n"
/* How long a node refuses a task that it had and that was taken from it. */
#define REVOKED_US (3 * G_USEC_PER_SEC)
#define LOOKS 1200
#define LOOK_US 50000

/* --- what is looked at -------------------------------------------------------------------------------------------------
 */

static gint64 stored(const Bench *bench, const char *study, int shard, int n_shards)
{
    g_autofree char *store = g_strdup_printf("out/%s/cluster/shard-%d-of-%d/store.db", study, shard, n_shards);
    return MAX(count_measured(bench, store), 0);
}

static char *queue_of(const Cluster *cluster)
{
    return slurm_says(cluster, "squeue --noheader --array --format=%i|%T|%R");
}

/* Until no task waits or runs. What was queued again waits two minutes, unless it is told not to. */
static void await_end(const Cluster *cluster)
{
    for (int look = 0; look < LOOKS; look++)
    {
        g_autofree char *queue = queue_of(cluster);
        g_auto(GStrv) lines = g_strsplit(queue, "\n", -1);
        if (*queue == '\0')
            return;
        for (char **line = lines; *line != NULL; line++)
        {
            g_auto(GStrv) parts = g_strsplit(*line, "|", 3);
            if (g_strv_length(parts) != 3 || strstr(parts[2], "BeginTime") == NULL)
                continue;
            g_usleep(REVOKED_US);
            g_autofree char *now = g_strdup_printf("scontrol update jobid=%s StartTime=now", parts[0]);
            g_autofree char *said = slurm_says(cluster, now);
        }
        g_usleep(LOOK_US);
    }
    cluster_show_log(cluster, "slurmctld.log");
    g_error("the queue does not become empty");
}

/* The shard whose task runs on a node and has stored something, but not all; 0 where that did not come. */
static int await_halfway(const Cluster *cluster, const char *study, const char *node, int n_shards, gint64 n_cases)
{
    for (int look = 0; look < LOOKS; look++)
    {
        g_autofree char *queue = queue_of(cluster);
        for (int shard = 1; shard <= n_shards; shard++)
        {
            g_autofree char *task = g_strdup_printf("_%d|RUNNING|%s", shard, node);
            gint64 n = stored(cluster->bench, study, shard, n_shards);
            if (strstr(queue, task) != NULL && n > 1 && n < n_cases / 2)
                return shard;
        }
        g_usleep(LOOK_US / 10);
    }
    g_error("no task on %s", node);
}

static void assert_same(const Bench *bench, const char *one, const char *other)
{
    g_autofree char *left = read_text(bench, one), *right = read_text(bench, other);
    g_auto(GStrv) left_lines = g_strsplit(left, "\n", -1), right_lines = g_strsplit(right, "\n", -1);
    for (gsize i = 0; left_lines[i] != NULL && right_lines[i] != NULL; i++)
        g_assert_cmpstr(left_lines[i], ==, right_lines[i]); /* shows the first that differs alone */
    g_assert_true(g_str_equal(left, right));
}

/* Without how long measuring took. */
static void assert_same_points(const Bench *bench, const char *one, const char *other)
{
    json_auto_t *left = load_json(bench, one), *right = load_json(bench, other);
    json_object_del(json_object_get(left, "study"), "spent_ns");
    json_object_del(json_object_get(right, "study"), "spent_ns");
    g_autofree char *left_text = json_dumps(left, 0), *right_text = json_dumps(right, 0);
    g_assert_cmpstr(left_text, ==, right_text);
}

static gboolean cluster_skips(void)
{
    const char *lacking = cluster_lacks();
    g_autofree char *why = g_strdup_printf("no Slurm on this machine: %s is not installed", lacking);
    if (lacking != NULL)
        g_test_skip(why);
    return lacking != NULL;
}

/* --- the tests ---------------------------------------------------------------------------------------------------------
 */

static void test_node_dies(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    Cluster cluster;
    if (cluster_skips())
        return;
    write_text(bench, "sweep.yaml", SWEEP);
    run_line(bench, "study run sweep.yaml -q -o whole", &ended);
    assert_status(&ended, 0);
    cluster_start(&cluster, bench);
    run_line(bench, "study submit sweep.yaml --slurm --shards 6 --constraint gpul40s --time 10min", &ended);
    assert_status(&ended, 0);
    int dead = await_halfway(&cluster, "sweep", "n2", N_SHARDS, N_SWEEP / N_SHARDS);
    run_line(bench, "study status sweep.yaml", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "running"));
    g_assert_nonnull(strstr(ended.out, "  n2 "));
    g_assert_nonnull(strstr(ended.out, "queued"));
    cluster_kill_node(&cluster, 2);
    g_autofree char *said = slurm_says(&cluster, "scontrol update nodename=n2 state=down reason=test");
    for (int look = 0; look < LOOKS && stored(bench, "sweep", dead, N_SHARDS) < 2; look++)
        g_usleep(LOOK_US); /* the store is free once the kernel has ended who had it */
    g_assert_cmpint(stored(bench, "sweep", dead, N_SHARDS), >=, 2);
    run_line(bench, "study submit sweep.yaml --slurm --shards 6", &ended);
    assert_complaint(&ended, 3, "was submitted already as 6 shards");
    await_end(&cluster);
    run_line(bench, "study status sweep.yaml", &ended);
    g_assert_nonnull(strstr(ended.out, "sweep: 6 shards, 108 cases: 108 done, 0 failed, 0 unavailable, 0 missing\n"));
    g_assert_nonnull(strstr(ended.out, "A matmul     done       54    54       0            0        0\n"));
    run_line(bench, "study submit sweep.yaml --missing", &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.out, ==, "");
    for (int shard = 1; shard <= N_SHARDS; shard++)
        g_assert_cmpint(stored(bench, "sweep", shard, N_SHARDS), ==, N_SWEEP / N_SHARDS);
    /* The task that died goes on in its log where it was. */
    g_autofree char *log = g_strdup_printf("out/sweep/shard-%d-of-%d.out", dead, N_SHARDS),
                    *printed = read_text(bench, log);
    g_autofree char *resumed = g_strdup_printf("%d measured", N_SWEEP / N_SHARDS);
    g_assert_nonnull(strstr(printed, resumed));
    run_line(bench, "study merge sweep.yaml -q", &ended);
    assert_status(&ended, 0);
    assert_once_each(bench, "out/sweep/store.db", N_SWEEP);
    assert_same(bench, "whole/points.csv", "out/sweep/points.csv");
    assert_same_points(bench, "whole/points.json", "out/sweep/points.json");
    cluster_stop(&cluster);
}

/* One task is warned of its time limit and queues itself again; another is cancelled, and submitted again as missing. */
static void test_continued(Bench *bench, gconstpointer data)
{
    static const char *const compared[] = { "raw_measurements.json", "lookup_table.json", "bandwidth_table.json",
                                            "stages.csv" };
    g_auto(Ended) ended = { 0 };
    Cluster cluster;
    if (cluster_skips())
        return;
    write_text(bench, "small.yaml", SMALL_SLOW);
    run_line(bench, "study run small.yaml -q -o whole", &ended);
    assert_status(&ended, 0);
    cluster_start(&cluster, bench);
    run_line(bench, "study submit small.yaml --slurm --shards 2 --partition mian", &ended);
    assert_complaint(&ended, 1, "sbatch: invalid partition specified: mian; Batch job submission failed");
    g_assert_false(is_there(bench, "out"));
    run_line(bench, "study submit small.yaml --slurm --shards 2 --constraint gpul50s", &ended);
    assert_complaint(&ended, 1, "sbatch: Batch job submission failed: Invalid feature specification");
    run_line(bench, "study submit small.yaml --slurm --shards 2", &ended);
    assert_status(&ended, 0);
    g_auto(GStrv) words = g_strsplit_set(ended.out, " :", 3);
    int warned = await_halfway(&cluster, "small", "n1", 2, SMALL_N_CASES / 2),
        cancelled = await_halfway(&cluster, "small", "n2", 2, SMALL_N_CASES / 2);
    g_autofree char *warn = g_strdup_printf("scancel --batch --signal=USR1 %s_%d", words[1], warned),
                    *cancel = g_strdup_printf("scancel %s_%d", words[1], cancelled);
    g_autofree char *warn_said = slurm_says(&cluster, warn), *cancel_said = slurm_says(&cluster, cancel);
    await_end(&cluster);
    g_assert_cmpint(stored(bench, "small", cancelled, 2), <, SMALL_N_CASES / 2);
    run_line(bench, "study status small.yaml", &ended);
    g_autofree char *missing = g_strdup_printf("\n    %d  missing ", cancelled),
                    *done = g_strdup_printf("\n    %d  done ", warned);
    g_test_message("%s", ended.out);
    g_assert_nonnull(strstr(ended.out, missing));
    g_assert_nonnull(strstr(ended.out, done));
    run_line(bench, "study submit small.yaml --missing", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, ": 1 of 2 shards, by "));
    await_end(&cluster);
    run_line(bench, "study merge small.yaml -q", &ended);
    assert_status(&ended, 0);
    assert_once_each(bench, "out/small/store.db", SMALL_N_CASES);
    for (gsize i = 0; i < G_N_ELEMENTS(compared); i++)
    {
        g_autofree char *whole = g_build_filename("whole", compared[i], NULL),
                        *merged = g_build_filename("out/small", compared[i], NULL);
        assert_same(bench, whole, merged);
    }
    cluster_stop(&cluster);
}

/* A folder whose name a shell and sbatch would read otherwise; the log has its place there, too. */
static void test_folder(Bench *bench, gconstpointer data)
{
    static const char folder[] = "it's $HOME \"x\" #1 %a";
    g_auto(Ended) ended = { 0 };
    Cluster cluster;
    if (cluster_skips())
        return;
    write_text(bench, "small.yaml", SMALL);
    cluster_start(&cluster, bench);
    g_autoptr(GSubprocessLauncher) submit = bench_launcher(bench);
    launch(submit,
           (const char *[]){ PROGRAM, "study", "submit", "small.yaml", "--slurm", "--shards", "2", "-o", folder, NULL },
           &ended);
    assert_status(&ended, 0);
    await_end(&cluster);
    for (int shard = 1; shard <= 2; shard++)
    {
        g_autofree char *log = g_strdup_printf("%s/shard-%d-of-2.out", folder, shard), *printed = read_text(bench, log);
        g_assert_nonnull(strstr(printed, "CPU"));
    }
    ended_clear(&ended);
    g_autoptr(GSubprocessLauncher) merge = bench_launcher(bench);
    launch(merge, (const char *[]){ PROGRAM, "study", "merge", "small.yaml", "-q", "-o", folder, NULL }, &ended);
    assert_status(&ended, 0);
    g_autofree char *store = g_build_filename(folder, "store.db", NULL);
    assert_once_each(bench, store, SMALL_N_CASES);
    cluster_stop(&cluster);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name) g_test_add("/study-slurm/" #name, Bench, NULL, bench_init, test_##name, bench_clear)
    ADD(node_dies);
    ADD(continued);
    ADD(folder);
    return g_test_run();
}
