#include "store-examples.h"
#include "store/store-private.h"
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

/* Exit statuses of children: 0 as expected, else the line where it was not. */
#define EXPECT(condition)                                                                                                  \
    do                                                                                                                     \
    {                                                                                                                      \
        if (!(condition))                                                                                                  \
            return __LINE__ % 250 + 1;                                                                                     \
    } while (0)

/* Opening @path must fail with @code and a line that holds @part, and leave the file as it is. */
static void assert_open_refused(const char *path, IfmStoreMode mode, int code, const char *part)
{
    gsize length = 0, length_after = 0;
    gboolean is_file = g_file_test(path, G_FILE_TEST_IS_REGULAR);
    g_autofree char *before = is_file ? content_of(path, &length) : NULL;
    g_autoptr(GError) error = NULL;
    IfmStore *store = ifm_store_open_with(path, mode, 100, &error);
    g_assert_null(store);
    g_assert_error(error, IFM_ERROR, code);
    g_assert_true(g_str_has_prefix(error->message, path));
    if (strstr(error->message, part) == NULL)
        g_error("\"%s\" is not in \"%s\"", part, error->message);
    g_assert_null(strchr(error->message, '\n'));
    g_autofree char *after = is_file ? content_of(path, &length_after) : NULL;
    g_assert_cmpmem(before, length, after, length_after);
}

static void run_sql(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
    char *trouble = NULL;
    sqlite3_exec(db, sql, NULL, NULL, &trouble);
    g_assert_cmpstr(trouble, ==, NULL);
    g_assert_cmpint(sqlite3_close(db), ==, SQLITE_OK);
}

/* A store with two measurements, closed. */
static char *make_store(const char *name, IfmStoreMode mode)
{
    char *path = in_folder(name);
    g_autoptr(IfmStore) store = open_store(path, mode);
    g_autoptr(IfmCase) subject_case = example_case("a:CPU");
    for (int i = 0; i < 2; i++)
    {
        g_autoptr(IfmMeasurement) measurement = example_measurement(subject_case, i, 2000);
        commit(store, subject_case, measurement);
    }
    return path;
}

static void test_not_there(void)
{
    g_autofree char *missing = in_folder("missing.db"), *below_file = in_folder("plain/x.db"), *plain = in_folder("plain");
    assert_open_refused(missing, IFM_STORE_READ, IFM_ERROR_UNAVAILABLE, "no such store");
    g_assert_false(g_file_test(missing, G_FILE_TEST_EXISTS));
    assert_open_refused(folder, IFM_STORE_READ, IFM_ERROR_INVALID, "folder");
    assert_open_refused(folder, IFM_STORE_WRITE, IFM_ERROR_INVALID, "folder");
    g_assert_true(g_file_set_contents(plain, "x", 1, NULL));
    assert_open_refused(below_file, IFM_STORE_WRITE, IFM_ERROR_UNAVAILABLE, "");
    assert_open_refused("/dev/null", IFM_STORE_WRITE, IFM_ERROR_INVALID, "is no file");
}

static void test_no_store(void)
{
    g_autofree char *empty = in_folder("empty.db"), *foreign = in_folder("foreign.db"), *other = in_folder("other.db");
    g_assert_true(g_file_set_contents(empty, "", 0, NULL));
    assert_open_refused(empty, IFM_STORE_READ, IFM_ERROR_INVALID, "empty");
    ifm_store_close(open_store(empty, IFM_STORE_WRITE)); /* nothing is in it, so nothing is lost */

    g_autofree char *junk = in_folder("junk.db"), *much = g_strnfill(100000, 'j');
    const char *const contents[] = { "x", "this is no store\n", much };
    for (gsize i = 0; i < G_N_ELEMENTS(contents); i++)
    {
        g_assert_true(g_file_set_contents(junk, contents[i], -1, NULL));
        assert_open_refused(junk, IFM_STORE_READ, IFM_ERROR_INVALID, "no SQLite file");
        assert_open_refused(junk, IFM_STORE_WRITE, IFM_ERROR_INVALID, "no SQLite file");
        assert_open_refused(junk, IFM_STORE_SHARD, IFM_ERROR_INVALID, "no SQLite file");
    }
    run_sql(foreign, "CREATE TABLE bookmarks (x); PRAGMA user_version = 1");
    assert_open_refused(foreign, IFM_STORE_READ, IFM_ERROR_INVALID, "another program");
    assert_open_refused(foreign, IFM_STORE_WRITE, IFM_ERROR_INVALID, "another program");
    run_sql(other, "PRAGMA application_id = 7");
    assert_open_refused(other, IFM_STORE_WRITE, IFM_ERROR_INVALID, "another program");
}

