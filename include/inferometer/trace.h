#pragma once
#include <stdatomic.h>

#include <jansson.h>

#include <inferometer/clock.h>

IFM_BEGIN_DECLS

/*
 * Traces: events recorded without a lock, written as a Chrome trace (ui.perfetto.dev, chrome://tracing), read back (our
 * own files, ONNX Runtime's profiles, any Chrome JSON) and analysed. A simulated timeline and a real one have the same
 * form, so that they can be shown and compared side by side.
 */

/* --- events ----------------------------------------------------------------------------------------------------------- */

typedef enum
{
    IFM_EVENT_INFER,       /* one inference on a device's stream: from its start there to its completion */
    IFM_EVENT_PARTITION,   /* the host partitions a batch among a block's devices */
    IFM_EVENT_MERGE,       /* from the last device's completion to the merged output */
    IFM_EVENT_COPY,        /* bytes moved because memory is not shared, or a static model needs padding */
    IFM_EVENT_QUEUE,       /* a batch is in a queue: from when it was put there to when it was taken */
    IFM_EVENT_WAIT_INPUT,  /* a block has nothing to do: its input queue is empty */
    IFM_EVENT_WAIT_OUTPUT, /* a block holds a finished batch: the queue after it is full */
    IFM_EVENT_BLOCK,       /* a batch's whole time in a block: partition, its wait for the device's turn, device, merge */
    IFM_EVENT_BATCH,       /* a batch's whole time in the pipeline */
    IFM_EVENT_NODE,        /* one node within an inference (profiled runs, imported profiles); named "OP_TYPE NODE" */
    IFM_EVENT_KERNEL,      /* of a foreign trace: a kernel, copy or fill that a device's stream ran */
    IFM_EVENT_LAUNCH,      /* a host's call of a device's runtime, which launches kernels or waits for them */
    IFM_EVENT_SPAN,        /* an annotation, a span of the profiler itself, an instant: no work */
    IFM_EVENT_OTHER,       /* of a foreign trace */
    IFM_N_EVENT_KINDS,
} IfmEventKind;

/** ifm_event_kind_name: "infer", "partition", "merge", "copy", "queue", "wait-input", "wait-output", "block", "batch",
 * "node", "kernel", "launch", "annotation", "other": the Chrome category. */
const char *ifm_event_kind_name(IfmEventKind kind);

/** IfmEvent: 64 bytes. Times are on the recording's clock. */
typedef struct
{
    gint64 start_ns, duration_ns;
    gint64 device_ns; /* by the device's own counters; -1: unavailable */
    union
    {
        gint64 overhead_ns; /* wall time that counting added: what exceeds the median without it, at least 0; -1: unknown */
        gint64 delay_ns;    /* of a kernel: from the start of its launch to its own, at least 0; -1: unknown */
    };
    gint64 bytes;        /* of a copy; else 0 */
    guint32 name;        /* ifm_trace_intern() */
    gint32 batch;        /* from 0; -1: none */
    guint16 block;       /* of the plan, from 1; 0: none */
    guint16 first, last; /* stages, from 1; 0: none */
    guint8 kind;         /* IfmEventKind */
    guint8 failed;       /* 1: it ended with an error */
    guint32 track;       /* index into the trace's tracks; set by recording */
    guint32 provider;    /* of a node: what ran it, ifm_trace_intern(); 0: unknown */
} IfmEvent;

#define IFM_EVENT_INIT ((IfmEvent){ .device_ns = -1, .overhead_ns = -1, .batch = -1 })

typedef enum
{
    IFM_TRACK_DEVICE, /* one stream of a device: its slices do not overlap */
    IFM_TRACK_HOST,   /* a block's host work: partition, merge, copies, waits */
    IFM_TRACK_QUEUE,  /* batches in a queue: these may overlap, so they are written as asynchronous slices */
    IFM_TRACK_FOREIGN,
} IfmTrackKind;

/** IfmTrackInfo: @process: "run", "simulation"; @thread: "CPU (openvino:CPU@0) stream 0", "block 1 host". */
typedef struct
{
    IfmTrackKind kind;
    char *process, *thread;
    char *device; /* alias; NULL for a track of no device */
    char *spec;   /* canonical device spec, or NULL */
    int stream;
    int block;       /* of the plan, from 1; 0: none or several */
    gint64 pid, tid; /* as written and read; 0: ifm_trace_add_track() sets them */
} IfmTrackInfo;

