#include "store-private.h"
#include <base/base.h>
#include <errno.h>
#include <fcntl.h>
#include <store/store.h>
#include <string.h>
#include <unistd.h>

/* A store is opened, made and closed: an SQLite file whose identity is checked, to be written, or only read, where need
 * be as a copy in memory. */

static gboolean refuse(const IfmStore *store, IfmErrorCode code, GError **error, const char *what)
{
    return ifm_error_set(error, code, "%s: %s", store->path, what);
}

/* Makes the missing folders above the file, each on disk before the next: a store whose folder a power loss takes is gone.
 */
static gboolean make_folder(const char *folder, GError **error)
{
    if (g_file_test(folder, G_FILE_TEST_IS_DIR))
        return TRUE;
    g_autofree char *above = g_path_get_dirname(folder);
    if (!make_folder(above, error))
        return FALSE;
    if (g_file_test(folder, G_FILE_TEST_IS_SYMLINK))
    {
        ifm_error_set(error, IFM_ERROR_UNAVAILABLE,
                      "%s: is a link to what is not there, or is no folder; expected a folder", folder);
        return FALSE;
    }
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: the folder cannot be made: %s", folder, g_strerror(errno));
    int fd = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
    {
        fsync(fd);
        close(fd);
    }
    return TRUE;
}

static gboolean companion_is_filled(const IfmStore *store, const char *suffix)
{
    g_autofree char *path = g_strconcat(store->path, suffix, NULL);
    struct stat found;
    return stat(path, &found) == 0 && found.st_size > 0;
}

/* SQLite takes any file shorter than a page for an empty database and would write over it. */
static gboolean starts_otherwise(const IfmStore *store, const struct stat *found)
{
    static const char magic[16] = "SQLite format 3";
    char start[sizeof magic];
    int fd = open(store->path, O_RDONLY | O_CLOEXEC);
    gssize n = fd >= 0 ? read(fd, start, sizeof start) : -1;
    if (fd >= 0)
        close(fd);
    return n > 0 && (n < (gssize)sizeof start || memcmp(start, magic, sizeof magic) != 0) && found->st_size > 0 &&
           !companion_is_filled(store, "-journal");
}

/* What is known before SQLite sees the file, in clearer words than its own. */
static gboolean check_file(IfmStore *store, gboolean *existed, GError **error)
{
    struct stat found;
    *existed = stat(store->path, &found) == 0;
    if (*existed && !S_ISREG(found.st_mode))
        return refuse(store, IFM_ERROR_INVALID, error, S_ISDIR(found.st_mode) ? "is a folder, no store" : "is no file");
    if (!*existed && errno != ENOENT)
        return refuse(store, IFM_ERROR_UNAVAILABLE, error, g_strerror(errno));
    if (*existed && store->mode == IFM_STORE_SCRATCH)
        return refuse(store, IFM_ERROR_INVALID, error, "is there already: a scratch store is a new file");
    if (*existed && starts_otherwise(store, &found))
        return refuse(store, IFM_ERROR_INVALID, error, "is no SQLite file");
    if (store->mode == IFM_STORE_READ)
    {
        if (!*existed)
            return refuse(store, IFM_ERROR_UNAVAILABLE, error, "there is no such store");
        return access(store->path, R_OK) == 0 || refuse(store, IFM_ERROR_UNAVAILABLE, error, g_strerror(errno));
    }
    g_autofree char *folder = g_path_get_dirname(store->path);
    if (!*existed && !make_folder(folder, error))
        return FALSE;
    if (*existed && access(store->path, R_OK | W_OK) != 0)
        return refuse(store, IFM_ERROR_UNAVAILABLE, error, "is read-only");
    if (access(folder, W_OK | X_OK) != 0)
        return refuse(store, IFM_ERROR_UNAVAILABLE, error, "lies in a folder that is read-only");
    return TRUE;
}

