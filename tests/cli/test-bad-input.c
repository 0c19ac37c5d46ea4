#include <sqlite3.h>

#include <math.h>
#include <onnx/onnx.h>

#include "cli/harness.h"
#include "model-bytes.h"

/* What bad input gets: one line, the right exit status, nothing half-written. */

/* The least a profile can do, on a device that is always there. */
#define QUICK " -q --runs 3 --warmup 1 --no-nodes -d simulated:lab/FIXED"

static void profile(const Bench *bench, const char *arguments, Ended *ended)
{
    g_autofree char *line = g_strdup_printf("profile %s" QUICK, arguments);
    run_line(bench, line, ended);
}

/* Nothing was begun: no store, no folder. */
static void assert_nothing_written(const Bench *bench)
{
    g_autofree char *out = bench_path(bench, "out");
    g_assert_false(g_file_test(out, G_FILE_TEST_EXISTS));
}

static void export_zoo(const Bench *bench, const char *line)
{
    g_auto(Ended) ended = { 0 };
    run_line(bench, line, &ended);
    assert_status(&ended, 0);
}

/* --- devices and runtimes
 * ------------------------------------------------------------------------------------------------- */

static void test_unknown_device(Bench *bench, gconstpointer data)
{
    static const char *const known[][2] = {
        { "openvini:CPU", "did you mean \"openvino\"?" },
        { "CPU", "CPU" },
        { "openvino:", "openvino:" },
        { "openvino:CPU@", "openvino:CPU@" },
        { "openvino:CPU@x", "openvino:CPU@x" },
        { "1=openvino:CPU", "\"1\" is no alias" },
    };
    export_zoo(bench, "zoo export matmul -o m.onnx");
    for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    {
        g_auto(Ended) ended = { 0 };
        g_autofree char *line =
            g_strdup_printf("profile m.onnx -q -d A=simulated:lab/PLAIN -d B=simulated:lab/PLAIN -d %s", known[i][0]);
        run_line(bench, line, &ended);
        assert_complaint(&ended, 3, known[i][1]);
        g_assert_cmpstr(ended.out, ==, "");
    }
    assert_nothing_written(bench);
}

/* A source that is none is misuse; what a recording holds is an input. */
static void test_energy_source(Bench *bench, gconstpointer data)
{
    static const struct
    {
        const char *source;
        int status;
        const char *message;
    } rows[] = { { "bogus", 2, "--energy: \"bogus\" is no source of energy" },
                 { "recorded:none.csv", 4, "--energy: none.csv" },
                 { "recorded:bad.csv", 3, "bad.csv:2: time_s" },
                 { "recorded:empty.csv", 3, "--energy: empty.csv" } };
    export_zoo(bench, "zoo export matmul -o m.onnx");
    bench_write(bench, "bad.csv", "time_s,domain,energy_uj,power_w\nx,a,1,1\n",
                strlen("time_s,domain,energy_uj,power_w\nx,a,1,1\n"));
    bench_write(bench, "empty.csv", "time_s,domain,energy_uj,power_w\n", strlen("time_s,domain,energy_uj,power_w\n"));
    for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    {
        g_auto(Ended) ended = { 0 };
        g_autofree char *arguments = g_strdup_printf("m.onnx --energy %s", rows[i].source);
        profile(bench, arguments, &ended);
        assert_complaint(&ended, rows[i].status, rows[i].message);
    }
    assert_nothing_written(bench);
}

static void test_missing_device(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    export_zoo(bench, "zoo export matmul -o m.onnx");
    run_line(bench, "profile m.onnx -q -d simulated:no-such-machine/CPU", &ended);
    g_assert_cmpint(ended.status, !=, 0);
    g_assert_nonnull(strstr(ended.err, "no-such-machine"));
    run_line(bench, "profile m.onnx -q -d simulated:lab/NO-SUCH-UNIT", &ended);
    g_assert_cmpint(ended.status, !=, 0);
    g_assert_nonnull(strstr(ended.err, "NO-SUCH-UNIT"));
    /* Where no device could be tried there is nothing to remember, and no store; beside one that could it says why. */
    run_line(bench, "profile m.onnx -q -d onnxruntime:CPU@1023", &ended);
    g_assert_cmpint(ended.status, !=, 0);
    run_line(bench, "store show", &ended);
    assert_complaint(&ended, 4, "no such store");
    run_line(bench, "profile m.onnx -q --runs 3 -d onnxruntime:CPU@1023 -d simulated:lab/FIXED", &ended);
    assert_status(&ended, 1);
    run_line(bench, "store show", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "\nonnxruntime:CPU@1023: "));
}

