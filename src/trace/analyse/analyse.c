#include "analyse-private.h"

/* A trace is analysed in turn by the functions of analyse-private.h, in a window of time, with warnings about the trace. */

/* --- names ------------------------------------------------------------------------------------------------------------ */

const char *ifm_idle_cause_name(IfmIdleCause cause)
{
    static const char *const names[IFM_N_IDLE_CAUSES] = {
        [IFM_IDLE_UPSTREAM] = "upstream",   [IFM_IDLE_HOST] = "host",
        [IFM_IDLE_TRANSFER] = "transfer",   [IFM_IDLE_QUEUE_FULL] = "queue-full",
        [IFM_IDLE_PARTNER] = "partner",     [IFM_IDLE_NO_WORK] = "no-work",
        [IFM_IDLE_HOST_WAIT] = "host-wait", [IFM_IDLE_KERNEL_WAIT] = "kernel-wait",
        [IFM_IDLE_UNKNOWN] = "unknown",
    };
    return (guint)cause < IFM_N_IDLE_CAUSES ? names[cause] : "unknown";
}

/* --- the window ------------------------------------------------------------------------------------------------------- */

static gboolean asks_for_all(const IfmTraceQuestion *question)
{
    return question == NULL || (question->start_ns == 0 && question->end_ns == 0);
}

static gboolean set_window(IfmAnalysing *self, const IfmTraceQuestion *question, const IfmTimeRange *all, GError **error)
{
    IfmTraceAnalysis *analysis = self->analysis;
    gint64 window_ns, device_ns;
    if (asks_for_all(question))
        self->window = *all;
    if (asks_for_all(question) && all->start == all->end)
        return ifm_error_refuse(error,
                                "%s: nothing in it takes any time: all events begin and end at %" G_GINT64_FORMAT
                                " ns; a B without its E ends with the last event there is",
                                ifm_trace_name(self->trace), all->start);
    if (self->window.start >= self->window.end)
        return ifm_error_refuse(error,
                                "%s: the window from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT
                                " ns is empty: its end must come after its "
                                "start",
                                ifm_trace_name(self->trace), self->window.start, self->window.end);
    if (__builtin_sub_overflow(self->window.end, self->window.start, &window_ns) ||
        __builtin_mul_overflow(window_ns, (gint64)ifm_trace_n_tracks(self->trace), &device_ns))
        return ifm_error_refuse(error,
                                "%s: from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT
                                " ns is longer than can be counted: 292 years over "
                                "all tracks",
                                ifm_trace_name(self->trace), self->window.start, self->window.end);
    analysis->start_ns = self->window.start;
    analysis->end_ns = self->window.end;
    analysis->window_ns = window_ns;
    return TRUE;
}

/* --- all of it -------------------------------------------------------------------------------------------------------- */

static IfmTraceAnalysis *analysis_new(void)
{
    IfmTraceAnalysis *analysis = g_new0(IfmTraceAnalysis, 1);
    analysis->tracks = g_array_new(FALSE, TRUE, sizeof(IfmTrackUse));
    analysis->stages = g_array_new(FALSE, TRUE, sizeof(IfmStageUse));
    analysis->batch_stage_ns = g_array_new(FALSE, TRUE, sizeof(gint64));
    analysis->batch_turn_ns = g_array_new(FALSE, TRUE, sizeof(gint64));
    analysis->batch_ids = g_array_new(FALSE, TRUE, sizeof(gint32));
    analysis->critical_path = g_array_new(FALSE, TRUE, sizeof(IfmPathStep));
    analysis->idle_spans = g_array_new(FALSE, TRUE, sizeof(IfmIdleSpan));
    analysis->operators = g_array_new(FALSE, TRUE, sizeof(IfmOperatorUse));
    analysis->names = g_string_chunk_new(4096);
    analysis->critical_batch = -1;
    analysis->warnings = g_ptr_array_new_with_free_func(g_free);
    return analysis;
}