static gboolean open_database(IfmStore *store, const char *name, int flags, GError **error)
{
    if (sqlite3_open_v2(name, &store->db, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL) != SQLITE_OK)
    {
        if (store->db == NULL)
            return refuse(store, IFM_ERROR_MEMORY, error, "out of memory");
        return ifm_store_fail(store, error);
    }
    sqlite3_busy_timeout(store->db, store->busy_timeout_ms);
    /* the file may come from anywhere: its schema gets no say beyond its tables */
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(store->db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
    return TRUE;
}

static void close_database(IfmStore *store)
{
    sqlite3_close(store->db);
    store->db = NULL;
}

typedef struct
{
    gint64 application, user_version, n_objects;
} Identity;

/* In one statement, so from one state of the file: another process may be making the schema at this moment. */
static gboolean read_identity(const IfmStore *store, Identity *identity, GError **error)
{
    gboolean row = FALSE;
    g_autoptr(sqlite3_stmt) statement =
        ifm_store_prepare(store,
                          "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) "
                          "FROM pragma_application_id, pragma_user_version",
                          error);
    if (statement == NULL || !ifm_store_step(store, statement, &row, error))
        return FALSE;
    g_assert(row);
    identity->application = sqlite3_column_int64(statement, 0);
    identity->user_version = sqlite3_column_int64(statement, 1);
    identity->n_objects = sqlite3_column_int64(statement, 2);
    return TRUE;
}

/* Returns: FALSE with an error where it is no store that this build reads. @empty: (out) nothing is in the file yet */
static gboolean identify(const IfmStore *store, gboolean *empty, GError **error)
{
    Identity identity = { 0 };
    if (!read_identity(store, &identity, error))
        return FALSE;
    *empty = identity.application == 0 && identity.user_version == 0 && identity.n_objects == 0;
    if (*empty)
        return TRUE;
    if (identity.application != IFM_STORE_APPLICATION_ID && identity.application >> 8 == IFM_STORE_APPLICATION_ID >> 8)
        return refuse(store, IFM_ERROR_INVALID, error,
                      "is a store of an earlier build: measure again, or export it with the build that made it");
    if (identity.application != IFM_STORE_APPLICATION_ID)
        return refuse(store, IFM_ERROR_INVALID, error, "is a SQLite file of another program, no store");
    if (identity.user_version > IFM_STORE_SCHEMA)
        return ifm_error_refuse(error, "%s: was written by a newer version (schema %d; this one knows up to %d)",
                                store->path, (int)identity.user_version, IFM_STORE_SCHEMA);
    return identity.user_version == IFM_STORE_SCHEMA || refuse(store, IFM_ERROR_CORRUPT, error, "has no schema version");
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static gboolean make_schema(const IfmStore *store, GError **error)
{
    if (!ifm_store_run(store, "BEGIN IMMEDIATE", error))
        return FALSE;
    gboolean empty = FALSE; /* again: another process may have been first */
    gboolean good = identify(store, &empty, error) && (!empty || ifm_store_make_schema(store, error));
    return ifm_store_end(store, good, error);
}

/* SQLite does not wait by itself for the exclusive lock that a change of the journal takes. */
static gboolean set_journal(const IfmStore *store, const char *mode, gboolean *is_wal, GError **error)
{
    g_autofree char *sql = g_strdup_printf("PRAGMA journal_mode = %s", mode);
    gint64 deadline_us = g_get_monotonic_time() + (gint64)store->busy_timeout_ms * 1000;
    for (;;)
    {
        g_autoptr(sqlite3_stmt) statement = ifm_store_prepare(store, sql, error);
        if (statement == NULL)
            return FALSE;
        int result = sqlite3_step(statement);
        if (result == SQLITE_ROW)
        {
            *is_wal = g_strcmp0((const char *)sqlite3_column_text(statement, 0), "wal") == 0;
            return TRUE;
        }
        if ((result & 0xff) != SQLITE_BUSY || g_get_monotonic_time() >= deadline_us)
            return ifm_store_fail(store, error);
        g_usleep(10000);
    }
}

/* The journal in memory, so that a commit that fails can still be taken back. */
static gboolean prepare_scratch(const IfmStore *store, GError **error)
{
    gboolean is_wal = FALSE;
    return ifm_store_run(store, "PRAGMA synchronous = OFF", error) && set_journal(store, "MEMORY", &is_wal, error) &&
           make_schema(store, error);
}

static gboolean prepare_writing(IfmStore *store, GError **error)
{
    gboolean empty = FALSE, is_wal = FALSE;
    if (sqlite3_db_readonly(store->db, "main") == 1)
        return refuse(store, IFM_ERROR_UNAVAILABLE, error, "is read-only");
    if (!identify(store, &empty, error) || (empty && !make_schema(store, error)))
        return FALSE;
    if (!set_journal(store, store->mode == IFM_STORE_SHARD ? "DELETE" : "WAL", &is_wal, error))
        return FALSE;
    if (store->mode == IFM_STORE_SHARD && is_wal)
        return refuse(store, IFM_ERROR_UNAVAILABLE, error, "is in use by a process that keeps a write-ahead log");
    /* on disk when commit returns: with a rollback journal that takes its folder too, which is what EXTRA adds */
    return ifm_store_run(store, is_wal ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = EXTRA", error);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Replaces the open file by a copy in memory. */
static gboolean copy_to_memory(IfmStore *store, GError **error)
{
    IfmStore copy = { .path = store->path };
    if (!open_database(&copy, ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, error))
    {
        close_database(&copy);
        return FALSE;
    }
    sqlite3_backup *backup = sqlite3_backup_init(copy.db, "main", store->db, "main");
    if (backup != NULL)
    {
        sqlite3_backup_step(backup, -1);
        sqlite3_backup_finish(backup); /* its error is now the copy's */
    }
    if (sqlite3_errcode(copy.db) != SQLITE_OK && sqlite3_errcode(copy.db) != SQLITE_DONE)
    {
        ifm_store_fail(&copy, error);
        close_database(&copy);
        return FALSE;
    }
    close_database(store);
    store->db = copy.db;
    return TRUE;
}

/*
 * A store with a write-ahead log needs a file for shared memory next to it, which a read-only folder or a full disk does
 * not allow. Where
 * the log is empty the file alone is whole: it is then read as an immutable file, and that it did not change is
 * checked afterwards.
 */
static gboolean open_unchanging(IfmStore *store, GError **error)
{
    if (companion_is_filled(store, "-wal") || companion_is_filled(store, "-journal"))
        return refuse(
            store, IFM_ERROR_UNAVAILABLE, error,
            "lies in a folder that cannot be written and its journal (-wal or -journal) must be read too: copy both to a "
            "folder that can be written");
    g_autofree char *absolute = g_canonicalize_filename(store->path, NULL); /* a URI has no place for a relative one */
    g_autofree char *uri = g_filename_to_uri(absolute, NULL, NULL);
    g_autofree char *name = g_strconcat(uri, "?immutable=1", NULL);
    struct stat before, after;
    for (int attempt = 0; attempt < 5; attempt++)
    {
        close_database(store);
        if (stat(store->path, &before) != 0)
            return refuse(store, IFM_ERROR_UNAVAILABLE, error, g_strerror(errno));
        if (!open_database(store, name, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, error) || !copy_to_memory(store, error))
            return FALSE;
        if (stat(store->path, &after) == 0 && before.st_size == after.st_size && before.st_ino == after.st_ino &&
            before.st_mtim.tv_sec == after.st_mtim.tv_sec && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec &&
            !companion_is_filled(store, "-wal"))
            return TRUE;
    }
    return refuse(store, IFM_ERROR_UNAVAILABLE, error, "changes while it is read in a folder that cannot be written");
}

/*
 * On a full disk there is no room for the file for shared memory, either. A process that has the store to itself keeps that
 * in memory of its own, and so can read the log.
 */
static gboolean open_alone(IfmStore *store, GError **error)
{
    g_autofree char *absolute = g_canonicalize_filename(store->path, NULL);
    close_database(store);
    return open_database(store, absolute, SQLITE_OPEN_READWRITE, error) &&
           ifm_store_run(store, "PRAGMA locking_mode = EXCLUSIVE", error) && copy_to_memory(store, error);
}

#define BIRTH_US 500000 /* as long as a schema takes, on a busy machine */

/* Who reads a file that another process has just made may find it before its schema: that is worth a moment's wait. */
static gboolean identify_newborn(const IfmStore *store, gboolean *empty, GError **error)
{
    const gint64 until_us = g_get_monotonic_time() + BIRTH_US, newest_s = g_get_real_time() / G_USEC_PER_SEC - 5;
    struct stat found;
    while (*empty && g_get_monotonic_time() < until_us && stat(store->path, &found) == 0 && found.st_mtime > newest_s)
    {
        g_usleep(2000);
        if (!identify(store, empty, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean prepare_reading(IfmStore *store, GError **error)
{
    gboolean empty = FALSE;
    g_autoptr(GError) trouble = NULL;
    if (!identify(store, &empty, &trouble))
    {
        int primary = sqlite3_errcode(store->db) & 0xff;
        const gboolean lacks_room = ifm_store_lacks_room(store);
        if (primary != SQLITE_CANTOPEN && primary != SQLITE_READONLY && !lacks_room)
            return ifm_error_pass(error, g_steal_pointer(&trouble));
        if (!(lacks_room && companion_is_filled(store, "-wal") ? open_alone : open_unchanging)(store, error) ||
            !identify(store, &empty, error))
            return FALSE;
    }
    if (!identify_newborn(store, &empty, error))
        return FALSE;
    if (empty)
        return refuse(store, IFM_ERROR_INVALID, error, "is empty, no store");
    return ifm_store_run(store, "PRAGMA query_only = ON", error);
}

/* --- both --------------------------------------------------------------------------------------------------------- */

/* A file that this call made and could not fill goes again; one with content stays. */
static void remove_if_empty(const char *path)
{
    struct stat found;
    if (stat(path, &found) == 0 && found.st_size == 0)
        unlink(path);
}

static gboolean prepare(IfmStore *store, GError **error)
{
    switch (store->mode)
    {
    case IFM_STORE_READ:
        return prepare_reading(store, error);
    case IFM_STORE_SCRATCH:
        return prepare_scratch(store, error);
    case IFM_STORE_WRITE:
    case IFM_STORE_SHARD:
        break;
    }
    return prepare_writing(store, error);
}

IfmStore *ifm_store_open_with(const char *path, IfmStoreMode mode, int busy_timeout_ms, GError **error)
{
    g_autoptr(IfmStore) store = g_new0(IfmStore, 1);
    store->path = g_strdup(path);
    store->mode = mode;
    store->busy_timeout_ms = busy_timeout_ms;
    gboolean existed = FALSE;
    if (!check_file(store, &existed, error))
        return NULL;
    /* reading, too, may have to finish what a killed writer began, so it opens for writing where it may */
    int flags = SQLITE_OPEN_READWRITE | (mode == IFM_STORE_READ ? 0 : SQLITE_OPEN_CREATE);
    g_autofree char *absolute = g_canonicalize_filename(path, NULL); /* ":memory:" is a file's name here */
    gboolean good = open_database(store, absolute, flags, error) && prepare(store, error);
    struct stat found;
    if (good && stat(path, &found) == 0)
    {
        store->device = found.st_dev;
        store->inode = found.st_ino;
        store->is_new = !existed && mode != IFM_STORE_READ;
        return g_steal_pointer(&store);
    }
    if (good)
        refuse(store, IFM_ERROR_UNAVAILABLE, error, g_strerror(errno));
    close_database(store);
    if (!existed)
        remove_if_empty(path);
    return NULL;
}

IfmStore *ifm_store_open(const char *path, IfmStoreMode mode, GError **error)
{
    return ifm_store_open_with(path, mode, IFM_STORE_BUSY_TIMEOUT_MS, error);
}

/* Whether another process has the file open: with a write-ahead log each holds a lock on these bytes of it for as long
 * (SQLite's file format, "Locking"). With a rollback journal one that waits holds none. */
static gboolean is_shared(int fd)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0x40000000, .l_len = 512 };
    return fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

static void remove_companion(const IfmStore *store, const char *suffix)
{
    g_autofree char *path = g_strconcat(store->path, suffix, NULL);
    unlink(path);
}

/*
 * A store that was made for measurements which then failed goes again: it would pass for the result of something. Not so
 * where another process wrote to it meanwhile or has it open. Under the lock for writing, so that no process writes between
 * the look and the removal; a process that opened it in that moment gets the error of check_in_place().
 */
static void remove_if_unused(IfmStore *store)
{
    gint64 n = 1;
    struct stat found;
    if (!store->is_new || !ifm_store_run(store, "BEGIN IMMEDIATE", NULL))
        return;
    int fd = open(store->path, O_RDONLY | O_CLOEXEC); /* closing it drops this process's locks: not before all is done */
    if (fd >= 0 && fstat(fd, &found) == 0 && found.st_dev == store->device && found.st_ino == store->inode &&
        ifm_store_integer(store, "SELECT (SELECT count(*) FROM measurement) + (SELECT count(*) FROM document)", &n, NULL) &&
        n == 0 && !is_shared(fd) && unlink(store->path) == 0)
    {
        remove_companion(store, "-wal");
        remove_companion(store, "-shm");
        remove_companion(store, "-journal");
    }
    ifm_store_end(store, FALSE, NULL);
    close_database(store);
    if (fd >= 0)
        close(fd);
}

static void remove_scratch(IfmStore *store)
{
    struct stat found;
    close_database(store);
    if (stat(store->path, &found) == 0 && found.st_dev == store->device && found.st_ino == store->inode)
        unlink(store->path);
}

void ifm_store_close(IfmStore *store)
{
    if (store == NULL)
        return;
    if (store->mode == IFM_STORE_SCRATCH)
        remove_scratch(store);
    else
        remove_if_unused(store);
    close_database(store);
    g_free(store->path);
    g_free(store);
}

const char *ifm_store_path(const IfmStore *store)
{
    return store->path;
}
