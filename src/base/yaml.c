#include "base-private.h"
#include "yaml-private.h"
#include <base/base.h>
#include <base/fields.h>
#include <errno.h>
#include <math.h>
#include <string.h>

/* These functions read a struct from YAML by the table of its fields, with the line of each fault, and describe that
 * table. */

/* --- reading ---------------------------------------------------------------------------------------------------------- */

static gboolean parse_integer(const char *text, gint64 *value)
{
    char *end;
    errno = 0;
    *value = g_ascii_strtoll(text, &end, 10);
    return end != text && *end == '\0' && errno == 0 && !g_ascii_isspace(*text);
}

/* Value: of a scalar. Only the members of its type are set. */
typedef struct
{
    gint64 integer;
    double number;
    int word;
    guint32 small;
} Value;

#define IN(member) G_STRUCT_OFFSET(Value, member), sizeof(((Value *)0)->member)
#define LIST_OF(type) "list of ", "a list", .element = IFM_RECORD_##type

/* @name: in documentation; of lists and names, what follows is of their elements    @at, @size: of the value in Value */
static const struct
{
    const char *name, *right;
    gsize at, size;
    IfmRecordType element;
} types[] = {
    [IFM_RECORD_STRING] = { "text", "a text" },
    [IFM_RECORD_INT64] = { "integer", "a whole number", IN(integer) },
    [IFM_RECORD_UINT32] = { "integer", "a whole number", IN(small) },
    [IFM_RECORD_SIZE] = { "integer", "a whole number", IN(integer) },
    [IFM_RECORD_DOUBLE] = { "number", "a number", IN(number) },
    [IFM_RECORD_RATIO] = { "number", IFM_RATIO_WANTED, IN(number) },
    [IFM_RECORD_FLAG] = { "boolean", "true or false", IN(word) },
    [IFM_RECORD_CHOICE] = { "word", "one of the words", IN(word) },
    [IFM_RECORD_DURATION] = { "duration", "a duration such as \"1.5 ms\" (ns, us, ms, s, min, h)", IN(integer) },
    [IFM_RECORD_MAP] = { "map", "a map of keys" },
    [IFM_RECORD_TEXTS] = { LIST_OF(STRING) },
    [IFM_RECORD_SERIES] = { LIST_OF(INT64) },
    [IFM_RECORD_NUMBERS] = { LIST_OF(DOUBLE) },
    [IFM_RECORD_CHOICES] = { LIST_OF(CHOICE) },
    [IFM_RECORD_ROWS] = { LIST_OF(MAP) },
    [IFM_RECORD_NAMED] = { "map of names of ", "a map of names", .element = IFM_RECORD_MAP },
    [IFM_RECORD_SCALARS] = { "map of names of ", "a map of names" },
};

/* The type of what stands in a list or under names; of any other field, its own. */
static IfmRecordType element_of(const IfmRecordField *field)
{
    return field->type == IFM_RECORD_SCALARS               ? field->element
           : types[field->type].element != IFM_RECORD_TEXT ? types[field->type].element
                                                           : field->type;
}

static gboolean is_map(const IfmRecordField *field)
{
    return field->type == IFM_RECORD_NAMED || field->type == IFM_RECORD_SCALARS;
}

gboolean ifm_yaml_error(const IfmPlace *place, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    return ifm_error_at(error, place->file, place->line, "%s", text);
}

gboolean ifm_yaml_key_error(const IfmPlace *place, const char *key, gssize entry, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    const GArray *lines = place->lines != NULL ? g_hash_table_lookup(place->lines, key) : NULL;
    const guint at = lines != NULL && entry >= 0 && entry + 1 < (gssize)lines->len ? (guint)entry + 1 : 0;
    const gsize line = lines != NULL ? g_array_index(lines, gsize, at) : place->line;
    return ifm_error_at(error, place->file, line, "%s: %s", key, text);
}

gboolean ifm_yaml_check_texts_once(const IfmPlace *place, const char *key, const GPtrArray *texts, GError **error)
{
    for (guint i = 0; i < texts->len; i++)
        for (guint k = 0; k < i; k++)
            if (g_str_equal(texts->pdata[i], texts->pdata[k]))
                return ifm_yaml_key_error(place, key, i, error, "\"%s\" is listed twice", (const char *)texts->pdata[i]);
    return TRUE;
}

