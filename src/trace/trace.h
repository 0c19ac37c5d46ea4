/* Shared with other rooms: tracks, events and their analysis. */
#pragma once
#include <jansson.h>
#include <stdatomic.h>

#include <inferometer/trace.h>

G_BEGIN_DECLS

/* --- events -------------------------------------------------------------------------------------------------------- */

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

/** ifm_event_end_ns: start + duration; a duration below 0 counts as 0. At most G_MAXINT64. */
static inline gint64 ifm_event_end_ns(const IfmEvent *event)
{
    gint64 end;
    return __builtin_add_overflow(event->start_ns, MAX(event->duration_ns, 0), &end) ? G_MAXINT64 : end;
}

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

typedef struct IfmTrack IfmTrack;

/** ifm_trace_new: @name: of the trace as a whole. */
IfmTrace *ifm_trace_new(const char *name);

void ifm_trace_set_name(IfmTrace *trace, const char *name);

/** ifm_trace_set_meta: Sets JSON that is written and read with the trace: plan, sizes, versions, "device_time",
 * "device_time_slow_down_ratio". @json: (transfer full) an object. ifm_trace_meta(): borrowed, never NULL. */
void ifm_trace_set_meta(IfmTrace *trace, json_t *json);
/* ifm_trace_add_meta: One more key of it. @json: (transfer full) NULL: nothing is added */
void ifm_trace_add_meta(IfmTrace *trace, const char *key, json_t *json);
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

/* --- files --------------------------------------------------------------------------------------------------------- */

/** ifm_trace_parse: The same from memory. @name: names the text in messages. */
GPtrArray *ifm_trace_parse(const char *text, gsize length, const char *name, const IfmTraceLimits *limits, GError **error);

/* --- analysis ------------------------------------------------------------------------------------------------------ */

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

/* --- trace --------------------------------------------------------------------------------------------------------- */

/* What measuring takes from a trace. */

/** ifm_node_is_marshalling: Whether a node moves or converts data for a runtime (Reorder, Convert, MemcpyToHost, Input,
 * …). @name: of a NODE event: its type, optionally followed by a blank and the node's name. */
gboolean ifm_node_is_marshalling(const char *name);

/** IfmTraceChange: of how many events are under way. */
typedef struct
{
    gint64 at_ns;
    int by;
} IfmTraceChange;

/** ifm_trace_add_changes: Adds those by a track's events of a kind: one more at each start, one less at each end. Events
 * without duration change nothing. @changes: IfmTraceChange */
void ifm_trace_add_changes(GArray *changes, const IfmTrace *trace, gsize track, IfmEventKind kind);

/** ifm_trace_sort_changes: By time; of one moment the ends first. */
void ifm_trace_sort_changes(GArray *changes);

/** ifm_trace_forget_events: Removes all events. Tracks and names stay, with their room. Not while recording. */
void ifm_trace_forget_events(IfmTrace *trace);

/* --- two traces compared ------------------------------------------------------------------------------------------- */

/* Comparing traces: which go together, and by which figures they differ. */

/** IfmTraceDifference: one figure of two traces. */
typedef struct
{
    char
        *key; /* "throughput", "makespan", "CPU stream 0 wall utilisation", "block 1 total", "CPU stream 0 idle upstream" */
    const char *unit; /* "ns", "1/s", "ratio" */
    double a, b;      /* NaN if the trace lacks it */
    double ratio;     /* b / a; NaN */
} IfmTraceDifference;

/** ifm_trace_partner: Returns: (transfer none) the trace of @others to compare with @traces' number @index: that of the
 * same stream, and of several of that the one as far on; of one trace each the other, whatever they are called. NULL: none.
 * @traces, @others: IfmTrace* */
const IfmTrace *ifm_trace_partner(const GPtrArray *traces, guint index, const GPtrArray *others);

G_END_DECLS
