#include <stdlib.h>

#include "build-folders.h"
#include "cli/harness.h"

/* What `inferometer profile` does with devices that work and devices that break, on simulated ones. */

#define MODEL "zoo:matmul,m=8,k=8,n=8"

static json_t *case_of(const json_t *document, const char *device)
{
    const json_t *cases = json_object_get(document, "cases");
    for (gsize i = 0; i < json_array_size(cases); i++)
        if (g_strcmp0(json_string_value(json_object_get(json_array_get(cases, i), "device")), device) == 0)
            return json_array_get(cases, i);
    g_error("no case of %s", device);
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

/* How many measurements a store holds. */
static gsize count_stored(const Bench *bench, const char *path)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *line = g_strdup_printf("store export --format json %s", path);
    run_line(bench, line, &ended);
    assert_status(&ended, 0);
    json_auto_t *document = parse_output(&ended);
    return json_array_size(json_object_get(document, "cases"));
}

static void assert_store_whole(const Bench *bench, const char *path)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *line = g_strdup_printf("store check -q %s", path);
    run_line(bench, line, &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.err, ==, "");
}

/* --- broken devices
 * ------------------------------------------------------------------------------------------------------- */

static const struct
{
    const char *unit, *code, *reason;
} faults[] = {
    { "REFUSES", "unsupported", "operator Gemm is not known here" },
    { "FAILS", "failed", "status 7" },
    { "LOSES-REPORTED", "lost", "device lost" },
    { "LOSES-SILENTLY", "lost", "does not answer the probe" },
    { "HANGS", "timeout", "no sign of life" },
    { "HANGS-COMPILING", "timeout", "no sign of life" },
    { "CRASHES", "failed", "SIGABRT" },
    { "CRASHES-SEGV", "failed", "" },
    { "MEMORY", "memory", "out of memory" },
    { "NAN", "failed", "not finite" },
};

static void test_faults(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autoptr(GString) line = g_string_new("profile " MODEL " -q --runs 20 --timeout 1s --json - -d simulated:lab/FIXED");
    for (gsize i = 0; i < G_N_ELEMENTS(faults); i++)
        g_string_append_printf(line, " -d simulated:faulty/%s", faults[i].unit);
    g_string_append(line, " -d simulated:lab/PLAIN");
    run_line(bench, line->str, &ended);
    assert_status(&ended, 1);
    json_auto_t *document = parse_output(&ended);
    for (gsize i = 0; i < G_N_ELEMENTS(faults); i++)
    {
        g_autofree char *device = g_strconcat("simulated:faulty/", faults[i].unit, NULL);
        const json_t *entry = case_of(document, device), *measurement = json_object_get(entry, "measurement");
        g_assert_cmpstr(text_of(entry, "outcome"), ==, "failed");
        g_assert_cmpstr(text_of(entry, "error_code"), ==, faults[i].code);
        g_assert_nonnull(strstr(text_of(entry, "reason"), faults[i].reason));
        g_assert_cmpuint(json_array_size(json_object_get(measurement, "samples_ns")), ==, 0); /* never a latency */
    }
    for (gsize i = 0; i < 2; i++)
    {
        const json_t *entry = case_of(document, i == 0 ? "simulated:lab/FIXED" : "simulated:lab/PLAIN");
        const json_t *samples = json_object_get(json_object_get(entry, "measurement"), "samples_ns");
        g_assert_cmpstr(text_of(entry, "outcome"), ==, "ok");
        g_assert_cmpuint(json_array_size(samples), ==, 20);
        g_assert_cmpint(json_integer_value(json_array_get(samples, 7)), ==, 5000000);
    }
    assert_none_left(bench);
    assert_store_whole(bench, "out/profile/store.db");
    g_assert_cmpuint(count_stored(bench, "out/profile/store.db"), ==,
                     G_N_ELEMENTS(faults) + 4); /* two worked, and were in rounds */
}