static void test_missing_runtime(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    export_zoo(bench, "zoo export matmul -o m.onnx");
    run_shell(bench, "sh",
              "IFM_OPENVINO_LIBRARY=/nonexistent/libopenvino_c.so \"$INFEROMETER\" profile m.onnx -q -d openvino:CPU",
              &ended);
    assert_complaint(&ended, 4, "/nonexistent/libopenvino_c.so");
    g_assert_cmpstr(ended.out, ==, "");
    /* The others' measurements are whole, and the list of what is missing is no error. */
    run_shell(bench, "sh",
              "IFM_OPENVINO_LIBRARY=/nonexistent/libopenvino_c.so \"$INFEROMETER\" profile m.onnx -q --runs 3 "
              "-d openvino:CPU -d simulated:lab/FIXED",
              &ended);
    assert_complaint(&ended, 1, "1 of 2 devices failed");
    g_assert_nonnull(strstr(ended.out, "5.00 ms"));
    g_assert_nonnull(strstr(ended.out, "/nonexistent/libopenvino_c.so"));
    run_shell(bench, "sh", "IFM_OPENVINO_LIBRARY=/nonexistent/libopenvino_c.so \"$INFEROMETER\" devices --json -", &ended);
    assert_status(&ended, 0);
    json_auto_t *json = parse_output(&ended);
    const json_t *engines = json_object_get(json, "engines");
    gboolean seen = FALSE;
    for (gsize i = 0; i < json_array_size(engines); i++)
    {
        const json_t *engine = json_array_get(engines, i);
        if (g_strcmp0(json_string_value(json_object_get(engine, "engine")), "openvino") != 0)
            continue;
        seen = TRUE;
        g_assert_true(json_is_false(json_object_get(engine, "available")));
        g_assert_nonnull(strstr(json_string_value(json_object_get(engine, "reason")), "/nonexistent/libopenvino_c.so"));
    }
    g_assert_true(seen);
}

/* --- model files
 * ---------------------------------------------------------------------------------------------------------- */

/* A graph with one weight that says it has 2^40 elements. */
static GByteArray *oversized_model(void)
{
    GByteArray *graph = g_byte_array_new();
    put_message(graph, 5, bytes_tensor((gint64[]){ G_GINT64_CONSTANT(1) << 40 }, 1, 4));
    return bytes_model(8, 17, graph);
}

static void test_bad_models(Bench *bench, gconstpointer data)
{
    g_autoptr(GByteArray) nested = bytes_nested(1000000);
    g_autoptr(GByteArray) oversized = oversized_model();
    g_autofree char *whole_path = bench_path(bench, "whole.onnx"), *whole = NULL, *junk = g_malloc(65536);
    gsize length = 0;
    export_zoo(bench, "zoo export matmul -o whole.onnx");
    g_assert_true(g_file_get_contents(whole_path, &whole, &length, NULL));
    g_autoptr(GRand) random = g_rand_new_with_seed(7);
    for (gsize i = 0; i < 65536; i++)
        junk[i] = (char)g_rand_int(random);
    bench_write(bench, "empty.onnx", "", 0);
    bench_write(bench, "truncated.onnx", whole, length / 2);
    bench_write(bench, "short.onnx", whole, length - 1);
    bench_write(bench, "junk.onnx", junk, 65536);
    bench_write(bench, "text.onnx", "this is no model\n", 17);
    bench_write(bench, "nested.onnx", nested->data, nested->len);
    bench_write(bench, "oversized.onnx", oversized->data, oversized->len);
    static const char *const names[] = { "empty.onnx", "truncated.onnx", "short.onnx",    "junk.onnx",
                                         "text.onnx",  "nested.onnx",    "oversized.onnx" };
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
    {
        g_auto(Ended) ended = { 0 };
        profile(bench, names[i], &ended);
        assert_complaint(&ended, 3, names[i]);
        g_assert_cmpstr(ended.out, ==, "");
    }
    assert_nothing_written(bench);
}

