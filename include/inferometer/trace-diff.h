/* room: trace */
#pragma once
#include <inferometer/trace.h>

IFM_BEGIN_DECLS

/* Comparing traces: which go together, and by which figures they differ. */

/** IfmTraceDifference: one figure of two traces. */
typedef struct
{
    char
        *key; /* "throughput", "makespan", "CPU stream 0 wall utilisation", "block 1 total", "CPU stream 0 idle upstream" */
    char *unit;   /* "ns", "1/s", "ratio" */
    double a, b;  /* NaN if the trace lacks it */
    double ratio; /* b / a; NaN */
} IfmTraceDifference;
/** ifm_trace_diff: Matches devices by alias and stream, and blocks by number. A figure of only one trace has NaN for
 * the other. Returns: (transfer full) IfmTraceDifference*, in reading order. */
GPtrArray *ifm_trace_diff(const IfmTraceAnalysis *a, const IfmTraceAnalysis *b);

/** ifm_trace_is_simulated: whether a simulation recorded it. */
gboolean ifm_trace_is_simulated(const IfmTrace *trace);
/** ifm_trace_stream: the stream of batches that went through; "" where the trace does not name it. */
const char *ifm_trace_stream(const IfmTrace *trace);
/** ifm_trace_partner: Returns: (transfer none) the trace of @others to compare with @traces' number @index: that of the
 * same stream, and of several of that the one as far on; of one trace each the other, whatever they are called. NULL: none.
 * @traces, @others: IfmTrace* */
const IfmTrace *ifm_trace_partner(const GPtrArray *traces, guint index, const GPtrArray *others);

IFM_END_DECLS
