#include "store-examples.h"
#include "store/store-private.h"
#include <signal.h>

static void set_document(IfmStore *store, const char *name, json_t *json /* (transfer full) */)
{
    g_autoptr(GError) error = NULL;
    json_auto_t *owned = json;
    ifm_store_set_document(store, name, owned, &error);
    g_assert_no_error(error);
}

/* @expected: canonical text, or NULL for none. */
static void assert_document(IfmStore *store, const char *name, const char *expected)
{
    g_autoptr(GError) error = NULL;
    json_auto_t *json = ifm_store_document(store, name, &error);
    g_assert_no_error(error);
    g_autofree char *text = json != NULL ? ifm_json_canonical(json) : NULL;
    g_assert_cmpstr(text, ==, expected);
}

static void run_sql(const char *path, const char *sql)
{
    sqlite3 *db = NULL;
    char *trouble = NULL;
    g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
    sqlite3_exec(db, sql, NULL, NULL, &trouble);
    g_assert_cmpstr(trouble, ==, NULL);
    g_assert_cmpint(sqlite3_close(db), ==, SQLITE_OK);
}

static void test_replace(void)
{
    g_autofree char *path = in_folder("replace.db");
    {
        g_autoptr(IfmStore) store = open_store(path, IFM_STORE_WRITE);
        assert_document(store, "study", NULL);
        set_document(store, "study", json_pack("{s:i,s:[i,s]}", "b", 1, "a", 2, "caf\xc3\xa9"));
        set_document(store, "other", json_object());
        set_document(store, "study", json_pack("{s:i}", "c", 3));
        assert_document(store, "study", "{\"c\":3}");
    }
    g_autoptr(IfmStore) store = open_store(path, IFM_STORE_READ);
    check(store);
    assert_document(store, "study", "{\"c\":3}");
    assert_document(store, "other", "{}");
    assert_document(store, "Study", NULL);
    g_autoptr(GError) error = NULL;
    json_auto_t *json = json_object();
    g_assert_false(ifm_store_set_document(store, "study", json, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE);
}

static json_t *nested(int depth)
{
    json_t *json = json_object();
    for (int i = 1; i < depth; i++)
        json = json_pack("{s:o}", "x", json);
    return json;
}

/* What could not be read again is not written, and what stood there stays. */
static void test_refused(void)
{
    g_autofree char *path = in_folder("refused.db");
    g_autoptr(IfmStore) store = open_store(path, IFM_STORE_WRITE);
    set_document(store, "study", json_pack("{s:i}", "c", 3));
    const struct
    {
        const char *name;
        json_t *json;
    } refused[] = {
        { "study", json_array() }, { "study", json_null() },  { "study", nested(IFM_JSON_MAX_DEPTH + 1) },
        { "", json_object() },     { "\xff", json_object() },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(refused); i++)
    {
        g_autoptr(GError) error = NULL;
        g_assert_false(ifm_store_set_document(store, refused[i].name, refused[i].json, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
        g_assert_null(strchr(error->message, '\n'));
        json_decref(refused[i].json);
    }
    assert_document(store, "study", "{\"c\":3}");
    set_document(store, "deep", nested(IFM_JSON_MAX_DEPTH));
    check(store);
}

/* A store that was made for a document alone stays; one that got none goes. */
static void test_counts_as_content(void)
{
    const IfmStoreMode modes[] = { IFM_STORE_WRITE, IFM_STORE_SHARD };
    for (gsize i = 0; i < G_N_ELEMENTS(modes); i++)
    {
        g_autofree char *name = g_strdup_printf("content-%zu.db", i), *path = in_folder(name);
        IfmStore *store = open_store(path, modes[i]);
        json_auto_t *wrong = json_array();
        g_assert_false(ifm_store_set_document(store, "study", wrong, NULL));
        ifm_store_close(store);
        g_assert_false(g_file_test(path, G_FILE_TEST_EXISTS));
        store = open_store(path, modes[i]);
        /* by another handle, so that this one knows of nothing it did itself */
        {
            g_autoptr(IfmStore) other = open_store(path, modes[i]);
            set_document(other, "study", json_object());
        }
        ifm_store_close(store);
        g_autoptr(IfmStore) kept = open_store(path, IFM_STORE_READ);
        assert_document(kept, "study", "{}");
    }
}

static void test_merge(void)
{
    g_autofree char *a = in_folder("merge-a.db"), *b = in_folder("merge-b.db");
    g_autoptr(IfmStore) into = open_store(a, IFM_STORE_WRITE);
    set_document(into, "both", json_pack("{s:s}", "of", "a"));
    {
        g_autoptr(IfmStore) from = open_store(b, IFM_STORE_SHARD);
        set_document(from, "both", json_pack("{s:s}", "of", "b"));
        set_document(from, "new", json_pack("{s:s}", "of", "b"));
    }
    g_autoptr(IfmStore) from = open_store(b, IFM_STORE_READ);
    gsize n_added = 9;
    g_assert_true(ifm_store_merge(into, from, &n_added, NULL));
    g_assert_cmpuint(n_added, ==, 0); /* measurements */
    assert_document(into, "both", "{\"of\":\"a\"}");
    assert_document(into, "new", "{\"of\":\"b\"}");
    set_document(into, "mine", json_pack("{s:s}", "of", "a"));
    g_assert_true(ifm_store_merge_over(into, from, &n_added, NULL));
    assert_document(into, "both", "{\"of\":\"b\"}");
    assert_document(into, "mine", "{\"of\":\"a\"}");
    check(into);
}

static void test_damaged(void)
{
    static const struct
    {
        const char *sql, *part;
    } damages[] = {
        { "UPDATE document SET content = '{\"c\":4}'", "document study: is not what was written" },
        { "UPDATE document SET content = '{\"c\":'", "document study: content:1:" },
        { "UPDATE document SET content = '[]'", "document study: is no JSON object" },
        { "UPDATE document SET name = 'x', digest = ''", "document x: is not what was written" },
        { "DROP TABLE document", "document" },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(damages); i++)
    {
        g_autofree char *name = g_strdup_printf("damaged-%zu.db", i), *path = in_folder(name);
        g_autofree char *into_path = g_strconcat(path, ".into", NULL);
        {
            g_autoptr(IfmStore) store = open_store(path, IFM_STORE_SHARD);
            set_document(store, "study", json_pack("{s:i}", "c", 3));
        }
        run_sql(path, damages[i].sql);
        g_autoptr(IfmStore) store = open_store(path, IFM_STORE_READ);
        g_autoptr(IfmStore) into = open_store(into_path, IFM_STORE_WRITE);
        g_autoptr(GError) error = NULL, merge_error = NULL;
        g_assert_false(ifm_store_check(store, &error));
        g_assert_error(error, IFM_ERROR, IFM_ERROR_CORRUPT);
        if (strstr(error->message, damages[i].part) == NULL)
            g_error("\"%s\" is not in \"%s\"", damages[i].part, error->message);
        g_assert_false(ifm_store_merge(into, store, NULL, &merge_error));
        g_assert_error(merge_error, IFM_ERROR, IFM_ERROR_CORRUPT);
    }
}

/* --- killed while it replaces a document
 * ------------------------------------------------------------------------------- */

static int report_fd = -1;

/* Documents from some bytes to half a megabyte: their text is told by their number. */
static char *filling(gint64 number)
{
    return g_strnfill((gsize)(number * 104729 % 500000), (char)('a' + number % 26));
}

static int replace_without_end(const char *path)
{
    g_autoptr(IfmStore) store =
        ifm_store_open(path, g_str_has_suffix(path, "shard.db") ? IFM_STORE_SHARD : IFM_STORE_WRITE, NULL);
    for (gint64 number = 1; store != NULL; number++)
    {
        g_autofree char *text = filling(number);
        json_auto_t *json = json_pack("{s:I,s:s}", "number", (json_int_t)number, "text", text);
        if (!ifm_store_set_document(store, "study", json, NULL))
            return 1;
        g_assert_cmpint(write(report_fd, &number, sizeof number), ==, sizeof number);
    }
    return 1;
}

static void kill_and_check(const char *path, GRand *random)
{
    int fds[2], status = 0;
    gint64 number = 0, reported = 0, wanted = g_rand_int_range(random, 1, 6);
    g_assert_cmpint(pipe2(fds, O_CLOEXEC), ==, 0);
    report_fd = fds[1];
    pid_t child = start_child(replace_without_end, path);
    close(fds[1]);
    while (reported < wanted && read(fds[0], &number, sizeof number) == sizeof number)
        reported = number;
    g_usleep((gulong)g_rand_int_range(random, 0, 10000));
    g_assert_cmpint(kill(child, SIGKILL), ==, 0);
    g_assert_cmpint(waitpid(child, &status, 0), ==, child);
    g_assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    while (read(fds[0], &number, sizeof number) == sizeof number)
        reported = number;
    close(fds[0]);
    g_autoptr(IfmStore) store = open_store(path, IFM_STORE_READ);
    check(store);
    json_auto_t *json = ifm_store_document(store, "study", NULL);
    number = json_integer_value(json_object_get(json, "number"));
    g_autofree char *text = filling(number);
    g_assert_cmpstr(json_string_value(json_object_get(json, "text")), ==, text);
    g_assert_cmpint(number, >=, reported);
    g_assert_cmpint(number, <=, reported + 1);
}

static void test_killed(void)
{
    g_autoptr(GRand) random = g_rand_new_with_seed(20231117);
    for (int i = 0; i < 10; i++)
    {
        g_autofree char *log = g_strdup_printf("%s/kill-%d-log.db", folder, i);
        g_autofree char *shard = g_strdup_printf("%s/kill-%d-shard.db", folder, i);
        kill_and_check(log, random);
        kill_and_check(shard, random);
    }
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    make_folder();
    g_test_add_func("/document/replace", test_replace);
    g_test_add_func("/document/refused", test_refused);
    g_test_add_func("/document/counts-as-content", test_counts_as_content);
    g_test_add_func("/document/merge", test_merge);
    g_test_add_func("/document/damaged", test_damaged);
    g_test_add_func("/document/killed", test_killed);
    int status = g_test_run();
    remove_folder();
    return status;
}