static void test_newer(void)
{
    g_autofree char *path = make_store("newer.db", IFM_STORE_SHARD);
    run_sql(path, "PRAGMA user_version = 99");
    for (int mode = IFM_STORE_READ; mode <= IFM_STORE_SHARD; mode++)
        assert_open_refused(path, mode, IFM_ERROR_INVALID, "newer version (schema 99; this one knows up to 1)");
}

/* Of a build before the first release: one line that says what to do, and the file stays as it is. */
static void assert_earlier(const char *mark)
{
    g_autofree char *path = make_store("earlier.db", IFM_STORE_SHARD), *before = NULL, *after = NULL;
    gsize length, length_after;
    run_sql(path, mark);
    g_assert_true(g_file_get_contents(path, &before, &length, NULL));
    for (int mode = IFM_STORE_READ; mode <= IFM_STORE_SHARD; mode++)
        assert_open_refused(
            path, mode, IFM_ERROR_INVALID,
            "earlier.db: is a store of an earlier build: measure again, or export it with the build that made it");
    g_assert_true(g_file_get_contents(path, &after, &length_after, NULL));
    g_assert_cmpmem(before, length, after, length_after);
    g_assert_cmpint(g_remove(path), ==, 0);
}

static void test_earlier(void)
{
    assert_earlier("PRAGMA application_id = 0x49464d73; PRAGMA user_version = 4");
    assert_earlier("PRAGMA application_id = 0x49464d31; PRAGMA user_version = 1"); /* samples were a table of their own */
}

static gboolean is_there(const char *path)
{
    static const char *const suffixes[] = { "", "-wal", "-shm", "-journal" };
    gboolean found = FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(suffixes); i++)
    {
        g_autofree char *file = g_strconcat(path, suffixes[i], NULL);
        found |= g_file_test(file, G_FILE_TEST_EXISTS);
    }
    return found;
}

static int open_and_wait(const char *path)
{
    g_autoptr(IfmStore) store = ifm_store_open(path, IFM_STORE_WRITE, NULL);
    g_autofree char *sign = g_strconcat(path, ".open", NULL);
    EXPECT(store != NULL && g_file_set_contents(sign, "", 0, NULL));
    for (;;)
        g_usleep(1000000);
}

/* A store that was made and got nothing goes again with its handle; what was there before, what holds a measurement and
 * what another process has open stays. */