static void test_no_model(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    profile(bench, "nowhere.onnx", &ended);
    assert_complaint(&ended, 4, "nowhere.onnx");
    profile(bench, "matmull", &ended);
    assert_complaint(&ended, 3, "did you mean \"matmul\"?");
    profile(bench, ".", &ended);
    g_assert_cmpint(ended.status, !=, 0);
    g_assert_true(g_str_has_prefix(ended.err, "inferometer: "));
    profile(bench, "zoo:matmull", &ended);
    assert_complaint(&ended, 3, "matmul");
    profile(bench, "zoo:matmul,mm=3", &ended);
    assert_complaint(&ended, 3, "mm");
    profile(bench, "zoo:", &ended);
    assert_complaint(&ended, 3, ": zoo: which model?");
    profile(bench, "zoo:matmul,k=65536,n=65536,layers=64", &ended);
    assert_complaint(&ended, 3, "one ONNX file can hold");
    assert_nothing_written(bench);
}

static void test_free_dimension(Bench *bench, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_auto(Ended) ended = { 0 };
    g_autofree char *path = bench_path(bench, "free.onnx");
    static const gint64 dims[] = { -1, 4 };
    static const char *const dim_names[] = { "rows", NULL };
    g_autoptr(IfmModelBuilder) builder = ifm_model_builder_new("free", 17);
    ifm_model_builder_input(builder, "x", IFM_DTYPE_F32, 2, dims, dim_names);
    ifm_model_builder_node(builder, "Relu", "relu", (const char *[]){ "x", NULL }, (const char *[]){ "y", NULL });
    ifm_model_builder_output(builder, "y", IFM_DTYPE_F32, 2, dims, dim_names);
    g_autoptr(IfmModel) model = ifm_model_builder_finish(builder, &error);
    g_assert_no_error(error);
    g_assert_true(ifm_model_save(model, path, &error));
    profile(bench, "free.onnx", &ended);
    assert_complaint(&ended, 3, "add --dim rows=SIZE");
    profile(bench, "free.onnx --dim M=8", &ended);
    assert_complaint(&ended, 3, "no input has a free dimension 'M' (free: rows)");
    assert_nothing_written(bench);
    profile(bench, "free.onnx --dim rows=8", &ended);
    assert_status(&ended, 0);
    g_assert_nonnull(strstr(ended.out, "rows=8"));
}

/* The device's own words are in the line. */
static void test_refused_model(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    export_zoo(bench, "zoo export matmul -o m.onnx");
    run_line(bench, "profile m.onnx -q -d simulated:faulty/REFUSES", &ended);
    assert_complaint(&ended, 1, "operator Gemm is not known here");
    g_assert_cmpstr(ended.out, ==, "");
}

/* --- the store
 * ------------------------------------------------------------------------------------------------------------ */

static void run_without_override(const Bench *bench, const char *line, Ended *ended)
{
    g_autoptr(GSubprocessLauncher) launcher = bench_launcher(bench);
    g_autofree char *whole = g_strdup_printf("%s %s", PROGRAM, line);
    g_auto(GStrv) words = g_strsplit(whole, " ", -1);
    ended_clear(ended);
    g_subprocess_launcher_set_child_setup(launcher, drop_override, NULL, NULL);
    launch(launcher, (const char *const *)words, ended);
}

