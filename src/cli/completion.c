#include <string.h>

#include <inferometer/engine.h>
#include <inferometer/zoo.h>

#include "cli.h"

/* Words that may follow first: verbs of one word and groups, each once. (transfer full) */
static char *first_words(void)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    GString *out = g_string_new(NULL);
    for (const Verb *const *verb = cli_verbs(); *verb != NULL; verb++)
    {
        char *word = g_strndup((*verb)->name, strcspn((*verb)->name, " "));
        if (!g_hash_table_contains(seen, word))
            g_string_append_printf(out, "%s%s", out->len > 0 ? " " : "", word);
        g_hash_table_add(seen, word);
    }
    return g_string_free(out, FALSE);
}

/* The words that may be an option's value, or NULL where only the user knows. (transfer full) */
static char *values_of(const Option *option)
{
    if (option->choices != NULL)
        return g_strjoinv(" ", (char **)option->choices);
    if (!g_str_equal(option->name, "device"))
        return NULL;
    GString *out = g_string_new(NULL);
    for (const char *const *name = ifm_engine_names(); *name != NULL; name++)
        g_string_append_printf(out, "%s%s:", out->len > 0 ? " " : "", *name);
    return g_string_free(out, FALSE);
}

/* The words that may be a verb's arguments. (transfer full) */
static char *words_of(const Verb *verb)
{
    GString *out = g_string_new(NULL);
    if (verb == &verb_zoo_export)
        for (const IfmZooEntry *entry = ifm_zoo_entries(); entry->name != NULL; entry++)
            g_string_append_printf(out, "%s ", entry->name);
    else if (verb == &verb_completion)
        g_string_append(out, "bash fish");
    else if (verb == &verb_help)
    {
        g_autofree char *first = first_words();
        g_string_append(out, first);
    }
    return g_string_free(out, FALSE);
}

/* --- bash ----------------------------------------------------------------------------------------------------------- */

static void bash_values(GString *out, const Verb *verb)
{
    for (const Option *option = NULL; (option = cli_next_option(verb, option)) != NULL;)
    {
        if (option->kind == OPTION_FLAG)
            continue;
        g_autofree char *values = values_of(option);
        g_string_append_printf(out, "            --%s", option->name);
        if (option->letter != 0)
            g_string_append_printf(out, "|-%c", option->letter);
        if (values != NULL)
            g_string_append_printf(out, ") COMPREPLY=($(compgen -W '%s' -- \"$cur\"))", values);
        else if (option->kind == OPTION_FILE || option->kind == OPTION_FOLDER)
            g_string_append_printf(out, ") compopt -o filenames; COMPREPLY=($(compgen -%c -- \"$cur\"))",
                                   option->kind == OPTION_FILE ? 'f' : 'd');
        else
            g_string_append(out, ") COMPREPLY=()");
        g_string_append(out, "; return ;;\n");
    }
}

static void bash_verb(GString *out, const Verb *verb)
{
    g_autofree char *words = words_of(verb);
    g_string_append_printf(out, "    '%s')\n        case \"$prev\" in\n", verb->name);
    bash_values(out, verb);
    g_string_append(out, "        esac\n        if [[ $cur == -* ]]; then\n            COMPREPLY=($(compgen -W '");
    for (const Option *option = NULL; (option = cli_next_option(verb, option)) != NULL;)
        g_string_append_printf(out, "--%s ", option->name);
    g_string_append(out, "' -- \"$cur\"))\n        else\n");
    if (verb->positional == POSITIONAL_FILE)
        g_string_append(out, "            compopt -o filenames; COMPREPLY=($(compgen -f -- \"$cur\"))\n");
    else
        g_string_append_printf(out, "            COMPREPLY=($(compgen -W '%s' -- \"$cur\"))\n", words);
    g_string_append(out, "        fi ;;\n");
}

/* A group's second words. */
static void bash_groups(GString *out)
{
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (const Verb *const *verb = cli_verbs(); *verb != NULL; verb++)
    {
        g_auto(GStrv) words = g_strsplit((*verb)->name, " ", 2);
        if (words[1] == NULL || !g_hash_table_add(seen, g_strdup(words[0])))
            continue;
        g_string_append_printf(out, "    '%s') COMPREPLY=($(compgen -W '", words[0]);
        for (const Verb *const *other = verb; *other != NULL; other++)
            if (g_str_has_prefix((*other)->name, words[0]) && (*other)->name[strlen(words[0])] == ' ')
                g_string_append_printf(out, "%s ", (*other)->name + strlen(words[0]) + 1);
        g_string_append(out, "' -- \"$cur\")) ;;\n");
    }
}

