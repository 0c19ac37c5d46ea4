#include "base-private.h"
#include <base/base.h>
#include <base/fields.h>
#include <math.h>
#include <string.h>

/* These functions read JSON with jansson, write it in one canonical form, and get checked members whose faults name their
 * place. */

/* jansson recurses over its input. So the depth is checked first, by counting the brackets outside strings. */
static gboolean check_depth(const char *bytes, gsize n_bytes, const char *name, GError **error)
{
    int depth = 0, line = 1;
    gsize line_start = 0;
    gboolean in_string = FALSE;
    for (gsize i = 0; i < n_bytes; i++)
    {
        char c = bytes[i];
        if (c == '\n')
        {
            line++;
            line_start = i + 1;
        }
        else if (in_string && c == '\\')
            i++;
        else if (c == '"')
            in_string = !in_string;
        else if (!in_string && (c == '{' || c == '['))
            depth++;
        else if (!in_string && (c == '}' || c == ']'))
            depth--;
        if (depth > IFM_JSON_MAX_DEPTH)
            return ifm_error_refuse(error, "%s:%d:%zu: nested deeper than %d levels", name, line, i - line_start + 1,
                                    IFM_JSON_MAX_DEPTH);
    }
    return TRUE;
}

json_t *ifm_json_parse(const char *bytes, gsize n_bytes, const char *name, GError **error)
{
    if (!check_depth(bytes, n_bytes, name, error))
        return NULL;
    json_error_t trouble;
    json_t *json = json_loadb(bytes, n_bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &trouble);
    if (json != NULL)
        return json;
    int code = json_error_code(&trouble) == json_error_out_of_memory ? IFM_ERROR_MEMORY : IFM_ERROR_INVALID;
    if (n_bytes == 0)
        ifm_error_set(error, code, "%s: is empty, expected JSON", name);
    else
        ifm_error_set(error, code, "%s:%d:%d: %s", name, MAX(trouble.line, 1), MAX(trouble.column, 1), trouble.text);
    ifm_error_make_one_line(error); /* the message quotes the input */
    return NULL;
}

json_t *ifm_json_load(const char *path, GError **error)
{
    g_autofree char *bytes = NULL;
    gsize n_bytes = 0;
    if (!ifm_file_load(path, &bytes, &n_bytes, error))
        return NULL;
    return ifm_json_parse(bytes, n_bytes, path, error);
}

char *ifm_json_canonical(const json_t *json)
{
    /* jansson and GLib both allocate with malloc(), so g_free() may free this */
    char *text = json_dumps(json, JSON_SORT_KEYS | JSON_COMPACT | JSON_ENCODE_ANY);
    g_assert(text != NULL);
    return text;
}

char *ifm_json_digest(const json_t *json)
{
    g_autofree char *text = ifm_json_canonical(json);
    return g_compute_checksum_for_string(G_CHECKSUM_SHA256, text, -1);
}

json_t *ifm_json_string(const char *text)
{
    if (text == NULL)
        return json_string("");
    json_t *json = json_string(text);
    if (json != NULL)
        return json;
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    return json_string(valid);
}

json_t *ifm_json_some_string(const char *text)
{
    return text != NULL && *text != '\0' ? ifm_json_string(text) : json_null();
}

json_t *ifm_json_real(double value)
{
    if (isnan(value))
        return json_null();
    if (isinf(value))
        return json_string(value > 0 ? "inf" : "-inf");
    return json_real(value);
}

json_t *ifm_json_int64_array(const GArray *values)
{
    json_t *array = json_array();
    for (guint i = 0; values != NULL && i < values->len; i++)
        json_array_append_new(array, json_integer(g_array_index(values, gint64, i)));
    return array;
}

/* The found value for a message: a short value itself, any other by its type. */
static char *describe(const json_t *json)
{
    static const char *const types[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "an array", [JSON_STRING] = "a string", [JSON_INTEGER] = "an integer",
        [JSON_REAL] = "a number",    [JSON_TRUE] = "true",      [JSON_FALSE] = "false",     [JSON_NULL] = "null",
    };
    if (json_is_number(json) || (json_is_string(json) && json_string_length(json) <= 40))
        return json_dumps(json, JSON_ENCODE_ANY);
    return g_strdup(types[json_typeof(json)]);
}

