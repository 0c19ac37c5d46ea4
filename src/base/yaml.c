#include "yaml-private.h"
#include <errno.h>
#include <inferometer/format.h>
#include <internal/file.h>
#include <internal/nearest.h>
#include <math.h>
#include <string.h>

/* --- scalars ---------------------------------------------------------------------------------------------------------- */

static const struct
{
    const char *unit;
    double ns;
} duration_units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { "min", 60e9 }, { "h", 3600e9 } };

/* A number in the notation of YAML's core schema; strtod alone would take hexadecimal and infinities too. */
static gboolean parse_number(const char *text, double *value, const char **end)
{
    const char *digits = text + (*text == '-' || *text == '+');
    if ((!g_ascii_isdigit(digits[0]) && digits[0] != '.') || g_ascii_tolower(digits[1]) == 'x')
        return FALSE;
    char *stop;
    *value = g_ascii_strtod(text, &stop);
    *end = stop;
    return stop > digits && isfinite(*value);
}

gboolean ifm_duration_parse(const char *text, gint64 *ns)
{
    double number;
    const char *unit;
    if (!parse_number(text, &number, &unit) || number < 0)
        return FALSE;
    while (*unit == ' ')
        unit++;
    for (gsize i = 0; i < G_N_ELEMENTS(duration_units); i++)
        if (g_str_equal(unit, duration_units[i].unit) && number * duration_units[i].ns < 9e18)
        {
            *ns = (gint64)llround(number * duration_units[i].ns);
            return TRUE;
        }
    return FALSE;
}

static gboolean parse_integer(const char *text, gint64 *value)
{
    char *end;
    errno = 0;
    *value = g_ascii_strtoll(text, &end, 10);
    return end != text && *end == '\0' && errno == 0 && !g_ascii_isspace(*text);
}

/* --- reading ---------------------------------------------------------------------------------------------------------- */

typedef struct
{
    const char *file; /* interned */
} Source;

static const struct
{
    const char *name, *right;
} types[] = {
    [IFM_YAML_STRING] = { "text", "a text" },
    [IFM_YAML_INT] = { "integer", "a whole number" },
    [IFM_YAML_DOUBLE] = { "number", "a number" },
    [IFM_YAML_BOOL] = { "boolean", "true or false" },
    [IFM_YAML_ENUM] = { "word", "one of the words" },
    [IFM_YAML_DURATION] = { "duration", "a duration such as \"1.5 ms\" (ns, us, ms, s, min, h)" },
    [IFM_YAML_MAP] = { "map", "a map of keys" },
    [IFM_YAML_LIST] = { "list", "a list" },
    [IFM_YAML_NAMED] = { "map of names", "a map of names" },
};

static gboolean fail_at(const Source *source, gsize line, GError **error, const char *format, ...) G_GNUC_PRINTF(4, 5);

static gboolean fail_at(const Source *source, gsize line, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    if (line > 0)
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s:%" G_GSIZE_FORMAT ": %s", source->file, line, text);
    else
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "setting: %s", text);
    return FALSE;
}

gboolean ifm_yaml_error(const IfmYamlRecord *record, GError **error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    return fail_at(&(Source){ record->file }, record->line, error, "%s", text);
}

gboolean ifm_yaml_key_error(const IfmYamlRecord *record, const char *key, gssize entry, GError **error, const char *format,
                            ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *text = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    const GArray *lines = record->lines != NULL ? g_hash_table_lookup(record->lines, key) : NULL;
    const guint at = lines != NULL && entry >= 0 && entry + 1 < (gssize)lines->len ? (guint)entry + 1 : 0;
    const gsize line = lines != NULL ? g_array_index(lines, gsize, at) : record->line;
    return fail_at(&(Source){ record->file }, line, error, "%s: %s", key, text);
}

/* note_lines: @key: static, of the table */
static void note_lines(IfmYamlRecord *record, const char *key, const YamlNode *node)
{
    GArray *lines = g_array_new(FALSE, FALSE, sizeof(gsize));
    g_array_append_val(lines, node->line);
    for (guint i = 0; node->kind == YAML_SEQUENCE && i < node->items->len; i++)
        g_array_append_val(lines, ((const YamlNode *)node->items->pdata[i])->line);
    g_hash_table_insert(record->lines, (gpointer)key, lines);
}

