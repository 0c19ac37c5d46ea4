#pragma once
#include <stdatomic.h>

#include <jansson.h>

#include <inferometer/clock.h>

G_BEGIN_DECLS

/*
 * What happened when: recorded on the way without a lock, written as a Chrome trace (ui.perfetto.dev, chrome://tracing),
 * read back (ours, ONNX Runtime's profile, any Chrome JSON), analysed. A simulated timeline and a real one are the same
 * thing, so they can be laid side by side and told apart.
 */

/* --- events ----------------------------------------------------------------------------------------------------------- */

typedef enum
{
    IFM_EVENT_INFER,       /* one inference on a device's stream: from its start there to its completion */
    IFM_EVENT_PARTITION,   /* the host parts a batch among a block's devices */
    IFM_EVENT_MERGE,       /* from the last device's completion to the merged output */
    IFM_EVENT_COPY,        /* bytes moved because memory is not shared, or a static model needs padding */
    IFM_EVENT_QUEUE,       /* a batch lies in a queue: from when it was put there to when it was taken */
    IFM_EVENT_WAIT_INPUT,  /* a block has nothing to do: its input queue is empty */
    IFM_EVENT_WAIT_OUTPUT, /* a block holds a finished batch: the queue after it is full */
    IFM_EVENT_BLOCK,       /* a batch's whole time in a block: partition, its wait for the device's turn, device, merge */
    IFM_EVENT_BATCH,       /* a batch's whole time in the pipeline */
    IFM_EVENT_NODE,        /* one node within an inference (profiled twins, imported profiles); named "OP_TYPE NODE" */
    IFM_EVENT_OTHER,       /* of a foreign trace */
    IFM_N_EVENT_KINDS,
} IfmEventKind;

/** ifm_event_kind_name: "infer", "partition", "merge", "copy", "queue", "wait-input", "wait-output", "block", "batch",
 * "node", "other": the Chrome category. */
const char *ifm_event_kind_name(IfmEventKind kind);

/** IfmEvent: 64 bytes. Times are on the recording's clock. Leave @reserved 0. */
typedef struct
{
    gint64 start_ns, duration_ns;
    gint64 device_ns;    /* the device's own counters; -1: unavailable */
    gint64 overhead_ns;  /* wall time that counting it added: beyond the median without, at least 0; -1: unknown */
    gint64 bytes;        /* of a copy; 0 */
    guint32 name;        /* ifm_trace_intern() */
    gint32 batch;        /* from 0; -1: none */
    guint16 block;       /* of the plan, from 1; 0: none */
    guint16 first, last; /* stages, from 1; 0: none */
    guint8 kind;         /* IfmEventKind */
    guint8 failed;       /* 1: it ended with an error */
    guint32 track;       /* index into the trace's tracks; set by recording */
    guint32 reserved;
} IfmEvent;

#define IFM_EVENT_INIT ((IfmEvent){ .device_ns = -1, .overhead_ns = -1, .batch = -1 })

typedef enum
{
    IFM_TRACK_DEVICE, /* one stream of a device: its slices never overlap */
    IFM_TRACK_HOST,   /* a block's host work: partition, merge, copies, waits */
    IFM_TRACK_QUEUE,  /* batches lying in a queue: these may overlap, so they are written as asynchronous slices */
    IFM_TRACK_FOREIGN,
} IfmTrackKind;

/** IfmTrackInfo: @process: "run", "simulation"; @thread: "CPU (openvino:CPU@0) stream 0", "block 1 host". */
typedef struct
{
    IfmTrackKind kind;
    char *process, *thread;
    char *device; /* alias; NULL where it is no device's */
    char *spec;   /* canonical device spec, or NULL */
    int stream;
    int block;       /* of the plan, from 1; 0: none or several */
    gint64 pid, tid; /* as written and read; set by ifm_trace_add_track() where 0 */
} IfmTrackInfo;

/** IfmTrace: tracks, names, events. Tracks and names are added before recording begins; then each track has one thread. */
typedef struct IfmTrace IfmTrace;
typedef struct IfmTrack IfmTrack;

