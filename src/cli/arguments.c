#include <string.h>

#include <document/words.h>

#include "cli.h"

/* This parser takes a verb's options and words from the command line and hands out their values. */

static const IfmOption common_options[] = {
    { "quiet", IFM_OPTION_FLAG, NULL, "no progress and no notes on standard error", .letter = 'q' },
    { "log", IFM_OPTION_OUTPUT, "FILE", "append what is done, found and skipped, with times, even with --quiet" },
    { "help", IFM_OPTION_FLAG, NULL, "this text", .letter = 'h' },
    { NULL },
};

/* What was given for one option, or its fallback. */
typedef struct
{
    gboolean given;
    GPtrArray *texts;     /* NULL-terminated once parsing ends */
    IfmOptionValue value; /* the last one's */
} Slot;

struct Arguments
{
    const Verb *verb;
    const IfmOption **options; /* all rows, NULL-terminated */
    GHashTable *slots;         /* option name -> Slot */
    GPtrArray *positional;
    const char *const *words; /* borrowed */
    json_t *shown;            /* in place of them, or NULL */
};

const IfmOption **cli_options(const Verb *verb)
{
    const IfmOption *tables[G_N_ELEMENTS(verb->tables) + 2] = { NULL };
    gsize n = 0;
    for (; n < G_N_ELEMENTS(verb->tables) && verb->tables[n] != NULL; n++)
        tables[n] = verb->tables[n];
    tables[n] = common_options;
    return ifm_options_list(tables);
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
    g_free(self->options);
    g_ptr_array_unref(self->positional);
    json_decref(self->shown);
    g_free(self);
}

/* --- parsing -------------------------------------------------------------------------------------------------------- */

/* A value of the user's, or the fallback. */
static gboolean slot_add(Slot *slot, const IfmOption *option, const char *text, GError **error)
{
    if (!ifm_option_parse(option, text, &slot->value, error))
        return FALSE;
    if (!option->repeatable)
        g_ptr_array_set_size(slot->texts, 0);
    if (text != NULL)
        g_ptr_array_add(slot->texts, (char *)text);
    return TRUE;
}

static const IfmOption *find_letter(const Arguments *self, char letter, GError **error)
{
    for (const IfmOption **option = self->options; *option != NULL; option++)
        if ((*option)->letter == letter)
            return *option;
    ifm_error_misuse(error, "unknown option -%c", letter);
    return NULL;
}

/* One option that starts at words[*at]; *at is moved over a value of its own. */
static gboolean parse_option(Arguments *self, const char *const *words, gsize *at, GError **error)
{
    const char *word = words[*at], *value = NULL;
    const IfmOption *option;
    if (word[1] == '-')
    {
        const char *equals = strchr(word, '=');
        g_autofree char *name = equals != NULL ? g_strndup(word + 2, (gsize)(equals - word - 2)) : g_strdup(word + 2);
        option = ifm_options_find(self->options, name, error);
        value = equals != NULL ? equals + 1 : NULL;
    }
    else
    {
        option = find_letter(self, word[1], error);
        value = word[2] != '\0' ? word + 2 : NULL;
    }
    if (option == NULL)
        return FALSE;
    if (option->kind != IFM_OPTION_FLAG && value == NULL && (value = words[*at + 1]) != NULL)
        ++*at;
    Slot *slot = g_hash_table_lookup(self->slots, option->name);
    if (!slot->given)
        g_ptr_array_set_size(slot->texts, 0); /* the fallback gives way */
    slot->given = TRUE;
    return slot_add(slot, option, value, error);
}

/* "A [B]" are one or two, "[FILE…]" any number. */
void cli_n_arguments(const Verb *verb, guint *min, guint *max)
{
    g_auto(GStrv) words = g_strsplit(verb->arguments, " ", -1);
    *min = 0;
    *max = (guint)verb->max;
    for (char **word = words; verb->max == 0 && *word != NULL; word++)
    {
        *min += **word != '[';
        ++*max;
    }
    if (strstr(verb->arguments, "…") != NULL || strstr(verb->arguments, "...") != NULL)
        *max = G_MAXUINT;
}

static gboolean check_positional(const Arguments *self, GError **error)
{
    const Verb *verb = self->verb;
    const guint n = self->positional->len;
    guint min, max;
    cli_n_arguments(verb, &min, &max);
    if (n < min)
        return ifm_error_misuse(error, "needs %s", verb->arguments);
    if (n > max)
        return ifm_error_misuse(error, "\"%s\" is one argument too many: %s", (const char *)self->positional->pdata[max],
                                max == 0 ? "it takes none" : verb->arguments);
    return TRUE;
}