/* The same as people see it: the row says what happened, the reason stands below, the others' rows are whole. */
static void test_fault_page(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, "profile " MODEL " --runs 20 -d FIRST=simulated:lab/FIXED -d BAD=simulated:faulty/FAILS", &ended);
    assert_status(&ended, 1);
    g_assert_nonnull(strstr(ended.out, "\nFIRST=simulated:lab/FIXED "));
    g_assert_nonnull(strstr(ended.out, " 5.00 ms  "));
    g_assert_nonnull(strstr(ended.out, "\nBAD: matmul,m=8,k=8,n=8: status 7\n"));
    g_assert_nonnull(strstr(ended.out, "wall 6.00 ms = nodes"));
    g_assert_nonnull(strstr(ended.err, "inferometer: 1 of 2 devices failed\n"));
    g_assert_nonnull(strstr(ended.err, "] BAD=simulated:faulty/FAILS  failed\n"));
    gboolean warns = !g_str_equal(IFM_SANITIZE, "none") || g_str_equal(IFM_BUILD_TYPE, "debug");
    g_assert_cmpint(strstr(ended.out, "not the speed of a release build") != NULL, ==, warns);
}

/* --- exports
 * -------------------------------------------------------------------------------------------------------------- */

static void test_exports(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *json_path = bench_path(bench, "x.json"), *csv_path = bench_path(bench, "x.csv"), *csv = NULL;
    run_line(bench, "profile " MODEL " -q --runs 20 --json x.json --csv x.csv -d CPU=simulated:lab/FIXED", &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.err, ==, "");
    json_auto_t *document = ifm_json_load(json_path, NULL);
    g_assert_nonnull(document);
    const json_t *head = json_object_get(document, "inferometer"), *entry = case_of(document, "simulated:lab/FIXED");
    g_assert_cmpstr(text_of(head, "version"), ==, IFM_VERSION);
    g_assert_cmpstr(text_of(head, "format"), ==, "cases");
    g_assert_cmpstr(text_of(entry, "alias"), ==, "CPU");
    g_assert_cmpstr(text_of(json_object_get(entry, "case"), "subject_name"), ==, "matmul,m=8,k=8,n=8");
    g_assert_true(g_file_get_contents(csv_path, &csv, NULL, NULL));
    g_auto(GStrv) rows = g_strsplit(csv, "\r\n", -1);
    g_assert_cmpuint(g_strv_length(rows), ==, 3);
    g_assert_nonnull(strstr(rows[1], ",5000000,"));
    /* The store gives the same row. */
    run_line(bench, "store export", &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.out, ==, csv);
    g_autofree char *again_path = bench_path(bench, "again.csv"), *again = NULL;
    run_line(bench, "store export --csv again.csv --json -", &ended);
    assert_status(&ended, 0);
    g_assert_true(g_file_get_contents(again_path, &again, NULL, NULL));
    g_assert_cmpstr(again, ==, csv);
    json_auto_t *whole = parse_output(&ended);
    g_assert_cmpuint(json_array_size(json_object_get(whole, "cases")), ==, 1);
    g_assert_cmpstr(text_of(json_array_get(json_object_get(whole, "cases"), 0), "error_code"), ==, "");
    run_line(bench, "store export --samples", &ended);
    g_auto(GStrv) samples = g_strsplit(ended.out, "\r\n", -1);
    guint n_runs = 0;
    for (char **row = samples; *row != NULL; row++)
        n_runs += strstr(*row, ",run,") != NULL && g_str_has_suffix(*row, ",5000000");
    g_assert_cmpuint(n_runs, ==, 20);
}

/* A runtime of a version that was not tested measures, and each measurement says so, on the screen and in the file. */
static void test_untested_version(Bench *bench, gconstpointer data)
{
    static const char warning[] = "onnxruntime 1.999.0 is outside the tested versions, ";
    g_auto(Ended) ended = { 0 };
    g_autofree char *runtime = g_build_filename(IFM_DEPS_DIR, "onnxruntime", "lib", "libonnxruntime.so", NULL),
                    *shown = NULL;
    if (!g_file_test(runtime, G_FILE_TEST_EXISTS) || g_getenv("IFM_TEST_FAKE_VERSION") == NULL)
    {
        g_test_skip("no ONNX Runtime of setup/install");
        return;
    }
    g_autofree char *script = g_strdup_printf("IFM_TEST_REAL=%s IFM_ONNXRUNTIME_LIBRARY=%s $INFEROMETER profile " MODEL
                                              " -q --runs 5 --no-peak -d onnxruntime:CPU --json x.json --document d.json",
                                              runtime, g_getenv("IFM_TEST_FAKE_VERSION"));
    run_shell(bench, "sh", script, &ended);
    assert_status(&ended, 0);
    g_autofree char *own = bench_path(bench, "x.json"), *page = bench_path(bench, "d.json");
    json_auto_t *json = ifm_json_load(own, NULL), *document = ifm_json_load(page, NULL);
    const json_t *entry = json_array_get(json_object_get(json, "cases"), 0), *found;
    gsize i;
    gboolean warned = FALSE;
    json_array_foreach(ifm_member(entry, "measurement.environment.warnings"), i, found) warned |=
        g_str_has_prefix(json_string_value(found), warning);
    g_assert_cmpstr(text_of(entry, "outcome"), ==, "ok");
    g_assert_true(warned);
    g_assert_null(strstr(ended.out, "warning: onnxruntime")); /* which trust says */
    shown = json_dumps(json_object_get(json_object_get(document, "summary"), "trust"), 0);
    g_assert_nonnull(strstr(shown, warning));
}