/** ifm_trace_new: @name: what the whole is called. */
IfmTrace *ifm_trace_new(const char *name);
void ifm_trace_free(IfmTrace *trace);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmTrace, ifm_trace_free)
const char *ifm_trace_name(const IfmTrace *trace);
/** ifm_trace_set_meta: JSON that travels with it: plan, sizes, versions, "device_time", "device_time_slow_down_ratio".
 * @json: (transfer full) an object. ifm_trace_meta: borrowed, never NULL. */
void ifm_trace_set_meta(IfmTrace *trace, json_t *json);
const json_t *ifm_trace_meta(const IfmTrace *trace);

/** ifm_trace_intern: Returns: a number for a text; the same for equal texts; 0 for "". Not while recording. */
guint32 ifm_trace_intern(IfmTrace *trace, const char *text);
const char *ifm_trace_text(const IfmTrace *trace, guint32 name);

/** ifm_trace_add_track: @capacity: events it has room for, reserved and touched now, so that recording allocates nothing.
 * Returns: borrowed; lives as long as the trace. */
IfmTrack *ifm_trace_add_track(IfmTrace *trace, const IfmTrackInfo *info, gsize capacity);
gsize ifm_trace_n_tracks(const IfmTrace *trace);
const IfmTrackInfo *ifm_trace_track_info(const IfmTrace *trace, gsize index);

/* The recording side, in the header so that it costs a store and a count. */
struct IfmTrack
{
    IfmEvent *events; /* [capacity] */
    gsize capacity;
    guint32 index;
    atomic_size_t n;         /* events whole; written by one thread */
    atomic_size_t n_dropped; /* there was no room: told by the analysis, never silent */
};

/** ifm_track_record: One event, by the track's own thread. No lock, no allocation, no system call. */
static inline void ifm_track_record(IfmTrack *track, const IfmEvent *event)
{
    gsize n = atomic_load_explicit(&track->n, memory_order_relaxed);
    if (G_UNLIKELY(n >= track->capacity))
    {
        atomic_store_explicit(&track->n_dropped, atomic_load_explicit(&track->n_dropped, memory_order_relaxed) + 1,
                              memory_order_relaxed);
        return;
    }
    track->events[n] = *event;
    track->events[n].track = track->index;
    atomic_store_explicit(&track->n, n + 1, memory_order_release);
}

/** Events of one track, in the order they were recorded. What is counted is whole; but device_ns and overhead_ns may still
 * be written to events that are counted, until the run that records them has ended: another thread that reads before must
 * leave those two alone. */
const IfmEvent *ifm_trace_events(const IfmTrace *trace, gsize track, gsize *n);
gsize ifm_trace_n_events(const IfmTrace *trace);
gsize ifm_trace_n_dropped(const IfmTrace *trace);
/** ifm_trace_forget_events: Tracks and names stay, with their room. Not while recording. */
void ifm_trace_forget_events(IfmTrace *trace);

/* --- files ------------------------------------------------------------------------------------------------------------ */

/**
 * ifm_trace_write: Chrome JSON, written in one step; gzip where @path ends in ".gz". Times are us since the trace's first
 * event, with three decimals (exact ns). Metadata events name processes and threads; DEVICE and HOST slices are X events,
 * one tid each; QUEUE and BATCH slices are asynchronous (b, e) as they overlap; flows (s, t, f) link a batch through its
 * blocks; args: batch, block, stages, device_ns, overhead_ns, bytes. "otherData" holds name and meta.
 * @traces: [n_traces] side by side: a simulation and its run, each begins at 0 and has pids of its own.
 */
gboolean ifm_trace_write(const IfmTrace *const *traces, gsize n_traces, const char *path, GError **error);

/** IfmTraceLimits: of reading. 0: the default. */
typedef struct
{
    gsize most_events; /* default 20 million */
    gsize most_names;  /* default 1 million distinct texts, 4096 bytes each at most; longer ones are cut */
} IfmTraceLimits;