char *cli_completion_bash(void)
{
    GString *out = g_string_new("# bash completion for inferometer; made by `inferometer completion bash`\n"
                                "_inferometer()\n{\n"
                                "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb=\n"
                                "    COMPREPLY=()\n");
    g_autofree char *first = first_words();
    g_string_append_printf(out,
                           "    if ((COMP_CWORD == 1)); then\n"
                           "        COMPREPLY=($(compgen -W '%s --help --version' -- \"$cur\"))\n"
                           "        return\n"
                           "    fi\n"
                           "    verb=${COMP_WORDS[1]}\n"
                           "    case \"$verb\" in\n",
                           first);
    g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    for (const Verb *const *verb = cli_verbs(); *verb != NULL; verb++)
    {
        char *word = g_strndup((*verb)->name, strcspn((*verb)->name, " "));
        if (strchr((*verb)->name, ' ') != NULL && !g_hash_table_contains(seen, word))
            g_string_append_printf(out, "    %s) ((COMP_CWORD > 2)) && verb=\"$verb ${COMP_WORDS[2]}\" ;;\n", word);
        g_hash_table_add(seen, word);
    }
    g_string_append(out, "    esac\n    case \"$verb\" in\n");
    bash_groups(out);
    for (const Verb *const *verb = cli_verbs(); *verb != NULL; verb++)
        bash_verb(out, *verb);
    g_string_append(out, "    esac\n}\ncomplete -F _inferometer inferometer\n");
    return g_string_free(out, FALSE);
}

/* --- fish ----------------------------------------------------------------------------------------------------------- */

static char *fish_quote(const char *text)
{
    g_auto(GStrv) parts = g_strsplit(text, "'", -1);
    g_autofree char *inside = g_strjoinv("\\'", parts);
    return g_strconcat("'", inside, "'", NULL);
}

/* The condition under which a verb's rows apply: its words were given, in order. (transfer full) */
static char *fish_condition(const Verb *verb)
{
    g_auto(GStrv) words = g_strsplit(verb->name, " ", 2);
    return words[1] == NULL
               ? g_strdup_printf("__fish_seen_subcommand_from %s", words[0])
               : g_strdup_printf("__fish_seen_subcommand_from %s; and __fish_seen_subcommand_from %s", words[0], words[1]);
}

static void fish_verb(GString *out, const Verb *verb)
{
    g_autofree char *condition = fish_condition(verb), *summary = fish_quote(verb->summary);
    g_auto(GStrv) words = g_strsplit(verb->name, " ", 2);
    if (words[1] == NULL)
        g_string_append_printf(out, "complete -c inferometer -f -n __fish_use_subcommand -a %s -d %s\n", words[0], summary);
    else
        g_string_append_printf(out,
                               "complete -c inferometer -f -n __fish_use_subcommand -a %s\n"
                               "complete -c inferometer -f -n '__fish_seen_subcommand_from %s' -a %s -d %s\n",
                               words[0], words[0], words[1], summary);
    for (const Option *option = NULL; (option = cli_next_option(verb, option)) != NULL;)
    {
        g_autofree char *help = fish_quote(option->help), *values = values_of(option);
        g_string_append_printf(out, "complete -c inferometer -n '%s' -l %s", condition, option->name);
        if (option->letter != 0)
            g_string_append_printf(out, " -s %c", option->letter);
        if (option->kind != OPTION_FLAG)
            g_string_append(out, option->kind == OPTION_FILE || option->kind == OPTION_FOLDER ? " -r -F" : " -x");
        if (values != NULL)
            g_string_append_printf(out, " -a '%s'", values);
        g_string_append_printf(out, " -d %s\n", help);
    }
    g_autofree char *arguments = words_of(verb);
    if (*arguments != '\0')
        g_string_append_printf(out, "complete -c inferometer -f -n '%s' -a '%s'\n", condition, arguments);
}

char *cli_completion_fish(void)
{
    GString *out = g_string_new("# fish completion for inferometer; made by `inferometer completion fish`\n");
    for (const Verb *const *verb = cli_verbs(); *verb != NULL; verb++)
        fish_verb(out, *verb);
    return g_string_free(out, FALSE);
}