gboolean ifm_yaml_check_once(const IfmPlace *place, const char *key, const GArray *values, const char *const *words,
                             GError **error)
{
    for (guint i = 0; i < values->len; i++)
        for (guint k = 0; k < i; k++)
        {
            if (words != NULL && g_array_index(values, int, i) == g_array_index(values, int, k))
                return ifm_yaml_key_error(place, key, i, error, "%s is listed twice", words[g_array_index(values, int, i)]);
            if (words == NULL && g_array_index(values, gint64, i) == g_array_index(values, gint64, k))
                return ifm_yaml_key_error(place, key, i, error, "%" G_GINT64_FORMAT " is listed twice",
                                          g_array_index(values, gint64, i));
        }
    return TRUE;
}

/* note_lines: @key: static, of the table */
static void note_lines(IfmPlace *place, const char *key, const YamlNode *node)
{
    GArray *lines = g_array_new(FALSE, FALSE, sizeof(gsize));
    g_array_append_val(lines, node->line);
    for (guint i = 0; node->kind == YAML_SEQUENCE && i < node->items->len; i++)
        g_array_append_val(lines, ((const YamlNode *)node->items->pdata[i])->line);
    g_hash_table_insert(place->lines, (gpointer)key, lines);
}

static gboolean wrong_type(const char *file, const IfmRecordField *field, IfmRecordType type, const YamlNode *node,
                           GError **error)
{
    static const char *const kinds[] = { [YAML_SEQUENCE] = "a list", [YAML_MAPPING] = "a map" };
    if (node->kind != YAML_SCALAR)
        return ifm_error_at(error, file, node->line, "%s is %s; it should be %s", field->name, kinds[node->kind],
                            types[type].right);
    if (*node->text == '\0' && !node->quoted)
        return ifm_error_at(error, file, node->line, "%s has no value; it should be %s", field->name, types[type].right);
    return ifm_error_at(error, file, node->line, "%s is %s\"%s\"; it should be %s", field->name,
                        node->quoted ? "the quoted text " : "", node->text, types[type].right);
}

static gboolean is_number(IfmRecordType type)
{
    return type == IFM_RECORD_INT64 || type == IFM_RECORD_UINT32 || type == IFM_RECORD_SIZE || type == IFM_RECORD_DOUBLE ||
           type == IFM_RECORD_RATIO || type == IFM_RECORD_DURATION;
}

/* A bound as a user may write it: a count has no exponent. */
static char *bound_to_string(double bound)
{
    gboolean whole = bound == floor(bound) && fabs(bound) < 1e18;
    return whole ? g_strdup_printf("%.0f", bound) : g_strdup_printf("%g", bound);
}

static gboolean check_range(const char *file, const IfmRecordField *field, const YamlNode *node, double value,
                            GError **error)
{
    if ((field->min == 0 && field->max == 0) || (value >= field->min && value <= field->max))
        return TRUE;
    g_autofree char *min = bound_to_string(field->min), *max = bound_to_string(field->max);
    return ifm_error_at(error, file, node->line, "%s is %s; it should be between %s and %s", field->name, node->text, min,
                        max);
}

static gboolean read_word(const char *file, const IfmRecordField *field, const YamlNode *node, Value *value, GError **error)
{
    value->word = ifm_word_index(field->words, node->text);
    if (value->word >= 0)
        return TRUE;
    g_autofree char *hint = ifm_nearest_hint(node->text, field->words);
    g_autofree char *words = g_strjoinv(", ", (char **)field->words);
    return ifm_error_at(error, file, node->line, "%s is \"%s\"; it should be one of: %s%s", field->name, node->text, words,
                        hint);
}

