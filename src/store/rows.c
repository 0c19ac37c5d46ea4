#include "store-private.h"
#include <base/fields.h>
#include <store/store.h>
#include <string.h>

/* A record is a row, a column a field: a text and a word as they are, a number, a series as its 64-bit integers, and all
 * else as JSON. The SQL is made from the fields. */

static char *join_columns(const IfmRecordField *fields)
{
    GString *text = g_string_new(NULL);
    for (const IfmRecordField *field = fields; field->name != NULL; field++)
        g_string_append_printf(text, "%s%s", text->len > 0 ? ", " : "", field->name);
    return g_string_free(text, FALSE);
}

/* --- cells ---------------------------------------------------------------------------------------------------------- */

/* The whole table that has one field. */
#define TABLE_OF(field) ((const IfmRecordField[]){ *(field), { 0 } })

static GArray **series_at(const void *record, const IfmRecordField *field)
{
    return (GArray **)(void *)((char *)record + field->offset);
}

static GBytes *series_to_bytes(const GArray *series)
{
    gint64 *little_endian = g_new(gint64, series->len + 1); /* + 1: a pointer for an empty blob, too */
    for (guint i = 0; i < series->len; i++)
        little_endian[i] = GINT64_TO_LE(g_array_index(series, gint64, i));
    return g_bytes_new_take(little_endian, series->len * sizeof *little_endian);
}

/* What a column has of a record. (transfer full) NULL: nothing */
static GBytes *cell_of(const void *record, const IfmRecordField *field)
{
    if (field->type == IFM_RECORD_SERIES)
        return series_to_bytes(*series_at(record, field));
    json_auto_t *object = ifm_record_to_json(record, TABLE_OF(field));
    const json_t *value = json_object_get(object, field->name);
    if (json_is_null(value))
        return NULL;
    char *text = json_is_string(value) ? g_strdup(json_string_value(value)) : ifm_json_canonical(value);
    return g_bytes_new_take(text, strlen(text));
}

static gboolean read_series(sqlite3_stmt *statement, int index, const IfmRecordField *field, void *record, GError **error)
{
    GArray *series = *series_at(record, field);
    const gsize n_bytes = (gsize)sqlite3_column_bytes(statement, index);
    if (sqlite3_column_type(statement, index) != SQLITE_BLOB || n_bytes % sizeof(gint64) != 0)
        return ifm_error_refuse(error, "%s: found no whole numbers of 64 bits", field->name);
    g_array_set_size(series, 0);
    g_array_append_vals(series, sqlite3_column_blob(statement, index), (guint)(n_bytes / sizeof(gint64)));
    for (guint i = 0; i < series->len; i++)
        g_array_index(series, gint64, i) = GINT64_FROM_LE(g_array_index(series, gint64, i));
    return TRUE;
}

static gboolean read_cell(sqlite3_stmt *statement, int index, const IfmRecordField *field, void *record, const char *kind,
                          GError **error)
{
    if (field->type == IFM_RECORD_SERIES)
        return read_series(statement, index, field, record, error);
    const char *text = (const char *)sqlite3_column_text(statement, index);
    const gboolean is_text = field->type == IFM_RECORD_TEXT || field->type == IFM_RECORD_CHOICE;
    json_t *value = is_text        ? ifm_json_string(text)
                    : text != NULL ? ifm_json_parse(text, strlen(text), field->name, error)
                                   : json_null();
    json_auto_t *object = json_object();
    return value != NULL && json_object_set_new(object, field->name, value) == 0 &&
           ifm_record_from_json(record, TABLE_OF(field), object, kind, NULL, error);
}

/* --- in ------------------------------------------------------------------------------------------------------------- */

/* SHA-256 of the names and contents of all columns but those that are NULL, "", {} or []: so a column that is added one day
 * leaves the digest of every older record as it is. (transfer full) */
static char *digest_of(const void *record, const IfmRecordField *fields)
{
    g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
    for (const IfmRecordField *field = fields; field->name != NULL; field++)
    {
        g_autoptr(GBytes) cell = cell_of(record, field);
        gsize n = 0;
        const char *bytes = cell != NULL ? g_bytes_get_data(cell, &n) : NULL;
        if (n == 0 || (n == 2 && (memcmp(bytes, "{}", n) == 0 || memcmp(bytes, "[]", n) == 0)))
            continue;
        g_autofree char *head = g_strdup_printf("%s %zu ", field->name, n);
        g_checksum_update(checksum, (const guchar *)head, (gssize)strlen(head));
        g_checksum_update(checksum, (const guchar *)bytes, (gssize)n);
    }
    return g_strdup(g_checksum_get_string(checksum));
}