static void test_unused(void)
{
    const IfmStoreMode modes[] = { IFM_STORE_WRITE, IFM_STORE_SHARD };
    for (gsize i = 0; i < G_N_ELEMENTS(modes); i++)
    {
        g_autofree char *name = g_strdup_printf("unused-%zu.db", i), *path = in_folder(name), *kept_name = NULL;
        ifm_store_close(open_store(path, modes[i]));
        g_assert_false(is_there(path));
        kept_name = g_strdup_printf("used-%zu.db", i);
        g_autofree char *kept = make_store(kept_name, modes[i]), *filled = in_folder("filled-by-sql.db");
        ifm_store_close(open_store(kept, modes[i])); /* not made by this open */
        g_assert_true(g_file_test(kept, G_FILE_TEST_EXISTS));
        run_sql(kept, "PRAGMA foreign_keys = OFF; DELETE FROM measurement");
        ifm_store_close(open_store(kept, modes[i]));
        g_assert_true(g_file_test(kept, G_FILE_TEST_EXISTS));
        g_autoptr(IfmStore) empty = open_store(filled, modes[i]);
        g_autoptr(IfmStore) from = open_store(kept, IFM_STORE_READ);
        g_assert_true(ifm_store_merge(empty, from, NULL, NULL)); /* nothing was all there is, and that was added */
        g_clear_pointer(&empty, ifm_store_close);
        g_assert_true(g_file_test(filled, G_FILE_TEST_EXISTS));
        g_assert_cmpint(g_remove(filled), ==, 0);
    }
    g_autofree char *shared = in_folder("shared.db"), *sign = g_strconcat(shared, ".open", NULL);
    g_autoptr(IfmStore) store = open_store(shared, IFM_STORE_WRITE);
    pid_t child = start_child(open_and_wait, shared);
    while (!g_file_test(sign, G_FILE_TEST_EXISTS))
        g_usleep(1000);
    g_clear_pointer(&store, ifm_store_close);
    g_assert_true(g_file_test(shared, G_FILE_TEST_EXISTS));
    kill(child, SIGKILL);
    g_assert_cmpint(waitpid(child, NULL, 0), ==, child);
}

/* --- damage
 * ---------------------------------------------------------------------------------------------------------------- */

static void assert_check_fails(const char *path, const char *part)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmStore) store = ifm_store_open(path, IFM_STORE_READ, &error);
    gboolean good = store != NULL && ifm_store_check(store, &error);
    g_assert_false(good);
    g_assert_error(error, IFM_ERROR, IFM_ERROR_CORRUPT);
    if (strstr(error->message, part) == NULL)
        g_error("\"%s\" is not in \"%s\"", part, error->message);
    g_assert_null(strchr(error->message, '\n'));
}

