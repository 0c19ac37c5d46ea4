#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report-private.h"

/* Traces for a terminal. */

enum
{
    WIDTH_UNBOUNDED = 120, /* of all, where the screen has no width */
    LEAST_CELLS = 20,
    MOST_LABEL = 28,
    TICK_COLUMNS = 14,
};

typedef struct
{
    gint64 start, end;
} Span;

/* The window of one trace. */
typedef struct
{
    const IfmTrace *trace;
    Span window; /* start > end: no events */
} Shown;

typedef struct
{
    const IfmScreen *screen;
    int label, cells;
    double cell_ns;
} Canvas;

/* --- what is drawn ---------------------------------------------------------------------------------------------------- */

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

static gboolean is_shown(const IfmTrace *trace, gsize track)
{
    gsize n;
    const IfmEvent *events = ifm_trace_events(trace, track, &n);
    const IfmTrackInfo *info = ifm_trace_track_info(trace, track);
    if (info->kind == IFM_TRACK_DEVICE)
        return TRUE;
    for (gsize i = 0; i < n; i++)
        if (is_work(info, &events[i]))
            return TRUE;
    return FALSE;
}

static Shown look_at(const IfmTrace *trace, const IfmTraceQuestion *question)
{
    Shown shown = { trace, { G_MAXINT64, G_MININT64 } };
    if (question != NULL && (question->start_ns != 0 || question->end_ns != 0))
    {
        shown.window = (Span){ question->start_ns, question->end_ns };
        return shown;
    }
    for (gsize track = 0; track < ifm_trace_n_tracks(trace); track++)
    {
        gsize n;
        const IfmEvent *events = ifm_trace_events(trace, track, &n);
        for (gsize i = 0; i < n; i++)
        {
            shown.window.start = MIN(shown.window.start, events[i].start_ns);
            shown.window.end = MAX(shown.window.end, end_of(&events[i]));
        }
    }
    return shown;
}

static char *label_of(const IfmTrackInfo *info, gboolean utf8)
{
    g_autofree char *text = info->device != NULL ? g_strdup_printf("%s stream %d", info->device, info->stream)
                                                 : g_strdup(info->thread != NULL ? info->thread : "(no name)");
    char *spelt = ifm_format_spelt(text, utf8);
    if (g_utf8_strlen(spelt, -1) > MOST_LABEL)
        *g_utf8_offset_to_pointer(spelt, MOST_LABEL) = '\0';
    return spelt;
}

/* --- one row ---------------------------------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
    const Span *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

/* The track's work, joined where it overlaps: what lies in another slice is not drawn twice. */
static GArray *work_of(const Shown *shown, gsize track)
{
    GArray *spans = g_array_new(FALSE, FALSE, sizeof(Span));
    const IfmTrackInfo *info = ifm_trace_track_info(shown->trace, track);
    gsize n;
    const IfmEvent *events = ifm_trace_events(shown->trace, track, &n);
    for (gsize i = 0; i < n; i++)
    {
        Span span = { MAX(events[i].start_ns, shown->window.start), MIN(end_of(&events[i]), shown->window.end) };
        if (is_work(info, &events[i]) && span.start < span.end)
            g_array_append_val(spans, span);
    }
    g_array_sort(spans, by_start);
    guint kept = 0;
    Span *all = (Span *)(void *)spans->data;
    for (guint i = 0; i < spans->len; i++)
        if (kept > 0 && all[i].start <= all[kept - 1].end)
            all[kept - 1].end = MAX(all[kept - 1].end, all[i].end);
        else
            all[kept++] = all[i];
    g_array_set_size(spans, kept);
    return spans;
}

/* Adds to each cell the share of it that the span covers. */
static void fill(double *shares, const Canvas *canvas, double from_ns, double to_ns)
{
    double from = from_ns / canvas->cell_ns, to = MIN(to_ns / canvas->cell_ns, canvas->cells);
    for (int cell = (int)from; cell < canvas->cells && cell < to; cell++)
        shares[cell] += MIN(to, cell + 1) - MAX(from, cell);
}

/* Numbers of batches, in inferences with a cell before and after them. @digits: [cells] 0: none */
static void place_numbers(char *digits, const Shown *shown, gsize track, const Canvas *canvas)
{
    gsize n;
    const IfmEvent *events = ifm_trace_events(shown->trace, track, &n);
    for (gsize i = 0; i < n; i++)
    {
        const IfmEvent *event = &events[i];
        if (event->kind != IFM_EVENT_INFER || event->batch < 0 || event->start_ns < shown->window.start ||
            end_of(event) > shown->window.end)
            continue;
        char text[16];
        int length = g_snprintf(text, sizeof text, "%d", event->batch);
        int first = (int)ceil((double)(event->start_ns - shown->window.start) / canvas->cell_ns - 1e-9);
        int end = (int)floor((double)(end_of(event) - shown->window.start) / canvas->cell_ns + 1e-9);
        if (end - first >= length + 2 && end <= canvas->cells)
            memcpy(digits + first + 1, text, (gsize)length);
    }
}

static const char *shade(double share, gboolean utf8)
{
    static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
    static const char *const letters[] = { " ", ".", ".", ":", ":", "-", "=", "+", "#" };
    int eighths = (int)lround(CLAMP(share, 0, 1) * 8);
    if (eighths == 0 && share > 1e-9) /* little is not nothing */
        eighths = 1;
    return utf8 ? blocks[eighths] : letters[eighths];
}