/**
 * ifm_trace_read: Reads what ifm_trace_write() wrote (exactly), an ONNX Runtime profile, or any Chrome JSON
 * ({"traceEvents": […]} or a bare array, a missing closing bracket of which is right by that format) with X, B/E and b/e
 * events; plain or gzip, by content. Streaming: memory is what the events take (64 bytes each), whatever the file's size.
 * @path: "-" is standard input
 * Nodes of ONNX Runtime (cat "Node", args.op_name) become IFM_EVENT_NODE.
 * Returns: (transfer full) IfmTrace*, one for each trace in the file (several: our own side by side), at least one. NULL
 * with IFM_ERROR_UNAVAILABLE, or IFM_ERROR_INVALID "FILE: byte N: ..." (truncated, malformed, nested deeper than 64, a
 * number out of range, an E without its B, an event without ts, no event at all), or IFM_ERROR_MEMORY beyond the limits.
 */
GPtrArray *ifm_trace_read(const char *path, const IfmTraceLimits *limits, GError **error);
/** ifm_trace_parse: the same from memory. @name: what messages call it. */
GPtrArray *ifm_trace_parse(const char *text, gsize length, const char *name, const IfmTraceLimits *limits, GError **error);

/* --- analysis --------------------------------------------------------------------------------------------------------- */

/** IfmIdleCause: why a device did nothing. Each instant has one; which comes before which: docs/traces.md. */
typedef enum
{
    IFM_IDLE_UPSTREAM,   /* waited for the block before it, or for batches to enter */
    IFM_IDLE_HOST,       /* its block's partition or merge was under way, or a batch was being handed over */
    IFM_IDLE_TRANSFER,   /* its block's copy was under way */
    IFM_IDLE_QUEUE_FULL, /* its block could not hand over */
    IFM_IDLE_PARTNER,    /* another device of its block had not finished the batch */
    IFM_IDLE_NO_WORK,    /* before the first batch entered the pipeline, and once its last one had left its block */
    IFM_IDLE_UNKNOWN,    /* nothing recorded tells (foreign traces) */
    IFM_N_IDLE_CAUSES,
} IfmIdleCause;
/** ifm_idle_cause_name: "upstream", "host", "transfer", "queue-full", "partner", "no-work", "unknown". */
const char *ifm_idle_cause_name(IfmIdleCause cause);

/** ifm_node_is_marshalling: whether a node moves or converts data for the runtime's sake (Reorder, Convert, MemcpyToHost,
 * Input, …), whichever runtime calls it so. @name: of a NODE event: its type, perhaps a blank and what it is called. */
gboolean ifm_node_is_marshalling(const char *name);

#define IFM_BUBBLE_BINS 12 /* < 1 us, < 4 us, < 16 us, … each 4 times the last; the last is open */

/** IfmTrackUse: one stream of a device (or a foreign thread) over the window. ns; ratios of the window. */
typedef struct
{
    const IfmTrackInfo *info; /* borrowed of the trace */
    gsize n_events;           /* inferences; of a foreign thread, its outermost slices */
    gint64 busy_ns;           /* union of its intervals: an overlap counts once */
    gint64 device_ns;         /* sum; -1: unavailable (off, or of some inferences unknown) */
    gsize n_device;           /* inferences whose device time is known */
    double wall_utilisation;  /* busy / window */
    double hw_utilisation;    /* device time / window, extrapolated from those known where sampled; NaN: unavailable */
    gint64 idle_ns;           /* window - busy, exactly */
    gint64 idle_by_cause_ns[IFM_N_IDLE_CAUSES]; /* adds up to idle_ns, exactly */
    gint64 idle_others_busy_ns, idle_alone_ns;  /* add up to idle_ns: while another device works; while none does */
    gsize n_bubbles;                            /* gaps between inference N's end and inference N + 1's start */
    double bubble_mean_ns;
    gint64 bubble_max_ns, bubble_sum_ns;
    gsize bubble_bins[IFM_BUBBLE_BINS];
    double penalty_mean_ns, penalty_ratio; /* wall - device of those known; ratio: of their wall. NaN: unavailable */
    gint64 marshalling_ns;                 /* in nodes Input, Reorder, Convert, Memcpy…; -1 without nodes */
    gint64 node_ns;                        /* in all nodes; -1 without */
} IfmTrackUse;

/** IfmStageUse: one block of the plan over its batches. */
typedef struct
{
    int block, first, last;
    gsize n;
    double mean_ns, median_ns, max_ns;        /* of stage_total; ns */
    double partition_ns, device_ns, merge_ns; /* means; they add up to mean_ns */
    double turn_ns;                           /* mean wait for the device's turn: in the block event, not in mean_ns */
    gsize n_bottleneck;                       /* batches of which it was the longest */
} IfmStageUse;