void ifm_trace_analysis_free(IfmTraceAnalysis *analysis)
{
    if (analysis == NULL)
        return;
    g_array_unref(analysis->tracks);
    g_array_unref(analysis->stages);
    g_array_unref(analysis->batch_stage_ns);
    g_array_unref(analysis->batch_turn_ns);
    g_array_unref(analysis->batch_ids);
    g_array_unref(analysis->critical_path);
    g_clear_pointer(&analysis->idle_spans, g_array_unref); /* NULL in one that was put together by hand */
    g_clear_pointer(&analysis->operators, g_array_unref);
    g_clear_pointer(&analysis->names, g_string_chunk_free);
    g_ptr_array_unref(analysis->warnings);
    g_free(analysis);
}

#define NS_PER_DAY (24 * 3600 * G_GINT64_CONSTANT(1000000000))
#define DAYS_PER_YEAR 365.25

/* No run takes a day: one event's time stamp is of another clock, or 0. Both ends are named. */
static void warn_of_long_window(IfmAnalysing *self)
{
    const double days = (double)self->analysis->window_ns / NS_PER_DAY;
    const IfmEvent *first = NULL, *last = NULL;
    if (days < 1)
        return;
    for (gsize track = 0; track < ifm_trace_n_tracks(self->trace); track++)
    {
        gsize n;
        const IfmEvent *events = ifm_trace_events(self->trace, track, &n);
        for (gsize i = 0; i < n; i++)
        {
            first = first == NULL || events[i].start_ns < first->start_ns ? &events[i] : first;
            last = last == NULL || ifm_event_end_ns(&events[i]) > ifm_event_end_ns(last) ? &events[i] : last;
        }
    }
    if (first == NULL || last == NULL)
        return;
    g_ptr_array_add(
        self->analysis->warnings,
        g_strdup_printf("the window is %.1f %s long, from the start of \"%s\" to the end of \"%s\": a time of one "
                        "of them is in doubt, and so is every share of the window",
                        days < 2 * DAYS_PER_YEAR ? days : days / DAYS_PER_YEAR, days < 2 * DAYS_PER_YEAR ? "days" : "years",
                        ifm_trace_text(self->trace, first->name), ifm_trace_text(self->trace, last->name)));
}

static void warn_of_reading(IfmAnalysing *self, const IfmTraceQuestion *question)
{
    const GPtrArray *notes = ifm_trace_notes(self->trace);
    self->analysis->n_damaged = ifm_trace_n_damaged(self->trace);
    for (guint i = 0; i < notes->len; i++)
        g_ptr_array_add(self->analysis->warnings, g_strdup(notes->pdata[i]));
    if (asks_for_all(question))
        warn_of_long_window(self);
    if (self->n_works == 0 && self->analysis->n_devices == 0)
        g_ptr_array_add(self->analysis->warnings,
                        g_strdup("nothing in it is work: all events are annotations, spans of a profiler, or instants"));
}

static gboolean analyse(IfmAnalysing *self, const IfmTraceQuestion *question, GError **error)
{
    IfmTimeRange all;
    self->wants_idle_spans = question != NULL && question->idle_spans;
    self->window = asks_for_all(question) ? (IfmTimeRange){ G_MININT64, G_MAXINT64 }
                                          : (IfmTimeRange){ question->start_ns, question->end_ns };
    if (!ifm_analyse_gather(self, &all))
        return ifm_error_refuse(error, "%s: the trace has no events: there is nothing to analyse",
                                ifm_trace_name(self->trace));
    if (!set_window(self, question, &all, error))
        return FALSE;
    warn_of_reading(self, question);
    ifm_analyse_use(self);
    ifm_analyse_operators(self);
    ifm_analyse_others(self);
    ifm_analyse_blame(self);
    ifm_analyse_stages(self);
    ifm_analyse_path(self, question != NULL ? question->batch : -1);
    return TRUE;
}

IfmTraceAnalysis *ifm_trace_analyse(const IfmTrace *trace, const IfmTraceQuestion *question, GError **error)
{
    g_autoptr(IfmTraceAnalysis) analysis = analysis_new();
    IfmAnalysing self = { .trace = trace, .analysis = analysis };
    gboolean ok = analyse(&self, question, error);
    ifm_gathered_clear(&self);
    return ok ? g_steal_pointer(&analysis) : NULL;
}
