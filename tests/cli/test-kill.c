#include <sys/stat.h>

#include "cli/harness.h"

/*
 * The program is killed at 50 random moments, each with some but not all of its cases committed: the store opens, holds
 * whole measurements only, and none is lost that had been committed.
 */

#define N_MOMENTS 50
#define PROFILE "profile m.onnx --runs 50 --no-peak"

static const char *const units[] = { "A=simulated:lab/FIXED",  "B=simulated:lab/PLAIN",    "C=simulated:lab/GAUSSIAN",
                                     "D=simulated:lab/HALF",   "E=simulated:lab/DRIFTING", "F=simulated:lab/CORRELATED",
                                     "G=simulated:lab/LINKED", "H=simulated:lab/ROOFLINE" };
#define N_UNITS G_N_ELEMENTS(units)

/* @extra: options more. (transfer full) */
static char *command(const char *extra)
{
    g_autoptr(GString) line = g_string_new(PROFILE);
    for (gsize i = 0; i < N_UNITS; i++)
        g_string_append_printf(line, " -d %s", units[i]);
    g_string_append_printf(line, " %s", extra);
    return g_string_free(g_steal_pointer(&line), FALSE);
}

/* Starts a command, waits until it has said of @n_reported cases that they are stored, a while longer, and kills it.
 * Returns: how many it had told of by then. */
static guint kill_after(const Bench *bench, const char *line, guint n_reported, gulong wait_us)
{
    g_autoptr(GSubprocess) process = start_line(bench, line);
    g_autoptr(GDataInputStream) lines = g_data_input_stream_new(g_subprocess_get_stderr_pipe(process));
    guint reported = 0;
    char *text;
    while (reported < n_reported && (text = g_data_input_stream_read_line(lines, NULL, NULL, NULL)) != NULL)
    {
        reported += g_str_has_suffix(text, "  ok") && strstr(text, "in rounds") == NULL;
        g_free(text);
    }
    g_usleep(wait_us);
    g_subprocess_force_exit(process);
    while ((text = g_data_input_stream_read_line(lines, NULL, NULL, NULL)) != NULL)
    {
        reported += g_str_has_suffix(text, "  ok") && strstr(text, "in rounds") == NULL;
        g_free(text);
    }
    g_subprocess_wait(process, NULL, NULL);
    return reported;
}

/* Rounds, in which several are measured once more, are stored with all their sides or not at all. @n_sides: by how many
 * there are of them */
#define MAX_SIDES 16
static void check_rounds(const guint *n_sides)
{
    for (guint of = 2; of < MAX_SIDES; of++)
        g_assert_cmpuint(n_sides[of] % of, ==, 0);
}

/* The measurements that the killed program's store holds, each looked at. */
static guint count_whole(const Bench *bench)
{
    guint n_sides[MAX_SIDES] = { 0 }, n_of_rounds = 0;
    g_auto(Ended) ended = { 0 };
    run_line(bench, "store check -q killed/store.db", &ended);
    assert_status(&ended, 0);
    run_line(bench, "store export --format json killed/store.db", &ended);
    assert_status(&ended, 0);
    json_auto_t *document = parse_output(&ended);
    const json_t *cases = json_object_get(document, "cases");
    for (gsize i = 0; i < json_array_size(cases); i++)
    {
        const json_t *measurement = json_object_get(json_array_get(cases, i), "measurement");
        const json_t *options = json_object_get(json_object_get(json_array_get(cases, i), "case"), "options");
        const json_t *rounds = json_object_get(json_object_get(options, "protocol"), "rounds");
        if (rounds != NULL)
        {
            const json_int_t of = json_integer_value(json_object_get(rounds, "of"));
            g_assert_true(of > 1 && of < MAX_SIDES);
            n_sides[of]++;
            n_of_rounds++;
            continue;
        }
        g_assert_cmpuint(json_array_size(json_object_get(measurement, "samples_ns")), ==, 50);
        g_assert_true(json_is_object(json_object_get(measurement, "summary")));
        g_assert_cmpstr(json_string_value(json_object_get(measurement, "stop_reason")), ==, "fixed");
    }
    check_rounds(n_sides);
    return (guint)json_array_size(cases) - n_of_rounds;
}

static void test_kill(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autoptr(GRand) random = g_rand_new_with_seed(42);
    g_autofree char *folder = bench_path(bench, "killed"), *line = command("-o killed");
    guint n_moments = 0, n_tries = 0, spread[N_UNITS + 1] = { 0 };
    run_line(bench, "zoo export matmul m=8 k=8 n=8 -o m.onnx", &ended);
    assert_status(&ended, 0);
    for (; n_moments < N_MOMENTS; n_tries++)
    {
        g_assert_cmpuint(n_tries, <, 20 * N_MOMENTS);
        guint after = (guint)g_rand_int_range(random, 1, N_UNITS);
        guint reported = kill_after(bench, line, after, (gulong)g_rand_int_range(random, 0, 15000));
        guint kept = count_whole(bench);
        g_assert_cmpuint(kept, >=, reported); /* what was said to be stored is */
        g_assert_cmpuint(kept, <=, reported + 1);
        if (kept < N_UNITS)
        {
            n_moments++;
            spread[kept]++;
        }
        if (n_moments < N_MOMENTS)
            remove_tree(folder);
    }
    for (guint kept = 1; kept < N_UNITS; kept++)
        g_test_message("killed with %u of %zu committed: %u times", kept, N_UNITS, spread[kept]);
    /* What the last one left is completed by measuring the rest. */
    guint kept = count_whole(bench);
    g_autofree char *resume = command("-o killed --resume --json - -q");
    run_line(bench, resume, &ended);
    assert_status(&ended, 0);
    json_auto_t *document = parse_output(&ended);
    const json_t *cases = json_object_get(document, "cases");
    guint n_resumed = 0;
    for (gsize i = 0; i < json_array_size(cases); i++)
        n_resumed += json_is_true(json_object_get(json_array_get(cases, i), "resumed"));
    g_assert_cmpuint(json_array_size(cases), ==, N_UNITS);
    g_assert_cmpuint(n_resumed, ==, kept);
    g_assert_cmpuint(count_whole(bench), ==, N_UNITS);
    assert_none_left(bench);
}

