#include <inferometer/store.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/study-harness.h"

/* Stores of schema version 3 (fixtures/README.md says how they were made): read, checked, and gone on with. */

static char *fixture(const char *name)
{
    return g_build_filename(g_getenv("IFM_TEST_DATA"), "store", "fixtures", name, NULL);
}

/* A copy in the bench's folder, since opening a store to write to it brings it up to date. */
static char *copy_store(const Bench *bench, const char *name, const char *folder)
{
    g_autofree char *from = fixture(name), *into = bench_path(bench, folder);
    g_autofree char *bytes = NULL;
    gsize n;
    g_assert_true(g_file_get_contents(from, &bytes, &n, NULL));
    g_assert_cmpint(g_mkdir_with_parents(into, 0777), ==, 0);
    char *path = g_build_filename(into, "store.db", NULL);
    g_assert_true(g_file_set_contents(path, bytes, (gssize)n, NULL));
    return path;
}

typedef struct
{
    IfmMeasurement *of[4];
} Found;

static const char *const kinds[] = { "model", "link", "plan", "peak" };

static gboolean take(const IfmCase *subject_case, const IfmMeasurement *measurement, void *user)
{
    Found *found = user;
    json_auto_t *json = ifm_measurement_to_json(measurement);
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
        if (g_str_equal(subject_case->subject_kind, kinds[i]) && found->of[i] == NULL)
            found->of[i] = ifm_measurement_from_json(json, NULL);
    return TRUE;
}

static const json_t *result_of(const IfmMeasurement *measurement, const char *kind)
{
    g_assert_null(json_object_get(measurement->environment, kind)); /* where it stood in version 3 */
    return measurement->result;
}

/* What each kind of case came to. */
static void assert_results(IfmStore *store, Found *found)
{
    g_autoptr(GError) error = NULL;
    g_assert_true(ifm_store_check(store, &error));
    g_assert_no_error(error);
    g_assert_true(ifm_store_each(store, take, found, &error));
    g_assert_no_error(error);
}

static void found_clear(Found *found)
{
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
        ifm_measurement_free(found->of[i]);
}

static void assert_content(IfmStoreMode mode, const char *study, const char *results)
{
    g_autoptr(GError) error = NULL;
    Found found = { 0 };
    g_autoptr(IfmStore) store = ifm_store_open(results, mode, &error);
    g_assert_no_error(error);
    assert_results(store, &found);
    const json_t *peak = result_of(found.of[3], "peak"), *plan = result_of(found.of[2], "plan");
    g_assert_cmpstr(ifm_member_text(peak, "source"), ==, "measured");
    g_assert_cmpfloat(ifm_member_number(peak, "flop_per_s"), >, 1e8);
    g_assert_cmpuint(json_array_size(json_object_get(plan, "repetitions")), ==, 2);
    g_assert_true(json_is_object(json_object_get(plan, "bound")));
    g_assert_cmpuint(found.of[0]->samples_ns->len, ==, 10);
    g_autoptr(IfmStore) second = ifm_store_open(study, mode, &error);
    g_assert_no_error(error);
    assert_results(second, &found);
    g_assert_cmpint(json_integer_value(json_object_get(result_of(found.of[1], "link"), "copies")), ==, 1);
    found_clear(&found);
}

static void test_read(Bench *bench, gconstpointer data)
{
    g_autofree char *study = fixture("study-v3.db"), *results = fixture("results-v3.db");
    g_autofree char *before = NULL, *after = NULL;
    gsize n_before, n_after;
    g_assert_true(g_file_get_contents(results, &before, &n_before, NULL));
    assert_content(IFM_STORE_READ, study, results);
    g_assert_true(g_file_get_contents(results, &after, &n_after, NULL)); /* reading changes nothing */
    g_assert_cmpmem(before, n_before, after, n_after);
}

static void test_written(Bench *bench, gconstpointer data)
{
    g_autofree char *study = copy_store(bench, "study-v3.db", "study");
    g_autofree char *results = copy_store(bench, "results-v3.db", "results");
    assert_content(IFM_STORE_WRITE, study, results);
    assert_content(IFM_STORE_READ, study, results);
}

