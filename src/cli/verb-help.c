#include <unistd.h>

#include <document/document.h>

#include "cli.h"

/* The verbs help and completion print help screens, the man page and the completion scripts of shells. */

/* --- help ----------------------------------------------------------------------------------------------------------- */

static int run_help(const Arguments *arguments)
{
    const char *const *words = cli_positional(arguments);
    g_autoptr(GError) error = NULL;
    g_autofree char *text = NULL;
    gsize n_used;
    if (cli_given(arguments, "json") || cli_given(arguments, "schema"))
    {
        json_auto_t *all = cli_given(arguments, "json") ? cli_help_json() : ifm_document_schema();
        return cli_write_json("-", all);
    }
    if (cli_given(arguments, "man"))
        text = cli_man_page();
    else if (words[0] == NULL)
        text = cli_help_overview();
    else if (cli_is_group(words[0]) && !cli_is_verb(words[0]) && words[1] == NULL)
        text = cli_help_group(words[0]);
    else
    {
        const Verb *verb = cli_find_verb(words, &n_used, &error);
        if (verb == NULL)
        {
            cli_complain("%s", error->message); /* which points to the overview itself */
            return CLI_EXIT_USAGE;
        }
        text = cli_help_verb(verb);
    }
    return cli_print(text);
}

static const char *const schemas[] = { "document", NULL };

static const IfmOption help_options[] = {
    { "man", IFM_OPTION_FLAG, NULL, "print the whole manual page as roff" },
    { "json", IFM_OPTION_FLAG, NULL, "print every subcommand with its arguments and options as JSON",
      .excludes = "man,schema" },
    { "schema", IFM_OPTION_CHOICE, "WHAT", "print the JSON Schema of what --document writes: document", NULL, schemas,
      .excludes = "man" },
    { NULL },
};

const Verb verb_help = {
    .name = "help",
    .summary = "explain a subcommand",
    .arguments = "[SUBCOMMAND]",
    .max = 2,
    .positional = POSITIONAL_WORD,
    .tables = { help_options },
    .run = run_help,
};

/* --- completion ----------------------------------------------------------------------------------------------------- */

static const struct
{
    const char *shell;
    char *(*make)(void);
} shells[] = { { "bash", cli_completion_bash }, { "fish", cli_completion_fish }, { "zsh", cli_completion_zsh } };

static int run_completion(const Arguments *arguments)
{
    const char *shell = cli_positional(arguments)[0];
    for (gsize i = 0; i < G_N_ELEMENTS(shells); i++)
        if (g_str_equal(shell, shells[i].shell))
        {
            g_autofree char *script = shells[i].make();
            return cli_print(script);
        }
    if (g_str_equal(shell, "devices")) /* what those scripts ask for the names of devices */
    {
        g_autofree char *names = cli_completion_devices();
        return cli_print(names);
    }
    return cli_usage("no completion for the shell \"%s\": bash, fish or zsh", shell);
}

const Verb verb_completion = {
    .name = "completion",
    .summary = "print a shell's completion script",
    .arguments = "SHELL",
    .positional = POSITIONAL_WORD,
    .details = "SHELL is bash, fish or zsh.",
    .examples = { { "source <(inferometer completion bash)", "completes subcommands and options in this shell" } },
    .run = run_completion,
};
