#pragma once
#include <inferometer/trace.h>

G_BEGIN_DECLS

/* --- spans ------------------------------------------------------------------------------------------------------------ */

/* IfmSpan: from @start to before @end. */
typedef struct
{
    gint64 start, end;
} IfmSpan;

/* IfmKeyed: 16 bytes sorted by their first eight; what the others are is the caller's. A span is one, too. */
typedef struct
{
    gint64 key;
    guint32 a;
    gint32 b;
} IfmKeyed;

/* ifm_keyed_sort: Stable, ascending; n log(runs): what was recorded in order costs one pass. @items: [n] of 16 bytes that
 * begin with a gint64. */
void ifm_keyed_sort(void *items, gsize n);

/* ifm_times_sort: Ascending; n for each 11 bits in which they differ. @times: [n] none below 0. */
void ifm_times_sort(gint64 *times, gsize n);

/* ifm_event_end_ns: start + duration, a duration below 0 being 0; never beyond G_MAXINT64. */
static inline gint64 ifm_event_end_ns(const IfmEvent *event)
{
    gint64 end;
    return __builtin_add_overflow(event->start_ns, MAX(event->duration_ns, 0), &end) ? G_MAXINT64 : end;
}

/* IfmSpans: zeros are an empty one. */
typedef struct
{
    IfmSpan *all;
    gsize n, room;
} IfmSpans;

/* ifm_spans_grow: Room for one more at least, and for @expected where that is the first. Returns: what is now @all. */
IfmSpan *ifm_spans_grow(IfmSpans *spans, gsize expected) __attribute__((returns_nonnull));
void ifm_spans_clear(IfmSpans *spans);

/* ifm_spans_add: Appends what of the span lies in the window; nothing where that is empty. Spans that come in order and
 * touch or overlap the last are joined to it. */
static inline void ifm_spans_add(IfmSpans *spans, gint64 start, gint64 end, const IfmSpan *window, gsize expected)
{
    start = MAX(start, window->start);
    end = MIN(end, window->end);
    if (start >= end)
        return;
    IfmSpan *last = spans->n > 0 ? spans->all + spans->n - 1 : NULL;
    if (last != NULL && start >= last->start && start <= last->end)
    {
        last->end = MAX(last->end, end);
        return;
    }
    IfmSpan *all = spans->all;
    if (all == NULL || spans->n == spans->room)
        all = ifm_spans_grow(spans, expected);
    all[spans->n++] = (IfmSpan){ start, end };
}

/* ifm_spans_unite: Sorts them and joins those that touch or overlap: ascending and apart from each other. */
void ifm_spans_unite(IfmSpans *spans);
gint64 ifm_spans_total(const IfmSpans *spans);

/* IfmEdges: ascending times that lie @stride bytes apart, gone through together with others: in order, and none is copied.
 */
typedef struct
{
    const char *base;
    gsize stride, n, at;
    gint64 next; /* G_MAXINT64: none left */
} IfmEdges;

static inline void ifm_edges_load(IfmEdges *edges)
{
    edges->next =
        edges->at < edges->n ? *(const gint64 *)(const void *)(edges->base + edges->at * edges->stride) : G_MAXINT64;
}

static inline IfmEdges ifm_edges_of(const void *base, gsize stride, gsize n)
{
    IfmEdges edges = { base, stride, n, 0, G_MAXINT64 };
    ifm_edges_load(&edges);
    return edges;
}

/* ifm_edges_of_spans: starts and ends in turn of a united array. */
static inline IfmEdges ifm_edges_of_spans(const IfmSpans *spans)
{
    return ifm_edges_of(spans->all, sizeof(gint64), 2 * spans->n);
}

/* ifm_edges_least: Which of @all [n] has the earliest next time. */
static inline gsize ifm_edges_least(const IfmEdges *all, gsize n)
{
    gsize least = 0;
    for (gsize i = 1; i < n; i++)
        least = all[i].next < all[least].next ? i : least;
    return least;
}

/* --- what the parts hand to each other -------------------------------------------------------------------------------- */

/* IfmRun: an inference, close to the next: they are gone through several times. */
typedef struct
{
    gint64 start, end;
    gint32 batch;
    guint16 block; /* the event's, or its track's */
    guint16 failed;
} IfmRun;