static gboolean wrong_type(const Source *source, const IfmYamlField *field, IfmYamlType type, const YamlNode *node,
                           GError **error)
{
    static const char *const kinds[] = { [YAML_SEQUENCE] = "a list", [YAML_MAPPING] = "a map" };
    if (node->kind != YAML_SCALAR)
        return fail_at(source, node->line, error, "%s is %s; it should be %s", field->key, kinds[node->kind],
                       types[type].right);
    if (*node->text == '\0' && !node->quoted)
        return fail_at(source, node->line, error, "%s has no value; it should be %s", field->key, types[type].right);
    return fail_at(source, node->line, error, "%s is %s\"%s\"; it should be %s", field->key,
                   node->quoted ? "the quoted text " : "", node->text, types[type].right);
}

static gboolean is_number(IfmYamlType type)
{
    return type == IFM_YAML_INT || type == IFM_YAML_DOUBLE || type == IFM_YAML_DURATION;
}

/* A bound as a user may write it: a count has no exponent. */
static char *bound_to_string(double bound)
{
    gboolean whole = bound == floor(bound) && fabs(bound) < 1e18;
    return whole ? g_strdup_printf("%.0f", bound) : g_strdup_printf("%g", bound);
}

static gboolean check_range(const Source *source, const IfmYamlField *field, const YamlNode *node, double value,
                            GError **error)
{
    if ((field->min == 0 && field->max == 0) || (value >= field->min && value <= field->max))
        return TRUE;
    g_autofree char *min = bound_to_string(field->min), *max = bound_to_string(field->max);
    return fail_at(source, node->line, error, "%s is %s; it should be between %s and %s", field->key, node->text, min, max);
}

/* The value of a scalar. Only the members of its type are set. */
typedef struct
{
    gint64 integer;
    double number;
    int word;
} Value;

static gboolean read_word(const Source *source, const IfmYamlField *field, const YamlNode *node, Value *value,
                          GError **error)
{
    for (value->word = 0; field->words[value->word] != NULL; value->word++)
        if (g_str_equal(field->words[value->word], node->text))
            return TRUE;
    g_autofree char *hint = ifm_nearest_hint(node->text, field->words);
    g_autofree char *words = g_strjoinv(", ", (char **)field->words);
    return fail_at(source, node->line, error, "%s is \"%s\"; it should be one of: %s%s", field->key, node->text, words,
                   hint);
}

static gboolean take_percent(const IfmYamlField *field, Value *value, const char **end)
{
    const char *sign = *end + strspn(*end, " ");
    if (*sign != '%')
        return TRUE;
    value->number /= 100;
    *end = sign + 1;
    return field->percent;
}

static gboolean read_scalar(const Source *source, const IfmYamlField *field, IfmYamlType type, const YamlNode *node,
                            Value *value, GError **error)
{
    const char *end = "";
    gboolean good = node->kind == YAML_SCALAR && (*node->text != '\0' || node->quoted);
    if (good && type != IFM_YAML_STRING && node->quoted)
        good = FALSE;
    if (good && type == IFM_YAML_ENUM)
        return read_word(source, field, node, value, error);
    if (good && type == IFM_YAML_BOOL)
    {
        value->word = g_str_equal(node->text, "true");
        good = value->word || g_str_equal(node->text, "false");
    }
    else if (good && type == IFM_YAML_INT)
    {
        good = parse_integer(node->text, &value->integer);
        value->number = (double)value->integer;
    }
    else if (good && type == IFM_YAML_DOUBLE)
        good = parse_number(node->text, &value->number, &end) && take_percent(field, value, &end) && *end == '\0';
    else if (good && type == IFM_YAML_DURATION)
    {
        good = ifm_duration_parse(node->text, &value->integer);
        value->number = (double)value->integer;
    }
    if (!good)
        return wrong_type(source, field, type, node, error);
    return !is_number(type) || check_range(source, field, node, value->number, error);
}

static gpointer read_record(const Source *source, const IfmYamlTable *table, const YamlNode *node, const char *name,
                            GError **error);

