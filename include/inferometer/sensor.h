#pragma once
#include <jansson.h>

#include <inferometer/error.h>

G_BEGIN_DECLS

/*
 * What a machine tells of itself. @root is "/" or the folder of a recorded machine (a saved part of /proc and /sys): the
 * tests replay those. Nothing here fails: what the machine does not tell, or tells unreadably, is null (or -1).
 * The keys are listed in docs/formats.md. All of it reads files and allocates: never call it in a timed region.
 */

/**
 * ifm_sensor_machine: The facts that stay while a machine runs: "id", "cpu", "logical_processors", "cores",
 * "memory_bytes", "kernel", "governor", "smt", "virtual", "boost" and more.
 * "id" is the digest of the processor's model, the processor counts, the memory in whole GiB and whether it is virtual:
 * machines of the same build share it, a new kernel or governor keeps it. null where the machine does not tell its
 * processor.
 * Returns: (transfer full) an object
 */
json_t *ifm_sensor_machine(const char *root);

/**
 * ifm_sensor_snapshot: What changes: "unix_ms", "load_1min", "running", "clock_mhz", "temperature_c", "throttle_counts",
 * "cpu_jiffies", "own_jiffies", "memory_available_bytes", "pressure". Take one when warm-up is over and one after the last
 * run: the clock of an idle processor says nothing about a busy one's.
 * "own_jiffies" is the processor time of the calling process, its living descendants and the children it has waited for.
 * Returns: (transfer full) an object
 */
json_t *ifm_sensor_snapshot(const char *root);

/**
 * ifm_sensor_surroundings: The two snapshots, what lies between them, and a warning (one line) for all that puts a
 * measurement in doubt.
 * @machine, @before, @after: borrowed; NULL or null where there is none
 * Returns: (transfer full) {"machine", "before", "after", "others_ratio", "steal_ratio", "warnings": [...]}
 */
json_t *ifm_sensor_surroundings(const json_t *machine, const json_t *before, const json_t *after);

/**
 * ifm_sensor_free_bytes: The memory that the calling process can still get: the least of what the machine has available
 * without paging (MemAvailable), what the control groups around the process leave it, and what its limit of address space
 * (`ulimit -v`) does.
 * Returns: G_MAXINT64 where nobody tells
 */
gint64 ifm_sensor_free_bytes(const char *root);
/** ifm_sensor_rss_bytes: memory a process holds now. @pid: 0 for the calling one. Returns: -1 where unknown. */
gint64 ifm_sensor_rss_bytes(const char *root, int pid);
/** ifm_sensor_peak_rss_bytes: the most it ever held. */
gint64 ifm_sensor_peak_rss_bytes(const char *root, int pid);
/**
 * ifm_sensor_wait_ns: how long the calling thread could have run so far, but waited for a processor that was busy.
 * Returns: -1 where the kernel keeps no such figure.
 */
gint64 ifm_sensor_wait_ns(const char *root);

G_END_DECLS
