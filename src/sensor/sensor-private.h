#pragma once
#include <glib.h>
#include <jansson.h>

G_BEGIN_DECLS

/* ifm_sensor_read: The text of a file below @root, without trailing white space. @relative: "proc/stat"
 * Returns: (transfer full) NULL where it cannot be read, is larger than 4 MiB or is not UTF-8. */
char *ifm_sensor_read(const char *root, const char *relative);
char *ifm_sensor_readf(const char *root, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* ifm_sensor_read_int64: Reads a file that contains one decimal number. Returns: FALSE for other content. */
gboolean ifm_sensor_read_int64(const char *root, gint64 *value, const char *format, ...) G_GNUC_PRINTF(3, 4);
/* ifm_sensor_list: The numbers N of the entries PREFIXN in a folder below @root, ascending. (transfer full) of gint */
GArray *ifm_sensor_list(const char *root, const char *folder, const char *prefix);
/* ifm_sensor_field: The value after "KEY:" at the start of a line. (transfer full) NULL where there is no such line. */
char *ifm_sensor_field(const char *text, const char *key);
/* ifm_sensor_read_kib: "KEY:   1234 kB" of a file, as /proc/meminfo and /proc/PID/status have it, in bytes. Returns: FALSE,
 * and @bytes unchanged, for other content. */
gboolean ifm_sensor_read_kib(const char *root, const char *file, const char *key, gint64 *bytes);
/* ifm_sensor_read_pressure: Microseconds since boot in which at least one task waited for "cpu", "memory" or "io":
 * "some avg10=0.00 … total=4846057". */
gboolean ifm_sensor_read_pressure(const char *root, const char *kind, gint64 *us);
/* ifm_sensor_read_running: How many tasks run or wait for a processor now; the one that asks is among them. */
gboolean ifm_sensor_read_running(const char *root, gint64 *running);
/* ifm_sensor_words: (transfer full) what stands between white space */
char **ifm_sensor_words(const char *text);
/* SensorCpu: what a processor did, in jiffies; idle waits for I/O, too. */
typedef struct
{
    gint64 total, idle, steal;
} SensorCpu;
/* ifm_sensor_parse_cpu: "cpu0 user nice system idle iowait irq softirq steal guest guest_nice" of /proc/stat; user already
 * contains guest. @name: (out) (transfer full) "cpu0" */
gboolean ifm_sensor_parse_cpu(const char *line, char **name, SensorCpu *cpu);
/* ifm_sensor_or_null: @json: (transfer full) Returns: (transfer full) null for one without members */
json_t *ifm_sensor_or_null(json_t *json);
/* ifm_sensor_parse_int64: Parses a text that is one decimal integer. Returns: FALSE for other text. */
gboolean ifm_sensor_parse_int64(const char *text, gint64 *value);
/* ifm_sensor_parse_count: As above, for a number of 0 or more that is small enough to add thousands of them. */
gboolean ifm_sensor_parse_count(const char *text, gint64 *value);
/* ifm_sensor_int64_or_null: (transfer full) */
json_t *ifm_sensor_int64_or_null(gboolean known, gint64 value);

/* ifm_sensor_jiffies: (transfer full) {"cpu_jiffies", "own_jiffies"} as a snapshot has them. */
json_t *ifm_sensor_jiffies(const char *root);
/* ifm_sensor_others_ratio: the share of the cores that other processes used between two snapshots. @cores: [n_cores]; 0:
 * all Returns: NaN where unknown, as in fewer than 20 ticks */
double ifm_sensor_others_ratio(const json_t *before, const json_t *after, const int *cores, gsize n_cores);

/* cgroups.c: the control groups of this process, and the groups above them, of version 1 and 2. */
/* ifm_sensor_group_memory_left: The least that their limits leave; G_MAXINT64: no limit. */
gint64 ifm_sensor_group_memory_left(const char *root);
/* ifm_sensor_cpu_quotas: (transfer full) a list of those with a quota of processor time: "group", "processors" (quota /
 * period), and since the group was made "throttled" (how often it had used up its quota) and "throttled_us" (how long its
 * tasks waited then, summed over processors). */
json_t *ifm_sensor_cpu_quotas(const char *root);

G_END_DECLS
