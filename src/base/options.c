#include "base-private.h"
#include <base/base.h>
#include <base/fields.h>

/* These functions read option values from text by a table of options, store them in a struct and check a struct against
 * it. */

/* --- one value from text ---------------------------------------------------------------------------------------------- */

static gboolean parse_number(const IfmOption *option, const char *text, IfmOptionValue *value)
{
    switch (option->kind)
    {
    case IFM_OPTION_COUNT:
        return g_ascii_isdigit(*text) &&
               g_ascii_string_to_signed(text, 10, option->minimum, option->maximum > 0 ? option->maximum : G_MAXINT64,
                                        &value->integer, NULL);
    case IFM_OPTION_DURATION:
        return ifm_duration_parse(text, &value->integer);
    case IFM_OPTION_BYTES:
        return ifm_bytes_parse(text, &value->integer);
    case IFM_OPTION_RATIO:
        return ifm_ratio_parse(text, &value->ratio);
    default:
        return TRUE;
    }
}

/* The expected value, for a message. (transfer full) */
static char *wanted(const IfmOption *option)
{
    static const char *const examples[] = {
        [IFM_OPTION_DURATION] = "a duration, such as 500ms, 20s or 5min",
        [IFM_OPTION_BYTES] = "a size, such as 512MiB or 2GiB",
        [IFM_OPTION_RATIO] = IFM_RATIO_WANTED,
    };
    if (option->kind == IFM_OPTION_COUNT && option->maximum > 0)
        return g_strdup_printf("a whole number from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT, option->minimum,
                               option->maximum);
    if (option->kind == IFM_OPTION_COUNT)
        return g_strdup_printf("a whole number of at least %" G_GINT64_FORMAT, option->minimum);
    return g_strdup(examples[option->kind]);
}

gboolean ifm_option_is_path(const IfmOption *option)
{
    return option->kind == IFM_OPTION_FILE || option->kind == IFM_OPTION_OUTPUT || option->kind == IFM_OPTION_FOLDER;
}

static gboolean check_choice(const IfmOption *option, const char *word, GError **error)
{
    if (option->choices == NULL || ifm_word_index(option->choices, word) >= 0)
        return TRUE;
    g_autofree char *all = g_strjoinv(", ", (char **)option->choices), *hint = ifm_nearest_hint(word, option->choices);
    return ifm_error_misuse(error, "--%s: \"%s\" is none of %s%s", option->name, word, all, hint);
}

static gboolean check_list(const IfmOption *option, const char *text, GError **error)
{
    g_auto(GStrv) words = g_strsplit(text, ",", -1);
    if (*text == '\0')
        return check_choice(option, text, error) && ifm_error_misuse(error, "--%s: \"\" is an empty list", option->name);
    for (char **word = words; *word != NULL; word++)
    {
        if (!check_choice(option, *word, error))
            return FALSE;
        if (**word == '\0')
            return ifm_error_misuse(error, "--%s: \"%s\" has an empty entry", option->name, text);
    }
    return TRUE;
}

gboolean ifm_option_parse(const IfmOption *option, const char *text, IfmOptionValue *value, GError **error)
{
    *value = (IfmOptionValue){ .text = text };
    if (option->kind == IFM_OPTION_FLAG && text == NULL)
        value->integer = TRUE;
    else if (option->kind == IFM_OPTION_FLAG)
        ifm_error_misuse(error, "--%s takes no value", option->name);
    else if (text == NULL)
        ifm_error_misuse(error, "--%s needs a value: %s", option->name, option->argument);
    else if (!parse_number(option, text, value))
    {
        g_autofree char *right = wanted(option);
        return ifm_error_misuse(error, "--%s: \"%s\" is not %s", option->name, text, right);
    }
    else if (option->kind == IFM_OPTION_RATIO && option->minimum > 0 && value->ratio <= 0)
        return ifm_error_misuse(error, "--%s: above 0%%, at most 100%%", option->name);
    else if (*text == '\0' && ifm_option_is_path(option))
        return ifm_error_misuse(error, "--%s: \"\" is no %s", option->name,
                                option->kind == IFM_OPTION_FOLDER ? "folder" : "file");
    else if (!(option->is_list ? check_list : check_choice)(option, text, error))
        return FALSE;
    else if (option->kind == IFM_OPTION_CHOICE)
        value->integer = ifm_word_index(option->choices, text);
    return (option->kind == IFM_OPTION_FLAG) == (text == NULL);
}

