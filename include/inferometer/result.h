#pragma once
#include <inferometer/store.h>

IFM_BEGIN_DECLS

/**
 * IfmResult: what became of one device: a case and its measurement, or why there is neither.
 * All borrowed. @subject_case, @measurement: NULL where it did not get that far; @code and @reason then say why.
 */
typedef struct
{
    const char *device, *alias;
    const IfmCase *subject_case;
    const IfmMeasurement *measurement;
    const char *code, *reason; /* NULL where measured */
    gboolean resumed;          /* from the store, not measured now */
} IfmResult;

/** ifm_result_reason: Returns: one line why there is no latency; NULL where there is one. */
const char *ifm_result_reason(const IfmResult *result);
/** ifm_result_code: Returns: the error code's name; NULL where there is a latency. */
const char *ifm_result_code(const IfmResult *result);

/** ifm_result_ending: Returns: in a word what the tables show: why measuring ended, or what went wrong instead. */
const char *ifm_result_ending(const IfmResult *result);

/** ifm_result_short_reason: Returns: the reason without the device that most of them begin with; only where there is no
 * latency. */
const char *ifm_result_short_reason(const IfmResult *result);
/** ifm_result_line: "DEVICE: why not"; only where there is no latency. (transfer full) */
char *ifm_result_line(const IfmResult *result);
/** ifm_result_name: Returns: its alias, where it has one; else the device. */
const char *ifm_result_name(const IfmResult *result);
/** ifm_result_measured: Returns: (transfer none) the measurement where there is a latency, else NULL. */
const IfmMeasurement *ifm_result_measured(const IfmResult *result);

IFM_END_DECLS
