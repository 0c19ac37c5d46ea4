/* Parts of energy sources, and what those that are files share. */
#include <base/base.h>

#include "energy-private.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

EnergyPart *energy_part_add(GPtrArray *parts, char *name, gboolean in_total)
{
    EnergyPart *part = g_new0(EnergyPart, 1);
    part->name = name;
    part->in_total = in_total;
    part->step_uj = 1;
    g_ptr_array_add(parts, part);
    return part;
}

/* The error of a file that cannot be opened or read. */
static gboolean refuse_file(const char *path, int number, GError **error)
{
    const char *help = number == EACCES || number == EPERM
                           ? " (since Linux 5.10 only root reads it: run as root, or `chmod a+r` the file)"
                           : "";
    ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: %s%s", path, g_strerror(number), help);
    ifm_error_make_one_line(error);
    return FALSE;
}

gboolean energy_read_count(const char *path, guint64 *value, GError **error)
{
    char text[64];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return refuse_file(path, errno, error);
    gssize n = read(fd, text, sizeof text - 1);
    int number = errno;
    close(fd);
    if (n < 0)
        return refuse_file(path, number, error);
    text[n] = '\0';
    g_strchomp(text);
    if (g_ascii_string_to_unsigned(text, 10, 0, G_MAXINT64, value, NULL))
        return TRUE;
    ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: \"%.20s\" is not a number of 0 or more", path, text);
    ifm_error_make_one_line(error);
    return FALSE;
}

gboolean energy_read_files(gpointer state, const EnergyPart *part, gint64 elapsed_ns, EnergySample *sample, GError **error)
{
    guint64 power_uw = 0;
    if (part->path != NULL && !energy_read_count(part->path, &sample->counter_uj, error))
        return FALSE;
    if (part->range_uj > 0 && sample->counter_uj > part->range_uj)
        return ifm_error_set(error, IFM_ERROR_UNAVAILABLE,
                             "%s: %" G_GUINT64_FORMAT " uJ is above its range of %" G_GUINT64_FORMAT, part->path,
                             sample->counter_uj, part->range_uj);
    if (part->power_path != NULL && !energy_read_count(part->power_path, &power_uw, error))
        return FALSE;
    sample->power_w = (double)power_uw * 1e-6;
    return TRUE;
}

void energy_part_try(EnergyPart *part)
{
    EnergySample sample = { 0 };
    g_autoptr(GError) error = NULL;
    if (part->unavailable == NULL && !energy_read_files(NULL, part, 0, &sample, &error))
        part->unavailable = g_strdup(error->message);
}
