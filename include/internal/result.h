/* room: store */
#pragma once
#include <inferometer/result.h>

G_BEGIN_DECLS

/* A result in words. */

/** ifm_result_code: Returns: the error code's name; NULL where there is a latency. */
const char *ifm_result_code(const IfmResult *result);

/** ifm_result_ending: Returns: in a word what the tables show: why measuring ended, or what went wrong instead. */
const char *ifm_result_ending(const IfmResult *result);

/** ifm_result_line: "DEVICE: why not"; only where there is no latency. (transfer full) */
char *ifm_result_line(const IfmResult *result);

/** ifm_result_short_reason: Returns: the reason without the device that most of them begin with; only where there is no
 * latency. */
const char *ifm_result_short_reason(const IfmResult *result);

/** ifm_result_name: Returns: its alias, where it has one; else the device. */
const char *ifm_result_name(const IfmResult *result);

G_END_DECLS
