#include <store/store.h>

#include "cli/study-harness.h"

/*
 * `inferometer study submit`, `status` and `merge` with programs of this file's own in place of Slurm's: what is refused,
 * what is recorded, and what the script of the job array does. test-study-slurm.c has a real cluster.
 */

#define POINTS                                                                                                             \
    "title: points\nkind: profile\nmodels: [matmul]\ndims: [{name: m, sizes: [4, 8, 16]}]\ndevices:\n"                     \
    "  A: {device: simulated:lab/FIXED}\n  B: {device: simulated:lab/GAUSSIAN}\n"
#define PROTOCOL "protocol: {warmup: 1, runs: 5}\n"
#define N_CASES 6

static void bench_init_points(Bench *bench, gconstpointer data)
{
    bench_init(bench, data);
    write_text(bench, "points.yaml", POINTS PROTOCOL);
    g_autofree char *slurm = bench_path(bench, "slurm");
    g_assert_cmpint(g_mkdir(slurm, 0700), ==, 0);
}

static void install(const Bench *bench, const char *program, const char *body)
{
    g_autofree char *name = g_build_filename("slurm", program, NULL), *path = bench_path(bench, name);
    g_autofree char *text = g_strdup_printf("#!/bin/sh\n%s\n", body);
    write_text(bench, name, text);
    g_assert_cmpint(g_chmod(path, 0700), ==, 0);
}

/* "inferometer LINE" with only these programs in place of Slurm's. */
static GSubprocessLauncher *launcher_of(const Bench *bench, gboolean with_tools)
{
    GSubprocessLauncher *launcher = bench_launcher(bench);
    g_autofree char *slurm = bench_path(bench, "slurm"),
                    *path = with_tools ? g_strdup_printf("%s:/usr/bin:/bin", slurm) : g_strdup(slurm);
    g_subprocess_launcher_setenv(launcher, "PATH", path, TRUE);
    return launcher;
}

static void run_slurm(const Bench *bench, const char *line, Ended *ended)
{
    g_autoptr(GSubprocessLauncher) launcher = launcher_of(bench, TRUE);
    g_autofree char *whole = g_strdup_printf("%s %s", PROGRAM, line);
    g_auto(GStrv) words = g_strsplit(whole, " ", -1);
    ended_clear(ended);
    launch(launcher, (const char *const *)words, ended);
}

/* What a task of the job array does. */
static void run_task(const Bench *bench, const char *script, const char *number)
{
    g_auto(Ended) ended = { 0 };
    g_autoptr(GSubprocessLauncher) launcher = launcher_of(bench, TRUE);
    g_subprocess_launcher_setenv(launcher, "SLURM_ARRAY_TASK_ID", number, TRUE);
    launch(launcher, (const char *[]){ "sh", script, NULL }, &ended);
    assert_status(&ended, 0);
}

/* --- refusals ----------------------------------------------------------------------------------------------------------
 */

static void test_no_slurm(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autoptr(GSubprocessLauncher) launcher = launcher_of(bench, FALSE);
    launch(launcher, (const char *[]){ PROGRAM, "study", "submit", "points.yaml", "--slurm", "--shards", "2", NULL },
           &ended);
    assert_complaint(&ended, 4, "sbatch is not installed");
    g_assert_nonnull(strstr(ended.err, "slurm-client"));
    g_assert_false(is_there(bench, "out"));
}

/* The queue's own words, in one line; nothing is left of a submission that was refused. */
static void test_refused(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *body, *line;
    } cases[] = {
        { "echo 'sbatch: error: invalid partition specified: x' >&2\n"
          "echo 'sbatch: error: Batch job submission failed: Invalid partition name specified' >&2\nexit 1",
          "inferometer: sbatch: invalid partition specified: x; Batch job submission failed: Invalid partition name "
          "specified\n" },
        { "exit 3", "inferometer: sbatch: ended with status 3 and said nothing\n" },
        { "echo Submitted batch job 7", "inferometer: sbatch: answered \"Submitted batch job 7\", expected the number of a "
                                        "job\n" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_auto(Ended) ended = { 0 };
        install(bench, "sbatch", cases[i].body);
        run_slurm(bench, "study submit points.yaml --slurm --shards 2", &ended);
        assert_status(&ended, 1);
        g_assert_cmpstr(ended.err, ==, cases[i].line);
        g_assert_false(is_there(bench, "out"));
    }
}

