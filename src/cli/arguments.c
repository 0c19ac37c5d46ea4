#include <math.h>
#include <string.h>

#include <inferometer/nearest.h>

#include "cli.h"

const Option cli_common_options[] = {
    { "quiet", 'q', OPTION_FLAG, FALSE, NULL, "no progress and no notes on standard error" },
    { "help", 'h', OPTION_FLAG, FALSE, NULL, "this text" },
    { NULL },
};

/* What was given for one option, or its fallback. */
typedef struct
{
    gboolean given;
    GPtrArray *texts; /* NULL-terminated once parsing ends */
    gint64 integer;
    double ratio;
} Slot;

struct Arguments
{
    const Verb *verb;
    GHashTable *slots; /* option name -> Slot */
    GPtrArray *positional;
    GPtrArray *owned; /* words that nobody typed */
};

const Option *cli_next_option(const Verb *verb, const Option *previous)
{
    const Option *next = previous == NULL ? verb->options : previous + 1;
    if (next == NULL || (next->name == NULL && next != &cli_common_options[G_N_ELEMENTS(cli_common_options) - 1]))
        next = cli_common_options;
    return next->name != NULL ? next : NULL;
}

static void slot_free(Slot *slot)
{
    g_ptr_array_unref(slot->texts);
    g_free(slot);
}

void cli_arguments_free(Arguments *self)
{
    if (self == NULL)
        return;
    g_hash_table_unref(self->slots);
    g_ptr_array_unref(self->positional);
    g_ptr_array_unref(self->owned);
    g_free(self);
}

/* --- values --------------------------------------------------------------------------------------------------------- */

typedef struct
{
    const char *name;
    double factor;
} Unit;

static const Unit duration_units[] = {
    { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { "min", 60e9 }, { "m", 60e9 }, { "h", 3600e9 }, { NULL, 0 },
};

static const Unit byte_units[] = {
    { "B", 1 },
    { "KiB", 1024.0 },
    { "MiB", 1024.0 * 1024 },
    { "GiB", 1024.0 * 1024 * 1024 },
    { "TiB", 1024.0 * 1024 * 1024 * 1024 },
    { "kB", 1e3 },
    { "MB", 1e6 },
    { "GB", 1e9 },
    { "TB", 1e12 },
    { NULL, 0 },
};

static const Unit ratio_units[] = { { "%", 0.01 }, { NULL, 0 } };

/* A non-negative number with one of the units; 0 needs none. */
static gboolean parse_quantity(const char *text, const Unit *units, double most, double *value)
{
    char *end = NULL;
    if (!g_ascii_isdigit(*text) && *text != '.')
        return FALSE;
    *value = g_ascii_strtod(text, &end);
    if (end == text || !isfinite(*value))
        return FALSE;
    while (*end == ' ')
        end++;
    if (*end == '\0')
        return *value == 0;
    for (const Unit *unit = units; unit->name != NULL; unit++)
        if (g_str_equal(end, unit->name))
        {
            *value *= unit->factor;
            return *value <= most;
        }
    return FALSE;
}

/* "1%" or "0.01". A bare 1 could mean either, and is neither. */
static gboolean parse_ratio(const char *text, double *ratio)
{
    char *end = NULL;
    if (parse_quantity(text, ratio_units, 1, ratio))
        return TRUE;
    if (!g_ascii_isdigit(*text) && *text != '.')
        return FALSE;
    *ratio = g_ascii_strtod(text, &end);
    return *end == '\0' && *ratio > 0 && *ratio < 1;
}

static gint64 most_of(const Option *option)
{
    return option->most > 0 ? option->most : G_MAXINT64;
}

static gboolean parse_count(const Option *option, const char *text, gint64 *value)
{
    return g_ascii_isdigit(*text) && g_ascii_string_to_signed(text, 10, option->least, most_of(option), value, NULL);
}

static const char *const kind_examples[] = {
    [OPTION_COUNT] = "a whole number, such as 10",
    [OPTION_DURATION] = "a duration, such as 500ms, 20s or 5min",
    [OPTION_BYTES] = "a size, such as 512MiB or 2GiB",
    [OPTION_RATIO] = "a percentage from 0% to 100%, such as 1%, or a fraction below 1, such as 0.01",
};

/* What would have been right. */
static char *wanted(const Option *option)
{
    if (option->kind == OPTION_COUNT && option->most > 0)
        return g_strdup_printf("a whole number from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT, option->least,
                               option->most);
    return g_strdup(kind_examples[option->kind]);
}

static gboolean parse_number(Slot *slot, const Option *option, const char *text)
{
    double value = 0;
    gboolean good = TRUE;
    switch (option->kind)
    {
    case OPTION_COUNT:
        return parse_count(option, text, &slot->integer);
    case OPTION_DURATION:
        good = parse_quantity(text, duration_units, 9e18, &value);
        break;
    case OPTION_BYTES:
        good = parse_quantity(text, byte_units, 9e18, &value);
        break;
    case OPTION_RATIO:
        good = parse_ratio(text, &slot->ratio);
        break;
    default:
        break;
    }
    if (good)
        slot->integer = (gint64)value;
    return good;
}

static gboolean slot_add(Slot *slot, const Option *option, const char *text, GError **error)
{
    if (!parse_number(slot, option, text))
    {
        g_autofree char *right = wanted(option);
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "--%s: \"%s\" is not %s", option->name, text, right);
        return FALSE;
    }
    if (*text == '\0' && (option->kind == OPTION_FOLDER || option->kind == OPTION_FILE))
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "--%s: \"\" is no %s", option->name,
                    option->kind == OPTION_FOLDER ? "folder" : "file");
        return FALSE;
    }
    if (option->choices != NULL && !g_strv_contains(option->choices, text))
    {
        g_autofree char *all = g_strjoinv(", ", (char **)option->choices);
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "--%s: \"%s\" is none of %s", option->name, text, all);
        return FALSE;
    }
    if (!option->repeatable)
        g_ptr_array_set_size(slot->texts, 0);
    g_ptr_array_add(slot->texts, (char *)text);
    return TRUE;
}