static void test_damaged_rows(void)
{
    static const struct
    {
        const char *sql, *part;
    } damages[] = {
        { "PRAGMA ignore_check_constraints = ON; UPDATE measurement SET samples_ns = x'0102'", "" },
        { "UPDATE measurement SET samples_ns = x'0000000000000000'", "digest differs" },
        { "UPDATE measurement SET warmup_ns = x''", "digest differs" },
        { "UPDATE measurement SET reason = 'x'", "digest differs" },
        { "UPDATE measurement SET breakdown = '{\"x\":'", "breakdown:1:" },
        { "UPDATE measurement SET nodes = json_set(nodes, '$[0].median_ns', 1)", "digest differs" },
        { "UPDATE measurement SET nodes = json_remove(nodes, '$[1]')", "digest differs" },
        { "UPDATE measurement SET nodes = json_remove(nodes, '$[1].name')", "nodes[1]" },
        { "DELETE FROM subject_case", "refers to nothing" },
        { "UPDATE subject_case SET device = 'b:CPU'", "case.key" },
        { "DROP TABLE measurement", "measurement" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(damages); i++)
    {
        g_autofree char *name = g_strdup_printf("rows-%zu.db", i), *path = make_store(name, IFM_STORE_SHARD);
        run_sql(path, damages[i].sql);
        assert_check_fails(path, damages[i].part);
    }
}

/* A merge refuses a damaged shard and changes nothing. */
static void test_merge_damaged(void)
{
    g_autofree char *path = make_store("damaged-shard.db", IFM_STORE_SHARD), *into = in_folder("into.db");
    run_sql(path, "UPDATE measurement SET stop_reason = 'x' WHERE started_unix_ms = 1");
    g_autoptr(IfmStore) store = open_store(into, IFM_STORE_WRITE);
    g_autoptr(IfmStore) from = open_store(path, IFM_STORE_READ);
    g_autoptr(GError) error = NULL;
    g_assert_false(ifm_store_merge(store, from, NULL, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_CORRUPT);
    g_assert_cmpuint(count(store), ==, 0);
}

/* Truncated anywhere and with bytes overwritten anywhere, a store is refused or answers: it never crashes, and what the
 * check lets pass is whole. */
static void test_damaged_bytes(void)
{
    g_autofree char *path = make_store("bytes.db", IFM_STORE_SHARD), *broken = in_folder("broken.db");
    gsize length = 0;
    g_autofree char *good = content_of(path, &length);
    g_autoptr(GRand) random = g_rand_new_with_seed(7);
    guint n_refused = 0;
    for (int round = 0; round < 200; round++)
    {
        g_autofree char *bytes = g_memdup2(good, length);
        gsize kept = round % 4 == 0 ? (gsize)g_rand_int_range(random, 1, (gint32)length) : length;
        for (int i = 0; round % 4 != 0 && i < 8; i++)
            bytes[g_rand_int_range(random, 0, (gint32)length)] = (char)g_rand_int_range(random, 0, 256);
        g_assert_true(g_file_set_contents_full(broken, bytes, (gssize)kept, G_FILE_SET_CONTENTS_NONE, 0666, NULL));
        g_autoptr(GError) error = NULL;
        g_autoptr(IfmStore) store =
            ifm_store_open_with(broken, round % 2 == 0 ? IFM_STORE_READ : IFM_STORE_WRITE, 100, &error);
        if (store != NULL && ifm_store_check(store, &error))
        {
            g_assert_cmpuint(count(store), ==, 2); /* unused bytes were hit */
            continue;
        }
        g_assert_nonnull(error);
        g_assert_true(error->domain == IFM_ERROR);
        g_assert_null(strchr(error->message, '\n'));
        n_refused++;
    }
    g_assert_cmpuint(n_refused, >, 100);
}

/* --- permissions
 * ----------------------------------------------------------------------------------------------------------- */

/* Root may write everywhere, so the child becomes somebody else. */
static gboolean become_nobody(void)
{
    return geteuid() != 0 || (setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0);
}

static gboolean refuses(const char *path, IfmStoreMode mode, const char *part)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmStore) store = ifm_store_open_with(path, mode, 100, &error);
    gboolean as_expected = store == NULL && g_error_matches(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE) &&
                           strstr(error->message, part) != NULL && strchr(error->message, '\n') == NULL;
    if (!as_expected)
        g_printerr("%s\n", error != NULL ? error->message : "no error");
    return as_expected;
}

static int in_read_only_folder(const char *path)
{
    EXPECT(become_nobody());
    EXPECT(refuses(path, IFM_STORE_WRITE, "read-only"));
    EXPECT(refuses(path, IFM_STORE_SHARD, "read-only"));
    g_autofree char *fresh = g_strconcat(path, ".new", NULL);
    EXPECT(refuses(fresh, IFM_STORE_WRITE, "read-only"));
    EXPECT(!g_file_test(fresh, G_FILE_TEST_EXISTS));
    g_autoptr(IfmStore) store = ifm_store_open(path, IFM_STORE_READ, NULL);
    EXPECT(store != NULL);
    EXPECT(ifm_store_check(store, NULL));
    guint n = 0;
    EXPECT(ifm_store_each(store, count_visitor, &n, NULL) && n == 2);
    g_autoptr(IfmCase) subject_case = example_case("a:CPU");
    g_autoptr(IfmMeasurement) measurement = example_measurement(subject_case, 1, 1);
    g_autoptr(GError) error = NULL;
    EXPECT(!ifm_store_commit(store, subject_case, measurement, &error));
    EXPECT(g_error_matches(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE));
    return 0;
}