/* Sums over the inferences that reach into the window; of one that its edge cuts, in proportion. */
typedef struct
{
    gint64 wall_ns, known_wall_ns, device_ns;
    gsize n_overlaps, n_failed;
    gboolean any;
    gint64 until_ns; /* the latest end so far, of all inferences before */
} IfmSums;

/* IfmWork: one device track (or foreign thread). */
typedef struct
{
    gsize track;           /* of the trace */
    gboolean infers;       /* it is a device's; else any slices count */
    gboolean out_of_order; /* inferences were not recorded by start */
    gboolean has_nodes;
    IfmRun *runs; /* [n_runs] its inferences by start */
    gsize n_runs;
    guint lowest, highest; /* of the runs' blocks */
    IfmSums sums;
    IfmSpans busy; /* united, within the window */
    guint group;   /* tracks of one device have the same */
} IfmWork;

/* IfmPart: what an analysis of batches needs of BATCH, BLOCK, PARTITION and MERGE events, close together. */
typedef struct
{
    gint64 start, end;
    gint32 batch;
    guint16 block, first, last;
    guint16 number; /* the block, or its track's */
    guint8 kind, failed;
} IfmPart;

typedef struct
{
    IfmPart *all;
    gsize n, room;
} IfmParts;

/* What a block's host may be about. */
enum
{
    IFM_COPYING,
    IFM_WORKING, /* partition, merge */
    IFM_FULL,
    IFM_WAITING,
    IFM_INSIDE, /* a batch is in the block */
    IFM_N_HOST_CLASSES,
};

/* IfmHostBlock: what a block's host was about, and when. */
typedef struct
{
    IfmSpans spans[IFM_N_HOST_CLASSES];
} IfmHostBlock;

/* IfmStretch: of so many events of a track, one after the other: the first start and the last end. */
#define IFM_STRETCH_EVENTS 512
typedef struct
{
    gsize track, first;
    IfmSpan span;
} IfmStretch;

/* IfmAnalysing: what is known while an analysis is being made. */
typedef struct
{
    const IfmTrace *trace;
    IfmTraceAnalysis *analysis;
    IfmSpan window;
    IfmWork *works; /* [n_works], as analysis->tracks */
    gsize n_works;
    gsize n_counted;               /* the first of them that are n_devices */
    IfmParts batches, stays, host; /* BATCH; BLOCK; PARTITION and MERGE; of those with a batch */
    IfmHostBlock *blocks;          /* [n_blocks] by number; 0: of none */
    guint n_blocks;
    gint64 first_entry_ns; /* of a batch; G_MAXINT64: none recorded */
    GArray *stretches;     /* IfmStretch */
} IfmAnalysing;

/* ifm_warn: Appends a warning (printf). */
void ifm_analysis_warn(IfmTraceAnalysis *analysis, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* ifm_track_title: "CPU stream 0", or the thread's name. (transfer full) */
char *ifm_track_title(const IfmTrackInfo *info);
/* ifm_window_holds: whether an event ends in the window: after its start (at it where it began there) and not after its
 * end. */
static inline gboolean ifm_window_holds(const IfmSpan *window, gint64 start, gint64 end)
{
    return end <= window->end && (end > window->start || start >= window->start);
}

/* analyse-gather.c: one pass over all events; all that the parts below need of them. @all: from the first start to the last
 * end. FALSE: there is none. */
gboolean ifm_analyse_gather(IfmAnalysing *self, IfmSpan *all);
void ifm_gathered_clear(IfmAnalysing *self);
/* analyse-use.c: ifm_use_add_run: takes note of a slice that @work's track was busy with. @expected: how many there may be
 */
void ifm_use_add_run(const IfmSpan *window, const IfmEvent *event, IfmWork *work, IfmTrackUse *use, gsize expected);
void ifm_analyse_use(IfmAnalysing *self);
/* analyse-others.c: idle_others_busy_ns, idle_alone_ns */
void ifm_analyse_others(IfmAnalysing *self);
/* analyse-blame.c: idle_by_cause_ns */
void ifm_analyse_blame(IfmAnalysing *self);
/* analyse-stages.c: batches, latencies, stages */
void ifm_analyse_stages(IfmAnalysing *self);
/* analyse-path.c: the critical path of @batch; -1: the one of median latency */
void ifm_analyse_path(IfmAnalysing *self, gint32 batch);

G_END_DECLS