/* --- what is there already
 * -------------------------------------------------------------------------------------------------- */

static void test_resume(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, "profile " MODEL " -q --runs 20 -d simulated:lab/FIXED -d simulated:faulty/FAILS", &ended);
    assert_status(&ended, 1);
    run_line(bench,
             "profile " MODEL " --resume --runs 20 --json - -d simulated:lab/FIXED -d simulated:faulty/FAILS "
             "-d simulated:lab/PLAIN",
             &ended);
    assert_status(&ended, 1);
    g_assert_nonnull(strstr(ended.err, "simulated:lab/FIXED: measured before"));
    json_auto_t *document = parse_output(&ended);
    g_assert_true(json_is_true(json_object_get(case_of(document, "simulated:lab/FIXED"), "resumed")));
    g_assert_true(json_is_false(json_object_get(case_of(document, "simulated:faulty/FAILS"), "resumed")));
    g_assert_true(json_is_false(json_object_get(case_of(document, "simulated:lab/PLAIN"), "resumed")));
    g_assert_cmpuint(count_stored(bench, "out/profile/store.db"), ==, 6); /* two of them in rounds */
    /* Other counts are another case. */
    run_line(bench, "profile " MODEL " -q --resume --runs 21 -d simulated:lab/FIXED", &ended);
    assert_status(&ended, 0);
    g_assert_cmpuint(count_stored(bench, "out/profile/store.db"), ==, 7);
}

/* Which of several is the fastest follows from rounds of fresh processes: one device twice is not told apart from itself,
 * one that leads all is the fastest. The rounds are stored, and found again. */
static void test_rounds(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, "profile " MODEL " -q --runs 20 -d A=simulated:lab/GAUSSIAN -d B=simulated:lab/GAUSSIAN", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "\nA and B are not told apart\n"));
    g_assert_null(strstr(ended.out, " is the fastest"));
    static const char line[] = "profile " MODEL " -q --resume --runs 20 --json - -d A=simulated:lab/HALF "
                               "-d simulated:lab/FIXED -d C=simulated:lab/PLAIN";
    run_line(bench, line, &ended);
    assert_status(&ended, 0);
    json_auto_t *document = parse_output(&ended);
    const json_t *rounds = json_object_get(document, "rounds"), *list = json_object_get(rounds, "rounds"),
                 *leader = json_array_get(json_object_get(rounds, "sides"),
                                          (gsize)json_integer_value(json_object_get(rounds, "leader")));
    g_assert_cmpstr(text_of(rounds, "verdict"), ==, "fastest");
    g_assert_cmpstr(text_of(leader, "name"), ==, "A");
    g_assert_cmpuint(json_array_size(list), ==, 6);
    for (gsize i = 0; i < 6; i++)
        g_assert_cmpint(json_integer_value(json_array_get(json_object_get(json_array_get(list, i), "rank"), 0)), ==, 1);
    const json_t *nodes = json_object_get(case_of(document, "simulated:lab/FIXED"), "nodes_in_rounds");
    g_assert_cmpuint(json_array_size(json_object_get(nodes, "rounds")), ==, 6);
    g_assert_cmpint(json_integer_value(json_object_get(nodes, "elapsed_ns")), >, 0);
    const gsize n_stored = count_stored(bench, "out/profile/store.db");
    run_line(bench, line, &ended);
    assert_status(&ended, 0);
    json_auto_t *again = parse_output(&ended);
    g_assert_true(json_equal(json_object_get(again, "rounds"), (json_t *)rounds));
    g_assert_cmpuint(count_stored(bench, "out/profile/store.db"), ==, n_stored);
    run_line(bench, "profile " MODEL " -q --runs 20 -d A=simulated:lab/HALF -d simulated:lab/FIXED", &ended);
    g_assert_nonnull(strstr(ended.out, "\nA is the fastest: simulated:lab/FIXED took "));
    run_line(bench, "profile " MODEL " -q --runs 20 --json - -d A=simulated:lab/HALF", &ended); /* of one there are none */
    json_auto_t *alone = parse_output(&ended);
    g_assert_null(json_object_get(alone, "rounds"));
}