/* What is wrong is said before anything is written. */
static void test_wrong(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *line;
        int status;
        const char *part;
    } cases[] = {
        { "--shards 2", 2, "needs --slurm" },
        { "--slurm", 2, "needs --shards N" },
        { "--slurm --shards 0", 2, "--shards: \"0\" is not a whole number from 1 to 1000000" },
        { "--slurm --shards 7", 3, "--shards: 7 is more than the 6 cases of points" },
        { "--slurm --shards 2 --gpu l40s", 2, "--gpu: needs --cluster FILE" },
        { "--slurm --shards 2 --sbatch=-pmain", 2, "\"-pmain\" is not an option of sbatch in its long form" },
        { "--slurm --shards 2 --sbatch=--array=1-3", 2, "--array is set by study submit itself" },
        { "--slurm --shards 2 -d A=simulated:lab/FIXED -d A=simulated:lab/PLAIN", 2, "its alias is given twice" },
        { "--slurm --shards 2 --cluster cluster.yaml --gpu l40", 3,
          "\"l40\" is not a GPU of the cluster; it has l40s, "
          "a100; did you mean \"l40s\"?" },
        { "--slurm --shards 2 --cluster cluster.yaml --partition mian", 3,
          "\"mian\" is not a partition of the cluster; it has main, fast; did you mean \"main\"?" },
        { "--slurm --shards 2 --cluster cluster.yaml --constraint gpul40", 3,
          "\"gpul40\" is not a constraint of the cluster; it has gpul40s, gpua100; did you mean \"gpul40s\"?" },
        { "--slurm --shards 2 --cluster cluster.yaml --constraint gpul40s&gpua10", 3, "did you mean \"gpua100\"?" },
        { "--slurm --shards 2 --cluster cluster.yaml --partition fast --time 2h", 3,
          "--time: is above the limit of partition fast" },
        { "--slurm --shards 2 --cluster wrong.yaml", 3, "wrong.yaml:1: unknown key \"partitoin\"; did you mean" },
        { "--missing", 3, "was not submitted: \"study submit --slurm --shards N\" does that" },
        { "--missing --runs 7", 2, "--missing and --runs: one of them, not both" },
    };
    write_text(bench, "wrong.yaml", "partitoin: main\n");
    write_text(bench, "cluster.yaml",
               "partitions:\n  main: {constraints: [gpul40s]}\n  fast: {constraints: [gpua100], max_time: 1 h}\n"
               "gpus:\n  l40s: {constraint: gpul40s, partition: main, gres: \"gpu:1\"}\n  a100: {constraint: gpua100}\n");
    install(bench, "sbatch", "echo 12");
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_auto(Ended) ended = { 0 };
        g_autofree char *line = g_strdup_printf("study submit points.yaml %s", cases[i].line);
        run_slurm(bench, line, &ended);
        assert_complaint(&ended, cases[i].status, cases[i].part);
        g_assert_false(is_there(bench, "out"));
    }
}

/* One of two wins, while it submits and afterwards. */
static void test_at_once(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autoptr(GError) error = NULL;
    install(bench, "sbatch", ": >asked; while [ ! -e go ]; do sleep 0.01; done; echo '12;east'");
    install(bench, "squeue", "echo '12_1|RUNNING|n7'");
    g_autoptr(GSubprocessLauncher) launcher = launcher_of(bench, TRUE);
    g_autoptr(GSubprocess) first = g_subprocess_launcher_spawn(launcher, &error, PROGRAM, "study", "submit", "points.yaml",
                                                               "--slurm", "--shards", "2", NULL);
    g_assert_no_error(error);
    for (int look = 0; look < 1000 && !is_there(bench, "asked"); look++)
        g_usleep(10000);
    run_slurm(bench, "study submit points.yaml --slurm --shards 2", &ended);
    assert_complaint(&ended, 4, "submits this study at this moment");
    write_text(bench, "go", "");
    g_assert_true(g_subprocess_wait_check(first, NULL, &error));
    run_slurm(bench, "study submit points.yaml --slurm --shards 3", &ended);
    assert_complaint(&ended, 3, "was submitted already as 2 shards (job 12)");
    json_auto_t *record = load_json(bench, "out/points/cluster/submission.json");
    const json_t *jobs = json_object_get(record, "jobs");
    g_assert_cmpuint(json_array_size(jobs), ==, 1);
    g_assert_cmpstr(text_of(json_array_get(jobs, 0), "cluster"), ==, "east");
}

