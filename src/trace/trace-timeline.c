#include <math.h>

#include <document/document.h>
#include <document/words.h>

#include "trace-page.h"

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

/* Whether an event's name says more than its kind. */
static gboolean is_named(const IfmEvent *event)
{
    return event->kind == IFM_EVENT_NODE || event->kind == IFM_EVENT_KERNEL || category_of(event->kind) == OTHER;
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
        n_work += is_work(info, &events[i]) && MAX(events[i].start_ns, begin) < MIN(ifm_event_end_ns(&events[i]), end);
    if (begin >= end || n_work == 0)
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
        else if (is_named(&events[i]))
            point.text = ifm_trace_text(trace, events[i].name);
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

/* What a step of a critical path is drawn as. */
static int category_of_step(const IfmPathStep *step)
{
    const int category = category_of(step->kind);
    return step->turn || category == OTHER ? WAITING : category;
}

/* A row of its own for what delayed one batch. */
static void add_path(IfmDocument *document, IfmBlock *figure, const IfmTraceAnalysis *analysis, const char *group,
                     gint64 begin, gint64 end)
{
    if (analysis == NULL || analysis->critical_path->len == 0)
        return;
    g_autofree char *name = g_strdup_printf("critical path, batch %" G_GINT64_FORMAT, analysis->critical_batch);
    IfmSeries *series = ifm_document_series(document, figure, name, group);
    series->no_screen = TRUE;
    for (guint i = 0; i < analysis->critical_path->len; i++)
    {
        const IfmPathStep *step = &g_array_index(analysis->critical_path, IfmPathStep, i);
        add_span(document, series, MAX(step->start_ns, begin) - begin, MIN(step->start_ns + step->duration_ns, end) - begin,
                 category_of_step(step), -1);
    }
}

/* --- queues ----------------------------------------------------------------------------------------------------------- */

#define ALIKE 0.99 /* of the fullest queue: those that hold so much are as full */

char *ifm_queues_title(const IfmQueueUse *uses, gsize n)
{
    const IfmQueueUse *fullest = n > 0 ? uses : NULL;
    gsize n_alike = 0;
    for (gsize i = 1; i < n; i++)
        fullest = uses[i].mean > fullest->mean ? &uses[i] : fullest;
    for (gsize i = 0; i < n; i++)
        n_alike += uses[i].mean >= ALIKE * fullest->mean;
    g_autofree char *mean = ifm_say_number(fullest != NULL ? fullest->mean : (double)NAN);
    if (fullest == NULL)
        return g_strdup("No queue was recorded");
    if (!(fullest->mean > 0))
        return g_strdup("No batch waits in a queue");
    if (n == 1 || n_alike == 1)
        return g_strdup_printf("%s holds %s batches on average, %d at most%s", fullest->name, mean, fullest->most,
                               n > 1 ? ": no queue is fuller" : "");
    return g_strdup_printf("The %zu fullest of %zu queues hold %s batches on average each", n_alike, n, mean);
}

/* Returns: how full it was; its name is the document's */
static IfmQueueUse add_depth(IfmDocument *document, IfmBlock *figure, const IfmTrace *trace, gsize track, gint64 begin,
                             gint64 end, gboolean one_of_several)
{
    IfmQueueUse use = { NULL, 0, 0 };
    g_autoptr(GArray) changes = g_array_new(FALSE, FALSE, sizeof(IfmTraceChange));
    ifm_trace_add_changes(changes, trace, track, IFM_EVENT_QUEUE);
    if (changes->len == 0)
        return use;
    g_autofree char *queue = ifm_track_name(ifm_trace_track_info(trace, track)),
                    *name = one_of_several ? g_strdup_printf("%s, %s", queue, ifm_trace_name(trace)) : g_strdup(queue);
    IfmSeries *series = ifm_document_series(document, figure, name, NULL);
    int depth = 0;
    gint64 last_ns = begin;
    series->joined = TRUE;
    use.name = series->name;
    ifm_trace_sort_changes(changes);
    for (guint i = 0; i < changes->len; i++)
    {
        const IfmTraceChange *change = &g_array_index(changes, IfmTraceChange, i);
        const double at_ns = (double)(change->at_ns - begin);
        use.mean += depth * (double)(CLAMP(change->at_ns, begin, end) - last_ns) / (double)(end - begin);
        last_ns = CLAMP(change->at_ns, begin, end);
        ifm_document_point_at(document, series, NULL, at_ns, depth); /* a step: as it was, and as it is */
        depth += change->by;
        use.most = MAX(use.most, depth);
        ifm_document_point_at(document, series, NULL, at_ns, depth);
    }
    return use;
}

/* Returns: how many there are */
static guint add_queues(IfmDocument *document, const IfmTrace *const *traces, gsize n_traces,
                        const IfmTraceQuestion *question)
{
    IfmBlock *figure =
        ifm_document_page_figure(document, "queues", IFM_FIGURE_SCATTER, NULL,
                                 "How many batches wait between two blocks: a queue that is always full stands "
                                 "before the bottleneck, one that is always empty behind it.");
    g_autoptr(GArray) uses = g_array_new(FALSE, FALSE, sizeof(IfmQueueUse));
    figure->figure.x.title = "time";
    figure->figure.x.own = TRUE;
    figure->figure.y = ifm_axis("batches", IFM_FIELD_INTEGER);
    for (gsize i = 0; i < n_traces; i++)
    {
        gint64 begin, end;
        window_of(traces[i], question, &begin, &end);
        for (gsize track = 0; track < ifm_trace_n_tracks(traces[i]) && begin < end; track++)
            if (ifm_trace_track_info(traces[i], track)->kind == IFM_TRACK_QUEUE)
            {
                const IfmQueueUse use = add_depth(document, figure, traces[i], track, begin, end, n_traces > 1);
                if (use.name != NULL)
                    g_array_append_val(uses, use);
            }
    }
    figure->figure.title =
        ifm_document_take_text(document, ifm_queues_title((const IfmQueueUse *)(const void *)uses->data, uses->len));
    return uses->len;
}

/* --- what it shows -----------------------------------------------------------------------------------------------------
 */

#define ALWAYS 0.995   /* of the time: 100 % where it is said */
#define BUSY 0.95      /* of the time: a stream that works so much is called busy */
#define MOST_OF_IT 0.5 /* of a stream's idle time: a cause of more is named */

static const char *cause_words(IfmIdleCause cause)
{
    static const char *const words[] = {
        [IFM_IDLE_UPSTREAM] = "waiting for the block before it",
        [IFM_IDLE_HOST] = "waiting for the host",
        [IFM_IDLE_TRANSFER] = "waiting for a transfer",
        [IFM_IDLE_QUEUE_FULL] = "waiting for room in the next queue",
        [IFM_IDLE_PARTNER] = "waiting for its partner's share",
        [IFM_IDLE_NO_WORK] = "without work to do",
        [IFM_IDLE_HOST_WAIT] = "waiting for the host to launch",
        [IFM_IDLE_KERNEL_WAIT] = "waiting for another kernel",
    };
    return cause < (int)G_N_ELEMENTS(words) ? words[cause] : NULL;
}

char *ifm_utilisation_title(const IfmTraceAnalysis *analysis)
{
    const IfmTrackUse *worst = NULL;
    const guint n = MIN((guint)analysis->n_devices, analysis->tracks->len);
    const char *why = NULL;
    for (guint i = 0; i < n; i++)
    {
        const IfmTrackUse *use = &g_array_index(analysis->tracks, IfmTrackUse, i);
        worst = worst == NULL || use->wall_utilisation < worst->wall_utilisation ? use : worst;
    }
    if (worst == NULL)
        return g_strdup("What each thread does");
    g_autofree char *idle = ifm_say_per_cent(1 - worst->wall_utilisation), *name = ifm_track_name(worst->info);
    if (worst->wall_utilisation >= ALWAYS)
        return n == 1 ? g_strdup_printf("%s is busy all of the time", name)
                      : g_strdup_printf("All %u streams are busy all of the time", n);
    if (worst->wall_utilisation >= BUSY)
        return n == 1
                   ? g_strdup_printf("%s is busy all of the time but %s", name, idle)
                   : g_strdup_printf("All %u streams are busy: the least busy, %s, is idle %s of the time", n, name, idle);
    for (int cause = 0; cause < IFM_IDLE_UNKNOWN; cause++)
        if ((double)worst->idle_by_cause_ns[cause] > MOST_OF_IT * (double)worst->idle_ns)
            why = cause_words(cause);
    return g_strdup_printf("%s is idle %s of the time%s%s", name, idle, why != NULL ? ", most of it " : "",
                           why != NULL ? why : "");
}

char *ifm_path_title(const IfmTraceAnalysis *analysis)
{
    double times[IDLE] = { 0 }, sum = 0;
    int most = 0;
    for (guint i = 0; i < analysis->critical_path->len; i++)
    {
        const IfmPathStep *step = &g_array_index(analysis->critical_path, IfmPathStep, i);
        times[category_of_step(step)] += (double)step->duration_ns;
        sum += (double)step->duration_ns;
    }
    for (int category = 1; category < IDLE; category++)
        most = times[category] > times[most] ? category : most;
    g_autofree char *whole = ifm_say_duration(sum), *share = ifm_say_per_cent(times[most] / sum);
    if (!(sum > 0))
        return ifm_utilisation_title(analysis);
    return times[most] > MOST_OF_IT * sum
               ? g_strdup_printf("The batch of median latency takes %s: most of it is %s (%s)", whole, categories[most],
                                 share)
               : g_strdup_printf("The batch of median latency takes %s for several reasons: %s of it is %s", whole, share,
                                 categories[most]);
}

static double idle_of(const IfmTraceAnalysis *analysis, int cause, guint track)
{
    return (double)g_array_index(analysis->tracks, IfmTrackUse, track).idle_by_cause_ns[cause];
}

/* What no cause explains. */
static double unknown_of(const IfmTrackUse *use)
{
    double rest = (double)use->idle_ns;
    for (int cause = 0; cause < IFM_IDLE_UNKNOWN; cause++)
        rest -= (double)use->idle_by_cause_ns[cause];
    return fmax(rest, 0);
}

static double sum_of(const IfmTraceAnalysis *analysis, guint n_tracks, int cause)
{
    double sum = 0;
    for (guint i = 0; i < n_tracks; i++)
        sum += idle_of(analysis, cause, i);
    return sum;
}

static void add_share(IfmDocument *document, IfmSeries *series, const IfmTrackUse *use, double ratio)
{
    g_autofree char *name = ifm_track_name(use->info);
    ifm_document_point_at(document, series, name, NAN, ratio);
}

void ifm_document_add_utilisation(IfmDocument *document, const IfmTraceAnalysis *analysis)
{
    const guint n = MIN((guint)analysis->n_devices, analysis->tracks->len);
    const double window = (double)analysis->window_ns;
    if (n == 0 || !(window > 0))
        return;
    g_autofree char *title = ifm_utilisation_title(analysis);
    IfmBlock *block = ifm_document_page_figure(document, "utilisation", IFM_FIGURE_STACKED, title,
                                               "Shares of the window that each device's stream worked, and why it was idle "
                                               "in the others. A cause has its colour on the timeline, too.");
    block->figure.y = ifm_axis("share of the window", IFM_FIELD_RATIO);
    IfmSeries *working = ifm_document_series(document, block, "working", NULL);
    working->category = INFERENCE + 1;
    for (guint i = 0; i < n; i++)
    {
        const IfmTrackUse *use = &g_array_index(analysis->tracks, IfmTrackUse, i);
        add_share(document, working, use, use->wall_utilisation);
    }
    for (int cause = 0; cause <= IFM_IDLE_UNKNOWN; cause++)
    {
        if (cause < IFM_IDLE_UNKNOWN && !(sum_of(analysis, n, cause) > 0))
            continue;
        IfmSeries *series = ifm_document_series(document, block, categories[IDLE + cause], NULL);
        series->category = IDLE + cause + 1;
        for (guint i = 0; i < n; i++)
        {
            const IfmTrackUse *use = &g_array_index(analysis->tracks, IfmTrackUse, i);
            add_share(document, series, use,
                      (cause < IFM_IDLE_UNKNOWN ? idle_of(analysis, cause, i) : unknown_of(use)) / window);
        }
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
    if (analysis != NULL) /* of several the last one's, which is the run's */
        figure->figure.title = ifm_document_take_text(document, ifm_path_title(analysis));
    if (begin < end)
        figure->figure.x.high = MAX(figure->figure.x.high, (double)end - (double)begin);
    ifm_document_series(document, figure, NULL, group);
    add_path(document, figure, analysis, group, begin, end);
    for (gsize track = 0; track < ifm_trace_n_tracks(trace); track++)
    {
        const IfmTrackInfo *info = ifm_trace_track_info(trace, track);
        add_track(document, figure, trace, track, group, begin, end);
        if (info->kind == IFM_TRACK_DEVICE && begin < end)
            add_idle(document, figure, analysis, info, group, begin);
    }
}

static IfmBlock *add_figure(IfmDocument *document, const char *key, const char *sentence, const IfmTrace *const *traces,
                            gsize n_traces, const IfmTraceQuestion *question)
{
    IfmBlock *figure = ifm_document_figure(document, key, IFM_FIGURE_TIMELINE, "Nothing was recorded", sentence);
    figure->figure.x.title = "time";
    figure->figure.x.high = 0;
    figure->figure.y.categories = categories;
    figure->figure.y.kind = IFM_FIELD_INTEGER;
    for (gsize i = 0; i < n_traces; i++)
        add_trace(document, figure, traces[i], question);
    return figure;
}

void ifm_document_add_timeline(IfmDocument *document, const IfmTrace *const *traces, gsize n_traces,
                               const IfmTraceQuestion *question)
{
    add_figure(document, "timeline",
               n_traces > 1 ? "What each device's streams and each block's host do, each trace from its beginning on; why "
                              "devices are idle, and what delayed one batch. The title is of the last one."
                            : "What each device's streams and each block's host do, from the beginning on; why devices are "
                              "idle, and what delayed one batch.",
               traces, n_traces, question);
    IfmSection *section = ifm_document_closed(document, "Batches in each queue");
    if (add_queues(document, traces, n_traces, question) == 0)
        g_ptr_array_set_size(section->blocks, 0);
}

void ifm_document_add_window(IfmDocument *document, const char *key, const char *sentence, const IfmTrace *trace,
                             gint64 start_ns, gint64 end_ns)
{
    const IfmTraceQuestion question = { .start_ns = start_ns, .end_ns = end_ns, .batch = -1 };
    add_figure(document, key, sentence, &trace, 1, &question)->no_screen = TRUE;
}

IfmDocument *ifm_timeline_document(const IfmTrace *const *traces, gsize n_traces, const IfmTraceQuestion *question)
{
    IfmDocument *document = ifm_document_new("timeline", "Timeline");
    ifm_document_question(document, "What happened when?", NULL);
    ifm_document_add_timeline(document, traces, n_traces, question);
    return document;
}
