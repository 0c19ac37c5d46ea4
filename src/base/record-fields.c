#include <base/base.h>
#include <math.h>
#include <string.h>

#include <base/fields.h>
#include <base/tensor.h>

#include "base-private.h"

/* These functions set up, free, write as JSON, read and check a struct by the table of its fields. */

#define MAX_FIELDS 40
#define AT(type, self, field) (*(type *)((char *)(self) + (field)->offset))
#define CONST_AT(type, self, field) (*(type const *)((const char *)(self) + (field)->offset))
#define COUNT_AT(type, self, field) (*(type *)((char *)(self) + (field)->count))
#define CONST_COUNT_AT(type, self, field) (*(type const *)((const char *)(self) + (field)->count))

static void scalar_free(IfmScalar *scalar)
{
    g_free(scalar->place.name);
    g_free(scalar->text);
    g_free(scalar);
}

/* What the struct owns of a type, but for what the field itself says how to free. @element: bytes of a list's elements */
static const struct
{
    GDestroyNotify free;
    guint element;
} owned[] = {
    [IFM_RECORD_TEXT] = { g_free },
    [IFM_RECORD_STRING] = { g_free },
    [IFM_RECORD_JSON] = { (GDestroyNotify)json_decref },
    [IFM_RECORD_TEXTS] = { (GDestroyNotify)g_ptr_array_unref },
    [IFM_RECORD_SCALARS] = { (GDestroyNotify)g_ptr_array_unref },
    [IFM_RECORD_SERIES] = { (GDestroyNotify)g_array_unref, sizeof(gint64) },
    [IFM_RECORD_NUMBERS] = { (GDestroyNotify)g_array_unref, sizeof(double) },
    [IFM_RECORD_CHOICES] = { (GDestroyNotify)g_array_unref, sizeof(int) },
    [IFM_N_RECORD_TYPES] = { NULL },
};

static gboolean has_rows(const IfmRecordField *field)
{
    return field->type == IFM_RECORD_ROWS || field->type == IFM_RECORD_NAMED;
}

void ifm_record_init(void *self, const IfmRecordField *fields)
{
    for (const IfmRecordField *field = fields; field->name != NULL; field++)
        if (field->type == IFM_RECORD_TEXT)
            AT(char *, self, field) = g_strdup("");
        else if (field->type == IFM_RECORD_TEXTS || field->type == IFM_RECORD_SCALARS || has_rows(field))
            AT(GPtrArray *, self, field) =
                g_ptr_array_new_with_free_func(field->type == IFM_RECORD_TEXTS     ? g_free
                                               : field->type == IFM_RECORD_SCALARS ? (GDestroyNotify)scalar_free
                                                                                   : field->free);
        else if (owned[field->type].element > 0)
            AT(GArray *, self, field) = g_array_new(FALSE, FALSE, owned[field->type].element);
}

static void clear_place(IfmPlace *place)
{
    g_clear_pointer(&place->name, g_free);
    g_clear_pointer(&place->lines, g_hash_table_unref);
}

/* An array has no place for the table of its rows. */
static void free_rows(GPtrArray *rows, const IfmRecordField *field)
{
    for (guint i = 0; rows != NULL && field->free == NULL && i < rows->len; i++)
        ifm_record_free(rows->pdata[i], field->fields);
    g_clear_pointer(&rows, g_ptr_array_unref);
}

void ifm_record_clear(void *self, const IfmRecordField *fields)
{
    for (const IfmRecordField *field = fields; field->name != NULL; field++)
        if (field->type == IFM_RECORD_PLACE)
            clear_place(&AT(IfmPlace, self, field));
        else if (field->type == IFM_RECORD_MAP)
            ifm_record_free(g_steal_pointer(&AT(void *, self, field)), field->fields);
        else if (has_rows(field))
            free_rows(g_steal_pointer(&AT(GPtrArray *, self, field)), field);
        else if (owned[field->type].free != NULL)
            g_clear_pointer(&AT(void *, self, field), owned[field->type].free);
}

void ifm_record_free(void *self, const IfmRecordField *fields)
{
    if (self != NULL)
        ifm_record_clear(self, fields);
    g_free(self);
}

/* --- writing ---------------------------------------------------------------------------------------------------------- */

typedef json_t *(*PartToJson)(const void *self, const IfmRecordField *fields);

static json_t *texts_to_json(const GPtrArray *texts)
{
    json_t *json = json_array();
    for (guint i = 0; i < texts->len; i++)
        json_array_append_new(json, ifm_json_string(texts->pdata[i]));
    return json;
}