typedef struct
{
    double p50_ns, p90_ns, p95_ns, p99_ns, max_ns, mean_ns;
} IfmPercentiles;

/** IfmPathStep: of a critical path: what the batch was held by, from its entry to its leaving; steps meet end to start. */
typedef struct
{
    IfmEventKind kind;
    guint32 track;
    int block;
    gint64 start_ns, duration_ns;
    gboolean turn; /* of kind BLOCK: it waited for its device, which had another batch; @track is the device's */
    gint32 batch;  /* whose step it is; of a @turn the batch that the device had */
} IfmPathStep;

typedef struct
{
    gint64 start_ns, end_ns, window_ns;
    gsize n_devices;         /* tracks of devices (foreign: threads) */
    GArray *tracks;          /* IfmTrackUse, devices first */
    gint64 busy_ns, idle_ns; /* over all devices: busy + idle = window x n_devices, exactly */
    double wall_utilisation; /* busy / (window x n_devices); NaN without devices */
    gsize n_batches;         /* that left in the window, or never left and were in a block */
    gsize n_left;            /* of those: with a result, which is what latencies are of */
    gsize n_failed_batches;  /* of those: left with an error */
    gint64 makespan_ns;      /* from the first one's entry to the last one's leaving; -1 without batches */
    double throughput_per_s; /* batches that left / window; NaN without batches */
    IfmPercentiles latency;  /* of batches; NaN without */
    IfmPercentiles cycle;    /* cycle latency of a batch: its longest stage_total */
    GArray *stages;          /* IfmStageUse */
    int bottleneck_block;    /* of most batches the longest; 0: none */
    GArray *batch_stage_ns;  /* gint64 [n_batches x stages->len], -1 where it never got there; row-major */
    GArray *batch_turn_ns;   /* the same of the waits for the devices' turns */
    GArray *batch_ids;       /* gint32 [n_batches] */
    gint64 critical_batch;   /* the batch of median latency; -1 */
    GArray *critical_path;   /* IfmPathStep of that batch */
    gsize n_dropped;         /* events there was no room for */
    gsize n_failed;          /* inferences that ended with an error */
    GPtrArray *warnings;     /* char*: events dropped, overlaps on one device track, clocks that ran backwards */
} IfmTraceAnalysis;

/** IfmTraceQuestion: @start_ns, @end_ns: the window; both 0: from the first event to the last end. @batch: of the critical
 * path; -1: the one of median latency. */
typedef struct
{
    gint64 start_ns, end_ns;
    gint32 batch;
} IfmTraceQuestion;
#define IFM_TRACE_QUESTION_INIT ((IfmTraceQuestion){ .batch = -1 })

/** ifm_trace_analyse: (transfer full) NULL with IFM_ERROR_INVALID for a trace without events or an empty window. Time and
 * memory are n log n in the events at most, for a given number of devices in one block. */
IfmTraceAnalysis *ifm_trace_analyse(const IfmTrace *trace, const IfmTraceQuestion *question, GError **error);
void ifm_trace_analysis_free(IfmTraceAnalysis *analysis);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmTraceAnalysis, ifm_trace_analysis_free)
/** ifm_trace_analysis_to_json: every figure above, keys in docs/formats.md. (transfer full) */
json_t *ifm_trace_analysis_to_json(const IfmTraceAnalysis *analysis, const IfmTrace *trace);

/** IfmTraceDifference: one figure of two traces. */
typedef struct
{
    char
        *key; /* "throughput", "makespan", "CPU stream 0 wall utilisation", "block 1 total", "CPU stream 0 idle upstream" */
    char *unit;   /* "ns", "1/s", "ratio" */
    double a, b;  /* NaN where one lacks it */
    double ratio; /* b / a; NaN */
} IfmTraceDifference;
/** ifm_trace_diff: Matches devices by alias and stream and blocks by number; those that only one has are there with NaN.
 * (transfer full) IfmTraceDifference*, in the order they should be read. */
GPtrArray *ifm_trace_diff(const IfmTraceAnalysis *a, const IfmTraceAnalysis *b);

G_END_DECLS
