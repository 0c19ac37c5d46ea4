#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

/* What the command prints: complaints and notes on standard error, text and JSON on standard output. */

/* Set once by main() before anything is printed. */
static const Verb *current_verb;
static gboolean is_quiet, is_json;

void cli_set_verb(const Verb *verb)
{
    current_verb = verb;
}

void cli_set_messages(gboolean quiet, gboolean json)
{
    is_quiet = quiet;
    is_json = json;
}

void cli_say_json(json_t *line)
{
    g_autofree char *text = json_dumps(line, JSON_COMPACT);
    fprintf(stderr, "%s\n", text);
    fflush(stderr);
    json_decref(line);
}

#define MESSAGE_INDENT 2 /* of a message's further lines */
#define LONGEST_WORD 240 /* bytes: of what is longer, as a name that somebody made up, both ends are shown */

/* (transfer full) */
static char *shorten_words(const char *text)
{
    g_auto(GStrv) words = g_strsplit(text, " ", -1);
    for (char **word = words; *word != NULL; word++)
    {
        const glong n = g_utf8_strlen(*word, -1), keep = LONGEST_WORD / 3;
        if (n <= LONGEST_WORD)
            continue;
        g_autofree char *head = g_utf8_substring(*word, 0, keep), *tail = g_utf8_substring(*word, n - keep, n);
        g_free(*word);
        *word = g_strdup_printf("%s…(%ld characters)…%s", head, n - 2 * keep, tail);
    }
    return g_strjoinv(" ", words);
}

/* Whatever a runtime or a file put into a message, it stays one line of harmless text. */
static void say(const char *level, const char *kind, gboolean shown, const char *format, va_list values)
{
    g_autofree char *message = g_strdup_vprintf(format, values);
    g_strdelimit(message, "\r\n\t", ' ');
    g_autofree char *harmless = ifm_format_clean(message), *clean = shorten_words(harmless);
    g_strchomp(clean);
    cli_log(level, "%s", clean);
    if (shown && is_json)
        cli_say_json(json_pack("{s:s, s:s}", "kind", kind, "text", clean));
    if (!shown || is_json)
        return;
    /* at a terminal in lines of its width; else one line, which programs read */
    g_autofree char *line = g_strconcat("inferometer: ", clean, NULL);
    const int width = isatty(STDERR_FILENO) ? ifm_screen_detect(STDERR_FILENO).width : IFM_SCREEN_UNBOUNDED;
    g_autoptr(GString) wrapped = g_string_new(NULL);
    ifm_format_wrap(wrapped, line, MESSAGE_INDENT, 0, width);
    g_printerr("%s", wrapped->str);
}

void cli_complain(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    say("ERROR", "error", TRUE, format, values);
    va_end(values);
}

void cli_complain_alike(const char *const *lines)
{
    g_autoptr(GPtrArray) masks = g_ptr_array_new_with_free_func(g_free);
    for (const char *const *line = lines; *line != NULL; line++)
        g_ptr_array_add(masks, ifm_format_mask(*line));
    for (guint i = 0; i < masks->len; i++)
    {
        guint first = 0, n_more = 0;
        while (!g_str_equal(masks->pdata[first], masks->pdata[i]))
            first++;
        for (guint k = i + 1; k < masks->len; k++)
            n_more += g_str_equal(masks->pdata[k], masks->pdata[i]);
        if (first < i)
            continue;
        g_autofree char *more = n_more > 0 ? g_strdup_printf(" (and %u more alike)", n_more) : g_strdup("");
        cli_complain("%s%s", lines[i], more);
    }
}

void cli_note(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    say("NOTE", "note", !is_quiet, format, values);
    va_end(values);
}

/* What was said once of one of many models, sizes or devices is not said again of the next. */
void cli_note_of(const char *message, void *user)
{
    static GHashTable *said; /* the verb's thread alone says anything */
    if (said == NULL)
        said = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    if (g_hash_table_add(said, g_strdup(message)))
        cli_note("%s", message);
}

int cli_fail(const GError *error)
{
    /* A pipe's reader that has gone (`| head`) is no error. */
    if (g_error_matches(error, IFM_ERROR, IFM_ERROR_CANCELLED))
        return CLI_EXIT_SIGNAL + (cli_interrupt_signal() != 0 ? cli_interrupt_signal() : SIGPIPE);
    if (g_error_matches(error, IFM_ERROR, IFM_ERROR_USAGE))
        return cli_usage("%s", error->message);
    cli_complain("%s", error->message);
    return ifm_error_exit_status(error);
}

int cli_status_of(IfmErrorCode code)
{
    g_autoptr(GError) error = g_error_new_literal(IFM_ERROR, (int)code, "");
    return ifm_error_exit_status(error);
}

int cli_usage(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    g_autofree char *message = g_strdup_vprintf(format, values);
    va_end(values);
    cli_complain("%s: %s (see inferometer help %s)", current_verb->name, message, current_verb->name);
    return CLI_EXIT_USAGE;
}

int cli_write(const char *path, const char *text)
{
    g_autoptr(GError) error = NULL;
    return ifm_output_write(path, text, strlen(text), &error) ? CLI_EXIT_OK : cli_fail(error);
}

int cli_print(const char *text)
{
    return cli_write("-", text);
}

int cli_write_json(const char *path, const json_t *json)
{
    g_autoptr(GError) error = NULL;
    return ifm_output_write_json(path, json, &error) ? CLI_EXIT_OK : cli_fail(error);
}