static gsize element_size(IfmYamlType element)
{
    if (element == IFM_YAML_BOOL || element == IFM_YAML_ENUM)
        return sizeof(int);
    return element == IFM_YAML_DOUBLE ? sizeof(double) : sizeof(gint64);
}

/* The container of a list or named map. It exists also where the key is missing. */
static gpointer container_new(const IfmYamlField *field)
{
    gboolean pointers =
        field->type == IFM_YAML_NAMED || field->element == IFM_YAML_STRING || field->element == IFM_YAML_MAP;
    return pointers ? (gpointer)g_ptr_array_new() : (gpointer)g_array_new(FALSE, TRUE, element_size(field->element));
}

static gboolean read_element(const Source *source, const IfmYamlField *field, const YamlNode *node, gpointer container,
                             GError **error)
{
    Value value = { 0 };
    if (field->element == IFM_YAML_MAP)
    {
        gpointer record = read_record(source, field->table, node, NULL, error);
        if (record != NULL)
            g_ptr_array_add(container, record);
        return record != NULL;
    }
    if (!read_scalar(source, field, field->element, node, &value, error))
        return FALSE;
    if (field->element == IFM_YAML_STRING)
        g_ptr_array_add(container, g_strdup(node->text));
    else if (element_size(field->element) == sizeof(int))
        g_array_append_val((GArray *)container, value.word);
    else if (field->element == IFM_YAML_DOUBLE)
        g_array_append_val((GArray *)container, value.number);
    else
        g_array_append_val((GArray *)container, value.integer);
    return TRUE;
}

static gboolean read_named(const Source *source, const IfmYamlField *field, const YamlNode *key, const YamlNode *node,
                           GPtrArray *container, GError **error)
{
    if (field->element == IFM_YAML_MAP)
    {
        gpointer record = read_record(source, field->table, node, key->text, error);
        if (record != NULL)
            g_ptr_array_add(container, record);
        return record != NULL;
    }
    Value value = { 0 };
    IfmYamlField named = *field; /* messages show the name, not the key of the map */
    named.key = key->text;
    if (!read_scalar(source, &named, field->element, node, &value, error))
        return FALSE;
    IfmYamlScalar *scalar = g_new0(IfmYamlScalar, 1);
    scalar->record = (IfmYamlRecord){ source->file, node->line, g_strdup(key->text), NULL };
    scalar->text = g_strdup(node->text);
    scalar->integer = value.integer;
    scalar->number = value.number;
    g_ptr_array_add(container, scalar);
    return TRUE;
}

static gboolean check_count(const Source *source, const IfmYamlField *field, const YamlNode *node, GError **error)
{
    double n = node->items->len;
    if (field->filled && n == 0)
        return fail_at(source, node->line, error, "%s is an empty list; it should have an entry%s", field->key,
                       field->required ? "" : ", or not stand here at all");
    if (is_number(field->element) || (field->min == 0 && field->max == 0) || (n >= field->min && n <= field->max))
        return TRUE;
    return fail_at(source, node->line, error, "%s has %g entries; it should have between %g and %g", field->key, n,
                   field->min, field->max);
}

static gboolean read_field(const Source *source, const IfmYamlField *field, const YamlNode *node, char *place,
                           GError **error)
{
    Value value = { 0 };
    YamlKind kind = field->type == IFM_YAML_LIST ? YAML_SEQUENCE : YAML_MAPPING;
    if (field->type == IFM_YAML_LIST || field->type == IFM_YAML_NAMED)
    {
        if (node->kind != kind)
            return wrong_type(source, field, field->type, node, error);
        for (gsize i = 0; i < node->items->len; i++)
        {
            const YamlNode *item = g_ptr_array_index(node->items, i);
            gpointer container = *(gpointer *)place;
            if (!(kind == YAML_SEQUENCE
                      ? read_element(source, field, item, container, error)
                      : read_named(source, field, g_ptr_array_index(node->keys, i), item, container, error)))
                return FALSE;
        }
        return check_count(source, field, node, error);
    }
    if (field->type == IFM_YAML_MAP)
    {
        if (node->kind != YAML_MAPPING)
            return wrong_type(source, field, field->type, node, error);
        return (*(gpointer *)place = read_record(source, field->table, node, NULL, error)) != NULL;
    }
    if (!read_scalar(source, field, field->type, node, &value, error))
        return FALSE;
    if (field->type == IFM_YAML_STRING)
    {
        g_free(*(char **)place);
        *(char **)place = g_strdup(node->text);
    }
    else if (field->type == IFM_YAML_DOUBLE)
        *(double *)place = value.number;
    else if (field->type == IFM_YAML_BOOL || field->type == IFM_YAML_ENUM)
        *(int *)place = value.word;
    else
        *(gint64 *)place = value.integer;
    return TRUE;
}

