#include "store-private.h"
#include <errno.h>

/* One row a result code of SQLite that has a meaning of its own for the user; the rest is IFM_ERROR_FAILED. */
static const struct
{
    int primary;
    IfmErrorCode code;
    const char *text;
} meanings[] = {
    { SQLITE_FULL, IFM_ERROR_UNAVAILABLE, "the disk is full; the store is as before" },
    { SQLITE_READONLY, IFM_ERROR_UNAVAILABLE, "is read-only" },
    { SQLITE_PERM, IFM_ERROR_UNAVAILABLE, "access is denied" },
    { SQLITE_BUSY, IFM_ERROR_UNAVAILABLE, "is locked by another process" },
    { SQLITE_LOCKED, IFM_ERROR_UNAVAILABLE, "is locked" },
    { SQLITE_PROTOCOL, IFM_ERROR_UNAVAILABLE, "is locked by another process" },
    { SQLITE_CANTOPEN, IFM_ERROR_UNAVAILABLE, "cannot be opened" },
    { SQLITE_IOERR, IFM_ERROR_UNAVAILABLE, "cannot be read or written" },
    { SQLITE_NOTADB, IFM_ERROR_INVALID, "is no SQLite file" },
    { SQLITE_CORRUPT, IFM_ERROR_CORRUPT, "is damaged" },
    { SQLITE_CONSTRAINT, IFM_ERROR_CORRUPT, "its rows contradict its schema" },
    { SQLITE_MISMATCH, IFM_ERROR_CORRUPT, "its rows contradict its schema" },
    { SQLITE_ERROR, IFM_ERROR_CORRUPT, "its tables are not those of its version" },
    { SQLITE_NOMEM, IFM_ERROR_MEMORY, "out of memory" },
};

static gboolean is_full(int number)
{
    return number == ENOSPC || number == EFBIG || number == EDQUOT;
}

/* The result code of what failed last. @number: (out) the system's */
static int failure_of(const IfmStore *store, int *number)
{
    /* SQLite does not keep the number where a COMMIT fails; nothing has failed since, so it still stands in errno */
    const int last = errno, primary = sqlite3_extended_errcode(store->db) & 0xff;
    *number = sqlite3_system_errno(store->db) != 0 ? sqlite3_system_errno(store->db) : last;
    return primary == SQLITE_IOERR && is_full(*number) ? SQLITE_FULL : primary;
}

gboolean ifm_store_lacks_room(const IfmStore *store)
{
    int number;
    return failure_of(store, &number) == SQLITE_FULL;
}

gboolean ifm_store_fail(const IfmStore *store, GError **error)
{
    int number, primary = failure_of(store, &number), result = sqlite3_extended_errcode(store->db);
    for (gsize i = 0; i < G_N_ELEMENTS(meanings); i++)
    {
        if (meanings[i].primary != primary)
            continue;
        const char *detail = "";
        g_autofree char *waited = NULL;
        if (primary == SQLITE_IOERR || primary == SQLITE_CANTOPEN)
            detail = number != 0 ? g_strerror(number) : sqlite3_errstr(result);
        else if (primary == SQLITE_ERROR || primary == SQLITE_CONSTRAINT || primary == SQLITE_CORRUPT)
            detail = sqlite3_errmsg(store->db);
        else if (primary == SQLITE_BUSY)
        {
            waited = g_strdup_printf("waited %g s", store->busy_timeout_ms / 1000.0);
            detail = waited;
        }
        return ifm_error_set(error, meanings[i].code, "%s: %s%s%s%s", store->path, meanings[i].text,
                             *detail != '\0' ? " (" : "", detail, *detail != '\0' ? ")" : "");
    }
    return ifm_error_set(error, IFM_ERROR_FAILED, "%s: SQLite: %s", store->path, sqlite3_errmsg(store->db));
}

gboolean ifm_store_run(const IfmStore *store, const char *sql, GError **error)
{
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK || ifm_store_fail(store, error);
}

sqlite3_stmt *ifm_store_prepare(const IfmStore *store, const char *sql, GError **error)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) != SQLITE_OK)
        ifm_store_fail(store, error);
    return statement;
}

gboolean ifm_store_bind_text(const IfmStore *store, sqlite3_stmt *statement, int index, const char *text, GError **error)
{
    return sqlite3_bind_text(statement, index, text, -1, SQLITE_TRANSIENT) == SQLITE_OK || ifm_store_fail(store, error);
}

gboolean ifm_store_step(const IfmStore *store, sqlite3_stmt *statement, gboolean *row, GError **error)
{
    int result = sqlite3_step(statement);
    if (row != NULL)
        *row = result == SQLITE_ROW;
    return result == SQLITE_ROW || result == SQLITE_DONE || ifm_store_fail(store, error);
}

gboolean ifm_store_integer(const IfmStore *store, const char *sql, gint64 *value, GError **error)
{
    g_autoptr(sqlite3_stmt) statement = ifm_store_prepare(store, sql, error);
    if (statement == NULL || !ifm_store_step(store, statement, NULL, error))
        return FALSE;
    *value = sqlite3_column_int64(statement, 0);
    return TRUE;
}

gboolean ifm_store_end(const IfmStore *store, gboolean good, GError **error)
{
    gboolean committed = good && ifm_store_run(store, "COMMIT", error);
    if (!committed && !sqlite3_get_autocommit(store->db)) /* some errors roll back by themselves */
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return committed;
}