static json_t *words_to_json(const char *const *words, gboolean sorted)
{
    g_autoptr(GPtrArray) list = g_ptr_array_new();
    for (; words != NULL && *words != NULL; words++)
        g_ptr_array_add(list, (gpointer)*words);
    if (sorted)
        g_ptr_array_sort(list, ifm_compare_texts);
    return texts_to_json(list);
}

static json_t *parts_to_json(const void *self, const IfmRecordField *field, PartToJson to_json)
{
    json_t *json = json_array();
    const char *part = CONST_AT(char *, self, field);
    for (gsize i = 0; i < CONST_COUNT_AT(gsize, self, field); i++, part += field->size)
        json_array_append_new(json, to_json(part, field->fields));
    return json;
}

static json_t *rows_to_json(const GPtrArray *rows, const IfmRecordField *field, PartToJson to_json)
{
    json_t *json = json_array();
    for (guint i = 0; i < rows->len; i++)
        json_array_append_new(json, to_json(rows->pdata[i], field->fields));
    return json;
}

static json_t *choices_to_json(const GArray *choices, const char *const *words)
{
    json_t *json = json_array();
    for (guint i = 0; i < choices->len; i++)
        json_array_append_new(json, json_string(words[g_array_index(choices, int, i)]));
    return json;
}

static json_t *jsons_to_json(const void *self, const IfmRecordField *field)
{
    json_t *json = json_array();
    for (gsize i = 0; i < CONST_COUNT_AT(gsize, self, field); i++)
        json_array_append(json, CONST_AT(json_t **, self, field)[i]);
    return json;
}

static json_t *path_to_json(const char *path)
{
    g_autofree char *escaped = path != NULL ? g_strescape(path, NULL) : NULL;
    return escaped != NULL ? json_string(escaped) : json_null();
}

static gboolean is_choice(const IfmRecordField *field, int word)
{
    return word >= 0 && (guint)word < g_strv_length((char **)field->words);
}

/* @to_json: writes nested structs. ifm_record_key_to_json() also says that the JSON is a key. */
static json_t *field_to_json(const void *self, const IfmRecordField *field, PartToJson to_json)
{
    const char *name;
    const json_t *json;
    const void *part = (const char *)self + field->offset;
    switch (field->type)
    {
    case IFM_RECORD_TEXT:
        return ifm_json_string(CONST_AT(char *, self, field));
    case IFM_RECORD_NAME:
    case IFM_RECORD_STRING:
        name = CONST_AT(char *, self, field);
        return name != NULL ? ifm_json_string(name) : json_null();
    case IFM_RECORD_PATH:
        return path_to_json(CONST_AT(char *, self, field));
    case IFM_RECORD_WORDS:
        return words_to_json((const char *const *)CONST_AT(char **, self, field), to_json == ifm_record_key_to_json);
    case IFM_RECORD_FLAG:
        return json_boolean(CONST_AT(gboolean, self, field));
    case IFM_RECORD_INT:
        return json_integer(CONST_AT(int, self, field));
    case IFM_RECORD_INT64:
        return json_integer(CONST_AT(gint64, self, field));
    case IFM_RECORD_UINT32:
        return json_integer(CONST_AT(guint32, self, field));
    case IFM_RECORD_SIZE:
        return json_integer((json_int_t)CONST_AT(gsize, self, field));
    case IFM_RECORD_DOUBLE: /* + 0.0 makes -0 a 0: SQLite does not keep -0 */
        return ifm_json_real(CONST_AT(double, self, field) + 0.0);
    case IFM_RECORD_DTYPE:
        return json_string(ifm_dtype_name(CONST_AT(IfmDtype, self, field)));
    case IFM_RECORD_CHOICE:
        return is_choice(field, CONST_AT(int, self, field)) ? json_string(field->words[CONST_AT(int, self, field)])
                                                            : json_null(); /* refused by ifm_record_check() */
    case IFM_RECORD_JSON:
        json = CONST_AT(json_t *, self, field);
        return json != NULL ? json_deep_copy(json) : json_null();
    case IFM_RECORD_JSONS:
        return jsons_to_json(self, field);
    case IFM_RECORD_TEXTS:
        return texts_to_json(CONST_AT(GPtrArray *, self, field));
    case IFM_RECORD_SERIES:
        return ifm_json_int64_array(CONST_AT(GArray *, self, field));
    case IFM_RECORD_CHOICES:
        return choices_to_json(CONST_AT(GArray *, self, field), field->words);
    case IFM_RECORD_PART:
        return to_json(part, field->fields);
    case IFM_RECORD_MAYBE:
        return CONST_COUNT_AT(gboolean, self, field) ? to_json(part, field->fields) : json_null();
    case IFM_RECORD_PARTS:
        return parts_to_json(self, field, to_json);
    case IFM_RECORD_ROWS:
        return rows_to_json(CONST_AT(GPtrArray *, self, field), field, to_json);
    default: /* of files of YAML alone */
        break;
    }
    g_assert_not_reached();
}

