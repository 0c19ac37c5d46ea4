#include "store-private.h"
#include <base/fields.h>
#include <store/store.h>
#include <string.h>

/* Records go in and out as their JSON (record.c), a column a field: those of a single value have one. The SQL is made from
 * the fields. */

static gboolean is_column(const IfmRecordField *field)
{
    return field->type != IFM_RECORD_SERIES && field->type != IFM_RECORD_ROWS;
}

/* Text of which "" is NULL, so that it refers to nothing. */
static gboolean is_reference(const IfmRecordField *field)
{
    return g_str_equal(field->name, "subject_digest");
}

static const char *const series_names[] = { "warmup_ns", "samples_ns", "profiled_ns" };

static char *join_columns(const IfmRecordField *fields)
{
    GString *text = g_string_new(NULL);
    for (const IfmRecordField *field = fields; field->name != NULL; field++)
        if (is_column(field))
            g_string_append_printf(text, "%s%s", text->len > 0 ? ", " : "", field->name);
    return g_string_free(text, FALSE);
}

static int count_columns(const IfmRecordField *fields)
{
    int n = 0;
    for (const IfmRecordField *field = fields; field->name != NULL; field++)
        n += is_column(field);
    return n;
}

/* --- in
 * ------------------------------------------------------------------------------------------------------------------- */

static int bind_text(sqlite3_stmt *statement, int index, const char *text)
{
    return sqlite3_bind_text(statement, index, text, -1, SQLITE_TRANSIENT);
}

gboolean ifm_store_bind_json(const IfmStore *store, sqlite3_stmt *statement, int index, const json_t *json, GError **error)
{
    g_autofree char *text = json == NULL || json_is_null(json) ? NULL : ifm_json_canonical(json);
    int result = text == NULL ? sqlite3_bind_null(statement, index) : bind_text(statement, index, text);
    return result == SQLITE_OK || ifm_store_fail(store, error);
}

static gboolean bind_value(const IfmStore *store, sqlite3_stmt *statement, int index, const IfmRecordField *field,
                           const json_t *value, GError **error)
{
    int result;
    if (field->type == IFM_RECORD_INT64)
        result = sqlite3_bind_int64(statement, index, json_integer_value(value));
    else if (field->type == IFM_RECORD_DOUBLE && json_is_string(value)) /* "inf", "-inf" */
        result = sqlite3_bind_double(statement, index, g_ascii_strtod(json_string_value(value), NULL));
    else if (field->type == IFM_RECORD_DOUBLE && !json_is_null(value)) /* NaN is NULL */
        result = sqlite3_bind_double(statement, index, json_number_value(value));
    else if (field->type == IFM_RECORD_DOUBLE || (is_reference(field) && json_string_length(value) == 0))
        result = sqlite3_bind_null(statement, index);
    else if (json_is_string(value))
        result = bind_text(statement, index, json_string_value(value));
    else
        return ifm_store_bind_json(store, statement, index, value, error);
    return result == SQLITE_OK || ifm_store_fail(store, error);
}

/* An INSERT over the columns, bound to @record; parameters behind them (@more names their columns) are the caller's. */
static sqlite3_stmt *prepare_insert(const IfmStore *store, const char *verb, const char *table,
                                    const IfmRecordField *fields, const char *more, int n_more, const json_t *record,
                                    GError **error)
{
    g_autofree char *names = join_columns(fields);
    g_autoptr(GString) sql = g_string_new(NULL);
    g_string_append_printf(sql, "%s INTO %s (%s%s) VALUES (?", verb, table, names, more);
    for (int i = 1; i < count_columns(fields) + n_more; i++)
        g_string_append(sql, ", ?");
    g_string_append_c(sql, ')');
    g_autoptr(sqlite3_stmt) statement = ifm_store_prepare(store, sql->str, error);
    int at = 1;
    for (const IfmRecordField *field = fields; statement != NULL && field->name != NULL; field++)
        if (is_column(field) && !bind_value(store, statement, at++, field, json_object_get(record, field->name), error))
            return NULL;
    return g_steal_pointer(&statement);
}