static void test_read_only(void)
{
    const IfmStoreMode modes[] = { IFM_STORE_WRITE, IFM_STORE_SHARD };
    for (gsize i = 0; i < G_N_ELEMENTS(modes); i++)
    {
        g_autofree char *name = g_strdup_printf("ro-%zu/x.db", i), *path = make_store(name, modes[i]);
        g_autofree char *parent = g_path_get_dirname(path);
        g_assert_cmpint(g_chmod(path, 0444), ==, 0);
        g_assert_cmpint(g_chmod(parent, 0555), ==, 0);
        g_assert_cmpint(g_chmod(folder, 0755), ==, 0);
        g_assert_cmpint(end_child(start_child(in_read_only_folder, path)), ==, 0);
        g_assert_cmpint(g_chmod(parent, 0755), ==, 0);
    }
}

static int read_only_file(const char *path)
{
    EXPECT(become_nobody());
    EXPECT(refuses(path, IFM_STORE_WRITE, "is read-only"));
    g_autoptr(IfmStore) store = ifm_store_open(path, IFM_STORE_READ, NULL);
    EXPECT(store != NULL && ifm_store_check(store, NULL));
    return 0;
}

static int unreadable_file(const char *path)
{
    EXPECT(become_nobody());
    EXPECT(refuses(path, IFM_STORE_READ, "denied"));
    return 0;
}

static void test_read_only_file(void)
{
    g_autofree char *path = make_store("ro-file/x.db", IFM_STORE_WRITE), *parent = g_path_get_dirname(path);
    g_assert_cmpint(g_chmod(path, 0444), ==, 0);
    g_assert_cmpint(g_chmod(parent, 0777), ==, 0);
    g_assert_cmpint(end_child(start_child(read_only_file, path)), ==, 0);
    g_assert_cmpint(g_chmod(path, 0000), ==, 0);
    g_assert_cmpint(end_child(start_child(unreadable_file, path)), ==, 0);
}

static int commit_and_die(const char *path)
{
    g_autoptr(GError) error = NULL;
    IfmStore *store = ifm_store_open(path, IFM_STORE_WRITE, &error);
    EXPECT(store != NULL);
    g_autoptr(IfmCase) subject_case = example_case("a:CPU");
    g_autoptr(IfmMeasurement) measurement = example_measurement(subject_case, 7, 10);
    EXPECT(ifm_store_commit(store, subject_case, measurement, &error));
    _exit(0); /* without closing: the write-ahead log stays */
}

static int cannot_read_log(const char *path)
{
    EXPECT(become_nobody());
    EXPECT(refuses(path, IFM_STORE_READ, "-wal"));
    return 0;
}

/* A killed writer's log holds committed measurements: they are read, or it is said why not; they are never left out. */
static void test_log_in_read_only_folder(void)
{
    g_autofree char *path = make_store("ro-log/x.db", IFM_STORE_WRITE), *parent = g_path_get_dirname(path);
    g_autofree char *shared = g_strconcat(path, "-shm", NULL), *log = g_strconcat(path, "-wal", NULL);
    g_assert_cmpint(end_child(start_child(commit_and_die, path)), ==, 0);
    g_assert_true(g_file_test(log, G_FILE_TEST_EXISTS));
    g_assert_cmpint(g_remove(shared), ==, 0);
    g_assert_cmpint(g_chmod(parent, 0555), ==, 0);
    g_assert_cmpint(end_child(start_child(cannot_read_log, path)), ==, 0);
    g_assert_cmpint(g_chmod(parent, 0755), ==, 0);
    g_autoptr(IfmStore) store = open_store(path, IFM_STORE_READ);
    g_assert_cmpuint(count(store), ==, 3);
    check(store);
}

/* --- a full disk
 * ------------------------------------------------------------------------------------------------------------ */

/* Commits until it fails, which must be told as a full disk; then everything that was committed is there, and once there is
 * room again it goes on. */