static gboolean unknown_key(const Source *source, const IfmYamlTable *table, const YamlNode *key, GError **error)
{
    g_autoptr(GPtrArray) known = g_ptr_array_new();
    for (const IfmYamlField *field = table->fields; field->key != NULL; field++)
        g_ptr_array_add(known, (gpointer)field->key);
    g_ptr_array_add(known, NULL);
    g_autofree char *hint = ifm_nearest_hint(key->text, (const char *const *)known->pdata);
    g_autofree char *all = g_strjoinv(", ", (char **)known->pdata);
    return fail_at(source, key->line, error, "unknown key \"%s\"%s%s", key->text,
                   *hint != '\0' ? hint : "; known here: ", *hint != '\0' ? "" : all);
}

/* The same reader reads defaults and files, so both obey the same rules. */
static void set_fallback(const IfmYamlField *field, char *place)
{
    if (field->type == IFM_YAML_LIST || field->type == IFM_YAML_NAMED)
        *(gpointer *)place = container_new(field);
    else if (field->fallback != NULL)
    {
        YamlNode node = { .kind = YAML_SCALAR, .text = (char *)field->fallback };
        g_autoptr(GError) error = NULL;
        if (!read_field(&(Source){ "default" }, field, &node, place, &error))
            g_error("the default of key \"%s\": %s", field->key, error->message);
    }
}

static gboolean fill_record(const Source *source, const IfmYamlTable *table, const YamlNode *node, char *record,
                            GError **error)
{
    g_autoptr(GHashTable) given = g_hash_table_new(NULL, NULL);
    for (gsize i = 0; i < node->keys->len; i++)
    {
        const YamlNode *key = g_ptr_array_index(node->keys, i);
        const IfmYamlField *field = table->fields;
        while (field->key != NULL && !g_str_equal(field->key, key->text) && g_strcmp0(field->old_key, key->text) != 0)
            field++;
        if (field->key == NULL)
            return unknown_key(source, table, key, error);
        if (!g_hash_table_add(given, (gpointer)field)) /* a key given twice is none of these: the tree refuses it */
            return fail_at(source, key->line, error, "%s and %s are one key; give one of them", field->key, field->old_key);
        const YamlNode *value = g_ptr_array_index(node->items, i);
        if (!read_field(source, field, value, record + field->offset, error))
            return FALSE;
        note_lines((IfmYamlRecord *)(gpointer)record, field->key, value);
    }
    for (const IfmYamlField *field = table->fields; field->key != NULL; field++)
        if (field->required && !g_hash_table_contains(given, field))
            return fail_at(source, node->line, error, "key \"%s\" is missing here: %s", field->key, field->help);
    return TRUE;
}

static gpointer read_record(const Source *source, const IfmYamlTable *table, const YamlNode *node, const char *name,
                            GError **error)
{
    if (node->kind != YAML_MAPPING)
    {
        const IfmYamlField itself = { .key = name != NULL ? name : "this" };
        wrong_type(source, &itself, IFM_YAML_MAP, node, error);
        return NULL;
    }
    g_assert(table->size >= sizeof(IfmYamlRecord));
    char *record = g_malloc0(table->size);
    *(IfmYamlRecord *)(gpointer)record =
        (IfmYamlRecord){ source->file, node->line, g_strdup(name),
                         g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)g_array_unref) };
    for (const IfmYamlField *field = table->fields; field->key != NULL; field++)
        set_fallback(field, record + field->offset);
    if (fill_record(source, table, node, record, error))
        return record;
    ifm_yaml_free(table, record);
    return NULL;
}