/* --- into a struct ---------------------------------------------------------------------------------------------------- */

void ifm_option_store(const IfmOption *option, const IfmOptionValue *value, gpointer options)
{
    g_assert(!option->repeatable);
    if (option->kind == IFM_OPTION_FLAG || option->kind == IFM_OPTION_CHOICE) /* of one type */
        G_STRUCT_MEMBER(int, options, option->at) = (int)value->integer;
    else if (option->kind == IFM_OPTION_RATIO)
        G_STRUCT_MEMBER(double, options, option->at) = value->ratio;
    else if (option->kind == IFM_OPTION_COUNT || option->kind == IFM_OPTION_DURATION || option->kind == IFM_OPTION_BYTES)
        G_STRUCT_MEMBER(gint64, options, option->at) = value->integer;
    else
        G_STRUCT_MEMBER(const char *, options, option->at) = value->text;
}

void ifm_option_store_texts(const IfmOption *option, const char *const *texts, gpointer options)
{
    g_assert(option->repeatable);
    G_STRUCT_MEMBER(const char *const *, options, option->at) = texts;
}

static gboolean begins_unset(const IfmOption *option)
{
    return option->fallback == NULL || option->deferred;
}

static gboolean is_last(const IfmOption *option)
{
    return option->name == NULL && option->table == NULL;
}

void ifm_options_init(const IfmOption *table, gpointer options)
{
    for (const IfmOption *option = table; !is_last(option); option++)
    {
        IfmOptionValue value = { .integer = option->kind == IFM_OPTION_FLAG ? FALSE : IFM_OPTION_UNSET,
                                 .ratio = IFM_OPTION_UNSET };
        if (option->table != NULL)
            ifm_options_init(option->table, G_STRUCT_MEMBER_P(options, option->at));
        else if (option->repeatable)
            ifm_option_store_texts(option, NULL, options);
        if (option->table != NULL || option->repeatable)
            continue;
        gboolean good = begins_unset(option) || ifm_option_parse(option, option->fallback, &value, NULL);
        g_assert(good); /* else the table is wrong */
        ifm_option_store(option, &value, options);
    }
}

/* --- a struct that a program filled ----------------------------------------------------------------------------------- */

char *ifm_option_text(const IfmOption *option, gconstpointer options)
{
    gint64 integer = 0;
    int index;
    double ratio;
    char text[G_ASCII_DTOSTR_BUF_SIZE];
    switch (option->kind)
    {
    case IFM_OPTION_CHOICE:
        index = G_STRUCT_MEMBER(int, options, option->at);
        if (index >= 0 && index < (int)g_strv_length((char **)option->choices))
            return g_strdup(option->choices[index]);
        return index == IFM_OPTION_UNSET && begins_unset(option) ? NULL : g_strdup_printf("%d", index);
    case IFM_OPTION_COUNT:
    case IFM_OPTION_DURATION:
    case IFM_OPTION_BYTES:
        integer = G_STRUCT_MEMBER(gint64, options, option->at);
        if (integer == IFM_OPTION_UNSET && begins_unset(option))
            return NULL;
        return g_strdup_printf("%" G_GINT64_FORMAT "%s", integer,
                               option->kind == IFM_OPTION_DURATION ? "ns"
                               : option->kind == IFM_OPTION_BYTES  ? "B"
                                                                   : "");
    case IFM_OPTION_RATIO:
        ratio = G_STRUCT_MEMBER(double, options, option->at);
        if (ratio == IFM_OPTION_UNSET && begins_unset(option))
            return NULL;
        return g_strconcat(g_ascii_formatd(text, sizeof text, "%.15g", 100 * ratio), "%", NULL);
    default:
        return g_strdup(G_STRUCT_MEMBER(const char *, options, option->at));
    }
}

gboolean ifm_option_is_given(const IfmOption *option, gconstpointer options)
{
    if (option->kind == IFM_OPTION_FLAG)
        return G_STRUCT_MEMBER(gboolean, options, option->at);
    if (option->repeatable)
    {
        const char *const *texts = G_STRUCT_MEMBER(const char *const *, options, option->at);
        return texts != NULL && *texts != NULL;
    }
    g_autofree char *text = ifm_option_text(option, options);
    return text != NULL;
}

/* Rows that a program gave, as far as the struct tells: what has its default looks like what was not given. */
static void add_given(const IfmOption *table, gconstpointer options, GPtrArray *given)
{
    for (const IfmOption *option = table; !is_last(option); option++)
        if (option->table != NULL)
            add_given(option->table, G_STRUCT_MEMBER_P(options, option->at), given);
        else if (begins_unset(option) && ifm_option_is_given(option, options))
            g_ptr_array_add(given, (gpointer)option);
}

