#include <string.h>

#include <internal/json.h>

#include "store-private.h"

/*
 * Migrates records of older versions. A migration of the tables (schema.c) leaves their content as it is; what changed
 * within a record, such as the place or the name of a member, changes here, before any row is read otherwise. The digest of
 * a measurement is computed anew, so that a measurement that was migrated in two stores is the same in both. The key of a
 * case stays: record.c computes it from the oldest names.
 */

/* --- 3 -> 4: results had been part of the environment, and some members had other names ------------------------------- */

static void move_results(json_t *record)
{
    static const char *const kinds[] = { "plan", "link", "limit", "compare" };
    json_t *environment = json_object_get(record, "environment");
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
    {
        json_t *result = json_object_get(environment, kinds[i]);
        if (!json_is_object(result))
            continue;
        if (json_is_object(json_object_get(record, "result")))
            json_object_update(json_object_get(record, "result"), result);
        else
            json_object_set(record, "result", result);
        json_object_del(environment, kinds[i]);
    }
}

static void rename_members(json_t *record)
{
    static const IfmRename load[] = { { "background_load", "load_beside" }, { NULL, NULL } };
    ifm_record_rename(json_object_get(record, "environment"), load, FALSE, FALSE);
    if (g_strcmp0(ifm_member_text(record, "stop_reason"), "most-runs") == 0)
        json_object_set_new(record, "stop_reason", json_string("max-runs"));
}

/* (transfer full) the record as this version writes it; NULL if it is damaged: reading it reports that */
static json_t *bring_up(const json_t *record, int from_version)
{
    json_auto_t *moved = json_deep_copy(record);
    if (from_version < 4)
    {
        move_results(moved);
        rename_members(moved);
    }
    g_autoptr(IfmMeasurement) measurement = ifm_measurement_from_json(moved, NULL);
    return measurement != NULL ? ifm_measurement_to_json(measurement) : NULL;
}

/* --- one by one ------------------------------------------------------------------------------------------------------- */

static gboolean write_back(const IfmStore *store, const char *uid, const json_t *record, GError **error)
{
    g_autofree char *digest = ifm_record_digest(record);
    g_autoptr(sqlite3_stmt) statement = ifm_store_prepare(
        store, "UPDATE measurement SET summary = ?, result = ?, environment = ?, stop_reason = ?, digest = ? WHERE uid = ?",
        error);
    return statement != NULL && ifm_store_bind_json(store, statement, 1, json_object_get(record, "summary"), error) &&
           ifm_store_bind_json(store, statement, 2, json_object_get(record, "result"), error) &&
           ifm_store_bind_json(store, statement, 3, json_object_get(record, "environment"), error) &&
           ifm_store_bind_text(store, statement, 4, ifm_member_text(record, "stop_reason"), error) &&
           ifm_store_bind_text(store, statement, 5, digest, error) &&
           ifm_store_bind_text(store, statement, 6, uid, error) && ifm_store_step(store, statement, NULL, error);
}

/* A record that is damaged stays as it is: a check finds it. */
static gboolean migrate_one(const IfmStore *store, const char *uid, int from_version, GError **error)
{
    gboolean row = FALSE;
    g_autoptr(sqlite3_stmt) statement = ifm_store_select_measurements(store, "WHERE uid = ?", uid, error);
    g_autofree char *stored = ifm_store_stored_digest(store, uid, error);
    if (statement == NULL || stored == NULL || !ifm_store_step(store, statement, &row, error))
        return FALSE;
    json_auto_t *record = row ? ifm_store_read_record(store, statement, NULL) : NULL;
    json_auto_t *old = json_copy(record);
    if (from_version < 4)
        ifm_record_rename(old, ifm_measurement_renames, TRUE, FALSE); /* as it was when its digest was computed */
    g_autofree char *digest = old != NULL ? ifm_record_digest(old) : NULL;
    json_auto_t *whole = g_strcmp0(digest, stored) == 0 ? bring_up(record, from_version) : NULL;
    return whole == NULL || write_back(store, uid, whole, error);
}

