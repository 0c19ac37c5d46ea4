#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <base/base.h>

#include "document-private.h"

/* Output goes to a file or to standard output: the terminal's properties are detected, and JSON is laid out in lines. */

#define WIDTH_MIN 40
#define WIDTH_MAX 400
#define JSON_WIDTH 110 /* a line of numbers ends after so many bytes */

static int terminal_width(int fd)
{
    struct winsize size;
    const char *columns = g_getenv("COLUMNS");
    gint64 named = columns != NULL ? g_ascii_strtoll(columns, NULL, 10) : 0;
    if (named > 0)
        return (int)MIN(named, WIDTH_MAX);
    if (isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return IFM_SCREEN_UNBOUNDED;
}

IfmScreen ifm_screen_detect(int fd)
{
    const char *term = g_getenv("TERM"), *no_colour = g_getenv("NO_COLOR");
    gboolean plain = (no_colour != NULL && *no_colour != '\0') || term == NULL || g_str_equal(term, "dumb");
    return (IfmScreen){
        .width = MAX(terminal_width(fd), WIDTH_MIN),
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
        ifm_error_set(error, code == EPIPE ? IFM_ERROR_CANCELLED : IFM_ERROR_UNAVAILABLE, "standard output: %s",
                      g_strerror(code));
    return code == 0;
}

/* --- JSON ----------------------------------------------------------------------------------------------------------- */

/* jansson writes 0.1 as 0.10000000000000001, and a thousand samples on a thousand lines; this writes the same values so
 * that a person can read them, too. Depth is bounded by what builds or reads documents. */

static void append_json(GString *out, const json_t *json, int indent);

static void append_scalar(GString *out, const json_t *json)
{
    if (json_is_real(json))
    {
        gsize before = out->len;
        ifm_real_append(out, json_real_value(json));
        if (strpbrk(out->str + before, ".e") == NULL) /* it stays a real number when it is read back */
            g_string_append(out, ".0");
        return;
    }
    char *text = json_dumps(json, JSON_ENCODE_ANY);
    g_string_append(out, text != NULL ? text : "null");
    free(text);
}

static gboolean is_scalar(const json_t *json)
{
    return !json_is_object(json) && !json_is_array(json);
}

static void begin_line(GString *out, int indent)
{
    g_string_append_printf(out, "\n%*s", indent, "");
}

/* Scalars fill lines; what has parts of its own gets lines of its own. */
static void append_array(GString *out, const json_t *json, int indent)
{
    gsize at, line = out->len;
    json_t *value;
    g_string_append_c(out, '[');
    json_array_foreach(json, at, value)
    {
        if (at > 0)
            g_string_append_c(out, ',');
        if (!is_scalar(value) || (at > 0 && out->len - line > JSON_WIDTH))
        {
            line = out->len;
            begin_line(out, indent + 2);
        }
        else if (at > 0)
            g_string_append_c(out, ' ');
        append_json(out, value, indent + 2);
    }
    if (json_array_size(json) > 0 && !is_scalar(json_array_get(json, 0)))
        begin_line(out, indent);
    g_string_append_c(out, ']');
}

static void append_json(GString *out, const json_t *json, int indent)
{
    const char *key;
    json_t *value;
    gboolean any = FALSE;
    if (json_is_array(json))
        append_array(out, json, indent);
    else if (!json_is_object(json))
        append_scalar(out, json);
    else
    {
        g_string_append_c(out, '{');
        json_object_foreach((json_t *)json, key, value)
        {
            g_string_append(out, any ? "," : "");
            any = TRUE;
            begin_line(out, indent + 2);
            json_auto_t *name = json_string(key);
            append_scalar(out, name);
            g_string_append(out, ": ");
            append_json(out, value, indent + 2);
        }
        if (any)
            begin_line(out, indent);
        g_string_append_c(out, '}');
    }
}

gboolean ifm_output_write_json(const char *path, const json_t *json, GError **error)
{
    g_autoptr(GString) text = g_string_new(NULL);
    append_json(text, json, 0);
    g_string_append_c(text, '\n');
    return ifm_output_write(path, text->str, text->len, error);
}
