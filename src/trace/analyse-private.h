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

/* Arrays of IfmSpan. */
GArray *ifm_spans_new(void);
/* ifm_spans_add: Appends what of the span lies in the window; nothing where that is empty. Spans that come in order and
 * touch or overlap the last are joined to it. */
void ifm_spans_add(GArray *spans, gint64 start, gint64 end, const IfmSpan *window);
/* ifm_spans_unite: Sorts them and joins those that touch or overlap: ascending and apart from each other. */
void ifm_spans_unite(GArray *spans);
gint64 ifm_spans_total(const GArray *spans);
/* IfmLengths: for many questions of how much of one united array lies in another's spans: n log m for n spans in m. */
typedef struct
{
    const IfmSpan *spans;
    gint64 *before; /* [n + 1] */
    guint n;
} IfmLengths;
void ifm_lengths_init(IfmLengths *lengths, const GArray *spans);
void ifm_lengths_clear(IfmLengths *lengths);
gint64 ifm_lengths_common(const IfmLengths *lengths, const GArray *spans);

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
static inline IfmEdges ifm_edges_of_spans(const GArray *spans)
{
    return ifm_edges_of(spans->data, sizeof(gint64), 2 * (gsize)spans->len);
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

/* IfmWork: one device track (or foreign thread). */
typedef struct
{
    gsize track;          /* of the trace */
    gboolean infers;      /* it is a device's; else any slices count */
    const IfmEvent *runs; /* [n_runs] its inferences by start */
    gsize n_runs;
    IfmEvent *owned; /* where @runs is no part of the trace's own array */
    GArray *busy;    /* IfmSpan, united, within the window */
    guint group;     /* tracks of one device have the same */
} IfmWork;

/* IfmPart: what an analysis of batches needs of BATCH, BLOCK, PARTITION and MERGE events, close together: they are gone
 * through several times. */
typedef struct
{
    gint64 start, end;
    gint32 batch;
    guint16 block, first, last;
    guint8 kind, failed;
} IfmPart;

typedef struct IfmBlame IfmBlame;

/* IfmAnalysing: what is known while an analysis is being made. */
typedef struct
{
    const IfmTrace *trace;
    IfmTraceAnalysis *analysis;
    IfmSpan window;
    IfmWork *works; /* [n_works], as analysis->tracks */
    gsize n_works;
    gsize n_counted; /* the first of them that are n_devices */
    IfmPart *parts;  /* [n_parts] */
    gsize n_parts;
    IfmBlame *blame;
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

/* analyse-use.c */
void ifm_analyse_works(IfmAnalysing *self);
void ifm_analyse_use(IfmAnalysing *self);
void ifm_works_clear(IfmAnalysing *self);
/* analyse-others.c: idle_others_busy_ns, idle_alone_ns */
void ifm_analyse_others(IfmAnalysing *self);
/* analyse-blame.c: ifm_blame_note: takes note of an event, as all are gone over once. ifm_analyse_blame: idle_by_cause_ns
 */
IfmBlame *ifm_blame_new(void);
void ifm_blame_free(IfmBlame *blame);
void ifm_blame_note(IfmBlame *blame, const IfmEvent *event, const IfmTrackInfo *info);
void ifm_analyse_blame(IfmAnalysing *self);
/* analyse-stages.c: batches, latencies, stages */
void ifm_analyse_stages(IfmAnalysing *self);
/* analyse-path.c: the critical path of @batch; -1: the one of median latency */
void ifm_analyse_path(IfmAnalysing *self, gint32 batch);

G_END_DECLS