static int fill(const char *path, IfmStoreMode mode, gboolean (*make_room)(const char *path))
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmStore) store = ifm_store_open(path, mode, &error);
    EXPECT(store != NULL);
    g_autoptr(IfmCase) subject_case = example_case("a:CPU");
    guint n_committed = 0, n = 0;
    for (; n_committed < 1000; n_committed++)
    {
        g_autoptr(IfmMeasurement) measurement = example_measurement(subject_case, n_committed, 3000);
        if (!ifm_store_commit(store, subject_case, measurement, &error))
            break;
    }
    EXPECT(error != NULL);
    if (!g_error_matches(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE) || strstr(error->message, "disk is full") == NULL)
        g_printerr("%s\n", error->message);
    EXPECT(g_error_matches(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE));
    EXPECT(strstr(error->message, "disk is full") != NULL && strchr(error->message, '\n') == NULL);
    EXPECT(n_committed > 0);
    EXPECT(ifm_store_each(store, count_visitor, &n, NULL) && n == n_committed);
    EXPECT(make_room(path));
    g_autoptr(IfmMeasurement) measurement = example_measurement(subject_case, 5000, 3000);
    EXPECT(ifm_store_commit(store, subject_case, measurement, NULL));
    EXPECT(ifm_store_check(store, NULL));
    n = 0;
    EXPECT(ifm_store_each(store, count_visitor, &n, NULL) && n == n_committed + 1);
    return 0;
}

static gboolean lift_limit(const char *path)
{
    struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_FSIZE, &limit) == 0;
}

static int fill_file(const char *path)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    EXPECT(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = 300000;
    EXPECT(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    return fill(path, g_str_has_suffix(path, "shard.db") ? IFM_STORE_SHARD : IFM_STORE_WRITE, lift_limit);
}

static void test_full(void)
{
    const char *const names[] = { "full-wal.db", "full-shard.db" };
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
    {
        g_autofree char *path = in_folder(names[i]);
        g_assert_cmpint(end_child(start_child(fill_file, path)), ==, 0);
        g_autoptr(IfmStore) store = open_store(path, IFM_STORE_READ);
        check(store);
    }
}

/* No file can grow by a byte. */
static int read_without_room(const char *path)
{
    const struct rlimit none = { 0, RLIM_INFINITY };
    signal(SIGXFSZ, SIG_IGN);
    EXPECT(setrlimit(RLIMIT_FSIZE, &none) == 0);
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmStore) store = ifm_store_open(path, IFM_STORE_READ, &error);
    if (error != NULL)
        g_printerr("%s\n", error->message);
    EXPECT(store != NULL && ifm_store_check(store, NULL));
    guint n = 0;
    EXPECT(ifm_store_each(store, count_visitor, &n, NULL) && n > 0);
    return 0;
}

/* A store on a full disk can be read: closed, and with a log that a killed writer left. */
static void test_full_read(void)
{
    const IfmStoreMode modes[] = { IFM_STORE_WRITE, IFM_STORE_SHARD };
    for (gsize i = 0; i < G_N_ELEMENTS(modes); i++)
    {
        g_autofree char *name = g_strdup_printf("no-room-%zu/x.db", i), *path = make_store(name, modes[i]);
        g_assert_cmpint(end_child(start_child(read_without_room, path)), ==, 0);
    }
    g_autofree char *left = in_folder("no-room-log.db"), *log = g_strconcat(left, "-wal", NULL);
    g_autofree char *shared = g_strconcat(left, "-shm", NULL);
    struct stat found;
    g_assert_cmpint(end_child(start_child(commit_and_die, left)), ==, 0);
    g_assert_true(stat(log, &found) == 0 && found.st_size > 0);
    g_unlink(shared); /* as after a copy */
    g_assert_cmpint(end_child(start_child(read_without_room, left)), ==, 0);
}

static char *ballast_of(const char *path)
{
    g_autofree char *parent = g_path_get_dirname(path);
    return g_build_filename(parent, "ballast", NULL);
}

