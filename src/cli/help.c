#include <string.h>

#include "cli.h"

/* These functions write the help screens and the man page from the tables of verbs and options. */

#define INDENT 2
#define HELP_COLUMN 26 /* where an option's explanation begins */
#define HELP_WIDTH 100 /* text is not set wider than this */

static const char tagline[] = "measures neural-network inference on real runtimes, plans it and runs the plan";

/* What an exit status means; shown by --help and the man page. */
static const struct
{
    const char *status, *meaning;
} exit_statuses[] = {
    { "0", "everything asked for was done" },
    { "1", "something was tried and failed: an unsupported model, a crash, a hang or a mismatch of outputs" },
    { "2", "the command line is wrong" },
    { "3", "the input is wrong: a model, a study, a table, a plan, a trace, a device's name, a store that is damaged or "
           "newer than this program" },
    { "4", "something is missing: a runtime, a device, a file, a permission, room on the disk" },
    { "128+N", "signal N came; what was measured until then is kept" },
};

static const struct
{
    const char *name, *meaning;
} variables[] = {
    { "IFM_ONNXRUNTIME_LIBRARY", "the ONNX Runtime library to use (libonnxruntime.so)" },
    { "IFM_OPENVINO_LIBRARY", "the OpenVINO library to use (libopenvino_c.so)" },
    { "IFM_DEVICES_DIR", "a folder of simulated machines, looked in first" },
    { "NO_COLOR", "set to anything: no colours" },
    { "COLUMNS", "width to print tables for" },
};

/* --- setting text --------------------------------------------------------------------------------------------------- */

static int text_width(void)
{
    return MIN(cli_screen().width, HELP_WIDTH);
}

static void heading(GString *out, const char *title)
{
    const gboolean bold = cli_screen().colour;
    g_string_append_printf(out, "\n%s%s%s\n", bold ? "\033[1m" : "", title, bold ? "\033[0m" : "");
}

/* One row of a list: a term and what it means. */
static void item(GString *out, const char *term, int column, const char *meaning)
{
    int at = INDENT + ifm_text_width(term);
    g_string_append_printf(out, "%*s%s", INDENT, "", term);
    if (at + 2 > column)
        g_string_append_printf(out, "\n%*s", column, "");
    else
        g_string_append_printf(out, "%*s", column - at, "");
    ifm_format_wrap(out, meaning, column, column, text_width());
}

static void paragraphs(GString *out, const char *text)
{
    g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
    for (char **line = lines; *line != NULL; line++)
    {
        g_string_append_c(out, '\n');
        ifm_format_wrap(out, *line, 0, 0, text_width());
    }
}

/* "-o, --output DIR" (transfer full) */
static char *option_term(const IfmOption *option)
{
    char letter[] = { '-', option->letter, ',', ' ', '\0' };
    return g_strconcat(option->letter != 0 ? letter : "    ", "--", option->name, option->argument != NULL ? " " : "",
                       option->argument != NULL ? option->argument : "", NULL);
}

/* The explanation with what is true unless said otherwise. (transfer full) */
static char *option_meaning(const IfmOption *option)
{
    return g_strconcat(option->help, option->repeatable ? "; may be given several times" : "",
                       option->fallback != NULL ? " (default: " : "", option->fallback != NULL ? option->fallback : "",
                       option->fallback != NULL ? ")" : "", NULL);
}

/* --- screens -------------------------------------------------------------------------------------------------------- */

static void list_verbs(GString *out, const char *group)
{
    for (const Verb *const *verb = cli_verbs(); *verb != NULL; verb++)
        if (group == NULL || (g_str_has_prefix((*verb)->name, group) && (*verb)->name[strlen(group)] == ' '))
            item(out, (*verb)->name, 19, (*verb)->summary);
}

char *cli_help_overview(void)
{
    GString *out = g_string_new(NULL);
    g_string_append_printf(out, "inferometer %s: %s\n\nusage: inferometer VERB [OPTION…] [ARGUMENT…]\n", IFM_VERSION,
                           tagline);
    heading(out, "Verbs");
    list_verbs(out, NULL);
    g_string_append(out, "\n`inferometer help VERB` explains one; `inferometer --version` prints the version.\n");
    heading(out, "Examples");
    for (const Verb *const *verb = cli_verbs(); *verb != NULL; verb++)
        if ((*verb)->examples[0].line != NULL)
            g_string_append_printf(out, "%*s%s\n", INDENT, "", (*verb)->examples[0].line);
    heading(out, "Exit status");
    for (gsize i = 0; i < G_N_ELEMENTS(exit_statuses); i++)
        item(out, exit_statuses[i].status, 10, exit_statuses[i].meaning);
    heading(out, "Environment");
    for (gsize i = 0; i < G_N_ELEMENTS(variables); i++)
        item(out, variables[i].name, HELP_COLUMN + 4, variables[i].meaning);
    return g_string_free(out, FALSE);
}