/* A submission that died before sbatch answered does not keep the next one from what is missing. */
static void test_killed(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autoptr(GError) error = NULL;
    install(bench, "sbatch", "echo $$ >asked; exec sleep 30");
    install(bench, "squeue", "echo no job was to be asked for >&2; exit 1");
    g_autoptr(GSubprocessLauncher) launcher = launcher_of(bench, TRUE);
    g_autoptr(GSubprocess) first = g_subprocess_launcher_spawn(launcher, &error, PROGRAM, "study", "submit", "points.yaml",
                                                               "--slurm", "--shards", "2", NULL);
    g_assert_no_error(error);
    for (int look = 0; look < 1000 && !is_there(bench, "asked"); look++)
        g_usleep(10000);
    g_subprocess_force_exit(first);
    g_subprocess_wait(first, NULL, NULL);
    g_autofree char *pid = read_text(bench, "asked");
    kill((pid_t)g_ascii_strtoll(pid, NULL, 10), SIGKILL);
    run_slurm(bench, "study submit points.yaml --slurm --shards 2", &ended);
    assert_complaint(&ended, 3, "was submitted already as 2 shards (job unknown)");
    install(bench, "sbatch", "echo 13");
    run_slurm(bench, "study submit points.yaml --missing", &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.out, ==, "job 13: 2 of 2 shards, by out/points/cluster/job.sh\n");
}

/* --- what is submitted -------------------------------------------------------------------------------------------------
 */

static void test_script(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_text(bench, "cluster.yaml",
               "account: lab\ntime: 90 min\nmem: 2GiB\nexclusive: true\nsetup: [module load cuda]\n"
               "sbatch: [\"--reservation=bench\"]\n"
               "gpus:\n  l40s: {constraint: gpul40s, partition: main, gres: \"gpu:1\"}\n");
    install(bench, "sbatch", "echo \"$@\" >asked; echo 12");
    run_slurm(bench,
              "study submit points.yaml --slurm --shards 3 --cluster cluster.yaml --gpu l40s --time 61s "
              "--sbatch --comment=it's --runs 7 -d C=simulated:lab/PLAIN --retry",
              &ended);
    assert_status(&ended, 0);
    g_autofree char *script = read_text(bench, "out/points/cluster/job.sh"), *asked = read_text(bench, "asked");
    g_assert_cmpstr(asked, ==, "--parsable out/points/cluster/job.sh\n");
    static const char *const lines[] = {
        "#SBATCH --job-name=points\n",    "#SBATCH --array=1-3\n",
        "#SBATCH --open-mode=append\n",   "#SBATCH --requeue\n",
        "#SBATCH --signal=B:USR1@15\n",   "#SBATCH --partition=main\n",
        "#SBATCH --constraint=gpul40s\n", "#SBATCH --gres=gpu:1\n",
        "#SBATCH --account=lab\n",        "#SBATCH --time=2\n",
        "#SBATCH --mem=2048M\n",          "#SBATCH --exclusive\n",
        "#SBATCH --reservation=bench\n",  "#SBATCH \"--comment=it's\"\n",
        "\nmodule load cuda\n",           " '--device' 'C=simulated:lab/PLAIN' '--runs' '7' '--retry' &\n",
    };
    for (gsize i = 0; i < G_N_ELEMENTS(lines); i++)
        if (strstr(script, lines[i]) == NULL)
            g_error("expected %s in %s", lines[i], script);
    g_assert_nonnull(strstr(script, "/out/points/shard-%a-of-3.out\n"));
}

/* A dry run leaves the script and no record. */
static void test_dry_run(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_slurm(bench, "study submit points.yaml --slurm --shards 3 --dry-run", &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.out, ==, "out/points/cluster/job.sh: 3 of 3 shards, not submitted\n");
    g_assert_true(is_there(bench, "out/points/cluster/job.sh"));
    g_assert_false(is_there(bench, "out/points/cluster/submission.json"));
}