static gboolean drop_ballast(const char *path)
{
    g_autofree char *ballast = ballast_of(path);
    return g_remove(ballast) == 0;
}

#define CANNOT_MOUNT 77

/* A file system of a megabyte, in a mount namespace of the child's own, so that nothing stays behind. */
static int fill_small_disk(const char *path)
{
    g_autofree char *parent = g_path_get_dirname(path), *ballast = ballast_of(path), *much = g_strnfill(600000, 'b');
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", parent, "tmpfs", 0, "size=1m") != 0)
        return CANNOT_MOUNT;
    EXPECT(g_file_set_contents(ballast, much, 600000, NULL));
    int status = fill(path, g_str_has_suffix(path, "shard.db") ? IFM_STORE_SHARD : IFM_STORE_WRITE, drop_ballast);
    EXPECT(status == 0);
    /* not even an empty store fits: nothing is left behind */
    g_autofree char *fresh = g_strconcat(path, ".new", NULL);
    int fd = open(ballast, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    for (gssize n = 1; n > 0;)
        n = write(fd, much, 4096);
    close(fd);
    EXPECT(refuses(fresh, IFM_STORE_WRITE, "disk is full"));
    EXPECT(!g_file_test(fresh, G_FILE_TEST_EXISTS));
    return 0;
}

static void test_full_disk(void)
{
    const char *const names[] = { "disk-wal/x.db", "disk-shard/shard.db" };
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
    {
        g_autofree char *path = in_folder(names[i]), *parent = g_path_get_dirname(path);
        g_assert_cmpint(g_mkdir(parent, 0777), ==, 0);
        int status = end_child(start_child(fill_small_disk, path));
        if (status == CANNOT_MOUNT)
        {
            g_test_skip("a small file system cannot be mounted here (that takes root)");
            return;
        }
        g_assert_cmpint(status, ==, 0);
    }
}

/* --- several processes
 * ------------------------------------------------------------------------------------------------------ */

static int lock_fds[2];

static int hold_lock(const char *path)
{
    sqlite3 *db = NULL;
    EXPECT(sqlite3_open(path, &db) == SQLITE_OK);
    EXPECT(sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL) == SQLITE_OK);
    EXPECT(write(lock_fds[1], "L", 1) == 1);
    for (;;)
        pause();
}

static pid_t start_locker(const char *path)
{
    char byte;
    g_assert_cmpint(pipe(lock_fds), ==, 0);
    pid_t child = start_child(hold_lock, path);
    g_assert_cmpint(read(lock_fds[0], &byte, 1), ==, 1);
    close(lock_fds[0]);
    close(lock_fds[1]);
    return child;
}

static void end_locker(pid_t child)
{
    int status = 0;
    g_assert_cmpint(kill(child, SIGKILL), ==, 0);
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
}

