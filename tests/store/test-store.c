
#include "store-examples.h"
#include "store/store-private.h"

static void test_round_trip(void)
{
    g_autofree char *path = in_folder("a/b/round-trip.db"); /* the folders are made */
    g_autoptr(IfmCase) one = example_case("openvino:CPU@0");
    g_autoptr(IfmCase) other = example_case("onnxruntime:CPU@1");
    g_autoptr(IfmMeasurement) first = example_measurement(one, 1000, 50);
    g_autoptr(IfmMeasurement) newest = example_measurement(one, 3000, 20001);
    g_autoptr(IfmMeasurement) failed = example_measurement(one, 4000, 0);
    failed->outcome = IFM_OUTCOME_FAILED;
    ifm_record_set_text(&failed->error_code, "failed");
    ifm_record_set_text(&failed->reason, "the worker crashed");
    ifm_measurement_set_summary(failed, NULL);
    {
        g_autoptr(IfmStore) store = open_store(path, IFM_STORE_WRITE);
        g_assert_cmpstr(ifm_store_path(store), ==, path);
        commit(store, one, newest);
        commit(store, one, first);
        commit(store, one, failed);
    }
    g_autoptr(IfmStore) store = open_store(path, IFM_STORE_READ);
    check(store);
    g_assert_cmpuint(count(store), ==, 3);
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmMeasurement) latest = ifm_store_latest(store, one->key, &error);
    g_assert_no_error(error);
    assert_same(latest, newest);
    g_assert_null(ifm_store_latest(store, other->key, &error));
    g_assert_no_error(error);
}

/* What a case came to: the newest that went well, whatever failed after it; else the newest. */
static void test_last(void)
{
    g_autofree char *path = in_folder("last.db");
    g_autoptr(IfmStore) store = open_store(path, IFM_STORE_WRITE);
    g_autoptr(IfmCase) subject_case = example_case("a:CPU");
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_store_last(store, subject_case->key, &error));
    g_assert_no_error(error);
    static const struct
    {
        gint64 started;
        IfmOutcome outcome;
        gint64 then; /* the last one's start after this one was committed */
    } steps[] = {
        { 5, IFM_OUTCOME_FAILED, 5 }, { 4, IFM_OUTCOME_SKIPPED, 5 }, { 7, IFM_OUTCOME_SKIPPED, 7 },
        { 2, IFM_OUTCOME_OK, 2 },     { 1, IFM_OUTCOME_OK, 2 },      { 9, IFM_OUTCOME_FAILED, 2 },
        { 3, IFM_OUTCOME_OK, 3 },
    };
    for (gsize i = 0; i < G_N_ELEMENTS(steps); i++)
    {
        g_autoptr(IfmMeasurement) measurement = example_measurement(subject_case, steps[i].started, 2);
        measurement->outcome = steps[i].outcome;
        if (steps[i].outcome != IFM_OUTCOME_OK)
        {
            ifm_record_set_text(&measurement->error_code, "failed");
            ifm_record_set_text(&measurement->reason, "the worker crashed");
        }
        commit(store, subject_case, measurement);
        g_autoptr(IfmMeasurement) last = ifm_store_last(store, subject_case->key, &error);
        g_assert_no_error(error);
        g_assert_cmpint(last->started_unix_ms, ==, steps[i].then);
    }
}

typedef struct
{
    GString *order;
    guint max;
} Order;

static gboolean order_visitor(const IfmCase *subject_case, const IfmMeasurement *measurement, void *user)
{
    Order *order = user;
    g_string_append_printf(order->order, "%s@%d ", subject_case->device, (int)measurement->started_unix_ms);
    return --order->max > 0;
}

static void test_each(void)
{
    g_autofree char *path = in_folder("each.db");
    g_autoptr(IfmStore) store = open_store(path, IFM_STORE_WRITE);
    g_autoptr(IfmCase) a = example_case("a:CPU");
    g_autoptr(IfmCase) b = example_case("b:CPU");
    const IfmCase *low = strcmp(a->key, b->key) < 0 ? a : b, *high = low == a ? b : a;
    const struct
    {
        const IfmCase *of;
        gint64 started;
    } commits[] = { { high, 2 }, { low, 9 }, { high, 1 }, { low, 3 } };
    for (gsize i = 0; i < G_N_ELEMENTS(commits); i++)
    {
        g_autoptr(IfmMeasurement) measurement = example_measurement(commits[i].of, commits[i].started, 3);
        commit(store, commits[i].of, measurement);
    }
    Order order = { g_string_new(NULL), 100 };
    g_assert_true(ifm_store_each(store, order_visitor, &order, NULL));
    g_autofree char *all = g_strdup_printf("%s@3 %s@9 %s@1 %s@2 ", low->device, low->device, high->device, high->device);
    g_assert_cmpstr(order.order->str, ==, all);
    g_string_truncate(order.order, 0);
    order.max = 2;
    g_assert_true(ifm_store_each(store, order_visitor, &order, NULL)); /* ends early */
    g_autofree char *two = g_strdup_printf("%s@3 %s@9 ", low->device, low->device);
    g_assert_cmpstr(order.order->str, ==, two);
    g_string_free(order.order, TRUE);
}

