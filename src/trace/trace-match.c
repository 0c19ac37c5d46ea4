/* Which traces are compared with which: those of the same stream of batches. */
#include <trace/trace.h>

gboolean ifm_trace_is_simulated(const IfmTrace *trace)
{
    return json_is_true(json_object_get(ifm_trace_meta(trace), "simulated"));
}

const char *ifm_trace_stream(const IfmTrace *trace)
{
    const char *stream = json_string_value(json_object_get(ifm_trace_meta(trace), "stream"));
    return stream != NULL ? stream : "";
}

const IfmTrace *ifm_trace_partner(const GPtrArray *traces, guint index, const GPtrArray *others)
{
    const char *stream = ifm_trace_stream(traces->pdata[index]);
    guint nth = 0;
    if (traces->len == 1 && others->len == 1) /* whatever they are called: they were named to be compared */
        return others->pdata[0];
    for (guint i = 0; i < index; i++)
        nth += g_str_equal(ifm_trace_stream(traces->pdata[i]), stream);
    for (guint i = 0; i < others->len; i++)
        if (g_str_equal(ifm_trace_stream(others->pdata[i]), stream) && nth-- == 0)
            return others->pdata[i];
    return NULL;
}