static gboolean is_zero(const json_t *value)
{
    return json_is_null(value) || json_is_false(value) || (json_is_number(value) && json_number_value(value) == 0) ||
           (json_is_array(value) && json_array_size(value) == 0);
}

/* @value: (transfer full) */
static void set_unless_zero(json_t *json, const char *key, json_t *value, gboolean unless_zero)
{
    if (unless_zero && is_zero(value))
        json_decref(value);
    else
        json_object_set_new(json, key, value);
}

json_t *ifm_record_to_json(const void *self, const IfmRecordField *fields)
{
    json_t *json = json_object();
    for (const IfmRecordField *field = fields; field->name != NULL; field++)
        set_unless_zero(json, field->name, field_to_json(self, field, ifm_record_to_json), field->sparse);
    return json;
}

json_t *ifm_record_key_to_json(const void *self, const IfmRecordField *fields)
{
    json_t *json = json_object();
    for (const IfmRecordField *field = fields; field->name != NULL; field++)
    {
        if (field->key == NULL || (field->counts != NULL && !field->counts(self)))
            continue;
        set_unless_zero(json, field->key, field_to_json(self, field, ifm_record_key_to_json), field->unless_zero);
    }
    return json;
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

/* The place of a value, and what is needed to read it. */
typedef struct
{
    const json_t *json;
    const char *where;
    GPtrArray *pool;
    GError **error;
} Source;

static void *pooled(const Source *source, gsize size)
{
    void *memory = g_malloc0(MAX(size, 1));
    g_ptr_array_add(source->pool, memory);
    return memory;
}

static gboolean read_name(const Source *source, const IfmRecordField *field, const char **name)
{
    *name = NULL;
    return json_is_null(json_object_get(source->json, field->name)) ||
           ifm_json_get_string(source->json, source->where, field->name, name, source->error);
}

static gboolean read_path(const Source *source, const IfmRecordField *field, char **path)
{
    const char *escaped;
    if (!read_name(source, field, &escaped))
        return FALSE;
    *path = escaped != NULL ? g_strcompress(escaped) : NULL;
    if (*path != NULL)
        g_ptr_array_add(source->pool, *path);
    return TRUE;
}

static gboolean read_whole(const Source *source, const IfmRecordField *field, gint64 min, gint64 max, gint64 *value)
{
    if (!ifm_json_get_int64(source->json, source->where, field->name, value, source->error))
        return FALSE;
    return (*value >= min && *value <= max) ||
           ifm_error_refuse(source->error,
                            "%s.%s: found %" G_GINT64_FORMAT ", expected %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
                            source->where, field->name, *value, min, max);
}

/* Returns: the index of a word; -1 with an error. */
static int read_choice(const Source *source, const IfmRecordField *field)
{
    const char *word;
    if (!ifm_json_get_string(source->json, source->where, field->name, &word, source->error))
        return -1;
    const int found = ifm_word_index(field->words, word);
    if (found >= 0)
        return found;
    const gsize n_words = g_strv_length((char **)field->words);
    g_autoptr(GString) words = g_string_new(NULL);
    for (gsize i = 0; i < n_words; i++)
        g_string_append_printf(words, "%s\"%s\"", i == 0 ? "" : i + 1 < n_words ? ", " : " or ", field->words[i]);
    ifm_error_refuse(source->error, "%s.%s: found \"%s\", expected %s", source->where, field->name, word, words->str);
    return -1;
}

static gboolean read_dtype(const Source *source, const IfmRecordField *field, IfmDtype *dtype)
{
    const char *name;
    if (!ifm_json_get_string(source->json, source->where, field->name, &name, source->error))
        return FALSE;
    *dtype = ifm_dtype_from_name(name);
    return TRUE;
}

static gboolean read_json(const Source *source, const IfmRecordField *field, json_t **json)
{
    json_t *found = NULL;
    if (!json_is_null(json_object_get(source->json, field->name)) &&
        !ifm_json_get_object(source->json, source->where, field->name, &found, source->error))
        return FALSE;
    if (source->pool == NULL)
        json_decref(*json);
    *json = found != NULL && source->pool == NULL ? json_deep_copy(found) : found;
    return TRUE;
}

/* Of TEXT, which is never NULL, and STRING. */
static gboolean read_text(const Source *source, const IfmRecordField *field, char **text)
{
    const char *found = NULL;
    if (field->type == IFM_RECORD_STRING
            ? !read_name(source, field, &found)
            : !ifm_json_get_string(source->json, source->where, field->name, &found, source->error))
        return FALSE;
    g_free(*text);
    *text = g_strdup(found);
    return TRUE;
}

static gboolean read_part(const Source *source, const IfmRecordField *field, void *part)
{
    g_autofree char *where = g_strdup_printf("%s.%s", source->where, field->name);
    return ifm_record_from_json(part, field->fields, json_object_get(source->json, field->name), where, source->pool,
                                source->error);
}

/* @into: where the list goes: GPtrArray of TEXTS and ROWS, else an array with room for the element */
static gboolean read_element(const Source *source, const IfmRecordField *field, json_t *one, gsize i, gpointer into)
{
    const gboolean in_pool = field->type == IFM_RECORD_PARTS;
    if (field->type == IFM_RECORD_JSONS)
        ((json_t **)into)[i] = one;
    else if (in_pool || field->type == IFM_RECORD_ROWS)
    {
        g_autofree char *where = g_strdup_printf("%s.%s[%zu]", source->where, field->name, i);
        void *record = in_pool ? (char *)into + i * field->size : g_malloc0(field->size);
        if (!in_pool)
        {
            g_ptr_array_add(into, record);
            ifm_record_init(record, field->fields);
        }
        return ifm_record_from_json(record, field->fields, one, where, in_pool ? source->pool : NULL, source->error);
    }
    else if (!json_is_string(one))
        return ifm_error_refuse(source->error, "%s.%s[%zu]: not a text", source->where, field->name, i);
    else if (field->type == IFM_RECORD_WORDS)
        ((const char **)into)[i] = json_string_value(one);
    else
        g_ptr_array_add(into, g_strdup(json_string_value(one)));
    return TRUE;
}

static gboolean read_list(const Source *source, const IfmRecordField *field, void *self)
{
    gpointer *into = &AT(gpointer, self, field);
    json_t *list = NULL;
    if (!ifm_json_get_array(source->json, source->where, field->name, &list, source->error))
        return FALSE;
    const gsize n = json_array_size(list), size = field->type == IFM_RECORD_PARTS ? field->size : sizeof(gpointer);
    if (field->type == IFM_RECORD_TEXTS || field->type == IFM_RECORD_ROWS)
        g_ptr_array_set_size(*into, 0);
    else
        *into = n > 0 ? pooled(source, (n + 1) * size) : NULL; /* WORDS end with a NULL */
    if (field->type == IFM_RECORD_PARTS || field->type == IFM_RECORD_JSONS)
        COUNT_AT(gsize, self, field) = n;
    for (gsize i = 0; i < n; i++)
        if (!read_element(source, field, json_array_get(list, i), i, *into))
            return FALSE;
    return TRUE;
}

static gboolean read_field(void *self, const IfmRecordField *field, const Source *source)
{
    const json_t *json = source->json;
    const char *where = source->where;
    GError **error = source->error;
    gint64 whole = 0;
    switch (field->type)
    {
    case IFM_RECORD_TEXT:
    case IFM_RECORD_STRING:
        return read_text(source, field, &AT(char *, self, field));
    case IFM_RECORD_NAME:
        return read_name(source, field, &AT(const char *, self, field));
    case IFM_RECORD_PATH:
        return read_path(source, field, &AT(char *, self, field));
    case IFM_RECORD_FLAG:
        return ifm_json_get_boolean(json, where, field->name, &AT(gboolean, self, field), error);
    case IFM_RECORD_INT:
        return read_whole(source, field, G_MININT, G_MAXINT, &whole) && ((AT(int, self, field) = (int)whole), TRUE);
    case IFM_RECORD_INT64:
        return ifm_json_get_int64(json, where, field->name, &AT(gint64, self, field), error);
    case IFM_RECORD_UINT32:
        return read_whole(source, field, 0, G_MAXUINT32, &whole) && ((AT(guint32, self, field) = (guint32)whole), TRUE);
    case IFM_RECORD_SIZE:
        return ifm_json_get_int64(json, where, field->name, &whole, error) &&
               ((AT(gsize, self, field) = (gsize)MAX(whole, 0)), TRUE);
    case IFM_RECORD_DOUBLE:
        return ifm_json_get_double(json, where, field->name, &AT(double, self, field), error);
    case IFM_RECORD_DTYPE:
        return read_dtype(source, field, &AT(IfmDtype, self, field));
    case IFM_RECORD_CHOICE:
        return (AT(int, self, field) = read_choice(source, field)) >= 0;
    case IFM_RECORD_JSON:
        return read_json(source, field, &AT(json_t *, self, field));
    case IFM_RECORD_WORDS:
    case IFM_RECORD_JSONS:
    case IFM_RECORD_PARTS:
    case IFM_RECORD_TEXTS:
    case IFM_RECORD_ROWS:
        return read_list(source, field, self);
    case IFM_RECORD_SERIES:
        return ifm_json_get_int64_array(json, where, field->name, AT(GArray *, self, field), error);
    case IFM_RECORD_PART:
        return read_part(source, field, (char *)self + field->offset);
    case IFM_RECORD_MAYBE:
        COUNT_AT(gboolean, self, field) = !json_is_null(json_object_get(json, field->name));
        return !COUNT_AT(gboolean, self, field) || read_part(source, field, (char *)self + field->offset);
    default:
        break;
    }
    g_assert_not_reached();
}

gboolean ifm_record_from_json(void *self, const IfmRecordField *fields, const json_t *json, const char *where,
                              GPtrArray *pool, GError **error)
{
    const char *keys[MAX_FIELDS + 1] = { NULL };
    const Source source = { json, where, pool, error };
    for (gsize i = 0; fields[i].name != NULL; i++)
    {
        g_assert(i < MAX_FIELDS);
        keys[i] = fields[i].name;
    }
    if (!ifm_json_check_object(json, where, keys, error))
        return FALSE;
    for (const IfmRecordField *field = fields; field->name != NULL; field++)
        if (!((field->optional || field->sparse) && json_object_get(json, field->name) == NULL) &&
            !read_field(self, field, &source))
            return FALSE;
    return TRUE;
}

/* --- single numbers ----------------------------------------------------------------------------------------------- */

double ifm_record_number(const void *self, const IfmRecordField *fields, const char *path)
{
    gsize length = strcspn(path, ".");
    for (const IfmRecordField *field = fields; field->name != NULL; field++)
    {
        if (strlen(field->name) != length || strncmp(field->name, path, length) != 0)
            continue;
        if (field->type == IFM_RECORD_PART && path[length] == '.')
            return ifm_record_number((const char *)self + field->offset, field->fields, path + length + 1);
        json_auto_t *value = field_to_json(self, field, ifm_record_to_json);
        return json_is_boolean(value)  ? json_is_true(value)
               : json_is_number(value) ? json_number_value(value)
                                       : (double)NAN;
    }
    return (double)NAN;
}

/* --- ranges ------------------------------------------------------------------------------------------------------- */

gboolean ifm_record_check(const void *self, const IfmRecordField *fields, const char *where, GError **error)
{
    for (const IfmRecordField *field = fields; field->name != NULL; field++)
    {
        if (field->type == IFM_RECORD_CHOICE && !is_choice(field, CONST_AT(int, self, field)))
            return ifm_error_refuse(error, "%s: %s: found %d, expected 0 to %u", where, field->name,
                                    CONST_AT(int, self, field), g_strv_length((char **)field->words) - 1);
        if (field->type == IFM_RECORD_JSON && CONST_AT(json_t *, self, field) != NULL &&
            !json_is_object(CONST_AT(json_t *, self, field)))
            return ifm_error_refuse(error, "%s: %s: found no object", where, field->name);
        if (field->type == IFM_RECORD_PART || (field->type == IFM_RECORD_MAYBE && CONST_COUNT_AT(gboolean, self, field)))
        {
            g_autofree char *part = g_strdup_printf("%s: %s", where, field->name);
            if (!ifm_record_check((const char *)self + field->offset, field->fields, part, error))
                return FALSE;
        }
        if (field->called == NULL)
            continue;
        gint64 value = field->type == IFM_RECORD_INT ? CONST_AT(int, self, field) : CONST_AT(gint64, self, field);
        if (field->type == IFM_RECORD_SIZE)
            value = (gint64)MIN(CONST_AT(gsize, self, field), G_MAXINT);
        if ((double)value < field->min || (double)value > field->max)
            return ifm_error_refuse(error, "%s: %s: found %" G_GINT64_FORMAT ", expected %.0f to %.0f", where,
                                    field->called, value, field->min, field->max);
    }
    return TRUE;
}