static void draw_track(GString *out, const Shown *shown, gsize track, const Canvas *canvas)
{
    const IfmTrackInfo *info = ifm_trace_track_info(shown->trace, track);
    const IfmScreen *screen = canvas->screen;
    g_autofree char *label = label_of(info, screen->utf8);
    g_autofree double *shares = g_new0(double, canvas->cells);
    g_autofree char *digits = g_malloc0((gsize)canvas->cells);
    g_autoptr(GArray) spans = work_of(shown, track);
    IfmTone tone = info->kind == IFM_TRACK_HOST ? IFM_TONE_WARN : IFM_TONE_GOOD;
    for (guint i = 0; i < spans->len; i++)
    {
        const Span *span = &g_array_index(spans, Span, i);
        fill(shares, canvas, (double)(span->start - shown->window.start), (double)(span->end - shown->window.start));
    }
    if (info->kind == IFM_TRACK_DEVICE)
        place_numbers(digits, shown, track, canvas);
    gsize begin = out->len;
    g_string_append_printf(out, "%s%*s  %s", label, MAX(canvas->label - ifm_text_width(label), 0), "",
                           ifm_tone_begin(screen, tone));
    for (int cell = 0; cell < canvas->cells; cell++)
        if (digits[cell] != 0)
            g_string_append_c(out, digits[cell]);
        else
            g_string_append(out, shade(shares[cell], screen->utf8));
    g_string_append(out, ifm_tone_end(screen, tone));
    while (out->len > begin && out->str[out->len - 1] == ' ')
        g_string_truncate(out, out->len - 1);
    g_string_append_c(out, '\n');
}

/* --- the axis --------------------------------------------------------------------------------------------------------- */

/* 1, 2 or 5 times a power of ten, not below what a tick needs. */
static double step_of(const Canvas *canvas)
{
    double least = canvas->cell_ns * TICK_COLUMNS, power = pow(10, floor(log10(least)));
    for (int i = 0; i < 3; i++)
    {
        static const double times[] = { 1, 2, 5 };
        if (power * times[i] >= least * (1 - 1e-12))
            return power * times[i];
    }
    return power * 10;
}

static void draw_axis(GString *out, const Canvas *canvas)
{
    double step = step_of(canvas), most = canvas->cell_ns * canvas->cells;
    g_autoptr(GString) line = g_string_new(NULL);
    for (double at = 0; at < most; at += step)
    {
        int column = (int)lround(at / canvas->cell_ns);
        g_autofree char *text = at == 0 ? g_strdup("0") : ifm_format_duration(at);
        int used = ifm_text_width(line->str);
        if (column + 1 + ifm_text_width(text) > canvas->cells || column < used)
            break;
        g_string_append_printf(line, "%*s%s%s", column - used, "", canvas->screen->utf8 ? "└" : "|", text);
    }
    g_string_append_printf(out, "%*s  %s%s%s\n", canvas->label, "", ifm_tone_begin(canvas->screen, IFM_TONE_DIM), line->str,
                           ifm_tone_end(canvas->screen, IFM_TONE_DIM));
}

/* --- all of it -------------------------------------------------------------------------------------------------------- */

static Canvas canvas_for(const Shown *shown, gsize n, const IfmScreen *screen)
{
    Canvas canvas = { .screen = screen };
    double longest_ns = 0;
    for (gsize i = 0; i < n; i++)
    {
        longest_ns = MAX(longest_ns, (double)shown[i].window.end - (double)shown[i].window.start);
        for (gsize track = 0; track < ifm_trace_n_tracks(shown[i].trace); track++)
        {
            g_autofree char *label = label_of(ifm_trace_track_info(shown[i].trace, track), screen->utf8);
            if (is_shown(shown[i].trace, track))
                canvas.label = MAX(canvas.label, ifm_text_width(label));
        }
    }
    int width = screen->width >= IFM_SCREEN_UNBOUNDED ? WIDTH_UNBOUNDED : screen->width;
    canvas.cells = MAX(width - canvas.label - 2, LEAST_CELLS);
    canvas.cell_ns = MAX(longest_ns, 1) / canvas.cells;
    return canvas;
}

char *ifm_trace_timeline(const IfmTrace *const *traces, gsize n_traces, const IfmTraceQuestion *question,
                         const IfmScreen *screen)
{
    GString *out = g_string_new(NULL);
    g_autofree Shown *shown = g_new(Shown, n_traces);
    for (gsize i = 0; i < n_traces; i++)
        shown[i] = look_at(traces[i], question);
    Canvas canvas = canvas_for(shown, n_traces, screen);
    for (gsize i = 0; i < n_traces; i++)
    {
        g_string_append_printf(out, "%s%s", i > 0 ? "\n" : "", ifm_bold_begin(screen));
        ifm_page_spelt(out, ifm_trace_name(traces[i]), screen);
        g_string_append_printf(out, "%s\n", ifm_bold_end(screen));
        for (gsize track = 0; track < ifm_trace_n_tracks(traces[i]); track++)
            if (is_shown(traces[i], track) && shown[i].window.start < shown[i].window.end)
                draw_track(out, &shown[i], track, &canvas);
    }
    draw_axis(out, &canvas);
    return g_string_free(out, FALSE);
}