/* @digest: of a last column of that name; NULL: there is none */
static gboolean insert(const IfmStore *store, const char *verb, const char *table, const IfmRecordField *fields,
                       const void *record, const char *digest, GError **error)
{
    g_autofree char *names = join_columns(fields);
    g_autoptr(GString) sql = g_string_new(NULL);
    g_string_append_printf(sql, "%s INTO %s (%s%s) VALUES (?", verb, table, names, digest != NULL ? ", digest" : "");
    for (int i = digest != NULL ? 0 : 1; fields[i].name != NULL; i++)
        g_string_append(sql, ", ?");
    g_string_append_c(sql, ')');
    g_autoptr(sqlite3_stmt) statement = ifm_store_prepare(store, sql->str, error);
    int at = 1;
    for (const IfmRecordField *field = fields; statement != NULL && field->name != NULL; field++, at++)
    {
        g_autoptr(GBytes) cell = cell_of(record, field);
        gsize n = 0;
        const void *bytes = cell != NULL ? g_bytes_get_data(cell, &n) : NULL;
        const int result = cell == NULL ? sqlite3_bind_null(statement, at)
                           : field->type == IFM_RECORD_SERIES
                               ? sqlite3_bind_blob64(statement, at, bytes, n, SQLITE_TRANSIENT)
                               : sqlite3_bind_text64(statement, at, bytes, n, SQLITE_TRANSIENT, SQLITE_UTF8);
        if (result != SQLITE_OK)
            return ifm_store_fail(store, error);
    }
    return statement != NULL && (digest == NULL || ifm_store_bind_text(store, statement, at, digest, error)) &&
           ifm_store_step(store, statement, NULL, error);
}

gboolean ifm_store_insert(const IfmStore *store, const IfmCase *subject_case, const IfmMeasurement *measurement,
                          GError **error)
{
    g_autofree char *digest = digest_of(measurement, ifm_measurement_fields);
    return insert(store, "INSERT OR IGNORE", "subject_case", ifm_case_fields, subject_case, NULL, error) &&
           insert(store, "INSERT", "measurement", ifm_measurement_fields, measurement, digest, error);
}

/* --- out ------------------------------------------------------------------------------------------------------------ */

/* Whatever is wrong with a record that was read: it is not what was written. */
static void blame(const IfmStore *store, const char *kind, const char *name, const char *what, GError **error)
{
    ifm_error_set(error, IFM_ERROR_CORRUPT, "%s: %s %s: %s", store->path, kind, name, what);
}

static gboolean read_row(sqlite3_stmt *statement, const IfmRecordField *fields, void *record, const char *kind,
                         GError **error)
{
    for (int at = 0; fields[at].name != NULL; at++)
        if (!read_cell(statement, at, &fields[at], record, kind, error))
            return FALSE;
    return TRUE;
}

sqlite3_stmt *ifm_store_select_measurements(const IfmStore *store, const char *rest, const char *parameter, GError **error)
{
    g_autofree char *names = join_columns(ifm_measurement_fields);
    g_autofree char *sql = g_strdup_printf("SELECT %s, digest FROM measurement %s", names, rest);
    g_autoptr(sqlite3_stmt) statement = ifm_store_prepare(store, sql, error);
    if (statement != NULL && parameter != NULL && !ifm_store_bind_text(store, statement, 1, parameter, error))
        return NULL;
    return g_steal_pointer(&statement);
}

IfmMeasurement *ifm_store_read_measurement(const IfmStore *store, sqlite3_stmt *statement, char **digest, GError **error)
{
    const char *uid = (const char *)sqlite3_column_text(statement, 0), *why = NULL;
    g_autoptr(GError) trouble = NULL;
    g_autoptr(IfmMeasurement) measurement = ifm_measurement_new();
    if (!read_row(statement, ifm_measurement_fields, measurement, "measurement", &trouble))
        why = trouble->message;
    else if (digest != NULL)
    {
        *digest = digest_of(measurement, ifm_measurement_fields);
        if (g_strcmp0(*digest, (const char *)sqlite3_column_text(statement, sqlite3_column_count(statement) - 1)) != 0)
        {
            g_clear_pointer(digest, g_free);
            why = "is not what was written (its digest differs)";
        }
    }
    if (why == NULL)
        return g_steal_pointer(&measurement);
    blame(store, "measurement", uid, why, error);
    return NULL;
}

IfmCase *ifm_store_read_case(const IfmStore *store, const char *key, GError **error)
{
    g_autofree char *names = join_columns(ifm_case_fields);
    g_autofree char *sql = g_strdup_printf("SELECT %s FROM subject_case WHERE key = ?", names);
    g_autoptr(sqlite3_stmt) statement = ifm_store_prepare(store, sql, error);
    gboolean row = FALSE;
    if (statement == NULL || !ifm_store_bind_text(store, statement, 1, key, error) ||
        !ifm_store_step(store, statement, &row, error))
        return NULL;
    g_autoptr(GError) trouble = NULL;
    g_autoptr(IfmCase) subject_case = ifm_case_new();
    if (row && read_row(statement, ifm_case_fields, subject_case, "case", &trouble) &&
        ifm_case_check(subject_case, &trouble))
        return g_steal_pointer(&subject_case);
    blame(store, "case", key, trouble != NULL ? trouble->message : "missing", error);
    return NULL;
}

char *ifm_store_stored_digest(const IfmStore *store, const char *uid, GError **error)
{
    g_autoptr(sqlite3_stmt) statement = ifm_store_prepare(store, "SELECT digest FROM measurement WHERE uid = ?", error);
    gboolean row = FALSE;
    if (statement == NULL || !ifm_store_bind_text(store, statement, 1, uid, error) ||
        !ifm_store_step(store, statement, &row, error) || !row)
        return NULL;
    return g_strdup((const char *)sqlite3_column_text(statement, 0));
}
