#pragma once
#include "../trace-private.h"

G_BEGIN_DECLS

/* --- spans ------------------------------------------------------------------------------------------------------------ */

/* IfmTimeRange: from @start until before @end, ns. */
typedef struct
{
    gint64 start, end;
} IfmTimeRange;

/* IfmKeyed: 16 bytes, sorted by the first eight; the caller defines the others. An IfmTimeRange is one, too. */
typedef struct
{
    gint64 key;
    guint32 a;
    gint32 b;
} IfmKeyed;

/* ifm_keyed_sort: Stable, ascending, n log(runs): items recorded in order cost one pass. @items: [n] of 16 bytes that
 * begin with a gint64. */
void ifm_keyed_sort(void *items, gsize n);

/* ifm_times_sort: Ascending, one pass for each 11 bits in which the times differ. @times: [n] none below 0. */
void ifm_times_sort(gint64 *times, gsize n);

/* IfmSpans: an empty one is all zeros. */
typedef struct
{
    IfmTimeRange *all;
    gsize n, room;
} IfmSpans;

/* ifm_spans_grow: Makes room for one more; the first call makes room for about @expected. Returns: the new @all. */
IfmTimeRange *ifm_spans_grow(IfmSpans *spans, gsize expected) __attribute__((returns_nonnull));
void ifm_spans_clear(IfmSpans *spans);

/* ifm_spans_add: Appends the part of a span within the window, if there is any. A span that touches or overlaps the
 * last one, in order, is joined to it. */
static inline void ifm_spans_add(IfmSpans *spans, gint64 start, gint64 end, const IfmTimeRange *window, gsize expected)
{
    start = MAX(start, window->start);
    end = MIN(end, window->end);
    if (start >= end)
        return;
    IfmTimeRange *last = spans->n > 0 ? spans->all + spans->n - 1 : NULL;
    if (last != NULL && start >= last->start && start <= last->end)
    {
        last->end = MAX(last->end, end);
        return;
    }
    IfmTimeRange *all = spans->all;
    if (all == NULL || spans->n == spans->room)
        all = ifm_spans_grow(spans, expected);
    all[spans->n++] = (IfmTimeRange){ start, end };
}

/* ifm_spans_unite: Sorts the spans and joins those that touch or overlap: they are then ascending and disjoint. */
void ifm_spans_unite(IfmSpans *spans);
gint64 ifm_spans_total(const IfmSpans *spans);

/* IfmEdges: ascending times that lie @stride bytes apart. Several are merged without a copy. */
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

/* ifm_edges_of_spans: The starts and ends of a united array, alternating. */
static inline IfmEdges ifm_edges_of_spans(const IfmSpans *spans)
{
    return ifm_edges_of(spans->all, sizeof(gint64), 2 * spans->n);
}

/* ifm_edges_min: The index in @all [n] with the earliest next time. */
static inline gsize ifm_edges_min(const IfmEdges *all, gsize n)
{
    gsize min = 0;
    for (gsize i = 1; i < n; i++)
        min = all[i].next < all[min].next ? i : min;
    return min;
}

/* --- shared by the parts of an analysis ------------------------------------------------------------------------------- */

/* IfmRun: an inference. All of a track lie close together, since they are read several times. */
typedef struct
{
    gint64 start, end;
    gint32 batch;
    guint16 block; /* of the event, or of its track */
    guint16 failed;
} IfmRun;

/* Sums over the inferences that overlap the window; one that its edge cuts counts in proportion. */
typedef struct
{
    gint64 wall_ns, known_wall_ns, device_ns;
    gsize n_overlaps, n_failed;
    gboolean any;
    gint64 until_ns;       /* the latest end of all inferences so far */
    gint64 same_device_ns; /* the device time of all that have one; -1: they differ */
    gboolean beyond_wall;  /* one took longer by the device's own time than by the clock */
} IfmSums;

/* IfmTrackWork: one device track (or foreign thread). */
typedef struct
{
    gsize track;           /* of the trace */
    gboolean infers;       /* it is the track of a device; else all slices count */
    gboolean out_of_order; /* inferences were not recorded in the order of their starts */
    gboolean has_nodes, has_kernels;
    IfmRun *runs; /* [n_runs] its inferences by start */
    gsize n_runs;
    guint lowest, highest; /* the lowest and highest block of its runs */
    IfmSums sums;
    IfmSpans busy; /* united, within the window */
    guint group;   /* the same for the tracks of one device */
} IfmTrackWork;

