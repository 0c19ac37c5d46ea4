/* hwmon: sys/class/hwmon/hwmonN with energyM_input (uJ) or powerM_input or powerM_average (uW). */
#include "energy-private.h"
#include "sensor-private.h"

#define FOLDER "sys/class/hwmon"
#define MAX_CHANNELS 64

/* The file of a channel where there is one. (transfer full) (nullable) */
static char *channel_file(const char *device, const char *quantity, int channel, const char *suffix)
{
    g_autofree char *path = g_strdup_printf("%s/%s%d_%s", device, quantity, channel, suffix);
    return g_file_test(path, G_FILE_TEST_EXISTS) ? g_steal_pointer(&path) : NULL;
}

/* Which channels measure what others measure too is not known: each is a domain, and only the first is in the total. */
static void add_channel(const char *device, int number, int channel, GPtrArray *parts)
{
    g_autofree char *counter = channel_file(device, "energy", channel, "input");
    g_autofree char *power = channel_file(device, "power", channel, "input");
    if (power == NULL)
        power = channel_file(device, "power", channel, "average");
    if (counter == NULL && power == NULL)
        return;
    g_autofree char *label = ifm_sensor_read(device, "name");
    if (label == NULL || *label == '\0')
    {
        g_free(label);
        label = g_strdup("unnamed");
    }
    g_strcanon(label, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "-_", '?');
    EnergyPart *part = energy_part_add(parts, g_strdup_printf("hwmon%d/%s/%d", number, label, channel), parts->len == 0);
    part->has_counter = counter != NULL;
    part->has_power = power != NULL;
    part->path = g_steal_pointer(&counter);
    part->power_path = g_steal_pointer(&power);
    energy_part_try(part);
}

static gpointer hwmon_open(const IfmEnergyOptions *options, GPtrArray *parts, GError **error)
{
    const char *root = options->root != NULL ? options->root : "/";
    g_autofree char *folder = g_build_filename(root, FOLDER, NULL);
    g_autoptr(GArray) numbers = ifm_sensor_list(root, FOLDER, "hwmon");
    for (guint i = 0; i < numbers->len; i++)
    {
        int number = g_array_index(numbers, gint, i);
        g_autofree char *device = g_strdup_printf("%s/hwmon%d", folder, number);
        for (int channel = 1; channel <= MAX_CHANNELS; channel++)
            add_channel(device, number, channel, parts);
    }
    if (parts->len > 0)
        return parts;
    ifm_error_set(error, IFM_ERROR_UNAVAILABLE, "%s: no device shows energy or power", folder);
    return NULL;
}

const EnergyKind energy_hwmon = { .name = "hwmon", .open = hwmon_open, .read = energy_read_files };
