#include <math.h>

#include "report-private.h"

/* What a trace's tracks did, as a figure. */

/* What events are, by which a page colours them: what works, and why a device does not. */
enum
{
    INFERENCE,
    KERNEL,
    PARTITION,
    MERGE,
    COPY,
    OTHER,
    WAITING, /* of a critical path */
    IDLE,    /* + IfmIdleCause */
};

static const char *const categories[] = {
    "inference",
    "kernel",
    "partition",
    "merge",
    "copy",
    "event",
    "waiting",
    [IDLE + IFM_IDLE_UPSTREAM] = "idle: upstream",
    "idle: host",
    "idle: transfer",
    "idle: queue full",
    "idle: partner",
    "idle: no work",
    "idle: host wait",
    "idle: kernel wait",
    "idle: unknown",
    NULL,
};

static int category_of(IfmEventKind kind)
{
    switch (kind)
    {
    case IFM_EVENT_INFER:
        return INFERENCE;
    case IFM_EVENT_NODE:
    case IFM_EVENT_KERNEL:
        return KERNEL;
    case IFM_EVENT_PARTITION:
        return PARTITION;
    case IFM_EVENT_MERGE:
        return MERGE;
    case IFM_EVENT_COPY:
        return COPY;
    default:
        return OTHER;
    }
}

/* What a track does, as against what it waits for. */
static gboolean is_work(const IfmTrackInfo *info, const IfmEvent *event)
{
    switch (info->kind)
    {
    case IFM_TRACK_DEVICE:
        return event->kind == IFM_EVENT_INFER || event->kind == IFM_EVENT_NODE || event->kind == IFM_EVENT_KERNEL;
    case IFM_TRACK_HOST:
        return event->kind == IFM_EVENT_PARTITION || event->kind == IFM_EVENT_MERGE || event->kind == IFM_EVENT_COPY;
    case IFM_TRACK_FOREIGN:
        return event->kind != IFM_EVENT_SPAN;
    default:
        return FALSE;
    }
}

/* Where a trace begins and ends; begin > end: it has no events. */
static void window_of(const IfmTrace *trace, const IfmTraceQuestion *question, gint64 *begin, gint64 *end)
{
    *begin = G_MAXINT64;
    *end = G_MININT64;
    if (question != NULL && (question->start_ns != 0 || question->end_ns != 0))
    {
        *begin = question->start_ns;
        *end = question->end_ns;
        return;
    }
    for (gsize track = 0; track < ifm_trace_n_tracks(trace); track++)
    {
        gsize n;
        const IfmEvent *events = ifm_trace_events(trace, track, &n);
        for (gsize i = 0; i < n; i++)
        {
            *begin = MIN(*begin, events[i].start_ns);
            *end = MAX(*end, ifm_event_end_ns(&events[i]));
        }
    }
}

static void add_track(IfmDocument *document, IfmBlock *figure, const IfmTrace *trace, gsize track, const char *group,
                      gint64 begin, gint64 end)
{
    const IfmTrackInfo *info = ifm_trace_track_info(trace, track);
    gsize n, n_work = 0;
    const IfmEvent *events = ifm_trace_events(trace, track, &n);
    for (gsize i = 0; i < n; i++)
        n_work += is_work(info, &events[i]);
    if (begin >= end || (info->kind != IFM_TRACK_DEVICE && n_work == 0))
        return;
    g_autofree char *name = ifm_track_name(info);
    IfmSeries *series = ifm_document_series(document, figure, name, group);
    series->tone = info->kind == IFM_TRACK_HOST ? IFM_TONE_WARN : IFM_TONE_GOOD;
    for (gsize i = 0; i < n; i++)
    {
        gint64 from = MAX(events[i].start_ns, begin), to = MIN(ifm_event_end_ns(&events[i]), end);
        if (!is_work(info, &events[i]) || from >= to)
            continue;
        gboolean whole = events[i].start_ns >= begin && ifm_event_end_ns(&events[i]) <= end;
        char batch[16];
        IfmPoint point = IFM_POINT_INIT;
        point.x = (double)(from - begin);
        point.x_end = (double)(to - begin);
        point.y = category_of(events[i].kind);
        if (events[i].batch >= 0)
            point.id = events[i].batch;
        g_snprintf(batch, sizeof batch, "%d", events[i].batch);
        if (events[i].kind == IFM_EVENT_INFER && events[i].batch >= 0 && whole && info->kind == IFM_TRACK_DEVICE)
            point.label = batch;
        ifm_document_point(document, series, &point);
    }
}

static void add_span(IfmDocument *document, IfmSeries *series, gint64 from, gint64 to, int category, gint32 batch)
{
    IfmPoint point = IFM_POINT_INIT;
    point.x = (double)from;
    point.x_end = (double)to;
    point.y = category;
    if (batch >= 0)
        point.id = batch;
    if (from < to)
        ifm_document_point(document, series, &point);
}

/* Why the devices were idle, each in its row, in the order of time. */
static void add_idle(IfmDocument *document, IfmBlock *figure, const IfmTraceAnalysis *analysis, const IfmTrackInfo *info,
                     const char *group, gint64 begin)
{
    g_autofree char *name = ifm_track_name(info);
    IfmSeries *series = NULL;
    for (guint i = 0; analysis != NULL && i < analysis->idle_spans->len; i++)
    {
        const IfmIdleSpan *span = &g_array_index(analysis->idle_spans, IfmIdleSpan, i);
        if (span->info != info || span->cause == IFM_IDLE_UNKNOWN)
            continue;
        if (series == NULL)
            series = ifm_document_series(document, figure, name, group);
        series->no_screen = TRUE;
        add_span(document, series, span->start_ns - begin, span->end_ns - begin, IDLE + (int)span->cause, -1);
    }
}

