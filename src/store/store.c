#include "store-private.h"
#include <base/base.h>
#include <base/fields.h>
#include <store/store.h>
#include <string.h>

/* Measurements are checked and added to a store, found and visited in it, and merged from another one. */

static gboolean refuse(IfmErrorCode code, GError **error, const char *what)
{
    return ifm_error_set(error, code, "measurement: %s", what);
}

/* What must hold of any pair that is stored. */
static gboolean check_records(const IfmCase *subject_case, const IfmMeasurement *measurement, GError **error)
{
    if (!ifm_record_check(subject_case, ifm_case_fields, "case", error) || !ifm_case_check(subject_case, error) ||
        !ifm_record_check(measurement, ifm_measurement_fields, "measurement", error))
        return FALSE;
    if (*subject_case->key == '\0')
        return refuse(IFM_ERROR_INVALID, error, "its case is not sealed");
    if (g_strcmp0(measurement->case_key, subject_case->key) != 0)
        return refuse(IFM_ERROR_INVALID, error, "its case_key is not the key of the case");
    if (measurement->uid == NULL || *measurement->uid == '\0')
        return refuse(IFM_ERROR_INVALID, error, "it has no uid");
    gboolean ok = measurement->outcome == IFM_OUTCOME_OK;
    gboolean reported = measurement->error_code != NULL && *measurement->error_code != '\0' &&
                        measurement->reason != NULL && *measurement->reason != '\0';
    if (!ok && !reported)
        return refuse(IFM_ERROR_INVALID, error, "one that is not OK carries an error code and a reason");
    return TRUE;
}

/* After its file is removed or replaced, this process would write to a file that no other can open. */
static gboolean check_in_place(const IfmStore *store, GError **error)
{
    struct stat found;
    if (stat(store->path, &found) == 0 && found.st_dev == store->device && found.st_ino == store->inode)
        return TRUE;
    return ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: was removed or replaced while it was open", store->path);
}

gboolean ifm_store_begin_writing(const IfmStore *store, GError **error)
{
    if (store->mode == IFM_STORE_READ)
        return ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: is open for reading only", store->path);
    return check_in_place(store, error) && ifm_store_run(store, "BEGIN IMMEDIATE", error);
}

/* One of several, within a transaction. */
static gboolean insert_new(const IfmStore *store, const IfmCase *subject_case, const IfmMeasurement *measurement,
                           GError **error)
{
    GError *trouble = NULL;
    g_autofree char *stored = ifm_store_stored_digest(store, measurement->uid, &trouble);
    return ifm_error_pass(error, trouble) && (stored != NULL || ifm_store_insert(store, subject_case, measurement, error));
}

gboolean ifm_store_commit_all(IfmStore *store, const IfmCase *const *cases, const IfmMeasurement *const *measurements,
                              gsize n, GError **error)
{
    for (gsize i = 0; i < n; i++)
        if (!check_records(cases[i], measurements[i], error))
            return FALSE;
    if (!ifm_store_begin_writing(store, error))
        return FALSE;
    gboolean good = TRUE;
    for (gsize i = 0; i < n && good; i++)
        good = insert_new(store, cases[i], measurements[i], error);
    good = ifm_store_end(store, good, good ? error : NULL);
    if (good)
        store->is_new = FALSE;
    return good;
}

gboolean ifm_store_commit(IfmStore *store, const IfmCase *subject_case, const IfmMeasurement *measurement, GError **error)
{
    return ifm_store_commit_all(store, &subject_case, &measurement, 1, error);
}

IfmCase *ifm_store_case(IfmStore *store, const char *case_key, GError **error)
{
    gboolean row = FALSE;
    g_autoptr(sqlite3_stmt) statement = ifm_store_prepare(store, "SELECT 1 FROM subject_case WHERE key = ?", error);
    if (statement == NULL || !ifm_store_bind_text(store, statement, 1, case_key, error) ||
        !ifm_store_step(store, statement, &row, error) || !row)
        return NULL;
    return ifm_store_read_case(store, case_key, error);
}