/* Layers of two devices stand beside each other with the ratio over the rounds, also where they are found in the store. */
static void test_layers_aligned(Bench *bench, gconstpointer data)
{
    static const char line[] = "profile " MODEL " -q --resume --runs 20 --no-peak --json - -d A=simulated:lab/FIXED "
                               "-d B=simulated:lab/FIXED";
    g_auto(Ended) ended = { 0 };
    json_t *first = NULL;
    for (int again = 0; again < 2; again++)
    {
        run_line(bench, line, &ended);
        assert_status(&ended, 0);
        json_auto_t *document = parse_output(&ended);
        const json_t *aligned = json_object_get(document, "layers_aligned"),
                     *row = json_array_get(json_object_get(aligned, "rows"), 0);
        g_assert_cmpstr(text_of(aligned, "a"), ==, "A");
        g_assert_cmpint(json_integer_value(json_object_get(row, "n_rounds")), ==, 6);
        g_assert_cmpfloat(json_number_value(json_object_get(row, "ratio")), ==, 1);
        g_assert_true(json_is_number(json_object_get(row, "ratio_lower")));
        g_assert_true(first == NULL || json_equal(first, (json_t *)aligned));
        first = first == NULL ? json_incref((json_t *)aligned) : first;
    }
    json_decref(first);
}

static void test_merge(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, "profile " MODEL " -q --runs 5 -o one -d simulated:lab/FIXED", &ended);
    assert_status(&ended, 0);
    run_line(bench, "profile " MODEL " -q --runs 5 -o two -d simulated:lab/PLAIN -d simulated:lab/FIXED", &ended);
    assert_status(&ended, 0);
    run_line(bench, "store merge all.db one/store.db two/store.db", &ended);
    assert_status(&ended, 0);
    g_assert_cmpuint(count_stored(bench, "all.db"), ==, 5);
    run_line(bench, "store merge all.db two/store.db", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.err, "all.db: 0 new measurements from two/store.db"));
    g_assert_cmpuint(count_stored(bench, "all.db"), ==, 5);
    run_line(bench, "store show all.db", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "simulated:lab/PLAIN"));
}

/* --- two at once
 * ------------------------------------------------------------------------------------------------------------ */

static void test_two_processes(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_shell(
        bench, "sh",
        "for p in 1 2; do \"$INFEROMETER\" profile " MODEL " -q --runs 50 --no-nodes -d A$p=simulated:lab/FIXED "
        "-d B$p=simulated:lab/PLAIN -d C$p=simulated:lab/GAUSSIAN -d D$p=simulated:lab/HALF > out$p & eval pid$p=$!; done; "
        "wait $pid1; first=$?; wait $pid2; echo $first $?",
        &ended);
    assert_status(&ended, 0);
    g_assert_cmpstr(ended.err, ==, "");
    g_assert_cmpstr(ended.out, ==, "0 0\n");
    assert_store_whole(bench, "out/profile/store.db");
    g_assert_cmpuint(count_stored(bench, "out/profile/store.db"), ==, 16);
}

/* --- interruption
 * ------------------------------------------------------------------------------------------------------------ */

/* Reads what a process says until a line holds @part. */
static void wait_for(GDataInputStream *lines, const char *part)
{
    for (;;)
    {
        g_autofree char *line = g_data_input_stream_read_line(lines, NULL, NULL, NULL);
        if (line == NULL)
            g_error("it ended without saying \"%s\"", part);
        if (strstr(line, part) != NULL)
            return;
    }
}