/* --- parsing -------------------------------------------------------------------------------------------------------- */

static const Option *find_long(const Verb *verb, const char *name, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    for (const Option *option = NULL; (option = cli_next_option(verb, option)) != NULL;)
    {
        if (g_str_equal(option->name, name))
            return option;
        g_ptr_array_add(names, g_strconcat("--", option->name, NULL));
    }
    g_ptr_array_add(names, NULL);
    g_autofree char *full = g_strconcat("--", name, NULL);
    g_autofree char *hint = ifm_nearest_hint(full, (const char *const *)names->pdata);
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "unknown option %s%s", full, hint);
    return NULL;
}

static const Option *find_letter(const Verb *verb, char letter, GError **error)
{
    for (const Option *option = NULL; (option = cli_next_option(verb, option)) != NULL;)
        if (option->letter == letter)
            return option;
    g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "unknown option -%c", letter);
    return NULL;
}

/* @value: NULL where none was given. */
static gboolean give(Slot *slot, const Option *option, const char *value, GError **error)
{
    if ((option->kind == OPTION_FLAG) != (value == NULL))
    {
        if (option->kind == OPTION_FLAG)
            g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "--%s takes no value", option->name);
        else
            g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "--%s needs a value: %s", option->name, option->argument);
        return FALSE;
    }
    if (!slot->given)
        g_ptr_array_set_size(slot->texts, 0); /* the fallback gives way */
    slot->given = TRUE;
    return value == NULL || slot_add(slot, option, value, error);
}

/* One option that starts at words[*at]; *at is moved over a value of its own. */
static gboolean parse_option(Arguments *self, const char *const *words, gsize *at, GError **error)
{
    const char *word = words[*at], *value = NULL;
    const Option *option;
    if (word[1] == '-')
    {
        const char *equals = strchr(word, '=');
        g_autofree char *name = equals != NULL ? g_strndup(word + 2, (gsize)(equals - word - 2)) : g_strdup(word + 2);
        option = find_long(self->verb, name, error);
        value = equals != NULL ? equals + 1 : NULL;
    }
    else
    {
        option = find_letter(self->verb, word[1], error);
        value = word[2] != '\0' ? word + 2 : NULL;
    }
    if (option == NULL)
        return FALSE;
    if (option->kind != OPTION_FLAG && value == NULL && (value = words[*at + 1]) != NULL)
        ++*at;
    return give(g_hash_table_lookup(self->slots, option->name), option, value, error);
}

static gboolean check_positional(const Arguments *self, GError **error)
{
    const Verb *verb = self->verb;
    gsize n = self->positional->len;
    if (n < (gsize)verb->least)
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "needs %s", verb->arguments);
    else if (verb->most >= 0 && n > (gsize)verb->most)
        g_set_error(error, IFM_ERROR, IFM_ERROR_INVALID, "\"%s\" is one argument too many: %s",
                    (const char *)self->positional->pdata[verb->most], verb->most == 0 ? "it takes none" : verb->arguments);
    else
        return TRUE;
    return FALSE;
}