/* @which: the condition and the order that put the one wanted first. */
static IfmMeasurement *first_of_case(const IfmStore *store, const char *case_key, const char *which, GError **error)
{
    if (!ifm_store_run(store, "BEGIN", error))
        return NULL;
    g_autofree char *rest = g_strdup_printf("WHERE case_key = ? %s LIMIT 1", which);
    g_autoptr(sqlite3_stmt) statement = ifm_store_select_measurements(store, rest, case_key, error);
    gboolean row = FALSE;
    IfmMeasurement *first = NULL;
    if (statement != NULL && ifm_store_step(store, statement, &row, error) && row)
        first = ifm_store_read_measurement(store, statement, NULL, error);
    g_clear_pointer(&statement, sqlite3_finalize);
    ifm_store_end(store, FALSE, NULL); /* nothing was written */
    return first;
}

IfmMeasurement *ifm_store_latest(IfmStore *store, const char *case_key, GError **error)
{
    return first_of_case(store, case_key, "AND outcome = 'ok' ORDER BY started_unix_ms DESC, rowid DESC", error);
}

#define LAST "ORDER BY outcome = 'ok' DESC, started_unix_ms DESC, rowid DESC"

IfmMeasurement *ifm_store_last(IfmStore *store, const char *case_key, GError **error)
{
    return first_of_case(store, case_key, LAST, error);
}

gboolean ifm_store_find(IfmStore *store, const char *case_key, gboolean newest, IfmMeasurement **found, GError **error)
{
    GError *trouble = NULL;
    const char *which = newest ? "ORDER BY started_unix_ms DESC, rowid DESC" : LAST;
    *found = case_key != NULL ? first_of_case(store, case_key, which, &trouble) : NULL;
    return ifm_error_pass(error, trouble);
}

/* One pass over all measurements within one transaction, so that it sees one state. @verify: also by digest. */
typedef gboolean (*Step)(const IfmCase *subject_case, const IfmMeasurement *measurement, const char *digest, void *user,
                         gboolean *go_on, GError **error);

static gboolean visit_all(const IfmStore *store, gboolean verify, Step step, void *user, GError **error)
{
    g_autoptr(sqlite3_stmt) statement =
        ifm_store_select_measurements(store, "ORDER BY case_key, started_unix_ms, uid", NULL, error);
    if (statement == NULL)
        return FALSE;
    g_autoptr(IfmCase) subject_case = NULL;
    for (gboolean go_on = TRUE, row = FALSE; go_on;)
    {
        if (!ifm_store_step(store, statement, &row, error))
            return FALSE;
        if (!row)
            break;
        g_autofree char *digest = NULL;
        g_autoptr(IfmMeasurement) measurement =
            ifm_store_read_measurement(store, statement, verify ? &digest : NULL, error);
        if (measurement == NULL)
            return FALSE;
        if (subject_case == NULL || !g_str_equal(subject_case->key, measurement->case_key))
        {
            g_clear_pointer(&subject_case, ifm_case_free);
            subject_case = ifm_store_read_case(store, measurement->case_key, error);
        }
        if (subject_case == NULL || !step(subject_case, measurement, digest, user, &go_on, error))
            return FALSE;
    }
    return TRUE;
}

typedef struct
{
    IfmStoreVisitor visit;
    void *user;
} Visit;

static gboolean visit_step(const IfmCase *subject_case, const IfmMeasurement *measurement, const char *digest, void *user,
                           gboolean *go_on, GError **error)
{
    const Visit *visit = user;
    *go_on = visit->visit(subject_case, measurement, visit->user);
    return TRUE;
}

gboolean ifm_store_each(IfmStore *store, IfmStoreVisitor visit, void *user, GError **error)
{
    Visit both = { visit, user };
    if (!ifm_store_run(store, "BEGIN", error))
        return FALSE;
    gboolean good = visit_all(store, FALSE, visit_step, &both, error);
    ifm_store_end(store, FALSE, NULL); /* nothing was written */
    return good;
}

/* --- merging -------------------------------------------------------------------------------------------------------- */

typedef struct
{
    IfmStore *store, *from;
    gsize n_added;
} Merge;

