#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "cli.h"

/* The file of --log: a line for what is done, found and skipped, whatever --quiet says. */

static FILE *log_file; /* NULL: none was asked for */
static gint64 began_us;

void cli_log(const char *level, const char *format, ...)
{
    va_list values;
    if (log_file == NULL)
        return;
    va_start(values, format);
    g_autofree char *text = g_strdup_vprintf(format, values);
    va_end(values);
    g_strdelimit(text, "\r\n\t", ' ');
    g_autofree char *clean = ifm_format_clean(text);
    const gint64 now_us = g_get_real_time();
    g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(now_us / G_USEC_PER_SEC);
    g_autofree char *seconds = g_date_time_format(time, "%Y-%m-%dT%H:%M:%S");
    fprintf(log_file, "%s.%03dZ %s %s\n", seconds, (int)(now_us % G_USEC_PER_SEC / 1000), level, g_strchomp(clean));
    fflush(log_file);
}

/* What GLib and libraries on it report goes there, too. */
static GLogWriterOutput write_report(GLogLevelFlags level, const GLogField *fields, gsize n_fields, gpointer user)
{
    g_autofree char *text = g_log_writer_format_fields(level, fields, n_fields, FALSE);
    cli_log((level & (G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL)) != 0 ? "ERROR" : "NOTE", "%s", text);
    return g_log_writer_default(level, fields, n_fields, user);
}

int cli_log_open(const Arguments *arguments, const char *const *words)
{
    const char *path = cli_text(arguments, "log");
    g_autoptr(GError) error = NULL;
    if (path == NULL)
        return CLI_EXIT_OK;
    if (g_str_equal(path, "-"))
        return cli_usage("--log: standard output has the results: name a file");
    if (!cli_can_write(path, &error))
        return cli_usage("--log: %s", error->message);
    const int status = cli_check_outputs(arguments, TRUE); /* no model is appended to */
    if (status != CLI_EXIT_OK)
        return status;
    log_file = fopen(path, "ae");
    if (log_file == NULL)
        return cli_usage("--log: %s: cannot be written: %s", path, g_strerror(errno));
    g_autofree char *line = g_strjoinv(" ", (char **)words);
    began_us = g_get_monotonic_time();
    g_log_set_writer_func(write_report, NULL, NULL);
    cli_log("INFO", "inferometer " IFM_VERSION " begins: %s", line);
    return CLI_EXIT_OK;
}

void cli_log_close(int status)
{
    if (log_file == NULL)
        return;
    g_autofree char *time = ifm_format_duration((double)(g_get_monotonic_time() - began_us) * 1000);
    cli_log("INFO", "ends after %s with status %d", time, status);
    fclose(log_file);
    log_file = NULL;
}
