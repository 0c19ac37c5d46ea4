/* room: store */
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

/** ifm_result_measured: Returns: (transfer none) the measurement where there is a latency, else NULL. */
const IfmMeasurement *ifm_result_measured(const IfmResult *result);

IFM_END_DECLS