/* A row of models is one list of cases, too: killed again and again, each time going on, it loses none that it had said to
 * be stored, and measures none of them again. */
#define ROW "profile graph_transformer --scaling layers,heads --num-nodes 40 --runs 50 -d simulated:lab/PLAIN --no-peak"
#define N_ROW 9 /* six depths and four numbers of heads, of which one is a depth already */

static void test_scaling(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autoptr(GRand) random = g_rand_new_with_seed(7);
    guint kept = 0;
    for (guint moment = 0; moment < 8 && kept < N_ROW - 1; moment++)
    {
        guint after = (guint)g_rand_int_range(random, 0, 2);
        guint reported = kill_after(bench, ROW " --resume -o killed", after, (gulong)g_rand_int_range(random, 0, 30000));
        if (kept + reported == 0) /* before it had a store */
            continue;
        guint now = count_whole(bench);
        g_assert_cmpuint(now, >=, kept + reported);
        g_assert_cmpuint(now, <=, kept + reported + 1);
        kept = now;
    }
    g_assert_cmpuint(kept, >, 0);
    run_line(bench, ROW " --resume -o killed", &ended);
    assert_status(&ended, 0);
    guint n_found = 0, n_measured = 0;
    g_auto(GStrv) lines = g_strsplit(ended.err, "\n", -1);
    for (char **line = lines; *line != NULL; line++)
    {
        n_found += strstr(*line, ": measured before, taken from") != NULL;
        n_measured += g_str_has_suffix(*line, "  ok") && strstr(*line, "in rounds") == NULL;
    }
    g_assert_cmpuint(n_measured, ==, N_ROW - kept);
    g_assert_cmpuint(n_found, ==, kept + 1); /* heads 4 is layers 4 */
    g_assert_cmpuint(count_whole(bench), ==, N_ROW);
    assert_none_left(bench);
}

/* How much is in the file without a name that a process writes; 0: it has none. */
static gint64 nameless_bytes(const char *pid)
{
    gint64 n = 0;
    g_autofree char *folder = g_build_filename("/proc", pid, "fd", NULL);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    for (const char *name; dir != NULL && (name = g_dir_read_name(dir)) != NULL;)
    {
        g_autofree char *path = g_build_filename(folder, name, NULL);
        struct stat open_file;
        if (stat(path, &open_file) == 0 && S_ISREG(open_file.st_mode) && open_file.st_nlink == 0)
            n = MAX(n, (gint64)open_file.st_size);
    }
    return n;
}

static gboolean has_nameless_files(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* A shell may have started the tests with it ignored. */
static void hear_interrupt(gpointer data)
{
    signal(SIGINT, SIG_DFL);
}

/* Ended while it writes half a gigabyte of weights, an export leaves no part of them. */
static void test_export(Bench *bench, gconstpointer data)
{
    for (int attempt = 0; attempt < 10 && has_nameless_files(bench->folder); attempt++)
    {
        g_autoptr(GSubprocessLauncher) launcher = bench_launcher(bench);
        g_autoptr(GError) error = NULL;
        g_subprocess_launcher_set_child_setup(launcher, hear_interrupt, NULL, NULL);
        g_autoptr(GSubprocess) process =
            g_subprocess_launcher_spawn(launcher, &error, PROGRAM, "zoo", "export", "vgg16", "-o", "m.onnx", NULL);
        g_assert_no_error(error);
        g_autofree char *pid = g_strdup(g_subprocess_get_identifier(process));
        while (pid != NULL && g_subprocess_get_identifier(process) != NULL && nameless_bytes(pid) < 16 << 20)
            g_usleep(1000);
        g_subprocess_send_signal(process, SIGINT);
        g_assert_true(g_subprocess_wait(process, NULL, NULL));
        gboolean ended = status_of(process) == 128 + SIGINT;
        g_autoptr(GDir) dir = g_dir_open(bench->folder, 0, NULL);
        for (const char *name = g_dir_read_name(dir); name != NULL && ended; name = g_dir_read_name(dir))
            g_error("left behind: %s", name);
        if (ended)
            return;
        g_autofree char *model = bench_path(bench, "m.onnx"), *weights = bench_path(bench, "vgg16.seed1.weights");
        g_unlink(model); /* it was done before it heard of that */
        g_unlink(weights);
    }
    if (has_nameless_files(bench->folder))
        g_error("it was never caught writing");
    g_test_skip("this file system has no files without a name");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/kill/moments", Bench, NULL, bench_init, test_kill, bench_clear);
    g_test_add("/kill/scaling", Bench, NULL, bench_init, test_scaling, bench_clear);
    g_test_add("/kill/export", Bench, NULL, bench_init, test_export, bench_clear);
    return g_test_run();
}