/* Words that a shell or sbatch would read otherwise. */
static void test_names(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    static const char *const folders[] = { "it's $HOME `x` \"y\" #1 %a", "line\nbreak", "back\\slash" };
    install(bench, "sbatch", "echo 12");
    for (gsize i = 0; i < G_N_ELEMENTS(folders); i++)
    {
        g_autoptr(GSubprocessLauncher) launcher = launcher_of(bench, TRUE);
        ended_clear(&ended);
        launch(launcher,
               (const char *[]){ PROGRAM, "study", "submit", "points.yaml", "--slurm", "--shards", "3", "-o", folders[i],
                                 NULL },
               &ended);
        assert_status(&ended, i == 0 ? 0 : 3);
        g_autofree char *record = g_build_filename(folders[i], "cluster", "submission.json", NULL);
        g_assert_cmpint(is_there(bench, record), ==, i == 0);
    }
    g_autofree char *script = g_build_filename(folders[0], "cluster", "job.sh", NULL),
                    *store = g_build_filename(folders[0], "cluster", "shard-2-of-3", "store.db", NULL);
    run_task(bench, script, "2");
    g_assert_cmpint(count_measured(bench, store), ==, N_CASES / 3);
}

/* --- status, --missing, merge ------------------------------------------------------------------------------------------
 */

static void submit_three(const Bench *bench)
{
    g_auto(Ended) ended = { 0 };
    install(bench, "sbatch", "echo 12");
    run_slurm(bench, "study submit points.yaml --slurm --shards 3", &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.out, ==, "job 12: 3 of 3 shards, by out/points/cluster/job.sh\n");
}

static void test_status(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    submit_three(bench);
    run_task(bench, "out/points/cluster/job.sh", "1");
    install(bench, "squeue", "echo \"$@\" >asked; printf '12_2|RUNNING|n7\\n12_3|PENDING|(Resources)\\n'");
    run_slurm(bench, "study status points.yaml", &ended);
    assert_status(&ended, 0);
    check_golden("study-status-shards.txt", ended.out);
    g_autofree char *asked = read_text(bench, "asked");
    g_assert_cmpstr(asked, ==, "--noheader --array --format=%i|%T|%R --jobs=12\n");
    /* The queue has forgotten the job: the stores alone tell. */
    install(bench, "squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1");
    run_slurm(bench, "study status out/points", &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.err, ==, "");
    g_assert_nonnull(strstr(ended.out, "points: 3 shards, 6 cases: 2 done, 0 failed, 0 unavailable, 4 missing\n"));
    g_assert_nonnull(strstr(ended.out, "    2  missing"));
    /* Nor does it matter to them that the queue cannot be asked. */
    install(bench, "squeue", "echo 'squeue: error: Unable to contact slurm controller' >&2; exit 1");
    run_slurm(bench, "study status points.yaml", &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.err, ==, "inferometer: the queue is unknown: squeue: Unable to contact slurm controller\n");
    g_assert_nonnull(strstr(ended.out, "2 done, 0 failed, 0 unavailable, 4 missing\n"));
    run_slurm(bench, "study submit points.yaml --missing", &ended);
    assert_complaint(&ended, 1, "squeue: Unable to contact slurm controller");
}