/* The same uid twice: nothing changes, whatever the second one holds. */
static void test_idempotent(void)
{
    g_autofree char *path = in_folder("twice.db");
    g_autoptr(IfmStore) store = open_store(path, IFM_STORE_WRITE);
    g_autoptr(IfmCase) subject_case = example_case("a:CPU");
    g_autoptr(IfmMeasurement) first = example_measurement(subject_case, 1, 3);
    g_autoptr(IfmMeasurement) second = example_measurement(subject_case, 1, 4);
    ifm_record_set_text(&second->uid, first->uid);
    commit(store, subject_case, first);
    commit(store, subject_case, second);
    g_assert_cmpuint(count(store), ==, 1);
    g_autoptr(IfmMeasurement) latest = ifm_store_latest(store, subject_case->key, NULL);
    assert_same(latest, first);
}

static void assert_commit_refused(IfmStore *store, const IfmCase *subject_case, const IfmMeasurement *measurement, int code,
                                  const char *part)
{
    g_autoptr(GError) error = NULL;
    g_assert_false(ifm_store_commit(store, subject_case, measurement, &error));
    g_assert_error(error, IFM_ERROR, code);
    g_assert_nonnull(strstr(error->message, part));
}

static void test_commit_refused(void)
{
    g_autofree char *path = in_folder("refused.db");
    g_autoptr(IfmStore) store = open_store(path, IFM_STORE_WRITE);
    g_autoptr(IfmCase) subject_case = example_case("a:CPU");
    g_autoptr(IfmMeasurement) measurement = example_measurement(subject_case, 1, 3);
    measurement->outcome = (IfmOutcome)99;
    assert_commit_refused(store, subject_case, measurement, IFM_ERROR_INVALID,
                          "measurement: outcome: found 99, expected 0 to 2");
    measurement->outcome = IFM_OUTCOME_FAILED;
    assert_commit_refused(store, subject_case, measurement, IFM_ERROR_INVALID, "error code");
    measurement->outcome = IFM_OUTCOME_OK;
    ifm_record_set_text(&measurement->case_key, "other");
    assert_commit_refused(store, subject_case, measurement, IFM_ERROR_INVALID, "case_key");
    ifm_record_set_text(&measurement->case_key, subject_case->key);
    ifm_record_set_text(&subject_case->device, "b:CPU"); /* after it was sealed */
    assert_commit_refused(store, subject_case, measurement, IFM_ERROR_CORRUPT, "case.key");
    ifm_record_set_text(&subject_case->key, "");
    assert_commit_refused(store, subject_case, measurement, IFM_ERROR_INVALID, "sealed");
    g_assert_cmpuint(count(store), ==, 0);
}

/* --- merging
 * -------------------------------------------------------------------------------------------------------------- */

typedef struct
{
    IfmStore *a, *b;
    IfmCase *one, *two;
    char *b_path;
} Pair;

static Pair make_pair(const char *name)
{
    g_autofree char *a = g_strconcat(folder, "/", name, "-a.db", NULL);
    Pair pair = { .b_path = g_strconcat(folder, "/", name, "-b.db", NULL) };
    pair.one = example_case("one:CPU");
    pair.two = example_case("two:CPU");
    pair.a = open_store(a, IFM_STORE_WRITE);
    pair.b = open_store(pair.b_path, IFM_STORE_SHARD);
    return pair;
}

static void free_pair(Pair *pair)
{
    ifm_store_close(pair->a);
    ifm_store_close(pair->b);
    ifm_case_free(pair->one);
    ifm_case_free(pair->two);
    g_free(pair->b_path);
}

static gsize merge_b_into_a(Pair *pair)
{
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmStore) from = open_store(pair->b_path, IFM_STORE_READ);
    gsize n_added = 999;
    ifm_store_merge(pair->a, from, &n_added, &error);
    g_assert_no_error(error);
    check(pair->a);
    return n_added;
}