/* All texts of one column. (transfer full) NULL with an error */
static GPtrArray *column_of(const IfmStore *store, const char *sql, GError **error)
{
    g_autoptr(GPtrArray) texts = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(sqlite3_stmt) statement = ifm_store_prepare(store, sql, error);
    for (gboolean row = FALSE; statement != NULL;)
    {
        if (!ifm_store_step(store, statement, &row, error))
            return NULL;
        if (!row)
            return g_steal_pointer(&texts);
        g_ptr_array_add(texts, g_strdup((const char *)sqlite3_column_text(statement, 0)));
    }
    return NULL;
}

/* --- cases and documents -------------------------------------------------------------------------------------------------
 */

/* Rewrites one JSON text with its members renamed. @select, @update: by @id    @digest: also that of the text */
static gboolean rename_text(const IfmStore *store, const char *select, const char *update, const char *id, gboolean digest,
                            GError **error)
{
    gboolean row = FALSE;
    g_autoptr(sqlite3_stmt) found = ifm_store_prepare(store, select, error);
    if (found == NULL || !ifm_store_bind_text(store, found, 1, id, error) || !ifm_store_step(store, found, &row, error))
        return FALSE;
    const char *text = row ? (const char *)sqlite3_column_text(found, 0) : NULL;
    json_auto_t *json = text != NULL ? ifm_json_parse(text, strlen(text), "content", NULL) : NULL;
    if (json == NULL) /* damaged, or none: it stays as it is, and a check finds it */
        return TRUE;
    g_autofree char *before = ifm_json_digest(json);
    if (digest && g_strcmp0(before, (const char *)sqlite3_column_text(found, 1)) != 0)
        return TRUE;
    ifm_record_rename(json, ifm_case_option_renames, FALSE, TRUE);
    g_autofree char *after = ifm_json_digest(json);
    g_autoptr(sqlite3_stmt) written = ifm_store_prepare(store, update, error);
    int last = digest ? 3 : 2;
    return written != NULL && ifm_store_bind_json(store, written, 1, json, error) &&
           (!digest || ifm_store_bind_text(store, written, 2, after, error)) &&
           ifm_store_bind_text(store, written, last, id, error) && ifm_store_step(store, written, NULL, error);
}

static gboolean rename_all(const IfmStore *store, const char *ids, const char *select, const char *update, gboolean digest,
                           GError **error)
{
    g_autoptr(GPtrArray) all = column_of(store, ids, error);
    gboolean good = all != NULL;
    for (guint i = 0; good && i < all->len; i++)
        good = rename_text(store, select, update, all->pdata[i], digest, error);
    return good;
}

static gboolean migrate_cases(const IfmStore *store, GError **error)
{
    return ifm_store_run(store,
                         "UPDATE subject_case SET subject_kind = '" IFM_CASE_PEAK
                         "' WHERE subject_kind = '" IFM_CASE_PEAK_OLD "'",
                         error) &&
           rename_all(store, "SELECT key FROM subject_case", "SELECT options FROM subject_case WHERE key = ?",
                      "UPDATE subject_case SET options = ? WHERE key = ?", FALSE, error) &&
           rename_all(store, "SELECT name FROM document", "SELECT content, digest FROM document WHERE name = ?",
                      "UPDATE document SET content = ?, digest = ? WHERE name = ?", TRUE, error);
}

gboolean ifm_store_migrate_records(const IfmStore *store, int from_version, GError **error)
{
    if (from_version < 4 && !migrate_cases(store, error))
        return FALSE;
    g_autoptr(GPtrArray) uids = column_of(store, "SELECT uid FROM measurement", error);
    gboolean good = uids != NULL;
    for (guint i = 0; good && i < uids->len; i++)
        good = migrate_one(store, uids->pdata[i], from_version, error);
    return good;
}
