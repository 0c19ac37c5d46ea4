/* Traces of what ran when: read, analysed, compared, drawn and written. */
#pragma once
#include <jansson.h>

#include <inferometer/document.h>

IFM_BEGIN_DECLS

/* --- events -------------------------------------------------------------------------------------------------------- */

/** IfmTrace: tracks, names, events. Tracks and names are added before recording begins. During recording each track has
 * one thread. */
typedef struct IfmTrace IfmTrace;

void ifm_trace_free(IfmTrace *trace);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmTrace, ifm_trace_free)
const char *ifm_trace_name(const IfmTrace *trace);

/* --- files --------------------------------------------------------------------------------------------------------- */

/**
 * ifm_trace_write: Writes Chrome JSON, in one step; gzip if @path ends in ".gz". Times are us since the trace's first
 * event, with three decimals (exact ns). Metadata events name processes and threads. DEVICE and HOST slices are X
 * events, one tid each. QUEUE and BATCH slices are asynchronous (b, e), as they overlap. Flows (s, t, f) link a batch
 * through its blocks. args: batch, block, stages, device_ns, overhead_ns, bytes. "otherData" holds name and meta.
 * @traces: [n_traces] side by side, such as a simulation and its run; each begins at 0 and has pids of its own
 */
gboolean ifm_trace_write(const IfmTrace *const *traces, gsize n_traces, const char *path, GError **error);

/** IfmTraceLimits: bounds of reading. 0: the default. */
typedef struct
{
    gsize max_events; /* default 20 million */
    gsize max_names;  /* default 1 million distinct texts of at most 4096 bytes; longer ones are cut */
} IfmTraceLimits;

/**
 * ifm_trace_read: Reads what ifm_trace_write() wrote (exactly), an ONNX Runtime profile, or any Chrome JSON with X, B/E
 * and b/e events ({"traceEvents": […]} or a bare array; the format allows its closing bracket to be missing). Plain or
 * gzip, by content. Reading is streamed: events take 64 bytes each, and memory does not grow with the file's size.
 * @path: "-" is standard input
 * Nodes of ONNX Runtime (cat "Node", args.op_name) become IFM_EVENT_NODE. Of PyTorch's profiler, kernels and copies become
 * IFM_EVENT_KERNEL on tracks of a device, and know their launch; calls of the runtime IFM_EVENT_LAUNCH; annotations and
 * the profiler's own spans IFM_EVENT_SPAN (docs/traces.md).
 * A damaged event (no ts, a duration that is missing, negative or not finite, an end without its begin, a file that is cut
 * off) is skipped and counted: ifm_trace_notes(). More than one, and over 5 % of all, is an error.
 * Returns: (transfer full) IfmTrace*, one for each trace in the file (our own files may hold several), at least one.
 * NULL with IFM_ERROR_UNAVAILABLE, or IFM_ERROR_INVALID "FILE: byte N: ..." (malformed, nested deeper than 64, too much
 * damage, no event at all), or IFM_ERROR_MEMORY beyond the limits.
 */
GPtrArray *ifm_trace_read(const char *path, const IfmTraceLimits *limits, GError **error);

/* --- analysis ------------------------------------------------------------------------------------------------------ */

typedef struct
{
    double p50_ns, p90_ns, p95_ns, p99_ns, max_ns, mean_ns;
} IfmPercentiles;

typedef struct
{
    gint64 start_ns, end_ns, window_ns;
    gsize n_devices;         /* tracks of devices (foreign: threads) */
    GArray *tracks;          /* IfmTrackUse, devices first */
    gint64 busy_ns, idle_ns; /* over all devices: busy + idle = window x n_devices, exactly */
    double wall_utilisation; /* busy / (window x n_devices); NaN without devices */
    gsize n_batches;         /* that left in the window, or never left and were in a block */
    gsize n_left;            /* of those: left with a result; latencies are theirs */
    gsize n_failed_batches;  /* of those: left with an error */
    gint64 makespan_ns;      /* from the entry of the first batch to the end of the last; -1 without batches */
    double throughput_per_s; /* batches that left / window; NaN without batches */
    IfmPercentiles latency;  /* of batches; NaN without batches */
    IfmPercentiles cycle;    /* cycle latency of a batch: its longest stage_total */
    GArray *stages;          /* IfmStageUse */
    int bottleneck_block;    /* the block that is the longest for most batches; 0: none */
    GArray *batch_stage_ns;  /* gint64 [n_batches x stages->len], -1 where the batch did not get there; row-major */
    GArray *batch_turn_ns;   /* the same shape: the waits for the devices' turns */
    GArray *batch_ids;       /* gint32 [n_batches] */
    gint64 critical_batch;   /* the batch of median latency; -1: none */
    GArray *critical_path;   /* IfmPathStep of that batch */
    GArray *idle_spans;      /* IfmIdleSpan, where they were asked for: their sums are idle_by_cause_ns, but for what is
                                before a stream's first batch and after its last */
    GArray *operators;       /* IfmOperatorUse of foreign traces, by kind, then the longest first */
    GStringChunk *names;     /* of the operators */
    gsize n_dropped;         /* events without room */
    gsize n_damaged;         /* events of the file that were skipped */
    gsize n_failed;          /* inferences that ended with an error */
    GPtrArray *warnings;     /* char*: events dropped, overlaps on one device track, clocks that ran backwards */
} IfmTraceAnalysis;