/** IfmTrace: tracks, names, events. Tracks and names are added before recording begins. During recording each track has
 * one thread. */
typedef struct IfmTrace IfmTrace;
typedef struct IfmTrack IfmTrack;

/** ifm_trace_new: @name: of the trace as a whole. */
IfmTrace *ifm_trace_new(const char *name);
void ifm_trace_free(IfmTrace *trace);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(IfmTrace, ifm_trace_free)
const char *ifm_trace_name(const IfmTrace *trace);
void ifm_trace_set_name(IfmTrace *trace, const char *name);
/** ifm_trace_set_meta: Sets JSON that is written and read with the trace: plan, sizes, versions, "device_time",
 * "device_time_slow_down_ratio". @json: (transfer full) an object. ifm_trace_meta(): borrowed, never NULL. */
void ifm_trace_set_meta(IfmTrace *trace, json_t *json);
const json_t *ifm_trace_meta(const IfmTrace *trace);

/** ifm_trace_intern: Returns: a number for a text, the same for equal texts; 0 for "". Not while recording. */
guint32 ifm_trace_intern(IfmTrace *trace, const char *text);
const char *ifm_trace_text(const IfmTrace *trace, guint32 name);

/** ifm_trace_add_track: @capacity: the number of events it has room for. The memory is allocated and touched now, so
 * that recording allocates nothing. Returns: borrowed; lives as long as the trace. */
IfmTrack *ifm_trace_add_track(IfmTrace *trace, const IfmTrackInfo *info, gsize capacity);
gsize ifm_trace_n_tracks(const IfmTrace *trace);
const IfmTrackInfo *ifm_trace_track_info(const IfmTrace *trace, gsize index);

/* The recording side. It is in the header so that recording costs a store and a count. */
struct IfmTrack
{
    IfmEvent *events; /* [capacity] */
    gsize capacity;
    guint32 index;
    atomic_size_t n;         /* complete events; written by one thread */
    atomic_size_t n_dropped; /* events without room; the analysis reports them */
};

/** ifm_track_record: Records one event, on the track's own thread. No lock, no allocation, no system call. */
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

/** ifm_trace_events: Returns: (borrowed) the events of one track, in the order they were recorded. The first @n events
 * are complete, but for device_ns and overhead_ns: the run that records them may write these until it has ended.
 * Another thread that reads earlier must not read those two. */
const IfmEvent *ifm_trace_events(const IfmTrace *trace, gsize track, gsize *n);
/** ifm_trace_n_damaged: Events of the file that were skipped, as they were damaged. ifm_trace_notes: What reading found
 * odd, in words: which those were, and where. Returns: (borrowed) char* */
gsize ifm_trace_n_damaged(const IfmTrace *trace);
const GPtrArray *ifm_trace_notes(const IfmTrace *trace);
gsize ifm_trace_n_events(const IfmTrace *trace);
gsize ifm_trace_n_dropped(const IfmTrace *trace);

/* --- files ------------------------------------------------------------------------------------------------------------ */

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
/** ifm_trace_parse: The same from memory. @name: names the text in messages. */
GPtrArray *ifm_trace_parse(const char *text, gsize length, const char *name, const IfmTraceLimits *limits, GError **error);

/* --- analysis --------------------------------------------------------------------------------------------------------- */

/** IfmIdleCause: why a device was idle. Each instant has one cause; their order of precedence: docs/traces.md. */
typedef enum
{
    IFM_IDLE_UPSTREAM,    /* it waited for the block before it, or for batches to enter */
    IFM_IDLE_HOST,        /* its block's partition or merge was in progress, or a batch was handed over */
    IFM_IDLE_TRANSFER,    /* its block's copy was in progress */
    IFM_IDLE_QUEUE_FULL,  /* its block could not hand a batch on */
    IFM_IDLE_PARTNER,     /* another device of its block had not finished the batch */
    IFM_IDLE_NO_WORK,     /* before the first batch entered the pipeline, and after its last one left its block */
    IFM_IDLE_HOST_WAIT,   /* the next kernel was launched after the one before it had ended */
    IFM_IDLE_KERNEL_WAIT, /* below IFM_KERNEL_WAIT_NS between two kernels, the next launched in time */
    IFM_IDLE_UNKNOWN,     /* no event shows a cause (foreign traces) */
    IFM_N_IDLE_CAUSES,
} IfmIdleCause;