static gboolean read_scalar(const char *file, const IfmRecordField *field, IfmRecordType type, const YamlNode *node,
                            Value *value, GError **error)
{
    gboolean good =
        node->kind == YAML_SCALAR && (*node->text != '\0' || node->quoted) && (type == IFM_RECORD_STRING || !node->quoted);
    if (good && type == IFM_RECORD_CHOICE)
        return read_word(file, field, node, value, error);
    if (good && type == IFM_RECORD_FLAG)
    {
        value->word = g_str_equal(node->text, "true");
        good = value->word || g_str_equal(node->text, "false");
    }
    else if (good && (type == IFM_RECORD_INT64 || type == IFM_RECORD_UINT32 || type == IFM_RECORD_SIZE ||
                      type == IFM_RECORD_DURATION))
    {
        good = type == IFM_RECORD_DURATION ? ifm_duration_parse(node->text, &value->integer)
                                           : parse_integer(node->text, &value->integer);
        value->number = (double)value->integer;
        value->small = (guint32)value->integer;
    }
    else if (good && type == IFM_RECORD_RATIO)
        good = ifm_ratio_parse(node->text, &value->number);
    else if (good && type == IFM_RECORD_DOUBLE)
        good = isfinite(value->number = ifm_number_of(node->text));
    if (!good)
        return wrong_type(file, field, type, node, error);
    return !is_number(type) || check_range(file, field, node, value->number, error);
}

static gpointer read_record(const char *file, const IfmRecordField *fields, gsize size, const YamlNode *node,
                            const char *name, GError **error);

/* @name: of what stands under names; else NULL */
static gboolean read_element(const char *file, const IfmRecordField *field, const char *name, const YamlNode *node,
                             gpointer container, GError **error)
{
    Value value = { 0 };
    IfmRecordField shown = *field; /* messages show the name, not the key of the map */
    const IfmRecordType type = element_of(field);
    if (type == IFM_RECORD_MAP)
    {
        gpointer record = read_record(file, field->fields, field->size, node, name, error);
        if (record != NULL)
            g_ptr_array_add(container, record);
        return record != NULL;
    }
    shown.name = name != NULL ? name : field->name;
    if (!read_scalar(file, &shown, type, node, &value, error))
        return FALSE;
    if (field->type == IFM_RECORD_TEXTS)
        g_ptr_array_add(container, g_strdup(node->text));
    else if (field->type != IFM_RECORD_SCALARS)
        g_array_append_vals(container, (const char *)&value + types[type].at, 1);
    else
    {
        IfmScalar *scalar = g_new0(IfmScalar, 1);
        scalar->place = (IfmPlace){ file, node->line, g_strdup(name), NULL };
        scalar->text = g_strdup(node->text);
        scalar->integer = value.integer;
        scalar->number = value.number;
        g_ptr_array_add(container, scalar);
    }
    return TRUE;
}

static gboolean check_count(const char *file, const IfmRecordField *field, const YamlNode *node, GError **error)
{
    double n = node->items->len;
    if (field->filled && n == 0)
        return ifm_error_at(error, file, node->line, "%s is an empty list; it should have an entry%s", field->name,
                            field->required ? "" : ", or not stand here at all");
    return is_number(element_of(field)) || (field->min == 0 && field->max == 0) || (n >= field->min && n <= field->max) ||
           ifm_error_at(error, file, node->line, "%s has %g entries; it should have between %g and %g", field->name, n,
                        field->min, field->max);
}

static gboolean read_field(const char *file, const IfmRecordField *field, const YamlNode *node, char *place, GError **error)
{
    Value value = { 0 };
    const gboolean named = is_map(field), holds = named || types[field->type].element != IFM_RECORD_TEXT;
    if ((holds || field->type == IFM_RECORD_MAP) && node->kind != (holds && !named ? YAML_SEQUENCE : YAML_MAPPING))
        return wrong_type(file, field, field->type, node, error);
    if (holds)
    {
        for (guint i = 0; i < node->items->len; i++)
            if (!read_element(file, field, named ? ((const YamlNode *)node->keys->pdata[i])->text : NULL,
                              node->items->pdata[i], *(gpointer *)place, error))
                return FALSE;
        return check_count(file, field, node, error);
    }
    if (field->type == IFM_RECORD_MAP)
        return (*(gpointer *)place = read_record(file, field->fields, field->size, node, NULL, error)) != NULL;
    if (!read_scalar(file, field, field->type, node, &value, error))
        return FALSE;
    if (field->type == IFM_RECORD_STRING)
    {
        g_free(*(char **)place);
        *(char **)place = g_strdup(node->text);
    }
    else
        memcpy(place, (const char *)&value + types[field->type].at, types[field->type].size);
    return TRUE;
}

