#pragma once
#include <jansson.h>

#include <inferometer/error.h>

IFM_BEGIN_DECLS

/*
 * Facts and state of a machine, from /proc and /sys. @root: "/", or the folder of a recorded machine (saved parts of /proc
 * and /sys), as the tests use it. These functions do not fail: what cannot be read is null (or -1).
 * docs/formats.md lists the keys. All functions read files and allocate: do not call them in a timed region.
 */

/**
 * ifm_sensor_machine: The facts that do not change while a machine runs: "id", "cpu", "logical_processors", "cores",
 * "memory_bytes", "kernel", "governor", "smt", "virtual", "boost" and more.
 * "id" is a digest of the processor's model, the processor counts, the memory in whole GiB and whether the machine is
 * virtual. Machines of the same build share it; a new kernel or governor does not change it. It is null where the processor
 * is unknown.
 * @root: (nullable) NULL: the machine of the case keys. It is the recorded machine $IFM_MACHINE_ROOT where that is set, so
 * that another machine finds its cases again; else "/".
 * Returns: (transfer full) an object
 */
json_t *ifm_sensor_machine(const char *root);

/**
 * ifm_sensor_snapshot: The state that changes: "unix_ms", "load_1min", "running", "clock_mhz", "temperature_c",
 * "throttle_counts", "cpu_jiffies", "own_jiffies", "memory_available_bytes", "pressure", "cpu_quotas". Take one snapshot
 * after the warm-up and one after the last run: the clock of an idle processor differs from that of a busy one.
 * "own_jiffies" is the processor time of the calling process, its living descendants and the children it has waited for.
 * Returns: (transfer full) an object
 */
json_t *ifm_sensor_snapshot(const char *root);

/**
 * ifm_sensor_environment: The environment of a measurement: two snapshots, their differences, and one warning (a line) for
 * each condition that makes the measurement doubtful.
 * @machine, @before, @after: (nullable) borrowed; NULL or null where unknown
 * Returns: (transfer full) {"machine", "before", "after", "others_ratio", "steal_ratio", "throttled_ratio", "warnings":
 * [...]}
 */
json_t *ifm_sensor_environment(const json_t *machine, const json_t *before, const json_t *after);

IFM_END_DECLS
