#include "store-examples.h"
#include <errno.h>
#include <signal.h>

/*
 * A child commits measurements without end and prints each uid once its commit has returned. It is killed at a random
 * moment. The store must open, pass its check, hold every measurement that was printed, and at most one more a kill: the
 * one whose commit had returned, or was about to, when the child died.
 */
#define N_KILLS 50

static IfmStoreMode mode_of(const char *path)
{
    return g_str_has_suffix(path, "shard.db") ? IFM_STORE_SHARD : IFM_STORE_WRITE;
}

/* From a handful of samples to some hundred KiB: commits take from one page of the file to many. */
static guint n_samples_of(gint64 started_unix_ms)
{
    return (guint)(started_unix_ms * 7919 % 20000);
}

static int report_fd = -1;
static gint64 first_number;

static int commit_without_end(const char *path)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmStore) store = ifm_store_open(path, mode_of(path), &error);
    if (store == NULL)
    {
        g_printerr("%s\n", error->message);
        return 1;
    }
    g_autoptr(IfmCase) one = example_case("one:CPU");
    g_autoptr(IfmCase) two = example_case("two:CPU");
    for (gint64 i = first_number;; i++)
    {
        const IfmCase *subject_case = i % 2 == 0 ? one : two;
        g_autoptr(IfmMeasurement) measurement = example_measurement(subject_case, i, n_samples_of(i));
        if (!ifm_store_commit(store, subject_case, measurement, &error))
        {
            g_printerr("%s\n", error->message);
            return 1;
        }
        g_assert_cmpint(write(report_fd, measurement->uid, 32), ==, 32); /* whole: a pipe takes that much at once */
    }
}

typedef struct
{
    GHashTable *uids;
} Found;

static gboolean collect(const IfmCase *subject_case, const IfmMeasurement *measurement, void *user)
{
    Found *found = user;
    g_assert_true(g_hash_table_add(found->uids, g_strdup(measurement->uid)));
    g_assert_cmpuint(measurement->samples_ns->len, ==, n_samples_of(measurement->started_unix_ms));
    g_assert_cmpuint(measurement->warmup_ns->len, ==, 4);
    g_assert_cmpuint(measurement->nodes->len, ==, 3);
    return TRUE;
}

/* Reads uids into @printed until @wanted are there; -1: until the child's end of the pipe is closed. */
static void read_uids(int fd, GHashTable *printed, int wanted)
{
    char uid[33] = { 0 };
    for (int n = 0; wanted < 0 || n < wanted; n++)
    {
        gssize length = read(fd, uid, 32);
        if (length == 0)
            return;
        g_assert_cmpint(length, ==, 32);
        g_hash_table_add(printed, g_strdup(uid));
    }
}

static void kill_at_random(const char *path, GRand *random, GHashTable *printed)
{
    int fds[2];
    g_assert_cmpint(pipe2(fds, O_CLOEXEC), ==, 0);
    report_fd = fds[1];
    pid_t child = start_child(commit_without_end, path);
    close(fds[1]);
    read_uids(fds[0], printed, g_rand_int_range(random, 0, 5));
    g_usleep((gulong)g_rand_int_range(random, 0, 12000)); /* somewhere within a commit, or between two */
    int status = 0;
    g_assert_cmpint(kill(child, SIGKILL), ==, 0);
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    g_assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL); /* it had not ended by itself */
    read_uids(fds[0], printed, -1);
    close(fds[0]);
}

static void check_after(const char *path, gboolean reading, GHashTable *printed, guint *n_found, guint *n_unprinted)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmStore) store = ifm_store_open(path, reading ? IFM_STORE_READ : mode_of(path), &error);
    Found found = { g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL) };
    if (store == NULL && g_hash_table_size(printed) == 0) /* killed before there was a store */
        g_assert_true(g_error_matches(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE) ||
                      g_error_matches(error, IFM_ERROR, IFM_ERROR_INVALID));
    else
    {
        g_assert_no_error(error);
        check(store);
        ifm_store_each(store, collect, &found, &error);
        g_assert_no_error(error);
    }
    GHashTableIter iter;
    const char *uid;
    g_hash_table_iter_init(&iter, printed);
    while (g_hash_table_iter_next(&iter, (gpointer *)&uid, NULL))
        g_assert_true(g_hash_table_contains(found.uids, uid));
    *n_found = g_hash_table_size(found.uids);
    *n_unprinted = *n_found - g_hash_table_size(printed);
    g_hash_table_unref(found.uids);
}

static void kill_and_check(const char *name)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(20231116);
    guint n_with_some = 0, n_unprinted_before = 0;
    g_autoptr(GHashTable) printed = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    g_autofree char *path = NULL;
    for (int round = 0; round < N_KILLS / 2; round++)
    {
        if (round % 5 == 0) /* a new store now and then: making one may be killed, too */
        {
            g_free(path);
            path = g_strdup_printf("%s/%d-%s", folder, round, name);
            g_hash_table_remove_all(printed);
            n_unprinted_before = 0;
        }
        first_number = round * 1000;
        kill_at_random(path, random, printed);
        guint n_found = 0, n_unprinted = 0;
        check_after(path, round % 2 == 0, printed, &n_found, &n_unprinted);
        g_assert_cmpuint(n_unprinted, >=, n_unprinted_before);
        g_assert_cmpuint(n_unprinted, <=, n_unprinted_before + 1);
        n_unprinted_before = n_unprinted;
        n_with_some += n_found > 0;
    }
    g_assert_cmpuint(n_with_some, >, N_KILLS / 4); /* it was not killed too early to tell anything */
}

static void test_kill_log(void)
{
    kill_and_check("store.db");
}

static void test_kill_journal(void)
{
    kill_and_check("shard.db");
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    make_folder();
    g_test_add_func("/store-kill/write-ahead-log", test_kill_log);
    g_test_add_func("/store-kill/rollback-journal", test_kill_journal);
    int status = g_test_run();
    remove_folder();
    return status;
}