/* Interrupted while the second of three devices hangs: the first one's measurement is kept and shown. */
static void test_interrupt_hanging(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autoptr(GSubprocess) process =
        start_line(bench, "profile " MODEL " --runs 20 --timeout 0 -d simulated:lab/FIXED -d simulated:faulty/HANGS "
                          "-d simulated:lab/PLAIN");
    g_autoptr(GDataInputStream) lines = g_data_input_stream_new(g_subprocess_get_stderr_pipe(process));
    wait_for(lines, "faulty/HANGS  starts");
    g_subprocess_send_signal(process, SIGINT);
    wait_for(lines, "interrupted: 2 of 3 devices were not measured");
    g_autoptr(GBytes) out = g_input_stream_read_bytes(g_subprocess_get_stdout_pipe(process), 65536, NULL, NULL);
    g_assert_true(g_subprocess_wait(process, NULL, NULL));
    g_assert_cmpint(status_of(process), ==, 128 + SIGINT);
    g_autofree char *text = g_strndup(g_bytes_get_data(out, NULL), g_bytes_get_size(out));
    g_assert_nonnull(strstr(text, "simulated:lab/FIXED"));
    g_assert_nonnull(strstr(text, "5.00 ms"));
    g_assert_null(strstr(text, "lab/PLAIN"));
    assert_none_left(bench);
    assert_store_whole(bench, "out/profile/store.db");
    g_assert_cmpuint(count_stored(bench, "out/profile/store.db"), ==, 1);
}

/* A device that answers wrongly gets no latency. */
static void test_wrong_answer(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    if (!bench_needs_device(bench, "onnxruntime:CPU", ""))
        return;
    run_line(bench, "profile " MODEL " -q --runs 20 --json - -d simulated:faulty/WRONG", &ended);
    assert_status(&ended, 1);
    json_auto_t *document = parse_output(&ended);
    const json_t *entry = case_of(document, "simulated:faulty/WRONG");
    g_assert_cmpstr(text_of(entry, "outcome"), ==, "failed");
    g_assert_nonnull(strstr(text_of(entry, "reason"), "is different: "));
    g_assert_cmpuint(json_array_size(json_object_get(json_object_get(entry, "measurement"), "samples_ns")), ==, 0);
}

/* A setting of the runtime's own that makes it compute in another precision than the one asked for: what ran is found out,
 * and nothing is measured. */
static void test_other_precision(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    if (!bench_needs_device(bench, "openvino:CPU", "BF16"))
        return;
    run_line(bench,
             "profile zoo:small-cnn -q --runs 20 --json - -d openvino:CPU "
             "--option openvino:INFERENCE_PRECISION_HINT=bf16",
             &ended);
    assert_status(&ended, 1);
    json_auto_t *document = parse_output(&ended);
    const json_t *entry = case_of(document, "openvino:CPU");
    g_assert_cmpstr(text_of(entry, "outcome"), ==, "failed");
    g_assert_cmpstr(text_of(entry, "reason"), ==, "openvino:CPU: f32 was asked for, bf16 is what ran");
    g_assert_cmpuint(json_array_size(json_object_get(json_object_get(entry, "measurement"), "samples_ns")), ==, 0);
}

/* Interrupted while a real device measures: the samples until then are stored, and do not pass for the whole. */
static void test_interrupt_measuring(Bench *bench, gconstpointer data)
{
    static const char line[] = "profile zoo:matmul,m=512,k=512,n=512 --ci 0.0001% --time-budget 0 --no-nodes "
                               "-d onnxruntime:CPU@0";
    g_auto(Ended) ended = { 0 };
    if (!bench_needs_device(bench, "onnxruntime:CPU", ""))
        return;
    g_autoptr(GSubprocess) process = start_line(bench, line);
    g_autoptr(GDataInputStream) lines = g_data_input_stream_new(g_subprocess_get_stderr_pipe(process));
    wait_for(lines, " n "); /* the line of every few seconds, once there are samples */
    g_subprocess_send_signal(process, SIGTERM);
    wait_for(lines, "interrupted: what was measured until then is kept");
    g_assert_true(g_subprocess_wait(process, NULL, NULL));
    g_assert_cmpint(status_of(process), ==, 128 + SIGTERM);
    assert_none_left(bench);
    run_line(bench, "store export --format json", &ended);
    json_auto_t *document = parse_output(&ended);
    const json_t *measurement = json_object_get(case_of(document, "onnxruntime:CPU@0"), "measurement");
    g_assert_cmpstr(text_of(measurement, "stop_reason"), ==, "interrupted");
    g_assert_cmpuint(json_array_size(json_object_get(measurement, "samples_ns")), >, 0);
}