gpointer ifm_yaml_parse(const IfmYamlTable *table, const char *text, gsize length, const char *name, GError **error)
{
    g_autoptr(YamlNode) root = yaml_tree_parse(text, length, name, error);
    Source source = { g_intern_string(name) };
    return root != NULL ? read_record(&source, table, root, NULL, error) : NULL;
}

static gboolean load(const char *path, char **text, gsize *n_bytes, GError **error)
{
    if (!g_file_test(path, G_FILE_TEST_IS_DIR))
        return ifm_file_load(path, text, n_bytes, error);
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "%s: is a folder; expected a YAML file", path);
    return FALSE;
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

gpointer ifm_yaml_read_with(const IfmYamlTable *table, const char *path, const char *const *settings, GError **error)
{
    g_autofree char *text = NULL;
    gsize n_bytes = 0;
    g_autoptr(YamlNode) root = load(path, &text, &n_bytes, error) ? yaml_tree_parse(text, n_bytes, path, error) : NULL;
    if (root == NULL)
        return NULL;
    for (; settings != NULL && *settings != NULL && root->kind == YAML_MAPPING; settings++)
        if (!apply_setting(root, *settings, error))
            return NULL;
    const Source source = { g_intern_string(path) };
    return read_record(&source, table, root, NULL, error);
}

gpointer ifm_yaml_read(const IfmYamlTable *table, const char *path, GError **error)
{
    return ifm_yaml_read_with(table, path, NULL, error);
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

/* --- freeing ---------------------------------------------------------------------------------------------------------- */

static void free_container(const IfmYamlField *field, gpointer container)
{
    gboolean named = field->type == IFM_YAML_NAMED;
    if (!named && field->element != IFM_YAML_STRING && field->element != IFM_YAML_MAP)
    {
        g_array_unref(container);
        return;
    }
    GPtrArray *array = container;
    for (gsize i = 0; i < array->len; i++)
    {
        if (field->element == IFM_YAML_MAP)
        {
            ifm_yaml_free(field->table, array->pdata[i]);
            continue;
        }
        if (named)
        {
            IfmYamlScalar *scalar = array->pdata[i];
            g_free(scalar->record.name);
            g_free(scalar->text);
        }
        g_free(array->pdata[i]);
    }
    g_ptr_array_unref(array);
}

void ifm_yaml_free(const IfmYamlTable *table, gpointer record)
{
    if (record == NULL)
        return;
    for (const IfmYamlField *field = table->fields; field->key != NULL; field++)
    {
        gpointer *held = (gpointer *)((char *)record + field->offset); /* a pointer with these four types alone */
        if (field->type == IFM_YAML_STRING)
            g_free(*held);
        else if (field->type == IFM_YAML_MAP)
            ifm_yaml_free(field->table, *held);
        else if (field->type == IFM_YAML_LIST || field->type == IFM_YAML_NAMED)
            free_container(field, *held);
    }
    g_free(((IfmYamlRecord *)record)->name);
    g_hash_table_unref(((IfmYamlRecord *)record)->lines);
    g_free(record);
}

/* --- documentation ---------------------------------------------------------------------------------------------------- */

#define DESCRIBED_WIDTH 118
#define CONTINUED_INDENT 6

static void describe_table(GString *out, const IfmYamlTable *table, const IfmYamlTable *above, int depth)
{
    for (const IfmYamlField *field = table->fields; field->key != NULL; field++)
    {
        gboolean holds = field->type == IFM_YAML_LIST || field->type == IFM_YAML_NAMED;
        g_autoptr(GString) text = g_string_new(NULL);
        g_string_append_printf(text, "%s: %s%s%s", field->key, types[field->type].name, holds ? " of " : "",
                               holds ? types[field->element].name : "");
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
        if (field->table != NULL && field->table != above)
            describe_table(out, field->table, table, depth + 1);
    }
}

char *ifm_yaml_describe(const IfmYamlTable *table)
{
    GString *text = g_string_new(NULL);
    describe_table(text, table, table, 0);
    return g_string_free(text, FALSE);
}
