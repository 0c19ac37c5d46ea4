#include <string.h>

#include <inferometer/engine.h>
#include <inferometer/study.h>

#include "cli.h"

/* Units that the runtimes have names for: asking a runtime itself would take a second at every press of a key. */
static const char *const known_units[] = {
    "onnxruntime:CPU",      "onnxruntime:CUDA", "onnxruntime:TensorRT", "onnxruntime:MIGraphX",
    "onnxruntime:OpenVINO", "openvino:CPU",     "openvino:GPU",         "openvino:NPU",
};

/* The simulated engine opens no library: its devices are files, which may be the user's own. */
static void append_simulated(GString *out)
{
    g_autoptr(IfmClock) clock = ifm_clock_new_virtual(0);
    g_autoptr(IfmEngine) engine = ifm_engine_open("simulated", clock, NULL);
    g_autoptr(GPtrArray) devices = engine != NULL ? ifm_engine_devices(engine, NULL) : NULL;
    for (guint i = 0; devices != NULL && i < devices->len; i++)
        g_string_append_printf(out, "%s\n", ((const IfmDeviceInfo *)devices->pdata[i])->spec);
}

char *cli_completion_devices(void)
{
    GString *out = g_string_new(NULL);
    for (gsize i = 0; i < G_N_ELEMENTS(known_units); i++)
        g_string_append_printf(out, "%s\n", known_units[i]);
    append_simulated(out);
    return g_string_free(out, FALSE);
}

static gboolean is_device(const IfmOption *option)
{
    return g_str_equal(option->name, "device") || g_str_has_suffix(option->name, "-device");
}

/* The words that may be a verb's arguments. (transfer full) */
static char *words_of(const Verb *verb)
{
    GString *out = g_string_new(NULL);
    if (verb == &verb_zoo_export)
        for (const IfmZooEntry *entry = ifm_zoo_entries(); entry->name != NULL; entry++)
            g_string_append_printf(out, "%s ", entry->name);
    else if (verb->positional == POSITIONAL_STUDY)
    {
        g_auto(GStrv) names = ifm_study_names();
        g_autofree char *all = g_strjoinv(" ", names);
        g_string_append(out, all);
    }
    else if (cli_is_group(verb->name)) /* of a verb that is a group, too */
    {
        g_auto(GStrv) second = cli_words(verb->name);
        for (char **word = second; *word != NULL; word++)
            g_string_append_printf(out, "%s ", *word);
    }
    else if (verb == &verb_completion)
        g_string_append(out, "bash fish zsh");
    else if (verb == &verb_help)
    {
        g_auto(GStrv) first = cli_words(NULL);
        g_autofree char *all = g_strjoinv(" ", first);
        g_string_append(out, all);
    }
    return g_string_free(out, FALSE);
}

/* --- bash ----------------------------------------------------------------------------------------------------------- */