/* A row of two texts where none has that key yet; nothing for an empty key. */
static gboolean insert_pair(const IfmStore *store, const char *sql, const char *key, const char *value, GError **error)
{
    if (key == NULL || *key == '\0')
        return TRUE;
    g_autoptr(sqlite3_stmt) statement = ifm_store_prepare(store, sql, error);
    if (statement == NULL)
        return FALSE;
    return ifm_store_bind_text(store, statement, 1, key, error) && ifm_store_bind_text(store, statement, 2, value, error) &&
           ifm_store_step(store, statement, NULL, error);
}

static gboolean insert_case(const IfmStore *store, const IfmCase *subject_case, GError **error)
{
    json_auto_t *record = ifm_case_to_json(subject_case);
    if (!insert_pair(store, "INSERT OR IGNORE INTO model (digest, name) VALUES (?, ?)",
                     json_string_value(json_object_get(record, "subject_digest")),
                     json_string_value(json_object_get(record, "subject_name")), error))
        return FALSE;
    g_autoptr(sqlite3_stmt) statement =
        prepare_insert(store, "INSERT OR IGNORE", "subject_case", ifm_case_fields, "", 0, record, error);
    return statement != NULL && ifm_store_step(store, statement, NULL, error);
}

static gboolean insert_series(const IfmStore *store, const char *uid, const char *name, const json_t *values,
                              GError **error)
{
    g_autoptr(sqlite3_stmt) statement =
        ifm_store_prepare(store, "INSERT INTO sample (measurement_uid, series, n, ns) VALUES (?, ?, ?, ?)", error);
    if (statement == NULL)
        return FALSE;
    gsize n = json_array_size(values);
    g_autofree gint64 *little_endian = g_new(gint64, n + 1); /* + 1: a pointer for an empty blob, too */
    for (gsize i = 0; i < n; i++)
        little_endian[i] = GINT64_TO_LE(json_integer_value(json_array_get(values, i)));
    if (bind_text(statement, 1, uid) != SQLITE_OK || bind_text(statement, 2, name) != SQLITE_OK ||
        sqlite3_bind_int64(statement, 3, (sqlite3_int64)n) != SQLITE_OK ||
        sqlite3_bind_blob64(statement, 4, little_endian, n * sizeof(gint64), SQLITE_TRANSIENT) != SQLITE_OK)
        return ifm_store_fail(store, error);
    return ifm_store_step(store, statement, NULL, error);
}

static gboolean insert_nodes(const IfmStore *store, const char *uid, const json_t *nodes, GError **error)
{
    gsize position;
    json_t *node;
    json_array_foreach(nodes, position, node)
    {
        int last = count_columns(ifm_node_fields);
        g_autoptr(sqlite3_stmt) statement =
            prepare_insert(store, "INSERT", "node", ifm_node_fields, ", measurement_uid, position", 2, node, error);
        if (statement == NULL)
            return FALSE;
        if (bind_text(statement, last + 1, uid) != SQLITE_OK ||
            sqlite3_bind_int64(statement, last + 2, (sqlite3_int64)position) != SQLITE_OK)
            return ifm_store_fail(store, error);
        if (!ifm_store_step(store, statement, NULL, error))
            return FALSE;
    }
    return TRUE;
}

static gboolean insert_measurement(const IfmStore *store, const json_t *record, GError **error)
{
    const json_t *machine = json_object_get(json_object_get(record, "environment"), "machine");
    const char *machine_id = json_string_value(json_object_get(machine, "id"));
    g_autofree char *facts = machine_id != NULL ? ifm_json_canonical(machine) : NULL;
    g_autofree char *digest = ifm_record_digest(record);
    if (!insert_pair(store, "INSERT OR IGNORE INTO machine (id, facts) VALUES (?, ?)", machine_id, facts, error))
        return FALSE;
    g_autoptr(sqlite3_stmt) statement =
        prepare_insert(store, "INSERT", "measurement", ifm_measurement_fields, ", digest, machine_id", 2, record, error);
    if (statement == NULL)
        return FALSE;
    int last = count_columns(ifm_measurement_fields);
    gboolean machine_reported = machine_id != NULL && *machine_id != '\0';
    if (bind_text(statement, last + 1, digest) != SQLITE_OK ||
        (machine_reported && bind_text(statement, last + 2, machine_id) != SQLITE_OK))
        return ifm_store_fail(store, error);
    return ifm_store_step(store, statement, NULL, error);
}

