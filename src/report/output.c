#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report-private.h"

#define WIDTH_ELSEWHERE 100
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
    return WIDTH_ELSEWHERE;
}

IfmScreen ifm_screen_detect(int fd)
{
    const char *term = g_getenv("TERM"), *no_colour = g_getenv("NO_COLOR");
    gboolean plain = (no_colour != NULL && *no_colour != '\0') || term == NULL || g_str_equal(term, "dumb");
    return (IfmScreen){
        .width = CLAMP(terminal_width(fd), WIDTH_LEAST, WIDTH_MOST),
        .colour = isatty(fd) && !plain,
        .utf8 = g_get_charset(NULL),
    };
}

static gboolean set_error(GError **error, const char *path, int code)
{
    g_set_error(error, IFM_ERROR, code == EPIPE ? IFM_ERROR_CANCELLED : IFM_ERROR_UNAVAILABLE, "%s: %s",
                g_str_equal(path, "-") ? "standard output" : path, g_strerror(code));
    return FALSE;
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

static gboolean write_in_place(const char *path, const char *text, gsize length, GError **error)
{
    int fd = g_open(path, O_WRONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return set_error(error, path, errno);
    int code = write_all(fd, text, length);
    if (close(fd) != 0 && code == 0)
        code = errno;
    return code == 0 || set_error(error, path, code);
}

/* The file that @path leads to, so that a symbolic link stays one. */
static char *resolve(const char *path)
{
    char *target = realpath(path, NULL);
    char *copy = g_strdup(target != NULL ? target : path);
    free(target);
    return copy;
}

/* Writes beside the target, syncs, then takes its name: whatever happens, the old file or the new one is there, whole. */
static gboolean replace(const char *path, const char *text, gsize length, GError **error)
{
    struct stat old;
    g_autofree char *target = resolve(path);
    g_autofree char *beside = g_strdup_printf("%s.XXXXXX", target);
    if (g_stat(target, &old) == 0 && g_access(target, W_OK) != 0)
        return set_error(error, path, errno);
    mode_t mask = umask(0);
    umask(mask);
    mode_t mode = g_stat(target, &old) == 0 ? old.st_mode & 07777 : 0666 & ~mask;
    int fd = g_mkstemp_full(beside, O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0)
        return set_error(error, path, errno);
    int code = write_all(fd, text, length);
    if (code == 0 && (fchmod(fd, mode) != 0 || fsync(fd) != 0))
        code = errno;
    if (close(fd) != 0 && code == 0)
        code = errno;
    if (code == 0 && g_rename(beside, target) != 0)
        code = errno;
    if (code != 0)
        g_unlink(beside);
    return code == 0 || set_error(error, path, code);
}

gboolean ifm_output_write(const char *path, const char *text, gsize length, GError **error)
{
    struct stat what;
    if (g_str_equal(path, "-"))
    {
        int code = write_all(STDOUT_FILENO, text, length);
        return code == 0 || set_error(error, path, code);
    }
    if (g_stat(path, &what) == 0 && S_ISDIR(what.st_mode))
        return set_error(error, path, EISDIR);
    if (g_stat(path, &what) == 0 && !S_ISREG(what.st_mode))
        return write_in_place(path, text, length, error);
    return replace(path, text, length, error);
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