/* A row of its own for what delayed one batch. */
static void add_path(IfmDocument *document, IfmBlock *figure, const IfmTraceAnalysis *analysis, const char *group,
                     gint64 begin)
{
    if (analysis == NULL || analysis->critical_path->len == 0)
        return;
    g_autofree char *name = g_strdup_printf("critical path, batch %" G_GINT64_FORMAT, analysis->critical_batch);
    IfmSeries *series = ifm_document_series(document, figure, name, group);
    series->no_screen = TRUE;
    for (guint i = 0; i < analysis->critical_path->len; i++)
    {
        const IfmPathStep *step = &g_array_index(analysis->critical_path, IfmPathStep, i);
        const int category = category_of(step->kind);
        add_span(document, series, step->start_ns - begin, step->start_ns + step->duration_ns - begin,
                 step->turn || category == OTHER ? WAITING : category, step->batch);
    }
}

/* --- queues ----------------------------------------------------------------------------------------------------------- */

static void add_depth(IfmDocument *document, IfmBlock *figure, const IfmTrace *trace, gsize track, gint64 begin,
                      gboolean one_of_several)
{
    g_autoptr(GArray) changes = g_array_new(FALSE, FALSE, sizeof(IfmTraceChange));
    ifm_trace_add_changes(changes, trace, track, IFM_EVENT_QUEUE);
    if (changes->len == 0)
        return;
    g_autofree char *queue = ifm_track_name(ifm_trace_track_info(trace, track)),
                    *name = one_of_several ? g_strdup_printf("%s, %s", queue, ifm_trace_name(trace)) : g_strdup(queue);
    IfmSeries *series = ifm_document_series(document, figure, name, NULL);
    int depth = 0;
    series->joined = TRUE;
    ifm_trace_sort_changes(changes);
    for (guint i = 0; i < changes->len; i++)
    {
        const IfmTraceChange *change = &g_array_index(changes, IfmTraceChange, i);
        IfmPoint point = IFM_POINT_INIT;
        point.x = (double)(change->at_ns - begin);
        point.y = depth;
        ifm_document_point(document, series, &point); /* a step: as it was, and as it is */
        depth += change->by;
        point.y = depth;
        ifm_document_point(document, series, &point);
    }
}

static void add_queues(IfmDocument *document, const IfmTrace *const *traces, gsize n_traces,
                       const IfmTraceQuestion *question)
{
    IfmBlock *figure =
        ifm_document_page_figure(document, "queues", IFM_FIGURE_SCATTER, "Batches in each queue",
                                 "How many batches wait between two blocks: a queue that is always full stands "
                                 "before the bottleneck, one that is always empty behind it.");
    figure->figure.x.title = "time";
    figure->figure.x.own = TRUE;
    figure->figure.y.title = "batches";
    figure->figure.y.kind = IFM_FIELD_INTEGER;
    for (gsize i = 0; i < n_traces; i++)
    {
        gint64 begin, end;
        window_of(traces[i], question, &begin, &end);
        for (gsize track = 0; track < ifm_trace_n_tracks(traces[i]) && begin < end; track++)
            if (ifm_trace_track_info(traces[i], track)->kind == IFM_TRACK_QUEUE)
                add_depth(document, figure, traces[i], track, begin, n_traces > 1);
    }
}

/* --- all of it -------------------------------------------------------------------------------------------------------- */

static void add_trace(IfmDocument *document, IfmBlock *figure, const IfmTrace *trace, const IfmTraceQuestion *question)
{
    const char *group = ifm_trace_name(trace);
    IfmTraceQuestion with_idle = question != NULL ? *question : IFM_TRACE_QUESTION_INIT;
    gint64 begin, end;
    with_idle.idle_spans = TRUE;
    g_autoptr(IfmTraceAnalysis) analysis = ifm_trace_analyse(trace, &with_idle, NULL); /* NULL: a trace without events */
    window_of(trace, question, &begin, &end);
    if (begin < end)
        figure->figure.x.high = MAX(figure->figure.x.high, (double)end - (double)begin);
    ifm_document_series(document, figure, NULL, group);
    add_path(document, figure, analysis, group, begin);
    for (gsize track = 0; track < ifm_trace_n_tracks(trace); track++)
    {
        const IfmTrackInfo *info = ifm_trace_track_info(trace, track);
        add_track(document, figure, trace, track, group, begin, end);
        if (info->kind == IFM_TRACK_DEVICE && begin < end)
            add_idle(document, figure, analysis, info, group, begin);
    }
}

void ifm_document_add_timeline(IfmDocument *document, const IfmTrace *const *traces, gsize n_traces,
                               const IfmTraceQuestion *question)
{
    IfmBlock *figure = ifm_document_figure(document, "timeline", IFM_FIGURE_TIMELINE, "Timeline",
                                           "What each device's streams and each block's host do, from the beginning on; "
                                           "why devices are idle, and what delayed one batch.");
    figure->figure.x.title = "time";
    figure->figure.x.high = 0;
    figure->figure.y.categories = categories;
    figure->figure.y.kind = IFM_FIELD_INTEGER;
    for (gsize i = 0; i < n_traces; i++)
        add_trace(document, figure, traces[i], question);
    add_queues(document, traces, n_traces, question);
}

IfmDocument *ifm_timeline_document(const IfmTrace *const *traces, gsize n_traces, const IfmTraceQuestion *question)
{
    IfmDocument *document = ifm_document_new("timeline", "Timeline");
    ifm_document_add_timeline(document, traces, n_traces, question);
    return document;
}