static void test_locked(void)
{
    g_autofree char *path = make_store("locked.db", IFM_STORE_WRITE),
                    *shard = make_store("locked-shard.db", IFM_STORE_SHARD);
    g_autoptr(GError) error = NULL;
    pid_t locker = start_locker(path);
    g_autoptr(IfmStore) store = ifm_store_open_with(path, IFM_STORE_WRITE, 100, &error);
    g_assert_no_error(error);
    g_autoptr(IfmCase) subject_case = example_case("a:CPU");
    g_autoptr(IfmMeasurement) measurement = example_measurement(subject_case, 9, 10);
    g_assert_false(ifm_store_commit(store, subject_case, measurement, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
    g_assert_nonnull(strstr(error->message, "locked by another process (waited 0.1 s)"));
    g_assert_cmpuint(count(store), ==, 2); /* reading goes on beside a writer */
    end_locker(locker);
    commit(store, subject_case, measurement); /* and writing once it is gone */

    locker = start_locker(shard);
    assert_open_refused(shard, IFM_STORE_SHARD, IFM_ERROR_UNAVAILABLE, "locked by another process");
    assert_open_refused(shard, IFM_STORE_READ, IFM_ERROR_UNAVAILABLE, "locked by another process");
    end_locker(locker);
}

static int commit_many(const char *path)
{
    g_autoptr(GError) error = NULL;
    IfmStoreMode mode = g_str_has_suffix(path, "shard.db") ? IFM_STORE_SHARD : IFM_STORE_WRITE;
    g_autoptr(IfmStore) store = ifm_store_open(path, mode, &error);
    if (store == NULL)
        g_printerr("%s\n", error->message);
    EXPECT(store != NULL);
    g_autoptr(IfmCase) subject_case = example_case("a:CPU");
    for (int i = 0; i < 10; i++)
    {
        g_autoptr(IfmMeasurement) measurement = example_measurement(subject_case, i, 100);
        if (!ifm_store_commit(store, subject_case, measurement, &error))
            g_printerr("%s\n", error->message);
        EXPECT(error == NULL);
    }
    return 0;
}

/* Four processes make the same store at the same time and write to it: all succeed. */
static void test_several(void)
{
    const char *const names[] = { "several.db", "several-shard.db" };
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
    {
        g_autofree char *path = in_folder(names[i]);
        pid_t children[4];
        for (gsize c = 0; c < G_N_ELEMENTS(children); c++)
            children[c] = start_child(commit_many, path);
        for (gsize c = 0; c < G_N_ELEMENTS(children); c++)
            g_assert_cmpint(end_child(children[c]), ==, 0);
        g_autoptr(IfmStore) store = open_store(path, IFM_STORE_READ);
        check(store);
        g_assert_cmpuint(count(store), ==, 40);
    }
}

/* A store that is removed or replaced under way: commits say so instead of going nowhere. */
static void test_removed(void)
{
    g_autofree char *path = make_store("removed.db", IFM_STORE_WRITE);
    g_autoptr(IfmStore) store = open_store(path, IFM_STORE_WRITE);
    g_autoptr(IfmCase) subject_case = example_case("a:CPU");
    g_autoptr(IfmMeasurement) measurement = example_measurement(subject_case, 9, 10);
    g_assert_cmpint(g_remove(path), ==, 0);
    for (int i = 0; i < 2; i++)
    {
        g_autoptr(GError) error = NULL;
        g_assert_false(ifm_store_commit(store, subject_case, measurement, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
        g_assert_nonnull(strstr(error->message, "removed or replaced"));
        g_assert_true(g_file_set_contents(path, "somebody else's", -1, NULL));
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    make_folder();
    g_test_add_func("/store-faults/not-there", test_not_there);
    g_test_add_func("/store-faults/no-store", test_no_store);
    g_test_add_func("/store-faults/newer", test_newer);
    g_test_add_func("/store-faults/earlier", test_earlier);
    g_test_add_func("/store-faults/unused", test_unused);
    g_test_add_func("/store-faults/damaged/rows", test_damaged_rows);
    g_test_add_func("/store-faults/damaged/bytes", test_damaged_bytes);
    g_test_add_func("/store-faults/damaged/merge", test_merge_damaged);
    g_test_add_func("/store-faults/read-only/folder", test_read_only);
    g_test_add_func("/store-faults/read-only/file", test_read_only_file);
    g_test_add_func("/store-faults/read-only/log", test_log_in_read_only_folder);
    g_test_add_func("/store-faults/full/file", test_full);
    g_test_add_func("/store-faults/full/read", test_full_read);
    g_test_add_func("/store-faults/full/disk", test_full_disk);
    g_test_add_func("/store-faults/locked", test_locked);
    g_test_add_func("/store-faults/several", test_several);
    g_test_add_func("/store-faults/removed", test_removed);
    int status = g_test_run();
    remove_folder();
    return status;
}