static void test_missing(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    submit_three(bench);
    run_task(bench, "out/points/cluster/job.sh", "2");
    install(bench, "squeue", "echo '12_3|PENDING|(Resources)'");
    install(bench, "sbatch", "echo 15");
    run_slurm(bench, "study submit points.yaml --missing --shards 4", &ended);
    assert_complaint(&ended, 3, "--shards: points was submitted as 3 shards, not 4");
    run_slurm(bench, "study submit points.yaml --missing", &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.out, ==, "job 15: 1 of 3 shards, by out/points/cluster/job.sh\n");
    g_autofree char *script = read_text(bench, "out/points/cluster/job.sh");
    g_assert_nonnull(strstr(script, "#SBATCH --array=1\n"));
    install(bench, "squeue", "case $* in *=15) echo '15_1|RUNNING|n2';; *) echo '12_3|RUNNING|n1';; esac");
    run_slurm(bench, "study submit points.yaml --missing", &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.err, ==, "inferometer: out/points: nothing to submit: no shard without a task lacks a result\n");
    install(bench, "squeue", "exit 0");
    run_slurm(bench, "study merge points.yaml -q", &ended);
    assert_status(&ended, 0);
    assert_once_each(bench, "out/points/store.db", 2);
    run_task(bench, "out/points/cluster/job.sh", "1");
    run_task(bench, "out/points/cluster/job.sh", "3");
    run_slurm(bench, "study merge points.yaml", &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.err, ==, "inferometer: out/points/store.db: 3 of 3 shards, 6 of 6 cases measured\n");
    assert_once_each(bench, "out/points/store.db", N_CASES);
    run_slurm(bench, "study merge out/points -q", &ended); /* a second time: nothing is new */
    assert_status(&ended, 0);
    assert_once_each(bench, "out/points/store.db", N_CASES);
    run_line(bench, "study run points.yaml -o whole -q", &ended);
    g_autofree char *merged = read_text(bench, "out/points/points.csv"), *whole = read_text(bench, "whole/points.csv");
    g_assert_cmpstr(merged, ==, whole);
    run_line(bench, "study run points.yaml", &ended); /* the merged store is the study's */
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.err, "all 6 cases were measured before"));
}

/* The worker of a run; 0 where it has none yet. */
static pid_t worker_of(const Bench *bench)
{
    pid_t found = 0;
    g_autofree char *mark = g_strdup_printf(MARK_VARIABLE "=%s", bench->mark);
    g_autoptr(GDir) proc = g_dir_open("/proc", 0, NULL);
    for (const char *name; (name = g_dir_read_name(proc)) != NULL;)
    {
        g_autofree char *path = g_build_filename("/proc", name, "comm", NULL), *comm = NULL;
        if (g_ascii_isdigit(name[0]) && g_file_get_contents(path, &comm, NULL, NULL) &&
            g_str_has_prefix(comm, "inferometer-wor") && has_setting(name, mark))
            found = (pid_t)g_ascii_strtoll(name, NULL, 10);
    }
    return found;
}

/* A batch system sends SIGTERM to all processes of a task: no case fails by it, and the task continues to its end. */
static void test_terminated(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_text(bench, "slow.yaml",
               "title: slow\nkind: profile\nmodels: [matmul]\ndims: [{name: m, sizes: [4, 8, 16, 32, 64, 128]}]\ndevices:\n"
               "  A: {device: simulated:lab/FIXED}\nprotocol: {warmup: 0, runs: 60}\n");
    g_autoptr(GSubprocess) run = start_line(bench, "study run slow.yaml -q");
    pid_t worker = 0;
    for (int look = 0; look < 1000 && count_measured(bench, "out/slow/store.db") < 1; look++)
        g_usleep(10000);
    worker = worker_of(bench);
    g_assert_cmpint(worker, >, 0);
    kill(worker, SIGTERM);
    g_subprocess_send_signal(run, SIGTERM);
    g_subprocess_wait(run, NULL, NULL);
    g_assert_cmpint(status_of(run), ==, 128 + SIGTERM);
    g_assert_cmpint(query(bench, "out/slow/store.db", "SELECT COUNT(*) FROM measurement WHERE outcome != 'ok'"), ==, 0);
    run_line(bench, "study run slow.yaml -q", &ended);
    assert_status(&ended, 0);
    assert_once_each(bench, "out/slow/store.db", 6);
    assert_none_left(bench);
}