gboolean ifm_store_insert(const IfmStore *store, const IfmCase *subject_case, const IfmMeasurement *measurement,
                          GError **error)
{
    json_auto_t *record = ifm_measurement_to_json(measurement);
    if (!insert_case(store, subject_case, error) || !insert_measurement(store, record, error))
        return FALSE;
    for (gsize i = 0; i < G_N_ELEMENTS(series_names); i++)
        if (!insert_series(store, measurement->uid, series_names[i], json_object_get(record, series_names[i]), error))
            return FALSE;
    return insert_nodes(store, measurement->uid, json_object_get(record, "nodes"), error);
}

/* --- out
 * ------------------------------------------------------------------------------------------------------------------ */

static json_t *value_of(sqlite3_stmt *statement, int index, const IfmRecordField *field, GError **error)
{
    const char *text = (const char *)sqlite3_column_text(statement, index);
    if (field->type == IFM_RECORD_INT64)
        return json_integer(sqlite3_column_int64(statement, index));
    if (field->type == IFM_RECORD_TEXT || field->type == IFM_RECORD_CHOICE)
        return ifm_json_string(text);
    if (text == NULL)
        return json_null();
    return field->type == IFM_RECORD_DOUBLE ? ifm_json_real(sqlite3_column_double(statement, index))
                                            : ifm_json_parse(text, strlen(text), field->name, error);
}

static json_t *record_of(sqlite3_stmt *statement, const IfmRecordField *fields, GError **error)
{
    json_auto_t *record = json_object();
    int at = 0;
    for (const IfmRecordField *field = fields; field->name != NULL; field++)
    {
        json_t *value = is_column(field) ? value_of(statement, at++, field, error) : NULL;
        if (is_column(field) && value == NULL)
            return NULL;
        if (value != NULL)
            json_object_set_new(record, field->name, value);
    }
    return json_incref(record);
}

/* Whatever is wrong with a record that was read: it is not what was written. */
static void blame(const IfmStore *store, const char *kind, const char *name, const char *what, GError **error)
{
    g_set_error(error, IFM_ERROR, IFM_ERROR_CORRUPT, "%s: %s %s: %s", store->path, kind, name, what);
}

static gboolean read_series(const IfmStore *store, const char *uid, json_t *record, GError **error)
{
    g_autoptr(sqlite3_stmt) statement =
        ifm_store_prepare(store, "SELECT n, ns FROM sample WHERE measurement_uid = ? AND series = ?", error);
    for (gsize s = 0; statement != NULL && s < G_N_ELEMENTS(series_names); s++)
    {
        gboolean row = FALSE;
        sqlite3_reset(statement);
        if (bind_text(statement, 1, uid) != SQLITE_OK || bind_text(statement, 2, series_names[s]) != SQLITE_OK)
            return ifm_store_fail(store, error);
        if (!ifm_store_step(store, statement, &row, error))
            return FALSE;
        const char *bytes = row ? sqlite3_column_blob(statement, 1) : NULL;
        gsize n_bytes = row ? (gsize)sqlite3_column_bytes(statement, 1) : 0;
        if (!row || n_bytes % sizeof(gint64) != 0 ||
            (sqlite3_int64)(n_bytes / sizeof(gint64)) != sqlite3_column_int64(statement, 0))
        {
            g_autofree char *what =
                g_strdup_printf("%s %s", series_names[s], row ? "has not the length it says" : "missing");
            blame(store, "measurement", uid, what, error);
            return FALSE;
        }
        json_t *values = json_array();
        for (gsize i = 0; i < n_bytes; i += sizeof(gint64))
        {
            gint64 value;
            memcpy(&value, bytes + i, sizeof value);
            json_array_append_new(values, json_integer(GINT64_FROM_LE(value)));
        }
        json_object_set_new(record, series_names[s], values);
    }
    return statement != NULL;
}

