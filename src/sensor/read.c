#include "sensor-private.h"
#include <base/fields.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

/* /proc/stat of a machine with hundreds of processors has a few hundred KiB. */
#define MAX_BYTES ((gsize)4 << 20)

char *ifm_sensor_read(const char *root, const char *relative)
{
    g_autofree char *path = g_build_filename(root, relative, NULL);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return NULL;
    g_autoptr(GString) text = g_string_new(NULL);
    char chunk[8192];
    gssize n;
    while ((n = read(fd, chunk, sizeof chunk)) != 0)
    {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || text->len + (gsize)n > MAX_BYTES)
            break;
        g_string_append_len(text, chunk, n);
    }
    close(fd);
    if (n != 0 || !g_utf8_validate(text->str, (gssize)text->len, NULL))
        return NULL;
    return g_strchomp(g_string_free(g_steal_pointer(&text), FALSE));
}

char *ifm_sensor_readf(const char *root, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *relative = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    return ifm_sensor_read(root, relative);
}

gboolean ifm_sensor_parse_int64(const char *text, gint64 *value)
{
    return g_ascii_string_to_signed(text, 10, G_MININT64, G_MAXINT64, value, NULL);
}

gboolean ifm_sensor_parse_count(const char *text, gint64 *value)
{
    return g_ascii_string_to_signed(text, 10, 0, G_GINT64_CONSTANT(1) << 48, value, NULL);
}

gboolean ifm_sensor_read_int64(const char *root, gint64 *value, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    g_autofree char *relative = g_strdup_vprintf(format, arguments);
    va_end(arguments);
    g_autofree char *text = ifm_sensor_read(root, relative);
    return text != NULL && ifm_sensor_parse_int64(text, value);
}

static int compare_ints(gconstpointer a, gconstpointer b)
{
    gint x = *(const gint *)a, y = *(const gint *)b;
    return (x > y) - (x < y);
}

GArray *ifm_sensor_list(const char *root, const char *folder, const char *prefix)
{
    GArray *numbers = g_array_new(FALSE, FALSE, sizeof(gint));
    g_autofree char *path = g_build_filename(root, folder, NULL);
    GDir *dir = g_dir_open(path, 0, NULL);
    for (const char *name; dir != NULL && (name = g_dir_read_name(dir)) != NULL;)
    {
        guint64 number = 0;
        if (!g_str_has_prefix(name, prefix) ||
            !g_ascii_string_to_unsigned(name + strlen(prefix), 10, 0, G_MAXINT, &number, NULL))
            continue;
        gint value = (gint)number;
        g_array_append_val(numbers, value);
    }
    g_clear_pointer(&dir, g_dir_close);
    g_array_sort(numbers, compare_ints);
    return numbers;
}

char *ifm_sensor_field(const char *text, const char *key)
{
    gsize length = strlen(key);
    for (const char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
    {
        if (strncmp(line, key, length) != 0)
            continue;
        const char *behind = line + length + strspn(line + length, " \t");
        if (*behind == ':')
            return g_strstrip(g_strndup(behind + 1, strcspn(behind + 1, "\n")));
    }
    return NULL;
}

json_t *ifm_sensor_text_or_null(const char *text)
{
    return text != NULL && *text != '\0' ? ifm_json_string(text) : json_null();
}

json_t *ifm_sensor_int64_or_null(gboolean known, gint64 value)
{
    return known ? json_integer(value) : json_null();
}
