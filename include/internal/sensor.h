#pragma once
#include <inferometer/sensor.h>

G_BEGIN_DECLS

/* Memory and waiting time of a process. */

/**
 * ifm_sensor_free_bytes: The memory that the calling process can still get: the minimum of the memory that the machine has
 * available without paging (MemAvailable), the rest in the limits of its control groups, and the rest in its limit of
 * address space (`ulimit -v`).
 * Returns: G_MAXINT64 where all of them are unknown
 */
gint64 ifm_sensor_free_bytes(const char *root);

/** ifm_sensor_peak_rss_bytes: The peak resident memory of a process so far. Arguments and result as of
 * ifm_sensor_rss_bytes(). */
gint64 ifm_sensor_peak_rss_bytes(const char *root, int pid);

/** ifm_sensor_rss_bytes: The resident memory of a process. @pid: 0: the calling process. Returns: -1 where unknown. */
gint64 ifm_sensor_rss_bytes(const char *root, int pid);

/**
 * ifm_sensor_wait_ns: The total time that the calling thread was ready to run and waited for a processor.
 * Returns: -1 where the kernel does not count it.
 */
gint64 ifm_sensor_wait_ns(const char *root);

G_END_DECLS
