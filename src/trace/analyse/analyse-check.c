/* Whether a trace has what a question asks for. */
#include <trace/trace.h>

/* @last_end_ns: (out) */
static gint64 bounds_of(const IfmTrace *trace, gint64 *last_end_ns)
{
    gint64 first = G_MAXINT64;
    *last_end_ns = G_MININT64;
    for (gsize t = 0; t < ifm_trace_n_tracks(trace); t++)
    {
        gsize n = 0;
        const IfmEvent *events = ifm_trace_events(trace, t, &n);
        for (gsize i = 0; i < n; i++)
        {
            first = MIN(first, events[i].start_ns);
            *last_end_ns = MAX(*last_end_ns, ifm_event_end_ns(&events[i]));
        }
    }
    return first;
}

gint64 ifm_trace_begin_ns(const IfmTrace *trace)
{
    gint64 last_end_ns;
    return bounds_of(trace, &last_end_ns);
}

gboolean ifm_trace_analysis_check(const IfmTraceAnalysis *analysis, const IfmTrace *trace, const IfmTraceQuestion *question,
                                  GError **error)
{
    gint64 last_ns, first_ns = bounds_of(trace, &last_ns);
    if (question->end_ns > 0 && question->start_ns >= last_ns)
    {
        g_autofree char *asked = ifm_format_duration((double)(question->start_ns - first_ns)),
                        *there = ifm_format_duration((double)(last_ns - first_ns));
        return ifm_error_refuse(error, "--window begins at %s; the last event ends at %s", asked, there);
    }
    gint32 min = G_MAXINT32, max = -1;
    for (guint i = 0; i < analysis->batch_ids->len; i++)
    {
        gint32 id = g_array_index(analysis->batch_ids, gint32, i);
        min = MIN(min, id);
        max = MAX(max, id);
        if (id == question->batch)
            return TRUE;
    }
    if (question->batch < 0)
        return TRUE;
    return max < 0 ? ifm_error_refuse(error, "--batch %d: no batch is in it", question->batch)
                   : ifm_error_refuse(error, "--batch %d: not in it; its %u batches are of %d to %d", question->batch,
                                      analysis->batch_ids->len, min, max);
}
