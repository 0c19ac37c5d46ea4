/* The table of energy sources, and what those that are files share. */
#include "energy-private.h"
#include <base/base.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* All sources (docs/energy.md). */
static const EnergyKind *const kinds[] = { &energy_rapl, &energy_nvml, &energy_hwmon, &energy_recorded, &energy_simulated };

void energy_part_free(EnergyPart *part)
{
    g_free(part->domain.name);
    g_free(part->domain.unavailable);
    g_free(part->path);
    g_free(part->power_path);
    g_free(part);
}

EnergyPart *energy_part_add(GPtrArray *parts, char *name, gboolean in_total)
{
    EnergyPart *part = g_new0(EnergyPart, 1);
    part->domain.name = name;
    part->domain.in_total = in_total;
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
    g_set_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE, "%s: %s%s", path, g_strerror(number), help);
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
    g_set_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE, "%s: \"%.20s\" is not a number of 0 or more", path, text);
    ifm_error_make_one_line(error);
    return FALSE;
}

gboolean energy_read_files(gpointer state, const EnergyPart *part, gint64 elapsed_ns, EnergySample *sample, GError **error)
{
    guint64 power_uw = 0;
    if (part->path != NULL && !energy_read_count(part->path, &sample->counter_uj, error))
        return FALSE;
    if (part->range_uj > 0 && sample->counter_uj > part->range_uj)
    {
        g_set_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE,
                    "%s: %" G_GUINT64_FORMAT " uJ is above its range of %" G_GUINT64_FORMAT, part->path, sample->counter_uj,
                    part->range_uj);
        return FALSE;
    }
    if (part->power_path != NULL && !energy_read_count(part->power_path, &power_uw, error))
        return FALSE;
    sample->power_w = (double)power_uw * 1e-6;
    return TRUE;
}

void energy_part_try(EnergyPart *part)
{
    EnergySample sample = { 0 };
    g_autoptr(GError) error = NULL;
    if (part->domain.unavailable == NULL && !energy_read_files(NULL, part, 0, &sample, &error))
        part->domain.unavailable = g_strdup(error->message);
}

const EnergyKind *energy_kind_find(const char *name, GError **error)
{
    const char *names[G_N_ELEMENTS(kinds) + 1] = { NULL };
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
    {
        if (strcmp(kinds[i]->name, name) == 0)
            return kinds[i];
        names[i] = kinds[i]->name;
    }
    g_autofree char *hint = ifm_nearest_hint(name, names);
    ifm_error_refuse(error, "\"%s\" is not an energy source%s", name, hint);
    ifm_error_make_one_line(error);
    return NULL;
}

gpointer energy_kind_open(const EnergyKind *kind, const IfmEnergyOptions *options, GPtrArray *parts, GError **error)
{
    gpointer state = kind->open(options, parts, error);
    const char *reason = NULL;
    for (guint i = 0; state != NULL && i < parts->len; i++)
    {
        const EnergyPart *part = g_ptr_array_index(parts, i);
        if (part->domain.unavailable == NULL)
            return state;
        if (reason == NULL)
            reason = part->domain.unavailable;
    }
    if (state == NULL)
        return NULL;
    g_set_error(error, IFM_ERROR, IFM_ERROR_UNAVAILABLE, "%s", reason != NULL ? reason : "no domain was found");
    kind->close(state);
    return NULL;
}

static void source_free(gpointer data)
{
    IfmEnergySource *source = data;
    for (gsize i = 0; i < source->n_domains; i++)
    {
        g_free(source->domains[i].name);
        g_free(source->domains[i].unavailable);
    }
    g_free(source->domains);
    g_free(source->unavailable);
    g_free(source);
}

static IfmEnergySource *source_new(const EnergyKind *kind, const IfmEnergyOptions *options)
{
    g_autoptr(GPtrArray) parts = g_ptr_array_new_with_free_func((GDestroyNotify)energy_part_free);
    g_autoptr(GError) error = NULL;
    IfmEnergySource *source = g_new0(IfmEnergySource, 1);
    source->name = kind->name;
    gpointer state = energy_kind_open(kind, options, parts, &error);
    if (state != NULL)
        kind->close(state);
    else
        source->unavailable = g_strdup(error->message);
    source->n_domains = parts->len;
    source->domains = g_new0(IfmEnergyDomain, parts->len);
    for (guint i = 0; i < parts->len; i++)
    {
        EnergyPart *part = g_ptr_array_index(parts, i);
        source->domains[i] = part->domain;
        memset(&part->domain, 0, sizeof part->domain);
    }
    return source;
}

GPtrArray *ifm_energy_sources(const IfmEnergyOptions *options)
{
    GPtrArray *sources = g_ptr_array_new_with_free_func(source_free);
    for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
        g_ptr_array_add(sources, source_new(kinds[i], options));
    return sources;
}
