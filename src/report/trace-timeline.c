#include "report-private.h"

/* What a trace's tracks did, as a figure. */

/* What a track does, as against what it waits for. */
static gboolean is_work(const IfmTrackInfo *info, const IfmEvent *event)
{
    switch (info->kind)
    {
    case IFM_TRACK_DEVICE:
        return event->kind == IFM_EVENT_INFER || event->kind == IFM_EVENT_NODE;
    case IFM_TRACK_HOST:
        return event->kind == IFM_EVENT_PARTITION || event->kind == IFM_EVENT_MERGE || event->kind == IFM_EVENT_COPY;
    case IFM_TRACK_FOREIGN:
        return TRUE;
    default:
        return FALSE;
    }
}

static gint64 end_of(const IfmEvent *event)
{
    gint64 end;
    return __builtin_add_overflow(event->start_ns, MAX(event->duration_ns, 0), &end) ? G_MAXINT64 : end;
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
            *end = MAX(*end, end_of(&events[i]));
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
        gint64 from = MAX(events[i].start_ns, begin), to = MIN(end_of(&events[i]), end);
        if (!is_work(info, &events[i]) || from >= to)
            continue;
        gboolean whole = events[i].start_ns >= begin && end_of(&events[i]) <= end;
        char batch[16];
        IfmPoint point = IFM_POINT_INIT;
        point.x = (double)(from - begin);
        point.x_end = (double)(to - begin);
        g_snprintf(batch, sizeof batch, "%d", events[i].batch);
        if (events[i].kind == IFM_EVENT_INFER && events[i].batch >= 0 && whole && info->kind == IFM_TRACK_DEVICE)
            point.label = batch;
        ifm_document_point(document, series, &point);
    }
}

void ifm_document_add_timeline(IfmDocument *document, const IfmTrace *const *traces, gsize n_traces,
                               const IfmTraceQuestion *question)
{
    IfmBlock *figure = ifm_document_figure(document, "timeline", IFM_FIGURE_TIMELINE, "Timeline",
                                           "What each device's streams and each block's host do, from the beginning on.");
    figure->figure.x.title = "time";
    figure->figure.x.high = 0;
    for (gsize i = 0; i < n_traces; i++)
    {
        gint64 begin, end;
        window_of(traces[i], question, &begin, &end);
        if (begin < end)
            figure->figure.x.high = MAX(figure->figure.x.high, (double)end - (double)begin);
        ifm_document_series(document, figure, NULL, ifm_trace_name(traces[i]));
        for (gsize track = 0; track < ifm_trace_n_tracks(traces[i]); track++)
            add_track(document, figure, traces[i], track, ifm_trace_name(traces[i]), begin, end);
    }
}

IfmDocument *ifm_timeline_document(const IfmTrace *const *traces, gsize n_traces, const IfmTraceQuestion *question)
{
    IfmDocument *document = ifm_document_new("timeline", "Timeline");
    ifm_document_add_timeline(document, traces, n_traces, question);
    return document;
}