/* IfmPart: what the analysis of batches needs of BATCH, BLOCK, PARTITION and MERGE events, close together. */
typedef struct
{
    gint64 start, end;
    gint32 batch;
    guint16 block, first, last;
    guint16 number; /* the block, or that of the track */
    guint8 kind, failed;
} IfmPart;

typedef struct
{
    IfmPart *all;
    gsize n, room;
} IfmParts;

/* What a block's host may do. */
enum
{
    IFM_COPYING,
    IFM_WORKING, /* partition, merge */
    IFM_FULL,
    IFM_WAITING,
    IFM_INSIDE, /* a batch is in the block */
    IFM_N_HOST_CLASSES,
};

/* IfmHostBlock: when a block's host did what. */
typedef struct
{
    IfmSpans spans[IFM_N_HOST_CLASSES];
} IfmHostBlock;

/* IfmStretch: the first start and the last end of IFM_STRETCH_EVENTS consecutive events of a track. */
#define IFM_STRETCH_EVENTS 512
typedef struct
{
    gsize track, first;
    IfmTimeRange span;
} IfmStretch;

/* IfmAnalysing: an analysis in progress. */
typedef struct
{
    const IfmTrace *trace;
    IfmTraceAnalysis *analysis;
    IfmTimeRange window;
    gboolean wants_idle_spans;
    IfmTrackWork *works; /* [n_works], as analysis->tracks */
    gsize n_works;
    gsize n_counted;               /* the first of them are the n_devices */
    IfmParts batches, stays, host; /* BATCH; BLOCK; PARTITION and MERGE; only those with a batch */
    IfmHostBlock *blocks;          /* [n_blocks] by number; 0: events of no block */
    guint n_blocks;
    gint64 first_entry_ns; /* of a batch; G_MAXINT64: none recorded */
    GArray *stretches;     /* IfmStretch */
} IfmAnalysing;

/* ifm_window_holds: Whether an event ends in the window: after its start (or at it, if it began there) and not after
 * its end. */
static inline gboolean ifm_window_holds(const IfmTimeRange *window, gint64 start, gint64 end)
{
    return end <= window->end && (end > window->start || start >= window->start);
}

/* analyse-gather.c: One pass over all events, which gathers what the parts below need. @all: (out) from the first start
 * to the last end. FALSE: there is no event. */
gboolean ifm_analyse_gather(IfmAnalysing *self, IfmTimeRange *all);
void ifm_gathered_clear(IfmAnalysing *self);
/* analyse-use.c: ifm_use_add_run: Adds a slice during which @work's track was busy. @expected: about how many there
 * will be */
void ifm_use_add_run(const IfmTimeRange *window, const IfmEvent *event, IfmTrackWork *work, IfmTrackUse *use,
                     gsize expected);
void ifm_analyse_use(IfmAnalysing *self);
/* ifm_events_sorted: (transfer container) const IfmEvent *: a track's events of @kinds (a bit for each), sorted. */
GPtrArray *ifm_events_sorted(const IfmTrace *trace, gsize track, guint kinds, GCompareFunc compare);
/* analyse-kernels.c: ifm_use_kernels: What a stream of kernels did, and the causes of its idle time. */
void ifm_use_kernels(IfmAnalysing *self, IfmTrackWork *work, IfmTrackUse *use);
/* analyse-operators.c: sums by operator and by kernel */
void ifm_analyse_operators(IfmAnalysing *self);
/* analyse-idle-overlap.c: idle_others_busy_ns, idle_alone_ns */
void ifm_analyse_others(IfmAnalysing *self);
/* analyse-blame.c: idle_by_cause_ns */
void ifm_analyse_blame(IfmAnalysing *self);
/* analyse-stages.c: batches, latencies, stages */
void ifm_analyse_stages(IfmAnalysing *self);
/* analyse-path.c: the critical path of @batch; -1: the one of median latency */
void ifm_analyse_path(IfmAnalysing *self, gint32 batch);

G_END_DECLS