/* Failures and devices that are not there are results, until --retry. */
static void test_failures(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    write_text(bench, "points.yaml", POINTS "  ABSENT: {device: simulated:lab/NOWHERE}\n" PROTOCOL);
    install(bench, "sbatch", "echo 12");
    install(bench, "squeue", "exit 0");
    run_slurm(bench, "study submit points.yaml --slurm --shards 2 -d B=simulated:faulty/REFUSES", &ended);
    assert_status(&ended, 0);
    for (int number = 1; number <= 2; number++)
    {
        g_autofree char *text = g_strdup_printf("%d", number);
        g_autoptr(GSubprocessLauncher) launcher = launcher_of(bench, TRUE);
        g_subprocess_launcher_setenv(launcher, "SLURM_ARRAY_TASK_ID", text, TRUE);
        ended_clear(&ended);
        launch(launcher, (const char *[]){ "sh", "out/points/cluster/job.sh", NULL }, &ended);
        assert_status(&ended, 1);
    }
    run_slurm(bench, "study status points.yaml", &ended);
    g_assert_nonnull(strstr(ended.out, "points: 2 shards, 9 cases: 3 done, 3 failed, 3 unavailable, 0 missing\n"));
    run_slurm(bench, "study submit points.yaml --missing -q", &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.out, ==, "");
    run_slurm(bench, "study submit points.yaml --missing --retry", &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.out, ==, "job 12: 2 of 2 shards, by out/points/cluster/job.sh\n");
    g_autofree char *script = read_text(bench, "out/points/cluster/job.sh");
    g_assert_nonnull(strstr(script, "'B=simulated:faulty/REFUSES' '--retry' &\n"));
}

/* A table whose status says what became of each combination, by the tasks that are left. What an algorithm does not support
 * is an answer. A model of the command line is found from every folder. */
static void test_combinations(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    static const struct
    {
        const char *queue, *winograd, *runtime;
    } rows[] = {
        { "12_2|RUNNING|n2", "running ", "running " },
        { "12_2|PENDING|(Resources)", "queued ", "queued " },
        { "", "missing ", "missing " },
    };
    write_text(bench, "conv.yaml",
               "title: Two\nkind: conv-algorithms\nmodels: [small-cnn]\nalgorithms: [winograd, runtime]\nverify: false\n"
               "sizes: [16, 32]\nenergy: none\ndevices:\n  A: {device: simulated:lab/FIXED}\nprotocol: {runs: 5}\n");
    run_line(bench, "zoo export small-cnn -o net.onnx -q", &ended);
    install(bench, "sbatch", "echo 12");
    run_slurm(bench, "study submit conv.yaml --slurm --shards 2 --model net.onnx --model small-cnn --max-size 64", &ended);
    assert_status(&ended, 0);
    g_autofree char *script = read_text(bench, "out/conv/cluster/job.sh"), *net = bench_path(bench, "net.onnx"),
                    *word = g_strdup_printf("'--model' '%s' '--model' 'small-cnn'", net);
    g_assert_nonnull(strstr(script, word));
    run_task(bench, "out/conv/cluster/job.sh", "1");
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_autofree char *body = g_strdup_printf("echo '%s'", rows[i].queue);
        install(bench, "squeue", body);
        run_slurm(bench, "study status conv.yaml", &ended);
        assert_status(&ended, 0);
        g_autofree char *winograd = g_strdup_printf("A small-cnn, winograd  %s", rows[i].winograd),
                        *runtime = g_strdup_printf("A small-cnn, runtime   %s", rows[i].runtime);
        g_test_message("%s", ended.out);
        g_assert_true(strstr(ended.out, winograd) != NULL && strstr(ended.out, runtime) != NULL);
        g_assert_nonnull(strstr(ended.out, "\n    1  done "));
    }
    run_task(bench, "out/conv/cluster/job.sh", "2");
    run_slurm(bench, "study status conv.yaml", &ended);
    g_assert_nonnull(
        strstr(ended.out, "conv: 2 shards, 6 cases: 3 done, 3 unsupported, 0 failed, 0 unavailable, 0 missing\n"));
    g_assert_nonnull(strstr(ended.out, "A small-cnn, winograd  unsupported "));
    g_assert_nonnull(strstr(ended.out, "A small-cnn, runtime   done "));
    g_assert_nonnull(strstr(ended.out, "A net.onnx, winograd   unsupported "));
    run_slurm(bench, "study submit conv.yaml --missing --retry", &ended); /* nothing failed */
    g_assert_cmpstr(ended.out, ==, "");
}

/* --- what cannot be merged ---------------------------------------------------------------------------------------------
 */