/* A kill at any moment while it is brought up to date leaves the old store or the new one. */
static void test_killed(Bench *bench, gconstpointer data)
{
    g_autofree char *study = copy_store(bench, "study-v3.db", "study");
    for (guint i = 0; i < 20; i++)
    {
        g_autofree char *results = copy_store(bench, "results-v3.db", "results");
        pid_t child = fork();
        if (child == 0)
        {
            g_autoptr(IfmStore) store = ifm_store_open(results, IFM_STORE_WRITE, NULL);
            _exit(store != NULL ? 0 : 1);
        }
        g_usleep(i * i * 100); /* up to 36 ms */
        kill(child, SIGKILL);
        int status = 0;
        g_assert_cmpint(waitpid(child, &status, 0), ==, child);
        g_assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
        assert_content(IFM_STORE_WRITE, study, results);
        /* What SQLite keeps beside the file belongs to this copy. */
        g_autofree char *journal = g_strconcat(results, "-wal", NULL), *shared = g_strconcat(results, "-shm", NULL);
        unlink(journal);
        unlink(shared);
    }
}

/* Merged, what an old store and the same one brought up to date have in common is one and the same. */
static void test_merged(Bench *bench, gconstpointer data)
{
    g_autoptr(GError) error = NULL;
    g_autofree char *old = fixture("results-v3.db"), *path = copy_store(bench, "results-v3.db", "results");
    g_autoptr(IfmStore) from = ifm_store_open(old, IFM_STORE_READ, &error);
    g_autoptr(IfmStore) into = ifm_store_open(path, IFM_STORE_WRITE, &error);
    gsize n_added = 1;
    g_assert_true(ifm_store_merge(into, from, &n_added, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(n_added, ==, 0);
}

/* The keys have the version in them. */
static gboolean same_version(void)
{
    if (g_str_equal(IFM_VERSION, "0.1.0"))
        return TRUE;
    g_test_skip("the simulated engine of this version is another than that of the stores");
    return FALSE;
}

static void run_in_past(const Bench *bench, const char *line, Ended *ended)
{
    g_autofree char *machine = g_build_filename(g_getenv("IFM_TEST_DATA"), "sensor", "machines", "vm", NULL);
    g_autoptr(GSubprocessLauncher) launcher = bench_launcher(bench);
    g_autofree char *whole = g_strdup_printf("%s %s", PROGRAM, line);
    g_auto(GStrv) words = g_strsplit(whole, " ", -1);
    g_subprocess_launcher_setenv(launcher, "IFM_MACHINE_ROOT", machine, TRUE);
    ended_clear(ended);
    launch(launcher, (const char *const *)words, ended);
    g_test_message("%s", ended->err);
    g_assert_cmpint(ended->status, ==, 0);
}

static void test_resumed(Bench *bench, gconstpointer data)
{
    g_auto(Ended) ended = { 0 };
    g_autofree char *devices = fixture("devices"), *yaml = fixture("study.yaml");
    g_autofree char *study = copy_store(bench, "study-v3.db", "study");
    g_autofree char *results = copy_store(bench, "results-v3.db", "results");
    if (!same_version())
        return;
    bench->devices = devices;
    g_autofree char *run = g_strdup_printf("study run %s -o study", yaml);
    run_in_past(bench, run, &ended);
    assert_once_each(bench, "study/store.db", 24);
    run_in_past(bench, "profile matmul -d CPU=simulated:bench/ROOF@0 --warmup 2 --runs 10 -o results --resume", &ended);
    g_assert_nonnull(strstr(ended.err, "measured before, taken from results/store.db"));
    assert_once_each(bench, "results/store.db", 3);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    g_test_add("/store-version3/read", Bench, NULL, bench_init, test_read, bench_clear);
    g_test_add("/store-version3/written", Bench, NULL, bench_init, test_written, bench_clear);
    g_test_add("/store-version3/killed", Bench, NULL, bench_init, test_killed, bench_clear);
    g_test_add("/store-version3/merged", Bench, NULL, bench_init, test_merged, bench_clear);
    g_test_add("/store-version3/resumed", Bench, NULL, bench_init, test_resumed, bench_clear);
    return g_test_run();
}