static gboolean refuse(const json_t *found, const char *place, const char *expected, GError **error)
{
    if (found == NULL)
        return ifm_error_refuse(error, "%s: missing, expected %s", place, expected);
    g_autofree char *what = describe(found);
    return ifm_error_refuse(error, "%s: found %s, expected %s", place, what, expected);
}

static gboolean refuse_key(const json_t *object, const char *where, const char *key, const char *expected, GError **error)
{
    if (object != NULL && !json_is_object(object))
        return refuse(object, where, "an object", error);
    g_autofree char *place = g_strdup_printf("%s.%s", where, key);
    return refuse(json_object_get(object, key), place, expected, error);
}

gboolean ifm_json_get_string(const json_t *object, const char *where, const char *key, const char **value, GError **error)
{
    const json_t *found = json_object_get(object, key);
    if (!json_is_string(found))
        return refuse_key(object, where, key, "a string", error);
    *value = json_string_value(found);
    return TRUE;
}

gboolean ifm_json_get_boolean(const json_t *object, const char *where, const char *key, gboolean *value, GError **error)
{
    const json_t *found = json_object_get(object, key);
    if (!json_is_boolean(found))
        return refuse_key(object, where, key, "true or false", error);
    *value = json_is_true(found);
    return TRUE;
}

gboolean ifm_json_get_int64(const json_t *object, const char *where, const char *key, gint64 *value, GError **error)
{
    const json_t *found = json_object_get(object, key);
    if (!json_is_integer(found))
        return refuse_key(object, where, key, "an integer", error);
    *value = json_integer_value(found);
    return TRUE;
}

gboolean ifm_json_get_double(const json_t *object, const char *where, const char *key, double *value, GError **error)
{
    const json_t *found = json_object_get(object, key);
    if (json_is_number(found))
        *value = json_number_value(found);
    else if (json_is_null(found))
        *value = NAN;
    else if (g_strcmp0(json_string_value(found), "inf") == 0)
        *value = INFINITY;
    else if (g_strcmp0(json_string_value(found), "-inf") == 0)
        *value = -INFINITY;
    else
        return refuse_key(object, where, key, "a number, null, \"inf\" or \"-inf\"", error);
    return TRUE;
}

gboolean ifm_json_get_object(const json_t *object, const char *where, const char *key, json_t **value, GError **error)
{
    json_t *found = json_object_get(object, key);
    if (!json_is_object(found))
        return refuse_key(object, where, key, "an object", error);
    *value = found;
    return TRUE;
}

gboolean ifm_json_get_array(const json_t *object, const char *where, const char *key, json_t **value, GError **error)
{
    json_t *found = json_object_get(object, key);
    if (!json_is_array(found))
        return refuse_key(object, where, key, "an array", error);
    *value = found;
    return TRUE;
}

gboolean ifm_json_get_int64_array(const json_t *object, const char *where, const char *key, GArray *values, GError **error)
{
    json_t *array = NULL;
    if (!ifm_json_get_array(object, where, key, &array, error))
        return FALSE;
    g_array_set_size(values, 0);
    gsize i;
    json_t *element;
    json_array_foreach(array, i, element)
    {
        if (!json_is_integer(element))
        {
            g_autofree char *place = g_strdup_printf("%s.%s[%zu]", where, key, i);
            return refuse(element, place, "an integer", error);
        }
        gint64 value = json_integer_value(element);
        g_array_append_val(values, value);
    }
    return TRUE;
}

gboolean ifm_json_check_object(const json_t *json, const char *where, const char *const *keys, GError **error)
{
    if (!json_is_object(json))
        return refuse(json, where, "an object", error);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)json, key, value)
    {
        if (g_strv_contains(keys, key))
            continue;
        g_autofree char *hint = ifm_nearest_hint(key, keys);
        return ifm_error_refuse(error, "%s.%s: unknown key%s", where, key, hint);
    }
    return TRUE;
}

/* --- lenient getters ------------------------------------------------------------------------------------------------ */

const json_t *ifm_member(const json_t *json, const char *path)
{
    const char *dot;
    for (; json != NULL && (dot = strchr(path, '.')) != NULL; path = dot + 1)
        json = json_object_getn(json, path, (gsize)(dot - path));
    return json != NULL ? json_object_get(json, path) : NULL;
}

double ifm_member_number(const json_t *json, const char *path)
{
    const json_t *found = ifm_member(json, path);
    return json_is_number(found) ? json_number_value(found) : (double)NAN;
}

const char *ifm_member_text(const json_t *json, const char *path)
{
    return json_string_value(ifm_member(json, path));
}