static gboolean unknown_key(const char *file, const IfmRecordField *fields, const YamlNode *key, GError **error)
{
    g_autoptr(GPtrArray) known = g_ptr_array_new();
    for (; fields->name != NULL; fields++)
        if (fields->type != IFM_RECORD_PLACE)
            g_ptr_array_add(known, (gpointer)fields->name);
    g_ptr_array_add(known, NULL);
    g_autofree char *hint = ifm_nearest_hint(key->text, (const char *const *)known->pdata);
    g_autofree char *all = g_strjoinv(", ", (char **)known->pdata);
    return ifm_error_at(error, file, key->line, "unknown key \"%s\"%s%s", key->text,
                        *hint != '\0' ? hint : "; known here: ", *hint != '\0' ? "" : all);
}

/* The same reader reads defaults and files, so both obey the same rules. */
static void set_fallback(const IfmRecordField *field, char *place)
{
    YamlNode node = { .kind = YAML_SCALAR, .text = (char *)field->fallback };
    g_autoptr(GError) error = NULL;
    if (field->fallback != NULL && !read_field("default", field, &node, place, &error))
        g_error("the default of key \"%s\": %s", field->name, error->message);
}

static gboolean fill_record(const char *file, const IfmRecordField *fields, const YamlNode *node, char *record,
                            IfmPlace *place, GError **error)
{
    for (gsize i = 0; i < node->keys->len; i++)
    {
        const YamlNode *key = node->keys->pdata[i], *value = node->items->pdata[i];
        const IfmRecordField *field = fields;
        while (field->name != NULL && (field->type == IFM_RECORD_PLACE || !g_str_equal(field->name, key->text)))
            field++;
        if (field->name == NULL)
            return unknown_key(file, fields, key, error);
        if (!read_field(file, field, value, record + field->offset, error))
            return FALSE;
        note_lines(place, field->name, value);
    }
    for (const IfmRecordField *field = fields; field->name != NULL; field++)
        if (field->required && !g_hash_table_contains(place->lines, field->name))
            return ifm_error_at(error, file, node->line, "key \"%s\" is missing here: %s", field->name, field->help);
    return TRUE;
}

static gpointer read_record(const char *file, const IfmRecordField *fields, gsize size, const YamlNode *node,
                            const char *name, GError **error)
{
    if (node->kind != YAML_MAPPING)
    {
        const IfmRecordField itself = { .name = name != NULL ? name : "this" };
        wrong_type(file, &itself, IFM_RECORD_MAP, node, error);
        return NULL;
    }
    g_assert(fields->type == IFM_RECORD_PLACE);
    char *record = g_malloc0(size);
    IfmPlace *place = (IfmPlace *)(gpointer)(record + fields->offset);
    ifm_record_init(record, fields);
    *place = (IfmPlace){ file, node->line, g_strdup(name),
                         g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_array_unref) };
    for (const IfmRecordField *field = fields; field->name != NULL; field++)
        set_fallback(field, record + field->offset);
    if (fill_record(file, fields, node, record, place, error))
        return record;
    ifm_record_free(record, fields);
    return NULL;
}

gpointer ifm_yaml_parse(const IfmRecordField *fields, gsize size, const char *text, gsize length, const char *name,
                        GError **error)
{
    g_autoptr(YamlNode) root = yaml_tree_parse(text, length, name, error);
    return root != NULL ? read_record(g_intern_string(name), fields, size, root, NULL, error) : NULL;
}

static gboolean load(const char *path, char **text, gsize *n_bytes, GError **error)
{
    if (!g_file_test(path, G_FILE_TEST_IS_DIR))
        return ifm_file_load(path, text, n_bytes, error);
    return ifm_error_refuse(error, "%s: is a folder; expected a YAML file", path);
}

/* It stands in no line of the file. */
static void clear_lines(YamlNode *node)
{
    node->line = 0;
    for (guint i = 0; node->keys != NULL && i < node->keys->len; i++)
        clear_lines(node->keys->pdata[i]);
    for (guint i = 0; node->items != NULL && i < node->items->len; i++)
        clear_lines(node->items->pdata[i]);
}