#define IFM_KERNEL_WAIT_NS 30000

#define IFM_BUBBLE_BINS 12 /* < 1 us, < 4 us, < 16 us, … each 4 times the one before; the last is open */

/** IfmTrackUse: one stream of a device (or a foreign thread) over the window. Times in ns; ratios of the window. */
typedef struct
{
    const IfmTrackInfo *info; /* borrowed from the trace */
    gsize n_events;           /* inferences; for a foreign thread its outermost slices */
    gint64 busy_ns;           /* union of its intervals: an overlap counts once */
    gint64 device_ns;         /* sum; -1: unavailable (off, or unknown for some inferences) */
    gsize n_device;           /* inferences whose device time is known */
    double wall_utilisation;  /* busy / window */
    double hw_utilisation;    /* device time / window, extrapolated from the sampled inferences; NaN: unavailable */
    gint64 idle_ns;           /* window - busy, exactly */
    gint64 idle_by_cause_ns[IFM_N_IDLE_CAUSES]; /* adds up to idle_ns, exactly */
    gint64 idle_others_busy_ns, idle_alone_ns;  /* add up to idle_ns: while another device works; while none does */
    gsize n_bubbles;                            /* gaps between inference N's end and inference N + 1's start */
    double bubble_mean_ns;
    gint64 bubble_max_ns, bubble_sum_ns;
    gsize bubble_bins[IFM_BUBBLE_BINS];
    double penalty_mean_ns,
        penalty_ratio; /* wall - device of the inferences with a device time; ratio: of their wall time. NaN: unavailable */
    gint64 marshalling_ns; /* in nodes Input, Reorder, Convert, Memcpy…; -1 without nodes */
    gint64 node_ns;        /* in all nodes; -1 without */
    gsize n_launches;      /* calls of a device's runtime, of a host thread */
    gint64 launch_ns;      /* union of their time */
    double delay_mean_ns;  /* from launch to start, of the kernels whose launch is known; NaN: of none */
} IfmTrackUse;

/** IfmOperatorUse: the nodes of one operator and provider, or the kernels of one name. Sums over events, so that nodes
 * within a node count twice. */
typedef struct
{
    const char *name;     /* borrowed from the analysis */
    const char *provider; /* borrowed from the trace; "": unknown */
    IfmEventKind kind;    /* IFM_EVENT_NODE, IFM_EVENT_KERNEL */
    gsize n;
    gint64 total_ns, max_ns;
} IfmOperatorUse;

/** IfmIdleSpan: why a device's stream was idle from when to when. */
typedef struct
{
    const IfmTrackInfo *info; /* borrowed from the trace */
    IfmIdleCause cause;
    gint64 start_ns, end_ns;
} IfmIdleSpan;

/** IfmStageUse: one block of the plan over its batches. */
typedef struct
{
    int block, first, last;
    gsize n;
    double mean_ns, median_ns, max_ns;        /* of stage_total, ns */
    double partition_ns, device_ns, merge_ns; /* means; they add up to mean_ns */
    double turn_ns;                           /* mean wait for the device's turn: part of the block event, not of mean_ns */
    gsize n_bottleneck;                       /* batches for which it was the longest */
} IfmStageUse;

typedef struct
{
    double p50_ns, p90_ns, p95_ns, p99_ns, max_ns, mean_ns;
} IfmPercentiles;

/** IfmPathStep: a step of a critical path: what delayed the batch, from its entry to its end. Each step begins where
 * the one before ends. */
typedef struct
{
    IfmEventKind kind;
    guint32 track;
    int block;
    gint64 start_ns, duration_ns;
    gboolean turn; /* of kind BLOCK: the batch waited for its device, which had another batch; @track is the device's */
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

IFM_END_DECLS
