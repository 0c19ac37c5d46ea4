#include <base/fields.h>
#include <string.h>

#include "sensor-private.h"

/* The control groups of this process: what they leave of memory, and the quotas of processor time. */

/* --- the groups ------------------------------------------------------------------------------------------------------- */

/* @folder: of the group, below the root    @path: its name, "/a/b" or "/"    @version: 1 or 2 */
typedef void (*EachGroup)(const char *root, const char *folder, const char *path, int version, gpointer user);

/* A group and its parents. A container sees only the end of the path, as a top-level group. */
static void each_above(const char *root, const char *top, const char *path, int version, EachGroup each, gpointer user)
{
    for (g_autofree char *at = g_strdup(path);;)
    {
        gboolean is_top = *at == '\0' || g_str_equal(at, "/");
        g_autofree char *folder = g_strconcat(top, is_top ? "" : at, NULL);
        each(root, folder, is_top ? "/" : at, version, user);
        char *slash = strrchr(at, '/');
        if (slash == NULL || is_top)
            return;
        *slash = '\0';
    }
}

/* Of version 2 ("0::/a/b"), also where it stands beside version 1, and of version 1 ("4:memory:/a/b"). */
static void each_group(const char *root, const char *controller, EachGroup each, gpointer user)
{
    g_autofree char *text = ifm_sensor_read(root, "proc/self/cgroup");
    g_autofree char *top = g_strconcat("sys/fs/cgroup/", controller, NULL);
    g_auto(GStrv) lines = g_strsplit(text != NULL ? text : "", "\n", -1);
    for (gsize i = 0; lines[i] != NULL; i++)
    {
        g_auto(GStrv) fields = g_strsplit(lines[i], ":", 3);
        if (g_strv_length(fields) < 3 || *fields[2] != '/' || strstr(fields[2], "..") != NULL)
            continue;
        g_auto(GStrv) controllers = g_strsplit(fields[1], ",", -1);
        if (*fields[1] == '\0')
        {
            each_above(root, "sys/fs/cgroup", fields[2], 2, each, user);
            each_above(root, "sys/fs/cgroup/unified", fields[2], 2, each, user);
        }
        else if (g_strv_contains((const char *const *)controllers, controller))
            each_above(root, top, fields[2], 1, each, user);
    }
}

/* "KEY 1234" of a file with a line for each key. */
static gboolean read_stat(const char *root, const char *folder, const char *file, const char *key, gint64 *value)
{
    g_autofree char *stat = ifm_sensor_readf(root, "%s/%s", folder, file);
    g_autofree char *text = stat != NULL ? g_strdelimit(g_strdup(stat), " ", ':') : NULL;
    g_autofree char *number = text != NULL ? ifm_sensor_field(text, key) : NULL;
    return number != NULL && ifm_sensor_parse_count(number, value);
}

/* --- memory ----------------------------------------------------------------------------------------------------------- */

/* The limit of a group minus the memory that the kernel cannot reclaim at once. */
static void min_memory(const char *root, const char *folder, const char *path, int version, gpointer user)
{
    (void)path;
    gint64 *min = user, limit = 0, usage = 0, file = 0;
    if (!ifm_sensor_read_int64(root, &limit, "%s/%s", folder, version == 2 ? "memory.max" : "memory.limit_in_bytes") ||
        limit < 0 || limit >= G_MAXINT64 / 8 || /* version 1 writes "no limit" as this number; version 2 writes "max" */
        !ifm_sensor_read_int64(root, &usage, "%s/%s", folder, version == 2 ? "memory.current" : "memory.usage_in_bytes"))
        return;
    if (!read_stat(root, folder, "memory.stat", "inactive_file", &file))
        file = 0;
    *min = MIN(*min, MAX(limit - MAX(usage - file, 0), 0));
}

gint64 ifm_sensor_group_memory_left(const char *root)
{
    gint64 min = G_MAXINT64;
    each_group(root, "memory", min_memory, &min);
    return min;
}

/* --- processor time --------------------------------------------------------------------------------------------------- */

/* "150000 100000" of cpu.max, whose quota is "max" without one; of version 1 two files, -1 without one. */
static gboolean read_quota(const char *root, const char *folder, int version, gint64 *quota_us, gint64 *period_us)
{
    g_autofree char *text = version == 2 ? ifm_sensor_readf(root, "%s/cpu.max", folder) : NULL;
    g_auto(GStrv) words = g_strsplit(text != NULL ? text : "", " ", -1);
    gboolean read = version == 2 ? g_strv_length(words) == 2 && ifm_sensor_parse_count(words[0], quota_us) &&
                                       ifm_sensor_parse_count(words[1], period_us)
                                 : ifm_sensor_read_int64(root, quota_us, "%s/cpu.cfs_quota_us", folder) &&
                                       ifm_sensor_read_int64(root, period_us, "%s/cpu.cfs_period_us", folder);
    return read && *quota_us > 0 && *period_us > 0;
}

static void add_quota(const char *root, const char *folder, const char *path, int version, gpointer user)
{
    gint64 quota_us, period_us, n = 0, waited = 0;
    if (!read_quota(root, folder, version, &quota_us, &period_us))
        return;
    gboolean known = read_stat(root, folder, "cpu.stat", "nr_throttled", &n) &&
                     read_stat(root, folder, "cpu.stat", version == 2 ? "throttled_usec" : "throttled_time", &waited);
    json_array_append_new(
        (json_t *)user, json_pack("{s:o,s:f,s:o,s:o}", "group", ifm_json_string(path), "processors",
                                  (double)quota_us / (double)period_us, "throttled", ifm_sensor_int64_or_null(known, n),
                                  "throttled_us", ifm_sensor_int64_or_null(known, version == 2 ? waited : waited / 1000)));
}

json_t *ifm_sensor_cpu_quotas(const char *root)
{
    json_t *quotas = json_array();
    each_group(root, "cpu", add_quota, quotas);
    return quotas;
}