/** IfmTraceQuestion: @start_ns, @end_ns: the window; both 0: from the first event to the last end. @batch: of the critical
 * path; -1: the one of median latency. @idle_spans: not only the sums of idle time but each span, too. */
typedef struct
{
    gint64 start_ns, end_ns;
    gint32 batch;
    gboolean idle_spans;
} IfmTraceQuestion;
#define IFM_TRACE_QUESTION_INIT ((IfmTraceQuestion){ .batch = -1 })

/** ifm_trace_analyse: Returns: (transfer full) NULL with IFM_ERROR_INVALID for a trace without events or an empty
 * window. Time and memory are at most n log n in the events, for a given number of devices in one block. */
IfmTraceAnalysis *ifm_trace_analyse(const IfmTrace *trace, const IfmTraceQuestion *question, GError **error);
void ifm_trace_analysis_free(IfmTraceAnalysis *analysis);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmTraceAnalysis, ifm_trace_analysis_free)

/** ifm_trace_analysis_check: Whether the question's window begins before the last event ends, and whether @analysis has its
 * batch. FALSE with IFM_ERROR_INVALID: figures of nothing are no answer. */
gboolean ifm_trace_analysis_check(const IfmTraceAnalysis *analysis, const IfmTrace *trace, const IfmTraceQuestion *question,
                                  GError **error);

/** ifm_trace_begin_ns: Returns: when the first event starts; G_MAXINT64 without events. */
gint64 ifm_trace_begin_ns(const IfmTrace *trace);

/** ifm_trace_analysis_to_json: Every figure above; keys in docs/formats.md. (transfer full) */
json_t *ifm_trace_analysis_to_json(const IfmTraceAnalysis *analysis, const IfmTrace *trace);

/**
 * ifm_trace_log: Records and analyses what a program in another language logged: JSON in, JSON out. Inferences of a device
 * that overlap are on further streams of it. A batch is in a block (the stages, by their first event) from its first event
 * there to its last.
 * @log: {"name", "events": [{"kind": "infer", "partition", "merge" or "copy", "name", "device", "stage", "batch" (-1:
 * none), "start_ns", "end_ns", "device_ns" (-1: unknown)}]}, in any order
 * @path: of the trace that is written, as by ifm_trace_write(), or NULL
 * Returns: (transfer full) as of ifm_trace_analysis_to_json(); g_free() it. NULL with IFM_ERROR_INVALID naming the event,
 * or the errors of writing and analysing.
 */
char *ifm_trace_log(const char *log, const char *path, GError **error);

/* --- two traces compared ------------------------------------------------------------------------------------------- */

/** ifm_trace_diff: Matches devices by alias and stream, and blocks by number. A figure of only one trace has NaN for
 * the other. Returns: (transfer full) IfmTraceDifference*, in reading order. */
GPtrArray *ifm_trace_diff(const IfmTraceAnalysis *a, const IfmTraceAnalysis *b);

/** ifm_trace_is_simulated: whether a simulation recorded it. */
gboolean ifm_trace_is_simulated(const IfmTrace *trace);

/** ifm_trace_stream: the stream of batches that went through; "" where the trace does not name it. */
const char *ifm_trace_stream(const IfmTrace *trace);

/* --- traces -------------------------------------------------------------------------------------------------------- */

/** ifm_trace_events_to_csv: One row an event, with a header line, as a data frame reads it: times in ns, empty where there
 * is none. @traces: [n_traces]; their numbers, from 0, are the first column. (transfer full) */
char *ifm_trace_events_to_csv(const IfmTrace *const *traces, gsize n_traces);

/** ifm_trace_differences_to_json: (transfer full) [{"key", "unit", "a", "b", "ratio"}]. @differences: of ifm_trace_diff()
 */
json_t *ifm_trace_differences_to_json(const GPtrArray *differences);

/* --- the documents of results -------------------------------------------------------------------------------------- */

/** ifm_trace_document: (transfer full) borrows both. What happened, as one wants it first: how fast, what each device did
 * and why it was idle, the blocks with the bottleneck marked, latencies, the critical path of a batch. */
IfmDocument *ifm_trace_document(const IfmTrace *trace, const IfmTraceAnalysis *analysis);

/** ifm_trace_diff_document: (transfer full) @differences: of ifm_trace_diff(), borrowed. @a, @b: what the two are called.
 */
IfmDocument *ifm_trace_diff_document(const GPtrArray *differences, const char *a, const char *b);

/** ifm_timeline_document: (transfer full) of that figure alone. */
IfmDocument *ifm_timeline_document(const IfmTrace *const *traces, gsize n_traces, const IfmTraceQuestion *question);

IFM_END_DECLS
