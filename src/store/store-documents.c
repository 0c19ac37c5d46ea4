#include "store-private.h"
#include <base/fields.h>
#include <store/store.h>
#include <string.h>

/* A row as it was written, or why it is not. The columns: content, digest. */
static json_t *read_row(const IfmStore *store, sqlite3_stmt *statement, const char *name, GError **error)
{
    const char *content = (const char *)sqlite3_column_text(statement, 0);
    gsize length = (gsize)sqlite3_column_bytes(statement, 0);
    const char *digest = (const char *)sqlite3_column_text(statement, 1);
    g_autoptr(GError) trouble = NULL;
    json_auto_t *json = ifm_json_parse(content != NULL ? content : "", length, "content", &trouble);
    g_autofree char *found = json != NULL ? ifm_json_digest(json) : NULL;
    const char *what = NULL;
    if (json == NULL)
        what = trouble->message;
    else if (!json_is_object(json))
        what = "is no JSON object";
    else if (g_strcmp0(found, digest) != 0)
        what = "is not what was written (its digest differs)";
    if (what == NULL)
        return json_incref(json);
    ifm_error_set(error, IFM_ERROR_CORRUPT, "%s: document %s: %s", store->path, name, what);
    return NULL;
}

static gboolean check_name(const char *name, GError **error)
{
    if (*name != '\0' && g_utf8_validate(name, -1, NULL))
        return TRUE;
    return ifm_error_refuse(error, "document: its name is %s, expected some text in UTF-8",
                            *name == '\0' ? "empty" : "not UTF-8");
}

json_t *ifm_store_document(IfmStore *store, const char *name, GError **error)
{
    gboolean row = FALSE;
    if (!check_name(name, error))
        return NULL;
    g_autoptr(sqlite3_stmt) statement =
        ifm_store_prepare(store, "SELECT content, digest FROM document WHERE name = ?", error);
    if (statement == NULL || !ifm_store_bind_text(store, statement, 1, name, error) ||
        !ifm_store_step(store, statement, &row, error) || !row)
        return NULL;
    return read_row(store, statement, name, error);
}

/* What is written must be readable: an object, and not nested deeper than a reader takes. */
static char *text_of(const char *name, const json_t *json, GError **error)
{
    if (!json_is_object(json))
    {
        ifm_error_refuse(error, "document %s: is no JSON object", name);
        return NULL;
    }
    g_autofree char *text = ifm_json_canonical(json), *where = g_strdup_printf("document %s", name);
    json_auto_t *again = ifm_json_parse(text, strlen(text), where, error);
    return again != NULL ? g_steal_pointer(&text) : NULL;
}

/* @verb: "INSERT", with what to do where there is one of that name. */
static gboolean insert(const IfmStore *store, const char *verb, const char *name, const json_t *json, GError **error)
{
    g_autofree char *content = text_of(name, json, error);
    g_autofree char *sql = g_strdup_printf("%s INTO document (name, digest, content) VALUES (?, ?, ?)", verb);
    g_autoptr(sqlite3_stmt) statement = content != NULL ? ifm_store_prepare(store, sql, error) : NULL;
    if (statement == NULL)
        return FALSE;
    g_autofree char *digest = ifm_json_digest(json);
    return ifm_store_bind_text(store, statement, 1, name, error) &&
           ifm_store_bind_text(store, statement, 2, digest, error) &&
           ifm_store_bind_text(store, statement, 3, content, error) && ifm_store_step(store, statement, NULL, error);
}

gboolean ifm_store_set_document(IfmStore *store, const char *name, const json_t *json, GError **error)
{
    if (!check_name(name, error) || !ifm_store_begin_writing(store, error))
        return FALSE;
    gboolean good = insert(store, "INSERT OR REPLACE", name, json, error);
    good = ifm_store_end(store, good, good ? error : NULL);
    if (good)
        store->is_new = FALSE;
    return good;
}

/* Every document of a store, by name. */
typedef gboolean (*Step)(const char *name, const json_t *json, const IfmStore *into, GError **error);

static gboolean visit_all(const IfmStore *store, Step step, const IfmStore *into, GError **error)
{
    g_autoptr(sqlite3_stmt) statement =
        ifm_store_prepare(store, "SELECT content, digest, name FROM document ORDER BY name", error);
    for (gboolean row = FALSE; statement != NULL;)
    {
        if (!ifm_store_step(store, statement, &row, error))
            return FALSE;
        if (!row)
            return TRUE;
        const char *name = (const char *)sqlite3_column_text(statement, 2);
        json_auto_t *json = read_row(store, statement, name, error);
        if (json == NULL || (step != NULL && !step(name, json, into, error)))
            return FALSE;
    }
    return FALSE;
}

static gboolean add_step(const char *name, const json_t *json, const IfmStore *into, GError **error)
{
    return insert(into, "INSERT OR IGNORE", name, json, error);
}

static gboolean replace_step(const char *name, const json_t *json, const IfmStore *into, GError **error)
{
    return insert(into, "INSERT OR REPLACE", name, json, error);
}

gboolean ifm_store_add_documents(const IfmStore *store, const IfmStore *from, gboolean over, GError **error)
{
    return visit_all(from, over ? replace_step : add_step, store, error);
}

gboolean ifm_store_check_documents(const IfmStore *store, GError **error)
{
    return visit_all(store, NULL, NULL, error);
}
