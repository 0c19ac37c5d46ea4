/* RAPL by way of powercap: one folder for each zone, sys/class/powercap/intel-rapl:PACKAGE[:SUBZONE]. */
#include "energy-private.h"
#include "sensor-private.h"
#include <base/base.h>
#include <string.h>

#define FOLDER "sys/class/powercap"

/* The names of the zones PREFIX... in order, so that a package comes before its subzones. */
static GPtrArray *zones_new(const char *folder, const char *prefix)
{
    GPtrArray *zones = g_ptr_array_new_with_free_func(g_free);
    g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
    for (const char *name; dir != NULL && (name = g_dir_read_name(dir)) != NULL;)
        if (g_str_has_prefix(name, prefix))
            g_ptr_array_add(zones, g_strdup(name));
    g_ptr_array_sort(zones, ifm_compare_texts);
    return zones;
}

/* The name of a zone; the zone's folder where it has none. (transfer full) */
static char *zone_name(const char *folder, const char *zone)
{
    g_autofree char *path = g_build_filename(folder, zone, NULL);
    char *name = ifm_sensor_read(path, "name");
    if (name == NULL || *name == '\0')
    {
        g_free(name);
        name = g_strdup(zone);
    }
    return g_strcanon(name, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "-_:", '?');
}

/* A package counts, and DRAM, which no package holds. core and uncore lie inside a package, and psys holds all. */
static void add_zone(const char *folder, const char *prefix, const char *zone, GPtrArray *parts)
{
    g_autofree char *range_path = g_build_filename(folder, zone, "max_energy_range_uj", NULL);
    const char *colon = strchr(zone + strlen(prefix), ':');
    g_autofree char *label = zone_name(folder, zone);
    g_autofree char *parent_zone = colon != NULL ? g_strndup(zone, (gsize)(colon - zone)) : NULL;
    g_autofree char *parent = parent_zone != NULL ? zone_name(folder, parent_zone) : NULL;
    gboolean in_total = strcmp(label, "dram") == 0 || (colon == NULL && strcmp(label, "psys") != 0);
    char *name = parent != NULL ? g_strdup_printf("%s/%s", parent, label) : g_strdup(label);
    EnergyPart *part = energy_part_add(parts, name, in_total);
    part->has_counter = TRUE;
    part->path = g_build_filename(folder, zone, "energy_uj", NULL);
    g_autoptr(GError) error = NULL;
    if (!energy_read_count(range_path, &part->range_uj, &error))
        part->unavailable = g_strdup(error->message);
    else if (part->range_uj < 2)
        part->unavailable =
            g_strdup_printf("%s: a range of %" G_GUINT64_FORMAT " uJ is too small", range_path, part->range_uj);
    energy_part_try(part);
}

static void set_absent(const char *root, const char *folder, GError **error)
{
    g_autofree char *processors = ifm_sensor_read(root, "proc/cpuinfo");
    gboolean is_virtual = processors != NULL && strstr(processors, " hypervisor") != NULL;
    ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: no counter intel-rapl%s", folder,
                  is_virtual ? ": this is a virtual machine, which has none"
                             : " (module intel_rapl_msr, or a processor without)");
}

static gpointer rapl_open(const IfmEnergyOptions *options, GPtrArray *parts, GError **error)
{
    const char *root = options->root != NULL ? options->root : "/";
    g_autofree char *folder = g_build_filename(root, FOLDER, NULL);
    const char *prefix = "intel-rapl:";
    g_autoptr(GPtrArray) zones = zones_new(folder, prefix);
    if (zones->len == 0) /* the same packages by another way: only where the first way is missing */
    {
        g_clear_pointer(&zones, g_ptr_array_unref);
        prefix = "intel-rapl-mmio:";
        zones = zones_new(folder, prefix);
    }
    for (guint i = 0; i < zones->len; i++)
        add_zone(folder, prefix, g_ptr_array_index(zones, i), parts);
    if (parts->len > 0)
        return parts;
    set_absent(root, folder, error);
    return NULL;
}

const EnergyKind energy_rapl = { .name = "rapl", .open = rapl_open, .read = energy_read_files };
