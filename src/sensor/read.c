#include "sensor-private.h"
#include <base/fields.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

/* Files of /proc and /sys are read and their texts parsed: numbers, "key: value", words, pressure, times. */

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

gboolean ifm_sensor_read_kib(const char *root, const char *file, const char *key, gint64 *bytes)
{
    g_autofree char *text = ifm_sensor_read(root, file);
    g_autofree char *value = text != NULL ? ifm_sensor_field(text, key) : NULL;
    if (value == NULL || !g_str_has_suffix(value, " kB"))
        return FALSE;
    value[strlen(value) - strlen(" kB")] = '\0';
    gint64 kib = 0;
    const gboolean known = ifm_sensor_parse_count(value, &kib);
    *bytes = known ? kib * 1024 : *bytes;
    return known;
}

gboolean ifm_sensor_read_pressure(const char *root, const char *kind, gint64 *us)
{
    g_autofree char *text = ifm_sensor_readf(root, "proc/pressure/%s", kind);
    const char *total = text != NULL && g_str_has_prefix(text, "some ") ? strstr(text, "total=") : NULL;
    g_autofree char *number = total != NULL ? g_strndup(total + 6, strcspn(total + 6, " \n")) : NULL;
    return number != NULL && ifm_sensor_parse_count(number, us);
}

/* "0.15 0.20 0.09 1/97 9169" */
gboolean ifm_sensor_read_running(const char *root, gint64 *running)
{
    g_autofree char *text = ifm_sensor_read(root, "proc/loadavg");
    g_auto(GStrv) words = ifm_sensor_words(text != NULL ? text : "");
    char *slash = g_strv_length(words) >= 4 ? strchr(words[3], '/') : NULL;
    if (slash == NULL)
        return FALSE;
    *slash = '\0';
    return ifm_sensor_parse_count(words[3], running);
}

char **ifm_sensor_words(const char *text)
{
    g_auto(GStrv) parts = g_strsplit_set(text, " \t\n", -1);
    GPtrArray *words = g_ptr_array_new();
    for (char **part = parts; *part != NULL; part++)
        if (**part != '\0')
            g_ptr_array_add(words, g_strdup(*part));
    g_ptr_array_add(words, NULL);
    return (char **)g_ptr_array_free(words, FALSE);
}

gboolean ifm_sensor_parse_cpu(const char *line, char **name, SensorCpu *cpu)
{
    g_auto(GStrv) words = ifm_sensor_words(line);
    const guint n = g_strv_length(words);
    gint64 times[8] = { 0 };
    *cpu = (SensorCpu){ 0 };
    for (guint i = 0; i < G_N_ELEMENTS(times) && i + 1 < n; i++)
    {
        if (!ifm_sensor_parse_count(words[i + 1], &times[i]))
            return FALSE;
        cpu->total += times[i];
    }
    cpu->idle = times[3] + times[4];
    cpu->steal = times[7];
    *name = n >= 5 ? g_strdup(words[0]) : NULL;
    return n >= 5;
}

json_t *ifm_sensor_or_null(json_t *json)
{
    if (json_array_size(json) + json_object_size(json) > 0)
        return json;
    json_decref(json);
    return json_null();
}

json_t *ifm_sensor_int64_or_null(gboolean known, gint64 value)
{
    return known ? json_integer(value) : json_null();
}