static gboolean merge_step(const IfmCase *subject_case, const IfmMeasurement *measurement, const char *digest, void *user,
                           gboolean *go_on, GError **error)
{
    Merge *merge = user;
    g_autoptr(GError) trouble = NULL;
    g_autofree char *stored = ifm_store_stored_digest(merge->store, measurement->uid, &trouble);
    if (trouble != NULL)
        return ifm_error_pass(error, g_steal_pointer(&trouble));
    if (stored == NULL)
    {
        merge->n_added++;
        return ifm_store_insert(merge->store, subject_case, measurement, error);
    }
    if (g_str_equal(stored, digest))
        return TRUE;
    ifm_error_set(error, IFM_ERROR_CORRUPT, "%s: measurement %s is another one in %s; nothing was merged",
                  merge->from->path, measurement->uid, merge->store->path);
    return FALSE;
}

/* All that @from has, as it is at one moment. */
static gboolean merge_all(Merge *merge, gboolean over, GError **error)
{
    if (!ifm_store_run(merge->from, "BEGIN", error))
        return FALSE;
    gboolean good = visit_all(merge->from, TRUE, merge_step, merge, error) &&
                    ifm_store_add_documents(merge->store, merge->from, over, error);
    ifm_store_end(merge->from, FALSE, NULL); /* nothing was written there */
    return good;
}

static gboolean merge_in(IfmStore *store, IfmStore *from, gboolean over, gsize *n_added, GError **error)
{
    if (n_added != NULL)
        *n_added = 0;
    if (store->device == from->device && store->inode == from->inode) /* itself: all of it is here */
        return TRUE;
    if (!ifm_store_begin_writing(store, error))
        return FALSE;
    Merge merge = { store, from, 0 };
    gboolean good = merge_all(&merge, over, error);
    good = ifm_store_end(store, good, good ? error : NULL);
    if (!good)
        return FALSE;
    store->is_new = FALSE;
    if (n_added != NULL)
        *n_added = merge.n_added;
    return TRUE;
}

gboolean ifm_store_merge(IfmStore *store, IfmStore *from, gsize *n_added, GError **error)
{
    return merge_in(store, from, FALSE, n_added, error);
}

gboolean ifm_store_merge_over(IfmStore *store, IfmStore *from, gsize *n_added, GError **error)
{
    return merge_in(store, from, TRUE, n_added, error);
}

/* --- checking ------------------------------------------------------------------------------------------------------- */

/* A PRAGMA that lists what is wrong; @fine: the one row it has where nothing is, or NULL for no row. */
static gboolean check_pragma(const IfmStore *store, const char *sql, const char *fine, GError **error)
{
    g_autoptr(sqlite3_stmt) statement = ifm_store_prepare(store, sql, error);
    gboolean row = FALSE;
    if (statement == NULL || !ifm_store_step(store, statement, &row, error))
        return FALSE;
    const char *text = row ? (const char *)sqlite3_column_text(statement, 0) : NULL;
    if (!row || g_strcmp0(text, fine) == 0)
        return TRUE;
    g_autofree char *line = g_strdelimit(g_strdup(text != NULL ? text : "?"), "\n", ' ');
    return ifm_error_set(error, IFM_ERROR_CORRUPT, "%s: is damaged (%s%s)", store->path,
                         fine == NULL ? "a row refers to nothing in table " : "", line);
}

static gboolean check_step(const IfmCase *subject_case, const IfmMeasurement *measurement, const char *digest, void *user,
                           gboolean *go_on, GError **error)
{
    return TRUE; /* that both could be read and have their digests is all there is to check */
}

gboolean ifm_store_check(IfmStore *store, GError **error)
{
    if (!check_pragma(store, "PRAGMA integrity_check(1)", "ok", error) ||
        !check_pragma(store, "PRAGMA foreign_key_check", NULL, error) || !ifm_store_run(store, "BEGIN", error))
        return FALSE;
    gboolean good = visit_all(store, TRUE, check_step, NULL, error) && ifm_store_check_documents(store, error);
    ifm_store_end(store, FALSE, NULL); /* nothing was written */
    return good;
}