/* Two that belong together: both or none. */
static void test_commit_all(void)
{
    g_autofree char *path = in_folder("all.db");
    g_autoptr(IfmStore) store = open_store(path, IFM_STORE_WRITE);
    g_autoptr(GError) error = NULL;
    g_autoptr(IfmCase) a = example_case("a:CPU"), b = example_case("b:CPU");
    g_autoptr(IfmMeasurement) of_a = example_measurement(a, 1, 2), of_b = example_measurement(b, 2, 2);
    const IfmCase *const cases[] = { a, b };
    const IfmMeasurement *const wrong[] = { of_a, of_a }, *const right[] = { of_a, of_b };
    g_assert_false(ifm_store_commit_all(store, cases, wrong, 2, &error));
    g_assert_true(g_error_matches(error, IFM_ERROR, IFM_ERROR_INVALID));
    g_clear_error(&error);
    g_assert_cmpuint(count(store), ==, 0);
    /* The second refused by the file itself, when the first is written already. */
    g_assert_true(ifm_store_run(store,
                                "CREATE TRIGGER no BEFORE INSERT ON measurement WHEN NEW.started_unix_ms = 2 "
                                "BEGIN SELECT RAISE(ABORT, 'not this one'); END",
                                &error));
    g_assert_false(ifm_store_commit_all(store, cases, right, 2, &error));
    g_clear_error(&error);
    g_assert_cmpuint(count(store), ==, 0);
    g_assert_true(ifm_store_run(store, "DROP TRIGGER no", &error));
    g_assert_true(ifm_store_commit_all(store, cases, right, 2, &error));
    g_assert_no_error(error);
    g_assert_cmpuint(count(store), ==, 2);
    check(store);
}

static void test_merge_disjoint(void)
{
    Pair pair = make_pair("disjoint");
    g_autoptr(IfmMeasurement) x = example_measurement(pair.one, 1, 5);
    g_autoptr(IfmMeasurement) y = example_measurement(pair.two, 2, 6);
    g_autoptr(IfmMeasurement) z = example_measurement(pair.two, 3, 0);
    commit(pair.a, pair.one, x);
    commit(pair.b, pair.two, y);
    commit(pair.b, pair.two, z);
    g_assert_cmpuint(merge_b_into_a(&pair), ==, 2);
    g_assert_cmpuint(count(pair.a), ==, 3);
    g_assert_cmpuint(count(pair.b), ==, 2);
    g_autoptr(IfmMeasurement) latest = ifm_store_latest(pair.a, pair.two->key, NULL);
    assert_same(latest, z);
    g_assert_cmpuint(merge_b_into_a(&pair), ==, 0); /* again: nothing new */
    g_assert_cmpuint(count(pair.a), ==, 3);
    free_pair(&pair);
}

static void test_merge_overlapping(void)
{
    Pair pair = make_pair("overlapping");
    g_autoptr(IfmMeasurement) both = example_measurement(pair.one, 1, 5);
    g_autoptr(IfmMeasurement) new_one = example_measurement(pair.one, 2, 6);
    commit(pair.a, pair.one, both);
    commit(pair.b, pair.one, both);
    commit(pair.b, pair.one, new_one);
    g_assert_cmpuint(merge_b_into_a(&pair), ==, 1);
    g_assert_cmpuint(count(pair.a), ==, 2);
    free_pair(&pair);
}

