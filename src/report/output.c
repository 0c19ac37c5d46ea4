#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <inferometer/file.h>

#include "report-private.h"

#define WIDTH_LEAST 40
#define WIDTH_MOST 400

static int terminal_width(int fd)
{
    struct winsize size;
    const char *columns = g_getenv("COLUMNS");
    gint64 named = columns != NULL ? g_ascii_strtoll(columns, NULL, 10) : 0;
    if (named > 0)
        return (int)MIN(named, WIDTH_MOST);
    if (isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return IFM_SCREEN_UNBOUNDED;
}

IfmScreen ifm_screen_detect(int fd)
{
    const char *term = g_getenv("TERM"), *no_colour = g_getenv("NO_COLOR");
    gboolean plain = (no_colour != NULL && *no_colour != '\0') || term == NULL || g_str_equal(term, "dumb");
    return (IfmScreen){
        .width = MAX(terminal_width(fd), WIDTH_LEAST),
        .colour = isatty(fd) && !plain,
        .utf8 = g_get_charset(NULL),
    };
}

/* Returns: 0 or errno. */
static int write_all(int fd, const char *text, gsize length)
{
    while (length > 0)
    {
        gssize written = write(fd, text, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno;
        text += written;
        length -= (gsize)written;
    }
    return 0;
}

gboolean ifm_output_write(const char *path, const char *text, gsize length, GError **error)
{
    if (!g_str_equal(path, "-"))
        return ifm_file_save(path, text, length, error);
    int code = write_all(STDOUT_FILENO, text, length);
    if (code != 0)
        g_set_error(error, IFM_ERROR, code == EPIPE ? IFM_ERROR_CANCELLED : IFM_ERROR_UNAVAILABLE, "standard output: %s",
                    g_strerror(code));
    return code == 0;
}

gboolean ifm_output_write_json(const char *path, const json_t *json, GError **error)
{
    char *text = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    if (text == NULL)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_FAILED, "%s: a value that JSON cannot hold", path);
        return FALSE;
    }
    g_autofree char *line = g_strconcat(text, "\n", NULL);
    free(text);
    return ifm_output_write(path, line, strlen(line), error);
}