static gboolean check_together(const Arguments *self, GError **error)
{
    g_autoptr(GPtrArray) given = g_ptr_array_new();
    for (const IfmOption **option = self->options; *option != NULL; option++)
        if (cli_given(self, (*option)->name))
            g_ptr_array_add(given, (gpointer)*option);
    g_ptr_array_add(given, NULL);
    return ifm_options_check_together((const IfmOption *const *)given->pdata, error);
}

static void terminate(gpointer name, Slot *slot, gpointer user)
{
    g_ptr_array_add(slot->texts, NULL);
}

static void make_slots(Arguments *self)
{
    self->slots = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, (GDestroyNotify)slot_free);
    for (const IfmOption **option = self->options; *option != NULL; option++)
    {
        Slot *slot = g_new0(Slot, 1);
        slot->texts = g_ptr_array_new();
        gboolean good = (*option)->fallback == NULL || slot_add(slot, *option, (*option)->fallback, NULL);
        g_assert(good); /* the table itself is wrong */
        g_hash_table_insert(self->slots, (char *)(*option)->name, slot);
    }
}

/* IFM_COMMAND, of a program that starts this one for a caller of its own: what is shown in place of the words that it gave,
 * a list of words after the verb's, or a text where no shell could take them. NULL: there is none. Programs that this one
 * starts have other words. */
static json_t *take_shown(void)
{
    const char *text = g_getenv("IFM_COMMAND");
    json_t *shown = text != NULL ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;
    g_unsetenv("IFM_COMMAND");
    return shown;
}

Arguments *cli_arguments_parse(const Verb *verb, const char *const *words, GError **error)
{
    g_autoptr(Arguments) self = g_new0(Arguments, 1);
    gboolean options_over = FALSE;
    self->verb = verb;
    self->words = words;
    self->shown = take_shown();
    self->options = cli_options(verb);
    self->positional = g_ptr_array_new();
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
    if (!cli_given(self, "help") && (!check_together(self, error) || !check_positional(self, error)))
        return NULL;
    g_ptr_array_add(self->positional, NULL);
    g_hash_table_foreach(self->slots, (GHFunc)terminate, NULL);
    return g_steal_pointer(&self);
}

char *cli_command_line(const Arguments *self, const char *without)
{
    const json_t *shown = self->shown;
    const json_t *given;
    gsize i;
    if (json_is_string(shown))
        return without == NULL ? g_strdup(json_string_value(shown)) : NULL;
    g_auto(GStrv) verb = g_strsplit(self->verb->name, " ", -1);
    g_autoptr(GPtrArray) words = g_ptr_array_new();
    for (char **word = verb; *word != NULL; word++)
        g_ptr_array_add(words, *word);
    for (const char *const *word = self->words; *word != NULL && shown == NULL; word++)
        if (g_strcmp0(*word, without) != 0)
            g_ptr_array_add(words, (char *)*word);
    json_array_foreach(shown, i, given) if (json_is_string(given) && g_strcmp0(json_string_value(given), without) != 0)
        g_ptr_array_add(words, (char *)json_string_value(given));
    g_ptr_array_add(words, NULL);
    return ifm_say_words((const char *const *)words->pdata);
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

const char *cli_output(const Arguments *self, const char *name)
{
    return g_hash_table_contains(self->slots, name) ? cli_text(self, name) : NULL;
}

gint64 cli_integer(const Arguments *self, const char *name)
{
    return slot_of(self, name)->value.integer;
}

/* What was given of a table's rows. */
static void fill_given(const Arguments *self, const IfmOption *table, gpointer options)
{
    for (const IfmOption *option = table; option->name != NULL || option->table != NULL; option++)
    {
        const Slot *slot = option->table == NULL ? slot_of(self, option->name) : NULL;
        if (slot == NULL)
            fill_given(self, option->table, G_STRUCT_MEMBER_P(options, option->at));
        else if (slot->given && option->repeatable)
            ifm_option_store_texts(option, (const char *const *)slot->texts->pdata, options);
        else if (slot->given)
            ifm_option_store(option, &slot->value, options);
    }
}

void cli_fill(const Arguments *self, const IfmOption *table, gpointer options)
{
    ifm_options_init(table, options);
    fill_given(self, table, options);
}

const char *const *cli_positional(const Arguments *self)
{
    return (const char *const *)self->positional->pdata;
}

const Verb *cli_verb_of(const Arguments *self)
{
    return self->verb;
}

const IfmOption *const *cli_rows(const Arguments *self)
{
    return self->options;
}