static gboolean check_rows(const IfmOption *table, gconstpointer options, GError **error);

static gboolean check_row(const IfmOption *option, gconstpointer options, GError **error)
{
    IfmOptionValue value;
    if (option->table != NULL)
        return check_rows(option->table, G_STRUCT_MEMBER_P(options, option->at), error);
    if (option->repeatable)
    {
        const char *const *texts = G_STRUCT_MEMBER(const char *const *, options, option->at);
        for (; texts != NULL && *texts != NULL; texts++)
            if (!ifm_option_parse(option, *texts, &value, error))
                return FALSE;
        return TRUE;
    }
    if (option->kind == IFM_OPTION_FLAG)
        return TRUE;
    g_autofree char *text = ifm_option_text(option, options);
    return (text == NULL && begins_unset(option)) || ifm_option_parse(option, text, &value, error);
}

static gboolean check_rows(const IfmOption *table, gconstpointer options, GError **error)
{
    for (const IfmOption *option = table; !is_last(option); option++)
        if (!check_row(option, options, error))
            return FALSE;
    return TRUE;
}

gboolean ifm_options_check(const IfmOption *table, gconstpointer options, GError **error)
{
    g_autoptr(GPtrArray) given = g_ptr_array_new();
    if (!check_rows(table, options, error))
        return FALSE;
    add_given(table, options, given);
    g_ptr_array_add(given, NULL);
    return ifm_options_check_together((const IfmOption *const *)given->pdata, error);
}

/* --- options that exclude each other -------------------------------------------------------------------------------- */

static gboolean names(const IfmOption *option, const char *name)
{
    const char *list = option->excludes;
    if (list == NULL)
        return FALSE;
    const gboolean all_but = *list == '!';
    g_auto(GStrv) words = g_strsplit(list + all_but, ",", -1);
    return g_strv_contains((const char *const *)words, name) != all_but;
}

gboolean ifm_option_excludes(const IfmOption *a, const IfmOption *b)
{
    return a != b && (names(a, b->name) || names(b, a->name));
}

gboolean ifm_options_check_together(const IfmOption *const *given, GError **error)
{
    for (const IfmOption *const *a = given; *a != NULL; a++)
        for (const IfmOption *const *b = a + 1; *b != NULL; b++)
            if (ifm_option_excludes(*a, *b))
                return ifm_error_misuse(error, "--%s and --%s: one of them, not both", (*a)->name, (*b)->name);
    return TRUE;
}

/* --- tables ----------------------------------------------------------------------------------------------------------- */

/* The position after the row with that name. */
static guint place_after(const GPtrArray *list, const char *name)
{
    guint at = 0;
    while (at < list->len && !g_str_equal(((const IfmOption *)list->pdata[at])->name, name))
        at++;
    g_assert(at < list->len); /* else the table is wrong */
    return at + 1;
}

/* Inserts the rows of @table at @at. Returns: the position after them. */
static guint add_table(GPtrArray *list, guint at, const IfmOption *table)
{
    for (const IfmOption *option = table; !is_last(option); option++)
    {
        if (option->after != NULL)
            at = place_after(list, option->after);
        if (option->table != NULL)
            at = add_table(list, at, option->table);
        else
            g_ptr_array_insert(list, (int)at++, (gpointer)option);
    }
    return at;
}

const IfmOption **ifm_options_list(const IfmOption *const *tables)
{
    GPtrArray *list = g_ptr_array_new();
    for (; *tables != NULL; tables++)
        add_table(list, list->len, *tables);
    g_ptr_array_add(list, NULL);
    return (const IfmOption **)g_ptr_array_free(list, FALSE);
}

const IfmOption *ifm_options_find(const IfmOption *const *list, const char *name, GError **error)
{
    g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
    for (; *list != NULL; list++)
    {
        if (g_str_equal((*list)->name, name))
            return *list;
        g_ptr_array_add(names, g_strconcat("--", (*list)->name, NULL));
    }
    g_ptr_array_add(names, NULL);
    g_autofree char *full = g_strconcat("--", name, NULL);
    g_autofree char *hint = ifm_nearest_hint(full, (const char *const *)names->pdata);
    ifm_error_misuse(error, "unknown option %s%s", full, hint);
    return NULL;
}
