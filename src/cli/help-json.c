#include "cli.h"

/* The table of verbs and options as JSON, for programs that run the command. */

static const char *const kind_names[] = {
    [IFM_OPTION_FLAG] = "flag",     [IFM_OPTION_TEXT] = "text",         [IFM_OPTION_FILE] = "file",
    [IFM_OPTION_OUTPUT] = "output", [IFM_OPTION_FOLDER] = "folder",     [IFM_OPTION_CHOICE] = "choice",
    [IFM_OPTION_COUNT] = "count",   [IFM_OPTION_DURATION] = "duration", [IFM_OPTION_BYTES] = "bytes",
    [IFM_OPTION_RATIO] = "ratio",
};

static const char *const positional_names[] = {
    [POSITIONAL_NONE] = "none", [POSITIONAL_FILE] = "file", [POSITIONAL_WORD] = "word", [POSITIONAL_STUDY] = "study"
};

/* Names of those of the verb's that it is not given with. */
static json_t *excluded(const IfmOption *option, const IfmOption *const *all)
{
    json_t *names = json_array();
    for (; *all != NULL; all++)
        if (ifm_option_excludes(option, *all))
            json_array_append_new(names, json_string((*all)->name));
    return names;
}

static json_t *option_to_json(const IfmOption *option, const IfmOption *const *all)
{
    const char letter[2] = { option->letter };
    json_t *choices = option->choices != NULL ? json_array() : json_null();
    for (const char *const *choice = option->choices; choice != NULL && *choice != NULL; choice++)
        json_array_append_new(choices, json_string(*choice));
    return json_pack("{s:s, s:s?, s:s, s:s?, s:s, s:s?, s:o, s:b, s:b, s:o, s:o, s:o}", "name", option->name, "letter",
                     option->letter != 0 ? letter : NULL, "kind", kind_names[option->kind], "argument", option->argument,
                     "help", option->help, "default", option->fallback, "choices", choices, "repeatable",
                     option->repeatable, "comma", option->is_list, "excludes", excluded(option, all), "minimum",
                     option->kind == IFM_OPTION_COUNT ? json_integer(option->minimum) : json_null(), "maximum",
                     option->maximum != 0 ? json_integer(option->maximum) : json_null());
}

static json_t *verb_to_json(const Verb *verb)
{
    g_autofree const IfmOption **rows = cli_options(verb);
    json_t *options = json_array(), *examples = json_array();
    guint min, max;
    cli_n_arguments(verb, &min, &max);
    for (const IfmOption **row = rows; *row != NULL; row++)
        json_array_append_new(options, option_to_json(*row, rows));
    for (gsize i = 0; i < G_N_ELEMENTS(verb->examples) && verb->examples[i].line != NULL; i++)
        json_array_append_new(
            examples, json_pack("{s:s, s:s}", "line", verb->examples[i].line, "meaning", verb->examples[i].meaning));
    return json_pack("{s:s, s:s, s:s, s:i, s:o, s:s, s:s?, s:o, s:o}", "name", verb->name, "summary", verb->summary,
                     "arguments", verb->arguments, "min", (int)min, "max",
                     max == G_MAXUINT ? json_null() : json_integer(max), "positional", positional_names[verb->positional],
                     "details", verb->details, "examples", examples, "options", options);
}

json_t *cli_help_json(void)
{
    json_t *verbs = json_array();
    for (const Verb *const *verb = cli_verbs(); *verb != NULL; verb++)
        json_array_append_new(verbs, verb_to_json(*verb));
    return json_pack("{s:s, s:i, s:o}", "version", IFM_VERSION, "format", 1, "verbs", verbs);
}
