#pragma once
#include <inferometer/store.h>
#include <sqlite3.h>
#include <sys/stat.h>

G_BEGIN_DECLS

struct IfmStore
{
    sqlite3 *db;
    char *path;
    IfmStoreMode mode;
    int busy_timeout_ms;
    gboolean is_new; /* made by this open, and nothing was committed since: it goes again when it is closed */
    dev_t device;    /* the file that is open, to notice if it is removed or replaced */
    ino_t inode;
};

#define IFM_STORE_APPLICATION_ID 0x49464d32 /* "IFM2"; "IFM" and another letter are builds before 0.1.0: refused */
#define IFM_STORE_BUSY_TIMEOUT_MS 10000

G_DEFINE_AUTOPTR_CLEANUP_FUNC(sqlite3_stmt, sqlite3_finalize)

/* ifm_store_open_with: ifm_store_open() with a patience of one's own. */
IfmStore *ifm_store_open_with(const char *path, IfmStoreMode mode, int busy_timeout_ms, GError **error);

/* --- sql.c: SQLite with our errors -------------------------------------------------------------------------------- */

/* ifm_store_fail: Says what the last SQLite call on the store ran into. Returns: FALSE */
gboolean ifm_store_fail(const IfmStore *store, GError **error);
/* ifm_store_lacks_room: Whether that was a full disk. */
gboolean ifm_store_lacks_room(const IfmStore *store);
gboolean ifm_store_run(const IfmStore *store, const char *sql, GError **error);
/* ifm_store_prepare: Returns: (transfer full) NULL with an error. */
sqlite3_stmt *ifm_store_prepare(const IfmStore *store, const char *sql, GError **error);
/* ifm_store_bind_text: a copy of @text to parameter @index (from 1). */
gboolean ifm_store_bind_text(const IfmStore *store, sqlite3_stmt *statement, int index, const char *text, GError **error);
/* ifm_store_step: @row: (out) (optional) whether there is one. */
gboolean ifm_store_step(const IfmStore *store, sqlite3_stmt *statement, gboolean *row, GError **error);
/* ifm_store_integer: the first column of the first row. */
gboolean ifm_store_integer(const IfmStore *store, const char *sql, gint64 *value, GError **error);
/* ifm_store_end: Commits where @good, else (or where that fails) rolls back. Returns: whether it was committed. */
gboolean ifm_store_end(const IfmStore *store, gboolean good, GError **error);

/* --- schema.c ----------------------------------------------------------------------------------------------------- */

/* ifm_store_make_schema: Makes the tables in an empty database; within a transaction of the caller's. */
gboolean ifm_store_make_schema(const IfmStore *store, GError **error);

/* --- rows.c ------------------------------------------------------------------------------------------------------- */

/* ifm_store_select_measurements: A statement over measurements; @rest: what follows FROM, one text parameter or none. */
sqlite3_stmt *ifm_store_select_measurements(const IfmStore *store, const char *rest, const char *parameter, GError **error);
/* ifm_store_read_measurement: The row that the statement stands on, with samples and nodes.
 * @digest: (out) (optional) (transfer full) that of what was read; checked against the stored one where asked for. */
IfmMeasurement *ifm_store_read_measurement(const IfmStore *store, sqlite3_stmt *statement, char **digest, GError **error);
/* ifm_store_read_case: NULL with IFM_ERROR_CORRUPT where there is none of that key or its content does not give the key. */
IfmCase *ifm_store_read_case(const IfmStore *store, const char *key, GError **error);
/* ifm_store_stored_digest: (transfer full) NULL without @error where no measurement has that uid. */
char *ifm_store_stored_digest(const IfmStore *store, const char *uid, GError **error);
/* ifm_store_insert: Adds both; within a transaction of the caller's. The uid must be new. */
gboolean ifm_store_insert(const IfmStore *store, const IfmCase *subject_case, const IfmMeasurement *measurement,
                          GError **error);

/* --- store.c ------------------------------------------------------------------------------------------------------ */

/* ifm_store_begin_writing: Begins a transaction; refuses a store that is open for reading only, or gone. */
gboolean ifm_store_begin_writing(const IfmStore *store, GError **error);

/* --- store-documents.c ---------------------------------------------------------------------------------------------- */

/* ifm_store_add_documents: Those of @from that @store has not, by name; @over: all of them, in place of those it has.
 * Within a transaction of each. */
gboolean ifm_store_add_documents(const IfmStore *store, const IfmStore *from, gboolean over, GError **error);
/* ifm_store_check_documents: whether each is a JSON object and what was written. */
gboolean ifm_store_check_documents(const IfmStore *store, GError **error);

/* --- record.c ----------------------------------------------------------------------------------------------------- */

/* The records' fields: the tables' columns. */
extern const IfmRecordField ifm_case_fields[], ifm_measurement_fields[];
/* ifm_case_check: whether a case that is sealed has the key of its other fields; else IFM_ERROR_CORRUPT. */
gboolean ifm_case_check(const IfmCase *self, GError **error);

G_END_DECLS