static void bash_values(GString *out, const Verb *verb)
{
    g_autofree const IfmOption **rows = cli_options(verb);
    for (const IfmOption **row = rows, *option; (option = *row) != NULL; row++)
    {
        if (option->kind == IFM_OPTION_FLAG)
            continue;
        g_autofree char *values = option->choices != NULL ? g_strjoinv(" ", (char **)option->choices) : NULL;
        g_string_append_printf(out, "            --%s", option->name);
        if (option->letter != 0)
            g_string_append_printf(out, "|-%c", option->letter);
        if (is_device(option)) /* an alias before it is the user's own */
            g_string_append(out, ") COMPREPLY=($(compgen -W \"$(\"${COMP_WORDS[0]}\" completion devices 2>/dev/null)\" -- "
                                 "\"${cur#*=}\"))");
        else if (values != NULL)
            g_string_append_printf(out, ") COMPREPLY=($(compgen -W '%s' -- \"$cur\"))", values);
        else if (ifm_option_is_path(option))
            g_string_append_printf(out, ") compopt -o filenames; COMPREPLY=($(compgen -%c -- \"$cur\"))",
                                   option->kind == IFM_OPTION_FOLDER ? 'd' : 'f');
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
    g_autofree const IfmOption **rows = cli_options(verb);
    for (const IfmOption **row = rows, *option; (option = *row) != NULL; row++)
        g_string_append_printf(out, "--%s ", option->name);
    g_string_append(out, "' -- \"$cur\"))\n        else\n");
    if (verb->positional == POSITIONAL_FILE || verb->positional == POSITIONAL_STUDY)
        g_string_append_printf(out, "            compopt -o filenames; COMPREPLY=($(compgen -W '%s' -f -- \"$cur\"))\n",
                               words);
    else
        g_string_append_printf(out, "            COMPREPLY=($(compgen -W '%s' -- \"$cur\"))\n", words);
    g_string_append(out, "        fi ;;\n");
}

/* A group's second words. */
static void bash_groups(GString *out, char *const *first)
{
    for (; *first != NULL; first++)
    {
        g_auto(GStrv) words = cli_words(*first);
        g_autofree char *second = g_strjoinv(" ", words);
        if (words[0] == NULL)
            continue;
        if (!cli_is_verb(*first))
            g_string_append_printf(out, "    '%s'|", *first);
        g_string_append_printf(out, "    'help %s') COMPREPLY=($(compgen -W '%s ' -- \"$cur\")) ;;\n", *first, second);
    }
}

/* Bash hands "openvino:CPU" and "--device=x" over as several words, broken at what COMP_WORDBREAKS holds: they are put
 * together again, and from the answers is taken off what bash would not replace. */
static const char bash_head[] =
    "# bash completion for inferometer; made by `inferometer completion bash`\n"
    "_inferometer()\n{\n"
    "    local i word glue= cur prev verb tail words=()\n"
    "    COMPREPLY=()\n"
    "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "        word=${COMP_WORDS[i]}\n"
    "        if [[ $word == [:=]* && i -gt 0 ]]; then\n"
    "            words[${#words[@]}-1]+=$word glue=1\n"
    "        elif [[ -n $glue && ! ( -z $word && ${COMP_LINE:COMP_POINT-1:1} == ' ' ) ]]; then\n"
    "            words[${#words[@]}-1]+=$word glue=\n"
    "        else\n"
    "            words+=(\"$word\") glue=\n"
    "        fi\n"
    "    done\n"
    "    cur=${words[${#words[@]}-1]} prev=${words[${#words[@]}-2]}\n"
    "    _inferometer_answer\n"
    "    tail=${cur##*[:=]}\n"
    "    if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then\n"
    "        word=${cur%\"$tail\"} word=${word#--*=}\n"
    "        [[ $word == *=*:* ]] && word=${word#*=}\n"
    "        COMPREPLY=(\"${COMPREPLY[@]#\"$word\"}\")\n"
    "    fi\n"
    "}\n"
    "_inferometer_answer()\n{\n"
    "    local cur=$cur prev=$prev\n"
    "    if [[ $cur == --*=* ]]; then\n"
    "        prev=${cur%%=*} cur=${cur#*=}\n"
    "    fi\n";

char *cli_completion_bash(void)
{
    GString *out = g_string_new(bash_head);
    g_auto(GStrv) first = cli_words(NULL);
    g_autofree char *all = g_strjoinv(" ", first);
    g_string_append_printf(out,
                           "    if ((${#words[@]} == 2)); then\n"
                           "        COMPREPLY=($(compgen -W '%s --help --version' -- \"$cur\"))\n"
                           "        return\n"
                           "    fi\n"
                           "    verb=${words[1]}\n"
                           "    case \"$verb\" in\n"
                           "    help) ((${#words[@]} > 3)) && verb=\"$verb ${words[2]}\" ;;\n",
                           all);
    /* a group's verb has two words; of a group that is a verb, too, only where the second is one of its own */
    for (char **word = first; *word != NULL; word++)
    {
        g_auto(GStrv) words = cli_words(*word);
        g_autofree char *second = g_strjoinv(" ", words);
        if (words[0] == NULL)
            continue;
        g_string_append_printf(out, "    %s) ((${#words[@]} > 3)) ", *word);
        if (cli_is_verb(*word))
            g_string_append_printf(out, "&& [[ ' %s ' == *\" ${words[2]} \"* ]] ", second);
        g_string_append(out, "&& verb=\"$verb ${words[2]}\" ;;\n");
    }
    g_string_append(out, "    esac\n    case \"$verb\" in\n");
    bash_groups(out, first);
    for (const Verb *const *verb = cli_verbs(); *verb != NULL; verb++)
        bash_verb(out, *verb);
    g_string_append(out, "    esac\n}\ncomplete -F _inferometer inferometer\n");
    return g_string_free(out, FALSE);
}

/* --- fish ----------------------------------------------------------------------------------------------------------- */

/* (transfer full) */
static char *replaced(const char *text, const char *old, const char *new)
{
    g_auto(GStrv) parts = g_strsplit(text, old, -1);
    return g_strjoinv(new, parts);
}

static char *fish_quote(const char *text)
{
    g_autofree char *inside = replaced(text, "'", "\\'");
    return g_strconcat("'", inside, "'", NULL);
}

static void fish_verb(GString *out, const Verb *verb)
{
    g_auto(GStrv) words = g_strsplit(verb->name, " ", 2);
    /* its rows apply where its words were given, in order */
    g_autofree char *seen = g_strjoinv("; and __fish_seen_subcommand_from ", words),
                    *condition = g_strconcat("__fish_seen_subcommand_from ", seen, NULL),
                    *summary = fish_quote(verb->summary);
    if (words[1] == NULL)
        g_string_append_printf(out, "complete -c inferometer -f -n __fish_use_subcommand -a %s -d %s\n", words[0], summary);
    else
        g_string_append_printf(out,
                               "complete -c inferometer -f -n __fish_use_subcommand -a %s\n"
                               "complete -c inferometer%s -n '__fish_seen_subcommand_from %s' -a %s -d %s\n",
                               words[0], cli_is_verb(words[0]) ? "" : " -f", words[0], words[1], summary);
    g_autofree const IfmOption **rows = cli_options(verb);
    for (const IfmOption **row = rows, *option; (option = *row) != NULL; row++)
    {
        g_autofree char *help = fish_quote(option->help),
                        *values = option->choices != NULL ? g_strjoinv(" ", (char **)option->choices) : NULL;
        g_string_append_printf(out, "complete -c inferometer -n '%s' -l %s", condition, option->name);
        if (option->letter != 0)
            g_string_append_printf(out, " -s %c", option->letter);
        if (option->kind != IFM_OPTION_FLAG)
            g_string_append(out, ifm_option_is_path(option) ? " -r -F" : " -x");
        if (is_device(option))
            g_string_append(out, " -a '(inferometer completion devices)'");
        else if (values != NULL)
            g_string_append_printf(out, " -a '%s'", values);
        g_string_append_printf(out, " -d %s\n", help);
    }
    g_autofree char *arguments = words_of(verb);
    if (*arguments != '\0' &&
        !cli_is_group(verb->name)) /* after "help zoo" the words of zoo itself follow, and no first ones */
        g_string_append_printf(out, "complete -c inferometer%s -n '%s%s' -a '%s'\n",
                               verb->positional == POSITIONAL_STUDY ? "" : " -f", condition,
                               verb == &verb_help ? "; and test (count (commandline -opc)) -eq 2" : "", arguments);
}

char *cli_completion_fish(void)
{
    GString *out = g_string_new("# fish completion for inferometer; made by `inferometer completion fish`\n");
    for (const Verb *const *verb = cli_verbs(); *verb != NULL; verb++)
        fish_verb(out, *verb);
    return g_string_free(out, FALSE);
}

/* --- zsh ------------------------------------------------------------------------------------------------------------ */

/* A row as a word of `_arguments`: names, "[help]" and, where it has a value, ":what it is:how it is completed". */
static void zsh_option(GString *out, const IfmOption *option)
{
    const gboolean has_value = option->kind != IFM_OPTION_FLAG;
    g_autofree char *joined = option->choices != NULL ? g_strjoinv(" ", (char **)option->choices) : NULL,
                    *values = g_strconcat("(", joined, ")", NULL), *help = replaced(option->help, "]", "\\]"),
                    *argument = has_value ? replaced(option->argument, ":", "\\:") : NULL;
    const char *action = is_device(option)                   ? "_inferometer_devices"
                         : joined != NULL                    ? values
                         : option->kind == IFM_OPTION_FOLDER ? "_files -/"
                         : ifm_option_is_path(option)        ? "_files"
                                                             : "";
    g_autofree char *text = g_strconcat("[", help, has_value ? "]:" : "]", argument, ":", action, NULL),
                    *quoted = g_shell_quote(text);
    g_string_append_printf(out, " \\\n        %s", option->repeatable ? "\\*" : "");
    if (option->letter != 0)
        g_string_append_printf(out, "{-%c%s,--%s%s}", option->letter, has_value ? "+" : "", option->name,
                               has_value ? "=" : "");
    else
        g_string_append_printf(out, "--%s%s", option->name, has_value ? "=" : "");
    g_string_append(out, quoted);
}

static void zsh_verb(GString *out, const Verb *verb)
{
    g_autofree const IfmOption **rows = cli_options(verb);
    g_autofree char *words = cli_is_group(verb->name) ? g_strdup("") : words_of(verb);
    g_string_append_printf(out, "    '%s') _arguments -S", verb->name);
    for (const IfmOption **row = rows; *row != NULL; row++)
        zsh_option(out, *row);
    const gboolean takes_files = verb->positional == POSITIONAL_FILE || verb->positional == POSITIONAL_STUDY;
    if (takes_files || *words != '\0')
        g_string_append_printf(out, " \\\n        '*:argument:{ %s%s%s }'", takes_files ? "_files; " : "",
                               *words != '\0' ? "compadd -- " : "", words);
    g_string_append(out, " ;;\n");
}

/* "known=('list:SUMMARY' …)": the words that may come first, or after a group's, and what each does. */
static void zsh_known(GString *out, const char *group)
{
    g_auto(GStrv) words = cli_words(group);
    g_string_append(out, "known=(");
    for (char **word = words; *word != NULL; word++)
    {
        const char *const name[] = { group != NULL ? group : *word, group != NULL ? *word : NULL, NULL };
        gsize n_used;
        const Verb *verb = cli_find_verb(name, &n_used, NULL);
        g_autofree char *entry = g_strconcat(*word, verb != NULL ? ":" : "", verb != NULL ? verb->summary : NULL, NULL);
        g_autofree char *quoted = g_shell_quote(entry);
        g_string_append_printf(out, " %s", quoted);
    }
    g_string_append(out, " )");
}

static const char zsh_head[] =
    "#compdef inferometer\n# zsh completion for inferometer; made by `inferometer completion zsh`\n"
    "_inferometer_devices()\n{\n    compset -P '*='\n"
    "    compadd -- ${(f)\"$(_call_program devices inferometer completion devices)\"}\n}\n"
    "_inferometer()\n{\n    local helps verb=$words[2]\n    local -a known\n"
    "    if [[ $verb == help && $CURRENT -gt 2 && $words[CURRENT] != -* ]]; then\n"
    "        helps=1 verb=$words[3]\n        shift words; (( CURRENT-- ))\n    fi\n"
    "    (( CURRENT == 2 )) && verb=\n    case $verb in\n    '') ";

/* After a group's word come its verbs; "trace" is a verb, too, whose options and files may come as well. */
static const char zsh_middle[] =
    "    esac\n    if (( CURRENT == 2 || CURRENT == 3 && $#known )); then\n        _describe verb known\n"
    "    elif [[ -n ${(M)known:#$words[3]:*} ]]; then\n"
    "        verb=\"$verb $words[3]\"\n        shift words; (( CURRENT-- ))\n    fi\n"
    "    [[ -z $helps ]] || return 0\n    shift words; (( CURRENT-- ))\n    case $verb in\n";

char *cli_completion_zsh(void)
{
    GString *out = g_string_new(zsh_head);
    g_auto(GStrv) first = cli_words(NULL);
    zsh_known(out, NULL);
    g_string_append(out, " ;;\n");
    for (char **word = first; *word != NULL; word++)
        if (cli_is_group(*word))
        {
            g_string_append_printf(out, "    %s) ", *word);
            zsh_known(out, *word);
            g_string_append(out, " ;;\n");
        }
    g_string_append(out, zsh_middle);
    for (const Verb *const *verb = cli_verbs(); *verb != NULL; verb++)
        zsh_verb(out, *verb);
    g_string_append(out, "    esac\n}\n_inferometer \"$@\"\n");
    return g_string_free(out, FALSE);
}