static gboolean apply_setting(YamlNode *root, const char *setting, GError **error)
{
    const char *equals = strchr(setting, '=');
    if (equals == NULL || equals == setting)
        return ifm_error_refuse(error, "\"%s\" is not KEY=VALUE", setting);
    g_autofree char *key = g_strndup(setting, (gsize)(equals - setting));
    g_autofree char *text = g_strdup_printf("%s: %s\n", key, equals + 1);
    g_autoptr(YamlNode) parsed = yaml_tree_parse(text, strlen(text), setting, error);
    if (parsed == NULL)
        return FALSE;
    if (parsed->kind != YAML_MAPPING || parsed->keys->len != 1)
        return ifm_error_refuse(error, "\"%s\" is not KEY=VALUE", setting);
    clear_lines(parsed);
    for (guint i = 0; i < root->keys->len; i++)
        if (g_str_equal(((const YamlNode *)root->keys->pdata[i])->text, key))
        {
            yaml_node_free(root->items->pdata[i]);
            root->items->pdata[i] = g_ptr_array_steal_index(parsed->items, 0);
            return TRUE;
        }
    g_ptr_array_add(root->keys, g_ptr_array_steal_index(parsed->keys, 0));
    g_ptr_array_add(root->items, g_ptr_array_steal_index(parsed->items, 0));
    return TRUE;
}

gpointer ifm_yaml_read_with(const IfmRecordField *fields, gsize size, const char *path, const char *const *settings,
                            GError **error)
{
    g_autofree char *text = NULL;
    gsize n_bytes = 0;
    g_autoptr(YamlNode) root = load(path, &text, &n_bytes, error) ? yaml_tree_parse(text, n_bytes, path, error) : NULL;
    if (root == NULL)
        return NULL;
    for (; settings != NULL && *settings != NULL && root->kind == YAML_MAPPING; settings++)
        if (!apply_setting(root, *settings, error))
            return NULL;
    return read_record(g_intern_string(path), fields, size, root, NULL, error);
}

gpointer ifm_yaml_read(const IfmRecordField *fields, gsize size, const char *path, GError **error)
{
    return ifm_yaml_read_with(fields, size, path, NULL, error);
}

gboolean ifm_yaml_peek(const char *path, const char *key, char **value, gsize *line, GError **error)
{
    g_autofree char *text = NULL;
    gsize n_bytes = 0;
    *value = NULL;
    if (!load(path, &text, &n_bytes, error))
        return FALSE;
    g_autoptr(YamlNode) root = yaml_tree_parse(text, n_bytes, path, error);
    for (guint i = 0; root != NULL && root->kind == YAML_MAPPING && i < root->keys->len; i++)
    {
        const YamlNode *name = root->keys->pdata[i], *node = root->items->pdata[i];
        if (!g_str_equal(name->text, key) || node->kind != YAML_SCALAR)
            continue;
        *value = g_strdup(node->text);
        *line = node->line;
    }
    return root != NULL;
}

/* --- documentation ---------------------------------------------------------------------------------------------------- */

#define DESCRIBED_WIDTH 118
#define CONTINUED_INDENT 6

static void describe_table(GString *out, const IfmRecordField *fields, const IfmRecordField *above, int depth)
{
    for (const IfmRecordField *field = fields; field->name != NULL; field++)
    {
        const IfmRecordType element = element_of(field);
        if (field->type == IFM_RECORD_PLACE)
            continue;
        g_autoptr(GString) text = g_string_new(NULL);
        g_string_append_printf(text, "%s: %s%s", field->name, element != field->type ? types[field->type].name : "",
                               types[element].name);
        if (field->words != NULL)
        {
            g_autofree char *words = g_strjoinv(", ", (char **)field->words);
            g_string_append_printf(text, " (%s)", words);
        }
        if (field->min != 0 || field->max != 0)
        {
            g_autofree char *min = bound_to_string(field->min), *max = bound_to_string(field->max);
            g_string_append_printf(text, ", %s to %s", min, max);
        }
        if (field->required)
            g_string_append(text, ", required");
        else if (field->fallback != NULL)
            g_string_append_printf(text, ", default %s", field->fallback);
        g_string_append_printf(text, ". %s", field->help != NULL ? field->help : "");
        g_string_append_printf(out, "%*s", 2 * depth, "");
        ifm_format_wrap(out, text->str, 2 * depth + CONTINUED_INDENT, 2 * depth, DESCRIBED_WIDTH);
        if (field->fields != NULL && field->fields != above)
            describe_table(out, field->fields, fields, depth + 1);
    }
}

char *ifm_yaml_describe(const IfmRecordField *fields)
{
    GString *text = g_string_new(NULL);
    describe_table(text, fields, fields, 0);
    return g_string_free(text, FALSE);
}
