#include <locale.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <base/base.h>

#include "cli.h"

/* The table of verbs: parsing, --help, the man page and completion all come from it. How to add one: docs/add-a-verb.md. */
static const Verb *const verbs[] = {
    &verb_profile,
    &verb_compare,
    &verb_study_run,
    &verb_study_submit,
    &verb_study_status,
    &verb_study_merge,
    &verb_study_export,
    &verb_study_lookup,
    &verb_study_predict,
    &verb_study_import,
    &verb_study_list,
    &verb_plan,
    &verb_run,
    &verb_trace,
    &verb_trace_diff,
    &verb_devices,
    &verb_zoo_list,
    &verb_zoo_export,
    &verb_report,
    &verb_store_show,
    &verb_store_merge,
    &verb_store_export,
    &verb_store_check,
    &verb_kernels_list,
    &verb_kernels_show,
    &verb_kernels_export,
    &verb_kernels_extract,
    &verb_kernels_dag,
    &verb_kernels_run,
    &verb_predict,
    &verb_evaluate,
    &verb_stress,
    &verb_train,
    &verb_tune,
    &verb_help,
    &verb_completion,
    NULL,
};

const Verb *const *cli_verbs(void)
{
    return verbs;
}

gboolean cli_is_group(const char *word)
{
    gsize length = strlen(word);
    for (const Verb *const *verb = verbs; *verb != NULL; verb++)
        if (strncmp((*verb)->name, word, length) == 0 && (*verb)->name[length] == ' ')
            return TRUE;
    return FALSE;
}

static const Verb *find_exactly(const char *name)
{
    for (const Verb *const *verb = verbs; *verb != NULL; verb++)
        if (g_str_equal((*verb)->name, name))
            return *verb;
    return NULL;
}

gboolean cli_is_verb(const char *word)
{
    return find_exactly(word) != NULL;
}

GStrv cli_words(const char *group)
{
    GPtrArray *all = g_ptr_array_new();
    for (const Verb *const *verb = verbs; *verb != NULL; verb++)
    {
        g_auto(GStrv) words = g_strsplit((*verb)->name, " ", 2);
        const char *word = group == NULL ? words[0] : g_str_equal(words[0], group) ? words[1] : NULL;
        if (word != NULL && !g_ptr_array_find_with_equal_func(all, word, g_str_equal, NULL))
            g_ptr_array_add(all, g_strdup(word));
    }
    g_ptr_array_add(all, NULL);
    return (GStrv)g_ptr_array_free(all, FALSE);
}

const Verb *cli_find_verb(const char *const *words, gsize *n_used, GError **error)
{
    if (cli_is_group(words[0]))
    {
        g_auto(GStrv) names = cli_words(words[0]);
        g_autofree char *all = g_strjoinv(", ", names);
        g_autofree char *name = words[1] != NULL ? g_strjoin(" ", words[0], words[1], NULL) : NULL;
        const Verb *verb = name != NULL ? find_exactly(name) : NULL;
        *n_used = 2;
        if (verb == NULL &&
            (verb = find_exactly(words[0])) != NULL) /* "trace FILE", although "trace diff" is a verb, too */
            *n_used = 1;
        if (verb == NULL && (words[1] == NULL || words[1][0] == '-'))
            ifm_error_refuse(error, "%s: which of %s?", words[0], all);
        else if (verb == NULL)
        {
            g_autofree char *hint = ifm_nearest_hint(words[1], (const char *const *)names);
            ifm_error_refuse(error, "%s: unknown subcommand \"%s\" (there are %s)%s", words[0], words[1], all, hint);
        }
        return verb;
    }
    const Verb *verb = find_exactly(words[0]);
    *n_used = 1;
    if (verb == NULL)
    {
        g_auto(GStrv) names = cli_words(NULL);
        g_autofree char *hint = ifm_nearest_hint(words[0], (const char *const *)names);
        ifm_error_refuse(error, "unknown %s \"%s\"%s (see inferometer --help)",
                         words[0][0] == '-' ? "option" : "subcommand", words[0], hint);
    }
    return verb;
}

#define LEAST_STACK_KIB 256 /* runtimes need more than a few pages; below that they crash without a word */

static gboolean check_stack(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur >= LEAST_STACK_KIB * (rlim_t)1024)
        return TRUE;
    cli_complain("the stack is limited to %" G_GUINT64_FORMAT " KiB (ulimit -s), and at least %d KiB are needed",
                 (guint64)limit.rlim_cur / 1024, LEAST_STACK_KIB);
    return FALSE;
}

static int run_verb(const char *const *words)
{
    gsize n_used;
    g_autoptr(GError) error = NULL;
    const Verb *verb = cli_find_verb(words, &n_used, &error);
    if (verb == NULL)
    {
        if (cli_is_group(words[0]) && (g_strcmp0(words[1], "--help") == 0 || g_strcmp0(words[1], "-h") == 0))
        {
            g_autofree char *text = cli_help_group(words[0]);
            return cli_print(text);
        }
        cli_complain("%s", error->message);
        return CLI_EXIT_USAGE;
    }
    cli_set_verb(verb);
    g_autoptr(Arguments) arguments = cli_arguments_parse(verb, words + n_used, &error);
    if (arguments == NULL)
        return cli_usage("%s", error->message);
    cli_set_messages(cli_given(arguments, "quiet"), g_strcmp0(cli_output(arguments, "progress"), "json") == 0);
    if (cli_given(arguments, "help"))
    {
        g_autofree char *text = cli_help_verb(verb);
        return cli_print(text);
    }
    if (!check_stack())
        return cli_status_of(IFM_ERROR_UNAVAILABLE);
    int status = cli_check_links(arguments);
    if (status == CLI_EXIT_OK)
        status = cli_log_open(arguments, words);
    if (status == CLI_EXIT_OK)
        status = cli_check_outputs(arguments, FALSE);
    if (status == CLI_EXIT_OK)
        status = verb->run(arguments);
    cli_log_close(status);
    return status;
}

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, "");
    signal(SIGPIPE, SIG_IGN); /* a pipe without reader, a file past its limit: errors of the write, reported in one line */
    signal(SIGXFSZ, SIG_IGN);
    const char *first = argc > 1 ? argv[1] : NULL;
    if (first == NULL)
    {
        cli_complain("what shall it do? (see inferometer --help)");
        return CLI_EXIT_USAGE;
    }
    if (g_str_equal(first, "--version") || g_str_equal(first, "-V"))
        return cli_print("inferometer " IFM_VERSION "\n");
    if (g_str_equal(first, "--help") || g_str_equal(first, "-h"))
    {
        g_autofree char *text = cli_help_overview();
        return cli_print(text);
    }
    return run_verb((const char *const *)argv + 1);
}