static void execute(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
    g_assert_cmpint(sqlite3_exec(db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
    sqlite3_close(db);
}

static void test_unreadable_model(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *model = bench_path(bench, "private.onnx"), *said = NULL;
    export_zoo(bench, "zoo export matmul -o private.onnx");
    g_chmod(model, 0000);
    run_without_override(bench, "profile private.onnx" QUICK, &ended);
    said = g_strdup_printf("inferometer: private.onnx: %s\n", g_strerror(EACCES));
    assert_complaint(&ended, 4, "private.onnx");
    g_assert_cmpstr(ended.err, ==, said);
}

/* A merge that fails leaves no empty store behind, wherever the trouble is; one that was there stays. */
static void test_failed_merge(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *good = bench_path(bench, "kept/store.db"), *damaged = bench_path(bench, "damaged.db");
    g_autofree char *into = bench_path(bench, "all.db"), *log = bench_path(bench, "all.db-wal");
    export_zoo(bench, "zoo export matmul -o m.onnx");
    profile(bench, "m.onnx -o kept", &ended);
    assert_status(&ended, 0);
    run_shell(bench, "sh", "cp kept/store.db damaged.db", &ended);
    execute(damaged, "UPDATE measurement SET stop_reason = 'x'");
    run_line(bench, "store merge all.db kept/store.db damaged.db", &ended);
    assert_complaint(&ended, 3, "damaged.db");
    g_assert_false(g_file_test(into, G_FILE_TEST_EXISTS));
    g_assert_false(g_file_test(log, G_FILE_TEST_EXISTS));
    run_line(bench, "store merge -q all.db kept/store.db", &ended);
    assert_status(&ended, 0);
    run_line(bench, "store merge all.db damaged.db", &ended);
    assert_complaint(&ended, 3, "damaged.db");
    run_line(bench, "store check -q all.db", &ended);
    assert_status(&ended, 0);
}

static void test_read_only_store(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *folder = bench_path(bench, "kept"), *store = g_build_filename(folder, "store.db", NULL);
    g_autofree char *before = NULL, *after = NULL;
    gsize before_length = 0, after_length = 0;
    export_zoo(bench, "zoo export matmul -o m.onnx");
    profile(bench, "m.onnx -o kept", &ended);
    assert_status(&ended, 0);
    g_assert_true(g_file_get_contents(store, &before, &before_length, NULL));
    g_chmod(store, 0400);
    g_chmod(folder, 0500);
    run_without_override(bench, "profile m.onnx -o kept" QUICK, &ended);
    assert_complaint(&ended, 4, "kept/store.db");
    run_without_override(bench, "store show kept/store.db", &ended);
    g_chmod(folder, 0700);
    assert_status(&ended, 0); /* reading needs no permission to write */
    g_assert_true(g_file_get_contents(store, &after, &after_length, NULL));
    g_assert_cmpmem(before, before_length, after, after_length);
}

static void test_unwritable_folder(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *folder = bench_path(bench, "closed");
    export_zoo(bench, "zoo export matmul -o m.onnx");
    g_assert_cmpint(g_mkdir(folder, 0500), ==, 0);
    run_without_override(bench, "profile m.onnx -o closed/out" QUICK, &ended);
    assert_complaint(&ended, 4, "closed/out");
    run_without_override(bench, "profile m.onnx --json closed/x.json" QUICK, &ended);
    assert_complaint(&ended, 4, "closed/x.json");
    run_without_override(bench, "profile zoo:matmul -o closed/out" QUICK, &ended);
    assert_complaint(&ended, 4, "closed/out");
    assert_nothing_written(bench);
}

static void test_other_store(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *store = bench_path(bench, "out/profile/store.db");
    export_zoo(bench, "zoo export matmul -o m.onnx");
    profile(bench, "m.onnx", &ended);
    assert_status(&ended, 0);
    execute(store, "PRAGMA user_version = 9999");
    profile(bench, "m.onnx", &ended);
    assert_complaint(&ended, 3, "store.db");
    g_assert_nonnull(strstr(ended.err, "9999"));
    run_line(bench, "store show", &ended);
    assert_complaint(&ended, 3, "9999");
    execute(store, "PRAGMA application_id = 0x49464d73; PRAGMA user_version = 4"); /* of a build before the first release */
    static const char earlier[] = "store.db: is a store of an earlier build: measure again, or export it";
    profile(bench, "m.onnx", &ended);
    assert_complaint(&ended, 3, earlier);
    run_line(bench, "store show", &ended);
    assert_complaint(&ended, 3, earlier);
    run_line(bench, "store merge all.db out/profile/store.db", &ended);
    assert_complaint(&ended, 3, earlier);
}

static void test_no_store(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    bench_write(bench, "text.db", "this is no store, whatever its name may say\n", 44);
    bench_write(bench, "empty.db", "", 0);
    run_line(bench, "store show", &ended);
    assert_complaint(&ended, 4, "out/profile/store.db");
    run_line(bench, "store show text.db", &ended);
    assert_complaint(&ended, 3, "text.db");
    run_line(bench, "store check text.db", &ended);
    assert_complaint(&ended, 3, "text.db");
    run_line(bench, "store export -o x.csv text.db", &ended);
    assert_complaint(&ended, 3, "text.db");
    run_line(bench, "store merge all.db text.db", &ended);
    assert_complaint(&ended, 3, "text.db");
    g_autofree char *all = bench_path(bench, "all.db"), *csv = bench_path(bench, "x.csv");
    g_assert_false(g_file_test(all, G_FILE_TEST_EXISTS));
    g_assert_false(g_file_test(csv, G_FILE_TEST_EXISTS));
}

/* A damaged page in the middle: said, not believed. */
static void test_damaged_store(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *store = bench_path(bench, "out/profile/store.db"), *bytes = NULL;
    gsize length = 0;
    export_zoo(bench, "zoo export matmul -o m.onnx");
    profile(bench, "m.onnx", &ended);
    assert_status(&ended, 0);
    execute(store, "PRAGMA journal_mode = DELETE");
    g_assert_true(g_file_get_contents(store, &bytes, &length, NULL));
    g_assert_cmpuint(length, >, 3 * 4096);
    memset(bytes + 2 * 4096, 0x5a, length - 2 * 4096);
    g_assert_true(g_file_set_contents(store, bytes, (gssize)length, NULL));
    run_line(bench, "store check", &ended);
    assert_complaint(&ended, 3, "store.db");
}

/* --- words ---------------------------------------------------------------------------------------------------------- */

static void test_words(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *name = g_strnfill(5000, 'x'), *line = g_strconcat("profile ", name, NULL);
    run_line(bench, line, &ended);
    assert_complaint(&ended, 3, "characters");
    g_assert_cmpuint(strlen(ended.err), <, 1200);
    bench_write(bench, "s.csv", "a;b\n1;2\n", 8);
    run_line(bench, "train s.csv -o model.json", &ended);
    assert_complaint(&ended, 3, "fields are parted by semicolons, commas are expected");
    run_shell(bench, "sh", "\"$INFEROMETER\" study run ''", &ended);
    assert_complaint(&ended, 4, "the study's name is empty");
    g_assert_null(strstr(ended.err, "./.yaml"));
}

/* --- full disks
 * ------------------------------------------------------------------------------------------------------------ */

/* A limit on file sizes stands for the disk: it needs no rights and leaves the machine alone. */
static void test_file_limit(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *model = bench_path(bench, "big.onnx");
    export_zoo(bench, "zoo export matmul -o m.onnx");
    run_shell(bench, "bash", "ulimit -s 64; \"$INFEROMETER\" profile matmul -d onnxruntime:CPU", &ended);
    assert_complaint(&ended, 4, "the stack is limited to 64 KiB");
    run_shell(bench, "bash", "ulimit -f 8; \"$INFEROMETER\" zoo export matmul m=256 k=256 n=256 -o big.onnx", &ended);
    assert_complaint(&ended, 4, "big.onnx");
    g_assert_false(g_file_test(model, G_FILE_TEST_EXISTS));
    /* Too little for a store, and enough for an empty one that then takes no measurement: neither leaves one behind. */
    int n_failed = 0;
    for (int kib = 8; kib < 1000; kib += 8) /* until it is enough */
    {
        g_autofree char *line = g_strdup_printf("ulimit -f %d; \"$INFEROMETER\" profile m.onnx -q --runs 3000 "
                                                "--warmup 1 --no-nodes -d simulated:lab/FIXED",
                                                kib);
        g_autofree char *store = bench_path(bench, "out/profile/store.db"), *log = g_strconcat(store, "-wal", NULL);
        run_shell(bench, "bash", line, &ended);
        if (ended.status == 0)
            break;
        n_failed++;
        assert_complaint(&ended, 4, "store.db");
        g_assert_false(g_file_test(store, G_FILE_TEST_EXISTS));
        g_assert_false(g_file_test(log, G_FILE_TEST_EXISTS));
    }
    g_assert_cmpint(n_failed, >, 2);
}

/* A real one: a file system of 256 KiB, where this test may mount one. */
static void test_full_disk(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    run_shell(bench, "sh", "unshare -m true", &ended);
    if (ended.status != 0)
    {
        g_test_skip("no right to mount a small file system");
        return;
    }
    export_zoo(bench, "zoo export matmul -o m.onnx");
    /* Fills up while measuring: the store is made, then room is taken away. What was committed before stays. */
    run_shell(bench, "sh",
              "mkdir small && unshare -m sh -c 'mount -t tmpfs -o size=256k none small && "
              "\"$INFEROMETER\" profile m.onnx -o small" QUICK " >/dev/null && "
              "dd if=/dev/zero of=small/filler bs=1k 2>/dev/null; "
              "\"$INFEROMETER\" profile m.onnx -q --runs 3000 -o small -d simulated:lab/PLAIN; echo $?; "
              "\"$INFEROMETER\" zoo export small-cnn -o small/cnn.onnx; echo $?; ls small; rm small/filler; "
              "\"$INFEROMETER\" store check -q small/store.db; echo $?; "
              "\"$INFEROMETER\" store export small/store.db | wc -l'",
              &ended);
    assert_status(&ended, 0);
    g_auto(GStrv) complaints = g_strsplit(g_strchomp(ended.err), "\n", -1);
    g_assert_cmpuint(g_strv_length(complaints), ==, 2);
    g_assert_nonnull(strstr(complaints[0], "small/store.db"));
    g_assert_nonnull(strstr(complaints[1], "small/cnn.onnx"));
    g_assert_null(strstr(ended.out, "cnn.onnx"));
    g_auto(GStrv) said = g_strsplit(g_strchomp(ended.out), "\n", -1);
    guint n = g_strv_length(said);
    g_assert_cmpstr(said[n - 1], ==, "2"); /* the head and the one measurement that was committed */
    g_assert_cmpstr(said[n - 2], ==, "0");
    g_assert_nonnull(strstr(ended.out, "\n4\n"));
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/bad-input/unknown-device", Bench, NULL, bench_init, test_unknown_device, bench_clear);
    g_test_add("/bad-input/missing-device", Bench, NULL, bench_init, test_missing_device, bench_clear);
    g_test_add("/bad-input/energy-source", Bench, NULL, bench_init, test_energy_source, bench_clear);
    g_test_add("/bad-input/missing-runtime", Bench, NULL, bench_init, test_missing_runtime, bench_clear);
    g_test_add("/bad-input/models", Bench, NULL, bench_init, test_bad_models, bench_clear);
    g_test_add("/bad-input/no-model", Bench, NULL, bench_init, test_no_model, bench_clear);
    g_test_add("/bad-input/free-dimension", Bench, NULL, bench_init, test_free_dimension, bench_clear);
    g_test_add("/bad-input/refused-model", Bench, NULL, bench_init, test_refused_model, bench_clear);
    g_test_add("/bad-input/unreadable-model", Bench, NULL, bench_init, test_unreadable_model, bench_clear);
    g_test_add("/bad-input/failed-merge", Bench, NULL, bench_init, test_failed_merge, bench_clear);
    g_test_add("/bad-input/read-only-store", Bench, NULL, bench_init, test_read_only_store, bench_clear);
    g_test_add("/bad-input/unwritable-folder", Bench, NULL, bench_init, test_unwritable_folder, bench_clear);
    g_test_add("/bad-input/other-store", Bench, NULL, bench_init, test_other_store, bench_clear);
    g_test_add("/bad-input/no-store", Bench, NULL, bench_init, test_no_store, bench_clear);
    g_test_add("/bad-input/damaged-store", Bench, NULL, bench_init, test_damaged_store, bench_clear);
    g_test_add("/bad-input/file-limit", Bench, NULL, bench_init, test_file_limit, bench_clear);
    g_test_add("/bad-input/words", Bench, NULL, bench_init, test_words, bench_clear);
    g_test_add("/bad-input/full-disk", Bench, NULL, bench_init, test_full_disk, bench_clear);
    return g_test_run();
}