/* Equal uids of different measurements: an error, and nothing at all is merged, whichever comes first. */
static void test_merge_conflict(void)
{
    Pair pair = make_pair("conflict");
    g_autoptr(IfmMeasurement) mine = example_measurement(pair.one, 5, 5);
    g_autoptr(IfmMeasurement) theirs = example_measurement(pair.one, 5, 5);
    g_autoptr(IfmMeasurement) before = example_measurement(pair.one, 1, 5);
    g_autoptr(IfmMeasurement) after = example_measurement(pair.one, 9, 5);
    ifm_record_set_text(&theirs->uid, mine->uid);
    g_array_index(theirs->samples_ns, gint64, 2)++;
    commit(pair.a, pair.one, mine);
    commit(pair.b, pair.one, before);
    commit(pair.b, pair.one, theirs);
    commit(pair.b, pair.one, after);
    g_autoptr(IfmStore) from = open_store(pair.b_path, IFM_STORE_READ);
    g_autoptr(GError) error = NULL;
    gsize n_added = 999;
    g_assert_false(ifm_store_merge(pair.a, from, &n_added, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_CORRUPT);
    g_assert_nonnull(strstr(error->message, mine->uid));
    g_assert_nonnull(strstr(error->message, pair.b_path));
    g_assert_cmpuint(n_added, ==, 0);
    g_assert_cmpuint(count(pair.a), ==, 1);
    g_autoptr(IfmMeasurement) latest = ifm_store_latest(pair.a, pair.one->key, NULL);
    assert_same(latest, mine);
    g_autoptr(IfmMeasurement) more = example_measurement(pair.one, 6, 1);
    commit(pair.a, pair.one, more); /* and it goes on working */
    free_pair(&pair);
}

static void test_merge_itself(void)
{
    g_autofree char *path = in_folder("itself.db");
    g_autoptr(IfmStore) store = open_store(path, IFM_STORE_SHARD);
    g_autoptr(IfmCase) subject_case = example_case("a:CPU");
    g_autoptr(IfmMeasurement) measurement = example_measurement(subject_case, 1, 5);
    commit(store, subject_case, measurement);
    g_autoptr(IfmStore) same = open_store(path, IFM_STORE_READ);
    gsize n_added = 999;
    g_assert_true(ifm_store_merge(store, same, &n_added, NULL));
    g_assert_cmpuint(n_added, ==, 0);
    g_assert_cmpuint(count(store), ==, 1);
}

/* --- a scratch store ---------------------------------------------------------------------------------------------- */

static gsize n_in_folder(const char *path)
{
    g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
    gsize n = 0;
    g_assert_nonnull(dir);
    while (g_dir_read_name(dir) != NULL)
        n++;
    return n;
}

static gint64 setting(const IfmStore *store, const char *pragma)
{
    gint64 value = -1;
    g_autoptr(GError) error = NULL;
    ifm_store_integer(store, pragma, &value, &error);
    g_assert_no_error(error);
    return value;
}

/* What is in it is whole and can be merged; nothing stands beside it meanwhile, and nothing of it is left. */
static void test_scratch(void)
{
    g_autofree char *path = in_folder("scratch/scratch.db"), *above = in_folder("scratch"),
                    *into_path = in_folder("kept.db");
    g_autoptr(IfmCase) subject_case = example_case("a:CPU");
    g_autoptr(IfmMeasurement) first = example_measurement(subject_case, 1, 3);
    g_autoptr(IfmMeasurement) second = example_measurement(subject_case, 2, 3);
    g_autoptr(IfmMeasurement) homeless = example_measurement(subject_case, 3, 3);
    g_autoptr(IfmStore) into = open_store(into_path, IFM_STORE_WRITE);
    IfmStore *scratch = open_store(path, IFM_STORE_SCRATCH);
    g_assert_cmpint(setting(scratch, "PRAGMA synchronous"), ==, 0);
    commit(scratch, subject_case, first);
    ifm_record_set_text(&homeless->case_key, "no such case");
    g_assert_false(ifm_store_commit(scratch, subject_case, homeless, NULL));
    /* within a transaction, too: the journal is no file */
    g_assert_true(ifm_store_begin_writing(scratch, NULL));
    g_assert_true(ifm_store_insert(scratch, subject_case, second, NULL));
    g_assert_cmpuint(n_in_folder(above), ==, 1);
    g_assert_false(ifm_store_end(scratch, FALSE, NULL));
    g_assert_cmpuint(count(scratch), ==, 1); /* taken back */
    commit(scratch, subject_case, second);
    check(scratch);
    gsize n_added = 0;
    g_assert_true(ifm_store_merge(into, scratch, &n_added, NULL));
    g_assert_cmpuint(n_added, ==, 2);
    ifm_store_close(scratch);
    g_assert_cmpuint(n_in_folder(above), ==, 0);
    g_assert_cmpuint(count(into), ==, 2);
    check(into);
}

/* It would take what is there along when it goes. */
static void test_scratch_refused(void)
{
    g_autofree char *path = in_folder("precious.db");
    g_autoptr(IfmCase) subject_case = example_case("a:CPU");
    g_autoptr(IfmMeasurement) measurement = example_measurement(subject_case, 1, 3);
    {
        g_autoptr(IfmStore) store = open_store(path, IFM_STORE_WRITE);
        commit(store, subject_case, measurement);
    }
    g_autoptr(GError) error = NULL;
    g_assert_null(ifm_store_open(path, IFM_STORE_SCRATCH, &error));
    g_assert_error(error, IFM_ERROR, IFM_ERROR_INVALID);
    g_autoptr(IfmStore) store = open_store(path, IFM_STORE_READ);
    g_assert_cmpuint(count(store), ==, 1);
}

int main(int argc, char **argv)
{
    g_test_init(&argc, &argv, NULL);
    make_folder();
    g_test_add_func("/store/round-trip", test_round_trip);
    g_test_add_func("/store/last", test_last);
    g_test_add_func("/store/each", test_each);
    g_test_add_func("/store/idempotent", test_idempotent);
    g_test_add_func("/store/commit-refused", test_commit_refused);
    g_test_add_func("/store/commit-all", test_commit_all);
    g_test_add_func("/store/scratch", test_scratch);
    g_test_add_func("/store/scratch/refused", test_scratch_refused);
    g_test_add_func("/store/merge/disjoint", test_merge_disjoint);
    g_test_add_func("/store/merge/overlapping", test_merge_overlapping);
    g_test_add_func("/store/merge/conflict", test_merge_conflict);
    g_test_add_func("/store/merge/itself", test_merge_itself);
    int status = g_test_run();
    remove_folder();
    return status;
}
