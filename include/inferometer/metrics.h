/* room: sensor */
#pragma once
#include <jansson.h>

#include <inferometer/error.h>

IFM_BEGIN_DECLS

/*
 * What a machine did over a window of time, as named numbers: how busy its processors were, and how long tasks waited. Each
 * source is a row of a table (src/sensor/metrics.c); one that a machine lacks has no number.
 */

typedef struct IfmMetricWindow IfmMetricWindow;
/** ifm_metrics_begin: @root: of a recorded machine; NULL: "/"    Returns: (transfer full) */
IfmMetricWindow *ifm_metrics_begin(const char *root);
/** ifm_metrics_end: (transfer full) {"start_unix_ns", "end_unix_ns", "values": {"busy": 0.25, "cpu0_busy": 0.5, …,
 * "pressure_cpu": 0.01, …}}: shares of the window. The kernel counts processor time in steps of 10 ms: a short window is
 * coarse. @window: (transfer full) */
json_t *ifm_metrics_end(IfmMetricWindow *window);
/** ifm_metrics_copy_rate: bytes/s read and written by a copy of 8 MiB on this thread, median of three: what is left of the
 * memory's bandwidth. Takes some milliseconds. */
double ifm_metrics_copy_rate(void);

IFM_END_DECLS