static void measure_shard(const Bench *bench, const char *study, const char *shard, const char *folder)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *line = g_strdup_printf("study run %s -q --only measure --shard %s -o %s", study, shard, folder);
    run_line(bench, line, &ended);
    assert_status(&ended, 0);
}

static void set_shard(const Bench *bench, const char *name, const char *key, json_t *value)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *path = bench_path(bench, name);
    g_autoptr(IfmStore) store = ifm_store_open(path, IFM_STORE_WRITE, &error);
    g_assert_no_error(error);
    json_auto_t *manifest = ifm_store_document(store, "study", &error);
    json_object_set_new(json_object_get(manifest, "shard"), key, value);
    g_assert_true(ifm_store_set_document(store, "study", manifest, &error));
}

static void test_merge_refused(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *line;
        int status;
        const char *part;
    } cases[] = {
        { "merge points.yaml", 3, "was not submitted to a cluster; expected the folders of its shards" },
        { "merge points.yaml a1 other", 3,
          "other/store.db: is a shard of study \"other\", and a1/store.db one of "
          "\"points\"" },
        { "merge points.yaml a1 three", 3, "three/store.db: is one of 3 shards, and a1/store.db one of 2" },
        { "merge points.yaml a1 longer", 3, "is a shard of another \"points\" than a1/store.db" },
        { "merge points.yaml a1 a1", 3, "a1/store.db and a1/store.db are both shard 1 of 2" },
        { "merge points.yaml a1 older", 3, "older/store.db: is of inferometer 0.0.9, schema " },
        { "merge points.yaml a1 schema", 3, "schema/store.db: is of inferometer " },
        { "merge points.yaml a1 whole", 3, "whole/store.db: is not the store of a shard" },
        { "merge other.yaml a1 a2", 3, "a1/store.db: is the store of study \"points\", not of \"other\"" },
        { "merge points.yaml a1 nowhere", 4, "nowhere/store.db: " },
        { "merge points.yaml a1 a2 -o other-whole", 3, "is the store of study \"other\", not of \"points\"" },
    };
    g_auto(Ended) ended = { 0 };
    write_text(bench, "other.yaml", POINTS PROTOCOL);
    g_autofree char *longer = bench_path(bench, "longer.d");
    g_assert_cmpint(g_mkdir(longer, 0700), ==, 0);
    write_text(bench, "longer.d/points.yaml", POINTS "protocol: {warmup: 1, runs: 6}\n");
    measure_shard(bench, "points.yaml", "1/2", "a1");
    measure_shard(bench, "points.yaml", "2/2", "a2");
    measure_shard(bench, "points.yaml", "2/2", "older");
    measure_shard(bench, "points.yaml", "2/2", "schema");
    measure_shard(bench, "points.yaml", "2/3", "three");
    measure_shard(bench, "longer.d/points.yaml", "2/2", "longer");
    measure_shard(bench, "other.yaml", "2/2", "other");
    run_line(bench, "study run points.yaml -q -o whole", &ended);
    run_line(bench, "study run other.yaml -q -o other-whole", &ended);
    set_shard(bench, "older/store.db", "program", json_string("0.0.9"));
    set_shard(bench, "schema/store.db", "schema", json_integer(2));
    for (gsize i = 0; i < G_N_ELEMENTS(cases); i++)
    {
        g_autofree char *line = g_strdup_printf("study %s", cases[i].line);
        run_line(bench, line, &ended);
        assert_complaint(&ended, cases[i].status, cases[i].part);
        g_assert_false(is_there(bench, "out"));
    }
    g_assert_cmpint(count_measured(bench, "other-whole/store.db"), ==, N_CASES);
    run_line(bench, "study merge points.yaml a1 a2 -q", &ended);
    assert_status(&ended, 0);
    assert_once_each(bench, "out/points/store.db", N_CASES);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
#define ADD(name) g_test_add("/study-submit/" #name, Bench, NULL, bench_init_points, test_##name, bench_clear)
    ADD(no_slurm);
    ADD(refused);
    ADD(wrong);
    ADD(at_once);
    ADD(killed);
    ADD(script);
    ADD(dry_run);
    ADD(names);
    ADD(status);
    ADD(missing);
    ADD(terminated);
    ADD(failures);
    ADD(combinations);
    ADD(merge_refused);
    return g_test_run();
}