static gboolean read_nodes(const IfmStore *store, const char *uid, json_t *record, GError **error)
{
    static char *sql = NULL;
    if (g_once_init_enter(&sql))
    {
        g_autofree char *names = join_columns(ifm_node_fields);
        g_once_init_leave(&sql, g_strdup_printf("SELECT %s FROM node WHERE measurement_uid = ? ORDER BY position", names));
    }
    g_autoptr(sqlite3_stmt) statement = ifm_store_prepare(store, sql, error);
    if (statement == NULL)
        return FALSE;
    if (!ifm_store_bind_text(store, statement, 1, uid, error))
        return FALSE;
    json_t *nodes = json_array();
    json_object_set_new(record, "nodes", nodes);
    for (;;)
    {
        gboolean row = FALSE;
        if (!ifm_store_step(store, statement, &row, error))
            return FALSE;
        if (!row)
            return TRUE;
        json_t *node = record_of(statement, ifm_node_fields, error);
        if (node == NULL)
            return FALSE;
        json_array_append_new(nodes, node);
    }
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

json_t *ifm_store_read_record(const IfmStore *store, sqlite3_stmt *statement, GError **error)
{
    const char *uid = (const char *)sqlite3_column_text(statement, 0);
    g_autoptr(GError) trouble = NULL;
    json_auto_t *record = record_of(statement, ifm_measurement_fields, &trouble);
    if (record == NULL)
        blame(store, "measurement", uid, trouble->message, error);
    if (record == NULL || !read_series(store, uid, record, error) || !read_nodes(store, uid, record, error))
        return NULL;
    return json_incref(record);
}

IfmMeasurement *ifm_store_read_measurement(const IfmStore *store, sqlite3_stmt *statement, char **digest, GError **error)
{
    g_autofree char *uid = g_strdup((const char *)sqlite3_column_text(statement, 0));
    g_autoptr(GError) trouble = NULL;
    json_auto_t *record = ifm_store_read_record(store, statement, error);
    if (record == NULL)
        return NULL;
    g_autoptr(IfmMeasurement) measurement = ifm_measurement_from_json(record, &trouble);
    if (measurement == NULL)
    {
        blame(store, "measurement", uid, trouble->message, error);
        return NULL;
    }
    if (digest == NULL)
        return g_steal_pointer(&measurement);
    *digest = ifm_record_digest(record);
    if (g_strcmp0(*digest, (const char *)sqlite3_column_text(statement, count_columns(ifm_measurement_fields))) == 0)
        return g_steal_pointer(&measurement);
    g_clear_pointer(digest, g_free);
    blame(store, "measurement", uid, "is not what was written (its digest differs)", error);
    return NULL;
}

IfmCase *ifm_store_read_case(const IfmStore *store, const char *key, GError **error)
{
    g_autofree char *names = join_columns(ifm_case_fields);
    g_autofree char *sql = g_strdup_printf("SELECT %s FROM subject_case WHERE key = ?", names);
    g_autoptr(sqlite3_stmt) statement = ifm_store_prepare(store, sql, error);
    gboolean row = FALSE;
    if (statement == NULL)
        return NULL;
    if (!ifm_store_bind_text(store, statement, 1, key, error) || !ifm_store_step(store, statement, &row, error))
        return NULL;
    g_autoptr(GError) trouble = NULL;
    json_auto_t *record = row ? record_of(statement, ifm_case_fields, &trouble) : NULL;
    g_autoptr(IfmCase) subject_case = record != NULL ? ifm_case_from_json(record, &trouble) : NULL;
    if (subject_case == NULL)
        blame(store, "case", key, trouble != NULL ? trouble->message : "missing", error);
    return g_steal_pointer(&subject_case);
}

char *ifm_store_stored_digest(const IfmStore *store, const char *uid, GError **error)
{
    g_autoptr(sqlite3_stmt) statement = ifm_store_prepare(store, "SELECT digest FROM measurement WHERE uid = ?", error);
    gboolean row = FALSE;
    if (statement == NULL)
        return NULL;
    if (!ifm_store_bind_text(store, statement, 1, uid, error) || !ifm_store_step(store, statement, &row, error) || !row)
        return NULL;
    return g_strdup((const char *)sqlite3_column_text(statement, 0));
}