char *cli_help_group(const char *group)
{
    GString *out = g_string_new(NULL);
    g_string_append_printf(out, "usage: inferometer %s VERB [OPTION…] [ARGUMENT…]\n\n", group);
    list_verbs(out, group);
    return g_string_free(out, FALSE);
}

char *cli_help_verb(const Verb *verb)
{
    GString *out = g_string_new(NULL);
    g_string_append_printf(out, "usage: inferometer %s [OPTION…]%s%s\n\n", verb->name, *verb->arguments != '\0' ? " " : "",
                           verb->arguments);
    g_autofree char *sentence = g_strdup_printf("%c%s.", g_ascii_toupper(verb->summary[0]), verb->summary + 1);
    ifm_format_wrap(out, sentence, 0, 0, text_width());
    if (verb->details != NULL)
        paragraphs(out, verb->details);
    if (cli_is_group(verb->name))
    {
        heading(out, "Verbs of this group");
        list_verbs(out, verb->name);
    }
    heading(out, "Options");
    g_autofree const IfmOption **rows = cli_options(verb);
    for (const IfmOption **row = rows, *option; (option = *row) != NULL; row++)
    {
        g_autofree char *term = option_term(option), *meaning = option_meaning(option);
        item(out, term, HELP_COLUMN + 4, meaning);
    }
    for (gsize i = 0; verb->examples[i].line != NULL; i++)
    {
        if (i == 0)
            heading(out, "Examples");
        g_string_append_printf(out, "%*s%s\n%*s", INDENT, "", verb->examples[i].line, 2 * INDENT + 2, "");
        ifm_format_wrap(out, verb->examples[i].meaning, 2 * INDENT + 2, 2 * INDENT + 2, text_width());
    }
    return g_string_free(out, FALSE);
}

/* --- the man page --------------------------------------------------------------------------------------------------- */

/* Text with what roff would take for its own escaped. */
static void roff(GString *out, const char *text)
{
    if (*text == '.' || *text == '\'')
        g_string_append(out, "\\&");
    for (const char *at = text; *at != '\0'; at++)
    {
        if (*at == '\\')
            g_string_append(out, "\\e");
        else if (*at == '-')
            g_string_append(out, "\\-");
        else if (*at == '\n')
            g_string_append(out, "\n.PP\n");
        else if (g_str_has_prefix(at, "…"))
        {
            g_string_append(out, "...");
            at += strlen("…") - 1;
        }
        else
            g_string_append_c(out, *at);
    }
}

static void roff_item(GString *out, const char *term, const char *meaning)
{
    g_string_append(out, ".TP\n.B ");
    roff(out, term);
    g_string_append_c(out, '\n');
    roff(out, meaning);
    g_string_append_c(out, '\n');
}

static void roff_verb(GString *out, const Verb *verb)
{
    g_string_append_printf(out, ".SS inferometer %s\n.B inferometer %s\n[OPTION...] ", verb->name, verb->name);
    roff(out, verb->arguments);
    g_string_append_printf(out, "\n.PP\n%c", g_ascii_toupper(verb->summary[0]));
    roff(out, verb->summary + 1);
    g_string_append(out, ".\n");
    if (verb->details != NULL)
    {
        g_string_append(out, ".PP\n");
        roff(out, verb->details);
        g_string_append_c(out, '\n');
    }
    g_autofree const IfmOption **rows = cli_options(verb);
    for (const IfmOption **row = rows, *option; (option = *row) != NULL; row++)
    {
        g_autofree char *term = option_term(option), *meaning = option_meaning(option);
        roff_item(out, g_strchug(term), meaning);
    }
    for (gsize i = 0; verb->examples[i].line != NULL; i++)
    {
        g_string_append(out, ".PP\n");
        roff(out, verb->examples[i].meaning);
        g_string_append(out, ":\n.PP\n.RS\n.nf\n");
        roff(out, verb->examples[i].line);
        g_string_append(out, "\n.fi\n.RE\n");
    }
}

char *cli_man_page(void)
{
    GString *out = g_string_new(NULL);
    g_string_append_printf(out, ".TH INFEROMETER 1 \"\" \"inferometer %s\" \"User Commands\"\n", IFM_VERSION);
    g_string_append_printf(out, ".SH NAME\ninferometer \\- %s\n.SH SYNOPSIS\n",
                           "measure neural\\-network inference on real runtimes, plan it and run the plan");
    g_string_append(out, ".B inferometer\nVERB [OPTION...] [ARGUMENT...]\n.SH VERBS\n");
    for (const Verb *const *verb = cli_verbs(); *verb != NULL; verb++)
        roff_verb(out, *verb);
    g_string_append(out, ".SH EXIT STATUS\n");
    for (gsize i = 0; i < G_N_ELEMENTS(exit_statuses); i++)
        roff_item(out, exit_statuses[i].status, exit_statuses[i].meaning);
    g_string_append(out, ".SH ENVIRONMENT\n");
    for (gsize i = 0; i < G_N_ELEMENTS(variables); i++)
        roff_item(out, variables[i].name, variables[i].meaning);
    return g_string_free(out, FALSE);
}