static void terminate(gpointer name, Slot *slot, gpointer user)
{
    g_ptr_array_add(slot->texts, NULL);
}

static void make_slots(Arguments *self)
{
    self->slots = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)slot_free);
    for (const Option *option = NULL; (option = cli_next_option(self->verb, option)) != NULL;)
    {
        Slot *slot = g_new0(Slot, 1);
        slot->texts = g_ptr_array_new();
        gboolean good = option->fallback == NULL || slot_add(slot, option, option->fallback, NULL);
        g_assert(good); /* the table itself is wrong */
        g_hash_table_insert(self->slots, (char *)option->name, slot);
    }
}

Arguments *cli_arguments_parse(const Verb *verb, const char *const *words, GError **error)
{
    g_autoptr(Arguments) self = g_new0(Arguments, 1);
    gboolean options_over = FALSE;
    self->verb = verb;
    self->positional = g_ptr_array_new();
    self->owned = g_ptr_array_new_with_free_func(g_free);
    make_slots(self);
    for (gsize at = 0; words[at] != NULL; at++)
    {
        const char *word = words[at];
        if (!options_over && g_str_equal(word, "--"))
            options_over = TRUE;
        else if (options_over || word[0] != '-' || word[1] == '\0') /* "-" is standard output */
            g_ptr_array_add(self->positional, (char *)word);
        else if (!parse_option(self, words, &at, error))
            return NULL;
    }
    if (!cli_given(self, "help") && !check_positional(self, error))
        return NULL;
    g_ptr_array_add(self->positional, NULL);
    g_hash_table_foreach(self->slots, (GHFunc)terminate, NULL);
    return g_steal_pointer(&self);
}

/* --- varying what was given --------------------------------------------------------------------------------------------
 */

Arguments *cli_arguments_copy(const Arguments *self)
{
    Arguments *copy = g_new0(Arguments, 1);
    GHashTableIter names;
    gpointer name, value;
    copy->verb = self->verb;
    copy->positional = g_ptr_array_copy(self->positional, NULL, NULL);
    copy->owned = g_ptr_array_new_with_free_func(g_free);
    copy->slots = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)slot_free);
    g_hash_table_iter_init(&names, self->slots);
    while (g_hash_table_iter_next(&names, &name, &value))
    {
        Slot *slot = g_memdup2(value, sizeof *slot);
        slot->texts = g_ptr_array_copy(slot->texts, NULL, NULL);
        g_hash_table_insert(copy->slots, name, slot);
    }
    return copy;
}

gboolean cli_arguments_set(Arguments *self, const char *name, const char *const *values, GError **error)
{
    const Option *option = find_long(self->verb, name, error);
    if (option == NULL)
        return FALSE;
    Slot *slot = g_hash_table_lookup(self->slots, option->name);
    gboolean good = TRUE;
    g_ptr_array_set_size(slot->texts, 0);
    slot->given = values[0] != NULL;
    if (values[0] == NULL && option->fallback != NULL)
        good = slot_add(slot, option, option->fallback, error);
    for (; good && *values != NULL; values++)
    {
        char *owned = g_strdup(*values);
        g_ptr_array_add(self->owned, owned);
        good = slot_add(slot, option, owned, error);
    }
    g_ptr_array_add(slot->texts, NULL);
    return good;
}

void cli_arguments_set_positional(Arguments *self, gsize at, const char *word)
{
    char *owned = g_strdup(word);
    g_assert(at + 1 < self->positional->len);
    g_ptr_array_add(self->owned, owned);
    self->positional->pdata[at] = owned;
}

/* --- reading -------------------------------------------------------------------------------------------------------- */

static const Slot *slot_of(const Arguments *self, const char *name)
{
    const Slot *slot = g_hash_table_lookup(self->slots, name);
    g_assert(slot != NULL);
    return slot;
}

gboolean cli_given(const Arguments *self, const char *name)
{
    return slot_of(self, name)->given;
}

const char *cli_text(const Arguments *self, const char *name)
{
    return slot_of(self, name)->texts->pdata[0];
}

const char *const *cli_texts(const Arguments *self, const char *name)
{
    return (const char *const *)slot_of(self, name)->texts->pdata;
}

gint64 cli_integer(const Arguments *self, const char *name)
{
    return slot_of(self, name)->integer;
}

double cli_ratio(const Arguments *self, const char *name)
{
    return slot_of(self, name)->ratio;
}

const char *const *cli_positional(const Arguments *self)
{
    return (const char *const *)self->positional->pdata;
}

const Verb *cli_verb_of(const Arguments *self)
{
    return self->verb;
}