/* Asked twice it ends at once, with what it has committed and nothing left running. */
static void test_interrupt_twice(Bench *bench, gconstpointer data)
{
    g_autoptr(GSubprocess) process =
        start_line(bench, "profile " MODEL " --runs 20 --timeout 0 -d simulated:lab/FIXED -d simulated:faulty/HANGS");
    g_autoptr(GDataInputStream) lines = g_data_input_stream_new(g_subprocess_get_stderr_pipe(process));
    wait_for(lines, "faulty/HANGS  starts");
    g_subprocess_send_signal(process, SIGTERM);
    g_subprocess_send_signal(process, SIGINT);
    g_assert_true(g_subprocess_wait(process, NULL, NULL));
    g_assert_cmpint(status_of(process), >, 128);
    assert_none_left(bench);
    g_assert_cmpuint(count_stored(bench, "out/profile/store.db"), ==, 1);
}

/* --- on a terminal
 * ------------------------------------------------------------------------------------------------------------ */

/* Everything a process wrote to the other side of a pseudo-terminal. */
static char *read_terminal(int fd)
{
    GString *text = g_string_new(NULL);
    char piece[4096];
    gssize n;
    while ((n = read(fd, piece, sizeof piece)) > 0)
        g_string_append_len(text, piece, n);
    return g_string_free(text, FALSE);
}

/* The progress is one line, drawn over itself and taken away at the end. */
static void test_terminal(Bench *bench, gconstpointer data)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
    {
        g_test_skip("no pseudo-terminal on this machine");
        return;
    }
    g_autoptr(GSubprocessLauncher) launcher = bench_launcher(bench);
    g_autoptr(GError) error = NULL;
    g_subprocess_launcher_set_flags(launcher, G_SUBPROCESS_FLAGS_STDOUT_SILENCE);
    g_subprocess_launcher_take_stderr_fd(launcher, open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC));
    g_subprocess_launcher_setenv(launcher, "TERM", "xterm", TRUE);
    g_autoptr(GSubprocess) process =
        g_subprocess_launcher_spawn(launcher, &error, PROGRAM, "profile", MODEL, "-d", "simulated:lab/FIXED", NULL);
    g_assert_no_error(error);
    g_clear_object(&launcher); /* closes the terminal's other end here, so that reading ends */
    g_autofree char *text = read_terminal(master);
    close(master);
    g_assert_true(g_subprocess_wait(process, NULL, NULL));
    g_assert_cmpint(status_of(process), ==, 0);
    g_assert_nonnull(strstr(text, "\r[1/1] simulated:lab/FIXED"));
    g_assert_true(g_str_has_suffix(text, "\r\033[K"));
    g_assert_null(strchr(text, '\n'));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/profile/faults", Bench, NULL, bench_init, test_faults, bench_clear);
    g_test_add("/profile/wrong-answer", Bench, NULL, bench_init, test_wrong_answer, bench_clear);
    g_test_add("/profile/other-precision", Bench, NULL, bench_init, test_other_precision, bench_clear);
    g_test_add("/profile/fault-page", Bench, NULL, bench_init, test_fault_page, bench_clear);
    g_test_add("/profile/untested-version", Bench, NULL, bench_init, test_untested_version, bench_clear);
    g_test_add("/profile/exports", Bench, NULL, bench_init, test_exports, bench_clear);
    g_test_add("/profile/resume", Bench, NULL, bench_init, test_resume, bench_clear);
    g_test_add("/profile/rounds", Bench, NULL, bench_init, test_rounds, bench_clear);
    g_test_add("/profile/layers-aligned", Bench, NULL, bench_init, test_layers_aligned, bench_clear);
    g_test_add("/profile/merge", Bench, NULL, bench_init, test_merge, bench_clear);
    g_test_add("/profile/two-processes", Bench, NULL, bench_init, test_two_processes, bench_clear);
    g_test_add("/profile/interrupt-hanging", Bench, NULL, bench_init, test_interrupt_hanging, bench_clear);
    g_test_add("/profile/interrupt-measuring", Bench, NULL, bench_init, test_interrupt_measuring, bench_clear);
    g_test_add("/profile/interrupt-twice", Bench, NULL, bench_init, test_interrupt_twice, bench_clear);
    g_test_add("/profile/terminal", Bench, NULL, bench_init, test_terminal, bench_clear);
    return g_test_run();
}
